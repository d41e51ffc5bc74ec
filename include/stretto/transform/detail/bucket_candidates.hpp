// Which collectives could be merged at all, and which of them are alike.
#ifndef STRETTO_TRANSFORM_DETAIL_BUCKET_CANDIDATES_HPP
#define STRETTO_TRANSFORM_DETAIL_BUCKET_CANDIDATES_HPP

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "stretto/core/collective_call.hpp"
#include "stretto/core/element_type.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/process_group.hpp"
#include "stretto/transform/bucket_plan.hpp"
#include "stretto/transform/detail/program_facts.hpp"

namespace stretto::detail {

/// What members of one bucket have in common.
struct bucket_key {
    std::uint32_t label = 0;
    group_id group = 0;
    collective_kind kind = collective_kind::other;
    reduction_kind reduction = reduction_kind::none;
    element_type element = element_type::other;  ///< `other` for gathers whose elements are bytes to everybody
    friend auto operator<=>(const bucket_key&, const bucket_key&) = default;
};

/// A collective that may be merged: positions of its start, its wait and the cast that its pack would do.
struct bucket_candidate {
    std::uint32_t start = 0, wait = 0, cast = UINT32_MAX;
    std::uint32_t place = 0;
    bucket_key key;
    bytes payload, received;
};

/// Why the start at p can be no member, whatever the others are; `other` is the position of who is at fault.
struct no_candidate {
    bucket_obstacle why;
    std::uint32_t other;
};

/// The wait of the start at p, or why it is no collective of one value that only its wait looks at.
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
    if (wait == Facts::none || f.operands[wait].size() != 1 || f.only_result(wait) == Facts::none)
        return no_candidate{bucket_obstacle::several_values, p};
    if (!f.writes[wait].empty()) return no_candidate{bucket_obstacle::shared_memory, wait};
    return std::nullopt;
}

/// The key of the start at p. Gathers only move bytes, so they may differ in what these mean if `mixed`.
template <class Facts, class M>
[[nodiscard]] bucket_key key_of(const Facts& f, const M& model, std::uint32_t p, std::uint32_t label, bool mixed) {
    using G = decltype(f.graph);
    const collective_call call = call_of<G>(model, f.vertex[p]);
    const bool folds = reduces(call.kind);
    return {label, group_of<G>(model, f.vertex[p]), call.kind, folds ? call.reduction : reduction_kind::none,
            !folds && mixed ? element_type::other : call.element};
}

/// Whether the kernel that makes what the start at p sends may be left to its pack: it has one operand and one result
/// in memory of its own, nobody else looks at that, and the operand is as it was when the pack reads it, because nobody
/// writes into its memory any more.
template <class Facts>
[[nodiscard]] bool absorbs_cast(const Facts& f, const storage_uses<Facts>& uses, std::uint32_t p) {
    const std::uint32_t x = f.operands[p][0], cast = f.producer[x];
    if (f.kind[cast] != op_kind::compute || f.operands[cast].size() != 1 || f.only_result(cast) != x ||
        !f.writes[cast].empty() || f.consumers[x].size() != 1 || f.storages[x].size() != 1 || f.storages[x][0] != x)
        return false;
    for (std::uint32_t q : uses.users(x))  // somebody may have made a view of it
        if (q != cast && q != p && !(f.kind[q] == op_kind::wait && f.launch[q] == p)) return false;
    for (std::uint32_t s : f.storages[f.operands[cast][0]])
        for (std::uint32_t q : uses.writers(s))
            if (q > cast) return false;
    std::size_t followers = 0;
    for ([[maybe_unused]] const auto& v : f.graph.successors(f.vertex[cast])) ++followers;
    std::size_t leaders = 0;
    for ([[maybe_unused]] const auto& v : f.graph.predecessors(f.vertex[cast])) ++leaders;
    return followers == 1 && leaders == 1;  // and no dependence that is no value
}

/// How many bytes a bucket counts for a member.
[[nodiscard]] constexpr bytes weight(const bucket_candidate& c) noexcept { return std::max(c.payload, c.received); }

}  // namespace stretto::detail

#endif
