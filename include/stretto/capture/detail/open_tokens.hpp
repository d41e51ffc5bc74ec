// Computes the rows of chunks for any number of tokens: as expressions for shapes, and as nodes to which arguments
// refer.
//
// Shapes may be expressions in the symbol, but an argument must be a number or refer to a node that computes one. So
// the number of tokens is read from the shape of an input, and whatever follows from it is computed by nodes of the
// program's own arithmetic (sym_size, floordiv, add ...). Each such node is made once: a map from what it computes to
// the node keeps a step of thousands of clones from computing the same number thousands of times.
#ifndef STRETTO_CAPTURE_DETAIL_OPEN_TOKENS_HPP
#define STRETTO_CAPTURE_DETAIL_OPEN_TOKENS_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/schedule/json_quote.hpp"
#include "stretto/transform/extent_expression.hpp"

namespace stretto::detail {

/// Rows per chunk as functions of the number s of tokens. If the sizes are those of equal_chunks, chunk c of k has (s +
/// k - 1 - c)//k rows; otherwise all chunks but the last have fixed sizes, and the last one has the rest of s. For the
/// number of tokens to which the sizes add up, both give these sizes; for every s, they add up to s.
class open_sizes {
public:
    explicit open_sizes(std::span<const std::int64_t> sizes) : sizes_(sizes.begin(), sizes.end()) {
        for (std::int64_t n : sizes_) tokens_ += n;
        for (std::size_t c = 0; c < sizes_.size(); ++c) equal_ = equal_ && sizes_[c] == (tokens_ + plus(c)) / chunks();
    }

    /// Returns the number of tokens to which the sizes add up.
    [[nodiscard]] std::int64_t tokens() const noexcept { return tokens_; }
    [[nodiscard]] std::int64_t chunks() const noexcept { return static_cast<std::int64_t>(sizes_.size()); }
    /// Returns whether the sizes are those of equal_chunks.
    [[nodiscard]] bool equal() const noexcept { return equal_; }
    /// Returns the number that is added to s before the division by chunks().
    [[nodiscard]] std::int64_t plus(std::size_t c) const { return chunks() - 1 - static_cast<std::int64_t>(c); }
    /// Returns whether chunk c has the tokens that remain after chunks of fixed sizes.
    [[nodiscard]] bool is_rest(std::size_t c) const { return !equal_ && c + 1 == sizes_.size(); }
    [[nodiscard]] std::int64_t size(std::size_t c) const { return sizes_[c]; }
    /// Returns the smallest number of tokens for which no chunk is empty.
    [[nodiscard]] std::int64_t least() const { return equal_ ? chunks() : tokens_ - sizes_.back() + 1; }

    /// Returns the rows of chunk c as an expression, with `times` rows for each token.
    [[nodiscard]] std::string text(std::string_view symbol, std::size_t c, std::int64_t times) const {
        const std::string s(symbol);
        if (!equal_ && !is_rest(c)) return std::to_string(times * sizes_[c]);
        const std::string rows = is_rest(c) ? s + " - " + std::to_string(tokens_ - sizes_.back())
                                 : plus(c) == 0
                                     ? s + "//" + std::to_string(chunks())
                                     : "(" + s + " + " + std::to_string(plus(c)) + ")//" + std::to_string(chunks());
        return times == 1 ? rows : std::to_string(times) + "*(" + rows + ")";
    }

private:
    std::vector<std::int64_t> sizes_;
    std::int64_t tokens_ = 0;
    bool equal_ = true;
};

/// Numbers that follow a symbol, as nodes of a step. Each is made once, when it is first requested.
class open_tokens {
public:
    using node_id = std::uint32_t;
    /// Makes a node from its operator, the nodes that it reads, and its arguments.
    using maker = std::function<node_id(std::string_view op, std::span<const node_id> inputs, std::string args)>;

    struct number {
        std::int64_t value = 0;            ///< for the recorded number of tokens
        std::optional<node_id> node = {};  ///< the node that computes it, or nothing if it never changes
    };

    /// The place where the number of tokens can be read: dimension `dim` of an input, whose extent is `times` the
    /// symbol.
    struct source {
        node_id input;
        std::size_t dim;
        std::int64_t times;
    };
    /// Returns the first such dimension in program order; nothing if no input has one.
    [[nodiscard]] static std::optional<source> source_of(const capture& step, const capture_tensors& tensors,
                                                         std::string_view symbol) {
        for (node_id v = 0; v < step.size(); ++v) {
            if (step.kind(v) != op_kind::input) continue;
            if (tensors.components(v).size() != 1 || !tensors.is_symbolic(v, 0)) continue;
            for (std::size_t d = 0; d < tensors.components(v)[0].shape.size(); ++d)
                if (const auto times = extent_expression::multiple(tensors.symbolic_extent(v, 0, d), symbol))
                    return source{v, d, *times};
        }
        return std::nullopt;
    }

    open_tokens(std::string symbol, std::int64_t value, source from)
        : symbol_(std::move(symbol)), value_(value), from_(from) {}

    [[nodiscard]] const std::string& symbol() const noexcept { return symbol_; }
    [[nodiscard]] std::int64_t value() const noexcept { return value_; }
    [[nodiscard]] node_id input() const noexcept { return from_.input; }
    /// Returns how many times the number of tokens an extent is, or nothing if it is not written as a multiple of the
    /// symbol.
    [[nodiscard]] std::optional<std::int64_t> multiple(std::string_view extent) const {
        return extent_expression::multiple(extent, symbol_);
    }

    /// Returns the number of tokens.
    [[nodiscard]] number tokens(const maker& make) {
        const number extent =
            made(from_.times * value_, "aten.sym_size.int", {from_.input}, "," + std::to_string(from_.dim), make);
        return from_.times == 1 ? extent : with(value_, "floordiv", extent, from_.times, make);
    }
    /// Returns the rows of chunk c.
    [[nodiscard]] number rows(const open_sizes& sizes, std::size_t c, const maker& make) {
        if (sizes.is_rest(c)) return with(sizes.size(c), "sub", tokens(make), value_ - sizes.size(c), make);
        if (!sizes.equal()) return {sizes.size(c)};
        number n = tokens(make);
        if (sizes.plus(c) != 0) n = with(value_ + sizes.plus(c), "add", n, sizes.plus(c), make);
        return with(sizes.size(c), "floordiv", n, sizes.chunks(), make);
    }
    /// Returns the rows of all chunks before c, which may be the number of chunks.
    [[nodiscard]] number rows_before(const open_sizes& sizes, std::size_t c, const maker& make) {
        if (c == static_cast<std::size_t>(sizes.chunks())) return tokens(make);
        number all;
        for (std::size_t k = 0; k < c; ++k) {
            const number more = rows(sizes, k, make);
            if (!all.node) all = {all.value + more.value, more.node};
            else all = made(all.value + more.value, "add", {*all.node, *more.node}, "", make);
        }
        return all;
    }
    /// Returns a number, multiplied by a constant.
    [[nodiscard]] number product(number n, std::int64_t times, const maker& make) {
        if (!n.node || times == 1) return {n.value * times, n.node};
        return with(n.value * times, "mul", n, times, make);
    }

    /// Adds a guard that no chunk is empty. As for the guards below, its message states the condition and the reason.
    void require_rows(const open_sizes& sizes, const maker& make) {
        require("ge", tokens(make), sizes.least(),
                symbol_ + " >= " + std::to_string(sizes.least()) + ": every chunk has rows", make);
    }
    /// Adds a guard that the number of tokens is the recorded one, unless there is one already. Its message names the
    /// node `because`, which needs this.
    void require_value(std::string_view because, const maker& make) {
        if (!std::exchange(fixed_, true))
            require("eq", tokens(make), value_,
                    symbol_ + " == " + std::to_string(value_) + ": the extents of " + std::string(because), make);
    }

private:
    /// Adds a guard that n compares so with `other`. Its message is `text`.
    void require(std::string_view comparison, number n, std::int64_t other, const std::string& text,
                 const maker& make) {
        const number holds = with(1, comparison, n, other, make);
        std::string message = ",";
        append_quoted(message, text);
        made(0, "aten._assert_scalar.default", {*holds.node}, message, make);
    }
    /// Returns the number that `op` makes of a, which a node computes, and the constant b. With the recorded number of
    /// tokens it is `value`.
    number with(std::int64_t value, std::string_view op, number a, std::int64_t b, const maker& make) {
        return made(value, op, {*a.node}, "," + std::to_string(b), make);
    }
    /// Returns the number that `op` makes of these nodes and the further arguments `more`, with the node that computes
    /// it. The node is made unless it exists already.
    number made(std::int64_t value, std::string_view op, std::initializer_list<node_id> inputs, const std::string& more,
                const maker& make) {
        std::string key(op), args;
        for (std::size_t k = 0; k < inputs.size(); ++k) {
            key += " " + std::to_string(inputs.begin()[k]);
            args += (k == 0 ? "[\"%" : ",\"%") + std::to_string(k) + "\"";
        }
        // Operator, operands and further arguments say all that a node computes.
        const auto [at, is_new] = known_.try_emplace(key + more, 0);
        if (is_new) at->second = make(op, {inputs.begin(), inputs.size()}, args + more + "]");
        return {value, at->second};
    }

    std::string symbol_;
    std::int64_t value_;
    source from_;
    bool fixed_ = false;
    std::map<std::string, node_id> known_;  // by what they compute
};

}  // namespace stretto::detail

#endif
