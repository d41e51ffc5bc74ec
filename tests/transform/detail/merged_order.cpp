#include "stretto/transform/detail/merged_order.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/prop.hpp"

using namespace stretto;
using detail::merged_set;

namespace {

/// A program drawn from bytes, and sets of it that may become one together, unless cycles are asked for.
struct merged_program {
    index_lists before, after;
    std::vector<merged_set> sets;
};

/// The same order by the words of its definition: of all that may come next, what is to stand first.
class by_definition {
public:
    by_definition(const index_lists& before, const std::vector<merged_set>& sets)
        : before_(before), sets_(sets), set_of_(before.rows(), SIZE_MAX), first_(before.rows()), rank_(before.rows()) {
        for (std::uint32_t p = 0; p < before.rows(); ++p) first_[p] = rank_[p] = p;
        for (std::size_t k = 0; k < sets.size(); ++k) {
            const auto& all = sets[k].members;
            for (std::uint32_t p : all) {
                set_of_[p] = k;
                first_[p] = *std::min_element(all.begin(), all.end());
                rank_[p] = sets[k].early ? first_[p] : *std::max_element(all.begin(), all.end());
            }
        }
        for (const merged_set& s : sets)
            if (s.early) draw(s.members[0], rank_[s.members[0]]);
    }
    /// Shorter than the program if the sets make a cycle.
    std::vector<std::uint32_t> run() const {
        std::vector<std::uint32_t> order;
        std::vector<char> taken(first_.size(), false);
        while (true) {
            std::pair<std::uint32_t, std::uint32_t> best{UINT32_MAX, UINT32_MAX};
            for (std::uint32_t p = 0; p < first_.size(); ++p) {
                bool free = first_[p] == p && !taken[p];
                for (std::uint32_t m : members(p))
                    for (std::uint32_t q : before_[m]) free = free && (first_[q] == p || taken[q]);
                if (free) best = std::min(best, {rank_[p], p});
            }
            if (best.second == UINT32_MAX) return order;
            for (std::uint32_t m : members(best.second)) {
                taken[m] = true;
                order.push_back(m);
            }
        }
    }

private:
    std::vector<std::uint32_t> members(std::uint32_t p) const {
        return set_of_[p] == SIZE_MAX ? std::vector{p} : sets_[set_of_[p]].members;
    }
    void draw(std::uint32_t p, std::uint32_t wanted) {
        for (std::uint32_t m : members(p))
            for (std::uint32_t q : before_[m]) {
                if (rank_[q] <= wanted) continue;
                for (std::uint32_t other : members(q)) rank_[other] = wanted;
                draw(q, wanted);
            }
    }

    const index_lists& before_;
    const std::vector<merged_set>& sets_;
    std::vector<std::size_t> set_of_;
    std::vector<std::uint32_t> first_, rank_;  // the first position of what a position belongs to; where it is to stand
};

merged_program drawn(const std::vector<std::uint8_t>& bytes, bool cycles = false) {
    merged_program made;
    std::size_t at = 0;
    const auto next = [&](std::size_t bound) { return at >= bytes.size() ? std::size_t{0} : bytes[at++] % bound; };
    const std::size_t size = std::min<std::size_t>(bytes.size() / 4, 40);
    for (std::size_t p = 0; p < size; ++p) {
        const std::size_t edges = p == 0 ? 0 : next(3);
        std::vector<std::uint32_t> row;
        for (std::size_t k = 0; k < edges; ++k)
            row.push_back(static_cast<std::uint32_t>(p - 1 - next(std::min<std::size_t>(p, 12))));
        std::sort(row.begin(), row.end());
        row.erase(std::unique(row.begin(), row.end()), row.end());
        made.before.push_row(row);
    }
    made.after = made.before.inverse(size);
    std::vector<char> claimed(size, false);
    while (size > 0 && at < bytes.size()) {
        merged_set s{{}, next(2) == 0};
        for (std::size_t k = 2 + next(3); k > 0; --k) {
            const std::size_t p = next(size);
            if (std::find(s.members.begin(), s.members.end(), p) != s.members.end() || claimed[p]) continue;
            s.members.push_back(static_cast<std::uint32_t>(p));
        }
        if (s.members.empty()) continue;
        made.sets.push_back(s);
        if (!cycles && by_definition(made.before, made.sets).run().size() < size) {
            made.sets.pop_back();
            continue;
        }
        for (std::uint32_t p : s.members) claimed[p] = true;
    }
    return made;
}

}  // namespace

TEST_CASE("of what may come next, what stood first") {
    std::size_t merged = 0, moved = 0;
    stretto_check("random programs", 10000, [&](const std::vector<std::uint8_t>& bytes) {
        const merged_program p = drawn(bytes);
        const auto order = detail::order_merger<>(p.before, p.after, p.sets).run();
        RC_ASSERT(order == by_definition(p.before, p.sets).run());
        for (const merged_set& s : p.sets) merged += s.members.size() > 1;
        moved += !std::is_sorted(order.begin(), order.end());
    });
    if (!support::runs_all_cases()) return;
    CHECK(merged > 10000);
    CHECK(moved > 5000);
}

TEST_CASE("the order is complete exactly if the sets make no cycle, and then it is the right one") {
    std::size_t complete = 0, cyclic = 0;
    stretto_check("random programs", 10000, [&](const std::vector<std::uint8_t>& bytes) {
        const merged_program p = drawn(bytes, true);
        if (p.sets.empty()) return;
        const auto expected = by_definition(p.before, p.sets).run();
        const auto order = detail::order_merger<>(p.before, p.after, p.sets).run();
        const std::size_t size = p.before.rows();
        RC_ASSERT((order.size() == size) == (expected.size() == size));
        if (expected.size() == size) RC_ASSERT(order == expected);
        ++(expected.size() == size ? complete : cyclic);
    });
    if (!support::runs_all_cases()) return;
    CHECK(complete > 500);
    CHECK(cyclic > 500);
}

TEST_CASE("a late set draws nothing forward, and puts its readers off") {
    // 0, 1 <- 0, 2, 3 <- 1, 4 <- 2: merging 1 and 4 late puts 3 behind them; early, it draws 2 forward.
    index_lists before;
    for (const std::vector<std::uint32_t>& row : std::vector<std::vector<std::uint32_t>>{{}, {0}, {}, {1}, {2}})
        before.push_row(row);
    const index_lists after = before.inverse(5);
    using order = std::vector<std::uint32_t>;
    const std::vector<merged_set> late = {{{1, 4}, false}}, early = {{{4, 1}, true}};
    CHECK(detail::order_merger<>(before, after, late).run() == order{0, 2, 1, 4, 3});
    CHECK(detail::order_merger<>(before, after, early).run() == order{0, 2, 4, 1, 3});
}
