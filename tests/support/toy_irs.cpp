// How each toy IR is built from a program.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "support/linked_ir.hpp"
#include "support/matrix_ir.hpp"
#include "support/shared_ir.hpp"
#include "support/shuffle.hpp"
#include "support/soa_ir.hpp"
#include "support/toy_program.hpp"

namespace support {

linked::block_view linked_ir::fill(const toy_program& p, std::uint64_t allocation_seed) {
    block_.groups = p.groups;
    std::vector<linked::op*> ops(p.ops.size());
    for (std::uint32_t i : shuffled(p.ops.size(), allocation_seed)) ops[i] = new linked::op;
    const auto at = [&](toy_value x) { return &ops[x.op]->results[x.result]; };
    for (std::size_t i = 0; i < ops.size(); ++i) {
        linked::op& o = *ops[i];
        const toy_op& t = p.ops[i];
        o.kind = t.kind;
        o.collective = t.collective;
        o.group = t.group;
        o.duration = t.duration;
        o.payload = t.payload;
        for (toy_value x : t.operands) {
            o.operands.push_back(at(x));
            at(x)->users.push_back(&o);
        }
        o.results.resize(t.results.size());
        for (std::size_t k = 0; k < t.results.size(); ++k) {
            o.results[k].def = &o;
            o.results[k].size = t.results[k].size;
            for (toy_value x : t.results[k].aliases) o.results[k].aliases.push_back(at(x));
        }
        for (toy_value x : t.effects) o.effects.push_back(at(x));
        block_.insert_before(&o, &block_.head);
    }
    return linked::block_view{&block_};
}

soa_ir::soa_ir(const toy_program& p, std::uint64_t allocation_seed) {
    const std::size_t n = p.ops.size();
    const std::vector<std::uint32_t> id = shuffled(n, allocation_seed);
    step_.groups = p.groups;
    step_.kind.resize(n);
    step_.collective.resize(n);
    step_.group.resize(n);
    step_.nanoseconds.resize(n);
    step_.payload.resize(n);
    step_.operands.resize(n);
    step_.results.resize(n);
    step_.effects.resize(n);
    step_.successors.resize(n);
    step_.predecessors.resize(n);
    const auto at = [&](toy_value x) { return step_.results[id[x.op]][x.result]; };
    for (std::size_t i = 0; i < n; ++i) {
        const toy_op& t = p.ops[i];
        const std::size_t o = id[i];
        const auto op = static_cast<soa::op_id>(o);
        step_.order.push_back(op);
        step_.kind[o] = t.kind;
        step_.collective[o] = t.collective;
        step_.group[o] = t.group;
        step_.nanoseconds[o] = t.duration.count;
        step_.payload[o] = t.payload.count;
        for (toy_value x : t.operands) {
            step_.operands[o].push_back(at(x));
            step_.consumers[soa::at(at(x))].push_back(op);
            step_.predecessors[o].push_back(static_cast<soa::op_id>(id[x.op]));
            step_.successors[id[x.op]].push_back(op);
        }
        for (const toy_result& r : t.results) {
            step_.results[o].push_back(static_cast<soa::value_id>(step_.producer.size()));
            step_.producer.push_back(op);
            step_.consumers.emplace_back();
            step_.bytes.push_back(r.size.count);
            step_.aliases.emplace_back();
            for (toy_value x : r.aliases) step_.aliases.back().push_back(at(x));
        }
        for (toy_value x : t.effects) step_.effects[o].push_back(at(x));
    }
}

matrix_ir::matrix_ir(const toy_program& p, std::uint64_t allocation_seed) {
    const std::size_t n = p.ops.size();
    const std::vector<std::uint32_t> row = shuffled(n, allocation_seed);
    table_.reads.assign(n, std::vector<int>(n, 0));
    table_.ops.resize(n);
    const auto rename = [&](std::vector<toy_value>& values) {
        for (toy_value& x : values) x.op = row[x.op];
    };
    for (std::size_t i = 0; i < n; ++i) {
        toy_op op = p.ops[i];
        rename(op.operands);
        rename(op.effects);
        for (toy_result& r : op.results) rename(r.aliases);
        for (toy_value x : op.operands) ++table_.reads[x.op][row[i]];
        table_.order.push_back(static_cast<int>(row[i]));
        table_.ops[row[i]] = std::move(op);
    }
}

shared_ir::shared_ir(const toy_program& p, std::uint64_t allocation_seed) {
    graph_.groups = p.groups;
    graph_.next_id = p.ops.size();
    std::vector<std::shared_ptr<shared::node>> nodes(p.ops.size());
    for (std::uint32_t i : shuffled(p.ops.size(), allocation_seed)) nodes[i] = std::make_shared<shared::node>();
    const auto at = [&](toy_value x) { return shared::output{nodes[x.op].get(), x.result}; };
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        shared::node& n = *nodes[i];
        const toy_op& t = p.ops[i];
        n.id = i;
        n.kind = t.kind;
        n.collective = t.collective;
        n.group = t.group;
        n.duration = t.duration;
        n.payload = t.payload;
        for (toy_value x : t.operands) {
            n.inputs.push_back({nodes[x.op], x.result});
            nodes[x.op]->uses.push_back({nodes[i], x.result});
        }
        for (const toy_result& r : t.results) {
            n.outputs.push_back({r.size, {}});
            for (toy_value x : r.aliases) n.outputs.back().aliases.push_back(at(x));
        }
        for (toy_value x : t.effects) n.writes.push_back(at(x));
        if (n.kind == stretto::op_kind::wait) shared::graph_rewriter::relaunch(n);
        graph_.nodes.push_back(nodes[i]);
    }
}

}  // namespace support
