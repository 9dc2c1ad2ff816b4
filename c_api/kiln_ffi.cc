// kiln.h: handlers of custom calls.
#include <algorithm>
#include <cstring>

#include "c_api/kiln_objects.h"
#include "src/runtime/ffi/calls.h"
#include "src/runtime/ffi/registry.h"

namespace ffi = kiln::runtime::ffi;
using kiln::c_api::MakeStatus;

KILN_EXPORT kiln_status* kiln_ffi_register_handler(const char* target, const char* platform,
                                                   const kiln_ffi_handler* handler) {
  if (target == nullptr || platform == nullptr || handler == nullptr) {
    return MakeStatus(kiln::InvalidArgument("target, platform and handler must not be null"));
  }
  kiln_ffi_handler given = {};
  std::memcpy(&given, handler, std::min(handler->struct_size, sizeof(given)));
  const auto stage = [](void* address) { return reinterpret_cast<XLA_FFI_Handler*>(address); };
  const XLA_FFI_Handler_Bundle bundle = {stage(given.instantiate), stage(given.prepare), stage(given.initialize),
                                         stage(given.execute)};
  return MakeStatus(ffi::RegisterHandler(target, platform, bundle, given.traits));
}

KILN_EXPORT kiln_status* kiln_ffi_register_function(const char* target, const char* platform, void* function) {
  if (target == nullptr || platform == nullptr) {
    return MakeStatus(kiln::InvalidArgument("target and platform must not be null"));
  }
  return MakeStatus(ffi::RegisterUntyped(target, platform, function));
}

KILN_EXPORT void kiln_ffi_set_failure(void* status, const char* message, size_t size) {
  if (status == nullptr) return;
  static_cast<XlaCustomCallStatus_*>(status)->message.emplace(message == nullptr ? "" : message,
                                                              message == nullptr ? 0 : size);
}

KILN_EXPORT kiln_status* kiln_ffi_register_type(const char* name, int64_t* id, void (*deleter)(void* object)) {
  if (name == nullptr) return MakeStatus(kiln::InvalidArgument("name must not be null"));
  return MakeStatus(ffi::RegisterType(name, id, deleter));
}
