#include "src/cpu/jit_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "src/base/rounding.h"
#include "src/base/status.h"

namespace kiln::cpu {
namespace {

// The linker makes a table of the outside functions that an object calls, and pads between sections. Untouched pages of
// it cost address space only.
constexpr size_t kSlackPerObject = 64 << 10;

}  // namespace

JitMemory::~JitMemory() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

absl::Status JitMemory::Reserve(size_t bytes, size_t objects) {
  // An object's file is larger than its sections, which are of one kind or another.
  const size_t segment = RoundUp(bytes + objects * kSlackPerObject, sysconf(_SC_PAGESIZE));
  void* memory = mmap(nullptr, 3 * segment, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return ResourceExhausted("mapping ", 3 * segment, " bytes for generated code: ", std::strerror(errno));
  }
  base_ = static_cast<uint8_t*>(memory);
  bytes_ = 3 * segment;
  Segment* segments[] = {&code_, &read_only_, &writable_};
  for (size_t i = 0; i < 3; ++i) *segments[i] = {base_ + i * segment, segment, 0};
  return absl::OkStatus();
}

uint8_t* JitMemory::Segment::Allocate(size_t bytes, size_t alignment) {
  const size_t offset = RoundUp(used, alignment == 0 ? 16 : alignment);
  if (offset > size || bytes > size - offset) return nullptr;
  used = offset + bytes;
  return begin + offset;
}

uint8_t* JitMemory::allocateCodeSection(uintptr_t size, unsigned alignment, unsigned, llvm::StringRef) {
  return code_.Allocate(size, alignment);
}

uint8_t* JitMemory::allocateDataSection(uintptr_t size, unsigned alignment, unsigned, llvm::StringRef, bool read_only) {
  return (read_only ? read_only_ : writable_).Allocate(size, alignment);
}

bool JitMemory::finalizeMemory(std::string* error) {
  const auto protect = [&](const Segment& segment, int protection) {
    if (segment.size == 0 || mprotect(segment.begin, segment.size, protection) == 0) return true;
    if (error != nullptr) *error = std::string("mprotect of generated code: ") + std::strerror(errno);
    return false;
  };
  if (!protect(code_, PROT_READ | PROT_EXEC) || !protect(read_only_, PROT_READ)) return true;
#if !defined(__x86_64__)
  __builtin___clear_cache(reinterpret_cast<char*>(code_.begin), reinterpret_cast<char*>(code_.begin + code_.size));
#endif
  return false;
}

}  // namespace kiln::cpu
