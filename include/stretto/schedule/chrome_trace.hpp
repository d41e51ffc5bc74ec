// Orders of a step are written as a Chrome trace (JSON), which ui.perfetto.dev and chrome://tracing open. Every order
// is a process and every machine is a thread, so that a step before and after scheduling appears one below the other.
//
// Perfetto accepts only slices that nest on a thread, and times in microseconds. Kernels and stalls share the thread of
// the lane, where they cannot overlap, and every channel has a thread of its own. Times are written with fractions of a
// microsecond, so no nanosecond is lost.
#ifndef STRETTO_SCHEDULE_CHROME_TRACE_HPP
#define STRETTO_SCHEDULE_CHROME_TRACE_HPP

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/schedule/json_quote.hpp"
#include "stretto/schedule/measured_span.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/simulate.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/schedule/task_labels.hpp"

namespace stretto {

/// Returns the name of a collective in traces and reports.
[[nodiscard]] constexpr std::string_view name_of(collective_kind kind) noexcept {
    switch (kind) {
        case collective_kind::all_gather:
            return "all_gather";
        case collective_kind::reduce_scatter:
            return "reduce_scatter";
        case collective_kind::all_reduce:
            return "all_reduce";
        case collective_kind::all_to_all:
            return "all_to_all";
        case collective_kind::other:
            break;
    }
    return "collective";
}

/// The number of live bytes from a moment on.
struct live_amount {
    nanoseconds since;
    bytes live;
    friend constexpr bool operator==(const live_amount&, const live_amount&) = default;
};

/// Returns the memory of an order over time: for each moment at which the lane reaches a task, the largest number of
/// bytes live at that moment, so that the maximum of the list is the peak. The list ascends in time, and neighbours
/// differ in bytes. O(V). Precondition: all arguments describe the same order.
[[nodiscard]] inline std::vector<live_amount> live_over_time(const task_graph& g, std::span<const task_id> order,
                                                             const simulation& times, const memory_profile& memory) {
    std::vector<live_amount> curve;
    nanoseconds lane;  // when the lane reaches a task; its channel may begin a start later
    for (std::size_t p = 0; p < order.size(); ++p) {
        const task_id t = order[p];
        if (!curve.empty() && curve.back().since == lane) {
            if (memory.live[p] > curve.back().live) curve.back().live = memory.live[p];
        } else {
            if (curve.size() > 1 && curve.back().live == curve[curve.size() - 2].live) curve.pop_back();
            curve.push_back({lane, memory.live[p]});
        }
        if (g.kind[t] == op_kind::compute) lane = times.end(g, t);
        else if (g.launch[t] != no_task) lane = times.begin[t];
    }
    if (curve.size() > 1 && curve.back().live == curve[curve.size() - 2].live) curve.pop_back();
    return curve;
}

/// Collects orders, each with its times and its memory, and writes the trace. There is a slice for every kernel, for
/// every collective on its channel, and for every wait for a collective; a wait that does not stall the lane has a
/// slice of no length. A flow leads from each collective to its waits, and a counter shows the largest number of live
/// bytes at each moment. Inputs, views, outputs and waits for nothing are omitted. The result is deterministic. O(V +
/// groups) time for each order and about 200 bytes of text per slice.
class chrome_trace {
public:
    /// Appends a process called `title`. All arguments must describe the same order of the tasks of `g`.
    template <task_labels L>
    void add(std::string_view title, const task_graph& g, std::span<const task_id> order, const simulation& times,
             const memory_profile& memory, const L& labels) {
        std::vector<bool> in_use(g.groups, false);
        for (task_id t : order)
            if (g.kind[t] == op_kind::start) in_use[g.group[t]] = true;
        open_process(title, in_use, labels);
        for (task_id t : order) {
            if (does_work(g.kind[t])) {
                open_work(g, t, times.begin[t], times.end(g, t) - times.begin[t], labels);
                out_ += "}}";
            } else if (g.launch[t] != no_task) {
                add_wait(g, t, times, labels.name(t), labels.name(g.launch[t]));
            }
        }
        for (const live_amount& m : live_over_time(g, order, times, memory)) {
            open_event("C");
            out_ += ",\"name\":\"live bytes\"";
            add_time(",\"ts\":", m.since);
            out_ += ",\"args\":{\"bytes\":" + std::to_string(m.live.count) + "}}";
        }
    }

    /// Appends a process called `title` with the measurements of one rank: all its steps one after the other, with
    /// times counted from `zero`. The slices name their rank and step, by which a reader distinguishes a run from a
    /// prediction (capture/run_reader.hpp). The process has neither flows nor memory. Precondition: `spans` are of
    /// tasks of `g`, and none begins before `zero`.
    template <task_labels L>
    void add_run(std::string_view title, const task_graph& g, std::span<const measured_span> spans, nanoseconds zero,
                 const L& labels) {
        std::vector<bool> in_use(g.groups, false);
        for (const measured_span& s : spans)
            if (g.kind[s.task] == op_kind::start) in_use[g.group[s.task]] = true;
        open_process(title, in_use, labels);
        for (const measured_span& s : spans) {
            if (does_work(g.kind[s.task])) {
                open_work(g, s.task, s.begin - zero, s.end - s.begin, labels);
            } else {
                open_slice(labels.name(s.task), "stall", 0, s.begin - zero, s.end - s.begin);
                add_text(",\"args\":{\"op\":", labels.op(s.task));
            }
            out_ += ",\"rank\":" + std::to_string(s.rank) + ",\"step\":" + std::to_string(s.step) + "}}";
        }
    }

    /// Returns the complete trace as JSON.
    [[nodiscard]] std::string json() && {
        std::string all = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
        all += out_;
        all += "\n]}\n";
        return all;
    }

private:
    /// Begins a process, to which all events belong that are written from now on. Its threads are the lane and the
    /// channels in use.
    template <task_labels L>
    void open_process(std::string_view title, const std::vector<bool>& groups_in_use, const L& labels) {
        ++process_;
        describe("process_name", 0, title);
        sort_at("process_sort_index", 0, process_);
        describe("thread_name", 0, "compute");
        sort_at("thread_sort_index", 0, 0);
        for (group_id k = 0; k < groups_in_use.size(); ++k) {
            if (!groups_in_use[k]) continue;
            const std::string group(labels.group(k));
            describe("thread_name", k + 1, "channel " + group);
            sort_at("thread_sort_index", k + 1, k + 1);
        }
    }
    /// Writes a slice of a kernel or a collective, and leaves its arguments open for more members.
    template <task_labels L>
    void open_work(const task_graph& g, task_id t, nanoseconds begin, nanoseconds duration, const L& labels) {
        const bool starts = g.kind[t] == op_kind::start;
        open_slice(labels.name(t), starts ? "collective" : "compute", starts ? g.group[t] + 1 : 0, begin, duration);
        add_text(",\"args\":{\"op\":", labels.op(t));
        if (!starts) return;
        add_text(",\"collective\":", name_of(g.collective[t]));
        add_text(",\"group\":", labels.group(g.group[t]));
        out_ += ",\"payload_bytes\":" + std::to_string(g.payload[t].count);
    }
    /// Begins an event and leaves it open for more members.
    void open_event(const char* phase) {
        out_ += out_.empty() ? "\n{\"ph\":\"" : ",\n{\"ph\":\"";
        out_ += phase;
        out_ += "\",\"pid\":" + std::to_string(process_);
    }
    void add_text(const char* key, std::string_view text) {
        out_ += key;
        detail::append_quoted(out_, text);
    }
    /// Writes microseconds with three digits after the point, so nothing is rounded. Precondition: the time is not
    /// negative.
    void add_time(const char* key, nanoseconds t) {
        const std::string fraction = std::to_string(t.count % 1000);
        out_ += key + std::to_string(t.count / 1000) + "." + std::string(3 - fraction.size(), '0') + fraction;
    }
    void describe(const char* what, std::uint32_t thread, std::string_view name) {
        open_event("M");
        out_ += ",\"tid\":" + std::to_string(thread) + ",\"name\":\"" + what + "\"";
        add_text(",\"args\":{\"name\":", name);
        out_ += "}}";
    }
    void sort_at(const char* what, std::uint32_t thread, std::uint32_t place) {
        open_event("M");
        out_ += ",\"tid\":" + std::to_string(thread) + ",\"name\":\"" + what +
                "\",\"args\":{\"sort_index\":" + std::to_string(place) + "}}";
    }
    void open_slice(std::string_view name, const char* category, std::uint32_t thread, nanoseconds begin,
                    nanoseconds duration) {
        open_event("X");
        out_ += ",\"tid\":" + std::to_string(thread) + ",\"cat\":\"" + category + "\"";
        add_text(",\"name\":", name);
        add_time(",\"ts\":", begin);
        add_time(",\"dur\":", duration);
    }
    void add_flow_end(const char* phase, std::uint32_t thread, nanoseconds at) {
        open_event(phase);
        out_ += ",\"tid\":" + std::to_string(thread) +
                ",\"cat\":\"wait\",\"name\":\"wait\",\"id\":" + std::to_string(flow_);
        add_time(",\"ts\":", at);
        out_ += '}';
    }

    /// By default, a flow ends at the next slice of its thread. It is therefore written before the slice of the wait,
    /// which may be empty.
    void add_wait(const task_graph& g, task_id t, const simulation& times, std::string_view name,
                  std::string_view start) {
        const nanoseconds reached = times.begin[t] - times.stall[t];
        ++flow_;
        add_flow_end("s", g.group[g.launch[t]] + 1, times.begin[g.launch[t]]);
        add_flow_end("f", 0, reached);
        open_slice(name, times.stall[t].count > 0 ? "stall" : "wait", 0, reached, times.stall[t]);
        add_text(",\"args\":{\"waits for\":", start);
        out_ += "}}";
    }

    std::string out_;
    std::uint32_t process_ = 0;
    std::uint64_t flow_ = 0;
};

}  // namespace stretto

#endif
