// A small program with a bucket of gathers and one of reductions, in which everything has a name.
#ifndef STRETTO_TESTS_SUPPORT_BUCKET_PROGRAMS_HPP
#define STRETTO_TESTS_SUPPORT_BUCKET_PROGRAMS_HPP

#include <cstdint>
#include <vector>

#include "stretto/transform/plan_buckets.hpp"
#include "support/bucket_checks.hpp"

namespace support {

/// Two gathers, the first of a cast, and two reductions; a third reduction needs one of them.
struct two_buckets {
    reduction_program p;
    std::uint32_t w, u, converted, ga, gb, a, b, y, rc, rd, c, d, re, e, out;
    two_buckets() {
        using enum reduction_op;
        w = p.input();
        u = p.input();
        converted = p.op(cast, {w});
        ga = p.start(converted, {.kind = stretto::collective_kind::all_gather});
        a = p.op(wait, {ga});
        y = p.op(mix, {a});
        gb = p.start(u, {.kind = stretto::collective_kind::all_gather});
        b = p.op(wait, {gb});
        rc = p.start(y);
        c = p.op(wait, {rc});
        rd = p.start(p.op(mix, {b}));
        d = p.op(wait, {rd});
        re = p.start(p.op(mix, {d}));
        e = p.op(wait, {re});
        p.output({c, d, e});
        out = p.order.back();
    }
    [[nodiscard]] program_bucket_plan plan(stretto::bucket_mode mode = stretto::bucket_mode::pack) const {
        return *stretto::plan_buckets(
            reduction_view{&p}, reduction_model{&p},
            [&](std::uint32_t v) { return stretto::bucket_choice{.label = 0, .cast = v == ga}; }, {.mode = mode});
    }
};

}  // namespace support

#endif
