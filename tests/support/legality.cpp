#include "support/legality.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/toy_program.hpp"

namespace support {

std::vector<std::vector<std::vector<std::uint32_t>>> storages_of(const toy_program& p) {
    std::vector<std::vector<std::vector<std::uint32_t>>> storages(p.ops.size());
    std::uint32_t fresh = 0;
    for (std::size_t v = 0; v < p.ops.size(); ++v)
        for (const toy_result& r : p.ops[v].results) {
            std::vector<std::uint32_t> own;
            for (toy_value a : r.aliases)
                own.insert(own.end(), storages[a.op][a.result].begin(), storages[a.op][a.result].end());
            const bool shape = (p.ops[v].kind == stretto::op_kind::view || p.ops[v].kind == stretto::op_kind::wait) &&
                               r.size.count == 0;
            if (r.size.count > 0 || (r.aliases.empty() && !shape)) own.push_back(fresh++);
            std::sort(own.begin(), own.end());
            own.erase(std::unique(own.begin(), own.end()), own.end());
            storages[v].push_back(std::move(own));
        }
    return storages;
}

std::string violation(const toy_program& p, const std::vector<std::uint32_t>& order) {
    using stretto::op_kind;
    const std::size_t n = p.ops.size();
    const auto name = [](std::size_t v) { return "operation " + std::to_string(v); };

    constexpr std::size_t never = static_cast<std::size_t>(-1);
    std::vector<std::size_t> position(n, never);
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (order[i] >= n) return "the order names " + name(order[i]) + ", which does not exist";
        if (position[order[i]] != never) return name(order[i]) + " runs twice";
        position[order[i]] = i;
    }
    for (std::size_t v = 0; v < n; ++v)
        if (position[v] == never) return name(v) + " never runs";
    for (std::size_t v = 0; v < n; ++v)
        for (toy_value x : p.ops[v].operands)
            if (position[x.op] >= position[v]) return name(v) + " runs before " + name(x.op) + ", which it reads";

    // Who touches a storage, in program order. Views and waits touch nothing: they only pass a handle on.
    struct access {
        std::size_t op;
        bool writes;
    };
    const auto storages = storages_of(p);
    std::vector<std::vector<access>> accesses;
    const auto touch = [&](std::size_t v, toy_value x, bool writes) {
        for (std::uint32_t s : storages[x.op][x.result]) {
            if (s >= accesses.size()) accesses.resize(s + 1);
            accesses[s].push_back({v, writes});
        }
    };
    std::vector<std::size_t> first_wait(n, never);  // by position in `order`
    for (std::uint32_t v = 0; v < n; ++v) {
        const toy_op& op = p.ops[v];
        if (op.kind == op_kind::wait) {
            const std::uint32_t s = launch_of(p, v);
            if (s != v) first_wait[s] = std::min(first_wait[s], position[v]);
        }
        if (op.kind == op_kind::wait || op.kind == op_kind::view) continue;
        for (toy_value x : op.operands) touch(v, x, false);
        for (toy_value x : op.effects) touch(v, x, true);
        for (std::uint32_t r = 0; r < op.results.size(); ++r)
            // An alias of an operand is no new write; what the operation writes in place is in `effects`. But a
            // collective fills its results wherever they live.
            if (op.results[r].aliases.empty() || op.kind == op_kind::start) touch(v, {v, r}, true);
    }
    for (const std::vector<access>& list : accesses)
        for (std::size_t j = 1; j < list.size(); ++j)
            for (std::size_t i = 0; i < j; ++i) {
                const std::size_t a = list[i].op, b = list[j].op;
                if (a == b || (!list[i].writes && !list[j].writes)) continue;
                if (position[a] > position[b]) return name(b) + " runs before " + name(a) + ", on the same storage";
                if (p.ops[a].kind == op_kind::start && (first_wait[a] == never || first_wait[a] > position[b]))
                    return name(b) + " touches what collective " + name(a) + " still has in flight";
            }
    return {};
}

std::string violation(const toy_program& p) {
    std::vector<std::uint32_t> order(p.ops.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
    return violation(p, order);
}

}  // namespace support
