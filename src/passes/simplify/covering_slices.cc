// Sums, products, extremes of slices of one array that are all of it: a reduce.
#include <vector>

#include "src/analysis/combiner.h"
#include "src/passes/simplify/rules.h"

namespace kiln::passes::simplify {
namespace {

bool IsPartOf(const Instruction& operand, const Instruction& tree) {
  return operand.opcode() == tree.opcode() && operand.users().size() == 1;
}

// The slices that a tree of one op has at its ends, of one array; nothing where it has others or too many.
std::vector<const Instruction*> SlicesOf(const Instruction& root) {
  constexpr size_t kMaxSlices = 64;
  std::vector<const Instruction*> slices, work = {&root};
  while (!work.empty()) {
    const Instruction* part = work.back();
    work.pop_back();
    for (const Instruction* operand : part->operands()) {
      if (IsPartOf(*operand, root)) {
        work.push_back(operand);
      } else if (operand->opcode() == Opcode::kSlice &&
                 (slices.empty() || operand->operand(0) == slices[0]->operand(0))) {
        slices.push_back(operand);
      } else {
        return {};
      }
    }
    if (slices.size() + work.size() > kMaxSlices) return {};
  }
  return slices;
}

// The one dimension that slices of these attributes cut; nothing where they cut others.
std::optional<int64_t> CutDimension(const hlo::SliceAttributes& slice, const Shape& shape) {
  std::optional<int64_t> cut;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (slice.start[i] == 0 && slice.limit[i] == shape.dimensions(i) && slice.stride[i] == 1) continue;
    if (cut) return std::nullopt;
    cut = i;
  }
  return cut;
}

// Pieces one behind the other are rows of a reshape, every n-th elements its columns.
Instruction* ReduceOfSlices(const Match& match, Builder& builder) {
  const Instruction& root = *match.root();
  if (!root.IsRoot() && root.users().size() == 1 && root.users()[0]->opcode() == root.opcode()) return nullptr;
  const std::vector<const Instruction*> slices = SlicesOf(root);
  const int64_t count = static_cast<int64_t>(slices.size());
  // Two or three are read at once by a loop that others join.
  if (count < 4) return nullptr;
  Instruction* x = slices[0]->operands()[0];
  const auto& first = slices[0]->Get<hlo::SliceAttributes>();
  const std::optional<int64_t> cut = CutDimension(first, x->shape());
  if (!cut) return nullptr;
  const int64_t size = x->shape().dimensions(*cut), piece = slices[0]->shape().dimensions(*cut);
  if (piece == 0 || piece * count != size) return nullptr;
  const bool is_behind = first.stride[*cut] == 1;
  std::vector<bool> seen(count, false);
  for (const Instruction* slice : slices) {
    const auto& a = slice->Get<hlo::SliceAttributes>();
    if (CutDimension(a, x->shape()) != cut || a.stride[*cut] != (is_behind ? 1 : count) ||
        slice->shape().dimensions(*cut) != piece || (is_behind && a.start[*cut] % piece != 0)) {
      return nullptr;
    }
    const int64_t place = is_behind ? a.start[*cut] / piece : a.start[*cut];
    if (place >= count || seen[place]) return nullptr;
    seen[place] = true;
  }
  const PrimitiveType type = root.shape().element_type();
  std::optional<Literal> identity = analysis::IdentityOf(root.opcode(), type);
  if (!identity) return nullptr;
  if (root.opcode() == Opcode::kAdd && hlo::IsFloating(type)) identity = hlo::LiteralOf(Shape::Scalar(type), -0.0);
  DimensionVector sizes = x->shape().dimensions();
  sizes[*cut] = is_behind ? count : piece;
  sizes.insert(sizes.begin() + *cut + 1, is_behind ? piece : count);
  Instruction* parts = builder.Reshape(x, sizes);
  Instruction* reduced =
      builder.Reduce(parts, builder.Constant(*std::move(identity)), {is_behind ? *cut : *cut + 1}, root.opcode());
  return builder.Reshape(reduced, root.shape().dimensions());
}

constexpr Rule kCoveringSlicesRules[] = {
    {"add(slice(_), _)", "reduce.add(reshape(x), -0), of slices that are all of x", ReduceOfSlices, AnyOrder},
    {"add(add'(_, _), add'(_, _))", "reduce.add(reshape(x), -0), of slices that are all of x", ReduceOfSlices,
     AnyOrder},
    {"multiply(slice(_), _)", "reduce.multiply(reshape(x), 1), of slices that are all of x", ReduceOfSlices, AnyOrder},
    {"maximum(slice(_), _)", "reduce.maximum(reshape(x), lowest), of slices that are all of x", ReduceOfSlices,
     NotComplex},
    {"minimum(slice(_), _)", "reduce.minimum(reshape(x), highest), of slices that are all of x", ReduceOfSlices,
     NotComplex},
    {"and(slice(_), _)", "reduce.and(reshape(x), -1), of slices that are all of x", ReduceOfSlices},
    {"or(slice(_), _)", "reduce.or(reshape(x), 0), of slices that are all of x", ReduceOfSlices},
};

}  // namespace

absl::Span<const Rule> CoveringSliceRules() { return kCoveringSlicesRules; }

}  // namespace kiln::passes::simplify
