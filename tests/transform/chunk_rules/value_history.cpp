#include "stretto/transform/chunk_rules/value_history.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "stretto/transform/chunk_rules/rule_chunk_model.hpp"
#include "support/routed_ir.hpp"

using namespace stretto;
using support::routed_dialect;
using support::routed_op;
using support::routed_program;
using support::routed_value;
using support::routed_view;
using does = routed_op::does;
using history = value_history<routed_view, routed_dialect>;

TEST_CASE("no two values have the same key, however many results an operation has") {
    routed_program p;
    routed_value* all = p.tensor(p.add(does::input, {}), {300});
    routed_op* pieces = p.add(does::pieces, {all});
    for (int k = 0; k < 300; ++k) p.tensor(pieces, {});
    routed_op* more = p.add(does::pieces, {all});
    for (int k = 0; k < 300; ++k) p.tensor(more, {});
    const history h(routed_view{&p}, {});
    std::set<std::int64_t> keys = {h.key(all)};
    for (routed_op* o : {pieces, more})
        for (routed_value& x : o->makes) keys.insert(h.key(&x));
    CHECK(keys.size() == 601);
    CHECK(*keys.begin() >= 0);
}

TEST_CASE("zeros are zeros until somebody writes into them") {
    routed_program p;
    routed_value* x = p.tensor(p.add(does::input, {}), {8});
    routed_value* zeros = p.tensor(p.add(does::blank_like, {x}), {8});
    routed_value* seen = p.tensor(p.add(does::arrived, {zeros}), {8});
    const history h(routed_view{&p}, {});
    CHECK(h.is_zero(zeros));
    CHECK(h.is_zero(seen));
    CHECK_FALSE(h.is_zero(x));
    routed_value* again = p.tensor(p.add(does::arrived, {seen}), {8});
    CHECK(h.is_zero(zeros));
    p.tensor(p.add(does::accumulate, {again, x}), {8});
    CHECK_FALSE(h.is_zero(seen));
    CHECK_FALSE(h.is_zero(zeros));
}

TEST_CASE("zeros are written through whatever shares their storage") {
    for (const does view : {does::pieces, does::slot}) {
        routed_program p;
        routed_value* x = p.tensor(p.add(does::input, {}), {2});
        routed_value* zeros = p.tensor(p.add(does::blank_like, {x}), {2});
        routed_value* one = p.tensor(p.add(view, {zeros}, 1), {});
        const history h(routed_view{&p}, {});
        CHECK(h.is_zero(zeros));
        p.tensor(p.add(does::accumulate, {one, x}), {});
        CHECK_FALSE(h.is_zero(zeros));
    }
}

namespace {

/// A dialect in which zeros are written into what is there.
struct clearing_dialect : routed_dialect {
    chunk_rules::any_rule rule(routed_op* o) const {
        const chunk_rules::any_rule r = routed_dialect::rule(o);
        return o->what == does::blank_like ? r.in_place(0) : r;
    }
};

}  // namespace

TEST_CASE("a buffer that was set to zero may be written under its old name") {
    routed_program p;
    routed_value* x = p.tensor(p.add(does::input, {}), {8});
    routed_value* zeros = p.tensor(p.add(does::blank_like, {x}), {8});
    CHECK_FALSE(value_history<routed_view, clearing_dialect>(routed_view{&p}, {}).is_zero(zeros));
    row_orders orders;
    using cleared = rule_chunk_model<routed_view, clearing_dialect>;
    using filled = rule_chunk_model<routed_view, routed_dialect>;
    CHECK_FALSE(cleared(routed_view{&p}, {}, orders).makes_zeros(zeros->by));
    CHECK(filled(routed_view{&p}, {}, orders).makes_zeros(zeros->by));
}

TEST_CASE("what an operation in place only reads stays as it is") {
    routed_program p;
    routed_value* x = p.tensor(p.add(does::input, {}), {8});
    routed_value* zeros = p.tensor(p.add(does::blank_like, {x}), {8});
    p.tensor(p.add(does::accumulate, {x, zeros}), {8});
    CHECK(history(routed_view{&p}, {}).is_zero(zeros));
}

TEST_CASE("counts are followed back to the tensor that they were read from") {
    routed_program p;
    routed_value* counts = p.tensor(p.add(does::tally, {p.tensor(p.add(does::input, {}), {8})}), {2});
    routed_value* entry = p.tensor(p.add(does::slot, {counts}, 1), {});
    routed_value* number = p.number(p.add(does::amount, {entry}));
    routed_op* pieces = p.add(does::pieces, {counts});
    p.tensor(pieces, {});
    routed_value* second = p.tensor(pieces, {});
    const history h(routed_view{&p}, {});
    std::int64_t place = 0;
    CHECK(h.counted(number, place) == h.key(counts));
    CHECK(place == 1);
    CHECK(h.counted(second, place) == h.key(counts));
    CHECK(place == 1);
    CHECK(h.counted(counts, place) == h.key(counts));
    CHECK(place == -1);
}

TEST_CASE("counts of floats are integers, and so are sums of them") {
    routed_program p;
    routed_value* x = p.tensor(p.add(does::input, {}), {8});
    routed_value* counts = p.tensor(p.add(does::tally, {x}), {2});
    const history h(routed_view{&p}, {});
    CHECK(h.holds_integers(counts));
    CHECK(h.holds_integers(p.tensor(p.add(does::overall, {counts}), {})));
    CHECK_FALSE(h.holds_integers(x));
    CHECK(h.groups(counts, false) == h.key(counts));
    CHECK(h.groups(counts, true) == -1);
}

TEST_CASE("a value and what it is a view of have one reader or more") {
    routed_program p;
    routed_value* x = p.tensor(p.add(does::input, {}), {8});
    routed_value* same = p.tensor(p.add(does::arrived, {x}), {8});
    p.tensor(p.add(does::ramp, {same}), {8});
    const history h(routed_view{&p}, {});
    CHECK(h.has_one_reader(same));
    p.tensor(p.add(does::ramp, {x}), {8});
    CHECK_FALSE(h.has_one_reader(same));
}

TEST_CASE("readers of a buffer read what was written into it in place, and of a value its entries") {
    for (const does shares : {does::accumulate, does::slot, does::pieces}) {
        routed_program p;
        routed_value* x = p.tensor(p.add(does::input, {}), {2});
        std::vector<routed_value*> reads = {x};
        if (shares == does::accumulate) reads.push_back(p.tensor(p.add(does::input, {}), {2}));
        routed_value* same = p.tensor(p.add(shares, reads, 1), {});
        const history h(routed_view{&p}, {});
        CHECK(h.has_one_reader(same));
        p.tensor(p.add(does::ramp, {x}), {2});
        CHECK_FALSE(h.has_one_reader(same));
    }
}
