// Many arrays to one and back: concatenates as calls of array_join.h, slices as copies. A kernel for each would differ
// from the others by a size or a place and take its milliseconds to compile.
#include <algorithm>

#include "src/cpu/array_copy.h"
#include "src/cpu/array_join.h"
#include "src/cpu/op_emitters.h"
#include "src/cpu/runtime_call.h"

namespace kiln::cpu {

using hlo::Instruction;
using hlo::Opcode;
using hlo::Shape;

namespace {

// Fewer are a loop each (analysis::CheaperAsPieces), or few selects. So many pointers at most are on the stack.
constexpr int64_t kMinJoined = 33, kMaxJoined = int64_t{1} << 15;

bool JoinsMany(const Instruction& instruction) {
  const auto is_plain = [](const Shape& shape) { return shape.IsArray() && !shape.has_dynamic_dimensions(); };
  return instruction.opcode() == Opcode::kConcatenate && instruction.operand_count() >= kMinJoined &&
         instruction.operand_count() <= kMaxJoined && is_plain(instruction.shape()) &&
         std::all_of(instruction.operands().begin(), instruction.operands().end(),
                     [&](const Instruction* operand) { return is_plain(operand->shape()); });
}

int64_t RowsOf(const Instruction& concatenate) {
  int64_t rows = 1;
  for (int64_t d = 0; d < concatenate.dimensions()[0]; ++d) rows *= concatenate.shape().dimensions(d);
  return rows;
}

double Nanoseconds(const Instruction& concatenate) {
  return JoinNanoseconds(concatenate.shape().byte_count(), concatenate.operand_count() * RowsOf(concatenate));
}

absl::Status EmitJoin(llvm::IRBuilder<>* b, const Instruction& concatenate, const OpArrays& arrays) {
  if (concatenate.shape().element_count() == 0) return absl::OkStatus();
  const int64_t rows = RowsOf(concatenate);
  std::vector<int64_t> numbers = {concatenate.operand_count(), rows};
  int64_t end = 0;
  for (const Instruction* operand : concatenate.operands()) {
    numbers.push_back(end += operand->shape().byte_count() / rows);
  }
  CallRuntime(*b, kJoinArraysName, {arrays.context, ConstantStruct(*b, numbers), PointerTable(*b, arrays.All())});
  return absl::OkStatus();
}

// How many elements lie before a slice that is in one piece, of an array that is cut into many; -1 where it is not.
int64_t StartOfCut(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kSlice) return -1;
  if (static_cast<int64_t>(instruction.operand(0)->users().size()) < kMinJoined) return -1;
  const Shape &from = instruction.operand(0)->shape(), &shape = instruction.shape();
  if (from.has_dynamic_dimensions() || shape.element_count() == 0) return -1;
  const auto& slice = instruction.Get<hlo::SliceAttributes>();
  int64_t start = 0, below = 1;
  bool is_whole = true;  // all that is below
  for (int64_t d = shape.rank() - 1; d >= 0; --d) {
    if (slice.stride[d] != 1 || (!is_whole && shape.dimensions(d) != 1)) return -1;
    is_whole &= shape.dimensions(d) == from.dimensions(d);
    start += slice.start[d] * below;
    below *= from.dimensions(d);
  }
  return start;
}

absl::Status EmitCut(llvm::IRBuilder<>* b, const Instruction& slice, const OpArrays& arrays) {
  const int64_t bytes = slice.shape().byte_count(), element = bytes / slice.shape().element_count();
  llvm::Value* from = b->CreateConstGEP1_64(b->getInt8Ty(), arrays.operands[0],
                                            static_cast<uint64_t>(StartOfCut(slice) * element));
  if (bytes < kDividedCopyBytes) {
    b->CreateMemCpy(arrays.results[0], llvm::Align(1), from, llvm::Align(1), static_cast<uint64_t>(bytes));
  } else {
    CallRuntime(*b, kCopyArrayName,
                {arrays.context, arrays.results[0], from, b->getInt64(static_cast<uint64_t>(bytes))});
  }
  return absl::OkStatus();
}

}  // namespace

constexpr OpEmitter kCutEmitter = {[](const Instruction& i) { return StartOfCut(i) >= 0; },
                                   [](const Instruction&) { return int64_t{0}; },
                                   [](const Instruction& i) { return JoinNanoseconds(i.shape().byte_count(), 1); },
                                   EmitCut};

constexpr OpEmitter kJoinEmitter = {JoinsMany, [](const Instruction&) { return int64_t{0}; }, Nanoseconds, EmitJoin};

}  // namespace kiln::cpu
