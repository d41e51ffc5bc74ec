// Checks what goes into merged collectives: the inputs of all members, through a pack that may absorb their casts.
//
// Before a bucket is launched, a pack copies the inputs of its members together. If a member's input is a cast that
// nobody else reads, the pack can convert while it copies: the cast vanishes, and the pack reads the operand of the
// cast. A pack must read everything that the members read, and nothing else, or the bucket would send something else.
#ifndef STRETTO_CAPTURE_DETAIL_PLAN_PACKS_HPP
#define STRETTO_CAPTURE_DETAIL_PLAN_PACKS_HPP

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/capture/detail/casts.hpp"
#include "stretto/capture/detail/plan_match.hpp"
#include "stretto/capture/detail/plan_prices.hpp"
#include "stretto/capture/detail/plan_stand_ins.hpp"
#include "stretto/capture/detail/same_json.hpp"

namespace stretto::detail {

/// Checks packs and the inputs of buckets. The constructor notes what packs absorb, because other checks need to know
/// that.
class plan_packs {
public:
    plan_packs(plan_match& match, const plan_stand_ins& stand_ins) : m_(match), stand_ins_(stand_ins) {
        for (new_id v = 0; v < m_.plan.size(); ++v)
            if (m_.plan.field(v, "absorbs") && !comes_with_step(v)) absorb(v);
    }

    /// Checks node v of the plan. Precondition: `stand_ins` has passed everything before it.
    void check(new_id v) {
        if (m_.bucket_at[v] == nobody || m_.buckets[m_.bucket_at[v]].members.empty()) return;
        if (m_.role[v] == plan_role::pack) check_pack(m_.buckets[m_.bucket_at[v]]);
        if (m_.role[v] == plan_role::bucket_start) check_inputs(m_.buckets[m_.bucket_at[v]]);
    }

private:
    void add(plan_rule rule, new_id v, std::string_view other, std::string cause, std::string hint) {
        m_.found.add(rule, m_.plan.name(v), other, std::move(cause), std::move(hint));
    }

    /// Returns whether node v absorbed its casts before this plan was made: the step came in buckets, and the casts had
    /// vanished.
    [[nodiscard]] bool comes_with_step(new_id v) const {
        return m_.old_of[v] != nobody && same_json(m_.step.field(m_.old_of[v], "absorbs"), m_.plan.field(v, "absorbs"));
    }

    /// Notes the casts that a pack absorbs, and reports those that it may not.
    void absorb(new_id v) {
        const auto names = m_.plan_fields.texts(v, "absorbs");
        if (!names) return;
        for (const std::string& name : *names) {
            const auto refuse = [&](std::string why) {
                add(plan_rule::absorbed_wrongly, v, name, "absorbs " + printable(name) + why,
                    "a pack may absorb the casts that nobody but its bucket reads");
            };
            const std::optional<old_id> c = m_.step.find(name);
            if (m_.role[v] != plan_role::pack) {
                refuse(", but is no pack of a bucket");
            } else if (!c || m_.step.kind(*c) != op_kind::compute || !is_cast(m_.step.op(*c))) {
                refuse(", which is no cast of the step");
            } else if (m_.absorbed_by[*c] != nobody) {
                refuse(", which is absorbed already");
            } else {
                m_.absorbed_by[*c] = v;
                const auto readers = m_.step.readers(*c);
                const auto stranger = std::find_if(readers.begin(), readers.end(),
                                                   [&](old_id r) { return m_.bucket_of[r] != m_.bucket_at[v]; });
                if (stranger != readers.end()) refuse(", which " + m_.quoted(m_.step, *stranger) + " reads too");
                else if (readers.empty()) refuse(", which its bucket does not read");
            }
        }
    }

    /// Requires that the bucket, if it has no pack, reads everything that the members read, and nothing else. A bucket
    /// with a pack reads only that.
    void check_inputs(const plan_bucket& b) {
        if (b.pack != nobody) {
            if (m_.plan.inputs(b.start).size() > 1)
                add(plan_rule::inputs_of_members, b.start, "", "reads something beside its pack",
                    "all parts of a bucket go through its pack");
            return;
        }
        check_reads(b, b.start);
    }

    /// Requires that a pack reads what it packs, takes the time to move it, and has room for the payload.
    void check_pack(const plan_bucket& b) {
        const capture& step = m_.step;
        const new_id v = b.pack;
        check_reads(b, v);
        // It reads and writes the payload; of an absorbed cast, it reads the operand instead of the result.
        bytes moved = m_.plan.payload(b.start) * 2;
        for (old_id c : absorbed_by(v)) {
            moved -= size_of_results(m_.step_tensors, c);
            for (old_id x : step.inputs(c)) moved += size_of_results(m_.step_tensors, x);
        }
        if (underpaid(m_.plan.duration(v), price_of_moving(step.costs(), moved)))
            add(plan_rule::pack_underpaid, v, m_.plan.name(b.start),
                "moves " + count(moved) + " in " + count(m_.plan.duration(v)),
                "a pack costs a launch and what it reads and writes over the memory bandwidth");
        if (m_.room_of(v) < m_.plan.payload(b.start))
            add(plan_rule::memory_unaccounted, v, m_.plan.name(b.start),
                "has no room for the " + count(m_.plan.payload(b.start)) + " it packs",
                "a pack allocates the payload of its bucket");
    }
    /// Returns the casts that a pack absorbs, ascending, each once.
    [[nodiscard]] std::vector<old_id> absorbed_by(new_id pack) {
        std::vector<old_id> casts;
        if (const auto names = m_.plan_fields.texts(pack, "absorbs"))
            for (const std::string& name : *names)
                if (const auto c = m_.step.find(name); c && m_.absorbed_by[*c] == pack) casts.push_back(*c);
        std::sort(casts.begin(), casts.end());
        casts.erase(std::unique(casts.begin(), casts.end()), casts.end());
        return casts;
    }

    /// Requires that the reader reads what the members read: each value under its name, or, if it is chunked, its
    /// recombination. Everything else that it reads must stand for such a value.
    void check_reads(const plan_bucket& b, new_id reader) {
        const char* hint = "a bucket reads what its members read, and nothing else";
        std::vector<old_id> due;
        for (old_id m : b.members)
            for (old_id x : m_.step.inputs(m)) {
                if (m_.absorbed_by[x] == nobody || m_.absorbed_by[x] != b.pack) due.push_back(x);
                else due.insert(due.end(), m_.step.inputs(x).begin(), m_.step.inputs(x).end());
            }
        std::sort(due.begin(), due.end());
        due.erase(std::unique(due.begin(), due.end()), due.end());
        std::vector<old_id> open;  // what is not read under its own name
        std::vector<bool> read(due.size(), false);
        std::vector<new_id> strange;
        for (new_id x : m_.plan.inputs(reader)) {
            const auto at = std::lower_bound(due.begin(), due.end(), m_.old_of[x]);
            if (m_.old_of[x] != nobody && at != due.end() && *at == m_.old_of[x])
                read[static_cast<std::size_t>(at - due.begin())] = true;
            else strange.push_back(x);
        }
        for (std::size_t k = 0; k < due.size(); ++k) {
            if (read[k]) continue;
            auto fit = plan_stand_ins::answer::no;
            for (new_id x : strange)
                if (fit != plan_stand_ins::answer::yes && m_.chunked(due[k]))
                    if (const auto f = stand_ins_.outside(due[k], x); f != plan_stand_ins::answer::no) fit = f;
            if (fit != plan_stand_ins::answer::yes)
                add(plan_rule::inputs_of_members, reader, m_.step.name(due[k]),
                    (fit == plan_stand_ins::answer::no ? "does not read " : "reads only some chunks of ") +
                        m_.quoted(m_.step, due[k]) + ", which its members read",
                    hint);
            else open.push_back(due[k]);
        }
        for (new_id x : strange)
            if (std::none_of(open.begin(), open.end(),
                             [&](old_id u) { return stand_ins_.outside(u, x) != plan_stand_ins::answer::no; }))
                add(plan_rule::inputs_of_members, reader, m_.plan.name(x),
                    "reads " + m_.quoted(m_.plan, x) + ", which no member reads", hint);
    }

    plan_match& m_;
    const plan_stand_ins& stand_ins_;
};

}  // namespace stretto::detail

#endif
