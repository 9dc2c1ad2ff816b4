#include "src/frontend/hlo_text/stack_frames.h"

#include <utility>

#include "absl/strings/ascii.h"

namespace kiln::hlo_text {
namespace {

// Calls `entry` with the id of each line of a table; `entry` reads the rest of the line.
template <typename Entry>
absl::Status ParseTable(Lexer& lexer, const Entry& entry) {
  while (absl::ascii_isdigit(lexer.Peek())) {
    KILN_ASSIGN_OR_RETURN(int64_t id, lexer.Integer("a table index"));
    KILN_RETURN_IF_ERROR(entry(id));
  }
  return absl::OkStatus();
}

// "{key=1 key=2}"
template <typename Field>
absl::Status ParseFields(Lexer& lexer, const Field& field) {
  KILN_RETURN_IF_ERROR(lexer.Expect("{"));
  while (!lexer.Consume("}")) {
    const size_t at = lexer.offset();
    KILN_ASSIGN_OR_RETURN(absl::string_view key, lexer.Name("a field or '}'"));
    KILN_RETURN_IF_ERROR(lexer.Expect("="));
    KILN_ASSIGN_OR_RETURN(int64_t value, lexer.Integer("an integer"));
    if (!field(key, value)) return lexer.Error(at, absl::StrCat("unknown field '", key, "'"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status StackFrames::Parse(Lexer& lexer) {
  while (true) {
    if (lexer.ConsumeWord("FileNames")) {
      KILN_RETURN_IF_ERROR(ParseTable(lexer, [&](int64_t id) -> absl::Status {
        KILN_ASSIGN_OR_RETURN(file_names_[id], lexer.String("a file name"));
        return absl::OkStatus();
      }));
    } else if (lexer.ConsumeWord("FunctionNames")) {
      // Functions are not kept: a location names file and line.
      KILN_RETURN_IF_ERROR(ParseTable(lexer, [&](int64_t) { return lexer.String("a function name").status(); }));
    } else if (lexer.ConsumeWord("FileLocations")) {
      KILN_RETURN_IF_ERROR(ParseTable(lexer, [&](int64_t id) {
        Location& location = locations_[id];
        return ParseFields(lexer, [&](absl::string_view key, int64_t value) {
          if (key == "file_name_id") {
            location.file_name_id = value;
          } else if (key == "line") {
            location.line = value;
          } else if (key == "column") {
            location.column = value;
          } else {
            return key == "function_name_id" || key == "end_line" || key == "end_column";
          }
          return true;
        });
      }));
    } else if (lexer.ConsumeWord("StackFrames")) {
      KILN_RETURN_IF_ERROR(ParseTable(lexer, [&](int64_t id) {
        return ParseFields(lexer, [&](absl::string_view key, int64_t value) {
          if (key == "file_location_id") frame_locations_[id] = value;
          return key == "file_location_id" || key == "parent_frame_id";
        });
      }));
    } else {
      return absl::OkStatus();
    }
  }
}

void StackFrames::Resolve(int64_t frame_id, hlo::Metadata* metadata) const {
  auto frame = frame_locations_.find(frame_id);
  if (frame == frame_locations_.end()) return;
  auto location = locations_.find(frame->second);
  if (location == locations_.end()) return;
  auto file = file_names_.find(location->second.file_name_id);
  if (file == file_names_.end()) return;
  metadata->source_file = file->second;
  metadata->source_line = location->second.line;
  metadata->source_column = location->second.column;
}

}  // namespace kiln::hlo_text
