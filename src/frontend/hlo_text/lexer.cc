#include "src/frontend/hlo_text/lexer.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "src/hlo/carried_text.h"

namespace kiln::hlo_text {
namespace {

bool IsNameCharacter(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-' || c == '$'; }

}  // namespace

void Lexer::SkipSpace() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (absl::ascii_isspace(c)) {
      ++position_;
    } else if (c == '/' && text_.substr(position_, 2) == "//") {
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else if (c == '/' && text_.substr(position_, 2) == "/*") {
      const size_t end = text_.find("*/", position_ + 2);
      position_ = end == absl::string_view::npos ? text_.size() : end + 2;
    } else {
      return;
    }
  }
}

bool Lexer::Consume(absl::string_view piece) {
  SkipSpace();
  if (!absl::StartsWith(text_.substr(position_), piece)) return false;
  position_ += piece.size();
  return true;
}

bool Lexer::ConsumeWord(absl::string_view word) {
  if (PeekName() != word || Peek() == '%') return false;
  position_ += word.size();
  return true;
}

absl::Status Lexer::Expect(absl::string_view piece) {
  return Consume(piece) ? absl::OkStatus() : Expected(absl::StrCat("'", piece, "'"));
}

absl::string_view Lexer::PeekName() {
  SkipSpace();
  size_t begin = position_;
  const bool marked = begin < text_.size() && text_[begin] == '%';
  if (marked) ++begin;
  size_t end = begin;
  // "->" ends a name though '-' may stand inside one.
  while (end < text_.size() && IsNameCharacter(text_[end]) && text_.substr(end, 2) != "->") ++end;
  if (end == begin) return "";
  if (!marked && !absl::ascii_isalpha(text_[begin]) && text_[begin] != '_') return "";
  return text_.substr(begin, end - begin);
}

absl::StatusOr<absl::string_view> Lexer::Name(absl::string_view what) {
  const absl::string_view name = PeekName();
  if (name.empty()) return Expected(what);
  position_ = name.data() + name.size() - text_.data();
  return name;
}

absl::string_view Lexer::Run(absl::string_view extra) {
  SkipSpace();
  const size_t begin = position_;
  while (position_ < text_.size() &&
         (absl::ascii_isalnum(text_[position_]) || extra.find(text_[position_]) != absl::string_view::npos)) {
    ++position_;
  }
  return text_.substr(begin, position_ - begin);
}

template <typename T>
absl::StatusOr<T> Lexer::Parsed(absl::string_view what, absl::string_view overflow) {
  SkipSpace();
  T value = 0;
  const char* begin = text_.data() + position_;
  auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error == std::errc::result_out_of_range) return Error(position_, absl::StrCat(what, overflow));
  if (error != std::errc()) return Expected(what);
  position_ += end - begin;
  return value;
}

absl::StatusOr<int64_t> Lexer::Integer(absl::string_view what) {
  return Parsed<int64_t>(what, " does not fit 64 bits");
}
absl::StatusOr<double> Lexer::Number(absl::string_view what) { return Parsed<double>(what, " is out of range"); }

absl::StatusOr<bool> Lexer::Bool(absl::string_view what) {
  if (ConsumeWord("true")) return true;
  if (ConsumeWord("false")) return false;
  return Expected(absl::StrCat("true or false for ", what));
}

absl::StatusOr<std::string> Lexer::String(absl::string_view what) {
  const size_t length = hlo::QuotedLength(text_.substr(offset()));
  if (length == 0) {
    if (Peek() == '"') return Error(position_, absl::StrCat("unterminated string for ", what));
    return Expected(absl::StrCat("a quoted string for ", what));
  }
  std::string value, problem;
  if (!absl::CUnescape(text_.substr(position_ + 1, length - 2), &value, &problem)) {
    return Error(position_, absl::StrCat("bad escape in the string for ", what, ": ", problem));
  }
  position_ += length;
  return value;
}

absl::StatusOr<std::string> Lexer::Braced(absl::string_view what) {
  const size_t length = hlo::BracedLength(text_.substr(offset()));
  if (length == 0) {
    if (Peek() == '{') return Error(position_, absl::StrCat("unbalanced braces in ", what));
    return Expected(absl::StrCat("'{' of ", what));
  }
  std::string value(text_.substr(position_, length));
  position_ += length;
  return value;
}

absl::Status Lexer::Error(size_t offset, absl::string_view message) const {
  return Locate(offset, absl::InvalidArgumentError(message));
}

absl::Status Lexer::Locate(size_t offset, const absl::Status& status) const {
  if (status.ok()) return status;
  offset = std::min(offset, text_.size());
  const absl::string_view before = text_.substr(0, offset);
  const size_t line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t newline = before.rfind('\n');
  const size_t line_begin = newline == absl::string_view::npos ? 0 : newline + 1;
  const size_t line_end = std::min(text_.find('\n', offset), text_.size());
  // Long lines (constants) show only what surrounds the place.
  constexpr size_t kContext = 100;
  const size_t shown_begin = offset - line_begin > kContext ? offset - kContext : line_begin;
  const size_t shown_end = std::min(line_end, offset + kContext);
  std::string shown(text_.substr(shown_begin, shown_end - shown_begin));
  for (char& c : shown) {
    if (c == '\t' || c == '\r' || c == '\0') c = ' ';
  }
  return absl::Status(status.code(),
                      absl::StrCat(file_name_, ":", line, ":", offset - line_begin + 1, ": ", status.message(), "\n  ",
                                   shown, "\n  ", std::string(offset - shown_begin, ' '), "^"));
}

absl::Status Lexer::Expected(absl::string_view expected) {
  std::string found = "the end of the text";
  if (!AtEnd()) {
    absl::string_view name = PeekName();
    found = absl::StrCat("'", absl::CHexEscape(name.empty() ? text_.substr(position_, 1) : name.substr(0, 60)), "'");
  }
  return Error(position_, absl::StrCat("expected ", expected, ", found ", found));
}

}  // namespace kiln::hlo_text
