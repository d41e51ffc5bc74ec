// Names that authors of op models give to a member by mistake. Nothing reads a member with such a name: optional
// members are detected by name, so a wrong name is not a compiler error, but yields a program without durations, groups
// or effects. check_op_model reports such a member.
#ifndef STRETTO_TESTING_DETAIL_MISSPELT_MEMBERS_HPP
#define STRETTO_TESTING_DETAIL_MISSPELT_MEMBERS_HPP

#include "stretto/core/has_member.hpp"
#include "stretto/core/op_model.hpp"

namespace stretto::detail {

// Each defines has_NAME<M, T>: whether M has a member NAME, of whatever signature.
STRETTO_MEMBER_NAME(alias);
STRETTO_MEMBER_NAME(alias_of);
STRETTO_MEMBER_NAME(aliases_of);
STRETTO_MEMBER_NAME(allocation);
STRETTO_MEMBER_NAME(byte_of);
STRETTO_MEMBER_NAME(byte_size);
STRETTO_MEMBER_NAME(call_of);
STRETTO_MEMBER_NAME(calls);
STRETTO_MEMBER_NAME(collective_call);
STRETTO_MEMBER_NAME(collective_of);
STRETTO_MEMBER_NAME(collectives);
STRETTO_MEMBER_NAME(cost);
STRETTO_MEMBER_NAME(duration_of);
STRETTO_MEMBER_NAME(durations);
STRETTO_MEMBER_NAME(effect);
STRETTO_MEMBER_NAME(effects_of);
STRETTO_MEMBER_NAME(group_of);
STRETTO_MEMBER_NAME(groups);
STRETTO_MEMBER_NAME(launch);
STRETTO_MEMBER_NAME(launched_by);
STRETTO_MEMBER_NAME(launches);
STRETTO_MEMBER_NAME(mutates);
STRETTO_MEMBER_NAME(nbytes);
STRETTO_MEMBER_NAME(payload_of);
STRETTO_MEMBER_NAME(payloads);
STRETTO_MEMBER_NAME(process_group);
STRETTO_MEMBER_NAME(size_of);
STRETTO_MEMBER_NAME(start_of);
STRETTO_MEMBER_NAME(synchronizes);
STRETTO_MEMBER_NAME(syncs);
STRETTO_MEMBER_NAME(writes);

/// A sentence about the first member that looks like a misspelt optional one, or nullptr. A member is not reported if
/// the model also has the member that it resembles.
template <class M, class G>
[[nodiscard]] constexpr const char* misspelt_member() {
    using V = vertex_t<G>;
    using X = value_t<G>;
    constexpr op_model_members found = members_of<G, M>();
    if constexpr (!found.duration) {
        if constexpr (has_durations<M, V>) return "nothing reads the member durations(v); is it duration(v)?";
        if constexpr (has_duration_of<M, V>) return "nothing reads the member duration_of(v); is it duration(v)?";
        if constexpr (has_cost<M, V>) return "nothing reads the member cost(v); is it duration(v)?";
    }
    if constexpr (!found.collective) {
        if constexpr (has_collectives<M, V>) return "nothing reads the member collectives(v); is it collective(v)?";
        if constexpr (has_collective_of<M, V>) return "nothing reads the member collective_of(v); is it collective(v)?";
    }
    if constexpr (!found.group) {
        if constexpr (has_groups<M, V>) return "nothing reads the member groups(v); is it group(v)?";
        if constexpr (has_group_of<M, V>) return "nothing reads the member group_of(v); is it group(v)?";
        if constexpr (has_process_group<M, V>) return "nothing reads the member process_group(v); is it group(v)?";
    }
    if constexpr (!found.payload) {
        if constexpr (has_payloads<M, V>) return "nothing reads the member payloads(v); is it payload(v)?";
        if constexpr (has_payload_of<M, V>) return "nothing reads the member payload_of(v); is it payload(v)?";
    }
    if constexpr (!found.call) {
        if constexpr (has_calls<M, V>) return "nothing reads the member calls(v); is it call(v)?";
        if constexpr (has_call_of<M, V>) return "nothing reads the member call_of(v); is it call(v)?";
        if constexpr (has_collective_call<M, V>) return "nothing reads the member collective_call(v); is it call(v)?";
    }
    if constexpr (!found.launch_of) {
        if constexpr (has_launch<M, V>) return "nothing reads the member launch(w); is it launch_of(w)?";
        if constexpr (has_launches<M, V>) return "nothing reads the member launches(w); is it launch_of(w)?";
        if constexpr (has_launched_by<M, V>) return "nothing reads the member launched_by(w); is it launch_of(w)?";
        if constexpr (has_start_of<M, V>) return "nothing reads the member start_of(w); is it launch_of(w)?";
    }
    if constexpr (!found.bytes_of) {
        if constexpr (has_byte_of<M, X>) return "nothing reads the member byte_of(x); is it bytes_of(x)?";
        if constexpr (has_byte_size<M, X>) return "nothing reads the member byte_size(x); is it bytes_of(x)?";
        if constexpr (has_nbytes<M, X>) return "nothing reads the member nbytes(x); is it bytes_of(x)?";
        if constexpr (has_size_of<M, X>) return "nothing reads the member size_of(x); is it bytes_of(x)?";
        if constexpr (has_allocation<M, X>) return "nothing reads the member allocation(x); is it bytes_of(x)?";
    }
    if constexpr (!found.aliases) {
        if constexpr (has_alias<M, X>) return "nothing reads the member alias(x); is it aliases(x)?";
        if constexpr (has_alias_of<M, X>) return "nothing reads the member alias_of(x); is it aliases(x)?";
        if constexpr (has_aliases_of<M, X>) return "nothing reads the member aliases_of(x); is it aliases(x)?";
    }
    if constexpr (!found.effects) {
        if constexpr (has_effect<M, V>) return "nothing reads the member effect(v); is it effects(v)?";
        if constexpr (has_effects_of<M, V>) return "nothing reads the member effects_of(v); is it effects(v)?";
        if constexpr (has_mutates<M, V>) return "nothing reads the member mutates(v); is it effects(v)?";
        if constexpr (has_writes<M, V>) return "nothing reads the member writes(v); is it effects(v)?";
    }
    if constexpr (!found.synchronises) {
        if constexpr (has_synchronizes<M, V>) return "nothing reads the member synchronizes(v); is it synchronises(v)?";
        if constexpr (has_syncs<M, V>) return "nothing reads the member syncs(v); is it synchronises(v)?";
    }
    return nullptr;
}

}  // namespace stretto::detail

#endif
