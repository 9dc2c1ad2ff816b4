// PTX of elementwise kernels; assembled by ptxas where the CUDA toolkit is present.
#include "src/gpu/ptx.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "llvm/IR/IRBuilder.h"
#include "src/hlo/module.h"
#include "src/kernel/scalar_emitter.h"

namespace kiln::gpu {
namespace {

using hlo::Opcode;
using hlo::PrimitiveType;
using testing::HasSubstr;

// out[i] = op(in[i], ...) for one thread, as a kernel named `name`.
absl::Status AddKernel(llvm::Module& module, const std::string& name, Opcode opcode, PrimitiveType operand,
                       PrimitiveType result) {
  hlo::Module hlo_module("m");
  hlo::Computation* computation = hlo_module.AddComputation("c");
  std::vector<hlo::Instruction*> parameters;
  for (int i = 0; i < hlo::GetOpcodeInfo(opcode).operand_count; ++i) {
    parameters.push_back(computation->AddParameter(i, hlo::Shape::Scalar(operand)));
  }
  hlo::Attributes attributes;
  if (opcode == Opcode::kCompare) attributes = hlo::CompareAttributes{hlo::ComparisonDirection::kLt};
  hlo::Instruction* instruction = computation->Add(opcode, hlo::Shape::Scalar(result), parameters, attributes);

  llvm::IRBuilder<> b(module.getContext());
  std::vector<llvm::Type*> types(parameters.size() + 1, b.getPtrTy(1));
  auto* function = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), types, false),
                                          llvm::GlobalValue::ExternalLinkage, name, &module);
  function->setCallingConv(llvm::CallingConv::PTX_Kernel);
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  kernel::ScalarEmitter emitter(&b, 1, kernel::Target::kGpu);
  const bool complex = hlo::ClassOf(operand) == hlo::TypeClass::kComplex;
  std::vector<kernel::Value> values;
  for (size_t i = 0; i < parameters.size(); ++i) {
    llvm::Type* type = emitter.MemoryType(operand);
    auto load = [&](int part) {
      llvm::Value* address = b.CreateConstInBoundsGEP1_64(type, function->getArg(i), part);
      return emitter.FromMemory(operand, b.CreateLoad(type, address));
    };
    kernel::Value value{operand, load(0), nullptr};
    if (complex) value.imaginary = load(1);
    values.push_back(value);
  }
  KILN_ASSIGN_OR_RETURN(kernel::Value value, emitter.Elementwise(*instruction, values));
  llvm::Type* type = emitter.MemoryType(result);
  b.CreateStore(emitter.ToMemory(result, value.value), function->getArg(parameters.size()));
  if (value.imaginary != nullptr) {
    b.CreateStore(emitter.ToMemory(result, value.imaginary),
                  b.CreateConstInBoundsGEP1_64(type, function->getArg(parameters.size()), 1));
  }
  b.CreateRetVoid();
  return absl::OkStatus();
}

// Every elementwise op that is defined for `type` and gives it back.
void AddAll(llvm::Module& module, PrimitiveType type, int* count) {
  for (int i = 0; i < hlo::kOpcodeCount; ++i) {
    const Opcode opcode = static_cast<Opcode>(i);
    if (!hlo::IsElementwise(opcode) || opcode == Opcode::kConvert || opcode == Opcode::kSelect ||
        opcode == Opcode::kReducePrecision || opcode == Opcode::kStochasticConvert || opcode == Opcode::kComplex) {
      continue;
    }
    PrimitiveType result = type;
    if (opcode == Opcode::kCompare || opcode == Opcode::kIsFinite) result = PrimitiveType::kPred;
    if (opcode == Opcode::kCompare && hlo::ClassOf(type) == hlo::TypeClass::kComplex) continue;
    if (opcode == Opcode::kAbs || opcode == Opcode::kReal || opcode == Opcode::kImag) {
      result = hlo::ComplexComponentType(type);
    }
    std::string name = absl::StrCat("k", i);
    absl::Status status = AddKernel(module, name, opcode, type, result);
    if (absl::IsUnimplemented(status)) {
      module.getFunction(name)->eraseFromParent();
      continue;
    }
    ASSERT_TRUE(status.ok()) << status;
    ++*count;
  }
}

class PtxTest : public testing::TestWithParam<PrimitiveType> {};

TEST_P(PtxTest, SelectsEveryElementwiseOp) {
  llvm::LLVMContext context;
  llvm::Module module("ops", context);
  int count = 0;
  ASSERT_NO_FATAL_FAILURE(AddAll(module, GetParam(), &count));
  EXPECT_GT(count, 5);
  absl::StatusOr<std::string> ptx = EmitPtx(module);
  ASSERT_TRUE(ptx.ok()) << ptx.status();
  EXPECT_THAT(*ptx, HasSubstr(".target sm_90"));
  EXPECT_THAT(*ptx, HasSubstr(".version 8.3"));
  EXPECT_THAT(*ptx, HasSubstr(".entry k0("));
  const char* ptxas = "/usr/local/cuda/bin/ptxas";
  if (std::ifstream(ptxas).good()) {
    std::string path = absl::StrCat(testing::TempDir(), "kiln_", getpid(), ".ptx");
    std::ofstream(path) << *ptx;
    // Compile only the first level of optimization: the text's validity is what is tested.
    std::string command = absl::StrCat(ptxas, " -O1 -arch=sm_90 ", path, " -o /dev/null");
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    std::remove(path.c_str());
  }
}

INSTANTIATE_TEST_SUITE_P(Types, PtxTest,
                         testing::Values(PrimitiveType::kS4, PrimitiveType::kS32, PrimitiveType::kU64,
                                         PrimitiveType::kF8E4M3FN, PrimitiveType::kBF16, PrimitiveType::kF16,
                                         PrimitiveType::kF32, PrimitiveType::kF64, PrimitiveType::kC64,
                                         PrimitiveType::kC128),
                         [](const auto& info) { return std::string(hlo::PrimitiveTypeName(info.param)); });

TEST(PtxErrorTest, UnknownProcessorIsRefused) {
  llvm::LLVMContext context;
  llvm::Module module("empty", context);
  absl::StatusOr<std::string> ptx = EmitPtx(module, PtxOptions{.compute_capability = 7});
  EXPECT_EQ(ptx.status().code(), absl::StatusCode::kInvalidArgument) << ptx.status();
}

TEST(PtxErrorTest, InvalidModuleIsRefused) {
  llvm::LLVMContext context;
  llvm::Module module("broken", context);
  auto* function = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getInt32Ty(context), false),
                                          llvm::GlobalValue::ExternalLinkage, "f", &module);
  llvm::BasicBlock::Create(context, "entry", function);  // no terminator
  EXPECT_EQ(EmitPtx(module).status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace kiln::gpu
