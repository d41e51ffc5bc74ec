// Archetypes of models, over the graph of archetypes.hpp: each offers the minimum with which it models a concept, and
// is as awkward as the views there. The result of a member merely converts to the required type.
#ifndef STRETTO_TESTING_MODEL_ARCHETYPES_HPP
#define STRETTO_TESTING_MODEL_ARCHETYPES_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "stretto/core/bucket_cost_model.hpp"
#include "stretto/core/bucket_form_model.hpp"
#include "stretto/core/chunk_model.hpp"
#include "stretto/core/collective_call.hpp"
#include "stretto/core/input_role_model.hpp"
#include "stretto/core/linear_model.hpp"
#include "stretto/core/module_model.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/part_cost_model.hpp"
#include "stretto/core/process_group.hpp"
#include "stretto/core/pure_call_model.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/core/units.hpp"
#include "stretto/testing/archetypes.hpp"

namespace stretto::archetypes {

namespace detail {

inline constexpr rank_id ranks[2] = {1, 0};
inline constexpr split_size sizes[2] = {{split_size::form::given, 1}, {split_size::form::measured, 0}};

inline constexpr std::int64_t shape[] = {4};
inline constexpr tensor_type four[] = {{shape, element_type::f32}};

}  // namespace detail

/// Models op_model, and no more: it has kinds.
class kinds : detail::unassignable {
public:
    using detail::unassignable::unassignable;
    constexpr op_kind kind(vertex v) const { return detail::graph[detail::position(v)].kind; }
};

/// Models calling_op_model, and no more: it has kinds and calls, each of which exchanges rows between two ranks.
class calls : public kinds {
public:
    using kinds::kinds;
    constexpr proxy<collective_call> call(vertex) const {
        return proxy<collective_call>({.kind = collective_kind::all_to_all,
                                       .reduction = reduction_kind::none,
                                       .input_sizes = detail::sizes,
                                       .output_sizes = detail::sizes});
    }
};

/// Models op_model with a host that reads numbers, and no more: in operation 3, a kernel, and in 5, a start, where it
/// is not asked.
class readers : public kinds {
public:
    using kinds::kinds;
    constexpr proxy<bool> synchronises(vertex v) const {
        return proxy<bool>(detail::position(v) == 3 || detail::position(v) == 5);
    }
};

/// Models linear_model, and no more: operation 3 is of kind `same`, operation 5 of kind `sum`, and all are alike.
class sums : detail::unassignable {
public:
    using detail::unassignable::unassignable;
    constexpr linear_kind linearity(vertex v) const {
        const std::size_t i = detail::position(v);
        return i == 3 ? linear_kind::same : i == 5 ? linear_kind::sum : linear_kind::other;
    }
    constexpr proxy<bool> alike(vertex, vertex) const { return proxy<bool>(true); }
};

/// Models input_role_model, and no more: the only input is the only parameter.
class roles : detail::unassignable {
public:
    using detail::unassignable::unassignable;
    constexpr input_role role(value x) const {
        return detail::position(x.producer()) == 0 ? input_role::parameter : input_role::other;
    }
    constexpr proxy<std::uint32_t> place(value x) const {
        return proxy<std::uint32_t>(role(x) == input_role::parameter ? 0 : no_place);
    }
};

/// Models group_model, and no more: it has two groups, the second of which does not know its ranks.
class groups : detail::unassignable {
public:
    using detail::unassignable::unassignable;
    constexpr number group_count() const { return number(2); }
    constexpr proxy<process_group> group_at(group_id id) const {
        return proxy<process_group>(
            {.size = 2,
             .id = id,
             .ranks = id == 0 ? std::span<const rank_id>(detail::ranks) : std::span<const rank_id>()});
    }
};

/// Converts to a text, but is not one.
class text {
public:
    constexpr explicit text(std::string_view t) : t_(t) {}
    text(const text&) = delete;
    text& operator=(const text&) = delete;
    constexpr operator std::string_view() const { return t_; }

private:
    std::string_view t_;
};

/// Models module_model, and no more. Operation 3 is in layers.0.ffn, forward, and operation 5 in layers.0.moe,
/// backward; for the others both are unknown.
class modules : detail::unassignable {
public:
    using detail::unassignable::unassignable;
    constexpr text path(vertex v) const {
        const std::size_t i = detail::position(v);
        return text(i == 3 ? "layers.0.ffn" : i == 5 ? "layers.0.moe" : "");
    }
    constexpr pass_direction direction(vertex v) const {
        const std::size_t i = detail::position(v);
        return i == 3 ? pass_direction::forward : i == 5 ? pass_direction::backward : pass_direction::both;
    }
};

/// Models pure_call_model, and no more: every operation is pure, and the same call as those with equally many operands.
class pure_calls : detail::unassignable {
public:
    using detail::unassignable::unassignable;
    constexpr bool is_pure(vertex) const { return true; }
    constexpr bool same_call(vertex u, vertex v) const { return hash_of_call(u) == hash_of_call(v); }
    constexpr std::uint64_t hash_of_call(vertex v) const { return detail::graph[detail::position(v)].operands; }
};

/// Models tensor_model, and no more: every value is a tensor of four numbers.
class tensors : detail::unassignable {
public:
    using detail::unassignable::unassignable;
    constexpr text operation(vertex) const { return text("op"); }
    std::span<const tensor_argument> arguments(vertex) const { return {}; }
    std::span<const named_tensor_argument> named_arguments(vertex) const { return {}; }
    std::span<const tensor_type> components(value) const { return detail::four; }
};

/// The same, but the extent of each value is the symbol n.
class symbolic_tensors : public tensors {
public:
    using tensors::tensors;
    constexpr text symbolic_extent(value, std::size_t, std::size_t) const { return text("n"); }
};

/// Models chunk_model, and no more: every value is a tensor of four rows; an operation runs per chunk if all its
/// operands are sliced, and its results are then sliced as well.
class chunks : detail::unassignable {
public:
    using detail::unassignable::unassignable;
    constexpr number components_of(value) const { return number(1); }
    constexpr number rank(value, std::size_t) const { return number(1); }
    constexpr std::int32_t extent(value, std::size_t, std::size_t) const { return 4; }
    constexpr chunk_verdict combine_rule(vertex, std::int64_t, std::span<const chunk_state> operands,
                                         std::span<chunk_state> results) const {
        for (std::size_t k = 0; k < operands.size(); ++k)
            if (operands[k].what != chunk_state::kind::sliced)
                return {.possible = false, .wanted = static_cast<std::int32_t>(k), .wanted_dim = 0};
        for (chunk_state& s : results) s = operands[0];
        return {};
    }
};

/// Models bucket_cost_model, and no more: a nanosecond for every byte.
class bucket_costs : detail::unassignable {
public:
    using detail::unassignable::unassignable;
    constexpr nanoseconds of_merged(vertex, bytes payload) const { return {payload.count}; }
    constexpr nanoseconds of_moving(bytes moved) const { return {moved.count}; }
};

/// Models bucket_form_model, and no more: operation 1 sends the value of operation 0 as a bucket of one.
class bucket_forms : detail::unassignable {
public:
    using detail::unassignable::unassignable;
    std::optional<bucket_form<vertex, value>> form(vertex v) const {
        if (detail::position(v) != 1) return std::nullopt;
        bucket_form<vertex, value> f;
        f.wait = detail::at(2);
        f.row = bytes{8};
        f.parts.push_back({value(detail::at(0), 0), {}, bytes{8}});
        f.results.push_back({value(detail::at(2), 0), {}, bytes{8}});
        return f;
    }
};

/// Models part_cost_model, and no more: a nanosecond for every row, and no bytes.
class part_costs : detail::unassignable {
public:
    using detail::unassignable::unassignable;
    constexpr clone_cost of_clone(vertex, const chunk_part& part, std::span<bytes> allocated) const {
        for (bytes& b : allocated) b = {};
        return {{part.rows.count}, {}};
    }
    constexpr join_cost of_concat(value) const { return {op_kind::compute, {4}, {}}; }
    constexpr join_cost of_sum(value) const { return {op_kind::view, {}, {}}; }
    constexpr bytes of_empty(value) const { return {}; }
    constexpr nanoseconds of_slice_write(value, std::size_t, std::span<const std::int64_t> sizes, std::size_t k) const {
        return {sizes[k]};
    }
};

/// Models chunk_model_source as a callable that makes a model for every trial, and no more.
class chunk_maker : detail::unassignable {
public:
    using detail::unassignable::unassignable;
    constexpr chunks operator()() const { return chunks(0); }
};

/// Models size_model, and no more: every value is a tensor of four numbers of four bytes.
class sizes : detail::unassignable {
public:
    using detail::unassignable::unassignable;
    constexpr number components_of(value) const { return number(1); }
    constexpr proxy<std::int64_t> size(value, std::size_t) const { return proxy<std::int64_t>(16); }
    constexpr std::int32_t extent(value, std::size_t, std::size_t) const { return 4; }
};

static_assert(op_model<kinds, dataflow>);
static_assert(calling_op_model<calls, dataflow> && !calling_op_model<kinds, dataflow>);
static_assert(linear_model<sums, dataflow> && !linear_model<kinds, dataflow>);
static_assert(group_model<groups>);
static_assert(tensor_model<tensors, dataflow> && tensor_model<symbolic_tensors, dataflow>);
static_assert(chunk_model<chunks, dataflow> && part_cost_model<part_costs, dataflow>);
static_assert(module_model<modules, graph> && !module_model<kinds, program>);
static_assert(pure_call_model<pure_calls, graph> && !pure_call_model<kinds, program>);
static_assert(chunk_model<decltype(chunk_maker(0)()), dataflow>);
static_assert(input_role_model<roles, dataflow> && !input_role_model<kinds, dataflow>);
static_assert(bucket_form_model<bucket_forms, dataflow> && !bucket_form_model<kinds, dataflow>);
static_assert(bucket_cost_model<bucket_costs, graph> && !bucket_cost_model<kinds, graph>);

}  // namespace stretto::archetypes

#endif
