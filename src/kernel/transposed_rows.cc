#include "src/kernel/transposed_rows.h"

#include <cstdint>

#include "absl/algorithm/container.h"
#include "src/kernel/body_copies.h"
#include "src/kernel/square_transposition.h"

namespace kiln::kernel {
namespace {

// Of what squares are compiled for, which are divided into tiles at will (square_transposition.h).
constexpr int kLeastLanes = 4;

// The load of a nest that only stores what it loads, or null.
const Op* OnlyLoad(const Kernel& kernel, const Nest& nest) {
  const std::vector<Block::Statement>& body = nest.body.statements;
  if (body.size() != 2 || body[0].kind != Block::Kind::kOp || body[1].kind != Block::Kind::kStore) return nullptr;
  const Op& load = kernel.ops[body[0].index];
  const Store& store = kernel.stores[body[1].index];
  const Parameter& parameter = kernel.parameters[store.parameter];
  const bool is_plain = load.kind == OpKind::kLoad && load.predicate == kNoValue && load.conditions.empty() &&
                        store.value == body[0].index && store.predicate == kNoValue && !parameter.is_updated &&
                        !parameter.is_local;
  return is_plain ? &load : nullptr;
}

bool HasUnitStride(const Kernel& kernel, const IndexExpr& expr, int loop) {
  int64_t stride;
  return LinearStride(kernel.terms, expr, loop, 1, &stride) && stride == 1;
}

// Two loops as one, whose number is the inner one's.
void JoinLoops(Kernel* kernel, Nest* nest, int outer, int inner) {
  const int64_t width = kernel->loops[inner].extent, extent = kernel->loops[outer].extent * width;
  for (Op& op : kernel->ops) ReplaceLoop(outer, inner, &op.loops);
  CopyBody(kernel, nest, inner, 1,
           [&](int64_t, IndexTerms* terms, const IndexTerms::Term& loop, const IndexExpr& expr) {
             if (loop.id != outer && loop.id != inner) return terms->Loop(loop.id, loop.range.high + 1);
             const IndexExpr place = terms->Loop(inner, extent);
             if (kernel->terms.CanCollapse(expr, outer, inner, width)) return loop.id == inner ? place : IndexExpr();
             return loop.id == inner ? terms->Mod(place, width) : terms->FloorDiv(place, width);
           });
  kernel->loops[outer].extent = 1;
  kernel->loops[inner].extent = extent;
  nest->loops.erase(absl::c_find(nest->loops, outer));
}

// `along`, which is read along and is short, with the loop that reading goes on in, where rows are written that are
// not.
void JoinShortReads(Kernel* kernel, Nest* nest, const Op& load, const Store& store, int along) {
  const int last = nest->loops.back();
  if (along == last || kernel->loops[last].extent < kLeastLanes || !HasUnitStride(*kernel, store.offset, last)) return;
  const auto behind = absl::c_find_if(nest->loops, [&](int loop) {
    return loop != along && loop != last &&
           kernel->terms.CanCollapse(load.offset, loop, along, kernel->loops[along].extent);
  });
  if (behind != nest->loops.end()) JoinLoops(kernel, nest, *behind, along);
}

void JoinRows(Kernel* kernel, Nest* nest, const TargetInfo& target) {
  const Op* load = OnlyLoad(*kernel, *nest);
  if (load == nullptr || nest->loops.size() < 3 || nest->repeat_loop >= 0 ||
      target.vector_bytes / hlo::ByteWidth(load->type) < kLeastLanes ||
      hlo::ByteWidth(load->type) > kMaxSquareElementBytes ||
      !absl::c_all_of(nest->loops, [&](int l) { return kernel->loops[l].kind == LoopKind::kParallel; })) {
    return;
  }
  // Overlapping rows are read along as they are written.
  if (HasUnitStride(*kernel, load->offset, nest->loops.back())) return;
  const auto along = absl::c_find_if(nest->loops, [&](int l) { return HasUnitStride(*kernel, load->offset, l); });
  if (along == nest->loops.end()) return;
  const int store = nest->body.statements[1].index;
  if (kernel->loops[*along].extent < kLeastLanes) {
    return JoinShortReads(kernel, nest, *load, kernel->stores[store], *along);
  }
  if (kernel->loops[nest->loops.back()].extent >= kMaxSquareRows) return;
  for (auto behind = nest->loops.end() - along - 1; behind > 1; --behind) {
    const int outer = nest->loops.end()[-2], inner = nest->loops.back();
    const IndexExpr& place = kernel->stores[store].offset;
    if (!HasUnitStride(*kernel, place, inner) ||
        !kernel->terms.CanCollapse(place, outer, inner, kernel->loops[inner].extent)) {
      return;
    }
    JoinLoops(kernel, nest, outer, inner);
  }
}

}  // namespace

void JoinTransposedRows(Kernel* kernel, const TargetInfo& target) {
  for (Nest& nest : kernel->nests) JoinRows(kernel, &nest, target);
}

}  // namespace kiln::kernel
