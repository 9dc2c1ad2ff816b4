#include "src/kernel/narrow_rows.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "src/kernel/body_copies.h"
#include "src/kernel/op_cost.h"

namespace kiln::kernel {
namespace {

constexpr int64_t kMaxCopies = 8;
constexpr int64_t kMaxCopied = 32;  // statements

class NarrowRows {
 public:
  NarrowRows(Kernel* kernel, Nest* nest, int vector_bytes)
      : kernel_(*kernel), nest_(*nest), vector_bytes_(vector_bytes) {}

  void Widen() {
    if (nest_.loops.size() < 2 || nest_.repeat_loop >= 0 || static_cast<int>(kernel_.loops.size()) + 1 >= kMaxLoops)
      return;
    if (!absl::c_all_of(nest_.loops, [&](int l) { return kernel_.loops[l].kind == LoopKind::kParallel; })) return;
    ChooseLoops(nest_.loops.back(), nest_.loops.end()[-2]);
    if (IsReadAcross()) return UnrollRow();
    ChooseLoops(nest_.loops.end()[-2], nest_.loops.back());
    if (!IsPlain()) return;
    if (RepeatsElements() || PicksElements()) {
      JoinLoops();
    } else if (DependsOnPlacesAndRows() && ChooseBlock() && !IsCheaperAcross()) {
      JoinRows();
    } else if (IsWrittenAcross()) {
      UnrollRow();
    }
  }

 private:
  void ChooseLoops(int outer, int row) {
    outer_ = outer;
    row_ = row;
    width_ = kernel_.loops[row].extent;
  }

  bool DependsOn(const IndexExpr& expr, int loop) const { return (kernel_.terms.LoopsOf(expr) >> loop & 1) != 0; }

  // The index goes through rows that lie one behind the other.
  bool LiesInRows(const IndexExpr& expr) const { return kernel_.terms.CanCollapse(expr, outer_, row_, width_); }

  // What is computed for all rows at once, as a stage that keeps a value of each.
  bool IsOutside(const Block::Statement& statement) const {
    return statement.kind == Block::Kind::kReduce &&
           (kernel_.reduces[statement.index].outer_loops & SetOf({outer_, row_})) == 0;
  }

  // Depends on the place in the row.
  bool IsCopied(const Block::Statement& statement) const {
    return statement.kind == Block::Kind::kStore ||
           (statement.kind == Block::Kind::kOp && (kernel_.ops[statement.index].loops >> row_ & 1) != 0);
  }

  int64_t CopiedStatements() const {
    return absl::c_count_if(nest_.body.statements, [&](const auto& at) { return IsCopied(at); });
  }

  // No reduces and loops inside of these, and results in rows.
  bool IsPlain() const {
    if (CopiedStatements() > kMaxCopied) return false;
    return absl::c_all_of(nest_.body.statements, [&](const Block::Statement& statement) {
      if (statement.kind == Block::Kind::kReduce) return IsOutside(statement);
      if (statement.kind == Block::Kind::kOp) return kernel_.ops[statement.index].opcode != hlo::Opcode::kWhile;
      const Store& store = kernel_.stores[statement.index];
      const Parameter& parameter = kernel_.parameters[store.parameter];
      return !parameter.is_updated && !parameter.is_local && LiesInRows(store.offset) && DependsOn(store.offset, row_);
    });
  }

  // The index goes through rows of any width, either way, and through their elements with any stride or none.
  bool LiesAlongRows(const IndexExpr& expr) const {
    return expr.Coefficient(kernel_.terms.LoopTerm(outer_)) != 0 && absl::c_all_of(expr.terms, [&](const auto& part) {
             const IndexTerms::Term& term = kernel_.terms.term(part.first);
             return term.kind == IndexTerms::Kind::kLoop || (term.loops & SetOf({outer_, row_})) == 0;
           });
  }

  // Each index is one of rows, or of a place in the row alone, or that of a load out of other rows.
  bool DependsOnPlacesAndRows() const {
    const auto fits = [&](const IndexExpr& expr) { return LiesInRows(expr) || !DependsOn(expr, outer_); };
    return absl::c_all_of(nest_.body.statements, [&](const Block::Statement& statement) {
      if (statement.kind != Block::Kind::kOp) return true;
      const Op& op = kernel_.ops[statement.index];
      const bool is_of_other_rows =
          op.kind == OpKind::kLoad && op.predicate == kNoValue && !hlo::IsComplex(op.type) && LiesAlongRows(op.offset);
      return (fits(op.offset) || is_of_other_rows) &&
             absl::c_all_of(op.conditions, [&](const Condition& condition) { return fits(condition.expr); });
    });
  }

  // Whether copies for the places of a row take less than copies for vectors: what depends on the row alone is there
  // once then, but all other accesses pick lanes out of as many vectors as a row has places.
  bool IsCheaperAcross() const {
    constexpr double kOtherRows = 1.5;  // shuffles and loads for a vector of other rows
    if (!IsWrittenAcross()) return false;
    const auto width = static_cast<double>(width_);
    double across = 0, together = 0;
    for (const Block::Statement& statement : nest_.body.statements) {
      if (statement.kind == Block::Kind::kStore) {
        across += width * (width - 1);
        continue;
      }
      const Op& op = kernel_.ops[statement.index];
      if (op.kind != OpKind::kLoad) {
        if ((op.loops & SetOf({outer_, row_})) == uint64_t{1} << outer_) together += (width - 1) * OpCost(op);
      } else if (DependsOn(op.offset, outer_)) {
        const int64_t pitch = op.offset.Coefficient(kernel_.terms.LoopTerm(outer_));
        across += (DependsOn(op.offset, row_) ? width : 1) * static_cast<double>(pitch == 1 ? 0 : pitch);
        if (!LiesInRows(op.offset)) together += width * kOtherRows;
      }
    }
    return across < together;
  }

  // Whole rows make a vector, and what is loaded is of rows or goes along the loop outside, but for what is uniform.
  bool RepeatsElements() const {
    if (Lanes(SetOf({outer_, row_})) % width_ != 0) return false;
    bool repeats = false;
    for (const Block::Statement& statement : nest_.body.statements) {
      if (statement.kind != Block::Kind::kOp) continue;
      const Op& op = kernel_.ops[statement.index];
      if (op.kind == OpKind::kToIndex || !op.conditions.empty()) return false;
      if ((op.kind != OpKind::kLoad && op.kind != OpKind::kIndex) || LiesInRows(op.offset)) continue;
      int64_t stride;
      if (op.kind == OpKind::kIndex || DependsOn(op.offset, row_) || hlo::IsComplex(op.type) ||
          !LinearStride(kernel_.terms, op.offset, outer_, 1, &stride) || stride < 0 || stride > width_) {
        return false;
      }
      repeats |= stride > 0;
    }
    return repeats;
  }

  // Rows are shorter than a vector, and elements of others are picked by indices that lie in rows: each lane finds its
  // own anyway.
  bool PicksElements() const {
    if (width_ >= Lanes(SetOf({outer_, row_}))) return false;
    bool picks = false;
    for (const Block::Statement& statement : nest_.body.statements) {
      if (statement.kind != Block::Kind::kOp) continue;
      const Op& op = kernel_.ops[statement.index];
      if (op.kind != OpKind::kLoad) continue;
      bool by_index = false;
      kernel_.terms.ForEachSymbol(
          op.offset, [&](ValueId index) { by_index |= (kernel_.ops[index].loops >> row_ & 1) != 0; });
      if (!by_index && !LiesInRows(op.offset)) return false;
      picks |= by_index;
    }
    return picks;
  }

  // Of a vector of the widest type that the body computes in `loops`.
  int64_t Lanes(uint64_t loops) const {
    int width = 1;
    for (const Block::Statement& statement : nest_.body.statements) {
      if (statement.kind != Block::Kind::kOp) continue;
      const Op& op = kernel_.ops[statement.index];
      if ((op.loops & loops) != 0) width = std::max(width, ComputeWidth(Target::kCpu, op));
    }
    return vector_bytes_ / width;
  }

  void JoinLoops() {
    const int64_t extent = kernel_.loops[outer_].extent * width_;
    for (Op& op : kernel_.ops) ReplaceLoop(outer_, row_, &op.loops);
    MakeCopies(1, [&](int64_t, IndexTerms* terms, const IndexTerms::Term& loop, bool in_rows) {
      if (loop.id != outer_ && loop.id != row_) return terms->Loop(loop.id, loop.range.high + 1);
      if (in_rows && loop.id == outer_) return IndexExpr();
      const IndexExpr place = terms->Loop(row_, extent);
      if (in_rows) return place;
      return loop.id == outer_ ? terms->FloorDiv(place, width_) : terms->Mod(place, width_);
    });
    kernel_.loops[outer_].extent = 1;
    kernel_.loops[row_].extent = extent;
    nest_.loops.erase(nest_.loops.end() - 2);
  }

  // How many lanes and vectors make a block, and how many blocks a stretch.
  bool ChooseBlock() {
    constexpr double kEnoughGain = 1.25;   // in lanes that are at work
    constexpr int64_t kMaxStretch = 4096;  // elements
    constexpr int64_t kMinRepeats = 4;     // that make what is computed once for all of them worth its instructions
    const int64_t all_lanes = Lanes(SetOf({outer_, row_})), rows = kernel_.loops[outer_].extent;
    const double fill = static_cast<double>(width_) / static_cast<double>((width_ + all_lanes - 1) / all_lanes);
    for (lanes_ = all_lanes; lanes_ >= 4; lanes_ /= 2) {
      const int64_t together = lanes_ / std::gcd(lanes_, width_);
      copies_ = together * width_ / lanes_;
      if (rows % together != 0 || !AreInVectors()) continue;
      if (width_ >= all_lanes || copies_ > kMaxCopies || static_cast<double>(lanes_) < kEnoughGain * fill) return false;
      const int64_t blocks = rows / together;
      repeats_ = std::min(blocks, kMaxStretch / (copies_ * lanes_));
      while (blocks % repeats_ != 0) --repeats_;
      stretches_ = blocks / repeats_;
      return repeats_ >= kMinRepeats;
    }
    return false;
  }

  // Whether what each vector loads out of other rows lies within two.
  bool AreInVectors() const {
    return absl::c_all_of(nest_.body.statements, [&](const Block::Statement& statement) {
      if (statement.kind != Block::Kind::kOp || kernel_.ops[statement.index].kind != OpKind::kLoad) return true;
      const IndexExpr& offset = kernel_.ops[statement.index].offset;
      if (LiesInRows(offset) || !DependsOn(offset, outer_)) return true;
      const int64_t pitch = offset.Coefficient(kernel_.terms.LoopTerm(outer_));
      const int64_t step = offset.Coefficient(kernel_.terms.LoopTerm(row_));
      const auto element = [&](int64_t place) { return place / width_ * pitch + place % width_ * step; };
      for (int64_t begin = 0; begin < copies_ * lanes_; begin += lanes_) {
        int64_t low = element(begin), high = low;
        for (int64_t place = begin; place < begin + lanes_; ++place) {
          low = std::min(low, element(place));
          high = std::max(high, element(place));
        }
        if (high - low >= 2 * lanes_) return false;
      }
      return true;
    });
  }

  void JoinRows() {
    const int repeat = static_cast<int>(kernel_.loops.size());
    for (Op& op : kernel_.ops) {
      if ((op.loops >> outer_ & 1) != 0) op.loops |= uint64_t{1} << row_ | uint64_t{1} << repeat;
    }
    const int64_t block = copies_ * lanes_;
    MakeCopies(copies_, [&](int64_t copy, IndexTerms* terms, const IndexTerms::Term& loop, bool in_rows) {
      if (loop.id != outer_ && loop.id != row_) return terms->Loop(loop.id, loop.range.high + 1);
      const IndexExpr place = terms->Loop(row_, lanes_) + copy * lanes_;
      const IndexExpr first = (terms->Loop(outer_, stretches_) * repeats_ + terms->Loop(repeat, repeats_)) * block;
      if (in_rows) return loop.id == outer_ ? IndexExpr() : first + place;
      return loop.id == row_ ? terms->Mod(place, width_) : terms->FloorDiv(first + place, width_);
    });
    kernel_.loops[outer_].extent = stretches_;
    kernel_.loops[row_].extent = lanes_;
    kernel_.loops.push_back({repeats_, LoopKind::kParallel});
    if (stretches_ == 1) nest_.loops.erase(nest_.loops.end() - 2);
    nest_.loops.push_back(repeat);
    nest_.repeat_loop = repeat;
  }

  // Rows of a few elements; stores that can alternate, and loads that go along the loop outside.
  bool IsWrittenAcross() const {
    // Those are transposed in tiles, and what is only moved already of eight.
    if (width_ > kMaxCopies || (width_ == kMaxCopies && CopiedStatements() <= 2)) return false;
    bool along_outer = false;
    for (const Block::Statement& statement : nest_.body.statements) {
      if (statement.kind == Block::Kind::kStore) {
        const Store& store = kernel_.stores[statement.index];
        if (store.predicate != kNoValue || hlo::IsComplex(kernel_.parameters[store.parameter].type)) return false;
        continue;
      }
      if (statement.kind == Block::Kind::kReduce) return false;
      const Op& op = kernel_.ops[statement.index];
      int64_t stride;
      // Or through rows of another width or order, whose places are picked out of vectors.
      along_outer |= op.kind == OpKind::kLoad && LinearStride(kernel_.terms, op.offset, outer_, 1, &stride) &&
                     stride >= 1 && (stride == 1 || (stride <= kMaxCopies && !LiesInRows(op.offset)));
    }
    return along_outer;
  }

  // Rows of a few elements that are loaded, and stored each in another place: all loads pick places out of vectors,
  // which are the same for all elements of a row.
  bool IsReadAcross() const {
    // Stores that change from one place to another are slow where they cross lines of the cache. Rows of two or three
    // narrow elements that the cache holds are sooner read several times.
    constexpr int64_t kFewNarrow = 3, kNarrowBytes = 2, kCachedBytes = 256 << 10;
    if (width_ >= kMaxCopies || width_ * CopiedStatements() > kMaxCopied) return false;
    bool across = false;
    int64_t loaded = 0, stored_bytes = 0;
    for (const Block::Statement& statement : nest_.body.statements) {
      if (statement.kind == Block::Kind::kReduce) return false;
      if (statement.kind == Block::Kind::kStore) {
        const Store& store = kernel_.stores[statement.index];
        const Parameter& parameter = kernel_.parameters[store.parameter];
        int64_t stride;
        if (store.predicate != kNoValue || parameter.is_updated || parameter.is_local ||
            hlo::IsComplex(parameter.type) || !DependsOn(store.offset, row_) ||
            !LinearStride(kernel_.terms, store.offset, outer_, 1, &stride) || stride != 1) {
          return false;
        }
        stored_bytes = std::max<int64_t>(stored_bytes, hlo::ByteWidth(parameter.type));
        continue;
      }
      const Op& op = kernel_.ops[statement.index];
      if (op.opcode == hlo::Opcode::kWhile || op.kind == OpKind::kToIndex || !op.conditions.empty()) return false;
      if (op.kind != OpKind::kLoad || !DependsOn(op.offset, row_)) continue;
      const int64_t step = op.offset.Coefficient(kernel_.terms.LoopTerm(row_));
      int64_t stride;
      if (op.predicate != kNoValue || hlo::IsComplex(op.type) ||
          !LinearStride(kernel_.terms, op.offset, outer_, 1, &stride) || stride < 0 || stride > kMaxCopies) {
        return false;
      }
      loaded = std::max(loaded, stride * kernel_.loops[outer_].extent * hlo::ByteWidth(op.type));
      across |= step > 0 && step * (width_ - 1) < stride;
    }
    return across && (width_ > kFewNarrow || stored_bytes > kNarrowBytes || loaded > kCachedBytes);
  }

  void UnrollRow() {
    MakeCopies(width_, [&](int64_t copy, IndexTerms* terms, const IndexTerms::Term& loop, bool) {
      return loop.id == row_ ? IndexExpr::Constant(copy) : terms->Loop(loop.id, loop.range.high + 1);
    });
    for (Op& op : kernel_.ops) op.loops &= ~(uint64_t{1} << row_);
    nest_.loops.erase(absl::c_find(nest_.loops, row_));
    // Loads and stores that lie side by side become one, where none of the others is between.
    const auto is_store = [](const Block::Statement& at) { return at.kind == Block::Kind::kStore; };
    absl::c_stable_sort(nest_.body.statements, [&](const auto& a, const auto& b) { return is_store(a) < is_store(b); });
  }

  // Copies of what depends on the place in the row; `index` is told whether the loop is in an index that LiesInRows.
  template <typename Index>
  void MakeCopies(int64_t count, const Index& index) {
    CopyBody(&kernel_, &nest_, row_, count,
             [&](int64_t copy, IndexTerms* terms, const IndexTerms::Term& loop, const IndexExpr& expr) {
               return index(copy, terms, loop, LiesInRows(expr));
             });
  }

  Kernel& kernel_;
  Nest& nest_;
  const int vector_bytes_;
  int outer_ = -1, row_ = -1;
  int64_t width_ = 0;  // of a row
  int64_t lanes_ = 1, copies_ = 1, repeats_ = 1, stretches_ = 1;
};

}  // namespace

void WidenNarrowRows(Kernel* kernel, const TargetInfo& target) {
  for (Nest& nest : kernel->nests) NarrowRows(kernel, &nest, target.vector_bytes).Widen();
}

}  // namespace kiln::kernel
