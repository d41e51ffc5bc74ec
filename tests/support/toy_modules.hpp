// Modules and directions of the operations of a toy program, by position.
#ifndef STRETTO_TESTS_SUPPORT_TOY_MODULES_HPP
#define STRETTO_TESTS_SUPPORT_TOY_MODULES_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "stretto/core/module_model.hpp"
#include "support/toy_irs.hpp"

namespace support {

struct toy_module {
    std::string path = {};
    stretto::pass_direction direction = stretto::pass_direction::both;
};

/// What an IR built from the program says of its operations; `said` must outlive the model. Paths are made when they
/// are asked for, as by an IR that walks from an operation to its parents.
template <class G>
class toy_module_model {
public:
    toy_module_model(G g, const std::vector<toy_module>& said) : graph_(g), position_(positions_of(g)), said_(&said) {}

    [[nodiscard]] std::string path(stretto::vertex_t<G> v) const { return of(v).path; }
    [[nodiscard]] stretto::pass_direction direction(stretto::vertex_t<G> v) const { return of(v).direction; }

private:
    [[nodiscard]] const toy_module& of(stretto::vertex_t<G> v) const { return (*said_)[position_[graph_.index(v)]]; }

    G graph_;
    std::vector<std::uint32_t> position_;
    const std::vector<toy_module>* said_;
};

/// A program, and what its operations say.
struct toy_layers {
    toy_program program;
    std::vector<toy_module> said;

    toy_layers& add(std::vector<std::uint32_t> reads, std::string path = {},
                    stretto::pass_direction direction = stretto::pass_direction::both,
                    stretto::op_kind kind = stretto::op_kind::compute) {
        toy_op op;
        op.kind = kind;
        for (std::uint32_t u : reads) op.operands.push_back({u, 0});
        if (kind != stretto::op_kind::output) op.results.push_back({stretto::bytes{4}, {}});
        program.ops.push_back(op);
        said.push_back({std::move(path), direction});
        return *this;
    }
};

/// Two layers, forward and backward: 1 a (layers.0), 2 b (layers.0.ffn), 3 c (layers.1), 4 the gradient of c
/// (layers.1), 5 that of b (layers.0.ffn), 6 a sum of 4 and 5 without a path, 7 a sum of 1 and 2 without a path or
/// direction, 8 on its own.
inline toy_layers two_layers() {
    using enum stretto::pass_direction;
    using enum stretto::op_kind;
    return toy_layers()
        .add({}, "layers.9", both, input)
        .add({0}, "layers.0", forward)
        .add({1}, "layers.0.ffn", forward)
        .add({2}, "layers.1", forward)
        .add({3}, "layers.1", backward)
        .add({4}, "layers.0.ffn", backward)
        .add({4, 5}, "", backward)
        .add({1, 2})
        .add({0})
        .add({6, 7, 8}, "layers.9", both, output);
}

}  // namespace support

#endif
