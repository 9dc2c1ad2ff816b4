#include "src/passes/rematerialization.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "src/analysis/code_kinds.h"
#include "src/analysis/cost_analysis.h"
#include "src/analysis/fusion_model.h"
#include "src/base/status.h"
#include "src/passes/fusion_body.h"

namespace kiln::passes {
namespace {

// Each round looks at all that is live at the peak; so many rounds at most keep the work linear in the program.
constexpr int kMaxRounds = 200;
// An operand that is this much smaller than the value may be kept longer for it.
constexpr int64_t kSmallOperand = 8;

// One of the results of a fusion: each lives as long as it is read, and can be computed alone.
bool IsPart(const Instruction& value) {
  return value.opcode() == Opcode::kGetTupleElement && value.operand(0)->opcode() == Opcode::kFusion;
}

const Instruction& ProducerOf(const Instruction& value) { return IsPart(value) ? *value.operand(0) : value; }

bool IsHeld(const Instruction& instruction) {
  if (IsPart(instruction)) return true;
  if (instruction.opcode() == Opcode::kFusion && instruction.shape().IsTuple()) return false;
  return !analysis::IsView(instruction) && !instruction.IsParameter() && !instruction.IsConstant() &&
         instruction.opcode() != Opcode::kWhile && instruction.shape().byte_count() > 0;
}

bool IsCheap(const Instruction& value) {
  const Instruction& instruction = ProducerOf(value);
  if (!value.shape().IsArray() || instruction.HasSideEffect() || !instruction.control_predecessors().empty()) {
    return false;
  }
  if (instruction.opcode() != Opcode::kFusion) {
    return analysis::IsLoopProducer(instruction) || hlo::IsElementwise(instruction.opcode());
  }
  if (instruction.Get<hlo::FusionAttributes>().kind != hlo::FusionKind::kLoop) return false;
  const std::vector<Instruction*> inside = instruction.called_computation()->instructions();
  return absl::c_none_of(inside, [](const Instruction* inner) {
    return inner->opcode() == Opcode::kDynamicUpdateSlice || inner->opcode() == Opcode::kScatter;
  });
}

// One computation in its order.
class Scheduled {
 public:
  Scheduled(Computation* computation, const absl::flat_hash_map<const Computation*, int64_t>& inner_peaks)
      : computation_(computation), inner_peaks_(inner_peaks), order_(computation->instructions()) {
    Measure();
  }

  int64_t peak() const { return peak_; }

  // One value less at the peak; false when there is none to save.
  bool Improve() {
    Instruction* best = nullptr;
    double best_cost = 0;
    for (size_t i = 0; i < peak_step_; ++i) {
      Instruction* value = order_[i];
      if (!IsHeld(*value) || last_.at(value) <= peak_step_ || !IsCheap(*value) || again_.contains(value)) continue;
      const size_t next = NextUse(*value);
      if (next <= peak_step_ || next >= order_.size() || !OperandsStay(*value, next)) continue;
      const double bytes = static_cast<double>(value->shape().byte_count());
      const double cost = costs_.Of(ProducerOf(*value)).optimal_seconds / bytes;
      if (best == nullptr || cost < best_cost) best = value, best_cost = cost;
    }
    if (best == nullptr) return false;
    const size_t next = NextUse(*best);
    Instruction* copy = AddCopy(*best);
    again_[copy] = true;
    for (size_t i = next; i < order_.size(); ++i) {
      for (int64_t k = 0; k < order_[i]->operand_count(); ++k) {
        if (order_[i]->operand(k) == best) order_[i]->ReplaceOperand(k, copy);
      }
    }
    order_.insert(order_.begin() + static_cast<int64_t>(next), copy);
    computation_->SetOrder(order_);
    Measure();
    return true;
  }

 private:
  Instruction* AddCopy(const Instruction& value) {
    const Instruction& producer = ProducerOf(value);
    std::vector<Instruction*> operands(producer.operands().begin(), producer.operands().end());
    if (producer.opcode() != Opcode::kFusion) return computation_->AddClone(producer, std::move(operands));
    Computation* body = computation_->parent()->AddClone(*producer.called_computation());
    if (IsPart(value)) {
      body->set_root(body->root()->operand(value.tuple_index()));
      body->RemoveDeadInstructions();
      for (size_t i = operands.size(); i-- > 0;) {
        const Instruction* parameter = body->parameter(static_cast<int64_t>(i));
        if (!parameter->users().empty() || parameter->IsRoot()) continue;
        body->RemoveParameter(static_cast<int64_t>(i));
        operands.erase(operands.begin() + static_cast<int64_t>(i));
      }
    }
    Instruction* copy =
        computation_->Add(Opcode::kFusion, body->root()->shape(), std::move(operands), producer.attributes(), {body});
    copy->CopyMetadataFrom(producer);
    return copy;
  }

  // Last positions of values, views of them included, and the peak.
  void Measure() {
    position_.clear();
    last_.clear();
    for (size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
    for (size_t i = order_.size(); i-- > 0;) {
      size_t& own = last_[order_[i]];
      own = std::max(own, order_[i]->IsRoot() ? order_.size() : i);
      const size_t until = analysis::IsView(*order_[i]) ? own : i;
      for (const Instruction* operand : order_[i]->operands()) last_[operand] = std::max(last_[operand], until);
    }
    std::vector<int64_t> change(order_.size() + 2, 0);
    for (size_t i = 0; i < order_.size(); ++i) {
      if (!IsHeld(*order_[i])) continue;
      change[position_.at(&ProducerOf(*order_[i]))] += order_[i]->shape().byte_count();
      change[last_.at(order_[i]) + 1] -= order_[i]->shape().byte_count();
    }
    int64_t live = 0;
    peak_ = -1;
    for (size_t i = 0; i < order_.size(); ++i) {
      live += change[i];
      int64_t inside = 0;
      if (!order_[i]->called_computations().empty()) {
        for (const Computation* callee : order_[i]->called_computations()) {
          const auto found = inner_peaks_.find(callee);
          if (found != inner_peaks_.end()) inside = std::max(inside, found->second);
        }
      }
      if (live + inside > peak_) peak_ = live + inside, peak_step_ = i;
    }
  }

  // The first use that reads the value behind the peak, given that none does at it.
  size_t NextUse(const Instruction& value) const {
    size_t next = order_.size();
    for (const Instruction* user : value.users()) {
      const size_t at = position_.at(user);
      if (at == peak_step_ || (analysis::IsView(*user) && at <= peak_step_ && last_.at(user) > peak_step_)) {
        return 0;
      }
      if (at > peak_step_) next = std::min(next, at);
    }
    return next;
  }

  bool OperandsStay(const Instruction& value, size_t until) const {
    return absl::c_all_of(ProducerOf(value).operands(), [&](const Instruction* operand) {
      const Instruction* source = operand;
      while (!IsPart(*source) && analysis::IsView(*source) && source->operand_count() == 1) {
        source = source->operand(0);
      }
      return source->IsParameter() || source->IsConstant() || last_.at(source) >= until ||
             source->shape().byte_count() * kSmallOperand <= value.shape().byte_count();
    });
  }

  Computation* computation_;
  const absl::flat_hash_map<const Computation*, int64_t>& inner_peaks_;
  std::vector<Instruction*> order_;
  absl::flat_hash_map<const Instruction*, size_t> position_, last_;
  absl::flat_hash_map<const Instruction*, bool> again_;
  analysis::CostAnalysis costs_;
  int64_t peak_ = 0;
  size_t peak_step_ = 0;
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
