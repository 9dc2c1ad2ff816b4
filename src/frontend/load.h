// Bytes of a program, in any format that Kiln reads, to a verified module.
#ifndef KILN_FRONTEND_LOAD_H_
#define KILN_FRONTEND_LOAD_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/frontend/hlo_text/literal_parser.h"
#include "src/hlo/module.h"

namespace kiln::frontend {

// `format` is "mlir" (bytecode of StableHLO or VHLO, or StableHLO text), "hlo" or "hlo_with_config" (HLO text, or an
// HloModuleProto, HloProto, HloSnapshot or HloModuleProtoWithConfig), or empty: told from the bytes. Another format is
// UNIMPLEMENTED; malformed bytes are INVALID_ARGUMENT. The module is verified. Errors in text begin with
// "name:line:column". Constants of HLO text that were printed without their values are an error, or, with `elided`,
// counted there and made up.
absl::StatusOr<std::unique_ptr<hlo::Module>> Load(absl::string_view bytes, absl::string_view format,
                                                  absl::string_view name = "program",
                                                  hlo_text::ElidedConstants* elided = nullptr);

}  // namespace kiln::frontend

#endif  // KILN_FRONTEND_LOAD_H_
