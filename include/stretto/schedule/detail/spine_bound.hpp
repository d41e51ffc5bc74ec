// The spine bound: work enclosed between points of the critical path, summed along it.
//
// Let c_0 .. c_L be the critical path. A task that comes after c_i and before c_j in the partial order runs between
// the end of c_i and the beginning of c_j, whatever else is decided. All such tasks of one machine therefore fit into
// that gap one after the other:
//
//     begin(c_j) >= end(c_i) + least offset of the first + their work + least distance of the last to c_j
//
// Gaps (i, j) that follow each other along the path are disjoint, so a dynamic program over j adds them up. Only gaps
// that begin and end where work off the path begins and ends can matter; the program looks back over `window` of those
// per machine. On forward steps the bound is worth 10-12 % over critical path and load.
#ifndef STRETTO_SCHEDULE_DETAIL_SPINE_BOUND_HPP
#define STRETTO_SCHEDULE_DETAIL_SPINE_BOUND_HPP

#include <algorithm>
#include <vector>

#include "stretto/schedule/detail/path_lengths.hpp"

namespace stretto::detail {

/// Raises `lengths.head` of the path's nodes where the program finds them later.
/// O(V + E + V * window) time, O(V + L * machines) space.
template <class = void>
class spine_bound {
public:
    /// `machines`: those whose work counts.
    spine_bound(const compact_tasks& c, path_lengths& lengths, std::vector<std::uint32_t> machines,
                std::uint32_t window)
        : c_(c), l_(lengths), machines_(std::move(machines)), window_(window) {
        trace_path();
        label_nodes();
        bucket_by_out();
    }

    /// The bound on the step.
    [[nodiscard]] std::int64_t run() {
        const std::uint32_t sink = length() - 1;
        std::vector<std::int64_t> end(length(), 0);
        std::vector<lane> lanes;
        for (std::uint32_t m : machines_) lanes.emplace_back(*this, m);
        for (std::uint32_t j = 1; j < length(); ++j) {
            for (std::uint32_t k = first_out_[j]; k < first_out_[j + 1]; ++k) {
                const std::uint32_t n = by_out_[k];
                lanes[slot_[c_.machine[n]]].enclose(
                    in_[n], {c_.duration[n], prefix_[in_[n]] + offset_[n], reach_[n] - prefix_[j - 1]});
            }
            std::int64_t begin = end[j - 1];
            if (j != sink) begin = std::max(begin, l_.head[path_[j]]);
            for (lane& m : lanes) begin = std::max(begin, m.latest_begin(j, end));
            end[j] = begin;
            if (j == sink) break;
            end[j] += c_.duration[path_[j]];
            l_.head[path_[j]] = begin;
        }
        return end[sink];
    }

private:
    static constexpr std::int64_t far = INT64_MAX / 8;
    static constexpr std::uint32_t off_path = UINT32_MAX;

    /// Work of one machine off the path. Times count along the path: `first`, from its beginning to the earliest begin;
    /// `last`, from the latest end to the point in question, less the path up to there.
    struct enclosed {
        std::int64_t work = 0;
        std::int64_t first = far;
        std::int64_t last = far;

        void add(const enclosed& e) {
            work += e.work;
            first = std::min(first, e.first);
            last = std::min(last, e.last);
        }
    };

    /// One machine along the path.
    class lane {
    public:
        lane(const spine_bound& s, std::uint32_t machine) : s_(s), after_(s.length()), work_(s.length(), 0) {
            next_.assign(s.length(), s.length());
            previous_.assign(s.length(), 0);
            for (std::uint32_t j = 1; j + 1 < s.length(); ++j) {
                const bool mine = s.c_.machine[s.path_[j]] == machine;
                work_[j] = work_[j - 1] + (mine ? s.c_.duration[s.path_[j]] : 0);
                previous_[j] = mine ? j : previous_[j - 1];
            }
            for (std::uint32_t j = s.length() - 1; j-- > 0;) next_[j] = work_[j + 1] > work_[j] ? j + 1 : next_[j + 1];
        }

        /// Adds a node with in = i; its out is the position that is asked about next.
        void enclose(std::uint32_t i, const enclosed& e) {
            if (after_[i].work == 0) origins_.insert(std::upper_bound(origins_.begin(), origins_.end(), i), i);
            after_[i].add(e);
            changed_ = true;
        }

        /// The latest of all lower bounds on the begin of c_j that gaps of this machine imply.
        [[nodiscard]] std::int64_t latest_begin(std::uint32_t j, const std::vector<std::int64_t>& end) {
            if (!changed_) return 0;
            changed_ = false;
            const std::uint32_t on_path = previous_[j - 1];  // last path node of this machine before c_j
            std::int64_t latest = 0;
            enclosed gap;
            std::uint32_t seen = 0;
            for (std::size_t k = origins_.size(); k-- > 0 && seen < s_.window_; ++seen) {
                const std::uint32_t i = origins_[k];
                gap.add(after_[i]);
                std::int64_t work = gap.work, first = gap.first, last = gap.last;
                if (on_path > i) {
                    work += work_[j - 1] - work_[i];
                    first = std::min(first, s_.prefix_[next_[i] - 1]);
                    last = std::min(last, -s_.prefix_[on_path]);
                }
                latest = std::max(latest, end[i] - s_.prefix_[i] + first + work + last + s_.prefix_[j - 1]);
            }
            return latest;
        }

    private:
        const spine_bound& s_;
        std::vector<enclosed> after_;          // [i]: nodes with in = i seen so far
        std::vector<std::uint32_t> origins_;   // the i with such nodes, ascending
        std::vector<std::int64_t> work_;       // of this machine's path nodes up to a position
        std::vector<std::uint32_t> next_;      // first path node of this machine behind a position
        std::vector<std::uint32_t> previous_;  // last one up to a position, or 0
        bool changed_ = false;
    };

    [[nodiscard]] std::uint32_t length() const { return static_cast<std::uint32_t>(path_.size()); }

    /// Positions 0 and the last are a source and a sink without work.
    void trace_path() {
        std::uint32_t n = no_node;
        for (std::uint32_t k = 0; k < c_.size() && n == no_node; ++k)
            if (l_.head[k] == 0 && l_.through[k] == l_.critical) n = k;
        path_.push_back(no_node);
        while (n != no_node) {
            const bool begun_only = l_.through[n] > c_.duration[n] + l_.tail[n];
            if (!begun_only && c_.duration[n] > 0) path_.push_back(n);
            const std::int64_t rest = l_.through[n] - (begun_only ? 0 : c_.duration[n]);
            std::uint32_t next = no_node;
            for (std::uint32_t s : c_.successors[n])
                if (needs_end(c_, n, s) != begun_only && l_.through[s] == rest) {
                    next = s;
                    break;
                }
            n = next;
        }
        path_.push_back(no_node);
        prefix_.assign(length(), 0);
        position_.assign(c_.size(), off_path);
        for (std::uint32_t j = 1; j + 1 < length(); ++j) {
            position_[path_[j]] = j;
            prefix_[j] = prefix_[j - 1] + c_.duration[path_[j]];
        }
        prefix_.back() = prefix_[length() - 2];
    }

    /// in: last path position that a node comes after; offset: longest path from there to its beginning.
    /// out: first path position that it comes before; reach: longest path from its end to there.
    void label_nodes() {
        const std::uint32_t sink = length() - 1;
        in_.assign(c_.size(), 0);
        out_.assign(c_.size(), sink);
        offset_.assign(c_.size(), 0);
        reach_.assign(c_.size(), 0);
        for (std::uint32_t n = 0; n < c_.size(); ++n)
            for (std::uint32_t p : c_.predecessors[n]) {
                const bool ended = needs_end(c_, p, n);
                const bool on_path = position_[p] != off_path && ended;
                const std::uint32_t in = on_path ? position_[p] : in_[p];
                const std::int64_t offset = on_path ? 0 : offset_[p] + (ended ? c_.duration[p] : 0);
                if (in > in_[n]) {
                    in_[n] = in;
                    offset_[n] = offset;
                } else if (in == in_[n]) {
                    offset_[n] = std::max(offset_[n], offset);
                }
            }
        for (std::uint32_t n = c_.size(); n-- > 0;)
            for (std::uint32_t s : c_.successors[n]) {
                if (!needs_end(c_, n, s)) continue;
                const bool on_path = position_[s] != off_path;
                const std::uint32_t out = on_path ? position_[s] : out_[s];
                const std::int64_t reach = on_path ? 0 : reach_[s] + c_.duration[s];
                if (out < out_[n]) {
                    out_[n] = out;
                    reach_[n] = reach;
                } else if (out == out_[n]) {
                    reach_[n] = std::max(reach_[n], reach);
                }
            }
    }

    void bucket_by_out() {
        slot_.assign(c_.machines + 1, machines_.size());
        for (std::size_t k = 0; k < machines_.size(); ++k) slot_[machines_[k]] = k;
        first_out_.assign(length() + 1, 0);
        auto counts = [&](std::uint32_t n) {
            return c_.duration[n] > 0 && position_[n] == off_path && slot_[c_.machine[n]] < machines_.size();
        };
        for (std::uint32_t n = 0; n < c_.size(); ++n)
            if (counts(n)) ++first_out_[out_[n] + 1];
        for (std::uint32_t j = 0; j < length(); ++j) first_out_[j + 1] += first_out_[j];
        by_out_.resize(first_out_.back());
        std::vector<std::uint32_t> next(first_out_.begin(), first_out_.end() - 1);
        for (std::uint32_t n = 0; n < c_.size(); ++n)
            if (counts(n)) by_out_[next[out_[n]]++] = n;
    }

    const compact_tasks& c_;
    path_lengths& l_;
    std::vector<std::uint32_t> machines_;
    std::uint32_t window_;
    std::vector<std::uint32_t> path_;      // position -> node
    std::vector<std::uint32_t> position_;  // node -> position
    std::vector<std::int64_t> prefix_;     // work of the path up to and including a position
    std::vector<std::uint32_t> in_, out_;
    std::vector<std::int64_t> offset_, reach_;
    std::vector<std::size_t> slot_;  // machine -> its place in machines_
    std::vector<std::uint32_t> first_out_, by_out_;
};

}  // namespace stretto::detail

#endif
