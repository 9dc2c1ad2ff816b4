// The text of literals and of single elements, in the shortest form that reads back to the same bits.
#ifndef KILN_HLO_LITERAL_TEXT_H_
#define KILN_HLO_LITERAL_TEXT_H_

#include <cstdint>
#include <string>

#include "src/hlo/literal.h"

namespace kiln::hlo {

// A float or a double: "0.1", "-0", "inf", "nan", "-nan(0x400001)" (payload bits below the exponent).
std::string FloatToText(float value);
std::string DoubleToText(double value);

// Appends the text of one array element; scalar pred prints as true/false, in arrays as 1/0.
void AppendElement(const Literal& literal, int64_t linear_index, std::string* text);

// Appends "{ { 1, 2 }, { 3, 4 } }", "( 1.5, {1, 2} )" for tuples. Literals without elements whose rows would be too many
// to write print as "{}".
void AppendLiteral(const Literal& literal, std::string* text);

}  // namespace kiln::hlo

#endif  // KILN_HLO_LITERAL_TEXT_H_
