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
