#include "src/tools/program_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/match.h"
#include "src/base/write_file.h"
#include "src/frontend/load.h"

namespace kiln::tools {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const bool is_standard_input = path == "-";
  std::FILE* file = is_standard_input ? stdin : std::fopen(path.c_str(), "rb");
  if (file == nullptr) return NotFound("cannot open '", path, "': ", std::strerror(errno));
  std::string bytes;
  char buffer[1 << 16];
  size_t count;
  while ((count = std::fread(buffer, 1, sizeof(buffer), file)) > 0) bytes.append(buffer, count);
  const bool failed = std::ferror(file) != 0;
  const int error = errno;
  if (!is_standard_input) std::fclose(file);
  if (failed) return InvalidArgument("cannot read '", path, "': ", std::strerror(error));
  return bytes;
}

absl::Status WriteFile(const std::string& path, absl::string_view bytes) {
  if (path.empty() || path == "-") {
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);  // The command's end says when that failed.
    return absl::OkStatus();
  }
  return WriteWholeFile(path, bytes);
}

absl::StatusOr<std::unique_ptr<hlo::Module>> LoadProgram(const std::string& path) {
  KILN_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
  const std::string name = path == "-" ? "standard input" : path;
  hlo_text::ElidedConstants elided;
  absl::StatusOr<std::unique_ptr<hlo::Module>> module = frontend::Load(bytes, /*format=*/"", name, &elided);
  if (elided.count > 0) {
    std::fprintf(stderr, "kiln: %s: %lld constants were printed without their values; made-up numbers stand for them\n",
                 name.c_str(), static_cast<long long>(elided.count));
  }
  if (module.ok() || absl::StartsWith(module.status().message(), absl::StrCat(name, ":"))) return module;
  return Annotate(module.status(), name);
}

int ExitCode(const absl::StatusOr<int>& code, int failure) {
  if (code.ok()) return *code;
  std::fprintf(stderr, "kiln: %s\n", std::string(code.status().message()).c_str());
  return failure;
}

}  // namespace kiln::tools
