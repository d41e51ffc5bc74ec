// Archetypes: each type offers the least with which it models a concept. An algorithm that compiles and runs with them
// requires no more than its signature says. They are awkward on purpose: views that have no default constructor and
// cannot be assigned, handles that are not integers, ranges that end in another type and can be iterated once, by
// pre-increment, over proxies, and numbers that merely convert to numbers.
//
// They show a small real graph, two collectives around four operations, so that results can be checked:
//
//     0 input ─→ 1 start ─→ 2 wait ──→ 4 compute ─→ 5 start ─→ 6 wait ─→ 7 output
//       └──────→ 3 compute ────────────┘ (reads both results of 3)
//
// Longer than 300 lines: one small type after the other.
#ifndef STRETTO_TESTING_ARCHETYPES_HPP
#define STRETTO_TESTING_ARCHETYPES_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/collective_call.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/linear_model.hpp"
#include "stretto/core/module_model.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/part_cost_model.hpp"
#include "stretto/core/process_group.hpp"
#include "stretto/core/pure_call_model.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/core/units.hpp"

namespace stretto::archetypes {

/// A handle: regular, trivially copyable, and nothing else. No order, no hash, no arithmetic.
class vertex {
public:
    constexpr vertex() = default;
    constexpr explicit vertex(const std::uint8_t* where) : where_(where) {}
    friend constexpr bool operator==(vertex a, vertex b) { return a.where_ == b.where_; }
    constexpr const std::uint8_t* where() const { return where_; }

private:
    const std::uint8_t* where_ = nullptr;
};

class value {
public:
    constexpr value() = default;
    constexpr value(vertex v, std::uint8_t result) : vertex_(v), result_(result) {}
    friend constexpr bool operator==(const value& a, const value& b) {
        return a.vertex_ == b.vertex_ && a.result_ == b.result_;
    }
    constexpr vertex producer() const { return vertex_; }
    constexpr std::uint8_t result() const { return result_; }

private:
    vertex vertex_;
    std::uint8_t result_ = 0;
};

/// Converts to a number, but is not one.
class number {
public:
    constexpr explicit number(std::size_t n) : n_(n) {}
    constexpr operator std::size_t() const { return n_; }

private:
    std::size_t n_;
};

/// What dereferencing returns: it converts to the element.
template <class T>
class proxy {
public:
    constexpr explicit proxy(T t) : t_(t) {}
    proxy(const proxy&) = delete;
    proxy& operator=(const proxy&) = delete;
    constexpr operator T() const { return t_; }

private:
    T t_;
};

/// Up to eight elements, for one pass: `*`, pre-`++`, and `!=` with an end of another type.
template <class T>
class range {
public:
    struct sentinel {
        const T* end;
    };
    class iterator {
    public:
        constexpr explicit iterator(const T* at) : at_(at) {}
        iterator& operator=(const iterator&) = delete;
        constexpr iterator(const iterator&) = default;
        constexpr proxy<T> operator*() { return proxy<T>(*at_); }
        constexpr void operator++() { ++at_; }
        constexpr bool operator!=(sentinel s) { return at_ != s.end; }

    private:
        const T* at_;
    };

    constexpr range() = default;
    range& operator=(const range&) = delete;
    constexpr range(const range&) = default;
    constexpr void add(T t) { elements_[size_++] = t; }
    constexpr iterator begin() { return iterator(elements_); }
    constexpr sentinel end() { return {elements_ + size_}; }

private:
    T elements_[8] = {};
    std::size_t size_ = 0;
};

namespace detail {

inline constexpr std::size_t vertices = 8;
inline constexpr std::size_t max_operands = 3;

/// Handles are addresses of these elements.
inline constexpr std::uint8_t places[vertices] = {0, 1, 2, 3, 4, 5, 6, 7};

struct operand {
    std::uint8_t op, result;
};
struct operation {
    op_kind kind;
    std::uint8_t results, operands;
    operand read[max_operands];
};
inline constexpr operation graph[vertices] = {
    {op_kind::input, 1, 0, {}},
    {op_kind::start, 1, 1, {{0, 0}}},
    {op_kind::wait, 1, 1, {{1, 0}}},
    {op_kind::compute, 2, 1, {{0, 0}}},
    {op_kind::compute, 1, 3, {{2, 0}, {3, 0}, {3, 1}}},
    {op_kind::start, 1, 1, {{4, 0}}},
    {op_kind::wait, 1, 1, {{5, 0}}},
    {op_kind::output, 0, 1, {{6, 0}}},
};

inline constexpr rank_id ranks[2] = {1, 0};
inline constexpr split_size sizes[2] = {{split_size::form::given, 1}, {split_size::form::measured, 0}};

constexpr vertex at(std::size_t i) { return vertex(places + i); }
constexpr std::size_t position(vertex v) { return static_cast<std::size_t>(v.where() - places); }

constexpr range<vertex> all() {
    range<vertex> r;
    for (std::size_t i = 0; i < vertices; ++i) r.add(at(i));
    return r;
}
constexpr range<vertex> users(std::size_t op, bool any_result, std::uint8_t result) {
    range<vertex> r;
    for (std::size_t i = 0; i < vertices; ++i)
        for (std::size_t k = 0; k < graph[i].operands; ++k)
            if (graph[i].read[k].op == op && (any_result || graph[i].read[k].result == result)) r.add(at(i));
    return r;
}
constexpr range<vertex> sources(std::size_t op) {
    range<vertex> r;
    for (std::size_t k = 0; k < graph[op].operands; ++k) r.add(at(graph[op].read[k].op));
    return r;
}

/// Has no default constructor and no assignment, which graph_view does not require.
class unassignable {
public:
    constexpr explicit unassignable(int) {}
    constexpr unassignable(const unassignable&) = default;
    unassignable& operator=(const unassignable&) = delete;
};

}  // namespace detail

/// graph_view, and no more.
class graph : detail::unassignable {
public:
    using vertex_type = vertex;
    using detail::unassignable::unassignable;
};

/// vertex_list_graph, and no more.
class vertex_list : detail::unassignable {
public:
    using vertex_type = vertex;
    using detail::unassignable::unassignable;
    constexpr range<vertex> vertices() const { return detail::all(); }
};

/// bidirectional_adjacency_graph, and no more.
class adjacency : detail::unassignable {
public:
    using vertex_type = vertex;
    using detail::unassignable::unassignable;
    constexpr range<vertex> successors(vertex v) const { return detail::users(detail::position(v), true, 0); }
    constexpr range<vertex> predecessors(vertex v) const { return detail::sources(detail::position(v)); }
};

/// indexed_graph, and no more. The numbers leave holes and run against program order.
class indexed : detail::unassignable {
public:
    using vertex_type = vertex;
    using detail::unassignable::unassignable;
    constexpr number index(vertex v) const { return number(2 * (detail::vertices - detail::position(v))); }
    constexpr number index_bound() const { return number(2 * detail::vertices + 1); }
};

/// dependence_graph, and no more.
class dependence : detail::unassignable {
public:
    using vertex_type = vertex;
    using detail::unassignable::unassignable;
    constexpr range<vertex> vertices() const { return detail::all(); }
    constexpr range<vertex> successors(vertex v) const { return adjacency(0).successors(v); }
    constexpr range<vertex> predecessors(vertex v) const { return adjacency(0).predecessors(v); }
    constexpr number index(vertex v) const { return indexed(0).index(v); }
    constexpr number index_bound() const { return indexed(0).index_bound(); }
};

/// dataflow_graph, and no more.
class dataflow : detail::unassignable {
public:
    using vertex_type = vertex;
    using value_type = value;
    using detail::unassignable::unassignable;
    constexpr range<value> operands(vertex v) const {
        range<value> r;
        const detail::operation& op = detail::graph[detail::position(v)];
        for (std::size_t k = 0; k < op.operands; ++k) r.add(value(detail::at(op.read[k].op), op.read[k].result));
        return r;
    }
    constexpr range<value> results(vertex v) const {
        range<value> r;
        for (std::uint8_t k = 0; k < detail::graph[detail::position(v)].results; ++k) r.add(value(v, k));
        return r;
    }
    constexpr proxy<vertex> producer(value x) const { return proxy<vertex>(x.producer()); }
    constexpr range<vertex> consumers(value x) const {
        return detail::users(detail::position(x.producer()), false, x.result());
    }
};

/// dependence_graph and dataflow_graph, and no more: what a task graph is built from.
class program : detail::unassignable {
public:
    using vertex_type = vertex;
    using value_type = value;
    using detail::unassignable::unassignable;
    constexpr range<vertex> vertices() const { return detail::all(); }
    constexpr range<vertex> successors(vertex v) const { return adjacency(0).successors(v); }
    constexpr range<vertex> predecessors(vertex v) const { return adjacency(0).predecessors(v); }
    constexpr number index(vertex v) const { return indexed(0).index(v); }
    constexpr number index_bound() const { return indexed(0).index_bound(); }
    constexpr range<value> operands(vertex v) const { return dataflow(0).operands(v); }
    constexpr range<value> results(vertex v) const { return dataflow(0).results(v); }
    constexpr proxy<vertex> producer(value x) const { return dataflow(0).producer(x); }
    constexpr range<vertex> consumers(value x) const { return dataflow(0).consumers(x); }
};

/// op_model, and no more: it has kinds.
class kinds : detail::unassignable {
public:
    using detail::unassignable::unassignable;
    constexpr op_kind kind(vertex v) const { return detail::graph[detail::position(v)].kind; }
};

/// calling_op_model, and no more: it has kinds and calls, each of which exchanges rows between two ranks.
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

/// linear_model, and no more: operation 3 is a view, operation 5 adds, and all are alike.
class sums : detail::unassignable {
public:
    using detail::unassignable::unassignable;
    constexpr linear_kind linearity(vertex v) const {
        const std::size_t i = detail::position(v);
        return i == 3 ? linear_kind::same : i == 5 ? linear_kind::sum : linear_kind::other;
    }
    constexpr proxy<bool> alike(vertex, vertex) const { return proxy<bool>(true); }
};

/// group_model, and no more: it has two groups, the second of which does not know its ranks.
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

/// module_model, and no more. Operation 3 is in layers.0.ffn, forward, and operation 5 in layers.0.moe, backward; the
/// others do not say.
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

/// pure_call_model, and no more: every operation is pure, and the same call as those with as many operands.
class pure_calls : detail::unassignable {
public:
    using detail::unassignable::unassignable;
    constexpr bool is_pure(vertex) const { return true; }
    constexpr bool same_call(vertex u, vertex v) const { return hash_of_call(u) == hash_of_call(v); }
    constexpr std::uint64_t hash_of_call(vertex v) const { return detail::graph[detail::position(v)].operands; }
};

/// tensor_model, and no more: every value is a tensor of four numbers.
class tensors : detail::unassignable {
public:
    using detail::unassignable::unassignable;
    constexpr text operation(vertex) const { return text("op"); }
    std::span<const tensor_argument> arguments(vertex) const { return {}; }
    std::span<const named_tensor_argument> named_arguments(vertex) const { return {}; }
    std::span<const tensor_type> components(value) const {
        static constexpr std::int64_t shape[] = {4};
        static constexpr tensor_type type[] = {{shape, element_type::f32}};
        return type;
    }
};

/// The same, but the extent of each value is the symbol n.
class symbolic_tensors : public tensors {
public:
    using tensors::tensors;
    constexpr text symbolic_extent(value, std::size_t, std::size_t) const { return text("n"); }
};

/// chunk_model, and no more: every value is a tensor of four rows; an operation runs per chunk if all that it reads is
/// sliced, and so are its results then.
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

/// part_cost_model, and no more: a nanosecond for every row, and no bytes.
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

static_assert(graph_view<graph> && !vertex_list_graph<graph> && !adjacency_graph<graph> && !indexed_graph<graph>);
static_assert(vertex_list_graph<vertex_list> && !adjacency_graph<vertex_list> && !indexed_graph<vertex_list>);
static_assert(bidirectional_adjacency_graph<adjacency> && !vertex_list_graph<adjacency> && !indexed_graph<adjacency>);
static_assert(indexed_graph<indexed> && !vertex_list_graph<indexed> && !epoch_graph<indexed>);
static_assert(dependence_graph<dependence> && !dataflow_graph<dependence> && !epoch_graph<dependence>);
static_assert(dataflow_graph<dataflow> && !vertex_list_graph<dataflow> && !adjacency_graph<dataflow>);
static_assert(dependence_graph<program> && dataflow_graph<program>);
static_assert(op_model<kinds, dataflow>);
static_assert(calling_op_model<calls, dataflow> && !calling_op_model<kinds, dataflow>);
static_assert(linear_model<sums, dataflow> && !linear_model<kinds, dataflow>);
static_assert(group_model<groups>);
static_assert(tensor_model<tensors, dataflow> && tensor_model<symbolic_tensors, dataflow>);
static_assert(chunk_model<chunks, dataflow> && part_cost_model<part_costs, dataflow>);
static_assert(module_model<modules, graph> && !module_model<kinds, program>);
static_assert(pure_call_model<pure_calls, graph> && !pure_call_model<kinds, program>);

}  // namespace stretto::archetypes

#endif
