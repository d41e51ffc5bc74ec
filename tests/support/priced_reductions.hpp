// Costs for the small programs of several ranks: kernels and collectives take time by what they move.
#ifndef STRETTO_TESTS_SUPPORT_PRICED_REDUCTIONS_HPP
#define STRETTO_TESTS_SUPPORT_PRICED_REDUCTIONS_HPP

#include <cstdint>

#include "support/reduction_ir.hpp"

namespace support {

/// A kernel takes 20 ns for each byte that it makes, a collective 200 ns and 10 for each byte that it sends.
struct priced_reductions : reduction_model {
    stretto::nanoseconds duration(std::uint32_t v) const {
        switch (kind(v)) {
            case stretto::op_kind::start:
                return {200 + 10 * payload(v).count};
            case stretto::op_kind::compute:
                break;
            default:
                return {};
        }
        const reduction_node& n = p->nodes[v];
        const bool copies = n.op == reduction_op::pack || n.op == reduction_op::unpack;
        return {copies ? 5 + 16 * n.length : 20 * n.length};
    }
};

/// The same for buckets: a copy takes 5 ns and one for each byte that it reads or writes.
struct reduction_bucket_costs {
    stretto::nanoseconds of_merged(std::uint32_t, stretto::bytes sent) const { return {200 + 10 * sent.count}; }
    stretto::nanoseconds of_moving(stretto::bytes moved) const { return {5 + moved.count}; }
};

}  // namespace support

#endif
