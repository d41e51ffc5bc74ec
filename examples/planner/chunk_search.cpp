#include "chunk_search.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "stretto/capture/capture_part_costs.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/chunk_capture.hpp"
#include "stretto/schedule/bounds.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/transform/chunk_sizes.hpp"
#include "stretto/tune/try_chunks.hpp"

namespace planner {
namespace {

using stretto::nanoseconds;
using stretto::pass_direction;

/// Tasks that refinement may schedule; a machine does about half a million a second.
constexpr std::size_t refinement_tasks = 200'000;

/// What the step would be in these chunks; nothing if it cannot be cut.
std::optional<stretto::chunked_tasks> tasks_in_chunks(const stretto::capture& step,
                                                      const stretto::capture_tensors& tensors,
                                                      const stretto::capture_token_symbol& tokens,
                                                      const chunk_regions& regions, bool slices) {
    const stretto::capture_view view{&step};
    const stretto::capture_op_model ops{&step};
    stretto::row_orders orders;
    const stretto::capture_chunk_model model(view, {&step, &tensors}, orders);
    const auto plan =
        stretto::plan_chunks(view, ops, model, std::span<const stretto::capture_chunk_region>(regions),
                             std::span<const stretto::capture_token_dimension>(tokens.dimensions), options_for(slices));
    if (!plan) return std::nullopt;
    auto made = stretto::try_chunks(*plan, view, ops, stretto::part_costs_of(step, tensors));
    if (!made) return std::nullopt;
    return *std::move(made);
}

/// The step's time in these chunks; nothing if it cannot be cut or does not fit.
std::optional<nanoseconds> time_of(const chunk_question& q, const chunk_regions& regions, bool slices) {
    const auto made = tasks_in_chunks(q.step, q.tensors, q.tokens, regions, slices);
    if (!made) return std::nullopt;
    stretto::schedule_options options;
    options.memory_limit = q.memory_limit;
    const auto scheduled = stretto::list_schedule(made->graph, options);
    if (!scheduled) return std::nullopt;
    return scheduled->step();
}

/// Whether it is faster slice by slice than what takes so long by concatenation.
bool is_faster_in_slices(const chunk_question& q, const chunk_regions& regions, std::optional<nanoseconds> concat) {
    const std::optional<nanoseconds> slices = time_of(q, regions, true);
    return slices && (!concat || *slices < *concat);
}

/// Of repeated modules one ("layers.3" of "layers.3.moe.router"), else the outermost one.
std::string_view part_of(std::string_view path) {
    for (std::size_t i = 0; i < path.size();) {
        const std::size_t end = std::min(path.find('.', i), path.size());
        const std::string_view component = path.substr(i, end - i);
        if (!component.empty() && component.find_first_not_of("0123456789") == std::string_view::npos)
            return path.substr(0, end);
        i = end + 1;
    }
    return path.substr(0, path.find('.'));
}

bool is_repeated(std::string_view module) {
    const std::size_t dot = module.rfind('.');
    return dot != std::string_view::npos && module.find_first_not_of("0123456789", dot + 1) == std::string_view::npos;
}

/// The module that a module lies in.
std::string_view outer(std::string_view module) { return module.substr(0, module.rfind('.')); }

/// How deep a module lies inside of its part: 0 for the part itself.
std::size_t depth_in_part(std::string_view module) {
    const std::string_view below = module.substr(part_of(module).size());
    return static_cast<std::size_t>(std::count(below.begin(), below.end(), '.'));
}

/// Modules inside of parts with an all-to-all somewhere below: around it fewer operations may be worth cutting than in
/// all of the part.
std::set<std::string, std::less<>> modules_around_exchanges(const chunk_question& q) {
    std::set<std::string, std::less<>> found;
    for (std::uint32_t v = 0; v < q.step.size(); ++v) {
        if (q.step.collective(v) != stretto::collective_kind::all_to_all) continue;
        for (std::string_view m = q.modules.path(v); depth_in_part(m) > 0; m = outer(m)) found.emplace(m);
    }
    return found;
}

/// A part of the model, or a module around exchanges without those in it, in one direction: what gets a number of
/// chunks of its own.
struct unit {
    std::string module;  ///< empty: what belongs to none
    pass_direction direction;
    std::size_t depth;  ///< depth_in_part of the module
};

/// Chunks of every unit.
using choice = std::vector<std::size_t>;

/// Where it is in a list; behind the others, if it was not.
std::size_t number_in(std::vector<std::string>& list, const std::string& name) {
    const auto at = std::find(list.begin(), list.end(), name);
    const auto number = static_cast<std::size_t>(at - list.begin());
    if (at == list.end()) list.push_back(name);
    return number;
}

class search {
public:
    search(const chunk_question& q, std::size_t most) : q_(q), best_(q.whole) {
        const std::int64_t rows = q.tokens.value;
        most_ = static_cast<std::size_t>(std::min(static_cast<std::int64_t>(most), rows));
        const std::set<std::string, std::less<>> around = modules_around_exchanges(q);
        std::map<std::pair<std::string, pass_direction>, std::uint32_t> known;
        for (std::uint32_t v = 0; v < q.step.size(); ++v) {
            unit_of_.push_back(no_unit);
            if (q.step.kind(v) == stretto::op_kind::input || q.step.kind(v) == stretto::op_kind::output) continue;
            std::string_view m = q.modules.path(v);
            const std::string_view part = part_of(m);
            while (m.size() > part.size() && !around.contains(m)) m = outer(m);
            const unit u{std::string(m), q.modules.direction(v), depth_in_part(m)};
            const auto [at, is_new] =
                known.emplace(std::pair(u.module, u.direction), static_cast<std::uint32_t>(units_.size()));
            if (is_new) {
                module_of_.push_back(number_in(modules_, u.module));
                part_of_.push_back(number_in(parts_, std::string(part)));
                units_.push_back(u);
            }
            unit_of_[v] = at->second;
        }
    }

    chunk_answer run() {
        std::vector<std::pair<nanoseconds, std::size_t>> uniform;
        for (std::size_t k = 2; k <= most_; ++k) {
            const outcome o = try_until_it_fits(choice(units_.size(), k));
            if (o.scheduled) uniform.push_back({o.step, k});
            if (o.hopeless) break;  // more chunks only add work
        }
        if (chosen_.empty()) uniform = try_around_exchanges();
        if (chosen_.empty()) return {};
        std::sort(uniform.begin(), uniform.end());
        budget_ = refinement_tasks;
        refine(uniform);
        chunk_answer best{settings(), regions_of(chosen_), q_.how == recombining::slices};
        if (q_.how == recombining::either) best.slices = is_faster_in_slices(q_, best.regions, best_);
        return best;
    }

private:
    static constexpr std::uint32_t no_unit = UINT32_MAX;

    struct outcome {
        bool scheduled = false;
        bool hopeless = false;                 ///< no order of it is better than the best so far
        std::uint32_t too_large_in = no_unit;  ///< that is in chunks, where the input order exceeds the limit
        nanoseconds step{};
    };

    chunk_regions regions_of(const choice& chunks) const {
        chunk_regions regions;
        std::vector<std::size_t> region_of(most_ + 1, SIZE_MAX);
        for (std::uint32_t v = 0; v < q_.step.size(); ++v) {
            if (unit_of_[v] == no_unit) continue;
            const std::size_t k = chunks[unit_of_[v]];
            if (k <= 1) continue;
            if (region_of[k] == SIZE_MAX) {
                region_of[k] = regions.size();
                regions.push_back({{}, stretto::equal_chunks(q_.tokens.value, k)});
            }
            regions[region_of[k]].candidates.push_back(v);
        }
        return regions;
    }

    outcome try_out(const choice& chunks) {
        outcome o;
        const auto regions = regions_of(chunks);
        if (regions.empty()) return o;
        const auto made = tasks_in_chunks(q_.step, q_.tensors, q_.tokens, regions, q_.how == recombining::slices);
        if (!made) return o;
        budget_ -= std::min(budget_, made->graph.size());
        o.hopeless = stretto::bound_below(made->graph).value >= best_;
        if (o.hopeless) return o;
        stretto::schedule_options options;
        options.memory_limit = q_.memory_limit;
        const auto scheduled = stretto::list_schedule(made->graph, options);
        if (!scheduled) {
            const std::uint32_t u = unit_of_[made->original[scheduled.error().at]];
            if (u != no_unit && chunks[u] > 1) o.too_large_in = u;
            return o;
        }
        o.scheduled = true;
        o.step = scheduled->step();
        if (o.step < best_) {
            best_ = o.step;
            chosen_ = chunks;
            note_exposure(*made, scheduled->exposures());
        }
        return o;
    }

    /// Where it needs too much memory, that part may do better whole.
    outcome try_until_it_fits(choice chunks) {
        outcome o = try_out(chunks);
        for (int retries = 0; retries < 3 && o.too_large_in != no_unit; ++retries) {
            for (std::size_t u = 0; u < units_.size(); ++u)
                if (part_of_[u] == part_of_[o.too_large_in]) chunks[u] = 1;
            o = try_out(chunks);
        }
        return o;
    }

    /// Where all in chunks costs more than it hides, less of it may not. Returns numbers of chunks with the time of
    /// the best that has so many.
    std::vector<std::pair<nanoseconds, std::size_t>> try_around_exchanges() {
        std::vector<std::pair<nanoseconds, std::size_t>> times;
        std::size_t deepest = 0;
        for (const unit& u : units_) deepest = std::max(deepest, u.depth);
        for (std::size_t k = 2; k <= most_; ++k) {
            std::optional<nanoseconds> step;
            for (std::size_t depth = 1; depth <= deepest; ++depth) {
                choice chunks;
                for (const unit& u : units_) chunks.push_back(u.depth >= depth ? k : 1);
                const outcome o = try_until_it_fits(std::move(chunks));
                if (o.scheduled) step = std::min(o.step, step.value_or(o.step));
            }
            if (!step) break;
            times.push_back({*step, k});
        }
        return times;
    }

    /// Where the best schedule so far waits, and what runs per chunk there.
    void note_exposure(const stretto::chunked_tasks& made, const std::vector<stretto::collective_exposure>& exposures) {
        exposed_.assign(units_.size(), 0);
        exchanges_.assign(units_.size(), 0);
        std::vector<char> met(q_.step.size(), false);
        for (const stretto::collective_exposure& e : exposures) {
            const std::uint32_t v = made.original[e.start], u = unit_of_[v];
            if (u == no_unit) continue;
            exposed_[u] += e.exposed.count;
            if (met[v]) ++exchanges_[u];  // a second clone
            met[v] = true;
        }
    }

    /// Whether it is better with other chunks for some units.
    bool improves(const std::vector<std::size_t>& units, std::size_t chunks) {
        if (budget_ == 0) return false;
        choice c = chosen_;
        for (std::size_t u : units) c[u] = chunks;
        if (c == chosen_ || !tried_.insert(c).second) return false;
        const nanoseconds before = best_;
        try_out(c);
        return best_ < before;
    }

    template <class Is>
    std::vector<std::size_t> units_that(Is is) const {
        std::vector<std::size_t> found;
        for (std::size_t u = 0; u < units_.size(); ++u)
            if (is(u)) found.push_back(u);
        return found;
    }

    void refine(const std::vector<std::pair<nanoseconds, std::size_t>>& uniform) {
        std::vector<std::size_t> in_part(parts_.size(), 0);
        for (std::size_t u = 0; u < units_.size(); ++u) in_part[part_of_[u]] += exchanges_[u];
        improves(units_that([&](std::size_t u) { return in_part[part_of_[u]] == 0; }), 1);
        improves(units_that([&](std::size_t u) { return exchanges_[u] == 0; }), 1);
        for (pass_direction way : {pass_direction::forward, pass_direction::backward})
            improves(units_that([&](std::size_t u) { return units_[u].direction == way; }), 1);

        // Other numbers of chunks for runs of parts, long ones first.
        for (std::size_t length = (parts_.size() + 1) / 2; budget_ > 0; length = (length + 1) / 2) {
            std::vector<std::vector<std::size_t>> runs((parts_.size() + length - 1) / length);
            for (std::size_t u = 0; u < units_.size(); ++u) runs[part_of_[u] / length].push_back(u);
            std::sort(runs.begin(), runs.end(), [&](const auto& a, const auto& b) {
                return std::pair(-exposed_in(a), a[0]) < std::pair(-exposed_in(b), b[0]);
            });
            for (const std::vector<std::size_t>& run : runs)
                for (std::size_t other = 0; other < std::min<std::size_t>(3, uniform.size()); ++other)
                    if (exposed_in(run) > 0 && improves(run, uniform[other].second)) break;
            if (length == 1) break;
        }
    }
    std::int64_t exposed_in(const std::vector<std::size_t>& units) const {
        return std::accumulate(units.begin(), units.end(), std::int64_t{0},
                               [&](std::int64_t sum, std::size_t u) { return sum + exposed_[u]; });
    }

    /// The choice as settings: the most frequent number for all, then what differs, inner modules behind outer ones.
    std::vector<stretto::module_chunks> settings() const {
        std::vector<stretto::module_chunks> all;
        const auto every = units_that([](std::size_t) { return true; });
        std::size_t rest = most_frequent(every);
        for (std::size_t u : every)
            if (units_[u].module.empty()) rest = chosen_[u];  // cannot be set but with everything
        add(all, "", pass_direction::both, rest);

        // Modules that are alike but for a number: one setting of all, if most need it, in front of those that differ.
        std::vector<std::size_t> order(modules_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        const auto place = [&](std::size_t m) {
            const std::string& module = modules_[m];
            const auto inside = std::count(module.begin(), module.end(), '.');
            return std::tuple(is_repeated(part_of(module)), inside, pattern_of(module), m);
        };
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
        std::set<std::string> met;
        for (std::size_t m : order) {
            const std::string pattern = pattern_of(modules_[m]);
            if (pattern != modules_[m] && met.insert(pattern).second) {
                const auto alike = units_that([&](std::size_t u) { return pattern_of(units_[u].module) == pattern; });
                const std::size_t k = most_frequent(alike);
                if (std::any_of(alike.begin(), alike.end(), [&](std::size_t u) { return given(all, u) != k; }))
                    add(all, pattern, pass_direction::both, k);
            }
            const auto own = units_that([&](std::size_t u) { return module_of_[u] == m; });
            const auto differs = [&](std::size_t u) { return chosen_[u] != given(all, u); };
            if (std::none_of(own.begin(), own.end(), differs)) continue;
            const bool one =
                std::all_of(own.begin(), own.end(), [&](std::size_t u) { return chosen_[u] == chosen_[own[0]]; });
            if (one) add(all, modules_[m], pass_direction::both, chosen_[own[0]]);
            else
                for (bool known : {false, true})  // a unit of unknown direction can only be set with both others
                    for (std::size_t u : own)
                        if (known == (units_[u].direction != pass_direction::both) && differs(u))
                            add(all, modules_[m], units_[u].direction, chosen_[u]);
        }
        return all;
    }
    void add(std::vector<stretto::module_chunks>& all, const std::string& module, pass_direction way,
             std::size_t k) const {
        all.push_back({module, way, stretto::equal_chunks(q_.tokens.value, k)});
    }
    /// "layers.*.moe" for "layers.3.moe"; what is not repeated names itself.
    static std::string pattern_of(const std::string& module) {
        const std::string_view part = part_of(module);
        if (!is_repeated(part)) return module;
        return std::string(part.substr(0, part.rfind('.'))) + ".*" + module.substr(part.size());
    }
    /// The number of chunks that most of the units have; the smaller one of two.
    std::size_t most_frequent(const std::vector<std::size_t>& units) const {
        std::vector<std::size_t> times(most_ + 1, 0);
        for (std::size_t u : units) ++times[chosen_[u]];
        return static_cast<std::size_t>(std::max_element(times.begin(), times.end()) - times.begin());
    }
    /// The number of chunks that settings give a unit.
    std::size_t given(const std::vector<stretto::module_chunks>& settings, std::size_t u) const {
        std::size_t k = 1;
        for (const stretto::module_chunks& s : settings) {
            const bool named = s.pattern.empty() || !stretto::matched_module(units_[u].module, s.pattern).empty();
            if (named && (s.direction == pass_direction::both || s.direction == units_[u].direction))
                k = s.sizes.size();
        }
        return k;
    }

    const chunk_question& q_;
    std::size_t most_ = 1;
    std::vector<unit> units_;
    std::vector<std::uint32_t> unit_of_;            // of a node
    std::vector<std::string> modules_, parts_;      // in the order of the units
    std::vector<std::size_t> module_of_, part_of_;  // of a unit
    nanoseconds best_;
    choice chosen_;                      // empty: whole
    std::vector<std::int64_t> exposed_;  // of the best schedule, by unit
    std::vector<std::size_t> exchanges_;
    std::set<choice> tried_;  // of refinement
    std::size_t budget_ = SIZE_MAX;
};

}  // namespace

chunk_answer best_chunks(const chunk_question& q, std::size_t most) { return search(q, most).run(); }

bool slices_are_better(const chunk_question& q, const chunk_regions& regions) {
    if (q.how != recombining::either) return q.how == recombining::slices;
    return is_faster_in_slices(q, regions, time_of(q, regions, false));
}

bool any_in_chunks(const stretto::capture& step, const stretto::capture_tensors& tensors,
                   const stretto::capture_token_symbol& tokens, const std::vector<std::uint32_t>& nodes) {
    chunk_regions everything{{{}, stretto::equal_chunks(tokens.value, 2)}};
    for (std::uint32_t v = 0; v < step.size(); ++v)
        if (step.kind(v) != stretto::op_kind::input && step.kind(v) != stretto::op_kind::output)
            everything[0].candidates.push_back(v);
    const auto made = tasks_in_chunks(step, tensors, tokens, everything, false);
    if (!made) return false;
    return std::any_of(nodes.begin(), nodes.end(), [&](std::uint32_t v) {
        return std::count(made->original.begin(), made->original.end(), v) > 1;
    });
}

stretto::chunk_options options_for(bool slices) {
    stretto::chunk_options options;
    options.skip_refused = true;
    if (slices) options.slices_from = 0;
    return options;
}

}  // namespace planner
