// Tracks the positions of the operations of a chunked program, and the values that they read, share and write, while
// apply_chunks makes them. It serves rewrites that do not change a program in place: trials on a task graph, and
// writers of files.
#ifndef STRETTO_TUNE_CLONE_LAYOUT_HPP
#define STRETTO_TUNE_CLONE_LAYOUT_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/core/index_lists.hpp"
#include "stretto/tune/step_table.hpp"
#include "stretto/views/snapshot.hpp"

namespace stretto {

/// Vertices and values of the step keep their numbers. New ones get the numbers after those, in the order in which they
/// are made; if each vertex has one value, a new value therefore has the number of its vertex. Calls take O(1) time
/// unless they say otherwise. The table must outlive the layout.
class clone_layout {
public:
    static constexpr std::uint32_t none = UINT32_MAX;

    explicit clone_layout(const step_table& step)
        : step_(&step), at_vertex_(step.size()), whole_(step.values(), none) {}

    /// Places vertices made after this call immediately before vertex v of the step, in the order of the calls.
    void insert_before(std::uint32_t v) { at_ = v; }

    /// Adds a vertex with one result like the value x, for a task that cuts x or recombines it.
    std::uint32_t add_like(std::uint32_t x) {
        const std::uint32_t like = original_value(x), id = append(step_->producer[like]);
        own_value(id, like);
        stand(id);
        return id;
    }
    /// Does the same, but places the vertex before the one that keep_ready_for names and before all vertices made
    /// there, after earlier calls of add_ready.
    std::uint32_t add_ready(std::uint32_t x) {
        const std::uint32_t like = original_value(x), id = append(step_->producer[like]);
        own_value(id, like);
        ready_.push_back(id);
        return id;
    }
    /// Sets the vertex of the step before which add_ready places its vertices. Without this call, they are not in the
    /// order.
    void keep_ready_for(std::uint32_t v) { ready_for_ = v; }
    /// Adds a clone of vertex v of the step, with results like those of v. Precondition: clones are made in the order
    /// of the chunks.
    std::uint32_t add_clone(std::uint32_t v) {
        const std::uint32_t id = append(v);
        for (std::uint32_t x : id_range(step_->first_result[v], step_->first_result[v + 1])) own_value(id, x);
        stand(id);
        slot& s = at_vertex_[v];
        if (s.first_clone == none) s.first_clone = id;
        else made(s.last_clone).next_clone = id;
        s.last_clone = id;
        return id;
    }

    /// Returns the value that replaces x for the last clone of v, where x is a value whose storage v shares or writes.
    /// It is a result of the clone if x is a result of v; an operand of the clone if that operand of v is x or shares
    /// its storage; and otherwise a result of the clone of x's producer for that chunk, or x if there is no such clone.
    /// O(values that share storage with the operands of v, and chunks).
    [[nodiscard]] std::uint32_t of_chunk(std::uint32_t v, std::uint32_t x, std::span<const std::uint32_t> operands,
                                         std::uint32_t chunk) const {
        const std::uint32_t p = step_->producer[x];
        if (p == v) return first_result(at_vertex_[v].last_clone) + (x - step_->first_result[v]);
        const std::size_t by = operand_in(v, x);
        if (by != SIZE_MAX) return operands[by];
        const std::uint32_t clone = clone_for(p, chunk);
        return clone == none ? x : first_result(clone) + (x - step_->first_result[p]);
    }
    /// The clone of vertex v for that chunk, or the last clone if there are fewer; none if v has no clones. O(chunk).
    [[nodiscard]] std::uint32_t clone_for(std::uint32_t v, std::uint32_t chunk) const {
        std::uint32_t clone = at_vertex_[v].first_clone;
        for (; clone != none && chunk > 0 && made(clone).next_clone != none; --chunk) clone = made(clone).next_clone;
        return clone;
    }

    /// Makes readers of `from`, a result of an erased vertex, read `to` instead. apply_chunks calls this for values
    /// that are used outside the region.
    void replace_uses(std::uint32_t from, std::uint32_t to) { whole_[from] = to; }
    /// Removes a vertex of the step. Its number is not reused.
    void erase(std::uint32_t v) { at_vertex_[v].erased = true; }

    /// The number of vertices so far, including erased ones.
    [[nodiscard]] std::size_t size() const noexcept { return step_->size() + made_.size(); }
    [[nodiscard]] bool is_new(std::uint32_t id) const noexcept { return id >= step_->size(); }
    /// The vertex, or the value, of the step from which this one was made.
    [[nodiscard]] std::uint32_t original(std::uint32_t id) const { return is_new(id) ? made(id).like : id; }
    [[nodiscard]] std::uint32_t original_value(std::uint32_t x) const {
        return x < step_->values() ? x : made_values_[x - step_->values()].like;
    }
    /// The number of the first result of a vertex. The other results have the numbers that follow.
    [[nodiscard]] std::uint32_t first_result(std::uint32_t id) const {
        return is_new(id) ? made(id).first_result : step_->first_result[id];
    }

    /// Returns the remaining and the new vertices, in program order. After this call nothing may be added, and the
    /// members below may be called. O(vertices + values).
    [[nodiscard]] std::span<const std::uint32_t> close() {
        order_.clear();
        for (std::uint32_t v = 0; v < step_->size(); ++v) {
            const slot& s = at_vertex_[v];
            if (v == ready_for_) order_.insert(order_.end(), ready_.begin(), ready_.end());
            for (std::uint32_t k = s.first; k != none; k = made(k).next) order_.push_back(k);
            if (!s.erased) order_.push_back(v);
        }
        position_.assign(size(), none);
        first_value_.assign(size(), none);
        std::uint32_t next_value = 0;
        for (std::uint32_t at = 0; at < order_.size(); ++at) {
            const std::uint32_t id = order_[at];
            position_[id] = at;
            first_value_[id] = next_value;
            next_value += results(id);
        }
        find_moved();
        return order_;
    }
    /// The number of results of a vertex.
    [[nodiscard]] std::uint32_t results(std::uint32_t id) const {
        if (is_new(id)) return made(id).results;
        return step_->first_result[id + 1] - step_->first_result[id];
    }
    /// The position of a vertex in the new program; none if it has been erased.
    [[nodiscard]] std::uint32_t position(std::uint32_t id) const { return position_[id]; }
    /// Calls f with the number in the new program of each of these values. Numbers may repeat; values that are gone are
    /// skipped.
    template <class F>
    void for_each_position(std::span<const std::uint32_t> values, F f) const {
        for (std::uint32_t x : values)
            if (const std::uint32_t there = value_position(x); there != none) f(there);
    }
    /// Does the same for values whose storage vertex `id` shares or writes. If a vertex of the step reaches the storage
    /// of x through an operand, it shares the storage of the value that it now reads. After a region, that operand may
    /// have been recombined into a new storage, even if x still exists.
    template <class F>
    void for_each_storage(std::uint32_t id, std::span<const std::uint32_t> values, F f) const {
        for (std::uint32_t x : values) {
            const std::uint32_t through = storage_position(id, x);
            const std::uint32_t there = through == none ? value_position(x) : through;
            if (there != none) f(there);
        }
    }
    /// The distinct results of for_each_position and for_each_storage. Valid until the next call. O(values squared).
    [[nodiscard]] std::span<const std::uint32_t> positions(std::span<const std::uint32_t> values) {
        there_.clear();
        for_each_position(values, [&](std::uint32_t x) { note(x); });
        return there_;
    }
    [[nodiscard]] std::span<const std::uint32_t> storages(std::uint32_t id, std::span<const std::uint32_t> values) {
        there_.clear();
        for_each_storage(id, values, [&](std::uint32_t x) { note(x); });
        return there_;
    }
    /// Calls f with the positions in the new program of all vertices that stand in for v as the source of a control
    /// dependence: v itself, or all of its clones.
    template <class F>
    void for_each_stand_in(std::uint32_t v, F f) const {
        if (position_[v] != none) f(position_[v]);
        else
            for (std::uint32_t k = at_vertex_[v].first_clone; k != none; k = made(k).next_clone) f(position_[k]);
    }

private:
    struct new_vertex {
        std::uint32_t like;
        std::uint32_t first_result, results = 0;
        std::uint32_t next = none;        // made after it, before the same vertex of the step
        std::uint32_t next_clone = none;  // of the same vertex
    };
    struct new_value {
        std::uint32_t vertex, like;
    };
    /// The vertices made before a vertex of the step, and the clones of that vertex.
    struct slot {
        std::uint32_t first = none, last = none;
        std::uint32_t first_clone = none, last_clone = none;
        bool erased = false;
    };

    /// Adds a vertex like one of the step, without results and without a position.
    std::uint32_t append(std::uint32_t like) {
        const std::uint32_t id = static_cast<std::uint32_t>(size());
        made_.push_back({like, static_cast<std::uint32_t>(step_->values() + made_values_.size())});
        return id;
    }
    /// Adds a result to the vertex that was added last.
    void own_value(std::uint32_t id, std::uint32_t like) {
        made_values_.push_back({id, like});
        ++made(id).results;
    }
    /// Places a new vertex where insert_before said, after the vertices already there.
    void stand(std::uint32_t id) {
        slot& s = at_vertex_[at_];
        if (s.first == none) s.first = id;
        else made(s.last).next = id;
        s.last = id;
    }
    [[nodiscard]] bool is_erased(std::uint32_t v) const { return at_vertex_[v].erased; }
    void note(std::uint32_t there) {
        if (std::find(there_.begin(), there_.end(), there) == there_.end()) there_.push_back(there);
    }
    /// The number of a value, or of its recombined value, in the new program; none if it is gone.
    [[nodiscard]] std::uint32_t value_position(std::uint32_t x) const {
        const bool old = x < step_->values();
        const std::uint32_t now = old && is_erased(step_->producer[x]) ? whole_[x] : x;
        if (now == none) return none;
        const std::uint32_t owner =
            now < step_->values() ? step_->producer[now] : made_values_[now - step_->values()].vertex;
        return first_value_[owner] + (now - first_result(owner));
    }
    /// Marks the values of the step whose storage differs in the new program: those of erased vertices, and remaining
    /// values that share a storage through one of these. O(values and operands), plus, for readers of marked values,
    /// O(values that share storage with their operands).
    void find_moved() {
        moved_.assign(step_->values(), false);
        for (std::uint32_t v = 0; v < step_->size(); ++v)
            for (std::uint32_t x : id_range(step_->first_result[v], step_->first_result[v + 1])) {
                const std::span<const std::uint32_t> shared = step_->aliases[x];
                moved_[x] = is_erased(v) || std::any_of(shared.begin(), shared.end(), [&](std::uint32_t y) {
                                return storage_position(v, y) != none;
                            });
            }
    }
    /// Returns the number of the operand through which a vertex of the step shares the storage of x, if that storage
    /// has moved or if x is gone; for example, x may be the result of a start whose wait the vertex has read. Returns
    /// none otherwise, and for a new vertex, whose lists already name the values of its chunk.
    [[nodiscard]] std::uint32_t storage_position(std::uint32_t id, std::uint32_t x) const {
        if (is_new(id)) return none;
        const std::span<const std::uint32_t> operands = step_->operands[id];
        const bool gone = value_position(x) == none;
        if (!gone && std::none_of(operands.begin(), operands.end(), [&](std::uint32_t o) { return moved_[o] != 0; }))
            return none;
        const std::size_t by = operand_in(id, x);
        return by == SIZE_MAX || !(gone || moved_[operands[by]]) ? none : value_position(operands[by]);
    }
    /// The first operand of v that is x or, failing that, shares the storage of x; SIZE_MAX if there is none.
    [[nodiscard]] std::size_t operand_in(std::uint32_t v, std::uint32_t x) const {
        const std::span<const std::uint32_t> operands = step_->operands[v];
        const auto at = std::find(operands.begin(), operands.end(), x);
        if (at != operands.end()) return static_cast<std::size_t>(at - operands.begin());
        std::vector<std::uint32_t> shared;
        for (std::size_t i = 0; i < operands.size(); ++i) {
            const std::span<const std::uint32_t> own = step_->aliases[operands[i]];
            shared.assign(own.begin(), own.end());
            for (std::size_t k = 0; k < shared.size(); ++k) {
                if (shared[k] == x) return i;
                for (std::uint32_t y : step_->aliases[shared[k]])
                    if (std::find(shared.begin(), shared.end(), y) == shared.end()) shared.push_back(y);
            }
        }
        return SIZE_MAX;
    }
    [[nodiscard]] new_vertex& made(std::uint32_t id) { return made_[id - step_->size()]; }
    [[nodiscard]] const new_vertex& made(std::uint32_t id) const { return made_[id - step_->size()]; }

    const step_table* step_;
    std::uint32_t at_ = 0;
    std::vector<new_vertex> made_;
    std::vector<new_value> made_values_;
    std::vector<slot> at_vertex_;
    std::vector<std::uint32_t> whole_;  // by value of the step: what its parts were recombined to
    std::uint32_t ready_for_ = none;
    std::vector<std::uint32_t> ready_;
    std::vector<std::uint32_t> order_, position_, first_value_, there_;
    std::vector<char> moved_;  // by value of the step
};

}  // namespace stretto

#endif
