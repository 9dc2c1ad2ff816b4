#include "src/cpu/warm_up.h"

#include <atomic>
#include <memory>
#include <utility>

#include "src/cpu/executable.h"
#include "src/hlo/builder.h"
#include "src/hlo/module.h"
#include "src/passes/simplify/algebraic_simplifier.h"

namespace kiln::cpu {
namespace {

// A vector loop with polynomials, and a reduction: two kernels, which is what most programs consist of.
std::unique_ptr<hlo::Module> SmallProgram() {
  const hlo::Shape rows = hlo::Shape(hlo::PrimitiveType::kF32, {64, 64});
  auto module = std::make_unique<hlo::Module>("warm_up");
  hlo::Computation* entry = module->AddComputation("main");
  hlo::Builder builder(entry, /*origin=*/nullptr);
  hlo::Instruction* exponential = builder.Unary(hlo::Opcode::kExp, entry->AddParameter(0, rows));
  hlo::Instruction* sums =
      builder.Reduce(exponential, builder.Scalar(hlo::PrimitiveType::kF32, 0), {0}, hlo::Opcode::kAdd);
  entry->set_root(builder.Tuple({builder.Unary(hlo::Opcode::kTanh, exponential), sums}));
  module->set_entry(entry);
  return module;
}

}  // namespace

absl::Status WarmUpCompiler() {
  static std::atomic<bool> begun = false;
  if (begun.exchange(true, std::memory_order_relaxed)) return absl::OkStatus();
  KILN_RETURN_IF_ERROR(passes::ParseSimplifierRules());
  CompileOptions options;
  options.reuse_code = false;  // nobody asks for these kernels
  return Executable::Compile(SmallProgram(), options).status();
}

}  // namespace kiln::cpu
