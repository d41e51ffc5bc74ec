#include "stretto/testing/run_conformance.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/testing/archetypes.hpp"
#include "stretto/testing/model_archetypes.hpp"
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
    // What the chunk model never accepted, it never had to prove: these should be the ones that cannot be chunked.
    REQUIRE(c.unaccepted.size() == 2);
    CHECK(c.unaccepted[1].why == "a row depends on all before it");  // the running sum
}
// [/run-conformance]

TEST_CASE_TEMPLATE("every toy IR conforms, and says what it was built from", IR, STRETTO_TOY_IRS) {
    stretto_check("run_conformance and the way back", 40, [] {
        const support::toy_program p = *support::random_programs({.unwaited_starts = true});
        const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
        conformance_options options;
        options.rewriter.most = 4;
        const conformance c = run_conformance([&] { return IR(p, seed); }, options);
        if (c.failed()) RC_FAIL(c.text());
        // A program without operations proves nothing, and one of inputs alone nothing of its model.
        const bool works = std::any_of(p.ops.begin(), p.ops.end(), [](const support::toy_op& o) {
            return o.kind != op_kind::input && o.kind != op_kind::output;
        });
        RC_ASSERT(c.passed("view") == !p.ops.empty());
        RC_ASSERT(c.passed("op model") == works);
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
    CHECK(c.text().find("skipped   tensor model: there is no tensors()\n") != std::string::npos);
    CHECK(c.text().find("skipped   rewriter: an IR was given, not what makes one\n") != std::string::npos);
}

TEST_CASE("a rewriter of a program without values is skipped, not a mistake of the compiler") {
    struct valueless_ir {
        archetypes::dependence view() const { return archetypes::dependence(0); }
        archetypes::kinds model() const { return archetypes::kinds(0); }
        int rewriter() const { return 0; }
    };
    const conformance c = run_conformance([] { return valueless_ir{}; });
    CHECK(c.passed("view"));
    CHECK(c.text().find("skipped   rewriter: model() and rewriter() are not both there, or the view is no "
                        "dataflow_graph\n") != std::string::npos);
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

/// Forgets that clones are cheaper.
struct dear_ir : priced_ir {
    struct dear_model : support::priced_row_model {
        nanoseconds duration(support::row_op* v) const {
            const nanoseconds own = priced_row_model::duration(v);
            return {own.count == 0 ? 0 : 60 * 12};
        }
    };
    dear_model model() const { return {}; }
    auto part_costs() { return share_costs<support::row_view, dear_model, sizes>(view(), {}, {{}, 8}, {{0}, 1e12}); }
};

/// Computes nothing.
struct silent_ir : support::row_ir {
    std::vector<host_value> evaluate(support::row_op*, std::span<const host_value>) const { return {}; }
};
/// Has no evaluate at all.
struct mute_ir {
    support::row_ir ir;
    auto view() { return ir.view(); }
    auto model() const { return ir.model(); }
    auto chunks() const { return ir.chunks(); }
    auto rewriter() { return ir.rewriter(); }
    void changed() { ir.changed(); }
};
/// Accepts nothing.
struct shy_ir : priced_ir {
    struct shy_model : support::row_chunk_model {
        chunk_verdict combine_rule(support::row_op*, std::int64_t, std::span<const chunk_state>,
                                   std::span<chunk_state>) const {
            return {false, "rather not"};
        }
    };
    shy_model chunks() const { return {}; }
};

template <class IR>
std::string failure() {
    const conformance c = run_conformance([] { return IR{{support::every_row_operation()}}; });
    return c ? "none" : c.checks.back().name + ": " + c.first.rule;
}
/// The names of the checks that prove nothing, in their order.
template <class IR>
std::string unproved() {
    const conformance c = run_conformance([] { return IR{{support::every_row_operation()}}; });
    CHECK_FALSE(c.failed());
    CHECK_FALSE(c);
    CHECK(std::string(c.first.rule) == "unproved");
    std::string names;
    for (const std::string& each : c.unproved()) {
        CHECK(c.text().find("UNPROVED  " + each + "\n") != std::string::npos);
        names += (names.empty() ? "" : ", ") + each.substr(0, each.find(':'));
    }
    return names;
}

}  // namespace

TEST_CASE("what parts cost is checked where an IR says it") {
    const conformance c = run_conformance([] { return priced_ir{{support::every_row_operation()}}; });
    CHECK_MESSAGE(c, c.text());
    CHECK(c.passed("part costs"));
    CHECK(c.passed("applied costs"));
    CHECK(failure<support::row_ir>() == "none");
}

TEST_CASE("the first failure ends it") {
    CHECK(failure<forgetful_ir>() == "view: consumer");
    CHECK(failure<careless_ir>() == "chunk model: states");
    CHECK(failure<quick_ir>() == "part costs: whole-duration");
    CHECK(failure<scaling_ir>() == "rewriter: value");
    CHECK(failure<dear_ir>() == "applied costs: clone-duration");
}

TEST_CASE("a check that has nothing to compare is not passed, and says why") {
    CHECK(unproved<silent_ir>() == "chunk model, rewriter, chunks applied");
    CHECK(unproved<mute_ir>() == "rewriter, chunks applied");  // there is no evaluate to check the chunk model by
    CHECK(unproved<shy_ir>() == "chunk model, part costs, chunks applied, applied costs");
    const conformance none = run_conformance([] { return support::row_ir{}; });
    CHECK(none.first.message() == "unproved: the program has no operation; view");
    CHECK_FALSE(none);
    CHECK_FALSE(none.failed());
    CHECK_FALSE(none.passed("view"));
}

TEST_CASE("what the chunk model never accepted is listed, with the reason") {
    const conformance c = run_conformance([] { return support::row_ir{support::every_row_operation()}; });
    REQUIRE(c.unaccepted.size() == 2);
    CHECK(c.unaccepted[0].vertex == 9);
    CHECK(c.unaccepted[0].why == "is a total already");
    CHECK(c.unaccepted[1].vertex == 14);
    CHECK(c.text().find("unaccepted  vertex 14: a row depends on all before it\n") != std::string::npos);

    const conformance silent = run_conformance([] { return silent_ir{{support::every_row_operation()}}; });
    CHECK(silent.unaccepted.size() == 16);  // all but inputs and the output
    CHECK(silent.unaccepted[0].why == "accepted, but evaluate does not compute it, whole and in parts");
    CHECK(run_conformance([] { return shy_ir{{{support::every_row_operation()}}}; }).unaccepted[3].why == "rather not");

    conformance_options small;
    small.chunk_model.most_elements = 4;
    const conformance few = run_conformance([] { return support::row_ir{support::every_row_operation()}; }, small);
    CHECK(few.unaccepted[0].why == "it reads or makes a value of too many elements to be computed");
}
