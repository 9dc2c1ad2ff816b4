// Scalar computations as short register programs.
#include <cstring>
#include <utility>

#include "src/hlo/evaluator_internal.h"
#include "src/hlo/evaluator_kernel.h"

namespace kiln::hlo::evaluator {
namespace {

constexpr int kRegisterBytes = 16;  // the widest element, c128

struct alignas(16) Register {
  std::byte bytes[kRegisterBytes];
};

}  // namespace

struct ScalarFunction::Program {
  struct Step {
    KernelSpec kernel;
    int operands[3] = {0, 0, 0};
    int result = 0;
  };
  Evaluation* evaluation = nullptr;
  const Computation* computation = nullptr;
  // Empty `registers`: evaluated by Evaluation::Run.
  std::vector<Register> registers;
  std::vector<Step> steps;
  std::vector<int> parameters;  // register of each
  std::vector<int> results;
  std::vector<PrimitiveType> parameter_types;
  std::vector<PrimitiveType> result_types;

  bool Compile();
};

// False when an instruction is no scalar elementwise op; the general evaluator then takes over.
bool ScalarFunction::Program::Compile() {
  absl::flat_hash_map<const Instruction*, int> register_of;
  std::vector<Register> values;
  parameters.assign(computation->parameter_count(), 0);
  const Instruction* root = computation->root();
  for (const Instruction* instruction : computation->PostOrder()) {
    if (instruction == root && instruction->opcode() == Opcode::kTuple) continue;
    if (!instruction->shape().IsScalar()) return false;
    const int slot = static_cast<int>(values.size());
    values.emplace_back();
    std::memset(values.back().bytes, 0, kRegisterBytes);
    register_of[instruction] = slot;
    if (instruction->IsParameter()) {
      parameters[instruction->parameter_number()] = slot;
    } else if (instruction->IsConstant()) {
      const absl::Span<const std::byte> bytes = instruction->literal().bytes();
      if (bytes.size() > kRegisterBytes || bytes.empty()) return false;
      std::memcpy(values.back().bytes, bytes.data(), bytes.size());
    } else if (instruction->opcode() == Opcode::kCopy || instruction->opcode() == Opcode::kReshape ||
               instruction->opcode() == Opcode::kOptBarrier) {
      const auto same = register_of.at(instruction->operand(0));  // not a reference: the insertion may rehash
      register_of[instruction] = same;
      if (instruction->operand(0)->shape().element_type() != instruction->shape().element_type()) return false;
    } else if (IsElementwise(instruction->opcode()) || instruction->opcode() == Opcode::kBitcastConvert) {
      absl::StatusOr<KernelSpec> kernel = MakeKernel(*instruction);
      if (!kernel.ok()) return false;  // reported by the general evaluator when it is reached
      Step step;
      step.kernel = *kernel;
      step.result = slot;
      for (int64_t i = 0; i < instruction->operand_count(); ++i) {
        step.operands[i] = register_of.at(instruction->operand(i));
      }
      steps.push_back(step);
    } else {
      return false;
    }
  }
  if (root->opcode() == Opcode::kTuple) {
    for (const Instruction* element : root->operands()) results.push_back(register_of.at(element));
  } else {
    results.push_back(register_of.at(root));
  }
  registers = std::move(values);
  return true;
}

ScalarFunction::ScalarFunction(std::unique_ptr<Program> program) : program_(std::move(program)) {}
ScalarFunction::~ScalarFunction() = default;

absl::StatusOr<std::unique_ptr<ScalarFunction>> ScalarFunction::Create(Evaluation& evaluation,
                                                                       const Computation& computation) {
  auto program = std::make_unique<Program>();
  program->evaluation = &evaluation;
  program->computation = &computation;
  KILN_RETURN_IF_ERROR(evaluation.Prepare(computation));
  for (const Instruction* parameter : computation.parameters()) {
    program->parameter_types.push_back(parameter->shape().element_type());
  }
  for (const Shape* leaf : computation.root()->shape().Leaves()) program->result_types.push_back(leaf->element_type());
  if (!program->Compile()) {
    program->registers.clear();
    program->steps.clear();
    program->results.clear();
  }
  return std::unique_ptr<ScalarFunction>(new ScalarFunction(std::move(program)));
}

absl::Status ScalarFunction::Call(absl::Span<const std::byte* const> arguments,
                                  absl::Span<std::byte* const> results) {
  Program& program = *program_;
  KILN_RETURN_IF_ERROR(program.evaluation->Charge(static_cast<int64_t>(program.steps.size()) + 1));
  if (!program.registers.empty()) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      std::memcpy(program.registers[program.parameters[i]].bytes, arguments[i], ByteWidth(program.parameter_types[i]));
    }
    for (const Program::Step& step : program.steps) {
      KernelOperand operands[3];
      for (int i = 0; i < step.kernel.operand_count; ++i) operands[i].data = program.registers[step.operands[i]].bytes;
      RunKernel(step.kernel, 1, absl::MakeSpan(operands, step.kernel.operand_count),
                program.registers[step.result].bytes);
    }
    for (size_t i = 0; i < results.size(); ++i) {
      std::memcpy(results[i], program.registers[program.results[i]].bytes, ByteWidth(program.result_types[i]));
    }
    return absl::OkStatus();
  }
  std::vector<Literal> values;
  for (size_t i = 0; i < arguments.size(); ++i) {
    Literal value(program.computation->parameter(static_cast<int64_t>(i))->shape());
    absl::Span<std::byte> bytes = value.mutable_bytes();
    std::memcpy(bytes.data(), arguments[i], bytes.size());
    values.push_back(std::move(value));
  }
  KILN_ASSIGN_OR_RETURN(const Literal result, program.evaluation->Run(*program.computation, std::move(values)));
  // Leaves in pre-order.
  std::vector<const Literal*> pending = {&result};
  size_t next = 0;
  while (!pending.empty()) {
    const Literal* literal = pending.back();
    pending.pop_back();
    if (literal->shape().IsTuple()) {
      for (auto it = literal->elements().rbegin(); it != literal->elements().rend(); ++it) pending.push_back(&*it);
    } else {
      std::memcpy(results[next++], literal->bytes().data(), literal->bytes().size());
    }
  }
  return absl::OkStatus();
}

bool ScalarFunction::IsBinary(Opcode opcode) const {
  const Instruction* root = program_->computation->root();
  if (root->opcode() != opcode || root->operand_count() != 2 || program_->parameters.size() != 2) return false;
  const Instruction* a = root->operand(0);
  const Instruction* b = root->operand(1);
  return a->IsParameter() && b->IsParameter() && a != b;
}

}  // namespace kiln::hlo::evaluator
