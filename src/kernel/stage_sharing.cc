#include "src/kernel/stage_sharing.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "src/base/cpu_tuning.h"
#include "src/kernel/schedule.h"

namespace kiln::kernel {
namespace {

using Statement = Block::Statement;
using Kind = Block::Kind;

// Bounds on what is compared with each other.
constexpr size_t kMaxStages = 24;

// What an op computes, in the loops of the first stage that computes it.
struct OpKey {
  OpKind kind;
  hlo::PrimitiveType type;
  hlo::Opcode opcode;
  const hlo::Instruction* instruction;
  int parameter;
  ValueId predicate;
  IndexExpr offset;
  std::vector<ValueId> operands;

  bool operator==(const OpKey&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const OpKey& k) {
    return H::combine(std::move(h), k.kind, k.type, k.opcode, k.instruction, k.parameter, k.predicate, k.offset,
                      k.operands);
  }
};

uint64_t SetOf(const std::vector<int>& loops) {
  uint64_t set = 0;
  for (int loop : loops) set |= uint64_t{1} << loop;
  return set;
}

class Sharer {
 public:
  Sharer(Kernel* kernel, Nest* nest) : kernel_(*kernel), nest_(*nest) {}

  bool Run() {
    if (CountReduces() == 0 || CountReduces() > kMaxStages) return false;
    bool changed = MergeReduces();
    changed |= KeepValues();
    return changed;
  }

 private:
  size_t CountReduces() const {
    return static_cast<size_t>(std::count_if(nest_.body.statements.begin(), nest_.body.statements.end(),
                                             [](const Statement& s) { return s.kind == Kind::kReduce; }));
  }

  bool SameExtents(const std::vector<int>& a, const std::vector<int>& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](int x, int y) { return kernel_.loops[x].extent == kernel_.loops[y].extent; });
  }

  static bool HasOnlyOps(const Block& block) {
    return std::all_of(block.statements.begin(), block.statements.end(),
                       [](const Statement& s) { return s.kind == Kind::kOp; });
  }

  // `expr` with loops `from` written as `to`; false where a symbol depends on them.
  bool Renamed(const IndexExpr& expr, const std::vector<int>& from, const std::vector<int>& to, IndexExpr* result) {
    const uint64_t set = SetOf(from);
    bool known = true;
    *result = kernel_.terms.Replace(&kernel_.terms, expr, [&](const IndexTerms::Term& term) {
      if (term.kind == IndexTerms::Kind::kSymbol) {
        known &= (term.loops & set) == 0;
        return kernel_.terms.Symbol(term.id, term.range, term.loops);
      }
      const auto at = std::find(from.begin(), from.end(), term.id);
      return kernel_.terms.Loop(at == from.end() ? term.id : to[at - from.begin()], term.range.high + 1);
    });
    return known;
  }

  // `names` says as what ops of loops `from` are known in those of `to`. False for ops that are not compared.
  bool KeyOf(const Op& op, const std::vector<int>& from, const std::vector<int>& to,
             const absl::flat_hash_map<ValueId, ValueId>& names, OpKey* key) {
    if (op.kind != OpKind::kLoad && op.kind != OpKind::kElementwise && op.kind != OpKind::kIndex) return false;
    if (op.kind == OpKind::kLoad && kernel_.parameters[op.parameter].is_updated) return false;
    const auto name = [&](ValueId id) {
      const auto it = names.find(id);
      return it == names.end() ? id : it->second;
    };
    *key = {op.kind, op.type, op.opcode, op.instruction, op.parameter, name(op.predicate), {}, {}};
    for (ValueId operand : op.operands) key->operands.push_back(name(operand));
    return Renamed(op.offset, from, to, &key->offset);
  }

  // ---- Reduces over the same elements ----

  bool IsMergeable(const Reduce& reduce) const {
    return reduce.combiner == nullptr && reduce.predicate == kNoValue && reduce.inside == kNoValue &&
           HasOnlyOps(*reduce.block);
  }

  bool MergeReduces() {
    bool changed = false;
    std::vector<Statement>& statements = nest_.body.statements;
    for (size_t second = 1; second < statements.size(); ++second) {
      if (statements[second].kind != Kind::kReduce || !IsMergeable(kernel_.reduces[statements[second].index])) continue;
      for (size_t first = 0; first < second; ++first) {
        if (statements[first].kind != Kind::kReduce || !TryMerge(first, second)) continue;
        changed = true;
        --second;  // its statement is gone
        break;
      }
    }
    return changed;
  }

  void ForEachRead(const Statement& statement, const std::function<void(ValueId)>& visit) const {
    const auto read = [&](ValueId id) {
      if (id != kNoValue) visit(id);
    };
    if (statement.kind == Kind::kOp) {
      const Op& op = kernel_.ops[statement.index];
      if (op.kind == OpKind::kReduced) visit(statement.index);  // it names its reduce's result
      for (ValueId operand : op.operands) visit(operand);
      read(op.predicate);
      kernel_.terms.ForEachSymbol(op.offset, visit);
      for (const Condition& condition : op.conditions) kernel_.terms.ForEachSymbol(condition.expr, visit);
    } else if (statement.kind == Kind::kStore) {
      const Store& store = kernel_.stores[statement.index];
      visit(store.value);
      read(store.predicate);
      kernel_.terms.ForEachSymbol(store.offset, visit);
    } else {
      const Reduce& reduce = kernel_.reduces[statement.index];
      for (ValueId id : reduce.inits) visit(id);
      for (ValueId id : reduce.elements) visit(id);
      read(reduce.predicate);
      read(reduce.inside);
      for (const Statement& inner : reduce.block->statements) ForEachRead(inner, visit);
    }
  }

  bool TryMerge(size_t first, size_t second) {
    std::vector<Statement>& statements = nest_.body.statements;
    const int into = statements[first].index, from = statements[second].index;
    Reduce& a = kernel_.reduces[into];
    Reduce& b = kernel_.reduces[from];
    if (!IsMergeable(a) || a.outer_loops != b.outer_loops || !SameExtents(a.loops, b.loops)) return false;
    // What depends on the first one moves behind both.
    absl::flat_hash_set<ValueId> behind(a.results.begin(), a.results.end());
    std::vector<Statement> before, after;
    for (size_t i = first + 1; i <= second; ++i) {
      bool depends = false;
      ForEachRead(statements[i], [&](ValueId id) { depends |= behind.contains(id); });
      if (i == second && depends) return false;
      if (i == second) break;
      (depends ? after : before).push_back(statements[i]);
      if (!depends) continue;
      if (statements[i].kind == Kind::kOp) behind.insert(statements[i].index);
      if (statements[i].kind == Kind::kReduce) {
        const Reduce& inner = kernel_.reduces[statements[i].index];
        behind.insert(inner.results.begin(), inner.results.end());
      }
    }
    absl::flat_hash_map<OpKey, ValueId> known;
    absl::flat_hash_map<ValueId, ValueId> names;
    OpKey key;
    for (const Statement& s : a.block->statements) {
      if (KeyOf(kernel_.ops[s.index], a.loops, a.loops, names, &key)) known.emplace(key, s.index);
    }
    bool shares = false;
    for (const Statement& s : b.block->statements) {
      const Op& op = kernel_.ops[s.index];
      IndexExpr renamed;
      if (!op.conditions.empty() || !Renamed(op.offset, b.loops, a.loops, &renamed)) return false;
      if (!KeyOf(op, b.loops, a.loops, names, &key)) continue;
      const auto it = known.find(key);
      if (it == known.end()) continue;
      names[s.index] = it->second;
      shares |= op.kind == OpKind::kLoad;
    }
    if (!shares) return false;

    const auto rename = [&](ValueId& id) {
      if (const auto it = names.find(id); it != names.end()) id = it->second;
    };
    for (const Statement& s : b.block->statements) {
      if (names.contains(s.index)) continue;
      Op& op = kernel_.ops[s.index];
      for (ValueId& operand : op.operands) rename(operand);
      rename(op.predicate);
      IndexExpr renamed;
      Renamed(op.offset, b.loops, a.loops, &renamed);
      op.offset = renamed;
      for (size_t i = 0; i < b.loops.size(); ++i) {
        const uint64_t bit = uint64_t{1} << b.loops[i];
        if ((op.loops & bit) != 0) op.loops = (op.loops & ~bit) | uint64_t{1} << a.loops[i];
      }
      a.block->statements.push_back(s);
    }
    for (size_t i = 0; i < b.elements.size(); ++i) {
      rename(b.elements[i]);
      Op& result = kernel_.ops[b.results[i]];
      result.reduce = into;
      result.offset = IndexExpr::Constant(static_cast<int64_t>(a.results.size()));
      a.inits.push_back(b.inits[i]);
      a.elements.push_back(b.elements[i]);
      a.results.push_back(b.results[i]);
      a.combine_opcodes.push_back(b.combine_opcodes[i]);
    }
    b.block->statements.clear();
    b.loops.clear();
    auto at = statements.begin() + static_cast<int64_t>(first);
    const Statement merged = *at;
    at = std::copy(before.begin(), before.end(), at);
    *at++ = merged;
    std::copy(after.begin(), after.end(), at);
    statements.erase(statements.begin() + static_cast<int64_t>(second));
    return true;
  }

  // ---- Values that stages of a row have in common ----

  struct Stage {
    Block* block;
    std::vector<int> loops;
    std::vector<ValueId> roots;
    bool is_last = false;  // the nest's own innermost loops
  };

  std::vector<Stage> FindStages() {
    std::vector<Stage> stages;
    uint64_t rows = 0;
    for (const Statement& s : nest_.body.statements) {
      if (s.kind != Kind::kReduce) continue;
      Reduce& reduce = kernel_.reduces[s.index];
      if (!HasOnlyOps(*reduce.block) || reduce.loops.empty()) continue;
      if (!stages.empty() && (reduce.outer_loops != rows || !SameExtents(reduce.loops, stages[0].loops))) continue;
      rows = reduce.outer_loops;
      stages.push_back({reduce.block.get(), reduce.loops, reduce.elements});
    }
    if (stages.empty()) return stages;
    Stage last{&nest_.body, {}, {}, /*is_last=*/true};
    for (int loop : nest_.loops) {
      if ((rows >> loop & 1) == 0) last.loops.push_back(loop);
    }
    for (const Statement& s : nest_.body.statements) {
      if (s.kind == Kind::kStore) last.roots.push_back(kernel_.stores[s.index].value);
    }
    if (!last.loops.empty() && SameExtents(last.loops, stages[0].loops)) stages.push_back(std::move(last));
    return stages;
  }

  bool KeepValues() {
    std::vector<Stage> stages = FindStages();
    if (stages.size() < 2) return false;
    first_loops_ = stages[0].loops;
    row_elements_ = 1;
    for (int loop : first_loops_) row_elements_ *= kernel_.loops[loop].extent;
    bool changed = false;
    for (size_t s = 0; s < stages.size(); ++s) {
      const uint64_t own = SetOf(stages[s].loops);
      OpKey key;
      for (const Statement& statement : stages[s].block->statements) {
        if (statement.kind != Kind::kOp || (kernel_.ops[statement.index].loops & own) == 0) continue;
        const Op& op = kernel_.ops[statement.index];
        double cost = OpCost(op);
        for (ValueId operand : op.operands) {
          if (const auto it = cost_.find(operand); it != cost_.end()) cost += it->second;
        }
        cost_[statement.index] = cost;
        if (!KeyOf(op, stages[s].loops, first_loops_, names_, &key)) continue;
        const auto [it, inserted] = first_.emplace(key, statement.index);
        if (inserted) {
          made_[statement.index] = s;
        } else {
          names_[statement.index] = it->second;
          // What is kept already is no more than a load.
          if (locals_.contains(it->second)) cost_[statement.index] = 1;
        }
      }
      if (s == 0) continue;
      absl::flat_hash_set<ValueId> seen;
      for (ValueId root : stages[s].roots) changed |= Keep(root, stages, s, &seen);
    }
    return changed;
  }

  // Reads `id` and what it is made from, in stage `s`, from local arrays where that pays.
  bool Keep(ValueId id, std::vector<Stage>& stages, size_t s, absl::flat_hash_set<ValueId>* seen) {
    const uint64_t own = SetOf(stages[s].loops);
    if (id == kNoValue || (kernel_.ops[id].loops & own) == 0 || !seen->insert(id).second) return false;
    const auto name = names_.find(id);
    const bool kept = name != names_.end() && locals_.contains(name->second);
    if (name != names_.end() && made_[name->second] < s && (kernel_.ops[id].loops & own) == own &&
        (kept || cost_[id] >= Tuning().kernels.kept_operations)) {
      const int local = LocalOf(name->second, stages[made_[name->second]]);
      if (local >= 0) {
        Op load{OpKind::kLoad, kernel_.ops[id].type, kernel_.ops[id].loops};
        load.parameter = local;
        load.offset = OffsetIn(stages[s]);
        kernel_.ops[id] = std::move(load);
        return true;
      }
    }
    bool changed = false;
    const std::vector<ValueId> operands = kernel_.ops[id].operands;
    for (ValueId operand : operands) changed |= Keep(operand, stages, s, seen);
    return changed;
  }

  IndexExpr OffsetIn(const Stage& stage) {
    std::vector<IndexExpr> index;
    std::vector<int64_t> extents;
    for (int loop : stage.loops) {
      extents.push_back(kernel_.loops[loop].extent);
      index.push_back(kernel_.terms.Loop(loop, extents.back()));
    }
    return Linearize(index, extents);
  }

  // The local array that stage `stage` puts its `value` in; -1 when there is no room for it.
  int LocalOf(ValueId value, Stage& stage) {
    const auto [it, inserted] = locals_.emplace(value, -1);
    if (!inserted) return it->second;
    const hlo::PrimitiveType type = kernel_.ops[value].type;
    const int64_t bytes = row_elements_ * hlo::ByteWidth(type);
    if (local_bytes_ + bytes > kMaxLocalBytes) return -1;
    local_bytes_ += bytes;
    it->second = static_cast<int>(kernel_.parameters.size());
    Parameter local{type, {row_elements_}};
    local.is_local = true;
    kernel_.parameters.push_back(std::move(local));
    kernel_.stores.push_back({it->second, OffsetIn(stage), value, kNoValue});
    const Statement store{Kind::kStore, static_cast<int>(kernel_.stores.size()) - 1};
    stage.block->statements.push_back(store);
    return it->second;
  }

  Kernel& kernel_;
  Nest& nest_;
  std::vector<int> first_loops_;
  int64_t row_elements_ = 1;
  int64_t local_bytes_ = 0;
  absl::flat_hash_map<OpKey, ValueId> first_;
  absl::flat_hash_map<ValueId, size_t> made_;    // the stage that computes what others name
  absl::flat_hash_map<ValueId, ValueId> names_;  // of later stages' ops: the same value of an earlier one
  absl::flat_hash_map<ValueId, double> cost_;    // of computing it from loads
  absl::flat_hash_map<ValueId, int> locals_;
};

void RemoveUnread(Kernel* kernel) {
  absl::flat_hash_set<ValueId> read;
  std::vector<ValueId> work;
  const std::function<void(int)> mark = [&](ValueId id) {
    if (id != kNoValue && read.insert(id).second) work.push_back(id);
  };
  for (const Store& store : kernel->stores) {
    mark(store.value);
    mark(store.predicate);
    kernel->terms.ForEachSymbol(store.offset, mark);
  }
  for (const Reduce& reduce : kernel->reduces) {
    for (ValueId id : reduce.inits) mark(id);
    for (ValueId id : reduce.elements) mark(id);
    mark(reduce.predicate);
    mark(reduce.inside);
  }
  while (!work.empty()) {
    const Op& op = kernel->ops[work.back()];
    work.pop_back();
    for (ValueId id : op.operands) mark(id);
    mark(op.predicate);
    kernel->terms.ForEachSymbol(op.offset, mark);
    for (const Condition& condition : op.conditions) kernel->terms.ForEachSymbol(condition.expr, mark);
  }
  const auto clean = [&](Block& block) {
    std::erase_if(block.statements, [&](const Statement& s) {
      return s.kind == Kind::kOp && kernel->ops[s.index].kind != OpKind::kReduced && !read.contains(s.index);
    });
  };
  for (Nest& nest : kernel->nests) clean(nest.body);
  for (Reduce& reduce : kernel->reduces) clean(*reduce.block);
}

}  // namespace

void ShareStages(Kernel* kernel) {
  bool changed = false;
  for (Nest& nest : kernel->nests) changed |= Sharer(kernel, &nest).Run();
  if (changed) RemoveUnread(kernel);
}

}  // namespace kiln::kernel
