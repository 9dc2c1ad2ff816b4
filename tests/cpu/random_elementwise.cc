// Elementwise ops over all types.
#include "tests/cpu/random_programs.h"

namespace kiln::testing {

const std::vector<PrimitiveType>& FloatTypes() {
  static const auto& types = *new std::vector<PrimitiveType>{PrimitiveType::kF32, PrimitiveType::kF64,
                                                             PrimitiveType::kBF16, PrimitiveType::kF16};
  return types;
}

const std::vector<PrimitiveType>& IntegerTypes() {
  static const auto& types = *new std::vector<PrimitiveType>{
      PrimitiveType::kS8, PrimitiveType::kS16, PrimitiveType::kS32, PrimitiveType::kS64,
      PrimitiveType::kU8, PrimitiveType::kU16, PrimitiveType::kU32, PrimitiveType::kU64};
  return types;
}

const std::vector<PrimitiveType>& RealTypes() {
  static const auto& types = *[] {
    auto* all = new std::vector<PrimitiveType>(FloatTypes());
    all->insert(all->end(), IntegerTypes().begin(), IntegerTypes().end());
    return all;
  }();
  return types;
}

const std::vector<PrimitiveType>& AllTypes() {
  static const auto& types = *[] {
    auto* all = new std::vector<PrimitiveType>(RealTypes());
    for (PrimitiveType type : {PrimitiveType::kPred, PrimitiveType::kC64, PrimitiveType::kC128}) all->push_back(type);
    return all;
  }();
  return types;
}

Data ExactData(PrimitiveType type, int64_t terms, bool products) {
  double limit = 1 << 20;
  if (type == PrimitiveType::kBF16) limit = 256;
  if (type == PrimitiveType::kF16) limit = 2048;
  const double each = limit / static_cast<double>(std::max<int64_t>(terms, 1));
  double bound = 4;
  while (bound > 1 && (products ? bound * bound : bound) > each) --bound;
  return {Data::Kind::kSmall, -bound, bound};
}

namespace {

using hlo::IsComplex;
using hlo::IsFloating;
using hlo::IsIntegral;

constexpr int64_t kElements = 1100;
const Data kExtremes{Data::Kind::kExtremes};

// Errors of the functions; their accuracy itself is measured in tests/kernel/scalar_math_test.
Tolerance FunctionTolerance(PrimitiveType type) {
  if (IsComplex(type)) return {64, 0};
  if (type == PrimitiveType::kBF16 || type == PrimitiveType::kF16) return {1, 0};
  return {5, 0};
}

}  // namespace

void WriteUnary(ProgramWriter* w) {
  struct Op {
    const char* name;
    bool integer, floating, complex;
    bool exact;
    double low = -10, high = 10;  // of real and complex arguments of a function
  };
  static const auto& ops = *new std::vector<Op>{
      {"abs", true, true, false, true},
      {"negate", true, true, true, true},
      {"sign", true, true, false, true},
      {"not", true, false, false, true},
      {"popcnt", true, false, false, true},
      {"count-leading-zeros", true, false, false, true},
      {"ceil", false, true, false, true},
      {"floor", false, true, false, true},
      {"round-nearest-afz", false, true, false, true},
      {"round-nearest-even", false, true, false, true},
      {"is-finite", false, true, false, true},
      {"reduce-precision", false, true, false, true},
      {"sqrt", false, true, false, true},
      {"real", false, false, true, true},
      {"imag", false, false, true, true},
      {"acos", false, true, true, false, -1, 1},
      {"acosh", false, true, true, false, 1, 50},
      {"asin", false, true, true, false, -1, 1},
      {"asinh", false, true, true, false},
      {"atanh", false, true, true, false, -1, 1},
      {"cbrt", false, true, false, false},
      {"cosine", false, true, true, false},
      {"cosh", false, true, true, false},
      {"erf", false, true, false, false, -5, 5},
      {"exponential", false, true, true, false},
      {"exponential-minus-one", false, true, true, false},
      {"log", false, true, true, false, 0, 100},
      {"log-plus-one", false, true, true, false, -0.99, 10},
      {"logistic", false, true, true, false},
      {"rsqrt", false, true, true, false, 0.01, 100},
      {"sine", false, true, true, false},
      {"sinh", false, true, true, false},
      {"tan", false, true, true, false},
      {"tanh", false, true, true, false},
  };
  const Op& op = w->random().Of(ops);
  std::vector<PrimitiveType> types;
  for (PrimitiveType type : AllTypes()) {
    if ((op.integer && IsIntegral(type)) || (op.floating && IsFloating(type)) || (op.complex && IsComplex(type))) {
      types.push_back(type);
    }
  }
  if (std::string_view(op.name) == "not") types.push_back(PrimitiveType::kPred);
  const PrimitiveType type = w->random().Of(types);
  PrimitiveType result = type;
  const std::string_view name = op.name;
  if (name == "abs" || name == "real" || name == "imag") result = hlo::ComplexComponentType(type);
  if (name == "is-finite") result = PrimitiveType::kPred;
  std::string attributes;
  if (name == "reduce-precision") {
    attributes = absl::StrCat("exponent_bits=", w->random().In(2, 8), ", mantissa_bits=", w->random().In(0, 12));
  }
  Data data = kExtremes;
  if (IsComplex(type)) data = {Data::Kind::kReal, -3, 3};
  if (!op.exact && !(IsFloating(type) && w->random().Chance(0.3))) data = {Data::Kind::kReal, op.low, op.high};
  const Value x = w->Parameter(type, w->random().Shape(4, kElements), data);
  const Value y = w->Emit(result, x.dims, name, {x}, attributes);
  w->Output(y, op.exact ? Tolerance{} : FunctionTolerance(type));
}

void WriteBinary(ProgramWriter* w) {
  struct Op {
    const char* name;
    bool pred, integer, floating, complex;
  };
  static const auto& ops = *new std::vector<Op>{
      {"add", true, true, true, true},         {"subtract", false, true, true, true},
      {"multiply", true, true, true, true},    {"divide", false, true, true, true},
      {"remainder", false, true, true, false}, {"maximum", true, true, true, false},
      {"minimum", true, true, true, false},    {"and", true, true, false, false},
      {"or", true, true, false, false},        {"xor", true, true, false, false},
      {"shift-left", false, true, false, false}, {"shift-right-arithmetic", false, true, false, false},
      {"shift-right-logical", false, true, false, false},
      {"power", false, true, true, false},     {"atan2", false, false, true, false},
      {"compare", true, true, true, true},     {"complex", false, false, true, false},
  };
  Random& random = w->random();
  const Op& op = random.Of(ops);
  const std::string_view name = op.name;
  std::vector<PrimitiveType> types;
  for (PrimitiveType type : AllTypes()) {
    if (name == "complex" && hlo::BitWidth(type) < 32) continue;
    if (type == PrimitiveType::kPred ? op.pred : IsIntegral(type) ? op.integer : IsFloating(type) ? op.floating : op.complex) {
      types.push_back(type);
    }
  }
  const PrimitiveType type = random.Of(types);
  PrimitiveType result = type;
  std::string attributes;
  if (name == "complex") result = type == PrimitiveType::kF32 ? PrimitiveType::kC64 : PrimitiveType::kC128;
  if (name == "compare") {
    result = PrimitiveType::kPred;
    static const auto& directions = *new std::vector<std::string>{"EQ", "NE", "LT", "LE", "GT", "GE"};
    attributes = absl::StrCat("direction=", IsComplex(type) ? directions[random.In(0, 1)] : random.Of(directions));
    if (IsFloating(type) && random.Chance(0.3)) absl::StrAppend(&attributes, ", type=TOTALORDER");
  }
  Data a = kExtremes, b = kExtremes;
  Tolerance tolerance;
  if (IsComplex(type)) {
    a = b = {Data::Kind::kReal, -3, 3};
    if (name == "multiply" || name == "divide") tolerance.ulps = 8;
  }
  if (name == "power" || name == "atan2") {
    tolerance = FunctionTolerance(type);
    if (IsIntegral(type)) {
      tolerance = {};
      b = {Data::Kind::kSmall, -3, 70};
    } else if (random.Chance(0.6)) {
      a = {Data::Kind::kReal, 0, 20};
      b = {Data::Kind::kReal, -6, 6};
    }
  }
  if (name.starts_with("shift") && random.Chance(0.7)) b = {Data::Kind::kSmall, -2, 70};
  const Dims dims = random.Shape(4, kElements);
  const Value x = w->Parameter(type, dims, a);
  Value y;
  if (random.Chance(0.2)) {
    y = w->Emit(type, dims, "broadcast", {w->Parameter(type, {}, b)}, "dimensions={}");
  } else {
    y = w->Parameter(type, dims, b);
  }
  w->Output(random.Chance(0.8) ? w->Emit(result, dims, name, {x, y}, attributes)
                               : w->Emit(result, dims, name, {y, x}, attributes),
            tolerance);
}

void WriteTernary(ProgramWriter* w) {
  Random& random = w->random();
  const Dims dims = random.Shape(4, kElements);
  if (random.Chance(0.5)) {
    const PrimitiveType type = random.Of(AllTypes());
    const Value p = w->Parameter(PrimitiveType::kPred, random.Chance(0.3) ? Dims{} : dims);
    const Value x = w->Parameter(type, dims, kExtremes), y = w->Parameter(type, dims, kExtremes);
    w->Output(w->Emit(type, dims, "select", {p, x, y}));
    return;
  }
  const PrimitiveType type = random.Of(RealTypes());
  const Value low = w->Parameter(type, random.Chance(0.3) ? Dims{} : dims, {Data::Kind::kSmall, -5, 5});
  const Value x = w->Parameter(type, dims, kExtremes);
  const Value high = w->Parameter(type, random.Chance(0.3) ? Dims{} : dims, {Data::Kind::kSmall, -1, 10});
  w->Output(w->Emit(type, dims, "clamp", {low, x, high}));
}

void WriteConvert(ProgramWriter* w) {
  Random& random = w->random();
  static const auto& types = *[] {
    auto* all = new std::vector<PrimitiveType>(AllTypes());
    for (PrimitiveType type : {PrimitiveType::kF8E4M3FN, PrimitiveType::kF8E5M2, PrimitiveType::kF8E4M3, PrimitiveType::kF8E3M4,
                               PrimitiveType::kF8E4M3FNUZ, PrimitiveType::kF8E5M2FNUZ, PrimitiveType::kF8E4M3B11FNUZ,
                               PrimitiveType::kS4, PrimitiveType::kU4}) {
      all->push_back(type);
    }
    return all;
  }();
  const Value x = w->Parameter(random.Of(types), random.Shape(3, kElements), kExtremes);
  w->Output(w->Emit(random.Of(types), x.dims, "convert", {x}));
}

void WriteBitcastConvert(ProgramWriter* w) {
  Random& random = w->random();
  static const auto& types = *[] {
    auto* all = new std::vector<PrimitiveType>(RealTypes());
    all->push_back(PrimitiveType::kC64);
    return all;
  }();
  const PrimitiveType from = random.Of(types), to = random.Of(types);
  const int a = hlo::BitWidth(from), b = hlo::BitWidth(to);
  if (IsComplex(from) != IsComplex(to)) return WriteBitcastConvert(w);
  Dims dims = random.Shape(3, 400), result = dims;
  if (a < b) dims.push_back(b / a);
  if (a > b) result.push_back(a / b);
  const Value x = w->Parameter(from, dims, {Data::Kind::kSmall, -100, 100});
  w->Output(w->Emit(to, result, "bitcast-convert", {x}));
}

}  // namespace kiln::testing
