// Reductions that stall an order are moved to where memory has room for them. A gradient that few operations need soon,
// such as one of the output layer, which the loss computes in parts, may occupy much memory until it has been reduced.
// Where memory is scarce, the order then waits for the reduction. A pass cannot defer one such gradient, because the
// next one is as large, and the witness leaves no room for what the first one is made of. But all of them together can
// wait until the backward pass has freed activations.
#ifndef STRETTO_SCHEDULE_DETAIL_LATE_REDUCTIONS_HPP
#define STRETTO_SCHEDULE_DETAIL_LATE_REDUCTIONS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "stretto/schedule/detail/compact_tasks.hpp"
#include "stretto/schedule/detail/held_launches.hpp"
#include "stretto/schedule/detail/path_lengths.hpp"
#include "stretto/schedule/detail/workspace.hpp"

namespace stretto::detail {

/// Returns the waits of reductions to move: those that stall an order, and those that send as much as the ones that
/// stall it for longest in total, because such a reduction needs as much room, whether it stalls the order or not. At
/// most 64 that send most. A collective counts as a reduction if what follows it takes no longer than itself. O(V + E).
template <class = void>
[[nodiscard]] inline std::vector<std::uint32_t> reductions_to_move(const compact_tasks& c,
                                                                   std::span<const std::uint32_t> order, workspace& w) {
    constexpr std::size_t most = 64;
    const workspace::scope scratch(w);
    const path_lengths lengths = longest_paths(c, w);
    const order_times times = times_of(c, order, w);
    struct reduction {
        std::uint32_t wait;
        std::int64_t sends, stall;
    };
    std::vector<reduction> all;
    std::map<std::int64_t, std::int64_t> stalls;  // by what is sent
    for (std::uint32_t p = 0; p < order.size(); ++p) {
        const std::uint32_t n = order[p];
        if (c.kind[n] != compact_tasks::role::wait || lengths.tail[c.launch[n]] > c.duration[c.launch[n]]) continue;
        std::int64_t sends = 0;
        for (const std::uint32_t s : c.touched[c.launch[n]]) sends = std::max(sends, c.storage_bytes[s]);
        const std::int64_t stall = times.lane[p + std::size_t{1}] - times.lane[p];
        all.push_back({n, sends, stall > times.makespan / 2048 ? stall : 0});
        stalls[sends] += all.back().stall;
    }
    const auto worst = std::max_element(stalls.begin(), stalls.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
    if (worst == stalls.end() || worst->second == 0) return {};
    std::erase_if(all, [&](const reduction& r) { return r.stall == 0 && r.sends != worst->first; });
    std::stable_sort(all.begin(), all.end(), [](const reduction& a, const reduction& b) { return a.sends > b.sends; });
    if (all.size() > most) all.resize(most);
    std::vector<std::uint32_t> waits;
    for (const reduction& r : all) waits.push_back(r.wait);
    return waits;
}

/// Moves reductions of one order, each with the kernels that make what it sends.
template <class = void>
class late_reductions {
    using role = compact_tasks::role;

public:
    /// `order` contains every node once and respects dependences. The arrays are taken from the open scope of the
    /// workspace.
    late_reductions(const compact_tasks& c, std::span<const std::uint32_t> order, workspace& w)
        : c_(c),
          order_(order.begin(), order.end()),
          position_(w.take<std::uint32_t>(c.size())),
          before_(w.take(c.size() + std::size_t{1}, std::int64_t{0})),
          maker_(w.take(c.storage_bytes.size(), no_node)),
          last_(w.take(c.storage_bytes.size(), 0u)),
          is_moved_(w.take(c.size(), std::uint8_t{0})),
          is_kept_(w.take(c.storage_bytes.size(), std::uint8_t{0})),
          missing_(w.take<std::uint32_t>(c.size())) {
        for (std::uint32_t n : order_)
            for (std::uint32_t s : c.touched[n])
                if (maker_[s] == no_node) maker_[s] = n;
        settle(0, c.size());
    }

    /// Returns an order within `limit` in which reductions come later, each where it fits until it has ended; together
    /// they send as much as possible. `waits` are those of the reductions. Returns nothing if none can move. It makes
    /// up to eight tries, each of which takes O(V), and time proportional to the distance by which each reduction
    /// moves.
    [[nodiscard]] std::vector<std::uint32_t> moved(std::vector<std::uint32_t> waits, std::int64_t limit) {
        std::sort(waits.begin(), waits.end(),
                  [&](std::uint32_t a, std::uint32_t b) { return position_[a] < position_[b]; });
        const std::vector<std::uint32_t> given = order_;
        std::vector<std::uint32_t> best;
        std::int64_t most = 0;
        // What the first ones are made of would be kept for longest. If not all of them can move, the first ones stay.
        const std::size_t step = (waits.size() + most_tries - 1) / most_tries;
        for (std::size_t stay = 0; stay < waits.size(); stay += step) {
            const std::span<const std::uint32_t> some = std::span(waits).subspan(stay);
            if (sent_by(some) <= most) break;
            if (stay > 0) {
                order_ = given;
                settle(0, c_.size());
            }
            const std::int64_t bytes = move_all(some, limit);
            if (bytes > most && peak() <= limit) {
                most = bytes;
                best = order_;
            }
        }
        return best;
    }

private:
    static constexpr std::size_t most_tries = 8;

    /// Updates the tables that depend on the order after nodes have changed places within [from, to).
    void settle(std::uint32_t from, std::uint32_t to) {
        for (std::uint32_t p = from; p < to; ++p) {
            position_[order_[p]] = p;
            for (const std::uint32_t s : c_.touched[order_[p]])
                if (last_[s] < to) last_[s] = p;
        }
        for (std::uint32_t p = from; p < to; ++p) {
            std::int64_t now = before_[p] + c_.allocation[order_[p]];
            for (const std::uint32_t s : c_.touched[order_[p]])
                if (last_[s] == p) now -= c_.storage_bytes[s];
            before_[p + 1] = now;
        }
    }
    /// Returns the peak of the order.
    [[nodiscard]] std::int64_t peak() const {
        std::int64_t most = 0;
        for (std::uint32_t p = 0; p < order_.size(); ++p) most = std::max(most, before_[p] + c_.allocation[order_[p]]);
        return most;
    }

    /// Moves reductions, the last one first, so that each leaves room for what those before it are made of. Returns the
    /// bytes that those send that have moved.
    std::int64_t move_all(std::span<const std::uint32_t> waits, std::int64_t limit) {
        std::vector<std::int64_t> kept;
        std::int64_t reserved = 0;
        for (const std::uint32_t wait : waits) {
            choose(wait);
            kept.push_back(kept_beyond(position_[waits.back()]));
            forget(wait);
            reserved += kept.back();
        }
        std::int64_t sent = 0;
        for (std::size_t k = waits.size(); k-- > 0;) {
            reserved -= kept[k];
            choose(waits[k]);
            if (move(waits[k], limit, limit - reserved)) sent += sent_by(waits.subspan(k, 1));
            forget(waits[k]);
        }
        return sent;
    }
    /// Returns the bytes that the launches of these waits use.
    [[nodiscard]] std::int64_t sent_by(std::span<const std::uint32_t> waits) const {
        std::int64_t sent = 0;
        for (const std::uint32_t wait : waits)
            for (const std::uint32_t s : c_.touched[c_.launch[wait]]) sent += c_.storage_bytes[s];
        return sent;
    }

    /// Chooses what moves with a wait: its start, what makes the operand of that, and the kernels before it whose
    /// results are larger than what they read and which nothing else reads; in their order.
    void choose(std::uint32_t wait) {
        group_.assign(1, c_.launch[wait]);
        is_moved_[wait] = is_moved_[group_[0]] = 1;
        const auto stays = [&](std::uint32_t n) { return is_moved_[n] == 0; };
        for (std::size_t k = 0; k < group_.size(); ++k)
            for (const std::uint32_t p : c_.predecessors[group_[k]]) {
                if (c_.kind[p] != role::compute || is_moved_[p] != 0) continue;
                if (std::any_of(c_.successors[p].begin(), c_.successors[p].end(), stays)) continue;
                std::int64_t reads = 0;
                for (const std::uint32_t s : c_.touched[p])
                    if (maker_[s] != p) reads += c_.storage_bytes[s];
                if (reads >= c_.allocation[p]) continue;
                is_moved_[p] = 1;
                group_.push_back(p);
            }
        std::sort(group_.begin(), group_.end(),
                  [&](std::uint32_t a, std::uint32_t b) { return position_[a] < position_[b]; });
        for (const std::uint32_t n : group_)
            for (const std::uint32_t s : c_.touched[n])
                if (is_moved_[maker_[s]] == 0) is_kept_[s] = 1;
    }
    void forget(std::uint32_t wait) {
        is_moved_[wait] = 0;
        for (const std::uint32_t n : group_) {
            is_moved_[n] = 0;
            for (const std::uint32_t s : c_.touched[n]) is_kept_[s] = 0;
        }
    }
    /// Returns the bytes of what the group reads that are dead beyond a position.
    [[nodiscard]] std::int64_t kept_beyond(std::uint32_t position) {
        std::int64_t kept = 0;
        for (const std::uint32_t n : group_)
            for (const std::uint32_t s : c_.touched[n])
                if (is_kept_[s] == 1 && last_[s] < position) {
                    is_kept_[s] = 2;  // counted
                    kept += c_.storage_bytes[s];
                }
        return kept;
    }

    /// What the group has in memory beside what it reads.
    struct held_bytes {
        std::int64_t most = 0;  ///< while its kernels run
        std::int64_t sent = 0;  ///< while its collective runs
    };
    [[nodiscard]] held_bytes measured() const {
        held_bytes own;
        for (const std::uint32_t n : group_) {
            own.sent += c_.allocation[n];
            own.most = std::max(own.most, own.sent);
            for (const std::uint32_t s : c_.touched[n])
                if (is_moved_[maker_[s]] != 0 && order_[last_[s]] == n) own.sent -= c_.storage_bytes[s];
        }
        return own;
    }

    /// Moves the group to the first place after the wait at which it fits into `room`, and at which what it sends fits
    /// beside what follows until the collective has ended; there the wait goes. What the group reads is kept until it
    /// runs and must fit into `limit`. Returns whether there is such a place.
    bool move(std::uint32_t wait, std::int64_t limit, std::int64_t room) {
        const held_bytes own = measured();
        const std::uint32_t from = position_[group_.front()], waited = position_[wait];
        const std::int64_t duration = c_.duration[c_.launch[wait]];
        std::uint32_t at = no_node;
        std::int64_t alive = before_[from], work = 0, begun = 0;
        for (std::uint32_t p = from; p < order_.size(); ++p) {
            const std::uint32_t n = order_[p];
            if (is_moved_[n] != 0) continue;
            const std::int64_t now = alive + c_.allocation[n];
            if (p > waited) {
                if (now > room - own.sent) at = no_node;
                if (at == no_node && now <= room - own.most) {
                    at = p;
                    begun = work;
                }
                if (at < p && work - begun >= duration) {
                    insert(wait, from, at, p);
                    return true;
                }
            }
            if (now > limit) return false;
            if (c_.kind[n] == role::compute) work += c_.duration[n];
            alive = now;
            for (const std::uint32_t s : c_.touched[n])
                if (last_[s] == p && is_kept_[s] == 0 && is_moved_[maker_[s]] == 0) alive -= c_.storage_bytes[s];
        }
        return false;
    }
    /// Moves the group to before position `at`, and the wait to before position `until`. What depends on the wait
    /// follows it. `from` is the first position of the group.
    void insert(std::uint32_t wait, std::uint32_t from, std::uint32_t at, std::uint32_t until) {
        wanted_.clear();
        for (std::uint32_t p = from; p < until; ++p) {
            if (p == at) wanted_.insert(wanted_.end(), group_.begin(), group_.end());
            if (is_moved_[order_[p]] == 0) wanted_.push_back(order_[p]);
        }
        wanted_.push_back(wait);
        constexpr std::uint32_t held = UINT32_MAX / 2;  // is added to the number of missing predecessors
        for (const std::uint32_t n : wanted_) missing_[n] = 0;
        for (const std::uint32_t n : wanted_)
            for (const std::uint32_t s : c_.successors[n])
                if (position_[s] >= from && position_[s] < until) ++missing_[s];
        std::uint32_t to = from;
        for (const std::uint32_t n : wanted_) {
            if (missing_[n] != 0) {
                missing_[n] += held;
                continue;
            }
            for (ready_.assign(1, n); !ready_.empty();) {
                const std::uint32_t next = ready_.back();
                ready_.pop_back();
                order_[to++] = next;
                for (const std::uint32_t s : c_.successors[next])
                    if (position_[s] >= from && position_[s] < until && --missing_[s] == held) ready_.push_back(s);
            }
        }
        settle(from, until);
    }

    const compact_tasks& c_;
    std::vector<std::uint32_t> order_;
    std::span<std::uint32_t> position_;  // by node
    std::span<std::int64_t> before_;     // by position: what is alive before the node there; one more entry
    std::span<std::uint32_t> maker_;     // by storage: the node that uses it first
    std::span<std::uint32_t> last_;      // by storage: the position of its last use
    std::span<std::uint8_t> is_moved_;   // by node: it is in the group, or its wait
    std::span<std::uint8_t> is_kept_;    // by storage: the group reads it but does not make it
    std::span<std::uint32_t> missing_;   // by node: predecessors that are not yet in their places
    std::vector<std::uint32_t> group_;   // the kernels and the start that move
    std::vector<std::uint32_t> wanted_, ready_;
};

}  // namespace stretto::detail

#endif
