// What a buffer holds: element type, dimensions and layout of one dense array, or a token.
#ifndef KILN_RUNTIME_BUFFER_TYPE_H_
#define KILN_RUNTIME_BUFFER_TYPE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/base/ref_counted.h"
#include "src/hlo/primitive_type.h"
#include "src/hlo/shape.h"

namespace kiln::runtime {

// Immutable and shared. The first few thousand different types of a process stay: nobody counts who refers to them, and
// equal ones are the same object.
class BufferType : public RefCounted<BufferType> {
 public:
  // A dense array. `minor_to_major` is null for row-major. INVALID_ARGUMENT for types without elements, negative
  // sizes, more than 2^48 bytes and orders that are no permutation.
  static absl::StatusOr<RefPtr<const BufferType>> Create(hlo::PrimitiveType element_type,
                                                         absl::Span<const int64_t> dimensions,
                                                         const absl::Span<const int64_t>* minor_to_major = nullptr);
  // Of an array or token leaf.
  static absl::StatusOr<RefPtr<const BufferType>> FromShape(const hlo::Shape& shape);

  void AddRef() const {
    if (!stays_) RefCounted::AddRef();
  }
  void Release() const {
    if (!stays_) RefCounted::Release();
  }

  hlo::PrimitiveType element_type() const { return element_type_; }
  const hlo::DimensionVector& dimensions() const { return dimensions_; }
  const hlo::DimensionVector& minor_to_major() const { return minor_to_major_; }
  int64_t rank() const { return static_cast<int64_t>(dimensions_.size()); }
  int64_t element_bytes() const { return element_bytes_; }
  int64_t element_count() const { return element_count_; }
  int64_t byte_count() const { return element_count_ * element_bytes_; }
  bool is_row_major() const { return is_row_major_; }
  // Distance in bytes between neighbours along each dimension.
  hlo::DimensionVector ByteStrides() const;

  bool operator==(const BufferType& other) const {
    return this == &other ||
           (element_type_ == other.element_type_ && element_count_ == other.element_count_ &&
            is_row_major_ == other.is_row_major_ && dimensions_ == other.dimensions_ &&
            (is_row_major_ || minor_to_major_ == other.minor_to_major_));
  }
  // "f32[2,3]{1,0}".
  std::string ToString() const;

 private:
  friend class RefCounted<BufferType>;
  BufferType() = default;
  ~BufferType() = default;
  // The one that stays and is equal to `type`, which becomes it if there is room; otherwise `type`.
  static RefPtr<const BufferType> Shared(RefPtr<BufferType> type);

  hlo::PrimitiveType element_type_ = hlo::PrimitiveType::kInvalid;
  bool is_row_major_ = true;
  bool stays_ = false;
  int64_t element_bytes_ = 0;
  int64_t element_count_ = 0;
  hlo::DimensionVector dimensions_;
  hlo::DimensionVector minor_to_major_;
};

}  // namespace kiln::runtime

#endif  // KILN_RUNTIME_BUFFER_TYPE_H_
