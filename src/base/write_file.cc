#include "src/base/write_file.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace kiln {

absl::Status WriteWholeFile(const std::string& path, absl::string_view bytes) {
  static std::atomic<int64_t> counter{0};
  std::error_code unknown;
  const std::filesystem::file_status there = std::filesystem::symlink_status(path, unknown);
  const bool renames = !std::filesystem::exists(there) || std::filesystem::is_regular_file(there);
  const std::string written = renames ? absl::StrCat(path, ".tmp", getpid(), "_", counter.fetch_add(1)) : path;
  std::FILE* file = std::fopen(written.c_str(), "wb");
  if (file == nullptr) return NotFound("cannot open '", path, "' for writing: ", std::strerror(errno));
  errno = 0;
  bool done = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  int error = errno;
  if (std::fclose(file) != 0 && done) done = false, error = errno;
  if (done && (!renames || std::rename(written.c_str(), path.c_str()) == 0)) return absl::OkStatus();
  if (done) error = errno;
  if (renames) std::remove(written.c_str());
  return Internal("cannot write '", path, "': ", std::strerror(error));
}

}  // namespace kiln
