// How the wrappers of the PJRT C API look at their argument structures, and how they report errors.
#ifndef KILN_C_API_ARGUMENTS_H_
#define KILN_C_API_ARGUMENTS_H_

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "c_api/pjrt_c_api.h"
#include "src/base/status.h"

namespace kiln::c_api {

// A new error that the caller owns, or null for OK.
PJRT_Error* MakeError(const absl::Status& status);
// The status of a code and a message that came through the C API. OK and unknown codes become UNKNOWN errors.
absl::Status StatusFrom(PJRT_Error_Code code, const char* message, size_t message_size);

// INVALID_ARGUMENT for a caller whose structure ends before a field that the function cannot do without.
absl::Status TooSmall(absl::string_view field, size_t size, size_t needed);

// The bytes of a string as the C API passes it (a null pointer gives an empty one).
inline absl::string_view View(const char* data, size_t size) {
  return data == nullptr ? absl::string_view() : absl::string_view(data, size);
}

// Hands out the characters or elements of what an object keeps.
template <typename Range, typename Element>
void Give(Range&& range, Element** data, size_t* size) {
  *data = range.data();
  *size = range.size();
}

// Hands out bytes in an opaque object of their own, which the caller frees with the deleter.
struct Bytes {
  std::string bytes;
};
template <typename Holder>
void GiveBytes(std::string bytes, const char** data, size_t* size, Holder** holder, void (**deleter)(Holder*)) {
  *holder = new Holder{{std::move(bytes)}};
  *deleter = [](Holder* holder) { delete holder; };
  Give((*holder)->bytes, data, size);
}

}  // namespace kiln::c_api

// The size of a structure up to the end of a field, and whether the caller's structure reaches so far.
#define KILN_END_OF_FIELD(args, field) (offsetof(std::remove_reference_t<decltype(args)>, field) + sizeof((args).field))
#define KILN_HAS_FIELD(args, field) ((args).struct_size >= KILN_END_OF_FIELD(args, field))

// Returns an error when a pointer that the function needs is null.
#define KILN_REQUIRE_POINTER(args, field)                                                                      \
  do {                                                                                                         \
    if ((args).field == nullptr) return InvalidArgument(__PRETTY_FUNCTION__, ": " #field " must not be null"); \
  } while (false)

#endif  // KILN_C_API_ARGUMENTS_H_
