// expect: error:.*(no match for .operator\+.|invalid operands to binary expression)
#include "stretto/core/units.hpp"

stretto::nanoseconds sum(stretto::nanoseconds t, stretto::bytes b) {
#ifdef EXPECT_FAILURE
    return t + b;
#else
    return t + stretto::nanoseconds{b.count};
#endif
}
