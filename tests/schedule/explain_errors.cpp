#include "stretto/schedule/explain_errors.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <string_view>

#include "support/linked_ir.hpp"

using namespace stretto;

namespace {

std::string name(task_id t) { return t == no_task ? "nobody" : "t" + std::to_string(t); }

}  // namespace

TEST_CASE("every reason has a name and a sentence of its own") {
    std::set<std::string_view> names;
    std::set<std::string> sentences;
    using why = task_graph_error::reason;
    for (const why w :
         {why::reads_later_task, why::launch_is_no_start, why::negative_duration, why::negative_bytes, why::overflow,
          why::group_out_of_range, why::stale_numbers, why::operand_not_in_graph, why::aliases_later_result}) {
        names.insert(name_of(w));
        sentences.insert(explain(task_graph_error{w, 1, 2}, name));
    }
    using rule = order_violation::rule;
    for (const rule r : {rule::not_a_permutation, rule::reads_before_producer, rule::wait_before_start,
                         rule::overtakes_a_write, rule::touches_data_in_flight, rule::exceeds_memory_limit}) {
        names.insert(name_of(r));
        sentences.insert(explain(order_violation{r, 0, 1, 2}, name));
    }
    CHECK(names.size() == 15);
    CHECK(sentences.size() == 15);
    CHECK(name_of(overlap_reason::graph) == "graph");
    CHECK(name_of(overlap_reason::memory_limit) == "memory_limit");
}

TEST_CASE("sentences name the second party") {
    CHECK(explain(task_graph_error{task_graph_error::reason::reads_later_task, 1, 2}, name) ==
          "reads t2, which comes later");
    CHECK(explain(task_graph_error{task_graph_error::reason::reads_later_task, 1, 1}, name) == "depends on itself");
    CHECK(explain(task_graph_error{task_graph_error::reason::launch_is_no_start, 1, no_task}, name) ==
          "waits for nobody, which is no start");
    CHECK(explain(order_violation{order_violation::rule::touches_data_in_flight, 5, 1, 7}, name) ==
          "uses what the collective t7 has in flight");
    CHECK(explain(limit_too_low{{1024}, {1536}, 3}) ==
          "the input order needs 1.50 KiB here, and the limit is 1.00 KiB");
    CHECK(explain(limit_too_low{{1024}, {1536}, 3, {{1280}, 2}}) ==
          "the input order needs 1.50 KiB here, and the limit is 1.00 KiB; no order needs less than 1.25 KiB");
}

TEST_CASE("what plan_overlap refuses is said of the caller's vertices") {
    support::toy_program p;
    p.ops.push_back({.duration = {5}, .results = {{{64}, {}}}});
    p.ops.push_back({.duration = {5}, .operands = {{0, 0}}, .results = {{{64}, {}}}});
    const auto said = [](const support::toy_program& program, const schedule_options& options) {
        support::linked_ir ir(program);
        const auto vertices = [&](auto v) {
            std::size_t at = 0;
            for (auto u : ir.view().vertices()) {
                if (u == v) return "op " + std::to_string(at);
                ++at;
            }
            return std::string("none of them");
        };
        const auto plan = plan_overlap(ir.view(), ir.model(), options);
        REQUIRE_FALSE(plan.has_value());
        return explain(plan.error(), vertices);
    };
    CHECK(said(p, {.memory_limit = bytes{100}}) ==
          "op 1: the input order needs 128 B here, and the limit is 100 B; no order needs less than 128 B");
    p.ops[1].duration = {-1};
    CHECK(said(p, {}) == "op 1 takes less than no time");
}
