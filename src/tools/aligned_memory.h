// Memory for arguments, results and arenas of programs that a command runs.
#ifndef KILN_TOOLS_ALIGNED_MEMORY_H_
#define KILN_TOOLS_ALIGNED_MEMORY_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "src/base/status.h"

namespace kiln::tools {

struct FreeDeleter {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, FreeDeleter>;

// At least one byte, aligned to 64.
inline absl::StatusOr<Memory> Allocate(int64_t bytes) {
  const size_t rounded = (static_cast<size_t>(std::max<int64_t>(bytes, 1)) + 63) / 64 * 64;
  Memory memory(std::aligned_alloc(64, rounded));
  if (memory == nullptr) return ResourceExhausted("cannot allocate ", bytes, " bytes");
  return memory;
}

}  // namespace kiln::tools

#endif  // KILN_TOOLS_ALIGNED_MEMORY_H_
