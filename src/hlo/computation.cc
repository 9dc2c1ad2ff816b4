#include "src/hlo/computation.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "src/hlo/module.h"
#include "src/hlo/shape_inference.h"

namespace kiln::hlo {
namespace {

// A set of the instructions of one computation: flags by number where the numbers are dense.
class InstructionSet {
 public:
  // Of `count` instructions with numbers from `first` to `last`.
  InstructionSet(int64_t first, int64_t last, size_t count) : first_(first) {
    constexpr int64_t kFlagsPerInstruction = 64;
    if (last - first < kFlagsPerInstruction * static_cast<int64_t>(count)) flags_.resize(last - first + 1);
    if (flags_.empty()) others_.reserve(count);
  }
  static InstructionSet Of(absl::Span<Instruction* const> instructions) {
    int64_t first = INT64_MAX, last = 0;
    for (const Instruction* instruction : instructions) {
      first = std::min(first, instruction->id());
      last = std::max(last, instruction->id());
    }
    return InstructionSet(instructions.empty() ? 0 : first, last, instructions.size());
  }
  bool Insert(const Instruction* instruction) {
    const uint64_t place = static_cast<uint64_t>(instruction->id() - first_);
    if (place >= flags_.size()) return others_.insert(instruction).second;
    if (flags_[place]) return false;
    return flags_[place] = true;
  }
  bool Contains(const Instruction* instruction) const {
    const uint64_t place = static_cast<uint64_t>(instruction->id() - first_);
    return place < flags_.size() ? flags_[place] : others_.contains(instruction);
  }

 private:
  int64_t first_ = 0;
  std::vector<bool> flags_;
  absl::flat_hash_set<const Instruction*> others_;
};

}  // namespace

std::vector<Instruction*> Computation::instructions() const {
  std::vector<Instruction*> result;
  result.reserve(instructions_.size());
  for (const auto& instruction : instructions_) result.push_back(instruction.get());
  return result;
}

std::vector<Computation*> Computation::Callees() const {
  std::vector<Computation*> callees;
  if (!may_call_) return callees;
  for (const auto& instruction : instructions_) {
    callees.insert(callees.end(), instruction->called_.begin(), instruction->called_.end());
  }
  return callees;
}

const Instruction* FirstOutOfOrder(absl::Span<Instruction* const> order) {
  InstructionSet seen = InstructionSet::Of(order);
  auto is_seen = [&](const Instruction* instruction) { return seen.Contains(instruction); };
  for (const Instruction* instruction : order) {
    const auto& before = instruction->control_predecessors();
    if (!std::all_of(instruction->operands().begin(), instruction->operands().end(), is_seen) ||
        !std::all_of(before.begin(), before.end(), is_seen)) {
      return instruction;
    }
    seen.Insert(instruction);
  }
  return nullptr;
}

std::vector<Computation*> CalleesFirst(absl::Span<Computation* const> starts) {
  struct Frame {
    Computation* computation;
    std::vector<Computation*> callees;
    size_t next;
  };
  std::vector<Frame> stack;
  std::vector<Computation*> order;
  absl::flat_hash_set<const Computation*> visited;
  auto open = [&](Computation* computation) {
    if (visited.insert(computation).second) stack.push_back({computation, computation->Callees(), 0});
  };
  for (Computation* start : starts) {
    open(start);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next < frame.callees.size()) {
        open(frame.callees[frame.next++]);
      } else {
        order.push_back(frame.computation);
        stack.pop_back();
      }
    }
  }
  return order;
}

std::vector<Instruction*> Computation::PostOrder() const {
  std::vector<Instruction*> order;
  order.reserve(instructions_.size());
  InstructionSet visited(first_id_, last_id_, instructions_.size());
  struct Frame {
    Instruction* instruction;
    int64_t next;
  };
  std::vector<Frame> stack;
  auto visit = [&](Instruction* start) {
    if (!visited.Insert(start)) return;
    stack.push_back({start, 0});
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const auto& control = frame.instruction->control_predecessors();
      const int64_t operands = frame.instruction->operand_count();
      if (frame.next < operands + static_cast<int64_t>(control.size())) {
        int64_t index = frame.next++;
        Instruction* before = index < operands ? frame.instruction->operand(index) : control[index - operands];
        if (visited.Insert(before)) stack.push_back({before, 0});
      } else {
        order.push_back(frame.instruction);
        stack.pop_back();
      }
    }
  };
  for (Instruction* parameter : parameters_) visit(parameter);
  for (const auto& instruction : instructions_) visit(instruction.get());
  return order;
}

Instruction* Computation::Add(Opcode opcode, Shape shape, std::vector<Instruction*> operands, Attributes attributes,
                              absl::Span<Computation* const> called, std::string name) {
  std::unique_ptr<Instruction> instruction(new Instruction());
  instruction->opcode_ = opcode;
  instruction->shape_ = parent_->Shared(std::move(shape));
  instruction->parent_ = this;
  instruction->attributes_ = std::move(attributes);
  instruction->called_.assign(called.begin(), called.end());
  if (!called.empty()) NoteCalls();
  opcodes_.set(static_cast<size_t>(opcode));
  instruction->id_ = parent_->NextInstructionId();
  if (instructions_.empty()) first_id_ = instruction->id_;
  last_id_ = instruction->id_;
  instruction->name_ = parent_->UniqueInstructionName(name.empty() ? std::string(OpcodeName(opcode)) : name);
  instruction->operands_.assign(operands.begin(), operands.end());
  for (Instruction* operand : instruction->operands_) operand->AddUser(instruction.get());
  Instruction* result = instruction.get();
  instructions_.push_back(std::move(instruction));
  if (opcode == Opcode::kParameter) {
    size_t number = static_cast<size_t>(result->parameter_number());
    if (parameters_.size() <= number) parameters_.resize(number + 1, nullptr);
    parameters_[number] = result;
  }
  if (root_ == nullptr) root_ = result;
  return result;
}

absl::StatusOr<Instruction*> Computation::AddInferred(Opcode opcode, std::vector<Instruction*> operands,
                                                      Attributes attributes, absl::Span<Computation* const> called) {
  std::vector<const Shape*> shapes;
  for (const Instruction* operand : operands) shapes.push_back(&operand->shape());
  KILN_ASSIGN_OR_RETURN(Shape shape, InferShape(opcode, shapes, attributes, called, /*declared=*/nullptr));
  return Add(opcode, std::move(shape), std::move(operands), std::move(attributes), called);
}

Instruction* Computation::AddParameter(int64_t number, Shape shape, std::string name) {
  return Add(Opcode::kParameter, std::move(shape), {}, ParameterAttributes{number}, {}, std::move(name));
}

Instruction* Computation::AddConstant(Literal literal) {
  Shape shape = literal.shape();
  return Add(Opcode::kConstant, std::move(shape), {}, ConstantAttributes{std::move(literal)});
}

Instruction* Computation::AddClone(const Instruction& original, std::vector<Instruction*> operands) {
  // "add.3" clones to "add.N": the family name is what the unique suffix is put on.
  std::string name = original.name();
  size_t dot = name.rfind('.');
  if (dot != std::string::npos && dot + 1 < name.size() &&
      name.find_first_not_of("0123456789", dot + 1) == std::string::npos) {
    name.resize(dot);
  }
  Instruction* clone =
      Add(original.opcode_, original.shape_, std::move(operands), original.attributes_, original.called_, name);
  clone->metadata_ = original.metadata_;
  clone->extras_ = original.extras_;
  return clone;
}

void Computation::NoteCalls() {
  may_call_ = true;
  ++parent_->calls_version_;
}

void Computation::Remove(Instruction* instruction) {
  if (!instruction->called_.empty()) NoteCalls();
  for (Instruction* operand : instruction->operands_) operand->RemoveUser(instruction);
  auto it = std::find_if(instructions_.begin(), instructions_.end(),
                         [&](const auto& owned) { return owned.get() == instruction; });
  instructions_.erase(it);
}

int64_t Computation::RemoveDeadInstructions() {
  InstructionSet live(first_id_, last_id_, instructions_.size());
  int64_t live_count = 0;
  std::vector<const Instruction*> work;
  auto mark = [&](const Instruction* instruction) {
    if (!live.Insert(instruction)) return;
    ++live_count;
    work.push_back(instruction);
  };
  mark(root_);
  for (const auto& instruction : instructions_) {
    if (instruction->IsParameter() || instruction->HasSideEffect()) mark(instruction.get());
  }
  while (!work.empty()) {
    const Instruction* instruction = work.back();
    work.pop_back();
    for (const Instruction* operand : instruction->operands_) mark(operand);
    for (const Instruction* before : instruction->control_predecessors()) mark(before);
  }
  const int64_t before = instruction_count();
  if (live_count == before) return 0;
  for (const auto& instruction : instructions_) {
    if (live.Contains(instruction.get())) continue;
    if (!instruction->called_.empty()) NoteCalls();
    for (Instruction* operand : instruction->operands_) operand->RemoveUser(instruction.get());
  }
  std::erase_if(instructions_, [&](const auto& owned) { return !live.Contains(owned.get()); });
  return before - instruction_count();
}

void Computation::RemoveParameter(int64_t number) {
  Instruction* parameter = parameters_[number];
  parameters_.erase(parameters_.begin() + number);
  for (size_t i = number; i < parameters_.size(); ++i) {
    parameters_[i]->GetMutable<ParameterAttributes>()->number = static_cast<int64_t>(i);
  }
  Remove(parameter);
}

void Computation::SetOrder(const std::vector<Instruction*>& order) {
  if (may_call_) NoteCalls();
  // All are released before any is owned again.
  for (auto& instruction : instructions_) instruction.release();
  for (size_t i = 0; i < order.size(); ++i) instructions_[i].reset(order[i]);
}

}  // namespace kiln::hlo
