// Register values with operators, so that the emitters' formulas read as formulas. One builder emits for one lane
// count.
#ifndef KILN_KERNEL_VECTOR_BUILDER_H_
#define KILN_KERNEL_VECTOR_BUILDER_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"
#include "src/base/isa_level.h"

namespace kiln::kernel {

enum class Target : uint8_t { kCpu, kGpu };

// An IRBuilder with a lane count: types and constants are vectors of that many lanes (scalars for one lane).
struct VectorBuilder {
  llvm::IRBuilder<>& ir;
  int lanes;
  Target target;
  bool flushes_subnormals = false;  // the processor takes them for zeros where the code runs
  bool few_elements = false;        // formulas are waited for: short chains count, not how many instructions there are

  llvm::LLVMContext& context() const { return ir.getContext(); }
  llvm::Module* module() const { return ir.GetInsertBlock()->getModule(); }
  llvm::Type* Vector(llvm::Type* element) const {
    return lanes == 1 ? element : llvm::FixedVectorType::get(element, lanes);
  }
  llvm::Type* IntType(int bits) const { return Vector(llvm::IntegerType::get(context(), bits)); }
  llvm::Type* HalfType() const { return Vector(llvm::Type::getHalfTy(context())); }
  llvm::Type* FloatType(int bits = 32) const {
    if (bits == 16) return HalfType();
    return Vector(bits == 64 ? llvm::Type::getDoubleTy(context()) : llvm::Type::getFloatTy(context()));
  }
  llvm::Value* Call(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Value*> arguments) const {
    return ir.CreateIntrinsic(id, {arguments[0]->getType()}, arguments);
  }
  // True when any lane of the i1s is set; a scalar.
  llvm::Value* Any(llvm::Value* mask) const { return lanes == 1 ? mask : ir.CreateOrReduce(mask); }

  // Calls a function of this module that is private to it and shared by all callers with the same name and lane count;
  // `emit` writes its body on first use, with a builder positioned in its entry block, and returns the result.
  // `name` tells everything that the body depends on but the lane count. Control flow may be used in there only:
  // callers of the emitters keep pointers to their own blocks.
  llvm::Value* CallHelper(const std::string& name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments,
                          absl::FunctionRef<llvm::Value*(VectorBuilder&, llvm::ArrayRef<llvm::Value*>)> emit) const;
};

// Applies an operation on vectors of `lanes` lanes, which gives such a vector, to vectors of b's lane count: in pieces,
// of which the last may have lanes that are anything.
llvm::Value* InPieces(const VectorBuilder& b, int lanes, llvm::ArrayRef<llvm::Value*> operands,
                      absl::FunctionRef<llvm::Value*(llvm::ArrayRef<llvm::Value*>)> operation);

// Whether VectorBuilder::CallHelper made it: such functions of one name are the same in all modules of a process.
bool IsHelper(const llvm::Function& function);

// The same vector, and nothing that LLVM looks through, which makes no code: for each operation or lane that is taken
// out it would follow, again and again, how the vector is computed, which was up to half of all compile time.
llvm::Value* Fenced(llvm::IRBuilder<>& b, llvm::Value* vector);

// One value in registers.
class Register {
 public:
  Register(const VectorBuilder& b, llvm::Value* v) : b_(&b), v_(v) {}
  const VectorBuilder& builder() const { return *b_; }
  llvm::IRBuilder<>& ir() const { return b_->ir; }
  llvm::Value* value() const { return v_; }
  operator llvm::Value*() const { return v_; }
  int bits() const { return static_cast<int>(v_->getType()->getScalarSizeInBits()); }

 protected:
  const VectorBuilder* b_;
  llvm::Value* v_;
};

class Mask : public Register {
 public:
  using Register::Register;
  friend Mask operator&(Mask a, Mask b) { return {*a.b_, a.ir().CreateAnd(a.v_, b.v_)}; }
  friend Mask operator|(Mask a, Mask b) { return {*a.b_, a.ir().CreateOr(a.v_, b.v_)}; }
  friend Mask operator^(Mask a, Mask b) { return {*a.b_, a.ir().CreateXor(a.v_, b.v_)}; }
  Mask operator!() const { return {*b_, ir().CreateNot(v_)}; }
};

class Real;

class Integer : public Register {
 public:
  using Register::Register;
  Integer Constant(int64_t c) const { return {*b_, llvm::ConstantInt::get(v_->getType(), static_cast<uint64_t>(c))}; }
  friend Integer operator+(Integer a, Integer b) { return {*a.b_, a.ir().CreateAdd(a.v_, b.v_)}; }
  friend Integer operator-(Integer a, Integer b) { return {*a.b_, a.ir().CreateSub(a.v_, b.v_)}; }
  friend Integer operator*(Integer a, Integer b) { return {*a.b_, a.ir().CreateMul(a.v_, b.v_)}; }
  friend Integer operator&(Integer a, Integer b) { return {*a.b_, a.ir().CreateAnd(a.v_, b.v_)}; }
  friend Integer operator|(Integer a, Integer b) { return {*a.b_, a.ir().CreateOr(a.v_, b.v_)}; }
  friend Integer operator^(Integer a, Integer b) { return {*a.b_, a.ir().CreateXor(a.v_, b.v_)}; }
  friend Integer operator+(Integer a, int64_t c) { return a + a.Constant(c); }
  friend Integer operator-(Integer a, int64_t c) { return a - a.Constant(c); }
  friend Integer operator*(Integer a, int64_t c) { return a * a.Constant(c); }
  friend Integer operator&(Integer a, int64_t c) { return a & a.Constant(c); }
  friend Integer operator|(Integer a, int64_t c) { return a | a.Constant(c); }
  friend Integer operator^(Integer a, int64_t c) { return a ^ a.Constant(c); }
  Integer operator-() const { return {*b_, ir().CreateNeg(v_)}; }
  Integer operator~() const { return {*b_, ir().CreateNot(v_)}; }
  Integer Shl(Integer n) const { return {*b_, ir().CreateShl(v_, n.v_)}; }
  Integer Shr(Integer n) const { return {*b_, ir().CreateLShr(v_, n.v_)}; }
  Integer Sar(Integer n) const { return {*b_, ir().CreateAShr(v_, n.v_)}; }
  Integer Shl(int64_t n) const { return n == 0 ? *this : Shl(Constant(n)); }
  Integer Shr(int64_t n) const { return n == 0 ? *this : Shr(Constant(n)); }
  Integer Sar(int64_t n) const { return n == 0 ? *this : Sar(Constant(n)); }
  Mask Compare(llvm::CmpInst::Predicate p, Integer o) const { return {*b_, ir().CreateICmp(p, v_, o.v_)}; }
  friend Mask operator==(Integer a, Integer b) { return a.Compare(llvm::CmpInst::ICMP_EQ, b); }
  friend Mask operator!=(Integer a, Integer b) { return a.Compare(llvm::CmpInst::ICMP_NE, b); }
  friend Mask operator<(Integer a, Integer b) { return a.Compare(llvm::CmpInst::ICMP_SLT, b); }
  friend Mask operator>(Integer a, Integer b) { return a.Compare(llvm::CmpInst::ICMP_SGT, b); }
  friend Mask operator==(Integer a, int64_t c) { return a == a.Constant(c); }
  friend Mask operator!=(Integer a, int64_t c) { return a != a.Constant(c); }
  friend Mask operator<(Integer a, int64_t c) { return a < a.Constant(c); }
  friend Mask operator>(Integer a, int64_t c) { return a > a.Constant(c); }
  Mask Below(Integer o) const { return Compare(llvm::CmpInst::ICMP_ULT, o); }  // unsigned
  Mask Above(Integer o) const { return Compare(llvm::CmpInst::ICMP_UGT, o); }
  Integer ZeroExtend(int to) const { return {*b_, ir().CreateZExtOrTrunc(v_, b_->IntType(to))}; }
  Integer SignExtend(int to) const { return {*b_, ir().CreateSExtOrTrunc(v_, b_->IntType(to))}; }
  // Fenced, where it is a vector on the CPU.
  Integer Opaque() const;
  Real AsReal() const;              // the same bits, 16, 32 or 64
  Real SignedToReal(int to) const;  // the same number, to nearest
  Real UnsignedToReal(int to) const;
};

// f32 or f64; f16 where there are instructions for it, with the operators and comparisons alone.
class Real : public Register {
 public:
  using Register::Register;
  Real Constant(double c) const { return {*b_, llvm::ConstantFP::get(v_->getType(), c)}; }
  int mantissa_bits() const { return bits() == 32 ? 23 : 52; }
  int exponent_bias() const { return bits() == 32 ? 127 : 1023; }
  friend Real operator+(Real a, Real b) { return {*a.b_, a.ir().CreateFAdd(a.v_, b.v_)}; }
  friend Real operator-(Real a, Real b) { return {*a.b_, a.ir().CreateFSub(a.v_, b.v_)}; }
  friend Real operator*(Real a, Real b) { return {*a.b_, a.ir().CreateFMul(a.v_, b.v_)}; }
  friend Real operator/(Real a, Real b) { return {*a.b_, a.ir().CreateFDiv(a.v_, b.v_)}; }
  friend Real operator+(Real a, double c) { return a + a.Constant(c); }
  friend Real operator-(Real a, double c) { return a - a.Constant(c); }
  friend Real operator*(Real a, double c) { return a * a.Constant(c); }
  friend Real operator/(Real a, double c) { return a / a.Constant(c); }
  friend Real operator+(double c, Real a) { return a.Constant(c) + a; }
  friend Real operator-(double c, Real a) { return a.Constant(c) - a; }
  friend Real operator*(double c, Real a) { return a.Constant(c) * a; }
  friend Real operator/(double c, Real a) { return a.Constant(c) / a; }
  Real operator-() const { return {*b_, ir().CreateFNeg(v_)}; }
  Mask Compare(llvm::CmpInst::Predicate p, Real o) const { return {*b_, ir().CreateFCmp(p, v_, o.v_)}; }
  // Ordered: false for NaN; != is true for NaN.
  friend Mask operator<(Real a, Real b) { return a.Compare(llvm::CmpInst::FCMP_OLT, b); }
  friend Mask operator<=(Real a, Real b) { return a.Compare(llvm::CmpInst::FCMP_OLE, b); }
  friend Mask operator>(Real a, Real b) { return a.Compare(llvm::CmpInst::FCMP_OGT, b); }
  friend Mask operator>=(Real a, Real b) { return a.Compare(llvm::CmpInst::FCMP_OGE, b); }
  friend Mask operator==(Real a, Real b) { return a.Compare(llvm::CmpInst::FCMP_OEQ, b); }
  friend Mask operator!=(Real a, Real b) { return a.Compare(llvm::CmpInst::FCMP_UNE, b); }
  friend Mask operator<(Real a, double c) { return a < a.Constant(c); }
  friend Mask operator<=(Real a, double c) { return a <= a.Constant(c); }
  friend Mask operator>(Real a, double c) { return a > a.Constant(c); }
  friend Mask operator>=(Real a, double c) { return a >= a.Constant(c); }
  friend Mask operator==(Real a, double c) { return a == a.Constant(c); }
  friend Mask operator!=(Real a, double c) { return a != a.Constant(c); }
  Mask IsNan() const { return Compare(llvm::CmpInst::FCMP_UNO, *this); }
  Integer AsInteger() const { return {*b_, ir().CreateBitCast(v_, b_->IntType(bits()))}; }
  Integer ToSigned() const { return {*b_, ir().CreateFPToSI(v_, b_->IntType(bits()))}; }  // towards zero, in range
  Real Abs() const { return {*b_, b_->Call(llvm::Intrinsic::fabs, {v_})}; }
  Real Infinity() const { return {*b_, llvm::ConstantFP::getInfinity(v_->getType())}; }
  Real Nan() const { return {*b_, llvm::ConstantFP::getQNaN(v_->getType())}; }
  // Exact to f64, to nearest to f32.
  Real To(int to) const {
    if (to == bits()) return *this;
    return {*b_, to == 64 ? ir().CreateFPExt(v_, b_->FloatType(64)) : ir().CreateFPTrunc(v_, b_->FloatType(32))};
  }
};

inline Real Integer::AsReal() const { return {*b_, ir().CreateBitCast(v_, b_->FloatType(bits()))}; }
inline Real Integer::SignedToReal(int to) const { return {*b_, ir().CreateSIToFP(v_, b_->FloatType(to))}; }
inline Real Integer::UnsignedToReal(int to) const { return {*b_, ir().CreateUIToFP(v_, b_->FloatType(to))}; }

// A condition that is known chooses here: LLVM's builder only folds selections among constants.
inline llvm::Value* SelectValue(Mask m, Register a, Register b) {
  const auto* known = llvm::dyn_cast<llvm::Constant>(m.value());
  if (known != nullptr && known->isAllOnesValue()) return a;
  if (known != nullptr && known->isNullValue()) return b;
  return m.ir().CreateSelect(m, a, b);
}
inline Real Select(Mask m, Real a, Real b) { return {a.builder(), SelectValue(m, a, b)}; }
inline Real Select(Mask m, Real a, double b) { return Select(m, a, a.Constant(b)); }
inline Real Select(Mask m, double a, Real b) { return Select(m, b.Constant(a), b); }
inline Integer Select(Mask m, Integer a, Integer b) { return {a.builder(), SelectValue(m, a, b)}; }
inline Integer Select(Mask m, Integer a, int64_t b) { return Select(m, a, a.Constant(b)); }
inline Integer Select(Mask m, int64_t a, Integer b) { return Select(m, b.Constant(a), b); }
inline Mask Select(Mask m, Mask a, Mask b) { return {a.builder(), SelectValue(m, a, b)}; }

// a * b + c rounded once: where the error of a product matters. Without the instruction f32 is computed in f64, where
// the product is exact, and f64 calls a library.
inline Real Fma(Real a, Real b, Real c) {
  if (a.bits() == 32 && a.builder().target == Target::kCpu && !HasFma()) {
    return (a.To(64) * b.To(64) + c.To(64)).To(32);
  }
  return {a.builder(), a.builder().Call(llvm::Intrinsic::fma, {a, b, c})};
}
inline Real Fma(Real a, double b, Real c) { return Fma(a, a.Constant(b), c); }
// a * b + c rounded once or twice, whichever the target does fast.
inline Real MulAdd(Real a, Real b, Real c) {
  return {a.builder(), a.builder().Call(llvm::Intrinsic::fmuladd, {a, b, c})};
}
inline Real MulAdd(Real a, double b, Real c) { return MulAdd(a, a.Constant(b), c); }
inline Real MulAdd(Real a, Real b, double c) { return MulAdd(a, b, a.Constant(c)); }
inline Real Sqrt(Real a) { return {a.builder(), a.builder().Call(llvm::Intrinsic::sqrt, {a})}; }
inline Real Floor(Real a) { return {a.builder(), a.builder().Call(llvm::Intrinsic::floor, {a})}; }
inline Real Trunc(Real a) { return {a.builder(), a.builder().Call(llvm::Intrinsic::trunc, {a})}; }
inline Real RoundEven(Real a) { return {a.builder(), a.builder().Call(llvm::Intrinsic::roundeven, {a})}; }
// The smaller and the larger; `a` when it is NaN, `bound` is none. One instruction each.
inline Real AtMost(Real a, double bound) { return Select(a > bound, bound, a); }
inline Real AtLeast(Real a, double bound) { return Select(a < bound, bound, a); }
// The number in all lanes of a constant; null of other values.
const llvm::APFloat* ConstantOf(const llvm::Value* value);
// Magnitude of a, sign of s.
Real CopySign(Real a, Real s);
// c[0] + c[1] x + c[2] x^2 + ...
Real Polynomial(Real x, absl::Span<const double> coefficients);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_VECTOR_BUILDER_H_
