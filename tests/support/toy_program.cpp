#include "support/toy_program.hpp"

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <vector>

namespace support {

std::uint32_t launch_of(const toy_program& p, std::uint32_t w) {
    if (p.ops[w].operands.empty()) return w;
    const std::uint32_t first = p.ops[w].operands.front().op;
    return p.ops[first].kind == stretto::op_kind::start ? first : w;
}

std::ostream& operator<<(std::ostream& out, const toy_program& p) {
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
