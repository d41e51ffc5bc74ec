#include "stretto/testing/check_chunk_model.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/checked_row_ir.hpp"
#include "support/row_ir.hpp"

using namespace stretto;
using support::row_op;
using does = row_op::does;
using kind = chunk_state::kind;

namespace {

/// The model of the row IR with something wrong.
struct lying_model : support::row_chunk_model {
    enum lie {
        none,
        total_is_rows,
        sorted_is_sliced,
        running_is_sliced,
        numbers_count_from_0,
        numbers_count_too_far,
        scaled_numbers_count_the_same,
        row_added_to_addend,
        two_addends_are_whole,
        sum_of_sorted_rows,
        chain_of_sum,
        forgets_result,
        answers_by_chance,
        extent_of_part,
        rank_of_row,
        two_components,
        scales_are_widened
    };
    lie wrong = none;
    int* asked = nullptr;

    std::size_t components_of(row_op* x) const { return wrong == two_components && x->what == does::total ? 2 : 1; }
    std::size_t rank(row_op* x, std::size_t c) const {
        return wrong == rank_of_row && x->what == does::total ? 1 : row_chunk_model::rank(x, c);
    }
    std::int64_t extent(row_op* x, std::size_t c, std::size_t d) const {
        return row_chunk_model::extent(x, c, d) / (wrong == extent_of_part && x->what == does::order ? 2 : 1);
    }
    bool sum_widens(row_op* v) const {
        return row_chunk_model::sum_widens(v) || (wrong == scales_are_widened && v->what == does::scale);
    }
    chunk_verdict combine_rule(row_op* v, std::int64_t tokens, std::span<const chunk_state> in,
                               std::span<chunk_state> out) const {
        const bool two = in.size() == 2;
        if (wrong == total_is_rows && v->what == does::total) return out[0] = in[0], chunk_verdict{};
        if (wrong == sorted_is_sliced && v->what == does::order) return out[0] = {kind::sliced, 0}, chunk_verdict{};
        if (wrong == running_is_sliced && v->what == does::running) return out[0] = in[0], chunk_verdict{};
        if (wrong == row_added_to_addend && v->what == does::add && two && in[0].what == kind::addend &&
            in[1].what == kind::whole)
            return out[0] = in[0], chunk_verdict{};
        if (wrong == two_addends_are_whole && v->what == does::add && two && in[0].what == kind::addend &&
            in[1].what == kind::addend)
            return out[0] = {kind::whole}, chunk_verdict{};
        if (wrong == sum_of_sorted_rows && two && in[0].what == kind::permuted && in[1].what == kind::permuted)
            return out[0] = in[0], chunk_verdict{};
        if (wrong == forgets_result && v->what == does::widen) return {};
        if (wrong == answers_by_chance && v->what == does::scale && ++*asked % 2 == 0) return {false, "not now"};
        chunk_verdict verdict = row_chunk_model::combine_rule(v, tokens, in, out);
        if (wrong == numbers_count_from_0 && v->what == does::numbers) out[0].positions = 0;
        if (wrong == numbers_count_too_far && v->what == does::numbers) out[0].positions *= 2;
        if (wrong == scaled_numbers_count_the_same && v->what == does::scale) out[0].positions = in[0].positions;
        if (wrong == chain_of_sum && v->what == does::total) verdict.chain = true;
        return verdict;
    }
};

std::string verdict(lying_model::lie lie, const chunk_model_options& options = {}) {
    support::row_program p = support::every_row_operation();
    int asked = 0;
    lying_model model;
    model.wrong = lie;
    model.asked = &asked;
    const auto checked =
        check_chunk_model(support::row_view{&p}, support::row_model{}, model, support::row_evaluate{}, options);
    return checked ? "fine" : checked.error().rule + (" " + std::to_string(checked.error().vertex));
}

}  // namespace

// [check-chunk-model]
TEST_CASE("my chunk model says what is true") {
    support::row_program p = support::every_row_operation();  // all kinds of operations, extents of a few rows
    const auto checked = stretto::check_chunk_model(support::row_view{&p}, support::row_model{},
                                                    support::row_chunk_model{}, support::row_evaluate{});
    if (!checked) FAIL(checked.error().message());
    CHECK(checked->accepted > checked->asked / 4);
    CHECK(checked->never_accepted == 2);  // running sums, and the total of one row
}
// [/check-chunk-model]

TEST_CASE("the same seed asks the same questions") {
    support::row_program p = support::every_row_operation();
    const auto ask = [&](std::uint64_t seed) {
        chunk_model_options options;
        options.seed = seed;
        return check_chunk_model(support::row_view{&p}, support::row_model{}, support::row_chunk_model{},
                                 support::row_evaluate{}, options)
            ->accepted;
    };
    CHECK(ask(1) == ask(1));
    CHECK(ask(1) != ask(2));
}

TEST_CASE("each untruth is found, at the operation that it is about") {
    CHECK(verdict(lying_model::none) == "fine");
    CHECK(verdict(lying_model::total_is_rows) == "states 8");
    CHECK(verdict(lying_model::sorted_is_sliced) == "states 7");
    CHECK(verdict(lying_model::running_is_sliced) == "states 14");
    CHECK(verdict(lying_model::numbers_count_from_0) == "states 11");
    CHECK(verdict(lying_model::numbers_count_too_far) == "states 11");
    CHECK(verdict(lying_model::scaled_numbers_count_the_same) == "states 12");
    CHECK(verdict(lying_model::row_added_to_addend) == "states 6");
    CHECK(verdict(lying_model::sum_of_sorted_rows) == "states 6");
    CHECK(verdict(lying_model::chain_of_sum) == "chain 8");
    CHECK(verdict(lying_model::forgets_result) == "unset 15");
    CHECK(verdict(lying_model::answers_by_chance) == "repeatable 2");
    CHECK(verdict(lying_model::extent_of_part) == "shape 7");
    CHECK(verdict(lying_model::rank_of_row) == "shape 8");
    CHECK(verdict(lying_model::two_components) == "shape 8");
    CHECK(verdict(lying_model::scales_are_widened) == "widening 2");
}

TEST_CASE("what is wrong when operands are cut alike is found without luck") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        chunk_model_options none_at_random;
        none_at_random.seed = seed;
        none_at_random.cases = none_at_random.walks = 0;
        CHECK(verdict(lying_model::none, none_at_random) == "fine");
        for (const lying_model::lie lie : {lying_model::two_addends_are_whole, lying_model::row_added_to_addend}) {
            const std::string found = verdict(lie, none_at_random);  // of two additions
            CHECK((found == "states 5" || found == "states 6"));
        }
        CHECK(verdict(lying_model::total_is_rows, none_at_random) == "states 8");
    }
}

TEST_CASE("a finding says on what it was found") {
    support::row_program p = support::every_row_operation();
    lying_model model;
    model.wrong = lying_model::sorted_is_sliced;
    const auto checked = check_chunk_model(support::row_view{&p}, support::row_model{}, model, support::row_evaluate{});
    REQUIRE(!checked);
    const std::string text = checked.error().message();
    CHECK(text.find("states: vertex 7: the parts are not what the states of the results say; operands ") == 0);
    CHECK(text.find("result 0 is said to be sliced(0)") != std::string::npos);
}
