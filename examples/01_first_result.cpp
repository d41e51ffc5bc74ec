// Reads a captured training step, plans it in its own peak memory, and says what that buys.
// Run it from the top of the repository.
// [first-result]
#include <cstdio>

#include "stretto/capture/capture_reader.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/schedule/plan_overlap.hpp"

int main() {
    const auto step = stretto::read_capture("examples/graphs/llama_fsdp_forward.json.gz");
    if (!step) return std::fprintf(stderr, "%s\n", step.error().message().c_str()), 2;
    const auto plan = stretto::plan_overlap(stretto::capture_view{&*step}, stretto::capture_op_model{&*step});
    const stretto::schedule& best = plan->certificate;
    std::printf("%zu operations in %.1f ms, %.1f ms of it exposed; no order takes less than %.1f ms\n",
                best.order().size(), stretto::to_milliseconds(best.makespan()),
                stretto::to_milliseconds(best.times().exposed), stretto::to_milliseconds(best.bound().value));
}
// [/first-result]
