// A tensor program that a test spells out node by node, with its view and models, and arguments written as text:
// "%0 [2, -1] true dim=1".
#ifndef STRETTO_TESTS_ATEN_TENSOR_PROGRAM_HPP
#define STRETTO_TESTS_ATEN_TENSOR_PROGRAM_HPP

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/aten/interpreter.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/views/snapshot.hpp"

namespace support {

using stretto::element_type;
using stretto::op_kind;
using stretto::tensor_argument;
using stretto::aten::interpreted_value;
using stretto::aten::tensor;

/// Nodes in program order; one value each. Arguments that name "%k" mean the k-th of `reads`.
struct tensor_program {
    struct node {
        std::string name, operation;
        op_kind kind = op_kind::compute;
        std::uint32_t group = 0;
        std::vector<std::uint32_t> reads;
        std::vector<tensor_argument> positional;
        std::vector<stretto::named_tensor_argument> named;
        std::vector<std::vector<std::int64_t>> shapes;
        std::vector<stretto::tensor_type> recorded;
    };
    std::vector<node> nodes;
    std::vector<std::vector<interpreted_value>> inputs;  // by node, by rank

    std::uint32_t input(std::string name, std::vector<tensor> by_rank) {
        const std::uint32_t v = push(std::move(name), "placeholder", op_kind::input, {}, "");
        for (tensor& t : by_rank)
            inputs[v].push_back(interpreted_value{.tensors = {std::move(t)},
                                                  .places = {},
                                                  .is_number = false,
                                                  .scalar = {},
                                                  .in_flight = false,
                                                  .reads = {}});
        return v;
    }
    /// The same on every rank.
    std::uint32_t input(std::string name, const tensor& t, std::size_t ranks) {
        return input(std::move(name), std::vector<tensor>(ranks, t));
    }
    std::uint32_t add(std::string name, std::string operation, std::vector<std::uint32_t> reads,
                      std::string_view arguments = "") {
        return push(std::move(name), std::move(operation), op_kind::compute, std::move(reads), arguments);
    }
    std::uint32_t start(std::string name, std::string operation, std::vector<std::uint32_t> reads,
                        std::string_view arguments, std::uint32_t group = 0) {
        const std::uint32_t v =
            push(std::move(name), std::move(operation), op_kind::start, std::move(reads), arguments);
        nodes[v].group = group;
        return v;
    }
    std::uint32_t wait(std::string name, std::uint32_t launch) {
        return push(std::move(name), "_c10d_functional.wait_tensor.default", op_kind::wait, {launch}, "");
    }
    std::uint32_t output(std::vector<std::uint32_t> reads) {
        return push("output", "output", op_kind::output, std::move(reads), "");
    }
    void record(std::uint32_t v, element_type e, std::vector<std::int64_t> shape) {
        nodes[v].shapes = {std::move(shape)};
        nodes[v].recorded = {{nodes[v].shapes[0], e}};
    }

    [[nodiscard]] auto run(stretto::aten::interpreter_options options = {}) const;

private:
    std::uint32_t push(std::string name, std::string operation, op_kind kind, std::vector<std::uint32_t> reads,
                       std::string_view arguments) {
        node n;
        n.name = std::move(name);
        n.operation = std::move(operation);
        n.kind = kind;
        n.reads = std::move(reads);
        while (skip_blanks(arguments), !arguments.empty()) {
            const std::size_t word = arguments.find_first_of(" ,=[");
            if (word != std::string_view::npos && arguments[word] == '=') {
                names_.emplace_back(arguments.substr(0, word));
                arguments.remove_prefix(word + 1);
                n.named.push_back({names_.back(), parse(arguments)});
            } else n.positional.push_back(parse(arguments));
        }
        if (n.positional.empty() && n.named.empty())
            for (std::size_t k = 0; k < n.reads.size(); ++k) {
                tensor_argument a;
                a.what = tensor_argument::form::operand;
                a.integer = static_cast<std::int64_t>(k);
                n.positional.push_back(a);
            }
        nodes.push_back(std::move(n));
        inputs.emplace_back();
        return static_cast<std::uint32_t>(nodes.size() - 1);
    }
    static void skip_blanks(std::string_view& text) {
        while (text.starts_with(' ') || text.starts_with(',')) text.remove_prefix(1);
    }
    /// Takes one argument off the front.
    tensor_argument parse(std::string_view& text) {
        using form = tensor_argument::form;
        tensor_argument a;
        skip_blanks(text);
        if (text.starts_with('[')) {
            std::vector<tensor_argument> items;
            text.remove_prefix(1);
            while (skip_blanks(text), !text.starts_with(']')) items.push_back(parse(text));
            text.remove_prefix(1);
            lists_.push_back(std::move(items));
            a.what = form::list;
            a.items = lists_.back();
            return a;
        }
        const std::string_view word = text.substr(0, text.find_first_of(" ,]"));
        text.remove_prefix(word.size());
        if (word == "none") return a;
        if (word == "true" || word == "false") {
            a.what = form::truth;
            a.integer = word == "true";
        } else if (word.starts_with('%')) {
            a.what = form::operand;
            a.integer = std::atoll(std::string(word.substr(1)).c_str());
        } else if (word.find_first_not_of("-0123456789") == std::string_view::npos) {
            a.what = form::integer;
            a.integer = std::atoll(std::string(word).c_str());
        } else if (word.find_first_not_of("-+.e0123456789") == std::string_view::npos) {
            a.what = form::real;
            a.real = std::atof(std::string(word).c_str());
        } else {
            names_.emplace_back(word);
            a.what = form::text;
            a.text = names_.back();
        }
        return a;
    }

    std::deque<std::string> names_;
    std::deque<std::vector<tensor_argument>> lists_;
};

/// The program as a graph, and what its nodes are.
struct program_view {
    using vertex_type = std::uint32_t;
    using value_type = std::uint32_t;
    const tensor_program* p;

    [[nodiscard]] stretto::id_range vertices() const { return stretto::id_range(p->nodes.size()); }
    [[nodiscard]] std::size_t index(vertex_type v) const { return v; }
    [[nodiscard]] std::size_t index_bound() const { return p->nodes.size(); }
    [[nodiscard]] std::span<const value_type> operands(vertex_type v) const { return p->nodes[v].reads; }
    [[nodiscard]] std::array<value_type, 1> results(vertex_type v) const { return {v}; }
    [[nodiscard]] vertex_type producer(value_type x) const { return x; }
    [[nodiscard]] std::vector<vertex_type> consumers(value_type x) const {
        std::vector<vertex_type> all;
        for (std::uint32_t v = 0; v < p->nodes.size(); ++v)
            for (const std::uint32_t y : p->nodes[v].reads)
                if (y == x) all.push_back(v);
        return all;
    }
};
struct program_model {
    const tensor_program* p;

    [[nodiscard]] op_kind kind(std::uint32_t v) const { return p->nodes[v].kind; }
    [[nodiscard]] stretto::group_id group(std::uint32_t v) const { return p->nodes[v].group; }
    [[nodiscard]] std::string_view name(std::uint32_t v) const { return p->nodes[v].name; }
    [[nodiscard]] std::string_view operation(std::uint32_t v) const { return p->nodes[v].operation; }
    [[nodiscard]] std::span<const tensor_argument> arguments(std::uint32_t v) const { return p->nodes[v].positional; }
    [[nodiscard]] std::span<const stretto::named_tensor_argument> named_arguments(std::uint32_t v) const {
        return p->nodes[v].named;
    }
    [[nodiscard]] std::span<const stretto::tensor_type> components(std::uint32_t x) const {
        return p->nodes[x].recorded;
    }
};
static_assert(stretto::tensor_model<program_model, program_view> && stretto::op_model<program_model, program_view>);

inline auto tensor_program::run(stretto::aten::interpreter_options options) const {
    return stretto::aten::interpret(
        program_view{this}, program_model{this}, program_model{this},
        [this](std::uint32_t v) { return std::span<const interpreted_value>(inputs[v]); }, options);
}

/// What one operator makes of these tensors, on one rank.
inline auto run_operator(std::string operation, const std::vector<tensor>& given, std::string_view arguments) {
    tensor_program p;
    std::vector<std::uint32_t> reads;
    for (const tensor& t : given) reads.push_back(p.input("input " + std::to_string(reads.size()), t, 1));
    p.output({p.add("node", std::move(operation), reads, arguments)});
    return p.run();
}

/// Why that operator fails; "runs" if it does not.
inline std::string cause_of(std::string operation, const std::vector<tensor>& given, std::string_view arguments) {
    const auto done = run_operator(std::move(operation), given, arguments);
    return done ? "runs" : done.error().cause;
}

/// f64 and i64 tensors for short.
inline tensor floats(std::vector<std::int64_t> shape, std::vector<double> values) {
    return tensor::of(element_type::f64, std::move(shape), std::move(values));
}
inline tensor integers(std::vector<std::int64_t> shape, std::vector<std::int64_t> values) {
    return tensor::of_integers(element_type::i64, std::move(shape), std::move(values));
}

}  // namespace support

#endif
