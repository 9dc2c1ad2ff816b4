#include "src/cpu/dense_solver.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "src/base/cpu_tuning.h"
#include "src/base/float_environment.h"
#include "src/base/rounding.h"
#include "src/cpu/householder.h"
#include "src/cpu/lane_matrices.h"
#include "src/cpu/row_matrices.h"
#include "src/cpu/vector_clones.h"

namespace kiln::cpu {
namespace {

// Parts of a call that may be under way at once.
constexpr int64_t kSlots = 16;

int64_t LanesOf(const DenseSolve& solve) { return kVectorBytes / solve.width; }

bool IsRightSide(const DenseSolve& solve) { return (solve.flags & DenseSolve::kRightSide) != 0; }
// Of a triangular system: its unknowns and its right-hand sides.
int64_t Unknowns(const DenseSolve& solve) { return IsRightSide(solve) ? solve.columns : solve.rows; }
int64_t RightSides(const DenseSolve& solve) { return IsRightSide(solve) ? solve.rows : solve.columns; }
int64_t Stripes(int64_t columns) { return CeilDivide(columns, kStripe); }

int64_t MatrixElements(const DenseSolve& solve) {
  return solve.kind == DenseSolve::kTriangular ? Unknowns(solve) * Unknowns(solve) : solve.rows * solve.columns;
}

int64_t LaneElements(const DenseSolve& solve) {
  const int64_t matrix = MatrixElements(solve);
  if (solve.kind == DenseSolve::kTriangular) return matrix + solve.rows * solve.columns;
  if (solve.kind == DenseSolve::kCholesky) return matrix;
  return matrix + std::min(solve.rows, solve.columns) + (solve.kind == DenseSolve::kLu ? solve.rows : 0);
}

bool IsReflection(const DenseSolve& solve) {
  return solve.kind == DenseSolve::kQr || solve.kind == DenseSolve::kReflectors;
}

bool InLanes(const DenseSolve& solve) {
  return solve.count >= LanesOf(solve) / 2 && LaneElements(solve) <= Tuning().solver.lane_elements;
}

// What is dealt out to threads whole.
int64_t Tasks(const DenseSolve& solve) {
  if (InLanes(solve)) return CeilDivide(solve.count, LanesOf(solve));
  return solve.kind == DenseSolve::kTriangular ? solve.count * Stripes(RightSides(solve)) : solve.count;
}

int64_t Slots(const DenseSolve& solve) {
  return DenseSolveNanoseconds(solve) < Tuning().threads.wake_nanoseconds
             ? 1
             : std::clamp<int64_t>(Tasks(solve), 1, kSlots);
}

int64_t SlotBytes(const DenseSolve& solve) {
  if (InLanes(solve)) return LaneElements(solve) * kVectorBytes;
  const auto padded = [&](int64_t columns) {
    return solve.width * (solve.width == 4 ? PaddedRow<float>(columns) : PaddedRow<double>(columns));
  };
  if (IsReflection(solve)) {
    const int64_t block = solve.width == 4 ? ReflectorBlock<float>::Elements(solve.rows)
                                           : ReflectorBlock<double>::Elements(solve.rows);
    return RoundUp(solve.rows * padded(solve.columns) + solve.width * block, kVectorBytes);
  }
  if (solve.kind != DenseSolve::kTriangular) return solve.rows * padded(solve.columns);
  return RightSides(solve) == 1 ? 0 : Unknowns(solve) * padded(std::min(kStripe, RightSides(solve)));
}

template <typename T>
struct Job {
  const DenseSolve& solve;
  const void* const* arrays;
  ProgramContext* context;  // null where all threads have work of their own

  template <typename Element = T>
  const Element* In(int i, int64_t offset) const {
    return static_cast<const Element*>(arrays[i]) + offset;
  }
  template <typename Element = T>
  Element* Out(int i, int64_t offset) const {
    return static_cast<Element*>(const_cast<void*>(arrays[i])) + offset;
  }
};

// What a panel, columns or rows [first, end), means for the columns of a stripe behind it.
template <typename T>
struct StripeJob {
  enum Phase { kLu, kCholeskySolve, kCholeskyUpdate, kReflect, kReflectTransposed };
  Phase phase;
  T* a;
  int64_t stride, m, n, first, end;
  ReflectorBlock<T> block = {};  // of the last two

  bool reflects() const { return phase == kReflect || phase == kReflectTransposed; }
};

template <typename T>
KILN_INLINE void UpdateStripe(const StripeJob<T>& job, int64_t stripe) {
  const int64_t stride = job.stride, first = job.first, end = job.end, count = end - first;
  const int64_t column = end + stripe * kStripe, columns = std::min(kStripe, job.n - column);
  T* top = job.a + first * stride + column;
  T* rest = job.a + end * stride + column;
  const T* diagonal = job.a + first * stride + first;
  const MatrixStrides plain = {.row = stride, .column = 1}, transposed = {.row = 1, .column = stride};
  switch (job.phase) {
    case StripeJob<T>::kLu:
      SolveRows(diagonal, plain, top, stride, count, columns, /*lower=*/true, /*unit_diagonal=*/true);
      return SubtractProduct(rest, stride, diagonal + count * stride, plain, top, stride, job.m - end, columns, count);
    case StripeJob<T>::kCholeskySolve:
      return SolveRows(diagonal, transposed, top, stride, count, columns, /*lower=*/true, /*unit_diagonal=*/false);
    case StripeJob<T>::kCholeskyUpdate:
      // Rows below the diagonal do not count.
      return SubtractProduct(rest, stride, diagonal + count, transposed, top, stride, column + columns - end, columns,
                             count);
    case StripeJob<T>::kReflect:
    case StripeJob<T>::kReflectTransposed:
      return ReflectStripe<T>(job.block, job.phase == StripeJob<T>::kReflectTransposed, top, stride, columns);
  }
}

KILN_VECTOR_CLONES(void, RunStripe, (const StripeJob<float>& job, int64_t stripe), (job, stripe)) {
  UpdateStripe(job, stripe);
}
KILN_VECTOR_CLONES(void, RunStripe, (const StripeJob<double>& job, int64_t stripe), (job, stripe)) {
  UpdateStripe(job, stripe);
}

template <typename T>
void RunStripes(ProgramContext* context, const StripeJob<T>& job) {
  const int64_t stripes = Stripes(job.n - job.end);
  if (context != nullptr && (job.m - job.end) * (job.n - job.end) >= Tuning().solver.parallel_elements) {
    return ForEach(context, stripes, [&](int64_t i) {
      std::optional<FlushedFloatEnvironment> environment;
      if (!job.reflects()) environment.emplace();
      RunStripe(job, i);
    });
  }
  for (int64_t i = 0; i < stripes; ++i) RunStripe(job, i);
}

template <typename T>
KILN_INLINE void FactorizeLu(const Job<T>& job, int64_t task, char* memory) {
  const DenseSolve& solve = job.solve;
  const int64_t m = solve.rows, n = solve.columns, k = std::min(m, n);
  const int64_t lanes = kLanes<T>;
  if (InLanes(solve)) {
    const int64_t begin = task * lanes, valid = std::min(lanes, solve.count - begin);
    auto* a = reinterpret_cast<Vector<T>*>(memory);
    auto* pivots = reinterpret_cast<LaneMask<T>*>(a + m * n);
    auto* permutation = pivots + k;
    LoadLanes(a, job.In(0, begin * m * n), m * n, valid, m * n);
    FactorizeLuLanes<T>(a, m, n, pivots, permutation);
    StoreLanes(job.Out(1, begin * m * n), a, m * n, valid, m * n);
    const auto store = [&](int32_t * to, const LaneMask<T>* from, int64_t count) __attribute__((always_inline)) {
      for (int64_t lane = 0; lane < valid; ++lane) {
        for (int64_t i = 0; i < count; ++i) to[lane * count + i] = static_cast<int32_t>(from[i][lane]);
      }
    };
    store(job.template Out<int32_t>(2, begin * k), pivots, k);
    store(job.template Out<int32_t>(3, begin * m), permutation, m);
    return;
  }
  const int64_t stride = PaddedRow<T>(n);
  T* a = reinterpret_cast<T*>(memory);
  int32_t* pivots = job.template Out<int32_t>(2, task * k);
  int32_t* permutation = job.template Out<int32_t>(3, task * m);
  CopyRows(a, stride, job.In(0, task * m * n), n, m, n);
  for (int64_t i = 0; i < m; ++i) permutation[i] = static_cast<int32_t>(i);
  for (int64_t first = 0; first < k; first += kPanel) {
    const int64_t end = std::min(first + kPanel, k);
    // Behind the last panel there are columns alone, and maybe no whole vectors.
    FactorizeLuPanel(a, stride, m, first, end, end == k ? n : end, pivots, permutation);
    if (end == k) break;
    RunStripes<T>(job.context, {StripeJob<T>::kLu, a, stride, m, n, first, end});
  }
  CopyRows(job.Out(1, task * m * n), n, a, stride, m, n);
}

template <typename T>
KILN_INLINE void FactorizeCholesky(const Job<T>& job, int64_t task, char* memory) {
  const DenseSolve& solve = job.solve;
  const int64_t n = solve.rows, lanes = kLanes<T>;
  const bool lower = (solve.flags & DenseSolve::kLower) != 0;
  if (InLanes(solve)) {
    const int64_t begin = task * lanes, valid = std::min(lanes, solve.count - begin);
    auto* a = reinterpret_cast<Vector<T>*>(memory);
    LoadLanes(a, job.In(0, begin * n * n), n * n, valid, n * n);
    FactorizeCholeskyLanes<T>(a, lower ? MatrixStrides{n, 1} : MatrixStrides{1, n}, n);
    StoreLanes(job.Out(1, begin * n * n), a, n * n, valid, n * n);
    return;
  }
  // Rows of the upper factor are what vectors go along.
  const int64_t stride = PaddedRow<T>(n);
  T* a = reinterpret_cast<T*>(memory);
  const T* given = job.In(0, task * n * n);
  lower ? CopyLowerToUpper(a, stride, given, n, n) : CopyRows(a, stride, given, n, n, n);
  bool fine = true;
  for (int64_t first = 0; first < n; first += kPanel) {
    const int64_t end = std::min(first + kPanel, n);
    fine &= FactorizeCholeskyBlock(a + first * stride + first, stride, end - first);
    if (end == n) break;
    RunStripes<T>(job.context, {StripeJob<T>::kCholeskySolve, a, stride, n, n, first, end});
    RunStripes<T>(job.context, {StripeJob<T>::kCholeskyUpdate, a, stride, n, n, first, end});
  }
  T* result = job.Out(1, task * n * n);
  lower ? CopyUpperToLower(result, n, a, stride, n) : CopyRows(result, n, a, stride, n, n);
  for (int64_t i = 0; i < n; ++i) {
    T* row = result + i * n;
    lower ? std::fill(row + i + 1, row + n, T{0}) : std::fill(row, row + i, T{0});
    if (fine) continue;
    const T nan = std::numeric_limits<T>::quiet_NaN();
    lower ? std::fill(row, row + i + 1, nan) : std::fill(row + i, row + n, nan);
  }
}

template <typename T>
KILN_INLINE void FactorizeQr(const Job<T>& job, int64_t task, char* memory) {
  const DenseSolve& solve = job.solve;
  const int64_t m = solve.rows, n = solve.columns, k = std::min(m, n), lanes = kLanes<T>;
  if (InLanes(solve)) {
    const int64_t begin = task * lanes, valid = std::min(lanes, solve.count - begin);
    auto* a = reinterpret_cast<Vector<T>*>(memory);
    LoadLanes(a, job.In(0, begin * m * n), m * n, valid, m * n);
    FactorizeQrLanes<T>(a, m, n, a + m * n);
    StoreLanes(job.Out(1, begin * m * n), a, m * n, valid, m * n);
    StoreLanes(job.Out(2, begin * k), a + m * n, k, valid, k);
    return;
  }
  const int64_t stride = PaddedRow<T>(n);
  T* a = reinterpret_cast<T*>(memory);
  T* rest = a + m * stride;
  T* taus = job.Out(2, task * k);
  CopyRows(a, stride, job.In(0, task * m * n), n, m, n);
  for (int64_t first = 0; first < k; first += kPanel) {
    const int64_t end = std::min(first + kPanel, k);
    FactorizeQrPanel(a, stride, m, first, end, taus, rest);
    if (end == n) break;
    const ReflectorBlock<T> block =
        MakeBlock(a + first * stride + first, stride, m - first, end - first, taus + first, rest);
    RunStripes<T>(job.context, {StripeJob<T>::kReflectTransposed, a, stride, m, n, first, end, block});
  }
  CopyRows(job.Out(1, task * m * n), n, a, stride, m, n);
}

template <typename T>
KILN_INLINE void MultiplyReflectors(const Job<T>& job, int64_t task, char* memory) {
  const DenseSolve& solve = job.solve;
  const int64_t m = solve.rows, n = solve.columns, steps = solve.steps, lanes = kLanes<T>;
  if (InLanes(solve)) {
    const int64_t begin = task * lanes, valid = std::min(lanes, solve.count - begin);
    auto* a = reinterpret_cast<Vector<T>*>(memory);
    LoadLanes(a, job.In(0, begin * m * n), m * n, valid, m * n);
    LoadLanes(a + m * n, job.In(1, begin * steps), steps, valid, steps);
    MultiplyReflectorsLanes<T>(a, m, n, steps, a + m * n);
    StoreLanes(job.Out(2, begin * m * n), a, m * n, valid, m * n);
    return;
  }
  const int64_t stride = PaddedRow<T>(n);
  const T* given = job.In(0, task * m * n);
  const T* taus = job.In(1, task * steps);
  T* a = reinterpret_cast<T*>(memory);
  T* rest = a + m * stride;
  std::fill(a, rest, T{0});
  for (int64_t i = 0; i < std::min(m, n); ++i) a[i * stride + i] = 1;
  for (int64_t end = steps; end > 0;) {
    const int64_t first = (end - 1) / kPanel * kPanel;
    const ReflectorBlock<T> block = MakeBlock(given + first * n + first, n, m - first, end - first, taus + first, rest);
    // All columns from the first on, of the rows that the block acts on.
    RunStripes<T>(job.context, {StripeJob<T>::kReflect, a, stride, m, n, first, first, block});
    end = first;
  }
  CopyRows(job.Out(2, task * m * n), n, a, stride, m, n);
}

template <typename T>
KILN_INLINE void SolveTriangular(const Job<T>& job, int64_t task, char* memory) {
  const DenseSolve& solve = job.solve;
  const int64_t n = Unknowns(solve), m = RightSides(solve), size = solve.rows * solve.columns, lanes = kLanes<T>;
  // X op(A) = B is op(A)^T X^T = B^T.
  const bool right_side = IsRightSide(solve), transposed = ((solve.flags & DenseSolve::kTransposed) != 0) != right_side;
  const bool lower = ((solve.flags & DenseSolve::kLower) != 0) != transposed;
  const bool unit_diagonal = (solve.flags & DenseSolve::kUnitDiagonal) != 0;
  const MatrixStrides as = transposed ? MatrixStrides{1, n} : MatrixStrides{n, 1};
  if (InLanes(solve)) {
    const int64_t begin = task * lanes, valid = std::min(lanes, solve.count - begin);
    auto* a = reinterpret_cast<Vector<T>*>(memory);
    Vector<T>* b = a + n * n;
    LoadLanes(a, job.In(0, begin * n * n), n * n, valid, n * n);
    LoadLanes(b, job.In(1, begin * size), size, valid, size);
    SolveLanes<T>(a, as, b, right_side ? MatrixStrides{1, n} : MatrixStrides{m, 1}, n, m, lower, unit_diagonal);
    StoreLanes(job.Out(2, begin * size), b, size, valid, size);
    return;
  }
  const int64_t stripes = Stripes(m), number = task / stripes;
  const T* a = job.In(0, number * n * n);
  const T* b = job.In(1, number * size);
  T* result = job.Out(2, number * size);
  if (m == 1) {
    CopyRow(result, b, n);
    return SolveVector(a, as, result, n, lower, unit_diagonal);
  }
  const int64_t first = task % stripes * kStripe, count = std::min(kStripe, m - first);
  const int64_t stride = PaddedRow<T>(std::min(kStripe, m));
  T* x = reinterpret_cast<T*>(memory);
  right_side ? CopyTransposed(x, stride, b + first * n, n, n, count) : CopyRows(x, stride, b + first, m, n, count);
  SolveRows(a, as, x, stride, n, count, lower, unit_diagonal);
  right_side ? CopyTransposed(result + first * n, n, x, stride, count, n)
             : CopyRows(result + first, m, x, stride, n, count);
}

#define KILN_DENSE_TASKS(T)                                                                                       \
  KILN_VECTOR_CLONES(void, RunLu, (const Job<T>& job, int64_t task, char* memory), (job, task, memory)) {         \
    FactorizeLu(job, task, memory);                                                                               \
  }                                                                                                               \
  KILN_VECTOR_CLONES(void, RunCholesky, (const Job<T>& job, int64_t task, char* memory), (job, task, memory)) {   \
    FactorizeCholesky(job, task, memory);                                                                         \
  }                                                                                                               \
  KILN_VECTOR_CLONES(void, RunTriangular, (const Job<T>& job, int64_t task, char* memory), (job, task, memory)) { \
    SolveTriangular(job, task, memory);                                                                           \
  }                                                                                                               \
  KILN_VECTOR_CLONES(void, RunQr, (const Job<T>& job, int64_t task, char* memory), (job, task, memory)) {         \
    FactorizeQr(job, task, memory);                                                                               \
  }                                                                                                               \
  KILN_VECTOR_CLONES(void, RunReflectors, (const Job<T>& job, int64_t task, char* memory), (job, task, memory)) { \
    MultiplyReflectors(job, task, memory);                                                                        \
  }
KILN_DENSE_TASKS(float)
KILN_DENSE_TASKS(double)
#undef KILN_DENSE_TASKS

template <typename T>
void RunTasks(ProgramContext* context, const DenseSolve& solve, const void* const* arrays, char* scratch) {
  const int64_t tasks = Tasks(solve), slots = Slots(solve), slot_bytes = SlotBytes(solve);
  const Job<T> job = {solve, arrays, tasks == 1 ? context : nullptr};
  const auto run = [&](int64_t slot) {
    // Reflections find the norm of a column however small it is.
    std::optional<FlushedFloatEnvironment> environment;
    if (!IsReflection(solve)) environment.emplace();
    char* memory = scratch + slot * slot_bytes;
    for (int64_t task = slot; task < tasks; task += slots) {
      switch (solve.kind) {
        case DenseSolve::kLu:
          RunLu(job, task, memory);
          break;
        case DenseSolve::kCholesky:
          RunCholesky(job, task, memory);
          break;
        case DenseSolve::kTriangular:
          RunTriangular(job, task, memory);
          break;
        case DenseSolve::kQr:
          RunQr(job, task, memory);
          break;
        case DenseSolve::kReflectors:
          RunReflectors(job, task, memory);
          break;
      }
    }
  };
  slots == 1 ? run(0) : ForEach(context, slots, run);
}

}  // namespace

double DenseSolveNanoseconds(const DenseSolve& solve) {
  const double n = static_cast<double>(solve.kind == DenseSolve::kTriangular ? Unknowns(solve) : solve.rows);
  const double columns = static_cast<double>(solve.columns), count = static_cast<double>(solve.count);
  const double products = solve.kind == DenseSolve::kTriangular ? n * n * static_cast<double>(RightSides(solve)) / 2
                          : solve.kind == DenseSolve::kCholesky ? n * n * n / 6
                                                                : n * columns * std::min(n, columns) * (IsReflection(solve) ? 2 : 1) / 3;
  const SolverTuning& costs = Tuning().solver;
  const double moved = static_cast<double>(MatrixElements(solve)) / 8;
  const double matrix = InLanes(solve) ? 2 * moved + products / costs.lane_products_per_nanosecond
                                       : 40 + 20 * n + moved + products / costs.row_products_per_nanosecond;
  return count * matrix;
}

int64_t DenseSolveScratchBytes(const DenseSolve& solve) { return Slots(solve) * SlotBytes(solve); }

void RunDenseSolve(ProgramContext* context, const DenseSolve* solve, const void* const* arrays, void* scratch) {
  auto* memory = static_cast<char*>(scratch);
  solve->width == 4 ? RunTasks<float>(context, *solve, arrays, memory)
                    : RunTasks<double>(context, *solve, arrays, memory);
}

}  // namespace kiln::cpu
