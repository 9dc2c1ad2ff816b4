#include "src/analysis/fusion_model.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "src/analysis/arithmetic_cost.h"
#include "src/analysis/combiner.h"
#include "src/analysis/kept_blocks.h"
#include "src/base/isa_level.h"
#include "src/base/rounding.h"
#include "src/hlo/module.h"

namespace kiln::analysis {

using hlo::Instruction;
using hlo::Opcode;

namespace {

constexpr int64_t kMaxInlineConstantElements = 64;

// The map of all scalars that are read from loops over more than one element.
constexpr uint64_t kScalarMap = 0x5ca1a7;
constexpr uint64_t kNoMap = 0xb10c;

// Operands of a fused concatenate: each is a branch of the generated code.
constexpr int64_t kMaxConcatenatedPieces = 8;

// Columns that one code goes through, and how much may be between them and what is stored.
constexpr int64_t kMaxColumns = 4;
constexpr size_t kMaxReached = 128;

// Bytes that a gather reads at one place, from which on finding it again is little beside reading them again.
constexpr int64_t kMinRowBytes = 64;

// What a gather reads at one place in the innermost loops of its result.
int64_t RowBytes(const Instruction& gather) {
  int64_t bytes = hlo::ByteWidth(gather.shape().element_type());
  const auto& offsets = gather.Get<hlo::GatherAttributes>().offset_dims;
  for (int64_t d = gather.shape().rank() - 1; absl::c_linear_search(offsets, d); --d) {
    bytes *= gather.shape().dimensions(d);
  }
  return bytes;
}

}  // namespace

bool HasPlainShape(const Instruction& instruction) {
  const hlo::Shape& shape = instruction.shape();
  return shape.IsArray() && !shape.has_dynamic_dimensions() && shape.HasDescendingLayout();
}

bool IsElementwiseLike(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kCopy:
      return HasPlainShape(instruction) && HasPlainShape(*instruction.operand(0));
    case Opcode::kBitcastConvert:
      return HasPlainShape(instruction) &&
             hlo::Shape::SameDimensions(instruction.shape(), instruction.operand(0)->shape()) &&
             hlo::BitWidth(instruction.shape().element_type()) ==
                 hlo::BitWidth(instruction.operand(0)->shape().element_type());
    default:
      return hlo::IsElementwise(instruction.opcode()) && HasPlainShape(instruction);
  }
}

EvaluationCost CostOf(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kConstant:
    case Opcode::kIota:
    case Opcode::kBroadcast:
    case Opcode::kReshape:
    case Opcode::kBitcast:
    case Opcode::kSlice:
    case Opcode::kReverse:
    case Opcode::kReal:
    case Opcode::kImag:
      return EvaluationCost::kFree;
    case Opcode::kAbs:
      return hlo::IsComplex(instruction.operand(0)->shape().element_type()) ? EvaluationCost::kExpensive
                                                                            : EvaluationCost::kCheap;
    case Opcode::kBitcastConvert:
    case Opcode::kConcatenate:
    case Opcode::kCopy:
    case Opcode::kDynamicSlice:
    case Opcode::kPad:
    case Opcode::kTranspose:
      return EvaluationCost::kCheap;
    case Opcode::kDivide:
    case Opcode::kRemainder:
    case Opcode::kStochasticConvert:
      return EvaluationCost::kExpensive;
    case Opcode::kGather:
      return RowBytes(instruction) >= kMinRowBytes ? EvaluationCost::kCheap : EvaluationCost::kExpensive;
    default:
      return hlo::IsElementwise(instruction.opcode()) && !IsTranscendental(instruction.opcode())
                 ? EvaluationCost::kCheap
                 : EvaluationCost::kExpensive;
  }
}

bool IsInlineConstant(const Instruction& instruction) {
  return instruction.IsConstant() && HasPlainShape(instruction) &&
         instruction.shape().element_count() <= kMaxInlineConstantElements;
}

bool IsRematerialized(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kConstant:
      return IsInlineConstant(instruction);
    case Opcode::kIota:
      return HasPlainShape(instruction);
    case Opcode::kBroadcast:
      return HasPlainShape(instruction) && instruction.operand(0)->shape().IsScalar();
    default:
      return false;
  }
}

bool IsMadeFromNothing(const Instruction& value, int steps) {
  if (value.operand_count() == 0) return IsRematerialized(value);
  const bool is_step =
      hlo::IsElementwise(value.opcode()) || value.opcode() == Opcode::kBroadcast || value.opcode() == Opcode::kReshape;
  return is_step && steps > 0 && CostOf(value) != EvaluationCost::kExpensive &&
         absl::c_all_of(value.operands(),
                        [&](const Instruction* operand) { return IsMadeFromNothing(*operand, steps - 1); });
}

bool IsMadeFromArguments(const Instruction& value, int steps) {
  return hlo::IsElementwise(value.opcode()) && value.operand_count() > 0 && steps > 0 &&
         CostOf(value) != EvaluationCost::kExpensive &&
         std::all_of(value.operands().begin(), value.operands().end(), [&](const Instruction* operand) {
           return operand->IsParameter() || IsMadeFromNothing(*operand) || IsMadeFromArguments(*operand, steps - 1);
         });
}

bool IsLoopProducer(const Instruction& instruction) {
  if (!HasPlainShape(instruction)) return false;
  for (const Instruction* operand : instruction.operands()) {
    if (!HasPlainShape(*operand)) return false;
  }
  switch (instruction.opcode()) {
    case Opcode::kConstant:
      return IsInlineConstant(instruction);
    case Opcode::kBitcast:
      return instruction.shape().element_type() == instruction.operand(0)->shape().element_type();
    case Opcode::kBitcastConvert:
      return IsElementwiseLike(instruction);
    case Opcode::kConcatenate:
      return instruction.operand_count() <= kMaxConcatenatedPieces;
    case Opcode::kIota:
    case Opcode::kBroadcast:
    case Opcode::kReshape:
    case Opcode::kTranspose:
    case Opcode::kSlice:
    case Opcode::kPad:
    case Opcode::kReverse:
    case Opcode::kDynamicSlice:
    case Opcode::kGather:
      return true;
    default:
      return IsElementwiseLike(instruction);
  }
}

bool IsLoopRoot(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kConstant:
    case Opcode::kReshape:
    case Opcode::kBitcast:
      return false;
    default:
      return IsLoopProducer(instruction);
  }
}

bool IsReduction(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kReduce &&
         std::all_of(instruction.operands().begin(), instruction.operands().end(),
                     [](const Instruction* operand) { return HasPlainShape(*operand); });
}

bool IsContraction(const Instruction& instruction) {
  return (instruction.opcode() == Opcode::kDot || instruction.opcode() == Opcode::kConvolution) &&
         HasPlainShape(instruction);
}

namespace {

uint64_t HashOfDimensions(const hlo::Shape& shape) {
  return absl::HashOf(std::vector<int64_t>(shape.dimensions().begin(), shape.dimensions().end()));
}

// Whether these are the first elements in row-major order.
bool IsPrefix(const Instruction& slice) {
  const auto& attributes = slice.Get<hlo::SliceAttributes>();
  const hlo::Shape &from = slice.operand(0)->shape(), &to = slice.shape();
  bool several = false;
  for (int64_t d = 0; d < to.rank(); ++d) {
    if (attributes.start[d] != 0 || attributes.stride[d] != 1 || (several && to.dimensions(d) != from.dimensions(d)))
      return false;
    several |= from.dimensions(d) != 1;
  }
  return true;
}

// Whether elements of the operand are needed in the row-major order of the result's, and of each only its own. Columns
// that are put side by side, as those of the indices of gathers, are in the same order.
bool KeepsOrder(const Instruction& user, int64_t index) {
  switch (user.opcode()) {
    case Opcode::kReshape:
    case Opcode::kBitcast:
      return true;
    case Opcode::kSlice:
      return IsPrefix(user);
    case Opcode::kConcatenate:
      return JoinsColumns(user);
    case Opcode::kGather: {
      const auto& gather = user.Get<hlo::GatherAttributes>();
      return index == 1 && gather.offset_dims.empty() && gather.index_vector_dim >= user.operand(1)->shape().rank() - 1;
    }
    default:
      return false;
  }
}

// Whether what lies at one place are the innermost loops of `gather`, outside of which the place is found.
bool FindsRows(const Instruction& gather) {
  const auto& offsets = gather.Get<hlo::GatherAttributes>().offset_dims;
  return !offsets.empty() && gather.shape().element_count() > 0 &&
         offsets[0] == gather.shape().rank() - static_cast<int64_t>(offsets.size());
}

// Of a product's result, along the side of the other operand: what is made for a block is made again for the next.
constexpr int64_t kBlockExtent = 512;

int64_t OtherExtent(const Instruction& dot, int64_t index) {
  const auto& attributes = dot.Get<hlo::DotAttributes>();
  const Instruction& other = *dot.operand(1 - index);
  int64_t extent = other.shape().element_count();
  for (const hlo::DimensionVector* taken : {index == 0 ? &attributes.rhs_batch : &attributes.lhs_batch,
                                            index == 0 ? &attributes.rhs_contracting : &attributes.lhs_contracting}) {
    for (int64_t d : *taken) extent /= std::max<int64_t>(other.shape().dimensions(d), 1);
  }
  return extent;
}

}  // namespace

bool MakesOperand(const Instruction& dot, int64_t index) {
  // Shorter rows are not made in whole vectors: some took five times as long as rows that are stored first.
  constexpr int64_t kMinRow = 64;
  constexpr int64_t kMinExtent = 16, kMinBytes = 32 << 10;
  if (dot.opcode() != Opcode::kDot || !IsContraction(dot)) return false;
  const auto& attributes = dot.Get<hlo::DotAttributes>();
  const hlo::Shape &lhs = dot.operand(0)->shape(), &rhs = dot.operand(1)->shape();
  const size_t matrix = attributes.lhs_batch.size() + 2;
  const hlo::PrimitiveType type = lhs.element_type();
  const bool has_kernels =
      type == hlo::PrimitiveType::kBF16
          ? HasBrainKernels()
          : (type == hlo::PrimitiveType::kF32 || type == hlo::PrimitiveType::kF64) && HasProductKernels();
  if (!has_kernels || rhs.element_type() != type || attributes.lhs_contracting.size() != 1 ||
      lhs.dimensions().size() != matrix || rhs.dimensions().size() != matrix) {
    return false;
  }
  const int64_t contracting = attributes.lhs_contracting[0], steps = lhs.dimensions(contracting);
  // Kernels read pairs of bf16 from rows of lhs.
  if (type == hlo::PrimitiveType::kBF16 && (contracting != lhs.rank() - 1 || steps % 2 != 0)) return false;
  const hlo::Shape& shape = index == 0 ? lhs : rhs;
  const hlo::DimensionVector& batch = index == 0 ? attributes.lhs_batch : attributes.rhs_batch;
  return !absl::c_linear_search(batch, shape.rank() - 1) &&
         !absl::c_linear_search(attributes.rhs_batch, rhs.rank() - 1) && shape.byte_count() >= kMinBytes &&
         shape.dimensions(shape.rank() - 1) >= kMinRow && steps >= kMinExtent && OtherExtent(dot, 0) >= kMinExtent &&
         OtherExtent(dot, 1) > 1;
}

bool MakesOnce(const Instruction& dot, const Instruction& operand) {
  return dot.opcode() == Opcode::kDot && (dot.operand(0) == &operand) != (dot.operand(1) == &operand) &&
         OtherExtent(dot, dot.operand(0) == &operand ? 0 : 1) <= kBlockExtent;
}

std::optional<double> BytesMadeOf(const Instruction& value, bool cheap) {
  constexpr size_t kMaxValues = 64;
  std::vector<const Instruction*> values = {&value};
  double bytes = 0;
  bool computes = false;
  for (size_t i = 0; i < values.size(); ++i) {
    const Instruction& part = *values[i];
    if (values.size() > kMaxValues) return std::nullopt;
    const bool is_array = part.shape().element_count() >= value.shape().element_count();
    const bool computed = IsElementwiseLike(part) && part.operand_count() > 0;
    const bool goes_on = part.opcode() == Opcode::kReshape || part.opcode() == Opcode::kBroadcast ||
                         part.opcode() == Opcode::kIota ||
                         (computed && !(cheap && i > 0 && CostOf(part) == EvaluationCost::kExpensive));
    if (!goes_on) {
      const bool is_own_product = IsContraction(part) && part.users().size() == 1;
      if (is_array && (IsLoopProducer(part) || IsReduction(part) || is_own_product)) return std::nullopt;
      if (is_array) bytes += static_cast<double>(part.shape().byte_count());
      continue;
    }
    computes |= is_array && computed;
    // Steps on the way are read on the way alone.
    if (is_array && i > 0 && !IsRematerialized(part) &&
        absl::c_any_of(part.users(), [&](const Instruction* user) { return !absl::c_linear_search(values, user); })) {
      return std::nullopt;
    }
    for (const Instruction* operand : part.operands()) {
      if (!absl::c_linear_search(values, operand)) values.push_back(operand);
    }
  }
  return computes ? std::optional(bytes) : std::nullopt;
}

namespace {

// What `value` is made of, as far as it is looked at.
absl::flat_hash_set<const Instruction*> ValuesBefore(const Instruction& value) {
  constexpr size_t kMaxBefore = 256;
  absl::flat_hash_set<const Instruction*> before = {&value};
  std::vector<const Instruction*> work = {&value};
  for (size_t i = 0; i < work.size() && work.size() < kMaxBefore; ++i) {
    for (const Instruction* operand : work[i]->operands()) {
      if (before.insert(operand).second) work.push_back(operand);
    }
  }
  return before;
}

}  // namespace

std::optional<Box> UpdatedBox(const Instruction& update, const Instruction* fusion) {
  Box box = {.start = {}, .sizes = update.operand(1)->shape().dimensions()};
  for (int64_t d = 0; d < update.shape().rank(); ++d) {
    const Instruction* start = update.operand(d + 2);
    if (start->IsParameter() && fusion != nullptr) start = fusion->operand(start->parameter_number());
    if (!start->IsConstant()) return std::nullopt;
    const int64_t most = update.shape().dimensions(d) - box.sizes[d];
    box.start.push_back(std::clamp<int64_t>(hlo::ElementAsInt64(start->literal(), 0), 0, most));
  }
  return box;
}

bool UpdatesMost(const Box& box, const hlo::Shape& array) {
  int64_t updated = 1;
  for (int64_t size : box.sizes) updated *= size;
  return 2 * updated >= array.element_count();
}

bool IsMadeOfMore(const Instruction& value) {
  constexpr size_t kMaxValues = 64;
  struct Step {
    const Instruction* value;
    bool behind;  // a dear value, which would be stored
  };
  std::vector<Step> steps = {{&value, false}};
  struct Readers {
    size_t count = 0;      // among the steps
    bool directly = false;  // one that is not behind a dear value
  };
  absl::flat_hash_map<const Instruction*, Readers> readers;
  absl::flat_hash_set<const Instruction*> read_elsewhere;  // arrays that some step reads directly
  int64_t bytes = 0;
  for (size_t i = 0; i < steps.size() && steps.size() <= kMaxValues; ++i) {
    const auto [step, behind] = steps[i];
    for (int64_t k = 0; k < std::min<int64_t>(step->operand_count(), kMaxValues); ++k) {
      const Instruction* operand = step->operand(k);
      if (absl::c_linear_search(step->operands().first(k), operand) || IsRematerialized(*operand)) continue;
      Readers& of = readers[operand];
      of.directly |= !behind;
      const bool is_array = operand->shape().IsArray() && of.directly;
      const bool dear = CostOf(*operand) == EvaluationCost::kExpensive;
      const bool is_stored =
          IsLoopProducer(*operand) ? dear : IsContraction(*operand) || operand->opcode() == Opcode::kReduceWindow;
      if (++of.count < operand->users().size() || operand->IsRoot()) {
        if (is_array && is_stored && !operand->IsRoot()) read_elsewhere.insert(operand);
        continue;
      }
      read_elsewhere.erase(operand);
      if (is_array && is_stored) bytes += operand->shape().byte_count();
      if (IsLoopProducer(*operand)) steps.push_back({operand, dear || !of.directly});
    }
  }
  if (2 * bytes > 3 * value.shape().byte_count()) return true;
  if (read_elsewhere.empty()) return false;
  // What reads them elsewhere, but before the value, keeps none of them.
  const absl::flat_hash_set<const Instruction*> before = ValuesBefore(value);
  for (const Instruction* array : read_elsewhere) {
    const bool ends = absl::c_all_of(array->users(), [&](const Instruction* user) { return before.contains(user); });
    if (ends) bytes += array->shape().byte_count();
  }
  return 2 * bytes > 3 * value.shape().byte_count();
}

bool JoinsColumns(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kConcatenate &&
         instruction.dimensions()[0] == instruction.shape().rank() - 1 &&
         absl::c_all_of(instruction.operands(), [](const Instruction* operand) {
           return operand->shape().dimensions(operand->shape().rank() - 1) == 1;
         });
}

bool CheaperAsPieces(const Instruction& concatenate, int64_t max_pieces) {
  constexpr int64_t kMinPieceElements = 64;
  if (concatenate.operand_count() > max_pieces) return false;
  // Scalars are stored one by one: what reads them soon does not wait for a vector that was put together.
  constexpr int64_t kMaxScalars = 8;
  if (concatenate.shape().element_count() == concatenate.operand_count() &&
      concatenate.operand_count() <= kMaxScalars) {
    return true;
  }
  for (const Instruction* operand : concatenate.operands()) {
    if (operand->shape().element_count() < kMinPieceElements) return false;
  }
  return true;
}

namespace {

constexpr int kMaxCuts = 2;      // concatenates behind one another
constexpr size_t kMaxBoxes = 4;  // of each piece

// What a piece is a part of without steps, and where in it the part begins; null where that is no concatenate.
const Instruction* JoinedBefore(const Instruction& piece, hlo::DimensionVector* start) {
  const Instruction* value = &piece;
  if (value->opcode() == Opcode::kSlice) {
    const auto& slice = value->Get<hlo::SliceAttributes>();
    if (absl::c_any_of(slice.stride, [](int64_t stride) { return stride != 1; })) return nullptr;
    *start = slice.start;
    value = value->operand(0);
  } else {
    start->assign(piece.shape().rank(), 0);
  }
  return value->opcode() == Opcode::kConcatenate && value->operand_count() <= static_cast<int64_t>(kMaxBoxes) ? value
                                                                                                              : nullptr;
}

// Cuts a box of `value` where one of what it joins ends and the next begins.
void Cut(const Instruction& value, const hlo::DimensionVector& inside, const Box& box, int cuts,
         std::vector<Box>* boxes) {
  hlo::DimensionVector offset;
  const Instruction* joined = cuts > 0 ? JoinedBefore(value, &offset) : nullptr;
  if (joined == nullptr) return boxes->push_back(box);
  const int64_t d = joined->dimensions()[0];
  int64_t begin = 0;
  for (const Instruction* part : joined->operands()) {
    const int64_t end = begin + part->shape().dimensions(d), first = offset[d] + inside[d];
    const int64_t low = std::max(begin, first), high = std::min(end, first + box.sizes[d]);
    if (low < high) {
      Box cut = box;
      hlo::DimensionVector in_part = inside;
      for (size_t i = 0; i < in_part.size(); ++i) in_part[i] += offset[i];
      cut.start[d] += low - first;
      cut.sizes[d] = high - low;
      in_part[d] = low - begin;
      Cut(*part, in_part, cut, cuts - 1, boxes);
    }
    begin = end;
  }
}

}  // namespace

std::vector<Box> BoxesOf(const Instruction& piece, const hlo::DimensionVector& start) {
  const Box whole = {start, piece.shape().dimensions()};
  std::vector<Box> boxes;
  Cut(piece, hlo::DimensionVector(start.size(), 0), whole, kMaxCuts, &boxes);
  if (boxes.size() > kMaxBoxes) boxes = {whole};
  return boxes;
}

bool IsCutWith(const Instruction& root, const Instruction& concatenate) {
  if (root.opcode() != Opcode::kConcatenate || !CheaperAsPieces(root) || MakesPiecesTogether(root)) return false;
  return absl::c_any_of(root.operands(), [&](const Instruction* piece) {
    hlo::DimensionVector start;
    return JoinedBefore(*piece, &start) == &concatenate;
  });
}

bool PiecesShareWork(const Instruction& concatenate) {
  // Cheap ops that are worth a loop for all pieces.
  constexpr int kMinSharedOps = 4;
  int shared_ops = 0;
  absl::flat_hash_map<const Instruction*, const Instruction*> piece_of;  // the last that reached an op
  for (const Instruction* piece : concatenate.operands()) {
    std::vector<const Instruction*> reached = {piece};
    for (size_t i = 0; i < reached.size() && reached.size() <= kMaxReached; ++i) {
      const Instruction* at = reached[i];
      if (!IsLoopProducer(*at) || at->shape().IsScalar()) continue;
      const auto [known, is_new] = piece_of.emplace(at, piece);
      if (!is_new && std::exchange(known->second, piece) == piece) continue;
      if (!is_new && CostOf(*at) == EvaluationCost::kExpensive) return true;
      if (!is_new && hlo::IsElementwise(at->opcode()) && ++shared_ops == kMinSharedOps) return true;
      reached.insert(reached.end(), at->operands().begin(), at->operands().end());
    }
  }
  return false;
}

const Instruction* ColumnsOf(const Instruction& root) {
  std::vector<std::pair<const Instruction*, IndexPath>> reached = {{&root, IndexPath::Whole(root.shape())}};
  for (size_t i = 0; i < reached.size(); ++i) {
    const auto [at, path] = reached[i];
    if (JoinsColumns(*at) && at->operand_count() > 1 && at->operand_count() <= kMaxColumns) return at;
    if (!IsLoopProducer(*at) || reached.size() > kMaxReached) continue;
    for (int64_t k = 0; k < at->operand_count(); ++k) {
      const Instruction* operand = at->operand(k);
      // Columns of a place, one for each dimension, are for one element.
      if (at->opcode() == Opcode::kGather && operand->shape().element_count() > at->shape().element_count()) continue;
      const IndexPath through = PathOfOperand(*at, k, path);
      if (through.ordered_map == 0 && !operand->shape().IsScalar() &&
          absl::c_none_of(reached, [&](const auto& other) { return other.first == operand; })) {
        reached.emplace_back(operand, through);
      }
    }
  }
  return nullptr;
}

bool ReducesBlocks(const Instruction& reduce) {
  if (!IsReduction(reduce) || !absl::c_linear_search(reduce.dimensions(), reduce.operand(0)->shape().rank() - 1)) {
    return false;
  }
  const hlo::Computation& combiner = *reduce.called_computation();
  const hlo::PrimitiveType type = reduce.operand(0)->shape().element_type();
  if (const std::optional<Opcode> opcode = CombinerOpcode(combiner)) {
    // Sums of narrow floats are rounded once.
    const bool is_narrow = hlo::IsFloating(type) && hlo::BitWidth(type) < 32;
    return IdentityOf(*opcode, type) && (!is_narrow || opcode == Opcode::kMaximum || opcode == Opcode::kMinimum);
  }
  return reduce.dimensions().size() == 1 && KeepsBest(combiner).has_value();
}

IndexPath IndexPath::Whole(const hlo::Shape& shape) {
  return {0, static_cast<double>(shape.element_count()), 0, HashOfDimensions(shape)};
}

IndexPath PathOfOperand(const Instruction& user, int64_t index, IndexPath path) {
  const hlo::Shape& from = user.operand(index)->shape();
  if (IsElementwiseLike(user) && (user.shape().IsScalar() || !from.IsScalar())) return path;
  if (from.IsScalar()) {
    // Every map into a scalar is the same one, and what hangs on no loop is evaluated before the loops.
    return {kScalarMap, 1};
  }
  IndexPath result = path;
  if (KeepsOrder(user, index)) {
    const bool gathers = std::all_of(user.users().begin(), user.users().end(),
                                     [](const Instruction* reader) { return reader->opcode() == Opcode::kGather; });
    // Which column is read is known where it is.
    const bool by_blocks = path.ordered_map == path.block_map && user.operand_count() <= kMaxColumns &&
                           path.block_row % user.operand_count() == 0;
    if (user.opcode() == Opcode::kConcatenate && (gathers || by_blocks)) {
      result.evaluations /= static_cast<double>(user.operand_count());
      // Columns of columns are no blocks: each is evaluated for all of them, and selected.
      if (!gathers) result.block_map = kNoMap;
    }
    const uint64_t dimensions = HashOfDimensions(from);
    result.map = dimensions == path.ordered_dimensions ? path.ordered_map : absl::HashOf(path.ordered_map, dimensions);
    return result;
  }
  result.map = result.ordered_map = absl::HashOf(path.map, user.id(), index);
  result.ordered_dimensions = HashOfDimensions(from);
  if (user.opcode() == Opcode::kBroadcast && path.map == 0) {
    const int64_t rank = user.shape().rank(), first = user.shape().dimensions(0);
    if (from.rank() == rank - 1 && user.dimensions()[0] == 1 && first <= kMaxRepeats) {
      result.repeats = static_cast<double>(first);
    }
  }
  if (IsContraction(user)) {
    result.evaluations = static_cast<double>(from.element_count());
    if (user.opcode() == Opcode::kDot) {
      result.evaluations *= static_cast<double>(CeilDivide(OtherExtent(user, index), kBlockExtent));
    }
  } else if (user.opcode() == Opcode::kReduce) {
    // All elements that are reduced, for each element of the result.
    const hlo::Shape& to = user.shape().IsTuple() ? user.shape().tuple_shapes(0) : user.shape();
    const double results = static_cast<double>(std::max<int64_t>(1, to.element_count()));
    result.evaluations *= static_cast<double>(from.element_count()) / results;
    if (ReducesBlocks(user)) {
      result.block_map = result.ordered_map;
      result.block_row = from.dimensions(from.rank() - 1);
    }
  } else if (user.opcode() == Opcode::kDynamicUpdateSlice || user.opcode() == Opcode::kScatter) {
    result.evaluations = static_cast<double>(from.element_count());
  } else if (user.opcode() == Opcode::kGather && index == 1 && FindsRows(user)) {
    result.evaluations *= static_cast<double>(from.element_count()) / static_cast<double>(user.shape().element_count());
  }
  return result;
}

}  // namespace kiln::analysis
