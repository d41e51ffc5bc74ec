// What a vertex is. A view says how vertices are connected; an op model says which of them compute, launch a collective
// or wait for one, how long they take, and what memory they hold. It is a second small struct, because one graph may be
// examined under several cost models.
//
// Only `kind` is required. Other members are detected, and the accessors below supply a default for each one that is
// missing, so a first model is five lines long and grows as its author learns more. A member that is present must be
// right: if it has one of these names but is not const, or has another signature, a compile error names it. If it were
// silently ignored, operations would cost no time or hold no memory, and writes in place would lose their order.
#ifndef STRETTO_CORE_OP_MODEL_HPP
#define STRETTO_CORE_OP_MODEL_HPP

#include <concepts>
#include <cstdint>

#include "stretto/core/collective_call.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/has_member.hpp"
#include "stretto/core/process_group.hpp"
#include "stretto/core/units.hpp"

namespace stretto {

/// What a vertex does.
enum class op_kind : std::uint8_t {
    input,    ///< a parameter or argument of the step: exists before the step begins, never freed
    compute,  ///< occupies the compute lane for its duration
    view,     ///< no kernel; its results alias operands, or are not tensors
    start,    ///< launches a collective on the channel of its process group; the lane does not wait
    wait,     ///< the lane waits for the collective of its launch (or for nothing, if it has none)
    output,   ///< names the results of the step; its operands are never freed
};

/// Whether a task of this kind does work on a lane, as kernels and collectives do. Inputs, views and outputs only name
/// values, and a wait only orders.
[[nodiscard]] constexpr bool does_work(op_kind kind) noexcept {
    return kind == op_kind::compute || kind == op_kind::start;
}

/// Group ids must be below this limit, because algorithms keep an array entry for every group up to the largest in use.
/// The handle of a communicator or a hash of its name is therefore not a group_id; make_task_graph and check_op_model
/// reject ids that are too large.
inline constexpr group_id group_limit = 1u << 16;

namespace detail {

STRETTO_MEMBER_NAME(duration);
STRETTO_MEMBER_NAME(collective);
STRETTO_MEMBER_NAME(group);
STRETTO_MEMBER_NAME(payload);
STRETTO_MEMBER_NAME(call);
STRETTO_MEMBER_NAME(launch_of);
STRETTO_MEMBER_NAME(bytes_of);
STRETTO_MEMBER_NAME(aliases);
STRETTO_MEMBER_NAME(effects);
STRETTO_MEMBER_NAME(synchronises);

// An optional member is either missing or as documented.
template <class M, class G>
concept duration_returns_nanoseconds = !has_duration<M, vertex_t<G>> || requires(const M& m, const vertex_t<G> v) {
    { m.duration(v) } -> std::convertible_to<nanoseconds>;
};
template <class M, class G>
concept collective_returns_collective_kind =
    !has_collective<M, vertex_t<G>> || requires(const M& m, const vertex_t<G> v) {
        { m.collective(v) } -> std::convertible_to<collective_kind>;
    };
// The braces reject narrowing: otherwise two 64-bit handles could become one group id, and share a channel.
template <class M, class G>
concept group_returns_group_id_unnarrowed =
    !has_group<M, vertex_t<G>> || requires(const M& m, const vertex_t<G> v) { group_id{m.group(v)}; };
template <class M, class G>
concept payload_returns_bytes = !has_payload<M, vertex_t<G>> || requires(const M& m, const vertex_t<G> v) {
    { m.payload(v) } -> std::convertible_to<bytes>;
};
template <class M, class G>
concept call_returns_collective_call = !has_call<M, vertex_t<G>> || requires(const M& m, const vertex_t<G> v) {
    { m.call(v) } -> std::convertible_to<collective_call>;
};
template <class M, class G>
concept launch_of_returns_vertex = !has_launch_of<M, vertex_t<G>> || requires(const M& m, const vertex_t<G> v) {
    { m.launch_of(v) } -> std::convertible_to<vertex_t<G>>;
};
template <class M, class G>
concept bytes_of_returns_bytes = !has_bytes_of<M, value_t<G>> || requires(const M& m, const value_t<G> x) {
    { m.bytes_of(x) } -> std::convertible_to<bytes>;
};
template <class M, class G>
concept aliases_returns_values = !has_aliases<M, value_t<G>> || requires(const M& m, const value_t<G> x) {
    { m.aliases(x) } -> iterable_of<value_t<G>>;
};
template <class M, class G>
concept effects_returns_values = !has_effects<M, vertex_t<G>> || requires(const M& m, const vertex_t<G> v) {
    { m.effects(v) } -> iterable_of<value_t<G>>;
};
template <class M, class G>
concept synchronises_returns_bool = !has_synchronises<M, vertex_t<G>> || requires(const M& m, const vertex_t<G> v) {
    { m.synchronises(v) } -> std::convertible_to<bool>;
};

}  // namespace detail

/// Requires `kind(v)`. These members are optional, and are called only for the vertices or values listed:
///   duration(v) -> nanoseconds         kernel time, or time on the channel for a start;     default 0
///                                      0 for all others, which take none
///   collective(v) -> collective_kind   of a start                                           default other
///   group(v) -> group_id               of a start: which channel; no wider integer,         default 0
///                                      no signed one
///   payload(v) -> bytes                of a start: bytes of this rank's input               default 0
///   call(v) -> collective_call         of a start: see core/collective_call.hpp             default from its kind
///   launch_of(w) -> vertex             the start for which a wait waits, or w if none       default: the producer
///                                      of its first operand if that is a start, else none
///   bytes_of(x) -> bytes               storage allocated for a value (0 if it only aliases) default 0
///   aliases(x) -> values               values whose storage x shares: results of earlier    default none
///                                      vertices, or earlier results of the same vertex
///   effects(v) -> values               values whose storage v writes in place               default none
///   synchronises(v) -> bool            of a compute or a view: the host reads a number      default false
///                                      there, and launches nothing further until it has
template <class M, class G>
concept op_model =
    dataflow_graph<G> && std::copy_constructible<M> &&
    requires(const M& m, const typename G::vertex_type v) {
        { m.kind(v) } -> std::same_as<op_kind>;
    } && detail::duration_returns_nanoseconds<M, G> && detail::collective_returns_collective_kind<M, G> &&
    detail::group_returns_group_id_unnarrowed<M, G> && detail::payload_returns_bytes<M, G> &&
    detail::call_returns_collective_call<M, G> && detail::launch_of_returns_vertex<M, G> &&
    detail::bytes_of_returns_bytes<M, G> && detail::aliases_returns_values<M, G> &&
    detail::effects_returns_values<M, G> && detail::synchronises_returns_bool<M, G>;

/// An op model that knows the calls of its starts: `call(v) -> collective_call`, whose kind is `collective(v)`.
template <class M, class G>
concept calling_op_model = op_model<M, G> && detail::has_call<M, vertex_t<G>>;

/// Which of the optional members a model has.
struct op_model_members {
    bool duration = false, collective = false, group = false, payload = false, call = false, launch_of = false,
         bytes_of = false, aliases = false, effects = false, synchronises = false;
    friend bool operator==(const op_model_members&, const op_model_members&) = default;
};

/// The optional members that the model `M` has.
template <dataflow_graph G, op_model<G> M>
[[nodiscard]] constexpr op_model_members members_of() {
    using V = vertex_t<G>;
    using X = value_t<G>;
    return {.duration = detail::has_duration<M, V>,
            .collective = detail::has_collective<M, V>,
            .group = detail::has_group<M, V>,
            .payload = detail::has_payload<M, V>,
            .call = detail::has_call<M, V>,
            .launch_of = detail::has_launch_of<M, V>,
            .bytes_of = detail::has_bytes_of<M, X>,
            .aliases = detail::has_aliases<M, X>,
            .effects = detail::has_effects<M, V>,
            .synchronises = detail::has_synchronises<M, V>};
}

/// The accessors fill in the defaults. Library code calls models only through them.
template <dataflow_graph G, op_model<G> M>
constexpr nanoseconds duration_of(const M& model, vertex_t<G> v) {
    if constexpr (detail::has_duration<M, vertex_t<G>>) return model.duration(v);
    else return {};
}

/// The kind of the collective that the start `v` launches. A model without `collective` may say it in `call`; for one
/// without both, it is `other`.
template <dataflow_graph G, op_model<G> M>
constexpr collective_kind collective_of(const M& model, vertex_t<G> v) {
    if constexpr (detail::has_collective<M, vertex_t<G>>) return model.collective(v);
    else if constexpr (calling_op_model<M, G>) return collective_call(model.call(v)).kind;
    else return collective_kind::other;
}

/// The group on whose channel the start `v` launches its collective; 0 for a model without `group`.
template <dataflow_graph G, op_model<G> M>
constexpr group_id group_of(const M& model, vertex_t<G> v) {
    if constexpr (detail::has_group<M, vertex_t<G>>) return model.group(v);
    else return 0;
}

/// The process group on whose channel the start `v` launches its collective: entry `group(v)` of `groups`.
template <dataflow_graph G, op_model<G> M, group_model L>
constexpr process_group process_group_of(const M& model, const L& groups, vertex_t<G> v) {
    return groups.group_at(group_of<G>(model, v));
}

/// The bytes that this rank puts into the collective of the start `v`; 0 for a model without `payload`.
template <dataflow_graph G, op_model<G> M>
constexpr bytes payload_of(const M& model, vertex_t<G> v) {
    if constexpr (detail::has_payload<M, vertex_t<G>>) return model.payload(v);
    else return {};
}

/// The call of the start `v`. For a model without `call` it has the kind and whether data is reduced, and nothing else.
template <dataflow_graph G, op_model<G> M>
constexpr collective_call call_of(const M& model, vertex_t<G> v) {
    if constexpr (calling_op_model<M, G>) {
        return model.call(v);
    } else {
        collective_call call;
        call.kind = collective_of<G>(model, v);
        call.reduction = reduces(call.kind) ? reduction_kind::unknown : reduction_kind::none;
        return call;
    }
}

/// The storage that `x` allocates; 0 for a model without `bytes_of`.
template <dataflow_graph G, op_model<G> M>
constexpr bytes allocation_of(const M& model, value_t<G> x) {
    if constexpr (detail::has_bytes_of<M, value_t<G>>) return model.bytes_of(x);
    else return {};
}

/// Whether the host reads a number at `v`, a compute or a view; false for a model without `synchronises`.
template <dataflow_graph G, op_model<G> M>
constexpr bool does_synchronise(const M& model, vertex_t<G> v) {
    if constexpr (detail::has_synchronises<M, vertex_t<G>>) return model.synchronises(v);
    else return false;
}

/// The start for which `w` waits, or `w` itself if it waits for nothing.
template <dataflow_graph G, op_model<G> M>
constexpr vertex_t<G> launch_of(const G& g, const M& model, vertex_t<G> w) {
    if constexpr (detail::has_launch_of<M, vertex_t<G>>) {
        return model.launch_of(w);
    } else {
        for (value_t<G> x : g.operands(w)) {
            vertex_t<G> p = g.producer(x);
            return model.kind(p) == op_kind::start ? p : w;
        }
        return w;
    }
}

/// Calls `f(y)` for every value whose storage `x` shares.
template <dataflow_graph G, op_model<G> M, class F>
constexpr void for_each_alias(const M& model, value_t<G> x, F&& f) {
    if constexpr (detail::has_aliases<M, value_t<G>>)
        for (value_t<G> y : model.aliases(x)) f(y);
}

/// Calls `f(y)` for every value whose storage `v` writes in place.
template <dataflow_graph G, op_model<G> M, class F>
constexpr void for_each_effect(const M& model, vertex_t<G> v, F&& f) {
    if constexpr (detail::has_effects<M, vertex_t<G>>)
        for (value_t<G> y : model.effects(v)) f(y);
}

}  // namespace stretto

#endif
