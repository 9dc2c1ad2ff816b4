// Shell commands that end in time.
#ifndef KILN_TOOLS_TIMED_COMMAND_H_
#define KILN_TOOLS_TIMED_COMMAND_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace kiln::tools {

// Runs `command` in a shell, with nothing to read, and says whether it ended with 0. One that takes longer than `limit`
// is stopped with all that it started, and false. CANCELLED on an interrupt from the keyboard, which stops it as well.
// For programs whose other threads, if any, do not wait for SIGINT or SIGCHLD.
absl::StatusOr<bool> Succeeds(const std::string& command, absl::Duration limit);

}  // namespace kiln::tools

#endif  // KILN_TOOLS_TIMED_COMMAND_H_
