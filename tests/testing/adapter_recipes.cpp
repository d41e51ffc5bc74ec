// The recipes of docs/adapt-your-ir.md: arguments that are no operations, collectives that do not come in two.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <utility>
#include <vector>

#include "stretto/schedule/plan_overlap.hpp"
#include "stretto/testing/check_graph.hpp"
#include "stretto/transform/reorder.hpp"
#include "stretto/views/filtered.hpp"
#include "stretto/views/from_values.hpp"
#include "stretto/views/numbered.hpp"

using namespace stretto;

namespace {

// [recipe-ir]
struct instruction;
struct tensor {
    instruction* made_by = nullptr;  // nullptr: an argument of the function
    std::vector<instruction*> users;
};
struct instruction {
    const char* name;
    bool collective;  // synchronous: done when the next instruction begins
    std::vector<tensor*> reads;
    tensor result = {};
};
struct function {
    std::list<tensor> arguments;
    std::list<instruction> body;
};
// [/recipe-ir]

// [recipe-view]
/// An argument, an instruction, or one half of a collective.
struct vertex {
    enum role : std::uintptr_t {
        argument,
        whole,
        start,
        wait
    };
    role what = whole;
    void* of = nullptr;
    instruction* op() const { return static_cast<instruction*>(of); }
    friend bool operator==(const vertex&, const vertex&) = default;
};

/// A tensor, or what a collective that is to make it has in flight.
struct value {
    tensor* t = nullptr;
    std::uintptr_t in_flight = false;
    friend bool operator==(const value&, const value&) = default;
};

struct function_view {
    using vertex_type = vertex;
    using value_type = value;
    function* f;

    std::vector<vertex> vertices() const {
        std::vector<vertex> all;  // arguments first: they are there before anything runs
        for (tensor& t : f->arguments) all.push_back({vertex::argument, &t});
        for (instruction& i : f->body) {
            if (i.collective) all.push_back({vertex::start, &i});
            all.push_back({i.collective ? vertex::wait : vertex::whole, &i});
        }
        return all;
    }
    std::vector<value> operands(vertex v) const {
        if (v.what == vertex::argument) return {};
        if (v.what == vertex::wait) return {{&v.op()->result, true}};
        std::vector<value> all;
        for (tensor* t : v.op()->reads) all.push_back({t, false});
        return all;
    }
    std::array<value, 1> results(vertex v) const {
        if (v.what == vertex::argument) return {{{static_cast<tensor*>(v.of), false}}};
        return {{{&v.op()->result, v.what == vertex::start}}};
    }
    vertex producer(value x) const {
        if (x.t->made_by == nullptr) return {vertex::argument, x.t};
        if (!x.t->made_by->collective) return {vertex::whole, x.t->made_by};
        return {x.in_flight ? vertex::start : vertex::wait, x.t->made_by};
    }
    std::vector<vertex> consumers(value x) const {
        if (x.in_flight) return {{vertex::wait, x.t->made_by}};
        std::vector<vertex> all;
        for (instruction* i : x.t->users) all.push_back({i->collective ? vertex::start : vertex::whole, i});
        return all;
    }
};

struct function_model {
    op_kind kind(vertex v) const {
        switch (v.what) {
            case vertex::argument:
                return op_kind::input;
            case vertex::start:
                return op_kind::start;
            case vertex::wait:
                return op_kind::wait;
            default:
                return op_kind::compute;
        }
    }
    nanoseconds duration(vertex v) const { return {v.what == vertex::start || v.what == vertex::whole ? 100 : 0}; }
    bytes bytes_of(value x) const {
        return {x.t->made_by != nullptr && x.t->made_by->collective != x.in_flight ? 0 : 64};
    }
    /// The start allocates what the wait gives.
    std::vector<value> aliases(value x) const {
        if (x.in_flight || x.t->made_by == nullptr || !x.t->made_by->collective) return {};
        return {{x.t, true}};
    }
};
// [/recipe-view]

instruction* append(function& f, const char* name, bool collective, std::vector<tensor*> reads) {
    f.body.push_back({name, collective, std::move(reads)});
    instruction* made = &f.body.back();
    made->result.made_by = made;
    for (tensor* t : made->reads) t->users.push_back(made);
    return made;
}

}  // namespace

TEST_CASE("arguments are inputs, and a synchronous collective is a start and a wait") {
    function f;
    f.arguments.resize(2);
    tensor *rows = &f.arguments.front(), *weights = &f.arguments.back();
    instruction* exchange = append(f, "exchange", true, {rows});
    instruction* experts = append(f, "experts", false, {&exchange->result, weights});
    instruction* shared = append(f, "shared", false, {rows, weights});
    append(f, "add", false, {&experts->result, &shared->result});

    // [recipe-use]
    const auto base = stretto::views::from_values(function_view{&f});
    const stretto::numbering<vertex> numbers(base);
    const auto view = stretto::views::numbered(base, numbers);
    const auto plan = stretto::plan_overlap(view, function_model{});
    REQUIRE(plan);

    // What is an instruction of the function, in its new order: arguments have no place in the body.
    const auto in_body = [](vertex v) { return v.what != vertex::argument; };
    std::vector<vertex> order;
    for (vertex v : plan->order)
        if (in_body(v)) order.push_back(v);
    const auto moves = stretto::plan_reorder(stretto::views::filtered(view, in_body), std::span<const vertex>(order));
    // [/recipe-use]

    const auto graph = check_graph(view);
    REQUIRE_MESSAGE(graph, graph.error().message());
    CHECK(graph->vertices == 7);
    const auto model = check_op_model(view, function_model{});
    REQUIRE_MESSAGE(model, model.error().message());
    CHECK(model->inputs == 2);
    CHECK(model->starts == 1);
    CHECK(model->waits_on_nothing == 0);
    REQUIRE(plan->certificate.exposures().size() == 1);
    CHECK(plan->certificate.exposures()[0].exposed == nanoseconds{0});
    REQUIRE(moves);
    REQUIRE(moves->moves.size() == 1);  // "shared" runs while the exchange is under way
    CHECK(moves->moves[0].vertex == vertex{vertex::whole, shared});
    CHECK(moves->moves[0].at == vertex{vertex::wait, exchange});
}
