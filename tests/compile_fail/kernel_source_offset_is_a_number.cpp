// expect: offset_returns_bytes
#include "stretto/backend/concepts.hpp"

// If this member were ignored, a view of a part would read from the beginning of its storage.
struct source {
    struct kernel_type {
        void operator()() const;
    };
    kernel_type kernel(stretto::task_id, stretto::task_memory);
    stretto::collective_call call(stretto::task_id);
    std::byte* address(stretto::value_id);
#ifdef EXPECT_FAILURE
    std::int64_t offset(stretto::value_id);
#else
    stretto::bytes offset(stretto::value_id);
#endif
};

void algorithm(stretto::kernel_source auto) {}
void use() { algorithm(source{}); }
