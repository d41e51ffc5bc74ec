// A set of symbols. Symbols are small numbers that represent anything traced through a graph: a dynamic dimension, a
// parameter, a process group. The set has one bit for each, in a few machine words, so that a union takes a few
// instructions whatever the sets contain.
#ifndef STRETTO_ANALYSIS_SYMBOL_SET_HPP
#define STRETTO_ANALYSIS_SYMBOL_SET_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "stretto/core/config.hpp"

namespace stretto {

/// A subset of the symbols 0 .. Symbols-1: a trivially copyable value of Symbols/8 bytes, aligned to its size. All
/// operations are constant expressions. Precondition of all members: a symbol is below Symbols.
template <std::size_t Symbols>
class alignas(Symbols / 8) symbol_set {
    static_assert(Symbols == 64 || Symbols == 128 || Symbols == 256 || Symbols == 512,
                  "a symbol_set has room for 64, 128, 256 or 512 symbols");

public:
    /// The number of symbols that a set can hold.
    static constexpr std::size_t capacity = Symbols;

    constexpr symbol_set() = default;
    constexpr symbol_set(std::initializer_list<std::size_t> symbols) {
        for (std::size_t s : symbols) insert(s);
    }
    /// The set of all symbols.
    [[nodiscard]] static constexpr symbol_set all() {
        symbol_set set;
        for (std::uint64_t& w : set.words_) w = ~std::uint64_t{0};
        return set;
    }

    [[nodiscard]] constexpr bool contains(std::size_t symbol) const {
        STRETTO_ASSERT(symbol < Symbols, "this symbol_set has no room for that symbol");
        return (words_[symbol / 64] >> (symbol % 64)) & 1u;
    }
    constexpr void insert(std::size_t symbol) {
        STRETTO_ASSERT(symbol < Symbols, "this symbol_set has no room for that symbol");
        words_[symbol / 64] |= std::uint64_t{1} << (symbol % 64);
    }
    constexpr void erase(std::size_t symbol) {
        STRETTO_ASSERT(symbol < Symbols, "this symbol_set has no room for that symbol");
        words_[symbol / 64] &= ~(std::uint64_t{1} << (symbol % 64));
    }
    /// The number of symbols in the set.
    [[nodiscard]] constexpr std::size_t size() const {
        std::size_t n = 0;
        for (std::uint64_t w : words_) n += static_cast<std::size_t>(std::popcount(w));
        return n;
    }
    [[nodiscard]] constexpr bool empty() const {
        std::uint64_t any = 0;
        for (std::uint64_t w : words_) any |= w;
        return any == 0;
    }

    constexpr symbol_set& operator|=(const symbol_set& other) {
        for (std::size_t k = 0; k < Symbols / 64; ++k) words_[k] |= other.words_[k];
        return *this;
    }
    constexpr symbol_set& operator&=(const symbol_set& other) {
        for (std::size_t k = 0; k < Symbols / 64; ++k) words_[k] &= other.words_[k];
        return *this;
    }
    constexpr symbol_set& operator-=(const symbol_set& other) {
        for (std::size_t k = 0; k < Symbols / 64; ++k) words_[k] &= ~other.words_[k];
        return *this;
    }
    friend constexpr symbol_set operator|(const symbol_set& a, const symbol_set& b) { return symbol_set(a) |= b; }
    friend constexpr symbol_set operator&(const symbol_set& a, const symbol_set& b) { return symbol_set(a) &= b; }
    friend constexpr symbol_set operator-(const symbol_set& a, const symbol_set& b) { return symbol_set(a) -= b; }

    /// Compares without a branch for each word, because most of the compared sets are equal.
    friend constexpr bool operator==(const symbol_set& a, const symbol_set& b) {
        std::uint64_t differ = 0;
        for (std::size_t k = 0; k < Symbols / 64; ++k) differ |= a.words_[k] ^ b.words_[k];
        return differ == 0;
    }

private:
    std::uint64_t words_[Symbols / 64] = {};
};

}  // namespace stretto

#endif
