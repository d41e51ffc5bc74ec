// The least that a trainer writes to hide its communication: a small network on a tape learns to predict the next
// letter of a text, on two ranks that are threads, over a slow link. Its operations, derivatives and kernels are its
// own. stretto finds the buckets of gradients, carries them out on the tape, orders it, and runs the order.
//     03_train_data_parallel [STEPS [TEXT]]
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>

#include "stretto/backend/executor.hpp"
#include "stretto/backend/host/host_world.hpp"
#include "stretto/schedule/plan_overlap.hpp"
#include "stretto/transform/apply_buckets.hpp"
#include "stretto/transform/tensor_rewriter.hpp"
#include "stretto/transform/verify_buckets.hpp"
#include "stretto/tune/search_buckets.hpp"
#include "stretto/views/from_values.hpp"

namespace trainer {

using namespace stretto;

constexpr std::int64_t ranks = 2, batch = 128, context = 4, symbols = 96, width = 128, layers = 6;
constexpr host_link wire{.latency = {1'000'000}, .bytes_per_second = 400'000'000};

// [tape]
// A layer is max(x, 0) w; its derivatives are to_rows and to_weights. The first ones are no kernels: see `kinds`.
// clang-format off
enum class code { input, end, reduce, arrive, unpack, pack, layer, to_rows, to_weights, loss, step };
// clang-format on
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
    std::int64_t takes = INT64_MAX;  // nanoseconds, the least that was measured
};
struct tape {
    std::deque<node> nodes = {};
    std::deque<tensor> tensors = {};
    std::vector<node*> order = {};
    node* cursor = nullptr;  // what is recorded stands in front of it, or at the end

    auto place(node* n) { return std::find(order.begin(), order.end(), n); }
    node* record(code what, std::vector<tensor*> reads) {
        node* const n = &nodes.emplace_back(node{what, std::move(reads), nodes.size(), nodes.size()});
        for (tensor* x : n->reads) x->readers.push_back(n);
        return *order.insert(place(cursor), n);
    }
    tensor* result(node* n, std::int64_t rows, std::int64_t columns) {
        return n->makes.emplace_back(&tensors.emplace_back(tensor{n, rows, columns}));
    }
    tensor* make(code what, std::vector<tensor*> reads, std::int64_t rows, std::int64_t columns) {
        return result(record(what, std::move(reads)), rows, columns);
    }
};

/// Appends the derivatives of a loss, from the last layer to the first. A gradient of a weight is averaged over ranks
/// and applied as soon as it is there.
inline void differentiate(tape& t, node* loss) {
    std::vector<tensor*> results = {loss->makes[0]};
    tensor* g = loss->makes[1];
    const std::vector<node*> forward = t.order;
    for (auto at = forward.rbegin(); at != forward.rend(); ++at) {
        if ((*at)->what != code::layer) continue;
        tensor *const x = (*at)->reads[0], *const w = (*at)->reads[1];
        tensor* own = t.make(code::to_weights, {x, g}, w->rows, w->columns);
        if (x->by->what != code::input) g = t.make(code::to_rows, {g, w, x}, x->rows, x->columns);
        for (code c : {code::reduce, code::arrive}) own = t.make(c, {own}, w->rows, w->columns);
        results.push_back(t.make(code::step, {w, own}, w->rows, w->columns));
    }
    t.record(code::end, results);
}
// [/tape]

// [adapters]
struct tape_values {
    using vertex_type = node*;
    using value_type = tensor*;
    tape* t;

    const std::vector<node*>& vertices() const { return t->order; }
    std::size_t index(node* n) const { return n->id; }
    std::size_t index_bound() const { return t->nodes.size(); }
    const std::vector<tensor*>& operands(node* n) const { return n->reads; }
    const std::vector<tensor*>& results(node* n) const { return n->makes; }
    node* producer(tensor* x) const { return x->by; }
    const std::vector<node*>& consumers(tensor* x) const { return x->readers; }
};
struct model {
    op_kind kind(node* n) const { return n->what < code::pack ? kinds[static_cast<int>(n->what)] : op_kind::compute; }
    nanoseconds duration(node* n) const {
        if (n->what == code::reduce) return of_merged(n, payload(n));
        if (kind(n) != op_kind::compute) return {};
        return n->takes < INT64_MAX ? nanoseconds{n->takes} : of_moving(payload(n));
    }
    collective_call call(node* n) const {
        return {collective(n), reduction_kind::average, element_type::f32, {}, {}, n->like};
    }
    collective_kind collective(node*) const { return collective_kind::all_reduce; }
    bytes payload(node* n) const { return {4 * n->reads[0]->count()}; }
    bytes bytes_of(tensor* x) const { return {aliases(x).empty() ? 4 * x->count() : 0}; }
    std::vector<tensor*> aliases(tensor* x) const {  // what arrives is where it was received; a step changes a weight
        const code by = x->by->what;
        if (by == code::arrive || by == code::unpack || by == code::step) return {x->by->reads[0]};
        return {};
    }
    std::vector<tensor*> effects(node* n) const {
        return n->what == code::step ? std::vector{n->reads[0]} : std::vector<tensor*>();
    }
    nanoseconds of_merged(node*, bytes sent) const { return wire.duration({2 * (ranks - 1) * sent.count / ranks}); }
    nanoseconds of_moving(bytes moved) const { return {moved.count / 4}; }
};
struct rewriter : tensor_rewriter<rewriter, tape_values> {
    tape* t;

    rewriter(tape* of) : tensor_rewriter(tape_values{of}), t(of) {}

    void move_before(node* n, node* to) { t->order.erase(t->place(n)), t->order.insert(t->place(to), n); }
    void insert_before(node* n) { t->cursor = n; }
    node* insert(const insertion<node*, tensor*>& i) {
        const code what = i.what == inserted::pack    ? code::pack
                          : i.what == inserted::start ? code::reduce
                          : i.what == inserted::wait  ? code::arrive
                                                      : code::unpack;
        node* const n = t->record(what, {i.operands.begin(), i.operands.end()});
        if (what == code::reduce) n->like = i.like->like;
        return n;
    }
    tensor* add_result(node* n, tensor*, const std::vector<std::int64_t>& shape) {
        return t->result(n, shape.size() == 1 ? 1 : shape[0], shape.back());
    }
    std::array<std::int64_t, 2> shape(tensor* x) const { return {x->rows, x->columns}; }
    void replace_uses(node* n, tensor* from, tensor* to) {
        std::replace(n->reads.begin(), n->reads.end(), from, to);
        std::erase(from->readers, n), to->readers.push_back(n);
    }
    void erase(node* n) {
        for (tensor* x : n->reads) std::erase(x->readers, n);
        std::erase(t->order, n);
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
        const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - since;
        if (is_timed) n->takes = std::min<std::int64_t>(n->takes, taken.count());
    }
    /// a b, or of a what is positive; the elements of a and b stand so far apart, down and along.
    void multiply(std::int64_t a_down, std::int64_t a_along, std::int64_t inner, std::int64_t b_down,
                  std::int64_t b_along, bool positive) const {
        const std::int64_t columns = n->makes[0]->columns;
        std::fill_n(out[0], n->makes[0]->count(), 0.0f);
        for (std::int64_t r = 0; r < n->makes[0]->rows; ++r)
            for (std::int64_t k = 0; k < inner; ++k)
                if (const float x = in[0][r * a_down + k * a_along]; positive ? x > 0 : x != 0)
                    for (std::int64_t c = 0; c < columns; ++c)
                        out[0][r * columns + c] += x * in[1][k * b_down + c * b_along];
    }
    void compute() const {
        const std::int64_t count = n->makes[0]->count(), across = n->reads[0]->columns, columns = n->makes[0]->columns;
        float* to = out[0];
        if (n->what == code::layer) multiply(across, 1, across, columns, 1, true);
        if (n->what == code::to_weights) multiply(1, across, n->reads[0]->rows, columns, 1, true);
        if (n->what == code::to_rows) multiply(across, 1, across, 1, across, false);
        for (std::int64_t k = 0; k < count && n->what == code::to_rows; ++k) to[k] = in[2][k] > 0 ? to[k] : 0.0f;
        for (std::int64_t k = 0; k < count && n->what == code::step; ++k) in[0][k] -= 0.4f * in[1][k];
        for (std::size_t k = 0; k < in.size() && n->what == code::pack; ++k)
            to = std::copy_n(in[k], n->reads[k]->count(), to);
        if (n->what != code::loss) return;
        *to = 0;  // the mean of -log softmax at the targets, and its derivative
        for (std::int64_t r = 0; r < batch; ++r) {
            const float *const x = in[0] + r * symbols, most = *std::max_element(x, x + symbols);
            float *const g = out[1] + r * symbols, sum = 0;
            const auto target = static_cast<std::int64_t>(in[1][r]);
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
            tensor* const w = t.make(code::input, {}, y->columns, k < layers ? width : symbols);
            y = t.make(code::layer, {y, w}, batch, w->columns);
        }
        loss = t.record(code::loss, {y, targets});
        t.result(loss, 1, 1), t.result(loss, batch, symbols);
        differentiate(t, loss);
    }
    auto view() { return views::from_values(tape_values{&t}); }
};

/// What an executor asks about the tape; and the memory of its inputs, on one rank.
struct source {
    std::vector<node*> nodes;
    std::vector<tensor*> tensors = {};
    std::map<tensor*, std::vector<float>> inputs = {};
    bool is_timed;

    source(network& net, bool timed) : nodes(net.t.order), is_timed(timed) {
        std::mt19937 random;
        for (const node* n : nodes) {
            tensors.insert(tensors.end(), n->makes.begin(), n->makes.end());
            const std::int64_t count = n->what == code::input ? n->makes[0]->count() : 0;
            for (std::int64_t k = 0; k < count; ++k)
                inputs[n->makes[0]].push_back((static_cast<float>(random() >> 8) / 8388608.0f - 1.0f) *
                                              std::sqrt(6.0f / static_cast<float>(n->makes[0]->rows)));
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

/// Numbers below `symbols`: 0 for what is no printable character.
inline std::string read_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    for (char& c : text) c = static_cast<char>(c > 32 && c < 127 ? c - 32 : 0);
    return text;
}

struct outcome {
    std::vector<float> losses = {}, weights = {};
    std::vector<double> times = {};  // milliseconds of each step
};

inline outcome train(network& net, const task_graph& tasks, const std::vector<task_id>& order, int steps,
                     const std::string& text, bool timed) {
    outcome made;
    const auto checked = check_order(tasks, order);
    host_world world(ranks, strided_groups(ranks, ranks), {.link = wire});
    const auto failure = world.run([&](host_rank& rank) {
        source mine(net, timed && rank.rank() == 0);
        auto bound = bind_order(tasks, *checked, mine, rank);
        if (!bound) throw std::runtime_error(explain(bound.error()));
        const auto loss = std::find(mine.tensors.begin(), mine.tensors.end(), net.loss->makes[0]);
        std::mt19937_64 random(rank.rank());
        for (int k = 0; k < steps; ++k) {
            mine.draw(net, text, random);
            const auto since = std::chrono::steady_clock::now();
            if (bound->replay()) return;
            if (rank.rank() != 0) continue;
            const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - since;
            made.times.push_back(taken.count());
            made.losses.push_back(
                *reinterpret_cast<float*>(bound->address(static_cast<value_id>(loss - mine.tensors.begin()))));
        }
        for (const node* n : mine.nodes)  // weights, in the order in which the network has them
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
    const auto run = [&](const char* what, const task_graph& tasks, const std::vector<task_id>& order, bool timed) {
        outcome made = train(net, tasks, order, steps, text, timed);
        std::nth_element(made.times.begin(), made.times.begin() + steps / 2, made.times.end());
        const nanoseconds predicted = simulate(*make_task_graph(net.view(), model()), order).makespan;
        std::printf("%-20s %6.2f ms predicted, %6.2f measured, loss %.3f\n", what, to_milliseconds(predicted),
                    made.times[static_cast<std::size_t>(steps) / 2], double(made.losses.back()));
        return made;
    };
    // As the tape has it: every gradient is reduced and waited for where it is made. This measures the kernels, too.
    const auto given = make_task_graph(net.view(), model());
    std::vector<task_id> order(given->size());
    std::iota(order.begin(), order.end(), task_id{0});
    const outcome recorded = run("as recorded", *given, order, true);

    // Another order.
    const auto ordered = plan_overlap(net.view(), model());
    const outcome hidden = run("ordered", ordered->tasks, ordered->certificate.order(), false);

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
    const outcome planned = run("buckets, ordered", merged->tasks, merged->certificate.order(), false);

    double entropy = 0;  // in nats per character: the loss of who knows how frequent each one is, and nothing else
    for (char c = 0; c < symbols; ++c)
        if (const auto n = double(std::count(text.begin(), text.end(), c)) / double(text.size()); n > 0)
            entropy -= n * std::log(n);
    const bool same =
        planned.weights == recorded.weights && hidden.weights == recorded.weights && planned.losses == recorded.losses;
    std::printf("%zu buckets; weights and losses are %s; loss %.3f -> %.3f, and %.3f for who knows only frequencies\n",
                buckets.buckets.size(), same ? "the same, bit for bit" : "NOT THE SAME", double(planned.losses.front()),
                double(planned.losses.back()), entropy);
    return same ? 0 : 1;
} catch (const std::exception& e) {
    return std::fprintf(stderr, "%s\n", e.what()), 1;
}
