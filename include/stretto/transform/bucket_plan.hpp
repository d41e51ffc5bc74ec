// Collectives that travel as one, as a value, and what may be asked of them. plan_buckets finds them, verify_buckets
// proves a plan, and apply_buckets carries it out.
#ifndef STRETTO_TRANSFORM_BUCKET_PLAN_HPP
#define STRETTO_TRANSFORM_BUCKET_PLAN_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/input_role_model.hpp"
#include "stretto/core/units.hpp"

namespace stretto {

/// How several collectives become one.
enum class bucket_mode : std::uint8_t {
    pack,       ///< a kernel copies what they send into one buffer, and another one copies apart what arrives
    coalesced,  ///< they are launched at once, and nothing is copied
};

/// In which order members lie in the payload. A reduction adds in an order that may depend on where an element lies, so
/// only registration order gives the bits that an eager run gives, which packs a module's parameters as they are
/// registered.
enum class payload_order : std::uint8_t {
    registration,
    execution,
};

/// What is to become of a start: the label of the class with whose members it may travel, its place in registration
/// order, and whether what makes its operand is a cast that a pack can do.
struct bucket_choice {
    static constexpr std::uint32_t apart = UINT32_MAX;  ///< the label of what is not to be merged

    std::uint32_t label = apart;
    std::uint32_t place = no_place;
    bool cast = false;
};

/// Limits of one bucket; a bucket at the limit is within it. Members count as many bytes as they send or receive,
/// whichever is more.
struct bucket_options {
    bytes most_bytes = unlimited_bytes;
    std::size_t most_members = SIZE_MAX;
    std::size_t most_span = SIZE_MAX;      ///< from its first start to its last one, in positions of the program
    nanoseconds most_early = {INT64_MAX};  ///< kernel time between these: how far a member moves
    nanoseconds longest = {INT64_MAX};     ///< on its channel: what does not hide is exposed
    std::size_t most_open = 32;            ///< buckets of one kind that grow side by side
    bool mixed_elements = true;            ///< gathers of different element types travel as bytes
    bucket_mode mode = bucket_mode::pack;
    payload_order order = payload_order::registration;
};

/// One collective in place of several. `members`, `parts`, `waits` and `results` belong together, one by one.
template <handle V, handle X>
struct bucket {
    std::vector<V> members;  ///< the starts that vanish, in the order of the payload; at least two
    std::vector<X> parts;    ///< what is packed of each: what it sends, or what a cast that vanishes reads
    std::vector<V> waits;    ///< the waits that vanish
    std::vector<X> results;  ///< what the waits give: others read it
    std::vector<V> casts;    ///< casts that nobody but the pack reads, and that vanish, in the order of the payload
    bucket_mode mode = bucket_mode::pack;
    bytes payload;       ///< what this rank sends
    bytes received;      ///< what it gets, as one buffer
    nanoseconds alone;   ///< the durations of the members together
    nanoseconds merged;  ///< the duration of the bucket on its channel
    nanoseconds copies;  ///< of its pack and its unpack, less the casts that vanish
    friend bool operator==(const bucket&, const bucket&) = default;
};

/// Why a collective stays apart.
enum class bucket_obstacle : std::uint8_t {
    kind,            ///< `vertex` is of a kind that is not merged, or is folded in a way that nobody knows
    several_values,  ///< `vertex` does not send one value and return one, or is waited for more than once, or never
    shared_memory,   ///< `vertex` fills memory of others
    read_in_flight,  ///< `other` looks at the result of `vertex` before its wait
    keys_differ,     ///< `vertex` and `other` differ in kind, group, reduction, element type or label
    claimed_twice,   ///< `vertex` is asked for twice
    dependent,       ///< `vertex` cannot be launched together with `other`: one needs the other, or something between
    limits,          ///< one bucket with `other` would exceed a limit
    crowded,         ///< it fits into none of the buckets that may grow side by side, of which `other` begins the last
    nobody_fits,     ///< no other collective may be merged with it
    no_room,         ///< a limit of the options is zero, so that nothing can be merged
};

/// The reason in words, without the names.
[[nodiscard]] constexpr std::string_view explain(bucket_obstacle why) noexcept {
    switch (why) {
        case bucket_obstacle::kind:
            return "collectives of this kind are not merged, or it is not known how it folds";
        case bucket_obstacle::several_values:
            return "it does not send one value, return one and have one wait";
        case bucket_obstacle::shared_memory:
            return "it fills memory of others";
        case bucket_obstacle::read_in_flight:
            return "its result is looked at before it is waited for";
        case bucket_obstacle::keys_differ:
            return "they differ in kind, group, reduction, element type or class";
        case bucket_obstacle::claimed_twice:
            return "it is asked for twice";
        case bucket_obstacle::dependent:
            return "one of them depends on the other";
        case bucket_obstacle::limits:
            return "together they exceed a limit";
        case bucket_obstacle::crowded:
            return "it fits into none of the buckets that may grow side by side";
        case bucket_obstacle::nobody_fits:
            return "nothing else may be merged with it";
        case bucket_obstacle::no_room:
            break;
    }
    return "a limit is zero";
}

template <handle V>
struct refused_bucket {
    bucket_obstacle why = bucket_obstacle::kind;
    V vertex{};
    V other{};
    friend bool operator==(const refused_bucket&, const refused_bucket&) = default;
};

/// Buckets in the order in which they are launched, which have no vertex in common. `order` is the program as it is
/// before they are merged: every vertex once, after all that it depends on (but for its neighbours in the bucket), the
/// members of a bucket side by side, and its waits too. So a plan carries the proof that merging makes no cycle. A plan
/// without buckets has no order, and changes nothing.
template <handle V, handle X>
struct bucket_plan {
    std::vector<bucket<V, X>> buckets;
    std::vector<V> order;
    std::vector<refused_bucket<V>> refused;  ///< what was to be merged and stays, in program order

    [[nodiscard]] bool empty() const noexcept { return buckets.empty(); }
    /// How many collectives the plan saves.
    [[nodiscard]] std::size_t saved() const noexcept {
        std::size_t n = 0;
        for (const bucket<V, X>& b : buckets) n += b.members.size() - 1;
        return n;
    }
    friend bool operator==(const bucket_plan&, const bucket_plan&) = default;
};

}  // namespace stretto

#endif
