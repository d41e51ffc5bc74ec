#include "stretto/aten/ring_chunk.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "aten/tensor_program.hpp"
#include "stretto/aten/interpreter.hpp"
#include "support/prop.hpp"

using namespace stretto::aten;
using support::floats;
using support::integers;
using support::tensor_program;

namespace {

/// The positions of the group in the order in which their parts are added.
std::vector<std::size_t> order_of(const ring_chunk& c, std::size_t ranks) {
    std::vector<std::size_t> order;
    for (std::size_t k = 0; k < ranks; ++k) order.push_back(position_in_sum(c, k, ranks));
    return order;
}

/// What a reduction of these inputs, one for each rank, gives on every rank.
template <class T>
std::vector<std::vector<T>> reduced(const std::vector<tensor>& sent, bool scatter, const std::string& how,
                                    const interpreter_options& options) {
    tensor_program p;
    const auto x = p.input("x", sent);
    const std::string ranks = std::to_string(sent.size());
    const auto s =
        scatter ? p.start("s", "_c10d_functional.reduce_scatter_tensor.default", {x}, "%0 " + how + " " + ranks + " g")
                : p.start("s", "_c10d_functional.all_reduce.default", {x}, "%0 " + how + " g");
    p.output({p.wait("w", s)});
    const auto done = p.run(options);
    if (!done) RC_FAIL(done.error().message());
    std::vector<std::vector<T>> all;
    for (const interpreted_value& v : done->outputs[0].by_rank) all.push_back(v.tensors[0].template values<T>());
    return all;
}
interpreter_options on(std::size_t ranks, std::size_t rings) {
    interpreter_options o;
    o.ranks = ranks;
    o.rings = rings;
    return o;
}

/// The sums as the ranks of a ring make them, message by message: every rank has a chunk for each rank, begins with
/// the one of its predecessor, and adds its own part to what arrives. `at` is where the elements of the ring lie, by
/// owner.
void send_round(const std::vector<std::vector<double>>& sent, const std::vector<std::vector<std::size_t>>& at,
                bool backwards, std::vector<double>& sums) {
    const std::size_t n = sent.size();
    const auto next = [&](std::size_t p, std::size_t steps) {
        return backwards ? (p + n - steps % n) % n : (p + steps) % n;
    };
    std::vector<std::vector<double>> message(n);
    for (std::size_t p = 0; p < n; ++p)
        for (const std::size_t i : at[next(p, n - 1)]) message[p].push_back(sent[p][i]);
    for (std::size_t step = 1; step < n; ++step) {
        std::vector<std::vector<double>> arrived(n);
        for (std::size_t p = 0; p < n; ++p) arrived[next(p, 1)] = message[p];
        for (std::size_t p = 0; p < n; ++p) {
            const std::vector<std::size_t>& chunk = at[next(p, 2 * n - 1 - step)];
            for (std::size_t k = 0; k < chunk.size(); ++k) arrived[p][k] += sent[p][chunk[k]];
        }
        message = arrived;
    }
    for (std::size_t p = 0; p < n; ++p)
        for (std::size_t k = 0; k < at[p].size(); ++k) sums[at[p][k]] = message[p][k];
}

/// Lists of `count` places from `first` on, each `length` long but for the last ones.
std::vector<std::vector<std::size_t>> cut(std::size_t first, std::size_t last, std::size_t count) {
    std::vector<std::vector<std::size_t>> parts(count);
    const std::size_t length = (last - first + count - 1) / count;
    for (std::size_t k = 0; k < count; ++k)
        for (std::size_t i = first + k * length; i < std::min(first + (k + 1) * length, last); ++i)
            parts[k].push_back(i);
    return parts;
}

}  // namespace

TEST_CASE("the sum of a chunk begins behind its owner") {
    CHECK(order_of({0, 2}, 4) == std::vector<std::size_t>{3, 0, 1, 2});
    CHECK(order_of({0, 3}, 4) == std::vector<std::size_t>{0, 1, 2, 3});
    CHECK(order_of({1, 2}, 4) == std::vector<std::size_t>{1, 0, 3, 2});
    CHECK(order_of({1, 0}, 1) == std::vector<std::size_t>{0});
    CHECK(order_of({3, 0}, 2) == std::vector<std::size_t>{1, 0});
}

TEST_CASE("chunks of a payload, and of several rings") {
    std::vector<std::size_t> owners;
    for (std::int64_t at = 0; at < 10; ++at) owners.push_back(chunk_of_all_reduce(at, 10, 4, 1).owner);
    CHECK(owners == std::vector<std::size_t>{0, 0, 0, 1, 1, 1, 2, 2, 2, 3});
    CHECK(chunk_of_all_reduce(5, 10, 2, 2) == ring_chunk{1, 0});
    CHECK(chunk_of_all_reduce(4, 10, 2, 2) == ring_chunk{0, 1});
    CHECK(chunk_of_all_reduce(9, 10, 2, 3) == ring_chunk{2, 1});  // runs of 4, 4 and 2
    CHECK(chunk_of_reduce_scatter(9, 12, 3, 1) == ring_chunk{0, 2});
    CHECK(chunk_of_reduce_scatter(9, 12, 3, 2) == ring_chunk{0, 2});
    CHECK(chunk_of_reduce_scatter(10, 12, 3, 2) == ring_chunk{1, 2});
    CHECK(chunk_of_all_reduce(0, 1, 8, 4) == ring_chunk{0, 0});  // more ranks and rings than elements
}

TEST_CASE("reductions add as the messages on rings do, to the last bit") {
    stretto_check("messages", 2000, [](const std::vector<std::uint8_t>& bytes) {
        const auto byte = [&](std::size_t k) { return k < bytes.size() ? bytes[k] : std::uint8_t{0}; };
        const std::size_t ranks = 1 + byte(0) % 5, rings = 1 + byte(1) % 4, share = 1 + byte(2) % 9;
        const bool scatter = byte(3) % 2 == 0;
        const std::size_t elements = scatter ? share * ranks : share + byte(4) % 7;
        std::vector<std::vector<double>> sent(ranks);
        std::vector<tensor> tensors;
        for (std::size_t r = 0; r < ranks; ++r) {
            for (std::size_t i = 0; i < elements; ++i)
                sent[r].push_back((1.0 + byte(5 + r * elements + i)) / static_cast<double>(3 + (r * 31 + i * 17) % 23));
            tensors.push_back(floats({static_cast<std::int64_t>(elements)}, sent[r]));
        }
        std::vector<double> sums(elements);
        for (std::size_t ring = 0; ring < rings; ++ring) {
            std::vector<std::vector<std::size_t>> at(ranks);
            if (scatter) {
                for (std::size_t owner = 0; owner < ranks; ++owner)
                    at[owner] = cut(owner * share, (owner + 1) * share, rings)[ring];
            } else {
                const std::vector<std::size_t> run = cut(0, elements, rings)[ring];
                if (!run.empty()) at = cut(run.front(), run.back() + 1, ranks);
            }
            send_round(sent, at, ring % 2 != 0, sums);
        }
        const auto got = reduced<double>(tensors, scatter, "sum", on(ranks, rings));
        for (std::size_t r = 0; r < ranks; ++r) {
            std::vector<double> due = sums;
            if (scatter)
                due.assign(sums.begin() + static_cast<std::ptrdiff_t>(r * share),
                           sums.begin() + static_cast<std::ptrdiff_t>((r + 1) * share));
            RC_ASSERT(got[r] == due);
        }
    });
}

TEST_CASE("whole numbers and maxima are the same on any rings; fractions are not") {
    std::vector<tensor> whole, thirds;
    for (std::int64_t r = 0; r < 5; ++r) {
        std::vector<std::int64_t> x;
        std::vector<double> y;
        for (std::int64_t i = 0; i < 40; ++i) {
            x.push_back((r * 7919 + i * 104729) % 1000 - 500);
            y.push_back(static_cast<double>(x.back()) / 3);
        }
        whole.push_back(integers({40}, x));
        thirds.push_back(floats({40}, y));
    }
    for (const bool scatter : {false, true})
        for (const char* how : {"sum", "max", "min", "product"}) {
            const bool adds = std::string(how) == "sum";
            const auto by_rank = on(5, 0);
            std::size_t different = 0;
            for (std::size_t rings = 1; rings < 4; ++rings) {
                CHECK(reduced<std::int64_t>(whole, scatter, how, on(5, rings)) ==
                      reduced<std::int64_t>(whole, scatter, how, by_rank));
                different += reduced<double>(thirds, scatter, how, on(5, rings)) !=
                             reduced<double>(thirds, scatter, how, by_rank);
            }
            if (adds) CHECK(different == 3);
            if (how[0] == 'm') CHECK(different == 0);
        }
}

TEST_CASE("the same parts at another place of the payload are another sum") {
    std::vector<tensor> sent;
    for (const double x : {1e16, -1e16, 1.0, 1.0}) sent.push_back(floats({8}, std::vector<double>(8, x)));
    // From position k + 1 round to k: 1 is lost beside 1e16, and kept where the large parts meet before.
    CHECK(reduced<double>(sent, false, "sum", on(4, 1))[0] == std::vector<double>{0, 0, 2, 2, 1, 1, 2, 2});
    CHECK(reduced<double>(sent, false, "sum", on(4, 0))[0] == std::vector<double>(8, 2));
    CHECK(reduced<double>(sent, true, "sum", on(4, 1))[1] == std::vector<double>{2, 2});
}

TEST_CASE("what goes round is rounded on every rank if results are") {
    std::vector<tensor> sent;
    for (const double x : {256.0, 1.0, 1.0, 1.0}) sent.push_back(tensor::of(stretto::element_type::bf16, {1}, {x}));
    interpreter_options o = on(4, 0);
    CHECK(reduced<double>(sent, false, "sum", o)[0][0] == 259);
    o.round = true;  // 257 is no bf16 number, and goes to the even one below
    CHECK(reduced<double>(sent, false, "sum", o)[0][0] == 256);
    o.rings = 1;  // which adds the large part last: 3 + 256 is between 258 and 260
    CHECK(reduced<double>(sent, false, "sum", o)[0][0] == 260);
}
