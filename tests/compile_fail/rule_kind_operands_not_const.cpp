// expect: name_operands_takes_operand_names
#include "stretto/transform/chunk_rules/any_rule.hpp"

// If this member were ignored, the rule would be asked about an operand that the operation does not have.
struct kind {
    stretto::chunk_verdict verdict(const stretto::chunk_rules::chunk_call&) const;
#ifdef EXPECT_FAILURE
    void name_operands(stretto::chunk_rules::operand_names& to);
#else
    void name_operands(stretto::chunk_rules::operand_names& to) const;
#endif
};

void algorithm(stretto::chunk_rules::rule_kind auto) {}
void use() { algorithm(kind{}); }
