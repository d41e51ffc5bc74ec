// Rewriters: the few verbs with which a plan changes a foreign graph. A view never mutates and a rewriter never
// answers questions; they are two structs over the same IR, so the constness of the IR stays its owner's business.
// Each transform asks for the fewest verbs. Planning has already proved that the calls are legal: a rewriter does
// what it is told and cannot fail half-way.
//
// Where things go. Reordering names the place in the call: `move_before(v, at)`. Whatever makes operations is told the
// place beforehand: after `insert_before(v)`, each operation that clone, split, concat, sum, add, empty_like and
// slice_write make stands directly before v, behind what was made there before it, until insert_before names another
// place. So program order is the order of the calls, and v, which may be erased later, still stands behind all of them.
// `replace_uses` and `erase` move nothing.
#ifndef STRETTO_CORE_REWRITER_CONCEPTS_HPP
#define STRETTO_CORE_REWRITER_CONCEPTS_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/has_member.hpp"
#include "stretto/core/process_group.hpp"

namespace stretto {

/// `move_before(v, at)`: program order becomes ... v, at ...; dependences are untouched.
template <class R, class G>
concept ordering_rewriter = graph_view<G> && requires(R& r, vertex_t<G> v, vertex_t<G> at) { r.move_before(v, at); };

/// `replace_uses(v, from, to)`: every read of `from` by `v`, in-place writes included, becomes one of `to`.
template <class R, class G>
concept use_rewriter =
    dataflow_graph<G> && requires(R& r, vertex_t<G> v, value_t<G> from, value_t<G> to) { r.replace_uses(v, from, to); };

/// `erase(v)`: removes a vertex whose results nobody reads any more.
template <class R, class G>
concept erasing_rewriter = graph_view<G> && requires(R& r, vertex_t<G> v) { r.erase(v); };

/// What a rewriter may need to know of the clone that it is asked for: its rows of `tokens`, and the states of the
/// operands and results, by component. A clone that all chunks share (`chunks` is 1) has all rows.
struct chunk_part {
    std::uint32_t chunk = 0, chunks = 1;
    std::int64_t tokens = 0;
    chunk_interval rows;
    std::span<const chunk_state> operands, results;
    std::uint32_t region = 0;  ///< of the plan

    [[nodiscard]] std::int64_t share(std::int64_t amount) const { return share_of(amount, tokens, rows); }
};

/// `insert_before(v)`: what is made from now on stands before v, as said at the top. `clone(v, operands, part)`: an
/// operation like v that reads `operands`, one for each of v's in the same order, writes in place those that v writes,
/// and has the extents of that part; returns its results, in the order of v's.
template <class R, class G>
concept cloning_rewriter =
    dataflow_graph<G> && requires(R& r, vertex_t<G> v, std::span<const value_t<G>> operands, const chunk_part& part) {
        r.insert_before(v);
        { r.clone(v, operands, part) } -> iterable_of<value_t<G>>;
    };

/// `split(x, dim, sizes)`: x, cut along `dim` into as many parts as there are sizes, whose extents are in the ratio of
/// the sizes; returns the parts in order, which share the memory of x. `concat(parts, dim)`: the parts, one behind the
/// other along `dim`. `sum(parts)`: their sum, added in order.
template <class R, class G>
concept slicing_rewriter =
    dataflow_graph<G> && requires(R& r, value_t<G> x, std::size_t dim, std::span<const std::int64_t> sizes,
                                  std::span<const value_t<G>> parts) {
        { r.split(x, dim, sizes) } -> iterable_of<value_t<G>>;
        { r.concat(parts, dim) } -> std::convertible_to<value_t<G>>;
        { r.sum(parts) } -> std::convertible_to<value_t<G>>;
    };

/// `empty_like(x, part)`: memory for a value like x, a part of which is there already; what it holds is never read.
/// `slice_write(whole, part, dim, sizes, k)`: writes `part` in place to where `split(whole, dim, sizes)` would find
/// part k; gives `whole`, or a new name of its memory.
template <class R, class G>
concept slice_writing_rewriter = dataflow_graph<G> && requires(R& r, value_t<G> x, std::size_t dim,
                                                               std::span<const std::int64_t> sizes, std::size_t k) {
    { r.empty_like(x, x) } -> std::convertible_to<value_t<G>>;
    { r.slice_write(x, x, dim, sizes, k) } -> std::convertible_to<value_t<G>>;
};

/// `duplicate_group(original, priority)`: adds a further communicator with the ranks of `original` in the same order,
/// as the last one in the list of groups, and returns its id; every rank does so in the same order. `set_group(v,
/// group)`: the start v launches its collective on that group from now on.
template <class R, class G>
concept group_rewriter = graph_view<G> && requires(R& r, vertex_t<G> v, group_id original, std::int32_t priority) {
    { r.duplicate_group(original, priority) } -> std::convertible_to<group_id>;
    r.set_group(v, original);
};

/// Where a sum of two values is written.
enum class sum_place : std::uint8_t {
    fresh,  ///< into memory of its own
    first,  ///< into that of the first summand, which nobody reads any more
    second  ///< into that of the second summand, which nobody reads any more
};

/// `add(a, b, place)`: a + b, element by element, written where `place` says; returns the sum.
template <class R, class G>
concept adding_rewriter = dataflow_graph<G> && requires(R& r, value_t<G> a, value_t<G> b, sum_place place) {
    { r.add(a, b, place) } -> std::convertible_to<value_t<G>>;
};

/// What apply_reductions asks for: insert_before and clone, add, replace_uses and erase.
template <class R, class G>
concept reducing_rewriter =
    cloning_rewriter<R, G> && adding_rewriter<R, G> && use_rewriter<R, G> && erasing_rewriter<R, G>;

/// The four vertices that a merged collective consists of, and its ends. `members` and `waits` are the collectives that
/// it replaces and their waits, in the order of the payload; they are still there.
///   pack(members, parts)      one kernel that copies all parts into one buffer, laid out as the collective needs it,
///                             each converted first to what its member sends, if it is not that already;
///   launch(members, payload)  the start: of what pack has made, or, where `payload` has an entry for every member, of
///                             all of them at once without a copy; returns what arrives;
///   wait(waits, launched)     the wait; returns what has arrived;
///   unpack(waits, arrived)    one kernel that copies the results of all members apart, and gives them;
///   parts(waits, arrived)     the same results where they lie, without a kernel, for what was launched without a copy.
template <class R, class G>
concept packing_rewriter =
    dataflow_graph<G> && requires(R& r, vertex_t<G> v, value_t<G> x, std::span<const vertex_t<G>> members,
                                  std::span<const value_t<G>> parts) {
        r.insert_before(v);
        { r.pack(members, parts) } -> std::convertible_to<value_t<G>>;
        { r.launch(members, parts) } -> std::convertible_to<value_t<G>>;
        { r.wait(members, x) } -> std::convertible_to<value_t<G>>;
        { r.unpack(members, x) } -> iterable_of<value_t<G>>;
        { r.parts(members, x) } -> iterable_of<value_t<G>>;
    };

/// The two vertices of a collective that travels by itself from now on. `start` and `wait` are those of the bucket that
/// is taken apart, which are still there, and k is the place of the member in its payload.
///   launch_part(start, k, part)          the start of the member: of `part`, converted first to what the bucket sends,
///                                        if it is not that already; returns what arrives;
///   wait_part(wait, k, launched, like)   its wait; returns what has arrived, laid out as `like`, the member's result
///                                        in the bucket.
template <class R, class G>
concept unpacking_rewriter = dataflow_graph<G> && requires(R& r, vertex_t<G> v, value_t<G> x, std::size_t k) {
    r.insert_before(v);
    { r.launch_part(v, k, x) } -> std::convertible_to<value_t<G>>;
    { r.wait_part(v, k, x, x) } -> std::convertible_to<value_t<G>>;
};

/// What apply_splits asks for: insert_before, launch_part and wait_part, replace_uses and erase.
template <class R, class G>
concept splitting_rewriter = unpacking_rewriter<R, G> && use_rewriter<R, G> && erasing_rewriter<R, G>;

/// What apply_buckets asks for: move_before, insert_before, pack, launch, wait, unpack and parts, replace_uses and
/// erase.
template <class R, class G>
concept bucketing_rewriter =
    ordering_rewriter<R, G> && packing_rewriter<R, G> && use_rewriter<R, G> && erasing_rewriter<R, G>;

namespace detail {

STRETTO_MEMBER_NAME(empty_like);
STRETTO_MEMBER_NAME(slice_write);

/// The two optional verbs are not there, or both as documented.
template <class R, class G>
concept empty_like_and_slice_write_as_documented =
    (!has_empty_like<R, value_t<G>> && !has_slice_write<R, value_t<G>>) || slice_writing_rewriter<R, G>;

}  // namespace detail

/// What apply_chunks asks for: insert_before and clone, split, concat and sum, replace_uses and erase. A rewriter may
/// have empty_like and slice_write too; one that has neither is asked for a concatenation where the plan has slices,
/// which gives the same values.
template <class R, class G>
concept chunking_rewriter = cloning_rewriter<R, G> && slicing_rewriter<R, G> && use_rewriter<R, G> &&
                            erasing_rewriter<R, G> && detail::empty_like_and_slice_write_as_documented<R, G>;

}  // namespace stretto

#endif
