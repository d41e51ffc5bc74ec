# Every header of the library by name, one list per target. tests/layering fails when a header on disk is missing here
# or a name here has no file.

# stretto::stretto: no dependencies.
set(STRETTO_HEADERS
    include/stretto/version.hpp
    include/stretto/stretto.hpp
    include/stretto/core/chunk_model.hpp
    include/stretto/core/concepts.hpp
    include/stretto/core/config.hpp
    include/stretto/core/dataflow_concepts.hpp
    include/stretto/core/expected.hpp
    include/stretto/core/index_lists.hpp
    include/stretto/core/iterable.hpp
    include/stretto/core/op_model.hpp
    include/stretto/core/rewriter_concepts.hpp
    include/stretto/core/tensor_model.hpp
    include/stretto/core/units.hpp
    include/stretto/core/vertex_map.hpp
    include/stretto/core/vertex_set.hpp
    include/stretto/views/contracted.hpp
    include/stretto/views/detail/adaptor.hpp
    include/stretto/views/filtered.hpp
    include/stretto/views/induced.hpp
    include/stretto/views/numbered.hpp
    include/stretto/views/reversed.hpp
    include/stretto/views/snapshot.hpp
    include/stretto/views/with_dependences.hpp
    include/stretto/analysis/antichain.hpp
    include/stretto/analysis/boundary.hpp
    include/stretto/analysis/cone.hpp
    include/stretto/analysis/convexity.hpp
    include/stretto/analysis/detail/chain_flow.hpp
    include/stretto/analysis/detail/greedy_paths.hpp
    include/stretto/analysis/detail/heap_sort.hpp
    include/stretto/analysis/detail/hub_labels.hpp
    include/stretto/analysis/detail/order_positions.hpp
    include/stretto/analysis/detail/position_graph.hpp
    include/stretto/analysis/detail/pruned_search.hpp
    include/stretto/analysis/detail/reach_verdict.hpp
    include/stretto/analysis/detail/spine_labels.hpp
    include/stretto/analysis/detail/storage_rules.hpp
    include/stretto/analysis/detail/support_labels.hpp
    include/stretto/analysis/detail/unique_rows.hpp
    include/stretto/analysis/dominators.hpp
    include/stretto/analysis/influence.hpp
    include/stretto/analysis/levels.hpp
    include/stretto/analysis/liveness.hpp
    include/stretto/analysis/reachability.hpp
    include/stretto/analysis/symbol_set.hpp
    include/stretto/analysis/terminal_reachability.hpp
    include/stretto/analysis/topological_order.hpp
    include/stretto/transform/apply_chunks.hpp
    include/stretto/transform/chunk_plan.hpp
    include/stretto/transform/detail/chunk_sweep.hpp
    include/stretto/transform/plan_chunks.hpp
    include/stretto/transform/reorder.hpp
    include/stretto/schedule/autoparallel_clock.hpp
    include/stretto/schedule/bounds.hpp
    include/stretto/schedule/cost/alpha_beta.hpp
    include/stretto/schedule/cost/cost_model.hpp
    include/stretto/schedule/cost/cost_point.hpp
    include/stretto/schedule/cost/monotone_hull.hpp
    include/stretto/schedule/cost/nccl_autoparallel.hpp
    include/stretto/schedule/cost/nccl_autoparallel_formulas.hpp
    include/stretto/schedule/cost/nccl_autoparallel_tables.hpp
    include/stretto/schedule/cost/nccl_common.hpp
    include/stretto/schedule/cost/nccl_v1.hpp
    include/stretto/schedule/cost/nccl_v2.hpp
    include/stretto/schedule/cost/roofline.hpp
    include/stretto/schedule/cost/saturation.hpp
    include/stretto/schedule/cost/table.hpp
    include/stretto/schedule/detail/baseline_witness.hpp
    include/stretto/schedule/detail/compact_tasks.hpp
    include/stretto/schedule/detail/finish_task_graph.hpp
    include/stretto/schedule/detail/list_pass.hpp
    include/stretto/schedule/detail/path_lengths.hpp
    include/stretto/schedule/detail/ready_set.hpp
    include/stretto/schedule/detail/sorted_by_key.hpp
    include/stretto/schedule/detail/spine_bound.hpp
    include/stretto/schedule/exposure.hpp
    include/stretto/schedule/list_schedule.hpp
    include/stretto/schedule/memory.hpp
    include/stretto/schedule/plan_overlap.hpp
    include/stretto/schedule/simulate.hpp
    include/stretto/schedule/task_graph.hpp
    include/stretto/schedule/verify.hpp
    include/stretto/interop/chrome_trace.hpp
    include/stretto/interop/detail/json_quote.hpp
    include/stretto/interop/diagnostic.hpp
    include/stretto/interop/plan_report.hpp
    include/stretto/testing/archetypes.hpp
    include/stretto/testing/check_graph.hpp
    include/stretto/testing/detail/graph_checker.hpp
    include/stretto/testing/finding.hpp
)

# stretto::capture: reads and writes captured steps; needs simdjson and zlib.
set(STRETTO_CAPTURE_HEADERS
    include/stretto/interop/capture.hpp
    include/stretto/interop/capture_builder.hpp
    include/stretto/interop/capture_fields.hpp
    include/stretto/interop/capture_reader.hpp
    include/stretto/interop/capture_tensors.hpp
    include/stretto/interop/capture_view.hpp
    include/stretto/interop/capture_writer.hpp
    include/stretto/interop/check_plan.hpp
    include/stretto/interop/detail/capture_check.hpp
    include/stretto/interop/detail/capture_node_reader.hpp
    include/stretto/interop/detail/json_members.hpp
    include/stretto/interop/detail/json_walk.hpp
    include/stretto/interop/detail/plan_buckets.hpp
    include/stretto/interop/detail/plan_hazards.hpp
    include/stretto/interop/detail/plan_match.hpp
    include/stretto/interop/detail/plan_operations.hpp
    include/stretto/interop/detail/plan_packs.hpp
    include/stretto/interop/detail/plan_prices.hpp
    include/stretto/interop/detail/plan_stand_ins.hpp
    include/stretto/interop/gzip.hpp
)

# stretto::boost_graph: Boost graphs as views and views as Boost graphs; needs the headers of Boost.Graph.
set(STRETTO_BOOST_GRAPH_HEADERS
    include/stretto/interop/boost_graph.hpp
    include/stretto/interop/boost_view.hpp
)

# stretto::range_v3: ranges of ours in range-v3 pipelines.
set(STRETTO_RANGE_V3_HEADERS
    include/stretto/interop/range_v3.hpp
)
list(TRANSFORM STRETTO_HEADERS PREPEND "${PROJECT_SOURCE_DIR}/")
list(TRANSFORM STRETTO_CAPTURE_HEADERS PREPEND "${PROJECT_SOURCE_DIR}/")
list(TRANSFORM STRETTO_BOOST_GRAPH_HEADERS PREPEND "${PROJECT_SOURCE_DIR}/")
list(TRANSFORM STRETTO_RANGE_V3_HEADERS PREPEND "${PROJECT_SOURCE_DIR}/")
