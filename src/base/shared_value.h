// Values on the heap that copies share until one of them is written, and variants whose large members are such.
#ifndef KILN_BASE_SHARED_VALUE_H_
#define KILN_BASE_SHARED_VALUE_H_

#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>

#include "src/base/ref_counted.h"

namespace kiln {

// Copying is cheap and thread-safe. What `Mutable` returned must not be written any more once the value was copied.
template <typename T>
class SharedValue {
 public:
  // T(), which takes no memory.
  SharedValue() = default;
  explicit SharedValue(T value) : box_(MakeRef<Box>(std::move(value))) {}

  const T& operator*() const { return box_ ? box_->value : Default(); }
  const T* operator->() const { return &**this; }
  T& Mutable() {
    if (!box_) {
      box_ = MakeRef<Box>(T());
    } else if (!box_->IsUnique()) {
      box_ = MakeRef<Box>(T(box_->value));
    }
    return box_->value;
  }
  // Whether one was copied from the other, or both from a third, and none was written since.
  bool SharesWith(const SharedValue& other) const { return box_.get() == other.box_.get(); }
  bool operator==(const SharedValue& other) const { return SharesWith(other) || **this == *other; }

 private:
  struct Box : RefCounted<Box> {
    explicit Box(T initial) : value(std::move(initial)) {}
    T value;
  };
  static const T& Default() {
    static const T* const kDefault = new T();
    return *kDefault;
  }

  RefPtr<Box> box_;
};

// std::variant<Members...>, but that members of more than `inline_bytes` are shared by copies until one is written.
template <size_t inline_bytes, typename... Members>
class SharedVariant {
  template <typename T>
  static constexpr bool kIsInline = sizeof(T) <= inline_bytes;
  template <typename T>
  using Stored = std::conditional_t<kIsInline<T>, T, SharedValue<T>>;

 public:
  SharedVariant() = default;
  template <typename T>
    requires(std::is_same_v<T, Members> || ...)
  SharedVariant(T member) : stored_(Stored<T>(std::move(member))) {}

  template <typename T>
  bool Holds() const {
    return std::holds_alternative<Stored<T>>(stored_);
  }
  // The variant must hold a T.
  template <typename T>
  const T& Get() const {
    return Read(std::get<Stored<T>>(stored_));
  }
  // Null where the variant holds another member.
  template <typename T>
  const T* GetIf() const {
    const auto* stored = std::get_if<Stored<T>>(&stored_);
    return stored == nullptr ? nullptr : &Read(*stored);
  }
  template <typename T>
  T* GetMutable() {
    auto* stored = std::get_if<Stored<T>>(&stored_);
    return stored == nullptr ? nullptr : &Write(*stored);
  }
  // visitor(member), with a member that may be written.
  template <typename Visitor>
  decltype(auto) VisitMutable(Visitor&& visitor) {
    return std::visit([&](auto& stored) -> decltype(auto) { return visitor(Write(stored)); }, stored_);
  }
  template <typename Visitor>
  decltype(auto) Visit(Visitor&& visitor) const {
    return std::visit([&](const auto& stored) -> decltype(auto) { return visitor(Read(stored)); }, stored_);
  }

  bool operator==(const SharedVariant&) const = default;

 private:
  template <typename T>
  static const T& Read(const T& stored) {
    return stored;
  }
  template <typename T>
  static const T& Read(const SharedValue<T>& stored) {
    return *stored;
  }
  template <typename T>
  static T& Write(T& stored) {
    return stored;
  }
  template <typename T>
  static T& Write(SharedValue<T>& stored) {
    return stored.Mutable();
  }

  std::variant<Stored<Members>...> stored_;
};

}  // namespace kiln

#endif  // KILN_BASE_SHARED_VALUE_H_
