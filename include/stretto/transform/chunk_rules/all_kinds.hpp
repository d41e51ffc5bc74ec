// Includes all rule kinds, for dialects with many operations. A dialect that needs only a few kinds compiles faster if
// it includes their headers instead.
#ifndef STRETTO_TRANSFORM_CHUNK_RULES_ALL_KINDS_HPP
#define STRETTO_TRANSFORM_CHUNK_RULES_ALL_KINDS_HPP

#include "stretto/transform/chunk_rules/blocks.hpp"
#include "stretto/transform/chunk_rules/elementwise.hpp"
#include "stretto/transform/chunk_rules/exchanges.hpp"
#include "stretto/transform/chunk_rules/factories.hpp"
#include "stretto/transform/chunk_rules/joining.hpp"
#include "stretto/transform/chunk_rules/layout.hpp"
#include "stretto/transform/chunk_rules/lookups.hpp"
#include "stretto/transform/chunk_rules/losses.hpp"
#include "stretto/transform/chunk_rules/norms.hpp"
#include "stretto/transform/chunk_rules/numbers.hpp"
#include "stretto/transform/chunk_rules/parts.hpp"
#include "stretto/transform/chunk_rules/products.hpp"
#include "stretto/transform/chunk_rules/reductions.hpp"
#include "stretto/transform/chunk_rules/samples.hpp"
#include "stretto/transform/chunk_rules/scattered_reductions.hpp"
#include "stretto/transform/chunk_rules/scatters.hpp"
#include "stretto/transform/chunk_rules/sorting.hpp"
#include "stretto/transform/chunk_rules/transfer.hpp"

#endif
