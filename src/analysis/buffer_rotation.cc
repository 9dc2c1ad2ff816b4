#include "src/analysis/buffer_rotation.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace kiln::analysis {
namespace {

// The copies by where they come from, whole arrays alone.
class Paths {
 public:
  Paths(const std::vector<Buffer>& buffers, const std::vector<BufferCopy>& copies)
      : copies_(copies), taken_(copies.size(), false) {
    for (size_t i = 0; i < copies.size(); ++i) {
      const int64_t bytes = buffers[copies[i].to].bytes;
      const bool is_whole = copies[i].offset == 0 && buffers[copies[i].from].bytes == bytes;
      if (is_whole && bytes >= kMinRotatedBytes) by_source_[copies[i].from].push_back(i);
    }
  }

  // Where they lead from a buffer, one after the other, and takes these; if only to where they began.
  std::vector<int> Take(int from, bool is_circle) {
    std::vector<int> path;
    std::vector<size_t> numbers;
    for (int at = from; path.empty() || at != from;) {
      const auto next = by_source_.find(at);
      if (next == by_source_.end()) break;
      const auto free = absl::c_find_if(next->second, [&](size_t i) { return !taken_[i]; });
      if (free == next->second.end()) break;
      taken_[*free] = true;
      numbers.push_back(*free);
      path.push_back(at = copies_[*free].to);
    }
    if (!is_circle || (!path.empty() && path.back() == from)) return path;
    for (size_t i : numbers) taken_[i] = false;
    return {};
  }

  bool IsTaken(size_t copy) const { return taken_[copy]; }

 private:
  const std::vector<BufferCopy>& copies_;
  std::vector<bool> taken_;
  absl::flat_hash_map<int, std::vector<size_t>> by_source_;
};

}  // namespace

std::vector<BufferRotation> TakeRotations(const std::vector<Buffer>& buffers,
                                          const std::function<bool(const Buffer&)>& is_of_round,
                                          std::vector<BufferCopy>* copies) {
  Paths paths(buffers, *copies);
  std::vector<BufferRotation> rotations;
  absl::flat_hash_set<int> spare;
  for (const bool is_circle : {false, true}) {
    for (size_t i = 0; i < copies->size(); ++i) {
      const int from = (*copies)[i].from;
      if (paths.IsTaken(i) || (!is_circle && (spare.contains(from) || !is_of_round(buffers[from])))) continue;
      std::vector<int> path = paths.Take(from, is_circle);
      if (path.empty()) continue;
      if (!is_circle) spare.insert(from);
      rotations.push_back({std::move(path), is_circle ? -1 : from, !is_circle});
    }
  }
  std::vector<BufferCopy> rest;
  for (size_t i = 0; i < copies->size(); ++i) {
    if (!paths.IsTaken(i)) rest.push_back(std::move((*copies)[i]));
  }
  *copies = std::move(rest);
  return rotations;
}

}  // namespace kiln::analysis
