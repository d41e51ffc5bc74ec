// The least that a trainer writes to hide its communication: a small network on a tape learns to predict the next
// letter of a text, on two ranks that are threads, over a slow link. Its operations, derivatives and kernels are its
// own. stretto finds the buckets of gradients, carries them out on the tape, orders it, and runs the order.
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

// A layer is max(x, 0) w; its derivatives are to_rows and to_weights. The first ones are no kernels: see `kinds`.
// clang-format off
enum class code { input, end, reduce, arrive, part, pack, layer, to_rows, to_weights, loss, loss_back, step };
// clang-format on
constexpr op_kind kinds[] = {op_kind::input, op_kind::output, op_kind::start, op_kind::wait, op_kind::view};

/// An operation, and the matrix that it makes.
struct node {
    code what;
    std::vector<node*> reads;
    std::int64_t rows, columns;
    std::size_t id, like;    // `like` is the first of the reductions that it does
    std::int64_t from = 0;   // of a part: the elements before it
    std::int64_t takes = 0;  // nanoseconds, if they are known
    std::vector<node*> readers = {};
    std::int64_t count() const { return rows * columns; }
};
struct tape {
    std::deque<node> nodes = {};
    std::vector<node*> order = {};
    node* cursor = nullptr;  // what is recorded stands in front of it, or at the end

    auto place(node* n) { return std::find(order.begin(), order.end(), n); }
    node* record(code what, std::vector<node*> reads, std::int64_t rows, std::int64_t columns) {
        node* const n = &nodes.emplace_back(node{what, std::move(reads), rows, columns, nodes.size(), nodes.size()});
        for (node* x : n->reads) x->readers.push_back(n);
        return *order.insert(place(cursor), n);
    }
};

struct tape_view {
    using vertex_type = node*;
    using value_type = node*;
    tape* t;

    const std::vector<node*>& vertices() const { return t->order; }
    std::size_t index(node* n) const { return n->id; }
    std::size_t index_bound() const { return t->nodes.size(); }
    const std::vector<node*>& operands(node* n) const { return n->reads; }
    std::array<node*, 1> results(node* n) const { return {n}; }
    node* producer(node* x) const { return x; }
    const std::vector<node*>& consumers(node* x) const { return x->readers; }
};
struct model {
    op_kind kind(node* n) const { return n->what < code::pack ? kinds[static_cast<int>(n->what)] : op_kind::compute; }
    nanoseconds duration(node* n) const {
        if (n->what == code::reduce) return of_merged(n, payload(n));
        if (kind(n) != op_kind::compute) return {};
        return n->takes > 0 ? nanoseconds{n->takes} : of_moving(payload(n));
    }
    collective_call call(node* n) const {
        return {collective(n), reduction_kind::average, element_type::f32, {}, {}, n->like};
    }
    collective_kind collective(node*) const { return collective_kind::all_reduce; }
    bytes payload(node* n) const { return {4 * n->reads[0]->count()}; }
    bytes bytes_of(node* x) const { return {aliases(x).empty() ? 4 * x->count() : 0}; }
    std::span<node* const> aliases(node* x) const {  // what arrives is where it was received; a step changes a weight
        return std::span(x->reads).first(x->what == code::arrive || x->what == code::part || x->what == code::step);
    }
    std::span<node* const> effects(node* n) const { return std::span(n->reads).first(n->what == code::step); }
    nanoseconds of_merged(node*, bytes sent) const { return wire.duration({2 * (ranks - 1) * sent.count / ranks}); }
    nanoseconds of_moving(bytes moved) const { return {moved.count / 4}; }
};
struct rewriter : tensor_rewriter<rewriter, tape_view> {
    tape* t;

    rewriter(tape* of) : tensor_rewriter(tape_view{of}), t(of) {}

    void move_before(node* n, node* to) { t->order.erase(t->place(n)), t->order.insert(t->place(to), n); }
    void insert_before(node* n) { t->cursor = n; }
    node* insert(const insertion<node*, node*>& i) {
        constexpr code codes[] = {{}, {}, {}, {}, code::pack, code::reduce, code::arrive, code::part, code::part};
        const code what = codes[static_cast<int>(i.what)];
        node* const n = t->record(what, {i.operands.begin(), i.operands.end()}, 0, 0);
        if (what == code::reduce) n->like = i.like->like;
        return n;
    }
    node* add_result(node* n, node*, const std::vector<std::int64_t>& shape) {
        if (n->rows != 0) {  // a node makes one matrix, so the next part is a node of its own
            const std::int64_t from = t->nodes.back().from + t->nodes.back().count();
            n = t->record(n->what, n->reads, 0, 0);
            n->from = from;
        }
        n->rows = shape.size() == 1 ? 1 : shape[0], n->columns = shape.back();
        return n;
    }
    std::array<std::int64_t, 2> shape(node* x) const { return {x->rows, x->columns}; }
    void replace_uses(node* n, node* from, node* to) {
        std::replace(n->reads.begin(), n->reads.end(), from, to);
        std::erase(from->readers, n), to->readers.push_back(n);
    }
    void erase(node* n) {
        for (node* x : n->reads) std::erase(x->readers, n);
        std::erase(t->order, n);
    }
};

struct kernels : model {
    bytes offset(node* x) const { return {4 * x->from}; }
    /// a b, or of a what is positive; the elements of a and b stand so far apart, down and along.
    void multiply(node* n, task_memory m, std::int64_t a_down, std::int64_t a_along, std::int64_t inner,
                  std::int64_t b_down, std::int64_t b_along, bool positive) const {
        const float *const a = m.operand<float>(0), *const b = m.operand<float>(1);
        float* const to = m.result<float>(0);
        std::fill_n(to, n->count(), 0.0f);
        for (std::int64_t r = 0; r < n->rows; ++r)
            for (std::int64_t k = 0; k < inner; ++k)
                if (const float x = a[r * a_down + k * a_along]; positive ? x > 0 : x != 0)
                    for (std::int64_t c = 0; c < n->columns; ++c)
                        to[r * n->columns + c] += x * b[k * b_down + c * b_along];
    }
    /// The mean of -log softmax at the targets, or its derivative.
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

/// The step: layers, the loss, and derivatives from the last layer to the first. A gradient of a weight is averaged
/// over ranks and applied as soon as it is there.
struct network {
    tape t;
    node *const x = t.record(code::input, {}, batch, context* symbols), *const targets =
                                                                            t.record(code::input, {}, batch, 1);
    std::vector<node*> weights = {};
    node* loss;

    network() {
        std::vector<node*> rows = {x};  // what each layer reads
        for (std::int64_t k = 1; k <= layers; ++k) {
            weights.push_back(t.record(code::input, {}, rows.back()->columns, k < layers ? width : symbols));
            rows.push_back(t.record(code::layer, {rows.back(), weights.back()}, batch, weights.back()->columns));
        }
        std::vector<node*> results = {loss = t.record(code::loss, {rows.back(), targets}, 1, 1)};
        node* g = t.record(code::loss_back, loss->reads, batch, symbols);
        for (std::size_t k = layers; k-- > 0;) {
            node *const w = weights[k], *own = t.record(code::to_weights, {rows[k], g}, w->rows, w->columns);
            if (k > 0) g = t.record(code::to_rows, {g, w, rows[k]}, batch, w->rows);
            for (code c : {code::reduce, code::arrive}) own = t.record(c, {own}, w->rows, w->columns);
            results.push_back(t.record(code::step, {w, own}, w->rows, w->columns));
        }
        t.record(code::end, results, 0, 0);
    }
    auto view() { return views::from_values(tape_view{&t}); }
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
/// Numbers below `symbols`: 0 for what is no printable character.
inline std::string read_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    for (char& c : text) c = static_cast<char>(c > 32 && c < 127 ? c - 32 : 0);
    return text;
}

struct outcome {
    std::vector<float> losses = {}, weights = {};
};
/// Trains from the same weights in that order of the tape, which learns what its kernels take if they are `measured`.
inline outcome train(const char* what, network& net, const std::vector<task_id>& order, int steps,
                     const std::string& text, bool measured = false) {
    outcome made;
    measured_run run;
    const auto tasks = make_task_graph(net.view(), model());
    const auto checked = check_order(*tasks, order);
    host_world world(ranks, strided_groups(ranks, ranks), {.link = wire, .timed = true});
    const auto failure = world.run([&](host_rank& rank) {
        const kernels work;
        auto step = bind_step(net.view(), *tasks, *checked, work, rank);
        if (!step) throw std::runtime_error(explain(step.error()));
        std::mt19937 first;
        for (node* w : net.weights)
            for (float& x : step->memory<float>(w))
                x = (static_cast<float>(first() >> 8) / 8388608.0f - 1) * std::sqrt(6.0f / static_cast<float>(w->rows));
        std::mt19937_64 random(rank.rank());
        for (int k = 0; k < steps; ++k) {
            draw(text, random, step->memory<float>(net.x), step->memory<float>(net.targets));
            if (step->replay()) return;
            if (rank.rank() == 0) made.losses.push_back(step->memory<float>(net.loss)[0]);
        }
        if (rank.rank() != 0) return;
        for (node* w : net.weights)
            for (float x : step->memory<float>(w)) made.weights.push_back(x);
        run = summarize_run(*tasks, rank.times());
    });
    if (failure)
        throw std::runtime_error(explain(*failure, [](task_id t) { return "operation " + std::to_string(t); }));
    for (task_id t = 0; t < tasks->size() && measured; ++t) net.t.order[t]->takes = run.tasks[t].duration.count;
    const nanoseconds predicted = simulate(*make_task_graph(net.view(), model()), order).makespan;
    std::printf("%-20s %6.2f ms predicted, %6.2f measured, loss %.3f\n", what, to_milliseconds(predicted),
                to_milliseconds(run.middle.makespan), double(made.losses.back()));
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
    // As the tape has it: every gradient is reduced and waited for where it is made. This measures the kernels, too.
    const auto given = make_task_graph(net.view(), model());
    const outcome recorded = train("as recorded", net, program_order(*given), steps, text, true);
    // Another order.
    const auto ordered = plan_overlap(net.view(), model());
    const outcome hidden = train("ordered", net, ordered->certificate.order(), steps, text);
    // Buckets of gradients, chosen for the order that they allow.
    const auto all = [](node*) { return bucket_choice{.label = 0}; };
    const auto found = search_buckets(net.view(), model(), all, model());
    const auto& buckets = found->front.front().plan;
    if (!verify_buckets(buckets, net.view(), model())) return std::fprintf(stderr, "no legal buckets\n"), 1;
    rewriter rewrites{&net.t};
    apply_buckets(buckets, net.view(), rewrites);
    const auto merged = plan_overlap(net.view(), model());
    const outcome planned = train("buckets, ordered", net, merged->certificate.order(), steps, text);

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
