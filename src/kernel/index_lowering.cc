#include "src/kernel/index_lowering.h"

#include <cstdint>

#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"

namespace kiln::kernel {

bool IndexLowering::Varies(const IndexExpr& expr) const {
  return vector_loop_ >= 0 && (terms_.LoopsOf(expr) >> vector_loop_ & 1) != 0;
}

llvm::Value* IndexLowering::Divide(llvm::Value* dividend, int64_t divisor, bool non_negative, bool remainder) {
  llvm::Type* type = dividend->getType();
  llvm::Value* by = llvm::ConstantInt::get(type, static_cast<uint64_t>(divisor));
  if (non_negative) return remainder ? b_.CreateURem(dividend, by) : b_.CreateUDiv(dividend, by);
  llvm::Value* rest = b_.CreateSRem(dividend, by);
  llvm::Value* negative = b_.CreateICmpSLT(rest, llvm::ConstantInt::get(type, 0));
  if (remainder) return b_.CreateSelect(negative, b_.CreateAdd(rest, by), rest);
  llvm::Value* quotient = b_.CreateSDiv(dividend, by);
  return b_.CreateAdd(quotient, b_.CreateSExt(negative, type));
}

llvm::Value* IndexLowering::ScalarTerm(int number) {
  const IndexTerms::Term& term = terms_.term(number);
  switch (term.kind) {
    case IndexTerms::Kind::kLoop:
      return loops_.at(term.id);
    case IndexTerms::Kind::kSymbol:
      return symbols_.at(term.id);
    case IndexTerms::Kind::kFloorDiv:
    case IndexTerms::Kind::kMod:
      return Divide(Scalar(term.inner), term.divisor, terms_.RangeOf(term.inner).low >= 0,
                    term.kind == IndexTerms::Kind::kMod);
  }
  return nullptr;
}

llvm::Value* IndexLowering::Scalar(const IndexExpr& expr) {
  llvm::Value* sum = nullptr;
  for (const auto& [number, coefficient] : expr.terms) {
    llvm::Value* part = ScalarTerm(number);
    if (coefficient != 1) part = b_.CreateMul(part, b_.getInt64(coefficient));
    sum = sum == nullptr ? part : b_.CreateAdd(sum, part);
  }
  if (sum == nullptr) return b_.getInt64(expr.constant);
  return expr.constant == 0 ? sum : b_.CreateAdd(sum, b_.getInt64(expr.constant));
}

bool IndexLowering::FitsInt32(const IndexExpr& expr) const {
  constexpr int64_t kLimit = int64_t{1} << 30;
  // Each part alone, so that no partial sum overflows either.
  int64_t reach = std::abs(expr.constant);
  for (const auto& [number, coefficient] : expr.terms) {
    const IndexTerms::Term& term = terms_.term(number);
    if (term.range.low < -kLimit || term.range.high > kLimit || std::abs(coefficient) > kLimit) return false;
    reach += std::max(std::abs(term.range.low), std::abs(term.range.high)) * std::abs(coefficient);
    if (reach > kLimit) return false;
    // Lanes past the end of the vector loop reach a little further than its range.
    if (term.kind == IndexTerms::Kind::kLoop) reach += 64 * std::abs(coefficient);
    if ((term.kind == IndexTerms::Kind::kFloorDiv || term.kind == IndexTerms::Kind::kMod) &&
        (term.divisor > kLimit || !FitsInt32(term.inner))) {
      return false;
    }
  }
  return reach <= kLimit;
}

llvm::Value* IndexLowering::VectorTerm(int number, llvm::Type* element) {
  const IndexTerms::Term& term = terms_.term(number);
  llvm::Type* vector = llvm::FixedVectorType::get(element, lanes_);
  IndexExpr alone;
  alone.terms.push_back({number, 1});
  if (!Varies(alone)) {
    llvm::Value* scalar = b_.CreateSExtOrTrunc(ScalarTerm(number), element);
    return b_.CreateVectorSplat(lanes_, scalar);
  }
  switch (term.kind) {
    case IndexTerms::Kind::kLoop: {
      llvm::SmallVector<llvm::Constant*, 64> lanes;
      for (int i = 0; i < lanes_; ++i) lanes.push_back(llvm::ConstantInt::get(element, i));
      llvm::Value* first = b_.CreateVectorSplat(lanes_, b_.CreateSExtOrTrunc(loops_.at(term.id), element));
      return b_.CreateAdd(first, llvm::ConstantVector::get(lanes));
    }
    case IndexTerms::Kind::kSymbol: {
      llvm::Value* symbol = symbols_.at(term.id);
      if (!symbol->getType()->isVectorTy()) symbol = b_.CreateVectorSplat(lanes_, symbol);
      return b_.CreateSExtOrTrunc(symbol, vector);
    }
    case IndexTerms::Kind::kFloorDiv:
    case IndexTerms::Kind::kMod: {
      const bool remainder = term.kind == IndexTerms::Kind::kMod;
      const int64_t phase = aligned_ ? terms_.PhaseOf(term, vector_loop_, lanes_) : -1;
      if (phase < 0) {
        return Divide(VectorOf(term.inner, element), term.divisor, terms_.RangeOf(term.inner).low >= 0, remainder);
      }
      llvm::SmallVector<llvm::Constant*, 64> lanes;
      for (int i = 0; i < lanes_; ++i) {
        const int64_t position = i + phase;
        const int64_t lane = remainder ? position % term.divisor : position / term.divisor;
        lanes.push_back(llvm::ConstantInt::get(element, static_cast<uint64_t>(lane)));
      }
      llvm::Constant* all = llvm::ConstantVector::get(lanes);
      if (remainder) return all;
      return b_.CreateAdd(b_.CreateVectorSplat(lanes_, b_.CreateSExtOrTrunc(ScalarTerm(number), element)), all);
    }
  }
  return nullptr;
}

llvm::Value* IndexLowering::VectorOf(const IndexExpr& expr, llvm::Type* element) {
  llvm::Type* vector = llvm::FixedVectorType::get(element, lanes_);
  llvm::Value* sum = llvm::ConstantInt::get(vector, static_cast<uint64_t>(expr.constant), /*IsSigned=*/true);
  for (const auto& [number, coefficient] : expr.terms) {
    llvm::Value* part = VectorTerm(number, element);
    if (coefficient != 1) {
      part = b_.CreateMul(part, llvm::ConstantInt::get(vector, static_cast<uint64_t>(coefficient), /*IsSigned=*/true));
    }
    sum = b_.CreateAdd(sum, part);
  }
  return sum;
}

llvm::Value* IndexLowering::Vector(const IndexExpr& expr) {
  return VectorOf(expr, FitsInt32(expr) ? b_.getInt32Ty() : b_.getInt64Ty());
}

}  // namespace kiln::kernel
