#include "stretto/transform/explain_chunks.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "stretto/transform/plan_chunks.hpp"
#include "support/row_ir.hpp"

using namespace stretto;
using support::row_op;
using support::row_program;
using does = row_op::does;
using region_list = std::vector<chunk_region<row_op*>>;
using token_list = std::vector<token_dimension<row_op*>>;

namespace {

struct names {
    [[nodiscard]] std::string name(row_op* v) const {
        return v == nullptr ? "nobody" : "op" + std::to_string(v->number);
    }
};
static_assert(chunk_labels<names, support::row_view> && value_shapes<support::row_chunk_model, support::row_view>);

struct request {
    row_program& program;
    region_list of;
    token_list along;

    template <class E>
    [[nodiscard]] chunk_explanation<row_op*> explain(const E& e) const {
        const support::row_model model;
        const support::row_chunk_model shapes;
        const names labels;
        return chunk_explainer(support::row_view{&program}, model, shapes, labels, std::span(of), std::span(along))
            .explain(e);
    }
    /// What is said of the request, which plan_chunks refuses.
    [[nodiscard]] chunk_explanation<row_op*> refused() const {
        const auto made =
            plan_chunks(support::row_view{&program}, support::row_model{}, support::row_chunk_model{},
                        std::span<const chunk_region<row_op*>>(of), std::span<const token_dimension<row_op*>>(along));
        REQUIRE_FALSE(made.has_value());
        return explain(made.error());
    }
};
using subject = chunk_explanation<row_op*>::subject;

}  // namespace

TEST_CASE("what plan_chunks refuses is said of the caller's operations") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* w = p.append(does::scale, {p.append(does::input, {}, 1)}, 1);
    row_op* y = p.append(does::add, {x, w}, 4);
    row_op* r = p.append(does::running, {y}, 4);
    row_op* s = p.append(does::order, {y}, 4);
    row_op* c = p.append(does::send, {y}, 4);
    row_op* q = p.append(does::wait, {c}, 4);
    p.append(does::output, {r, s, q}, 1);
    const auto said = [&](region_list of, token_list along) {
        return request{p, std::move(of), std::move(along)}.refused();
    };

    CHECK(said({}, {{x, 0}}).about == subject::step);
    CHECK(said({}, {{x, 0}}).cause == "no region to chunk is given");
    const auto no_rows = said({{{y}, {0, 0}}}, {{x, 0}});
    CHECK(no_rows.about == subject::region);
    CHECK(no_rows.region == 0);
    CHECK(no_rows.cause == "is to run in chunks, and none of them has any rows");
    CHECK(said({{{y}, {5, -1}}}, {{x, 0}}).cause == "is to run in chunks of 5 + -1 rows");
    CHECK(said({{{y}, {INT64_MAX, 5}}}, {{x, 0}}).cause ==
          "is to run in chunks of 9223372036854775807 + 5 rows, more than 2^63 - 1");
    CHECK(said({{{y}, std::vector<std::int64_t>(1000, 1)}}, {{x, 0}}).cause ==
          "has 4 rows of tokens along dimension 0, and the chunks of the region have "
          "1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + (992 more) = 1000");
    const auto uneven = said({{{y}, {2, 1}}}, {{x, 0}});
    CHECK(uneven.about == subject::vertex);
    CHECK(uneven.vertex == x);
    CHECK(uneven.cause == "has 4 rows of tokens along dimension 0, and the chunks of the region have 2 + 1 = 3");
    const auto missing = said({{{y}, {2, 2}}}, {{x, 1}});
    CHECK(missing.cause == "is to be cut along dimension 1, and has 1 dimension");
    CHECK(missing.region == chunk_explanation<row_op*>::no_region);
    CHECK(said({{{y}, {2, 2}}}, {{x, 1}, {x, 0}}).cause == missing.cause);  // not the dimension that it has
    CHECK(said({{{w}, {2, 2}}}, {{x, 0}}).cause == "has no node that a token reaches, so there is nothing to cut");
    row_program other;
    while (other.ops.size() < p.ops.size()) other.append(does::input, {}, 4);
    row_op* foreign = other.append(does::input, {}, 4);
    const auto strange = said({{{y}, {2, 2}}}, {{foreign, 0}});
    CHECK(strange.vertex == foreign);
    CHECK(strange.cause == "is not listed by the graph");
    CHECK(strange.region == chunk_explanation<row_op*>::no_region);
    CHECK(said({{{y, foreign}, {2, 2}}}, {{x, 0}}).region == 0);
    const auto twice = said({{{y}, {2, 2}}, {{y, s}, {1, 3}}}, {{x, 0}});
    CHECK(twice.cause == "is a node of two regions: also of region 0");
    CHECK(twice.vertex == y);
    CHECK(twice.region == 1);
    CHECK(said({{{y, r}, {2, 2}}}, {{x, 0}}).cause == "cannot run per chunk: a row depends on all before it");
    CHECK(said({{{y, c}, {2, 2}}}, {{x, 0}})
              .cause.find("is a collective that must be chunked together with its wait op" +
                          std::to_string(q->number)) == 0);
}

TEST_CASE("every reason has a sentence and a hint of its own") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* y = p.append(does::scale, {x}, 4);
    const request asked{p, {{{y}, {2, 2}}}, {{x, 0}}};
    std::set<std::string> sentences;
    int reasons = 0;
    for (int k = 0; k <= static_cast<int>(chunk_reason::result_unset); ++k, ++reasons) {
        chunk_error<row_op*> e{.why = static_cast<chunk_reason>(k)};
        e.vertex = x;
        e.other = y;
        e.detail = "because";
        e.path = {x, y, x, y, x, y};
        const auto words = asked.explain(e);
        CHECK_FALSE(words.hint.empty());
        sentences.insert(words.cause);
    }
    CHECK(sentences.size() == static_cast<std::size_t>(reasons));
    chunk_error<row_op*> path{.why = chunk_reason::not_convex};
    path.path = {x, y, x, y, x, y};
    CHECK(asked.explain(path).cause ==
          "lies on a path that leaves the region and enters it again: op0 -> op1 -> op0 -> (2 more) -> op1");
    CHECK(asked.explain(path).vertex == y);
}

TEST_CASE("a broken rule names the rule and the second party") {
    row_program p;
    row_op* x = p.append(does::input, {}, 4);
    row_op* y = p.append(does::scale, {x}, 4);
    const request asked{p, {{{y}, {2, 2}}}, {{x, 0}}};
    chunk_violation<row_op*> v{.broken = chunk_rule::result_unset};
    v.vertex = y;
    const std::string rule = "the plan of its chunks breaks a rule: " + std::string(hint(v.broken));
    CHECK(asked.explain(v).cause == rule);
    v.other = x;
    v.detail = "why";
    CHECK(asked.explain(v).cause == rule + " (op0): why");
    CHECK(asked.explain(v).about == subject::vertex);
}
