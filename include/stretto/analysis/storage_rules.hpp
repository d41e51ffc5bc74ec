// The rules that liveness and the task graph share: in which storages a value lives, which storages an operation needs,
// and which are never freed. The functions read a structure of arrays that has the members `kind`, `launch`,
// `first_result`, `operands` and `writes`, as task_graph has. Operations are numbered in a topological order, values in
// the order of their producers.
#ifndef STRETTO_ANALYSIS_STORAGE_RULES_HPP
#define STRETTO_ANALYSIS_STORAGE_RULES_HPP

#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/core/index_lists.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/unique_rows.hpp"

namespace stretto::detail {

/// Stands for "no storage" and "no operation".
inline constexpr std::uint32_t nothing = UINT32_MAX;

/// Appends to `storages`, which has one row per value, the row of the next value: its own storage, unless that is
/// `nothing`, and the storages of everything that it aliases, each once.
template <class = void>
void add_storages(index_lists& storages, unique_rows<>& rows, std::uint32_t own,
                  std::span<const std::uint32_t> aliases) {
    if (own != nothing) rows.add(storages, own);
    for (std::uint32_t y : aliases)  // indexed anew each time, because the row of y moves when `storages` grows
        for (std::size_t k = 0; k < storages[y].size(); ++k) rows.add(storages, storages[y][k]);
    rows.close(storages);
}

/// Calls f(value) for every value that is never freed because of operation t: the results of an input, and the operands
/// of the output.
template <class Program, class F>
void for_each_value_kept(const Program& p, std::uint32_t t, F f) {
    if (p.kind[t] == op_kind::input)
        for (std::uint32_t x = p.first_result[t]; x < p.first_result[t + 1]; ++x) f(x);
    if (p.kind[t] == op_kind::output)
        for (std::uint32_t x : p.operands[t]) f(x);
}

/// Row t of the result holds the storages that must exist until operation t has run, each once: those of the values
/// that it returns, reads or writes in place and, if it waits for a collective, those of the values that the collective
/// reads. Only storages for which `wanted(t, storage)` is true are included.
template <class Program, class Wanted>
[[nodiscard]] index_lists derive_touched(const Program& p, const index_lists& storages, Wanted wanted) {
    const std::size_t operations = p.operands.rows();
    index_lists touched;
    touched.reserve(operations, p.operands.items() + storages.rows());
    unique_rows rows;
    std::uint32_t t = 0;
    const auto touch = [&](std::uint32_t x) {
        for (std::uint32_t s : storages[x])
            if (wanted(t, s)) rows.add(touched, s);
    };
    for (; t < operations; ++t) {
        for (std::uint32_t x = p.first_result[t]; x < p.first_result[t + 1]; ++x) touch(x);
        for (std::uint32_t x : p.operands[t]) touch(x);
        for (std::uint32_t x : p.writes[t]) touch(x);
        if (p.launch[t] != nothing)
            for (std::uint32_t x : p.operands[p.launch[t]]) touch(x);
        rows.close(touched);
    }
    return touched;
}

}  // namespace stretto::detail

#endif
