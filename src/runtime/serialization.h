// Executables as bytes, for caches on disk: machine code and what frameworks ask about it, sealed with a checksum.
#ifndef KILN_RUNTIME_SERIALIZATION_H_
#define KILN_RUNTIME_SERIALIZATION_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/runtime/loaded_executable.h"

namespace kiln::runtime {

struct SerializedExecutable {
  std::string name;
  std::string options;            // CompileOptionsProto, as the program was compiled with
  std::string fingerprint;        // of program and options
  std::string optimized_program;  // HloModuleProtoWithConfig
  std::string program_text;       // the same as text where it makes custom calls, to look them up; empty otherwise
  MemoryKinds memory_kinds;
  std::string image;  // what cpu::Executable::Serialize gave
};

// A header (magic, build of Kiln, length, checksum) and the fields.
std::string Seal(const SerializedExecutable& executable);
// Refuses, with what is wrong: bytes of others, another build's, cut, extended or damaged ones.
absl::StatusOr<SerializedExecutable> Unseal(absl::string_view bytes);

}  // namespace kiln::runtime

#endif  // KILN_RUNTIME_SERIALIZATION_H_
