// The objects behind the opaque types of kiln.h. A kiln_buffer is the runtime's buffer itself.
#ifndef KILN_C_API_KILN_OBJECTS_H_
#define KILN_C_API_KILN_OBJECTS_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "c_api/kiln.h"
#include "src/base/catch_exceptions.h"
#include "src/runtime/client.h"

#define KILN_EXPORT extern "C" __attribute__((visibility("default")))

struct kiln_status {
  absl::StatusCode code;
  std::string message;
};

struct kiln_client {
  std::unique_ptr<kiln::runtime::Client> client;
};

namespace kiln::c_api {

// Null for OK.
kiln_status* MakeStatus(const absl::Status& status);
// What `function` returns or throws.
template <typename Function>
kiln_status* Answer(const Function& function) {
  return MakeStatus(CatchExceptions(function));
}

inline runtime::Buffer* UnwrapBuffer(const kiln_buffer* buffer) {
  return reinterpret_cast<runtime::Buffer*>(const_cast<kiln_buffer*>(buffer));
}
inline kiln_buffer* WrapBuffer(RefPtr<runtime::Buffer> buffer) {
  return reinterpret_cast<kiln_buffer*>(buffer.Detach());
}

}  // namespace kiln::c_api

#endif  // KILN_C_API_KILN_OBJECTS_H_
