// Compiles elementwise instructions with the scalar emitter and a plain LLJIT, and runs them over arrays.
#ifndef KILN_TESTS_KERNEL_JIT_TEST_UTIL_H_
#define KILN_TESTS_KERNEL_JIT_TEST_UTIL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "src/hlo/module.h"
#include "src/kernel/scalar_emitter.h"

namespace llvm {
class LLVMContext;
class Module;
namespace orc {
class LLJIT;
}
}  // namespace llvm

namespace kiln::kernel {

// One instruction over parameters of the given types, with scalar shapes.
inline hlo::Instruction* MakeElementwise(hlo::Module* module, hlo::Opcode opcode, hlo::PrimitiveType result,
                                         std::vector<hlo::PrimitiveType> operands, hlo::Attributes attributes = {}) {
  hlo::Computation* computation = module->AddComputation("c");
  std::vector<hlo::Instruction*> parameters;
  for (size_t i = 0; i < operands.size(); ++i) {
    parameters.push_back(computation->AddParameter(static_cast<int64_t>(i), hlo::Shape::Scalar(operands[i])));
  }
  return computation->Add(opcode, hlo::Shape::Scalar(result), parameters, std::move(attributes));
}

// Functions of one LLVM module. Arrays are given as planes: one per operand part, real parts before imaginary ones.
class ElementwiseJit {
 public:
  // For the host's processor, or for `cpu`, the x86-64 level that is AVX2, when it is not empty. `few_elements` as the
  // emitter has it.
  explicit ElementwiseJit(int lanes, Target target = Target::kCpu, const std::string& cpu = "",
                          bool few_elements = false);
  ~ElementwiseJit();
  ElementwiseJit(const ElementwiseJit&) = delete;
  ElementwiseJit& operator=(const ElementwiseJit&) = delete;

  // A function `name`(operand planes, result planes, count): count is a multiple of the lanes.
  absl::Status Add(const std::string& name, const hlo::Instruction& instruction);
  const llvm::Module& module() const { return *module_; }
  std::string Text() const;
  absl::Status Compile();
  absl::Status Run(const std::string& name, std::vector<const void*> operands, std::vector<void*> results,
                   int64_t count);

 private:
  int lanes_;
  Target target_;
  std::string cpu_;
  bool few_elements_;
  std::unique_ptr<llvm::LLVMContext> context_;
  std::unique_ptr<llvm::Module> module_;
  std::unique_ptr<llvm::orc::LLJIT> jit_;
};

}  // namespace kiln::kernel

#endif  // KILN_TESTS_KERNEL_JIT_TEST_UTIL_H_
