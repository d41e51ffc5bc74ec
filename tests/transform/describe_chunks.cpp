#include "stretto/transform/describe_chunks.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "support/prop.hpp"
#include "support/row_ir.hpp"
#include "support/row_programs.hpp"

using namespace stretto;
using support::row_op;
using support::row_program;
using does = row_op::does;

namespace {

std::string operator_name(const row_op* o) {
    const char* names[] = {"input", "scale", "add",  "total",  "order",  "running", "numbers", "increment",
                           "send",  "wait",  "part", "concat", "output", "widen",   "empty",   "write"};
    return names[static_cast<std::size_t>(o->what)];
}
std::string value_name(const row_op* o) { return "x" + std::to_string(o->number); }

std::string describe(const support::row_plan& plan, row_program& p) {
    return describe_chunks(plan, support::row_view{&p}, operator_name, value_name);
}

}  // namespace

TEST_CASE("the difference that a plan makes, line by line") {
    row_program p;
    row_op* x = p.append(does::input, {}, 6);
    row_op* y = p.append(does::scale, {x}, 6);
    row_op* t = p.append(does::total, {y}, 1);
    p.append(does::scale, {x}, 6);
    p.append(does::output, {t, y}, 1);
    const std::vector<chunk_region<row_op*>> regions = {{{y, t}, {4, 2}}};
    const std::vector<token_dimension<row_op*>> tokens = {{x, 0}};
    const auto plan =
        plan_chunks(support::row_view{&p}, support::row_model{}, support::row_chunk_model{},
                    std::span<const chunk_region<row_op*>>(regions), std::span<const token_dimension<row_op*>>(tokens));
    REQUIRE(plan);
    CHECK(describe(*plan, p) ==
          "  ... 1 operation\n"
          "- x1 = scale(x0)\n"
          "+ x0[0:4], x0[4:6] = split along 0 of (x0)\n"
          "+ x1[0:4] = scale(x0[0:4])\n"
          "+ x1[4:6] = scale(x0[4:6])\n"
          "+ x1' = concat along 0 of (x1[0:4], x1[4:6])\n"
          "- x2 = total(x1)\n"
          "+ x2[0:4] = total(x1[0:4])\n"
          "+ x2[4:6] = total(x1[4:6])\n"
          "+ x2' = sum of (x2[0:4], x2[4:6])\n"
          "  ... 1 operation\n"
          "- x4 = output(x2, x1)\n"
          "+ x4 = output(x2', x1')\n");
    CHECK(describe({}, p) == "  ... 5 operations\n");
    auto in_slices = *plan;
    choose_slices(in_slices, [](const auto&) { return true; });
    CHECK(describe(in_slices, p) ==
          "  ... 1 operation\n"
          "- x1 = scale(x0)\n"
          "+ x0[0:4], x0[4:6] = split along 0 of (x0)\n"
          "+ x1[0:4] = scale(x0[0:4])\n"
          "+ x1' = empty()\n"
          "+ x1'[0:4] = written along 0 with (x1[0:4])\n"
          "+ x1[4:6] = scale(x0[4:6])\n"
          "+ x1'[4:6] = written along 0 with (x1[4:6])\n"
          "- x2 = total(x1)\n"
          "+ x2[0:4] = total(x1[0:4])\n"
          "+ x2[4:6] = total(x1[4:6])\n"
          "+ x2' = sum of (x2[0:4], x2[4:6])\n"
          "  ... 1 operation\n"
          "- x4 = output(x2, x1)\n"
          "+ x4 = output(x2', x1')\n");
}

TEST_CASE("a region that no token reaches is named") {
    row_program p;
    row_op* x = p.append(does::input, {}, 6);
    row_op* other = p.append(does::input, {}, 6);
    row_op* y = p.append(does::scale, {x}, 6);
    row_op* z = p.append(does::scale, {other}, 6);
    p.append(does::output, {z}, 1);
    const std::vector<chunk_region<row_op*>> regions = {{{y}, {4, 2}}, {{z}, {3, 2, 1}}};
    const std::vector<token_dimension<row_op*>> tokens = {{x, 0}};
    const auto plan = plan_chunks(support::row_view{&p}, support::row_model{}, support::row_chunk_model{},
                                  std::span<const chunk_region<row_op*>>(regions),
                                  std::span<const token_dimension<row_op*>>(tokens), {.skip_refused = true});
    REQUIRE(plan);
    CHECK(describe(*plan, p) ==
          "  ... 2 operations\n"
          "- x2 = scale(x0)\n"
          "+ x0[0:4], x0[4:6] = split along 0 of (x0)\n"
          "+ x2[0:4] = scale(x0[0:4])\n"
          "+ x2[4:6] = scale(x0[4:6])\n"
          "  ... 2 operations\n"
          "! no token reaches region 1 of 2, in 3 chunks: it stays whole\n");
}

TEST_CASE("there are as many lines as the plan counts operations") {
    stretto_check("plans of random programs", 1000, [] {
        support::row_case c = support::make_row_case(support::arbitrary_recipe());
        const support::row_plan plan = support::plan_row_case(c);
        const std::string text = describe(plan, c.p);
        std::vector<row_op*> readers;
        for (const auto& j : plan.joins)
            for (row_op* v : j.readers)
                if (std::none_of(plan.operations.begin(), plan.operations.end(),
                                 [&](const auto& o) { return o.vertex == v; }))
                    readers.push_back(v);
        std::sort(readers.begin(), readers.end());
        const std::size_t changed =
            static_cast<std::size_t>(std::unique(readers.begin(), readers.end()) - readers.begin());
        std::size_t removed = 0, added = 0, stays = 0;
        for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
            removed += text[at] == '-';
            added += text[at] == '+';
            if (text[at] == ' ') stays += static_cast<std::size_t>(std::stoul(text.substr(at + 6)));
        }
        const chunk_counts n = plan.counts();
        RC_ASSERT(removed == n.chunked + changed);
        RC_ASSERT(added == n.clones + n.splits + n.concats + n.sums + n.empties + n.slice_writes + changed);
        RC_ASSERT(removed + stays == c.p.ops.size());
    });
}
