// Which attribute struct each opcode carries and how many computations it calls.
#ifndef KILN_HLO_ATTRIBUTE_REQUIREMENTS_H_
#define KILN_HLO_ATTRIBUTE_REQUIREMENTS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "src/hlo/attributes.h"
#include "src/hlo/opcode.h"

namespace kiln::hlo {

// The attributes of the opcode's family with nothing said.
Attributes EmptyAttributes(Opcode opcode);

// INVALID_ARGUMENT unless `attributes` holds the struct of the opcode's family.
absl::Status CheckAttributesPresent(Opcode opcode, const Attributes& attributes);

// INVALID_ARGUMENT unless the opcode may call `count` computations.
absl::Status CheckCalledCount(Opcode opcode, size_t count);

}  // namespace kiln::hlo

#endif  // KILN_HLO_ATTRIBUTE_REQUIREMENTS_H_
