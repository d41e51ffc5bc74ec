// Reads the measurements of a run from the trace that chrome_trace::add_run has written: JSON or gzipped JSON, as any
// viewer of Chrome traces reads it. Slices whose args state a rank and a step belong to the run; everything else in the
// file, such as predictions or counters, is ignored. Needs simdjson and zlib.
#ifndef STRETTO_CAPTURE_RUN_READER_HPP
#define STRETTO_CAPTURE_RUN_READER_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/detail/json_members.hpp"
#include "stretto/capture/detail/json_walk.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/capture/gzip.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/schedule/measured_span.hpp"

namespace stretto {

/// A run whose operations are known by name.
struct named_run {
    std::vector<std::string> names;    ///< of operations, in the order in which the file first names them
    std::vector<measured_span> spans;  ///< `task` is a position in `names`; at least one
};

/// The part of a run that belongs to a step.
struct run_of_step {
    std::vector<measured_span> spans;  ///< `task` is a node of the step
    std::size_t unknown = 0;           ///< names of the run that no node has, or only one that takes no time
    std::optional<std::string> first_unknown = {};  ///< the first of these names
};

namespace detail {

/// Reads one text into a named_run.
class run_parser {
public:
    /// The run, or the first fault of the text. Call it once.
    expected<named_run, diagnostic> parse(std::string_view padded_text, std::size_t length) {
        const bool whole = json_.open(padded_text, length) && json_.root([&](std::string_view key, od::value v) {
            json_.outer = {};
            json_.field = key;
            std::string_view ignored;
            if (key != "traceEvents") return json_.any(v, ignored);
            return json_.array(v, [&](od::value event) { return read_event(event); });
        });
        if (!whole) return unexpected(std::move(json_.failure));
        if (!run_.spans.empty()) return std::move(run_);
        json_.outer = {};
        json_.field = "traceEvents";
        json_.fail("has no slice of a run", "those have \"rank\" and \"step\" among their args");
        return unexpected(std::move(json_.failure));
    }

private:
    // In microseconds: the time between a begin of -3e15 and an end of 6e15 fits into 64 bits as nanoseconds. Times
    // since 1970 are below 3e15 until the year 2065.
    static constexpr double longest = 3e15;

    /// Adds one event to the run, unless it is no complete slice (phase X) or lacks a rank or a step. Fails if a member
    /// that is read has the wrong type, or if a time of a slice is missing or out of range.
    bool read_event(od::value event) {
        static constexpr std::array<std::string_view, 5> keys = {"ph", "name", "ts", "dur", "args"};
        std::string_view phase, name, ignored;
        double begin = 0, taken = 0;
        std::optional<std::int64_t> rank, step;
        seen_keys seen;
        json_.outer = "traceEvents.";
        const bool whole = json_.object(event, [&](std::string_view key, od::value v) {
            const unsigned k = position_in(keys, key);
            json_.field = key;
            if (k < keys.size() && !seen.add(json_, k)) return false;
            switch (k) {
                case 0:
                    return json_.text(v, phase);
                case 1:
                    return json_.text(v, name);
                case 2:
                    return json_.real_number(v, begin);
                case 3:
                    return json_.real_number(v, taken);
                case 4:
                    return json_.object(v, [&](std::string_view member, od::value x) {
                        if (member != "rank" && member != "step") return json_.any(x, ignored);
                        json_.field = member;
                        std::int64_t number = 0;
                        if (!json_.amount(x, number)) return false;
                        (member == "rank" ? rank : step) = number;
                        return number <= UINT32_MAX || json_.fail("is too large", "ranks and steps are below 2^32");
                    });
                default:
                    return json_.any(v, ignored);
            }
        });
        if (!whole) return false;
        if (phase != "X" || !rank || !step) return true;
        for (const unsigned k : {1u, 2u, 3u})
            if (!seen.require(json_, k, keys[k])) return false;
        if (taken < 0 || taken > longest || std::abs(begin) > longest) {
            json_.field = taken < 0 || taken > longest ? "dur" : "ts";
            return json_.fail("is no time of a run", "times are microseconds; no slice ends before it begins");
        }
        const auto [at, is_new] = position_.try_emplace(std::string(name), static_cast<task_id>(run_.names.size()));
        if (is_new) run_.names.emplace_back(name);
        const std::int64_t since = std::llround(begin * 1e3);
        run_.spans.push_back({at->second,
                              {since},
                              {since + std::llround(taken * 1e3)},
                              static_cast<rank_id>(*rank),
                              static_cast<std::uint32_t>(*step)});
        return true;
    }

    json_walk json_;
    named_run run_;
    std::map<std::string, task_id, std::less<>> position_;
};

}  // namespace detail

/// Reads the run in a JSON text. `file_name` appears only in diagnostics. Fails if the text is too large, is no such
/// trace, or contains no slice of a run. O(text + S log N) for S slices with N names.
inline expected<named_run, diagnostic> parse_run(std::string text, std::string_view file_name,
                                                 const file_limits& limits = {}) {
    const std::size_t length = text.size();
    if (length > limits.max_bytes) return detail::too_large(file_name, limits.max_bytes, "");
    text.resize(length + simdjson::SIMDJSON_PADDING, ' ');
    expected<named_run, diagnostic> run = detail::run_parser().parse(text, length);
    if (run) return run;
    diagnostic fault = run.error();
    fault.file = std::string(file_name);
    return unexpected(std::move(fault));
}

/// Reads the run in a file, which is decompressed if its first bytes are those of gzip; "-" is standard input. Fails if
/// the file cannot be read, and otherwise like parse_run.
inline expected<named_run, diagnostic> read_run(const std::string& path, const file_limits& limits = {}) {
    expected<std::string, diagnostic> text = read_text(path, limits);
    if (!text) return unexpected(text.error());
    return parse_run(*std::move(text), path, limits);
}

/// Finds the operations of a run in a step, by their names. Inputs, views and outputs have no time of their own, so a
/// name that belongs to one of these counts as unknown. The slices of unknown names are left out. O(N log V + S).
inline run_of_step match_run(const named_run& run, const capture& step) {
    run_of_step made;
    std::vector<task_id> node(run.names.size(), no_task);
    for (std::size_t k = 0; k < run.names.size(); ++k) {
        const auto found = step.find(run.names[k]);
        if (found && (does_work(step.kind(*found)) || step.kind(*found) == op_kind::wait)) {
            node[k] = *found;
            continue;
        }
        ++made.unknown;
        if (!made.first_unknown) made.first_unknown = run.names[k];
    }
    for (measured_span s : run.spans) {
        s.task = node[s.task];
        if (s.task != no_task) made.spans.push_back(s);
    }
    return made;
}

}  // namespace stretto

#endif
