// This is the least that a trainer needs to hide its communication. A small network on a tape learns to predict the
// next letter of a text, on two ranks that are threads, over a slow link. It defines its operations, derivatives and
// kernels. stretto finds buckets of gradients, with which the tape is recorded again, orders it, and runs the order.
//     03_train_data_parallel [STEPS [TEXT]]
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>

#include "stretto/backend/bound_step.hpp"
#include "stretto/backend/host/host_world.hpp"
#include "stretto/schedule/measured_run.hpp"
#include "stretto/stretto.hpp"

namespace trainer {

using namespace stretto;

constexpr std::int64_t ranks = 2, batch = 128, context = 4, symbols = 96, width = 128, layers = 6;
constexpr host_link wire{.latency = {1'000'000}, .bytes_per_second = 400'000'000};

// A layer is max(x, 0) w; its derivatives are to_rows and to_weights. Codes before pack are no kernels: see `kinds`.
// clang-format off
enum class code { input, end, reduce, arrive, part, pack, step, layer, to_rows, to_weights, loss, loss_back };
// clang-format on
constexpr op_kind kinds[] = {op_kind::input, op_kind::output, op_kind::start, op_kind::wait, op_kind::view};

/// An operation, and the matrix that it makes.
struct node {
    code what;
    std::vector<node*> reads;
    std::int64_t rows, columns;
    std::size_t id;
    std::int64_t from = 0;           // for a part: the number of elements before it
    std::int64_t takes = INT64_MAX;  // nanoseconds: the least that was measured
    node* step = nullptr;            // for a gradient: the operation that changes the weight by it
    std::int64_t count() const { return rows * columns; }
};

/// Layers, the loss, and derivatives from the last layer to the first.
struct network {
    std::deque<node> nodes;
    std::vector<node*> tape, inputs, gradients;  // inputs: rows of letters, the letters behind them, and the weights
    node* loss;

    node* record(code what, std::vector<node*> reads, std::int64_t rows, std::int64_t columns) {
        return tape.emplace_back(&nodes.emplace_back(node{what, std::move(reads), rows, columns, nodes.size()}));
    }
    network() {
        inputs = {record(code::input, {}, batch, context * symbols), record(code::input, {}, batch, 1)};
        std::vector<node*> rows = {inputs[0]};  // what each layer reads
        for (std::int64_t k = 1; k <= layers; ++k) {
            node* w = inputs.emplace_back(record(code::input, {}, rows.back()->columns, k < layers ? width : symbols));
            rows.push_back(record(code::layer, {rows.back(), w}, batch, w->columns));
        }
        loss = record(code::loss, {rows.back(), inputs[1]}, 1, 1);
        node* g = record(code::loss_back, loss->reads, batch, symbols);
        for (std::size_t k = layers; k-- > 0;) {
            node *const w = inputs[2 + k], *const own = record(code::to_weights, {rows[k], g}, w->rows, w->columns);
            if (k > 0) g = record(code::to_rows, {g, w, rows[k]}, batch, w->rows);
            gradients.push_back(own);
            own->step = record(code::step, {w, own}, w->rows, w->columns);
        }
        exchange({});
    }
    /// Records the end of the tape: gradients are averaged over ranks, those of a bucket together, and change weights.
    void exchange(std::vector<bucket<node*, node*>> buckets) {
        for (node* g : gradients)
            if (std::none_of(buckets.begin(), buckets.end(),
                             [&](const auto& b) { return std::count(b.parts.begin(), b.parts.end(), g) > 0; }))
                buckets.emplace_back().parts = {g};
        std::erase_if(tape, [](node* n) { return n->what > code::input && n->what <= code::step; });
        std::vector<node*> results = {loss};
        for (const auto& b : buckets) {
            std::int64_t count = 0;
            for (node* g : b.parts) count += g->count();
            node* all = b.parts.size() == 1 ? b.parts[0] : record(code::pack, b.parts, 1, count);
            for (code c : {code::reduce, code::arrive}) all = record(c, {all}, 1, count);
            count = 0;
            for (node* g : b.parts) {
                node* const mean = g->step->reads[1] = record(code::part, {all}, g->rows, g->columns);
                mean->from = std::exchange(count, count + g->count());
                results.push_back(tape.emplace_back(g->step));
            }
        }
        record(code::end, results, 0, 0);
    }
};

struct tape_view {
    using vertex_type = node*;
    using value_type = node*;
    const network* net;

    const std::vector<node*>& vertices() const { return net->tape; }
    std::size_t index(node* n) const { return n->id; }
    std::size_t index_bound() const { return net->nodes.size(); }
    const std::vector<node*>& operands(node* n) const { return n->reads; }
    std::array<node*, 1> results(node* n) const { return {n}; }
    node* producer(node* x) const { return x; }
    std::vector<node*> consumers(node* x) const {  // a larger program would store them
        std::vector<node*> all;
        for (node* n : net->tape)
            all.insert(all.end(), std::size_t(std::count(n->reads.begin(), n->reads.end(), x)), n);
        return all;
    }
};
inline auto view(const network& net) { return views::from_values(tape_view{&net}); }

struct model : tensor_op_model<model, tape_view> {
    op_kind kind(node* n) const { return n->what < code::pack ? kinds[static_cast<int>(n->what)] : op_kind::compute; }
    collective_call call(node* n) const {
        return {collective_kind::all_reduce, reduction_kind::average, element_type::f32, {}, {}, n->id};
    }
    bytes tensor_bytes(node* x) const { return {4 * x->count()}; }
    int changes(node* n) const { return n->what == code::step ? 1 : 0; }
    nanoseconds measured(node* n) const { return {n->what == code::reduce || n->takes == INT64_MAX ? 0 : n->takes}; }
    nanoseconds of_merged(node*, bytes sent) const { return wire.duration({2 * (ranks - 1) * sent.count / ranks}); }
    nanoseconds of_moving(bytes moved) const { return {moved.count / 8}; }
    bytes offset(node* x) const { return {4 * x->from}; }
    /// Computes a b, or max(a, 0) b if `positive`. Elements of a and b are so far apart, down and along.
    void multiply(node* n, task_memory m, std::int64_t a_down, std::int64_t a_along, std::int64_t inner,
                  std::int64_t b_down, std::int64_t b_along, bool positive) const {
        float *const a = m.operand<float>(0), *const b = m.operand<float>(1), *const to = m.result<float>(0);
        std::fill_n(to, n->count(), 0.0f);
        for (std::int64_t r = 0; r < n->rows; ++r)
            for (std::int64_t k = 0; k < inner; ++k)
                if (const float x = a[r * a_down + k * a_along]; positive ? x > 0 : x != 0)
                    for (std::int64_t c = 0; c < n->columns; ++c)
                        to[r * n->columns + c] += x * b[k * b_down + c * b_along];
    }
    /// Computes the mean of -log softmax at the targets, or its derivative.
    void compare(node* n, const float* x, const float* targets, float* to) const {
        if (n->what == code::loss) *to = 0;
        for (std::int64_t r = 0; r < batch; ++r, x += symbols) {
            const float most = *std::max_element(x, x + symbols);
            const auto target = static_cast<std::int64_t>(targets[r]);
            float sum = 0;
            for (std::int64_t c = 0; c < symbols; ++c) sum += std::exp(x[c] - most);
            if (n->what == code::loss) *to += (std::log(sum) + most - x[target]) / batch;
            else
                for (std::int64_t c = 0; c < symbols; ++c)
                    *to++ = (std::exp(x[c] - most) / sum - (c == target ? 1.0f : 0.0f)) / batch;
        }
    }
    void compute(node* n, task_memory m) const {
        const std::int64_t across = n->reads[0]->columns;
        float *const x = m.operand<float>(0), *to = m.result<float>(0);
        if (n->what == code::layer) multiply(n, m, across, 1, across, n->columns, 1, true);
        if (n->what == code::to_weights) multiply(n, m, 1, across, n->reads[0]->rows, n->columns, 1, true);
        if (n->what == code::to_rows) multiply(n, m, across, 1, across, 1, across, false);
        for (std::int64_t k = 0; k < n->count() && n->what == code::to_rows; ++k)
            to[k] = m.operand<float>(2)[k] > 0 ? to[k] : 0.0f;
        for (std::int64_t k = 0; k < n->count() && n->what == code::step; ++k) x[k] -= 0.4f * m.operand<float>(1)[k];
        for (std::size_t k = 0; k < n->reads.size() && n->what == code::pack; ++k)
            to = std::copy_n(m.operand<float>(k), n->reads[k]->count(), to);
        if (n->what == code::loss || n->what == code::loss_back) compare(n, x, m.operand<float>(1), to);
    }
};

/// Writes rows of symbols from places in the text that this rank draws, and what follows them.
inline void draw(const std::string& text, std::mt19937_64& random, std::span<float> x, std::span<float> targets) {
    std::fill(x.begin(), x.end(), 0.0f);
    for (std::size_t row = 0; row < batch; ++row) {
        const std::size_t at = random() % (text.size() - context);
        for (std::size_t k = 0; k < context; ++k)
            x[(row * context + k) * symbols + static_cast<unsigned char>(text[at + k])] = 1;
        targets[row] = text[at + context];
    }
}
/// Trains from the same initial weights, in that order of the tape. Returns all weights, and then the losses of the
/// steps. If `measured`, it stores the durations of kernels in the tape.
inline std::vector<float> train(const char* what, network& net, const std::vector<task_id>& order, int steps,
                                const std::string& text, bool measured = false) {
    std::vector<float> made;
    std::vector<measured_span> spans;
    const auto tasks = make_task_graph(view(net), model());
    host_world world(ranks, strided_groups(ranks, ranks), {.link = wire, .timed = true});
    const auto failure = world.run([&](host_rank& rank) {
        auto step = bind_step(view(net), *tasks, *check_order(*tasks, order), model(), rank);
        if (!step) throw std::runtime_error(explain(step.error()));
        std::mt19937 first;
        for (node* n : net.inputs)
            for (float& x : step->memory<float>(n))
                x = (static_cast<float>(first() >> 8) / 8388608.0f - 1) * std::sqrt(6.0f / static_cast<float>(n->rows));
        std::mt19937_64 random(rank.rank());
        for (int k = 0; k < steps; ++k) {
            draw(text, random, step->memory<float>(net.inputs[0]), step->memory<float>(net.inputs[1]));
            if (step->replay()) return;
            if (rank.rank() == 0) made.push_back(step->memory<float>(net.loss)[0]);
        }
        if (rank.rank() != 0) return;
        for (node* n : net.inputs)
            made.insert(made.begin(), step->memory<float>(n).begin(), step->memory<float>(n).end());
        spans = rank.times();
    });
    if (failure) throw std::runtime_error(explain(*failure));
    for (const measured_span& s : spans)
        if (measured) net.tape[s.task]->takes = std::min(net.tape[s.task]->takes, (s.end - s.begin).count);
    const nanoseconds predicted = simulate(*make_task_graph(view(net), model()), order).makespan;
    std::printf("%-20s %6.2f ms predicted, %6.2f measured, loss %.3f\n", what, to_milliseconds(predicted),
                to_milliseconds(summarize_run(*tasks, spans).middle.makespan), double(made.back()));
    return made;
}

}  // namespace trainer

int main(int argc, char** argv) try {
    using namespace trainer;
    const int steps = argc > 1 ? std::atoi(argv[1]) : 200;
    const std::string path = argc > 2 ? argv[2] : "/usr/share/common-licenses/GPL-3";
    std::ifstream file(path, std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    for (char& c : text) c = static_cast<char>(c > 32 && c < 127 ? c - 32 : 0);  // below `symbols`
    if (steps < 5 || text.size() < 1000)
        return std::fprintf(stderr, "%s\nusage: 03_train_data_parallel [STEPS [TEXT]]\n",
                            steps < 5 ? "5 steps are the least" : (path + ": no text of 1,000 characters").c_str()),
               2;
    network net;
    const auto best = [&] { return plan_overlap(view(net), model(), {unlimited_bytes})->certificate.order(); };
    // In the order of the tape, every gradient is reduced, waited for and applied in turn. This also measures kernels.
    const auto given = program_order(*make_task_graph(view(net), model()));
    const auto recorded = train("as recorded", net, given, steps, text, true);
    const auto hidden = train("ordered", net, best(), steps, text);
    // These are the buckets of gradients whose best order is fastest.
    const auto found = search_buckets(view(net), model(), [](node*) { return bucket_choice{.label = 0}; }, model());
    const auto& plan = found->front.front().plan;
    if (!verify_buckets(plan, view(net), model())) return std::fprintf(stderr, "no legal buckets\n"), 1;
    net.exchange(plan.buckets);
    const auto planned = train("buckets, ordered", net, best(), steps, text);

    double entropy = 0;  // in nats per character: the loss of a model that knows only frequencies
    for (char c = 0; c < symbols; ++c)
        if (const auto n = double(std::count(text.begin(), text.end(), c)) / double(text.size()); n > 0)
            entropy -= n * std::log(n);
    const bool same = planned == recorded && hidden == recorded;
    std::printf("%zu buckets; weights and losses are %s; loss %.3f -> %.3f, and %.3f for who knows only frequencies\n",
                plan.buckets.size(), same ? "the same, bit for bit" : "NOT THE SAME", double(planned.end()[-steps]),
                double(planned.back()), entropy);
    return same ? 0 : 1;
} catch (const std::exception& e) {
    return std::fprintf(stderr, "%s\n", e.what()), 1;
}
