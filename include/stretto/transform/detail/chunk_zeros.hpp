// Decides whether the zeros to which chunks add are shared by all chunks, or made by each chunk for itself.
//
// A program makes zeros once and adds to them, for example the gradients of rows that several tokens have chosen. If
// all chunks add to the same zeros, one after the other, the sum is whole, but no operation can read it before the last
// chunk has run. If each chunk makes zeros of its own, it leaves an addend of the sum there, and later operations can
// read that per chunk. The search of plan_chunks tries separate zeros first. It shares them if no operation needs the
// parts, or if a later operation is refused because it reads parts.
#ifndef STRETTO_TRANSFORM_DETAIL_CHUNK_ZEROS_HPP
#define STRETTO_TRANSFORM_DETAIL_CHUNK_ZEROS_HPP

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/transform/detail/chunk_program.hpp"
#include "stretto/transform/detail/chunk_states.hpp"

namespace stretto::detail {

/// The decision for each operation that makes zeros. Zeros that are shared after an attempt to separate them stay
/// shared, so the search ends. The states must outlive this object.
class chunk_zeros {
public:
    explicit chunk_zeros(chunk_states& states) : p_(states.p), s_(states) {
        use_.assign(p_.size(), use::undecided);
        behind_.assign(p_.size(), chunk_program::none);
    }

    /// Whether v makes zeros in every chunk.
    [[nodiscard]] bool runs_per_chunk(std::uint32_t v) const { return use_[v] == use::per_chunk; }

    /// Lets every chunk make the zeros to which chain v adds, if that is possible and has not been tried. `can_run(z)`
    /// says whether the operation z that makes them does nothing else and has not been refused. Returns whether this
    /// has changed the decision.
    template <class CanRun>
    bool take_apart(std::uint32_t v, CanRun can_run) {
        const std::uint32_t x = p_.storage[p_.writes[v][0]], z = p_.producer[x];
        if (use_[z] != use::undecided || p_.region[z] != p_.region[v] || p_.controlled[z] || !can_run(z) ||
            p_.first_result[z + 1] != p_.first_result[z] + 1 || p_.components(x) != 1 || p_.token_dim[x] >= 0 ||
            !p_.writes[z].empty())
            return false;
        use_[z] = use::per_chunk;
        any_ = true;
        return true;
    }

    /// Records for share_behind which zeros, made in every chunk, v makes or its operands derive from. Operations are
    /// visited in program order.
    void look_behind(std::uint32_t v) {
        if (any_) behind_[v] = find_behind(v);
    }

    /// Shares the zeros that v makes, if it makes them in every chunk. Returns whether it did.
    bool share(std::uint32_t v) {
        if (!runs_per_chunk(v)) return false;
        use_[v] = use::shared;
        return true;
    }
    /// Shares the zeros from which the operands of v derive, because v is refused: the sum in them is then whole, and v
    /// may be able to read that. Returns whether there are such zeros.
    bool share_behind(std::uint32_t v) { return behind_[v] != chunk_program::none && share(behind_[v]); }

    /// Shares all zeros whose parts no operation needs: everything that reads them, or a value that derives from them,
    /// reads nothing but sums. Returns whether there are such zeros. O(V + E) if any zeros are made in every chunk.
    bool share_idle() {
        using kind = chunk_state::kind;
        if (!any_ || std::find(use_.begin(), use_.end(), use::per_chunk) == use_.end()) return false;
        std::vector<char> useful(p_.size(), false);  // by vertex: it reads rows, or such a vertex reads its results
        std::vector<char> read(p_.storage.size(), false);  // by storage: a useful vertex reads it and does not write it
        for (std::uint32_t v = p_.size(); v-- > 0;) {
            if (!s_.body[v]) continue;
            bool uses = false;
            s_.for_each_operand(v, [&](std::uint32_t, chunk_state s) {
                uses = uses || (s.what != kind::whole && s.what != kind::addend);
            });
            for (std::uint32_t x = p_.first_result[v]; !uses && x < p_.first_result[v + 1]; ++x)
                for (std::uint32_t u : p_.readers[x]) uses = uses || (useful[u] && p_.region[u] == p_.region[v]);
            useful[v] = uses;
            if (!uses) continue;
            for (std::uint32_t x : p_.operands[v]) {
                bool written = false;
                for (std::uint32_t w : p_.writes[v]) written = written || p_.storage[w] == p_.storage[x];
                if (!written) read[p_.storage[x]] = true;
            }
        }
        bool any = false;
        for (std::uint32_t z = 0; z < p_.size(); ++z)
            if (runs_per_chunk(z) && !read[p_.storage[p_.first_result[z]]]) any = share(z);
        return any;
    }

private:
    /// The zeros for look_behind: v itself, or those recorded for the first operand that has some; none if there are
    /// none.
    [[nodiscard]] std::uint32_t find_behind(std::uint32_t v) const {
        if (runs_per_chunk(v)) return v;
        for (std::uint32_t x : p_.operands[v])
            if (s_.made_in(p_.region[v], x) && behind_[p_.producer[x]] != chunk_program::none)
                return behind_[p_.producer[x]];
        return chunk_program::none;
    }

    enum class use : std::uint8_t {
        undecided,
        per_chunk,
        shared
    };
    const chunk_program& p_;
    chunk_states& s_;
    bool any_ = false;                   // whether any zeros have been made in every chunk so far
    std::vector<use> use_;               // by vertex that makes zeros
    std::vector<std::uint32_t> behind_;  // by vertex: see look_behind
};

}  // namespace stretto::detail

#endif
