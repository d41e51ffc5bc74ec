// What collectives of captured steps are for, and their buckets. The figures of docs/algorithms/classification.md and
// docs/algorithms/buckets.md are those that this prints.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capture/tiny_step.hpp"
#include "stretto/capture/bucket_capture.hpp"
#include "stretto/capture/check_plan.hpp"
#include "stretto/capture/saturating_payloads.hpp"
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

/// A captured step of the reference, if it is there.
std::optional<capture> reference_step(const std::string& file) {
    const std::string path = support::captured_step("STRETTO_REFERENCE_GRAPHS", ("/" + file).c_str());
    if (path.empty()) return std::nullopt;
    auto step = support::read_capture(path);
    REQUIRE_MESSAGE(step, (step ? std::string() : step.error().message()));
    return *std::move(step);
}

std::vector<std::string> sorted(std::vector<std::string> all) {
    std::ranges::sort(all);
    return all;
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

TEST_CASE("one bucket for each block has the members that torchtitan packs in its blocks") {
    for (const auto& [name, layers] : {std::pair{"titan_16b", 27}, std::pair{"titan_moe", 6}}) {
        const auto step = reference_step(std::string(name) + ".json.gz");
        const auto theirs = reference_step(std::string(name) + ".torchtitan.json.gz");
        if (!step || !theirs) return;
        CAPTURE(std::string(name));
        // Their packs read parameters, and gradients, whose chunks they have put together under a longer name. The
        // payload is found by its members in alphabetical order.
        const std::string materialized = "_chunk0_chunk_materialized";
        std::map<std::vector<std::string>, std::vector<std::string>> due;
        for (std::uint32_t v = 0; v < theirs->size(); ++v) {
            if (!theirs->op(v).starts_with("bucketing._pre_bucket_")) continue;
            std::vector<std::string> read;
            for (std::uint32_t x : theirs->inputs(v)) {
                read.emplace_back(theirs->name(x));
                if (read.back().ends_with(materialized)) read.back().resize(read.back().size() - materialized.size());
            }
            if (read.size() > 1) due[sorted(read)] = read;
        }
        CHECK(due.size() == static_cast<std::size_t>(4 * layers - 1));

        const auto tensors = capture_tensors::read(*step);
        REQUIRE(tensors);
        std::vector<module_bucket> blocks = {{"tok_embeddings"}, {"norm", "lm_head"}};
        for (int k = 0; k < layers; ++k) blocks.push_back({"layers." + std::to_string(k)});
        const traffic_tags<capture_view> tags = traffic_of(*step);
        const capture_modules modules = modules_of(*step);
        const auto choose = buckets_by_module<capture_view>::make(modules, tags, blocks);
        REQUIRE(choose);
        const auto plan = plan_capture_buckets(*step, *tensors, *choose);
        REQUIRE(plan);
        for (const capture_bucket& b : plan->buckets) {
            const bool gathers = step->collective(b.members[0]) == collective_kind::all_gather;
            const auto module = [&](std::size_t k) { return modules.paths()[modules.path_number(b.members[k])]; };
            // Reductions of a loss in chunks are added up behind, so torchtitan leaves them alone. Here they travel
            // with that of the last norm, and may be reduced once before.
            if (!gathers && (module(0) == "lm_head" || module(0) == "norm")) continue;
            std::vector<std::string> read;
            bool one_module = true;
            for (std::size_t k = 0; k < b.members.size(); ++k) {  // torchtitan leaves casts of gradients where they are
                read.emplace_back(step->name(gathers ? b.parts[k] : step->inputs(b.members[k])[0]));
                one_module = one_module && module(k) == module(0);
            }
            CAPTURE(read[0]);
            const auto same = due.find(sorted(read));
            REQUIRE(same != due.end());
            // Parameters of one module lie in its payload as the graph launches them; here as they are registered.
            CHECK((one_module || same->second == read));
            due.erase(same);
        }
        CHECK(due.empty());
    }
}

TEST_CASE("buckets up to the payload that saturates each channel, and within the span of pull request 481") {
    struct counts {
        const char* file;
        std::size_t before, at_90_percent, at_50_percent, spanned, on_primary;
    };
    constexpr counts all[] = {
        {"llama3_8b_fw_64_1d", 291, 41, 195, 98, 291},
        {"llama3_8b_fw_64_2d", 421, 171, 325, 140, 291},
        {"llama3_8b_bw_64_1d", 581, 299, 484, 228, 290},
        {"llama3_8b_bw_64_2d", 424, 170, 328, 147, 146},
        {"dsv3_fw_64", 455, 124, 214, 167, 299},
        {"dsv3_bw_64", 805, 260, 538, 239, 298},
        {"titan_moe", 198, 52, 125, 59, 68},
        {"titan_16b", 891, 758, 839, 325, 299},
        {"titan_16b_ac", 1265, 1051, 1213, 412, 595},
    };
    for (const counts& due : all) {
        const auto step = reference_step(std::string(due.file) + ".json.gz");
        if (!step) return;
        CAPTURE(due.file);
        const auto tensors = capture_tensors::read(*step);
        REQUIRE(tensors);
        const traffic_tags<capture_view> tags = traffic_of(*step);
        const buckets_by_traffic<capture_view> choose{&tags};
        const auto left = [&](const auto& policy, const bucket_options& options) {
            const auto plan = plan_capture_buckets(*step, *tensors, policy, options);
            REQUIRE(plan);
            const auto made = bucketed(*step, *tensors, *plan);
            REQUIRE(made);
            const plan_report report = check_plan(*step, *made);
            CHECK(report.legal());
            return report.after.collectives;
        };
        std::size_t before = 0;
        for (std::uint32_t v = 0; v < step->size(); ++v) before += step->kind(v) == op_kind::start;
        CHECK(before == due.before);
        for (const auto& [share, after] : {std::pair{0.9, due.at_90_percent}, std::pair{0.5, due.at_50_percent}}) {
            const auto most = saturating_payloads::make(*step, choose, share);
            REQUIRE(most);
            CHECK(left(buckets_up_to{choose, *most}, {}) == after);
        }
        const capture_op_model ops{&*step};
        const auto primary = primary_group_of(capture_view{&*step}, ops, tags);
        REQUIRE(primary);
        CHECK(primary->gathers == due.on_primary);
        const bucket_options options{
            .most_bytes = mebibytes(200), .most_span = 1500, .most_open = 1, .by = sweep_order::waits};
        CHECK(left(buckets_on_group{choose, &ops, primary->group}, options) == due.spanned);
    }
}
