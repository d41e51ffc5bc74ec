// What every test of a kind of chunk rules needs: a call made up to ask the rule, and short names for the states that
// tests write over and over.
#ifndef STRETTO_TESTS_SUPPORT_RULE_TEST_HPP
#define STRETTO_TESTS_SUPPORT_RULE_TEST_HPP

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "support/rule_call.hpp"

using namespace stretto;
using namespace stretto::chunk_rules;
using support::addend;
using support::permuted;
using support::rule_call;
using support::sliced;
using support::whole;

#endif
