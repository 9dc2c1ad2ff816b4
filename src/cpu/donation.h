// Buffers that the caller gives up without saying for what.
#ifndef KILN_CPU_DONATION_H_
#define KILN_CPU_DONATION_H_

#include "src/hlo/module.h"

namespace kiln::cpu {

// Makes an alias of each donor that is as large as an output leaf without one, best of the same shape. The others stay
// donors. The module is verified, and no pass has touched it.
void AliasDonors(hlo::Module* module);

}  // namespace kiln::cpu

#endif  // KILN_CPU_DONATION_H_
