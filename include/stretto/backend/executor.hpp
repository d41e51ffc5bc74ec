// Runs a checked order, which is bound once and replayed any number of times. Binding places storages, assigns lanes,
// drops waits that others imply, and resolves the addresses of every kernel and collective. A replay walks a flat
// array, without allocation, hashing, or any decision that could have been made before.
#ifndef STRETTO_BACKEND_EXECUTOR_HPP
#define STRETTO_BACKEND_EXECUTOR_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/backend/concepts.hpp"
#include "stretto/backend/detail/caller_memory.hpp"
#include "stretto/backend/lane_program.hpp"
#include "stretto/backend/memory_access.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/schedule/checked_order.hpp"

namespace stretto {

/// An order that is bound to one rank of a backend, which must outlive it. `bind_order` creates it. It owns the arena
/// and the kernels, and can be moved between replays. Only the thread of the rank uses it.
template <backend B, class Kernel>
class executor {
public:
    /// Runs the order once. Where the host reads a number, nothing further is issued until the number is available, so
    /// that later kernels may use it when they are launched. Returns nothing once everything is complete, or else the
    /// failure of the run, which every later replay on this backend returns as well. O(instructions + waits); the loop
    /// allocates nothing.
    [[nodiscard]] std::optional<run_failure> replay() {
        backend_->begin();
        for (const step& s : steps_)
            if (!issue(s) || (s.holds_host && !backend_->compute().settle())) break;
        return backend_->finish();
    }

    /// Returns the address of a value, or null if it has no storage or several. The results of the step are there from
    /// the end of a replay until the next one begins; the memory of other values may have been reused, unless the
    /// caller owns it.
    [[nodiscard]] std::byte* address(value_id x) const { return addresses_[x]; }
    /// Returns the lane program that a replay issues.
    [[nodiscard]] const lane_program& program() const noexcept { return program_; }

private:
    template <backend C, kernel_source S>
    friend expected<executor<C, std::remove_cvref_t<detail::kernel_of<S>>>, bind_error> bind_order(const task_graph&,
                                                                                                   const checked_order&,
                                                                                                   S&, C&);

    using event_type = typename B::queue_type::event_type;
    static constexpr std::uint32_t nothing = UINT32_MAX;

    /// An instruction in which all lookups are resolved, so that a replay only follows pointers.
    struct step {
        std::uint32_t first_wait, last_wait, event;
        std::uint32_t work;                      // a kernel or an operation; nothing for a wait
        typename B::communicator_type* channel;  // null: the compute lane
        task_id task;
        bool holds_host;
    };

    executor() = default;

    /// Puts one instruction into its lane: its waits, its kernel or collective, and the record of its event. Returns
    /// whether the run continues.
    [[nodiscard]] bool issue(const step& s) {
        if (s.channel != nullptr) return put(*s.channel, s, [&] { return s.channel->launch(operations_[s.work]); });
        typename B::queue_type& lane = backend_->compute();
        return put(lane, s,
                   [&] { return s.work == nothing ? lane.pass(s.task) : lane.launch(s.task, kernels_[s.work]); });
    }
    template <class Q, class Launch>
    [[nodiscard]] bool put(Q& lane, const step& s, Launch launch) {
        for (std::uint32_t k = s.first_wait; k < s.last_wait; ++k)
            if (!lane.wait(events_[program_.waits[k]])) return false;
        if (!launch()) return false;
        return s.event == lane_instruction::no_event || lane.record(events_[s.event]);
    }

    /// Converts the program into steps. Returns the first problem, if there is one. In that case nothing has been put
    /// into any lane, and everything is released with the executor. Events are made last, because they live as long as
    /// the backend, and channels are told last how many verbs a replay puts into them, because they may keep what they
    /// allocate.
    template <class S>
    [[nodiscard]] std::optional<bind_error> bind(const task_graph& g, S& source) {
        using why = bind_error::reason;
        memory_ = backend_->make_arena(program_.arena.size, static_cast<std::size_t>(program_.arena.alignment));
        if (!memory_) return bind_error{why::no_memory};
        if (const auto error = detail::find_shared_memory(g, find_addresses(g, source))) return error;
        std::vector<typename B::communicator_type*> channels(g.groups, nullptr);
        std::vector<std::size_t> verbs(g.groups, 0);
        std::vector<std::byte*> operands, results;
        for (const lane_instruction& i : program_.instructions) {
            const task_id t = i.task;
            step made{i.first_wait, i.last_wait, i.event, nothing, nullptr, t, i.holds_host};
            if (does_work(g.kind[t])) {
                operands.clear();
                results.clear();
                for (const value_id x : g.operands[t])
                    if (const auto error = add_address(g, t, x, operands)) return error;
                for (value_id x = g.first_result[t]; x < g.first_result[t + 1]; ++x)
                    if (const auto error = add_address(g, t, x, results)) return error;
            }
            if (g.kind[t] == op_kind::compute) {
                made.work = static_cast<std::uint32_t>(kernels_.size());
                kernels_.push_back(source.kernel(t, task_memory{operands, results}));
            } else if (g.kind[t] == op_kind::start) {
                const group_id group = g.group[t];
                channels[group] = backend_->channel(group);
                if (channels[group] == nullptr) return bind_error{why::not_a_member, t, group};
                // The channel needs capacity for the waits, the collective, and the record after it.
                made.channel = channels[group];
                made.work = static_cast<std::uint32_t>(operations_.size());
                verbs[group] += std::size_t{i.last_wait} - i.first_wait + 2;
                if (operands.empty() || results.empty()) return bind_error{why::sizes_disagree, t, group};
                const value_id x = g.first_result[t];
                if (g.storages[x].empty()) return bind_error{why::several_storages, t, group};
                const value_id sent = g.operands[t][0];
                if (g.storages[sent].empty()) return bind_error{why::several_storages, t};
                // A measured exchange has capacities instead of a payload, and these must lie within the storages.
                const collective_call call = source.call(t);
                const bool measured = measures(call);
                const bytes sendable = room_for(g, source, sent, measured), room = room_for(g, source, x, measured);
                if (sendable > room_for(g, source, sent, false) || room > room_for(g, source, x, false))
                    return bind_error{why::capacity, t};
                const bytes payload = measured ? sendable : g.payload[t];
                const bytes row = call.input_sizes.empty() ? bytes{} : row_of(source, t);
                auto operation = operation_of(call, t, channels[group]->size(), payload, room, row);
                if (!operation) return operation.error();
                if (!channels[group]->can(*operation)) return bind_error{why::unsupported_reduction, t};
                if (payload > sendable) return bind_error{why::sizes_disagree, t};
                operation->send = operands[0];
                operation->receive = results[0];
                if (!may_overlap(*operation, channels[group]->place())) return bind_error{why::in_place, t};
                if (measured)
                    if (const auto error = find_counts(g, source, t, call, *operation)) return error;
                operations_.push_back(*std::move(operation));
            }
            steps_.push_back(made);
        }
        events_ = backend_->make_events(program_.events);
        for (group_id group = 0; group < g.groups; ++group)
            if (channels[group] != nullptr) channels[group]->reserve(verbs[group]);
        return {};
    }

    /// Returns whether some amount of a call is known only when the step runs.
    [[nodiscard]] static bool measures(const collective_call& call) {
        const auto measured = [](split_size x) { return x.what == split_size::form::measured; };
        return std::any_of(call.input_sizes.begin(), call.input_sizes.end(), measured) ||
               std::any_of(call.output_sizes.begin(), call.output_sizes.end(), measured);
    }
    /// Returns the length of a row, or 0, which no row has, if the source does not know it.
    template <class S>
    [[nodiscard]] static bytes row_of(S& source, task_id t) {
        if constexpr (detail::has_bytes_of_rows<S>) return source.row_bytes(t);
        else return {};
    }
    /// Returns the bytes available to a value from its beginning: the capacity that the source gives to an operand or
    /// result of a measured exchange, else the rest of the storage.
    template <class S>
    [[nodiscard]] static bytes room_for(const task_graph& g, S& source, value_id x, bool measured) {
        if constexpr (detail::has_value_capacity<S>)
            if (measured) return source.capacity(x);
        return g.allocation[g.storages[x][0]] - offset_of(source, x);
    }
    /// Finds the addresses at which the amounts of a measured exchange will be when it begins, and stores them in `o`.
    template <class S>
    [[nodiscard]] std::optional<bind_error> find_counts(const task_graph& g, S& source, task_id t,
                                                        const collective_call& call, collective_operation& o) const {
        for (std::size_t k = 0; k < o.send_rows.size(); ++k)
            for (const bool sends : {true, false}) {
                const split_size x = sends ? call.input_sizes[k] : call.output_sizes[k];
                if (x.what != split_size::form::measured) continue;
                const auto operand = static_cast<std::size_t>(x.value);
                const std::int64_t* const at =
                    operand < g.operands[t].size() ? count_at(g, source, g.operands[t][operand]) : nullptr;
                if (at == nullptr) return bind_error{bind_error::reason::sizes_at_run_time, t};
                (sends ? o.send_rows : o.receive_rows)[k] = at;
            }
        return {};
    }
    /// Returns the address of the number that a value holds, or null if it cannot hold one. If the source has no
    /// `count`, the number is at the beginning of the value, where its storage must have 8 aligned bytes left.
    template <class S>
    [[nodiscard]] const std::int64_t* count_at(const task_graph& g, S& source, value_id x) const {
        if constexpr (detail::has_measured_count<S>) {
            return source.count(x);
        } else {
            if (g.storages[x].size() != 1) return nullptr;
            const bytes rest = g.allocation[g.storages[x][0]] - offset_of(source, x);
            const bool fits = rest.count >= 8 && reinterpret_cast<std::uintptr_t>(addresses_[x]) % 8 == 0;
            return fits ? reinterpret_cast<const std::int64_t*>(addresses_[x]) : nullptr;
        }
    }

    template <class S>
    [[nodiscard]] static bytes offset_of(S& source, value_id x) {
        if constexpr (detail::has_value_offset<S>) return source.offset(x);
        else return {};
    }

    /// Finds the addresses of all values that live in one storage, in the arena or in memory of the caller. Other
    /// values stay null, and are refused where a task uses them. Returns, by storage, its address in memory of the
    /// caller, or null if it is not there.
    template <class S>
    [[nodiscard]] std::vector<std::byte*> find_addresses(const task_graph& g, S& source) {
        std::vector<std::byte*> of_caller(g.allocation.size(), nullptr);
        for (value_id s = 0; s < g.allocation.size(); ++s) {
            if (g.storages[s].size() != 1 || g.storages[s][0] != s || program_.arena.holds(s)) continue;
            if (g.kind[g.storage_owner[s]] == op_kind::input) of_caller[s] = source.address(s);
            else of_caller[s] = detail::destination_of(g, source, s);
        }
        addresses_.assign(g.allocation.size(), nullptr);
        for (value_id x = 0; x < g.allocation.size(); ++x) {
            if (g.storages[x].size() != 1) continue;
            const value_id s = g.storages[x][0];
            std::byte* const base = program_.arena.holds(s) ? memory_->data() + program_.arena.offset[s] : of_caller[s];
            if (base != nullptr) addresses_[x] = base + offset_of(source, x).count;
        }
        return of_caller;
    }
    /// Appends the address of a value that a task uses; it is null for a value without bytes. Returns an error if the
    /// value has bytes but no single address.
    [[nodiscard]] std::optional<bind_error> add_address(const task_graph& g, task_id t, value_id x,
                                                        std::vector<std::byte*>& to) const {
        if (g.storages[x].size() > 1) return bind_error{bind_error::reason::several_storages, t};
        to.push_back(addresses_[x]);
        if (addresses_[x] != nullptr || g.storages[x].empty()) return {};
        const value_id s = g.storages[x][0];
        if (g.allocation[s].count == 0) return {};
        return bind_error{bind_error::reason::no_address, t};
    }

    B* backend_ = nullptr;
    lane_program program_;
    event_type* events_ = nullptr;
    std::optional<typename B::arena_type> memory_;
    std::vector<std::byte*> addresses_;  // by value
    std::vector<Kernel> kernels_;
    std::vector<collective_operation> operations_;
    std::vector<step> steps_;
};

/// Binds an order to a rank of a backend, while nothing is in the rank's queues. The source provides the kernels of
/// tasks and is not kept. The arena, and every storage in it, is aligned to 64 bytes; memory of the caller is used as
/// it is, and must outlive the executor. Returns the executor, or the first problem, in which case nothing has been
/// launched, and nothing remains in the backend. Deterministic. The cost is that of plan_lanes, plus O(V + E),
/// O(s log s) for s storages of the caller, and the members of the group for each all-to-all.
template <backend B, kernel_source S>
[[nodiscard]] expected<executor<B, std::remove_cvref_t<detail::kernel_of<S>>>, bind_error> bind_order(
    const task_graph& g, const checked_order& order, S& source, B& rank) {
    const std::vector<value_id> of_caller = detail::storages_with_destination(g, source);
    constexpr std::int64_t alignment = 64;
    expected<lane_program, bind_error> program = plan_lanes(g, order, alignment, of_caller);
    if (!program) return unexpected(program.error());
    executor<B, std::remove_cvref_t<detail::kernel_of<S>>> made;
    made.backend_ = &rank;
    made.program_ = *std::move(program);
    if (const auto error = made.bind(g, source)) return unexpected(*error);
    // The conversion is explicit, because some device compilers do not move an object that they must convert.
    return expected<executor<B, std::remove_cvref_t<detail::kernel_of<S>>>, bind_error>(std::move(made));
}

}  // namespace stretto

#endif
