#include "tests/kernel/jit_test_util.h"

#include "absl/strings/str_cat.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include "src/base/isa_level.h"
#include "src/base/status.h"
#include "src/kernel/math/large_reduction.h"

namespace kiln::kernel {

ElementwiseJit::ElementwiseJit(int lanes, Target target, const std::string& cpu, bool few_elements)
    : lanes_(lanes),
      target_(target),
      cpu_(cpu),
      few_elements_(few_elements),
      context_(std::make_unique<llvm::LLVMContext>()) {
  if (!cpu_.empty()) LimitIsa(IsaLevel::kAvx2);
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  module_ = std::make_unique<llvm::Module>("elementwise", *context_);
}

ElementwiseJit::~ElementwiseJit() {
  if (!cpu_.empty()) LimitIsa(IsaLevel::kAmxFp16);
}

absl::Status ElementwiseJit::Add(const std::string& name, const hlo::Instruction& instruction) {
  llvm::IRBuilder<> b(*context_);
  llvm::Type* pointer = b.getPtrTy();
  auto* function =
      llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, b.getInt64Ty()}, false),
                             llvm::GlobalValue::ExternalLinkage, name, module_.get());
  auto* entry = llvm::BasicBlock::Create(*context_, "entry", function);
  auto* loop = llvm::BasicBlock::Create(*context_, "loop", function);
  auto* done = llvm::BasicBlock::Create(*context_, "done", function);
  b.SetInsertPoint(entry);
  ScalarEmitter emitter(&b, lanes_, target_, /*flushes_subnormals=*/false, few_elements_);
  auto plane = [&](int argument, int index) {
    return b.CreateLoad(pointer, b.CreateConstInBoundsGEP1_64(pointer, function->getArg(argument), index));
  };
  std::vector<llvm::Value*> inputs;
  for (const hlo::Instruction* operand : instruction.operands()) {
    const bool complex = hlo::ClassOf(operand->shape().element_type()) == hlo::TypeClass::kComplex;
    for (int part = 0; part < (complex ? 2 : 1); ++part) inputs.push_back(plane(0, static_cast<int>(inputs.size())));
  }
  const hlo::PrimitiveType to = instruction.shape().element_type();
  const bool complex_result = hlo::ClassOf(to) == hlo::TypeClass::kComplex;
  std::vector<llvm::Value*> outputs = {plane(1, 0)};
  if (complex_result) outputs.push_back(plane(1, 1));
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode* index = b.CreatePHI(b.getInt64Ty(), 2);
  index->addIncoming(b.getInt64(0), entry);
  auto vector_of = [&](llvm::Type* type) -> llvm::Type* {
    return lanes_ == 1 ? type : llvm::FixedVectorType::get(type, lanes_);
  };
  size_t next_input = 0;
  std::vector<Value> values;
  for (const hlo::Instruction* operand : instruction.operands()) {
    const hlo::PrimitiveType type = operand->shape().element_type();
    llvm::Type* memory = emitter.MemoryType(type);
    auto load = [&]() {
      llvm::Value* address = b.CreateInBoundsGEP(memory, inputs[next_input++], {index});
      return emitter.FromMemory(type, b.CreateAlignedLoad(vector_of(memory), address, llvm::Align(1)));
    };
    Value value{type, load(), nullptr};
    if (hlo::ClassOf(type) == hlo::TypeClass::kComplex) value.imaginary = load();
    values.push_back(value);
  }
  absl::StatusOr<Value> result = emitter.Elementwise(instruction, values);
  if (!result.ok()) {
    function->eraseFromParent();
    return result.status();
  }
  if (result->type != to) {
    return Internal(hlo::OpcodeName(instruction.opcode()), " gave ", hlo::PrimitiveTypeName(result->type));
  }
  if (b.GetInsertBlock() != loop) return Internal("control flow was emitted into the caller");
  llvm::Type* memory = emitter.MemoryType(to);
  auto store = [&](llvm::Value* part, llvm::Value* base) {
    b.CreateAlignedStore(emitter.ToMemory(to, part), b.CreateInBoundsGEP(memory, base, {index}), llvm::Align(1));
  };
  store(result->value, outputs[0]);
  if (complex_result) store(result->imaginary, outputs[1]);
  llvm::Value* next = b.CreateAdd(index, b.getInt64(lanes_));
  index->addIncoming(next, loop);
  b.CreateCondBr(b.CreateICmpULT(next, function->getArg(2)), loop, done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  return absl::OkStatus();
}

std::string ElementwiseJit::Text() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module_->print(stream, nullptr);
  return stream.str();
}

absl::Status ElementwiseJit::Compile() {
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (llvm::verifyModule(*module_, &stream)) return Internal("invalid IR: ", stream.str());
  llvm::orc::LLJITBuilder builder;
  if (!cpu_.empty()) {
    llvm::orc::JITTargetMachineBuilder machine{llvm::Triple(llvm::sys::getProcessTriple())};
    machine.setCPU(cpu_);
    builder.setJITTargetMachineBuilder(machine);
  }
  llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> jit = builder.create();
  if (!jit) return Internal(llvm::toString(jit.takeError()));
  jit_ = std::move(*jit);
  module_->setDataLayout(jit_->getDataLayout());
  llvm::orc::SymbolMap runtime;
  runtime[jit_->mangleAndIntern(math::kReduceLargeName)] = {llvm::orc::ExecutorAddr::fromPtr(&math::ReduceLarge),
                                                            llvm::JITSymbolFlags::Exported};
  llvm::Error error = jit_->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(runtime)));
  if (!error) error = jit_->addIRModule(llvm::orc::ThreadSafeModule(std::move(module_), std::move(context_)));
  if (error) return Internal(llvm::toString(std::move(error)));
  return absl::OkStatus();
}

absl::Status ElementwiseJit::Run(const std::string& name, std::vector<const void*> operands, std::vector<void*> results,
                                 int64_t count) {
  llvm::Expected<llvm::orc::ExecutorAddr> address = jit_->lookup(name);
  if (!address) return Internal(llvm::toString(address.takeError()));
  using Function = void (*)(const void* const*, void* const*, int64_t);
  address->toPtr<Function>()(operands.data(), results.data(), count);
  return absl::OkStatus();
}

}  // namespace kiln::kernel
