// Core, views, analysis, transform and schedule in one line, for a first look; a library that ships includes the
// headers it uses. By name only: what needs a third party (interop), cost models (schedule/cost/), and the clock of
// another simulator (schedule/autoparallel_clock.hpp).
#ifndef STRETTO_STRETTO_HPP
#define STRETTO_STRETTO_HPP

#include "stretto/analysis/topological_order.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/dataflow_concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/core/rewriter_concepts.hpp"
#include "stretto/core/units.hpp"
#include "stretto/core/vertex_map.hpp"
#include "stretto/core/vertex_set.hpp"
#include "stretto/schedule/bounds.hpp"
#include "stretto/schedule/exposure.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/plan_overlap.hpp"
#include "stretto/schedule/simulate.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/schedule/verify.hpp"
#include "stretto/transform/reorder.hpp"
#include "stretto/version.hpp"
#include "stretto/views/contracted.hpp"
#include "stretto/views/filtered.hpp"
#include "stretto/views/induced.hpp"
#include "stretto/views/numbered.hpp"
#include "stretto/views/reversed.hpp"
#include "stretto/views/snapshot.hpp"
#include "stretto/views/with_dependences.hpp"

#endif
