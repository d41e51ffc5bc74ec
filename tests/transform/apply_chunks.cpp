#include "stretto/transform/apply_chunks.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "support/dies.hpp"

using namespace stretto;

namespace {

// Operations with any number of results. Values are numbered in the order in which they are made.
struct program {
    struct operation {
        std::vector<std::uint32_t> reads, results;
    };
    std::vector<operation> operations;
    std::vector<std::uint32_t> producer;  // of a value

    std::uint32_t add(std::vector<std::uint32_t> reads, std::size_t results) {
        const std::uint32_t v = static_cast<std::uint32_t>(operations.size());
        operations.push_back({std::move(reads), {}});
        for (std::size_t k = 0; k < results; ++k) {
            operations.back().results.push_back(static_cast<std::uint32_t>(producer.size()));
            producer.push_back(v);
        }
        return v;
    }
};

struct program_view {
    using vertex_type = std::uint32_t;
    using value_type = std::uint32_t;
    const program* p;

    std::span<const std::uint32_t> operands(std::uint32_t v) const { return p->operations[v].reads; }
    std::span<const std::uint32_t> results(std::uint32_t v) const { return p->operations[v].results; }
    std::uint32_t producer(std::uint32_t x) const { return p->producer[x]; }
    std::vector<std::uint32_t> consumers(std::uint32_t x) const {
        std::vector<std::uint32_t> all;
        for (std::uint32_t v = 0; v < p->operations.size(); ++v)
            for (std::uint32_t y : p->operations[v].reads)
                if (y == x) all.push_back(v);
        return all;
    }
    std::size_t index(std::uint32_t v) const { return v; }
    std::size_t index_bound() const { return p->operations.size(); }
    std::vector<std::uint32_t> vertices() const {
        std::vector<std::uint32_t> all;
        for (std::uint32_t v = 0; v < p->operations.size(); ++v) all.push_back(v);
        return all;
    }
    std::vector<std::uint32_t> successors(std::uint32_t) const { return {}; }
    std::vector<std::uint32_t> predecessors(std::uint32_t) const { return {}; }
};

// Writes down what it is told. New values count from 100.
struct recorder {
    const program* p = nullptr;
    std::vector<std::string> calls = {};
    std::uint32_t next = 100;

    static std::string list(std::span<const std::uint32_t> values) {
        std::string text;
        for (std::uint32_t x : values) text += (text.empty() ? "" : " ") + std::to_string(x);
        return text;
    }
    std::vector<std::uint32_t> made(const std::string& call, std::size_t results) {
        std::vector<std::uint32_t> values;
        for (std::size_t k = 0; k < results; ++k) values.push_back(next++);
        calls.push_back(call + " -> " + list(values));
        return values;
    }
    void insert_before(std::uint32_t v) { calls.push_back("at " + std::to_string(v)); }
    std::vector<std::uint32_t> clone(std::uint32_t v, std::span<const std::uint32_t> operands, const chunk_part& part) {
        return made("clone " + std::to_string(v) + " of " + list(operands) + " rows " +
                        std::to_string(part.rows.first) + "+" + std::to_string(part.rows.count),
                    p->operations[v].results.size());
    }
    std::vector<std::uint32_t> split(std::uint32_t x, std::size_t dim, std::span<const std::int64_t> sizes) {
        return made("split " + std::to_string(x) + " along " + std::to_string(dim), sizes.size());
    }
    std::uint32_t concat(std::span<const std::uint32_t> parts, std::size_t dim) {
        return made("concat " + list(parts) + " along " + std::to_string(dim), 1)[0];
    }
    std::uint32_t sum(std::span<const std::uint32_t> parts) { return made("sum " + list(parts), 1)[0]; }
    void replace_uses(std::uint32_t v, std::uint32_t from, std::uint32_t to) {
        calls.push_back("in " + std::to_string(v) + " " + std::to_string(from) + " becomes " + std::to_string(to));
    }
    void erase(std::uint32_t v) { calls.push_back("erase " + std::to_string(v)); }
};

// Writes slices too. New names of memory are numbered like values.
struct slice_recorder : recorder {
    std::uint32_t empty_like(std::uint32_t x, std::uint32_t part) {
        return made("empty like " + std::to_string(x) + " beside " + std::to_string(part), 1)[0];
    }
    std::uint32_t slice_write(std::uint32_t whole, std::uint32_t part, std::size_t dim,
                              std::span<const std::int64_t> sizes, std::size_t k) {
        return made("write " + std::to_string(part) + " along " + std::to_string(dim) + " as " + std::to_string(k) +
                        " of " + std::to_string(sizes.size()) + " into " + std::to_string(whole),
                    1)[0];
    }
};
// Gives so many more parts and results than it should, or fewer.
struct miscounting_recorder : recorder {
    int more_results = 0, more_parts = 0;

    std::vector<std::uint32_t> clone(std::uint32_t v, std::span<const std::uint32_t> operands, const chunk_part& part) {
        std::vector<std::uint32_t> all = recorder::clone(v, operands, part);
        all.resize(all.size() + static_cast<std::size_t>(more_results));
        return all;
    }
    std::vector<std::uint32_t> split(std::uint32_t x, std::size_t dim, std::span<const std::int64_t> sizes) {
        std::vector<std::uint32_t> all = recorder::split(x, dim, sizes);
        all.resize(all.size() + static_cast<std::size_t>(more_parts));
        return all;
    }
};
static_assert(!slice_writing_rewriter<recorder, program_view> && slice_writing_rewriter<slice_recorder, program_view>);

using plan_type = chunk_plan<std::uint32_t, std::uint32_t>;
using call_list = std::vector<std::string>;

template <class Recorder = recorder>
call_list replay(const plan_type& plan, const program& p) {
    Recorder r;
    r.p = &p;
    apply_chunks(plan, program_view{&p}, r);
    return r.calls;
}

}  // namespace

TEST_CASE("several results, several regions: every clone reads the parts of its own chunk") {
    program p;
    p.add({}, 2);         // 0 makes values 0 1
    p.add({1, 0}, 2);     // 1 makes 2 3, in region 0
    p.add({3, 2, 3}, 1);  // 2 makes 4, in region 0
    p.add({3, 0}, 2);     // 3 makes 5 6, in region 1
    p.add({2, 5, 4}, 0);  // 4, outside
    plan_type plan;
    plan.regions = {{5, {2, 3}}, {6, {1, 2, 3}}};
    plan.operations = {{1, 0}, {2, 0}, {3, 1}};
    plan.splits = {{0, 0, 7}, {3, 1, 8}, {0, 1, 9}};
    plan.joins = {{2, 0, recombination::sum, 0, {4}},
                  {3, 0, recombination::concat, 5, {3}},
                  {4, 0, recombination::concat, 6, {4}},
                  {5, 1, recombination::first, 0, {4}}};
    const call_list expected = {"at 1",
                                "split 0 along 7 -> 100 101",
                                "clone 1 of 1 100 rows 0+2 -> 102 103",
                                "clone 1 of 1 101 rows 2+3 -> 104 105",
                                "at 1",
                                "sum 102 104 -> 106",
                                "in 4 2 becomes 106",
                                "at 1",
                                "concat 103 105 along 5 -> 107",
                                "at 2",
                                "clone 2 of 103 102 103 rows 0+2 -> 108",
                                "clone 2 of 105 104 105 rows 2+3 -> 109",
                                "at 2",
                                "concat 108 109 along 6 -> 110",
                                "in 4 4 becomes 110",
                                "at 3",
                                "split 107 along 8 -> 111 112 113",
                                "split 0 along 9 -> 114 115 116",
                                "clone 3 of 111 114 rows 0+1 -> 117 118",
                                "clone 3 of 112 115 rows 1+2 -> 119 120",
                                "clone 3 of 113 116 rows 3+3 -> 121 122",
                                "at 3",
                                "in 4 5 becomes 117",
                                "erase 3",
                                "erase 2",
                                "erase 1"};
    CHECK(replay(plan, p) == expected);
    SUBCASE("in whichever order the results of an operation are recombined") {
        std::swap(plan.joins[0], plan.joins[1]);
        const call_list swapped = replay(plan, p);
        CHECK(swapped.size() == expected.size());
        CHECK(swapped[5] == "concat 103 105 along 5 -> 106");
        CHECK(swapped[7] == "sum 102 104 -> 107");
    }
}

TEST_CASE("what every chunk would compute alike is computed once and read by all") {
    program p;
    p.add({}, 1);      // 0 makes 0
    p.add({0}, 1);     // 1 makes 1, once
    p.add({1, 0}, 1);  // 2 makes 2
    plan_type plan;
    plan.regions = {{4, {1, 3}}};
    plan.operations = {{1, 0, true}, {2, 0}};
    plan.splits = {{0, 0, 0}};
    CHECK(replay(plan, p) == call_list{"at 1", "split 0 along 0 -> 100 101", "clone 1 of 100 rows 0+4 -> 102", "at 2",
                                       "clone 2 of 102 100 rows 0+1 -> 103", "clone 2 of 102 101 rows 1+3 -> 104",
                                       "erase 2", "erase 1"});
}

TEST_CASE("a rewriter that gives more or fewer parts or results than it is asked for is stopped at once") {
    program p;
    p.add({}, 1);   // 0 makes 0
    p.add({0}, 1);  // 1 makes 1
    plan_type plan;
    plan.regions = {{2, {1, 1}}};
    plan.operations = {{1, 0}};
    plan.splits = {{0, 0, 0}};
    const auto last_words = [&](int results, int parts) {
        return support::last_words([&] {
            miscounting_recorder r;
            r.p = &p;
            r.more_results = results;
            r.more_parts = parts;
            apply_chunks(plan, program_view{&p}, r);
        });
    };
    CHECK(last_words(0, 0) == "survived");
    CHECK(last_words(0, 1).find("split gives more parts than there are sizes") != std::string::npos);
    CHECK(last_words(0, -1).find("split gives fewer parts than there are sizes") != std::string::npos);
    CHECK(last_words(1, 0).find("clone gives more results than the operation has") != std::string::npos);
    CHECK(last_words(-1, 0).find("clone gives fewer results than the operation has") != std::string::npos);
}

TEST_CASE("what the region still writes is recombined before its first reader") {
    program p;
    p.add({}, 1);   // 0 makes 0
    p.add({0}, 1);  // 1 makes 1
    p.add({0}, 1);  // 2 makes 2
    p.add({1}, 0);  // 3
    plan_type plan;
    plan.regions = {{2, {1, 1}}};
    plan.operations = {{1, 0}};
    plan.splits = {{0, 0, 0}};
    plan.joins = {{1, 0, recombination::concat, 0, {3}, true}};
    CHECK(replay(plan, p) == call_list{"at 1", "split 0 along 0 -> 100 101", "clone 1 of 100 rows 0+1 -> 102",
                                       "clone 1 of 101 rows 1+1 -> 103", "at 3", "concat 102 103 along 0 -> 104",
                                       "in 3 1 becomes 104", "erase 1"});
}

TEST_CASE("slices are written as soon as they are there") {
    program p;
    p.add({}, 1);         // 0 makes 0
    p.add({0}, 3);        // 1 makes 1 2 3
    p.add({1, 2, 3}, 0);  // 2
    plan_type plan;
    plan.regions = {{5, {2, 3}}};
    plan.operations = {{1, 0}};
    plan.splits = {{0, 0, 0}};
    plan.joins = {{1, 0, recombination::concat, 4, {2}},
                  {2, 0, recombination::sum, 0, {2}},
                  {3, 0, recombination::concat, 6, {2}}};
    choose_slices(plan, [](const auto& j) { return j.value != 1; });
    CHECK(plan.counts() == chunk_counts{1, 2, 1, 1, 1, 1, 2});
    const call_list expected = {"at 1",
                                "split 0 along 0 -> 100 101",
                                "clone 1 of 100 rows 0+2 -> 102 103 104",
                                "empty like 3 beside 104 -> 105",
                                "write 104 along 6 as 0 of 2 into 105 -> 106",
                                "clone 1 of 101 rows 2+3 -> 107 108 109",
                                "write 109 along 6 as 1 of 2 into 106 -> 110",
                                "at 1",
                                "concat 102 107 along 4 -> 111",
                                "in 2 1 becomes 111",
                                "at 1",
                                "sum 103 108 -> 112",
                                "in 2 2 becomes 112",
                                "at 1",
                                "in 2 3 becomes 110",
                                "erase 1"};
    CHECK(replay<slice_recorder>(plan, p) == expected);

    // A rewriter that cannot write slices is asked what it is asked for concatenations.
    const call_list without = replay(plan, p);
    choose_slices(plan, [](const auto&) { return false; });
    CHECK(plan.counts() == chunk_counts{1, 2, 1, 2, 1});
    CHECK(replay(plan, p) == without);
    CHECK(replay<slice_recorder>(plan, p) == without);
}

TEST_CASE("what is recombined late, summed or taken as it is is not written in slices") {
    plan_type plan;
    plan.joins = {{1, 0, recombination::concat, 4, {2}, true},
                  {2, 0, recombination::sum, 0, {2}},
                  {3, 0, recombination::first, 6, {2}}};
    choose_slices(plan, [](const auto&) { return true; });
    CHECK(plan.joins[0].how == recombination::concat);
    CHECK(plan.joins[1].how == recombination::sum);
    CHECK(plan.joins[2].how == recombination::first);
}

TEST_CASE("an empty plan changes nothing") {
    program p;
    p.add({}, 1);
    CHECK(replay({}, p).empty());
}
