// Arrays in Kiln's memory. Header-only, over kiln.h.
#ifndef KILN_BUFFER_H_
#define KILN_BUFFER_H_

#include <kiln.h>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/status.h"

namespace kiln {

// The element type of a C++ type.
template <typename T>
struct DtypeOf;
template <>
struct DtypeOf<bool> : std::integral_constant<kiln_dtype, KILN_PRED> {};
template <>
struct DtypeOf<int8_t> : std::integral_constant<kiln_dtype, KILN_S8> {};
template <>
struct DtypeOf<int16_t> : std::integral_constant<kiln_dtype, KILN_S16> {};
template <>
struct DtypeOf<int32_t> : std::integral_constant<kiln_dtype, KILN_S32> {};
template <>
struct DtypeOf<int64_t> : std::integral_constant<kiln_dtype, KILN_S64> {};
template <>
struct DtypeOf<uint8_t> : std::integral_constant<kiln_dtype, KILN_U8> {};
template <>
struct DtypeOf<uint16_t> : std::integral_constant<kiln_dtype, KILN_U16> {};
template <>
struct DtypeOf<uint32_t> : std::integral_constant<kiln_dtype, KILN_U32> {};
template <>
struct DtypeOf<uint64_t> : std::integral_constant<kiln_dtype, KILN_U64> {};
template <>
struct DtypeOf<float> : std::integral_constant<kiln_dtype, KILN_F32> {};
template <>
struct DtypeOf<double> : std::integral_constant<kiln_dtype, KILN_F64> {};

// Owns a kiln_buffer. Movable; the content of an output may still be in the making until Await or a read.
class Buffer {
 public:
  explicit Buffer(kiln_buffer* buffer) : buffer_(buffer, &kiln_buffer_destroy) {}

  kiln_dtype dtype() const { return kiln_buffer_dtype(get()); }
  std::vector<int64_t> dims() const {
    const int64_t* dims = kiln_buffer_dims(get());
    return std::vector<int64_t>(dims, dims + kiln_buffer_rank(get()));
  }
  size_t size_bytes() const { return kiln_buffer_size(get()); }

  // Waits until the content is there.
  Status Await() const { return Status(kiln_buffer_await(get())); }
  // The content in row-major order. Waits for it. T must be the element type.
  template <typename T>
  Result<std::vector<T>> ToVector() const {
    static_assert(!std::is_same_v<T, bool>, "read pred as uint8_t");
    if (dtype() != DtypeOf<T>::value && !(dtype() == KILN_PRED && DtypeOf<T>::value == KILN_U8)) {
      return Status(KILN_INVALID_ARGUMENT, "the buffer's dtype is " + std::to_string(dtype()) + ", expected " +
                                               std::to_string(DtypeOf<T>::value));
    }
    std::vector<T> values(size_bytes() / sizeof(T));
    if (values.empty()) return values;
    if (Status status(kiln_buffer_to_host(get(), values.data(), size_bytes())); !status.ok()) return status;
    return values;
  }

  kiln_buffer* get() const { return buffer_.get(); }

 private:
  std::unique_ptr<kiln_buffer, void (*)(kiln_buffer*)> buffer_;
};

}  // namespace kiln

#endif  // KILN_BUFFER_H_
