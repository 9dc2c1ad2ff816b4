#include "src/passes/rematerialization.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "src/analysis/code_kinds.h"
#include "src/analysis/cost_analysis.h"
#include "src/base/status.h"
#include "src/passes/fusion_body.h"
#include "src/passes/live_values.h"

namespace kiln::passes {
namespace {

// Each round looks at all that is live at the peak; so many rounds at most keep the work linear in the program.
constexpr int kMaxRounds = 200;
// An operand that is this much smaller than the value may be kept longer for it.
constexpr int64_t kSmallOperand = 8;

// One computation in its order.
class Scheduled {
 public:
  Scheduled(Computation* computation, const absl::flat_hash_map<const Computation*, int64_t>& inner_peaks)
      : computation_(computation),
        inner_peaks_(inner_peaks),
        order_(computation->instructions()),
        live_(order_, inner_peaks) {}

  int64_t peak() const { return live_.peak(); }

  // One value less at the peak; false when there is none to save.
  bool Improve() {
    Instruction* best = nullptr;
    double best_cost = 0;
    const size_t peak_step = live_.peak_step();
    for (size_t i = 0; i < peak_step; ++i) {
      Instruction* value = order_[i];
      if (!IsHeld(*value) || live_.LastRead(value) <= peak_step || !IsComputedByElement(*value) ||
          again_.contains(value)) {
        continue;
      }
      const size_t next = NextUse(*value);
      if (next <= peak_step || next >= order_.size() || !OperandsStay(*value, next)) continue;
      const double bytes = static_cast<double>(value->shape().byte_count());
      const double cost = costs_.Of(ProducerOf(*value)).optimal_seconds / bytes;
      if (best == nullptr || cost < best_cost) best = value, best_cost = cost;
    }
    if (best == nullptr) return false;
    const size_t next = NextUse(*best);
    Instruction* copy = AddCopyOf(*best);
    again_[copy] = true;
    for (size_t i = next; i < order_.size(); ++i) {
      for (int64_t k = 0; k < order_[i]->operand_count(); ++k) {
        if (order_[i]->operand(k) == best) order_[i]->ReplaceOperand(k, copy);
      }
    }
    order_.insert(order_.begin() + static_cast<int64_t>(next), copy);
    computation_->SetOrder(order_);
    live_ = LiveValues(order_, inner_peaks_);
    return true;
  }

 private:
  // The first use that reads the value behind the peak, given that none does at it.
  size_t NextUse(const Instruction& value) const {
    const size_t peak_step = live_.peak_step();
    size_t next = order_.size();
    for (const Instruction* user : value.users()) {
      const size_t at = live_.StepOf(user);
      if (at == peak_step || (analysis::IsView(*user) && at <= peak_step && live_.LastRead(user) > peak_step)) {
        return 0;
      }
      if (at > peak_step) next = std::min(next, at);
    }
    return next;
  }

  bool OperandsStay(const Instruction& value, size_t until) const {
    return absl::c_all_of(ProducerOf(value).operands(), [&](const Instruction* operand) {
      return live_.IsThereAt(operand, until) ||
             HeldSourceOf(operand)->shape().byte_count() * kSmallOperand <= value.shape().byte_count();
    });
  }

  Computation* computation_;
  const absl::flat_hash_map<const Computation*, int64_t>& inner_peaks_;
  std::vector<Instruction*> order_;
  LiveValues live_;
  absl::flat_hash_map<const Instruction*, bool> again_;
  analysis::CostAnalysis costs_;
};

}  // namespace

absl::StatusOr<bool> Rematerialize(Module* module, int64_t limit_bytes) {
  if (!module->is_scheduled()) return FailedPrecondition("rematerialization works on a scheduled module");
  absl::flat_hash_map<const Computation*, int64_t> peaks;
  bool changed = false;
  const std::vector<Computation*> control = ControlComputations(*module);
  const absl::flat_hash_set<const Computation*> run_one_by_one(control.begin(), control.end());
  for (Computation* computation : module->PostOrder()) {
    if (!run_one_by_one.contains(computation)) continue;
    Scheduled scheduled(computation, peaks);
    for (int round = 0; round < kMaxRounds && scheduled.peak() > limit_bytes; ++round) {
      const int64_t before = scheduled.peak();
      if (!scheduled.Improve()) break;
      changed = true;
      if (limit_bytes == 0 && scheduled.peak() >= before) break;
    }
    peaks[computation] = scheduled.peak();
  }
  return changed;
}

}  // namespace kiln::passes
