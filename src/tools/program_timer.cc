#include "src/tools/program_timer.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "src/hlo/physical_copy.h"
#include "src/passes/pipeline.h"
#include "src/tools/random_literal.h"

namespace kiln::tools {
namespace {

constexpr int kMostRuns = 25;

}  // namespace

std::unique_ptr<hlo::Module> Isolate(const hlo::Instruction& instruction) {
  auto module = std::make_unique<hlo::Module>(instruction.name());
  std::vector<hlo::Computation*> callees;
  for (const hlo::Computation* callee : instruction.called_computations()) callees.push_back(module->AddClone(*callee));
  hlo::Computation* entry = module->AddComputation("main");
  absl::flat_hash_map<const hlo::Instruction*, hlo::Instruction*> copies;
  std::vector<hlo::Instruction*> operands;
  for (const hlo::Instruction* operand : instruction.operands()) {
    hlo::Instruction*& copy = copies[operand];
    if (copy == nullptr) {
      copy = operand->IsConstant() ? entry->AddClone(*operand, {})
                                   : entry->AddParameter(entry->parameter_count(), operand->shape(), operand->name());
    }
    operands.push_back(copy);
  }
  hlo::Instruction* root = entry->AddClone(instruction, std::move(operands));
  root->set_called_computations(std::move(callees));
  entry->set_root(root);
  module->set_entry(entry);
  return module;
}

cpu::CompileOptions AsItIs(cpu::CompileOptions options) {
  // What does not rewrite puts instructions in order.
  options.disabled_passes = passes::PassNames();
  std::erase_if(options.disabled_passes,
                [](const std::string& name) { return name == "schedule" || name == "flatten-call-graph"; });
  return options;
}

absl::StatusOr<void*> ProgramTimer::Allocate(int64_t bytes) {
  const size_t rounded = (static_cast<size_t>(std::max<int64_t>(bytes, 1)) + 63) / 64 * 64;
  memory_.emplace_back(std::aligned_alloc(64, rounded));
  if (memory_.back() == nullptr) return ResourceExhausted("cannot allocate ", bytes, " bytes");
  return memory_.back().get();
}

absl::StatusOr<ProgramTimer> ProgramTimer::Create(std::unique_ptr<cpu::Executable> executable,
                                                  const std::vector<const hlo::Literal*>& inputs) {
  ProgramTimer timer;
  timer.executable_ = std::move(executable);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const hlo::Shape& shape = timer.executable_->parameter_leaves()[i];
    KILN_ASSIGN_OR_RETURN(void* argument, timer.Allocate(shape.byte_count()));
    if (shape.IsArray()) hlo::ToPhysical(*inputs[i], shape, argument);
    timer.arguments_.push_back(argument);
  }
  for (const hlo::Shape& shape : timer.executable_->output_leaves()) {
    KILN_ASSIGN_OR_RETURN(timer.results_.emplace_back(), timer.Allocate(shape.byte_count()));
  }
  KILN_ASSIGN_OR_RETURN(timer.arena_, timer.Allocate(timer.executable_->arena_bytes()));
  return timer;
}

absl::StatusOr<ProgramTimer> ProgramTimer::Create(std::unique_ptr<hlo::Module> module,
                                                  const cpu::CompileOptions& options) {
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<cpu::Executable> executable,
                        cpu::Executable::Compile(std::move(module), options));
  std::vector<hlo::Literal> inputs;
  std::vector<const hlo::Literal*> leaves;
  uint64_t seed = 1;
  for (const hlo::Shape& shape : executable->parameter_leaves()) inputs.push_back(RandomLiteral(shape, &seed));
  for (const hlo::Literal& input : inputs) leaves.push_back(&input);
  return Create(std::move(executable), leaves);
}

absl::StatusOr<double> ProgramTimer::RunSeconds(ThreadPool* pool) const {
  const auto start = std::chrono::steady_clock::now();
  KILN_RETURN_IF_ERROR(executable_->Run(arguments_, results_, arena_, pool));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

hlo::Literal ProgramTimer::Result(size_t leaf) const {
  const hlo::Shape& shape = executable_->output_leaves()[leaf];
  return shape.IsArray() ? hlo::FromPhysical(results_[leaf], shape) : hlo::Literal(shape);
}

absl::StatusOr<double> ProgramTimer::MedianSeconds(ThreadPool* pool, double budget) const {
  // The first run finds caches and pages cold.
  KILN_ASSIGN_OR_RETURN(double spent, RunSeconds(pool));
  std::vector<double> seconds;
  do {
    KILN_ASSIGN_OR_RETURN(seconds.emplace_back(), RunSeconds(pool));
    spent += seconds.back();
  } while (static_cast<int>(seconds.size()) < kMostRuns && spent < budget);
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<int64_t>(seconds.size() / 2), seconds.end());
  return seconds[seconds.size() / 2];
}

}  // namespace kiln::tools
