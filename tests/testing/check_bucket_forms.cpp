#include "stretto/testing/check_bucket_forms.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "stretto/testing/model_archetypes.hpp"
#include "support/bucket_programs.hpp"
#include "transform/split_programs.hpp"

using namespace stretto;
using support::reduction_model;
using support::reduction_program;
using support::reduction_view;

namespace {

struct faulty : support::program_forms {
    int fault = 0;
    mutable std::size_t asked = 0;
    faulty(const reduction_program& program, int which) : support::program_forms{&program}, fault(which) {}
    std::optional<support::program_bucket_form> form(std::uint32_t v) const {
        auto f = support::program_forms::form(v);
        if (fault == 2 && v == p->order[0]) return support::program_bucket_form{};
        if (!f) return f;
        if (fault == 1 && ++asked % 2 == 0) return std::nullopt;
        if (fault == 3) f->wait = f->unpacks[0];
        if (fault == 4) std::swap(f->packs, f->unpacks);
        if (fault == 5) std::swap(f->unpacks[0], f->unpacks[1]);
        if (fault == 6) f->unpacks[0] = f->packs[0];
        if (fault == 7) f->parts[0].size = {};
        if (fault == 8) f->parts[0].offset = {-8};
        if (fault == 9) f->row = {40};
        if (fault == 10) f->parts[0].value = f->packs[0];
        if (fault == 11) f->parts[0].value = 1000;
        if (fault == 12) f->parts[0].value = p->order.back();  // made after the start
        if (fault == 13)
            for (std::uint32_t w : p->order)  // the wait for another start
                if (p->nodes[w].op == support::reduction_op::wait && p->nodes[w].operands[0] != v) f->wait = w;
        if (fault == 13) f->unpacks.clear();
        return f;
    }
};

std::string rule_of(int fault) {
    const support::two_buckets t;
    const reduction_program merged = support::merged_by(t.plan(), t.p);
    const auto found = check_bucket_forms(reduction_view{&merged}, reduction_model{&merged}, faulty(merged, fault));
    return found ? "" : found.error().rule;
}

}  // namespace

TEST_CASE("a bucket form model that keeps its promises") {
    const support::two_buckets t;
    const reduction_program merged = support::merged_by(t.plan(), t.p);
    const auto found =
        check_bucket_forms(reduction_view{&merged}, reduction_model{&merged}, support::program_forms{&merged});
    REQUIRE(found);
    CHECK(*found == bucket_form_summary{3, 2, 4, 8});
    CHECK(rule_of(0).empty());
    const auto least = check_bucket_forms(archetypes::program(0), archetypes::kinds(0), archetypes::bucket_forms(0));
    REQUIRE(least);
    CHECK(*least == bucket_form_summary{2, 1, 1, 0});
}

TEST_CASE("a bucket form model that breaks a rule") {
    CHECK(rule_of(1) == "stable");
    CHECK(rule_of(2) == "start");
    CHECK(rule_of(3) == "wait");
    CHECK(rule_of(4) == "packs");
    CHECK(rule_of(5) == "unpacks");
    CHECK(rule_of(6) == "unpacks");
    CHECK(rule_of(7) == "slice");
    CHECK(rule_of(8) == "slice");
    CHECK(rule_of(9) == "slice");
    CHECK(rule_of(10) == "part");
    CHECK(rule_of(11) == "value");
    CHECK(rule_of(12) == "part");
    CHECK(rule_of(13) == "wait");
}
