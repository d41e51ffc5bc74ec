// Random programs for ranks, and what each rank sees of one that is done one operation after the other: what runs on
// any backend is compared with that.
#ifndef STRETTO_TESTS_BACKEND_RANDOM_STEP_HPP
#define STRETTO_TESTS_BACKEND_RANDOM_STEP_HPP

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "stretto/backend/concepts.hpp"
#include "support/schedule_oracles.hpp"

namespace support::steps {

using namespace stretto;

inline constexpr std::size_t length = 12;  // every value has so many numbers, which 1, 2, 3 and 4 ranks can share
using row = std::array<std::uint32_t, length>;
inline constexpr std::int64_t row_bytes = sizeof(row);

inline std::uint32_t mixed(task_id t, std::uint32_t a, std::uint32_t b) {
    return a * 2654435761u + (b ^ (b >> 7)) * 40503u + t;
}

/// Kernels of one or two operands, some of which write their first operand in place; sums, some of them in place,
/// and exchanges on two groups, with and without waits. Decoded from bytes, so that it shrinks.
inline toy_program random_step(const std::vector<std::uint8_t>& bytes) {
    toy_program p;
    p.groups = 2;
    std::vector<toy_value> values;
    const auto add = [&](support::toy_op op) {
        p.ops.push_back(std::move(op));
        const toy_value made{static_cast<std::uint32_t>(p.ops.size() - 1), 0};
        values.push_back(made);
        return made;
    };
    for (int k = 0; k < 2; ++k) add({.kind = op_kind::input, .results = {{{row_bytes}, {}}}});
    std::vector<toy_value> in_flight;
    for (std::size_t at = 0; at + 2 < bytes.size(); at += 3) {
        const toy_value x = values[bytes[at + 1] % values.size()], y = values[bytes[at + 2] % values.size()];
        const std::uint8_t what = bytes[at] % 9;
        if (what < 3) {
            add({.operands = {x, y}, .results = {{{row_bytes}, {}}}});
        } else if (what == 3) {
            if (x.op < 2 || x == y) continue;  // inputs belong to the caller
            add({.operands = {x, y}, .results = {{{0}, {x}}}, .effects = {x}});
        } else if (what == 8) {
            if (x.op < 2) continue;
            in_flight.push_back(add({.kind = op_kind::start,
                                     .collective = collective_kind::all_reduce,
                                     .group = bytes[at + 2] % 2u,
                                     .payload = {row_bytes},
                                     .operands = {x},
                                     .results = {{{0}, {x}}},
                                     .effects = {x}}));
        } else if (what < 6) {
            in_flight.push_back(
                add({.kind = op_kind::start,
                     .collective = what == 4 ? collective_kind::all_reduce : collective_kind::all_to_all,
                     .group = bytes[at + 2] % 2u,
                     .payload = {row_bytes},
                     .operands = {x},
                     .results = {{{row_bytes}, {}}}}));
        } else if (!in_flight.empty()) {
            const toy_value start = in_flight[bytes[at + 1] % in_flight.size()];
            add({.kind = op_kind::wait, .operands = {start}, .results = {{{0}, {start}}}});
        }
    }
    support::toy_op output{.kind = op_kind::output};
    for (std::size_t k = 0; k < values.size(); k += 1 + k / 4) output.operands.push_back(values[values.size() - 1 - k]);
    p.ops.push_back(output);
    return p;
}

inline row input(rank_id rank, std::uint32_t which) {
    row made;
    for (std::uint32_t k = 0; k < length; ++k) made[k] = mixed(which, rank + 17, k * k + 3);
    return made;
}

/// What the output reads on every rank, if everything happens in program order.
inline std::vector<std::vector<row>> interpret(const toy_program& p, std::size_t ranks) {
    std::vector<std::vector<row>> memory(ranks);  // by storage
    std::vector<std::size_t> storage;             // by operation
    std::vector<std::vector<row>> seen(ranks);
    for (std::uint32_t v = 0; v < p.ops.size(); ++v) {
        const support::toy_op& op = p.ops[v];
        const auto of = [&](std::size_t rank, std::size_t k) -> row& {
            return memory[rank][storage[op.operands[k].op]];
        };
        storage.push_back(v);
        std::vector<row> made(ranks);
        for (std::size_t r = 0; r < ranks; ++r) {
            if (op.kind == op_kind::input) made[r] = input(static_cast<rank_id>(r), v);
            if (op.kind == op_kind::output)
                for (std::size_t k = 0; k < op.operands.size(); ++k) seen[r].push_back(of(r, k));
            if (op.kind == op_kind::compute)
                for (std::size_t k = 0; k < length; ++k) made[r][k] = mixed(v, of(r, 0)[k], of(r, 1)[(k + 1) % length]);
            if (op.kind == op_kind::start)
                for (std::size_t k = 0; k < length; ++k) {
                    const std::size_t share = length / ranks;
                    if (op.collective == collective_kind::all_to_all)
                        made[r][k] = of(k / share, 0)[r * share + k % share];
                    else
                        for (std::size_t q = 0; q < ranks; ++q) made[r][k] += of(q, 0)[k];
                }
        }
        if (op.kind == op_kind::wait || !op.effects.empty()) storage[v] = storage[op.operands[0].op];
        for (std::size_t r = 0; r < ranks; ++r) {
            memory[r].push_back(made[r]);
            if (!op.effects.empty()) memory[r][storage[v]] = made[r];
        }
    }
    return seen;
}

struct row_kernel {
    task_id task;
    std::uint32_t *a, *b, *to;
    void operator()() const {
        row made;  // the result may be the first operand
        for (std::size_t k = 0; k < length; ++k) made[k] = mixed(task, a[k], b[(k + 1) % length]);
        std::memcpy(to, made.data(), sizeof(made));
    }
};

struct kernels {
    const task_graph* g;
    std::array<row, 2> inputs;

    row_kernel kernel(task_id t, task_memory m) const {
        const auto numbers = [](std::byte* x) { return reinterpret_cast<std::uint32_t*>(x); };
        return {t, numbers(m.operands[0]), numbers(m.operands[1]), numbers(m.results[0])};
    }
    collective_call call(task_id t) const {
        collective_call made;
        made.kind = g->collective[t];
        made.reduction = made.kind == collective_kind::all_reduce ? reduction_kind::sum : reduction_kind::none;
        made.element = element_type::i32;
        return made;
    }
    std::byte* address(value_id x) { return reinterpret_cast<std::byte*>(inputs[x].data()); }
};

}  // namespace support::steps

#endif
