#include "c_api/options.h"

#include "c_api/arguments.h"

namespace kiln::c_api {

absl::StatusOr<runtime::ClientOptions> ParseClientOptions(const PJRT_NamedValue* values, size_t count) {
  runtime::ClientOptions options;
  runtime::DebugFlags flags;
  KILN_RETURN_IF_ERROR(runtime::ReadAllFlags(/*debug_options=*/"", &flags));
  if (flags.host_device_count > 0) options.device_count = flags.host_device_count;
  const struct {
    absl::string_view name;
    int64_t* value;
  } known[] = {
      {"device_count", &options.device_count},
      {"max_threads", &options.max_threads},
      {"memory_limit_bytes", &options.memory_limit_bytes},
      {"cache_limit_bytes", &options.cache_limit_bytes},
      {"inline_nanoseconds", &options.inline_nanoseconds},
  };
  for (size_t i = 0; values != nullptr && i < count; ++i) {
    const PJRT_NamedValue& value = values[i];
    const absl::string_view name = View(value.name, value.name_size);
    bool found = false;
    for (const auto& option : known) {
      if (option.name != name) continue;
      if (value.type != PJRT_NamedValue_kInt64) return InvalidArgument("client option ", name, " must be an integer");
      *option.value = value.int64_value;
      found = true;
    }
    if (!found) return InvalidArgument("no such client option: '", name, "'");
  }
  return options;
}

}  // namespace kiln::c_api
