#include "support/compare_runs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "support/run_step.hpp"

using namespace stretto;
using namespace stretto::aten;

namespace support {
namespace {

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
                const double relative = scale > 0 ? difference / scale : difference > 0 ? HUGE_VAL : 0;
                if (!(relative <= all.worst)) {
                    all.worst = relative;
                    all.where = a[k].name;
                }
            }
        }
}

}  // namespace

named_inputs make_named_inputs(const capture& step, const capture_tensors& tensors, std::size_t ranks,
                               std::uint64_t seed) {
    input_options seeded;
    seeded.ranks = ranks;
    seeded.seed = seed;
    const auto drawn = make_step_inputs(step, tensors, seeded);
    named_inputs named;
    for (std::uint32_t v = 0; v < step.size(); ++v)
        if (step.kind(v) == op_kind::input) named.emplace(step.name(v), drawn[v]);
    return named;
}

interpretation run_named(const capture& step, const capture_tensors& tensors, const interpreter_options& options,
                         const named_inputs& inputs, const std::vector<std::uint32_t>* order) {
    const auto input_of = [&](std::uint32_t v) {
        const auto found = inputs.find(step.name(v));
        return found == inputs.end() ? std::span<const interpreted_value>()
                                     : std::span<const interpreted_value>(found->second);
    };
    const auto done = run_step(step, tensors, input_of, options, order);
    REQUIRE_MESSAGE(done, (done ? std::string() : done.error().message()));
    return *done;
}

agreement compare_runs(const interpretation& a, const interpretation& b) {
    agreement all;
    compare_entries(a.outputs, b.outputs, all);
    compare_entries(a.inputs, b.inputs, all);
    return all;
}

}  // namespace support
