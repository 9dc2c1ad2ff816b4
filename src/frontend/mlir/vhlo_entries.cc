// Binary forms of VHLO's types and attributes, raised to builtin and StableHLO ones.
#include <array>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "src/base/status.h"
#include "src/frontend/mlir/entry_table.h"

namespace kiln::mlir {
namespace {

// The code of an enum case is its index; empty names are codes without a case.
constexpr absl::string_view kComparisonDirections[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
constexpr absl::string_view kComparisonTypes[] = {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED", "WEAKORDER"};
constexpr absl::string_view kVhloApiVersions[] = {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL",
                                                  "API_VERSION_STATUS_RETURNING",
                                                  "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};
constexpr absl::string_view kFftTypes[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
constexpr absl::string_view kPrecisions[] = {"DEFAULT", "HIGH", "HIGHEST"};
constexpr absl::string_view kAccuracyModes[] = {"DEFAULT", "HIGHEST", "TOLERANCE"};
constexpr absl::string_view kRngAlgorithms[] = {"DEFAULT", "THREE_FRY", "PHILOX"};
constexpr absl::string_view kRngDistributions[] = {"", "UNIFORM", "NORMAL"};
constexpr absl::string_view kTransposes[] = {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};

AttributeRef ReadEnum(EntryReader& reader, absl::string_view name, absl::Span<const absl::string_view> cases) {
  const uint64_t code = reader.Varint();
  if (!reader.ok()) return nullptr;
  if (code >= cases.size() || cases[code].empty()) {
    reader.Fail(absl::StrCat(name, " has no case ", code));
    return nullptr;
  }
  return reader.context().MakeAttribute(EnumAttribute{name, cases[code]});
}

double ReadDouble(EntryReader& reader) { return std::bit_cast<double>(static_cast<uint64_t>(reader.SignedVarint())); }

TypeRef ReadQuantized(EntryReader& reader, bool per_axis) {
  QuantizedType quantized;
  quantized.is_signed = (reader.Varint() & 1) != 0;
  quantized.storage = reader.Type();
  quantized.expressed = reader.Type();
  if (per_axis) {
    quantized.axis = static_cast<int64_t>(reader.Varint());
    quantized.storage_min = reader.SignedVarint();
    quantized.storage_max = reader.SignedVarint();
    quantized.scales.resize(reader.Count());
    for (double& scale : quantized.scales) scale = ReadDouble(reader);
    quantized.zero_points = reader.SignedList();
  } else {
    quantized.scales.push_back(ReadDouble(reader));
    quantized.zero_points.push_back(reader.SignedVarint());
    quantized.storage_min = reader.SignedVarint();
    quantized.storage_max = reader.SignedVarint();
  }
  if (reader.ok() && (quantized.axis < -1 || quantized.scales.size() != quantized.zero_points.size())) {
    reader.Fail("a quantized type with unequal scales and zero points");
  }
  return reader.context().MakeType(std::move(quantized));
}

TypeRef ReadTensor(EntryReader& reader, bool has_encoding) {
  TensorType tensor;
  if (has_encoding) tensor.encoding = reader.Attribute();
  tensor.dims = ReadShape(reader);
  tensor.element = reader.Type();
  const StructAttribute* extensions = has_encoding ? tensor.encoding->As<StructAttribute>() : nullptr;
  if (extensions != nullptr && extensions->name == "stablehlo.bounds") {
    tensor.bounds = AsIntegers(extensions->fields[0].value).value_or(std::vector<int64_t>{});
    tensor.encoding = nullptr;
    if (tensor.bounds.size() != tensor.dims.size()) reader.Fail("bounds of another rank than the tensor");
  }
  return reader.context().MakeType(std::move(tensor));
}

struct IntegerRow {
  uint64_t code;
  uint32_t width;
  bool is_unsigned;
};
constexpr IntegerRow kIntegers[] = {{0, 1, false},   {10, 4, false}, {11, 8, false}, {12, 16, false}, {13, 32, false},
                                    {14, 64, false}, {15, 4, true},  {16, 8, true},  {17, 16, true},  {18, 32, true},
                                    {19, 64, true},  {31, 2, false}, {32, 2, true}};

constexpr std::pair<uint64_t, FloatKind> kVhloFloats[] = {
    {2, FloatKind::kBF16},        {3, FloatKind::kF16},         {4, FloatKind::kF32},
    {5, FloatKind::kF64},         {6, FloatKind::kF8E4M3FN},    {7, FloatKind::kF8E5M2},
    {27, FloatKind::kF8E4M3FNUZ}, {28, FloatKind::kF8E5M2FNUZ}, {29, FloatKind::kF8E4M3B11FNUZ},
    {34, FloatKind::kTF32},       {35, FloatKind::kF8E4M3},     {36, FloatKind::kF8E3M4},
    {37, FloatKind::kF4E2M1FN},   {38, FloatKind::kF6E2M3FN},   {39, FloatKind::kF6E3M2FN},
    {40, FloatKind::kF8E8M0FNU}};

struct EnumRow {
  uint64_t code;
  absl::string_view name;
  absl::Span<const absl::string_view> cases;
};
constexpr EnumRow kEnums[] = {{3, "comparison_direction", kComparisonDirections},
                              {4, "comparison_type", kComparisonTypes},
                              {5, "custom_call_api_version", kVhloApiVersions},
                              {7, "fft_type", kFftTypes},
                              {11, "precision", kPrecisions},
                              {12, "rng_algorithm", kRngAlgorithms},
                              {13, "rng_distribution", kRngDistributions},
                              {16, "transpose", kTransposes},
                              {19, "result_accuracy_mode", kAccuracyModes}};

// Fields in the words of ReadStruct.
struct StructRow {
  uint64_t code;
  absl::string_view name;
  absl::string_view fields;
};
constexpr StructRow kStructs[] = {
    {10, "stablehlo.output_operand_alias", "output_tuple_indices:I operand_index:i operand_tuple_indices:I"},
    {18, "stablehlo.bounds", "bounds:I"},
    {20, "stablehlo.result_accuracy", "atol:d rtol:d ulps:i mode:a"},
    {21, "stablehlo.sub_axis_info", "pre_size:i size:i"},
    {22, "stablehlo.axis_ref", "name:a sub_axis_info:p"},
    {23, "stablehlo.replica_group_mesh_axes", "mesh:a axes:a"},
    {24, "stablehlo.mesh_axis", "name:a size:i"},
    {25, "stablehlo.mesh", "axes:a device_ids:o"},
};

}  // namespace

AttributeRef ReadVhloAttribute(EntryReader& reader) {
  Context& context = reader.context();
  const uint64_t code = reader.Varint();
  for (const EnumRow& row : kEnums) {
    if (row.code == code) return ReadEnum(reader, row.name, row.cases);
  }
  for (const StructRow& row : kStructs) {
    if (row.code == code) return ReadStruct(reader, row.name, row.fields);
  }
  switch (code) {
    case 1:
      return context.MakeAttribute(ArrayAttribute{reader.AttributeList()});
    case 2:
      return context.MakeAttribute(BoolAttribute{reader.Varint() != 0});
    case 6:
      return ReadDictionary(reader);
    case 8:
      return ReadFloatAttribute(reader, reader.Type());
    case 9:
      return ReadIntegerAttribute(reader, reader.Type());
    case 14:
      return context.MakeAttribute(StringAttribute{reader.String()});
    case 15: {
      const TypeRef type = reader.Type();
      return MakeDense(reader, type, reader.Blob());
    }
    case 17:
      return context.MakeAttribute(TypeAttribute{reader.Type()});
    default:
      reader.Fail(Unimplemented("VHLO attribute code ", code, " is not known"));
      return nullptr;
  }
}

TypeRef ReadVhloType(EntryReader& reader) {
  Context& context = reader.context();
  const uint64_t code = reader.Varint();
  for (const IntegerRow& row : kIntegers) {
    const Signedness signedness = row.is_unsigned ? Signedness::kUnsigned : Signedness::kSignless;
    if (row.code == code) return context.MakeType(IntegerType{row.width, signedness});
  }
  for (const auto& [number, kind] : kVhloFloats) {
    if (number == code) return context.MakeType(FloatType{kind});
  }
  switch (code) {
    case 1:
      return context.MakeType(ComplexType{reader.Type()});
    case 8: {
      std::vector<TypeRef> inputs = reader.TypeList();
      return context.MakeType(FunctionType{std::move(inputs), reader.TypeList()});
    }
    case 9:
      return context.MakeType(IndexType{});
    case 20:
      return ReadTensor(reader, /*has_encoding=*/false);
    case 21:
      return ReadTensor(reader, /*has_encoding=*/true);
    case 22:
      return context.MakeType(TokenType{});
    case 23:
      return context.MakeType(TupleType{reader.TypeList()});
    case 24:
      return ReadQuantized(reader, /*per_axis=*/false);
    case 25: {
      TensorType tensor;
      tensor.element = reader.Type();
      tensor.ranked = false;
      return context.MakeType(std::move(tensor));
    }
    case 26:
      return context.MakeType(WitnessType{});
    case 30:
      return ReadQuantized(reader, /*per_axis=*/true);
    case 33:
      return context.none_type();
    case 41: {
      std::vector<int64_t> dims = ReadShape(reader);
      return context.MakeType(BufferType{std::move(dims), reader.Type()});
    }
    case 42:
      return context.MakeType(FutureType{reader.TypeList()});
    default:
      reader.Fail(Unimplemented("VHLO type code ", code, " is not known"));
      return nullptr;
  }
}

}  // namespace kiln::mlir
