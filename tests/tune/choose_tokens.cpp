#include "stretto/tune/choose_tokens.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/row_layers.hpp"

using namespace stretto;
using namespace support;

namespace {

struct symbol {
    std::string name;
    std::int64_t value = 0;
    std::vector<token_dimension<row_op*>> dimensions;
};
struct exchange {
    row_op* dispatch;
    token_dimension<row_op*> tokens;
    std::int64_t rows;
};

struct step : row_layers {
    row_op* other;

    step() : row_layers(2, 12) { other = p.append(row_op::does::input, {}, 6); }

    /// Of the rows that layers exchange, and of others that they do not read.
    symbol rows() const { return {"s", 12, {{x, 0}}}; }
    symbol others() const { return {"t", 6, {{other, 0}}}; }
    std::vector<exchange> exchanges() const { return {{dispatches[0], {x, 0}, 12}, {dispatches[1], {x, 0}, 12}}; }

    std::optional<symbol> choose(std::vector<symbol> symbols, const std::vector<exchange>& found) {
        return choose_tokens(view(), priced_row_model{}, row_chunk_model{}, std::move(symbols), found);
    }
};

}  // namespace

TEST_CASE("the first symbol is cut, if an exchange runs per chunk then") {
    step s;
    CHECK(s.choose({s.rows(), s.others()}, s.exchanges())->name == "s");
    CHECK(s.choose({s.others()}, {})->name == "t");  // nobody exchanges anything
}

TEST_CASE("a symbol that no exchange follows gives way to the tokens that are exchanged") {
    step s;
    const auto tokens = s.choose({s.others()}, s.exchanges());
    REQUIRE(tokens);
    CHECK(tokens->name == "tokens");
    CHECK(tokens->value == 12);
    CHECK(tokens->dimensions.size() == 2);
}

TEST_CASE("exchanges of tokens that cannot be cut leave the symbol") {
    step s;
    const std::vector<exchange> elsewhere = {{s.dispatches[0], {s.other, 0}, 6}};
    CHECK(s.choose({s.others()}, elsewhere)->name == "t");
    CHECK(s.choose({}, elsewhere)->name == "tokens");
    CHECK(!s.choose({}, {}));
}

TEST_CASE("tokens are counted by the fewest rows, and what is no multiple of them is not cut") {
    step s;
    const std::vector<exchange> two = {
        {s.dispatches[0], {s.x, 0}, 12}, {s.dispatches[1], {s.other, 0}, 6}, {s.dispatches[1], {s.x, 0}, 9}};
    const auto tokens = s.choose({}, two);
    REQUIRE(tokens);
    CHECK(tokens->value == 6);
    CHECK(tokens->dimensions.size() == 2);
}

TEST_CASE("whether a vertex runs per chunk is asked of a plan") {
    step s;
    const token_dimension<row_op*> of_rows{s.x, 0}, of_others{s.other, 0};
    const auto any = [&](std::int64_t rows, const token_dimension<row_op*>& t) {
        return any_in_chunks(s.view(), priced_row_model{}, row_chunk_model{},
                             token_rows<row_op*>{rows, std::span(&t, 1)}, std::span<row_op* const>(s.dispatches));
    };
    CHECK(any(12, of_rows));
    CHECK(!any(6, of_others));
    CHECK(!any(7, of_rows));  // 7 rows do not divide the extent: no plan
}
