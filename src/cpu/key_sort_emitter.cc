// Calls of the radix sort and of the selection of the largest, for sorts by keys (src/passes/sort_keys.h).
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "src/analysis/sort_order.h"
#include "src/base/thread_pool.h"
#include "src/cpu/op_emitters.h"
#include "src/cpu/radix_sort.h"
#include "src/cpu/runtime_call.h"
#include "src/cpu/top_rows.h"

namespace kiln::cpu {

using hlo::Instruction;
using hlo::Opcode;

namespace {

// Of sorts, the sorted dimension, of selections the last one.
int64_t SortedDimension(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kSort) return instruction.Get<hlo::SortAttributes>().dimension;
  return instruction.operand(0)->shape().rank() - 1;
}

int64_t RowSize(const Instruction& instruction) {
  const hlo::Shape& shape = instruction.operand(0)->shape();
  return shape.rank() == 0 ? 1 : shape.dimensions(SortedDimension(instruction));
}

int64_t RowCount(const Instruction& instruction) {
  return instruction.operand(0)->shape().element_count() / std::max<int64_t>(RowSize(instruction), 1);
}

int64_t Inner(const Instruction& sort) {
  const hlo::Shape& shape = sort.operand(0)->shape();
  int64_t inner = 1;
  for (int64_t i = SortedDimension(sort) + 1; i < shape.rank(); ++i) inner *= shape.dimensions(i);
  return inner;
}

std::vector<int64_t> Widths(const Instruction& sort) {
  std::vector<int64_t> widths;
  for (const Instruction* operand : sort.operands()) {
    widths.push_back(hlo::ByteWidth(operand->shape().element_type()));
  }
  return widths;
}

KeyCode CodeOf(const Instruction& instruction, analysis::SortOrder order) {
  hlo::PrimitiveType type = instruction.operand(0)->shape().element_type();
  if (type == hlo::PrimitiveType::kC64) type = hlo::PrimitiveType::kF32;
  KeyCode code{order.keys, order.descending, 0};
  if (hlo::IsFloating(type)) {
    // Of the 16-bit types as of the wider ones the largest literal is infinity.
    const hlo::Literal infinity = hlo::MaxLiteral(type);
    std::memcpy(&code.infinity, infinity.bytes().data(), infinity.bytes().size());
  }
  return code;
}

// The array beside the keys that is the positions in the rows; 0: none.
int64_t PositionsOf(const Instruction& sort) {
  for (int64_t i = sort.operand_count() - 1; i > 0; --i) {
    const Instruction& positions = *sort.operand(i);
    if (positions.opcode() == Opcode::kIota && positions.dimensions()[0] == positions.shape().rank() - 1 &&
        hlo::IsIntegral(positions.shape().element_type()) && hlo::ByteWidth(positions.shape().element_type()) == 4) {
      return i;
    }
  }
  return 0;
}

RowSortShape SortShape(const Instruction& sort, const std::vector<int64_t>& widths) {
  return {.rows = RowCount(sort),
          .size = RowSize(sort),
          .key_width = widths[0],
          .array_count = static_cast<int64_t>(widths.size()),
          .code = CodeOf(sort, *analysis::DirectOrder(sort)),
          .positions = PositionsOf(sort),
          .inner = Inner(sort),
          .threads = ThreadPool::AvailableCpus(),
          .widths = widths.data()};
}

TopRowsShape TopShape(const Instruction& top_k) {
  const analysis::KeyOrder order = *analysis::TotalKeyOrder(top_k.operand(0)->shape().element_type());
  return {.rows = RowCount(top_k),
          .size = RowSize(top_k),
          .key_width = hlo::ByteWidth(top_k.operand(0)->shape().element_type()),
          .k = top_k.Get<hlo::TopKAttributes>().k,
          .code = CodeOf(top_k, {order, !top_k.Get<hlo::TopKAttributes>().largest})};
}

bool IsKeySort(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kTopK) {
    return analysis::TotalKeyOrder(instruction.operand(0)->shape().element_type()) &&
           RowSize(instruction) <= std::numeric_limits<int32_t>::max();
  }
  return analysis::DirectOrder(instruction) && RowSize(instruction) <= std::numeric_limits<uint32_t>::max();
}

int64_t KeySortScratchBytes(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kTopK) return TopRowsScratchBytes(TopShape(instruction));
  const std::vector<int64_t> widths = Widths(instruction);
  return RowSortScratchBytes(SortShape(instruction, widths));
}

double KeySortNanoseconds(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kTopK) return TopRowsNanoseconds(TopShape(instruction));
  const std::vector<int64_t> widths = Widths(instruction);
  return RowSortNanoseconds(SortShape(instruction, widths));
}

bool KeySortMayShare(const Instruction& instruction, int64_t leaf, int64_t operand) {
  if (instruction.opcode() != Opcode::kSort) return false;
  if (operand > 0 && operand == PositionsOf(instruction)) return true;
  const std::vector<int64_t> widths = Widths(instruction);
  return operand == leaf && SortsInPlace(SortShape(instruction, widths), operand);
}

absl::Status EmitKeySort(llvm::IRBuilder<>* builder, const Instruction& instruction, const OpArrays& arrays) {
  llvm::IRBuilder<>& b = *builder;
  if (instruction.operand(0)->shape().element_count() == 0) return absl::OkStatus();
  if (instruction.opcode() == Opcode::kTopK) {
    const TopRowsShape shape = TopShape(instruction);
    if (shape.k == 0) return absl::OkStatus();
    llvm::Value* constant =
        ConstantStruct(b, {shape.rows, shape.size, shape.key_width, shape.k, static_cast<int64_t>(shape.code.order),
                           shape.code.descending, shape.code.infinity});
    CallRuntime(b, kTopRowsName,
                {arrays.context, constant, arrays.operands[0], arrays.results[0], arrays.results[1], arrays.scratch});
    return absl::OkStatus();
  }
  const std::vector<int64_t> widths = Widths(instruction);
  const RowSortShape shape = SortShape(instruction, widths);
  llvm::Value* constant = ConstantStruct(
      b,
      {shape.rows, shape.size, shape.key_width, shape.array_count, static_cast<int64_t>(shape.code.order),
       shape.code.descending, shape.code.infinity, shape.positions, shape.inner, shape.threads},
      ConstantStruct(b, widths));
  CallRuntime(b, kSortRowsName, {arrays.context, constant, PointerTable(b, arrays.All()), arrays.scratch});
  return absl::OkStatus();
}

}  // namespace

constexpr OpEmitter kKeySortEmitter = {IsKeySort, KeySortScratchBytes, KeySortNanoseconds, EmitKeySort,
                                       KeySortMayShare};

}  // namespace kiln::cpu
