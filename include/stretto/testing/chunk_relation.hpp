// Tests, on numbers, the claims that a chunk_state makes about parts and their whole. It is written only from the
// definitions of the states (core/chunk_model.hpp): it knows no operator, and shares no code with the planner or with
// any chunk model.
#ifndef STRETTO_TESTING_CHUNK_RELATION_HPP
#define STRETTO_TESTING_CHUNK_RELATION_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/core/chunk_model.hpp"
#include "stretto/testing/host_value.hpp"

namespace stretto {

/// An order of rows: which rows of a value in this order each chunk has, and in which sequence.
struct known_rows {
    std::vector<std::vector<std::int64_t>> of_chunk;
    bool alike = false;  ///< rows of values in this order are all equal; only counts matter, if any are known
};

/// Whether two numbers are the same, or differ by at most `tolerance * (1 + |a|)`. Two NaNs are the same.
[[nodiscard]] inline bool same_number(double a, double b, double tolerance = 0) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    return a == b || std::abs(a - b) <= tolerance * (1 + std::abs(a));
}

/// A region of `tokens` rows in chunks, and the known orders. `find(order)` returns the rows of a named order as a
/// `const known_rows*`; null if they are unknown, except that all values in this order have their rows in the same
/// sequence.
template <class Find>
class chunk_relation {
public:
    using states = std::span<const chunk_state>;

    /// `tolerance` applies to sums, which chunks add in a different order than the whole. Rows may differ by `rows`, in
    /// the sense of same_number.
    chunk_relation(std::int64_t tokens, std::span<const chunk_interval> chunks, Find find, double tolerance = 1e-9,
                   double rows = 0)
        : tokens_(tokens), chunks_(chunks), find_(std::move(find)), tolerance_(tolerance), row_tolerance_(rows) {}

    /// Whether `parts`, one value per chunk, relate to `whole` as the states of its components say. The result is empty
    /// if they do; otherwise it says in one sentence what is wrong. Elements of a sum that are not finite in the whole
    /// are not compared. Linear in the elements, and O(n log n) for n rows in unknown order. Precondition: there is a
    /// state for each component, or one for a number.
    [[nodiscard]] std::string check(const host_value& whole, std::span<const host_value> parts, states s) const {
        for (const chunk_state& each : s)
            if (each.what == chunk_state::kind::unset) return "a state that nobody has set";
        if (whole.is_number()) return check_number(whole, parts, s[0]);
        std::vector<loose_rows> loose;
        for (std::size_t k = 0; k < whole.tensors.size(); ++k) {
            std::vector<const host_tensor*> own;
            for (const host_value& part : parts) {
                if (part.tensors.size() != whole.tensors.size()) return "a part has another number of tensors";
                own.push_back(&part.tensors[k]);
            }
            const bool sum = s[k].what == chunk_state::kind::whole || s[k].what == chunk_state::kind::addend;
            const std::string wrong = sum ? check_sum(whole.tensors[k], own, s[k])
                                          : check_rows(whole.tensors[k], own, s[k], rows_in(loose, s[k].order, k));
            if (!wrong.empty()) return "component " + std::to_string(k) + ": " + wrong;
        }
        for (loose_rows& rows : loose) {
            std::sort(rows.of_whole.begin(), rows.of_whole.end());
            std::sort(rows.of_parts.begin(), rows.of_parts.end());
            if (rows.of_whole != rows.of_parts) return "the parts do not have the rows of the whole, each once";
        }
        return {};
    }

private:
    using row_list = std::vector<std::vector<double>>;
    /// The rows of all components that share an unknown order, side by side: each row is compared together with the
    /// corresponding rows of the other components.
    struct loose_rows {
        std::uint32_t order = 0;
        std::size_t component = 0;  // only for order 0, the unnamed one, in which every component is compared by itself
        row_list of_whole, of_parts;
    };
    static loose_rows& rows_in(std::vector<loose_rows>& all, std::uint32_t order, std::size_t component) {
        for (loose_rows& rows : all)
            if (rows.order == order && (order != 0 || rows.component == component)) return rows;
        return all.emplace_back(loose_rows{order, component, {}, {}});
    }

    /// Checks a number, which has one state and no rows.
    std::string check_number(const host_value& whole, std::span<const host_value> parts, const chunk_state& s) const {
        if (s.what == chunk_state::kind::sliced || s.what == chunk_state::kind::permuted)
            return "a number has no rows that chunks could share out";
        double total = 0;
        for (std::size_t c = 0; c < parts.size(); ++c) {
            if (!parts[c].is_number()) return "a part is no number";
            const double part = parts[c].number;
            total += part;
            if (s.what == chunk_state::kind::whole && !same_number(part, whole.number))
                return "not the same in every chunk";
            if (s.what == chunk_state::kind::addend && s.positions != 0 &&
                part != static_cast<double>(s.positions * chunks_[c].count))
                return "not an exact share";
        }
        const bool sum = s.what != chunk_state::kind::addend || same_number(whole.number, total, tolerance_);
        return sum ? "" : "the parts do not sum to the whole";
    }

    /// Checks a component that is the same in every chunk, or the sum of its parts.
    std::string check_sum(const host_tensor& whole, const std::vector<const host_tensor*>& parts,
                          const chunk_state& s) const {
        std::vector<double> total(whole.elements.size(), 0);
        for (const host_tensor* part : parts) {
            if (part->shape != whole.shape) return "a part has another shape";
            for (std::size_t k = 0; k < total.size(); ++k) {
                total[k] += part->elements[k];
                if (s.what == chunk_state::kind::whole &&
                    !same_number(part->elements[k], whole.elements[k], row_tolerance_))
                    return "not the same in every chunk";
            }
        }
        for (std::size_t k = 0; k < total.size() && s.what == chunk_state::kind::addend; ++k)
            if (std::isfinite(whole.elements[k]) && !same_number(total[k], whole.elements[k], tolerance_))
                return "the parts do not sum to the whole";
        return {};
    }

    /// Checks a component whose rows are divided among the chunks. If their order is unknown, the rows are added to
    /// `loose`, and `check` compares them when all components have added theirs.
    std::string check_rows(const host_tensor& whole, const std::vector<const host_tensor*>& parts, const chunk_state& s,
                           loose_rows& loose) const {
        const bool sliced = s.what == chunk_state::kind::sliced;
        const bool opaque = s.what == chunk_state::kind::opaque;
        if (s.dim < 0) return opaque ? "" : "cut along no dimension";
        const auto dim = static_cast<std::size_t>(s.dim);
        if (dim >= whole.rank()) return "cut along a dimension that there is not";
        if (sliced && whole.extent(dim) % tokens_ != 0) return "an extent that is no multiple of the tokens";
        const row_list all = rows_of(whole, dim);
        const known_rows* known = sliced ? nullptr : find_(s.order);
        const bool alike = known != nullptr && known->alike;
        const known_rows* numbered = s.into == 0 ? nullptr : find_(s.into);
        const std::int64_t per_token = whole.extent(dim) / tokens_;
        const bool unnumbered = s.into != 0 && numbered == nullptr;  // the rows that they number are unknown
        const bool is_loose = s.what == chunk_state::kind::permuted && known == nullptr && !unnumbered;
        std::size_t next = loose.of_parts.size();
        if (is_loose) {
            if (loose.of_whole.size() < all.size()) loose.of_whole.resize(all.size());
            if (loose.of_parts.size() < all.size()) loose.of_parts.resize(all.size());
            for (std::size_t r = 0; r < all.size(); ++r)
                loose.of_whole[r].insert(loose.of_whole[r].end(), all[r].begin(), all[r].end());
            next = 0;
        }
        std::int64_t count = 0;
        for (std::size_t c = 0; c < parts.size(); ++c) {
            const host_tensor& part = *parts[c];
            if (part.rank() != whole.rank()) return "a part has another rank";
            std::vector<std::int64_t> expected = whole.shape;
            expected[dim] = part.extent(dim);
            if (part.shape != expected || part.element != whole.element) return "a part has another shape or type";
            count += part.extent(dim);
            if (sliced && part.extent(dim) != per_token * chunks_[c].count) return "a part is no exact share";
            if (known != nullptr && !known->of_chunk.empty() &&
                part.extent(dim) != static_cast<std::int64_t>(known->of_chunk[c].size()))
                return "a part has another number of rows";
            if (opaque || unnumbered) continue;
            row_list own = rows_of(part, dim);
            for (std::size_t q = 0; q < own.size(); ++q) {
                if (!renumber(own[q], s, numbered, c)) return "numbers a row that is not there";
                if (is_loose) {
                    if (next >= loose.of_parts.size()) return "the parts have more rows than the whole";
                    std::vector<double>& to = loose.of_parts[next++];
                    to.insert(to.end(), own[q].begin(), own[q].end());
                    continue;
                }
                const auto p =
                    static_cast<std::size_t>(sliced  ? per_token * chunks_[c].first + static_cast<std::int64_t>(q)
                                             : alike ? 0
                                                     : known->of_chunk[c][q]);
                if (p >= all.size()) return "the parts have more rows than the whole";
                for (std::size_t i = 0; i < own[q].size(); ++i)
                    if (!same_number(own[q][i], all[p][i], row_tolerance_))
                        return "a row of a part is not that of the whole";
            }
        }
        return count == whole.extent(dim) ? "" : "the parts have not as many rows as the whole";
    }

    /// Turns counts of rows of the chunk into counts of rows of the whole.
    [[nodiscard]] bool renumber(std::vector<double>& row, const chunk_state& s, const known_rows* numbered,
                                std::size_t c) const {
        for (double& x : row) {
            if (numbered != nullptr) {
                const auto& places = numbered->of_chunk[c];
                if (!(x >= 0 && x < static_cast<double>(places.size()))) return false;
                x = static_cast<double>(places[static_cast<std::size_t>(x)]);
            } else {
                x += static_cast<double>(s.positions * chunks_[c].first);
            }
        }
        return true;
    }

    std::int64_t tokens_;
    std::span<const chunk_interval> chunks_;
    Find find_;
    double tolerance_, row_tolerance_;
};

}  // namespace stretto

#endif
