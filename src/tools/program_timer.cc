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

// Everything that rewrites; what is left puts instructions in order.
std::vector<std::string> RewritingPasses() {
  std::vector<std::string> names = passes::PassNames();
  std::erase_if(names, [](const std::string& name) { return name == "schedule" || name == "flatten-call-graph"; });
  return names;
}

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

absl::StatusOr<ProgramTimer> ProgramTimer::Create(std::unique_ptr<hlo::Module> module, int threads, bool as_it_is) {
  ProgramTimer timer;
  cpu::CompileOptions options;
  options.max_parallelism = threads;
  if (as_it_is) options.disabled_passes = RewritingPasses();
  KILN_ASSIGN_OR_RETURN(timer.executable_, cpu::Executable::Compile(std::move(module), options));
  const cpu::Executable& executable = *timer.executable_;
  uint64_t seed = 1;
  for (const hlo::Shape& shape : executable.parameter_leaves()) {
    KILN_ASSIGN_OR_RETURN(Memory buffer, Allocate(shape.byte_count()));
    if (shape.IsArray()) hlo::ToPhysical(RandomLiteral(shape, &seed), shape, buffer.get());
    timer.arguments_.push_back(buffer.get());
    timer.memory_.push_back(std::move(buffer));
  }
  for (const hlo::Shape& shape : executable.output_leaves()) {
    KILN_ASSIGN_OR_RETURN(Memory buffer, Allocate(shape.byte_count()));
    timer.results_.push_back(buffer.get());
    timer.memory_.push_back(std::move(buffer));
  }
  KILN_ASSIGN_OR_RETURN(timer.arena_, Allocate(executable.arena_bytes()));
  return timer;
}

absl::StatusOr<double> ProgramTimer::MedianSeconds(ThreadPool* pool, double budget) const {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  std::vector<double> seconds;
  // The first run finds caches and pages cold.
  KILN_RETURN_IF_ERROR(executable_->Run(arguments_, results_, arena_.get(), pool));
  do {
    const auto start = Clock::now();
    KILN_RETURN_IF_ERROR(executable_->Run(arguments_, results_, arena_.get(), pool));
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  } while (static_cast<int>(seconds.size()) < kMostRuns &&
           std::chrono::duration<double>(Clock::now() - begin).count() < budget);
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<int64_t>(seconds.size() / 2), seconds.end());
  return seconds[seconds.size() / 2];
}

}  // namespace kiln::tools
