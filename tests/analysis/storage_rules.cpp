#include "stretto/analysis/storage_rules.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <set>
#include <vector>

#include "support/prop.hpp"

using namespace stretto;

namespace {

using ids = std::vector<std::uint32_t>;

/// The members that the rules read. Every value of an operation has the next number.
struct program {
    std::vector<op_kind> kind;
    ids launch;
    ids first_result = {0};
    index_lists operands, writes;

    std::uint32_t add(op_kind k, const ids& reads, std::uint32_t results, const ids& written = {},
                      std::uint32_t waits_for = detail::nothing) {
        kind.push_back(k);
        launch.push_back(waits_for);
        for (std::uint32_t x : reads) operands.push(x);
        operands.close_row();
        for (std::uint32_t x : written) writes.push(x);
        writes.close_row();
        first_result.push_back(first_result.back() + results);
        return static_cast<std::uint32_t>(kind.size() - 1);
    }
};

ids row(const index_lists& lists, std::size_t k) { return {lists[k].begin(), lists[k].end()}; }

ids kept(const program& p, std::uint32_t t) {
    ids all;
    detail::for_each_value_kept(p, t, [&](std::uint32_t x) { all.push_back(x); });
    return all;
}

}  // namespace

TEST_CASE("a value lives in its own storage and in those of all that it aliases, each once") {
    index_lists storages;
    detail::unique_rows rows;
    const auto add = [&](std::uint32_t own, const ids& aliases) { detail::add_storages(storages, rows, own, aliases); };
    add(0, {});                       // a tensor
    add(detail::nothing, {0});        // a view of it
    add(2, {1});                      // a view of the view, with memory of its own
    add(3, {});                       // another tensor
    add(detail::nothing, {2, 3, 0});  // something that may be any of them
    add(detail::nothing, {});         // a number
    CHECK(row(storages, 0) == ids{0});
    CHECK(row(storages, 1) == ids{0});
    CHECK(row(storages, 2) == ids{2, 0});
    CHECK(row(storages, 4) == ids{2, 0, 3});
    CHECK(row(storages, 5).empty());
}

TEST_CASE("a row may alias one that moves when the lists grow") {
    index_lists storages;
    detail::unique_rows rows;
    for (std::uint32_t s = 0; s < 100; ++s) detail::add_storages(storages, rows, s, {});
    ids all;
    for (std::uint32_t s = 0; s < 100; ++s) all.push_back(s);
    detail::add_storages(storages, rows, detail::nothing, std::span<const std::uint32_t>(all));
    const ids twice = {100, 100};
    detail::add_storages(storages, rows, detail::nothing, twice);
    CHECK(row(storages, 101) == all);
}

TEST_CASE("results of inputs and what the output reads are never freed") {
    program p;
    p.add(op_kind::input, {}, 2);
    p.add(op_kind::compute, {0}, 1);
    p.add(op_kind::output, {2, 1}, 1);
    CHECK(kept(p, 0) == ids{0, 1});
    CHECK(kept(p, 1).empty());
    CHECK(kept(p, 2) == ids{2, 1});
}

TEST_CASE("an operation needs what it returns, reads and writes, and a wait what its collective reads") {
    program p;
    index_lists storages;
    for (std::uint32_t x = 0; x < 4; ++x) {
        storages.push(10 + x);
        storages.close_row();
    }
    p.add(op_kind::input, {}, 1);                               // 0
    p.add(op_kind::compute, {0}, 1, {0});                       // 1
    const std::uint32_t start = p.add(op_kind::start, {1}, 1);  // 2
    p.add(op_kind::wait, {2}, 1, {}, start);                    // 3
    const auto all = [](std::uint32_t, std::uint32_t) { return true; };
    const index_lists touched = detail::derive_touched(p, storages, all);
    REQUIRE(touched.rows() == 4);
    CHECK(row(touched, 0) == ids{10});
    CHECK(row(touched, 1) == ids{11, 10});
    CHECK(row(touched, 2) == ids{12, 11});
    CHECK(row(touched, 3) == ids{13, 12, 11});
    const auto but_inputs = [](std::uint32_t t, std::uint32_t s) { return t != 3 && s != 10; };
    const index_lists some = detail::derive_touched(p, storages, but_inputs);
    CHECK(row(some, 0).empty());
    CHECK(row(some, 1) == ids{11});
    CHECK(row(some, 3).empty());
}

TEST_CASE("storages and touched storages are those of the definition") {
    stretto_check("against sets", 300, [] {
        const auto n = *rc::gen::inRange<std::uint32_t>(1, 25);
        program p;
        index_lists storages;
        detail::unique_rows rows;
        std::vector<std::set<std::uint32_t>> lives_in;  // by value
        std::uint32_t values = 0;
        std::vector<std::set<std::uint32_t>> needs;  // by operation
        for (std::uint32_t t = 0; t < n; ++t) {
            const auto some_values = [&] {
                return values == 0 ? ids() : *rc::gen::container<ids>(rc::gen::inRange<std::uint32_t>(0, values));
            };
            const ids reads = some_values(), written = some_values();
            const bool waits = t > 0 && *rc::gen::arbitrary<bool>();
            const std::uint32_t launch = waits ? *rc::gen::inRange<std::uint32_t>(0, t) : detail::nothing;
            const auto results = *rc::gen::inRange<std::uint32_t>(0, 3);
            for (std::uint32_t k = 0; k < results; ++k) {
                const ids aliases = some_values();
                const std::uint32_t own = *rc::gen::arbitrary<bool>() ? values : detail::nothing;
                detail::add_storages(storages, rows, own, aliases);
                std::set<std::uint32_t> in;
                if (own != detail::nothing) in.insert(own);
                for (std::uint32_t y : aliases) in.insert(lives_in[y].begin(), lives_in[y].end());
                lives_in.push_back(in);
                ++values;
            }
            p.add(op_kind::compute, reads, results, written, launch);
            ids looked_at(reads);
            looked_at.insert(looked_at.end(), written.begin(), written.end());
            for (std::uint32_t x = p.first_result[t]; x < values; ++x) looked_at.push_back(x);
            if (waits) looked_at.insert(looked_at.end(), p.operands[launch].begin(), p.operands[launch].end());
            needs.emplace_back();
            for (std::uint32_t x : looked_at) needs.back().insert(lives_in[x].begin(), lives_in[x].end());
        }
        const auto odd = [](std::uint32_t t, std::uint32_t s) { return (t + s) % 2 != 0; };
        const index_lists touched = detail::derive_touched(p, storages, odd);
        RC_ASSERT(touched.rows() == n);
        for (std::uint32_t x = 0; x < values; ++x) {
            const ids found = row(storages, x);
            RC_ASSERT(found.size() == lives_in[x].size());  // each once
            RC_ASSERT(std::set<std::uint32_t>(found.begin(), found.end()) == lives_in[x]);
        }
        for (std::uint32_t t = 0; t < n; ++t) {
            std::set<std::uint32_t> wanted;
            for (std::uint32_t s : needs[t])
                if (odd(t, s)) wanted.insert(s);
            const ids found = row(touched, t);
            RC_ASSERT(found.size() == wanted.size());
            RC_ASSERT(std::set<std::uint32_t>(found.begin(), found.end()) == wanted);
        }
    });
}
