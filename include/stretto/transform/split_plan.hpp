// Merged collectives that are to be taken apart, as a value, and why others stay. split_buckets finds them,
// verify_splits proves a plan, and apply_splits carries it out.
#ifndef STRETTO_TRANSFORM_SPLIT_PLAN_HPP
#define STRETTO_TRANSFORM_SPLIT_PLAN_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/units.hpp"

namespace stretto {

/// One bucket, and what takes its place: a collective of its own for every part. `parts`, `results` and `sizes` belong
/// together, one by one, in the order of the payload. The new starts stand where `start` stands, the new waits where
/// `wait` stands.
template <handle V, handle X>
struct bucket_split {
    V start{}, wait{};         ///< both vanish
    std::vector<X> parts;      ///< what each member sends, or what is converted first
    std::vector<X> results;    ///< what each member gives; others read it, and read what the new wait gives instead
    std::vector<bytes> sizes;  ///< of each member, in one row of the buffer
    std::vector<V> packs, unpacks;  ///< vertices that vanish, in program order
    friend bool operator==(const bucket_split&, const bucket_split&) = default;
};

/// Why a bucket stays whole.
enum class split_obstacle : std::uint8_t {
    kind,              ///< `vertex` is neither an all-gather nor a reduce-scatter nor an all-reduce
    several_waits,     ///< `other` is not the only wait for `vertex`
    gaps,              ///< the parts do not fill the payload of `vertex`, each byte once
    results_differ,    ///< results of `vertex` are not its members, each once, as they were packed
    looked_at,         ///< `other` reads a buffer of `vertex`, or follows one of its copies
    other_reads,       ///< `vertex`, a copy that would vanish, reads more than parts: what `other` makes
    other_dependence,  ///< `vertex`, which would vanish, depends on `other` through a dependence that is no value
    overwritten,       ///< `other` overwrites what was packed for `vertex` before a member would have sent it
    shared,            ///< `vertex` and `other` are buckets that have a copy in common
};

/// The reason in words, without the names.
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

template <handle V>
struct refused_split {
    split_obstacle why = split_obstacle::kind;
    V vertex{};
    V other{};
    friend bool operator==(const refused_split&, const refused_split&) = default;
};

/// Buckets in program order of their starts, which have no vertex in common. An empty plan changes nothing.
template <handle V, handle X>
struct split_plan {
    std::vector<bucket_split<V, X>> buckets;
    std::vector<refused_split<V>> refused;  ///< buckets that stay, in program order

    [[nodiscard]] bool empty() const noexcept { return buckets.empty(); }
    /// How many collectives take the place of the buckets.
    [[nodiscard]] std::size_t members() const noexcept {
        std::size_t n = 0;
        for (const bucket_split<V, X>& b : buckets) n += b.parts.size();
        return n;
    }
    friend bool operator==(const split_plan&, const split_plan&) = default;
};

}  // namespace stretto

#endif
