// Steps in buckets as programs that the interpreter can run: a capture says of a bucket only what it stands for, and
// here it becomes the operators that an executor would call. Written from the format alone; it shares nothing with what
// makes buckets.
#ifndef STRETTO_TESTS_CAPTURE_LOWERED_BUCKETS_HPP
#define STRETTO_TESTS_CAPTURE_LOWERED_BUCKETS_HPP

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/tiny_step.hpp"
#include "stretto/capture/capture.hpp"
#include "stretto/capture/capture_builder.hpp"
#include "stretto/capture/capture_fields.hpp"
#include "stretto/capture/capture_tensors.hpp"
#include "stretto/capture/element_names.hpp"

namespace support {

/// Writes the packs and unpacks of a bucket out. What is gathered lies behind each other, part by part, and so does
/// what is reduced on every rank; of what is scattered, first the shares of all parts that go to rank 0, then those of
/// rank 1. Gathers of several element types travel as f64, which holds all that tests put into them.
class bucket_lowering {
public:
    /// `step` is what the buckets were made of, and defines their members.
    bucket_lowering(const stretto::capture& step, const stretto::capture_tensors& tensors,
                    const stretto::capture& bucketed)
        : step_(&step),
          tensors_(&tensors),
          bucketed_(&bucketed),
          fields_(bucketed),
          made_(stretto::capture_builder::like(bucketed)),
          place_(bucketed.size(), 0) {}

    [[nodiscard]] stretto::capture lower() {
        for (std::uint32_t v = 0; v < step_->size(); ++v)
            if (step_->kind(v) == stretto::op_kind::wait && step_->launch_of(v)) wait_of_[*step_->launch_of(v)] = v;
        for (std::uint32_t v = 0; v < bucketed_->size(); ++v) {
            if (const auto names = fields_.texts(v, "members")) launch(v, *names);
            else if (bucketed_->op(v) == "stretto.pack") continue;  // its start says what it packs, and in which order
            else if (is_wait_of_bucket(v)) land(v);
            else if (bucketed_->op(v) == "stretto.unpack") continue;  // its wait has taken it apart
            else if (const auto part = part_of_.find(bucketed_->name(v)); part != part_of_.end())
                place_[v] = part->second;
            else copy(v);
        }
        auto made = std::move(made_).build();
        REQUIRE_MESSAGE(made, complaint(made));
        return *std::move(made);
    }

private:
    using id = std::uint32_t;
    struct bucket {
        std::vector<id> members;  // in the step
        id start = 0;             // in the program that is made
        std::vector<id> starts;   // if they are launched at once: one for each member
        bool mixed = false;
    };

    [[nodiscard]] const stretto::tensor_type& type_of(id v) const { return tensors_->components(v)[0]; }
    [[nodiscard]] static std::int64_t elements(const stretto::tensor_type& t) {
        std::int64_t n = 1;
        for (const std::int64_t e : t.shape) n *= e;
        return n;
    }
    [[nodiscard]] std::int64_t ranks_of(id v) const { return step_->groups()[step_->group(v)].size; }
    [[nodiscard]] bool is_wait_of_bucket(id v) const {
        return bucketed_->kind(v) == stretto::op_kind::wait && !bucketed_->inputs(v).empty() &&
               buckets_.contains(bucketed_->inputs(v)[0]);
    }

    id emit(std::string_view op, stretto::op_kind kind, std::vector<id> inputs, const std::string& args,
            const std::string& kwargs = {}) {
        const std::string name = "lowered " + std::to_string(made_.size());
        stretto::capture_node n;
        n.name = name;
        n.op = op;
        n.kind = kind;
        n.inputs = std::move(inputs);
        if (!args.empty()) n.fields.push_back({"args", args});
        if (!kwargs.empty()) n.fields.push_back({"kwargs", kwargs});
        return made_.append(n);
    }
    id compute(std::string_view op, id of, const std::string& args, const std::string& kwargs = {}) {
        return emit(op, stretto::op_kind::compute, {of}, args, kwargs);
    }
    id reshaped(id x, const std::string& shape) {
        return compute("aten.reshape.default", x, "[\"%0\",[" + shape + "]]");
    }
    id converted(id x, std::string_view element) {
        return compute("aten._to_copy.default", x, {}, "{\"dtype\":\"" + std::string(element) + "\"}");
    }
    [[nodiscard]] static std::string list(const auto& numbers) {
        std::string text;
        for (const std::int64_t n : numbers) text += (text.empty() ? "" : ",") + std::to_string(n);
        return text;
    }

    /// A node as it is, but for where what it reads has gone.
    id copy_as(stretto::capture_node n) {
        for (auto* all : {&n.inputs, &n.aliases, &n.writes}) {
            std::vector<id> there;
            for (const id x : *all)
                if (std::find(there.begin(), there.end(), place_[x]) == there.end()) there.push_back(place_[x]);
            // An argument may name two inputs that are one now; no step here has such.
            if (all == &n.inputs) REQUIRE(there.size() == all->size());
            *all = std::move(there);
        }
        return made_.append(n);
    }
    void copy(id v) { place_[v] = copy_as(stretto::node_of(*bucketed_, v)); }

    /// What member m sends: the node of that name, or the cast that its pack does.
    id sent(id m) {
        const id x = step_->inputs(m)[0];
        if (const auto there = bucketed_->find(step_->name(x))) return place_[*there];
        stretto::capture_node cast = stretto::node_of(*step_, x);
        REQUIRE(cast.inputs.size() == 1);
        const auto of = bucketed_->find(step_->name(cast.inputs[0]));
        REQUIRE(of);
        cast.inputs = {*of};
        return copy_as(std::move(cast));
    }
    id start_like(const stretto::capture_node& model, id of) {
        stretto::capture_node n = model;
        const std::string name = "lowered " + std::to_string(made_.size());
        n.name = name;
        n.inputs = {of};
        n.aliases = n.writes = {};
        n.outputs = "[]";
        std::erase_if(n.fields, [](const stretto::json_field& f) { return f.key != "args" && f.key != "kwargs"; });
        return made_.append(n);
    }

    void launch(id v, const std::vector<std::string>& names) {
        bucket b;
        for (const std::string& name : names) b.members.push_back(*step_->find(name));
        if (bucketed_->field(v, "coalesced") == "true") {
            for (const id m : b.members) b.starts.push_back(start_like(stretto::node_of(*step_, m), sent(m)));
            buckets_[v] = std::move(b);
            return;
        }
        const bool scatters = step_->collective(b.members[0]) == stretto::collective_kind::reduce_scatter;
        for (const id m : b.members)
            b.mixed =
                b.mixed || type_of(step_->inputs(m)[0]).element != type_of(step_->inputs(b.members[0])[0]).element;
        std::vector<id> parts;
        std::string all;
        for (const id m : b.members) {
            const id x = b.mixed ? converted(sent(m), "f64") : sent(m);
            parts.push_back(reshaped(x, scatters ? std::to_string(ranks_of(m)) + ",-1" : "-1"));
            all += (all.empty() ? "\"%" : ",\"%") + std::to_string(parts.size() - 1) + "\"";
        }
        const std::string dim = scatters ? "1" : "0";
        const id row = emit("aten.cat.default", stretto::op_kind::compute, parts, "[[" + all + "]," + dim + "]");
        b.start = start_like(stretto::node_of(*bucketed_, v), reshaped(row, "-1"));
        buckets_[v] = std::move(b);
    }
    void land(id v) {
        const bucket& b = buckets_.at(bucketed_->inputs(v)[0]);
        const auto wait = [&](id start) {
            return emit("_c10d_functional.wait_tensor.default", stretto::op_kind::wait, {start}, {});
        };
        const auto give = [&](id m, id x) { part_of_[std::string(step_->name(wait_of_.at(m)))] = x; };
        if (!b.starts.empty()) {
            for (std::size_t k = 0; k < b.members.size(); ++k) give(b.members[k], wait(b.starts[k]));
            return;
        }
        const bool gathers = step_->collective(b.members[0]) == stretto::collective_kind::all_gather;
        const std::int64_t shares = gathers ? ranks_of(b.members[0]) : 1;
        std::vector<std::int64_t> sizes;
        for (const id m : b.members) sizes.push_back(elements(type_of(m)) / shares);
        id row = wait(b.start);
        if (gathers) row = reshaped(row, std::to_string(shares) + ",-1");
        const std::string dim = gathers ? "1" : "0";
        const id split = compute("aten.split_with_sizes.default", row, "[\"%0\",[" + list(sizes) + "]," + dim + "]");
        for (std::size_t k = 0; k < b.members.size(); ++k) {
            const stretto::tensor_type& type = type_of(b.members[k]);
            id part = compute("getitem", split, "[\"%0\"," + std::to_string(k) + "]");
            part = reshaped(part, list(type.shape));
            part = b.mixed ? converted(part, stretto::name_of(type.element))
                           : compute("aten.clone.default", part, "[\"%0\"]");
            give(b.members[k], part);
        }
    }

    const stretto::capture* step_;
    const stretto::capture_tensors* tensors_;
    const stretto::capture* bucketed_;
    stretto::capture_fields fields_;
    stretto::capture_builder made_;
    std::vector<id> place_;                           // by node of the step in buckets
    std::map<id, bucket> buckets_;                    // by their starts
    std::map<id, id> wait_of_;                        // by start of the step
    std::map<std::string, id, std::less<>> part_of_;  // by name of an old wait
};

/// The program of a step in buckets.
inline stretto::capture lowered(const stretto::capture& step, const stretto::capture_tensors& tensors,
                                const stretto::capture& bucketed) {
    return bucket_lowering(step, tensors, bucketed).lower();
}

}  // namespace support

#endif
