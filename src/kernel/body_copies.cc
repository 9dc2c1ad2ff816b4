#include "src/kernel/body_copies.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace kiln::kernel {

void CopyBody(Kernel* kernel, Nest* nest, int loop, int64_t count, const CopyIndex& index) {
  IndexTerms terms;
  absl::flat_hash_map<ValueId, ValueId> copied;
  const auto name = [&](ValueId id) {
    const auto found = copied.find(id);
    return found == copied.end() ? id : found->second;
  };
  const auto rewritten = [&](const IndexExpr& expr, int64_t copy) {
    return kernel->terms.Replace(&terms, expr, [&](const IndexTerms::Term& term) {
      if (term.kind == IndexTerms::Kind::kLoop) return index(copy, &terms, term, expr);
      return terms.Symbol(name(term.id), term.range, kernel->ops[term.id].loops);
    });
  };
  const auto rewrite = [&](Op* op, int64_t copy) {
    if (op->kind == OpKind::kLoad || op->kind == OpKind::kIndex) op->offset = rewritten(op->offset, copy);
    for (Condition& condition : op->conditions) condition.expr = rewritten(condition.expr, copy);
    for (ValueId& operand : op->operands) operand = name(operand);
    if (op->predicate != kNoValue) op->predicate = name(op->predicate);
  };
  const std::vector<Block::Statement> body = std::exchange(nest->body.statements, {});
  const std::vector<Op> originals = kernel->ops;
  const std::vector<Store> stores = kernel->stores;
  // The first copy is the original, as is all that is not of the loop.
  for (int64_t copy = 0; copy < count; ++copy) {
    copied.clear();
    if (copy == 0) {
      for (Op& op : kernel->ops) rewrite(&op, 0);
      for (Store& store : kernel->stores) store.offset = rewritten(store.offset, 0);
      nest->body.statements = body;
      continue;
    }
    for (const Block::Statement& statement : body) {
      if (statement.kind == Block::Kind::kStore) {
        Store store = stores[statement.index];
        store.offset = rewritten(store.offset, copy);
        store.value = name(store.value);
        if (store.predicate != kNoValue) store.predicate = name(store.predicate);
        nest->body.statements.push_back({statement.kind, static_cast<int>(kernel->stores.size())});
        kernel->stores.push_back(std::move(store));
      } else if (statement.kind == Block::Kind::kOp && (originals[statement.index].loops >> loop & 1) != 0) {
        Op op = originals[statement.index];
        rewrite(&op, copy);
        copied[statement.index] = static_cast<ValueId>(kernel->ops.size());
        nest->body.statements.push_back({statement.kind, static_cast<int>(kernel->ops.size())});
        kernel->ops.push_back(std::move(op));
      }
    }
  }
  kernel->terms = std::move(terms);
}

}  // namespace kiln::kernel
