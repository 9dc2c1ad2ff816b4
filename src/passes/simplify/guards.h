// Conditions of rules. Types are those of the root, of the first operand where the root is a comparison.
#ifndef KILN_PASSES_SIMPLIFY_GUARDS_H_
#define KILN_PASSES_SIMPLIFY_GUARDS_H_

#include "src/passes/simplify/rule.h"

namespace kiln::passes::simplify {

bool IsIntegralMatch(const Match& match);
bool IsIntegerMatch(const Match& match);
bool IsFloatingMatch(const Match& match);
bool IsWideFloatMatch(const Match& match);
bool IsNotComplexMatch(const Match& match);
bool IsSignedMatch(const Match& match);
bool IsUnsignedMatch(const Match& match);
bool IsPredicateMatch(const Match& match);

inline constexpr Guard Integral{"integers or pred", IsIntegralMatch};
inline constexpr Guard Integer{"integers", IsIntegerMatch};
inline constexpr Guard Floating{"real floats", IsFloatingMatch};
// Wide enough that a function rounded once is no other answer than its parts rounded each.
inline constexpr Guard WideFloat{"real floats of 16 bits and more", IsWideFloatMatch};
inline constexpr Guard NotComplex{"not complex", IsNotComplexMatch};
inline constexpr Guard Signed{"signed integers", IsSignedMatch};
inline constexpr Guard Unsigned{"unsigned integers", IsUnsignedMatch};
inline constexpr Guard Predicates{"pred", IsPredicateMatch};

// Of the instruction behind a letter.
bool IsIntegralValue(const Instruction& instruction);
bool IsIntegerValue(const Instruction& instruction);
bool IsPredicateValue(const Instruction& instruction);
bool IsRealValue(const Instruction& instruction);
// No element is below zero or -0; NaN may be among them.
bool IsNonNegative(const Instruction& instruction);
// No element has a fraction; NaN and infinities may be among them.
bool IsWhole(const Instruction& instruction);
// No element is NaN or infinite.
bool IsFinite(const Instruction& instruction);

template <char kLetter, bool (*kHolds)(const Instruction&)>
bool HoldsFor(const Match& match) {
  return kHolds(*match[kLetter]);
}
inline constexpr Guard IntegralX{"x of integers or pred", HoldsFor<'x', IsIntegralValue>};
inline constexpr Guard IntegerX{"x of integers", HoldsFor<'x', IsIntegerValue>};
inline constexpr Guard PredicateP{"p of pred", HoldsFor<'p', IsPredicateValue>};
inline constexpr Guard PredicateX{"x of pred", HoldsFor<'x', IsPredicateValue>};
inline constexpr Guard RealX{"x real", HoldsFor<'x', IsRealValue>};
inline constexpr Guard NonNegativeX{"x >= 0", HoldsFor<'x', IsNonNegative>};
inline constexpr Guard WholeX{"x whole", HoldsFor<'x', IsWhole>};
inline constexpr Guard FiniteX{"x finite", HoldsFor<'x', IsFinite>};

// Of the constants c and d.
bool IsPowerOfTwo(const Match& match);
bool HasExactReciprocal(const Match& match);
bool AreOrdered(const Match& match);
bool AreRanges(const Match& match);
bool ProductFits(const Match& match);
bool AreShifts(const Match& match);
bool IsPastWidth(const Match& match);
bool IsLn2(const Match& match);

inline constexpr Guard PowerOfTwo{"c a positive power of two", IsPowerOfTwo};
inline constexpr Guard ExactReciprocal{"1/c exact", HasExactReciprocal};
inline constexpr Guard Ordered{"c <= d", AreOrdered};
inline constexpr Guard Ranges{"c <= f, d <= e", AreRanges};
inline constexpr Guard ProductOfCD{"c * d not 0 and without overflow", ProductFits};
inline constexpr Guard Shifts{"c and d below the width", AreShifts};
inline constexpr Guard PastWidth{"c not below the width", IsPastWidth};
inline constexpr Guard Ln2{"c = ln 2", IsLn2};

// `p`, and `q` where the rule has it, have the root's dimensions.
bool HavePredicateShape(const Match& match);
inline constexpr Guard SameShape{"p and q not spread", HavePredicateShape};

// Whether every value of `from` is a value of `to`.
bool IsLossless(PrimitiveType from, PrimitiveType to);

// Notes: what is not bit for bit the same. XLA makes the same exceptions.
inline constexpr Guard SignlessZero{"-0 is 0"};
inline constexpr Guard Rounds{"other roundings"};
inline constexpr Guard AnyOrder{"sums in another order"};
inline constexpr Guard NoOverflowBetween{"no overflow between"};
inline constexpr Guard PaddingIsNoFactor{"padding times inf or NaN is 0"};

}  // namespace kiln::passes::simplify

#endif  // KILN_PASSES_SIMPLIFY_GUARDS_H_
