// Pseudo-random samples. Unlike the distributions of <random>, they are the same for the same seed on every compiler,
// so a finding can be reproduced from its seed.
#ifndef STRETTO_TESTING_DETAIL_SAMPLE_SOURCE_HPP
#define STRETTO_TESTING_DETAIL_SAMPLE_SOURCE_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/core/chunk_model.hpp"

namespace stretto::detail {

/// Numbers by splitmix64 (G. Steele, D. Lea and C. Flood, Fast splittable pseudorandom number generators, OOPSLA 2014).
class sample_source {
public:
    explicit sample_source(std::uint64_t seed) : state_(seed) {}

    /// 64 random bits.
    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15u;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    /// A number below n; 0 if n is 0.
    std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(next() % n); }
    /// True in one of n cases.
    bool one_in(std::size_t n) { return below(n) == 0; }
    /// An integer from -4 to 4: sums and products of a few are exact in every float type.
    double small() { return static_cast<double>(below(9)) - 4; }
    /// Shuffles elements (Fisher and Yates).
    template <class T>
    void shuffle(std::vector<T>& all) {
        for (std::size_t k = all.size(); k > 1; --k) {
            const std::size_t other = below(k);
            const T kept = all[k - 1];
            all[k - 1] = all[other];
            all[other] = kept;
        }
    }
    /// A divisor of `extent` from 2 to 64; 0 if there is none.
    std::int64_t divisor(std::int64_t extent) {
        std::vector<std::int64_t> all;
        for (std::int64_t d = 2; d <= extent && d <= 64; ++d)
            if (extent % d == 0) all.push_back(d);
        return all.empty() ? 0 : all[below(all.size())];
    }
    /// Two or three intervals that cover the tokens; some may be empty.
    std::vector<chunk_interval> chunks(std::int64_t tokens) {
        std::vector<chunk_interval> all;
        std::int64_t first = 0;
        for (std::size_t left = 1 + below(2); left > 0; --left) {
            const auto count = static_cast<std::int64_t>(below(static_cast<std::size_t>(tokens - first) + 1));
            all.push_back({first, count});
            first += count;
        }
        all.push_back({first, tokens - first});
        return all;
    }

private:
    std::uint64_t state_;
};

}  // namespace stretto::detail

#endif
