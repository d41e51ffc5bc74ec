#include "support/random_program.hpp"

#include <rapidcheck.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "support/toy_program.hpp"

namespace support {

namespace {

class program_decoder {
public:
    explicit program_decoder(const program_options& options) : options_(options) { program_.groups = options.groups; }

    void decode(const gene& g) {
        using stretto::op_kind;
        const unsigned what = g[0];
        if (what < 112) compute(g);
        else if (what < 144) view(g);
        else if (what < 156) shape_view(g);
        else if (what < 200) start(g);
        else if (what < 240) wait(g);
        else input(g);
    }

    toy_program finish() && {
        if (!options_.unwaited_starts)
            while (!in_flight_.empty()) wait({240, 0, 0, 0, 0, 0, 0, 0});
        toy_op output;
        output.kind = stretto::op_kind::output;
        for (std::size_t i = values_.size(); i-- > 0 && output.operands.size() < 3;)
            if (readable(i) && i % 2 == values_.size() % 2) output.operands.push_back(values_[i].name);
        if (!output.operands.empty()) program_.ops.push_back(std::move(output));
        return std::move(program_);
    }

private:
    /// A storage may be read by any number of collectives in flight or written by one.
    struct storage_state {
        std::uint32_t readers = 0;
        std::uint32_t writers = 0;
    };
    struct value_state {
        toy_value name;
        std::vector<std::uint32_t> storages;  ///< none: no tensor
    };
    struct flight {
        std::uint32_t op;
        std::vector<std::uint32_t> reads, writes;
    };

    bool readable(std::size_t i) const {
        for (std::uint32_t s : values_[i].storages)
            if (storages_[s].writers) return false;
        return options_.reads_behind_waits || !raw_result_of_start(i);
    }
    bool writable(std::size_t i) const {
        for (std::uint32_t s : values_[i].storages)
            if (storages_[s].writers || storages_[s].readers) return false;
        return !values_[i].storages.empty() && (options_.reads_behind_waits || !raw_result_of_start(i));
    }
    bool raw_result_of_start(std::size_t i) const {
        return program_.ops[values_[i].name.op].kind == stretto::op_kind::start;
    }

    /// A value that satisfies `allowed`: `pick` counts back from the most recent one, sparsely for far ones.
    template <class Allowed>
    std::optional<std::size_t> choose(std::uint8_t pick, Allowed allowed) const {
        const std::size_t n = values_.size();
        if (n == 0) return std::nullopt;
        std::size_t i = n - 1 - (std::size_t{pick} * pick * n) / 65536;
        for (std::size_t tries = 0; tries < n; ++tries, i = (i + n - 1) % n)
            if (allowed(i)) return i;
        return std::nullopt;
    }
    std::optional<std::size_t> choose_readable(std::uint8_t pick) const {
        return choose(pick, [this](std::size_t i) { return readable(i); });
    }

    std::uint32_t next() const { return static_cast<std::uint32_t>(program_.ops.size()); }

    /// Adds a result to `op`, which will be the next operation: own storage, that of the aliased values, or none.
    void result(toy_op& op, std::int64_t size, const std::vector<std::size_t>& aliases, bool tensor = true) {
        value_state x{{next(), static_cast<std::uint32_t>(op.results.size())}, {}};
        toy_result r;
        r.size = {size};
        for (std::size_t a : aliases) {
            r.aliases.push_back(values_[a].name);
            x.storages.insert(x.storages.end(), values_[a].storages.begin(), values_[a].storages.end());
        }
        if (tensor && (size > 0 || aliases.empty())) {
            x.storages.push_back(static_cast<std::uint32_t>(storages_.size()));
            storages_.push_back({});
        }
        op.results.push_back(std::move(r));
        fresh_.push_back(std::move(x));
    }
    void emit(toy_op op) {
        program_.ops.push_back(std::move(op));
        for (value_state& x : fresh_) values_.push_back(std::move(x));
        fresh_.clear();
    }

    static std::int64_t size_of(const gene& g) { return g[7] < 32 ? g[7] % 4 : std::int64_t{g[7]} * 16; }
    static stretto::nanoseconds duration_of(const gene& g) { return {std::int64_t{g[6]} * 10}; }

    void input(const gene& g) {
        toy_op op;
        op.kind = stretto::op_kind::input;
        result(op, size_of(g), {});
        emit(std::move(op));
    }

    void compute(const gene& g) {
        toy_op op;
        op.duration = duration_of(g);
        const std::uint8_t flavour = g[4];
        for (std::size_t k = 0; k < flavour % 4u; ++k)
            if (const auto x = choose_readable(g[1 + k])) op.operands.push_back(values_[*x].name);
        std::optional<std::size_t> written;
        if (options_.in_place && flavour >= 200) written = choose(g[3], [this](std::size_t i) { return writable(i); });
        if (written) {
            op.operands.push_back(values_[*written].name);
            op.effects.push_back(values_[*written].name);
        }
        const bool several = options_.multi_result && flavour % 8 == 7;
        const bool none = options_.multi_result && flavour % 16 == 8;
        if (written && !none) result(op, 0, {*written});
        else if (!none) result(op, size_of(g), {});
        if (several)
            for (unsigned k = 0; k <= g[2] % 2u; ++k) result(op, std::int64_t{g[7]} + k, {});
        emit(std::move(op));
    }

    void view(const gene& g) {
        // No kernel runs, so even what is in flight may be viewed; reading through the view is what must wait.
        const auto x = choose(g[1], [this](std::size_t i) {
            return !values_[i].storages.empty() && (options_.reads_behind_waits || readable(i));
        });
        if (!x) return compute(g);
        toy_op op;
        op.kind = stretto::op_kind::view;
        op.operands.push_back(values_[*x].name);
        const std::size_t parts = options_.multi_result && g[4] % 8 == 7 ? 2 : 1;
        for (std::size_t k = 0; k < parts; ++k) result(op, g[4] == 255 ? 8 : 0, {*x});
        emit(std::move(op));
    }

    void shape_view(const gene& g) {
        const auto x = choose(g[1], [](std::size_t) { return true; });
        if (!x) return compute(g);
        toy_op op;
        op.kind = stretto::op_kind::view;
        op.operands.push_back(values_[*x].name);
        result(op, 0, {}, false);
        emit(std::move(op));
    }

    void start(const gene& g) {
        toy_op op;
        op.kind = stretto::op_kind::start;
        op.collective = static_cast<stretto::collective_kind>(g[3] % 5u);
        op.group = g[5] % options_.groups;
        op.duration = duration_of(g);
        op.payload = {size_of(g)};
        const std::uint8_t flavour = g[4];
        flight f{next(), {}, {}};
        for (std::size_t k = 0; k <= flavour % 4u && k < 3; ++k) {
            const auto x = choose_readable(g[1 + k]);
            if (!x) continue;
            op.operands.push_back(values_[*x].name);
            f.reads.insert(f.reads.end(), values_[*x].storages.begin(), values_[*x].storages.end());
        }
        std::optional<std::size_t> written;
        if (options_.in_place_collectives && flavour >= 170)
            written = choose(g[3], [this](std::size_t i) { return writable(i); });
        if (written) {
            op.operands.push_back(values_[*written].name);
            op.effects.push_back(values_[*written].name);
            f.writes = values_[*written].storages;
            result(op, 0, {*written});
        } else {
            result(op, 1 + size_of(g), {});
            if (options_.multi_result && flavour % 16 == 7) result(op, 1 + size_of(g), {});
        }
        for (const value_state& x : fresh_) f.writes.insert(f.writes.end(), x.storages.begin(), x.storages.end());
        for (std::uint32_t s : f.reads) ++storages_[s].readers;
        for (std::uint32_t s : f.writes) ++storages_[s].writers;
        in_flight_.push_back(std::move(f));
        emit(std::move(op));
    }

    void wait(const gene& g) {
        toy_op op;
        op.kind = stretto::op_kind::wait;
        const std::uint8_t flavour = g[4];
        if (options_.waits_on_nothing && flavour >= 224) {
            // On a wait, an input, something computed, the start of a collective that has arrived, or nothing.
            const auto x = choose_readable(g[1]);
            if (x && flavour < 250) {
                op.operands.push_back(values_[*x].name);
                result(op, 0, {*x}, !values_[*x].storages.empty());
            }
            return emit(std::move(op));
        }
        if (in_flight_.empty()) return compute(g);
        const std::size_t k = g[1] % in_flight_.size();
        const flight f = in_flight_[k];
        in_flight_.erase(in_flight_.begin() + static_cast<std::ptrdiff_t>(k));
        const std::uint32_t results = static_cast<std::uint32_t>(program_.ops[f.op].results.size());
        const toy_value waited{f.op, g[2] % results};
        op.operands.push_back(waited);
        const auto x = choose(0, [&](std::size_t i) { return values_[i].name == waited; });
        const bool silent = options_.multi_result && options_.reads_behind_waits && flavour % 16 == 15;
        if (!silent) result(op, 0, {*x});
        for (std::uint32_t s : f.reads) --storages_[s].readers;
        for (std::uint32_t s : f.writes) --storages_[s].writers;
        emit(std::move(op));
    }

    program_options options_;
    toy_program program_;
    std::vector<value_state> values_, fresh_;
    std::vector<storage_state> storages_;
    std::vector<flight> in_flight_;
};

}  // namespace

toy_program decode_program(const std::vector<gene>& genes, const program_options& options) {
    program_decoder decoder(options);
    for (const gene& g : genes) decoder.decode(g);
    return std::move(decoder).finish();
}

rc::Gen<toy_program> random_programs(const program_options& options) {
    const auto byte = rc::gen::resize(100, rc::gen::inRange<int>(0, 256));
    const auto number = rc::gen::map(byte, [](int x) { return static_cast<std::uint8_t>(x); });
    const auto genes = rc::gen::scale(options.max_ops / 100.0,
                                      rc::gen::container<std::vector<gene>>(rc::gen::container<gene>(number)));
    return rc::gen::map(genes, [options](const std::vector<gene>& g) { return decode_program(g, options); });
}

toy_program seeded_program(std::uint64_t seed, std::size_t ops, const program_options& options) {
    std::vector<gene> genes(ops);
    for (gene& g : genes)
        for (std::uint8_t& field : g) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            field = static_cast<std::uint8_t>(seed >> 56);
        }
    return decode_program(genes, options);
}

}  // namespace support

template class rc::Gen<support::toy_program>;
