#include "src/kernel/buffer_sharing.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"

namespace kiln::kernel {
namespace {

// The loops of a sum of loops: (coefficient, extent), those of `inside` apart. False for other sums.
bool SplitTerms(const Kernel& kernel, const IndexExpr& offset, uint64_t inside,
                std::vector<std::pair<int64_t, int>>* outer, std::vector<std::pair<int64_t, int64_t>>* inner) {
  for (const auto& [number, coefficient] : offset.terms) {
    const IndexTerms::Term& term = kernel.terms.term(number);
    if (term.kind != IndexTerms::Kind::kLoop) return false;
    if (inside >> term.id & 1) {
      inner->emplace_back(coefficient, kernel.loops[term.id].extent);
    } else {
      outer->emplace_back(coefficient, term.id);
    }
  }
  std::sort(outer->begin(), outer->end());
  std::sort(inner->begin(), inner->end());
  return true;
}

// Whether the reduce reads, for each row, just the elements that the store writes for it, and does so before.
bool ReadsOwnRow(const Kernel& kernel, const NestSchedule& schedule, const Reduce& reduce, const Op& load,
                 const Store& store) {
  const uint64_t reduced = SetOf(reduce.loops);
  uint64_t rows = 0, columns = 0;
  for (int loop : schedule.order) {
    const uint64_t bit = uint64_t{1} << loop;
    (reduce.outer_loops & bit ? rows : columns) |= bit;
  }
  // The loops over rows come first, and no two tasks share a row.
  const int row_loops = std::popcount(rows);
  for (int i = 0; i < row_loops; ++i) {
    if ((rows >> schedule.order[i] & 1) == 0) return false;
  }
  if (schedule.task_loops > row_loops || schedule.over_groups || schedule.tile.store_loop >= 0) return false;
  if (load.offset.constant != store.offset.constant || (load.loops & ~(rows | reduced)) != 0) return false;
  std::vector<std::pair<int64_t, int>> load_rows, store_rows;
  std::vector<std::pair<int64_t, int64_t>> load_inside, store_inside;
  return SplitTerms(kernel, load.offset, reduced, &load_rows, &load_inside) &&
         SplitTerms(kernel, store.offset, columns, &store_rows, &store_inside) && load_rows == store_rows &&
         load_inside == store_inside;
}

// Whether each element is written by one iteration, or again only after what that iteration reads is in registers: the
// loops that the place depends on come first, and tasks divide no others. Rows that are made again for each column are
// written by every task.
bool WritesOnce(const Kernel& kernel, absl::Span<const NestSchedule> schedules, const Store& store) {
  uint64_t rest = kernel.terms.LoopsOf(store.offset), again = 0;
  for (int loop : kernel.nests[0].loops) {
    const uint64_t bit = uint64_t{1} << loop;
    if (kernel.loops[loop].extent > 1 && (rest & bit) == 0) again |= bit;
  }
  if (again == 0) return true;
  if (schedules.size() != 1 || schedules[0].over_groups) return false;
  for (size_t i = 0; i < schedules[0].order.size() && rest != 0; ++i) {
    const uint64_t bit = uint64_t{1} << schedules[0].order[i];
    if ((again & bit) != 0) return false;
    rest &= ~bit;
  }
  return absl::c_all_of(absl::MakeConstSpan(schedules[0].order).first(schedules[0].task_loops),
                        [&](int loop) { return (again >> loop & 1) == 0; });
}

// The values of `offset` that are left over from multiples of `modulus`, if that is one range without a carry.
std::optional<IndexRange> Remainders(const Kernel& kernel, IndexExpr offset, int64_t modulus) {
  offset.terms.erase(std::remove_if(offset.terms.begin(), offset.terms.end(),
                                    [&](const auto& term) { return term.second % modulus == 0; }),
                     offset.terms.end());
  const IndexRange range = kernel.terms.RangeOf(offset);
  const int64_t low = (range.low % modulus + modulus) % modulus, high = low + (range.high - range.low);
  if (high >= modulus) return std::nullopt;
  return IndexRange{low, high};
}

// Whether two offsets are never the same, in whatever iterations: one behind the other, or in other columns.
bool NeverMeet(const Kernel& kernel, const IndexExpr& a, const IndexExpr& b) {
  const auto apart = [](const IndexRange& x, const IndexRange& y) { return x.high < y.low || y.high < x.low; };
  if (apart(kernel.terms.RangeOf(a), kernel.terms.RangeOf(b))) return true;
  for (const auto& [number, coefficient] : a.terms) {
    const int64_t modulus = std::abs(coefficient);
    const std::optional<IndexRange> of_a = Remainders(kernel, a, modulus), of_b = Remainders(kernel, b, modulus);
    if (of_a.has_value() && of_b.has_value() && apart(*of_a, *of_b)) return true;
  }
  return false;
}

}  // namespace

bool MayShareBuffer(const Kernel& kernel, absl::Span<const NestSchedule> schedules, int input, int output) {
  const bool is_same_width =
      hlo::ByteWidth(kernel.parameters[input].type) == hlo::ByteWidth(kernel.parameters[output].type);
  const auto is_written = [&](const IndexExpr& offset) {
    return !is_same_width || absl::c_any_of(kernel.stores, [&](const Store& store) {
      return store.parameter == output && !NeverMeet(kernel, offset, store.offset);
    });
  };
  // What nothing writes may be read at any time.
  auto reads_input = [&](ValueId value) {
    const Op& op = kernel.ops[value];
    return op.kind == OpKind::kLoad && op.parameter == input && is_written(op.offset);
  };
  // Ops that no block holds any more are not read.
  auto reads_in = [&](const Block& block) {
    return absl::c_count_if(block.statements, [&](const Block::Statement& statement) {
      return statement.kind == Block::Kind::kOp && reads_input(statement.index);
    });
  };
  int64_t reads = 0;
  for (const Nest& nest : kernel.nests) reads += reads_in(nest.body);
  for (const Reduce& reduce : kernel.reduces) reads += reads_in(*reduce.block);
  if (reads == 0) return true;
  if (kernel.nests.size() != 1) return false;
  // The last one; others store other elements.
  const Store* store = nullptr;
  const std::vector<Block::Statement>& statements = kernel.nests[0].body.statements;
  absl::flat_hash_set<IndexExpr> stored;
  int64_t harmless = 0;
  // Behind the stage that keeps what it makes of a row in the output the row of the input is gone.
  bool is_gone = false;
  for (const Block::Statement& statement : statements) {
    if (statement.kind != Block::Kind::kReduce) continue;
    const Block& block = *kernel.reduces[statement.index].block;
    if (is_gone && reads_in(block) > 0) return false;
    for (const Block::Statement& inside : block.statements) {
      if (inside.kind != Block::Kind::kStore || kernel.stores[inside.index].parameter != output) continue;
      is_gone = true;
      for (const Block::Statement& other : block.statements) {
        if (other.kind == Block::Kind::kOp && reads_input(other.index) &&
            kernel.ops[other.index].offset != kernel.stores[inside.index].offset) {
          return false;
        }
      }
    }
  }
  if (is_gone && reads_in(kernel.nests[0].body) > 0) return false;
  for (auto it = statements.rbegin(); it != statements.rend(); ++it) {
    if (it->kind == Block::Kind::kStore && kernel.stores[it->index].parameter == output) {
      if (!WritesOnce(kernel, schedules, kernel.stores[it->index])) return false;
      if (store == nullptr) store = &kernel.stores[it->index];
      stored.insert(kernel.stores[it->index].offset);
    }
    harmless += it->kind == Block::Kind::kOp && reads_input(it->index) && stored.contains(kernel.ops[it->index].offset);
  }
  if (store == nullptr || !is_same_width) return false;
  if (schedules.size() == 1 && kernel.parameters[input].element_count() == kernel.parameters[output].element_count()) {
    for (const Block::Statement& statement : kernel.nests[0].body.statements) {
      if (statement.kind != Block::Kind::kReduce) continue;
      const Reduce& reduce = kernel.reduces[statement.index];
      for (const Block::Statement& inside : reduce.block->statements) {
        if (inside.kind != Block::Kind::kOp || !reads_input(inside.index)) continue;
        const Op& load = kernel.ops[inside.index];
        if (load.offset == store->offset || !ReadsOwnRow(kernel, schedules[0], reduce, load, *store)) continue;
        ++harmless;
      }
    }
  }
  return harmless == reads;
}

}  // namespace kiln::kernel
