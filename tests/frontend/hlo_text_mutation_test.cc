// Damaged HLO text ends in an error or in a module that verifies and prints; never in a crash.
#include <algorithm>
#include <cctype>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "src/frontend/hlo_text/parser.h"
#include "src/hlo/printer.h"
#include "src/hlo/verifier.h"
#include "tests/frontend/test_files.h"

namespace kiln::hlo_text {
namespace {

// Words and signs of the text: what mutations are made of, so that many of them get past the lexer.
std::vector<std::string> Words(const std::string& text) {
  std::vector<std::string> words;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (std::isalnum(static_cast<unsigned char>(text[i]))) {
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
    }
    words.push_back(text.substr(i, end - i));
    i = end;
  }
  return words;
}

std::string Join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word;
  return text;
}

std::string Mutate(const std::string& text, std::mt19937& random) {
  std::vector<std::string> words = Words(text);
  auto pick = [&] { return std::uniform_int_distribution<size_t>(0, words.size() - 1)(random); };
  const int edits = std::uniform_int_distribution<int>(1, 4)(random);
  for (int i = 0; i < edits; ++i) {
    static const char* const kNumbers[] = {"-1", "0", "1", "7", "64", "1000000007", "9223372036854775807",
                                           "-9223372036854775808", "99999999999999999999"};
    const size_t at = pick();
    switch (std::uniform_int_distribution<int>(0, 6)(random)) {
      case 0:
        words[at] = words[pick()];
        break;
      case 1:
        words.erase(words.begin() + at);
        break;
      case 2:
        words.insert(words.begin() + at, words[pick()]);
        break;
      case 3:
        std::swap(words[at], words[pick()]);
        break;
      case 4: {
        // A number somewhere after becomes an extreme one.
        auto number = std::find_if(words.begin() + at, words.end(), [](const std::string& word) {
          return std::isdigit(static_cast<unsigned char>(word[0]));
        });
        if (number != words.end()) *number = kNumbers[std::uniform_int_distribution<int>(0, 8)(random)];
        break;
      }
      case 5:
        if (!words[at].empty()) words[at][0] = static_cast<char>(std::uniform_int_distribution<int>(0, 255)(random));
        break;
      default:
        words.resize(at + 1);
        break;
    }
    if (words.empty()) break;
  }
  return Join(words);
}

TEST(HloTextMutationTest, DamagedTextsNeverCrash) {
  const auto files = DataFiles(".hlo.txt");
  std::vector<std::string> texts;
  for (const auto& file : files) {
    std::string text = ReadFile(file);
    if (text.size() < 20000) texts.push_back(std::move(text));
  }
  ASSERT_GE(texts.size(), 40u);
  std::mt19937 random(20240807);
  int read = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string text = Mutate(texts[i % texts.size()], random);
    auto module = ParseHloText(text, "mutated");
    if (!module.ok()) {
      EXPECT_FALSE(module.status().message().empty());
      continue;
    }
    ++read;
    // What reads is a sound module, and printing it loses nothing.
    const std::string printed = hlo::ToString(**module);
    auto again = ParseHloText(printed, "printed");
    ASSERT_TRUE(again.ok()) << again.status() << "\nfrom:\n" << text;
    EXPECT_EQ(hlo::ToString(**again), printed);
  }
  // Some edits are harmless, most are not.
  EXPECT_GT(read, 100);
  EXPECT_LT(read, 3000);
}

}  // namespace
}  // namespace kiln::hlo_text
