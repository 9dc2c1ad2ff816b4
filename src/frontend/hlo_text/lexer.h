// A cursor over HLO text. The grammar is context dependent ("1_1x0_2", "b01f_01io->b01f", braces carried verbatim), so
// readers ask for the piece they expect instead of taking tokens from a stream.
#ifndef KILN_FRONTEND_HLO_TEXT_LEXER_H_
#define KILN_FRONTEND_HLO_TEXT_LEXER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "src/base/status.h"

namespace kiln::hlo_text {

// Borrows the text. Every function first skips white space and comments unless it says otherwise; those that return a
// bool consume nothing when they return false.
class Lexer {
 public:
  Lexer(absl::string_view text, absl::string_view file_name) : text_(text), file_name_(file_name) {}

  // Where the next piece starts.
  size_t offset() {
    SkipSpace();
    return position_;
  }
  // Where the last piece ended.
  size_t position() const { return position_; }
  // Goes back to an earlier offset.
  void Rewind(size_t offset) { position_ = offset; }
  bool AtEnd() { return offset() == text_.size(); }
  // The next character, 0 at the end.
  char Peek() { return AtEnd() ? '\0' : text_[position_]; }

  // Takes `piece` literally.
  bool Consume(absl::string_view piece);
  // Takes `word` when no name character follows it.
  bool ConsumeWord(absl::string_view word);
  absl::Status Expect(absl::string_view piece);
  // Calls `read`, which gives a status, for each element of a comma-separated list between brackets.
  template <typename Read>
  absl::Status List(absl::string_view open, absl::string_view close, const Read& read) {
    KILN_RETURN_IF_ERROR(Expect(open));
    if (Consume(close)) return absl::OkStatus();
    do {
      KILN_RETURN_IF_ERROR(read());
    } while (Consume(","));
    return Expect(close);
  }

  // A name: letters, digits and "_.-$", with or without "%" (dropped).
  absl::StatusOr<absl::string_view> Name(absl::string_view what);
  // The name that follows, "" when there is none; consumes nothing.
  absl::string_view PeekName();
  // Any run of characters out of letters, digits and `extra`.
  absl::string_view Run(absl::string_view extra);
  absl::StatusOr<int64_t> Integer(absl::string_view what);
  absl::StatusOr<bool> Bool(absl::string_view what);
  absl::StatusOr<double> Number(absl::string_view what);
  // A quoted string, unescaped.
  absl::StatusOr<std::string> String(absl::string_view what);
  // A balanced "{...}" verbatim.
  absl::StatusOr<std::string> Braced(absl::string_view what);

  // INVALID_ARGUMENT "file:line:column: message" with the source line and a caret below it.
  absl::Status Error(size_t offset, absl::string_view message) const;
  // The same at the next piece: "expected `expected`, found ...".
  absl::Status Expected(absl::string_view expected);
  // `status` with the position in front and the source line behind, its code kept.
  absl::Status Locate(size_t offset, const absl::Status& status) const;

  absl::string_view text() const { return text_; }

 private:
  void SkipSpace();
  template <typename T>
  absl::StatusOr<T> Parsed(absl::string_view what, absl::string_view overflow);

  absl::string_view text_;
  absl::string_view file_name_;
  size_t position_ = 0;
};

}  // namespace kiln::hlo_text

#endif  // KILN_FRONTEND_HLO_TEXT_LEXER_H_
