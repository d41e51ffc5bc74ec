// What ranks compute with the layer of experts, how it is put into chunks, and what a loop over tokens makes of it.
#ifndef STRETTO_TESTS_BACKEND_EXPERT_DATA_HPP
#define STRETTO_TESTS_BACKEND_EXPERT_DATA_HPP

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/process_groups.hpp"
#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/chunk_rules/rule_chunk_model.hpp"
#include "stretto/transform/chunk_sizes.hpp"
#include "stretto/transform/plan_chunks.hpp"
#include "stretto/transform/verify_chunks.hpp"
#include "support/expert_layer.hpp"

namespace support::experts {

using namespace stretto;

inline constexpr std::int64_t tokens = 12, width = 8, hidden = 10;

using numbers = std::vector<float>;

/// Reals with digits, so that sums depend on their order.
inline numbers made_up(std::uint32_t seed, std::int64_t count) {
    numbers all;
    std::uint32_t state = seed * 2654435761u + 12345;
    for (std::int64_t k = 0; k < count; ++k) {
        state = state * 1664525u + 1013904223u;
        all.push_back((static_cast<float>(state >> 9) / 4194304.0f - 1.0f) * 0.77f);
    }
    return all;
}

struct rank_data {
    numbers x, router, gate, first, second;
};

inline std::vector<rank_data> data_of(std::int64_t ranks) {
    std::vector<rank_data> all;
    for (std::uint32_t r = 0; r < ranks; ++r)
        all.push_back({made_up(r + 1, tokens * width), made_up(77, width * ranks), made_up(100 + r, width / ranks * 2),
                       made_up(200 + r, 2 * width * hidden), made_up(300 + r, 2 * hidden * width)});
    return all;
}

struct outcome {
    numbers y, sums;
    bool operator==(const outcome&) const = default;
};

/// The layer as a loop over tokens.
inline std::vector<outcome> reference(const std::vector<rank_data>& data) {
    const auto ranks = static_cast<std::int64_t>(data.size());
    numbers gate;
    for (const rank_data& d : data) gate.insert(gate.end(), d.gate.begin(), d.gate.end());
    std::vector<outcome> all;
    for (const rank_data& d : data) {
        outcome& o = all.emplace_back();
        for (std::int64_t t = 0; t < tokens; ++t) {
            const float* const row = d.x.data() + t * width;
            numbers sum(width, 0.0f);
            const float score[] = {product(row, gate.data(), width, 2), product(row, gate.data() + 1, width, 2)};
            const std::int64_t e = score[1] > score[0] ? 1 : 0;
            for (std::int64_t r = 0; r < ranks; ++r) {
                const rank_data& there = data[static_cast<std::size_t>(r)];
                numbers made(width, 0.0f);
                for (std::int64_t j = 0; j < hidden; ++j) {
                    const float h = product(row, there.first.data() + e * width * hidden + j, width, hidden);
                    for (std::int64_t c = 0; c < width; ++c)
                        made[static_cast<std::size_t>(c)] +=
                            std::max(h, 0.0f) *
                            there.second[static_cast<std::size_t>(e * width * hidden + j * width + c)];
                }
                for (std::size_t c = 0; c < width; ++c) sum[c] += made[c] * score[e];
            }
            for (std::size_t c = 0; c < width; ++c) o.y.push_back(row[c] + sum[c]);
        }
    }
    std::vector<numbers> totals;
    for (const outcome& o : all) {
        numbers& total = totals.emplace_back(width, 0.0f);
        for (std::size_t k = 0; k < o.y.size(); ++k) total[k % width] += o.y[k];
    }
    for (outcome& o : all) {
        o.sums = totals[0];
        for (std::size_t r = 1; r < totals.size(); ++r)
            for (std::size_t c = 0; c < width; ++c) o.sums[c] += totals[r][c];
    }
    return all;
}

/// Puts the layer into chunks, in its IR. Returns how many clones of the exchanges there are; 0 if it cannot be.
inline std::size_t chunk(layer& l, const std::vector<std::int64_t>& sizes) {
    const view v = views::from_values(values_view{&l.p});
    row_orders orders;
    const rule_chunk_model chunks(v, dialect{l.ranks, l.tokens}, orders);
    chunk_region<op*> region;
    for (op& o : l.p.ops)
        if (o.what != code::argument && o.what != code::result) region.candidates.push_back(&o);
    region.sizes = sizes;
    const std::vector<chunk_region<op*>> regions = {region};
    const std::vector<token_dimension<value*>> rows = {{l.x, 0}};
    const auto plan = plan_chunks(v, model{}, chunks, std::span(regions), std::span(rows), {.skip_refused = true});
    if (!plan || !verify_chunks(*plan, v, model{}, chunks)) return 0;
    rewriter rewriter{&l.p};
    apply_chunks(*plan, v, rewriter);
    // The results may have been put together anew.
    l.y = l.output()->reads[0];
    l.sums = l.output()->reads[1];
    std::size_t sends = 0;
    for (const op& o : l.p.ops) sends += o.what == code::send;
    return sends;
}

inline process_groups two_groups(std::int64_t ranks) {
    std::vector<rank_id> all;
    for (rank_id r = 0; r < ranks; ++r) all.push_back(r);
    process_groups groups;
    for (int k = 0; k < 2; ++k) groups.add({.size = ranks, .ranks = all});
    return groups;
}

inline std::vector<std::pair<value*, const numbers*>> arguments(layer& l, const rank_data& d) {
    return {{l.x, &d.x}, {l.router, &d.router}, {l.gate, &d.gate}, {l.first, &d.first}, {l.second, &d.second}};
}

}  // namespace support::experts

#endif
