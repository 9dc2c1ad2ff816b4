// Index expressions as LLVM integers: scalars, or vectors over the lanes of the vector loop.
#ifndef KILN_KERNEL_INDEX_LOWERING_H_
#define KILN_KERNEL_INDEX_LOWERING_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "llvm/IR/IRBuilder.h"
#include "src/kernel/index_expr.h"

namespace kiln::kernel {

class IndexLowering {
 public:
  IndexLowering(llvm::IRBuilder<>* builder, const IndexTerms& terms) : b_(*builder), terms_(terms) {}

  // Current value of a loop variable (that of lane 0 for the vector loop), i64.
  void SetLoop(int loop, llvm::Value* value) { loops_[loop] = value; }
  // The value of a symbol: i64, or <lanes x i32 or i64> where it varies over lanes.
  void SetSymbol(int value, llvm::Value* index) { symbols_[value] = index; }
  // The loop whose iterations are lanes; -1: none. `aligned`: vectors begin at multiples of `lanes`.
  void SetVector(int loop, int lanes, bool aligned) {
    vector_loop_ = loop;
    lanes_ = lanes;
    aligned_ = aligned;
  }

  // i64; for the vector loop's lane 0. Symbols in it must be uniform.
  llvm::Value* Scalar(const IndexExpr& expr);
  // One value per lane: <lanes x i32> where every intermediate fits, else <lanes x i64>.
  llvm::Value* Vector(const IndexExpr& expr);

 private:
  bool Varies(const IndexExpr& expr) const;
  bool FitsInt32(const IndexExpr& expr) const;
  llvm::Value* ScalarTerm(int number);
  llvm::Value* VectorOf(const IndexExpr& expr, llvm::Type* element);
  llvm::Value* VectorTerm(int number, llvm::Type* element);
  // Rounds towards minus infinity; `non_negative` when the dividend is known to be.
  llvm::Value* Divide(llvm::Value* dividend, int64_t divisor, bool non_negative, bool remainder);

  llvm::IRBuilder<>& b_;
  const IndexTerms& terms_;
  absl::flat_hash_map<int, llvm::Value*> loops_;
  absl::flat_hash_map<int, llvm::Value*> symbols_;
  int vector_loop_ = -1;
  int lanes_ = 1;
  bool aligned_ = true;
};

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_INDEX_LOWERING_H_
