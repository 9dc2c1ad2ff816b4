#include "src/cpu/sort_emitter.h"

#include <cmath>
#include <utility>
#include <vector>

#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "src/base/cpu_tuning.h"
#include "src/base/status.h"
#include "src/cpu/llvm_loop.h"
#include "src/cpu/parallel_emitter.h"
#include "src/cpu/row_sorter.h"
#include "src/kernel/scalar_computation.h"

namespace kiln::cpu {

using hlo::Instruction;
using hlo::PrimitiveType;

namespace {

constexpr int64_t kAlignment = 64;

int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// The array as rows along one dimension: outer x size x inner.
struct RowShape {
  int64_t outer = 1;
  int64_t size = 1;
  int64_t inner = 1;

  RowShape(const hlo::Shape& shape, int64_t dimension) {
    for (int64_t i = 0; i < shape.rank(); ++i) {
      (i < dimension ? outer : i == dimension ? size : inner) *= shape.dimensions(i);
    }
  }
  int64_t rows() const { return outer * inner; }
};

double RowNanoseconds(int64_t size) {
  const RowTuning& costs = Tuning().rows;
  return static_cast<double>(size) *
         (costs.merge_base_nanoseconds + costs.merge_level_nanoseconds * std::log2(static_cast<double>(size) + 1));
}

// What orders as the elements do.
llvm::Value* TotalOrderKey(llvm::IRBuilder<>& b, const kernel::Value& value) {
  if (!hlo::IsFloating(value.type)) return value.value;
  return kernel::TotalOrder(kernel::VectorBuilder{b, 1, kernel::Target::kCpu}, value.type, value.value);
}

}  // namespace

int64_t SortScratchBytes(const Instruction& sort) {
  const RowShape shape(sort.operand(0)->shape(), sort.Get<hlo::SortAttributes>().dimension);
  int64_t bytes = 0;
  // Room to merge into; rows that are not contiguous are sorted in a copy besides.
  for (const Instruction* operand : sort.operands()) {
    bytes += Aligned(operand->shape().byte_count()) * (shape.inner > 1 ? 2 : 1);
  }
  return bytes;
}

double SortNanoseconds(const Instruction& sort) {
  const RowShape shape(sort.operand(0)->shape(), sort.Get<hlo::SortAttributes>().dimension);
  return static_cast<double>(shape.rows()) * RowNanoseconds(shape.size);
}

absl::Status EmitSort(llvm::IRBuilder<>* builder, const Instruction& sort, const OpArrays& arrays) {
  const RowShape shape(sort.operand(0)->shape(), sort.Get<hlo::SortAttributes>().dimension);
  const size_t count = sort.operand_count();
  if (shape.rows() * shape.size == 0) return absl::OkStatus();
  std::vector<PrimitiveType> types;
  for (const Instruction* operand : sort.operands()) types.push_back(operand->shape().element_type());
  std::vector<llvm::Value*> closure = arrays.operands;
  closure.insert(closure.end(), arrays.results.begin(), arrays.results.end());
  closure.push_back(arrays.scratch);

  ParallelTask task(builder, sort.name(), closure);
  llvm::IRBuilder<>& b = task.body();
  SortOrder before = [&](const SortElement& a, const SortElement& other) -> absl::StatusOr<llvm::Value*> {
    kernel::ScalarEmitter scalar(&b, 1, kernel::Target::kCpu);
    std::vector<kernel::Value> arguments;
    for (size_t i = 0; i < a.size(); ++i) {
      arguments.push_back(a[i]);
      arguments.push_back(other[i]);
    }
    KILN_ASSIGN_OR_RETURN(std::vector<kernel::Value> result,
                          kernel::EmitScalarComputation(&scalar, *sort.called_computation(), arguments));
    return result[0].value;
  };
  RowSorter sorter(&b, types, before);
  absl::Status status;
  EmitLoop(b, task.begin(), task.end(), 1, "row", [&](llvm::Value* row) {
    llvm::Value* outer = b.CreateUDiv(row, b.getInt64(shape.inner));
    llvm::Value* inner = b.CreateURem(row, b.getInt64(shape.inner));
    // Of the first element; the others follow `inner` elements apart.
    llvm::Value* first = b.CreateAdd(b.CreateMul(outer, b.getInt64(shape.size * shape.inner)), inner);
    llvm::Value* scratch_first = b.CreateMul(row, b.getInt64(shape.size));
    std::vector<llvm::Value*> rows, spare;
    int64_t offset = 0;
    auto element = [&](llvm::Value* base, llvm::Value* position, size_t i) {
      return b.CreateGEP(b.getIntNTy(8 * hlo::ByteWidth(types[i])), base, position);
    };
    for (size_t i = 0; i < count; ++i) {
      const int64_t bytes = Aligned(sort.operand(i)->shape().byte_count());
      auto scratch_row = [&] {
        llvm::Value* base = b.CreateConstGEP1_64(b.getInt8Ty(), task.closure(2 * count), offset);
        offset += bytes;
        return element(base, scratch_first, i);
      };
      rows.push_back(shape.inner > 1 ? scratch_row() : element(task.closure(count + i), first, i));
      spare.push_back(scratch_row());
    }
    std::vector<llvm::Value*> sources, results;
    for (size_t i = 0; i < count; ++i) {
      sources.push_back(task.closure(i));
      results.push_back(task.closure(count + i));
    }
    auto strided = [&](llvm::Value* k) { return b.CreateAdd(first, b.CreateMul(k, b.getInt64(shape.inner))); };
    EmitLoop(b, b.getInt64(0), b.getInt64(shape.size), 1, "gather", [&](llvm::Value* k) {
      sorter.Store(sorter.Load(sources, strided(k)), rows, k);
    });
    status.Update(sorter.Emit(rows, spare, shape.size));
    if (shape.inner > 1) {
      EmitLoop(b, b.getInt64(0), b.getInt64(shape.size), 1, "scatter", [&](llvm::Value* k) {
        sorter.Store(sorter.Load(rows, k), results, strided(k));
      });
    }
  });
  KILN_RETURN_IF_ERROR(status);
  task.Call(arrays.context, shape.rows(), RowNanoseconds(shape.size));
  return absl::OkStatus();
}

int64_t TopKScratchBytes(const Instruction& top_k) {
  const hlo::Shape& shape = top_k.operand(0)->shape();
  // Keys and positions, twice each: to sort and to merge into.
  return 2 * (Aligned(shape.byte_count()) + Aligned(shape.element_count() * 4));
}

absl::Status EmitTopK(llvm::IRBuilder<>* builder, const Instruction& top_k, const OpArrays& arrays) {
  const hlo::Shape& operand = top_k.operand(0)->shape();
  const auto& attributes = top_k.Get<hlo::TopKAttributes>();
  const PrimitiveType type = operand.element_type();
  if (hlo::IsComplex(type)) return Unimplemented(top_k.Describe(), ": complex numbers have no order");
  const RowShape shape(operand, operand.rank() - 1);
  if (shape.rows() == 0 || attributes.k == 0) return absl::OkStatus();
  const std::vector<llvm::Value*> closure = {arrays.operands[0], arrays.results[0], arrays.results[1],
                                             arrays.scratch};
  ParallelTask task(builder, top_k.name(), closure);
  llvm::IRBuilder<>& b = task.body();
  SortOrder before = [&](const SortElement& a, const SortElement& other) -> absl::StatusOr<llvm::Value*> {
    llvm::Value* x = TotalOrderKey(b, attributes.largest ? other[0] : a[0]);
    llvm::Value* y = TotalOrderKey(b, attributes.largest ? a[0] : other[0]);
    const bool is_unsigned = hlo::IsUnsignedIntegral(type) || type == PrimitiveType::kPred;
    return is_unsigned ? b.CreateICmpULT(x, y) : b.CreateICmpSLT(x, y);
  };
  RowSorter sorter(&b, {type, PrimitiveType::kS32}, before);
  absl::Status status;
  EmitLoop(b, task.begin(), task.end(), 1, "row", [&](llvm::Value* row) {
    const int64_t key_bytes = Aligned(operand.byte_count()), index_bytes = Aligned(operand.element_count() * 4);
    llvm::Value* first = b.CreateMul(row, b.getInt64(shape.size));
    auto scratch_row = [&](int64_t offset, int width) {
      llvm::Value* base = b.CreateConstGEP1_64(b.getInt8Ty(), task.closure(3), offset);
      return b.CreateGEP(b.getIntNTy(8 * width), base, first);
    };
    const int width = hlo::ByteWidth(type);
    const std::vector<llvm::Value*> rows = {scratch_row(0, width), scratch_row(key_bytes, 4)};
    const std::vector<llvm::Value*> spare = {scratch_row(key_bytes + index_bytes, width),
                                             scratch_row(2 * key_bytes + index_bytes, 4)};
    kernel::ScalarEmitter scalar(&b, 1, kernel::Target::kCpu);
    kernel::MemoryAccess memory(&scalar, &scalar);
    EmitLoop(b, b.getInt64(0), b.getInt64(shape.size), 1, "gather", [&](llvm::Value* k) {
      SortElement element = {memory.LoadScalar(type, task.closure(0), b.CreateAdd(first, k)),
                             {PrimitiveType::kS32, b.CreateTrunc(k, b.getInt32Ty())}};
      sorter.Store(element, rows, k);
    });
    status.Update(sorter.Emit(rows, spare, shape.size));
    llvm::Value* result_first = b.CreateMul(row, b.getInt64(attributes.k));
    EmitLoop(b, b.getInt64(0), b.getInt64(attributes.k), 1, "take", [&](llvm::Value* k) {
      sorter.Store(sorter.Load(rows, k), {task.closure(1), task.closure(2)}, b.CreateAdd(result_first, k));
    });
  });
  KILN_RETURN_IF_ERROR(status);
  task.Call(arrays.context, shape.rows(), RowNanoseconds(shape.size));
  return absl::OkStatus();
}

}  // namespace kiln::cpu
