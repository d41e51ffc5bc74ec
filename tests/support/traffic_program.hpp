// Programs drawn from bytes with every kind of collective: gathers of parameters and of other things, reductions that
// end in results and others, exchanges, views and writes in place.
#ifndef STRETTO_TESTS_SUPPORT_TRAFFIC_PROGRAM_HPP
#define STRETTO_TESTS_SUPPORT_TRAFFIC_PROGRAM_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/core/op_model.hpp"
#include "support/reduction_ir.hpp"

namespace support {

/// All values have the same length but what is gathered or scattered, so that anything can read anything. Of so many of
/// the bytes at most, for tests that plan a program many times.
inline reduction_program random_traffic(const std::vector<std::uint8_t>& bytes, std::size_t most = SIZE_MAX) {
    using stretto::collective_kind;
    reduction_program p;
    std::vector<std::uint32_t> values = {p.input(), p.input(), p.input(), p.input()}, seen;
    std::size_t at = 0;
    const std::size_t end = std::min(bytes.size(), most);
    const auto next = [&](std::size_t bound) { return bound == 0 || at >= end ? std::size_t{0} : bytes[at++] % bound; };
    const auto recent = [&] { return values[values.size() - 1 - next(std::min<std::size_t>(values.size(), 8))]; };
    while (at < end) switch (next(16)) {
            case 0:
            case 1:
                values.push_back(p.op(reduction_op::mix, {recent(), recent()}));
                break;
            case 2:
                values.push_back(p.op(next(2) ? reduction_op::cast : reduction_op::same, {recent()}));
                break;
            case 3:
                values.push_back(p.op(reduction_op::twice, {recent()}));
                break;
            case 4: {
                const std::uint32_t a = recent(), b = recent();
                if (p.nodes[a].length != p.nodes[b].length || a == b) break;
                values.push_back(p.op(next(2) ? reduction_op::add : reduction_op::add_to, {a, b}));
                break;
            }
            case 5:
                seen.push_back(recent());
                break;
            case 6:
                if (next(3) == 0) p.nodes.back().after.push_back(p.order[next(p.order.size() - 1)]);
                else values.push_back(p.input());
                break;
            default: {
                constexpr collective_kind kinds[] = {collective_kind::all_gather, collective_kind::all_gather,
                                                     collective_kind::reduce_scatter, collective_kind::all_reduce,
                                                     collective_kind::all_to_all};
                const std::uint32_t raw = recent();
                const std::uint32_t x = next(3) == 0 ? p.op(reduction_op::cast, {raw}) : raw;
                reduction_node like;
                like.kind = kinds[next(16) == 1 ? 4 : next(4)];
                const std::int64_t length = p.nodes[x].length;
                if (like.kind == collective_kind::all_gather && length > 32) like.kind = collective_kind::all_reduce;
                if (like.kind == collective_kind::reduce_scatter && length < 2) like.kind = collective_kind::all_reduce;
                like.group = next(8) == 0;
                like.element = next(8) == 0;
                values.push_back(p.reduced(x, like));
            }
        }
    if (!values.empty()) seen.push_back(values.back());
    p.output(seen);
    return p;
}

}  // namespace support

#endif
