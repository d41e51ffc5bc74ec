#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include "stretto/backend/memory_access.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <set>

#include "support/prop.hpp"

using namespace stretto;

TEST_CASE("tasks that do work use what they read, write and return") {
    stretto_check("as the program says", 1000, [](std::uint32_t) {
        const support::toy_program p = support::scheduling_case(*support::scheduling_cases(30)).program();
        const task_graph g = support::graph_of(p);
        const support::storage_facts facts = support::facts_of(p);
        for (task_id t = 0; t < g.size(); ++t) {
            std::set<value_id> read, written;
            for_each_access(g, t, [&](value_id s, bool writes) { (writes ? written : read).insert(s); });
            if (!does_work(g.kind[t])) {
                RC_ASSERT(read.empty() && written.empty());
                continue;
            }
            std::set<value_id> expected(facts.writes[t].begin(), facts.writes[t].end());
            for (const value_id s : facts.results[t])
                if (g.kind[t] == op_kind::start || facts.owner[s] == t) expected.insert(s);
            RC_ASSERT(written == expected);
            RC_ASSERT(read == (std::set<value_id>(facts.reads[t].begin(), facts.reads[t].end())));
        }
    });
}
