// A computation: instructions in a topological order, their parameters and a root.
#ifndef KILN_HLO_COMPUTATION_H_
#define KILN_HLO_COMPUTATION_H_

#include <bitset>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "src/hlo/instruction.h"

namespace kiln::hlo {

class Module;

// Owned by its module; owns its instructions. Instructions are kept in an order where operands come before users
// (new ones are appended; PostOrder() gives an order that holds after any rewriting).
class Computation {
 public:
  const std::string& name() const { return name_; }
  Module* parent() const { return parent_; }
  Instruction* root() const { return root_; }
  // `instruction` must be of this computation.
  void set_root(Instruction* instruction) { root_ = instruction; }
  absl::Span<Instruction* const> parameters() const { return parameters_; }
  Instruction* parameter(int64_t number) const { return parameters_[number]; }
  int64_t parameter_count() const { return static_cast<int64_t>(parameters_.size()); }

  // All instructions in insertion order. Do not rely on topological order after rewriting: use PostOrder().
  std::vector<Instruction*> instructions() const;
  int64_t instruction_count() const { return static_cast<int64_t>(instructions_.size()); }
  // Operands (and control predecessors) before users; parameters first, dead instructions included. Iterative.
  std::vector<Instruction*> PostOrder() const;

  // False only where none of its instructions has this opcode: says without a look at them what was ever added.
  bool MayContain(Opcode opcode) const { return opcodes_[static_cast<size_t>(opcode)]; }

  // What its instructions call, in their order, repetitions included.
  std::vector<Computation*> Callees() const;

  // Adds an instruction of a given shape without checks; for readers and builders that infer or verify elsewhere. A
  // name is made from the opcode when empty and made unique in the module.
  Instruction* Add(Opcode opcode, Shape shape, std::vector<Instruction*> operands, Attributes attributes = {},
                   absl::Span<Computation* const> called = {}, std::string name = "");
  // Adds an instruction whose shape is inferred (src/hlo/shape_inference.h), or fails as it does.
  absl::StatusOr<Instruction*> AddInferred(Opcode opcode, std::vector<Instruction*> operands,
                                           Attributes attributes = {}, absl::Span<Computation* const> called = {});
  Instruction* AddParameter(int64_t number, Shape shape, std::string name = "");
  Instruction* AddConstant(Literal literal);
  // A copy of `original` over other operands, in this computation (which may be another one than its own).
  Instruction* AddClone(const Instruction& original, std::vector<Instruction*> operands);

  // Removes an instruction without users that is not the root.
  void Remove(Instruction* instruction);
  // Removes every instruction that root and side effects do not need; parameters stay. Returns how many.
  int64_t RemoveDeadInstructions();
  // Removes a parameter without users and renumbers those after it; callers must drop the operand.
  void RemoveParameter(int64_t number);
  // Puts instructions in this order (a permutation of all of them): the schedule of a scheduled module.
  void SetOrder(const std::vector<Instruction*>& order);

 private:
  friend class Module;
  friend class Instruction;
  Computation() = default;
  // To be told whenever what its instructions call may be another than before.
  void NoteCalls();

  std::string name_;
  Module* parent_ = nullptr;
  std::vector<std::unique_ptr<Instruction>> instructions_;
  std::vector<Instruction*> parameters_;
  Instruction* root_ = nullptr;
  std::bitset<kOpcodeCount> opcodes_;  // of all instructions that it ever had
  bool may_call_ = false;
  int64_t first_id_ = 0, last_id_ = -1;  // between these are the numbers of its instructions
};

// The first of `order` that stands before an operand or a control predecessor of its own; null when none does.
const Instruction* FirstOutOfOrder(absl::Span<Instruction* const> order);

// All that `starts` reach, themselves included: callees before callers, otherwise in the order given. Calls form no
// cycle.
std::vector<Computation*> CalleesFirst(absl::Span<Computation* const> starts);

}  // namespace kiln::hlo

#endif  // KILN_HLO_COMPUTATION_H_
