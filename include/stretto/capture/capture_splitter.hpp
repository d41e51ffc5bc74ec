// Writes a captured step whose buckets are split: the rewriter with which apply_splits makes a new capture. Needs
// simdjson.
//
// For a bucket that follows the conventions of stretto-graph, the members get back their names, and so do the casts
// that a pack had absorbed; the views that were their waits are waits again. If the bucket has the field `merged`,
// starts and casts are restored from it. For a bucket of PyTorch, every member becomes a new start and a new wait, and
// the node that was the result becomes a view of the wait. Where no original is recorded, a collective costs what the
// table says for its payload, and a cast costs a launch and the time to move its bytes at the memory bandwidth.
//
// Longer than 300 lines: it contains all verbs of a rewriter, for buckets of both origins.
#ifndef STRETTO_CAPTURE_CAPTURE_SPLITTER_HPP
#define STRETTO_CAPTURE_CAPTURE_SPLITTER_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_bucket_forms.hpp"
#include "stretto/capture/capture_builder.hpp"
#include "stretto/capture/capture_fields.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/detail/casts.hpp"
#include "stretto/capture/detail/merged_nodes.hpp"
#include "stretto/capture/detail/plan_prices.hpp"
#include "stretto/capture/detail/rewritten_step.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/schedule/json_quote.hpp"
#include "stretto/transform/split_plan.hpp"

namespace stretto {

using capture_split = bucket_split<std::uint32_t, std::uint32_t>;
using capture_split_plan = split_plan<std::uint32_t, std::uint32_t>;

/// A splitting_rewriter of a captured step. Values are nodes: those of the step have its numbers, and new ones follow.
/// All arguments must outlive the splitter. Precondition: the plan was made for this step.
class capture_splitter {
public:
    using node_id = std::uint32_t;

    capture_splitter(const capture& step, const capture_tensors& tensors, const capture_split_plan& plan)
        : step_(&step), tensors_(&tensors), fields_(step), made_(step) {
        for (const capture_split& b : plan.buckets) bucket_of_[b.start] = bucket_of_[b.wait] = &b;
    }
    capture_splitter(const capture_splitter&) = delete;
    capture_splitter& operator=(const capture_splitter&) = delete;

    void insert_before(node_id v) { made_.insert_before(v); }

    /// Makes the start of member k, after a cast if the bucket sends another element type than `part` has. If the
    /// bucket records its originals and they fit, they are restored. Otherwise new nodes are priced by the tables, and
    /// named after the member if the file lists it, or after the bucket.
    node_id launch_part(node_id start, std::size_t k, node_id part) {
        const capture_split& b = *bucket_of_.at(start);
        const bool own = capture_bucket_forms::is_own(*step_, start);
        if (k == 0) open(b, own);
        const capture_tensor sent = type_of(b.parts[k]);
        const std::string element(tensors_->element_name(start, own ? k : 0));
        const detail::merged_nodes::member& was = own ? merged_.back()[k] : unknown_;
        const node_id home = step_->field(b.results[k], "fqn") ? b.results[k] : start;  // the node with its module
        if (was.cast && converts(*was.cast, sent, element)) part = remade(*was.cast, part);
        else if (sent.dtype != element) part = cast(part_name(start, k) + "_cast", home, part, sent, element);

        const collective_kind kind = step_->collective(start);
        const std::int64_t ranks = ranks_of(b);
        const bool gathers = kind == collective_kind::all_gather, scatters = kind == collective_kind::reduce_scatter;
        capture_tensor made = own ? outputs_[k] : sent;
        if (!own) {
            made.dtype = element;
            if (gathers) made.shape[0] *= ranks;
            if (scatters) made.shape[0] /= ranks;
        }
        const bytes payload{b.sizes[k].count * (scatters ? ranks : 1)};
        if (was.start && is_member(*was.start, b, k, payload)) {
            remade(*was.start, part);
            made_.made(made_.last()).group = step_->group(start);  // the group may have changed since the merge
            shape_[made_.last()] = std::move(made);
            return made_.last();
        }
        capture_node& n = make(own ? members_[k] : part_name(start, k), step_->op(start), op_kind::start, home);
        if (n.op == "_c10d_functional.all_gather_into_tensor_out.default")
            n.op = "_c10d_functional.all_gather_into_tensor.default";
        n.inputs = {part};
        n.collective = kind;
        n.group = step_->group(start);
        n.payload = payload;
        n.allocation = bytes{b.sizes[k].count * (gathers ? ranks : 1)};
        n.duration = price(start, n.payload);
        n.outputs = written(made);
        if (const auto text = step_->field(start, "args")) n.fields.push_back({"args", *text});
        const auto named = step_->field(start, "kwargs");
        if (named && n.op == step_->op(start)) n.fields.push_back({"kwargs", *named});
        shape_[made_.last()] = std::move(made);
        return made_.last();
    }

    /// Makes the wait of member k. In a bucket of the format, it takes the place and the name of the view `like`;
    /// otherwise `like` stays, as a view of it. Returns the node that later readers read.
    node_id wait_part(node_id wait, std::size_t k, node_id launched, node_id like) {
        const capture_split& b = *bucket_of_.at(wait);
        const bool own = capture_bucket_forms::is_own(*step_, b.start);
        capture_node& n = make(own ? std::string(step_->name(like)) : part_name(wait, k), step_->op(wait),
                               op_kind::wait, wait, own ? naming::taken_over : naming::fresh);
        n.inputs = n.aliases = {launched};
        if (own) {
            n.op = step_->op(like);
            n.outputs = step_->outputs(like);
            n.fields = node_of(*step_, like).fields;
            made_.replace(like, made_.last());
        } else {
            n.outputs = written(shape_.at(launched));
            view_of_[like] = {made_.last(), launched};
        }
        lives_in_[like] = {launched};
        return own ? made_.last() : like;
    }

    /// Does nothing, because readers keep reading the results by their names.
    void replace_uses(node_id, node_id, node_id) {}
    void erase(node_id v) {
        if (!view_of_.contains(v)) made_.erase(v);
    }

    /// Returns the new step: the old program order, with the new nodes where insert_before placed them. The error is a
    /// fault that capture_builder finds.
    [[nodiscard]] expected<capture, diagnostic> build() {
        return made_.build([this](node_id v) {
            if (const auto view = view_of_.find(v); view != view_of_.end()) return as_view(v, view->second);
            capture_node n = node_of(*step_, v);
            rehouse(v, n);
            return n;
        });
    }

private:
    using naming = detail::rewritten_step::naming;
    /// The wait that a view reads, and the start whose storage it shares.
    struct holder {
        node_id wait, start;
    };

    /// Reads what the file records about bucket b, before its first member is launched. `own` tells whether the bucket
    /// follows the conventions of stretto-graph; a bucket of PyTorch records nothing.
    void open(const capture_split& b, bool own) {
        members_.clear();
        absorbed_.clear();
        next_cast_ = 0;
        if (!own) return;
        members_ = *fields_.texts(b.start, "members");
        merged_.emplace_back(*step_, b.start);
        outputs_ = fields_.outputs(b.start);
        absorbed_ = fields_.texts(step_->inputs(b.start)[0], "absorbs").value_or(std::vector<std::string>());
        std::size_t casts = 0;
        for (std::size_t k = 0; k < b.parts.size(); ++k) casts += type_of(b.parts[k]).dtype != outputs_[k].dtype;
        // Casts that change nothing are not restored, and then it is unknown which names belong to the others.
        if (casts != absorbed_.size()) absorbed_.clear();
    }
    /// Returns whether n, the recorded cast of `from` in a bucket, is a cast to that type.
    [[nodiscard]] bool converts(const capture_node& n, const capture_tensor& from, const std::string& element) {
        const std::vector<capture_tensor> made = fields_.tensors_in(n.outputs);
        return detail::is_cast(n.op) && made.size() == 1 && made[0].shape == from.shape && made[0].dtype == element;
    }
    /// Returns whether n is the start of member k, with the same operand and result.
    [[nodiscard]] bool is_member(const capture_node& n, const capture_split& b, std::size_t k, bytes payload) {
        const std::vector<capture_tensor> made = fields_.tensors_in(n.outputs);
        return n.name == members_[k] && n.op == step_->op(b.start) && n.collective == step_->collective(b.start) &&
               n.payload == payload && made.size() == 1 && made[0].shape == outputs_[k].shape &&
               made[0].dtype == outputs_[k].dtype;
    }
    /// Makes a recorded node again, which now reads `part`.
    node_id remade(const capture_node& was, node_id part) {
        capture_node& n = made_.make(std::string(was.name), was.op, was.kind);
        const std::string_view name = n.name;
        n = was;
        n.name = name;
        n.inputs = {part};
        return made_.last();
    }
    /// Makes a separate cast of a part, which the pack used to convert.
    node_id cast(std::string name, node_id home, node_id part, const capture_tensor& from, const std::string& element) {
        if (next_cast_ < absorbed_.size()) name = absorbed_[next_cast_++];
        capture_node& n = make(std::move(name), "prims.convert_element_type.default", op_kind::compute, home);
        n.inputs = {part};
        capture_tensor to = from;
        to.dtype = element;
        n.outputs = written(to);
        n.allocation = size_of(to);
        n.duration = detail::time_of_price(detail::price_of_moving(step_->costs(), size_of(from) + size_of(to)) + 0.5);
        std::string args = "[\"%0\",";
        detail::append_quoted(args, element);
        n.fields.push_back({"args", made_.keep(args + "]")});
        return made_.last();
    }

    /// Returns the number of ranks: the rows in the received data of a gather, or in the sent data of a reduction.
    [[nodiscard]] std::int64_t ranks_of(const capture_split& b) const {
        return step_->groups()[step_->group(b.start)].size;
    }
    /// Returns the duration of a collective like the bucket with that payload: by the table, or else in proportion to
    /// payloads.
    [[nodiscard]] nanoseconds price(node_id start, bytes payload) const {
        if (const auto table =
                detail::price_of_collective(*step_, step_->group(start), step_->collective(start), payload))
            return detail::time_of_price(*table + 0.5);
        const double whole = static_cast<double>(std::max<std::int64_t>(step_->payload(start).count, 1));
        const double share = static_cast<double>(payload.count) / whole;
        return detail::time_of_price(static_cast<double>(step_->duration(start).count) * share + 0.5);
    }
    [[nodiscard]] capture_tensor type_of(node_id v) { return fields_.outputs(v).front(); }
    [[nodiscard]] static bytes size_of(const capture_tensor& t) {
        std::int64_t size = static_cast<std::int64_t>(detail::width_of(t.dtype));
        for (std::int64_t extent : t.shape) size *= extent;
        return {size};
    }
    std::string_view written(const capture_tensor& t) {
        std::string text = R"([{"shape":)" + list_of(t.shape) + R"(,"dtype":)";
        detail::append_quoted(text, t.dtype);
        if (!t.symbolic.empty() && t.symbolic.size() == t.shape.size()) {
            text += R"(,"symbolic":[)";
            for (std::size_t k = 0; k < t.symbolic.size(); ++k) {
                if (k > 0) text += ',';
                detail::append_quoted(text, t.symbolic[k]);
            }
            text += ']';
        }
        return made_.keep(text + "}]");
    }
    [[nodiscard]] static std::string list_of(const std::vector<std::int64_t>& numbers) {
        std::string text = "[";
        for (std::int64_t n : numbers) text += (text.size() > 1 ? "," : "") + std::to_string(n);
        return text + "]";
    }

    /// Returns node v, which extracted a result from a buffer, as a view of the whole value that the new wait has
    /// received.
    [[nodiscard]] capture_node as_view(node_id v, holder of) {
        capture_node n = node_of(*step_, v);
        n.op = "aten.view.default";
        n.kind = op_kind::view;
        n.inputs = {of.wait};
        n.aliases = {of.start};
        n.writes.clear();
        n.allocation = {};
        n.duration = {};
        std::erase_if(n.fields, [](const json_field& f) { return f.key == "args" || f.key == "kwargs"; });
        n.fields.push_back({"args", made_.keep("[\"%0\"," + list_of(type_of(v).shape) + "]")});
        return n;
    }
    /// Makes node n, which is v of the step, share the storages of its operands where it shared or wrote a buffer that
    /// is gone.
    void rehouse(node_id v, capture_node& n) {
        std::set<node_id> homes;
        for (node_id x : n.inputs)
            if (const auto home = lives_in_.find(x); home != lives_in_.end())
                homes.insert(home->second.begin(), home->second.end());
        const auto lost = [&](node_id x) { return made_.is_gone(x) && made_.stand_in(x) == x; };
        bool moved = false;
        for (auto* list : {&n.aliases, &n.writes}) {
            const bool any = std::any_of(list->begin(), list->end(), lost);
            std::erase_if(*list, lost);
            if (any) list->insert(list->end(), homes.begin(), homes.end());
            moved = moved || (any && list == &n.aliases);
        }
        for (node_id x : n.aliases)
            if (const auto home = lives_in_.find(x); home != lives_in_.end()) moved = true;
        if (moved) lives_in_[v] = std::move(homes);
    }

    [[nodiscard]] std::string part_name(node_id v, std::size_t k) const {
        return std::string(step_->name(v)) + "_part" + std::to_string(k);
    }
    /// Makes a node that belongs to the module of `like`. The old wait of a member passes its name to the new one.
    capture_node& make(std::string wanted, std::string_view op, op_kind kind, node_id like,
                       naming how = naming::fresh) {
        capture_node& n = made_.make(std::move(wanted), op, kind, how);
        made_.house_with(like, n);
        return n;
    }

    const capture* step_;
    const capture_tensors* tensors_;
    capture_fields fields_;
    detail::rewritten_step made_;
    std::map<node_id, const capture_split*> bucket_of_;  // by start and by wait
    std::vector<std::string> members_, absorbed_;        // of the current bucket
    std::vector<capture_tensor> outputs_;                // by member of the current bucket
    std::size_t next_cast_ = 0;                          // position in absorbed_ of the next name for a cast
    std::deque<detail::merged_nodes> merged_;            // by bucket of the format; new nodes refer to their texts
    const detail::merged_nodes::member unknown_ = {};
    std::map<node_id, holder> view_of_;              // by result that keeps its name as a view
    std::map<node_id, capture_tensor> shape_;        // by new start: the received tensor
    std::map<node_id, std::set<node_id>> lives_in_;  // by result, and values that share its memory: the new starts
};

}  // namespace stretto

#endif
