// The options, results and failures of an interpreter, and the comparison of two results. A differential test
// interprets a program before and after a transform and compares the results. The first difference, or the failure,
// names the place with the program's own names.
#ifndef STRETTO_ATEN_INTERPRETATION_HPP
#define STRETTO_ATEN_INTERPRETATION_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "stretto/aten/detail/interpreted_value.hpp"
#include "stretto/aten/tensor.hpp"
#include "stretto/core/process_groups.hpp"

namespace stretto::aten {

/// How strictly the interpreter compares results with the types that the program records for them.
enum class recorded_types : std::uint8_t {
    ignored,
    kinds,  ///< element type and number of dimensions must agree; other extents are listed in the result
    exact   ///< all extents must agree as well
};

/// How a program is interpreted.
struct interpreter_options {
    /// The number of simulated ranks, at least 1.
    std::size_t ranks = 1;
    /// The partitions of the ranks into process groups, indexed by group_id. A collective with that group_id runs in
    /// every group of its partition, so each rank uses the same number for its own group. Every rank must be in exactly
    /// one group, and the ranks of all groups must be known; strided_groups() makes regular partitions. A group_id that
    /// is not listed stands for all ranks in one group.
    std::vector<process_groups> groups = {};
    recorded_types recorded = recorded_types::kinds;
    /// Rounds inputs, the results of every operator, and the partial sums that ranks send on in a collective to the
    /// precision of the element type. Otherwise every float has the precision of a double.
    bool round = false;
    /// The number of rings over which collectives add the data of the ranks. With rings, the last bits of a sum depend
    /// on where an element lies in the payload: see stretto/aten/ring_chunk.hpp. With 0 rings, the parts of every
    /// element are added in the order of the positions in the group, as the ranks of a host_world do.
    std::size_t rings = 1;
    /// Replaces the positions that a topk returns by positions among which each one occurs equally often, up to one.
    /// The values that it returns stay.
    bool balanced_routing = false;
    bool keep_everything = false;  ///< keeps the value of every vertex in the result
};

/// An input or output value of a program.
struct interpreted_entry {
    std::size_t vertex = 0;  ///< the index of the vertex that makes it
    std::string name;
    bool written = false;  ///< for an input: whether some rank has written it in place
    std::vector<interpreted_value> by_rank;
};

/// The result of a run. Without keep_everything, only inputs and outputs are kept.
struct interpretation {
    /// The values that the output vertices read, in order.
    std::vector<interpreted_entry> outputs;
    /// The final value of every input, in program order.
    std::vector<interpreted_entry> inputs;
    /// With keep_everything: values[index of a vertex][number of the result][rank]; otherwise empty. Results of
    /// collectives are marked as in flight. A value shares its storage with the program, so it shows what was written
    /// in place later.
    std::vector<std::vector<std::vector<interpreted_value>>> values;

    /// A result of one rank whose extents are not those that the program records.
    struct other_extent {
        std::size_t vertex = 0, rank = 0, result = 0, component = 0;
        std::vector<std::int64_t> shape;
    };
    /// All of these, in the order of the run, if options.recorded is `kinds`.
    std::vector<other_extent> other_extents;
};

/// Where and why the interpretation of a program failed.
struct interpretation_failure {
    std::size_t vertex = 0;  ///< the index of the vertex
    std::string name;        ///< the vertex's name according to the models, or its index
    std::string operation;
    std::size_t rank = 0;
    std::string cause;
    std::string hint;
    /// What the vertex read: the index of each producer, and its name with the type of the value on that rank.
    std::vector<std::pair<std::size_t, std::string>> operands = {};

    /// Returns a sentence for people: the place, the cause, the hint, and what the vertex read.
    [[nodiscard]] std::string message() const {
        std::string text = name + " (" + operation + ") on rank " + std::to_string(rank) + ": " + cause;
        if (!hint.empty()) text += "; " + hint;
        for (std::size_t k = 0; k < operands.size(); ++k) text += (k ? ", " : "; it reads ") + operands[k].second;
        return text;
    }
};

/// The first difference between two runs that should compute the same.
struct interpretation_difference {
    std::string where;  ///< "output 3 (wait_tensor_7)", "input 5 (load)"
    std::size_t rank = 0;
    std::int64_t position = -1;  ///< of the element, in row-major order; -1 if they differ as a whole
    std::string one, other;      ///< the elements, or the types

    /// Returns a sentence for people: the place and both elements or types.
    [[nodiscard]] std::string message() const {
        std::string text = where + " on rank " + std::to_string(rank);
        if (position >= 0) text += ", element " + std::to_string(position);
        return text + ": " + one + " against " + other;
    }
};

namespace detail {

/// Returns a text of a double that has enough digits to distinguish it from any other double.
template <class = void>
std::string exact_text(double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", x);
    return text;
}
/// Returns the text of the element at a position in row-major order.
template <class = void>
std::string element_text(const tensor& t, std::int64_t position) {
    const auto k = static_cast<std::size_t>(position);
    if (t.integral()) return std::to_string(t.values<std::int64_t>()[k]);
    const complex_number x = t.values<complex_number>()[k];
    return exact_text(x.re) + (t.is_complex() ? " + " + exact_text(x.im) + "i" : "");
}
/// Returns the text of a number, or of the types of the tensors.
template <class = void>
std::string type_text(const interpreted_value& v) {
    if (v.is_number)
        return v.scalar.what == element_class::real ? exact_text(v.scalar.real) : text_of(v.scalar.integer);
    std::string text = v.tensors.empty() ? "nothing" : "";
    for (const tensor& t : v.tensors) text += (text.empty() ? "" : " ") + text_of(t);
    return text;
}
/// Returns whether two entries differ; if they do, `d` says where and how. Precondition: both have as many ranks.
template <class = void>
bool differ(const interpreted_entry& a, const interpreted_entry& b, interpretation_difference& d) {
    for (std::size_t rank = 0; rank < a.by_rank.size(); ++rank) {
        const interpreted_value &x = a.by_rank[rank], &y = b.by_rank[rank];
        d.rank = rank;
        d.position = -1;
        d.one = type_text(x);
        d.other = type_text(y);
        if (x.tensors.size() != y.tensors.size() || x.is_number != y.is_number) return true;
        if (x.is_number && (x.scalar.what != y.scalar.what || x.scalar.integer != y.scalar.integer ||
                            !same_bits(x.scalar.real, y.scalar.real)))
            return true;
        for (std::size_t k = 0; k < x.tensors.size(); ++k) {
            if (x.tensors[k].element() != y.tensors[k].element() || x.tensors[k].shape() != y.tensors[k].shape())
                return true;
            d.position = first_difference(x.tensors[k], y.tensors[k]);
            if (d.position < 0) continue;
            d.one = element_text(x.tensors[k], d.position);
            d.other = element_text(y.tensors[k], d.position);
            return true;
        }
    }
    return false;
}

}  // namespace detail

/// Compares the outputs and the inputs of two runs by position. Numbers and elements of tensors are compared bit by
/// bit, and two NaNs count as equal. Returns the first difference as a list of one, or an empty list. O(elements).
template <class = void>
[[nodiscard]] std::vector<interpretation_difference> compare(const interpretation& a, const interpretation& b) {
    interpretation_difference d;
    const auto listed = [&](const std::vector<interpreted_entry>& x, const std::vector<interpreted_entry>& y,
                            const char* what) {
        if (x.size() != y.size()) {
            d.where = std::string("the number of ") + what + "s";
            d.one = std::to_string(x.size());
            d.other = std::to_string(y.size());
            return true;
        }
        for (std::size_t k = 0; k < x.size(); ++k) {
            d.where = what + (" " + std::to_string(k)) + " (" + x[k].name +
                      (x[k].name == y[k].name ? "" : " / " + y[k].name) + ")";
            if (x[k].by_rank.size() != y[k].by_rank.size()) {
                d.one = std::to_string(x[k].by_rank.size()) + " ranks";
                d.other = std::to_string(y[k].by_rank.size()) + " ranks";
                return true;
            }
            if (detail::differ(x[k], y[k], d)) return true;
        }
        return false;
    };
    if (listed(a.outputs, b.outputs, "output") || listed(a.inputs, b.inputs, "input")) return {std::move(d)};
    return {};
}

}  // namespace stretto::aten

#endif
