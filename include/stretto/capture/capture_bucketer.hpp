// Writes a captured step in buckets: the rewriter with which apply_buckets makes a new capture, by the conventions of
// stretto-graph. Needs simdjson.
//
// A bucket is a pack, one start that lists its `members` and their `waits`, one wait and an unpack; the old waits keep
// their names and become views of the unpack, so readers do not change. The start costs what the table says for the sum
// of payloads; each copy costs a launch and the time to move its bytes at the memory bandwidth. A coalesced bucket has
// no copies, and is marked as such. If members send the same value, `parts` says which input of the pack, or of the
// start, belongs to which member. The original members, and the casts that the pack has absorbed, are recorded in
// `merged`, so that the bucket can be split again.
#ifndef STRETTO_CAPTURE_CAPTURE_BUCKETER_HPP
#define STRETTO_CAPTURE_CAPTURE_BUCKETER_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_builder.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/detail/merged_nodes.hpp"
#include "stretto/capture/detail/plan_prices.hpp"
#include "stretto/capture/detail/rewritten_step.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/transform/bucket_plan.hpp"

namespace stretto {

using capture_bucket = bucket<std::uint32_t, std::uint32_t>;
using capture_bucket_plan = bucket_plan<std::uint32_t, std::uint32_t>;

/// A bucket_cost_model of a capture, from its tables and its memory bandwidth; times are rounded to the nearest
/// nanosecond. A collective without a table is assumed to cost in proportion to its payload, but no less than it costs
/// alone. O(points of the table). The pointees must outlive the model.
struct capture_bucket_costs {
    const capture* step;
    const capture_tensors* tensors = nullptr;  ///< gives the sizes of views, which a pack reads in place of a cast

    [[nodiscard]] nanoseconds of_merged(std::uint32_t v, bytes payload) const {
        if (const auto price = detail::price_of_collective(*step, step->group(v), step->collective(v), payload))
            return rounded(*price);
        const double own = static_cast<double>(std::max<std::int64_t>(step->payload(v).count, 1));
        const double share = std::max(static_cast<double>(payload.count) / own, 1.0);
        return rounded(static_cast<double>(step->duration(v).count) * share);
    }
    [[nodiscard]] nanoseconds of_moving(bytes moved) const {
        return rounded(detail::price_of_moving(step->costs(), moved));
    }
    /// Returns the bytes of a value that a pack reads: the size of its tensors, where unreadable ones count as 0;
    /// without `tensors`, what it allocates.
    [[nodiscard]] bytes size_of(std::uint32_t v) const {
        return tensors == nullptr ? step->allocation(v) : detail::size_of_results(*tensors, v);
    }

private:
    static nanoseconds rounded(double ns) { return detail::time_of_price(ns + 0.5); }
};

/// A bucketing_rewriter of a captured step. Values are nodes: those of the step have its numbers, and new ones follow.
/// All arguments must outlive the bucketer. Precondition: the plan was made for this step.
class capture_bucketer {
public:
    using node_id = std::uint32_t;

    capture_bucketer(const capture& step, const capture_tensors& tensors, const capture_bucket_plan& plan)
        : step_(&step), tensors_(&tensors), plan_(&plan), made_(step) {}
    capture_bucketer(const capture_bucketer&) = delete;
    capture_bucketer& operator=(const capture_bucketer&) = delete;

    /// Does nothing, because build() uses the order of the plan.
    void move_before(node_id, node_id) {}
    void insert_before(node_id v) { made_.insert_before(v); }

    /// The pack allocates the payload of all members, and costs what moving it costs. If it absorbs a cast, it reads
    /// the operand of the cast instead of its result.
    node_id pack(std::span<const node_id> members, std::span<const node_id> parts) {
        bytes moved, payload;
        std::vector<node_id> casts;
        for (std::size_t k = 0; k < members.size(); ++k) {
            payload += step_->payload(members[k]);
            const node_id sent = step_->inputs(members[k])[0];
            if (sent == parts[k]) continue;
            moved += size_of(parts[k]) - size_of(sent);
            casts.push_back(sent);
        }
        capture_node& n = made_.make(std::string(step_->name(members[0])) + "_pack", "stretto.pack", op_kind::compute);
        n.inputs = once(parts);
        packed_.assign(parts.begin(), parts.end());
        n.allocation = payload;
        n.duration = capture_bucket_costs{step_}.of_moving(payload + payload + moved);
        n.outputs = made_.keep(R"([{"shape":[)" + std::to_string(payload.count) + R"(],"dtype":"u8"}])");
        if (!casts.empty()) n.fields.push_back({"absorbs", made_.names_of(casts)});
        return made_.last();
    }

    /// The start has the results of all members, one after another, and the operator and arguments of the first.
    /// Several payloads mean that nothing was packed, so the bucket is marked as coalesced.
    node_id launch(std::span<const node_id> members, std::span<const node_id> payload) {
        capture_node& n =
            made_.make(std::string(step_->name(members[0])) + "_bucket", step_->op(members[0]), op_kind::start);
        n.inputs = once(payload);
        n.collective = step_->collective(members[0]);
        n.group = step_->group(members[0]);
        std::string outputs = "[";
        for (node_id m : members) {
            n.payload += step_->payload(m);
            n.allocation += std::max(step_->allocation(m), size_of(m));
            const std::string_view own = step_->outputs(m);
            const std::size_t first = own.find('['), end = own.rfind(']');
            const std::string_view tensors = own.substr(first + 1, end - first - 1);
            if (tensors.find_first_not_of(" \t\r\n") == std::string_view::npos) continue;  // its results are unknown
            if (outputs.size() > 1) outputs += ',';
            outputs += tensors;
        }
        n.outputs = made_.keep(outputs + "]");
        n.duration = capture_bucket_costs{step_}.of_merged(members[0], n.payload);
        for (std::string_view key : {"args", "kwargs"})
            if (const auto text = step_->field(members[0], key)) n.fields.push_back({key, *text});
        n.fields.push_back({"members", made_.names_of(members)});
        const bool coalesced = payload.size() == members.size();
        if (coalesced) {
            n.fields.push_back({"coalesced", "true"});
            packed_.assign(payload.begin(), payload.end());
        }
        merged_ = made_.keep(detail::text_of_merged(*step_, members, packed_));
        if (const std::vector<node_id> sent = once(packed_); sent.size() != packed_.size()) {
            std::string parts = "[";  // the input of each member, if several send the same value
            for (node_id x : packed_) {
                if (parts.size() > 1) parts += ',';
                parts += std::to_string(std::find(sent.begin(), sent.end(), x) - sent.begin());
            }
            n.fields.push_back({"parts", made_.keep(parts + "]")});
        }
        start_ = made_.last();
        for (node_id m : members) made_.replace(m, start_);
        return start_;
    }

    node_id wait(std::span<const node_id> waits, node_id launched) {
        capture_node& start = made_.made(launched);
        // The only record of which node is the result of which member.
        start.fields.push_back({"waits", made_.names_of(waits)});
        start.fields.push_back({"merged", merged_});
        capture_node& n =
            made_.make(std::string(step_->name(waits[0])) + "_bucket", step_->op(waits[0]), op_kind::wait);
        n.inputs = n.aliases = {launched};
        n.outputs = start.outputs;
        return made_.last();
    }

    std::span<const node_id> unpack(std::span<const node_id> waits, node_id arrived) {
        const bytes received = made_.made(start_).allocation;
        capture_node& n =
            made_.make(std::string(step_->name(waits[0])) + "_unpack", "stretto.unpack", op_kind::compute);
        n.inputs = {arrived};
        n.allocation = received;
        n.duration = capture_bucket_costs{step_}.of_moving(received + received);
        n.outputs = made_.made(arrived).outputs;
        const node_id unpacked = made_.last();
        for (node_id w : waits) made_.replace(step_->inputs(w)[0], unpacked);
        return views(waits, unpacked, unpacked);
    }
    std::span<const node_id> parts(std::span<const node_id> waits, node_id arrived) {
        return views(waits, arrived, start_);
    }

    /// Does nothing, because readers keep reading the results by their names.
    void replace_uses(node_id, node_id, node_id) {}
    void erase(node_id v) {
        if (!view_of_.contains(v)) made_.erase(v);
    }

    /// Returns the new step, in the order of the plan. The error is a fault that capture_builder finds.
    [[nodiscard]] expected<capture, diagnostic> build() {
        return made_.build(plan_->order, [this](node_id v) {
            const auto view = view_of_.find(v);
            return view != view_of_.end() ? as_view(v, view->second) : node_of(*step_, v);
        });
    }

private:
    /// The node that a view reads, and the one whose storage it shares.
    struct holder {
        node_id read, storage;
    };

    /// Turns the old waits, which keep their names, into views, and returns them as the results of the bucket.
    std::span<const node_id> views(std::span<const node_id> waits, node_id read, node_id storage) {
        for (node_id w : waits) view_of_[w] = {read, storage};
        return waits;
    }
    /// Returns the old wait v as a view.
    [[nodiscard]] capture_node as_view(node_id v, holder of) const {
        capture_node n = node_of(*step_, v);
        n.kind = op_kind::view;
        n.inputs = {of.read};
        n.aliases = {of.storage};
        n.duration = {};
        n.allocation = {};
        return n;
    }

    [[nodiscard]] bytes size_of(node_id v) const { return detail::size_of_results(*tensors_, v); }
    /// Returns the distinct nodes of a list, in the order in which they first occur.
    static std::vector<node_id> once(std::span<const node_id> all) {
        std::vector<node_id> nodes;
        for (node_id v : all)
            if (std::find(nodes.begin(), nodes.end(), v) == nodes.end()) nodes.push_back(v);
        return nodes;
    }

    const capture* step_;
    const capture_tensors* tensors_;
    const capture_bucket_plan* plan_;
    detail::rewritten_step made_;
    node_id start_ = 0;                  // the start of the current bucket
    std::vector<node_id> packed_;        // the values that its members send, or that its pack converts first
    std::string_view merged_;            // its original members and their casts, as text
    std::map<node_id, holder> view_of_;  // by old wait
};

}  // namespace stretto

#endif
