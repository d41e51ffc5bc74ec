#include "stretto/transform/split_plan_text.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/transform/plan_buckets.hpp"
#include "support/awkward_names.hpp"
#include "support/bucket_programs.hpp"
#include "support/prop.hpp"
#include "support/traffic_program.hpp"
#include "transform/split_programs.hpp"

using namespace stretto;
using support::program_split_plan;

namespace {

std::string written(const program_split_plan& plan) {
    return write_split_plan(plan, support::awkward_name, support::awkward_name);
}
auto read(std::string_view text) {
    return read_split_plan<std::uint32_t, std::uint32_t>(text, support::awkwardly_named, support::awkwardly_named);
}

program_split_plan two_splits() {
    const support::two_buckets t;
    return support::splits_of(support::merged_by(t.plan(), t.p));
}

}  // namespace

TEST_CASE("any split plan comes back from its text") {
    std::size_t plans = 0;
    stretto_check("random programs", 2000, [&](const std::vector<std::uint8_t>& data) {
        const support::reduction_program p = support::random_traffic(data);
        const auto merged = plan_buckets(support::reduction_view{&p}, support::reduction_model{&p},
                                         [](std::uint32_t) { return bucket_choice{.label = 0}; },
                                         {.mode = data.size() % 2 == 0 ? bucket_mode::pack : bucket_mode::coalesced});
        RC_ASSERT(merged.has_value());
        program_split_plan plan = support::splits_of(support::merged_by(*merged, p));
        plan.refused.clear();  // what stays whole is left out
        const auto again = read(written(plan));
        RC_ASSERT(again.has_value());
        RC_ASSERT(*again == plan);
        plans += !plan.empty();
    });
    if (support::runs_all_cases()) CHECK(plans > 100);
}

TEST_CASE("the text of a split plan, as its header says") {
    const program_split_plan plan = {{{7, 8, {0, 1}, {10, 11}, {bytes{80}, bytes{160}}, {6}, {9, 10}}}, {}};
    const auto plain = [](std::uint32_t v) { return "n" + std::to_string(v); };
    CHECK(write_split_plan(plan, plain, plain) ==
          "stretto-split-plan 1\n"
          "bucket \"n7\" wait \"n8\"\n"
          "member 80 sends \"n0\" gives \"n10\"\n"
          "member 160 sends \"n1\" gives \"n11\"\n"
          "pack \"n6\"\n"
          "unpack \"n9\"\n"
          "unpack \"n10\"\n"
          "end\n");
    CHECK(write_split_plan(program_split_plan{}, plain, plain) == "stretto-split-plan 1\nend\n");
}

TEST_CASE("a text that is no split plan: the line and the cause") {
    const std::string good = written(two_splits());
    const auto fault = [&](std::string_view part, std::string_view instead) {
        std::string text = good;
        text.replace(text.find(part), part.size(), instead);
        const auto plan = read(text);
        return plan ? std::string("none") : std::to_string(plan.error().line) + ": " + plan.error().cause;
    };
    CHECK(fault("end\n", "end\n") == "none");
    CHECK(fault("-plan 1", "-plan 2").starts_with("1: "));
    CHECK(fault("-split-", "-bucket-").starts_with("1: "));
    CHECK(fault("bucket \"", "unpack \"") == "2: no bucket has been begun");
    CHECK(fault("bucket", "buckets") == "2: no item begins like this");
    CHECK(fault(" wait", " waits") == "2: \"wait\" is expected");
    CHECK(fault("member 32", "member -32").starts_with("3: a number from 0 to "));
    CHECK(fault("member 32 sends \"\\\"v\\\\", "member 32 sends \"\\\"v\\\\x") == "3: there is no value of this name");
    CHECK(fault(" gives", " takes") == "3: \"gives\" is expected");
    CHECK(fault("end\n", "").find("the text ends before the plan does") != std::string::npos);
    CHECK(fault("end\n", "end\nmore\n") != "none");
}
