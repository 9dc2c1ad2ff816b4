// Which loads and stores go through tiles of rows.
#include <algorithm>
#include <functional>

#include "absl/algorithm/container.h"
#include "src/base/cpu_tuning.h"
#include "src/kernel/op_cost.h"
#include "src/kernel/schedule.h"

namespace kiln::kernel {
namespace {

// What a vector's rows have of an access: where it begins in them, and which of their elements it may be.
struct Part {
  IndexExpr first;
  int64_t pitch = 0;
  int64_t span = 1;   // elements from the first place to the last
  int64_t count = 1;  // places
};

// Whether the reduce's loop is so short that a copy of its block for each iteration is little code.
bool IsShortRow(const Kernel& kernel, const Reduce& reduce) {
  constexpr int64_t kMostIterations = 16;  // as many as there are vector registers
  constexpr double kMostOperations = 64;
  if (reduce.loops.size() != 1 || reduce.inside != kNoValue || reduce.predicate != kNoValue) return false;
  const int64_t extent = kernel.loops[reduce.loops[0]].extent;
  if (extent > kMostIterations) return false;
  double operations = 0;
  for (const Block::Statement& statement : reduce.block->statements) {
    if (statement.kind != Block::Kind::kOp) return false;
    operations += OpCost(kernel.ops[statement.index]);
  }
  return operations * static_cast<double>(extent) <= kMostOperations;
}

class RowTiles {
 public:
  RowTiles(const Kernel& kernel, int vector_loop, int lanes, uint64_t outside)
      : kernel_(kernel), vector_loop_(vector_loop), lanes_(lanes), outside_(outside) {}

  void Collect(const Block& block, const Reduce* reduce) {
    const bool in_short_row = reduce != nullptr && IsShortRow(kernel_, *reduce);
    for (const Block::Statement& statement : block.statements) {
      if (statement.kind == Block::Kind::kOp) {
        AddLoad(statement.index, in_short_row);
      } else if (statement.kind == Block::Kind::kReduce) {
        Collect(*kernel_.reduces[statement.index].block, &kernel_.reduces[statement.index]);
      } else {
        AddStore(statement.index, /*in_reduce=*/reduce != nullptr);
      }
    }
  }

  std::vector<RowTile> Take() {
    int64_t left = Tuning().kernels.tile_bytes;
    std::erase_if(tiles_, [&](const RowTile& tile) {
      const int64_t bytes = tile.size * lanes_ * hlo::ByteWidth(kernel_.parameters[tile.parameter].type);
      if (!IsWorthIt(tile) || bytes > left) return true;
      left -= bytes;
      return false;
    });
    return std::move(tiles_);
  }

 private:
  // False where the access is no place in a row.
  bool TakeApart(const IndexExpr& offset, Part* part) const {
    const uint64_t own = uint64_t{1} << vector_loop_;
    part->first.constant = offset.constant;
    for (const auto& [number, coefficient] : offset.terms) {
      const IndexTerms::Term& term = kernel_.terms.term(number);
      if (term.kind == IndexTerms::Kind::kSymbol) return false;
      const bool is_loop = term.kind == IndexTerms::Kind::kLoop;
      if ((term.loops & ~outside_) == 0) {
        part->first.terms.emplace_back(number, coefficient);
      } else if (is_loop && term.loops == own) {
        part->pitch = coefficient;
        part->first.terms.emplace_back(number, coefficient);
      } else if (is_loop && coefficient > 0) {
        part->span += coefficient * term.range.high;
        part->count *= term.range.high + 1;
      } else {
        return false;
      }
    }
    bool reads_symbols = false;
    kernel_.terms.ForEachSymbol(offset, [&](ValueId) { reads_symbols = true; });
    return part->pitch > 1 && !reads_symbols;
  }

  bool IsTileable(int number) const {
    const Parameter& parameter = kernel_.parameters[number];
    return !parameter.is_updated && !parameter.is_local && !parameter.constant.has_value() &&
           !hlo::IsComplex(parameter.type);
  }

  void AddLoad(ValueId id, bool in_short_row) {
    const Op& op = kernel_.ops[id];
    Part part;
    if (op.kind != OpKind::kLoad || op.predicate != kNoValue || !IsTileable(op.parameter) ||
        !TakeApart(op.offset, &part)) {
      return;
    }
    const IndexRange all = kernel_.terms.RangeOf(op.offset);
    if (all.low < 0 || all.high >= kernel_.parameters[op.parameter].element_count()) return;
    for (RowTile& tile : tiles_) {
      const int64_t from = part.first.constant - tile.first.constant;
      const int64_t low = std::min<int64_t>(from, 0), high = std::max(from + part.span, tile.size);
      if (tile.parameter != op.parameter || tile.store >= 0 || tile.first.terms != part.first.terms ||
          high - low > part.pitch) {
        continue;
      }
      tile.first.constant += low;
      tile.size = high - low;
      tile.loads.push_back(id);
      tile.is_unrolled &= in_short_row;
      return;
    }
    if (part.span > part.pitch) return;
    constexpr int kLeastBytes = 4;  // whose squares are a few shuffles
    in_short_row &= hlo::ByteWidth(op.type) >= kLeastBytes;
    tiles_.push_back({op.parameter, part.first, part.pitch, part.span, {id}, /*store=*/-1, in_short_row});
  }

  void AddStore(int number, bool in_reduce) {
    const Store& store = kernel_.stores[number];
    Part part;
    if (in_reduce || store.predicate != kNoValue || !IsTileable(store.parameter) || !TakeApart(store.offset, &part) ||
        part.span > part.pitch || part.count != part.span ||
        absl::c_count_if(kernel_.stores, [&](const Store& s) { return s.parameter == store.parameter; }) > 1) {
      return;
    }
    tiles_.push_back({store.parameter, part.first, part.pitch, part.span, {}, number});
  }

  // Most of each row takes part, and so much of what is between rows is little.
  bool IsWorthIt(const RowTile& tile) const {
    if (tile.size < 2 || tile.pitch > 2 * tile.size) return false;
    if (tile.store >= 0) return tile.pitch == tile.size;
    int64_t places = 0;
    for (ValueId load : tile.loads) {
      const IndexExpr in_row = kernel_.ops[load].offset - tile.first;
      const IndexRange range = kernel_.terms.RangeOf(in_row);
      places += range.high - range.low + 1;
    }
    return 2 * places >= tile.size;
  }

  const Kernel& kernel_;
  const int vector_loop_, lanes_;
  const uint64_t outside_;
  std::vector<RowTile> tiles_;
};

}  // namespace

int RowTile::PieceOf(int element_bytes, int lanes) const {
  constexpr int kPieceBytes = 16, kFew = 8;
  int piece = std::min(kPieceBytes / element_bytes, lanes);
  while (piece > size) piece /= 2;
  // A few short pieces are picked out of vectors sooner.
  return piece * element_bytes < kPieceBytes && size < kFew ? 1 : piece;
}

std::vector<RowTile> FindRowTiles(const Kernel& kernel, const Nest& nest, int vector_loop, int lanes,
                                  uint64_t outside) {
  RowTiles tiles(kernel, vector_loop, lanes, outside);
  tiles.Collect(nest.body, /*reduce=*/nullptr);
  return tiles.Take();
}

}  // namespace kiln::kernel
