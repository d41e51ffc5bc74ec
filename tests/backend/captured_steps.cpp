// Captured steps, made small and executed on ranks that are threads: whole, in chunks and in buckets. What comes out is
// what the interpreter computes in the same order, bit for bit.
#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "stretto/backend/check_log.hpp"
#include "stretto/backend/recorder.hpp"
#include "support/prop.hpp"
#include "support/step_forms.hpp"

using namespace stretto;

namespace {

/// What the lanes of a rank are told orders everything that must be ordered, and nothing twice. Without any wait, a
/// fault is found; which ones are left out is drawn from `seed`, since each takes a check of the whole log.
void check_waits(const task_graph& g, const checked_order& order, std::uint32_t seed) {
    const auto program = plan_lanes(g, order);
    REQUIRE(program);
    const run_log log = log_of(*program);
    const auto found = check_log(g, program->arena, log);
    CHECK_MESSAGE(found.empty(),
                  (found.empty() ? std::string() : explain(found[0], [](task_id t) { return std::to_string(t); })));
    std::vector<std::size_t> waits;
    for (std::size_t k = 0; k < log.size(); ++k)
        if (log[k].what == log_entry::form::wait) waits.push_back(k);
    REQUIRE(!waits.empty());
    std::mt19937 random(seed);
    for (int k = 0; k < 4; ++k) {
        const std::size_t at = waits[random() % waits.size()];
        run_log without = log;
        without.erase(without.begin() + static_cast<std::ptrdiff_t>(at));
        const auto faults = check_log(g, program->arena, without);
        CHECK((!faults.empty() && is_fault(faults[0])));
    }
}

struct on_threads {
    support::executed_step execute(const support::ordered_step& s) const {
        return support::run_on_ranks(s.step, s.tasks, s.order, s.before, s.options, 2);
    }
    void finish(const support::ordered_step& s, bool right) const {
        if (!right) return;
        const auto begin = std::chrono::steady_clock::now();
        check_waits(s.tasks, s.order, 1);
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        std::size_t exchanged = 0;
        for (task_id t = 0; t < s.tasks.size(); ++t)
            exchanged += s.tasks.kind[t] == op_kind::start && s.step.ops().call(t).input_sizes.size() > 0;
        MESSAGE(s.step.step().name() << ": " << s.step.step().size() << " operations, " << exchanged
                                     << " exchanges of measured amounts, on " << s.options.ranks
                                     << " ranks: the interpreter's bits; waits in " << seconds << " s");
    }
};

void check_forms(const char* file, const support::shrunken_recipe& recipe, std::int64_t tokens,
                 const std::vector<std::vector<std::int64_t>>& chunks, const char* folder = "STRETTO_EXAMPLE_GRAPHS") {
    on_threads world;
    support::step_forms(world).check(file, recipe, tokens, chunks, folder);
}

}  // namespace

TEST_CASE("dense steps on two ranks compute what the interpreter does") {
    check_forms("/llama_fsdp_forward.json.gz", support::llama_fsdp_recipe(), 0, {});
    check_forms("/llama_fsdp_backward.json.gz", support::llama_fsdp_recipe(), 0, {});
}

TEST_CASE("a step of experts on ranks computes what the interpreter does, whole, in chunks and in buckets") {
    check_forms("/moe_ep_step.json.gz", support::moe_ep_step_recipe(), 4, {{1, 3}});
}

TEST_CASE("a step that exchanges and gathers on one group computes what the interpreter does on ranks") {
    check_forms("/moe_shared_group.json.gz", support::moe_ep_step_recipe(), 4, {{2, 2}});
}

TEST_CASE("steps of other families of models compute what the interpreter does on ranks") {
    check_forms("/qwen3_selective.json.gz", support::family_recipe(), 4, {{2, 1, 1}});
    check_forms("/gpt_oss_full.json.gz", support::family_recipe(), 4, {{3, 1}});
    check_forms("/llama4_offload.json.gz", support::family_recipe(), 4, {{2, 2}});
}

TEST_CASE("steps that compute activations again compute what the interpreter does on ranks") {
    check_forms("/moe_recompute_selective.json.gz", support::moe_ep_step_recipe(), 4, {{2, 1, 1}});
    check_forms("/moe_recompute_layers.json.gz", support::moe_ep_step_recipe(), 4, {{3, 1}});
}

TEST_CASE("all other captured steps that can be made small compute what the interpreter does on ranks") {
    if (!support::runs_all_cases()) return;
    check_forms("/qwen3_full.json.gz", support::family_recipe(), 4, {{1, 3}});
    check_forms("/gpt_oss_selective.json.gz", support::family_recipe(), 4, {{2, 2}});
    check_forms("/llama4_full.json.gz", support::family_recipe(), 4, {{1, 2, 1}});
    check_forms("/titan_moe.json.gz", support::titan_moe_recipe(), 4, {{1, 3}}, "STRETTO_REFERENCE_GRAPHS");
}
