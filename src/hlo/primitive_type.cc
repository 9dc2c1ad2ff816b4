#include "src/hlo/primitive_type.h"

#include <array>

namespace kiln::hlo {
namespace {

using enum TypeClass;

constexpr std::array<PrimitiveTypeInfo, kPrimitiveTypeCount> kInfo = {{
    {"invalid", kNone, 0},     {"pred", kPred, 1},     {"s8", kSigned, 8},      {"s16", kSigned, 16},
    {"s32", kSigned, 32},      {"s64", kSigned, 64},   {"u8", kUnsigned, 8},    {"u16", kUnsigned, 16},
    {"u32", kUnsigned, 32},    {"u64", kUnsigned, 64}, {"f16", kFloat, 16},     {"f32", kFloat, 32},
    {"f64", kFloat, 64},       {"tuple", kNone, 0},    {"opaque", kNone, 0},    {"c64", kComplex, 64},
    {"bf16", kFloat, 16},      {"token", kNone, 0},    {"c128", kComplex, 128}, {"f8e5m2", kFloat, 8},
    {"f8e4m3fn", kFloat, 8},   {"s4", kSigned, 4},     {"u4", kUnsigned, 4},    {"f8e4m3b11fnuz", kFloat, 8},
    {"f8e5m2fnuz", kFloat, 8}, {"f8e4m3fnuz", kFloat, 8}, {"s2", kSigned, 2},   {"u2", kUnsigned, 2},
    {"f8e4m3", kFloat, 8},     {"f8e3m4", kFloat, 8},  {"s1", kSigned, 1},      {"u1", kUnsigned, 1},
    {"f4e2m1fn", kFloat, 4},   {"f8e8m0fnu", kFloat, 8},
}};

}  // namespace

const PrimitiveTypeInfo& GetPrimitiveTypeInfo(PrimitiveType type) {
  size_t index = static_cast<size_t>(type);
  return kInfo[index < kInfo.size() ? index : 0];
}

std::optional<PrimitiveType> ParsePrimitiveType(absl::string_view name) {
  for (int i = 1; i < kPrimitiveTypeCount; ++i) {
    if (kInfo[i].name == name) return static_cast<PrimitiveType>(i);
  }
  return std::nullopt;
}

PrimitiveType ComplexComponentType(PrimitiveType type) {
  if (type == PrimitiveType::kC64) return PrimitiveType::kF32;
  if (type == PrimitiveType::kC128) return PrimitiveType::kF64;
  return type;
}

}  // namespace kiln::hlo
