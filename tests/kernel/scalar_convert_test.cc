// Conversions between all pairs of types.
#include "gtest/gtest.h"
#include "tests/kernel/elementwise_test_util.h"

namespace kiln::kernel {
namespace {

// A long double as the nearest double, or its neighbour with an odd mantissa when inexact: rounding it further to few
// bits is the same as rounding the long double.
double RoundToOdd(long double value) {
  double nearest = static_cast<double>(value);
  if (std::isnan(value) || nearest == value) return nearest;
  int64_t bits = std::bit_cast<int64_t>(nearest);
  if (fabsl(nearest) > fabsl(value)) --bits;
  return std::bit_cast<double>(bits | 1);
}

uint64_t ConvertReference(PrimitiveType from, uint64_t bits, PrimitiveType to) {
  const TypeClass from_class = hlo::ClassOf(from), to_class = hlo::ClassOf(to);
  if (from_class == TypeClass::kFloat) {
    const double value = ToReal(from, bits);
    if (to_class == TypeClass::kPred) return value != 0;
    if (to_class == TypeClass::kFloat) return FromReal(to, value);
    if (std::isnan(value)) return 0;
    const int width = hlo::BitWidth(to);
    const bool is_signed = to_class == TypeClass::kSigned;
    const Wide high = (Wide{1} << (is_signed ? width - 1 : width)) - 1, low = is_signed ? -high - 1 : 0;
    // In double `high` may round up to the first value that is out of range.
    if (value >= static_cast<double>(high)) return FromInteger(to, high);
    if (value <= static_cast<double>(low)) return FromInteger(to, low);
    return FromInteger(to, static_cast<Wide>(value));
  }
  const Wide value = ToInteger(from, bits);
  if (to_class == TypeClass::kPred) return value != 0;
  if (to_class != TypeClass::kFloat) return FromInteger(to, value);
  if (to == PrimitiveType::kF32) return std::bit_cast<uint32_t>(static_cast<float>(value));
  if (to == PrimitiveType::kF64) return std::bit_cast<uint64_t>(static_cast<double>(value));
  return FromReal(to, RoundToOdd(static_cast<long double>(value)));
}

TEST(ScalarEmitterTest, ConvertsBetweenAllTypes) {
  const std::vector<PrimitiveType> types =
      TypesOf({TypeClass::kPred, TypeClass::kSigned, TypeClass::kUnsigned, TypeClass::kFloat});
  for (const Configuration& configuration : Configurations()) {
    for (PrimitiveType from : types) {
      hlo::Module module("m");
      std::vector<Case> cases;
      // All codes of types up to 16 bits wide.
      Plane x = Elements(from, 4096, 6);
      if (hlo::BitWidth(from) <= 16) {
        const int codes = 1 << hlo::BitWidth(from);
        x.clear();
        for (int i = 0; i < std::max(codes, 16); ++i) {
          const bool real = hlo::ClassOf(from) == TypeClass::kFloat;
          x.push_back(real ? i % codes : from == PrimitiveType::kPred ? i & 1 : FromInteger(from, i));
        }
      }
      // Beside the middle between two bf16, where rounding twice goes wrong.
      if (hlo::IsIntegral(from) && hlo::BitWidth(from) >= 32) {
        size_t place = 0;
        for (int shift = 1; shift < hlo::BitWidth(from) - 9; ++shift) {
          for (Wide middle : {0x101, 0x103, 0x17f, 0x181, -0x101, -0x1fd}) {
            for (int beside : {-1, 0, 1}) x[place++] = FromInteger(from, (middle << shift) + beside);
          }
        }
      }
      // The same of f64, between two of the narrower floats, those that are subnormal among them.
      if (from == PrimitiveType::kF64) {
        size_t place = 0;
        for (int exponent : {-150, -135, -134, -133, -127, -26, -25, -24, -17, -15, -14, -10, -8, -1, 0, 3, 7, 15}) {
          for (int mantissa_bits : {0, 1, 2, 3, 7, 10}) {
            const double middle = std::ldexp(1 + std::ldexp(3, -mantissa_bits - 1), exponent);
            for (double number : {middle, std::nextafter(middle, 0), std::nextafter(middle, 1e9)}) {
              x[place++] = std::bit_cast<uint64_t>(number);
              x[place++] = std::bit_cast<uint64_t>(-number);
            }
          }
        }
      }
      for (PrimitiveType to : types) {
        cases.push_back({absl::StrCat(Name(from), "_to_", Name(to)),
                         MakeElementwise(&module, Opcode::kConvert, to, {from}),
                         {x},
                         [=](size_t i) -> std::vector<uint64_t> { return {ConvertReference(from, x[i], to)}; }});
      }
      RunCases(cases, configuration);
    }
  }
}

TEST(ScalarEmitterTest, BitcastConvertsKeepBits) {
  for (const Configuration& configuration : Configurations()) {
    hlo::Module module("m");
    std::vector<Case> cases;
    const std::vector<PrimitiveType> types = TypesOf({TypeClass::kSigned, TypeClass::kUnsigned, TypeClass::kFloat});
    for (PrimitiveType from : types) {
      for (PrimitiveType to : types) {
        if (hlo::BitWidth(from) != hlo::BitWidth(to)) continue;
        Plane x = Elements(from, 512, 13);
        if (hlo::BitWidth(from) == 16 || from == PrimitiveType::kF32 || from == PrimitiveType::kF64) {
          // Signaling NaNs may become quiet on the way through registers; numbers must not change.
          for (uint64_t& bits : x) {
            if (hlo::ClassOf(from) == TypeClass::kFloat && std::isnan(ToReal(from, bits))) bits = 0;
          }
        }
        cases.push_back({absl::StrCat(Name(from), "_as_", Name(to)),
                         MakeElementwise(&module, Opcode::kBitcastConvert, to, {from}),
                         {x},
                         [=](size_t i) -> std::vector<uint64_t> {
                           if (hlo::ClassOf(to) != TypeClass::kFloat) return {FromInteger(to, static_cast<Wide>(x[i]))};
                           const int width = hlo::BitWidth(to);
                           return {width == 64 ? x[i] : x[i] & ((uint64_t{1} << width) - 1)};
                         }});
      }
    }
    RunCases(cases, configuration);
  }
}

TEST(ScalarEmitterTest, StochasticConvertRoundsByTheRandomBits) {
  hlo::Module module("m");
  Plane x, r, want;
  const PrimitiveType f32 = PrimitiveType::kF32;
  auto add = [&](float value, uint32_t random, int expected) {
    x.push_back(FromReal(f32, value));
    r.push_back(random);
    want.push_back(FromInteger(PrimitiveType::kS8, expected));
  };
  add(1.25f, 0, 2), add(1.25f, 0x3fffffff, 2), add(1.25f, 0x40000000, 1), add(1.25f, ~0u, 1);
  add(-1.25f, 0, -2), add(-1.25f, ~0u, -1), add(3.0f, 0, 3), add(200.5f, 0, 127);
  add(-200.5f, 0, -128), add(NAN, 0, 0), add(INFINITY, 0, 127), add(-INFINITY, ~0u, -128);
  add(0.0f, 0, 0), add(0.5f, 0x7fffffff, 1), add(0.5f, 0x80000000, 0), add(127.5f, 0, 127);
  const hlo::Instruction* instruction =
      MakeElementwise(&module, Opcode::kStochasticConvert, PrimitiveType::kS8, {f32, PrimitiveType::kU32});
  for (const Configuration& configuration : Configurations()) {
    RunCases({{"stochastic", instruction, {x, r}, [=](size_t i) -> std::vector<uint64_t> { return {want[i]}; }}},
             configuration);
  }
}

}  // namespace
}  // namespace kiln::kernel
