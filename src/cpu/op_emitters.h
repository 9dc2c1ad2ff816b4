// Ops that are no kernels: each emits its own loops over whole arrays.
#ifndef KILN_CPU_OP_EMITTERS_H_
#define KILN_CPU_OP_EMITTERS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "src/hlo/instruction.h"

namespace kiln::cpu {

// What an op may add to the program that it is part of.
class OpProgram {
 public:
  virtual ~OpProgram() = default;
  // A function that ops call, as the caller's module knows it. Its name says all about it; `emit` gives it its body, in
  // a module of its own, which is compiled side by side with others or found where it was compiled before.
  virtual llvm::Function* Function(const std::string& name, llvm::FunctionType* (*type)(llvm::LLVMContext& context),
                                   const std::function<void(llvm::Function*)>& emit) = 0;
  // The address of a constant that is made once per key, and kept and serialized together with the program.
  virtual llvm::Value* Table(const std::string& key, const std::function<hlo::Literal()>& make) = 0;
};

// Where an op's arrays are; dense and row-major.
struct OpArrays {
  OpProgram* program = nullptr;
  llvm::Value* context = nullptr;      // the ProgramContext
  std::vector<llvm::Value*> operands;  // one pointer per operand leaf
  std::vector<llvm::Value*> results;   // one pointer per result leaf; distinct from operands but for may_share
  llvm::Value* scratch = nullptr;      // scratch_bytes, aligned to 64

  // Operands, then results.
  std::vector<llvm::Value*> All() const;
};

struct OpEmitter {
  bool (*serves)(const hlo::Instruction&);
  int64_t (*scratch_bytes)(const hlo::Instruction&);
  double (*nanoseconds)(const hlo::Instruction&);  // roughly, of one run on one thread
  // Emits the op at the builder, which goes on behind it.
  absl::Status (*emit)(llvm::IRBuilder<>*, const hlo::Instruction&, const OpArrays&);
  // Whether result `leaf` may be in the memory of operand `operand`; null: never.
  bool (*may_share)(const hlo::Instruction&, int64_t leaf, int64_t operand) = nullptr;
};

// Radix sorts and selections of the largest, for sorts by keys (src/passes/sort_keys.h); all other sorts and
// selections.
extern const OpEmitter kKeySortEmitter, kSortEmitter;
// Scans whose bodies are formulas of elements (src/passes/scan_expander.h), as loops of vectors.
extern const OpEmitter kScanEmitter;
// Fourier transforms: a plan (fft_plan.h) as calls of functions compiled with Kiln (fft_kernels.h).
extern const OpEmitter kFftEmitter;
// Cholesky, triangular solves, and custom calls "LuDecomposition", which give factors, pivots and permutation, of f32
// and f64: calls of dense_solver.h.
extern const OpEmitter kDenseSolveEmitter;
// Concatenates of many arrays, as one call of array_join.h, and the many slices of one, as copies.
extern const OpEmitter kJoinEmitter, kCutEmitter;

// The first of them that serves an instruction; null where none does.
const OpEmitter* FindOpEmitter(const hlo::Instruction& instruction);

}  // namespace kiln::cpu

#endif  // KILN_CPU_OP_EMITTERS_H_
