// Index arithmetic: sums of loop variables, data-dependent symbols, and floor divisions and remainders of such sums,
// kept in one canonical form so that the access pattern of a load can be read off.
#ifndef KILN_KERNEL_INDEX_EXPR_H_
#define KILN_KERNEL_INDEX_EXPR_H_

#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

namespace kiln::kernel {

// constant + sum of coefficient * term; terms are numbers given by an IndexTerms, ascending, coefficients nonzero.
struct IndexExpr {
  int64_t constant = 0;
  absl::InlinedVector<std::pair<int, int64_t>, 3> terms;

  static IndexExpr Constant(int64_t value) {
    IndexExpr expr;
    expr.constant = value;
    return expr;
  }
  bool IsConstant() const { return terms.empty(); }
  // 0 when the term does not occur at the top level.
  int64_t Coefficient(int term) const;

  bool operator==(const IndexExpr&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const IndexExpr& e) {
    return H::combine(std::move(h), e.constant, e.terms);
  }
};

IndexExpr operator+(const IndexExpr& a, const IndexExpr& b);
IndexExpr operator-(const IndexExpr& a, const IndexExpr& b);
IndexExpr operator+(const IndexExpr& a, int64_t b);
IndexExpr operator*(const IndexExpr& a, int64_t factor);

// Smallest and largest value, both included.
struct IndexRange {
  int64_t low = 0;
  int64_t high = 0;
};

// The terms of one kernel. Terms with equal meaning are one term.
class IndexTerms {
 public:
  enum class Kind : uint8_t { kLoop, kSymbol, kFloorDiv, kMod };
  struct Term {
    Kind kind;
    int id = 0;         // kLoop: loop number; kSymbol: value number
    IndexExpr inner;    // kFloorDiv, kMod
    int64_t divisor = 0;  // kFloorDiv, kMod: above 0
    IndexRange range;
    uint64_t loops = 0;  // bit l: depends on loop l
    int64_t size = 1;    // terms in it, each counted as often as it is written
  };

  // A loop variable that runs over [0, extent).
  IndexExpr Loop(int loop, int64_t extent);
  // The value of a kernel op, known to lie in `range`, that depends on `loops`.
  IndexExpr Symbol(int value, IndexRange range, uint64_t loops);

  // Rounding towards minus infinity; the remainder lies in [0, divisor). `divisor` is above 0.
  IndexExpr FloorDiv(const IndexExpr& expr, int64_t divisor);
  IndexExpr Mod(const IndexExpr& expr, int64_t divisor);

  // `expr` with (x floordiv d) * d + x mod d written as x.
  IndexExpr Recombine(IndexExpr expr);

  // `expr` where no loops become one any more: sums of loops in quotients and remainders are taken apart, so that
  // (64*i0 + i1) floordiv 1024 is i0 floordiv 16. As it is where a remainder stays: loops in it may lie in rows.
  IndexExpr WithLoopsApart(const IndexExpr& expr);

  IndexRange RangeOf(const IndexExpr& expr) const;
  uint64_t LoopsOf(const IndexExpr& expr) const;
  // Terms of `expr` written out; what computing it costs.
  int64_t SizeOf(const IndexExpr& expr) const;
  // The term number of a loop, or -1 when the loop was never made (extent 1 loops are the constant 0).
  int LoopTerm(int loop) const;

  // Two adjacent loops, outer a and inner b of extent B, become one loop numbered b over both, where b' = a * B + b.
  // True when `expr` allows it: the coefficient of a is B times that of b everywhere.
  bool CanCollapse(const IndexExpr& expr, int outer_loop, int inner_loop, int64_t inner_extent) const;
  // `expr` after that, in the terms of `to`. `value_loops[v]` are the loops that kernel op v depends on after it.
  IndexExpr CollapseInto(IndexTerms* to, const IndexExpr& expr, int outer_loop, int inner_loop, int64_t new_extent,
                         absl::Span<const uint64_t> value_loops) const;

  // `expr` in the terms of `to`, each loop and symbol in it replaced by what `leaf` gives for its term.
  IndexExpr Replace(IndexTerms* to, const IndexExpr& expr, const std::function<IndexExpr(const Term&)>& leaf) const;
  // For x floordiv d and x mod d, where x moves by 1 with `loop`, from a multiple of `lanes` on: what x mod d begins
  // with, when that is the same for all such runs: `lanes` is a multiple of d, or the loop is one run. Else -1.
  int64_t PhaseOf(const Term& term, int loop, int lanes) const;
  // Calls `visit` for the value of each symbol in `expr`.
  void ForEachSymbol(const IndexExpr& expr, const std::function<void(int)>& visit) const;

  const Term& term(int number) const { return terms_[number]; }
  // The term that is all of `expr`, or null. Another term may move it.
  const Term* Whole(const IndexExpr& expr) const;

  // "4*i0 + i1 floordiv 8 + 3"
  std::string ToString(const IndexExpr& expr) const;

 private:
  int Intern(Term term);
  // A divisor d of `divisor` by which expr = d * quotient + rest with 0 <= rest < d, so that the rest never carries; 1:
  // none.
  int64_t DivisorWithRest(const IndexExpr& expr, int64_t divisor, IndexExpr* quotient, IndexExpr* rest) const;
  IndexExpr Single(int term) const;
  bool IsSumOfLoops(const IndexExpr& expr) const;

  bool loops_are_apart_ = false;
  std::vector<Term> terms_;
  absl::flat_hash_map<std::tuple<int, int, int64_t, IndexExpr>, int> numbers_;
};

// Row-major linear offset of `index` in an array of these dimensions.
IndexExpr Linearize(absl::Span<const IndexExpr> index, absl::Span<const int64_t> dimensions);
// The inverse, for 0 <= linear < the product of the dimensions.
std::vector<IndexExpr> Delinearize(IndexTerms* terms, const IndexExpr& linear, absl::Span<const int64_t> dimensions);

// Where the element of an array of dimensions `from` at `index` is in one of dimensions `to` with the same elements in the
// same order. A dimension that is one of the other array as well keeps its index, also one that leads outside.
std::vector<IndexExpr> Reshaped(IndexTerms* terms, absl::Span<const IndexExpr> index, absl::Span<const int64_t> from,
                                absl::Span<const int64_t> to);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_INDEX_EXPR_H_
