// tensor_rewriter: the verbs of a rewriter that add operations, for IRs whose values are one dense tensor each. What
// these verbs insert, where, and with which shapes is the same in all such IRs. An owner therefore only writes two
// verbs, one that inserts an operation and one that gives it a result, and inherits clone, split, concat and sum, as
// well as pack, launch, wait, unpack and parts.
#ifndef STRETTO_TRANSFORM_TENSOR_REWRITER_HPP
#define STRETTO_TRANSFORM_TENSOR_REWRITER_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/iterable.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/transform/chunk_sizes.hpp"

namespace stretto {

/// The operations that a tensor_rewriter inserts.
enum class inserted : std::uint8_t {
    clone,   ///< a part of an existing operation, with the same operator
    split,   ///< a view whose results are parts of its operand
    concat,  ///< concatenates its operands along a dimension
    sum,     ///< the sum of its operands, added in order
    pack,    ///< packs its operands into one buffer, in the layout that the following start needs
    start,   ///< a collective of the same kind and group as an existing one
    wait,    ///< the wait for that collective
    unpack,  ///< a kernel that copies the results of the merged collectives out of a buffer
    parts    ///< the same results without a copy, as views of the buffer
};

/// An operation to insert, without results so far. `like` is an existing operation whose module, direction and group
/// the new one should have: for a clone, the original; for a split, the producer of the value that is split; for a
/// concatenation or sum, the producer of the first part; for a pack or a start, the first of the merged collectives;
/// for a wait, unpack or parts, the first of their waits.
template <class V, class X>
struct insertion {
    inserted what;
    V like;
    std::span<const X> operands;
    std::uint32_t chunk = 0;  ///< the number of the chunk, for a clone
};

/// The verbs of `Owner`, a rewriter that derives from this class. `G` is a view of its IR that shows all changes of the
/// rewriter so far. Besides insert_before and the verbs that do not add operations, `Owner` must have:
///   insert(insertion<vertex, value>) -> vertex   inserts an operation at the position set by insert_before
///   add_result(v, like, shape) -> value          gives v one more result: a tensor with the element type and all other
///                                                properties of `like`, and with the extents of `shape`, a std::vector
///                                                of 64-bit integers
///   shape(x) -> extents                          the extents of a tensor; none for a number
/// A bucket is sent in one-dimensional buffers, which have as many elements as all members together send or receive,
/// and the element type of the first member. So all members must have one element type (bucket_options::mixed_elements
/// is false). The cost of a verb is that of the operations that it inserts; it does not depend on the size of the
/// program.
template <class Owner, dataflow_graph G>
class tensor_rewriter {
public:
    using vertex_type = vertex_t<G>;
    using value_type = value_t<G>;
    using vertex_span = std::span<const vertex_type>;
    using value_span = std::span<const value_type>;
    using shape_type = std::vector<std::int64_t>;

    explicit tensor_rewriter(G view) : view_(view) {}

    /// Inserts the clone of v for a chunk. Its results have the extents of their parts: along the dimension of its
    /// state, a result has the share of the chunk.
    std::vector<value_type> clone(vertex_type v, value_span operands, const chunk_part& part) {
        const std::vector<value_type> whole = results_of(v);
        const vertex_type made = insert(inserted::clone, v, operands, part.chunk);
        std::vector<value_type> results;
        for (std::size_t k = 0; k < whole.size(); ++k) {
            shape_type shape = shape_of(whole[k]);
            if (const int dim = part.results[k].dim; dim >= 0) {
                std::int64_t& extent = shape[static_cast<std::size_t>(dim)];
                extent = part.share(extent);
            }
            results.push_back(add_result(made, whole[k], std::move(shape)));
        }
        return results;
    }
    /// Inserts a view whose results are the parts of x. Precondition: the sizes add up to a divisor of the extent.
    std::vector<value_type> split(value_type x, std::size_t dim, std::span<const std::int64_t> sizes) {
        const shape_type whole = shape_of(x);
        const vertex_type made = insert(inserted::split, view_.producer(x), {&x, 1});
        std::vector<value_type> parts;
        for (std::size_t k = 0; k < sizes.size(); ++k) {
            const slice_place place = place_of_slice(whole[dim], sizes, k);
            shape_type shape = whole;
            shape[dim] = place.to - place.from;
            parts.push_back(add_result(made, x, std::move(shape)));
        }
        return parts;
    }
    /// Inserts the concatenation of the parts.
    value_type concat(value_span parts, std::size_t dim) {
        shape_type shape = shape_of(parts[0]);
        for (const value_type x : parts.subspan(1)) shape[dim] += shape_of(x)[dim];
        return add_result(insert(inserted::concat, view_.producer(parts[0]), parts), parts[0], std::move(shape));
    }
    /// Inserts the sum of the parts.
    value_type sum(value_span parts) {
        return add_result(insert(inserted::sum, view_.producer(parts[0]), parts), parts[0], shape_of(parts[0]));
    }

    /// Inserts the kernel that packs the parts of a bucket.
    value_type pack(vertex_span members, value_span parts) {
        const value_type sent = first_of(view_.operands(members[0]));
        std::int64_t all = 0;
        for (const value_type x : parts) all += count_of(x);
        return add_result(insert(inserted::pack, members[0], parts), sent, {all});
    }
    /// Inserts the start of a bucket, whose result is one buffer.
    value_type launch(vertex_span members, value_span payload) {
        std::int64_t all = 0;
        for (const vertex_type v : members) all += count_of(first_of(view_.results(v)));
        const value_type received = first_of(view_.results(members[0]));
        return add_result(insert(inserted::start, members[0], payload), received, {all});
    }
    /// Inserts the wait of a bucket.
    value_type wait(vertex_span waits, value_type launched) {
        return add_result(insert(inserted::wait, waits[0], {&launched, 1}), launched, shape_of(launched));
    }
    /// Inserts the kernel that copies the results of the members out of the buffer.
    std::vector<value_type> unpack(vertex_span waits, value_type arrived) {
        return taken_apart(inserted::unpack, waits, arrived);
    }
    /// Inserts the view whose results are those of the members.
    std::vector<value_type> parts(vertex_span waits, value_type arrived) {
        return taken_apart(inserted::parts, waits, arrived);
    }

private:
    [[nodiscard]] Owner& owner() { return static_cast<Owner&>(*this); }

    [[nodiscard]] vertex_type insert(inserted what, vertex_type like, value_span operands, std::uint32_t chunk = 0) {
        return owner().insert(insertion<vertex_type, value_type>{what, like, operands, chunk});
    }
    [[nodiscard]] value_type add_result(vertex_type made, value_type like, shape_type shape) {
        return owner().add_result(made, like, std::move(shape));
    }
    // Returns copies, because the lists of the IR may be reallocated when it grows.
    [[nodiscard]] std::vector<value_type> results_of(vertex_type v) const {
        std::vector<value_type> all;
        for (const value_type x : view_.results(v)) all.push_back(x);
        return all;
    }
    template <class Range>
    [[nodiscard]] static value_type first_of(Range&& range) {
        return *detail::begin_of(range);
    }
    /// The extents of x.
    [[nodiscard]] shape_type shape_of(value_type x) {
        shape_type all;
        for (const std::int64_t extent : owner().shape(x)) all.push_back(extent);
        return all;
    }
    /// The number of elements of x.
    [[nodiscard]] std::int64_t count_of(value_type x) {
        std::int64_t all = 1;
        for (const std::int64_t extent : owner().shape(x)) all *= extent;
        return all;
    }
    [[nodiscard]] std::vector<value_type> taken_apart(inserted what, vertex_span waits, value_type arrived) {
        const vertex_type made = insert(what, waits[0], {&arrived, 1});
        std::vector<value_type> apart;
        for (const vertex_type w : waits) {
            const value_type like = first_of(view_.results(w));
            apart.push_back(add_result(made, like, shape_of(like)));
        }
        return apart;
    }

    G view_;
};

}  // namespace stretto

#endif
