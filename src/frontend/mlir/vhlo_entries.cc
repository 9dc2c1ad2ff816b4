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
constexpr absl::string_view kApiVersions[] = {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL",
                                              "API_VERSION_STATUS_RETURNING", "API_VERSION_STATUS_RETURNING_UNIFIED",
                                              "API_VERSION_TYPED_FFI"};
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

AttributeRef MakeDouble(EntryReader& reader, double value) {
  Context& context = reader.context();
  const TypeRef type = context.MakeType(FloatType{FloatKind::kF64});
  return context.MakeAttribute(FloatAttribute{type, std::bit_cast<uint64_t>(value)});
}

AttributeRef ReadOutputOperandAlias(EntryReader& reader) {
  StructAttribute alias{"stablehlo.output_operand_alias", {}};
  alias.fields.push_back({"output_tuple_indices", reader.context().MakeIntegers(reader.SignedList())});
  alias.fields.push_back({"operand_index", reader.context().MakeInteger(reader.SignedVarint())});
  alias.fields.push_back({"operand_tuple_indices", reader.context().MakeIntegers(reader.SignedList())});
  return reader.context().MakeAttribute(std::move(alias));
}

AttributeRef ReadResultAccuracy(EntryReader& reader) {
  StructAttribute accuracy{"stablehlo.result_accuracy", {}};
  accuracy.fields.push_back({"atol", MakeDouble(reader, ReadDouble(reader))});
  accuracy.fields.push_back({"rtol", MakeDouble(reader, ReadDouble(reader))});
  accuracy.fields.push_back({"ulps", reader.context().MakeInteger(reader.SignedVarint())});
  accuracy.fields.push_back({"mode", reader.Attribute()});
  return reader.context().MakeAttribute(std::move(accuracy));
}

AttributeRef ReadSubAxisInfo(EntryReader& reader) {
  StructAttribute info{"stablehlo.sub_axis_info", {}};
  info.fields.push_back({"pre_size", reader.context().MakeInteger(reader.SignedVarint())});
  info.fields.push_back({"size", reader.context().MakeInteger(reader.SignedVarint())});
  return reader.context().MakeAttribute(std::move(info));
}

AttributeRef ReadAxisRef(EntryReader& reader) {
  StructAttribute axis{"stablehlo.axis_ref", {}};
  axis.fields.push_back({"name", reader.Attribute()});
  if (reader.Varint() != 0) axis.fields.push_back({"sub_axis_info", reader.Attribute()});
  return reader.context().MakeAttribute(std::move(axis));
}

AttributeRef ReadMesh(EntryReader& reader) {
  StructAttribute mesh{"stablehlo.mesh", {}};
  mesh.fields.push_back({"axes", reader.Attribute()});
  if (AttributeRef ids = reader.OptionalAttribute()) mesh.fields.push_back({"device_ids", ids});
  return reader.context().MakeAttribute(std::move(mesh));
}

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

TypeRef MakeIntegerType(EntryReader& reader, uint32_t width, bool is_unsigned) {
  return reader.context().MakeType(IntegerType{width, is_unsigned ? Signedness::kUnsigned : Signedness::kSignless});
}

}  // namespace

AttributeRef ReadVhloAttribute(EntryReader& reader) {
  Context& context = reader.context();
  const uint64_t code = reader.Varint();
  switch (code) {
    case 1:
      return context.MakeAttribute(ArrayAttribute{reader.AttributeList()});
    case 2:
      return context.MakeAttribute(BoolAttribute{reader.Varint() != 0});
    case 3:
      return ReadEnum(reader, "comparison_direction", kComparisonDirections);
    case 4:
      return ReadEnum(reader, "comparison_type", kComparisonTypes);
    case 5:
      return ReadEnum(reader, "custom_call_api_version", kApiVersions);
    case 6:
      return ReadDictionary(reader);
    case 7:
      return ReadEnum(reader, "fft_type", kFftTypes);
    case 8:
      return ReadFloatAttribute(reader, reader.Type());
    case 9:
      return ReadIntegerAttribute(reader, reader.Type());
    case 10:
      return ReadOutputOperandAlias(reader);
    case 11:
      return ReadEnum(reader, "precision", kPrecisions);
    case 12:
      return ReadEnum(reader, "rng_algorithm", kRngAlgorithms);
    case 13:
      return ReadEnum(reader, "rng_distribution", kRngDistributions);
    case 14:
      return context.MakeAttribute(StringAttribute{reader.String()});
    case 15: {
      const TypeRef type = reader.Type();
      return MakeDense(reader, type, reader.Blob());
    }
    case 16:
      return ReadEnum(reader, "transpose", kTransposes);
    case 17:
      return context.MakeAttribute(TypeAttribute{reader.Type()});
    case 18: {
      StructAttribute bounds{"stablehlo.bounds", {}};
      bounds.fields.push_back({"bounds", reader.context().MakeIntegers(reader.SignedList())});
      return context.MakeAttribute(std::move(bounds));
    }
    case 19:
      return ReadEnum(reader, "result_accuracy_mode", kAccuracyModes);
    case 20:
      return ReadResultAccuracy(reader);
    case 21:
      return ReadSubAxisInfo(reader);
    case 22:
      return ReadAxisRef(reader);
    case 23: {
      StructAttribute groups{"stablehlo.replica_group_mesh_axes", {}};
      groups.fields.push_back({"mesh", reader.Attribute()});
      groups.fields.push_back({"axes", reader.Attribute()});
      return context.MakeAttribute(std::move(groups));
    }
    case 24: {
      StructAttribute axis{"stablehlo.mesh_axis", {}};
      axis.fields.push_back({"name", reader.Attribute()});
      axis.fields.push_back({"size", reader.context().MakeInteger(reader.SignedVarint())});
      return context.MakeAttribute(std::move(axis));
    }
    case 25:
      return ReadMesh(reader);
    default:
      reader.Fail(Unimplemented("VHLO attribute code ", code, " is not known"));
      return nullptr;
  }
}

TypeRef ReadVhloType(EntryReader& reader) {
  Context& context = reader.context();
  const uint64_t code = reader.Varint();
  const auto real = [&context](FloatKind kind) { return context.MakeType(FloatType{kind}); };
  switch (code) {
    case 0:
      return MakeIntegerType(reader, 1, false);
    case 1:
      return context.MakeType(ComplexType{reader.Type()});
    case 2:
      return real(FloatKind::kBF16);
    case 3:
      return real(FloatKind::kF16);
    case 4:
      return real(FloatKind::kF32);
    case 5:
      return real(FloatKind::kF64);
    case 6:
      return real(FloatKind::kF8E4M3FN);
    case 7:
      return real(FloatKind::kF8E5M2);
    case 8: {
      std::vector<TypeRef> inputs = reader.TypeList();
      return context.MakeType(FunctionType{std::move(inputs), reader.TypeList()});
    }
    case 9:
      return context.MakeType(IndexType{});
    case 10:
      return MakeIntegerType(reader, 4, false);
    case 11:
      return MakeIntegerType(reader, 8, false);
    case 12:
      return MakeIntegerType(reader, 16, false);
    case 13:
      return MakeIntegerType(reader, 32, false);
    case 14:
      return MakeIntegerType(reader, 64, false);
    case 15:
      return MakeIntegerType(reader, 4, true);
    case 16:
      return MakeIntegerType(reader, 8, true);
    case 17:
      return MakeIntegerType(reader, 16, true);
    case 18:
      return MakeIntegerType(reader, 32, true);
    case 19:
      return MakeIntegerType(reader, 64, true);
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
    case 27:
      return real(FloatKind::kF8E4M3FNUZ);
    case 28:
      return real(FloatKind::kF8E5M2FNUZ);
    case 29:
      return real(FloatKind::kF8E4M3B11FNUZ);
    case 30:
      return ReadQuantized(reader, /*per_axis=*/true);
    case 31:
      return MakeIntegerType(reader, 2, false);
    case 32:
      return MakeIntegerType(reader, 2, true);
    case 33:
      return context.none_type();
    case 34:
      return real(FloatKind::kTF32);
    case 35:
      return real(FloatKind::kF8E4M3);
    case 36:
      return real(FloatKind::kF8E3M4);
    case 37:
      return real(FloatKind::kF4E2M1FN);
    case 38:
      return real(FloatKind::kF6E2M3FN);
    case 39:
      return real(FloatKind::kF6E3M2FN);
    case 40:
      return real(FloatKind::kF8E8M0FNU);
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
