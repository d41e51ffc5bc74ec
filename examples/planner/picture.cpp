#include "picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "human_units.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/schedule/chrome_trace.hpp"

namespace planner {

const std::string_view picture_style = R"css(
.picture { --text: #1f2328; --faint: #59636e; --line: #d1d9e0; --back: #ffffff; --track: #f3f5f8; --saved: #dafbe1; --saved-text: #1a7f37;
  --kernel: #9fb3c8; --stall: #d1242f; --all_gather: #1f9e89; --reduce_scatter: #8250df; --all_reduce: #b08800;
  --all_to_all: #0969da; --other: #6e7781; --memory: #c4ccd6; --limit: #bc4c00; }
@media (prefers-color-scheme: dark) { .picture { --text: #e6edf3; --faint: #9198a1; --line: #3d444d; --back: #0d1117;
  --track: #161b22; --saved: #12361f; --saved-text: #3fb950; --kernel: #5d7289; --stall: #ff5c5c; --all_gather: #2bb5a0;
  --reduce_scatter: #ab7df8; --all_reduce: #d4a72c; --all_to_all: #4493f8; --other: #8b949e; --memory: #3d4856;
  --limit: #f0883e; } }
.picture text { font: 12px system-ui, -apple-system, "Segoe UI", "Helvetica Neue", sans-serif; fill: var(--text); }
.picture .faint { fill: var(--faint); font-size: 11px; } .picture .strong { font-weight: 600; font-size: 14px; }
.picture .right { text-anchor: end; } .picture .middle { text-anchor: middle; }
.picture .back { fill: var(--back); } .picture .track { fill: var(--track); } .picture .saved { fill: var(--saved); }
.picture .saved-text { fill: var(--saved-text); font-weight: 600; }
.picture .kernel { fill: var(--kernel); } .picture .stall { fill: var(--stall); }
.picture .all_gather { fill: var(--all_gather); } .picture .reduce_scatter { fill: var(--reduce_scatter); }
.picture .all_reduce { fill: var(--all_reduce); } .picture .all_to_all { fill: var(--all_to_all); }
.picture .other { fill: var(--other); } .picture .memory { fill: var(--memory); }
.picture .limit { stroke: var(--limit); stroke-dasharray: 5 3; } .picture .grid { stroke: var(--line); }
.picture .end { stroke: var(--text); stroke-width: 1.5; }
.picture .limit-text { fill: var(--limit); font-size: 11px; }
)css";

namespace {

using stretto::nanoseconds;
using stretto::op_kind;
using stretto::task_id;

// All lengths are in units of the picture.
constexpr int picture_width = 1200;
constexpr int plot_left = 138;
constexpr int plot_width = picture_width - plot_left - 32;
constexpr int lane_height = 28;
constexpr int channel_height = 18;
constexpr int memory_height = 54;
constexpr int spacing = 6;

std::string number(double x) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f", x);
    std::string s = text.data();
    if (s.ends_with(".0")) s.resize(s.size() - 2);
    return s;
}

/// Returns a rectangle as commands of an SVG path.
std::string rectangle(double x, double y, double w, double h) {
    return "M" + number(x) + " " + number(y) + "h" + number(w) + "v" + number(h) + "h" + number(-w) + "z";
}

look look_of(stretto::collective_kind kind) {
    switch (kind) {
        case stretto::collective_kind::all_gather:
            return look::all_gather;
        case stretto::collective_kind::reduce_scatter:
            return look::reduce_scatter;
        case stretto::collective_kind::all_reduce:
            return look::all_reduce;
        case stretto::collective_kind::all_to_all:
            return look::all_to_all;
        case stretto::collective_kind::other:
            break;
    }
    return look::other;
}

/// Draws bars as paths, one per look. A bar of two units or more is a rectangle. Smaller ones are not drawn one by one
/// but added up: a column, one unit wide, is filled to the share of its time that bars of that look take, stalls from
/// the top and everything else from the bottom. So areas stay true, however many bars there are.
class lane_paths {
public:
    lane_paths(int height, double units_per_ns) : height_(height), scale_(units_per_ns) {
        for (auto& shares : columns_) shares.assign(plot_width + 1, 0.0);
        covered_.assign(plot_width + 1, 0.0);
    }

    void add(const bar& b) {
        const double x0 = static_cast<double>(b.begin.count) * scale_, x1 = static_cast<double>(b.end.count) * scale_;
        const auto l = static_cast<std::size_t>(b.drawn_as);
        if (x1 - x0 >= 2) {
            paths_[l] += rectangle(x0, 0, x1 - x0, height_);
            const double first = std::floor(x0), last = std::floor(x1);
            cover(first, first + 1 - x0);
            cover(last, x1 - last);
            return;
        }
        for (double x = x0; x < x1;) {
            const auto column = static_cast<std::size_t>(x);
            const double until = std::min(x1, static_cast<double>(column + 1));
            columns_[l][std::min<std::size_t>(column, plot_width)] += until - x;
            x = until;
        }
    }

    std::string svg() {
        std::vector<int> filled(plot_width + 1, 0);
        for (std::size_t l = 0; l < paths_.size(); ++l) {
            const bool from_top = static_cast<look>(l) == look::stall;
            for (std::size_t i = 0; i <= plot_width;) {
                const auto height_at = [&](std::size_t column) {
                    // Only the part of a column that rectangles leave free can be filled.
                    const double room = std::max(1 - covered_[column], 0.01);
                    return static_cast<int>(std::lround(std::min(columns_[l][column] / room, 1.0) * height_));
                };
                const int h = height_at(i), below = from_top ? 0 : filled[i];
                std::size_t end = i + 1;
                while (end <= plot_width && height_at(end) == h && (from_top || filled[end] == below)) ++end;
                if (h > 0)
                    paths_[l] += rectangle(static_cast<double>(i), from_top ? 0 : height_ - below - h,
                                           static_cast<double>(end - i), h);
                for (; i < end; ++i)
                    if (!from_top) filled[i] += h;
            }
        }
        std::string out;
        for (std::size_t l = 0; l < paths_.size(); ++l)
            if (!paths_[l].empty())
                out += "<path class=\"" + std::string(look_names[l]) + "\" d=\"" + paths_[l] + "\"/>";
        return out;
    }

private:
    void cover(double column, double share) {
        covered_[std::min(static_cast<std::size_t>(column), covered_.size() - 1)] += share;
    }

    int height_;
    double scale_;
    std::vector<double> covered_;  // by column: the share that rectangles cover
    std::array<std::string, std::size(look_names)> paths_;
    std::array<std::vector<double>, std::size(look_names)> columns_;  // by look and column: the share of small bars
};

std::string text_at(double x, double y, const char* style, const std::string& text) {
    return "<text class=\"" + std::string(style) + "\" x=\"" + number(x) + "\" y=\"" + number(y) + "\">" +
           escaped(text) + "</text>";
}

std::string shortened(const std::string& text, std::size_t length) {
    const std::string shown = stretto::printable(text);
    return shown.size() <= length ? shown : shown.substr(0, length - 3) + "...";
}

/// Returns which step of a run is shown: "step 290, one of 20, rank 0". Steps have the numbers that the run gives them.
std::string which_step(const run_comparison& m) {
    return "step " + std::to_string(m.run.middle.number) + ", one of " + std::to_string(m.run.steps.size()) +
           ", rank " + std::to_string(m.rank);
}

class drawing {
public:
    explicit drawing(const comparison& c) : c_(c) {
        const auto shown = static_cast<double>(std::max<std::int64_t>(time_shown(c).count, 1));
        scale_ = plot_width / shown;
        std::int64_t most = std::max(c.before.memory.peak.count, c.after.memory.peak.count);
        // A limit far above both peaks would flatten the curves, so it is not drawn.
        limit_drawn_ = c.memory_limit.count <= most * 3 / 2;
        if (limit_drawn_) most = std::max(most, c.memory_limit.count);
        bytes_at_top_ = std::max(1.0, static_cast<double>(most) * 1.1);
    }

    std::string draw() {
        y_ = 8;
        side(c_.before, 0, "before");
        y_ += 14;
        side(c_.after, 1, "after");
        if (c_.measured) {
            y_ += 14;
            side(c_.measured->shown, 2, "measured");
        }
        axis();
        legend();
        const std::string height = std::to_string(y_);
        return "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"picture\" viewBox=\"0 0 " +
               std::to_string(picture_width) + " " + height + "\" role=\"img\" aria-label=\"" +
               escaped(stretto::printable(c_.name)) + ": the step takes " + human(c_.before.times.makespan) +
               " before and " + human(c_.after.times.makespan) + " after\" data-left=\"" + std::to_string(plot_left) +
               "\" data-width=\"" + std::to_string(plot_width) + "\"><clipPath id=\"plot\"><rect width=\"" +
               std::to_string(plot_width) + "\" height=\"" + height + "\"/></clipPath><rect class=\"back\" width=\"" +
               std::to_string(picture_width) + "\" height=\"" + height + "\"/>" + out_ + "</svg>";
    }

private:
    /// Opens a group whose origin is the top left corner of a strip of the plot.
    void strip(const std::string& id, int height) {
        out_ += "<g transform=\"translate(" + std::to_string(plot_left) + "," + std::to_string(y_) +
                ")\"><rect class=\"track\" width=\"" + std::to_string(plot_width) + "\" height=\"" +
                std::to_string(height) + "\"/><g id=\"" + id + "\" data-height=\"" + std::to_string(height) +
                "\" clip-path=\"url(#plot)\">";
    }

    void side(const timeline& t, int number_of_side, const char* title) {
        const std::string side_id = std::to_string(number_of_side);
        const int top = y_;
        y_ += 14;
        std::string heading = "step " + human(t.times.makespan);
        const std::string saved = change(c_.before.times.makespan, t.times.makespan);
        if (number_of_side == 1 && !saved.empty()) heading += " (" + saved + ")";
        if (number_of_side == 2) heading += " (" + which_step(*c_.measured) + ")";
        out_ += text_at(plot_left - 10, y_, "strong right", title) + text_at(plot_left, y_, "strong", heading) +
                text_at(plot_left + plot_width, y_, "faint right",
                        (number_of_side == 2 ? "blocked " : "exposed communication ") + human(t.times.exposed));
        y_ += 10;
        std::size_t k = 0;
        std::string looks;
        for (const lane& l : lanes_of(t)) {
            const int height = k == 0 ? lane_height : channel_height;
            out_ += text_at(plot_left - 10, y_ + height / 2 + 4, "right", shortened(l.title, 18));
            strip("lane" + side_id + "-" + std::to_string(k), height);
            lane_paths paths(height, scale_);
            for (const bar& b : l.bars) {
                paths.add(b);
                used_[static_cast<std::size_t>(b.drawn_as)] = true;
            }
            out_ += paths.svg() + "</g></g>";
            y_ += height + spacing;
            ++k;
        }
        memory(t, side_id);
        end_of_step(t, side_id, top + 20);
    }

    /// Draws the end of the step as a line through all lanes of a side, and the time that is saved as an area to its
    /// right.
    void end_of_step(const timeline& t, const std::string& side_id, int top) {
        const int height = y_ - top - spacing;
        const double x = static_cast<double>(t.times.makespan.count) * scale_;
        out_ += "<g transform=\"translate(" + std::to_string(plot_left) + "," + std::to_string(top) +
                ")\"><g id=\"end" + side_id + "\" data-height=\"" + std::to_string(height) +
                "\" clip-path=\"url(#plot)\">";
        const nanoseconds saved = c_.before.times.makespan - t.times.makespan;
        if (saved.count > 0 && side_id != "2") {
            const double w = static_cast<double>(saved.count) * scale_;
            out_ += "<path class=\"saved\" d=\"" + rectangle(x, 0, w, height) + "\"/>";
            if (w > 60)
                out_ += text_at(x + w / 2, height / 2, "saved-text middle", human(saved)) +
                        text_at(x + w / 2, height / 2 + 15, "saved-text middle", "saved");
        }
        out_ += "<path class=\"end\" d=\"M" + number(x) + " 0v" + std::to_string(height) + "\"/></g></g>";
    }

    void memory(const timeline& t, const std::string& side_id) {
        const auto height_of = [&](stretto::bytes amount) {
            return memory_height * (1 - static_cast<double>(amount.count) / bytes_at_top_);
        };
        out_ += text_at(plot_left - 10, y_ + 22, "right", "memory") +
                text_at(plot_left - 10, y_ + 38, "faint right", "peak " + human(t.memory.peak));
        strip("memory" + side_id, memory_height);
        // Each column shows the most that is live in it, so a peak is never averaged away.
        std::vector<double> top(plot_width + 1, memory_height);
        const auto curve = stretto::live_over_time(t.of->graph, t.order, t.times, t.memory);
        for (std::size_t i = 0; i < curve.size(); ++i) {
            const nanoseconds until = i + 1 < curve.size() ? curve[i + 1].since : t.times.makespan;
            const auto from = static_cast<std::size_t>(static_cast<double>(curve[i].since.count) * scale_);
            const auto to = static_cast<std::size_t>(static_cast<double>(until.count) * scale_);
            for (std::size_t x = from; x <= std::min<std::size_t>(to, plot_width); ++x)
                top[x] = std::min(top[x], height_of(curve[i].live));
        }
        out_ += "<path class=\"memory\" d=\"M0 " + std::to_string(memory_height);
        for (std::size_t x = 0; x < top.size();) {
            std::size_t end = x + 1;
            while (end < top.size() && std::abs(top[end] - top[x]) < 0.25) ++end;
            out_ += "V" + number(top[x]) + "H" + std::to_string(end);
            x = end;
        }
        out_ += "V" + std::to_string(memory_height) + "z\"/></g>";
        if (limit_drawn_) {
            const double y = height_of(c_.memory_limit);
            out_ += "<path class=\"limit\" d=\"M0 " + number(y) + "h" + std::to_string(plot_width) + "\"/>";
            out_ +=
                text_at(4, y < memory_height / 2.0 ? y + 12 : y - 4, "limit-text", "limit " + human(c_.memory_limit));
        }
        out_ += "<g id=\"scale" + side_id + "\" data-top=\"" +
                std::to_string(static_cast<std::int64_t>(bytes_at_top_)) + "\"/></g>";
        y_ += memory_height + spacing;
    }

    void axis() {
        const auto shown = static_cast<double>(time_shown(c_).count);
        out_ +=
            "<g transform=\"translate(" + std::to_string(plot_left) + "," + std::to_string(y_) + ")\"><g id=\"axis\">";
        // The distance of marks is the first of 1, 2, 5, 10, 20, ... nanoseconds that gives ten marks or fewer.
        double step = 1;
        for (int k = 0; shown / step > 10; ++k) step *= k % 3 == 1 ? 2.5 : 2;
        const double size = shown >= 1e6 ? 1e6 : shown >= 1e3 ? 1e3 : 1;
        const char* unit = shown >= 1e6 ? " ms" : shown >= 1e3 ? " us" : " ns";
        for (double t = 0; t <= shown; t += step) {
            const double x = t * scale_;
            out_ += "<path class=\"grid\" d=\"M" + number(x) + " 0v5\"/>";
            out_ += text_at(x, 18, "faint middle", t == 0 ? "0" : number(t / size) + unit);
        }
        out_ += "</g></g>";
        y_ += 30;
    }

    void legend() {
        double x = plot_left;
        static constexpr std::string_view meanings[] = {
            "kernels",   "exposed: the lane waits", "all-gather", "reduce-scatter", "all-reduce", "all-to-all",
            "collective"};
        for (std::size_t l = 0; l < used_.size(); ++l) {
            if (!used_[l]) continue;
            out_ += "<rect class=\"" + std::string(look_names[l]) + "\" x=\"" + number(x) + "\" y=\"" +
                    std::to_string(y_) + "\" width=\"12\" height=\"12\"/>" +
                    text_at(x + 17, y_ + 10, "faint", std::string(meanings[l]));
            x += 34 + 6.2 * static_cast<double>(meanings[l].size());
        }
        y_ += 22;
    }

    const comparison& c_;
    double scale_ = 0;
    double bytes_at_top_ = 1;
    bool limit_drawn_ = false;
    int y_ = 0;
    std::array<bool, std::size(look_names)> used_{};
    std::string out_;
};

}  // namespace

std::string escaped(std::string_view text) {
    std::string out;
    for (char c : text) switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                out += c;
        }
    return out;
}

std::vector<lane> lanes_of(const timeline& t) {
    const stretto::task_graph& g = t.of->graph;
    std::vector<lane> all(1 + g.groups);
    all[0].title = "compute";
    for (stretto::group_id k = 0; k < g.groups; ++k) all[1 + k].title = t.of->group(k);
    for (task_id v : t.order) {
        const nanoseconds begin = t.times.begin[v], end = t.times.end(g, v);
        if (g.kind[v] == op_kind::compute && end > begin) all[0].bars.push_back({v, begin, end, look::kernel});
        else if (g.kind[v] == op_kind::start && end > begin)
            all[1 + g.group[v]].bars.push_back({v, begin, end, look_of(g.collective[v])});
        else if (t.times.stall[v].count > 0) all[0].bars.push_back({v, begin - t.times.stall[v], begin, look::stall});
    }
    all.erase(std::remove_if(all.begin() + 1, all.end(), [](const lane& l) { return l.bars.empty(); }), all.end());
    return all;
}

std::vector<const timeline*> sides_of(const comparison& c) {
    std::vector<const timeline*> sides = {&c.before, &c.after};
    if (c.measured) sides.push_back(&c.measured->shown);
    return sides;
}

nanoseconds time_shown(const comparison& c) {
    nanoseconds longest;
    for (const timeline* t : sides_of(c)) longest = std::max(longest, t->times.makespan);
    return longest;
}

std::string svg_element(const comparison& c) { return drawing(c).draw(); }

std::string to_svg(const comparison& c) {
    std::string svg = svg_element(c);
    svg.insert(svg.find("<clipPath"), "<style>" + std::string(picture_style) + "</style>");
    return svg + "\n";
}

}  // namespace planner
