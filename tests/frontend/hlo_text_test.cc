// Reading and printing HLO text: every sample, the shorthand, and the places and words of errors.
#include "src/frontend/hlo_text/parser.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/hlo/printer.h"
#include "src/hlo/verifier.h"

namespace kiln::hlo_text {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream content;
  content << stream.rdbuf();
  return content.str();
}

std::vector<std::string> SampleNames() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(KILN_TEST_DATA "/samples")) {
    const std::string name = entry.path().filename().string();
    if (absl::EndsWith(name, ".hlo.txt")) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

class SampleTest : public ::testing::TestWithParam<std::string> {};

TEST_P(SampleTest, ReadsPrintsAndReadsAgainToTheSameText) {
  const std::string text = ReadFile(std::filesystem::path(KILN_TEST_DATA "/samples") / GetParam());
  auto module = ParseHloText(text, GetParam());
  ASSERT_TRUE(module.ok()) << module.status();
  const std::string printed = hlo::ToString(**module);
  auto again = ParseHloText(printed, "printed");
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << printed;
  EXPECT_EQ(hlo::ToString(**again), printed);
}

INSTANTIATE_TEST_SUITE_P(Samples, SampleTest, ::testing::ValuesIn(SampleNames()),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

TEST(HloTextTest, AllSamplesAreThere) { EXPECT_GE(SampleNames().size(), 37u); }

}  // namespace
}  // namespace kiln::hlo_text
