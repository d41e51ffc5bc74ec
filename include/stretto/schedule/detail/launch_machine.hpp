// A launch machine is the state of all ranks while they run their programs (schedule/rank_program.hpp). This header
// also searches for a state in which nothing can continue.
//
// On a rank that need not choose between collectives, an event that is possible stays possible until it happens. So
// such events may happen at once and in any order, and only the choices of the other ranks must all be tried.
#ifndef STRETTO_SCHEDULE_DETAIL_LAUNCH_MACHINE_HPP
#define STRETTO_SCHEDULE_DETAIL_LAUNCH_MACHINE_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "stretto/core/process_group.hpp"
#include "stretto/schedule/detail/matched_launches.hpp"
#include "stretto/schedule/order_fingerprint.hpp"
#include "stretto/schedule/rank_program.hpp"

namespace stretto::detail {

/// The record of what has begun and what is done on every rank. A copy is an independent state; programs and matches
/// are shared.
template <class = void>
class launch_machine {
public:
    /// Starts in the state in which nothing has begun. The arguments must outlive the machine and its copies.
    launch_machine(std::span<const rank_program> programs, const matched_launches<>& matched, device_model device)
        : programs_(programs),
          matched_(&matched),
          device_(device),
          ranks_(programs.size()),
          begun_(matched.actions(), false),
          done_(matched.actions(), false) {
        for (std::uint32_t c = 0; c < matched.collectives(); ++c) to_begin_.push_back(matched.members(c).size());
        for (rank_id r = 0; r < programs.size(); ++r) {
            set_up(r);
            woken_.push_back(r);
        }
    }

    /// Performs everything that happens in every execution: hosts advance, kernels begin, and so do collectives on
    /// ranks that need not choose between them. Performing these at once takes no later choice away.
    void settle() {
        while (!woken_.empty()) {
            const rank_id r = woken_.back();
            woken_.pop_back();
            for (bool moved = true; moved;) {
                moved = advance_host(r);
                for (std::size_t s = 0; s < ranks_[r].streams.size(); ++s)
                    if (advance_stream(r, s)) moved = true;
            }
        }
    }
    /// Returns the collectives of which any one may begin next, on ranks that choose. Precondition: the machine has
    /// settled.
    [[nodiscard]] std::vector<ranked_action> choices() const {
        std::vector<ranked_action> all;
        for (rank_id r = 0; r < ranks_.size(); ++r)
            for (std::size_t s = 0; ranks_[r].chooses && s < ranks_[r].streams.size(); ++s)
                if (const std::uint32_t i = ready(r, s); i != no_action) all.push_back({r, i});
        return all;
    }
    /// Begins a launch that is ready. If that completes a collective, its ranks have something to settle.
    void begin(rank_id r, std::uint32_t i) {
        begun_[matched_->place(r, i)] = true;
        if (!launches_collective(r, i)) {
            done_[matched_->place(r, i)] = true;
            return;
        }
        ++ranks_[r].resident;
        ++ranks_[r].collectives_begun;
        const std::uint32_t c = matched_->collective(matched_->place(r, i));
        if (--to_begin_[c] != 0) return;
        for (const ranked_action m : matched_->members(c)) {
            done_[matched_->place(m.rank, m.action)] = true;
            --ranks_[m.rank].resident;
            woken_.push_back(m.rank);
        }
    }
    /// Returns whether every rank has reached the end of its program and everything has completed.
    [[nodiscard]] bool complete() const {
        for (rank_id r = 0; r < ranks_.size(); ++r) {
            if (ranks_[r].host != programs_[r].size()) return false;
            for (std::uint32_t i = 0; i < programs_[r].size(); ++i)
                if (programs_[r][i].what != rank_action::form::host_wait && !done(r, i)) return false;
        }
        return true;
    }
    /// Returns, by place, what has begun. This determines a settled state.
    [[nodiscard]] const std::vector<bool>& begun() const noexcept { return begun_; }

    [[nodiscard]] std::span<const rank_program> programs() const noexcept { return programs_; }
    [[nodiscard]] const matched_launches<>& matched() const noexcept { return *matched_; }
    [[nodiscard]] bool begun(rank_id r, std::uint32_t i) const { return begun_[matched_->place(r, i)]; }
    [[nodiscard]] bool done(rank_id r, std::uint32_t i) const { return done_[matched_->place(r, i)]; }

    /// Calls `blocked(action, reason, blocker)` for every action of `r` that has not begun and everything on its rank
    /// for which it waits. The first unfinished launch before it on its stream stands for all of them.
    template <class Blocked>
    void each_blocked(rank_id r, const Blocked& blocked) const {
        using why = blocked_action::reason;
        const rank_program& program = programs_[r];
        const rank_state& state = ranks_[r];
        std::uint32_t unbegun = no_action;  // the first collective that has not begun
        if (state.collectives_begun < state.collectives.size()) unbegun = state.collectives[state.collectives_begun];
        for (std::uint32_t i = 0; i < program.size(); ++i) {
            if (program[i].what == rank_action::form::host_wait || begun(r, i)) continue;
            if (i >= state.host)
                for (const std::uint32_t k : program[state.host].after)
                    if (!done(r, k)) blocked(i, why::host, k);
            const std::uint32_t head = state.streams[stream_at(state, program[i].stream)].head_launch();
            if (head != i) blocked(i, why::stream, head);
            for (const std::uint32_t k : program[i].after)
                if (!done(r, k)) blocked(i, why::event, k);
            if (!launches_collective(r, i)) continue;
            if (device_.in_launch_order && unbegun != i) blocked(i, why::order, unbegun);
            if (state.resident < device_.resident) continue;
            for (const std::uint32_t k : state.collectives)
                if (begun(r, k) && !done(r, k)) blocked(i, why::resident, k);
        }
    }

private:
    struct stream {
        std::uint32_t name;
        std::vector<std::uint32_t> launches = {};  // in program order
        std::size_t head = 0;                      // the index of the first launch that is not done
        [[nodiscard]] std::uint32_t head_launch() const { return head < launches.size() ? launches[head] : no_action; }
    };
    struct rank_state {
        std::vector<stream> streams = {};
        std::vector<std::uint32_t> collectives = {};  // in launch order
        std::size_t collectives_begun = 0;
        std::uint32_t resident = 0;
        std::uint32_t host = 0;  // the first action that its host has not performed
        bool chooses = false;    // whether its device may have to keep a collective waiting that could begin
    };

    void set_up(rank_id r) {
        rank_state& state = ranks_[r];
        std::vector<bool> counted;  // by stream: it has collectives
        std::uint32_t streams_with_collectives = 0;
        for (std::uint32_t i = 0; i < programs_[r].size(); ++i) {
            const rank_action& a = programs_[r][i];
            if (a.what == rank_action::form::host_wait) continue;
            const std::size_t s = stream_at(state, a.stream);
            if (s == state.streams.size()) state.streams.push_back({a.stream});
            counted.resize(state.streams.size());
            state.streams[s].launches.push_back(i);
            if (a.what != rank_action::form::collective) continue;
            state.collectives.push_back(i);
            if (!counted[s]) ++streams_with_collectives;
            counted[s] = true;
        }
        state.chooses = !device_.in_launch_order && streams_with_collectives > device_.resident;
    }
    [[nodiscard]] static std::size_t stream_at(const rank_state& state, std::uint32_t name) {
        std::size_t s = 0;
        while (s < state.streams.size() && state.streams[s].name != name) ++s;
        return s;
    }
    [[nodiscard]] bool launches_collective(rank_id r, std::uint32_t i) const {
        return programs_[r][i].what == rank_action::form::collective;
    }
    [[nodiscard]] bool all_done(rank_id r, const std::vector<std::uint32_t>& actions) const {
        for (const std::uint32_t i : actions)
            if (!done(r, i)) return false;
        return true;
    }
    bool advance_host(rank_id r) {
        const rank_program& program = programs_[r];
        std::uint32_t& host = ranks_[r].host;
        const std::uint32_t before = host;
        while (host < program.size() &&
               (program[host].what != rank_action::form::host_wait || all_done(r, program[host].after)))
            ++host;
        return host != before;
    }
    /// Begins the next launches on a stream as long as there is no choice, and moves past those that are done. Returns
    /// whether any launch has begun.
    bool advance_stream(rank_id r, std::size_t s) {
        bool moved = false;
        while (true) {
            stream& on = ranks_[r].streams[s];
            while (on.head < on.launches.size() && done(r, on.launches[on.head])) ++on.head;
            const std::uint32_t i = ready(r, s);
            if (i == no_action || (ranks_[r].chooses && launches_collective(r, i))) return moved;
            begin(r, i);
            moved = true;
        }
    }
    /// Returns the launch on a stream that may begin now, or no_action.
    [[nodiscard]] std::uint32_t ready(rank_id r, std::size_t s) const {
        const rank_state& state = ranks_[r];
        const std::uint32_t i = state.streams[s].head_launch();
        if (i == no_action || i >= state.host || begun(r, i) || !all_done(r, programs_[r][i].after)) return no_action;
        if (!launches_collective(r, i)) return i;
        if (device_.in_launch_order && state.collectives[state.collectives_begun] != i) return no_action;
        return state.resident < device_.resident ? i : no_action;
    }

    std::span<const rank_program> programs_;
    const matched_launches<>* matched_;
    device_model device_;
    std::vector<rank_state> ranks_;
    std::vector<bool> begun_, done_;     // by place
    std::vector<std::size_t> to_begin_;  // by collective: the ranks that have not begun it
    std::vector<rank_id> woken_;         // ranks with something to settle
};

enum class run_result : std::uint8_t {
    completes,        ///< every execution completes
    hangs,            ///< the machine is now in a state in which nothing can continue
    too_many_states,  ///< there are more states than were allowed, and none of those tried hangs
};

/// A set of 128-bit hashes: open addressing, in a table that is at most half full.
template <class = void>
class hashes_seen {
public:
    /// Adds a hash, and returns whether it is new. O(1), amortised.
    bool add(const order_fingerprint& hash) {
        if (2 * (size_ + 1) > slots_.size()) grow();
        std::optional<order_fingerprint>& slot = slot_of(hash);
        if (slot) return false;
        slot = hash;
        ++size_;
        return true;
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    /// Returns the slot that contains this hash, or else the empty one into which it belongs.
    [[nodiscard]] std::optional<order_fingerprint>& slot_of(const order_fingerprint& hash) {
        std::size_t at = static_cast<std::size_t>(hash.low) & (slots_.size() - 1);
        while (slots_[at] && *slots_[at] != hash) at = (at + 1) & (slots_.size() - 1);
        return slots_[at];
    }
    void grow() {
        std::vector<std::optional<order_fingerprint>> old(slots_.empty() ? 64 : 2 * slots_.size());
        old.swap(slots_);
        for (const std::optional<order_fingerprint>& hash : old)
            if (hash) slot_of(*hash) = hash;
    }

    std::vector<std::optional<order_fingerprint>> slots_;  // their number is a power of two
    std::size_t size_ = 0;
};

/// Tries all executions from a settled machine, depth first. States that have been tried are not tried again; they are
/// distinguished by 128-bit hashes. If the machine hangs, `machine` is left in that state; otherwise it is unchanged.
template <class = void>
[[nodiscard]] run_result run_to_a_hang(launch_machine<>& machine, std::size_t max_states) {
    std::vector<launch_machine<>> open = {machine};
    hashes_seen<> tried;
    const auto is_new = [&](const std::vector<bool>& begun) {
        word_hash hash;
        for (std::size_t at = 0; at < begun.size();) {
            std::uint64_t word = 0;
            for (std::size_t bit = 0; bit < 64 && at < begun.size(); ++bit, ++at)
                word |= static_cast<std::uint64_t>(begun[at]) << bit;
            hash.add(word);
        }
        return tried.add(hash.value());
    };
    while (!open.empty()) {
        const launch_machine<> state = std::move(open.back());
        open.pop_back();
        const std::vector<ranked_action> choices = state.choices();
        if (choices.empty() && !state.complete()) {
            machine = state;
            return run_result::hangs;
        }
        for (const ranked_action next : choices) {
            launch_machine<> after = state;
            after.begin(next.rank, next.action);
            after.settle();
            if (!is_new(after.begun())) continue;
            if (tried.size() > max_states) return run_result::too_many_states;
            open.push_back(std::move(after));
        }
    }
    return run_result::completes;
}

}  // namespace stretto::detail

#endif
