#include "src/kernel/rows_together.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "src/base/cpu_tuning.h"
#include "src/kernel/op_cost.h"
#include "src/kernel/schedule.h"

namespace kiln::kernel {
namespace {

using Kind = Block::Kind;
using Statement = Block::Statement;

class RowsTogether {
 public:
  RowsTogether(Kernel* kernel, Nest* nest, int threads) : kernel_(*kernel), nest_(*nest), threads_(threads) {}

  void Run() {
    if (!OnlyReducesRows() || !ChooseCount()) return;
    copies_.resize(static_cast<size_t>(count_));
    const int64_t rows = kernel_.loops[row_].extent / count_;
    const int64_t blocks = std::gcd(rows, int64_t{threads_});
    block_ = NewLoop(blocks);
    outer_ = NewLoop(rows / blocks);
    std::vector<Statement> together;
    for (const Statement& statement : nest_.body.statements) Copy(statement, &together);
    nest_.body.statements = std::move(together);
    nest_.loops.back() = block_;
    nest_.loops.push_back(outer_);
  }

 private:
  int NewLoop(int64_t extent) {
    kernel_.loops.push_back({extent, LoopKind::kParallel});
    return static_cast<int>(kernel_.loops.size()) - 1;
  }

  bool IsOfRow(uint64_t loops) const { return (loops >> row_ & 1) != 0; }

  bool OnlyReducesRows() {
    if (nest_.loops.empty() || nest_.repeat_loop >= 0 || static_cast<int>(kernel_.loops.size()) + 2 > kMaxLoops)
      return false;
    row_ = nest_.loops.back();
    if (kernel_.loops[row_].kind != LoopKind::kParallel) return false;
    return absl::c_all_of(nest_.body.statements, [&](const Statement& statement) {
      if (statement.kind == Kind::kReduce) return IsPlainReduce(kernel_.reduces[statement.index]);
      if (statement.kind == Kind::kOp) return IsPlain(kernel_.ops[statement.index]);
      const Store& store = kernel_.stores[statement.index];
      const Parameter& parameter = kernel_.parameters[store.parameter];
      return store.predicate == kNoValue && !parameter.is_updated && !parameter.is_local &&
             IsOfRow(kernel_.terms.LoopsOf(store.offset));
    });
  }

  bool IsPlain(const Op& op) const {
    bool reads_symbols = false;
    kernel_.terms.ForEachSymbol(op.offset, [&](ValueId) { reads_symbols = true; });
    return !reads_symbols && op.kind != OpKind::kToIndex && op.opcode != hlo::Opcode::kWhile &&
           op.predicate == kNoValue && op.conditions.empty();
  }

  // Of elements that cost little: others are waited for anyway, and are much code.
  bool IsPlainReduce(const Reduce& reduce) {
    constexpr double kMostOperations = 8;
    if (reduce.results.empty() || reduce.combiner != nullptr || reduce.predicate != kNoValue ||
        reduce.inside != kNoValue || reduce.loops.size() != 1 || !IsOfRow(reduce.outer_loops)) {
      return false;
    }
    double operations = 0;
    int streams = 0;
    for (const Statement& statement : reduce.block->statements) {
      if (statement.kind != Kind::kOp || !IsPlain(kernel_.ops[statement.index])) return false;
      operations += OpCost(kernel_.ops[statement.index]);
      streams += IsStream(kernel_.ops[statement.index], reduce.loops[0]);
    }
    streams_ = std::max(streams_, streams);
    return operations <= kMostOperations;
  }

  // A load of a row that comes from where processors ask ahead.
  bool IsStream(const Op& op, int loop) const {
    constexpr int64_t kLeastRowBytes = 256;
    if (op.kind != OpKind::kLoad || !IsOfRow(op.loops)) return false;
    const int64_t width = hlo::ByteWidth(op.type);
    int64_t stride = 0;
    return LinearStride(kernel_.terms, op.offset, loop, 1, &stride) && stride == 1 &&
           kernel_.loops[loop].extent * width >= kLeastRowBytes &&
           kernel_.parameters[op.parameter].element_count() * width >= Tuning().kernels.stream_bytes;
  }

  bool ChooseCount() {
    if (streams_ == 0) return false;
    const int64_t extent = kernel_.loops[row_].extent;
    count_ = Tuning().kernels.streams / streams_;
    while (count_ > 1 && (extent % count_ != 0 || extent / count_ < threads_)) count_ /= 2;
    return count_ > 1;
  }

  IndexExpr Rewritten(const IndexExpr& expr, int64_t copy) {
    return kernel_.terms.Replace(&kernel_.terms, expr, [&](const IndexTerms::Term& term) {
      if (term.id != row_) return kernel_.terms.Loop(term.id, term.range.high + 1);
      const int64_t extent = kernel_.loops[outer_].extent, blocks = kernel_.loops[block_].extent;
      return kernel_.terms.Loop(block_, blocks) * (count_ * extent) + kernel_.terms.Loop(outer_, extent) +
             copy * extent;
    });
  }

  void RewriteLoops(uint64_t* loops) const {
    if (!IsOfRow(*loops)) return;
    ReplaceLoop(row_, outer_, loops);
    *loops |= uint64_t{1} << block_;
  }

  ValueId Named(ValueId id, int64_t copy) const {
    const auto found = copies_[static_cast<size_t>(copy)].find(id);
    return found == copies_[static_cast<size_t>(copy)].end() ? id : found->second;
  }

  ValueId AddCopy(ValueId id, int64_t copy, Op op) {
    const auto number = static_cast<ValueId>(kernel_.ops.size());
    copies_[static_cast<size_t>(copy)][id] = number;
    kernel_.ops.push_back(std::move(op));
    return number;
  }

  // The first copy is the original.
  void Copy(const Statement& statement, std::vector<Statement>* to) {
    to->push_back(statement);
    if (statement.kind == Kind::kReduce) return CopyReduce(&kernel_.reduces[statement.index]);
    if (statement.kind == Kind::kStore) return CopyStore(statement.index, to);
    const ValueId id = statement.index;
    const Op original = kernel_.ops[id];
    if (!IsOfRow(original.loops)) return;
    for (int64_t copy = 0; copy < count_; ++copy) {
      Op op = original;
      RewriteLoops(&op.loops);
      if (op.kind == OpKind::kReduced) {
        if (copy > 0) to->push_back({Kind::kOp, Named(id, copy)});
      } else {
        op.offset = Rewritten(op.offset, copy);
        for (ValueId& operand : op.operands) operand = Named(operand, copy);
        if (copy > 0) to->push_back({Kind::kOp, AddCopy(id, copy, op)});
      }
      if (copy == 0) kernel_.ops[id] = std::move(op);
    }
  }

  void CopyReduce(Reduce* reduce) {
    std::vector<Statement> together;
    for (const Statement& statement : reduce->block->statements) Copy(statement, &together);
    reduce->block->statements = std::move(together);
    RewriteLoops(&reduce->outer_loops);
    const size_t width = reduce->elements.size();
    reduce->rows = count_;
    for (int64_t copy = 1; copy < count_; ++copy) {
      for (size_t i = 0; i < width; ++i) {
        Op result = kernel_.ops[reduce->results[i]];
        RewriteLoops(&result.loops);
        result.offset = IndexExpr::Constant(copy * static_cast<int64_t>(width) + static_cast<int64_t>(i));
        reduce->results.push_back(AddCopy(reduce->results[i], copy, std::move(result)));
        reduce->elements.push_back(Named(reduce->elements[i], copy));
        reduce->inits.push_back(Named(reduce->inits[i], copy));
        reduce->combine_opcodes.push_back(reduce->combine_opcodes[i]);
      }
    }
  }

  void CopyStore(int number, std::vector<Statement>* to) {
    const Store original = kernel_.stores[number];
    for (int64_t copy = 0; copy < count_; ++copy) {
      Store store = original;
      store.offset = Rewritten(original.offset, copy);
      store.value = Named(original.value, copy);
      if (copy == 0) {
        kernel_.stores[number] = std::move(store);
      } else {
        to->push_back({Kind::kStore, static_cast<int>(kernel_.stores.size())});
        kernel_.stores.push_back(std::move(store));
      }
    }
  }

  Kernel& kernel_;
  Nest& nest_;
  const int threads_;
  int row_ = -1;                 // the loop over rows,
  int block_ = -1, outer_ = -1;  // those over blocks, and over a block's rows that are taken together
  int streams_ = 0;              // of a row
  int64_t count_ = 1;            // of rows together
  std::vector<absl::flat_hash_map<ValueId, ValueId>> copies_;
};

}  // namespace

void ReduceRowsTogether(Kernel* kernel, int threads) {
  for (Nest& nest : kernel->nests) RowsTogether(kernel, &nest, threads).Run();
}

}  // namespace kiln::kernel
