// A module as data for the page's script.
#ifndef KILN_INSPECT_MODULE_JSON_H_
#define KILN_INSPECT_MODULE_JSON_H_

#include <string>

#include "absl/strings/string_view.h"
#include "src/hlo/module.h"

namespace kiln::inspect {

// {"entry": number, "computations": [{"name", "root", "nodes"}]}, callees first; a node is [name, opcode, shape,
// operands, text, called computations, id], operands before users.
std::string ModuleJson(const hlo::Module& module);
// `text` as JSON may hold it: valid UTF-8, and cut where it is too long for a browser.
std::string JsonText(absl::string_view text);

}  // namespace kiln::inspect

#endif  // KILN_INSPECT_MODULE_JSON_H_
