// Checks that the claims of a chunk model are true. The model is asked about every operation of a program, with
// operands in many states. Each operation that it accepts is computed on the whole operands and on their parts, and the
// parts of its results must then relate to the whole results as the model has said. An adapter needs one call in its
// tests, on a program with small extents:
//
//     const auto checked = stretto::check_chunk_model(view, model, chunks, evaluate);
//     if (!checked) FAIL(checked.error().message());
//
// `evaluate(v, operands)` computes operation v on host_values (testing/host_value.hpp), one per operand, whatever their
// extents, and returns one per result as a std::vector<host_value>. If an operation must know the extents of its
// results, `evaluate` may take a third argument, the chunk_part that is passed to a rewriter's clone. It returns
// nothing for an operation that it cannot compute, or cannot compute on these operands. For an operation without
// operands it returns the contents of its results; if it returns nothing, they are made up. An operation that writes in
// place is computed like one that does not: its results are the contents after the write.
#ifndef STRETTO_TESTING_CHECK_CHUNK_MODEL_HPP
#define STRETTO_TESTING_CHECK_CHUNK_MODEL_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/testing/detail/chunk_model_checker.hpp"
#include "stretto/testing/finding.hpp"

namespace stretto {

/// An operation for which no verdict was proved, so that a plan must rely on the model's word for it.
struct unaccepted_operation {
    std::size_t vertex = 0;  ///< its position in vertices()
    std::string why;         ///< the model's reason, preferably an inherent one; or why no verdict was tried
};

/// Counts of what was tried. A model that refuses everything is never wrong, but useless: compare these counts with
/// what yours should accept.
struct chunk_model_summary {
    std::size_t operations = 0;   ///< operations that read something, except outputs and those of too many elements
    std::size_t asked = 0;        ///< calls of the model in which some operand is not whole
    std::size_t accepted = 0;     ///< calls that were accepted, computed and compared
    std::size_t number_sums = 0;  ///< numbers whose parts were added and found equal to the whole
    std::size_t refused = 0;
    std::size_t not_computed = 0;                       ///< calls that were accepted, but nothing could be compared
    std::size_t never_accepted = 0;                     ///< operations for which no verdict was accepted and compared
    std::vector<unaccepted_operation> unaccepted = {};  ///< these, and those for which no verdict could be requested
    /// Why nothing was proved; empty if something was.
    [[nodiscard]] const char* unproved() const {
        return accepted == 0 ? "no verdict was accepted and compared with what is computed" : "";
    }
};

struct chunk_model_options {
    std::size_t cases = 40;                ///< states of the operands that are tried per operation
    std::size_t walks = 20;                ///< times that chunks are carried through the whole program
    std::uint64_t seed = 1;                ///< the same seed gives the same cases everywhere
    std::int64_t most_elements = 1 << 16;  ///< values with more elements are not computed
    double tolerance = 1e-9;               ///< for sums, relative: chunks add in a different order
    double row_tolerance = 0;              ///< for everything else
};

/// Checks that components, ranks and extents are those of the computed values; that a verdict is repeatable and sets
/// the state of each result; and that it is true. Verdicts are tried on operands each of which is whole, sliced,
/// permuted or an addend, and on those that occur when chunks are carried through the program as a planner does it,
/// with positions, named orders and chains. An operation that `sum_widens` names must leave every element as it is. A
/// refusal is never wrong. The result is deterministic. O(V (cases + walks)) calls and computations. Precondition:
/// check_graph finds nothing.
template <dependence_graph G, op_model<G> M, chunk_model<G> C, class Evaluate>
    requires dataflow_graph<G>
[[nodiscard]] expected<chunk_model_summary, finding> check_chunk_model(G g, M model, C chunks, Evaluate evaluate,
                                                                       chunk_model_options options = {}) {
    detail::chunk_model_checker<G, M, C, Evaluate, chunk_model_options, chunk_model_summary> checker(g, model, chunks,
                                                                                                     evaluate, options);
    finding f = checker.compute_whole();
    if (!*f.rule) f = checker.try_operations();
    if (!*f.rule) f = checker.walk_program();
    if (*f.rule) return unexpected(std::move(f));
    return checker.summary();
}

}  // namespace stretto

#endif
