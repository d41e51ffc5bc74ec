// Random training steps: legal, and otherwise as wild as captured ones. They have collectives of several groups in
// flight at once, in-place writes, results that alias, operations with no result or three, waits on waits and on
// nothing, views that read only the shape of what is still in flight, buffers that a collective writes, and dead code.
//
// A program is decoded from a list of genes, each a handful of small numbers that stand for one operation. Every list
// decodes to a legal program: a gene that asks for something illegal gets the nearest legal thing. Shrinking may
// therefore drop genes and lower numbers as it likes, and a counterexample ends up short and plain.
#ifndef STRETTO_TESTS_SUPPORT_RANDOM_PROGRAM_HPP
#define STRETTO_TESTS_SUPPORT_RANDOM_PROGRAM_HPP

#include <rapidcheck.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/toy_program.hpp"

namespace support {

struct program_options {
    std::uint32_t max_ops = 60;        ///< in the largest cases; sizes grow from nothing during a run
    std::uint32_t groups = 3;          ///< process groups
    bool in_place = true;              ///< operations that write into an operand
    bool in_place_collectives = true;  ///< collectives that write into a buffer
    bool multi_result = true;          ///< operations with two or three results, or with none
    bool reads_behind_waits = true;    ///< what a collective wrote is also read, after its wait, not through the wait
    bool waits_on_nothing = true;      ///< waits on waits, on inputs, on nothing at all, and second waits
    bool unwaited_starts = false;      ///< collectives that nobody ever waits for
};

/// A gene: what to do, three picks (0 is the most recent candidate), flavour, group, time and size.
using gene = std::array<std::uint8_t, 8>;

/// The legal program that `genes` stand for; always the same.
toy_program decode_program(const std::vector<gene>& genes, const program_options& options = {});

/// A generator for rapidcheck that shrinks: `const auto p = *support::random_programs();` inside a property.
rc::Gen<toy_program> random_programs(const program_options& options = {});

/// The program of about `ops` operations that belongs to `seed`, for use without rapidcheck; the same on every machine.
toy_program seeded_program(std::uint64_t seed, std::size_t ops, const program_options& options = {});

}  // namespace support

// Drawing from a generator instantiates much of rapidcheck, so it is done in one file.
extern template class rc::Gen<support::toy_program>;

#endif
