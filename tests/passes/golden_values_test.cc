// The programs of the golden tests mean the same after their pass as before: the evaluator is asked both times.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/hlo/evaluator.h"
#include "src/hlo/verifier.h"
#include "src/passes/pipeline.h"
#include "src/tools/compare_literals.h"
#include "src/tools/random_literal.h"
#include "tests/hlo_test_util.h"

namespace kiln::passes {
namespace {

struct Golden {
  std::string file, text;
  std::vector<std::string> passes;
};

// Files whose first line runs passes over the file itself.
std::vector<Golden> Goldens() {
  std::vector<Golden> goldens;
  for (const auto& entry : std::filesystem::directory_iterator(KILN_GOLDEN_PASSES)) {
    if (entry.path().extension() != ".hlo") continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    Golden golden{entry.path().filename().string(), text.str(), {}};
    const std::string run = golden.text.substr(0, golden.text.find('\n'));
    constexpr absl::string_view kStart = "// RUN: kiln opt %s --passes=";
    if (!absl::StartsWith(run, kStart)) continue;
    golden.passes = absl::StrSplit(run.substr(kStart.size(), run.find(' ', kStart.size()) - kStart.size()), ',');
    goldens.push_back(std::move(golden));
  }
  std::sort(goldens.begin(), goldens.end(), [](const Golden& a, const Golden& b) { return a.file < b.file; });
  return goldens;
}

class GoldenValues : public testing::TestWithParam<Golden> {};

TEST_P(GoldenValues, AreKept) {
  const std::unique_ptr<hlo::Module> module = ParseOrDie(GetParam().text);
  const std::vector<hlo::Literal> arguments = tools::RandomArguments(*module->entry(), 1);
  hlo::EvaluatorOptions options;
  options.max_operations = 20'000'000;
  const absl::StatusOr<hlo::Literal> expected = hlo::Evaluate(*module->entry(), arguments, options);
  if (!expected.ok()) GTEST_SKIP() << expected.status();
  for (const std::string& name : GetParam().passes) {
    const Pass* pass = FindPass(name);
    ASSERT_NE(pass, nullptr) << name;
    ASSERT_EQ(pass->run(module.get()).status(), absl::OkStatus());
    ASSERT_EQ(hlo::Verify(*module), absl::OkStatus());
  }
  const absl::StatusOr<hlo::Literal> actual = hlo::Evaluate(*module->entry(), arguments);
  ASSERT_EQ(actual.status(), absl::OkStatus());
  const auto expected_leaves = tools::Leaves(*expected), actual_leaves = tools::Leaves(*actual);
  ASSERT_EQ(expected_leaves.size(), actual_leaves.size());
  for (size_t i = 0; i < expected_leaves.size(); ++i) {
    if (!expected_leaves[i]->shape().IsArray()) continue;
    EXPECT_LE(tools::LargestError(*actual_leaves[i], *expected_leaves[i]), 1e-4) << "result " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Passes, GoldenValues, testing::ValuesIn(Goldens()), [](const auto& info) {
  std::string name = info.param.file;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

}  // namespace
}  // namespace kiln::passes
