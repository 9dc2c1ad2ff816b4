#include "src/cpu/object_passes.h"

#include <memory>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/Pass.h"
#include "llvm/Support/SourceMgr.h"
#include "src/cpu/code_generator.h"
#include "src/cpu/jit.h"

namespace kiln::cpu {
namespace {

constexpr char kSecondScheduler[] = "Post RA top-down list latency scheduler";

class Names : public llvm::legacy::PassManagerBase {
 public:
  void add(llvm::Pass* pass) override {
    names.insert(pass->getPassName().str());
    passes_.add(pass);
  }
  std::set<std::string> names;

 private:
  llvm::legacy::PassManager passes_;
};

// A function that adds a vector to itself `count` times, and whether its module goes through the second scheduler.
bool IsScheduledTwice(int count) {
  std::string text = "define <16 x float> @f(<16 x float> %v0) {\n";
  for (int i = 0; i < count; ++i) absl::StrAppend(&text, "%v", i + 1, " = fadd <16 x float> %v", i, ", %v0\n");
  absl::StrAppend(&text, "ret <16 x float> %v", count, "\n}");
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  EXPECT_NE(module, nullptr) << error.getMessage().str();
  if (module == nullptr) return false;
  ChoosePasses(*module);
  llvm::OptPassGate& gate = context.getOptPassGate();
  EXPECT_TRUE(!gate.isEnabled() || gate.shouldRunPass("Machine Instruction Scheduler", ""));
  return !gate.isEnabled() || gate.shouldRunPass(kSecondScheduler, "");
}

TEST(ObjectPassesTest, ShortBlocksAreScheduledOnce) {
  EXPECT_FALSE(IsScheduledTwice(3));
  EXPECT_TRUE(IsScheduledTwice(100));
}

#if defined(__x86_64__)
TEST(ObjectPassesTest, LeavesOutPassesThatLlvmHas) {
  ASSERT_TRUE(JitCompiler::Create().ok());  // registers the target
  const absl::StatusOr<std::unique_ptr<CodeGenerator>> generator = CodeGenerator::Create(CodeUnit::kUsualLevel);
  ASSERT_TRUE(generator.ok());
  auto& machine = const_cast<llvm::TargetMachine&>((*generator)->machine());
  llvm::SmallVector<char, 0> output;
  llvm::raw_svector_ostream stream(output);
  Names all, kept;
  ASSERT_FALSE(machine.addPassesToEmitFile(all, stream, nullptr, llvm::CodeGenFileType::ObjectFile, true));
  ASSERT_TRUE(AddObjectPasses(machine, llvm::CodeGenFileType::ObjectFile, stream, &kept));
  for (const auto& entry : LeftOutPasses()) EXPECT_TRUE(all.names.contains(entry.getKey().str())) << entry.getKey().str();
  EXPECT_EQ(kept.names.size() + LeftOutPasses().size(), all.names.size());
  EXPECT_TRUE(kept.names.contains(kSecondScheduler));
}
#endif

}  // namespace
}  // namespace kiln::cpu
