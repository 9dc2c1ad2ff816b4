// A module as a graph for Graphviz.
#ifndef KILN_INSPECT_DOT_H_
#define KILN_INSPECT_DOT_H_

#include <string>

#include "src/hlo/module.h"

namespace kiln::inspect {

// The entry with what it calls as clusters within it; computations of reductions and the like are named, not drawn.
std::string ToDot(const hlo::Module& module);

}  // namespace kiln::inspect

#endif  // KILN_INSPECT_DOT_H_
