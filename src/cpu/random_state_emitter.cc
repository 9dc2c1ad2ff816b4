#include "src/cpu/random_state_emitter.h"

#include "llvm/IR/Module.h"
#include "src/base/status.h"

namespace kiln::cpu {

int64_t RandomStateScratchBytes(const hlo::Instruction&) { return 0; }

double RandomStateNanoseconds(const hlo::Instruction&) { return 10; }

absl::Status EmitRandomState(llvm::IRBuilder<>* builder, const hlo::Instruction& instruction, const OpArrays& arrays) {
  constexpr char kStateName[] = "random_state";
  const hlo::Shape& shape = instruction.shape();
  if (shape.element_type() != hlo::PrimitiveType::kU64 || shape.rank() != 1 || shape.dimensions(0) < 1 ||
      shape.dimensions(0) > 2) {
    return InvalidArgument(instruction.Describe(), ": the state has shape ", shape.ToString(),
                           ", expected u64[1] or u64[2]");
  }
  llvm::Module* module = builder->GetInsertBlock()->getModule();
  llvm::Type* word = builder->getInt64Ty();
  llvm::GlobalVariable* state = module->getNamedGlobal(kStateName);
  if (state == nullptr) {
    state = new llvm::GlobalVariable(*module, word, /*isConstant=*/false, llvm::GlobalValue::InternalLinkage,
                                     builder->getInt64(0), kStateName);
  }
  llvm::Value* first = builder->CreateAtomicRMW(llvm::AtomicRMWInst::Add, state,
                                                builder->getInt64(instruction.Get<hlo::RngAttributes>().delta),
                                                llvm::Align(8), llvm::AtomicOrdering::Monotonic);
  const int64_t last = shape.dimensions(0) - 1;
  if (last == 1) builder->CreateStore(builder->getInt64(0), arrays.results[0]);
  builder->CreateStore(first, builder->CreateConstGEP1_64(word, arrays.results[0], last));
  return absl::OkStatus();
}

}  // namespace kiln::cpu
