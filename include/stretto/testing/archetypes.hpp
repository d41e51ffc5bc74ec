// Archetypes: each type offers the minimum with which it models a concept. An algorithm that compiles and runs with
// them requires no more than its signature says. They are awkward on purpose: views without default constructor and
// assignment, handles that are not integers, ranges that end in another type and can be iterated only once, by
// pre-increment, over proxies, and numbers that merely convert to numbers.
//
// They form a small real graph, two collectives and two kernels between an input and the output, so that results can be
// checked:
//
//     0 input ─→ 1 start ─→ 2 wait ──→ 4 compute ─→ 5 start ─→ 6 wait ─→ 7 output
//       └──────→ 3 compute ────────────┘ (reads both results of 3)
//
// This header contains the views; model_archetypes.hpp contains models, rewriter_archetypes.hpp rewriters.
#ifndef STRETTO_TESTING_ARCHETYPES_HPP
#define STRETTO_TESTING_ARCHETYPES_HPP

#include <cstddef>
#include <cstdint>

#include "stretto/core/concepts.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/op_model.hpp"

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

/// A value: the vertex that defines it, and its place among the results of that vertex.
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

/// The result of dereferencing an iterator: it converts to the element.
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

/// Up to eight elements, for a single pass: `*`, pre-`++`, and `!=` with an end of another type.
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

constexpr vertex at(std::size_t i) { return vertex(places + i); }
constexpr std::size_t position(vertex v) { return static_cast<std::size_t>(v.where() - places); }

constexpr range<vertex> all() {
    range<vertex> r;
    for (std::size_t i = 0; i < vertices; ++i) r.add(at(i));
    return r;
}
/// The readers of an operation, once per use: of all its results, or of the one with number `result`.
constexpr range<vertex> users(std::size_t op, bool any_result, std::uint8_t result) {
    range<vertex> r;
    for (std::size_t i = 0; i < vertices; ++i)
        for (std::size_t k = 0; k < graph[i].operands; ++k)
            if (graph[i].read[k].op == op && (any_result || graph[i].read[k].result == result)) r.add(at(i));
    return r;
}
/// The producers of the operands of an operation, one for each operand.
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

/// Models graph_view, and no more.
class graph : detail::unassignable {
public:
    using vertex_type = vertex;
    using detail::unassignable::unassignable;
};

/// Models vertex_list_graph, and no more.
class vertex_list : detail::unassignable {
public:
    using vertex_type = vertex;
    using detail::unassignable::unassignable;
    constexpr range<vertex> vertices() const { return detail::all(); }
};

/// Models bidirectional_adjacency_graph, and no more.
class adjacency : detail::unassignable {
public:
    using vertex_type = vertex;
    using detail::unassignable::unassignable;
    constexpr range<vertex> successors(vertex v) const { return detail::users(detail::position(v), true, 0); }
    constexpr range<vertex> predecessors(vertex v) const { return detail::sources(detail::position(v)); }
};

/// Models indexed_graph, and no more. The numbers have gaps and run against program order.
class indexed : detail::unassignable {
public:
    using vertex_type = vertex;
    using detail::unassignable::unassignable;
    constexpr number index(vertex v) const { return number(2 * (detail::vertices - detail::position(v))); }
    constexpr number index_bound() const { return number(2 * detail::vertices + 1); }
};

/// Models dependence_graph, and no more.
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

/// Models dataflow_graph, and no more.
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

/// Models dependence_graph and dataflow_graph, and no more: the requirements of a task graph.
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

static_assert(graph_view<graph> && !vertex_list_graph<graph> && !adjacency_graph<graph> && !indexed_graph<graph>);
static_assert(vertex_list_graph<vertex_list> && !adjacency_graph<vertex_list> && !indexed_graph<vertex_list>);
static_assert(bidirectional_adjacency_graph<adjacency> && !vertex_list_graph<adjacency> && !indexed_graph<adjacency>);
static_assert(indexed_graph<indexed> && !vertex_list_graph<indexed> && !epoch_graph<indexed>);
static_assert(dependence_graph<dependence> && !dataflow_graph<dependence> && !epoch_graph<dependence>);
static_assert(dataflow_graph<dataflow> && !vertex_list_graph<dataflow> && !adjacency_graph<dataflow>);
static_assert(dependence_graph<program> && dataflow_graph<program>);

}  // namespace stretto::archetypes

#endif
