// Chunk plans of captured steps are right, and stop being so when anything is left out of them.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "stretto/aten/aten_chunk_model.hpp"
#include "stretto/capture/capture_module_model.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_tokens.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/check_plan.hpp"
#include "stretto/capture/chunk_capture.hpp"
#include "stretto/transform/chunk_sizes.hpp"
#include "stretto/transform/module_regions.hpp"
#include "stretto/transform/plan_chunks.hpp"
#include "stretto/transform/verify_chunks.hpp"
#include "support/chunk_step.hpp"
#include "support/read_step.hpp"

using namespace stretto;

namespace {

using step_model = aten_chunk_model<capture_view, capture_tensor_model>;
using step_plan = chunk_plan<std::uint32_t, std::uint32_t>;
using step_region = chunk_region<std::uint32_t>;

struct known {
    const char *variable, *name;
    std::int64_t batch;
    std::vector<std::uint32_t> tokens;
};
const known steps[] = {{"STRETTO_EXAMPLE_GRAPHS", "moe_ep_step.json.gz", 256, {179, 180}},
                       {"STRETTO_REFERENCE_GRAPHS", "titan_moe.json.gz", 8, {182, 183, 185}},
                       {"STRETTO_REFERENCE_GRAPHS", "titan_16b.json.gz", 4, {833, 834, 836}}};

std::string file_of(const known& k) {
    const char* folder = std::getenv(k.variable);
    if (folder == nullptr) return {};
    const std::filesystem::path file = std::filesystem::path(folder) / k.name;
    return std::filesystem::exists(file) ? file.string() : std::string();
}

/// A step with everything that asking about its chunks takes.
struct opened {
    capture step;
    capture_tensors tensors;
    const known& k;

    [[nodiscard]] step_model model(row_orders& ledger) const {
        return {capture_view{&step}, {&step, &tensors}, ledger};
    }
    [[nodiscard]] step_plan plan(std::vector<step_region> regions) const {
        row_orders ledger;
        std::vector<token_dimension<std::uint32_t>> tokens;
        for (std::uint32_t t : k.tokens) tokens.push_back({t, 0});
        const auto made = plan_chunks(capture_view{&step}, capture_op_model{&step}, model(ledger),
                                      std::span<const step_region>(regions),
                                      std::span<const token_dimension<std::uint32_t>>(tokens), {.skip_refused = true});
        REQUIRE(made);
        return *made;
    }
    /// Asks a model that has not seen the step before.
    [[nodiscard]] auto verify(const step_plan& plan) const {
        row_orders ledger;
        return verify_chunks(plan, capture_view{&step}, capture_op_model{&step}, model(ledger));
    }
    [[nodiscard]] step_region between(std::uint32_t first, std::uint32_t last, std::vector<std::int64_t> sizes) const {
        step_region r{{}, std::move(sizes)};
        for (std::uint32_t v = first; v < last; ++v)
            if (step.kind(v) != op_kind::input && step.kind(v) != op_kind::output) r.candidates.push_back(v);
        return r;
    }
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(step.size()); }
};

template <class F>
void for_each_step(F f) {
    for (const known& k : steps) {
        const std::string path = file_of(k);
        if (path.empty()) continue;
        INFO(k.name);
        auto step = support::read_capture(path);
        REQUIRE(step);
        auto tensors = capture_tensors::read(*step);
        REQUIRE(tensors);
        f(opened{*std::move(step), *std::move(tensors), k});
    }
}

template <class Result>
bool has(const Result& e, std::initializer_list<chunk_rule> rules) {
    if (e) return false;
    for (const auto& v : e.error())
        for (chunk_rule rule : rules)
            if (v.broken == rule) return true;
    return false;
}

template <class List>
List without(List list, std::size_t k) {
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(k));
    return list;
}

}  // namespace

TEST_CASE("plans for captured steps are right") {
    for_each_step([](const opened& s) {
        const std::int64_t b = s.k.batch;
        const std::uint32_t n = s.size();
        for (const std::vector<std::int64_t>& sizes :
             {std::vector<std::int64_t>{b / 2, b / 2}, std::vector<std::int64_t>{1, b - 2, 1}}) {
            const step_plan whole = s.plan({s.between(0, n, sizes)});
            const auto verified = s.verify(whole);
            REQUIRE(verified);
            CHECK(verified->counts == whole.counts());
            CHECK(verified->counts.chunked > s.step.size() / 2);
            CHECK(verified->collectives > 0);
            const step_plan parts = s.plan({s.between(0, n / 3, sizes), s.between(n / 2, n, {b / 4, b / 4, b / 2})});
            CHECK(s.verify(parts));
            CHECK(!parts.empty());
        }
    });
}

TEST_CASE("every mixture-of-experts block is a region by its module, forward and backward") {
    for_each_step([](const opened& s) {
        const capture_modules modules = modules_of(s.step);
        const auto blocks = module_regions(modules, "layers.*.moe");
        REQUIRE(!blocks.empty());
        for (const std::vector<std::int64_t>& sizes :
             {equal_chunks(s.k.batch, 2), equal_chunks(s.k.batch, 4), std::vector<std::int64_t>{1, s.k.batch - 1}}) {
            std::vector<step_region> regions;
            for (const module_region<std::uint32_t>& block : blocks) {
                if (block.direction == pass_direction::forward) regions.push_back({{}, sizes});
                regions.back().candidates.insert(regions.back().candidates.end(), block.vertices.begin(),
                                                 block.vertices.end());
            }
            CHECK(2 * regions.size() == blocks.size());
            const auto symbols = token_symbols(s.step, s.tensors);
            const auto made =
                support::chunk_step(s.step, s.tensors, regions, symbols[0].dimensions, {.skip_refused = true});
            REQUIRE_MESSAGE(made, (made ? "" : made.error().message()));
            std::vector<std::size_t> exchanges(2 * regions.size(), 0);
            for (const auto& o : made->plan.operations)
                if (s.step.collective(o.vertex) == collective_kind::all_to_all)
                    ++exchanges[2 * o.region + (modules.direction(o.vertex) == pass_direction::backward ? 1 : 0)];
            for (std::size_t n : exchanges) CHECK(n >= 2);
            CHECK(check_plan(s.step, made->step, unlimited_bytes).violations.empty());
        }
    });
}

TEST_CASE("steps are cut around their exchanges") {
    struct known_exchanges {
        const char* name;
        std::size_t exchanges;
        std::int64_t rows;
        bool whole_experts;
    };
    // Forward and backward of dsv3 are two steps: rows in the order of experts are kept for the other, so what makes
    // them stays whole, with the exchanges.
    for (const known_exchanges& k :
         {known_exchanges{"titan_moe.json.gz", 10, 8, false}, known_exchanges{"titan_16b.json.gz", 52, 4, false},
          known_exchanges{"titan_16b_ac.json.gz", 52, 4, false},  // with recomputation
          known_exchanges{"dsv3_fw_64.json.gz", 26, 8192, true},
          known_exchanges{"dsv3_bw_64.json.gz", 26, 8192, true}}) {
        const std::string path = file_of({"STRETTO_REFERENCE_GRAPHS", k.name, 0, {}});
        if (path.empty()) continue;
        INFO(k.name);
        const auto step = support::read_capture(path);
        REQUIRE(step);
        const auto tensors = capture_tensors::read(*step);
        REQUIRE(tensors);
        const std::vector<capture_token_exchange> found = token_exchanges(*step, *tensors);
        REQUIRE(found.size() == k.exchanges);
        step_region region{{}, equal_chunks(k.rows, 2)};
        std::vector<token_dimension<std::uint32_t>> tokens;
        for (const capture_token_exchange& e : found) {
            CHECK(e.rows % k.rows == 0);
            tokens.push_back(e.tokens);
            region.candidates.insert(region.candidates.end(), e.vertices.begin(), e.vertices.end());
        }
        const std::vector<step_region> regions{region};
        const auto made = support::chunk_step(*step, *tensors, regions, tokens, {.skip_refused = true});
        REQUIRE_MESSAGE(made, (made ? "" : made.error().message()));
        std::vector<char> chunked(step->size(), false);
        for (const auto& o : made->plan.operations) chunked[o.vertex] = true;
        for (const capture_token_exchange& e : found) {
            CHECK(bool(chunked[e.dispatch]) != k.whole_experts);
            CHECK(bool(chunked[e.combine]) != k.whole_experts);
        }
        CHECK(check_plan(*step, made->step, unlimited_bytes).violations.empty());
    }
}

TEST_CASE("and stop being so when anything is left out") {
    for_each_step([](const opened& s) {
        const step_plan right = s.plan({s.between(0, s.size(), {s.k.batch / 2, s.k.batch / 2})});
        REQUIRE(s.verify(right));
        // Eight of each kind, because verifying a large step takes long in a test.
        const auto stride = [](const auto& all) { return 1 + all.size() / 8; };
        for (std::size_t k = 0; k < right.joins.size(); k += stride(right.joins)) {
            step_plan wrong = right;
            wrong.joins = without(right.joins, k);
            CHECK(has(s.verify(wrong), {chunk_rule::join_missing}));
            wrong = right;
            wrong.joins[k].how = static_cast<recombination>((static_cast<int>(wrong.joins[k].how) + 1) % 3);
            CHECK(has(s.verify(wrong), {chunk_rule::join_way}));
            wrong = right;
            wrong.joins[k].readers.pop_back();
            CHECK(has(s.verify(wrong), {chunk_rule::reader_left_behind}));
        }
        for (std::size_t k = 0; k < right.splits.size(); k += stride(right.splits)) {
            step_plan wrong = right;
            wrong.splits = without(right.splits, k);
            CHECK(has(s.verify(wrong), {chunk_rule::split_missing}));
        }
        for (std::size_t k = 0; k < right.operations.size(); k += stride(right.operations)) {
            const auto& o = right.operations[k];
            step_plan wrong = right;
            ++wrong.states[o.first_result].positions;
            CHECK(has(s.verify(wrong), {chunk_rule::result_state}));
            wrong = right;
            wrong.operations[k].once = !o.once;
            if (!o.once) CHECK(has(s.verify(wrong), {chunk_rule::once_differs}));
            wrong = right;
            wrong.operations[k].vertex = s.size() - 1;
            CHECK(has(s.verify(wrong), {chunk_rule::operation_out_of_order}));
        }
    });
}
