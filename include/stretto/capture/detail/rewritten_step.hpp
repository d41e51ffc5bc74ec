// Writes a captured step anew. It is the common part of the rewriters that make buckets, split buckets, and reduce
// once. These decide which nodes are made; here, new nodes get their names and places, and readers of removed nodes are
// redirected.
#ifndef STRETTO_CAPTURE_DETAIL_REWRITTEN_STEP_HPP
#define STRETTO_CAPTURE_DETAIL_REWRITTEN_STEP_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_builder.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/schedule/json_quote.hpp"

namespace stretto::detail {

/// A step with added and removed nodes. Nodes of the step keep its numbers; new ones follow in the order in which they
/// are made. The step must outlive it.
class rewritten_step {
public:
    using node_id = std::uint32_t;

    /// How a new node gets the name that is wanted for it. A fresh name gets a number appended if a node of the step
    /// has it; a name that is taken over is that of a node of the step that vanishes. Either gets a number if another
    /// new node has it.
    enum class naming : std::uint8_t {
        fresh,
        taken_over
    };

    explicit rewritten_step(const capture& step) : step_(&step), gone_(step.size(), false), stands_for_(step.size()) {
        std::iota(stands_for_.begin(), stands_for_.end(), node_id{0});
    }
    rewritten_step(const rewritten_step&) = delete;
    rewritten_step& operator=(const rewritten_step&) = delete;

    /// Places the nodes that are made from here on before v, a node of the step, in the order of the calls.
    void insert_before(node_id v) { at_ = v; }

    /// Makes a node, and returns it to be filled in. The reference stays valid.
    capture_node& make(std::string wanted, std::string_view op, op_kind kind, naming how = naming::fresh) {
        std::string name = wanted;
        const auto is_taken = [&] {
            return (how == naming::fresh && step_->find(name)) || !names_.insert(name).second;
        };
        for (int k = 1; is_taken(); ++k) name = wanted + "_" + std::to_string(k);
        capture_node& n = made_.emplace_back();
        n.name = keep(std::move(name));
        n.op = op;
        n.kind = kind;
        before_[at_].push_back(last());
        return n;
    }
    /// Returns the node that was made last.
    [[nodiscard]] node_id last() const { return static_cast<node_id>(step_->size() + made_.size() - 1); }
    [[nodiscard]] bool is_new(node_id v) const { return v >= step_->size(); }
    /// Returns a node that was made here.
    [[nodiscard]] capture_node& made(node_id v) { return made_[v - step_->size()]; }

    /// Keeps a text as long as this object lives, because nodes only refer to their texts.
    std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }
    /// Returns the names of nodes of the step as a JSON list.
    template <class Nodes>
    std::string_view names_of(const Nodes& nodes) {
        std::string text = "[";
        for (const node_id v : nodes) {
            if (text.size() > 1) text += ',';
            append_quoted(text, step_->name(v));
        }
        return keep(text + "]");
    }
    /// Gives a node the module and the direction of `like`, a node of the step.
    void house_with(node_id like, capture_node& n) const {
        for (std::string_view key : {"fqn", "direction"})
            if (const auto text = step_->field(like, key)) n.fields.push_back({key, *text});
    }

    /// Makes every node that names v, a node of the step, name `instead`.
    void replace(node_id v, node_id instead) { stands_for_[v] = instead; }
    /// Removes v, a node of the step.
    void erase(node_id v) { gone_[v] = true; }
    [[nodiscard]] bool is_gone(node_id v) const { return gone_[v]; }
    /// Returns the node that is named in place of v, or v itself if it was not replaced.
    [[nodiscard]] node_id stand_in(node_id v) const { return is_new(v) ? v : stands_for_[v]; }

    /// Returns the new step, or the fault that capture_builder finds. `order` lists the nodes of the step. Those that
    /// were not erased are written as `as_written(v)` describes them; new ones stand where insert_before said.
    /// References that have become equal are written once.
    template <class Order, class AsWritten>
    [[nodiscard]] expected<capture, diagnostic> build(const Order& order, AsWritten as_written) {
        capture_builder builder = capture_builder::like(*step_);
        position_.assign(step_->size() + made_.size(), 0);
        const auto put = [&](node_id id, capture_node n) {
            for (auto* list : {&n.inputs, &n.aliases, &n.writes}) {
                std::vector<node_id> there;
                for (const node_id x : *list) {
                    const node_id y = position_[stand_in(x)];
                    if (std::find(there.begin(), there.end(), y) == there.end()) there.push_back(y);
                }
                *list = std::move(there);
            }
            position_[id] = builder.append(n);
        };
        for (const node_id v : order) {
            if (const auto here = before_.find(v); here != before_.end())
                for (const node_id id : here->second) put(id, made(id));
            if (!gone_[v]) put(v, as_written(v));
        }
        return std::move(builder).build();
    }
    /// Does the same in the order of the step.
    template <class AsWritten>
    [[nodiscard]] expected<capture, diagnostic> build(AsWritten as_written) {
        std::vector<node_id> order(step_->size());
        std::iota(order.begin(), order.end(), node_id{0});
        return build(order, as_written);
    }
    /// Returns the position of a remaining or new node in the new step. Precondition: build() was called.
    [[nodiscard]] node_id position(node_id v) const { return position_[v]; }

private:
    const capture* step_;
    node_id at_ = 0;
    std::deque<capture_node> made_;  // a deque, because make() returns references
    std::deque<std::string> texts_;
    std::set<std::string> names_;                     // of new nodes
    std::map<node_id, std::vector<node_id>> before_;  // by node of the step: the new nodes before it
    std::vector<char> gone_;
    std::vector<node_id> stands_for_;  // by node of the step: the node that is named in its place
    std::vector<node_id> position_;
};

}  // namespace stretto::detail

#endif
