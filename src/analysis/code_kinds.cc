#include "src/analysis/code_kinds.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
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

bool IsSameMemory(const hlo::Instruction& instruction) {
  if (instruction.opcode() != hlo::Opcode::kBitcastConvert) return false;
  const auto has_bytes = [](const hlo::Instruction& array) {
    const hlo::PrimitiveType type = array.shape().element_type();
    return HasPlainShape(array) && type != hlo::PrimitiveType::kPred && hlo::BitWidth(type) >= 8;
  };
  return has_bytes(instruction) && has_bytes(*instruction.operand(0));
}

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

namespace {

// Whether the elements in a window of these sizes lie together.
bool IsContiguous(const hlo::Shape& from, const hlo::DimensionVector& sizes) {
  // Behind the first dimension that has several elements, all are whole.
  bool several = false;
  for (int64_t d = 0; d < from.rank(); ++d) {
    if (several && sizes[d] != from.dimensions(d)) return false;
    several |= sizes[d] != 1;
  }
  return true;
}

// Whether nothing in its computation writes over `value`: an argument that is not given away, or what a loop does not
// change.
bool StaysAsItIs(const hlo::Instruction& value) {
  const hlo::Instruction* source = &value;
  for (int views = 0; views < kMaxViews; ++views) {
    if (source->opcode() != hlo::Opcode::kReshape && source->opcode() != hlo::Opcode::kBitcast) break;
    source = source->operand(0);
  }
  const hlo::Computation& computation = *value.parent();
  const bool is_element = source->opcode() == hlo::Opcode::kGetTupleElement && source->operand(0)->IsParameter();
  if (!source->IsParameter() && !is_element) return false;
  if (&computation == computation.parent()->entry()) return computation.parent()->aliases().empty();
  const hlo::Instruction* root = computation.root();
  if (!is_element || root->opcode() != hlo::Opcode::kTuple || source->tuple_index() >= root->operand_count()) {
    return false;
  }
  const hlo::Instruction* next = root->operand(source->tuple_index());
  return next == source || (next->opcode() == hlo::Opcode::kGetTupleElement && next->operand(0) == source->operand(0) &&
                            next->tuple_index() == source->tuple_index());
}

// Whether instructions with code of their own read `value`, all of it, and nothing else becomes of it.
bool IsOnlyRead(const hlo::Instruction& value, int views = kMaxViews) {
  return !IsGiven(value, views) &&
         std::none_of(value.users().begin(), value.users().end(), [&](const hlo::Instruction* user) {
           const int64_t updated = UpdatedOperand(*user);
           return IsControlFlow(user->opcode()) || user->opcode() == hlo::Opcode::kCustomCall ||
                  (updated >= 0 && user->operand(updated) == &value) ||
                  (IsView(user->opcode()) && !IsOnlyRead(*user, views - 1));
         });
}

bool IsDynamicPart(const hlo::Instruction& slice) {
  const hlo::Shape &from = slice.operand(0)->shape(), &to = slice.shape();
  int64_t stride = hlo::ByteWidth(from.element_type());
  for (int64_t d = from.rank() - 1; d >= 0; --d) {
    if (to.dimensions(d) != from.dimensions(d) && stride % kPartAlignment != 0) return false;
    stride *= from.dimensions(d);
  }
  return IsContiguous(from, to.dimensions()) && StaysAsItIs(*slice.operand(0)) && IsOnlyRead(slice);
}

}  // namespace

bool IsPartOfMemory(const hlo::Instruction& instruction) {
  const bool is_dynamic = instruction.opcode() == hlo::Opcode::kDynamicSlice;
  if ((!is_dynamic && instruction.opcode() != hlo::Opcode::kSlice) ||
      instruction.shape().byte_count() < kMinPartBytes || !HasPlainShape(instruction) ||
      !HasPlainShape(*instruction.operand(0))) {
    return false;
  }
  if (is_dynamic) return IsDynamicPart(instruction);
  const hlo::Shape &from = instruction.operand(0)->shape(), &to = instruction.shape();
  for (int64_t d = 0; d < to.rank(); ++d) {
    if (to.dimensions(d) != 1 && instruction.Get<hlo::SliceAttributes>().stride[d] != 1) return false;
  }
  return IsContiguous(from, to.dimensions()) && PartOffset(instruction) % kPartAlignment == 0 &&
         MayStay(*instruction.operand(0), to.byte_count()) && !IsGiven(instruction);
}

namespace {

// Whether code that may write anywhere makes `value`, an array that only its user reads.
bool IsMadeForItsUser(const hlo::Instruction& value) {
  if (value.users().size() != 1 || value.IsRoot() || !HasPlainShape(value)) return false;
  switch (value.opcode()) {
    case hlo::Opcode::kReshape:
    case hlo::Opcode::kBitcast:
      return IsMadeForItsUser(*value.operand(0));
    case hlo::Opcode::kGetTupleElement: {
      const hlo::Instruction& tuple = *value.operand(0);
      return tuple.opcode() == hlo::Opcode::kFusion && tuple.users().size() <= kMaxUsers &&
             tuple.called_computation()->root()->opcode() == hlo::Opcode::kTuple &&
             UpdatedOperand(*tuple.called_computation()->root()->operand(value.tuple_index())) < 0 &&
             std::count_if(tuple.users().begin(), tuple.users().end(), [&](const hlo::Instruction* user) {
               return user->opcode() != hlo::Opcode::kGetTupleElement || user->tuple_index() == value.tuple_index();
             }) == 1;
    }
    case hlo::Opcode::kFusion:
    case hlo::Opcode::kDot:
    case hlo::Opcode::kConvolution:
      return UpdatedOperand(value) < 0;
    default:
      return false;
  }
}

}  // namespace

bool IsJoinedInPlace(const hlo::Instruction& instruction) {
  if (instruction.opcode() != hlo::Opcode::kConcatenate || !HasPlainShape(instruction)) return false;
  for (int64_t d = 0; d < instruction.dimensions()[0]; ++d) {
    if (instruction.shape().dimensions(d) != 1) return false;
  }
  int64_t offset = 0;
  absl::flat_hash_set<const hlo::Instruction*> pieces;  // none stands twice, since code writes it once
  for (const hlo::Instruction* piece : instruction.operands()) {
    const int64_t bytes = piece->shape().byte_count();
    if (offset % kPartAlignment != 0 || bytes < kMinPartBytes || !IsMadeForItsUser(*piece) ||
        !pieces.insert(piece).second) {
      return false;
    }
    offset += bytes;
  }
  return true;
}

const hlo::Instruction* JoinOf(const hlo::Instruction& instruction, int64_t leaf, int64_t* offset) {
  const bool is_fusion = instruction.opcode() == hlo::Opcode::kFusion;
  if (!is_fusion && instruction.opcode() != hlo::Opcode::kDot && instruction.opcode() != hlo::Opcode::kConvolution) {
    return nullptr;
  }
  const hlo::Instruction* value = &instruction;
  if (!instruction.shape().IsArray()) {
    const auto user = std::find_if(value->users().begin(), value->users().end(), [&](const hlo::Instruction* user) {
      return user->opcode() == hlo::Opcode::kGetTupleElement && user->tuple_index() == leaf;
    });
    if (user == value->users().end()) return nullptr;
    value = *user;
  }
  while (value->users().size() == 1) {
    const hlo::Instruction* user = value->users()[0];
    if (user->opcode() == hlo::Opcode::kConcatenate) {
      if (!IsJoinedInPlace(*user)) return nullptr;
      *offset = 0;
      for (int64_t i = 0; user->operand(i) != value; ++i) *offset += user->operand(i)->shape().byte_count();
      return user;
    }
    if (user->opcode() != hlo::Opcode::kReshape && user->opcode() != hlo::Opcode::kBitcast) return nullptr;
    value = user;
  }
  return nullptr;
}

}  // namespace kiln::analysis
