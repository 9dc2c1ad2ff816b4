// HLO text, as src/frontend/hlo_text reads it.
#ifndef KILN_HLO_PRINTER_H_
#define KILN_HLO_PRINTER_H_

#include <string>

#include "src/hlo/module.h"

namespace kiln::hlo {

struct PrintOptions {
  bool metadata = true;
  bool layouts = true;
  bool operand_shapes = false;
  // Constants with more elements print as {...}; such text does not read back to the same values. -1: print all.
  int64_t max_constant_elements = -1;
};

std::string ToString(const Module& module, const PrintOptions& options = {});
std::string ToString(const Computation& computation, const PrintOptions& options = {});
std::string ToString(const Instruction& instruction, const PrintOptions& options = {});
// "{ { 1, 2 }, { 3, 4 } }": the text inside constant(...).
std::string ToString(const Literal& literal);

}  // namespace kiln::hlo

#endif  // KILN_HLO_PRINTER_H_
