#include "stretto/capture/split_capture.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "capture/bucket_steps.hpp"
#include "capture/plan_drafts.hpp"
#include "stretto/capture/bucket_capture.hpp"
#include "stretto/capture/capture_writer.hpp"
#include "stretto/capture/check_plan.hpp"
#include "stretto/schedule/plan_overlap.hpp"
#include "stretto/testing/check_bucket_forms.hpp"
#include "support/compare_runs.hpp"
#include "support/example_step.hpp"
#include "support/prop.hpp"
#include "support/read_step.hpp"
#include "support/reduction_step.hpp"

using namespace stretto;
using support::pytorch_step;

namespace {

struct in_buckets {
    capture_bucket_plan plan;
    capture step;
};
template <class Choose>
in_buckets merged(const capture& step, const Choose& choose, const bucket_options& options = {}) {
    const auto tensors = capture_tensors::read(step);
    REQUIRE(tensors);
    auto plan = plan_capture_buckets(step, *tensors, choose, options);
    REQUIRE_MESSAGE(plan, support::complaint(plan));
    auto made = bucketed(step, *tensors, *plan);
    REQUIRE_MESSAGE(made, support::complaint(made));
    return {*std::move(plan), *std::move(made)};
}
in_buckets merged(const capture& step, const bucket_options& options = {}) {
    return merged(step, [](std::uint32_t v) { return bucket_choice{.label = 0, .place = v}; }, options);
}
apart_capture apart(const capture& step) {
    auto made = take_apart(step);
    REQUIRE_MESSAGE(made, support::complaint(made));
    return *std::move(made);
}

std::string complaints(const plan_report& r) {
    std::string lines;
    for (const plan_violation& v : r.violations) lines += "\n  " + v.message();
    return lines;
}
support::agreement agreement_of(const capture& step, const capture& after) {
    const auto tensors = capture_tensors::read(step), after_tensors = capture_tensors::read(after);
    REQUIRE((tensors && after_tensors));
    const aten::interpreter_options options{.ranks = 2};
    const support::named_inputs inputs = support::make_named_inputs(step, *tensors, options.ranks, 11);
    return support::compare_runs(support::run_named(step, *tensors, options, inputs),
                                 support::run_named(after, *after_tensors, options, inputs));
}
std::size_t count(const capture& step, op_kind kind) {
    std::size_t n = 0;
    for (std::uint32_t v = 0; v < step.size(); ++v) n += step.kind(v) == kind;
    return n;
}
nanoseconds makespan(const capture& step) {
    const auto g = make_task_graph(capture_view{&step}, capture_op_model{&step});
    REQUIRE(g);
    std::vector<task_id> order(g->size());
    for (task_id t = 0; t < order.size(); ++t) order[t] = t;
    return simulate(*g, order).makespan;
}

/// Another step in the order of this one, if it has nodes of the same names.
std::optional<capture> in_order_of(const capture& step, const capture& other) {
    std::vector<std::uint32_t> order;
    for (std::uint32_t v = 0; v < step.size(); ++v) {
        const auto w = other.find(step.name(v));
        if (!w) return std::nullopt;
        order.push_back(*w);
    }
    auto sorted = reordered(other, order);
    if (!sorted) return std::nullopt;
    return *std::move(sorted);
}
/// Whether a step has the nodes of another one, each to the letter, in whatever order.
bool same_but_for_order(const capture& step, const capture& other) { return in_order_of(step, other) == step; }
/// The step with what the starts of its buckets say of what they have merged changed; null takes it away.
capture with_merged(const capture& step, const std::function<std::optional<std::string>(std::string)>& change) {
    capture_builder builder = capture_builder::like(step);
    std::deque<std::string> texts;
    for (std::uint32_t v = 0; v < step.size(); ++v) {
        capture_node n = node_of(step, v);
        for (auto f = n.fields.begin(); f != n.fields.end(); ++f) {
            if (f->key != "merged") continue;
            if (const auto text = change(std::string(f->text))) f->text = texts.emplace_back(*text);
            else f = n.fields.erase(f) - 1;
        }
        builder.append(n);
    }
    auto made = std::move(builder).build();
    REQUIRE_MESSAGE(made, support::complaint(made));
    return *std::move(made);
}
capture without_merged(const capture& step) {
    return with_merged(step, [](const std::string&) { return std::nullopt; });
}

/// Gradients and parameters of two ranks, sent as they are or as casts of all kinds, drawn from bytes.
capture random_casts(const std::vector<std::uint8_t>& data, bool only_conversions) {
    std::size_t at = 0;
    const auto next = [&](std::size_t bound) { return at < data.size() ? data[at++] % bound : std::size_t{0}; };
    support::reduction_step s;
    std::vector<std::string> seen;
    while (at < data.size()) {
        s.type = next(2) == 0 ? "f64" : "f32";
        const std::string in =
            s.push(support::input(s.next("x"), s.type == "f64" ? 64 : 32, support::tensor("4,2", s.type)));
        std::string sent = in;
        const std::size_t how = next(5);
        if (how < 4) {
            const bool same = !only_conversions && next(4) == 0;
            const std::string to = same ? s.type : s.type == "f64" ? "f32" : "f64";
            const std::int64_t size = to == "f64" ? 64 : 32, read = s.type == "f64" ? 64 : 32;
            const std::int64_t paid =
                100 + read + size + (only_conversions ? 0 : static_cast<std::int64_t>(next(9)) * 50);
            support::draft_node n =
                support::kernel(s.next("c"), how < 2 ? "prims.convert_element_type.default" : "aten._to_copy.default",
                                {in}, paid, size, support::tensor("4,2", to));
            if (how < 2) n.field("args") = "[\"%0\", \"" + to + "\"]";
            else n.field("kwargs") = "{\"dtype\": \"" + to + "\"}";
            if (how == 3 && !only_conversions) n.field("kwargs") = "{\"dtype\":\"" + to + "\",\"non_blocking\":true}";
            if (next(2) == 0) n.field("fqn") = "\"layers." + std::to_string(next(3)) + "\"";
            sent = s.push(std::move(n));
            s.type = to;
        }
        const std::size_t what = next(only_conversions ? 2 : 3);
        const auto kind = what == 0   ? collective_kind::all_gather
                          : what == 1 ? collective_kind::reduce_scatter
                                      : collective_kind::all_reduce;
        const std::int64_t size = s.type == "f64" ? 64 : 32, made = what == 0 ? 2 * size : what == 1 ? size / 2 : size;
        const std::string shape = what == 0 ? "8,2" : what == 1 ? "2,2" : "4,2";
        support::draft_node n = support::launch(s.next("s"), kind, 0, sent, size, made, support::tensor(shape, s.type));
        n.op = what == 0   ? "_c10d_functional.all_gather_into_tensor.default"
               : what == 1 ? "_c10d_functional.reduce_scatter_tensor.default"
                           : "_c10d_functional.all_reduce.default";
        n.field("args") = what == 0 ? R"(["%0",2,"0"])" : what == 1 ? R"(["%0","sum",2,"0"])" : R"(["%0","sum","0"])";
        if (!only_conversions) n.ns += static_cast<std::int64_t>(next(5));  // a capture rounds as it likes
        const std::string start = s.push(std::move(n));
        support::draft_node w = support::wait(s.next("w"), start, support::tensor(shape, s.type));
        w.op = "_c10d_functional.wait_tensor.default";
        seen.push_back(s.push(std::move(w)));
    }
    s.output(seen);
    return s.d.build();
}

/// The collectives of a step: kind, group, payload, duration.
std::map<std::tuple<collective_kind, group_id, std::int64_t>, std::vector<std::int64_t>> collectives(
    const capture& step) {
    std::map<std::tuple<collective_kind, group_id, std::int64_t>, std::vector<std::int64_t>> all;
    for (std::uint32_t v = 0; v < step.size(); ++v)
        if (step.kind(v) == op_kind::start)
            all[{step.collective(v), step.group(v), step.payload(v).count}].push_back(step.duration(v).count);
    for (auto& [what, times] : all) std::sort(times.begin(), times.end());
    return all;
}
/// The same collectives, up to a nanosecond: captures and tables round by themselves.
void check_collectives(const capture& step, const capture& other) {
    const auto before = collectives(step), after = collectives(other);
    REQUIRE(before.size() == after.size());
    auto b = after.begin();
    for (auto a = before.begin(); a != before.end(); ++a, ++b) {
        CHECK(a->first == b->first);
        REQUIRE(a->second.size() == b->second.size());
        for (std::size_t k = 0; k < a->second.size(); ++k) CHECK(std::abs(a->second[k] - b->second[k]) <= 1);
    }
}

}  // namespace

TEST_CASE("two gathers come out of a bucket under their names, and the casts that its pack had absorbed") {
    const capture step = support::sample_step().build();
    const auto only_gathers = [&](std::uint32_t v) {
        const bool gathers = step.collective(v) == collective_kind::all_gather;
        return bucket_choice{.label = gathers ? 0 : bucket_choice::apart, .place = v, .cast = true};
    };
    for (const bucket_mode mode : {bucket_mode::pack, bucket_mode::coalesced}) {
        const in_buckets buckets = merged(step, only_gathers, {.mode = mode});
        REQUIRE(buckets.plan.buckets.size() == 1);
        const apart_capture found = apart(buckets.step);
        CHECK(found.buckets == 1);
        CHECK(found.members == 2);
        CHECK(found.refused.empty());
        REQUIRE(found.step.size() == step.size());
        for (std::uint32_t v = 0; v < step.size(); ++v) {
            const auto w = found.step.find(step.name(v));
            REQUIRE_MESSAGE(w, step.name(v));
            CHECK(found.step.kind(*w) == step.kind(v));
            CHECK(found.step.inputs(*w).size() == step.inputs(v).size());
            CHECK(found.step.allocation(*w) == step.allocation(v));
            CHECK(found.step.payload(*w) == step.payload(v));
            if (step.kind(v) == op_kind::start) CHECK(found.step.duration(*w) == step.duration(v));
        }
        CHECK(same_but_for_order(step, found.step));
        const plan_report report = check_plan(step, found.step);
        CHECK_MESSAGE(report.legal(), complaints(report));
    }
}

namespace {

/// A bucket of two gathers as a file says it that knows the casts which the pack has absorbed only by their names:
/// that of w1 to bf16, and that of w2 to `second`.
support::draft named_casts(const std::string& second) {
    support::draft plan = support::bucketed_plan();
    const std::int64_t size = second == "f32" ? 400 : 200;
    plan["gather"].field("waits") = R"(["full1","full2"])";
    plan["gather"].outputs = R"([{"shape":[800],"dtype":"bf16"},{"shape":[800],"dtype":")" + second + R"("}])";
    plan["gather"].payload = plan["pack"].allocation = 200 + size;
    plan["full2"].outputs = support::tensor("800", second);
    return plan;
}

}  // namespace

TEST_CASE("casts that are known by their names alone get them back, where each has converted something") {
    const apart_capture found = apart(named_casts("bf16").build());
    CHECK(found.buckets == 1);
    for (const auto& [name, of] : {std::pair{"cast1", "w1"}, std::pair{"cast2", "w2"}}) {
        const auto cast = found.step.find(name);
        REQUIRE(cast);
        CHECK(found.step.name(found.step.inputs(*cast)[0]) == of);
        CHECK(found.step.op(*cast) == "prims.convert_element_type.default");
        CHECK(found.step.field(*cast, "args") == R"(["%0","bf16"])");
        CHECK(found.step.duration(*cast) == nanoseconds{100 + 400 + 200});
    }
}

TEST_CASE("where one has converted nothing, nobody knows which of the names are of the others") {
    const apart_capture found = apart(named_casts("f32").build());
    CHECK(found.buckets == 1);
    CHECK(!found.step.find("cast1"));
    CHECK(!found.step.find("cast2"));
    const auto cast = found.step.find("gather_part0_cast");
    REQUIRE(cast);
    CHECK(found.step.name(found.step.inputs(*cast)[0]) == "w1");
    const auto second = found.step.find("gather2");
    REQUIRE(second);
    CHECK(found.step.name(found.step.inputs(*second)[0]) == "w2");
}

TEST_CASE("a cast that comes back by another name is the cast that it was, if both only convert") {
    support::draft step = support::sample_step();
    for (const char* cast : {"cast1", "cast2"}) step[cast].field("kwargs") = R"({"dtype": "bf16"})";
    const capture before = step.build();
    const auto complaints_about = [&](const auto& change) {
        support::draft plan = step;
        plan["cast1"].op = "prims.convert_element_type.default";
        plan["cast1"].field("kwargs") = "null";
        plan["cast1"].field("args") = R"(["%0","bf16"])";
        change(plan);
        std::string rules;
        for (const plan_violation& v : check_plan(before, plan.build()).violations)
            rules += (v.node == "cast1" ? "" : "elsewhere: ") + v.message() + "; ";
        return rules;
    };
    CHECK(complaints_about([](support::draft&) {}) == "");
    // A captured cast may take longer or shorter than the format says; it is not made cheaper than both.
    CHECK(complaints_about([](support::draft& d) { d["cast1"].ns = 900; }) == "");
    CHECK(complaints_about([](support::draft& d) { d["cast1"].ns = 600; }).find("ns was 700") != std::string::npos);
    CHECK(complaints_about([](support::draft& d) { d["cast1"].inputs = {"w2"}; }) != "");
    CHECK(complaints_about([](support::draft& d) { d["cast1"].allocation = 400; }) != "");
    CHECK(complaints_about([](support::draft& d) { d["cast1"].op = "aten.neg.default"; }) != "");
    CHECK(complaints_about([](support::draft& d) { d["cast1"].field("args") = R"(["%0","f16"])"; }) != "");
    CHECK(complaints_about([](support::draft& d) {
              d["cast1"].field("args") = R"(["%0","f32"])";
              d["cast1"].outputs = support::tensor("100", "f32");
          }) != "");
    CHECK(complaints_about([](support::draft& d) { d["cast1"].field("kwargs") = R"({"device":"meta"})"; }) != "");
}

TEST_CASE("any casts, merged and taken apart: every node is what it was") {
    std::size_t absorbed = 0, steps = 0;
    stretto_check("random steps", 2000, [&](const std::vector<std::uint8_t>& data) {
        const capture step = random_casts(data, false);
        const bucket_options options{.mode = data.size() % 3 == 0 ? bucket_mode::coalesced : bucket_mode::pack};
        const in_buckets made =
            merged(step, [](std::uint32_t v) { return bucket_choice{.label = 0, .place = v, .cast = true}; }, options);
        ++steps;
        for (const capture_bucket& b : made.plan.buckets) absorbed += b.casts.size();
        const apart_capture again = apart(made.step);
        RC_ASSERT(same_but_for_order(step, again.step));
        RC_ASSERT(complaints(check_plan(step, again.step)) == "");
    });
    if (support::runs_all_cases()) CHECK(absorbed > steps / 2);
}

TEST_CASE("any casts of a bucket that does not say what they were: equal by value") {
    std::size_t absorbed = 0, steps = 0;
    stretto_check("random steps", 2000, [&](const std::vector<std::uint8_t>& data) {
        const capture step = random_casts(data, true);
        const in_buckets made =
            merged(step, [](std::uint32_t v) { return bucket_choice{.label = 0, .place = v, .cast = true}; });
        ++steps;
        for (const capture_bucket& b : made.plan.buckets) absorbed += b.casts.size();
        const apart_capture again = apart(without_merged(made.step));
        RC_ASSERT(complaints(check_plan(step, again.step)) == "");
        const auto sorted = in_order_of(step, again.step);
        RC_ASSERT(sorted.has_value());
        const support::agreement same = agreement_of(step, *sorted);
        RC_ASSERT(same.entries == same.bitwise);
    });
    if (support::runs_all_cases()) CHECK(absorbed > steps / 2);
}

TEST_CASE("what a bucket says that it has merged is taken only where it is about the bucket") {
    const capture step = support::sample_step().build();
    const in_buckets made = merged(step, [&](std::uint32_t v) {
        const bool gathers = step.collective(v) == collective_kind::all_gather;
        return bucket_choice{.label = gathers ? 0 : bucket_choice::apart, .place = v, .cast = true};
    });
    const auto apart_with = [&](std::string_view from, std::string_view to) {
        return apart(with_merged(made.step,
                                 [&](std::string text) {
                                     const std::size_t at = text.find(from);
                                     REQUIRE_MESSAGE(at != std::string::npos, text);
                                     return std::optional(text.replace(at, from.size(), to));
                                 }))
            .step;
    };
    const auto op_of = [](const capture& c, const char* name) { return c.op(*c.find(name)); };
    CHECK(op_of(apart_with("aten._to_copy", "aten._to_copy"), "cast1") == "aten._to_copy.default");
    // Not a cast, not to that type, not a list of nodes: then it is as if nothing was said.
    CHECK(op_of(apart_with("aten._to_copy", "aten.neg"), "cast1") == "prims.convert_element_type.default");
    CHECK(op_of(apart_with("bf16", "f16"), "cast1") == "prims.convert_element_type.default");
    CHECK(op_of(apart_with("\"inputs\":[0]", "\"inputs\":[0,1]"), "cast1") == "prims.convert_element_type.default");
    CHECK(op_of(apart_with("[[", "[[[],"), "cast1") == "prims.convert_element_type.default");
    CHECK(op_of(apart_with("[[", "[7,["), "cast1") == "prims.convert_element_type.default");
    // A start of another name, operator or size is not the member.
    for (const auto& [from, to] :
         {std::pair{"\"gather1\"", "\"gather9\""}, std::pair{"\"payload\":200", "\"payload\":8"}}) {
        const capture found = apart_with(from, to);
        CHECK(found.find("gather1"));
        CHECK(!found.find("gather9"));
        CHECK(found.payload(*found.find("gather1")) == bytes{200});
    }
}

TEST_CASE("a step in buckets without a word on whose results are whose") {
    const capture step = support::sample_step().build();
    // Both gathers give the same type, so nobody can tell.
    const capture other = support::bucketed_plan().build();
    const apart_capture whole = apart(other);
    CHECK(whole.buckets == 0);
    CHECK(whole.step == other);
}

TEST_CASE("any step, merged and taken apart: a plan of it that only reorders, as fast as it, with its values") {
    std::size_t steps = 0, found = 0;
    stretto_check("random steps", 2000, [&](const std::vector<std::uint8_t>& data) {
        const capture step = support::random_reduction_step(data, "f64").d.build();
        const bucket_options options{.mode = data.size() % 3 == 0 ? bucket_mode::coalesced : bucket_mode::pack};
        const in_buckets made = merged(step, options);
        ++steps;
        if (made.plan.empty()) return;
        ++found;
        const apart_capture again = apart(made.step);
        RC_ASSERT(again.refused.empty());
        RC_ASSERT(again.buckets == made.plan.buckets.size());
        const plan_report report = check_plan(step, again.step);
        RC_ASSERT(complaints(report) == "");
        RC_ASSERT(report.after.collectives == report.before.collectives);
        RC_ASSERT(collectives(again.step) == collectives(step));
        RC_ASSERT(same_but_for_order(step, again.step));
        const auto reordered_step = reordered(step, made.plan.order);
        RC_ASSERT(reordered_step.has_value());
        RC_ASSERT(makespan(again.step) == makespan(*reordered_step));
        const support::agreement same = agreement_of(step, again.step);
        RC_ASSERT(same.entries == same.bitwise);
    });
    if (support::runs_all_cases()) CHECK(found > steps / 5);
}

TEST_CASE("a step of a mixture of experts, merged, scheduled, taken apart and merged anew") {
    const capture& step = support::moe_ep_step().step;
    const traffic_tags<capture_view> tags = traffic_of(step);
    const buckets_by_traffic<capture_view> choose{&tags};
    const in_buckets made = merged(step, choose, {.most_bytes = {1 << 20}});
    const auto scheduled = plan_overlap(capture_view{&made.step}, capture_op_model{&made.step});
    REQUIRE(scheduled);
    std::vector<std::uint32_t> order(scheduled->order.begin(), scheduled->order.end());
    const auto arrived = reordered(made.step, order);
    REQUIRE(arrived);
    const auto tensors = capture_tensors::read(*arrived);
    REQUIRE(tensors);
    const auto forms = check_bucket_forms(capture_view{&*arrived}, capture_op_model{&*arrived},
                                          capture_bucket_forms(*arrived, *tensors));
    REQUIRE(forms);
    CHECK(forms->buckets == made.plan.buckets.size());

    const apart_capture again = apart(*arrived);
    CHECK(again.buckets == made.plan.buckets.size());
    CHECK(same_but_for_order(step, again.step));
    const plan_report report = check_plan(step, again.step);
    CHECK_MESSAGE(report.legal(), complaints(report));
    const traffic_tags<capture_view> new_tags = traffic_of(again.step);
    const in_buckets anew = merged(again.step, buckets_by_traffic<capture_view>{&new_tags}, {.most_bytes = {1 << 20}});
    CHECK(anew.plan.saved() == made.plan.saved());
}

TEST_CASE("buckets as PyTorch writes them") {
    using form = pytorch_step::form;
    for (const form f : {form::gather, form::gather_into, form::gather_slice, form::scatter, form::reduce}) {
        pytorch_step s;
        const auto a = s.input({4, 3}), b = s.input({2});
        s.output(s.bucket(f, {a, b}, 1, f == form::gather_into ? "f32" : "f64"));
        const capture step = s.d.build();
        const apart_capture found = apart(step);
        CHECK(found.buckets == 1);
        CHECK(found.members == 2);
        CHECK(found.refused.empty());
        CHECK(count(found.step, op_kind::start) == 2);
        // What packs and what copies the results apart is gone.
        CHECK(count(found.step, op_kind::compute) == (f == form::gather_into ? 2 : 0));  // casts
        for (const auto& x : {a, b}) CHECK(!found.step.readers(*found.step.find(x.name)).empty());
        const support::agreement same = agreement_of(step, found.step);
        CHECK(same.entries == 8);  // inputs too, on both ranks
        CHECK(same.bitwise == 8);
    }
}

TEST_CASE("a bucket of buckets") {
    using form = pytorch_step::form;
    for (const form f : {form::gather, form::gather_slice}) {
        // What the inner bucket would have sent is a part of the outer one.
        pytorch_step s;
        const auto a = s.input({4}), b = s.input({2, 3}), c = s.input({2});
        const std::vector<pytorch_step::value> inner = s.bucket(f, {a, b}, 3, "f64");
        const std::string start = [&] {
            for (const auto& n : s.d.nodes)
                if (n.kind == op_kind::start) return n.name;
            return std::string();
        }();
        const std::string sent = s.d[start].inputs[0], wait_name = s.d.nodes[s.d.at(start) + 1].name;
        // Take its collective out, and gather what it would have sent in another bucket.
        std::vector<support::draft_node> tail(s.d.nodes.begin() + static_cast<std::ptrdiff_t>(s.d.at(start)) + 2,
                                              s.d.nodes.end());
        s.d.nodes.resize(s.d.at(start));
        const auto outer = s.bucket(form::gather_into, {{sent, {10}, "f64"}, c}, 0, "f64");
        for (auto& n : tail) {
            n.name += "_inner";
            for (auto* list : {&n.inputs, &n.aliases})
                for (std::string& x : *list) x = x == wait_name ? outer[0].name : x + "_inner";
            s.d.nodes.push_back(n);
        }
        s.output({outer[1], {inner[0].name + "_inner", {8}, "f64"}, {inner[1].name + "_inner", {4, 3}, "f64"}});
        const capture step = s.d.build();
        const apart_capture found = apart(step);
        CHECK(found.buckets == 2);
        CHECK(found.members == 4);
        CHECK(count(found.step, op_kind::start) == 3);
        CHECK(count(found.step, op_kind::compute) == 0);
        const support::agreement same = agreement_of(step, found.step);
        CHECK(same.entries == 12);
        CHECK(same.bitwise == 12);
    }
}

TEST_CASE("any step in such buckets computes the same taken apart, bit for bit") {
    std::size_t buckets = 0, members = 0, whole = 0;
    stretto_check("random steps", 3000, [&](const std::vector<std::uint8_t>& data) {
        const capture step = support::random_pytorch_step(data).d.build();
        const auto tensors = capture_tensors::read(step);
        RC_ASSERT(tensors.has_value());
        RC_ASSERT(check_bucket_forms(capture_view{&step}, capture_op_model{&step}, capture_bucket_forms(step, *tensors))
                      .has_value());
        const apart_capture found = apart(step);
        buckets += found.buckets;
        members += found.members;
        whole += found.refused.size();
        const support::agreement same = agreement_of(step, found.step);
        RC_ASSERT(same.entries == same.bitwise);
    });
    MESSAGE(buckets << " buckets of " << members << " members came apart, " << whole << " stayed whole");
    if (support::runs_all_cases()) {
        CHECK(buckets > 1000);
        CHECK(whole > 0);
    }
}

TEST_CASE("captured steps that PyTorch has bucketed hold the collectives of the step that it was given") {
    for (const char* name : {"dsv3_fw_64", "llama3_8b_bw_64_2d", "llama3_8b_fw_64_1d"}) {
        const std::string bucketed_step = std::string("/") + name + ".pytorch.json.gz";
        const std::string given_step = std::string("/") + name + ".json.gz";
        const std::string path = support::captured_step("STRETTO_REFERENCE_GRAPHS", bucketed_step.c_str());
        if (path.empty()) return;
        const auto given =
            support::read_capture(support::captured_step("STRETTO_REFERENCE_GRAPHS", given_step.c_str()));
        const auto arrived = support::read_capture(path);
        REQUIRE((given && arrived));
        const apart_capture found = apart(*arrived);
        CHECK(found.refused.empty());
        check_collectives(*given, found.step);
    }
}
