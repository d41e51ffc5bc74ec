// The spine bound: work enclosed between points of the critical path, summed along it.
//
// Let c_0 .. c_L be the critical path. A task that comes after c_i and before c_j in the partial order runs between
// the end of c_i and the beginning of c_j, whatever else is decided. All such tasks of one machine therefore fit into
// that gap one after the other:
//
//     begin(c_j) >= end(c_i) + least offset of the first + their work + least distance of the last to c_j
//
// Gaps (i, j) that follow each other along the path are disjoint, so a dynamic program over j, looking back at most
// `window` positions, adds them up. On forward steps this is worth 10-12 % over critical path and load.
#ifndef STRETTO_SCHEDULE_DETAIL_SPINE_BOUND_HPP
#define STRETTO_SCHEDULE_DETAIL_SPINE_BOUND_HPP

#include <algorithm>
#include <vector>

#include "stretto/schedule/detail/path_lengths.hpp"

namespace stretto::detail {

/// `machines`: those to look at. Raises `lengths.head` of the path's nodes where the program finds them later.
/// O(V + E + L * window * machines) time, O(V + L * machines) space.
class spine_bound {
public:
    spine_bound(const compact_tasks& c, path_lengths& lengths, std::vector<std::uint32_t> machines,
                std::uint32_t window)
        : c_(c), l_(lengths), machines_(std::move(machines)), window_(window) {
        trace_path();
        label_nodes();
    }

    [[nodiscard]] std::int64_t run() {
        bucket_by_out();
        const std::size_t width = machines_.size();
        const std::uint32_t sink = length() - 1;
        std::vector<std::int64_t> end(length(), 0);
        std::vector<enclosed> between(length() * width);  // [i][m]: nodes with in = i and out <= j
        std::vector<enclosed> gap(width);
        for (std::uint32_t j = 1; j < length(); ++j) {
            for (std::uint32_t k = first_out_[j]; k < first_out_[j + 1]; ++k) {
                const std::uint32_t n = by_out_[k];
                if (in_[n] + window_ < j) continue;
                enclosed& e = between[in_[n] * width + slot_[c_.machine[n]]];
                e.work += c_.duration[n];
                e.offset = std::min(e.offset, offset_[n]);
                e.reach = std::min(e.reach, reach_[n] - prefix_[j - 1]);
            }
            std::int64_t begin = end[j - 1];
            if (j != sink) begin = std::max(begin, l_.head[path_[j]]);
            std::fill(gap.begin(), gap.end(), enclosed{});
            const std::uint32_t stop = j > window_ ? j - window_ : 0;
            for (std::uint32_t i = j; i-- > stop;) {
                for (std::size_t m = 0; m < width; ++m) {
                    enclosed& g = gap[m];
                    g.offset += prefix_[i + 1] - prefix_[i];
                    if (i + 1 != j && slot_[c_.machine[path_[i + 1]]] == m) {
                        g.work += c_.duration[path_[i + 1]];
                        g.offset = 0;
                        g.reach = std::min(g.reach, -prefix_[i + 1]);
                    }
                    const enclosed& e = between[i * width + m];
                    g.work += e.work;
                    g.offset = std::min(g.offset, e.offset);
                    g.reach = std::min(g.reach, e.reach);
                    if (g.work > 0) begin = std::max(begin, end[i] + g.offset + g.work + g.reach + prefix_[j - 1]);
                }
            }
            end[j] = begin;
            if (j == sink) break;
            end[j] += c_.duration[path_[j]];
            l_.head[path_[j]] = begin;
        }
        return end[sink];
    }

private:
    /// Work of one machine inside a gap. `reach` is relative to the beginning of the path.
    struct enclosed {
        std::int64_t work = 0;
        std::int64_t offset = far;
        std::int64_t reach = far;
    };
    static constexpr std::int64_t far = INT64_MAX / 8;
    static constexpr std::uint32_t off_path = UINT32_MAX;

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
