// A small training step, written down without any IR: the neutral description from which every toy IR is built.
// Operations are listed in program order and named by their position.
#ifndef STRETTO_TESTS_SUPPORT_TOY_PROGRAM_HPP
#define STRETTO_TESTS_SUPPORT_TOY_PROGRAM_HPP

#include <compare>
#include <cstddef>
#include <cstdint>
#include <ostream>
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
inline std::uint32_t launch_of(const toy_program& p, std::uint32_t w) {
    if (p.ops[w].operands.empty()) return w;
    const std::uint32_t first = p.ops[w].operands.front().op;
    return p.ops[first].kind == stretto::op_kind::start ? first : w;
}

/// One line per operation: `%3.0:64B~%1.0, %3.1:8B = compute(%1.0, %2.0) writes(%1.0) 70ns`, where `~` is "aliases".
inline std::ostream& operator<<(std::ostream& out, const toy_program& p) {
    static constexpr const char* kinds[] = {"input", "compute", "view", "start", "wait", "output"};
    static constexpr const char* collectives[] = {"all_gather", "reduce_scatter", "all_reduce", "all_to_all", "other"};
    const auto values = [&out](const char* open, const std::vector<toy_value>& list, const char* close) {
        out << open;
        for (std::size_t i = 0; i < list.size(); ++i) out << (i ? ", %" : "%") << list[i].op << '.' << list[i].result;
        out << close;
    };
    out << p.ops.size() << " operations, " << p.groups << " groups\n";
    for (std::size_t v = 0; v < p.ops.size(); ++v) {
        const toy_op& op = p.ops[v];
        for (std::size_t r = 0; r < op.results.size(); ++r) {
            out << (r ? ", %" : "  %") << v << '.' << r << ':' << op.results[r].size.count << 'B';
            if (!op.results[r].aliases.empty()) values("~", op.results[r].aliases, "");
        }
        if (op.results.empty()) out << "  [" << v << ']';
        out << " = " << kinds[static_cast<std::size_t>(op.kind)];
        if (op.kind == stretto::op_kind::start)
            out << '.' << collectives[static_cast<std::size_t>(op.collective)] << "@group" << op.group << '<'
                << op.payload.count << "B>";
        values("(", op.operands, ")");
        if (!op.effects.empty()) values(" writes(", op.effects, ")");
        out << ' ' << op.duration.count << "ns\n";
    }
    return out;
}

}  // namespace support

#endif
