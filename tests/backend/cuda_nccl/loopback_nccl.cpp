#include "backend/cuda_nccl/loopback_nccl.hpp"

#include <doctest/doctest.h>

#include <string>

#include "backend/cuda_nccl/imitated_cuda.hpp"
#include "backend/cuda_nccl/loopback_runs.hpp"

// Virtual ranks of an imitated device: what cuda_nccl_smoke.cu does on a real one.

using calls = support::loopback_nccl<support::imitated_cuda>;
using threads = support::ranks_as_threads<calls>;
static_assert(stretto::cuda_nccl_calls<calls>);

TEST_CASE("virtual ranks keep the promises of a backend") {
    for (const std::size_t ranks : {1u, 2u, 4u}) {
        support::imitated_machine machine;
        CHECK(support::keeps_promises<calls>(threads{ranks}) == "");
        CHECK(machine.breaches.empty());
        CHECK(machine.is_clean());
    }
}

TEST_CASE("virtual ranks run a layer of experts, whole and in chunks, with the bits of a loop") {
    for (const std::size_t ranks : {1u, 2u, 4u})
        for (const std::int64_t chunks : {1, 2, 3}) {
            CAPTURE(ranks);
            CAPTURE(chunks);
            support::imitated_machine machine;
            CHECK(support::runs_experts<calls>(threads{ranks}, chunks, [](auto& layer, const auto& data) {
                      return support::experts::source(layer.p, support::experts::arguments(layer, data));
                  }) == "");
            CHECK(machine.breaches.empty());
            CHECK(machine.is_clean());
        }
}

TEST_CASE("a virtual rank that gives up ends the run of the others") {
    support::imitated_machine machine;
    const std::string said = threads{2}([](stretto::cuda_nccl_rank<calls>& rank) {
        if (rank.rank() == 1) {
            auto fails = [] { throw 1; };
            rank.begin();
            rank.compute().launch(3, fails);
            return rank.finish() ? std::string("|gone|") : std::string("|went on|");
        }
        stretto::collective_operation barrier;
        const auto f = rank.perform(0, barrier);
        return f ? support::words(*f) : std::string("|no failure|");
    });
    CHECK(said.find("|gone|") != said.npos);
    // Whether rank 0 was in the barrier by then, or had yet to come to it, is luck; that it is told is not.
    CHECK(said.find("|no failure|") == said.npos);
    CHECK(machine.is_clean());
}
