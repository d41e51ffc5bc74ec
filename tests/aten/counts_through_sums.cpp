// Counts that go through their running sum and back are the same counts: what value_history says of vectors that are
// summed, joined, cut and subtracted, against the numbers that the interpreter computes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aten/tensor_program.hpp"
#include "stretto/aten/aten_dialect.hpp"
#include "stretto/transform/chunk_rules/value_history.hpp"
#include "support/prop.hpp"

using namespace stretto;
using support::program_model;
using support::program_view;
using support::tensor_program;

namespace {

using dialect = aten_dialect<program_view, program_model>;
using history = value_history<program_view, dialect>;

/// A program of vectors of integers.
struct vectors {
    tensor_program p;

    std::uint32_t counts(std::vector<std::int64_t> values) {
        const auto n = static_cast<std::int64_t>(values.size());
        const std::uint32_t v =
            p.input("counts " + std::to_string(p.nodes.size()), support::integers({n}, std::move(values)), 1);
        p.record(v, element_type::i64, {n});
        return v;
    }
    [[nodiscard]] std::int64_t length(std::uint32_t v) const { return p.nodes[v].shapes[0][0]; }
    std::uint32_t add(const char* operation, std::vector<std::uint32_t> reads, std::string_view arguments,
                      std::int64_t n) {
        const std::uint32_t v = p.add("v" + std::to_string(p.nodes.size()), operation, std::move(reads), arguments);
        p.record(v, element_type::i64, {n});
        return v;
    }
    std::uint32_t summed(std::uint32_t x) { return add("aten.cumsum.default", {x}, "%0 0", length(x)); }
    std::uint32_t filled(const char* operation, std::int64_t n) {
        return add(operation, {}, "[" + std::to_string(n) + "] dtype=i64", n);
    }
    std::uint32_t joined(std::uint32_t x, std::uint32_t y) {
        return x == y ? add("aten.cat.default", {x}, "[%0, %0] 0", 2 * length(x))
                      : add("aten.cat.default", {x, y}, "[%0, %1] 0", length(x) + length(y));
    }
    /// Elements [first, last); the last one may count from the end.
    std::uint32_t part(std::uint32_t x, std::int64_t first, std::int64_t last) {
        const std::int64_t end = last < 0 ? last + length(x) : std::min(last, length(x));
        return add("aten.slice.Tensor", {x}, "%0 0 " + std::to_string(first) + " " + std::to_string(last),
                   std::max<std::int64_t>(end - first, 0));
    }
    /// x with y over its elements from `first` on.
    std::uint32_t written(std::uint32_t x, std::uint32_t y, std::int64_t first) {
        return add("aten.slice_scatter.default", {x, y},
                   "%0 %1 0 " + std::to_string(first) + " " + std::to_string(first + length(y)), length(x));
    }
    std::uint32_t minus(std::uint32_t x, std::uint32_t y) {
        return x == y ? add("aten.sub.Tensor", {x}, "%0 %0", length(x))
                      : add("aten.sub.Tensor", {x, y}, "%0 %1", length(x));
    }
    std::uint32_t same(std::uint32_t x) { return add("aten.clone.default", {x}, "%0", length(x)); }

    [[nodiscard]] std::int64_t counted(std::uint32_t x) const {
        const history h(program_view{&p}, dialect(program_model{&p}));
        std::int64_t place = 0;
        const std::int64_t key = h.counted(x, place);
        REQUIRE(place == -1);
        return key;
    }
    [[nodiscard]] std::int64_t groups(std::uint32_t x, bool ends) const {
        return history(program_view{&p}, dialect(program_model{&p})).groups(x, ends);
    }
};

/// The differences of the running sum `ends` of something, in the ways in which programs write that.
enum class spelling {
    zero_joined_and_cut,
    one_side_cut,
    cut_and_zero_joined,
    into_zeros,
    cut_into_zeros,
    first_joined
};

std::uint32_t apart(vectors& v, std::uint32_t ends, spelling how) {
    const std::int64_t n = v.length(ends);
    switch (how) {
        case spelling::zero_joined_and_cut: {
            const std::uint32_t bounds = v.joined(v.filled("aten.zeros.default", 1), ends);
            return v.minus(v.part(bounds, 1, INT64_MAX), v.part(bounds, 0, -1));
        }
        case spelling::one_side_cut:
            return v.minus(ends, v.part(v.joined(v.filled("aten.zeros.default", 1), ends), 0, n));
        case spelling::cut_and_zero_joined:
            return v.minus(ends, v.joined(v.filled("aten.zeros.default", 1), v.part(ends, 0, -1)));
        case spelling::into_zeros: {
            const std::uint32_t bounds = v.written(v.filled("aten.zeros.default", n + 1), ends, 1);
            return v.minus(v.part(bounds, 1, INT64_MAX), v.part(bounds, 0, -1));
        }
        case spelling::cut_into_zeros:
            return v.minus(ends, v.written(v.filled("aten.zeros.default", n), v.part(ends, 0, -1), 1));
        case spelling::first_joined:
            break;
    }
    return v.joined(v.part(ends, 0, 1), v.minus(v.part(ends, 1, INT64_MAX), v.part(ends, 0, -1)));
}
constexpr spelling all_spellings[] = {spelling::zero_joined_and_cut, spelling::one_side_cut,
                                      spelling::cut_and_zero_joined, spelling::into_zeros,
                                      spelling::cut_into_zeros,      spelling::first_joined};

}  // namespace

TEST_CASE("differences of neighbouring ends are the counts that the ends were summed from") {
    for (const spelling how : all_spellings) {
        CAPTURE(static_cast<int>(how));
        vectors v;
        const std::uint32_t counts = v.counts({3, 0, 2}), ends = v.summed(counts);
        const std::uint32_t again = v.same(apart(v, v.same(ends), how));
        CHECK(v.counted(again) == v.counted(counts));
        CHECK(v.groups(again, false) == v.groups(counts, false));
        CHECK(v.groups(v.summed(again), true) == v.groups(ends, true));
        CHECK(v.groups(again, true) == -1);
    }
}

TEST_CASE("ends that a zero was joined to, and cut off again, are the same ends") {
    vectors v;
    const std::uint32_t counts = v.counts({3, 0, 2}), ends = v.summed(counts);
    const std::uint32_t bounds = v.joined(v.filled("aten.zeros.default", 1), ends);
    CHECK(v.groups(v.part(bounds, 1, INT64_MAX), true) == v.groups(ends, true));
    CHECK(v.groups(v.part(bounds, 0, -1), true) == -1);
    CHECK(v.groups(bounds, true) == -1);
}

TEST_CASE("what is nearly a difference of neighbouring ends is a value of its own") {
    vectors v;
    const std::uint32_t counts = v.counts({3, 0, 2}), others = v.counts({1, 1, 4});
    const std::uint32_t ends = v.summed(counts), other_ends = v.summed(others);
    const std::uint32_t zero = v.filled("aten.zeros.default", 1), one = v.filled("aten.ones.default", 1);
    const std::uint32_t below = v.part(v.joined(zero, ends), 0, -1);
    for (const std::uint32_t x :
         {v.minus(below, ends), v.minus(ends, v.part(v.joined(one, ends), 0, -1)),
          v.minus(ends, v.part(v.joined(zero, other_ends), 0, -1)), v.minus(other_ends, below),
          v.minus(ends, v.part(v.joined(ends, zero), 0, -1)),
          v.minus(ends, v.part(v.written(v.filled("aten.ones.default", 4), ends, 1), 0, 3)),
          v.minus(ends, v.part(v.written(v.filled("aten.zeros.default", 4), ends, 0), 0, 3)), v.minus(ends, ends),
          v.minus(counts, below), v.minus(v.part(v.joined(zero, ends), 1, 3), v.part(v.joined(zero, ends), 0, 2)),
          v.joined(v.part(ends, 1, 2), v.minus(v.part(ends, 1, 3), v.part(ends, 0, 2)))})
        CHECK(v.counted(x) == history(program_view{&v.p}, dialect(program_model{&v.p})).key(x));
}

TEST_CASE("ends that something writes into in place are others from then on") {
    vectors v;
    const std::uint32_t counts = v.counts({3, 0, 2}), ends = v.summed(counts);
    const std::uint32_t again = apart(v, ends, spelling::zero_joined_and_cut);
    CHECK(v.counted(again) == v.counted(counts));
    v.add("aten.add_.Tensor", {ends, counts}, "%0 %1", 3);
    CHECK(v.counted(again) != v.counted(counts));
}

TEST_CASE("what is said to be the same counts has the same numbers") {
    std::size_t found = 0;
    stretto_check("counts through sums", 1000, [&](const std::vector<std::uint8_t>& bytes) {
        std::size_t at = 0;
        const auto pick = [&](std::size_t n) { return at < bytes.size() ? bytes[at++] % n : 0; };
        vectors v;
        std::vector<std::uint32_t> all;
        for (int k = 0; k < 2; ++k) {
            std::vector<std::int64_t> values(1 + pick(3));
            for (std::int64_t& n : values) n = 1 + static_cast<std::int64_t>(pick(4));
            all.push_back(v.counts(values));
        }
        all.push_back(v.filled("aten.zeros.default", 1));
        all.push_back(v.filled("aten.ones.default", 1));
        while (at < bytes.size() && all.size() < 24) {
            const std::uint32_t x = all[all.size() - 1 - pick(all.size())], y = all[all.size() - 1 - pick(all.size())];
            const std::int64_t n = v.length(x);
            switch (pick(8)) {
                case 0:
                    all.push_back(v.summed(x));
                    break;
                case 1:
                    all.push_back(v.joined(x, y));
                    break;
                case 2: {
                    const auto first = static_cast<std::int64_t>(pick(static_cast<std::size_t>(n) + 1));
                    const auto count = static_cast<std::int64_t>(pick(static_cast<std::size_t>(n - first) + 1));
                    all.push_back(v.part(x, first, first + count));
                    break;
                }
                case 3:
                    for (const std::uint32_t z : all)
                        if (v.length(z) == n && pick(2) == 0) {
                            all.push_back(v.minus(x, z));
                            break;
                        }
                    break;
                case 4:
                    if (n > 0) all.push_back(apart(v, v.summed(x), all_spellings[pick(6)]));
                    break;
                case 5:
                    if (n > 0) all.push_back(apart(v, x, all_spellings[pick(6)]));  // perhaps no running sum
                    break;
                case 6:
                    if (const std::int64_t room = n - v.length(y); room >= 0 && x != y)
                        all.push_back(
                            v.written(x, y, static_cast<std::int64_t>(pick(static_cast<std::size_t>(room) + 1))));
                    break;
                default:
                    all.push_back(v.same(x));
            }
        }
        v.p.output(all);
        const auto done = v.p.run();
        RC_ASSERT(done.has_value());
        const auto numbers = [&](std::size_t k) {
            return done->outputs[k].by_rank[0].tensors[0].template values<std::int64_t>();
        };
        for (std::size_t j = 0; j < all.size(); ++j)
            for (std::size_t k = 0; k < j; ++k)
                if (v.counted(all[j]) == v.counted(all[k])) {
                    ++found;
                    RC_ASSERT(numbers(j) == numbers(k));
                }
    });
    MESSAGE(found << " pairs of equal vectors");
    if (support::runs_all_cases()) CHECK(found > 1000);
}
