// A small program on several ranks whose operations add, communicate, look and overwrite, with a view, models, a
// rewriter and an interpreter: what transforms of collectives are tested on. Numbers are integers, so equal means
// equal.
#ifndef STRETTO_TESTS_SUPPORT_REDUCTION_IR_HPP
#define STRETTO_TESTS_SUPPORT_REDUCTION_IR_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/core/collective_call.hpp"
#include "stretto/core/linear_model.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/rewriter_concepts.hpp"

namespace support {

enum class reduction_op : std::uint8_t {
    input,
    mix,      ///< 3 times the first operand and 5 times each other one, plus 1: a kernel that is not linear
    add,      ///< a new value
    add_to,   ///< written into the first operand
    same,     ///< a view of the first operand
    reverse,  ///< a view of the first operand, back to front
    twice,    ///< doubles the first operand in place
    cast,     ///< a kernel that converts the first operand
    start,
    wait,
    output,
    pack,    ///< what `members` send, laid out for their collective; converted first where `converts` says so
    unpack,  ///< the results of `members`, one behind the other
    part     ///< a view of the first operand: the result of member `flavour`
};

struct reduction_node {
    reduction_op op = reduction_op::mix;
    std::vector<std::uint32_t> operands = {};
    std::int64_t length = 4;  ///< of the result
    stretto::collective_kind kind = stretto::collective_kind::all_reduce;
    stretto::reduction_kind how = stretto::reduction_kind::sum;
    std::uint32_t group = 0;
    int flavour = 0;                          ///< a further argument of a start
    std::vector<std::uint32_t> after = {};    ///< dependences that are no values
    std::vector<std::uint32_t> members = {};  ///< of a merged start, its pack, its unpack and their parts
    std::vector<char> converts = {};          ///< of a pack, by member
    int element = 0;                          ///< the type of what a start sends
};

/// Node v makes value v. New nodes have the numbers after those that were there; `order` is program order.
struct reduction_program {
    std::vector<reduction_node> nodes;
    std::vector<std::uint32_t> order;

    std::uint32_t add(reduction_node n) {
        const auto id = static_cast<std::uint32_t>(nodes.size());
        nodes.push_back(std::move(n));
        order.push_back(id);
        return id;
    }
    std::uint32_t input(std::int64_t length = 4) { return add({reduction_op::input, {}, length}); }
    std::uint32_t op(reduction_op o, std::vector<std::uint32_t> operands) {
        const std::int64_t length = nodes[operands[0]].length;
        return add({o, std::move(operands), length});
    }
    std::uint32_t start(std::uint32_t x, reduction_node like = {}) {
        like.op = reduction_op::start;
        like.operands = {x};
        const bool shares = like.kind == stretto::collective_kind::reduce_scatter;
        const bool gathers = like.kind == stretto::collective_kind::all_gather;
        like.length = shares ? nodes[x].length / 2 : gathers ? nodes[x].length * 2 : nodes[x].length;
        if (!stretto::reduces(like.kind)) like.how = stretto::reduction_kind::none;
        return add(std::move(like));
    }
    /// The result of a collective on x.
    std::uint32_t reduced(std::uint32_t x, reduction_node like = {}) {
        return op(reduction_op::wait, {start(x, std::move(like))});
    }
    void output(std::vector<std::uint32_t> operands) { add({reduction_op::output, std::move(operands), 0}); }
    /// Whether what the start `v` sends is the result of a cast.
    [[nodiscard]] bool sends_cast(std::uint32_t v) const {
        return nodes[nodes[v].operands[0]].op == reduction_op::cast;
    }
    [[nodiscard]] std::size_t count(reduction_op o) const {
        return static_cast<std::size_t>(
            std::count_if(order.begin(), order.end(), [&](std::uint32_t v) { return nodes[v].op == o; }));
    }
};

struct reduction_view {
    using vertex_type = std::uint32_t;
    using value_type = std::uint32_t;
    const reduction_program* p;

    const std::vector<vertex_type>& vertices() const { return p->order; }
    std::size_t index(vertex_type v) const { return v; }
    std::size_t index_bound() const { return p->nodes.size(); }
    const std::vector<value_type>& operands(vertex_type v) const { return p->nodes[v].operands; }
    std::array<value_type, 1> results(vertex_type v) const { return {v}; }
    vertex_type producer(value_type x) const { return x; }
    std::vector<vertex_type> consumers(value_type x) const { return users(x, false); }
    std::vector<vertex_type> successors(vertex_type v) const { return users(v, true); }
    std::vector<vertex_type> predecessors(vertex_type v) const {
        std::vector<vertex_type> all = p->nodes[v].operands;
        all.insert(all.end(), p->nodes[v].after.begin(), p->nodes[v].after.end());
        return all;
    }

private:
    std::vector<vertex_type> users(std::uint32_t x, bool other) const {
        std::vector<vertex_type> all;
        for (std::uint32_t v : p->order) {
            all.insert(all.end(), static_cast<std::size_t>(std::ranges::count(p->nodes[v].operands, x)), v);
            if (other) all.insert(all.end(), static_cast<std::size_t>(std::ranges::count(p->nodes[v].after, x)), v);
        }
        return all;
    }
};

struct reduction_model {
    const reduction_program* p;

    stretto::op_kind kind(std::uint32_t v) const {
        switch (p->nodes[v].op) {
            case reduction_op::input:
                return stretto::op_kind::input;
            case reduction_op::same:
            case reduction_op::reverse:
            case reduction_op::part:
                return stretto::op_kind::view;
            case reduction_op::start:
                return stretto::op_kind::start;
            case reduction_op::wait:
                return stretto::op_kind::wait;
            case reduction_op::output:
                return stretto::op_kind::output;
            default:
                return stretto::op_kind::compute;
        }
    }
    stretto::collective_kind collective(std::uint32_t v) const { return p->nodes[v].kind; }
    stretto::group_id group(std::uint32_t v) const { return p->nodes[v].group; }
    stretto::bytes payload(std::uint32_t v) const {
        std::int64_t length = 0;
        for (std::uint32_t x : p->nodes[v].operands) length += p->nodes[x].length;
        return {8 * length};
    }
    stretto::collective_call call(std::uint32_t v) const {
        return {.kind = p->nodes[v].kind,
                .reduction = p->nodes[v].how,
                .element = p->nodes[v].element == 0 ? stretto::element_type::i64 : stretto::element_type::f64,
                .logical_id = v + 1};
    }
    stretto::bytes bytes_of(std::uint32_t x) const {
        const reduction_op o = p->nodes[x].op;
        const bool owns = o == reduction_op::mix || o == reduction_op::add || o == reduction_op::start ||
                          o == reduction_op::cast || o == reduction_op::pack || o == reduction_op::unpack;
        return {owns || o == reduction_op::input ? 8 * p->nodes[x].length : 0};
    }
    std::vector<std::uint32_t> aliases(std::uint32_t x) const {
        switch (p->nodes[x].op) {
            case reduction_op::add_to:
            case reduction_op::same:
            case reduction_op::reverse:
            case reduction_op::twice:
            case reduction_op::wait:
            case reduction_op::part:
                return {p->nodes[x].operands[0]};
            default:
                return {};
        }
    }
    std::vector<std::uint32_t> effects(std::uint32_t v) const {
        const reduction_op o = p->nodes[v].op;
        if (o == reduction_op::add_to || o == reduction_op::twice) return {p->nodes[v].operands[0]};
        return {};
    }

    stretto::linear_kind linearity(std::uint32_t v) const {
        switch (p->nodes[v].op) {
            case reduction_op::add:
            case reduction_op::add_to:
                return stretto::linear_kind::sum;
            case reduction_op::same:
                return stretto::linear_kind::same;
            case reduction_op::reverse:
                return stretto::linear_kind::relayout;
            default:
                return stretto::linear_kind::other;
        }
    }
    bool alike(std::uint32_t v, std::uint32_t w) const {
        const reduction_node &a = p->nodes[v], &b = p->nodes[w];
        return a.op == b.op && a.flavour == b.flavour && a.length == b.length &&
               a.operands.size() == b.operands.size() &&
               p->nodes[a.operands[0]].length == p->nodes[b.operands[0]].length;
    }
};

/// The same program where the result of start `by` lives in the memory of value `filled`, which the collective fills.
struct filling_model : reduction_model {
    std::uint32_t filled, by;

    filling_model(const reduction_program& of, std::uint32_t x, std::uint32_t s)
        : reduction_model{&of}, filled(x), by(s) {}
    std::vector<std::uint32_t> aliases(std::uint32_t x) const {
        return x == by ? std::vector{filled} : reduction_model::aliases(x);
    }
    stretto::bytes bytes_of(std::uint32_t x) const {
        return x == by ? stretto::bytes{0} : reduction_model::bytes_of(x);
    }
};

/// The same program whose operations in place name what they write by the value that owns its memory: the operand, or
/// what the operand is a view of.
struct owner_writing_model : reduction_model {
    explicit owner_writing_model(const reduction_program& of) : reduction_model{&of} {}
    std::vector<std::uint32_t> effects(std::uint32_t v) const {
        std::vector<std::uint32_t> written = reduction_model::effects(v);
        for (std::uint32_t& x : written)
            while (!aliases(x).empty()) x = aliases(x)[0];
        return written;
    }
};

/// The same program where wait `again` waits for `start` too, whose result it does not read.
struct waited_again_model : reduction_model {
    std::uint32_t start, again;

    waited_again_model(const reduction_program& of, std::uint32_t s, std::uint32_t w)
        : reduction_model{&of}, start(s), again(w) {}
    std::uint32_t launch_of(std::uint32_t w) const { return w == again ? start : p->nodes[w].operands[0]; }
};

/// Rewrites a copy.
struct reduction_rewriter {
    reduction_program* p;
    std::uint32_t at = 0;
    std::string log = {};

    void insert_before(std::uint32_t v) { at = v; }
    std::array<std::uint32_t, 1> clone(std::uint32_t v, std::span<const std::uint32_t> operands,
                                       const stretto::chunk_part&) {
        reduction_node n = p->nodes[v];
        n.operands.assign(operands.begin(), operands.end());
        log += "clone " + std::to_string(v) + "; ";
        return {insert(std::move(n))};
    }
    std::uint32_t add(std::uint32_t a, std::uint32_t b, stretto::sum_place place) {
        if (place == stretto::sum_place::second) std::swap(a, b);
        const auto how = place == stretto::sum_place::fresh ? reduction_op::add : reduction_op::add_to;
        log += "add " + std::to_string(a) + " " + std::to_string(b) + "; ";
        return insert({how, {a, b}, p->nodes[a].length});
    }
    void replace_uses(std::uint32_t v, std::uint32_t from, std::uint32_t to) {
        log += "replace in " + std::to_string(v) + "; ";
        std::ranges::replace(p->nodes[v].operands, from, to);
    }
    void erase(std::uint32_t v) {
        log += "erase " + std::to_string(v) + "; ";
        p->order.erase(std::ranges::find(p->order, v));
    }

    void move_before(std::uint32_t v, std::uint32_t where) {
        log += "move " + std::to_string(v) + "; ";
        p->order.erase(std::ranges::find(p->order, v));
        p->order.insert(std::ranges::find(p->order, where), v);
    }
    std::uint32_t pack(std::span<const std::uint32_t> starts, std::span<const std::uint32_t> parts) {
        reduction_node n{reduction_op::pack, {parts.begin(), parts.end()}, 0};
        n.members.assign(starts.begin(), starts.end());
        n.kind = p->nodes[starts[0]].kind;
        for (std::size_t k = 0; k < parts.size(); ++k) {
            n.length += p->nodes[parts[k]].length;
            n.converts.push_back(p->nodes[starts[k]].operands[0] != parts[k]);
        }
        log += "pack " + std::to_string(parts.size()) + "; ";
        return insert(std::move(n));
    }
    std::uint32_t launch(std::span<const std::uint32_t> starts, std::span<const std::uint32_t> payload) {
        reduction_node n = p->nodes[starts[0]];
        n.members.assign(starts.begin(), starts.end());
        n.operands.assign(payload.begin(), payload.end());
        n.after.clear();
        n.length = 0;
        for (std::uint32_t s : starts) n.length += p->nodes[s].length;
        log += "launch " + std::to_string(starts.size()) + "; ";
        return insert(std::move(n));
    }
    std::uint32_t wait(std::span<const std::uint32_t>, std::uint32_t launched) {
        log += "wait; ";
        return insert({reduction_op::wait, {launched}, p->nodes[launched].length});
    }
    std::vector<std::uint32_t> unpack(std::span<const std::uint32_t>, std::uint32_t arrived) {
        const reduction_node& s = p->nodes[p->nodes[arrived].operands[0]];
        reduction_node n{reduction_op::unpack, {arrived}, s.length, s.kind};
        n.members = s.members;
        log += "unpack; ";
        const std::uint32_t all = insert(std::move(n));
        return parts_of(all, p->nodes[all].members);
    }
    std::vector<std::uint32_t> parts(std::span<const std::uint32_t>, std::uint32_t arrived) {
        log += "parts; ";
        const std::vector<std::uint32_t> members = p->nodes[p->nodes[arrived].operands[0]].members;
        return parts_of(arrived, members);
    }

private:
    std::vector<std::uint32_t> parts_of(std::uint32_t all, std::vector<std::uint32_t> members) {
        std::vector<std::uint32_t> made;
        for (std::size_t k = 0; k < members.size(); ++k) {
            reduction_node n{reduction_op::part, {all}, p->nodes[members[k]].length};
            n.members = members;
            n.flavour = static_cast<int>(k);
            made.push_back(insert(std::move(n)));
        }
        return made;
    }
    std::uint32_t insert(reduction_node n) {
        const std::uint32_t id = p->add(std::move(n));
        p->order.pop_back();
        p->order.insert(std::ranges::find(p->order, at), id);
        return id;
    }
};

/// What the outputs are, rank by rank, and then what the inputs hold at the end. Two ranks, in every group.
inline std::vector<std::int64_t> run(const reduction_program& p) {
    constexpr std::size_t ranks = 2;
    struct tensor {
        std::shared_ptr<std::vector<std::int64_t>> memory;
        std::vector<std::size_t> place;
        [[nodiscard]] std::int64_t& operator[](std::size_t k) const { return (*memory)[place[k]]; }
    };
    const auto converted = [](std::int64_t x) { return (x * 7 + 3) % 1013; };
    const auto fresh = [](std::int64_t length) {
        tensor t{std::make_shared<std::vector<std::int64_t>>(static_cast<std::size_t>(length), 0),
                 std::vector<std::size_t>(static_cast<std::size_t>(length))};
        std::iota(t.place.begin(), t.place.end(), std::size_t{0});
        return t;
    };
    std::map<std::uint32_t, std::array<tensor, ranks>> values;
    std::vector<std::int64_t> seen;
    for (std::uint32_t v : p.order) {
        const reduction_node& n = p.nodes[v];
        std::array<tensor, ranks> made;
        for (std::size_t r = 0; r < ranks; ++r) {
            const auto operand = [&](std::size_t k) -> const tensor& { return values.at(n.operands[k])[r]; };
            switch (n.op) {
                case reduction_op::input:
                    made[r] = fresh(n.length);
                    for (std::size_t k = 0; k < made[r].place.size(); ++k)
                        made[r][k] = static_cast<std::int64_t>((v + 2) * (k + 3) * (r + 7) % 23);
                    break;
                case reduction_op::mix:
                    made[r] = fresh(n.length);
                    for (std::size_t k = 0; k < made[r].place.size(); ++k) {
                        std::int64_t x = 1 + 3 * operand(0)[k];
                        for (std::size_t i = 1; i < n.operands.size(); ++i)
                            x += 5 * operand(i)[k % operand(i).place.size()];
                        made[r][k] = x % 1009;
                    }
                    break;
                case reduction_op::add:
                case reduction_op::add_to:
                    made[r] = n.op == reduction_op::add ? fresh(n.length) : operand(0);
                    for (std::size_t k = 0; k < made[r].place.size(); ++k) made[r][k] = operand(0)[k] + operand(1)[k];
                    break;
                case reduction_op::twice:
                    made[r] = operand(0);
                    for (std::size_t k = 0; k < made[r].place.size(); ++k) made[r][k] *= 2;
                    break;
                case reduction_op::reverse:
                    made[r] = operand(0);
                    std::reverse(made[r].place.begin(), made[r].place.end());
                    break;
                case reduction_op::same:
                case reduction_op::wait:
                    made[r] = operand(0);
                    break;
                case reduction_op::start: {
                    made[r] = fresh(n.length);
                    std::size_t to = 0;
                    for (std::uint32_t x : n.operands) {  // several only where they are launched at once
                        const std::array<tensor, ranks>& sent = values.at(x);
                        const std::size_t length = sent[0].place.size();
                        if (n.kind == stretto::collective_kind::all_gather) {
                            for (std::size_t from = 0; from < ranks; ++from)
                                for (std::size_t k = 0; k < length; ++k) made[r][to++] = sent[from][k];
                        } else if (n.kind == stretto::collective_kind::all_to_all) {
                            for (std::size_t k = 0; k < length; ++k)
                                made[r][to++] = sent[k < length / 2 ? 0 : 1][k] + 1;
                        } else {
                            const bool shares = n.kind == stretto::collective_kind::reduce_scatter;
                            const std::size_t share = shares ? r * (length / 2) : 0;
                            for (std::size_t k = 0; k < (shares ? length / 2 : length); ++k) {
                                const std::int64_t a = sent[0][share + k], b = sent[1][share + k];
                                made[r][to++] = n.how == stretto::reduction_kind::max ? std::max(a, b) : a + b;
                            }
                        }
                    }
                    break;
                }
                case reduction_op::cast:
                    made[r] = fresh(n.length);
                    for (std::size_t k = 0; k < made[r].place.size(); ++k) made[r][k] = converted(operand(0)[k]);
                    break;
                case reduction_op::pack: {
                    made[r] = fresh(n.length);
                    const std::size_t shares = n.kind == stretto::collective_kind::reduce_scatter ? ranks : 1;
                    std::size_t to = 0;
                    for (std::size_t share = 0; share < shares; ++share)
                        for (std::size_t m = 0; m < n.operands.size(); ++m) {
                            const std::size_t length = operand(m).place.size() / shares;
                            for (std::size_t k = share * length; k < (share + 1) * length; ++k)
                                made[r][to++] = n.converts[m] ? converted(operand(m)[k]) : operand(m)[k];
                        }
                    break;
                }
                case reduction_op::unpack: {
                    made[r] = fresh(n.length);
                    const std::size_t shares = n.kind == stretto::collective_kind::all_gather ? ranks : 1;
                    const std::size_t stride = made[r].place.size() / shares;
                    std::size_t to = 0, first = 0;
                    for (std::uint32_t m : n.members) {
                        const std::size_t length = static_cast<std::size_t>(p.nodes[m].length) / shares;
                        for (std::size_t share = 0; share < shares; ++share)
                            for (std::size_t k = 0; k < length; ++k)
                                made[r][to++] = operand(0)[share * stride + first + k];
                        first += length;
                    }
                    break;
                }
                case reduction_op::part: {
                    std::size_t first = 0;
                    for (int k = 0; k < n.flavour; ++k)
                        first += static_cast<std::size_t>(p.nodes[n.members[static_cast<std::size_t>(k)]].length);
                    made[r].memory = operand(0).memory;
                    for (std::size_t k = 0; k < static_cast<std::size_t>(n.length); ++k)
                        made[r].place.push_back(operand(0).place[first + k]);
                    break;
                }
                case reduction_op::output:
                    for (std::size_t i = 0; i < n.operands.size(); ++i)
                        for (std::size_t k = 0; k < operand(i).place.size(); ++k) seen.push_back(operand(i)[k]);
                    break;
            }
        }
        values[v] = std::move(made);
    }
    for (std::uint32_t v = 0; v < p.nodes.size(); ++v)  // wherever they stand
        if (p.nodes[v].op == reduction_op::input)
            for (const tensor& t : values[v]) seen.insert(seen.end(), t.memory->begin(), t.memory->end());
    return seen;
}

/// A program drawn from bytes: micro-batches whose gradients are reduced, added, looked at and overwritten.
inline reduction_program random_reductions(const std::vector<std::uint8_t>& bytes) {
    reduction_program p;
    std::vector<std::uint32_t> raw = {p.input(), p.input()}, sums, seen;
    std::size_t at = 0;
    const auto next = [&](std::size_t bound) {
        return bound == 0 || at >= bytes.size() ? std::size_t{0} : bytes[at++] % bound;
    };
    const auto recent = [&](const std::vector<std::uint32_t>& pool) {
        return pool[pool.size() - 1 - next(std::min<std::size_t>(pool.size(), 4))];
    };
    while (at < bytes.size()) switch (next(16)) {
            case 0:
            case 1:
                raw.push_back(p.op(reduction_op::mix, {recent(raw), recent(raw)}));
                break;
            case 2:
            case 3:
            case 4:
            case 5:
            case 6: {
                reduction_node like;
                const std::size_t odd = next(32);
                if (odd % 2 == 0) like.kind = stretto::collective_kind::reduce_scatter;
                if (odd == 3) like.how = stretto::reduction_kind::max;
                if (odd == 5) like.group = 1;
                if (odd == 7) like.flavour = 1;
                const bool own = next(4) != 0;
                const std::uint32_t x = own ? p.op(reduction_op::mix, {recent(raw), recent(raw)}) : recent(raw);
                if (own) raw.push_back(x);
                sums.push_back(p.reduced(x, like));
                break;
            }
            case 7:
            case 8:
            case 9:
            case 10:
            case 11: {
                if (sums.size() < 2) break;
                const std::uint32_t a = recent(sums), b = recent(sums);
                if (p.nodes[a].length != p.nodes[b].length || a == b) break;
                const std::uint32_t s = p.op(next(2) ? reduction_op::add : reduction_op::add_to, {a, b});
                if (next(12) != 0) std::erase_if(sums, [&](std::uint32_t x) { return x == a || x == b; });
                sums.push_back(s);
                break;
            }
            case 12: {
                if (sums.empty()) break;
                const std::uint32_t a = recent(sums);
                const std::uint32_t view = p.op(next(3) ? reduction_op::same : reduction_op::reverse, {a});
                if (next(6) != 0) std::erase(sums, a);
                sums.push_back(view);
                break;
            }
            case 13:
                if (sums.empty() || next(3) != 0) break;
                raw.push_back(p.op(reduction_op::mix, {recent(raw), recent(sums)}));
                break;
            case 14:
                raw.push_back(p.op(next(2) ? reduction_op::twice : reduction_op::same, {recent(raw)}));
                break;
            case 15:
                if (!sums.empty() && next(4) == 0) seen.push_back(recent(sums));
                if (next(8) == 0) p.nodes.back().after.push_back(p.order[next(p.order.size() - 1)]);
                break;
        }
    seen.insert(seen.end(), sums.begin(), sums.end());
    seen.push_back(raw.back());
    p.output(seen);
    return p;
}

/// Every node comes behind what it reads or follows, as far as that is still there.
inline bool in_order(const reduction_program& p) {
    std::vector<char> there(p.nodes.size(), false), ever(p.nodes.size(), false);
    for (std::uint32_t v : p.order) ever[v] = true;
    for (std::uint32_t v : p.order) {
        for (std::uint32_t x : p.nodes[v].operands)
            if (!there[x]) return false;
        for (std::uint32_t x : p.nodes[v].after)
            if (ever[x] && !there[x]) return false;
        there[v] = true;
    }
    return true;
}

}  // namespace support

#endif
