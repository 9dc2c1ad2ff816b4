// Compare, select and clamp.
#include "gtest/gtest.h"
#include "tests/kernel/elementwise_test_util.h"

namespace kiln::kernel {
namespace {

bool Holds(hlo::ComparisonDirection direction, auto a, auto b) {
  switch (direction) {
    case hlo::ComparisonDirection::kEq:
      return a == b;
    case hlo::ComparisonDirection::kNe:
      return a != b;
    case hlo::ComparisonDirection::kGe:
      return a >= b;
    case hlo::ComparisonDirection::kGt:
      return a > b;
    case hlo::ComparisonDirection::kLe:
      return a <= b;
    case hlo::ComparisonDirection::kLt:
      return a < b;
  }
  return false;
}

// The rank of a float in the total order: sign and magnitude as an integer, negative zero below zero.
int64_t Rank(PrimitiveType type, uint64_t bits) {
  if (type == PrimitiveType::kF8E8M0FNU) return static_cast<int64_t>(bits);
  const uint64_t sign = uint64_t{1} << (hlo::BitWidth(type) - 1);
  const int64_t magnitude = static_cast<int64_t>(bits & (sign - 1));
  if (std::isnan(ToReal(type, bits)) && magnitude == 0) return -1000;  // the NaN of formats without negative zero
  return bits & sign ? -magnitude - 1 : magnitude;
}

TEST(ScalarEmitterTest, ComparesInEveryDirectionAndOrder) {
  for (const Configuration& configuration : Configurations()) {
    hlo::Module module("m");
    std::vector<Case> cases;
    for (PrimitiveType type :
         TypesOf({TypeClass::kPred, TypeClass::kSigned, TypeClass::kUnsigned, TypeClass::kFloat})) {
      auto [x, y] = Pairs(type, 4096);
      for (size_t i = 0; i < x.size(); i += 5) y[i] = x[i];
      for (int d = 0; d < 6; ++d) {
        const auto direction = static_cast<hlo::ComparisonDirection>(d);
        const bool real = hlo::ClassOf(type) == TypeClass::kFloat;
        cases.push_back({absl::StrCat("compare_", d, "_", Name(type)),
                         MakeElementwise(&module, Opcode::kCompare, PrimitiveType::kPred, {type, type},
                                         hlo::CompareAttributes{direction}),
                         {x, y},
                         [=, x = x, y = y](size_t i) -> std::vector<uint64_t> {
                           if (real) return {Holds(direction, ToReal(type, x[i]), ToReal(type, y[i]))};
                           return {Holds(direction, ToInteger(type, x[i]), ToInteger(type, y[i]))};
                         }});
        if (!real) continue;
        cases.push_back({absl::StrCat("total_", d, "_", Name(type)),
                         MakeElementwise(&module, Opcode::kCompare, PrimitiveType::kPred, {type, type},
                                         hlo::CompareAttributes{direction, hlo::ComparisonType::kTotalOrder}),
                         {x, y},
                         [=, x = x, y = y](size_t i) -> std::vector<uint64_t> {
                           return {Holds(direction, Rank(type, x[i]), Rank(type, y[i]))};
                         }});
      }
    }
    RunCases(cases, configuration);
  }
}

TEST(ScalarEmitterTest, SelectsAndClamps) {
  for (const Configuration& configuration : Configurations()) {
    hlo::Module module("m");
    std::vector<Case> cases;
    Plane p = Elements(PrimitiveType::kPred, 4096, 7);
    for (PrimitiveType type :
         TypesOf({TypeClass::kPred, TypeClass::kSigned, TypeClass::kUnsigned, TypeClass::kFloat})) {
      Plane x = Elements(type, 4096, 8), y = Elements(type, 4096, 9), z = Elements(type, 4096, 10);
      cases.push_back({absl::StrCat("select_", Name(type)),
                       MakeElementwise(&module, Opcode::kSelect, type, {PrimitiveType::kPred, type, type}),
                       {p, x, y},
                       [=](size_t i) -> std::vector<uint64_t> { return {p[i] ? x[i] : y[i]}; }});
      const bool real = hlo::ClassOf(type) == TypeClass::kFloat;
      if (real) {
        // The order of zeros of both signs is not defined.
        for (Plane* bound : {&x, &z}) {
          for (uint64_t& bits : *bound) {
            if (ToReal(type, bits) == 0) bits = FromReal(type, 1.0);
          }
        }
      }
      cases.push_back(
          {absl::StrCat("clamp_", Name(type)),
           MakeElementwise(&module, Opcode::kClamp, type, {type, type, type}),
           {x, y, z},
           [=](size_t i) -> std::vector<uint64_t> {
             auto clamp = [](auto low, auto v, auto high) { return std::min(std::max(v, low), high); };
             if (!real) {
               return {FromInteger(type, clamp(ToInteger(type, x[i]), ToInteger(type, y[i]), ToInteger(type, z[i])))};
             }
             const double a = ToReal(type, x[i]), b = ToReal(type, y[i]), c = ToReal(type, z[i]);
             if (std::isnan(a) || std::isnan(b) || std::isnan(c)) return {FromReal(type, std::nan(""))};
             return {FromReal(type, clamp(a, b, c))};
           }});
    }
    RunCases(cases, configuration);
  }
}

}  // namespace
}  // namespace kiln::kernel
