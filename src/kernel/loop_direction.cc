#include "src/kernel/loop_direction.h"

#include "absl/algorithm/container.h"
#include "src/kernel/body_copies.h"

namespace kiln::kernel {
namespace {

bool GoesBackwards(const Kernel& kernel, const Nest& nest, int loop) {
  const int term = kernel.terms.LoopTerm(loop);
  if (term < 0 || kernel.loops[loop].kind != LoopKind::kParallel) return false;
  bool backwards = false;
  for (const Block::Statement& statement : nest.body.statements) {
    if (statement.kind == Block::Kind::kReduce) return false;
    if (statement.kind == Block::Kind::kStore) {
      const Store& store = kernel.stores[statement.index];
      if (store.offset.Coefficient(term) == 1 || kernel.parameters[store.parameter].is_updated) return false;
      continue;
    }
    const Op& op = kernel.ops[statement.index];
    if (op.kind != OpKind::kLoad) continue;
    if (op.offset.Coefficient(term) == 1) return false;
    backwards |= op.offset.Coefficient(term) == -1;
  }
  return backwards;
}

}  // namespace

void TurnLoops(Kernel* kernel) {
  for (Nest& nest : kernel->nests) {
    for (int loop : nest.loops) {
      if (!GoesBackwards(*kernel, nest, loop)) continue;
      CopyBody(kernel, &nest, loop, /*count=*/1,
               [&](int64_t, IndexTerms* terms, const IndexTerms::Term& term, const IndexExpr&) {
                 const IndexExpr forwards = terms->Loop(term.id, term.range.high + 1);
                 return term.id == loop ? IndexExpr::Constant(term.range.high) - forwards : forwards;
               });
    }
  }
}

}  // namespace kiln::kernel
