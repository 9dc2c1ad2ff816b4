#include "src/passes/live_values.h"

#include <algorithm>
#include <utility>

#include "src/analysis/code_kinds.h"
#include "src/analysis/fusion_model.h"
#include "src/passes/fusion_body.h"

namespace kiln::passes {

bool IsPart(const Instruction& value) {
  return value.opcode() == Opcode::kGetTupleElement && value.operand(0)->opcode() == Opcode::kFusion;
}

const Instruction& ProducerOf(const Instruction& value) { return IsPart(value) ? *value.operand(0) : value; }

bool IsHeld(const Instruction& value) {
  if (IsPart(value)) return true;
  if (value.opcode() == Opcode::kFusion && value.shape().IsTuple()) return false;
  return !analysis::IsView(value) && !value.IsParameter() && !value.IsConstant() &&
         value.opcode() != Opcode::kWhile && value.shape().byte_count() > 0;
}

bool IsComputedByElement(const Instruction& value) {
  const Instruction& producer = ProducerOf(value);
  if (!value.shape().IsArray() || producer.HasSideEffect() || !producer.control_predecessors().empty()) return false;
  if (producer.opcode() != Opcode::kFusion) {
    return analysis::IsLoopProducer(producer) || hlo::IsElementwise(producer.opcode());
  }
  if (producer.Get<hlo::FusionAttributes>().kind != hlo::FusionKind::kLoop) return false;
  const std::vector<Instruction*> inside = producer.called_computation()->instructions();
  return absl::c_none_of(inside, [](const Instruction* inner) {
    return inner->opcode() == Opcode::kDynamicUpdateSlice || inner->opcode() == Opcode::kScatter;
  });
}

Instruction* AddCopyOf(const Instruction& value) {
  const Instruction& producer = ProducerOf(value);
  Computation* computation = producer.parent();
  std::vector<Instruction*> operands(producer.operands().begin(), producer.operands().end());
  if (producer.opcode() != Opcode::kFusion) return computation->AddClone(producer, std::move(operands));
  Computation* body = computation->parent()->AddClone(*producer.called_computation());
  if (IsPart(value)) {
    body->set_root(body->root()->operand(value.tuple_index()));
    body->RemoveDeadInstructions();
    DropUnreadOperands(body, &operands);
  }
  Instruction* copy =
      computation->Add(Opcode::kFusion, body->root()->shape(), std::move(operands), producer.attributes(), {body});
  copy->CopyMetadataFrom(producer);
  return copy;
}

const Instruction* HeldSourceOf(const Instruction* operand) {
  while (!IsPart(*operand) && analysis::IsView(*operand) && operand->operand_count() == 1) {
    operand = operand->operand(0);
  }
  return operand;
}

LiveValues::LiveValues(const std::vector<Instruction*>& order,
                       const absl::flat_hash_map<const Computation*, int64_t>& inner_peaks) {
  for (size_t i = 0; i < order.size(); ++i) step_[order[i]] = i;
  for (size_t i = order.size(); i-- > 0;) {
    size_t& own = last_[order[i]];
    own = std::max(own, order[i]->IsRoot() ? order.size() : i);
    const size_t until = analysis::IsView(*order[i]) ? own : i;
    for (const Instruction* operand : order[i]->operands()) last_[operand] = std::max(last_[operand], until);
  }
  std::vector<int64_t> change(order.size() + 2, 0);
  for (const Instruction* value : order) {
    if (!IsHeld(*value)) continue;
    change[step_.at(&ProducerOf(*value))] += value->shape().byte_count();
    change[last_.at(value) + 1] -= value->shape().byte_count();
  }
  int64_t live = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    live += change[i];
    int64_t inside = 0;
    if (!order[i]->called_computations().empty()) {
      for (const Computation* callee : order[i]->called_computations()) {
        const auto found = inner_peaks.find(callee);
        if (found != inner_peaks.end()) inside = std::max(inside, found->second);
      }
    }
    if (live + inside > peak_) peak_ = live + inside, peak_step_ = i;
  }
}

bool LiveValues::IsThereAt(const Instruction* operand, size_t step) const {
  const Instruction* source = HeldSourceOf(operand);
  return source->IsParameter() || source->IsConstant() || last_.at(source) >= step;
}

}  // namespace kiln::passes
