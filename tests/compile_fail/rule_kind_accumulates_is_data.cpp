// expect: accumulates_returns_bool
#include "stretto/transform/chunk_rules/any_rule.hpp"

// An optional member that is not as documented would be ignored.
struct kind {
    stretto::chunk_verdict verdict(const stretto::chunk_rules::chunk_call&) const;
#ifdef EXPECT_FAILURE
    bool accumulates = true;
#else
    bool accumulates() const;
#endif
};

void algorithm(stretto::chunk_rules::rule_kind auto) {}
void use() { algorithm(kind{}); }
