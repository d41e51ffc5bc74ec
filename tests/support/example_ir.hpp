// The IR of examples/02_chunk_your_ir.cpp with its adapters, which stand in one file with the program of the example.
#ifndef STRETTO_TESTS_SUPPORT_EXAMPLE_IR_HPP
#define STRETTO_TESTS_SUPPORT_EXAMPLE_IR_HPP

#define main example_main
#include "../../examples/02_chunk_your_ir.cpp"
#undef main

#endif
