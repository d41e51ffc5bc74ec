// Writes synthetic training steps down node by node, and says about them what an op model says.
#ifndef STRETTO_BENCH_SUPPORT_STEP_PEN_HPP
#define STRETTO_BENCH_SUPPORT_STEP_PEN_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "stretto/core/collective_call.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/element_type.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/core/op_model.hpp"
#include "support/array_view.hpp"

namespace bench {

/// Structure of arrays over nodes in program order; every node has one result, named like itself.
struct synthetic_step {
    std::vector<stretto::op_kind> kind;
    std::vector<stretto::collective_kind> collective;
    std::vector<std::uint8_t> group;
    std::vector<std::int32_t> microseconds;
    std::vector<std::int32_t> kibibytes;  ///< allocated; of a start also its payload
    stretto::index_lists reads, readers, aliases, writes;

    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(kind.size()); }
};

using synthetic_view = array_view<synthetic_step>;

struct synthetic_model {
    const synthetic_step* step;

    [[nodiscard]] stretto::op_kind kind(std::uint32_t v) const { return step->kind[v]; }
    [[nodiscard]] stretto::nanoseconds duration(std::uint32_t v) const {
        return {std::int64_t{step->microseconds[v]} * 1000};
    }
    [[nodiscard]] stretto::collective_kind collective(std::uint32_t v) const { return step->collective[v]; }
    [[nodiscard]] stretto::group_id group(std::uint32_t v) const { return step->group[v]; }
    [[nodiscard]] stretto::bytes payload(std::uint32_t v) const { return bytes_of(v); }
    [[nodiscard]] stretto::collective_call call(std::uint32_t v) const {
        stretto::collective_call call;
        call.kind = collective(v);
        call.reduction = reduces(call.kind) ? stretto::reduction_kind::sum : stretto::reduction_kind::none;
        call.element = stretto::element_type::bf16;
        return call;
    }
    [[nodiscard]] stretto::bytes bytes_of(std::uint32_t x) const { return {std::int64_t{step->kibibytes[x]} * 1024}; }
    [[nodiscard]] std::span<const std::uint32_t> aliases(std::uint32_t x) const { return step->aliases[x]; }
    [[nodiscard]] std::span<const std::uint32_t> effects(std::uint32_t v) const { return step->writes[v]; }
};

static_assert(stretto::dependence_graph<synthetic_view> && stretto::dataflow_graph<synthetic_view>);
static_assert(stretto::op_model<synthetic_model, synthetic_view>);

/// The step that is being written. Durations vary by an eighth from node to node, so that no two layers are alike.
class step_pen {
public:
    using node = std::uint32_t;
    enum channel : std::uint8_t {
        fsdp,
        expert_parallel,
        data_parallel
    };

protected:
    explicit step_pen(std::size_t nodes) { s_.kind.reserve(nodes); }

    node add(stretto::op_kind kind, std::int32_t us, std::int32_t kib, std::span<const node> reads,
             stretto::collective_kind collective = stretto::collective_kind::other, channel group = fsdp) {
        const node n = s_.size();
        // A different eighth for every node: the top bits of a multiplicative hash.
        const auto noise = static_cast<std::int32_t>((n * 2654435769u) >> 24);
        s_.kind.push_back(kind);
        s_.microseconds.push_back(us + us * noise / 2048);
        s_.kibibytes.push_back(kib);
        s_.collective.push_back(collective);
        s_.group.push_back(group);
        for (node r : reads) s_.reads.push(r);
        s_.reads.close_row();
        const bool shares = kind == stretto::op_kind::view || kind == stretto::op_kind::wait;
        if (shares) s_.aliases.push(reads.front());
        s_.aliases.close_row();
        s_.writes.close_row();
        return n;
    }
    node kernel(std::int32_t us, std::int32_t kib, std::initializer_list<node> reads) {
        return add(stretto::op_kind::compute, us, kib, reads);
    }
    node input(std::int32_t kib) { return add(stretto::op_kind::input, 0, kib, {}); }
    node view(node of) { return add(stretto::op_kind::view, 0, 0, {&of, 1}); }

    /// Moves `of` over a channel. Returns the wait.
    node move(node of, std::int32_t us, std::int32_t kib, stretto::collective_kind what, channel group) {
        const node start = add(stretto::op_kind::start, us, kib, {&of, 1}, what, group);
        return add(stretto::op_kind::wait, 0, 0, {&start, 1});
    }
    static std::int32_t transfer_us(std::int32_t kib) { return 20 + kib / 100; }

    /// Ends the step: these are its results.
    synthetic_step finish(std::span<const node> results) {
        add(stretto::op_kind::output, 0, 0, results);
        s_.readers = s_.reads.inverse(s_.size());
        return std::move(s_);
    }

    synthetic_step s_;
};

}  // namespace bench

#endif
