// A small IR of tensor operations with pointers as handles and several results, whose numbers leave holes and run
// against program order. It knows shapes, symbolic extents and the amounts of exchanges, and no dialect.
#ifndef STRETTO_TESTS_SUPPORT_TENSOR_IR_HPP
#define STRETTO_TESTS_SUPPORT_TENSOR_IR_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/core/collective_call.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/tensor_model.hpp"

namespace support {

struct tensor_op;

struct tensor_value {
    tensor_op* def = nullptr;
    std::vector<tensor_op*> users{};  // once per use
    std::vector<std::vector<std::int64_t>> shapes{};
    std::vector<std::vector<std::string>> symbolic{};  // by component and dimension; empty texts are numbers
    std::vector<stretto::tensor_type> types{};

    /// Another tensor that the value consists of.
    void add(std::vector<std::int64_t> shape, stretto::element_type element, std::vector<std::string> extents = {}) {
        extents.resize(shape.size());
        const std::span<const std::int64_t> kept = shapes.emplace_back(std::move(shape));  // moves keep the elements
        symbolic.push_back(std::move(extents));
        types.push_back({kept, element});
    }
};

struct tensor_op {
    std::string name;
    std::size_t position = 0;
    stretto::op_kind kind = stretto::op_kind::compute;
    stretto::collective_kind collective = stretto::collective_kind::other;
    std::vector<tensor_value*> operands{};
    std::vector<std::unique_ptr<tensor_value>> results{};
    std::vector<stretto::split_size> input_sizes{}, output_sizes{};

    [[nodiscard]] tensor_value* result(std::size_t k = 0) const { return results[k].get(); }
};

/// Owns its operations, in program order.
struct tensor_program {
    std::vector<std::unique_ptr<tensor_op>> ops;

    tensor_op* add(std::string name, stretto::op_kind kind, std::vector<tensor_value*> operands) {
        ops.push_back(std::make_unique<tensor_op>());
        tensor_op* const o = ops.back().get();
        o->name = std::move(name);
        o->position = ops.size() - 1;
        o->kind = kind;
        o->operands = std::move(operands);
        for (tensor_value* x : o->operands) x->users.push_back(o);
        return o;
    }
    /// With a result of that shape; an extent that is a text is one of that symbol, whose value is 4.
    tensor_op* add(std::string name, stretto::op_kind kind, std::vector<tensor_value*> operands,
                   std::vector<std::int64_t> shape, std::vector<std::string> extents = {}) {
        tensor_op* const o = add(std::move(name), kind, std::move(operands));
        add_result(o).add(std::move(shape), stretto::element_type::f32, std::move(extents));
        return o;
    }
    tensor_op* exchange(std::string name, std::vector<tensor_value*> operands, std::vector<std::int64_t> shape,
                        std::vector<stretto::split_size> sizes, std::vector<std::string> extents = {}) {
        tensor_op* const o =
            add(std::move(name), stretto::op_kind::start, std::move(operands), std::move(shape), std::move(extents));
        o->collective = stretto::collective_kind::all_to_all;
        o->input_sizes = o->output_sizes = std::move(sizes);
        return o;
    }
    static tensor_value& add_result(tensor_op* o) {
        o->results.push_back(std::make_unique<tensor_value>());
        o->results.back()->def = o;
        return *o->results.back();
    }
};

struct tensor_program_view {
    using vertex_type = tensor_op*;
    using value_type = tensor_value*;
    const tensor_program* p;

    [[nodiscard]] std::vector<tensor_op*> vertices() const {
        std::vector<tensor_op*> all;
        for (const auto& o : p->ops) all.push_back(o.get());
        return all;
    }
    [[nodiscard]] std::vector<tensor_op*> successors(tensor_op* o) const {
        std::vector<tensor_op*> all;
        for (const auto& x : o->results) all.insert(all.end(), x->users.begin(), x->users.end());
        return all;
    }
    [[nodiscard]] std::vector<tensor_op*> predecessors(tensor_op* o) const {
        std::vector<tensor_op*> all;
        for (const tensor_value* x : o->operands) all.push_back(x->def);
        return all;
    }
    [[nodiscard]] std::size_t index(tensor_op* o) const { return 2 * (p->ops.size() - o->position); }
    [[nodiscard]] std::size_t index_bound() const { return 2 * p->ops.size() + 1; }
    [[nodiscard]] const std::vector<tensor_value*>& operands(tensor_op* o) const { return o->operands; }
    [[nodiscard]] std::vector<tensor_value*> results(tensor_op* o) const {
        std::vector<tensor_value*> all;
        for (const auto& x : o->results) all.push_back(x.get());
        return all;
    }
    [[nodiscard]] tensor_op* producer(tensor_value* x) const { return x->def; }
    [[nodiscard]] const std::vector<tensor_op*>& consumers(tensor_value* x) const { return x->users; }
};

/// Kinds, and nothing of amounts.
struct tensor_program_kinds {
    [[nodiscard]] stretto::op_kind kind(tensor_op* o) const { return o->kind; }
    [[nodiscard]] stretto::collective_kind collective(tensor_op* o) const { return o->collective; }
};

struct tensor_program_ops : tensor_program_kinds {
    [[nodiscard]] stretto::collective_call call(tensor_op* o) const {
        stretto::collective_call made;
        made.kind = o->collective;
        made.reduction = stretto::reduction_kind::none;
        made.input_sizes = o->input_sizes;
        made.output_sizes = o->output_sizes;
        return made;
    }
};

struct tensor_program_tensors {
    [[nodiscard]] std::string_view operation(tensor_op* o) const { return o->name; }
    [[nodiscard]] std::span<const stretto::tensor_argument> arguments(tensor_op*) const { return {}; }
    [[nodiscard]] std::span<const stretto::named_tensor_argument> named_arguments(tensor_op*) const { return {}; }
    [[nodiscard]] const std::vector<stretto::tensor_type>& components(tensor_value* x) const { return x->types; }
    [[nodiscard]] std::string_view symbolic_extent(tensor_value* x, std::size_t component, std::size_t dim) const {
        return x->symbolic[component][dim];
    }
};

static_assert(stretto::dependence_graph<tensor_program_view> && stretto::dataflow_graph<tensor_program_view>);
static_assert(stretto::calling_op_model<tensor_program_ops, tensor_program_view>);
static_assert(!stretto::calling_op_model<tensor_program_kinds, tensor_program_view>);
static_assert(stretto::tensor_model<tensor_program_tensors, tensor_program_view>);

}  // namespace support

#endif
