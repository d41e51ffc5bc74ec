// Random tensor programs for any number of tokens, decoded from bytes: the same bytes give the same program for all
// tokens and for those of a chunk. An extent is so many elements per token, or fixed.
#ifndef STRETTO_TESTS_SUPPORT_TENSOR_STEPS_HPP
#define STRETTO_TESTS_SUPPORT_TENSOR_STEPS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "aten/tensor_program.hpp"

namespace support {

struct step_extent {
    std::int64_t per_token = 0, fixed = 0;

    [[nodiscard]] std::int64_t at(std::int64_t tokens) const { return per_token * tokens + fixed; }
    friend bool operator==(const step_extent&, const step_extent&) = default;
};
using step_shape = std::vector<step_extent>;

/// An operation with one result. Arguments are as tensor_program reads them, extents among them as "<2t+1>".
struct step_operation {
    std::string operation, arguments;
    op_kind kind = op_kind::compute;
    std::vector<std::uint32_t> reads;
    std::vector<step_shape> shapes = {};  ///< of the components; empty for a number
    std::vector<element_type> elements = {};
    bool aliases = false;  ///< shares storage with the first of reads
    bool writes = false;   ///< writes that storage in place
    std::uint32_t storage = 0;
    double bound = 0;          ///< on the absolute values
    step_extent limit = {};    ///< for integers that are positions: the number of positions; 0 if they are none
    bool overlapping = false;  ///< several elements in one place
};

/// Draws operations that fit what is there until the bytes are used up.
class step_maker {
public:
    static constexpr std::int64_t most_tokens = 48;

    /// `whole`: only operators that are exact on whole numbers.
    step_maker(const std::vector<std::uint8_t>& bytes, bool whole) : bytes_(bytes), whole_(whole) {
        input({token(1), fixed(2)}, element_type::f64);
        input({token(1)}, element_type::i64);
        input({fixed(3), fixed(2)}, element_type::f64);
        input({token(2), fixed(3)}, element_type::f64);
        input({token(1)}, element_type::f64);
        while (next_ + 3 < bytes_.size() && all_.size() < 22) draw();
        step_operation out{"output", "", op_kind::output, {}};
        for (std::uint32_t v = 0; v < all_.size(); ++v)
            if (!all_[v].shapes.empty() && all_[v].shapes.size() == 1 &&
                (v + 3 >= all_.size() || all_[v].kind == op_kind::wait || (v > 4 && pick(4) == 0)) &&
                all_[v].kind != op_kind::start)
                out.reads.push_back(v);
        out.shapes = {{}};
        out.elements = {element_type::f64};
        all_.push_back(std::move(out));
    }

    [[nodiscard]] std::vector<step_operation> take() { return std::move(all_); }

private:
    static step_extent token(std::int64_t n) { return {n, 0}; }
    static step_extent fixed(std::int64_t n) { return {0, n}; }

    std::size_t pick(std::size_t below) { return next_ < bytes_.size() ? bytes_[next_++] % below : 0; }
    std::uint32_t any() { return static_cast<std::uint32_t>(all_.size() - 1 - pick(all_.size())); }
    const step_shape& shape(std::uint32_t v) const { return all_[v].shapes[0]; }
    bool is_tensor(std::uint32_t v) const { return all_[v].shapes.size() == 1 && all_[v].kind != op_kind::start; }
    bool is_float(std::uint32_t v) const { return is_tensor(v) && all_[v].elements[0] == element_type::f64; }
    double bound(std::uint32_t v) const { return storages_[all_[v].storage]; }

    std::uint32_t push(step_operation o, double value_bound) {
        const bool shares = o.aliases || o.writes;
        o.storage = shares ? all_[o.reads[0]].storage : static_cast<std::uint32_t>(storages_.size());
        if (!shares) storages_.push_back(0);
        double& known = storages_[o.storage];
        known = std::max(known, value_bound);
        all_.push_back(std::move(o));
        return static_cast<std::uint32_t>(all_.size() - 1);
    }
    void input(step_shape s, element_type e) {
        step_operation o{"placeholder", "", op_kind::input, {}, {std::move(s)}, {e}};
        if (e == element_type::i64) o.limit = fixed(3);
        push(std::move(o), e == element_type::i64 ? 2 : 4);
    }
    std::uint32_t make(std::string operation, std::string arguments, std::vector<std::uint32_t> reads, step_shape s,
                       double value_bound, element_type e = element_type::f64) {
        if (value_bound > 1e12) return 0;  // everything stays exact
        return push(
            {std::move(operation), std::move(arguments), op_kind::compute, std::move(reads), {std::move(s)}, {e}},
            value_bound);
    }
    std::uint32_t view(std::string operation, std::string arguments, std::uint32_t of, step_shape s) {
        step_operation o{std::move(operation), std::move(arguments), op_kind::view, {of},
                         {std::move(s)},       all_[of].elements};
        o.aliases = true;
        o.limit = all_[of].limit;
        o.overlapping = all_[of].overlapping || o.operation == "aten.expand.default";
        return push(std::move(o), 0);
    }
    static std::string text(const step_shape& s) {
        std::string all;
        for (const step_extent& e : s) all += (all.empty() ? "[" : ", ") + text(e);
        return all.empty() ? "[]" : all + "]";
    }
    static std::string text(step_extent e) {
        return e.per_token == 0 ? std::to_string(e.fixed)
                                : "<" + std::to_string(e.per_token) + "t+" + std::to_string(e.fixed) + ">";
    }
    /// The shape of both against each other; false if they do not fit.
    static bool broadcast(const step_shape& a, const step_shape& b, step_shape& made) {
        made = a.size() >= b.size() ? a : b;
        for (std::size_t k = 1; k <= std::min(a.size(), b.size()); ++k) {
            const step_extent x = a[a.size() - k], y = b[b.size() - k];
            if (!(x == y) && !(x == fixed(1)) && !(y == fixed(1))) return false;
            made[made.size() - k] = x == fixed(1) ? y : x;
        }
        return true;
    }
    static double most(const step_extent& e) { return static_cast<double>(e.at(most_tokens)); }

    void draw();
    void draw_pointwise(std::uint32_t a, std::uint32_t b);
    void draw_product(std::uint32_t a, std::uint32_t b);
    void draw_cat(std::uint32_t a, std::uint32_t b);
    void draw_reduction(std::uint32_t a);
    void draw_view(std::uint32_t a);
    void draw_lookup(std::uint32_t a, std::uint32_t b);
    void draw_write(std::uint32_t a, std::uint32_t b);
    void draw_numbers(std::uint32_t a);
    void draw_sorting(std::uint32_t a);
    std::uint32_t extent_of(std::uint32_t a, std::size_t d);
    std::uint32_t number_rows(std::uint32_t a, std::size_t d);

    const std::vector<std::uint8_t>& bytes_;
    bool whole_;
    std::size_t next_ = 0;
    std::vector<step_operation> all_;
    std::vector<double> storages_;  // bounds
};

inline void step_maker::draw() {
    const std::size_t what = pick(19);
    const std::uint32_t a = any(), b = any();
    if (!is_tensor(a)) return;
    if (what < 5) draw_pointwise(a, b);
    else if (what < 7) draw_product(a, b);
    else if (what < 9) draw_reduction(a);
    else if (what < 11) draw_view(a);
    else if (what < 13) draw_lookup(a, b);
    else if (what == 13) draw_write(a, b);
    else if (what == 14) draw_numbers(a);
    else if (what == 15) draw_sorting(a);
    else if (what < 18) draw_cat(a, b);
    else if (is_float(a)) {  // the sum over the ranks
        const std::uint32_t start =
            make("_c10d_functional.all_reduce.default", "%0 sum g", {a}, shape(a), 2 * bound(a));
        if (start == 0) return;
        all_[start].kind = op_kind::start;
        push({"_c10d_functional.wait_tensor.default",
              "",
              op_kind::wait,
              {start},
              {shape(start)},
              {element_type::f64},
              true},
             0);
    }
}
inline void step_maker::draw_pointwise(std::uint32_t a, std::uint32_t b) {
    if (!is_float(a)) return;
    const std::size_t how = pick(whole_ ? 9 : 12);
    const char* unary[] = {"aten.neg.default", "aten.relu.default", "aten.abs.default", "aten.clone.default"};
    if (how < 4) return void(make(unary[how], "", {a}, shape(a), bound(a)));
    const char* inexact[] = {"aten.sigmoid.default", "aten.tanh.default", "aten.silu.default"};
    if (how > 8) return void(make(inexact[how - 9], "", {a}, shape(a), bound(a) + 1));
    step_shape s;
    if (!is_float(b) || !broadcast(shape(a), shape(b), s))
        return void(make("aten.mul.Scalar", "%0 3", {a}, shape(a), 3 * bound(a)));
    if (how == 8 && shape(a) == s) {
        const std::uint32_t mask = make("aten.gt.Scalar", "%0 0", {a}, s, 1, element_type::boolean);
        return void(make("aten.where.self", "%0 %1 %2", {mask, b, a}, s, std::max(bound(a), bound(b))));
    }
    if (how < 6) make("aten.mul.Tensor", "", {a, b}, s, bound(a) * bound(b));
    else make(how == 6 ? "aten.add.Tensor" : "aten.sub.Tensor", "", {a, b}, s, bound(a) + bound(b));
}
inline void step_maker::draw_product(std::uint32_t a, std::uint32_t b) {
    if (!is_float(a) || !is_float(b) || shape(a).size() != 2) return;
    const std::size_t first = pick(3);
    for (std::size_t k = 0; k < 3 && shape(b).size() == 2; ++k) {
        const std::size_t turned = (first + k) % 3;  // a, b or neither
        step_shape x = shape(a), y = shape(b);
        if (turned == 0) std::swap(x[0], x[1]);
        if (turned == 1) std::swap(y[0], y[1]);
        if (!(x[1] == y[0])) continue;
        const std::uint32_t left = turned == 0 ? view("aten.t.default", "", a, x) : a;
        const std::uint32_t right = turned == 1 ? view("aten.t.default", "", b, y) : b;
        make("aten.mm.default", "", {left, right}, {x[0], y[1]}, bound(a) * bound(b) * most(x[1]));
        return;
    }
    view("aten.t.default", "", a, {shape(a)[1], shape(a)[0]});
}
inline void step_maker::draw_cat(std::uint32_t a, std::uint32_t b) {
    if (!is_float(a) || shape(a).empty()) return;
    step_shape s = shape(a);
    const std::size_t d = pick(s.size());
    bool fits = is_float(b) && shape(b).size() == s.size();
    for (std::size_t k = 0; k < s.size() && fits; ++k) fits = k == d || s[k] == shape(b)[k];
    if (!fits) b = a;
    s[d] = {s[d].per_token + shape(b)[d].per_token, s[d].fixed + shape(b)[d].fixed};
    make("aten.cat.default", "[%0, %1] " + std::to_string(d), {a, b}, s, std::max(bound(a), bound(b)));
}
inline void step_maker::draw_reduction(std::uint32_t a) {
    if (!is_float(a) || shape(a).empty()) return;
    const step_shape s = shape(a);
    const std::size_t d = pick(s.size()), how = pick(whole_ ? 4 : 6);
    const std::string dim = std::to_string(d);
    step_shape without = s;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(d));
    if (how < 2) return void(make("aten.sum.dim_IntList", "%0 [" + dim + "]", {a}, without, bound(a) * most(s[d])));
    if (how == 2) return void(make("aten.amax.default", "%0 [" + dim + "]", {a}, without, bound(a)));
    if (how == 3) return void(make("aten.cumsum.default", "%0 " + dim, {a}, s, bound(a) * most(s[d])));
    if (how == 4) return void(make("aten._softmax.default", "%0 " + dim + " false", {a}, s, 1));
    make("aten.mean.dim", "%0 [" + dim + "]", {a}, without, bound(a));
}
inline void step_maker::draw_view(std::uint32_t a) {
    step_shape s = shape(a);
    const std::size_t how = pick(7), d = s.empty() ? 0 : pick(s.size());
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(d);
    const std::string dim = std::to_string(d);
    if (how == 0 && s.size() < 3) {
        s.insert(s.begin() + at, fixed(1));
        return void(view("aten.unsqueeze.default", "%0 " + dim, a, s));
    }
    if (s.empty()) return;
    if (how == 1 && s.size() > 1) {
        std::swap(s[d], s[(d + 1) % s.size()]);
        return void(view("aten.transpose.int", "%0 " + dim + " " + std::to_string((d + 1) % s.size()), a, s));
    }
    if (how == 2 && d + 1 < s.size() && (s[d].per_token == 0 || s[d + 1].per_token == 0) &&
        (s[d].fixed == 0 || s[d].per_token == 0) && (s[d + 1].fixed == 0 || s[d + 1].per_token == 0)) {
        const step_extent x = s[d], y = s[d + 1];
        s[d] = x.per_token   ? token(x.per_token * y.fixed)
               : y.per_token ? token(y.per_token * x.fixed)
                             : fixed(x.fixed * y.fixed);
        s.erase(s.begin() + at + 1);
        return void(view("aten.reshape.default", "%0 " + text(s), a, s));
    }
    if (how == 3 && s[d].per_token > 0 && s[d].per_token % 2 == 0 && s[d].fixed == 0) {
        const bool inner = pick(4) != 0;  // with the other one the rows of a token are far apart
        const step_extent rest = token(s[d].per_token / 2);
        s[d] = inner ? rest : fixed(2);
        s.insert(s.begin() + at + 1, inner ? fixed(2) : rest);
        return void(view("aten.reshape.default", "%0 " + text(s), a, s));
    }
    if (how == 4) {
        s.erase(s.begin() + at);
        return void(view("aten.select.int", "%0 " + dim + " 0", a, s));
    }
    if (how == 5 && s[d].per_token == 0 && s[d].fixed > 1) {
        s[d] = fixed(1);
        return void(view("aten.slice.Tensor", "%0 " + dim + " 1 2", a, s));
    }
    if (how == 6)
        for (std::size_t k = 0; k < s.size(); ++k)
            if (s[k] == fixed(1)) {
                s[k] = pick(2) ? token(1) : fixed(2);
                return void(view("aten.expand.default", "%0 " + text(s), a, s));
            }
}
inline void step_maker::draw_lookup(std::uint32_t a, std::uint32_t b) {
    if (!is_float(a)) return;
    std::uint32_t index = 0;
    for (std::uint32_t v = b + 1; v-- > 0 && index == 0;)
        if (is_tensor(v) && all_[v].elements[0] == element_type::i64 && !(all_[v].limit == step_extent())) index = v;
    if (index == 0) return;
    const step_shape s = shape(a), i = shape(index);
    const step_extent limit = all_[index].limit;
    const std::size_t how = pick(4);
    if (how < 2 && !s.empty() && s[0] == limit) {
        step_shape made = i;
        made.insert(made.end(), s.begin() + 1, s.end());
        if (how == 0 || i.size() != 1) make("aten.index.Tensor", "%0 [%1]", {a, index}, made, bound(a));
        else make("aten.index_select.default", "%0 0 %1", {a, index}, made, bound(a));
        return;
    }
    if (i.size() != 1 || s.empty() || !(s[0] == i[0])) return;
    if (how < 3 && s.size() == 2 && s[1] == limit) {  // of every row the element that it names
        const std::uint32_t rows = number_rows(a, 0);
        const std::uint32_t named = make("aten.index.Tensor", "%0 [%1,%2]", {a, rows, index}, i, bound(a));
        if (how == 0) return;
        const std::uint32_t zeros = make("aten.zeros_like.default", "", {a}, s, 0);
        make("aten.index_put.default", "%0 [%1,%2] %3 true", {zeros, rows, index, named}, s, bound(a));
        return;
    }
    // What every row names gets the row.
    step_shape base = s;
    base[0] = limit;
    const std::uint32_t zeros = make("aten.zeros.default", text(base) + " dtype=f64", {}, base, 0);
    if (pick(3) == 0 && bound(a) * most(i[0]) <= 1e12) {  // in place, into what all chunks may share
        step_operation o{"aten.index_add_.default", "%0 0 %1 %2", op_kind::compute,
                         {zeros, index, a},         {base},       {element_type::f64}};
        o.aliases = o.writes = true;
        return void(push(std::move(o), bound(a) * most(i[0])));
    }
    if (s.size() == 1 && how % 2 == 0)
        make("aten.scatter_add.default", "%0 0 %1 %2", {zeros, index, a}, base, bound(a) * most(i[0]));
    else if (how == 3) make("aten.index_add.default", "%0 0 %1 %2", {zeros, index, a}, base, bound(a) * most(i[0]));
    else make("aten.index_put.default", "%0 [%1] %2 true", {zeros, index, a}, base, bound(a) * most(i[0]));
}
inline void step_maker::draw_write(std::uint32_t a, std::uint32_t b) {
    step_shape s;
    if (!is_float(a) || !is_float(b) || !broadcast(shape(a), shape(b), s) || !(s == shape(a))) return;
    if (all_[a].overlapping || bound(a) + bound(b) > 1e12) return;
    const bool adds = pick(3) != 0;
    step_operation o{
        adds ? "aten.add_.Tensor" : "aten.copy_.default", "", op_kind::compute, {a, b}, {s}, {element_type::f64}};
    o.aliases = o.writes = true;
    push(std::move(o), adds ? bound(a) + bound(b) : bound(b));
}
inline void step_maker::draw_numbers(std::uint32_t a) {
    const step_shape s = shape(a);
    if (s.empty()) return;
    const std::size_t d = pick(s.size()), how = pick(3);
    if (how == 2) return void(make("aten.zeros_like.default", "", {a}, s, 0, all_[a].elements[0]));
    if (how == 1) return void(number_rows(a, d));
    const std::uint32_t n = extent_of(a, d);
    make("aten.zeros.default", "[%0, 2] dtype=f64", {n}, {s[d], fixed(2)}, 0);
}
inline std::uint32_t step_maker::extent_of(std::uint32_t a, std::size_t d) {
    step_operation size{"aten.sym_size.int", "%0 " + std::to_string(d), op_kind::view, {a}};
    return push(std::move(size), most(shape(a)[d]));
}
/// The numbers of the rows of `a` along `d`.
inline std::uint32_t step_maker::number_rows(std::uint32_t a, std::size_t d) {
    const step_extent rows = shape(a)[d];
    const std::uint32_t n = extent_of(a, d);
    const std::uint32_t numbers = make("aten.arange.default", "%0", {n}, {rows}, most(rows), element_type::i64);
    all_[numbers].limit = rows;
    return numbers;
}
inline void step_maker::draw_sorting(std::uint32_t a) {
    const step_shape s = shape(a);
    if (all_[a].elements[0] == element_type::i64 && s.size() == 1 && all_[a].limit == fixed(3) && pick(3) == 0)
        return void(make("aten.histc.default", "%0 3 0 2", {a}, {fixed(3)}, most(s[0]), element_type::i64));
    if (s.empty() || all_[a].elements[0] == element_type::boolean) return;
    const std::size_t d = pick(s.size());
    const bool top = s[d].per_token == 0 && s[d].fixed > 1 && pick(2);
    step_shape made = s;
    if (top) made[d] = fixed(1);
    const std::string dim = std::to_string(d);
    step_operation o{top ? "aten.topk.default" : "aten.sort.stable",
                     top ? "%0 1 " + dim : "%0 stable=true dim=" + dim,
                     op_kind::compute,
                     {a},
                     {made, made},
                     {all_[a].elements[0], element_type::i64}};
    const double largest = std::max(bound(a), most(s[d]));
    const std::uint32_t both = push(std::move(o), largest);
    for (const std::uint32_t k : {0u, 1u}) {
        step_operation one{"getitem",     "%0 " + std::to_string(k),
                           op_kind::view, {both},
                           {made},        {k == 0 ? all_[a].elements[0] : element_type::i64},
                           true};
        one.limit = k == 1 ? s[d] : all_[a].limit;
        push(std::move(one), 0);
    }
    if (top || s.size() != 1 || pick(2) == 0) return;
    // The inverse of that permutation, as a program writes it down that does not want to sort again.
    const auto order = static_cast<std::uint32_t>(all_.size() - 1);
    const std::uint32_t numbers = number_rows(order, 0);
    const std::uint32_t base = make("aten.zeros_like.default", "", {order}, s, 0, element_type::i64);
    const char* forms[] = {"aten.scatter.src", "aten.index_put.default", "aten.index_copy.default"};
    const std::size_t how = pick(3);
    const std::uint32_t inverse = make(forms[how], how == 1 ? "%0 [%1] %2" : "%0 0 %1 %2", {base, order, numbers}, s,
                                       most(s[0]), element_type::i64);
    all_[inverse].limit = s[0];
}

/// The program for `tokens` tokens, without its inputs.
inline tensor_program program_for(const std::vector<step_operation>& step, std::int64_t tokens) {
    tensor_program p;
    for (std::uint32_t v = 0; v < step.size(); ++v) {
        const step_operation& o = step[v];
        std::string arguments;
        for (std::size_t k = 0; k < o.arguments.size(); ++k) {
            if (o.arguments[k] != '<') {
                arguments += o.arguments[k];
                continue;
            }
            std::size_t used = 0;
            const std::int64_t per_token = std::stoll(o.arguments.substr(k + 1), &used);
            const std::int64_t fixed = std::stoll(o.arguments.substr(k + used + 3));
            arguments += std::to_string(per_token * tokens + fixed);
            k = o.arguments.find('>', k);
        }
        const std::string name = "n" + std::to_string(v);
        if (o.kind == op_kind::input) p.input(name, std::vector<tensor>());
        else if (o.kind == op_kind::output) p.output(o.reads);
        else if (o.kind == op_kind::start) p.start(name, o.operation, o.reads, arguments);
        else if (o.kind == op_kind::wait) p.wait(name, o.reads[0]);
        else p.add(name, o.operation, o.reads, arguments);
        tensor_program::node& n = p.nodes.back();
        n.kind = o.kind;
        if (o.kind == op_kind::output) continue;
        for (const step_shape& s : o.shapes) {
            n.shapes.emplace_back();
            for (const step_extent& e : s) n.shapes.back().push_back(e.at(tokens));
        }
        for (std::size_t k = 0; k < n.shapes.size(); ++k) n.recorded.push_back({n.shapes[k], o.elements[k]});
    }
    return p;
}

/// The program as chunking looks at it.
struct step_view : program_view {
    [[nodiscard]] std::span<const std::uint32_t> predecessors(std::uint32_t v) const { return operands(v); }
    [[nodiscard]] std::vector<std::uint32_t> successors(std::uint32_t v) const { return consumers(v); }
};
struct step_model : program_model {
    const std::vector<step_operation>* step;

    [[nodiscard]] std::vector<std::uint32_t> aliases(std::uint32_t x) const {
        if ((*step)[x].aliases) return {(*step)[x].reads[0]};
        return {};
    }
    [[nodiscard]] std::vector<std::uint32_t> effects(std::uint32_t v) const {
        if ((*step)[v].writes) return {(*step)[v].reads[0]};
        return {};
    }
};
static_assert(stretto::dependence_graph<step_view> && stretto::op_model<step_model, step_view>);

}  // namespace support

#endif
