#include "stretto/aten/detail/operators_by_name.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

#include "support/prop.hpp"

using stretto::detail::aten::aten_operator;
using stretto::detail::aten::aten_operators;
using stretto::detail::aten::find_aten_operator;

TEST_CASE("every operator of the table is found by its name") {
    for (const aten_operator& o : aten_operators) CHECK(find_aten_operator(o.name) == &o);
    static_assert(find_aten_operator("aten.add.Tensor") != nullptr);
    static_assert(find_aten_operator("") == nullptr);
}

TEST_CASE("a changed name is found exactly if the table has it") {
    stretto_check("names, one character of which is another", 20'000,
                  [](std::uint16_t which, std::uint16_t where, char c) {
                      std::string name(aten_operators[which % std::size(aten_operators)].name);
                      if (where % 8 == 0) name.resize(where / 8 % name.size());
                      else name[where / 8 % name.size()] = c;
                      const aten_operator* const found = find_aten_operator(name);
                      const auto* const listed = std::find_if(std::begin(aten_operators), std::end(aten_operators),
                                                              [&](const aten_operator& o) { return o.name == name; });
                      RC_ASSERT(found == (listed == std::end(aten_operators) ? nullptr : listed));
                  });
}
