// The recipes of docs/adapt-your-ir.md: arguments that are no operations, collectives that do not come in two.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/schedule/plan_overlap.hpp"
#include "stretto/testing/check_graph.hpp"
#include "stretto/testing/check_rewriter.hpp"
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
    enum form {
        plain,
        collective,  // synchronous: done when the next instruction begins
        launch,      // made by rewriting only: the halves of a collective
        arrival
    };
    const char* name;
    form is;
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

/// What an instruction is, as far as it reads: a collective is its start.
inline vertex reader(instruction* i) {
    constexpr vertex::role roles[] = {vertex::whole, vertex::start, vertex::start, vertex::wait};
    return {roles[i->is], i};
}

struct function_view {
    using vertex_type = vertex;
    using value_type = value;
    function* f;

    std::vector<vertex> vertices() const {
        std::vector<vertex> all;  // arguments first: they are there before anything runs
        for (tensor& t : f->arguments) all.push_back({vertex::argument, &t});
        for (instruction& i : f->body) {
            all.push_back(reader(&i));
            if (i.is == instruction::collective) all.push_back({vertex::wait, &i});
        }
        return all;
    }
    std::vector<value> operands(vertex v) const {
        if (v.what == vertex::argument) return {};
        if (v != reader(v.op())) return {{&v.op()->result, true}};
        std::vector<value> all;
        for (tensor* t : v.op()->reads) all.push_back({t, false});
        return all;
    }
    std::array<value, 1> results(vertex v) const {
        if (v.what == vertex::argument) return {{{static_cast<tensor*>(v.of), false}}};
        return {{{&v.op()->result, v.what == vertex::start && v.op()->is == instruction::collective}}};
    }
    vertex producer(value x) const {
        if (x.t->made_by == nullptr) return {vertex::argument, x.t};
        if (x.in_flight || x.t->made_by->is != instruction::collective) return reader(x.t->made_by);
        return {vertex::wait, x.t->made_by};
    }
    std::vector<vertex> consumers(value x) const {
        if (x.in_flight) return {{vertex::wait, x.t->made_by}};
        std::vector<vertex> all;
        for (instruction* i : x.t->users) all.push_back(reader(i));
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
    bytes bytes_of(value x) const { return {aliases(x).empty() ? 64 : 0}; }
    /// The start allocates what the wait gives.
    std::vector<value> aliases(value x) const {
        if (x.in_flight || x.t->made_by == nullptr) return {};
        if (x.t->made_by->is == instruction::arrival) return {{x.t->made_by->reads[0], false}};
        if (x.t->made_by->is == instruction::collective) return {{x.t, true}};
        return {};
    }
};
// [/recipe-view]

// [recipe-rewriter]
struct function_rewriter {
    function* f;
    std::list<instruction>::iterator at = {};

    void insert_before(vertex v) {  // nothing stands between the halves of an instruction
        for (at = f->body.begin(); &*at != v.op();) ++at;
    }
    /// Clones of a collective are halves, so that other work may stand between them.
    std::array<value, 1> clone(vertex v, std::span<const value> operands, const chunk_part&) {
        constexpr instruction::form forms[] = {instruction::plain, instruction::plain, instruction::launch,
                                               instruction::arrival};  // by role
        instruction* made = &*f->body.insert(at, {v.op()->name, forms[v.what], {}});
        made->result.made_by = made;
        for (value x : operands) {
            made->reads.push_back(x.t);
            x.t->users.push_back(made);
        }
        return {{{&made->result, false}}};
    }
};
// [/recipe-rewriter]

instruction* append(function& f, const char* name, instruction::form is, std::vector<tensor*> reads) {
    f.body.push_back({name, is, std::move(reads)});
    instruction* made = &f.body.back();
    made->result.made_by = made;
    for (tensor* t : made->reads) t->users.push_back(made);
    return made;
}

/// A program with its numbers, for checks.
struct program {
    program() = default;
    program(const program&) = delete;  // the numbering and the instructions point into it
    program& operator=(const program&) = delete;

    function f;
    numbering<vertex> numbers{views::from_values(function_view{&f})};

    auto base() { return views::from_values(function_view{&f}); }
    auto view() { return views::numbered(base(), numbers); }
    function_model model() const { return {}; }
    function_rewriter rewriter() { return {&f}; }
    void changed() { numbers.renumber(base()); }
};

/// An exchange before the experts, and one behind them.
std::unique_ptr<program> exchanged_program() {
    auto p = std::make_unique<program>();
    p->f.arguments.resize(2);
    tensor *rows = &p->f.arguments.front(), *weights = &p->f.arguments.back();
    instruction* there = append(p->f, "exchange", instruction::collective, {rows});
    instruction* experts = append(p->f, "experts", instruction::plain, {&there->result, weights});
    instruction* back = append(p->f, "exchange", instruction::collective, {&experts->result});
    append(p->f, "add", instruction::plain, {rows, &back->result});
    p->changed();
    return p;
}

}  // namespace

TEST_CASE("arguments are inputs, and a synchronous collective is a start and a wait") {
    function f;
    f.arguments.resize(2);
    tensor *rows = &f.arguments.front(), *weights = &f.arguments.back();
    instruction* exchange = append(f, "exchange", instruction::collective, {rows});
    instruction* experts = append(f, "experts", instruction::plain, {&exchange->result, weights});
    instruction* shared = append(f, "shared", instruction::plain, {rows, weights});
    append(f, "add", instruction::plain, {&experts->result, &shared->result});

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

TEST_CASE("a synchronous collective is cloned as two halves") {
    struct handle {  // what checks are given moves, and numbers do not
        std::unique_ptr<program> p = exchanged_program();
        auto view() const { return p->view(); }
        auto model() const { return p->model(); }
        auto rewriter() const { return p->rewriter(); }
        void changed() const { p->changed(); }
    };
    const auto verbs = check_rewriter([] { return handle{}; });
    REQUIRE_MESSAGE(verbs, verbs.error().message());
    CHECK(verbs->clones >= 4 * 3);
}
