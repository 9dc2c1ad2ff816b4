// Scalar and vector arithmetic of HLO elementwise ops as LLVM IR, for any element type, any number of lanes, CPU and
// GPU.
#ifndef KILN_KERNEL_SCALAR_EMITTER_H_
#define KILN_KERNEL_SCALAR_EMITTER_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Value.h"
#include "src/hlo/instruction.h"
#include "src/hlo/primitive_type.h"
#include "src/kernel/vector_builder.h"

namespace kiln::kernel {

// A value in registers: `lanes` elements side by side. In registers an element is
//   pred            i1
//   sN, uN          iN (types narrower than a byte: i8, extended by their signedness)
//   f32, f64        float, double
//   f16             half
//   bf16, f8*, f4*  the bits as i16 or i8: arithmetic widens to float and rounds once per op
//   c64, c128       two floats or doubles: `value` is the real part, `imaginary` the other
// With lanes == 1 these are scalars, otherwise fixed vectors of that many.
struct Value {
  hlo::PrimitiveType type = hlo::PrimitiveType::kInvalid;
  llvm::Value* value = nullptr;
  llvm::Value* imaginary = nullptr;
  // Where a bf16 has just been computed, the f32 that was rounded: ops that read it round that again, which takes fewer
  // instructions than to widen what is to be stored.
  llvm::Value* unrounded = nullptr;
  bool has_plain_nan = false;  // that, where it is NaN (ScalarEmitter::Narrow)
  // Of a dividend: that it is zero, or of a magnitude far from those at which floats end (number_range.h).
  bool is_moderate = false;
};

// `value` with `f` of its part or parts in their place.
template <typename F>
Value MapParts(const Value& value, F f) {
  return {value.type, f(value.value), value.imaginary == nullptr ? nullptr : f(value.imaginary)};
}

// -NaN < -inf < ... < -0 < +0 < ... < +inf < NaN as signed integers, from a float in registers.
Integer TotalOrder(const VectorBuilder& b, hlo::PrimitiveType type, llvm::Value* value);

// Whether a float of so many bits of mantissa may be divided by this one as a product with its reciprocal, rounded,
// that is corrected: it is neither so large or small that something overflows nor has all bits of the mantissa set.
bool HasReciprocal(double divisor, int mantissa_bits);

// Whether the target has instructions for f16 (HasHalfArithmetic), and a fast one for this: they round as f32 does that
// is rounded to f16 then.
bool HasHalfInstruction(Target target, hlo::Opcode opcode, hlo::PrimitiveType type);

// The error of an opcode that has no meaning for elements of `type`.
absl::Status Undefined(const hlo::Instruction& instruction, hlo::PrimitiveType type);

// Emits at the builder's insertion point, without control flow there. A helper function that it needs (the longer math
// functions) is added to the builder's module once per lane count. Not thread-safe; cheap to make.
class ScalarEmitter {
 public:
  ScalarEmitter(llvm::IRBuilder<>* builder, int lanes, Target target, bool flushes_subnormals = false,
                bool few_elements = false)
      : b_{*builder, lanes, target, flushes_subnormals, few_elements} {}
  ScalarEmitter(const ScalarEmitter&) = delete;
  ScalarEmitter& operator=(const ScalarEmitter&) = delete;

  llvm::IRBuilder<>& builder() { return b_.ir; }
  int lanes() const { return b_.lanes; }
  Target target() const { return b_.target; }

  // Type of one part in registers, as a vector when lanes > 1.
  llvm::Type* RegisterType(hlo::PrimitiveType type) const;
  // Type of one element (or one part of a complex one) in memory: pred is i8, half and bf16 are i16, f8 is i8.
  llvm::Type* MemoryType(hlo::PrimitiveType type) const;
  // Between the two, one part at a time.
  llvm::Value* FromMemory(hlo::PrimitiveType type, llvm::Value* stored) const;
  llvm::Value* ToMemory(hlo::PrimitiveType type, llvm::Value* part) const;

  // Element `index` of an array literal, the same in all lanes.
  Value Constant(const hlo::Literal& literal, int64_t index) const;
  Value Zero(hlo::PrimitiveType type) const;
  // All lanes from a scalar one (of lanes 1).
  Value Splat(const Value& scalar) const;

  // Every elementwise opcode (convert, compare, select, clamp and bitcast-convert of equal width included) over
  // operands already in registers; operands of `instruction` only tell attributes and types. Fails with UNIMPLEMENTED
  // naming the instruction when an opcode is not defined for its type. A divide of floats may have a third operand: the
  // reciprocal of the second, which HasReciprocal().
  absl::StatusOr<Value> Elementwise(const hlo::Instruction& instruction, absl::Span<const Value> operands);

  // Unsigned integers that are ordered like floats of 16 bits or more: zeros by their signs, NaN above all numbers for
  // a maximum and below all for a minimum. One instruction finds the larger of two, which the float is found of again.
  // Of predicates bytes of ones or zeros.
  Value ExtremeKey(const Value& value, bool is_max);
  Value OfExtremeKey(const Value& key, hlo::PrimitiveType type, bool is_max);
  // The same of many floats in fewer instructions each: of their bits the largest as a signed integer, the largest and
  // the smallest as an unsigned one. The first is that of a number that is not negative, if there is one, or of a NaN;
  // the second that of the negative number of the largest magnitude, or of a NaN; the third that of the smallest
  // magnitude, of a negative number where all are negative.
  static bool HasExtremeBits(hlo::PrimitiveType type);
  std::vector<Value> ExtremeBits(const Value& value) const;  // of one float
  std::vector<Value> KeepExtremeBits(const std::vector<Value>& a, const std::vector<Value>& b) const;
  Value OfExtremeBits(const std::vector<Value>& kept, hlo::PrimitiveType type, bool is_max) const;
  // The largest (or smallest) key of all lanes, a power of two of them: a scalar.
  Value ExtremeLane(const Value& key, bool is_max);
  // Whether that is how lanes of this type are combined by this opcode.
  static bool HasExtremeLane(hlo::Opcode opcode, hlo::PrimitiveType type);
  // The type of a float's key.
  static hlo::PrimitiveType TypeOfKey(hlo::PrimitiveType type);
  // Whether accumulators had better be keys as well, of floats on a CPU or of what this is for.
  static bool FloatsHaveExtremeKeys(hlo::Opcode opcode, hlo::PrimitiveType type);
  bool HasExtremeKeys(hlo::Opcode opcode, hlo::PrimitiveType type) const;

  // Whether floats may be divided by this scalar as by a constant that HasReciprocal() says so of: an i1. Its
  // reciprocal, f64's in f64 and others' in f32, and the quotient by it, which is rounded as others are.
  llvm::Value* HasReciprocalNow(const Value& divisor) const;
  Value ReciprocalOf(const Value& divisor) const;
  Value DivideByReciprocal(const Value& dividend, const Value& divisor, const Value& reciprocal) const;

  Value Convert(const Value& operand, hlo::PrimitiveType to);
  Value Select(llvm::Value* predicate, const Value& on_true, const Value& on_false);
  // Signedness-free integer arithmetic for indices is done by callers with the builder itself.

 private:
  using Type = hlo::PrimitiveType;

  // One function per family and type class: the instruction names the op and its attributes, operands are of the lanes.
  absl::StatusOr<Value> Pred(const hlo::Instruction& instruction, absl::Span<const Value> operands);
  absl::StatusOr<Value> Integral(const hlo::Instruction& instruction, absl::Span<const Value> operands);
  absl::StatusOr<Value> Floating(const hlo::Instruction& instruction, absl::Span<const Value> operands);
  absl::StatusOr<Value> Complex(const hlo::Instruction& instruction, absl::Span<const Value> operands);
  absl::StatusOr<Value> Compare(const hlo::Instruction& instruction, const Value& lhs, const Value& rhs);
  absl::StatusOr<Value> StochasticConvert(const hlo::Instruction& instruction, const Value& operand,
                                          const Value& random);
  // Keeps what `mask` chooses, bits unchanged; for types whose order is that of Comparable().
  // Complex numbers are ordered by their real parts, then by their imaginary parts.
  Value MinMax(const Value& a, const Value& b, bool is_max);
  llvm::Value* CompareComplex(hlo::ComparisonDirection direction, const Value& lhs, const Value& rhs);

  Integer IntegerOf(const Value& value) const { return {b_, value.value}; }
  Value Of(Type type, llvm::Value* value) const { return Value{type, value, nullptr}; }
  // An i8 brought back to the range of a type narrower than a byte; others unchanged.
  Integer Wrap(Type type, Integer value) const;
  // Any float type as f32, f64 as itself; exact.
  Real Widen(const Value& value) const;
  // f32 or f64 to any float type, rounded once. Plain NaN is one that processors make of numbers or pass on of operands
  // whose lower halves are zero, as those of bf16: its own is, and rounding keeps it as it is.
  Value Narrow(Real value, Type to, bool has_plain_nan = false) const;
  Value IntegerToFloat(const Value& operand, Type to) const;
  Value FloatToInteger(Real operand, Type to) const;

  VectorBuilder b_;
};

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_SCALAR_EMITTER_H_
