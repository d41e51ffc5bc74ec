#include "stretto/core/tensor_op_model.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/core/bucket_cost_model.hpp"
#include "stretto/core/op_model.hpp"
#include "support/prop.hpp"
#include "support/schedule_oracles.hpp"

using namespace stretto;
using support::program_view;
using support::toy_program;
using support::toy_value;

namespace {

/// The model of a program whose results all have `size` bytes: of what allocates nothing, that is how large it would
/// be.
struct model : tensor_op_model<model, program_view> {
    const toy_program* p;

    explicit model(const toy_program* of) : tensor_op_model(program_view{of}), p(of) {}
    op_kind kind(std::uint32_t v) const { return p->ops[v].kind; }
    collective_call call(std::uint32_t v) const {
        collective_call made;
        made.kind = p->ops[v].collective;
        return made;
    }
    bytes tensor_bytes(toy_value x) const { return p->ops[x.op].results[x.result].size; }
    std::size_t changes(std::uint32_t v) const { return p->ops[v].effects.size(); }
    nanoseconds measured(std::uint32_t v) const { return p->ops[v].duration; }
    nanoseconds of_merged(std::uint32_t, bytes sent) const { return {1'000 + sent.count}; }
    nanoseconds of_moving(bytes moved) const { return {10 * moved.count}; }
};
static_assert(op_model<model, program_view>);
static_assert(calling_op_model<model, program_view>);
static_assert(bucket_cost_model<model, program_view>);

/// The same, but for one member that the owner says itself.
struct sends_half : tensor_op_model<sends_half, program_view> {
    model m;

    explicit sends_half(const toy_program* of) : tensor_op_model(program_view{of}), m(of) {}
    op_kind kind(std::uint32_t v) const { return m.kind(v); }
    collective_call call(std::uint32_t v) const { return m.call(v); }
    bytes tensor_bytes(toy_value x) const { return m.tensor_bytes(x); }
    std::size_t changes(std::uint32_t v) const { return m.changes(v); }
    nanoseconds measured(std::uint32_t) const { return {}; }
    nanoseconds of_merged(std::uint32_t v, bytes sent) const { return m.of_merged(v, sent); }
    nanoseconds of_moving(bytes moved) const { return m.of_moving(moved); }
    bytes payload(std::uint32_t v) const { return {m.payload(v).count / 2}; }
};

/// An input; a kernel of it; its sum over ranks, which a wait and a view pass on; a kernel that changes the input by
/// it.
toy_program small_step() {
    toy_program p;
    p.ops.push_back({.kind = op_kind::input, .results = {{{64}, {}}}});
    p.ops.push_back({.operands = {{0, 0}}, .results = {{{32}, {}}, {{8}, {}}}});
    p.ops.push_back({.kind = op_kind::start,
                     .collective = collective_kind::all_reduce,
                     .operands = {{1, 1}, {1, 0}},
                     .results = {{{8}, {}}}});
    p.ops.push_back({.kind = op_kind::wait, .operands = {{2, 0}}, .results = {{{8}, {{2, 0}}}}});
    p.ops.push_back({.kind = op_kind::view, .operands = {{3, 0}}, .results = {{{4}, {{3, 0}}}, {{4}, {{3, 0}}}}});
    p.ops.push_back({.operands = {{0, 0}, {4, 1}}, .results = {{{64}, {{0, 0}}}}, .effects = {{0, 0}}});
    p.ops.push_back({.kind = op_kind::view});
    p.ops.push_back({.kind = op_kind::output, .operands = {{5, 0}}});
    return p;
}

}  // namespace

TEST_CASE("what lies elsewhere has no memory of its own, and shares that of the first operand") {
    const toy_program p = small_step();
    const model m(&p);
    for (std::uint32_t v = 0; v < p.ops.size(); ++v)
        for (std::uint32_t r = 0; r < p.ops[v].results.size(); ++r) {
            CAPTURE(v);
            const auto& result = p.ops[v].results[r];
            CHECK(m.aliases({v, r}) == result.aliases);
            CHECK(m.bytes_of({v, r}) == (result.aliases.empty() ? result.size : bytes{}));
        }
    for (std::uint32_t v = 0; v < p.ops.size(); ++v) CHECK(m.effects(v) == p.ops[v].effects);
}

TEST_CASE("costs are those that were measured, or those of the link and of the bytes that a kernel moves") {
    toy_program p = small_step();
    const model m(&p);
    CHECK(m.collective(2) == collective_kind::all_reduce);
    CHECK(m.payload(2).count == 8);
    CHECK(m.duration(0).count == 0);
    CHECK(m.duration(1).count == 10 * (64 + 32 + 8));
    CHECK(m.duration(2).count == 1'008);
    for (const std::uint32_t v : {3u, 4u, 6u, 7u}) CHECK(m.duration(v).count == 0);
    CHECK(m.duration(5).count == 10 * (64 + 4 + 64));
    for (auto& op : p.ops) op.duration = {7};
    for (std::uint32_t v = 0; v < p.ops.size(); ++v) CHECK(m.duration(v).count == (does_work(p.ops[v].kind) ? 7 : 0));
    CHECK(m.payload(6).count == 0);  // it reads nothing
}

TEST_CASE("what the owner says itself counts everywhere") {
    const toy_program p = small_step();
    const sends_half m(&p);
    CHECK(payload_of<program_view>(m, 2).count == 4);
    CHECK(m.duration(2).count == 1'004);
}

TEST_CASE("task graphs are those of a model that says everything itself") {
    stretto_check("inherited", 200, [](const std::vector<std::uint8_t>& bytes) {
        toy_program p;
        p.ops.push_back({.kind = op_kind::input, .results = {{{8}, {}}}});
        for (std::size_t k = 0; k + 1 < bytes.size(); k += 2) {
            const toy_value x{static_cast<std::uint32_t>(bytes[k + 1] % p.ops.size()), 0};
            const auto at = static_cast<std::uint32_t>(p.ops.size());
            const stretto::bytes size{8 * (1 + bytes[k] % 5)};
            switch (bytes[k] % 4) {
                case 0:
                    p.ops.push_back({.duration = {5}, .operands = {x}, .results = {{size, {}}}});
                    break;
                case 1:
                    p.ops.push_back({.kind = op_kind::view, .operands = {x}, .results = {{{0}, {x}}}});
                    break;
                case 2:
                    p.ops.push_back({.duration = {3}, .operands = {x}, .results = {{{0}, {x}}}, .effects = {x}});
                    break;
                default:
                    p.ops.push_back({.kind = op_kind::start,
                                     .collective = collective_kind::all_reduce,
                                     .duration = {9},
                                     .operands = {x},
                                     .results = {{size, {}}}});
                    p.ops.push_back({.kind = op_kind::wait, .operands = {{at, 0}}, .results = {{{0}, {{at, 0}}}}});
            }
        }
        const auto inherited = make_task_graph(program_view{&p}, model(&p));
        for (auto& op : p.ops)  // which is what the model takes for the payload
            if (op.kind == op_kind::start) op.payload = p.ops[op.operands[0].op].results[0].size;
        const auto said = make_task_graph(program_view{&p}, support::program_model{&p});
        RC_ASSERT(inherited.has_value());
        RC_ASSERT(said.has_value());
        RC_ASSERT(inherited->allocation == said->allocation);
        RC_ASSERT(inherited->duration == said->duration);
        RC_ASSERT(inherited->collective == said->collective);
        RC_ASSERT(inherited->payload == said->payload);
        for (task_id t = 0; t < said->size(); ++t) {
            RC_ASSERT(std::ranges::equal(inherited->writes[t], said->writes[t]));
            RC_ASSERT(std::ranges::equal(inherited->predecessors[t], said->predecessors[t]));
        }
        for (value_id x = 0; x < said->allocation.size(); ++x)
            RC_ASSERT(std::ranges::equal(inherited->storages[x], said->storages[x]));
    });
}
