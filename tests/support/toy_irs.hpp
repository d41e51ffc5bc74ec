// The four toy IRs as a type list. `TEST_CASE_TEMPLATE("name", IR, STRETTO_TOY_IRS)` runs a test on each of them:
//
//     IR ir(program);              // or IR ir(program, seed): another allocation order, the same program
//     ir.view()                    // dependence_graph and dataflow_graph
//     ir.model()                   // op_model with everything
//     ir.rewriter()                // linked_ir, shared_ir: all verbs on vertices; soa_ir: order
#ifndef STRETTO_TESTS_SUPPORT_TOY_IRS_HPP
#define STRETTO_TESTS_SUPPORT_TOY_IRS_HPP

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/linked_ir.hpp"
#include "support/matrix_ir.hpp"
#include "support/shared_ir.hpp"
#include "support/soa_ir.hpp"
#include "support/toy_program.hpp"

#define STRETTO_TOY_IRS support::linked_ir, support::soa_ir, support::shared_ir, support::matrix_ir

TYPE_TO_STRING(support::linked_ir);
TYPE_TO_STRING(support::soa_ir);
TYPE_TO_STRING(support::shared_ir);
TYPE_TO_STRING(support::matrix_ir);

namespace support {

/// Calls `f(ir)` for each toy IR, built from `p`: for properties, where one program is tried on all of them.
template <class F>
void for_each_toy_ir(const toy_program& p, F&& f, std::uint64_t allocation_seed = 0) {
    const auto run = [&]<class IR>(std::in_place_type_t<IR>) {
        IR ir(p, allocation_seed);
        f(ir);
    };
    const auto run_all = [&]<class... IRs>(std::in_place_type_t<IRs>... irs) { (run(irs), ...); };
    run_all(std::in_place_type<linked_ir>, std::in_place_type<soa_ir>, std::in_place_type<shared_ir>,
            std::in_place_type<matrix_ir>);
}

/// The position of every vertex in program order, by index.
template <stretto::dependence_graph G>
std::vector<std::uint32_t> positions_of(G g) {
    std::vector<std::uint32_t> position(g.index_bound(), UINT32_MAX);
    std::uint32_t n = 0;
    for (stretto::vertex_t<G> v : g.vertices()) position[g.index(v)] = n++;
    return position;
}

/// The vertices in program order.
template <stretto::vertex_list_graph G>
std::vector<stretto::vertex_t<G>> vertices_of(G g) {
    std::vector<stretto::vertex_t<G>> all;
    for (stretto::vertex_t<G> v : g.vertices()) all.push_back(v);
    return all;
}

/// What a view and its model say, as a program: the inverse of building a toy IR.
template <stretto::dependence_graph G, stretto::op_model<G> M>
toy_program read_back(G g, M model, std::uint32_t groups) {
    using namespace stretto;
    const std::vector<std::uint32_t> position = positions_of(g);
    const auto name = [&](value_t<G> x) {
        toy_value named{position[g.index(g.producer(x))], 0};
        for (value_t<G> y : g.results(g.producer(x))) {
            if (x == y) break;
            ++named.result;
        }
        return named;
    };
    toy_program p;
    p.groups = groups;
    for (vertex_t<G> v : g.vertices()) {
        toy_op op;
        op.kind = model.kind(v);
        op.collective = collective_of<G>(model, v);
        op.group = group_of<G>(model, v);
        op.duration = duration_of<G>(model, v);
        op.payload = payload_of<G>(model, v);
        for (value_t<G> x : g.operands(v)) op.operands.push_back(name(x));
        for (value_t<G> x : g.results(v)) {
            toy_result r;
            r.size = allocation_of<G>(model, x);
            for_each_alias<G>(model, x, [&](value_t<G> y) { r.aliases.push_back(name(y)); });
            op.results.push_back(std::move(r));
        }
        for_each_effect<G>(model, v, [&](value_t<G> y) { op.effects.push_back(name(y)); });
        p.ops.push_back(std::move(op));
    }
    return p;
}

}  // namespace support

#endif
