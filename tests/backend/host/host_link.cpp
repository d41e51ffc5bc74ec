#include "stretto/backend/host/host_link.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <utility>
#include <vector>

using namespace stretto;
using kind = transfer_kind;

TEST_CASE("a link takes latency and the time of the bytes that cross it, or no time at all") {
    constexpr host_link link{{2'000'000}, 1'000'000'000};
    static_assert(link.duration({500'000}) == nanoseconds{2'500'000});
    static_assert(!host_link{}.is_emulated());
    static_assert(host_link{}.duration({500'000}) == nanoseconds{0});
}

TEST_CASE("what a rank keeps for itself does not cross its link") {
    const auto crossing = [](kind what, std::vector<std::size_t> to = {}, std::vector<std::size_t> from = {},
                             std::size_t members = 4) {
        collective_operation o;
        o.kind = what;
        o.send_bytes = 32;
        o.receive_bytes = 128;
        o.send_sizes = std::move(to);
        o.receive_sizes = std::move(from);
        return bytes_on_link(o, members, 0);
    };
    CHECK(crossing(kind::all_gather) == bytes{96});
    CHECK(crossing(kind::reduce_scatter) == bytes{24});
    CHECK(crossing(kind::all_reduce) == bytes{48});
    CHECK(crossing(kind::all_to_all, {20, 4, 4, 4}, {8, 12, 8, 4}) == bytes{24});
    CHECK(crossing(kind::all_to_all, {20, 4, 20, 4}, {8, 12, 8, 4}) == bytes{28});
    CHECK(crossing(kind::broadcast) == bytes{32});
    CHECK(crossing(kind::broadcast, {}, {}, 1) == bytes{0});
    CHECK(crossing(kind::barrier) == bytes{0});
    // Of an exchange whose amounts are found when it begins, those count that were found.
    collective_operation o;
    o.kind = kind::all_to_all;
    const std::size_t sent[] = {8, 16}, received[] = {8, 24};
    CHECK(bytes_on_link(o, 2, 0, sent, received) == bytes{24});
    CHECK(bytes_on_link(o, 2, 1, sent, received) == bytes{8});
}
