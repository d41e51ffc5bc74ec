// What stretto asks about the trainer's IR, and how it changes it: a view, models, a dialect of chunk rules, and a
// rewriter. Nothing of the IR was made for it.
#ifndef MOE_TRAINER_ADAPTERS_HPP
#define MOE_TRAINER_ADAPTERS_HPP

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir.hpp"
#include "stretto/backend/host_link.hpp"
#include "stretto/core/chunk_model.hpp"
#include "stretto/core/module_model.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/transform/chunk_rules/all_kinds.hpp"
#include "stretto/transform/chunk_rules/any_rule.hpp"
#include "stretto/transform/chunk_sizes.hpp"
#include "stretto/views/from_values.hpp"

namespace trainer {

// [adapters]
struct values_view {
    using vertex_type = op_id;
    using value_type = tensor_id;
    const program* p;

    const std::vector<op_id>& vertices() const { return p->order; }
    std::size_t index(op_id o) const { return o; }
    std::size_t index_bound() const { return p->ops.size(); }
    const std::vector<tensor_id>& operands(op_id o) const { return p->ops[o].reads; }
    const std::vector<tensor_id>& results(op_id o) const { return p->ops[o].makes; }
    op_id producer(tensor_id x) const { return p->tensors[x].by; }
    const std::vector<op_id>& consumers(tensor_id x) const { return p->tensors[x].readers; }
};
using view = stretto::from_values_view<values_view>;

/// Durations are those that are known, or guesses from the bytes that move. Also the module model.
struct op_model {
    const program* p;
    stretto::host_link link;

    stretto::op_kind kind(op_id o) const {
        using enum stretto::op_kind;
        constexpr stretto::op_kind kinds[] = {input, output, compute, view, start, wait};  // as trainer::role
        return kinds[static_cast<std::size_t>(entry_of(p->ops[o].what).is)];
    }
    stretto::collective_call call(op_id o) const {
        using enum stretto::collective_kind;
        using stretto::reduction_kind;
        const operation& a = p->ops[o];
        const auto is = a.what == code::collect  ? all_gather
                        : a.what == code::reduce ? reduce_scatter
                        : a.what == code::count  ? all_reduce
                                                 : all_to_all;
        return {is,
                stretto::reduces(is) ? reduction_kind::sum : reduction_kind::none,
                p->tensors[a.reads[0]].element,
                {},
                {},
                a.like,
                a.chunk};
    }
    stretto::collective_kind collective(op_id o) const { return call(o).kind; }
    stretto::group_id group(op_id o) const { return p->ops[o].group; }
    stretto::bytes payload(op_id o) const {
        const std::int64_t sent = p->tensors[p->ops[o].reads[0]].size(), room = p->tensors[p->ops[o].makes[0]].size();
        return {p->ops[o].what == code::send_rows ? std::min(sent, room) : sent};  // the rest is room
    }
    stretto::nanoseconds duration(op_id o) const {
        if (kind(o) == stretto::op_kind::start) return of_merged(o, payload(o));
        if (kind(o) != stretto::op_kind::compute) return {};
        if (p->ops[o].takes != 0) return {p->ops[o].takes};
        std::int64_t moved = 0;
        for (tensor_id x : p->ops[o].reads) moved += p->tensors[x].size();
        for (tensor_id x : p->ops[o].makes) moved += p->tensors[x].size();
        return of_moving({moved});
    }
    stretto::bytes bytes_of(tensor_id x) const { return {aliases(x).empty() ? p->tensors[x].size() : 0}; }
    std::vector<tensor_id> aliases(tensor_id x) const {
        const operation& o = p->ops[p->tensors[x].by];
        const role is = entry_of(o.what).is;
        return is == role::view || is == role::wait || changes(o) != 0 ? std::vector{o.reads[0]}
                                                                       : std::vector<tensor_id>();
    }
    std::vector<tensor_id> effects(op_id o) const {
        return {p->ops[o].reads.begin(), p->ops[o].reads.begin() + changes(p->ops[o])};
    }
    static std::ptrdiff_t changes(const operation& o) { return o.what == code::adam ? 3 : o.what == code::balance; }
    /// Where a value begins in its storage.
    stretto::bytes offset(tensor_id x) const {
        std::int64_t sum = 0;
        for (; !aliases(x).empty(); x = p->ops[p->tensors[x].by].reads[0]) {
            const operation& o = p->ops[p->tensors[x].by];
            if (o.what == code::pick) sum += o.field * p->tensors[x].size();
            for (std::size_t k = 0; o.makes[k] != x; ++k) sum += p->tensors[o.makes[k]].size();
        }
        return {sum};
    }
    stretto::nanoseconds of_merged(op_id o, stretto::bytes sent) const {
        const std::int64_t members = p->members(p->ops[o].group), others = members - 1;
        const code c = p->ops[o].what;
        return link.duration({c == code::collect ? sent.count * others
                              : c == code::count ? 2 * sent.count * others / members
                                                 : sent.count * others / members});
    }
    stretto::nanoseconds of_moving(stretto::bytes moved) const { return {500 + moved.count / 4}; }

    const std::string& path(op_id o) const { return p->modules[p->ops[o].module]; }
    stretto::pass_direction direction(op_id o) const {
        return p->ops[o].backward ? stretto::pass_direction::backward : stretto::pass_direction::forward;
    }
};

/// Rows that experts have in groups, each row by itself: no kind of the library, since the last operand counts rows.
struct each_grouped_row {
    stretto::chunk_verdict verdict(const stretto::chunk_rules::chunk_call& c) const {
        using namespace stretto::chunk_rules;
        const std::size_t counts = c.operands.size() - 1;
        for (std::size_t k = 0; k < counts; ++k)
            if (!is_cut(c.state(k)) || c.state(k).dim != 0 || !(c.state(k) == c.state(0)))
                return c.refuse("needs rows of one order");
        return is_addend(c.state(counts)) ? c.give(c.state(0)) : c.refuse("needs the counts of the chunk's rows");
    }
};

struct dialect {
    const program* p;

    stretto::chunk_rules::any_rule rule(op_id o) const {
        namespace rules = stretto::chunk_rules;
        const operation& a = p->ops[o];
        const auto numbers = [](std::size_t first, std::size_t last) {
            std::vector<rules::rule_number> all;
            for (std::size_t k = first; k < last; ++k) all.push_back(rules::rule_number::of_operand(k));
            return all;
        };
        // clang-format off
        switch (a.what) {
            case code::embed: case code::fetch: return rules::look_up{};
            case code::embed_back: return rules::look_up_gradient{};
            case code::norm: return rules::normalization{};
            case code::norm_back: return rules::normalization{.x = 1};
            case code::project: return rules::matrix_product{};
            case code::project_back: return rules::matrix_product{.right_contracts = {-1}};
            case code::weigh: case code::weigh_experts:
                return rules::matrix_product{.left_contracts = {0}, .right_contracts = {0}};
            case code::expert: case code::expert_back: return rules::grouped_product{};
            case code::expert_swish: case code::expert_swish_back: return each_grouped_row{};
            case code::attend: case code::attend_back: return rules::attention{};
            case code::swish: case code::swish_back: case code::log_softmax: case code::log_softmax_back:
            case code::choose: case code::portion: case code::portion_back: case code::dot:
                return rules::along_dimension{};
            case code::sigmoid: case code::sigmoid_back: case code::round16: return rules::elementwise{};
            case code::add: return rules::arithmetic{};
            case code::scale: return rules::arithmetic{.what = rules::arithmetic::op::multiply};
            case code::token_of:
                return rules::arithmetic{.what = rules::arithmetic::op::floor_divide,
                                         .right = rules::rule_number::constant(a.field)};
            case code::loss: return rules::class_loss{.how = rules::loss_of::sum};
            case code::loss_back: return rules::class_loss_gradient{.how = rules::loss_of::sum};
            case code::gate: return rules::gather{.dim = 1};
            case code::gate_back: return rules::scatter{.dim = 1, .adds = true};
            case code::line_up: return rules::sort{.stable = true};
            case code::tally: return rules::histogram{};
            case code::per_rank: return rules::reduction{.dims = {1}};
            case code::ends: return rules::running_sum{};
            case code::blank: return rules::fill_like{.zero = true};
            case code::put: return rules::put_rows{.adds = true};
            case code::reshape: return rules::reshape{};
            case code::pick: return rules::select{.index = a.field};
            case code::send_tally: {
                const std::vector each(static_cast<std::size_t>(p->members(a.group)), rules::rule_number::constant(1));
                return rules::exchange{.received = each, .sent = each};
            }
            case code::send_rows: {
                const std::size_t half = 1 + (a.reads.size() - 1) / 2;
                return rules::exchange{.received = numbers(1, half), .sent = numbers(half, a.reads.size())};
            }
            case code::collect: case code::reduce: case code::count: return rules::other_collective{};
            case code::arrive: return rules::copy{};
            default: return {};  // refused by name
        }
        // clang-format on
    }
    std::string_view name(op_id o) const { return entry_of(p->ops[o].what).name; }
    std::span<const stretto::tensor_type> components(tensor_id x) const { return {&p->tensors[x].type, 1}; }
};

struct rewriter {
    program* p;
    std::size_t at = 0;

    void insert_before(op_id o) { at = p->place_of(o); }
    std::vector<tensor_id> clone(op_id o, std::span<const tensor_id> operands, const stretto::chunk_part& part) {
        operation copy = p->ops[o];
        copy.reads.assign(operands.begin(), operands.end());
        copy.makes.clear();
        copy.chunk = part.chunk;
        copy.takes = 0;
        const op_id made = p->insert(at++, std::move(copy));
        for (std::size_t k = 0; k < p->ops[o].makes.size(); ++k) {
            const tensor_id x = p->ops[o].makes[k];
            p->result(made, shape_with(x, part.results[k].dim, [&](std::int64_t e) { return part.share(e); }),
                      p->tensors[x].element);
        }
        return p->ops[made].makes;
    }
    std::vector<tensor_id> split(tensor_id x, std::size_t dim, std::span<const std::int64_t> sizes) {
        const op_id made = add(code::cut, {x}, p->tensors[x].by);
        for (std::size_t k = 0; k < sizes.size(); ++k) {
            const stretto::slice_place place = stretto::place_of_slice(p->shape(x)[dim], sizes, k);
            p->result(made, shape_with(x, static_cast<int>(dim), [&](std::int64_t) { return place.to - place.from; }),
                      p->tensors[x].element);
        }
        return p->ops[made].makes;
    }
    tensor_id concat(std::span<const tensor_id> parts, std::size_t dim) {
        std::int64_t all = 0;
        for (tensor_id x : parts) all += p->shape(x)[dim];
        return p->result(add(code::join, {parts.begin(), parts.end()}, p->tensors[parts[0]].by),
                         shape_with(parts[0], static_cast<int>(dim), [&](std::int64_t) { return all; }),
                         p->tensors[parts[0]].element);
    }
    tensor_id sum(std::span<const tensor_id> parts) {
        return p->result(add(code::total, {parts.begin(), parts.end()}, p->tensors[parts[0]].by), p->shape(parts[0]),
                         p->tensors[parts[0]].element);
    }
    void replace_uses(op_id o, tensor_id from, tensor_id to) {
        std::replace(p->ops[o].reads.begin(), p->ops[o].reads.end(), from, to);
        const auto uses = static_cast<std::size_t>(std::erase(p->tensors[from].readers, o));
        p->tensors[to].readers.insert(p->tensors[to].readers.end(), uses, o);
    }
    void erase(op_id o) {
        for (tensor_id x : p->ops[o].reads) std::erase(p->tensors[x].readers, o);
        const std::size_t place = p->place_of(o);
        p->order.erase(p->order.begin() + static_cast<std::ptrdiff_t>(place));
        if (place < at) --at;
    }
    void move_before(op_id o, op_id to) {
        std::erase(p->order, o);
        p->order.insert(p->order.begin() + static_cast<std::ptrdiff_t>(p->place_of(to)), o);
    }
    // Collectives that travel together: a gather sends shares, and a sum over ranks leaves them.
    tensor_id pack(std::span<const op_id> members, std::span<const tensor_id> parts) {
        const operation& o = p->ops[members[0]];
        const std::int64_t ranks = o.what == code::reduce ? p->members(o.group) : 1;
        const op_id made = add(code::pack, {parts.begin(), parts.end()}, members[0], ranks);
        return p->result(made, {count(parts)});
    }
    tensor_id launch(std::span<const op_id> members, std::span<const tensor_id> payload) {
        const std::int64_t ranks = p->members(p->ops[members[0]].group), sent = p->shape(payload[0])[0];
        const op_id made = add(p->ops[members[0]].what, {payload[0]}, members[0]);
        p->ops[made].like = p->ops[members[0]].like;
        return p->result(made, {p->ops[made].what == code::collect ? sent * ranks : sent / ranks});
    }
    tensor_id wait(std::span<const op_id> waits, tensor_id sent) {
        return p->result(add(code::arrive, {sent}, waits[0]), p->shape(sent));
    }
    std::vector<tensor_id> unpack(std::span<const op_id> waits, tensor_id all) {
        const operation& o = p->ops[p->tensors[p->ops[waits[0]].reads[0]].by];
        const std::int64_t ranks = o.what == code::collect ? p->members(o.group) : 1;
        const op_id made = add(code::unpack, {all}, waits[0], ranks);
        for (op_id w : waits) p->result(made, p->shape(p->ops[w].makes[0]));
        return p->ops[made].makes;
    }
    std::vector<tensor_id> parts(std::span<const op_id> waits, tensor_id all) { return unpack(waits, all); }
    stretto::group_id duplicate_group(stretto::group_id original, std::int32_t priority) {
        p->groups.push_back({p->groups[original].what, original, priority});
        return static_cast<stretto::group_id>(p->groups.size() - 1);
    }
    void set_group(op_id o, stretto::group_id g) { p->ops[o].group = g; }

private:
    op_id add(code what, std::vector<tensor_id> reads, op_id like, std::int64_t field = 0) {
        const operation& o = p->ops[like];
        return p->insert(at++, {what, std::move(reads), {}, field, o.module, o.backward, o.group});
    }
    std::int64_t count(std::span<const tensor_id> parts) const {
        std::int64_t all = 0;
        for (tensor_id x : parts) all += p->tensors[x].count();
        return all;
    }
    template <class F>
    extents shape_with(tensor_id x, int dim, F extent) const {
        extents shape = p->shape(x);
        if (dim >= 0) shape[static_cast<std::size_t>(dim)] = extent(shape[static_cast<std::size_t>(dim)]);
        return shape;
    }
};
// [/adapters]

}  // namespace trainer

#endif
