#include "src/passes/while_loop_unroller.h"

#include <optional>
#include <vector>

#include "src/analysis/call_graph.h"
#include "src/analysis/fusion_model.h"
#include "src/analysis/while_loop.h"

namespace kiln::passes {
namespace {

constexpr int64_t kMaxUnrolledRounds = 8;
constexpr int64_t kMaxUnrolledInstructions = 64;
constexpr int64_t kMaxFusedInstructions = 400;      // where all rounds become one loop over arrays
constexpr int64_t kMaxAddedByUnrolling = 1 << 14;   // in a module

// Whether a loop of `rounds` rounds is better written out. Loops run natively: what is won is traffic between rounds of
// cheap arithmetic on arrays (1.5 to 6 times the speed, that of random bits for one), and what folds. Not so with
// control flow in the body, which is not small, nor with functions of arrays, which rounds that fuse would compute no
// less often and with fewer registers. A custom call may keep a state, one per call in the program, and stays one.
bool Pays(int64_t rounds, const Computation& body) {
  if (rounds <= 1) return true;
  if (rounds > kMaxUnrolledRounds) return false;
  int64_t work = 0;
  bool has_arrays = false, fuses = true;
  for (const Instruction* instruction : body.instructions()) {
    switch (instruction->opcode()) {
      case Opcode::kParameter:
      case Opcode::kConstant:
      case Opcode::kTuple:
      case Opcode::kGetTupleElement:
        continue;
      case Opcode::kWhile:
      case Opcode::kConditional:
      case Opcode::kCall:
      case Opcode::kCustomCall:
        return false;
      default:
        break;
    }
    ++work;
    const hlo::OpKind kind = hlo::KindOf(instruction->opcode());
    fuses &= kind <= hlo::OpKind::kElementwiseTernary || kind == hlo::OpKind::kDataMovement ||
             kind == hlo::OpKind::kSource || instruction->opcode() == Opcode::kDynamicSlice;
    if (!hlo::IsElementwise(instruction->opcode()) || instruction->shape().IsScalar()) continue;
    has_arrays = true;
    if (analysis::CostOf(*instruction) == analysis::EvaluationCost::kExpensive) return false;
  }
  return work * rounds <= (has_arrays && fuses ? kMaxFusedInstructions : kMaxUnrolledInstructions);
}

}  // namespace

absl::StatusOr<bool> UnrollLoops(Module* module) {
  int64_t budget = kMaxAddedByUnrolling;
  bool changed = false;
  for (Instruction* loop : analysis::OwnersOfCallees(*module, Opcode::kWhile)) {
    const std::optional<int64_t> rounds = analysis::DerivedTripCount(*loop);
    if (!rounds || loop->HasSideEffect()) continue;
    const Computation& body = *loop->called_computation(0);
    if (!Pays(*rounds, body) || *rounds * body.instruction_count() > budget) continue;
    budget -= *rounds * body.instruction_count();
    Builder builder(loop->parent(), loop);
    Instruction* state = loop->operand(0);
    for (int64_t round = 0; round < *rounds; ++round) state = builder.Inline(body, {state});
    loop->ReplaceAllUsesWith(state);
    changed = true;
  }
  if (changed) {
    for (Computation* computation : module->PostOrder()) computation->RemoveDeadInstructions();
    module->RemoveUnusedComputations();
  }
  return changed;
}

}  // namespace kiln::passes
