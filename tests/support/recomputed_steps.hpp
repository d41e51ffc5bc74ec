// Random tensor programs (tensor_steps.hpp) of which some windows are computed again, as training steps do that save
// memory: whoever comes later reads the one or the other.
#ifndef STRETTO_TESTS_SUPPORT_RECOMPUTED_STEPS_HPP
#define STRETTO_TESTS_SUPPORT_RECOMPUTED_STEPS_HPP

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/tensor_steps.hpp"

namespace support {

class recomputed_steps {
public:
    /// `whole`: only operators that are exact on whole numbers. `looks`: with copies of values as they are at some
    /// time, into which nobody writes.
    recomputed_steps(const std::vector<std::uint8_t>& bytes, bool whole, bool with_looks)
        : bytes_(bytes), plain_(step_maker(bytes, whole).take()) {
        for (std::uint32_t v = 0; plain_[v].kind != op_kind::output; ++v) {
            place_.push_back(add(plain_[v]));
            // What a collective reads is not written while it is in flight, again or not.
            if (plain_[v].kind == op_kind::input || plain_[v].kind == op_kind::start) continue;
            if (pick(3) == 0) again(v - static_cast<std::uint32_t>(pick(5)), v);
            for (std::size_t copies = with_looks ? pick(3) : 0; copies > 0; --copies)
                look_at(static_cast<std::uint32_t>(pick(made.size())));
        }
        if (with_looks)
            for (std::uint32_t v = 0, end = static_cast<std::uint32_t>(made.size()); v < end; ++v) look_at(v);
        add(plain_.back());
        std::uint32_t storages = 0;
        for (step_operation& o : made) o.storage = o.aliases || o.writes ? made[o.reads[0]].storage : storages++;
    }

    std::vector<step_operation> made;
    std::vector<std::uint32_t> looks;  ///< the copies, and all numbers

private:
    std::size_t pick(std::size_t below) { return bytes_.empty() ? 0 : (bytes_[next_++ % bytes_.size()] / 3u) % below; }

    std::uint32_t add(step_operation o) {
        for (std::uint32_t& x : o.reads) x = place_[x];
        made.push_back(std::move(o));
        if (made.back().shapes.empty()) looks.push_back(static_cast<std::uint32_t>(made.size() - 1));
        return static_cast<std::uint32_t>(made.size() - 1);
    }
    void again(std::uint32_t first, std::uint32_t last) {
        if (plain_[first].kind == op_kind::wait) --first;  // which its start precedes: both again, or neither
        const std::vector<std::uint32_t> before = place_;
        for (std::uint32_t v = first; v <= last; ++v)
            if (plain_[v].kind != op_kind::input) place_[v] = add(plain_[v]);
        if (pick(2)) place_ = before;
    }
    void look_at(std::uint32_t v) {
        const step_operation o = made[v];
        if (o.shapes.size() != 1 || o.kind == op_kind::start) return;
        looks.push_back(static_cast<std::uint32_t>(made.size()));
        made.push_back({"aten.clone.default", "", op_kind::compute, {v}, o.shapes, o.elements});
    }

    const std::vector<std::uint8_t>& bytes_;
    std::size_t next_ = 0;
    std::vector<step_operation> plain_;
    std::vector<std::uint32_t> place_;  // of an operation of the plain step: the one that stands for it now
};

}  // namespace support

#endif
