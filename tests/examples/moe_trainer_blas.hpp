// The BLAS libraries of this machine, for tests of the trainer. There may be none.
#ifndef STRETTO_TESTS_EXAMPLES_MOE_TRAINER_BLAS_HPP
#define STRETTO_TESTS_EXAMPLES_MOE_TRAINER_BLAS_HPP

#include <doctest/doctest.h>

#include <string>

#include "products.hpp"

namespace support {

/// Calls f(name) for each BLAS that can be opened, and lets it compute all products meanwhile.
template <class F>
void with_each_blas(F f) {
    const struct back_to_loops {
        ~back_to_loops() { static_cast<void>(trainer::compute_products_with({})); }
    } even_if_f_throws;
    int opened = 0;
    for (const std::string library : {"libopenblas.so.0", "libblas.so.3"}) {
        if (trainer::compute_products_with(library)) continue;
        ++opened;
        CAPTURE(library);
        f(library);
    }
    if (opened == 0) MESSAGE("nothing tested: there is no BLAS; libopenblas0-pthread has one");
}

}  // namespace support

#endif
