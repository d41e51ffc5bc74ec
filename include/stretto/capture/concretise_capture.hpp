// Replaces the symbolic extents of a captured step by values. Symbols survive every transform; after this call, the
// step holds for these values alone. Needs simdjson.
//
// Longer than 300 lines: the second pass writes what the first has found, and both scale the same sizes.
#ifndef STRETTO_CAPTURE_CONCRETISE_CAPTURE_HPP
#define STRETTO_CAPTURE_CONCRETISE_CAPTURE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_builder.hpp"
#include "stretto/capture/capture_fields.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/detail/argument_text.hpp"
#include "stretto/capture/detail/concrete_numbers.hpp"
#include "stretto/capture/detail/plan_prices.hpp"
#include "stretto/capture/detail/rename_operands.hpp"
#include "stretto/capture/diagnostic.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/cost/table.hpp"
#include "stretto/schedule/json_quote.hpp"
#include "stretto/transform/extent_expression.hpp"

namespace stretto {

namespace detail {

/// Carries out concretise_capture. A first pass over the nodes, in program order, finds new shapes and known numbers,
/// and stops at a guard that does not hold; a second pass writes the nodes.
class capture_concretiser {
public:
    capture_concretiser(const capture& step, const capture_tensors& tensors, std::span<const capture_symbol> values)
        : step_(step), tensors_(tensors), fields_(step), numbers_(step, tensors), nodes_(step.size()) {
        for (const capture_symbol& s : step.symbols()) recorded_[s.name] = s.value;
        for (const capture_symbol& s : values) now_[s.name] = s.value;
        all_ = recorded_;
        for (const auto& [name, value] : now_) all_[name] = value;
    }

    expected<capture, diagnostic> run() {
        for (const auto& [name, value] : now_) {
            if (!recorded_.contains(name))
                return unexpected(fault_of_step("symbols", "there is no symbol " + name, "they are listed in symbols"));
            if (value < 0) return unexpected(fault_of_step("symbols", name + " would be negative", "give an extent"));
        }
        for (std::uint32_t v = 0; v < step_.size(); ++v)
            if (const auto fault = look_at(v)) return unexpected(*fault);
        return rewritten();
    }

private:
    using node_id = std::uint32_t;

    struct node {
        std::optional<std::string> outputs;             // if they change
        std::optional<std::vector<std::string>> binds;  // if they change
        std::int64_t before = 0, after = 0;             // bytes of the tensors that change; they saturate
        std::int64_t same = 0;                          // and of those that do not
    };

    /// Records what changes in node v: the symbols that it still binds, its results, and the number that it computes,
    /// if it is known. Returns a fault if an extent is impossible, or if v is a guard that does not hold.
    std::optional<diagnostic> look_at(node_id v) {
        node& n = nodes_[v];
        if (step_.field(v, "binds")) {
            const std::vector<std::string> bound = fields_.texts(v, "binds").value_or(std::vector<std::string>());
            std::vector<std::string> rest;
            for (const std::string& symbol : bound)
                if (!now_.contains(symbol)) rest.push_back(symbol);
            if (tensors_.components(v).empty() && bound.size() == 1 && rest.empty())
                numbers_.set(v, now_.find(bound[0])->second);
            if (rest.size() != bound.size()) n.binds = std::move(rest);
        }
        if (const auto fault = look_at_outputs(v)) return fault;
        numbers_.compute(v);
        if (!numbers_.is_guard(v) || numbers_.holds(v).value_or(true)) return {};
        std::string text = "is a guard that the values make false";
        for (const tensor_argument& a : tensors_.arguments(v))
            if (a.what == tensor_argument::form::text) text += ": " + printable(a.text, 200);
        return fault_of_node(step_, v, "args", std::move(text), "the step was traced for other values");
    }

    /// Computes the results of v with the new values: their extents, their text, and the bytes before and after.
    std::optional<diagnostic> look_at_outputs(node_id v) {
        node& n = nodes_[v];
        const std::span<const tensor_type> types = tensors_.components(v);
        const bool symbolic = step_.outputs(v).find("\"symbolic\"") != std::string_view::npos;
        std::string text;
        for (std::size_t c = 0; c < types.size(); ++c) {
            concrete_numbers::extents known(types[c].shape.begin(), types[c].shape.end());
            std::vector<std::int64_t> shape(types[c].shape.begin(), types[c].shape.end());
            const std::int64_t width = width_of(tensors_.element_name(v, c)), before = size_of_tensor(width, shape);
            std::vector<std::string> extents;
            if (tensors_.is_symbolic(v, c))
                for (std::size_t d = 0; d < shape.size(); ++d) {
                    const std::string_view extent = tensors_.symbolic_extent(v, c, d);
                    extents.push_back(std::to_string(shape[d]));
                    if (extent.empty()) continue;
                    const std::optional<std::int64_t> value = value_of(extent, shape[d]);
                    if (!value || *value < 0)
                        return fault_of_node(step_, v, "outputs",
                                             "with these values there is no extent " + printable(extent),
                                             "extents are whole numbers that are not negative");
                    shape[d] = *value;
                    std::string rest = extent_expression::substituted(extent, now_);
                    const bool open = extent_expression::has_symbols(rest);
                    extents.back() = open ? std::move(rest) : std::to_string(*value);
                    known[d] = open ? std::nullopt : value;
                }
            const std::int64_t after = size_of_tensor(width, shape);
            if (before == after) n.same = sum(n.same, before);
            else n.before = sum(n.before, before), n.after = sum(n.after, after);
            text += c == 0 ? "[" : ",";
            if (symbolic) append_tensor(text, shape, tensors_.element_name(v, c), extents);
            if (types.size() == 1) numbers_.set_extents(v, std::move(known));
        }
        if (symbolic) n.outputs = text + "]";
        return {};
    }

    /// Returns the value of an extent. If its spelling is unknown to this library, this is the recorded extent as long
    /// as its symbols have their recorded values, and nothing otherwise.
    [[nodiscard]] std::optional<std::int64_t> value_of(std::string_view extent, std::int64_t as_recorded) const {
        if (const auto value = extent_expression::value(extent, all_)) return value;
        bool changed = false;
        extent_expression::for_each_symbol(extent, [&](std::string_view symbol) {
            const auto before = recorded_.find(symbol), after = all_.find(symbol);
            changed = changed || (after != all_.end() && before->second != after->second);
        });
        return changed ? std::nullopt : std::optional(as_recorded);
    }

    /// Returns, by node, whether it is removed: known numbers whose readers are removed or now contain the number
    /// itself, and guards that hold.
    std::vector<char> unneeded() const {
        std::vector<char> gone(step_.size(), false);
        for (node_id v = static_cast<node_id>(step_.size()); v-- > 0;) {
            if (numbers_.is_guard(v)) {
                gone[v] = step_.readers(v).empty() && numbers_.holds(v).has_value();
                continue;
            }
            if (!numbers_[v] || !numbers_.is_plumbing(v)) continue;
            gone[v] = true;
            for (node_id r : step_.readers(v)) gone[v] = gone[v] && (gone[r] || step_.kind(r) != op_kind::output);
        }
        return gone;
    }

    expected<capture, diagnostic> rewritten() {
        capture_builder made{std::string(step_.name())};
        made.set_costs(step_.costs());
        made.set_fields(std::string(step_.fields()));
        for (const capture_group& g : step_.groups()) made.add_group(g);
        for (const capture_symbol& s : step_.symbols())
            if (!now_.contains(s.name)) made.add_symbol(s.name, s.value);
        const std::vector<char> gone = unneeded();
        std::vector<node_id> position(step_.size(), none);
        for (node_id v = 0; v < step_.size(); ++v)
            if (!gone[v]) position[v] = made.append(rewritten_node(v, gone, position));
        return std::move(made).build();
    }

    /// Returns node v as it is written: with its new results and costs, known numbers in place of the nodes that
    /// computed them, and references to positions in the new step.
    capture_node rewritten_node(node_id v, const std::vector<char>& gone, const std::vector<node_id>& position) {
        capture_node n = node_of(step_, v);
        const node& now = nodes_[v];
        if (now.outputs) n.outputs = *now.outputs;
        n.allocation.count = grown(n.allocation.count, now);
        if (n.kind == op_kind::start && !n.inputs.empty())
            n.payload.count = grown(n.payload.count, nodes_[n.inputs[0]]);
        n.duration = duration(v, n.payload);

        // The output names the results, and reads them whether or not they are known. Other nodes read only unknown
        // values.
        std::vector<std::string> spelt(n.inputs.size());
        std::vector<node_id> inputs;
        bool renamed = false;
        for (std::size_t k = 0; k < n.inputs.size(); ++k) {
            const std::optional<concrete_number>& number = numbers_[n.inputs[k]];
            if (number && (n.kind != op_kind::output || gone[n.inputs[k]])) {
                spelt[k] = !number->truth ? std::to_string(number->value) : number->value != 0 ? "true" : "false";
                renamed = true;
                continue;
            }
            spelt[k] = "\"%" + std::to_string(inputs.size()) + '"';
            inputs.push_back(position[n.inputs[k]]);
        }
        std::vector<json_field> fields;
        for (json_field& f : n.fields) {
            if (renamed && (f.key == "args" || f.key == "kwargs")) f.text = keep(rename_operands(f.text, spelt));
            if (f.key == "binds" && now.binds) {
                if (now.binds->empty()) continue;
                std::string list;
                for (const std::string& symbol : *now.binds) {
                    list += list.empty() ? '[' : ',';
                    append_quoted(list, symbol);
                }
                f.text = keep(list + "]");
            }
            fields.push_back(f);
        }
        if (renamed && step_.field(v, "args").value_or("null") == "null") {
            std::string list;
            for (const std::string& s : spelt) list += (list.empty() ? "[" : ",") + s;
            std::erase_if(fields, [](const json_field& f) { return f.key == "args"; });
            fields.push_back({"args", keep(list + "]")});
        }
        n.fields = std::move(fields);
        n.inputs = std::move(inputs);
        for (std::vector<node_id>* list : {&n.aliases, &n.writes}) {
            std::erase_if(*list, [&](node_id x) { return gone[x]; });
            for (node_id& x : *list) x = position[x];
        }
        return n;
    }

    /// Returns the new duration of a node. A collective with another payload takes what the table says for that
    /// payload, or its recorded time if there is no table. A kernel takes its launch, plus the rest scaled by the
    /// growth of those operands and results that changed their size.
    [[nodiscard]] nanoseconds duration(node_id v, bytes payload) const {
        const nanoseconds recorded = step_.duration(v);
        if (step_.kind(v) == op_kind::start && payload != step_.payload(v)) {
            if (const collective_cost_table* t = step_.cost_table(step_.group(v), step_.collective(v)))
                return interpolate(t->points, payload);
        }
        const std::int64_t launch = step_.costs().launch.count;
        if (step_.kind(v) != op_kind::compute || recorded.count <= launch) return recorded;
        std::int64_t before = 0, after = 0;
        const auto add = [&](const node& n) {
            before = sum(before, n.before);
            after = sum(after, n.after);
        };
        add(nodes_[v]);
        if (!step_.op(v).starts_with("aten.new_"))  // these read nothing but a type
            for (node_id x : step_.inputs(v)) add(nodes_[x]);
        const std::int64_t work = recorded.count - launch;
        if (before == after || before == 0) return recorded;
        return {sum(launch, sum(scaled(work, before, after), 1))};  // rounded up
    }

    /// Scales an amount of bytes when some tensors of the node have changed. The amount is assumed to consist of these
    /// tensors alone if it is no larger than they were, of all tensors if it is larger than all, and otherwise of these
    /// and some of the others.
    static std::int64_t grown(std::int64_t amount, const node& n) {
        if (n.before == n.after) return amount;
        if (amount <= n.before) return scaled(amount, n.before, n.after);
        const std::int64_t before = sum(n.before, n.same), after = sum(n.after, n.same);
        if (amount > before) return scaled(amount, before, after);
        return sum(amount - n.before, n.after);
    }
    /// Returns amount * after / before, rounded down, or the amount itself if `before` is 0; it saturates.
    static std::int64_t scaled(std::int64_t amount, std::int64_t before, std::int64_t after) {
        __extension__ typedef __int128 wide;
        if (before == after || before == 0) return amount;
        return static_cast<std::int64_t>(std::min<wide>(static_cast<wide>(amount) * after / before, INT64_MAX));
    }
    /// Returns the sum of two amounts that are not negative; it saturates. No capture may hold more than that.
    static std::int64_t sum(std::int64_t a, std::int64_t b) { return a > INT64_MAX - b ? INT64_MAX : a + b; }
    /// Returns the bytes of a tensor whose elements have `width` bytes; it saturates.
    static std::int64_t size_of_tensor(std::int64_t width, std::span<const std::int64_t> shape) {
        std::int64_t size = width;
        for (std::int64_t extent : shape) {
            if (extent == 0) return 0;
            size = size > INT64_MAX / extent ? INT64_MAX : size * extent;
        }
        return size;
    }
    std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

    static constexpr node_id none = UINT32_MAX;

    const capture& step_;
    const capture_tensors& tensors_;
    capture_fields fields_;
    symbol_values recorded_, now_, all_;
    concrete_numbers numbers_;
    std::vector<node> nodes_;
    std::deque<std::string> texts_;
};

}  // namespace detail

/// Returns the step with `values` in place of their symbols: in the shapes of results, as numbers where nodes read
/// sizes or values computed from them, and in what nodes bind. An extent that mentions other symbols keeps those. If a
/// value differs from the recorded one, shapes, bytes, payloads and durations follow: durations of collectives by the
/// cost table of the step, or not at all without a table; those of kernels in proportion to the sizes of their tensors
/// that change. Sizes, arithmetic and comparisons that are no longer read are removed, and so are guards that hold; an
/// undecided guard stays. If a program measures a value at run time (a node binds it), the value given here is used
/// without a check.
///
/// `concretise_capture(step, tensors, step.symbols())` leaves no symbol at all. Dictionaries among the arguments are
/// rewritten too; the format has no nested graphs.
///
/// Fails, and names the node, if the values make a guard false or an extent negative or impossible to compute. Also
/// fails if a symbol is not one of the step, or its value is negative. O(length of the text).
[[nodiscard]] inline expected<capture, diagnostic> concretise_capture(const capture& step,
                                                                      const capture_tensors& tensors,
                                                                      std::span<const capture_symbol> values) {
    return detail::capture_concretiser(step, tensors, values).run();
}

}  // namespace stretto

#endif
