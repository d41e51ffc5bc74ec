// Rewriters: the few verbs with which a plan changes a foreign graph. A view never mutates and a rewriter never answers
// questions; they are two structs over the same IR, so the constness of the IR stays its owner's business. Each
// transform requires as few verbs as possible. Planning has already proved that the calls are legal: a rewriter carries
// them out and cannot fail half-way.
//
// Placement. Reordering gives the place in the call: `move_before(v, at)`. For verbs that make operations, the place is
// set beforehand: after `insert_before(v)`, each operation that one of them makes (clone, split, concat, sum, add,
// empty_like, slice_write, pack, launch, wait, unpack, parts, launch_part, wait_part) stands directly before v, after
// those made there earlier, until insert_before sets another place. So program order is the order of the calls, and v,
// which may be erased later, comes after all of them. `replace_uses` and `erase` move nothing.
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

/// `erase(v)`: removes a vertex whose results are no longer read.
template <class R, class G>
concept erasing_rewriter = graph_view<G> && requires(R& r, vertex_t<G> v) { r.erase(v); };

/// The information about a requested clone: its rows among the `tokens`, and the states of the operands and results, by
/// component. A clone that all chunks share (`chunks` is 1) has all rows.
struct chunk_part {
    std::uint32_t chunk = 0, chunks = 1;
    std::int64_t tokens = 0;
    chunk_interval rows;
    std::span<const chunk_state> operands, results;
    std::uint32_t region = 0;  ///< the region of the plan to which the clone belongs

    [[nodiscard]] std::int64_t share(std::int64_t amount) const { return share_of(amount, tokens, rows); }
};

/// `insert_before(v)`: operations made from now on stand before v, as described at the top. `clone(v, operands, part)`:
/// makes an operation like v that reads `operands`, one for each of v's in the same order, writes in place those that v
/// writes, and has the extents of that part; returns its results, in the order of v's.
template <class R, class G>
concept cloning_rewriter =
    dataflow_graph<G> && requires(R& r, vertex_t<G> v, std::span<const value_t<G>> operands, const chunk_part& part) {
        r.insert_before(v);
        { r.clone(v, operands, part) } -> iterable_of<value_t<G>>;
    };

/// `split(x, dim, sizes)`: cuts x along `dim` into as many parts as there are sizes, with extents in proportion to the
/// sizes; returns the parts in order, which share the memory of x. `concat(parts, dim)`: concatenates the parts along
/// `dim`. `sum(parts)`: adds them in order; the sum is like the first part. If the chunk model has `sum_widens`, the
/// others may have a narrower element type than the first.
template <class R, class G>
concept slicing_rewriter =
    dataflow_graph<G> && requires(R& r, value_t<G> x, std::size_t dim, std::span<const std::int64_t> sizes,
                                  std::span<const value_t<G>> parts) {
        { r.split(x, dim, sizes) } -> iterable_of<value_t<G>>;
        { r.concat(parts, dim) } -> std::convertible_to<value_t<G>>;
        { r.sum(parts) } -> std::convertible_to<value_t<G>>;
    };

/// `empty_like(x, part)`: allocates memory for a value like x, of which `part` is already available; its initial
/// contents are never read. `slice_write(whole, part, dim, sizes, k)`: writes `part` in place to where `split(whole,
/// dim, sizes)` would find part k; returns `whole`, or a new name of its memory.
template <class R, class G>
concept slice_writing_rewriter = dataflow_graph<G> && requires(R& r, value_t<G> x, std::size_t dim,
                                                               std::span<const std::int64_t> sizes, std::size_t k) {
    { r.empty_like(x, x) } -> std::convertible_to<value_t<G>>;
    { r.slice_write(x, x, dim, sizes, k) } -> std::convertible_to<value_t<G>>;
};

/// `duplicate_group(original, priority)`: appends to the list of groups another communicator with the ranks of
/// `original` in the same order, and returns its id; every rank does so in the same order. `set_group(v, group)`: the
/// start v launches its collective on that group from now on.
template <class R, class G>
concept group_rewriter = graph_view<G> && requires(R& r, vertex_t<G> v, group_id original, std::int32_t priority) {
    { r.duplicate_group(original, priority) } -> std::convertible_to<group_id>;
    r.set_group(v, original);
};

/// Where a sum of two values is written.
enum class sum_place : std::uint8_t {
    fresh,  ///< into memory of its own
    first,  ///< into the memory of the first summand, which is not read afterwards
    second  ///< into the memory of the second summand, which is not read afterwards
};

/// `add(a, b, place)`: adds a and b, element by element, into the memory that `place` selects; returns the sum.
template <class R, class G>
concept adding_rewriter = dataflow_graph<G> && requires(R& r, value_t<G> a, value_t<G> b, sum_place place) {
    { r.add(a, b, place) } -> std::convertible_to<value_t<G>>;
};

/// The verbs that apply_reductions requires: insert_before and clone, add, replace_uses and erase.
template <class R, class G>
concept reducing_rewriter =
    cloning_rewriter<R, G> && adding_rewriter<R, G> && use_rewriter<R, G> && erasing_rewriter<R, G>;

/// The four vertices of a merged collective. `members` and `waits` are the collectives that it replaces and their
/// waits, in the order of the payload; they still exist.
///   pack(members, parts)      one kernel that copies all parts into one buffer, laid out as the collective needs it,
///                             each converted first to the type that its member sends, if necessary;
///   launch(members, payload)  the start: of the result of pack or, if `payload` has an entry for every member, of
///                             all of them together without a copy; returns the value in flight;
///   wait(waits, launched)     the wait; returns the received value;
///   unpack(waits, arrived)    one kernel that copies the results of all members out of it; returns the results;
///   parts(waits, arrived)     the same results in place, without a kernel, if they were launched without a copy.
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

/// The two vertices of a collective that is split off a bucket. `start` and `wait` are those of the bucket, which still
/// exist, and k is the place of the member in its payload.
///   launch_part(start, k, part)          the start of the member: of `part`, converted first to the type that the
///                                        bucket sends, if necessary; returns the value in flight;
///   wait_part(wait, k, launched, like)   its wait; returns the received value, laid out as `like`, the member's result
///                                        in the bucket.
template <class R, class G>
concept unpacking_rewriter = dataflow_graph<G> && requires(R& r, vertex_t<G> v, value_t<G> x, std::size_t k) {
    r.insert_before(v);
    { r.launch_part(v, k, x) } -> std::convertible_to<value_t<G>>;
    { r.wait_part(v, k, x, x) } -> std::convertible_to<value_t<G>>;
};

/// The verbs that apply_splits requires: insert_before, launch_part and wait_part, replace_uses and erase.
template <class R, class G>
concept splitting_rewriter = unpacking_rewriter<R, G> && use_rewriter<R, G> && erasing_rewriter<R, G>;

/// The verbs that apply_buckets requires: move_before, insert_before, pack, launch, wait, unpack and parts,
/// replace_uses and erase.
template <class R, class G>
concept bucketing_rewriter =
    ordering_rewriter<R, G> && packing_rewriter<R, G> && use_rewriter<R, G> && erasing_rewriter<R, G>;

namespace detail {

STRETTO_MEMBER_NAME(empty_like);
STRETTO_MEMBER_NAME(slice_write);

/// The two optional verbs are either both missing, or both as documented.
template <class R, class G>
concept empty_like_and_slice_write_as_documented =
    (!has_empty_like<R, value_t<G>, value_t<G>> &&
     !has_slice_write<R, value_t<G>, value_t<G>, std::size_t, std::span<const std::int64_t>, std::size_t>) ||
    slice_writing_rewriter<R, G>;

}  // namespace detail

/// The verbs that apply_chunks requires: insert_before and clone, split, concat and sum, replace_uses and erase. A
/// rewriter may also have empty_like and slice_write; if it has neither, concat is called where the plan has slices,
/// which gives the same values.
template <class R, class G>
concept chunking_rewriter = cloning_rewriter<R, G> && slicing_rewriter<R, G> && use_rewriter<R, G> &&
                            erasing_rewriter<R, G> && detail::empty_like_and_slice_write_as_documented<R, G>;

}  // namespace stretto

#endif
