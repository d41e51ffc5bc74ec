// Checks that a rewriter does what its verbs promise. Every verb that apply_chunks and reordering use is tried on a
// fresh copy of an author's program, and the program is read back through the view:
//
//     const auto verbs = stretto::check_rewriter([] { return my_ir(...); });
//     if (!verbs) FAIL(verbs.error().message());
//
// The callable makes the same program each time, as an object with these members:
//
//     view()                          a dependence_graph and dataflow_graph
//     model()                         an op_model of it
//     rewriter()                      with any of the verbs below
//     changed()                       optional: called after the rewriter has worked, before the view is used again
//     chunks()                        optional: a chunk_model; without it nothing is split or concatenated
//     evaluate(v, operands[, part])   optional: computes an operation, including clones, splits and joins (see
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

/// How often each verb was tried; 0 if the rewriter does not have it, or if the program has nothing to try it on.
struct rewriter_summary {
    std::size_t clones = 0;      ///< clones of all rows
    std::size_t row_clones = 0;  ///< clones of the rows of one chunk
    std::size_t splits = 0, concats = 0, sums = 0, slice_writes = 0;
    std::size_t replaced_uses = 0, erased = 0, moved = 0;
    std::size_t computed = 0;  ///< results of verbs whose values were compared
    /// Why nothing was proved; empty if something was. For clones of all rows and moves, the view suffices as proof;
    /// parts, and what is made from them, are proved only by their values.
    [[nodiscard]] const char* unproved() const {
        if (clones + replaced_uses + erased + moved + row_clones + splits + concats + sums + slice_writes == 0)
            return "the program has nothing on which a verb of the rewriter could be tried";
        return row_clones + splits + concats + sums + slice_writes > 0 && computed == 0
                   ? "values were cut, and none was compared: there is no evaluate, or it computes none of them"
                   : "";
    }
};

struct rewriter_options {
    std::size_t most = 24;  ///< operations and values on which each verb is tried, spread over the program
    std::uint64_t seed = 1;
};

/// Checks for every verb that
///   - what it makes comes right before the operation named by insert_before, in the order of the calls; everything
///     else stays where it is, with its handle, operands and results, and with its number until changed();
///   - `clone(v, operands, part)` makes one operation of the kind, group and effects of v that reads only `operands`;
///     it has the same number of results, in order, with the extents of the part; the clone of a wait waits for
///     the start whose result it is given;
///   - `split` makes one part per size; the parts read only the value and together are all of it, in order;
///   - `concat` and `sum` read the parts in order, each once; `slice_write` writes the part into the memory made by
///     `empty_like`, and nothing else;
///   - `replace_uses` changes one reader, wherever it reads or writes the value; `erase` removes one operation, which
///     then no longer counts among the readers of its operands;
///   - `move_before` changes the order and nothing else; it is not tried on inputs, which need no place in an order;
///   - the view keeps all promises that check_graph checks, throughout.
/// Vertices in a finding are positions in the program after the verb. The result is deterministic. O(most (V + E)) per
/// verb.
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
