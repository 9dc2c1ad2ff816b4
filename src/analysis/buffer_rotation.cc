#include "src/analysis/buffer_rotation.h"

#include <utility>

#include "absl/algorithm/container.h"

namespace kiln::analysis {
namespace {

// Where copies of whole arrays lead from a buffer, one after the other, and takes these out; if only to where they
// began.
std::vector<int> TakePath(const std::vector<Buffer>& buffers, int from, bool is_circle,
                          std::vector<BufferCopy>* copies) {
  std::vector<BufferCopy> rest = *copies;
  std::vector<int> path;
  const int64_t bytes = buffers[from].bytes;
  for (int at = from; bytes >= kMinRotatedBytes && (path.empty() || at != from);) {
    const auto next = absl::c_find_if(rest, [&](const BufferCopy& copy) {
      return copy.from == at && copy.offset == 0 && buffers[copy.to].bytes == bytes;
    });
    if (next == rest.end()) break;
    path.push_back(at = next->to);
    rest.erase(next);
  }
  if (path.empty() || (is_circle && path.back() != from)) return {};
  *copies = std::move(rest);
  return path;
}

}  // namespace

std::vector<BufferRotation> TakeRotations(const std::vector<Buffer>& buffers,
                                          const std::function<bool(const Buffer&)>& is_of_round,
                                          std::vector<BufferCopy>* copies) {
  std::vector<BufferRotation> rotations;
  for (const bool is_circle : {false, true}) {
    for (const BufferCopy& copy : std::vector<BufferCopy>(*copies)) {
      const bool is_spare = absl::c_any_of(rotations, [&](const BufferRotation& r) { return r.spare == copy.from; });
      if (!is_circle && (is_spare || !is_of_round(buffers[copy.from]))) continue;
      std::vector<int> path = TakePath(buffers, copy.from, is_circle, copies);
      if (!path.empty()) rotations.push_back({std::move(path), is_circle ? -1 : copy.from, !is_circle});
    }
  }
  return rotations;
}

}  // namespace kiln::analysis
