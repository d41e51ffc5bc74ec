// Random programs of the row IR with regions to chunk, from bytes: the same bytes give the same program.
#ifndef STRETTO_TESTS_SUPPORT_ROW_PROGRAMS_HPP
#define STRETTO_TESTS_SUPPORT_ROW_PROGRAMS_HPP

#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "stretto/transform/plan_chunks.hpp"
#include "support/row_ir.hpp"

namespace support {

using row_plan = stretto::chunk_plan<row_op*, row_op*>;

/// What a random case is made of.
struct row_recipe {
    std::vector<std::array<std::uint8_t, 4>> steps;
    std::vector<std::int64_t> first_sizes, second_sizes;
};

struct row_case {
    row_program p;
    std::vector<stretto::chunk_region<row_op*>> regions;
    std::vector<stretto::token_dimension<row_op*>> tokens;
};

inline row_recipe arbitrary_recipe() {
    const auto sizes = [] {
        auto some = *rc::gen::container<std::vector<std::int64_t>>(*rc::gen::inRange<std::size_t>(1, 4),
                                                                   rc::gen::inRange<std::int64_t>(0, 4));
        some.push_back(1);
        return some;
    };
    row_recipe r;
    r.steps = *rc::gen::container<std::vector<std::array<std::uint8_t, 4>>>(
        rc::gen::arbitrary<std::array<std::uint8_t, 4>>());
    r.first_sizes = sizes();
    r.second_sizes = sizes();
    return r;
}

/// Two inputs of rows and one of a single row; every operation that a step makes is a candidate of one of two regions,
/// or of none, and some of them are kept whole; the output reads the last three values.
inline row_case make_row_case(const row_recipe& recipe) {
    using does = row_op::does;
    row_case c;
    row_program& p = c.p;
    std::int64_t rows = 1;
    for (const auto* sizes : {&recipe.first_sizes, &recipe.second_sizes}) {
        c.regions.push_back({{}, *sizes});
        std::int64_t sum = 0;
        for (std::int64_t s : *sizes) sum += s;
        rows = std::lcm(rows, sum);
    }
    const std::size_t n = static_cast<std::size_t>(2 * rows);
    std::vector<row_op*> made = {p.append(does::input, {}, n), p.append(does::input, {}, 1),
                                 p.append(does::input, {}, n)};
    c.tokens.push_back({made[0], 0});
    for (const auto& [what, a, b, in] : recipe.steps) {
        row_op* x = made[a % made.size()];
        row_op* y = made[b % made.size()];
        std::vector<row_op*> step;
        switch (what % 11) {
            case 0:
                step = {p.append(does::scale, {x}, x->rows)};
                break;
            case 1:
            case 2:
                step = {p.append(does::add, {x, y}, std::max(x->rows, y->rows))};
                break;
            case 3:
                step = {p.append(does::total, {x}, 1)};
                break;
            case 4:
                step = {p.append(does::order, {x}, x->rows)};
                break;
            case 5:
                if (b % 2 == 0) {
                    step = {p.append(does::running, {x}, x->rows)};
                } else {
                    step = {p.append(does::part, {x}, 1)};
                    step[0]->last = 1;
                }
                break;
            case 6:
            case 7:
                if (x->rows >= y->rows && x != y) step = {p.append(does::increment, {x, y}, x->rows)};
                break;
            case 8:
                step = {p.append(does::send, {x}, x->rows)};
                step.push_back(p.append(does::wait, {step[0]}, x->rows));
                break;
            case 9:
                step = {p.append(does::numbers, {x}, x->rows)};
                break;
            case 10:
                step = {p.append(does::widen, {x}, x->rows)};
                break;
        }
        if (step.empty()) continue;
        made.push_back(step.back());
        if (in % 8 == 0) continue;
        stretto::chunk_region<row_op*>& region = c.regions[in % 8 < 6 ? 0 : 1];
        for (row_op* o : step) region.candidates.push_back(o);
        if (in >= 240) region.kept.push_back(step[0]);
    }
    p.append(does::output, {made.end() - 3, made.end()}, 1);
    return c;
}

/// What cannot be chunked stays whole; a plan that no token reaches is empty. About half of what may be is written
/// slice by slice.
inline row_plan plan_row_case(row_case& c) {
    auto made = stretto::plan_chunks(
        row_view{&c.p}, row_model{}, row_chunk_model{}, std::span<const stretto::chunk_region<row_op*>>(c.regions),
        std::span<const stretto::token_dimension<row_op*>>(c.tokens), {.skip_refused = true});
    if (!made) {
        RC_ASSERT(made.error().why == stretto::chunk_reason::nothing_reached);
        return {};
    }
    stretto::choose_slices(*made, [](const auto& join) { return join.value->number % 2 == 1; });
    return *made;
}

}  // namespace support

#endif
