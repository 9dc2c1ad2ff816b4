#include "src/hlo/carried_text.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace kiln::hlo {

size_t QuotedLength(absl::string_view text) {
  if (text.empty() || text[0] != '"') return 0;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return 0;
}

size_t BracedLength(absl::string_view text) {
  if (text.empty() || text[0] != '{') return 0;
  size_t depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') {
      ++depth;
    } else if (text[i] == '}') {
      if (--depth == 0) return i + 1;
    } else if (text[i] == '"') {
      const size_t length = QuotedLength(text.substr(i));
      if (length == 0) return 0;
      i += length - 1;
    }
  }
  return 0;
}

std::string BracedOrQuoted(absl::string_view text) {
  if (!text.empty() && BracedLength(text) == text.size()) return std::string(text);
  return absl::StrCat("\"", absl::CEscape(text), "\"");
}

std::string DictionaryText(const std::map<std::string, std::string>& dictionary) {
  std::string text = "{";
  for (const auto& [key, value] : dictionary) {
    absl::StrAppend(&text, text.size() > 1 ? "," : "", key, "=", BracedOrQuoted(value));
  }
  return text + "}";
}

}  // namespace kiln::hlo
