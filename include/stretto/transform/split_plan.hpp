// A split plan as a value: merged collectives that are to be split, and why others stay whole. split_buckets finds
// them, verify_splits proves a plan, and apply_splits carries it out.
#ifndef STRETTO_TRANSFORM_SPLIT_PLAN_HPP
#define STRETTO_TRANSFORM_SPLIT_PLAN_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/units.hpp"

namespace stretto {

/// One bucket, and its replacement: a separate collective for each part. `parts`, `results` and `sizes` correspond
/// entry by entry, in the order of the payload. The new starts take the position of `start`, and the new waits that of
/// `wait`.
template <handle V, handle X>
struct bucket_split {
    V start{}, wait{};         ///< both are removed
    std::vector<X> parts;      ///< the operand of each member, or the value from which it is converted first
    std::vector<X> results;    ///< the results of the members; their readers read the results of the new waits instead
    std::vector<bytes> sizes;  ///< size of each member in one row of the buffer
    std::vector<V> packs, unpacks;  ///< vertices that are removed, in program order
    friend bool operator==(const bucket_split&, const bucket_split&) = default;
};

/// Why a bucket is not split.
enum class split_obstacle : std::uint8_t {
    kind,              ///< `vertex` is neither an all-gather nor a reduce-scatter nor an all-reduce
    several_waits,     ///< `other` is not the only wait for `vertex`
    gaps,              ///< the parts do not cover each byte of the payload of `vertex` exactly once
    results_differ,    ///< the results of `vertex` are not its members, each exactly once and as packed
    looked_at,         ///< `other` reads a buffer of `vertex`, or depends on one of its copies
    other_reads,       ///< `vertex`, a copy that would be removed, reads a result of `other` that is not a part
    other_dependence,  ///< `vertex`, which would be removed, depends on `other` without reading a value of it
    overwritten,       ///< `other` overwrites a packed part of `vertex` before a separate member would have sent it
    shared,            ///< `vertex` and `other` are buckets that share a copy
};

/// Returns the reason in words, without the names of vertices.
[[nodiscard]] constexpr std::string_view explain(split_obstacle why) noexcept {
    switch (why) {
        case split_obstacle::kind:
            return "collectives of this kind are not taken apart";
        case split_obstacle::several_waits:
            return "it does not have one wait";
        case split_obstacle::gaps:
            return "what is packed does not fill the payload, each byte once";
        case split_obstacle::results_differ:
            return "the results are not what was packed, piece by piece";
        case split_obstacle::looked_at:
            return "somebody else reads its buffers";
        case split_obstacle::other_reads:
            return "a copy reads more than what is packed";
        case split_obstacle::other_dependence:
            return "a copy has a dependence that is no value";
        case split_obstacle::overwritten:
            return "what is packed is overwritten before it could be sent by itself";
        case split_obstacle::shared:
            break;
    }
    return "two buckets share a copy";
}

/// A bucket that stays whole, and why. split_obstacle says what `vertex` and `other` are; `other` is `vertex` if the
/// reason concerns no second vertex.
template <handle V>
struct refused_split {
    split_obstacle why = split_obstacle::kind;
    V vertex{};
    V other{};
    friend bool operator==(const refused_split&, const refused_split&) = default;
};

/// Buckets in the program order of their starts. No vertex belongs to two buckets. An empty plan changes nothing.
template <handle V, handle X>
struct split_plan {
    std::vector<bucket_split<V, X>> buckets;
    std::vector<refused_split<V>> refused;  ///< buckets that are not split, in program order

    [[nodiscard]] bool empty() const noexcept { return buckets.empty(); }
    /// Returns how many collectives replace the buckets.
    [[nodiscard]] std::size_t members() const noexcept {
        std::size_t n = 0;
        for (const bucket_split<V, X>& b : buckets) n += b.parts.size();
        return n;
    }
    friend bool operator==(const split_plan&, const split_plan&) = default;
};

}  // namespace stretto

#endif
