#include "src/runtime/strided_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "absl/container/inlined_vector.h"

namespace kiln::runtime {
namespace {

struct Loop {
  int64_t size;
  int64_t source_stride;
  int64_t destination_stride;
};

// One or two innermost loops with the element size known, so that the compiler can use wide moves.
template <int64_t kBytes>
void CopyTile(const Loop& outer, const Loop& inner, const char* source, char* destination) {
  constexpr int64_t kBlock = 32;  // a block of both sides stays in the first-level cache when one side is transposed
  for (int64_t i0 = 0; i0 < outer.size; i0 += kBlock) {
    const int64_t i1 = std::min(i0 + kBlock, outer.size);
    for (int64_t j0 = 0; j0 < inner.size; j0 += kBlock) {
      const int64_t j1 = std::min(j0 + kBlock, inner.size);
      for (int64_t i = i0; i < i1; ++i) {
        const char* from = source + i * outer.source_stride + j0 * inner.source_stride;
        char* to = destination + i * outer.destination_stride + j0 * inner.destination_stride;
        for (int64_t j = j0; j < j1; ++j) {
          std::memcpy(to, from, kBytes);
          from += inner.source_stride;
          to += inner.destination_stride;
        }
      }
    }
  }
}

void CopyTile(int64_t element_bytes, const Loop& outer, const Loop& inner, const char* source, char* destination) {
  if (inner.source_stride == element_bytes && inner.destination_stride == element_bytes) {
    for (int64_t i = 0; i < outer.size; ++i) {
      std::memcpy(destination + i * outer.destination_stride, source + i * outer.source_stride,
                  inner.size * element_bytes);
    }
    return;
  }
  switch (element_bytes) {
    case 1:
      return CopyTile<1>(outer, inner, source, destination);
    case 2:
      return CopyTile<2>(outer, inner, source, destination);
    case 4:
      return CopyTile<4>(outer, inner, source, destination);
    case 8:
      return CopyTile<8>(outer, inner, source, destination);
    case 16:
      return CopyTile<16>(outer, inner, source, destination);
    default:
      for (int64_t i = 0; i < outer.size; ++i) {
        for (int64_t j = 0; j < inner.size; ++j) {
          std::memcpy(destination + i * outer.destination_stride + j * inner.destination_stride,
                      source + i * outer.source_stride + j * inner.source_stride, element_bytes);
        }
      }
  }
}

}  // namespace

void StridedCopy(int64_t element_bytes, absl::Span<const int64_t> dimensions, const void* source,
                 absl::Span<const int64_t> source_strides, void* destination,
                 absl::Span<const int64_t> destination_strides) {
  const char* from = static_cast<const char*>(source);
  char* to = static_cast<char*>(destination);
  absl::InlinedVector<Loop, 8> loops;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[i] == 0) return;
    if (dimensions[i] > 1) loops.push_back({dimensions[i], source_strides[i], destination_strides[i]});
  }
  // Outermost first by the destination, then neighbours that continue each other on both sides become one loop.
  std::sort(loops.begin(), loops.end(), [](const Loop& a, const Loop& b) {
    return std::abs(a.destination_stride) > std::abs(b.destination_stride);
  });
  absl::InlinedVector<Loop, 8> merged;
  for (const Loop& loop : loops) {
    if (!merged.empty() && merged.back().source_stride == loop.source_stride * loop.size &&
        merged.back().destination_stride == loop.destination_stride * loop.size) {
      merged.back() = {merged.back().size * loop.size, loop.source_stride, loop.destination_stride};
    } else {
      merged.push_back(loop);
    }
  }
  while (merged.size() < 2) merged.insert(merged.begin(), Loop{1, 0, 0});
  // The loop that is contiguous in the source sits next to the innermost one, so that a tile covers both.
  size_t best = merged.size() - 2;
  for (size_t i = 0; i + 1 < merged.size(); ++i) {
    if (std::abs(merged[i].source_stride) < std::abs(merged[best].source_stride) && merged[i].source_stride != 0)
      best = i;
  }
  std::rotate(merged.begin() + best, merged.begin() + best + 1, merged.end() - 1);
  const Loop inner = merged.back();
  const Loop outer = merged[merged.size() - 2];
  const size_t outer_rank = merged.size() - 2;
  absl::InlinedVector<int64_t, 8> index(outer_rank, 0);
  while (true) {
    CopyTile(element_bytes, outer, inner, from, to);
    size_t level = outer_rank;
    while (level > 0) {
      const Loop& loop = merged[--level];
      from += loop.source_stride;
      to += loop.destination_stride;
      if (++index[level] < loop.size) break;
      from -= loop.source_stride * loop.size;
      to -= loop.destination_stride * loop.size;
      index[level] = 0;
      if (level == 0) return;
    }
    if (outer_rank == 0) return;
  }
}

}  // namespace kiln::runtime
