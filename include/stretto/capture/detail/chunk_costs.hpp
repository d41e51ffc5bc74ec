// What the parts of an operation cost, by the costs of the captured step.
#ifndef STRETTO_CAPTURE_DETAIL_CHUNK_COSTS_HPP
#define STRETTO_CAPTURE_DETAIL_CHUNK_COSTS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/core/chunk_model.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/cost/table.hpp"
#include "stretto/transform/apply_chunks.hpp"

namespace stretto::detail {

/// Whether a part has some of the rows, and not all of them or a value of the same size.
[[nodiscard]] inline bool has_rows(const chunk_state& s) noexcept {
    return s.what != chunk_state::kind::whole && s.what != chunk_state::kind::addend;
}

/// What a node of a chunked step costs, beside its text.
struct node_costs {
    bytes allocation;
    bytes payload;
    nanoseconds duration;
};

class chunk_costs {
public:
    chunk_costs(const capture& step, const capture_tensors& tensors) : step_(&step), tensors_(&tensors) {}

    /// Of the clone of v for a part: its share of what v costs.
    [[nodiscard]] node_costs of_clone(std::uint32_t v, const chunk_part& part) const {
        node_costs c{step_->allocation(v), {}, step_->duration(v)};
        const std::span<const tensor_type> types = tensors_->components(v);
        std::int64_t size = 0, whole = 0;
        for (std::size_t k = 0; k < types.size(); ++k) {
            whole += size_of(types[k]);
            size += size_of_part(types[k], part.results[k], part);
        }
        if (size != whole) c.allocation.count = part.share(c.allocation.count);
        if (step_->kind(v) == op_kind::start) {
            c.payload = step_->payload(v);
            if (!part.operands.empty() && has_rows(part.operands[0])) {
                c.payload.count = part.share(c.payload.count);
                const auto priced = collective_time(step_->group(v), step_->collective(v), c.payload);
                c.duration = priced.value_or(nanoseconds{part.share(c.duration.count)});
            }
        } else if (step_->kind(v) == op_kind::compute) {
            c.duration = time_of_part(v, bytes{size}, part);
        }
        return c;
    }
    /// Of what makes a value like that of node x whole, by an operation of that kind.
    [[nodiscard]] node_costs of_whole(std::uint32_t x, op_kind kind) const {
        node_costs c;
        for (const tensor_type& t : tensors_->components(x)) c.allocation.count += size_of(t);
        if (kind == op_kind::compute) c.duration = time_of_copy(c.allocation);
        return c;
    }

    /// Of what copies a part of that extent along a dimension into a value like that of node x.
    [[nodiscard]] node_costs of_slice_write(std::uint32_t x, std::size_t dim, std::int64_t extent) const {
        const tensor_type& whole = tensors_->components(x)[0];
        node_costs c;
        c.duration = time_of_copy(bytes{extent == 0 ? 0 : size_of(whole) / whole.shape[dim] * extent});
        return c;
    }

private:
    [[nodiscard]] static std::int64_t size_of_part(const tensor_type& type, const chunk_state& s,
                                                   const chunk_part& part) {
        if (s.dim < 0 || !has_rows(s)) return size_of(type);
        const std::int64_t extent = type.shape[static_cast<std::size_t>(s.dim)];
        return extent == 0 ? 0 : size_of(type) / extent * part.share(extent);
    }
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
    [[nodiscard]] std::optional<nanoseconds> collective_time(group_id group, collective_kind kind,
                                                             bytes payload) const {
        const collective_cost_table* const table = step_->cost_table(group, kind);
        return table ? std::optional(interpolate(table->points, payload)) : std::nullopt;
    }
    [[nodiscard]] nanoseconds time_of_copy(bytes written) const {
        const double moved = 2 * static_cast<double>(written.count) / step_->costs().memory_bytes_per_second * 1e9;
        return {step_->costs().launch.count + static_cast<std::int64_t>(moved) + 1};
    }

    const capture* step_;
    const capture_tensors* tensors_;
};

}  // namespace stretto::detail

#endif
