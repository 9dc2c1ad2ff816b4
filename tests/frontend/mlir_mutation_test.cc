// Deterministic mutations of artifacts give an error or a tree, and of the tree an error or a module, whatever they
// break.
#include <gtest/gtest.h>

#include <random>

#include "src/frontend/mlir/bytecode_reader.h"
#include "src/frontend/mlir/printer.h"
#include "src/frontend/stablehlo/importer.h"
#include "tests/frontend/mutate.h"

namespace kiln {
namespace {

constexpr int kMutations = 10000;

struct Counts {
  int errors = 0;
  int trees = 0;
  int modules = 0;
};

template <typename Mutation>
Counts RunMutations(Mutation mutation) {
  const std::vector<std::string> corpus = MutationCorpus(".mlirbc");
  std::mt19937_64 random(20240);
  Counts counts;
  for (int i = 0; i < kMutations; ++i) {
    auto source = mlir::ReadBytecode(mutation(corpus, random));
    if (!source.ok()) {
      EXPECT_FALSE(source.status().message().empty());
      ++counts.errors;
      continue;
    }
    mlir::PrintOptions options;
    options.locations = true;
    options.max_bytes = 1 << 20;
    EXPECT_FALSE(mlir::Print(**source, options).empty());
    ++counts.trees;
    auto module = stablehlo::Import(**source);
    if (module.ok()) {
      ++counts.modules;
    } else {
      EXPECT_FALSE(module.status().message().empty());
    }
  }
  testing::Test::RecordProperty("errors", counts.errors);
  testing::Test::RecordProperty("trees", counts.trees);
  testing::Test::RecordProperty("modules", counts.modules);
  return counts;
}

TEST(MlirMutation, AnyEdits) {
  const Counts counts = RunMutations(Mutate);
  EXPECT_GT(counts.errors, kMutations / 4);
  EXPECT_GT(counts.trees, kMutations / 100);
}

TEST(MlirMutation, EditsThatMostlyRead) {
  const Counts counts = RunMutations(MutateGently);
  EXPECT_GT(counts.trees, kMutations / 10);
  EXPECT_GT(counts.modules, kMutations / 100);
}

}  // namespace
}  // namespace kiln
