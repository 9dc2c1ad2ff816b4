// Programs that JAX and others really sent, compiled and compared with the evaluator. tests/data/payload_results.txt says
// what to expect of each, so that one that stops to compile is noticed, and one that starts to as well.
//
// KILN_WRITE_RESULTS=1 payload_test    writes that file anew
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "src/cpu/executable.h"
#include "src/frontend/load.h"
#include "src/tools/compare_literals.h"
#include "src/tools/random_literal.h"
#include "src/tools/reference.h"
#include "tests/cpu/differential.h"
#include "tests/cpu/isa_limit.h"

namespace kiln::testing {
namespace {

namespace fs = std::filesystem;

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<std::string> Programs() {
  std::vector<std::string> names;
  for (const char* directory : {"payloads", "samples"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(KILN_TEST_DATA) / directory)) {
      const std::string path = entry.path().string();
      if (path.ends_with(".mlirbc")) names.push_back(absl::StrCat(directory, "/", entry.path().filename().string()));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Sums are reassociated and functions differ by units in the last place; narrow types round in between.
double ToleranceFor(PrimitiveType type) {
  switch (hlo::ComplexComponentType(type)) {
    case PrimitiveType::kF64:
      return 1e-9;
    case PrimitiveType::kF32:
      return 2e-4;
    default:
      return 3e-2;
  }
}

// "ok", or the stage that ended it with the code and the first op named.
std::string Outcome(const std::string& name) {
  auto failed = [](const char* stage, const absl::Status& status) {
    std::string message(status.message().substr(0, 160));
    std::replace(message.begin(), message.end(), '\n', ' ');
    return absl::StrCat(stage, ": ", absl::StatusCodeToString(status.code()), ": ", message);
  };
  auto module = frontend::Load(ReadAll(fs::path(KILN_TEST_DATA) / name), "");
  if (!module.ok()) return failed("load", module.status());
  const std::vector<hlo::Literal> arguments = tools::RandomArguments(*(*module)->entry(), 1);
  std::vector<hlo::Literal> leaves;
  for (const hlo::Literal& argument : arguments) {
    for (const hlo::Literal* leaf : tools::Leaves(argument)) leaves.push_back(*leaf);
  }
  std::unique_ptr<hlo::Module> original = (*module)->Clone();
  auto compiled = CompiledProgram::Compile(*std::move(module), {});
  if (!compiled.ok()) return failed("compile", compiled.status());
  auto expected = tools::EvaluateReference(original.get(), arguments, {.max_operations = 400'000'000});
  if (!expected.ok()) return failed("evaluate", expected.status());
  Random random(1);
  auto results = (*compiled)->Run(leaves, /*donate=*/false, /*threads=*/2, &random);
  if (!results.ok()) return failed("run", results.status());
  const std::vector<const hlo::Literal*> expected_leaves = tools::Leaves(*expected);
  for (size_t i = 0; i < expected_leaves.size(); ++i) {
    if (!expected_leaves[i]->shape().IsArray()) continue;
    const double error = tools::LargestError((*results)[i], *expected_leaves[i]);
    if (!(error <= ToleranceFor(expected_leaves[i]->shape().element_type()))) {
      return absl::StrCat("differs: result ", i, ", ", expected_leaves[i]->shape().ToString(), ", by ", error);
    }
  }
  return "ok";
}

// "compile: UNIMPLEMENTED: words" without the words.
std::string StageAndCode(const std::string& outcome) {
  const size_t first = outcome.find(": ");
  const size_t second = first == std::string::npos ? first : outcome.find(": ", first + 2);
  return outcome.substr(0, second);
}

TEST(PayloadTest, OutcomesAreAsRecorded) {
  const fs::path table = fs::path(KILN_TEST_DATA) / "payload_results.txt";
  std::map<std::string, std::string> recorded;
  std::ifstream in(table);
  for (std::string line; std::getline(in, line);) {
    const size_t space = line.find(' ');
    if (space != std::string::npos && line[0] != '#') recorded[line.substr(0, space)] = line.substr(space + 1);
  }
  in.close();
  std::string text = "# What becomes of each program: tests/cpu/payload_test.cc writes and checks this.\n";
  for (const std::string& name : Programs()) {
    SCOPED_TRACE(name);
    const std::string outcome = Outcome(name);
    // No difference is ever expected.
    EXPECT_FALSE(outcome.starts_with("differs")) << outcome;
    if (std::getenv("KILN_WRITE_RESULTS") == nullptr) {
      auto expected = recorded.find(name);
      if (expected == recorded.end()) {
        ADD_FAILURE() << "not in " << table << ": " << outcome;
      } else {
        // Wording may change; the stage and the code say whether something works.
        EXPECT_EQ(StageAndCode(outcome), StageAndCode(expected->second)) << outcome;
      }
    }
    absl::StrAppend(&text, name, " ", outcome, "\n");
  }
  if (std::getenv("KILN_WRITE_RESULTS") != nullptr) std::ofstream(table) << text;
}

}  // namespace
}  // namespace kiln::testing
