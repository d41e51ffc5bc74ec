// Where the nodes of a chunked step stand and which of them others read, while apply_chunks makes them: what all
// rewriters of captured steps share, whatever they know of a node beside that.
#ifndef STRETTO_CAPTURE_DETAIL_CHUNK_LAYOUT_HPP
#define STRETTO_CAPTURE_DETAIL_CHUNK_LAYOUT_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/capture/capture.hpp"

namespace stretto::detail {

/// Nodes of the step keep their numbers, new ones follow in the order in which they are made.
class chunk_layout {
public:
    using node_id = std::uint32_t;
    static constexpr node_id none = UINT32_MAX;

    explicit chunk_layout(const capture& step)
        : step_(&step),
          first_(step.size(), none),
          last_(step.size(), none),
          first_clone_(step.size(), none),
          whole_(step.size(), none),
          erased_(step.size(), false) {}

    void insert_before(node_id v) { at_ = v; }

    /// A new node, like node `like`: what it is a clone of, or what it cuts or makes whole.
    node_id add(node_id like) {
        const node_id id = static_cast<node_id>(step_->size() + made_.size());
        made_.push_back({original(like), none, none});
        if (first_[at_] == none) first_[at_] = id;
        else made(last_[at_]).next = id;
        last_[at_] = id;
        return id;
    }
    /// A new node in front of the one that keep_ready_for names and of whatever is made there, behind those that were
    /// made ready before it.
    node_id add_ready(node_id like) {
        const node_id id = static_cast<node_id>(step_->size() + made_.size());
        made_.push_back({original(like), none, none});
        ready_.push_back(id);
        return id;
    }
    void keep_ready_for(node_id v) { ready_for_ = v; }

    node_id add_clone(node_id v) {
        const node_id id = add(v);
        if (first_clone_[v] == none) {
            first_clone_[v] = id;
        } else {
            node_id last = first_clone_[v];
            while (made(last).next_clone != none) last = made(last).next_clone;
            made(last).next_clone = id;
        }
        return id;
    }

    /// What the clone of v for a chunk has instead of x, whose storage v shares or writes: one of its own operands,
    /// that itself or what shares the storage too, or else the clone of x for that chunk.
    [[nodiscard]] node_id of_chunk(node_id v, node_id x, std::span<const node_id> operands, std::uint32_t chunk) const {
        const std::span<const node_id> before = step_->inputs(v);
        const node_id by = operand_in(v, x);
        if (by != none)
            return operands[static_cast<std::size_t>(std::find(before.begin(), before.end(), by) - before.begin())];
        if (first_clone_[x] == none) return x;
        node_id clone = first_clone_[x];
        for (; chunk > 0 && made(clone).next_clone != none; --chunk) clone = made(clone).next_clone;
        return clone;
    }

    /// Whoever reads an erased node reads its stand-in: apply_chunks replaces all uses outside of the region.
    void replace_uses(node_id from, node_id to) { whole_[from] = to; }
    void erase(node_id v) { erased_[v] = true; }

    /// Which node of the step that one is made from.
    [[nodiscard]] node_id original(node_id x) const { return x < step_->size() ? x : made_[x - step_->size()].like; }
    [[nodiscard]] std::size_t size() const noexcept { return step_->size() + made_.size(); }

    /// `place(id) -> position` of all that is left and of all that is new, in program order. Of what it reads, shares
    /// and writes `positions` and `storages` give the positions there.
    template <class Place>
    void for_each(Place place) {
        position_.assign(size(), none);
        for (node_id v = 0; v < step_->size(); ++v) {
            if (v == ready_for_)
                for (node_id k : ready_) position_[k] = place(k);
            for (node_id k = first_[v]; k != none; k = made(k).next) position_[k] = place(k);
            if (!erased_[v]) position_[v] = place(v);
        }
    }
    /// Each once.
    [[nodiscard]] std::span<const node_id> positions(std::span<const node_id> list) {
        there_.clear();
        for (node_id x : list) add_position(x);
        return there_;
    }
    /// Of nodes whose storage node `id` shares or writes. Where one of the step shared it with what is gone, a start of
    /// which it has read the wait, it shares that of what it reads now.
    [[nodiscard]] std::span<const node_id> storages(node_id id, std::span<const node_id> list) {
        there_.clear();
        for (node_id x : list) {
            const bool gone = x < step_->size() && erased_[x] && whole_[x] == none;
            if (!gone) add_position(x);
            else if (id < step_->size() && operand_in(id, x) != none) add_position(operand_in(id, x));
        }
        return there_;
    }

private:
    struct new_node {
        node_id like;
        node_id next;        // made behind it, before the same node of the step
        node_id next_clone;  // of the same node
    };
    void add_position(node_id x) {
        const node_id now = x < step_->size() && erased_[x] ? whole_[x] : x;
        if (now == none) return;
        if (std::find(there_.begin(), there_.end(), position_[now]) == there_.end()) there_.push_back(position_[now]);
    }
    /// The operand of v that is x, or the first that shares the storage of x; none if there is none.
    [[nodiscard]] node_id operand_in(node_id v, node_id x) const {
        for (node_id u : step_->inputs(v))
            if (u == x) return u;
        for (node_id u : step_->inputs(v)) {
            std::vector<node_id> shared(step_->aliases(u).begin(), step_->aliases(u).end());
            for (std::size_t k = 0; k < shared.size(); ++k) {
                if (shared[k] == x) return u;
                for (node_id y : step_->aliases(shared[k]))
                    if (std::find(shared.begin(), shared.end(), y) == shared.end()) shared.push_back(y);
            }
        }
        return none;
    }
    [[nodiscard]] new_node& made(node_id id) { return made_[id - step_->size()]; }
    [[nodiscard]] const new_node& made(node_id id) const { return made_[id - step_->size()]; }

    const capture* step_;
    node_id at_ = 0;
    std::vector<new_node> made_;
    std::vector<node_id> first_, last_;  // of a node of the step: what was made before it
    std::vector<node_id> first_clone_;
    std::vector<node_id> whole_;  // of a node of the step: what its parts were recombined to
    std::vector<char> erased_;
    node_id ready_for_ = none;
    std::vector<node_id> ready_;
    std::vector<node_id> position_, there_;
};

}  // namespace stretto::detail

#endif
