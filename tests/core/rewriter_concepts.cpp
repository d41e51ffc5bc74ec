#include "stretto/core/rewriter_concepts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "stretto/testing/check_graph.hpp"
#include "support/legality.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/shuffle.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;

namespace {

using view = support::soa::step_view;
using op = support::soa::op_id;
using value = support::soa::value_id;

struct cloner {
    void insert_before(op) {}
    std::vector<value> clone(op, std::span<const value>, const chunk_part&) { return {}; }
};
/// What chunks ask for, without slices.
struct chunker : cloner {
    void replace_uses(op, value, value) {}
    void erase(op) {}
    std::vector<value> split(value, std::size_t, std::span<const std::int64_t>) { return {}; }
    value concat(std::span<const value>, std::size_t) { return {}; }
    value sum(std::span<const value>) { return {}; }
};
struct slicing_chunker : chunker {
    value empty_like(value, value) { return {}; }
    value slice_write(value, value, std::size_t, std::span<const std::int64_t>, std::size_t) { return {}; }
};
/// Writes slices of another kind, which would pass for none.
struct half_a_slicer : chunker {
    value slice_write(value, value, std::size_t, std::size_t) { return {}; }
};
struct final_slicing_chunker final : slicing_chunker {};
struct final_half_a_slicer final : half_a_slicer {};
/// Could never write what it allocates.
struct final_allocator final : chunker {
    value empty_like(value, value) { return {}; }
};
struct slicer {
    std::vector<value> split(value, std::size_t, std::span<const std::int64_t>) { return {}; }
    value concat(std::span<const value>, std::size_t) { return {}; }
    value sum(std::span<const value>) { return {}; }
};
struct slice_writer {
    value empty_like(value, value) { return {}; }
    value slice_write(value, value, std::size_t, std::span<const std::int64_t>, std::size_t) { return {}; }
};
/// To be called after verbs that add or remove operations.
void renumber(auto& ir) {
    if constexpr (requires { ir.changed(); }) ir.changed();
}

}  // namespace

TEST_CASE("each concept asks for its own verbs") {
    static_assert(cloning_rewriter<cloner, view> && !slicing_rewriter<cloner, view>);
    static_assert(slicing_rewriter<slicer, view> && !cloning_rewriter<slicer, view>);
    static_assert(slice_writing_rewriter<slice_writer, view> && !slicing_rewriter<slice_writer, view>);
    static_assert(!slice_writing_rewriter<slicer, view>);
    static_assert(chunking_rewriter<chunker, view> && chunking_rewriter<slicing_chunker, view>);
    static_assert(!chunking_rewriter<half_a_slicer, view> && !chunking_rewriter<cloner, view>);
    static_assert(chunking_rewriter<final_slicing_chunker, view>);
    static_assert(!chunking_rewriter<final_half_a_slicer, view> && !chunking_rewriter<final_allocator, view>);
    using step = support::soa::step_rewriter;
    static_assert(ordering_rewriter<step, view>);
    static_assert(!cloning_rewriter<step, view> && !erasing_rewriter<step, view> && !use_rewriter<step, view>);
    CHECK(slicer{}.sum({}) == value{});
}

TEST_CASE_TEMPLATE("clone, replace_uses, erase: a second copy takes over", IR, support::linked_ir, support::shared_ir) {
    stretto_check("clone and erase", 60, [] {
        support::toy_program p = *support::random_programs();
        const auto pick = *rc::gen::arbitrary<std::uint8_t>();
        IR ir(p, 6);
        const auto g = ir.view();
        using V = vertex_t<std::remove_const_t<decltype(g)>>;
        using X = value_t<std::remove_const_t<decltype(g)>>;
        const std::vector<V> all = support::vertices_of(g);
        RC_PRE(!all.empty());
        const V v = all[pick % all.size()];
        std::vector<X> operands, results;
        for (X x : g.operands(v)) operands.push_back(x);
        for (X x : g.results(v)) results.push_back(x);

        auto rewriter = ir.rewriter();
        rewriter.insert_before(v);
        std::vector<X> copies;
        for (X x : rewriter.clone(v, std::span<const X>(operands), chunk_part{})) copies.push_back(x);
        renumber(ir);
        auto checked = check_graph(g);
        if (!checked) RC_FAIL(checked.error().message());
        RC_ASSERT(checked->vertices == all.size() + 1);

        // The clone stands before the original, reads the same, and serves the same readers.
        const std::vector<V> with_copy = support::vertices_of(g);
        RC_ASSERT(with_copy[pick % all.size() + 1] == v);
        RC_ASSERT(copies.size() == results.size());
        for (std::size_t k = 0; k < copies.size(); ++k)
            RC_ASSERT(g.producer(copies[k]) == with_copy[pick % all.size()]);
        for (V user : all)
            for (std::size_t k = 0; k < results.size(); ++k) rewriter.replace_uses(user, results[k], copies[k]);
        rewriter.erase(v);
        renumber(ir);
        checked = check_graph(g);
        if (!checked) RC_FAIL(checked.error().message());
        RC_ASSERT(support::read_back(g, ir.model(), p.groups) == p);
    });
}

TEST_CASE_TEMPLATE("move_before", IR, support::linked_ir, support::shared_ir, support::soa_ir) {
    stretto_check("reversing independent neighbours", 60, [] {
        support::toy_program p = *support::random_programs();
        const auto pick = *rc::gen::arbitrary<std::uint8_t>();
        RC_PRE(p.ops.size() >= 2u);
        const std::uint32_t i = static_cast<std::uint32_t>(pick % (p.ops.size() - 1));
        std::vector<std::uint32_t> swapped = support::shuffled(p.ops.size(), 0);
        std::swap(swapped[i], swapped[i + 1]);
        const bool legal = support::violation(p, swapped).empty();
        IR ir(p, 6);
        const auto all = support::vertices_of(ir.view());
        ir.rewriter().move_before(all[i + 1], all[i]);
        std::vector<std::size_t> order;
        for (auto v : support::vertices_of(ir.view()))
            order.push_back(static_cast<std::size_t>(std::find(all.begin(), all.end(), v) - all.begin()));
        RC_ASSERT(std::equal(order.begin(), order.end(), swapped.begin(), swapped.end()));
        renumber(ir);
        if (legal) RC_ASSERT(check_graph(ir.view()).has_value());
    });
}
