#ifndef KILN_ANALYSIS_BOX_H_
#define KILN_ANALYSIS_BOX_H_

#include "src/hlo/shape.h"

namespace kiln::analysis {

// A part of an array: where it begins and how large it is.
struct Box {
  hlo::DimensionVector start, sizes;
};

}  // namespace kiln::analysis

#endif  // KILN_ANALYSIS_BOX_H_
