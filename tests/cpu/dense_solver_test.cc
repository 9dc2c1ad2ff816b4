// Factorizations and triangular solves against plain loops in double and long double, over kinds, sizes and threads.
#include "src/cpu/dense_solver.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "src/base/thread_pool.h"

namespace kiln::cpu {
namespace {

constexpr int64_t kGuard = 16;

// An array with elements behind it that nobody may write.
template <typename T>
struct Guarded {
  explicit Guarded(int64_t count) : values(count + kGuard, T{77}) {}
  ~Guarded() {
    for (int64_t i = 0; i < kGuard; ++i) EXPECT_EQ(values[values.size() - 1 - i], T{77});
  }
  std::vector<T> values;
};

template <typename T>
class Solver {
 public:
  explicit Solver(int threads) : pool_(threads) { context_.pool = &pool_; }

  void Run(DenseSolve solve, std::vector<const void*> arrays) {
    solve.width = sizeof(T);
    std::vector<char> scratch(DenseSolveScratchBytes(solve) + 64, 0x7f);
    char* aligned = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
    RunDenseSolve(&context_, &solve, arrays.data(), aligned);
  }

 private:
  ThreadPool pool_;
  ProgramContext context_;
};

template <typename T>
std::vector<T> Random(int64_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(normal(generator));
  return values;
}

template <typename T>
double Tolerance(int64_t n) {
  return 20 * std::numeric_limits<T>::epsilon() * std::sqrt(static_cast<double>(n + 1));
}

template <typename T>
void CheckLu(Solver<T>& solver, int64_t count, int64_t m, int64_t n, const std::vector<T>& a) {
  SCOPED_TRACE(absl::StrCat(sizeof(T), " bytes, ", count, " x ", m, " x ", n));
  const int64_t k = std::min(m, n);
  Guarded<T> factors(count * m * n);
  Guarded<int32_t> pivots(count * k), permutation(count * m);
  solver.Run({.kind = DenseSolve::kLu, .count = count, .rows = m, .columns = n},
             {a.data(), factors.values.data(), pivots.values.data(), permutation.values.data()});
  for (int64_t b = 0; b < count; ++b) {
    const T* lu = factors.values.data() + b * m * n;
    std::vector<int32_t> order(m);
    for (int64_t i = 0; i < m; ++i) order[i] = static_cast<int32_t>(i);
    for (int64_t i = 0; i < k; ++i) {
      const int32_t pivot = pivots.values[b * k + i];
      ASSERT_TRUE(pivot >= i && pivot < m);
      std::swap(order[i], order[pivot]);
    }
    for (int64_t i = 0; i < m; ++i) {
      ASSERT_EQ(order[i], permutation.values[b * m + i]);
      for (int64_t j = 0; j < n; ++j) {
        double product = 0, size = 0;
        for (int64_t s = 0; s <= std::min({i, j, k - 1}); ++s) {
          const double term = (s == i ? 1.0 : double{lu[i * n + s]}) * double{lu[s * n + j]};
          product += term;
          size += std::abs(term);
        }
        // Partial pivoting: no multiplier is above 1.
        if (j < std::min(i, k)) ASSERT_LE(std::abs(lu[i * n + j]), T{1});
        ASSERT_NEAR(product, double{a[(b * m + order[i]) * n + j]}, Tolerance<T>(k) * (size + 1)) << i << " " << j;
      }
    }
  }
}

template <typename T>
void CheckCholesky(Solver<T>& solver, int64_t count, int64_t n, bool lower) {
  SCOPED_TRACE(absl::StrCat(sizeof(T), " bytes, ", count, " x ", n, lower ? " lower" : " upper"));
  const std::vector<T> g = Random<T>(count * n * n, 7 * n + count);
  std::vector<T> a(g.size());
  for (int64_t b = 0; b < count; ++b) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = i == j ? 1 : 0;
        for (int64_t s = 0; s < n; ++s) sum += double{g[(b * n + i) * n + s]} * double{g[(b * n + j) * n + s]} / n;
        // The other triangle does not count.
        const bool counts = lower ? i >= j : i <= j;
        a[(b * n + i) * n + j] = counts ? static_cast<T>(sum) : std::numeric_limits<T>::quiet_NaN();
      }
    }
  }
  const int64_t indefinite = count / 2;
  if (count > 1) a[(indefinite * n + n - 1) * n + n - 1] = T{-1};
  Guarded<T> factors(count * n * n);
  solver.Run({.kind = DenseSolve::kCholesky, .count = count, .rows = n, .columns = n,
              .flags = lower ? DenseSolve::kLower : 0},
             {a.data(), factors.values.data()});
  for (int64_t b = 0; b < count; ++b) {
    const auto at = [&](const std::vector<T>& from, int64_t i, int64_t j) {
      return double{from[(b * n + (lower ? i : j)) * n + (lower ? j : i)]};
    };
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        if (j < i) ASSERT_EQ(at(factors.values, j, i), 0);
        if (count > 1 && b == indefinite) {
          ASSERT_TRUE(std::isnan(at(factors.values, i, j)));
          continue;
        }
        double product = 0;
        for (int64_t s = 0; s <= j; ++s) product += at(factors.values, i, s) * at(factors.values, j, s);
        ASSERT_NEAR(product, at(a, i, j), 4 * Tolerance<T>(n)) << b << " " << i << " " << j;
      }
    }
  }
}

// Q has orthonormal columns, and Q R is the matrix.
template <typename T>
void CheckQr(Solver<T>& solver, int64_t count, int64_t m, int64_t n, const std::vector<T>& a) {
  SCOPED_TRACE(absl::StrCat(sizeof(T), " bytes, ", count, " x ", m, " x ", n));
  const int64_t k = std::min(m, n);
  Guarded<T> packed(count * m * n), taus(count * k), q(count * m * k);
  solver.Run({.kind = DenseSolve::kQr, .count = count, .rows = m, .columns = n},
             {a.data(), packed.values.data(), taus.values.data()});
  std::vector<T> reflectors(count * m * k);
  for (int64_t i = 0; i < count * m; ++i) {
    std::copy_n(packed.values.data() + i * n, k, reflectors.data() + i * k);
  }
  solver.Run({.kind = DenseSolve::kReflectors, .count = count, .rows = m, .columns = k, .steps = k},
             {reflectors.data(), taus.values.data(), q.values.data()});
  for (int64_t b = 0; b < count; ++b) {
    const auto q_at = [&](int64_t i, int64_t j) { return double{q.values[(b * m + i) * k + j]}; };
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        double product = 0;
        for (int64_t s = 0; s < m; ++s) product += q_at(s, i) * q_at(s, j);
        ASSERT_NEAR(product, i == j, Tolerance<T>(m)) << b << " " << i << " " << j;
      }
    }
    double size = 0;
    for (int64_t i = 0; i < m * n; ++i) size = std::max(size, std::abs(double{a[b * m * n + i]}));
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double product = 0;
        for (int64_t s = 0; s <= std::min(j, k - 1); ++s) {
          product += q_at(i, s) * double{packed.values[(b * m + s) * n + j]};
        }
        ASSERT_NEAR(product, double{a[(b * m + i) * n + j]}, Tolerance<T>(m) * std::sqrt(double(m)) * size)
            << b << " " << i << " " << j;
      }
    }
  }
}

template <typename T>
void CheckTriangular(Solver<T>& solver, int64_t count, int64_t n, int64_t m, int64_t flags) {
  SCOPED_TRACE(absl::StrCat(sizeof(T), " bytes, ", count, " x ", n, " unknowns, ", m, " right sides, flags ", flags));
  const bool lower = flags & DenseSolve::kLower, unit = flags & DenseSolve::kUnitDiagonal,
             transposed = flags & DenseSolve::kTransposed, right = flags & DenseSolve::kRightSide;
  std::vector<T> a = Random<T>(count * n * n, 3 * n + m);
  const std::vector<T> b = Random<T>(count * n * m, 5 * n + m);
  for (int64_t i = 0; i < count * n * n; ++i) {
    const int64_t row = i / n % n, column = i % n;
    a[i] = row == column ? a[i] + T{3} : a[i] / static_cast<T>(n);
    if (lower ? row < column : row > column) a[i] = std::numeric_limits<T>::quiet_NaN();
    if (row == column && unit) a[i] = std::numeric_limits<T>::quiet_NaN();
    if (row == column && std::abs(a[i]) < 1) a[i] = T{1};
  }
  Guarded<T> x(count * n * m);
  solver.Run({.kind = DenseSolve::kTriangular, .count = count, .rows = right ? m : n, .columns = right ? n : m,
              .flags = flags},
             {a.data(), b.data(), x.values.data()});
  for (int64_t batch = 0; batch < count; ++batch) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t c = 0; c < m; ++c) {
        const auto place = [&](int64_t unknown) { return batch * n * m + (right ? c * n + unknown : unknown * m + c); };
        double sum = 0, size = 1;
        for (int64_t k = 0; k < n; ++k) {
          // X op(A): row i of the sum is a column of op(A).
          const bool swapped = transposed != right;
          const int64_t row = swapped ? k : i, column = swapped ? i : k;
          if (lower ? row < column : row > column) continue;
          const double factor = unit && i == k ? 1.0 : double{a[(batch * n + row) * n + column]};
          sum += factor * double{x.values[place(k)]};
          size += std::abs(factor * double{x.values[place(k)]});
        }
        ASSERT_NEAR(sum, double{b[place(i)]}, Tolerance<T>(n) * size) << batch << " " << i << " " << c;
      }
    }
  }
}

template <typename T>
class DenseSolverTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(DenseSolverTest, Types);

TYPED_TEST(DenseSolverTest, Lu) {
  for (int threads : {1, 3}) {
    Solver<TypeParam> solver(threads);
    for (int64_t n : {1, 2, 3, 5, 8, 13, 16, 17, 24, 31, 33, 50, 64, 100}) {
      for (int64_t count : {1, 3, 8, 37}) CheckLu(solver, count, n, n, Random<TypeParam>(count * n * n, n + count));
    }
    const std::pair<int64_t, int64_t> shapes[] = {{1, 9}, {9, 1}, {5, 40}, {40, 5}, {35, 90}, {90, 35}, {3, 7}, {4, 0}};
    for (auto [m, n] : shapes) {
      for (int64_t count : {1, 19}) CheckLu(solver, count, m, n, Random<TypeParam>(count * m * n, m + n));
    }
  }
}

TYPED_TEST(DenseSolverTest, LuOfMatricesWithoutFullRank) {
  Solver<TypeParam> solver(2);
  for (int64_t n : {2, 6, 20, 70}) {
    for (int64_t count : {1, 20}) {
      CheckLu(solver, count, n, n, std::vector<TypeParam>(count * n * n, 0));
      CheckLu(solver, count, n, n, std::vector<TypeParam>(count * n * n, 2));
      // The first of equal elements is the pivot, as in LAPACK.
      std::vector<int32_t> pivots(count * n), permutation(count * n);
      std::vector<TypeParam> ones(count * n * n, 1), factors(ones);
      solver.Run({.kind = DenseSolve::kLu, .count = count, .rows = n, .columns = n},
                 {ones.data(), factors.data(), pivots.data(), permutation.data()});
      for (int64_t i = 0; i < count * n; ++i) ASSERT_EQ(pivots[i], i % n);
    }
  }
}

TYPED_TEST(DenseSolverTest, Cholesky) {
  for (int threads : {1, 3}) {
    Solver<TypeParam> solver(threads);
    for (int64_t n : {1, 2, 3, 7, 16, 18, 25, 32, 47, 96, 110}) {
      for (int64_t count : {1, 4, 21}) {
        for (bool lower : {true, false}) CheckCholesky(solver, count, n, lower);
      }
    }
  }
}

TYPED_TEST(DenseSolverTest, Qr) {
  for (int threads : {1, 3}) {
    Solver<TypeParam> solver(threads);
    const std::pair<int64_t, int64_t> shapes[] = {{1, 1},   {2, 2},   {3, 3},   {5, 2},  {2, 5},   {16, 16}, {17, 17},
                                                  {31, 31}, {33, 33}, {64, 64}, {70, 9}, {9, 70},  {100, 35}, {35, 100},
                                                  {90, 64}, {64, 90}, {65, 33}, {1, 40}, {40, 1}};
    for (auto [m, n] : shapes) {
      for (int64_t count : {1, 3, 37}) CheckQr(solver, count, m, n, Random<TypeParam>(count * m * n, m + 2 * n));
    }
  }
}

TYPED_TEST(DenseSolverTest, QrOfUnusualMatrices) {
  Solver<TypeParam> solver(2);
  for (int64_t n : {2, 6, 20, 70}) {
    for (int64_t count : {1, 20}) {
      CheckQr(solver, count, n, n, std::vector<TypeParam>(count * n * n, 0));
      CheckQr(solver, count, n, n, std::vector<TypeParam>(count * n * n, 2));  // of rank one
      // Squares of these are infinite or zero.
      for (TypeParam scale : {std::numeric_limits<TypeParam>::max() / 4096, 4096 * std::numeric_limits<TypeParam>::min()}) {
        std::vector<TypeParam> a = Random<TypeParam>(count * n * n, 3);
        for (TypeParam& value : a) value *= scale;
        CheckQr(solver, count, n, n, a);
      }
    }
  }
  // Fewer reflectors than columns: the others are columns of the identity, reflected.
  const std::vector<TypeParam> a = Random<TypeParam>(50 * 40, 5);
  std::vector<TypeParam> packed(50 * 40), taus(40), q(50 * 40);
  solver.Run({.kind = DenseSolve::kQr, .count = 1, .rows = 50, .columns = 40}, {a.data(), packed.data(), taus.data()});
  solver.Run({.kind = DenseSolve::kReflectors, .count = 1, .rows = 50, .columns = 40, .steps = 33},
             {packed.data(), taus.data(), q.data()});
  for (int64_t i = 0; i < 40; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      double product = 0;
      for (int64_t s = 0; s < 50; ++s) product += double{q[s * 40 + i]} * double{q[s * 40 + j]};
      ASSERT_NEAR(product, i == j, Tolerance<TypeParam>(50));
    }
  }
}

TYPED_TEST(DenseSolverTest, Triangular) {
  Solver<TypeParam> solver(3);
  for (int64_t flags = 0; flags < 16; ++flags) {
    for (int64_t n : {1, 2, 5, 16, 19, 40, 75}) {
      for (int64_t m : {1, 7, 70}) {
        for (int64_t count : {1, 11}) CheckTriangular(solver, count, n, m, flags);
      }
    }
  }
}

// As by the division of scalars: a zero on the diagonal has a sign.
TYPED_TEST(DenseSolverTest, TriangularWithZeroOnTheDiagonal) {
  using T = TypeParam;
  constexpr int64_t kColumns = 20;
  Solver<T> solver(1);
  const std::vector<T> a = {-T{0}, 0, 0, 1}, b(2 * kColumns, T{3});
  Guarded<T> x(2 * kColumns);
  solver.Run({.kind = DenseSolve::kTriangular, .count = 1, .rows = 2, .columns = kColumns, .flags = DenseSolve::kLower},
             {a.data(), b.data(), x.values.data()});
  for (int64_t c = 0; c < kColumns; ++c) EXPECT_EQ(x.values[c], -std::numeric_limits<T>::infinity());
}

// One large matrix is divided over threads, and gives the same bits on any number of them.
TYPED_TEST(DenseSolverTest, LargeMatricesDoNotDependOnThreads) {
  const int64_t n = 300;
  std::vector<TypeParam> a = Random<TypeParam>(n * n, 1);
  const auto run = [&](int threads, int64_t kind) {
    std::vector<TypeParam> result(n * n);
    std::vector<int32_t> pivots(n), permutation(n);
    std::vector<const void*> arrays = {a.data(), result.data(), pivots.data(), permutation.data()};
    if (kind == DenseSolve::kTriangular) arrays = {a.data(), a.data(), result.data()};
    std::vector<TypeParam> taus(n);
    if (kind == DenseSolve::kQr) arrays = {a.data(), result.data(), taus.data()};
    Solver<TypeParam>(threads).Run({.kind = kind, .count = 1, .rows = n, .columns = n, .flags = DenseSolve::kLower},
                                   arrays);
    return result;
  };
  for (int64_t i = 0; i < n; ++i) a[i * n + i] += 200;
  for (int64_t kind : {DenseSolve::kLu, DenseSolve::kCholesky, DenseSolve::kTriangular, DenseSolve::kQr}) {
    EXPECT_EQ(run(1, kind), run(4, kind)) << kind;
  }
  Solver<TypeParam> solver(2);
  CheckLu(solver, 1, n, n, a);
}

}  // namespace
}  // namespace kiln::cpu
