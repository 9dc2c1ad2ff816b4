// Deterministic mutations of a corpus of files.
#ifndef KILN_TESTS_FRONTEND_MUTATE_H_
#define KILN_TESTS_FRONTEND_MUTATE_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/frontend/test_files.h"

namespace kiln {

// Files of the test data that end in `suffix` and are small enough to be mutated thousands of times.
inline std::vector<std::string> MutationCorpus(const std::string& suffix) {
  std::vector<std::string> corpus;
  for (const auto& file : DataFiles(suffix)) {
    std::string bytes = ReadFile(file);
    if (bytes.size() < 12288) corpus.push_back(std::move(bytes));
  }
  return corpus;
}

// One of the corpus with one to four edits: flipped bits, other bytes, cuts, splices from other files, huge numbers.
inline std::string Mutate(const std::vector<std::string>& corpus, std::mt19937_64& random) {
  const auto below = [&random](uint64_t bound) { return bound == 0 ? 0 : random() % bound; };
  std::string bytes = corpus[below(corpus.size())];
  const uint64_t edits = 1 + below(4);
  for (uint64_t i = 0; i < edits && !bytes.empty(); ++i) {
    const uint64_t position = below(bytes.size());
    switch (below(8)) {
      case 0:
      case 1:
        bytes[position] ^= static_cast<char>(1 << below(8));
        break;
      case 2:
      case 3:
        bytes[position] = static_cast<char>(below(256));
        break;
      case 4:
        bytes.resize(position);
        break;
      case 5:
        bytes.erase(position, 1 + below(8));
        break;
      case 6: {
        const std::string& other = corpus[below(corpus.size())];
        const uint64_t from = below(other.size());
        bytes.replace(position, below(32), other, from, below(32));
        break;
      }
      default:  // A number of the largest size: eight bytes after a zero.
        bytes.replace(position, 1, std::string("\0\xff\xff\xff\xff\xff\xff\xff\x7f", 9));
        break;
    }
  }
  return bytes;
}

// Like Mutate, but keeps the length and the head of the file, so that most results still read: only single bytes past
// the middle change.
inline std::string MutateGently(const std::vector<std::string>& corpus, std::mt19937_64& random) {
  std::string bytes = corpus[random() % corpus.size()];
  const uint64_t edits = 1 + random() % 2;
  for (uint64_t i = 0; i < edits; ++i) {
    const uint64_t position = bytes.size() / 8 + random() % (bytes.size() - bytes.size() / 8);
    bytes[position] ^= static_cast<char>(2 << random() % 7);
  }
  return bytes;
}

}  // namespace kiln

#endif  // KILN_TESTS_FRONTEND_MUTATE_H_
