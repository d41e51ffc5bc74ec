#include "stretto/transform/chunk_causes.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <span>
#include <vector>

#include "stretto/core/op_model.hpp"
#include "stretto/transform/plan_chunks.hpp"
#include "support/row_ir.hpp"

using namespace stretto;
using support::row_op;
using support::row_program;
using does = row_op::does;

namespace {

struct exchanging_model : support::row_model {
    collective_kind collective(row_op*) const { return collective_kind::all_to_all; }
};

/// Rows travel by counts: those of the chunk, which are a sum over chunks, and not those of all.
struct counting_chunk_model : support::row_chunk_model {
    bool ever = true;  ///< whether there are counts by which rows travel

    chunk_verdict combine_rule(row_op* v, std::int64_t tokens, std::span<const chunk_state> in,
                               std::span<chunk_state> out) const {
        if (v->what != does::send || v->reads.size() != 2) return row_chunk_model::combine_rule(v, tokens, in, out);
        if (!ever || in[1].what != chunk_state::kind::addend) return {false, "travels by counts of other rows"};
        out[0] = in[0];
        return {};
    }
};

struct planned {
    chunk_plan<row_op*, row_op*> plan;
    std::vector<chunk_cause<row_op*>> causes;
};

/// All but `kept` in chunks of the rows of `x`.
template <class Chunks = support::row_chunk_model>
planned causes_of(row_program& p, row_op* x, std::vector<row_op*> kept = {}, Chunks chunks = {}) {
    std::vector<chunk_region<row_op*>> regions = {{{}, {2, 2}, std::move(kept)}};
    for (row_op& o : p.ops)
        if (o.what != does::input && o.what != does::output) regions[0].candidates.push_back(&o);
    const std::vector<token_dimension<row_op*>> tokens = {{x, 0}};
    const support::row_view view{&p};
    auto made = plan_chunks(view, exchanging_model{}, chunks, std::span<const chunk_region<row_op*>>(regions),
                            std::span<const token_dimension<row_op*>>(tokens), {.skip_refused = true});
    REQUIRE(made);
    auto causes = chunk_causes(*made, view, exchanging_model{}, std::span<const chunk_region<row_op*>>(regions));
    return {*std::move(made), std::move(causes)};
}

}  // namespace

TEST_CASE("of a chain that stays whole the first operation is named, and the others are counted behind it") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* b = p.append(does::order, {x}, 4);
    row_op* r = p.append(does::running, {x}, 4);  // mixes rows
    row_op* c = p.append(does::add, {b, r}, 4);   // r is whole beside rows in an order of their own
    row_op* d = p.append(does::scale, {c}, 4);
    row_op* s = p.append(does::send, {d}, 4);
    row_op* w = p.append(does::wait, {s}, 4);
    p.append(does::output, {w, p.append(does::scale, {x}, 4)}, 1);
    const planned made = causes_of(p, x);
    REQUIRE(made.plan.refused.size() == 3);  // b is read by c, which is whole, and nothing puts it together
    for (const auto& refused : made.plan.refused) CHECK(refused.cause == r);
    REQUIRE(made.causes.size() == 1);
    CHECK(made.causes[0].vertex == r);
    CHECK(made.causes[0].why.why == chunk_reason::refused);
    CHECK(made.causes[0].refused == 2);
    CHECK(made.causes[0].unreached == 3);
    CHECK(made.causes[0].exchanges == std::vector<row_op*>{s});
}

TEST_CASE("what is cut again behind a cause begins anew") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* first = p.append(does::running, {x}, 4);
    row_op* sum = p.append(does::add, {x, first}, 4);  // wants it cut
    row_op* second = p.append(does::running, {sum}, 4);
    p.append(does::output, {second}, 1);
    const planned made = causes_of(p, x);
    REQUIRE(made.causes.size() == 2);
    CHECK(made.causes[0].vertex == first);
    CHECK(made.causes[1].vertex == second);
    CHECK(made.causes[0].refused + made.causes[1].refused == 0);
}

TEST_CASE("rows that are cut out of what a cause has left whole are in no order of the chunk") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* mixed = p.append(does::running, {x}, 4);
    row_op* natural = p.append(does::add, {x, mixed}, 4);  // wants it cut
    row_op* sorted = p.append(does::order, {x}, 4);
    row_op* both = p.append(does::add, {sorted, natural}, 4);
    p.append(does::output, {p.append(does::total, {both}, 1), natural}, 1);
    const planned made = causes_of(p, x);
    REQUIRE(made.causes.size() == 1);
    CHECK(made.causes[0].vertex == mixed);
    CHECK(made.causes[0].refused == 2);  // both, and what it reads
}

TEST_CASE("what reads sums only runs once in any case, and causes nothing") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* total = p.append(does::total, {x}, 1);
    row_op* mixed = p.append(does::running, {total}, 1);
    row_op* sent = p.append(does::send, {mixed}, 1);
    p.append(does::output, {p.append(does::wait, {sent}, 1)}, 1);
    const planned made = causes_of(p, x);
    CHECK(made.causes.empty());
}

TEST_CASE("what runs once, on sums, is the cause of what cannot run for want of the sums of a chunk") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* counts = p.append(does::total, {x}, 1);
    row_op* mixed = p.append(does::running, {counts}, 1);  // refused, and reads nothing but a sum
    row_op* again = p.append(does::scale, {mixed}, 1);
    row_op* rows = p.append(does::order, {x}, 4);
    row_op* sent = p.append(does::send, {rows, again}, 4);
    row_op* came = p.append(does::wait, {sent}, 4);
    p.append(does::output, {p.append(does::total, {came}, 1), counts}, 1);
    counting_chunk_model chunks;
    SUBCASE("they would help") {
        const planned made = causes_of(p, x, {}, chunks);
        REQUIRE(made.causes.size() == 1);
        CHECK(made.causes[0].vertex == mixed);
        CHECK(made.causes[0].why.why == chunk_reason::only_sums);
        CHECK(made.causes[0].why.detail == "a row depends on all before it");
        CHECK(made.causes[0].exchanges == std::vector<row_op*>{sent});
        CHECK(made.causes[0].refused == 2);  // what is sent, and its rows, which are in no order of the tokens
    }
    SUBCASE("they would not") {
        chunks.ever = false;
        const planned made = causes_of(p, x, {}, chunks);
        REQUIRE(made.causes.size() == 1);
        CHECK(made.causes[0].vertex == sent);
        CHECK(made.causes[0].exchanges == std::vector<row_op*>{sent});
    }
}

TEST_CASE("an exchange of whole rows by counts of a chunk is behind what has left its rows whole") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* counts = p.append(does::total, {x}, 1);
    row_op* mixed = p.append(does::running, {x}, 4);
    row_op* sent = p.append(does::send, {mixed, counts}, 4);  // reads no rows of a chunk, but counts
    row_op* came = p.append(does::wait, {sent}, 4);
    p.append(does::output, {came, counts}, 1);
    counting_chunk_model chunks;
    chunks.ever = false;
    const planned made = causes_of(p, x, {}, chunks);
    REQUIRE(made.causes.size() == 1);
    CHECK(made.causes[0].vertex == mixed);
    CHECK(made.causes[0].exchanges == std::vector<row_op*>{sent});
    CHECK(made.causes[0].unreached == 2);
}

TEST_CASE("each operation that makes counts whole is the cause of what its counts keep whole") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    std::vector<row_op*> blamed, sends;
    row_op* rows = x;
    for (int layer = 0; layer < 2; ++layer) {
        row_op* mixed = p.append(does::running, {p.append(does::total, {rows}, 1)}, 1);
        row_op* sent = p.append(does::send, {p.append(does::order, {rows}, 4), mixed}, 4);
        rows = p.append(does::add, {x, p.append(does::wait, {sent}, 4)}, 4);  // cut again
        blamed.push_back(mixed);
        sends.push_back(sent);
    }
    p.append(does::output, {rows}, 1);
    const planned made = causes_of(p, x, {}, counting_chunk_model{});
    REQUIRE(made.causes.size() == 2);
    for (std::size_t k = 0; k < 2; ++k) {
        CHECK(made.causes[k].vertex == blamed[k]);
        CHECK(made.causes[k].exchanges == std::vector<row_op*>{sends[k]});
    }
}

TEST_CASE("what the caller keeps is no cause; what leaves for it is one") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* sorted = p.append(does::order, {x}, 4);
    row_op* kept = p.append(does::scale, {sorted}, 4);
    p.append(does::output, {kept, p.append(does::scale, {x}, 4)}, 1);
    const planned made = causes_of(p, x, {kept});
    REQUIRE(made.causes.size() == 1);
    CHECK(made.causes[0].vertex == sorted);
    CHECK(made.causes[0].why.why == chunk_reason::unknown_live_out);
    CHECK(made.causes[0].why.other == kept);
}
