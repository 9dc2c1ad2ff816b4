// Every rule of the simplifier applies to an example in tests/golden/passes/algebraic-simplifier-*.hlo, and computes
// there what was computed before, bit for bit: over random inputs among which are NaN, infinities, zeros of both signs
// and the extreme values, in the types of the file and in others. And the passes are linear.
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/frontend/load.h"
#include "src/hlo/evaluator.h"
#include "src/hlo/verifier.h"
#include "src/passes/constant_folding.h"
#include "src/passes/cse.h"
#include "src/passes/dce.h"
#include "src/passes/simplify/algebraic_simplifier.h"
#include "src/passes/simplify/guards.h"
#include "src/passes/simplify/rules.h"
#include "src/tools/compare_literals.h"
#include "src/tools/random_literal.h"

namespace kiln::passes {
namespace {

using hlo::Literal;
using hlo::PrimitiveType;
using simplify::Rule;

std::vector<std::filesystem::path> Goldens() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(KILN_GOLDEN)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("algebraic-simplifier") && name.ends_with(".hlo")) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string Read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

uint64_t Next(uint64_t* seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return *seed >> 16;
}

// Inputs of which half are special somewhere; with `benign`, reals between 0.5 and 2.5.
Literal Input(const hlo::Shape& shape, bool benign, uint64_t* seed) {
  if (!benign) return tools::RandomLiteral(shape, seed, tools::RandomKind::kSpecial);
  Literal literal = tools::RandomLiteral(shape, seed);
  const PrimitiveType part = hlo::ComplexComponentType(shape.element_type());
  if (!shape.IsArray() || !hlo::IsFloating(part)) return literal;
  const size_t width = static_cast<size_t>(hlo::ByteWidth(part));
  absl::Span<std::byte> bytes = literal.mutable_bytes();
  for (size_t at = 0; at + width <= bytes.size(); at += width) {
    const Literal value = hlo::LiteralOf(hlo::Shape::Scalar(part), 0.5 + static_cast<double>(Next(seed) % 1000) / 500);
    std::memcpy(bytes.data() + at, value.bytes().data(), width);
  }
  return literal;
}

double Epsilon(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kF64:
      return 0x1p-52;
    case PrimitiveType::kF32:
      return 0x1p-23;
    case PrimitiveType::kF16:
      return 0x1p-10;
    default:
      return 0x1p-7;
  }
}

double SmallestNormal(PrimitiveType type) {
  return type == PrimitiveType::kF64 ? 0x1p-1022 : type == PrimitiveType::kF16 ? 0x1p-14 : 0x1p-126;
}

// What a rule may change.
struct Tolerance {
  bool signless_zero = false;
  bool fewer_nans = false;
  bool fewer_overflows = false;  // of finite inputs
  bool overflowing_products = false;  // of numbers whose squares leave the range of their type
  bool any_order = false;        // of sums: the error is one of the largest number summed
  bool has_sums = false;         // of many inputs, not of those at its place alone
  double units = 0;              // in the last place
  double smallest = 0;           // of which, where values are smaller
};

double LargestNumber(PrimitiveType type) {
  return type == PrimitiveType::kF64 ? 0x1.fffffffffffffp1023 : type == PrimitiveType::kF16 ? 65504 : 0x1.fep127;
}

double LargestFinite(const std::vector<Literal>& inputs) {
  double largest = 0;
  for (const Literal& input : inputs) {
    for (int64_t i = 0; input.shape().IsArray() && i < input.element_count(); ++i) {
      const double value = std::abs(hlo::ElementAsDouble(input, i));
      if (std::isfinite(value)) largest = std::max(largest, value);
    }
  }
  return largest;
}

// Whether `b` is as near to the result in wider numbers as `a` is.
bool IsAsNear(double a, double b, double wide, PrimitiveType type) {
  if (std::abs(wide) > LargestNumber(type)) wide = std::copysign(INFINITY, wide);
  const auto distance = [&](double value) {
    if (value == wide || (std::isnan(value) && std::isnan(wide))) return 0.0;
    return std::isnan(value) || std::isnan(wide) ? INFINITY : std::abs(value - wide);
  };
  const bool has_sign = b != 0 || std::signbit(b) == std::signbit(wide);
  return has_sign && distance(b) <= distance(a) && distance(b) < INFINITY;
}

// Index of the first element that differs more than it may, or -1. `wide`, which may be null, is the result in f64:
// what has notes may be nearer to it.
int64_t FirstDifference(const Literal& before, const Literal& after, const Tolerance& tolerance,
                        const std::vector<Literal>& inputs, const Literal* wide = nullptr) {
  const PrimitiveType part = hlo::ComplexComponentType(before.shape().element_type());
  const size_t width = static_cast<size_t>(hlo::ByteWidth(part));
  const hlo::Shape flat(part, {static_cast<int64_t>(before.bytes().size() / width)});
  const Literal x = *Literal::FromBytes(flat, before.bytes()), y = *Literal::FromBytes(flat, after.bytes());
  const bool has_notes = tolerance.fewer_overflows || tolerance.any_order || tolerance.units > 0;
  const bool has_wide = has_notes && wide != nullptr && wide->shape().element_type() == PrimitiveType::kF64 &&
                        wide->element_count() == flat.element_count();
  for (int64_t i = 0; i < flat.element_count(); ++i) {
    if (std::memcmp(x.bytes().data() + i * width, y.bytes().data() + i * width, width) == 0) continue;
    if (!hlo::IsFloating(part)) return i;
    const double a = hlo::ElementAsDouble(x, i), b = hlo::ElementAsDouble(y, i);
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == 0 && b == 0 && tolerance.signless_zero) continue;
    if (std::isnan(a) && tolerance.fewer_nans) continue;
    if (has_wide && IsAsNear(a, b, hlo::ElementAsDouble(*wide, i), part)) continue;
    const auto has_input = [&](auto condition) {  // at the place of the result
      return std::any_of(inputs.begin(), inputs.end(), [&](const Literal& input) {
        return i < input.element_count() && condition(hlo::ElementAsDouble(input, i));
      });
    };
    const bool finite = !has_input([](double value) { return !std::isfinite(value); });
    const bool has_nan = has_input([](double value) { return std::isnan(value); });
    if (tolerance.fewer_overflows && (std::isnan(a) ? !has_nan : !std::isfinite(a) && finite)) continue;
    const auto is_finite_past = [](double value, double low, double high) {
      return value != 0 && std::isfinite(value) && (std::abs(value) < low || std::abs(value) > high);
    };
    if (tolerance.overflowing_products && has_input([&](double value) {
          return is_finite_past(value, std::sqrt(SmallestNormal(part)), std::sqrt(LargestNumber(part)));
        })) {
      continue;
    }
    // Nothing tells what f64 would be without overflow.
    if (tolerance.fewer_overflows && part == PrimitiveType::kF64 &&
        has_input([&](double value) { return is_finite_past(value, 1e-16, 1e16); })) {
      continue;
    }
    // Where sums have infinite terms as well, numbers overflowed whose product with another can.
    if ((tolerance.fewer_overflows || tolerance.any_order) && tolerance.has_sums && !std::isfinite(a) &&
        LargestFinite(inputs) >= std::sqrt(LargestNumber(part))) {
      continue;
    }
    // What is scaled down after it was summed is larger before.
    if (tolerance.fewer_overflows && tolerance.has_sums && std::isinf(b) && std::abs(a) > LargestNumber(part) / 4)
      continue;
    // A term that was too small for its type left a zero, which has another sign than the sum that it was rounded from.
    if (tolerance.fewer_overflows && a == 0 && b == 0 &&
        has_input([&](double value) { return value != 0 && std::abs(value) < SmallestNormal(part) / Epsilon(part); })) {
      continue;
    }
    const double unit = std::max(
        {std::abs(a), SmallestNormal(part), tolerance.smallest, tolerance.any_order ? LargestFinite(inputs) : 0});
    const double limit = tolerance.units * Epsilon(part) * unit;
    // Zero may have been rounded to from either side.
    const bool same_sign = std::signbit(a) == std::signbit(b) || (a == 0 && b != 0);
    if (std::isfinite(a) && std::isfinite(b) && same_sign && std::abs(a - b) <= limit) continue;
    return i;
  }
  return -1;
}

// Of sanitizers.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr double kSlowness = 10;
#else
constexpr double kSlowness = 1;
#endif

// What the computations of a program give when its narrower floats are f64.
class WideProgram {
 public:
  // `narrow` is such a type as programs write it; "" for none.
  WideProgram(const std::string& text, const std::string& narrow) {
    if (narrow.empty()) return;
    absl::StatusOr<std::unique_ptr<hlo::Module>> module =
        frontend::Load(absl::StrReplaceAll(text, {{"bf16[", narrow == "bf16[" ? "f64[" : "bf16["},
                                                  {"c64[", narrow == "f32[" ? "c128[" : "c64["},
                                                  {narrow, "f64["}}),
                       "hlo");
    if (module.ok()) module_ = *std::move(module);
  }

  // Nothing where that is no program, or takes too long.
  std::optional<Literal> Run(absl::string_view name, const std::vector<Literal>& inputs) const {
    if (module_ == nullptr) return std::nullopt;
    for (const hlo::Computation* computation : module_->PostOrder()) {
      if (computation->name() != name) continue;
      std::vector<Literal> widened;
      for (size_t i = 0; i < inputs.size(); ++i) {
        const hlo::Shape& shape = computation->parameters()[i]->shape();
        widened.push_back(inputs[i]);
        if (!shape.IsArray() || shape == inputs[i].shape()) continue;
        std::vector<double> values;
        for (int64_t at = 0; at < inputs[i].element_count(); ++at) {
          values.push_back(hlo::ElementAsDouble(inputs[i], at));
        }
        widened.back() = *Literal::FromBytes(
            shape,
            absl::MakeConstSpan(reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(double)));
      }
      absl::StatusOr<Literal> output = hlo::Evaluate(*computation, widened);
      if (output.ok()) return *std::move(output);
    }
    return std::nullopt;
  }

 private:
  std::unique_ptr<hlo::Module> module_;
};

struct Case {
  std::vector<std::vector<Literal>> inputs;
  std::vector<Literal> outputs;
};

// Simplifies `text` and compares the computations that its entry calls (the entry itself where it calls none).
void Check(const std::string& name, const std::string& text, const std::string& narrow, int trials,
           std::set<const Rule*>* applied) {
  absl::StatusOr<std::unique_ptr<hlo::Module>> module = frontend::Load(text, "hlo");
  ASSERT_EQ(module.status(), absl::OkStatus()) << name;
  const bool fast = name.find("fast-math") != std::string::npos;
  std::vector<hlo::Computation*> computations;
  for (const hlo::Instruction* call : (*module)->entry()->instructions()) {
    if (call->opcode() == hlo::Opcode::kCall) computations.push_back(call->called_computation());
  }
  if (computations.empty()) computations.push_back((*module)->entry());
  uint64_t seed = 7;
  std::map<const hlo::Computation*, Case> cases;
  for (const hlo::Computation* computation : computations) {
    Case& one = cases[computation];
    for (int i = 0; i < trials; ++i) {
      std::vector<Literal> inputs;
      for (const hlo::Instruction* parameter : computation->parameters()) {
        inputs.push_back(Input(parameter->shape(), fast, &seed));
      }
      absl::StatusOr<Literal> output = hlo::Evaluate(*computation, inputs);
      ASSERT_EQ(output.status(), absl::OkStatus()) << name << " " << computation->name();
      one.inputs.push_back(std::move(inputs));
      one.outputs.push_back(*std::move(output));
    }
  }
  std::map<const hlo::Computation*, Tolerance> tolerances;
  std::map<const hlo::Computation*, std::string> rules;
  auto observe = [&](const Rule& rule, const hlo::Instruction& instruction) {
    applied->insert(&rule);
    absl::StrAppend(&rules[instruction.parent()], "\n  ", rule.left, " = ", rule.right);
    Tolerance& tolerance = tolerances[instruction.parent()];
    if (fast) tolerance = {true, false, true, true, true, tolerance.has_sums, 64, 1};
    const hlo::Opcode opcode = instruction.opcode();
    tolerance.has_sums |= opcode == hlo::Opcode::kDot || opcode == hlo::Opcode::kReduce;
    for (const simplify::Guard& each : rule.guards) {
      const absl::string_view guard = each.text == nullptr ? "" : each.text;  // addresses of equal texts may differ
      if (guard == simplify::SignlessZero.text) tolerance.signless_zero = true;
      if (guard == simplify::PaddingIsNoFactor.text) tolerance.fewer_nans = true;
      if (guard == simplify::Rounds.text && tolerance.units == 0) tolerance.units = 4;
      if (guard == simplify::AnyOrder.text) tolerance.any_order = true, tolerance.units = 32;
      if (guard == simplify::NoOverflowOfProducts.text) {
        tolerance.overflowing_products = true, tolerance.units = std::max(tolerance.units, 4.0);
      }
      if (guard == simplify::NoOverflowBetween.text) {
        tolerance.fewer_overflows = true, tolerance.units = 256, tolerance.smallest = 1;
      }
      // The error of a product is multiplied by the exponent.
      if (guard == simplify::Ln2.text) tolerance.units = 256;
    }
  };
  std::optional<WideProgram> wide;
  absl::StatusOr<bool> changed = SimplifyAlgebra(module->get(), fast, observe);
  ASSERT_EQ(changed.status(), absl::OkStatus()) << name;
  ASSERT_EQ(hlo::Verify(**module), absl::OkStatus()) << name;
  for (const hlo::Computation* computation : computations) {
    const Case& one = cases[computation];
    for (size_t i = 0; i < one.inputs.size(); ++i) {
      absl::StatusOr<Literal> output = hlo::Evaluate(*computation, one.inputs[i]);
      ASSERT_EQ(output.status(), absl::OkStatus()) << name << " " << computation->name();
      const auto before = tools::Leaves(one.outputs[i]), after = tools::Leaves(*output);
      ASSERT_EQ(before.size(), after.size());
      int64_t at = -1;
      for (size_t leaf = 0; leaf < before.size() && at < 0; ++leaf) {
        at = FirstDifference(*before[leaf], *after[leaf], tolerances[computation], one.inputs[i]);
        if (at < 0) continue;
        if (!wide) wide.emplace(text, narrow);
        if (const std::optional<Literal> result = wide->Run(computation->name(), one.inputs[i])) {
          at = FirstDifference(*before[leaf], *after[leaf], tolerances[computation], one.inputs[i],
                               tools::Leaves(*result)[leaf]);
        }
        if (at < 0) continue;
        std::string inputs;
        for (const Literal& input : one.inputs[i]) {
          if (at < input.element_count()) absl::StrAppend(&inputs, " ", hlo::ElementAsDouble(input, at));
        }
        ADD_FAILURE() << name << " " << computation->name() << " element " << at << ": "
                      << hlo::ElementAsDouble(*before[leaf], at) << " became " << hlo::ElementAsDouble(*after[leaf], at)
                      << ", inputs there" << inputs << rules[computation];
      }
      if (at >= 0) break;
    }
  }
}

TEST(Simplifier, EveryRuleKeepsTheMeaningOfItsExample) {
  std::set<const Rule*> applied;
  const int trials = std::getenv("KILN_FULL_TESTS") != nullptr ? 100 : 6;
  for (const auto& path : Goldens()) {
    const std::string text = Read(path), name = path.filename().string();
    Check(name, text, "f32[", trials, &applied);
    if (name.find("fast-math") != std::string::npos) continue;
    const bool is_complex = text.find("c64[") != std::string::npos;
    struct Retyping {
      const char *f32, *s32, *u32, *lowest, *highest, *unsigned_highest;
    };
    for (const Retyping& to :
         {Retyping{"f64[", "s8[", "u8[", "-128", "127", "255"},
          Retyping{"bf16[", "s64[", "u64[", "-9223372036854775808", "9223372036854775807", "18446744073709551615"},
          Retyping{"f16[", "s16[", "u16[", "-32768", "32767", "65535"}}) {
      // Complex numbers have parts of f32 or f64.
      if (is_complex && std::string(to.f32) != "f64[") continue;
      const std::string retyped = absl::StrReplaceAll(text, {{"bf16[", "bf16["},
                                                             {"f32[", to.f32},
                                                             {"s32[", to.s32},
                                                             {"u32[", to.u32},
                                                             {"c64[", "c128["},
                                                             {"-2147483648", to.lowest},
                                                             {"2147483647", to.highest},
                                                             {"4294967295", to.unsigned_highest}});
      Check(absl::StrCat(name, " with ", to.f32, to.s32, to.u32), retyped, std::string(to.f32) == "f64[" ? "" : to.f32,
            trials / 2, &applied);
    }
  }
  for (const simplify::RuleGroup& group : simplify::AllRules()) {
    for (const Rule& rule : group.rules) {
      EXPECT_TRUE(applied.contains(&rule)) << "no example: " << group.name << ": " << rule.left << " = " << rule.right;
    }
  }
}

// A program of many small pieces that rules apply to, and values with many users.
std::string LargeProgram(int pieces) {
  std::string text =
      "HloModule large\n\nENTRY main {\n  x0 = f32[64] parameter(0)\n  n = s32[64] parameter(1)\n"
      "  zero = f32[] constant(0)\n  zeros = f32[64] broadcast(zero), dimensions={}\n";
  for (int i = 0; i < pieces; ++i) {
    absl::StrAppend(&text, "  a", i, " = f32[64] add(x", i, ", zeros)\n  m", i, " = f32[8,8] reshape(a", i, ")\n  t", i,
                    " = f32[8,8] transpose(m", i, "), dimensions={1,0}\n  u", i, " = f32[8,8] transpose(t", i,
                    "), dimensions={1,0}\n  f", i, " = f32[64] reshape(u", i, ")\n  v", i, " = f32[64] convert(n)\n  p",
                    i, " = f32[64] multiply(f", i, ", v", i, ")\n  g", i, " = f32[64] negate(p", i, ")\n  s", i,
                    " = f32[64] subtract(f", i, ", g", i, ")\n  x", i + 1, " = f32[64] tanh(s", i, ")\n");
  }
  absl::StrAppend(&text, "  ROOT r = f32[64] negate(x", pieces, ")\n}\n");
  return text;
}

double SecondsFor(int pieces) {
  absl::StatusOr<std::unique_ptr<hlo::Module>> module = frontend::Load(LargeProgram(pieces), "hlo");
  EXPECT_EQ(module.status(), absl::OkStatus());
  const auto start = std::chrono::steady_clock::now();
  bool changed = true;
  for (int round = 0; changed && round < 8; ++round) {
    changed = *SimplifyAlgebra(module->get());
    changed |= *FoldConstants(module->get());
    changed |= *MergeEqualInstructions(module->get());
    changed |= *RemoveDeadCode(module->get());
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_LT((*module)->entry()->instruction_count(), 5 * pieces);
  return seconds;
}

TEST(Simplifier, TwentyThousandInstructionsTakeLessThanASecond) {
  SecondsFor(10);  // The rules are compiled once.
  const double small = SecondsFor(500), large = SecondsFor(2000);
  RecordProperty("milliseconds", static_cast<int>(1000 * large));
  EXPECT_LT(large, kSlowness);
  // Four times the program, with room for the noise of a busy machine.
  EXPECT_LT(large, 12 * std::max(small, 0.02));
}

TEST(ConstantFolding, HasACostCap) {
  // Each would be a large constant, or take long: all stay as they are.
  const char* const program = R"(HloModule dear
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }
more { i = s32[] parameter(0)  one = s32[] constant(1)  ROOT r = s32[] add(i, one) }
less { i = s32[] parameter(0)  n = s32[] constant(2000000000)  ROOT r = pred[] compare(i, n), direction=LT }
ENTRY main {
  c = f32[] constant(0.5)
  wide = f32[100000,1000] broadcast(c), dimensions={}
  w = f32[1000,1000] iota(), iota_dimension=0
  product = f32[100000,1000] dot(wide, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  sines = f32[100000,1000] sine(wide)
  windows = f32[1000,1000] reduce-window(w, c), window={size=501x501 pad=250_250x250_250}, to_apply=sum
  start = s32[] constant(0)
  loop = s32[] while(start), condition=less, body=more
  ROOT all = (f32[100000,1000], f32[100000,1000], f32[1000,1000], s32[]) tuple(product, sines, windows, loop)
})";
  absl::StatusOr<std::unique_ptr<hlo::Module>> module = frontend::Load(program, "hlo");
  ASSERT_EQ(module.status(), absl::OkStatus());
  const auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(FoldConstants(module->get()).status(), absl::OkStatus());
  ASSERT_EQ(SimplifyAlgebra(module->get()).status(), absl::OkStatus());
  ASSERT_EQ(FoldConstants(module->get()).status(), absl::OkStatus());
  // Without a cap it takes minutes.
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 2.0 * kSlowness);
  int64_t bytes = 0;
  for (const hlo::Computation* computation : (*module)->PostOrder()) {
    for (const hlo::Instruction* instruction : computation->instructions()) {
      if (instruction->IsConstant()) bytes += instruction->shape().byte_count();
    }
  }
  EXPECT_LT(bytes, 1 << 16);
}

}  // namespace
}  // namespace kiln::passes
