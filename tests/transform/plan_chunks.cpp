#include "stretto/transform/plan_chunks.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/verify_chunks.hpp"
#include "stretto/transform/verify_rules.hpp"
#include "stretto/views/with_dependences.hpp"
#include "support/prop.hpp"
#include "support/row_ir.hpp"

using namespace stretto;
using support::row_op;
using support::row_program;
using does = row_op::does;
using reason = chunk_error<row_op*>::reason;
using regions = std::vector<chunk_region<row_op*>>;
using tokens = std::vector<token_dimension<row_op*>>;

static_assert(dependence_graph<support::row_view> && dataflow_graph<support::row_view>);
static_assert(chunk_model<support::row_chunk_model, support::row_view>);
static_assert(chunking_rewriter<support::row_rewriter, support::row_view>);
static_assert(slice_writing_rewriter<support::row_rewriter, support::row_view>);

namespace {

auto plan(row_program& p, const regions& r, const tokens& t, chunk_options options = {}) {
    return plan_chunks(support::row_view{&p}, support::row_model{}, support::row_chunk_model{},
                       std::span<const chunk_region<row_op*>>(r), std::span<const token_dimension<row_op*>>(t),
                       options);
}

std::size_t apply(const chunk_plan<row_op*, row_op*>& made, row_program& p) {
    support::row_rewriter rewriter{&p, p.ops.end()};
    apply_chunks(made, support::row_view{&p}, rewriter);
    p.renumber();
    return rewriter.calls;
}

std::vector<row_op*> refused(const chunk_plan<row_op*, row_op*>& made) {
    std::vector<row_op*> whole;
    for (const auto& r : made.refused) whole.push_back(r.vertex);
    return whole;
}

std::vector<row_op*> all_but_ends(row_program& p) {
    std::vector<row_op*> all;
    for (row_op& o : p.ops)
        if (o.what != does::input && o.what != does::output) all.push_back(&o);
    return all;
}

/// As the model of rows, but a refusal is spelled in a buffer that is not the model's, and the next one is spelled over
/// it.
struct spelling_chunk_model : support::row_chunk_model {
    std::string* said;

    explicit spelling_chunk_model(std::string& buffer) : said(&buffer) {}

    chunk_verdict combine_rule(row_op* v, std::int64_t rows, std::span<const chunk_state> in,
                               std::span<chunk_state> out) const {
        chunk_verdict verdict = support::row_chunk_model::combine_rule(v, rows, in, out);
        said->assign("operation ").append(std::to_string(v->number)).append(": ").append(verdict.reason);
        verdict.reason = *said;
        return verdict;
    }
};

}  // namespace

TEST_CASE("a reason owns its text") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* r = p.append(does::running, {x}, 4);
    row_op* y = p.append(does::scale, {x}, 4);
    row_op* s = p.append(does::running, {y}, 4);
    p.append(does::output, {r, s}, 1);
    const regions all = {{{r, y, s}, {2, 2}}};
    const tokens rows = {{x, 0}};
    const auto planned = [&](chunk_options options) {
        std::string said;
        const spelling_chunk_model model(said);
        auto made =
            plan_chunks(support::row_view{&p}, support::row_model{}, model, std::span<const chunk_region<row_op*>>(all),
                        std::span<const token_dimension<row_op*>>(rows), options);
        said.assign(said.size(), '?');
        return made;
    };
    const auto made = planned({.skip_refused = true});
    REQUIRE(made);
    REQUIRE(refused(*made) == std::vector<row_op*>{r, s});
    CHECK(made->refused[0].why.detail == "operation 1: a row depends on all before it");
    CHECK(made->refused[1].why.detail == "operation 3: a row depends on all before it");

    const auto none = planned({});
    REQUIRE(!none);
    CHECK(none.error().detail == "operation 1: a row depends on all before it");

    std::string said;
    y->what = does::running;  // a plan of another program
    const auto verified = verify_chunks(*made, support::row_view{&p}, support::row_model{}, spelling_chunk_model(said));
    REQUIRE(!verified);
    said.assign(said.size(), '?');
    const auto& broken = verified.error();
    const auto by_model = std::find_if(broken.begin(), broken.end(), [](const chunk_violation<row_op*>& v) {
        return v.broken == chunk_rule::refused_by_model;
    });
    REQUIRE(by_model != broken.end());
    CHECK(by_model->detail == "operation 2: a row depends on all before it");
}

/// As the model of rows, but the results of some operations are said to be in a state that they cannot be in.
struct mistaken_chunk_model : support::row_chunk_model {
    chunk_state state;

    explicit mistaken_chunk_model(chunk_state s) : state(s) {}

    chunk_verdict combine_rule(row_op* v, std::int64_t rows, std::span<const chunk_state> in,
                               std::span<chunk_state> out) const {
        const chunk_verdict verdict = support::row_chunk_model::combine_rule(v, rows, in, out);
        if (v->what == does::scale) out[0] = state;
        return verdict;
    }
};

TEST_CASE("results in states that do not fit their shapes are refused") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* y = p.append(does::scale, {x}, 3);  // a scaled x has four rows, whatever the program says
    p.append(does::output, {y}, 1);
    const regions all = {{{y}, {2, 2}}};
    const tokens rows = {{x, 0}};
    using kind = chunk_state::kind;
    for (const chunk_state& wrong :
         {chunk_state{kind::sliced, 0}, chunk_state{kind::sliced, 1}, chunk_state{kind::sliced, -3},
          chunk_state{kind::permuted, 1}, chunk_state{kind::opaque, 7}, chunk_state{kind::sliced, -1}}) {
        const auto made = plan_chunks(support::row_view{&p}, support::row_model{}, mistaken_chunk_model(wrong),
                                      std::span<const chunk_region<row_op*>>(all),
                                      std::span<const token_dimension<row_op*>>(rows), {.skip_refused = true});
        REQUIRE(made);
        CHECK(made->empty());
        CHECK(refused(*made) == std::vector<row_op*>{y});
        CHECK(made->refused[0].why.detail.starts_with("its result would be cut"));
    }
}

TEST_CASE("a block of two operations in two chunks") {
    row_program p;
    row_op* x = p.append(does::input, {}, 6);
    row_op* w = p.append(does::input, {}, 1);
    row_op* y = p.append(does::add, {x, w}, 6);
    row_op* z = p.append(does::scale, {y}, 6);
    p.append(does::output, {z}, 1);
    const auto before = support::run(p, 1);

    const auto made = plan(p, {{{y, z}, {4, 2}}}, {{x, 0}});
    REQUIRE(made);
    CHECK(made->counts() == chunk_counts{2, 4, 1, 1, 0});
    CHECK(made->regions[0].tokens == 6);
    CHECK(made->joins[0].value == z);
    CHECK(made->joins[0].how == recombination::concat);
    CHECK(made->result_states(made->operations[0])[0].what == chunk_state::kind::sliced);

    CHECK(apply(*made, p) == 4 + 2 + 1 + 1 + 2);  // clones, parts, concat, one use, two erased
    CHECK(support::run(p, 1) == before);
    CHECK(p.ops.size() == 3 + 2 + 4 + 1);
}

TEST_CASE("a model that does not say what a result is, is in error, whatever may be skipped") {
    struct forgetful : support::row_chunk_model {
        does what;
        explicit forgetful(does forgotten) : what(forgotten) {}
        chunk_verdict combine_rule(row_op* v, std::int64_t rows, std::span<const chunk_state> in,
                                   std::span<chunk_state> out) const {
            for (const chunk_state& s : out) CHECK(s.what == chunk_state::kind::unset);
            if (v->what == what) return {true, {}, true};
            return support::row_chunk_model::combine_rule(v, rows, in, out);
        }
    };
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* counts = p.append(does::input, {}, 1);
    row_op* y = p.append(does::scale, {x}, 4);
    row_op* t = p.append(does::total, {y}, 1);
    row_op* c = p.append(does::increment, {counts, t}, 1);
    p.append(does::output, {y, c}, 1);
    const regions all{{{y, t, c}, {2, 2}}};
    const tokens cut{{x, 0}};
    for (bool skip : {false, true})
        for (row_op* v : {y, c}) {  // one that runs per chunk, one that could be a chain
            chunk_options options;
            options.skip_refused = skip;
            const auto made = plan_chunks(support::row_view{&p}, support::row_model{}, forgetful(v->what),
                                          std::span<const chunk_region<row_op*>>(all),
                                          std::span<const token_dimension<row_op*>>(cut), options);
            REQUIRE(!made);
            CHECK(made.error().why == reason::result_unset);
            CHECK(made.error().vertex == v);
            CHECK(made.error().region == 0);
            CHECK(made.error().component == 0);
        }
}

TEST_CASE("a model that leaves a result of a chain unset only when it is asked again is in error too") {
    struct forgetful : support::row_chunk_model {
        int* asked;
        explicit forgetful(int& times) : asked(&times) {}
        chunk_verdict combine_rule(row_op* v, std::int64_t rows, std::span<const chunk_state> in,
                                   std::span<chunk_state> out) const {
            if (v->what == does::increment && (*asked)++ > 0) return {true, {}, true};
            return support::row_chunk_model::combine_rule(v, rows, in, out);
        }
    };
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* counts = p.append(does::input, {}, 1);
    row_op* t = p.append(does::total, {x}, 1);
    row_op* up = p.append(does::increment, {counts, t}, 1);
    p.append(does::output, {up}, 1);
    const regions all{{{t, up}, {2, 2}}};
    const tokens cut{{x, 0}};
    int asked = 0;
    const auto made = plan_chunks(support::row_view{&p}, support::row_model{}, forgetful(asked),
                                  std::span<const chunk_region<row_op*>>(all),
                                  std::span<const token_dimension<row_op*>>(cut), {.skip_refused = true});
    REQUIRE(!made);
    CHECK(asked == 2);
    CHECK(made.error().why == reason::result_unset);
    CHECK(made.error().vertex == up);
}

TEST_CASE("a region that no token reaches is an error, or listed beside one that is reached") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* u = p.append(does::input, {}, 4);
    row_op* y = p.append(does::scale, {x}, 4);
    row_op* z = p.append(does::scale, {u}, 4);
    p.append(does::output, {y, z}, 1);
    chunk_options skip;
    skip.skip_refused = true;
    for (const chunk_options& options : {chunk_options{}, skip}) {
        const auto none = plan(p, {{{z}, {2, 2}}}, {{x, 0}}, options);
        REQUIRE(!none);
        CHECK(none.error().why == reason::nothing_reached);
        CHECK(none.error().region == 0);
    }
    CHECK(plan(p, {{{y}, {2, 2}}, {{z}, {2, 2}}}, {{x, 0}}).error().region == 1);
    const auto one = plan(p, {{{y}, {2, 2}}, {{z}, {2, 2}}}, {{x, 0}}, skip);
    REQUIRE(one);
    CHECK(one->unreached == std::vector<std::uint32_t>{1});
    CHECK(one->operations.size() == 1);
    // What is kept on purpose, what is refused and what is one chunk are no mistakes.
    CHECK(plan(p, {{{y}, {2, 2}, {y}}}, {{x, 0}}, skip)->empty());
    CHECK(plan(p, {{{z}, {4}}}, {{x, 0}}, skip)->empty());
    row_op* r = p.append(does::running, {x}, 4);
    p.append(does::output, {r}, 1);
    CHECK(plan(p, {{{r}, {2, 2}}}, {{x, 0}}, skip)->refused.size() == 1);
}

TEST_CASE("partial sums are added once, before what only carries them on") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* t = p.append(does::total, {x}, 1);
    row_op* s = p.append(does::scale, {t}, 1);
    row_op* c = p.append(does::send, {s}, 1);
    row_op* w = p.append(does::wait, {c}, 1);
    p.append(does::output, {w}, 1);
    const auto before = support::run(p, 3);
    const auto made = plan(p, {{{t, s, c, w}, {1, 1, 2}}}, {{x, 0}});
    REQUIRE(made);
    REQUIRE(made->operations.size() == 1);
    CHECK(made->operations[0].vertex == t);
    CHECK(made->joins[0].how == recombination::sum);
    apply(*made, p);
    CHECK(support::run(p, 3) == before);
}

TEST_CASE("what no token reaches is shared; what reads all rows is cut where it enters") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* u = p.append(does::input, {}, 4);
    row_op* w = p.append(does::input, {}, 1);
    row_op* v = p.append(does::scale, {w}, 1);
    row_op* y = p.append(does::add, {x, v}, 4);
    row_op* z = p.append(does::add, {y, u}, 4);
    p.append(does::output, {z}, 1);
    const auto before = support::run(p, 5);
    const auto made = plan(p, {{{v, y, z}, {2, 2}}}, {{x, 0}});
    REQUIRE(made);
    CHECK(made->operations.size() == 2);
    CHECK(made->splits.size() == 2);  // x, and u because the rule asks for it
    apply(*made, p);
    CHECK(support::run(p, 5) == before);
}

TEST_CASE("what the model asks to be cut is cut only if the rows of every region that reads it divide it") {
    row_program p;
    row_op* x = p.append(does::input, {}, 12);
    row_op* u = p.append(does::input, {}, 6);
    row_op* a = p.append(does::add, {x, u}, 12);  // each row of u for two of x
    row_op* b = p.append(does::add, {x, u}, 12);
    row_op* y = p.append(does::scale, {x}, 12);
    p.append(does::output, {a, b, y}, 1);
    const auto planned = [&](const regions& of) {
        const auto made = plan(p, of, {{x, 0}}, {.skip_refused = true});
        REQUIRE(made);
        CHECK(verify_chunks(*made, support::row_view{&p}, support::row_model{}, support::row_chunk_model{}));
        return *made;
    };
    const auto both = planned({{{a}, {1, 1}}, {{b, y}, {2, 2}}});
    CHECK(refused(both) == std::vector<row_op*>{a, b});
    for (const auto& s : both.splits) CHECK(s.value == x);
    const auto one = planned({{{a}, {1, 1}}, {{y}, {2, 2}}});
    CHECK(one.operations.size() == 2);
    CHECK(one.splits.size() == 3);  // x for both regions, and u
    const auto kept = planned({{{a}, {1, 1}}, {{b, y}, {2, 2}, {b}}});
    CHECK(kept.operations.size() == 2);
}

TEST_CASE("what all chunks share is added to by every chunk, one behind the other") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* counts = p.append(does::input, {}, 1);
    row_op* t = p.append(does::total, {x}, 1);
    row_op* up = p.append(does::increment, {counts, t}, 1);
    row_op* y = p.append(does::add, {x, up}, 4);
    row_op* out = p.append(does::output, {y, up}, 1);
    const regions all = {{{t, up, y}, {1, 2, 1}}};
    SUBCASE("if nobody else reads the sum") {
        const auto before = support::run(p, 8);
        const auto made = plan(p, all, {{x, 0}});
        REQUIRE(made);
        REQUIRE(made->operations.size() == 3);
        CHECK(made->operations[1].chained == 0);
        CHECK(made->counts() == chunk_counts{3, 9, 1, 1, 0});
        apply(*made, p);
        CHECK(support::run(p, 8) == before);
        std::vector<row_op*> chain;
        for (row_op& o : p.ops)
            if (o.what == does::increment) chain.push_back(&o);
        REQUIRE(chain.size() == 3);
        CHECK(chain[0]->reads[0] == counts);
        CHECK(chain[1]->reads[0] == chain[0]);
        CHECK(chain[2]->reads[0] == chain[1]);
        CHECK(out->reads[1] == chain[2]);
        for (row_op& o : p.ops)
            if (o.what == does::add) CHECK(o.reads[1] == chain[2]);
    }
    SUBCASE("else it is written once, with the sum") {
        out->reads.push_back(t);
        p.renumber();
        const auto before = support::run(p, 8);
        const auto made = plan(p, all, {{x, 0}});
        REQUIRE(made);
        CHECK(made->counts() == chunk_counts{2, 6, 1, 1, 1});
        apply(*made, p);
        CHECK(support::run(p, 8) == before);
    }
    SUBCASE("even if it is written outside before and after") {
        row_op* more = p.append(does::increment, {up, counts}, 1);
        p.append(does::output, {more}, 1);
        const auto before = support::run(p, 8);
        const auto made = plan(p, all, {{x, 0}});
        REQUIRE(made);
        CHECK(made->operations.size() == 3);
        apply(*made, p);
        CHECK(support::run(p, 8) == before);
    }
}

TEST_CASE("parts are converted before they are summed") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* t = p.append(does::total, {x}, 1);
    row_op* s = p.append(does::scale, {t}, 1);
    row_op* w = p.append(does::widen, {s}, 1);
    row_op* c = p.append(does::send, {w}, 1);
    row_op* d = p.append(does::wait, {c}, 1);
    p.append(does::output, {d}, 1);
    const auto before = support::run(p, 3);
    const auto made = plan(p, {{{t, s, w, c, d}, {3, 1}}}, {{x, 0}});
    REQUIRE(made);
    REQUIRE(made->joins.size() == 1);
    CHECK(made->joins[0].value == w);
    CHECK(made->joins[0].how == recombination::sum);
    CHECK(made->joins[0].readers == std::vector<row_op*>{c});
    const auto sums = plan(p, {{{t, s, w, c, d}, {3, 1}}}, {{x, 0}}, {.convert_sums = true});
    REQUIRE(sums);
    CHECK(sums->joins[0].value == t);
    CHECK(sums->operations.size() == 1);
    apply(*made, p);
    CHECK(support::run(p, 3) == before);
}

TEST_CASE("a sum converts all parts but the first, where it would do so by itself") {
    row_program p;
    row_op* x = p.append(does::input, {}, 6);
    row_op* t = p.append(does::total, {x}, 1);
    row_op* w = p.append(does::widen, {t}, 1);
    const auto planned = [&](std::vector<row_op*> chunked) {
        const auto made = plan(p, {{std::move(chunked), {3, 2, 1}}}, {{x, 0}}, {.skip_refused = true});
        REQUIRE(made);
        const auto verified =
            verify_chunks(*made, support::row_view{&p}, support::row_model{}, support::row_chunk_model{});
        REQUIRE(verified);
        CHECK(verified->counts == made->counts());
        return *made;
    };
    SUBCASE("only the first chunk runs the conversion") {
        p.append(does::output, {w}, 1);
        const auto before = support::run(p, 3);
        const auto made = planned({t, w});
        REQUIRE(made.operations.size() == 2);
        CHECK_FALSE(made.operations[0].sum_widens);
        CHECK(made.operations[1].sum_widens);
        CHECK(made.counts().clones == 3 + 1);
        apply(made, p);
        CHECK(support::run(p, 3) == before);
        CHECK(std::ranges::count(p.ops, does::widen, &row_op::what) == 1);
        std::vector<does> summands;
        for (const row_op& o : p.ops)
            if (o.what == does::add) summands.push_back(o.reads[0]->what), summands.push_back(o.reads[1]->what);
        CHECK(summands == std::vector{does::widen, does::total, does::add, does::total});
    }
    SUBCASE("unless the parts are written later") {
        row_op* i = p.append(does::increment, {w, t}, 1);
        p.append(does::output, {w, i}, 1);
        const auto before = support::run(p, 3);
        const auto made = planned({t, w, i});
        for (const auto& o : made.operations) CHECK_FALSE(o.sum_widens);
        apply(made, p);
        CHECK(support::run(p, 3) == before);
    }
    SUBCASE("unless nothing reads the sum") {
        p.append(does::output, {x}, 1);
        for (const auto& o : planned({t, w}).operations) CHECK_FALSE(o.sum_widens);
    }
    SUBCASE("unless a chunk reads its part, too: of two conversions, only the second is left to the sum") {
        row_op* again = p.append(does::widen, {w}, 1);
        p.append(does::output, {again, w}, 1);
        const auto before = support::run(p, 3);
        const auto made = planned({t, w, again});
        CHECK_FALSE(made.operations[1].sum_widens);
        CHECK(made.operations[2].sum_widens);
        apply(made, p);
        CHECK(support::run(p, 3) == before);
    }
    SUBCASE("rows are no sum") {
        row_op* rows = p.append(does::widen, {x}, 6);
        p.append(does::output, {w, rows}, 1);
        const auto made = planned({t, w, rows});
        CHECK(made.operations[1].sum_widens);
        CHECK_FALSE(made.operations[2].sum_widens);
    }
    SUBCASE("unless the model does not say so") {
        struct silent {
            support::row_chunk_model all;
            std::size_t components_of(row_op* v) const { return all.components_of(v); }
            std::size_t rank(row_op* v, std::size_t c) const { return all.rank(v, c); }
            std::int64_t extent(row_op* v, std::size_t c, std::size_t d) const { return all.extent(v, c, d); }
            chunk_verdict combine_rule(row_op* v, std::int64_t rows, std::span<const chunk_state> in,
                                       std::span<chunk_state> out) const {
                return all.combine_rule(v, rows, in, out);
            }
        };
        p.append(does::output, {w}, 1);
        const regions of = {{{t, w}, {3, 3}}};
        const tokens from = {{x, 0}};
        const auto made = plan_chunks(support::row_view{&p}, support::row_model{}, silent{},
                                      std::span<const chunk_region<row_op*>>(of),
                                      std::span<const token_dimension<row_op*>>(from), {});
        REQUIRE(made);
        CHECK_FALSE(made->operations[1].sum_widens);
        const auto wrong = verify_chunks(planned({t, w}), support::row_view{&p}, support::row_model{}, silent{});
        REQUIRE(!wrong);
        CHECK(wrong.error()[0].broken == chunk_rule::widening_misplaced);
        CHECK(wrong.error()[0].vertex == w);
    }
}

TEST_CASE("what reads sums only runs once, on the sums, even if it cannot run on parts") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* t = p.append(does::total, {x}, 1);
    row_op* n = p.append(does::order, {t}, 1);
    row_op* y = p.append(does::add, {x, n}, 4);
    p.append(does::output, {y}, 1);
    const auto before = support::run(p, 6);
    const auto made = plan(p, {{{t, n, y}, {3, 1}}}, {{x, 0}});
    REQUIRE(made);
    CHECK(refused(*made) == std::vector<row_op*>{n});
    CHECK(made->refused[0].why.why == reason::only_sums);
    CHECK(made->counts() == chunk_counts{2, 4, 1, 1, 1});
    apply(*made, p);
    CHECK(support::run(p, 6) == before);
}

TEST_CASE("what the caller keeps stays whole, and what follows from it is planned on") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* y = p.append(does::scale, {x}, 4);
    row_op* c = p.append(does::send, {y}, 4);
    row_op* w = p.append(does::wait, {c}, 4);
    row_op* u = p.append(does::add, {w, y}, 4);
    p.append(does::output, {u}, 1);
    const auto before = support::run(p, 7);
    const std::vector<row_op*> all = {y, c, w, u};
    std::vector<row_op*> kept;
    std::vector<row_op*> chunked;
    tokens cut = {{x, 0}};
    SUBCASE("nothing") { chunked = all; }
    SUBCASE("an operation: what it reads is recombined, what it makes is whole and cut where the model asks for it") {
        kept = {y};
    }
    SUBCASE("an operation whose result is cut again") {
        kept = {y};
        cut.push_back({y, 0});
        chunked = {c, w, u};
    }
    SUBCASE("a start, and with it its wait") {
        kept = {c};
        chunked = {y, u};
    }
    SUBCASE("a wait, and with it its start") {
        kept = {w};
        chunked = {y, u};
    }
    const auto made = plan(p, {{all, {3, 1}, kept}}, cut);
    if (chunked.empty()) {
        REQUIRE(!made);
        CHECK(made.error().why == reason::nothing_reached);
        return;
    }
    REQUIRE(made);
    std::vector<row_op*> planned;
    for (const auto& o : made->operations) planned.push_back(o.vertex);
    CHECK(planned == chunked);
    CHECK(made->refused.empty());
    apply(*made, p);
    CHECK(support::run(p, 7) == before);
}

TEST_CASE("a region that is left and entered again waits for all chunks in between, or is an error") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* w = p.append(does::input, {}, 1);
    row_op* shared = p.append(does::scale, {w}, 1);  // no token reaches it: it may come from anywhere
    row_op* y = p.append(does::add, {x, shared}, 4);
    row_op* a = p.append(does::running, {y}, 4);
    row_op* b = p.append(does::running, {a}, 4);
    row_op* z = p.append(does::add, {y, b}, 4);
    p.append(does::output, {z}, 1);
    const auto before = support::run(p, 7);
    const regions gap = {{{shared, y, z}, {2, 2}}};
    const auto refused = plan(p, gap, {{x, 0}}, {.only_convex = true});
    REQUIRE(!refused);
    CHECK(refused.error().why == reason::not_convex);
    CHECK(refused.error().vertex == y);
    CHECK(refused.error().other == z);
    CHECK(refused.error().path == std::vector<row_op*>{y, a, b, z});
    CHECK(plan(p, {{{y}, {2, 2}}, {{z}, {2, 2}}}, {{x, 0}, {b, 0}}, {.only_convex = true}).has_value());
    CHECK(plan(p, {{{shared, y, z}, {4}}}, {{x, 0}}, {.only_convex = true})->empty());  // one chunk stays as it is
    const auto made = plan(p, gap, {{x, 0}});
    REQUIRE(made);
    CHECK(made->counts() == chunk_counts{2, 4, 2, 2, 0});
    apply(*made, p);
    CHECK(support::run(p, 7) == before);
}

TEST_CASE("a forward and a backward region share their parts") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* y = p.append(does::scale, {x}, 4);
    row_op* loss = p.append(does::total, {y}, 1);
    row_op* g = p.append(does::add, {y, loss}, 4);
    p.append(does::output, {loss, g}, 1);
    const auto before = support::run(p, 2);
    SUBCASE("as one region: nothing is recombined in between") {
        const auto made = plan(p, {{{y, loss, g}, {2, 2}}}, {{x, 0}}, {.skip_refused = true});
        REQUIRE(made);
        // The sum of the loss is needed whole before g can be computed: g + a part of a sum is no part of g + the sum.
        CHECK(refused(*made) == std::vector<row_op*>{g});
        CHECK(made->refused[0].why.why == reason::refused);
        CHECK(made->refused[0].why.vertex == g);
        CHECK(!made->refused[0].why.detail.empty());
        apply(*made, p);
    }
    SUBCASE("as two regions of different sizes: recombined and cut again") {
        const auto made = plan(p, {{{y}, {2, 2}}, {{g}, {1, 3}}}, {{x, 0}, {y, 0}});
        REQUIRE(made);
        CHECK(made->splits.size() == 2);
        CHECK(made->joins.size() == 2);
        apply(*made, p);
    }
    CHECK(support::run(p, 2) == before);
}

TEST_CASE("empty chunks cost nothing; one chunk changes nothing") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* y = p.append(does::scale, {x}, 4);
    p.append(does::output, {y}, 1);
    const auto uneven = plan(p, {{{y}, {0, 1, 0, 3}}}, {{x, 0}});
    REQUIRE(uneven);
    CHECK(uneven->counts().clones == 2);
    for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{4}, std::vector<std::int64_t>{0, 4}}) {
        const auto one = plan(p, {{{y}, sizes}}, {{x, 0}});
        REQUIRE(one);
        CHECK(one->empty());
    }
}

TEST_CASE("errors name what they are about") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* w = p.append(does::input, {}, 1);
    row_op* y = p.append(does::scale, {x}, 4);
    row_op* r = p.append(does::running, {y}, 4);
    row_op* s = p.append(does::order, {y}, 4);
    row_op* c = p.append(does::send, {y}, 4);
    row_op* q = p.append(does::wait, {c}, 4);
    row_op* out = p.append(does::output, {r, s, q}, 1);
    row_program other;
    const auto fault = [&](const regions& of, const tokens& t) {
        const auto made = plan(p, of, t);
        REQUIRE(!made);
        return made.error();
    };
    CHECK(fault({}, {{x, 0}}).why == reason::no_regions);
    CHECK(fault({{{y}, {}}}, {{x, 0}}).why == reason::no_sizes);
    CHECK(fault({{{y}, {0, 0}}}, {{x, 0}}).why == reason::no_sizes);
    CHECK(fault({{{y}, {5, -1}}}, {{x, 0}}).why == reason::negative_size);
    CHECK(fault({{{y}, {INT64_MAX, INT64_MAX, 6}}}, {{x, 0}}).why == reason::too_many_rows);  // 4, if it wrapped
    CHECK(fault({{{y}, {2, 1}}}, {{x, 0}}).why == reason::extent_indivisible);
    CHECK(fault({{{y}, {2, 2}}}, {{x, 1}}).why == reason::dim_out_of_range);
    CHECK(fault({{{w}, {2, 2}}}, {{x, 0}}).why == reason::nothing_reached);
    CHECK(fault({{{y}, {2, 2}}, {{y, s}, {1, 3}}}, {{x, 0}}).why == reason::overlapping);
    const auto refused = fault({{{y, r}, {2, 2}}}, {{x, 0}});
    CHECK(refused.why == reason::refused);
    CHECK(refused.vertex == r);
    CHECK(refused.detail == "a row depends on all before it");
    const auto unknown = fault({{{y, s}, {2, 2}}}, {{x, 0}});
    CHECK(unknown.why == reason::unknown_live_out);
    CHECK(unknown.vertex == s);
    CHECK(unknown.other == out);
    const auto flying = fault({{{y, c}, {2, 2}}}, {{x, 0}});
    CHECK(flying.why == reason::left_in_flight);
    CHECK(flying.vertex == c);
    CHECK(flying.other == q);
}

TEST_CASE("rows that a chunk counts from its own first one do not leave the region") {
    row_program p;
    row_op* x = p.append(does::input, {}, 6);
    row_op* k = p.append(does::numbers, {x}, 6);
    row_op* y = p.append(does::add, {x, k}, 6);
    row_op* out = p.append(does::output, {k}, 1);
    const auto made = plan(p, {{{k, y}, {4, 2}}}, {{x, 0}});
    REQUIRE(!made);
    CHECK(made.error().why == reason::unknown_live_out);
    CHECK(made.error().vertex == k);
    CHECK(made.error().other == out);
}

TEST_CASE("a chunk does not read rows that another chunk writes in the same operation") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* first = p.append(does::part, {x}, 1);
    first->last = 1;
    row_op* up = p.append(does::increment, {x, first}, 4);
    row_op* y = p.append(does::scale, {x}, 4);
    p.append(does::output, {up, y}, 1);
    const auto before = support::run(p, 4);
    const auto made = plan(p, {{{up, y}, {2, 2}}}, {{x, 0}});
    REQUIRE(made);
    REQUIRE(made->operations.size() == 1);
    CHECK(made->operations[0].vertex == y);
    apply(*made, p);
    CHECK(support::run(p, 4) == before);
}

TEST_CASE("a collective and its wait are chunked together, whatever lies between them") {
    struct far_wait : support::row_model {
        row_op* launch_of(row_op* w) const {
            while (w->what != does::send) w = w->reads[0];
            return w;
        }
    };
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* c = p.append(does::send, {x}, 4);
    row_op* s = p.append(does::scale, {c}, 4);
    row_op* w = p.append(does::wait, {s}, 4);
    row_op* y = p.append(does::scale, {w}, 4);
    row_op* out = p.append(does::output, {y}, 1);
    const auto attempt = [&](std::vector<row_op*> candidates, const tokens& t, chunk_options options = {}) {
        const regions r = {{std::move(candidates), {2, 2}}};
        return plan_chunks(support::row_view{&p}, far_wait{}, support::row_chunk_model{},
                           std::span<const chunk_region<row_op*>>(r), std::span<const token_dimension<row_op*>>(t),
                           options);
    };
    SUBCASE("all of it") { CHECK(attempt({c, s, w, y}, {{x, 0}})->operations.size() == 4); }
    SUBCASE("without the wait") {
        const auto made = attempt({c, s}, {{x, 0}});
        REQUIRE(!made);
        CHECK(made.error().why == reason::left_in_flight);
        CHECK(made.error().vertex == c);
        CHECK(made.error().other == w);
    }
    SUBCASE("without the start") {
        const auto made = attempt({w, y}, {{s, 0}});
        REQUIRE(!made);
        CHECK(made.error().why == reason::left_in_flight);
        CHECK(made.error().vertex == c);
        CHECK(made.error().other == w);
        const auto rest = attempt({w, y}, {{s, 0}, {w, 0}}, {.skip_refused = true});
        REQUIRE(rest);
        REQUIRE(rest->operations.size() == 1);
        CHECK(rest->operations[0].vertex == y);
        CHECK(refused(*rest) == std::vector<row_op*>{w});
    }
    SUBCASE("nor is it read before it has arrived") {
        out->reads.push_back(c);
        p.renumber();
        const auto made = attempt({c, s, w, y}, {{x, 0}});
        REQUIRE(!made);
        CHECK(made.error().why == reason::left_in_flight);
        CHECK(made.error().other == out);
    }
}

TEST_CASE("what a collective brings does not leave a region in parts before it has arrived") {
    struct viewing : support::row_model {
        std::vector<row_op*> aliases(row_op* v) const {
            if (v->what == does::scale && v->reads[0]->what == does::send) return {v->reads[0]};
            return row_model::aliases(v);
        }
    };
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* c = p.append(does::send, {x}, 4);
    const auto fault = [&](std::vector<row_op*> candidates) {
        const regions of = {{std::move(candidates), {2, 2}}};
        const tokens t = {{x, 0}};
        const auto attempt = [&](chunk_options options) {
            return plan_chunks(support::row_view{&p}, viewing{}, support::row_chunk_model{},
                               std::span<const chunk_region<row_op*>>(of), std::span<const token_dimension<row_op*>>(t),
                               options);
        };
        if (const auto skipped = attempt({.skip_refused = true}))
            CHECK(verify_chunks(*skipped, support::row_view{&p}, viewing{}, support::row_chunk_model{}));
        const auto made = attempt({});
        REQUIRE(!made);
        CHECK(made.error().why == reason::left_in_flight);
        return made.error();
    };
    SUBCASE("nothing ever waits for it") {
        row_op* out = p.append(does::output, {c}, 1);
        CHECK(fault({c}).vertex == c);
        CHECK(fault({c}).other == out);
    }
    SUBCASE("it leaves as a view, before the wait") {
        row_op* part = p.append(does::scale, {c}, 4);
        row_op* w = p.append(does::wait, {c}, 4);
        row_op* out = p.append(does::output, {part, w}, 1);
        CHECK(fault({c, part, w}).vertex == part);
        CHECK(fault({c, part, w}).other == out);
    }
    SUBCASE("a second wait comes later") {
        row_op* w = p.append(does::wait, {c}, 4);
        row_op* again = p.append(does::wait, {c}, 4);
        row_op* out = p.append(does::output, {w, again}, 1);
        CHECK(fault({c, w, again}).vertex == w);
        CHECK(fault({c, w, again}).other == out);
    }
}

TEST_CASE("what has a dependence that is no value stays whole, at both ends of it") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* y = p.append(does::scale, {x}, 4);
    row_op* z = p.append(does::scale, {x}, 4);
    row_op* other = p.append(does::scale, {x}, 4);
    p.append(does::output, {y, z, other}, 1);
    const support::row_view base{&p};
    dependence_table extra(base);
    const auto view = views::with_dependences(base, extra);
    const regions of = {{{y, z, other}, {2, 2}}};
    const tokens t = {{x, 0}};
    const auto planned = [&] {
        return plan_chunks(view, support::row_model{}, support::row_chunk_model{},
                           std::span<const chunk_region<row_op*>>(of), std::span<const token_dimension<row_op*>>(t),
                           {.skip_refused = true});
    };
    const auto before = planned();
    REQUIRE(before);
    CHECK(before->operations.size() == 3);
    CHECK(verify_chunks(*before, view, support::row_model{}, support::row_chunk_model{}));
    extra.add(x, z);  // which reads it anyway
    CHECK(planned()->operations.size() == 3);

    extra.add(y, z);
    const auto made = planned();
    REQUIRE(made);
    REQUIRE(made->operations.size() == 1);
    CHECK(made->operations[0].vertex == other);
    CHECK(refused(*made) == std::vector<row_op*>{y, z});
    CHECK(made->refused[0].why.detail.find("dependence that is no value") != std::string::npos);
    CHECK(verify_chunks(*made, view, support::row_model{}, support::row_chunk_model{}));
    const auto wrong = verify_chunks(*before, view, support::row_model{}, support::row_chunk_model{});
    REQUIRE(!wrong);
    CHECK(wrong.error()[0].broken == chunk_rule::other_dependence);
    CHECK(wrong.error()[0].vertex == y);
    CHECK(wrong.error()[0].other == z);
}

TEST_CASE("random programs compute the same in chunks") {
    std::size_t planned = 0, chunked = 0, strictly = 0, slices = 0, widened = 0;
    stretto_check("skipping what is refused", 10000, [&] {
        const auto steps = *rc::gen::container<std::vector<std::array<std::uint8_t, 3>>>(
            rc::gen::arbitrary<std::array<std::uint8_t, 3>>());
        auto sizes = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 4));
        sizes.push_back(1);
        std::int64_t rows = 0;
        for (std::int64_t s : sizes) rows += s;
        row_program p;
        std::vector<row_op*> made = {p.append(does::input, {}, static_cast<std::size_t>(2 * rows)),
                                     p.append(does::input, {}, 1),
                                     p.append(does::input, {}, static_cast<std::size_t>(2 * rows))};
        std::vector<row_op*> in_flight;
        for (const auto& [what, a, b] : steps) {
            row_op* x = made[a % made.size()];
            row_op* y = made[b % made.size()];
            switch (what % 9) {
                case 0:
                    made.push_back(p.append(does::scale, {x}, x->rows));
                    break;
                case 1:
                case 2:
                    made.push_back(p.append(does::add, {x, y}, std::max(x->rows, y->rows)));
                    break;
                case 3:
                    made.push_back(p.append(does::total, {x}, 1));
                    break;
                case 4:
                    made.push_back(p.append(does::order, {x}, x->rows));
                    break;
                case 5:
                    made.push_back(p.append(does::running, {x}, x->rows));
                    break;
                case 6:
                    if (x->rows >= y->rows && x != y) made.push_back(p.append(does::increment, {x, y}, x->rows));
                    break;
                case 8:
                    made.push_back(p.append(does::widen, {x}, x->rows));
                    break;
                case 7: {
                    row_op* sent = p.append(does::send, {x}, x->rows);
                    made.push_back(p.append(does::wait, {sent}, x->rows));
                    break;
                }
            }
        }
        std::vector<row_op*> read(made.end() - std::min<std::ptrdiff_t>(3, static_cast<std::ptrdiff_t>(made.size())),
                                  made.end());
        p.append(does::output, read, 1);
        const auto before = support::run(p, 11);
        const regions all = {{all_but_ends(p), sizes}};
        const bool convert = steps.size() % 2 == 0;
        auto of = plan(p, all, {{made[0], 0}}, {.skip_refused = true, .convert_sums = convert});
        if (!of) {
            RC_ASSERT(of.error().why == reason::nothing_reached);
            return;
        }
        ++planned;
        chunked += !of->empty();
        if (auto all_of = plan(p, all, {{made[0], 0}}, {.only_convex = true, .convert_sums = convert})) {
            ++strictly;
            of = std::move(all_of);
        }
        choose_slices(*of, [](const auto& join) { return join.value->number % 2 == 1; });
        slices += of->counts().empties;
        widened += std::ranges::count(of->operations, true, &chunked_operation<row_op*>::sum_widens) > 0;
        apply(*of, p);
        RC_ASSERT(support::run(p, 11) == before);
    });
    MESSAGE(chunked << " of " << planned << " plans chunk something; " << strictly << " need nothing skipped");
    CHECK(4 * chunked > planned);
    CHECK(10 * strictly > planned);
    CHECK(10 * slices > planned);
    CHECK(100 * widened > planned);
}
