#include "stretto/testing/run_conformance.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/tune/part_costs.hpp"
#include "support/checked_row_ir.hpp"
#include "support/priced_rows.hpp"
#include "support/prop.hpp"
#include "support/random_program.hpp"
#include "support/toy_irs.hpp"

using namespace stretto;

// [run-conformance]
TEST_CASE("my IR satisfies everything") {
    const stretto::conformance c =
        stretto::run_conformance([] { return support::row_ir{support::every_row_operation()}; });
    INFO(c.text());
    CHECK_MESSAGE(c, c.first.message());
    CHECK(c.passed("view"));
    CHECK(c.passed("op model"));
    CHECK(c.passed("chunk model"));
    CHECK(c.passed("rewriter"));
    CHECK(c.passed("chunks applied"));
}
// [/run-conformance]

TEST_CASE_TEMPLATE("every toy IR conforms, and says what it was built from", IR, STRETTO_TOY_IRS) {
    stretto_check("run_conformance and the way back", 40, [] {
        const support::toy_program p = *support::random_programs({.unwaited_starts = true});
        const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
        conformance_options options;
        options.rewriter.most = 4;
        const conformance c = run_conformance([&] { return IR(p, seed); }, options);
        if (!c) RC_FAIL(c.text());
        RC_ASSERT(c.passed("view"));
        RC_ASSERT(c.passed("op model"));
        RC_ASSERT(!c.passed("chunk model"));
        IR ir(p, seed);
        RC_ASSERT(support::read_back(ir.view(), ir.model(), p.groups) == p);
        const auto graph = check_graph(ir.view());
        std::size_t edges = 0, values = 0;
        for (const support::toy_op& op : p.ops) {
            edges += op.operands.size();
            values += op.results.size();
        }
        RC_ASSERT(*graph == (graph_summary{p.ops.size(), edges, values}));
    });
}

TEST_CASE("what is skipped says why") {
    support::row_ir ir{support::every_row_operation()};
    const conformance c = run_conformance(ir);
    CHECK(c);
    CHECK(c.passed("chunk model"));
    CHECK(c.text().find("skipped  tensor model: there is no tensors()\n") != std::string::npos);
    CHECK(c.text().find("skipped  rewriter: an IR was given, not what makes one\n") != std::string::npos);
}

namespace {

struct forgetful_ir : support::row_ir {
    struct lost : support::row_view {
        std::vector<support::row_op*> consumers(support::row_op*) const { return {}; }
    };
    lost view() { return {{&p}}; }
};

struct model_that_refuses_nothing : support::row_chunk_model {
    chunk_verdict combine_rule(support::row_op*, std::int64_t, std::span<const chunk_state> in,
                               std::span<chunk_state> out) const {
        out[0] = in[0];
        return {};
    }
};
struct careless_ir : support::row_ir {
    model_that_refuses_nothing chunks() const { return {}; }
};

/// Scales what it concatenates.
struct scaling_rewriter : support::row_rewriter {
    support::row_op* concat(std::span<support::row_op* const> parts, std::size_t dim) {
        support::row_op* made = row_rewriter::concat(parts, dim);
        return make(support::row_op::does::scale, {made}, made->rows, made->number);
    }
};
struct scaling_ir : support::row_ir {
    scaling_rewriter rewriter() { return {{&p, p.ops.end()}}; }
};

/// Says what parts cost: shares of the whole, or in microseconds.
struct priced_ir : support::row_ir {
    using sizes = extent_sizes<support::row_view, support::row_chunk_model>;
    support::priced_row_model model() const { return {}; }
    auto part_costs() {
        return share_costs<support::row_view, support::priced_row_model, sizes>(view(), {}, {{}, 8}, {{20}, 1e12});
    }
};
struct quick_ir : priced_ir {
    struct quick : decltype(std::declval<priced_ir&>().part_costs()){
                       clone_cost of_clone(support::row_op * v, const chunk_part& part, std::span<bytes> allocated)
                           const {clone_cost cost = share_costs::of_clone(v, part, allocated);
    cost.duration.count /= 1000;
    return cost;
}
};  // namespace
quick part_costs() { return {priced_ir::part_costs()}; }
}
;

template <class IR>
std::string failure() {
    const conformance c = run_conformance([] { return IR{{support::every_row_operation()}}; });
    return c ? "none" : c.checks.back().name + ": " + c.first.rule;
}

}  // namespace

TEST_CASE("what parts cost is checked where an IR says it") {
    const conformance c = run_conformance([] { return priced_ir{{support::every_row_operation()}}; });
    CHECK_MESSAGE(c, c.text());
    CHECK(c.passed("part costs"));
    CHECK(failure<support::row_ir>() == "none");
}

TEST_CASE("the first failure ends it") {
    CHECK(failure<forgetful_ir>() == "view: consumer");
    CHECK(failure<careless_ir>() == "chunk model: states");
    CHECK(failure<quick_ir>() == "part costs: whole-duration");
    CHECK(failure<scaling_ir>() == "rewriter: value");
}
