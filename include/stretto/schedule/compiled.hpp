// Projects in which many files call the scheduler can include this header and link stretto::compiled. These functions
// depend on no user type. They are then compiled once, in that library, instead of again in every file, because the
// declarations below keep the compiler from instantiating them. Projects that do not link the library use the other
// headers alone, which contain everything.
#ifndef STRETTO_SCHEDULE_COMPILED_HPP
#define STRETTO_SCHEDULE_COMPILED_HPP

#include <cstddef>
#include <span>
#include <vector>

#include "stretto/core/expected.hpp"
#include "stretto/schedule/bounds.hpp"
#include "stretto/schedule/certificate.hpp"
#include "stretto/schedule/checked_order.hpp"
#include "stretto/schedule/contention.hpp"
#include "stretto/schedule/deadlock.hpp"
#include "stretto/schedule/detail/searched_step.hpp"
#include "stretto/schedule/exposure.hpp"
#include "stretto/schedule/limit_trial.hpp"
#include "stretto/schedule/list_schedule.hpp"
#include "stretto/schedule/memory.hpp"
#include "stretto/schedule/order_fingerprint.hpp"
#include "stretto/schedule/simulate.hpp"
#include "stretto/schedule/task_graph.hpp"
#include "stretto/schedule/verify.hpp"

namespace stretto {

namespace detail {
extern template void make_room<void>(raw_task_graph&, std::size_t);
extern template void add_storages<void>(raw_task_graph&, task_id);
extern template void mark_storages<void>(raw_task_graph&, task_id);
extern template expected<task_graph, task_graph_error> finish_task_graph<void>(raw_task_graph, std::size_t);
extern template class searched_step<void>;
}  // namespace detail

extern template simulation simulate<void>(const task_graph&, std::span<const task_id>);
extern template simulation simulate<void>(const task_graph&, std::span<const task_id>, contention);
extern template memory_profile profile_memory<void>(const task_graph&, std::span<const task_id>);
extern template lower_bound bound_below<void>(const task_graph&);
extern template lower_bound bound_below<void>(const task_graph&, bytes, contention);
extern template peak_bound least_peak<void>(const task_graph&);
extern template std::vector<collective_exposure> explain_exposure<void>(const task_graph&, std::span<const task_id>,
                                                                        const simulation&, std::span<const task_id>);
extern template expected<order_figures, order_violation> verify_order<void>(const task_graph&, std::span<const task_id>,
                                                                            bytes);
extern template expected<schedule, order_violation> certify<void>(const task_graph&, std::vector<task_id>, bytes,
                                                                  contention, std::span<const task_id>);
extern template expected<checked_order, order_violation> check_order<void>(const task_graph&, std::vector<task_id>,
                                                                           bytes);
extern template graph_identity identity_of<void>(const task_graph&);
extern template order_fingerprint fingerprint_of<void>(const task_graph&, std::span<const task_id>);
extern template expected<schedule, limit_too_low> list_schedule<void>(const task_graph&, const schedule_options&);
extern template expected<std::vector<schedule>, limit_too_low> schedule_front<void>(const task_graph&,
                                                                                    const schedule_options&);
extern template schedule_by_limits list_schedule_by_limits<void>(const task_graph&, const schedule_options&,
                                                                 std::span<const bytes>);
extern template expected<deadlock_freedom, deadlock> check_deadlock<void>(std::span<const rank_program>,
                                                                          std::span<const process_group>, device_model,
                                                                          std::size_t);

}  // namespace stretto

#endif
