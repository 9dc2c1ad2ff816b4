// The evaluator on whole programs with recorded inputs and outputs (tests/data/samples).
#include "tests/hlo/evaluator_test_util.h"

namespace kiln::hlo {
namespace {

double Number(const nlohmann::json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  if (text == "inf" || text == "Infinity") return INFINITY;
  if (text == "-inf" || text == "-Infinity") return -INFINITY;
  if (text == "nan" || text == "NaN") return NAN;
  ADD_FAILURE() << "no number: " << value;
  return 0;
}

// {"type", "shape", "data": numbers, or pairs for complex types}
Literal LiteralOfSample(const nlohmann::json& array) {
  const Shape shape = ShapeOfCase(array);
  const PrimitiveType type = shape.element_type();
  Literal literal(shape);
  const PrimitiveType part = ComplexComponentType(type);
  const int width = ByteWidth(part);
  std::byte* out = literal.mutable_bytes().data();
  auto store = [&](const nlohmann::json& value) {
    Literal element;
    if (value.is_number_integer()) {
      const bool is_unsigned = value.is_number_unsigned();
      const int64_t integer =
          is_unsigned ? static_cast<int64_t>(value.get<uint64_t>()) : value.get<int64_t>();
      element = LiteralOf(Shape::Scalar(part), integer);
    } else {
      element = LiteralOf(Shape::Scalar(part), Number(value));
    }
    std::memcpy(out, element.bytes().data(), width);
    out += width;
  };
  for (const nlohmann::json& value : array["data"]) {
    if (value.is_array()) {
      for (const nlohmann::json& half : value) store(half);
    } else {
      store(value);
    }
  }
  EXPECT_EQ(out, literal.mutable_bytes().data() + literal.bytes().size());
  return literal;
}

class EvaluatorSamplesTest : public testing::TestWithParam<const char*> {};

TEST_P(EvaluatorSamplesTest, GivesTheRecordedOutputs) {
  const std::string name = GetParam();
  const nlohmann::json sample = ReadJson("samples/" + name + ".json");
  auto module = hlo_text::ParseHloText(ReadText("samples/" + name + ".hlo.txt"), name);
  ASSERT_TRUE(module.ok()) << module.status();
  std::vector<Literal> arguments;
  for (const nlohmann::json& input : sample["inputs"]) arguments.push_back(LiteralOfSample(input));
  absl::StatusOr<Literal> value = Evaluate(*(*module)->entry(), arguments);
  ASSERT_TRUE(value.ok()) << value.status();
  std::vector<Literal> leaves;
  AppendLeaves(*value, &leaves);
  ASSERT_EQ(leaves.size(), sample["outputs"].size());
  for (size_t i = 0; i < leaves.size(); ++i) {
    SCOPED_TRACE("output " + std::to_string(i));
    const Literal expected = LiteralOfSample(sample["outputs"][i]);
    const PrimitiveType type = expected.shape().element_type();
    // The recorded values are another compiler's: its sums and functions are a few units off.
    const double tolerance = BitWidth(type) <= 8 ? 0.13 : BitWidth(type) == 16 ? 8e-3 : 2e-6;
    ExpectClose(leaves[i], expected, 0, tolerance);
  }
}

// What the evaluator cannot have: a library's handlers, and other devices.
absl::Status StatusOfSample(const std::string& name) {
  auto module = hlo_text::ParseHloText(ReadText("samples/" + name + ".hlo.txt"), name);
  if (!module.ok()) return module.status();
  std::vector<Literal> arguments;
  for (const Instruction* parameter : (*module)->entry()->parameters()) arguments.emplace_back(parameter->shape());
  return Evaluate(*(*module)->entry(), arguments).status();
}

TEST(EvaluatorCustomCallTest, NamesTheTargetThatItDoesNotKnow) {
  const absl::Status lapack = StatusOfSample("s12_linalg");
  EXPECT_EQ(lapack.code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(lapack.message().find("lapack_spotrf_ffi"), std::string::npos) << lapack;
  const absl::Status sharded = StatusOfSample("s17_collectives");
  EXPECT_EQ(sharded.code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(sharded.message().find("xla.sdy.GlobalToLocalShape"), std::string::npos) << sharded;
}

INSTANTIATE_TEST_SUITE_P(Samples, EvaluatorSamplesTest,
                         testing::Values("s01_elementwise", "s02_dot_general", "s03_convolution", "s04_reduce",
                                         "s05_while",
                                         "s06_case", "s07_gather_scatter", "s08_sort", "s09_dynamic_slice", "s10_types",
                                         "s11_constants", "s13_window_pad", "s14_random", "s15_math",
                                         "s16_mlp_grad", "s18_donate"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace kiln::hlo
