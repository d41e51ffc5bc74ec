#include "stretto/transform/bucket_plan_text.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/awkward_names.hpp"
#include "support/bucket_programs.hpp"
#include "support/prop.hpp"
#include "support/traffic_program.hpp"

using namespace stretto;
using support::program_bucket_plan;

namespace {

std::string written(const program_bucket_plan& plan) {
    return write_bucket_plan(plan, support::awkward_name, support::awkward_name);
}
auto read(std::string_view text) {
    return read_bucket_plan<std::uint32_t, std::uint32_t>(text, support::awkwardly_named, support::awkwardly_named);
}

}  // namespace

TEST_CASE("any bucket plan comes back from its text") {
    std::size_t plans = 0;
    stretto_check("random programs", 2000, [&](const std::vector<std::uint8_t>& data) {
        const support::reduction_program p = support::random_traffic(data);
        auto plan = *plan_buckets(support::reduction_view{&p}, support::reduction_model{&p},
                                  [&](std::uint32_t v) { return bucket_choice{.label = 0, .cast = p.sends_cast(v)}; },
                                  {.mode = data.size() % 2 == 0 ? bucket_mode::pack : bucket_mode::coalesced});
        plan.refused.clear();
        for (auto& b : plan.buckets) b.copies.count = -static_cast<std::int64_t>(data.size());
        const auto again = read(written(plan));
        RC_ASSERT(again.has_value());
        RC_ASSERT(*again == plan);
        plans += !plan.empty();
    });
    if (support::runs_all_cases()) CHECK(plans > 100);
}

TEST_CASE("a text that is no bucket plan: the line and the cause") {
    const std::string good = written(support::two_buckets().plan());
    const auto fault = [&](std::string_view part, std::string_view instead) {
        std::string text = good;
        text.replace(text.find(part), part.size(), instead);
        const auto plan = read(text);
        return plan ? std::string("none") : std::to_string(plan.error().line) + ": " + plan.error().cause;
    };
    CHECK(fault("end\n", "end\n") == "none");
    CHECK(fault("-plan 1", "-plan 2").starts_with("1: "));
    CHECK(fault("bucket pack", "bucket sent").starts_with("2: "));
    CHECK(fault("bucket pack 64", "bucket pack -64").starts_with("2: "));
    CHECK(fault("bucket pack", "member pack") == "2: no bucket has been begun");
    CHECK(fault("\"\\\"v\\\\3", "\"\\\"v\\\\x") == "3: there is no vertex of this name");
    CHECK(fault("cast", "casting") == "5: no item begins like this");
    CHECK(fault("end\n", "").find("the text ends before the plan does") != std::string::npos);
    CHECK(fault("end\n", "end\nmore\n") != "none");
}
