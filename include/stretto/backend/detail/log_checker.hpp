// Checks a log for check_log. It derives two relations over the entries: which pairs must be ordered, from the task
// graph and from the bytes that tasks use, and which pairs are ordered, from the log alone. The latter is the
// happens-before relation, as a bit matrix. A fault is a pair of the first relation that is missing in the second.
#ifndef STRETTO_BACKEND_DETAIL_LOG_CHECKER_HPP
#define STRETTO_BACKEND_DETAIL_LOG_CHECKER_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/backend/check_log.hpp"
#include "stretto/backend/memory_access.hpp"

namespace stretto::detail {

/// Checks one log of one rank. Entries on one lane are ordered, a wait is ordered after the last record of its event
/// before it, and every entry is ordered after what the host had waited for before it put the entry. Nothing else is
/// ordered, even if it was logged in that order, because another run may interleave the lanes differently.
template <class = void>
class log_checker {
public:
    log_checker(const task_graph& g, const arena_plan& arena, const run_log& log)
        : g_(g), arena_(arena), log_(log), words_((log.size() + 63) / 64) {}

    /// Returns all findings, by entry; if launches or events are at fault, only these. Redundant waits are looked for
    /// only in logs without other findings, because if some pair is not ordered, every wait looks needed. Call it once.
    /// O(entries^2 accesses^2), plus one close() and a check of all requirements for every wait, so it is meant for
    /// small programs.
    std::vector<log_finding> run() {
        if (!find_launches()) return std::move(found_);
        find_accesses();
        find_required();
        const std::vector<std::uint64_t> before = close(none);
        for (const requirement& r : required_)
            if (!has(before, r.second, r.first)) report(r);
        check_contents();
        std::stable_sort(found_.begin(), found_.end(),
                         [](const log_finding& a, const log_finding& b) { return a.entry < b.entry; });
        if (found_.empty()) find_redundant_waits();
        return std::move(found_);
    }

private:
    static constexpr std::uint32_t none = UINT32_MAX;
    /// Entry `first` must be complete before entry `second` begins, for the reason that is reported if it need not be.
    struct requirement {
        std::uint32_t first, second;
        log_finding::reason why;
    };
    /// Bytes that a launch uses. The arena is space 0, and every storage outside of it is a space of its own.
    struct access {
        std::uint32_t space;
        std::int64_t begin, end;
        value_id storage;
        bool writes;
    };

    /// Finds the entry of every task, and for every entry what directly precedes it: the previous entry of its lane,
    /// the record of the event for which it waits, and the last settle. Returns whether there is no fault so far.
    bool find_launches() {
        using why = log_finding::reason;
        launched_.assign(g_.size(), none);
        recorded_.assign(log_.size(), none);
        previous_.assign(log_.size(), none);
        settled_.assign(log_.size(), none);
        std::uint32_t settled = none;
        task_id unread = no_task;  // a task whose number the host will read but has not yet waited for
        std::vector<std::uint32_t> last_of_lane(g_.groups + 1, none), record_of;
        for (std::uint32_t at = 0; at < log_.size(); ++at) {
            const log_entry& e = log_[at];
            previous_[at] = std::exchange(last_of_lane[e.lane], at);
            settled_[at] = settled;
            if (e.what == log_entry::form::settle) {
                settled = at;
                if (e.lane == 0) unread = no_task;
                continue;
            }
            if (e.what == log_entry::form::launch) {
                const task_id t = e.which;
                const std::uint32_t lane = g_.kind[t] == op_kind::start ? 1 + g_.group[t] : 0;
                if (launched_[t] != none) found_.push_back({why::launched_twice, at, t});
                if (lane != e.lane) found_.push_back({why::wrong_lane, at, t});
                launched_[t] = at;
                if (unread != no_task) found_.push_back({why::not_held, at, t, unread});
                unread = g_.holds_host(t) ? t : no_task;
                continue;
            }
            if (e.which >= record_of.size()) record_of.resize(e.which + std::size_t{1}, none);
            if (e.what == log_entry::form::record) record_of[e.which] = at;
            else if (record_of[e.which] == none) found_.push_back({why::unrecorded_event, at});
            else recorded_[at] = record_of[e.which];
        }
        for (task_id t = 0; t < g_.size(); ++t)
            if ((does_work(g_.kind[t]) || g_.holds_host(t)) && launched_[t] == none)
                found_.push_back({why::missing_task, 0, t});
        return found_.empty();
    }

    /// Lists the bytes that each entry reads and writes. The addresses of storages outside of the arena are unknown
    /// here; each of them counts as one byte in a space of its own, so it conflicts with itself and with nothing else.
    void find_accesses() {
        accesses_.resize(log_.size());
        for (task_id t = 0; t < g_.size(); ++t)
            for_each_access(g_, t, [&](value_id s, bool writes) {
                const bool inside = arena_.holds(s);
                const std::int64_t begin = inside ? arena_.offset[s] : 0;
                const std::int64_t size = inside ? g_.allocation[s].count : 1;
                accesses_[launched_[t]].push_back({inside ? 0 : 1 + s, begin, begin + size, s, writes});
            });
    }

    /// Lists the pairs of entries that must be ordered.
    void find_required() {
        using why = log_finding::reason;
        for (std::uint32_t b = 0; b < log_.size(); ++b)
            for (std::uint32_t a = 0; a < b; ++a)
                if (conflict(a, b)) required_.push_back({a, b, why::race});
        // A task without an entry passes on what it must come after: its predecessors, and for a wait the collective.
        std::vector<std::vector<std::uint32_t>> after(g_.size());
        const auto unite = [](std::vector<std::uint32_t>& into, const std::vector<std::uint32_t>& other) {
            into.insert(into.end(), other.begin(), other.end());
            std::sort(into.begin(), into.end());
            into.erase(std::unique(into.begin(), into.end()), into.end());
        };
        for (task_id t = 0; t < g_.size(); ++t) {
            for (const task_id p : g_.predecessors[t]) {
                if (g_.kind[p] == op_kind::start) continue;
                if (launched_[p] == none) unite(after[t], after[p]);
                else unite(after[t], {launched_[p]});
            }
            if (g_.launch[t] != no_task) unite(after[t], {launched_[g_.launch[t]]});
            if (launched_[t] == none) continue;
            for (const std::uint32_t first : after[t])
                if (first > launched_[t] || !conflict(first, launched_[t]))
                    required_.push_back({first, launched_[t], why::unordered});
        }
    }
    /// Returns whether two entries use a common byte, and at least one of them writes it.
    [[nodiscard]] bool conflict(std::uint32_t a, std::uint32_t b) const {
        for (const access& x : accesses_[a])
            for (const access& y : accesses_[b])
                if ((x.writes || y.writes) && x.space == y.space && x.begin < y.end && y.begin < x.end) return true;
        return false;
    }

    /// Returns the happens-before relation as a bit matrix: row k has a bit for every entry that is complete before
    /// entry k begins. It ignores the wait `without`, unless that is `none`. O(entries^2 / 64).
    [[nodiscard]] std::vector<std::uint64_t> close(std::uint32_t without) const {
        std::vector<std::uint64_t> before(log_.size() * words_);
        for (std::uint32_t at = 0; at < log_.size(); ++at)
            for (const std::uint32_t from : {previous_[at], settled_[at], at == without ? none : recorded_[at]}) {
                if (from == none) continue;
                for (std::size_t w = 0; w < words_; ++w) before[at * words_ + w] |= before[from * words_ + w];
                before[at * words_ + from / 64] |= std::uint64_t{1} << from % 64;
            }
        return before;
    }
    /// Returns whether `entry` is complete before entry `at` begins, according to the result of close().
    [[nodiscard]] bool has(const std::vector<std::uint64_t>& before, std::uint32_t at, std::uint32_t entry) const {
        return (before[at * words_ + entry / 64] >> entry % 64 & 1) != 0;
    }
    /// Adds a finding. It is placed at the later entry, where a reader of the log has seen both.
    void report(const requirement& r) {
        found_.push_back({r.why, std::max(r.first, r.second), log_[r.second].which, log_[r.first].which});
    }

    /// Finds reads of bytes that hold no data or those of another storage. It tracks, launch by launch, which storage
    /// each part of the arena holds. The order of the log suffices for that, because conflicting entries that are not
    /// ordered have been reported already.
    void check_contents() {
        using why = log_finding::reason;
        std::vector<std::int64_t> ends;
        for (value_id s = 0; s < g_.allocation.size(); ++s)
            if (arena_.holds(s)) {
                ends.push_back(arena_.offset[s]);
                ends.push_back(arena_.offset[s] + g_.allocation[s].count);
            }
        std::sort(ends.begin(), ends.end());
        ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
        const auto place = [&](std::int64_t end) {
            return static_cast<std::size_t>(std::lower_bound(ends.begin(), ends.end(), end) - ends.begin());
        };
        std::vector<value_id> holds(ends.size(), none);
        for (std::uint32_t at = 0; at < log_.size(); ++at)
            for (const bool writes : {false, true})
                for (const access& a : accesses_[at]) {
                    // Memory that a view or a wait allocates is never written, and has no defined contents.
                    if (a.space != 0 || a.writes != writes || !does_work(g_.kind[g_.storage_owner[a.storage]]))
                        continue;
                    bool empty = false, foreign = false;
                    for (std::size_t k = place(a.begin); k < place(a.end); ++k) {
                        empty = empty || holds[k] == none;
                        foreign = foreign || (holds[k] != none && holds[k] != a.storage);
                        if (writes) holds[k] = a.storage;
                    }
                    if (!writes && (empty || foreign))
                        found_.push_back(
                            {foreign ? why::after_free : why::before_ready, at, log_[at].which, no_task, a.storage});
                }
    }

    /// Reports every wait without which everything that must be ordered is still ordered. Waits are omitted one at a
    /// time: of two waits with the same effect both are reported, and only one of them may be removed.
    void find_redundant_waits() {
        for (std::uint32_t at = 0; at < log_.size(); ++at) {
            if (log_[at].what != log_entry::form::wait) continue;
            const std::vector<std::uint64_t> before = close(at);
            const bool needed = std::any_of(required_.begin(), required_.end(),
                                            [&](const requirement& r) { return !has(before, r.second, r.first); });
            if (!needed) found_.push_back({log_finding::reason::redundant_wait, at});
        }
    }

    const task_graph& g_;
    const arena_plan& arena_;
    const run_log& log_;
    std::size_t words_;
    std::vector<std::uint32_t> launched_;        // by task: its entry
    std::vector<std::uint32_t> recorded_;        // by entry: for a wait, the record that it waits for
    std::vector<std::uint32_t> previous_;        // by entry: the previous entry of its lane
    std::vector<std::uint32_t> settled_;         // by entry: the last settle before it
    std::vector<std::vector<access>> accesses_;  // by entry
    std::vector<requirement> required_;
    std::vector<log_finding> found_;
};

}  // namespace stretto::detail

namespace stretto {

template <class>
std::vector<log_finding> check_log(const task_graph& g, const arena_plan& arena, const run_log& log) {
    return detail::log_checker(g, arena, log).run();
}

}  // namespace stretto

#endif
