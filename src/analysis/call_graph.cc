#include "src/analysis/call_graph.h"

#include <algorithm>

namespace kiln::analysis {

using hlo::Computation;
using hlo::Instruction;

CallerCounts::CallerCounts(const hlo::Module& module) {
  for (const Computation* computation : module.PostOrder()) {
    for (const Computation* callee : computation->Callees()) ++counts_[callee];
  }
}

bool CallerCounts::OwnsCallees(const Instruction& caller) const {
  const auto& called = caller.called_computations();
  return std::all_of(called.begin(), called.end(), [&](const Computation* callee) { return counts_.at(callee) == 1; });
}

std::vector<Instruction*> OwnersOfCallees(const hlo::Module& module, hlo::Opcode opcode) {
  std::vector<Instruction*> callers;
  for (const Computation* computation : module.PostOrder()) {
    if (!computation->MayContain(opcode)) continue;
    for (Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() == opcode && instruction->control_predecessors().empty())
        callers.push_back(instruction);
    }
  }
  if (callers.empty()) return callers;
  const CallerCounts counts(module);
  std::erase_if(callers, [&](const Instruction* caller) { return !counts.OwnsCallees(*caller); });
  return callers;
}

}  // namespace kiln::analysis
