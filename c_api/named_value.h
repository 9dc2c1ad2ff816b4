// Named values, as they come in as options and go out as attributes.
#ifndef KILN_C_API_NAMED_VALUE_H_
#define KILN_C_API_NAMED_VALUE_H_

#include <cstring>

#include "absl/types/span.h"
#include "c_api/pjrt_c_api.h"

namespace kiln::c_api {

// `name` and `values` must outlive the result.
inline PJRT_NamedValue NamedInt64(const char* name, int64_t number) {
  PJRT_NamedValue value = {};
  value.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  value.name = name;
  value.name_size = std::strlen(name);
  value.type = PJRT_NamedValue_kInt64;
  value.int64_value = number;
  value.value_size = 1;
  return value;
}
inline PJRT_NamedValue NamedInt64List(const char* name, absl::Span<const int64_t> values) {
  PJRT_NamedValue value = NamedInt64(name, 0);
  value.type = PJRT_NamedValue_kInt64List;
  value.int64_array_value = values.data();
  value.value_size = values.size();
  return value;
}
inline PJRT_NamedValue NamedFloat(const char* name, float number) {
  PJRT_NamedValue value = NamedInt64(name, 0);
  value.type = PJRT_NamedValue_kFloat;
  value.float_value = number;
  return value;
}

}  // namespace kiln::c_api

#endif  // KILN_C_API_NAMED_VALUE_H_
