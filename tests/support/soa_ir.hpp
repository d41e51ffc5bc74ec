// Toy IR 2: a struct of arrays with 32-bit ids of two distinct types. Ids are dense but say nothing about program
// order, which is an array of its own. Adjacency is stored; a wait knows its start only through what it reads.
#ifndef STRETTO_TESTS_SUPPORT_SOA_IR_HPP
#define STRETTO_TESTS_SUPPORT_SOA_IR_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/core/rewriter_concepts.hpp"
#include "support/toy_program.hpp"

namespace support::soa {

enum class op_id : std::uint32_t {
};
enum class value_id : std::uint32_t {
};

constexpr std::size_t at(op_id o) { return static_cast<std::size_t>(o); }
constexpr std::size_t at(value_id x) { return static_cast<std::size_t>(x); }

struct step {
    std::vector<op_id> order;
    // By op_id.
    std::vector<stretto::op_kind> kind;
    std::vector<stretto::collective_kind> collective;
    std::vector<std::uint32_t> group;
    std::vector<std::int64_t> nanoseconds, payload;
    std::vector<std::vector<value_id>> operands, results, effects;
    std::vector<std::vector<op_id>> successors, predecessors;
    // By value_id.
    std::vector<op_id> producer;
    std::vector<std::vector<op_id>> consumers;
    std::vector<std::int64_t> bytes;
    std::vector<std::vector<value_id>> aliases;
    std::uint32_t groups = 0;
};

// [soa-view]
struct step_view {
    using vertex_type = op_id;
    using value_type = value_id;
    const step* s;

    const std::vector<op_id>& vertices() const { return s->order; }
    const std::vector<op_id>& successors(op_id o) const { return s->successors[at(o)]; }
    const std::vector<op_id>& predecessors(op_id o) const { return s->predecessors[at(o)]; }
    std::size_t index(op_id o) const { return at(o); }
    std::size_t index_bound() const { return s->kind.size(); }
    std::span<const value_id> operands(op_id o) const { return s->operands[at(o)]; }
    std::span<const value_id> results(op_id o) const { return s->results[at(o)]; }
    op_id producer(value_id x) const { return s->producer[at(x)]; }
    std::span<const op_id> consumers(value_id x) const { return s->consumers[at(x)]; }
};
// [/soa-view]

struct step_model {
    const step* s;

    stretto::op_kind kind(op_id o) const { return s->kind[at(o)]; }
    stretto::collective_kind collective(op_id o) const { return s->collective[at(o)]; }
    std::uint32_t group(op_id o) const { return s->group[at(o)]; }
    stretto::nanoseconds duration(op_id o) const { return {s->nanoseconds[at(o)]}; }
    stretto::bytes payload(op_id o) const { return {s->payload[at(o)]}; }
    stretto::bytes bytes_of(value_id x) const { return {s->bytes[at(x)]}; }
    std::span<const value_id> aliases(value_id x) const { return s->aliases[at(x)]; }
    std::span<const value_id> effects(op_id o) const { return s->effects[at(o)]; }
};

// [soa-rewriter]
/// Reorders; adding operations to so many arrays is left to other IRs.
struct step_rewriter {
    step* s;

    void move_before(op_id o, op_id where) {
        s->order.erase(std::find(s->order.begin(), s->order.end(), o));
        s->order.insert(std::find(s->order.begin(), s->order.end(), where), o);
    }
};
// [/soa-rewriter]

}  // namespace support::soa

namespace support {

class soa_ir {
public:
    explicit soa_ir(const toy_program& p, std::uint64_t allocation_seed = 0);

    soa::step_view view() const { return {&step_}; }
    soa::step_model model() const { return {&step_}; }
    soa::step_rewriter rewriter() { return {&step_}; }

private:
    soa::step step_;
};

static_assert(stretto::dependence_graph<soa::step_view> && stretto::dataflow_graph<soa::step_view>);
static_assert(stretto::ordering_rewriter<soa::step_rewriter, soa::step_view>);

}  // namespace support

#endif
