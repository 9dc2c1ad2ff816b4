#include "src/cpu/array_join.h"

#include <algorithm>
#include <cstring>

#include "src/base/cpu_tuning.h"
#include "src/base/rounding.h"

namespace kiln::cpu {
namespace {

constexpr int64_t kJoinBlockBytes = int64_t{64} << 10;
constexpr double kPieceNanoseconds = 4;

struct Task {
  const ArrayJoin* join;
  const int64_t* ends;
  void* const* pointers;
  int64_t row_bytes;
};

// The bytes of the result from `begin` to `end`.
void JoinBytes(const Task& task, int64_t begin, int64_t end) {
  const int64_t count = task.join->pieces;
  auto* to = static_cast<char*>(task.pointers[count]);
  int64_t row = begin / task.row_bytes, at = begin % task.row_bytes;  // in the row
  int64_t piece = std::upper_bound(task.ends, task.ends + count, at) - task.ends;
  while (begin < end) {
    const int64_t start = piece == 0 ? 0 : task.ends[piece - 1], size = task.ends[piece] - start;
    const int64_t bytes = std::min(task.ends[piece] - at, end - begin);
    std::memcpy(to + begin, static_cast<const char*>(task.pointers[piece]) + row * size + (at - start),
                static_cast<size_t>(bytes));
    begin += bytes;
    at += bytes;
    while (piece < count && task.ends[piece] == at) ++piece;  // those without elements too
    if (piece == count) ++row, at = 0, piece = std::upper_bound(task.ends, task.ends + count, 0) - task.ends;
  }
}

}  // namespace

void JoinArrays(ProgramContext* context, const ArrayJoin* join, void* const* pointers) {
  const auto* ends = reinterpret_cast<const int64_t*>(join + 1);
  Task task = {join, ends, pointers, ends[join->pieces - 1]};
  const int64_t bytes = task.row_bytes * join->rows;
  if (bytes == 0) return;
  const auto run = [](void* closure, int64_t begin, int64_t end) {
    const Task& all = *static_cast<Task*>(closure);
    JoinBytes(all, begin * kJoinBlockBytes, std::min(end * kJoinBlockBytes, all.row_bytes * all.join->rows));
  };
  const double nanoseconds = JoinNanoseconds(bytes, join->pieces * join->rows);
  ParallelFor(context, run, &task, CeilDivide(bytes, kJoinBlockBytes), 1, static_cast<int64_t>(nanoseconds));
}

double JoinNanoseconds(int64_t bytes, int64_t runs) {
  return 2 * static_cast<double>(bytes) / Tuning().fusion.cached_bytes_per_nanosecond +
         kPieceNanoseconds * static_cast<double>(runs);
}

}  // namespace kiln::cpu
