#include "stretto/backend/check_backend.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stretto/backend/archetypes.hpp"
#include "stretto/backend/executor.hpp"
#include "stretto/backend/host/host_world.hpp"
#include "stretto/core/process_groups.hpp"
#include "stretto/schedule/checked_order.hpp"

using namespace stretto;

namespace {

process_groups groups_of(std::size_t ranks) {
    std::vector<rank_id> all, reversed;
    for (rank_id r = 0; r < ranks; ++r) all.push_back(r);
    for (rank_id r = 0; r < ranks; ++r) reversed.push_back(static_cast<rank_id>(ranks) - 1 - r);
    process_groups groups;
    groups.add({.size = static_cast<std::int64_t>(ranks), .ranks = all});
    groups.add({.size = static_cast<std::int64_t>(ranks), .ranks = reversed});
    return groups;
}

/// The backend of one rank with a defect: each is a wrong answer that compiles.
struct defects {
    bool forgets_launches = false, forgets_rows = false, sends_to_itself = false;
    bool returns_place_of_another = false, has_no_channel = false, refuses_sums = false;
};
struct defective : archetypes::single_rank {
    struct communicator_type : archetypes::solitude {
        defects d;
        bool launch(const collective_operation& o) {
            if (d.forgets_launches) return true;
            collective_operation other = o;
            if (d.forgets_rows && !o.receive_rows.empty()) other.receive_rows[0] = nullptr, other.receive_bytes = 0;
            if (d.sends_to_itself) other.receive = const_cast<std::byte*>(o.send);
            return archetypes::solitude::launch(other);
        }
        bool can(const collective_operation& o) const { return !d.refuses_sums || o.reduction != reduction_kind::sum; }
        std::size_t place() const { return d.returns_place_of_another ? 1 : 0; }
    };
    communicator_type own;
    communicator_type* channel(group_id) { return own.d.has_no_channel ? nullptr : &own; }
};
static_assert(backend<defective>);

std::string rule_broken_by(defects d) {
    defective rank;
    rank.own.d = d;
    const auto seen = check_backend(rank, 0);
    if (seen) return "";
    CHECK(!seen.error().message().empty());
    return seen.error().rule;
}

}  // namespace

TEST_CASE("the host keeps the promises of a backend, on any number of ranks and in any order of them") {
    for (const std::size_t ranks : {1u, 2u, 3u, 4u}) {
        host_world world(ranks, groups_of(ranks));
        std::vector<std::string> wrong(ranks);
        std::vector<backend_summary> seen(ranks);
        CHECK_FALSE(world.run([&](host_rank& rank) {
            for (const group_id group : {0u, 1u}) {
                const auto found = check_backend(rank, group);
                if (found) seen[rank.rank()] = *found;
                else wrong[rank.rank()] = found.error().message();
            }
        }));
        for (const std::string& w : wrong) CHECK(w == "");
        for (const backend_summary& s : seen) CHECK(s == backend_summary{ranks, 9, 0});
    }
}

TEST_CASE("the least that models a backend passes") {
    archetypes::single_rank rank;
    const auto seen = check_backend(rank, 3);
    REQUIRE(seen);
    CHECK(*seen == backend_summary{1, 9, 0});
}

TEST_CASE("an executor asks no more of a source than the concept says") {
    detail::probe_program p;
    p.add(op_kind::input, {}, {bytes{1}});
    p.add(op_kind::compute, {0}, {bytes{1}});
    p.add(op_kind::start, {1}, {bytes{1}});
    p.add(op_kind::wait, {2}, {bytes{}}, {2});
    p.add(op_kind::compute, {3}, {bytes{1}});
    p.add(op_kind::output, {4}, {});
    struct model {
        const detail::probe_program* p;
        op_kind kind(std::uint32_t v) const { return p->operations[v].kind; }
        bytes bytes_of(std::uint32_t x) const { return p->results[x].size; }
        bytes payload(std::uint32_t) const { return {1}; }
        const std::vector<std::uint32_t>& aliases(std::uint32_t x) const { return p->results[x].aliases; }
    };
    const auto g = make_task_graph(detail::probe_view{&p}, model{&p});
    REQUIRE(g);
    const auto order = check_order(*g, {0, 1, 2, 3, 4, 5});
    REQUIRE(order.has_value());
    auto input = std::byte{40};
    archetypes::bytes_plus_one source(&input);
    archetypes::single_rank rank;
    auto bound = bind_order(*g, *order, source, rank);
    REQUIRE(bound);
    CHECK_FALSE(bound->replay());
    CHECK(*bound->address(4) == std::byte{42});
}

TEST_CASE("each broken promise is found, by its name") {
    CHECK(rule_broken_by({}) == "");
    CHECK(rule_broken_by({.refuses_sums = true}) == "");
    CHECK(rule_broken_by({.forgets_launches = true}) == "all_gather");
    CHECK(rule_broken_by({.forgets_rows = true}) == "all_to_all in measured shares");
    CHECK(rule_broken_by({.sends_to_itself = true}) == "all_gather");
    CHECK(rule_broken_by({.returns_place_of_another = true}) == "place");
    CHECK(rule_broken_by({.has_no_channel = true}) == "member");
    defective rank;
    rank.own.d.refuses_sums = true;
    CHECK(*check_backend(rank, 0) == backend_summary{1, 5, 4});
}

TEST_CASE("ranks whose places are not those of the group are found") {
    struct shifted_place {
        using queue_type = host_rank::queue_type;
        using arena_type = host_rank::arena_type;
        using event_type = host_rank::event_type;
        struct communicator_type {
            using event_type = host_rank::event_type;
            host_rank::communicator_type* real;
            bool wait(event_type& e) { return real->wait(e); }
            bool record(event_type& e) { return real->record(e); }
            bool launch(const collective_operation& o) { return real->launch(o); }
            void reserve(std::size_t n) { real->reserve(n); }
            bool can(const collective_operation& o) const { return real->can(o); }
            std::size_t size() const { return real->size(); }
            std::size_t place() const { return real->size() - 1 - real->place(); }
        };
        host_rank* rank;
        communicator_type own;
        queue_type& compute() { return rank->compute(); }
        communicator_type* channel(group_id) { return &own; }
        event_type* make_events(std::size_t n) { return rank->make_events(n); }
        std::optional<arena_type> make_arena(bytes n, std::size_t a) { return rank->make_arena(n, a); }
        void begin() { rank->begin(); }
        std::optional<run_failure> finish() { return rank->finish(); }
    };
    host_world world(2, groups_of(2));
    std::vector<std::string> rules(2);
    static_cast<void>(world.run([&](host_rank& rank) {
        shifted_place shifted{&rank, {rank.channel(0)}};
        const auto found = check_backend(shifted, 0);
        if (!found) rules[rank.rank()] = found.error().rule;
    }));
    CHECK(rules == std::vector<std::string>{"all_gather", "all_gather"});
}
