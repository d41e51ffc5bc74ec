// What the parts of an operation cost, by the costs of the captured step.
#ifndef STRETTO_INTEROP_DETAIL_CHUNK_COSTS_HPP
#define STRETTO_INTEROP_DETAIL_CHUNK_COSTS_HPP

#include <algorithm>
#include <cstdint>

#include "stretto/core/chunk_model.hpp"
#include "stretto/core/units.hpp"
#include "stretto/interop/capture.hpp"
#include "stretto/schedule/cost/table.hpp"
#include "stretto/transform/apply_chunks.hpp"

namespace stretto::detail {

/// Whether a part has some of the rows, and not all of them or a value of the same size.
[[nodiscard]] inline bool has_rows(const chunk_state& s) noexcept {
    return s.what != chunk_state::kind::whole && s.what != chunk_state::kind::addend;
}

class chunk_costs {
public:
    explicit chunk_costs(const capture& step) : step_(&step) {}

    /// Work by share of the rows, if it is rows that the operation works on; no less than a launch and writing what it
    /// makes.
    [[nodiscard]] nanoseconds time_of_part(std::uint32_t v, bytes made, const chunk_part& part) const {
        const std::int64_t whole = step_->duration(v).count, launch = std::min(whole, step_->costs().launch.count);
        bool by_rows = false;
        for (const chunk_state& s : part.operands) by_rows = by_rows || has_rows(s);
        for (const chunk_state& s : part.results) by_rows = by_rows || s.what == chunk_state::kind::sliced;
        if (!by_rows) return {whole};
        const std::int64_t work = whole - launch, done = part.share(work);
        const double writing = static_cast<double>(made.count) / step_->costs().memory_bytes_per_second * 1e9;
        const std::int64_t least = std::min(work, static_cast<std::int64_t>(writing));
        return {launch + std::max(done, least)};
    }
    [[nodiscard]] nanoseconds collective_time(group_id group, collective_kind kind, bytes payload) const {
        for (const collective_cost_table& t : step_->costs().collectives)
            if (t.group == step_->groups()[group].name && t.collective == kind) return interpolate(t.points, payload);
        return {};
    }
    [[nodiscard]] nanoseconds time_of_copy(bytes written) const {
        const double moved = 2 * static_cast<double>(written.count) / step_->costs().memory_bytes_per_second * 1e9;
        return {step_->costs().launch.count + static_cast<std::int64_t>(moved) + 1};
    }

private:
    const capture* step_;
};

}  // namespace stretto::detail

#endif
