// stretto::compiled: what schedule/compiled.hpp declares.
#include "stretto/schedule/compiled.hpp"

namespace stretto {

namespace detail {
template void make_room<void>(raw_task_graph&, std::size_t);
template void add_storages<void>(raw_task_graph&, task_id);
template void mark_storages<void>(raw_task_graph&, task_id);
template expected<task_graph, task_graph_error> finish_task_graph<void>(raw_task_graph, std::size_t);
template class searched_step<void>;
}  // namespace detail

template simulation simulate<void>(const task_graph&, std::span<const task_id>);
template simulation simulate<void>(const task_graph&, std::span<const task_id>, contention);
template memory_profile profile_memory<void>(const task_graph&, std::span<const task_id>);
template lower_bound bound_below<void>(const task_graph&);
template lower_bound bound_below<void>(const task_graph&, bytes, contention);
template peak_bound least_peak<void>(const task_graph&);
template std::vector<collective_exposure> explain_exposure<void>(const task_graph&, std::span<const task_id>,
                                                                 const simulation&, std::span<const task_id>);
template expected<order_figures, order_violation> verify_order<void>(const task_graph&, std::span<const task_id>,
                                                                     bytes);
template expected<schedule, order_violation> certify<void>(const task_graph&, std::vector<task_id>, bytes, contention,
                                                           std::span<const task_id>);
template expected<checked_order, order_violation> check_order<void>(const task_graph&, std::vector<task_id>, bytes);
template graph_identity identity_of<void>(const task_graph&);
template order_fingerprint fingerprint_of<void>(const task_graph&, std::span<const task_id>);
template expected<schedule, limit_too_low> list_schedule<void>(const task_graph&, const schedule_options&);
template expected<std::vector<schedule>, limit_too_low> schedule_front<void>(const task_graph&,
                                                                             const schedule_options&);
template schedule_by_limits list_schedule_by_limits<void>(const task_graph&, const schedule_options&,
                                                          std::span<const bytes>);
template expected<deadlock_freedom, deadlock> check_deadlock<void>(std::span<const rank_program>,
                                                                   std::span<const process_group>, device_model,
                                                                   std::size_t);

}  // namespace stretto
