// Every program of the test data means the same after the pipeline as before: the evaluator is asked both times.
#include "src/passes/pipeline.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/hlo/evaluator.h"
#include "src/hlo/verifier.h"
#include "src/tools/compare_literals.h"
#include "src/tools/program_file.h"
#include "src/tools/random_literal.h"

namespace kiln::passes {
namespace {

std::vector<std::string> Programs() {
  std::vector<std::string> paths;
  for (const char* directory : {"samples", "payloads"}) {
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(KILN_TEST_DATA) / directory)) {
      const std::string path = entry.path().string();
      if (path.ends_with(".mlirbc") || path.ends_with(".hlo.txt")) paths.push_back(path);
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Sums of thousands of products may be reassociated; narrow types round in between.
double ToleranceFor(hlo::PrimitiveType type) {
  switch (hlo::ComplexComponentType(type)) {
    case hlo::PrimitiveType::kF64:
      return 1e-9;
    case hlo::PrimitiveType::kF32:
      return 1e-4;
    default:
      return 3e-2;
  }
}

class PipelineTest : public testing::TestWithParam<std::string> {};

TEST_P(PipelineTest, KeepsTheMeaning) {
  absl::StatusOr<std::unique_ptr<hlo::Module>> module = tools::LoadProgram(GetParam());
  if (!module.ok()) GTEST_SKIP() << module.status();
  const std::vector<hlo::Literal> arguments = tools::RandomArguments(*(*module)->entry(), 1);
  hlo::EvaluatorOptions evaluator;
  evaluator.max_operations = 20'000'000;
  const absl::StatusOr<hlo::Literal> expected = hlo::Evaluate(*(*module)->entry(), arguments, evaluator);

  PipelineOptions options;
  options.verify_each_pass = true;
  const absl::Status status = RunPipeline(module->get(), CpuPipeline(), options);
  // What needs several devices has no meaning that could be lost.
  if (!expected.ok() && absl::IsUnimplemented(status)) GTEST_SKIP() << status;
  ASSERT_EQ(status, absl::OkStatus());
  if (!expected.ok()) GTEST_SKIP() << "not evaluated: " << expected.status();

  const absl::StatusOr<hlo::Literal> actual = hlo::Evaluate(*(*module)->entry(), arguments);
  ASSERT_EQ(actual.status(), absl::OkStatus());
  const auto expected_leaves = tools::Leaves(*expected), actual_leaves = tools::Leaves(*actual);
  ASSERT_EQ(expected_leaves.size(), actual_leaves.size());
  for (size_t i = 0; i < expected_leaves.size(); ++i) {
    if (!expected_leaves[i]->shape().IsArray()) continue;
    EXPECT_LE(tools::LargestError(*actual_leaves[i], *expected_leaves[i]),
              ToleranceFor(expected_leaves[i]->shape().element_type()))
        << "result " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Data, PipelineTest, testing::ValuesIn(Programs()), [](const auto& info) {
  std::string name = std::filesystem::path(info.param).filename().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

TEST(Pipeline, RefusesUnknownNames) {
  hlo::Module module("m");
  PipelineOptions options;
  options.disabled_passes = {"no-such-pass"};
  EXPECT_EQ(RunPipeline(&module, {}, options).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FindPass("no-such-pass"), nullptr);
}

TEST(Pipeline, EveryPassIsFoundByItsName) {
  for (const std::string& name : PassNames()) {
    const Pass* pass = FindPass(name);
    ASSERT_NE(pass, nullptr) << name;
    EXPECT_EQ(pass->name, name);
  }
}

}  // namespace
}  // namespace kiln::passes
