// Memory for linked objects: one mapping, written while linking, then code read-execute and constants read-only.
#ifndef KILN_CPU_JIT_MEMORY_H_
#define KILN_CPU_JIT_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "llvm/ExecutionEngine/RuntimeDyld.h"

namespace kiln::cpu {

// Code, constants and variables lie side by side, so that the small code model holds wherever the mapping is. No page
// is ever writable and executable at once. Not thread-safe. Unmaps on destruction.
class JitMemory : public llvm::RuntimeDyld::MemoryManager {
 public:
  JitMemory() = default;
  ~JitMemory() override;
  JitMemory(const JitMemory&) = delete;
  JitMemory& operator=(const JitMemory&) = delete;

  // Makes the mapping, once, before linking: for `objects` files of `bytes` together.
  absl::Status Reserve(size_t bytes, size_t objects);
  // Null when the reserved space is used up, which the linker reports as an error.
  uint8_t* allocateCodeSection(uintptr_t size, unsigned alignment, unsigned id, llvm::StringRef name) override;
  uint8_t* allocateDataSection(uintptr_t size, unsigned alignment, unsigned id, llvm::StringRef name,
                               bool read_only) override;
  // Generated functions do not unwind.
  void registerEHFrames(uint8_t*, uint64_t, size_t) override {}
  void deregisterEHFrames() override {}
  // Sets the final protections. True, with a message, on failure: LLVM's convention.
  bool finalizeMemory(std::string* error) override;

  size_t code_bytes() const { return code_.used; }

 private:
  struct Segment {
    uint8_t* begin = nullptr;
    size_t size = 0;  // whole pages
    size_t used = 0;
    uint8_t* Allocate(size_t bytes, size_t alignment);
  };

  uint8_t* base_ = nullptr;
  size_t bytes_ = 0;
  Segment code_, read_only_, writable_;
};

}  // namespace kiln::cpu

#endif  // KILN_CPU_JIT_MEMORY_H_
