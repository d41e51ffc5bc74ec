#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "stretto/backend/check_log.hpp"
#include "stretto/backend/executor.hpp"
#include "stretto/backend/host/host_world.hpp"
#include "stretto/backend/recorder.hpp"
#include "stretto/core/process_groups.hpp"
#include "support/prop.hpp"

// Exchanges whose amounts are known only when the step runs: ranks count, tell each other how much will come, and send
// as much; then all of it goes back. Against a plain loop.

using namespace stretto;
using support::toy_program;

namespace {

constexpr std::size_t most_rows = 9;

/// What rank r sends to each rank, in rows of `width` numbers. The count for a rank is in the data, so it changes with
/// every step.
struct traffic {
    std::size_t ranks, width;
    std::vector<std::vector<std::int64_t>> rows;  // from r to q

    [[nodiscard]] std::int64_t received(std::size_t r) const {
        std::int64_t sum = 0;
        for (const auto& sent : rows) sum += sent[r];
        return sum;
    }
    [[nodiscard]] static std::int64_t number(std::size_t r, std::size_t k) {
        return static_cast<std::int64_t>(r * 1'000 + k);
    }
};

/// %0 rows; %1 counts; %2 count the rows; %3, %4 exchange the counts; then for each rank a view of its count here
/// and there; then rows are sent, every number is doubled, rows come back, and the output reads them.
struct program {
    toy_program p;
    std::uint32_t dispatch, twice, combine, back, first_sent, first_received;

    program(const traffic& t, bytes capacity) {
        const auto n = static_cast<std::uint32_t>(t.ranks);
        const bytes room{static_cast<std::int64_t>(most_rows * t.width * 8)}, counts{n * 8};
        p.ops.push_back({.kind = op_kind::input, .results = {{room, {}}}});
        p.ops.push_back({.kind = op_kind::input, .results = {{counts, {}}}});
        p.ops.push_back({.operands = {{1, 0}}, .results = {{counts, {}}}});
        p.ops.push_back({.kind = op_kind::start,
                         .collective = collective_kind::all_to_all,
                         .payload = counts,
                         .operands = {{2, 0}},
                         .results = {{counts, {}}}});
        p.ops.push_back({.kind = op_kind::wait, .operands = {{3, 0}}, .results = {{{0}, {{3, 0}}}}});
        first_sent = add_views(2, n);
        first_received = add_views(4, n);
        dispatch = add_exchange(0, n, capacity);
        p.ops.push_back({.kind = op_kind::wait, .operands = {{dispatch, 0}}, .results = {{{0}, {{dispatch, 0}}}}});
        twice = static_cast<std::uint32_t>(p.ops.size());
        p.ops.push_back({.operands = {{twice - 1, 0}, {4, 0}}, .results = {{capacity, {}}}});
        combine = add_exchange(twice, n, room);
        back = static_cast<std::uint32_t>(p.ops.size());
        p.ops.push_back({.kind = op_kind::wait, .operands = {{combine, 0}}, .results = {{{0}, {{combine, 0}}}}});
        p.ops.push_back({.kind = op_kind::output, .operands = {{back, 0}}});
    }

private:
    std::uint32_t add_views(std::uint32_t of, std::uint32_t n) {
        const auto first = static_cast<std::uint32_t>(p.ops.size());
        for (std::uint32_t k = 0; k < n; ++k)
            p.ops.push_back({.kind = op_kind::view, .operands = {{of, 0}}, .results = {{{0}, {{of, 0}}}}});
        return first;
    }
    std::uint32_t add_exchange(std::uint32_t of, std::uint32_t n, bytes room) {
        support::toy_op start{.kind = op_kind::start,
                              .collective = collective_kind::all_to_all,
                              .group = 1,
                              .operands = {{of, 0}},
                              .results = {{room, {}}}};
        for (std::uint32_t k = 0; k < 2 * n; ++k) start.operands.push_back({first_sent + k, 0});
        p.ops.push_back(start);
        p.groups = 2;
        return static_cast<std::uint32_t>(p.ops.size() - 1);
    }
};

/// A kernel on numbers of 64 bits. It writes as much as the counts say that there is.
struct kernel_of_numbers {
    const std::int64_t* from;
    const std::int64_t* counts;
    std::int64_t* to;
    std::size_t ranks, width;
    bool doubles;

    void operator()() const {
        if (!doubles) {
            std::memcpy(to, from, ranks * 8);
            return;
        }
        std::size_t rows = 0;
        for (std::size_t k = 0; k < ranks; ++k) rows += static_cast<std::size_t>(counts[k]);
        for (std::size_t k = 0; k < rows * width; ++k) to[k] = 2 * from[k];
    }
};

struct source {
    const traffic* t;
    const program* made;
    std::vector<std::int64_t> rows, counts;
    std::vector<split_size> there, here;  // what the dispatch sends, and what it receives
    std::int64_t* elsewhere = nullptr;    // where counts are, if not in the storages of values

    source(const traffic& given, const program& p, std::size_t me)
        : t(&given), made(&p), rows(most_rows * given.width), counts(given.rows[me]) {
        for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = traffic::number(me, k);
        for (std::size_t k = 0; k < t->ranks; ++k) {
            there.push_back({split_size::form::measured, static_cast<std::int64_t>(1 + k)});
            here.push_back({split_size::form::measured, static_cast<std::int64_t>(1 + t->ranks + k)});
        }
    }
    kernel_of_numbers kernel(task_id task, task_memory m) const {
        const auto numbers = [](std::byte* x) { return reinterpret_cast<std::int64_t*>(x); };
        const bool doubles = task == made->twice;
        return {numbers(m.operands[0]),
                doubles ? numbers(m.operands[1]) : nullptr,
                numbers(m.results[0]),
                t->ranks,
                t->width,
                doubles};
    }
    collective_call call(task_id task) const {
        collective_call c;
        c.kind = collective_kind::all_to_all;
        if (task == made->dispatch) c.input_sizes = there, c.output_sizes = here;
        if (task == made->combine) c.input_sizes = here, c.output_sizes = there;
        return c;
    }
    bytes row_bytes(task_id) const { return {static_cast<std::int64_t>(t->width * 8)}; }
    bytes offset(value_id x) const {
        const auto first = made->first_sent, n = static_cast<value_id>(t->ranks);
        return {x >= first && x < first + 2 * n ? (x - first) % n * 8 : 0};
    }
    std::byte* address(value_id x) { return reinterpret_cast<std::byte*>(x == 0 ? rows.data() : counts.data()); }
};

process_groups groups_of(std::size_t ranks) {
    std::vector<rank_id> all;
    for (rank_id r = 0; r < ranks; ++r) all.push_back(r);
    process_groups groups;
    for (int k = 0; k < 2; ++k) groups.add({.size = static_cast<std::int64_t>(ranks), .ranks = all});
    return groups;
}

struct outcome {
    std::optional<run_failure> failure;
    std::string wrong;
};

/// Runs the exchange on all ranks, the counts doubled back; `change(source, rank)` may spoil what ranks say.
template <class Change>
outcome run(const traffic& t, bytes capacity, const std::vector<std::uint8_t>& picks, Change change) {
    const program made(t, capacity);
    const task_graph g = support::graph_of(made.p);
    const auto order = check_order(g, support::random_order(g, picks));
    RC_ASSERT(order.has_value());
    {
        source s(t, made, 0);
        recorder rank(groups_of(t.ranks), 0);
        auto bound = bind_order(g, *order, s, rank);
        RC_ASSERT(bound.has_value());
        RC_ASSERT(!bound->replay());
        RC_ASSERT(check_log(g, bound->program().arena, rank.log()).empty());
    }
    outcome all;
    std::vector<std::string> wrong(t.ranks);
    host_world world(t.ranks, groups_of(t.ranks), {.deadline = std::chrono::seconds(20)});
    all.failure = world.run([&](host_rank& rank) {
        const std::size_t me = rank.rank();
        source s(t, made, me);
        change(s, me);
        auto bound = bind_order(g, *order, s, rank);
        if (!bound) return wrong[me].assign(explain(bound.error())), void();
        for (int replay = 0; replay < 2; ++replay) {
            if (bound->replay()) return;
            std::int64_t sent = 0;
            for (const std::int64_t rows : s.counts) sent += rows;
            const auto* const back = reinterpret_cast<const std::int64_t*>(bound->address(made.back));
            for (std::size_t k = 0; k < static_cast<std::size_t>(sent) * t.width; ++k)
                if (back[k] != 2 * traffic::number(me, k)) wrong[me] += " " + std::to_string(k);
            // Another step, other amounts: each rank sends what it has kept so far for rank q to rank q + 1.
            std::rotate(s.counts.begin(), s.counts.end() - 1, s.counts.end());
        }
    });
    for (const std::string& w : wrong) all.wrong += w;
    return all;
}

traffic random_traffic(const std::vector<std::uint8_t>& picks) {
    const auto pick = [&](std::size_t k, std::size_t below) { return k < picks.size() ? picks[k] % below : 0; };
    traffic t{1 + pick(0, 4), 1 + pick(1, 3), {}};
    for (std::size_t r = 0; r < t.ranks; ++r) {
        t.rows.emplace_back();
        std::size_t left = most_rows;
        for (std::size_t q = 0; q < t.ranks; ++q) {
            const std::size_t rows = pick(2 + r * t.ranks + q, left + 1);
            t.rows.back().push_back(static_cast<std::int64_t>(rows));
            left -= rows;
        }
    }
    return t;
}

bytes rows_of(const traffic& t, std::int64_t rows) { return {rows * static_cast<std::int64_t>(t.width) * 8}; }

}  // namespace

TEST_CASE("amounts that the step measures are moved, in any order and at every replay") {
    stretto_check("measured exchanges", 100,
                  [](const std::vector<std::uint8_t>& amounts, const std::vector<std::uint8_t>& picks) {
                      const traffic t = random_traffic(amounts);
                      const outcome all = run(t, rows_of(t, static_cast<std::int64_t>(most_rows * t.ranks)), picks,
                                              [](source&, std::size_t) {});
                      RC_ASSERT(!all.failure);
                      RC_ASSERT(all.wrong == "");
                  });
}

TEST_CASE("more than there is room for ends the run, and says where and how much") {
    stretto_check("overflows", 60, [](const std::vector<std::uint8_t>& amounts) {
        traffic t = random_traffic(amounts);
        std::int64_t most = 0;
        for (std::size_t r = 0; r < t.ranks; ++r) most = std::max(most, t.received(r));
        if (most == 0) most = t.rows[0][0] = 1;
        const outcome all = run(t, rows_of(t, most - 1), {}, [](source&, std::size_t) {});
        RC_ASSERT(all.failure.has_value());
        RC_ASSERT(all.failure->why == run_failure::reason::overflow);
        RC_ASSERT(t.received(all.failure->rank) == most);
        RC_ASSERT(all.failure->group == 1u);
        RC_ASSERT(all.failure->detail.starts_with("receives "));
    });
}

TEST_CASE("amounts that cannot be, or that ranks do not agree about, end the run") {
    const traffic t{2, 1, {{2, 3}, {1, 4}}};
    const auto with_counts = [&](std::size_t who, std::vector<std::int64_t> counts, bool tell_others) {
        // Whoever counts something else than it tells others has its counts elsewhere.
        return run(t, rows_of(t, 18), {}, [=](source& s, std::size_t me) {
            if (me != who) return;
            if (tell_others) s.counts = counts;
            else s.there = {{split_size::form::given, counts[0]}, {split_size::form::given, counts[1]}};
        });
    };
    const outcome negative = with_counts(1, {2, -1}, true);
    REQUIRE(negative.failure);
    CHECK(negative.failure->why == run_failure::reason::overflow);
    const outcome too_many = with_counts(0, {5, 5}, true);
    REQUIRE(too_many.failure);
    CHECK(too_many.failure->why == run_failure::reason::overflow);
    CHECK(too_many.failure->rank == 0);
    CHECK(too_many.failure->detail.starts_with("sends 5 rows of 8 bytes to rank 1, where 32 of 72"));
    const outcome endless = with_counts(0, {0, INT64_MAX}, true);
    REQUIRE(endless.failure);
    CHECK(endless.failure->why == run_failure::reason::overflow);
    const outcome secret = with_counts(1, {1, 3}, false);
    REQUIRE(secret.failure);
    CHECK(secret.failure->why == run_failure::reason::mismatch);
    CHECK(secret.failure->detail.find("24 bytes") != std::string::npos);
}

TEST_CASE("what is not known of an exchange is asked for when it is bound") {
    const traffic t{2, 1, {{2, 3}, {1, 4}}};
    const program made(t, rows_of(t, 18));
    const task_graph g = support::graph_of(made.p);
    const checked_order order = *check_order(g, support::program_order(g.size()));
    const auto refusal = [&](auto& s) {
        recorder rank(groups_of(2), 0);
        const auto bound = bind_order(g, order, s, rank);
        REQUIRE_FALSE(bound);
        CHECK(!explain(bound.error()).empty());
        return bound.error();
    };
    using why = bind_error::reason;
    struct without_rows {
        source own;
        auto kernel(task_id task, task_memory m) const { return own.kernel(task, m); }
        collective_call call(task_id task) const { return own.call(task); }
        bytes offset(value_id x) const { return own.offset(x); }
        std::byte* address(value_id x) { return own.address(x); }
    } no_rows{source(t, made, 0)};
    CHECK(refusal(no_rows) == bind_error{why::sizes_at_run_time, made.dispatch});
    source no_operand(t, made, 0);
    no_operand.there[1].value = 5;
    CHECK(refusal(no_operand) == bind_error{why::sizes_at_run_time, made.dispatch});
    struct with_capacity : source {
        using source::source;
        std::int64_t rows = 0;
        bytes capacity(value_id x) const { return {x == made->dispatch ? rows * 8 : 72}; }
    } larger(t, made, 0);
    larger.rows = 19;
    CHECK(refusal(larger) == bind_error{why::capacity, made.dispatch});
    struct with_count : source {
        using source::source;
        const std::int64_t* count(value_id) const { return nullptr; }
    } nowhere(t, made, 0);
    CHECK(refusal(nowhere) == bind_error{why::sizes_at_run_time, made.dispatch});
}

TEST_CASE("what a source calls the capacity counts, and not the storage") {
    const traffic t{1, 1, {{6}}};
    const program made(t, rows_of(t, 9));
    const task_graph g = support::graph_of(made.p);
    const checked_order order = *check_order(g, support::program_order(g.size()));
    struct with_capacity : source {
        using source::source;
        std::int64_t rows = 0;
        bytes capacity(value_id x) const { return {x == made->dispatch ? rows * 8 : 72}; }
    };
    for (const std::int64_t rows : {5, 6}) {
        host_world world(1, groups_of(1));
        const auto failure = world.run([&](host_rank& rank) {
            with_capacity s(t, made, 0);
            s.rows = rows;
            auto bound = bind_order(g, order, s, rank);
            if (bound) static_cast<void>(bound->replay());
        });
        CHECK(failure.has_value() == (rows == 5));
        if (failure) CHECK(failure->why == run_failure::reason::overflow);
    }
}
