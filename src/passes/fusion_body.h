// What the fusion passes share: which computations they work on, how they compare shapes, and moving instructions into
// a fusion.
#ifndef KILN_PASSES_FUSION_BODY_H_
#define KILN_PASSES_FUSION_BODY_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "src/passes/ir.h"

namespace kiln::passes {

// Computations whose instructions run one by one: the entry and what control flow calls.
std::vector<Computation*> ControlComputations(const Module& module);

bool IsReshape(const Instruction& instruction);

// The value whose memory `operand` names.
const Instruction* SourceOf(const Instruction* operand);

// The others, in order: what of a shape tells rows from columns.
DimensionVector WithoutOnes(absl::Span<const int64_t> dimensions);

// How many instructions call each body of a fusion, and each computation of scalars that a reduction or the like calls.
absl::flat_hash_map<const Computation*, int> CallsOfBodies(const Module& module);

// Removes the parameters of a fusion's body that nothing reads, and the operands that are for them.
void DropUnreadOperands(Computation* body, std::vector<Instruction*>* operands);

// The body of a fusion under construction.
class FusionBody {
 public:
  FusionBody(Module* module, const std::string& name) : body_(module->AddComputation(name)) {}

  // Copies `member`, all whose operands among the members were added before; its other operands become the fusion's,
  // constants of one element copies. Of a fusion the body is copied.
  void Add(const Instruction& member);
  // The same, but a fusion stays one.
  void AddWhole(const Instruction& member);

  // The same as Add, and what reads it behind reads it through an opt-barrier: the kernel keeps it
  // (analysis/kept_blocks.h).
  void AddKept(const Instruction& member);

  // What became the fusion's operands. They may be replaced until Finish.
  std::vector<Instruction*>& operands() { return operands_; }

  // Adds the fusion to the computation of `outputs`, members whose values it gives, and puts it in their place: a tuple
  // of them unless there is only one. The members remain, without uses from outside.
  Instruction* Finish(absl::Span<Instruction* const> outputs, hlo::FusionKind kind, const std::string& name);

 private:
  std::vector<Instruction*> OperandsOf(const Instruction& member);

  Computation* body_;
  std::vector<Instruction*> operands_;
  absl::flat_hash_map<const Instruction*, Instruction*> copies_;
};

}  // namespace kiln::passes

#endif  // KILN_PASSES_FUSION_BODY_H_
