// Random tensor programs in chunks: the plan is right, carried out the program computes the same, and every part is
// what the program computes by itself for the tokens of that chunk.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/analysis/value_numbers.hpp"
#include "stretto/aten/aten_calls.hpp"
#include "stretto/aten/aten_chunk_model.hpp"
#include "stretto/aten/interpretation.hpp"
#include "stretto/transform/apply_chunks.hpp"
#include "stretto/transform/plan_chunks.hpp"
#include "stretto/transform/verify_chunks.hpp"
#include "support/prop.hpp"
#include "support/recomputed_steps.hpp"
#include "support/run_tensor_program.hpp"
#include "support/tensor_steps.hpp"

using namespace stretto;
using aten::interpretation;
using aten::interpreted_value;
using aten::tensor;
using support::step_operation;
using support::tensor_program;
using plan_type = chunk_plan<std::uint32_t, std::uint32_t>;
using chunk_model_type = aten_chunk_model<support::step_view, support::step_model>;
using node_id = std::uint32_t;

namespace {

constexpr std::size_t ranks = 2;

/// Makes another tensor program out of one.
class program_rewriter {
public:
    program_rewriter(const tensor_program& before, const chunk_model_type& model)
        : before_(before), model_(model), reads_(before.nodes.size()), erased_(before.nodes.size(), false) {
        for (node_id v = 0; v < before.nodes.size(); ++v) reads_[v] = before.nodes[v].reads;
    }

    void insert_before(node_id v) { at_ = v; }
    std::array<node_id, 1> clone(node_id v, std::span<const node_id> operands, const chunk_part& part) {
        tensor_program::node n = copy_of(v);
        const chunk_arguments own =
            model_.local_arguments(v, part.tokens, part.rows, part.operands, part.results, store_);
        n.positional.assign(own.positional.begin(), own.positional.end());
        n.named.assign(own.named.begin(), own.named.end());
        n.reads.assign(operands.begin(), operands.end());
        for (std::size_t c = 0; c < n.shapes.size(); ++c)
            if (const chunk_state& s = part.results[c]; s.dim >= 0 && s.what != chunk_state::kind::whole) {
                std::int64_t& extent = n.shapes[c][static_cast<std::size_t>(s.dim)];
                extent = part.share(extent);
            }
        n.name += "." + std::to_string(part.chunk);
        return {add(v, std::move(n))};
    }
    std::vector<node_id> split(node_id x, std::size_t dim, std::span<const std::int64_t> sizes) {
        const std::int64_t tokens = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
        const node_id like = like_of(x);
        const std::int64_t unit = before_.nodes[like].shapes[0][dim] / tokens;
        std::vector<node_id> parts;
        std::int64_t from = 0;
        for (std::int64_t size : sizes) {
            tensor_program::node n = copy_of(like);
            n.operation = "aten.slice.Tensor";
            n.kind = op_kind::view;
            n.reads = {x};
            n.named.clear();
            n.positional = {operand(0), integer(static_cast<std::int64_t>(dim)), integer(from),
                            integer(from + size * unit)};
            n.shapes[0][dim] = size * unit;
            from += size * unit;
            parts.push_back(add(like, std::move(n)));
        }
        return parts;
    }
    node_id concat(std::span<const node_id> parts, std::size_t dim) {
        std::vector<tensor_argument> items;
        for (std::size_t k = 0; k < parts.size(); ++k) items.push_back(operand(static_cast<std::int64_t>(k)));
        return join(parts, "aten.cat.default", {list_of(std::move(items)), integer(static_cast<std::int64_t>(dim))});
    }
    node_id empty_like(node_id x, node_id part) {
        tensor_program::node n = copy_of(x);
        n.operation = "aten.new_empty.default";
        n.kind = op_kind::view;
        n.reads = {part};
        n.named.clear();
        std::vector<tensor_argument> sizes;
        for (std::int64_t extent : n.shapes[0]) sizes.push_back(integer(extent));
        n.positional = {operand(0), list_of(std::move(sizes))};
        n.name += ".whole";
        return add(x, std::move(n));
    }
    node_id slice_write(node_id whole, node_id part, std::size_t dim, std::span<const std::int64_t> sizes,
                        std::size_t k) {
        const node_id place = split(whole, dim, sizes)[k];
        tensor_program::node n = copy_of(like_of(whole));
        n.operation = "aten.copy_.default";
        n.kind = op_kind::compute;
        n.reads = {place, part};
        n.named.clear();
        n.positional = {operand(0), operand(1)};
        n.shapes = made_[place - before_.nodes.size()].node.shapes;
        n.name += ".write";
        add(like_of(whole), std::move(n));
        return whole;
    }
    node_id sum(std::span<const node_id> parts) {
        const bool number = before_.nodes[like_of(parts[0])].shapes.empty();
        node_id total = parts[0];
        for (node_id part : parts.subspan(1)) {
            const std::array<node_id, 2> both = {total, part};
            total = join(both, number ? "add" : "aten.add.Tensor", {operand(0), operand(1)});
        }
        return total;
    }
    void replace_uses(node_id v, node_id from, node_id to) {
        std::replace(reads_[v].begin(), reads_[v].end(), from, to);
    }
    void erase(node_id v) { erased_[v] = true; }

    /// The program, and where in it every value of the old or new numbering is.
    tensor_program build(std::vector<node_id>& position) const {
        tensor_program after;
        const std::size_t before = before_.nodes.size();
        position.assign(before + made_.size(), UINT32_MAX);
        const auto place = [&](node_id x, tensor_program::node n) {
            for (node_id& r : n.reads) r = position[r];
            position[x] = static_cast<node_id>(after.nodes.size());
            n.recorded.clear();
            after.nodes.push_back(std::move(n));
            tensor_program::node& kept = after.nodes.back();
            const node_id like = like_of(x);
            for (std::size_t c = 0; c < kept.shapes.size(); ++c)
                kept.recorded.push_back({kept.shapes[c], before_.nodes[like].recorded[c].element});
            after.inputs.push_back(x < before ? before_.inputs[x] : std::vector<interpreted_value>());
        };
        for (node_id v = 0; v < before; ++v) {
            for (node_id k = 0; k < made_.size(); ++k)
                if (made_[k].at == v) place(static_cast<node_id>(before + k), made_[k].node);
            if (erased_[v]) continue;
            tensor_program::node n = copy_of(v);
            n.reads = reads_[v];
            place(v, std::move(n));
        }
        return after;
    }

private:
    struct made_node {
        node_id at, like;
        tensor_program::node node;
    };

    static tensor_argument integer(std::int64_t n) { return {tensor_argument::form::integer, n, 0, {}, {}}; }
    static tensor_argument operand(std::int64_t k) { return {tensor_argument::form::operand, k, 0, {}, {}}; }
    tensor_argument list_of(std::vector<tensor_argument> items) {
        lists_.push_back(std::move(items));
        tensor_argument list;
        list.what = tensor_argument::form::list;
        list.items = lists_.back();
        return list;
    }
    tensor_program::node copy_of(node_id v) const {
        tensor_program::node n = before_.nodes[v];
        n.recorded.clear();
        return n;
    }
    node_id like_of(node_id x) const { return x < before_.nodes.size() ? x : made_[x - before_.nodes.size()].like; }
    node_id add(node_id like, tensor_program::node n) {
        made_.push_back({at_, like, std::move(n)});
        return static_cast<node_id>(before_.nodes.size() + made_.size() - 1);
    }
    node_id join(std::span<const node_id> parts, const char* operation, std::vector<tensor_argument> arguments) {
        tensor_program::node n = copy_of(like_of(parts[0]));
        n.operation = operation;
        n.kind = op_kind::compute;
        n.reads.assign(parts.begin(), parts.end());
        n.named.clear();
        n.positional = std::move(arguments);
        n.name += ".whole";
        return add(like_of(parts[0]), std::move(n));
    }

    const tensor_program& before_;
    chunk_model_type model_;
    node_id at_ = 0;
    std::vector<std::vector<node_id>> reads_;
    std::vector<char> erased_;
    std::vector<made_node> made_;
    argument_store store_;
    std::deque<std::vector<tensor_argument>> lists_;
};
static_assert(chunking_rewriter<program_rewriter, support::step_view>);
static_assert(slice_writing_rewriter<program_rewriter, support::step_view>);

interpreted_value value_of(tensor t) {
    interpreted_value v;
    v.tensors.push_back(std::move(t));
    return v;
}

/// A program with inputs, a region or two, and what was planned for it.
struct random_case {
    std::vector<step_operation> step;
    std::vector<std::int64_t> sizes;
    std::int64_t tokens = 0;
    tensor_program whole;
    std::vector<chunk_region<node_id>> regions;
    std::vector<token_dimension<node_id>> entries;
    row_orders ledger;
    std::optional<value_numbers<support::step_view>> numbers;

    random_case(const std::vector<std::uint8_t>& bytes, bool whole_numbers) {
        const std::uint8_t how = bytes.empty() ? std::uint8_t{0} : bytes[0];
        if (bytes.size() % 2 == 0) step = support::step_maker(bytes, whole_numbers).take();
        else step = support::recomputed_steps(bytes, whole_numbers, false).made;
        // Where the program is also run for the tokens of a chunk, no fixed extent may look like their number.
        const std::int64_t least = whole_numbers ? 0 : 7;
        sizes = {least + 1 + how % 4};
        for (std::size_t k = 0; k < 1 + how / 4u % 3; ++k)
            sizes.push_back(least + (bytes.size() > k + 1 ? bytes[k + 1] % 4 : 1));
        tokens = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
        whole = support::program_for(step, tokens);
        std::uint32_t noise = 2166136261u;
        for (std::uint8_t b : bytes) noise = (noise ^ b) * 16777619u;
        for (node_id v = 0; v < step.size(); ++v) {
            if (step[v].kind != op_kind::input) continue;
            for (std::size_t d = 0; d < step[v].shapes[0].size(); ++d)
                if (step[v].shapes[0][d].per_token > 0) entries.push_back({v, d});
            for (std::size_t rank = 0; rank < ranks; ++rank)
                whole.inputs[v].push_back(value_of(content(v, noise, whole_numbers)));
        }
        const std::uint8_t kept = bytes.size() > 1 ? bytes[1] : std::uint8_t{0};
        regions.push_back({{}, sizes});
        if (how % 5 == 4) regions.push_back({{}, {sizes.rbegin(), sizes.rend()}});
        for (node_id v = 0; v < step.size(); ++v)
            if (step[v].kind != op_kind::input && step[v].kind != op_kind::output && (kept % 4 != 0 || v % 7 != 6))
                regions[v > step.size() / 2 ? regions.size() - 1 : 0].candidates.push_back(v);
        numbers.emplace(view(), model(), aten_calls<support::step_view, support::step_model>(view(), model()));
    }
    tensor content(node_id v, std::uint32_t& noise, bool whole_numbers) const {
        const std::vector<std::int64_t>& shape = whole.nodes[v].shapes[0];
        std::int64_t elements = 1;
        for (std::int64_t e : shape) elements *= e;
        const bool integers = step[v].elements[0] == element_type::i64;
        std::vector<double> all;
        for (std::int64_t k = 0; k < elements; ++k) {
            noise = noise * 1664525u + 1013904223u;
            all.push_back(integers        ? static_cast<double>((noise >> 16) % 3)
                          : whole_numbers ? static_cast<double>((noise >> 16) % 7) - 3
                                          : static_cast<double>(noise) / 1e9 - 2);
        }
        return tensor::of(step[v].elements[0], shape, std::move(all));
    }
    support::step_view view() const { return {{&whole}}; }
    support::step_model model() const { return {{&whole}, &step}; }
    chunk_model_type chunks() { return {view(), model(), ledger, &*numbers}; }
};

interpretation run(const tensor_program& p) {
    auto done = support::run_tensor_program(
        p, {.ranks = ranks, .recorded = aten::recorded_types::exact, .keep_everything = true});
    if (!done) RC_FAIL(done.error().message());
    return *std::move(done);
}

/// Elements as numbers, so that 0 and -0 are the same.
bool same_numbers(const std::vector<aten::interpreted_entry>& a, const std::vector<aten::interpreted_entry>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t k = 0; k < a.size(); ++k)
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            const tensor &x = a[k].by_rank[rank].tensors[0], &y = b[k].by_rank[rank].tensors[0];
            if (x.shape() != y.shape() || x.element() != y.element() || x.values<double>() != y.values<double>())
                return false;
        }
    return true;
}

/// Which chunked operations compute from inputs, from each other and from what no token reaches alone: running the
/// program for the tokens of a chunk gives exactly their parts. (Not of a tensor with two extents of tokens: a chunk
/// cuts one of them, fewer tokens are less of both.)
std::vector<char> by_themselves(const random_case& c, const plan_type& plan) {
    const std::size_t n = c.step.size();
    std::vector<char> chunked(n, false), reached(n, false), alone(n, false), spoilt(n, false), written(n, false);
    for (const auto& o : plan.operations) chunked[o.vertex] = !o.once && !o.is_chain();
    for (node_id v = 0; v < n; ++v) {
        for (const auto& e : c.entries) reached[v] = reached[v] || e.value == v;
        for (node_id x : c.step[v].reads) reached[v] = reached[v] || reached[x] || written[c.step[x].storage];
        if (c.step[v].writes && reached[v]) written[c.step[v].storage] = true;
    }
    const auto token_dimensions = [&](node_id x) {
        std::ptrdiff_t most = 0;
        for (const support::step_shape& s : c.step[x].shapes)
            most = std::max(most, std::count_if(s.begin(), s.end(), [](const auto& e) { return e.per_token > 0; }));
        return most;
    };
    for (bool again = true; again;) {
        again = false;
        for (node_id v = 0; v < n; ++v) {
            alone[v] = chunked[v] && !spoilt[c.step[v].storage] && token_dimensions(v) < 2;
            for (node_id x : c.step[v].reads)
                alone[v] = alone[v] && !spoilt[c.step[x].storage] &&
                           (alone[x] || c.step[x].kind == op_kind::input || (!reached[x] && token_dimensions(x) == 0));
            const bool writes_elsewhere = c.step[v].writes && reached[v] && !alone[v];
            if (writes_elsewhere && !spoilt[c.step[v].storage]) spoilt[c.step[v].storage] = again = true;
        }
    }
    return alone;
}

struct tally {
    std::size_t programs = 0, planned = 0, chunked = 0, stayed = 0, compared = 0, slices = 0;
};

/// A part of an input, or the input where it has no tokens.
tensor rows_of(const tensor& t, const support::step_shape& shape, chunk_interval rows) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
        if (shape[d].per_token == 0) continue;
        std::vector<std::int64_t> part = t.shape();
        part[d] = shape[d].per_token * rows.count;
        return t.view(part, t.strides(), t.offset() + t.strides()[d] * shape[d].per_token * rows.first).cloned();
    }
    return t;
}

/// What the program computes for the tokens of each chunk by itself, recombined, against the recombined parts.
void check_chunk_by_chunk(const random_case& c, const plan_type& plan, const interpretation& after,
                          const std::map<node_id, node_id>& joined, tally& count) {
    const std::vector<char> alone = by_themselves(c, plan);
    std::vector<interpretation> eager;
    chunk_interval rows;
    for (std::int64_t size : plan.regions[0].sizes) {
        rows = {rows.first + rows.count, size};
        tensor_program own = support::program_for(c.step, size);
        for (node_id v = 0; v < c.step.size(); ++v)
            for (const interpreted_value& whole : c.whole.inputs[v])
                own.inputs[v].push_back(value_of(rows_of(whole.tensors[0], c.step[v].shapes[0], rows)));
        eager.push_back(run(own));
    }
    for (const auto& j : plan.joins) {
        if (!alone[j.value] || j.how == recombination::first || c.step[j.value].shapes.empty()) continue;
        ++count.compared;
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            const tensor& got = after.values[joined.at(j.value)][0][rank].tensors[0];
            const auto part = [&](std::size_t k) -> const tensor& {
                return eager[k].values[j.value][0][rank].tensors[0];
            };
            tensor due(got.element(), got.shape());
            std::int64_t from = 0;
            std::vector<double> total = part(0).values<double>();
            for (std::size_t k = 0; k < eager.size(); ++k) {
                const std::vector<double> all = part(k).values<double>();
                if (j.how != recombination::sum) {
                    RC_ASSERT(from + part(k).extent(j.dim) <= got.extent(j.dim));
                    due.view(part(k).shape(), due.strides(), due.strides()[j.dim] * from)
                        .assign(std::span<const double>(all));
                    from += part(k).extent(j.dim);
                } else if (k > 0) {
                    RC_ASSERT(all.size() == total.size());
                    for (std::size_t i = 0; i < all.size(); ++i) total[i] += all[i];
                }
            }
            if (j.how == recombination::sum) {
                RC_ASSERT(got.shape() == part(0).shape());
                due.assign(std::span<const double>(total));
            }
            const std::int64_t place = aten::first_difference(due, got);
            if (place >= 0)
                RC_FAIL(c.whole.nodes[j.value].name + " differs from its chunks at " + std::to_string(place));
        }
    }
}

void check(const std::vector<std::uint8_t>& bytes, bool whole_numbers, tally& count) {
    random_case c(bytes, whole_numbers);
    const chunk_model_type chunks = c.chunks();
    const std::int64_t slices_from = bytes.size() % 3 == 0 ? INT64_MAX : bytes.size() % 3 == 1 ? 0 : 40;
    const auto plan = plan_chunks(c.view(), c.model(), chunks, std::span<const chunk_region<node_id>>(c.regions),
                                  std::span<const token_dimension<node_id>>(c.entries),
                                  {.skip_refused = true, .slices_from = slices_from});
    ++count.programs;
    if (!plan) {
        RC_ASSERT(plan.error().why == chunk_reason::nothing_reached);
        return;
    }
    if (plan->empty()) return;
    ++count.planned;
    count.chunked += plan->operations.size();
    count.stayed += plan->refused.size();
    count.slices += plan->counts().empties;
    const auto verified = verify_chunks(*plan, c.view(), c.model(), chunks);
    if (!verified) {
        const auto& first = verified.error()[0];
        RC_FAIL(std::string(hint(first.broken)) + ": " + c.whole.nodes[first.vertex].name);
    }
    for (const auto& r : plan->refused) {
        const auto cause = std::find_if(plan->refused.begin(), plan->refused.end(),
                                        [&](const auto& other) { return other.vertex == r.cause; });
        RC_ASSERT(cause != plan->refused.end());
        RC_ASSERT(cause->cause == cause->vertex);
    }

    program_rewriter rewriter(c.whole, chunks);
    apply_chunks(*plan, c.view(), rewriter);
    std::vector<node_id> position;
    const tensor_program made = rewriter.build(position);
    const interpretation after = run(made);
    if (whole_numbers) {
        const interpretation before = run(c.whole);
        RC_ASSERT(same_numbers(before.outputs, after.outputs));
        RC_ASSERT(same_numbers(before.inputs, after.inputs));
        return;
    }
    if (plan->regions.size() != 1) return;
    std::map<node_id, node_id> joined;
    for (const auto& j : plan->joins)
        for (node_id v = 0; v < made.nodes.size(); ++v)
            if (made.nodes[v].name.starts_with(c.whole.nodes[j.value].name + ".whole")) joined[j.value] = v;
    check_chunk_by_chunk(c, *plan, after, joined, count);
}

void report(const tally& count) {
    MESSAGE(count.planned << " of " << count.programs << " programs are chunked; of " << count.chunked + count.stayed
                          << " operations that tokens reach " << count.stayed << " stay whole; " << count.slices
                          << " values are written in slices");
    CHECK(count.slices > count.programs / 4);
}

/// As long as rapidcheck ever draws them, from the first case on.
std::vector<std::uint8_t> program_bytes() {
    return *rc::gen::resize(rc::kNominalSize,
                            rc::gen::container<std::vector<std::uint8_t>>(
                                *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(4, 120)),
                                rc::gen::arbitrary<std::uint8_t>()));
}

}  // namespace

TEST_CASE("on whole numbers the chunked program computes exactly what the program does") {
    tally count;
    stretto_check("whole numbers", 2000, [&] { check(program_bytes(), true, count); });
    report(count);
    CHECK(2 * count.planned > count.programs);
    CHECK(2 * count.stayed < count.chunked + count.stayed);
}

TEST_CASE("every part is bit for bit what the program computes for the tokens of its chunk alone") {
    tally count;
    stretto_check("chunk by chunk", 2000, [&] { check(program_bytes(), false, count); });
    report(count);
    MESSAGE(count.compared << " values compared with chunks by themselves");
    CHECK(count.compared > count.programs / 2);
}
