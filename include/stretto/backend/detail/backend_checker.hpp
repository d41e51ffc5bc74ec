// The programs that check_backend runs, and check_backend itself. Each program is a probe: one collective between
// kernels, replayed on all members of a group. The expected numbers are computed from the definition of the collective,
// without communication.
//
// Longer than 300 lines: a probe consists of its program, its op model, its kernels and the expected numbers.
#ifndef STRETTO_BACKEND_DETAIL_BACKEND_CHECKER_HPP
#define STRETTO_BACKEND_DETAIL_BACKEND_CHECKER_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "stretto/backend/check_backend.hpp"
#include "stretto/backend/detail/probe_program.hpp"
#include "stretto/backend/executor.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/schedule/checked_order.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto::detail {

/// What distinguishes one probe from the others.
struct probe {
    const char* rule;  ///< the name of the probe in a finding
    collective_kind kind;
    /// How the amounts that members send to each other in an all-to-all are determined.
    enum class shares : std::uint8_t {
        equal,
        unequal,
        measured
    } how = shares::equal;
    bool in_place = false;  ///< whether members receive where they send
};

/// All probes, in the order in which every member runs them. In place, the buffers overlap as may_overlap allows.
/// Measured shares become known only when a kernel before the collective has written them, not when the program is
/// bound.
inline constexpr probe probes[] = {
    {"all_gather", collective_kind::all_gather},
    {"reduce_scatter", collective_kind::reduce_scatter},
    {"all_reduce", collective_kind::all_reduce},
    {"all_to_all", collective_kind::all_to_all},
    {"all_to_all in unequal shares", collective_kind::all_to_all, probe::shares::unequal},
    {"all_to_all in measured shares", collective_kind::all_to_all, probe::shares::measured},
    {"all_gather in place", collective_kind::all_gather, probe::shares::equal, true},
    {"reduce_scatter in place", collective_kind::reduce_scatter, probe::shares::equal, true},
    {"all_reduce in place", collective_kind::all_reduce, probe::shares::equal, true},
};

/// A probe on member `place` of `members`, whose data are numbers of 32 bits. It is also the kernel source of its
/// program.
class probe_run {
public:
    static constexpr std::size_t share = 5;  // how many numbers each member gets where shares are equal

    /// Writes the program: a kernel fills the data to send, the collective sends it, a kernel that is not ordered with
    /// it makes ones, and the last kernel adds a one to each received number. A missing wait therefore shows as a
    /// number that has not arrived yet.
    probe_run(const probe& what, std::size_t members, std::size_t place, group_id group)
        : what_(what), members_(members), place_(place), group_(group) {
        for (std::size_t k = 0; k < members; ++k) {
            sent_.push_back(rows(place, k));
            received_.push_back(rows(k, place));
        }
        const std::size_t sends = size_of_sent(), makes = size_of_made();
        const auto size = [](std::size_t n) { return bytes{static_cast<std::int64_t>(n * 4)}; };
        p_.add(op_kind::input, {}, {size(1)});
        // The kernel that makes the data to send also writes the amounts, as numbers of 64 bits, if they are measured.
        std::vector<bytes> made = {size(what.in_place && sends < makes ? makes : sends)};
        if (what.how == probe::shares::measured) made.resize(1 + 2 * members, bytes{8});
        fill_ = p_.add(op_kind::compute, {0}, made);
        const std::uint32_t sent = p_.operations[fill_].makes[0];
        std::vector<std::uint32_t> reads = p_.operations[fill_].makes;
        if (what.in_place) {
            // The collective may send only a part of the kernel's result, so that part is a value of its own.
            const std::uint32_t part = p_.add(op_kind::view, {sent}, {bytes{}}, {sent});
            reads = p_.operations[part].makes;
            start_ = p_.add(op_kind::start, reads, {bytes{}}, {sent});
            p_.operations[start_].writes = {sent};
        } else {
            start_ = p_.add(op_kind::start, reads, {size(makes)});
        }
        arrived_ = p_.operations[start_].makes[0];
        beside_ = p_.add(op_kind::compute, {0}, {size(64)});
        const std::uint32_t wait = p_.add(op_kind::wait, {arrived_}, {bytes{}}, {arrived_});
        last_ =
            p_.add(op_kind::compute, {p_.operations[wait].makes[0], p_.operations[beside_].makes[0]}, {size(makes)});
        p_.add(op_kind::output, p_.operations[last_].makes, {});
        // The operands of the start are the data to send, then the amounts for each member, then those from each
        // member.
        splits_.resize(2 * members);
        for (std::size_t k = 0; k < members; ++k) {
            const bool measured = what.how == probe::shares::measured;
            const auto form = measured ? split_size::form::measured : split_size::form::given;
            splits_[k] = {form, static_cast<std::int64_t>(measured ? 1 + k : sent_[k])};
            splits_[members + k] = {form, static_cast<std::int64_t>(measured ? 1 + members + k : received_[k])};
        }
    }

    /// The op model of the program. The library asks for a group and a payload only at the start, so these ignore `v`.
    struct model {
        const probe_run* r;
        [[nodiscard]] op_kind kind(std::uint32_t v) const { return r->p_.operations[v].kind; }
        [[nodiscard]] collective_kind collective(std::uint32_t) const { return r->what_.kind; }
        [[nodiscard]] group_id group(std::uint32_t) const { return r->group_; }
        [[nodiscard]] bytes payload(std::uint32_t) const { return {static_cast<std::int64_t>(r->size_of_sent() * 4)}; }
        [[nodiscard]] bytes bytes_of(std::uint32_t x) const { return r->p_.results[x].size; }
        [[nodiscard]] const std::vector<std::uint32_t>& aliases(std::uint32_t x) const {
            return r->p_.results[x].aliases;
        }
        [[nodiscard]] const std::vector<std::uint32_t>& effects(std::uint32_t v) const {
            return r->p_.operations[v].writes;
        }
    };
    /// Returns the task graph of the program.
    [[nodiscard]] auto graph() const { return make_task_graph(probe_view{&p_}, model{this}); }

    // The following members make the probe a kernel source.
    /// A kernel with the addresses of what it reads and makes. The probe must not move while it is used.
    struct work {
        const probe_run* r;
        task_id t;
        std::vector<std::byte*> in, out;
        void operator()() const { r->run(t, in, out); }
    };
    [[nodiscard]] work kernel(task_id t, task_memory m) const {
        return {this, t, {m.operands.begin(), m.operands.end()}, {m.results.begin(), m.results.end()}};
    }
    /// Returns the call of the one collective of the probe. Its id is the same on all members, as ranks must agree on
    /// it.
    [[nodiscard]] collective_call call(task_id) const {
        collective_call c;
        c.kind = what_.kind;
        c.reduction = reduces(what_.kind) ? reduction_kind::sum : reduction_kind::none;
        c.element = element_type::i32;
        c.logical_id = 1;
        if (what_.how != probe::shares::equal) {
            c.input_sizes = std::span(splits_).first(members_);
            c.output_sizes = std::span(splits_).last(members_);
        }
        return c;
    }
    /// Returns the size of a row, which is one number of 32 bits.
    [[nodiscard]] bytes row_bytes(task_id) const { return {4}; }
    /// Returns the address of the one input of the program. No kernel reads it; it only gives the first kernels an
    /// operand.
    [[nodiscard]] std::byte* address(value_id) { return input_.data(); }
    /// Returns the offset of a value in its storage. In place, a member's own part of an all-gather or a reduce-scatter
    /// comes after those of the preceding members; all other values begin at the beginning of their storage.
    [[nodiscard]] bytes offset(value_id x) const {
        const op_kind by = p_.operations[p_.results[x].by].kind;
        const auto own = static_cast<std::int64_t>(place_ * share * 4);
        if (!what_.in_place) return {};
        if (by == op_kind::view && what_.kind == collective_kind::all_gather) return {own};
        const bool arrives = by == op_kind::start || by == op_kind::wait;
        return {arrives && what_.kind == collective_kind::reduce_scatter ? own : 0};
    }

    /// Sets the number of the replay. All data depend on it, so leftovers of an earlier replay are wrong numbers.
    void set_replay(std::size_t replay) { replay_ = replay; }
    /// Returns the result of the last kernel, which depends on everything else.
    [[nodiscard]] value_id result() const { return p_.operations[last_].makes[0]; }

    /// Returns the position of the first wrong number in the result, or size_of_made() if all are correct.
    [[nodiscard]] std::size_t first_wrong(const std::byte* result) const {
        std::size_t at = 0;
        const auto check = [&](std::uint32_t due) {
            std::uint32_t seen = 0;
            std::memcpy(&seen, result + at * 4, 4);
            if (seen != due + 1) return false;
            ++at;
            return true;
        };
        const auto sum = [&](std::size_t i) {
            std::uint32_t all = 0;
            for (std::size_t k = 0; k < members_; ++k) all += number(k, i);
            return all;
        };
        switch (what_.kind) {
            case collective_kind::all_gather:
                for (std::size_t k = 0; k < members_; ++k)
                    for (std::size_t i = 0; i < share; ++i)
                        if (!check(number(k, i))) return at;
                break;
            case collective_kind::reduce_scatter:
            case collective_kind::all_reduce: {
                const std::size_t first = what_.kind == collective_kind::all_reduce ? 0 : place_ * share;
                for (std::size_t i = 0; i < size_of_made(); ++i)
                    if (!check(sum(first + i))) return at;
                break;
            }
            default:
                for (std::size_t k = 0; k < members_; ++k) {
                    std::size_t first = 0;
                    for (std::size_t j = 0; j < place_; ++j) first += rows(k, j);
                    for (std::size_t i = 0; i < rows(k, place_); ++i)
                        if (!check(number(k, first + i))) return at;
                }
                break;
        }
        return at;
    }
    /// Returns how many numbers this member receives.
    [[nodiscard]] std::size_t size_of_made() const {
        if (what_.kind == collective_kind::all_gather || what_.kind == collective_kind::all_reduce)
            return members_ * share;
        if (what_.kind == collective_kind::reduce_scatter) return share;
        std::size_t sum = 0;
        for (const std::size_t n : received_) sum += n;
        return sum;
    }

private:
    /// Returns how many numbers this member sends.
    [[nodiscard]] std::size_t size_of_sent() const {
        if (what_.kind == collective_kind::all_gather) return share;
        if (what_.kind != collective_kind::all_to_all) return members_ * share;
        std::size_t sum = 0;
        for (const std::size_t n : sent_) sum += n;
        return sum;
    }
    /// Returns how many numbers one member sends to another. Unequal shares depend on both members, so that a backend
    /// that confuses sender and receiver is detected.
    [[nodiscard]] std::size_t rows(std::size_t from, std::size_t to) const {
        return what_.how == probe::shares::equal ? share : 1 + (from + 2 * to) % 4;
    }
    /// Returns the i-th number that a member sends in this replay. It differs by member, position and replay; sums
    /// wrap.
    [[nodiscard]] std::uint32_t number(std::size_t member, std::size_t i) const {
        return static_cast<std::uint32_t>(1'000'003 * replay_ + 10'007 * member + 7 * i + 1);
    }
    /// Runs the kernel of a task. The last kernel adds the result of the one that runs beside the collective, which is
    /// one, to every received number.
    void run(task_id t, std::span<std::byte* const> in, std::span<std::byte* const> out) const {
        const auto put = [](std::byte* to, std::size_t at, std::uint32_t x) { std::memcpy(to + at * 4, &x, 4); };
        if (t == fill_) {
            const bool part = what_.in_place && what_.kind == collective_kind::all_gather;
            for (std::size_t i = 0; i < size_of_sent(); ++i)
                put(out[0], (part ? place_ * share : 0) + i, number(place_, i));
            for (std::size_t k = 1; k < out.size(); ++k) {
                const auto count =
                    static_cast<std::int64_t>(k <= members_ ? sent_[k - 1] : received_[k - 1 - members_]);
                std::memcpy(out[k], &count, 8);
            }
        } else if (t == beside_) {
            for (std::size_t i = 0; i < 64; ++i) put(out[0], i, 1);
        } else {
            std::uint32_t one = 0;
            std::memcpy(&one, in[1], 4);
            for (std::size_t i = 0; i < size_of_made(); ++i) {
                std::uint32_t x = 0;
                std::memcpy(&x, in[0] + i * 4, 4);
                put(out[0], i, x + one);
            }
        }
    }

    probe what_;
    std::size_t members_, place_;
    group_id group_;
    std::vector<std::size_t> sent_, received_;  // to and from each member, in numbers
    std::vector<split_size> splits_;
    probe_program p_;
    std::uint32_t fill_ = 0, start_ = 0, arrived_ = 0, beside_ = 0, last_ = 0;
    std::array<std::byte, 4> input_ = {};
    std::size_t replay_ = 0;
};

}  // namespace stretto::detail

namespace stretto {

// Every member runs the same probes in the same order. Binding finds out whether a reduction is supported, so nothing
// of a probe has been launched when it is refused.
template <backend B>
expected<backend_summary, backend_finding> check_backend(B& rank, group_id group) {
    const auto broken = [](const char* rule, const char* hint, std::size_t replay = 0) {
        return backend_finding{.rule = rule, .hint = hint, .replay = replay};
    };
    typename B::communicator_type* const channel = rank.channel(group);
    if (channel == nullptr)
        return unexpected(
            broken("member", "the backend has no communicator for a group that this rank is a member of"));
    const auto members = static_cast<std::size_t>(channel->size()), place = static_cast<std::size_t>(channel->place());
    if (place >= members) return unexpected(broken("place", "the place of a member is below the size of its group"));
    backend_summary summary;
    summary.members = members;
    for (const detail::probe& what : detail::probes) {
        detail::probe_run probe(what, members, place, group);
        const auto g = probe.graph();
        STRETTO_ASSERT(g.has_value(), "the programs of the check are graphs");
        std::vector<task_id> order;
        for (task_id t = 0; t < g->size(); ++t) order.push_back(t);
        const auto checked = check_order(*g, std::move(order));
        STRETTO_ASSERT(checked.has_value(), "program order is legal");
        auto bound = bind_order(*g, *checked, probe, rank);
        if (!bound && bound.error().why == bind_error::reason::unsupported_reduction) {
            ++summary.refused;
            continue;
        }
        if (!bound) return unexpected(broken(what.rule, "a small program cannot be bound; is there no memory?"));
        // The probe runs more than once, because every replay reuses the same events and queues.
        for (std::size_t replay = 0; replay < 3; ++replay) {
            probe.set_replay(replay);
            if (auto failure = bound->replay()) {
                backend_finding f = broken(what.rule, "a replay has failed", replay);
                f.failure = std::move(failure);
                return unexpected(std::move(f));
            }
            const std::size_t wrong = probe.first_wrong(bound->address(probe.result()));
            if (wrong == probe.size_of_made()) continue;
            backend_finding f = broken(what.rule,
                                       "a number has not arrived, or too late, or is not the one that was sent: is an "
                                       "event passed over, or are ranks in another order?",
                                       replay);
            f.number = wrong;
            return unexpected(std::move(f));
        }
        ++summary.programs;
    }
    return summary;
}

}  // namespace stretto

#endif
