// Which loads of a nest go through tiles, and which stores are interleaved.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "src/kernel/schedule.h"

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
