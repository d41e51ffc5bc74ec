#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include "stretto/schedule/deadlock.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stretto/core/process_groups.hpp"
#include "stretto/schedule/explain_deadlock.hpp"
#include "support/prop.hpp"

using namespace stretto;
using form = rank_action::form;
using why = deadlock::reason;

namespace {

struct world {
    std::vector<std::vector<rank_id>> ranks;  // by group
    std::vector<rank_program> programs;

    std::vector<process_group> groups() const {
        std::vector<process_group> all;
        for (const auto& r : ranks)
            all.push_back(
                {.size = static_cast<std::int64_t>(r.size()), .id = static_cast<group_id>(all.size()), .ranks = r});
        return all;
    }
    expected<deadlock_freedom, deadlock> verdict(device_model device = {}, std::size_t max_states = 100'000) const {
        const std::vector<process_group> all = groups();
        return check_deadlock(programs, all, device, max_states);
    }
};

rank_action collective(std::uint32_t stream, group_id group, std::uint64_t call,
                       std::vector<std::uint32_t> after = {}) {
    return {form::collective, stream, group, call, std::move(after)};
}
rank_action kernel(std::uint32_t stream, std::vector<std::uint32_t> after = {}) {
    return {form::kernel, stream, 0, 0, std::move(after)};
}
rank_action host_wait(std::vector<std::uint32_t> after) { return {form::host_wait, 0, 0, 0, std::move(after)}; }

/// Two groups of the same two ranks, and what each rank launches.
world two_ranks(rank_program a, rank_program b) { return {{{0, 1}, {0, 1}}, {std::move(a), std::move(b)}}; }

/// Every execution, one event at a time: a host performs an action, a rank begins a launch, or a collective that all
/// members have begun completes. Shares nothing with the library but the meaning of programs.
class every_execution {
public:
    every_execution(const world& w, device_model device) : w_(w), device_(device) {
        std::vector<std::vector<std::uint32_t>> seen(w.programs.size(), std::vector<std::uint32_t>(w.ranks.size(), 0));
        for (std::size_t r = 0; r < w.programs.size(); ++r)
            for (const rank_action& a : w.programs[r])
                number_.push_back(a.what == form::collective ? seen[r][a.group]++ : 0);
    }
    bool can_hang() {
        bool hang = false;
        // One byte per action: 0 not issued, 1 issued, 2 begun, 3 done.
        std::vector<std::vector<std::uint8_t>> open = {std::vector<std::uint8_t>(number_.size(), 0)};
        std::set<std::vector<std::uint8_t>> tried(open.begin(), open.end());
        while (!open.empty() && !hang) {
            const std::vector<std::uint8_t> state = open.back();
            open.pop_back();
            const auto next = successors(state);
            for (const auto& s : next)
                if (tried.insert(s).second) open.push_back(s);
            if (next.empty())
                for (const std::uint8_t x : state) hang = hang || x != 3;
        }
        return hang;
    }

private:
    std::size_t at(std::size_t r, std::size_t i) const {
        for (std::size_t k = 0; k < r; ++k) i += w_.programs[k].size();
        return i;
    }
    std::vector<std::vector<std::uint8_t>> successors(const std::vector<std::uint8_t>& state) const {
        std::vector<std::vector<std::uint8_t>> all;
        const auto change = [&](std::vector<std::size_t> which, std::uint8_t to) {
            all.push_back(state);
            for (const std::size_t k : which) all.back()[k] = to;
        };
        for (std::size_t r = 0; r < w_.programs.size(); ++r) {
            const rank_program& p = w_.programs[r];
            const auto done = [&](const std::vector<std::uint32_t>& actions) {
                for (const std::uint32_t k : actions)
                    if (state[at(r, k)] != 3) return false;
                return true;
            };
            std::uint32_t resident = 0;
            for (std::size_t i = 0; i < p.size(); ++i)
                if (p[i].what == form::collective && state[at(r, i)] == 2) ++resident;
            bool host_busy = false, collective_waits = false;
            for (std::size_t i = 0; i < p.size(); ++i) {
                const std::uint8_t now = state[at(r, i)];
                if (now == 0 && !host_busy) {
                    host_busy = true;  // what follows cannot be issued before
                    if (p[i].what != form::host_wait) change({at(r, i)}, 1);
                    else if (done(p[i].after)) change({at(r, i)}, 3);
                }
                bool stream_free = true;
                for (std::size_t k = 0; k < i; ++k)
                    if (p[k].what != form::host_wait && p[k].stream == p[i].stream && state[at(r, k)] != 3)
                        stream_free = false;
                if (now == 1 && stream_free && done(p[i].after)) {
                    if (p[i].what == form::kernel) change({at(r, i)}, 3);
                    else if (resident < device_.resident && !(device_.in_launch_order && collective_waits))
                        change({at(r, i)}, 2);
                }
                if (p[i].what == form::collective && now < 2) collective_waits = true;
            }
        }
        for (std::size_t g = 0; g < w_.ranks.size(); ++g)
            for (std::uint32_t k = 0;; ++k) {
                std::vector<std::size_t> members;
                bool begun = true;
                for (std::size_t r = 0; r < w_.programs.size(); ++r)
                    for (std::size_t i = 0; i < w_.programs[r].size(); ++i)
                        if (w_.programs[r][i].what == form::collective && w_.programs[r][i].group == g &&
                            number_[at(r, i)] == k) {
                            members.push_back(at(r, i));
                            begun = begun && state[at(r, i)] == 2;
                        }
                if (members.empty()) break;
                if (begun && members.size() == w_.ranks[g].size()) change(members, 3);
            }
        return all;
    }

    const world& w_;
    device_model device_;
    std::vector<std::uint32_t> number_;  // of a collective on its rank and group
};

/// A list of collectives that all ranks take in order, disturbed by as many exchanges of neighbours.
world random_world(int most_ranks, int most_collectives) {
    const int ranks = *rc::gen::inRange(2, most_ranks + 1), collectives = *rc::gen::inRange(1, most_collectives + 1);
    world w;
    const int groups = *rc::gen::inRange(1, 4);
    for (int g = 0; g < groups; ++g) {
        std::vector<rank_id> members;
        for (rank_id r = 0; r < static_cast<rank_id>(ranks); ++r)
            if (*rc::gen::weightedElement<bool>({{4, true}, {1, false}})) members.push_back(r);
        if (members.empty()) members.push_back(0);
        w.ranks.push_back(members);
    }
    std::vector<group_id> list;
    for (int k = 0; k < collectives; ++k) list.push_back(*rc::gen::inRange<group_id>(0, static_cast<group_id>(groups)));
    const bool own_streams = *rc::gen::arbitrary<bool>();
    for (rank_id r = 0; r < static_cast<rank_id>(ranks); ++r) {
        std::vector<group_id> mine;
        for (const group_id g : list)
            for (const rank_id m : w.ranks[g])
                if (m == r) mine.push_back(g);
        if (mine.size() > 1 && *rc::gen::weightedElement<bool>({{1, true}, {3, false}})) {
            const std::size_t at = *rc::gen::inRange<std::size_t>(0, mine.size() - 1);
            std::swap(mine[at], mine[at + 1]);
        }
        rank_program p;
        std::vector<std::uint32_t> launches;
        for (const group_id g : mine) {
            const auto some = [&](int one_in) -> std::vector<std::uint32_t> {
                if (launches.empty() || *rc::gen::inRange(0, one_in) != 0) return {};
                return {launches[*rc::gen::inRange<std::size_t>(0, launches.size())]};
            };
            if (const auto k = some(4); !k.empty()) {
                if (*rc::gen::arbitrary<bool>()) p.push_back(host_wait(k));
                else {
                    launches.push_back(static_cast<std::uint32_t>(p.size()));
                    p.push_back(kernel(*rc::gen::inRange<std::uint32_t>(0, 3), k));
                }
            }
            const auto after = some(4);
            launches.push_back(static_cast<std::uint32_t>(p.size()));
            p.push_back(collective(own_streams ? g : *rc::gen::inRange<std::uint32_t>(0, 3), g, 0, after));
        }
        w.programs.push_back(p);
    }
    return w;
}

device_model random_device() {
    device_model d;
    d.resident = *rc::gen::element<std::uint32_t>(1, 1, 2, device_model::any_number);
    d.in_launch_order = *rc::gen::weightedElement<bool>({{1, true}, {2, false}});
    return d;
}

/// Whether the entries wait for each other as the documentation says.
bool is_a_circle(const world& w, const std::vector<blocked_action>& chain) {
    if (chain.empty()) return false;
    const auto number_on_group = [&](rank_id r, std::uint32_t i) {
        std::uint32_t k = 0;
        for (std::uint32_t j = 0; j < i; ++j)
            if (w.programs[r][j].what == form::collective && w.programs[r][j].group == w.programs[r][i].group) ++k;
        return k;
    };
    for (std::size_t k = 0; k < chain.size(); ++k) {
        const blocked_action& now = chain[k];
        const blocked_action& next = chain[(k + 1) % chain.size()];
        const rank_action& a = w.programs[now.rank][now.action];
        const rank_action& blocker = w.programs[now.rank][now.blocker];
        using reason = blocked_action::reason;
        if (now.why == reason::stream && (blocker.stream != a.stream || now.blocker >= now.action)) return false;
        if (now.why == reason::order && now.blocker >= now.action) return false;
        if (now.why == reason::event) {
            bool named = false;
            for (const std::uint32_t x : a.after) named = named || x == now.blocker;
            if (!named) return false;
        }
        if (next.rank == now.rank && next.action == now.blocker) continue;
        const rank_action& theirs = w.programs[next.rank][next.action];
        if (blocker.what != form::collective || theirs.what != form::collective || blocker.group != theirs.group ||
            number_on_group(now.rank, now.blocker) != number_on_group(next.rank, next.action))
            return false;
    }
    return true;
}

}  // namespace

TEST_CASE("two collectives of a group that are swapped on one rank are both named") {
    const world w =
        two_ranks({collective(0, 0, 11), collective(0, 0, 22)}, {collective(0, 0, 22), collective(0, 0, 11)});
    const auto v = w.verdict();
    REQUIRE_FALSE(v);
    CHECK(v.error() == deadlock{why::different_calls, {{0, 0}, {1, 0}}});
    const auto name = [&](rank_id r, std::uint32_t i) {
        return std::string(w.programs[r][i].call == 11 ? "gather" : "scatter");
    };
    CHECK(
        explain(v.error(), name) ==
        "rank 0 launches gather where rank 1 launches scatter of the same group: all its members must launch the same "
        "collectives in the same order");
}

TEST_CASE("a rank that leaves a collective out keeps the others waiting") {
    const world w = two_ranks({collective(0, 0, 1), collective(0, 0, 2)}, {collective(0, 0, 1)});
    const auto v = w.verdict();
    REQUIRE_FALSE(v);
    CHECK(v.error().why == why::missing_call);
    CHECK(v.error().chain[0].rank == 0);
    CHECK(v.error().chain[0].action == 1);
    CHECK(v.error().chain[1].rank == 1);
}

TEST_CASE("overlapping groups in crossed order hang on one stream, and the circle is told") {
    const world w = two_ranks({collective(0, 0, 1), collective(0, 1, 2)}, {collective(0, 1, 2), collective(0, 0, 1)});
    const auto v = w.verdict();
    REQUIRE_FALSE(v);
    using reason = blocked_action::reason;
    CHECK(v.error() == deadlock{why::cycle, {{0, 1, reason::stream, 0}, {1, 1, reason::stream, 0}}});
    const auto name = [](rank_id, std::uint32_t i) { return "call " + std::to_string(i); };
    CHECK(
        explain(v.error(), name) ==
        "rank 0 does not begin call 1 before call 0, ahead of it on its stream, completes, for which rank 1 must begin "
        "call 1; rank 1 does not begin call 1 before call 0, ahead of it on its stream, completes, for which rank 0 "
        "must begin call 1");
}

TEST_CASE("crossed orders on streams of their own depend on the device") {
    const world w = two_ranks({collective(0, 0, 1), collective(1, 1, 2)}, {collective(1, 1, 2), collective(0, 0, 1)});
    CHECK(w.verdict());
    CHECK(w.verdict({.resident = 2}));
    CHECK_FALSE(w.verdict({.resident = 1}));
    CHECK(w.verdict({.in_launch_order = true}));
    CHECK_FALSE(w.verdict({.resident = 1, .in_launch_order = true}));
}

TEST_CASE("the same order on all ranks hangs where one collective fills the device and any may be next") {
    const world w = two_ranks({collective(0, 0, 1), collective(1, 1, 2)}, {collective(0, 0, 1), collective(1, 1, 2)});
    CHECK(w.verdict({.resident = 1, .in_launch_order = true}));
    const auto v = w.verdict({.resident = 1});
    REQUIRE_FALSE(v);
    CHECK(v.error().chain.size() == 2);
    for (const blocked_action& b : v.error().chain) CHECK(b.why == blocked_action::reason::resident);
}

TEST_CASE("three groups of two ranks each make a circle of three") {
    const world w = {{{0, 1}, {1, 2}, {2, 0}},
                     {{collective(0, 0, 1), collective(0, 2, 3)},
                      {collective(0, 1, 2), collective(0, 0, 1)},
                      {collective(0, 2, 3), collective(0, 1, 2)}}};
    const auto v = w.verdict();
    REQUIRE_FALSE(v);
    CHECK(v.error().chain.size() == 3);
    CHECK(is_a_circle(w, v.error().chain));
}

TEST_CASE("a host that waits before it launches what the other rank waits for") {
    const world w = two_ranks({collective(0, 0, 1), host_wait({0}), collective(1, 1, 2)},
                              {collective(1, 1, 2), host_wait({0}), collective(0, 0, 1)});
    const auto v = w.verdict();
    REQUIRE_FALSE(v);
    CHECK(v.error().chain.size() == 2);
    CHECK(v.error().chain[0].why == blocked_action::reason::host);
}

TEST_CASE("programs that are none") {
    const auto broken = [](rank_program p) {
        const world w = two_ranks(std::move(p), {});
        const auto v = w.verdict();
        return !v && v.error().why == why::not_a_program && v.error().chain.size() == 1 && v.error().chain[0].rank == 0;
    };
    CHECK(broken({kernel(0, {0})}));                 // waits for itself
    CHECK(broken({kernel(0, {1}), kernel(0)}));      // for what comes later
    CHECK(broken({host_wait({}), kernel(0, {0})}));  // for what is no launch
    CHECK(broken({collective(0, 7, 1)}));            // no such group
    const world stranger = {{{1}}, {{collective(0, 0, 1)}, {}}};
    CHECK(stranger.verdict().error().why == why::not_a_program);
    // Rank 1 is not in the group of rank 0, whose own actions are valid.
    const world neighbour = {{{0}, {1}}, {{collective(0, 0, 1)}, {collective(0, 1, 1), collective(0, 0, 1)}}};
    REQUIRE_FALSE(neighbour.verdict());
    CHECK(neighbour.verdict().error().why == why::not_a_program);
    CHECK(neighbour.verdict().error().chain[0].rank == 1);
    CHECK(neighbour.verdict().error().chain[0].action == 1);
    const world nobody = {{{0, 5}}, {{collective(0, 0, 1)}}};
    CHECK(nobody.verdict().error().why == why::not_a_program);
    const std::vector<process_group> without_ranks = {{.size = 1}};
    const std::vector<rank_program> one = {{collective(0, 0, 1)}};
    CHECK(check_deadlock(one, without_ranks).error().why == why::not_a_program);
}

TEST_CASE("what cannot be tried is not called safe") {
    world w = {{{0, 1}, {0, 1}, {0, 1}}, {}};
    for (int r = 0; r < 2; ++r) {
        rank_program p;
        for (std::uint32_t k = 0; k < 9; ++k) p.push_back(collective(k % 3, k % 3, k));
        w.programs.push_back(p);
    }
    CHECK(w.verdict({.resident = 2}));  // two ranks would have to hold two others each
    const auto v = w.verdict({.resident = 2}, 3);
    REQUIRE_FALSE(v);
    CHECK(v.error().why == why::undecided);
    CHECK(explain(v.error(), [](rank_id, std::uint32_t) { return std::string(); }) ==
          "it is not known whether they hang: too many executions are possible");
}

TEST_CASE("every state counts once against the limit of states") {
    // A rank alone with three streams of 20 collectives each: its states are how many it has begun on each, 21^3 - 1
    // besides the first. The order in which it arrived there does not matter.
    world w = {{{0}, {0}, {0}}, {rank_program()}};
    for (std::uint32_t k = 0; k < 60; ++k) w.programs[0].push_back(collective(k % 3, k % 3, k));
    const std::size_t states = 21 * 21 * 21 - 1;
    CHECK(w.verdict({.resident = 1}, states));
    const auto v = w.verdict({.resident = 1}, states - 1);
    REQUIRE_FALSE(v);
    CHECK(v.error().why == why::undecided);
}

TEST_CASE("a device that holds no collective is a mistake of the caller") {
    const world w{{{0, 1}}, {{{.group = 0}}, {{.group = 0}}}};
    CHECK(w.verdict({.resident = 1}));
    CHECK_THROWS_WITH((void)w.verdict({.resident = 0}), "a device that holds no collective begins none");
}

TEST_CASE("property: the verdict is that of all executions") {
    int hangs = 0, completes = 0, chosen = 0;
    stretto_check("deadlocks", 4000, [&] {
        const world w = random_world(*rc::gen::element(2, 3, 3, 4), 6);
        const device_model device = random_device();
        const auto verdict = w.verdict(device);
        const bool hang = every_execution(w, device).can_hang();
        if (verdict) {
            ++completes;
            RC_ASSERT(!hang);
            return;
        }
        ++hangs;
        RC_ASSERT(hang);
        RC_ASSERT(verdict.error().why == why::cycle);
        RC_ASSERT(is_a_circle(w, verdict.error().chain));
        if (device.resident <= 2 && !device.in_launch_order) ++chosen;
    });
    if (!support::runs_all_cases()) return;
    CHECK(hangs > 250);
    CHECK(completes > 400);
    CHECK(chosen > 100);
}
