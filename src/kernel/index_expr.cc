#include "src/kernel/index_expr.h"

#include <algorithm>
#include <numeric>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace kiln::kernel {
namespace {

int64_t FloorDivide(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

IndexExpr Combine(const IndexExpr& a, const IndexExpr& b, int64_t factor) {
  IndexExpr sum;
  sum.constant = a.constant + b.constant * factor;
  auto x = a.terms.begin(), y = b.terms.begin();
  while (x != a.terms.end() || y != b.terms.end()) {
    if (y == b.terms.end() || (x != a.terms.end() && x->first < y->first)) {
      sum.terms.push_back(*x++);
    } else if (x == a.terms.end() || y->first < x->first) {
      sum.terms.push_back({y->first, y->second * factor});
      ++y;
    } else {
      int64_t coefficient = x->second + y->second * factor;
      if (coefficient != 0) sum.terms.push_back({x->first, coefficient});
      ++x;
      ++y;
    }
  }
  return sum;
}

}  // namespace

int64_t IndexExpr::Coefficient(int term) const {
  const auto found = absl::c_find_if(terms, [&](const auto& part) { return part.first == term; });
  return found == terms.end() ? 0 : found->second;
}

IndexExpr operator+(const IndexExpr& a, const IndexExpr& b) { return Combine(a, b, 1); }
IndexExpr operator-(const IndexExpr& a, const IndexExpr& b) { return Combine(a, b, -1); }
IndexExpr operator+(const IndexExpr& a, int64_t b) {
  IndexExpr sum = a;
  sum.constant += b;
  return sum;
}
IndexExpr operator*(const IndexExpr& a, int64_t factor) {
  if (factor == 0) return IndexExpr();
  IndexExpr product = a;
  product.constant *= factor;
  for (auto& [number, coefficient] : product.terms) coefficient *= factor;
  return product;
}

IndexExpr IndexTerms::Single(int term) const {
  IndexExpr expr;
  expr.terms.push_back({term, 1});
  return expr;
}

int IndexTerms::Intern(Term term) {
  auto key = std::make_tuple(static_cast<int>(term.kind), term.id, term.divisor, term.inner);
  auto [it, inserted] = numbers_.try_emplace(std::move(key), static_cast<int>(terms_.size()));
  term.size = 1 + SizeOf(term.inner);
  if (inserted) terms_.push_back(std::move(term));
  return it->second;
}

IndexExpr IndexTerms::Loop(int loop, int64_t extent) {
  if (extent <= 1) return IndexExpr();
  return Single(Intern({Kind::kLoop, loop, {}, 0, {0, extent - 1}, uint64_t{1} << loop}));
}

IndexExpr IndexTerms::Symbol(int value, IndexRange range, uint64_t loops) {
  if (range.low == range.high) return IndexExpr::Constant(range.low);
  return Single(Intern({Kind::kSymbol, value, {}, 0, range, loops}));
}

const IndexTerms::Term* IndexTerms::Whole(const IndexExpr& expr) const {
  const bool is_term = expr.terms.size() == 1 && expr.terms[0].second == 1 && expr.constant == 0;
  return is_term ? &terms_[expr.terms[0].first] : nullptr;
}

int IndexTerms::LoopTerm(int loop) const {
  auto it = numbers_.find(std::make_tuple(static_cast<int>(Kind::kLoop), loop, int64_t{0}, IndexExpr()));
  return it == numbers_.end() ? -1 : it->second;
}

IndexRange IndexTerms::RangeOf(const IndexExpr& expr) const {
  // Indices that come from data may be anything, and times a row's length more than that.
  constexpr __int128 kFar = int64_t{1} << 60;
  __int128 low = expr.constant, high = expr.constant;
  for (const auto& [number, coefficient] : expr.terms) {
    const IndexRange& term = terms_[number].range;
    low += __int128{coefficient} * (coefficient > 0 ? term.low : term.high);
    high += __int128{coefficient} * (coefficient > 0 ? term.high : term.low);
  }
  return {static_cast<int64_t>(std::clamp(low, -kFar, kFar)), static_cast<int64_t>(std::clamp(high, -kFar, kFar))};
}

int64_t IndexTerms::SizeOf(const IndexExpr& expr) const {
  constexpr int64_t kEnough = int64_t{1} << 40;
  int64_t size = 0;
  for (const auto& [number, coefficient] : expr.terms) size = std::min(size + terms_[number].size, kEnough);
  return size;
}

uint64_t IndexTerms::LoopsOf(const IndexExpr& expr) const {
  uint64_t loops = 0;
  for (const auto& [number, coefficient] : expr.terms) loops |= terms_[number].loops;
  return loops;
}

namespace {

// expr = divisor * quotient + rest, where rest has the terms whose coefficients divisor does not divide and a constant
// in [0, divisor).
void SplitByDivisor(const IndexExpr& expr, int64_t divisor, IndexExpr* quotient, IndexExpr* rest) {
  quotient->constant = FloorDivide(expr.constant, divisor);
  rest->constant = expr.constant - quotient->constant * divisor;
  for (const auto& [number, coefficient] : expr.terms) {
    // The part of the coefficient that divides evenly goes out, so that 9*i mod 8 is i mod 8.
    const bool whole = coefficient % divisor == 0;
    (whole ? quotient : rest)->terms.push_back({number, whole ? coefficient / divisor : coefficient});
  }
}

// As well, with the multiples of the divisor that lie nearest to the coefficients and a constant to begin with a rest
// of [0, divisor): 255*i + j is 256*i + (j - i).
void SplitByNearest(const IndexTerms& terms, const IndexExpr& expr, int64_t divisor, IndexExpr* quotient,
                    IndexExpr* rest) {
  rest->constant = expr.constant;
  for (const auto& [number, coefficient] : expr.terms) {
    const int64_t nearest = FloorDivide(coefficient + divisor / 2, divisor);
    if (nearest != 0) quotient->terms.push_back({number, nearest});
    if (coefficient != nearest * divisor) rest->terms.push_back({number, coefficient - nearest * divisor});
  }
  quotient->constant = FloorDivide(terms.RangeOf(*rest).low, divisor);
  rest->constant -= quotient->constant * divisor;
}

// The largest g that divides the divisor and all coefficients of the terms of `expr`.
int64_t CommonDivisor(const IndexExpr& expr, int64_t divisor) {
  int64_t g = divisor;
  for (const auto& [number, coefficient] : expr.terms) g = std::gcd(g, coefficient);
  return g;
}

IndexExpr DivideCoefficients(const IndexExpr& expr, int64_t by) {
  IndexExpr result = expr;
  result.constant = FloorDivide(expr.constant, by);
  for (auto& [number, coefficient] : result.terms) coefficient /= by;
  return result;
}

}  // namespace

int64_t IndexTerms::DivisorWithRest(const IndexExpr& expr, int64_t divisor, IndexExpr* quotient,
                                    IndexExpr* rest) const {
  for (const auto& [number, coefficient] : expr.terms) {
    const int64_t d = std::gcd(coefficient, divisor);
    if (d == 1) continue;
    *quotient = *rest = IndexExpr();
    SplitByDivisor(expr, d, quotient, rest);
    const IndexRange range = RangeOf(*rest);
    // Sums of loops alone may become one loop.
    if ((loops_are_apart_ || !IsSumOfLoops(*rest)) && range.low >= 0 && range.high < d) return d;
  }
  return 1;
}

IndexExpr IndexTerms::FloorDiv(const IndexExpr& expr, int64_t divisor) {
  if (divisor == 1) return expr;
  IndexExpr quotient, rest, whole_part, small_part;
  SplitByDivisor(expr, divisor, &quotient, &rest);
  IndexRange range = RangeOf(rest);
  if (range.low >= 0 && range.high < divisor) return quotient;
  if (rest.terms.empty()) return quotient;
  SplitByNearest(*this, rest, divisor, &whole_part, &small_part);
  if (RangeOf(small_part).high < divisor) return quotient + whole_part;
  whole_part = small_part = IndexExpr();
  // floor((g*x + c) / (g*d)) = floor((x + floor(c/g)) / d): the rest of the constant never carries.
  int64_t g = CommonDivisor(rest, divisor);
  if (g > 1) return quotient + FloorDiv(DivideCoefficients(rest, g), divisor / g);
  // floor(floor(x/a)/b) = floor(x/(a*b)).
  if (const Term* whole = Whole(rest); whole != nullptr && whole->kind == Kind::kFloorDiv) {
    return quotient + FloorDiv(IndexExpr(whole->inner), whole->divisor * divisor);
  }
  if (const int64_t d = DivisorWithRest(rest, divisor, &whole_part, &small_part); d > 1) {
    return quotient + FloorDiv(whole_part, divisor / d);
  }
  Term term{Kind::kFloorDiv, 0, rest, divisor, {FloorDivide(range.low, divisor), FloorDivide(range.high, divisor)},
            LoopsOf(rest)};
  return quotient + Single(Intern(std::move(term)));
}

IndexExpr IndexTerms::Mod(const IndexExpr& expr, int64_t divisor) {
  if (divisor == 1) return IndexExpr();
  IndexExpr quotient, rest, whole_part, small_part;
  SplitByDivisor(expr, divisor, &quotient, &rest);
  IndexRange range = RangeOf(rest);
  if (range.low >= 0 && range.high < divisor) return rest;
  if (rest.terms.empty()) return IndexExpr::Constant(rest.constant);
  SplitByNearest(*this, rest, divisor, &whole_part, &small_part);
  if (RangeOf(small_part).high < divisor) return small_part;
  whole_part = small_part = IndexExpr();
  // (g*x + c) mod (g*d) = g * ((x + floor(c/g)) mod d) + c mod g.
  int64_t g = CommonDivisor(rest, divisor);
  if (g > 1) {
    return Mod(DivideCoefficients(rest, g), divisor / g) * g + (rest.constant - FloorDivide(rest.constant, g) * g);
  }
  // (x mod a) mod b = x mod b where b divides a.
  if (const Term* whole = Whole(rest); whole != nullptr && whole->kind == Kind::kMod && whole->divisor % divisor == 0) {
    return Mod(IndexExpr(whole->inner), divisor);
  }
  if (const int64_t d = DivisorWithRest(rest, divisor, &whole_part, &small_part); d > 1) {
    return Mod(whole_part, divisor / d) * d + small_part;
  }
  Term term{Kind::kMod, 0, rest, divisor, {0, divisor - 1}, LoopsOf(rest)};
  return Single(Intern(std::move(term)));
}

IndexExpr IndexTerms::Recombine(IndexExpr expr) {
  for (size_t i = 0; i < expr.terms.size();) {
    const auto [number, coefficient] = expr.terms[i++];
    if (terms_[number].kind != Kind::kMod) continue;
    const IndexExpr whole = terms_[number].inner;
    const int64_t divisor = terms_[number].divisor;
    const IndexExpr quotient = FloorDiv(whole, divisor);
    if (Whole(quotient) == nullptr) continue;
    if (expr.Coefficient(quotient.terms[0].first) != coefficient * divisor) continue;
    expr = expr - quotient * (coefficient * divisor) - Single(number) * coefficient + whole * coefficient;
    i = 0;
  }
  return expr;
}

bool IndexTerms::IsSumOfLoops(const IndexExpr& expr) const {
  return absl::c_all_of(expr.terms, [&](const auto& part) { return term(part.first).kind == Kind::kLoop; });
}

IndexExpr IndexTerms::WithLoopsApart(const IndexExpr& expr) {
  if (IsSumOfLoops(expr)) return expr;
  loops_are_apart_ = true;
  const IndexExpr apart = Recombine(Replace(this, expr, [&](const Term& term) {
    return term.kind == Kind::kLoop ? Loop(term.id, term.range.high + 1) : Symbol(term.id, term.range, term.loops);
  }));
  loops_are_apart_ = false;
  const bool has_remainder =
      absl::c_any_of(apart.terms, [&](const auto& part) { return term(part.first).kind == Kind::kMod; });
  return IsSumOfLoops(apart) || (!has_remainder && SizeOf(apart) < SizeOf(expr)) ? apart : expr;
}

bool IndexTerms::CanCollapse(const IndexExpr& expr, int outer_loop, int inner_loop, int64_t inner_extent) const {
  const int outer = LoopTerm(outer_loop), inner = LoopTerm(inner_loop);
  if (expr.Coefficient(outer) != inner_extent * expr.Coefficient(inner)) return false;
  const uint64_t both = uint64_t{1} << outer_loop | uint64_t{1} << inner_loop;
  for (const auto& [number, coefficient] : expr.terms) {
    const Term& term = terms_[number];
    if (number == outer || number == inner || (term.loops & both) == 0) continue;
    // A symbol's own index expressions are checked where its value is loaded.
    if (term.kind == Kind::kSymbol) continue;
    if (!CanCollapse(term.inner, outer_loop, inner_loop, inner_extent)) return false;
  }
  return true;
}

IndexExpr IndexTerms::CollapseInto(IndexTerms* to, const IndexExpr& expr, int outer_loop, int inner_loop,
                                   int64_t new_extent, absl::Span<const uint64_t> value_loops) const {
  return Replace(to, expr, [&](const Term& term) {
    if (term.kind == Kind::kSymbol) return to->Symbol(term.id, term.range, value_loops[term.id]);
    if (term.id == outer_loop) return IndexExpr();
    return to->Loop(term.id, term.id == inner_loop ? new_extent : term.range.high + 1);
  });
}

IndexExpr IndexTerms::Replace(IndexTerms* to, const IndexExpr& expr,
                              const std::function<IndexExpr(const Term&)>& leaf) const {
  IndexExpr result = IndexExpr::Constant(expr.constant);
  for (const auto& [number, coefficient] : expr.terms) {
    const Term term = terms_[number];  // `to` may be this and grow
    const bool is_leaf = term.kind == Kind::kLoop || term.kind == Kind::kSymbol;
    IndexExpr part = is_leaf ? leaf(term) : Replace(to, term.inner, leaf);
    if (term.kind == Kind::kFloorDiv) part = to->FloorDiv(part, term.divisor);
    if (term.kind == Kind::kMod) part = to->Mod(part, term.divisor);
    result = result + part * coefficient;
  }
  return result;
}

int64_t IndexTerms::PhaseOf(const Term& term, int loop, int lanes) const {
  if (term.kind != Kind::kFloorDiv && term.kind != Kind::kMod) return -1;
  bool moves = false, is_one_run = false;
  for (const auto& [number, coefficient] : term.inner.terms) {
    const Term& inner = this->term(number);
    if (inner.kind == Kind::kLoop && inner.id == loop) {
      if (coefficient != 1) return -1;
      moves = true;
      is_one_run = inner.range.high == lanes - 1;
    } else if ((inner.loops >> loop & 1) != 0 || coefficient % term.divisor != 0) {
      return -1;
    }
  }
  if (!moves || (lanes % term.divisor != 0 && !is_one_run)) return -1;
  return (term.inner.constant % term.divisor + term.divisor) % term.divisor;
}

void IndexTerms::ForEachSymbol(const IndexExpr& expr, const std::function<void(int)>& visit) const {
  for (const auto& [number, coefficient] : expr.terms) {
    const Term& term = terms_[number];
    if (term.kind == Kind::kSymbol) visit(term.id);
    ForEachSymbol(term.inner, visit);
  }
}

std::string IndexTerms::ToString(const IndexExpr& expr) const {
  std::string text;
  for (const auto& [number, coefficient] : expr.terms) {
    const Term& term = terms_[number];
    if (!text.empty()) text += " + ";
    if (coefficient != 1) absl::StrAppend(&text, coefficient, "*");
    switch (term.kind) {
      case Kind::kLoop:
        absl::StrAppend(&text, "i", term.id);
        break;
      case Kind::kSymbol:
        absl::StrAppend(&text, "[v", term.id, "]");
        break;
      case Kind::kFloorDiv:
        absl::StrAppend(&text, "((", ToString(term.inner), ") floordiv ", term.divisor, ")");
        break;
      case Kind::kMod:
        absl::StrAppend(&text, "((", ToString(term.inner), ") mod ", term.divisor, ")");
        break;
    }
  }
  if (text.empty()) return absl::StrCat(expr.constant);
  if (expr.constant != 0) absl::StrAppend(&text, " + ", expr.constant);
  return text;
}

IndexExpr Linearize(absl::Span<const IndexExpr> index, absl::Span<const int64_t> dimensions) {
  IndexExpr linear;
  int64_t stride = 1;
  for (size_t i = index.size(); i-- > 0;) {
    linear = linear + index[i] * stride;
    stride *= dimensions[i];
  }
  return linear;
}

std::vector<IndexExpr> Delinearize(IndexTerms* terms, const IndexExpr& linear, absl::Span<const int64_t> dimensions) {
  std::vector<IndexExpr> index(dimensions.size());
  int64_t stride = 1;
  for (size_t i = dimensions.size(); i-- > 0;) {
    IndexExpr quotient = terms->FloorDiv(linear, stride);
    // The outermost dimension needs no remainder.
    bool outermost = true;
    for (size_t j = 0; j < i; ++j) outermost &= dimensions[j] == 1;
    index[i] = dimensions[i] == 1 ? IndexExpr() : outermost ? quotient : terms->Mod(quotient, dimensions[i]);
    stride *= dimensions[i];
  }
  return index;
}

std::vector<IndexExpr> Reshaped(IndexTerms* terms, absl::Span<const IndexExpr> index, absl::Span<const int64_t> from,
                                absl::Span<const int64_t> to) {
  std::vector<IndexExpr> result(to.size());
  for (size_t i = 0, j = 0; i < from.size() && j < to.size();) {
    if (from[i] == 1) {
      ++i;
      continue;
    }
    if (to[j] == 1) {
      ++j;
      continue;
    }
    // The fewest dimensions of both that have as many elements together.
    size_t last_i = i + 1, last_j = j + 1;
    int64_t in_from = from[i], in_to = to[j];
    while (in_from != in_to) {
      if (in_from < in_to && last_i < from.size()) {
        in_from *= from[last_i++];
      } else if (last_j < to.size()) {
        in_to *= to[last_j++];
      } else {
        break;
      }
    }
    if (last_i == i + 1 && last_j == j + 1) {
      result[j] = index[i];
    } else {
      const IndexExpr linear = terms->Recombine(Linearize(index.subspan(i, last_i - i), from.subspan(i, last_i - i)));
      const std::vector<IndexExpr> inside = Delinearize(terms, linear, to.subspan(j, last_j - j));
      absl::c_copy(inside, result.begin() + static_cast<int64_t>(j));
    }
    i = last_i;
    j = last_j;
  }
  return result;
}

}  // namespace kiln::kernel
