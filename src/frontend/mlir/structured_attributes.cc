#include "src/frontend/mlir/structured_attributes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace kiln::mlir {
namespace {

// One structured attribute: the ops that have it, its name, its kind, and its fields in order. A field `a=b` is the
// attribute b of the tree under the name a.
struct StructuredRow {
  absl::string_view ops;
  absl::string_view name;
  absl::string_view kind;
  absl::string_view fields;
};
constexpr StructuredRow kStructuredRows[] = {
    {"stablehlo.dot_general", "dot_dimension_numbers", "stablehlo.dot",
     "lhs_batching_dimensions rhs_batching_dimensions lhs_contracting_dimensions rhs_contracting_dimensions"},
    {"stablehlo.dot_general", "algorithm", "stablehlo.dot_algorithm",
     "lhs_precision_type rhs_precision_type accumulation_type lhs_component_count rhs_component_count "
     "num_primitive_operations allow_imprecise_accumulation"},
    {"stablehlo.gather stablehlo.dynamic_gather", "dimension_numbers", "stablehlo.gather",
     "offset_dims collapsed_slice_dims operand_batching_dims start_indices_batching_dims start_index_map "
     "index_vector_dim"},
    {"stablehlo.scatter", "scatter_dimension_numbers", "stablehlo.scatter",
     "update_window_dims inserted_window_dims input_batching_dims scatter_indices_batching_dims "
     "scatter_dims_to_operand_dims index_vector_dim"},
    {"stablehlo.convolution stablehlo.dynamic_conv", "dimension_numbers", "stablehlo.conv",
     "input_batch_dimension input_feature_dimension input_spatial_dimensions kernel_input_feature_dimension "
     "kernel_output_feature_dimension kernel_spatial_dimensions output_batch_dimension output_feature_dimension "
     "output_spatial_dimensions"},
    {"", "channel_handle", "stablehlo.channel_handle", "handle=channel_id type=channel_type"},
};

bool IsEmptyList(AttributeRef attribute) {
  const ArrayAttribute* array = attribute->As<ArrayAttribute>();
  return array != nullptr && array->elements.empty();
}

// dense<...> : tensor<nxi64> as array<i64: ...>; booleans likewise.
AttributeRef AsArray(AttributeRef attribute, Context& context) {
  const DenseAttribute* dense = attribute->As<DenseAttribute>();
  const TensorType* tensor = dense != nullptr ? dense->type->As<TensorType>() : nullptr;
  if (tensor == nullptr || tensor->dims.size() != 1) return attribute;
  const bool booleans = tensor->element->IsInteger(1);
  if (!booleans && !tensor->element->IsInteger(64)) return attribute;
  const std::optional<std::vector<int64_t>> values = AsIntegers(attribute);
  if (!values.has_value()) return attribute;
  if (!booleans) return context.MakeIntegers(*values);
  std::string flags;
  for (int64_t value : *values) flags.push_back(value != 0 ? 1 : 0);
  return context.MakeFlags(std::move(flags));
}

constexpr absl::string_view kApiVersions[] = {"API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL",
                                              "API_VERSION_STATUS_RETURNING", "API_VERSION_STATUS_RETURNING_UNIFIED",
                                              "API_VERSION_TYPED_FFI"};

}  // namespace

std::vector<NamedAttribute> StructuredAttributes(const Operation& operation, Context& context) {
  std::vector<NamedAttribute> rest = operation.attributes;
  std::vector<NamedAttribute> result;
  const auto take = [&rest](absl::string_view name) -> AttributeRef {
    for (auto entry = rest.begin(); entry != rest.end(); ++entry) {
      if (entry->name != name) continue;
      const AttributeRef value = entry->value;
      rest.erase(entry);
      return value;
    }
    return nullptr;
  };
  for (const StructuredRow& row : kStructuredRows) {
    const std::vector<absl::string_view> ops = absl::StrSplit(row.ops, ' ');
    if (!row.ops.empty() && std::find(ops.begin(), ops.end(), operation.name) == ops.end()) continue;
    StructAttribute structure{row.kind, {}};
    for (absl::string_view field : absl::StrSplit(row.fields, ' ')) {
      const size_t equals = field.find('=');
      const bool renamed = equals != absl::string_view::npos;
      const AttributeRef value = take(renamed ? field.substr(equals + 1) : field);
      if (value != nullptr) structure.fields.push_back({field.substr(0, equals), AsArray(value, context)});
    }
    if (structure.fields.empty()) continue;
    if (row.name == "channel_handle") {
      const int64_t handle = AsInteger(Find(structure.fields, "handle")).value_or(0);
      if (handle == 0 && Find(structure.fields, "type") == nullptr) continue;
      if (structure.fields.size() == 1) structure.fields.push_back({"type", context.MakeInteger(0)});
    }
    result.push_back({row.name, context.MakeAttribute(std::move(structure))});
  }
  const bool layouts_said = [&] {
    for (absl::string_view name : {"operand_layouts", "result_layouts"}) {
      const AttributeRef value = Find(rest, name);
      if (value != nullptr && !IsEmptyList(value)) return true;
    }
    return false;
  }();
  for (NamedAttribute entry : rest) {
    const bool layouts = entry.name == "operand_layouts" || entry.name == "result_layouts";
    if (layouts && !layouts_said) continue;
    const bool maybe_empty = entry.name == "result_tilings" || entry.name == "arg_attrs" || entry.name == "res_attrs";
    if (maybe_empty && IsEmptyList(entry.value)) continue;
    if (entry.name == "sym_visibility" && AsString(entry.value) == "") continue;
    if (entry.name == "has_dynamic_root" && AsBool(entry.value) == false) continue;
    if (entry.name == "use_global_device_ids") {
      if (AsBool(entry.value) == true) result.push_back({entry.name, context.unit_attribute()});
      continue;
    }
    const EnumAttribute* word = entry.value->As<EnumAttribute>();
    if (entry.name == "api_version" && word != nullptr) {
      const auto found = std::find(std::begin(kApiVersions), std::end(kApiVersions), word->value);
      entry.value = context.MakeInteger(found - std::begin(kApiVersions), 32);
    }
    if (entry.name == "index" && operation.name == "stablehlo.get_tuple_element") {
      entry.value = context.MakeInteger(AsInteger(entry.value).value_or(0), 32);
    }
    if (entry.name != "value") entry.value = AsArray(entry.value, context);
    result.push_back(entry);
  }
  SortByName(result);
  return result;
}

}  // namespace kiln::mlir
