// Programs side by side.
#ifndef KILN_TOOLS_COMPARE_MODULES_H_
#define KILN_TOOLS_COMPARE_MODULES_H_

#include <string>
#include <vector>

#include "src/hlo/module.h"

namespace kiln::tools {

// Where two programs differ in what they compute, up to names, metadata and the order of instructions: walks both from
// their results to their parameters and stops a branch at its first difference. At most `limit` differences, each some
// lines of text with '-' for `a` and '+' for `b`; empty when the programs are the same. Linear in the programs.
std::vector<std::string> Differences(const hlo::Module& a, const hlo::Module& b, size_t limit);

}  // namespace kiln::tools

#endif  // KILN_TOOLS_COMPARE_MODULES_H_
