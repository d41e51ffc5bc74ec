// Random steps with the shape that the spine bound is about: a chain of kernels and collectives, with side branches
// between its points. They are decoded from genes like the programs of random_program.hpp, and so they shrink.
#ifndef STRETTO_TESTS_SUPPORT_SPINE_PROGRAM_HPP
#define STRETTO_TESTS_SUPPORT_SPINE_PROGRAM_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/random_program.hpp"
#include "support/toy_program.hpp"

namespace support {

/// Single operations, for programs written by hand.
toy_op kernel(std::int64_t ns, std::vector<toy_value> reads = {}, std::int64_t size = 1);
toy_op launch(stretto::group_id group, std::int64_t ns, std::vector<toy_value> reads = {});
toy_op await(std::uint32_t start);

/// A random program of kernels and collectives that begin at one point of a spine and may rejoin it at a later one,
/// shape-only views of what is in flight, waits with other predecessors, second waits, and in-place chains. One gene is
/// one operation of the spine or of a branch. There are no more than `weighted` kernels and collectives, and three
/// groups.
toy_program spine_program(const std::vector<gene>& genes, std::size_t weighted = SIZE_MAX);

}  // namespace support

#endif
