// A bucket plan as a value: the collectives that are merged, and the options for merging. plan_buckets finds buckets,
// verify_buckets proves a plan, and apply_buckets carries it out.
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

/// How several collectives are merged into one.
enum class bucket_mode : std::uint8_t {
    pack,       ///< one kernel packs all operands into one buffer, and another kernel unpacks the received buffer
    coalesced,  ///< the collectives are launched together, and nothing is copied
};

/// The order of members in the payload. A reduction may add in an order that depends on the position of an element, so
/// only registration order is bitwise identical to an eager run, which packs the parameters of a module in the order in
/// which they are registered.
enum class payload_order : std::uint8_t {
    registration,
    execution,
};

/// How to treat a start: the label of the class with whose members it may be merged, its place in registration order,
/// whether the kernel that produces its operand is a cast, which a pack kernel can perform, and how much a bucket that
/// contains it may send.
struct bucket_choice {
    static constexpr std::uint32_t apart = UINT32_MAX;  ///< the label of a start that must not be merged

    std::uint32_t label = apart;
    std::uint32_t place = no_place;
    bool cast = false;
    bytes most_payload = unlimited_bytes;  ///< a limit beside those of bucket_options, which are the same for all
};

/// The order in which plan_buckets considers the collectives of a class.
enum class sweep_order : std::uint8_t {
    starts,  ///< that of their starts in the program
    waits,   ///< that of their waits in the program
};

/// Limits of one bucket. Limits are inclusive. A member counts as the larger of the bytes that it sends and the bytes
/// that it receives.
struct bucket_options {
    bytes most_bytes = unlimited_bytes;
    std::vector<bytes> first_most_bytes = {};  ///< these hold instead for the first buckets of a class, one for each,
                                               ///< in the order in which they are begun
    std::size_t most_members = SIZE_MAX;
    std::size_t most_span = SIZE_MAX;      ///< from the first start to the last start, in positions of the program; in
                                           ///< a sweep by waits, from the start of the member that was first
    nanoseconds most_early = {INT64_MAX};  ///< kernel time between the first start and the last, which bounds how far a
                                           ///< member moves
    nanoseconds longest = {INT64_MAX};  ///< duration on the channel; a long bucket may be exposed, because not enough
                                        ///< compute is left to hide it
    std::size_t most_open = 32;         ///< buckets of one kind that may grow at the same time
    bool mixed_elements = true;         ///< gathers with different element types may be merged, as bytes
    bucket_mode mode = bucket_mode::pack;
    payload_order order = payload_order::registration;
    sweep_order by = sweep_order::starts;
};

/// One collective that replaces several. `members`, `parts`, `waits` and `results` correspond entry by entry.
template <handle V, handle X>
struct bucket {
    std::vector<V> members;  ///< the starts that are removed, in the order of the payload; at least two
    std::vector<X> parts;    ///< what is packed for each member: its operand, or the operand of a removed cast
    std::vector<V> waits;    ///< the waits that are removed
    std::vector<X> results;  ///< the results of the waits, which other operations read
    std::vector<V> casts;    ///< casts that only the pack reads and that are removed, in the order of the payload
    bucket_mode mode = bucket_mode::pack;
    bytes payload;       ///< bytes that this rank sends
    bytes received;      ///< bytes that this rank receives, as one buffer
    nanoseconds alone;   ///< sum of the durations of the members
    nanoseconds merged;  ///< the duration of the bucket on its channel
    nanoseconds copies;  ///< duration of the pack and unpack kernels, minus the removed casts
    friend bool operator==(const bucket&, const bucket&) = default;
};

/// Why a collective is not merged.
enum class bucket_obstacle : std::uint8_t {
    kind,            ///< `vertex` is no start, or its kind is not merged, or its reduction or element type is unknown
    several_values,  ///< `vertex` does not send exactly one value and return exactly one, or does not have exactly one
                     ///< wait
    shared_memory,   ///< `vertex` writes its result into memory that it shares with other values
    read_in_flight,  ///< `other` uses the result of `vertex` before its wait
    keys_differ,     ///< `vertex` and `other` differ in kind, group, reduction, element type or label
    claimed_twice,   ///< `vertex` is requested twice
    dependent,    ///< dependences forbid that `vertex` is launched together with `other` or with the bucket of `other`
    limits,       ///< a bucket that contains both `vertex` and `other` would exceed a limit, or `vertex` alone does
    crowded,      ///< `vertex` fits into none of the open buckets; `other` is the first member of the last of these
    nobody_fits,  ///< no other collective can be merged with `vertex`
    no_room,      ///< a limit in the options is zero, so nothing can be merged
};

/// Returns the reason in words, without the names of vertices.
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

/// A start that was to be merged but is not. `other` is `vertex` if the reason concerns no other vertex.
template <handle V>
struct refused_bucket {
    bucket_obstacle why = bucket_obstacle::kind;
    V vertex{};
    V other{};
    friend bool operator==(const refused_bucket&, const refused_bucket&) = default;
};

/// Buckets in the order in which they are launched. No vertex belongs to two buckets. `order` is an order of the
/// program before merging: it contains every vertex once, after all vertices on which it depends (except for its
/// neighbours in the bucket). The members of a bucket are adjacent, and so are its waits. The plan therefore carries
/// the proof that merging creates no cycle. A plan without buckets has an empty order and changes nothing.
template <handle V, handle X>
struct bucket_plan {
    std::vector<bucket<V, X>> buckets;
    std::vector<V> order;
    std::vector<refused_bucket<V>> refused;  ///< starts that were to be merged but are not, in program order

    [[nodiscard]] bool empty() const noexcept { return buckets.empty(); }
    /// Returns by how many the plan reduces the number of collectives.
    [[nodiscard]] std::size_t saved() const noexcept {
        std::size_t n = 0;
        for (const bucket<V, X>& b : buckets) n += b.members.size() - 1;
        return n;
    }
    friend bool operator==(const bucket_plan&, const bucket_plan&) = default;
};

}  // namespace stretto

#endif
