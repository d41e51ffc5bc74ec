// A backend that runs nothing, but logs what is put into which queue. backend/check_log.hpp checks the log.
#ifndef STRETTO_BACKEND_RECORDER_HPP
#define STRETTO_BACKEND_RECORDER_HPP

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "stretto/backend/concepts.hpp"
#include "stretto/backend/lane_program.hpp"
#include "stretto/core/process_groups.hpp"
#include "stretto/schedule/rank_program.hpp"

namespace stretto {

/// One verb that was put into a lane. Lane 0 is the compute lane, and lane 1 + group is the channel of a group.
struct log_entry {
    enum class form : std::uint8_t {
        wait,    ///< the lane waits for event `which`
        record,  ///< the lane records event `which`
        launch,  ///< the lane begins task `which`, or passes it if it has no kernel
        settle   ///< the host waits until the lane has come this far
    };
    form what = form::launch;
    std::uint32_t lane = 0;
    std::uint32_t which = 0;  ///< an event or a task; 0 for a settle

    friend bool operator==(const log_entry&, const log_entry&) = default;
};

/// What one rank has put into its queues, in the order in which its host has put it.
using run_log = std::vector<log_entry>;

/// Returns the log of one replay of a program, without binding it. It equals the log of the first executor that is
/// bound to a recorder. O(instructions + waits).
[[nodiscard]] inline run_log log_of(const lane_program& program) {
    run_log log;
    for (const lane_instruction& i : program.instructions) {
        const std::uint32_t lane = i.lane == 0 ? 0 : 1 + program.groups[i.lane - 1];
        for (const std::uint32_t event : program.waits_of(i)) log.push_back({log_entry::form::wait, lane, event});
        log.push_back({log_entry::form::launch, lane, i.task});
        if (i.event != lane_instruction::no_event) log.push_back({log_entry::form::record, lane, i.event});
        if (i.holds_host) log.push_back({log_entry::form::settle, lane, 0});
    }
    return log;
}

/// A backend for one rank, which logs and runs nothing. The objects that it returns refer to it, so it can be neither
/// copied nor moved.
class recorder {
public:
    /// An event. Events are numbered from 0 in the order in which they are made, so those of the first order that is
    /// bound have the numbers of its lane_program.
    struct event_type {
        std::uint32_t number = 0;
    };
    /// A queue or a communicator, which logs what is put into its lane.
    class queue_type {
    public:
        using event_type = recorder::event_type;
        queue_type(run_log& log, std::uint32_t lane, std::size_t size, std::size_t place)
            : log_(&log), lane_(lane), size_(size), place_(place) {}

        bool wait(event_type& e) { return add(log_entry::form::wait, e.number); }
        bool record(event_type& e) { return add(log_entry::form::record, e.number); }
        template <class Kernel>
        bool launch(task_id t, Kernel&) {
            return add(log_entry::form::launch, t);
        }
        bool pass(task_id t) { return add(log_entry::form::launch, t); }
        bool settle() { return add(log_entry::form::settle, 0); }
        bool launch(const collective_operation& operation) { return add(log_entry::form::launch, operation.task); }
        // A log grows when needed, and every operation is supported because none is executed.
        void reserve(std::size_t) {}
        [[nodiscard]] bool can(const collective_operation&) const noexcept { return true; }
        [[nodiscard]] std::size_t size() const noexcept { return size_; }
        [[nodiscard]] std::size_t place() const noexcept { return place_; }

    private:
        bool add(log_entry::form what, std::uint32_t which) {
            log_->push_back({what, lane_, which});
            return true;
        }
        run_log* log_;
        std::uint32_t lane_;
        std::size_t size_, place_;
    };
    using communicator_type = queue_type;
    /// An arena of real memory, although it is never used, so that addresses in it are distinct.
    class arena_type {
    public:
        arena_type(std::unique_ptr<std::byte[]> memory, std::size_t size) : memory_(std::move(memory)), size_(size) {}
        [[nodiscard]] std::byte* data() const noexcept { return memory_.get(); }
        [[nodiscard]] std::size_t size() const noexcept { return size_; }

    private:
        std::unique_ptr<std::byte[]> memory_;
        std::size_t size_;
    };

    /// Makes the backend of rank `rank`, with a channel for each of `groups` of which it is a member.
    recorder(const process_groups& groups, rank_id rank) : compute_(log_, 0, 1, 0) {
        for (group_id id = 0; id < groups.group_count(); ++id) {
            const process_group g = groups.group_at(id);
            const std::size_t place = g.place_of(rank);
            channels_.push_back(
                place < g.ranks.size() ? std::make_unique<queue_type>(log_, 1 + id, g.ranks.size(), place) : nullptr);
        }
    }
    recorder(const recorder&) = delete;
    recorder& operator=(const recorder&) = delete;

    [[nodiscard]] queue_type& compute() noexcept { return compute_; }
    [[nodiscard]] communicator_type* channel(group_id group) {
        return group < channels_.size() ? channels_[group].get() : nullptr;
    }
    [[nodiscard]] event_type* make_events(std::size_t n) {
        std::vector<event_type>& made = events_.emplace_back(n);
        for (event_type& e : made) e.number = next_event_++;
        return made.data();
    }
    [[nodiscard]] std::optional<arena_type> make_arena(bytes size, std::size_t) {
        const auto n = static_cast<std::size_t>(size.count);
        std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[n + 1]);
        if (memory == nullptr) return {};
        return arena_type(std::move(memory), n);
    }
    void begin() {}
    [[nodiscard]] std::optional<run_failure> finish() { return {}; }

    /// Returns the log of everything that was put since the recorder was made, over all replays.
    [[nodiscard]] const run_log& log() const noexcept { return log_; }

private:
    run_log log_;
    queue_type compute_;
    std::vector<std::unique_ptr<queue_type>> channels_;
    std::deque<std::vector<event_type>> events_;
    std::uint32_t next_event_ = 0;
};
static_assert(backend<recorder>);

}  // namespace stretto

#endif
