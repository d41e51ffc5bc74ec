// The row IR as the checks of testing/ take it, with its operations on host values, whatever their extents are.
#ifndef STRETTO_TESTS_SUPPORT_CHECKED_ROW_IR_HPP
#define STRETTO_TESTS_SUPPORT_CHECKED_ROW_IR_HPP

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "stretto/testing/host_value.hpp"
#include "support/row_ir.hpp"

namespace support {

struct row_evaluate {
    using values = std::vector<stretto::host_value>;

    values operator()(row_op* v, std::span<const stretto::host_value> in) const {
        using does = row_op::does;
        if (in.empty()) return {};
        stretto::host_tensor made = in[0].tensors[0];
        std::vector<double>& rows = made.elements;
        switch (v->what) {
            case does::scale:
                for (double& x : rows) x *= 3;
                break;
            case does::widen:
            case does::send:
            case does::wait:
                break;
            case does::add:
            case does::increment: {
                const stretto::host_tensor& other = in[1].tensors[0];
                if (v->what == does::add && made.rank() < other.rank()) {
                    for (double x : other.elements) rows.push_back(x + in[0].tensors[0].elements[0]);
                    rows.erase(rows.begin());
                    made.shape = other.shape;
                    break;
                }
                if (other.rank() == 1 && made.shape != other.shape) return {};
                for (std::size_t k = 0; k < rows.size(); ++k) rows[k] += other.elements[other.rank() == 0 ? 0 : k];
                break;
            }
            case does::total: {
                double sum = 0;
                for (double x : rows) sum += x;
                made = {{}, {sum}};
                break;
            }
            case does::order:
                std::sort(rows.begin(), rows.end());
                break;
            case does::running:
                for (std::size_t k = 1; k < rows.size(); ++k) rows[k] += rows[k - 1];
                break;
            case does::numbers:
                for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = static_cast<double>(k);
                break;
            case does::part: {
                if (v->last > rows.size()) return {};
                const auto begin = rows.begin();
                rows = {begin + static_cast<std::ptrdiff_t>(v->first), begin + static_cast<std::ptrdiff_t>(v->last)};
                made.shape.assign(v->rows == 1 ? 0 : 1, static_cast<std::int64_t>(rows.size()));
                break;
            }
            case does::concat:
                rows.clear();
                for (const stretto::host_value& x : in)
                    rows.insert(rows.end(), x.tensors[0].elements.begin(), x.tensors[0].elements.end());
                made.shape.assign(v->rows == 1 ? 0 : 1, static_cast<std::int64_t>(rows.size()));
                break;
            case does::write: {
                const std::vector<double>& part = in[1].tensors[0].elements;
                if (part.size() != v->last - v->first || v->last > rows.size()) return {};
                std::copy(part.begin(), part.end(), rows.begin() + static_cast<std::ptrdiff_t>(v->first));
                break;
            }
            default:
                return {};
        }
        return {stretto::host_value{{std::move(made)}, 0}};
    }
};

/// A row program with everything that the checks of testing/ ask of an IR.
struct row_ir {
    row_program p;

    row_view view() { return {&p}; }
    row_model model() const { return {}; }
    row_chunk_model chunks() const { return {}; }
    row_rewriter rewriter() { return {&p, p.ops.end()}; }
    void changed() { p.renumber(); }
    row_evaluate::values evaluate(row_op* v, std::span<const stretto::host_value> in) const {
        return row_evaluate{}(v, in);
    }
};

/// Every operation of the row IR, most of them twice. Program order is numbered in the comments of tests.
inline row_program every_row_operation() {
    using does = row_op::does;
    row_program p;
    row_op* x = p.append(does::input, {}, 12);
    row_op* row = p.append(does::input, {}, 1);
    row_op* y = p.append(does::scale, {x}, 12);
    row_op* sent = p.append(does::send, {y}, 12);
    row_op* back = p.append(does::wait, {sent}, 12);
    row_op* z = p.append(does::add, {back, row}, 12);
    row_op* both = p.append(does::add, {z, x}, 12);
    row_op* sorted = p.append(does::order, {both}, 12);
    row_op* total = p.append(does::total, {sorted}, 1);
    p.append(does::total, {total}, 1);
    row_op* twice = p.append(does::scale, {total}, 1);
    row_op* numbers = p.append(does::numbers, {both}, 12);
    p.append(does::scale, {numbers}, 12);
    p.append(does::order, {numbers}, 12);
    row_op* run = p.append(does::running, {both}, 12);
    row_op* wide = p.append(does::widen, {run}, 12);
    row_op* chained = p.append(does::increment, {row, twice}, 1);
    row_op* summed = p.append(does::increment, {wide, both}, 12);
    p.append(does::output, {chained, summed}, 1);
    return p;
}

}  // namespace support

#endif
