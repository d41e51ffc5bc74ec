// Every rule against the operator itself: operands are cut as their states say, the operator runs on the whole and on
// every part, and the parts of the results must have to do with the results what the rule has promised.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aten/aten_case.hpp"
#include "support/prop.hpp"

using namespace aten_case;
using form = tensor_argument::form;

namespace {

/// What an integer tensor holds.
enum class holds {
    values,
    zeros,
    numbers,  ///< of `limit` things, plain or rows of the chunk, as chance has it
    plain     ///< of `limit` things, the same in every chunk
};

tensor_argument integer(std::int64_t n) { return {form::integer, n, 0, {}, {}}; }
tensor_argument truth(bool b) { return {form::truth, b, 0, {}, {}}; }
tensor_argument real(double x) { return {form::real, 0, x, {}, {}}; }
tensor_argument text(std::string_view s) { return {form::text, 0, 0, s, {}}; }

struct maker {
    choices& pick;
    world& w;
    call c;
    std::size_t favourite;  // most tensors are cut in this order, so that operands fit
    std::int64_t f;

    maker(choices& p, world& in)
        : pick(p), w(in), c{}, favourite(p.below(in.orders.size())), f(in.orders[favourite].total()) {}

    std::int64_t extent() {
        const std::int64_t some[] = {f, 2, w.tokens, 3, 1, 2 * w.tokens, f};
        return some[pick.below(7)];
    }
    extents shape(std::size_t rank) {
        extents s;
        for (std::size_t d = 0; d < rank; ++d) s.push_back(extent());
        return s;
    }
    element_type element() { return pick.one_in(3) ? element_type::i64 : element_type::f32; }

    tensor random(element_type e, const extents& s, std::int64_t low, std::int64_t high) {
        tensor t(e, s);
        std::vector<std::int64_t> all(static_cast<std::size_t>(t.elements()));
        for (std::int64_t& x : all) x = pick.noise(low, high);
        t.assign<std::int64_t>(all);
        return t;
    }
    tensor_argument add(operand x, const extents& s, element_type e) {
        c.types.push_back({});
        if (!x.whole.is_number) {
            c.shapes.push_back(s);
            c.types.back().push_back({c.shapes.back(), e});
        }
        c.operands.push_back(std::move(x));
        return {form::operand, static_cast<std::int64_t>(c.operands.size()) - 1, 0, {}, {}};
    }
    tensor_argument add_number(operand x) { return add(std::move(x), {}, element_type::other); }

    /// A tensor in some state.
    tensor_argument make(element_type e, extents s, holds what = holds::values, std::int64_t limit = 0,
                         std::int64_t low = -4) {
        const bool number = what == holds::numbers || what == holds::plain;
        if (number) e = element_type::i64;
        const std::size_t how = pick.below(8);
        if (how == 7) return add(w.shared(content(e, s, what, limit, low)), s, e);
        if (how == 6 && !number && what != holds::zeros && e != element_type::boolean && e != element_type::c64)
            return add(w.sum(e, s, pick, low), s, e);
        // Cut: along a dimension whose extent is that of an order.
        const std::size_t start = how < 5 ? favourite : pick.below(w.orders.size());
        const std::size_t turn = pick.below(s.empty() ? 1 : s.size());
        for (std::size_t k = 0; k < w.orders.size(); ++k) {
            const rows& r = w.orders[(start + k) % w.orders.size()];
            for (std::size_t j = 0; j < s.size(); ++j) {
                const std::size_t d = (turn + j) % s.size();
                if (s[d] != r.total()) continue;
                if (what == holds::numbers && pick.below(4) != 0) {
                    operand x;
                    if (row_numbers(x, r, s, d, limit)) return add(std::move(x), s, e);
                }
                operand x = w.cut(content(e, s, what, limit, low), r, d);
                if (what == holds::zeros && x.state.what == kind::permuted && pick.below(2))
                    x.state.order = w.ledger.alike(r.shared);
                if (what == holds::zeros) x.made_by = "aten.zeros.default";
                return add(std::move(x), s, e);
            }
        }
        operand x = w.shared(content(e, s, what, limit, low));
        if (what == holds::zeros) x.made_by = "aten.zeros.default";
        return add(std::move(x), s, e);
    }
    tensor content(element_type e, const extents& s, holds what, std::int64_t limit, std::int64_t low) {
        if (what == holds::zeros) return tensor(e, s);
        if (what == holds::values)
            return random(e, s, e == element_type::boolean ? 0 : low, e == element_type::boolean ? 1 : 4);
        return random(e, s, 0, std::max<std::int64_t>(limit, 1) - 1);
    }

    /// Numbers of rows of the chunk among `limit`, in the rows of r along d; the same in all other dimensions.
    bool row_numbers(operand& x, const rows& r, const extents& s, std::size_t d, std::int64_t limit) {
        std::vector<const rows*> of;
        for (const rows& other : w.orders)
            if (other.total() == limit) of.push_back(&other);
        if (of.empty()) return false;
        const rows& into = *of[pick.below(of.size())];
        bool once = into.shared == r.shared && pick.below(3) != 0;
        const bool computed = once && r.state.what == kind::permuted && into.order == r.shared &&
                              into.state.what == kind::permuted && pick.below(2);
        if (!once && into.per_token == 0) return false;
        if (!once && into.state.what != kind::sliced) return false;
        extents whole(static_cast<std::size_t>(r.total()));
        std::vector<extents> parts;
        for (std::size_t k = 0; k < r.of_chunk.size(); ++k) {
            const extents& places = into.of_chunk[k];
            if (places.empty() && !r.of_chunk[k].empty()) return false;
            extents own;
            if (once) {
                own.resize(places.size());
                for (std::size_t q = 0; q < own.size(); ++q) own[q] = static_cast<std::int64_t>(q);
                pick.shuffle(own);
            } else {
                for (std::size_t q = 0; q < r.of_chunk[k].size(); ++q)
                    own.push_back(pick.noise(0, static_cast<std::int64_t>(places.size()) - 1));
            }
            for (std::size_t q = 0; q < own.size(); ++q)
                whole[static_cast<std::size_t>(r.of_chunk[k][q])] = places[static_cast<std::size_t>(own[q])];
            parts.push_back(std::move(own));
        }
        const auto spread = [&](const extents& list) {
            extents full = s;
            full[d] = static_cast<std::int64_t>(list.size());
            tensor t(element_type::i64, full);
            std::int64_t inner = 1;
            for (std::size_t j = d + 1; j < s.size(); ++j) inner *= s[j];
            std::vector<std::int64_t> all(static_cast<std::size_t>(t.elements()));
            for (std::size_t k = 0; k < all.size(); ++k)
                all[k] = list[k / static_cast<std::size_t>(inner) % list.size()];
            t.assign<std::int64_t>(all);
            return t;
        };
        x.state = r.state;
        x.state.dim = static_cast<std::int8_t>(d);
        if (computed) x.state.what = kind::opaque;
        else if (into.state.what == kind::sliced) x.state.positions = into.per_token;
        if (once && !computed && s.size() == 1) x.state.into = into.order;
        if (once && !computed && s.size() != 1 && into.state.what != kind::sliced) return false;
        if (computed && s.size() != 1) return false;
        x.whole.tensors.push_back(spread(whole));
        for (const extents& p : parts) {
            interpreted_value v;
            v.tensors.push_back(spread(p));
            x.parts.push_back(std::move(v));
        }
        return true;
    }

    tensor_argument list(std::vector<tensor_argument> items) {
        c.lists.push_back(std::move(items));
        return {form::list, 0, 0, {}, c.lists.back()};
    }
    tensor_argument sizes(const extents& s) {
        std::vector<tensor_argument> items;
        for (std::int64_t e : s) items.push_back(integer(e));
        return list(std::move(items));
    }
    /// Sizes with, perhaps, a number of rows among them.
    tensor_argument sizes_by_number(extents& s) {
        std::vector<tensor_argument> items;
        for (std::int64_t e : s) items.push_back(integer(e));
        if (!s.empty() && pick.below(4) != 0) {
            const std::size_t j = pick.below(s.size());
            items[j] = row_count(s[j]);
        }
        return list(std::move(items));
    }
    tensor_argument row_count(std::int64_t& n) {
        const std::size_t which = pick.below(w.orders.size() + 1);
        if (which == w.orders.size()) {
            operand x = w.number(n, std::vector<std::int64_t>(w.chunks.size(), n), {});
            return add_number(std::move(x));
        }
        n = w.orders[which].total();
        return add_number(w.count(w.orders[which]));
    }
    std::int64_t dim(std::size_t rank) {
        const auto d = static_cast<std::int64_t>(pick.below(rank));
        return pick.one_in(3) ? d - static_cast<std::int64_t>(rank) : d;
    }
    void call_with(std::string_view name, std::vector<tensor_argument> positional) {
        c.name = name;
        c.positional = std::move(positional);
    }
    void name_argument(std::string_view name, const tensor_argument& a) { c.named.push_back({name, a}); }
};

using build = void (*)(maker&);

/// Operands that broadcast against each other.
std::pair<extents, extents> broadcast(maker& m) {
    extents a = m.shape(1 + m.pick.below(3)), b = a;
    for (std::int64_t& e : b)
        if (m.pick.one_in(5)) e = 1;
    if (m.pick.one_in(4) && b.size() > 1) b.erase(b.begin());
    return {a, b};
}
template <const char* const& Name>
void binary(maker& m) {
    const auto [a, b] = broadcast(m);
    const element_type e = m.element();
    const tensor_argument x = m.make(e, a), y = m.pick.one_in(5) ? x : m.make(e, b);
    m.call_with(Name, {x, y});
}
void binary_of(maker& m, std::string_view name, std::int64_t low = -4) {
    const auto [a, b] = broadcast(m);
    const element_type e = m.element();
    const tensor_argument x = m.make(e, a);
    m.call_with(name, {x, m.pick.one_in(6) ? x : m.make(e, b, holds::values, 0, low)});
}
void unary_of(maker& m, std::string_view name, element_type e = element_type::f32) {
    m.call_with(name, {m.make(e, m.shape(1 + m.pick.below(3)))});
}
/// An integer tensor that may hold numbers of rows, and an integer.
void row_number_arithmetic(maker& m, std::string_view name, std::int64_t by) {
    m.call_with(name, {m.make(element_type::i64, m.shape(1), holds::numbers, m.extent()), integer(by)});
}
void row_number_sum(maker& m, std::string_view name) {
    const extents s = m.shape(1);
    const tensor_argument a = m.make(element_type::i64, s, holds::numbers, m.extent());
    m.call_with(name, {a, m.make(element_type::i64, s, holds::numbers, m.extent())});
}
void matrix(maker& m, std::string_view name, bool batch) {
    const std::int64_t b = m.extent(), i = m.extent(), k = m.extent(), j = m.extent();
    const extents left = batch ? extents{b, i, k} : extents{i, k}, right = batch ? extents{b, k, j} : extents{k, j};
    const tensor_argument x = m.make(element_type::f32, left);
    m.call_with(name, {x, m.make(element_type::f32, right)});
}
/// A tensor, indices into its dimension `dim` and their shape.
struct looked_up {
    tensor_argument x, index;
    std::int64_t dim;
    extents shape, index_shape;
};
looked_up lookup(maker& m, std::size_t index_rank, bool base_zero = false) {
    looked_up l;
    l.shape = m.shape(1 + m.pick.below(2));
    l.dim = static_cast<std::int64_t>(m.pick.below(l.shape.size()));
    l.index_shape = m.shape(index_rank);
    l.x = m.make(m.element(), l.shape, base_zero ? holds::zeros : holds::values);
    l.index = m.make(element_type::i64, l.index_shape, holds::numbers, l.shape[static_cast<std::size_t>(l.dim)]);
    return l;
}
void put(maker& m, std::string_view name, bool adds) {
    looked_up l = lookup(m, 1, !m.pick.one_in(4));
    extents values = l.shape;
    values[static_cast<std::size_t>(l.dim)] = l.index_shape[0];
    std::vector<tensor_argument> indices(static_cast<std::size_t>(l.dim));
    indices.push_back(l.index);
    const element_type e = m.c.types[0][0].element;
    const tensor_argument v = m.pick.one_in(6) ? m.add(m.w.shared(m.random(e, {}, 1, 4)), {}, e) : m.make(e, values);
    m.call_with(name, {l.x, m.list(indices), v, truth(adds)});
}
/// Several indices side by side, of the same or of broadcast shapes.
looked_up several(maker& m, element_type e, bool base_zero, std::vector<tensor_argument>& indices) {
    looked_up l;
    l.shape = m.shape(2 + m.pick.below(2));
    l.dim = static_cast<std::int64_t>(m.pick.below(l.shape.size() - 1));
    l.index_shape = m.shape(1 + m.pick.below(2));
    l.x = m.make(e, l.shape, base_zero ? holds::zeros : holds::values);
    indices.resize(static_cast<std::size_t>(l.dim));
    for (std::size_t k = 0; k < 2; ++k) {
        extents own = l.index_shape;
        if (m.pick.one_in(4)) own[m.pick.below(own.size())] = 1;
        indices.push_back(m.make(element_type::i64, own, holds::numbers, l.shape[static_cast<std::size_t>(l.dim) + k]));
    }
    return l;
}
void put_several(maker& m, std::string_view name) {
    std::vector<tensor_argument> indices;
    const looked_up l = several(m, element_type::f32, !m.pick.one_in(4), indices);
    extents values = l.shape;
    values.erase(values.begin() + l.dim, values.begin() + l.dim + 2);
    // All indices are as large as they become together, so that the values are.
    values.insert(values.begin() + l.dim, l.index_shape.begin(), l.index_shape.end());
    if (m.pick.one_in(3)) values.assign(1, 1);
    m.call_with(name, {l.x, m.list(indices), m.make(element_type::f32, values), truth(m.pick.below(2))});
}
/// index_add and index_copy.
void put_rows(maker& m, std::string_view name) {
    const looked_up l = lookup(m, 1, !m.pick.one_in(4));
    extents source = l.shape;
    source[static_cast<std::size_t>(l.dim)] = l.index_shape[0];
    m.call_with(name, {l.x, integer(l.dim), l.index, m.make(m.c.types[0][0].element, source)});
}
/// What a slice or one place of a tensor was taken from, of which the gradient is given.
void part_backward(maker& m, std::string_view name, bool selects) {
    extents s = m.shape(2 + m.pick.below(2)), part = s;
    const std::size_t d = m.pick.below(s.size());
    s[d] = std::max<std::int64_t>(s[d], 1);
    part[d] = m.pick.below(2) ? s[d] : 1 + static_cast<std::int64_t>(m.pick.below(static_cast<std::size_t>(s[d])));
    const std::int64_t count = part[d];
    if (selects) part.erase(part.begin() + static_cast<std::ptrdiff_t>(d));
    const tensor_argument g = m.make(element_type::f32, part);
    std::vector<tensor_argument> all{g, m.sizes(s), integer(static_cast<std::int64_t>(d)), integer(0)};
    if (!selects) all.insert(all.end(), {integer(count == s[d] ? INT64_MAX : count), integer(1)});
    m.call_with(name, all);
}
/// Normalisation over the last dimension, or the last two.
void norm(maker& m, std::string_view name, bool centred, bool backward) {
    extents s = m.shape(2 + m.pick.below(2));
    const std::size_t n = m.pick.one_in(4) ? 2 : 1;
    for (std::size_t d = s.size() - n; d < s.size(); ++d) s[d] = 2;
    const extents last(s.end() - static_cast<std::ptrdiff_t>(n), s.end());
    extents ones = s;
    for (std::size_t d = s.size() - n; d < s.size(); ++d) ones[d] = 1;
    std::vector<tensor_argument> all{m.make(element_type::f32, s)};
    if (backward) all.push_back(m.make(element_type::f32, s));
    all.push_back(m.sizes(last));
    for (std::size_t k = 0; backward && k < 1 + std::size_t{centred}; ++k)
        all.push_back(m.make(element_type::f32, ones));
    const auto shared = [&] {
        return m.add(m.w.shared(m.random(element_type::f32, last, -4, 4)), last, element_type::f32);
    };
    all.push_back(shared());
    if (centred) all.push_back(shared());
    if (backward) all.push_back(m.list(std::vector<tensor_argument>(2 + std::size_t{centred}, truth(true))));
    else all.push_back(real(1));
    m.call_with(name, all);
}
/// scatter and gather along `dim`, with an index of the rank of the tensor.
looked_up same_rank(maker& m, bool base_zero) {
    looked_up l;
    l.shape = m.shape(2);
    l.dim = static_cast<std::int64_t>(m.pick.below(2));
    l.index_shape = l.shape;
    l.index_shape[static_cast<std::size_t>(l.dim)] = m.extent();
    l.x = m.make(element_type::f32, l.shape, base_zero ? holds::zeros : holds::values);
    l.index = m.make(element_type::i64, l.index_shape, holds::numbers, l.shape[static_cast<std::size_t>(l.dim)]);
    return l;
}
void scatter(maker& m, std::string_view name, bool tensor_values) {
    looked_up l = same_rank(m, !m.pick.one_in(4));
    m.call_with(name,
                {l.x, integer(l.dim), l.index, tensor_values ? m.make(element_type::f32, l.index_shape) : real(7)});
}
/// index_reduce, and scatter_reduce of single elements, in one of their ways.
void combine(maker& m, std::string_view name, bool elements) {
    const looked_up l = elements ? same_rank(m, !m.pick.one_in(4)) : lookup(m, 1, !m.pick.one_in(4));
    extents source = l.shape;
    source[static_cast<std::size_t>(l.dim)] = l.index_shape[elements ? static_cast<std::size_t>(l.dim) : 0];
    static constexpr std::string_view ways[] = {"sum", "mean", "prod", "amax", "amin"};
    const tensor_argument from = m.make(m.c.types[0][0].element, source);
    m.call_with(name, {l.x, integer(l.dim), l.index, from, text(ways[m.pick.below(5)])});
    m.name_argument("include_self", truth(m.pick.below(2)));
}
void reduction(maker& m, std::string_view name) {
    const extents s = m.shape(1 + m.pick.below(3));
    std::vector<tensor_argument> dims;
    for (std::size_t d = 0; d < s.size(); ++d)
        if (m.pick.below(2)) dims.push_back(integer(static_cast<std::int64_t>(d)));
    if (dims.empty()) dims.push_back(integer(m.dim(s.size())));
    const tensor_argument x = m.make(element_type::f32, s);
    m.call_with(name, {x, m.list(dims), truth(m.pick.one_in(2))});
}
void along(maker& m, std::string_view name, std::vector<tensor_argument> more = {}) {
    const extents s = m.shape(1 + m.pick.below(3));
    std::vector<tensor_argument> all{m.make(element_type::f32, s), integer(m.dim(s.size()))};
    all.insert(all.end(), more.begin(), more.end());
    m.call_with(name, all);
}
void triangle(maker& m, std::string_view name) {
    const extents s = m.shape(2 + m.pick.below(3));
    m.call_with(name, {m.make(m.element(), s), integer(static_cast<std::int64_t>(m.pick.below(5)) - 2)});
}
void sort(maker& m, std::string_view name) {
    extents s = m.shape(m.pick.below(4) ? 1 : 2);
    m.call_with(name, {m.make(element_type::i64, s, holds::numbers, m.extent())});
    if (name == "aten.sort.stable") m.name_argument("stable", truth(true));
}
/// Another shape with as many elements.
void reshape(maker& m, std::string_view name) {
    extents s = m.shape(1 + m.pick.below(3)), to = s;
    const tensor_argument x = m.make(element_type::f32, s);
    for (std::size_t step = m.pick.below(3); step-- > 0;) {
        if (m.pick.below(2) && to.size() > 1) {
            const std::size_t k = m.pick.below(to.size() - 1);
            to[k] *= to[k + 1];
            to.erase(to.begin() + static_cast<std::ptrdiff_t>(k) + 1);
        } else {
            const std::size_t k = m.pick.below(to.size());
            for (std::int64_t by : {m.w.tokens, std::int64_t{2}, std::int64_t{1}})
                if (to[k] % by == 0) {
                    const bool outer = m.pick.below(2);
                    const std::int64_t rest = to[k] / by;
                    to[k] = outer ? by : rest;
                    to.insert(to.begin() + static_cast<std::ptrdiff_t>(k) + 1, outer ? rest : by);
                    break;
                }
        }
    }
    std::vector<tensor_argument> items;
    for (std::int64_t e : to) items.push_back(integer(e));
    if (m.pick.one_in(3)) items[m.pick.below(items.size())] = integer(-1);
    else if (m.pick.one_in(3)) {
        const std::size_t j = m.pick.below(items.size());
        items[j] = m.add_number(
            m.w.number(to[j], std::vector<std::int64_t>(m.w.chunks.size(), to[j]), {}));  // that all chunks share
    }
    m.call_with(name, {x, m.list(items)});
}
void cat(maker& m, std::string_view name, bool stack) {
    extents s = m.shape(1 + m.pick.below(3));
    const std::int64_t d = m.dim(s.size() + stack);
    const tensor_argument a = m.make(element_type::f32, s);
    if (!stack && m.pick.below(2))
        s[static_cast<std::size_t>(d < 0 ? d + static_cast<std::int64_t>(s.size()) : d)] = m.extent();
    m.call_with(name, {m.list({a, m.make(element_type::f32, s)}), integer(d)});
}
void grouped_product(maker& m) {
    const rows& r = m.w.orders.back();
    const std::int64_t n = r.total(), k = 2, j = 3;
    operand ends;
    ends.state = {kind::addend, -1, 0, 0, 0};
    std::vector<std::int64_t> total(3, 0);
    for (const extents& counts : r.groups) {
        std::vector<std::int64_t> own;
        std::int64_t sum = 0;
        for (std::size_t g = 0; g < 3; ++g) {
            own.push_back(sum += counts[g]);
            total[g] += sum;
        }
        interpreted_value v;
        v.tensors.push_back(tensor::of_integers(element_type::i32, {3}, own));
        ends.parts.push_back(v);
    }
    ends.whole.tensors.push_back(tensor::of_integers(element_type::i32, {3}, total));
    m.favourite = m.w.orders.size() - 1;
    const auto rows_tensor = [&](extents s, std::size_t d) {
        return m.add(m.pick.one_in(5) ? m.w.shared(m.random(element_type::f32, s, -4, 4))
                                      : m.w.cut(m.random(element_type::f32, s, -4, 4), r, d),
                     s, element_type::f32);
    };
    const bool contract = m.pick.below(2);
    const tensor_argument a = contract ? rows_tensor({k, n}, 1) : rows_tensor({n, k}, 0);
    const tensor_argument b =
        contract ? rows_tensor({n, j}, 0)
                 : m.add(m.w.shared(m.random(element_type::f32, {3, k, j}, -4, 4)), {3, k, j}, element_type::f32);
    m.call_with("aten._grouped_mm.default", {a, b, m.add(std::move(ends), {3}, element_type::i32)});
}
void attention(maker& m, std::string_view name) {
    const std::int64_t b = m.extent(), h = 2, s = m.extent(), e = 2;
    std::vector<tensor_argument> all;
    for (int k = 0; k < 3; ++k) all.push_back(m.make(element_type::f32, {b, h, s, e}));
    // The kernel for CPUs has its mask, which is left out here, behind the others.
    if (name.find("for_cpu") == std::string_view::npos)
        for (const tensor_argument& a : {tensor_argument{}, truth(true)}) all.push_back(a);
    for (const tensor_argument& a : {real(0), truth(m.pick.below(2))}) all.push_back(a);
    m.call_with(name, all);
}
void loss(maker& m) {
    const std::int64_t n = m.extent();
    const tensor_argument x = m.make(element_type::f32, {n, 3});
    m.call_with("aten.nll_loss_forward.default", {x,
                                                  m.make(element_type::i64, {n}, holds::plain, 3),
                                                  {},
                                                  integer(static_cast<std::int64_t>(m.pick.below(3))),
                                                  integer(-100)});
}

/// Stride, padding, dilation and what follows them among the arguments of a convolution.
std::vector<tensor_argument> strides(maker& m, bool transposed, std::int64_t groups) {
    return {m.sizes({1 + static_cast<std::int64_t>(m.pick.below(2))}),
            m.sizes({static_cast<std::int64_t>(m.pick.below(2))}),
            m.sizes({1}),
            truth(transposed),
            m.sizes({0}),
            integer(groups)};
}
void convolution(maker& m, std::string_view name) {
    const std::int64_t n = m.extent(), groups = 1 + static_cast<std::int64_t>(m.pick.below(2));
    const bool transposed = m.pick.below(2), biased = m.pick.below(2);
    const std::int64_t bias = transposed ? 2 * groups : 4;
    std::vector<tensor_argument> all{m.make(element_type::f32, {n, 4, 5}),
                                     m.make(element_type::f32, {4, transposed ? 2 : 4 / groups, 2}),
                                     biased ? m.make(element_type::f32, {bias}) : tensor_argument{}};
    for (const tensor_argument& a : strides(m, transposed, groups)) all.push_back(a);
    m.call_with(name, all);
}
void convolution_backward(maker& m, std::string_view name) {
    const std::int64_t n = m.extent(), groups = 1 + static_cast<std::int64_t>(m.pick.below(2));
    const std::int64_t stride = 1 + static_cast<std::int64_t>(m.pick.below(2));
    const tensor_argument g = m.make(element_type::f32, {n, 4, stride == 1 ? 4 : 2});
    const tensor_argument x = m.make(element_type::f32, {n, 4, 5}), w = m.make(element_type::f32, {4, 4 / groups, 2});
    m.call_with(name, {g, x, w, m.sizes({4}), m.sizes({stride}), m.sizes({0}), m.sizes({1}), truth(false), m.sizes({0}),
                       integer(groups), m.list({truth(m.pick.below(2)), truth(true), truth(m.pick.below(2))})});
}
/// How many samples there are: a constant, or a number of rows.
tensor_argument sample_count(maker& m, std::int64_t& n) {
    if (m.pick.below(2)) return m.row_count(n);
    n = m.extent();
    return integer(n);
}
void group_norm(maker& m, std::string_view name) {
    std::int64_t n = 2;
    const tensor_argument count = sample_count(m, n), x = m.make(element_type::f32, {n, 4, 2});
    const tensor_argument w = m.make(element_type::f32, {4}), b = m.make(element_type::f32, {4});
    m.call_with(name, {x, w, b, count, integer(4), integer(2), integer(2), real(1)});
}
void group_norm_backward(maker& m, std::string_view name) {
    std::int64_t n = 2;
    const tensor_argument count = sample_count(m, n), g = m.make(element_type::f32, {n, 4, 2});
    const tensor_argument x = m.make(element_type::f32, {n, 4, 2});
    const tensor_argument mean = m.make(element_type::f32, {n, 2}), scale = m.make(element_type::f32, {n, 2});
    const tensor_argument w = m.make(element_type::f32, {4});
    m.call_with(name, {g, x, mean, scale, w, count, integer(4), integer(2), integer(2),
                       m.list({truth(m.pick.below(2)), truth(true), truth(m.pick.below(2))})});
}
void pad(maker& m, std::string_view name) {
    const extents s = m.shape(1 + m.pick.below(3));
    extents by;
    for (std::size_t k = 0; k < 2 * (1 + m.pick.below(s.size())); ++k)
        by.push_back(m.pick.below(2) ? static_cast<std::int64_t>(m.pick.below(2)) : 0);
    by.resize(by.size() / 2 * 2);
    m.call_with(name, {m.make(m.element(), s), m.sizes(by), integer(static_cast<std::int64_t>(m.pick.below(2)))});
}
void roll(maker& m, std::string_view name) {
    const extents s = m.shape(2 + m.pick.below(2));
    m.call_with(name, {m.make(m.element(), s), m.sizes({1, -2}), m.sizes({m.dim(s.size()), m.dim(s.size())})});
}
/// A loss of elements; the gradient is given a gradient of the loss first.
void element_loss(maker& m, std::string_view name, std::size_t lacking, bool backward) {
    const extents s = m.shape(1 + m.pick.below(2));
    const std::int64_t how = static_cast<std::int64_t>(m.pick.below(3));
    std::vector<tensor_argument> all;
    if (backward) all.push_back(m.make(element_type::f32, how == 0 ? s : extents{}));
    all.push_back(m.make(element_type::f32, s));
    all.push_back(m.make(element_type::f32, s));
    all.resize(all.size() + lacking);
    all.push_back(integer(how));
    if (name.find("smooth") < name.size() || name.find("huber") < name.size()) all.push_back(real(2));
    m.call_with(name, all);
}
void binary_loss(maker& m, std::string_view name) { element_loss(m, name, 2, false); }
void square_loss(maker& m, std::string_view name) { element_loss(m, name, 0, false); }
void square_loss_backward(maker& m, std::string_view name) { element_loss(m, name, 0, true); }
/// var, std and var_mean.
void moment(maker& m, std::string_view name) {
    const extents s = m.shape(1 + m.pick.below(3));
    const tensor_argument x = m.make(element_type::f32, s);
    m.call_with(name, {x, m.list({integer(m.dim(s.size()))})});
    m.name_argument("correction", integer(0));
    m.name_argument("keepdim", truth(m.pick.below(2)));
}
/// Pieces, which are often the blocks in which rows lie, spelt as constants or by a number of rows.
void split(maker& m, std::string_view name, bool lists) {
    extents s = m.shape(2);
    const std::size_t d = m.pick.below(2);
    std::int64_t piece = 2;
    if (m.pick.below(3) != 0) {
        const rows& blocks = m.w.orders[6];
        m.favourite = 6;
        s[d] = blocks.total();
        piece = m.pick.one_in(5) ? 1 : m.w.tokens;
    }
    const tensor_argument x = m.make(element_type::f32, s);
    tensor_argument size = integer(piece);
    if (piece == m.w.tokens && m.pick.below(2)) size = m.add_number(m.w.count(m.w.orders[0]));
    else if (m.pick.below(2)) size = m.add_number(m.w.number(piece, std::vector(m.w.chunks.size(), piece), {}));
    const std::int64_t pieces = s[d] / piece + (s[d] % piece != 0);
    std::vector<tensor_argument> all(static_cast<std::size_t>(pieces), size);
    if (s[d] % piece != 0) all.back() = integer(s[d] % piece);
    m.call_with(name, {x, lists ? m.list(all) : size, integer(static_cast<std::int64_t>(d))});
}
/// An even number of entries along a dimension, and half as many in the gradient.
void halves(maker& m, std::string_view name, bool backward) {
    extents s = m.shape(1 + m.pick.below(3));
    const std::int64_t d = m.dim(s.size());
    const std::size_t at = static_cast<std::size_t>(d < 0 ? d + static_cast<std::int64_t>(s.size()) : d);
    std::vector<tensor_argument> all;
    if (backward) all.push_back(m.make(element_type::f32, s));
    if (backward) s[at] *= 2;
    else s[at] += s[at] % 2;
    all.push_back(m.make(element_type::f32, s));
    all.push_back(integer(d));
    m.call_with(name, all);
}

struct spec {
    const char* name;
    void (*make)(maker&, std::string_view);
};
constexpr spec specs[] = {
    {"aten.add.Tensor", [](maker& m, std::string_view n) { m.pick.below(2) ? binary_of(m, n) : row_number_sum(m, n); }},
    {"aten.sub.Tensor", [](maker& m, std::string_view n) { m.pick.below(2) ? binary_of(m, n) : row_number_sum(m, n); }},
    {"aten.mul.Tensor",
     [](maker& m, std::string_view n) { m.pick.below(3) ? binary_of(m, n) : row_number_arithmetic(m, n, 2); }},
    {"aten.div.Tensor", [](maker& m, std::string_view n) { binary_of(m, n, 1); }},
    {"aten.maximum.default", [](maker& m, std::string_view n) { binary_of(m, n); }},
    {"aten.neg.default", [](maker& m, std::string_view n) { unary_of(m, n); }},
    {"aten.exp.default", [](maker& m, std::string_view n) { unary_of(m, n); }},
    {"aten.silu_backward.default", [](maker& m, std::string_view n) { binary_of(m, n); }},
    {"aten.clone.default",
     [](maker& m, std::string_view n) {
         m.call_with(n, {m.make(element_type::i64, m.shape(1), holds::numbers, m.extent())});
     }},
    {"ao.offload.default",
     [](maker& m, std::string_view n) {
         m.call_with(n, {m.make(element_type::i64, m.shape(1), holds::numbers, m.extent())});
     }},
    {"ao.reload.default",
     [](maker& m, std::string_view n) {
         const extents s = m.shape(2);
         const std::vector<tensor_argument> size = {integer(s[0]), integer(s[1])}, stride = {integer(s[1]), integer(1)};
         std::vector<tensor_argument> all = {m.make(m.element(), s), text("cuda")};
         if (m.pick.below(2)) all.insert(all.end(), {m.list(size), m.list(stride)});
         m.call_with(n, all);
     }},
    {"ao.wait_tensor.default",
     [](maker& m, std::string_view n) {
         const extents s = m.shape(2);
         const tensor_argument moved = m.make(m.element(), s), from = m.make(m.element(), s);
         m.call_with(n, {moved, from, m.make(m.element(), m.shape(1))});
     }},
    {"aten._to_copy.default",
     [](maker& m, std::string_view n) {
         unary_of(m, n, m.element());
         m.name_argument("dtype", text(m.pick.below(2) ? "f64" : m.pick.below(2) ? "i32" : "bool"));
     }},
    {"aten.floor_divide.default",
     [](maker& m, std::string_view n) { row_number_arithmetic(m, n, 1 + static_cast<std::int64_t>(m.pick.below(2))); }},
    {"aten.div.Tensor_mode",
     [](maker& m, std::string_view n) {
         row_number_arithmetic(m, n, 2);
         m.name_argument("rounding_mode", text("floor"));
     }},
    {"aten.where.self",
     [](maker& m, std::string_view n) {
         const extents s = m.shape(2);
         const tensor_argument a = m.make(element_type::boolean, s), b = m.make(element_type::f32, s);
         m.call_with(n, {a, b, m.make(element_type::f32, s)});
     }},
    {"aten.add_.Tensor", [](maker& m, std::string_view n) { binary_of(m, n); }},
    {"aten.mul_.Tensor", [](maker& m, std::string_view n) { binary_of(m, n); }},
    {"aten.copy_.default", [](maker& m, std::string_view n) { binary_of(m, n); }},
    {"aten.reshape.default", reshape},
    {"aten.view.default", reshape},
    {"aten.expand.default",
     [](maker& m, std::string_view n) {
         extents s = m.shape(1 + m.pick.below(2)), to = s;
         for (std::size_t d = 0; d < s.size(); ++d)
             if (m.pick.one_in(3)) s[d] = 1;
         const tensor_argument x = m.make(element_type::f32, s);
         if (m.pick.one_in(3)) to.insert(to.begin(), m.extent());
         std::vector<tensor_argument> items;
         for (std::size_t j = 0; j < to.size(); ++j) {
             const bool kept = j >= to.size() - s.size() && s[j - (to.size() - s.size())] == to[j];
             items.push_back(kept && m.pick.below(2) ? integer(-1) : kept ? integer(to[j]) : m.row_count(to[j]));
         }
         m.call_with(n, {x, m.list(items)});
     }},
    {"aten.t.default", [](maker& m, std::string_view n) { m.call_with(n, {m.make(element_type::f32, m.shape(2))}); }},
    {"aten.transpose.int",
     [](maker& m, std::string_view n) {
         const tensor_argument x = m.make(element_type::f32, m.shape(3));
         m.call_with(n, {x, integer(m.dim(3)), integer(m.dim(3))});
     }},
    {"aten.permute.default",
     [](maker& m, std::string_view n) {
         const tensor_argument x = m.make(element_type::f32, m.shape(3));
         extents order{0, 1, 2};
         m.pick.shuffle(order);
         m.call_with(n, {x, m.sizes(order)});
     }},
    {"aten.unsqueeze.default",
     [](maker& m, std::string_view n) {
         const tensor_argument x = m.make(element_type::f32, m.shape(2));
         m.call_with(n, {x, integer(m.dim(3))});
     }},
    {"aten.squeeze.dim",
     [](maker& m, std::string_view n) {
         const tensor_argument x = m.make(element_type::f32, m.shape(2));
         m.call_with(n, {x, integer(m.dim(2))});
     }},
    {"aten.select.int",
     [](maker& m, std::string_view n) {
         const tensor_argument x = m.make(element_type::f32, m.shape(2));
         m.call_with(n, {x, integer(m.dim(2)), integer(0)});
     }},
    {"aten.slice.Tensor",
     [](maker& m, std::string_view n) {
         const extents s = m.shape(2);
         const tensor_argument x = m.make(element_type::f32, s);
         const std::size_t d = m.pick.below(2);
         m.call_with(n, {x, integer(static_cast<std::int64_t>(d)), integer(static_cast<std::int64_t>(m.pick.below(2))),
                         integer(m.pick.below(2) ? s[d] : std::int64_t{1} << 60)});
     }},
    {"aten.unbind.int",
     [](maker& m, std::string_view n) {
         const tensor_argument x = m.make(element_type::f32, m.shape(2));
         m.call_with(n, {x, integer(m.dim(2))});
     }},
    {"aten.split.Tensor", [](maker& m, std::string_view n) { split(m, n, false); }},
    {"aten.split_with_sizes.default", [](maker& m, std::string_view n) { split(m, n, true); }},
    {"aten.cat.default", [](maker& m, std::string_view n) { cat(m, n, false); }},
    {"aten.repeat.default",
     [](maker& m, std::string_view n) {
         const tensor_argument x = m.make(element_type::f32, m.shape(2));
         m.call_with(n, {x, m.sizes({1 + static_cast<std::int64_t>(m.pick.below(2)), 1, 2})});
     }},
    {"aten.view_as_complex.default",
     [](maker& m, std::string_view n) {
         extents s = m.shape(2);
         s.back() = 2;
         m.call_with(n, {m.make(element_type::f32, s)});
     }},
    {"aten.sum.dim_IntList", reduction},
    {"aten.mean.dim", reduction},
    {"aten.amax.default", reduction},
    {"aten.cumsum.default", [](maker& m, std::string_view n) { along(m, n); }},
    {"aten._softmax.default", [](maker& m, std::string_view n) { along(m, n, {truth(false)}); }},
    {"aten._log_softmax.default", [](maker& m, std::string_view n) { along(m, n, {truth(false)}); }},
    {"aten._safe_softmax.default", [](maker& m, std::string_view n) { along(m, n); }},
    {"aten._softmax_backward_data.default",
     [](maker& m, std::string_view n) {
         const extents s = m.shape(2);
         const tensor_argument a = m.make(element_type::f32, s), b = m.make(element_type::f32, s);
         m.call_with(n, {a, b, integer(m.dim(2)), text("f32")});
     }},
    {"aten.topk.default",
     [](maker& m, std::string_view n) {
         const extents s = m.shape(2);
         const tensor_argument x = m.make(element_type::f32, s);
         m.call_with(n, {x, integer(1), integer(m.dim(2))});
     }},
    {"aten.sort.stable", sort},
    {"aten.sort.default", sort},
    {"aten.histc.default",
     [](maker& m, std::string_view n) {
         const tensor_argument x = m.make(element_type::i64, m.shape(2), holds::plain, 4);
         m.call_with(n, {x, integer(4), integer(0), integer(4)});
     }},
    {"aten.mm.default", [](maker& m, std::string_view n) { matrix(m, n, false); }},
    {"aten.bmm.default", [](maker& m, std::string_view n) { matrix(m, n, true); }},
    {"aten._grouped_mm.default", [](maker& m, std::string_view) { grouped_product(m); }},
    {"aten.index.Tensor",
     [](maker& m, std::string_view n) {
         looked_up l = lookup(m, 1 + m.pick.below(2));
         std::vector<tensor_argument> indices(static_cast<std::size_t>(l.dim));
         indices.push_back(l.index);
         m.call_with(n, {l.x, m.list(indices)});
     }},
    {"aten.index_select.default",
     [](maker& m, std::string_view n) {
         looked_up l = lookup(m, 1);
         m.call_with(n, {l.x, integer(l.dim), l.index});
     }},
    {"aten.embedding.default",
     [](maker& m, std::string_view n) {
         const extents s{m.extent(), 2};
         const tensor_argument x = m.make(element_type::f32, s);
         m.call_with(n, {x, m.make(element_type::i64, m.shape(1 + m.pick.below(2)), holds::numbers, s[0])});
     }},
    {"aten.index_put.default", [](maker& m, std::string_view n) { put(m, n, m.pick.below(2)); }},
    {"aten.index_put_.default", [](maker& m, std::string_view n) { put(m, n, m.pick.below(2)); }},
    {"aten.index_put.default", put_several},
    {"aten.index.Tensor",
     [](maker& m, std::string_view n) {
         std::vector<tensor_argument> indices;
         const looked_up l = several(m, m.element(), false, indices);
         m.call_with(n, {l.x, m.list(indices)});
     }},
    {"aten.index_add.default", put_rows},
    {"aten.index_add_.default", put_rows},
    {"aten.index_copy.default", put_rows},
    {"aten.slice_backward.default", [](maker& m, std::string_view n) { part_backward(m, n, false); }},
    {"aten.select_backward.default", [](maker& m, std::string_view n) { part_backward(m, n, true); }},
    {"aten.native_layer_norm.default", [](maker& m, std::string_view n) { norm(m, n, true, false); }},
    {"aten.native_layer_norm_backward.default", [](maker& m, std::string_view n) { norm(m, n, true, true); }},
    {"aten._fused_rms_norm.default", [](maker& m, std::string_view n) { norm(m, n, false, false); }},
    {"aten._fused_rms_norm_backward.default", [](maker& m, std::string_view n) { norm(m, n, false, true); }},
    {"aten.arange.start_step",
     [](maker& m, std::string_view n) {
         std::int64_t k = 2;
         m.call_with(n, {integer(static_cast<std::int64_t>(m.pick.below(2))), m.row_count(k), integer(1)});
     }},
    {"aten.gather.default",
     [](maker& m, std::string_view n) {
         looked_up l = same_rank(m, false);
         m.call_with(n, {l.x, integer(l.dim), l.index});
     }},
    {"aten.scatter.value", [](maker& m, std::string_view n) { scatter(m, n, false); }},
    {"aten.scatter_add.default", [](maker& m, std::string_view n) { scatter(m, n, true); }},
    {"aten.scatter_add_.default", [](maker& m, std::string_view n) { scatter(m, n, true); }},
    {"aten.index_reduce.default", [](maker& m, std::string_view n) { combine(m, n, false); }},
    {"aten.scatter_reduce.two", [](maker& m, std::string_view n) { combine(m, n, true); }},
    {"aten.scatter_reduce_.two", [](maker& m, std::string_view n) { combine(m, n, true); }},
    {"torchtitan.deterministic_scatter_add.default",
     [](maker& m, std::string_view n) {
         extents s = m.shape(2), index = s;
         index[0] = m.extent();
         const tensor_argument x = m.make(element_type::f32, s, holds::zeros);
         const tensor_argument by = m.make(element_type::i64, index, holds::numbers, s[0]);
         m.call_with(n, {x, by, m.make(element_type::f32, index)});
     }},
    {"aten.embedding_dense_backward.default",
     [](maker& m, std::string_view n) {
         const extents s = m.shape(1);
         const tensor_argument g = m.make(element_type::f32, {s[0], 2});
         m.call_with(n, {g, m.make(element_type::i64, s, holds::plain, 3), integer(3), integer(-1), truth(false)});
     }},
    {"aten.slice_scatter.default",
     [](maker& m, std::string_view n) {
         extents s = m.shape(2), part = s;
         const std::size_t d = m.pick.below(2);
         part[d] = 1 + static_cast<std::int64_t>(m.pick.below(static_cast<std::size_t>(std::max<std::int64_t>(s[d], 1))));
         const tensor_argument x = m.make(element_type::f32, s);
         m.call_with(n, {x, m.make(element_type::f32, part), integer(static_cast<std::int64_t>(d)), integer(0),
                         integer(part[d])});
     }},
    {"aten.repeat_interleave.Tensor",
     [](maker& m, std::string_view n) {
         m.call_with(n, {m.add(m.w.sum(element_type::i64, {3}, m.pick, 0), {3}, element_type::i64)});
     }},
    {"aten.zeros.default",
     [](maker& m, std::string_view n) {
         extents s = m.shape(2);
         m.call_with(n, {m.sizes_by_number(s)});
     }},
    {"aten.new_zeros.default",
     [](maker& m, std::string_view n) {
         extents s = m.shape(2);
         const tensor_argument x = m.make(element_type::f32, m.pick.below(2) ? s : m.shape(2));
         m.call_with(n, {x, m.sizes_by_number(s)});
     }},
    {"aten.zeros_like.default", [](maker& m, std::string_view n) { unary_of(m, n); }},
    {"aten.ones_like.default", [](maker& m, std::string_view n) { unary_of(m, n); }},
    {"aten.arange.default",
     [](maker& m, std::string_view n) {
         std::int64_t k = 2;
         m.call_with(n, {m.row_count(k)});
     }},
    {"aten.sym_size.int",
     [](maker& m, std::string_view n) {
         const tensor_argument x = m.make(element_type::f32, m.shape(2));
         m.call_with(n, {x, integer(m.dim(2))});
     }},
    {"aten.sym_numel.default", [](maker& m, std::string_view n) { unary_of(m, n); }},
    {"mul",
     [](maker& m, std::string_view n) {
         std::int64_t k = 2;
         const tensor_argument x = m.row_count(k);
         m.call_with(n, {x, m.pick.one_in(3) ? x : m.pick.one_in(3) ? m.row_count(k) : integer(3)});
     }},
    {"add",
     [](maker& m, std::string_view n) {
         std::int64_t k = 2;
         const tensor_argument x = m.row_count(k);
         m.call_with(n, {x, m.pick.one_in(3) ? integer(1) : m.row_count(k)});
     }},
    {"floordiv",
     [](maker& m, std::string_view n) {
         std::int64_t k = 2;
         const tensor_argument x = m.row_count(k);
         m.call_with(n, {x, m.pick.one_in(3) ? m.row_count(k) : integer(2)});
     }},
    {"aten.addmm.default",
     [](maker& m, std::string_view n) {
         const std::int64_t i = m.extent(), k = m.extent(), j = m.extent();
         const tensor_argument bias = m.make(element_type::f32, m.pick.below(2) ? extents{j} : extents{i, j});
         const tensor_argument a = m.make(element_type::f32, {i, k});
         m.call_with(n, {bias, a, m.make(element_type::f32, {k, j})});
     }},
    {"aten.stack.default", [](maker& m, std::string_view n) { cat(m, n, true); }},
    {"aten.view_as_real.default", [](maker& m, std::string_view n) { unary_of(m, n, element_type::c64); }},
    {"aten.sigmoid_backward.default", [](maker& m, std::string_view n) { binary_of(m, n); }},
    {"aten.remainder.Scalar", [](maker& m, std::string_view n) { row_number_arithmetic(m, n, 2); }},
    {"aten.full.default",
     [](maker& m, std::string_view n) {
         extents s = m.shape(2);
         m.call_with(n, {m.sizes_by_number(s), integer(0)});
     }},
    {"aten.nll_loss_backward.default",
     [](maker& m, std::string_view n) {
         const std::int64_t rows = m.extent(), how = static_cast<std::int64_t>(m.pick.below(3));
         const tensor_argument g = m.make(element_type::f32, how == 0 ? extents{rows} : extents{});
         const tensor_argument x = m.make(element_type::f32, {rows, 3});
         const tensor_argument t = m.make(element_type::i64, {rows}, holds::plain, 3);
         m.call_with(n, {g, x, t, {}, integer(how), integer(-100), m.make(element_type::f32, {})});
     }},
    {"aten._log_softmax_backward_data.default",
     [](maker& m, std::string_view n) {
         const extents s = m.shape(2);
         const tensor_argument a = m.make(element_type::f32, s), b = m.make(element_type::f32, s);
         m.call_with(n, {a, b, integer(m.dim(2)), text("f32")});
     }},
    {"aten._scaled_dot_product_efficient_attention.default", attention},
    {"aten._scaled_dot_product_flash_attention_for_cpu.default", attention},
    {"aten.nll_loss_forward.default", [](maker& m, std::string_view) { loss(m); }},
    {"aten.flip.default",
     [](maker& m, std::string_view n) {
         const extents s = m.shape(1 + m.pick.below(3));
         m.call_with(n, {m.make(m.element(), s), m.list({integer(m.dim(s.size()))})});
     }},
    {"aten.chunk.default",
     [](maker& m, std::string_view n) {
         const extents s = m.shape(2);
         m.call_with(n, {m.make(element_type::f32, s), integer(2), integer(m.dim(2))});
     }},
    {"aten.numpy_T.default", [](maker& m, std::string_view n) { m.call_with(n, {m.make(element_type::f32, m.shape(2))}); }},
    {"aten.real.default", [](maker& m, std::string_view n) { unary_of(m, n, element_type::c64); }},
    {"aten.rsub.Scalar",
     [](maker& m, std::string_view n) { m.call_with(n, {m.make(element_type::f32, m.shape(2)), integer(2)}); }},
    {"aten.round.default", [](maker& m, std::string_view n) { unary_of(m, n); }},
    {"aten.softplus.default", [](maker& m, std::string_view n) { unary_of(m, n); }},
    {"aten.gelu_backward.default", [](maker& m, std::string_view n) { binary_of(m, n); }},
    {"aten.logsumexp.default", reduction},
    {"aten.max.dim", [](maker& m, std::string_view n) { along(m, n); }},
    {"aten.argmin.default", [](maker& m, std::string_view n) { along(m, n); }},
    {"aten.prod.dim_int", [](maker& m, std::string_view n) { along(m, n); }},
    {"aten.cumprod.default", [](maker& m, std::string_view n) { along(m, n); }},
    {"aten.logcumsumexp.default", [](maker& m, std::string_view n) { along(m, n); }},
    {"aten.log_softmax.int", [](maker& m, std::string_view n) { along(m, n); }},
    {"aten.tril.default", triangle},
    {"aten.triu.default", triangle},
    {"aten.constant_pad_nd.default", pad},
    {"aten.roll.default", roll},
    {"aten.convolution.default", convolution},
    {"aten.convolution_backward.default", convolution_backward},
    {"aten.native_group_norm.default", group_norm},
    {"aten.native_group_norm_backward.default", group_norm_backward},
    {"aten.linalg_vector_norm.default",
     [](maker& m, std::string_view n) {
         const extents s = m.shape(1 + m.pick.below(3));
         const tensor_argument x = m.make(element_type::f32, s);
         m.call_with(n, {x, integer(1), m.list({integer(m.dim(s.size()))}), truth(m.pick.below(2))});
     }},
    {"aten.var.correction", moment},
    {"aten.std.correction", moment},
    {"aten.var_mean.correction", moment},
    {"aten.leaky_relu.default", [](maker& m, std::string_view n) { unary_of(m, n); }},
    {"aten.leaky_relu_.default", [](maker& m, std::string_view n) { unary_of(m, n); }},
    {"aten.leaky_relu_backward.default",
     [](maker& m, std::string_view n) {
         binary_of(m, n);
         m.c.positional.insert(m.c.positional.end(), {real(0.5), truth(false)});
     }},
    {"aten.elu.default", [](maker& m, std::string_view n) { unary_of(m, n); }},
    {"aten.hardswish_backward.default", [](maker& m, std::string_view n) { binary_of(m, n); }},
    {"aten.mish.default", [](maker& m, std::string_view n) { unary_of(m, n); }},
    {"aten.glu.default", [](maker& m, std::string_view n) { halves(m, n, false); }},
    {"aten.glu_backward.default", [](maker& m, std::string_view n) { halves(m, n, true); }},
    {"aten.xlogy.Tensor", [](maker& m, std::string_view n) { binary_of(m, n, 1); }},
    {"aten.binary_cross_entropy_with_logits.default", binary_loss},
    {"aten.mse_loss.default", square_loss},
    {"aten.mse_loss_backward.default", square_loss_backward},
    {"aten.smooth_l1_loss.default", square_loss},
    {"aten.smooth_l1_loss_backward.default", square_loss_backward},
    {"aten.huber_loss.default", square_loss},
    {"aten.huber_loss_backward.default", square_loss_backward},
    {"aten.binary_cross_entropy_backward.default",
     [](maker& m, std::string_view n) { element_loss(m, n, 1, true); }},
};

struct tally {
    std::uint64_t ran = 0, possible = 0, cut = 0;
    std::map<std::string, std::uint64_t> refused;
    std::string failed;
};

/// One case; an error is what rapidcheck shrinks and prints.
std::string one_case(const spec& s, const std::vector<std::uint8_t>& bytes, tally& count) {
    choices pick(bytes);
    world w(pick);
    maker m(pick, w);
    s.make(m, s.name);
    call& c = m.c;
    std::vector<chunk_state> states;
    bool cut = false;
    for (const operand& x : c.operands) {
        states.push_back(x.state);
        cut = cut || x.state.what != kind::whole;
    }
    if (!cut) return {};
    std::string why;
    const std::vector<interpreted_value> whole =
        run(c, c.positional, c.named, [&](std::size_t k) { return c.operands[k].whole; }, why);
    if (whole.empty()) return count.failed = why, std::string();
    ++count.ran;
    for (const tensor& t : whole[0].tensors) {
        c.shapes.push_back(t.shape());
        c.results.push_back({c.shapes.back(), t.element()});
    }
    const stretto::aten_chunk_model model(call_view{&c}, call_tensors{&c, c.positional, c.named}, w.ledger);
    std::vector<chunk_state> results(c.results.empty() ? 1 : c.results.size());
    const stretto::chunk_verdict verdict = model.combine_rule(c.vertex(), w.tokens, states, results);
    if (!verdict.possible) return ++count.refused[std::string(verdict.reason)], std::string();
    ++count.possible;
    for (const chunk_state& r : results) count.cut += r.what != kind::whole;

    stretto::argument_store store;
    std::vector<interpreted_value> parts;
    for (std::size_t k = 0; k < w.chunks.size(); ++k) {
        const stretto::chunk_arguments own =
            model.local_arguments(c.vertex(), w.tokens, w.chunks[k], states, results, store);
        // Of a chain, each chunk writes what the one before has left, and the last one leaves the result.
        const auto given = [&](std::size_t j) {
            return verdict.chain && j == 0 && k > 0 ? parts[k - 1] : c.operands[j].parts[k];
        };
        const auto part = run(c, own.positional, own.named, given, why);
        // However many pieces are asked for, nothing splits into one; no plan has a chunk without tokens.
        if (c.name == "aten.split.Tensor" && w.chunks[k].count == 0) return {};
        // The interpreter knows no extremes of tensors without elements, along whatever dimension.
        if (part.empty() && why.find("no extreme element of none") != std::string::npos) return {};
        if (part.empty()) return "does not run on a part: " + why;
        parts.push_back(part[0]);
    }
    if (verdict.chain) parts.assign(parts.size(), parts.back());
    return w.check(whole[0], parts, results);
}

}  // namespace

TEST_CASE("what has a rule can be executed") {
    // Kernels of the program's own, or of a GPU with outputs that only it has. Random numbers are drawn by nobody.
    // Batches are normalised by means over all samples, and so never in chunks.
    const std::string_view foreign[] = {"_c10d_functional.broadcast.default",
                                        "aten._scaled_dot_product_flash_attention.default",
                                        "aten._scaled_dot_product_flash_attention_backward.default",
                                        "aten._scaled_dot_product_fused_attention_overrideable.default",
                                        "aten._scaled_dot_product_fused_attention_overrideable_backward.default",
                                        "aten._batch_norm_with_update.default",
                                        "aten._batch_norm_with_update_functional.default",
                                        "aten._native_batch_norm_legit.default",
                                        "aten._native_batch_norm_legit_functional.default",
                                        "aten.batch_norm_backward.default",
                                        "aten.cudnn_batch_norm.default",
                                        "aten.cudnn_batch_norm_backward.default",
                                        "aten.native_batch_norm.default",
                                        "aten.native_batch_norm_backward.default",
                                        "aten.bernoulli.default",
                                        "aten.bernoulli.p",
                                        "aten.bernoulli_.float",
                                        "aten.exponential_.default",
                                        "aten.multinomial.default",
                                        "aten.native_dropout.default",
                                        "aten.normal_.default",
                                        "aten.rand.default",
                                        "aten.rand_like.default",
                                        "aten.randint.default",
                                        "aten.randint.low",
                                        "aten.randint_like.default",
                                        "aten.randn.default",
                                        "aten.randn_like.default",
                                        "aten.randperm.default",
                                        "aten.uniform_.default",
                                        "flex_attention",
                                        "flex_attention_backward",
                                        "triton_kernel_wrapper_functional"};
    std::size_t left_out = 0;
    for (const auto& o : stretto::detail::aten::aten_operators) {
        const bool known = o.name == "_c10d_functional.wait_tensor.default" ||
                           !stretto::aten::detail::collective_name(o.name).empty() ||
                           stretto::aten::detail::find_operator(o.name).entry != nullptr;
        const bool listed = std::find(std::begin(foreign), std::end(foreign), o.name) != std::end(foreign);
        CHECK_MESSAGE(known != listed, o.name);
        left_out += listed;
    }
    CHECK(left_out == std::size(foreign));
}

TEST_CASE("the parts of results have to do with them what the rules promise, for every operator") {
    const int cases = 400;
    std::string rates;
    for (const spec& s : specs) {
        tally count;
        stretto_check(s.name, cases, [&](const std::vector<std::uint8_t>& bytes) {
            const std::string wrong = one_case(s, bytes, count);
            if (!wrong.empty()) RC_FAIL(wrong);
        });
        std::uint64_t refusals = 0;
        for (const auto& [why, n] : count.refused) refusals += n;
        rates += std::string(s.name) + ": " + std::to_string(count.possible) + " possible, " +
                 std::to_string(refusals) + " refused\n";
        for (const auto& [why, n] : count.refused) rates += "    " + std::to_string(n) + " " + why + "\n";
        if (!support::runs_all_cases()) continue;
        CHECK_MESSAGE(count.possible > 0, std::string(s.name) << " was never possible; " << count.failed);
        CHECK_MESSAGE(count.ran > 50, std::string(s.name) << " ran too seldom; " << count.failed);
    }
    INFO(rates);
    if (std::getenv("STRETTO_RATES") != nullptr) MESSAGE(rates);
}
