// Dispatch and control flow.
#include "src/hlo/evaluator.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/strings/strip.h"
#include "src/hlo/evaluator_internal.h"
#include "src/hlo/shape_inference.h"

namespace kiln::hlo {
namespace evaluator {
namespace {

// Calls recurse on the host's stack: the functions that the recursion passes through are kept small and apart from each
// other, so that this many fit into 2 MiB.
constexpr int kMaxDepth = 1000;
constexpr int64_t kMaxBytes = int64_t{8} << 30;

// The rules of shape inference hold of `instruction`: all that is behind relies on them.
ABSL_ATTRIBUTE_NOINLINE absl::Status CheckInstruction(const Instruction& instruction) {
  absl::Status status = ValidateShape(instruction.shape());
  if (status.ok()) status = InferShape(instruction).status();
  if (status.ok()) return status;
  const std::string prefix = absl::StrCat(OpcodeName(instruction.opcode()), ": ");
  return InvalidArgument(instruction.Describe(), ": ", absl::StripPrefix(status.message(), prefix));
}

ABSL_ATTRIBUTE_NOINLINE
absl::StatusOr<Literal> EvaluateWhile(Evaluation& evaluation, const Instruction& instruction, Literal state) {
  const Computation& body = *instruction.called_computation(0);
  const Computation& condition = *instruction.called_computation(1);
  while (true) {
    KILN_RETURN_IF_ERROR(evaluation.Charge(1));
    KILN_ASSIGN_OR_RETURN(const Literal go_on, evaluation.Run(condition, {state}));
    if (!go_on.data<bool>()[0]) return state;
    std::vector<Literal> arguments;
    arguments.push_back(std::move(state));
    KILN_ASSIGN_OR_RETURN(state, evaluation.Run(body, std::move(arguments)));
  }
}

ABSL_ATTRIBUTE_NOINLINE
absl::StatusOr<Literal> EvaluateConditional(Evaluation& evaluation, const Instruction& instruction,
                                            Operands& operands) {
  const int64_t branches = static_cast<int64_t>(instruction.called_computations().size());
  int64_t branch = ElementAsInt64(operands[0], 0);
  if (operands[0].shape().element_type() == PrimitiveType::kPred) branch = branch != 0 ? 0 : 1;
  // An index out of range takes the last branch.
  if (branch < 0 || branch >= branches) branch = branches - 1;
  std::vector<Literal> arguments;
  arguments.push_back(std::move(operands[branch + 1]));
  operands.clear();
  return evaluation.Run(*instruction.called_computation(branch), std::move(arguments));
}

ABSL_ATTRIBUTE_NOINLINE
absl::StatusOr<Literal> EvaluateMap(Evaluation& evaluation, const Instruction& instruction, Operands& operands) {
  KILN_ASSIGN_OR_RETURN(auto function, ScalarFunction::Create(evaluation, *instruction.called_computation()));
  const Shape& shape = instruction.shape();
  KILN_ASSIGN_OR_RETURN(Literal result, evaluation.Allocate(shape));
  std::byte* out = result.mutable_bytes().data();
  const int width = ByteWidth(shape.element_type());
  std::vector<const std::byte*> arguments(operands.size());
  for (int64_t i = 0; i < shape.element_count(); ++i) {
    for (size_t k = 0; k < operands.size(); ++k) {
      arguments[k] = operands[k].bytes().data() + i * ByteWidth(operands[k].shape().element_type());
    }
    std::byte* element = out + i * width;
    KILN_RETURN_IF_ERROR(function->Call(arguments, {&element, 1}));
  }
  return result;
}

// The values have the declared shapes. where() says of what.
template <typename Where>
ABSL_ATTRIBUTE_NOINLINE absl::Status CheckValues(const Where& where, absl::Span<Instruction* const> declared,
                                                 absl::Span<const Literal> values) {
  if (values.size() != declared.size()) {
    return InvalidArgument(where(), " takes ", declared.size(), " values, got ", values.size());
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (!Shape::Compatible(declared[i]->shape(), values[i].shape())) {
      return InvalidArgument(where(), ": value ", i, " is ", values[i].shape().ToString(false), ", expected ",
                             declared[i]->shape().ToString(false));
    }
  }
  return absl::OkStatus();
}

ABSL_ATTRIBUTE_NOINLINE absl::Status WrongResult(const Instruction& instruction, const Shape& found) {
  return InvalidArgument(instruction.Describe(), " evaluates to ", found.ToString(false), ", expected ",
                         instruction.shape().ToString(false));
}

// (operands, result, context...)
ABSL_ATTRIBUTE_NOINLINE absl::StatusOr<Literal> EvaluateAsyncStart(Evaluation& evaluation,
                                                                   const Instruction& instruction,
                                                                   Operands& operands) {
  const Literal inputs = Literal::Tuple(operands);
  KILN_ASSIGN_OR_RETURN(const Literal value, evaluation.Run(*instruction.called_computation(), std::move(operands)));
  return StartTuple(evaluation, instruction, inputs, value);
}

bool IsIdentityCustomCall(absl::string_view target) {
  return target == "Sharding" || target == "SPMDFullToShardShape" || target == "SPMDShardToFullShape" ||
         target == "LayoutConstraint" || target == "annotate_device_placement" ||
         target == "xla.sdy.FuncResultSharding" || target == "xla.sdy.GlobalToLocalShape" ||
         target == "xla.sdy.LocalToGlobalShape";
}

ABSL_ATTRIBUTE_NOINLINE
absl::StatusOr<Literal> EvaluateCustomCall(const Instruction& instruction, Operands& operands) {
  const std::string& target = instruction.Get<CustomCallAttributes>().target;
  if (IsIdentityCustomCall(target) && operands.size() == 1 &&
      Shape::Compatible(operands[0].shape(), instruction.shape())) {
    return std::move(operands[0]);
  }
  return Unimplemented(instruction.Describe(), ": the evaluator does not know custom call '", target, "'");
}

}  // namespace

// How a computation is run: the instructions its root needs, and when each value is used last.
struct Evaluation::Plan {
  struct Step {
    const Instruction* instruction;
    // Slot of each operand, and whether this is the value's last use.
    std::vector<std::pair<int, bool>> operands;
    int slot;
  };
  std::vector<Step> steps;
  std::vector<int> parameter_slots;  // -1: not needed
  int slot_count = 0;
  int root_slot = 0;
};

Evaluation::Evaluation(const EvaluatorOptions& options) : options_(options) {}
Evaluation::~Evaluation() = default;

ABSL_ATTRIBUTE_NOINLINE absl::StatusOr<const Evaluation::Plan*> Evaluation::PlanOf(const Computation& computation) {
  std::unique_ptr<Plan>& cached = plans_[&computation];
  if (cached != nullptr) return cached.get();
  if (computation.root() == nullptr) return InvalidArgument("computation ", computation.name(), " has no root");
  auto plan = std::make_unique<Plan>();
  const std::vector<Instruction*> order = computation.PostOrder();
  for (const Instruction* instruction : order) KILN_RETURN_IF_ERROR(CheckInstruction(*instruction));
  // The instructions that the root depends on, operands first.
  absl::flat_hash_map<const Instruction*, int> slot_of = {{computation.root(), -1}};
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if (!slot_of.contains(*it)) continue;
    for (const Instruction* operand : (*it)->operands()) slot_of.emplace(operand, -1);
  }
  std::vector<const Instruction*> needed;
  {
    // Elements of parameters first: the tuple is then gone before its arrays are updated.
    std::vector<const Instruction*> elements, rest;
    for (const Instruction* instruction : order) {
      if (!slot_of.contains(instruction)) continue;
      const bool is_element =
          instruction->opcode() == Opcode::kGetTupleElement && instruction->operand(0)->IsParameter();
      (instruction->IsParameter() ? needed : is_element ? elements : rest).push_back(instruction);
    }
    needed.insert(needed.end(), elements.begin(), elements.end());
    needed.insert(needed.end(), rest.begin(), rest.end());
  }
  plan->parameter_slots.assign(computation.parameter_count(), -1);
  for (const Instruction* instruction : needed) {
    const int slot = plan->slot_count++;
    slot_of[instruction] = slot;
    if (instruction->IsParameter()) {
      plan->parameter_slots[instruction->parameter_number()] = slot;
      continue;
    }
    Plan::Step step{instruction, {}, slot};
    for (const Instruction* operand : instruction->operands()) step.operands.push_back({slot_of.at(operand), false});
    plan->steps.push_back(std::move(step));
  }
  plan->root_slot = slot_of.at(computation.root());
  std::vector<bool> used_later(plan->slot_count, false);
  used_later[plan->root_slot] = true;
  for (auto step = plan->steps.rbegin(); step != plan->steps.rend(); ++step) {
    for (auto operand = step->operands.rbegin(); operand != step->operands.rend(); ++operand) {
      operand->second = !used_later[operand->first];
      used_later[operand->first] = true;
    }
  }
  cached = std::move(plan);
  return cached.get();
}

absl::Status Evaluation::Charge(int64_t operations) {
  operations = std::max<int64_t>(operations, 0);
  operations_ = operations > std::numeric_limits<int64_t>::max() - operations_ ? std::numeric_limits<int64_t>::max()
                                                                               : operations_ + operations;
  if (options_.max_operations > 0 && operations_ > options_.max_operations) {
    return absl::DeadlineExceededError(
        absl::StrCat("evaluation needs more than the ", options_.max_operations, " operations allowed"));
  }
  if (options_.budget != nullptr) {
    *options_.budget -= std::min(operations, std::max<int64_t>(*options_.budget, 0) + 1);
    if (*options_.budget < 0) return absl::DeadlineExceededError("evaluation needs more operations than are left");
  }
  return absl::OkStatus();
}

absl::StatusOr<Literal> Evaluation::Allocate(const Shape& shape) {
  KILN_RETURN_IF_ERROR(ValidateShape(shape));
  int64_t bytes = 0, elements = 0;
  for (const Shape* leaf : shape.Leaves()) {
    bytes += std::min(leaf->byte_count(), kMaxBytes + 1);
    elements += leaf->IsArray() ? leaf->element_count() : 1;
    if (bytes > kMaxBytes) {
      return ResourceExhausted("the evaluator does not make arrays above ", kMaxBytes, " bytes: ",
                               shape.ToString(false));
    }
  }
  KILN_RETURN_IF_ERROR(Charge(elements));
  return Literal(shape);
}

absl::StatusOr<Literal> Evaluation::Run(const Computation& computation, std::vector<Literal> arguments) {
  if (depth_ >= kMaxDepth) {
    return InvalidArgument("computation ", computation.name(), ": calls are nested deeper than ", kMaxDepth);
  }
  KILN_ASSIGN_OR_RETURN(const Plan* const found, PlanOf(computation));
  const Plan& plan = *found;
  const auto where = [&] { return "computation " + computation.name(); };
  KILN_RETURN_IF_ERROR(CheckValues(where, computation.parameters(), arguments));
  ++depth_;
  std::vector<Literal> values(plan.slot_count);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (plan.parameter_slots[i] >= 0) values[plan.parameter_slots[i]] = std::move(arguments[i]);
  }
  arguments.clear();
  absl::Status status;
  for (const Plan::Step& step : plan.steps) {
    std::vector<Literal> operands;
    operands.reserve(step.operands.size());
    for (const auto& [slot, last] : step.operands) {
      operands.push_back(last ? std::move(values[slot]) : values[slot]);
    }
    absl::StatusOr<Literal> value = RunInstruction(*step.instruction, std::move(operands));
    if (!value.ok()) {
      status = value.status();
      break;
    }
    values[step.slot] = *std::move(value);
  }
  --depth_;
  KILN_RETURN_IF_ERROR(status);
  return std::move(values[plan.root_slot]);
}

absl::StatusOr<Literal> Evaluation::RunInstruction(const Instruction& instruction, std::vector<Literal> operands) {
  KILN_RETURN_IF_ERROR(Charge(1));
  absl::StatusOr<Literal> result = EvaluateOpcode(instruction, operands);
  if (result.ok() && !Shape::Compatible(result->shape(), instruction.shape())) {
    return WrongResult(instruction, result->shape());
  }
  return result;
}

absl::StatusOr<Literal> Evaluation::EvaluateOpcode(const Instruction& instruction, std::vector<Literal>& operands) {
  switch (instruction.opcode()) {
    case Opcode::kConstant:
      return instruction.literal();
    case Opcode::kTuple:
      return Literal::Tuple(std::move(operands));
    case Opcode::kGetTupleElement:
      return std::move((*operands[0].mutable_elements())[instruction.tuple_index()]);
    case Opcode::kOptBarrier:
    case Opcode::kDomain:
    case Opcode::kAddDependency:
      return std::move(operands[0]);
    case Opcode::kAfterAll:
      return Literal(Shape::Token());
    case Opcode::kCall:
    case Opcode::kFusion:
      return Run(*instruction.called_computation(), std::move(operands));
    case Opcode::kWhile:
      return EvaluateWhile(*this, instruction, std::move(operands[0]));
    case Opcode::kConditional:
      return EvaluateConditional(*this, instruction, operands);
    case Opcode::kMap:
      return EvaluateMap(*this, instruction, operands);
    case Opcode::kCustomCall:
      return EvaluateCustomCall(instruction, operands);
    case Opcode::kAsyncStart:
      return EvaluateAsyncStart(*this, instruction, operands);
    case Opcode::kAsyncUpdate:
      return std::move(operands[0]);
    case Opcode::kAsyncDone:
      return operands[0].elements()[1];
    case Opcode::kPartitionId:
    case Opcode::kReplicaId:
      return Allocate(instruction.shape());  // the only device is number 0
    case Opcode::kIota:
      return EvaluateMovement(*this, instruction, operands);
    case Opcode::kTopK:
      return EvaluateTopK(*this, instruction, operands);
    case Opcode::kSort:
      return EvaluateSort(*this, instruction, operands);
    case Opcode::kScan:
      return EvaluateScan(*this, instruction, operands);
    case Opcode::kConvolution:
      return EvaluateConvolution(*this, instruction, operands);
    case Opcode::kFft:
      return EvaluateFft(*this, instruction, operands);
    case Opcode::kBatchNormGrad:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormTraining:
      return EvaluateBatchNorm(*this, instruction, operands);
    default:
      break;
  }
  switch (KindOf(instruction.opcode())) {
    case OpKind::kElementwiseUnary:
    case OpKind::kElementwiseBinary:
    case OpKind::kElementwiseTernary:
      return EvaluateElementwise(*this, instruction, operands);
    case OpKind::kRandom:
      return EvaluateRandom(*this, instruction, operands);
    case OpKind::kDataMovement:
    case OpKind::kDynamicShape:
      return EvaluateMovement(*this, instruction, operands);
    case OpKind::kIndexed:
      return EvaluateIndexed(*this, instruction, operands);
    case OpKind::kContraction:
      return EvaluateContraction(*this, instruction, operands);
    case OpKind::kReduction:
      return EvaluateReduction(*this, instruction, operands);
    case OpKind::kComposite:
      return EvaluateLinearAlgebra(*this, instruction, operands);
    case OpKind::kCommunication:
      return EvaluateCommunication(*this, instruction, operands);
    case OpKind::kSource:
    case OpKind::kControl:
      break;
  }
  return Unimplemented(instruction.Describe(), ": the evaluator has no rule for ", OpcodeName(instruction.opcode()));
}

}  // namespace evaluator

absl::StatusOr<Literal> Evaluate(const Computation& computation, absl::Span<const Literal> arguments,
                                 const EvaluatorOptions& options) {
  evaluator::Evaluation evaluation(options);
  return evaluation.Run(computation, std::vector<Literal>(arguments.begin(), arguments.end()));
}

absl::StatusOr<Literal> EvaluateInstruction(const Instruction& instruction, absl::Span<const Literal> operands,
                                            const EvaluatorOptions& options) {
  if (instruction.IsParameter()) {
    return InvalidArgument(instruction.Describe(), ": a parameter has no value of its own");
  }
  KILN_RETURN_IF_ERROR(evaluator::CheckInstruction(instruction));
  const auto where = [&] { return instruction.Describe(); };
  KILN_RETURN_IF_ERROR(evaluator::CheckValues(where, instruction.operands(), operands));
  evaluator::Evaluation evaluation(options);
  return evaluation.RunInstruction(instruction, std::vector<Literal>(operands.begin(), operands.end()));
}

}  // namespace kiln::hlo
