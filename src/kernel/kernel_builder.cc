#include "src/kernel/kernel_builder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "src/analysis/fusion_model.h"
#include "src/analysis/kept_blocks.h"
#include "src/analysis/scatter_windows.h"
#include "src/base/rounding.h"
#include "src/base/status.h"
#include "src/kernel/blocked_nest.h"
#include "src/kernel/body_builder.h"

namespace kiln::kernel {

using analysis::Box;
using hlo::Instruction;
using hlo::Opcode;
using hlo::PrimitiveType;

namespace {

// Flattened leaves of the root that the kernel stores: (instruction, leaf) pairs.
struct RootLeaf {
  const Instruction* instruction;
  int64_t leaf;
};

std::vector<RootLeaf> RootLeaves(const Instruction* root) {
  std::vector<const Instruction*> roots = {root};
  if (root->opcode() == Opcode::kTuple) roots.assign(root->operands().begin(), root->operands().end());
  std::vector<RootLeaf> leaves;
  for (const Instruction* element : roots) {
    for (int64_t i = 0; i < element->shape().leaf_count(); ++i) leaves.push_back({element, i});
  }
  return leaves;
}

const Instruction* RootOf(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kFusion ? instruction.called_computation()->root() : &instruction;
}

int AddParameter(Kernel* kernel, const hlo::Shape& shape, bool is_output) {
  kernel->parameters.push_back({shape.element_type(), shape.dimensions(), is_output});
  return static_cast<int>(kernel->parameters.size()) - 1;
}

// The dimensions of such an array that the reduces inside a fusion reduce; none where there is no such reduce.
std::vector<bool> ReducedDimensions(const Instruction& instruction, const hlo::DimensionVector& dimensions) {
  std::vector<bool> reduced(dimensions.size(), false);
  if (instruction.opcode() != Opcode::kFusion) return reduced;
  for (const Instruction* inner : instruction.called_computation()->instructions()) {
    if (inner->opcode() != Opcode::kReduce || inner->operand(0)->shape().dimensions() != dimensions) continue;
    for (int64_t d : inner->dimensions()) reduced[d] = true;
    break;
  }
  return reduced;
}

// The index of an array of `to` dimensions, those of `from` left out that are `reduced` and ones aside, where the nest
// over `from` is at `index`; nothing for other dimensions.
std::optional<Index> IndexOfLeaf(const hlo::DimensionVector& from, const Index& index, const std::vector<bool>& reduced,
                                 const hlo::DimensionVector& to) {
  Index result(to.size());
  size_t next = 0;
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] == 1 || reduced[d]) continue;
    while (next < to.size() && to[next] == 1) ++next;
    if (next == to.size() || to[next] != from[d]) return std::nullopt;
    result[next++] = index[d];
  }
  while (next < to.size() && to[next] == 1) ++next;
  return next == to.size() ? std::optional(std::move(result)) : std::nullopt;
}

// Stores `updates` over the window of a dynamic-update-slice that the output already holds the rest of.
absl::Status EmitUpdateInPlace(BodyBuilder* body, const Instruction* update_slice, int output) {
  const hlo::Shape& operand = update_slice->operand(0)->shape();
  const Instruction* update = update_slice->operand(1);
  KILN_ASSIGN_OR_RETURN(Index index, body->BeginNest(update->shape().dimensions(), LoopKind::kParallel));
  Index at;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    KILN_ASSIGN_OR_RETURN(ValueId start, body->Emit(update_slice->operand(d + 2), {}));
    at.push_back(body->ToIndex(start, {0, operand.dimensions(d) - update->shape().dimensions(d)}, /*clamp=*/true) +
                 index[d]);
  }
  KILN_ASSIGN_OR_RETURN(ValueId value, body->Emit(update, index));
  body->AddStore(output, at, value);
  body->EndNest();
  return absl::OkStatus();
}

// Of the scatter's updates the dimensions that go along batches of its operand.
std::vector<int64_t> BatchDimensionsOfUpdates(const hlo::ScatterAttributes& attributes, int64_t rank) {
  std::vector<int64_t> scattered, batches;
  for (int64_t i = 0; i < rank; ++i) {
    if (!absl::c_linear_search(attributes.update_window_dims, i)) scattered.push_back(i);
  }
  for (int64_t d : attributes.scatter_indices_batching_dims) {
    batches.push_back(scattered[d > attributes.index_vector_dim ? d - 1 : d]);
  }
  return batches;
}

// A loop over the updates in order; each is combined with the element that it meets, if that exists. Batches, in front,
// do not meet, and neither do elements of windows in dimensions that no index goes along: where these are outside of
// the updates in memory they are in front as well.
absl::Status EmitScatter(BodyBuilder* body, const Instruction* scatter, int first_output) {
  const auto& attributes = scatter->Get<hlo::ScatterAttributes>();
  const int64_t count = (scatter->operand_count() - 1) / 2;
  const hlo::Shape& operand = scatter->operand(0)->shape();
  const hlo::Shape& updates = scatter->operand(count + 1)->shape();
  if (operand.element_count() == 0 || updates.element_count() == 0) return absl::OkStatus();
  // One whole window after the other, so that of windows that meet the last one stays.
  std::vector<int64_t> order = BatchDimensionsOfUpdates(attributes, updates.rank());
  const int64_t outside = analysis::WindowsOutside(attributes, operand.rank());
  for (int64_t d = 0; d < outside; ++d) order.push_back(d);
  const size_t apart = order.size();
  for (bool window : {false, true}) {
    for (int64_t i = 0; i < updates.rank(); ++i) {
      if (absl::c_linear_search(attributes.update_window_dims, i) == window &&
          std::find(order.begin(), order.begin() + apart, i) == order.begin() + apart) {
        order.push_back(i);
      }
    }
  }
  std::vector<int64_t> extents;
  for (int64_t d : order) extents.push_back(updates.dimensions(d));
  KILN_ASSIGN_OR_RETURN(Index variables, body->BeginNest(extents, LoopKind::kSerial, static_cast<int>(apart)));
  Index index(order.size());
  for (size_t i = 0; i < order.size(); ++i) index[order[i]] = variables[i];
  auto [at, batch, dimensions] =
      PlaceInWindow({attributes.update_window_dims, attributes.inserted_window_dims, attributes.input_batching_dims,
                     attributes.scatter_indices_batching_dims, attributes.index_vector_dim},
                    index, operand.rank());
  // An update whose window leaves the operand is dropped whole.
  std::vector<Condition> conditions;
  for (size_t k = 0; k < attributes.scatter_dims_to_operand_dims.size(); ++k) {
    const int64_t d = attributes.scatter_dims_to_operand_dims[k];
    KILN_ASSIGN_OR_RETURN(ValueId start,
                          body->EmitStart(scatter->operand(count), batch, attributes.index_vector_dim, k));
    // Far out of range on both sides, so that the condition below is not decided beforehand.
    constexpr int64_t kFar = int64_t{1} << 62;
    IndexExpr start_expr = body->ToIndex(start, {-kFar, kFar}, /*clamp=*/true);
    const int64_t extent = dimensions[d] < 0 ? 1 : updates.dimensions(dimensions[d]);
    conditions.push_back({start_expr, 0, operand.dimensions(d) - extent + 1});
    at[d] = at[d] + start_expr;
  }
  bool never;
  ValueId inside = body->AddCondition(std::move(conditions), kNoValue, &never);
  std::vector<ValueId> arguments;
  for (int64_t i = 0; i < count; ++i) {
    arguments.push_back(body->AddLoad(first_output + static_cast<int>(i), at, inside));
  }
  for (int64_t i = 0; i < count; ++i) {
    KILN_ASSIGN_OR_RETURN(ValueId update, body->Emit(scatter->operand(count + 1 + i), index));
    arguments.push_back(update);
  }
  KILN_ASSIGN_OR_RETURN(std::vector<ValueId> combined, body->Inline(*scatter->called_computation(), arguments));
  for (int64_t i = 0; i < count; ++i) {
    body->AddStore(first_output + static_cast<int>(i), at, combined[i], inside);
  }
  body->EndNest();
  return absl::OkStatus();
}

// Pieces of this many elements at most alternate in one nest, whose vectors are interleaved; others share one where
// they share work.
constexpr int64_t kMaxInterleavedRun = 4;

// Pieces of a root concatenate, or of one that elementwise ops of its shape lead to, are nests of their own: no
// selects, and each piece vectorizes by itself. Ranges of indices say which piece a nest meets.
absl::Status EmitConcatenatePieces(BodyBuilder* body, const Instruction* root, const Instruction* concatenate,
                                   int output) {
  const int64_t dimension = concatenate->dimensions()[0];
  const hlo::Shape& first = concatenate->operand(0)->shape();
  int64_t run = 1;
  for (int64_t i = dimension; i < first.rank(); ++i) run *= first.dimensions(i);
  const bool are_equal = std::all_of(concatenate->operands().begin(), concatenate->operands().end(),
                                     [&](const Instruction* operand) { return operand->shape() == first; });
  const bool together =
      are_equal && (run <= kMaxInterleavedRun ||
                    (root == concatenate && analysis::MakesPiecesTogether(*root) && analysis::PiecesShareWork(*root)));
  int64_t start = 0;
  Index index;
  // All values of a nest before its first store: the result may lie where an operand does.
  std::vector<std::pair<ValueId, Index>> values;
  for (const Instruction* operand : concatenate->operands()) {
    if (operand->shape().element_count() == 0) continue;
    if (!together) {
      hlo::DimensionVector from(operand->shape().rank(), 0);
      from[dimension] = start;
      for (const Box& box : analysis::BoxesOf(*operand, from)) {
        KILN_ASSIGN_OR_RETURN(Index at, body->BeginNest(box.sizes, LoopKind::kParallel));
        for (size_t d = 0; d < at.size(); ++d) at[d] = at[d] + box.start[d];
        KILN_ASSIGN_OR_RETURN(ValueId value, body->Emit(root, at));
        body->AddStore(output, at, value);
        body->EndNest();
      }
      start += operand->shape().dimensions(dimension);
      continue;
    }
    if (start == 0) {
      KILN_ASSIGN_OR_RETURN(index, body->BeginNest(operand->shape().dimensions(), LoopKind::kParallel));
    }
    Index at = index;
    at[dimension] = at[dimension] + start;
    KILN_ASSIGN_OR_RETURN(ValueId value, body->Emit(root, at));
    values.emplace_back(value, std::move(at));
    start += operand->shape().dimensions(dimension);
  }
  if (!together) return absl::OkStatus();
  for (const auto& [value, at] : values) body->AddStore(output, at, value);
  body->EndNest();
  return absl::OkStatus();
}

// What is made of columns goes by blocks of one element from each: what makes the columns is computed once per block,
// and stores alternate. Elements that fill no block come last, those of each row where `by_rows`.
absl::Status EmitColumns(BodyBuilder* body, IndexTerms* terms, const Instruction* root, int64_t columns, bool by_rows,
                         int output) {
  const hlo::DimensionVector& dimensions = root->shape().dimensions();
  by_rows |= dimensions.back() % columns == 0;
  hlo::DimensionVector blocks = by_rows ? dimensions : hlo::DimensionVector{root->shape().element_count()};
  const int64_t rest = blocks.back() % columns, full = blocks.back() - rest;
  const auto emit = [&](int64_t first, int64_t size) -> absl::Status {
    KILN_ASSIGN_OR_RETURN(const Index block, body->BeginNest(blocks, LoopKind::kParallel));
    std::vector<std::pair<ValueId, Index>> values;
    for (int64_t column = first; column < first + size; ++column) {
      Index at = block;
      at.back() = at.back() * columns + column;
      if (!by_rows) at = Delinearize(terms, at[0], dimensions);
      KILN_ASSIGN_OR_RETURN(ValueId value, body->Emit(root, at));
      values.emplace_back(value, std::move(at));
    }
    for (const auto& [value, at] : values) body->AddStore(output, at, value);
    body->EndNest();
    return absl::OkStatus();
  };
  blocks.back() = full / columns;
  KILN_RETURN_IF_ERROR(emit(0, columns));
  if (rest == 0) return absl::OkStatus();
  blocks.back() = 1;
  return emit(full, rest);
}

// The concatenate whose pieces `root` had better be computed by; null when there is none.
const Instruction* PiecesOf(const Instruction* root) {
  if (root->opcode() == Opcode::kConcatenate) return analysis::CheaperAsPieces(*root) ? root : nullptr;
  // What is computed once per piece is code once per piece.
  constexpr int64_t kMaxComputedPieces = 4;
  constexpr size_t kMaxInstructions = 32;
  std::vector<const Instruction*> reached = {root};
  const Instruction* found = nullptr;
  for (size_t i = 0; i < reached.size(); ++i) {
    const Instruction* at = reached[i];
    // The result may lie where such an operand does, but not with several nests.
    if (at->IsParameter()) return nullptr;
    if (found == nullptr && at->opcode() == Opcode::kConcatenate &&
        analysis::CheaperAsPieces(*at, kMaxComputedPieces)) {
      found = at;
    }
    if (!hlo::IsElementwise(at->opcode())) continue;
    for (const Instruction* operand : at->operands()) {
      if (operand->shape().IsArray() && operand->shape().dimensions() == root->shape().dimensions() &&
          std::find(reached.begin(), reached.end(), operand) == reached.end()) {
        reached.push_back(operand);
      }
    }
    if (reached.size() > kMaxInstructions) return nullptr;
  }
  return found;
}

// How many elements beside each other an op makes of one that it has holes behind: which of them meet a hole is known
// where they are blocks. 1 where none has.
int64_t DilationOf(const Instruction& instruction) {
  constexpr int64_t kMaxDilation = 8;
  const int64_t rank = instruction.shape().IsArray() ? instruction.shape().rank() : 0;
  int64_t dilation = 1;
  if (instruction.opcode() == Opcode::kPad && rank > 0) {
    dilation = instruction.Get<hlo::PadAttributes>().interior.back() + 1;
  } else if (instruction.opcode() == Opcode::kReduceWindow && rank > 0) {
    const hlo::WindowDimension& last = instruction.Get<hlo::WindowAttributes>().window.back();
    if (last.stride == 1) dilation = last.base_dilation;
  }
  return dilation > 1 && dilation <= std::min(kMaxDilation, instruction.shape().dimensions().back()) ? dilation : 1;
}

// That of what `root` is made of elementwise.
int64_t DilationBehind(const Instruction* root) {
  constexpr size_t kMaxInstructions = 32;
  std::vector<const Instruction*> reached = {root};
  for (size_t i = 0; i < reached.size() && reached.size() <= kMaxInstructions; ++i) {
    const Instruction* at = reached[i];
    if (const int64_t dilation = DilationOf(*at); dilation > 1) return dilation;
    if (!hlo::IsElementwise(at->opcode())) continue;
    for (const Instruction* operand : at->operands()) {
      if (hlo::Shape::SameDimensions(operand->shape(), root->shape()) && !absl::c_linear_search(reached, operand)) {
        reached.push_back(operand);
      }
    }
  }
  return 1;
}

// Beside elementwise ops and data movement.
constexpr Opcode kOthersWithKernel[] = {Opcode::kFusion, Opcode::kConstant,     Opcode::kIota, Opcode::kMap,
                                        Opcode::kReduce, Opcode::kReduceWindow, Opcode::kDot,  Opcode::kConvolution};

}  // namespace

bool HasKernel(Opcode opcode) {
  const hlo::OpKind kind = hlo::KindOf(opcode);
  return hlo::IsElementwise(opcode) || kind == hlo::OpKind::kDataMovement || kind == hlo::OpKind::kIndexed ||
         absl::c_linear_search(kOthersWithKernel, opcode);
}

int64_t InPlaceOperand(const Instruction& instruction, int64_t leaf) {
  const Instruction* root = RootOf(instruction);
  std::vector<RootLeaf> leaves = RootLeaves(root);
  const Instruction* updater = leaves[leaf].instruction;
  int64_t operand = 0;
  if (updater->opcode() == Opcode::kScatter) {
    operand = leaves[leaf].leaf;
  } else if (updater->opcode() != Opcode::kDynamicUpdateSlice) {
    return -1;
  }
  if (&instruction == updater) return operand;
  const Instruction* source = updater->operand(operand);
  // A fused update of something computed in the fusion is an ordinary select.
  return source->IsParameter() ? source->parameter_number() : -1;
}

std::optional<Box> WrittenBox(const Instruction& instruction, int64_t leaf) {
  if (InPlaceOperand(instruction, leaf) < 0) return std::nullopt;
  const Instruction* updater = RootLeaves(RootOf(instruction))[leaf].instruction;
  if (updater->opcode() != Opcode::kDynamicUpdateSlice) return std::nullopt;
  return analysis::UpdatedBox(*updater, updater == &instruction ? nullptr : &instruction);
}

int64_t EpilogueLoop::size() const {
  int64_t size = 1;
  for (const Part& part : parts) size *= part.size;
  return size;
}

absl::StatusOr<Kernel> BuildEpilogue(const Instruction& fusion, const Instruction& hero,
                                     absl::Span<const EpilogueLoop> loops) {
  const hlo::Computation& computation = *fusion.called_computation();
  if (!fusion.shape().IsArray() || fusion.shape().dimensions() != hero.shape().dimensions()) {
    return Unimplemented(fusion.Describe(), ": the result has not the shape of the product inside");
  }
  Kernel kernel;
  kernel.name = fusion.name();
  BodyBuilder body(&kernel);
  for (int64_t i = 0; i < fusion.operand_count(); ++i) {
    body.BindInput(computation.parameter(i), AddParameter(&kernel, fusion.operand(i)->shape(), /*is_output=*/false));
  }
  const int output = AddParameter(&kernel, fusion.shape(), /*is_output=*/true);
  std::vector<int64_t> extents;
  for (const EpilogueLoop& loop : loops) extents.push_back(loop.size());
  KILN_ASSIGN_OR_RETURN(const Index variables, body.BeginNest(extents, LoopKind::kParallel));
  Index index(hero.shape().rank());
  for (size_t i = 0; i < loops.size(); ++i) {
    std::vector<int64_t> sizes;
    for (const EpilogueLoop::Part& part : loops[i].parts) sizes.push_back(part.size);
    const Index positions = Delinearize(&kernel.terms, variables[i], sizes);
    for (size_t j = 0; j < sizes.size(); ++j) {
      const EpilogueLoop::Part& part = loops[i].parts[j];
      index[part.dimension] = index[part.dimension] + positions[j] * part.scale + part.offset;
    }
  }
  body.BindExternal(&hero, index);
  KILN_ASSIGN_OR_RETURN(ValueId value, body.Emit(computation.root(), index));
  body.AddStore(output, index, value);
  body.EndNest();
  if (!kernel.reduces.empty()) return Unimplemented(fusion.Describe(), ": the epilogue of its product reduces");
  return kernel;
}

absl::StatusOr<Kernel> BuildOperand(const Instruction& fusion, const Instruction& value, const OperandPlace& place) {
  Kernel kernel;
  kernel.name = fusion.name();
  BodyBuilder body(&kernel);
  for (int64_t i = 0; i < fusion.operand_count(); ++i) {
    body.BindInput(fusion.called_computation()->parameter(i),
                   AddParameter(&kernel, fusion.operand(i)->shape(), /*is_output=*/false));
  }
  const int output = AddParameter(&kernel, value.shape(), /*is_output=*/true);
  const auto size = [&](int64_t dimension) { return value.shape().dimensions(dimension); };
  kernel.parameters[output].dimensions = {size(place.outer), place.pitch};
  KILN_ASSIGN_OR_RETURN(const Index index, body.BeginNest(value.shape().dimensions(), LoopKind::kParallel));
  KILN_ASSIGN_OR_RETURN(ValueId element, body.Emit(&value, index));
  if (place.type != hlo::PrimitiveType::kInvalid) {
    kernel.parameters[output].type = place.type;
    element = body.Converted(element, place.type);
  }
  Index at = {index[place.outer], index[place.inner]};
  if (place.panel > 0) {
    const int64_t panels = CeilDivide(size(place.inner), place.panel);
    kernel.parameters[output].dimensions = {panels, place.panel_stride / place.panel, place.panel};
    const Index in_panel = Delinearize(&kernel.terms, index[place.inner], std::vector<int64_t>{panels, place.panel});
    at = {in_panel[0], index[place.outer], in_panel[1]};
  }
  body.AddStore(output, at, element);
  body.EndNest();
  if (!kernel.reduces.empty()) return Unimplemented(fusion.Describe(), ": an operand of its product reduces");
  return kernel;
}

absl::StatusOr<Kernel> BuildKernel(const Instruction& instruction) {
  Kernel kernel;
  kernel.name = instruction.name();
  BodyBuilder body(&kernel);
  for (int64_t i = 0; i < instruction.operand_count(); ++i) {
    const Instruction* operand = instruction.operand(i);
    const int number = AddParameter(&kernel, operand->shape(), /*is_output=*/false);
    if (instruction.opcode() == Opcode::kFusion) {
      body.BindInput(instruction.called_computation()->parameter(i), number);
    } else if (!operand->IsConstant() || operand->shape().element_count() != 1) {
      // Scalar constants are part of the code.
      body.BindInput(operand, number);
    }
  }
  const int first_output = static_cast<int>(kernel.parameters.size());
  std::vector<RootLeaf> leaves = RootLeaves(RootOf(instruction));
  for (const hlo::Shape* leaf : instruction.shape().Leaves()) AddParameter(&kernel, *leaf, /*is_output=*/true);

  for (size_t i = 0, end = 0; i < leaves.size(); i = end) {
    end = i + 1;
    const Instruction* leaf = leaves[i].instruction;
    const int output = first_output + static_cast<int>(i);
    if (leaf->opcode() == Opcode::kScatter) {
      end = i + static_cast<size_t>(leaf->shape().leaf_count());
      for (size_t k = i; k < end; ++k) kernel.parameters[first_output + k].is_updated = true;
      KILN_RETURN_IF_ERROR(EmitScatter(&body, leaf, output));
      continue;
    }
    if (leaf->opcode() == Opcode::kDynamicUpdateSlice && InPlaceOperand(instruction, i) >= 0) {
      kernel.parameters[output].is_updated = true;
      if (leaf->operand(1)->shape().element_count() > 0) {
        KILN_RETURN_IF_ERROR(EmitUpdateInPlace(&body, leaf, output));
      }
      continue;
    }
    if (kernel.parameters[output].element_count() == 0) continue;
    const hlo::DimensionVector dimensions = kernel.parameters[output].dimensions;
    const bool is_fused = instruction.opcode() == Opcode::kFusion && leaves.size() == 1;
    if (is_fused) {
      KILN_ASSIGN_OR_RETURN(const bool blocked,
                            EmitBlocked(&body, &kernel.terms, *instruction.called_computation(), output));
      if (blocked) continue;
    }
    const Instruction* columns =
        is_fused && leaf->opcode() != Opcode::kConcatenate ? analysis::ColumnsOf(*leaf) : nullptr;
    if (columns != nullptr && columns->operand_count() <= leaf->shape().element_count()) {
      KILN_RETURN_IF_ERROR(
          EmitColumns(&body, &kernel.terms, leaf, columns->operand_count(), /*by_rows=*/false, output));
      continue;
    }
    if (const int64_t dilation = leaves.size() == 1 ? DilationBehind(leaf) : 1; dilation > 1) {
      KILN_RETURN_IF_ERROR(EmitColumns(&body, &kernel.terms, leaf, dilation, /*by_rows=*/true, output));
      continue;
    }
    // Results beside each other share nests instead, unless they are concatenates themselves.
    const Instruction* pieces = leaves.size() == 1 || leaf->opcode() == Opcode::kConcatenate ? PiecesOf(leaf) : nullptr;
    if (pieces != nullptr) {
      KILN_RETURN_IF_ERROR(EmitConcatenatePieces(&body, leaf, pieces, output));
      continue;
    }
    // Outputs of equal dimensions share a nest, and those of its rows with it.
    KILN_ASSIGN_OR_RETURN(const Index index, body.BeginNest(dimensions, LoopKind::kParallel));
    const std::vector<bool> whole(dimensions.size(), false), reduced = ReducedDimensions(instruction, dimensions);
    // All values before the first store: outputs may lie where inputs do.
    std::vector<std::pair<ValueId, Index>> values;
    for (end = i; end < leaves.size(); ++end) {
      const Instruction* next = leaves[end].instruction;
      if (end > i && (next->opcode() == Opcode::kScatter || next->opcode() == Opcode::kDynamicUpdateSlice)) break;
      const hlo::DimensionVector& to = kernel.parameters[first_output + end].dimensions;
      std::optional<Index> at = IndexOfLeaf(dimensions, index, whole, to);
      if (!at.has_value()) at = IndexOfLeaf(dimensions, index, reduced, to);
      if (!at.has_value()) break;
      KILN_ASSIGN_OR_RETURN(ValueId value, body.Emit(next, *at, leaves[end].leaf));
      values.emplace_back(value, *std::move(at));
    }
    for (size_t k = i; k < end; ++k) {
      const auto& [value, at] = values[k - i];
      body.AddStore(first_output + static_cast<int>(k), at, value);
    }
    body.EndNest();
  }
  // Counters that became places (CountedIndex).
  RemoveUnread(&kernel);
  CollapseLoops(&kernel);
  return kernel;
}

}  // namespace kiln::kernel
