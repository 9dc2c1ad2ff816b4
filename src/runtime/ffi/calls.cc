#include "src/runtime/ffi/calls.h"

#include <utility>

#include "src/base/status.h"

namespace kiln::runtime::ffi {
namespace {

// Results that share the memory of an operand must be as large.
absl::Status CheckAliases(const hlo::Instruction& instruction) {
  for (const hlo::OutputOperandAlias& alias : instruction.Get<hlo::CustomCallAttributes>().aliases) {
    const hlo::Shape& operand = instruction.operand(alias.operand)->shape();
    const hlo::Shape* result = &instruction.shape();
    for (int64_t index : alias.output_index) result = &result->tuple_shapes(index);
    if (!operand.IsArray() || !result->IsArray()) {
      return Unimplemented(instruction.Describe(), ": an alias of tuples, between ", operand.ToString(false), " and ",
                           result->ToString(false));
    }
    if (operand.byte_count() != result->byte_count()) {
      return InvalidArgument(instruction.Describe(), ": a result of ", result->ToString(false),
                             " cannot share the memory of operand ", alias.operand, ", ", operand.ToString(false));
    }
  }
  return absl::OkStatus();
}

}  // namespace

const hlo::Shape& OperandShape(const hlo::Instruction& call, int64_t index) {
  const auto& attributes = call.Get<hlo::CustomCallAttributes>();
  return attributes.has_layout_constraints ? attributes.operand_layouts[index] : call.operand(index)->shape();
}

absl::StatusOr<std::unique_ptr<cpu::CustomCall>> ResolveCall(const hlo::Instruction& instruction, int64_t number) {
  const auto& attributes = instruction.Get<hlo::CustomCallAttributes>();
  const bool is_typed = attributes.api_version == hlo::CustomCallApiVersion::kTypedFfi;
  const std::optional<Handler> handler = FindHandler(attributes.target, kHostPlatform);
  if (!handler.has_value()) {
    return Unimplemented(instruction.Describe(), ": no handler is known for the custom call target '",
                         attributes.target, "'");
  }
  if (is_typed ? !handler->typed.has_value() : handler->untyped == nullptr) {
    return Unimplemented(
        instruction.Describe(), ": the custom call target '", attributes.target, "' is registered for ",
        is_typed ? "untyped calls alone, this one is typed (api_version 4)" : "typed calls alone, this one is untyped");
  }
  KILN_RETURN_IF_ERROR(CheckAliases(instruction));
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<cpu::CustomCall> call, is_typed ? MakeTypedCall(instruction, number, *handler)
                                                                        : MakeUntypedCall(instruction, *handler));
  return PackNarrowTypes(instruction, std::move(call));
}

}  // namespace kiln::runtime::ffi
