// Products with what stands behind them: elements of the product, of arrays beside it and of rows or columns spread to
// its shape, of several types, some of which are results as well. All values are exact or rounded once per op.
#include "tests/cpu/random_programs.h"

namespace kiln::testing {
namespace {

// An operand of the product's shape: an array, or one that has fewer dimensions.
Value Beside(ProgramWriter* w, PrimitiveType type, const Dims& dims) {
  Random& random = w->random();
  Dims kept, sizes;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (random.Chance(0.4)) kept.push_back(static_cast<int64_t>(d)), sizes.push_back(dims[d]);
  }
  if (random.Chance(0.5)) return w->Parameter(type, dims, {Data::Kind::kSmall, 0, 3});
  const Value small = w->Parameter(type, sizes, {Data::Kind::kSmall, 0, 3});
  return w->Emit(type, dims, "broadcast", {small}, absl::StrCat("dimensions=", List(kept)));
}

Value Step(ProgramWriter* w, const Value& x, const Value& other) {
  Random& random = w->random();
  static const auto& any = *new std::vector<std::string>{"add", "subtract"};
  static const auto& real = *new std::vector<std::string>{"add", "subtract", "maximum", "minimum"};
  const Value y = other.type == x.type && random.Chance(0.4) ? other : Beside(w, x.type, x.dims);
  if (IsComplex(x.type)) return w->Emit(x.type, x.dims, random.Of(any), {x, y});
  if (random.Chance(0.2)) {
    const PrimitiveType to = IsFloating(x.type)
                                 ? x.type == PrimitiveType::kF32 ? PrimitiveType::kBF16 : PrimitiveType::kF32
                                 : PrimitiveType::kS32;
    if (to != x.type) return w->Emit(to, x.dims, "convert", {x});
  }
  if (random.Chance(0.25)) {
    const Value mask = w->Emit(PrimitiveType::kPred, x.dims, "compare", {x, y}, "direction=GT");
    if (random.Chance(0.5)) w->Output(mask);
    return w->Emit(x.type, x.dims, "select", {mask, x, y});
  }
  return w->Emit(x.type, x.dims, random.Of(real), {x, y});
}

}  // namespace

void WriteEpilogue(ProgramWriter* w) {
  Random& random = w->random();
  std::vector<Value> values = {random.Chance(0.6) ? EmitDot(w) : EmitConvolution(w)};
  for (int64_t steps = random.In(1, 6); steps > 0; --steps) {
    const Value& from = random.Chance(0.7) ? values.back() : random.Of(values);
    values.push_back(Step(w, from, random.Of(values)));
    if (random.Chance(0.3)) w->Output(values.back());
  }
  if (random.Chance(0.5)) w->Output(values.front());
  w->Output(values.back());
}

}  // namespace kiln::testing
