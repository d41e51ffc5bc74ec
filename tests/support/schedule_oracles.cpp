#include "support/schedule_oracles.hpp"
// Above all headers of the library: it makes broken assertions throw.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "stretto/schedule/task_graph.hpp"
#include "support/random_program.hpp"
#include "support/spine_program.hpp"
#include "support/toy_program.hpp"

namespace support {

task_order program_order(std::size_t n) {
    task_order order(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<std::uint32_t>(i);
    return order;
}

stretto::task_graph graph_of(const toy_program& p) {
    auto g = stretto::make_task_graph(program_view{&p}, program_model{&p});
    REQUIRE(g.has_value());
    return *std::move(g);
}

void unite(storage_facts::set& into, const storage_facts::set& other) {
    into.insert(into.end(), other.begin(), other.end());
    std::sort(into.begin(), into.end());
    into.erase(std::unique(into.begin(), into.end()), into.end());
}

bool intersect(const storage_facts::set& a, const storage_facts::set& b) {
    return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
}

storage_facts facts_of(const toy_program& p) {
    storage_facts f;
    std::vector<std::uint32_t> first;
    const auto of = [&](toy_value x) -> const storage_facts::set& { return f.of_value[first[x.op] + x.result]; };
    for (std::uint32_t v = 0; v < p.ops.size(); ++v) {
        first.push_back(static_cast<std::uint32_t>(f.of_value.size()));
        storage_facts::set results;
        for (const toy_result& r : p.ops[v].results) {
            storage_facts::set own;
            if (r.size.count > 0 || r.aliases.empty()) own.push_back(static_cast<std::uint32_t>(f.of_value.size()));
            for (toy_value y : r.aliases) unite(own, of(y));
            f.size.push_back(r.size.count);
            f.owner.push_back(v);
            f.of_value.push_back(own);
            unite(results, own);
        }
        f.results.push_back(results);
        f.reads.emplace_back();
        f.writes.emplace_back();
        for (toy_value x : p.ops[v].operands) unite(f.reads.back(), of(x));
        for (toy_value x : p.ops[v].effects) unite(f.writes.back(), of(x));
        // A collective fills its results, even where they live in the memory of others.
        if (p.ops[v].kind == stretto::op_kind::start)
            for (std::uint32_t s : results)
                if (s < first[v]) unite(f.writes.back(), {s});
    }
    return f;
}

storage_facts::set touched_by(const toy_program& p, const storage_facts& f, std::uint32_t v) {
    storage_facts::set all = f.results[v];
    unite(all, f.reads[v]);
    unite(all, f.writes[v]);
    if (p.ops[v].kind == stretto::op_kind::wait && launch_of(p, v) != v) unite(all, f.reads[launch_of(p, v)]);
    return all;
}

naive_figures figures_of(const toy_program& p, const storage_facts& f, const task_order& order) {
    using stretto::op_kind;
    naive_figures n;
    std::int64_t lane = 0;
    std::vector<std::int64_t> free(p.groups, 0), end(p.ops.size(), 0);
    for (std::uint32_t v : order) {
        const toy_op& op = p.ops[v];
        if (op.kind == op_kind::compute) {
            lane += op.duration.count;
            n.compute += op.duration.count;
        } else if (op.kind == op_kind::start) {
            end[v] = free[op.group] = std::max(lane, free[op.group]) + op.duration.count;
            n.makespan = std::max(n.makespan, end[v]);
        } else if (op.kind == op_kind::wait && launch_of(p, v) != v) {
            n.exposed += std::max<std::int64_t>(0, end[launch_of(p, v)] - lane);
            lane = std::max(lane, end[launch_of(p, v)]);
        }
    }
    n.makespan = std::max(n.makespan, lane);

    std::vector<std::size_t> place(p.ops.size()), last(f.size.size(), 0);
    for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    for (std::uint32_t v = 0; v < p.ops.size(); ++v) {
        for (std::uint32_t s : touched_by(p, f, v)) last[s] = std::max(last[s], place[v]);
        if (p.ops[v].kind == op_kind::output)
            for (std::uint32_t s : f.reads[v]) last[s] = SIZE_MAX;
        if (p.ops[v].kind == op_kind::input)
            for (std::uint32_t s : f.results[v]) last[s] = SIZE_MAX;
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
        std::int64_t live = 0;
        for (std::uint32_t s = 0; s < f.size.size(); ++s)
            if (p.ops[f.owner[s]].kind != op_kind::input && place[f.owner[s]] <= i && i <= last[s]) live += f.size[s];
        n.live.push_back(live);
        n.peak = std::max(n.peak, live);
    }
    return n;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> touches_in_flight(const toy_program& p, const storage_facts& f,
                                                                       const task_order& order) {
    using stretto::op_kind;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
    std::vector<std::uint32_t> flying;
    for (std::uint32_t v : order) {
        const op_kind kind = p.ops[v].kind;
        if (kind == op_kind::wait && launch_of(p, v) != v) std::erase(flying, launch_of(p, v));
        if (kind != op_kind::compute && kind != op_kind::start) continue;
        for (std::uint32_t c : flying)
            if (intersect(f.reads[v], f.results[c]) || intersect(f.reads[v], f.writes[c]) ||
                intersect(f.writes[v], f.results[c]) || intersect(f.writes[v], f.writes[c]) ||
                intersect(f.writes[v], f.reads[c]))
                found.emplace_back(v, c);
        if (kind == op_kind::start) flying.push_back(v);
    }
    return found;
}

std::string illegality(const toy_program& p, const storage_facts& f, const task_order& order) {
    const std::size_t n = p.ops.size();
    task_order sorted = order;
    std::sort(sorted.begin(), sorted.end());
    if (sorted != program_order(n)) return "not a permutation";
    std::vector<std::size_t> place(n);
    for (std::size_t i = 0; i < n; ++i) place[order[i]] = i;
    for (std::uint32_t v = 0; v < n; ++v)
        for (toy_value x : p.ops[v].operands)
            if (place[x.op] > place[v])
                return "operation " + std::to_string(v) + " runs before " + std::to_string(x.op) + ", which it reads";
    for (std::uint32_t a = 0; a < n; ++a)
        for (std::uint32_t b = a + 1; b < n; ++b)
            if (place[a] > place[b] && (intersect(f.writes[a], f.writes[b]) || intersect(f.writes[a], f.reads[b]) ||
                                        intersect(f.reads[a], f.writes[b])))
                return "operation " + std::to_string(b) + " overtakes " + std::to_string(a) + " on one storage";
    const auto allowed = touches_in_flight(p, f, program_order(n));
    for (const auto& [v, c] : touches_in_flight(p, f, order))
        if (std::find(allowed.begin(), allowed.end(), std::pair{v, c}) == allowed.end())
            return "operation " + std::to_string(v) + " touches what " + std::to_string(c) + " has in flight";
    return {};
}

namespace {

/// Depth-first search over all orders that respect `g.predecessors`, for graphs of up to 32 tasks of which about ten
/// have weight. Branches are cut when the work left on the lane, or on a path, cannot beat the best order so far; tasks
/// that take neither time nor memory run as soon as they can.
class exhaustive_search {
public:
    explicit exhaustive_search(const stretto::task_graph& g, std::int64_t limit = INT64_MAX)
        : g_(g),
          limit_(limit),
          free_(g.groups, 0),
          end_(g.size(), 0),
          tail_(g.size(), 0),
          storage_users_(g.allocation.size()) {
        REQUIRE(g.size() <= 32);
        for (std::uint32_t t = 0; t < g.size(); ++t) {
            before_.push_back(0);
            for (std::uint32_t p : g.predecessors[t]) before_[t] |= std::uint32_t{1} << p;
            for (std::uint32_t s : g.touched[t]) storage_users_[s] |= std::uint32_t{1} << t;
            if (g.kind[t] == stretto::op_kind::compute) lane_left_ += g.duration[t].count;
        }
        for (std::uint32_t t = static_cast<std::uint32_t>(g.size()); t-- > 0;)
            for (std::uint32_t s : g.successors[t]) {
                // Nothing but kernels counts here, and only on the lane: enough to cut, too simple to be wrong.
                const bool kernel = g.kind[s] == stretto::op_kind::compute;
                tail_[t] = std::max(tail_[t], tail_[s] + (kernel ? g.duration[s].count : 0));
            }
    }

    /// The shortest step within the limit, or INT64_MAX if no order stays within it.
    std::int64_t run() {
        visit(0, 0, 0);
        return best_;
    }

private:
    bool done(std::uint32_t mask, std::uint32_t t) const { return (mask >> t) & 1; }
    std::uint32_t all() const { return g_.size() == 32 ? UINT32_MAX : (std::uint32_t{1} << g_.size()) - 1; }

    std::int64_t allocates(std::uint32_t t) const {
        std::int64_t bytes = 0;
        if (g_.kind[t] != stretto::op_kind::input)
            for (std::uint32_t x = g_.first_result[t]; x < g_.first_result[t + 1]; ++x) bytes += g_.allocation[x].count;
        return bytes;
    }

    void visit(std::uint32_t mask, std::int64_t lane, std::int64_t live) {
        std::int64_t latest = lane + lane_left_;
        for (std::int64_t f : free_) latest = std::max(latest, f);
        if (latest >= best_) return;
        if (mask == all()) {
            best_ = latest;
            return;
        }
        for (std::uint32_t t = 0; t < g_.size(); ++t)
            if (ready(mask, t) && costs_nothing(t, lane)) return run_one(mask, lane, live, t);
        for (std::uint32_t t = 0; t < g_.size(); ++t)
            if (ready(mask, t)) run_one(mask, lane, live, t);
    }

    bool ready(std::uint32_t mask, std::uint32_t t) const { return !done(mask, t) && (before_[t] & ~mask) == 0; }

    bool costs_nothing(std::uint32_t t, std::int64_t lane) const {
        using stretto::op_kind;
        if (g_.kind[t] == op_kind::compute || g_.kind[t] == op_kind::start || allocates(t) > 0) return false;
        return g_.launch[t] == stretto::no_task || end_[g_.launch[t]] <= lane;
    }

    void run_one(std::uint32_t mask, std::int64_t lane, std::int64_t live, std::uint32_t t) {
        using stretto::op_kind;
        live += allocates(t);
        if (live > limit_) return;
        mask |= std::uint32_t{1} << t;
        for (std::uint32_t s : g_.touched[t])
            if ((storage_users_[s] & ~mask) == 0) live -= g_.allocation[s].count;
        const std::int64_t work = g_.duration[t].count;
        if (g_.kind[t] == op_kind::compute) {
            lane_left_ -= work;
            if (lane + work + tail_[t] < best_) visit(mask, lane + work, live);
            lane_left_ += work;
        } else if (g_.kind[t] == op_kind::start) {
            std::int64_t& free = free_[g_.group[t]];
            const std::int64_t was = free;
            end_[t] = free = std::max(lane, free) + work;
            visit(mask, lane, live);
            free = was;
        } else {
            const bool waits = g_.launch[t] != stretto::no_task;
            visit(mask, waits ? std::max(lane, end_[g_.launch[t]]) : lane, live);
        }
    }

    const stretto::task_graph& g_;
    std::int64_t limit_;
    std::vector<std::int64_t> free_, end_, tail_;
    std::vector<std::uint32_t> storage_users_, before_;
    std::int64_t lane_left_ = 0;
    std::int64_t best_ = INT64_MAX;
};

}  // namespace

std::int64_t optimal_makespan(const stretto::task_graph& g, std::int64_t limit) {
    return exhaustive_search(g, limit).run();
}

task_order random_order(const stretto::task_graph& g, const std::vector<std::uint8_t>& picks) {
    task_order order, ready;
    std::vector<std::size_t> unmet(g.size());
    for (std::uint32_t t = 0; t < g.size(); ++t)
        if ((unmet[t] = g.predecessors[t].size()) == 0) ready.push_back(t);
    while (!ready.empty()) {
        const std::size_t k = picks.empty() ? 0 : picks[order.size() % picks.size()] % ready.size();
        const std::uint32_t t = ready[k];
        ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(k));
        order.push_back(t);
        for (std::uint32_t s : g.successors[t])
            if (--unmet[s] == 0) ready.push_back(s);
    }
    return order;
}

toy_program scheduling_case::program() const {
    program_options options;
    options.groups = 1 + flavour % 4u;
    options.unwaited_starts = (flavour & 4) != 0;
    toy_program p = (flavour & 128) ? spine_program(genes) : decode_program(genes, options);
    const unsigned times = (flavour >> 3) % 4u;
    for (toy_op& op : p.ops) {
        std::int64_t& ns = op.duration.count;
        if (times == 1) ns = ns / 10 % 4;             // ties and zeros
        if (times == 2) ns = ns / 10 * (ns / 10);     // few long ones dominate
        if (times == 3) ns = ns % 70 == 0 ? 0 : 100;  // all alike
    }
    // Without tensors of no bytes, no write escapes notice.
    if (flavour & 32)
        for (toy_op& op : p.ops)
            for (toy_result& r : op.results)
                if (op.kind != stretto::op_kind::view && op.kind != stretto::op_kind::wait && r.aliases.empty())
                    r.size.count = std::max<std::int64_t>(r.size.count, 1);
    // Rare in practice, but not forbidden: a wait or a view that allocates.
    if (flavour & 64)
        for (toy_op& op : p.ops)
            if ((op.kind == stretto::op_kind::wait || op.kind == stretto::op_kind::view) && !op.results.empty() &&
                !op.results[0].aliases.empty())
                op.results[0].size.count += 48;
    return p;
}

stretto::bytes scheduling_case::limit(stretto::bytes peak) const {
    switch (slack % 4) {
        case 0:
            return peak;
        case 1:
            return {peak.count + slack * 8};
        case 2:
            return {peak.count + peak.count * slack / 128};
        default:
            return stretto::unlimited_bytes;
    }
}

std::ostream& operator<<(std::ostream& out, const scheduling_case& c) {
    return out << "flavour " << int{c.flavour} << ", slack " << int{c.slack} << ", " << c.program();
}

namespace {

rc::Seq<scheduling_case> shrink_case(const scheduling_case& c) {
    const auto with_genes = [c](std::vector<gene>&& genes) {
        return scheduling_case{std::move(genes), c.flavour, c.slack};
    };
    const auto lower = [](std::uint8_t x) { return rc::shrink::towards<std::uint8_t>(x, 0); };
    const auto lower_gene = [lower](const gene& g) { return rc::shrink::eachElement(g, lower); };
    return rc::seq::concat(
        rc::seq::map(rc::shrink::removeChunks(c.genes), with_genes),
        rc::seq::map(lower(c.flavour), [c](std::uint8_t x) { return scheduling_case{c.genes, x, c.slack}; }),
        rc::seq::map(lower(c.slack), [c](std::uint8_t x) { return scheduling_case{c.genes, c.flavour, x}; }),
        rc::seq::map(rc::shrink::eachElement(c.genes, lower_gene), with_genes));
}

}  // namespace

rc::Gen<scheduling_case> scheduling_cases(std::size_t max_genes) {
    return rc::Gen<scheduling_case>([max_genes](const rc::Random& random, int size) {
        rc::Random source = random;
        std::uint64_t state = source.next();
        const auto draw = [&state] {
            state += 0x9e3779b97f4a7c15u;
            std::uint64_t z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
            z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
            return z ^ (z >> 31);
        };
        scheduling_case c;
        const std::size_t most = 1 + max_genes * static_cast<std::size_t>(size) / 100;
        c.genes.resize(1 + static_cast<std::size_t>(draw() % most));
        for (gene& g : c.genes) {
            const std::uint64_t bits = draw();
            for (std::size_t k = 0; k < g.size(); ++k) g[k] = static_cast<std::uint8_t>(bits >> (8 * k));
        }
        c.flavour = static_cast<std::uint8_t>(draw());
        c.slack = static_cast<std::uint8_t>(draw());
        return rc::shrinkable::shrinkRecur(std::move(c), &shrink_case);
    });
}

}  // namespace support

template class rc::Gen<support::scheduling_case>;
