// Which loads of a nest go through tiles, and which stores are interleaved.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "src/kernel/schedule.h"
#include "src/kernel/square_transposition.h"

namespace kiln::kernel {
namespace {

// Over each run of so many iterations from a multiple of that on.
bool HasStride(const Kernel& kernel, const IndexExpr& offset, int loop, int64_t wanted, int run = 1) {
  int64_t stride;
  return LinearStride(kernel.terms, offset, loop, run, &stride) && stride == wanted;
}

bool ReadsSymbols(const Kernel& kernel, const IndexExpr& expr) {
  bool reads = false;
  kernel.terms.ForEachSymbol(expr, [&](ValueId) { reads = true; });
  return reads;
}

}  // namespace

bool FindTile(const Kernel& kernel, const Nest& nest, const std::vector<int>& order, int64_t min_extent, int max_width,
              int64_t max_bytes, TileSchedule* tile) {
  if (kernel.loops[tile->store_loop].extent < min_extent) return false;
  tile->loads.clear();
  tile->load_loop = -1;
  int64_t bytes = 0;
  bool has_store = false;
  for (const Block::Statement& statement : nest.body.statements) {
    if (statement.kind == Block::Kind::kReduce) return false;
    if (statement.kind == Block::Kind::kStore) {
      if (!HasStride(kernel, kernel.stores[statement.index].offset, tile->store_loop, 1)) return false;
      has_store = true;
      continue;
    }
    const Op& op = kernel.ops[statement.index];
    if (op.kind != OpKind::kLoad || op.predicate != kNoValue || ReadsSymbols(kernel, op.offset) ||
        kernel.parameters[op.parameter].is_updated || hlo::ByteWidth(op.type) > max_width) {
      continue;
    }
    if ((kernel.terms.LoopsOf(op.offset) >> tile->store_loop & 1) == 0 ||
        HasStride(kernel, op.offset, tile->store_loop, 1)) {
      continue;
    }
    for (int loop : order) {
      if (loop == tile->store_loop || kernel.loops[loop].extent < min_extent ||
          !HasStride(kernel, op.offset, loop, 1, tile->size) || (tile->load_loop >= 0 && tile->load_loop != loop)) {
        continue;
      }
      const int64_t more = int64_t{hlo::ByteWidth(op.type)} * tile->size * (tile->size + 1);
      if (bytes + more > max_bytes) continue;
      bytes += more;
      tile->load_loop = loop;
      tile->loads.push_back(statement.index);
      break;
    }
  }
  return has_store && tile->load_loop >= 0;
}

int TilesTogether(const Kernel& kernel, const TileSchedule& tile, bool only_moves) {
  constexpr int64_t kSpan = kMaxSquareRows;
  const int64_t rows = kernel.loops[tile.store_loop].extent;
  int64_t span = kSpan;
  while (only_moves && 2 * span * rows <= kSpan * kSpan) span *= 2;
  return static_cast<int>(std::max<int64_t>(span / tile.size, 1));
}

std::vector<int> TileOrder(const Kernel& kernel, const Nest& nest, const TileSchedule& tile) {
  constexpr int64_t kLongRun = 1 << 10;
  std::vector<int> order;
  std::vector<std::pair<int64_t, int>> by_stride;
  const Op& load = kernel.ops[tile.loads[0]];
  const int64_t width = hlo::ByteWidth(load.type), read = kernel.loops[tile.load_loop].extent;
  const int64_t written = kernel.loops[tile.store_loop].extent * read;
  bool along_reads = tile.loads.size() == 1 && written * width >= kLongRun && read * width < kLongRun;
  for (const Block::Statement& statement : nest.body.statements) {
    // Runs of what is written go on from one row of the tile to the next.
    along_reads &=
        statement.kind != Block::Kind::kStore ||
        HasStride(kernel, kernel.stores[statement.index].offset, tile.load_loop, kernel.loops[tile.store_loop].extent);
  }
  for (const int loop : nest.loops) {
    if (loop == tile.load_loop || loop == tile.store_loop) continue;
    int64_t stride = 0;
    along_reads &= LinearStride(kernel.terms, load.offset, loop, 1, &stride);
    by_stride.emplace_back(-stride, loop);
  }
  if (along_reads)
    std::stable_sort(by_stride.begin(), by_stride.end(), [](auto a, auto b) { return a.first < b.first; });
  for (const auto& [stride, loop] : by_stride) order.push_back(loop);
  order.push_back(tile.load_loop);
  order.push_back(tile.store_loop);
  return order;
}

namespace {

// The block of `nest` that store `number` is in.
const Block& BlockOfStore(const Kernel& kernel, const Nest& nest, int number) {
  for (const Block::Statement& statement : nest.body.statements) {
    if (statement.kind != Block::Kind::kReduce) continue;
    const Block& stage = *kernel.reduces[statement.index].block;
    if (absl::c_any_of(stage.statements, [&](const Block::Statement& inner) {
          return inner.kind == Block::Kind::kStore && inner.index == number;
        })) {
      return stage;
    }
  }
  return nest.body;
}

}  // namespace

std::vector<int> InterleavedStores(const Kernel& kernel, const Nest& nest, int number, int loop, int lanes) {
  constexpr int64_t kMaxStores = 8;
  const Store& store = kernel.stores[number];
  const Parameter& parameter = kernel.parameters[store.parameter];
  int64_t stride;
  if (!LinearStride(kernel.terms, store.offset, loop, lanes, &stride) || stride < 2 || stride > kMaxStores ||
      parameter.is_updated || hlo::IsComplex(parameter.type)) {
    return {};
  }
  std::vector<int> group;
  for (const Block::Statement& statement : BlockOfStore(kernel, nest, number).statements) {
    if (statement.kind != Block::Kind::kStore) continue;
    const Store& other = kernel.stores[statement.index];
    if (other.parameter != store.parameter || other.offset.terms != store.offset.terms) continue;
    if (other.predicate != kNoValue) return {};
    group.push_back(statement.index);
  }
  auto place = [&](int member) { return kernel.stores[member].offset.constant; };
  std::sort(group.begin(), group.end(), [&](int a, int b) { return place(a) < place(b); });
  if (static_cast<int64_t>(group.size()) != stride) return {};
  for (size_t i = 1; i < group.size(); ++i) {
    if (place(group[i]) != place(group[0]) + static_cast<int64_t>(i)) return {};
  }
  return group;
}

}  // namespace kiln::kernel
