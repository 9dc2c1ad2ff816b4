#include "src/kernel/row_blocks.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "src/kernel/op_cost.h"

namespace kiln::kernel {
namespace {

using Statement = Block::Statement;
using Kind = Block::Kind;

// Elements of a row: shorter ones lie across lanes as they are (schedule.h, RowTile), in longer ones a chain is little.
constexpr int64_t kMinRow = 32, kMaxRow = 1024;
// Of what a block reads and keeps, so that it is still in the first cache when its rows are gone through again.
constexpr int64_t kMaxBlockBytes = 24 << 10;
// Operations of the chain that are worth a way through memory and other loops, and the time that these take to compile;
// also beside those on the vectors of a row, and so many rows.
constexpr double kMinChain = 10, kMinShare = 0.03;
constexpr int64_t kMinElements = 1 << 14;
constexpr int kMostReduces = 3;  // of more the loops take long to compile
// A short row stays in registers from one reduce to the next where they are not in other loops. With so many operations
// on its vectors what is computed again, or kept in memory, takes longer than the chain.
constexpr int64_t kShortRow = 64;
constexpr double kMostOfShortRow = 256;

class RowBlocks {
 public:
  RowBlocks(Kernel* kernel, Nest* nest, const TargetInfo& target) : kernel_(*kernel), nest_(*nest), target_(target) {}

  void Run() {
    if (!FindRows() || !IsWorthIt() || !ChooseBlock()) return;
    outer_ = NewLoop(kernel_.loops[row_].extent / rows_, LoopKind::kParallel);
    Divide();
    for (Part& part : parts_) Rewrite(&part);
    PutTogether();
  }

 private:
  // Statements that run row by row: one of the nest's reduces, what is computed between reduces, or what is behind all.
  struct Part {
    enum class Kind : uint8_t { kReduce, kChain, kLast } kind;
    int loop = -1;  // over the rows of a block
    std::vector<Statement> statements;
    absl::flat_hash_map<ValueId, ValueId> loaded;  // what other parts keep for this one
    std::vector<Statement> loads;
  };

  bool DependsOn(uint64_t loops, int loop) const { return (loops >> loop & 1) != 0; }
  bool IsOfRow(const Statement& statement) const {
    if (statement.kind == Kind::kOp) return DependsOn(kernel_.ops[statement.index].loops, row_);
    if (statement.kind == Kind::kReduce) return DependsOn(kernel_.reduces[statement.index].outer_loops, row_);
    return true;
  }
  bool IsInRow(const Statement& statement) const {
    if (statement.kind == Kind::kOp) return (kernel_.ops[statement.index].loops & in_row_) != 0;
    const Store& store = kernel_.stores[statement.index];
    return ((kernel_.terms.LoopsOf(store.offset) | kernel_.ops[store.value].loops) & in_row_) != 0;
  }

  // The loop over rows, which all reduces are inside of, and the loops over what is done with their results.
  bool FindRows() {
    if (nest_.repeat_loop >= 0) return false;
    uint64_t around = 0;
    for (const Statement& statement : nest_.body.statements) {
      if (statement.kind == Kind::kReduce) around |= kernel_.reduces[statement.index].outer_loops;
    }
    for (int loop : nest_.loops) {
      if (kernel_.loops[loop].kind != LoopKind::kParallel) return false;
      if (!DependsOn(around, loop)) {
        in_row_ |= uint64_t{1} << loop;
      } else if (in_row_ != 0) {
        return false;
      } else {
        row_ = loop;
      }
    }
    if (row_ < 0) return false;
    return absl::c_all_of(nest_.body.statements, [&](const Statement& statement) { return Fits(statement, around); });
  }

  bool Fits(const Statement& statement, uint64_t around) {
    if (statement.kind == Kind::kOp) {
      const Op& op = kernel_.ops[statement.index];
      return op.kind != OpKind::kToIndex && op.kind != OpKind::kExternal && op.opcode != hlo::Opcode::kWhile;
    }
    if (statement.kind == Kind::kStore) {
      const Store& store = kernel_.stores[statement.index];
      return store.predicate == kNoValue && !kernel_.parameters[store.parameter].is_updated;
    }
    const Reduce& reduce = kernel_.reduces[statement.index];
    if (!DependsOn(reduce.outer_loops, row_)) return true;
    ++reduces_;
    return reduce.outer_loops == around && reduce.combiner == nullptr && reduce.predicate == kNoValue &&
           reduce.inside == kNoValue && !reduce.loops.empty() && RunsAlong(reduce);
  }

  // Elements of a row lie side by side, those of a column do not. Takes down how wide rows are, and in which arrays.
  bool RunsAlong(const Reduce& reduce) {
    int64_t width = 1;
    for (int loop : reduce.loops) width *= kernel_.loops[loop].extent;
    if (width_ > 0 && width != width_) return false;
    width_ = width;
    bool along = false;
    for (const Statement& statement : reduce.block->statements) {
      if (statement.kind == Kind::kReduce) return false;
      if (statement.kind == Kind::kStore) {
        const int local = kernel_.stores[statement.index].parameter;
        if (!kernel_.parameters[local].is_local) return false;
        row_bytes_[local] = width * hlo::ByteWidth(kernel_.parameters[local].type);
        continue;
      }
      const Op& op = kernel_.ops[statement.index];
      if (op.kind == OpKind::kToIndex || op.opcode == hlo::Opcode::kWhile) return false;
      if (op.kind != OpKind::kLoad || !DependsOn(op.loops, row_)) continue;
      int64_t stride;
      if (!LinearStride(kernel_.terms, op.offset, row_, 1, &stride) || (stride > 0 && stride < width)) return false;
      along |= LinearStride(kernel_.terms, op.offset, reduce.loops.back(), 1, &stride) && stride == 1;
      row_bytes_[op.parameter] = width * hlo::ByteWidth(op.type);
    }
    return along;
  }

  bool IsWorthIt() const {
    constexpr double kOfRounding = 5;  // to a narrow type, beside the operation's own
    constexpr double kLanes = 16;
    if (reduces_ == 0 || reduces_ > kMostReduces || width_ < kMinRow || width_ > kMaxRow) return false;
    if (width_ * kernel_.loops[row_].extent < kMinElements) return false;
    double chain = 0, row = 0;
    const auto count = [&](const Statement& statement, double times, double* cost) {
      if (statement.kind != Kind::kOp) return;
      const Op& op = kernel_.ops[statement.index];
      const bool rounds = op.kind == OpKind::kElementwise && hlo::IsFloating(op.type) && hlo::BitWidth(op.type) < 32;
      *cost += times * (OpCost(op) + (rounds ? kOfRounding : 0));
    };
    const double vectors = static_cast<double>(width_) / kLanes;
    for (const Statement& statement : nest_.body.statements) {
      if (!IsOfRow(statement)) continue;
      if (statement.kind == Kind::kReduce) {
        for (const Statement& inner : kernel_.reduces[statement.index].block->statements) count(inner, vectors, &row);
      } else {
        const bool in_row = IsInRow(statement);
        count(statement, in_row ? vectors : 1, in_row ? &row : &chain);
      }
    }
    return chain >= kMinChain && chain >= kMinShare * row && (width_ > kShortRow || row <= kMostOfShortRow);
  }

  // So many rows that their chains fill vectors; two vectors take as long, and more code.
  bool ChooseBlock() {
    rows_ = target_.vector_bytes / 4;
    int64_t bytes = 0;
    for (const auto& [parameter, of_row] : row_bytes_) bytes += of_row;
    return kernel_.loops[row_].extent % rows_ == 0 && rows_ * bytes <= kMaxBlockBytes &&
           kernel_.loops.size() + static_cast<size_t>(2 * reduces_ + 3) <= kMaxLoops;
  }

  int NewLoop(int64_t extent, LoopKind kind) {
    kernel_.loops.push_back({extent, kind});
    return static_cast<int>(kernel_.loops.size()) - 1;
  }

  Part* NewPart(Part::Kind kind) {
    parts_.push_back({kind, NewLoop(rows_, kind == Part::Kind::kLast ? LoopKind::kParallel : LoopKind::kReduce)});
    return &parts_.back();
  }

  // What reduces need of the chain.
  absl::flat_hash_set<ValueId> NeededByReduces() const {
    absl::flat_hash_set<ValueId> needed;
    const auto need = [&](const Statement& statement) {
      ForEachOperand(kernel_, statement, [&](ValueId id) { needed.insert(id); });
    };
    const std::vector<Statement>& body = nest_.body.statements;
    for (auto at = body.rbegin(); at != body.rend(); ++at) {
      if (at->kind == Kind::kReduce) {
        need(*at);
        for (const Statement& inner : kernel_.reduces[at->index].block->statements) need(inner);
      } else if (at->kind == Kind::kOp && needed.contains(at->index)) {
        need(*at);
      }
    }
    return needed;
  }

  void AddToChain(const Statement& statement) {
    if (parts_.empty() || parts_.back().kind != Part::Kind::kChain) NewPart(Part::Kind::kChain);
    parts_.back().statements.push_back(statement);
    if (statement.kind == Kind::kOp) home_[statement.index] = parts_.size() - 1;
  }

  void Divide() {
    const absl::flat_hash_set<ValueId> needed = NeededByReduces();
    std::vector<Statement> chain, last;  // behind all reduces
    for (const Statement& statement : nest_.body.statements) {
      const bool is_op = statement.kind == Kind::kOp;
      if (!IsOfRow(statement)) {
        before_.push_back(statement);
      } else if (statement.kind == Kind::kReduce) {
        NewPart(Part::Kind::kReduce)->statements.push_back(statement);
        for (ValueId result : kernel_.reduces[statement.index].results) home_[result] = parts_.size() - 1;
      } else if (IsInRow(statement)) {
        last.push_back(statement);
      } else if (is_op && kernel_.ops[statement.index].kind == OpKind::kReduced) {
        parts_[home_.at(statement.index)].statements.push_back(statement);
      } else if (is_op && needed.contains(statement.index)) {
        AddToChain(statement);
      } else {
        chain.push_back(statement);
      }
    }
    for (const Statement& statement : chain) AddToChain(statement);
    // Without loops over what is done with the results the chain behind all reduces is what the nest itself does.
    if (in_row_ == 0 && parts_.back().kind == Part::Kind::kChain) {
      parts_.back().kind = Part::Kind::kLast;
      kernel_.loops[parts_.back().loop].kind = LoopKind::kParallel;
    } else {
      NewPart(Part::Kind::kLast)->statements = std::move(last);
    }
    for (const Part& part : parts_) {
      for (const Statement& statement : part.statements) {
        if (statement.kind != Kind::kReduce) continue;
        for (const Statement& inner : kernel_.reduces[statement.index].block->statements) {
          if (inner.kind == Kind::kStore) kept_in_rows_.insert(kernel_.stores[inner.index].parameter);
        }
      }
    }
    for (int local : kept_in_rows_) {
      const int64_t elements = kernel_.parameters[local].element_count();
      kernel_.parameters[local].dimensions = {rows_, elements};
    }
  }

  IndexExpr Place(const Part& part) { return kernel_.terms.Loop(part.loop, rows_); }

  void RewriteLoops(const Part& part, uint64_t* loops) const {
    if (!DependsOn(*loops, row_)) return;
    ReplaceLoop(row_, outer_, loops);
    *loops |= uint64_t{1} << part.loop;
  }

  IndexExpr Rewritten(const Part& part, const IndexExpr& expr) {
    return kernel_.terms.Replace(&kernel_.terms, expr, [&](const IndexTerms::Term& term) {
      if (term.id != row_) return kernel_.terms.Loop(term.id, term.range.high + 1);
      return kernel_.terms.Loop(outer_, kernel_.loops[outer_].extent) * rows_ + Place(part);
    });
  }

  IndexExpr RewrittenOffset(const Part& part, int parameter, const IndexExpr& offset) {
    const IndexExpr result = Rewritten(part, offset);
    if (!kept_in_rows_.contains(parameter)) return result;
    return result + Place(part) * kernel_.parameters[parameter].dimensions[1];
  }

  // A value as this part has it: what is computed for the row in another part is loaded.
  ValueId Named(Part* part, ValueId id) {
    const auto home = home_.find(id);
    if (id == kNoValue || home == home_.end() || &parts_[home->second] == part) return id;
    const auto [loaded, inserted] = part->loaded.emplace(id, static_cast<ValueId>(kernel_.ops.size()));
    if (inserted) {
      Op load{OpKind::kLoad, kernel_.ops[id].type, kernel_.ops[id].loops};
      ReplaceLoop(parts_[home->second].loop, part->loop, &load.loops);
      load.parameter = LocalOf(id);
      load.offset = Place(*part);
      kernel_.ops.push_back(std::move(load));
      part->loads.push_back({Kind::kOp, loaded->second});
    }
    return loaded->second;
  }

  // The array that has a value of each row of a block.
  int LocalOf(ValueId id) {
    const auto [local, inserted] = locals_.emplace(id, static_cast<int>(kernel_.parameters.size()));
    if (inserted) {
      Parameter parameter{kernel_.ops[id].type, {rows_}};
      parameter.is_local = true;
      kernel_.parameters.push_back(std::move(parameter));
      Part& home = parts_[home_.at(id)];
      home.statements.push_back({Kind::kStore, static_cast<int>(kernel_.stores.size())});
      kernel_.stores.push_back({local->second, Place(home), id, kNoValue});
    }
    return local->second;
  }

  void Rewrite(Part* part) {
    for (size_t i = 0; i < part->statements.size(); ++i) RewriteStatement(part, part->statements[i]);
    part->statements.insert(part->statements.begin(), part->loads.begin(), part->loads.end());
  }

  void RewriteStatement(Part* part, const Statement& statement) {
    if (statement.kind == Kind::kReduce) {
      const int number = statement.index;
      RewriteLoops(*part, &kernel_.reduces[number].outer_loops);
      for (ValueId& init : kernel_.reduces[number].inits) init = Named(part, init);
      for (const Statement& inner : kernel_.reduces[number].block->statements) RewriteStatement(part, inner);
    } else if (statement.kind == Kind::kStore) {
      const ValueId value = Named(part, kernel_.stores[statement.index].value);
      Store& store = kernel_.stores[statement.index];
      store.value = value;
      store.offset = RewrittenOffset(*part, store.parameter, store.offset);
    } else {
      std::vector<ValueId> operands = kernel_.ops[statement.index].operands;
      for (ValueId& operand : operands) operand = Named(part, operand);
      const ValueId predicate = Named(part, kernel_.ops[statement.index].predicate);
      Op& op = kernel_.ops[statement.index];
      op.operands = std::move(operands);
      op.predicate = predicate;
      if (op.kind == OpKind::kLoad) op.offset = RewrittenOffset(*part, op.parameter, op.offset);
      if (op.kind == OpKind::kIndex) op.offset = Rewritten(*part, op.offset);
      for (Condition& condition : op.conditions) condition.expr = Rewritten(*part, condition.expr);
      RewriteLoops(*part, &op.loops);
    }
  }

  void PutTogether() {
    uint64_t around = 0;
    for (int loop : nest_.loops) {
      if (!DependsOn(in_row_, loop)) around |= uint64_t{1} << (loop == row_ ? outer_ : loop);
    }
    nest_.body.statements = std::move(before_);
    for (Part& part : parts_) {
      if (part.kind == Part::Kind::kLast) {
        absl::c_copy(part.statements, std::back_inserter(nest_.body.statements));
        const auto at = absl::c_find(nest_.loops, row_);
        *at = outer_;
        nest_.loops.insert(at + 1, part.loop);
        continue;
      }
      Reduce stage;
      stage.loops = {part.loop};
      stage.outer_loops = around;
      stage.block = std::make_unique<Block>();
      stage.block->statements = std::move(part.statements);
      nest_.body.statements.push_back({Kind::kReduce, static_cast<int>(kernel_.reduces.size())});
      kernel_.reduces.push_back(std::move(stage));
    }
  }

  Kernel& kernel_;
  Nest& nest_;
  const TargetInfo& target_;
  int row_ = -1, outer_ = -1;  // the loop over rows, and the one over their blocks
  uint64_t in_row_ = 0;        // the nest's loops behind the one over rows
  int64_t width_ = 0;          // of a row that is reduced
  int64_t rows_ = 0;           // of a block
  int reduces_ = 0;
  absl::flat_hash_map<int, int64_t> row_bytes_;  // of an array
  std::vector<Statement> before_;                // the same for all rows
  std::vector<Part> parts_;
  absl::flat_hash_map<ValueId, size_t> home_;  // of what is computed once per row: its part
  absl::flat_hash_map<ValueId, int> locals_;   // arrays of such values
  absl::flat_hash_set<int> kept_in_rows_;      // arrays with an element for each of a row's
};

}  // namespace

void BlockRows(Kernel* kernel, const TargetInfo& target) {
  for (Nest& nest : kernel->nests) RowBlocks(kernel, &nest, target).Run();
}

}  // namespace kiln::kernel
