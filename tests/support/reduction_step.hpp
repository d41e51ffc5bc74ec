// Captured steps of two ranks whose gradients are reduced in parts and added, drawn from bytes: nodes that an
// interpreter can run.
#ifndef STRETTO_TESTS_SUPPORT_REDUCTION_STEP_HPP
#define STRETTO_TESTS_SUPPORT_REDUCTION_STEP_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "capture/plan_drafts.hpp"

namespace support {

/// Builds a step node by node; every tensor is 4 x 2, or 2 x 2 once it is scattered over the ranks.
struct reduction_step {
    draft d;
    std::string type = "f64";
    bool names_owners = false;  // whether operations in place name what they write by the node that allocated it

    reduction_step() { d.groups = {{"dp", 2, ""}, {"ep", 2, ""}, {"tp", 2, ""}}; }

    [[nodiscard]] std::string next(const std::string& what) const { return what + std::to_string(d.nodes.size()); }
    [[nodiscard]] bool scattered(const std::string& x) { return d[x].outputs.find("[2,2]") != std::string::npos; }
    std::string push(draft_node n) {
        d.nodes.push_back(std::move(n));
        return d.nodes.back().name;
    }
    std::string input() { return push(support::input(next("x"), 64, tensor("4,2", type))); }
    std::string kernel(const std::string& op, std::vector<std::string> of) {
        draft_node n = support::kernel(next("k"), op, of, 500, scattered(of[0]) ? 32 : 64, d[of[0]].outputs);
        return push(std::move(n));
    }
    /// The value that owns the memory of x.
    [[nodiscard]] std::string owner(std::string x) {
        while (!d[x].aliases.empty()) x = d[x].aliases[0];
        return x;
    }
    std::string add_in_place(const std::string& to, const std::string& x) {
        draft_node n = support::in_place(next("a"), "aten.add_.Tensor", {to, x}, names_owners ? owner(to) : to);
        n.outputs = d[to].outputs;
        return push(std::move(n));
    }
    std::string alias(const std::string& of, const std::string& op = "aten.alias.default") {
        draft_node n = support::view(next("v"), of, d[of].outputs);
        n.op = op;
        return push(std::move(n));
    }
    std::string start(const std::string& x, bool scatter, stretto::group_id group = 0, const std::string& how = "sum") {
        const auto kind = scatter ? collective_kind::reduce_scatter : collective_kind::all_reduce;
        draft_node n = launch(next("r"), kind, group, x, 64, scatter ? 32 : 64, tensor(scatter ? "2,2" : "4,2", type));
        n.op = scatter ? "_c10d_functional.reduce_scatter_tensor.default" : "_c10d_functional.all_reduce.default";
        n.field("args") = scatter ? "[\"%0\",\"" + how + "\",2,\"0\"]" : "[\"%0\",\"" + how + "\",\"0\"]";
        return push(std::move(n));
    }
    std::string reduced(const std::string& x, bool scatter, stretto::group_id group = 0,
                        const std::string& how = "sum") {
        const std::string s = start(x, scatter, group, how);
        draft_node n = wait(next("w"), s, d[s].outputs);
        n.op = "_c10d_functional.wait_tensor.default";
        return push(std::move(n));
    }
    void output(std::vector<std::string> of) {
        std::vector<std::string> once;
        for (std::string& x : of)
            if (std::find(once.begin(), once.end(), x) == once.end()) once.push_back(std::move(x));
        push({.name = "output", .op = "output", .kind = op_kind::output, .inputs = std::move(once)});
    }
};

/// Micro-batches; additions in place or not, views, gradients that are read again.
inline reduction_step random_reduction_step(const std::vector<std::uint8_t>& bytes, std::string type) {
    reduction_step s;
    s.type = std::move(type);
    s.names_owners = bytes.size() % 2 != 0;
    std::size_t at = 0;
    const auto next = [&](std::size_t bound) {
        return bound == 0 || at >= bytes.size() ? std::size_t{0} : bytes[at++] % bound;
    };
    const auto recent = [&](const std::vector<std::string>& pool) {
        return pool[pool.size() - 1 - next(std::min<std::size_t>(pool.size(), 3))];
    };
    std::vector<std::string> raw = {s.input(), s.input()}, sums, seen;
    const auto gradient = [&] {
        const std::string a = recent(raw), b = recent(raw);
        return a == b ? s.kernel("aten.neg.default", {a}) : s.kernel("aten.sub.Tensor", {a, b});
    };
    while (at < bytes.size()) switch (next(10)) {
            case 0:
                raw.push_back(gradient());
                break;
            case 1:
            case 2:
            case 3: {
                const std::size_t odd = next(16);
                if (next(4) != 0) raw.push_back(gradient());
                sums.push_back(s.reduced(raw.back(), odd % 4 != 0, odd == 5, odd == 9 ? "max" : "sum"));
                break;
            }
            case 4:
            case 5:
            case 6:
            case 7: {
                if (sums.size() < 2) break;
                const std::string a = recent(sums), b = recent(sums);
                if (a == b || s.scattered(a) != s.scattered(b)) break;
                const std::string sum = next(2) ? s.kernel("aten.add.Tensor", {a, b}) : s.add_in_place(a, b);
                if (next(12) != 0) std::erase_if(sums, [&](const std::string& x) { return x == a || x == b; });
                sums.push_back(sum);
                break;
            }
            case 8: {
                if (sums.empty()) break;
                const std::string a = recent(sums);
                const bool turns = s.scattered(a) && next(2) != 0;
                const std::string view = s.alias(a, turns ? "aten.t.default" : "aten.alias.default");
                std::erase(sums, a);
                sums.push_back(view);
                break;
            }
            case 9:
                if (!sums.empty() && next(3) == 0) seen.push_back(s.kernel("aten.neg.default", {recent(sums)}));
                break;
        }
    seen.insert(seen.end(), sums.begin(), sums.end());
    seen.push_back(raw.back());
    s.output(seen);
    return s;
}

}  // namespace support

#endif
