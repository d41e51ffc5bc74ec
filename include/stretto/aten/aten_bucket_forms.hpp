// Recognises buckets in the forms in which PyTorch's passes write them, for programs with a tensor_model. Every form
// packs the parts of its members into one value, launches one collective on it, waits for it, and takes the results out
// of what arrives:
//
// - An all-gather sends the concatenation of flat parts, directly or through a slice of an empty buffer, or it sends
//   what bucketing's _pre_bucket_all_gather has packed. What arrives is viewed as one row for each rank. Results are
//   the members of a split_with_sizes along the columns, or clones of these, or empty tensors into which
//   split_with_sizes_copy copies.
// - A reduce-scatter sends the concatenation, along the columns, of parts that are viewed as one row for each rank, or
//   it sends what _pre_bucket_reduce_scatter has packed. Results are the members of a split_with_sizes, or clones.
// - An all-reduce sends the concatenation of flat parts. Results are taken out as for a reduce-scatter.
#ifndef STRETTO_ATEN_ATEN_BUCKET_FORMS_HPP
#define STRETTO_ATEN_ATEN_BUCKET_FORMS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "stretto/aten/detail/aten_arguments.hpp"
#include "stretto/aten/detail/program_reader.hpp"
#include "stretto/core/bucket_form_model.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/element_type.hpp"
#include "stretto/core/tensor_model.hpp"
#include "stretto/core/units.hpp"

namespace stretto {

/// A bucket_form_model of any graph with a tensor_model whose operators have the names that PyTorch gives them. A part
/// is the value before it is flattened if nothing else reads the flat value; a member then sends what it sent before it
/// was merged. A result is the clone of a getitem if nothing else reads the getitem. Buckets with symbolic extents, or
/// that mix integers with other types, are not recognised. Construction takes O(V + index bound). Each query takes O(n
/// log n), where n is the number of vertices of the bucket and readers of its values.
template <vertex_list_graph G, tensor_model<G> T>
    requires dataflow_graph<G> && indexed_graph<G>
class aten_bucket_forms : detail::aten::program_reader<G, T> {
    using V = vertex_t<G>;
    using X = value_t<G>;
    using form_type = bucket_form<V, X>;
    using base = detail::aten::program_reader<G, T>;
    using base::arguments, base::elements, base::is_symbolic, base::only_reader, base::only_result, base::op,
        base::operand, base::operands, base::type, base::view_;

public:
    aten_bucket_forms(G view, T tensors) : base(view, tensors), place_(view.index_bound(), 0) {
        std::size_t next = 0;
        for (V v : view.vertices()) place_[view.index(v)] = next++;
    }

    /// Returns the form of the bucket that v launches; nothing if v launches no bucket in one of the known forms.
    [[nodiscard]] std::optional<form_type> form(V v) const {
        bucket b;
        if (!begin(v, b) || !read_payload(v, b) || !read_arrival(v, b)) return std::nullopt;
        for (const auto* list : {&b.form.parts, &b.form.results})
            for (const bucket_slice<X>& s : *list)
                if (is_symbolic(s.value)) return std::nullopt;
        for (auto* list : {&b.form.packs, &b.form.unpacks})
            std::sort(list->begin(), list->end(), [this](V a, V c) { return place(a) < place(c); });
        return std::move(b.form);
    }

private:
    /// The kind of collective that a bucket consists of.
    enum class way : std::uint8_t {
        gather,
        scatter,
        reduce
    };
    /// What is known of a bucket while it is read.
    struct bucket {
        way how = way::reduce;
        bool has_buffer = false;  // the gather writes into a given buffer
        std::int64_t ranks = 1;   // rows of the buffer that has one row for each rank; 1 for an all-reduce
        std::int64_t width = 0;   // bytes of an element
        std::int64_t columns = 0;
        element_type element = element_type::other;
        form_type form;
    };

    [[nodiscard]] std::size_t place(V v) const { return place_[view_.index(v)]; }
    /// Returns whether v only changes the shape of its first operand and keeps the order of its elements.
    [[nodiscard]] bool reshapes(V v) const {
        return op(v) == "aten.view.default" || op(v) == "aten.reshape.default" || op(v) == "aten._unsafe_view.default";
    }
    [[nodiscard]] static bool is_floating(element_type e) {
        return e == element_type::f16 || e == element_type::bf16 || e == element_type::f32 || e == element_type::f64;
    }
    [[nodiscard]] bool is_empty(V v) const { return op(v) == "aten.empty.memory_format"; }

    /// Reads the kind of collective and what its arguments say. Returns false if v launches no such collective.
    bool begin(V v, bucket& b) const {
        const detail::aten::aten_arguments a = arguments(v);
        b.has_buffer = op(v) == "_c10d_functional.all_gather_into_tensor_out.default";
        if (b.has_buffer || op(v) == "_c10d_functional.all_gather_into_tensor.default") {
            b.how = way::gather;
            b.ranks = a.integer(1, "group_size", 0);
        } else if (op(v) == "_c10d_functional.reduce_scatter_tensor.default") {
            b.how = way::scatter;
            b.ranks = a.integer(2, "group_size", 0);
        } else if (op(v) != "_c10d_functional.all_reduce.default") {
            return false;
        }
        const auto sent = operand(v, 0, "input");
        if (!sent || type(*sent) == nullptr || b.ranks < 1) return false;
        b.element = type(*sent)->element;
        b.width = size_of(b.element);
        return b.width > 0;
    }

    /// Follows the operand of the start back to the parts. Returns false if they are not packed in a known form.
    bool read_payload(V start, bucket& b) const {
        X x = *operand(start, 0, "input");
        if (b.how == way::gather && !read_buffer(start, x, b)) return false;
        while (reshapes(view_.producer(x)) && only_reader(x)) {
            const V v = view_.producer(x);
            const auto from = operand(v, 0, "self");
            if (!from) return false;
            b.form.packs.push_back(v);
            x = *from;
        }
        const V pack = view_.producer(x);
        const detail::aten::aten_arguments a = arguments(pack);
        b.form.packs.push_back(pack);
        const bool concatenates = op(pack) == "aten.cat.default";
        const std::int64_t along = b.how == way::scatter ? 1 : 0;
        if (concatenates) {
            const std::int64_t dim = a.integer(1, "dim", 0);
            if (dim != along && dim != -1) return false;
        } else if (b.how == way::gather && op(pack) == "bucketing._pre_bucket_all_gather.default") {
            if (!b.has_buffer || !alike(a.argument(3, "out_dtype_ints").items)) return false;
        } else if (b.how != way::scatter || op(pack) != "bucketing._pre_bucket_reduce_scatter.default") {
            return false;
        }
        const std::vector<X> packed = operands(pack, a.argument(0, "tensors"));
        for (X part : packed)
            if (!add_part(part, concatenates, pack, b)) return false;
        b.form.row = bytes{b.columns * b.width};
        const tensor_type& sent = *type(*operand(start, 0, "input"));
        return !packed.empty() && elements(sent) == b.columns * (b.how == way::scatter ? b.ranks : 1);
    }
    /// Skips the buffer if a gather sends a slice of one. On entry, x is the operand of the start; then it is the value
    /// that is copied into the slice, or the buffer itself if nothing is copied. Returns false if the form is not
    /// known.
    bool read_buffer(V start, X& x, bucket& b) const {
        const auto out = b.has_buffer ? operand(start, SIZE_MAX, "out") : std::nullopt;
        const bool copies = op(view_.producer(x)) == "aten.copy_.default";
        if (!copies && !b.has_buffer) return true;
        X slice = x;
        if (copies) {
            const V v = view_.producer(x);
            const auto to = operand(v, 0, "self"), from = operand(v, 1, "src");
            if (!to || !from) return false;
            b.form.packs.push_back(v);
            slice = *to;
            x = *from;
        }
        const V v = view_.producer(slice);
        const auto buffer = op(v) == "aten.slice.Tensor" ? operand(v, 0, "self") : std::nullopt;
        if (!buffer || (b.has_buffer && buffer != out)) return false;
        b.form.packs.push_back(v);
        if (!copies) {
            x = *buffer;
            return true;
        }
        b.form.packs.push_back(view_.producer(*buffer));
        return is_empty(view_.producer(*buffer));
    }
    /// Returns whether all items are the same integer.
    [[nodiscard]] static bool alike(std::span<const tensor_argument> items) {
        return std::all_of(items.begin(), items.end(), [&](const tensor_argument& a) {
            return a.what == tensor_argument::form::integer && a.integer == items[0].integer;
        });
    }
    /// Adds operand x of `pack` as a part. `flat` says that `pack` concatenates, so that its operands must be flat, or
    /// have one row for each rank. Returns false if x cannot be a part.
    bool add_part(X x, bool flat, V pack, bucket& b) const {
        const tensor_type* t = type(x);
        if (t == nullptr || t->shape.empty()) return false;
        const bool scatters = b.how == way::scatter;
        if (flat && (t->shape.size() != (scatters ? 2 : 1) || (scatters && t->shape[0] != b.ranks))) return false;
        if (!flat && scatters && t->shape[0] % b.ranks != 0) return false;
        const bool same = t->element == b.element;
        if (!same && (!is_floating(t->element) || !is_floating(b.element))) return false;
        const std::int64_t columns = elements(*t) / (scatters ? b.ranks : 1);
        X part = x;
        const V v = view_.producer(x);
        if (flat && reshapes(v) && only_reader(x) == pack) {
            const auto from = operand(v, 0, "self");
            const tensor_type* whole = from ? type(*from) : nullptr;
            if (whole != nullptr && !whole->shape.empty() && (!scatters || whole->shape[0] % b.ranks == 0)) {
                b.form.packs.push_back(v);
                part = *from;
            }
        }
        b.form.parts.push_back({part, bytes{b.columns * b.width}, bytes{columns * b.width}});
        b.columns += columns;
        return true;
    }

    /// Follows the result of the start to the results of the bucket. Returns false if they are not taken out in a known
    /// form.
    bool read_arrival(V start, bucket& b) const {
        const auto launched = only_result(start);
        const auto wait = launched ? only_reader(*launched) : std::nullopt;
        if (!wait || op(*wait) != "_c10d_functional.wait_tensor.default") return false;
        b.form.wait = *wait;
        auto arrived = only_result(*wait);
        if (b.how == way::gather) {  // one row from each rank
            auto rows = arrived ? only_reader(*arrived) : std::nullopt;
            for (; rows && reshapes(*rows); rows = arrived ? only_reader(*arrived) : std::nullopt) {
                b.form.unpacks.push_back(*rows);
                arrived = only_result(*rows);
            }
            const tensor_type* t = arrived ? type(*arrived) : nullptr;
            if (t == nullptr || t->shape.size() != 2 || t->shape[0] != b.ranks) return false;
        }
        const auto split = arrived ? only_reader(*arrived) : std::nullopt;
        if (!split || operand(*split, 0, "self") != arrived) return false;
        b.form.unpacks.push_back(*split);
        const detail::aten::aten_arguments a = arguments(*split);
        const std::int64_t dim = a.integer(2, "dim", 0);
        const std::int64_t along = b.how == way::gather ? 1 : 0;
        if (dim != along && dim != -1) return false;
        std::vector<bucket_slice<X>> slices;  // their values are set later
        std::int64_t columns = 0;
        for (const tensor_argument& size : a.argument(1, "split_sizes").items) {
            if (size.what != tensor_argument::form::integer) return false;
            slices.push_back({X{}, bytes{columns * b.width}, bytes{size.integer * b.width}});
            columns += size.integer;
        }
        if (op(*split) == "aten.split_with_sizes.default") return read_pieces(*split, slices, b);
        return b.how == way::gather && op(*split) == "aten.split_with_sizes_copy.out" && read_copies(*split, slices, b);
    }
    /// Reads results that are members of a split, or clones of these.
    bool read_pieces(V split, const std::vector<bucket_slice<X>>& slices, bucket& b) const {
        const auto all = only_result(split);
        if (!all) return false;
        for (V piece : view_.consumers(*all)) {
            const std::int64_t k = arguments(piece).integer(1, "", -1);
            auto result = only_result(piece);
            if (op(piece) != "getitem" || k < 0 || k >= static_cast<std::int64_t>(slices.size()) || !result)
                return false;
            b.form.unpacks.push_back(piece);
            if (const auto copy = only_reader(*result); copy && op(*copy) == "aten.clone.default") {
                b.form.unpacks.push_back(*copy);
                result = only_result(*copy);
                if (!result) return false;
            }
            b.form.results.push_back(slices[static_cast<std::size_t>(k)]);
            b.form.results.back().value = *result;
        }
        return true;
    }
    /// Reads results that are copied into empty tensors. These tensors are the results, so nothing may use them before
    /// the copy.
    bool read_copies(V split, const std::vector<bucket_slice<X>>& slices, bucket& b) const {
        const std::vector<X> outs = operands(split, arguments(split).argument(SIZE_MAX, "out"));
        if (outs.size() != slices.size()) return false;
        for (std::size_t k = 0; k < outs.size(); ++k) {
            X x = outs[k];
            V last = split;
            for (V v = view_.producer(x); !is_empty(v); v = view_.producer(x)) {
                const auto from = operand(v, 0, "self");
                if (!from || !renames(v, *from) || only_reader(x) != last) return false;
                b.form.unpacks.push_back(v);
                last = v;
                x = *from;
            }
            const V made = view_.producer(x);
            const tensor_type* t = type(x);
            if (place(made) < place(b.form.wait) || t == nullptr || t->element != b.element ||
                elements(*t) * b.width != slices[k].size.count * b.ranks)
                return false;
            for (V reader : view_.consumers(x))
                if (reader != last && place(reader) < place(split)) return false;
            b.form.unpacks.push_back(made);
            b.form.results.push_back(slices[k]);
            b.form.results.back().value = x;
        }
        return true;
    }
    /// Returns whether the result of v is the same memory as its operand `from`, with the same elements in the same
    /// order.
    [[nodiscard]] bool renames(V v, X from) const {
        if (op(v) == "aten.view.default" || op(v) == "aten.alias.default") return true;
        const auto to = only_result(v);
        return op(v) == "aten.view.dtype" && to && type(*to) != nullptr && type(from) != nullptr &&
               type(*to)->element == type(from)->element;
    }

    std::vector<std::size_t> place_;  // by index of a vertex
};

}  // namespace stretto

#endif
