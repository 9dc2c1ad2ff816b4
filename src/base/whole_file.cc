#include "src/base/whole_file.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace kiln {

absl::Status WriteWholeFile(const std::string& path, absl::string_view bytes) {
  static std::atomic<int64_t> counter{0};
  const std::string temporary = absl::StrCat(path, ".tmp", getpid(), "_", counter.fetch_add(1));
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) return Internal("cannot write ", temporary, ": ", std::strerror(errno));
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const bool closed = std::fclose(file) == 0;
  if (written && closed && std::rename(temporary.c_str(), path.c_str()) == 0) return absl::OkStatus();
  const absl::Status status = Internal("cannot write ", path, ": ", std::strerror(errno));
  std::remove(temporary.c_str());
  return status;
}

}  // namespace kiln
