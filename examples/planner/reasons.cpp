#include "reasons.hpp"

#include <algorithm>
#include <map>

#include "human_units.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/schedule/explain.hpp"

namespace planner {
namespace {

using stretto::collective_exposure;
using stretto::task_id;

/// The names of a program, cut and made printable.
struct shown_names {
    const program* of;

    [[nodiscard]] std::string name(task_id v) const { return stretto::printable(of->name(v), 60); }
    [[nodiscard]] std::string group(stretto::group_id g) const { return stretto::printable(of->group(g), 40); }
};

}  // namespace

std::vector<collective_exposure> worst_collectives(const timeline& t, std::size_t count) {
    std::vector<collective_exposure> worst;
    for (const collective_exposure& e : t.exposures)
        if (e.exposed.count > 0) worst.push_back(e);
    std::stable_sort(worst.begin(), worst.end(),
                     [](const collective_exposure& a, const collective_exposure& b) { return a.exposed > b.exposed; });
    if (worst.size() > count) worst.resize(count);
    return worst;
}

std::string reason_of(const timeline& t, const collective_exposure& e, stretto::bytes limit) {
    return stretto::explain({t.of->graph, t.order, t.times, limit}, e, shown_names{t.of.get()});
}

std::string title_of_whole(const comparison& c) {
    std::size_t all = 0;
    for (const kept_whole& g : c.whole) all += g.count + g.behind;
    const std::string operations = with_commas(all) + (all == 1 ? " operation" : " operations");
    if (c.chunks == 1) return "In two chunks " + operations + " would stay whole";
    return operations + (all == 1 ? " in a chunked module stays whole" : " in chunked modules stay whole");
}

std::string what_is_behind(const kept_whole& g) {
    if (g.behind == 0 && g.exchanges.empty()) return "";
    std::string out = with_commas(g.behind) + (g.behind == 1 ? " operation" : " operations");
    out += g.behind == 1 ? " behind stays whole" : " behind stay whole";
    if (g.exchanges.empty()) return out;
    const std::size_t n = g.exchanges.size();
    return out + "; " + with_commas(n) + (n == 1 ? " exchange" : " exchanges") + ", exposed " +
           stretto::human(g.exposed);
}

std::string why_not_once(const comparison& c) {
    if (!c.sums->needs) return "not faster within the limit";
    const room_for_sums& needs = *c.sums->needs;
    std::string out = needs.least > c.memory_limit ? "no order of that needs less than " + human(needs.least)
                                                   : "no order of that was found within the limit";
    if (needs.takes < c.after.times.makespan)
        out += "; within " + human(needs.enough) + " the step would take " + human(needs.takes);
    return out;
}

std::vector<std::string> examples_of(const std::vector<stretto::plan_violation>& violations, std::size_t of_each) {
    std::map<stretto::plan_rule, std::size_t> found;
    std::vector<std::string> examples;
    for (const stretto::plan_violation& v : violations)
        if (++found[v.rule] <= of_each) examples.push_back(v.message());
    return examples;
}

}  // namespace planner
