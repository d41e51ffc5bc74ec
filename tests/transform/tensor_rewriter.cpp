#include "stretto/transform/tensor_rewriter.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "support/prop.hpp"

// The verbs against extents and operands that are worked out by hand, over an IR that writes down what it was asked.

using namespace stretto;

namespace {

using extents = std::vector<std::int64_t>;

struct op;
struct value {
    op* by;
    extents shape;
    int element;
    std::vector<op*> readers = {};
    std::int64_t count() const {
        return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
    }
};
struct op {
    int is_new;  // 0: was there before; else 1 + what was inserted
    const op* like;
    std::vector<value*> reads;
    std::uint32_t chunk = 0;
    std::vector<value*> makes = {};
};
struct program {
    std::deque<op> ops = {};
    std::deque<value> values = {};
    std::vector<op*> order = {};

    value* result(op* o, extents shape, int element) {
        return o->makes.emplace_back(&values.emplace_back(value{o, std::move(shape), element}));
    }
    op* insert(std::size_t at, op o) {
        op* const made = &ops.emplace_back(std::move(o));
        for (value* x : made->reads) x->readers.push_back(made);
        return *order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), made);
    }
};

struct view {
    using vertex_type = op*;
    using value_type = value*;
    program* p;
    std::vector<op*> successors(op* o) const {
        std::vector<op*> all;
        for (const value* x : o->makes) all.insert(all.end(), x->readers.begin(), x->readers.end());
        return all;
    }
    const std::vector<value*>& operands(op* o) const { return o->reads; }
    std::vector<value*> results(op* o) const { return o->makes; }  // a range of its own, as views may give
    op* producer(value* x) const { return x->by; }
    const std::vector<op*>& consumers(value* x) const { return x->readers; }
};

struct rewriter : tensor_rewriter<rewriter, view> {
    program* p;
    std::size_t at = 0;

    explicit rewriter(program* of) : tensor_rewriter(view{of}), p(of) {}

    void insert_before(op* o) {
        at = static_cast<std::size_t>(std::find(p->order.begin(), p->order.end(), o) - p->order.begin());
    }
    op* insert(const insertion<op*, value*>& i) {
        return p->insert(at++, {1 + static_cast<int>(i.what), i.like, {i.operands.begin(), i.operands.end()}, i.chunk});
    }
    value* add_result(op* o, value* like, extents shape) { return p->result(o, std::move(shape), like->element); }
    const extents& shape(value* x) const { return x->shape; }
    void replace_uses(op*, value*, value*) {}
    void erase(op*) {}
    void move_before(op*, op*) {}
};
static_assert(chunking_rewriter<rewriter, view>);
static_assert(bucketing_rewriter<rewriter, view>);

/// Some operations with a result or two, of up to three dimensions that are multiples of `unit`.
struct drawn_program {
    program p;
    op* last;

    explicit drawn_program(std::int64_t unit, std::size_t rank) {
        for (int k = 0; k < 4; ++k) {
            op* const o = p.insert(p.order.size(), {0, nullptr, {}});
            if (!p.values.empty()) o->reads.push_back(&p.values[*rc::gen::inRange<std::size_t>(0, p.values.size())]);
            for (value* x : o->reads) x->readers.push_back(o);
            for (int n = *rc::gen::inRange(1, 3); n > 0; --n) {
                extents shape;
                for (std::size_t d = 0; d < rank; ++d) shape.push_back(unit * *rc::gen::inRange<std::int64_t>(1, 4));
                p.result(o, shape, *rc::gen::inRange(0, 9));
            }
        }
        last = p.order.back();
    }
    /// The operation that was inserted directly in front of the last one of the program.
    const op* made() const { return p.order[p.order.size() - 2]; }
    bool is_made(inserted what, const op* like, const std::vector<value*>& reads) const {
        const op* const o = made();
        return o->is_new == 1 + static_cast<int>(what) && o->like == like && o->reads == reads &&
               p.order.back() == last;
    }
};

std::vector<std::int64_t> drawn_sizes() {
    return *rc::gen::nonEmpty(rc::gen::container<extents>(rc::gen::inRange<std::int64_t>(1, 5)));
}

}  // namespace

TEST_CASE("a clone has the share of the chunk along what is cut, and is otherwise like its original") {
    stretto_check("clones", 300, [] {
        const extents sizes = drawn_sizes();
        const std::int64_t tokens = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
        drawn_program d(tokens, 2);
        rewriter w(&d.p);
        op* const o = d.p.order[*rc::gen::inRange<std::size_t>(0, 3)];
        w.insert_before(d.last);
        std::int64_t first = 0;
        std::vector<std::int64_t> sums(o->makes.size(), 0);
        std::vector<chunk_state> states;
        for (std::size_t k = 0; k < o->makes.size(); ++k) {
            const auto dim = static_cast<std::int8_t>(*rc::gen::inRange(-1, 2));
            states.push_back({dim < 0 ? chunk_state::kind::whole : chunk_state::kind::sliced, dim});
        }
        for (std::uint32_t c = 0; c < sizes.size(); ++c) {
            const chunk_part part{.chunk = c,
                                  .chunks = static_cast<std::uint32_t>(sizes.size()),
                                  .tokens = tokens,
                                  .rows = {first, sizes[c]},
                                  .operands = {},
                                  .results = states};
            const auto made = w.clone(o, o->reads, part);
            first += sizes[c];
            RC_ASSERT(d.is_made(inserted::clone, o, o->reads));
            RC_ASSERT(d.made()->chunk == c);
            RC_ASSERT(made == d.made()->makes);
            RC_ASSERT(made.size() == o->makes.size());
            for (std::size_t k = 0; k < made.size(); ++k) {
                RC_ASSERT(made[k]->element == o->makes[k]->element);
                for (std::size_t dim = 0; dim < 2; ++dim) {
                    const std::int64_t whole = o->makes[k]->shape[dim];
                    const bool is_cut = states[k].dim == static_cast<int>(dim);
                    RC_ASSERT(made[k]->shape[dim] == (is_cut ? whole / tokens * sizes[c] : whole));
                }
            }
        }
    });
}

TEST_CASE("parts have their shares, and joined again they have the extents of the whole") {
    stretto_check("parts", 300, [] {
        const extents sizes = drawn_sizes();
        const std::int64_t tokens = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
        drawn_program d(tokens, 3);
        rewriter w(&d.p);
        w.insert_before(d.last);
        value* const x = &d.p.values[0];
        const auto dim = *rc::gen::inRange<std::size_t>(0, 3);
        const std::vector<value*> parts = w.split(x, dim, sizes);
        RC_ASSERT(d.is_made(inserted::split, x->by, {x}));
        RC_ASSERT(parts == d.made()->makes);
        RC_ASSERT(parts.size() == sizes.size());
        for (std::size_t k = 0; k < parts.size(); ++k) {
            extents expected = x->shape;
            expected[dim] = x->shape[dim] / tokens * sizes[k];
            RC_ASSERT(parts[k]->shape == expected);
            RC_ASSERT(parts[k]->element == x->element);
        }
        const value* const whole = w.concat(parts, dim);
        RC_ASSERT(d.is_made(inserted::concat, parts[0]->by, parts));
        RC_ASSERT(whole->shape == x->shape);
        RC_ASSERT(whole->element == x->element);
        const std::vector<value*> addends(sizes.size(), x);
        const value* const sum = w.sum(addends);
        RC_ASSERT(d.is_made(inserted::sum, x->by, addends));
        RC_ASSERT(sum->shape == x->shape);
        RC_ASSERT(sum->element == x->element);
    });
}

TEST_CASE("a bucket has as many elements as its members send, and as many as they receive") {
    stretto_check("buckets", 300, [] {
        drawn_program d(1, 2);
        program& p = d.p;
        // Collectives that receive other amounts than they send, as gathers do.
        std::vector<op*> members, waits;
        std::vector<value*> parts;
        std::int64_t sent = 0, received = 0;
        for (int n = *rc::gen::inRange(1, 5); n > 0; --n) {
            value* const x = &p.values[*rc::gen::inRange<std::size_t>(0, p.values.size())];
            op* const start = p.insert(p.order.size() - 1, {0, nullptr, {x}});
            value* const y = p.result(start, {*rc::gen::inRange<std::int64_t>(1, 9), 2}, 10);
            op* const wait = p.insert(p.order.size() - 1, {0, nullptr, {y}});
            p.result(wait, y->shape, 11);
            members.push_back(start);
            waits.push_back(wait);
            parts.push_back(x);
            sent += x->count();
            received += y->count();
        }
        rewriter w(&p);
        w.insert_before(d.last);
        value* const packed = w.pack(members, parts);
        RC_ASSERT(d.is_made(inserted::pack, members[0], parts));
        RC_ASSERT(packed->shape == extents{sent});
        RC_ASSERT(packed->element == parts[0]->element);
        value* const launched = w.launch(members, std::vector{packed});
        RC_ASSERT(d.is_made(inserted::start, members[0], {packed}));
        RC_ASSERT(launched->shape == extents{received});
        RC_ASSERT(launched->element == 10);
        value* const arrived = w.wait(waits, launched);
        RC_ASSERT(d.is_made(inserted::wait, waits[0], {launched}));
        RC_ASSERT(arrived->shape == launched->shape);
        RC_ASSERT(arrived->element == 10);
        for (const bool copies : {true, false}) {
            const auto apart = copies ? w.unpack(waits, arrived) : w.parts(waits, arrived);
            RC_ASSERT(d.is_made(copies ? inserted::unpack : inserted::parts, waits[0], {arrived}));
            RC_ASSERT(apart == d.made()->makes);
            RC_ASSERT(apart.size() == waits.size());
            for (std::size_t k = 0; k < apart.size(); ++k) {
                RC_ASSERT(apart[k]->shape == waits[k]->makes[0]->shape);
                RC_ASSERT(apart[k]->element == 11);
            }
        }
        // Without a copy, what all members send is launched at once.
        RC_ASSERT(w.launch(members, parts)->shape == extents{received});
        RC_ASSERT(d.is_made(inserted::start, members[0], parts));
    });
}
