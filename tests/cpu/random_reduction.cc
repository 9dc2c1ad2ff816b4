// Reductions, windows, products and convolutions. Data are small integers, so that every order of summing gives the
// same value and any difference is a fault.
#include <algorithm>

#include "tests/cpu/random_programs.h"

namespace kiln::testing {
namespace {

using hlo::IsComplex;
using hlo::IsFloating;
using hlo::IsIntegral;

struct Combination {
  std::string computation;
  Data data;
  Tolerance tolerance;
};

// A combiner for `type` and data for it, of which `terms` are combined.
Combination RandomCombination(ProgramWriter* w, PrimitiveType type, int64_t terms) {
  Random& random = w->random();
  ModuleWriter& module = w->module();
  const Data any{Data::Kind::kSmall, -100, 100};
  if (IsComplex(type)) return {module.Combiner("add", type), ExactData(type, terms, false), {}};
  if (type == PrimitiveType::kPred) {
    static const auto& ops = *new std::vector<std::string>{"and", "or", "xor", "maximum", "minimum"};
    return {module.Combiner(random.Of(ops), type), {}, {}};
  }
  if (IsIntegral(type)) {
    static const auto& ops =
        *new std::vector<std::string>{"add", "multiply", "maximum", "minimum", "and", "or", "xor", "mixed"};
    const std::string op = random.Of(ops);
    if (op != "mixed") return {module.Combiner(op, type), any, {}};
    // a + b + a * b is commutative and associative.
    const std::string scalar = ShapeText(type, {});
    return {module.Add(absl::StrCat("  a = ", scalar, " parameter(0)\n  b = ", scalar, " parameter(1)\n  s = ", scalar,
                                    " add(a, b)\n  m = ", scalar, " multiply(a, b)\n  ROOT r = ", scalar, " add(s, m)\n")),
            any,
            {}};
  }
  switch (random.In(0, 4)) {
    case 0:
      return {module.Combiner("maximum", type), {Data::Kind::kExtremes}, {}};
    case 1:
      return {module.Combiner("minimum", type), {Data::Kind::kReal, -100, 100}, {}};
    case 2:
      if (terms <= 100) return {module.Combiner("multiply", type), {Data::Kind::kSmall, 1, 2}, {}};
      [[fallthrough]];
    default: {
      if ((type == PrimitiveType::kF32 || type == PrimitiveType::kF64) && random.Chance(0.3)) {
        // Of n terms within 1, each sum rounds by half a unit of at most n.
        const double epsilon = type == PrimitiveType::kF32 ? 6e-8 : 1.2e-16;
        const double n = static_cast<double>(terms) + 1;
        return {module.Combiner("add", type), {Data::Kind::kReal, -1, 1}, {1, epsilon * n * n}};
      }
      return {module.Combiner("add", type), ExactData(type, terms + 1, false), {}};
    }
  }
}

std::vector<int64_t> RandomSubset(Random* random, int64_t count) {
  std::vector<int64_t> subset;
  for (int64_t i = 0; i < count; ++i) {
    if (random->Chance(0.5)) subset.push_back(i);
  }
  return subset;
}

// The dimensions of `dims` that are not in `removed`.
Dims Without(const Dims& dims, const std::vector<int64_t>& removed) {
  Dims rest;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (std::find(removed.begin(), removed.end(), static_cast<int64_t>(i)) == removed.end()) rest.push_back(dims[i]);
  }
  return rest;
}

int64_t TermsOf(const Dims& dims, const std::vector<int64_t>& removed) {
  int64_t terms = 1;
  for (int64_t d : removed) terms *= dims[d];
  return terms;
}

}  // namespace

void WriteReduce(ProgramWriter* w) {
  Random& random = w->random();
  const PrimitiveType type = random.Of(AllTypes());
  const Dims dims = random.Shape(4, 3000);
  const std::vector<int64_t> removed = RandomSubset(&random, static_cast<int64_t>(dims.size()));
  const Combination combination = RandomCombination(w, type, TermsOf(dims, removed));
  const Value x = w->Parameter(type, dims, combination.data), init = w->Parameter(type, {}, combination.data);
  w->Output(w->Emit(type, Without(dims, removed), "reduce", {x, init},
                    absl::StrCat("dimensions=", List(removed), ", to_apply=", combination.computation)),
            combination.tolerance);
}

void WriteVariadicReduce(ProgramWriter* w) {
  Random& random = w->random();
  const PrimitiveType type = random.Of(RealTypes());
  const PrimitiveType index = random.Of(std::vector<PrimitiveType>{PrimitiveType::kS32, PrimitiveType::kS64});
  const std::string v = ShapeText(type, {}), i = ShapeText(index, {});
  // The largest value, and of equal ones the first.
  const std::string computation = w->module().Add(absl::StrCat(
      "  a = ", v, " parameter(0)\n  i = ", i, " parameter(1)\n  b = ", v, " parameter(2)\n  j = ", i,
      " parameter(3)\n  g = pred[] compare(a, b), direction=GT\n  e = pred[] compare(a, b), direction=EQ\n"
      "  l = pred[] compare(i, j), direction=LT\n  s = pred[] and(e, l)\n  c = pred[] or(g, s)\n  x = ",
      v, " select(c, a, b)\n  y = ", i, " select(c, i, j)\n  ROOT r = (", v, ", ", i, ") tuple(x, y)\n"));
  Dims dims = random.Shape(4, 3000, /*may_be_empty=*/false);
  if (dims.empty()) dims.push_back(17);
  std::vector<int64_t> removed = RandomSubset(&random, static_cast<int64_t>(dims.size()));
  const Value x = w->Parameter(type, dims, {Data::Kind::kSmall, -9, 9});
  const int64_t axis = random.In(0, static_cast<int64_t>(dims.size()) - 1);
  const Value positions = w->Emit(index, dims, absl::StrCat("iota(), iota_dimension=", axis));
  const Value init = w->Parameter(type, {}, {Data::Kind::kSmall, -9, -5}), first = w->Parameter(index, {});
  const Dims result = Without(dims, removed);
  for (const Value& output :
       w->EmitTuple({{"", type, result}, {"", index, result}},
                    absl::StrCat("reduce(", x.name, ", ", positions.name, ", ", init.name, ", ", first.name,
                                 "), dimensions=", List(removed), ", to_apply=", computation))) {
    w->Output(output);
  }
}

void WriteReduceWindow(ProgramWriter* w) {
  Random& random = w->random();
  const PrimitiveType type = random.Of(AllTypes());
  const int64_t rank = random.In(1, 4);
  Dims dims, result;
  std::vector<std::string> size, stride, pad, base, window;
  int64_t terms = 1;
  for (int64_t i = 0; i < rank; ++i) {
    const bool plain = random.Chance(0.4);
    const int64_t n = random.In(1, rank == 1 ? 100 : rank == 2 ? 20 : 6);
    const int64_t k = plain ? 1 : random.In(1, 4), s = random.Chance(0.6) ? 1 : random.In(1, 3);
    const int64_t low = plain ? 0 : random.In(-1, 3), high = plain ? 0 : random.In(-1, 3);
    const int64_t b = random.Chance(0.8) ? 1 : 2, d = random.Chance(0.8) ? 1 : 2;
    const int64_t padded = low + (n - 1) * b + 1 + high, extent = (k - 1) * d + 1;
    if (padded < extent) return WriteReduceWindow(w);
    dims.push_back(n);
    result.push_back((padded - extent) / s + 1);
    terms *= k;
    size.push_back(absl::StrCat(k));
    stride.push_back(absl::StrCat(s));
    pad.push_back(absl::StrCat(low, "_", high));
    base.push_back(absl::StrCat(b));
    window.push_back(absl::StrCat(d));
  }
  const Combination combination = RandomCombination(w, type, terms);
  const Value x = w->Parameter(type, dims, combination.data);
  // The padding counts as the initial value: any number of times for an op that is not idempotent.
  Value init = w->Constant(type, 0);
  if (random.Chance(0.3)) init = w->Constant(type, 1);
  w->Output(w->Emit(type, result, "reduce-window", {x, init},
                    absl::StrCat("window={size=", absl::StrJoin(size, "x"), " stride=", absl::StrJoin(stride, "x"),
                                 " pad=", absl::StrJoin(pad, "x"), " lhs_dilate=", absl::StrJoin(base, "x"),
                                 " rhs_dilate=", absl::StrJoin(window, "x"), "}, to_apply=", combination.computation)),
            combination.tolerance);
}

Value EmitDot(ProgramWriter* w) {
  Random& random = w->random();
  enum Label { kBatch, kContract, kOwn };
  struct Side {
    std::vector<std::pair<Label, int>> labels;
    Dims dims;
  };
  static const auto& sizes = *new std::vector<int64_t>{1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 64, 65};
  int64_t work = 20000;
  auto pick = [&](int count) {
    Dims picked;
    for (int i = 0; i < count; ++i) {
      int64_t size = random.Of(sizes);
      while (size > work) size = (size + 1) / 2;
      work = std::max<int64_t>(work / size, 1);
      picked.push_back(size);
    }
    return picked;
  };
  const bool plain = random.Chance(0.4);
  const Dims batch = pick(plain ? 0 : static_cast<int>(random.In(0, 2)));
  const Dims contract = pick(plain ? 1 : static_cast<int>(random.In(0, 2)));
  const Dims own[2] = {pick(static_cast<int>(random.In(0, plain ? 1 : 2))), pick(static_cast<int>(random.In(0, plain ? 1 : 2)))};
  Side sides[2];
  std::vector<int64_t> batch_dims[2], contract_dims[2];
  Dims result = batch;
  for (int s = 0; s < 2; ++s) {
    std::vector<std::pair<Label, int>> labels;
    for (size_t i = 0; i < batch.size(); ++i) labels.push_back({kBatch, i});
    for (size_t i = 0; i < contract.size(); ++i) labels.push_back({kContract, i});
    for (size_t i = 0; i < own[s].size(); ++i) labels.push_back({kOwn, i});
    batch_dims[s].resize(batch.size());
    contract_dims[s].resize(contract.size());
    for (int64_t at : random.Permutation(static_cast<int64_t>(labels.size()))) {
      const auto [label, number] = labels[at];
      const int64_t position = static_cast<int64_t>(sides[s].dims.size());
      switch (label) {
        case kBatch:
          batch_dims[s][number] = position;
          sides[s].dims.push_back(batch[number]);
          break;
        case kContract:
          contract_dims[s][number] = position;
          sides[s].dims.push_back(contract[number]);
          break;
        case kOwn:
          sides[s].dims.push_back(own[s][number]);
          result.push_back(own[s][number]);
          break;
      }
    }
  }
  PrimitiveType type = random.Of(AllTypes());
  if (type == PrimitiveType::kPred) type = PrimitiveType::kF32;
  PrimitiveType result_type = type;
  if (random.Chance(0.4)) {
    if (type == PrimitiveType::kBF16 || type == PrimitiveType::kF16) result_type = PrimitiveType::kF32;
    if (type == PrimitiveType::kS8) result_type = PrimitiveType::kS32;
    if (type == PrimitiveType::kU8) result_type = PrimitiveType::kU32;
  }
  const Data data = ExactData(result_type, ElementCount(contract) * (IsComplex(type) ? 2 : 1), true);
  const Value a = w->Parameter(type, sides[0].dims, data), b = w->Parameter(type, sides[1].dims, data);
  return w->Emit(result_type, result, "dot", {a, b},
                 absl::StrCat("lhs_batch_dims=", List(batch_dims[0]), ", rhs_batch_dims=", List(batch_dims[1]),
                              ", lhs_contracting_dims=", List(contract_dims[0]),
                              ", rhs_contracting_dims=", List(contract_dims[1])));
}

void WriteDot(ProgramWriter* w) { w->Output(EmitDot(w)); }

Value EmitConvolution(ProgramWriter* w) {
  Random& random = w->random();
  const int64_t spatial = random.In(0, 3);
  // Now and then as many features as vectors want, in the layouts that frameworks use.
  const bool wide = random.Chance(0.4);
  // Groups of few features next to each other have kernels of their own.
  const int64_t few = spatial > 0 && random.Chance(0.2) ? int64_t{1} << random.In(0, 4) : 0;
  const int64_t groups = few > 0              ? random.In(2, 56 / few + 2)
                         : random.Chance(0.6) ? 1
                         : wide               ? random.In(2, 40)
                                              : random.In(2, 3);
  const bool batch_groups = few == 0 && groups > 1 && random.Chance(0.3);
  const int64_t batch = random.In(1, 3) * (batch_groups ? groups : 1);
  const int64_t in_per_group = few > 0 ? few : wide && groups < 6 ? random.In(1, 40) : random.In(1, 4);
  const int64_t in = in_per_group * (batch_groups ? 1 : groups);
  const int64_t out = (few > 0 ? few : wide && groups < 6 ? random.In(1, 40) : random.In(1, 4)) * groups;
  Dims x_dims(spatial + 2), k_dims(spatial + 2), y_dims(spatial + 2);
  std::vector<int64_t> xo = random.Permutation(spatial + 2), ko = random.Permutation(spatial + 2),
                       yo = random.Permutation(spatial + 2);
  if (few > 0 || (wide && random.Chance(0.7))) {
    // Positions of space, then batch and feature (or the kernel's features).
    const bool features_last = few > 0 || random.Chance(0.5);
    for (int64_t i = 0; i < spatial; ++i) {
      xo[i] = yo[i] = i + (features_last ? 1 : 2);
      ko[i] = i + (features_last ? 0 : 2);
    }
    xo[spatial] = yo[spatial] = 0;
    xo[spatial + 1] = yo[spatial + 1] = features_last ? spatial + 1 : 1;
    ko[spatial] = features_last ? spatial : 1;
    ko[spatial + 1] = features_last ? spatial + 1 : 0;
  }
  std::string x_labels(spatial + 2, ' '), k_labels = x_labels, y_labels = x_labels;
  auto set = [&](int64_t label, char x, char k, char y, int64_t xs, int64_t ks, int64_t ys) {
    x_labels[xo[label]] = x, x_dims[xo[label]] = xs;
    k_labels[ko[label]] = k, k_dims[ko[label]] = ks;
    y_labels[yo[label]] = y, y_dims[yo[label]] = ys;
  };
  set(spatial, 'b', 'i', 'b', batch, in_per_group, batch / (batch_groups ? groups : 1));
  set(spatial + 1, 'f', 'o', 'f', in, out, out);
  std::vector<std::string> size, stride, pad, base, window, reversal;
  int64_t terms = in_per_group;
  for (int64_t i = 0; i < spatial; ++i) {
    const int64_t n = random.In(1, spatial == 1 ? 40 : wide && spatial == 2 ? 18 : 8), k = random.In(1, 4),
                  s = random.In(1, 2);
    const int64_t b = few > 0 || random.Chance(0.8) ? 1 : 2, d = random.Chance(0.8) ? 1 : 2;
    int64_t low = random.In(-1, 2), high = random.In(-1, 3);
    const int64_t extent = (k - 1) * d + 1;
    while (low + (n - 1) * b + 1 + high < extent) ++high;
    set(i, static_cast<char>('0' + i), static_cast<char>('0' + i), static_cast<char>('0' + i), n, k,
        (low + (n - 1) * b + 1 + high - extent) / s + 1);
    terms *= k;
    size.push_back(absl::StrCat(k));
    stride.push_back(absl::StrCat(s));
    pad.push_back(absl::StrCat(low, "_", high));
    base.push_back(absl::StrCat(b));
    window.push_back(absl::StrCat(d));
    reversal.push_back(few == 0 && random.Chance(0.2) ? "1" : "0");
  }
  PrimitiveType type = random.Of(AllTypes());
  if (type == PrimitiveType::kPred || few > 0) type = PrimitiveType::kF32;
  const Data data = ExactData(type, terms * (IsComplex(type) ? 2 : 1), true);
  const Value x = w->Parameter(type, x_dims, data), k = w->Parameter(type, k_dims, data);
  std::string attributes;
  if (spatial > 0) {
    attributes = absl::StrCat("window={size=", absl::StrJoin(size, "x"), " stride=", absl::StrJoin(stride, "x"),
                              " pad=", absl::StrJoin(pad, "x"), " lhs_dilate=", absl::StrJoin(base, "x"),
                              " rhs_dilate=", absl::StrJoin(window, "x"), " rhs_reversal=", absl::StrJoin(reversal, "x"),
                              "}, ");
  }
  absl::StrAppend(&attributes, "dim_labels=", x_labels, "_", k_labels, "->", y_labels);
  if (groups > 1) absl::StrAppend(&attributes, batch_groups ? ", batch_group_count=" : ", feature_group_count=", groups);
  return w->Emit(type, y_dims, "convolution", {x, k}, attributes);
}

void WriteConvolution(ProgramWriter* w) { w->Output(EmitConvolution(w)); }

void WriteMap(ProgramWriter* w) {
  Random& random = w->random();
  const PrimitiveType type = random.Of(RealTypes());
  const std::string s = ShapeText(type, {});
  const std::string computation = w->module().Add(absl::StrCat(
      "  a = ", s, " parameter(0)\n  b = ", s, " parameter(1)\n  c = ", s, " constant(3)\n  x = ", s,
      " maximum(a, c)\n  y = ", s, " subtract(x, b)\n  p = pred[] compare(y, a), direction=LT\n  ROOT r = ", s,
      " select(p, y, b)\n"));
  const Dims dims = random.Shape(3, 1100);
  std::vector<int64_t> all;
  for (size_t i = 0; i < dims.size(); ++i) all.push_back(static_cast<int64_t>(i));
  const Value a = w->Parameter(type, dims), b = w->Parameter(type, dims);
  w->Output(
      w->Emit(type, dims, "map", {a, b}, absl::StrCat("dimensions=", List(all), ", to_apply=", computation)));
}

}  // namespace kiln::testing
