// Measures chunking of every block of experts of synthetic training steps: making the plan, verifying it, and applying
// it to a structure of arrays, for steps of a thousand to a hundred thousand nodes and two to eight chunks. The floors
// beside it are one sweep over the nodes and what they read, and writing as many nodes with as many operands as `apply`
// makes.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/plan_chunks.hpp"
#include "stretto/transform/verify_chunks.hpp"
#include "support/measure.hpp"
#include "support/moe_step.hpp"

namespace {

using id = std::uint32_t;
using chunk_plan = stretto::chunk_plan<id, id>;

/// A program that grows: arrays of nodes, doubly linked in program order, and of their operands.
struct linked_program {
    static constexpr id none = UINT32_MAX;

    struct node {
        id like;  // the node of the step that this one is like
        id first_read, reads;
        id before, behind;
        bool erased = false;
    };
    std::vector<node> nodes;
    std::vector<id> reads;

    explicit linked_program(const bench::moe_step& s) {
        for (id v = 0; v < s.size(); ++v) append(v, s.reads[v], v - 1, v + 1);  // v - 1 of the first one is `none`
    }
    void append(id like, std::span<const id> operands, id before, id behind) {
        nodes.push_back({like, static_cast<id>(reads.size()), static_cast<id>(operands.size()), before, behind});
        reads.insert(reads.end(), operands.begin(), operands.end());
    }
};

struct linked_rewriter {
    linked_program* p;
    id at = 0;
    std::vector<id> parts = {};

    void insert_before(id v) { at = v; }
    id make(id like, std::span<const id> operands) {
        const id n = static_cast<id>(p->nodes.size()), before = p->nodes[at].before;
        p->append(like, operands, before, at);
        p->nodes[at].before = n;
        if (before != linked_program::none) p->nodes[before].behind = n;
        return n;
    }
    std::array<id, 1> clone(id v, std::span<const id> operands, const stretto::chunk_part&) {
        return {make(v, operands)};
    }
    std::span<const id> split(id x, std::size_t, std::span<const std::int64_t> sizes) {
        parts.clear();
        for (std::size_t k = 0; k < sizes.size(); ++k) parts.push_back(make(p->nodes[x].like, {&x, 1}));
        return parts;
    }
    id concat(std::span<const id> all, std::size_t) { return make(p->nodes[all[0]].like, all); }
    id sum(std::span<const id> all) {
        id total = all[0];
        for (id part : all.subspan(1)) {
            const id both[] = {total, part};
            total = make(p->nodes[total].like, both);
        }
        return total;
    }
    void replace_uses(id v, id from, id to) {
        for (id k = 0; k < p->nodes[v].reads; ++k) {
            id& read = p->reads[p->nodes[v].first_read + k];
            if (read == from) read = to;
        }
    }
    void erase(id v) {
        linked_program::node& n = p->nodes[v];
        n.erased = true;
        if (n.before != linked_program::none) p->nodes[n.before].behind = n.behind;
        if (n.behind < p->nodes.size()) p->nodes[n.behind].before = n.before;
    }
};

/// The longest path in nodes: what one look at every node and operand costs.
id longest_path(const bench::moe_step& s, std::vector<id>& length) {
    id longest = 0;
    for (id v = 0; v < s.size(); ++v) {
        id before = 0;
        for (id u : s.reads[v]) before = before < length[u] ? length[u] : before;
        length[v] = before + 1;
        longest = longest < length[v] ? length[v] : longest;
    }
    return longest;
}

struct figures {
    std::size_t nodes = 0, made = 0;
    double plan = 0, verify = 0, apply = 0, sweep = 0, write = 0;  // seconds
};

figures measure(const bench::moe_step& s, std::int64_t chunks, double seconds) {
    std::vector<stretto::chunk_region<id>> regions;
    for (const std::vector<id>& block : s.blocks)
        regions.push_back(
            {block, std::vector<std::int64_t>(static_cast<std::size_t>(chunks), bench::moe_step::tokens / chunks)});
    const bench::moe_view view{&s};
    const auto plan = [&] {
        return stretto::plan_chunks(view, bench::moe_op_model{&s}, bench::moe_chunk_model{&s},
                                    std::span<const stretto::chunk_region<id>>(regions),
                                    std::span<const stretto::token_dimension<id>>(s.entries));
    };
    const auto made = plan();
    if (!made) {
        std::fprintf(stderr, "no plan: %s, node %u\n", std::string(made.error().detail).c_str(), made.error().vertex);
        std::abort();
    }
    const auto verify = [&] {
        return stretto::verify_chunks(*made, view, bench::moe_op_model{&s}, bench::moe_chunk_model{&s});
    };
    if (!verify()) std::abort();

    figures f;
    f.nodes = s.size();
    f.plan = bench::least_seconds([&] { bench::keep(plan()); }, 3, seconds);
    f.verify = bench::least_seconds([&] { bench::keep(verify()); }, 3, seconds);
    std::vector<id> length(s.size());
    f.sweep = bench::least_seconds([&] { bench::keep(longest_path(s, length)); }, 3, seconds / 10);

    // A plan is applied once to a program, so neither the copy of the program nor the cost of new memory counts.
    f.apply = f.write = 1e300;
    double total = 0;
    const linked_program before(s);
    linked_program p(s);
    for (int run = 0; run < 3 || total < seconds; ++run) {
        p.nodes = before.nodes;
        p.reads = before.reads;
        linked_rewriter rewriter{&p};
        const double begin = bench::thread_seconds();
        stretto::apply_chunks(*made, view, rewriter);
        const double taken = bench::thread_seconds() - begin;
        f.apply = std::fmin(f.apply, taken);
        total += taken;
        f.made = p.nodes.size() - before.nodes.size();

        linked_program copy = before;
        copy.nodes.reserve(p.nodes.size());
        copy.reads.reserve(p.reads.size());
        const double copying = bench::thread_seconds();
        for (std::size_t n = before.nodes.size(); n < p.nodes.size(); ++n)
            copy.append(p.nodes[n].like, {p.reads.data() + p.nodes[n].first_read, p.nodes[n].reads}, p.nodes[n].before,
                        p.nodes[n].behind);
        f.write = std::fmin(f.write, bench::thread_seconds() - copying);
        bench::keep(copy);
    }
    const stretto::chunk_counts counts = made->counts();
    const std::size_t k = static_cast<std::size_t>(chunks);
    if (f.made != counts.clones + k * counts.splits + counts.concats + (k - 1) * counts.sums) std::abort();
    return f;
}

}  // namespace

int main(int argc, char** argv) {
    bool smoke = false;
    std::vector<id> sizes;
    for (int k = 1; k < argc; ++k) {
        if (std::strcmp(argv[k], "--smoke") == 0) {
            smoke = true;
            continue;
        }
        char* end = nullptr;
        const unsigned long nodes = std::strtoul(argv[k], &end, 10);
        if (end == argv[k] || *end != '\0' || nodes == 0 || nodes > 10'000'000) {
            std::fputs("usage: chunking [--smoke] [NODES...]\n", stderr);
            return 2;
        }
        sizes.push_back(static_cast<id>(nodes));
    }
    if (sizes.empty()) sizes = smoke ? std::vector<id>{1000} : std::vector<id>{1000, 10'000, 100'000};
    std::printf(
        "All blocks of experts, forward and backward, least of several runs. `made`: nodes that apply creates.\n"
        "`sweep`: one look at all nodes; `write`: writing what is created. Planning and verifying in ns per node of\n"
        "the step as well as in ms, applying in ns per node created.\n"
        "%8s %2s %8s | %9s %8s | %9s %8s | %9s %8s | %6s %6s\n",
        "nodes", "k", "made", "plan ms", "ns/node", "verify ms", "ns/node", "apply ms", "ns/made", "sweep", "write");
    for (id size : sizes) {
        const bench::moe_step s = bench::make_moe_step(size);
        for (std::int64_t chunks : {2, 4, 8}) {
            const figures f = measure(s, chunks, smoke ? 0.001 : 0.5);
            const auto each = [](double t, std::size_t n) { return 1e9 * t / static_cast<double>(n); };
            std::printf("%8zu %2d %8zu | %9.3f %8.1f | %9.3f %8.1f | %9.3f %8.1f | %6.1f %6.1f\n", f.nodes,
                        static_cast<int>(chunks), f.made, 1e3 * f.plan, each(f.plan, f.nodes), 1e3 * f.verify,
                        each(f.verify, f.nodes), 1e3 * f.apply, each(f.apply, f.made), each(f.sweep, f.nodes),
                        each(f.write, f.made));
            std::fflush(stdout);
        }
    }
}
