// Executables as such: donors, and their life as bytes.
#include "src/cpu/executable.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "src/cpu/warm_up.h"
#include "src/frontend/load.h"
#include "src/hlo/shape.h"

namespace kiln::cpu {
namespace {

// What an earlier process has left would be found as well.
const bool kWithoutFiles = setenv("KILN_KERNEL_CACHE", "memory", 1) == 0;

std::unique_ptr<Executable> Compile(absl::string_view text, const CompileOptions& options = {}) {
  auto module = frontend::Load(text, "");
  EXPECT_TRUE(module.ok()) << module.status();
  auto executable = Executable::Compile(*std::move(module), options);
  EXPECT_TRUE(executable.ok()) << executable.status();
  return *std::move(executable);
}

// The outputs for arguments that count up; aliased outputs take over their argument.
std::vector<std::vector<float>> Results(const Executable& executable) {
  constexpr size_t kAlignment = 64;
  std::vector<std::unique_ptr<char, decltype(&std::free)>> owned;
  const auto allocate = [&](int64_t bytes) -> void* {
    const size_t size = (static_cast<size_t>(bytes) + kAlignment) / kAlignment * kAlignment;
    owned.emplace_back(static_cast<char*>(std::aligned_alloc(kAlignment, size)), &std::free);
    return owned.back().get();
  };
  std::vector<const void*> arguments;
  for (const hlo::Shape& leaf : executable.parameter_leaves()) {
    auto* data = static_cast<float*>(allocate(leaf.byte_count()));
    std::iota(data, data + leaf.element_count(), static_cast<float>(arguments.size()));
    arguments.push_back(data);
  }
  std::vector<void*> results;
  for (size_t i = 0; i < executable.output_leaves().size(); ++i) {
    const auto alias = executable.output_aliases()[i].aliased_parameter;
    results.push_back(alias.has_value() ? const_cast<void*>(arguments[*alias])
                                        : allocate(executable.output_leaves()[i].byte_count()));
  }
  EXPECT_TRUE(executable.Run(arguments, results, allocate(executable.arena_bytes()), nullptr).ok());
  std::vector<std::vector<float>> values;
  for (size_t i = 0; i < results.size(); ++i) {
    const auto* data = static_cast<const float*>(results[i]);
    values.emplace_back(data, data + executable.output_leaves()[i].element_count());
  }
  return values;
}

TEST(DonorTest, TakesTheOutputThatFitsBest) {
  // Donor 0 fits output 1 by size alone, donor 1 fits output 2 in shape, donor 2 fits nothing, parameter 3 is aliased.
  const auto executable = Compile(R"(
    HloModule donors, input_output_alias={ {0}: (3, {}, may-alias) }, buffer_donor={ (0, {}), (1, {}), (2, {}) }
    ENTRY main {
      a = f32[2,8] parameter(0)
      b = f32[5] parameter(1)
      c = f32[3] parameter(2)
      d = f32[4] parameter(3)
      e = f32[4] add(d, d)
      t = f32[8,2] transpose(a), dimensions={1,0}
      r = f32[16] reshape(t)
      s = f32[5] reverse(b), dimensions={0}
      ROOT out = (f32[4], f32[16], f32[5]) tuple(e, r, s)
    })");
  ASSERT_EQ(executable->output_aliases().size(), 3u);
  EXPECT_EQ(executable->output_aliases()[0].aliased_parameter, 3);
  EXPECT_EQ(executable->output_aliases()[1].aliased_parameter, 0);
  EXPECT_EQ(executable->output_aliases()[2].aliased_parameter, 1);
  EXPECT_EQ(executable->donated_parameters(), (std::vector<int64_t>{2}));
  const std::vector<std::vector<float>> values = Results(*executable);
  EXPECT_EQ(values[0], (std::vector<float>{6, 8, 10, 12}));
  EXPECT_EQ(values[1], (std::vector<float>{0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15}));
  EXPECT_EQ(values[2], (std::vector<float>{5, 4, 3, 2, 1}));
}

TEST(SerializeTest, LoadedCodeDoesTheSame) {
  std::string large = "0";
  for (int i = 1; i < 3000; ++i) absl::StrAppend(&large, ", ", i % 7);
  const auto executable = Compile(absl::StrCat(R"(
    HloModule serialized, input_output_alias={ {1}: (0, {}, may-alias) }
    more { s = (s32[], f32[3000]) parameter(0)
           i = s32[] get-tuple-element(s), index=0
           n = s32[] constant(5)
           ROOT c = pred[] compare(i, n), direction=LT }
    step { s = (s32[], f32[3000]) parameter(0)
           i = s32[] get-tuple-element(s), index=0
           x = f32[3000] get-tuple-element(s), index=1
           one = s32[] constant(1)
           j = s32[] add(i, one)
           k = f32[3000] constant({)", large, R"(})
           y = f32[3000] add(x, k)
           ROOT t = (s32[], f32[3000]) tuple(j, y) }
    ENTRY main {
      x = f32[3000] parameter(0)
      zero = s32[] constant(0)
      s = (s32[], f32[3000]) tuple(zero, x)
      w = (s32[], f32[3000]) while(s), condition=more, body=step
      y = f32[3000] get-tuple-element(w), index=1
      e = f32[3000] exponential(x)
      ROOT out = (f32[3000], f32[3000]) tuple(e, y)
    })"));
  absl::StatusOr<std::string> image = executable->Serialize();
  ASSERT_TRUE(image.ok()) << image.status();
  absl::StatusOr<std::unique_ptr<Executable>> loaded = Executable::Load(*image, nullptr, nullptr);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ((*loaded)->module(), nullptr);
  EXPECT_EQ((*loaded)->arena_bytes(), executable->arena_bytes());
  EXPECT_EQ((*loaded)->estimated_nanoseconds(), executable->estimated_nanoseconds());
  EXPECT_EQ((*loaded)->statistics().kernel_count, executable->statistics().kernel_count);
  EXPECT_EQ((*loaded)->parameter_leaves(), executable->parameter_leaves());
  EXPECT_EQ((*loaded)->output_leaves(), executable->output_leaves());
  EXPECT_EQ(Results(**loaded), Results(*executable));
  EXPECT_FALSE((*loaded)->LlvmIr().ok());
  // Once more from the loaded one.
  EXPECT_EQ(*(*loaded)->Serialize(), *image);
}

// Kernels of several programs that are the same are compiled once; what they call by name goes with the first of them.
TEST(ReuseTest, KernelsAreFoundAgain) {
  const auto program = [](absl::string_view name, absl::string_view tail) {
    return absl::StrCat("HloModule ", name, R"(
      ENTRY main {
        x = f32[3000] parameter(0)
        s = f32[3000] sine(x)
        k = f32[3000] sort(s), dimensions={0}, to_apply=less
        c = f32[3000] sine(k) )", tail, "}");
  };
  const std::string less = " less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT l = pred[] compare(a, b), direction=LT } ";
  const auto text = [&](absl::string_view name, absl::string_view tail) {
    std::string whole = program(name, tail);
    whole.insert(whole.find("ENTRY"), less);
    return whole;
  };
  ASSERT_TRUE(kWithoutFiles);
  const auto first = Compile(text("first", "ROOT r = f32[3000] multiply(c, c)"));
  EXPECT_GT(first->statistics().compiled_modules, 1);
  const auto again = Compile(text("again", "ROOT r = f32[3000] multiply(c, c)"));
  EXPECT_EQ(again->statistics().compiled_modules, 0);
  EXPECT_EQ(again->statistics().reused_modules, first->statistics().compiled_modules + first->statistics().reused_modules);
  EXPECT_EQ(Results(*again), Results(*first));
  const auto other = Compile(text("other", "d = f32[3000] multiply(c, c) ROOT r = f32[3000] sort(d), dimensions={0}, to_apply=less"));
  EXPECT_GT(other->statistics().reused_modules, 0);
  EXPECT_GT(other->statistics().compiled_modules, 0);
  std::vector<float> sorted = Results(*first)[0];
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(Results(*other)[0], sorted);
  EXPECT_EQ(*again->Serialize(), *first->Serialize());
}

// Many kernels, none like another, so that code comes late.
std::string ManyKernels(int count) {
  std::string text = R"(HloModule many
    less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT l = pred[] compare(a, b), direction=LT }
    ENTRY main {
      s0 = f32[100] parameter(0))";
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&text, " c", i, " = f32[] constant(", i, ".5) b", i, " = f32[100] broadcast(c", i,
                    "), dimensions={}", " t", i, " = f32[100] tanh(s", i, ") m", i, " = f32[100] atan2(t", i, ", b", i,
                    ") ", i + 1 == count ? "ROOT " : "", "s", i + 1, " = f32[100] sort(m", i,
                    "), dimensions={0}, to_apply=less");
  }
  return absl::StrCat(text, "}");
}

TEST(BackgroundTest, WhoeverNeedsTheCodeWaitsForIt) {
  CompileOptions options;
  options.reuse_code = false;
  const auto waited = Compile(ManyKernels(40), options);
  EXPECT_TRUE(waited->HasCode());
  options.in_background = true;
  const auto run = Compile(ManyKernels(40), options);
  EXPECT_EQ(Results(*run), Results(*waited));
  EXPECT_TRUE(run->HasCode());
  const auto written = Compile(ManyKernels(40), options);
  EXPECT_EQ(*written->Serialize(), *waited->Serialize());
  const auto counted = Compile(ManyKernels(40), options);
  EXPECT_EQ(counted->statistics().generated_code_bytes, waited->statistics().generated_code_bytes);
  const auto told = Compile(ManyKernels(40), options);
  absl::Notification ready;
  told->OnCode([&] { ready.Notify(); });
  ready.WaitForNotification();
  EXPECT_TRUE(told->HasCode());
}

TEST(BackgroundTest, ProgramsMayGoBeforeTheirCode) {
  CompileOptions options;
  options.reuse_code = false;
  options.in_background = true;
  for (int i = 0; i < 20; ++i) Compile(ManyKernels(40), options);
  EXPECT_EQ(Results(*Compile(ManyKernels(2), options)), Results(*Compile(ManyKernels(2))));
}

// What only calls is compiled without effort; what has loops is not, whoever calls it.
TEST(EffortTest, LoopsOfLibraryOpsAreOptimized) {
  constexpr absl::string_view kScan = R"(HloModule scan
    add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
    ENTRY main {
      x = f32[64,1024] parameter(0) zero = f32[] constant(0)
      ROOT r = f32[64,1024] reduce-window(x, zero), window={size=1x1024 pad=0_0x1023_0}, to_apply=add
    })";
  CompileOptions options;
  options.reuse_code = false;
  const int64_t usual = Compile(kScan, options)->statistics().generated_code_bytes;
  options.optimization_level = 0;
  EXPECT_LT(usual, Compile(kScan, options)->statistics().generated_code_bytes);
}

// Many small results: all arguments given back, or the same function of each.
std::string Many(int64_t count, absl::string_view opcode) {
  std::string text = "HloModule many\nENTRY main {\n", results, types;
  for (int64_t i = 0; i < count; ++i) {
    absl::StrAppend(&text, "  x", i, " = f32[16] parameter(", i, ")\n");
    if (!opcode.empty()) absl::StrAppend(&text, "  y", i, " = f32[16] ", opcode, "(x", i, ")\n");
    absl::StrAppend(&results, i == 0 ? "" : ", ", opcode.empty() ? "x" : "y", i);
    absl::StrAppend(&types, i == 0 ? "" : ", ", "f32[16]");
  }
  return absl::StrCat(text, "  ROOT all = (", types, ") tuple(", results, ")\n}\n");
}

// A loop with so many arrays as state.
std::string ManyStates(int64_t count) {
  const std::vector<std::string> types(static_cast<size_t>(count), "f32[16]");
  const std::string state = absl::StrCat("(s32[], ", absl::StrJoin(types, ", "), ")");
  std::vector<std::string> next, initial;
  std::string body, parameters;
  for (int64_t i = 0; i < count; ++i) {
    absl::StrAppend(&body, "  x", i, " = f32[16] get-tuple-element(s), index=", i + 1, "\n  y", i,
                    " = f32[16] negate(x", i, ")\n");
    absl::StrAppend(&parameters, "  p", i, " = f32[16] parameter(", i, ")\n");
    next.push_back(absl::StrCat("y", i));
    initial.push_back(absl::StrCat("p", i));
  }
  return absl::StrCat("HloModule states\ncondition {\n  s = ", state, " parameter(0)\n",
                      "  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant(5)\n",
                      "  ROOT r = pred[] compare(i, n), direction=LT\n}\nbody {\n  s = ", state, " parameter(0)\n",
                      "  i = s32[] get-tuple-element(s), index=0\n  one = s32[] constant(1)\n",
                      "  j = s32[] add(i, one)\n", body, "  ROOT t = ", state, " tuple(j, ", absl::StrJoin(next, ", "),
                      ")\n}\nENTRY main {\n", parameters, "  zero = s32[] constant(0)\n  s = ", state, " tuple(zero, ",
                      absl::StrJoin(initial, ", "), ")\n  ROOT w = ", state,
                      " while(s), condition=condition, body=body\n}\n");
}

double CompileSeconds(const std::string& text) {
  const std::clock_t start = std::clock();
  CompileOptions options;
  options.reuse_code = false;
  (void)Compile(text, options)->statistics();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

TEST(ComplexityTest, ManyResultsTakeLinearTime) {
  for (const absl::string_view opcode : {"", "negate", "sine"}) {
    const double few = CompileSeconds(Many(500, opcode)), many = CompileSeconds(Many(4000, opcode));
    // Eight times as many, 64 times the time if it were quadratic.
    EXPECT_LT(many, 24 * few) << opcode;
    const std::vector<std::vector<float>> values = Results(*Compile(Many(400, opcode)));
    for (size_t i = 0; i < values.size(); ++i) {
      const auto x = static_cast<float>(i);
      EXPECT_NEAR(values[i][0], opcode.empty() ? x : opcode == "negate" ? -x : std::sin(x), 1e-6) << opcode << i;
    }
  }
}

TEST(ComplexityTest, ManyStatesOfALoopTakeLessThanQuadraticTime) {
  const double few = CompileSeconds(ManyStates(150)), many = CompileSeconds(ManyStates(1200));
  // LLVM orders the calls of a block in more than linear time: 24 times.
  EXPECT_LT(many, 40 * few);
  const std::vector<std::vector<float>> values = Results(*Compile(ManyStates(300)));
  for (size_t i = 0; i < 300; ++i) EXPECT_EQ(values[i + 1][3], -(static_cast<float>(i) + 3)) << i;
}

TEST(SerializeTest, OtherBytesAreRefused) {
  EXPECT_FALSE(Executable::Load("", nullptr, nullptr).ok());
  EXPECT_FALSE(Executable::Load("no image", nullptr, nullptr).ok());
}

TEST(WarmUpTest, ItsProgramCompiles) { EXPECT_TRUE(WarmUpCompiler().ok()); }

}  // namespace
}  // namespace kiln::cpu
