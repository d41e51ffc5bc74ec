// Writes captures as stretto-graph, version 1, with one node per line and members in a fixed order, so that files of
// equal steps are equal and two plans can be compared with diff. Needs zlib for files that end in ".gz".
#ifndef STRETTO_CAPTURE_CAPTURE_WRITER_HPP
#define STRETTO_CAPTURE_CAPTURE_WRITER_HPP

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_builder.hpp"
#include "stretto/capture/detail/capture_node_text.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/capture/gzip.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/schedule/json_quote.hpp"

namespace stretto {
namespace detail {

/// Prints one capture. Call print() once.
class capture_printer {
public:
    std::string print(const capture& c) {
        // An estimate and not a bound: some text is escaped again, and some numbers are longer than in the file.
        out_.reserve(c.size() * 96 + 4096);
        out_ += "{\"format\":\"stretto-graph\",\"version\":1,\"name\":";
        append_quoted(out_, c.name());
        out_ += ",\n\"groups\":[";
        for (std::size_t k = 0; k < c.groups().size(); ++k) print_group(c.groups()[k], k > 0);
        out_ += "],\n\"costs\":";
        print_costs(c.costs());
        if (!c.symbols().empty()) print_symbols(c.symbols());
        out_ += ",\n\"nodes\":[";
        for (std::size_t i = 0; i < c.size(); ++i) {
            out_ += i == 0 ? "\n" : ",\n";
            const auto v = static_cast<std::uint32_t>(i);
            append_node(out_, c, v, {c.inputs(v), c.aliases(v), c.writes(v)});
        }
        out_ += "\n]";
        print_further(c.fields());
        out_ += "}\n";
        return std::move(out_);
    }

private:
    void print_real(double x) {
        char digits[40];  // the shortest text that reads back as x
        out_.append(digits, std::to_chars(digits, digits + sizeof digits, x).ptr);
    }
    /// Appends the members that the reader has kept as text. They already form a list "key":value,...
    void print_further(std::string_view members) {
        if (members.empty()) return;
        out_ += ',';
        out_ += members;
    }

    void print_group(const capture_group& g, bool comma) {
        out_ += comma ? ",{\"name\":" : "{\"name\":";
        append_quoted(out_, g.name);
        out_ += ",\"size\":";
        append_number(out_, g.size);
        if (!g.ranks.empty()) append_numbers(out_, ",\"ranks\":", g.ranks);
        if (g.duplicate_of != no_group) {
            out_ += ",\"duplicate_of\":";
            append_number(out_, g.duplicate_of);
        }
        print_further(g.fields);
        out_ += '}';
    }

    /// Prints the costs. capture_builder has sorted the tables, so those of one group are adjacent.
    void print_costs(const capture_costs& costs) {
        out_ += "{\"memory_bytes_per_second\":";
        // A bandwidth that doubles hold exactly is written as an integer: 3350000000000, not 3.35e+12.
        const double x = costs.memory_bytes_per_second;
        if (x < 9e15 && x == static_cast<double>(static_cast<std::int64_t>(x)))
            append_number(out_, static_cast<std::int64_t>(x));
        else print_real(x);
        out_ += ",\"launch_ns\":";
        append_number(out_, costs.launch.count);
        out_ += ",\"collectives\":{";
        const collective_cost_table* last = nullptr;  // tables of one group are written together
        for (const collective_cost_table& t : costs.collectives) {
            if (last == nullptr || last->group != t.group) {
                out_ += last == nullptr ? "" : "},";
                append_quoted(out_, t.group);
                out_ += ":{";
            } else {
                out_ += ',';
            }
            last = &t;
            append_quoted(out_, collective_names[static_cast<std::size_t>(t.collective)]);
            char open = '[';
            out_ += ':';
            for (const cost_point& p : t.points) {
                out_ += open;
                out_ += '[';
                append_number(out_, p.payload.count);
                out_ += ',';
                append_number(out_, p.time.count);
                out_ += ']';
                open = ',';
            }
            out_ += ']';
        }
        out_ += last == nullptr ? "}" : "}}";
        print_further(costs.fields);
        out_ += '}';
    }

    /// Symbols keep their order in the file.
    void print_symbols(std::span<const capture_symbol> symbols) {
        out_ += ",\n\"symbols\":";
        char open = '{';
        for (const capture_symbol& s : symbols) {
            out_ += open;
            append_quoted(out_, s.name);
            out_ += ':';
            append_number(out_, s.value);
            open = ',';
        }
        out_ += '}';
    }

    std::string out_;
};

}  // namespace detail

/// Returns the capture as JSON text. Reading it gives an equal capture, and writing that gives the same text. O(text).
inline std::string to_json(const capture& c) { return detail::capture_printer().print(c); }

/// Writes a capture and returns the size of the file in bytes. It is gzipped if the path ends in ".gz" (the same
/// capture gives the same bytes); "-" is standard output. Fails if the file cannot be written, and may then leave it
/// incomplete.
inline expected<std::uint64_t, diagnostic> write_capture(const capture& c, const std::string& path) {
    return write_text(path, to_json(c));
}

/// Returns the same nodes in another order: node order[i] becomes node i, and references by position are renumbered.
/// The order of inputs stays, so "%k" in arguments keeps its meaning. The call fails if the order names a node twice or
/// not at all, or puts one before a node that it reads, aliases or writes. It takes O(V log V + E + text) time.
inline expected<capture, diagnostic> reordered(const capture& c, std::span<const std::uint32_t> order) {
    std::vector<std::uint32_t> position(c.size(), UINT32_MAX);
    for (std::size_t i = 0; i < order.size(); ++i) {
        const std::uint32_t v = order[i];
        if (v >= c.size() || position[v] != UINT32_MAX)
            return unexpected(detail::fault_of_step(
                "order", "names node " + std::to_string(v) + (v >= c.size() ? ", which does not exist" : " twice"),
                "an order names every node of the step once"));
        position[v] = static_cast<std::uint32_t>(i);
    }
    if (order.size() != c.size())
        return unexpected(detail::fault_of_step(
            "order", "has " + std::to_string(order.size()) + " of " + std::to_string(c.size()) + " nodes",
            "an order names every node of the step once"));
    capture_builder plan = capture_builder::like(c);
    for (std::uint32_t v : order) {
        capture_node n = node_of(c, v);
        for (auto* list : {&n.inputs, &n.aliases, &n.writes})
            for (std::uint32_t& u : *list) u = position[u];
        plan.append(n);
    }
    return std::move(plan).build();
}

/// Writes the same nodes in another order, as a plan that can be checked against the step by name. Returns the size of
/// the file in bytes, and fails like reordered() and write_capture().
inline expected<std::uint64_t, diagnostic> write_plan(const capture& c, std::span<const std::uint32_t> order,
                                                      const std::string& path) {
    expected<capture, diagnostic> plan = reordered(c, order);
    if (plan) return write_capture(*plan, path);
    diagnostic d = plan.error();
    d.file = path;
    return unexpected(std::move(d));
}

}  // namespace stretto

#endif
