#include "src/passes/scatter_splitter.h"

#include <optional>
#include <utility>

#include "src/analysis/combiner.h"
#include "src/analysis/scatter_windows.h"
#include "src/passes/replace_ops.h"

namespace kiln::passes {
namespace {

constexpr int64_t kMaxScatterParts = 4;      // each a load of the kernel that combines them
constexpr int64_t kMinUpdates = 4096;        // of a part, some microseconds,
constexpr int64_t kUpdatesPerElement = 2;    // of its array, which is filled and read once more
constexpr int64_t kMaxPartBytes = 64 << 10;  // of all parts
constexpr int64_t kMinPartBytes = 64;        // neighbours in one line would take it from each other

// Whether any order gives the same bits, or sums that are rounded as often at most. Halves would keep more of small
// updates than one after the other does, and differ.
bool MayBeDivided(Opcode combiner, PrimitiveType type) {
  if (combiner == Opcode::kMaximum || combiner == Opcode::kMinimum) return !hlo::IsComplex(type);
  if (hlo::IsIntegral(type) || type == PrimitiveType::kPred) return true;
  return combiner == Opcode::kAdd && (type == PrimitiveType::kF32 || type == PrimitiveType::kF64);
}

// What elements of parts without updates hold.
std::optional<Literal> NeutralOf(Opcode combiner, PrimitiveType type) {
  // Zero would make zero of a negative one.
  if (combiner == Opcode::kAdd && hlo::IsFloating(type)) return hlo::LiteralOf(Shape::Scalar(type), -0.0);
  return analysis::IdentityOf(combiner, type);
}

void ShiftFrom(int64_t first, DimensionVector* dimensions) {
  for (int64_t& d : *dimensions) d += d >= first;
}

Instruction* Split(Instruction* scatter) {
  hlo::ScatterAttributes attributes = scatter->Get<hlo::ScatterAttributes>();
  if (scatter->operand_count() != 3 || !attributes.input_batching_dims.empty() || attributes.index_vector_dim == 0 ||
      !scatter->control_predecessors().empty()) {
    return nullptr;
  }
  const Shape &to = scatter->shape(), &indices = scatter->operand(1)->shape(), &updates = scatter->operand(2)->shape();
  const PrimitiveType type = to.element_type();
  const std::optional<Opcode> combiner = analysis::CombinerOpcode(*scatter->called_computation());
  if (!combiner || !MayBeDivided(*combiner, type)) return nullptr;
  const std::optional<Literal> neutral = NeutralOf(*combiner, type);
  int64_t along = 0;  // the updates' first dimension that the indices have
  while (along < updates.rank() && Contains(attributes.update_window_dims, along)) ++along;
  if (!neutral || along == updates.rank() || indices.rank() == 0) return nullptr;
  // Threads share elements of windows instead.
  int64_t outside = 1;
  for (int64_t d = analysis::WindowsOutside(attributes, to.rank()); d-- > 0;) outside *= updates.dimensions(d);
  if (outside >= kMaxScatterParts) return nullptr;
  int64_t windows = 1;
  for (int64_t d = 0; d < updates.rank(); ++d) {
    if (!Contains(attributes.update_window_dims, d)) windows *= updates.dimensions(d);
  }
  int64_t parts = kMaxScatterParts;
  while (parts > 1 && (updates.dimensions(along) % parts != 0 || windows < parts * kMinUpdates ||
                       updates.element_count() < parts * to.element_count() * kUpdatesPerElement ||
                       parts * to.byte_count() > kMaxPartBytes)) {
    --parts;
  }
  if (parts == 1 || to.byte_count() < kMinPartBytes) return nullptr;

  Builder builder(scatter->parent(), scatter);
  const auto divided = [&](int64_t operand, int64_t dimension) {
    DimensionVector dimensions = scatter->operand(operand)->shape().dimensions();
    dimensions[dimension] /= parts;
    dimensions.insert(dimensions.begin() + dimension, parts);
    return builder.Reshape(scatter->operands()[operand], dimensions);
  };
  DimensionVector dimensions = to.dimensions();
  dimensions.insert(dimensions.begin(), parts);
  ShiftFrom(along, &attributes.update_window_dims);
  ShiftFrom(0, &attributes.inserted_window_dims);
  ShiftFrom(0, &attributes.scatter_dims_to_operand_dims);
  attributes.input_batching_dims = attributes.scatter_indices_batching_dims = {0};
  ++attributes.index_vector_dim;
  attributes.indices_are_sorted = attributes.unique_indices = false;
  const Shape shape(type, dimensions);
  Instruction* made =
      builder.Add(Opcode::kScatter, shape, {builder.Splat(shape, *neutral), divided(1, 0), divided(2, along)},
                  std::move(attributes), scatter->called_computations());
  Instruction* combined = scatter->operands()[0];
  hlo::SliceAttributes part{DimensionVector(dimensions.size(), 0), dimensions, DimensionVector(dimensions.size(), 1)};
  for (part.limit[0] = 1; part.limit[0] <= parts; ++part.start[0], ++part.limit[0]) {
    Instruction* own = builder.Reshape(builder.Slice(made, part), to.dimensions());
    combined = builder.Binary(*combiner, combined, own);
  }
  return combined;
}

}  // namespace

absl::StatusOr<bool> SplitScatters(Module* module) { return ReplaceOps(module, {Opcode::kScatter}, Split); }

}  // namespace kiln::passes
