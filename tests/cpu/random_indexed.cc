// Ops whose indices are data, and sorts.
#include <algorithm>

#include "tests/cpu/random_programs.h"

namespace kiln::testing {
namespace {

std::vector<Value> RandomStarts(ProgramWriter* w, const Dims& dims) {
  Random& random = w->random();
  static const auto& types = *new std::vector<PrimitiveType>{PrimitiveType::kS32, PrimitiveType::kS32, PrimitiveType::kS64,
                                                             PrimitiveType::kU32, PrimitiveType::kS8, PrimitiveType::kU64,
                                                             PrimitiveType::kU8};
  const PrimitiveType type = random.Of(types);
  std::vector<Value> starts;
  for (int64_t size : dims) {
    Data data{Data::Kind::kSmall, 0, static_cast<double>(std::min<int64_t>(size, 100))};
    if (random.Chance(0.4)) data = {Data::Kind::kSmall, -5, 120};
    if (random.Chance(0.1)) data = {Data::Kind::kExtremes};
    starts.push_back(w->Parameter(type, {}, data));
  }
  return starts;
}

// `count` of the numbers below `limit`, ascending.
std::vector<int64_t> RandomPositions(Random* random, int64_t count, int64_t limit) {
  std::vector<int64_t> order = random->Permutation(limit);
  order.resize(count);
  std::sort(order.begin(), order.end());
  return order;
}

// The dimension numbers that gather and scatter share.
struct Indexing {
  Dims operand, window;           // window size per operand dimension
  std::vector<int64_t> collapsed;  // operand dimensions that the result does not have
  std::vector<int64_t> operand_batching, indices_batching;
  std::vector<int64_t> index_map;
  int64_t index_vector_dim = 0;
  Dims indices;  // with the index vector
  Dims result;
  std::vector<int64_t> offset_dims;
};

Indexing RandomIndexing(Random* random) {
  Indexing r;
  const int64_t rank = random->In(1, 4);
  std::vector<int64_t> batching, indexed;
  for (int64_t d = 0; d < rank; ++d) {
    r.operand.push_back(random->In(1, rank == 1 ? 100 : rank == 2 ? 17 : 6));
    const int64_t kind = random->In(0, 5);
    if (kind == 0) {
      r.window.push_back(1);
      batching.push_back(d);
    } else if (kind <= 2) {
      r.window.push_back(1);
      r.collapsed.push_back(d);
      if (random->Chance(0.9)) indexed.push_back(d);
    } else {
      r.window.push_back(random->Chance(0.5) ? r.operand[d] : random->In(0, r.operand[d]));
      if (random->Chance(0.5)) indexed.push_back(d);
    }
  }
  for (int64_t at : random->Permutation(static_cast<int64_t>(indexed.size()))) r.index_map.push_back(indexed[at]);
  // Dimensions of the indices but for the vector: those of the batching dims and up to two more, in any order.
  struct Batch {
    int64_t size, operand;
  };
  std::vector<Batch> listed, batches;
  for (int64_t d : batching) listed.push_back({r.operand[d], d});
  const int64_t more = random->In(0, 2);
  for (int64_t i = 0; i < more; ++i) listed.push_back({random->In(random->Chance(0.05) ? 0 : 1, 9), -1});
  for (int64_t at : random->Permutation(static_cast<int64_t>(listed.size()))) batches.push_back(listed[at]);
  r.index_vector_dim = random->In(0, static_cast<int64_t>(batches.size()));
  const bool without_vector = r.index_map.size() == 1 && random->Chance(0.2);
  if (without_vector) r.index_vector_dim = static_cast<int64_t>(batches.size());
  for (size_t i = 0; i < batches.size(); ++i) r.indices.push_back(batches[i].size);
  if (!without_vector) {
    r.indices.insert(r.indices.begin() + r.index_vector_dim, static_cast<int64_t>(r.index_map.size()));
  }
  for (size_t i = 0; i < batches.size(); ++i) {
    if (batches[i].operand < 0) continue;
    const int64_t position = static_cast<int64_t>(i);
    r.operand_batching.push_back(batches[i].operand);
    r.indices_batching.push_back(!without_vector && position >= r.index_vector_dim ? position + 1 : position);
  }
  // Operand batching dims ascend.
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (size_t i = 0; i < r.operand_batching.size(); ++i) pairs.push_back({r.operand_batching[i], r.indices_batching[i]});
  std::sort(pairs.begin(), pairs.end());
  for (size_t i = 0; i < pairs.size(); ++i) std::tie(r.operand_batching[i], r.indices_batching[i]) = pairs[i];
  Dims offsets;
  for (int64_t d = 0; d < rank; ++d) {
    const bool gone = std::find(r.collapsed.begin(), r.collapsed.end(), d) != r.collapsed.end() ||
                      std::find(batching.begin(), batching.end(), d) != batching.end();
    if (!gone) offsets.push_back(r.window[d]);
  }
  r.offset_dims = RandomPositions(random, static_cast<int64_t>(offsets.size()),
                                  static_cast<int64_t>(offsets.size() + batches.size()));
  size_t next_offset = 0, next_batch = 0;
  for (int64_t i = 0; i < static_cast<int64_t>(offsets.size() + batches.size()); ++i) {
    const bool is_offset = std::find(r.offset_dims.begin(), r.offset_dims.end(), i) != r.offset_dims.end();
    r.result.push_back(is_offset ? offsets[next_offset++] : batches[next_batch++].size);
  }
  return r;
}

Value RandomIndices(ProgramWriter* w, const Indexing& indexing) {
  Random& random = w->random();
  static const auto& types = *new std::vector<PrimitiveType>{PrimitiveType::kS32, PrimitiveType::kS32, PrimitiveType::kS64,
                                                             PrimitiveType::kU32, PrimitiveType::kS8, PrimitiveType::kU64};
  Data data{Data::Kind::kSmall, 0, 4};
  if (random.Chance(0.5)) data = {Data::Kind::kSmall, -3, 20};
  if (random.Chance(0.1)) data = {Data::Kind::kExtremes};
  return w->Parameter(random.Of(types), indexing.indices, data);
}

}  // namespace

void WriteDynamicSlice(ProgramWriter* w) {
  Random& random = w->random();
  const Value x = w->Parameter(random.Of(AllTypes()), random.Shape(4, 1100));
  std::vector<Value> operands{x};
  Dims sizes;
  for (int64_t size : x.dims) sizes.push_back(random.Chance(0.3) ? size : random.In(0, size));
  for (const Value& start : RandomStarts(w, x.dims)) operands.push_back(start);
  w->Output(w->Emit(x.type, sizes, "dynamic-slice", operands, absl::StrCat("dynamic_slice_sizes=", List(sizes))));
}

void WriteDynamicUpdateSlice(ProgramWriter* w) {
  Random& random = w->random();
  const Value x = w->Parameter(random.Of(AllTypes()), random.Shape(4, 1100));
  Dims sizes;
  for (int64_t size : x.dims) sizes.push_back(random.Chance(0.3) ? size : random.In(0, size));
  std::vector<Value> operands{x, w->Parameter(x.type, sizes, {Data::Kind::kSmall, 10, 90})};
  for (const Value& start : RandomStarts(w, x.dims)) operands.push_back(start);
  w->Output(w->Emit(x.type, x.dims, "dynamic-update-slice", operands));
}

void WriteGather(ProgramWriter* w) {
  const Indexing n = RandomIndexing(&w->random());
  if (ElementCount(n.result) > 8000) return WriteGather(w);
  const Value x = w->Parameter(w->random().Of(AllTypes()), n.operand, {Data::Kind::kSmall, -99, 99});
  const Value indices = RandomIndices(w, n);
  w->Output(w->Emit(x.type, n.result, "gather", {x, indices},
                    absl::StrCat("offset_dims=", List(n.offset_dims), ", collapsed_slice_dims=", List(n.collapsed),
                                 ", start_index_map=", List(n.index_map),
                                 ", operand_batching_dims=", List(n.operand_batching),
                                 ", start_indices_batching_dims=", List(n.indices_batching),
                                 ", index_vector_dim=", n.index_vector_dim, ", slice_sizes=", List(n.window))));
}

void WriteScatter(ProgramWriter* w) {
  Random& random = w->random();
  const Indexing n = RandomIndexing(&random);
  if (ElementCount(n.result) > 8000) return WriteScatter(w);
  const std::string numbers = absl::StrCat(
      "update_window_dims=", List(n.offset_dims), ", inserted_window_dims=", List(n.collapsed),
      ", scatter_dims_to_operand_dims=", List(n.index_map), ", input_batching_dims=", List(n.operand_batching),
      ", scatter_indices_batching_dims=", List(n.indices_batching), ", index_vector_dim=", n.index_vector_dim);
  const PrimitiveType type = random.Of(RealTypes());
  const Data data = ExactData(type, 64, false);
  const Value x = w->Parameter(type, n.operand, data), indices = RandomIndices(w, n);
  const Value updates = w->Parameter(type, n.result, data);
  if (random.Chance(0.2)) {
    const std::string s = ShapeText(type, {}), i = "s32[]";
    const std::string computation = w->module().Add(absl::StrCat(
        "  a = ", s, " parameter(0)\n  i = ", i, " parameter(1)\n  b = ", s, " parameter(2)\n  j = ", i,
        " parameter(3)\n  x = ", s, " maximum(a, b)\n  y = ", i, " add(i, j)\n  ROOT r = (", s, ", ", i, ") tuple(x, y)\n"));
    const Value counts = w->Parameter(PrimitiveType::kS32, n.operand);
    const Value more = w->Parameter(PrimitiveType::kS32, n.result);
    for (const Value& result : w->EmitTuple({x, counts}, absl::StrCat("scatter(", x.name, ", ", counts.name, ", ",
                                                                      indices.name, ", ", updates.name, ", ", more.name,
                                                                      "), ", numbers, ", to_apply=", computation))) {
      w->Output(result);
    }
    return;
  }
  static const auto& ops = *new std::vector<std::string>{"add", "add", "maximum", "minimum"};
  std::string computation = w->module().Combiner(random.Of(ops), type);
  if (random.Chance(0.3)) {
    computation = w->module().Add(absl::StrCat("  a = ", ShapeText(type, {}), " parameter(0)\n  ROOT b = ",
                                               ShapeText(type, {}), " parameter(1)\n"));
  }
  w->Output(w->Emit(type, n.operand, "scatter", {x, indices, updates}, absl::StrCat(numbers, ", to_apply=", computation)));
}

void WriteSort(ProgramWriter* w) {
  Random& random = w->random();
  Dims dims = random.Shape(3, 1500);
  if (dims.empty()) dims.push_back(33);
  const int64_t dimension = random.In(0, static_cast<int64_t>(dims.size()) - 1);
  const PrimitiveType type = random.Of(RealTypes());
  const bool extremes = random.Chance(0.3);
  std::vector<Value> operands{
      w->Parameter(type, dims, extremes ? Data{Data::Kind::kExtremes} : Data{Data::Kind::kSmall, -20, 20})};
  const int64_t more = random.In(0, 3);
  for (int64_t i = 0; i < more; ++i) operands.push_back(w->Parameter(random.Of(AllTypes()), dims));
  std::string body;
  for (size_t i = 0; i < operands.size(); ++i) {
    absl::StrAppend(&body, "  a", i, " = ", ShapeText(operands[i].type, {}), " parameter(", 2 * i, ")\n  b", i, " = ",
                    ShapeText(operands[i].type, {}), " parameter(", 2 * i + 1, ")\n");
  }
  const std::string direction = random.Chance(0.5) ? "LT" : "GT";
  const std::string order = hlo::IsFloating(type) ? ", type=TOTALORDER" : "";
  if (more > 0 && !hlo::IsComplex(operands[1].type) && operands[1].type != PrimitiveType::kPred && random.Chance(0.4)) {
    absl::StrAppend(&body, "  l = pred[] compare(a0, b0), direction=", direction, order,
                    "\n  e = pred[] compare(a0, b0), direction=EQ", order,
                    "\n  m = pred[] compare(a1, b1), direction=LT",
                    "\n  s = pred[] and(e, m)\n  ROOT r = pred[] or(l, s)\n");
  } else {
    absl::StrAppend(&body, "  ROOT r = pred[] compare(a0, b0), direction=", direction, order, "\n");
  }
  const std::string attributes =
      absl::StrCat("dimensions={", dimension, "}, is_stable=true, to_apply=", w->module().Add(body));
  if (operands.size() == 1) {
    w->Output(w->Emit(type, dims, "sort", operands, attributes));
    return;
  }
  std::vector<std::string> names;
  for (const Value& operand : operands) names.push_back(operand.name);
  for (const Value& result : w->EmitTuple(operands, absl::StrCat("sort(", absl::StrJoin(names, ", "), "), ", attributes))) {
    w->Output(result);
  }
}

void WriteTopK(ProgramWriter* w) {
  Random& random = w->random();
  Dims dims = random.Shape(3, 1500, /*may_be_empty=*/false);
  if (dims.empty()) dims.push_back(17);
  const PrimitiveType type = random.Of(RealTypes());
  const Value x = w->Parameter(type, dims, {Data::Kind::kSmall, -20, 20});
  const int64_t k = random.In(1, dims.back());
  dims.back() = k;
  for (const Value& result : w->EmitTuple({{"", type, dims}, {"", PrimitiveType::kS32, dims}},
                                          absl::StrCat("topk(", x.name, "), k=", k, ", largest=",
                                                       random.Chance(0.7) ? "true" : "false"))) {
    w->Output(result);
  }
}

const std::vector<Family>& Families() {
  static const auto& families = *new std::vector<Family>{
      {"unary", WriteUnary, 24},
      {"binary", WriteBinary, 24},
      {"ternary", WriteTernary, 20},
      {"convert", WriteConvert, 24},
      {"bitcast_convert", WriteBitcastConvert, 16},
      {"movement", WriteMovement, 16},
      {"reduce", WriteReduce, 12},
      {"variadic_reduce", WriteVariadicReduce, 6},
      {"rows", WriteRows, 6},
      {"reduce_window", WriteReduceWindow, 8},
      {"dot", WriteDot, 6},
      {"convolution", WriteConvolution, 5},
      {"epilogue", WriteEpilogue, 6},
      {"operand", WriteOperand, 4},
      {"map", WriteMap, 8},
      {"dynamic_slice", WriteDynamicSlice, 16},
      {"dynamic_update_slice", WriteDynamicUpdateSlice, 16},
      {"gather", WriteGather, 12},
      {"scatter", WriteScatter, 10},
      {"sort", WriteSort, 6},
      {"topk", WriteTopK, 6},
  };
  return families;
}

}  // namespace kiln::testing
