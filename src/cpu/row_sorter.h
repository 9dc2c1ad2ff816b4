// Stable merge sort of rows as generated code, for any element types and any order.
#ifndef KILN_CPU_ROW_SORTER_H_
#define KILN_CPU_ROW_SORTER_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "llvm/IR/IRBuilder.h"
#include "src/hlo/primitive_type.h"
#include "src/kernel/memory_access.h"
#include "src/kernel/scalar_emitter.h"

namespace kiln::cpu {

// An element is one value of each array at the same position.
using SortElement = std::vector<kernel::Value>;

// i1: `a` comes before `b`. Whatever it answers, the sort stays within its arrays and ends.
using SortOrder = std::function<absl::StatusOr<llvm::Value*>(const SortElement& a, const SortElement& b)>;

class RowSorter {
 public:
  RowSorter(llvm::IRBuilder<>* builder, std::vector<hlo::PrimitiveType> types, SortOrder before);

  // Sorts `n` elements in `rows` (contiguous, one pointer per type); `spare` has as much room. The sorted row ends up in
  // `rows`. Short runs are sorted by insertion, then merged pairwise between the two.
  absl::Status Emit(const std::vector<llvm::Value*>& rows, const std::vector<llvm::Value*>& spare, int64_t n);

  SortElement Load(const std::vector<llvm::Value*>& rows, llvm::Value* position);
  void Store(const SortElement& element, const std::vector<llvm::Value*>& rows, llvm::Value* position);

 private:
  absl::Status EmitRuns(const std::vector<llvm::Value*>& rows, int64_t n);
  absl::Status EmitMerge(const std::vector<llvm::Value*>& from, const std::vector<llvm::Value*>& to,
                         llvm::Value* width, int64_t n);
  // for (i = first; i < limit; i += step), unsigned distances; `body` may add blocks.
  absl::Status Loop(llvm::Value* first, llvm::Value* limit, llvm::Value* step,
                    const std::function<absl::Status(llvm::Value*)>& body);

  llvm::IRBuilder<>& b_;
  std::vector<hlo::PrimitiveType> types_;
  SortOrder before_;
  kernel::ScalarEmitter scalar_;
  kernel::MemoryAccess memory_;
};

}  // namespace kiln::cpu

#endif  // KILN_CPU_ROW_SORTER_H_
