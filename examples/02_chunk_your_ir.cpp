// A compiler with an IR and operator names of its own chunks a mixture-of-experts step. It finds the exchanges of
// tokens, tries chunk counts within a memory limit, verifies the plan, rewrites the IR in place, reorders it, and says
// why some collectives are still exposed. Only the standard library and stretto's headers are needed:
//
//     g++ -std=c++20 -I include examples/02_chunk_your_ir.cpp && ./a.out
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/analysis/topological_order.hpp"
#include "stretto/core/module_model.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/schedule/explain.hpp"
#include "stretto/schedule/plan_overlap.hpp"
#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/chunk_rules/all_kinds.hpp"
#include "stretto/transform/chunk_rules/rule_chunk_model.hpp"
#include "stretto/transform/module_regions.hpp"
#include "stretto/transform/plan_chunks.hpp"
#include "stretto/transform/recording_rewriter.hpp"
#include "stretto/transform/reorder.hpp"
#include "stretto/transform/tensor_rewriter.hpp"
#include "stretto/transform/token_exchanges.hpp"
#include "stretto/transform/verify_chunks.hpp"
#include "stretto/tune/part_costs.hpp"
#include "stretto/tune/search_chunks.hpp"
#include "stretto/views/from_values.hpp"

namespace mine {

// The IR as its author has written it: a list of operations with pointers, several results, and module paths.
// [my-ir]
// clang-format off
enum class code {
    argument, result,
    project, project_back, weigh,            // x W, g W^T, x^T g
    choose, flatten, line_up, halve, tally,  // experts of tokens; copies of tokens by expert; how many each expert gets
    pick, read,                              // an entry of a tally; the number in it
    send_tally, send_rows, share_gradient, arrive,  // exchanges, a sum over all ranks, and the wait for either
    fetch, blank, put,                       // rows looked up; zeros like x; rows added where they belong
    rectify, rectify_back, add,
    cut, join, total                         // made by rewriting
};
enum class role { argument, kernel, view, launch, wait, result };
// clang-format on
struct operator_entry {
    const char* name;
    role is;
};
constexpr operator_entry operators[] = {
    {"argument", role::argument},   {"result", role::result},    {"project", role::kernel},
    {"project_back", role::kernel}, {"weigh", role::kernel},     {"choose", role::kernel},
    {"flatten", role::view},        {"line_up", role::kernel},   {"halve", role::kernel},
    {"tally", role::kernel},        {"pick", role::view},        {"read", role::kernel},
    {"send_tally", role::launch},   {"send_rows", role::launch}, {"share_gradient", role::launch},
    {"arrive", role::wait},         {"fetch", role::kernel},     {"blank", role::kernel},
    {"put", role::kernel},          {"rectify", role::kernel},   {"rectify_back", role::kernel},
    {"add", role::kernel},          {"cut", role::view},         {"join", role::kernel},
    {"total", role::kernel}};
constexpr std::size_t ranks = 4;

struct op;
struct value {
    op* def;
    std::vector<op*> users;
    std::vector<std::int64_t> shape;
    stretto::element_type element;  // other: a number, no tensor
    stretto::tensor_type type;

    std::int64_t size() const { return stretto::size_of(element, shape); }
};
struct op {
    code what;
    std::string module;
    bool backward;
    std::vector<value*> reads;
    std::int64_t field = 0;
    std::size_t id = 0;
    std::vector<value*> makes = {};
    std::list<op>::iterator self = {};

    const operator_entry& entry() const { return operators[static_cast<std::size_t>(what)]; }
    std::int64_t cost() const {  // nanoseconds: bytes through memory or links, or multiplications
        std::int64_t moved = 0, work = 0;
        for (const value* x : reads) moved += x->size();
        for (const value* x : makes) moved += x->size();
        if (entry().is == role::launch) return 12'000 + reads[0]->size() / 40;
        if (entry().is != role::kernel || what == code::read) return 0;
        if (what == code::project || what == code::project_back || what == code::weigh)
            work = makes[0]->size() * reads[0]->shape[what == code::weigh ? 0 : 1];
        return 3'000 + std::max(moved / 2'000, work / 400'000);
    }
};

struct step {
    std::list<op> ops;
    std::list<value> values;  // stay where they are, even if nobody makes or reads them any more
    std::size_t next_id = 0;

    op* insert(std::list<op>::iterator at, op made) {
        made.id = next_id++;
        op* o = &*ops.insert(at, std::move(made));
        o->self = std::prev(at);
        for (value* x : o->reads) x->users.push_back(o);
        return o;
    }
    value* result(op* o, std::vector<std::int64_t> shape, stretto::element_type element) {
        value* x = &values.emplace_back(value{o, {}, std::move(shape), element, {}});
        x->type = {x->shape, element};
        o->makes.push_back(x);
        return x;
    }
};
// [/my-ir]

// [my-view]
struct values_view {
    using vertex_type = op*;
    using value_type = value*;
    step* s;

    std::vector<op*> vertices() const {
        std::vector<op*> all;
        for (op& o : s->ops) all.push_back(&o);
        return all;
    }
    std::size_t index(op* o) const { return o->id; }
    std::size_t index_bound() const { return s->next_id; }
    const std::vector<value*>& operands(op* o) const { return o->reads; }
    const std::vector<value*>& results(op* o) const { return o->makes; }
    op* producer(value* x) const { return x->def; }
    const std::vector<op*>& consumers(value* x) const { return x->users; }
};

/// Who depends on whom follows from the values.
using view = stretto::from_values_view<values_view>;
// [/my-view]

// [my-models]
struct op_model {
    stretto::op_kind kind(op* o) const {
        using enum stretto::op_kind;
        constexpr stretto::op_kind kinds[] = {input, compute, view, start, wait, output};  // as mine::role
        return kinds[static_cast<std::size_t>(o->entry().is)];
    }
    stretto::collective_kind collective(op* o) const {
        return o->what == code::share_gradient ? stretto::collective_kind::all_reduce
                                               : stretto::collective_kind::all_to_all;
    }
    stretto::group_id group(op* o) const { return o->what == code::share_gradient ? 1 : 0; }
    stretto::bytes payload(op* o) const { return {o->reads[0]->size()}; }
    stretto::nanoseconds duration(op* o) const { return {o->cost()}; }
    stretto::bytes bytes_of(value* x) const { return {aliases(x).empty() ? x->size() : 0}; }
    std::vector<value*> aliases(value* x) const {
        const role is = x->def->entry().is;
        if (is == role::view || is == role::wait) return {x->def->reads[0]};
        return {};
    }
};

struct modules {
    const std::string& path(op* o) const { return o->module; }
    stretto::pass_direction direction(op* o) const {
        return o->backward ? stretto::pass_direction::backward : stretto::pass_direction::forward;
    }
};

struct tensors {
    std::string_view operation(op* o) const { return o->entry().name; }
    std::span<const stretto::tensor_argument> arguments(op* o) const {
        static const auto operands = [] {  // the operands, in order
            std::array<stretto::tensor_argument, 64> all;
            for (std::size_t k = 0; k < all.size(); ++k)
                all[k] = {stretto::tensor_argument::form::operand, static_cast<std::int64_t>(k), 0, {}, {}};
            return all;
        }();
        return std::span(operands).first(o->reads.size());
    }
    std::span<const stretto::named_tensor_argument> named_arguments(op*) const { return {}; }
    std::string_view symbolic_extent(value* x, std::size_t, std::size_t dim) const {
        return x->def->what == code::send_rows && dim == 0 ? "rows that arrive" : "";
    }
    std::span<const stretto::tensor_type> components(value* x) const {
        return {&x->type, x->element == stretto::element_type::other ? 0u : 1u};
    }
};
// [/my-models]

// [my-rules]
struct dialect : tensors {
    stretto::chunk_rules::any_rule rule(op* o) const {
        namespace rules = stretto::chunk_rules;
        const auto numbers = [](std::size_t first) {
            std::vector<rules::rule_number> all;
            for (std::size_t k = first; k < first + ranks; ++k) all.push_back(rules::rule_number::of_operand(k));
            return all;
        };
        const std::vector one_each(ranks, rules::rule_number::constant(1));
        const code c = o->what;
        if (c == code::project) return rules::matrix_product{};
        if (c == code::project_back) return rules::matrix_product{.right_contracts = {-1}};
        if (c == code::weigh) return rules::matrix_product{.left_contracts = {0}, .right_contracts = {0}};
        if (c == code::choose) return rules::along_dimension{};
        if (c == code::flatten) return rules::reshape{};
        if (c == code::line_up) return rules::sort{.stable = true};
        if (c == code::halve)
            return rules::arithmetic{.what = rules::arithmetic::op::floor_divide,
                                     .right = rules::rule_number::constant(2)};
        if (c == code::tally) return rules::histogram{};
        if (c == code::pick) return rules::select{.index = o->field};
        if (c == code::read) return rules::read_element{};
        if (c == code::send_tally) return rules::exchange{.received = one_each, .sent = one_each};
        if (c == code::send_rows) return rules::exchange{.received = numbers(1), .sent = numbers(1 + ranks)};
        if (c == code::share_gradient) return rules::other_collective{};
        if (c == code::arrive) return rules::copy{};
        if (c == code::fetch) return rules::look_up{};
        if (c == code::blank) return rules::fill_like{.zero = true};
        if (c == code::put) return rules::put_rows{.adds = true};
        if (c == code::rectify || c == code::rectify_back) return rules::elementwise{};
        if (c == code::add) return rules::arithmetic{};
        return {};  // refused by name
    }
    std::string_view name(op* o) const { return o->entry().name; }
};
// [/my-rules]

// [my-rewriter]
struct rewriter : stretto::tensor_rewriter<rewriter, values_view> {
    step* s;
    std::list<op>::iterator at = {};

    rewriter(step* of) : tensor_rewriter(values_view{of}), s(of) {}

    void insert_before(op* o) { at = o->self; }
    op* insert(const stretto::insertion<op*, value*>& i) {
        using enum stretto::inserted;
        const code what = i.what == clone    ? i.like->what
                          : i.what == split  ? code::cut
                          : i.what == concat ? code::join
                                             : code::total;
        return s->insert(at, {what,
                              i.like->module,
                              i.like->backward,
                              {i.operands.begin(), i.operands.end()},
                              i.what == clone ? i.like->field : 0});
    }
    value* add_result(op* o, value* like, std::vector<std::int64_t> shape) {
        return s->result(o, std::move(shape), like->element);
    }
    const std::vector<std::int64_t>& shape(value* x) const { return x->shape; }
    void replace_uses(op* o, value* from, value* to) {
        for (value*& x : o->reads) {
            if (x != from) continue;
            x = to;
            from->users.erase(std::find(from->users.begin(), from->users.end(), o));
            to->users.push_back(o);
        }
    }
    void erase(op* o) {
        for (value* x : o->reads) x->users.erase(std::find(x->users.begin(), x->users.end(), o));
        s->ops.erase(o->self);
    }
    void move_before(op* o, op* where) { s->ops.splice(where->self, s->ops, o->self); }
};
// [/my-rewriter]

/// Builds the step: layers of experts on four ranks, forward and backward.
class builder {
public:
    explicit builder(std::int64_t tokens, std::int64_t width, std::int64_t hidden, int layers)
        : tokens_(tokens), width_(width), hidden_(hidden) {
        value* x = argument({tokens, width});
        for (int l = 0; l < layers; ++l) x = forward(l, x);
        value* g = argument({tokens, width});
        std::vector<value*> read = {x};
        for (int l = layers; l-- > 0;) g = backward(l, g, read);
        read.push_back(g);
        add(code::result, read);
    }
    step take() { return std::move(made_); }

private:
    static constexpr auto f = stretto::element_type::bf16;
    static constexpr auto i = stretto::element_type::i64;
    static constexpr auto n = stretto::element_type::other;
    using shape = std::vector<std::int64_t>;
    struct layer {
        value *first, *second, *token, *rows, *before, *after;
        std::vector<value*> sent, received;
    };

    op* add(code what, std::vector<value*> reads, std::int64_t field = 0) {
        return made_.insert(made_.ops.end(), {what, module_, backward_, std::move(reads), field});
    }
    value* make(code what, std::vector<value*> reads, shape s, stretto::element_type e = f, std::int64_t field = 0) {
        return made_.result(add(what, std::move(reads), field), std::move(s), e);
    }
    value* argument(shape s) { return make(code::argument, {}, std::move(s)); }
    std::vector<value*> numbers(value* tally) {
        std::vector<value*> all;
        for (std::size_t rank = 0; rank < ranks; ++rank)
            all.push_back(make(code::read, {make(code::pick, {tally}, {}, i, static_cast<std::int64_t>(rank))}, {}, n));
        return all;
    }
    value* exchange(value* x, const std::vector<value*>& received, const std::vector<value*>& sent) {
        std::vector<value*> reads = {x};
        reads.insert(reads.end(), received.begin(), received.end());
        reads.insert(reads.end(), sent.begin(), sent.end());
        return make(code::arrive, {make(code::send_rows, reads, x->shape)}, x->shape);
    }

    value* forward(int number, value* x) {
        module_ = "";
        value* router = argument({width_, ranks});
        layer l{argument({width_, hidden_}), argument({hidden_, width_}), {}, {}, {}, {}, {}, {}};
        module_ = "layers." + std::to_string(number) + ".experts";
        const std::int64_t copies = 2 * tokens_;  // every token goes to two experts
        value* experts = make(code::choose, {make(code::project, {x, router}, {tokens_, ranks})}, {tokens_, 2}, i);
        value* expert = make(code::flatten, {experts}, {copies}, i);
        op* line = add(code::line_up, {expert});
        made_.result(line, {copies}, i);
        l.token = make(code::halve, {made_.result(line, {copies}, i)}, {copies}, i);
        value* tally = make(code::tally, {expert}, {ranks}, i);
        l.sent = numbers(tally);
        l.received = numbers(make(code::arrive, {make(code::send_tally, {tally}, {ranks}, i)}, {ranks}, i));
        l.rows = exchange(make(code::fetch, {x, l.token}, {copies, width_}), l.received, l.sent);
        l.before = make(code::project, {l.rows, l.first}, {copies, hidden_});
        l.after = make(code::rectify, {l.before}, {copies, hidden_});
        value* back = exchange(make(code::project, {l.after, l.second}, {copies, width_}), l.sent, l.received);
        layers_.push_back(l);
        return put_back(x, l, back);
    }
    value* backward(int number, value* g, std::vector<value*>& gradients) {
        const layer& l = layers_[static_cast<std::size_t>(number)];
        const shape wide = l.before->shape, narrow = l.rows->shape;
        module_ = "layers." + std::to_string(number) + ".experts";
        backward_ = true;
        value* rows = exchange(make(code::fetch, {g, l.token}, narrow), l.received, l.sent);
        value* second = make(code::weigh, {l.after, rows}, {hidden_, width_});
        value* h = make(code::rectify_back, {make(code::project_back, {rows, l.second}, wide), l.before}, wide);
        value* first = make(code::weigh, {l.rows, h}, {width_, hidden_});
        for (value* w : {second, first})
            gradients.push_back(make(code::arrive, {make(code::share_gradient, {w}, w->shape)}, w->shape));
        return put_back(g, l, exchange(make(code::project_back, {h, l.first}, narrow), l.sent, l.received));
    }
    value* put_back(value* x, const layer& l, value* rows) {
        value* sum = make(code::put, {make(code::blank, {x}, x->shape), l.token, rows}, x->shape);
        return make(code::add, {x, sum}, x->shape);
    }

    step made_;
    std::int64_t tokens_, width_, hidden_;
    std::string module_;
    bool backward_ = false;
    std::vector<layer> layers_;
};

}  // namespace mine

void print(const char* when, const stretto::overlap_plan<mine::op*>& p) {
    const stretto::schedule& c = p.certificate;
    std::printf(
        "%s: %zu operations in %.2f ms, %.2f ms of it exposed; peak %.2f GB; no order takes less than %.2f ms\n", when,
        p.order.size(), stretto::to_milliseconds(c.makespan()), stretto::to_milliseconds(c.times().exposed),
        static_cast<double>(c.memory().peak.count) / 1e9, stretto::to_milliseconds(c.bound().value));
}

/// The names of tasks and groups in explanations.
struct names {
    const stretto::overlap_plan<mine::op*>* plan;
    std::string name(stretto::task_id t) const {
        const mine::op* o = plan->vertices[t];
        return std::string(o->entry().name) + (o->backward ? " backward" : "") + " in " + o->module;
    }
    std::string_view group(stretto::group_id g) const { return g == 0 ? "the experts" : "the gradients"; }
};

/// Prints the collectives that are exposed longest, and why.
void print_reasons(const stretto::overlap_plan<mine::op*>& p, std::size_t most) {
    const stretto::explained_order order{p.tasks, p.certificate.order(), p.certificate.times(),
                                         p.certificate.memory_limit()};
    std::vector<stretto::collective_exposure> worst = p.certificate.exposures();
    std::stable_sort(worst.begin(), worst.end(), [](const auto& a, const auto& b) { return a.exposed > b.exposed; });
    for (std::size_t k = 0; k < std::min(most, worst.size()) && worst[k].exposed.count > 0; ++k)
        std::printf("    %.2f ms: %s: %s\n", stretto::to_milliseconds(worst[k].exposed),
                    names{&p}.name(worst[k].start).c_str(), stretto::explain(order, worst[k], names{&p}).c_str());
}

/// Prints the operations around the exchanges of the first layer, in its forward pass and in order.
void print_layer(const mine::step& s) {
    std::printf("   ");
    for (const mine::op& o : s.ops)
        if (o.module == "layers.0.experts" && !o.backward &&
            (o.what == mine::code::send_rows || o.what == mine::code::arrive || o.what == mine::code::project))
            std::printf(" %s", o.entry().name);
    std::printf("\n");
}

int main() {
    mine::step s = mine::builder(8192, 2048, 5632, 2).take();
    const mine::view v = stretto::views::from_values(mine::values_view{&s});
    const mine::op_model ops;
    const auto before = stretto::plan_overlap(v, ops);
    if (!before) return std::fprintf(stderr, "the view and the op model contradict each other\n"), 1;
    print("whole", *before);
    print_layer(s);

    // [chunk-it]
    // Where tokens leave for their experts, and where they come back to.
    const auto order = stretto::topological_sort(v);
    if (!order) return std::fprintf(stderr, "there is a cycle\n"), 1;
    const auto exchanges = stretto::token_exchanges(v, *order, ops, mine::tensors{});
    std::vector<stretto::token_dimension<mine::value*>> tokens;
    for (const auto& e : exchanges) {
        std::printf("%lld tokens are exchanged in %s, %s\n", static_cast<long long>(e.rows), e.dispatch->module.c_str(),
                    e.dispatch->backward ? "backward" : "forward");
        tokens.push_back(e.tokens);
    }

    // In how many chunks, with a tenth more memory than the step takes as it is? Nothing is rewritten to find out.
    stretto::row_orders orders;
    const stretto::rule_chunk_model chunks(v, mine::dialect{}, orders);
    const stretto::step_modules named(v, ops, mine::modules{});
    const stretto::share_costs costs(v, ops, stretto::tensor_sizes<mine::view, mine::tensors>{}, {.launch = {3'000}});
    const stretto::bytes limit{before->certificate.memory().peak.count / 10 * 11};
    const auto found = stretto::search_chunks(v, ops, chunks, costs, stretto::units_by_module(v, ops, named),
                                              {exchanges.empty() ? 0 : exchanges[0].rows, tokens},
                                              {.memory_limit = limit, .recombine = stretto::recombining::concat});
    if (!found || !found->pays()) return std::printf("the step stays whole\n"), 0;
    std::printf("%zu ways were tried; the best takes %.2f ms:\n", found->trials,
                stretto::to_milliseconds(found->makespan));
    for (const stretto::module_chunks& m : found->settings)
        std::printf("    %s in %zu chunks\n", m.pattern.empty() ? "everything" : m.pattern.c_str(), m.sizes.size());

    // The plan is a value. It is verified by code that shares nothing with the planner, and applied.
    const auto plan = stretto::plan_chunks(v, ops, chunks, std::span(found->regions), std::span(std::as_const(tokens)),
                                           {.skip_refused = true});
    if (!plan) return std::fprintf(stderr, "no plan: %s\n", plan.error().detail.c_str()), 1;
    if (const auto verified = stretto::verify_chunks(*plan, v, ops, chunks); !verified)
        return std::fprintf(stderr, "%s\n", stretto::hint(verified.error()[0].broken).data()), 1;
    mine::rewriter rewriter{&s};
    stretto::chunk_recording recording(v, *plan);
    auto recorder = recording.rewriter(rewriter);
    stretto::apply_chunks(*plan, v, recorder);
    const auto applied = recording.verify(v);
    if (!applied) return std::fprintf(stderr, "%s\n", stretto::hint(applied.error()[0].broken).data()), 1;
    std::printf("applied: %zu operations stay, %zu clones, %zu splits, %zu concatenations and sums\n", applied->kept,
                applied->clones, applied->splits, applied->joins);

    // The chunks are put into an order in which each exchange runs under the other chunks' work.
    const auto after = stretto::plan_overlap(v, ops, {.memory_limit = limit});
    if (!after) return std::fprintf(stderr, "the step in chunks exceeds the memory limit\n"), 1;
    print("in chunks", *after);
    const auto moves = stretto::plan_reorder(v, std::span(std::as_const(after->order)));
    stretto::apply(*moves, rewriter);
    // [/chunk-it]
    print_layer(s);
    print_reasons(*after, 3);
    return 0;
}
