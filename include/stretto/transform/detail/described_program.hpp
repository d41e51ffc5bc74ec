// Names of the operations and values of a program, in the words of its owner, for the descriptions of plans.
#ifndef STRETTO_TRANSFORM_DETAIL_DESCRIBED_PROGRAM_HPP
#define STRETTO_TRANSFORM_DETAIL_DESCRIBED_PROGRAM_HPP

#include <string>
#include <string_view>

#include "stretto/core/dataflow_concepts.hpp"

namespace stretto::detail {

/// The names. `operator_name(v)` and `value_name(x)` return texts, which are copied before either is called again. Both
/// must outlive this object.
template <dataflow_graph G, class OperatorName, class ValueName>
class described_program {
public:
    described_program(G g, OperatorName& operator_name, ValueName& value_name)
        : graph_(g), operator_name_(operator_name), value_name_(value_name) {}

    /// The operator of v.
    [[nodiscard]] std::string op(vertex_t<G> v) const { return std::string(std::string_view(operator_name_(v))); }
    /// The name of x.
    [[nodiscard]] std::string name(value_t<G> x) const { return std::string(std::string_view(value_name_(x))); }
    /// The name of v in a sentence: that of its first result, or its operator if it has no result.
    [[nodiscard]] std::string made_by(vertex_t<G> v) const {
        for (value_t<G> x : graph_.results(v)) return name(x);
        return op(v);
    }
    /// The names of a range of values, separated by commas.
    template <class Values>
    [[nodiscard]] std::string list(Values&& values) const {
        std::string text;
        for (value_t<G> x : values) text += (text.empty() ? "" : ", ") + name(x);
        return text;
    }

private:
    G graph_;
    OperatorName& operator_name_;
    ValueName& value_name_;
};

}  // namespace stretto::detail

#endif
