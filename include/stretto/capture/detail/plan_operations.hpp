// Checks that every operation of the step survives unchanged, or vanishes by the rules. Operations are compared by
// name, and clones with their originals. check_plan uses it.
//
// A plan may change when an operation runs, and nothing else about it: its kind, operator, arguments, costs, results,
// and the names of what it reads must be those of the step. Where something is replaced, its readers read its stand-in
// instead; plan_stand_ins decides what may be one. So a plan is judged without running it.
//
// Longer than 300 lines: it contains everything that is asked of one operation.
#ifndef STRETTO_CAPTURE_DETAIL_PLAN_OPERATIONS_HPP
#define STRETTO_CAPTURE_DETAIL_PLAN_OPERATIONS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/capture/detail/casts.hpp"
#include "stretto/capture/detail/plan_match.hpp"
#include "stretto/capture/detail/plan_prices.hpp"
#include "stretto/capture/detail/plan_stand_ins.hpp"
#include "stretto/capture/detail/same_json.hpp"

namespace stretto::detail {

/// Checks operations, one by one.
class plan_operations {
public:
    plan_operations(plan_match& match, const plan_stand_ins& stand_ins) : m_(match), stand_ins_(stand_ins) {}

    /// Requires that every operation of the step is there once, in one form.
    void check_presence() {
        for (old_id u = 0; u < m_.step.size(); ++u) check_presence(u);
    }
    /// Checks node v of the plan. Precondition: `stand_ins` has passed everything before it.
    void check(new_id v) {
        if (m_.role[v] == plan_role::survivor) check_survivor(m_.old_of[v], v);
        if (m_.role[v] == plan_role::clone) check_clone(m_.origin[v], v);
        if (m_.role[v] == plan_role::recombination) check_recombination(v);
        if (m_.role[v] != plan_role::survivor && m_.role[v] != plan_role::clone) check_new_writes(v);
    }
    /// Checks all clones of each chunked operation together.
    void check_chunks() {
        for (old_id u = 0; u < m_.step.size(); ++u)
            if (m_.chunked(u)) check_chunks(u);
    }

private:
    void add(plan_rule rule, std::string_view node, std::string_view other, std::string cause, std::string hint) {
        m_.found.add(rule, node, other, std::move(cause), std::move(hint));
    }

    /// Requires that u survives under its name, or is replaced in exactly one way.
    void check_presence(old_id u) {
        const bool launched = m_.bucket_of[u] != nobody, absorbed = m_.absorbed_by[u] != nobody;
        const bool replaced = launched || absorbed || m_.chunked(u) || m_.summed(u);
        const std::string_view name = m_.step.name(u);
        if (m_.new_of[u] == nobody && !replaced)
            add(plan_rule::operation_lost, name, "",
                m_.step.kind(u) == op_kind::start ? "is never launched" : "is lost",
                "every operation survives under its name, is launched in a bucket, absorbed or chunked");
        if (m_.new_of[u] != nobody && replaced)
            add(launched ? plan_rule::launched_twice : plan_rule::operation_still_there, name, "",
                launched       ? "is launched in a bucket, and still there"
                : absorbed     ? "is absorbed by " + m_.quoted(m_.plan, m_.absorbed_by[u]) + ", and still there"
                : m_.summed(u) ? std::string("is reduced once, and still there")
                               : "is chunked, and still there",
                "what is replaced vanishes");
        if (launched && m_.chunked(u))
            add(plan_rule::launched_twice, name, "", "is launched in a bucket, and chunked", "do one of the two");
    }

    /// Compares node u of the step with node v of the plan, which has its name.
    void check_survivor(old_id u, new_id v) {
        const capture &a = m_.step, &b = m_.plan;
        const std::string_view name = b.name(v);
        const std::optional<old_id> start = a.launch_of(u);
        if (start && m_.bucket_of[*start] != nobody) {  // its wait is checked with the bucket
            check_results(u, v);
            return;
        }
        if (m_.sum_of[u] != nobody) return check_results(u, v);  // the rest is checked with the sum
        const bool converts = is_same_conversion(u, v);
        if (!converts && (a.kind(u) != b.kind(v) || a.op(u) != b.op(v) || a.collective(u) != b.collective(v))) {
            add(plan_rule::operation_changed, name, "", "was " + what(a, u) + ", is " + what(b, v),
                "operations keep kind, operator and collective");
            return;
        }
        const auto same = [&](const char* what, std::int64_t was, std::int64_t is) {
            if (was != is)
                add(plan_rule::cost_changed, name, "",
                    std::string(what) + " was " + std::to_string(was) + ", is " + std::to_string(is),
                    "operations keep their costs");
        };
        if (!converts || !is_paid_conversion(v)) same("ns", a.duration(u).count, b.duration(v).count);
        same("bytes", a.allocation(u).count, b.allocation(v).count);
        same("payload", a.payload(u).count, b.payload(v).count);
        check_results(u, v);
        check_inputs(u, v);
        check_same_writes(u, v);
        check_storages(u, v);
        if (!converts && a.inputs(u).size() == b.inputs(v).size())
            for (const char* key : {"args", "kwargs"})
                if (!same_json(a.field(u, key), b.field(v, key)))
                    add(plan_rule::operation_changed, name, "", std::string(key) + " differ from the step's",
                        "operations keep their arguments");
    }

    /// Returns whether u and v are casts that only convert, to one type, and so compute the same even if their
    /// operators differ. A bucket records only the name of a cast that its pack has absorbed, so splitting it may write
    /// the cast with another operator.
    [[nodiscard]] bool is_same_conversion(old_id u, new_id v) const {
        const capture_tensors &a = m_.step_tensors, &b = m_.plan_tensors;
        if (!a.is_read(u) || !b.is_read(v) || a.components(u).size() != 1 || b.components(v).size() != 1) return false;
        const std::string_view element = a.element_name(u, 0);
        return element == b.element_name(v, 0) && only_converts(m_.step, u, element) &&
               only_converts(m_.plan, v, element);
    }
    /// Returns whether such a cast takes the time to move what it reads and writes, as it would in a pack.
    [[nodiscard]] bool is_paid_conversion(new_id v) const {
        const bytes read = size_of_results(m_.plan_tensors, m_.plan.inputs(v)[0]);
        const bytes moved = read + size_of_results(m_.plan_tensors, v);
        return !underpaid(m_.plan.duration(v), price_of_moving(m_.step.costs(), moved));
    }

    /// Returns kind and operator of a node, for messages.
    static std::string what(const capture& c, std::uint32_t v) {
        return std::string(kind_names[static_cast<std::size_t>(c.kind(v))]) + " " + printable(c.op(v));
    }

    /// Requires that shapes and types are the same. Expressions may have become numbers, because symbols may have been
    /// replaced by their values.
    void check_results(old_id u, new_id v) {
        if (same_json(m_.step.outputs(u), m_.plan.outputs(v))) return;
        const capture_tensors &a = m_.step_tensors, &b = m_.plan_tensors;
        bool same = a.is_read(u) && b.is_read(v) && a.components(u).size() == b.components(v).size();
        for (std::size_t k = 0; same && k < a.components(u).size(); ++k)  // a symbolic extent may have become a number
            same = std::ranges::equal(a.components(u)[k].shape, b.components(v)[k].shape) &&
                   a.element_name(u, k) == b.element_name(v, k);
        if (!same)
            add(plan_rule::operation_changed, m_.plan.name(v), "",
                "shape or type of its results differ from the step's", "operations keep their results");
    }

    /// Compares inputs, place by place unless chunks are involved and their number differs. Then two places may have
    /// become one, and extents may have become operands.
    void check_inputs(old_id u, new_id v) {
        const auto was = m_.step.inputs(u);
        const auto is = m_.plan.inputs(v);
        const std::string_view name = m_.plan.name(v);
        const bool clone = m_.role[v] == plan_role::clone;
        // If something that v reads is chunked, two of its operands may have become one recombination, and numbers may
        // have become operands. Then it is enough that each old operand has a stand-in, and each new one stands for
        // something. A node that is no clone and reads as many values as before has kept its arguments, which refer to
        // places.
        const bool free_places =
            clone ||
            (was.size() != is.size() && std::any_of(was.begin(), was.end(), [&](old_id x) { return m_.chunked(x); }));
        const char* hint = clone ? "a clone reads the same chunk of what its original reads, or a split of it"
                                 : "operations keep the names of their inputs, or read the recombined value";
        if (!free_places && was.size() != is.size()) {
            add(plan_rule::inputs_changed, name, "",
                "read " + std::to_string(was.size()) + " nodes, reads " + std::to_string(is.size()), hint);
            return;
        }
        for (std::size_t k = 0; k < was.size(); ++k) {
            auto best = k < is.size() ? fits(v, was[k], is[k]) : plan_stand_ins::answer::no;
            if (free_places)
                for (std::size_t i = 0; i < is.size() && best != plan_stand_ins::answer::yes; ++i)
                    if (const auto fit = fits(v, was[k], is[i]); fit != plan_stand_ins::answer::no) best = fit;
            if (best == plan_stand_ins::answer::yes) continue;
            const std::string there = m_.quoted(m_.step, was[k]);
            if (best == plan_stand_ins::answer::partly)
                add(plan_rule::recombination_partial, name, m_.step.name(was[k]), "reads only some chunks of " + there,
                    "what is outside of the chunked region reads the whole, recombined");
            else if (!clone || !m_.step_tensors.components(was[k]).empty())
                add(plan_rule::inputs_changed, name, m_.step.name(was[k]), "does not read " + there, hint);
        }
        if (!free_places) return;
        for (new_id x : is) {
            const bool extent = clone && m_.plan_tensors.components(x).empty();
            const auto fitting = [&](old_id y) { return fits(v, y, x) != plan_stand_ins::answer::no; };
            if (!extent && std::ranges::none_of(was, fitting))
                add(plan_rule::inputs_changed, name, m_.plan.name(x),
                    "reads " + m_.quoted(m_.plan, x) + ", for which the step has no counterpart", hint);
        }
    }

    /// Returns whether node v may read `is` where its original reads `was`.
    [[nodiscard]] plan_stand_ins::answer fits(new_id v, old_id was, new_id is) const {
        if (m_.role[v] != plan_role::clone) return stand_ins_.outside(was, is);
        // A wait needs the launch itself, and the rules of storages need waits, so nothing may stand in between.
        if (m_.step.kind(was) == op_kind::start && m_.step.kind(m_.origin[v]) == op_kind::wait &&
            m_.plan.kind(is) != op_kind::start)
            return plan_stand_ins::answer::no;
        return stand_ins_.inside(v, was, is) ? plan_stand_ins::answer::yes : plan_stand_ins::answer::no;
    }

    /// Requires that the survivor v names what u names as written. Stand-ins have the names of what they replace.
    void check_same_writes(old_id u, new_id v) {
        if (!std::ranges::equal(m_.step.writes(u), m_.plan.writes(v),
                                [&](old_id w, new_id x) { return m_.step.name(w) == m_.plan.name(x); }))
            add_write_change(v);
    }
    /// Requires that the clone v writes what u writes. A written storage may be named by the node that allocates it or
    /// by a view of it, and a clone may name it by the other of the two.
    void check_writes(old_id u, new_id v) {
        const auto was = m_.step.writes(u), operands = m_.step.inputs(u), is = m_.plan.writes(v);
        const auto stands_for = [&](old_id y, new_id x) { return fits(v, y, x) == plan_stand_ins::answer::yes; };
        const auto kept = [&](old_id w) {
            return std::ranges::any_of(is, [&](new_id x) {
                const auto names = [&](old_id y) { return m_.share_storage(y, w) && stands_for(y, x); };
                return stands_for(w, x) || std::ranges::any_of(operands, names);
            });
        };
        if (was.size() != is.size() || !std::ranges::all_of(was, kept)) add_write_change(v);
    }
    void add_write_change(new_id v) {
        add(plan_rule::writes_changed, m_.plan.name(v), "", "does not write in place what it writes in the step",
            "mutates names the same nodes");
    }

    /// Requires that results live at least where they lived before, because every rule about order and memory relies on
    /// that. A view of something that is chunked lives in the recombination that it reads.
    void check_storages(old_id u, new_id v) {
        for (old_id s : m_.step_storages[u]) {
            if (s == u || m_.absorbed_by[s] != nobody) continue;
            const auto any = [&](auto accept) { return std::ranges::any_of(m_.plan_storages[v], accept); };
            bool kept = m_.new_of[s] != nobody && contains(m_.plan_storages[v], m_.new_of[s]);
            const auto of_bucket = [&](new_id x) {
                return m_.role[x] == plan_role::unpack || m_.bucket_at[x] == m_.bucket_of[s];
            };
            if (!kept && m_.bucket_of[s] != nobody) kept = any(of_bucket);
            if (!kept && m_.sum_of[s] != nobody)
                kept = contains(m_.plan_storages[v], m_.sums[m_.sum_of[s]].start) || m_.summed(u);
            const auto of_chunks = [&](new_id x) {
                return m_.role[x] == plan_role::recombination || m_.role[x] == plan_role::clone;
            };
            const auto moves_it = [&](old_id y) { return m_.is_moved(y) && contains(m_.step_storages[y], s); };
            if (!kept &&
                (m_.chunked(s) || m_.role[v] == plan_role::clone || std::ranges::any_of(m_.step.inputs(u), moves_it)))
                kept = any(of_chunks);
            if (!kept)
                add(plan_rule::storage_lost, m_.plan.name(v), m_.step.name(s),
                    "does not share the storage of " + m_.quoted(m_.step, s), "alias names the same nodes");
        }
    }

    /// Compares the clone v with its original u. A collective must take what the table says for its payload. Other
    /// costs of single clones are free, because check_chunks() compares their sums.
    void check_clone(old_id u, new_id v) {
        const capture &a = m_.step, &b = m_.plan;
        if (a.kind(u) != b.kind(v) || a.op(u) != b.op(v) || a.collective(u) != b.collective(v)) {
            add(plan_rule::operation_changed, b.name(v), a.name(u),
                "is " + what(b, v) + ", its original " + m_.quoted(a, u) + " is " + what(a, u),
                "a clone keeps kind and operator");
            return;
        }
        check_inputs(u, v);
        check_writes(u, v);
        check_storages(u, v);
        if (a.kind(u) != op_kind::start) return;
        const auto price = price_of_collective(a, a.group(u), a.collective(u), b.payload(v));
        if (price && underpaid(b.duration(v), *price))
            add(plan_rule::collective_underpaid, b.name(v), "",
                "takes " + std::to_string(b.duration(v).count) + " ns, the table says " + whole(*price),
                "a cloned collective costs what the table says for its payload");
    }
    static std::string whole(double price) { return std::to_string(static_cast<std::int64_t>(price + 0.5)); }

    /// Checks all clones of u together: their numbers, and that time, memory and payload are no less than those of u.
    void check_chunks(old_id u) {
        const std::vector<new_id>& parts = m_.clones[u];
        const std::string_view name = m_.step.name(u);
        std::int64_t paid = 0, allocated = 0, sent = 0;
        bool numbered = true;
        for (std::size_t k = 0; k < parts.size(); ++k) {
            numbered = numbered && m_.chunk[parts[k]] == static_cast<std::int64_t>(k);
            paid += m_.plan.duration(parts[k]).count;
            allocated += m_.plan.allocation(parts[k]).count;
            sent += m_.plan.payload(parts[k]).count;
        }
        const std::optional<old_id> start = m_.step.launch_of(u);
        if (!numbered || (start && m_.clones[*start].size() != parts.size()))
            add(plan_rule::chunks_incomplete, name, "",
                numbered ? "has not as many chunks as the collective it waits for"
                         : "has chunks that are not 0 to " + std::to_string(parts.size() - 1) + ", once each",
                "the clones of one operation are numbered 0, 1, 2, ...");
        const auto n = static_cast<std::int64_t>(parts.size());
        const std::int64_t whole_work = m_.step.duration(u).count;
        // An operation that takes less than a launch takes no longer in parts. Each clone may be short of its exact
        // share by the rounding to a nanosecond.
        const std::int64_t launch = std::min(whole_work, m_.step.costs().launch.count);
        if (m_.step.kind(u) == op_kind::compute && whole_work > 0 &&
            static_cast<double>(paid) + static_cast<double>(n) <
                static_cast<double>(whole_work) + static_cast<double>(n - 1) * static_cast<double>(launch))
            add(plan_rule::chunks_underpaid, name, m_.plan.name(parts[0]),
                "takes " + std::to_string(whole_work) + " ns, its " + std::to_string(n) + " chunks together " +
                    std::to_string(paid),
                "chunks cost at least the whole and a launch for each after the first");
        // With a table, each clone of a collective has its price. Without one, parts are no faster than the whole.
        if (m_.step.kind(u) == op_kind::start && paid < whole_work - n &&
            m_.step.cost_table(m_.step.group(u), m_.step.collective(u)) == nullptr)
            add(plan_rule::collective_underpaid, name, m_.plan.name(parts[0]),
                "takes " + std::to_string(whole_work) + " ns, its " + std::to_string(n) + " chunks together " +
                    std::to_string(paid),
                "without a table, cloned collectives together cost what the whole does");
        if (allocated < m_.step.allocation(u).count)
            add(plan_rule::memory_unaccounted, name, m_.plan.name(parts[0]),
                "allocates " + std::to_string(m_.step.allocation(u).count) + " bytes, its chunks together " +
                    std::to_string(allocated),
                "the parts of a result are as large as the whole");
        if (sent < m_.step.payload(u).count)
            add(plan_rule::payload_wrong, name, m_.plan.name(parts[0]),
                "sends " + std::to_string(m_.step.payload(u).count) + " bytes, its chunks together " +
                    std::to_string(sent),
                "the parts of a payload are as large as the whole");
    }

    /// Requires that node v, which the plan adds, writes nothing that survives from the step. It may fill what the plan
    /// adds, and sum up in parts.
    void check_new_writes(new_id v) {
        if (m_.role[v] == plan_role::sum_addition) return;  // plan_sums looks at what it writes
        for (new_id x : m_.plan.writes(v))
            for (new_id s : m_.plan_storages[x])
                if (m_.role[s] == plan_role::survivor) {
                    add(plan_rule::writes_changed, m_.plan.name(v), m_.plan.name(s),
                        "writes " + m_.quoted(m_.plan, s) + " in place, which is the step's",
                        "new nodes write only what the plan has added");
                    return;
                }
    }

    /// Requires that a node that splits or recombines pays for what it does, whatever its operator: a copy for the
    /// bytes that it writes, and memory for its results. Memory that is only allocated is free until it is written.
    void check_recombination(new_id v) {
        const std::string_view name = m_.plan.name(v);
        if (!m_.plan_tensors.is_read(v))
            add(plan_rule::memory_unaccounted, name, "", "has results whose size cannot be read",
                "outputs are a list of tensors, each with a shape and a type");
        const bytes held = std::max(size_of_results(m_.plan_tensors, v), m_.plan.allocation(v));
        const bool only_allocates = m_.plan.op(v).find("empty") != std::string_view::npos && m_.plan.inputs(v).empty();
        const bytes written = only_allocates ? bytes{} : held;
        if (m_.plan.kind(v) == op_kind::compute &&
            underpaid(m_.plan.duration(v), price_of_copy(m_.step.costs(), written)))
            add(plan_rule::copy_underpaid, name, "",
                "writes " + std::to_string(written.count) + " bytes in " + std::to_string(m_.plan.duration(v).count) +
                    " ns",
                "what splits and recombines costs a launch and twice its bytes over the memory bandwidth");
        if (held.count > 0 && m_.plan_storages[v].empty() && !is_view_of_nothing(v))
            add(plan_rule::memory_unaccounted, name, "", "has results, and no storage for them",
                "allocate them, or alias what they are views of");
    }

    /// Returns whether v is a view of values none of which has a storage, as in a step that was cut out of another one.
    [[nodiscard]] bool is_view_of_nothing(new_id v) const {
        const auto inputs = m_.plan.inputs(v);
        return m_.plan.kind(v) == op_kind::view && !inputs.empty() &&
               std::ranges::all_of(inputs, [&](new_id x) { return m_.plan_storages[x].empty(); });
    }

    plan_match& m_;
    const plan_stand_ins& stand_ins_;
};

}  // namespace stretto::detail

#endif
