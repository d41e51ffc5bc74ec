// Captured steps in chunks, executed against themselves whole: small extents, real operators, all ranks.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interop/tiny_step.hpp"
#include "stretto/interop/capture_regions.hpp"
#include "stretto/interop/capture_tokens.hpp"
#include "stretto/interop/chunk_capture.hpp"
#include "stretto/schedule/plan_overlap.hpp"
#include "support/chunk_step.hpp"
#include "support/read_step.hpp"
#include "support/run_step.hpp"
#include "support/shrunken_step.hpp"

using namespace stretto;
using namespace stretto::testing;

namespace {

/// Inputs by name, so that two forms of a step get the same.
using named_inputs = std::map<std::string, std::vector<interpreted_value>, std::less<>>;

interpretation run(const capture& step, const capture_tensors& tensors, const interpreter_options& options,
                   const named_inputs& inputs, const std::vector<std::uint32_t>* order = nullptr) {
    const auto input_of = [&](std::uint32_t v) {
        const auto found = inputs.find(step.name(v));
        return found == inputs.end() ? std::span<const interpreted_value>()
                                     : std::span<const interpreted_value>(found->second);
    };
    const auto done = support::run_step(step, tensors, input_of, options, order);
    REQUIRE_MESSAGE(done, (done ? std::string() : done.error().message()));
    return *done;
}

struct agreement {
    std::size_t entries = 0;
    std::size_t bitwise = 0;
    double worst = 0;  ///< largest difference over the largest element, of the others
    std::string where;
};

/// Whatever is not a float agrees exactly.
void compare_entries(const std::vector<interpreted_entry>& a, const std::vector<interpreted_entry>& b, agreement& all) {
    REQUIRE(a.size() == b.size());
    for (std::size_t k = 0; k < a.size(); ++k)
        for (std::size_t rank = 0; rank < a[k].by_rank.size(); ++rank) {
            const std::vector<tensor>&x = a[k].by_rank[rank].tensors, &y = b[k].by_rank[rank].tensors;
            REQUIRE(x.size() == y.size());
            for (std::size_t t = 0; t < x.size(); ++t) {
                REQUIRE(x[t].shape() == y[t].shape());
                ++all.entries;
                if (first_difference(x[t], y[t]) < 0) {
                    ++all.bitwise;
                    continue;
                }
                CHECK_MESSAGE(!x[t].integral(), a[k].name);
                if (x[t].integral() || x[t].is_complex()) continue;
                const auto one = x[t].values<double>(), other = y[t].values<double>();
                double scale = 0, difference = 0;
                for (std::size_t i = 0; i < one.size(); ++i) {
                    scale = std::max(scale, std::fabs(one[i]));
                    difference = std::max(difference, std::fabs(one[i] - other[i]));
                }
                const double relative = scale > 0 ? difference / scale : difference;
                if (!(relative <= all.worst)) {
                    all.worst = relative;
                    all.where = a[k].name;
                }
            }
        }
}

agreement compare_runs(const interpretation& a, const interpretation& b) {
    agreement all;
    compare_entries(a.outputs, b.outputs, all);
    compare_entries(a.inputs, b.inputs, all);
    return all;
}

void check_step(const std::string& path, support::shrunken_recipe recipe, std::int64_t tokens,
                const std::vector<std::vector<module_chunks>>& all_settings) {
    recipe.extents.symbols = {{"u0", tokens}};
    const auto captured = support::read_capture(path);
    REQUIRE(captured);
    const auto captured_tensors = capture_tensors::read(*captured);
    REQUIRE(captured_tensors);
    const auto small = support::shrink(*captured, *captured_tensors, recipe);
    REQUIRE_MESSAGE(small, support::complaint(small));
    const capture& step = *small;
    const auto tensors = capture_tensors::read(step);
    REQUIRE(tensors);

    input_options seeded;
    seeded.ranks = recipe.run.ranks;
    seeded.seed = 7;
    const auto drawn = support::make_step_inputs(step, *tensors, seeded);
    named_inputs inputs;
    for (std::uint32_t v = 0; v < step.size(); ++v)
        if (step.kind(v) == op_kind::input) inputs.emplace(step.name(v), drawn[v]);
    const interpretation whole = run(step, *tensors, recipe.run, inputs);

    const std::vector<token_symbol> symbols = token_symbols_of(step);
    REQUIRE(!symbols.empty());
    REQUIRE(symbols[0].value == tokens);
    const capture_modules modules(step);
    for (std::size_t n = 0; n < all_settings.size(); ++n) {
        const std::vector<module_chunks>& settings = all_settings[n];
        const chunk_options options{.skip_refused = true, .slices_from = n % 2 == 0 ? INT64_MAX : 0};
        const auto regions = regions_in_chunks(step, modules, settings);
        REQUIRE(regions);
        const auto made = support::chunk_step(step, *tensors, *regions, symbols[0].dimensions, options);
        REQUIRE_MESSAGE(made, (made ? std::string() : made.error().message()));
        const capture& chunked = made->step;
        CHECK(made->plan.counts().chunked > step.size() / (settings[0].pattern.empty() ? 2 : 5));
        CHECK((made->plan.counts().empties != 0) == (n % 2 != 0));
        const auto chunked_tensors = capture_tensors::read(chunked);
        REQUIRE(chunked_tensors);

        const agreement in_order = compare_runs(whole, run(chunked, *chunked_tensors, recipe.run, inputs));
        MESSAGE(step.name() << " in " << made->plan.regions[0].sizes.size() << " chunks"
                            << std::string(settings[0].pattern.empty() ? ": " : ", by module: ") << in_order.bitwise
                            << " of " << in_order.entries << " tensors bit for bit, the others within "
                            << in_order.worst << " (" << in_order.where << ")");
        CHECK(in_order.worst < 1e-12);
        CHECK(in_order.bitwise > in_order.entries / 4);

        // In the order that the scheduler finds, nothing changes at all.
        const interpretation chunked_run = run(chunked, *chunked_tensors, recipe.run, inputs);
        const auto scheduled = plan_overlap(capture_view{&chunked}, capture_op_model{&chunked});
        REQUIRE(scheduled);
        const std::vector<std::uint32_t> order(scheduled->order.begin(), scheduled->order.end());
        const auto different = compare(chunked_run, run(chunked, *chunked_tensors, recipe.run, inputs, &order));
        CHECK_MESSAGE(different.empty(), (different.empty() ? std::string() : different[0].message()));
    }
}

/// Everything that the tokens reach, in chunks of these sizes.
std::vector<module_chunks> whole_step(std::vector<std::int64_t> sizes) {
    return {{"", capture_direction::both, std::move(sizes)}};
}

std::string step_of(const char* variable, const char* name) {
    for (const std::string& path : support::captured_steps(variable))
        if (path.ends_with(name)) return path;
    return {};
}

}  // namespace

TEST_CASE("the step of the examples computes the same in chunks") {
    const std::string path = step_of("STRETTO_EXAMPLE_GRAPHS", "/moe_ep_step.json.gz");
    if (!path.empty())
        check_step(path, support::moe_ep_step_recipe(), 4,
                   {whole_step({2, 2}),
                    whole_step({1, 3}),
                    whole_step({1, 1, 1, 1}),
                    {{"layers.*.moe", capture_direction::both, {1, 1, 2}},
                     {"layers.2.moe", capture_direction::both, {3, 1}},
                     {"layers.5.moe", capture_direction::backward, {2, 2}},
                     {"layers.7", capture_direction::forward, {1, 3}}}});
}

TEST_CASE("the mixture-of-experts step of the reference computes the same in chunks") {
    const std::string path = step_of("STRETTO_REFERENCE_GRAPHS", "/titan_moe.json.gz");
    if (!path.empty())
        check_step(path, support::titan_moe_recipe(), 7,
                   {whole_step({4, 3}),
                    whole_step({1, 2, 4}),
                    whole_step({2, 2, 2, 1}),
                    whole_step({1, 1, 1, 1, 1, 1, 1}),
                    {{"layers.*.moe", capture_direction::both, {4, 3}},
                     {"layers.2", capture_direction::both, {1, 2, 4}},
                     {"layers.3.moe", capture_direction::backward, {6, 1}}}});
}
