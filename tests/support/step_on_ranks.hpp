// Captured steps on the ranks of a world, with the operators of the interpreter as kernels. What a value holds is
// in the arena of the executor and nowhere else: a kernel fetches what it reads, runs one operator and puts back what
// it has made or written. So a wait that is missing, or bytes that are given away too early, are seen in the results.
#ifndef STRETTO_TESTS_SUPPORT_STEP_ON_RANKS_HPP
#define STRETTO_TESTS_SUPPORT_STEP_ON_RANKS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/aten/detail/interpreter_program.hpp"
#include "stretto/aten/interpretation.hpp"
#include "stretto/backend/executor.hpp"
#include "stretto/backend/host/host_world.hpp"
#include "stretto/capture/capture_calls.hpp"
#include "stretto/capture/capture_fields.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/capture_view.hpp"
#include "stretto/core/process_groups.hpp"
#include "stretto/schedule/checked_order.hpp"

namespace support {

/// What the nodes of a step in buckets make, and what the format says of them only by names.
struct bucketed_run {
    stretto::aten::interpretation made;
    std::map<std::uint32_t, std::vector<std::uint32_t>> packed;  ///< by pack: what each member sends
    std::map<std::uint32_t, std::size_t> part;                   ///< by old wait: the member that it has waited for
};

/// A step in buckets, if the nodes of the step without buckets make what `run` has kept: an unpack makes the results of
/// the waits that it stands for, and what is packed is one row of numbers.
[[nodiscard]] inline bucketed_run in_buckets(const stretto::capture& step, const stretto::aten::interpretation& run,
                                             const stretto::capture& bucketed) {
    using stretto::aten::interpreted_value, stretto::aten::tensor;
    std::map<std::string_view, std::uint32_t> known;
    std::map<std::string_view, std::uint32_t> wait_of;  // by the name of a start
    for (std::uint32_t v = 0; v < step.size(); ++v) {
        known.emplace(step.name(v), v);
        if (step.kind(v) != stretto::op_kind::wait) continue;
        // Some waits of captured steps wait for nothing, or once more.
        if (const auto start = step.launch_of(v)) wait_of.emplace(step.name(*start), v);
    }
    bucketed_run all;
    stretto::aten::interpretation& made = all.made;
    made.values.resize(bucketed.size());
    std::map<std::string_view, std::uint32_t> there;
    for (std::uint32_t v = 0; v < bucketed.size(); ++v) there.emplace(bucketed.name(v), v);
    const auto row = [](std::size_t elements) {
        interpreted_value x;
        x.tensors.emplace_back(stretto::element_type::f64, std::vector{static_cast<std::int64_t>(elements)});
        return x;
    };
    stretto::capture_fields fields(bucketed);
    std::vector<std::uint32_t> members;  // of the bucket whose wait is next
    std::uint32_t start = 0;
    for (std::uint32_t v = 0; v < bucketed.size(); ++v) {
        auto& value = made.values[v];
        if (const auto at = known.find(bucketed.name(v)); at != known.end()) {
            value = run.values.size() > at->second ? run.values[at->second] : value;
            continue;
        }
        value.resize(1);
        if (const auto names = fields.texts(v, "members")) {
            start = v;
            members.clear();
            const std::uint32_t pack = bucketed.inputs(v)[0];
            std::vector<std::uint32_t>& packed = all.packed[pack];
            for (const std::string& name : *names) {
                const std::uint32_t m = known.at(name);
                members.push_back(wait_of.at(name));
                all.part[there.at(step.name(members.back()))] = members.size() - 1;
                // What it sends may have been cast on the way, which the pack does now.
                const auto sent = there.find(step.name(step.inputs(m)[0]));
                const auto inputs = bucketed.inputs(pack);
                const bool casts =
                    sent == there.end() || std::find(inputs.begin(), inputs.end(), sent->second) == inputs.end();
                packed.push_back(casts ? there.at(step.name(step.inputs(step.inputs(m)[0])[0])) : sent->second);
            }
            for (std::size_t rank = 0; rank < run.values[members[0]][0].size(); ++rank) {
                std::size_t sent = 0, received = 0;
                for (const std::uint32_t w : members)
                    received += static_cast<std::size_t>(run.values[w][0][rank].tensors[0].elements());
                for (const std::uint32_t x : packed)
                    sent += static_cast<std::size_t>(made.values[x][0][rank].tensors[0].elements());
                value[0].push_back(row(received));
                made.values[pack][0].push_back(row(sent));
            }
        } else if (bucketed.op(v) == "stretto.pack") {
            continue;  // its start says what it packs
        } else if (bucketed.op(v) == "stretto.unpack") {
            for (const std::uint32_t w : members)
                for (std::size_t rank = 0; rank < run.values[w][0].size(); ++rank) {
                    if (value[0].size() <= rank) value[0].emplace_back();
                    value[0][rank].tensors.push_back(run.values[w][0][rank].tensors[0]);
                }
        } else {
            value = made.values[start];  // the wait of the bucket
        }
    }
    return all;
}

/// A captured step as it is executed: every number has 8 bytes, and a storage has as many of them as the interpreter
/// has needed on the rank that needed most. Values share storages as they do in the interpreter. What the capture calls
/// a view is a kernel if it reads data for the host (`_local_scalar_dense`, which then makes 8 bytes), or if the
/// interpreter copies for it.
class executable_step {
public:
    /// `run` is an interpretation of the step that has kept everything.
    executable_step(const stretto::capture& step, const stretto::capture_tensors& tensors,
                    const stretto::aten::interpretation& run, const bucketed_run* buckets = nullptr)
        : step_(&step), tensors_(&tensors), run_(&run), buckets_(buckets), calls_(stretto::read_calls(step, tensors)) {
        std::vector<std::map<const stretto::aten::tensor_storage*, std::uint32_t>> owner;  // by rank: who has made it
        aliases_.resize(step.size());
        for (std::uint32_t v = 0; v < step.size(); ++v) {
            std::int64_t most = step.op(v) == "aten._local_scalar_dense.default" ? 8 : 0;
            owner.resize(std::max(owner.size(), of(v).size()));
            for (std::size_t rank = 0; rank < of(v).size(); ++rank) {
                std::int64_t made = 0;
                for (const stretto::aten::tensor& t : of(v)[rank].tensors) {
                    const auto [at, is_new] = owner[rank].try_emplace(&*t.storage(), v);
                    if (is_new) made += storage_bytes(t);
                    else if (at->second != v) aliases_[v].push_back(at->second);
                }
                most = std::max(most, made);
            }
            std::sort(aliases_[v].begin(), aliases_[v].end());
            aliases_[v].erase(std::unique(aliases_[v].begin(), aliases_[v].end()), aliases_[v].end());
            const bool copies = step.kind(v) == stretto::op_kind::view && most != 0;
            kinds_.push_back(copies ? stretto::op_kind::compute : step.kind(v));
            bytes_.push_back(most);
        }
    }

    [[nodiscard]] const stretto::capture& step() const { return *step_; }
    [[nodiscard]] const stretto::capture_tensors& tensors() const { return *tensors_; }
    [[nodiscard]] const bucketed_run* buckets() const { return buckets_; }
    /// What the interpreter has made of v, by rank.
    [[nodiscard]] std::span<const stretto::aten::interpreted_value> of(std::uint32_t v) const {
        if (v >= run_->values.size() || run_->values[v].empty()) return {};
        return run_->values[v][0];
    }
    [[nodiscard]] static std::int64_t storage_bytes(const stretto::aten::tensor& t) {
        const stretto::aten::tensor_storage& s = *t.storage();
        return static_cast<std::int64_t>((s.reals.size() + s.integers.size()) * 8);
    }

    /// The op model of the step as it is executed.
    struct model : stretto::capture_op_model {
        const executable_step* s;
        [[nodiscard]] stretto::op_kind kind(std::uint32_t v) const { return s->kinds_[v]; }
        [[nodiscard]] stretto::bytes bytes_of(std::uint32_t x) const { return {s->bytes_[x]}; }
        [[nodiscard]] std::span<const std::uint32_t> aliases(std::uint32_t x) const { return s->aliases_[x]; }
        [[nodiscard]] stretto::bytes payload(std::uint32_t v) const {
            std::int64_t most = 0;
            for (const auto& x : s->of(step->inputs(v)[0])) most = std::max(most, whole_bytes(x));
            return {most};
        }
        [[nodiscard]] stretto::collective_call call(std::uint32_t v) const {
            stretto::collective_call c = s->calls_.at(v);
            const auto sent = s->of(step->inputs(v)[0]);
            const bool whole = !sent.empty() && !sent[0].tensors.empty() && sent[0].tensors[0].integral();
            c.element = whole ? stretto::element_type::i64 : stretto::element_type::f64;
            return c;
        }
    };
    [[nodiscard]] model ops() const { return {{step_}, this}; }

private:
    /// Bytes of all elements of a value, without gaps.
    [[nodiscard]] static std::int64_t whole_bytes(const stretto::aten::interpreted_value& x) {
        std::int64_t sum = 0;
        for (const stretto::aten::tensor& t : x.tensors) sum += t.elements() * (t.is_complex() ? 16 : 8);
        return sum;
    }
    const stretto::capture* step_;
    const stretto::capture_tensors* tensors_;
    const stretto::aten::interpretation* run_;
    const bucketed_run* buckets_;
    stretto::aten::collective_calls calls_;
    std::vector<stretto::op_kind> kinds_;
    std::vector<std::int64_t> bytes_;
    std::vector<std::vector<std::uint32_t>> aliases_;
};

/// One rank of an executed step: the source of its kernels, and what is known of its values besides their bytes.
class step_rank {
public:
    step_rank(const executable_step& s, const stretto::task_graph& g, const stretto::checked_order& order,
              std::size_t rank, const stretto::aten::interpretation& inputs, bool balanced_routing)
        : s_(&s), g_(&g), rank_(rank), balanced_(balanced_routing) {
        values_.resize(g.size());
        homes_.resize(g.size());
        base_.resize(g.size(), nullptr);
        memory_.resize(g.size());
        for (const stretto::aten::interpreted_entry& e : inputs.inputs)
            inputs_.emplace_back(static_cast<std::uint32_t>(e.vertex), e.by_rank[rank]);
        for (auto& [v, x] : inputs_) {
            for (stretto::aten::tensor& t : x.tensors) t = t.cloned();
            std::int64_t size = 0;
            for (const stretto::aten::tensor& t : x.tensors) size += executable_step::storage_bytes(t);
            memory_[v].resize(static_cast<std::size_t>(size));
        }
        // What no kernel makes is known as soon as the kernels are through on which it depends.
        std::vector<std::size_t> place(g.size(), 0);  // 1 + the position of the last kernel that it depends on
        follow_.resize(g.size() + 1);
        std::vector<stretto::task_id> kernel_at(1, stretto::no_task);
        for (const stretto::task_id t : order.order()) {
            for (const stretto::task_id p : g.declared[t]) place[t] = std::max(place[t], place[p]);
            if (g.kind[t] == stretto::op_kind::compute) {
                place[t] = kernel_at.size();
                kernel_at.push_back(t);
            } else if (g.kind[t] != stretto::op_kind::input && g.kind[t] != stretto::op_kind::output) {
                const stretto::task_id after = kernel_at[place[t]];
                follow_[after == stretto::no_task ? g.size() : after].push_back(t);
            }
        }
    }

    // The source.
    struct kernel_type {
        step_rank* r;
        stretto::task_id t;
        void operator()() const { r->run(t); }
    };
    kernel_type kernel(stretto::task_id t, stretto::task_memory) { return {this, t}; }
    stretto::collective_call call(stretto::task_id t) const { return s_->ops().call(t); }
    std::byte* address(stretto::value_id x) { return memory_[x].empty() ? nullptr : memory_[x].data(); }
    stretto::bytes row_bytes(stretto::task_id t) const {
        const stretto::aten::tensor& sent = s_->of(s_->step().inputs(t)[0])[rank_].tensors[0];
        std::int64_t row = sent.is_complex() ? 16 : 8;
        for (std::size_t d = 1; d < sent.rank(); ++d) row *= sent.extent(d);
        return {row};
    }
    /// Only collectives ask for addresses; where the others find a value is in homes_.
    stretto::bytes offset(stretto::value_id x) const {
        const auto all = s_->of(x);
        if (all.empty() || all[rank_].tensors.size() != 1 || g_->storages[x].size() != 1 || g_->storages[x][0] == x)
            return {};
        return {all[rank_].tensors[0].offset() * 8};
    }

    /// To be called when the order is bound, and then before each replay.
    template <class Executor>
    void begin(const Executor& bound) {
        for (stretto::value_id s = 0; s < base_.size(); ++s) base_[s] = bound.address(s);
        for (auto& h : homes_) h.clear();
        for (const auto& [v, x] : inputs_) {
            values_[v] = x;
            for (stretto::aten::tensor& t : values_[v].tensors) {
                t = t.cloned();
                add_home(v, t.storage());
            }
            store(v);
        }
        settle(g_->size());
    }
    /// What a value is, with its elements: after a replay, for outputs and inputs.
    [[nodiscard]] stretto::aten::interpreted_value value(stretto::value_id x) {
        fetch(x);
        stretto::aten::interpreted_value made = values_[x];
        for (stretto::aten::tensor& t : made.tensors) t = t.cloned();
        return made;
    }
    [[nodiscard]] std::span<const std::pair<std::uint32_t, stretto::aten::interpreted_value>> inputs() const {
        return inputs_;
    }

private:
    /// Where a storage of the interpreter lies in a storage of the graph.
    struct home {
        stretto::aten::storage_handle storage;
        std::int64_t offset, size;
    };

    void add_home(stretto::value_id s, const stretto::aten::storage_handle& h) {
        const std::int64_t offset = homes_[s].empty() ? 0 : homes_[s].back().offset + homes_[s].back().size;
        const auto size = static_cast<std::int64_t>((h->reals.size() + h->integers.size()) * 8);
        if (offset + size > g_->allocation[s].count)
            throw std::runtime_error(std::string(s_->step().name(s)) + " is larger than its storage");
        homes_[s].push_back({h, offset, size});
    }
    [[nodiscard]] bool lives_in(stretto::value_id x, const stretto::aten::storage_handle& h) const {
        for (const stretto::value_id s : g_->storages[x])
            for (const home& at : homes_[s])
                if (at.storage == h) return true;
        return false;
    }
    void copy(stretto::value_id s, bool to_arena) {
        for (const home& h : homes_[s]) {
            if (h.size == 0) continue;
            std::byte* const there = base_[s] + h.offset;
            void* const here = h.storage->reals.empty() ? static_cast<void*>(h.storage->integers.data())
                                                        : static_cast<void*>(h.storage->reals.data());
            if (to_arena) std::memcpy(there, here, static_cast<std::size_t>(h.size));
            else std::memcpy(here, there, static_cast<std::size_t>(h.size));
        }
    }
    void store(stretto::value_id s) { copy(s, true); }
    void fetch(stretto::value_id x) {
        for (const stretto::aten::tensor& t : values_[x].tensors)
            if (!lives_in(x, t.storage()))
                throw std::runtime_error(std::string(s_->step().name(x)) + " is not where the graph says");
        for (const stretto::value_id s : g_->storages[x]) copy(s, false);
    }

    [[nodiscard]] stretto::aten::detail::operator_call call_of(stretto::task_id t) {
        stretto::aten::detail::operator_call c;
        c.operation = s_->step().op(t);
        c.positional = s_->tensors().arguments(t);
        c.named = s_->tensors().named_arguments(t);
        c.balanced_routing = balanced_;
        read_.clear();
        for (const std::uint32_t x : s_->step().inputs(t)) read_.push_back(&values_[x]);
        c.operands = read_;
        return c;
    }
    /// The number of ranks of a collective, as its arguments have it.
    [[nodiscard]] std::int64_t ranks_of(stretto::task_id start) {
        stretto::aten::detail::operator_call c = call_of(start);
        return g_->collective[start] == stretto::collective_kind::all_gather ? c.integer(1, "group_size")
                                                                             : c.integer(2, "group_size");
    }
    /// Parts behind each other: of what is scattered, first all that goes to rank 0, then to rank 1.
    [[nodiscard]] stretto::aten::interpreted_value packed(stretto::task_id t) {
        const stretto::task_id start = s_->step().readers(t)[0];
        const bool scatters = g_->collective[start] == stretto::collective_kind::reduce_scatter;
        const auto shares = static_cast<std::size_t>(scatters ? ranks_of(start) : 1);
        std::vector<std::vector<double>> parts;
        for (const std::uint32_t x : s_->buckets()->packed.at(t))
            parts.push_back(values_[x].tensors.at(0).template values<double>());
        std::vector<double> row;
        for (std::size_t k = 0; k < shares; ++k)
            for (const std::vector<double>& p : parts)
                row.insert(row.end(), p.begin() + static_cast<std::ptrdiff_t>(p.size() / shares * k),
                           p.begin() + static_cast<std::ptrdiff_t>(p.size() / shares * (k + 1)));
        stretto::aten::interpreted_value made;
        const auto elements = static_cast<std::int64_t>(row.size());
        made.tensors.push_back(stretto::aten::tensor::of(stretto::element_type::f64, {elements}, std::move(row)));
        return made;
    }
    /// The parts of what has arrived: of what was gathered, each rank has sent its shares of all parts.
    [[nodiscard]] stretto::aten::interpreted_value unpacked(stretto::task_id t) {
        const stretto::task_id start = g_->launch[s_->step().inputs(t)[0]];
        const bool gathers = g_->collective[start] == stretto::collective_kind::all_gather;
        const auto shares = static_cast<std::size_t>(gathers ? ranks_of(start) : 1);
        const std::vector<double> row = values_[s_->step().inputs(t)[0]].tensors.at(0).template values<double>();
        stretto::aten::interpreted_value made;
        std::size_t before = 0;  // in the share of a rank
        for (const stretto::tensor_type& type : s_->tensors().components(t)) {
            const std::vector<std::int64_t> shape(type.shape.begin(), type.shape.end());
            const auto share = static_cast<std::size_t>(stretto::aten::detail::product(shape)) / shares;
            std::vector<double> part;
            for (std::size_t k = 0; k < shares; ++k) {
                const auto from = row.begin() + static_cast<std::ptrdiff_t>(row.size() / shares * k + before);
                part.insert(part.end(), from, from + static_cast<std::ptrdiff_t>(share));
            }
            before += share;
            made.tensors.push_back(stretto::aten::tensor::of(type.element, shape, std::move(part)));
        }
        return made;
    }
    /// The part of an unpack that an old wait, now a view of it, stands for.
    [[nodiscard]] stretto::aten::interpreted_value part(stretto::task_id t) {
        stretto::aten::interpreted_value made;
        made.tensors.push_back(values_[s_->step().inputs(t)[0]].tensors.at(s_->buckets()->part.at(t)));
        return made;
    }
    [[nodiscard]] stretto::aten::interpreted_value executed(stretto::task_id t) {
        if (s_->step().op(t) == "stretto.pack") return packed(t);
        if (s_->step().op(t) == "stretto.unpack") return unpacked(t);
        if (s_->step().op(t) == "_c10d_functional.wait_tensor.default") return part(t);
        stretto::aten::detail::operator_call c = call_of(t);
        const auto found = stretto::aten::detail::find_operator(c.operation);
        if (!found.entry) throw std::runtime_error("unknown operator " + std::string(c.operation));
        c.only_shapes = found.entry->special == stretto::aten::detail::operator_entry::trait::only_shapes;
        found.entry->run(c);
        if (found.in_place && !c.failed()) {
            const stretto::aten::tensor self = c.input(0, "self");
            stretto::aten::detail::write_elements(self, c.result.tensors.at(0));
            c.result.tensors[0] = self;
        }
        if (c.failed()) throw std::runtime_error(std::string(s_->step().name(t)) + ": " + c.cause);
        return std::move(c.result);
    }

    void run(stretto::task_id t) {
        for (const std::uint32_t x : s_->step().inputs(t)) fetch(x);
        stretto::aten::interpreted_value made = executed(t);
        homes_[t].clear();
        for (const stretto::aten::tensor& x : made.tensors)
            if (!lives_in(t, x.storage())) add_home(t, x.storage());
        if (made.is_number) {
            if (made.scalar.what == stretto::aten::element_class::real)
                throw std::runtime_error("the host reads a real");
            std::memcpy(base_[t], &made.scalar.integer, 8);
        }
        values_[t] = std::move(made);
        store(t);
        for (const stretto::value_id x : g_->writes[t])
            for (const stretto::value_id s : g_->storages[x]) store(s);
        settle(t);
    }
    /// Everything that is known once a kernel is through: shapes, and numbers made of numbers.
    void settle(std::size_t after) {
        for (const stretto::task_id t : follow_[after]) {
            if (g_->kind[t] == stretto::op_kind::wait) {
                values_[t] = values_[s_->step().inputs(t)[0]];
                values_[t].in_flight = false;
            } else if (g_->kind[t] == stretto::op_kind::start) {
                launch(t);
            } else {
                values_[t] = executed(t);
            }
        }
    }
    void launch(stretto::task_id t) {
        const stretto::value_id x = s_->step().inputs(t)[0];
        const stretto::aten::tensor& sent = values_[x].tensors.at(0);
        if (!sent.contiguous() || (sent.elements() != 0 && homes_offset(x) + sent.offset() * 8 != offset(x).count))
            throw std::runtime_error(std::string(s_->step().name(t)) + " sends what does not lie as it was bound");
        values_[t] = {};
        if (!s_->step().aliases(t).empty()) {
            values_[t].tensors = {sent};
            return;
        }
        std::vector<std::int64_t> shape = sent.shape();
        stretto::aten::detail::operator_call c = call_of(t);
        switch (g_->collective[t]) {
            case stretto::collective_kind::all_gather:
                shape[0] *= c.integer(1, "group_size");
                break;
            case stretto::collective_kind::reduce_scatter:
                shape[0] /= c.integer(2, "group_size");
                break;
            case stretto::collective_kind::all_to_all:
                if (const auto sizes = c.integers(1, "output_split_sizes"); !sizes.empty()) {
                    shape[0] = 0;
                    for (const std::int64_t n : sizes) shape[0] += n;
                }
                break;
            default:
                break;
        }
        homes_[t].clear();
        const stretto::aten::tensor made(sent.element(), std::move(shape));
        add_home(t, made.storage());
        values_[t].tensors = {made};
        values_[t].in_flight = true;
    }
    [[nodiscard]] std::int64_t homes_offset(stretto::value_id x) const {
        for (const home& h : homes_[g_->storages[x][0]])
            if (h.storage == values_[x].tensors[0].storage()) return h.offset;
        return 0;
    }

    const executable_step* s_;
    const stretto::task_graph* g_;
    std::size_t rank_;
    bool balanced_;
    std::vector<stretto::aten::interpreted_value> values_;  // by value; their elements are only valid during a kernel
    std::vector<std::vector<home>> homes_;                  // by storage
    std::vector<std::byte*> base_;                          // by storage
    std::vector<std::vector<std::byte>> memory_;            // by input
    std::vector<std::pair<std::uint32_t, stretto::aten::interpreted_value>> inputs_;
    std::vector<std::vector<stretto::task_id>> follow_;  // by kernel, and behind them of none: what is known then
    std::vector<const stretto::aten::interpreted_value*> read_;
};

/// A rank of a world whose groups have other numbers there: the step numbers those of one rank.
template <class Rank>
class rank_in_groups {
public:
    using queue_type = typename Rank::queue_type;
    using communicator_type = typename Rank::communicator_type;
    using arena_type = typename Rank::arena_type;
    using event_type = typename Rank::event_type;

    rank_in_groups(Rank& rank, std::vector<stretto::group_id> groups) : rank_(&rank), groups_(std::move(groups)) {}
    queue_type& compute() { return rank_->compute(); }
    communicator_type* channel(stretto::group_id g) {
        return g < groups_.size() ? rank_->channel(groups_[g]) : nullptr;
    }
    event_type* make_events(std::size_t n) { return rank_->make_events(n); }
    std::optional<arena_type> make_arena(stretto::bytes size, std::size_t alignment) {
        return rank_->make_arena(size, alignment);
    }
    void begin() { rank_->begin(); }
    std::optional<stretto::run_failure> finish() { return rank_->finish(); }

private:
    Rank* rank_;
    std::vector<stretto::group_id> groups_;
};
static_assert(stretto::backend<rank_in_groups<stretto::host_rank>>);

/// Every group of every rank, and which of them each rank calls by which number.
struct groups_of_ranks {
    stretto::process_groups all;
    std::vector<std::vector<stretto::group_id>> number;  // by rank, then by the number in the step

    groups_of_ranks(const stretto::aten::interpreter_options& options, std::size_t groups) : number(options.ranks) {
        for (std::size_t g = 0; g < groups; ++g) {
            const stretto::process_groups parts =
                g < options.groups.size() ? options.groups[g] : stretto::strided_groups(options.ranks, options.ranks);
            for (stretto::group_id k = 0; k < parts.group_count(); ++k) {
                const stretto::process_group part = parts.group_at(k);
                const auto id = static_cast<stretto::group_id>(all.group_count());
                all.add({.size = part.size, .ranks = part.ranks});
                for (const stretto::rank_id r : part.ranks) number[r].push_back(id);
            }
        }
    }
};

struct executed_step {
    stretto::aten::interpretation made;
    std::string wrong;
};
/// What is made of inputs that `inputs` holds as they were given: still nothing.
[[nodiscard]] inline executed_step unexecuted(const executable_step& s, const stretto::task_graph& g,
                                              const stretto::aten::interpretation& inputs, std::size_t ranks) {
    executed_step all;
    for (const stretto::aten::interpreted_entry& e : inputs.inputs) {
        all.made.inputs.push_back({e.vertex, e.name, e.written, {}});
        all.made.inputs.back().by_rank.resize(ranks);
    }
    for (std::uint32_t v = 0; v < g.size(); ++v)
        if (g.kind[v] == stretto::op_kind::output)
            for (const std::uint32_t x : s.step().inputs(v)) {
                all.made.outputs.push_back({x, std::string(s.step().name(x)), false, {}});
                all.made.outputs.back().by_rank.resize(ranks);
            }
    return all;
}
/// Executes the step on one rank of a world, `replays` times with the same inputs. What the last replay has made
/// becomes that rank's part of `all`. Returns what went wrong before it could begin.
template <class Rank>
[[nodiscard]] std::string execute_on_rank(Rank& one, const groups_of_ranks& groups, const executable_step& s,
                                          const stretto::task_graph& g, const stretto::checked_order& order,
                                          const stretto::aten::interpretation& inputs,
                                          const stretto::aten::interpreter_options& options, int replays,
                                          executed_step& all) {
    const std::size_t me = one.rank();
    step_rank source(s, g, order, me, inputs, options.balanced_routing);
    rank_in_groups rank(one, groups.number[me]);
    auto bound = stretto::bind_order(g, order, source, rank);
    if (!bound)
        return (bound.error().task == stretto::no_task ? std::string()
                                                       : std::string(s.step().name(bound.error().task)) + " ") +
               stretto::explain(bound.error());
    for (int k = 0; k < replays; ++k) {
        source.begin(*bound);
        if (bound->replay()) return {};
    }
    for (auto& e : all.made.outputs) e.by_rank[me] = source.value(static_cast<stretto::value_id>(e.vertex));
    for (auto& e : all.made.inputs) e.by_rank[me] = source.value(static_cast<stretto::value_id>(e.vertex));
    return {};
}

/// Executes the step on all ranks of a host_world. Returns what the last replay has made, as the interpreter would, or
/// what went wrong.
[[nodiscard]] inline executed_step run_on_ranks(const executable_step& s, const stretto::task_graph& g,
                                                const stretto::checked_order& order,
                                                const stretto::aten::interpretation& inputs,
                                                const stretto::aten::interpreter_options& options, int replays) {
    const groups_of_ranks groups(options, g.groups);
    executed_step all = unexecuted(s, g, inputs, options.ranks);
    std::vector<std::string> wrong(options.ranks);
    stretto::host_world world(options.ranks, groups.all);
    const auto failure = world.run([&](stretto::host_rank& rank) {
        wrong[rank.rank()] = execute_on_rank(rank, groups, s, g, order, inputs, options, replays, all);
    });
    for (const std::string& w : wrong)
        if (!w.empty()) all.wrong = w;
    if (failure)
        all.wrong = stretto::explain(*failure, [&](stretto::task_id t) { return std::string(s.step().name(t)); });
    return all;
}

}  // namespace support

#endif
