// What reads the parts of HLO text: its header, shapes, literals, the compact spellings of attributes.
#ifndef KILN_FRONTEND_HLO_TEXT_PARTS_H_
#define KILN_FRONTEND_HLO_TEXT_PARTS_H_

#include <cstdint>
#include <vector>

#include "src/frontend/hlo_text/lexer.h"
#include "src/frontend/hlo_text/syntax.h"
#include "src/hlo/attributes.h"
#include "src/hlo/literal.h"
#include "src/hlo/shape.h"

namespace kiln::hlo_text {

// "HloModule name, attribute=value, ..."

// Reads the header; the default one when the text does not start with HloModule.
absl::StatusOr<ParsedHeader> ParseHeader(Lexer& lexer);

// Shapes: "f32[2,3]{1,0:T(8,128)}", "(f32[], token[])".

// True when a shape starts here: "(" or the name of a type right before "[".
bool AtShape(Lexer& lexer);

// Reads and validates a shape (hlo::ValidateShape). Unbounded dimensions are UNIMPLEMENTED.
absl::StatusOr<hlo::Shape> ParseShape(Lexer& lexer);

// Literals: "{ { 1, 2 }, { 3, 4 } }", "(1.5, {1, 2})", "nan(0x400001)".

// Reads a literal of `shape` (valid). Memory grows with the text, never with the shape. "{...}" (elided values) is an
// error unless `allow_elided`, which gives zeros for shapes of at most 64 MiB.
absl::StatusOr<hlo::Literal> ParseLiteral(Lexer& lexer, const hlo::Shape& shape, bool allow_elided);

// Windows, paddings, slices and the dimension labels of convolutions.

// {size=3x3 stride=2x1 pad=1_1x0_2 lhs_dilate=1x1 rhs_dilate=1x2 rhs_reversal=0x1}
absl::StatusOr<hlo::Window> ParseWindow(Lexer& lexer);
// 1_1_1x0_1: low, high and interior per dimension
absl::StatusOr<hlo::PadAttributes> ParsePadding(Lexer& lexer);
// {[0:6:2], [1:3]}
absl::StatusOr<hlo::SliceAttributes> ParseSlice(Lexer& lexer);
// b01f_01io->b01f: the dimension numbers of `convolution`
absl::Status ParseDimLabels(Lexer& lexer, hlo::ConvolutionAttributes* convolution);

// Replica groups in their three forms: lists, iota ("[2,2]<=[2,2]T(1,0)") and mesh axes.

// Groups written out. `*budget` bounds what the short forms may expand to and goes down by it.
absl::StatusOr<std::vector<std::vector<int64_t>>> ParseReplicaGroups(Lexer& lexer, int64_t* budget);

// "{{0,1},{2,3}}"
absl::StatusOr<std::vector<std::vector<int64_t>>> ParseNestedIntegers(Lexer& lexer);

}  // namespace kiln::hlo_text

#endif  // KILN_FRONTEND_HLO_TEXT_PARTS_H_
