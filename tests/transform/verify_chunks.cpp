#include "stretto/transform/verify_chunks.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "stretto/testing/model_archetypes.hpp"
#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/plan_chunks.hpp"
#include "stretto/transform/verify_rules.hpp"
#include "support/prop.hpp"
#include "support/row_ir.hpp"
#include "support/row_programs.hpp"

using namespace stretto;
using support::row_case;
using support::row_op;
using support::row_plan;
using support::row_program;
using does = row_op::does;
using kind = chunk_state::kind;
using violations = std::vector<chunk_violation<row_op*>>;

namespace {

template <class Model = support::row_model, class Chunks = support::row_chunk_model>
expected<verified_chunks, violations> verify(const row_plan& plan, row_program& p, Model model = {},
                                             Chunks chunks = {}) {
    p.renumber();
    return verify_chunks(plan, support::row_view{&p}, model, chunks);
}

const chunk_violation<row_op*>* find(const expected<verified_chunks, violations>& e, chunk_rule rule) {
    if (e) return nullptr;
    for (const auto& v : e.error())
        if (v.broken == rule) return &v;
    return nullptr;
}

row_plan plan(row_program& p, std::vector<chunk_region<row_op*>> regions,
              std::vector<token_dimension<row_op*>> tokens) {
    const auto made =
        plan_chunks(support::row_view{&p}, support::row_model{}, support::row_chunk_model{},
                    std::span<const chunk_region<row_op*>>(regions), std::span<const token_dimension<row_op*>>(tokens));
    REQUIRE(made);
    return *made;
}

void apply(const row_plan& made, row_program& p) {
    support::row_rewriter rewriter{&p, p.ops.end()};
    apply_chunks(made, support::row_view{&p}, rewriter);
    p.renumber();
}

constexpr chunk_state whole{};
constexpr chunk_state sliced{kind::sliced, 0};
constexpr chunk_state addend{kind::addend, -1};

/// Adds an operation to a plan, in its place, with states as given.
void insert(row_plan& plan, row_op* v, std::uint32_t region, std::initializer_list<chunk_state> operands,
            chunk_state result, bool once = false) {
    chunked_operation<row_op*> o{v, region, once, static_cast<std::uint32_t>(plan.states.size()), 0, 0};
    plan.states.insert(plan.states.end(), operands);
    o.first_result = static_cast<std::uint32_t>(plan.states.size());
    plan.states.push_back(result);
    o.last_result = static_cast<std::uint32_t>(plan.states.size());
    auto at = plan.operations.begin();
    while (at != plan.operations.end() && at->vertex->number < v->number) ++at;
    plan.operations.insert(at, o);
}

/// A region of everything between inputs and outputs that reads x, in two chunks; written by hand.
row_plan two_chunks(std::int64_t tokens = 4) {
    row_plan plan;
    plan.regions.push_back({tokens, {tokens / 2, tokens - tokens / 2}});
    return plan;
}

}  // namespace

TEST_CASE("a plan for a block of two operations") {
    row_program p;
    row_op* x = p.append(does::input, {}, 6);
    row_op* c = p.append(does::send, {x}, 6);
    row_op* w = p.append(does::wait, {c}, 6);
    row_op* t = p.append(does::total, {w}, 1);
    row_op* out = p.append(does::output, {w, t}, 1);
    const row_plan made = plan(p, {{{c, w, t}, {4, 2}}}, {{x, 0}});
    const auto verified = verify(made, p);
    REQUIRE(verified);
    CHECK(verified->counts == chunk_counts{3, 6, 1, 1, 1});
    CHECK(verified->collectives == 2);
    SUBCASE("whose value a reader outside would still read in parts") {
        row_plan wrong = made;
        wrong.joins.erase(wrong.joins.begin());
        const auto found = verify(wrong, p);
        REQUIRE(!found);
        REQUIRE(found.error().size() == 1);
        CHECK(found.error()[0].broken == chunk_rule::join_missing);
        CHECK(found.error()[0].position == 1);
        CHECK(found.error()[0].vertex == w);
        CHECK(found.error()[0].other == out);
        CHECK(hint(found.error()[0].broken) == "what is read outside of its region is recombined");
    }
    SUBCASE("launches alike on ranks that chunk alike") {
        CHECK(verified->collective_order == verify(made, p)->collective_order);
        const row_plan other = plan(p, {{{c, w, t}, {2, 2, 2}}}, {{x, 0}});
        CHECK(verified->collective_order != verify(other, p)->collective_order);
        const row_plan none;
        CHECK(verify(none, p)->collectives == 0);
        CHECK(verified->collective_order != verify(none, p)->collective_order);
    }
}

TEST_CASE("every rule has a sentence of its own") {
    std::vector<std::string_view> sentences;
    for (int r = 0; r <= static_cast<int>(chunk_rule::result_unset); ++r)
        sentences.push_back(hint(static_cast<chunk_rule>(r)));
    for (std::string_view s : sentences) CHECK(!s.empty());
    std::sort(sentences.begin(), sentences.end());
    CHECK(std::adjacent_find(sentences.begin(), sentences.end()) == sentences.end());
}

TEST_CASE("a result whose state the model does not say is found, though the plan takes it for whole") {
    struct forgetful : support::row_chunk_model {
        chunk_verdict combine_rule(row_op* v, std::int64_t tokens, std::span<const chunk_state> in,
                                   std::span<chunk_state> out) const {
            if (v->what == does::scale) return {};
            return support::row_chunk_model::combine_rule(v, tokens, in, out);
        }
    };
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* y = p.append(does::scale, {x}, 4);
    p.append(does::output, {y}, 1);
    row_plan made = plan(p, {{{y}, {2, 2}}}, {{x, 0}});
    made.states[made.operations[0].first_result] = whole;  // what the planner would make of a default
    made.operations[0].once = true;
    made.joins[0].how = recombination::first;
    const auto found = verify(made, p, support::row_model{}, forgetful{});
    REQUIRE(!found);
    REQUIRE(found.error().size() == 1);
    CHECK(found.error()[0].broken == chunk_rule::result_unset);
    CHECK(found.error()[0].vertex == y);
    CHECK(found.error()[0].component == 0);
}

TEST_CASE("the plan for another program is not believed") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* y = p.append(does::scale, {x}, 4);
    p.append(does::output, {y}, 1);
    const row_plan made = plan(p, {{{y}, {2, 2}}}, {{x, 0}});
    row_program empty;
    CHECK(find(verify(made, empty), chunk_rule::operation_unknown));
    CHECK(verify(row_plan{}, empty));
    row_plan nowhere = made;
    nowhere.operations[0].vertex = nullptr;
    nowhere.splits[0].value = nullptr;
    CHECK(find(verify(nowhere, p), chunk_rule::operation_unknown));
    nowhere.operations[0].vertex = y;
    CHECK(find(verify(nowhere, p), chunk_rule::split_unused));
}

TEST_CASE("M1: a reader that keeps reading part 0") {
    // y is read inside and outside; the reader outside is not among those of the join.
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* y = p.append(does::scale, {x}, 4);
    row_op* z = p.append(does::scale, {y}, 4);
    row_op* b = p.append(does::add, {z, y}, 4);
    row_op* out = p.append(does::output, {b, y}, 1);
    row_plan made = plan(p, {{{y, z}, {2, 2}}}, {{x, 0}});
    REQUIRE(made.joins.size() == 2);
    REQUIRE(made.joins[0].readers == std::vector<row_op*>{b, out});
    made.joins[0].readers.erase(made.joins[0].readers.begin());
    const auto found = verify(made, p);
    REQUIRE(!found);
    REQUIRE(found.error().size() == 1);
    CHECK(found.error()[0].broken == chunk_rule::reader_left_behind);
    CHECK(found.error()[0].vertex == y);
    CHECK(found.error()[0].other == b);
}

TEST_CASE("M3: an update of a shared buffer is chunked") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* buffer = p.append(does::input, {}, 1);
    row_op* t = p.append(does::total, {x}, 1);
    row_op* up = p.append(does::increment, {buffer, t}, 1);
    row_op* y = p.append(does::add, {x, up}, 4);
    row_op* z = p.append(does::add, {y, buffer}, 4);
    row_op* out = p.append(does::output, {z}, 1);
    const auto before = support::run(p, 9);
    row_plan made = two_chunks();
    made.splits.push_back({x, 0, 0});
    insert(made, t, 0, {sliced}, addend);
    insert(made, up, 0, {whole, addend}, whole);
    insert(made, y, 0, {sliced, whole}, sliced);
    insert(made, z, 0, {sliced, whole}, sliced);
    made.joins.push_back({z, 0, recombination::concat, 0, {out}, false});
    made.operations[1].chained = 0;
    SUBCASE("one chunk after the other, which is right") {
        REQUIRE(verify(made, p));
        apply(made, p);
        CHECK(support::run(p, 9) == before);
    }
    SUBCASE("by every chunk, without an order") {
        made.operations[1].chained = made.operations[1].no_chain;
        const auto found = verify(made, p);
        REQUIRE(!found);
        REQUIRE(found.error().size() == 1);
        CHECK(found.error()[0].broken == chunk_rule::shared_write);
        CHECK(found.error()[0].vertex == up);
        CHECK(found.error()[0].other == buffer);
    }
    SUBCASE("in a chain that goes on from the share") {
        made.operations[1].chained = 1;
        CHECK(find(verify(made, p), chunk_rule::chain_misplaced)->vertex == up);
    }
    SUBCASE("by the first chunk only") {
        made.operations[1].once = true;
        const auto found = verify(made, p);
        CHECK(find(found, chunk_rule::once_differs)->vertex == up);
        CHECK(find(found, chunk_rule::shared_write)->other == buffer);
    }
    SUBCASE("with what is not a share of the update") {
        up->reads[1] = x;
        made.operations.erase(made.operations.begin());
        made.states[made.operations[0].first_operand + 1] = sliced;
        const auto found = verify(made, p);
        CHECK(find(found, chunk_rule::shared_write)->vertex == up);
        CHECK(find(found, chunk_rule::state_changed_in_place)->vertex == up);
    }
}

TEST_CASE("M4: an operation is chunked by two patterns") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* y = p.append(does::scale, {x}, 4);
    p.append(does::output, {y}, 1);
    row_plan made = plan(p, {{{y}, {2, 2}}}, {{x, 0}});
    made.regions.push_back({4, {1, 3}});
    made.operations.push_back(made.operations[0]);
    made.operations[1].region = 1;
    const auto found = verify(made, p);
    REQUIRE(!found);
    CHECK(find(found, chunk_rule::operation_out_of_order)->position == 1);
    CHECK(find(found, chunk_rule::operation_out_of_order)->vertex == y);
}

TEST_CASE("M6: what cannot be planned changes nothing, and what is wrong is found before anything is changed") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* y = p.append(does::scale, {x}, 4);
    row_op* s = p.append(does::order, {y}, 4);
    p.append(does::output, {y, s}, 1);
    const auto before = support::run(p, 1);
    const std::vector<chunk_region<row_op*>> regions = {{{y}, {2, 2}}, {{s}, {1, 3}}};
    const std::vector<token_dimension<row_op*>> tokens = {{x, 0}, {y, 0}};
    const auto refused =
        plan_chunks(support::row_view{&p}, support::row_model{}, support::row_chunk_model{},
                    std::span<const chunk_region<row_op*>>(regions), std::span<const token_dimension<row_op*>>(tokens));
    REQUIRE(!refused);
    CHECK(refused.error().vertex == s);  // the second region
    CHECK(p.ops.size() == 4);
    // Forced: the first region as it would be, the second with a recombination that there is not.
    row_plan forced = plan(p, {{{y}, {2, 2}}}, {{x, 0}});
    forced.regions.push_back({4, {1, 3}});
    forced.splits.push_back({y, 1, 0});
    insert(forced, s, 1, {sliced}, {kind::permuted, 0});
    forced.joins.push_back({s, 1, recombination::concat, 0, {&p.ops.back()}, false});
    const auto found = verify(forced, p);
    REQUIRE(!found);
    REQUIRE(found.error().size() == 1);
    CHECK(found.error()[0].broken == chunk_rule::join_impossible);
    CHECK(found.error()[0].vertex == s);
    CHECK(support::run(p, 1) == before);
}

TEST_CASE("M7: the parts are recombined in the wrong way") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* y = p.append(does::scale, {x}, 4);
    row_op* t = p.append(does::total, {x}, 1);
    p.append(does::output, {y, t}, 1);
    const row_plan made = plan(p, {{{y, t}, {2, 2}}}, {{x, 0}});
    for (std::size_t j : {0u, 1u})
        for (recombination how :
             {recombination::concat, recombination::sum, recombination::first, recombination::slices}) {
            row_plan other = made;
            other.joins[j].how = how;
            if (how == made.joins[j].how || (how == recombination::slices && j == 0)) CHECK(verify(other, p));
            else CHECK(find(verify(other, p), chunk_rule::join_way)->position == j);
        }
    row_plan along = made;
    along.joins[0].dim = 1;
    CHECK(find(verify(along, p), chunk_rule::join_way));
    along.joins[0].how = recombination::slices;
    CHECK(find(verify(along, p), chunk_rule::join_way));
}

TEST_CASE("M8: a dead reader counts") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* y = p.append(does::scale, {x}, 4);
    p.append(does::output, {y}, 1);
    row_plan made = plan(p, {{{y}, {2, 2}}}, {{x, 0}});
    row_op* dead = p.append(does::running, {y}, 4);
    const auto found = verify(made, p);
    REQUIRE(!found);
    CHECK(find(found, chunk_rule::reader_left_behind)->other == dead);
}

TEST_CASE("a collective and its wait in two worlds") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* c = p.append(does::send, {x}, 4);
    row_op* w = p.append(does::wait, {c}, 4);
    row_op* out = p.append(does::output, {w}, 1);
    row_plan made = two_chunks();
    SUBCASE("the start") {
        made.splits.push_back({x, 0, 0});
        insert(made, c, 0, {sliced}, sliced);
        made.joins.push_back({c, 0, recombination::concat, 0, {w}, false});
        const auto found = verify(made, p);
        CHECK(find(found, chunk_rule::collective_torn)->vertex == c);
        CHECK(find(found, chunk_rule::collective_torn)->other == w);
        CHECK(find(found, chunk_rule::join_in_flight)->vertex == c);
    }
    SUBCASE("the wait") {
        made.splits.push_back({c, 0, 0});
        insert(made, w, 0, {sliced}, sliced);
        made.joins.push_back({w, 0, recombination::concat, 0, {out}, false});
        const auto found = verify(made, p);
        CHECK(find(found, chunk_rule::collective_torn)->vertex == w);
        CHECK(find(found, chunk_rule::collective_torn)->other == c);
    }
    SUBCASE("both, and what arrives is read too early") {
        out->reads.push_back(c);
        p.renumber();
        made.splits.push_back({x, 0, 0});
        insert(made, c, 0, {sliced}, sliced);
        insert(made, w, 0, {sliced}, sliced);
        made.joins.push_back({c, 0, recombination::concat, 0, {out}, false});
        made.joins.push_back({w, 0, recombination::concat, 0, {out}, false});
        const auto found = verify(made, p);
        REQUIRE(!found);
        REQUIRE(found.error().size() == 1);
        CHECK(found.error()[0].broken == chunk_rule::join_in_flight);
        made.joins[0].late = true;  // before the output, behind the wait
        CHECK(verify(made, p));
        row_op* early = p.append(does::scale, {c}, 4);
        p.ops.splice(std::next(p.ops.begin(), 2), p.ops, std::prev(p.ops.end()));
        made.joins[0].readers = {early, out};
        CHECK(find(verify(made, p), chunk_rule::join_in_flight)->vertex == c);
    }
}

TEST_CASE("writes in place") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* y = p.append(does::scale, {x}, 4);
    row_op* up = p.append(does::increment, {y, x}, 4);
    row_op* out = p.append(does::output, {y, up}, 1);
    row_plan made = plan(p, {{{y, up}, {2, 2}}}, {{x, 0}});
    REQUIRE(made.joins.size() == 2);
    REQUIRE(made.joins[0].late);
    REQUIRE(verify(made, p));
    const auto move_behind = [&](row_op* at) {
        auto to = p.ops.begin();
        while (&*to != at) ++to;
        p.ops.splice(std::next(to), p.ops, std::prev(p.ops.end()));
    };
    SUBCASE("slices do not wait for them") {
        made.joins[0].how = recombination::slices;
        const auto found = verify(made, p);
        REQUIRE(!found);
        REQUIRE(found.error().size() == 1);
        CHECK(found.error()[0].broken == chunk_rule::slices_late);
        CHECK(found.error()[0].vertex == y);
        made.joins[0].late = false;
        CHECK(find(verify(made, p), chunk_rule::join_too_early)->other == up);
    }
    SUBCASE("behind a recombination") {
        made.joins[0].late = false;
        const auto found = verify(made, p);
        REQUIRE(!found);
        REQUIRE(found.error().size() == 1);
        CHECK(found.error()[0].broken == chunk_rule::join_too_early);
        CHECK(found.error()[0].other == up);
    }
    SUBCASE("behind a reader") {
        row_op* r = p.append(does::running, {y}, 4);
        move_behind(y);
        made.joins[0].readers = {r, out};
        const auto found = verify(made, p);
        REQUIRE(!found);
        REQUIRE(found.error().size() == 1);
        CHECK(found.error()[0].broken == chunk_rule::read_between_writes);
        CHECK(found.error()[0].vertex == y);
        CHECK(found.error()[0].other == r);
    }
    SUBCASE("from outside") {
        row_op* late = p.append(does::increment, {y, x}, 4);
        made.joins[0].readers = {out, late};
        const auto found = verify(made, p);
        CHECK(find(found, chunk_rule::written_outside)->vertex == y);
        CHECK(find(found, chunk_rule::written_outside)->other == late);
    }
    SUBCASE("of rows that another chunk reads") {
        row_op* first = p.append(does::part, {y}, 1);
        first->last = 1;
        move_behind(y);
        up->reads[1] = first;
        p.renumber();
        made.states[made.operations[1].first_operand + 1] = whole;
        made.joins[0].readers = {first, out};
        const auto found = verify(made, p);
        CHECK(find(found, chunk_rule::reads_what_it_writes)->vertex == up);
        CHECK(find(found, chunk_rule::reads_what_it_writes)->other == first);
    }
    SUBCASE("that change the order of rows") {
        struct sorts_in_place : support::row_chunk_model {
            chunk_verdict combine_rule(row_op* v, std::int64_t tokens, std::span<const chunk_state> in,
                                       std::span<chunk_state> result) const {
                const chunk_verdict verdict = row_chunk_model::combine_rule(v, tokens, in, result);
                if (v->what == does::increment) result[0].what = kind::permuted;
                return verdict;
            }
        };
        out->reads.pop_back();
        made.joins.pop_back();
        made.states[made.operations[1].first_result].what = kind::permuted;
        const auto found = verify(made, p, support::row_model{}, sorts_in_place{});
        REQUIRE(!found);
        REQUIRE(found.error().size() == 1);
        CHECK(found.error()[0].broken == chunk_rule::state_changed_in_place);
        CHECK(found.error()[0].vertex == up);
        out->reads.clear();
        made.joins.clear();
        CHECK(verify(made, p, support::row_model{}, sorts_in_place{}));  // nobody sees y as it is now
        up->reads = {x, x};
        made.states[made.operations[1].first_operand] = sliced;
        CHECK(find(verify(made, p, support::row_model{}, sorts_in_place{}), chunk_rule::state_changed_in_place));
    }
}

TEST_CASE("what a chunk counts from its own first row is not recombined") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* k = p.append(does::numbers, {x}, 4);
    row_op* out = p.append(does::output, {k}, 1);
    row_plan made = two_chunks();
    made.splits.push_back({x, 0, 0});
    insert(made, k, 0, {sliced}, {kind::sliced, 0, 1});
    made.joins.push_back({k, 0, recombination::concat, 0, {out}, false});
    const auto found = verify(made, p);
    REQUIRE(!found);
    REQUIRE(found.error().size() == 1);
    CHECK(found.error()[0].broken == chunk_rule::join_impossible);
}

TEST_CASE("orders of rows may have other names, but not two names, nor one for two") {
    struct names_orders : support::row_chunk_model {
        chunk_verdict combine_rule(row_op* v, std::int64_t tokens, std::span<const chunk_state> in,
                                   std::span<chunk_state> out) const {
            const chunk_verdict verdict = row_chunk_model::combine_rule(v, tokens, in, out);
            if (v->what == does::order) out[0].order = static_cast<std::uint32_t>(v->number);
            return verdict;
        }
    };
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* a = p.append(does::order, {x}, 4);
    row_op* b = p.append(does::order, {x}, 4);
    row_op* c = p.append(does::scale, {a}, 4);
    const auto with_names = [&](std::uint32_t of_a, std::uint32_t of_b, std::uint32_t of_c) {
        row_plan made = two_chunks();
        made.splits.push_back({x, 0, 0});
        insert(made, a, 0, {sliced}, {kind::permuted, 0, 0, of_a});
        insert(made, b, 0, {sliced}, {kind::permuted, 0, 0, of_b});
        insert(made, c, 0, {{kind::permuted, 0, 0, of_c}}, {kind::permuted, 0, 0, of_c});
        return verify(made, p, support::row_model{}, names_orders{});
    };
    CHECK(with_names(1, 2, 1));
    CHECK(with_names(2, 1, 2));
    CHECK(with_names(700, 30, 700));
    CHECK(find(with_names(1, 1, 1), chunk_rule::order_names)->vertex == b);
    CHECK(find(with_names(1, 2, 2), chunk_rule::order_names));
    CHECK(find(with_names(1, 2, 3), chunk_rule::order_names)->vertex == c);
    CHECK(find(with_names(0, 2, 0), chunk_rule::result_state)->vertex == a);
}

TEST_CASE("extents are multiples of the tokens") {
    row_program p;
    row_op* x = p.append(does::input, {}, 6);
    row_op* y = p.append(does::scale, {x}, 6);
    p.append(does::output, {y}, 1);
    row_plan made = plan(p, {{{y}, {4, 2}}}, {{x, 0}});
    REQUIRE(verify(made, p));
    y->rows = 7;
    CHECK(find(verify(made, p), chunk_rule::extent_indivisible)->vertex == y);
    y->rows = 6;
    x->rows = 9;
    CHECK(find(verify(made, p), chunk_rule::split_dim)->vertex == x);
    x->rows = 12;  // two rows a token
    CHECK(verify(made, p));
}

namespace {

/// A chunk model, and no more: every value is two tensors of four rows, and what an operation reads first decides.
struct pairs_of_rows {
    archetypes::number components_of(archetypes::value) const { return archetypes::number(2); }
    archetypes::number rank(archetypes::value, std::size_t) const { return archetypes::number(1); }
    std::int32_t extent(archetypes::value, std::size_t, std::size_t) const { return 4; }
    chunk_verdict combine_rule(archetypes::vertex, std::int64_t, std::span<const chunk_state> in,
                               std::span<chunk_state> out) const {
        for (std::size_t k = 0; k < out.size(); ++k) out[k] = in[k % 2];
        return {};
    }
};

}  // namespace

TEST_CASE("archetypes suffice; values of several tensors stay within their region") {
    const archetypes::program g(0);
    chunk_plan<archetypes::vertex, archetypes::value> plan;
    const auto verified = [&] { return verify_chunks(plan, g, archetypes::kinds(0), pairs_of_rows{}); };
    CHECK(verified());
    plan.regions.push_back({2, {1, 1}});
    std::uint32_t states = 0;
    for (archetypes::vertex v : g.vertices()) {
        std::uint32_t operands = 0, results = 0;
        for ([[maybe_unused]] archetypes::value x : g.operands(v)) operands += 2;
        for ([[maybe_unused]] archetypes::value x : g.results(v)) results += 2;
        if (operands == 0 || results == 0) continue;
        plan.operations.push_back({v, 0, false, states, states + operands, states + operands + results});
        states += operands + results;
        plan.states.resize(states, sliced);
    }
    REQUIRE(plan.operations.size() == 6);
    const auto rules = [&] {
        std::vector<chunk_rule> found;
        const auto result = verified();
        if (!result)
            for (const auto& v : result.error()) found.push_back(v.broken);
        return found;
    };
    // Reading the input in parts takes a split, and the output reads what has no join.
    CHECK(rules() == std::vector<chunk_rule>{chunk_rule::split_missing, chunk_rule::not_reached,
                                             chunk_rule::split_missing, chunk_rule::not_reached,
                                             chunk_rule::join_missing});
    for (archetypes::vertex v : g.vertices())
        for (archetypes::value x : g.results(v)) {
            if (plan.splits.empty()) plan.splits.push_back({x, 0, 0});
            if (v == plan.operations.back().vertex) plan.joins.push_back({x, 0, recombination::concat, 0, {}, false});
        }
    for (archetypes::vertex v : g.vertices()) plan.joins[0].readers = {v};
    CHECK(rules() == std::vector<chunk_rule>{chunk_rule::split_dim, chunk_rule::join_impossible});
}

namespace {

/// A way to spoil a right plan, or the program under it. `spoil` says whether it has changed something; then at least
/// one of `rules` must be found broken.
struct damage {
    const char* name;
    std::vector<chunk_rule> rules;
    bool (*spoil)(row_plan&, row_case&, std::size_t pick);
};

/// The first of n things, from `pick` on and around, that will do; n if none does.
template <class Predicate>
std::size_t choose(std::size_t n, std::size_t pick, Predicate will_do) {
    for (std::size_t k = 0; k < n; ++k)
        if (const std::size_t at = (pick + k) % n; will_do(at)) return at;
    return n;
}

std::size_t place_of(const row_plan& plan, const row_op* v) {
    std::size_t k = 0;
    while (k < plan.operations.size() && plan.operations[k].vertex != v) ++k;
    return k;
}
bool is_chunked(const row_plan& plan, const row_op* v, std::uint32_t region) {
    const std::size_t k = place_of(plan, v);
    return k < plan.operations.size() && plan.operations[k].region == region;
}
bool has_split(const row_plan& plan, const row_op* x, std::uint32_t region) {
    return std::any_of(plan.splits.begin(), plan.splits.end(),
                       [&](const auto& s) { return s.value == x && s.region == region; });
}
bool has_join(const row_plan& plan, const row_op* x) {
    return std::any_of(plan.joins.begin(), plan.joins.end(), [&](const auto& j) { return j.value == x; });
}
row_op* at(row_program& p, std::size_t number) {
    return &*std::next(p.ops.begin(), static_cast<std::ptrdiff_t>(number));
}
/// The value whose memory x lives in.
const row_op* memory_of(const row_op* x) {
    while (x->what == does::increment || x->what == does::wait || x->what == does::part) x = x->reads[0];
    return x;
}
/// Whether an operation of the same region writes the memory of x behind it.
bool is_written_inside(const row_plan& plan, const row_op* x, std::uint32_t region) {
    return std::any_of(plan.operations.begin(), plan.operations.end(), [&](const auto& o) {
        return o.region == region && o.vertex->what == does::increment && o.vertex->number > x->number &&
               memory_of(o.vertex) == memory_of(x);
    });
}
/// Takes operation k and the recombination of its result out.
void take_out(row_plan& plan, std::size_t k) {
    const row_op* v = plan.operations[k].vertex;
    std::erase_if(plan.joins, [&](const auto& j) { return j.value == v; });
    plan.operations.erase(plan.operations.begin() + static_cast<std::ptrdiff_t>(k));
}
template <class List>
auto from(List& list, std::size_t k) {
    return list.begin() + static_cast<std::ptrdiff_t>(k);
}
/// An operation that the program does not have.
row_op* stranger() {
    static row_op op{does::scale, {}};
    return &op;
}

const damage damages[] = {
    {"a sum that widens what has no part of its own in each chunk, or is read there",
     {chunk_rule::widening_misplaced},
     [](row_plan& plan, row_case&, std::size_t pick) {
         const std::size_t k = choose(plan.operations.size(), pick, [&](std::size_t n) {
             const auto& o = plan.operations[n];
             return o.vertex->what != does::widen || o.vertex->reads.size() != 1 || !has_join(plan, o.vertex) ||
                    !is_chunked(plan, o.vertex->reads[0], o.region);
         });
         if (k == plan.operations.size()) return false;
         return plan.operations[k].sum_widens = true;
     }},
    {"a conversion that is summed late",
     {chunk_rule::widening_misplaced},
     [](row_plan& plan, row_case&, std::size_t pick) {
         const std::size_t k =
             choose(plan.operations.size(), pick, [&](std::size_t n) { return plan.operations[n].sum_widens; });
         if (k == plan.operations.size()) return false;
         for (auto& j : plan.joins)
             if (j.value == plan.operations[k].vertex) j.late = true;
         return true;
     }},
    {"one more row in a chunk",
     {chunk_rule::sizes},
     [](row_plan& plan, row_case&, std::size_t pick) {
         auto& sizes = plan.regions[pick % plan.regions.size()].sizes;
         ++sizes[pick % sizes.size()];
         return true;
     }},
    {"an empty chunk",
     {chunk_rule::sizes},
     [](row_plan& plan, row_case&, std::size_t pick) {
         plan.regions[pick % plan.regions.size()].sizes.push_back(0);
         return true;
     }},
    {"other tokens",
     {chunk_rule::sizes},
     [](row_plan& plan, row_case&, std::size_t pick) {
         plan.regions[pick % plan.regions.size()].tokens *= 2;
         return true;
     }},
    {"an operation in no region",
     {chunk_rule::region_unknown},
     [](row_plan& plan, row_case&, std::size_t pick) {
         plan.operations[pick % plan.operations.size()].region = 7;
         return true;
     }},
    {"operations out of order",
     {chunk_rule::operation_out_of_order},
     [](row_plan& plan, row_case&, std::size_t pick) {
         if (plan.operations.size() < 2) return false;
         const std::size_t k = pick % (plan.operations.size() - 1);
         std::swap(plan.operations[k], plan.operations[k + 1]);
         return true;
     }},
    {"an operation twice",
     {chunk_rule::operation_out_of_order},
     [](row_plan& plan, row_case&, std::size_t pick) {
         const chunked_operation<row_op*> o = plan.operations[pick % plan.operations.size()];
         plan.operations.insert(from(plan.operations, pick % plan.operations.size()), o);
         return true;
     }},
    {"an operation from elsewhere",
     {chunk_rule::operation_unknown},
     [](row_plan& plan, row_case&, std::size_t pick) {
         plan.operations[pick % plan.operations.size()].vertex = stranger();
         return true;
     }},
    {"an operation left out",
     {chunk_rule::split_missing, chunk_rule::split_unused, chunk_rule::split_out_of_order},
     [](row_plan& plan, row_case&, std::size_t pick) {
         const std::size_t k = choose(plan.operations.size(), pick, [&](std::size_t n) {
             const auto& o = plan.operations[n];
             return !o.once && plan.result_states(o)[0].what != kind::whole &&
                    std::any_of(o.vertex->readers.begin(), o.vertex->readers.end(),
                                [&](const row_op* u) { return is_chunked(plan, u, o.region); });
         });
         if (k == plan.operations.size()) return false;
         take_out(plan, k);
         return true;
     }},
    {"an input chunked",
     {chunk_rule::step_boundary},
     [](row_plan& plan, row_case& c, std::size_t pick) {
         insert(plan, at(c.p, pick % 3), 0, {}, sliced);
         return true;
     }},
    {"an operation that no token reaches",
     {chunk_rule::not_reached},
     [](row_plan& plan, row_case& c, std::size_t pick) {
         const std::size_t k = choose(c.p.ops.size(), pick, [&](std::size_t n) {
             const row_op* v = at(c.p, n);
             return v->what == does::scale &&
                    std::none_of(plan.refused.begin(), plan.refused.end(),
                                 [&](const auto& r) { return r.vertex == v; }) &&
                    place_of(plan, v) == plan.operations.size() && !has_split(plan, v, 0) &&
                    !is_chunked(plan, v->reads[0], 0) && !has_split(plan, v->reads[0], 0);
         });
         if (k == c.p.ops.size()) return false;
         insert(plan, at(c.p, k), 0, {whole}, whole, true);
         return true;
     }},
    {"states of another operation",
     {chunk_rule::states_misplaced},
     [](row_plan& plan, row_case&, std::size_t pick) {
         auto& o = plan.operations[pick % plan.operations.size()];
         if (pick % 2 == 0) ++o.first_result;
         else o.last_result = static_cast<std::uint32_t>(plan.states.size() + 1);
         return true;
     }},
    {"a cut operand said to be whole",
     {chunk_rule::operand_state},
     [](row_plan& plan, row_case&, std::size_t pick) {
         const auto& o = plan.operations[pick % plan.operations.size()];
         for (std::uint32_t c = o.first_operand; c < o.first_result; ++c) {
             if (plan.states[c].what == kind::whole) continue;
             plan.states[c] = whole;
             return true;
         }
         return false;
     }},
    {"a whole operand said to be cut",
     {chunk_rule::split_missing, chunk_rule::operand_state},
     [](row_plan& plan, row_case&, std::size_t pick) {
         const auto& o = plan.operations[pick % plan.operations.size()];
         for (std::uint32_t c = o.first_operand; c < o.first_result; ++c) {
             if (plan.states[c].what != kind::whole) continue;
             plan.states[c] = sliced;
             return true;
         }
         return false;
     }},
    {"another state of a result",
     {chunk_rule::result_state},
     [](row_plan& plan, row_case&, std::size_t pick) {
         chunk_state& s = plan.states[plan.operations[pick % plan.operations.size()].first_result];
         s.what = s.what == kind::sliced ? kind::addend : kind::sliced;
         return true;
     }},
    {"rows counted otherwise",
     {chunk_rule::result_state},
     [](row_plan& plan, row_case&, std::size_t pick) {
         ++plan.states[plan.operations[pick % plan.operations.size()].first_result].positions;
         return true;
     }},
    {"an order of rows where there was none",
     {chunk_rule::result_state},
     [](row_plan& plan, row_case&, std::size_t pick) {
         plan.states[plan.operations[pick % plan.operations.size()].first_result].order = 5;
         return true;
     }},
    {"a split left out",
     {chunk_rule::split_missing},
     [](row_plan& plan, row_case&, std::size_t pick) {
         if (plan.splits.empty()) return false;
         plan.splits.erase(from(plan.splits, pick % plan.splits.size()));
         return true;
     }},
    {"a split twice",
     {chunk_rule::split_doubled},
     [](row_plan& plan, row_case&, std::size_t pick) {
         if (plan.splits.empty()) return false;
         plan.splits.push_back(plan.splits[pick % plan.splits.size()]);
         return true;
     }},
    {"a split along no dimension",
     {chunk_rule::split_dim},
     [](row_plan& plan, row_case&, std::size_t pick) {
         if (plan.splits.empty()) return false;
         plan.splits[pick % plan.splits.size()].dim = pick % 2 == 0 ? 1 : 300;
         return true;
     }},
    {"a split that nobody reads",
     {chunk_rule::split_unused},
     [](row_plan& plan, row_case& c, std::size_t pick) {
         const std::size_t k = choose(c.p.ops.size(), pick, [&](std::size_t n) {
             const row_op* x = at(c.p, n);
             return !is_chunked(plan, x, 0) && std::none_of(x->readers.begin(), x->readers.end(),
                                                            [&](const row_op* u) { return is_chunked(plan, u, 0); });
         });
         if (k == c.p.ops.size()) return false;
         plan.splits.push_back({at(c.p, k), 0, 0});
         return true;
     }},
    {"a split of parts",
     {chunk_rule::split_of_own},
     [](row_plan& plan, row_case&, std::size_t pick) {
         const auto& o = plan.operations[pick % plan.operations.size()];
         plan.splits.push_back({o.vertex, o.region, 0});
         return true;
     }},
    {"a split for no region",
     {chunk_rule::region_unknown},
     [](row_plan& plan, row_case&, std::size_t pick) {
         if (plan.splits.empty()) return false;
         plan.splits[pick % plan.splits.size()].region = 7;
         return true;
     }},
    {"splits out of order",
     {chunk_rule::split_out_of_order},
     [](row_plan& plan, row_case&, std::size_t pick) {
         if (plan.splits.size() < 2) return false;
         const std::size_t k = pick % (plan.splits.size() - 1);
         std::swap(plan.splits[k], plan.splits[k + 1]);
         return true;
     }},
    {"a join left out",
     {chunk_rule::join_missing},
     [](row_plan& plan, row_case&, std::size_t pick) {
         if (plan.joins.empty()) return false;
         plan.joins.erase(from(plan.joins, pick % plan.joins.size()));
         return true;
     }},
    {"a join twice",
     {chunk_rule::join_doubled},
     [](row_plan& plan, row_case&, std::size_t pick) {
         if (plan.joins.empty()) return false;
         const chunk_join<row_op*, row_op*> j = plan.joins[pick % plan.joins.size()];
         plan.joins.insert(from(plan.joins, pick % plan.joins.size()), j);
         return true;
     }},
    {"a join that nobody reads",
     {chunk_rule::join_unread},
     [](row_plan& plan, row_case&, std::size_t pick) {
         const std::size_t k = choose(plan.operations.size(), pick,
                                      [&](std::size_t n) { return !has_join(plan, plan.operations[n].vertex); });
         if (k == plan.operations.size()) return false;
         row_op* v = plan.operations[k].vertex;
         auto to = plan.joins.begin();
         while (to != plan.joins.end() && to->value->number < v->number) ++to;
         plan.joins.insert(to, {v, plan.operations[k].region, recombination::concat, 0, {}, false});
         return true;
     }},
    {"joins out of order",
     {chunk_rule::join_misplaced},
     [](row_plan& plan, row_case&, std::size_t pick) {
         if (plan.joins.size() < 2) return false;
         const std::size_t k = pick % (plan.joins.size() - 1);
         std::swap(plan.joins[k], plan.joins[k + 1]);
         return true;
     }},
    {"a join of what is whole",
     {chunk_rule::join_misplaced},
     [](row_plan& plan, row_case& c, std::size_t) {
         plan.joins.push_back({at(c.p, 1), 0, recombination::concat, 0, {&c.p.ops.back()}, false});
         return true;
     }},
    {"a join in another region",
     {chunk_rule::join_misplaced},
     [](row_plan& plan, row_case&, std::size_t pick) {
         if (plan.joins.empty()) return false;
         std::uint32_t& region = plan.joins[pick % plan.joins.size()].region;
         region = 1 - region;
         return true;
     }},
    {"a join in no region",
     {chunk_rule::region_unknown},
     [](row_plan& plan, row_case&, std::size_t pick) {
         if (plan.joins.empty()) return false;
         plan.joins[pick % plan.joins.size()].region = 7;
         return true;
     }},
    {"a reader of part 0",
     {chunk_rule::reader_left_behind},
     [](row_plan& plan, row_case&, std::size_t pick) {
         if (plan.joins.empty()) return false;
         auto& readers = plan.joins[pick % plan.joins.size()].readers;
         readers.erase(from(readers, pick % readers.size()));
         return true;
     }},
    {"a reader that reads something else",
     {chunk_rule::reader_uninvolved},
     [](row_plan& plan, row_case& c, std::size_t pick) {
         if (plan.joins.empty()) return false;
         plan.joins[pick % plan.joins.size()].readers.push_back(pick % 2 == 0 ? at(c.p, 0) : stranger());
         return true;
     }},
    {"a reader twice",
     {chunk_rule::readers_out_of_order},
     [](row_plan& plan, row_case&, std::size_t pick) {
         if (plan.joins.empty()) return false;
         auto& readers = plan.joins[pick % plan.joins.size()].readers;
         row_op* again = readers[pick % readers.size()];
         readers.push_back(again);
         return true;
     }},
    {"a wrong recombination",
     {chunk_rule::join_way},
     [](row_plan& plan, row_case&, std::size_t pick) {
         if (plan.joins.empty()) return false;
         auto& how = plan.joins[pick % plan.joins.size()].how;
         how = static_cast<recombination>((static_cast<std::size_t>(how) + 1 + pick % 2) % 3);
         return true;
     }},
    {"rows concatenated along no dimension",
     {chunk_rule::join_way},
     [](row_plan& plan, row_case&, std::size_t pick) {
         const std::size_t k =
             choose(plan.joins.size(), pick, [&](std::size_t n) { return plan.joins[n].how == recombination::concat; });
         if (k == plan.joins.size()) return false;
         ++plan.joins[k].dim;
         return true;
     }},
    {"slices written along no dimension",
     {chunk_rule::join_way},
     [](row_plan& plan, row_case&, std::size_t pick) {
         const std::size_t k =
             choose(plan.joins.size(), pick, [&](std::size_t n) { return plan.joins[n].how == recombination::slices; });
         if (k == plan.joins.size()) return false;
         ++plan.joins[k].dim;
         return true;
     }},
    {"slices of what the region still writes",
     {chunk_rule::slices_late},
     [](row_plan& plan, row_case&, std::size_t pick) {
         const std::size_t k = choose(plan.joins.size(), pick, [&](std::size_t n) {
             return plan.joins[n].how == recombination::concat && plan.joins[n].late;
         });
         if (k == plan.joins.size()) return false;
         plan.joins[k].how = recombination::slices;
         return true;
     }},
    {"a recombination before the last write",
     {chunk_rule::join_too_early},
     [](row_plan& plan, row_case&, std::size_t pick) {
         const std::size_t k = choose(plan.joins.size(), pick, [&](std::size_t n) {
             const auto& j = plan.joins[n];
             return j.how != recombination::first && is_written_inside(plan, j.value, j.region);
         });
         if (k == plan.joins.size()) return false;
         plan.joins[k].late = false;
         return true;
     }},
    {"only the first chunk",
     {chunk_rule::once_differs},
     [](row_plan& plan, row_case&, std::size_t pick) {
         const std::size_t k = choose(plan.operations.size(), pick, [&](std::size_t n) {
             return plan.result_states(plan.operations[n])[0].what != kind::whole;
         });
         if (k == plan.operations.size()) return false;
         plan.operations[k].once = true;
         return true;
     }},
    {"chunked and whole",
     {chunk_rule::refused_and_chunked},
     [](row_plan& plan, row_case&, std::size_t pick) {
         plan.refused = {{plan.operations[pick % plan.operations.size()].vertex, {}}};
         return true;
     }},
    {"whole, from elsewhere",
     {chunk_rule::operation_unknown},
     [](row_plan& plan, row_case&, std::size_t) {
         plan.refused.push_back({stranger(), {}});
         return true;
     }},
    {"whole twice",
     {chunk_rule::operation_out_of_order},
     [](row_plan& plan, row_case&, std::size_t pick) {
         if (plan.refused.empty()) return false;
         const auto again = plan.refused[pick % plan.refused.size()];
         plan.refused.push_back(again);
         return true;
     }},
    {"a wait left out",
     {chunk_rule::collective_torn},
     [](row_plan& plan, row_case&, std::size_t pick) {
         const std::size_t k = choose(plan.operations.size(), pick,
                                      [&](std::size_t n) { return plan.operations[n].vertex->what == does::wait; });
         if (k == plan.operations.size()) return false;
         take_out(plan, k);
         return true;
     }},
    {"a start left out",
     {chunk_rule::collective_torn, chunk_rule::split_unused, chunk_rule::split_out_of_order},
     [](row_plan& plan, row_case&, std::size_t pick) {
         const std::size_t k = choose(plan.operations.size(), pick,
                                      [&](std::size_t n) { return plan.operations[n].vertex->what == does::send; });
         if (k == plan.operations.size()) return false;
         take_out(plan, k);
         return true;
     }},
    {"something in flight recombined",
     {chunk_rule::join_in_flight},
     [](row_plan& plan, row_case& c, std::size_t pick) {
         const std::size_t k = choose(plan.operations.size(), pick, [&](std::size_t n) {
             const auto& o = plan.operations[n];
             return o.vertex->what == does::send && plan.result_states(o)[0].what != kind::whole;
         });
         if (k == plan.operations.size()) return false;
         row_op* sent = plan.operations[k].vertex;
         c.p.ops.back().reads.push_back(sent);
         auto to = plan.joins.begin();
         while (to != plan.joins.end() && to->value->number < sent->number) ++to;
         const recombination how = pick % 2 == 0 ? recombination::concat : recombination::slices;
         plan.joins.insert(to, {sent, plan.operations[k].region, how, 0, {&c.p.ops.back()}, false});
         return true;
     }},
    {"a new dead reader",
     {chunk_rule::reader_left_behind, chunk_rule::join_missing},
     [](row_plan& plan, row_case& c, std::size_t pick) {
         row_op* x = plan.operations[pick % plan.operations.size()].vertex;
         c.p.append(does::running, {x}, x->rows);
         return true;
     }},
    {"a new writer outside",
     {chunk_rule::written_outside},
     [](row_plan& plan, row_case& c, std::size_t pick) {
         const auto& o = plan.operations[pick % plan.operations.size()];
         if (o.is_chain()) return false;  // what all chunks share, anybody may write
         c.p.append(does::increment, {o.vertex, at(c.p, 1)}, o.vertex->rows);
         return true;
     }},
    {"a new reader between writes",
     {chunk_rule::read_between_writes},
     [](row_plan& plan, row_case& c, std::size_t pick) {
         const std::size_t k = choose(plan.operations.size(), pick, [&](std::size_t n) {
             return !plan.operations[n].is_chain() &&
                    is_written_inside(plan, plan.operations[n].vertex, plan.operations[n].region);
         });
         if (k == plan.operations.size()) return false;
         row_op* x = plan.operations[k].vertex;
         c.p.append(does::scale, {x}, x->rows);
         c.p.ops.splice(std::next(c.p.ops.begin(), static_cast<std::ptrdiff_t>(x->number) + 1), c.p.ops,
                        std::prev(c.p.ops.end()));
         return true;
     }},
    {"an operation that mixes rows",
     {chunk_rule::refused_by_model},
     [](row_plan& plan, row_case&, std::size_t pick) {
         const std::size_t k = choose(plan.operations.size(), pick,
                                      [&](std::size_t n) { return plan.operations[n].vertex->what == does::scale; });
         if (k == plan.operations.size()) return false;
         plan.operations[k].vertex->what = does::running;
         return true;
     }},
    {"an operation that writes what all share",
     {chunk_rule::shared_write},
     [](row_plan& plan, row_case& c, std::size_t pick) {
         const std::size_t k = choose(plan.operations.size(), pick, [&](std::size_t n) {
             const row_op* v = plan.operations[n].vertex;
             return v->what == does::add && !is_chunked(plan, v->reads[0], plan.operations[n].region) &&
                    !has_split(plan, v->reads[0], plan.operations[n].region);
         });
         if (k == plan.operations.size()) return false;
         plan.operations[k].vertex->what = does::increment;
         return !c.p.ops.empty();
     }},
    {"a chain whose clones do not follow each other",
     {chunk_rule::shared_write},
     [](row_plan& plan, row_case&, std::size_t pick) {
         const std::size_t k =
             choose(plan.operations.size(), pick, [&](std::size_t n) { return plan.operations[n].is_chain(); });
         if (k == plan.operations.size()) return false;
         plan.operations[k].chained = plan.operations[k].no_chain;
         return true;
     }},
    {"a chain through another operand, or where there is none",
     {chunk_rule::chain_misplaced},
     [](row_plan& plan, row_case&, std::size_t pick) {
         auto& o = plan.operations[pick % plan.operations.size()];
         o.chained = o.is_chain() ? 1 : static_cast<std::uint32_t>(pick % 3);
         return true;
     }},
    {"rows that do not divide",
     {chunk_rule::extent_indivisible},
     [](row_plan& plan, row_case&, std::size_t pick) {
         const std::size_t k = choose(plan.operations.size(), pick, [&](std::size_t n) {
             const auto& o = plan.operations[n];
             return plan.result_states(o)[0].what == kind::sliced && plan.regions[o.region].tokens > 1 &&
                    o.vertex->what != does::numbers;
         });
         if (k == plan.operations.size()) return false;
         ++plan.operations[k].vertex->rows;
         return true;
     }},
};

}  // namespace

TEST_CASE("plans that the planner makes are right, and damage to them is found") {
    std::vector<std::size_t> spoiled(std::size(damages), 0);
    std::size_t planned = 0, chunked = 0;
    stretto_check("verified", 2000, [&] {
        const support::row_recipe recipe = support::arbitrary_recipe();
        const std::size_t pick = *rc::gen::inRange<std::size_t>(0, 1000);
        {
            row_case c = support::make_row_case(recipe);
            const row_plan made = support::plan_row_case(c);
            const auto verified = verify(made, c.p);
            RC_ASSERT(verified.has_value());
            RC_ASSERT(verified->counts == made.counts());
            ++planned;
            if (made.empty()) return;
            ++chunked;
            const auto before = support::run(c.p, 5);
            apply(made, c.p);
            RC_ASSERT(support::run(c.p, 5) == before);
        }
        for (std::size_t d = 0; d < std::size(damages); ++d) {
            row_case c = support::make_row_case(recipe);
            row_plan made = support::plan_row_case(c);
            if (!damages[d].spoil(made, c, pick)) continue;
            const auto found = verify(made, c.p);
            bool named = false;
            for (chunk_rule rule : damages[d].rules) named = named || find(found, rule) != nullptr;
            if (!named) RC_FAIL(damages[d].name);
            ++spoiled[d];
        }
    });
    MESSAGE(chunked << " of " << planned << " plans chunk something");
    for (std::size_t d = 0; d < std::size(damages); ++d) {
        INFO(damages[d].name);
        if (support::runs_all_cases()) CHECK(spoiled[d] > 0);
    }
}
