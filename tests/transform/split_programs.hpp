// Buckets of the small programs of support/reduction_ir.hpp, read and taken apart.
#ifndef STRETTO_TESTS_TRANSFORM_SPLIT_PROGRAMS_HPP
#define STRETTO_TESTS_TRANSFORM_SPLIT_PROGRAMS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stretto/core/bucket_form_model.hpp"
#include "stretto/transform/apply_splits.hpp"
#include "stretto/transform/split_buckets.hpp"
#include "stretto/transform/split_plan.hpp"
#include "support/bucket_checks.hpp"
#include "support/reduction_ir.hpp"

namespace support {

using program_split = stretto::bucket_split<std::uint32_t, std::uint32_t>;
using program_split_plan = stretto::split_plan<std::uint32_t, std::uint32_t>;
using program_bucket_form = stretto::bucket_form<std::uint32_t, std::uint32_t>;

/// What apply_buckets makes of a program: a start with members, behind a pack or of several values, and the parts of
/// what arrives.
struct program_forms {
    const reduction_program* p;

    [[nodiscard]] std::optional<program_bucket_form> form(std::uint32_t v) const {
        const reduction_node& s = p->nodes[v];
        if (s.op != reduction_op::start || s.members.empty()) return std::nullopt;
        program_bucket_form f;
        std::vector<std::uint32_t> sent = s.operands;
        if (p->nodes[sent[0]].op == reduction_op::pack) {
            f.packs = {sent[0]};
            sent = p->nodes[sent[0]].operands;
        }
        if (sent.size() != s.members.size()) return std::nullopt;
        std::vector<std::int64_t> offsets, sizes;
        std::int64_t row = 0;
        for (std::size_t k = 0; k < sent.size(); ++k) {
            const bool shares = s.kind == stretto::collective_kind::reduce_scatter;
            sizes.push_back(8 * p->nodes[sent[k]].length / (shares ? 2 : 1));
            offsets.push_back(row);
            row += sizes.back();
            f.parts.push_back({sent[k], {offsets[k]}, {sizes[k]}});
        }
        f.row = {row};
        bool waited = false;
        for (std::uint32_t w : p->order) {
            const reduction_node& n = p->nodes[w];
            const std::uint32_t of = n.operands.empty() ? v : n.operands[0];
            if (n.op == reduction_op::wait && of == v && !std::exchange(waited, true)) f.wait = w;
            const bool unpacks = n.op == reduction_op::unpack && waited && of == f.wait;
            const bool behind = waited && (of == f.wait || (!f.unpacks.empty() && of == f.unpacks[0]));
            if (n.op == reduction_op::part && behind) {
                const auto k = static_cast<std::size_t>(n.flavour);
                f.results.push_back({w, {offsets[k]}, {sizes[k]}});
                f.unpacks.push_back(w);
            } else if (unpacks) {
                f.unpacks.push_back(w);
            }
        }
        if (!waited) return std::nullopt;
        return f;
    }
};

/// Rewrites a copy. A cast that a pack did is made anew, in front of the start.
struct splitting_program_rewriter {
    reduction_program* p;
    std::uint32_t at = 0;
    std::string log = {};

    void insert_before(std::uint32_t v) { at = v; }
    std::uint32_t launch_part(std::uint32_t start, std::size_t k, std::uint32_t part) {
        log += "launch " + std::to_string(k) + "; ";
        reduction_node n = p->nodes[start];
        const reduction_node& sent = p->nodes[n.operands[0]];
        const bool converts = sent.op == reduction_op::pack && sent.converts[k];
        n.length = p->nodes[n.members[k]].length;
        n.element = p->nodes[n.members[k]].element;  // gathers of several types travel as bytes
        n.members.clear();
        n.operands = {converts ? insert({reduction_op::cast, {part}, p->nodes[part].length}) : part};
        return insert(std::move(n));
    }
    std::uint32_t wait_part(std::uint32_t, std::size_t k, std::uint32_t launched, std::uint32_t) {
        log += "wait " + std::to_string(k) + "; ";
        return insert({reduction_op::wait, {launched}, p->nodes[launched].length});
    }
    void replace_uses(std::uint32_t v, std::uint32_t from, std::uint32_t to) {
        log += "replace in " + std::to_string(v) + "; ";
        std::ranges::replace(p->nodes[v].operands, from, to);
    }
    void erase(std::uint32_t v) {
        log += "erase " + std::to_string(v) + "; ";
        p->order.erase(std::ranges::find(p->order, v));
    }

private:
    std::uint32_t insert(reduction_node n) {
        const std::uint32_t id = p->add(std::move(n));
        p->order.pop_back();
        p->order.insert(std::ranges::find(p->order, at), id);
        return id;
    }
};

/// The program in buckets. The rewriter leaves dependences that are no values on what it erases; nobody can keep those.
inline reduction_program merged_by(const program_bucket_plan& plan, const reduction_program& p) {
    reduction_program made = bucketed(plan, p);
    for (std::uint32_t v : made.order)
        std::erase_if(made.nodes[v].after, [&](std::uint32_t u) { return std::ranges::count(made.order, u) == 0; });
    return made;
}

inline program_split_plan splits_of(const reduction_program& p) {
    return stretto::split_buckets(reduction_view{&p}, reduction_model{&p}, program_forms{&p});
}
inline reduction_program taken_apart(const program_split_plan& plan, const reduction_program& p) {
    reduction_program made = p;
    splitting_program_rewriter rewriter{&made};
    stretto::apply_splits(plan, reduction_view{&p}, rewriter);
    return made;
}

/// How often each value is computed, by what it is: two programs that compute the same values by the same operations,
/// in whatever order, have the same.
struct value_numbers {
    using key = std::tuple<int, int, int, std::uint32_t, int, int, std::int64_t, std::vector<std::uint32_t>>;
    std::map<key, std::uint32_t> known;

    std::map<std::uint32_t, std::size_t> of(const reduction_program& p) {
        std::vector<std::uint32_t> number(p.nodes.size());
        std::map<std::uint32_t, std::size_t> times;
        for (std::uint32_t v : p.order) {
            const reduction_node& n = p.nodes[v];
            std::vector<std::uint32_t> operands;
            for (std::uint32_t x : n.operands) operands.push_back(number[x]);
            if (n.op == reduction_op::input) operands = {v};
            const key k{static_cast<int>(n.op),
                        static_cast<int>(n.kind),
                        static_cast<int>(n.how),
                        n.group,
                        n.flavour,
                        n.element,
                        n.length,
                        operands};
            number[v] = known.try_emplace(k, static_cast<std::uint32_t>(known.size())).first->second;
            ++times[number[v]];
        }
        return times;
    }
};

}  // namespace support

#endif
