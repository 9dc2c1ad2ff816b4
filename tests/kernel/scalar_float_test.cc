// Exact float ops of every format against float and double arithmetic rounded once.
#include "gtest/gtest.h"
#include "tests/kernel/elementwise_test_util.h"

namespace kiln::kernel {
namespace {

// Ops of T (float for everything narrower), before rounding to the type.
template <typename T>
T RealReference(Opcode opcode, T a, T b) {
  switch (opcode) {
    case Opcode::kAdd:
      return a + b;
    case Opcode::kSubtract:
      return a - b;
    case Opcode::kMultiply:
      return a * b;
    case Opcode::kDivide:
      return a / b;
    case Opcode::kRemainder:
      return std::fmod(a, b);
    case Opcode::kMaximum:
      return std::isnan(a) || std::isnan(b) ? std::numeric_limits<T>::quiet_NaN() : (a > b ? a : b);
    case Opcode::kMinimum:
      return std::isnan(a) || std::isnan(b) ? std::numeric_limits<T>::quiet_NaN() : (a < b ? a : b);
    case Opcode::kAbs:
      return std::fabs(a);
    case Opcode::kNegate:
      return -a;
    case Opcode::kSign:
      return std::isnan(a) || a == 0 ? a : std::copysign(T{1}, a);
    case Opcode::kCeil:
      return std::ceil(a);
    case Opcode::kFloor:
      return std::floor(a);
    case Opcode::kRoundNearestAfz:
      return std::round(a);
    case Opcode::kRoundNearestEven:
      return std::nearbyint(a);
    case Opcode::kSqrt:
      return std::sqrt(a);
    default:
      ADD_FAILURE() << "no reference";
      return 0;
  }
}

TEST(ScalarEmitterTest, Floats) {
  const std::vector<Opcode> unary = {Opcode::kAbs,  Opcode::kNegate,          Opcode::kSign,
                                     Opcode::kCeil, Opcode::kFloor,           Opcode::kRoundNearestAfz,
                                     Opcode::kSqrt, Opcode::kRoundNearestEven};
  const std::vector<Opcode> binary = {Opcode::kAdd,       Opcode::kSubtract, Opcode::kMultiply, Opcode::kDivide,
                                      Opcode::kRemainder, Opcode::kMaximum,  Opcode::kMinimum};
  for (const Configuration& configuration : Configurations()) {
    hlo::Module module("m");
    std::vector<Case> cases;
    for (PrimitiveType type : TypesOf({TypeClass::kFloat})) {
      auto [x, y] = Pairs(type, 8192);
      auto add = [&](Opcode opcode, int operands) {
        auto reference = [=, x = x, y = y](size_t i) -> std::vector<uint64_t> {
          const double a = ToReal(type, x[i]), b = ToReal(type, y[i]);
          const bool f64 = type == PrimitiveType::kF64;
          const double result = f64 ? RealReference<double>(opcode, a, b)
                                    : RealReference<float>(opcode, static_cast<float>(a), static_cast<float>(b));
          return {FromReal(type, result)};
        };
        std::vector<PrimitiveType> types(operands, type);
        cases.push_back({absl::StrCat(Name(opcode), "_", Name(type)), MakeElementwise(&module, opcode, type, types),
                         operands == 2 ? std::vector<Plane>{x, y} : std::vector<Plane>{x}, reference});
      };
      for (Opcode opcode : unary) add(opcode, 1);
      for (Opcode opcode : binary) {
        if (opcode == Opcode::kMaximum || opcode == Opcode::kMinimum) {
          // The order of zeros of both signs is not defined.
          for (uint64_t& bits : y) {
            if (ToReal(type, bits) == 0) bits = FromReal(type, 1.0);
          }
        }
        add(opcode, 2);
      }
      cases.push_back({absl::StrCat("is_finite_", Name(type)),
                       MakeElementwise(&module, Opcode::kIsFinite, PrimitiveType::kPred, {type}),
                       {x},
                       [=, x = x](size_t i) -> std::vector<uint64_t> { return {std::isfinite(ToReal(type, x[i]))}; }});
    }
    for (PrimitiveType type : {PrimitiveType::kF32, PrimitiveType::kF64}) {
      Plane x = Elements(type, 4096, 3), y = Elements(type, 4096, 4), z = Elements(type, 4096, 5);
      cases.push_back(
          {absl::StrCat("fma_", Name(type)),
           MakeElementwise(&module, Opcode::kFma, type, {type, type, type}),
           {x, y, z},
           [=](size_t i) -> std::vector<uint64_t> {
             const double a = ToReal(type, x[i]), b = ToReal(type, y[i]), c = ToReal(type, z[i]);
             if (type == PrimitiveType::kF64) return {FromReal(type, std::fma(a, b, c))};
             return {FromReal(type, std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)))};
           }});
    }
    RunCases(cases, configuration);
  }
}

// A bf16 is rounded without a look at whether it is NaN, which has to stay that, whatever its bits.
TEST(ScalarEmitterTest, NanOfAllBitsStaysNan) {
  constexpr PrimitiveType kType = PrimitiveType::kBF16;
  const std::vector<Opcode> unary = {Opcode::kAbs,
                                     Opcode::kAcos,
                                     Opcode::kAcosh,
                                     Opcode::kAsin,
                                     Opcode::kAsinh,
                                     Opcode::kAtanh,
                                     Opcode::kCbrt,
                                     Opcode::kCeil,
                                     Opcode::kCos,
                                     Opcode::kCosh,
                                     Opcode::kErf,
                                     Opcode::kErfc,
                                     Opcode::kExp,
                                     Opcode::kExp2,
                                     Opcode::kExpMinusOne,
                                     Opcode::kFloor,
                                     Opcode::kLog,
                                     Opcode::kLog2,
                                     Opcode::kLogistic,
                                     Opcode::kLogPlusOne,
                                     Opcode::kNegate,
                                     Opcode::kRoundNearestAfz,
                                     Opcode::kRoundNearestEven,
                                     Opcode::kRsqrt,
                                     Opcode::kSign,
                                     Opcode::kSin,
                                     Opcode::kSinh,
                                     Opcode::kSqrt,
                                     Opcode::kTan,
                                     Opcode::kTanh};
  const std::vector<Opcode> binary = {Opcode::kAdd, Opcode::kSubtract, Opcode::kMultiply, Opcode::kDivide};
  Plane nans, ones;
  for (uint64_t bits = 0x7f81; bits <= 0x7fff; ++bits) {
    nans.insert(nans.end(), {bits, bits | 0x8000});
    ones.insert(ones.end(), {0x3f80, 0x7f80});
  }
  // Whole vectors of sixteen; those with most bits set are what rounding up would make a zero of.
  nans.resize(256, 0x7fff), ones.resize(256, 0x3f80);
  for (const Configuration& configuration : Configurations()) {
    hlo::Module module("m");
    std::vector<Case> cases;
    const auto nan = [](size_t) -> std::vector<uint64_t> { return {0x7fc0}; };
    for (Opcode opcode : unary) {
      cases.push_back({Name(opcode), MakeElementwise(&module, opcode, kType, {kType}), {nans}, nan});
    }
    for (Opcode opcode : binary) {
      cases.push_back({Name(opcode), MakeElementwise(&module, opcode, kType, {kType, kType}), {nans, ones}, nan});
      cases.push_back(
          {Name(opcode) + "_to", MakeElementwise(&module, opcode, kType, {kType, kType}), {ones, nans}, nan});
    }
    RunCases(cases, configuration);
  }
}

TEST(ScalarEmitterTest, ReducesPrecision) {
  for (const Configuration& configuration : Configurations()) {
    hlo::Module module("m");
    std::vector<Case> cases;
    for (PrimitiveType type : {PrimitiveType::kF32, PrimitiveType::kF64, PrimitiveType::kBF16}) {
      for (auto [exponent, mantissa] : {std::pair{5, 10}, {8, 7}, {8, 23}, {4, 3}, {11, 52}, {2, 1}}) {
        Plane x = Elements(type, 4096, 14);
        cases.push_back({absl::StrCat("reduce_", exponent, "_", mantissa, "_", Name(type)),
                         MakeElementwise(&module, Opcode::kReducePrecision, type, {type},
                                         hlo::ReducePrecisionAttributes{exponent, mantissa}),
                         {x},
                         [=, exponent = exponent, mantissa = mantissa](size_t i) -> std::vector<uint64_t> {
                           const double value = ToReal(type, x[i]);
                           const int own_mantissa = type == PrimitiveType::kF64 ? 52 : 23;
                           if (!std::isfinite(value) || value == 0) return {x[i]};
                           const int bias = (1 << (exponent - 1)) - 1;
                           double rounded = value;
                           int scale = std::ilogb(value);
                           // Subnormals keep the spacing of the format that they are in.
                           scale = std::max(scale, type == PrimitiveType::kF64 ? -1022 : -126);
                           if (mantissa < own_mantissa) {
                             rounded =
                                 std::ldexp(std::nearbyint(std::ldexp(value, mantissa - scale)), scale - mantissa);
                           }
                           const int own_exponent = type == PrimitiveType::kF64 ? 11 : 8;
                           if (exponent < own_exponent) {
                             if (std::fabs(rounded) >= std::ldexp(1.0, bias + 1))
                               rounded = std::copysign(INFINITY, value);
                             if (std::fabs(rounded) < std::ldexp(1.0, 1 - bias)) rounded = std::copysign(0.0, value);
                           }
                           return {FromReal(type, rounded)};
                         }});
      }
    }
    RunCases(cases, configuration);
  }
}

}  // namespace
}  // namespace kiln::kernel
