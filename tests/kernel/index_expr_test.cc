// Index expressions against brute force: whatever form they take, they have the value that was asked for, within the
// range that they claim.
#include "src/kernel/index_expr.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace kiln::kernel {
namespace {

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

// The value of `expr` for these loop variables.
int64_t Value(const IndexTerms& terms, const IndexExpr& expr, const std::vector<int64_t>& loops) {
  int64_t value = expr.constant;
  for (const auto& [number, coefficient] : expr.terms) {
    const IndexTerms::Term& term = terms.term(number);
    switch (term.kind) {
      case IndexTerms::Kind::kLoop:
        value += coefficient * loops[term.id];
        break;
      case IndexTerms::Kind::kFloorDiv:
        value += coefficient * FloorDivide(Value(terms, term.inner, loops), term.divisor);
        break;
      case IndexTerms::Kind::kMod: {
        const int64_t inner = Value(terms, term.inner, loops);
        value += coefficient * (inner - FloorDivide(inner, term.divisor) * term.divisor);
        break;
      }
      case IndexTerms::Kind::kSymbol:
        ADD_FAILURE() << "no symbols here";
    }
  }
  return value;
}

// An expression together with its values, computed beside it, at every point of the loops.
struct Checked {
  IndexExpr expr;
  std::vector<int64_t> values;
};

TEST(IndexExprTest, RandomExpressionsHaveTheValuesOfTheirParts) {
  std::mt19937 random(1);
  auto in = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
  for (int round = 0; round < 2000; ++round) {
    IndexTerms terms;
    const std::vector<int64_t> extents = {in(1, 6), in(1, 7), in(2, 9)};
    std::vector<std::vector<int64_t>> points;
    for (int64_t a = 0; a < extents[0]; ++a) {
      for (int64_t b = 0; b < extents[1]; ++b) {
        for (int64_t c = 0; c < extents[2]; ++c) points.push_back({a, b, c});
      }
    }
    std::vector<Checked> pool;
    for (int loop = 0; loop < 3; ++loop) {
      Checked checked{terms.Loop(loop, extents[loop]), {}};
      for (const auto& point : points) checked.values.push_back(point[loop]);
      pool.push_back(checked);
    }
    for (int step = 0; step < 8; ++step) {
      const Checked& x = pool[in(0, static_cast<int64_t>(pool.size()) - 1)];
      const Checked& y = pool[in(0, static_cast<int64_t>(pool.size()) - 1)];
      const int64_t constant = in(-20, 20), divisor = in(1, 12), kind = in(0, 5);
      Checked result;
      for (size_t i = 0; i < points.size(); ++i) {
        const int64_t a = x.values[i], b = y.values[i], quotient = FloorDivide(a, divisor);
        const int64_t all[] = {a + b, a - b, a + constant, a * constant, quotient, a - quotient * divisor};
        result.values.push_back(all[kind]);
      }
      switch (kind) {
        case 0:
          result.expr = x.expr + y.expr;
          break;
        case 1:
          result.expr = x.expr - y.expr;
          break;
        case 2:
          result.expr = x.expr + constant;
          break;
        case 3:
          result.expr = x.expr * constant;
          break;
        case 4:
          result.expr = terms.FloorDiv(x.expr, divisor);
          break;
        default:
          result.expr = terms.Mod(x.expr, divisor);
          break;
      }
      const IndexRange range = terms.RangeOf(result.expr);
      const IndexExpr apart = terms.WithLoopsApart(result.expr);
      for (size_t i = 0; i < points.size(); ++i) {
        ASSERT_EQ(Value(terms, result.expr, points[i]), result.values[i])
            << terms.ToString(result.expr) << " in round " << round << ", step " << step;
        ASSERT_EQ(Value(terms, apart, points[i]), result.values[i]) << terms.ToString(apart);
        ASSERT_LE(range.low, result.values[i]) << terms.ToString(result.expr);
        ASSERT_GE(range.high, result.values[i]) << terms.ToString(result.expr);
      }
      pool.push_back(result);
    }
  }
}

TEST(IndexExprTest, RangesOfFarPlacesContainThem) {
  IndexTerms terms;
  constexpr int64_t kFar = int64_t{1} << 62;
  const IndexExpr place = terms.Symbol(0, {-kFar, kFar}, 0);
  for (const int64_t row : {1, 10, 1000, -3}) {
    const IndexRange range = terms.RangeOf(place * row + 5);
    EXPECT_LT(range.low, -1000000) << row;
    EXPECT_GT(range.high, 1000000) << row;
    EXPECT_GT(range.high - range.low, 1000000) << row;
  }
}

TEST(IndexExprTest, DelinearizeInvertsLinearize) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    IndexTerms terms;
    std::vector<int64_t> from(random() % 4 + 1), to;
    int64_t count = 1;
    for (int64_t& size : from) count *= size = static_cast<int64_t>(random() % 6 + 1);
    for (int64_t left = count; left > 1;) {
      int64_t size = std::min(left, static_cast<int64_t>(random() % 12 + 2));
      while (left % size != 0) ++size;
      to.push_back(size);
      left /= size;
    }
    std::vector<IndexExpr> loops;
    for (size_t i = 0; i < from.size(); ++i) loops.push_back(terms.Loop(static_cast<int>(i), from[i]));
    const std::vector<IndexExpr> index = Delinearize(&terms, Linearize(loops, from), to);
    std::vector<int64_t> point(from.size(), 0);
    for (int64_t linear = 0; linear < count; ++linear) {
      int64_t rest = linear;
      for (size_t i = from.size(); i-- > 0; rest /= from[i]) point[i] = rest % from[i];
      rest = linear;
      for (size_t i = to.size(); i-- > 0; rest /= to[i]) ASSERT_EQ(Value(terms, index[i], point), rest % to[i]);
    }
    // And back again: the same linear index, in the same form where the dimensions are the same.
    EXPECT_EQ(Linearize(Delinearize(&terms, Linearize(loops, from), from), from), Linearize(loops, from));
  }
}

TEST(IndexExprTest, SimplifiesWhatReshapesMake) {
  IndexTerms terms;
  const IndexExpr i = terms.Loop(0, 10), j = terms.Loop(1, 8);
  EXPECT_EQ(terms.ToString(terms.FloorDiv(i * 8 + j, 8)), "i0");
  EXPECT_EQ(terms.ToString(terms.Mod(i * 8 + j, 8)), "i1");
  EXPECT_EQ(terms.FloorDiv(terms.FloorDiv(i, 2), 3), terms.FloorDiv(i, 6));
  EXPECT_EQ(terms.Mod(terms.Mod(i, 8), 4), terms.Mod(i, 4));
  EXPECT_EQ(terms.ToString(terms.Mod(i, 4)), "((i0) mod 4)");
  EXPECT_EQ(terms.Mod(i * 9, 1), IndexExpr());
}

TEST(IndexExprTest, RowsThatAreOneElementShorterHaveNoRemainder) {
  IndexTerms terms;
  const IndexExpr i = terms.Loop(0, 128), j = terms.Loop(1, 128);
  EXPECT_EQ(terms.FloorDiv(i * 255 + j + 128, 256), i);
  EXPECT_EQ(terms.Mod(i * 255 + j + 128, 256), j - i + 128);
  EXPECT_EQ(terms.FloorDiv(i * 257 + j + 300, 256), terms.FloorDiv(i * 257 + j + 44, 256) + 1);  // j + i carries
  EXPECT_EQ(terms.FloorDiv(i * -1 + j + 127, 255), IndexExpr());
}

TEST(IndexExprTest, TakesLoopsApart) {
  IndexTerms terms;
  const IndexExpr i = terms.Loop(0, 12), j = terms.Loop(1, 8);
  const IndexExpr inner = terms.Mod(i, 4), outer = terms.FloorDiv(i * 8 + j, 32), row = inner + outer * 4;
  EXPECT_EQ(terms.ToString(row), "((i0) mod 4) + 4*((8*i0 + i1) floordiv 32)");
  EXPECT_EQ(terms.WithLoopsApart(row), i);
  // A quotient of the outer loop alone, beside the inner one: rows that are read twice.
  EXPECT_EQ(terms.WithLoopsApart(terms.FloorDiv(i * 8 + j, 16) * 8 + j), terms.FloorDiv(i, 2) * 8 + j);
  // What stays a remainder stays as it is: loops in it may lie in rows.
  const IndexExpr rest = terms.Mod(i * 8 + j, 32);
  EXPECT_EQ(terms.WithLoopsApart(rest), rest);
}

}  // namespace
}  // namespace kiln::kernel
