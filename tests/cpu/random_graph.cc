// Programs of many ops that use each other's results. Floating values stay small integers (clamped where they could
// grow), so that results are exact whatever is fused or summed in whatever order.
#include <algorithm>
#include <optional>

#include "tests/cpu/random_programs.h"

namespace kiln::testing {
namespace {

using hlo::IsFloating;
using hlo::IsIntegral;

constexpr int64_t kMaxElements = 3000;

class GraphWriter {
 public:
  GraphWriter(ProgramWriter* writer, int nesting) : w_(*writer), random_(writer->random()), nesting_(nesting) {}

  void AddValue(const Value& value) { pool_.push_back(value); }
  const std::vector<Value>& pool() const { return pool_; }

  void Grow(int64_t steps) {
    for (int64_t i = 0; i < steps; ++i) Step();
  }

  // A value of this type and these dimensions, made of what there is.
  Value Like(const Value& shape) {
    std::vector<Value> fitting;
    for (const Value& value : pool_) {
      if (value.type == shape.type && value.dims == shape.dims) fitting.push_back(value);
    }
    // Late values are made of many.
    if (!fitting.empty() && random_.Chance(0.8)) {
      return fitting[random_.In(static_cast<int64_t>(fitting.size()) / 2, static_cast<int64_t>(fitting.size()) - 1)];
    }
    for (const Value& value : pool_) {
      if (value.dims == shape.dims && value.type != shape.type && random_.Chance(0.5)) return Tame(Convert(value, shape.type));
    }
    for (const Value& value : pool_) {
      if (value.dims.empty() && random_.Chance(0.3)) {
        return w_.Emit(shape.type, shape.dims, "broadcast", {Tame(Convert(value, shape.type))}, "dimensions={}");
      }
    }
    return w_.Emit(shape.type, shape.dims, "broadcast", {w_.Constant(shape.type, random_.In(-3, 3))}, "dimensions={}");
  }

 private:
  static const std::vector<PrimitiveType>& Types() {
    static const auto& types = *new std::vector<PrimitiveType>{
        PrimitiveType::kF32, PrimitiveType::kF32, PrimitiveType::kF32, PrimitiveType::kF64, PrimitiveType::kS32,
        PrimitiveType::kS32, PrimitiveType::kPred, PrimitiveType::kBF16, PrimitiveType::kF16, PrimitiveType::kU8,
        PrimitiveType::kS64, PrimitiveType::kU32, PrimitiveType::kS16, PrimitiveType::kU64};
    return types;
  }

  Value Any() { return pool_[random_.In(0, static_cast<int64_t>(pool_.size()) - 1)]; }

  Value Convert(const Value& value, PrimitiveType type) {
    return value.type == type ? value : w_.Emit(type, value.dims, "convert", {value});
  }

  // Floating values back into [-8, 8].
  Value Tame(const Value& value) {
    if (!IsFloating(value.type)) return value;
    return w_.Emit(value.type, value.dims, "clamp", {w_.Constant(value.type, -8), value, w_.Constant(value.type, 8)});
  }

  void Keep(const Value& value) { pool_.push_back(value); }

  void Step() {
    const int64_t choice = random_.In(0, 27);
    if (choice < 8) return Binary();
    if (choice < 11) return Unary();
    if (choice < 13) return Select();
    if (choice < 15) return Reduce();
    if (choice == 15) return Dot();
    if (choice == 16) return DynamicSlice();
    if (choice == 17) return DynamicUpdateSlice();
    if (choice == 18) return Gather();
    if (choice == 19) return Scatter();
    if (choice == 20) return Sort();
    if (choice <= 22 && nesting_ > 0) return While();
    if (choice == 23 && nesting_ > 0) return random_.Chance(0.7) ? Conditional() : Call();
    Movement();
  }

  void Binary() {
    const Value x = Any(), y = Like(x);
    if (x.type == PrimitiveType::kPred) {
      static const auto& ops = *new std::vector<std::string>{"and", "or", "xor"};
      return Keep(w_.Emit(x.type, x.dims, random_.Of(ops), {x, y}));
    }
    if (random_.Chance(0.15)) {
      static const auto& directions = *new std::vector<std::string>{"EQ", "NE", "LT", "LE", "GT", "GE"};
      return Keep(w_.Emit(PrimitiveType::kPred, x.dims, "compare", {x, y}, absl::StrCat("direction=", random_.Of(directions))));
    }
    static const auto& real = *new std::vector<std::string>{"add", "subtract", "multiply", "maximum", "minimum"};
    static const auto& integer = *new std::vector<std::string>{"add", "subtract", "multiply", "maximum", "minimum", "and", "or",
                                                               "xor", "divide", "remainder", "shift-left",
                                                               "shift-right-logical", "shift-right-arithmetic"};
    Keep(Tame(w_.Emit(x.type, x.dims, random_.Of(IsIntegral(x.type) ? integer : real), {x, y})));
  }

  void Unary() {
    const Value x = Any();
    if (x.type == PrimitiveType::kPred) return Keep(w_.Emit(x.type, x.dims, "not", {x}));
    if (random_.Chance(0.4)) {
      const PrimitiveType type = random_.Of(Types());
      return Keep(Tame(Convert(x, type)));
    }
    static const auto& real = *new std::vector<std::string>{"abs", "negate", "sign", "floor", "ceil"};
    static const auto& integer = *new std::vector<std::string>{"abs", "negate", "sign", "not", "popcnt", "count-leading-zeros"};
    Keep(w_.Emit(x.type, x.dims, random_.Of(IsFloating(x.type) ? real : integer), {x}));
  }

  void Select() {
    const Value x = Any(), y = Like(x);
    const Value p = Like({"", PrimitiveType::kPred, random_.Chance(0.2) ? Dims{} : x.dims});
    Keep(w_.Emit(x.type, x.dims, "select", {p, x, y}));
  }

  void Reduce() {
    const Value x = Any();
    std::vector<int64_t> removed;
    Dims rest;
    int64_t terms = 1;
    for (size_t i = 0; i < x.dims.size(); ++i) {
      if (random_.Chance(0.5)) {
        removed.push_back(static_cast<int64_t>(i));
        terms *= x.dims[i];
      } else {
        rest.push_back(x.dims[i]);
      }
    }
    std::string op = random_.Chance(0.5) ? "add" : "maximum";
    if (x.type == PrimitiveType::kPred) op = random_.Chance(0.5) ? "or" : "and";
    // Sums of 16-bit floats are exact only while they are small.
    if (hlo::BitWidth(x.type) == 16 && IsFloating(x.type) && terms > 20) op = "minimum";
    const Value init = Like({"", x.type, {}});
    const Value sum = w_.Emit(x.type, rest, "reduce", {x, init},
                              absl::StrCat("dimensions=", List(removed), ", to_apply=", w_.module().Combiner(op, x.type)));
    Keep(Tame(sum));
    // Normalization-like: the sum is used over the same elements again.
    if (random_.Chance(0.5) && ElementCount(x.dims) > 0) {
      std::vector<int64_t> map;
      for (size_t i = 0; i < x.dims.size(); ++i) {
        if (std::find(removed.begin(), removed.end(), static_cast<int64_t>(i)) == removed.end()) map.push_back(static_cast<int64_t>(i));
      }
      const Value wide = w_.Emit(x.type, x.dims, "broadcast", {pool_.back()}, absl::StrCat("dimensions=", List(map)));
      Keep(x.type == PrimitiveType::kPred ? w_.Emit(x.type, x.dims, "xor", {x, wide})
                                          : Tame(w_.Emit(x.type, x.dims, "subtract", {x, wide})));
    }
  }

  void Dot() {
    Value x = Any();
    if (x.type == PrimitiveType::kPred || x.dims.empty() || x.dims.size() > 3) return Movement();
    const int64_t k = x.dims.back();
    if ((hlo::BitWidth(x.type) == 16 && k > 3) || ElementCount(x.dims) > 2000) return Movement();
    const int64_t n = random_.In(1, 9);
    const Value y = Like({"", x.type, {k, n}});
    Dims dims = x.dims;
    dims.back() = n;
    Keep(Tame(w_.Emit(x.type, dims, "dot", {x, y},
                      absl::StrCat("lhs_contracting_dims={", x.dims.size() - 1, "}, rhs_contracting_dims={0}"))));
  }

  std::vector<Value> Starts(const Dims& dims) {
    std::vector<Value> starts;
    const PrimitiveType type = random_.Chance(0.8) ? PrimitiveType::kS32 : PrimitiveType::kS64;
    for (size_t i = 0; i < dims.size(); ++i) starts.push_back(Like({"", type, {}}));
    return starts;
  }

  Dims Within(const Dims& dims) {
    Dims sizes;
    for (int64_t size : dims) sizes.push_back(random_.Chance(0.4) ? size : random_.In(std::min<int64_t>(size, 1), size));
    return sizes;
  }

  void DynamicSlice() {
    const Value x = Any();
    const Dims sizes = Within(x.dims);
    std::vector<Value> operands{x};
    for (const Value& start : Starts(x.dims)) operands.push_back(start);
    Keep(w_.Emit(x.type, sizes, "dynamic-slice", operands, absl::StrCat("dynamic_slice_sizes=", List(sizes))));
  }

  void DynamicUpdateSlice() {
    const Value x = Any();
    std::vector<Value> operands{x, Like({"", x.type, Within(x.dims)})};
    for (const Value& start : Starts(x.dims)) operands.push_back(start);
    Keep(w_.Emit(x.type, x.dims, "dynamic-update-slice", operands));
  }

  // Rows of a table.
  void Gather() {
    const Value x = Any();
    if (x.dims.empty() || x.dims[0] == 0) return Movement();
    const int64_t count = random_.In(1, 9);
    const Value indices = Like({"", PrimitiveType::kS32, {count}});
    Dims dims = x.dims, sizes = x.dims;
    dims[0] = count;
    sizes[0] = 1;
    std::vector<int64_t> offsets;
    for (size_t i = 1; i < x.dims.size(); ++i) offsets.push_back(static_cast<int64_t>(i));
    Keep(w_.Emit(x.type, dims, "gather", {x, indices},
                 absl::StrCat("offset_dims=", List(offsets), ", collapsed_slice_dims={0}, start_index_map={0}, "
                              "index_vector_dim=1, slice_sizes=", List(sizes))));
  }

  void Scatter() {
    const Value x = Any();
    if (x.dims.empty() || x.type == PrimitiveType::kPred) return Movement();
    const int64_t count = random_.In(1, 9);
    const Value indices = Like({"", PrimitiveType::kS32, {count}});
    Dims dims = x.dims;
    dims[0] = count;
    std::vector<int64_t> window;
    for (size_t i = 1; i < x.dims.size(); ++i) window.push_back(static_cast<int64_t>(i));
    const Value updates = Like({"", x.type, dims});
    Keep(Tame(w_.Emit(x.type, x.dims, "scatter", {x, indices, updates},
                      absl::StrCat("update_window_dims=", List(window), ", inserted_window_dims={0}, "
                                   "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=",
                                   w_.module().Combiner(random_.Chance(0.7) ? "add" : "maximum", x.type)))));
  }

  void Sort() {
    const Value x = Any();
    if (x.dims.empty() || x.type == PrimitiveType::kPred) return Movement();
    const std::string compare =
        w_.module().Add(absl::StrCat("  a = ", ShapeText(x.type, {}), " parameter(0)\n  b = ", ShapeText(x.type, {}),
                                     " parameter(1)\n  ROOT r = pred[] compare(a, b), direction=LT\n"));
    Keep(w_.Emit(x.type, x.dims, "sort", {x},
                 absl::StrCat("dimensions={", random_.In(0, static_cast<int64_t>(x.dims.size()) - 1),
                              "}, is_stable=true, to_apply=", compare)));
  }

  void Movement() {
    const Value x = Any();
    const int64_t rank = static_cast<int64_t>(x.dims.size());
    switch (random_.In(0, 6)) {
      case 0: {
        const std::vector<int64_t> order = random_.Permutation(rank);
        Dims dims;
        for (int64_t d : order) dims.push_back(x.dims[d]);
        return Keep(w_.Emit(x.type, dims, "transpose", {x}, absl::StrCat("dimensions=", List(order))));
      }
      case 1:
        return Keep(w_.Emit(x.type, {ElementCount(x.dims)}, "reshape", {x}));
      case 2: {
        std::vector<std::string> parts;
        Dims dims;
        for (int64_t size : x.dims) {
          const int64_t start = random_.In(0, size / 2), stride = random_.Chance(0.7) ? 1 : 2;
          parts.push_back(absl::StrCat("[", start, ":", size, ":", stride, "]"));
          dims.push_back((size - start + stride - 1) / stride);
        }
        return Keep(w_.Emit(x.type, dims, "slice", {x}, absl::StrCat("slice={", absl::StrJoin(parts, ","), "}")));
      }
      case 3: {
        if (rank == 0 || ElementCount(x.dims) * 2 > kMaxElements) return;
        const int64_t dimension = random_.In(0, rank - 1);
        Dims dims = x.dims;
        dims[dimension] *= 2;
        return Keep(w_.Emit(x.type, dims, "concatenate", {x, Like(x)}, absl::StrCat("dimensions={", dimension, "}")));
      }
      case 4: {
        if (rank == 0 || ElementCount(x.dims) > kMaxElements / 2) return;
        std::vector<std::string> parts;
        Dims dims;
        for (int64_t size : x.dims) {
          int64_t low = random_.In(-1, 1), high = random_.In(-1, 2);
          if (size + low + high < 0) low = high = 0;
          parts.push_back(absl::StrCat(low, "_", high));
          dims.push_back(size + low + high);
        }
        if (ElementCount(dims) > kMaxElements) return;
        return Keep(w_.Emit(x.type, dims, "pad", {x, Like({"", x.type, {}})}, absl::StrCat("padding=", absl::StrJoin(parts, "x"))));
      }
      case 5: {
        std::vector<int64_t> dimensions;
        for (int64_t i = 0; i < rank; ++i) {
          if (random_.Chance(0.6)) dimensions.push_back(i);
        }
        return Keep(w_.Emit(x.type, x.dims, "reverse", {x}, absl::StrCat("dimensions=", List(dimensions))));
      }
      default: {
        const int64_t size = random_.In(2, 9);
        if (rank > 3 || ElementCount(x.dims) * size > kMaxElements) return;
        Dims dims = x.dims;
        std::vector<int64_t> map;
        const int64_t at = random_.In(0, rank);
        for (int64_t i = 0; i < rank; ++i) map.push_back(i + (i >= at ? 1 : 0));
        dims.insert(dims.begin() + at, size);
        return Keep(w_.Emit(x.type, dims, "broadcast", {x}, absl::StrCat("dimensions=", List(map))));
      }
    }
  }

  // Shapes of a few values of the pool; what starts a loop's state.
  std::vector<Value> SomeValues() {
    std::vector<Value> values;
    const int64_t count = random_.In(1, 4);
    for (int64_t i = 0; i < count; ++i) {
      values.push_back(Any());
      // Two of a kind can be swapped.
      if (random_.Chance(0.4)) values.push_back(Like(values.back()));
    }
    return values;
  }

  std::string TupleOf(const std::vector<Value>& values, std::string* shape) {
    std::vector<std::string> shapes, names;
    for (const Value& value : values) {
      shapes.push_back(ShapeText(value));
      names.push_back(value.name);
    }
    *shape = absl::StrCat("(", absl::StrJoin(shapes, ", "), ")");
    const std::string name = w_.module().NewName("tuple");
    w_.lines().push_back(absl::StrCat(name, " = ", *shape, " tuple(", absl::StrJoin(names, ", "), ")"));
    return name;
  }

  // A computation from a tuple of `state` to one; `make` adds the outputs given a graph over the elements.
  template <typename Make>
  std::string Computation(const std::vector<Value>& state, const std::string& shape, Make make) {
    ProgramWriter body(&w_.module(), &random_);
    body.lines().push_back(absl::StrCat("p = ", shape, " parameter(0)"));
    GraphWriter graph(&body, nesting_ - 1);
    for (size_t i = 0; i < state.size(); ++i) {
      graph.AddValue(body.Emit(state[i].type, state[i].dims, absl::StrCat("get-tuple-element(p), index=", i)));
    }
    make(&body, &graph);
    return w_.module().Add(body.Body());
  }

  void While() {
    std::vector<Value> state = SomeValues();
    state.insert(state.begin(), w_.Constant(PrimitiveType::kS32, 0));
    std::string shape;
    const std::string tuple = TupleOf(state, &shape);
    const std::string body = Computation(state, shape, [&](ProgramWriter* out, GraphWriter* graph) {
      const std::vector<Value> old = graph->pool();
      graph->Grow(random_.In(0, 6));
      std::vector<Value> next;
      next.push_back(out->Emit(PrimitiveType::kS32, {}, "add", {old[0], out->Constant(PrimitiveType::kS32, 1)}));
      for (size_t i = 1; i < state.size(); ++i) {
        if (random_.Chance(0.15)) {
          next.push_back(old[i]);
        } else if (random_.Chance(0.3) && !state[i].dims.empty()) {
          // As a scan writes its results: row by row at the counter.
          Dims row = state[i].dims;
          row[0] = std::min<int64_t>(row[0], 1);
          std::vector<Value> operands{old[i], graph->Like({"", state[i].type, row}), old[0]};
          for (size_t d = 1; d < row.size(); ++d) operands.push_back(out->Constant(PrimitiveType::kS32, 0));
          next.push_back(out->Emit(state[i].type, state[i].dims, "dynamic-update-slice", operands));
        } else {
          next.push_back(graph->Like(state[i]));
        }
      }
      // Swaps and rotations.
      for (size_t i = 1; i + 1 < next.size(); ++i) {
        if (state[i].type == state[i + 1].type && state[i].dims == state[i + 1].dims && random_.Chance(0.4)) std::swap(next[i], next[i + 1]);
      }
      for (const Value& value : next) out->Output(value);
    });
    const int64_t trips = random_.In(0, 5);
    const std::string limit = random_.Chance(0.7)
        ? absl::StrCat("  n = s32[] constant(", trips, ")\n")
        : absl::StrCat("  m = s32[] constant(", trips, ")\n  n = s32[] minimum(m, m)\n");
    const std::string condition = w_.module().Add(
        absl::StrCat("  p = ", shape, " parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n", limit,
                     "  ROOT c = pred[] compare(i, n), direction=LT\n"));
    for (const Value& value : w_.EmitTuple(state, absl::StrCat("while(", tuple, "), condition=", condition, ", body=", body))) {
      Keep(value);
    }
  }

  void Conditional() {
    const std::vector<Value> state = SomeValues();
    std::vector<Value> result;
    for (int64_t i = random_.In(1, 3); i > 0; --i) result.push_back(Any());
    std::string shape;
    const std::string tuple = TupleOf(state, &shape);
    const bool is_pred = random_.Chance(0.4);
    const int64_t branches = is_pred ? 2 : random_.In(1, 4);
    std::vector<std::string> names;
    for (int64_t i = 0; i < branches; ++i) {
      names.push_back(Computation(state, shape, [&](ProgramWriter* out, GraphWriter* graph) {
        graph->Grow(random_.In(0, 5));
        for (const Value& value : result) out->Output(graph->Like(value));
      }));
    }
    const Value index = Like({"", is_pred ? PrimitiveType::kPred : PrimitiveType::kS32, {}});
    std::vector<std::string> operands(branches, tuple);
    const std::string which = is_pred ? absl::StrCat("true_computation=", names[0], ", false_computation=", names[1])
                                      : absl::StrCat("branch_computations={", absl::StrJoin(names, ", "), "}");
    for (const Value& value : w_.EmitTuple(result, absl::StrCat("conditional(", index.name, ", ", absl::StrJoin(operands, ", "), "), ", which))) {
      Keep(value);
    }
  }

  void Call() {
    const std::vector<Value> state = SomeValues();
    std::string shape;
    const std::string tuple = TupleOf(state, &shape);
    const std::string callee = Computation(state, shape, [&](ProgramWriter* out, GraphWriter* graph) {
      graph->Grow(random_.In(1, 5));
      for (const Value& value : state) out->Output(graph->Like(value));
    });
    for (const Value& value : w_.EmitTuple(state, absl::StrCat("call(", tuple, "), to_apply=", callee))) Keep(value);
  }

  ProgramWriter& w_;
  Random& random_;
  int nesting_;
  std::vector<Value> pool_;
};

}  // namespace

Program WriteGraph(uint64_t seed, int nesting, int64_t steps) {
  Random random(seed);
  ModuleWriter module;
  ProgramWriter writer(&module, &random);
  GraphWriter graph(&writer, nesting);
  static const auto& types = *new std::vector<PrimitiveType>{
      PrimitiveType::kF32, PrimitiveType::kF32, PrimitiveType::kS32, PrimitiveType::kF64, PrimitiveType::kBF16,
      PrimitiveType::kPred, PrimitiveType::kU8, PrimitiveType::kF16, PrimitiveType::kS64};
  const int64_t parameters = random.In(1, 5);
  Dims dims;
  for (int64_t i = 0; i < parameters; ++i) {
    // Equal shapes meet often.
    if (i == 0 || random.Chance(0.4)) dims = random.Shape(random.Chance(0.3) ? 6 : 3, kMaxElements / 3);
    graph.AddValue(writer.Parameter(random.Of(types), dims));
  }
  graph.AddValue(writer.Parameter(PrimitiveType::kS32, {}, {Data::Kind::kSmall, -3, 9}));
  graph.Grow(random.In(5, steps));
  // Results that can be written over an argument, when that is donated.
  std::vector<std::string> aliases;
  std::vector<bool> taken(writer.parameters().size(), false);
  const int64_t results = random.In(1, 6);
  for (int64_t i = 0; i < results; ++i) {
    Value value = graph.pool()[random.In(static_cast<int64_t>(graph.pool().size()) / 2, static_cast<int64_t>(graph.pool().size()) - 1)];
    const int64_t donor = random.In(0, static_cast<int64_t>(taken.size()) - 1);
    if (random.Chance(0.5) && !taken[donor]) {
      value = graph.Like(writer.parameters()[donor]);
      taken[donor] = true;
      aliases.push_back(absl::StrCat("{", i, "}: (", donor, ", {}, may-alias)"));
    }
    writer.Output(value);
  }
  return writer.Finish(aliases.empty() ? "" : absl::StrCat("input_output_alias={ ", absl::StrJoin(aliases, ", "), " }"));
}

}  // namespace kiln::testing
