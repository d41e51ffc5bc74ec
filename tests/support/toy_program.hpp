// A small training step, written down without any IR: the neutral description from which every toy IR is built.
// Operations are listed in program order and named by their position.
#ifndef STRETTO_TESTS_SUPPORT_TOY_PROGRAM_HPP
#define STRETTO_TESTS_SUPPORT_TOY_PROGRAM_HPP

#include <compare>
#include <cstdint>
#include <iosfwd>
#include <vector>

#include "stretto/core/op_model.hpp"
#include "stretto/core/units.hpp"

namespace support {

/// Result number `result` of operation number `op`.
struct toy_value {
    std::uint32_t op = 0;
    std::uint32_t result = 0;
    friend auto operator<=>(const toy_value&, const toy_value&) = default;
};

struct toy_result {
    stretto::bytes size = {};             ///< storage of its own; 0 if it only aliases, or is no tensor
    std::vector<toy_value> aliases = {};  ///< earlier values whose storage it shares
    friend bool operator==(const toy_result&, const toy_result&) = default;
};

struct toy_op {
    stretto::op_kind kind = stretto::op_kind::compute;
    stretto::collective_kind collective = stretto::collective_kind::other;  ///< of a start
    stretto::group_id group = 0;                                            ///< of a start
    stretto::nanoseconds duration = {};
    stretto::bytes payload = {};  ///< of a start
    std::vector<toy_value> operands = {};
    std::vector<toy_result> results = {};
    std::vector<toy_value> effects = {};  ///< operands that are written in place
    friend bool operator==(const toy_op&, const toy_op&) = default;
};

struct toy_program {
    std::vector<toy_op> ops;
    std::uint32_t groups = 1;
    friend bool operator==(const toy_program&, const toy_program&) = default;
};

/// The start that operation `w`, a wait, waits for, or `w` itself if it waits for nothing.
std::uint32_t launch_of(const toy_program& p, std::uint32_t w);

/// One line per operation: `%3.0:64B~%1.0, %3.1:8B = compute(%1.0, %2.0) writes(%1.0) 70ns`, where `~` is "aliases".
std::ostream& operator<<(std::ostream& out, const toy_program& p);

}  // namespace support

#endif
