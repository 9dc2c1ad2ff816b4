// Files that are written whole or not at all.
#ifndef KILN_BASE_WHOLE_FILE_H_
#define KILN_BASE_WHOLE_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace kiln {

// Puts `bytes` into the file at `path`, in the place of what was there: under another name first, so that no reader
// finds a part of it. Fails with INTERNAL and the system's reason. Thread-safe.
absl::Status WriteWholeFile(const std::string& path, absl::string_view bytes);

}  // namespace kiln

#endif  // KILN_BASE_WHOLE_FILE_H_
