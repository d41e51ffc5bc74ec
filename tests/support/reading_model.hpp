// Toy programs whose hosts read numbers.
#ifndef STRETTO_TESTS_SUPPORT_READING_MODEL_HPP
#define STRETTO_TESTS_SUPPORT_READING_MODEL_HPP

#include <cstdint>
#include <vector>

#include "support/schedule_oracles.hpp"

namespace support {

/// The model of a program whose host reads a number at the operations that are marked.
struct reading_model : program_model {
    const std::vector<char>* reads;

    reading_model(const toy_program& program, const std::vector<char>& marks)
        : program_model{&program}, reads(&marks) {}
    bool synchronises(std::uint32_t v) const { return (*reads)[v] != 0; }
};

/// Marks for a program, by drawn numbers: about a quarter of its operations, of any kind.
inline std::vector<char> marks_of(const toy_program& p, const std::vector<std::uint8_t>& drawn) {
    std::vector<char> marks(p.ops.size(), 0);
    for (std::size_t v = 0; v < marks.size() && !drawn.empty(); ++v) marks[v] = drawn[v % drawn.size()] % 4 == 0;
    return marks;
}

/// Its task graph.
inline stretto::task_graph graph_of(const toy_program& p, const std::vector<char>& reads) {
    return *stretto::make_task_graph(program_view{&p}, reading_model(p, reads));
}

}  // namespace support

#endif
