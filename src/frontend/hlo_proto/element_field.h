// Where LiteralProto keeps the elements of a type.
#ifndef KILN_FRONTEND_HLO_PROTO_ELEMENT_FIELD_H_
#define KILN_FRONTEND_HLO_PROTO_ELEMENT_FIELD_H_

#include <cstdint>

#include "src/hlo/primitive_type.h"

namespace kiln::hlo_proto {

struct ElementField {
  hlo::PrimitiveType type;
  uint32_t field;
  bool varints = false;  // A list of varints; else bytes, narrow elements zero-extended to one each.
};

inline constexpr ElementField kElementFields[] = {
    {hlo::PrimitiveType::kPred, 2, true},
    {hlo::PrimitiveType::kU8, 3},
    {hlo::PrimitiveType::kS32, 4, true},
    {hlo::PrimitiveType::kS64, 5, true},
    {hlo::PrimitiveType::kU32, 6, true},
    {hlo::PrimitiveType::kU64, 7, true},
    {hlo::PrimitiveType::kF32, 8},
    {hlo::PrimitiveType::kF64, 9},
    {hlo::PrimitiveType::kF16, 11},
    {hlo::PrimitiveType::kC64, 12},
    {hlo::PrimitiveType::kBF16, 13},
    {hlo::PrimitiveType::kS8, 15},
    {hlo::PrimitiveType::kU16, 16},
    {hlo::PrimitiveType::kS16, 17},
    {hlo::PrimitiveType::kC128, 18},
    {hlo::PrimitiveType::kF8E5M2, 19},
    {hlo::PrimitiveType::kF8E4M3FN, 20},
    {hlo::PrimitiveType::kS4, 21},
    {hlo::PrimitiveType::kU4, 22},
    {hlo::PrimitiveType::kF8E4M3B11FNUZ, 23},
    {hlo::PrimitiveType::kF8E5M2FNUZ, 24},
    {hlo::PrimitiveType::kF8E4M3FNUZ, 25},
    {hlo::PrimitiveType::kS2, 26},
    {hlo::PrimitiveType::kU2, 27},
    {hlo::PrimitiveType::kF8E4M3, 28},
    {hlo::PrimitiveType::kF8E3M4, 29},
    {hlo::PrimitiveType::kS1, 30},
    {hlo::PrimitiveType::kU1, 31},
    {hlo::PrimitiveType::kF4E2M1FN, 32},
    {hlo::PrimitiveType::kF8E8M0FNU, 33},
};

// Field 0 for types without elements.
constexpr ElementField ElementFieldOf(hlo::PrimitiveType type) {
  for (const ElementField& row : kElementFields) {
    if (row.type == type) return row;
  }
  return {type, 0};
}

}  // namespace kiln::hlo_proto

#endif  // KILN_FRONTEND_HLO_PROTO_ELEMENT_FIELD_H_
