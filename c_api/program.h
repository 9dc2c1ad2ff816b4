// Programs on their way from the caller to an executable.
#ifndef KILN_C_API_PROGRAM_H_
#define KILN_C_API_PROGRAM_H_

#include <memory>

#include "absl/status/statusor.h"
#include "c_api/executable_info.h"
#include "c_api/handles.h"

namespace kiln::c_api {

// A copy of the program and options of a call; checks the pointers.
absl::StatusOr<ProgramSource> SourceFrom(const PJRT_Program* program, const char* options, size_t options_size);
// Reads, verifies and compiles.
absl::StatusOr<std::shared_ptr<ExecutableInfo>> CompileSource(PJRT_Client* client, const ProgramSource& source);
// An executable as bytes with its machine code, and back, without compiling. Compile options that are not empty take
// the place of those that the program was compiled with: they choose the device.
absl::StatusOr<std::string> Serialize(ExecutableInfo* info);
absl::StatusOr<std::shared_ptr<ExecutableInfo>> Deserialize(PJRT_Client* client, absl::string_view bytes,
                                                            absl::string_view compile_options);
// A handle that the caller destroys.
PJRT_LoadedExecutable* MakeLoadedExecutable(PJRT_Client* client, std::shared_ptr<ExecutableInfo> info);

}  // namespace kiln::c_api

#endif  // KILN_C_API_PROGRAM_H_
