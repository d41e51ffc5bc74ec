// expect: destination_returns_pointer_to_byte
#include "stretto/backend/concepts.hpp"

// If this member were ignored, the caller would look for results where nothing has been written.
struct source {
    struct kernel_type {
        void operator()() const;
    };
    kernel_type kernel(stretto::task_id, stretto::task_memory);
    stretto::collective_call call(stretto::task_id);
    std::byte* address(stretto::value_id);
#ifdef EXPECT_FAILURE
    const std::byte* destination(stretto::value_id);
#else
    std::byte* destination(stretto::value_id);
#endif
};

void algorithm(stretto::kernel_source auto) {}
void use() { algorithm(source{}); }
