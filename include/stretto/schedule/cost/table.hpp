// A table of measured collectives has, for every process group and collective, a list of points [payload, time]. The
// time is constant before the first point, linear between points, and continues with the last slope after the last one;
// the `costs` field of captured steps follows the same convention. All times are integers, so every rank that holds the
// table computes the same schedule.
#ifndef STRETTO_SCHEDULE_COST_TABLE_HPP
#define STRETTO_SCHEDULE_COST_TABLE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/config.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/schedule/cost/cost_model.hpp"
#include "stretto/schedule/cost/cost_point.hpp"

namespace stretto {

/// The measured curve of one collective on one group. The points ascend in payload.
struct cost_curve {
    group_id group = 0;
    collective_kind kind = collective_kind::other;
    std::vector<cost_point> points;
};

/// The reason why a table was refused, with the index of the curve and, if a point is at fault, the index of the point.
struct table_error {
    enum class defect : std::uint8_t {
        no_points,         ///< a curve without points
        negative_payload,  ///< a point with fewer than 0 bytes
        negative_time,     ///< a point with less than 0 ns
        not_ascending,     ///< a point whose payload is not above that of the point before
        duplicate_curve,   ///< a second curve for the same group and collective
    };
    defect what = defect::no_points;
    std::size_t curve = 0;
    std::size_t point = 0;
    friend constexpr bool operator==(const table_error&, const table_error&) = default;
};

/// Returns the time of a payload on a curve, by exact linear interpolation. It is rounded *up* to the nanosecond, so it
/// is never below the exact value, and it is at least 0, even where the last slope falls. A curve of one point is
/// constant. O(log points). Precondition: the curve is valid, as collective_table::make checks.
[[nodiscard]] inline nanoseconds interpolate(std::span<const cost_point> points, bytes payload) {
    STRETTO_ASSERT(!points.empty(), "a cost curve has at least one point");
    if (payload <= points.front().payload || points.size() == 1) return points.front().time;
    const auto above = std::partition_point(points.begin() + 1, points.end() - 1,
                                            [&](const cost_point& p) { return p.payload < payload; });
    const cost_point a = *(above - 1);
    const cost_point b = *above;
    __extension__ typedef __int128 wide;  // 10 GB times one second exceed 64 bits
    const wide rise = wide{(b.time - a.time).count} * (payload - a.payload).count;
    const wide run = (b.payload - a.payload).count;
    const wide quotient = rise / run;  // rounds towards zero, which is up if the curve falls
    const wide exact_up = a.time.count + quotient + (rise % run > 0 ? 1 : 0);
    if (exact_up <= 0) return {};
    if (exact_up >= longest_duration.count) return longest_duration;
    return {static_cast<std::int64_t>(exact_up)};
}

/// A collective_cost_model made of measured curves. It reads only `group.id` of a group.
class collective_table {
public:
    /// Returns a table of the curves, ordered by group and collective, or, as the error, the first defect found.
    /// O(points + curves log curves).
    [[nodiscard]] static expected<collective_table, table_error> make(std::vector<cost_curve> curves);

    /// Returns the points of one collective on one group, or none if it was not measured. O(log curves).
    [[nodiscard]] std::span<const cost_point> points(collective_kind kind, group_id group) const {
        const auto at = std::partition_point(curves_.begin(), curves_.end(),
                                             [&](const cost_curve& c) { return key(c) < std::pair(group, kind); });
        if (at == curves_.end() || key(*at) != std::pair(group, kind)) return {};
        return at->points;
    }
    [[nodiscard]] bool contains(collective_kind kind, group_id group) const { return !points(kind, group).empty(); }

    /// Returns the time of a collective. Precondition: `contains(kind, group.id)`; in builds that do not check
    /// preconditions, a collective that was not measured takes no time. O(log curves + log points).
    [[nodiscard]] nanoseconds duration(collective_kind kind, bytes payload, const process_group& group) const {
        const std::span<const cost_point> curve = points(kind, group.id);
        STRETTO_ASSERT(!curve.empty(), "the cost table has no curve for this collective on this group");
        return curve.empty() ? nanoseconds{} : interpolate(curve, payload);
    }

    /// Returns all curves, ascending by group and then by collective.
    [[nodiscard]] std::span<const cost_curve> curves() const noexcept { return curves_; }

private:
    static std::pair<group_id, collective_kind> key(const cost_curve& c) { return {c.group, c.kind}; }
    std::vector<cost_curve> curves_;
};

inline expected<collective_table, table_error> collective_table::make(std::vector<cost_curve> curves) {
    using defect = table_error::defect;
    std::vector<std::size_t> order(curves.size());
    for (std::size_t c = 0; c < curves.size(); ++c) {
        order[c] = c;
        const std::vector<cost_point>& points = curves[c].points;
        if (points.empty()) return unexpected(table_error{defect::no_points, c, 0});
        for (std::size_t i = 0; i < points.size(); ++i) {
            if (points[i].payload.count < 0) return unexpected(table_error{defect::negative_payload, c, i});
            if (points[i].time.count < 0) return unexpected(table_error{defect::negative_time, c, i});
            if (i > 0 && points[i].payload <= points[i - 1].payload)
                return unexpected(table_error{defect::not_ascending, c, i});
        }
    }
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(key(curves[a]), a) < std::pair(key(curves[b]), b);
    });
    collective_table table;
    table.curves_.reserve(curves.size());
    for (const std::size_t c : order) {
        if (!table.curves_.empty() && key(table.curves_.back()) == key(curves[c]))
            return unexpected(table_error{defect::duplicate_curve, c, 0});
        table.curves_.push_back(std::move(curves[c]));
    }
    return table;
}

/// Evaluates a model for every group, every collective including `other`, and the payloads 0 and 1, 2, 4, ... up to the
/// first power of two that is at least `largest`. Returns the times as a table, whose integers ranks can share, and in
/// which a lookup costs the same for every model. For another payload up to that power, the table interpolates. An
/// error means that two groups have the same id, or that the model returned a negative time. O(groups log largest)
/// queries. Precondition: the model can be asked for every collective, with payloads of up to twice `largest`.
template <collective_cost_model M>
[[nodiscard]] expected<collective_table, table_error> tabulate(const M& model, std::span<const process_group> groups,
                                                               bytes largest) {
    constexpr std::int64_t last_power = std::int64_t{1} << 61;
    std::vector<cost_curve> curves;
    for (const process_group& group : groups) {
        const auto add_curve = [&](collective_kind of) {
            cost_curve curve{group.id, of, {{bytes{}, model.duration(of, bytes{}, group)}}};
            for (std::int64_t size = 1; size <= last_power; size *= 2) {
                curve.points.push_back({bytes{size}, model.duration(of, bytes{size}, group)});
                if (size >= largest.count) break;
            }
            curves.push_back(std::move(curve));
        };
        for (const collective_kind kind : all_collective_kinds) add_curve(kind);
        add_curve(collective_kind::other);
    }
    return collective_table::make(std::move(curves));
}

}  // namespace stretto

#endif
