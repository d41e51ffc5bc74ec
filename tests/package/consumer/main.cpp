// The least a consumer does: include the library and compute something with it.
#include <cstdio>

#include "stretto/core/units.hpp"
#include "stretto/version.hpp"

int main() {
    const stretto::nanoseconds computing{700};
    const stretto::nanoseconds communicating{300};
    const stretto::nanoseconds step = computing + communicating;
    std::printf("stretto %s: a step of %lld ns\n", STRETTO_VERSION, static_cast<long long>(step.count));
    return step == stretto::nanoseconds{1000} ? 0 : 1;
}
