// What the command line tells a benchmark.
#ifndef STRETTO_BENCH_SUPPORT_ARGUMENTS_HPP
#define STRETTO_BENCH_SUPPORT_ARGUMENTS_HPP

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace bench {

struct arguments {
    bool smoke = false;                ///< runs only for a moment, to show that it is alive
    std::vector<std::uint32_t> sizes;  ///< of graphs, in nodes
};

/// Reads `[--smoke] [NODES...]`, each at most `most_nodes`; only `[--smoke]` if that is 0. Anything else ends the
/// program with its usage and status 2.
[[nodiscard]] inline arguments read_arguments(int argc, char** argv, std::uint32_t most_nodes = 0) {
    arguments given;
    for (int k = 1; k < argc; ++k) {
        if (std::strcmp(argv[k], "--smoke") == 0) {
            given.smoke = true;
            continue;
        }
        char* end = nullptr;
        const unsigned long nodes = std::strtoul(argv[k], &end, 10);
        if (end == argv[k] || *end != '\0' || nodes == 0 || nodes > most_nodes) {
            std::fprintf(stderr, "usage: %s [--smoke]%s\n", argv[0], most_nodes > 0 ? " [NODES...]" : "");
            std::exit(2);
        }
        given.sizes.push_back(static_cast<std::uint32_t>(nodes));
    }
    return given;
}

}  // namespace bench

#endif
