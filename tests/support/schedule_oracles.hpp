// Oracles for everything that reorders a step: the clock, the memory rule, the rules of a legal order and the best
// order of a small graph, each written straight from its definition and without sharing a line with the library.
// Also a generator of scheduling problems that is fast enough for 10^5 of them.
#ifndef STRETTO_TESTS_SUPPORT_SCHEDULE_ORACLES_HPP
#define STRETTO_TESTS_SUPPORT_SCHEDULE_ORACLES_HPP

#ifdef STRETTO_CORE_CONFIG_HPP
#error "include support/schedule_oracles.hpp before the headers of the library"
#endif

#include <stdexcept>

namespace support {
[[noreturn]] inline void assertion_failed(const char* sentence) { throw std::logic_error(sentence); }
}  // namespace support

// A broken assertion of the library is a counterexample that shrinks, not the end of the process.
#define STRETTO_ASSERT(condition, sentence) ((condition) ? static_cast<void>(0) : ::support::assertion_failed(sentence))

#include <rapidcheck.h>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "stretto/schedule/task_graph.hpp"
#include "support/random_program.hpp"
#include "support/spine_program.hpp"
#include "support/toy_program.hpp"

namespace support {

using task_order = std::vector<std::uint32_t>;

task_order program_order(std::size_t n);

/// A program as its own view: vertices are positions. The cheapest way to a task graph.
struct program_view {
    struct numbers {
        struct iterator {
            std::uint32_t at;
            std::uint32_t operator*() const { return at; }
            iterator& operator++() { return ++at, *this; }
            bool operator!=(iterator other) const { return at != other.at; }
        };
        std::uint32_t count;
        iterator begin() const { return {0}; }
        iterator end() const { return {count}; }
    };
    using vertex_type = std::uint32_t;
    using value_type = toy_value;
    const toy_program* p;

    numbers vertices() const { return {static_cast<std::uint32_t>(p->ops.size())}; }
    std::vector<std::uint32_t> predecessors(std::uint32_t v) const {
        std::vector<std::uint32_t> all;
        for (toy_value x : p->ops[v].operands) all.push_back(x.op);
        return all;
    }
    std::vector<std::uint32_t> successors(std::uint32_t v) const {
        std::vector<std::uint32_t> all;
        for (std::uint32_t w = 0; w < p->ops.size(); ++w)
            for (toy_value x : p->ops[w].operands)
                if (x.op == v) all.push_back(w);
        return all;
    }
    std::size_t index(std::uint32_t v) const { return v; }
    std::size_t index_bound() const { return p->ops.size(); }
    const std::vector<toy_value>& operands(std::uint32_t v) const { return p->ops[v].operands; }
    std::vector<toy_value> results(std::uint32_t v) const {
        std::vector<toy_value> all;
        for (std::uint32_t r = 0; r < p->ops[v].results.size(); ++r) all.push_back({v, r});
        return all;
    }
    std::uint32_t producer(toy_value x) const { return x.op; }
    std::vector<std::uint32_t> consumers(toy_value x) const {
        std::vector<std::uint32_t> all;
        for (std::uint32_t w = 0; w < p->ops.size(); ++w)
            for (toy_value y : p->ops[w].operands)
                if (x == y) all.push_back(w);
        return all;
    }
};

struct program_model {
    const toy_program* p;

    stretto::op_kind kind(std::uint32_t v) const { return p->ops[v].kind; }
    stretto::nanoseconds duration(std::uint32_t v) const { return p->ops[v].duration; }
    stretto::collective_kind collective(std::uint32_t v) const { return p->ops[v].collective; }
    stretto::group_id group(std::uint32_t v) const { return p->ops[v].group; }
    stretto::bytes payload(std::uint32_t v) const { return p->ops[v].payload; }
    stretto::bytes bytes_of(toy_value x) const { return p->ops[x.op].results[x.result].size; }
    const std::vector<toy_value>& aliases(toy_value x) const { return p->ops[x.op].results[x.result].aliases; }
    const std::vector<toy_value>& effects(std::uint32_t v) const { return p->ops[v].effects; }
};

stretto::task_graph graph_of(const toy_program& p);

/// Which memory every operation reads, writes and returns. Storages are numbered by value; a value has one of its own
/// if it allocates anything or aliases nothing.
struct storage_facts {
    using set = std::vector<std::uint32_t>;   // ascending
    std::vector<set> reads, writes, results;  // by operation
    std::vector<set> of_value;                // by value
    std::vector<std::int64_t> size;           // by value
    std::vector<std::uint32_t> owner;         // by value: its operation
};

void unite(storage_facts::set& into, const storage_facts::set& other);

bool intersect(const storage_facts::set& a, const storage_facts::set& b);

storage_facts facts_of(const toy_program& p);

/// The storages that must be there while operation v runs: what it reads, writes and returns, and for a wait what
/// its collective reads.
storage_facts::set touched_by(const toy_program& p, const storage_facts& f, std::uint32_t v);

struct naive_figures {
    std::int64_t makespan = 0, exposed = 0, compute = 0, peak = 0;
    std::vector<std::int64_t> live;  // per position
};

/// The clock of a linear order and the bytes that live at each of its positions.
naive_figures figures_of(const toy_program& p, const storage_facts& f, const task_order& order);

/// Pairs (t, c): t runs while collective c is in flight, and reads what c writes or writes what c reads or writes.
std::vector<std::pair<std::uint32_t, std::uint32_t>> touches_in_flight(const toy_program& p, const storage_facts& f,
                                                                       const task_order& order);

/// Empty if `order` is a legal order of `p`, else the reason. Data in flight that program order itself touches is not
/// held against it.
std::string illegality(const toy_program& p, const storage_facts& f, const task_order& order);

/// The best step of any order that respects the dependences of `g` and needs no more than `limit` bytes.
std::int64_t optimal_makespan(const stretto::task_graph& g, std::int64_t limit = INT64_MAX);

/// An order that respects the dependences of `g`: the ready task that `picks` names goes next.
task_order random_order(const stretto::task_graph& g, const std::vector<std::uint8_t>& picks);

/// A program to schedule and the memory to do it in. Like a program it is decoded from small numbers, so it shrinks.
struct scheduling_case {
    std::vector<gene> genes;
    std::uint8_t flavour = 0;
    std::uint8_t slack = 0;

    toy_program program() const;

    /// From exactly the peak of the input order, over a little and a lot more, to no limit at all.
    stretto::bytes limit(stretto::bytes peak) const;

    friend std::ostream& operator<<(std::ostream& out, const scheduling_case& c);
};

/// For rapidcheck. Draws one random number per case and expands it, which makes a case in microseconds.
rc::Gen<scheduling_case> scheduling_cases(std::size_t max_genes);

}  // namespace support

// Drawing from a generator instantiates much of rapidcheck; once is enough.
extern template class rc::Gen<support::scheduling_case>;

#endif
