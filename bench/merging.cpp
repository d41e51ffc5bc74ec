// Measures bucketing of the collectives of synthetic training steps of a thousand to a million nodes on an
// incremental_reachability: every collective tries the next collectives of its kind and group in program order, until
// its bucket is full. There are four figures: an accepted merge, a refused one, a question asked in between, and all of
// them together.
//
// The rivals answer the same questions in the same run, on sizes where they come to an end, and must arrive at the same
// buckets: a search backwards through sets of merged nodes, as PyTorch's bucketer does it; and Boost.Graph, with the
// contracted graph rebuilt after every merge. The floors are one longest-path sweep over the graph, and looking up the
// ends of a refusal.

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "stretto/analysis/incremental_reachability.hpp"
#include "stretto/views/snapshot.hpp"
#include "support/arguments.hpp"
#include "support/graph_families.hpp"
#include "support/measure.hpp"
#include "support/synthetic_step.hpp"

namespace {

using id = std::uint32_t;
using ends = stretto::collective_ends<id>;
using overlay = stretto::incremental_reachability<stretto::snapshot_view>;

constexpr std::size_t bucket_size = 8, candidates = 16;

struct step {
    bench::synthetic_step nodes;
    stretto::snapshot<bench::synthetic_view> copy;
    std::vector<std::vector<ends>> kinds;  // collectives by kind and group, in program order

    explicit step(id size) : nodes(bench::make_synthetic_step(size)), copy(bench::synthetic_view{&nodes}), kinds(32) {
        for (id v = 0; v < nodes.size(); ++v) {
            if (nodes.kind[v] != stretto::op_kind::start) continue;
            const std::size_t kind = static_cast<std::size_t>(nodes.collective[v]) * 4 + nodes.group[v];
            for (id w : nodes.readers[v])
                if (nodes.kind[w] == stretto::op_kind::wait) kinds[kind].push_back({v, w});
        }
    }
};

struct attempt {
    ends bucket, candidate;
    bool accepted;
};

/// Calls `try_merge(bucket, candidate)` for whatever fits a bucket, and returns all attempts.
template <class TryMerge>
std::vector<attempt> fill_buckets(const step& s, TryMerge try_merge) {
    std::vector<attempt> all;
    for (const std::vector<ends>& collectives : s.kinds) {
        std::vector<bool> taken(collectives.size());
        for (std::size_t seed = 0; seed < collectives.size(); ++seed) {
            if (taken[seed]) continue;
            std::size_t members = 1;
            for (std::size_t k = seed + 1; k < std::min(collectives.size(), seed + 1 + candidates); ++k) {
                if (members == bucket_size) break;
                if (taken[k]) continue;
                const bool accepted = try_merge(collectives[seed], collectives[k]);
                all.push_back({collectives[seed], collectives[k], accepted});
                taken[k] = accepted;
                members += accepted;
            }
        }
    }
    return all;
}

/// The first rival: sets of merged nodes, and a search backwards from one to the other for every question.
class merge_sets {
public:
    explicit merge_sets(const step& s) : graph_(s.copy.view()), set_(graph_.index_bound()), members_(set_.size()) {
        for (id v = 0; v < set_.size(); ++v) {
            set_[v] = v;
            members_[v] = {v};
        }
    }
    bool try_merge(ends a, ends b) {
        if (has_path(a.wait, b.start) || has_path(b.wait, a.start)) return false;
        if (has_path(a.start, b.start) || has_path(b.start, a.start)) return false;
        if (has_path(a.wait, b.wait) || has_path(b.wait, a.wait)) return false;
        merge(a.start, b.start);
        merge(a.wait, b.wait);
        return true;
    }

private:
    bool has_path(id from, id to) {
        const id source = set_[from];
        std::unordered_set<id> visited{set_[to]};
        std::vector<id> open{set_[to]};
        while (!open.empty()) {
            const id at = open.back();
            open.pop_back();
            for (id v : members_[at])
                for (id u : graph_.predecessors(v)) {
                    if (set_[u] == source) return true;
                    if (visited.insert(set_[u]).second) open.push_back(set_[u]);
                }
        }
        return false;
    }
    void merge(id a, id b) {
        for (id v : members_[set_[b]]) members_[set_[a]].push_back(v);
        for (id v : std::exchange(members_[set_[b]], {})) set_[v] = set_[a];
    }

    stretto::snapshot_view graph_;
    std::vector<id> set_;
    std::vector<std::vector<id>> members_;
};

/// The second rival: the contracted graph as a Boost graph, made anew after every merge, and a search over it for every
/// question.
class rebuilt_graph {
public:
    explicit rebuilt_graph(const step& s) : base_(s.copy.view()), set_(base_.index_bound()) {
        for (id v = 0; v < set_.size(); ++v) set_[v] = v;
        rebuild();
    }
    bool try_merge(ends a, ends b) {
        for (auto [from, to] : {std::pair(a.wait, b.start), std::pair(b.wait, a.start), std::pair(a.start, b.start),
                                std::pair(b.start, a.start), std::pair(a.wait, b.wait), std::pair(b.wait, a.wait)})
            if (has_path(set_[from], set_[to])) return false;
        std::replace(set_.begin(), set_.end(), id(set_[b.start]), id(set_[a.start]));
        std::replace(set_.begin(), set_.end(), id(set_[b.wait]), id(set_[a.wait]));
        rebuild();
        return true;
    }

private:
    using graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;

    struct found {};
    struct finder : boost::default_bfs_visitor {
        id to;
        explicit finder(id v) : to(v) {}
        void discover_vertex(std::size_t v, const graph&) const {
            if (v == to) throw found();
        }
    };
    bool has_path(id from, id to) {
        try {
            boost::breadth_first_search(*graph_, from, boost::visitor(finder(to)));
        } catch (found) {
            return true;
        }
        return false;
    }
    void rebuild() {
        edges_.clear();
        for (id v = 0; v < set_.size(); ++v)
            for (id w : base_.successors(v))
                if (set_[v] != set_[w]) edges_.emplace_back(set_[v], set_[w]);
        graph_.emplace(edges_.begin(), edges_.end(), set_.size());
    }

    stretto::snapshot_view base_;
    std::vector<id> set_;
    std::vector<std::pair<id, id>> edges_;
    std::optional<graph> graph_;
};

struct figures {
    double build = 1e300, accept = 1e300, refuse = 1e300, loads = 1e300, ask = 1e300, mixed = 1e300, undo = 1e300;
};

void measure(id size, double seconds, bool rivals) {
    const step s(size);
    const auto order = stretto::topological_sort(s.copy.view());
    if (!order) std::abort();  // the generator writes in order

    std::vector<attempt> attempts;
    {
        overlay r(s.copy.view(), *order);
        attempts = fill_buckets(s, [&](ends a, ends b) { return r.try_merge_collectives(a, b).has_value(); });
    }
    std::vector<attempt> accepted, refused;
    for (const attempt& a : attempts) (a.accepted ? accepted : refused).push_back(a);
    // The floor of a refusal: the two ends of both collectives are looked up in the records of all vertices.
    struct alignas(32) record {
        id root;
    };
    std::vector<record> records(s.nodes.size());
    for (id v = 0; v < records.size(); ++v) records[v].root = v;

    // There are two questions for each attempt, in both directions between nodes some layers apart.
    std::vector<std::pair<id, id>> questions;
    std::uint64_t random = 1;
    for (const attempt& a : attempts)
        for (int k = 0; k < 2; ++k) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            const id u = a.candidate.start, v = (u + static_cast<id>(random >> 33) % 2000) % s.nodes.size();
            questions.emplace_back(k ? v : u, k ? u : v);
        }

    // What changes nothing can be done again and again, so that reading the clock does not count.
    const std::size_t repeats = 1 + 10'000 / (refused.size() + 1);
    figures least;
    const auto timed = [](double& least_so_far, auto work) {
        const double before = bench::thread_seconds();
        work();
        least_so_far = std::min(least_so_far, bench::thread_seconds() - before);
    };
    double sweep = 1e300, total = 0;
    std::vector<id> level(s.nodes.size());
    std::size_t reached = 0;
    for (int run = 0; run < 3 || total < seconds; ++run) {
        const double begin = bench::thread_seconds();
        timed(sweep, [&] { bench::keep(bench::sweep(s.copy.view(), level)); });
        {
            const double before = bench::thread_seconds();
            overlay r(s.copy.view(), *order);
            least.build = std::min(least.build, bench::thread_seconds() - before);
            const auto start = r.mark();
            for (int warm = 0; warm < 2; ++warm) {  // the second time with buffers that have grown
                double first = 0;
                timed(warm ? least.accept : first, [&] {
                    for (const attempt& a : accepted)
                        if (!r.try_merge_collectives(a.bucket, a.candidate)) std::abort();
                });
                if (warm) {
                    for (int again = 0; again < 2; ++again) {  // both then find in the caches what fits
                        timed(least.refuse, [&] {
                            for (std::size_t k = 0; k < repeats; ++k)
                                for (const attempt& a : refused)
                                    if (r.try_merge_collectives(a.bucket, a.candidate)) std::abort();
                        });
                        timed(least.loads, [&] {
                            for (std::size_t k = 0; k < repeats; ++k)
                                for (const auto& [bucket, candidate, _] : refused)
                                    reached += records[bucket.start].root + records[bucket.wait].root +
                                               records[candidate.start].root + records[candidate.wait].root;
                        });
                    }
                    timed(least.ask, [&] {
                        for (std::size_t k = 0; k < repeats; ++k)
                            for (auto [u, v] : questions) reached += r.reaches(u, v);
                    });
                }
                timed(warm ? least.undo : first, [&] { r.undo_to(start); });
            }
        }
        overlay r(s.copy.view(), *order);  // without marks, hence without history
        timed(least.mixed, [&] {
            std::size_t k = 0;
            for (const attempt& a : attempts) {
                if (r.try_merge_collectives(a.bucket, a.candidate).has_value() != a.accepted) std::abort();
                for (int q = 0; q < 2; ++q, ++k) reached += r.reaches(questions[k].first, questions[k].second);
            }
        });
        total += bench::thread_seconds() - begin;
    }
    bench::keep(reached);
    const auto each = [](double t, std::size_t n) { return n ? 1e9 * t / static_cast<double>(n) : 0.0; };
    const std::size_t nodes = s.nodes.size();
    std::printf("%8zu %8zu %8zu | %8.0f %8.1f %8.1f %8.0f %8.0f %8.0f | %7.1f %6.1f", nodes, accepted.size(),
                refused.size(), each(least.accept, accepted.size()), each(least.refuse, repeats * refused.size()),
                each(least.loads, repeats * refused.size()), each(least.ask, repeats * questions.size()),
                each(least.mixed, attempts.size()), each(least.undo, accepted.size()), each(least.build, nodes),
                each(sweep, nodes));
    if (rivals) {
        const double ours = each(least.mixed, attempts.size());
        const auto run = [&]<class Rival>(std::in_place_type_t<Rival>) {
            const double before = bench::thread_seconds();
            Rival rival(s);
            const std::vector<attempt> theirs = fill_buckets(s, [&](ends a, ends b) { return rival.try_merge(a, b); });
            const double taken = each(bench::thread_seconds() - before, attempts.size());
            for (std::size_t k = 0; k < attempts.size(); ++k)
                if (theirs.size() != attempts.size() || theirs[k].accepted != attempts[k].accepted) std::abort();
            std::printf(" | %9.1f %7.0fx", taken / 1000, taken / ours);
            std::fflush(stdout);
        };
        run(std::in_place_type<merge_sets>);
        run(std::in_place_type<rebuilt_graph>);
    }
    std::printf("\n");
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    auto [smoke, sizes] = bench::read_arguments(argc, argv, 100'000'000);
    if (sizes.empty()) sizes = smoke ? std::vector<id>{1000} : std::vector<id>{1000, 10'000, 100'000, 1'000'000};
    std::printf(
        "Buckets of %zu out of %zu candidates; ns each, least of several runs. `mixed`: an attempt and two questions,\n"
        "without history; the others with it. `loads`: looking up the four ends of a refusal, its floor. Building and "
        "sweep in\nns per node. Rivals in us per attempt, and over `mixed`.\n%8s %8s %8s | %8s %8s %8s %8s %8s %8s | "
        "%7s "
        "%6s | %9s %8s | %9s %8s\n",
        bucket_size, candidates, "nodes", "accepted", "refused", "accept", "refuse", "loads", "ask", "mixed", "undo",
        "build", "sweep", "sets", "ratio", "Boost", "ratio");
    for (id size : sizes) measure(size, smoke ? 0.01 : 1.0, size <= 10'000);
}
