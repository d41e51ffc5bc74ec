// What operations take before anybody has measured them: collectives the time of the link, kernels that of the bytes
// they move.
#ifndef MOE_TRAINER_COSTS_HPP
#define MOE_TRAINER_COSTS_HPP

#include <algorithm>
#include <cstdint>

#include "ir.hpp"
#include "stretto/backend/host/host_link.hpp"
#include "stretto/core/units.hpp"

namespace trainer {

/// A kernel that moves so many bytes.
[[nodiscard]] inline stretto::nanoseconds time_of_moving(stretto::bytes moved) { return {500 + moved.count / 4}; }

/// A collective like o, of which this rank sends so many bytes.
[[nodiscard]] inline stretto::nanoseconds time_of_sending(const program& p, op_id o, stretto::bytes sent,
                                                          const stretto::host_link& link) {
    const std::int64_t members = p.members(p.ops[o].group), others = members - 1;
    if (p.ops[o].what == code::collect) return link.duration({sent.count * others});
    return link.duration({(p.ops[o].what == code::count ? 2 : 1) * sent.count * others / members});
}

/// What this rank sends, if tokens choose experts evenly: the rest of an exchange is room.
[[nodiscard]] inline stretto::bytes bytes_sent(const program& p, op_id o) {
    const std::int64_t sent = p.tensors[p.ops[o].reads[0]].size(), room = p.tensors[p.ops[o].makes[0]].size();
    return {p.ops[o].what == code::send_rows ? std::min(sent, room) : sent};
}

/// A kernel: what was measured, or what its bytes take.
[[nodiscard]] inline stretto::nanoseconds time_of_kernel(const program& p, op_id o) {
    if (p.ops[o].takes != 0) return {p.ops[o].takes};
    std::int64_t moved = 0;
    for (tensor_id x : p.ops[o].reads) moved += p.tensors[x].size();
    for (tensor_id x : p.ops[o].makes) moved += p.tensors[x].size();
    return time_of_moving({moved});
}

}  // namespace trainer

#endif
