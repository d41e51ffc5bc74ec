// Adapts the trainer's IR for stretto: a view, models, a dialect of chunk rules, and a rewriter. The IR was not changed
// for it.
#ifndef MOE_TRAINER_ADAPTERS_HPP
#define MOE_TRAINER_ADAPTERS_HPP

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "costs.hpp"
#include "grouped_rows.hpp"
#include "ir.hpp"
#include "stretto/backend/host/host_link.hpp"
#include "stretto/core/chunk_model.hpp"
#include "stretto/core/module_model.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/core/tensor_op_model.hpp"
#include "stretto/transform/chunk_rules/all_kinds.hpp"
#include "stretto/transform/chunk_rules/any_rule.hpp"
#include "stretto/transform/tensor_rewriter.hpp"
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
struct op_model : stretto::tensor_op_model<op_model, values_view> {
    const program* p;
    stretto::host_link link;

    op_model(const program* of, stretto::host_link over) : tensor_op_model(values_view{of}), p(of), link(over) {}

    stretto::op_kind kind(op_id o) const {
        using enum stretto::op_kind;
        constexpr stretto::op_kind kinds[] = {input, output, compute, view, start, wait};  // as trainer::role
        return kinds[static_cast<std::size_t>(entry_of(p->ops[o].what).is)];
    }
    stretto::collective_call call(op_id o) const {
        using enum stretto::collective_kind;
        const operation& a = p->ops[o];
        const auto kind = a.what == code::collect  ? all_gather
                          : a.what == code::reduce ? reduce_scatter
                          : a.what == code::count  ? all_reduce
                                                   : all_to_all;
        const bool sums = kind == reduce_scatter || kind == all_reduce;
        const auto how = sums ? stretto::reduction_kind::sum : stretto::reduction_kind::none;
        return {kind, how, p->tensors[a.reads[0]].element, {}, {}, a.like, a.chunk};
    }
    stretto::group_id group(op_id o) const { return p->ops[o].group; }
    stretto::bytes payload(op_id o) const { return bytes_sent(*p, o); }
    stretto::bytes tensor_bytes(tensor_id x) const { return {p->tensors[x].size()}; }
    std::ptrdiff_t changes(op_id o) const { return program::changes(p->ops[o]); }
    stretto::nanoseconds measured(op_id o) const { return {p->ops[o].takes}; }
    stretto::nanoseconds of_merged(op_id o, stretto::bytes sent) const {
        return link.duration(bytes_moved(*p, o, sent));
    }
    stretto::nanoseconds of_moving(stretto::bytes moved) const { return time_of_moving(moved); }
    const std::string& path(op_id o) const { return p->modules[p->ops[o].module]; }
    stretto::pass_direction direction(op_id o) const {
        return p->ops[o].backward ? stretto::pass_direction::backward : stretto::pass_direction::forward;
    }
};

struct dialect {
    const program* p;

    stretto::chunk_rules::any_rule rule(op_id o) const {
        namespace rules = stretto::chunk_rules;
        using number = rules::rule_number;
        const operation& a = p->ops[o];
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
                                         .right = number::constant(a.field)};
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
            case code::send_tally: case code::send_rows: {
                rules::exchange e;
                for (std::size_t k = 1, ranks = static_cast<std::size_t>(p->members(a.group)); k <= ranks; ++k) {
                    const bool counts = a.what == code::send_rows;  // in its operands; else one row each
                    e.received.push_back(counts ? number::of_operand(k) : number::constant(1));
                    e.sent.push_back(counts ? number::of_operand(k + ranks) : number::constant(1));
                }
                return e;
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

struct rewriter : stretto::tensor_rewriter<rewriter, values_view> {
    program* p;

    rewriter(program* of) : tensor_rewriter(values_view{of}), p(of) {}

    void insert_before(op_id o) { p->cursor = o; }
    op_id insert(const stretto::insertion<op_id, tensor_id>& i) {
        using enum stretto::inserted;
        const bool takes_apart = i.what == unpack || i.what == parts;
        const op_id sent = takes_apart ? p->tensors[p->ops[i.like].reads[0]].by : i.like;
        code what = p->ops[i.like].what;  // a clone, or a start
        std::int64_t field = p->ops[i.like].field;
        if (i.what != clone && i.what != start) {
            constexpr code codes[] = {{}, code::cut, code::join, code::total, code::pack, {}, code::arrive};
            // A gather sends shares, and a sum over ranks leaves them: their buffers have one for each rank.
            const bool shares = p->ops[sent].what == (takes_apart ? code::collect : code::reduce);
            what = takes_apart ? code::unpack : codes[static_cast<std::size_t>(i.what)];
            field = !takes_apart && i.what != pack ? 0 : shares ? p->members_of(sent) : 1;
        }
        const op_id made = p->insert_like(i.like, what, i.operands, field);
        p->ops[made].chunk = i.chunk;
        return made;
    }
    tensor_id add_result(op_id o, tensor_id like, extents shape) {
        return p->result(o, std::move(shape), p->tensors[like].element);
    }
    const extents& shape(tensor_id x) const { return p->shape(x); }
    void replace_uses(op_id o, tensor_id from, tensor_id to) { p->replace(o, from, to); }
    void erase(op_id o) { p->erase(o); }
    void move_before(op_id o, op_id to) { p->move(o, to); }
    stretto::group_id duplicate_group(stretto::group_id original, std::int32_t priority) {
        p->groups.push_back({p->groups[original].what, original, priority});
        return static_cast<stretto::group_id>(p->groups.size() - 1);
    }
    void set_group(op_id o, stretto::group_id g) { p->ops[o].group = g; }
};
// [/adapters]

}  // namespace trainer

#endif
