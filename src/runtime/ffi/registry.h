// Handlers of custom calls and types of their data, by name: one table for the process.
#ifndef KILN_RUNTIME_FFI_REGISTRY_H_
#define KILN_RUNTIME_FFI_REGISTRY_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/runtime/ffi/ffi_abi.h"

namespace kiln::runtime::ffi {

// The platform of programs that run on the CPU; "cpu" and "kiln" are names for it as well.
inline constexpr char kHostPlatform[] = "host";

// What may stand under one name. Both may: a call's api_version chooses.
struct Handler {
  std::optional<XLA_FFI_Handler_Bundle> typed;
  XLA_FFI_Handler_Traits traits = 0;
  void* untyped = nullptr;
};

// Registers a typed handler; `execute` is required, other stages may be null. Every stage is asked for its metadata
// first: an ABI newer than this library's is refused. The same addresses may come again, others under a known name are
// an error. Platforms are compared without case. Thread-safe, as all functions here.
absl::Status RegisterHandler(absl::string_view name, absl::string_view platform, const XLA_FFI_Handler_Bundle& bundle,
                             XLA_FFI_Handler_Traits traits);
// Registers a plain function for api versions 1 to 3.
absl::Status RegisterUntyped(absl::string_view name, absl::string_view platform, void* function);
// Empty when nothing is known under the name.
std::optional<Handler> FindHandler(absl::string_view name, absl::string_view platform);

// Registers a type of state or user data. `*id` of zero receives the id of the name, a new one unless it is known;
// another value must not contradict an earlier registration of name or id. `deleter` may be null.
absl::Status RegisterType(absl::string_view name, int64_t* id, void (*deleter)(void*));
// The deleter (may be null) of a registered id; an error otherwise.
absl::StatusOr<void (*)(void*)> FindDeleter(int64_t id);

}  // namespace kiln::runtime::ffi

#endif  // KILN_RUNTIME_FFI_REGISTRY_H_
