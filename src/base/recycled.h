// Objects that come and go many times a call: their memory stays with the thread that frees them.
#ifndef KILN_BASE_RECYCLED_H_
#define KILN_BASE_RECYCLED_H_

#include <cstddef>
#include <new>

namespace kiln {

// Base of T, which has no classes below it. A thread keeps the memory of up to kMost objects; more go back to the
// system, where freeing tens of objects in a row takes a multiple of the time of a few.
template <typename T>
class Recycled {
 public:
  static void* operator new(size_t bytes) {
    Kept& kept = Mine();
    if (kept.first == nullptr) return ::operator new(bytes);
    Free* memory = kept.first;
    kept.first = memory->next;
    --kept.count;
    return memory;
  }
  static void operator delete(void* memory) {
    Kept& kept = Mine();
    if (kept.count >= kMost) return ::operator delete(memory);
    kept.first = new (memory) Free{kept.first};
    ++kept.count;
  }

 private:
  struct Free {
    Free* next;
  };
  struct Kept {
    Free* first = nullptr;
    int count = 0;
    // What is freed later by this thread goes back to the system.
    ~Kept() {
      count = kMost;
      while (first != nullptr) {
        Free* memory = first;
        first = memory->next;
        ::operator delete(memory);
      }
    }
  };
// A sanitizer is to see each object freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr int kMost = 0;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  static constexpr int kMost = 0;
#else
  static constexpr int kMost = 64;
#endif
#else
  static constexpr int kMost = 64;
#endif

  static Kept& Mine() {
    thread_local Kept kept;
    return kept;
  }
};

}  // namespace kiln

#endif  // KILN_BASE_RECYCLED_H_
