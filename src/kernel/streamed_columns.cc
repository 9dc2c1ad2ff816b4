#include "src/kernel/streamed_columns.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "src/analysis/streamed_columns.h"
#include "src/base/cpu_tuning.h"
#include "src/kernel/op_cost.h"
#include "src/kernel/scalar_emitter.h"
#include "src/kernel/schedule.h"
#include "src/kernel/stage_sharing.h"

namespace kiln::kernel {
namespace {

using Statement = Block::Statement;
using Kind = Block::Kind;

constexpr int64_t kLeastRows = 16;
// Floats that are added one after the other; their sums are added to others.
constexpr int64_t kMostStreamedRows = 128;
// Where rows are not divided columns are, into stretches, of some rows at once since processors hardly ask ahead.
// Longer ones are better, up to what accumulators may take of the second cache.
constexpr int64_t kStretchBytes = 32 << 10, kLeastStretchBytes = 4 << 10;
constexpr int64_t kRowsTogether = 4;
// Arrays of which the result is rows as well are in the first cache with all else up to here.
constexpr int64_t kLeastArrayBytes = 16 << 10;
// With more to do for an element memory is not what it waits for.
constexpr size_t kMostStreamedStatements = 32;

// What a loop is in the place that it is taken to, and the loops that this depends on.
struct Index {
  IndexExpr expr;
  uint64_t loops = 0;
};
using Indices = absl::flat_hash_map<int, Index>;  // by loop

int64_t LargestDivisor(int64_t number, int64_t most) {
  int64_t divisor = std::min(number, most);
  while (number % divisor != 0) --divisor;
  return divisor;
}

class StreamedColumns {
 public:
  StreamedColumns(Kernel* kernel, Nest* nest) : kernel_(*kernel), nest_(*nest) {}

  void Run() {
    if (!FindColumns() || !ChooseBlock()) return;
    if (block_ < Extent(columns_)) DivideColumns();
    for (const Statement& statement : std::exchange(nest_.body.statements, {})) {
      if (statement.kind == Kind::kReduce) {
        AddStages(statement.index);
      } else {
        nest_.body.statements.push_back(statement);
      }
    }
    KeepDear();
  }

 private:
  bool OfColumns(uint64_t loops) const { return (loops >> columns_ & 1) != 0; }
  int64_t Extent(int loop) const { return kernel_.loops[loop].extent; }

  int64_t RowsOf(const Reduce& reduce) const {
    int64_t rows = 1;
    for (int loop : reduce.loops) rows *= Extent(loop);
    return rows;
  }

  static bool Adds(hlo::Opcode opcode) { return opcode == hlo::Opcode::kAdd || opcode == hlo::Opcode::kMultiply; }

  // Whether rounding errors grow with the rows.
  bool Grows(const Reduce& reduce) const {
    for (size_t i = 0; i < reduce.inits.size(); ++i) {
      if (Adds(reduce.combine_opcodes[i]) && hlo::IsFloating(kernel_.ops[reduce.inits[i]].type)) return true;
    }
    return false;
  }

  // Of the last loop of a reduce: iterations that are added to one accumulator before it is added to another.
  int64_t RowsOfBlock(const Reduce& reduce) const {
    const int64_t rows = Extent(reduce.loops.back());
    if (!Grows(reduce)) return rows;
    const int64_t block = LargestDivisor(rows, kMostStreamedRows);
    if (rows % kRowsTogether != 0) return block;
    const int64_t whole = kRowsTogether * LargestDivisor(rows / kRowsTogether, kMostStreamedRows / kRowsTogether);
    return 2 * whole >= block ? whole : block;
  }

  // The nest's last loop, if all reduces of the nest run along it.
  bool FindColumns() {
    if (nest_.loops.empty() || nest_.repeat_loop >= 0) return false;
    columns_ = nest_.loops.back();
    all_columns_ = Extent(columns_);
    if (!absl::c_all_of(nest_.loops, [&](int l) { return kernel_.loops[l].kind == LoopKind::kParallel; })) return false;
    for (const Statement& statement : nest_.body.statements) {
      if (statement.kind == Kind::kReduce) {
        if (!IsOfColumns(kernel_.reduces[statement.index])) return false;
        around_ |= kernel_.reduces[statement.index].outer_loops;
        ++reduces_;
      } else if (statement.kind == Kind::kStore) {
        const Parameter& parameter = kernel_.parameters[kernel_.stores[statement.index].parameter];
        if (parameter.is_updated || parameter.is_local) return false;
      } else {
        // What indices are computed of is not repeated for rows.
        const Op& op = kernel_.ops[statement.index];
        if (op.kind == OpKind::kExternal || (op.kind == OpKind::kToIndex && OfColumns(op.loops))) return false;
      }
    }
    // Rows of the result that are made of the same sums read these sums' rows again, which have few places in the
    // first-level cache where they lie a power of two apart.
    has_rows_ = absl::c_any_of(nest_.loops, [&](int loop) { return (around_ >> loop & 1) == 0 && Extent(loop) > 1; });
    return reduces_ > 0 &&
           (has_rows_ ? far_bytes_ >= kLeastArrayBytes && Extent(columns_) * width_ >= analysis::kLeastStreamedBytes
                      : analysis::AreStreamed(Extent(columns_), width_, far_bytes_));
  }

  bool IsOfColumns(const Reduce& reduce) {
    if (!OfColumns(reduce.outer_loops) || reduce.results.empty() || reduce.combiner != nullptr ||
        reduce.predicate != kNoValue || reduce.inside != kNoValue || reduce.order != Reduce::Order::kAny) {
      return false;
    }
    if (RowsOf(reduce) < kLeastRows || RowsOfBlock(reduce) < std::min(RowsOf(reduce), kLeastRows)) return false;
    for (size_t i = 0; i < reduce.inits.size(); ++i) {
      const Op& init = kernel_.ops[reduce.inits[i]];
      const bool is_narrow = hlo::IsFloating(init.type) && hlo::BitWidth(init.type) < 32;
      if (OfColumns(init.loops) || hlo::IsComplex(init.type) || (is_narrow && Adds(reduce.combine_opcodes[i]))) {
        return false;
      }
      width_ += hlo::ByteWidth(init.type);
    }
    const std::vector<Statement>& statements = reduce.block->statements;
    if (!absl::c_all_of(reduce.elements, [&](ValueId id) { return MayBeRead(id, reduce); })) return false;
    return statements.size() <= kMostStreamedStatements && absl::c_all_of(statements, [&](const Statement& statement) {
             return statement.kind == Kind::kOp && Fits(kernel_.ops[statement.index], reduce);
           });
  }

  // An op of a reduce's block. Takes down whether one reads a large array along the rows.
  bool Fits(const Op& op, const Reduce& reduce) {
    if (op.kind == OpKind::kToIndex || op.kind == OpKind::kExternal || op.opcode == hlo::Opcode::kWhile) return false;
    const auto may_be_read = [&](ValueId id) { return MayBeRead(id, reduce); };
    if (!absl::c_all_of(op.operands, may_be_read) || !may_be_read(op.predicate)) return false;
    if (op.kind != OpKind::kLoad || !OfColumns(op.loops)) return true;
    int64_t stride;
    if (!LinearStride(kernel_.terms, op.offset, columns_, 1, &stride) || stride > 1 || stride < 0) return false;
    const Parameter& parameter = kernel_.parameters[op.parameter];
    if (stride == 1 && (op.loops & SetOf(reduce.loops)) != 0) {
      far_bytes_ = std::max(far_bytes_, parameter.element_count() * hlo::ByteWidth(parameter.type));
    }
    return true;
  }

  // By the rows of a reduce.
  bool MayBeRead(ValueId id, const Reduce& reduce) const {
    return id == kNoValue || !OfColumns(kernel_.ops[id].loops) || IsIn(*reduce.block, id) || IsCheap(id);
  }

  // A value of each column that may as well be found again for each row. What a reduce before gives is loaded.
  bool IsCheap(ValueId id) const {
    const auto is_loaded = [&](ValueId value) {
      return kernel_.ops[value].kind == OpKind::kLoad || kernel_.ops[value].kind == OpKind::kReduced;
    };
    const Op& op = kernel_.ops[id];
    const bool is_cheap = op.kind == OpKind::kConstant || is_loaded(id) ||
                          (op.kind == OpKind::kElementwise && OpCost(op) <= 1 && op.operands.size() <= 2);
    return is_cheap && op.predicate == kNoValue && absl::c_all_of(op.operands, [&](ValueId operand) {
             return is_loaded(operand) || !OfColumns(kernel_.ops[operand].loops);
           });
  }

  static bool IsIn(const Block& block, ValueId id) {
    return absl::c_any_of(block.statements, [&](const Statement& s) { return s.kind == Kind::kOp && s.index == id; });
  }

  // All columns where there are parts of the rows for threads, or stretches that divide them.
  bool ChooseBlock() {
    const int64_t columns = Extent(columns_);
    int64_t outside = 1;
    for (int loop : nest_.loops) outside *= loop == columns_ || (around_ >> loop & 1) == 0 ? 1 : Extent(loop);
    const bool is_divided = outside >= analysis::kLeastStreams;
    block_ = columns;
    if (!is_divided || columns * width_ > kStretchBytes) {
      const int64_t stretches = is_divided ? 1 : analysis::kLeastStreams;
      const int64_t most = std::max(columns / stretches, kLeastStretchBytes / width_);
      block_ = LargestDivisor(columns, std::min({most, kStretchBytes / width_, columns}));
    }
    constexpr size_t kLoopsOfReduce = 6;
    const size_t loops = kernel_.loops.size() + kLoopsOfReduce * reduces_ + 2;
    return loops <= kMaxLoops && block_ * width_ >= std::min(kLeastStretchBytes / 2, columns * width_);
  }

  int NewLoop(int64_t extent, LoopKind kind) {
    kernel_.loops.push_back({extent, kind});
    return static_cast<int>(kernel_.loops.size()) - 1;
  }

  Index IndexOf(int loop) { return {kernel_.terms.Loop(loop, Extent(loop)), uint64_t{1} << loop}; }

  IndexExpr Replaced(const IndexExpr& expr, const Indices& indices) {
    return kernel_.terms.Replace(&kernel_.terms, expr, [&](const IndexTerms::Term& term) {
      if (term.kind != IndexTerms::Kind::kLoop) {
        return kernel_.terms.Symbol(term.id, term.range, kernel_.ops[term.id].loops);
      }
      const auto found = indices.find(term.id);
      return found != indices.end() ? found->second.expr : kernel_.terms.Loop(term.id, term.range.high + 1);
    });
  }

  static void Replace(uint64_t* loops, const Indices& indices) {
    uint64_t out = 0, in = 0;
    for (const auto& [loop, index] : indices) {
      if ((*loops >> loop & 1) == 0) continue;
      out |= uint64_t{1} << loop;
      in |= index.loops;
    }
    *loops = (*loops & ~out) | in;
  }

  void Replace(Op* op, const Indices& indices) {
    if (op->kind == OpKind::kLoad || op->kind == OpKind::kIndex) op->offset = Replaced(op->offset, indices);
    for (Condition& condition : op->conditions) condition.expr = Replaced(condition.expr, indices);
    Replace(&op->loops, indices);
  }

  // The loop over columns becomes one over blocks of them and one over a block's.
  void DivideColumns() {
    const int blocks = NewLoop(Extent(columns_) / block_, LoopKind::kParallel);
    const int inner = NewLoop(block_, LoopKind::kParallel);
    const Index block = IndexOf(blocks), place = IndexOf(inner);
    const Indices indices = {{columns_, {block.expr * block_ + place.expr, block.loops | place.loops}}};
    const auto replace = [&](const Block& of) {
      for (const Statement& statement : of.statements) {
        if (statement.kind == Kind::kOp) Replace(&kernel_.ops[statement.index], indices);
        if (statement.kind != Kind::kStore) continue;
        Store& store = kernel_.stores[statement.index];
        store.offset = Replaced(store.offset, indices);
      }
    };
    replace(nest_.body);
    for (const Statement& statement : nest_.body.statements) {
      if (statement.kind != Kind::kReduce) continue;
      Reduce& reduce = kernel_.reduces[statement.index];
      replace(*reduce.block);
      Replace(&reduce.outer_loops, indices);
    }
    nest_.loops.back() = blocks;
    nest_.loops.push_back(inner);
    columns_ = inner;
  }

  // ---- Stages ----

  Block* NewStage(Block* in, std::vector<int> loops, uint64_t outer_loops) {
    Reduce stage;
    stage.loops = std::move(loops);
    stage.outer_loops = outer_loops;
    stage.block = std::make_unique<Block>();
    Block* block = stage.block.get();
    in->statements.push_back({Kind::kReduce, static_cast<int>(kernel_.reduces.size())});
    kernel_.reduces.push_back(std::move(stage));
    return block;
  }

  ValueId AddOp(Block* block, Op op) {
    const auto id = static_cast<ValueId>(kernel_.ops.size());
    kernel_.ops.push_back(std::move(op));
    block->statements.push_back({Kind::kOp, id});
    return id;
  }

  ValueId AddLoad(Block* block, int parameter, const Index& at) {
    Op load{OpKind::kLoad, kernel_.parameters[parameter].type, at.loops};
    load.parameter = parameter;
    load.offset = at.expr;
    return AddOp(block, std::move(load));
  }

  ValueId AddCombined(Block* block, hlo::Opcode opcode, ValueId a, ValueId b) {
    Op op{OpKind::kElementwise, kernel_.ops[a].type, kernel_.ops[a].loops | kernel_.ops[b].loops};
    op.opcode = opcode;
    op.operands = {a, b};
    return AddOp(block, std::move(op));
  }

  // Whether an accumulator of result `i` is a key, of which one instruction finds the larger.
  bool HasKeys(int number, size_t i) const {
    const Reduce& reduce = kernel_.reduces[number];
    return ScalarEmitter::FloatsHaveExtremeKeys(reduce.combine_opcodes[i], kernel_.ops[reduce.inits[i]].type);
  }

  // What is accumulated of a value.
  ValueId Accumulated(Block* block, int number, size_t i, ValueId value) {
    if (!HasKeys(number, i)) return value;
    Op key{OpKind::kKey, ScalarEmitter::TypeOfKey(kernel_.ops[value].type), kernel_.ops[value].loops};
    key.opcode = kernel_.reduces[number].combine_opcodes[i];
    key.operands = {value};
    return AddOp(block, std::move(key));
  }

  void AddStore(Block* block, int parameter, const Index& at, ValueId value) {
    block->statements.push_back({Kind::kStore, static_cast<int>(kernel_.stores.size())});
    kernel_.stores.push_back({parameter, at.expr, value, kNoValue});
  }

  // Accumulators of a block's columns, for each result of a reduce.
  int AddArrays(int number) {
    const auto first = static_cast<int>(kernel_.parameters.size());
    const std::vector<ValueId>& values = kernel_.reduces[number].inits;
    for (size_t i = 0; i < values.size(); ++i) {
      const hlo::PrimitiveType type = kernel_.ops[values[i]].type;
      Parameter local{HasKeys(number, i) ? ScalarEmitter::TypeOfKey(type) : type, {block_}};
      local.is_local = true;
      kernel_.parameters.push_back(std::move(local));
    }
    return first;
  }

  void AddBeginning(Block* in, int number, int arrays, const std::vector<ValueId>& values, uint64_t outer) {
    std::vector<ValueId> accumulated;
    for (size_t i = 0; i < values.size(); ++i) accumulated.push_back(Accumulated(in, number, i, values[i]));
    const int column = NewLoop(block_, LoopKind::kReduce);
    Block* block = NewStage(in, {column}, outer);
    for (size_t i = 0; i < values.size(); ++i) {
      AddStore(block, arrays + static_cast<int>(i), IndexOf(column), accumulated[i]);
    }
  }

  // The reduce's ops for `together` rows at once, `first_row` of the reduce's last loop and those that are `apart` from
  // one another behind it, added to the arrays.
  void AddRows(Block* in, int number, int arrays, std::vector<int> loops, const Index& first_row, int64_t together,
               int64_t apart, uint64_t outer) {
    const int column = NewLoop(block_, LoopKind::kReduce);
    const uint64_t inside = outer | SetOf(loops) | uint64_t{1} << column;
    loops.push_back(column);
    Block* block = NewStage(in, std::move(loops), outer);
    // Half as many lanes take a third less to compile, and a tenth more to run.
    if (together > 1 && apart > 1) kernel_.reduces.back().rows = 2;
    Indices indices = {{columns_, IndexOf(column)}};
    const int row = kernel_.reduces[number].loops.back();
    const std::vector<ValueId>& elements = kernel_.reduces[number].elements;
    const size_t count = elements.size();
    // A load of an accumulator depends on the rows before.
    const Index at = {IndexOf(column).expr, inside};
    std::vector<ValueId> sums;
    for (size_t i = 0; i < count; ++i) sums.push_back(AddLoad(block, arrays + static_cast<int>(i), at));
    const Block& originals = *kernel_.reduces[number].block;
    absl::flat_hash_map<ValueId, ValueId> of_columns;  // what is outside of the rows
    const std::function<ValueId(ValueId)> repeat = [&](ValueId id) {
      if (id == kNoValue || !OfColumns(kernel_.ops[id].loops) || IsIn(originals, id)) return id;
      if (const auto found = of_columns.find(id); found != of_columns.end()) return found->second;
      Op op = kernel_.ops[id];
      Replace(&op, indices);
      for (ValueId& operand : op.operands) operand = repeat(operand);
      return of_columns[id] = AddOp(block, std::move(op));
    };
    for (int64_t copy = 0; copy < together; ++copy) {
      indices[row] = {first_row.expr + copy * apart, first_row.loops};
      absl::flat_hash_map<ValueId, ValueId> copies;
      const auto name = [&](ValueId id) {
        const auto found = copies.find(id);
        return found == copies.end() ? repeat(id) : found->second;
      };
      for (const Statement& statement : originals.statements) {
        Op op = kernel_.ops[statement.index];
        Replace(&op, indices);
        for (ValueId& operand : op.operands) operand = name(operand);
        if (op.predicate != kNoValue) op.predicate = name(op.predicate);
        copies[statement.index] = AddOp(block, std::move(op));
      }
      for (size_t i = 0; i < count; ++i) {
        const ValueId element = Accumulated(block, number, i, name(elements[i]));
        sums[i] = AddCombined(block, kernel_.reduces[number].combine_opcodes[i], sums[i], element);
      }
    }
    for (size_t i = 0; i < count; ++i) AddStore(block, arrays + static_cast<int>(i), at, sums[i]);
  }

  void AddSums(Block* in, int number, int from, int to, uint64_t outer) {
    const int column = NewLoop(block_, LoopKind::kReduce);
    Block* block = NewStage(in, {column}, outer);
    const Index at = {IndexOf(column).expr, outer | uint64_t{1} << column};
    for (size_t i = 0; i < kernel_.reduces[number].inits.size(); ++i) {
      const auto array = static_cast<int>(i);
      const ValueId sum = AddLoad(block, to + array, at), part = AddLoad(block, from + array, at);
      AddStore(block, to + array, at, AddCombined(block, kernel_.reduces[number].combine_opcodes[i], sum, part));
    }
  }

  // In place of reduce `number`; its results are loaded where they were.
  void AddStages(int number) {
    const uint64_t outer = kernel_.reduces[number].outer_loops & ~(uint64_t{1} << columns_);
    outer_ |= outer;
    const std::vector<ValueId> inits = kernel_.reduces[number].inits;
    const int64_t rows = Extent(kernel_.reduces[number].loops.back()),
                  rows_of_block = RowsOfBlock(kernel_.reduces[number]);
    const bool has_blocks = Grows(kernel_.reduces[number]) && RowsOf(kernel_.reduces[number]) > kMostStreamedRows;
    const bool has_streams = far_bytes_ >= Tuning().kernels.stream_bytes;
    const int64_t together = block_ < all_columns_ ? std::gcd(rows_of_block, kRowsTogether)
                             : has_streams         ? std::gcd(rows_of_block, int64_t{Tuning().kernels.streams})
                                                   : 1;
    std::vector<int> loops = kernel_.reduces[number].loops;  // around those of a block
    loops.pop_back();
    const int in_block = NewLoop(rows_of_block / together, LoopKind::kReduce);
    Index row = IndexOf(in_block);
    const int64_t apart = has_streams && Tuning().kernels.streams > 1 ? rows_of_block / together : 1;
    if (apart == 1) row.expr = row.expr * together;
    if (rows_of_block < rows) {
      loops.push_back(NewLoop(rows / rows_of_block, LoopKind::kReduce));
      const Index block = IndexOf(loops.back());
      row = {block.expr * rows_of_block + row.expr, block.loops | row.loops};
    }
    const int sums = AddArrays(number);
    AddBeginning(&nest_.body, number, sums, inits, outer);
    if (!has_blocks) {
      loops.push_back(in_block);
      AddRows(&nest_.body, number, sums, std::move(loops), row, together, apart, outer);
    } else {
      const uint64_t around = outer | SetOf(loops);
      Block* block = NewStage(&nest_.body, std::move(loops), outer);
      const int parts = AddArrays(number);
      std::vector<ValueId> nothing;
      for (size_t i = 0; i < inits.size(); ++i) {
        Op identity{OpKind::kConstant, kernel_.ops[inits[i]].type};
        identity.literal = CombinerIdentity(kernel_.reduces[number].combine_opcodes[i], identity.type);
        nothing.push_back(AddOp(block, std::move(identity)));
      }
      AddBeginning(block, number, parts, nothing, around);
      AddRows(block, number, parts, {in_block}, row, together, apart, around);
      AddSums(block, number, parts, sums, around);
    }
    for (size_t i = 0; i < inits.size(); ++i) {
      const ValueId id = kernel_.reduces[number].results[i];
      const hlo::PrimitiveType type = kernel_.ops[id].type;
      const int array = sums + static_cast<int>(i);
      Op load{OpKind::kLoad, kernel_.parameters[array].type, kernel_.ops[id].loops};
      load.parameter = array;
      load.offset = IndexOf(columns_).expr;
      if (HasKeys(number, i)) {
        Op number_of_key{OpKind::kOfKey, type, load.loops};
        number_of_key.opcode = kernel_.reduces[number].combine_opcodes[i];
        number_of_key.operands = {AddOp(&nest_.body, std::move(load))};
        kernel_.ops[id] = std::move(number_of_key);
      } else {
        kernel_.ops[id] = std::move(load);
      }
    }
    kernel_.reduces[number].block->statements.clear();
  }

  // ---- What is made of the columns' sums ----

  // What is computed of a column at some expense, for all rows of the result, is kept in an array as the sums are.
  void KeepDear() {
    constexpr double kOfKey = 6;  // from the key of an extreme to its value
    if (!has_rows_) return;
    const uint64_t of_column = outer_ | uint64_t{1} << columns_;
    const auto is_of_column = [&](ValueId id) {
      return id != kNoValue && OfColumns(kernel_.ops[id].loops) && (kernel_.ops[id].loops & ~of_column) == 0;
    };
    absl::flat_hash_map<ValueId, double> cost;  // of those that may be computed elsewhere
    absl::flat_hash_set<ValueId> read;          // by what is computed for each row
    for (const Statement& statement : nest_.body.statements) {
      if (statement.kind == Kind::kOp && is_of_column(statement.index)) {
        const Op& op = kernel_.ops[statement.index];
        double own = op.kind == OpKind::kElementwise ? OpCost(op) + RoundingSaved(op)
                     : op.kind == OpKind::kOfKey     ? kOfKey
                                                     : 0;
        bool known = op.predicate == kNoValue && op.opcode != hlo::Opcode::kWhile &&
                     (op.kind == OpKind::kElementwise || op.kind == OpKind::kLoad || op.kind == OpKind::kIndex ||
                      op.kind == OpKind::kOfKey);
        for (ValueId operand : op.operands) {
          if (!is_of_column(operand)) continue;
          const auto found = cost.find(operand);
          known &= found != cost.end();
          if (known) own += found->second;
        }
        if (known) cost[statement.index] = own;
        continue;
      }
      ForEachOperand(kernel_, statement, [&](ValueId id) { read.insert(id); });
    }
    bool keeps = false;
    for (const Statement& statement : std::exchange(nest_.body.statements, {})) {
      nest_.body.statements.push_back(statement);
      if (statement.kind != Kind::kOp || !read.contains(statement.index)) continue;
      const auto found = cost.find(statement.index);
      if (found == cost.end() || found->second < Tuning().kernels.kept_operations) continue;
      if (kernel_.loops.size() >= kMaxLoops) break;
      KeepColumn(statement.index);
      keeps = true;
    }
    if (keeps) RemoveUnread(&kernel_);
  }

  // Computes value `id` in a stage of its own, before where it is read from then on.
  void KeepColumn(ValueId id) {
    const auto array = static_cast<int>(kernel_.parameters.size());
    Parameter local{kernel_.ops[id].type, {block_}};
    local.is_local = true;
    kernel_.parameters.push_back(std::move(local));
    const int column = NewLoop(block_, LoopKind::kReduce);
    Block* block = NewStage(&nest_.body, {column}, outer_);
    kernel_.reduces.back().one_register = true;  // once for each column
    const Indices indices = {{columns_, IndexOf(column)}};
    absl::flat_hash_map<ValueId, ValueId> copies;
    const std::function<ValueId(ValueId)> copy = [&](ValueId value) {
      if (!OfColumns(kernel_.ops[value].loops)) return value;
      if (const auto found = copies.find(value); found != copies.end()) return found->second;
      Op op = kernel_.ops[value];
      Replace(&op, indices);
      for (ValueId& operand : op.operands) operand = copy(operand);
      return copies[value] = AddOp(block, std::move(op));
    };
    AddStore(block, array, IndexOf(column), copy(id));
    // The stage stands before the op, which is a load now.
    const Statement stage = nest_.body.statements.back();
    nest_.body.statements.pop_back();
    nest_.body.statements.insert(nest_.body.statements.end() - 1, stage);
    Op load{OpKind::kLoad, kernel_.ops[id].type, kernel_.ops[id].loops};
    load.parameter = array;
    load.offset = IndexOf(columns_).expr;
    kernel_.ops[id] = std::move(load);
  }

  Kernel& kernel_;
  Nest& nest_;
  int columns_ = -1;
  int64_t all_columns_ = 0;
  size_t reduces_ = 0;
  int64_t width_ = 0;      // bytes of a column's accumulators
  int64_t block_ = 0;      // columns that are taken together
  int64_t far_bytes_ = 0;  // of the largest array that is read along the rows
  uint64_t around_ = 0;    // loops that the reduces depend on
  bool has_rows_ = false;  // the result has others
  uint64_t outer_ = 0;     // loops around the columns' stages
};

}  // namespace

void StreamColumns(Kernel* kernel) {
  for (Nest& nest : kernel->nests) StreamedColumns(kernel, &nest).Run();
}

}  // namespace kiln::kernel
