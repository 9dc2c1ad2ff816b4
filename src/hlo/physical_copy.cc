#include "src/hlo/physical_copy.h"

#include <cstring>

namespace kiln::hlo {
namespace {

// Calls visit(logical, physical) with the offset of each element, in elements.
template <typename Visit>
void ForEachElement(const Shape& shape, Visit visit) {
  const int64_t rank = shape.rank();
  DimensionVector stride(rank), index(rank, 0);
  int64_t size = 1;
  for (int64_t dimension : shape.layout().minor_to_major) {
    stride[dimension] = size;
    size *= shape.dimensions(dimension);
  }
  const int64_t count = shape.element_count();
  int64_t physical = 0;
  for (int64_t logical = 0; logical < count; ++logical) {
    visit(logical, physical);
    for (int64_t d = rank - 1; d >= 0; --d) {
      physical += stride[d];
      if (++index[d] < shape.dimensions(d)) break;
      physical -= stride[d] * index[d];
      index[d] = 0;
    }
  }
}

}  // namespace

void ToPhysical(const Literal& literal, const Shape& shape, void* memory) {
  const size_t width = ByteWidth(shape.element_type());
  const std::byte* from = literal.bytes().data();
  ForEachElement(shape, [&](int64_t logical, int64_t physical) {
    std::memcpy(static_cast<std::byte*>(memory) + physical * width, from + logical * width, width);
  });
}

Literal FromPhysical(const void* memory, const Shape& shape) {
  Literal literal(shape);
  const size_t width = ByteWidth(shape.element_type());
  std::byte* to = literal.mutable_bytes().data();
  ForEachElement(shape, [&](int64_t logical, int64_t physical) {
    std::memcpy(to + logical * width, static_cast<const std::byte*>(memory) + physical * width, width);
  });
  return literal;
}

void ExtendNarrowElements(PrimitiveType type, absl::Span<uint8_t> bytes) {
  if (type == PrimitiveType::kPred || BitWidth(type) >= 8) return;
  const int unused = 8 - BitWidth(type);
  for (uint8_t& byte : bytes) {
    const uint8_t high = static_cast<uint8_t>(byte << unused);
    byte = IsSignedIntegral(type) ? static_cast<uint8_t>(static_cast<int8_t>(high) >> unused) : high >> unused;
  }
}

}  // namespace kiln::hlo
