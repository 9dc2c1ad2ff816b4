// The arithmetic that a matrix product is computed in, and conversions between it and memory.
#ifndef KILN_CPU_GEMM_TYPES_H_
#define KILN_CPU_GEMM_TYPES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "llvm/IR/IRBuilder.h"
#include "src/hlo/primitive_type.h"
#include "src/kernel/scalar_emitter.h"

namespace kiln::cpu {

// A value during the sum: one part, or a real and an imaginary one. With one lane a scalar, otherwise a fixed vector.
struct GemmValue {
  llvm::Value* part[2] = {nullptr, nullptr};
};

class GemmArithmetic {
 public:
  // The arithmetic for a product of these types. INVALID_ARGUMENT or UNIMPLEMENTED when there is none.
  static absl::StatusOr<GemmArithmetic> Make(hlo::PrimitiveType lhs, hlo::PrimitiveType rhs, hlo::PrimitiveType result);

  int parts() const { return parts_; }
  int part_bytes() const { return bytes_; }
  int element_bytes() const { return bytes_ * parts_; }
  // Whether an operand of this type is in memory as it is in the sum.
  bool IsNative(hlo::PrimitiveType type) const;
  // The real type that values have during the sum.
  hlo::PrimitiveType native_type() const;

  llvm::Type* PartType(llvm::LLVMContext& context, int lanes) const;
  // Type in memory of one part of an element.
  static llvm::Type* StoredType(llvm::LLVMContext& context, hlo::PrimitiveType type, int lanes);
  static int StoredBytes(hlo::PrimitiveType type);

  // One part as loaded to one part in the sum's type.
  llvm::Value* FromStored(llvm::IRBuilder<>& b, hlo::PrimitiveType type, llvm::Value* stored) const;
  // GemmSchedule::depth that the host has for operands of these types; 1 when none.
  int MaxDepth(hlo::PrimitiveType lhs, hlo::PrimitiveType rhs) const;
  // Whether groups of bytes are multiplied as words, of which all of rhs and of a row of lhs need registers twice.
  static bool MultipliesWords(int depth);
  // sum + the products of groups of `depth` elements in each 32-bit lane of x and y, which are of these types. Where
  // AddsOffset(), 128 is added to the elements of x: whoever calls takes the product of 128s and y off in the end.
  llvm::Value* MultiplyAddGroups(llvm::IRBuilder<>& b, hlo::PrimitiveType lhs, hlo::PrimitiveType rhs, llvm::Value* x,
                                 llvm::Value* y, llvm::Value* sum) const;
  static bool AddsOffset(hlo::PrimitiveType lhs, hlo::PrimitiveType rhs, int depth);
  // The sum, rounded or wrapped to `result` and in its register form.
  kernel::Value ToResult(llvm::IRBuilder<>& b, hlo::PrimitiveType result, const GemmValue& sum) const;
  // Register form to memory form, one part.
  static llvm::Value* ToStored(llvm::IRBuilder<>& b, hlo::PrimitiveType type, llvm::Value* part);

  llvm::Value* Zero(llvm::LLVMContext& context, int lanes) const;
  // sum + x * y, of one part each.
  llvm::Value* MultiplyAdd(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y, llvm::Value* sum) const;
  llvm::Value* Add(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y) const;
  // The same over all parts.
  GemmValue MultiplyAdd(llvm::IRBuilder<>& b, const GemmValue& x, const GemmValue& y, const GemmValue& sum) const;

 private:
  bool is_float_ = true;
  int bytes_ = 4;
  int parts_ = 1;
};

// Whether there are products of elements of this type.
bool IsProductType(hlo::PrimitiveType type);

// `lanes` copies of a scalar; the scalar itself for one lane.
llvm::Value* SplatLanes(llvm::IRBuilder<>& b, llvm::Value* scalar, int lanes);

}  // namespace kiln::cpu

#endif  // KILN_CPU_GEMM_TYPES_H_
