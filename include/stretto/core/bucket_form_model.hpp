// What merged collectives look like in an IR: all that has to be known of it in order to take one apart.
//
// Whoever merges collectives copies what they send into one buffer, launches one collective on it, and finds the
// results in what arrives. Each dialect writes this with its own operators. A bucket_form_model reads them, and says
// which part of the buffer belongs to whom; whether that can be taken apart is for split_buckets to judge.
#ifndef STRETTO_CORE_BUCKET_FORM_MODEL_HPP
#define STRETTO_CORE_BUCKET_FORM_MODEL_HPP

#include <concepts>
#include <optional>
#include <vector>

#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/units.hpp"

namespace stretto {

/// A value, and the columns of a buffer that it fills or is read from: bytes [offset, offset + size) of each row.
template <handle X>
struct bucket_slice {
    X value{};
    bytes offset, size;
    friend bool operator==(const bucket_slice&, const bucket_slice&) = default;
};

/// How one start sends several values as one, and where the results are found.
///
/// Buffers have rows of `row` bytes each: as many as the group has ranks in what an all-gather receives and in what a
/// reduce-scatter sends, one for each rank in the order of the group, and a single one otherwise. A member has the same
/// columns of all rows. What it sends, row by row, is `parts` of it, element by element, converted to the element type
/// that the start sends where it has another one; converting a part by itself gives the same numbers. What it receives,
/// row by row, is its result.
///
/// `packs` are the vertices in front of the start that only bring parts into the buffer, and `unpacks` those behind the
/// wait that only look for results there, the vertices that make the results among them; both in program order.
template <handle V, handle X>
struct bucket_form {
    V wait{};
    bytes row;
    std::vector<bucket_slice<X>> parts;    ///< what is packed
    std::vector<bucket_slice<X>> results;  ///< what is found in what arrives; others read it
    std::vector<V> packs, unpacks;
    friend bool operator==(const bucket_form&, const bucket_form&) = default;
};

/// `form(v)` says what the start v sends and where its results are, if the IR writes it as a bucket and the model can
/// read that; else nothing, and v stays as it is. A model describes what it sees, and need not ask who else looks at a
/// buffer, or whether slices leave gaps. `check_bucket_forms` checks it.
template <class M, class G>
concept bucket_form_model =
    dataflow_graph<G> && std::copy_constructible<M> && requires(const M& m, const typename G::vertex_type v) {
        { m.form(v) } -> std::same_as<std::optional<bucket_form<vertex_t<G>, value_t<G>>>>;
    };

}  // namespace stretto

#endif
