// Options of PJRT_Client_Create.
#ifndef KILN_C_API_OPTIONS_H_
#define KILN_C_API_OPTIONS_H_

#include "absl/status/statusor.h"
#include "c_api/pjrt_c_api.h"
#include "src/runtime/client.h"

namespace kiln::c_api {

// Integers by the names of runtime::ClientOptions: device_count, max_threads, memory_limit_bytes, cache_limit_bytes,
// inline_nanoseconds. INVALID_ARGUMENT for other names and types.
absl::StatusOr<runtime::ClientOptions> ParseClientOptions(const PJRT_NamedValue* values, size_t count);

}  // namespace kiln::c_api

#endif  // KILN_C_API_OPTIONS_H_
