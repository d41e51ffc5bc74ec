// Describes a chunk plan as text: what it removes from the program (-), what it adds (+), and which requests have no
// effect (!).
#ifndef STRETTO_TRANSFORM_DESCRIBE_CHUNKS_HPP
#define STRETTO_TRANSFORM_DESCRIBE_CHUNKS_HPP

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/core/concepts.hpp"
#include "stretto/core/config.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/detail/recorded_program.hpp"

namespace stretto {
namespace detail {

/// A rewriter that writes lines instead of making operations. New values are numbered after those of the program.
class chunk_lines {
public:
    chunk_lines(const numbered_program& program, std::vector<std::string> operators, std::vector<std::string> values)
        : program_(program),
          operators_(std::move(operators)),
          values_(std::move(values)),
          made_(operators_.size()),
          now_(operators_.size()),
          erased_(operators_.size(), false) {}

    void insert_before(std::uint32_t v) { at_ = v; }
    std::vector<std::uint32_t> clone(std::uint32_t v, std::span<const std::uint32_t> operands, const chunk_part& part) {
        std::vector<std::uint32_t> results;
        for (std::uint32_t x : program_.results[v]) results.push_back(add_value(values_[x] + rows(part.rows)));
        add_line(results, operators_[v], operands);
        return results;
    }
    std::vector<std::uint32_t> split(std::uint32_t x, std::size_t dim, std::span<const std::int64_t> sizes) {
        std::vector<std::uint32_t> parts;
        chunk_interval at;
        for (std::int64_t size : sizes) {
            at = {at.first + at.count, size};
            parts.push_back(add_value(values_[x] + rows(at)));
        }
        add_line(parts, "split along " + std::to_string(dim) + " of ", {&x, 1});
        return parts;
    }
    std::uint32_t concat(std::span<const std::uint32_t> parts, std::size_t dim) {
        return join(parts, "concat along " + std::to_string(dim) + " of ");
    }
    std::uint32_t sum(std::span<const std::uint32_t> parts) { return join(parts, "sum of "); }
    std::uint32_t empty_like(std::uint32_t x, std::uint32_t) {
        const std::array<std::uint32_t, 1> whole = {add_value(values_[x] + "'")};
        add_line(whole, "empty", {});
        return whole[0];
    }
    std::uint32_t slice_write(std::uint32_t whole, std::uint32_t part, std::size_t dim,
                              std::span<const std::int64_t> sizes, std::size_t k) {
        chunk_interval at;
        for (std::size_t chunk = 0; chunk <= k; ++chunk) at = {at.first + at.count, sizes[chunk]};
        const std::array<std::uint32_t, 1> slice = {add_value(values_[whole] + rows(at))};
        add_line(slice, "written along " + std::to_string(dim) + " with ", {&part, 1});
        return whole;
    }
    void replace_uses(std::uint32_t v, std::uint32_t from, std::uint32_t to) {
        if (now_[v].empty()) now_[v].assign(program_.operands[v].begin(), program_.operands[v].end());
        for (std::uint32_t& x : now_[v])
            if (x == from) x = to;
    }
    void erase(std::uint32_t v) { erased_[v] = true; }

    /// All lines so far, in program order; runs of unchanged operations are only counted.
    [[nodiscard]] std::string text() const {
        std::string all;
        std::size_t unchanged = 0;
        const auto skip = [&] {
            if (unchanged != 0)
                all += "  ... " + std::to_string(unchanged) + (unchanged == 1 ? " operation\n" : " operations\n");
            unchanged = 0;
        };
        for (std::uint32_t v = 0; v < operators_.size(); ++v) {
            const bool changed = erased_[v] || !now_[v].empty();
            if (changed || !made_[v].empty()) skip();
            if (changed) all += "- " + line(program_.results[v], operators_[v], program_.operands[v]);
            all += made_[v];
            if (!now_[v].empty() && !erased_[v]) all += "+ " + line(program_.results[v], operators_[v], now_[v]);
            unchanged += !changed;
        }
        skip();
        return all;
    }

private:
    /// The suffix of the name of a part: "[4:6]".
    static std::string rows(chunk_interval at) {
        return "[" + std::to_string(at.first) + ":" + std::to_string(at.first + at.count) + "]";
    }
    std::uint32_t add_value(std::string name) {
        values_.push_back(std::move(name));
        return static_cast<std::uint32_t>(values_.size() - 1);
    }
    /// Adds a value that is named after a part, with a mark instead of the rows.
    std::uint32_t join(std::span<const std::uint32_t> parts, const std::string& how) {
        const std::string& part = values_[parts[0]];
        const std::array<std::uint32_t, 1> whole = {add_value(part.substr(0, part.rfind('[')) + "'")};
        add_line(whole, how, parts);
        return whole[0];
    }
    [[nodiscard]] std::string list(std::span<const std::uint32_t> values) const {
        std::string all;
        for (std::uint32_t x : values) all += (all.empty() ? "" : ", ") + values_[x];
        return all;
    }
    [[nodiscard]] std::string line(std::span<const std::uint32_t> results, const std::string& what,
                                   std::span<const std::uint32_t> operands) const {
        return (results.empty() ? std::string() : list(results) + " = ") + what + "(" + list(operands) + ")\n";
    }
    void add_line(std::span<const std::uint32_t> results, const std::string& what,
                  std::span<const std::uint32_t> operands) {
        made_[at_] += "+ " + line(results, what, operands);
    }

    const numbered_program& program_;
    std::vector<std::string> operators_, values_;
    std::vector<std::string> made_;                // by vertex: the lines of operations inserted before it
    std::vector<std::vector<std::uint32_t>> now_;  // by vertex: its current operands, if they have changed
    std::vector<char> erased_;
    std::uint32_t at_ = 0;
};

}  // namespace detail

/// Returns the changes that the plan makes to the program, as lines in program order. There is a line for every
/// operation that is removed (`- `) and for every operation that is added or has new operands (`+ `). Unchanged
/// operations are counted:
///
///       ... 2 operations
///     - y = scale(x)
///     + x[0:4], x[4:6] = split along 0 of (x)
///     + y[0:4] = scale(x[0:4])
///     + y[4:6] = scale(x[4:6])
///     + y' = concat along 0 of (y[0:4], y[4:6])
///     - output(y)
///     + output(y')
///
/// `x[4:6]` is the part of x in the chunk with rows 4 and 5 of the tokens; `y'` is y after recombination. If y is
/// written slice by slice, the lines are
///
///     + y[0:4] = scale(x[0:4])
///     + y' = empty()
///     + y'[0:4] = written along 0 with (y[0:4])
///     + y[4:6] = scale(x[4:6])
///     + y'[4:6] = written along 0 with (y[4:6])
///
/// A requested region that no token reaches changes nothing. It is named at the end, numbered from 0:
///
///     ! no token reaches region 1 of 2, in 3 chunks: it stays whole
///
/// `operator_name(v)` and `value_name(x)` return texts. The lines are recorded while apply_chunks runs, so they show
/// exactly what it does. Precondition: `g` is the view from which the plan was made. O(V + E).
template <vertex_list_graph G, class OperatorName, class ValueName>
    requires dataflow_graph<G> && indexed_graph<G> &&
             requires(OperatorName& operator_name, ValueName& value_name, vertex_t<G> v, value_t<G> x) {
                 { operator_name(v) } -> std::convertible_to<std::string_view>;
                 { value_name(x) } -> std::convertible_to<std::string_view>;
             }
[[nodiscard]] std::string describe_chunks(const chunk_plan<vertex_t<G>, value_t<G>>& plan, G g,
                                          OperatorName operator_name, ValueName value_name) {
    const detail::recorded_program<G> program(g);  // apply_chunks transforms it instead of the user's program
    std::vector<std::string> operators, names;
    for (vertex_t<G> v : g.vertices()) {
        operators.emplace_back(std::string_view(operator_name(v)));
        for (value_t<G> x : g.results(v)) names.emplace_back(std::string_view(value_name(x)));
    }
    const auto numbered = program.numbered(g, plan);
    for ([[maybe_unused]] const auto& o : numbered.operations)
        STRETTO_ASSERT(o.vertex != detail::not_recorded, "the plan is one of another program");
    detail::chunk_lines lines(program.numbers(), std::move(operators), std::move(names));
    apply_chunks(numbered, program.view(), lines);
    std::string text = lines.text();
    for (std::uint32_t r : plan.unreached)
        text += "! no token reaches region " + std::to_string(r) + " of " + std::to_string(plan.regions.size()) +
                ", in " + std::to_string(plan.regions[r].sizes.size()) + " chunks: it stays whole\n";
    return text;
}

}  // namespace stretto

#endif
