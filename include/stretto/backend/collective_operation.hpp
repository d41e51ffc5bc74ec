// A collective as one rank performs it: a call with the addresses and the amounts of this rank.
#ifndef STRETTO_BACKEND_COLLECTIVE_OPERATION_HPP
#define STRETTO_BACKEND_COLLECTIVE_OPERATION_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/backend/bind_error.hpp"
#include "stretto/core/collective_call.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/units.hpp"
#include "stretto/schedule/task_graph.hpp"

namespace stretto {

/// What a collective moves among the members of its group.
enum class transfer_kind : std::uint8_t {
    all_gather,      ///< every member receives the data of all members, in the order of the group
    reduce_scatter,  ///< every member receives its share of the data of all members, reduced element by element
    all_reduce,      ///< every member receives the data of all members, reduced element by element
    all_to_all,      ///< share k of the data of member j becomes share j of the result of member k
    broadcast,       ///< every member receives the data of member `root`
    barrier,         ///< nothing moves; it is complete when all members have begun it
};

/// Returns whether data of several members is combined, so that the reduction must be known.
[[nodiscard]] constexpr bool reduces(transfer_kind kind) noexcept {
    return kind == transfer_kind::reduce_scatter || kind == transfer_kind::all_reduce;
}

/// A collective as one member of a group performs it. The data that a member sends must not change until the operation
/// is complete, and must not overlap the receive buffer, except as may_overlap allows. Members are given by their
/// places in the group. With n members, send_bytes and receive_bytes are the same for an all-reduce and a broadcast;
/// receive_bytes is n * send_bytes for an all-gather, and send_bytes is n * receive_bytes for a reduce-scatter. For an
/// all-to-all they are the sums of the sizes, each list of which has n entries. `operation_of` makes operations that
/// satisfy this, and no backend checks it again.
struct collective_operation {
    transfer_kind kind = transfer_kind::barrier;
    reduction_kind reduction = reduction_kind::none;
    element_type element = element_type::other;  ///< the element type of a reduction
    std::uint32_t root = 0;                      ///< for a broadcast: the root's place in the group
    const std::byte* send = nullptr;
    std::byte* receive = nullptr;
    std::size_t send_bytes = 0;  ///< for a broadcast the same on all members, although only the root sends
    std::size_t receive_bytes = 0;
    std::vector<std::size_t> send_sizes = {};     ///< for an all-to-all: bytes to each member
    std::vector<std::size_t> receive_sizes = {};  ///< for an all-to-all: bytes from each member
    /// The amounts of an all-to-all may be known only when it begins. These are the addresses at which the numbers of
    /// rows to and from each member are stored by that time; an entry is null if the sizes above give its amount. In
    /// such an all-to-all, send_bytes and receive_bytes are capacities, and `row_bytes`, the length of a row, is
    /// positive. Both lists are empty if the sizes above give all amounts.
    std::vector<const std::int64_t*> send_rows = {}, receive_rows = {};
    std::size_t row_bytes = 0;
    std::uint64_t logical_id = 0;  ///< see collective_call
    std::uint32_t chunk = 0;       ///< see collective_call
    task_id task = no_task;        ///< the start in the task graph to which the operation belongs
};

/// Returns whether member `place` may use these buffers. It may if they do not overlap, or if they overlap exactly so
/// that the member writes only what no other member reads: an all-reduce or a broadcast onto its operand, an all-gather
/// whose operand is its share of the result, a reduce-scatter whose result is its share of the operand. In any other
/// overlap, data would be overwritten while others read it. O(1).
[[nodiscard]] inline bool may_overlap(const collective_operation& o, std::size_t place) {
    const auto address = [](const std::byte* x) { return reinterpret_cast<std::uintptr_t>(x); };
    const std::uintptr_t send = address(o.send), receive = address(o.receive);
    if (send + o.send_bytes <= receive || receive + o.receive_bytes <= send) return true;
    switch (o.kind) {
        case transfer_kind::all_reduce:
        case transfer_kind::broadcast:
            return send == receive;
        case transfer_kind::all_gather:
            return send == receive + place * o.send_bytes;
        case transfer_kind::reduce_scatter:
            return receive == send + place * o.receive_bytes;
        case transfer_kind::all_to_all:
            return false;
        case transfer_kind::barrier:
            break;
    }
    return true;
}

/// Returns the operation, still without addresses, of the start `start` with this call and payload on a group of
/// `members` ranks. Its result must fit into `room` bytes. If some amounts are measured when the step runs, rows have
/// `row` bytes, and `payload` and `room` are the capacities. Otherwise the length of a row is the payload divided by
/// the number of rows. A member that sends no row cannot derive it in this way: for it, rows have `row` bytes, or if
/// `row` is 0, the room divided by the number of rows. Errors are amounts that do not match, amounts that nothing
/// measures, a reduction that does not say what it does, and a call of an unknown kind. O(members).
[[nodiscard]] inline expected<collective_operation, bind_error> operation_of(const collective_call& call, task_id start,
                                                                             std::size_t members, bytes payload,
                                                                             bytes room, bytes row = {}) {
    using why = bind_error::reason;
    const auto refuse = [&](why reason) { return unexpected(bind_error{reason, start}); };
    collective_operation made;
    made.task = start;
    made.logical_id = call.logical_id;
    made.chunk = call.chunk;
    made.element = call.element;
    made.reduction = call.reduction;
    made.send_bytes = static_cast<std::size_t>(payload.count);
    if (payload.count < 0 || room.count < 0 || members == 0) return refuse(why::sizes_disagree);
    switch (call.kind) {
        case collective_kind::all_gather:
            made.kind = transfer_kind::all_gather;
            // This is compared by division, because the product may be too large for its type.
            if (made.send_bytes > static_cast<std::size_t>(room.count) / members) return refuse(why::sizes_disagree);
            made.receive_bytes = made.send_bytes * members;
            break;
        case collective_kind::reduce_scatter:
            made.kind = transfer_kind::reduce_scatter;
            if (made.send_bytes % members != 0) return refuse(why::sizes_disagree);
            made.receive_bytes = made.send_bytes / members;
            break;
        case collective_kind::all_reduce:
            made.kind = transfer_kind::all_reduce;
            made.receive_bytes = made.send_bytes;
            break;
        case collective_kind::all_to_all: {
            made.kind = transfer_kind::all_to_all;
            if (call.input_sizes.empty() && call.output_sizes.empty()) {
                if (made.send_bytes % members != 0) return refuse(why::sizes_disagree);
                made.send_sizes.assign(members, made.send_bytes / members);
                made.receive_sizes = made.send_sizes;
                made.receive_bytes = made.send_bytes;
                break;
            }
            if (call.input_sizes.size() != members || call.output_sizes.size() != members)
                return refuse(why::sizes_disagree);
            std::int64_t sent = 0, received = 0;
            bool measured = false;
            for (std::size_t k = 0; k < members; ++k)
                for (const split_size x : {call.input_sizes[k], call.output_sizes[k]}) {
                    if (x.what == split_size::form::symbolic) return refuse(why::sizes_at_run_time);
                    if (x.value < 0) return refuse(why::sizes_disagree);
                    if (x.what == split_size::form::measured) measured = true;
                }
            const auto given = [](split_size x) { return x.what == split_size::form::given ? x.value : 0; };
            for (std::size_t k = 0; k < members; ++k)
                for (const bool sends : {true, false}) {
                    const std::int64_t rows = given((sends ? call.input_sizes : call.output_sizes)[k]);
                    std::int64_t& sum = sends ? sent : received;
                    if (rows > INT64_MAX - sum) return refuse(why::sizes_disagree);
                    sum += rows;
                }
            std::int64_t length = row.count;
            if (measured) {
                if (length <= 0) return refuse(why::sizes_at_run_time);
                if (sent > payload.count / length || received > room.count / length) return refuse(why::sizes_disagree);
                made.row_bytes = static_cast<std::size_t>(length);
                made.send_rows.resize(members);
                made.receive_rows.resize(members);
                made.receive_bytes = static_cast<std::size_t>(room.count);
            } else {
                if (sent != 0 || length <= 0) {
                    const std::int64_t whole = sent != 0 ? payload.count : room.count;
                    const std::int64_t rows = sent != 0 ? sent : received;
                    if (rows != 0 && whole % rows != 0) return refuse(why::sizes_disagree);
                    length = rows == 0 ? 0 : whole / rows;
                }
                if (length != 0 && received > room.count / length) return refuse(why::sizes_disagree);
                made.receive_bytes = static_cast<std::size_t>(received * length);
            }
            for (std::size_t k = 0; k < members; ++k) {
                made.send_sizes.push_back(static_cast<std::size_t>(given(call.input_sizes[k]) * length));
                made.receive_sizes.push_back(static_cast<std::size_t>(given(call.output_sizes[k]) * length));
            }
            break;
        }
        case collective_kind::other:
            return refuse(why::unknown_collective);
    }
    if (made.receive_bytes > static_cast<std::size_t>(room.count)) return refuse(why::sizes_disagree);
    if (reduces(made.kind)) {
        const auto element = static_cast<std::size_t>(size_of(call.element));
        if (element == 0 || call.reduction == reduction_kind::none || call.reduction == reduction_kind::unknown)
            return refuse(why::unsupported_reduction);
        if (made.receive_bytes % element != 0) return refuse(why::sizes_disagree);
    }
    return made;
}

}  // namespace stretto

#endif
