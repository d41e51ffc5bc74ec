#include "stretto/capture/retimed_capture.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

using namespace stretto;

namespace {

capture_node node(const char* name, op_kind kind, std::vector<std::uint32_t> inputs, nanoseconds duration) {
    capture_node n;
    n.name = name;
    n.op = "an operator";
    n.kind = kind;
    n.inputs = std::move(inputs);
    n.allocation = {8};
    n.duration = duration;
    return n;
}

capture step_with_exchange() {
    capture_builder b("step");
    b.add_group({"ranks", 2, R"("desc":"kept")", {}, no_group});
    b.append(node("x", op_kind::input, {}, {}));
    capture_node kernel = node("k", op_kind::compute, {0}, {100});
    kernel.fields = {{"fqn", R"("layer")"}};
    b.append(kernel);
    capture_node start = node("g", op_kind::start, {1}, {50});
    start.collective = collective_kind::all_gather;
    start.payload = {16};
    b.append(start);
    capture_node wait = node("w", op_kind::wait, {2}, {});
    wait.allocation = {};
    wait.aliases = {2};
    b.append(wait);
    b.append(node("other", op_kind::compute, {3}, {7}));
    return *std::move(b).build();
}

}  // namespace

TEST_CASE("durations become what was measured, and nothing else changes") {
    const capture step = step_with_exchange();
    const std::vector<measured_span> spans = {
        {1, {0}, {120}, 0, 0},   {1, {0}, {140}, 1, 0},   {1, {0}, {130}, 0, 1},
        {2, {120}, {200}, 0, 0}, {2, {140}, {200}, 1, 0}, {3, {120}, {200}, 0, 0},
    };
    const auto made = with_durations_of(step, spans);
    REQUIRE(made);
    CHECK(made->duration(1).count == 130);
    CHECK(made->duration(2).count == 60);
    CHECK(made->duration(3).count == 0);
    CHECK(made->duration(4).count == 7);
    REQUIRE(made->size() == step.size());
    CHECK(std::vector(made->groups().begin(), made->groups().end()) ==
          std::vector(step.groups().begin(), step.groups().end()));
    for (std::uint32_t v = 0; v < step.size(); ++v) {
        CHECK(made->name(v) == step.name(v));
        CHECK(made->op(v) == step.op(v));
        CHECK(made->kind(v) == step.kind(v));
        CHECK(made->allocation(v) == step.allocation(v));
        CHECK(made->field_count(v) == step.field_count(v));
        CHECK(std::vector(made->inputs(v).begin(), made->inputs(v).end()) ==
              std::vector(step.inputs(v).begin(), step.inputs(v).end()));
    }
    CHECK(made->field(1, 0) == step.field(1, 0));
}

TEST_CASE("durations that add up to too much are refused") {
    const capture step = step_with_exchange();
    const std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const auto made =
        with_durations_of(step, std::vector<measured_span>{{1, {0}, {most}, 0, 0}, {2, {0}, {most}, 0, 0}});
    REQUIRE_FALSE(made);
    CHECK(made.error().message().find("too long") != std::string::npos);
}

TEST_CASE("a step that is too large for a task graph is refused, and the reason is said") {
    capture_builder b("step");
    b.append(node("x", op_kind::input, {}, {}));
    b.append(node("k", op_kind::compute, {0}, {std::numeric_limits<std::int64_t>::max() / 2 + 2}));
    const capture step = *std::move(b).build();
    const auto made = with_durations_of(step, {});
    REQUIRE_FALSE(made);
    CHECK(made.error().message() ==
          "node 1 (k): makes the step too large: times and bytes may add up to 2^62 at most, and there may be 2^32 - 2 "
          "tasks at most; are all costs in nanoseconds and bytes?");
}

TEST_CASE("what it takes that the host reads a number is charged where it does, and nothing is without a charge") {
    capture_builder b("step");
    b.append(node("x", op_kind::input, {}, {}));
    b.append(node("k", op_kind::compute, {0}, {100}));
    capture_node number = node("n", op_kind::view, {1}, {});
    number.op = "aten._local_scalar_dense.default";
    number.allocation = {};
    b.append(number);
    b.append(node("other", op_kind::compute, {1, 2}, {7}));
    number.name = "m";
    b.append(number);
    const capture step = *std::move(b).build();
    CHECK(capture_op_model{&step}.synchronises(2));
    CHECK_FALSE(capture_op_model{&step}.synchronises(1));
    const auto same = with_synchronisation(step, {});
    REQUIRE(same);
    CHECK(*same == step);
    const auto charged = with_synchronisation(step, {12'000});
    REQUIRE(charged);
    CHECK(charged->kind(2) == op_kind::compute);
    CHECK(charged->duration(2).count == 12'000);
    CHECK(charged->duration(1).count == 100);
    CHECK(charged->duration(3).count == 7);
    CHECK(charged->op(2) == step.op(2));
    const auto g = make_task_graph(capture_view{&*charged}, capture_op_model{&*charged});
    REQUIRE(g);
    CHECK(g->holds_host(2));
    CHECK_FALSE(with_synchronisation(step, {(std::int64_t{1} << 62) - 1}).has_value());  // twice, and others
}
