// What collectives of captured steps are for, and their buckets. The figures of docs/algorithms/classification.md and
// docs/algorithms/buckets.md are those that this prints.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "capture/tiny_step.hpp"
#include "stretto/capture/bucket_capture.hpp"
#include "stretto/capture/check_plan.hpp"
#include "support/read_step.hpp"

using namespace stretto;

namespace {

struct step_counts {
    const char* file;
    std::size_t gathered, written, unknown;
    std::array<std::size_t, 5> tags;  // by traffic_kind
    std::size_t buckets, saved;       // at 64 MiB
};

constexpr step_counts steps[] = {
    {"llama3_8b_fw_64_1d", 291, 0, 2, {0, 291, 0, 0, 0}, 64, 128},
    {"llama3_8b_fw_64_2d", 291, 0, 2, {0, 291, 0, 0, 130}, 32, 257},
    {"llama3_8b_bw_64_1d", 290, 0, 263, {0, 290, 291, 0, 0}, 96, 161},
    {"llama3_8b_bw_64_2d", 146, 0, 151, {0, 146, 180, 0, 98}, 49, 274},
    {"dsv3_fw_64", 377, 26, 91, {0, 377, 0, 78, 0}, 28, 267},
    {"dsv3_bw_64", 376, 0, 1388, {0, 376, 377, 52, 0}, 82, 507},
    {"titan_moe", 83, 5, 98, {0, 83, 90, 25, 0}, 5, 168},
    {"titan_16b", 377, 26, 434, {0, 377, 384, 130, 0}, 82, 507},
    {"titan_16b_ac", 377, 26, 434, {0, 751, 384, 130, 0}, 110, 773},
};

constexpr bytes mebibytes(std::int64_t n) { return {n << 20}; }

capture_bucket_plan plan_of(const capture& step, const capture_tensors& tensors, const bucket_options& options) {
    const traffic_tags<capture_view> tags = traffic_of(step);
    const buckets_by_traffic<capture_view> choose{&tags};
    auto plan = plan_capture_buckets(step, tensors, choose, options);
    REQUIRE(plan);
    return *std::move(plan);
}

}  // namespace

TEST_CASE("what the collectives of captured steps are for, and their buckets") {
    for (const step_counts& due : steps) {
        const std::string name = "/" + std::string(due.file) + ".json.gz";
        const std::string path = support::captured_step("STRETTO_REFERENCE_GRAPHS", name.c_str());
        if (path.empty()) return;
        CAPTURE(due.file);
        const auto step = support::read_capture(path);
        REQUIRE(step);
        const auto tensors = capture_tensors::read(*step);
        REQUIRE(tensors);
        const auto roles = infer_input_roles(capture_view{&*step}, capture_op_model{&*step});
        CHECK(roles.count(role_reason::gathered) == due.gathered);
        CHECK(roles.count(role_reason::written) == due.written);
        CHECK(roles.count(role_reason::unknown) == due.unknown);
        const traffic_tags<capture_view> tags = traffic_of(*step);
        std::array<std::size_t, 5> counts{};
        for (std::uint32_t v = 0; v < step->size(); ++v)
            if (step->kind(v) == op_kind::start) ++counts[static_cast<std::size_t>(tags[v].what)];
        CHECK(counts == due.tags);

        const capture_bucket_plan plan = plan_of(*step, *tensors, {.most_bytes = mebibytes(64)});
        CHECK(plan.buckets.size() == due.buckets);
        CHECK(plan.saved() == due.saved);
        const auto made = bucketed(*step, *tensors, plan);
        REQUIRE(made);
        const plan_report report = check_plan(*step, *made);
        CHECK(report.legal());
        nanoseconds alone, merged, copies;
        std::size_t casts = 0;
        for (const capture_bucket& b : plan.buckets) {
            alone += b.alone;
            merged += b.merged;
            copies += b.copies;
            casts += b.casts.size();
        }
        std::array<char, 300> line{};
        std::snprintf(
            line.data(), line.size(),
            "| %s | %zu | %zu | %zu | %zu | %.1f | %.1f | %.1f | %.1f | %.1f |  %zu %zu %zu {%zu %zu %zu %zu}",
            due.file, report.before.collectives, report.after.collectives, plan.buckets.size(), casts,
            to_milliseconds(alone), to_milliseconds(merged), to_milliseconds(copies),
            to_milliseconds(report.before.makespan), to_milliseconds(report.after.makespan),
            roles.count(role_reason::gathered), roles.count(role_reason::written), roles.count(role_reason::unknown),
            counts[1], counts[2], counts[3], counts[4]);
        MESSAGE(std::string(line.data()));
    }
}

TEST_CASE("autoparallel's pull request 412: 291 gathers become 98 at 200 MiB, and 259 at 25 MiB") {
    const std::string path = support::captured_step("STRETTO_REFERENCE_GRAPHS", "/llama3_8b_fw_64_1d.json.gz");
    if (path.empty()) return;
    const auto step = support::read_capture(path);
    REQUIRE(step);
    const auto tensors = capture_tensors::read(*step);
    REQUIRE(tensors);
    for (const auto& [cap, left] : {std::pair{200, 98}, std::pair{25, 259}}) {
        const capture_bucket_plan plan = plan_of(*step, *tensors, {.most_bytes = mebibytes(cap), .most_open = 1});
        const auto made = bucketed(*step, *tensors, plan);
        REQUIRE(made);
        const plan_report report = check_plan(*step, *made);
        CHECK(report.legal());
        CHECK(report.before.collectives == 291);
        CHECK(report.after.collectives == static_cast<std::size_t>(left));
    }
}
