// Zeros to which chunks add: shared by all chunks, or made by each chunk for itself.
//
// A program makes zeros once and adds to them, for instance the gradients of rows that several tokens chose. If all
// chunks add to the same zeros, one after the other, what they leave is whole, but nobody can read it before the last
// chunk has run. If each chunk makes zeros of its own, what it leaves there is an addend of the whole, and what follows
// can go on with it per chunk. The search tries the second, and goes back to the first where nothing has use for the
// parts or something behind is refused because of them.
#ifndef STRETTO_TRANSFORM_DETAIL_CHUNK_ZEROS_HPP
#define STRETTO_TRANSFORM_DETAIL_CHUNK_ZEROS_HPP

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/transform/detail/chunk_program.hpp"
#include "stretto/transform/detail/chunk_states.hpp"

namespace stretto::detail {

/// Which operations that make zeros run in every chunk. One that was made to be shared again stays so, which is why the
/// search ends. Keeps a reference to the states.
class chunk_zeros {
public:
    explicit chunk_zeros(chunk_states& states) : p_(states.p), s_(states) {
        use_.assign(p_.size(), use::undecided);
        behind_.assign(p_.size(), chunk_program::none);
    }

    /// Whether v makes zeros in every chunk.
    [[nodiscard]] bool runs_per_chunk(std::uint32_t v) const { return use_[v] == use::per_chunk; }

    /// Lets the zeros to which chain v adds be made in every chunk, if they can be and it has not been tried. `can_run`
    /// says whether the operation that makes them makes nothing but zeros and was not refused. Returns whether this has
    /// changed anything.
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

    /// Notes the zeros that every chunk makes for itself, and from which v, or an operand of v, has its sums.
    void look_behind(std::uint32_t v) {
        if (any_) behind_[v] = find_behind(v);
    }

    /// Has v share its zeros, if it makes them in every chunk. Returns whether it did.
    bool share(std::uint32_t v) {
        if (!runs_per_chunk(v)) return false;
        use_[v] = use::shared;
        return true;
    }
    /// Has the zeros behind v shared, because v is refused beside parts of them: what chunks add to them is whole then,
    /// which v may be able to read. Returns whether there are such zeros.
    bool share_behind(std::uint32_t v) { return behind_[v] != chunk_program::none && share(behind_[v]); }

    /// Has those zeros shared for whose parts no operation has any use: each of those that read them, or what is made
    /// of them, reads nothing but sums. Returns whether there are such zeros. O(V + E) if there are any in chunks.
    bool share_idle() {
        using kind = chunk_state::kind;
        if (!any_ || std::find(use_.begin(), use_.end(), use::per_chunk) == use_.end()) return false;
        std::vector<char> useful(p_.size(), false);        // reads rows of a chunk, or is read by what does
        std::vector<char> read(p_.storage.size(), false);  // by storage: by something useful that does not write it
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
    bool any_ = false;                   // whether any zeros have ever been made in every chunk
    std::vector<use> use_;               // of a vertex that makes zeros
    std::vector<std::uint32_t> behind_;  // of a vertex: see look_behind
};

}  // namespace stretto::detail

#endif
