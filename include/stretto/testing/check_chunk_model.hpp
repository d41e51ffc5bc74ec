// Does a chunk model say what is true? It is asked about every operation of a program, with operands in many states;
// the operation is then computed on the whole operands and on the parts, and the parts of its results must have to do
// with the results what the model has said. One call in the test of an adapter, on a program of small extents:
//
//     const auto checked = stretto::check_chunk_model(view, model, chunks, evaluate);
//     if (!checked) FAIL(checked.error().message());
//
// `evaluate(v, operands)` computes operation v on host_values (testing/host_value.hpp), one per operand, whatever their
// extents are, and returns one per result as a std::vector<host_value>. If the operation needs to know how large its
// results become, it may have the form `evaluate(v, operands, part)` with the chunk_part that a rewriter's clone is
// given. It returns nothing for an operation that it cannot compute, or not on such operands. Of an operation without
// operands it gives the contents; if it gives none, they are made up. An operation that writes in place is computed
// like one that does not: its results are what it leaves.
#ifndef STRETTO_TESTING_CHECK_CHUNK_MODEL_HPP
#define STRETTO_TESTING_CHECK_CHUNK_MODEL_HPP

#include <cstddef>
#include <cstdint>
#include <utility>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/testing/detail/chunk_model_checker.hpp"
#include "stretto/testing/finding.hpp"

namespace stretto {

/// What was tried. A model that refuses everything is right and useless: compare these with what it should accept.
struct chunk_model_summary {
    std::size_t operations = 0;  ///< that read something, inputs and outputs left out
    std::size_t asked = 0;       ///< questions with operands that are not all whole
    std::size_t accepted = 0;    ///< of them, computed and compared
    std::size_t refused = 0;
    std::size_t not_computed = 0;    ///< accepted, and nothing to compare with
    std::size_t never_accepted = 0;  ///< operations that were refused in every state tried
};

struct chunk_model_options {
    std::size_t cases = 40;                ///< states of the operands tried per operation
    std::size_t walks = 20;                ///< times that chunks are carried through the whole program
    std::uint64_t seed = 1;                ///< same seed, same cases, everywhere
    std::int64_t most_elements = 1 << 16;  ///< values of more elements are not computed
    double tolerance = 1e-9;               ///< of sums, relative: chunks add in another order
    double row_tolerance = 0;              ///< of everything else
};

/// Checks that components, ranks and extents are those of the values computed, that a verdict is repeatable and states
/// every result, and that it is true: for operands that are whole, sliced, permuted or addends each by itself, and for
/// those that come about when chunks are carried through the program as a planner does it, with positions, names of
/// orders and chains. Refusing is always right. Deterministic. O(V (cases + walks)) questions and computations.
/// Precondition: check_graph is satisfied.
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
