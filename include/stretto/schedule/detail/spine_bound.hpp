// The spine bound sums the work that is enclosed between points of the critical path.
//
// Let c_0 .. c_L be the critical path. A task that comes after c_i and before c_j in the partial order runs between the
// end of c_i and the beginning of c_j, whatever else is decided. All such tasks of one machine must therefore fit into
// that gap one after the other:
//
//     begin(c_j) >= end(c_i) + least offset of the first + their work + least distance of the last to c_j
//
// Gaps (i, j) that follow each other along the path are disjoint, so a dynamic program over j adds them up. Only gaps
// that begin and end where work off the path begins and ends can matter; the program considers the last `window` of
// those for each machine. On forward steps the bound is 10-12 % higher than the better of critical path and load.
#ifndef STRETTO_SCHEDULE_DETAIL_SPINE_BOUND_HPP
#define STRETTO_SCHEDULE_DETAIL_SPINE_BOUND_HPP

#include <algorithm>
#include <vector>

#include "stretto/schedule/detail/path_lengths.hpp"

namespace stretto::detail {

/// A job of an additional machine that is not a machine of the graph. The job fits into the time from the beginning of
/// a node to `beyond` ns after the end of the node's work. The total work of all such jobs in a stretch of time is no
/// longer than the stretch.
struct further_job {
    std::uint32_t node;
    std::int64_t work;
    std::int64_t beyond;  ///< may be negative
};

/// Computes the bound. It raises `lengths.head` for nodes of the path that it finds to be later, and uses
/// `lengths.through` as scratch memory, so the contents of that array are lost. It takes O(V + E + V * window) time,
/// and O(V) space from the open scope of the workspace.
template <class = void>
class spine_bound {
public:
    /// `machines` are the machines whose work counts. Each list of `further` contains the jobs of one additional
    /// machine. Precondition: `window` is not 0.
    spine_bound(const compact_tasks& c, path_lengths& lengths, std::vector<std::uint32_t> machines,
                std::uint32_t window, workspace& w, std::vector<std::vector<further_job>> further = {})
        : c_(c), l_(lengths), machines_(std::move(machines)), window_(window), w_(w), further_(std::move(further)) {
        trace_path();
        label_nodes();
        bucket_by_out();
        // A job on the path counts as soon as the path has passed it.
        for (std::vector<further_job>& jobs : further_)
            std::stable_sort(jobs.begin(), jobs.end(), [&](const further_job& a, const further_job& b) {
                return counts_from(a.node) < counts_from(b.node);
            });
    }

    /// Returns a lower bound on the makespan.
    [[nodiscard]] std::int64_t run() {
        const std::uint32_t sink = length() - 1;
        const std::span<std::int64_t> end = w_.take<std::int64_t>(length());
        end[0] = 0;
        std::vector<lane> lanes(machines_.size() + further_.size(), lane(*this));
        std::vector<std::size_t> next(further_.size(), 0);
        for (std::uint32_t j = 1;; ++j) {
            for (std::size_t f = 0; f < further_.size(); ++f)
                for (; next[f] < further_[f].size() && counts_from(further_[f][next[f]].node) <= j; ++next[f])
                    enclose(lanes[machines_.size() + f], further_[f][next[f]], end, j);
            for (std::uint32_t k = first_out_[j]; k < first_out_[j + 1]; ++k) {
                const std::uint32_t n = by_out_[k], i = in_[n];
                lanes[slot_[c_.machine[n]]].enclose(
                    i, end[i], {c_.duration[n], prefix_[i] + offset_[n], reach_[n] - prefix_[j - 1]});
            }
            std::int64_t begin = end[j - 1];
            if (j != sink) begin = std::max(begin, l_.head[path_[j]]);
            for (lane& m : lanes) begin = std::max(begin, m.latest_begin(j));
            if (j == sink) return begin;
            const std::uint32_t n = path_[j];
            end[j] = begin + c_.duration[n];
            l_.head[n] = begin;
            if (const std::size_t slot = slot_[c_.machine[n]]; slot < machines_.size())
                lanes[slot].pass(j, c_.duration[n]);
        }
    }

private:
    static constexpr std::int64_t far = INT64_MAX / 8;
    static constexpr std::uint32_t off_path = UINT32_MAX;

    /// Work of one machine off the path. Times are measured along the path: `first` is the time from its beginning to
    /// the earliest beginning of the work; `last` is the time from the latest end of the work to the point in question,
    /// less the length of the path up to that point.
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

    /// One machine along the path. Among the positions after which work off the path begins, only the last `window` can
    /// still matter.
    class lane {
    public:
        explicit lane(const spine_bound& s) : s_(s) { origins_.reserve(2 * std::size_t{s.window_}); }

        /// Adds a node whose `in` is i and whose `out` is the position of the next query. `end` is the end of c_i.
        void enclose(std::uint32_t i, std::int64_t end, const enclosed& e) {
            const auto before = [](std::uint32_t at, const auto& o) { return at < o.position; };
            const std::size_t outside = origins_.size() - std::min<std::size_t>(origins_.size(), s_.window_);
            if (outside > 0 && i < origins_[outside].position) return;
            auto place = std::upper_bound(origins_.begin(), origins_.end(), i, before);
            changed_ = true;
            if (place != origins_.begin() && place[-1].position == i) {
                place[-1].after.add(e);
                return;
            }
            if (outside == s_.window_) {
                const auto kept = origins_.end() - place;
                origins_.erase(origins_.begin(), origins_.begin() + static_cast<std::ptrdiff_t>(outside));
                place = origins_.end() - kept;
            }
            const auto next = std::upper_bound(path_.begin(), path_.end(), i, before);
            origins_.insert(place, {i, static_cast<std::uint32_t>(next - path_.begin()), end - s_.prefix_[i],
                                    next == path_.begin() ? 0 : next[-1].work, e});
        }

        /// Adds c_j, which occupies this machine for `work`.
        void pass(std::uint32_t j, std::int64_t work) {
            path_.push_back({j, work + (path_.empty() ? 0 : path_.back().work)});
        }

        /// Returns the latest of all lower bounds on the beginning of c_j that gaps of this machine imply.
        [[nodiscard]] std::int64_t latest_begin(std::uint32_t j) {
            if (!changed_) return 0;
            changed_ = false;
            std::int64_t latest = 0;
            const std::int64_t so_far = s_.prefix_[j - 1];
            enclosed gap;
            std::uint32_t seen = 0;
            for (std::size_t k = origins_.size(); k-- > 0 && seen < s_.window_; ++seen) {
                const origin& o = origins_[k];
                gap.add(o.after);
                std::int64_t work = gap.work, first = gap.first, last = gap.last;
                if (o.next_on_path < path_.size()) {
                    work += path_.back().work - o.work;
                    first = std::min(first, s_.prefix_[path_[o.next_on_path].position - 1]);
                    last = std::min(last, -s_.prefix_[path_.back().position]);
                }
                latest = std::max(latest, o.slack + first + work + last + so_far);
            }
            return latest;
        }

    private:
        /// The nodes of this machine that have been seen so far and whose `in` is `position`.
        struct origin {
            std::uint32_t position;
            std::uint32_t next_on_path;  // the index of the first entry of `path_` after it
            std::int64_t slack;  // the end of the path node at this position, less the length of the path up to it
            std::int64_t work;   // the work of `path_` up to this position
            enclosed after;
        };
        /// A path node of this machine, with the total work of its path nodes up to and including this one.
        struct on_path {
            std::uint32_t position;
            std::int64_t work;
        };

        const spine_bound& s_;
        std::vector<origin> origins_;  // by position; up to two windows of them, so that they are moved rarely
        std::vector<on_path> path_;    // those before the position of the query
        bool changed_ = false;
    };

    /// Returns the first position of the path before which a node counts.
    [[nodiscard]] std::uint32_t counts_from(std::uint32_t n) const {
        return position_[n] == off_path ? out_[n] : position_[n] + 1;
    }
    /// Adds a job before the query for c_j. The job may extend beyond c_j, which need not wait for its end; all of it
    /// counts only if another job follows. So its distance to c_j, measured from its end, may be negative.
    void enclose(lane& machine, const further_job& job, std::span<const std::int64_t> end, std::uint32_t j) const {
        const std::uint32_t n = job.node, at = position_[n];
        if (at != off_path)
            machine.enclose(at - 1, end[at - 1], {job.work, prefix_[at - 1], -prefix_[at] - job.beyond});
        else
            machine.enclose(in_[n], end[in_[n]],
                            {job.work, prefix_[in_[n]] + offset_[n], reach_[n] - job.beyond - prefix_[j - 1]});
    }

    [[nodiscard]] std::uint32_t length() const { return static_cast<std::uint32_t>(path_.size()); }

    /// Finds the critical path. Its first and last positions are a source and a sink without work.
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
        prefix_ = w_.take<std::int64_t>(length());
        prefix_[0] = 0;
        position_ = w_.take(c_.size(), off_path);
        for (std::uint32_t j = 1; j + 1 < length(); ++j) {
            position_[path_[j]] = j;
            prefix_[j] = prefix_[j - 1] + c_.duration[path_[j]];
        }
        prefix_.back() = prefix_[length() - 2];
    }

    /// Labels every node. `in` is the last path position that the node comes after, and `offset` the longest path from
    /// there to its beginning. `out` is the first path position that it comes before, and `reach` the longest path from
    /// its end to there.
    void label_nodes() {
        const std::uint32_t sink = length() - 1;
        in_ = w_.take<std::uint32_t>(c_.size());
        out_ = w_.take<std::uint32_t>(c_.size());
        offset_ = l_.through;  // not needed any more once the path is known
        reach_ = w_.take<std::int64_t>(c_.size());
        for (std::uint32_t n = 0; n < c_.size(); ++n) {
            std::uint32_t in = 0;
            std::int64_t offset = 0;
            for (std::uint32_t p : c_.predecessors[n]) {
                const bool ended = needs_end(c_, p, n);
                const bool on_path = position_[p] != off_path && ended;
                const std::uint32_t from = on_path ? position_[p] : in_[p];
                const std::int64_t through = on_path ? 0 : offset_[p] + (ended ? c_.duration[p] : 0);
                if (from > in) offset = through;
                else if (from == in) offset = std::max(offset, through);
                in = std::max(in, from);
            }
            in_[n] = in;
            offset_[n] = offset;
        }
        for (std::uint32_t n = c_.size(); n-- > 0;) {
            std::uint32_t out = sink;
            std::int64_t reach = 0;
            for (std::uint32_t s : c_.successors[n]) {
                if (!needs_end(c_, n, s)) continue;
                const bool on_path = position_[s] != off_path;
                const std::uint32_t to = on_path ? position_[s] : out_[s];
                const std::int64_t through = on_path ? 0 : reach_[s] + c_.duration[s];
                if (to < out) reach = through;
                else if (to == out) reach = std::max(reach, through);
                out = std::min(out, to);
            }
            out_[n] = out;
            reach_[n] = reach;
        }
    }

    /// Sorts the nodes that count by their `out`, which is the position at which the dynamic program adds them.
    void bucket_by_out() {
        slot_.assign(c_.machines + 1, machines_.size());
        for (std::size_t k = 0; k < machines_.size(); ++k) slot_[machines_[k]] = k;
        first_out_ = w_.take(length() + 1, 0u);
        auto counts = [&](std::uint32_t n) {
            return c_.duration[n] > 0 && position_[n] == off_path && slot_[c_.machine[n]] < machines_.size();
        };
        for (std::uint32_t n = 0; n < c_.size(); ++n)
            if (counts(n)) ++first_out_[out_[n] + 1];
        for (std::uint32_t j = 0; j < length(); ++j) first_out_[j + 1] += first_out_[j];
        by_out_ = w_.take<std::uint32_t>(first_out_.back());
        const workspace::scope scratch(w_);
        const std::span<std::uint32_t> next = w_.take<std::uint32_t>(length());
        std::copy(first_out_.begin(), first_out_.end() - 1, next.begin());
        for (std::uint32_t n = 0; n < c_.size(); ++n)
            if (counts(n)) by_out_[next[out_[n]]++] = n;
    }

    const compact_tasks& c_;
    path_lengths& l_;
    std::vector<std::uint32_t> machines_;
    std::uint32_t window_;
    workspace& w_;
    std::vector<std::vector<further_job>> further_;  // by the position from which they count
    std::vector<std::uint32_t> path_;                // by position: its node
    std::span<std::uint32_t> position_;              // by node: its position
    std::span<std::int64_t> prefix_;                 // by position: the work of the path up to and including it
    std::span<std::uint32_t> in_, out_;
    std::span<std::int64_t> offset_, reach_;
    std::vector<std::size_t> slot_;  // by machine: its index in machines_
    std::span<std::uint32_t> first_out_, by_out_;
};

}  // namespace stretto::detail

#endif
