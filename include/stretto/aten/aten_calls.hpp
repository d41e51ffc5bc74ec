// Says which calls of PyTorch's operators are pure functions of their operands, and which two calls compute the same
// results from the same operands. value_numbers (analysis/value_numbers.hpp) needs both to recognise recomputed values.
#ifndef STRETTO_ATEN_ATEN_CALLS_HPP
#define STRETTO_ATEN_ATEN_CALLS_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "stretto/aten/aten_dialect.hpp"
#include "stretto/aten/detail/aten_arguments.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/pure_call_model.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/transform/chunk_rules/any_rule.hpp"
#include "stretto/transform/chunk_rules/blocks.hpp"
#include "stretto/transform/chunk_rules/elementwise.hpp"
#include "stretto/transform/chunk_rules/transfer.hpp"

namespace stretto {

/// A pure_call_model of graphs with a tensor_model whose operators have the names of PyTorch's ATen and prims
/// operators. The operators for which aten_dialect has a rule are pure, collectives included, with three exceptions:
/// operators that leave memory unwritten (empty), attention with a dropout probability other than 0, and operators
/// whose rule is `refused`, such as random numbers and kernels that the program does not show. Two calls are the same
/// if their operators, their arguments and the recorded types of their results are equal. Each query takes O(log
/// operators + arguments + shapes of results).
template <dataflow_graph G, tensor_model<G> T>
class aten_calls {
public:
    aten_calls(G view, T tensors) : view_(view), tensors_(tensors) {}

    /// Returns whether the results of v depend only on its operator, its arguments and the contents of its operands.
    [[nodiscard]] bool is_pure(vertex_t<G> v) const {
        const std::string_view called = tensors_.operation(v);
        for (std::string_view name : unwritten)
            if (called == name) return false;
        const chunk_rules::any_rule rule = aten_dialect<G, T>(tensors_).rule(v);
        if (const auto* attends = rule.as<chunk_rules::attention>()) return !attends->drops;
        return rule.as<chunk_rules::unknown>() == nullptr && rule.as<chunk_rules::refused>() == nullptr;
    }

    /// Returns the position of the operand that v copies unchanged, if v is a copy, to any device or layout, or a cast
    /// to the same type. Returns SIZE_MAX for all other operations.
    [[nodiscard]] std::size_t copied_operand(vertex_t<G> v) const {
        // A conjugate has the rule of a copy, because it is a view with the same rows, but it has other elements.
        if (std::string_view(tensors_.operation(v)) == "aten._conj.default") return SIZE_MAX;
        const chunk_rules::any_rule rule = aten_dialect<G, T>(tensors_).rule(v);
        std::size_t from = chunk_rules::no_operand;
        if (const auto* copy = rule.as<chunk_rules::copy>()) from = copy->x;
        if (const auto* transfer = rule.as<chunk_rules::transfer>()) from = transfer->x;
        if (const auto* cast = rule.as<chunk_rules::cast>()) from = cast->x;
        if (from == chunk_rules::no_operand || rule.writes_in_place()) return SIZE_MAX;
        std::size_t k = 0;
        for (value_t<G> x : view_.operands(v)) {
            if (k++ != from) continue;
            for (value_t<G> y : view_.results(v))
                if (!same(components(x), components(y)) || components(x).size() != 1 ||
                    components(x)[0].element == element_type::other)
                    return SIZE_MAX;
        }
        return from;
    }

    /// Returns a hash of the operator and the arguments of v. Equal calls have equal hashes, on every rank and in every
    /// run.
    [[nodiscard]] std::uint64_t hash_of_call(vertex_t<G> v) const {
        fingerprint f;
        f.add(tensors_.operation(v));
        for (const tensor_argument& a : arguments(v)) f.add(a);
        for (const named_tensor_argument& a : named(v)) {
            f.add(a.name);
            f.add(a.value);
        }
        return f.hash;
    }

    /// Returns whether u and v are the same call. Their operands may be different values.
    [[nodiscard]] bool same_call(vertex_t<G> u, vertex_t<G> v) const {
        if (std::string_view(tensors_.operation(u)) != std::string_view(tensors_.operation(v))) return false;
        if (!detail::aten::same_arguments(arguments(u), arguments(v)) ||
            !detail::aten::same_arguments(named(u), named(v)))
            return false;
        auto&& of_u = view_.results(u);
        auto&& of_v = view_.results(v);
        auto x = of_u.begin();
        for (value_t<G> y : of_v) {
            if (x == of_u.end() || !same(components(*x), components(y))) return false;
            ++x;
        }
        return x == of_u.end();
    }

private:
    /// The operators whose results have arbitrary contents.
    static constexpr std::string_view unwritten[] = {"aten.empty.memory_format", "aten.empty_like.default",
                                                     "aten.new_empty.default"};

    /// An FNV-1a hash. It leaves out real numbers: calls that differ only in them share a hash, and same_call
    /// distinguishes them.
    struct fingerprint {
        std::uint64_t hash = 0xcbf29ce484222325u;

        void add(std::uint64_t word) {
            for (int shift = 0; shift < 64; shift += 8) hash = (hash ^ ((word >> shift) & 0xffu)) * 0x100000001b3u;
        }
        void add(std::string_view text) {
            for (char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
            add(text.size());
        }
        void add(const tensor_argument& a) {
            add(static_cast<std::uint64_t>(a.what));
            add(static_cast<std::uint64_t>(a.integer));
            add(a.text);
            add(a.items.size());
            for (const tensor_argument& item : a.items) add(item);
        }
    };

    [[nodiscard]] static bool same(const tensor_type& a, const tensor_type& b) {
        return a.element == b.element && same(a.shape, b.shape);
    }
    [[nodiscard]] static bool same(std::int64_t a, std::int64_t b) { return a == b; }
    template <class T1>
    [[nodiscard]] static bool same(std::span<const T1> a, std::span<const T1> b) {
        if (a.size() != b.size()) return false;
        for (std::size_t k = 0; k < a.size(); ++k)
            if (!same(a[k], b[k])) return false;
        return true;
    }

    [[nodiscard]] std::span<const tensor_argument> arguments(vertex_t<G> v) const { return tensors_.arguments(v); }
    [[nodiscard]] std::span<const named_tensor_argument> named(vertex_t<G> v) const {
        return tensors_.named_arguments(v);
    }
    [[nodiscard]] std::span<const tensor_type> components(value_t<G> x) const { return tensors_.components(x); }

    G view_;
    T tensors_;
};

}  // namespace stretto

#endif
