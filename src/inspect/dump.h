// Files about every compilation, as the flags --xla_dump_* ask for them.
#ifndef KILN_INSPECT_DUMP_H_
#define KILN_INSPECT_DUMP_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "src/cpu/compile_observer.h"
#include "src/runtime/debug_flags.h"

namespace kiln::inspect {

// Makes who writes the dumps of one compilation; null when the flags ask for none. What cannot be written is a warning.
using DumperFactory = std::function<std::unique_ptr<cpu::CompileObserver>(const runtime::DebugFlags& flags)>;

// For a client that is about to be made.
//
// Files are named as XLA names them: module_0001.NAME.before_optimizations.txt (and .hlo.pb, .dot), the same with
// kiln_after_optimizations, and module_0001.NAME.0003.GROUP.after_PASS.before_PASS.txt around passes that
// dump_pass_re names; kiln_after_optimizations-buffer-assignment.txt and -memory-usage-report.txt; kiln.html, kiln.ll,
// kiln.s and kiln.times.txt. Numbers count the modules of the process; one under which somebody else has written a
// module of this name since the client was made, as XLA:CPU beside Kiln may, is passed over.
DumperFactory MakeDumperFactory();

// `name` with what file names should not hold as '_', at most 128 bytes.
std::string FileName(absl::string_view name);

}  // namespace kiln::inspect

#endif  // KILN_INSPECT_DUMP_H_
