// The program itself, so that it is tested as it is shown; its main has another name here.
#define main run_the_example
#include "../../examples/03_train_data_parallel.cpp"
#undef main

#include <doctest/doctest.h>

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
    const std::string text = read_text("/usr/share/common-licenses/GPL-3");
    REQUIRE(text.size() > 10'000);
    network net;
    const auto tasks = make_task_graph(net.view(), model());
    std::vector<task_id> order(tasks->size());
    std::iota(order.begin(), order.end(), task_id{0});
    const auto checked = check_order(*tasks, order);
    process_groups groups;
    groups.add({.size = 1, .ranks = std::vector<rank_id>{0}});
    host_world world(1, groups);
    double largest = 0;
    int compared = 0;
    CHECK_FALSE(world.run([&](host_rank& rank) {
        source mine(net, false);
        auto bound = bind_order(*tasks, *checked, mine, rank);
        if (!bound) throw std::runtime_error(explain(bound.error()));
        std::mt19937_64 random(7);
        mine.draw(net, text, random);
        const auto begin = mine.inputs;
        const auto x = static_cast<value_id>(std::find(mine.tensors.begin(), mine.tensors.end(), net.loss->makes[0]) -
                                             mine.tensors.begin());
        // The loss if one weight were greater by that; a step changes the weights, which tells their gradients.
        const auto loss = [&](tensor* w, std::size_t k, float more) {
            for (const auto& [which, memory] : begin)
                std::copy(memory.begin(), memory.end(), mine.inputs.at(which).begin());
            mine.inputs.at(w)[k] += more;
            if (bound->replay()) throw std::runtime_error("the replay failed");
            return static_cast<double>(*reinterpret_cast<float*>(bound->address(x)));
        };
        for (const auto& [w, memory] : begin) {
            if (w == net.x || w == net.targets) continue;
            static_cast<void>(loss(w, 0, 0));
            std::vector<double> gradient;
            for (std::size_t k = 0; k < memory.size(); ++k)
                gradient.push_back(static_cast<double>(memory[k] - mine.inputs.at(w)[k]) / 0.4);
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

TEST_CASE("every order and every bucket makes the same weights") { CHECK(status({"5"}) == 0); }

TEST_CASE("what is asked wrongly is said, and nothing is run") {
    CHECK(status({"4"}) == 2);
    CHECK(status({"many"}) == 2);
    CHECK(status({"5", "/nowhere/at all"}) == 2);
}
