// An IR whose operators have names of their own: pointers, several results, numbers beside tensors. Rows go to experts
// on other ranks and come back in it. Its dialect of chunk rules is what the author of such an IR writes.
#ifndef STRETTO_TESTS_SUPPORT_ROUTED_IR_HPP
#define STRETTO_TESTS_SUPPORT_ROUTED_IR_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/core/op_model.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/testing/host_value.hpp"
#include "stretto/transform/chunk_rules/all_kinds.hpp"
#include "stretto/transform/chunk_rules/any_rule.hpp"

namespace support {

struct routed_op;

struct routed_value {
    routed_op* by;
    std::size_t place;
    std::vector<std::int64_t> shape;
    stretto::tensor_type type;
    bool is_number;
    std::vector<routed_op*> readers{};
};

struct routed_op {
    enum class does {
        input,
        dense,       ///< x · w
        weight_of,   ///< xᵀ · g, the gradient of w
        ramp,        ///< max(x, 0)
        plus,        ///< x + y
        rank_rows,   ///< sorts a vector: the values, and where they were
        fetch,       ///< rows of x where n says
        blank_like,  ///< zeros in the shape of x
        deposit,     ///< x, with rows of y added where n says
        tally,       ///< how many elements of a vector are 0, and how many are 1
        slot,        ///< entry `position` of a vector
        amount,      ///< a single element as a number
        swap_rows,   ///< x, exchanged among ranks in the amounts of the other operands: received, then sent
        arrived,     ///< waits for swap_rows
        overall,     ///< the sum over rows
        accumulate,  ///< x += y
        pieces,      ///< every entry of a vector by itself
        output
    };
    does what;
    std::vector<routed_value*> reads;
    std::int64_t position = 0;
    std::size_t number = 0;
    std::list<routed_value> makes{};
};

struct routed_program {
    std::list<routed_op> ops;

    routed_op* add(routed_op::does what, std::vector<routed_value*> reads, std::int64_t position = 0) {
        ops.push_back({what, std::move(reads), position, ops.size()});
        for (routed_value* x : ops.back().reads) x->readers.push_back(&ops.back());
        return &ops.back();
    }
    routed_value* tensor(routed_op* by, std::vector<std::int64_t> shape,
                         stretto::element_type element = stretto::element_type::f64) {
        routed_value& x = by->makes.emplace_back(routed_value{by, by->makes.size(), std::move(shape), {}, false});
        x.type = {x.shape, element};
        return &x;
    }
    routed_value* number(routed_op* by) {
        return &by->makes.emplace_back(routed_value{by, by->makes.size(), {}, {}, true});
    }
};

struct routed_view {
    using vertex_type = routed_op*;
    using value_type = routed_value*;
    routed_program* p;

    std::vector<routed_op*> vertices() const {
        std::vector<routed_op*> all;
        for (routed_op& o : p->ops) all.push_back(&o);
        return all;
    }
    std::vector<routed_op*> predecessors(routed_op* v) const {
        std::vector<routed_op*> all;
        for (routed_value* x : v->reads) all.push_back(x->by);
        return all;
    }
    std::vector<routed_op*> successors(routed_op* v) const {
        std::vector<routed_op*> all;
        for (routed_value& x : v->makes) all.insert(all.end(), x.readers.begin(), x.readers.end());
        return all;
    }
    std::size_t index(routed_op* v) const { return v->number; }
    std::size_t index_bound() const { return p->ops.size(); }
    const std::vector<routed_value*>& operands(routed_op* v) const { return v->reads; }
    std::vector<routed_value*> results(routed_op* v) const {
        std::vector<routed_value*> all;
        for (routed_value& x : v->makes) all.push_back(&x);
        return all;
    }
    routed_op* producer(routed_value* x) const { return x->by; }
    const std::vector<routed_op*>& consumers(routed_value* x) const { return x->readers; }
};

struct routed_model {
    stretto::op_kind kind(routed_op* v) const {
        using does = routed_op::does;
        switch (v->what) {
            case does::input:
                return stretto::op_kind::input;
            case does::swap_rows:
                return stretto::op_kind::start;
            case does::arrived:
                return stretto::op_kind::wait;
            case does::output:
                return stretto::op_kind::output;
            default:
                return stretto::op_kind::compute;
        }
    }
    std::vector<routed_value*> effects(routed_op* v) const {
        if (v->what == routed_op::does::accumulate) return {v->reads[0]};
        return {};
    }
    std::vector<routed_value*> aliases(routed_value* x) const {
        if (x->by->what == routed_op::does::accumulate || x->by->what == routed_op::does::arrived)
            return {x->by->reads[0]};
        return {};
    }
};

/// All operations are functions of what they read.
struct routed_calls {
    bool is_pure(routed_op*) const { return true; }
    bool same_call(routed_op* u, routed_op* v) const { return u->what == v->what && u->position == v->position; }
    std::uint64_t hash_of_call(routed_op* v) const { return static_cast<std::uint64_t>(v->what); }
};

// [chunk-dialect]
struct routed_dialect {
    stretto::chunk_rules::any_rule rule(routed_op* o) const {
        using namespace stretto::chunk_rules;
        using does = routed_op::does;
        switch (o->what) {
            case does::dense:
                return matrix_product{.left = 0, .right = 1};
            case does::weight_of:
                return matrix_product{.left_contracts = {0}, .right_contracts = {0}};
            case does::ramp:
                return elementwise{};
            case does::plus:
                return arithmetic{};
            case does::accumulate:
                return any_rule(arithmetic{}).in_place(0);
            case does::overall:
                return reduction{.how = reduction::by::sum, .dims = {0}};
            case does::rank_rows:
                return stretto::chunk_rules::sort{.stable = true};
            case does::fetch:
                return look_up{.x = 0, .index = 1};
            case does::blank_like:
                return fill_like{.zero = true};
            case does::deposit:
                return put_rows{.base = 0, .index = 1, .source = 2, .adds = true};
            case does::tally:
                return histogram{};
            case does::slot:
                return stretto::chunk_rules::select{.dim = 0, .index = o->position};
            case does::pieces:
                return unbind{.dim = 0};
            case does::amount:
                return read_element{};
            case does::swap_rows: {
                exchange e;
                for (std::size_t k = 1; k < o->reads.size(); ++k)
                    (k <= o->reads.size() / 2 ? e.received : e.sent).push_back(rule_number::of_operand(k));
                return e;
            }
            case does::arrived:
                return copy{};
            case does::input:
            case does::output:
                break;
        }
        return {};  // nothing is known
    }
    std::span<const stretto::tensor_type> components(routed_value* x) const {
        return {&x->type, x->is_number ? std::size_t{0} : std::size_t{1}};
    }
};
// [/chunk-dialect]

/// The operations on host values, on one rank: what is sent away is received.
struct routed_evaluate {
    using values = std::vector<stretto::host_value>;

    static std::size_t at(double x) { return static_cast<std::size_t>(x); }
    static values one(stretto::host_tensor t) { return {stretto::host_value{{std::move(t)}}}; }

    values operator()(routed_op* v, std::span<const stretto::host_value> in) const {
        using does = routed_op::does;
        using stretto::host_tensor;
        if (v->what == does::input || v->what == does::output) return {};
        if (v->what == does::amount) return {stretto::host_value{{}, in[0].tensors[0].elements[0]}};
        const host_tensor& x = in[0].tensors[0];
        const std::size_t rows = x.rank() == 0 ? 1 : at(static_cast<double>(x.shape[0]));
        const std::size_t columns =
            x.rank() < 2 ? 1 : at(static_cast<double>(stretto::elements_of(std::span(x.shape).subspan(1))));
        host_tensor made = x;
        switch (v->what) {
            case does::dense:
            case does::weight_of: {
                const host_tensor& y = in[1].tensors[0];
                const bool turned = v->what == does::weight_of;
                const std::size_t m = at(double(x.shape[turned ? 1 : 0])), k = at(double(x.shape[turned ? 0 : 1]));
                const std::size_t n = at(double(y.shape[1]));
                made = {{std::int64_t(m), std::int64_t(n)}, std::vector<double>(m * n), x.element};
                for (std::size_t i = 0; i < m; ++i)
                    for (std::size_t j = 0; j < n; ++j)
                        for (std::size_t l = 0; l < k; ++l)
                            made.elements[i * n + j] +=
                                x.elements[turned ? l * m + i : i * k + l] * y.elements[l * n + j];
                return one(std::move(made));
            }
            case does::ramp:
                for (double& e : made.elements) e = std::max(e, 0.0);
                return one(std::move(made));
            case does::plus:
            case does::accumulate:
                if (in[1].tensors[0].elements.size() != made.elements.size()) return {};
                for (std::size_t k = 0; k < made.elements.size(); ++k) made.elements[k] += in[1].tensors[0].elements[k];
                return one(std::move(made));
            case does::rank_rows: {
                host_tensor numbers = x;
                for (std::size_t k = 0; k < rows; ++k) numbers.elements[k] = static_cast<double>(k);
                std::sort(numbers.elements.begin(), numbers.elements.end(), [&](double a, double b) {
                    return std::pair(x.elements[at(a)], a) < std::pair(x.elements[at(b)], b);
                });
                for (std::size_t k = 0; k < rows; ++k) made.elements[k] = x.elements[at(numbers.elements[k])];
                return {stretto::host_value{{made}}, stretto::host_value{{numbers}}};
            }
            case does::fetch: {
                std::vector<std::int64_t> places;
                for (double n : in[1].tensors[0].elements) {
                    if (n < 0 || at(n) >= rows) return {};
                    places.push_back(static_cast<std::int64_t>(n));
                }
                return one(stretto::take_rows(x, 0, places));
            }
            case does::blank_like:
                std::fill(made.elements.begin(), made.elements.end(), 0.0);
                return one(std::move(made));
            case does::deposit: {
                const std::vector<double>& numbers = in[1].tensors[0].elements;
                for (std::size_t k = 0; k < numbers.size(); ++k) {
                    if (numbers[k] < 0 || at(numbers[k]) >= rows) return {};
                    for (std::size_t j = 0; j < columns; ++j)
                        made.elements[at(numbers[k]) * columns + j] += in[2].tensors[0].elements[k * columns + j];
                }
                return one(std::move(made));
            }
            case does::tally:
                made = {{2}, {0, 0}, x.element};
                for (double e : x.elements)
                    if (e == 0 || e == 1) ++made.elements[at(e)];
                return one(std::move(made));
            case does::slot:
                return one({{}, {x.elements[at(static_cast<double>(v->position))]}, x.element});
            case does::pieces: {
                values all;
                for (double e : x.elements) all.push_back(one({{}, {e}, x.element})[0]);
                return all;
            }
            case does::overall:
                made = {{std::int64_t(columns)}, std::vector<double>(columns), x.element};
                for (std::size_t k = 0; k < x.elements.size(); ++k) made.elements[k % columns] += x.elements[k];
                return one(std::move(made));
            default:  // exchanges of one rank, and waits
                return one(std::move(made));
        }
    }
};

/// Rows of `x` go to the rank of their key, through a layer there, and back; `x` is added. What is returned is the
/// gradient of the layer, from a made-up gradient of its result.
struct routed_layer {
    routed_program p;
    routed_value *x, *keys, *gradient, *sum;
    routed_op *there, *back, *first_sort;

    routed_layer() {
        using does = routed_op::does;
        using element = stretto::element_type;
        x = p.tensor(p.add(does::input, {}), {8, 3});
        keys = p.tensor(p.add(does::input, {}), {8}, element::i64);
        routed_value* w = p.tensor(p.add(does::input, {}), {3, 3});
        routed_value* total = p.tensor(p.add(does::input, {}), {3, 3});
        routed_value* h = p.tensor(p.add(does::ramp, {x}), {8, 3});
        first_sort = p.add(does::rank_rows, {keys});
        p.tensor(first_sort, {8}, element::i64);
        routed_value* numbers = p.tensor(first_sort, {8}, element::i64);
        routed_value* counts = p.tensor(p.add(does::tally, {keys}), {2}, element::i64);
        std::vector<routed_value*> amounts;
        for (std::int64_t k = 0; k < 2; ++k) {
            routed_value* entry = p.tensor(p.add(does::slot, {counts}, k), {}, element::i64);
            amounts.push_back(p.number(p.add(does::amount, {entry})));
        }
        routed_value* grouped = p.tensor(p.add(does::fetch, {h, numbers}), {8, 3});
        const std::vector<routed_value*> both = {amounts[0], amounts[1], amounts[0], amounts[1]};
        const auto swapped = [&](routed_value* rows) {
            std::vector<routed_value*> reads = {rows};
            reads.insert(reads.end(), both.begin(), both.end());
            return p.tensor(p.add(does::swap_rows, reads), {8, 3});
        };
        routed_value* sent = swapped(grouped);
        there = sent->by;
        routed_value* here = p.tensor(p.add(does::arrived, {sent}), {8, 3});
        routed_value* y = p.tensor(p.add(does::dense, {here, w}), {8, 3});
        routed_value* returned = swapped(y);
        back = returned->by;
        routed_value* home = p.tensor(p.add(does::arrived, {returned}), {8, 3});
        routed_value* blank = p.tensor(p.add(does::blank_like, {h}), {8, 3});
        routed_value* combined = p.tensor(p.add(does::deposit, {blank, numbers, home}), {8, 3});
        routed_value* out = p.tensor(p.add(does::plus, {combined, x}), {8, 3});
        sum = p.tensor(p.add(does::overall, {out}), {3});
        gradient = p.tensor(p.add(does::weight_of, {here, y}), {3, 3});
        routed_value* updated = p.tensor(p.add(does::accumulate, {total, gradient}), {3, 3});
        p.add(does::output, {out, sum, updated});
    }

    [[nodiscard]] std::vector<routed_op*> inner() {
        std::vector<routed_op*> all;
        for (routed_op& o : p.ops)
            if (o.what != routed_op::does::input && o.what != routed_op::does::output) all.push_back(&o);
        return all;
    }
};

}  // namespace support

#endif
