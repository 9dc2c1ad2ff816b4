// Files of tests/data for tests.
#ifndef KILN_TESTS_FRONTEND_TEST_FILES_H_
#define KILN_TESTS_FRONTEND_TEST_FILES_H_

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace kiln {

inline std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

// All files of tests/data/{payloads,samples,stablehlo} that end in `suffix`, sorted.
inline std::vector<std::filesystem::path> DataFiles(const std::string& suffix) {
  std::vector<std::filesystem::path> files;
  for (const char* folder : {"payloads", "samples", "stablehlo"}) {
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(KILN_TEST_DATA) / folder)) {
      const std::string name = entry.path().filename().string();
      if (name.size() >= suffix.size() && name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0) {
        files.push_back(entry.path());
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace kiln

#endif  // KILN_TESTS_FRONTEND_TEST_FILES_H_
