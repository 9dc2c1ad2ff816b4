// Reductions along columns of arrays large enough to be streamed (kernel/streamed_columns.h), compiled, against the
// evaluator: rows that are divided and rows that are not, columns that are whole vectors and columns that are not, one
// reduction and two of the same array, of what is loaded, padded, sliced, reversed, and computed with values of each
// column or row, chosen ones too.
// Data are small integers, so that sums are exact whatever their order; maxima also of NaN and infinities.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/cpu/differential.h"
#include "tests/cpu/isa_limit.h"
#include "tests/cpu/program_writer.h"

namespace kiln::testing {
namespace {

constexpr int64_t kBytes = 2'200'000;

struct Reducer {
  const char* opcode;
  const char* init;
};

Program WriteReduction(uint64_t seed) {
  Random random(seed);
  const PrimitiveType type = random.Of<PrimitiveType>({PrimitiveType::kF32, PrimitiveType::kF32, PrimitiveType::kF64,
                                                       PrimitiveType::kS32, PrimitiveType::kU8, PrimitiveType::kBF16});
  const int64_t columns = random.Of<int64_t>({33, 40, 48, 100, 129, 200, 512, 1000, 1733, 3000, 8200, 20000});
  const int64_t rows_of_memory = std::max<int64_t>(kBytes / hlo::ByteWidth(type) / columns, 20);
  const int64_t batch = random.Of<int64_t>({1, 1, 2, 5});
  // Prime, and with many divisors.
  const int64_t rows = random.Chance(0.3) ? 4099 : std::max<int64_t>(rows_of_memory / batch / 16 * 16, 16);
  const bool has_two = random.Chance(0.3);
  const std::string element = ShapeText(type, {}), array = ShapeText(type, {batch, rows, columns}),
                    result = ShapeText(type, {batch, columns});
  const std::vector<Reducer> reducers = {{"add", "0"}, {"maximum", "1"}, {"minimum", "2"}};

  Program program;
  program.text = "HloModule m\n\n";
  for (const Reducer& reducer : reducers) {
    absl::StrAppend(&program.text, reducer.opcode, "_of { a = ", element, " parameter(0)  b = ", element,
                    " parameter(1)  ROOT r = ", element, " ", reducer.opcode, "(a, b) }\n");
  }
  absl::StrAppend(&program.text, "\nENTRY main {\n  x = ", array, " parameter(0)\n");
  program.data.push_back(Data{});
  switch (seed % 8) {
    case 0:
      absl::StrAppend(&program.text, "  y = ", array, " copy(x)\n");
      if (hlo::IsFloating(type) && random.Chance(0.5)) program.data[0].kind = Data::Kind::kExtremes;
      break;
    case 1:
      absl::StrAppend(&program.text, "  w = ", ShapeText(type, {columns}), " parameter(1)\n  ws = ", array,
                      " broadcast(w), dimensions={2}\n  d = ", array, " subtract(x, ws)\n  y = ", array,
                      " multiply(d, d)\n");
      program.data.push_back(Data{});
      break;
    case 2:
      absl::StrAppend(&program.text, "  w = ", ShapeText(type, {rows}), " parameter(1)\n  ws = ", array,
                      " broadcast(w), dimensions={1}\n  y = ", array, " multiply(x, ws)\n");
      program.data.push_back(Data{});
      break;
    case 3:
      // Chosen per column: what its index is computed of is not repeated for each row.
      absl::StrAppend(&program.text, "  w = ", ShapeText(type, {9}), " parameter(1)\n  i = s32[", columns,
                      ",1] parameter(2)\n  g = ", ShapeText(type, {columns}),
                      " gather(w, i), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, "
                      "index_vector_dim=1, slice_sizes={1}\n  gs = ",
                      array, " broadcast(g), dimensions={2}\n  y = ", array, " multiply(x, gs)\n");
      program.data.insert(program.data.end(), {Data{}, Data{Data::Kind::kSmall, 0, 8}});
      break;
    case 4:
      absl::StrAppend(&program.text, "  w = ", ShapeText(type, {batch, rows - 3, columns - 2}),
                      " parameter(1)\n  p = ", element, " constant(1)\n  ws = ", array,
                      " pad(w, p), padding=0_0x1_2x2_0\n  y = ", array, " multiply(x, ws)\n");
      program.data.push_back(Data{});
      break;
    case 5:
      absl::StrAppend(&program.text, "  w = ", ShapeText(type, {batch, rows + 5, columns}),
                      " parameter(1)\n  i = s32[] parameter(2)\n  none = s32[] constant(0)\n  ws = ", array,
                      " dynamic-slice(w, none, i, none), dynamic_slice_sizes={", batch, ",", rows, ",", columns,
                      "}\n  y = ", array, " subtract(x, ws)\n");
      program.data.insert(program.data.end(), {Data{}, Data{Data::Kind::kSmall, 0, 7}});
      break;
    case 6:
      absl::StrAppend(&program.text, "  n = s32[", rows, "] iota(), iota_dimension=0\n  five = s32[] constant(5)\n",
                      "  fives = s32[", rows, "] broadcast(five), dimensions={}\n  is_late = pred[", rows,
                      "] compare(n, fives), direction=GT\n  late = pred[", batch, ",", rows, ",", columns,
                      "] broadcast(is_late), dimensions={1}\n  r1 = ", array,
                      " reverse(x), dimensions={1}\n  y = ", array, " select(late, r1, x)\n");
      break;
    default:
      absl::StrAppend(&program.text, "  w = ", array, " parameter(1)\n  y = ", array, " add(x, w)\n");
      program.data.push_back(Data{});
  }
  // Extremes have no exact sum, nor have many bf16.
  const bool adds = program.data[0].kind == Data::Kind::kSmall && type != PrimitiveType::kBF16 && random.Chance(0.6);
  const Reducer& first = adds ? reducers[0] : reducers[1];
  absl::StrAppend(&program.text, "  c = ", element, " constant(", first.init, ")\n  r = ", result,
                  " reduce(y, c), dimensions={1}, to_apply=", first.opcode, "_of\n");
  if (has_two) {
    absl::StrAppend(&program.text, "  d2 = ", element, " constant(2)\n  s = ", result,
                    " reduce(y, d2), dimensions={1}, to_apply=minimum_of\n");
  }
  absl::StrAppend(&program.text, "  z = ", result, " add(r, r)\n");
  if (has_two) {
    absl::StrAppend(&program.text, "  ROOT t = (", result, ", ", result, ") tuple(z, s)\n}\n");
  } else {
    absl::StrAppend(&program.text, "  ROOT t = (", result, ") tuple(z)\n}\n");
  }
  program.tolerances.assign(has_two ? 2 : 1, Tolerance{});
  return program;
}

TEST(StreamedColumns, GiveWhatTheEvaluatorDoes) {
  constexpr uint64_t kPrograms = 16;
  for (uint64_t seed = 1; seed <= kPrograms; ++seed) {
    const Program program = WriteReduction(seed);
    CheckOptions options;
    options.threads = seed % 2 == 0 ? 1 : 3;
    ASSERT_EQ(Check(program, seed, options), absl::OkStatus()) << program.text;
  }
}

// Any order of 2^24 ones by one sum of f32 ends at 2^24: rows of a column are summed in blocks.
TEST(StreamedColumns, SumsOfManyRowsAreSumsOfBlocks) {
  Program program;
  program.text = R"(HloModule m

sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }

ENTRY main {
  x = f32[32768,40] parameter(0)
  c = f32[] constant(16777216)
  cs = f32[32768,40] broadcast(c), dimensions={}
  zero = f32[] constant(0)
  i = s32[32768] iota(), iota_dimension=0
  is = s32[32768,40] broadcast(i), dimensions={0}
  none = s32[] constant(0)
  nones = s32[32768,40] broadcast(none), dimensions={}
  is_first = pred[32768,40] compare(is, nones), direction=EQ
  y = f32[32768,40] select(is_first, cs, x)
  ROOT r = f32[40] reduce(y, zero), dimensions={0}, to_apply=sum
}
)";
  // All are 1 but the first row's.
  program.data = {Data{Data::Kind::kSmall, 1, 1}};
  program.tolerances = {Tolerance{.ulps = 0, .absolute = 256}};
  ASSERT_EQ(Check(program, 1, CheckOptions{}), absl::OkStatus());
}

}  // namespace
}  // namespace kiln::testing
