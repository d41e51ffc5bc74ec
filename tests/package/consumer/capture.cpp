// What a consumer of the capture component does: read a captured step and use what it says.
#include <cstdio>

#include "stretto/capture/capture_reader.hpp"

int main() {
    const auto step = stretto::parse_capture(
        R"({"format": "stretto-graph", "version": 1, "name": "step", "groups": [],)"
        R"("costs": {"memory_bytes_per_second": 1e12, "launch_ns": 2000, "collectives": {}}, "nodes": [)"
        R"({"name": "x", "op": "x", "kind": "input", "inputs": [], "outputs": [], "bytes": 8, "ns": 0},)"
        R"({"name": "y", "op": "add", "kind": "compute", "inputs": [0], "outputs": [], "bytes": 8, "ns": 1000}]})",
        "step.json");
    if (!step) {
        std::fprintf(stderr, "%s\n", step.error().message().c_str());
        return 1;
    }
    std::printf("%zu nodes\n", step->size());
    return step->size() == 2 ? 0 : 1;
}
