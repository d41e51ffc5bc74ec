#include "support/spine_program.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/random_program.hpp"
#include "support/toy_program.hpp"

namespace support {

toy_op kernel(std::int64_t ns, std::vector<toy_value> reads, std::int64_t size) {
    return {.duration = {ns}, .operands = std::move(reads), .results = {{{size}, {}}}};
}
toy_op launch(stretto::group_id group, std::int64_t ns, std::vector<toy_value> reads) {
    return {.kind = stretto::op_kind::start,
            .group = group,
            .duration = {ns},
            .operands = std::move(reads),
            .results = {{{1}, {}}}};
}
toy_op await(std::uint32_t start) {
    return {.kind = stretto::op_kind::wait, .operands = {{start, 0}}, .results = {{{0}, {{start, 0}}}}};
}

namespace {

class spine_builder {
public:
    explicit spine_builder(const std::vector<gene>& genes, std::size_t weighted) : weight_left_(weighted) {
        p_.groups = 3;
        for (const gene& g : genes)
            if (weight_left_ > 0) add(g);
        toy_op output{.kind = stretto::op_kind::output};
        for (const branch& b : branches_)
            if (p_.ops[b.value.op].kind != stretto::op_kind::start) output.operands.push_back(b.value);
        if (has_spine_) output.operands.push_back(spine_);
        p_.ops.push_back(output);
    }
    toy_program program() && { return std::move(p_); }

private:
    struct branch {
        toy_value value;
    };

    std::uint32_t next() const { return static_cast<std::uint32_t>(p_.ops.size()); }
    std::uint32_t push(toy_op op) {
        weight_left_ -= op.kind == stretto::op_kind::compute || op.kind == stretto::op_kind::start;
        p_.ops.push_back(std::move(op));
        return next() - 1;
    }
    std::vector<toy_value> from_spine() const {
        return has_spine_ ? std::vector<toy_value>{spine_} : std::vector<toy_value>{};
    }
    void to_spine(std::uint32_t v) {
        spine_ = {v, 0};
        has_spine_ = true;
    }

    /// What branch number `pick` has come to; waits for it if it is a collective, with the spine before the wait if
    /// `late` is set. The branch ends.
    toy_value join(std::uint8_t pick, bool late) {
        const std::size_t k = pick % branches_.size();
        toy_value x = branches_[k].value;
        branches_.erase(branches_.begin() + static_cast<std::ptrdiff_t>(k));
        if (p_.ops[x.op].kind != stretto::op_kind::start) return x;
        toy_op wait = await(x.op);
        if (late && has_spine_) wait.operands.push_back(spine_);
        return {push(std::move(wait)), 0};
    }

    void add(const gene& g) {
        const std::int64_t ns = g[6] % 8;
        const stretto::group_id group = g[5] % 3u;
        const bool joins = !branches_.empty() && g[4] % 2 == 1;
        switch (g[0] % 8) {
            case 0:
            case 1:
            case 2: {  // a kernel of the spine, which may write what it reads in place
                toy_op op = kernel(ns, from_spine(), g[7] % 16);
                if (joins) op.operands.push_back(join(g[1], g[4] & 4));
                if (has_spine_ && g[4] % 8 == 6 && p_.ops[spine_.op].kind == stretto::op_kind::compute) {
                    op.effects = {spine_};
                    op.results = {{{0}, {spine_}}};
                }
                return to_spine(push(std::move(op)));
            }
            case 3: {  // a collective of the spine; its result may be waited for twice
                toy_op op = launch(group, ns, from_spine());
                op.results[0].size = {1 + g[7] % 16};
                if (joins) op.operands.push_back(join(g[1], g[4] & 4));
                const std::uint32_t start = push(std::move(op));
                if (g[3] % 4 == 1) shape_branch(start, g[7] % 8);
                toy_op wait = await(start);
                if (!branches_.empty() && g[3] % 4 == 2) wait.operands.push_back(join(g[2], false));
                to_spine(push(std::move(wait)));
                if (g[3] % 4 == 3) {
                    const std::uint32_t again = push(await(start));
                    branches_.push_back({{again, 0}});
                }
                return;
            }
            case 4:
            case 5:  // a kernel beside the spine
                branches_.push_back({{push(kernel(ns, branch_point(g, joins), g[7] % 16)), 0}});
                return;
            default: {  // a collective beside the spine
                toy_op op = launch(group, ns, branch_point(g, joins));
                op.results[0].size = {1 + g[7] % 16};
                const std::uint32_t start = push(std::move(op));
                if (g[3] % 4 == 1 && weight_left_ > 0) shape_branch(start, g[7] % 8);
                branches_.push_back({{start, 0}});
                return;
            }
        }
    }

    /// From the spine, from nothing, or from another branch that goes on.
    std::vector<toy_value> branch_point(const gene& g, bool joins) {
        std::vector<toy_value> reads = g[2] % 4 == 0 ? std::vector<toy_value>{} : from_spine();
        if (joins) reads.push_back(join(g[1], g[4] & 4));
        return reads;
    }

    /// A kernel that needs a collective begun, not ended: it reads a view of its shape.
    void shape_branch(std::uint32_t start, std::int64_t ns) {
        if (weight_left_ == 0) return;
        const std::uint32_t view =
            push({.kind = stretto::op_kind::view, .operands = {{start, 0}}, .results = {{{0}, {}}}});
        branches_.push_back({{push(kernel(ns, {{view, 0}})), 0}});
    }

    toy_program p_;
    std::vector<branch> branches_;
    toy_value spine_;
    bool has_spine_ = false;
    std::size_t weight_left_;
};

}  // namespace

toy_program spine_program(const std::vector<gene>& genes, std::size_t weighted) {
    return spine_builder(genes, weighted).program();
}

}  // namespace support
