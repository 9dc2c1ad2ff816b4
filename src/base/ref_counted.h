// Intrusive reference counting: one word in the object, no control block, and a raw pointer can cross a C interface.
#ifndef KILN_BASE_REF_COUNTED_H_
#define KILN_BASE_REF_COUNTED_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace kiln {

// Base of objects that live until their last reference goes. A new object has one reference, which RefPtr::Adopt or
// MakeRef takes. Counting is thread-safe.
template <typename T>
class RefCounted {
 public:
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void AddRef() const { references_.fetch_add(1, std::memory_order_relaxed); }
  // Whether the caller's is the only reference.
  bool IsUnique() const { return references_.load(std::memory_order_acquire) == 1; }
  void Release() const {
    // The only reference cannot become two meanwhile.
    if (IsUnique() || references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete static_cast<const T*>(this);
  }

 protected:
  RefCounted() = default;
  ~RefCounted() = default;

 private:
  mutable std::atomic<int64_t> references_{1};
};

// Owns one reference; may be null.
template <typename T>
class RefPtr {
 public:
  RefPtr() = default;
  RefPtr(std::nullptr_t) {}
  // Takes over the caller's reference.
  static RefPtr Adopt(T* object) {
    RefPtr pointer;
    pointer.object_ = object;
    return pointer;
  }
  // Adds a reference.
  static RefPtr Share(T* object) {
    if (object != nullptr) object->AddRef();
    return Adopt(object);
  }
  RefPtr(const RefPtr& other) : object_(other.object_) {
    if (object_ != nullptr) object_->AddRef();
  }
  RefPtr(RefPtr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <typename U>
  RefPtr(RefPtr<U> other) : object_(other.Detach()) {}
  RefPtr& operator=(RefPtr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~RefPtr() {
    if (object_ != nullptr) object_->Release();
  }

  // Gives the reference to the caller and leaves null.
  T* Detach() { return std::exchange(object_, nullptr); }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool operator==(std::nullptr_t) const { return object_ == nullptr; }

 private:
  T* object_ = nullptr;
};

template <typename T, typename... Args>
RefPtr<T> MakeRef(Args&&... args) {
  return RefPtr<T>::Adopt(new T(std::forward<Args>(args)...));
}

}  // namespace kiln

#endif  // KILN_BASE_REF_COUNTED_H_
