#include "src/cpu/op_emitters.h"

#include "src/base/status.h"

namespace kiln::cpu {
namespace {

// One 64-bit counter per program, 0 when it is compiled, shared by all its random ops, runs and threads: the op takes
// `delta` numbers from it and gives the first of them (u64[1], or u64[2] with the counter last).
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

constexpr OpEmitter kRandomStateEmitter = {
    [](const hlo::Instruction& i) { return i.opcode() == hlo::Opcode::kRngGetAndUpdateState; },
    [](const hlo::Instruction&) { return int64_t{0}; }, [](const hlo::Instruction&) { return 10.0; }, EmitRandomState};

constexpr const OpEmitter* kEmitters[] = {&kKeySortEmitter,    &kSortEmitter, &kScanEmitter, &kFftEmitter,
                                          &kDenseSolveEmitter, &kJoinEmitter, &kCutEmitter,  &kRandomStateEmitter};

}  // namespace

std::vector<llvm::Value*> OpArrays::All() const {
  std::vector<llvm::Value*> all = operands;
  all.insert(all.end(), results.begin(), results.end());
  return all;
}

const OpEmitter* FindOpEmitter(const hlo::Instruction& instruction) {
  for (const OpEmitter* emitter : kEmitters) {
    if (emitter->serves(instruction)) return emitter;
  }
  return nullptr;
}

}  // namespace kiln::cpu
