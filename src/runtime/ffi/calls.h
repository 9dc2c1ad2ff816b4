// Custom-call instructions made callable: the handlers of the registry behind the interface of programs.
#ifndef KILN_RUNTIME_FFI_CALLS_H_
#define KILN_RUNTIME_FFI_CALLS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "src/cpu/custom_call.h"
#include "src/hlo/instruction.h"
#include "src/runtime/ffi/registry.h"

// What plain functions report failures with, as XLA's C++ code lays it out: a message is a failure.
struct XlaCustomCallStatus_ {
  std::optional<std::string> message;
};

namespace kiln::runtime::ffi {

// A cpu::CustomCallResolver. `number` is the call site's, unique within the program; runs must have room for it (see
// Execution). Runs the instantiate stage of typed handlers.
absl::StatusOr<std::unique_ptr<cpu::CustomCall>> ResolveCall(const hlo::Instruction& instruction, int64_t number);

// Of the two kinds; `instruction` need not outlive them.
absl::StatusOr<std::unique_ptr<cpu::CustomCall>> MakeTypedCall(const hlo::Instruction& instruction, int64_t number,
                                                               const Handler& handler);
absl::StatusOr<std::unique_ptr<cpu::CustomCall>> MakeUntypedCall(const hlo::Instruction& instruction,
                                                                 const Handler& handler);

// `call` itself, or one around it that hands over elements narrower than a byte packed, as handlers expect them.
std::unique_ptr<cpu::CustomCall> PackNarrowTypes(const hlo::Instruction& instruction,
                                                 std::unique_ptr<cpu::CustomCall> call);

// What operand `index` looks like to the handler: the layout that the call asks for.
const hlo::Shape& OperandShape(const hlo::Instruction& call, int64_t index);

}  // namespace kiln::runtime::ffi

#endif  // KILN_RUNTIME_FFI_CALLS_H_
