#include "src/base/nearest_name.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace kiln {
namespace {

constexpr size_t kLongestName = 100;

// Letters to insert, remove or exchange between two words.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t exchanged = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({exchanged, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

absl::string_view NearestName(absl::string_view word, const std::vector<absl::string_view>& names) {
  if (word.size() > kLongestName) return "";
  absl::string_view nearest;
  size_t least = std::min<size_t>(3, word.size() / 3 + 1) + 1;
  for (absl::string_view name : names) {
    const size_t distance = EditDistance(word, name);
    if (distance < least) {
      least = distance;
      nearest = name;
    }
  }
  return nearest;
}

std::string DidYouMean(absl::string_view word, const std::vector<absl::string_view>& names) {
  const absl::string_view nearest = NearestName(word, names);
  return nearest.empty() ? "" : absl::StrCat(": did you mean '", nearest, "'?");
}

}  // namespace kiln
