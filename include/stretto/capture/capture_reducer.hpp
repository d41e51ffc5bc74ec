// Writes a captured step whose collectives are reduced once: the rewriter with which apply_reductions makes a new
// capture, by the conventions of stretto-graph. Needs simdjson.
//
// The new start lists its `members`, and as `sums` the additions that it replaces. The last of those, which others
// read, keeps its name and becomes a view of the new wait. Additions before the collective cost a launch and three
// times the bytes of their result over the memory bandwidth; the collective costs what a member costs.
#ifndef STRETTO_CAPTURE_CAPTURE_REDUCER_HPP
#define STRETTO_CAPTURE_CAPTURE_REDUCER_HPP

#include <array>
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
#include "stretto/capture/detail/plan_prices.hpp"
#include "stretto/capture/detail/rewritten_step.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/transform/reduction_plan.hpp"

namespace stretto {

using capture_reduction = reduction<std::uint32_t, std::uint32_t>;
using capture_reduction_plan = reduction_plan<std::uint32_t, std::uint32_t>;

/// A reducing_rewriter of a captured step. Values are nodes: those of the step have its numbers, and new ones follow.
/// All arguments must outlive the reducer. Precondition: the plan was made for this step, and no result in it lies
/// behind more than one view, because the node that keeps its name is that view.
class capture_reducer {
public:
    using node_id = std::uint32_t;

    capture_reducer(const capture& step, const capture_tensors& tensors, const capture_reduction_plan& plan)
        : step_(&step), tensors_(&tensors), made_(step) {
        for (const capture_reduction& r : plan.reductions) by_last_member_.emplace(r.members.back(), &r);
    }
    capture_reducer(const capture_reducer&) = delete;
    capture_reducer& operator=(const capture_reducer&) = delete;

    void insert_before(node_id v) { made_.insert_before(v); }

    /// Makes an addition. If it is written over a summand, that summand becomes the first operand, whose storage the
    /// result shares.
    node_id add(node_id a, node_id b, sum_place place) {
        if (place == sum_place::second) std::swap(a, b);
        const node_id like = original_[a];
        const std::string_view op = place == sum_place::fresh ? "aten.add.Tensor" : "aten.add_.Tensor";
        capture_node& n = make(std::string(step_->name(made_.is_new(b) ? a : b)) + "_sum", op, op_kind::compute, like);
        n.inputs = {a, b};
        n.outputs = step_->outputs(like);
        const bytes size{size_of(tensors_->components(like)[0])};
        n.duration = detail::time_of_price(detail::price_of_moving(step_->costs(), size + size + size));
        if (place == sum_place::fresh) {
            n.allocation = size;
            storage_[made_.last()] = made_.last();
        } else {
            n.aliases = {storage_[a]};
            n.writes = {a};
            storage_[made_.last()] = storage_[a];
        }
        n.fields.push_back({"args", R"(["%0","%1"])"});
        return made_.last();
    }

    /// Makes the new start from the last member, and the new wait from its wait. A view is not cloned: the result,
    /// which keeps its name, takes over its operator.
    std::array<node_id, 1> clone(node_id v, std::span<const node_id> operands, const chunk_part&) {
        if (step_->kind(v) == op_kind::view) {  // it is the node that keeps its name
            layout_[current_->result] = v;
            return {current_->result};
        }
        const bool start = step_->kind(v) == op_kind::start;
        if (start) current_ = by_last_member_.at(v);
        capture_node& n = make(std::string(step_->name(v)) + "_of_sum", step_->op(v), step_->kind(v), v);
        const std::string_view name = n.name;
        n = node_of(*step_, v);
        n.name = name;
        n.inputs.assign(operands.begin(), operands.end());
        n.aliases.clear();
        if (!start) n.aliases = {operands[0]};
        if (start) {
            std::erase_if(n.fields, [](const json_field& f) { return f.key == "origin" || f.key == "chunk"; });
            n.fields.push_back({"members", made_.names_of(current_->members)});
            n.fields.push_back({"sums", made_.names_of(current_->sums)});
            for (node_id m : current_->members) made_.replace(m, made_.last());
        } else {
            for (const auto* list : {&current_->waits, &current_->sums})
                for (node_id w : *list) made_.replace(w, current_->result);
            view_of_[current_->result] = {made_.last(), operands[0]};
        }
        return {made_.last()};
    }

    /// Does nothing, because readers keep reading the result by its name.
    void replace_uses(node_id, node_id, node_id) {}
    void erase(node_id v) {
        if (!view_of_.contains(v)) made_.erase(v);
    }

    /// Returns the new step: the old program order, with the new nodes where insert_before placed them. The error is a
    /// fault that capture_builder finds.
    [[nodiscard]] expected<capture, diagnostic> build() {
        return made_.build([this](node_id v) {
            const auto view = view_of_.find(v);
            return view != view_of_.end() ? as_view(v, view->second) : node_of(*step_, v);
        });
    }
    /// Returns the position of a node of the step, or of a new one, in the new step. Call it after build(), for
    /// remaining nodes.
    [[nodiscard]] node_id position(node_id v) const { return made_.position(v); }

private:
    /// The wait and the start of a collective of a sum.
    struct new_collective {
        node_id wait, start;
    };

    /// Returns result v under its old name: a view of the wait, in the layout that the program expects.
    capture_node as_view(node_id v, new_collective of) {
        const auto layout = layout_.find(v);
        const node_id like = layout != layout_.end() ? layout->second : v;
        capture_node n = node_of(*step_, v);
        n.kind = op_kind::view;
        n.op = layout != layout_.end() ? step_->op(like) : std::string_view("aten.alias.default");
        n.inputs = {of.wait};
        n.aliases = {of.start};
        n.writes.clear();
        n.allocation = {};
        n.duration = {};
        std::erase_if(n.fields, [](const json_field& f) { return f.key == "args" || f.key == "kwargs"; });
        if (layout == layout_.end()) n.fields.push_back({"args", R"(["%0"])"});
        else
            for (std::string_view key : {"args", "kwargs"})
                if (const auto text = step_->field(like, key)) n.fields.push_back({key, *text});
        return n;
    }

    /// Makes a node that belongs to the module of `like`, a node of the step.
    capture_node& make(std::string wanted, std::string_view op, op_kind kind, node_id like) {
        capture_node& n = made_.make(std::move(wanted), op, kind);
        made_.house_with(like, n);
        original_.own[made_.last()] = like;
        return n;
    }

    /// Maps nodes to nodes. A node without an entry is mapped to itself.
    struct by_node {
        std::map<node_id, node_id> own;
        node_id operator[](node_id v) const {
            const auto at = own.find(v);
            return at != own.end() ? at->second : v;
        }
        node_id& operator[](node_id v) { return own.try_emplace(v, v).first->second; }
    };

    const capture* step_;
    const capture_tensors* tensors_;
    detail::rewritten_step made_;
    std::map<node_id, const capture_reduction*> by_last_member_;
    const capture_reduction* current_ = nullptr;
    by_node original_, storage_;  // the node of the step that it is like; the one that allocates its storage
    std::map<node_id, new_collective> view_of_;  // by result that keeps its name
    std::map<node_id, node_id> layout_;          // by result: the view whose operator it takes
};

}  // namespace stretto

#endif
