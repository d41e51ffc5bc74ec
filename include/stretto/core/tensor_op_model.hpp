// tensor_op_model: the members of an op model that are the same in all IRs whose values are one dense tensor each. A
// model that says what an operation is, how large its tensors are and which of them it changes inherits the rest: where
// values lie, what a collective sends, and the estimated durations of operations that were not measured.
#ifndef STRETTO_CORE_TENSOR_OP_MODEL_HPP
#define STRETTO_CORE_TENSOR_OP_MODEL_HPP

#include <cstddef>
#include <vector>

#include "stretto/core/collective_call.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/units.hpp"

namespace stretto {

/// An op model and bucket cost model for `Owner`, which derives from this class, over a view `G` of its IR. `Owner` has
///   kind(v) -> op_kind
///   call(v) -> collective_call            the call of a start, which sends its first operand
///   tensor_bytes(x) -> bytes              the size of all elements of a tensor, wherever they are stored
///   changes(v) -> integer                 how many of its first operands an operation writes in place; 0 for most
///   measured(v) -> nanoseconds            the duration of a kernel or collective if it is known; otherwise 0
///   of_merged(v, sent) -> nanoseconds     the duration of a collective like v in which this rank sends `sent` bytes
///   of_moving(moved) -> nanoseconds       the duration of a kernel that moves `moved` bytes
/// The result of a wait, a view, or an operation that changes something lies where the first operand does. A kernel
/// without a measurement takes as long as moving its operands and results. Members that `Owner` declares itself hide
/// the inherited ones.
template <class Owner, dataflow_graph G>
class tensor_op_model {
public:
    using vertex_type = vertex_t<G>;
    using value_type = value_t<G>;

    explicit tensor_op_model(G view = G()) : view_(view) {}

    /// The kind of the collective that the start v launches.
    [[nodiscard]] collective_kind collective(vertex_type v) const { return owner().call(v).kind; }
    /// What the start v sends: the size of its first operand.
    [[nodiscard]] bytes payload(vertex_type v) const {
        for (const value_type x : view_.operands(v)) return owner().tensor_bytes(x);
        return {};
    }
    /// The measured duration if there is one, otherwise an estimate; 0 for an operation that does no work.
    [[nodiscard]] nanoseconds duration(vertex_type v) const {
        const op_kind kind = owner().kind(v);
        if (!does_work(kind)) return {};
        if (const nanoseconds known = owner().measured(v); known > nanoseconds{}) return known;
        return kind == op_kind::start ? owner().of_merged(v, owner().payload(v)) : owner().of_moving(moved(v));
    }
    /// The storage that x allocates: its size, or 0 if it lies where an operand does.
    [[nodiscard]] bytes bytes_of(value_type x) const { return is_elsewhere(x) ? bytes{} : owner().tensor_bytes(x); }
    /// The operand in whose storage x lies; nothing if x has storage of its own.
    [[nodiscard]] std::vector<value_type> aliases(value_type x) const {
        if (is_elsewhere(x))
            for (const value_type y : view_.operands(view_.producer(x))) return {y};
        return {};
    }
    /// The operands that v writes in place: the first `changes(v)` of them.
    [[nodiscard]] std::vector<value_type> effects(vertex_type v) const {
        std::vector<value_type> all;
        const auto changed = static_cast<std::size_t>(owner().changes(v));
        for (const value_type x : view_.operands(v)) {
            if (all.size() == changed) break;
            all.push_back(x);
        }
        return all;
    }

protected:
    /// Whether a tensor lies where the first operand of its producer does.
    [[nodiscard]] bool is_elsewhere(value_type x) const {
        const vertex_type v = view_.producer(x);
        const op_kind kind = owner().kind(v);
        return kind == op_kind::view || kind == op_kind::wait || owner().changes(v) != 0;
    }
    /// The bytes of all operands and results of an operation.
    [[nodiscard]] bytes moved(vertex_type v) const {
        bytes sum;
        for (const value_type x : view_.operands(v)) sum += owner().tensor_bytes(x);
        for (const value_type x : view_.results(v)) sum += owner().tensor_bytes(x);
        return sum;
    }

private:
    [[nodiscard]] const Owner& owner() const { return static_cast<const Owner&>(*this); }

    G view_;
};

}  // namespace stretto

#endif
