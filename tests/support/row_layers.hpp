// Layers in the row IR that exchange their rows, as mixture-of-experts layers do, with the modules they belong to: a
// step that chunks make faster, small enough to try every choice.
#ifndef STRETTO_TESTS_SUPPORT_ROW_LAYERS_HPP
#define STRETTO_TESTS_SUPPORT_ROW_LAYERS_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/core/module_model.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "support/priced_rows.hpp"

namespace support {

struct row_layers {
    row_program p;
    std::vector<std::string> paths;  ///< by number
    std::vector<stretto::pass_direction> directions;
    row_op* x = nullptr;
    std::vector<row_op*> dispatches;

    /// Forward, and backward in the reverse order if `both`: layers.K.norm, then layers.K.moe, which sends its rows
    /// away, works on them, and sends them back.
    explicit row_layers(std::size_t layers, std::size_t rows, bool both = false) {
        x = add(row_op::does::input, {}, rows, "", stretto::pass_direction::both);
        row_op* h = x;
        for (std::size_t k = 0; k < layers; ++k) h = layer(h, rows, k, stretto::pass_direction::forward);
        for (std::size_t k = layers; both && k-- > 0;) h = layer(h, rows, k, stretto::pass_direction::backward);
        add(row_op::does::output, {h}, 1, "", stretto::pass_direction::both);
    }
    row_layers(const row_layers&) = delete;
    row_layers& operator=(const row_layers&) = delete;

    row_view view() { return {&p}; }
    stretto::token_dimension<row_op*> token() const { return {x, 0}; }

private:
    row_op* add(row_op::does what, std::vector<row_op*> reads, std::size_t rows, std::string path,
                stretto::pass_direction way) {
        paths.push_back(std::move(path));
        directions.push_back(way);
        return p.append(what, std::move(reads), rows);
    }
    row_op* layer(row_op* h, std::size_t rows, std::size_t k, stretto::pass_direction way) {
        using does = row_op::does;
        const std::string part = "layers." + std::to_string(k), moe = part + ".moe";
        row_op* norm = add(does::scale, {h}, rows, part + ".norm", way);
        dispatches.push_back(add(does::send, {norm}, rows, moe, way));
        row_op* there = add(does::wait, {dispatches.back()}, rows, moe, way);
        row_op* expert = add(does::scale, {there}, rows, moe + ".experts", way);
        row_op* back = add(does::send, {expert}, rows, moe, way);
        row_op* here = add(does::wait, {back}, rows, moe, way);
        return add(does::add, {h, here}, rows, part, way);
    }
};

struct row_module_model {
    const row_layers* step;

    std::string_view path(row_op* v) const { return step->paths[v->number]; }
    stretto::pass_direction direction(row_op* v) const { return step->directions[v->number]; }
};

}  // namespace support

#endif
