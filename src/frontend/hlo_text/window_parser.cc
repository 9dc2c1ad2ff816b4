#include "src/frontend/hlo_text/window_parser.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace kiln::hlo_text {
namespace {

using hlo::DimensionVector;

constexpr size_t kMaxWindowRank = 64;

// "1_1x0_2": numbers separated by '_' for each dimension, dimensions separated by 'x'.
absl::StatusOr<std::vector<std::vector<int64_t>>> ParseCompact(Lexer& lexer, size_t least, size_t most,
                                                               absl::string_view what) {
  const size_t start = lexer.offset();
  // Digits, signs and separators only: a word that follows belongs to somebody else.
  size_t end = start;
  const absl::string_view text = lexer.text();
  while (end < text.size() &&
         (absl::ascii_isdigit(text[end]) || text[end] == '-' || text[end] == '_' || text[end] == 'x')) {
    ++end;
  }
  lexer.Rewind(end);
  std::vector<std::vector<int64_t>> dimensions;
  for (absl::string_view part : absl::StrSplit(text.substr(start, end - start), 'x')) {
    std::vector<int64_t> numbers;
    for (absl::string_view digits : absl::StrSplit(part, '_')) {
      int64_t value = 0;
      auto [after, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (error != std::errc() || after != digits.data() + digits.size()) {
        return lexer.Error(start, absl::StrCat("expected ", what, " such as ", least == 1 ? "1x2" : "1_1x0_2"));
      }
      numbers.push_back(value);
    }
    if (numbers.size() < least || numbers.size() > most) {
      return lexer.Error(start, absl::StrCat("expected ", least, " to ", most, " numbers per dimension in ", what));
    }
    dimensions.push_back(std::move(numbers));
    if (dimensions.size() > kMaxWindowRank) return lexer.Error(start, absl::StrCat("too many dimensions in ", what));
  }
  return dimensions;
}

}  // namespace

absl::StatusOr<hlo::Window> ParseWindow(Lexer& lexer) {
  const size_t start = lexer.offset();
  KILN_RETURN_IF_ERROR(lexer.Expect("{"));
  hlo::Window window;
  std::vector<std::pair<absl::string_view, std::vector<std::vector<int64_t>>>> parts;
  bool has_size = false;
  while (!lexer.Consume("}")) {
    const size_t at = lexer.offset();
    KILN_ASSIGN_OR_RETURN(absl::string_view key, lexer.Name("a window field or '}'"));
    KILN_RETURN_IF_ERROR(lexer.Expect("="));
    const bool pad = key == "pad";
    KILN_ASSIGN_OR_RETURN(auto values, ParseCompact(lexer, pad ? 2 : 1, pad ? 2 : 1, key));
    if (key == "size") {
      window.resize(values.size());
      has_size = true;
    } else if (key != "stride" && key != "pad" && key != "lhs_dilate" && key != "rhs_dilate" && key != "rhs_reversal") {
      return lexer.Error(at, absl::StrCat("unknown window field '", key, "'"));
    }
    parts.emplace_back(key, std::move(values));
  }
  if (!has_size && !parts.empty()) return lexer.Error(start, "window without size");
  for (const auto& [key, values] : parts) {
    if (values.size() != window.size()) {
      return lexer.Error(
          start, absl::StrCat("window field '", key, "' has ", values.size(), " dimensions, size has ", window.size()));
    }
    for (size_t i = 0; i < values.size(); ++i) {
      if (key == "size") window[i].size = values[i][0];
      if (key == "stride") window[i].stride = values[i][0];
      if (key == "lhs_dilate") window[i].base_dilation = values[i][0];
      if (key == "rhs_dilate") window[i].window_dilation = values[i][0];
      if (key == "rhs_reversal") window[i].reversal = values[i][0] != 0;
      if (key == "pad") {
        window[i].padding_low = values[i][0];
        window[i].padding_high = values[i][1];
      }
    }
  }
  return window;
}

absl::StatusOr<hlo::PadAttributes> ParsePadding(Lexer& lexer) {
  hlo::PadAttributes pad;
  // A scalar is padded by nothing.
  if (lexer.Peek() != '-' && !absl::ascii_isdigit(lexer.Peek())) return pad;
  KILN_ASSIGN_OR_RETURN(auto values, ParseCompact(lexer, 2, 3, "padding"));
  for (const std::vector<int64_t>& numbers : values) {
    pad.low.push_back(numbers[0]);
    pad.high.push_back(numbers[1]);
    pad.interior.push_back(numbers.size() == 3 ? numbers[2] : 0);
  }
  return pad;
}

absl::StatusOr<hlo::SliceAttributes> ParseSlice(Lexer& lexer) {
  hlo::SliceAttributes slice;
  KILN_RETURN_IF_ERROR(lexer.List("{", "}", [&]() -> absl::Status {
    if (slice.start.size() >= kMaxWindowRank) return lexer.Error(lexer.offset(), "slice of too many dimensions");
    KILN_RETURN_IF_ERROR(lexer.Expect("["));
    KILN_ASSIGN_OR_RETURN(int64_t start, lexer.Integer("the start of a slice"));
    KILN_RETURN_IF_ERROR(lexer.Expect(":"));
    KILN_ASSIGN_OR_RETURN(int64_t limit, lexer.Integer("the limit of a slice"));
    int64_t stride = 1;
    if (lexer.Consume(":")) {
      KILN_ASSIGN_OR_RETURN(stride, lexer.Integer("the stride of a slice"));
    }
    KILN_RETURN_IF_ERROR(lexer.Expect("]"));
    slice.start.push_back(start);
    slice.limit.push_back(limit);
    slice.stride.push_back(stride);
    return absl::OkStatus();
  }));
  return slice;
}

namespace {

// One side: positions of two letters and of the spatial digits 0..n-1. '?' marks a dimension without meaning.
bool ReadLabels(absl::string_view labels, char first, char second, int64_t* first_position, int64_t* second_position,
                DimensionVector* spatial) {
  *first_position = *second_position = -1;
  size_t digits = 0;
  for (char c : labels) digits += absl::ascii_isdigit(c) ? 1 : 0;
  if (digits > 10) return false;
  spatial->assign(digits, -1);
  for (size_t i = 0; i < labels.size(); ++i) {
    int64_t* slot = nullptr;
    if (labels[i] == '?') continue;
    if (labels[i] == first) {
      slot = first_position;
    } else if (labels[i] == second) {
      slot = second_position;
    } else if (absl::ascii_isdigit(labels[i]) && labels[i] - '0' < static_cast<int>(digits)) {
      slot = &(*spatial)[labels[i] - '0'];
    }
    if (slot == nullptr || *slot != -1) return false;
    *slot = static_cast<int64_t>(i);
  }
  return *first_position >= 0 && *second_position >= 0;
}

}  // namespace

absl::Status ParseDimLabels(Lexer& lexer, hlo::ConvolutionAttributes* convolution) {
  const size_t start = lexer.offset();
  const absl::string_view text = lexer.Run("?_->");
  const size_t underscore = text.find('_');
  const size_t arrow = text.find("->");
  hlo::ConvolutionAttributes& result = *convolution;
  if (text.size() <= kMaxWindowRank && underscore != absl::string_view::npos && arrow != absl::string_view::npos &&
      underscore < arrow &&
      ReadLabels(text.substr(0, underscore), 'b', 'f', &result.input_batch, &result.input_feature,
                 &result.input_spatial) &&
      ReadLabels(text.substr(underscore + 1, arrow - underscore - 1), 'i', 'o', &result.kernel_input_feature,
                 &result.kernel_output_feature, &result.kernel_spatial) &&
      ReadLabels(text.substr(arrow + 2), 'b', 'f', &result.output_batch, &result.output_feature,
                 &result.output_spatial) &&
      result.input_spatial.size() == result.kernel_spatial.size() &&
      result.input_spatial.size() == result.output_spatial.size()) {
    return absl::OkStatus();
  }
  return lexer.Error(start, absl::StrCat("bad dimension labels '", text.substr(0, kMaxWindowRank),
                                         "': expected e.g. b01f_01io->b01f, each spatial digit once per side"));
}

}  // namespace kiln::hlo_text
