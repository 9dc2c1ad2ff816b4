#include "src/cpu/jit.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Target/TargetMachine.h"
#include "src/cpu/code_generator.h"
#include "src/cpu/host_isa.h"
#include "src/cpu/jit_symbols.h"

namespace kiln::cpu {
namespace {

using ::testing::HasSubstr;

struct Source {
  std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module;
};

Source Parse(const std::string& text) {
  Source source;
  llvm::SMDiagnostic error;
  source.module = llvm::parseAssemblyString(text, error, *source.context);
  EXPECT_NE(source.module, nullptr) << error.getMessage().str();
  return source;
}

class JitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<JitCompiler>> compiler = JitCompiler::Create();
    ASSERT_TRUE(compiler.ok()) << compiler.status();
    compiler_ = *std::move(compiler);
  }

  absl::StatusOr<std::unique_ptr<JitModule>> Compile(const std::string& text, CompileTimes* times = nullptr) {
    Source source = Parse(text);
    return compiler_->Compile(std::move(source.context), std::move(source.module), times);
  }

  std::unique_ptr<JitCompiler> compiler_;
};

constexpr char kScale[] = R"(
define void @scale(ptr noalias %x, ptr noalias %y, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %px = getelementptr float, ptr %x, i64 %i
  %v = load <16 x float>, ptr %px, align 4
  %w = fmul <16 x float> %v, splat (float 3.0)
  %py = getelementptr float, ptr %y, i64 %i
  store <16 x float> %w, ptr %py, align 4
  %next = add i64 %i, 16
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
)";

TEST_F(JitTest, RunsVectorCode) {
  CompileTimes times;
  auto module = Compile(kScale, &times);
  ASSERT_TRUE(module.ok()) << module.status();
  auto* scale = (*module)->Lookup<void(const float*, float*, int64_t)>("scale");
  ASSERT_NE(scale, nullptr);
  EXPECT_EQ((*module)->Lookup("absent"), nullptr);
  std::vector<float> x(64), y(64);
  for (int i = 0; i < 64; ++i) x[i] = i;
  scale(x.data(), y.data(), 64);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(y[i], 3.0f * i);
  EXPECT_GT(times.code_bytes, 0);
  EXPECT_EQ((*module)->code_bytes(), times.code_bytes);
}

TEST_F(JitTest, UsesTheWholeVectorWidth) {
  Source source = Parse(kScale);
  auto text = compiler_->EmitAssembly(*source.module);
  ASSERT_TRUE(text.ok()) << text.status();
  if (Host().vector_bytes == 64) EXPECT_THAT(*text, HasSubstr("zmm"));
  // The module is as it was: it can still be compiled.
  EXPECT_TRUE(compiler_->Compile(std::move(source.context), std::move(source.module), nullptr).ok());
}

int Twice(int x) { return 2 * x; }

// Target machines are told what the host has beside its CPU's name: together it must be what the host has.
TEST_F(JitTest, CodeGeneratorsKnowEveryFeatureOfTheHost) {
  auto generator = CodeGenerator::Create(CodeUnit::kUsualLevel);
  ASSERT_EQ(generator.status(), absl::OkStatus());
  const llvm::MCSubtargetInfo* subtarget = (*generator)->machine().getMCSubtargetInfo();
  for (absl::string_view feature : absl::StrSplit(Host().features, ',', absl::SkipEmpty())) {
    EXPECT_EQ(subtarget->checkFeatures(absl::StrCat("+", feature.substr(1))), feature[0] == '+') << feature;
  }
}

#if defined(__x86_64__)
TEST_F(JitTest, InstructionsThatHaveNoFormForAvxAreNotUsed) { EXPECT_THAT(Host().features, HasSubstr("-sse4a")); }
#endif

TEST_F(JitTest, CallsRegisteredFunctionsOnly) {
  const std::string text = R"(
declare i32 @kiln_test_twice(i32)
define i32 @f(i32 %x) {
  %r = call i32 @kiln_test_twice(i32 %x)
  ret i32 %r
}
)";
  auto refused = Compile(text);
  EXPECT_FALSE(refused.ok());
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("kiln_test_twice"));
  AddRuntimeSymbol("kiln_test_twice", reinterpret_cast<void*>(&Twice));
  auto module = Compile(text);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->Lookup<int(int)>("f")(21), 42);
  // Exported by every process, yet not callable.
  EXPECT_FALSE(Compile("declare void @abort()\ndefine void @g() {\n call void @abort()\n ret void\n}").ok());
}

TEST_F(JitTest, GeneratorsOwnCallsResolve) {
  auto module = Compile(R"(
define void @copy(ptr %to, ptr %from, i64 %n) {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %n, i1 false)
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define float @remainder(float %x, float %y) {
  %r = frem float %x, %y
  ret float %r
}
define half @narrow(double %x) {
  %r = fptrunc double %x to half
  ret half %r
}
define i16 @brain(double %x) {
  %r = fptrunc double %x to bfloat
  %b = bitcast bfloat %r to i16
  ret i16 %b
}
define i64 @divide(i64 %x, i64 %y) {
  %a = sext i64 %x to i128
  %s = shl i128 %a, 20
  %b = sext i64 %y to i128
  %q = sdiv i128 %s, %b
  %r = trunc i128 %q to i64
  ret i64 %r
}
)");
  ASSERT_TRUE(module.ok()) << module.status();
  std::string from = "some bytes", to(10, ' ');
  (*module)->Lookup<void(char*, const char*, int64_t)>("copy")(to.data(), from.data(), 10);
  EXPECT_EQ(to, from);
  EXPECT_EQ(((*module)->Lookup<float(float, float)>("remainder")(7.5f, 2.0f)), 1.5f);
  EXPECT_EQ(((*module)->Lookup<int64_t(int64_t, int64_t)>("divide")(-30, 4)), -30 * (int64_t{1} << 20) / 4);
#if defined(__x86_64__)
  EXPECT_EQ(static_cast<float>((*module)->Lookup<_Float16(double)>("narrow")(1.5)), 1.5f);
  auto* brain = (*module)->Lookup<uint16_t(double)>("brain");
  EXPECT_EQ(brain(1.5), 0x3fc0);
  EXPECT_EQ(brain(1e308), 0x7f80);
  // Rounding twice would make a tie of it, and then go down to the even neighbour.
  EXPECT_EQ(brain(1.0 + 0x1p-8 + 0x1p-40), 0x3f81);
#endif
}

TEST_F(JitTest, ConstantsAndVariablesAreReachable) {
  auto module = Compile(R"(
@table = private constant [4 x i64] [i64 3, i64 5, i64 7, i64 11]
@counter = internal global i64 100
define i64 @next(i64 %i) {
  %p = getelementptr [4 x i64], ptr @table, i64 0, i64 %i
  %v = load i64, ptr %p
  %c = load i64, ptr @counter
  %s = add i64 %v, %c
  store i64 %s, ptr @counter
  ret i64 %s
}
)");
  ASSERT_TRUE(module.ok()) << module.status();
  auto* next = (*module)->Lookup<int64_t(int64_t)>("next");
  EXPECT_EQ(next(0), 103);
  EXPECT_EQ(next(3), 114);
}

TEST_F(JitTest, InvalidIrIsAStatus) {
  Source source;
  source.module = std::make_unique<llvm::Module>("bad", *source.context);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(*source.context), false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "f", *source.module);
  llvm::BasicBlock::Create(*source.context, "no_terminator", function);
  auto result = compiler_->Compile(std::move(source.context), std::move(source.module), nullptr);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("invalid"));
}

TEST_F(JitTest, FatalErrorsOfTheCodeGeneratorAreStatuses) {
  // No processor has this intrinsic here, so that instruction selection gives up on it.
  for (int i = 0; i < 3; ++i) {
    auto result = Compile(R"(
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define i32 @f() {
  %r = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  ret i32 %r
}
)");
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(result.status().message()), HasSubstr("LLVM"));
    EXPECT_TRUE(Compile(kScale).ok());
  }
}

TEST_F(JitTest, BadInlineAssemblyIsAStatus) {
  auto result = Compile("define void @f() {\n call void asm sideeffect \"frobnicate\", \"\"()\n ret void\n}");
  EXPECT_FALSE(result.ok());
}

TEST_F(JitTest, ManyThreadsCompile) {
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 8; ++i) {
        const std::string value = std::to_string(t * 100 + i);
        auto module = Compile("define i32 @f() {\n ret i32 " + value + "\n}");
        failures += !module.ok() || (*module)->Lookup<int()>("f")() != t * 100 + i;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

int64_t MappedExecutablePages(bool writable_too) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  int64_t count = 0;
  while (std::getline(maps, line)) {
    const std::string mode = line.substr(line.find(' ') + 1, 4);
    count += mode[2] == 'x' && (!writable_too || mode[1] == 'w');
  }
  return count;
}

TEST_F(JitTest, NoPageIsWritableAndExecutableAndMemoryIsFreed) {
  const int64_t before = MappedExecutablePages(false);
  {
    std::vector<std::unique_ptr<JitModule>> modules;
    for (int i = 0; i < 20; ++i) modules.push_back(*Compile(kScale));
    EXPECT_EQ(MappedExecutablePages(true), 0);
    EXPECT_GT(MappedExecutablePages(false), before);
  }
  EXPECT_EQ(MappedExecutablePages(false), before);
}

// For the reader of the log: a shared machine holds no bound on time.
TEST_F(JitTest, ReportsCompileTime) {
  CompileTimes best;
  double best_total = 1e9;
  for (int i = 0; i < 20; ++i) {
    CompileTimes times;
    ASSERT_TRUE(Compile(kScale, &times).ok());
    const double total = times.verify + times.optimize + times.codegen + times.link;
    if (total < best_total) {
      best_total = total;
      best = times;
    }
  }
  printf("small kernel: verify %.0f, optimize %.0f, codegen %.0f, link %.0f us\n", best.verify * 1e6,
         best.optimize * 1e6, best.codegen * 1e6, best.link * 1e6);
  EXPECT_LT(best_total, 1.0);
}

}  // namespace
}  // namespace kiln::cpu
