#include "stretto/aten/aten_chunk_model.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/aten/argument_spelling.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/transform/chunk_rules/row_orders.hpp"
#include "support/read_step.hpp"

using namespace stretto;
using kind = chunk_state::kind;

namespace {

using capture_chunks = aten_chunk_model<capture_view, capture_tensor_model>;

constexpr chunk_state whole{};
constexpr chunk_state sliced(std::int8_t dim, std::int64_t positions = 0) {
    return {kind::sliced, dim, positions, 0, 0};
}
constexpr chunk_state addend{kind::addend, -1, 0, 0, 0};

/// A program of a few operations, written as JSON nodes without the fields that chunking does not read.
struct program {
    explicit program(std::string nodes) : step(read(nodes)), tensors(*capture_tensors::read(step)) {}

    static capture read(const std::string& nodes) {
        auto parsed = support::parse_capture(
            R"({"format":"stretto-graph","version":1,"name":"p","groups":[{"name":"ep","size":2}],)"
            R"("costs":{"memory_bytes_per_second":1000000000,"launch_ns":1,"collectives":{}},"nodes":[)" +
                nodes + "]}",
            "p");
        REQUIRE_MESSAGE(parsed.has_value(), parsed.error().message());
        return *std::move(parsed);
    }
    [[nodiscard]] capture_chunks chunks() {
        return {capture_view{&step}, capture_tensor_model{&step, &tensors}, ledger};
    }

    /// The verdict on the last node, and the states of its results.
    chunk_verdict ask(std::int64_t tokens, std::vector<chunk_state> operands) {
        const auto v = static_cast<std::uint32_t>(step.size() - 1);
        results.assign(std::max<std::size_t>(1, tensors.components(v).size()), {});
        return chunks().combine_rule(v, tokens, operands, results);
    }
    /// Its arguments for a chunk, after `ask`; lists in brackets.
    std::string spelled(std::int64_t tokens, chunk_interval chunk, std::vector<chunk_state> operands) {
        argument_store store;
        const auto v = static_cast<std::uint32_t>(step.size() - 1);
        std::string text;
        for (const tensor_argument& a : chunks().local_arguments(v, tokens, chunk, operands, results, store).positional)
            text += (text.empty() ? "" : " ") + spell(a);
        return text;
    }
    static std::string spell(const tensor_argument& a) {
        if (a.what == tensor_argument::form::operand) return "%" + std::to_string(a.integer);
        if (a.what != tensor_argument::form::list) return std::to_string(a.integer);
        std::string text = "[";
        for (const tensor_argument& item : a.items) text += (text == "[" ? "" : " ") + spell(item);
        return text + "]";
    }

    row_orders ledger;
    capture step;
    capture_tensors tensors;
    std::vector<chunk_state> results;
};

std::string input(const std::string& name, const std::string& shape, const std::string& type = "f32") {
    return R"({"name":")" + name + R"(","op":"placeholder","kind":"input","inputs":[],"outputs":[)" +
           (shape == "number" ? "" : R"({"shape":)" + shape + R"(,"dtype":")" + type + R"("})") +
           R"(],"bytes":0,"ns":0},)";
}
std::string node(const std::string& op, const std::string& inputs, const std::string& args, const std::string& shape,
                 const std::string& type = "f32") {
    return R"({"name":"last","op":")" + op + R"(","kind":"compute","inputs":)" + inputs + R"(,"args":)" + args +
           R"(,"outputs":[)" + (shape == "number" ? "" : R"({"shape":)" + shape + R"(,"dtype":")" + type + R"("})") +
           R"(],"bytes":0,"ns":0})";
}

}  // namespace

TEST_CASE("rows of a product are those of its left factor") {
    program p(input("x", "[8,3]") + input("w", "[3,5]") + node("aten.mm.default", "[0,1]", R"(["%0","%1"])", "[8,5]"));
    CHECK(p.ask(8, {sliced(0), whole}).possible);
    CHECK(p.results[0] == sliced(0));
    CHECK(p.ask(3, {whole, sliced(0)}).wanted == 0);  // the contracted dimension of the other factor must be cut too
    CHECK(p.ask(3, {sliced(1), sliced(0)}).possible);
    CHECK(p.results[0] == addend);
    CHECK(p.ask(8, {addend, whole}).possible);
    CHECK(p.results[0] == addend);
    CHECK_FALSE(p.ask(8, {addend, addend}).possible);
}

TEST_CASE("what is not linear refuses sums, and says which operator it is") {
    program p(input("x", "[4]") + node("aten.exp.default", "[0]", R"(["%0"])", "[4]"));
    const chunk_verdict v = p.ask(4, {addend});
    CHECK_FALSE(v.possible);
    CHECK(v.reason == "aten.exp.default is not linear in an operand that is a sum over chunks");
    CHECK(p.ask(4, {sliced(0)}).possible);

    program square(input("x", "[4]") + node("aten.mul.Tensor", "[0]", R"(["%0","%0"])", "[4]"));
    CHECK_FALSE(square.ask(4, {addend}).possible);
    CHECK(square.ask(4, {sliced(0)}).possible);
    program once_more(input("x", "[4]") + node("aten.add.Tensor", "[0]", R"(["%0",1])", "[4]"));
    CHECK_FALSE(once_more.ask(4, {addend}).possible);
}

TEST_CASE("an operator without a rule is refused by name") {
    program p(input("x", "[4]") + node("aten.foo.default", "[0]", R"(["%0"])", "[4]"));
    const chunk_verdict v = p.ask(4, {sliced(0)});
    CHECK_FALSE(v.possible);
    CHECK(v.reason == "no rule for aten.foo.default");
}

TEST_CASE("softmax along the chunked dimension mixes rows of different chunks") {
    const std::string x = input("x", "[4,4]");
    program along(x + node("aten._softmax.default", "[0]", R"(["%0",0,false])", "[4,4]"));
    CHECK_FALSE(along.ask(4, {sliced(0)}).possible);
    program across(x + node("aten._softmax.default", "[0]", R"(["%0",-1,false])", "[4,4]"));
    CHECK(across.ask(4, {sliced(0)}).possible);
    CHECK(across.results[0] == sliced(0));
}

TEST_CASE("only reductions that are sums cross chunks") {
    const std::string x = input("x", "[4,6]");
    program sum(x + node("aten.sum.dim_IntList", "[0]", R"(["%0",[0]])", "[6]"));
    CHECK(sum.ask(4, {sliced(0)}).possible);
    CHECK(sum.results[0] == addend);
    program other(x + node("aten.sum.dim_IntList", "[0]", R"(["%0",[0]])", "[6]"));
    CHECK(other.ask(6, {sliced(1)}).possible);
    CHECK(other.results[0] == sliced(0));
    program mean(x + node("aten.mean.dim", "[0]", R"(["%0",[0]])", "[6]"));
    CHECK_FALSE(mean.ask(4, {sliced(0)}).possible);
    program most(x + node("aten.amax.default", "[0]", R"(["%0",[0]])", "[6]"));
    CHECK_FALSE(most.ask(4, {sliced(0)}).possible);
}

TEST_CASE("rows are merged with what is inside of them, and lie in blocks if merged with what is outside") {
    program fine(input("x", "[4,6,5]") + node("aten.view.default", "[0]", R"(["%0",[24,5]])", "[24,5]"));
    CHECK(fine.ask(4, {sliced(0)}).possible);
    CHECK(fine.results[0] == sliced(0));
    CHECK(fine.spelled(4, {1, 2}, {sliced(0)}) == "%0 [12 5]");
    CHECK(fine.ask(6, {sliced(1)}).possible);  // rows of different outer indices lie in blocks
    CHECK(fine.results[0].what == kind::permuted);
    CHECK(fine.spelled(6, {1, 2}, {sliced(1)}) == "%0 [-1 5]");
    program apart(input("x", "[24,5]") + node("aten.view.default", "[0]", R"(["%0",[4,6,5]])", "[4,6,5]"));
    CHECK(apart.ask(4, {sliced(0)}).possible);
    CHECK_FALSE(apart.ask(24, {sliced(0)}).possible);
}

TEST_CASE("extents are shared out once, and numbers of the chunk are left alone") {
    // An integer, a number that all chunks share, a number of the chunk, and -1.
    program literal(input("x", "[4,3]") + node("aten.view.default", "[0]", R"(["%0",[4,3]])", "[4,3]"));
    CHECK(literal.ask(4, {sliced(0)}).possible);
    CHECK(literal.spelled(4, {0, 1}, {sliced(0)}) == "%0 [1 3]");
    program number(input("x", "[8,3]") + input("n", "number") +
                   node("aten.view.default", "[0,1]", R"(["%0",["%1",3]])", "[8,3]"));
    CHECK(number.ask(4, {sliced(0), whole}).possible);
    CHECK(number.spelled(4, {0, 3}, {sliced(0), whole}) == "%0 [6 3]");
    const chunk_state two_a_token{kind::addend, -1, 2, 0, 0}, three_a_token{kind::addend, -1, 3, 0, 0};
    CHECK(number.ask(4, {sliced(0), two_a_token}).possible);
    CHECK(number.spelled(4, {0, 3}, {sliced(0), two_a_token}) == "%0 [%1 3]");
    CHECK_FALSE(number.ask(4, {sliced(0), three_a_token}).possible);
    program inferred(input("x", "[4,3]") + node("aten.view.default", "[0]", R"(["%0",[-1,3]])", "[4,3]"));
    CHECK(inferred.ask(4, {sliced(0)}).possible);
    CHECK(inferred.spelled(4, {0, 1}, {sliced(0)}) == "%0 [-1 3]");
    // new_zeros(x, [2n, 3]), written out, comes out as twice the share: not as the share of the share.
    program zeros(input("x", "[4,3]") + node("aten.new_zeros.default", "[0]", R"(["%0",[8,3]])", "[8,3]"));
    CHECK(zeros.ask(4, {sliced(0)}).possible);
    CHECK(zeros.results[0] == sliced(0));
    CHECK(zeros.spelled(4, {0, 2}, {sliced(0)}) == "%0 [4 3]");
}

TEST_CASE("reversed rows are in an order of their own, and reversed again in the tokens'") {
    program p(input("x", "[4,2]") + node("aten.flip.default", "[0]", R"(["%0",[0]])", "[4,2]"));
    CHECK(p.ask(4, {sliced(0)}).possible);
    const chunk_state reversed = p.results[0];
    CHECK(reversed.what == kind::permuted);
    CHECK(p.ask(4, {sliced(0)}).possible);
    CHECK(p.results[0] == reversed);
    CHECK(p.ask(4, {reversed}).possible);
    CHECK(p.results[0] == sliced(0));
    CHECK(p.ask(2, {sliced(1)}).possible);
    CHECK(p.results[0] == sliced(1));
}

TEST_CASE("tensors of a tuple that has other members are told apart by what they are") {
    const std::string tuple =
        R"({"name":"t","op":"placeholder","kind":"input","inputs":[],"outputs":[{"shape":[4,3],"dtype":"f32"},)"
        R"({"shape":[],"dtype":"i64"}],"bytes":0,"ns":0},)";
    program rows(tuple + node("getitem", "[0]", R"(["%0",0])", "[4,3]"));
    CHECK(rows.ask(4, {sliced(0), whole}).possible);
    CHECK(rows.results[0] == sliced(0));
    program seed(tuple + node("getitem", "[0]", R"(["%0",6])", "[]", "i64"));
    CHECK(seed.ask(4, {sliced(0), whole}).possible);
    CHECK(seed.results[0] == whole);
    program nothing(tuple + node("getitem", "[0]", R"(["%0",3])", "number"));
    CHECK(nothing.ask(4, {sliced(0), whole}).possible);
    program wrong(tuple + node("getitem", "[0]", R"(["%0",6])", "[7]"));
    CHECK_FALSE(wrong.ask(4, {sliced(0), whole}).possible);
}

TEST_CASE("a buffer that all chunks share may be added to, in a chain, and not be written otherwise") {
    program added(input("b", "[4]") + input("n", "[4]") + node("aten.add_.Tensor", "[0,1]", R"(["%0","%1"])", "[4]"));
    const chunk_verdict v = added.ask(4, {whole, addend});
    CHECK(v.possible);
    CHECK(v.chain);
    CHECK(added.results[0] == whole);
    CHECK_FALSE(added.ask(4, {whole, sliced(0)}).possible);
    CHECK(added.ask(4, {sliced(0), sliced(0)}).possible);
    program scaled(input("b", "[4]") + input("n", "[4]") + node("aten.mul_.Tensor", "[0,1]", R"(["%0","%1"])", "[4]"));
    CHECK_FALSE(scaled.ask(4, {whole, addend}).possible);
    program copied(input("b", "[4]") + input("n", "[4]") +
                   node("aten.copy_.default", "[0,1]", R"(["%0","%1"])", "[4]"));
    CHECK_FALSE(copied.ask(4, {whole, addend}).possible);
}

TEST_CASE("a sum taken from a number of the chunk is a sum") {
    program rest(input("x", "[1]", "i32") + input("n", "number") +
                 node("aten.rsub.Scalar", "[0,1]", R"(["%0","%1"])", "[1]", "i32"));
    CHECK(rest.ask(4, {addend, addend}).possible);
    CHECK(rest.results[0] == addend);
    CHECK_FALSE(rest.ask(4, {addend, whole}).possible);
    program scaled(input("x", "[1]", "i32") + input("n", "number") +
                   node("aten.mul.Tensor", "[0,1]", R"(["%0","%1"])", "[1]", "i32"));
    CHECK_FALSE(scaled.ask(4, {addend, addend}).possible);
}

TEST_CASE("counts that are floats become integers as sums") {
    const auto counted = [](const std::string& how, const std::string& args) {
        return input("x", "[8]") + R"({"name":"c","op":")" + how + R"(","kind":"compute","inputs":[0],"args":)" + args +
               R"(,"outputs":[{"shape":[4],"dtype":"f32"}],"bytes":0,"ns":0},)" +
               R"({"name":"r","op":"aten.reshape.default","kind":"view","inputs":[1],"args":["%0",[2,2]],)" +
               R"("outputs":[{"shape":[2,2],"dtype":"f32"}],"bytes":0,"ns":0},)" +
               node("aten._to_copy.default", "[2]", R"(["%0"],"kwargs":{"dtype":"i64"})", "[2,2]", "i64");
    };
    program counts(counted("aten.histc.default", R"(["%0",4,0,4])"));
    CHECK(counts.ask(8, {addend}).possible);
    CHECK(counts.results[0] == addend);
    program others(counted("aten.sum.dim_IntList", R"(["%0",[0]])"));
    CHECK_FALSE(others.ask(8, {addend}).possible);
}

TEST_CASE("numbers written where a permutation of as many says are its inverse") {
    const std::string sort =
        R"({"name":"s","op":"aten.sort.stable","kind":"compute","inputs":[0],"kwargs":{"stable":true},"outputs":[)"
        R"({"shape":[8],"dtype":"i64"},{"shape":[8],"dtype":"i64"}],"bytes":0,"ns":0},)";
    const std::string numbered = input("keys", "[8]", "i64") + input("order", "[8]", "i64") + input("n", "number") +
                                 input("base", "[8]", "i64") +
                                 R"({"name":"a","op":"aten.arange.default","kind":"compute","inputs":[2],"outputs":[)"
                                 R"({"shape":[8],"dtype":"i64"}],"bytes":0,"ns":0},)";
    program p(numbered + node("aten.scatter.src", "[3,1,4]", R"(["%0",0,"%1","%2"])", "[8]", "i64"));
    program sorter(input("keys", "[8]", "i64") + sort.substr(0, sort.size() - 1));
    REQUIRE(sorter.ask(4, {sliced(0)}).possible);
    p.ledger = sorter.ledger;
    const chunk_state order = sorter.results[1], numbers = sliced(0, 2);
    const chunk_state alike{kind::permuted, 0, 0, p.ledger.alike(p.ledger.rows_of(order.order)), 0};
    REQUIRE(p.ask(4, {alike, order, numbers}).possible);
    const chunk_state inverse = p.results[0];
    CHECK(inverse.what == kind::sliced);  // again in the order of the keys,
    CHECK(inverse.into == order.order);   // and numbers of sorted rows
    // Numbers of rows that are not as many, or not a permutation, are not inverted.
    CHECK_FALSE(p.ask(4, {alike, sliced(0, 2), numbers}).possible);
    CHECK_FALSE(p.ask(4, {alike, order, sliced(0)}).possible);
}

TEST_CASE("several indices side by side: one may number rows of the chunk") {
    const std::string operands = input("x", "[8,3]") + input("rows", "[8]", "i64") + input("columns", "[8]", "i64");
    program looked(operands + node("aten.index.Tensor", "[0,1,2]", R"(["%0",["%1","%2"]])", "[8]"));
    CHECK(looked.ask(4, {sliced(0), sliced(0, 2), sliced(0)}).possible);
    CHECK(looked.results[0] == sliced(0));
    CHECK_FALSE(looked.ask(4, {sliced(0), sliced(0), sliced(0)}).possible);
    const chunk_verdict v = looked.ask(4, {whole, sliced(0, 2), sliced(0)});
    CHECK(v.wanted == 0);
    CHECK(v.wanted_dim == 0);
    CHECK(looked.ask(4, {sliced(0), sliced(0, 2), whole}).wanted == 2);
    program table(operands + node("aten.index.Tensor", "[0,1,2]", R"(["%0",["%1","%2"]])", "[8]"));
    CHECK(table.ask(4, {whole, sliced(0), sliced(0)}).possible);
    program put(input("x", "[8,3]") + input("rows", "[8]", "i64") + input("columns", "[8]", "i64") + input("v", "[8]") +
                node("aten.index_put.default", "[0,1,2,3]", R"(["%0",["%1","%2"],"%3"])", "[8,3]"));
    CHECK(put.ask(4, {sliced(0), sliced(0, 2), sliced(0), sliced(0)}).possible);
    CHECK(put.results[0] == sliced(0));
    CHECK_FALSE(put.ask(4, {whole, sliced(0), sliced(0), sliced(0)}).possible);
}

TEST_CASE("rows known by their group alone go together with rows in these groups; those that have a place do not") {
    using origin = row_orders::origin;
    program sum(input("a", "[8]", "i64") + input("b", "[8]", "i64") +
                node("aten.add.Tensor", "[0,1]", R"(["%0","%1"])", "[8]", "i64"));
    row_orders& orders = sum.ledger;
    const std::uint32_t all = orders.name(origin::exchanged, 0, 0, {1});
    const std::uint32_t sorted = orders.name(origin::sorted, all, all, {2});
    const std::uint32_t runs = orders.name(origin::runs, 0, all, {3});
    const auto in = [](std::uint32_t order, kind what = kind::permuted) { return chunk_state{what, 0, 0, order, 0}; };
    CHECK_FALSE(sum.ask(4, {in(sorted), in(runs)}).possible);
    orders.note_groups(sorted, 7);
    orders.note_groups(runs, 7);
    for (const bool first : {false, true}) {
        REQUIRE(sum.ask(4, {in(first ? runs : sorted), in(first ? sorted : runs)}).possible);
        CHECK(sum.results[0] == in(sorted));
    }
    // Numbers of rows tell apart what is in one group, and so does what is looked up by them.
    REQUIRE(sum.ask(4, {in(runs), in(orders.alike(all), kind::opaque)}).possible);
    const std::uint32_t placed = sum.results[0].order;
    CHECK(placed != runs);
    program look(input("a", "[8]") + input("b", "[8]", "i64") +
                 node("aten.index.Tensor", "[0,1]", R"(["%0",["%1"]])", "[8]"));
    look.ledger = orders;
    for (const std::uint32_t by : {runs, placed}) {
        REQUIRE(look.ask(4, {in(all), in(by, kind::opaque)}).possible);
        CHECK(look.results[0] == in(placed));
    }
    REQUIRE(sum.ask(4, {in(placed), in(runs)}).possible);
    CHECK(sum.results[0] == in(placed));
    orders.note_groups(placed, 7);
    CHECK_FALSE(sum.ask(4, {in(sorted), in(placed)}).possible);  // in the same groups, but where in them?
    // Runs of no rows that are known before are the order of their rows, whatever was written there.
    const std::uint32_t own = orders.name(origin::runs, 0, 0, {4});
    const std::uint32_t own_sorted = orders.name(origin::sorted, own, own, {5});
    orders.note_groups(own, 7);
    orders.note_groups(own_sorted, 7);
    CHECK_FALSE(sum.ask(4, {in(own), in(own_sorted)}).possible);
}

TEST_CASE("counts that are put together without saying how have no groups that are known") {
    program p(input("counts", "[3]", "i64") + input("rest", "[1]", "i64") +
              R"({"name":"c","op":"aten.cat.default","kind":"compute","inputs":[0,1],"outputs":[)"
              R"({"shape":[4],"dtype":"i64"}],"bytes":0,"ns":0},)" +
              node("aten.repeat_interleave.Tensor", "[2]", R"(["%0"])", "[8]", "i64"));
    REQUIRE(p.ask(4, {addend}).possible);
    CHECK(p.results[0].what == kind::permuted);
}

TEST_CASE("collectives run once on sums; along their blocks, ranks join rows and part only what they have joined") {
    for (const char* op :
         {"_c10d_functional.all_reduce.default", "_c10d_functional.broadcast.default",
          "_c10d_functional.reduce_scatter_tensor.default", "_c10d_functional.all_gather_into_tensor.default"}) {
        const bool joins = std::string_view(op).find("gather") != std::string_view::npos;
        const bool parts = std::string_view(op).find("scatter") != std::string_view::npos;
        program p(input("x", "[4,4]") + node(op, "[0]", R"(["%0","sum",2,"ep"])",
                                             joins   ? "[8,4]"
                                             : parts ? "[2,4]"
                                                     : "[4,4]"));
        CHECK_FALSE(p.ask(4, {addend}).possible);
        CHECK(p.ask(4, {sliced(0)}).possible != parts);
        if (!parts) CHECK((p.results[0].what == kind::permuted) == joins);
        CHECK(p.ask(4, {sliced(1)}).possible);
    }
}

TEST_CASE("exchanges want rows in an order of their own") {
    program counts(input("x", "[4]", "i64") + node("_c10d_functional.all_to_all_single.default", "[0]",
                                                   R"(["%0",[2,2],[2,2],"ep"])", "[4]", "i64"));
    CHECK(counts.ask(4, {addend}).possible);
    CHECK(counts.results[0] == addend);
    CHECK_FALSE(counts.ask(4, {sliced(0)}).possible);
}

TEST_CASE("an exchange back, of the same amounts, restores the order") {
    program there(input("x", "[6,2]") + input("a", "number") + input("b", "number") + input("c", "number") +
                  input("d", "number") +
                  node("_c10d_functional.all_to_all_single.default", "[0,1,2,3,4]",
                       R"(["%0",["%1","%2"],["%3","%4"],"ep"])", "[6,2]"));
    program back(input("x", "[6,2]") + input("a", "number") + input("b", "number") + input("c", "number") +
                 input("d", "number") +
                 node("_c10d_functional.all_to_all_single.default", "[0,3,4,1,2]",
                      R"(["%0",["%1","%2"],["%3","%4"],"ep"])", "[6,2]"));
    row_orders& orders = there.ledger;
    const std::uint32_t by_expert = orders.name(row_orders::origin::sorted, orders.natural(3), orders.natural(3), {7});
    const chunk_state sorted{kind::permuted, 0, 0, by_expert, 0};
    CHECK(there.ask(2, {sorted, addend, addend, addend, addend}).possible);
    const chunk_state received = there.results[0];
    CHECK(received.what == kind::permuted);
    CHECK(received.order != by_expert);
    CHECK(there.ask(2, {sorted, addend, addend, addend, addend}).possible);
    CHECK(there.results[0] == received);  // asked again: the same order
    std::vector<chunk_state> states{received, addend, addend, addend, addend}, results(1);
    const aten_chunk_model shared(capture_view{&back.step}, capture_tensor_model{&back.step, &back.tensors}, orders);
    CHECK(shared.combine_rule(static_cast<std::uint32_t>(back.step.size() - 1), 2, states, results).possible);
    CHECK(results[0] == sorted);
}

namespace {

/// Carries states through a step, as a planner does: from `tokens`, each cut along dimension 0, through everything that
/// `takes_part`. What a rule wants to be cut is cut. Refusals by reason.
struct sweep {
    const capture& step;
    const capture_tensors& tensors;
    row_orders ledger;
    std::map<std::uint32_t, chunk_state> cut;
    std::map<std::string, int> refused;
    std::vector<std::vector<chunk_state>> states;
    std::size_t body = 0;

    template <class TakesPart>
    void run(std::int64_t tokens, TakesPart takes_part) {
        const capture_view view{&step};
        const capture_chunks model(view, capture_tensor_model{&step, &tensors}, ledger);
        for (bool again = true; again;) {
            again = false;
            refused.clear();
            body = 0;
            states.assign(step.size(), {});
            for (std::uint32_t v = 0; v < step.size() && !again; ++v) {
                states[v].assign(std::max<std::size_t>(1, model.components_of(v)), {});
                if (const auto found = cut.find(v); found != cut.end()) states[v][0] = found->second;
                if (!takes_part(v) || step.kind(v) == op_kind::input || step.kind(v) == op_kind::output) continue;
                std::vector<chunk_state> operands;
                std::vector<std::uint32_t> from;
                bool reached = false;
                for (std::uint32_t x : step.inputs(v))
                    for (const chunk_state& s : states[x]) {
                        operands.push_back(s);
                        from.push_back(x);
                        reached = reached || s.what != kind::whole;
                    }
                if (!reached) continue;
                ++body;
                const chunk_verdict verdict = model.combine_rule(v, tokens, operands, states[v]);
                if (verdict.possible) continue;
                for (chunk_state& s : states[v]) s = {};
                if (verdict.wanted >= 0) {
                    const std::uint32_t x = from[static_cast<std::size_t>(verdict.wanted)];
                    again = cut.emplace(x, sliced(verdict.wanted_dim)).second;
                }
                if (!again) ++refused[std::string(verdict.reason)];
            }
        }
    }
};

std::map<std::string, int> only_reductions(int count) {
    if (count == 0) return {};
    return {
        {"_c10d_functional.reduce_scatter_tensor.default is a collective that would run once a chunk; concatenate or "
         "sum the chunks before it",
         count}};
}

std::string file_of(const char* variable, const char* name) {
    const char* folder = std::getenv(variable);
    const std::string path = folder == nullptr ? "" : std::string(folder) + "/" + name;
    if (folder == nullptr || !std::filesystem::exists(path)) {
        MESSAGE("skipped: there is no " << name);
        return {};
    }
    return path;
}

std::string_view text_of(const capture& step, std::uint32_t v, const char* key) {
    const auto text = step.field(v, key);
    return text && text->size() > 1 ? text->substr(1, text->size() - 2) : std::string_view();
}

}  // namespace

TEST_CASE("a whole step runs in chunks of its batch, up to the reductions of its gradients") {
    struct known {
        const char *variable, *name;
        std::int64_t batch;
        std::vector<std::uint32_t> tokens;
        int reductions;
    };
    const std::vector<known> steps = {{"STRETTO_EXAMPLE_GRAPHS", "moe_ep_step.json.gz", 256, {179, 180}, 122},
                                      {"STRETTO_REFERENCE_GRAPHS", "titan_moe.json.gz", 8, {182, 183, 185}, 90},
                                      {"STRETTO_REFERENCE_GRAPHS", "titan_16b.json.gz", 4, {833, 834, 836}, 384},
                                      {"STRETTO_REFERENCE_GRAPHS", "llama3_8b_fw_64_1d.json.gz", 2, {1}, 0}};
    for (const known& k : steps) {
        const std::string path = file_of(k.variable, k.name);
        if (path.empty()) continue;
        auto step = support::read_capture(path);
        REQUIRE(step.has_value());
        auto tensors = capture_tensors::read(*step);
        REQUIRE(tensors.has_value());
        sweep s{*step, *tensors, {}, {}, {}, {}, 0};
        for (std::uint32_t t : k.tokens) s.cut[t] = sliced(0);
        s.run(k.batch, [](std::uint32_t) { return true; });
        CHECK_MESSAGE(s.cut.size() == k.tokens.size(), k.name << ": something else had to be cut");
        CHECK_MESSAGE(s.refused == only_reductions(k.reductions), k.name);
        if (k.reductions == 0) continue;
        // In that, exchanges of rows and what computes on their results: the orders come back to the tokens'.
        std::size_t permuted = 0;
        for (const auto& of : s.states)
            for (const chunk_state& x : of) permuted += x.what == kind::permuted;
        CHECK_MESSAGE(permuted > 100, k.name);
    }
}

TEST_CASE("a layer alone: what leaves it is sliced, or a sum that waits for its reduction") {
    struct known {
        const char *variable, *name;
        std::int64_t batch;
        std::uint32_t forward, backward, forward_end, backward_end;
        int reductions;
    };
    const std::vector<known> layers = {{"STRETTO_EXAMPLE_GRAPHS", "moe_ep_step.json.gz", 256, 419, 5303, 543, 5410, 4},
                                       {"STRETTO_REFERENCE_GRAPHS", "titan_moe.json.gz", 8, 449, 2989, 592, 3088, 7}};
    for (const known& k : layers) {
        const std::string path = file_of(k.variable, k.name);
        if (path.empty()) continue;
        auto step = support::read_capture(path);
        REQUIRE(step.has_value());
        auto tensors = capture_tensors::read(*step);
        REQUIRE(tensors.has_value());
        sweep s{*step, *tensors, {}, {}, {}, {}, 0};
        s.cut[k.forward] = s.cut[k.backward] = sliced(0);
        s.run(k.batch, [&](std::uint32_t v) {
            const std::string_view path_of = text_of(*step, v, "fqn");
            const bool between = v > k.backward && v <= k.backward_end;
            return path_of.starts_with("layers.1.moe") || (path_of.empty() && between);
        });
        CHECK(s.cut.size() == 2);
        CHECK(s.refused == only_reductions(k.reductions));
        CHECK(s.states[k.forward_end][0] == sliced(0));
        CHECK(s.states[k.backward_end][0] == sliced(0));
    }
}

TEST_CASE("every operator of the captured steps has a rule") {
    std::size_t seen = 0;
    for (const char* variable : {"STRETTO_EXAMPLE_GRAPHS", "STRETTO_REFERENCE_GRAPHS"}) {
        const char* folder = std::getenv(variable);
        if (folder == nullptr || !std::filesystem::is_directory(folder)) continue;
        for (const auto& entry : std::filesystem::directory_iterator(folder)) {
            const std::string path = entry.path().string();
            const bool planned =
                path.find(".pytorch.") != std::string::npos || path.find(".torchtitan.") != std::string::npos;
            if (!path.ends_with(".json.gz") || planned) continue;
            auto step = support::read_capture(path);
            REQUIRE(step.has_value());
            for (std::uint32_t v = 0; v < step->size(); ++v) {
                if (step->inputs(v).empty() || step->kind(v) == op_kind::output) continue;
                ++seen;
                if (detail::aten::find_aten_operator(step->op(v)) == nullptr) FAIL_CHECK("no rule for " << step->op(v));
            }
        }
    }
    if (seen == 0) MESSAGE("skipped: there are no captured steps");
}
