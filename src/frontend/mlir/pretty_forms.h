// How the short form of an op runs.
#ifndef KILN_FRONTEND_MLIR_PRETTY_FORMS_H_
#define KILN_FRONTEND_MLIR_PRETTY_FORMS_H_

#include "absl/strings/string_view.h"

namespace kiln::mlir {

// In the words that pretty_forms.cc explains; empty for ops that have a generic form alone.
absl::string_view FindForm(absl::string_view op);

}  // namespace kiln::mlir

#endif  // KILN_FRONTEND_MLIR_PRETTY_FORMS_H_
