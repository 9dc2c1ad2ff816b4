#include "src/cpu/run_profile.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

namespace kiln::cpu {

void RunProfile::Mark(int64_t instruction) {
  const Clock::time_point now = Clock::now();
  Entry& entry = entries_[instruction];
  ++entry.runs;
  entry.seconds += std::chrono::duration<double>(now - std::exchange(last_, now)).count();
}

std::string RunProfile::ToString(const hlo::Module& module,
                                 const std::vector<const hlo::Instruction*>& instructions) const {
  std::vector<size_t> order;
  double total = 0;
  for (size_t i = 0; i < entries_.size(); ++i) {
    total += entries_[i].seconds;
    if (entries_[i].runs > 0) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [this](size_t a, size_t b) { return entries_[a].seconds > entries_[b].seconds; });
  std::string text = absl::StrFormat("Execution profile for %s: %.3f us\n%12s %6s %9s  %s\n", module.name(),
                                     total * 1e6, "us", "share", "runs", "instruction");
  for (size_t i : order) {
    const Entry& entry = entries_[i];
    const hlo::Instruction& instruction = *instructions[i];
    absl::StrAppendFormat(&text, "%12.3f %5.1f%% %9d  %%%s = %s %s\n", entry.seconds * 1e6,
                          total > 0 ? entry.seconds / total * 100 : 0.0, entry.runs, instruction.name(),
                          instruction.shape().ToString(), hlo::OpcodeName(instruction.opcode()));
  }
  return text;
}

}  // namespace kiln::cpu
