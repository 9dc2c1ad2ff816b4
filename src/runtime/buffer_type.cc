#include "src/runtime/buffer_type.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "src/base/status.h"

namespace kiln::runtime {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 48;
constexpr size_t kMaxRank = 256;
constexpr size_t kMostThatStay = 4096;

struct HashType {
  size_t operator()(const BufferType* type) const {
    return absl::HashOf(type->element_type(), type->dimensions(), type->minor_to_major());
  }
};
struct EqualTypes {
  bool operator()(const BufferType* a, const BufferType* b) const { return *a == *b; }
};
struct TypesThatStay {
  absl::Mutex mutex;
  absl::flat_hash_set<const BufferType*, HashType, EqualTypes> types ABSL_GUARDED_BY(mutex);
};

}  // namespace

absl::StatusOr<RefPtr<const BufferType>> BufferType::Create(hlo::PrimitiveType element_type,
                                                            absl::Span<const int64_t> dimensions,
                                                            const absl::Span<const int64_t>* minor_to_major) {
  auto type = RefPtr<BufferType>::Adopt(new BufferType());
  if (element_type == hlo::PrimitiveType::kToken) {
    if (!dimensions.empty()) return InvalidArgument("a token buffer has no dimensions, found ", dimensions.size());
    type->element_type_ = element_type;
    return Shared(std::move(type));
  }
  if (!hlo::IsArrayType(element_type)) return InvalidArgument("a buffer needs an array's element type");
  if (dimensions.size() > kMaxRank) {
    return InvalidArgument("a buffer has at most ", kMaxRank, " dimensions, found ", dimensions.size());
  }
  type->element_type_ = element_type;
  type->element_bytes_ = hlo::ByteWidth(element_type);
  type->dimensions_.assign(dimensions.begin(), dimensions.end());
  int64_t count = 1;
  int64_t extent =
      type->element_bytes_;  // bytes with empty dimensions left out, so that strides cannot overflow either
  for (int64_t size : dimensions) {
    if (size < 0 || (size > 0 && extent > kMaxBytes / size)) {
      return InvalidArgument("bad dimensions of a buffer: ", hlo::PrimitiveTypeName(element_type), "[",
                             absl::StrJoin(dimensions, ","), "]");
    }
    count *= size;
    if (size > 0) extent *= size;
  }
  type->element_count_ = count;
  const int64_t rank = static_cast<int64_t>(dimensions.size());
  if (minor_to_major == nullptr) {
    for (int64_t i = rank - 1; i >= 0; --i) type->minor_to_major_.push_back(i);
    return Shared(std::move(type));
  }
  absl::InlinedVector<bool, 6> seen(rank, false);
  bool valid = static_cast<int64_t>(minor_to_major->size()) == rank;
  for (int64_t dimension : *minor_to_major) {
    if (!valid || dimension < 0 || dimension >= rank || seen[dimension]) {
      valid = false;
      break;
    }
    seen[dimension] = true;
  }
  if (!valid) {
    return InvalidArgument("bad layout of a buffer of rank ", rank, ": {", absl::StrJoin(*minor_to_major, ","), "}");
  }
  type->minor_to_major_.assign(minor_to_major->begin(), minor_to_major->end());
  for (int64_t i = 0; i < rank; ++i) type->is_row_major_ &= type->minor_to_major_[i] == rank - 1 - i;
  return Shared(std::move(type));
}

RefPtr<const BufferType> BufferType::Shared(RefPtr<BufferType> type) {
  static auto* const all = new TypesThatStay();
  absl::MutexLock lock(&all->mutex);
  if (const auto found = all->types.find(type.get()); found != all->types.end()) {
    return RefPtr<const BufferType>::Share(*found);
  }
  if (all->types.size() < kMostThatStay) {
    type->stays_ = true;
    all->types.insert(type.get());
  }
  return RefPtr<const BufferType>(std::move(type));
}

absl::StatusOr<RefPtr<const BufferType>> BufferType::FromShape(const hlo::Shape& shape) {
  if (shape.IsToken()) return Create(hlo::PrimitiveType::kToken, {});
  if (!shape.IsArray()) return Unimplemented("a buffer of shape ", shape.ToString());
  if (!shape.layout().tiles.empty()) return Unimplemented("a buffer with a tiled layout: ", shape.ToString());
  const absl::Span<const int64_t> minor_to_major(shape.layout().minor_to_major);
  const bool has_layout = static_cast<int64_t>(minor_to_major.size()) == shape.rank();
  return Create(shape.element_type(), shape.dimensions(), has_layout ? &minor_to_major : nullptr);
}

hlo::DimensionVector BufferType::ByteStrides() const {
  hlo::DimensionVector strides(dimensions_.size(), 0);
  int64_t stride = element_bytes_;
  for (int64_t dimension : minor_to_major_) {
    strides[dimension] = stride;
    if (dimensions_[dimension] > 0) stride *= dimensions_[dimension];
  }
  return strides;
}

std::string BufferType::ToString() const {
  if (element_type_ == hlo::PrimitiveType::kToken) return "token[]";
  return absl::StrCat(hlo::PrimitiveTypeName(element_type_), "[", absl::StrJoin(dimensions_, ","), "]{",
                      absl::StrJoin(minor_to_major_, ","), "}");
}

}  // namespace kiln::runtime
