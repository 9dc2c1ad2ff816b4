#include "src/kernel/shared_places.h"

#include <cstdlib>

#include "absl/algorithm/container.h"
#include "src/kernel/body_copies.h"
#include "src/kernel/op_cost.h"

namespace kiln::kernel {
namespace {

constexpr int64_t kMostRows = 8;
constexpr int64_t kLeastGroups = 8;     // of rows, which threads divide
constexpr size_t kMostStatements = 12;  // that are copied
constexpr double kMostCost = 4;         // of what is done with an element: more is worth vectors
constexpr int64_t kMostBytes = 32 << 10;  // of the rows together, which are to stay in the nearest cache

// From a row that is read to the next.
int64_t BytesOfRow(const Kernel& kernel, const Op& load, int row) {
  return std::abs(load.offset.Coefficient(kernel.terms.LoopTerm(row))) * hlo::ByteWidth(load.type);
}

// How many rows may go side by side; 1: none.
int64_t RowsTogether(const Kernel& kernel, const Nest& nest) {
  if (nest.loops.size() < 2 || nest.repeat_loop >= 0 || nest.body.statements.size() > kMostStatements) return 1;
  if (!absl::c_all_of(nest.loops, [&](int l) { return kernel.loops[l].kind == LoopKind::kParallel; })) return 1;
  const uint64_t row = uint64_t{1} << nest.loops.end()[-2], place = uint64_t{1} << nest.loops.back();
  double cost = 0;
  int64_t bytes = 0;
  bool finds = false;
  for (const Block::Statement& statement : nest.body.statements) {
    if (statement.kind == Block::Kind::kReduce) return 1;
    if (statement.kind == Block::Kind::kStore) {
      const Store& store = kernel.stores[statement.index];
      const Parameter& parameter = kernel.parameters[store.parameter];
      if (parameter.is_updated || parameter.is_local || (kernel.terms.LoopsOf(store.offset) & row) == 0) return 1;
      continue;
    }
    const Op& op = kernel.ops[statement.index];
    if (op.opcode == hlo::Opcode::kWhile) return 1;
    if ((op.loops & row) != 0 && op.kind == OpKind::kElementwise) cost += OpCost(op);
    if (op.kind == OpKind::kLoad) bytes += BytesOfRow(kernel, op, nest.loops.end()[-2]);
    if (op.kind != OpKind::kToIndex || (op.loops & place) == 0) continue;
    if ((op.loops & row) != 0) return 1;
    finds = true;
  }
  if (!finds || cost > kMostCost) return 1;
  const int64_t rows = kernel.loops[nest.loops.end()[-2]].extent;
  int64_t count = kMostRows;
  while (count > 1 && (count * bytes > kMostBytes || rows % count != 0 || rows / count < kLeastGroups)) count /= 2;
  return count;
}

}  // namespace

void SharePlaces(Kernel* kernel) {
  for (Nest& nest : kernel->nests) {
    const int64_t count = RowsTogether(*kernel, nest);
    if (count == 1) continue;
    const int row = nest.loops.end()[-2];
    kernel->loops[row].extent /= count;
    CopyBody(kernel, &nest, row, count,
             [&](int64_t copy, IndexTerms* terms, const IndexTerms::Term& loop, const IndexExpr&) {
               if (loop.id != row) return terms->Loop(loop.id, loop.range.high + 1);
               return terms->Loop(row, kernel->loops[row].extent) * count + copy;
             });
  }
}

}  // namespace kiln::kernel
