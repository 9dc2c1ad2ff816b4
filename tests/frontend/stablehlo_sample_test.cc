// Samples imported from portable artifacts and evaluated give the outputs that another implementation gave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "src/frontend/mlir/bytecode_reader.h"
#include "src/frontend/stablehlo/importer.h"
#include "src/hlo/evaluator.h"
#include "src/hlo/shape_inference.h"
#include "tests/frontend/test_files.h"

namespace kiln::stablehlo {
namespace {

using Json = nlohmann::json;

std::filesystem::path Data(const std::string& name) { return std::filesystem::path(KILN_TEST_DATA) / "samples" / name; }

double Number(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (!value.is_string()) return value.get<double>();
  const std::string text = value.get<std::string>();
  if (text.find("nan") != std::string::npos || text.find("NaN") != std::string::npos) return std::nan("");
  return text[0] == '-' ? -HUGE_VAL : HUGE_VAL;
}

// {type, shape, data row-major}
hlo::Literal ToLiteral(const Json& value) {
  const hlo::PrimitiveType type = *hlo::ParsePrimitiveType(value["type"].get<std::string>());
  const std::vector<int64_t> dims = value["shape"].get<std::vector<int64_t>>();
  hlo::Literal literal{hlo::Shape(type, dims)};
  const hlo::Shape scalar = hlo::Shape::Scalar(type);
  const size_t width = hlo::ByteWidth(type);
  for (size_t i = 0; i < value["data"].size(); ++i) {
    const Json& element = value["data"][i];
    hlo::Literal one;
    if (hlo::IsComplex(type)) {
      one = hlo::Literal(scalar);
      const float parts[2] = {static_cast<float>(Number(element[0])), static_cast<float>(Number(element[1]))};
      std::memcpy(one.mutable_bytes().data(), parts, sizeof(parts));
    } else if (element.is_number_integer()) {
      one = hlo::LiteralOf(scalar, element.get<int64_t>());
    } else {
      one = hlo::LiteralOf(scalar, Number(element));
    }
    std::memcpy(literal.mutable_bytes().data() + i * width, one.bytes().data(), width);
  }
  return literal;
}

void ExpectClose(const hlo::Literal& actual, const Json& expected, const std::string& what) {
  const hlo::Literal wanted = ToLiteral(expected);
  ASSERT_TRUE(hlo::Shape::Compatible(actual.shape(), wanted.shape()))
      << what << ": " << actual.shape().ToString() << ", expected " << wanted.shape().ToString();
  const hlo::PrimitiveType type = wanted.shape().element_type();
  const bool exact = !hlo::IsFloating(type) && !hlo::IsComplex(type);
  const double relative = hlo::ByteWidth(type) < 4 ? 1.0 / 128 : 2e-5;
  const int64_t parts = hlo::IsComplex(type) ? 2 : 1;
  for (int64_t i = 0; i < wanted.element_count() * parts; ++i) {
    if (exact) {
      ASSERT_EQ(hlo::ElementAsInt64(actual, i), hlo::ElementAsInt64(wanted, i)) << what << " element " << i;
      continue;
    }
    const double a =
        parts == 2 ? reinterpret_cast<const float*>(actual.bytes().data())[i] : hlo::ElementAsDouble(actual, i);
    const double b =
        parts == 2 ? reinterpret_cast<const float*>(wanted.bytes().data())[i] : hlo::ElementAsDouble(wanted, i);
    if (std::isnan(b) || std::isinf(b)) {
      ASSERT_TRUE(std::isnan(b) ? std::isnan(a) : a == b)
          << what << " element " << i << ": " << a << ", expected " << b;
    } else {
      ASSERT_NEAR(a, b, relative * (std::abs(b) + 0.1)) << what << " element " << i;
    }
  }
}

class SampleTest : public testing::TestWithParam<const char*> {};

TEST_P(SampleTest, EvaluatesToTheKnownOutputs) {
  const std::string name = GetParam();
  auto source = mlir::ReadBytecode(ReadFile(Data(name + ".mlirbc")));
  ASSERT_TRUE(source.ok()) << source.status();
  auto module = Import(**source);
  ASSERT_TRUE(module.ok()) << module.status();
  const Json sample = Json::parse(ReadFile(Data(name + ".json")));
  std::vector<hlo::Literal> arguments;
  for (const Json& input : sample["inputs"]) arguments.push_back(ToLiteral(input));
  absl::StatusOr<hlo::Literal> result = hlo::Evaluate(*(*module)->entry(), arguments);
  ASSERT_TRUE(result.ok()) << result.status();
  const Json& outputs = sample["outputs"];
  if (outputs.size() == 1) {
    ExpectClose(*result, outputs[0], name);
    return;
  }
  ASSERT_EQ(result->elements().size(), outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    ExpectClose(result->elements()[i], outputs[i], absl::StrCat(name, " output ", i));
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, SampleTest,
                         testing::Values("s01_elementwise", "s02_dot_general", "s03_convolution", "s04_reduce",
                                         "s05_while", "s06_case", "s07_gather_scatter", "s08_sort", "s09_dynamic_slice",
                                         "s10_types", "s11_constants", "s13_window_pad", "s14_random", "s15_math",
                                         "s16_mlp_grad", "s18_donate"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace kiln::stablehlo
