// Deterministic mutations of artifacts give an error or a tree, whatever they break.
#include <gtest/gtest.h>

#include <random>

#include "src/frontend/mlir/bytecode_reader.h"
#include "src/frontend/mlir/printer.h"
#include "tests/frontend/test_files.h"

namespace kiln::mlir {
namespace {

constexpr int kMutations = 10000;

std::string Mutate(const std::vector<std::string>& corpus, std::mt19937_64& random) {
  const auto below = [&random](uint64_t bound) { return bound == 0 ? 0 : random() % bound; };
  std::string bytes = corpus[below(corpus.size())];
  const uint64_t edits = 1 + below(4);
  for (uint64_t i = 0; i < edits && !bytes.empty(); ++i) {
    const uint64_t position = below(bytes.size());
    switch (below(6)) {
      case 0:
        bytes[position] ^= static_cast<char>(1 << below(8));
        break;
      case 1:
        bytes[position] = static_cast<char>(below(256));
        break;
      case 2:
        bytes.resize(position);
        break;
      case 3:
        bytes.erase(position, 1 + below(8));
        break;
      case 4: {
        const std::string& other = corpus[below(corpus.size())];
        const uint64_t from = below(other.size());
        bytes.replace(position, below(32), other, from, below(32));
        break;
      }
      // A number of the largest size: nine bytes after a zero.
      default:
        bytes.replace(position, 1, std::string("\0\xff\xff\xff\xff\xff\xff\xff\x7f", 9));
        break;
    }
  }
  return bytes;
}

TEST(MlirMutation, ErrorsOrTrees) {
  std::vector<std::string> corpus;
  for (const auto& file : DataFiles(".mlirbc")) {
    std::string bytes = ReadFile(file);
    if (bytes.size() < 8192) corpus.push_back(std::move(bytes));
  }
  ASSERT_FALSE(corpus.empty());
  std::mt19937_64 random(20240);
  int trees = 0;
  int errors = 0;
  for (int i = 0; i < kMutations; ++i) {
    auto module = ReadBytecode(Mutate(corpus, random));
    if (!module.ok()) {
      EXPECT_FALSE(module.status().message().empty());
      ++errors;
      continue;
    }
    PrintOptions options;
    options.locations = true;
    options.max_bytes = 1 << 20;
    EXPECT_FALSE(Print(**module, options).empty());
    ++trees;
  }
  // Most edits break the file, and some only change a value.
  EXPECT_GT(errors, kMutations / 4);
  EXPECT_GT(trees, kMutations / 100);
}

}  // namespace
}  // namespace kiln::mlir
