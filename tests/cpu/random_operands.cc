// Products over what is made of other arrays: integers times scales of rows, of groups or of one number, elements that
// a mask leaves out, elementwise products, and sums of rows and columns; on either side, in any order of dimensions.
#include "tests/cpu/random_programs.h"

namespace kiln::testing {
namespace {

const Data kFew = {Data::Kind::kSmall, -2, 2};

Value Spread(ProgramWriter* w, const Value& from, const Dims& dims, const std::vector<int64_t>& map) {
  return w->Emit(from.type, dims, "broadcast", {from}, absl::StrCat("dimensions=", List(map)));
}

// Integers times a scale for each `group` of neighbours.
Value Dequantized(ProgramWriter* w, PrimitiveType type, const Dims& dims, int64_t group) {
  const PrimitiveType stored = w->random().Chance(0.5) ? PrimitiveType::kS8 : PrimitiveType::kU16;
  const Value whole = w->Emit(type, dims, "convert", {w->Parameter(stored, dims, {Data::Kind::kSmall, 0, 3})});
  Dims groups = dims, split = dims;
  groups.back() /= group;
  split.back() = groups.back();
  split.push_back(group);
  std::vector<int64_t> map;
  for (size_t d = 0; d < dims.size(); ++d) map.push_back(static_cast<int64_t>(d));
  const Value scales = Spread(w, w->Parameter(type, groups, kFew), split, map);
  const Value parts = w->Emit(type, split, "multiply", {w->Emit(type, split, "reshape", {whole}), scales});
  return w->Emit(type, dims, "reshape", {parts});
}

Value Operand(ProgramWriter* w, PrimitiveType type, const Dims& dims) {
  const int64_t last = static_cast<int64_t>(dims.size()) - 1;
  switch (w->random().In(0, 5)) {
    case 0:
      return Dequantized(w, type, dims, 1);
    case 1:
      return Dequantized(w, type, dims, dims.back() % 4 == 0 ? 4 : dims.back());
    case 2: {
      const Value zero = Spread(w, w->Constant(type, 0), dims, {});
      return w->Emit(
          type, dims, "select",
          {w->Parameter(PrimitiveType::kPred, dims, {Data::Kind::kSmall, 0, 1}), w->Parameter(type, dims, kFew), zero});
    }
    case 3:
      return w->Emit(type, dims, "multiply", {w->Parameter(type, dims, kFew), w->Parameter(type, dims, kFew)});
    case 4: {
      const Value rows = Spread(w, w->Parameter(type, {dims[last - 1]}, kFew), dims, {last - 1});
      const Value columns = Spread(w, w->Parameter(type, {dims[last]}, kFew), dims, {last});
      return w->Emit(type, dims, "add", {rows, columns});
    }
    default:
      return w->Parameter(type, dims, kFew);
  }
}

}  // namespace

void WriteOperand(ProgramWriter* w) {
  Random& random = w->random();
  static const auto& types = *new std::vector<PrimitiveType>{PrimitiveType::kF32, PrimitiveType::kF32,
                                                             PrimitiveType::kF64, PrimitiveType::kBF16};
  const PrimitiveType type = random.Of(types);
  const PrimitiveType result = type == PrimitiveType::kBF16 ? PrimitiveType::kF32 : type;
  Dims batch;
  if (random.Chance(0.3)) batch.push_back(random.In(2, 3));
  // One side at least takes more memory than what is not worth making in pieces.
  static const auto& few = *new std::vector<int64_t>{1, 2, 5, 16, 33};
  static const auto& steps = *new std::vector<int64_t>{64, 129, 200};
  static const auto& many = *new std::vector<int64_t>{128, 257, 300};
  const int64_t m = random.Of(few), k = random.Of(steps), n = random.Of(many);
  const auto with = [&](int64_t rows, int64_t columns) {
    Dims dims = batch;
    if (rows > 1) dims.push_back(rows);
    if (columns > 1) dims.push_back(columns);
    return dims;
  };
  const auto b = static_cast<int64_t>(batch.size());
  const bool lhs_along_k = m == 1 || random.Chance(0.5), rhs_along_n = random.Chance(0.5);
  const Value lhs =
      m == 1 ? w->Parameter(type, with(k, 1), kFew) : Operand(w, type, lhs_along_k ? with(m, k) : with(k, m));
  const Value rhs = Operand(w, type, rhs_along_n ? with(k, n) : with(n, k));
  std::string attributes = absl::StrCat("lhs_contracting_dims={", b + (m > 1 && lhs_along_k ? 1 : 0),
                                        "}, rhs_contracting_dims={", b + (rhs_along_n ? 0 : 1), "}");
  if (b > 0) absl::StrAppend(&attributes, ", lhs_batch_dims={0}, rhs_batch_dims={0}");
  Value product = w->Emit(result, with(m, n), "dot", {lhs, rhs}, attributes);
  if (random.Chance(0.4)) {
    product = w->Emit(result, product.dims, "maximum", {product, w->Parameter(result, product.dims, kFew)});
  }
  w->Output(product);
}

}  // namespace kiln::testing
