#include "stretto/transform/verify_applied.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/testing/archetypes.hpp"
#include "stretto/transform/apply_chunks.hpp"
#include "support/prop.hpp"
#include "support/row_ir.hpp"
#include "support/row_programs.hpp"

using namespace stretto;
using support::row_case;
using support::row_op;
using support::row_plan;
using support::row_program;
using does = row_op::does;
using row_origin = applied_origin<row_op*, row_op*>;
using origins = std::map<const row_op*, row_origin>;
using violations = std::vector<applied_violation<row_op*, row_op*>>;

namespace {

/// Notes where everything comes from that a row_rewriter makes.
struct recording_rewriter : support::row_rewriter {
    const row_plan& plan;  // of the program before
    origins& from;
    std::size_t splits = 0;

    auto clone(row_op* v, std::span<row_op* const> operands, const chunk_part& part) {
        const auto made = row_rewriter::clone(v, operands, part);
        from[made[0]] = {row_origin::kind::clone, from[v].vertex, nullptr, 0, part.chunk};
        return made;
    }
    auto split(row_op* x, std::size_t dim, std::span<const std::int64_t> sizes) {
        const auto made = row_rewriter::split(x, dim, sizes);
        const auto& planned = plan.splits[splits++];
        for (std::uint32_t k = 0; k < made.size(); ++k)
            from[made[k]] = {row_origin::kind::split, nullptr, planned.value, planned.region, k};
        return made;
    }
    row_op* concat(std::span<row_op* const> parts, std::size_t dim) {
        row_op* made = row_rewriter::concat(parts, dim);
        from[made] = {row_origin::kind::join, nullptr, from[parts[0]].vertex, 0, 0};
        return made;
    }
    row_op* empty_like(row_op* x, row_op* part) {
        row_op* made = row_rewriter::empty_like(x, part);
        from[made] = {row_origin::kind::empty, nullptr, from[part].vertex, 0, 0};
        return made;
    }
    row_op* slice_write(row_op* whole, row_op* part, std::size_t dim, std::span<const std::int64_t> sizes,
                        std::size_t k) {
        row_op* made = row_rewriter::slice_write(whole, part, dim, sizes, k);
        from[made] = {row_origin::kind::slice, nullptr, nullptr, 0, static_cast<std::uint32_t>(k)};
        return made;
    }
    row_op* sum(std::span<row_op* const> parts) {
        row_op* made = row_rewriter::sum(parts);
        for (row_op* o = made; o != parts[0]; o = o->reads[0])
            from[o] = {row_origin::kind::join, nullptr, from[parts[0]].vertex, 0, 0};
        return made;
    }
};

/// A program, a copy of it that has been chunked, and what the copy is made of.
struct applied_case {
    row_case before, after;
    row_plan plan;
    origins from;

    explicit applied_case(const support::row_recipe& recipe)
        : before(support::make_row_case(recipe)), after(support::make_row_case(recipe)) {
        plan = support::plan_row_case(before);
        const row_plan same = support::plan_row_case(after);
        auto original = before.p.ops.begin();
        for (row_op& o : after.p.ops) from[&o] = {row_origin::kind::kept, &*original++, nullptr, 0, 0};
        recording_rewriter rewriter{{&after.p, after.p.ops.end()}, plan, from};
        apply_chunks(same, support::row_view{&after.p}, rewriter);
        after.p.renumber();
    }
    expected<applied_counts, violations> verify() {
        after.p.renumber();
        return verify_applied(plan, support::row_view{&before.p}, support::row_view{&after.p},
                              [this](const row_op* v) { return from.at(v); });
    }
    /// Of a chain, behind the clone for its first chunk.
    [[nodiscard]] bool goes_on(const row_op* o) const {
        const row_origin& origin = from.at(o);
        if (!is(o, row_origin::kind::clone) || origin.chunk == 0) return false;
        return std::any_of(plan.operations.begin(), plan.operations.end(),
                           [&](const auto& p) { return p.is_chain() && p.vertex == origin.vertex; });
    }
    [[nodiscard]] bool is(const row_op* o, row_origin::kind what) const { return from.at(o).what == what; }
    /// A sum that converts its second summand.
    [[nodiscard]] bool widens(const row_op* o) const {
        return is(o, row_origin::kind::join) && o->what == does::add && is(o->reads[1], row_origin::kind::clone) &&
               from.at(o->reads[1]).vertex != from.at(o).value;
    }
    std::list<row_op>::iterator at(const row_op* v) {
        return std::find_if(after.p.ops.begin(), after.p.ops.end(), [&](const row_op& o) { return &o == v; });
    }
    /// The first operation, from the pick-th on and around, that will do.
    template <class Predicate>
    row_op* choose(std::size_t pick, Predicate will_do) {
        std::vector<row_op*> all;
        for (row_op& o : after.p.ops) all.push_back(&o);
        for (std::size_t k = 0; k < all.size(); ++k)
            if (row_op* o = all[(pick + k) % all.size()]; will_do(o)) return o;
        return nullptr;
    }
};

bool has(const expected<applied_counts, violations>& e, applied_rule rule) {
    return !e && std::any_of(e.error().begin(), e.error().end(), [&](const auto& v) { return v.broken == rule; });
}

support::row_recipe two_scales() {
    // x -> y -> z in two chunks; the output reads both and x + z, which is in no region.
    return {{{0, 0, 0, 1}, {0, 3, 0, 1}, {1, 0, 4, 0}}, {1, 1}, {1}};
}

}  // namespace

TEST_CASE("two operations in two chunks") {
    applied_case c(two_scales());
    REQUIRE(c.plan.operations.size() == 2);
    const auto verified = c.verify();
    REQUIRE(verified);
    CHECK(*verified == applied_counts{5, 4, 2, 1, 1, 2});  // one value by concatenation, one slice by slice
}

TEST_CASE("M1: a reader outside reads part 0") {
    applied_case c(two_scales());
    row_op* z = c.plan.operations[1].vertex;
    row_op* concat = c.choose(0, [&](row_op* o) { return c.is(o, row_origin::kind::join) && c.from[o].value == z; });
    row_op* sum = concat->readers[0];
    std::replace(sum->reads.begin(), sum->reads.end(), concat, concat->reads[0]);
    const auto found = c.verify();
    REQUIRE(!found);
    REQUIRE(found.error().size() == 1);
    CHECK(found.error()[0].broken == applied_rule::reads_part);
    CHECK(found.error()[0].vertex == sum);
    CHECK(found.error()[0].other == z);
}

TEST_CASE("M6: a program of which only a half is rewritten") {
    applied_case c(two_scales());
    row_plan more = c.plan;
    row_op* sum = c.before.p.ops.back().reads[2];
    REQUIRE(sum->what == does::add);
    const chunk_state sliced{chunk_state::kind::sliced, 0};
    more.joins[0].readers.pop_back();
    more.operations.push_back({sum, 0, false, static_cast<std::uint32_t>(more.states.size()), 0, 0});
    more.states.insert(more.states.end(), 3, sliced);
    more.operations.back().first_result = more.operations.back().first_operand + 2;
    more.operations.back().last_result = more.operations.back().first_result + 1;
    more.joins.push_back({sum, 0, recombination::concat, 0, {&c.before.p.ops.back()}, false});
    c.plan = more;
    const auto found = c.verify();
    CHECK(has(found, applied_rule::original_remains));
    CHECK(has(found, applied_rule::reads_other_value));
}

TEST_CASE("a program is as it was if the plan is empty, and a plan for something else is refused") {
    applied_case c({{{0, 0, 0, 0}}, {1, 1}, {1}});
    REQUIRE(c.plan.empty());
    CHECK(c.verify()->kept == 5);
    c.plan.regions.clear();
    c.plan.operations.push_back({&c.after.p.ops.front(), 0, false, 0, 0, 0});
    CHECK(has(c.verify(), applied_rule::plan_unfit));
}

TEST_CASE("a split may take several operations") {
    applied_case c(two_scales());
    row_op* x = &c.after.p.ops.front();
    // x -> all parts -> each part
    row_op* all = &*c.after.p.ops.insert(std::next(c.after.p.ops.begin(), 3), {does::scale, {x}, x->rows});
    c.from[all] = {row_origin::kind::split, nullptr, c.plan.splits[0].value, 0, row_origin::all_parts};
    for (row_op& o : c.after.p.ops)
        if (c.is(&o, row_origin::kind::split) && &o != all) o.reads[0] = all;
    const auto verified = c.verify();
    REQUIRE(verified);
    CHECK(verified->splits == 3);
    SUBCASE("but nobody else reads what is between them") {
        row_op* clone = c.choose(0, [&](row_op* o) { return c.is(o, row_origin::kind::clone); });
        clone->reads[0] = all;
        const auto found = c.verify();
        REQUIRE(!found);
        CHECK(found.error().size() == 1);
        CHECK(found.error()[0].broken == applied_rule::reads_other_chunk);
        CHECK(found.error()[0].vertex == clone);
    }
    SUBCASE("nor outside of the region") {
        row_op* output = &c.after.p.ops.back();
        std::replace_if(
            output->reads.begin(), output->reads.end(), [&](row_op* o) { return o->what == does::add; }, all);
        CHECK(has(c.verify(), applied_rule::reads_other_value));
    }
}

namespace {

/// Operations by number; value 4 v + k is result k of operation v.
struct listed_view {
    struct operation {
        std::vector<int> reads;
        int results;
    };
    using vertex_type = int;
    using value_type = int;
    const std::vector<operation>* ops;

    std::vector<int> vertices() const {
        std::vector<int> all(ops->size());
        for (std::size_t v = 0; v < all.size(); ++v) all[v] = static_cast<int>(v);
        return all;
    }
    std::vector<int> consumers(int x) const {
        std::vector<int> all;
        for (int v : vertices())
            for (int y : operands(v))
                if (y == x) all.push_back(v);
        return all;
    }
    std::vector<int> successors(int v) const {
        std::vector<int> all;
        for (int x : results(v))
            for (int u : consumers(x)) all.push_back(u);
        return all;
    }
    std::vector<int> predecessors(int v) const {
        std::vector<int> all;
        for (int x : operands(v)) all.push_back(producer(x));
        return all;
    }
    std::size_t index(int v) const { return static_cast<std::size_t>(v); }
    std::size_t index_bound() const { return ops->size(); }
    const std::vector<int>& operands(int v) const { return (*ops)[static_cast<std::size_t>(v)].reads; }
    std::vector<int> results(int v) const {
        std::vector<int> all;
        for (int k = 0; k < (*ops)[static_cast<std::size_t>(v)].results; ++k) all.push_back(4 * v + k);
        return all;
    }
    int producer(int x) const { return x / 4; }
};

}  // namespace

TEST_CASE("a split may have all parts as its results") {
    using origin = applied_origin<int, int>;
    using from = origin::kind;
    // Before: x = 0, y = 1 reads it, 2 reads y. After: x, its two parts, two clones, their join, the reader.
    const std::vector<listed_view::operation> before = {{{}, 1}, {{0}, 1}, {{4}, 0}};
    std::vector<listed_view::operation> after = {{{}, 1}, {{0}, 2}, {{4}, 1}, {{5}, 1}, {{8, 12}, 1}, {{16}, 0}};
    const std::vector<origin> made_of = {{from::kept, 0, 0, 0, 0},  {from::split, 0, 0, 0, origin::all_parts},
                                         {from::clone, 1, 0, 0, 0}, {from::clone, 1, 0, 0, 1},
                                         {from::join, 0, 4, 0, 0},  {from::kept, 2, 0, 0, 0}};
    chunk_plan<int, int> plan;
    plan.regions.push_back({2, {1, 1}});
    plan.operations.push_back({1, 0, false, 0, 1, 2});
    plan.states = {{chunk_state::kind::sliced, 0}, {chunk_state::kind::sliced, 0}};
    plan.splits.push_back({0, 0, 0});
    plan.joins.push_back({4, 0, recombination::concat, 0, {2}, false});
    const auto verified = [&] {
        return verify_applied(plan, listed_view{&before}, listed_view{&after},
                              [&](int v) { return made_of[static_cast<std::size_t>(v)]; });
    };
    REQUIRE(verified());
    CHECK(*verified() == applied_counts{2, 2, 1, 1});
    SUBCASE("the second clone reads the first part") {
        after[3].reads = {4};
        const auto found = verified();
        REQUIRE(!found);
        REQUIRE(found.error().size() == 1);
        CHECK(found.error()[0].broken == applied_rule::reads_other_chunk);
        CHECK(found.error()[0].vertex == 3);
        CHECK(found.error()[0].other == 0);
    }
    SUBCASE("a part more than there are chunks") {
        after[1].results = 3;
        const auto found = verified();
        REQUIRE(!found);
        CHECK(found.error().size() == 2);
        CHECK(found.error()[0].broken == applied_rule::reads_other_chunk);
    }
    SUBCASE("a clone with a result of its own") {
        after[2].results = 2;
        const auto found = verified();
        REQUIRE(!found);
        CHECK(found.error()[0].broken == applied_rule::arity);
    }
}

TEST_CASE("archetypes suffice") {
    const archetypes::program g(0);
    const chunk_plan<archetypes::vertex, archetypes::value> plan;
    using origin = applied_origin<archetypes::vertex, archetypes::value>;
    const auto verified = verify_applied(plan, g, g, [](archetypes::vertex v) {
        origin from;
        from.vertex = v;
        return from;
    });
    REQUIRE(verified);
    CHECK(verified->kept == 8);
}

TEST_CASE("every rule has a sentence of its own") {
    std::vector<std::string_view> sentences;
    for (int r = 0; r <= static_cast<int>(applied_rule::slice_missing); ++r)
        sentences.push_back(hint(static_cast<applied_rule>(r)));
    for (std::string_view s : sentences) CHECK(!s.empty());
    std::sort(sentences.begin(), sentences.end());
    CHECK(std::adjacent_find(sentences.begin(), sentences.end()) == sentences.end());
}

namespace {

/// A way to spoil a chunked program. Says whether it has; then at least one of `rules` must be found broken.
struct damage {
    const char* name;
    std::vector<applied_rule> rules;
    bool (*spoil)(applied_case&, std::size_t pick);
};

using from_kind = row_origin::kind;

const damage damages[] = {
    {"a reader outside of a part",
     {applied_rule::reads_part},
     [](applied_case& c, std::size_t pick) {
         row_op* concat = c.choose(pick, [&](row_op* o) {
             return o->what == does::concat && std::any_of(o->readers.begin(), o->readers.end(),
                                                           [&](row_op* u) { return c.is(u, from_kind::kept); });
         });
         if (concat == nullptr) return false;
         for (row_op* u : concat->readers)
             if (c.is(u, from_kind::kept)) std::replace(u->reads.begin(), u->reads.end(), concat, concat->reads[0]);
         return true;
     }},
    {"a clone that reads another chunk",
     {applied_rule::reads_other_chunk},
     [](applied_case& c, std::size_t pick) {
         const auto is_part = [&](row_op* x) { return c.is(x, from_kind::split); };
         row_op* clone = c.choose(pick, [&](row_op* o) {
             return c.is(o, from_kind::clone) && std::any_of(o->reads.begin(), o->reads.end(), is_part);
         });
         if (clone == nullptr) return false;
         for (row_op*& x : clone->reads) {
             if (!is_part(x)) continue;
             row_op* source = x->reads[0];
             for (row_op* other : source->readers)
                 if (other != x && is_part(other) && c.from[other].region == c.from[x].region) {
                     x = other;
                     return true;
                 }
         }
         return false;
     }},
    {"a chunk that writes what all share as if it were the first",
     {applied_rule::reads_other_value},
     [](applied_case& c, std::size_t pick) {
         row_op* clone = c.choose(pick, [&](row_op* o) { return c.goes_on(o); });
         if (clone == nullptr) return false;
         while (c.is(clone->reads[0], from_kind::clone)) clone->reads[0] = clone->reads[0]->reads[0];
         return true;
     }},
    {"a reader of what not all chunks have written",
     {applied_rule::reads_part, applied_rule::reads_other_chunk},
     [](applied_case& c, std::size_t pick) {
         row_op* last = c.choose(pick, [&](row_op* o) {
             return c.goes_on(o) && std::any_of(o->readers.begin(), o->readers.end(),
                                                [&](row_op* u) { return c.from[u].vertex != c.from[o].vertex; });
         });
         if (last == nullptr) return false;
         for (row_op* u : last->readers)
             if (c.from[u].vertex != c.from[last].vertex)
                 std::replace(u->reads.begin(), u->reads.end(), last, last->reads[0]);
         return true;
     }},
    {"a sum that widens the part of the first chunk again",
     {applied_rule::reads_other_value},
     [](applied_case& c, std::size_t pick) {
         row_op* sum = c.choose(pick, [&](row_op* o) { return c.widens(o); });
         if (sum == nullptr) return false;
         const row_op* unconverted = c.from[sum->reads[1]].vertex;
         sum->reads[1] = c.choose(0, [&](row_op* o) {
             return c.is(o, from_kind::clone) && c.from[o].vertex == unconverted && c.from[o].chunk == 0;
         });
         return true;
     }},
    {"a sum that begins with a part that is not converted",
     {applied_rule::reads_other_value},
     [](applied_case& c, std::size_t pick) {
         row_op* sum = c.choose(pick, [&](row_op* o) { return c.widens(o) && o->reads[0]->what == does::widen; });
         if (sum == nullptr) return false;
         sum->reads[0] = sum->reads[0]->reads[0];
         return true;
     }},
    {"a reader of the only part that is converted",
     {applied_rule::reads_part},
     [](applied_case& c, std::size_t pick) {
         row_op* sum = c.choose(pick, [&](row_op* o) {
             return c.widens(o) && o->reads[0]->what == does::widen &&
                    std::any_of(o->readers.begin(), o->readers.end(),
                                [&](row_op* u) { return c.is(u, from_kind::kept); });
         });
         if (sum == nullptr) return false;
         for (row_op* u : sum->readers)
             if (c.is(u, from_kind::kept)) std::replace(u->reads.begin(), u->reads.end(), sum, sum->reads[0]);
         return true;
     }},
    {"a clone that reads all rows",
     {applied_rule::reads_whole},
     [](applied_case& c, std::size_t pick) {
         row_op* clone = c.choose(pick, [&](row_op* o) {
             return c.is(o, from_kind::clone) && c.is(o->reads[0], from_kind::split) &&
                    c.is(o->reads[0]->reads[0], from_kind::kept);
         });
         if (clone == nullptr) return false;
         clone->reads[0] = clone->reads[0]->reads[0];
         return true;
     }},
    {"chunks out of order",
     {applied_rule::out_of_step},
     [](applied_case& c, std::size_t pick) {
         row_op* clone = c.choose(pick, [&](row_op* o) { return c.is(o, from_kind::clone) && c.from[o].chunk == 1; });
         if (clone == nullptr) return false;
         auto to = std::prev(c.at(clone));
         while (!c.is(&*to, from_kind::clone)) --to;  // slices are written between clones
         c.after.p.ops.splice(to, c.after.p.ops, c.at(clone));
         return true;
     }},
    {"a clone twice",
     {applied_rule::out_of_step, applied_rule::clone_unplanned},
     [](applied_case& c, std::size_t pick) {
         row_op* clone = c.choose(pick, [&](row_op* o) { return c.is(o, from_kind::clone); });
         if (clone == nullptr) return false;
         row_op* again = &*c.after.p.ops.insert(std::next(c.at(clone)), *clone);
         c.from[again] = c.from[clone];
         return true;
     }},
    {"a clone for one chunk too many",
     {applied_rule::clone_unplanned},
     [](applied_case& c, std::size_t pick) {
         row_op* clone = c.choose(pick, [&](row_op* o) { return c.is(o, from_kind::clone); });
         if (clone == nullptr) return false;
         c.from[clone].chunk = 9;
         return true;
     }},
    {"a clone of what is not chunked",
     {applied_rule::clone_unplanned},
     [](applied_case& c, std::size_t pick) {
         row_op* kept = c.choose(pick, [&](row_op* o) { return c.is(o, from_kind::kept); });
         c.from[kept].what = from_kind::clone;
         return true;
     }},
    {"an original that remains",
     {applied_rule::original_remains},
     [](applied_case& c, std::size_t pick) {
         row_op* clone = c.choose(pick, [&](row_op* o) { return c.is(o, from_kind::clone); });
         if (clone == nullptr) return false;
         row_op* again = &*c.after.p.ops.insert(std::next(c.at(clone)), *clone);
         c.from[again] = c.from[clone];
         c.from[again].what = from_kind::kept;
         return true;
     }},
    {"an operation of nowhere",
     {applied_rule::out_of_step},
     [](applied_case& c, std::size_t pick) {
         row_op* kept = c.choose(pick, [&](row_op* o) { return c.is(o, from_kind::kept); });
         c.from[kept].vertex = nullptr;
         return true;
     }},
    {"parts concatenated backwards",
     {applied_rule::parts_out_of_order},
     [](applied_case& c, std::size_t pick) {
         row_op* concat = c.choose(pick, [&](row_op* o) { return o->what == does::concat; });
         if (concat == nullptr) return false;
         std::reverse(concat->reads.begin(), concat->reads.end());
         return true;
     }},
    {"a part that is not summed",
     {applied_rule::reads_part},
     [](applied_case& c, std::size_t pick) {
         row_op* sum = c.choose(pick, [&](row_op* o) {
             return c.is(o, from_kind::join) && o->what == does::add && !c.is(o->readers[0], from_kind::join);
         });
         if (sum == nullptr) return false;
         sum->reads.pop_back();
         return true;
     }},
    {"a sum of other things",
     {applied_rule::reads_other_value},
     [](applied_case& c, std::size_t pick) {
         row_op* join = c.choose(pick, [&](row_op* o) { return c.is(o, from_kind::join); });
         if (join == nullptr) return false;
         join->reads.back() = &c.after.p.ops.front();
         return true;
     }},
    {"a recombination that is not planned",
     {applied_rule::join_unplanned},
     [](applied_case& c, std::size_t pick) {
         row_op* clone = c.choose(pick, [&](row_op* o) {
             const row_op* v = c.from[o].vertex;
             return c.is(o, from_kind::clone) &&
                    std::none_of(c.plan.joins.begin(), c.plan.joins.end(), [&](const auto& j) { return j.value == v; });
         });
         if (clone == nullptr) return false;
         row_op* join = &*c.after.p.ops.insert(std::next(c.at(clone)), {does::concat, {clone}, clone->rows});
         c.from[join] = {from_kind::join, nullptr, c.from[clone].vertex, 0, 0};
         return true;
     }},
    {"a recombination before the last write",
     {applied_rule::join_too_early},
     [](applied_case& c, std::size_t pick) {
         row_op* join = c.choose(pick, [&](row_op* o) {
             if (o->what != does::concat) return false;
             const auto last_part = c.at(o->reads.back());
             const bool moves = std::any_of(last_part, c.at(o), [&](row_op& between) {
                 return &between != &*last_part &&
                        (c.is(&between, from_kind::kept) || c.is(&between, from_kind::clone));
             });
             return moves && std::any_of(c.plan.joins.begin(), c.plan.joins.end(),
                                         [&](const auto& j) { return j.late && j.value == c.from[o].value; });
         });
         if (join == nullptr) return false;
         c.after.p.ops.splice(std::next(c.at(join->reads.back())), c.after.p.ops, c.at(join));
         return true;
     }},
    {"a slice that is not written",
     {applied_rule::slice_missing},
     [](applied_case& c, std::size_t pick) {
         row_op* write = c.choose(pick, [&](row_op* o) { return c.is(o, from_kind::slice); });
         if (write == nullptr) return false;
         for (row_op* u : std::vector<row_op*>(write->readers))
             std::replace(u->reads.begin(), u->reads.end(), write, write->reads[0]);
         c.after.p.ops.erase(c.at(write));
         return true;
     }},
    {"a slice that is written twice",
     {applied_rule::slice_doubled},
     [](applied_case& c, std::size_t pick) {
         row_op* write = c.choose(pick, [&](row_op* o) { return c.is(o, from_kind::slice); });
         if (write == nullptr) return false;
         row_op* again = &*c.after.p.ops.insert(std::next(c.at(write)), *write);
         c.from[again] = c.from[write];
         return true;
     }},
    {"a part in the place of another",
     {applied_rule::slice_misplaced},
     [](applied_case& c, std::size_t pick) {
         row_op* write = c.choose(pick, [&](row_op* o) { return c.is(o, from_kind::slice); });
         if (write == nullptr) return false;
         if (pick % 2 == 0) c.from[write].chunk += static_cast<std::uint32_t>(1 + pick % 3);
         else c.from[write].chunk = 99;
         return true;
     }},
    {"another part in its place",
     {applied_rule::slice_misplaced},
     [](applied_case& c, std::size_t pick) {
         row_op* write = c.choose(pick, [&](row_op* o) { return c.is(o, from_kind::slice) && c.from[o].chunk == 1; });
         if (write == nullptr) return false;
         row_op* first = write->reads[0];  // it may have been written behind other values' slices
         write->reads[1] = first->reads[1];
         return true;
     }},
    {"a slice read before the last one is written",
     {applied_rule::reads_part},
     [](applied_case& c, std::size_t pick) {
         // Of one memory, whatever its name: behind the last write, so in front of it after all.
         row_op* reader = c.choose(pick, [&](row_op* o) {
             return c.is(o, from_kind::kept) &&
                    std::any_of(o->reads.begin(), o->reads.end(), [&](row_op* x) { return c.is(x, from_kind::slice); });
         });
         if (reader == nullptr) return false;
         row_op* last = *std::find_if(reader->reads.begin(), reader->reads.end(),
                                      [&](row_op* x) { return c.is(x, from_kind::slice); });
         row_op* before = last->reads[0];
         for (row_op* u : std::vector<row_op*>(last->readers))
             std::replace(u->reads.begin(), u->reads.end(), last, before);
         c.after.p.ops.splice(c.after.p.ops.end(), c.after.p.ops, c.at(last));
         return true;
     }},
    {"memory that is made twice",
     {applied_rule::slice_doubled},
     [](applied_case& c, std::size_t pick) {
         row_op* empty = c.choose(pick, [&](row_op* o) { return c.is(o, from_kind::empty); });
         if (empty == nullptr) return false;
         row_op* again = &*c.after.p.ops.insert(std::next(c.at(empty)), *empty);
         c.from[again] = c.from[empty];
         return true;
     }},
    {"memory that is not planned",
     {applied_rule::join_unplanned},
     [](applied_case& c, std::size_t pick) {
         row_op* join = c.choose(pick, [&](row_op* o) { return c.is(o, from_kind::join); });
         if (join == nullptr) return false;
         c.from[join].what = from_kind::empty;
         return true;
     }},
    {"slices in one piece",
     {applied_rule::join_unplanned},
     [](applied_case& c, std::size_t pick) {
         row_op* write = c.choose(
             pick, [&](row_op* o) { return c.is(o, from_kind::slice) && c.is(o->reads[1], from_kind::clone); });
         if (write == nullptr) return false;
         row_op* part = write->reads[1];
         row_op* join = &*c.after.p.ops.insert(std::next(c.at(write)), {does::concat, {part}, part->rows});
         c.from[join] = {from_kind::join, nullptr, c.from[part].vertex, 0, 0};
         return true;
     }},
    {"a clone that reads slices",
     {applied_rule::reads_whole},
     [](applied_case& c, std::size_t pick) {
         // A clone that reads a part reads the memory where that part has been written before.
         row_op* write = nullptr;
         row_op* clone = c.choose(pick, [&](row_op* o) {
             if (!c.is(o, from_kind::clone)) return false;
             for (row_op* x : o->reads)
                 for (row_op* w : x->readers)
                     if (c.is(w, from_kind::slice) && w->reads[1] == x && c.from[x].vertex != c.from[o].vertex &&
                         w->number < o->number)
                         write = w;
             return write != nullptr;
         });
         if (clone == nullptr) return false;
         std::replace(clone->reads.begin(), clone->reads.end(), write->reads[1], write);
         return true;
     }},
    {"a part of something else",
     {applied_rule::reads_other_value},
     [](applied_case& c, std::size_t pick) {
         row_op* part = c.choose(pick, [&](row_op* o) { return c.is(o, from_kind::split); });
         if (part == nullptr) return false;
         row_op* other = c.choose(
             0, [&](row_op* o) { return c.is(o, from_kind::kept) && o->what == does::input && o != part->reads[0]; });
         part->reads[0] = other;
         return true;
     }},
    {"a part of a part",
     {applied_rule::reads_part},
     [](applied_case& c, std::size_t pick) {
         row_op* part = c.choose(pick, [&](row_op* o) { return c.is(o, from_kind::split) && c.from[o].chunk == 1; });
         if (part == nullptr) return false;
         part->reads[0] = &*std::prev(c.at(part));
         return true;
     }},
    {"a split that is not planned",
     {applied_rule::split_unplanned},
     [](applied_case& c, std::size_t pick) {
         row_op* part = c.choose(pick, [&](row_op* o) { return c.is(o, from_kind::split); });
         if (part == nullptr) return false;
         if (pick % 3 == 0) c.from[part].region = 7;
         else if (pick % 3 == 1) c.from[part].chunk = 9;
         else c.from[part].value = nullptr;
         return true;
     }},
    {"another operand",
     {applied_rule::reads_other_value},
     [](applied_case& c, std::size_t pick) {
         row_op* reader = c.choose(pick, [&](row_op* o) {
             return (c.is(o, from_kind::kept) || c.is(o, from_kind::clone)) && !o->reads.empty() &&
                    o->reads[0] != &c.after.p.ops.front() && !c.is(o->reads[0], from_kind::split);
         });
         if (reader == nullptr) return false;
         reader->reads[0] = &c.after.p.ops.front();
         return true;
     }},
    {"one operand more",
     {applied_rule::arity},
     [](applied_case& c, std::size_t pick) {
         row_op* reader =
             c.choose(pick, [&](row_op* o) { return c.is(o, from_kind::kept) || c.is(o, from_kind::clone); });
         if (reader->reads.empty()) reader = &c.after.p.ops.back();
         reader->reads.push_back(reader->reads[0]);
         return true;
     }},
    {"one operand less",
     {applied_rule::arity},
     [](applied_case& c, std::size_t pick) {
         row_op* reader = c.choose(pick, [&](row_op* o) {
             return (c.is(o, from_kind::kept) || c.is(o, from_kind::clone)) && !o->reads.empty();
         });
         reader->reads.pop_back();
         return true;
     }},
    {"an operation in front of what it reads",
     {applied_rule::reads_ahead},
     [](applied_case& c, std::size_t pick) {
         row_op* reader = c.choose(pick, [&](row_op* o) { return !o->reads.empty(); });
         c.after.p.ops.splice(c.at(reader->reads[0]), c.after.p.ops, c.at(reader));
         return true;
     }},
    {"operations that trade places",
     {applied_rule::out_of_step},
     [](applied_case& c, std::size_t) {
         c.after.p.ops.splice(c.after.p.ops.begin(), c.after.p.ops, std::next(c.after.p.ops.begin()));
         return true;
     }},
    {"an end that is missing",
     {applied_rule::unfinished},
     [](applied_case& c, std::size_t) {
         c.after.p.ops.pop_back();
         return true;
     }},
};

}  // namespace

TEST_CASE("chunked programs are as planned, and damage to them is found") {
    std::vector<std::size_t> spoiled(std::size(damages), 0);
    stretto_check("applied", 2000, [&] {
        const support::row_recipe recipe = support::arbitrary_recipe();
        const std::size_t pick = *rc::gen::inRange<std::size_t>(0, 1000);
        {
            applied_case c(recipe);
            const auto verified = c.verify();
            RC_ASSERT(verified.has_value());
            RC_ASSERT(verified->clones == c.plan.counts().clones);
            RC_ASSERT(verified->kept + c.plan.operations.size() == c.before.p.ops.size());
            if (c.plan.empty()) return;
        }
        for (std::size_t d = 0; d < std::size(damages); ++d) {
            applied_case c(recipe);
            if (!damages[d].spoil(c, pick)) continue;
            const auto found = c.verify();
            bool named = false;
            for (applied_rule rule : damages[d].rules) named = named || has(found, rule);
            if (!named) RC_FAIL(damages[d].name);
            ++spoiled[d];
        }
    });
    for (std::size_t d = 0; d < std::size(damages); ++d) {
        INFO(damages[d].name);
        if (support::runs_all_cases()) CHECK(spoiled[d] > 0);
    }
}
