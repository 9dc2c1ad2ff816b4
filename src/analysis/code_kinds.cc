#include "src/analysis/code_kinds.h"

#include <algorithm>

#include "src/analysis/fusion_model.h"
#include "src/hlo/module.h"

namespace kiln::analysis {
namespace {

constexpr int64_t kMinPartBytes = 128;
constexpr int64_t kPartAlignment = 64;
constexpr size_t kMaxUsers = 16;  // all of them are looked at,
constexpr int kMaxViews = 3;      // and so many views of one another

// Results of computations are arrays of their own.
bool IsGiven(const hlo::Instruction& value, int views = kMaxViews) {
  return value.IsRoot() || views == 0 || value.users().size() > kMaxUsers ||
         std::any_of(value.users().begin(), value.users().end(), [&](const hlo::Instruction* user) {
           return user->opcode() == hlo::Opcode::kTuple || (IsView(user->opcode()) && IsGiven(*user, views - 1));
         });
}

// Whether a part keeps no much larger array from being freed: what is given to a computation stays anyway.
bool MayStay(const hlo::Instruction& source, int64_t part_bytes) {
  const hlo::Instruction* value = &source;
  for (int views = 0; views < kMaxViews && value->operand_count() == 1; ++views) {
    if (!IsView(value->opcode()) && value->opcode() != hlo::Opcode::kSlice) break;
    value = value->operand(0);
  }
  return value->IsParameter() || value->IsConstant() || 2 * part_bytes >= value->shape().byte_count();
}

}  // namespace

int64_t UpdatedOperand(const hlo::Instruction& instruction) {
  const bool is_fusion = instruction.opcode() == hlo::Opcode::kFusion;
  const hlo::Instruction& update = is_fusion ? *instruction.called_computation()->root() : instruction;
  if (update.opcode() != hlo::Opcode::kDynamicUpdateSlice && update.opcode() != hlo::Opcode::kScatter) return -1;
  if (!is_fusion) return 0;
  return update.operand(0)->IsParameter() ? update.operand(0)->parameter_number() : -1;
}

int64_t PartOffset(const hlo::Instruction& slice) {
  const hlo::Shape& from = slice.operand(0)->shape();
  int64_t offset = 0;
  for (int64_t d = 0; d < from.rank(); ++d) {
    offset = offset * from.dimensions(d) + slice.Get<hlo::SliceAttributes>().start[d];
  }
  return offset * hlo::ByteWidth(from.element_type());
}

bool IsPartOfMemory(const hlo::Instruction& instruction) {
  if (instruction.opcode() != hlo::Opcode::kSlice || instruction.shape().byte_count() < kMinPartBytes ||
      !HasPlainShape(instruction) || !HasPlainShape(*instruction.operand(0))) {
    return false;
  }
  const hlo::Shape &from = instruction.operand(0)->shape(), &to = instruction.shape();
  // Behind the first dimension that has several elements, all are whole.
  bool several = false;
  for (int64_t d = 0; d < to.rank(); ++d) {
    if (several && to.dimensions(d) != from.dimensions(d)) return false;
    if (to.dimensions(d) == 1) continue;
    several = true;
    if (instruction.Get<hlo::SliceAttributes>().stride[d] != 1) return false;
  }
  return PartOffset(instruction) % kPartAlignment == 0 && MayStay(*instruction.operand(0), to.byte_count()) &&
         !IsGiven(instruction);
}

}  // namespace kiln::analysis
