#include "stretto/backend/collective_operation.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace stretto;
using why = bind_error::reason;

namespace {

using result = expected<collective_operation, bind_error>;

result bound(collective_call call, std::int64_t payload, std::int64_t room, std::size_t members = 4) {
    return operation_of(call, 7, members, {payload}, {room});
}
collective_call call_of(collective_kind kind, reduction_kind reduction = reduction_kind::none) {
    collective_call call;
    call.kind = kind;
    call.reduction = reduction;
    call.element = element_type::f32;
    return call;
}
bool refused(const result& r, why reason) { return !r && r.error() == bind_error{reason, 7}; }

}  // namespace

TEST_CASE("amounts follow from the kind, the payload and the group") {
    const result gather = bound(call_of(collective_kind::all_gather), 16, 64);
    REQUIRE(gather);
    CHECK(gather->kind == transfer_kind::all_gather);
    CHECK(gather->receive_bytes == 64);
    CHECK(gather->task == 7);
    const result scatter = bound(call_of(collective_kind::reduce_scatter, reduction_kind::sum), 64, 16);
    REQUIRE(scatter);
    CHECK(scatter->receive_bytes == 16);
    const result reduce = bound(call_of(collective_kind::all_reduce, reduction_kind::max), 64, 64);
    REQUIRE(reduce);
    CHECK(reduce->receive_bytes == 64);
    const result exchange = bound(call_of(collective_kind::all_to_all), 64, 64);
    REQUIRE(exchange);
    CHECK(exchange->send_sizes == std::vector<std::size_t>(4, 16));
    CHECK(exchange->receive_sizes == std::vector<std::size_t>(4, 16));
}

TEST_CASE("unequal shares are counted in rows") {
    using enum split_size::form;
    const split_size sent[] = {{given, 3}, {given, 0}}, received[] = {{given, 1}, {given, 4}};
    collective_call call = call_of(collective_kind::all_to_all);
    call.input_sizes = sent;
    call.output_sizes = received;
    const result made = bound(call, 24, 40, 2);
    REQUIRE(made);
    CHECK(made->send_sizes == std::vector<std::size_t>{24, 0});
    CHECK(made->receive_sizes == std::vector<std::size_t>{8, 32});
    CHECK(made->receive_bytes == 40);
    CHECK(refused(bound(call, 24, 39, 2), why::sizes_disagree));
    CHECK(refused(bound(call, 25, 40, 2), why::sizes_disagree));
    CHECK(refused(bound(call, 24, 40, 3), why::sizes_disagree));
    const split_size none[] = {{given, 0}, {given, 0}};  // sends nothing, and receives 5 rows
    call.input_sizes = none;
    const result empty = bound(call, 0, 40, 2);
    REQUIRE(empty);
    CHECK(empty->receive_sizes == std::vector<std::size_t>{8, 32});
}

TEST_CASE("a rank that sends no row takes the length of one from the source, whatever room it has") {
    using enum split_size::form;
    const split_size sent[] = {{given, 0}, {given, 0}}, received[] = {{given, 1}, {given, 4}};
    collective_call call = call_of(collective_kind::all_to_all);
    call.input_sizes = sent;
    call.output_sizes = received;
    for (const std::int64_t room : {40, 41, 80}) {
        const result made = operation_of(call, 7, 2, {0}, {room}, {8});
        REQUIRE(made);
        CHECK(made->receive_sizes == std::vector<std::size_t>{8, 32});
        CHECK(made->receive_bytes == 40);
    }
    CHECK(refused(operation_of(call, 7, 2, {0}, {39}, {8}), why::sizes_disagree));
}

TEST_CASE("amounts whose sum or product is too large for its type do not fit") {
    using enum split_size::form;
    constexpr std::int64_t huge = std::int64_t{1} << 62;
    CHECK(refused(bound(call_of(collective_kind::all_gather), huge, 64), why::sizes_disagree));
    collective_call call = call_of(collective_kind::all_to_all);
    const split_size much[] = {{given, huge}, {given, huge}}, one[] = {{given, 1}, {given, 0}};
    for (const bool sends : {true, false}) {
        call.input_sizes = sends ? much : one;
        call.output_sizes = sends ? one : much;
        CHECK(refused(bound(call, 8, 64, 2), why::sizes_disagree));
    }
    const split_size half[] = {{given, huge}, {given, 0}};
    call.input_sizes = one;
    call.output_sizes = half;
    CHECK(refused(bound(call, 8, 64, 2), why::sizes_disagree));
}

TEST_CASE("amounts that the step measures are bounded by the room, and need to know how long a row is") {
    using enum split_size::form;
    const split_size sent[] = {{measured, 1}, {given, 1}}, received[] = {{given, 2}, {measured, 2}};
    collective_call call = call_of(collective_kind::all_to_all);
    call.input_sizes = sent;
    call.output_sizes = received;
    CHECK(refused(bound(call, 24, 40, 2), why::sizes_at_run_time));
    const result made = operation_of(call, 7, 2, {24}, {40}, {8});
    REQUIRE(made);
    CHECK(made->row_bytes == 8);
    CHECK(made->send_bytes == 24);
    CHECK(made->receive_bytes == 40);
    CHECK(made->send_sizes == std::vector<std::size_t>{0, 8});
    CHECK(made->receive_sizes == std::vector<std::size_t>{16, 0});
    CHECK(made->send_rows.size() == 2);
    CHECK(made->receive_rows.size() == 2);
    CHECK(refused(operation_of(call, 7, 2, {7}, {40}, {8}), why::sizes_disagree));   // the given row does not fit
    CHECK(refused(operation_of(call, 7, 2, {24}, {15}, {8}), why::sizes_disagree));  // nor do the given two
    CHECK(refused(operation_of(call, 7, 2, {24}, {40}, {-8}), why::sizes_at_run_time));
    CHECK(refused(operation_of(call, 7, 2, {24}, {-1}, {8}), why::sizes_disagree));
    const split_size symbol[] = {{symbolic, 1}, {given, 0}};
    call.input_sizes = symbol;
    CHECK(refused(operation_of(call, 7, 2, {24}, {40}, {8}), why::sizes_at_run_time));
    const split_size negative[] = {{measured, -1}, {given, 0}};
    call.input_sizes = negative;
    CHECK(refused(operation_of(call, 7, 2, {24}, {40}, {8}), why::sizes_disagree));
}

TEST_CASE("a rank may receive where it sends if it writes only what nobody reads") {
    std::byte memory[64];
    const auto allowed = [&](transfer_kind kind, std::size_t from, std::size_t sends, std::size_t to,
                             std::size_t makes) {
        collective_operation o;
        o.kind = kind;
        o.send = memory + from;
        o.receive = memory + to;
        o.send_bytes = sends;
        o.receive_bytes = makes;
        return may_overlap(o, 1);  // of two members
    };
    using enum transfer_kind;
    for (const transfer_kind kind : {all_gather, reduce_scatter, all_reduce, all_to_all, broadcast}) {
        CHECK(allowed(kind, 0, 8, 8, 16));
        CHECK(allowed(kind, 16, 8, 0, 16));
        CHECK_FALSE(allowed(kind, 0, 8, 7, 16));
        CHECK_FALSE(allowed(kind, 15, 8, 0, 16));
    }
    CHECK(allowed(all_reduce, 8, 8, 8, 8));
    CHECK(allowed(broadcast, 8, 8, 8, 8));
    CHECK_FALSE(allowed(all_to_all, 8, 8, 8, 8));
    CHECK(allowed(all_gather, 8, 8, 0, 16));
    CHECK_FALSE(allowed(all_gather, 0, 8, 0, 16));
    CHECK(allowed(reduce_scatter, 0, 16, 8, 8));
    CHECK_FALSE(allowed(reduce_scatter, 0, 16, 0, 8));
    CHECK(allowed(barrier, 0, 16, 0, 8));
}

TEST_CASE("what cannot be done is refused with its reason") {
    CHECK(refused(bound(call_of(collective_kind::other), 16, 16), why::unknown_collective));
    CHECK(refused(bound(call_of(collective_kind::all_gather), 16, 63), why::sizes_disagree));
    CHECK(refused(bound(call_of(collective_kind::all_to_all), 15, 64), why::sizes_disagree));
    CHECK(refused(bound(call_of(collective_kind::all_reduce), 16, 16), why::unsupported_reduction));
    CHECK(refused(bound(call_of(collective_kind::all_reduce, reduction_kind::unknown), 16, 16),
                  why::unsupported_reduction));
    CHECK(refused(bound(call_of(collective_kind::all_reduce, reduction_kind::sum), 15, 16), why::sizes_disagree));
    CHECK(refused(bound(call_of(collective_kind::reduce_scatter, reduction_kind::sum), 24, 24), why::sizes_disagree));
    collective_call other = call_of(collective_kind::all_reduce, reduction_kind::sum);
    other.element = element_type::other;
    CHECK(refused(bound(other, 16, 16), why::unsupported_reduction));
}
