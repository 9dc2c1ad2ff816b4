// The function table that handlers call, and how handlers are called.
#ifndef KILN_RUNTIME_FFI_API_H_
#define KILN_RUNTIME_FFI_API_H_

#include "absl/status/status.h"
#include "src/runtime/ffi/execution.h"
#include "src/runtime/ffi/ffi_abi.h"

struct XLA_FFI_Error {
  absl::Status status;
};

// Without an execution in the instantiate stage.
struct XLA_FFI_ExecutionContext {
  kiln::runtime::ffi::Execution* execution = nullptr;
  kiln::runtime::ffi::State* instantiate_state = nullptr;
  kiln::runtime::ffi::Execution::States* states = nullptr;
};

namespace kiln::runtime::ffi {

// Lives as long as the process.
const XLA_FFI_Api* Api();

// Calls a handler, waits for its future if it gives one, and turns errors and C++ exceptions into a status.
absl::Status Invoke(XLA_FFI_Handler* handler, XLA_FFI_CallFrame* frame);

}  // namespace kiln::runtime::ffi

#endif  // KILN_RUNTIME_FFI_API_H_
