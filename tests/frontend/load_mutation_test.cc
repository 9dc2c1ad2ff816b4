// Deterministic mutations of StableHLO texts and of protos give an error or a module, whatever they break.
// KILN_FULL_TESTS=1 runs ten times as many.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "src/frontend/hlo_proto/reader.h"
#include "src/frontend/mlir/printer.h"
#include "src/frontend/mlir/text_reader.h"
#include "src/frontend/stablehlo/importer.h"
#include "tests/frontend/mutate.h"

namespace kiln {
namespace {

int Mutations() { return std::getenv("KILN_FULL_TESTS") != nullptr ? 100000 : 10000; }

template <typename Read>
void RunMutations(const std::string& suffix, Read read) {
  const std::vector<std::string> corpus = MutationCorpus(suffix);
  ASSERT_GT(corpus.size(), 10u);
  std::mt19937_64 random(20240);
  for (auto* mutation : {Mutate, MutateGently}) {
    int good = 0;
    for (int i = 0; i < Mutations(); ++i) {
      const absl::Status status = read(mutation(corpus, random));
      if (status.ok()) {
        ++good;
      } else {
        EXPECT_FALSE(status.message().empty());
      }
    }
    EXPECT_GT(good, Mutations() / 100);
    EXPECT_LT(good, Mutations());
  }
}

TEST(LoadMutation, StablehloText) {
  RunMutations(".mlir", [](const std::string& bytes) {
    const auto source = mlir::ReadText(bytes, "mutated");
    if (!source.ok()) return source.status();
    mlir::PrintOptions options;
    options.max_bytes = 1 << 20;
    EXPECT_FALSE(mlir::Print(**source, options).empty());
    return stablehlo::Import(**source).status();
  });
}

TEST(LoadMutation, Protos) {
  RunMutations(".hlo.pb", [](const std::string& bytes) { return hlo_proto::ReadModule(bytes).status(); });
}

}  // namespace
}  // namespace kiln
