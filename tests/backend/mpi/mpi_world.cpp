#include "stretto/backend/mpi/mpi_world.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/mpi/mpi_session.hpp"
#include "stretto/backend/check_backend.hpp"
#include "stretto/backend/host/host_world.hpp"
#include "stretto/core/process_groups.hpp"
#include "support/planted_faults.hpp"
#include "support/prop.hpp"

// Every process of mpiexec runs all of this; `here` says which one it is.

using namespace stretto;
using mpi_test::everywhere, mpi_test::groups_of, mpi_test::here, mpi_test::one_group, mpi_test::told_alike;
using why = run_failure::reason;
using kind = transfer_kind;
using memory = std::vector<std::byte>;

namespace {

/// A collective of a group, with what each member has and makes.
struct exchange {
    group_id group = 0;
    collective_operation what;
    bool in_place = false;
    std::vector<memory> bytes;  // by member: what it sends, and behind it room for what it receives
    std::vector<std::vector<std::size_t>> sizes;

    /// The operation of a member, and where it happens.
    [[nodiscard]] collective_operation of(std::size_t place, memory& at) const {
        collective_operation o = what;
        if (o.kind == kind::all_to_all) {
            o.send_bytes = o.receive_bytes = 0;
            for (std::size_t k = 0; k < sizes.size(); ++k) {
                o.send_sizes.push_back(sizes[place][k]);
                o.receive_sizes.push_back(sizes[k][place]);
                o.send_bytes += sizes[place][k];
                o.receive_bytes += sizes[k][place];
            }
        }
        if (at.empty()) return o;  // only its amounts are asked for, or there are none
        std::byte* send = at.data();
        std::byte* receive = at.data() + o.send_bytes;
        if (in_place) {
            receive = at.data();
            if (o.kind == kind::all_gather) send += place * o.send_bytes;
            if (o.kind == kind::reduce_scatter) receive += place * o.receive_bytes;
        }
        o.send = send;
        o.receive = receive;
        return o;
    }
};

/// Decoded from bytes, so that it shrinks: `pick(n)` is below n.
template <class Pick>
exchange random_exchange(const process_groups& groups, Pick pick) {
    exchange e;
    e.group = static_cast<group_id>(pick(groups.group_count()));
    const std::size_t members = groups.group_at(e.group).ranks.size();
    collective_operation& o = e.what;
    o.kind = static_cast<kind>(pick(6));
    const element_type elements[] = {element_type::f32, element_type::f64, element_type::i32, element_type::i64};
    const reduction_kind reductions[] = {reduction_kind::sum, reduction_kind::product, reduction_kind::max,
                                         reduction_kind::min, reduction_kind::average};
    o.element = elements[pick(4)];
    const bool real = o.element == element_type::f32 || o.element == element_type::f64;
    o.reduction = reductions[pick(real ? 5 : 4)];
    o.root = static_cast<std::uint32_t>(pick(members));
    e.in_place = o.kind != kind::all_to_all && o.kind != kind::barrier && pick(3) == 0;
    const auto element = static_cast<std::size_t>(size_of(o.element));
    // An all-reduce need not have as many elements for each member.
    const std::size_t count = pick(9) * (pick(4) == 0 ? 500 : 1);
    o.send_bytes = element * count * (o.kind == kind::reduce_scatter ? members : 1);
    o.receive_bytes = o.send_bytes;
    if (o.kind == kind::all_gather) o.receive_bytes *= members;
    if (o.kind == kind::reduce_scatter) o.receive_bytes /= members;
    e.sizes.resize(members);
    for (auto& row : e.sizes)
        for (std::size_t k = 0; k < members; ++k) row.push_back(pick(4) * pick(60));
    for (std::size_t m = 0; m < members; ++m) {
        memory none;
        collective_operation mine = e.of(m, none);
        memory& all = e.bytes.emplace_back(mine.send_bytes + mine.receive_bytes);
        // Reals of very different sizes, so that another order makes another sum.
        for (std::size_t at = 0; at + 8 <= all.size(); at += 8) {
            const double big[] = {1e8, 1, -1e8, 3e-8, 7};
            const double x = big[(at / 8 + m * 3 + pick(5)) % 5] * static_cast<double>(1 + pick(9));
            const float y = static_cast<float>(x), z = static_cast<float>(-2 * x);
            if (o.element == element_type::f32) {
                std::memcpy(all.data() + at, &y, 4);
                std::memcpy(all.data() + at + 4, &z, 4);
            } else if (o.element == element_type::f64) {
                std::memcpy(all.data() + at, &x, 8);
            } else {
                const std::uint64_t n = 0x9e3779b97f4a7c15u * (at + m * 1'000 + pick(256));
                std::memcpy(all.data() + at, &n, 8);
            }
        }
    }
    return e;
}

/// Performs exchanges one after the other as the member of a rank, each in memory of its own.
template <class Rank>
std::vector<memory> perform(Rank& rank, rank_id me, const process_groups& groups, const std::vector<exchange>& all) {
    std::vector<memory> made;
    for (const exchange& e : all) {
        const std::size_t place = groups.group_at(e.group).place_of(me);
        if (place == groups.group_at(e.group).ranks.size()) continue;
        made.push_back(e.bytes[place]);
        if (rank.perform(e.group, e.of(place, made.back()))) return {};
    }
    return made;
}

/// What goes wrong when each rank performs `steps(r)` on group 0, one after the other.
template <class Steps>
std::optional<run_failure> failure(Steps steps, mpi_options options = {.deadline = std::chrono::seconds(20)}) {
    auto world = mpi_world::make(MPI_COMM_WORLD, one_group(here.size()), options);
    REQUIRE(world);
    return (*world)->run([&](mpi_rank& rank) {
        memory sent(32, std::byte{1}), received(32 * here.size());
        for (collective_operation o : steps(rank.rank())) {
            o.send = sent.data();
            o.receive = received.data();
            if (rank.perform(0, o)) return;
        }
    });
}

collective_operation gather_of(std::size_t bytes) {
    collective_operation o;
    o.kind = kind::all_gather;
    o.send_bytes = bytes;
    o.receive_bytes = bytes * here.size();
    return o;
}

}  // namespace

TEST_CASE("a world needs MPI, with threads") {
    REQUIRE(here.before());
    CHECK(here.before()->why == mpi_fault::reason::not_initialised);
    int threads = 0;
    MPI_Query_thread(&threads);
    const auto made = mpi_world::make(MPI_COMM_WORLD, one_group(here.size()));
    if (threads == MPI_THREAD_MULTIPLE) {
        CHECK(made.has_value());
        return;
    }
    REQUIRE_FALSE(made);
    CHECK(made.error().why == mpi_fault::reason::few_threads);
    CHECK(explain(made.error()).find("MPI_THREAD_MULTIPLE") != std::string::npos);
}

TEST_CASE("a world is not made of groups that processes do not agree about, or that are not there") {
    using fault = mpi_fault::reason;
    const auto fault_of = [](const process_groups& groups, mpi_options options = {}) {
        const auto found = mpi_test::session::fault_of(mpi_world::make(MPI_COMM_WORLD, groups, options));
        CHECK((!found || !explain(*found).empty()));
        return found;
    };
    CHECK(fault_of(one_group(here.size() + 1)) == mpi_fault{fault::too_few_ranks, 0, here.size()});
    process_groups unknown = one_group(1);
    unknown.add({.size = 2});
    CHECK(fault_of(unknown) == mpi_fault{fault::bad_groups, 1});
    process_groups twice = one_group(1);
    twice.add({.size = 2, .ranks = std::vector<rank_id>{0, 0}});
    CHECK(fault_of(twice) == mpi_fault{fault::bad_groups, 1});
    CHECK_FALSE(fault_of({}));
    CHECK(fault_of({}, {.largest_count = 0}) == mpi_fault{fault::bad_options});
    CHECK(fault_of({}, {.largest_count = std::size_t{INT_MAX} + 1}) == mpi_fault{fault::bad_options});
    if (here.size() == 1) return;
    // All processes refuse groups that only some of them would refuse, so that none waits for the others.
    const auto two_groups = [](process_group first, process_group second) {
        const std::vector<rank_id> all = {0};
        process_groups groups;
        first.ranks = second.ranks = all;
        groups.add(first);
        groups.add(second);
        return groups;
    };
    const bool odd = here.rank() % 2 != 0;
    CHECK(fault_of(two_groups({.size = odd ? 2 : 1}, {})) == mpi_fault{fault::groups_differ});
    CHECK(fault_of(two_groups({.ranks_per_node = odd ? 0 : 1}, {})) == mpi_fault{fault::groups_differ});
    CHECK(fault_of(two_groups({}, {.duplicate_of = odd ? group_id{7} : group_id{0}})) ==
          mpi_fault{fault::groups_differ});
    CHECK(fault_of(one_group(1 + here.rank() % 2)) == mpi_fault{fault::groups_differ});
    CHECK(fault_of(one_group(1), {.largest_count = 1 + here.rank()}) == mpi_fault{fault::groups_differ});
}

TEST_CASE("collectives make the bits that they make among threads") {
    const process_groups groups = groups_of(here.size());
    stretto_check("as on the host", 30, [&](const std::vector<std::uint8_t>& picks) {
        std::size_t next = 0;
        const auto pick = [&](std::size_t below) {
            const std::size_t at = next++;
            return at < picks.size() ? (picks[at] * 131 + at) % below : at * 7 % below;
        };
        std::vector<exchange> all;
        for (std::size_t k = 0, count = 1 + pick(8); k < count; ++k) all.push_back(random_exchange(groups, pick));
        std::vector<memory> due;
        host_world host(here.size(), groups);
        const auto host_failed = host.run([&](host_rank& rank) {
            auto made = perform(rank, rank.rank(), groups, all);
            if (rank.rank() == here.rank()) due = std::move(made);
        });
        // Amounts above the largest count are moved in blocks.
        const std::size_t counts[] = {INT_MAX, 1, 13, 1'000};
        const auto world = mpi_world::make(MPI_COMM_WORLD, groups, {.largest_count = counts[pick(4)]});
        const bool made_world = everywhere(world.has_value());
        RC_ASSERT(made_world);
        std::vector<memory> made;
        const auto failed = (*world)->run(
            [&](mpi_rank& rank) { made = perform(rank, static_cast<rank_id>(here.rank()), groups, all); });
        const bool same = everywhere(!host_failed && !failed && made == due);
        RC_ASSERT(same);
    });
}

TEST_CASE("processes keep the promises of a backend, on every group") {
    const process_groups groups = groups_of(here.size());
    for (const std::size_t count : {std::size_t{INT_MAX}, std::size_t{10}}) {
        const auto world = mpi_world::make(MPI_COMM_WORLD, groups, {.largest_count = count});
        REQUIRE(world);
        const auto failed = (*world)->run([&](mpi_rank& rank) {
            for (group_id g = 0; g < groups.group_count(); ++g) {
                if (rank.channel(g) == nullptr) continue;
                const auto seen = check_backend(rank, g);
                CHECK_MESSAGE(seen.has_value(), (seen ? std::string() : seen.error().message()));
                if (seen) CHECK(*seen == backend_summary{groups.group_at(g).ranks.size(), 9, 0});
            }
        });
        CHECK_FALSE(failed);
    }
}

TEST_CASE("a world runs one program after the other") {
    const auto world = mpi_world::make(MPI_COMM_WORLD, one_group(here.size()));
    REQUIRE(world);
    CHECK((*world)->size() == here.size());
    CHECK((*world)->rank() == here.rank());
    for (int run = 0; run < 20; ++run) {
        memory sent(8, static_cast<std::byte>(run)), received(8 * here.size());
        const auto failed = (*world)->run([&](mpi_rank& rank) {
            collective_operation o = gather_of(8);
            o.send = sent.data();
            o.receive = received.data();
            for (int k = 0; k < run % 3; ++k)
                if (rank.perform(0, o)) return;
        });
        REQUIRE_FALSE(failed);
        if (run % 3 != 0) CHECK(std::count(received.begin(), received.end(), std::byte(run)) == std::ssize(received));
    }
}

TEST_CASE("whatever goes wrong, wherever, the run ends and all processes name the collective") {
    if (here.size() == 1) return;
    const auto ranks = static_cast<rank_id>(here.size());
    const auto faults = support::planted_faults(ranks);
    if (ranks == 4) CHECK(faults.size() == 241);
    for (const support::planted_fault& fault : faults) {
        CAPTURE(static_cast<int>(fault.what));
        CAPTURE(fault.who);
        CAPTURE(fault.where);
        auto world = mpi_world::make(MPI_COMM_WORLD, one_group(ranks), {.deadline = fault.deadline()});
        REQUIRE(world);
        const auto found = (*world)->run([&](mpi_rank& rank) { support::perform_with_fault(rank, ranks, fault); });
        const bool alike = told_alike(found);
        REQUIRE(alike);
        CHECK_FALSE((*world)->is_abandoned());
        support::check_found(fault, found, true);
    }
}

TEST_CASE("amounts of an exchange that do not fit each other are told before a byte is moved") {
    if (here.size() == 1) return;
    const auto found = failure([&](rank_id rank) {
        collective_operation o;
        o.kind = kind::all_to_all;
        o.send_sizes.assign(here.size(), 4);
        o.receive_sizes = o.send_sizes;
        if (rank == 1) o.receive_sizes[0] = 8;  // rank 0 sends less
        o.send_bytes = o.receive_bytes = 4 * here.size();
        return std::vector{gather_of(4), o};
    });
    REQUIRE(told_alike(found));
    CHECK(found->why == why::mismatch);
    CHECK(found->rank == 1);
    CHECK(found->sequence == 1);
    CHECK(found->detail == "all_to_all of 8 bytes here, all_to_all of 4 bytes on rank 0");
}

TEST_CASE("amounts that are measured and do not fit end the run") {
    if (here.size() == 1) return;
    const std::vector<std::int64_t> rows(here.size(), 1), many(here.size(), 1'000);
    const auto found = failure([&](rank_id rank) {
        collective_operation o;
        o.kind = kind::all_to_all;
        o.row_bytes = 4;
        o.send_bytes = o.receive_bytes = 32;
        for (std::size_t k = 0; k < here.size(); ++k) {
            o.send_sizes.push_back(0);
            o.receive_sizes.push_back(0);
            o.send_rows.push_back(rank == 1 ? &many[k] : &rows[k]);
            o.receive_rows.push_back(&rows[k]);
        }
        return std::vector{gather_of(4), o, gather_of(4)};
    });
    REQUIRE(told_alike(found));
    CHECK(found->why == why::overflow);
    CHECK(found->rank == 1);
    CHECK(found->sequence == 1);
    CHECK(found->detail == "sends 1000 rows of 4 bytes to rank 0, where 32 of 32 bytes are left");
}

TEST_CASE("a rank that is late ends the run after the deadline, and is named") {
    if (here.size() == 1) return;
    for (const rank_id late : {rank_id{0}, static_cast<rank_id>(here.size() - 1)}) {
        auto world =
            mpi_world::make(MPI_COMM_WORLD, one_group(here.size()), {.deadline = std::chrono::milliseconds(60)});
        REQUIRE(world);
        memory sent(8), received(8 * here.size());
        const auto found = (*world)->run([&](mpi_rank& rank) {
            collective_operation o = gather_of(8);
            o.send = sent.data();
            o.receive = received.data();
            o.task = 7;
            // It computes, until the others have had enough of it.
            const auto begin = std::chrono::steady_clock::now();
            while (rank.rank() == late && std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(600))
                std::this_thread::yield();
            CHECK(rank.perform(0, o).has_value());
        });
        REQUIRE(told_alike(found));
        CHECK(found->why == why::timeout);
        CHECK(found->rank != late);
        CHECK(found->group == 0);
        CHECK(found->sequence == 0);
        CHECK(found->task == 7);
        support::check_waiting_for(*found, late, 0);
    }
}

TEST_CASE("what is under way on one group is completed although another one fails") {
    if (here.size() == 1) return;
    // Large transfers on a second group, while ranks disagree on the first.
    std::vector<rank_id> all(here.size());
    for (rank_id r = 0; r < here.size(); ++r) all[r] = r;
    process_groups groups = one_group(here.size());
    groups.duplicate(0);
    for (int round = 0; round < 10; ++round) {
        const auto world = mpi_world::make(MPI_COMM_WORLD, groups, {.deadline = std::chrono::seconds(20)});
        REQUIRE(world);
        const std::size_t size = std::size_t{1} << (10 + round);
        memory sent(size, static_cast<std::byte>(here.rank() + 1)), received(size * here.size()), few(32 * here.size());
        const auto found = (*world)->run([&](mpi_rank& rank) {
            collective_operation large = gather_of(size), small = gather_of(rank.rank() == 0 ? 8 : 12);
            large.send = small.send = sent.data();
            large.receive = received.data();
            small.receive = few.data();
            rank.channel(1)->launch(large);
            rank.channel(0)->launch(small);
            CHECK(rank.finish().has_value());
            // Nobody writes or reads this memory any more.
            memory().swap(received);
            memory().swap(sent);
        });
        REQUIRE(told_alike(found));
        CHECK(found->why == why::mismatch);
        CHECK_FALSE((*world)->is_abandoned());
    }
}

TEST_CASE("a program that goes on after a failure is told of it every time") {
    if (here.size() == 1) return;
    const auto world = mpi_world::make(MPI_COMM_WORLD, one_group(here.size()));
    REQUIRE(world);
    memory sent(16), received(16 * here.size());
    collective_operation o = gather_of(here.rank() == 0 ? 4 : 8);
    o.send = sent.data();
    o.receive = received.data();
    int told = 0;
    const auto program = [&](mpi_rank& rank) {
        for (int k = 0; k < 100; ++k) told += rank.perform(0, o).has_value();
    };
    CHECK(told_alike((*world)->run(program)));
    CHECK(told_alike((*world)->run(program)));
    CHECK(told == 200);
}

TEST_CASE("a world that stays after a failure about which all agree is not abandoned") {
    if (here.size() == 1) return;
    auto world = mpi_world::make(MPI_COMM_WORLD, one_group(here.size()), {.grace = std::chrono::milliseconds(1'000)});
    REQUIRE(world);
    memory sent(16), received(16 * here.size());
    collective_operation o = gather_of(here.rank() == 0 ? 4 : 8);
    o.send = sent.data();
    o.receive = received.data();
    const auto found = (*world)->run([&](mpi_rank& rank) { CHECK(rank.perform(0, o).has_value()); });
    REQUIRE(found);
    CHECK(found->why == why::mismatch);
    std::this_thread::sleep_for(std::chrono::milliseconds(1'600));
    CHECK_FALSE((*world)->is_abandoned());
}

TEST_CASE("what processes tell each other arrives as it was, and no more is read than there is") {
    stretto_check("messages", 100, [](const std::vector<std::uint32_t>& numbers, const std::string& words) {
        const auto number = [&](std::size_t k) { return k < numbers.size() ? numbers[k] : 0; };
        run_failure f;
        f.why = static_cast<why>(number(0) % 7);
        f.rank = number(1), f.group = number(2), f.sequence = number(3), f.task = number(4);
        f.detail = words;
        for (std::size_t k = 5; k < numbers.size(); k += 9)
            f.waiting.push_back({number(k), number(k + 1), number(k + 2), 3, 4, {numbers.begin(), numbers.end()}, {7}});
        detail::message_writer out;
        out.failure(f);
        out.number(12);
        detail::message_reader in(out.text());
        const run_failure got = in.failure();
        RC_ASSERT(in.number() == 12u);
        RC_ASSERT(!in.is_broken());
        RC_ASSERT(detail::message_of(got) == detail::message_of(f));
        RC_ASSERT(got.detail == words);
        RC_ASSERT(got.waiting.size() == f.waiting.size());
        for (std::size_t size = 0; size < out.text().size(); size += 1 + size / 16) {
            detail::message_reader part(std::string_view(out.text()).substr(0, size));
            static_cast<void>(part.failure());
            static_cast<void>(part.number());
            RC_ASSERT(part.is_broken());
        }
    });
}
