// Binary forms of structured attributes, and those of the sharding dialect: a row per attribute.
#include <array>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/status.h"
#include "src/frontend/mlir/entry_table.h"

namespace kiln::mlir {
namespace {

struct SdyRow {
  absl::string_view name;
  absl::string_view fields;
};

constexpr std::array<SdyRow, 18> kSdyRows = {{
    {"sdy.manual_axes", "value:A"},
    {"sdy.mesh_axis", "name:s size:i"},
    {"sdy.mesh", "axes:A device_ids:I"},
    {"sdy.sub_axis_info", "pre_size:i size:i"},
    {"sdy.axis_ref", "name:s sub_axis_info:o"},
    {"sdy.dimension_sharding", "axes:A is_closed:b priority:v"},
    {"sdy.sharding", "mesh_or_ref:a dim_shardings:A replicated_axes:A"},
    {"sdy.sharding_per_value", "shardings:A"},
    {"sdy.dim_mapping", "factor_indices:I"},
    {"sdy.tensor_mapping", "dim_mappings:A"},
    {"sdy.op_sharding_rule",
     "factor_sizes:I operand_mappings:A result_mappings:A reduction_factors:I need_replication_factors:I "
     "permutation_factors:I blocked_propagation_factors:I is_custom_rule:b"},
    {"sdy.axis_ref_list", "value:A"},
    {"sdy.list_of_axis_ref_lists", "value:A"},
    {"sdy.all_to_all_param", "axes:A src_dim:i tgt_dim:i"},
    {"sdy.all_to_all_param_list", "value:A"},
    {"sdy.sharding", "mesh_or_ref:a dim_shardings:A replicated_axes:A unreduced_axes:A"},
    {"sdy.sharding_per_value", "shardings:A"},
    {"sdy.sharding", "mesh_or_ref:a dim_shardings:A replicated_axes:A unreduced_axes:A reduction_op:i"},
}};

// Null for an absent optional field.
AttributeRef ReadField(EntryReader& reader, char kind) {
  Context& context = reader.context();
  switch (kind) {
    case 'A':
      return context.MakeAttribute(ArrayAttribute{reader.AttributeList()});
    case 'a':
      return reader.Attribute();
    case 'o':
      return reader.OptionalAttribute();
    case 's':
      return context.MakeAttribute(StringAttribute{reader.String()});
    case 'i':
      return context.MakeInteger(reader.SignedVarint());
    case 'd': {
      const TypeRef type = context.MakeType(FloatType{FloatKind::kF64});
      return context.MakeAttribute(FloatAttribute{type, static_cast<uint64_t>(reader.SignedVarint())});
    }
    case 'p':
      return reader.Varint() != 0 ? reader.Attribute() : nullptr;
    case 'b':
      return context.MakeAttribute(BoolAttribute{reader.Byte() != 0});
    case 'I':
      return context.MakeIntegers(reader.SignedList());
    default: {
      bool present = false;
      const uint64_t value = reader.FlaggedVarint(present);
      return present ? context.MakeInteger(static_cast<int64_t>(value)) : nullptr;
    }
  }
}

}  // namespace

AttributeRef ReadStruct(EntryReader& reader, absl::string_view name, absl::string_view fields) {
  StructAttribute attribute{name, {}};
  for (absl::string_view field : absl::StrSplit(fields, ' ')) {
    const absl::string_view field_name = field.substr(0, field.size() - 2);
    if (AttributeRef value = ReadField(reader, field.back())) attribute.fields.push_back({field_name, value});
  }
  return reader.context().MakeAttribute(std::move(attribute));
}

AttributeRef ReadSdyAttribute(EntryReader& reader) {
  const uint64_t code = reader.Varint();
  if (!reader.ok()) return nullptr;
  if (code >= kSdyRows.size()) {
    reader.Fail(Unimplemented("sdy attribute code ", code, " is not known"));
    return nullptr;
  }
  return ReadStruct(reader, kSdyRows[code].name, kSdyRows[code].fields);
}

}  // namespace kiln::mlir
