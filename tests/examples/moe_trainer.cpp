#include "session.hpp"
// The trainer's forms of a step, held against the same training by hand, and its derivatives against differences.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "adapters.hpp"
#include "costs.hpp"
#include "examples/moe_trainer_blas.hpp"
#include "examples/moe_trainer_eager.hpp"
#include "forms.hpp"
#include "rank_program.hpp"
#include "stretto/backend/check_log.hpp"
#include "stretto/backend/host/host_world.hpp"
#include "stretto/backend/recorder.hpp"
#include "stretto/testing/check_graph.hpp"
#include "stretto/transform/chunk_sizes.hpp"
#include "support/prop.hpp"
#include "training.hpp"
#include "transport.hpp"

using namespace trainer;

namespace {

constexpr stretto::host_link no_link{};

model_shape small_shape() {
    model_shape s;
    s.vocabulary = 128;
    s.width = 16;
    s.heads = 2;
    s.experts = 4;
    s.hidden = 8;
    s.shared = 8;
    s.sequence = 5;
    s.batch = 6;
    return s;
}

/// Some text, in which letters are not equally frequent.
std::string some_text() {
    std::string text;
    std::uint32_t state = 7;
    for (int k = 0; k < 3000; ++k) {
        state = state * 1664525u + 1013904223u;
        text += "the quick brown fox, and so on "[state >> 27];
    }
    return text;
}

std::vector<stretto::task_id> as_written(const form& f) {
    std::vector<stretto::task_id> order(f.tasks->size());
    std::iota(order.begin(), order.end(), 0u);
    return order;
}

std::unique_ptr<transport> threads_of(const training_step& s) {
    return ranks_as_threads({.ranks = static_cast<std::size_t>(s.p.mesh.ranks)});
}

/// The step in such chunks, with all else that the library does to it.
planned_step planned_in(const training_step& s, const std::vector<std::int64_t>& chunks) {
    const form whole = *form_of(s.p, {.latency = {100'000}, .bytes_per_second = 100'000'000});
    chunk_wish wish;
    if (chunks.size() > 1) wish.settings = {{"", stretto::pass_direction::both, chunks}};
    auto plan = plan_step(s, whole, {.latency = {100'000}, .bytes_per_second = 100'000'000}, wish,
                          stretto::memory_budget(stretto::unlimited_bytes));
    REQUIRE_MESSAGE(plan, plan.error());
    return *std::move(plan);
}

struct trained {
    training_state state;
    std::vector<double> losses;
};

/// So many steps in such chunks, as planned, or as the chunks are written.
trained train_in(const training_step& s, const std::vector<std::int64_t>& chunks, std::int64_t steps, bool planned) {
    const planned_step plan = planned_in(s, chunks);
    std::size_t sends = 0;
    for (const op_id o : plan.chosen.p->order) sends += plan.chosen.p->ops[o].what == code::send_rows;
    CHECK(sends == 4 * static_cast<std::size_t>(s.shape.layers) * chunks.size());
    CHECK(plan.is_isolated == (s.p.mesh.ranks == s.p.mesh.expert_ranks && s.p.mesh.ranks > 1));
    if (s.p.mesh.ranks > 1) CHECK(plan.chosen.buckets > 0);
    const form& f = planned ? plan.chosen : plan.unmerged;
    trained made{first_state(s, 3), {}};
    run_result result;
    run_options o;
    o.steps = steps;
    const auto wrong = train(*threads_of(s), s, *f.p, *f.tasks, planned ? plan.schedule.order() : as_written(f),
                             some_text(), o, made.state, result);
    REQUIRE_MESSAGE(!wrong, *wrong);
    made.losses = result.losses;
    return made;
}

void compare_with_eager(const model_shape& shape, const mesh& m, const std::vector<std::int64_t>& chunks) {
    CAPTURE(m.ranks);
    CAPTURE(chunks.size());
    const std::int64_t steps = support::runs_all_cases() ? 20 : 3;  // each is slow with sanitizers
    const training_step s = build_step(shape, m);
    const trained graph = train_in(s, chunks, steps, true);
    eager::training by_hand(s, first_state(s, 3));
    std::vector<double> losses;
    for (std::int64_t k = 0; k < steps; ++k) losses.push_back(by_hand.step(some_text(), chunks));
    CHECK(graph.losses == losses);
    CHECK(graph.state == by_hand.state());
    CHECK(graph.losses.back() != graph.losses.front());
}

/// What kernels have made that has a row for each token, in the order of the tokens: by rank and operation of the step
/// as written, chunk after chunk.
using rows_made = std::map<std::tuple<std::size_t, std::uint32_t, bool, code, int>, std::vector<std::byte>>;

bool makes_rows_of_tokens(code what) {
    switch (what) {
        case code::embed:
        case code::norm:
        case code::project:
        case code::attend:
        case code::swish:
        case code::add:
        case code::log_softmax:
        case code::sigmoid:
        case code::choose:
        case code::gate:
        case code::portion:
        case code::put:
        case code::loss_back:
        case code::log_softmax_back:
        case code::norm_back:
        case code::project_back:
        case code::attend_back:
        case code::swish_back:
        case code::sigmoid_back:
        case code::gate_back:
        case code::portion_back:
            return true;
        default:  // rows in the order of experts, which `put` brings back to the tokens; sums over rows; no rows
            return false;
    }
}

/// The kernels of a step, which also keep what they have made.
struct observed_work : work {
    std::map<op_id, std::vector<std::byte>>* seen;

    observed_work(const program& of, const exchange_amounts& a, std::map<op_id, std::vector<std::byte>>& into)
        : work(of, a), seen(&into) {}
    void compute(op_id o, stretto::task_memory m) const {
        work::compute(o, m);
        if (makes_rows_of_tokens(p->ops[o].what))
            (*seen)[o].assign(m.results[0], m.results[0] + p->tensors[p->ops[o].makes[0]].size());
    }
};

struct observed_step {
    rows_made rows;
    std::vector<std::vector<float>> biases;  ///< towards idle experts, by rank and layer, after the step
};

/// Runs the first step from these weights, as it is written.
observed_step first_step(const training_step& s, const form& f, const training_state& state) {
    const stretto::rank_groups groups = groups_of_ranks(*f.p);
    const stretto::checked_order order = *check_order(*f.tasks, as_written(f));
    const exchange_amounts amounts(*f.p);
    std::vector<std::map<op_id, std::vector<std::byte>>> seen(state.ranks.size());
    observed_step made{{}, std::vector<std::vector<float>>(state.ranks.size())};
    stretto::host_world world(state.ranks.size(), groups.all());
    const auto failure = world.run([&](stretto::host_rank& on) {
        const std::size_t me = on.rank();
        stretto::rank_in_groups<stretto::host_rank> rank(on, on.rank(), groups);
        auto step = stretto::bind_step(stretto::views::from_values(values_view{f.p.get()}), *f.tasks, order,
                                       observed_work(*f.p, amounts, seen[me]), rank);
        if (!step) throw std::runtime_error(explain(step.error(), names_of(*f.p)));
        const auto write = [&]<class E>(tensor_id x, const std::vector<E>& from) {
            std::copy(from.begin(), from.end(), step->memory<E>(x).begin());
        };
        const drawn_text drawn = draw(some_text(), s.shape, state.seed, 0, static_cast<std::int64_t>(me));
        for (const auto& [x, memory] : state.ranks[me]) write(x, memory);
        write(s.seed, std::vector<float>{1.0f / 64});
        write(s.text, drawn.text);
        write(s.targets, drawn.targets);
        write(s.clock, clock_of(0));
        if (step->replay()) throw std::runtime_error("the replay failed");
        for (const tensor_id bias : s.expert_bias)
            for (const float x : step->memory<float>(bias).first(static_cast<std::size_t>(s.shape.experts)))
                made.biases[me].push_back(x);
    });
    REQUIRE_MESSAGE(!failure, (failure ? explain(*failure, names_of(*f.p)) : std::string()));

    // The k-th operation of a kind in a module and direction is the k-th in each chunk. Chunks follow each other.
    std::map<std::tuple<std::uint32_t, bool, code, std::uint32_t>, int> passed;
    std::map<std::tuple<std::uint32_t, bool, code, int>, std::map<std::uint32_t, op_id>> parts;
    for (const op_id o : f.p->order) {
        const operation& a = f.p->ops[o];
        if (!makes_rows_of_tokens(a.what)) continue;
        const int place = passed[{a.module, a.backward, a.what, a.chunk}]++;
        parts[{a.module, a.backward, a.what, place}][a.chunk] = o;
    }
    for (std::size_t r = 0; r < seen.size(); ++r)
        for (const auto& [key, by_chunk] : parts)
            for (const auto& [chunk, o] : by_chunk) {
                auto& rows = made.rows[std::tuple_cat(std::tuple(r), key)];
                rows.insert(rows.end(), seen[r].at(o).begin(), seen[r].at(o).end());
            }
    return made;
}

/// Records what the first rank launches, and holds that against the graph and the bytes.
void check_for_races(const form& f, const std::vector<stretto::task_id>& order) {
    stretto::process_groups own;  // those of that rank, which have their numbers in the program
    for (stretto::group_id g = 0; g < f.p->groups.size(); ++g) {
        const auto [members, stride] = f.p->spread_of(g);
        std::vector<stretto::rank_id> ranks;
        for (std::int64_t k = 0; k < members; ++k) ranks.push_back(static_cast<stretto::rank_id>(k * stride));
        own.add({.size = members, .ranks = ranks});
    }
    stretto::recorder rank(own, 0);
    const exchange_amounts amounts(*f.p);
    auto step = stretto::bind_step(stretto::views::from_values(values_view{f.p.get()}), *f.tasks,
                                   *check_order(*f.tasks, order), work(*f.p, amounts), rank);
    REQUIRE_MESSAGE(step, explain(step.error(), names_of(*f.p)));
    CHECK_FALSE(step->replay());
    const auto found = check_log(*f.tasks, step->order().program().arena, rank.log());
    CHECK_MESSAGE(found.empty(), (found.empty() ? std::string() : explain(found[0], names_of(*f.p))));
}

}  // namespace

TEST_CASE("the step keeps every promise of a view and of an op model") {
    for (const mesh m : {mesh{1, 1}, mesh{2, 2}, mesh{4, 2}}) {
        const training_step s = build_step(small_shape(), m);
        const view v = stretto::views::from_values(values_view{&s.p});
        const auto graph = stretto::check_graph(v);
        CHECK_MESSAGE(graph, graph.error().message());
        const auto model = stretto::check_op_model(v, op_model{&s.p, no_link});
        CHECK_MESSAGE(model, model.error().message());
    }
}

TEST_CASE("after 20 steps a step in chunks has the bits of eager chunks: weights, and what Adam remembers") {
    const model_shape shape = small_shape();
    std::uint32_t number = 0;
    for (const mesh m : {mesh{4, 2}, mesh{1, 1}, mesh{2, 2}, mesh{4, 4}}) {
        for (const std::size_t k : {3u, 1u, 2u, 4u})
            if (support::runs_case(number++)) compare_with_eager(shape, m, stretto::equal_chunks(shape.batch, k));
        if (support::runs_case(number++)) compare_with_eager(shape, m, {3, 1, 2});
    }
}

TEST_CASE("and so it has if rows are rounded to 16 bits before they travel") {
    model_shape shape = small_shape();
    shape.rounds = true;
    compare_with_eager(shape, {2, 2}, {4, 2});
    const trained with = train_in(build_step(shape, {2, 2}), {6}, 2, true);
    shape.rounds = false;
    CHECK(with.losses != train_in(build_step(shape, {2, 2}), {6}, 2, true).losses);
}

TEST_CASE("and so it has if a BLAS computes the products") {
    const model_shape shape = small_shape();
    const trained loops = train_in(build_step(shape, {2, 2}), {3, 1, 2}, 3, true);
    support::with_each_blas([&](const std::string&) {
        for (const std::vector<std::int64_t>& chunks : {std::vector<std::int64_t>{6}, {3, 1, 2}})
            compare_with_eager(shape, {2, 2}, chunks);
        // It is the same training, but for last bits.
        const trained with = train_in(build_step(shape, {2, 2}), {3, 1, 2}, 3, true);
        for (std::size_t k = 0; k < 3; ++k) CHECK(with.losses[k] == doctest::Approx(loops.losses[k]).epsilon(1e-4));
    });
}

TEST_CASE("a step that cannot run in the requested chunks says why") {
    const training_step s = build_step(small_shape(), {2, 2});
    const form whole = *form_of(s.p, no_link);
    const auto refused = [&](const std::string& modules, const std::vector<std::int64_t>& sizes) {
        const auto plan = plan_step(s, whole, no_link, {false, {{modules, stretto::pass_direction::both, sizes}}},
                                    stretto::memory_budget(stretto::unlimited_bytes));
        return plan ? std::string() : plan.error();
    };
    const std::int64_t all = s.shape.batch;
    CHECK(refused("", {all, 1}) ==
          "the step cannot run in chunks: given has 6 rows of tokens along dimension 0, and the chunks of the region "
          "have 6 + 1 = 7; rows per chunk add up to the tokens, or to a number that divides them");
    CHECK(refused("nowhere", {1, all - 1}) == "no part of the network is called nowhere");
    CHECK(refused("", {1, all - 1}).empty());
}

TEST_CASE("buckets, communicators and order change no bit, in chunks and whole") {
    const training_step s = build_step(small_shape(), {2, 2});
    const trained whole = train_in(s, {6}, 3, true);
    CHECK(whole.state == train_in(s, {6}, 3, false).state);
    const trained cut = train_in(s, {2, 3, 1}, 3, true);
    CHECK(cut.state == train_in(s, {2, 3, 1}, 3, false).state);
    // Sums over chunks are rounded elsewhere, and from the second step on weights differ by that in their last bits,
    // and so does everything. But for that, it is the same training.
    CHECK(cut.state != whole.state);
    for (std::size_t k = 0; k < 3; ++k) CHECK(cut.losses[k] == doctest::Approx(whole.losses[k]).epsilon(1e-4));
    CHECK(cut.state.ranks[0].size() == whole.state.ranks[0].size());
}

TEST_CASE("in chunks or whole, every token has the same bits in the first step, forward and backward") {
    // Kernels compute row by row, or sequence by sequence, and never look at how many there are. So what a token has
    // made of it depends on the weights and on its own sequence alone: activations, scores and the choice of experts,
    // also what experts elsewhere have made of its rows, and the gradients of all of these. Gradients of weights and
    // the loss are sums over rows, and sums over the rows of a chunk and then over chunks are rounded differently. Sums
    // of integers are not: tokens are counted alike, which is all that the biases of experts depend on.
    std::uint32_t number = 0;
    for (const bool rounds : {false, true})
        for (const mesh m : {mesh{2, 2}, mesh{1, 1}, mesh{4, 2}}) {
            if (rounds && m.ranks != 2) continue;
            if (!support::runs_case(number++)) continue;
            CAPTURE(m.ranks);
            model_shape shape = small_shape();
            shape.rounds = rounds;
            const training_step s = build_step(shape, m);
            const training_state begin = first_state(s, 3);
            const observed_step whole = first_step(s, planned_in(s, {6}).unmerged, begin);
            CHECK(whole.rows.size() > 60 * begin.ranks.size());
            for (const std::vector<std::int64_t>& chunks : {std::vector<std::int64_t>{2, 3, 1}, {1, 1, 1, 1, 1, 1}}) {
                CAPTURE(chunks.size());
                const observed_step cut = first_step(s, planned_in(s, chunks).unmerged, begin);
                CHECK(cut.rows.size() == whole.rows.size());
                for (const auto& [key, rows] : whole.rows) {
                    const auto same = cut.rows.find(key);
                    CHECK_MESSAGE((same != cut.rows.end() && same->second == rows),
                                  "rank " << std::get<0>(key) << ", " << s.p.modules[std::get<1>(key)] << ": "
                                          << entry_of(std::get<3>(key)).name << " " << std::get<4>(key)
                                          << (std::get<2>(key) ? ", backward" : ""));
                }
                CHECK(cut.biases == whole.biases);
                CHECK(cut.biases[0] != std::vector<float>(cut.biases[0].size(), 0.0f));
            }
        }
}

TEST_CASE("no rank races, as the step is written and as it is planned: whole, and in chunks with buckets") {
    for (const mesh m : {mesh{1, 1}, mesh{2, 2}, mesh{4, 2}}) {
        const training_step s = build_step(small_shape(), m);
        for (const std::vector<std::int64_t>& chunks : {std::vector<std::int64_t>{6}, {2, 3, 1}}) {
            const planned_step plan = planned_in(s, chunks);
            check_for_races(plan.unmerged, as_written(plan.unmerged));
            check_for_races(plan.chosen, plan.schedule.order());
        }
    }
}

TEST_CASE("the link that is fitted to collectives is the one on which they were") {
    const training_step s = build_step(small_shape(), {4, 2});
    const form f = *form_of(s.p, no_link);
    const auto moved = [&](stretto::task_id t) {
        const op_id o = f.p->order[t];
        return bytes_moved(*f.p, o, bytes_sent(*f.p, o));
    };
    stretto::measured_run run;
    run.tasks.resize(f.tasks->size());
    CHECK(link_of(*f.p, run, {.latency = {7}}).latency.count == 7);  // nothing was measured
    stretto_check("links", 100, [&](std::uint32_t latency, std::uint32_t speed) {
        const stretto::host_link link{.latency = {latency % 1'000'000},
                                      .bytes_per_second = 1'000'000 + speed % 1'000'000'000};
        for (stretto::task_id t = 0; t < run.tasks.size(); ++t)
            if (f.tasks->kind[t] == stretto::op_kind::start) {
                run.tasks[t].spans = 1;
                run.tasks[t].duration = link.duration(moved(t));
            }
        const stretto::host_link found = link_of(*f.p, run, {});
        for (stretto::task_id t = 0; t < run.tasks.size(); ++t) {
            if (f.tasks->kind[t] != stretto::op_kind::start) continue;
            const std::int64_t taken = run.tasks[t].duration.count;  // whole nanoseconds, and whole bytes a second
            RC_ASSERT(std::abs(found.duration(moved(t)).count - taken) <= 3 + taken / 1'000'000);
        }
    });
}

TEST_CASE("it learns what letters alone do not tell") {
    const training_step s = build_step(small_shape(), {2, 2});
    const form f = *form_of(s.p, no_link);
    std::string text;
    while (text.size() < 3000) text += "the quick brown fox jumps over the lazy dog; ";
    training_state state = first_state(s, 1);
    run_result result;
    run_options o;
    o.steps = 200;
    REQUIRE(!train(*threads_of(s), s, *f.p, *f.tasks, as_written(f), text, o, state, result));
    const double last = std::accumulate(result.losses.end() - 5, result.losses.end(), 0.0) / 5;
    CHECK(last < 0.8 * unigram_entropy(text));
}

TEST_CASE("gradients are what differences of the loss say") {
    model_shape shape = small_shape();
    shape.batch = 2;
    const training_step s = build_step(shape, {1, 1});
    const form f = *form_of(s.p, no_link);
    const std::string text = some_text();
    // The loss if one weight were greater by that; after a first step, what Adam keeps tells the gradient.
    const auto run = [&](training_state& state) {
        run_result result;
        const auto wrong = train(*threads_of(s), s, *f.p, *f.tasks, as_written(f), text, {}, state, result);
        REQUIRE_MESSAGE(!wrong, *wrong);
        return result.losses[0];
    };
    const training_state begin = first_state(s, 5);
    training_state after = begin;
    static_cast<void>(run(after));
    int compared = 0;
    for (const weight& w : s.weights) {
        std::vector<float> gradient = after.ranks[0].at(w.mean);  // a tenth of it
        for (int few = 0; few < support::scaled_cases(3); ++few) {
            const auto size = [](float a, float b) { return std::fabs(a) < std::fabs(b); };
            const auto k =
                static_cast<std::size_t>(std::max_element(gradient.begin(), gradient.end(), size) - gradient.begin());
            const double told = 10 * static_cast<double>(gradient[k]);
            const auto loss = [&](float more) {
                training_state state = begin;
                state.ranks[0].at(w.share)[k] += more;
                return run(state);
            };
            CAPTURE(w.name);
            CAPTURE(k);
            const double difference = (loss(0.004f) - loss(-0.004f)) / 0.008;
            CHECK(std::fabs(difference - told) < 0.05 * std::fabs(told) + 2e-3);
            gradient[k] = 0;
            ++compared;
        }
    }
    CHECK(compared >= static_cast<int>(s.weights.size()));
}
