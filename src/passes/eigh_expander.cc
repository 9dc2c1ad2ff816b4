#include "src/passes/eigh_expander.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "src/base/status.h"
#include "src/passes/matrix_stack.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

// The order of the parts of a matrix whose rows and columns are each in two halves, and of the eigenvectors (rows).
enum Part { kTopLeft, kTopRight, kBottomLeft, kBottomRight, kTopVectors, kBottomVectors, kPartCount };
using Parts = std::vector<ArrayValue>;

struct Config {
  bool lower = true, sort = true;
  int64_t sweeps = 100;
};

absl::StatusOr<Config> ParseConfig(const Instruction& instruction) {
  Config config;
  const std::vector<std::string> fields = absl::StrSplit(instruction.backend_config(), ',');
  int64_t lower, sort;
  if (fields.size() != 4 || !absl::SimpleAtoi(fields[0], &lower) || !absl::SimpleAtoi(fields[1], &sort) ||
      !absl::SimpleAtoi(fields[2], &config.sweeps) || config.sweeps < 0) {
    return InvalidArgument(instruction.Describe(), ": the backend config is '", instruction.backend_config(),
                           "', expected 'lower,sort,sweeps,tolerance'");
  }
  config.lower = lower != 0;
  config.sort = sort != 0;
  config.sweeps = std::min<int64_t>(config.sweeps, std::numeric_limits<int32_t>::max());
  return config;
}

// Rotations of row k of the upper half with row k of the lower half: the cosines, which are real, and the sines, whose
// phases are those of the elements they make 0. Each [count, half].
struct Rotations {
  ArrayValue cosine, sine;
};

// They make the elements (k, k) of the top right part 0.
Rotations RotationsOf(const Parts& parts) {
  const ArrayValue a = RealPart(Diagonal(parts[kTopLeft])), d = RealPart(Diagonal(parts[kBottomRight]));
  const ArrayValue b = Diagonal(parts[kTopRight]), size = Abs(b);
  // The largest element is about 1: what is this small counts as 0, and its inverse exists.
  const double smallest = size.type() == PrimitiveType::kF64 ? 1e-200 : 1e-30;
  const ArrayValue none = size < size.Number(smallest);
  const ArrayValue divisor = Select(none, size.Number(1.0), size);
  const ArrayValue tau = (d - a) / (divisor * divisor.Number(2.0));
  const ArrayValue one = tau.Number(1.0);
  const ArrayValue root = (tau * tau + one).Unary(Opcode::kSqrt);
  const ArrayValue inverse = one / (tau.Unary(Opcode::kAbs) + root);
  const ArrayValue tangent = Select(tau < tau.Number(0.0), inverse.Unary(Opcode::kNegate), inverse);
  const ArrayValue t = Select(none, tangent.Number(0.0), tangent);
  const ArrayValue c = (t * t + one).Unary(Opcode::kRsqrt);
  return {FromReal(c, b), FromReal(t * c / divisor, b) * b};
}

// (top, bottom) -> (c top - s bottom, conj(s) top + c bottom), the factors along `dimension`.
void Rotate(const ArrayValue& cosine, const ArrayValue& sine, int64_t dimension, ArrayValue* top, ArrayValue* bottom) {
  const DimensionVector dimensions = top->shape().dimensions();
  auto spread = [&](const ArrayValue& factor) { return factor.Broadcast(dimensions, {0, dimension}); };
  const ArrayValue c = spread(cosine), rotated = c * *top - spread(sine) * *bottom;
  *bottom = spread(Conjugate(sine)) * *top + c * *bottom;
  *top = rotated;
}

// The next round of the tournament: all but the first of the upper half move on by one place.
void Move(int64_t dimension, ArrayValue* top, ArrayValue* bottom) {
  const int64_t half = top->shape().dimensions(dimension);
  if (half == 1) return;
  const ArrayValue upper = Concatenate(
      {top->Slice(dimension, 0, 1), bottom->Slice(dimension, 0, 1), top->Slice(dimension, 1, half - 1)}, dimension);
  *bottom = Concatenate({bottom->Slice(dimension, 1, half), top->Slice(dimension, half - 1, half)}, dimension);
  *top = upper;
}

Parts Round(Parts parts) {
  const Rotations rotations = RotationsOf(parts);
  const ArrayValue& c = rotations.cosine;
  const ArrayValue& s = rotations.sine;
  const ArrayValue conjugate = Conjugate(s);
  Rotate(c, s, 1, &parts[kTopLeft], &parts[kBottomLeft]);
  Rotate(c, s, 1, &parts[kTopRight], &parts[kBottomRight]);
  Rotate(c, conjugate, 2, &parts[kTopLeft], &parts[kTopRight]);
  Rotate(c, conjugate, 2, &parts[kBottomLeft], &parts[kBottomRight]);
  Rotate(c, conjugate, 1, &parts[kTopVectors], &parts[kBottomVectors]);
  Move(1, &parts[kTopLeft], &parts[kBottomLeft]);
  Move(1, &parts[kTopRight], &parts[kBottomRight]);
  Move(2, &parts[kTopLeft], &parts[kTopRight]);
  Move(2, &parts[kBottomLeft], &parts[kBottomRight]);
  Move(1, &parts[kTopVectors], &parts[kBottomVectors]);
  return parts;
}

// Whether, in any matrix, what is off the diagonal is more than rounding.
ArrayValue Unfinished(const Parts& parts) {
  const PrimitiveType type = hlo::ComplexComponentType(parts[kTopLeft].type());
  const double epsilon =
      type == PrimitiveType::kF64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  const double n = 2.0 * static_cast<double>(parts[kTopLeft].shape().dimensions(1));
  auto squares = [](const ArrayValue& part, bool without_diagonal) {
    const ArrayValue all = SquaredAbs(part);
    return Sum(without_diagonal ? Select(OnDiagonal(part), ZeroOf(all), all) : all, {1, 2});
  };
  const ArrayValue sides = squares(parts[kTopRight], false) + squares(parts[kBottomLeft], false);
  const ArrayValue off = sides + squares(parts[kTopLeft], true) + squares(parts[kBottomRight], true);
  const ArrayValue whole = sides + squares(parts[kTopLeft], false) + squares(parts[kBottomRight], false);
  const ArrayValue more = off > whole * whole.Number(n * epsilon * epsilon);
  Builder* builder = more.builder();
  return {builder, builder->Reduce(more.instruction(), builder->Scalar(PrimitiveType::kPred, 0), {0}, Opcode::kOr)};
}

Parts Diagonalize(const Parts& parts, int64_t sweeps) {
  Builder* builder = parts[0].builder();
  const int64_t rounds = 2 * parts[kTopLeft].shape().dimensions(1) - 1;
  std::vector<ArrayValue> state = parts;
  state.push_back(Unfinished(parts));
  state.emplace_back(builder, builder->Scalar(PrimitiveType::kS32, 0));
  auto goes_on = [&](const std::vector<ArrayValue>& values) {
    const ArrayValue& done = values[kPartCount + 1];
    return values[kPartCount] & (done < done.Number(sweeps));
  };
  auto sweep = [&](const std::vector<ArrayValue>& values) {
    std::vector<ArrayValue> next =
        CountedLoop({values.begin(), values.begin() + kPartCount}, rounds,
                    [](const ArrayValue&, const std::vector<ArrayValue>& current) { return Round(current); });
    const ArrayValue& done = values[kPartCount + 1];
    next.push_back(Unfinished(next));
    next.push_back(done + done.Number(int64_t{1}));
    return next;
  };
  return WhileLoop(state, goes_on, sweep);
}

// Ascending: sorts [count, n] and gives the place that each value had.
std::pair<ArrayValue, ArrayValue> Sorted(const ArrayValue& values) {
  Builder* builder = values.builder();
  const Shape shape(values.type(), values.shape().dimensions());
  const ArrayValue places = Iota(builder, PrimitiveType::kS32, shape.dimensions(), 1);
  Computation* less = builder->computation()->parent()->AddComputation("less");
  Builder inside(less, values.instruction());
  Instruction* a = less->AddParameter(0, Shape::Scalar(shape.element_type()));
  Instruction* b = less->AddParameter(1, Shape::Scalar(shape.element_type()));
  less->AddParameter(2, Shape::Scalar(PrimitiveType::kS32));
  less->AddParameter(3, Shape::Scalar(PrimitiveType::kS32));
  less->set_root(inside.Compare(ComparisonDirection::kLt, a, b));
  Instruction* sorted =
      builder->Add(Opcode::kSort, Shape::Tuple({shape, places.shape()}), {values.instruction(), places.instruction()},
                   hlo::SortAttributes{.dimension = 1, .is_stable = true}, {less});
  return {{builder, builder->GetTupleElement(sorted, 0)}, {builder, builder->GetTupleElement(sorted, 1)}};
}

struct Eigen {
  ArrayValue vectors;  // [count, n, n], columns
  ArrayValue values;   // [count, n]
};

Eigen Solve(const ArrayValue& matrices, const Config& config) {
  const int64_t count = matrices.shape().dimensions(0), n = matrices.shape().dimensions(1), half = (n + 1) / 2;
  Builder* builder = matrices.builder();
  // Both triangles, from one.
  const ArrayValue strict = Triangle(matrices, config.lower, /*strict=*/true);
  const ArrayValue diagonal = Select(OnDiagonal(matrices), FromReal(RealPart(matrices), matrices), ZeroOf(matrices));
  ArrayValue whole = strict + diagonal + Conjugate(Transposed(strict));
  // Divided by the largest element, so that squares neither overflow nor vanish.
  const ArrayValue sizes = Abs(whole);
  const ArrayValue largest(builder,
                           builder->Reduce(sizes.instruction(), ZeroOf(sizes).instruction(), {1, 2}, Opcode::kMaximum));
  const ArrayValue scale = Select(largest == largest.Number(0.0), largest.Number(1.0), largest);
  whole = whole / FromReal(scale, whole).Broadcast(whole.shape().dimensions(), {0});
  const DimensionVector even = {count, 2 * half, 2 * half};
  whole = whole.PadHigh(even, ZeroOf(whole));
  const ArrayValue identity = Select(OnDiagonal(whole), whole.Number(1.0), ZeroOf(whole));
  auto half_of = [&](const ArrayValue& stack, int64_t dimension, bool second) {
    return stack.Slice(dimension, second ? half : 0, second ? 2 * half : half);
  };
  Parts parts(kPartCount);
  for (bool bottom : {false, true}) {
    const ArrayValue rows = half_of(whole, 1, bottom);
    for (bool right : {false, true}) parts[2 * bottom + right] = half_of(rows, 2, right);
    parts[bottom ? kBottomVectors : kTopVectors] = half_of(identity, 1, bottom);
  }
  parts = Diagonalize(parts, config.sweeps);
  ArrayValue values =
      Concatenate({RealPart(Diagonal(parts[kTopLeft])), RealPart(Diagonal(parts[kBottomRight]))}, 1).Slice(1, 0, n);
  values = values * scale.Broadcast({count, n}, {0});
  ArrayValue rows = Concatenate({parts[kTopVectors], parts[kBottomVectors]}, 1).Slice(1, 0, n).Slice(2, 0, n);
  if (config.sort) {
    const auto [sorted, places] = Sorted(values);
    // A product with a permutation puts the vectors in order.
    const DimensionVector square = {count, n, n};
    const ArrayValue chosen = places.Broadcast(square, {0, 1}) == Iota(builder, PrimitiveType::kS32, square, 2);
    rows = BatchedDot(chosen.Convert(rows.type()), rows, 1, 2, 1);
    values = sorted;
  }
  return {Transposed(rows), values};
}

absl::StatusOr<Instruction*> ExpandEighCall(Instruction* instruction) {
  const auto* call = instruction->GetIf<hlo::CustomCallAttributes>();
  if (call == nullptr || call->target != "Eigh") return nullptr;
  KILN_ASSIGN_OR_RETURN(const Config config, ParseConfig(*instruction));
  const Shape shape = instruction->operand_count() == 1 ? instruction->operand(0)->shape() : Shape::Token();
  const int64_t rank = shape.IsArray() ? shape.rank() : 0;
  const bool numbers = hlo::IsFloating(shape.element_type()) || hlo::IsComplex(shape.element_type());
  if (rank < 2 || !numbers || shape.dimensions(rank - 1) != shape.dimensions(rank - 2)) {
    return InvalidArgument(instruction->Describe(), ": expected square matrices of real or complex numbers");
  }
  const Shape values(hlo::ComplexComponentType(shape.element_type()),
                     DimensionVector(shape.dimensions().begin(), shape.dimensions().end() - 1));
  if (!Shape::Compatible(instruction->shape(), Shape::Tuple({shape, values}))) {
    return InvalidArgument(instruction->Describe(), ": the result has shape ", instruction->shape().ToString(),
                           ", expected ", Shape::Tuple({shape, values}).ToString());
  }
  Builder builder(instruction->parent(), instruction);
  const ArrayValue operand(&builder, instruction->operand(0));
  if (shape.element_count() == 0) return builder.Tuple({operand.instruction(), builder.Splat(values, 0.0)});
  const Eigen eigen = Solve(AsStack(operand), config);
  return builder.Tuple({FromStack(eigen.vectors, shape).instruction(), FromStack(eigen.values, values).instruction()});
}

}  // namespace

absl::StatusOr<bool> ExpandEigh(Module* module) { return ReplaceOps(module, {Opcode::kCustomCall}, ExpandEighCall); }

}  // namespace kiln::passes
