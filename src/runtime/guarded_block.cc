#include "src/runtime/guarded_block.h"

#include <sys/mman.h>
#include <unistd.h>

namespace kiln::runtime {
namespace {

constexpr size_t kAlignment = 64;

size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Where a block stands in the pages that it has, one of which is before and one behind.
struct Layout {
  size_t page, pages;  // bytes
  size_t into;         // from the first page on
};

Layout LayoutOf(size_t bytes, GuardedEnd end) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t inside = RoundUp(bytes == 0 ? 1 : bytes, page);
  const size_t before = end == GuardedEnd::kLast ? inside - RoundUp(bytes, kAlignment) : 0;
  return {page, inside + 2 * page, page + before};
}

}  // namespace

void* AllocateGuarded(size_t bytes, GuardedEnd end) {
  const Layout layout = LayoutOf(bytes, end);
  void* mapping = mmap(nullptr, layout.pages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  char* first = static_cast<char*>(mapping);
  if (mprotect(first + layout.page, layout.pages - 2 * layout.page, PROT_READ | PROT_WRITE) != 0) {
    munmap(mapping, layout.pages);
    return nullptr;
  }
  return first + layout.into;
}

void FreeGuarded(void* block, size_t bytes, GuardedEnd end) {
  const Layout layout = LayoutOf(bytes, end);
  munmap(static_cast<char*>(block) - layout.into, layout.pages);
}

}  // namespace kiln::runtime
