// Scalar computations as short register programs.
#include <cstring>
#include <utility>

#include "src/hlo/evaluator_internal.h"

namespace kiln::hlo::evaluator {

// False when an instruction is no scalar elementwise op; the general evaluator then takes over.
bool ScalarFunction::Compile() {
  absl::flat_hash_map<const Instruction*, int> register_of;
  std::vector<Register> values;
  parameters_.resize(computation_.parameter_count());
  const Instruction* root = computation_.root();
  for (const Instruction* instruction : computation_.PostOrder()) {
    if (instruction == root && instruction->opcode() == Opcode::kTuple) continue;
    if (!instruction->shape().IsScalar()) return false;
    const int slot = static_cast<int>(values.size());
    values.emplace_back();
    register_of[instruction] = slot;
    if (instruction->IsParameter()) {
      parameters_[instruction->parameter_number()] = {slot, ByteWidth(instruction->shape().element_type())};
    } else if (instruction->IsConstant()) {
      const absl::Span<const std::byte> bytes = instruction->literal().bytes();
      if (bytes.size() > sizeof(Register) || bytes.empty()) return false;
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
      steps_.push_back(step);
    } else {
      return false;
    }
  }
  auto give = [&](const Instruction* value) {
    results_.push_back({register_of.at(value), ByteWidth(value->shape().element_type())});
  };
  if (root->opcode() == Opcode::kTuple) {
    for (const Instruction* element : root->operands()) give(element);
  } else {
    give(root);
  }
  registers_ = std::move(values);
  return true;
}

absl::StatusOr<std::unique_ptr<ScalarFunction>> ScalarFunction::Create(Evaluation& evaluation,
                                                                       const Computation& computation) {
  KILN_RETURN_IF_ERROR(evaluation.Prepare(computation));
  std::unique_ptr<ScalarFunction> function(new ScalarFunction(evaluation, computation));
  if (!function->Compile()) function->steps_.clear();
  return function;
}

absl::Status ScalarFunction::Call(absl::Span<const std::byte* const> arguments,
                                  absl::Span<std::byte* const> results) {
  KILN_RETURN_IF_ERROR(evaluation_.Charge(static_cast<int64_t>(steps_.size()) + 1));
  if (!registers_.empty()) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      std::memcpy(registers_[parameters_[i].slot].bytes, arguments[i], parameters_[i].width);
    }
    for (const Step& step : steps_) {
      KernelOperand operands[3];
      for (int i = 0; i < step.kernel.operand_count; ++i) operands[i].data = registers_[step.operands[i]].bytes;
      RunKernel(step.kernel, 1, absl::MakeSpan(operands, step.kernel.operand_count), registers_[step.result].bytes);
    }
    for (size_t i = 0; i < results.size(); ++i) {
      std::memcpy(results[i], registers_[results_[i].slot].bytes, results_[i].width);
    }
    return absl::OkStatus();
  }
  std::vector<Literal> values;
  for (size_t i = 0; i < arguments.size(); ++i) {
    Literal& value = values.emplace_back(computation_.parameter(static_cast<int64_t>(i))->shape());
    std::memcpy(value.mutable_bytes().data(), arguments[i], value.bytes().size());
  }
  KILN_ASSIGN_OR_RETURN(const Literal result, evaluation_.Run(computation_, std::move(values)));
  for (size_t i = 0; i < results.size(); ++i) {
    const Literal& value = result.shape().IsTuple() ? result.elements()[i] : result;
    std::memcpy(results[i], value.bytes().data(), value.bytes().size());
  }
  return absl::OkStatus();
}

bool ScalarFunction::IsBinary(Opcode opcode) const {
  const Instruction* root = computation_.root();
  if (root->opcode() != opcode || root->operand_count() != 2 || parameters_.size() != 2) return false;
  const Instruction* a = root->operand(0);
  const Instruction* b = root->operand(1);
  return a->IsParameter() && b->IsParameter() && a != b;
}

}  // namespace kiln::hlo::evaluator
