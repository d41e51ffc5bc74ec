// Archetypes of backends: each type offers the minimum with which it models a concept. Code that compiles and runs with
// them requires no more than the concepts say. They are awkward on purpose: nothing can be copied, nothing but an arena
// can be assigned, and numbers merely convert to numbers.
//
// There is one rank, whose kernels run where they are launched, and every group consists of it.
#ifndef STRETTO_BACKEND_ARCHETYPES_HPP
#define STRETTO_BACKEND_ARCHETYPES_HPP

#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "stretto/backend/concepts.hpp"

namespace stretto::archetypes {

/// A value that converts to a number, but is not one.
class count {
public:
    constexpr explicit count(std::size_t n) : n_(n) {}
    count(const count&) = delete;
    count& operator=(const count&) = delete;
    constexpr operator std::size_t() const { return n_; }

private:
    std::size_t n_;
};

/// An event with nothing but its identity. All work is complete when it has been put, so there is nothing to record.
class event {
public:
    event() = default;
    event(const event&) = delete;
    event& operator=(const event&) = delete;
};

/// Models queue, and what a backend requires of its compute queue in addition. It calls kernels as they are launched.
class lane {
public:
    using event_type = event;
    lane() = default;
    lane(const lane&) = delete;
    lane& operator=(const lane&) = delete;

    bool wait(event&) { return true; }
    bool record(event&) { return true; }
    template <class Kernel>
    bool launch(task_id, Kernel& kernel) {
        kernel();
        return true;
    }
    bool pass(task_id) { return true; }
    bool settle() { return true; }
};

/// Models communicator, and no more. It has one member, which sends everything to itself, so every collective is a
/// copy.
class solitude {
public:
    using event_type = event;
    solitude() = default;
    solitude(const solitude&) = delete;
    solitude& operator=(const solitude&) = delete;

    bool wait(event&) { return true; }
    bool record(event&) { return true; }
    bool launch(const collective_operation& o) {
        const std::size_t rows = o.receive_rows.empty() || o.receive_rows[0] == nullptr
                                     ? o.receive_bytes
                                     : static_cast<std::size_t>(*o.receive_rows[0]) * o.row_bytes;
        if (rows != 0) std::memmove(o.receive, o.send, rows);
        return true;
    }
    void reserve(std::size_t) {}
    count size() const { return count(1); }
    count place() const { return count(0); }
    bool can(const collective_operation&) const { return true; }
};

/// Models arena, and no more. Its memory is aligned to 64 bytes.
class memory {
public:
    /// `bytes` has 64 more than `size`.
    memory(std::unique_ptr<std::byte[]> bytes, std::size_t size) : bytes_(std::move(bytes)), size_(size) {}
    memory(memory&&) = default;
    memory& operator=(memory&&) = default;
    std::byte* data() const { return bytes_.get() + (64 - reinterpret_cast<std::uintptr_t>(bytes_.get()) % 64) % 64; }
    count size() const { return count(size_); }

private:
    std::unique_ptr<std::byte[]> bytes_;
    std::size_t size_;
};

/// Models backend, and no more. It is a single rank, and all work is complete when the verb that put it returns.
class single_rank {
public:
    using queue_type = lane;
    using communicator_type = solitude;
    using arena_type = memory;
    single_rank() = default;
    single_rank(const single_rank&) = delete;
    single_rank& operator=(const single_rank&) = delete;

    lane& compute() { return lane_; }
    solitude* channel(group_id) { return &channel_; }
    event* make_events(std::size_t n) { return events_.emplace_back(new event[n]).get(); }
    std::optional<memory> make_arena(bytes size, std::size_t) {
        const auto n = static_cast<std::size_t>(size.count);
        std::unique_ptr<std::byte[]> made(new (std::nothrow) std::byte[n + 64]);
        if (made == nullptr) return {};
        return memory(std::move(made), n);
    }
    void begin() {}
    std::optional<run_failure> finish() { return {}; }

private:
    lane lane_;
    solitude channel_;
    std::deque<std::unique_ptr<event[]>> events_;
};

/// Models kernel_source, and no more, for steps of values of one byte. A kernel adds one to its first operand, and
/// kernels can only be moved. All inputs have the same address.
class bytes_plus_one {
public:
    explicit bytes_plus_one(std::byte* input) : input_(input) {}
    bytes_plus_one(const bytes_plus_one&) = delete;
    bytes_plus_one& operator=(const bytes_plus_one&) = delete;

    class work {
    public:
        work(const std::byte* from, std::byte* to) : from_(from), to_(to) {}
        work(work&&) = default;
        work& operator=(work&&) = delete;
        void operator()() { *to_ = static_cast<std::byte>(static_cast<unsigned char>(*from_) + 1); }

    private:
        const std::byte* from_;
        std::byte* to_;
    };
    work kernel(task_id, task_memory m) { return {m.operands[0], m.results[0]}; }
    struct gather {
        operator collective_call() const { return {.kind = collective_kind::all_gather}; }
    };
    gather call(task_id) { return {}; }
    std::byte* address(value_id) { return input_; }

private:
    std::byte* input_;
};

static_assert(queue<lane> && communicator<solitude> && arena<memory> && backend<single_rank>);
static_assert(kernel_source<bytes_plus_one>);

}  // namespace stretto::archetypes

#endif
