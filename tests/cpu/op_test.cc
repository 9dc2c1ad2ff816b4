// Every op that has code, alone and fused with others, against the evaluator over random shapes and types.
//
// KILN_TEST_SECONDS=600 op_test    tests each family that long, with other seeds than the short form
// KILN_TEST_SEED=7 op_test         starts at that seed: failures name theirs
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "gtest/gtest.h"
#include "src/base/catch_exceptions.h"
#include "tests/cpu/differential.h"
#include "tests/cpu/isa_limit.h"
#include "tests/cpu/random_programs.h"

namespace kiln::testing {
namespace {

double EnvironmentNumber(const char* name, double otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atof(text);
}

// Calls `test` with one seed after the other, `programs` times or for KILN_TEST_SECONDS, until it fails.
template <typename Test>
void ForSeeds(int programs, Test test) {
  const double seconds = EnvironmentNumber("KILN_TEST_SECONDS", 0);
  uint64_t seed = static_cast<uint64_t>(EnvironmentNumber("KILN_TEST_SEED", seconds > 0 ? 1e6 : 1));
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; seconds > 0 || i < programs; ++i, ++seed) {
    if (seconds > 0 && std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > seconds) return;
    if (!test(seed)) return;
  }
}

// Ops number `first` to `last` of the program of a seed.
Program FamilyProgram(const Family& family, uint64_t seed, int first, int last) {
  ModuleWriter module;
  Random random(0);
  ProgramWriter writer(&module, &random);
  for (int op = first; op <= last; ++op) {
    random = Random(seed * 1000 + static_cast<uint64_t>(op));
    family.write(&writer);
  }
  return writer.Finish();
}

class OpTest : public ::testing::TestWithParam<Family> {};

TEST_P(OpTest, AgreesWithTheEvaluator) {
  const Family& family = GetParam();
  int failures = 0, unimplemented = 0, ops = 0;
  ForSeeds(6, [&](uint64_t seed) {
    CheckOptions options;
    options.fused = seed % 2 == 0;
    options.threads = seed % 3 == 0 ? 3 : 1;
    ops += family.per_program;
    const absl::Status together = Check(FamilyProgram(family, seed, 0, family.per_program - 1), seed, options);
    if (together.ok()) return true;
    // Which op was it?
    bool found = false;
    for (int op = 0; op < family.per_program; ++op) {
      const Program program = FamilyProgram(family, seed, op, op);
      const absl::Status alone = Check(program, seed, options);
      if (alone.ok()) continue;
      found = true;
      if (absl::IsUnimplemented(alone)) {
        ++unimplemented;
        std::printf("unimplemented: %s\n", std::string(alone.message()).c_str());
        continue;
      }
      ADD_FAILURE() << "seed " << seed << ", op " << op << (options.fused ? "" : ", not fused") << ": " << alone << "\n"
                    << program.text;
      ++failures;
    }
    if (!found) {
      ADD_FAILURE() << "seed " << seed << (options.fused ? "" : ", not fused") << ", only together: " << together << "\n"
                    << FamilyProgram(family, seed, 0, family.per_program - 1).text;
      ++failures;
    }
    return failures < 10;
  });
  EXPECT_EQ(unimplemented, 0) << "of " << ops << " ops";
}

INSTANTIATE_TEST_SUITE_P(Families, OpTest, ::testing::ValuesIn(Families()),
                         [](const auto& info) { return std::string(info.param.name); });

void CheckGraphs(int nesting, int programs, int64_t steps = 30) {
  int failures = 0;
  ForSeeds(programs, [&](uint64_t seed) {
    const Program program = WriteGraph(seed, nesting, steps);
    CheckOptions options;
    options.fused = seed % 4 != 0;
    options.donate = seed % 2 == 0;
    options.threads = seed % 3 == 0 ? 3 : 1;
    const absl::Status status = CatchExceptions([&] { return Check(program, seed, options); });
    if (status.ok()) return true;
    ADD_FAILURE() << "seed " << seed << (options.fused ? "" : ", not fused") << (options.donate ? ", donated" : "")
                  << ": " << status << "\n"
                  << program.text;
    return ++failures < 10;
  });
}

TEST(GraphTest, FlatGraphsAgreeWithTheEvaluator) { CheckGraphs(0, 40); }
TEST(GraphTest, GraphsWithLoopsAgreeWithTheEvaluator) { CheckGraphs(1, 40); }
TEST(GraphTest, GraphsWithNestedLoopsAgreeWithTheEvaluator) { CheckGraphs(3, 25); }
// Fusions next to each other that read each other's results.
TEST(GraphTest, LongGraphsAgreeWithTheEvaluator) { CheckGraphs(1, 200, 150); }

}  // namespace
}  // namespace kiln::testing
