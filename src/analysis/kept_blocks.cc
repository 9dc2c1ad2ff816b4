#include "src/analysis/kept_blocks.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "src/analysis/arithmetic_cost.h"
#include "src/analysis/fusion_model.h"
#include "src/base/cpu_tuning.h"
#include "src/base/rounding.h"

namespace kiln::analysis {
namespace {

using hlo::DimensionVector;
using hlo::Instruction;
using hlo::Opcode;

constexpr int64_t kMaxPieces = 4;
// Of a value in one block; fewer are not worth a loop.
constexpr int64_t kMinBlockElements = 64;
// Blocks, or what is made of them, are no larger than that, where they are fewer than that: threads share them.
constexpr int64_t kLargeBlockElements = 512, kManyBlocks = 16;
// What is no more than this part of the result is a table. Where it is kept by blocks that cut rows of the result,
// these had better make a page of one, and anything short of this is slower to write than the table is to be stored.
constexpr int64_t kTablePart = 8, kPieceBytes = 4 << 10, kShortPieceBytes = 3 << 10;
// Rows made twice, as a part of all.
constexpr int64_t kMaxHaloPart = 4;

// Where an element of a value lies that the fusion's loops, at indices i, need: at i[loops[d]] plus between low and
// high of that loop in dimension d, anywhere where loops[d] is -1.
struct Place {
  std::vector<int64_t> loops;
  std::vector<int64_t> low, high;  // by loop
  bool in_steps = false;           // past elements that are not needed, or needed elsewhere

  void Shift(int64_t dimension, int64_t by) {
    if (loops[dimension] < 0) return;
    low[loops[dimension]] += by;
    high[loops[dimension]] += by;
  }

  void Add(const Place& other) {
    in_steps |= other.in_steps;
    for (size_t d = 0; d < loops.size(); ++d) {
      if (loops[d] != other.loops[d]) loops[d] = -1;
    }
    for (size_t l = 0; l < low.size(); ++l) {
      low[l] = std::min(low[l], other.low[l]);
      high[l] = std::max(high[l], other.high[l]);
    }
  }
};

int64_t ElementsBefore(const hlo::Shape& shape, int64_t dimension) {
  int64_t count = 1;
  for (int64_t d = 0; d < dimension; ++d) count *= shape.dimensions(d);
  return count;
}

// What `user`, needed at `place`, needs of its operand number `index`.
Place PlaceOfOperand(const Instruction& user, int64_t index, const Place& place) {
  const hlo::Shape &shape = user.operand(index)->shape(), &to = user.shape();
  Place result = place;
  result.loops.assign(shape.rank(), -1);
  switch (user.opcode()) {
    case Opcode::kBroadcast:
      for (int64_t d = 0; d < shape.rank(); ++d) {
        if (shape.dimensions(d) == to.dimensions(user.dimensions()[d])) {
          result.loops[d] = place.loops[user.dimensions()[d]];
        }
      }
      return result;
    case Opcode::kTranspose:
      for (int64_t d = 0; d < shape.rank(); ++d) result.loops[user.dimensions()[d]] = place.loops[d];
      return result;
    case Opcode::kReshape:
    case Opcode::kBitcast:
      // A dimension with as many elements before it is the same one.
      for (int64_t d = 0; d < shape.rank(); ++d) {
        if (shape.dimensions(d) == 1) continue;
        for (int64_t k = 0; k < to.rank(); ++k) {
          if (to.dimensions(k) == shape.dimensions(d) && ElementsBefore(to, k) == ElementsBefore(shape, d)) {
            result.loops[d] = place.loops[k];
          }
        }
      }
      return result;
    case Opcode::kSlice: {
      const auto& slice = user.Get<hlo::SliceAttributes>();
      for (int64_t d = 0; d < shape.rank(); ++d) {
        result.in_steps |= slice.stride[d] != 1;
        if (slice.stride[d] != 1) continue;
        result.loops[d] = place.loops[d];
        result.Shift(d, slice.start[d]);
      }
      return result;
    }
    case Opcode::kPad: {
      const auto& pad = user.Get<hlo::PadAttributes>();
      for (int64_t d = 0; d < shape.rank(); ++d) {
        result.in_steps |= pad.interior[d] != 0;
        if (pad.interior[d] != 0) continue;
        result.loops[d] = place.loops[d];
        result.Shift(d, -pad.low[d]);
      }
      return result;
    }
    case Opcode::kConcatenate: {
      result.loops = place.loops;
      int64_t start = 0;
      for (int64_t i = 0; i < index; ++i) start += user.operand(i)->shape().dimensions(user.dimensions()[0]);
      result.Shift(user.dimensions()[0], -start);
      return result;
    }
    case Opcode::kReverse:
      result.in_steps = true;
      return result;
    case Opcode::kGather: {
      // Where slices are taken from; which elements of them, no loop of the indices says.
      const auto& gather = user.Get<hlo::GatherAttributes>();
      if (index != 1) return result;
      for (int64_t d = 0, to_d = 0; d < shape.rank(); ++d) {
        if (d == gather.index_vector_dim) continue;
        while (absl::c_linear_search(gather.offset_dims, to_d)) ++to_d;
        result.loops[d] = place.loops[to_d++];
      }
      return result;
    }
    default:
      if ((IsElementwiseLike(user) || user.opcode() == Opcode::kOptBarrier) && shape.rank() == to.rank()) {
        result.loops = place.loops;
      }
      return result;
  }
}

// The blocks over loop `blocked`; nothing where they cannot be. A step of the last loop makes `step_bytes` of a row of
// the result.
std::optional<KeptBlocks> BlocksOver(int64_t blocked, const DimensionVector& extents, const hlo::Shape& result,
                                     int64_t step_bytes,
                                     const std::vector<std::pair<const Instruction*, Place>>& kept) {
  int64_t most_bytes = Tuning().fusion.kept_bytes;
  KeptBlocks blocks;
  blocks.extents = extents;
  blocks.blocked = blocked;
  int64_t row_bytes = 0, halo_bytes = 0, least_row = kMinBlockElements;
  for (const auto& [value, place] : kept) {
    KeptValue own{value, place.loops, place.low[blocked], place.high[blocked] - place.low[blocked]};
    int64_t row = 1;
    bool goes = false;
    for (int64_t d = 0; d < value->shape().rank(); ++d) {
      const int64_t loop = own.loops[d], size = value->shape().dimensions(d);
      const bool outside =
          loop >= 0 && loop < blocked && place.low[loop] == 0 && place.high[loop] == 0 && size == extents[loop];
      goes |= loop == blocked;
      if (loop + 1 == static_cast<int64_t>(extents.size())) own.lane_dimension = d;
      if (outside || loop == blocked) continue;
      own.loops[d] = -1;
      row *= size;
      if (row == 0 || row > most_bytes) return std::nullopt;
    }
    if (!goes) return std::nullopt;
    const int64_t bytes = row * hlo::ByteWidth(value->shape().element_type());
    row_bytes += bytes;
    halo_bytes += own.halo * bytes;
    least_row = std::min(least_row, row);
    blocks.values.push_back(std::move(own));
  }
  int64_t least_rows = CeilDivide(kMinBlockElements, least_row);
  for (const KeptValue& value : blocks.values) least_rows = std::max(least_rows, value.halo * kMaxHaloPart);
  // Rows at borders are shared by few others then; all of the nearest cache is still better than a whole array.
  if (halo_bytes > 0 && (most_bytes - halo_bytes) / row_bytes < least_rows) most_bytes *= 2;
  const int64_t made = result.element_count() / std::max<int64_t>(extents[blocked], 1);  // of one row
  int64_t shared = std::max(extents[blocked] / kManyBlocks, CeilDivide(kLargeBlockElements, std::max(least_row, made)));
  int64_t kept_bytes = 0;
  for (const auto& [value, place] : kept) kept_bytes += value->shape().byte_count();
  const bool cuts_rows = blocked > 0 && blocked + 1 == static_cast<int64_t>(extents.size());
  const bool cuts_for_table = cuts_rows && kept_bytes <= result.byte_count() / kTablePart;
  if (cuts_for_table) shared = std::max(shared, kPieceBytes / step_bytes);
  const int64_t most =
      std::min({extents[blocked], (most_bytes - halo_bytes) / row_bytes, std::max(shared, least_rows)});
  for (blocks.rows = most; blocks.rows >= least_rows && blocks.rows > 0; --blocks.rows) {
    if (extents[blocked] % blocks.rows != 0) continue;
    blocks.has_short_pieces = cuts_for_table && blocks.rows * step_bytes < kShortPieceBytes;
    return blocks;
  }
  return std::nullopt;
}

}  // namespace

DimensionVector KeptValue::KeptDimensions(int64_t blocked, int64_t rows) const {
  DimensionVector dimensions;
  for (size_t d = 0; d < loops.size(); ++d) {
    if (loops[d] == blocked) {
      dimensions.push_back(rows + halo);
    } else if (loops[d] < 0) {
      dimensions.push_back(value->shape().dimensions(d));
    }
  }
  return dimensions;
}

int64_t ColumnsInRows(const Instruction& value) {
  if (value.opcode() == Opcode::kConcatenate) return 1;
  const Instruction* joined = ColumnsOf(value);
  const int64_t columns = joined == nullptr ? 1 : joined->operand_count();
  return columns > 1 && value.shape().dimensions().back() % columns == 0 ? columns : 1;
}

bool MakesPiecesTogether(const Instruction& root) {
  return root.opcode() == Opcode::kConcatenate && root.operand_count() <= kMaxPieces &&
         absl::c_all_of(root.operands(),
                        [&](const Instruction* operand) { return operand->shape() == root.operand(0)->shape(); });
}

std::optional<KeptBlocks> PlanKeptBlocks(const Instruction& root, absl::Span<const Instruction* const> members,
                                         const absl::flat_hash_set<const Instruction*>& kept) {
  absl::flat_hash_map<const Instruction*, Place> places;
  const auto start = [&](const Instruction* value) {
    Place place;
    for (int64_t d = 0; d < value->shape().rank(); ++d) place.loops.push_back(d);
    place.low.assign(value->shape().rank(), 0);
    place.high = place.low;
    places.emplace(value, std::move(place));
  };
  DimensionVector extents = root.shape().dimensions();
  const int64_t columns = ColumnsInRows(root);
  if (MakesPiecesTogether(root)) {
    extents = root.operand(0)->shape().dimensions();
    for (const Instruction* operand : root.operands()) start(operand);
  } else {
    start(&root);
    if (columns > 1) {
      places.at(&root).loops.back() = -1;
      extents.back() /= columns;
    }
  }
  const absl::flat_hash_set<const Instruction*> inside(members.begin(), members.end());
  std::vector<std::pair<const Instruction*, Place>> found;
  for (auto it = members.rbegin(); it != members.rend(); ++it) {
    const auto at = places.find(*it);
    if (at == places.end()) continue;
    Place place = at->second;
    if (kept.contains(*it)) {
      // Steps are many instructions, which only functions are worth, and pieces that vectors would choose from.
      const Instruction* made = (*it)->opcode() == Opcode::kOptBarrier ? (*it)->operand(0) : *it;
      if (place.in_steps && !IsTranscendental(made->opcode()) && !MakesPiecesTogether(*made)) return std::nullopt;
      found.emplace_back(*it, place);
      place.in_steps = false;
    }
    for (int64_t i = 0; i < (*it)->operand_count(); ++i) {
      const Instruction* operand = (*it)->operand(i);
      if (!inside.contains(operand) || !operand->shape().IsArray()) continue;
      Place of_operand = PlaceOfOperand(**it, i, place);
      const auto [known, is_new] = places.try_emplace(operand, of_operand);
      if (!is_new) known->second.Add(of_operand);
    }
  }
  if (found.size() != kept.size()) return std::nullopt;
  std::reverse(found.begin(), found.end());
  const int64_t step_bytes = columns * hlo::ByteWidth(root.shape().element_type());
  for (size_t loop = 0; loop < extents.size(); ++loop) {
    if (extents[loop] == 1) continue;
    if (auto blocks = BlocksOver(static_cast<int64_t>(loop), extents, root.shape(), step_bytes, found)) {
      blocks->columns = columns;
      return blocks;
    }
  }
  return std::nullopt;
}

}  // namespace kiln::analysis
