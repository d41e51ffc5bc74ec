// Captured steps, made small and executed on ranks that are processes: whole, in chunks and in buckets. What comes out
// is what the interpreter computes in the same order, bit for bit. Every process interprets all ranks and compares its
// own.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/mpi/mpi_session.hpp"
#include "stretto/backend/mpi/mpi_world.hpp"
#include "support/step_forms.hpp"

using namespace stretto;
using mpi_test::everywhere, mpi_test::here;

namespace {

struct on_processes {
    support::executed_step execute(const support::ordered_step& s) const {
        const support::groups_of_ranks groups(s.options, s.tasks.groups);
        support::executed_step done = support::unexecuted(s.step, s.tasks, s.before, s.options.ranks);
        const auto world = mpi_world::make(MPI_COMM_WORLD, groups.all);
        REQUIRE(world);
        const auto failure = (*world)->run([&](mpi_rank& rank) {
            done.wrong = support::execute_on_rank(rank, groups, s.step, s.tasks, s.order, s.before, s.options, 2, done);
        });
        if (failure) done.wrong = explain(*failure, [&](task_id t) { return std::string(s.step.step().name(t)); });
        // What other processes have made, they compare.
        for (const auto part : {&aten::interpretation::inputs, &aten::interpretation::outputs})
            for (std::size_t k = 0; k < (done.made.*part).size() && k < (s.due.*part).size(); ++k)
                for (std::size_t r = 0; r < s.options.ranks; ++r)
                    if (r != here.rank()) (done.made.*part)[k].by_rank[r] = (s.due.*part)[k].by_rank[r];
        return done;
    }
    void finish(const support::ordered_step&, bool right) const {
        const bool all = everywhere(right);
        REQUIRE(all);
    }
};

void check_forms(const char* file, const support::shrunken_recipe& recipe, std::int64_t tokens,
                 const std::vector<std::vector<std::int64_t>>& chunks) {
    if (recipe.run.ranks != here.size()) return;
    on_processes world;
    support::step_forms(world).check(file, recipe, tokens, chunks);
}

}  // namespace

TEST_CASE("a dense step on two processes computes what the interpreter does") {
    check_forms("/llama_fsdp_forward.json.gz", support::llama_fsdp_recipe(), 0, {});
}

TEST_CASE("a step of experts on eight processes computes what the interpreter does, whole, in chunks and in buckets") {
    check_forms("/moe_ep_step.json.gz", support::moe_ep_step_recipe(), 4, {{1, 3}});
}
