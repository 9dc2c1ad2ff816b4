#include "src/frontend/stablehlo/entry_attributes.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "src/base/status.h"
#include "src/frontend/stablehlo/op_import.h"

namespace kiln::stablehlo {
namespace {

using mlir::AttributeRef;

// The dictionaries of `name` (arg_attrs or res_attrs): none, or one for each of `count`.
absl::StatusOr<std::vector<const mlir::DictionaryAttribute*>> Dictionaries(const mlir::Operation& function,
                                                                           absl::string_view name, size_t count) {
  std::vector<const mlir::DictionaryAttribute*> dictionaries(count, nullptr);
  const AttributeRef attribute = function.Get(name);
  if (attribute == nullptr) return dictionaries;
  const auto* list = attribute->As<mlir::ArrayAttribute>();
  if (list == nullptr || (!list->elements.empty() && list->elements.size() != count)) {
    return InvalidArgument(Describe(function), ": attribute ", name, " must be a list of ", count, " dictionaries");
  }
  for (size_t i = 0; i < list->elements.size(); ++i) {
    dictionaries[i] = list->elements[i]->As<mlir::DictionaryAttribute>();
    if (dictionaries[i] == nullptr) {
      return InvalidArgument(Describe(function), ": attribute ", name, " must hold dictionaries");
    }
  }
  return dictionaries;
}

AttributeRef Entry(const mlir::DictionaryAttribute* dictionary, absl::string_view name) {
  return dictionary == nullptr ? nullptr : mlir::Find(dictionary->entries, name);
}

// mhlo.layout_mode: "default" and "auto" leave the choice, which is row-major; "{0,1}" is minor to major.
absl::Status ApplyLayoutMode(const mlir::DictionaryAttribute* dictionary, hlo::Shape& shape) {
  const std::optional<absl::string_view> mode = mlir::AsString(Entry(dictionary, "mhlo.layout_mode"));
  if (!mode.has_value() || *mode == "default" || *mode == "auto" || !shape.IsArray()) return absl::OkStatus();
  absl::string_view text = *mode;
  std::vector<int64_t> order;
  bool valid = absl::ConsumePrefix(&text, "{") && absl::ConsumeSuffix(&text, "}");
  for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    valid = valid && absl::SimpleAtoi(part, &order.emplace_back());
  }
  if (!valid) return Unimplemented("layout mode \"", *mode, "\": expected default, auto or minor-to-major as {1,0}");
  shape.set_layout(order);
  return hlo::ValidateShape(shape);
}

absl::Status ReadArguments(const mlir::Operation& main, size_t results, hlo::Module& module) {
  hlo::Computation* entry = module.entry();
  const size_t count = static_cast<size_t>(entry->parameter_count());
  KILN_ASSIGN_OR_RETURN(const auto dictionaries, Dictionaries(main, "arg_attrs", count));
  for (size_t i = 0; i < count; ++i) {
    hlo::Instruction* parameter = entry->parameter(static_cast<int64_t>(i));
    if (const auto output = mlir::AsInteger(Entry(dictionaries[i], "tf.aliasing_output"))) {
      if (*output < 0 || *output >= static_cast<int64_t>(results)) {
        return InvalidArgument("argument ", i, " of main: tf.aliasing_output ", *output, " of ", results, " results");
      }
      hlo::InputOutputAlias alias;
      if (results != 1) alias.output_index = {*output};
      alias.parameter = static_cast<int64_t>(i);
      module.mutable_aliases()->push_back(std::move(alias));
    }
    if (mlir::AsBool(Entry(dictionaries[i], "jax.buffer_donor")).value_or(false)) {
      module.mutable_donors()->push_back({static_cast<int64_t>(i), {}});
    }
    if (const auto kind = mlir::AsString(Entry(dictionaries[i], "mhlo.memory_kind"))) {
      (*parameter->mutable_frontend_attributes())["mhlo.memory_kind"] = std::string(*kind);
    }
    if (const auto sharding = mlir::AsString(Entry(dictionaries[i], "mhlo.sharding"))) {
      parameter->set_sharding(std::string(*sharding));
    }
    hlo::Shape layout = parameter->shape();
    KILN_RETURN_IF_ERROR(Annotate(ApplyLayoutMode(dictionaries[i], layout), absl::StrCat("argument ", i, " of main")));
    module.mutable_entry_parameter_layouts()->push_back(std::move(layout));
  }
  return absl::OkStatus();
}

absl::Status ReadResults(const mlir::Operation& main, size_t count, hlo::Module& module) {
  KILN_ASSIGN_OR_RETURN(const auto dictionaries, Dictionaries(main, "res_attrs", count));
  hlo::Shape result = module.entry()->root()->shape();
  std::vector<std::string> memory_kinds;
  std::vector<std::string> names;
  bool any_kind = false;
  bool any_name = false;
  for (size_t i = 0; i < count; ++i) {
    hlo::Shape& leaf = count == 1 ? result : (*result.mutable_tuple_shapes())[i];
    if (leaf.IsArray()) leaf.ResetLayout();
    KILN_RETURN_IF_ERROR(Annotate(ApplyLayoutMode(dictionaries[i], leaf), absl::StrCat("result ", i, " of main")));
    const auto kind = mlir::AsString(Entry(dictionaries[i], "mhlo.memory_kind"));
    const auto name = mlir::AsString(Entry(dictionaries[i], "jax.result_info"));
    any_kind = any_kind || kind.has_value();
    any_name = any_name || (name.has_value() && !name->empty());
    memory_kinds.emplace_back(kind.value_or(""));
    names.emplace_back(name.value_or(""));
  }
  auto& tags = *module.mutable_frontend_attributes();
  if (any_kind) tags["kiln.result_memory_kinds"] = absl::StrJoin(memory_kinds, ",");
  if (any_name) tags["jax.result_info"] = absl::StrJoin(names, ", ");
  *module.mutable_entry_result_layout() = std::move(result);
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadModuleAttributes(const mlir::Operation& root, hlo::Module& module) {
  const int64_t replicas = mlir::AsInteger(root.Get("mhlo.num_replicas")).value_or(1);
  const int64_t partitions = mlir::AsInteger(root.Get("mhlo.num_partitions")).value_or(1);
  constexpr int64_t kMaxDevices = int64_t{1} << 20;
  if (replicas < 1 || replicas > kMaxDevices) return InvalidArgument("mhlo.num_replicas is ", replicas);
  if (partitions < 1 || partitions > kMaxDevices) return InvalidArgument("mhlo.num_partitions is ", partitions);
  if (partitions > 1) {
    return Unimplemented("the program is for ", partitions,
                         " partitions; partitioning over several devices is not supported");
  }
  module.set_replica_count(replicas);
  module.set_partition_count(partitions);
  return absl::OkStatus();
}

absl::Status ReadEntryAttributes(const mlir::Operation& main, hlo::Module& module) {
  const mlir::Operation& last = *main.regions[0]->blocks[0]->operations.back();
  const size_t results = last.operands.size();
  KILN_RETURN_IF_ERROR(ReadArguments(main, results, module));
  KILN_RETURN_IF_ERROR(ReadResults(main, results, module));
  module.set_has_entry_layout(true);
  return absl::OkStatus();
}

}  // namespace kiln::stablehlo
