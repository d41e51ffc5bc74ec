#include "stretto/backend/host/host_world.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "stretto/core/process_groups.hpp"
#include "support/planted_faults.hpp"
#include "support/prop.hpp"

using namespace stretto;
using why = run_failure::reason;
using kind = transfer_kind;

namespace {

process_groups groups_of(std::size_t ranks, std::size_t count = 1) {
    std::vector<rank_id> all(ranks);
    std::iota(all.begin(), all.end(), 0u);
    process_groups groups;
    for (std::size_t k = 0; k < count; ++k) groups.add({.size = static_cast<std::int64_t>(ranks), .ranks = all});
    return groups;
}

using numbers = std::vector<std::int32_t>;

/// An operation on 32-bit numbers. Sizes of an all-to-all are counted in numbers, too.
collective_operation operation(kind what, const numbers& sent, numbers& received, std::vector<std::size_t> to = {},
                               std::vector<std::size_t> from = {}) {
    collective_operation o;
    o.kind = what;
    o.reduction = reduction_kind::sum;
    o.element = element_type::i32;
    o.send = reinterpret_cast<const std::byte*>(sent.data());
    o.receive = reinterpret_cast<std::byte*>(received.data());
    o.send_bytes = sent.size() * 4;
    o.receive_bytes = received.size() * 4;
    for (std::size_t& n : to) n *= 4;
    for (std::size_t& n : from) n *= 4;
    o.send_sizes = std::move(to);
    o.receive_sizes = std::move(from);
    return o;
}

/// What goes wrong when rank r of `ranks` performs `steps(r)` on group 0, one after the other.
template <class Steps>
std::optional<run_failure> failure(std::size_t ranks, Steps steps,
                                   std::chrono::milliseconds deadline = std::chrono::seconds(20)) {
    host_world world(ranks, groups_of(ranks), {.deadline = deadline});
    return world.run([&](host_rank& rank) {
        const numbers sent(8, 1);
        numbers received(8 * ranks);
        for (const collective_operation& o : steps(rank.rank(), sent, received))
            if (rank.perform(0, o)) return;
    });
}

}  // namespace

TEST_CASE("collectives move and reduce as their definitions say") {
    stretto_check("as defined", 60, [](const std::vector<std::uint8_t>& picks) {
        const auto pick = [&](std::size_t k, std::size_t below) { return k < picks.size() ? picks[k] % below : 0; };
        const std::size_t ranks = 1 + pick(0, 4), size = ranks * (1 + pick(1, 5));
        const reduction_kind reductions[] = {reduction_kind::sum, reduction_kind::max, reduction_kind::min,
                                             reduction_kind::product};
        const reduction_kind reduction = reductions[pick(2, 4)];
        const auto root = static_cast<std::uint32_t>(pick(3, ranks));
        std::vector<numbers> sent(ranks);
        std::vector<std::vector<std::size_t>> sizes(ranks);  // of the uneven exchange: what r sends to each
        for (std::size_t r = 0; r < ranks; ++r) {
            for (std::size_t k = 0; k < size; ++k)
                sent[r].push_back(static_cast<std::int32_t>(pick(r * size + k + 4, 256)) - 90);
            std::size_t left = size;
            for (std::size_t to = 0; to < ranks; ++to) {
                sizes[r].push_back(to + 1 == ranks ? left : pick(r * ranks + to + 9, left + 1));
                left -= sizes[r].back();
            }
        }
        const auto folded = [&](std::size_t k) {
            std::int32_t value = sent[0][k];
            for (std::size_t r = 1; r < ranks; ++r) {
                const std::int32_t x = sent[r][k];
                if (reduction == reduction_kind::sum) value += x;
                if (reduction == reduction_kind::product) value *= x;
                if (reduction == reduction_kind::max) value = std::max(value, x);
                if (reduction == reduction_kind::min) value = std::min(value, x);
            }
            return value;
        };
        host_world world(ranks, groups_of(ranks));
        std::vector<std::string> wrong(ranks);
        const auto failed = world.run([&](host_rank& rank) {
            const std::size_t me = rank.rank();
            const auto check = [&](collective_operation o, const numbers& received, const numbers& expected) {
                o.reduction = reduction;
                o.root = root;
                if (rank.perform(0, o) || received != expected) wrong[me] += std::string(detail::name_of(o.kind)) + " ";
            };
            numbers gathered(size * ranks), scattered(size / ranks), reduced(size), exchanged(size), cast(size);
            numbers expected;
            for (const numbers& x : sent) expected.insert(expected.end(), x.begin(), x.end());
            check(operation(kind::all_gather, sent[me], gathered), gathered, expected);
            numbers all;
            for (std::size_t k = 0; k < size; ++k) all.push_back(folded(k));
            check(operation(kind::all_reduce, sent[me], reduced), reduced, all);
            const std::size_t share = size / ranks;
            const auto at = [&](const numbers& x, std::size_t from, std::size_t count) {
                return numbers(x.begin() + static_cast<std::ptrdiff_t>(from),
                               x.begin() + static_cast<std::ptrdiff_t>(from + count));
            };
            check(operation(kind::reduce_scatter, sent[me], scattered), scattered, at(all, me * share, share));
            expected.clear();
            for (const numbers& x : sent)
                for (const std::int32_t y : at(x, me * share, share)) expected.push_back(y);
            const std::vector<std::size_t> even(ranks, share);
            check(operation(kind::all_to_all, sent[me], exchanged, even, even), exchanged, expected);
            std::vector<std::size_t> from;
            expected.clear();
            for (std::size_t r = 0; r < ranks; ++r) {
                from.push_back(sizes[r][me]);
                const std::size_t before = std::accumulate(
                    sizes[r].begin(), sizes[r].begin() + static_cast<std::ptrdiff_t>(me), std::size_t{0});
                for (const std::int32_t y : at(sent[r], before, sizes[r][me])) expected.push_back(y);
            }
            numbers uneven(expected.size());
            check(operation(kind::all_to_all, sent[me], uneven, sizes[me], from), uneven, expected);
            check(operation(kind::broadcast, sent[me], cast), cast, sent[root]);
            // And in place, where that is allowed.
            const auto in_place = [&](kind what, std::size_t first, std::size_t sends, std::size_t to,
                                      std::size_t makes, const numbers& due) {
                numbers both(std::max(first + sends, to + makes), -1);
                std::copy_n(sent[me].begin(), sends, both.begin() + static_cast<std::ptrdiff_t>(first));
                collective_operation o;
                o.kind = what;
                o.reduction = reduction;
                o.element = element_type::i32;
                o.root = root;
                o.send = reinterpret_cast<const std::byte*>(both.data() + first);
                o.receive = reinterpret_cast<std::byte*>(both.data() + to);
                o.send_bytes = sends * 4;
                o.receive_bytes = makes * 4;
                if (!may_overlap(o, me) || rank.perform(0, o) || at(both, to, makes) != due)
                    wrong[me] += std::string(detail::name_of(what)) + " in place ";
            };
            in_place(kind::all_reduce, 0, size, 0, size, all);
            in_place(kind::reduce_scatter, 0, size, me * share, share, at(all, me * share, share));
            in_place(kind::broadcast, 0, size, 0, size, sent[root]);
            expected.clear();
            for (const numbers& x : sent) expected.insert(expected.end(), x.begin(), x.end());
            in_place(kind::all_gather, me * size, size, 0, size * ranks, expected);
            numbers nothing;
            check(operation(kind::barrier, {}, nothing), nothing, {});
        });
        RC_ASSERT(!failed);
        for (const std::string& w : wrong) RC_ASSERT(w.empty());
    });
}

TEST_CASE("sums of reals are formed in the order of ranks") {
    // 1e8 + 1 - 1e8 is 0 in 32 bits, and any other order gives 1.
    const float sent[] = {1e8f, 1, -1e8f};
    host_world world(3, groups_of(3));
    float received[3] = {7, 7, 7};
    CHECK_FALSE(world.run([&](host_rank& rank) {
        collective_operation o;
        o.kind = kind::all_reduce;
        o.reduction = reduction_kind::sum;
        o.element = element_type::f32;
        o.send = reinterpret_cast<const std::byte*>(&sent[rank.rank()]);
        o.receive = reinterpret_cast<std::byte*>(&received[rank.rank()]);
        o.send_bytes = o.receive_bytes = 4;
        static_cast<void>(rank.perform(0, o));
    }));
    for (const float x : received) CHECK(x == 0);
}

TEST_CASE("reals are averaged, integers wrap around, and other elements are not reduced") {
    const double real[] = {1, 4};
    const std::int64_t whole[] = {INT64_MAX, 2};
    double average[2] = {};
    std::int64_t sum[2] = {};
    bool half = true, average_of_integers = true;
    host_world world(2, groups_of(2));
    CHECK_FALSE(world.run([&](host_rank& rank) {
        const rank_id me = rank.rank();
        collective_operation o;
        o.kind = kind::all_reduce;
        o.reduction = reduction_kind::average;
        o.element = element_type::f64;
        o.send = reinterpret_cast<const std::byte*>(&real[me]);
        o.receive = reinterpret_cast<std::byte*>(&average[me]);
        o.send_bytes = o.receive_bytes = 8;
        static_cast<void>(rank.perform(0, o));
        o.element = element_type::i64;
        if (me == 0) average_of_integers = rank.channel(0)->can(o);
        o.reduction = reduction_kind::sum;
        o.send = reinterpret_cast<const std::byte*>(&whole[me]);
        o.receive = reinterpret_cast<std::byte*>(&sum[me]);
        static_cast<void>(rank.perform(0, o));
        o.element = element_type::f16;
        if (me == 0) half = rank.channel(0)->can(o);
    }));
    for (const std::size_t r : {0u, 1u}) {
        CHECK(average[r] == 2.5);
        CHECK(sum[r] == INT64_MIN + 1);
    }
    CHECK_FALSE(half);
    CHECK_FALSE(average_of_integers);
}

TEST_CASE("a collective that a rank does not begin ends the run, and is named") {
    const auto left = failure(3, [](rank_id rank, const numbers& sent, numbers& received) {
        std::vector<collective_operation> steps(2, operation(kind::all_gather, sent, received));
        if (rank == 1) steps.pop_back();
        return steps;
    });
    REQUIRE(left);
    CHECK(left->why == why::rank_left);
    CHECK(left->rank == 1);
    CHECK(left->group == 0);
    CHECK(left->sequence == 1);
    REQUIRE(!left->waiting.empty());
}

TEST_CASE("a rank that is late ends the run after the deadline") {
    host_world world(2, groups_of(2), {.deadline = std::chrono::milliseconds(30)});
    std::atomic<bool> over = false;
    const auto late = world.run([&](host_rank& rank) {
        const numbers sent(4);
        numbers received(8);
        if (rank.rank() == 1)
            while (!over) std::this_thread::yield();  // it computes
        static_cast<void>(rank.perform(0, operation(kind::all_gather, sent, received)));
        over = true;
    });
    REQUIRE(late);
    CHECK(late->why == why::timeout);
    CHECK(late->rank == 0);
    bool named = false;
    for (const waiting_lane& w : late->waiting)
        named = named || (w.rank == 0 && w.lane == 1 && w.for_ranks == std::vector<rank_id>{1});
    CHECK(named);
}

TEST_CASE("members that come for different collectives are told") {
    const auto detail = [](auto change) {
        const auto met = failure(2, [&](rank_id rank, const numbers& sent, numbers& received) {
            collective_operation o = operation(kind::all_gather, sent, received);
            o.task = 5;
            if (rank == 1) change(o);
            return std::vector<collective_operation>{operation(kind::barrier, {}, received), o};
        });
        REQUIRE(met);
        CHECK(met->why == why::mismatch);
        CHECK(met->sequence == 1);
        CHECK(met->task == 5);
        return met->rank == 0 ? met->detail : "seen by the other";
    };
    const auto either = [](const std::string& got, const std::string& wanted) {
        CHECK((got == wanted || got == "seen by the other"));
    };
    either(detail([](collective_operation& o) { o.send_bytes = 16; }),
           "all_gather of 32 bytes here, all_gather of 16 bytes on rank 1");
    either(detail([](collective_operation& o) { o.kind = kind::all_reduce; }),
           "all_gather of 32 bytes here, all_reduce of 32 bytes on rank 1");
    either(detail([](collective_operation& o) { o.logical_id = 3, o.chunk = 1; }),
           "all_gather of 32 bytes here, all_gather of id 3, chunk 1 of 32 bytes on rank 1");
    either(
        detail([](collective_operation& o) { o.reduction = reduction_kind::max; }),
        "all_gather of 32 bytes here, all_gather of 32 bytes on rank 1, reduced in another way or from another root");
    either(detail([](collective_operation& o) { o.element = element_type::f32; }),
           "all_gather of 32 bytes here, all_gather of 32 bytes on rank 1, with other elements");
    either(detail([](collective_operation& o) { o.chunk = 1; }),
           "all_gather of 32 bytes here, all_gather of id 0, chunk 1 of 32 bytes on rank 1");
}

TEST_CASE("an amount that does not fit is told in rows, whether it was given or measured") {
    const std::int64_t one = 1;
    const std::vector<rank_id> ranks = {4, 5};
    std::vector<std::size_t> sends, receives;
    collective_operation o;
    o.kind = kind::all_to_all;
    o.row_bytes = 4;
    o.send_bytes = o.receive_bytes = 12;
    o.send_sizes = o.receive_sizes = {0, 12};
    o.send_rows = o.receive_rows = {&one, nullptr};
    CHECK(detail::find_sizes(o, ranks, sends, receives) ==
          "sends 3 rows of 4 bytes to rank 5, where 8 of 12 bytes are left");
}

TEST_CASE("amounts of an exchange that do not fit each other are told") {
    const auto met = failure(2, [&](rank_id rank, const numbers& sent, numbers& received) {
        // Rank 0 sends four numbers to rank 1, which expects five.
        return std::vector{operation(kind::all_to_all, sent, received, {4, 4},
                                     rank == 0 ? std::vector<std::size_t>{4, 4} : std::vector<std::size_t>{5, 4})};
    });
    REQUIRE(met);
    CHECK(met->why == why::mismatch);
    CHECK(met->rank == 1);
    CHECK(met->detail == "all_to_all of 20 bytes here, all_to_all of 16 bytes on rank 0");
}

TEST_CASE("whatever goes wrong, wherever, the run ends and names the collective") {
    constexpr rank_id ranks = 3;
    const auto faults = support::planted_faults(ranks);
    CHECK(faults.size() == 182);
    for (const support::planted_fault& fault : faults) {
        CAPTURE(static_cast<int>(fault.what));
        CAPTURE(fault.who);
        CAPTURE(fault.where);
        host_world world(ranks, groups_of(ranks), {.deadline = fault.deadline()});
        const auto found = world.run([&](host_rank& rank) { support::perform_with_fault(rank, ranks, fault); });
        support::check_found(fault, found, false);
    }
}

TEST_CASE("a program that goes on after a failure is told of it every time") {
    host_world world(2, groups_of(2));
    std::vector<int> told(2);
    const auto found = world.run([&](host_rank& rank) {
        const numbers sent(rank.rank() == 0 ? 4 : 8);  // they do not agree
        numbers received(16);
        for (int k = 0; k < 1000; ++k)
            told[rank.rank()] += rank.perform(0, operation(kind::all_gather, sent, received)).has_value();
    });
    REQUIRE(found);
    CHECK(found->why == why::mismatch);
    CHECK(told == std::vector<int>{1000, 1000});
}

TEST_CASE("a rank that throws ends the run for all") {
    host_world world(3, groups_of(3));
    const auto thrown = world.run([&](host_rank& rank) {
        const numbers sent(4);
        numbers received(12);
        if (rank.rank() == 2) throw std::runtime_error("out of tokens");
        static_cast<void>(rank.perform(0, operation(kind::all_gather, sent, received)));
    });
    REQUIRE(thrown);
    CHECK((thrown->why == why::rank_threw || thrown->why == why::rank_left));
    CHECK(thrown->rank == 2);
    // And it stays ended.
    const auto again = world.run([&](host_rank& rank) {
        numbers none;
        CHECK(rank.perform(0, operation(kind::barrier, {}, none)));
    });
    CHECK(again);
}

TEST_CASE("an emulated link takes latency and the time of the bytes that cross it") {
    constexpr host_link link{{2'000'000}, 1'000'000'000};
    // It cannot be faster than that; how much slower it is, is up to the machine.
    host_world world(2, groups_of(2), {.link = link});
    std::int64_t took = 0;
    CHECK_FALSE(world.run([&](host_rank& rank) {
        const numbers mine(1000);
        numbers all(2000);
        const std::int64_t begin = detail::host_now();
        static_cast<void>(rank.perform(0, operation(kind::all_gather, mine, all)));
        if (rank.rank() == 0) took = detail::host_now() - begin;
    }));
    CHECK(took >= 2'004'000);
}

TEST_CASE("a rank that leaves as soon as its last collective is complete is not missing from it") {
    // The watchdog looks all the time, and every run ends while it may be looking.
    host_world world(2, groups_of(2), {.deadline = std::chrono::milliseconds(2'000)});
    for (int run = 0; run < 400; ++run)
        REQUIRE_FALSE(world.run([&](host_rank& rank) {
            if ((run + static_cast<int>(rank.rank())) % 2 == 0)
                std::this_thread::sleep_for(std::chrono::microseconds(run % 7 * 30));
            numbers none;
            static_cast<void>(rank.perform(0, operation(kind::barrier, {}, none)));
        }));
}

TEST_CASE("after a failure a channel makes no room, because its thread may still be at work") {
    for (int run = 0; run < 20; ++run) {
        host_world world(2, groups_of(2), {.timed = true});
        const auto found = world.run([&](host_rank& rank) {
            const numbers sent(rank.rank() == 0 ? 4 : 8);  // they do not agree
            numbers received(16);
            const collective_operation o = operation(kind::all_gather, sent, received);
            static_cast<void>(rank.perform(0, o));
            rank.channel(0)->reserve(1'000);
            CHECK_FALSE(rank.channel(0)->launch(o));
            CHECK(rank.perform(0, o));
        });
        REQUIRE(found);
        CHECK(found->why == why::mismatch);
    }
}

TEST_CASE("a channel that waits for tasks of its rank is before its next collective, not at the last one") {
    host_world world(2, groups_of(2, 2), {.deadline = std::chrono::milliseconds(60)});
    std::atomic<bool> over = false;
    const auto late = world.run([&](host_rank& rank) {
        numbers none;
        collective_operation first = operation(kind::barrier, {}, none), other = first;
        first.task = 3;
        other.task = 4;
        if (rank.perform(0, first)) return;
        if (rank.rank() == 1)
            while (!over) std::this_thread::yield();  // it does not come to the other group
        detail::host_event* const e = rank.make_events(1);
        rank.begin();
        const bool put = rank.rank() == 0 && rank.channel(1)->launch(other) && rank.channel(1)->record(*e) &&
                         rank.channel(0)->wait(*e) && rank.channel(0)->launch(first);
        CHECK((put || rank.rank() == 1));
        static_cast<void>(rank.finish());
        over = true;
    });
    REQUIRE(late);
    CHECK(late->why == why::timeout);
    CHECK(late->group == 1);
    CHECK(late->task == 4);
    std::size_t named = 0;
    for (const waiting_lane& w : late->waiting) {
        if (w.group != 0) continue;
        ++named;
        CHECK(w.sequence == 1);
        CHECK(w.task == no_task);
        CHECK(w.for_tasks == std::vector<task_id>{4});
    }
    CHECK(named == 1);
}

TEST_CASE("no kernel runs after the run has failed") {
    host_world world(1, groups_of(1));
    bool ran = false;
    const auto thrown = world.run([&](host_rank& rank) {
        auto fails = [] { throw std::runtime_error("no such expert"); };
        auto reads = [&] { ran = true; };
        CHECK_FALSE(rank.compute().launch(1, fails));
        CHECK_FALSE(rank.compute().launch(2, reads));
    });
    REQUIRE(thrown);
    CHECK(thrown->task == 1);
    CHECK_FALSE(ran);
}
