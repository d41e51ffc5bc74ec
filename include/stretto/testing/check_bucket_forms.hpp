// Checks the promises of a bucket form model that a compiler cannot check. It takes two lines in the test of an
// adapter:
//
//     const auto buckets = stretto::check_bucket_forms(view, my_model, my_bucket_forms);
//     if (!buckets) FAIL(buckets.error().message());
#ifndef STRETTO_TESTING_CHECK_BUCKET_FORMS_HPP
#define STRETTO_TESTING_CHECK_BUCKET_FORMS_HPP

#include <cstddef>
#include <vector>

#include "stretto/core/bucket_form_model.hpp"
#include "stretto/core/concepts.hpp"
#include "stretto/core/expected.hpp"
#include "stretto/core/op_model.hpp"
#include "stretto/testing/finding.hpp"

namespace stretto {

/// Counts of what was checked. A test of an adapter can compare them with the expected numbers.
struct bucket_form_summary {
    std::size_t starts = 0;   ///< vertices that launch a collective
    std::size_t buckets = 0;  ///< of these, starts that the model recognises as buckets
    std::size_t parts = 0;    ///< of all buckets
    std::size_t copies = 0;   ///< vertices that pack or unpack
    friend bool operator==(const bucket_form_summary&, const bucket_form_summary&) = default;
};

/// Checks that only starts have a form, and that repeated calls return the same one; that its wait, its copies and the
/// producers of its values are vertices of the graph; that copies are listed in program order, packs before the start
/// and unpacks after the wait, which waits for this start; that slices lie within the row and are not empty; and that
/// parts are made before the start, and not by a pack. Deterministic. O(V + size of the forms).
template <vertex_list_graph G, op_model<G> M, bucket_form_model<G> F>
    requires dataflow_graph<G> && indexed_graph<G>
[[nodiscard]] expected<bucket_form_summary, finding> check_bucket_forms(G g, const M& ops, const F& forms) {
    bucket_form_summary summary;
    constexpr std::size_t none = SIZE_MAX;
    std::vector<std::size_t> place(g.index_bound(), none);
    std::vector<vertex_t<G>> listed;
    for (const vertex_t<G> v : g.vertices()) {
        place[g.index(v)] = listed.size();
        listed.push_back(v);
    }
    const auto at = [&](vertex_t<G> v) {
        const std::size_t p = g.index(v) < place.size() ? place[g.index(v)] : none;
        return p != none && listed[p] == v ? p : none;
    };
    std::size_t here = 0;
    for (const vertex_t<G> v : g.vertices()) {
        const auto broken = [&](const char* rule, const char* hint) {
            return unexpected(finding{.rule = rule, .hint = hint, .vertex = here});
        };
        const auto form = forms.form(v);
        if (!(forms.form(v) == form)) return broken("stable", "the form comes out differently when asked again");
        const bool starts = ops.kind(v) == op_kind::start;
        summary.starts += starts;
        if (form) {
            if (!starts) return broken("start", "only a start can be a bucket");
            ++summary.buckets;
            summary.parts += form->parts.size();
            summary.copies += form->packs.size() + form->unpacks.size();
            const std::size_t wait = at(form->wait);
            if (wait == none || wait <= here || ops.kind(form->wait) != op_kind::wait ||
                !(launch_of(g, ops, form->wait) == v))
                return broken("wait", "the wait is no wait behind the start, or waits for another one");
            std::size_t last = none;
            for (const vertex_t<G> u : form->packs) {
                if (at(u) == none || at(u) >= here || (last != none && at(u) <= last))
                    return broken("packs", "packs stand in front of the start, in program order");
                last = at(u);
            }
            last = wait;
            for (const vertex_t<G> u : form->unpacks) {
                if (at(u) == none || at(u) <= last)
                    return broken("unpacks", "unpacks stand behind the wait, in program order");
                last = at(u);
            }
            for (const auto* list : {&form->parts, &form->results})
                for (const auto& slice : *list) {
                    if (at(g.producer(slice.value)) == none)
                        return broken("value", "a part or a result is no value of the graph");
                    if (slice.offset < bytes{} || slice.size <= bytes{} || form->row < slice.offset + slice.size)
                        return broken("slice", "a slice is empty or lies outside of the row");
                }
            for (const auto& part : form->parts) {
                if (at(g.producer(part.value)) >= here)
                    return broken("part", "a part is not there before the start that sends it");
                for (const vertex_t<G> u : form->packs)
                    if (g.producer(part.value) == u) return broken("part", "a part is what goes into the buffer");
            }
        }
        ++here;
    }
    return summary;
}

}  // namespace stretto

#endif
