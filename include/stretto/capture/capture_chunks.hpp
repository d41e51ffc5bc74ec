// Makes chunk models of a captured step, in the form that searches need, because these try many plans. Needs simdjson.
#ifndef STRETTO_CAPTURE_CAPTURE_CHUNKS_HPP
#define STRETTO_CAPTURE_CAPTURE_CHUNKS_HPP

#include "stretto/analysis/value_numbers.hpp"
#include "stretto/aten/aten_calls.hpp"
#include "stretto/aten/aten_chunk_model.hpp"
#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/transform/chunk_rules/row_orders.hpp"
#include "stretto/tune/chunk_source.hpp"

namespace stretto {

namespace detail {

/// A base class, so that the orders are constructed before the chunk model that refers to them.
struct owned_orders {
    row_orders own;
};

}  // namespace detail

/// The chunk model of a capture: how the operators of PyTorch pass chunks on.
using capture_chunk_model = aten_chunk_model<capture_view, capture_tensor_model>;

/// The value numbers of a capture: equal numbers mean equal contents.
using capture_value_numbers = value_numbers<capture_view>;

/// Returns the value numbers of a step, by the operators that are pure and the arguments that they have.
[[nodiscard]] inline capture_value_numbers value_numbers_of(const capture& step, const capture_tensors& tensors) {
    const capture_view view{&step};
    const aten_calls<capture_view, capture_tensor_model> calls(view, {&step, &tensors});
    return {view, capture_op_model{&step}, calls};
}

/// A capture_chunk_model that owns its row orders, none of which has a name yet.
class fresh_capture_chunk_model : private detail::owned_orders, public capture_chunk_model {
public:
    /// All arguments must outlive the model.
    fresh_capture_chunk_model(const capture& step, const capture_tensors& tensors, const capture_value_numbers& numbers)
        : capture_chunk_model(capture_view{&step}, {&step, &tensors}, own, &numbers) {}
    fresh_capture_chunk_model(const fresh_capture_chunk_model&) = delete;
    fresh_capture_chunk_model& operator=(const fresh_capture_chunk_model&) = delete;
};

/// A callable that returns a fresh model for every trial; it must outlive these models.
class capture_chunks {
public:
    /// Both arguments must outlive the models.
    capture_chunks(const capture& step, const capture_tensors& tensors)
        : step_(&step), tensors_(&tensors), numbers_(value_numbers_of(step, tensors)) {}

    /// Returns a model for one trial.
    [[nodiscard]] fresh_capture_chunk_model operator()() const { return {*step_, *tensors_, numbers_}; }

private:
    const capture* step_;
    const capture_tensors* tensors_;
    capture_value_numbers numbers_;
};
static_assert(chunk_model_source<capture_chunks, capture_view>);

}  // namespace stretto

#endif
