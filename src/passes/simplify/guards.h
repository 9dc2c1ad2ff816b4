// Conditions of rules.
#ifndef KILN_PASSES_SIMPLIFY_GUARDS_H_
#define KILN_PASSES_SIMPLIFY_GUARDS_H_

#include "src/analysis/value_range.h"
#include "src/hlo/float_range.h"
#include "src/passes/simplify/rule.h"

namespace kiln::passes::simplify {

using analysis::RangeOf;
using analysis::ValueRange;
using hlo::IsLossless;

// Of the root, or of the first operand where the root is a comparison.
PrimitiveType TypeOf(const Match& match);
template <bool (*kHolds)(PrimitiveType)>
bool TypeIs(const Match& match) {
  return kHolds(TypeOf(match));
}
template <char kLetter, bool (*kHolds)(PrimitiveType)>
bool TypeIs(const Match& match) {
  return kHolds(match[kLetter]->shape().element_type());
}
bool IsIntegralOrPred(PrimitiveType type);
bool IsPred(PrimitiveType type);
bool IsWideFloat(PrimitiveType type);
bool IsFloatOfWideRange(PrimitiveType type);
bool IsPreciseFloat(PrimitiveType type);
bool IsNotComplex(PrimitiveType type);

inline constexpr Guard Integral{"integers or pred", TypeIs<IsIntegralOrPred>};
inline constexpr Guard Integer{"integers", TypeIs<hlo::IsIntegral>};
inline constexpr Guard Floating{"real floats", TypeIs<hlo::IsFloating>};
// Wide enough that a function rounded once is no other answer than its parts rounded each.
inline constexpr Guard WideFloat{"real floats of 16 bits and more", TypeIs<IsWideFloat>};
// Products of what is no large number are seldom past it.
inline constexpr Guard WideRange{"bf16, f32 and f64", TypeIs<IsFloatOfWideRange>};
// Precise enough for exponents that are rounded.
inline constexpr Guard Precise{"f32 and f64", TypeIs<IsPreciseFloat>};
inline constexpr Guard NotComplex{"not complex", TypeIs<IsNotComplex>};
inline constexpr Guard Signed{"signed integers", TypeIs<hlo::IsSignedIntegral>};
inline constexpr Guard Unsigned{"unsigned integers", TypeIs<hlo::IsUnsignedIntegral>};
inline constexpr Guard Predicates{"pred", TypeIs<IsPred>};
inline constexpr Guard IntegralX{"x of integers or pred", TypeIs<'x', IsIntegralOrPred>};
inline constexpr Guard IntegerX{"x of integers", TypeIs<'x', hlo::IsIntegral>};
inline constexpr Guard SignedX{"x of signed integers", TypeIs<'x', hlo::IsSignedIntegral>};
inline constexpr Guard PredicateP{"p of pred", TypeIs<'p', IsPred>};
inline constexpr Guard PredicateQ{"q of pred", TypeIs<'q', IsPred>};
inline constexpr Guard PredicateX{"x of pred", TypeIs<'x', IsPred>};
inline constexpr Guard RealX{"x real", TypeIs<'x', IsNotComplex>};

// Of the instruction behind a letter.
// No element is below zero or -0; NaN may be among them.
inline bool IsNonNegative(const Instruction& x) { return RangeOf(x).IsNonNegative(); }
// No element has a fraction; NaN and infinities may be among them.
bool IsWhole(const Instruction& instruction);
// No element is NaN or infinite.
inline bool IsFinite(const Instruction& x) { return RangeOf(x).IsFinite(); }
inline bool IsNeverNan(const Instruction& x) { return !RangeOf(x).has_nan; }
// A constant whose elements are powers of two, and in its type so are their reciprocals if it is one of floats.
bool ArePowers(const Instruction& instruction);
inline bool IsScalar(const Instruction& instruction) { return instruction.shape().IsScalar(); }
inline bool IsEmpty(const Instruction& instruction) { return instruction.shape().element_count() == 0; }

template <char kLetter, bool (*kHolds)(const Instruction&)>
bool HoldsFor(const Match& match) {
  return kHolds(*match[kLetter]);
}
template <bool (*kHolds)(const ValueRange&, const ValueRange&), char kX = 'x', char kY = 'y'>
bool HoldsForBoth(const Match& match) {
  return kHolds(RangeOf(*match[kX]), RangeOf(*match[kY]));
}
inline constexpr Guard NeverBelowY{"x never below y", HoldsForBoth<analysis::IsNeverBelow>};
inline constexpr Guard NeverAboveY{"x never above y", HoldsForBoth<analysis::IsNeverAbove>};
inline constexpr Guard NonNegativeX{"x >= 0", HoldsFor<'x', IsNonNegative>};
inline constexpr Guard NonNegativeV{"v >= 0", HoldsFor<'v', IsNonNegative>};
inline constexpr Guard NeverNanX{"x never NaN", HoldsFor<'x', IsNeverNan>};
inline constexpr Guard WholeX{"x whole", HoldsFor<'x', IsWhole>};
inline constexpr Guard ScalarX{"x a scalar", HoldsFor<'x', IsScalar>};
inline constexpr Guard EmptyX{"x without elements", HoldsFor<'x', IsEmpty>};
inline constexpr Guard EmptyU{"u without elements", HoldsFor<'u', IsEmpty>};
inline constexpr Guard EmptyY{"y without elements", HoldsFor<'y', IsEmpty>};
inline constexpr Guard FiniteC{"c finite", HoldsFor<'c', IsFinite>};
inline constexpr Guard FiniteX{"x finite", HoldsFor<'x', IsFinite>};
inline constexpr Guard PowersK{"k constant powers of two", HoldsFor<'k', ArePowers>};

// Of the constants c and d.
bool IsPowerOfTwo(const Match& match);
bool HasExactReciprocal(const Match& match);
bool HaveExactReciprocals(const Match& match);
bool IsZero(const Match& match);
bool IsNotZero(const Match& match);
bool IsMinusZero(const Match& match);
bool IsScaledExactly(const Match& match);
bool IsProductNormal(const Match& match);
bool IsQuotientNormal(const Match& match);
bool HaveOneSign(const Match& match);
bool IsWholeAndEven(const Match& match);
bool IsWholeAndOdd(const Match& match);
bool AreOrdered(const Match& match);
bool AreRanges(const Match& match);
bool ProductFits(const Match& match);
bool AreShifts(const Match& match);
bool IsShiftedDWithin(const Match& match);
bool IsPastWidth(const Match& match);
bool IsLn2(const Match& match);

inline constexpr Guard PowerOfTwo{"c a positive power of two", IsPowerOfTwo};
inline constexpr Guard ZeroC{"c 0 or -0", IsZero};
inline constexpr Guard NonZeroC{"c not 0", IsNotZero};
inline constexpr Guard MinusZeroC{"c -0", IsMinusZero};
inline constexpr Guard ExactScale{"c or d a power of two", IsScaledExactly};
inline constexpr Guard NormalProduct{"c * d neither too small nor too large", IsProductNormal};
inline constexpr Guard NormalQuotient{"c / d neither too small nor too large", IsQuotientNormal};
inline constexpr Guard OneSign{"c and d of one sign", HaveOneSign};
inline constexpr Guard EvenC{"c whole and even, not 0", IsWholeAndEven};
inline constexpr Guard OddC{"c whole and odd, above 0", IsWholeAndOdd};
inline constexpr Guard ExactReciprocal{"1/c exact", HasExactReciprocal};
inline constexpr Guard ExactReciprocals{"1/c and 1/d exact", HaveExactReciprocals};
inline constexpr Guard Ordered{"c <= d", AreOrdered};
inline constexpr Guard Ranges{"c <= f, d <= e", AreRanges};
inline constexpr Guard ProductOfCD{"c * d not 0 and without overflow", ProductFits};
inline constexpr Guard Shifts{"c and d below the width", AreShifts};
inline constexpr Guard ShiftedD{"d * 2^c without overflow", IsShiftedDWithin};
inline constexpr Guard PastWidth{"c not below the width", IsPastWidth};
inline constexpr Guard Ln2{"c = ln 2", IsLn2};

// `p`, and `q` where the rule has it, have the root's dimensions.
bool HavePredicateShape(const Match& match);
inline constexpr Guard SameShape{"p and q not spread", HavePredicateShape};

// Notes: what is not bit for bit the same. XLA makes the same exceptions.
inline constexpr Guard SignlessZero{"-0 is 0"};
inline constexpr Guard Rounds{"other roundings"};
inline constexpr Guard AnyOrder{"sums in another order"};
inline constexpr Guard NoOverflowBetween{"no overflow between"};
inline constexpr Guard NoOverflowOfProducts{"no overflow or underflow of products"};
inline constexpr Guard PaddingIsNoFactor{"padding times inf or NaN is 0"};

}  // namespace kiln::passes::simplify

#endif  // KILN_PASSES_SIMPLIFY_GUARDS_H_
