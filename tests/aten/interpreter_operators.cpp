#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aten/golden_blocks.hpp"
#include "aten/golden_operators.hpp"
#include "aten/tensor_program.hpp"
#include "stretto/aten/interpreter.hpp"

using namespace stretto::aten;
using support::cause_of;
using support::floats;
using support::integers;
using support::run_operator;

namespace {

std::string_view cut(std::string_view& text, std::string_view separator) {
    const std::size_t at = text.find(separator);
    const std::string_view piece = text.substr(0, at);
    text = at == std::string_view::npos ? std::string_view() : text.substr(at + separator.size());
    return piece;
}

/// "f64[2,3]:1,2,3,4,5,6"
tensor tensor_of(std::string_view text) {
    constexpr std::string_view names[] = {"f16", "bf16", "f32", "f64",  "i8",  "u8",
                                          "i16", "i32",  "i64", "bool", "c64", "c128"};
    const std::string_view name = cut(text, "[");
    stretto::element_type e{};
    for (std::size_t k = 0; k < 12; ++k)
        if (names[k] == name) e = static_cast<stretto::element_type>(k);
    std::vector<std::int64_t> shape, whole;
    std::vector<double> values;
    std::string_view extents = cut(text, "]:");
    while (!extents.empty()) shape.push_back(std::atoll(std::string(cut(extents, ",")).c_str()));
    while (!text.empty()) {
        const std::string number(cut(text, ","));
        values.push_back(std::strtod(number.c_str(), nullptr));
        whole.push_back(std::atoll(number.c_str()));
    }
    if (class_of(e) <= element_class::integer) return tensor::of_integers(e, std::move(shape), std::move(whole));
    return tensor::of(e, std::move(shape), std::move(values));
}
std::vector<tensor> tensors_of(std::string_view text) {
    std::vector<tensor> all;
    while (!text.empty()) all.push_back(tensor_of(cut(text, " ; ")));
    return all;
}

/// Equal up to the last bits of functions that libraries round differently, and of sums that they order differently.
bool close(double a, double b, double tolerance) {
    return (std::isnan(a) && std::isnan(b)) || a == b || std::fabs(a - b) <= tolerance * (1 + std::fabs(b));
}

std::string disagreement(const tensor& got, const tensor& due) {
    if (got.element() != due.element() || got.shape() != due.shape())
        return detail::text_of(got) + " instead of " + detail::text_of(due);
    const double tolerance = due.element() == stretto::element_type::f64 || due.element() == stretto::element_type::c128
                                 ? 1e-14
                             : stretto::size_of(due.element()) == 2 ? 1e-2
                                                                    : 1e-6;
    const auto x = got.values<complex_number>(), y = due.values<complex_number>();
    for (std::size_t k = 0; k < x.size(); ++k)
        if (!close(x[k].re, y[k].re, tolerance) || !close(x[k].im, y[k].im, tolerance))
            return "element " + std::to_string(k) + ": " + std::to_string(x[k].re) + " instead of " +
                   std::to_string(y[k].re);
    return {};
}

}  // namespace

TEST_CASE("operators do what PyTorch does") {
    const std::string all = std::string(support::golden_operators) + std::string(support::golden_blocks);
    std::string_view text = all;
    std::size_t lines = 0;
    while (!text.empty()) {
        std::string_view line = cut(text, "\n");
        if (line.empty()) continue;
        ++lines;
        CAPTURE(line);
        const std::string operation(cut(line, " | "));
        const std::vector<tensor> operands = tensors_of(cut(line, " | "));
        const std::string_view arguments = cut(line, " | ");
        const std::vector<tensor> due = tensors_of(line);
        const auto done = run_operator(operation, operands, arguments);
        if (!done) FAIL_CHECK(done.error().message());
        if (!done) continue;
        const std::vector<tensor>& got = done->outputs[0].by_rank[0].tensors;
        CHECK(got.size() == due.size());
        for (std::size_t k = 0; k < got.size() && k < due.size(); ++k) {
            const std::string wrong = disagreement(got[k], due[k]);
            CHECK_MESSAGE(wrong.empty(), wrong);
        }
    }
    CHECK(lines > 340);
}
