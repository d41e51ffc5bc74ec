// The least that a trainer writes to hide its communication: a small network on a tape learns to predict the next
// letter of a text, on two ranks that are threads, over a slow link. Its operations, derivatives and kernels are its
// own. stretto finds the buckets of gradients, carries them out on the tape, orders it, and runs the order.
//     03_train_data_parallel [STEPS [TEXT]]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <list>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "stretto/backend/executor.hpp"
#include "stretto/backend/host/host_world.hpp"
#include "stretto/core/process_groups.hpp"
#include "stretto/schedule/plan_overlap.hpp"
#include "stretto/transform/apply_buckets.hpp"
#include "stretto/transform/verify_buckets.hpp"
#include "stretto/tune/search_buckets.hpp"
#include "stretto/views/from_values.hpp"

namespace trainer {

using namespace stretto;

constexpr std::int64_t ranks = 2, batch = 128, context = 4, symbols = 96, width = 128, layers = 6;
constexpr host_link wire{.latency = {1'000'000}, .bytes_per_second = 400'000'000};

// [tape]
enum class code {
    input,
    end,
    reduce,
    arrive,
    unpack,
    pack,
    product,
    to_rows,
    to_weights,
    relu,
    mask,
    loss,
    step
};
constexpr op_kind kinds[] = {op_kind::input, op_kind::output, op_kind::start, op_kind::wait, op_kind::view};

struct node;
struct tensor {
    node* by;
    std::int64_t rows, columns;
    std::vector<node*> readers = {};
    std::int64_t count() const { return rows * columns; }
};
struct node {
    code what;
    std::vector<tensor*> reads;
    std::size_t id = 0, like = 0;  // `like` is the first of the reductions that it does
    std::vector<tensor*> makes = {};
    std::list<node>::iterator self = {};
    std::int64_t takes = INT64_MAX;  // nanoseconds, the least that was measured
};
struct tape {
    std::list<node> nodes = {};
    std::list<tensor> tensors = {};
    std::size_t next = 0;

    node* record(code what, std::vector<tensor*> reads, std::list<node>::iterator at) {
        node* const n = &*nodes.insert(at, {what, std::move(reads), next, next});
        n->self = std::prev(at), ++next;
        for (tensor* x : n->reads) x->readers.push_back(n);
        return n;
    }
    tensor* result(node* n, std::int64_t rows, std::int64_t columns) {
        return n->makes.emplace_back(&tensors.emplace_back(tensor{n, rows, columns}));
    }
    tensor* make(code what, std::vector<tensor*> reads, std::int64_t rows, std::int64_t columns) {
        return result(record(what, std::move(reads), nodes.end()), rows, columns);
    }
};

/// Appends the derivatives of a loss, from the last operation to the first. A gradient of a weight is averaged over
/// ranks and applied as soon as it is there. On the way forward no tensor is read twice.
inline void differentiate(tape& t, node* loss) {
    std::vector<tensor*> results = {loss->makes[0]};
    std::map<tensor*, tensor*> gradient = {{loss->reads[0], loss->makes[1]}};
    for (auto n = std::make_reverse_iterator(loss->self); n != t.nodes.rend(); ++n) {
        if (n->what != code::product && n->what != code::relu) continue;
        tensor *const x = n->reads[0], *const g = gradient.at(n->makes[0]);
        if (n->what == code::relu) gradient[x] = t.make(code::mask, {g, n->makes[0]}, x->rows, x->columns);
        if (n->what != code::product) continue;
        tensor* const w = n->reads[1];
        if (x->by->what != code::input) gradient[x] = t.make(code::to_rows, {g, w}, x->rows, x->columns);
        tensor* own = t.make(code::to_weights, {x, g}, w->rows, w->columns);
        for (code c : {code::reduce, code::arrive}) own = t.make(c, {own}, w->rows, w->columns);
        results.push_back(t.make(code::step, {w, own}, w->rows, w->columns));
    }
    t.record(code::end, results, t.nodes.end());
}
// [/tape]

// [adapters]
struct tape_values {
    using vertex_type = node*;
    using value_type = tensor*;
    tape* t;

    std::vector<node*> vertices() const {
        std::vector<node*> all;
        for (node& n : t->nodes) all.push_back(&n);
        return all;
    }
    std::size_t index(node* n) const { return n->id; }
    std::size_t index_bound() const { return t->next; }
    const std::vector<tensor*>& operands(node* n) const { return n->reads; }
    const std::vector<tensor*>& results(node* n) const { return n->makes; }
    node* producer(tensor* x) const { return x->by; }
    const std::vector<node*>& consumers(tensor* x) const { return x->readers; }
};
struct model {
    op_kind kind(node* n) const { return n->what < code::pack ? kinds[static_cast<int>(n->what)] : op_kind::compute; }
    nanoseconds duration(node* n) const {
        if (n->what == code::reduce) return of_merged(n, payload(n));
        return kind(n) != op_kind::compute ? nanoseconds{}
               : n->takes < INT64_MAX      ? nanoseconds{n->takes}
                                           : of_moving(payload(n));
    }
    collective_call call(node* n) const {
        return {.kind = collective_kind::all_reduce,
                .reduction = reduction_kind::average,
                .element = element_type::f32,
                .logical_id = n->like};
    }
    collective_kind collective(node*) const { return collective_kind::all_reduce; }
    bytes payload(node* n) const { return {4 * n->reads[0]->count()}; }
    bytes bytes_of(tensor* x) const { return {aliases(x).empty() ? 4 * x->count() : 0}; }
    std::vector<tensor*> aliases(
        tensor* x) const {  // what has arrived is where it was received; a step changes a weight
        const code by = x->by->what;
        return by == code::arrive || by == code::unpack || by == code::step ? std::vector{x->by->reads[0]}
                                                                            : std::vector<tensor*>();
    }
    std::vector<tensor*> effects(node* n) const {
        return n->what == code::step ? std::vector{n->reads[0]} : std::vector<tensor*>();
    }
    nanoseconds of_merged(node*, bytes sent) const { return wire.duration({2 * (ranks - 1) * sent.count / ranks}); }
    nanoseconds of_moving(bytes moved) const { return {moved.count / 4}; }
};
struct rewriter {
    tape* t;
    std::list<node>::iterator at = {};

    void move_before(node* n, node* to) { t->nodes.splice(to->self, t->nodes, n->self); }
    void insert_before(node* n) { at = n->self; }
    tensor* pack(std::span<node* const>, std::span<tensor* const> parts) {
        std::int64_t all = 0;
        for (const tensor* x : parts) all += x->count();
        return t->result(t->record(code::pack, {parts.begin(), parts.end()}, at), 1, all);
    }
    tensor* launch(std::span<node* const> members, std::span<tensor* const> payload) {
        node* const n = t->record(code::reduce, {payload[0]}, at);
        n->like = members[0]->like;
        return t->result(n, 1, payload[0]->count());
    }
    tensor* wait(std::span<node* const>, tensor* sent) {
        return t->result(t->record(code::arrive, {sent}, at), 1, sent->count());
    }
    std::vector<tensor*> unpack(std::span<node* const> waits, tensor* all) {
        node* const n = t->record(code::unpack, {all}, at);
        for (const node* w : waits) t->result(n, w->makes[0]->rows, w->makes[0]->columns);
        return n->makes;
    }
    std::vector<tensor*> parts(std::span<node* const> waits, tensor* all) { return unpack(waits, all); }
    void replace_uses(node* n, tensor* from, tensor* to) {
        std::replace(n->reads.begin(), n->reads.end(), from, to);
        std::erase(from->readers, n), to->readers.push_back(n);
    }
    void erase(node* n) {
        for (tensor* x : n->reads) std::erase(x->readers, n);
        t->nodes.erase(n->self);
    }
};
// [/adapters]

struct kernel {
    node* n;
    std::vector<float*> in, out;
    bool is_timed;

    void operator()() const {
        const auto since = std::chrono::steady_clock::now();
        compute();
        if (is_timed)
            n->takes = std::min<std::int64_t>(
                n->takes, std::chrono::nanoseconds(std::chrono::steady_clock::now() - since).count());
    }
    /// a b; the elements of a and b stand so far apart, down and along.
    void multiply(std::int64_t a_down, std::int64_t a_along, std::int64_t inner, std::int64_t b_down,
                  std::int64_t b_along) const {
        const std::int64_t columns = n->makes[0]->columns;
        std::fill_n(out[0], n->makes[0]->count(), 0.0f);
        for (std::int64_t r = 0; r < n->makes[0]->rows; ++r)
            for (std::int64_t k = 0; k < inner; ++k)
                if (const float x = in[0][r * a_down + k * a_along]; x != 0)
                    for (std::int64_t c = 0; c < columns; ++c)
                        out[0][r * columns + c] += x * in[1][k * b_down + c * b_along];
    }
    void compute() const {
        const std::int64_t count = n->makes[0]->count(), across = n->reads[0]->columns;
        float* to = out[0];
        if (n->what == code::product) return multiply(across, 1, across, n->makes[0]->columns, 1);
        if (n->what == code::to_rows) return multiply(across, 1, across, 1, across);
        if (n->what == code::to_weights) return multiply(1, across, n->reads[0]->rows, n->makes[0]->columns, 1);
        for (std::int64_t k = 0; k < count && n->what == code::relu; ++k) to[k] = std::max(in[0][k], 0.0f);
        for (std::int64_t k = 0; k < count && n->what == code::mask; ++k) to[k] = in[1][k] > 0 ? in[0][k] : 0.0f;
        for (std::int64_t k = 0; k < count && n->what == code::step; ++k) in[0][k] -= 0.4f * in[1][k];
        for (std::size_t k = 0; k < in.size() && n->what == code::pack; ++k)
            to = std::copy_n(in[k], n->reads[k]->count(), to);
        if (n->what != code::loss) return;
        *to = 0;  // the mean of -log softmax at the targets, and its derivative
        for (std::int64_t r = 0; r < batch; ++r) {
            const float *const x = in[0] + r * symbols, most = *std::max_element(x, x + symbols);
            float* const g = out[1] + r * symbols;
            const auto target = static_cast<std::int64_t>(in[1][r]);
            float sum = 0;
            for (std::int64_t c = 0; c < symbols; ++c) sum += g[c] = std::exp(x[c] - most);
            for (std::int64_t c = 0; c < symbols; ++c) g[c] = (g[c] / sum - (c == target ? 1.0f : 0.0f)) / batch;
            *to += (std::log(sum) + most - x[target]) / batch;
        }
    }
};

struct network {
    tape t;
    tensor *x = t.make(code::input, {}, batch, context* symbols), *targets = t.make(code::input, {}, batch, 1);
    node* loss = nullptr;

    network() {
        tensor* y = x;
        for (std::int64_t k = 1; k <= layers; ++k) {
            y = t.make(code::product, {y, t.make(code::input, {}, y->columns, k < layers ? width : symbols)}, batch,
                       k < layers ? width : symbols);
            if (k < layers) y = t.make(code::relu, {y}, batch, width);
        }
        loss = t.record(code::loss, {y, targets}, t.nodes.end());
        t.result(loss, 1, 1), t.result(loss, batch, symbols);
        differentiate(t, loss);
    }
    auto view() { return views::from_values(tape_values{&t}); }
};

/// What an executor asks about the tape; and the memory of its inputs, on one rank.
struct source {
    std::vector<node*> nodes = {};
    std::vector<tensor*> tensors = {};
    std::map<tensor*, std::vector<float>> inputs = {};
    bool is_timed;

    source(network& net, bool timed) : is_timed(timed) {
        std::mt19937 random;
        for (node& n : net.t.nodes) {
            nodes.push_back(&n), tensors.insert(tensors.end(), n.makes.begin(), n.makes.end());
            if (n.what != code::input) continue;
            for (std::int64_t k = 0; k < n.makes[0]->count(); ++k)
                inputs[n.makes[0]].push_back((static_cast<float>(random() >> 8) / 8388608.0f - 1.0f) *
                                             std::sqrt(6.0f / static_cast<float>(n.makes[0]->rows)));
        }
    }
    trainer::kernel kernel(task_id t, task_memory m) const {
        trainer::kernel k{nodes[t], {}, {}, is_timed};
        for (std::byte* x : m.operands) k.in.push_back(reinterpret_cast<float*>(x));
        for (std::byte* x : m.results) k.out.push_back(reinterpret_cast<float*>(x));
        return k;
    }
    collective_call call(task_id t) const { return model().call(nodes[t]); }
    std::byte* address(value_id x) { return reinterpret_cast<std::byte*>(inputs.at(tensors[x]).data()); }
    bytes offset(value_id x) const {
        std::int64_t before = 0;
        for (std::size_t k = 0; tensors[x]->by->what == code::unpack && tensors[x]->by->makes[k] != tensors[x]; ++k)
            before += 4 * tensors[x]->by->makes[k]->count();
        return {before};
    }
    /// Places in the text that this rank draws.
    void draw(network& net, const std::string& text, std::mt19937_64& random) {
        std::vector<float>&x = inputs[net.x], &targets = inputs[net.targets];
        std::fill(x.begin(), x.end(), 0.0f);
        for (std::size_t row = 0; row < batch; ++row) {
            const std::size_t at = random() % (text.size() - context);
            for (std::size_t k = 0; k < context; ++k)
                x[(row * context + k) * symbols + static_cast<unsigned char>(text[at + k])] = 1;
            targets[row] = text[at + context];
        }
    }
};

inline double median(std::vector<double> all) {
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
}

/// Numbers below `symbols`: 0 for what is no printable character.
inline std::string read_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    for (char& c : text) c = static_cast<char>(c > 32 && c < 127 ? c - 32 : 0);
    return text;
}

/// In nats per character: the loss of who knows how frequent each one is, and nothing else.
inline double entropy(const std::string& text) {
    double sum = 0;
    for (char c = 0; c < symbols; ++c)
        if (const auto n =
                static_cast<double>(std::count(text.begin(), text.end(), c)) / static_cast<double>(text.size());
            n > 0)
            sum -= n * std::log(n);
    return sum;
}

struct outcome {
    std::vector<float> losses = {}, weights = {};
    std::vector<double> times = {};  // milliseconds of each step
};

inline outcome train(network& net, const task_graph& tasks, std::vector<task_id> order, int steps,
                     const std::string& text, bool timed = false) {
    outcome made;
    const auto checked = check_order(tasks, std::move(order));
    process_groups groups;
    groups.add({.size = ranks, .ranks = std::vector<rank_id>{0, 1}});
    host_world world(ranks, groups, {.link = wire});
    const auto failure = world.run([&](host_rank& rank) {
        source mine(net, timed && rank.rank() == 0);
        auto bound = bind_order(tasks, *checked, mine, rank);
        if (!bound) throw std::runtime_error(explain(bound.error()));
        const auto loss = static_cast<value_id>(
            std::find(mine.tensors.begin(), mine.tensors.end(), net.loss->makes[0]) - mine.tensors.begin());
        std::mt19937_64 random(rank.rank());
        for (int k = 0; k < steps; ++k) {
            mine.draw(net, text, random);
            const auto since = std::chrono::steady_clock::now();
            if (bound->replay()) return;
            if (rank.rank() != 0) continue;
            made.times.push_back(
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since).count());
            made.losses.push_back(*reinterpret_cast<float*>(bound->address(loss)));
        }
        for (node* n : mine.nodes)  // weights, in the order in which the network has them
            if (rank.rank() == 0 && n->what == code::input && n->makes[0] != net.x && n->makes[0] != net.targets)
                made.weights.insert(made.weights.end(), mine.inputs[n->makes[0]].begin(),
                                    mine.inputs[n->makes[0]].end());
    });
    if (failure)
        throw std::runtime_error(explain(*failure, [](task_id t) { return "operation " + std::to_string(t); }));
    return made;
}

}  // namespace trainer

int main(int argc, char** argv) try {
    using namespace trainer;
    const int steps = argc > 1 ? std::atoi(argv[1]) : 200;
    const std::string path = argc > 2 ? argv[2] : "/usr/share/common-licenses/GPL-3", text = read_text(path);
    if (steps < 5 || text.size() < 1000) {
        std::fprintf(stderr, "%s\nusage: 03_train_data_parallel [STEPS [TEXT]]\n",
                     steps < 5 ? "5 steps are the least" : (path + ": no text of 1,000 characters").c_str());
        return 2;
    }
    network net;
    const auto report = [&](const char* what, const outcome& made, nanoseconds predicted) {
        std::printf("%-22s %6.2f ms predicted, %6.2f measured, loss %.3f\n", what, to_milliseconds(predicted),
                    median(made.times), double(made.losses.back()));
    };
    // As the tape has it: every gradient is reduced and waited for where it is made. This measures the kernels, too.
    const auto given = make_task_graph(net.view(), model());
    std::vector<task_id> order(given->size());
    std::iota(order.begin(), order.end(), task_id{0});
    const outcome recorded = train(net, *given, order, steps, text, true);
    report("as recorded", recorded, simulate(*make_task_graph(net.view(), model()), order).makespan);

    // Another order.
    const auto ordered = plan_overlap(net.view(), model());
    const outcome hidden = train(net, ordered->tasks, ordered->certificate.order(), steps, text);
    report("ordered", hidden, ordered->certificate.makespan());

    // Buckets of gradients, chosen for the order that they allow; the payload is in the order of the network.
    const auto choose = [](node* n) {
        if (n->what != code::reduce) return bucket_choice{};
        return bucket_choice{.label = 0, .place = static_cast<std::uint32_t>(n->reads[0]->by->reads[0]->by->id)};
    };
    const auto found = search_buckets(net.view(), model(), choose, model());
    const auto& buckets = found->front.front().plan;
    if (!verify_buckets(buckets, net.view(), model())) return std::fprintf(stderr, "no legal buckets\n"), 1;
    rewriter rewrites{&net.t};
    apply_buckets(buckets, net.view(), rewrites);
    const auto merged = plan_overlap(net.view(), model());
    const outcome planned = train(net, merged->tasks, merged->certificate.order(), steps, text);
    report((std::to_string(buckets.buckets.size()) + " buckets, ordered").c_str(), planned,
           merged->certificate.makespan());

    const bool same =
        planned.weights == recorded.weights && hidden.weights == recorded.weights && planned.losses == recorded.losses;
    std::printf("weights and losses are %s; loss %.3f -> %.3f, and %.3f for who knows only how frequent letters are\n",
                same ? "the same, bit for bit" : "NOT THE SAME", double(planned.losses.front()),
                double(planned.losses.back()), entropy(text));
    return same ? 0 : 1;
} catch (const std::exception& e) {
    return std::fprintf(stderr, "%s\n", e.what()), 1;
}
