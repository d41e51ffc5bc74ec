// Toy IR 4: a wrapped adjacency matrix, as numerical people write it. Cell (u, v) counts how often v reads u; rows are
// shuffled against program order; a table beside the matrix says what is read. No pointers, no lists, no rewriter.
#ifndef STRETTO_TESTS_SUPPORT_MATRIX_IR_HPP
#define STRETTO_TESTS_SUPPORT_MATRIX_IR_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/core/dataflow_concepts.hpp"
#include "support/toy_program.hpp"

namespace support::matrix {

struct table {
    std::vector<std::vector<int>> reads;  // reads[u][v]
    std::vector<int> order;               // program order
    std::vector<toy_op> ops;              // by row; values are named by row, too
};

struct cell_value {
    int row = -1;
    int result = -1;
    friend bool operator==(cell_value, cell_value) = default;
};

// [matrix-view]
/// The neighbours along a row or a column of the matrix, each as often as its cell says. Nothing is stored.
class scan {
public:
    struct end_of_scan {};
    class iterator {
    public:
        iterator(const table* t, int fixed, bool row) : t_(t), fixed_(fixed), row_(row) { settle(); }
        int operator*() const { return at_; }
        void operator++() {
            if (++count_ >= cell()) count_ = 0, ++at_, settle();
        }
        bool operator!=(end_of_scan) const { return at_ < static_cast<int>(t_->reads.size()); }

    private:
        int cell() const {
            const auto a = static_cast<std::size_t>(row_ ? fixed_ : at_),
                       b = static_cast<std::size_t>(row_ ? at_ : fixed_);
            return t_->reads[a][b];
        }
        void settle() {
            while (at_ < static_cast<int>(t_->reads.size()) && cell() == 0) ++at_;
        }
        const table* t_;
        int fixed_, at_ = 0, count_ = 0;
        bool row_;
    };

    scan(const table* t, int fixed, bool row) : t_(t), fixed_(fixed), row_(row) {}
    iterator begin() const { return {t_, fixed_, row_}; }
    end_of_scan end() const { return {}; }

private:
    const table* t_;
    int fixed_;
    bool row_;
};

struct table_view {
    using vertex_type = int;
    using value_type = cell_value;
    const table* t;

    const std::vector<int>& vertices() const { return t->order; }
    scan successors(int v) const { return {t, v, true}; }
    scan predecessors(int v) const { return {t, v, false}; }
    std::size_t index(int v) const { return static_cast<std::size_t>(v); }
    std::size_t index_bound() const { return t->ops.size(); }
    std::vector<cell_value> operands(int v) const { return cells(t->ops[index(v)].operands); }
    std::vector<cell_value> results(int v) const {
        std::vector<cell_value> all;
        for (std::size_t k = 0; k < t->ops[index(v)].results.size(); ++k) all.push_back({v, static_cast<int>(k)});
        return all;
    }
    int producer(cell_value x) const { return x.row; }
    std::vector<int> consumers(cell_value x) const {
        std::vector<int> all;
        for (int v = 0; v < static_cast<int>(t->ops.size()); ++v)
            for (cell_value y : operands(v))
                if (x == y) all.push_back(v);
        return all;
    }
    static std::vector<cell_value> cells(const std::vector<toy_value>& values) {
        std::vector<cell_value> all;
        for (toy_value x : values) all.push_back({static_cast<int>(x.op), static_cast<int>(x.result)});
        return all;
    }
};
// [/matrix-view]
static_assert(stretto::dependence_graph<table_view> && stretto::dataflow_graph<table_view>);

struct table_model {
    const table* t;

    const toy_op& op(int v) const { return t->ops[static_cast<std::size_t>(v)]; }
    const toy_result& result(cell_value x) const { return op(x.row).results[static_cast<std::size_t>(x.result)]; }
    stretto::op_kind kind(int v) const { return op(v).kind; }
    stretto::collective_kind collective(int v) const { return op(v).collective; }
    stretto::group_id group(int v) const { return op(v).group; }
    int launch_of(int v) const {
        if (op(v).operands.empty()) return v;
        const int first = static_cast<int>(op(v).operands.front().op);
        return kind(first) == stretto::op_kind::start ? first : v;
    }
    stretto::nanoseconds duration(int v) const { return op(v).duration; }
    stretto::bytes payload(int v) const { return op(v).payload; }
    stretto::bytes bytes_of(cell_value x) const { return result(x).size; }
    std::vector<cell_value> aliases(cell_value x) const { return table_view::cells(result(x).aliases); }
    std::vector<cell_value> effects(int v) const { return table_view::cells(op(v).effects); }
};

}  // namespace support::matrix

namespace support {

class matrix_ir {
public:
    explicit matrix_ir(const toy_program& p, std::uint64_t allocation_seed = 0);

    matrix::table_view view() const { return {&table_}; }
    matrix::table_model model() const { return {&table_}; }

private:
    matrix::table table_;
};

}  // namespace support

#endif
