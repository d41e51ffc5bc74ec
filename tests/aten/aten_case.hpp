// One operator on made-up operands: whole values and, for given states, their parts. What parts of the results have to
// do with the results is told by testing/chunk_relation.hpp.
#ifndef STRETTO_TESTS_ATEN_ATEN_CASE_HPP
#define STRETTO_TESTS_ATEN_ATEN_CASE_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/aten/aten_chunk_model.hpp"
#include "stretto/aten/interpreter.hpp"
#include "stretto/core/chunk_model.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/testing/chunk_relation.hpp"

namespace aten_case {

using stretto::chunk_interval;
using stretto::chunk_state;
using stretto::element_type;
using stretto::tensor_argument;
using stretto::tensor_type;
using stretto::aten::interpreted_value;
using stretto::aten::tensor;
using kind = chunk_state::kind;
using extents = std::vector<std::int64_t>;

/// Small numbers out of bytes, which rapidcheck shrinks; zeros when they are used up. `noise` is for contents, which
/// need no shrinking.
class choices {
public:
    explicit choices(const std::vector<std::uint8_t>& bytes) : bytes_(bytes) {
        for (std::uint8_t b : bytes) state_ = (state_ ^ b) * 0x9e3779b97f4a7c15u + 1;
    }
    std::size_t below(std::size_t n) { return at_ < bytes_.size() ? bytes_[at_++] % n : 0; }
    bool one_in(std::size_t n) { return below(n) == n - 1; }
    std::int64_t noise(std::int64_t low, std::int64_t high) {
        state_ += 0x9e3779b97f4a7c15u;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return low + static_cast<std::int64_t>((z ^ (z >> 31)) % static_cast<std::uint64_t>(high - low + 1));
    }
    template <class T>
    void shuffle(std::vector<T>& v) {
        for (std::size_t k = v.size(); k > 1; --k)
            std::swap(v[k - 1], v[static_cast<std::size_t>(noise(0, static_cast<std::int64_t>(k) - 1))]);
    }

private:
    const std::vector<std::uint8_t>& bytes_;
    std::size_t at_ = 0;
    std::uint64_t state_ = 1;
};

/// An order of rows, and its name.
struct rows : stretto::known_rows {
    chunk_state state;  ///< with dim 0
    std::uint32_t order = 0;
    std::uint32_t shared = 0;  ///< the order that all orders of the same rows share
    std::int64_t per_token = 0;
    std::vector<extents> groups = {};  ///< of grouped rows: how many of each group every chunk has

    [[nodiscard]] std::int64_t total() const {
        std::int64_t n = 0;
        for (const extents& c : of_chunk) n += static_cast<std::int64_t>(c.size());
        return n;
    }
};

struct operand {
    chunk_state state;
    interpreted_value whole;
    std::vector<interpreted_value> parts;
    std::string_view made_by = "placeholder";
};

/// The operator, and vertices 0, 1, ... that are its operands; behind it an output.
struct call {
    std::string_view name;
    std::vector<tensor_argument> positional;
    std::vector<stretto::named_tensor_argument> named;
    std::vector<operand> operands;
    std::vector<tensor_type> results = {};
    std::deque<std::vector<tensor_argument>> lists;
    std::deque<std::vector<tensor_type>> types;
    std::deque<extents> shapes;

    [[nodiscard]] std::uint32_t vertex() const { return static_cast<std::uint32_t>(operands.size()); }
};

struct call_view {
    using vertex_type = std::uint32_t;
    using value_type = std::uint32_t;
    const call* c;

    [[nodiscard]] std::vector<vertex_type> vertices() const {
        std::vector<vertex_type> all(c->vertex() + 2);
        std::iota(all.begin(), all.end(), 0u);
        return all;
    }
    [[nodiscard]] std::vector<vertex_type> predecessors(vertex_type v) const { return operands(v); }
    [[nodiscard]] std::vector<vertex_type> successors(vertex_type v) const { return consumers(v); }
    [[nodiscard]] std::size_t index(vertex_type v) const { return v; }
    [[nodiscard]] std::size_t index_bound() const { return c->vertex() + std::size_t{2}; }
    [[nodiscard]] std::vector<value_type> operands(vertex_type v) const {
        if (v < c->vertex()) return {};
        if (v > c->vertex()) return {c->vertex()};
        std::vector<value_type> all(c->vertex());
        std::iota(all.begin(), all.end(), 0u);
        return all;
    }
    [[nodiscard]] std::array<value_type, 1> results(vertex_type v) const { return {v}; }
    [[nodiscard]] vertex_type producer(value_type x) const { return x; }
    [[nodiscard]] std::vector<vertex_type> consumers(value_type x) const {
        if (x > c->vertex()) return {};
        return {x < c->vertex() ? c->vertex() : x + 1};
    }
};

struct call_ops {
    const call* c;
    [[nodiscard]] stretto::op_kind kind(std::uint32_t v) const {
        return v < c->vertex()    ? stretto::op_kind::input
               : v == c->vertex() ? stretto::op_kind::compute
                                  : stretto::op_kind::output;
    }
};

struct call_tensors {
    const call* c;
    std::span<const tensor_argument> positional;
    std::span<const stretto::named_tensor_argument> named;

    [[nodiscard]] std::string_view operation(std::uint32_t v) const {
        return v < c->vertex() ? c->operands[v].made_by : v == c->vertex() ? c->name : "output";
    }
    [[nodiscard]] std::span<const tensor_argument> arguments(std::uint32_t v) const {
        return v == c->vertex() ? positional : std::span<const tensor_argument>();
    }
    [[nodiscard]] std::span<const stretto::named_tensor_argument> named_arguments(std::uint32_t v) const {
        return v == c->vertex() ? named : std::span<const stretto::named_tensor_argument>();
    }
    [[nodiscard]] std::span<const tensor_type> components(std::uint32_t x) const {
        return x < c->vertex() ? c->types[x] : x == c->vertex() ? c->results : std::span<const tensor_type>();
    }
};

/// The operator on operands that `of(k)` gives, with these arguments. Nothing if it fails; `why` says so.
template <class Of>
std::vector<interpreted_value> run(const call& c, std::span<const tensor_argument> positional,
                                   std::span<const stretto::named_tensor_argument> named, Of of, std::string& why) {
    std::vector<std::vector<interpreted_value>> inputs;
    for (std::size_t k = 0; k < c.operands.size(); ++k) inputs.push_back({of(k)});
    stretto::aten::interpreter_options options;
    options.recorded = stretto::aten::recorded_types::ignored;
    auto done = stretto::aten::interpret(
        call_view{&c}, call_ops{&c}, call_tensors{&c, positional, named},
        [&](std::uint32_t v) { return std::span<const interpreted_value>(inputs[v]); }, options);
    if (!done) return why = done.error().message(), std::vector<interpreted_value>();
    return done->outputs.at(0).by_rank;
}

/// As numbers; a complex one is two, along one more dimension.
inline stretto::host_value on_host(const interpreted_value& x) {
    stretto::host_value made;
    if (x.is_number) made.number = x.scalar.real;
    for (const tensor& t : x.tensors) {
        stretto::host_tensor& own = made.tensors.emplace_back();
        own.shape = t.shape();
        own.element = t.element();
        if (t.element() != element_type::c64 && t.element() != element_type::c128) {
            own.elements = t.values<double>();
            continue;
        }
        own.shape.push_back(2);
        for (const stretto::aten::complex_number& c : t.values<stretto::aten::complex_number>()) {
            own.elements.push_back(c.re);
            own.elements.push_back(c.im);
        }
    }
    return made;
}

/// The tensor of the rows at these places.
inline tensor take(const tensor& t, std::size_t dim, const extents& places) {
    extents shape = t.shape();
    shape[dim] = static_cast<std::int64_t>(places.size());
    std::int64_t inner = 1, outer = 1;
    for (std::size_t d = 0; d < t.rank(); ++d) (d < dim ? outer : inner) *= d == dim ? 1 : t.extent(d);
    const auto gather = [&](const auto& from) {
        auto made = from;
        made.clear();
        for (std::int64_t o = 0; o < outer; ++o)
            for (std::int64_t p : places)
                for (std::int64_t i = 0; i < inner; ++i)
                    made.push_back(from[static_cast<std::size_t>((o * t.extent(dim) + p) * inner + i)]);
        return made;
    };
    tensor made(t.element(), shape);
    if (t.integral()) made.assign<std::int64_t>(gather(t.values<std::int64_t>()));
    else made.assign<stretto::aten::complex_number>(gather(t.values<stretto::aten::complex_number>()));
    return made;
}

/// Chunks of some tokens, and the orders that rows may be in.
struct world {
    std::int64_t tokens = 2;
    std::vector<chunk_interval> chunks;
    stretto::row_orders ledger;
    std::vector<rows> orders;

    explicit world(choices& pick) {
        tokens = 2 + static_cast<std::int64_t>(pick.below(3));
        std::int64_t first = 0;
        const std::size_t n = 2 + pick.below(2);
        for (std::size_t k = 0; k + 1 < n; ++k) {
            const auto count = static_cast<std::int64_t>(pick.below(static_cast<std::size_t>(tokens - first) + 1));
            chunks.push_back({first, count});
            first += count;
        }
        chunks.push_back({first, tokens - first});
        for (std::int64_t per_token : {1, 2}) {
            rows r;
            r.order = r.shared = ledger.natural(per_token);
            r.per_token = per_token;
            r.state = {kind::sliced, 0, 0, 0, 0};
            for (const chunk_interval& c : chunks) {
                extents& own = r.of_chunk.emplace_back();
                for (std::int64_t p = 0; p < per_token * c.count; ++p) own.push_back(per_token * c.first + p);
            }
            orders.push_back(r);
            orders.push_back(
                another(r, ledger.name(stretto::row_orders::origin::sorted, r.order, r.shared, {1}), pick));
        }
        rows exchanged;
        exchanged.of_chunk.resize(chunks.size());
        const std::int64_t n_rows = 3 + static_cast<std::int64_t>(pick.below(4));
        for (std::int64_t p = 0; p < n_rows; ++p)
            exchanged.of_chunk[static_cast<std::size_t>(pick.noise(0, static_cast<std::int64_t>(n) - 1))].push_back(p);
        exchanged = another(exchanged, ledger.name(stretto::row_orders::origin::exchanged, 0, 0, {2}), pick);
        exchanged.shared = exchanged.order;
        orders.push_back(exchanged);
        orders.push_back(
            another(exchanged, ledger.name(stretto::row_orders::origin::runs, 0, exchanged.order, {3}), pick));
        orders.push_back(in_blocks(2 + static_cast<std::int64_t>(pick.below(2))));
        orders.push_back(grouped(pick));
    }

    /// As many rows a chunk, in an order of their own.
    static rows another(const rows& like, std::uint32_t id, choices& pick) {
        rows r;
        extents all(static_cast<std::size_t>(like.total()));
        std::iota(all.begin(), all.end(), 0);
        pick.shuffle(all);
        std::size_t at = 0;
        for (const extents& c : like.of_chunk) {
            r.of_chunk.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(at),
                                    all.begin() + static_cast<std::ptrdiff_t>(at + c.size()));
            at += c.size();
        }
        r.order = id;
        r.shared = like.shared;
        r.state = {kind::permuted, 0, 0, id, 0};
        return r;
    }
    /// Rows of the tokens, in each of so many blocks.
    rows in_blocks(std::int64_t blocks) {
        rows r;
        for (const chunk_interval& c : chunks) {
            extents& own = r.of_chunk.emplace_back();
            for (std::int64_t b = 0; b < blocks; ++b)
                for (std::int64_t p = 0; p < c.count; ++p) own.push_back(b * tokens + c.first + p);
        }
        r.order = r.shared = ledger.in_blocks(blocks, 1);
        r.state = {kind::permuted, 0, 0, r.order, 0};
        return r;
    }
    /// Rows in three groups, in the whole and in every chunk.
    rows grouped(choices& pick) {
        rows r;
        r.of_chunk.resize(chunks.size());
        r.groups.assign(chunks.size(), extents(3, 0));
        std::int64_t p = 0;
        for (std::size_t group = 0; group < 3; ++group)
            for (std::int64_t k = pick.noise(0, 3); k-- > 0; ++p) {
                const auto c = static_cast<std::size_t>(pick.noise(0, static_cast<std::int64_t>(chunks.size()) - 1));
                r.of_chunk[c].push_back(p);
                ++r.groups[c][group];
            }
        r.order = r.shared = ledger.name(stretto::row_orders::origin::exchanged, 0, 0, {4});
        r.state = {kind::permuted, 0, 0, r.order, 0};
        return r;
    }

    [[nodiscard]] const rows* find(std::uint32_t order) const {
        for (const rows& r : orders)
            if (r.order == order) return &r;
        return nullptr;
    }

    /// An operand of these rows along `dim`: the parts of a whole.
    operand cut(tensor whole, const rows& r, std::size_t dim) const {
        operand x;
        x.state = r.state;
        x.state.dim = static_cast<std::int8_t>(dim);
        for (const extents& c : r.of_chunk) {
            interpreted_value part;
            part.tensors.push_back(take(whole, dim, c));
            x.parts.push_back(std::move(part));
        }
        x.whole.tensors.push_back(std::move(whole));
        return x;
    }
    operand shared(tensor whole) const {
        operand x;
        x.whole.tensors.push_back(std::move(whole));
        x.parts.assign(chunks.size(), x.whole);
        return x;
    }
    operand sum(element_type e, const extents& shape, choices& pick, std::int64_t low = -4) const {
        operand x;
        x.state = {kind::addend, -1, 0, 0, 0};
        tensor whole(e, shape);
        std::vector<std::int64_t> total(static_cast<std::size_t>(whole.elements()), 0);
        for (std::size_t c = 0; c < chunks.size(); ++c) {
            std::vector<std::int64_t> own(total.size());
            for (std::size_t k = 0; k < own.size(); ++k) total[k] += own[k] = pick.noise(low, 4);
            tensor part(e, shape);
            part.assign<std::int64_t>(own);
            interpreted_value v;
            v.tensors.push_back(std::move(part));
            x.parts.push_back(std::move(v));
        }
        whole.assign<std::int64_t>(total);
        x.whole.tensors.push_back(std::move(whole));
        return x;
    }
    operand number(std::int64_t whole, const std::vector<std::int64_t>& parts, const chunk_state& state) const {
        operand x;
        x.state = state;
        x.whole.is_number = true;
        x.whole.scalar = stretto::aten::number::of(whole);
        for (std::int64_t part : parts) {
            interpreted_value v;
            v.is_number = true;
            v.scalar = stretto::aten::number::of(part);
            x.parts.push_back(v);
        }
        return x;
    }
    /// How many rows of an order there are.
    operand count(const rows& r) const {
        std::vector<std::int64_t> parts;
        for (const extents& c : r.of_chunk) parts.push_back(static_cast<std::int64_t>(c.size()));
        return number(r.total(), parts, {kind::addend, -1, r.per_token, r.shared, 0});
    }

    /// Whether `parts` have to do with `whole` what the states say. Otherwise: what is wrong.
    std::string check(const interpreted_value& whole, const std::vector<interpreted_value>& parts,
                      std::span<const chunk_state> states) const {
        std::deque<stretto::known_rows> alike;
        const auto rows_in = [&](std::uint32_t order) -> const stretto::known_rows* {
            if (!ledger.all_alike(order)) return find(order);
            const rows* sizes = find(ledger.rows_of(order));
            alike.push_back({sizes == nullptr ? std::vector<extents>() : sizes->of_chunk, true});
            return &alike.back();
        };
        std::vector<stretto::host_value> own;
        for (const interpreted_value& p : parts) own.push_back(on_host(p));
        return stretto::chunk_relation(tokens, chunks, rows_in).check(on_host(whole), own, states);
    }
};

}  // namespace aten_case

#endif
