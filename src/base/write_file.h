// Files that appear whole or not at all.
#ifndef KILN_BASE_WRITE_FILE_H_
#define KILN_BASE_WRITE_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace kiln {

// Writes beside `path` and gives that the name. What is no plain file (a pipe, /dev/null, a link) is written to as it
// is. Errors name the path and the system's reason.
absl::Status WriteWholeFile(const std::string& path, absl::string_view bytes);

}  // namespace kiln

#endif  // KILN_BASE_WRITE_FILE_H_
