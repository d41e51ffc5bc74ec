#include "stretto/backend/run_failure.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace stretto;
using why = run_failure::reason;

TEST_CASE("a failure says what happened and who waits for whom") {
    const auto name = [](task_id t) { return "%" + std::to_string(t); };
    run_failure late;
    late.rank = 1;
    late.waiting = {{1, 0, no_group, 5, 0, {}, {4}}, {1, 2, 3, 4, 7, {0, 2}, {}}};
    CHECK(explain(late, name) ==
          "rank 1 has waited for longer than the deadline; rank 1 waits at %5 for %4; rank 1 waits at %4 (collective 7 "
          "of group 3) for rank 0 for rank 2");
    late.waiting.clear();
    late.detail = "rank 2 does not answer";
    CHECK(explain(late, name) == "rank 1 has waited for longer than the deadline, and rank 2 does not answer");
    CHECK(explain(run_failure{why::mismatch, 2, 3, 7, 4, "64 bytes here, 32 on rank 1"}, name) ==
          "rank 2 meets another collective at %4 (collective 7 of group 3): 64 bytes here, 32 on rank 1");
    CHECK(explain(run_failure{why::overflow, 2, 3, 7, 4, "sends 9 rows"}, name) ==
          "rank 2 has no room at %4 (collective 7 of group 3): sends 9 rows");
    CHECK(explain(run_failure{why::kernel_threw, 0, no_group, 0, 6, "no such expert"}, name) ==
          "rank 0: the kernel of %6 failed: no such expert");
    CHECK(explain(run_failure{why::rank_threw, 0, no_group, 0, no_task, "disk full"}, name) ==
          "rank 0 failed: disk full");
    CHECK(explain(run_failure{why::call_failed, 2, 3, 7, 4, "ncclGroupEnd: remote error"}, name) ==
          "rank 2 cannot go on at %4 (collective 7 of group 3): ncclGroupEnd: remote error");
    CHECK(explain(run_failure{why::call_failed, 2, no_group, 0, 4, "cudaEventRecord: no device"}, name) ==
          "rank 2 cannot go on at %4: cudaEventRecord: no device");
    CHECK(explain(run_failure{why::rank_left, 3}, name) == "rank 3 has left the run while others wait for it");
    CHECK(explain(run_failure{why::call_failed, 1, no_group, 0, no_task, "no such communicator"}, name) ==
          "rank 1 cannot go on: no such communicator");
    CHECK(explain(run_failure{why::kernel_threw, 0, no_group, 0, 6, "no such expert"}) ==
          "rank 0: the kernel of operation 6 failed: no such expert");
}
