// Reads arrays and programs of the evaluator's reference cases and compares results.
#ifndef KILN_TESTS_HLO_EVALUATOR_TEST_UTIL_H_
#define KILN_TESTS_HLO_EVALUATOR_TEST_UTIL_H_

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "src/base/small_float.h"
#include "src/frontend/hlo_text/parser.h"
#include "src/hlo/evaluator.h"

namespace kiln::hlo {

inline nlohmann::json ReadJson(const std::string& path) {
  std::ifstream file(std::string(KILN_TEST_DATA) + "/" + path);
  EXPECT_TRUE(file.good()) << path;
  return nlohmann::json::parse(file);
}

inline std::string ReadText(const std::string& path) {
  std::ifstream file(std::string(KILN_TEST_DATA) + "/" + path);
  EXPECT_TRUE(file.good()) << path;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline Shape ShapeOfCase(const nlohmann::json& array) {
  const auto dimensions = array["shape"].get<std::vector<int64_t>>();
  return Shape(*ParsePrimitiveType(array["type"].get<std::string>()), dimensions);
}

// {"type", "shape", "hex"}
inline Literal LiteralOfCase(const nlohmann::json& array) {
  const std::string hex = array["hex"].get<std::string>();
  std::vector<std::byte> bytes(hex.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = std::byte{static_cast<uint8_t>(std::stoi(hex.substr(2 * i, 2), nullptr, 16))};
  }
  return *Literal::FromBytes(ShapeOfCase(array), bytes);
}

inline void AppendLeaves(const Literal& literal, std::vector<Literal>* leaves) {
  if (!literal.shape().IsTuple()) {
    leaves->push_back(literal);
    return;
  }
  for (const Literal& element : literal.elements()) AppendLeaves(element, leaves);
}

// Floating parts of an array: elements, or the two parts of each complex one.
inline std::vector<double> PartsOf(const Literal& literal) {
  const PrimitiveType type = literal.shape().element_type();
  const PrimitiveType part = ComplexComponentType(type);
  const int64_t count = literal.element_count() * (IsComplex(type) ? 2 : 1);
  const Literal flat = *Literal::FromBytes(Shape(part, {count}), literal.bytes());
  std::vector<double> parts;
  for (int64_t i = 0; i < count; ++i) parts.push_back(ElementAsDouble(flat, i));
  return parts;
}

// The distance from x to the next larger magnitude of `type`.
inline double UnitInTheLastPlace(PrimitiveType type, double x) {
  int mantissa = 23, lowest = -126;
  if (type == PrimitiveType::kF64) mantissa = 52, lowest = -1022;
  if (type == PrimitiveType::kF16) mantissa = 10, lowest = -14;
  if (type == PrimitiveType::kBF16) mantissa = 7;
  if (BitWidth(type) <= 8) mantissa = 2, lowest = -6;
  int exponent = x == 0 || !std::isfinite(x) ? lowest : std::max(std::ilogb(x), lowest);
  return std::ldexp(1.0, exponent - mantissa);
}

// ulps == 0: the same bits, save that any NaN equals any other. rtol > 0: relative to the largest finite magnitude.
inline void ExpectClose(const Literal& actual, const Literal& expected, double ulps, double rtol) {
  ASSERT_TRUE(Shape::Compatible(actual.shape(), expected.shape()))
      << actual.shape().ToString() << " vs " << expected.shape().ToString();
  const PrimitiveType type = expected.shape().element_type();
  if (!IsFloating(type) && !IsComplex(type)) {
    int failures = 0;
    for (int64_t i = 0; i < expected.element_count() && failures < 5; ++i) {
      const int64_t a = ElementAsInt64(actual, i), e = ElementAsInt64(expected, i);
      if (a != e) {
        ADD_FAILURE() << "element " << i << " is " << a << ", expected " << e;
        ++failures;
      }
    }
    return;
  }
  const PrimitiveType part = ComplexComponentType(type);
  const std::vector<double> a = PartsOf(actual), e = PartsOf(expected);
  double largest = 0;
  for (double value : e) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  int failures = 0;
  for (size_t i = 0; i < e.size() && failures < 5; ++i) {
    bool close = false;
    if (std::isnan(e[i]) || std::isnan(a[i])) {
      close = std::isnan(e[i]) && std::isnan(a[i]);
    } else if (a[i] == e[i]) {
      close = e[i] != 0 || ulps > 0 || rtol > 0 || std::signbit(a[i]) == std::signbit(e[i]);
    } else {
      const double bound = rtol > 0 ? rtol * largest : ulps * UnitInTheLastPlace(part, e[i]);
      close = std::fabs(a[i] - e[i]) <= bound;
    }
    if (!close) {
      ADD_FAILURE() << "part " << i << " is " << a[i] << ", expected " << e[i] << " (" << PrimitiveTypeName(type)
                    << ")";
      ++failures;
    }
  }
}

inline void RunCase(const nlohmann::json& test_case) {
  SCOPED_TRACE(test_case["name"].get<std::string>());
  auto module = hlo_text::ParseHloText(test_case["hlo"].get<std::string>(), "case");
  ASSERT_TRUE(module.ok()) << module.status();
  std::vector<Literal> arguments;
  for (const nlohmann::json& argument : test_case["arguments"]) arguments.push_back(LiteralOfCase(argument));
  absl::StatusOr<Literal> value = Evaluate(*(*module)->entry(), arguments);
  ASSERT_TRUE(value.ok()) << value.status();
  std::vector<Literal> leaves;
  AppendLeaves(*value, &leaves);
  const nlohmann::json& results = test_case["results"];
  ASSERT_EQ(leaves.size(), results.size());
  const double rtol = test_case.contains("rtol") ? test_case["rtol"].get<double>() : 0;
  const Instruction* root = (*module)->entry()->root();
  for (size_t i = 0; i < leaves.size(); ++i) {
    SCOPED_TRACE(root->opcode() == Opcode::kTuple ? std::string(OpcodeName(root->operand(i)->opcode()))
                                                  : std::string(OpcodeName(root->opcode())));
    ExpectClose(leaves[i], LiteralOfCase(results[i]), test_case["ulps"].get<double>(), rtol);
  }
}

// Every case of tests/data/evaluator/FAMILY.json.
inline void RunFamily(const std::string& family) {
  const nlohmann::json cases = ReadJson("evaluator/" + family + ".json");
  ASSERT_FALSE(cases.empty());
  for (const nlohmann::json& test_case : cases) RunCase(test_case);
}

}  // namespace kiln::hlo

#endif  // KILN_TESTS_HLO_EVALUATOR_TEST_UTIL_H_
