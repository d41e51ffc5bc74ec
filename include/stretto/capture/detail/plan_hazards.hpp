// Checks memory hazards: two uses of a storage must keep their order if one of them writes, and nothing may access the
// data that a collective has in flight. Both rules are about storages, because several values may share one.
//
// Dependences between nodes are not enough: a kernel that writes in place has no edge from earlier readers, and a plan
// is a new order. So the uses of each storage in the step are compared with their positions in the plan; two reads may
// be reordered, but a write may not move past another use, nor another use past a write.
#ifndef STRETTO_CAPTURE_DETAIL_PLAN_HAZARDS_HPP
#define STRETTO_CAPTURE_DETAIL_PLAN_HAZARDS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stretto/capture/detail/plan_match.hpp"

namespace stretto::detail {

/// Compares the uses of each storage, in the order of the step, with their positions in the plan. Two uses, of which
/// one writes, have the same effect if their order is the same.
class plan_storage_order {
public:
    explicit plan_storage_order(plan_match& match) : m_(match) {}

    /// Checks all storages. The time is linear in the uses of storages that anyone writes, times the number of chunks.
    void check() {
        std::vector<std::vector<use>> uses(m_.step.size());
        std::vector<bool> written(m_.step.size(), false);
        for (old_id u = 0; u < m_.step.size(); ++u)
            for (old_id x : m_.step.writes(u))
                for (old_id s : m_.step_storages[x]) written[s] = true;
        for (old_id u = 0; u < m_.step.size(); ++u) {
            const auto note = [&](old_id x, bool writes) {
                for (old_id s : m_.step_storages[x]) {
                    if (!written[s]) continue;
                    if (!uses[s].empty() && uses[s].back().node == u) uses[s].back().writes |= writes;
                    else uses[s].push_back({u, writes});
                }
            };
            for (old_id x : m_.step.inputs(u)) note(x, false);
            for (old_id x : m_.step.writes(u)) note(x, true);
        }
        for (old_id s = 0; s < m_.step.size(); ++s)
            if (written[s]) check(s, uses[s]);
    }

private:
    struct use {
        old_id node;
        bool writes;
    };
    /// The last of the uses seen so far, in the order of the plan.
    struct last_place {
        std::int64_t place = -1;
        old_id node = nobody;
        void see(std::int64_t p, old_id u) {
            if (p > place) place = p, node = u;
        }
    };
    /// The last use of any kind, and the last write.
    struct history {
        last_place any, writer;
        void see(std::int64_t place, const use& u) {
            any.see(place, u.node);
            if (u.writes) writer.see(place, u.node);
        }
    };

    /// Checks the uses of storage s, which are in the order of the step. It suffices to compare each with the last of
    /// those before it: if it has not overtaken that one, it has overtaken none.
    void check(old_id s, const std::vector<use>& uses) {
        std::size_t chunks = 1;
        for (const use& u : uses) chunks = std::max(chunks, m_.clones[u.node].size());
        history all;                                  // all uses, with all their chunks
        std::vector<history> whole_or_chunk(chunks);  // by chunk: the whole uses, and that chunk of the chunked uses
        for (const use& u : uses) {
            if (m_.chunked(u.node)) {
                check_chunks(s, u, all, whole_or_chunk);
                continue;
            }
            if (m_.chunked(s)) continue;  // it sees a recombination, which has a storage of its own
            std::int64_t first = -1, last = -1;
            if (m_.new_of[u.node] != nobody) {
                first = last = m_.new_of[u.node];
            } else if (m_.bucket_of[u.node] != nobody) {  // it reads when it is packed, and until it is launched
                const plan_bucket& b = m_.buckets[m_.bucket_of[u.node]];
                first = last = b.start;
                if (b.pack != nobody) first = b.pack;
            } else if (m_.absorbed_by[u.node] != nobody) {
                first = last = m_.absorbed_by[u.node];
            } else if (m_.step.kind(u.node) == op_kind::start && m_.summed(u.node)) {
                first = last = read_for(u.node);  // the sum reads what it read
                if (first < 0) continue;
            } else {
                continue;  // it is lost, which is reported elsewhere
            }
            compare(s, u, first, u.writes ? all.any : all.writer);
            all.see(last, u);
            for (history& h : whole_or_chunk) h.see(last, u);
        }
    }

    /// Returns where the sum that stands for the collective m reads what m read; -1 if it does not.
    [[nodiscard]] std::int64_t read_for(old_id m) const {
        std::int64_t place = -1;
        for (old_id x : m_.step.inputs(m))
            if (m_.new_of[x] != nobody)
                for (new_id r : m_.plan.readers(m_.new_of[x]))
                    if (m_.sum_at[r] == m_.sum_of[m]) place = std::max<std::int64_t>(place, r);
        return place;
    }

    /// Requires that chunk k follows chunk k of other chunked uses, and all whole uses.
    void check_chunks(old_id s, const use& u, history& all, std::vector<history>& whole_or_chunk) {
        const std::vector<new_id>& parts = m_.clones[u.node];
        std::vector<std::pair<std::size_t, std::int64_t>> seen;
        for (std::size_t k = 0; k < parts.size(); ++k) {
            if (!m_.chunked(s) && !touches(parts[k], m_.new_of[s])) continue;  // it works on a copy
            const history& h = whole_or_chunk[k];
            compare(s, u, parts[k], u.writes ? h.any : h.writer);
            seen.emplace_back(k, parts[k]);
        }
        for (const auto& [k, place] : seen) {
            all.see(place, u);
            whole_or_chunk[k].see(place, u);
        }
    }
    /// Returns whether a node of the plan reads or writes a storage.
    [[nodiscard]] bool touches(new_id v, new_id storage) const {
        const auto in = [&](new_id x) { return contains(m_.plan_storages[x], storage); };
        const auto reads = m_.plan.inputs(v), writes = m_.plan.writes(v);
        return std::any_of(reads.begin(), reads.end(), in) || std::any_of(writes.begin(), writes.end(), in);
    }

    /// Reports a use that stands before one that it must follow.
    void compare(old_id s, const use& u, std::int64_t place, const last_place& before) {
        if (before.place <= place) return;
        const std::string name = m_.quoted(m_.step, u.node), other = m_.quoted(m_.step, before.node);
        m_.found.add(plan_rule::overtakes_a_write, m_.step.name(u.node), m_.step.name(before.node),
                     "overtakes " + other + ", and one of them writes " + m_.quoted(m_.step, s),
                     "in the step it comes behind; uses of one storage keep their order where one writes");
    }

    plan_match& m_;
};

/// Replays the plan, and checks for every kernel and launch whether it touches what a collective has in flight. The
/// time is linear in the storages that nodes use, times the collectives in flight on one storage.
class plan_flights {
public:
    explicit plan_flights(plan_match& match)
        : m_(match),
          filling_(match.plan.size()),
          reading_(match.plan.size()),
          landed_(match.plan.size(), false),
          waited_for_(match.plan.size(), false) {}

    void check() {
        for (new_id v = 0; v < m_.plan.size(); ++v)
            if (const auto start = m_.plan.launch_of(v)) waited_for_[*start] = true;
        for (new_id v = 0; v < m_.plan.size(); ++v) {
            const op_kind kind = m_.plan.kind(v);
            if (const auto start = m_.plan.launch_of(v)) land(*start);
            if (kind == op_kind::compute || kind == op_kind::start || kind == op_kind::output) touch(v);
            if (kind == op_kind::start) launch(v);
        }
    }

private:
    /// Reports a node that touches what is in flight. The outputs of a step may be in flight when it ends, if nothing
    /// in the plan waits for them, because then the caller of the step waits.
    void touch(new_id v) {
        const bool output = m_.plan.kind(v) == op_kind::output;
        new_id conflict = nobody;
        const auto look = [&](const std::vector<new_id>& flying) {
            for (new_id start : flying)
                if (!output || waited_for_[start]) conflict = std::min(conflict, start);
        };
        for (new_id x : m_.plan.inputs(v))
            for (new_id s : m_.plan_storages[x]) look(filling_[s]);
        for (new_id x : m_.plan.writes(v))
            for (new_id s : m_.plan_storages[x]) {
                look(filling_[s]);
                look(reading_[s]);
            }
        if (conflict != nobody)
            m_.found.add(plan_rule::touches_data_in_flight, m_.plan.name(v), m_.plan.name(conflict),
                         "touches what " + m_.quoted(m_.plan, conflict) + " has in flight",
                         "what a collective writes is not touched, and what it reads not written, before its wait");
    }

    /// Calls f(list) for the lists of every storage that a collective fills or reads.
    template <class F>
    void each_storage(new_id start, F f) {
        for (new_id s : m_.plan_storages[start]) f(filling_[s]);
        for (new_id x : m_.plan.writes(start))
            for (new_id s : m_.plan_storages[x]) f(filling_[s]);
        for (new_id x : m_.plan.inputs(start))
            for (new_id s : m_.plan_storages[x]) f(reading_[s]);
    }
    /// Records that from here on, collective v reads its inputs and fills its results.
    void launch(new_id v) {
        each_storage(v, [v](std::vector<new_id>& flying) { flying.push_back(v); });
    }
    /// Records that a collective is complete. Only the first wait does so.
    void land(new_id start) {
        if (landed_[start]) return;
        landed_[start] = true;
        each_storage(start, [start](std::vector<new_id>& flying) { std::erase(flying, start); });
    }

    plan_match& m_;
    std::vector<std::vector<new_id>> filling_;  // by storage: the collectives in flight that write it
    std::vector<std::vector<new_id>> reading_;  // by storage: the collectives in flight that read it
    std::vector<bool> landed_;
    std::vector<bool> waited_for_;  // by start: whether the plan has a wait for it
};

}  // namespace stretto::detail

#endif
