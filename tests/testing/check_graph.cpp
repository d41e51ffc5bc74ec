#include "stretto/testing/check_graph.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/analysis/liveness.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/testing/model_archetypes.hpp"
#include "support/linked_ir.hpp"
#include "support/random_program.hpp"
#include "support/row_ir.hpp"

using namespace stretto;

// [check-your-view]
TEST_CASE("my IR keeps its promises") {
    const support::linked_ir ir(support::seeded_program(1, 40));  // any graph of yours, the larger the better

    const auto graph = stretto::check_graph(ir.view());
    if (!graph) FAIL(graph.error().message());
    CHECK(graph->vertices > 40);

    const auto model = stretto::check_op_model(ir.view(), ir.model());
    if (!model) FAIL(model.error().message());
    CHECK(model->starts > 0);
}
// [/check-your-view]

TEST_CASE("the archetypes keep their promises") {
    const auto adjacency = check_graph(archetypes::dependence(0));
    REQUIRE(adjacency);
    CHECK(*adjacency == graph_summary{8, 9, 0});
    const auto program = check_graph(archetypes::program(0));
    REQUIRE(program);
    CHECK(*program == graph_summary{8, 9, 8});
    const auto model = check_op_model(archetypes::program(0), archetypes::kinds(0));
    REQUIRE(model);
    CHECK(*model ==
          model_summary{
              .inputs = 1, .computes = 2, .views = 0, .starts = 2, .waits = 2, .outputs = 1, .waits_on_nothing = 0});
}

// A graph that says what the test wants it to say.
namespace {

struct lie {
    std::vector<int> vertices;
    std::vector<std::size_t> index;
    std::size_t bound = 0;
    std::vector<std::vector<int>> successors, predecessors;
    mutable int asked = 0;
    bool forgetful = false;
};

struct lie_view {
    using vertex_type = int;
    const lie* l;
    std::vector<int> vertices() const { return l->vertices; }
    std::vector<int> successors(int v) const {
        // A forgetful graph loses a neighbour when asked a second time.
        std::vector<int> all = l->successors[static_cast<std::size_t>(v)];
        if (l->forgetful && l->asked++ >= static_cast<int>(l->vertices.size()) && !all.empty()) all.pop_back();
        return all;
    }
    std::vector<int> predecessors(int v) const { return l->predecessors[static_cast<std::size_t>(v)]; }
    std::size_t index(int v) const { return l->index[static_cast<std::size_t>(v)]; }
    std::size_t index_bound() const { return l->bound; }
};

/// 0 -> 1 -> 2, 0 -> 2 twice.
lie truth() {
    return {.vertices = {0, 1, 2},
            .index = {0, 1, 2, 3},
            .bound = 3,
            .successors = {{1, 2, 2}, {2}, {}, {}},
            .predecessors = {{}, {0}, {0, 1, 0}, {}}};
}

std::string verdict(const lie& l, check_options options = {}) {
    const auto result = check_graph(lie_view{&l}, options);
    if (result) return "fine";
    const finding& f = result.error();
    std::string text = f.rule;
    if (f.vertex != finding::none) text += " " + std::to_string(f.vertex);
    if (f.other != finding::none) text += " " + std::to_string(f.other);
    return text;
}

}  // namespace

TEST_CASE("each broken promise is named, with the vertices concerned") {
    lie l = truth();
    CHECK(verdict(l) == "fine");

    SUBCASE("a vertex listed twice") {
        l.vertices = {0, 1, 2, 1};
        CHECK(verdict(l) == "listed-once 1 3");
    }
    SUBCASE("two vertices with one number") {
        l.index = {0, 1, 1};
        CHECK(verdict(l) == "injective 1 2");
    }
    SUBCASE("a number that is not below the bound") {
        l.bound = 2;
        CHECK(verdict(l) == "index 2");
    }
    SUBCASE("an absurd bound") {
        l.bound = SIZE_MAX;
        CHECK(verdict(l) == "bound");
    }
    SUBCASE("a neighbour outside of the graph") {
        l.successors[1] = {2, 3};
        CHECK(verdict(l) == "neighbour-listed 1");
        l.bound = 4;
        CHECK(verdict(l) == "neighbour-listed 1");
    }
    SUBCASE("a parallel edge known to the source only") {
        l.predecessors[2] = {0, 1};
        CHECK(verdict(l) == "mirror 0 2");
    }
    SUBCASE("a predecessor that knows nothing of it") {
        l.predecessors[1] = {0, 2};
        CHECK(verdict(l) == "mirror 2 1");
    }
    SUBCASE("a cycle") {
        l.successors[2] = {0};
        l.predecessors[0] = {2};
        CHECK(verdict(l) == "acyclic 0");
        CHECK(check_graph(lie_view{&l}).error().cycle == std::vector<std::size_t>{0, 1, 2});
        CHECK(check_graph(lie_view{&l}).error().message() == "acyclic: vertex 0: the graph has a cycle: 0 -> 1 -> 2");
    }
    SUBCASE("a self-loop") {
        l.successors[1] = {2, 1};
        l.predecessors[1] = {0, 1};
        CHECK(verdict(l) == "acyclic 1");
    }
    SUBCASE("a program order that is not topological, which may be allowed") {
        l.vertices = {1, 0, 2};
        CHECK(verdict(l) == "program-order 1 0");
        CHECK(verdict(l, {.program_order_is_topological = false}) == "fine");
    }
    SUBCASE("answers that change") {
        l.forgetful = true;
        CHECK(verdict(l) == "stable 0");
    }
}

namespace {

/// The archetype program, with one thing wrong.
struct liar : archetypes::program {
    using vertex = archetypes::vertex;
    using value = archetypes::value;
    enum fault {
        none,
        wrong_producer,
        lost_consumer,
        extra_consumer,
        foreign_operand,
        double_result,
        lost_edge
    };
    fault wrong;

    explicit liar(fault f) : program(0), wrong(f) {}
    static bool is(vertex v, std::size_t i) { return v == archetypes::detail::at(i); }

    vertex producer(value x) const {
        return wrong == wrong_producer && is(x.producer(), 3) && x.result() == 1 ? archetypes::detail::at(0)
                                                                                 : x.producer();
    }
    archetypes::range<vertex> consumers(value x) const {
        if (wrong == lost_consumer && is(x.producer(), 2)) return {};
        archetypes::range<vertex> all = program::consumers(x);
        if (wrong == extra_consumer && is(x.producer(), 2)) all.add(archetypes::detail::at(5));
        return all;
    }
    archetypes::range<value> operands(vertex v) const {
        archetypes::range<value> all = program::operands(v);
        if (wrong == foreign_operand && is(v, 7)) all.add(value(archetypes::detail::at(6), 1));
        return all;
    }
    archetypes::range<value> results(vertex v) const {
        archetypes::range<value> all = program::results(v);
        if (wrong == double_result && is(v, 4)) all.add(value(v, 0));
        return all;
    }
    archetypes::range<vertex> successors(vertex v) const {
        return wrong == lost_edge && is(v, 6) ? archetypes::range<vertex>{} : program::successors(v);
    }
    archetypes::range<vertex> predecessors(vertex v) const {
        return wrong == lost_edge && is(v, 7) ? archetypes::range<vertex>{} : program::predecessors(v);
    }
};

std::string verdict(liar::fault fault) {
    const auto result = check_graph(liar(fault));
    return result ? "fine" : result.error().rule + (" " + std::to_string(result.error().vertex));
}

}  // namespace

TEST_CASE("broken promises about values") {
    CHECK(verdict(liar::none) == "fine");
    CHECK(verdict(liar::wrong_producer) == "producer 3");
    CHECK(verdict(liar::lost_consumer) == "consumer 2");
    CHECK(verdict(liar::extra_consumer) == "consumer 2");
    CHECK(verdict(liar::foreign_operand) == "operand 7");
    CHECK(verdict(liar::double_result) == "result-once 4");
    CHECK(verdict(liar::lost_edge) == "data-dependence 6");
}

namespace {

struct model_of_lies : archetypes::kinds {
    using vertex = archetypes::vertex;
    using value = archetypes::value;
    enum fault {
        none,
        slow,
        view_takes_time,
        wait_takes_time,
        owes,
        launch_is_compute,
        launch_is_later,
        alias_is_later,
        alias_is_itself,
        alias_is_unread,
        effect_is_nowhere,
        effect_is_unread,
        payload_below,
        group_is_hash,
        no_kind
    };
    fault wrong;

    explicit model_of_lies(fault f) : kinds(0), wrong(f) {}
    static bool is(vertex v, std::size_t i) { return v == archetypes::detail::at(i); }

    op_kind kind(vertex v) const {
        if (wrong == no_kind && is(v, 3)) return static_cast<op_kind>(77);
        return wrong == view_takes_time && is(v, 3) ? op_kind::view : kinds::kind(v);
    }
    nanoseconds duration(vertex v) const {
        if (wrong == slow && is(v, 4)) return {-1};
        if (kinds::kind(v) == op_kind::wait) return {wrong == wait_takes_time && is(v, 6) ? 1 : 0};
        return {1};
    }
    bytes payload(vertex v) const { return {wrong == payload_below && is(v, 5) ? -1 : 1}; }
    group_id group(vertex v) const { return wrong == group_is_hash && is(v, 5) ? 0xdeadbeef : 3; }
    bytes bytes_of(value x) const { return {wrong == owes && is(x.producer(), 0) ? -8 : 8}; }
    vertex launch_of(vertex w) const {
        if (wrong == launch_is_compute && is(w, 6)) return archetypes::detail::at(4);
        if (wrong == launch_is_later && is(w, 2)) return archetypes::detail::at(5);
        return archetypes::detail::at(is(w, 2) ? 1 : 5);
    }
    std::vector<value> aliases(value x) const {
        if (wrong == alias_is_itself && is(x.producer(), 4)) return {x};
        if (wrong == alias_is_unread && is(x.producer(), 6)) return {value(archetypes::detail::at(0), 0)};
        if (wrong == alias_is_later && is(x.producer(), 2)) return {value(archetypes::detail::at(4), 0)};
        return {};
    }
    std::vector<value> effects(vertex v) const {
        if (wrong == effect_is_nowhere && is(v, 3)) return {value(archetypes::detail::at(7), 0)};
        if (wrong == effect_is_unread && is(v, 6)) return {value(archetypes::detail::at(0), 0)};
        return {};
    }
};

std::string verdict(model_of_lies::fault fault) {
    const auto result = check_op_model(archetypes::program(0), model_of_lies(fault));
    return result ? "fine" : result.error().rule + (" " + std::to_string(result.error().vertex));
}

}  // namespace

TEST_CASE("broken promises of a model") {
    CHECK(verdict(model_of_lies::none) == "fine");
    CHECK(verdict(model_of_lies::slow) == "duration 4");
    CHECK(verdict(model_of_lies::view_takes_time) == "duration 3");
    CHECK(verdict(model_of_lies::wait_takes_time) == "duration 6");
    CHECK(verdict(model_of_lies::owes) == "bytes 0");
    CHECK(verdict(model_of_lies::payload_below) == "payload 5");
    CHECK(verdict(model_of_lies::launch_is_compute) == "launch 6");
    CHECK(verdict(model_of_lies::launch_is_later) == "launch 2");
    CHECK(verdict(model_of_lies::alias_is_later) == "alias 2");
    CHECK(verdict(model_of_lies::effect_is_nowhere) == "effect 3");
    CHECK(verdict(model_of_lies::alias_is_itself) == "alias 4");
    CHECK(verdict(model_of_lies::alias_is_unread) == "alias 6");
    CHECK(verdict(model_of_lies::effect_is_unread) == "effect 6");
    CHECK(verdict(model_of_lies::group_is_hash) == "group 5");
    CHECK(verdict(model_of_lies::no_kind) == "kind 3");
}

TEST_CASE("what is read before it is made is found, also by who has not asked check_graph") {
    support::row_program p;
    using does = support::row_op::does;
    support::row_op* x = p.append(does::input, {}, 4);
    support::row_op* y = p.append(does::scale, {x}, 4);
    support::row_op* z = p.append(does::scale, {y}, 4);
    p.append(does::output, {z}, 1);
    REQUIRE(check_op_model(support::row_view{&p}, support::row_model{}));
    y->reads[0] = z;  // a circle
    p.renumber();
    const auto circle = check_op_model(support::row_view{&p}, support::row_model{});
    REQUIRE(!circle);
    CHECK(circle.error().rule == std::string("operand"));
    CHECK(circle.error().vertex == 1);
    CHECK(circle.error().other == 2);
    y->reads[0] = y;
    p.renumber();
    CHECK(check_op_model(support::row_view{&p}, support::row_model{}).error().vertex == 1);
}

TEST_CASE("a model says one kind of collective, whether it is asked for the kind or for the call") {
    struct both : archetypes::calls {
        collective_kind said;
        explicit both(collective_kind kind) : calls(0), said(kind) {}
        collective_kind collective(archetypes::vertex) const { return said; }
    };
    CHECK(check_op_model(archetypes::program(0), archetypes::calls(0)));
    CHECK(check_op_model(archetypes::program(0), both(collective_kind::all_to_all)));
    const auto found = check_op_model(archetypes::program(0), both(collective_kind::all_gather));
    REQUIRE(!found);
    CHECK(found.error().rule == std::string("collective"));
    CHECK(found.error().vertex == 1);
}

TEST_CASE("the summary of a model says which members it has") {
    const auto few = check_op_model(archetypes::program(0), archetypes::kinds(0));
    REQUIRE(few);
    CHECK(few->members == op_model_members{});
    const auto most = check_op_model(archetypes::program(0), model_of_lies(model_of_lies::none));
    REQUIRE(most);
    CHECK(most->members == op_model_members{.duration = true,
                                            .collective = false,
                                            .group = true,
                                            .payload = true,
                                            .call = false,
                                            .launch_of = true,
                                            .bytes_of = true,
                                            .aliases = true,
                                            .effects = true});
}

TEST_CASE("members that look misspelt are named, unless the right one stands beside them") {
    struct plural : archetypes::kinds {
        using kinds::kinds;
        nanoseconds durations(archetypes::vertex) const { return {1}; }
    };
    const auto found = check_op_model(archetypes::program(0), plural(0));
    REQUIRE(!found);
    CHECK(found.error().message() == "misspelt: nothing reads the member durations(v); is it duration(v)?");
    struct both : plural {
        using plural::plural;
        nanoseconds duration(archetypes::vertex v) const {
            return kind(v) == op_kind::compute ? durations(v) : nanoseconds{};
        }
    };
    CHECK(check_op_model(archetypes::program(0), both(0)));
    struct singular : archetypes::kinds {
        using kinds::kinds;
        std::vector<archetypes::value> alias(archetypes::value) const { return {}; }
    };
    CHECK(check_op_model(archetypes::program(0), singular(0)).error().message() ==
          "misspelt: nothing reads the member alias(x); is it aliases(x)?");
    struct many_calls : archetypes::kinds {
        using kinds::kinds;
        collective_call calls(archetypes::vertex) const { return {}; }
    };
    CHECK(check_op_model(archetypes::program(0), many_calls(0)).error().message() ==
          "misspelt: nothing reads the member calls(v); is it call(v)?");
}

namespace {

/// Answers what is documented, and fails a test that asks for more.
struct narrow_model : archetypes::kinds {
    using vertex = archetypes::vertex;
    using kinds::kinds;
    void must_be(vertex v, op_kind wanted) const { CHECK(kind(v) == wanted); }
    collective_kind collective(vertex v) const { return must_be(v, op_kind::start), collective_kind::all_to_all; }
    group_id group(vertex v) const { return must_be(v, op_kind::start), 0; }
    bytes payload(vertex v) const { return must_be(v, op_kind::start), bytes{8}; }
    vertex launch_of(vertex w) const {
        must_be(w, op_kind::wait);
        return archetypes::detail::at(archetypes::detail::position(w) - 1);
    }
};

}  // namespace

TEST_CASE("what is documented of starts is asked of starts, what of waits, of waits") {
    CHECK(check_op_model(archetypes::program(0), narrow_model(0)));
    CHECK(make_task_graph(archetypes::program(0), narrow_model(0)));
    CHECK(!liveness_of(archetypes::program(0), narrow_model(0)).lives().empty());
}
