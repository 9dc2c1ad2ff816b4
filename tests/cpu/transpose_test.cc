// All orders of four dimensions, compiled, against the evaluator: squares, what is written side by side, rows that are
// joined.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/cpu/differential.h"
#include "tests/cpu/isa_limit.h"
#include "tests/cpu/program_writer.h"

namespace kiln::testing {
namespace {

struct Case {
  const char* name;
  PrimitiveType type;
};

class TransposeTest : public ::testing::TestWithParam<Case> {};

TEST_P(TransposeTest, EveryOrder) {
  // Last dimensions below, at and above tiles; two that rows are joined over; rows that columns are written of one by
  // one.
  const std::vector<Dims> shapes = {{4, 12, 21, 64}, {3, 5, 70, 9}, {8, 2, 33, 40}, {65, 4, 1, 130}, {8, 1, 3, 77}};
  uint64_t seed = 1;
  for (const Dims& shape : shapes) {
    std::vector<int64_t> order = {0, 1, 2, 3};
    do {
      Dims result;
      for (int64_t dimension : order) result.push_back(shape[static_cast<size_t>(dimension)]);
      Program program;
      program.text = absl::StrCat(
          "HloModule transpose\n\nENTRY main {\n  x = ", hlo::PrimitiveTypeName(GetParam().type), "[",
          absl::StrJoin(shape, ","), "] parameter(0)\n  ROOT t = ", hlo::PrimitiveTypeName(GetParam().type), "[",
          absl::StrJoin(result, ","), "] transpose(x), dimensions={", absl::StrJoin(order, ","), "}\n}\n");
      program.data = {Data{Data::Kind::kExtremes}};
      program.tolerances = {Tolerance{}};
      CheckOptions options;
      options.threads = static_cast<int>(1 + seed % 2);
      ASSERT_EQ(Check(program, seed++, options), absl::OkStatus()) << program.text;
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

INSTANTIATE_TEST_SUITE_P(All, TransposeTest,
                         ::testing::Values(Case{"s8", PrimitiveType::kS8}, Case{"u16", PrimitiveType::kU16},
                                           Case{"s32", PrimitiveType::kS32}, Case{"s64", PrimitiveType::kS64},
                                           Case{"c64", PrimitiveType::kC64}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace kiln::testing
