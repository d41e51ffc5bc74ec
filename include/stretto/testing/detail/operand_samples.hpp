// Operands in chunks, with which check_chunk_model asks about an operation: in random states, or cut alike.
#ifndef STRETTO_TESTING_DETAIL_OPERAND_SAMPLES_HPP
#define STRETTO_TESTING_DETAIL_OPERAND_SAMPLES_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/testing/detail/chunked_sample.hpp"
#include "stretto/testing/detail/sample_source.hpp"
#include "stretto/testing/host_value.hpp"

namespace stretto::detail {

/// The values that operation v of a host_program reads, each once.
template <class Program>
[[nodiscard]] std::vector<std::uint32_t> different_operands(const Program& program, std::size_t v) {
    std::vector<std::uint32_t> values;
    for (std::uint32_t x : program.operands[v])
        if (std::find(values.begin(), values.end(), x) == values.end()) values.push_back(x);
    return values;
}

/// A random region whose tokens divide an extent of an operand. It has two tokens if no extent is larger than 1, since
/// numbers can still be sums, and none if the chosen extent has no divisor from 2 to 64.
template <class Program>
[[nodiscard]] sample_region some_region(const Program& program, std::size_t v, sample_source& pick) {
    std::vector<std::int64_t> extents;
    for (std::uint32_t x : program.operands[v])
        for (const host_tensor& t : program.values[x].tensors)
            for (std::int64_t e : t.shape)
                if (e > 1) extents.push_back(e);
    sample_region region;
    region.tokens = extents.empty() ? 2 : pick.divisor(extents[pick.below(extents.size())]);
    if (region.tokens != 0) region.chunks = pick.chunks(region.tokens);
    return region;
}

/// Whether component c of x, which is still whole, can be cut along this dimension.
[[nodiscard]] inline bool can_cut(const chunked_sample& x, std::size_t c, std::size_t dim,
                                  const sample_region& region) {
    if (x.parts[0].is_number()) return false;
    const std::vector<std::int64_t>& shape = x.parts[0].tensors[c].shape;
    return dim < shape.size() && shape[dim] > 0 && shape[dim] % region.tokens == 0;
}

/// Slices component c of x along a dimension, permutes its rows, makes it a sum, or leaves it whole. With `slice` it is
/// only sliced, along the preferred dimension if possible: operands that are cut alike are accepted far more often than
/// operands that are cut at random, and only what is accepted is tested.
inline void cut_component(chunked_sample& x, std::size_t c, const sample_region& region, bool slice,
                          std::size_t preferred, sample_source& pick) {
    std::vector<std::size_t> dims;
    if (!x.parts[0].is_number())
        for (std::size_t d = 0; d < x.parts[0].tensors[c].shape.size(); ++d)
            if (can_cut(x, c, d, region)) dims.push_back(d);
    const std::size_t way = slice ? 0 : pick.below(4);
    if (way == 3) return;
    if (way == 2) return cut_sum(x, c, pick);
    if (dims.empty()) return;
    cut_rows(x, c, dims[preferred < dims.size() && slice ? preferred : pick.below(dims.size())], region,
             way == 1 ? &pick : nullptr);
}

/// The operands of v in random states; none if the region has no tokens. Half of the samples cut one operand only, and
/// half slice along one dimension where they can, because such cases occur in programs.
template <class Program>
[[nodiscard]] std::vector<chunked_sample> random_operands(const Program& program, std::size_t v,
                                                          const sample_region& region, sample_source& pick) {
    std::vector<chunked_sample> in;
    if (region.tokens == 0) return in;
    const bool mostly_whole = pick.one_in(2), mostly_sliced = pick.one_in(2);
    const std::size_t preferred = pick.below(3);
    const std::size_t chosen = pick.below(program.operands[v].size());
    for (std::size_t k = 0; k < program.operands[v].size(); ++k) {
        const std::uint32_t x = program.operands[v][k];
        std::size_t same = 0;  // an operand that is read twice is cut once
        while (program.operands[v][same] != x) ++same;
        in.push_back(same < k ? in[same] : share_sample(program.values[x], region));
        if (same < k || (mostly_whole && k != chosen)) continue;
        for (std::size_t c = 0; c < in[k].states.size(); ++c)
            cut_component(in[k], c, region, mostly_sliced, preferred, pick);
    }
    return in;
}

/// How operands are cut alike: in slices along one of the first three dimensions, or into sums.
enum class cut_alike : std::uint8_t {
    first,
    second,
    third,
    sum
};

/// The operands of v, in which different value k is cut as `how` says if bit k of `chosen` is set, and all others are
/// whole. There are none if one of those values cannot be cut in this way.
template <class Program>
[[nodiscard]] std::vector<chunked_sample> operands_alike(const Program& program, std::size_t v,
                                                         const sample_region& region, std::size_t chosen, cut_alike how,
                                                         sample_source& pick) {
    if (region.tokens == 0) return {};
    const std::vector<std::uint32_t> values = different_operands(program, v);
    const auto dim = static_cast<std::size_t>(how);
    std::vector<chunked_sample> of;
    for (std::size_t k = 0; k < values.size(); ++k) {
        of.push_back(share_sample(program.values[values[k]], region));
        if ((chosen >> k & 1) == 0) continue;
        for (std::size_t c = 0; c < of[k].states.size(); ++c) {
            if (how == cut_alike::sum) cut_sum(of[k], c, pick);
            else if (can_cut(of[k], c, dim, region)) cut_rows(of[k], c, dim, region, nullptr);
        }
        if (of[k].is_whole()) return {};
    }
    std::vector<chunked_sample> in;
    for (std::uint32_t x : program.operands[v])
        in.push_back(of[static_cast<std::size_t>(std::find(values.begin(), values.end(), x) - values.begin())]);
    return in;
}

}  // namespace stretto::detail

#endif
