#include "src/cpu/jit_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace kiln::cpu {
namespace {

constexpr size_t kCallTableBytes = 64 << 10;  // Untouched pages of it cost address space only.

size_t RoundUp(size_t size, size_t multiple) { return (size + multiple - 1) / multiple * multiple; }

}  // namespace

JitMemory::~JitMemory() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

void JitMemory::reserveAllocationSpace(uintptr_t code_size, llvm::Align code_align, uintptr_t read_only_size,
                                       llvm::Align read_only_align, uintptr_t writable_size,
                                       llvm::Align writable_align) {
  if (base_ != nullptr) return;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  // The linker's sums leave out the padding between sections of different alignment; a page covers it.
  const auto pages = [&](size_t size) { return size == 0 ? size_t{0} : RoundUp(size, page) + page; };
  code_.size = pages(code_size);
  read_only_.size = pages(read_only_size);
  // The linker makes a table of the outside functions that are called, which it leaves out of its sums.
  writable_.size = pages(writable_size) + kCallTableBytes;
  bytes_ = code_.size + read_only_.size + writable_.size;
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    code_.size = read_only_.size = writable_.size = bytes_ = 0;
    return;
  }
  base_ = static_cast<uint8_t*>(memory);
  code_.begin = base_;
  read_only_.begin = code_.begin + code_.size;
  writable_.begin = read_only_.begin + read_only_.size;
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
