#include "bucketing.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "arguments.hpp"
#include "stretto/capture/bucket_capture.hpp"
#include "stretto/capture/capture_module_model.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/capture/group_names.hpp"
#include "stretto/capture/saturating_payloads.hpp"
#include "stretto/schedule/chrome_trace.hpp"
#include "stretto/transform/bucket_policies.hpp"
#include "stretto/transform/module_pattern.hpp"

namespace planner {
namespace {

using stretto::expected;
using stretto::unexpected;

/// Returns the bytes of a size such as "25MiB" or "unlimited", or 0 if the text is neither.
stretto::bytes parse_size(const std::string& text) {
    const auto parsed = parse_memory_limit(text);
    return !parsed || text.ends_with('x') ? stretto::bytes{} : parsed->limit({});
}

/// Returns the share of a text such as "90%", or 0 if it is none that is positive and less than the whole.
double parse_share(std::string_view text) {
    if (!text.ends_with('%')) return 0;
    text.remove_suffix(1);
    double percent = 0;
    const auto [rest, error] =
        std::from_chars(text.data(), text.data() + text.size(), percent, std::chars_format::fixed);
    const bool whole = error == std::errc{} && rest == text.data() + text.size();
    return whole && percent > 0 && percent < 100 ? percent / 100 : 0;
}

/// Returns the buckets that patterns ask for, in program order: one for each module that a pattern alone matches, and
/// one for all modules that patterns in one list match with the same wildcards. Modules that are named twice alone are
/// in one bucket. The error names a pattern that matches none.
expected<std::vector<stretto::module_bucket>, std::string> modules_named(
    const stretto::capture_modules& modules, const std::vector<std::vector<std::string>>& wanted) {
    std::vector<stretto::module_bucket> all;
    std::set<std::string_view> alone;
    for (const std::vector<std::string>& patterns : wanted) {
        std::map<std::string, std::size_t> bucket_of;  // by what the wildcards stand for
        std::set<std::string_view> known;
        for (const std::string& pattern : patterns) {
            bool any = false;
            for (const std::string& path : modules.paths()) {
                const std::string_view module = stretto::matched_module(path, pattern);
                any = any || !module.empty();
                if (module.empty() || !known.insert(module).second) continue;
                if (patterns.size() == 1 && !alone.insert(module).second) continue;
                const auto [at, fresh] = bucket_of.try_emplace(stretto::matched_wildcards(path, pattern), all.size());
                if (fresh) all.emplace_back();
                all[at->second].push_back(stretto::exact_pattern(module));
            }
            if (!any)
                return unexpected(
                    "--bucket " + stretto::printable(pattern) +
                    ": no operation of the step is in such a module; modules are named as the step does, such as " +
                    stretto::printable(modules.paths().size() > 1 ? stretto::exact_pattern(modules.paths()[1])
                                                                  : "none at all"));
        }
    }
    return all;
}

}  // namespace

expected<bucketing, std::string> parse_buckets(const std::string& text) {
    bucketing b;
    if (text == "auto") return b;
    if (text == "none") {
        b.wanted = false;
        return b;
    }
    b.choose = false;
    const std::size_t equals = stretto::find_unescaped(text, '=');
    const std::string size = equals == std::string::npos ? text : text.substr(equals + 1);
    b.saturation = parse_share(size);
    b.most = b.saturation > 0 ? stretto::unlimited_bytes : parse_size(size);
    const std::string named = "--bucket " + text + ": ";
    if (b.most.count <= 0)
        return unexpected(named + (equals == std::string::npos
                                       ? "is no size of buckets; write auto, none, 25MiB, 90%, or MODULE=25MiB"
                                       : "has no size of buckets behind the =; write 25MiB, 90% or unlimited"));
    const auto part_of = [&](std::size_t from, std::size_t within, char separator) {
        return std::min(stretto::find_unescaped(text, separator, from), within);
    };
    for (std::size_t i = 0; equals != std::string::npos && i <= equals;) {
        const std::size_t end = part_of(i, equals, ',');
        std::vector<std::string>& patterns = b.modules.emplace_back();
        while (i <= end) {
            const std::size_t next = part_of(i, end, '+');
            patterns.push_back(text.substr(i, next - i));
            i = next + 1;
            if (!stretto::is_module_pattern(patterns.back()))
                return unexpected(named +
                                  "names no module; write layers.3 or layers.* before the =, and \\ before any of "
                                  ", = : + \\ or a blank in a name");
            if (stretto::wildcards_in(patterns.back()) != stretto::wildcards_in(patterns[0]))
                return unexpected(named + stretto::printable(patterns[0]) + " and " +
                                  stretto::printable(patterns.back()) +
                                  " have a different number of * or ranges, so it is not clear which modules share a "
                                  "bucket; write layers.*.attention+layers.*.ffn");
        }
    }
    return b;
}

expected<std::optional<bucketed_step>, std::string> in_buckets(const stretto::capture& step, const bucketing& wanted,
                                                               stretto::bucket_search_options options) {
    using maybe = std::optional<bucketed_step>;
    if (!wanted.wanted) return maybe();
    const auto tensors = stretto::capture_tensors::read(step);
    if (!tensors && wanted.choose) return maybe();  // an order needs no arguments, and these cannot be read
    if (!tensors) return unexpected(tensors.error().message());
    const auto tags = stretto::traffic_of(step);
    options.limits.order = wanted.order;
    stretto::capture_bucket_plan plan;
    if (wanted.choose) {
        auto found = stretto::search_capture_buckets(
            step, *tensors, stretto::buckets_by_traffic<stretto::capture_view>{&tags}, options);
        if (!found) return unexpected(found.error().message());
        if (*found) plan = std::move((*found)->plan);
    } else {
        options.limits.most_bytes = wanted.most;
        const stretto::capture_modules modules = stretto::modules_of(step);
        const auto made = [&](const auto& choose) -> std::string {
            auto found = stretto::plan_capture_buckets(step, *tensors, choose, options.limits);
            if (!found) return found.error().message();
            plan = *std::move(found);
            return {};
        };
        const auto take = [&](const auto& choose) -> std::string {
            if (wanted.saturation <= 0) return made(choose);
            const auto most = stretto::saturating_payloads::make(step, choose, wanted.saturation);
            return most ? made(stretto::buckets_up_to{choose, *most}) : most.error().message();
        };
        std::string fault;
        if (wanted.modules.empty()) {
            fault = take(stretto::buckets_by_traffic<stretto::capture_view>{&tags});
        } else {
            const auto named = modules_named(modules, wanted.modules);
            if (!named) return unexpected(named.error());
            const auto choose = stretto::buckets_by_module<stretto::capture_view>::make(modules, tags, *named);
            if (!choose)
                return unexpected("--bucket: " + stretto::printable(choose.error().pattern) + " and " +
                                  stretto::printable(choose.error().other) +
                                  " have operations in common; name modules of which none is in another");
            fault = take(*choose);
        }
        if (!fault.empty()) return unexpected(fault);
    }
    if (plan.empty()) return maybe();
    auto made = stretto::bucketed(step, *tensors, plan);
    if (!made) return unexpected(made.error().message());

    bucketed_step result{*std::move(made), {}};
    const std::vector<std::string> groups = stretto::names_of_groups(step);
    for (const stretto::capture_bucket& b : plan.buckets) {
        const std::uint32_t first = b.members[0];
        shown_bucket& shown = result.buckets.emplace_back();
        shown.collective = stretto::name_of(step.collective(first));
        shown.group = groups[step.group(first)];
        for (std::uint32_t m : b.members) shown.members.emplace_back(step.name(m));
        shown.payload = b.payload;
        shown.received = b.received;
        shown.saved = b.alone - b.merged;
        shown.paid = b.copies;
    }
    std::size_t k = 0;  // the plan has buckets in the order in which the program launches them
    for (std::uint32_t v = 0; v < result.step.size() && k < result.buckets.size(); ++v)
        if (result.step.kind(v) == stretto::op_kind::start && !step.find(result.step.name(v)))
            result.buckets[k++].start = result.step.name(v);
    return maybe(std::move(result));
}

std::size_t members_of(const std::vector<shown_bucket>& buckets) {
    std::size_t all = 0;
    for (const shown_bucket& b : buckets) all += b.members.size();
    return all;
}
stretto::nanoseconds saved_by(const std::vector<shown_bucket>& buckets) {
    stretto::nanoseconds all;
    for (const shown_bucket& b : buckets) all += b.saved;
    return all;
}
stretto::nanoseconds paid_by(const std::vector<shown_bucket>& buckets) {
    stretto::nanoseconds all;
    for (const shown_bucket& b : buckets) all += b.paid;
    return all;
}

std::vector<const shown_bucket*> best_buckets(const std::vector<shown_bucket>& buckets, std::size_t count) {
    std::vector<const shown_bucket*> all;
    for (const shown_bucket& b : buckets) all.push_back(&b);
    std::stable_sort(all.begin(), all.end(),
                     [](const shown_bucket* a, const shown_bucket* b) { return a->saved > b->saved; });
    if (all.size() > count) all.resize(count);
    return all;
}

}  // namespace planner
