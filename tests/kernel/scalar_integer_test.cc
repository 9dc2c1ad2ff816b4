// Integer and pred ops against 128-bit arithmetic.
#include "gtest/gtest.h"
#include "tests/kernel/elementwise_test_util.h"

namespace kiln::kernel {
namespace {

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
  for (const Configuration& configuration : Configurations()) {
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
    RunCases(cases, configuration);
  }
}

TEST(ScalarEmitterTest, PredLogic) {
  for (const Configuration& configuration : Configurations()) {
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
    RunCases(cases, configuration);
  }
}

}  // namespace
}  // namespace kiln::kernel
