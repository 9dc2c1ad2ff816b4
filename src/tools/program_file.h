// Programs given on the command line.
#ifndef KILN_TOOLS_PROGRAM_FILE_H_
#define KILN_TOOLS_PROGRAM_FILE_H_

#include <memory>
#include <string>

#include "src/base/status.h"
#include "src/hlo/module.h"

namespace kiln::tools {

// The whole file; "-" is standard input.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// Replaces the file; "-" and "" are standard output.
absl::Status WriteFile(const std::string& path, absl::string_view bytes);

// Reads and verifies a program in any format that the frontend knows. Errors start with the path.
absl::StatusOr<std::unique_ptr<hlo::Module>> LoadProgram(const std::string& path);

// What a command ends with: its own code, or `failure` after "kiln: message" on standard error.
int ExitCode(const absl::StatusOr<int>& code, int failure = 1);
inline int ExitCode(const absl::Status& status, int failure = 1) {
  return ExitCode(status.ok() ? absl::StatusOr<int>(0) : absl::StatusOr<int>(status), failure);
}

}  // namespace kiln::tools

#endif  // KILN_TOOLS_PROGRAM_FILE_H_
