// Options of PJRT_Client_Create.
#ifndef KILN_C_API_OPTIONS_H_
#define KILN_C_API_OPTIONS_H_

#include "absl/status/statusor.h"
#include "c_api/pjrt_c_api.h"
#include "src/runtime/client.h"

namespace kiln::c_api {

// Integers by the names of runtime::ClientOptions: device_count, max_threads, memory_limit_bytes, cache_limit_bytes,
// inline_nanoseconds. The flag --xla_force_host_platform_device_count stands in for a device_count that is not given.
// INVALID_ARGUMENT for other names and types.
absl::StatusOr<runtime::ClientOptions> ParseClientOptions(const PJRT_NamedValue* values, size_t count);

}  // namespace kiln::c_api

#endif  // KILN_C_API_OPTIONS_H_
