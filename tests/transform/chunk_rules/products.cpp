#include "stretto/transform/chunk_rules/products.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/testing/chunk_relation.hpp"
#include "stretto/testing/host_value.hpp"
#include "support/prop.hpp"
#include "support/rule_test.hpp"

TEST_CASE("a matrix product has the rows of its left factor and the columns of its right one") {
    rule_call c;
    CHECK(c.tensor({8, 3}, sliced(0)).tensor({3, 5}).makes({8, 5}).gives(matrix_product{}) == sliced(0));
    CHECK(c.tensor({3, 5}).tensor({5, 8}, sliced(1)).makes({3, 8}).gives(matrix_product{}) == sliced(1));
    CHECK(c.tensor({2, 8, 3}, sliced(1)).tensor({3, 5}).makes({2, 8, 5}).gives(matrix_product{}) == sliced(1));
}

TEST_CASE("what is summed over in chunks is a sum over chunks") {
    rule_call c;
    CHECK(c.tensor({3, 8}, sliced(1)).tensor({8, 5}, sliced(0)).makes({3, 5}).gives(matrix_product{}) == addend);
    const matrix_product of_gradient{.left_contracts = {0}, .right_contracts = {0}};
    CHECK(c.tensor({8, 3}, sliced(0)).tensor({8, 5}, sliced(0)).makes({3, 5}).gives(of_gradient) == addend);
    CHECK(c.tensor({8, 3}, sliced(0)).tensor({8, 5}).makes({3, 5}).wants(of_gradient) == std::pair(1, 0));
    CHECK_FALSE(c.tensor({8, 3}, sliced(0)).tensor({3, 8}, sliced(1)).makes({8, 8}).refuses(matrix_product{}).empty());
}

TEST_CASE("a sum times something whole is a sum") {
    rule_call c;
    CHECK(c.tensor({3, 4}, addend).tensor({4, 5}).makes({3, 5}).gives(matrix_product{}) == addend);
    CHECK_FALSE(c.tensor({3, 4}, addend).tensor({4, 5}, addend).makes({3, 5}).refuses(matrix_product{}).empty());
}

TEST_CASE("batches go together") {
    rule_call c;
    const matrix_product batched{.left_batch = {0}, .right_batch = {0}};
    const matrix_product inner_batch{
        .left_contracts = {0}, .right_contracts = {0}, .left_batch = {2}, .right_batch = {1}};
    CHECK(c.tensor({8, 2, 3}, sliced(0)).tensor({8, 3, 5}, sliced(0)).makes({8, 2, 5}).gives(batched) == sliced(0));
    CHECK(c.tensor({8, 2, 3}, sliced(0)).tensor({8, 3, 5}).makes({8, 2, 5}).wants(batched) == std::pair(1, 0));
    CHECK(c.tensor({6, 2, 3}).tensor({6, 3, 8}, sliced(2)).makes({6, 2, 8}).gives(batched) == sliced(2));
    CHECK(c.tensor({3, 2, 8}, sliced(2)).tensor({3, 8, 5}, sliced(1)).makes({8, 2, 5}).gives(inner_batch) == sliced(0));
    CHECK(c.tensor({3, 8, 6}, sliced(1)).tensor({3, 6, 5}).makes({6, 8, 5}).gives(inner_batch) == sliced(1));
}

TEST_CASE("a bias is added to rows, not to sums") {
    rule_call c;
    CHECK(c.tensor({5}).tensor({8, 3}, sliced(0)).tensor({3, 5}).makes({8, 5}).gives(biased_product{}) == sliced(0));
    CHECK(c.tensor({8, 5}).tensor({8, 3}, sliced(0)).tensor({3, 5}).makes({8, 5}).wants(biased_product{}) ==
          std::pair(0, 0));
    CHECK(c.tensor({5}).tensor({3, 8}, sliced(1)).tensor({8, 5}, sliced(0)).makes({3, 5}).refuses(biased_product{}) ==
          "op would add its bias once in every chunk");
}

TEST_CASE("groups of rows are multiplied where every chunk knows the ends of its groups") {
    rule_call c;
    const std::uint32_t sorted = c.orders.name(row_orders::origin::sorted, 0, 0, {1});
    const chunk_state rows = permuted(0, sorted);
    CHECK(c.tensor({8, 3}, rows).tensor({2, 3, 5}).tensor({2}, addend).makes({8, 5}).gives(grouped_product{}) == rows);
    CHECK_FALSE(c.tensor({8, 3}, rows).tensor({2, 3, 5}).tensor({2}).makes({8, 5}).refuses(grouped_product{}).empty());
    CHECK(c.tensor({3, 8}, permuted(1, sorted))
              .tensor({8, 5}, rows)
              .tensor({2}, addend)
              .makes({2, 3, 5})
              .gives(grouped_product{}) == addend);
}

namespace {

/// A dimension of a product: what becomes of it, how long it is, and where it stands in either factor.
struct product_dim {
    enum class part : std::uint8_t {
        batch,
        contracted,
        left,
        right
    };
    part of = part::batch;
    std::int64_t extent = 1;
    std::uint8_t left_key = 0, right_key = 0;  // dimensions of a factor are sorted by these
    bool from_end = false;                     // named by a negative number

    [[nodiscard]] bool in_left() const { return of != part::right; }
    [[nodiscard]] bool in_right() const { return of != part::left; }
};

/// A product with its factors, filled with small integers.
struct random_product {
    std::vector<product_dim> dims;
    std::vector<std::size_t> left, right, made;  // positions in `dims`, outermost first
    matrix_product rule{.left_contracts = {}, .right_contracts = {}};

    explicit random_product(std::vector<product_dim> all) : dims(std::move(all)) {
        using part = product_dim::part;
        for (std::size_t k = 0; k < dims.size(); ++k) {
            if (dims[k].in_left()) left.push_back(k);
            if (dims[k].in_right()) right.push_back(k);
        }
        std::ranges::stable_sort(left, {}, [&](std::size_t k) { return dims[k].left_key; });
        std::ranges::stable_sort(right, {}, [&](std::size_t k) { return dims[k].right_key; });
        for (std::size_t k = 0; k < dims.size(); ++k) {
            const bool batch = dims[k].of == part::batch;
            if (!batch && dims[k].of != part::contracted) continue;
            (batch ? rule.left_batch : rule.left_contracts).push_back(named(left, k));
            (batch ? rule.right_batch : rule.right_contracts).push_back(named(right, k));
            if (batch) made.push_back(k);
        }
        for (const auto& [side, free] : {std::pair(&left, part::left), std::pair(&right, part::right)})
            for (std::size_t k : *side)
                if (dims[k].of == free) made.push_back(k);
    }

    [[nodiscard]] std::vector<std::int64_t> shape(const std::vector<std::size_t>& of) const {
        std::vector<std::int64_t> extents;
        for (std::size_t k : of) extents.push_back(dims[k].extent);
        return extents;
    }
    /// From the definition: for every index of every dimension one product is added. The factors may be parts.
    [[nodiscard]] host_value multiply(const host_value& a, const host_value& b) const {
        std::vector<std::int64_t> extents(dims.size(), 1), at(dims.size(), 0);
        for (std::size_t d = 0; d < left.size(); ++d) extents[left[d]] = a.tensors[0].shape[d];
        for (std::size_t d = 0; d < right.size(); ++d) extents[right[d]] = b.tensors[0].shape[d];
        host_tensor c{{}, {}};
        for (std::size_t k : made) c.shape.push_back(extents[k]);
        c.elements.assign(static_cast<std::size_t>(elements_of(c.shape)), 0);
        const auto element = [&](const std::vector<std::size_t>& of) {
            std::int64_t place = 0;
            for (std::size_t k : of) place = place * extents[k] + at[k];
            return static_cast<std::size_t>(place);
        };
        for (std::int64_t left_over = elements_of(extents); left_over > 0; --left_over) {
            c.elements[element(made)] += a.tensors[0].elements[element(left)] * b.tensors[0].elements[element(right)];
            for (std::size_t k = dims.size(); k-- > 0;) {
                if (++at[k] < extents[k]) break;
                at[k] = 0;
            }
        }
        return {{c}, 0};
    }

private:
    [[nodiscard]] std::int64_t named(const std::vector<std::size_t>& side, std::size_t k) const {
        const auto at = std::ranges::find(side, k) - side.begin();
        return dims[k].from_end ? at - static_cast<std::ptrdiff_t>(side.size()) : at;
    }
};

rc::Gen<product_dim> any_dim() {
    return rc::gen::build<product_dim>(
        rc::gen::set(&product_dim::of, rc::gen::element(product_dim::part::batch, product_dim::part::contracted,
                                                        product_dim::part::left, product_dim::part::right)),
        rc::gen::set(&product_dim::extent, rc::gen::element<std::int64_t>(1, 2, 2, 3, 4)),
        rc::gen::set(&product_dim::left_key, rc::gen::inRange<std::uint8_t>(0, 4)),
        rc::gen::set(&product_dim::right_key, rc::gen::inRange<std::uint8_t>(0, 4)),
        rc::gen::set(&product_dim::from_end));
}

host_value any_tensor(const std::vector<std::int64_t>& shape) {
    host_tensor t{shape, {}};
    for (std::int64_t k = elements_of(shape); k > 0; --k)
        t.elements.push_back(static_cast<double>(*rc::gen::inRange(-4, 5)));
    return {{t}, 0};
}

/// Whole, a sum, or sliced along a dimension that two tokens divide.
chunk_state any_state(const std::vector<std::int64_t>& shape) {
    std::vector<chunk_state> states = {whole, addend, whole};
    for (std::size_t d = 0; d < shape.size(); ++d)
        if (shape[d] % 2 == 0) states.insert(states.end(), 2, sliced(static_cast<int>(d)));
    return states[*rc::gen::inRange<std::size_t>(0, states.size())];
}

/// The parts of a value in that state.
std::vector<host_value> parts_of(const host_value& x, const chunk_state& s, std::span<const chunk_interval> chunks) {
    std::vector<host_value> parts(chunks.size(), x);
    for (std::size_t c = 0; s.what == chunk_kind::sliced && c < chunks.size(); ++c) {
        const auto d = static_cast<std::size_t>(s.dim);
        const std::int64_t rows = x.tensors[0].shape[d] / 2;  // of each of the two tokens
        std::vector<std::int64_t> places;
        for (std::int64_t r = 0; r < rows * chunks[c].count; ++r) places.push_back(rows * chunks[c].first + r);
        parts[c].tensors[0] = take_rows(x.tensors[0], d, places);
    }
    for (std::size_t c = 0; s.what == chunk_kind::addend && c + 1 < chunks.size(); ++c) {
        parts[c] = any_tensor(x.tensors[0].shape);
        for (std::size_t k = 0; k < x.tensors[0].elements.size(); ++k)
            parts.back().tensors[0].elements[k] -= parts[c].tensors[0].elements[k];
    }
    return parts;
}

}  // namespace

TEST_CASE("parts of any product are what the rule says, and it refuses nothing that could be put together") {
    int accepted = 0, cut_as_wanted = 0, refused = 0;
    stretto_check("products of any dimensions", 3000, [&] {
        const auto count = *rc::gen::inRange<std::size_t>(0, 7);
        const random_product p(*rc::gen::container<std::vector<product_dim>>(count, any_dim()));
        const std::vector<std::int64_t> shape_a = p.shape(p.left), shape_b = p.shape(p.right);
        chunk_state a = any_state(shape_a), b = any_state(shape_b);
        if (a == whole && b == whole) a = addend;  // a rule is asked only if something is cut
        rule_call c;
        c.tokens = 2;
        const auto ask = [&] {
            return c.tensor(shape_a, a).tensor(shape_b, b).makes(p.shape(p.made)).gives(any_rule(p.rule));
        };
        // Which dimension of the product an operand is cut along; none of them if it is not.
        const std::size_t none = p.dims.size();
        const std::size_t cut_a = is_cut(a) ? p.left[static_cast<std::size_t>(a.dim)] : none;
        const std::size_t cut_b = is_cut(b) ? p.right[static_cast<std::size_t>(b.dim)] : none;
        const bool is_shared_dim =
            (cut_a != none && p.dims[cut_a].in_right()) || (cut_b != none && p.dims[cut_b].in_left());
        const bool one_is_whole = a == whole || b == whole;

        chunk_state made = ask();
        if (c.verdict.wanted >= 0) {
            RC_ASSERT((one_is_whole && is_shared_dim));
            (c.verdict.wanted == 0 ? a : b) = sliced(c.verdict.wanted_dim);
            made = ask();
            RC_ASSERT(c.verdict.possible);
            ++cut_as_wanted;
        } else {
            const bool sum_and_whole = one_is_whole && (is_addend(a) || is_addend(b));
            const bool free_and_whole = one_is_whole && (is_cut(a) || is_cut(b)) && !is_shared_dim;
            const bool alike = cut_a != none && cut_a == cut_b;
            RC_ASSERT(c.verdict.possible == (sum_and_whole || free_and_whole || alike));
        }
        if (!c.verdict.possible) {
            ++refused;
            return;
        }
        ++accepted;
        const host_value x = any_tensor(shape_a), y = any_tensor(shape_b);
        const std::int64_t first = *rc::gen::inRange<std::int64_t>(0, 3);
        const std::vector<chunk_interval> chunks = {{0, first}, {first, 2 - first}};
        const std::vector<host_value> xs = parts_of(x, a, chunks), ys = parts_of(y, b, chunks);
        std::vector<host_value> parts;
        for (std::size_t k = 0; k < chunks.size(); ++k) parts.push_back(p.multiply(xs[k], ys[k]));
        const chunk_relation relation(2, chunks, [](std::uint32_t) -> const known_rows* { return nullptr; }, 0);
        const std::string wrong = relation.check(p.multiply(x, y), parts, std::span(&made, 1));
        if (!wrong.empty()) RC_FAIL(wrong);
    });
    if (!support::runs_all_cases()) return;
    CHECK(accepted > 500);
    CHECK(cut_as_wanted > 100);
    CHECK(refused > 100);
}
