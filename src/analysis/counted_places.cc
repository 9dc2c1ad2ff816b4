#include "src/analysis/counted_places.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "src/analysis/fusion_model.h"

namespace kiln::analysis {
namespace {

using hlo::Instruction;
using hlo::Opcode;

constexpr size_t kMaxOps = 64;

}  // namespace

bool IsCounted(const Instruction& value) {
  std::vector<const Instruction*> reached = {&value};
  for (size_t i = 0; i < reached.size(); ++i) {
    const Instruction& at = *reached[i];
    if (at.opcode() == Opcode::kIota || at.IsConstant()) continue;
    // Choices among them are made by comparisons.
    const bool is_number = at.shape().IsArray() && hlo::IsIntegral(at.shape().element_type());
    if (!IsLoopProducer(at) || (!is_number && at.opcode() != Opcode::kCompare)) return false;
    for (const Instruction* operand : at.operands()) {
      if (!absl::c_linear_search(reached, operand)) reached.push_back(operand);
    }
    if (reached.size() > kMaxOps) return false;
  }
  return true;
}

bool IsCountedPlace(const Instruction& value) {
  if (!IsCounted(value)) return false;
  std::vector<const Instruction*> reached = {&value};
  for (size_t i = 0; i < reached.size(); ++i) {
    if (reached[i]->users().empty()) return false;
    for (const Instruction* user : reached[i]->users()) {
      if (user->opcode() == Opcode::kGather && user->operand(0) != reached[i]) continue;
      const bool is_moved = user->opcode() == Opcode::kBroadcast || user->opcode() == Opcode::kReshape ||
                            user->opcode() == Opcode::kConcatenate;
      if (!is_moved && !IsCounted(*user)) return false;
      if (!absl::c_linear_search(reached, user)) reached.push_back(user);
    }
    if (reached.size() > kMaxOps) return false;
  }
  return true;
}

}  // namespace kiln::analysis
