// Estimates what operations take before they have been measured: a collective takes the time of the link, and a kernel
// that of the bytes that it moves.
#ifndef MOE_TRAINER_COSTS_HPP
#define MOE_TRAINER_COSTS_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ir.hpp"
#include "stretto/backend/host/host_link.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/measured_run.hpp"

namespace trainer {

/// Returns the time of a kernel that moves so many bytes.
[[nodiscard]] inline stretto::nanoseconds time_of_moving(stretto::bytes moved) { return {500 + moved.count / 4}; }

/// Returns the bytes that cross the link of this rank in a collective like o, if the rank sends `sent` bytes.
[[nodiscard]] inline stretto::bytes bytes_moved(const program& p, op_id o, stretto::bytes sent) {
    const std::int64_t members = p.members(p.ops[o].group), others = members - 1;
    if (p.ops[o].what == code::collect) return {sent.count * others};
    return {(p.ops[o].what == code::count ? 2 : 1) * sent.count * others / members};
}

/// Returns the bytes that this rank sends if tokens choose experts evenly. One side of an exchange of rows has room for
/// an uneven choice, so the smaller side counts.
[[nodiscard]] inline stretto::bytes bytes_sent(const program& p, op_id o) {
    const std::int64_t sent = p.tensors[p.ops[o].reads[0]].size(), room = p.tensors[p.ops[o].makes[0]].size();
    return {p.ops[o].what == code::send_rows ? std::min(sent, room) : sent};
}

/// Returns the link whose formula fits best what the collectives of a run have taken: a straight line over bytes with
/// the least squared errors. The tasks of the run are in the order of `p`. Returns `otherwise` if there are no
/// collectives of different sizes, or if more bytes took no longer.
[[nodiscard]] inline stretto::host_link link_of(const program& p, const stretto::measured_run& run,
                                                stretto::host_link otherwise) {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (std::size_t t = 0; t < run.tasks.size(); ++t) {
        const op_id o = p.order[t];
        if (entry_of(p.ops[o].what).is != role::start || run.tasks[t].spans == 0) continue;
        const auto moved = static_cast<double>(bytes_moved(p, o, bytes_sent(p, o)).count);
        const auto taken = static_cast<double>(run.tasks[t].duration.count);
        n += 1, x += moved, y += taken, xx += moved * moved, xy += moved * taken;
    }
    const double spread = n * xx - x * x, slope = spread > 0 ? (n * xy - x * y) / spread : 0;  // nanoseconds a byte
    if (!(slope > 1e-6)) return otherwise;
    return {.latency = {std::llround(std::max(0.0, (y - slope * x) / n))},
            .bytes_per_second = std::llround(1e9 / slope)};
}

}  // namespace trainer

#endif
