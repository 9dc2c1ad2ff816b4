#include "src/cpu/array_copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "src/base/cpu_tuning.h"
#include "src/base/rounding.h"
#include "src/cpu/vector_clones.h"
#include "src/cpu/vector_lanes.h"

namespace kiln::cpu {
namespace {

constexpr int64_t kBlockBytes = int64_t{64} << 10;
constexpr int64_t kFewBytes = 16;

struct Copy {
  char* to;
  const char* from;
  int64_t bytes;
  bool streams;  // past the cache
};

KILN_VECTOR_CLONES(void, CopyBlock, (const Copy& copy, int64_t begin, int64_t end), (copy, begin, end)) {
  if (!copy.streams) {
    std::memcpy(copy.to + begin, copy.from + begin, static_cast<size_t>(end - begin));
    return;
  }
  int64_t at = begin;
  for (; at + kVectorBytes <= end; at += kVectorBytes) {
    const auto value = LoadVector(reinterpret_cast<const int32_t*>(copy.from + at));
    __builtin_nontemporal_store(value, reinterpret_cast<Vector<int32_t>*>(copy.to + at));
  }
  std::memcpy(copy.to + at, copy.from + at, static_cast<size_t>(end - at));
}

// Of the dimensions from one on.
struct Ring {
  const int64_t* sizes;
  const int64_t* starts;
  const int64_t* box_sizes;
  int64_t rank;
};

// Few elements, faster than memcpy copies a number of bytes that it does not know.
void CopyFew(char* to, const char* from, int64_t bytes) {
  int64_t at = 0;
  for (; at + 4 <= bytes; at += 4) std::memcpy(to + at, from + at, 4);
  for (; at < bytes; ++at) to[at] = from[at];
}

// What is before and behind the box along the first dimension is in one piece.
void CopyRing(ProgramContext* context, char* to, const char* from, int64_t bytes, const Ring& ring) {
  if (ring.rank == 0) return;
  const int64_t step = bytes / ring.sizes[0], begin = ring.starts[0], end = begin + ring.box_sizes[0];
  const auto copy = [&](int64_t first, int64_t last) {
    if ((last - first) * step <= kFewBytes) {
      CopyFew(to + first * step, from + first * step, (last - first) * step);
    } else if ((last - first) * step < kDividedCopyBytes) {
      std::memcpy(to + first * step, from + first * step, static_cast<size_t>((last - first) * step));
    } else {
      CopyArray(context, to + first * step, from + first * step, (last - first) * step);
    }
  };
  copy(0, begin);
  copy(end, ring.sizes[0]);
  const Ring inner = {ring.sizes + 1, ring.starts + 1, ring.box_sizes + 1, ring.rank - 1};
  bool is_whole = true;
  for (int64_t d = 0; d < inner.rank; ++d) is_whole &= inner.box_sizes[d] == inner.sizes[d];
  for (int64_t i = is_whole ? end : begin; i < end; ++i) CopyRing(context, to + i * step, from + i * step, step, inner);
}

}  // namespace

void CopyArray(ProgramContext* context, void* to, const void* from, int64_t bytes) {
  Copy copy = {.to = static_cast<char*>(to), .from = static_cast<const char*>(from), .bytes = bytes};
  copy.streams = bytes >= Tuning().kernels.streaming_bytes && reinterpret_cast<uintptr_t>(to) % kVectorBytes == 0;
  const auto task = [](void* closure, int64_t begin, int64_t end) {
    const Copy& all = *static_cast<Copy*>(closure);
    CopyBlock(all, begin * kBlockBytes, std::min(end * kBlockBytes, all.bytes));
  };
  const double nanoseconds = 2 * static_cast<double>(bytes) / Tuning().fusion.cached_bytes_per_nanosecond;
  ParallelFor(context, task, &copy, CeilDivide(bytes, kBlockBytes), 1, static_cast<int64_t>(nanoseconds));
}

void CopyAround(ProgramContext* context, void* to, const void* from, const int64_t* box) {
  const int64_t rank = box[0];
  const int64_t *sizes = box + 2, *starts = sizes + rank, *box_sizes = starts + rank;
  int64_t bytes = box[1];
  for (int64_t d = 0; d < rank; ++d) bytes *= sizes[d];
  CopyRing(context, static_cast<char*>(to), static_cast<const char*>(from), bytes, {sizes, starts, box_sizes, rank});
}

void PutBack(ProgramContext* context, void* const* pointers, int64_t count, int64_t bytes) {
  absl::InlinedVector<void*, 8> now(pointers, pointers + count);
  void* const* own = pointers + count;
  while (true) {
    // To the free place goes the array whose own it is, or any that is not in its own.
    int64_t next = 0;
    for (int64_t i = 1; i < count; ++i) {
      if (now[i] != own[i] && (next == 0 || own[i] == now[0])) next = i;
    }
    if (next == 0) return;
    CopyArray(context, now[0], now[next], bytes);
    std::swap(now[0], now[next]);
  }
}

}  // namespace kiln::cpu
