#include "traffic.hpp"

#include "human_units.hpp"
#include "stretto/analysis/classify_collectives.hpp"
#include "stretto/analysis/infer_input_roles.hpp"
#include "stretto/capture/capture_view.hpp"

namespace planner {
namespace {

/// Appends a count and what is counted, unless it is 0.
void add(std::string& words, std::size_t count, const char* what) {
    if (count == 0) return;
    words += (words.empty() ? "" : ", ") + with_commas(count) + " " + what;
}

}  // namespace

traffic_summary summary_of_traffic(const stretto::capture& step) {
    const stretto::capture_view view{&step};
    const stretto::capture_op_model ops{&step};
    const auto roles = stretto::infer_input_roles(view, ops);
    traffic_summary t;
    t.inputs = roles.inputs().size();
    t.parameters = roles.count(stretto::role_reason::gathered);
    t.buffers = roles.count(stretto::role_reason::written);
    const auto tags = stretto::classify_collectives(view, ops, roles);
    for (const std::uint32_t v : view.vertices()) {
        if (ops.kind(v) != stretto::op_kind::start) continue;
        switch (tags[v].what) {
            case stretto::traffic_kind::parameter:
                ++t.gathers;
                break;
            case stretto::traffic_kind::terminal:
                ++t.reductions;
                break;
            case stretto::traffic_kind::exchange:
                ++t.exchanges;
                break;
            default:
                ++t.others;
        }
    }
    return t;
}

std::string inputs_in_words(const traffic_summary& t) {
    std::string words;
    add(words, t.parameters, t.parameters == 1 ? "parameter (gathered)" : "parameters (gathered)");
    add(words, t.buffers, t.buffers == 1 ? "buffer (written)" : "buffers (written)");
    const std::size_t rest = t.inputs - t.parameters - t.buffers;
    add(words, rest, rest == 1 ? "other" : "others");
    return words.empty() ? "" : words + "; inferred from their use";
}

std::string collectives_in_words(const traffic_summary& t) {
    std::string words;
    add(words, t.gathers, t.gathers == 1 ? "gathers parameters" : "gather parameters");
    add(words, t.reductions, t.reductions == 1 ? "reduces results" : "reduce results");
    add(words, t.exchanges, t.exchanges == 1 ? "exchange" : "exchanges");
    add(words, t.others, t.others == 1 ? "other" : "others");
    return words.empty() ? "" : "before: " + words;
}

}  // namespace planner
