// The program itself, so that it is tested as it is shown; its main has another name here.
#define main run_the_example
#include "../../examples/03_train_data_parallel.cpp"
#undef main

#include <doctest/doctest.h>

#include "stretto/backend/check_log.hpp"
#include "stretto/backend/recorder.hpp"
#include "support/prop.hpp"

using namespace trainer;

namespace {

int status(std::vector<std::string> words) {
    words.insert(words.begin(), "03_train_data_parallel");
    std::vector<char*> all;
    for (std::string& w : words) all.push_back(w.data());
    return run_the_example(static_cast<int>(all.size()), all.data());
}

}  // namespace

TEST_CASE("gradients are what differences of the loss say") {
    std::ifstream file("/usr/share/common-licenses/GPL-3");
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    REQUIRE(text.size() > 10'000);
    for (char& c : text) c = static_cast<char>(c > 32 ? c - 32 : 0);
    network net;
    const auto tasks = make_task_graph(view(net), model());
    const auto checked = check_order(*tasks, program_order(*tasks));
    process_groups groups;
    groups.add({.size = 1, .ranks = std::vector<rank_id>{0}});
    host_world world(1, groups);
    double largest = 0;
    int compared = 0;
    CHECK_FALSE(world.run([&](host_rank& rank) {
        auto step = bind_step(view(net), *tasks, *checked, model(), rank);
        if (!step) throw std::runtime_error(explain(step.error()));
        const auto memory = [&](node* x) { return step->memory<float>(x); };
        std::mt19937_64 random(7);
        std::vector<std::vector<float>> begin;
        for (std::size_t k = 0; k < net.inputs.size(); ++k) {
            const float most = std::sqrt(6.0f / static_cast<float>(net.inputs[k]->rows));
            for (float& x : memory(net.inputs[k])) x = (static_cast<float>(random() >> 40) / 8388608.0f - 1.0f) * most;
            if (k == 1) draw(text, random, memory(net.inputs[0]), memory(net.inputs[1]));
        }
        for (node* x : net.inputs) begin.emplace_back(memory(x).begin(), memory(x).end());
        // The loss if one weight were greater by that; a step changes the weights, which tells their gradients.
        const auto loss = [&](std::size_t w, std::size_t at, float more) {
            for (std::size_t k = 0; k < begin.size(); ++k)
                std::copy(begin[k].begin(), begin[k].end(), memory(net.inputs[k]).begin());
            memory(net.inputs[w])[at] += more;
            if (step->replay()) throw std::runtime_error("the replay failed");
            return static_cast<double>(memory(net.loss)[0]);
        };
        for (std::size_t w = 2; w < begin.size(); ++w) {
            static_cast<void>(loss(w, 0, 0));
            std::vector<double> gradient;
            for (std::size_t k = 0; k < begin[w].size(); ++k)
                gradient.push_back(static_cast<double>(begin[w][k] - memory(net.inputs[w])[k]) / 0.4);
            for (int few = 0; few < support::scaled_cases(4); ++few) {  // the greatest, and what is beside it
                const auto size = [&](double a, double b) { return std::fabs(a) < std::fabs(b); };
                const auto k = static_cast<std::size_t>(std::max_element(gradient.begin(), gradient.end(), size) -
                                                        gradient.begin());
                const double difference = (loss(w, k, 0.01f) - loss(w, k, -0.01f)) / 0.02;
                CHECK(std::fabs(difference - gradient[k]) < 0.1 * std::fabs(gradient[k]) + 1e-3);
                largest = std::max(largest, std::fabs(difference));
                gradient[k] = 0;
                ++compared;
            }
        }
    }));
    CHECK(compared >= layers);
    CHECK(largest > 0.01);
}

TEST_CASE("no rank races: as recorded, ordered, and in buckets") {
    network net;
    // Kernels for which no duration is known are free, which leaves nothing to hide under.
    for (node* n : net.tape) n->takes = 300'000;
    const auto race_in = [&](const std::vector<task_id>& order) {
        const auto tasks = make_task_graph(view(net), model());
        recorder rank(strided_groups(ranks, ranks), 0);
        auto step = bind_step(view(net), *tasks, *check_order(*tasks, order), model(), rank);
        if (!step) return explain(step.error());
        if (step->replay()) return std::string("the replay failed");
        const auto found = check_log(*tasks, step->order().program().arena, rank.log());
        return found.empty() ? "" : explain(found[0], [](task_id t) { return std::to_string(t); });
    };
    const auto best = [&] { return plan_overlap(view(net), model(), {unlimited_bytes})->certificate.order(); };
    CHECK(race_in(program_order(*make_task_graph(view(net), model()))) == "");
    CHECK(race_in(best()) == "");
    const auto found = search_buckets(view(net), model(), [](node*) { return bucket_choice{.label = 0}; }, model());
    REQUIRE(found);
    const auto& plan = found->front.front().plan;
    CHECK(!plan.buckets.empty());
    net.exchange(plan.buckets);
    CHECK(race_in(program_order(*make_task_graph(view(net), model()))) == "");
    CHECK(race_in(best()) == "");
}

TEST_CASE("every order and every bucket makes the same weights") { CHECK(status({"5"}) == 0); }

TEST_CASE("what is asked wrongly is said, and nothing is run") {
    CHECK(status({"4"}) == 2);
    CHECK(status({"many"}) == 2);
    CHECK(status({"5", "/nowhere/at all"}) == 2);
}
