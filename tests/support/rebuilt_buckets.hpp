// The tasks of a program in buckets the slow way: the program is written in buckets, and its task graph is built anew.
// What contracts task graphs is compared with it.
#ifndef STRETTO_TESTS_SUPPORT_REBUILT_BUCKETS_HPP
#define STRETTO_TESTS_SUPPORT_REBUILT_BUCKETS_HPP

#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/unique_rows.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/transform/bucket_plan.hpp"
#include "stretto/tune/bucketed_tasks.hpp"
#include "stretto/tune/step_table.hpp"

namespace support {

namespace rebuilding {

using namespace stretto;

/// Writes the table of a program in buckets, along the order of the plan.
class rebuilt_buckets {
public:
    using id = std::uint32_t;
    using plan_type = bucket_plan<id, id>;

    rebuilt_buckets(const plan_type& plan, const step_table& step)
        : plan_(plan),
          step_(step),
          becomes_(step.size(), fate::stays),
          bucket_of_(step.size(), none),
          vertex_(step.size(), none),
          value_(step.values(), none) {
        for (id k = 0; k < plan.buckets.size(); ++k) {
            const auto mark = [&](const std::vector<id>& all, fate f) {
                for (id v : all) becomes_[v] = f, bucket_of_[v] = k;
            };
            mark(plan.buckets[k].members, fate::member);
            mark(plan.buckets[k].waits, fate::waited);
            mark(plan.buckets[k].casts, fate::absorbed);
        }
    }

    /// `moving(b)` is the time of a kernel that moves so many bytes.
    template <class Moving>
    [[nodiscard]] expected<bucketed_tasks, task_graph_error> run(Moving moving) {
        for (id v : plan_.order) {
            if (becomes_[v] == fate::stays) {
                copy(v);
                continue;
            }
            const bucket<id, id>& b = plan_.buckets[bucket_of_[v]];
            if (becomes_[v] == fate::member && v == b.members[0]) launch(b, moving);
            if (becomes_[v] != fate::waited) continue;
            if (v == b.waits[0]) arrive(b, moving);
            view(v);
        }
        there_.close_for_tasks();
        auto graph = make_task_graph(step_table_view{&there_}, step_table_model{&there_});
        if (!graph) return unexpected(graph.error());
        made_.graph = *std::move(graph);
        return std::move(made_);
    }

private:
    static constexpr id none = step_table::none;
    enum class fate : std::uint8_t {
        stays,
        member,
        waited,
        absorbed
    };

    /// Begins a task; its lists are open until `close`.
    void begin(const step_table::operation& o, id original, bucketed_role role) {
        there_.operations.push_back(o);
        made_.original.push_back(original);
        made_.role.push_back(role);
    }
    void read(id there) { operands_.add(there_.operands, there); }
    void after(id v) {
        if (vertex_[v] != none) controls_.add(there_.controls, vertex_[v]);
    }
    void close() {
        operands_.close(there_.operands);
        controls_.close(there_.controls);
        there_.effects.close_row();
        there_.first_result.push_back(static_cast<id>(there_.values()));
    }
    /// Adds a result, of which the aliases have been pushed.
    id result(bytes allocated) {
        there_.aliases.close_row();
        there_.allocation.push_back(allocated);
        there_.producer.push_back(static_cast<id>(there_.operations.size() - 1));
        return static_cast<id>(there_.values() - 1);
    }
    [[nodiscard]] id last() const { return static_cast<id>(there_.operations.size() - 1); }

    void copy(id v) {
        step_table::operation o = step_.operations[v];
        if (o.launch != none) o.launch = vertex_[o.launch];
        begin(o, v, bucketed_role::original);
        for (id x : step_.operands[v]) read(value_[x]);
        for (id x : step_.effects[v]) there_.effects.push(value_[x]);
        for (id p : step_.controls[v]) after(p);
        vertex_[v] = last();
        for (id x = step_.first_result[v]; x < step_.first_result[v + 1]; ++x) {
            for (id y : step_.aliases[x])
                if (value_[y] != none) there_.aliases.push(value_[y]);
            value_[x] = result(step_.allocation[x]);
        }
        close();
    }

    template <class Moving>
    void launch(const bucket<id, id>& b, Moving moving) {
        const bool packs = b.mode == bucket_mode::pack;
        const auto depend = [&] {
            for (const std::vector<id>* all : {&b.members, &b.casts})
                for (id m : *all)
                    for (id p : step_.controls[m]) after(p);
            for (id x : b.parts) read(value_[x]);
        };
        id payload = none;
        if (packs) {
            nanoseconds packing = b.copies - moving(b.received + b.received);
            for (id c : b.casts) packing += step_.operations[c].duration;
            begin({op_kind::compute, collective_kind::other, 0, none, packing, {}}, b.members[0], bucketed_role::pack);
            depend();
            payload = result(b.payload);
            close();
        }
        step_table::operation o = step_.operations[b.members[0]];
        o.duration = b.merged;
        o.payload = b.payload;
        begin(o, b.members[0], bucketed_role::launch);
        if (packs) read(payload);
        else depend();
        const id sent = result(b.received);
        close();
        for (id m : b.members) {
            vertex_[m] = last();
            value_[step_.first_result[m]] = sent;
        }
    }

    template <class Moving>
    void arrive(const bucket<id, id>& b, Moving moving) {
        const id sent = value_[step_.first_result[b.members[0]]];
        step_table::operation o;
        o.kind = op_kind::wait;
        o.launch = vertex_[b.members[0]];
        begin(o, b.waits[0], bucketed_role::wait);
        read(sent);
        for (id w : b.waits)
            for (id p : step_.controls[w]) after(p);
        there_.aliases.push(sent);
        arrived_ = result({});
        close();
        if (b.mode != bucket_mode::pack) return;
        begin({op_kind::compute, collective_kind::other, 0, none, moving(b.received + b.received), {}}, b.waits[0],
              bucketed_role::unpack);
        read(arrived_);
        arrived_ = result(b.received);
        close();
        for (id m : b.members) value_[step_.first_result[m]] = arrived_;
    }

    void view(id w) {
        begin({op_kind::view, collective_kind::other, 0, none, {}, {}}, w, bucketed_role::view);
        read(arrived_);
        there_.aliases.push(arrived_);
        vertex_[w] = last();
        value_[step_.first_result[w]] = result({});
        close();
    }

    const plan_type& plan_;
    const step_table& step_;
    std::vector<fate> becomes_;  // by vertex of the step
    std::vector<id> bucket_of_;  // by vertex of the step
    std::vector<id> vertex_;     // by vertex of the step: the task that it is, or that stands for it
    std::vector<id> value_;      // by value of the step
    id arrived_ = 0;             // what arrives in the bucket whose waits stand side by side here
    step_table there_;
    stretto::detail::unique_rows<> operands_, controls_;
    bucketed_tasks made_;
};

}  // namespace rebuilding

using rebuilding::rebuilt_buckets;

}  // namespace support

#endif
