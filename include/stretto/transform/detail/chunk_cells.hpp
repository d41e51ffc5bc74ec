// What every clone of a chunk plan reads, determined before the first clone is made. While apply_chunks changes an IR,
// the operands that the view lists change too. Therefore they are read here, once, and applying the plan only moves
// handles between the cells of an array.
#ifndef STRETTO_TRANSFORM_DETAIL_CHUNK_CELLS_HPP
#define STRETTO_TRANSFORM_DETAIL_CHUNK_CELLS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/core/config.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/index_lists.hpp"
#include "stretto/core/value_map.hpp"
#include "stretto/transform/chunk_plan.hpp"

namespace stretto::detail {

/// The cells, each of which holds the handle of one value. Each value that a chunked operation reads or produces has a
/// cell for the whole value and, in each region where it has parts, consecutive cells for these. To apply the plan is
/// then a walk over arrays: parts are written into their cells when they are made, and are read from there.
/// Construction takes O(operations of the plan + their operands + the results of the producers of those) time, plus a
/// search among the results of its producer for each value.
template <dataflow_graph G>
    requires indexed_graph<G>
class chunk_cells {
public:
    using X = value_t<G>;

    /// An operand of a clone: chunk c reads cell `first + c * step`.
    struct operand {
        std::uint32_t first, step;
    };
    /// Operation k of the plan reads `operands` from `first_operand` up to `last_operand`. Part c of its result i is in
    /// cell `first_result + i * parts + c`. There are as many clones as parts, or one.
    struct operation {
        std::uint32_t first_operand, last_operand, first_result, parts, clones, results;
    };
    struct split {
        std::uint32_t operation;          // the operation before which it is made
        std::uint32_t whole, first_part;  // the cell of the value, and that of its first part
    };

    std::vector<X> cells;
    std::vector<operand> operands;
    std::vector<operation> operations;  // in the order of the plan
    std::vector<split> splits;          // in the order of the plan

    /// Precondition: verify_chunks accepts the plan for this graph. Afterwards the cells of whole values are filled,
    /// and those of parts are empty.
    chunk_cells(const chunk_plan<vertex_t<G>, X>& plan, const G& g) : g_(g), numbers_(g) {
        operations.resize(plan.operations.size());
        splits.resize(plan.splits.size());
        reserve(plan);
        // The plan is read region by region, so that one array can say which values have parts.
        const index_lists operations_of = by_region(plan.operations, plan.regions.size());
        const index_lists splits_of = by_region(plan.splits, plan.regions.size());
        for (std::uint32_t r = 0; r < plan.regions.size(); ++r) {
            const std::uint32_t chunks = static_cast<std::uint32_t>(plan.regions[r].sizes.size());
            auto next_split = splits_of[r].begin();  // in the order of the operations that read them first
            for (std::uint32_t k : operations_of[r]) {
                const chunked_operation<vertex_t<G>>& o = plan.operations[k];
                operation& own = operations[k];
                own.first_operand = static_cast<std::uint32_t>(operands.size());
                for (X x : g_.operands(o.vertex)) {
                    const std::uint32_t number = met(x);
                    if (next_split != splits_of[r].end() && plan.splits[*next_split].value == x)
                        splits[*next_split++] = {k, cell_[number], add_parts(number, r, chunks, 1)};
                    const parts& p = parts_[number];
                    // With step 0 every chunk reads the same cell: that of a whole value, or of the result of what ran
                    // once.
                    operands.push_back(p.region == r ? operand{p.first, p.step} : operand{cell_[number], 0});
                }
                own.last_operand = static_cast<std::uint32_t>(operands.size());
                own.parts = static_cast<std::uint32_t>(o.parts(chunks));
                own.clones = static_cast<std::uint32_t>(o.clones(chunks));
                own.first_result = none;
                own.results = 0;
                for (X x : g_.results(o.vertex)) {
                    const std::uint32_t number = met(x);
                    const std::uint32_t first = add_parts(number, r, own.parts, o.once ? 0 : 1);
                    if (own.first_result == none) own.first_result = first;
                    ++own.results;
                    // Readers of the result of a chain read what its last clone has left, in every chunk.
                    if (o.is_chain()) parts_[number] = {r, first + own.parts - 1, 0};
                }
            }
        }
    }

    /// The cell of a whole value, which a chunked operation reads or produces.
    [[nodiscard]] std::uint32_t whole_cell(X x) const { return cell_[known(x)]; }
    /// The cell of the first part of a result of operation k of the plan.
    [[nodiscard]] std::uint32_t first_part(std::uint32_t k, X result) const {
        const std::uint32_t i = numbers_.number(result) - numbers_.first(g_.producer(result));
        return operations[k].first_result + i * operations[k].parts;
    }

private:
    static constexpr std::uint32_t none = UINT32_MAX;

    /// The cells of the parts of a value in one region.
    struct parts {
        std::uint32_t region = none, first = 0, step = 0;
    };

    /// By region: the positions of the entries of a list that belong to it, ascending.
    template <class Listed>
    static index_lists by_region(const std::vector<Listed>& all, std::size_t regions) {
        index_lists lists;
        lists.reserve(all.size(), all.size());
        for (const Listed& one : all) {
            lists.push(one.region);
            lists.close_row();
        }
        return lists.inverse(regions);
    }
    /// Reserves memory for plans as they usually are: two operands and one result per operation, which most of them
    /// make in one part per chunk.
    void reserve(const chunk_plan<vertex_t<G>, X>& plan) {
        std::size_t chunks = 1;
        for (const auto& region : plan.regions) chunks = std::max(chunks, region.sizes.size());
        operands.reserve(2 * plan.operations.size());
        cells.reserve((chunks + 1) * plan.operations.size());
        cell_.reserve(2 * plan.operations.size());
        parts_.reserve(2 * plan.operations.size());
    }
    /// The number of a value. The first time that a result of a vertex is met, all its results get cells.
    std::uint32_t met(X x) {
        const vertex_t<G> from = g_.producer(x);
        if (!numbers_.contains(from)) {
            for (std::uint32_t number = numbers_.add(from); number < numbers_.size(); ++number) {
                cell_.push_back(static_cast<std::uint32_t>(cells.size()));
                cells.push_back(numbers_.value(number));
            }
            parts_.resize(cell_.size());
        }
        return known(x);
    }
    /// The number of a value that has been met.
    [[nodiscard]] std::uint32_t known(X x) const {
        const std::uint32_t number = numbers_.number(x);
        STRETTO_ASSERT(number != numbers_.none, "the plan names a value that no operation of the graph produces");
        return number;
    }
    /// Gives the value with this number cells for its parts in a region. Returns the first of them.
    std::uint32_t add_parts(std::uint32_t number, std::uint32_t region, std::uint32_t count, std::uint32_t step) {
        const std::uint32_t first = static_cast<std::uint32_t>(cells.size());
        parts_[number] = {region, first, step};
        cells.resize(cells.size() + count);
        return first;
    }

    G g_;
    value_numbering<G> numbers_;       // of the values that have been met
    std::vector<std::uint32_t> cell_;  // by number of a value
    std::vector<parts> parts_;         // by number of a value: its parts in the region that is being read
};

}  // namespace stretto::detail

#endif
