// Recognises the buckets of a captured step: those by the conventions of stretto-graph, and those that PyTorch writes.
// Needs simdjson.
#ifndef STRETTO_CAPTURE_CAPTURE_BUCKET_FORMS_HPP
#define STRETTO_CAPTURE_CAPTURE_BUCKET_FORMS_HPP

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/aten/aten_bucket_forms.hpp"
#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_fields.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/capture/detail/plan_prices.hpp"
#include "stretto/core/bucket_form_model.hpp"
#include "stretto/core/op_model.hpp"

namespace stretto {

using capture_bucket_form = bucket_form<std::uint32_t, std::uint32_t>;

/// A bucket_form_model of `capture_view`. By the conventions of stretto-graph a bucket is a start with `members`, and
/// with an output for each of them, which follows a pack or is coalesced. The field `waits`, which lists names in the
/// order of the members, says which view of the received data is the result of which member. If it is missing, a view
/// belongs to the only member whose type it has, or to none. Any other start is read as by aten_bucket_forms. The step
/// and its tensors must outlive the model.
class capture_bucket_forms {
public:
    /// O(V).
    capture_bucket_forms(const capture& step, const capture_tensors& tensors)
        : step_(&step), tensors_(&tensors), aten_(capture_view{&step}, capture_tensor_model{&step, &tensors}) {}

    /// Returns whether the start v is a bucket by the conventions of the format.
    [[nodiscard]] static bool is_own(const capture& step, std::uint32_t v) {
        return step.field(v, "members") && !step.field(v, "sums");
    }

    /// Returns how start v is written as a bucket. Returns nothing if it is no bucket, or if its form is not
    /// recognised: if a pack or unpack is missing, or sizes do not fit the collective. O(text of the bucket).
    [[nodiscard]] std::optional<capture_bucket_form> form(std::uint32_t v) const {
        if (step_->kind(v) != op_kind::start) return std::nullopt;
        if (is_own(*step_, v)) return own(v);
        return aten_.form(v);
    }

private:
    [[nodiscard]] std::int64_t size_of_component(std::uint32_t v, std::size_t c) const {
        std::int64_t size = static_cast<std::int64_t>(detail::width_of(tensors_->element_name(v, c)));
        for (std::int64_t extent : tensors_->components(v)[c].shape) size *= extent;
        return size;
    }
    [[nodiscard]] bool same_type(std::uint32_t v, std::size_t c, std::uint32_t w) const {
        const auto a = tensors_->components(v), b = tensors_->components(w);
        return b.size() == 1 && std::ranges::equal(a[c].shape, b[0].shape) &&
               tensors_->element_name(v, c) == tensors_->element_name(w, 0);
    }
    /// Returns the only reader of v of that kind; nothing if there is none or more than one.
    [[nodiscard]] std::optional<std::uint32_t> only(std::uint32_t v, op_kind kind) const {
        std::optional<std::uint32_t> found;
        for (std::uint32_t w : step_->readers(v)) {
            if (step_->kind(w) != kind) continue;
            if (found) return std::nullopt;
            found = w;
        }
        return found;
    }

    /// Reads a bucket that follows the conventions of stretto-graph.
    [[nodiscard]] std::optional<capture_bucket_form> own(std::uint32_t v) const {
        capture_fields fields(*step_);
        const auto members = fields.texts(v, "members");
        const std::size_t n = tensors_->components(v).size();
        const auto wait = only(v, op_kind::wait);
        if (!members || members->size() != n || n == 0 || !wait || step_->inputs(v).empty()) return std::nullopt;
        capture_bucket_form f;
        f.wait = *wait;
        auto inputs = step_->inputs(v);
        std::uint32_t holder = *wait;
        if (step_->field(v, "coalesced") != "true") {
            const auto unpack = only(*wait, op_kind::compute);
            if (step_->op(inputs[0]) != "stretto.pack" || !unpack || step_->op(*unpack) != "stretto.unpack")
                return std::nullopt;
            f.packs = {inputs[0]};
            inputs = step_->inputs(inputs[0]);
            f.unpacks = {holder = *unpack};
        }
        std::vector<std::uint32_t> sent(inputs.begin(), inputs.end());
        if (const auto parts = fields.texts(v, "parts")) {
            sent.clear();
            for (const std::string& part : *parts) {
                std::size_t k = inputs.size();
                std::from_chars(part.data(), part.data() + part.size(), k);
                if (k >= inputs.size()) return std::nullopt;
                sent.push_back(inputs[k]);
            }
        }
        if (sent.size() != n) return std::nullopt;  // several members send one value, and the file does not say which
        const collective_kind kind = step_->collective(v);
        const std::int64_t ranks = step_->groups()[step_->group(v)].size;
        for (std::size_t k = 0; k < n; ++k) {
            const std::int64_t received = size_of_component(v, k);
            if (tensors_->components(sent[k]).size() != 1 || received <= 0) return std::nullopt;
            // The member's own columns, in the received data and in the sent data.
            const std::int64_t size = kind == collective_kind::all_gather ? received / ranks : received;
            const double elements = static_cast<double>(size_of_component(sent[k], 0)) /
                                    static_cast<double>(detail::width_of(tensors_->element_name(sent[k], 0)));
            const double packed = elements * static_cast<double>(detail::width_of(tensors_->element_name(v, k)));
            const bool scatters = kind == collective_kind::reduce_scatter;
            if (packed != static_cast<double>(size) * static_cast<double>(scatters ? ranks : 1)) return std::nullopt;
            f.parts.push_back({sent[k], f.row, bytes{size}});
            f.row += bytes{size};
        }
        const auto names = fields.texts(v, "waits");
        for (std::uint32_t w : step_->readers(holder)) {
            if (step_->kind(w) != op_kind::view) continue;
            const std::size_t k = names ? place_of(*names, step_->name(w)) : place_by_type(v, w);
            if (k >= n) continue;  // another reader
            f.results.push_back(f.parts[k]);
            f.results.back().value = w;
            f.unpacks.push_back(w);
        }
        return f;
    }
    [[nodiscard]] static std::size_t place_of(const std::vector<std::string>& names, std::string_view name) {
        return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    }
    /// Returns the only member whose output has the type of the view; the number of members if there is none or more
    /// than one.
    [[nodiscard]] std::size_t place_by_type(std::uint32_t start, std::uint32_t view) const {
        const std::size_t n = tensors_->components(start).size();
        std::size_t found = n;
        for (std::size_t k = 0; k < n; ++k) {
            if (!same_type(start, k, view)) continue;
            if (found != n) return n;
            found = k;
        }
        return found;
    }

    const capture* step_;
    const capture_tensors* tensors_;
    aten_bucket_forms<capture_view, capture_tensor_model> aten_;
};

static_assert(bucket_form_model<capture_bucket_forms, capture_view>);

}  // namespace stretto

#endif
