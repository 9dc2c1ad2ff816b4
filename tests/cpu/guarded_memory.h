// Memory whose surroundings are watched, for the buffers of generated code.
#ifndef KILN_TESTS_CPU_GUARDED_MEMORY_H_
#define KILN_TESTS_CPU_GUARDED_MEMORY_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"

namespace kiln::testing {

// Where data stands in its memory, which begins behind and ends before a page that nobody may touch. Reading outside is
// found at the pages alone.
enum class Place { kAmongGuardBytes, kAtItsEnd, kAtItsStart };

// `bytes` bytes at a multiple of `alignment`, not always of more, with guards on both sides.
class GuardedMemory {
 public:
  static constexpr int64_t kAlignment = 64;  // of results and scratch memory

  GuardedMemory(int64_t bytes, int64_t alignment, Place place, uint8_t guard, uint8_t fill)
      : bytes_(bytes), guard_(guard) {
    const auto up = [](int64_t size, int64_t unit) { return (size + unit - 1) / unit * unit; };
    const int64_t page = sysconf(_SC_PAGESIZE);
    const int64_t margin = place == Place::kAmongGuardBytes ? 4 * kAlignment : 0;
    total_ = up(bytes + 2 * margin, page);
    mapping_ = {mmap(nullptr, static_cast<size_t>(total_ + 2 * page), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                Unmap{static_cast<size_t>(total_ + 2 * page)}};
    if (mapping_.get() == MAP_FAILED) std::abort();
    memory_ = static_cast<uint8_t*>(mapping_.get()) + page;
    if (total_ > 0 && mprotect(memory_, static_cast<size_t>(total_), PROT_READ | PROT_WRITE) != 0) std::abort();
    start_ = place == Place::kAtItsEnd ? total_ - up(bytes, alignment) : up(margin, alignment);
    if (margin > 0 && alignment < kAlignment) start_ += alignment;
    std::memset(memory_, guard, static_cast<size_t>(start_));
    std::memset(data(), fill, static_cast<size_t>(bytes));
    std::memset(data() + bytes, guard, static_cast<size_t>(total_ - start_ - bytes));
  }

  uint8_t* data() { return memory_ + start_; }

  // Offset, from the start of the data, of a guard byte that changed; empty where none did.
  std::string Damage() const {
    for (int64_t i = start_ == 0 ? bytes_ : 0; i < total_; i = i + 1 == start_ ? start_ + bytes_ : i + 1) {
      if (memory_[i] != guard_) return absl::StrCat("byte ", i - start_, " of a buffer of ", bytes_, " bytes was written");
    }
    return "";
  }

 private:
  struct Unmap {
    size_t size;
    void operator()(void* mapping) const { munmap(mapping, size); }
  };

  std::unique_ptr<void, Unmap> mapping_;
  uint8_t* memory_;
  int64_t bytes_;
  int64_t start_;
  int64_t total_;
  uint8_t guard_;
};

}  // namespace kiln::testing

#endif  // KILN_TESTS_CPU_GUARDED_MEMORY_H_
