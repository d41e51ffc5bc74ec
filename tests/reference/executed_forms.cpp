// Captured steps made small, and plans of them: in buckets, in chunks, both, and with groups isolated, in the order
// that the scheduler finds. Each is legal by the conventions of the format. If STRETTO_EXECUTED_FORMS names a folder,
// they are written there with a list, forms.txt, so that tests/reference/execute can let PyTorch run them: a line has
// the step, the plan, the number of ranks, and whether the plan only moves and merges (same), so that it has the bits
// of the step, or sums parts (parts).
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "capture/tiny_step.hpp"
#include "stretto/capture/bucket_capture.hpp"
#include "stretto/capture/capture_module_model.hpp"
#include "stretto/capture/capture_tokens.hpp"
#include "stretto/capture/capture_writer.hpp"
#include "stretto/capture/check_plan.hpp"
#include "stretto/capture/isolate_capture.hpp"
#include "stretto/capture/reduce_capture.hpp"
#include "stretto/schedule/plan_overlap.hpp"
#include "stretto/transform/module_regions.hpp"
#include "support/chunk_step.hpp"
#include "support/read_step.hpp"
#include "support/shrunken_step.hpp"

using namespace stretto;

namespace {

/// The plans of one step.
class forms_of_step {
public:
    forms_of_step(std::string name, support::shrunken_recipe how) : name_(std::move(name)), how_(std::move(how)) {
        if (const char* folder = std::getenv("STRETTO_EXECUTED_FORMS")) folder_ = folder;
    }

    void check(const std::string& path, std::int64_t tokens, const std::vector<std::vector<std::int64_t>>& chunks) {
        how_.extents.symbols = {{"u0", tokens}};
        const auto captured = support::read_capture(path);
        REQUIRE_MESSAGE(captured, support::complaint(captured));
        const auto captured_tensors = support::read_tensors(*captured);
        REQUIRE(captured_tensors);
        auto small = support::shrink(*captured, *captured_tensors, how_);
        REQUIRE_MESSAGE(small, support::complaint(small));
        const capture step = *std::move(small);
        step_ = &step;
        write(step, "step");
        put(step, "order", true);
        put_buckets(step, "", true);
        put_isolated(step, "");
        const auto tensors = support::read_tensors(step);
        REQUIRE(tensors);
        put_reduced(step, *tensors);
        const std::vector<capture_token_symbol> symbols = token_symbols(step, *tensors);
        REQUIRE(!symbols.empty());
        for (std::size_t k = 0; k < chunks.size(); ++k) {
            const std::vector<module_chunks> everything = {{"", pass_direction::both, chunks[k]}};
            const auto regions = regions_in_chunks(modules_of(step), everything);
            REQUIRE(regions);
            const auto made =
                support::chunk_step(step, *tensors, *regions, symbols[0].dimensions, {.skip_refused = true});
            REQUIRE_MESSAGE(made, (made ? std::string() : made.error().message()));
            const std::string form = "chunks" + std::to_string(k + 1);
            put(made->step, form, false);
            put_buckets(made->step, form + "-", false);
            put_isolated(made->step, form + "-");
        }
    }

    [[nodiscard]] std::size_t count() const { return count_; }
    [[nodiscard]] std::size_t reduced() const { return reduced_; }

private:
    void write(const capture& made, const std::string& form) const {
        if (folder_.empty()) return;
        const auto done = write_capture(made, folder_ + "/" + name_ + "." + form + ".json.gz");
        REQUIRE_MESSAGE(done, support::complaint(done));
    }
    void put(const capture& made, const std::string& form, bool same_bits) {
        CAPTURE(name_);
        CAPTURE(form);
        const auto plan = plan_overlap(capture_view{&made}, capture_op_model{&made});
        REQUIRE(plan);
        const std::vector<std::uint32_t> order(plan->order.begin(), plan->order.end());
        const auto written = reordered(made, order);
        REQUIRE_MESSAGE(written, support::complaint(written));
        const plan_report report = check_plan(*step_, *written);
        CHECK_MESSAGE(report.legal(), (report.legal() ? std::string() : report.violations[0].message()));
        ++count_;
        write(*written, form);
        if (!folder_.empty())
            std::ofstream(folder_ + "/forms.txt", std::ios::app)
                << name_ << ' ' << form << ' ' << how_.run.ranks << ' ' << (same_bits ? "same" : "parts") << '\n';
    }
    void put_buckets(const capture& step, const std::string& before, bool same_bits) {
        const auto tensors = support::read_tensors(step);
        REQUIRE(tensors);
        const traffic_tags<capture_view> tags = traffic_of(step);
        const buckets_by_traffic<capture_view> choose{&tags};
        for (const bucket_mode mode : {bucket_mode::pack, bucket_mode::coalesced}) {
            const auto plan = plan_capture_buckets(step, *tensors, choose, {.most_bytes = {4'096}, .mode = mode});
            REQUIRE_MESSAGE(plan, support::complaint(plan));
            REQUIRE(plan->saved() > 2);
            const auto made = bucketed(step, *tensors, *plan);
            REQUIRE_MESSAGE(made, support::complaint(made));
            put(*made, before + (mode == bucket_mode::pack ? "buckets" : "coalesced"), same_bits);
        }
    }
    /// Only steps whose loss is in parts have sums of reductions.
    void put_reduced(const capture& step, const capture_tensors& tensors) {
        auto plan = plan_capture_reductions(step, tensors);
        REQUIRE_MESSAGE(plan, support::complaint(plan));
        if (plan->empty()) return;
        const auto made = reduce_capture(step, tensors, *std::move(plan));
        REQUIRE_MESSAGE(made, support::complaint(made));
        put(made->step, "reduced", false);
        ++reduced_;
    }
    /// Isolation changes a step only where a group carries traffic of two kinds.
    void put_isolated(const capture& step, const std::string& before) {
        const auto plan = plan_isolation(capture_view{&step}, capture_op_model{&step}, step);
        REQUIRE(plan);
        if (plan->moves.empty()) return;
        const capture apart = isolated(step, *plan);
        put(apart, before + "isolated", before.empty());
        put_buckets(apart, before + "isolated-", before.empty());
    }

    std::string name_, folder_;
    support::shrunken_recipe how_;
    const capture* step_ = nullptr;
    std::size_t count_ = 0, reduced_ = 0;
};

}  // namespace

TEST_CASE("plans of small steps are legal, and can be had as files") {
    struct recipe {
        const char* variable;
        std::string name;
        support::shrunken_recipe how;
        std::vector<std::vector<std::int64_t>> chunks;
    };
    const std::vector<recipe> recipes = {
        {"STRETTO_EXAMPLE_GRAPHS", "moe_ep_step", support::moe_ep_step_recipe(), {{1, 3}, {2, 1, 1}}},
        {"STRETTO_EXAMPLE_GRAPHS", "moe_shared_group", support::moe_ep_step_recipe(), {{2, 2}}},
        {"STRETTO_EXAMPLE_GRAPHS", "moe_recompute_selective", support::moe_ep_step_recipe(), {{3, 1}}},
        {"STRETTO_EXAMPLE_GRAPHS", "moe_recompute_layers", support::moe_ep_step_recipe(), {{2, 2}}},
        {"STRETTO_EXAMPLE_GRAPHS", "qwen3_full", support::family_recipe(), {{2, 2}}},
        {"STRETTO_EXAMPLE_GRAPHS", "qwen3_selective", support::family_recipe(), {{1, 1, 2}}},
        {"STRETTO_EXAMPLE_GRAPHS", "gpt_oss_full", support::family_recipe(), {{1, 1, 2}}},
        {"STRETTO_EXAMPLE_GRAPHS", "gpt_oss_selective", support::family_recipe(), {{1, 3}}},
        {"STRETTO_EXAMPLE_GRAPHS", "llama4_full", support::family_recipe(), {{3, 1}}},
        {"STRETTO_EXAMPLE_GRAPHS", "llama4_offload", support::family_recipe(), {{2, 2}, {1, 1, 2}}},
        {"STRETTO_EXAMPLE_GRAPHS", "titan_llama3_8b_full", support::titan_llama3_recipe(), {{2, 2}}},
        {"STRETTO_EXAMPLE_GRAPHS", "titan_llama3_8b_selective", support::titan_llama3_recipe(), {{1, 3}}},
        {"STRETTO_REFERENCE_GRAPHS", "titan_moe", support::titan_moe_recipe(), {{1, 3}, {2, 1, 1}}}};
    for (const recipe& r : recipes) {
        const std::string path = support::captured_step(r.variable, ("/" + r.name + ".json.gz").c_str());
        if (path.empty()) continue;
        forms_of_step forms(r.name, r.how);
        forms.check(path, 4, r.chunks);
        CHECK(forms.count() >= 6);
        CHECK(forms.reduced() == (r.name.starts_with("titan_") ? 1 : 0));
    }
}
