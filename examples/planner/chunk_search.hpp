// Into how many chunks to cut which part of a step, if any: tried on task graphs, before a chunked step is written.
#ifndef STRETTO_PLANNER_CHUNK_SEARCH_HPP
#define STRETTO_PLANNER_CHUNK_SEARCH_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "chunk_settings.hpp"
#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_module_model.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_tokens.hpp"
#include "stretto/core/units.hpp"
#include "stretto/transform/chunk_plan.hpp"
#include "stretto/transform/module_regions.hpp"
#include "stretto/transform/plan_chunks.hpp"

namespace planner {

/// What is cut, along what, and what it must be better than.
struct chunk_question {
    const stretto::capture& step;
    const stretto::capture_tensors& tensors;
    const stretto::capture_modules& modules;
    const stretto::capture_token_symbol& tokens;
    stretto::bytes memory_limit;
    stretto::nanoseconds whole;  ///< the step's time without chunks; the largest value if it does not fit
    recombining how;
};

using chunk_regions = std::vector<stretto::chunk_region<std::uint32_t>>;

struct chunk_answer {
    std::vector<stretto::module_chunks> settings;  ///< none if chunks do not pay
    chunk_regions regions;
    bool slices = false;  ///< written slice by slice, where that may be
};

/// The chunks with which the step is fastest within the memory limit, of those tried. First everything in 2, 3, ...
/// `most` chunks, until the lower bound of one more is no better than the best; what does not fit is tried again with
/// the parts of the model whole (layers, mostly) in which it needs too much. If nothing of that is faster, the modules
/// around all-to-alls alone. Then parts and modules whole whose chunks hide nothing, forward or backward whole, and
/// other numbers of chunks for halves, quarters, ... of the parts, those with the most exposed time first, until a
/// fixed number of tasks has been scheduled. Depends on its arguments alone.
chunk_answer best_chunks(const chunk_question& q, std::size_t most);

/// Whether the step in these chunks is to be put together slice by slice: as is asked for, or else if it is faster than
/// by concatenation, within the memory limit.
bool slices_are_better(const chunk_question& q, const chunk_regions& regions);

/// Whether at least one of these nodes runs per chunk, if all that can is cut along these tokens.
bool any_in_chunks(const stretto::capture& step, const stretto::capture_tensors& tensors,
                   const stretto::capture_token_symbol& tokens, const std::vector<std::uint32_t>& nodes);

/// What chunks of a captured step are planned with.
stretto::chunk_options options_for(bool slices);

}  // namespace planner

#endif
