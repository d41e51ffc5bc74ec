#include "stretto/analysis/value_numbers.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "stretto/testing/model_archetypes.hpp"
#include "support/dies.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;
using support::toy_op;
using support::toy_program;
using support::toy_value;

namespace {

/// The call of an operation, by its position: half of the durations are one call, and some calls are not pure.
struct toy_calls {
    const toy_program* p;
    std::uint64_t spread = 1;  ///< 0: all hashes are equal

    [[nodiscard]] std::int64_t call(std::uint32_t v) const {
        return p->ops[v].duration.count % 3 + 3 * static_cast<std::int64_t>(p->ops[v].kind);
    }
    [[nodiscard]] bool is_pure(std::uint32_t v) const { return p->ops[v].duration.count % 5 != 4; }
    [[nodiscard]] bool same_call(std::uint32_t u, std::uint32_t v) const { return call(u) == call(v); }
    [[nodiscard]] std::uint64_t hash_of_call(std::uint32_t v) const {
        return spread * static_cast<std::uint64_t>(call(v));
    }
};

/// So many inputs, each with a value of its own.
struct inputs_view {
    using vertex_type = std::uint32_t;
    using value_type = std::uint32_t;
    const std::uint32_t* count;

    [[nodiscard]] std::vector<std::uint32_t> vertices() const {
        std::vector<std::uint32_t> all;
        for (std::uint32_t v = 0; v < *count; ++v) all.push_back(v);
        return all;
    }
    [[nodiscard]] std::vector<std::uint32_t> operands(std::uint32_t) const { return {}; }
    [[nodiscard]] std::vector<std::uint32_t> results(std::uint32_t v) const { return {v}; }
    [[nodiscard]] std::uint32_t producer(std::uint32_t x) const { return x; }
    [[nodiscard]] std::vector<std::uint32_t> consumers(std::uint32_t) const { return {}; }
    [[nodiscard]] std::size_t index(std::uint32_t v) const { return v; }
    [[nodiscard]] std::size_t index_bound() const { return *count; }
};
struct inputs_model {
    [[nodiscard]] op_kind kind(std::uint32_t) const { return op_kind::input; }
};

/// The same for a view with handles of its own.
template <class G>
struct calls_of {
    G g;
    const std::vector<std::uint32_t>* position;  // by index
    toy_calls calls;

    [[nodiscard]] std::uint32_t at(vertex_t<G> v) const { return (*position)[g.index(v)]; }
    [[nodiscard]] bool is_pure(vertex_t<G> v) const { return calls.is_pure(at(v)); }
    [[nodiscard]] bool same_call(vertex_t<G> u, vertex_t<G> v) const { return calls.same_call(at(u), at(v)); }
    [[nodiscard]] std::uint64_t hash_of_call(vertex_t<G> v) const { return calls.hash_of_call(at(v)); }
};

/// What equal contents are, by definition: every pair is compared.
class naive_numbers {
public:
    naive_numbers(const toy_program& p, const toy_calls& calls) : p_(p) {
        for (std::uint32_t v = 0; v < p.ops.size(); ++v) {
            std::vector<std::size_t> reads;
            for (const toy_value& x : p.ops[v].operands) reads.push_back(read_by(v, x));
            reads_.push_back(reads);
            for (std::uint32_t k = 0; k < p.ops[v].results.size(); ++k) {
                const std::size_t own = add({{v, k}, v, true});
                for (std::size_t other = 0; other < own; ++other) {
                    const content& c = contents_[other];
                    const toy_op &a = p.ops[c.of.op], &b = p.ops[v];
                    const bool ends = b.kind == op_kind::input || b.kind == op_kind::output ||
                                      a.kind == op_kind::input || a.kind == op_kind::output;
                    bool same = c.made && c.of.op != v && c.of.result == k && !ends && calls.is_pure(v) &&
                                calls.is_pure(c.of.op) && calls.same_call(c.of.op, v) &&
                                a.results.size() == b.results.size() && reads_[c.of.op].size() == reads.size();
                    for (std::size_t j = 0; same && j < reads.size(); ++j) same = is_same(reads_[c.of.op][j], reads[j]);
                    equal_[own][other] = same;
                }
            }
        }
    }

    [[nodiscard]] std::size_t made(toy_value x) const { return known_.at({x, x.op}); }
    [[nodiscard]] const std::vector<std::size_t>& reads(std::uint32_t v) const { return reads_[v]; }
    [[nodiscard]] bool is_same(std::size_t a, std::size_t b) const {
        return a == b || (a > b ? equal_[a][b] : equal_[b][a]);
    }
    [[nodiscard]] std::size_t size() const { return contents_.size(); }

private:
    /// What `of` holds since operation `since`, which has made it or written its memory.
    struct content {
        toy_value of;
        std::uint32_t since;
        bool made;
    };

    std::size_t add(content c) {
        known_[{c.of, c.since}] = contents_.size();
        contents_.push_back(c);
        equal_.emplace_back(contents_.size(), char{0});
        return contents_.size() - 1;
    }
    /// The contents of x before operation v: since the last write to anything that may share its memory.
    std::size_t read_by(std::uint32_t v, toy_value x) {
        std::uint32_t since = x.op;
        for (std::uint32_t w = x.op + 1; w < v; ++w)
            for (const toy_value& y : p_.ops[w].effects)
                if (share(x, y)) since = w;
        const auto at = known_.find({x, since});
        return at != known_.end() ? at->second : add({x, since, false});
    }
    /// Whether aliases lead from one value to the other, either way.
    [[nodiscard]] bool share(toy_value x, toy_value y) const {
        std::vector<toy_value> met{x};
        for (std::size_t k = 0; k < met.size(); ++k)
            for (std::uint32_t v = 0; v < p_.ops.size(); ++v)
                for (std::uint32_t r = 0; r < p_.ops[v].results.size(); ++r)
                    for (const toy_value& a : p_.ops[v].results[r].aliases) {
                        const toy_value own{v, r};
                        for (const auto& [from, to] : {std::pair(own, a), std::pair(a, own)})
                            if (from == met[k] && std::find(met.begin(), met.end(), to) == met.end()) met.push_back(to);
                    }
        return std::find(met.begin(), met.end(), y) != met.end();
    }

    const toy_program& p_;
    std::vector<content> contents_;
    std::map<std::pair<toy_value, std::uint32_t>, std::size_t> known_;
    std::vector<std::vector<char>> equal_;  // of each content and those before it
    std::vector<std::vector<std::size_t>> reads_;
};

/// The numbers of a toy IR, in the order in which naive_numbers lists contents: reads, then results.
template <class IR>
std::vector<std::uint32_t> all_numbers(const IR& ir, const toy_calls& calls) {
    const auto g = ir.view();
    using G = std::remove_const_t<decltype(g)>;
    const std::vector<std::uint32_t> position = support::positions_of(g);
    const value_numbers<G> numbers(g, ir.model(), calls_of<G>{g, &position, calls});
    std::vector<std::uint32_t> all;
    for (vertex_t<G> v : g.vertices()) {
        std::size_t k = 0;
        for ([[maybe_unused]] value_t<G> x : g.operands(v)) all.push_back(numbers.number_read(v, k++));
        for (value_t<G> x : g.results(v)) all.push_back(numbers.number(x));
    }
    return all;
}

/// x, one call of x twice, an addition of x to the second in place, and that call of x a third time.
toy_program written_between() {
    const auto call = [](toy_value x) { return toy_op{.duration = {3}, .operands = {x}, .results = {{{8}, {}}}}; };
    toy_program p;
    p.ops.push_back({.kind = op_kind::input, .results = {{{8}, {}}}});  // 0
    p.ops.push_back(call({0, 0}));                                      // 1
    p.ops.push_back(call({0, 0}));                                      // 2
    p.ops.push_back({.duration = {1}, .operands = {{2, 0}, {0, 0}}, .results = {{{}, {{2, 0}}}}, .effects = {{2, 0}}});
    p.ops.push_back(call({0, 0}));  // 4
    p.ops.push_back(call({1, 0}));  // 5
    p.ops.push_back(call({2, 0}));  // 6: of what has been written
    p.ops.push_back(call({3, 0}));  // 7
    return p;
}

}  // namespace

TEST_CASE_TEMPLATE("what is computed again is the same value, and what is written in between is not", IR,
                   STRETTO_TOY_IRS) {
    const toy_program p = written_between();
    const IR ir(p);
    const auto g = ir.view();
    using G = std::remove_const_t<decltype(g)>;
    const std::vector<std::uint32_t> position = support::positions_of(g);
    const value_numbers<G> numbers(g, ir.model(), calls_of<G>{g, &position, {&p}});
    std::vector<std::uint32_t> made;
    std::vector<vertex_t<G>> vertices;
    for (vertex_t<G> v : g.vertices()) {
        vertices.push_back(v);
        for (value_t<G> x : g.results(v)) made.push_back(numbers.number(x));
    }
    CHECK(made == std::vector<std::uint32_t>{0, 1, 1, 2, 1, 3, 5, 6});
    CHECK(numbers.number_read(vertices[3], 0) == 1);  // before it is written
    CHECK(numbers.number_read(vertices[6], 0) == 4);  // after
    CHECK(numbers.number_read(vertices[7], 0) == 2);
    CHECK(numbers.size() == 7);
}

TEST_CASE("the least that models the concepts has value numbers") {
    const archetypes::program g(0);
    const value_numbers<archetypes::program> numbers(g, archetypes::kinds(0), archetypes::pure_calls(0));
    CHECK(numbers.number_read(archetypes::detail::at(2), 0) == 1);
    CHECK(numbers.number_read(archetypes::detail::at(3), 0) == 0);
    const value_numbers<archetypes::program> unknown(g, archetypes::kinds(0), no_pure_calls{});
    CHECK(unknown.size() == 8);
}

TEST_CASE("calls of one hash are told apart, however many there are") {
    detail::first_calls calls;
    std::vector<std::uint32_t> text;
    for (std::uint32_t v = 0; v < 300; ++v) {
        text.push_back(v % 100);
        const auto same = [&](std::uint32_t u) { return text[u] == text[v]; };
        CHECK(calls.find_or_add(7, v, same) == v % 100);
    }
}

TEST_CASE("a value that the graph did not have has no number, and whoever asks is told") {
    std::uint32_t count = 2;
    const value_numbers<inputs_view> numbers(inputs_view{&count}, inputs_model{}, no_pure_calls{});
    ++count;
    CHECK(numbers.number(1) == 1);
    CHECK(support::last_words([&] { (void)numbers.number(2); }).find("a value has no number") != std::string::npos);
}

TEST_CASE("value numbers are those of a comparison of all pairs") {
    std::size_t again = 0, written = 0;
    stretto_check("value numbers", 400, [&] {
        const toy_program p = *support::random_programs({.max_ops = 40});
        const naive_numbers naive(p, {&p});
        std::vector<std::size_t> contents;  // in the order of all_numbers
        for (std::uint32_t v = 0; v < p.ops.size(); ++v) {
            for (std::size_t c : naive.reads(v)) contents.push_back(c);
            for (std::uint32_t k = 0; k < p.ops[v].results.size(); ++k) contents.push_back(naive.made({v, k}));
        }
        const support::linked_ir ir(p);
        const std::vector<std::uint32_t> numbers = all_numbers(ir, {&p});
        RC_ASSERT(numbers.size() == contents.size());
        for (std::size_t a = 0; a < numbers.size(); ++a)
            for (std::size_t b = 0; b < a; ++b) {
                RC_ASSERT((numbers[a] == numbers[b]) == naive.is_same(contents[a], contents[b]));
                again += numbers[a] == numbers[b] && contents[a] != contents[b];
            }
        for (std::uint32_t v = 0; v < p.ops.size(); ++v)
            for (std::size_t k = 0; k < naive.reads(v).size(); ++k)
                written += naive.reads(v)[k] != naive.made(p.ops[v].operands[k]);
        // Neither the IR, nor where its parts lie, nor the hash matters.
        RC_ASSERT(all_numbers(ir, {&p, 0}) == numbers);
        support::for_each_toy_ir(p, [&](const auto& other) { RC_ASSERT(all_numbers(other, {&p}) == numbers); }, 17);
    });
    if (!support::runs_all_cases()) return;
    CHECK(again > 1000);
    CHECK(written > 100);
}
