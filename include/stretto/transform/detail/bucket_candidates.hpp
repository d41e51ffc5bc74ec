// Decides which collectives may be members of a bucket, and what the members of one bucket must have in common, and
// counts what they amount to. plan_buckets and verify_buckets share these tests. Vertices are positions in program
// order, as in program_facts.hpp.
#ifndef STRETTO_TRANSFORM_DETAIL_BUCKET_CANDIDATES_HPP
#define STRETTO_TRANSFORM_DETAIL_BUCKET_CANDIDATES_HPP

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "stretto/core/collective_call.hpp"
#include "stretto/core/element_type.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/process_group.hpp"
#include "stretto/transform/bucket_plan.hpp"
#include "stretto/transform/detail/program_facts.hpp"

namespace stretto::detail {

/// The properties in which all members of a bucket must agree.
struct bucket_key {
    std::uint32_t label = 0;
    group_id group = 0;
    collective_kind kind = collective_kind::other;
    reduction_kind reduction = reduction_kind::none;
    element_type element = element_type::other;  ///< `other` for gathers whose elements are treated as bytes
    friend auto operator<=>(const bucket_key&, const bucket_key&) = default;
};

/// A collective that may be merged: the positions of its start, of its wait, and of the cast that its pack would
/// perform (UINT32_MAX if there is none). `place` is its place in registration order, and `most_payload` limits what
/// its bucket sends.
struct bucket_candidate {
    std::uint32_t start = 0, wait = 0, cast = UINT32_MAX;
    std::uint32_t place = 0;
    bucket_key key;
    bytes payload, received, most_payload = unlimited_bytes;
};

/// Why a start can be in no bucket, whatever the other members are. `other` is the position of the vertex that prevents
/// it, possibly the start itself.
struct no_candidate {
    bucket_obstacle why;
    std::uint32_t other;
};

/// Stores in `wait` the position of the only wait of the start at p. Returns nothing if the start may be a member: it
/// is an all-gather, or a reduce-scatter or all-reduce whose reduction and element type are known; it sends one value
/// and receives one, into memory of its own; and only its wait reads that. Otherwise returns the reason.
template <class Facts, class M>
[[nodiscard]] std::optional<no_candidate> find_wait(const Facts& f, const M& model, std::uint32_t p,
                                                    std::uint32_t& wait) {
    using G = decltype(f.graph);
    const collective_call call = call_of<G>(model, f.vertex[p]);
    const bool folds = call.kind == collective_kind::reduce_scatter || call.kind == collective_kind::all_reduce;
    if (!folds && call.kind != collective_kind::all_gather) return no_candidate{bucket_obstacle::kind, p};
    if (folds && (call.reduction == reduction_kind::unknown || call.element == element_type::other))
        return no_candidate{bucket_obstacle::kind, p};
    const std::uint32_t result = f.only_result(p);
    if (result == Facts::none || f.operands[p].size() != 1) return no_candidate{bucket_obstacle::several_values, p};
    if (!f.writes[p].empty() || f.storages[result].size() != 1 || f.storages[result][0] != result)
        return no_candidate{bucket_obstacle::shared_memory, p};
    wait = Facts::none;
    for (std::uint32_t q : f.consumers[result]) {
        if (f.kind[q] != op_kind::wait || f.launch[q] != p) return no_candidate{bucket_obstacle::read_in_flight, q};
        if (wait != Facts::none) return no_candidate{bucket_obstacle::several_values, q};
        wait = q;
    }
    for (std::uint32_t q : f.waits[p])  // a wait need not read the result
        if (q != wait) return no_candidate{bucket_obstacle::several_values, q};
    if (wait == Facts::none || f.operands[wait].size() != 1 || f.only_result(wait) == Facts::none)
        return no_candidate{bucket_obstacle::several_values, p};
    if (!f.writes[wait].empty()) return no_candidate{bucket_obstacle::shared_memory, wait};
    return std::nullopt;
}

/// The key of the start at p. Gathers only move bytes, so their element types are left out of it if `mixed` is true.
template <class Facts, class M>
[[nodiscard]] bucket_key key_of(const Facts& f, const M& model, std::uint32_t p, std::uint32_t label, bool mixed) {
    using G = decltype(f.graph);
    const collective_call call = call_of<G>(model, f.vertex[p]);
    const bool folds = reduces(call.kind);
    return {label, group_of<G>(model, f.vertex[p]), call.kind, folds ? call.reduction : reduction_kind::none,
            !folds && mixed ? element_type::other : call.element};
}

/// Whether a pack can do the work of the kernel that produces the operand of the start at p, so that the kernel can be
/// removed. The kernel must have one operand, and one result in memory of its own that only this collective uses. No
/// vertex may write the operand after the kernel, because the pack reads it later than the kernel did.
template <class Facts>
[[nodiscard]] bool absorbs_cast(const Facts& f, const storage_uses<Facts>& uses, std::uint32_t p) {
    const std::uint32_t x = f.operands[p][0], cast = f.producer[x];
    if (f.kind[cast] != op_kind::compute || f.operands[cast].size() != 1 || f.only_result(cast) != x ||
        !f.writes[cast].empty() || f.consumers[x].size() != 1 || f.storages[x].size() != 1 || f.storages[x][0] != x)
        return false;
    for (std::uint32_t q : uses.users(x))  // a view of x uses its storage too
        if (q != cast && q != p && !(f.kind[q] == op_kind::wait && f.launch[q] == p)) return false;
    for (std::uint32_t s : f.storages[f.operands[cast][0]])
        for (std::uint32_t q : uses.writers(s))
            if (q > cast) return false;
    std::size_t followers = 0;
    for ([[maybe_unused]] const auto& v : f.graph.successors(f.vertex[cast])) ++followers;
    std::size_t leaders = 0;
    for ([[maybe_unused]] const auto& v : f.graph.predecessors(f.vertex[cast])) ++leaders;
    return followers == 1 && leaders == 1;  // other dependences would be lost with the kernel
}

/// The bytes of a member that count towards the limit of a bucket: those that it sends or receives, whichever is more.
[[nodiscard]] constexpr bytes weight(const bucket_candidate& c) noexcept { return std::max(c.payload, c.received); }

/// A bucket that may still grow, and what its limits concern.
struct bucket_in_growth {
    std::vector<bucket_candidate> members = {};
    bytes weight = {}, payload = {};
    bytes most_weight = unlimited_bytes, most_payload = unlimited_bytes;  ///< its own limits
    std::uint32_t first = UINT32_MAX, last = 0;                           ///< positions of its first and last start

    void add(const bucket_candidate& c) {
        members.push_back(c);
        count(c);
    }
    /// Counts c as a member without listing it, to find out whether there is room for it.
    void count(const bucket_candidate& c) noexcept {
        weight += detail::weight(c);
        payload += c.payload;
        most_payload = std::min(most_payload, c.most_payload);
        first = std::min(first, c.start);
        last = std::max(last, c.start);
    }
};

}  // namespace stretto::detail

#endif
