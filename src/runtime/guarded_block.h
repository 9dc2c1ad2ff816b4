// Memory for debugging, with pages around it that nobody may touch: an access outside, and one after it was freed, ends
// the process there and then.
#ifndef KILN_RUNTIME_GUARDED_BLOCK_H_
#define KILN_RUNTIME_GUARDED_BLOCK_H_

#include <cstddef>

namespace kiln::runtime {

// Which end of a block is at such a page: up to the alignment of blocks, or to the byte.
enum class GuardedEnd { kNone, kLast, kFirst };

// `bytes` bytes, aligned to 64; null where the system has none. `end` is not kNone. Thread-safe.
void* AllocateGuarded(size_t bytes, GuardedEnd end);
// Both as they were for AllocateGuarded.
void FreeGuarded(void* block, size_t bytes, GuardedEnd end);

}  // namespace kiln::runtime

#endif  // KILN_RUNTIME_GUARDED_BLOCK_H_
