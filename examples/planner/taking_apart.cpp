#include "taking_apart.hpp"

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "human_units.hpp"
#include "stretto/capture/split_capture.hpp"

namespace planner {
namespace {

std::size_t collectives_of(const stretto::capture& step) {
    std::size_t n = 0;
    for (std::uint32_t v = 0; v < step.size(); ++v) n += step.kind(v) == stretto::op_kind::start;
    return n;
}

}  // namespace

stretto::expected<step_apart, failure> take_step_apart(stretto::capture step, const std::string& file,
                                                       stretto::contention under) {
    auto made = stretto::take_apart(step);
    if (!made) return described(failure::reason::unusable, std::move(made).error(), file);
    buckets_apart what;
    what.buckets = made->buckets;
    what.collectives = collectives_of(made->step);
    what.given = collectives_of(step);
    what.whole = made->refused.size();
    if (what.whole > 0) {
        const auto& first = made->refused.front();
        what.why = stretto::printable(made->step.name(first.vertex)) + ": " + std::string(explain(first.why));
    }
    const auto given = make_program(std::move(step), file);
    if (!given) return stretto::unexpected(given.error());
    std::vector<stretto::task_id> order((*given)->graph.size());
    std::iota(order.begin(), order.end(), stretto::task_id{0});
    what.took = stretto::simulate((*given)->graph, order, under).makespan;
    return step_apart{std::move(made->step), std::move(what)};
}

std::string in_words(const buckets_apart& b) {
    std::string text = b.buckets == 0
                           ? "the step came without buckets that come apart"
                           : "buckets in which the step came: " + human(b.took) + " with " + with_commas(b.given) +
                                 " collectives, without them " + with_commas(b.collectives);
    if (b.whole > 0) text += "; " + with_commas(b.whole) + " stay whole, first " + b.why;
    return text;
}

}  // namespace planner
