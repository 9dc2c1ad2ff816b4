// Every exact elementwise op of every element type against plain C++ references; complex functions against
// std::complex.
#include "src/kernel/scalar_emitter.h"

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "src/base/small_float.h"
#include "src/kernel/small_float_codec.h"
#include "tests/kernel/jit_test_util.h"

namespace kiln::kernel {
namespace {

using hlo::Opcode;
using hlo::PrimitiveType;
using hlo::TypeClass;
using Wide = __int128;

constexpr int kLaneCounts[] = {1, 4, 16};

std::vector<PrimitiveType> TypesOf(std::vector<TypeClass> classes) {
  std::vector<PrimitiveType> types;
  for (int i = 1; i < hlo::kPrimitiveTypeCount; ++i) {
    PrimitiveType type = static_cast<PrimitiveType>(i);
    for (TypeClass c : classes) {
      if (hlo::ClassOf(type) == c) types.push_back(type);
    }
  }
  return types;
}

std::string Name(PrimitiveType type) { return std::string(hlo::PrimitiveTypeName(type)); }
std::string Name(Opcode opcode) { return std::string(hlo::OpcodeName(opcode)); }

// Elements as the bits they have in memory.
using Plane = std::vector<uint64_t>;

std::vector<uint8_t> Pack(PrimitiveType type, const Plane& bits) {
  const int size = hlo::ByteWidth(hlo::ComplexComponentType(type));
  std::vector<uint8_t> bytes(bits.size() * size);
  for (size_t i = 0; i < bits.size(); ++i) std::memcpy(&bytes[i * size], &bits[i], size);
  return bytes;
}

Plane Unpack(PrimitiveType type, const std::vector<uint8_t>& bytes) {
  const int size = hlo::ByteWidth(hlo::ComplexComponentType(type));
  Plane bits(bytes.size() / size);
  for (size_t i = 0; i < bits.size(); ++i) std::memcpy(&bits[i], &bytes[i * size], size);
  return bits;
}

// The number in `value` modulo the type's width, extended to its bytes as in memory.
uint64_t FromInteger(PrimitiveType type, Wide value) {
  const int bits = hlo::BitWidth(type);
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  uint64_t raw = static_cast<uint64_t>(value) & mask;
  if (bits < 8 && hlo::ClassOf(type) == TypeClass::kSigned && (raw >> (bits - 1))) raw |= 0xff & ~mask;
  return raw;
}

Wide ToInteger(PrimitiveType type, uint64_t bits) {
  const int width = hlo::ByteWidth(type) * 8;
  if (hlo::ClassOf(type) != TypeClass::kSigned) return bits;
  return static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
}

double ToReal(PrimitiveType type, uint64_t bits) {
  if (type == PrimitiveType::kF64 || type == PrimitiveType::kC128) return std::bit_cast<double>(bits);
  if (type == PrimitiveType::kF32 || type == PrimitiveType::kC64)
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (type == PrimitiveType::kF8E8M0FNU) return DecodeF8E8M0FNU(static_cast<uint8_t>(bits));
  return DecodeFloat(*FormatOf(type), static_cast<uint32_t>(bits));
}

uint64_t FromReal(PrimitiveType type, double value) {
  if (type == PrimitiveType::kF64 || type == PrimitiveType::kC128) return std::bit_cast<uint64_t>(value);
  if (type == PrimitiveType::kF32 || type == PrimitiveType::kC64)
    return std::bit_cast<uint32_t>(static_cast<float>(value));
  if (type == PrimitiveType::kF8E8M0FNU) return EncodeF8E8M0FNU(value);
  return EncodeFloat(*FormatOf(type), value);
}

bool Same(PrimitiveType type, uint64_t got, uint64_t want) {
  if (got == want) return true;
  const TypeClass c = hlo::ClassOf(type);
  return (c == TypeClass::kFloat || c == TypeClass::kComplex) && std::isnan(ToReal(type, got)) &&
         std::isnan(ToReal(type, want));
}

// Random elements of a type with its edges at the front.
Plane Elements(PrimitiveType type, int count, uint64_t seed) {
  std::mt19937_64 random(seed);
  Plane plane;
  const TypeClass c = hlo::ClassOf(type);
  const PrimitiveType part = hlo::ComplexComponentType(type);
  if (c == TypeClass::kPred) {
    while (static_cast<int>(plane.size()) < count) plane.push_back(random() & 1);
    return plane;
  }
  const int bits = hlo::BitWidth(part);
  if (c == TypeClass::kSigned || c == TypeClass::kUnsigned) {
    for (Wide edge : {Wide{0}, Wide{1}, Wide{-1}, Wide{2}, Wide{3}, Wide{-3}, Wide{7}, Wide{1} << (bits - 1),
                      (Wide{1} << (bits - 1)) - 1, (Wide{1} << (bits - 1)) + 1, Wide{bits}, Wide{bits - 1}}) {
      plane.push_back(FromInteger(type, edge));
    }
    while (static_cast<int>(plane.size()) < count) {
      // All magnitudes.
      plane.push_back(FromInteger(type, static_cast<int64_t>(random()) >> (random() % 64)));
    }
  } else {
    const double inf = std::numeric_limits<double>::infinity();
    for (double edge : {0.0,          -0.0,          1.0,          -1.0,   inf,    -inf,   std::nan(""), 0.5,
                        -0.5,         1.5,           2.5,          -2.5,   3e-45,  1e-320, 65519.0,      65520.0,
                        2147483647.0, -2147483649.0, 4294967296.0, 9.3e18, 1.9e19, -1e30,  127.5,        255.5}) {
      plane.push_back(FromReal(part, edge));
    }
    const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    while (static_cast<int>(plane.size()) < count) {
      const double moderate = std::ldexp(static_cast<double>(static_cast<int64_t>(random())), -60);
      plane.push_back((random() & 1) ? random() & mask : FromReal(part, moderate));
    }
  }
  std::shuffle(plane.begin(), plane.end(), random);
  plane.resize(count);
  return plane;
}

// Two planes with all pairs of the codes of narrow types, random ones of others.
std::pair<Plane, Plane> Pairs(PrimitiveType type, int count) {
  const int bits = hlo::BitWidth(type);
  if (bits > 8 || hlo::ClassOf(type) == TypeClass::kPred) return {Elements(type, count, 1), Elements(type, count, 2)};
  Plane x, y;
  for (int i = 0; i < 1 << bits; ++i) {
    for (int j = 0; j < 1 << bits; ++j) {
      const bool integral = hlo::IsIntegral(type);
      x.push_back(integral ? FromInteger(type, i) : i);
      y.push_back(integral ? FromInteger(type, j) : j);
    }
  }
  while (x.size() % 16 != 0) x.push_back(x[0]), y.push_back(y[0]);
  return {x, y};
}

struct Case {
  std::string name;
  const hlo::Instruction* instruction;
  std::vector<Plane> operands;                                   // one per operand part
  std::function<std::vector<uint64_t>(size_t index)> reference;  // one per result part
};

void RunCases(const std::vector<Case>& cases, int lanes) {
  ElementwiseJit jit(lanes);
  for (const Case& c : cases) {
    absl::Status added = jit.Add(c.name, *c.instruction);
    ASSERT_TRUE(added.ok()) << c.name << ": " << added;
  }
  absl::Status compiled = jit.Compile();
  ASSERT_TRUE(compiled.ok()) << compiled;
  for (const Case& c : cases) {
    const PrimitiveType to = c.instruction->shape().element_type();
    const int parts = hlo::ClassOf(to) == TypeClass::kComplex ? 2 : 1;
    const size_t count = c.operands[0].size();
    std::vector<std::vector<uint8_t>> inputs, outputs(parts);
    size_t plane = 0;
    for (const hlo::Instruction* operand : c.instruction->operands()) {
      const PrimitiveType type = operand->shape().element_type();
      const int operand_parts = hlo::ClassOf(type) == TypeClass::kComplex ? 2 : 1;
      for (int p = 0; p < operand_parts; ++p) inputs.push_back(Pack(type, c.operands[plane++]));
    }
    std::vector<const void*> operand_pointers;
    std::vector<void*> result_pointers;
    for (const auto& input : inputs) operand_pointers.push_back(input.data());
    for (auto& output : outputs) {
      output.resize(count * hlo::ByteWidth(hlo::ComplexComponentType(to)));
      result_pointers.push_back(output.data());
    }
    absl::Status run = jit.Run(c.name, operand_pointers, result_pointers, static_cast<int64_t>(count));
    ASSERT_TRUE(run.ok()) << run;
    int failures = 0;
    for (int p = 0; p < parts; ++p) {
      Plane got = Unpack(to, outputs[p]);
      for (size_t i = 0; i < count; ++i) {
        const uint64_t want = c.reference(i)[p];
        if (Same(to, got[i], want)) continue;
        if (++failures > 2) continue;
        std::string arguments;
        for (const Plane& operand : c.operands) absl::StrAppend(&arguments, " 0x", absl::Hex(operand[i]));
        ADD_FAILURE() << c.name << " x" << lanes << " of" << arguments << ": got 0x" << std::hex << got[i]
                      << ", expected 0x" << want;
      }
    }
    EXPECT_EQ(failures, 0) << c.name << " x" << lanes;
  }
}

// Reference of one integer op on values; raw values are without sign.
Wide IntegerReference(Opcode opcode, PrimitiveType type, Wide a, Wide b) {
  const int bits = hlo::BitWidth(type);
  const bool is_signed = hlo::ClassOf(type) == TypeClass::kSigned;
  const Wide modulus = Wide{1} << bits;
  auto raw = [&](Wide x) { return x & (modulus - 1); };
  const Wide raw_a = raw(a), amount = raw(b);
  const Wide as_signed = raw_a >= modulus / 2 ? raw_a - modulus : raw_a;
  switch (opcode) {
    case Opcode::kAdd:
      return a + b;
    case Opcode::kSubtract:
      return a - b;
    case Opcode::kMultiply:
      return static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
    case Opcode::kMulhi:
      if (!is_signed)
        return static_cast<Wide>((static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b)) >> bits);
      return (a * b) >> bits;
    case Opcode::kDivide:
      return b == 0 ? Wide{-1} : a / b;
    case Opcode::kRemainder:
      return b == 0 ? a : a % b;
    case Opcode::kPower: {
      if (b < 0) return a == 1 ? 1 : a == -1 ? ((b & 1) ? -1 : 1) : 0;
      uint64_t result = 1, base = static_cast<uint64_t>(a);
      for (uint64_t e = static_cast<uint64_t>(b); e != 0; e >>= 1, base *= base) {
        if (e & 1) result *= base;
      }
      return result;
    }
    case Opcode::kMaximum:
      return std::max(a, b);
    case Opcode::kMinimum:
      return std::min(a, b);
    case Opcode::kAnd:
      return a & b;
    case Opcode::kOr:
      return a | b;
    case Opcode::kXor:
      return a ^ b;
    case Opcode::kShiftLeft:
      return amount >= bits ? 0 : raw_a << amount;
    case Opcode::kShiftRightLogical:
      return amount >= bits ? 0 : raw_a >> amount;
    case Opcode::kShiftRightArithmetic:
      return as_signed >> (amount >= bits ? bits - 1 : amount);
    case Opcode::kAbs:
      return a < 0 ? -a : a;
    case Opcode::kNegate:
      return -a;
    case Opcode::kNot:
      return ~a;
    case Opcode::kSign:
      return (a > 0) - (a < 0);
    case Opcode::kPopcnt:
      return std::popcount(static_cast<uint64_t>(raw_a));
    case Opcode::kCountLeadingZeros:
      return std::countl_zero(static_cast<uint64_t>(raw_a)) - (64 - bits);
    default:
      ADD_FAILURE() << "no reference";
      return 0;
  }
}

TEST(ScalarEmitterTest, Integers) {
  const std::vector<Opcode> unary = {Opcode::kAbs,  Opcode::kNegate, Opcode::kNot,
                                     Opcode::kSign, Opcode::kPopcnt, Opcode::kCountLeadingZeros};
  const std::vector<Opcode> binary = {Opcode::kAdd,
                                      Opcode::kSubtract,
                                      Opcode::kMultiply,
                                      Opcode::kMulhi,
                                      Opcode::kDivide,
                                      Opcode::kAnd,
                                      Opcode::kOr,
                                      Opcode::kXor,
                                      Opcode::kRemainder,
                                      Opcode::kPower,
                                      Opcode::kMaximum,
                                      Opcode::kMinimum,
                                      Opcode::kShiftLeft,
                                      Opcode::kShiftRightLogical,
                                      Opcode::kShiftRightArithmetic};
  for (int lanes : kLaneCounts) {
    hlo::Module module("m");
    std::vector<Case> cases;
    for (PrimitiveType type : TypesOf({TypeClass::kSigned, TypeClass::kUnsigned})) {
      auto [x, y] = Pairs(type, 4096);
      for (Opcode opcode : unary) {
        cases.push_back({absl::StrCat(Name(opcode), "_", Name(type)),
                         MakeElementwise(&module, opcode, type, {type}),
                         {x},
                         [=, x = x](size_t i) -> std::vector<uint64_t> {
                           return {FromInteger(type, IntegerReference(opcode, type, ToInteger(type, x[i]), 0))};
                         }});
      }
      for (Opcode opcode : binary) {
        cases.push_back(
            {absl::StrCat(Name(opcode), "_", Name(type)),
             MakeElementwise(&module, opcode, type, {type, type}),
             {x, y},
             [=, x = x, y = y](size_t i) -> std::vector<uint64_t> {
               return {FromInteger(type, IntegerReference(opcode, type, ToInteger(type, x[i]), ToInteger(type, y[i])))};
             }});
      }
    }
    RunCases(cases, lanes);
  }
}

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
  for (int lanes : kLaneCounts) {
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
    RunCases(cases, lanes);
  }
}

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
  for (int lanes : kLaneCounts) {
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
      for (PrimitiveType to : types) {
        cases.push_back({absl::StrCat(Name(from), "_to_", Name(to)),
                         MakeElementwise(&module, Opcode::kConvert, to, {from}),
                         {x},
                         [=](size_t i) -> std::vector<uint64_t> { return {ConvertReference(from, x[i], to)}; }});
      }
      RunCases(cases, lanes);
    }
  }
}

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
  return bits & sign ? -magnitude - 1 : magnitude;
}

TEST(ScalarEmitterTest, ComparesInEveryDirectionAndOrder) {
  for (int lanes : kLaneCounts) {
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
    RunCases(cases, lanes);
  }
}

TEST(ScalarEmitterTest, SelectsAndClamps) {
  for (int lanes : kLaneCounts) {
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
    RunCases(cases, lanes);
  }
}

TEST(ScalarEmitterTest, PredLogic) {
  for (int lanes : kLaneCounts) {
    hlo::Module module("m");
    std::vector<Case> cases;
    const PrimitiveType pred = PrimitiveType::kPred;
    Plane x = Elements(pred, 256, 11), y = Elements(pred, 256, 12);
    auto add = [&](Opcode opcode, std::function<bool(bool, bool)> f) {
      cases.push_back({Name(opcode),
                       MakeElementwise(&module, opcode, pred, {pred, pred}),
                       {x, y},
                       [=](size_t i) -> std::vector<uint64_t> { return {f(x[i], y[i])}; }});
    };
    for (Opcode o : {Opcode::kAdd, Opcode::kOr, Opcode::kMaximum}) add(o, [](bool a, bool b) { return a || b; });
    for (Opcode o : {Opcode::kMultiply, Opcode::kAnd, Opcode::kMinimum}) add(o, [](bool a, bool b) { return a && b; });
    add(Opcode::kXor, [](bool a, bool b) { return a != b; });
    cases.push_back(
        {"not", MakeElementwise(&module, Opcode::kNot, pred, {pred}), {x}, [=](size_t i) -> std::vector<uint64_t> {
           return {x[i] == 0};
         }});
    RunCases(cases, lanes);
  }
}

TEST(ScalarEmitterTest, BitcastConvertsKeepBits) {
  for (int lanes : kLaneCounts) {
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
    RunCases(cases, lanes);
  }
}

TEST(ScalarEmitterTest, ReducesPrecision) {
  for (int lanes : kLaneCounts) {
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
    RunCases(cases, lanes);
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
  for (int lanes : kLaneCounts) {
    RunCases({{"stochastic", instruction, {x, r}, [=](size_t i) -> std::vector<uint64_t> { return {want[i]}; }}},
             lanes);
  }
}

using LongComplex = std::complex<long double>;

struct ComplexFunction {
  Opcode opcode;
  std::function<LongComplex(LongComplex, LongComplex)> reference;
  int operands;
  double bound;  // in units of epsilon times |result|
};

// Functions of moderate arguments, by the distance in the plane.
template <typename T>
void CheckComplex(PrimitiveType type, int lanes) {
  using C = LongComplex;
  const std::vector<ComplexFunction> functions = {
      {Opcode::kAdd, [](C a, C b) { return a + b; }, 2, 1},
      {Opcode::kSubtract, [](C a, C b) { return a - b; }, 2, 1},
      {Opcode::kMultiply, [](C a, C b) { return a * b; }, 2, 3},
      {Opcode::kDivide, [](C a, C b) { return a / b; }, 2, 5},
      {Opcode::kNegate, [](C a, C) { return -a; }, 1, 0},
      {Opcode::kSign, [](C a, C) { return a / std::abs(a); }, 1, 3},
      {Opcode::kExp, [](C a, C) { return std::exp(a); }, 1, 4},
      {Opcode::kExpMinusOne, [](C a, C) { return std::exp(a) - C(1); }, 1, 8},
      {Opcode::kLog, [](C a, C) { return std::log(a); }, 1, 4},
      {Opcode::kLog2, [](C a, C) { return std::log(a) / std::log(2.0L); }, 1, 5},
      {Opcode::kLogPlusOne, [](C a, C) { return std::log(C(1) + a); }, 1, 4},
      {Opcode::kSqrt, [](C a, C) { return std::sqrt(a); }, 1, 4},
      {Opcode::kRsqrt, [](C a, C) { return C(1) / std::sqrt(a); }, 1, 8},
      {Opcode::kCbrt, [](C a, C) { return std::pow(a, 1.0L / 3); }, 1, 12},
      {Opcode::kSin, [](C a, C) { return std::sin(a); }, 1, 4},
      {Opcode::kCos, [](C a, C) { return std::cos(a); }, 1, 4},
      {Opcode::kTan, [](C a, C) { return std::tan(a); }, 1, 8},
      {Opcode::kSinh, [](C a, C) { return std::sinh(a); }, 1, 4},
      {Opcode::kCosh, [](C a, C) { return std::cosh(a); }, 1, 4},
      {Opcode::kTanh, [](C a, C) { return std::tanh(a); }, 1, 8},
      {Opcode::kLogistic, [](C a, C) { return C(1) / (C(1) + std::exp(-a)); }, 1, 12},
      // |w log z| of up to about 20 multiplies the error of the exponent.
      {Opcode::kPower, [](C a, C b) { return std::pow(a, b); }, 2, 100},
  };
  const PrimitiveType part = hlo::ComplexComponentType(type);
  hlo::Module module("m");
  ElementwiseJit jit(lanes);
  for (const ComplexFunction& f : functions) {
    std::vector<PrimitiveType> operands(f.operands, type);
    absl::Status added = jit.Add(Name(f.opcode), *MakeElementwise(&module, f.opcode, type, operands));
    ASSERT_TRUE(added.ok()) << added;
  }
  ASSERT_TRUE(jit.Add("abs", *MakeElementwise(&module, Opcode::kAbs, part, {type})).ok());
  absl::Status compiled = jit.Compile();
  ASSERT_TRUE(compiled.ok()) << compiled;
  constexpr int kCount = 4096;
  std::mt19937_64 random(15);
  std::uniform_real_distribution<double> wide(-4, 4);
  std::vector<T> a(kCount), b(kCount), c(kCount), d(kCount), re(kCount), im(kCount);
  for (int i = 0; i < kCount; ++i) {
    a[i] = wide(random), b[i] = wide(random), c[i] = wide(random), d[i] = wide(random);
    if (i % 4 == 1) a[i] *= T(0.01);
    if (i % 4 == 2) b[i] *= T(0.01);
  }
  for (const ComplexFunction& f : functions) {
    ASSERT_TRUE(jit.Run(Name(f.opcode), {a.data(), b.data(), c.data(), d.data()}, {re.data(), im.data()}, kCount).ok());
    double worst = 0;
    C at;
    for (int i = 0; i < kCount; ++i) {
      const C want = f.reference(C(a[i], b[i]), C(c[i], d[i]));
      const double error = std::abs(C(re[i], im[i]) - want) / (std::abs(want) * std::numeric_limits<T>::epsilon());
      if (!(error <= worst)) worst = error, at = C(a[i], b[i]);
    }
    EXPECT_LE(worst, f.bound) << Name(f.opcode) << " of " << Name(type) << " x" << lanes << " at " << at;
  }
  // |z| near overflow and underflow.
  const T huge = std::numeric_limits<T>::max() / 2, tiny = std::numeric_limits<T>::denorm_min();
  const std::vector<T> edge_re = {huge, tiny * 4, 3, 0, INFINITY, NAN, -3, huge, 0, 1, 1, 1, 1, 1, 1, 1};
  const std::vector<T> edge_im = {huge, tiny * 3, 4, 0, NAN, INFINITY, -4, 0, tiny, 0, 0, 0, 0, 0, 0, 0};
  std::vector<T> got(16);
  ASSERT_TRUE(jit.Run("abs", {edge_re.data(), edge_im.data()}, {got.data()}, 16).ok());
  for (int i = 0; i < 16; ++i) {
    const T want = std::hypot(edge_re[i], edge_im[i]);
    if (want == 0 || std::isinf(want)) {
      EXPECT_EQ(got[i], want) << i;
    } else {
      EXPECT_NEAR(got[i] / want, 1, 4 * std::numeric_limits<T>::epsilon()) << i;
    }
  }
}

TEST(ScalarEmitterTest, ComplexNumbers) {
  for (int lanes : kLaneCounts) {
    CheckComplex<float>(PrimitiveType::kC64, lanes);
    CheckComplex<double>(PrimitiveType::kC128, lanes);
  }
}

TEST(ScalarEmitterTest, ConstantsComeFromLiterals) {
  llvm::LLVMContext context;
  llvm::IRBuilder<> b(context);
  ScalarEmitter emitter(&b, 4, Target::kCpu);
  const float values[] = {1.5f, -0.0f};
  Value value = emitter.Constant(hlo::Literal::Vector<float>(values), 1);
  auto* constant = llvm::dyn_cast<llvm::Constant>(value.value);
  ASSERT_NE(constant, nullptr);
  auto* splat = llvm::dyn_cast<llvm::ConstantFP>(constant->getSplatValue());
  ASSERT_NE(splat, nullptr);
  EXPECT_TRUE(splat->isExactlyValue(-0.0));
  Value pred = emitter.Constant(hlo::Literal::Scalar(true), 0);
  EXPECT_TRUE(llvm::cast<llvm::Constant>(pred.value)->isOneValue() ||
              llvm::cast<llvm::Constant>(pred.value)->isAllOnesValue());
}

TEST(ScalarEmitterTest, OpsWithoutMeaningAreUnimplemented) {
  hlo::Module module("m");
  ElementwiseJit jit(4);
  EXPECT_EQ(jit.Add("f", *MakeElementwise(&module, Opcode::kSin, PrimitiveType::kS32, {PrimitiveType::kS32})).code(),
            absl::StatusCode::kUnimplemented);
  absl::Status status = jit.Add("g", *MakeElementwise(&module, Opcode::kShiftLeft, PrimitiveType::kF32,
                                                      {PrimitiveType::kF32, PrimitiveType::kF32}));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(status.message().find("shift-left is not defined for f32"), absl::string_view::npos) << status;
}

}  // namespace
}  // namespace kiln::kernel
