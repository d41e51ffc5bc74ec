// Captured steps with something wrong: what is damaged has the structure of a step, so that most of it is read, planned
// and cut in chunks before anybody notices. Everything follows from the dice.
#ifndef STRETTO_TESTS_FUZZ_DAMAGE_HPP
#define STRETTO_TESTS_FUZZ_DAMAGE_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/json_tree.hpp"

namespace support {

/// The same numbers everywhere for the same seed.
class dice {
public:
    explicit dice(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {  // splitmix64
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }
    /// A number below n; 0 if n is 0.
    std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(next() % n); }
    bool one_in(std::size_t n) { return below(n) == 0; }

private:
    std::uint64_t state_;
};

/// The nodes of a step that `keep` marks, as a step: with them come starts and waits of one another, what else they
/// read is an input, and what nobody among them reads is read by an output. `step` may be damaged.
json_tree part_of(const json_tree& step, std::vector<char> keep);

/// Some 20 of the nodes of a step, next to one another, more often around an all-to-all than anywhere, and up to so
/// many more.
json_tree some_of(const json_tree& step, dice& d, std::size_t most = 400);

/// Changes one thing, and says which.
std::string damage(json_tree& step, dice& d);

}  // namespace support

#endif
