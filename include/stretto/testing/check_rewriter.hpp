// Does a rewriter do what its verbs promise? Every verb that apply_chunks and reordering use is tried on a fresh copy
// of an author's program, and the program is read back through the view:
//
//     const auto verbs = stretto::check_rewriter([] { return my_ir(...); });
//     if (!verbs) FAIL(verbs.error().message());
//
// The callable makes the same program each time, as an object with the members
//
//     view()                          a dependence_graph and dataflow_graph
//     model()                         an op_model of it
//     rewriter()                      with any of the verbs below
//     changed()                       optional: called when the rewriter has worked, before the view is asked again
//     chunks()                        optional: a chunk_model; without it nothing is split or concatenated
//     evaluate(v, operands[, part])   optional: computes an operation, clones and what splits and joins included (see
//                                     testing/check_chunk_model.hpp); with it values are compared too
#ifndef STRETTO_TESTING_CHECK_REWRITER_HPP
#define STRETTO_TESTING_CHECK_REWRITER_HPP

#include <cstddef>
#include <cstdint>
#include <utility>

#include "stretto/core/expected.hpp"
#include "stretto/testing/detail/rewriter_checker.hpp"
#include "stretto/testing/detail/slicing_checker.hpp"
#include "stretto/testing/finding.hpp"

namespace stretto {

/// How often each verb was tried; 0 if the rewriter has not got it, or the program has nothing to try it on.
struct rewriter_summary {
    std::size_t clones = 0;      ///< of all rows
    std::size_t row_clones = 0;  ///< of the rows of one chunk
    std::size_t splits = 0, concats = 0, sums = 0, slice_writes = 0;
    std::size_t replaced_uses = 0, erased = 0, moved = 0;
    std::size_t computed = 0;  ///< results of verbs whose values were compared
};

struct rewriter_options {
    std::size_t most = 24;  ///< operations and values that each verb is tried on, spread over the program
    std::uint64_t seed = 1;
};

/// Checks of every verb that
///   - what it makes stands right before the operation named by insert_before, in the order of the calls, and
///   everything
///     else stays where it is, with its handle, operands and results; numbers stay too, until changed();
///   - `clone(v, operands, part)` makes one operation of the kind, group and effects of v that reads exactly
///   `operands`,
///     has as many results, in order, and waits for what stands for v's start; results have the extents of the part;
///   - `split` gives one part per size, which read nothing but the value and together are all of it, in order;
///   - `concat` and `sum` read the parts in order, each once; `slice_write` writes the part into the memory made by
///     `empty_like`, and nothing else;
///   - `replace_uses` changes one reader, wherever it reads or writes the value; `erase` removes one operation, and
///     those that it read know;
///   - `move_before` changes the order and nothing else;
///   - the view keeps its promises all along, as check_graph sees them.
/// Vertices in a finding are positions in the program after the verb. Deterministic. O(most (V + E)) per verb.
template <class Make>
[[nodiscard]] expected<rewriter_summary, finding> check_rewriter(Make make, rewriter_options options = {}) {
    rewriter_summary summary;
    detail::rewriter_checker<Make, rewriter_options, rewriter_summary> verbs(make, options, summary);
    finding f = verbs.check();
    if (!*f.rule) {
        detail::slicing_checker<Make, rewriter_options, rewriter_summary> slicing(make, options, summary);
        f = slicing.check();
    }
    if (*f.rule) return unexpected(std::move(f));
    return summary;
}

}  // namespace stretto

#endif
