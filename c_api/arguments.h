// How the wrappers of the PJRT C API look at their argument structures, and how they report errors.
#ifndef KILN_C_API_ARGUMENTS_H_
#define KILN_C_API_ARGUMENTS_H_

#include <cstddef>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "c_api/pjrt_c_api.h"
#include "src/base/status.h"

namespace kiln::c_api {

// A new error that the caller owns, or null for OK.
PJRT_Error* MakeError(const absl::Status& status);
// The status behind an error of ours.
const absl::Status& StatusOf(const PJRT_Error* error);
// The status of a code and a message that came through the C API. OK and unknown codes become UNKNOWN errors.
absl::Status StatusFrom(PJRT_Error_Code code, const char* message, size_t message_size);

// INVALID_ARGUMENT for a caller whose structure ends before a field that the function cannot do without.
absl::Status TooSmall(absl::string_view field, size_t size, size_t needed);

// The bytes of a string as the C API passes it (a null pointer gives an empty one).
inline absl::string_view View(const char* data, size_t size) {
  return data == nullptr ? absl::string_view() : absl::string_view(data, size);
}

}  // namespace kiln::c_api

// Whether the caller's structure is large enough to have this field.
#define KILN_HAS_FIELD(args, field) \
  ((args)->struct_size >= offsetof(std::remove_pointer_t<decltype(args)>, field) + sizeof((args)->field))

// Returns an error unless the caller's structure reaches this field.
#define KILN_REQUIRE_FIELD(args, field)                                                                             \
  do {                                                                                                              \
    if (!KILN_HAS_FIELD(args, field)) {                                                                             \
      return ::kiln::c_api::MakeError(                                                                              \
          ::kiln::c_api::TooSmall(#field, (args)->struct_size,                                                      \
                                  offsetof(std::remove_pointer_t<decltype(args)>, field) + sizeof((args)->field))); \
    }                                                                                                               \
  } while (false)

// Returns an error when a pointer that the function needs is null.
#define KILN_REQUIRE_POINTER(args, field)                                                                  \
  do {                                                                                                     \
    if ((args)->field == nullptr) {                                                                        \
      return ::kiln::c_api::MakeError(::kiln::InvalidArgument(__func__, ": " #field " must not be null")); \
    }                                                                                                      \
  } while (false)

// Returns from the wrapper with the error of a status or StatusOr.
#define KILN_C_RETURN_IF_ERROR(expr)                                  \
  do {                                                                \
    if (absl::Status kiln_c_status_ = (expr); !kiln_c_status_.ok()) { \
      return ::kiln::c_api::MakeError(kiln_c_status_);                \
    }                                                                 \
  } while (false)
#define KILN_C_ASSIGN_OR_RETURN(lhs, expr) \
  KILN_C_ASSIGN_OR_RETURN_IMPL(KILN_STATUS_CONCAT(kiln_c_statusor_, __LINE__), lhs, expr)
#define KILN_C_ASSIGN_OR_RETURN_IMPL(statusor, lhs, expr)                 \
  auto statusor = (expr);                                                 \
  if (!statusor.ok()) return ::kiln::c_api::MakeError(statusor.status()); \
  lhs = std::move(statusor).value()

#endif  // KILN_C_API_ARGUMENTS_H_
