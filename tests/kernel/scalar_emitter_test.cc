// Constants and refusals of the scalar emitter.
#include <map>

#include "gtest/gtest.h"
#include "tests/kernel/elementwise_test_util.h"

namespace kiln::kernel {
namespace {

TEST(ScalarEmitterTest, ConstantsComeFromLiterals) {
  llvm::LLVMContext context;
  llvm::IRBuilder<> b(context);
  ScalarEmitter emitter(&b, 4, Target::kCpu);
  const float values[] = {1.5f, -0.0f};
  Value value = emitter.Constant(hlo::Literal::Vector<float>(values), 1);
  auto* constant = llvm::dyn_cast<llvm::Constant>(value.value);
  ASSERT_NE(constant, nullptr);
  auto* splat = llvm::dyn_cast<llvm::ConstantFP>(constant->getSplatValue());
  ASSERT_NE(splat, nullptr);
  EXPECT_TRUE(splat->isExactlyValue(-0.0));
  Value pred = emitter.Constant(hlo::Literal::Scalar(true), 0);
  EXPECT_TRUE(llvm::cast<llvm::Constant>(pred.value)->isOneValue() ||
              llvm::cast<llvm::Constant>(pred.value)->isAllOnesValue());
}

// Lane counts that the other tests leave out give the same bits as one lane.
TEST(ScalarEmitterTest, EveryLaneCountGivesTheSameBits) {
  std::vector<std::pair<Opcode, PrimitiveType>> ops;
  for (int i = 0; i < hlo::kOpcodeCount; ++i) {
    const Opcode opcode = static_cast<Opcode>(i);
    if (!hlo::IsElementwise(opcode) || opcode == Opcode::kSelect || opcode == Opcode::kCompare ||
        opcode == Opcode::kIsFinite || opcode == Opcode::kReducePrecision || opcode == Opcode::kStochasticConvert ||
        opcode == Opcode::kComplex) {
      continue;
    }
    for (PrimitiveType type : {PrimitiveType::kS8, PrimitiveType::kU32, PrimitiveType::kS64, PrimitiveType::kBF16,
                               PrimitiveType::kF16, PrimitiveType::kF32, PrimitiveType::kF64}) {
      ops.push_back({opcode, type});
    }
  }
  constexpr int kCount = 512;
  std::map<std::string, std::vector<uint8_t>> expected;
  for (int lanes : {1, 2, 8, 32, 64}) {
    hlo::Module module("m");
    ElementwiseJit jit(lanes);
    std::vector<std::pair<std::string, PrimitiveType>> added;
    for (auto [opcode, type] : ops) {
      std::string name = absl::StrCat(Name(opcode), "_", Name(type));
      std::vector<PrimitiveType> operands(hlo::GetOpcodeInfo(opcode).operand_count, type);
      absl::Status status = jit.Add(name, *MakeElementwise(&module, opcode, type, operands));
      if (status.ok()) added.push_back({name, type});
      if (!status.ok()) ASSERT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
    }
    ASSERT_GT(added.size(), 150u);
    absl::Status compiled = jit.Compile();
    ASSERT_TRUE(compiled.ok()) << compiled;
    for (const auto& [name, type] : added) {
      std::vector<uint8_t> x = Pack(type, Elements(type, kCount, 1)), y = Pack(type, Elements(type, kCount, 2)),
                           z = Pack(type, Elements(type, kCount, 3)), got(x.size());
      ASSERT_TRUE(jit.Run(name, {x.data(), y.data(), z.data()}, {got.data()}, kCount).ok());
      Plane bits = Unpack(type, got);
      // One kind of NaN.
      for (uint64_t& b : bits) {
        if (hlo::ClassOf(type) == TypeClass::kFloat && std::isnan(ToReal(type, b))) b = FromReal(type, NAN);
      }
      auto [it, first] = expected.insert({name, Pack(type, bits)});
      EXPECT_EQ(it->second, Pack(type, bits)) << name << " x" << lanes;
    }
  }
}

TEST(ScalarEmitterTest, OpsWithoutMeaningAreUnimplemented) {
  hlo::Module module("m");
  ElementwiseJit jit(4);
  EXPECT_EQ(jit.Add("f", *MakeElementwise(&module, Opcode::kSin, PrimitiveType::kS32, {PrimitiveType::kS32})).code(),
            absl::StatusCode::kUnimplemented);
  absl::Status status = jit.Add("g", *MakeElementwise(&module, Opcode::kShiftLeft, PrimitiveType::kF32,
                                                      {PrimitiveType::kF32, PrimitiveType::kF32}));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(status.message().find("shift-left is not defined for f32"), absl::string_view::npos) << status;
}

}  // namespace
}  // namespace kiln::kernel
