// Element types, shapes and layouts between the C API and the runtime.
#include <array>
#include <numeric>
#include <vector>

#include "c_api/handles.h"

namespace kiln::c_api {
namespace {

using hlo::PrimitiveType;

struct Pair {
  PJRT_Buffer_Type c;
  PrimitiveType hlo;
};
constexpr Pair kTypes[] = {
    {PJRT_Buffer_Type_PRED, PrimitiveType::kPred},
    {PJRT_Buffer_Type_S8, PrimitiveType::kS8},
    {PJRT_Buffer_Type_S16, PrimitiveType::kS16},
    {PJRT_Buffer_Type_S32, PrimitiveType::kS32},
    {PJRT_Buffer_Type_S64, PrimitiveType::kS64},
    {PJRT_Buffer_Type_U8, PrimitiveType::kU8},
    {PJRT_Buffer_Type_U16, PrimitiveType::kU16},
    {PJRT_Buffer_Type_U32, PrimitiveType::kU32},
    {PJRT_Buffer_Type_U64, PrimitiveType::kU64},
    {PJRT_Buffer_Type_F16, PrimitiveType::kF16},
    {PJRT_Buffer_Type_F32, PrimitiveType::kF32},
    {PJRT_Buffer_Type_F64, PrimitiveType::kF64},
    {PJRT_Buffer_Type_BF16, PrimitiveType::kBF16},
    {PJRT_Buffer_Type_C64, PrimitiveType::kC64},
    {PJRT_Buffer_Type_C128, PrimitiveType::kC128},
    {PJRT_Buffer_Type_F8E5M2, PrimitiveType::kF8E5M2},
    {PJRT_Buffer_Type_F8E4M3FN, PrimitiveType::kF8E4M3FN},
    {PJRT_Buffer_Type_F8E4M3B11FNUZ, PrimitiveType::kF8E4M3B11FNUZ},
    {PJRT_Buffer_Type_F8E5M2FNUZ, PrimitiveType::kF8E5M2FNUZ},
    {PJRT_Buffer_Type_F8E4M3FNUZ, PrimitiveType::kF8E4M3FNUZ},
    {PJRT_Buffer_Type_S4, PrimitiveType::kS4},
    {PJRT_Buffer_Type_U4, PrimitiveType::kU4},
    {PJRT_Buffer_Type_TOKEN, PrimitiveType::kToken},
    {PJRT_Buffer_Type_S2, PrimitiveType::kS2},
    {PJRT_Buffer_Type_U2, PrimitiveType::kU2},
    {PJRT_Buffer_Type_F8E4M3, PrimitiveType::kF8E4M3},
    {PJRT_Buffer_Type_F8E3M4, PrimitiveType::kF8E3M4},
    {PJRT_Buffer_Type_F8E8M0FNU, PrimitiveType::kF8E8M0FNU},
    {PJRT_Buffer_Type_F4E2M1FN, PrimitiveType::kF4E2M1FN},
    {PJRT_Buffer_Type_S1, PrimitiveType::kS1},
    {PJRT_Buffer_Type_U1, PrimitiveType::kU1},
};

// The order of dimensions that dense strides imply; an error when they are not dense.
absl::StatusOr<hlo::DimensionVector> MinorToMajorOf(absl::Span<const int64_t> strides,
                                                    absl::Span<const int64_t> dimensions, int64_t element_bytes) {
  if (strides.size() != dimensions.size()) {
    return InvalidArgument("a layout of ", strides.size(), " strides for ", dimensions.size(), " dimensions");
  }
  // Stable, from the last dimension: dimensions of one element may have any stride.
  hlo::DimensionVector order(dimensions.size());
  std::iota(order.rbegin(), order.rend(), 0);
  for (size_t i = 1; i < order.size(); ++i) {
    for (size_t j = i; j > 0 && strides[order[j]] < strides[order[j - 1]]; --j) std::swap(order[j], order[j - 1]);
  }
  int64_t expected = element_bytes;
  for (int64_t dimension : order) {
    if (dimensions[dimension] <= 0) break;
    if (dimensions[dimension] > 1 && strides[dimension] != expected) {
      return Unimplemented("a device layout whose strides are not dense");
    }
    if (__builtin_mul_overflow(expected, dimensions[dimension], &expected)) break;  // too large, as its user says
  }
  return order;
}

}  // namespace

absl::StatusOr<PrimitiveType> ElementTypeFrom(PJRT_Buffer_Type type) {
  for (const Pair& pair : kTypes) {
    if (pair.c == type) return pair.hlo;
  }
  return Unimplemented("buffer element type ", static_cast<int>(type));
}

PJRT_Buffer_Type ElementTypeOf(PrimitiveType type) {
  for (const Pair& pair : kTypes) {
    if (pair.hlo == type) return pair.c;
  }
  return PJRT_Buffer_Type_INVALID;
}

absl::StatusOr<RefPtr<const runtime::BufferType>> BufferTypeFrom(PJRT_Buffer_Type type, const int64_t* dims,
                                                                 size_t num_dims,
                                                                 const PJRT_Buffer_MemoryLayout* layout) {
  KILN_ASSIGN_OR_RETURN(PrimitiveType element_type, ElementTypeFrom(type));
  if (dims == nullptr && num_dims != 0) return InvalidArgument("the dimensions are null");
  const absl::Span<const int64_t> dimensions(dims, num_dims);
  if (layout == nullptr) return runtime::BufferType::Create(element_type, dimensions);
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Tiled) {
    if (layout->tiled.num_tiles != 0) return Unimplemented("a device layout with tiles");
    if (layout->tiled.minor_to_major_size != 0) KILN_REQUIRE_POINTER(*layout, tiled.minor_to_major);
    const absl::Span<const int64_t> minor_to_major(layout->tiled.minor_to_major, layout->tiled.minor_to_major_size);
    return runtime::BufferType::Create(element_type, dimensions, &minor_to_major);
  }
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Strides) {
    if (layout->strides.num_byte_strides != 0) KILN_REQUIRE_POINTER(*layout, strides.byte_strides);
    KILN_ASSIGN_OR_RETURN(
        hlo::DimensionVector order,
        MinorToMajorOf(absl::Span<const int64_t>(layout->strides.byte_strides, layout->strides.num_byte_strides),
                       dimensions, hlo::ByteWidth(element_type)));
    const absl::Span<const int64_t> minor_to_major(order);
    return runtime::BufferType::Create(element_type, dimensions, &minor_to_major);
  }
  return InvalidArgument("a layout of kind ", static_cast<int>(layout->type));
}

void FillLayout(const runtime::BufferType& type, PJRT_Buffer_MemoryLayout* layout) {
  *layout = {};
  layout->struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
  layout->type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout->tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
  layout->tiled.minor_to_major = type.minor_to_major().data();
  layout->tiled.minor_to_major_size = type.minor_to_major().size();
}

}  // namespace kiln::c_api
