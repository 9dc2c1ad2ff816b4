#include "src/hlo/printer.h"

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/hlo/attribute_printer.h"
#include "src/hlo/carried_text.h"
#include "src/hlo/literal_text.h"

namespace kiln::hlo {
namespace {

// Every computation, callees before callers, in the module's own order where that allows; the entry last if it may be.
std::vector<Computation*> PrintOrder(const Module& module) {
  std::vector<Computation*> starts = module.computations();
  std::erase(starts, module.entry());
  if (module.entry() != nullptr) starts.push_back(module.entry());
  return CalleesFirst(starts);
}

// The computation's own order when operands stand before users in it, otherwise a topological one.
std::vector<Instruction*> PrintOrder(const Computation& computation) {
  std::vector<Instruction*> order = computation.instructions();
  return FirstOutOfOrder(order) == nullptr ? order : computation.PostOrder();
}

void AppendInstruction(const Instruction& instruction, const PrintOptions& options, std::string* text) {
  absl::StrAppend(text, "%", instruction.name(), " = ", instruction.shape().ToString(options.layouts), " ",
                  OpcodeName(instruction.opcode()), "(");
  if (const auto* parameter = instruction.GetIf<ParameterAttributes>()) {
    absl::StrAppend(text, parameter->number);
  } else if (const auto* constant = instruction.GetIf<ConstantAttributes>()) {
    if (options.max_constant_elements >= 0 && constant->literal.shape().IsArray() &&
        constant->literal.element_count() > options.max_constant_elements) {
      *text += "{...}";
    } else {
      AppendLiteral(constant->literal, text);
    }
  } else {
    for (int64_t i = 0; i < instruction.operand_count(); ++i) {
      if (i > 0) *text += i % 5 == 0 ? absl::StrCat(", /*index=", i, "*/") : ", ";
      const Instruction* operand = instruction.operand(i);
      if (options.operand_shapes) absl::StrAppend(text, operand->shape().ToString(options.layouts), " ");
      absl::StrAppend(text, "%", operand->name());
    }
  }
  *text += ")";
  AppendOpcodeAttributes(instruction, text);
  AppendCommonAttributes(instruction, options.metadata, text);
}

void AppendComputation(const Computation& computation, bool is_entry, const PrintOptions& options, std::string* text) {
  absl::StrAppend(text, is_entry ? "ENTRY %" : "%", computation.name(), " (");
  for (int64_t i = 0; i < computation.parameter_count(); ++i) {
    if (i > 0) *text += i % 5 == 0 ? absl::StrCat(", /*index=", i, "*/") : ", ";
    const Instruction* parameter = computation.parameter(i);
    if (parameter == nullptr) continue;
    absl::StrAppend(text, parameter->name(), ": ", parameter->shape().ToString(/*print_layout=*/false));
  }
  *text += ")";
  if (computation.root() != nullptr) absl::StrAppend(text, " -> ", computation.root()->shape().ToString(false));
  *text += " {\n";
  for (const Instruction* instruction : PrintOrder(computation)) {
    *text += instruction == computation.root() ? "  ROOT " : "  ";
    AppendInstruction(*instruction, options, text);
    *text += "\n";
  }
  *text += "}\n";
}

void AppendHeader(const Module& module, std::string* text) {
  absl::StrAppend(text, "HloModule ", module.name());
  if (module.is_scheduled()) *text += ", is_scheduled=true";
  if (!module.aliases().empty()) {
    absl::StrAppend(text, ", input_output_alias={ ",
                    absl::StrJoin(module.aliases(), ", ",
                                  [](std::string* out, const InputOutputAlias& alias) {
                                    absl::StrAppend(out, IndexText(alias.output_index), ": (", alias.parameter, ", ",
                                                    IndexText(alias.parameter_index), ", ",
                                                    alias.must_alias ? "must-alias" : "may-alias", ")");
                                  }),
                    " }");
  }
  if (!module.donors().empty()) {
    absl::StrAppend(text, ", buffer_donor={ ",
                    absl::StrJoin(module.donors(), ", ",
                                  [](std::string* out, const BufferDonor& donor) {
                                    absl::StrAppend(out, "(", donor.parameter, ", ", IndexText(donor.parameter_index),
                                                    ")");
                                  }),
                    " }");
  }
  std::vector<Shape> parameters = module.entry_parameter_layouts();
  Shape result = module.entry_result_layout();
  if (!module.has_entry_layout() && module.entry() != nullptr && module.entry()->root() != nullptr) {
    parameters.clear();
    for (const Instruction* parameter : module.entry()->parameters()) {
      if (parameter != nullptr) parameters.push_back(parameter->shape());
    }
    result = module.entry()->root()->shape();
  }
  *text += ", entry_computation_layout={(";
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (i > 0) *text += i % 5 == 0 ? absl::StrCat(", /*index=", i, "*/") : ", ";
    *text += parameters[i].ToString();
  }
  absl::StrAppend(text, ")->", result.ToString(), "}");
  for (const auto& [name, value] : module.carried_attributes()) absl::StrAppend(text, ", ", name, "=", value);
  if (module.replica_count() != 1) absl::StrAppend(text, ", replica_count=", module.replica_count());
  if (module.partition_count() != 1) absl::StrAppend(text, ", num_partitions=", module.partition_count());
  if (!module.frontend_attributes().empty()) {
    absl::StrAppend(text, ", frontend_attributes=", DictionaryText(module.frontend_attributes()));
  }
  *text += "\n\n";
}

}  // namespace

std::string ToString(const Module& module, const PrintOptions& options) {
  std::string text;
  AppendHeader(module, &text);
  bool first = true;
  for (const Computation* computation : PrintOrder(module)) {
    if (!first) text += "\n";
    first = false;
    AppendComputation(*computation, computation == module.entry(), options, &text);
  }
  return text;
}

std::string ToString(const Computation& computation, const PrintOptions& options) {
  std::string text;
  const bool is_entry = computation.parent() != nullptr && computation.parent()->entry() == &computation;
  AppendComputation(computation, is_entry, options, &text);
  return text;
}

std::string ToString(const Instruction& instruction, const PrintOptions& options) {
  std::string text = instruction.parent() != nullptr && instruction.IsRoot() ? "ROOT " : "";
  AppendInstruction(instruction, options, &text);
  return text;
}

std::string ToString(const Literal& literal) {
  std::string text;
  AppendLiteral(literal, &text);
  return text;
}

}  // namespace kiln::hlo
