// How an IR writes merged collectives, as far as it must be known to split them again.
//
// A merged collective copies the data of its members into one buffer, launches one collective on it, and finds the
// results in the received buffer. Each dialect writes this with its own operators. A bucket_form_model recognises them
// and says which part of the buffer belongs to which member; split_buckets decides whether the bucket can be split.
#ifndef STRETTO_CORE_BUCKET_FORM_MODEL_HPP
#define STRETTO_CORE_BUCKET_FORM_MODEL_HPP

#include <concepts>
#include <optional>
#include <vector>

#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/units.hpp"

namespace stretto {

/// A value, and the columns of a buffer into which it is packed or from which it is read: bytes [offset, offset + size)
/// of each row.
template <handle X>
struct bucket_slice {
    X value{};
    bytes offset, size;
    friend bool operator==(const bucket_slice&, const bucket_slice&) = default;
};

/// How one start sends several values as one, and where the results are found.
///
/// A buffer consists of rows of `row` bytes. The receive buffer of an all-gather and the send buffer of a
/// reduce-scatter have one row for each rank, in the order of the group; every other buffer has a single row. A member
/// occupies the same columns in all rows. The data that it sends, row by row, is its entry of `parts`, element by
/// element, converted to the element type of the start if that differs; converting a part by itself gives the same
/// numbers. The data that it receives, row by row, is its result.
///
/// `packs` are the vertices before the start that only bring parts into the buffer. `unpacks` are the vertices after
/// the wait that only extract results from it, including those that make the results. Both are in program order.
template <handle V, handle X>
struct bucket_form {
    V wait{};
    bytes row;
    std::vector<bucket_slice<X>> parts;    ///< the values that are packed
    std::vector<bucket_slice<X>> results;  ///< the extracted values, which other vertices read
    std::vector<V> packs, unpacks;
    friend bool operator==(const bucket_form&, const bucket_form&) = default;
};

/// `form(v)` describes what the start v sends and where its results are, if the IR writes v as a bucket that the model
/// recognises; otherwise it returns nothing, and v stays as it is. A model describes what it sees: it need not check
/// who else reads a buffer, or whether slices leave gaps. `check_bucket_forms` checks it.
template <class M, class G>
concept bucket_form_model =
    dataflow_graph<G> && std::copy_constructible<M> && requires(const M& m, const typename G::vertex_type v) {
        { m.form(v) } -> std::same_as<std::optional<bucket_form<vertex_t<G>, value_t<G>>>>;
    };

}  // namespace stretto

#endif
