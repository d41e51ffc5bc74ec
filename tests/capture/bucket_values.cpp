// What buckets do to values. Merging moves bytes and changes where they lie in a payload; what is gathered, and what
// is added in whole numbers, must not notice. Fractions do, because a reduction adds in an order that depends on the
// place (aten/ring_chunk.hpp): an eager run packs the parameters of a module as they are registered, and only buckets
// in that order train as it does, to the last bit.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/lowered_buckets.hpp"
#include "capture/plan_drafts.hpp"
#include "stretto/capture/bucket_capture.hpp"
#include "stretto/capture/capture_module_model.hpp"
#include "stretto/transform/bucket_policies.hpp"
#include "support/compare_runs.hpp"
#include "support/prop.hpp"

using namespace stretto;
using namespace stretto::aten;

namespace {

constexpr std::int64_t ranks = 4;

/// A number between -1 and 1 that depends on all of these, with more bits than an f32 holds.
double noise(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    std::uint64_t z = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + c * 0x94d049bb133111ebu + 0x2545f4914f6cdd1du;
    for (int k = 0; k < 3; ++k) z = (z ^ (z >> 29)) * 0xd6e8feb86659fd93u;
    return static_cast<double>(static_cast<std::int64_t>(z >> 11)) / 4503599627370496.0 - 1;
}
std::uint64_t number_of(std::string_view text) {
    std::uint64_t h = 1469598103934665603u;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return h;
}
interpreted_value value_of(tensor t) {
    interpreted_value v;
    v.tensors.push_back(std::move(t));
    return v;
}
std::int64_t elements(const std::vector<std::int64_t>& shape) {
    std::int64_t n = 1;
    for (const std::int64_t e : shape) n *= e;
    return n;
}
std::string text_of(const std::vector<std::int64_t>& shape) {
    std::string text;
    for (const std::int64_t e : shape) text += (text.empty() ? "" : ",") + std::to_string(e);
    return text;
}

/// A parameter; it is cut along its first dimension.
struct parameter {
    std::string name;
    std::vector<std::int64_t> shape;

    [[nodiscard]] std::vector<std::int64_t> shard() const {
        std::vector<std::int64_t> own = shape;
        own[0] /= ranks;
        return own;
    }
};

/// A training step of three residual layers on four ranks: every rank has tokens of its own, and updates its shards of
/// parameters and moments by Adam. A layer registers g, w2 and w1, runs g, w1 and w2, and has the gradients of w2, w1
/// and g, one after the other.
class training_step {
public:
    enum class traffic : std::uint8_t {
        sharded,    ///< gathers, reduces and scatters each parameter by itself
        replicated  ///< every rank has all parameters, and each gradient is reduced on every rank
    };
    static constexpr std::size_t layers = 3;

    /// If `packed`, the parameters of a layer travel together, packed as they are registered: what eager FSDP and DDP
    /// do with a module. Operators pack and unpack; no bucket is involved.
    training_step(traffic how, bool packed) : sharded_(how == traffic::sharded), packed_(packed) {
        d_.groups = {{"dp", ranks, ""}, {"ep", ranks, ""}, {"tp", ranks, ""}};
        for (std::size_t l = 0; l < layers; ++l)
            for (const auto& [what, shape] : registered()) {
                parameters_.push_back({"layers." + std::to_string(l) + "." + what, shape});
                const parameter& p = parameters_.back();
                input(p.name, own_shape(p));
            }
        for (const parameter& p : parameters_)
            for (const char* moment : {" mean", " square"}) input(p.name + moment, own_shape(p));
        input("x", {6, 8});
        input("target", {6, 8});
        step();
    }

    [[nodiscard]] capture build() const { return d_.build(); }
    [[nodiscard]] const std::vector<parameter>& parameters() const { return parameters_; }
    [[nodiscard]] std::vector<std::int64_t> own_shape(const parameter& p) const {
        return sharded_ ? p.shard() : p.shape;
    }

private:
    using names = std::map<std::string, std::string>;

    static std::vector<std::pair<std::string, std::vector<std::int64_t>>> registered() {
        return {{"g", {8}}, {"w2", {12, 8}}, {"w1", {8, 12}}};
    }

    static std::string type(const std::vector<std::int64_t>& shape) { return support::tensor(text_of(shape), "f32"); }
    void input(const std::string& name, const std::vector<std::int64_t>& shape) {
        d_.nodes.push_back(support::input(name, 4 * elements(shape), type(shape)));
    }
    std::string push(support::draft_node n) {
        if (!layer_.empty()) {
            n.field("fqn") = "\"" + layer_ + "\"";
            n.field("direction") = backward_ ? "\"backward\"" : "\"forward\"";
        }
        d_.nodes.push_back(std::move(n));
        return d_.nodes.back().name;
    }
    std::string kernel(const std::string& op, const std::vector<std::string>& of, std::vector<std::int64_t> shape,
                       const std::string& args = {}) {
        support::draft_node n = support::kernel("k" + std::to_string(d_.nodes.size()), op, of, 500,
                                                std::max<std::int64_t>(4 * elements(shape), 0), type(shape));
        if (!args.empty()) n.field("args") = args;
        return push(std::move(n));
    }
    void update(const std::string& target, const std::string& op, const std::vector<std::string>& others,
                const std::string& args, double alpha) {
        std::vector<std::string> all{target};
        all.insert(all.end(), others.begin(), others.end());
        support::draft_node n = support::in_place("u" + std::to_string(d_.nodes.size()), op, all, target);
        n.outputs = d_[target].outputs;
        n.field("args") = args;
        if (alpha != 0) n.field("kwargs") = "{\"alpha\":" + std::to_string(alpha) + "}";
        push(std::move(n));
    }
    std::string collective(const std::string& name, collective_kind what, const std::string& of,
                           const std::vector<std::int64_t>& sent, const std::vector<std::int64_t>& received) {
        support::draft_node n =
            support::launch(name, what, 0, of, 4 * elements(sent), 4 * elements(received), type(received));
        const std::string count = std::to_string(ranks);
        n.op = what == collective_kind::all_gather       ? "_c10d_functional.all_gather_into_tensor.default"
               : what == collective_kind::reduce_scatter ? "_c10d_functional.reduce_scatter_tensor.default"
                                                         : "_c10d_functional.all_reduce.default";
        n.field("args") = what == collective_kind::all_gather       ? "[\"%0\"," + count + ",\"dp\"]"
                          : what == collective_kind::reduce_scatter ? "[\"%0\",\"avg\"," + count + ",\"dp\"]"
                                                                    : "[\"%0\",\"avg\",\"dp\"]";
        const std::string start = push(std::move(n));
        support::draft_node w = support::wait(name + " wait", start, d_[start].outputs);
        w.op = "_c10d_functional.wait_tensor.default";
        return push(std::move(w));
    }

    /// A row of these values behind each other; with `shares`, first the first of so many shares of each.
    std::string row_of(const std::vector<std::string>& parts, std::int64_t all, std::int64_t shares) {
        std::vector<std::string> flat;
        std::string list;
        for (const std::string& p : parts) {
            flat.push_back(
                kernel("aten.reshape.default", {p}, {shares, -1}, "[\"%0\",[" + text_of({shares, -1}) + "]]"));
            d_[flat.back()].outputs = "[]";
            list += (list.empty() ? "\"%" : ",\"%") + std::to_string(flat.size() - 1) + "\"";
        }
        const std::string cat = kernel("aten.cat.default", flat, {shares, all / shares}, "[[" + list + "],1]");
        return kernel("aten.reshape.default", {cat}, {all}, "[\"%0\",[-1]]");
    }
    /// The values of which `row` is made, by rows of `shares` shares.
    names taken_apart(const std::string& row, const std::vector<parameter>& all, std::int64_t shares, bool shards) {
        std::vector<std::int64_t> sizes;
        for (const parameter& p : all) sizes.push_back(elements(shards ? p.shard() : p.shape) / shares);
        const std::string rows =
            kernel("aten.reshape.default", {row}, {shares, -1}, "[\"%0\",[" + text_of({shares, -1}) + "]]");
        const std::string parts =
            kernel("aten.split_with_sizes.default", {rows}, {}, "[\"%0\",[" + text_of(sizes) + "],1]");
        for (const std::string& x : {rows, parts}) d_[x].outputs = "[]";
        names made;
        for (std::size_t k = 0; k < all.size(); ++k) {
            const std::vector<std::int64_t> shape = shards ? all[k].shard() : all[k].shape;
            const std::string part = kernel("getitem", {parts}, {}, "[\"%0\"," + std::to_string(k) + "]");
            d_[part].outputs = "[]";
            made[all[k].name] = kernel("aten.reshape.default", {part}, shape, "[\"%0\",[" + text_of(shape) + "]]");
        }
        return made;
    }
    [[nodiscard]] std::vector<parameter> of_layer(std::size_t l) const {
        const auto first = parameters_.begin() + static_cast<std::ptrdiff_t>(3 * l);
        return {first, first + 3};
    }

    /// The whole parameters of a layer, gathered in the order in which the layer runs.
    names weights(std::size_t l) {
        const std::vector<parameter> own = of_layer(l);
        names whole;
        if (!sharded_) {
            for (const parameter& p : own) whole[p.name] = p.name;
        } else if (packed_) {
            std::vector<std::string> shards;
            std::int64_t all = 0;
            for (const parameter& p : own) {
                shards.push_back(p.name);
                all += elements(p.shard());
            }
            const std::string row = row_of(shards, all, 1);
            whole = taken_apart(collective(layer_ + (backward_ ? " regather" : " gather"), collective_kind::all_gather,
                                           row, {all}, {all * ranks}),
                                own, ranks, false);
        } else {
            for (const std::size_t k : {std::size_t{0}, std::size_t{2}, std::size_t{1}})
                whole[own[k].name] = collective((backward_ ? "regather " : "gather ") + own[k].name,
                                                collective_kind::all_gather, own[k].name, own[k].shard(), own[k].shape);
        }
        return whole;
    }
    void reduce(const parameter& p, const std::string& gradient) {
        if (packed_) waiting_[p.name] = gradient;
        else if (sharded_)
            gradients_[p.name] =
                collective("reduce " + p.name, collective_kind::reduce_scatter, gradient, p.shape, p.shard());
        else
            gradients_[p.name] =
                collective("reduce " + p.name, collective_kind::all_reduce, gradient, p.shape, p.shape);
        if (waiting_.size() != 3) return;
        std::vector<std::string> parts;
        std::vector<parameter> own;
        std::int64_t all = 0;
        for (const parameter& q : parameters_)
            if (const auto found = waiting_.find(q.name); found != waiting_.end()) {
                own.push_back(q);
                parts.push_back(found->second);
                all += elements(q.shape);
            }
        waiting_.clear();
        const std::string row = row_of(parts, all, sharded_ ? ranks : 1);
        const auto kind = sharded_ ? collective_kind::reduce_scatter : collective_kind::all_reduce;
        const std::string sum = collective(layer_ + " reduce", kind, row, {all}, {sharded_ ? all / ranks : all});
        for (const auto& [name, x] : taken_apart(sum, own, 1, sharded_)) gradients_[name] = x;
    }

    void step() {
        std::vector<std::string> into, scaled, hidden;  // by layer
        std::string x = "x";
        for (std::size_t l = 0; l < layers; ++l) {
            layer_ = "layers." + std::to_string(l);
            const names w = weights(l);
            into.push_back(x);
            scaled.push_back(kernel("aten.mul.Tensor", {x, w.at(layer_ + ".g")}, {6, 8}));
            const std::string a = kernel("aten.mm.default", {scaled[l], w.at(layer_ + ".w1")}, {6, 12});
            hidden.push_back(kernel("aten.relu.default", {a}, {6, 12}));
            const std::string y = kernel("aten.mm.default", {hidden[l], w.at(layer_ + ".w2")}, {6, 8});
            x = kernel("aten.add.Tensor", {x, y}, {6, 8});
        }
        layer_.clear();
        const std::string off = kernel("aten.sub.Tensor", {x, "target"}, {6, 8});
        const std::string square = kernel("aten.mul.Tensor", {off, off}, {6, 8}, R"(["%0","%0"])");
        d_[square].inputs = {off};
        const std::string loss = kernel("aten.mean.default", {square}, {});
        std::string dx = kernel("aten.mul.Scalar", {off}, {6, 8}, "[\"%0\",0.041666666666666664]");
        backward_ = true;
        for (std::size_t l = layers; l-- > 0;) {
            layer_ = "layers." + std::to_string(l);
            const names w = weights(l);
            const std::vector<parameter> own = of_layer(l);  // g, w2, w1
            const std::string h = kernel("aten.t.default", {hidden[l]}, {12, 6});
            reduce(own[1], kernel("aten.mm.default", {h, dx}, {12, 8}));
            const std::string w2 = kernel("aten.t.default", {w.at(layer_ + ".w2")}, {8, 12});
            const std::string dh = kernel("aten.mm.default", {dx, w2}, {6, 12});
            const std::string da =
                kernel("aten.threshold_backward.default", {dh, hidden[l]}, {6, 12}, R"(["%0","%1",0])");
            const std::string s = kernel("aten.t.default", {scaled[l]}, {8, 6});
            reduce(own[2], kernel("aten.mm.default", {s, da}, {8, 12}));
            const std::string w1 = kernel("aten.t.default", {w.at(layer_ + ".w1")}, {12, 8});
            const std::string ds = kernel("aten.mm.default", {da, w1}, {6, 8});
            const std::string each = kernel("aten.mul.Tensor", {ds, into[l]}, {6, 8});
            reduce(own[0], kernel("aten.sum.dim_IntList", {each}, {8}, R"(["%0",[0]])"));
            const std::string more = kernel("aten.mul.Tensor", {ds, w.at(layer_ + ".g")}, {6, 8});
            dx = kernel("aten.add.Tensor", {dx, more}, {6, 8});
        }
        layer_.clear();
        for (const parameter& p : parameters_) {
            const std::string g = gradients_.at(p.name), mean = p.name + " mean", square_mean = p.name + " square";
            const std::vector<std::int64_t> shape = own_shape(p);
            update(mean, "aten.mul_.Tensor", {}, R"(["%0",0.9])", 0);
            update(mean, "aten.add_.Tensor", {g}, R"(["%0","%1"])", 0.1);
            const std::string gg = kernel("aten.pow.Tensor_Scalar", {g}, shape, R"(["%0",2])");
            update(square_mean, "aten.mul_.Tensor", {}, R"(["%0",0.99])", 0);
            update(square_mean, "aten.add_.Tensor", {gg}, R"(["%0","%1"])", 0.01);
            const std::string root = kernel("aten.sqrt.default", {square_mean}, shape);
            const std::string over = kernel("aten.add.Scalar", {root}, shape, R"(["%0",0.001])");
            const std::string by = kernel("aten.div.Tensor", {mean, over}, shape);
            update(p.name, "aten.add_.Tensor", {by}, R"(["%0","%1"])", -0.005);
        }
        push({.name = "output", .op = "output", .kind = op_kind::output, .inputs = {loss}});
    }

    support::draft d_;
    std::vector<parameter> parameters_;  // as they are registered
    names gradients_, waiting_;
    std::string layer_;
    bool sharded_, packed_, backward_ = false;
};

/// A program that is trained: its parameters and moments, and the loss of the last step.
struct trained {
    capture program;
    capture_tensors tensors;
    support::named_inputs state;
    interpreted_entry loss;

    trained(capture c, const training_step& s) : program(std::move(c)), tensors(*capture_tensors::read(program)) {
        for (const parameter& p : s.parameters())
            for (const char* suffix : {"", " mean", " square"}) {
                const bool moment = *suffix != '\0';
                const std::vector<std::int64_t> shape = s.own_shape(p);
                const bool shards = shape != p.shape;
                std::vector<interpreted_value>& all = state[p.name + suffix];
                for (std::int64_t r = 0; r < ranks; ++r) {
                    std::vector<double> x;
                    for (std::int64_t i = 0; i < elements(shape); ++i)
                        x.push_back(moment ? 0
                                           : noise(number_of(p.name), shards ? static_cast<std::uint64_t>(r) : 0,
                                                   static_cast<std::uint64_t>(i)));
                    all.push_back(value_of(tensor::of(element_type::f32, shape, std::move(x))));
                }
            }
    }

    /// One step on tokens that are those of no other step, and of no other rank.
    void step(std::uint64_t n, const interpreter_options& options) {
        for (const char* data : {"x", "target"}) {
            std::vector<interpreted_value>& all = state[data];
            all.clear();
            for (std::uint64_t r = 0; r < ranks; ++r) {
                std::vector<double> x;
                for (std::uint64_t i = 0; i < 48; ++i) x.push_back(noise(number_of(data) + n, r, i));
                all.push_back(value_of(tensor::of(element_type::f32, {6, 8}, std::move(x))));
            }
        }
        interpretation done = support::run_named(program, tensors, options, state);
        loss = done.outputs.at(0);
        for (interpreted_entry& e : done.inputs) state.find(e.name)->second = e.by_rank;
    }

    /// The first value that differs in a bit; empty if there is none. `worst` becomes the largest difference.
    [[nodiscard]] std::string difference(const trained& other, double& worst) const {
        std::string first;
        bool numbers = true;
        const auto compare_values = [&](const std::string& name, const std::vector<interpreted_value>& a,
                                        const std::vector<interpreted_value>& b) {
            for (std::size_t r = 0; r < a.size(); ++r) {
                const std::vector<double> x = a[r].tensors[0].values<double>(), y = b[r].tensors[0].values<double>();
                REQUIRE(x.size() == y.size());
                if (first.empty() && first_difference(a[r].tensors[0], b[r].tensors[0]) >= 0) first = name;
                for (std::size_t i = 0; i < x.size(); ++i) {
                    numbers = numbers && x[i] == x[i];
                    worst = std::max(worst, x[i] < y[i] ? y[i] - x[i] : x[i] - y[i]);
                }
            }
        };
        for (const auto& [name, all] : state) compare_values(name, all, other.state.find(name)->second);
        compare_values("loss", loss.by_rank, other.loss.by_rank);
        REQUIRE(numbers);
        return first;
    }
    [[nodiscard]] double mean_loss() const {
        double sum = 0;
        for (const interpreted_value& v : loss.by_rank) sum += v.tensors[0].values<double>()[0];
        return sum / ranks;
    }
};

/// The program of the step in buckets, a bucket for each layer, direction and kind. `places` are those of parameters.
capture in_buckets(const capture& step, payload_order order, bool sharded, const std::vector<parameter>& parameters) {
    const auto tensors = capture_tensors::read(step);
    REQUIRE(tensors);
    const bucket_options options{.order = order};
    const auto planned = [&] {
        if (!sharded) {
            // Nothing tells a parameter that is not gathered from other inputs, so the test says what it is.
            const auto choose = [&](std::uint32_t v) {
                for (std::uint32_t k = 0; k < parameters.size(); ++k)
                    if (step.name(v) == "reduce " + parameters[k].name)
                        return bucket_choice{.label = k / 3, .place = k};
                return bucket_choice{};
            };
            return plan_capture_buckets(step, *tensors, choose, options);
        }
        const traffic_tags<capture_view> tags = traffic_of(step);
        const capture_modules modules = modules_of(step);
        const auto choose =
            buckets_by_module<capture_view>::make(modules, tags, {{"layers.0"}, {"layers.1"}, {"layers.2"}});
        REQUIRE(choose);
        return plan_capture_buckets(step, *tensors, *choose, options);
    };
    const auto plan = planned();
    REQUIRE_MESSAGE(plan, support::complaint(plan));
    CHECK(plan->buckets.size() == (sharded ? 9 : 3));
    for (const capture_bucket& b : plan->buckets) {
        REQUIRE(b.members.size() == 3);
        std::string packed;
        for (const std::uint32_t m : b.members) packed += step.name(m).substr(step.name(m).rfind('.') + 1);
        const bool gathers = step.collective(b.members[0]) == collective_kind::all_gather;
        CHECK(packed == (order == payload_order::registration ? "gw2w1" : gathers ? "gw1w2" : "w2w1g"));
    }
    const auto made = bucketed(step, *tensors, *plan);
    REQUIRE_MESSAGE(made, support::complaint(made));
    return support::lowered(step, *tensors, *made);
}

/// The four forms of the step after each of 25 steps, or of fewer, which are slow with sanitizers.
struct four_forms {
    const std::uint64_t steps = support::runs_all_cases() ? 25 : 3;
    const std::size_t most_of_them = support::runs_all_cases() ? 20 : 0;
    training_step::traffic how;
    training_step each{how, false}, packed{how, true};
    bool sharded = how == training_step::traffic::sharded;
    trained eager{packed.build(), packed}, apart{each.build(), each},
        registration{in_buckets(each.build(), payload_order::registration, sharded, each.parameters()), each},
        execution{in_buckets(each.build(), payload_order::execution, sharded, each.parameters()), each};
    double first_loss = 0, worst = 0;
    std::size_t registration_differs = 0, execution_differs = 0, apart_differs = 0;  // in so many steps

    void train(std::size_t rings) {
        interpreter_options options;
        options.ranks = ranks;
        options.rings = rings;
        options.round = true;
        for (std::uint64_t n = 0; n < steps; ++n) {
            for (trained* form : {&eager, &apart, &registration, &execution}) form->step(n, options);
            if (n == 0) first_loss = eager.mean_loss();
            double none = 0;
            registration_differs += !eager.difference(registration, none).empty();
            apart_differs += !eager.difference(apart, worst).empty();
            execution_differs += !eager.difference(execution, worst).empty();
        }
    }
};

}  // namespace

TEST_CASE("25 steps of sharded training: buckets in registration order have the bits of an eager run on any rings") {
    for (std::size_t rings = 1; rings <= 4; ++rings) {
        CAPTURE(rings);
        four_forms forms{.how = training_step::traffic::sharded};
        forms.train(rings);
        CHECK(forms.registration_differs == 0);
        // On one ring, what is scattered is added in an order that only its owner decides.
        if (rings == 1) CHECK((forms.execution_differs == 0 && forms.apart_differs == 0));
        else CHECK((forms.execution_differs > forms.most_of_them && forms.apart_differs > forms.most_of_them));
        CHECK((forms.worst == 0) == (rings == 1));
        CHECK(forms.worst < 1e-2);  // it is trained, and last bits grow
        if (support::runs_all_cases()) CHECK(forms.eager.mean_loss() < 0.8 * forms.first_loss);
    }
}

TEST_CASE("25 steps of replicated training: buckets in registration order have the bits of an eager run") {
    for (std::size_t rings = 0; rings <= 2; ++rings) {
        CAPTURE(rings);
        four_forms forms{.how = training_step::traffic::replicated};
        forms.train(rings);
        CHECK(forms.registration_differs == 0);
        if (rings == 0) CHECK((forms.execution_differs == 0 && forms.apart_differs == 0));
        else CHECK((forms.execution_differs > forms.most_of_them && forms.apart_differs > forms.most_of_them));
        CHECK((forms.worst == 0) == (rings == 0));
    }
}

namespace {

/// Collectives of inputs, of any kinds and types, some behind a cast that a pack can do.
struct traffic_step {
    support::draft d;
    bool everywhere = false;  ///< whether something is reduced on every rank
    support::named_inputs inputs;

    traffic_step(const std::vector<std::uint8_t>& bytes, bool whole_numbers) {
        std::size_t at = 0;
        const auto next = [&](std::size_t bound) { return at < bytes.size() ? bytes[at++] % bound : std::size_t{0}; };
        d.groups = {{"dp", ranks, ""}, {"ep", ranks, ""}, {"tp", ranks, ""}};
        const std::size_t count = 2 + next(7);
        std::vector<std::string> results;
        for (std::size_t k = 0; k < count; ++k) {
            const auto kind = std::array{collective_kind::all_gather, collective_kind::reduce_scatter,
                                         collective_kind::all_reduce}[next(3)];
            const bool average = next(2) != 0, cast = next(3) == 0;
            const bool gathers = kind == collective_kind::all_gather,
                       scatters = kind == collective_kind::reduce_scatter;
            const auto types = gathers ? std::array{"f32", "bf16", "i64"} : std::array{"f32", "f32", "f64"};
            const std::string from = types[next(3)];
            const std::string to = cast && from == "f32" ? "bf16" : from;
            const std::vector<std::int64_t> sent{(scatters ? ranks : 1) * static_cast<std::int64_t>(1 + next(3)),
                                                 static_cast<std::int64_t>(1 + next(5))};
            std::vector<std::int64_t> received = sent;
            if (gathers) received[0] *= ranks;
            if (scatters) received[0] /= ranks;
            everywhere = everywhere || kind == collective_kind::all_reduce;
            const std::string number = std::to_string(k);
            std::string x = "x" + number;
            draw(x, from, sent, whole_numbers, next(251));
            d.nodes.push_back(support::input(x, 8 * elements(sent), support::tensor(text_of(sent), from)));
            if (to != from) {
                support::draft_node c = support::kernel("cast" + number, "aten._to_copy.default", {x}, 500,
                                                        2 * elements(sent), support::tensor(text_of(sent), to));
                c.field("kwargs") = "{\"dtype\":\"" + to + "\"}";
                d.nodes.push_back(c);
                x = c.name;
            }
            const std::int64_t size = to == "bf16" ? 2 : to == "f32" ? 4 : 8;
            support::draft_node s = support::launch("start" + number, kind, 0, x, size * elements(sent),
                                                    size * elements(received), support::tensor(text_of(received), to));
            const std::string how = average ? "avg" : "sum";
            s.op = gathers    ? "_c10d_functional.all_gather_into_tensor.default"
                   : scatters ? "_c10d_functional.reduce_scatter_tensor.default"
                              : "_c10d_functional.all_reduce.default";
            s.field("args") = gathers    ? "[\"%0\",4,\"dp\"]"
                              : scatters ? "[\"%0\",\"" + how + "\",4,\"dp\"]"
                                         : "[\"%0\",\"" + how + "\",\"dp\"]";
            d.nodes.push_back(s);
            support::draft_node w = support::wait("wait" + number, s.name, s.outputs);
            w.op = "_c10d_functional.wait_tensor.default";
            d.nodes.push_back(w);
            results.push_back(w.name);
        }
        d.nodes.push_back({.name = "output", .op = "output", .kind = op_kind::output, .inputs = results});
    }

    void draw(const std::string& name, const std::string& type, const std::vector<std::int64_t>& shape,
              bool whole_numbers, std::uint64_t seed) {
        for (std::uint64_t r = 0; r < ranks; ++r) {
            std::vector<double> x;
            std::vector<std::int64_t> whole;
            for (std::int64_t i = 0; i < elements(shape); ++i) {
                x.push_back(noise(number_of(name) + seed, r, static_cast<std::uint64_t>(i)));
                whole.push_back(static_cast<std::int64_t>(x.back() * 60));
                if (whole_numbers) x.back() = static_cast<double>(whole.back());
            }
            const element_type e = element_type_of(type);
            inputs[name].push_back(value_of(type == "i64" ? tensor::of_integers(e, shape, std::move(whole))
                                                          : tensor::of(e, shape, std::move(x))));
        }
    }
};

/// Whether all in buckets is bit by bit what it is apart; a difference is told.
std::string merged_difference(const traffic_step& s, bucket_mode mode, std::size_t rings, std::size_t& saved) {
    const capture step = s.d.build();
    const auto tensors = capture_tensors::read(step);
    REQUIRE(tensors);
    // In reverse, so that the payload is not in the order of the program.
    const auto everything = [](std::uint32_t v) { return bucket_choice{.label = 0, .place = 1000 - v, .cast = true}; };
    const auto plan = plan_capture_buckets(step, *tensors, everything, {.mode = mode});
    REQUIRE_MESSAGE(plan, support::complaint(plan));
    saved += plan->saved();
    if (plan->empty()) return {};
    const auto made = bucketed(step, *tensors, *plan);
    REQUIRE_MESSAGE(made, support::complaint(made));
    const capture program = support::lowered(step, *tensors, *made);
    const auto program_tensors = capture_tensors::read(program);
    REQUIRE(program_tensors);
    interpreter_options options;
    options.ranks = ranks;
    options.rings = rings;
    options.round = true;
    interpretation apart = support::run_named(step, *tensors, options, s.inputs);
    interpretation merged = support::run_named(program, *program_tensors, options, s.inputs);
    apart.inputs.clear();
    merged.inputs.clear();
    const auto found = compare(apart, merged);
    return found.empty() ? std::string() : found[0].message();
}

}  // namespace

TEST_CASE("whole numbers in buckets are what they are apart: gathers, sums and averages, of any types, packed or not") {
    std::size_t saved = 0;
    stretto_check("whole numbers", 1000, [&](const std::vector<std::uint8_t>& bytes) {
        const traffic_step s(bytes, true);
        for (const bucket_mode mode : {bucket_mode::pack, bucket_mode::coalesced})
            RC_ASSERT(merged_difference(s, mode, bytes.size() % 4, saved) == "");
    });
    if (support::runs_all_cases()) CHECK(saved > 0);
}

TEST_CASE("fractions in buckets are what they are apart wherever their parts are added in the same order") {
    std::size_t same = 0, different = 0, saved = 0;
    stretto_check("fractions", 1000, [&](const std::vector<std::uint8_t>& bytes) {
        const traffic_step s(bytes, false);
        RC_ASSERT(merged_difference(s, bucket_mode::coalesced, 3, saved) == "");
        RC_ASSERT(merged_difference(s, bucket_mode::pack, 0, saved) == "");
        const std::string on_ring = merged_difference(s, bucket_mode::pack, 1, saved);
        if (!s.everywhere) RC_ASSERT(on_ring == "");
        (on_ring.empty() ? same : different) += s.everywhere;
    });
    if (support::runs_all_cases()) CHECK((same > 0 && different > 0));
}
