// The rules of a legal program, written a second time and without cleverness. They are the oracle for the random
// programs, and for every schedule that reorders one.
#ifndef STRETTO_TESTS_SUPPORT_LEGALITY_HPP
#define STRETTO_TESTS_SUPPORT_LEGALITY_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "support/toy_program.hpp"

namespace support {

/// storages[v][r]: the storages that result r of operation v lives in, ascending. A tensor that aliases nothing has
/// one of its own; a view that aliases nothing is a shape and has none.
std::vector<std::vector<std::vector<std::uint32_t>>> storages_of(const toy_program& p);

/// Empty if running the operations in `order` is legal and computes what program order computes; otherwise the reason
/// why not. Every operation must run once and after what it reads. Accesses to the same storage, of which at least one
/// writes, must keep their program order. What a collective reads or writes must not be written before a wait for it,
/// and what it writes must not be read.
std::string violation(const toy_program& p, const std::vector<std::uint32_t>& order);

/// The same for program order itself.
std::string violation(const toy_program& p);

}  // namespace support

#endif
