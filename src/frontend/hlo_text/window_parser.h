// The compact spellings of windows, paddings, slices and convolution dimension labels.
#ifndef KILN_FRONTEND_HLO_TEXT_WINDOW_PARSER_H_
#define KILN_FRONTEND_HLO_TEXT_WINDOW_PARSER_H_

#include "src/frontend/hlo_text/lexer.h"
#include "src/hlo/attributes.h"

namespace kiln::hlo_text {

// {size=3x3 stride=2x1 pad=1_1x0_2 lhs_dilate=1x1 rhs_dilate=1x2 rhs_reversal=0x1}
absl::StatusOr<hlo::Window> ParseWindow(Lexer& lexer);
// 1_1_1x0_1: low, high and interior per dimension
absl::StatusOr<hlo::PadAttributes> ParsePadding(Lexer& lexer);
// {[0:6:2], [1:3]}
absl::StatusOr<hlo::SliceAttributes> ParseSlice(Lexer& lexer);
// b01f_01io->b01f: the dimension numbers of `convolution`
absl::Status ParseDimLabels(Lexer& lexer, hlo::ConvolutionAttributes* convolution);

}  // namespace kiln::hlo_text

#endif  // KILN_FRONTEND_HLO_TEXT_WINDOW_PARSER_H_
