#include "stretto/transform/chunk_plan_text.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "support/prop.hpp"
#include "support/row_programs.hpp"

using namespace stretto;
using plan_type = chunk_plan<int, int>;
using kind = chunk_state::kind;

namespace {

std::string vertex_name(int v) { return "v" + std::to_string(v); }
std::string value_name(int x) { return "x" + std::to_string(x); }

std::optional<int> number_behind(std::string_view name, char letter) {
    if (name.size() != 2 || name[0] != letter || name[1] < '0' || name[1] > '9') return {};
    return name[1] - '0';
}

expected<plan_type, plan_text_error> read(std::string_view text) {
    return read_chunk_plan<int, int>(
        text, [](std::string_view name) { return number_behind(name, 'v'); },
        [](std::string_view name) { return number_behind(name, 'x'); });
}

constexpr std::string_view example = R"(stretto-chunk-plan 1
region 6 4 2
region 3 1 1 1
operation "v1" 0 reads sliced@0,positions=-2 whole makes permuted@1,order=3,into=4 addend
operation "v2" 1 once reads makes whole
operation "v3" 1 reads opaque@2 makes
split "x0" 0 1
join "x1" 0 concat 2 readers "v4"
join "x2" 1 sum late readers "v4" "v5"
join "x3" 1 first readers "v5"
refused "v6"
end
)";

template <class P>
bool same(const P& a, const P& b) {
    bool equal = a.regions.size() == b.regions.size() && a.operations.size() == b.operations.size() &&
                 a.splits.size() == b.splits.size() && a.joins.size() == b.joins.size() && a.states == b.states &&
                 a.unreached == b.unreached &&
                 std::equal(a.refused.begin(), a.refused.end(), b.refused.begin(), b.refused.end(),
                            [](const auto& x, const auto& y) { return x.vertex == y.vertex; });
    for (std::size_t k = 0; equal && k < a.regions.size(); ++k)
        equal = a.regions[k].tokens == b.regions[k].tokens && a.regions[k].sizes == b.regions[k].sizes;
    for (std::size_t k = 0; equal && k < a.operations.size(); ++k) {
        const auto &o = a.operations[k], &p = b.operations[k];
        equal = o.vertex == p.vertex && o.region == p.region && o.once == p.once &&
                o.first_operand == p.first_operand && o.first_result == p.first_result &&
                o.last_result == p.last_result && o.chained == p.chained && o.sum_widens == p.sum_widens;
    }
    for (std::size_t k = 0; equal && k < a.splits.size(); ++k)
        equal = a.splits[k].value == b.splits[k].value && a.splits[k].region == b.splits[k].region &&
                a.splits[k].dim == b.splits[k].dim;
    for (std::size_t k = 0; equal && k < a.joins.size(); ++k) {
        const auto &i = a.joins[k], &j = b.joins[k];
        equal = i.value == j.value && i.region == j.region && i.how == j.how && i.late == j.late &&
                i.readers == j.readers &&
                (i.how == recombination::sum || i.how == recombination::first || i.dim == j.dim);
    }
    return equal;
}

}  // namespace

TEST_CASE("a chain as text, and back") {
    constexpr std::string_view text =
        "stretto-chunk-plan 1\nregion 2 1 1\noperation \"v1\" 0 chain 1 reads addend whole makes whole\nend\n";
    const auto plan = read(text);
    REQUIRE(plan);
    CHECK(plan->operations[0].chained == 1);
    CHECK(write_chunk_plan(*plan, vertex_name, value_name) == text);
}

TEST_CASE("every kind of state has a word, even the one that no plan of plan_chunks has") {
    for (int k = 0; k <= static_cast<int>(kind::unset); ++k) {
        plan_type plan;
        plan.regions.push_back({2, {1, 1}});
        plan.states.push_back({static_cast<kind>(k)});
        plan.operations.push_back({.vertex = 1, .first_result = 0, .last_result = 1});
        const auto back = read(write_chunk_plan(plan, vertex_name, value_name));
        REQUIRE(back);
        CHECK(same(*back, plan));
    }
}

TEST_CASE("a plan as text, and back") {
    const auto plan = read(example);
    REQUIRE(plan);
    CHECK(plan->counts() == chunk_counts{3, 6, 1, 1, 1});
    CHECK(!plan->operations[2].is_chain());
    CHECK(plan->regions[1].sizes == std::vector<std::int64_t>{1, 1, 1});
    CHECK(plan->operand_states(plan->operations[0])[0] == chunk_state{kind::sliced, 0, -2});
    CHECK(plan->result_states(plan->operations[0])[0] == chunk_state{kind::permuted, 1, 0, 3, 4});
    CHECK(plan->operations[1].once);
    CHECK(plan->operand_states(plan->operations[2])[0] == chunk_state{kind::opaque, 2});
    CHECK(plan->joins[1].readers == std::vector<int>{4, 5});
    CHECK(plan->joins[1].late);
    REQUIRE(plan->refused.size() == 1);
    CHECK(plan->refused[0].vertex == 6);
    CHECK(write_chunk_plan(*plan, vertex_name, value_name) == example);
}

TEST_CASE("what a sum widens as text, and back") {
    const std::string text =
        "stretto-chunk-plan 1\nregion 2 1 1\n"
        "operation \"v1\" 0 sum-widens reads addend makes addend\n"
        "join \"x1\" 0 sum readers \"v4\"\nend\n";
    const auto plan = read(text);
    REQUIRE(plan);
    CHECK(plan->operations[0].sum_widens);
    CHECK(plan->counts().clones == 1);
    CHECK(write_chunk_plan(*plan, vertex_name, value_name) == text);
}

TEST_CASE("regions that no token reaches as text, and back") {
    const std::string head = "stretto-chunk-plan 1\nregion 2 1 1\nregion 3 1 2\nregion 3 2 1\n";
    const std::string text = head + "unreached 0\nunreached 2\nend\n";
    const auto plan = read(text);
    REQUIRE(plan);
    CHECK(plan->unreached == std::vector<std::uint32_t>{0, 2});
    CHECK(write_chunk_plan(*plan, vertex_name, value_name) == text);
    const auto fault = [&](const char* lines) { return read(head + lines + "end\n").error(); };
    CHECK(fault("unreached 3\n") == plan_text_error{5, "this region has not been described"});
    CHECK(fault("unreached 1\nunreached 1\n") == plan_text_error{6, "these regions are named in order"});
}

TEST_CASE("slices as text, and back") {
    std::string text(example);
    text.replace(text.find("concat 2"), 8, "slices 2");
    const auto plan = read(text);
    REQUIRE(plan);
    CHECK(plan->joins[0].how == recombination::slices);
    CHECK(plan->joins[0].dim == 2);
    CHECK(plan->counts() == chunk_counts{3, 6, 1, 0, 1, 1, 2});
    CHECK(write_chunk_plan(*plan, vertex_name, value_name) == text);
    text.replace(text.find("slices 2"), 8, "slices");
    REQUIRE(!read(text));
    CHECK(read(text).error() == plan_text_error{8, "a number from 0 to 127 is expected"});
}

TEST_CASE("names may consist of any bytes") {
    const std::string name = std::string("a \"b\" \\ c\n\0\x7f\xc3\xa4", 14);
    plan_type plan;
    plan.refused.push_back({7, {chunk_reason::refused, 0, 7, 7}});
    const std::string text = write_chunk_plan(plan, [&](int) { return name; }, value_name);
    CHECK(text == "stretto-chunk-plan 1\nrefused \"a \\\"b\\\" \\\\ c\\x0a\\x00\x7f\xc3\xa4\"\nend\n");
    const auto again = read_chunk_plan<int, int>(
        text, [&](std::string_view n) { return n == name ? std::optional(7) : std::nullopt; },
        [](std::string_view) { return std::optional<int>(); });
    REQUIRE(again);
    REQUIRE(again->refused.size() == 1);
    CHECK(again->refused[0].vertex == 7);
}

TEST_CASE("the first fault of a text is named with its line") {
    struct fault {
        std::string_view found, instead;
        std::size_t line;
        std::string_view cause;
    };
    const fault faults[] = {
        {"stretto-chunk-plan 1", "chunks", 1, "\"stretto-chunk-plan\" is expected"},
        {"plan 1", "plan 2", 1, "\"1\" is expected"},
        {"region 6 4 2", "region", 2, "a word is missing"},
        {"region 6 4 2", "region 0", 2, "a number from 1 to 9223372036854775807 is expected"},
        {"region 6 4 2", "region 9223372036854775808 1", 2, "a number from 1 to 9223372036854775807 is expected"},
        {"region 6 4 2", "region 6 4 2x", 2, "a number from 1 to 9223372036854775807 is expected"},
        {"region 6 4 2", "region 6 4 3", 2, "the chunks have more rows than there are"},
        {"region 6 4 2", "region 6 9223372036854775807 9223372036854775807", 2,
         "the chunks have more rows than there are"},
        {"region 6 4 2", "region 6 4", 2, "the chunks do not have all rows"},
        {"region 6 4 2", "region 6", 2, "the chunks do not have all rows"},
        {"region 6 4 2", "region 6  4 2", 2, "a word is missing"},
        {"region 6 4 2", "region 6 4 2 ", 2, "one blank between words is expected, and none at the end"},
        {"region 6 4 2", "Region 6 4 2", 2, "no item begins like this"},
        {"region 6 4 2", "", 2, "a word is missing"},
        {"operation \"v1\" 0", "operation v1 0", 4, "a quoted name is expected"},
        {"operation \"v1\" 0", "operation \"v1 0", 4, "this name does not end"},
        {"operation \"v1\" 0", "operation \"v\\1\" 0", 4, "a \\ in a name stands before \", \\ or x and two digits"},
        {"operation \"v1\" 0", "operation \"v\\xg1\" 0", 4, "a \\ in a name stands before \", \\ or x and two digits"},
        {"operation \"v1\" 0", "operation \"v1\"0", 4, "one blank between words is expected, and none at the end"},
        {"operation \"v1\" 0", "operation \"w1\" 0", 4, "there is no vertex of this name"},
        {"operation \"v1\" 0", "operation \"v1\" 2", 4, "this region has not been described"},
        {"operation \"v1\" 0", "operation \"v1\" -1", 4, "a number from 0 to 4294967295 is expected"},
        {"reads sliced@0", "makes sliced@0", 4, "\"reads\" is expected"},
        {" makes permuted", " permuted", 4, "\"makes\" is expected"},
        {"sliced@0,pos", "cut@0,pos", 4, "no state is called like this"},
        {"sliced@0,pos", "sliced@128,pos", 4, "a number from 0 to 127 is expected"},
        {"positions=-2", "positions=", 4, "a number from -9223372036854775808 to 9223372036854775807 is expected"},
        {"positions=-2", "position=-2", 4, "a state has @, positions=, order= and into="},
        {"order=3", "order=0", 4, "a number from 1 to 4294967295 is expected"},
        {"once reads", "once twice reads", 5, "\"reads\" is expected"},
        {"split \"x0\" 0 1", "split \"x0\" 0", 7, "a word is missing"},
        {"split \"x0\" 0 1", "split \"x0\" 0 1 1", 7, "nothing more is expected in this line"},
        {"split \"x0\" 0 1", "split \"v0\" 0 1", 7, "there is no value of this name"},
        {"concat 2", "concat", 8, "a number from 0 to 127 is expected"},
        {"concat 2", "mean", 8, "\"first\" is expected"},
        {"late readers", "readers late", 9, "a quoted name is expected"},
        {"first readers \"v5\"", "first readers", 10, "a quoted name is expected"},
        {"\nend\n", "\n", 12, "the text ends before the plan does"},
        {"\nend\n", "\nend", 12, "this line does not end"},
        {"\nend\n", "\nend end\n", 12, "nothing more is expected in this line"},
        {"\nend\n", "\nend\n\n", 13, "nothing may follow the end"},
    };
    for (const fault& f : faults) {
        std::string text(example);
        const std::size_t at = text.find(f.found);
        REQUIRE(at != std::string::npos);
        text.replace(at, f.found.size(), f.instead);
        INFO(text);
        const auto plan = read(text);
        REQUIRE(!plan);
        CHECK(plan.error().cause == f.cause);
        CHECK(plan.error().line == f.line);
    }
    CHECK(read("").error() == plan_text_error{1, "the text ends before the plan does"});
}

TEST_CASE("every plan comes back as it was") {
    stretto_check("plans of random programs", 1000, [] {
        support::row_case c = support::make_row_case(support::arbitrary_recipe());
        const support::row_plan plan = support::plan_row_case(c);
        std::map<std::string, support::row_op*, std::less<>> named;
        for (support::row_op& o : c.p.ops) named["op " + std::to_string(o.number)] = &o;
        const auto name = [](support::row_op* o) { return "op " + std::to_string(o->number); };
        const auto find = [&](std::string_view n) {
            const auto at = named.find(n);
            return at == named.end() ? std::nullopt : std::optional(at->second);
        };
        const std::string text = write_chunk_plan(plan, name, name);
        const auto again = read_chunk_plan<support::row_op*, support::row_op*>(text, find, find);
        RC_ASSERT(again.has_value());
        RC_ASSERT(same(*again, plan));
        RC_ASSERT(write_chunk_plan(*again, name, name) == text);
    });
}

TEST_CASE("a damaged text is refused, or is another plan") {
    stretto_check("damage", 2000, [](const std::vector<std::pair<std::uint16_t, char>>& damage) {
        std::string text(example);
        for (const auto& [where, byte] : damage) {
            const std::size_t at = where % text.size();
            if (where % 3 == 0) text.insert(at, 1, byte);
            else if (where % 3 == 1) text.erase(at, 1 + static_cast<unsigned char>(byte) % 8u);
            else text[at] = byte;
            if (text.empty()) break;
        }
        const auto plan = read(text);
        if (!plan) {
            RC_ASSERT(!plan.error().cause.empty());
            return;
        }
        const std::string again = write_chunk_plan(*plan, vertex_name, value_name);
        const auto same_plan = read(again);
        RC_ASSERT(same_plan.has_value());
        RC_ASSERT(same(*same_plan, *plan));
    });
}
