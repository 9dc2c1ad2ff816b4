// Exceptions of the standard library, such as that of memory that runs out, as statuses: none may leave a thread or
// cross a C interface.
#ifndef KILN_BASE_CATCH_EXCEPTIONS_H_
#define KILN_BASE_CATCH_EXCEPTIONS_H_

#include <exception>
#include <new>

#include "src/base/status.h"

namespace kiln {

// What `function` returns; RESOURCE_EXHAUSTED or INTERNAL when it throws.
template <typename Function>
absl::Status CatchExceptions(const Function& function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("the system has no memory left");
  } catch (const std::exception& exception) {
    return Internal("unexpected: ", exception.what());
  }
}

}  // namespace kiln

#endif  // KILN_BASE_CATCH_EXCEPTIONS_H_
