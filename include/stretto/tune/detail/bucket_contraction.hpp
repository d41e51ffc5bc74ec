// Makes the task graph of a step in buckets from the task graph without them, for try_buckets and search_buckets. A
// search does this for hundreds of plans, so tasks that no bucket affects are copied at the speed of memory, and only
// the others are derived anew.
#ifndef STRETTO_TUNE_DETAIL_BUCKET_CONTRACTION_HPP
#define STRETTO_TUNE_DETAIL_BUCKET_CONTRACTION_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/transform/bucket_plan.hpp"
#include "stretto/tune/bucketed_tasks.hpp"
#include "stretto/tune/detail/bucketed_task_writer.hpp"
#include "stretto/tune/detail/contractible_step.hpp"
#include "stretto/tune/step_table.hpp"

namespace stretto::detail {

/// A step whose tasks can be put into the buckets of any number of plans. The result is identical to that of writing
/// the program in buckets and building its task graph anew, number by number.
///
/// A task outside of all buckets keeps its rows, with new numbers. The rows of the following tasks are derived by the
/// rules of make_task_graph instead: tasks that use memory which is written in place, because their dependences follow
/// from the order of all uses; tasks whose rows contain two collectives, because these may now be one; tasks that
/// access data in flight; and users of memory that is kept, written or sized only because of the collectives merged
/// with it.
template <class = void>
class bucket_contraction {
    using id = std::uint32_t;
    using plan_type = bucket_plan<id, id>;
    static constexpr id none = UINT32_MAX;

public:
    /// Reads a table, which must outlive the result. The error says why the step is not a task graph. O(V + E).
    [[nodiscard]] static expected<bucket_contraction, task_graph_error> of(const step_table& table) {
        auto step = contractible_step<>::of(table);
        if (!step) return unexpected(step.error());
        return bucket_contraction(*std::move(step));
    }

    /// Returns the tasks without buckets.
    [[nodiscard]] const task_graph& whole() const noexcept { return step_.whole; }

    /// Writes the tasks of the step in these buckets, in the order of the plan, into `made`, whose memory is used
    /// again. `moving(b)` is the time of a kernel that moves b bytes. Returns nothing, or the fault if costs of the
    /// buckets are negative or overflow, and `made` then has no meaning. O(V + E) with a small constant, plus O(log V)
    /// for every use of memory that is written in place. Precondition: the plan is one of this step.
    template <class Moving>
    [[nodiscard]] std::optional<task_graph_error> contract(const plan_type& plan, Moving moving, bucketed_tasks& made) {
        begin(plan, made);
        if (plan.empty()) writer_.copy(0, static_cast<id>(whole().size()));
        for (std::size_t k = 0; k < plan.order.size();) {
            const id v = plan.order[k];
            if (becomes_[v] == fate::stays) {
                id end = v;
                do ++k, ++end;
                while (k < plan.order.size() && plan.order[k] == end && becomes_[end] == fate::stays);
                writer_.copy(v, end);
                continue;
            }
            ++k;
            if (becomes_[v] == fate::derived) {
                writer_.derive_again(v);
                continue;
            }
            const bucket<id, id>& b = plan.buckets[bucket_of_[v]];
            if (becomes_[v] == fate::member && v == b.members[0]) launch(b, moving);
            if (becomes_[v] != fate::waited) continue;
            if (v == b.waits[0]) arrive(b, moving);
            view(v);
        }
        forget(plan);
        return writer_.end();
    }

private:
    /// What becomes of a task in a plan.
    enum class fate : std::uint8_t {
        stays,    // it is copied
        derived,  // it stays, but its rows are derived anew
        member,   // a start that a bucket replaces
        waited,   // a wait of such a start, which becomes a view
        absorbed  // a cast that a pack replaces
    };
    static constexpr std::uint8_t of_users = value_facts::kept | value_facts::written;  // these depend on the users
    static constexpr std::uint8_t of_storage = of_users | value_facts::sized;

    explicit bucket_contraction(contractible_step<> step)
        : step_(std::move(step)), bucket_of_(whole().size(), none), writer_(whole().size(), step_.facts.size()) {
        for (task_id t = 0; t < whole().size(); ++t) becomes_.push_back(without_buckets(t));
    }
    [[nodiscard]] fate without_buckets(task_id t) const {
        return step_.always_derived[t] != 0 ? fate::derived : fate::stays;
    }

    /// Determines the fate of every task, and begins to write.
    void begin(const plan_type& plan, bucketed_tasks& made) {
        std::int64_t time = step_.time, memory = step_.memory;
        for (id k = 0; k < plan.buckets.size(); ++k) {
            const auto mark = [&](const std::vector<id>& all, fate f) {
                for (id v : all) {
                    becomes_[v] = f, bucket_of_[v] = k, writer_.task_of[v] = no_task;
                    time -= whole().duration[v].count;
                    for (value_id x = whole().first_result[v]; x < whole().first_result[v + 1]; ++x)
                        memory -= whole().allocation[x].count;
                }
            };
            mark(plan.buckets[k].members, fate::member);
            mark(plan.buckets[k].waits, fate::waited);
            mark(plan.buckets[k].casts, fate::absorbed);
        }
        arrives_.clear();
        derived_.clear();
        for (const bucket<id, id>& b : plan.buckets) unite(b);
        writer_.begin(step_, 4 * plan.buckets.size(), time, memory, made);
    }
    /// Determines the value_facts of the memory in which a bucket arrives: they hold if they hold for a member. Users
    /// of memory whose facts differ from these are derived anew.
    void unite(const bucket<id, id>& b) {
        const auto for_each_memory = [&](auto f) {
            for (const std::vector<id>* all : {&b.members, &b.waits})
                for (id v : *all) {
                    const value_id x = whole().first_result[v];
                    for (value_id s : whole().storages[x])
                        if (s == x) f(s);
                }
        };
        std::uint8_t facts = b.received.count > 0 ? value_facts::sized : 0;
        for_each_memory([&](value_id s) { facts |= static_cast<std::uint8_t>(step_.facts[s] & of_users); });
        for_each_memory([&](value_id s) {
            if (((step_.facts[s] ^ facts) & of_storage) == 0) return;
            for (task_id t : step_.users[s])
                if (becomes_[t] == fate::stays) becomes_[t] = fate::derived, derived_.push_back(t);
        });
        arrives_.push_back(facts);
    }
    /// Gives the tasks that `begin` and `unite` changed their fates without buckets again.
    void forget(const plan_type& plan) {
        for (const bucket<id, id>& b : plan.buckets)
            for (const std::vector<id>* all : {&b.members, &b.waits, &b.casts})
                for (id v : *all) becomes_[v] = without_buckets(v);
        for (id v : derived_) becomes_[v] = without_buckets(v);
    }

    /// Writes the pack, if the mode needs one, and the launch of a bucket.
    template <class Moving>
    void launch(const bucket<id, id>& b, Moving moving) {
        const bool packs = b.mode == bucket_mode::pack;
        const auto depend = [&] {
            for (id x : b.parts) writer_.read(writer_.value_of[x]);
            writer_.close_operands();
            for (const std::vector<id>* all : {&b.members, &b.casts})
                for (id m : *all) writer_.after(m);
        };
        value_id payload = none;
        if (packs) {
            nanoseconds packing = b.copies - moving(b.received + b.received);
            for (id c : b.casts) packing += step_.table->operations[c].duration;
            writer_.open({op_kind::compute, collective_kind::other, 0, none, packing, {}}, b.members[0],
                         bucketed_role::pack);
            depend();
            payload = writer_.result(b.payload, 0);
            writer_.close();
        }
        step_table::operation o = step_.table->operations[b.members[0]];
        o.duration = b.merged;
        o.payload = b.payload;
        writer_.open(o, b.members[0], bucketed_role::launch);
        if (packs) {
            writer_.read(payload);
            writer_.close_operands();
        } else {
            depend();
        }
        const std::uint8_t arrives = arrives_[bucket_of_[b.members[0]]];
        const int facts = packs ? 0 : arrives & of_users;
        const value_id sent = writer_.result(b.received, facts | value_facts::in_flight);
        for (id m : b.members) {
            writer_.task_of[m] = writer_.next();
            writer_.value_of[whole().first_result[m]] = writer_.storage_of[whole().first_result[m]] = sent;
        }
        writer_.close();
    }

    /// Writes the wait of a bucket and, if the mode needs one, the unpack.
    template <class Moving>
    void arrive(const bucket<id, id>& b, Moving moving) {
        const value_id sent = writer_.value_of[whole().first_result[b.members[0]]];
        step_table::operation o;
        o.kind = op_kind::wait;
        o.launch = writer_.task_of[b.members[0]];
        writer_.open(o, b.waits[0], bucketed_role::wait);
        writer_.read(sent);
        writer_.close_operands();
        for (id w : b.waits) writer_.after(w);
        arrived_ = writer_.result_in(sent);
        writer_.close();
        if (b.mode == bucket_mode::pack) {
            writer_.open({op_kind::compute, collective_kind::other, 0, none, moving(b.received + b.received), {}},
                         b.waits[0], bucketed_role::unpack);
            writer_.read(arrived_);
            writer_.close_operands();
            const std::uint8_t arrives = arrives_[bucket_of_[b.members[0]]];
            arrived_ = writer_.result(b.received, arrives & of_users);
            writer_.close();
        }
        const value_id memory = writer_.memory_of(arrived_);
        for (id m : b.members) {
            writer_.value_of[whole().first_result[m]] = arrived_;
            writer_.storage_of[whole().first_result[m]] = memory;
        }
    }

    /// Writes the view that replaces wait w of the bucket that has arrived last.
    void view(id w) {
        writer_.open({op_kind::view, collective_kind::other, 0, none, {}, {}}, w, bucketed_role::view);
        writer_.read(arrived_);
        writer_.close_operands();
        writer_.task_of[w] = writer_.next();
        writer_.value_of[whole().first_result[w]] = writer_.result_in(arrived_);
        writer_.storage_of[whole().first_result[w]] = writer_.memory_of(arrived_);
        writer_.close();
    }

    contractible_step<> step_;
    std::vector<fate> becomes_;          // by task; between two plans, the fate without buckets
    std::vector<id> bucket_of_;          // by task: its bucket in the present plan
    std::vector<task_id> derived_;       // tasks that are derived only because of the present plan
    std::vector<std::uint8_t> arrives_;  // by bucket: the value_facts of the memory in which it arrives
    value_id arrived_ = 0;               // the received data of the bucket whose waits are being written
    bucketed_task_writer<> writer_;
};

}  // namespace stretto::detail

#endif
