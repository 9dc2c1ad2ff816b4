// Flags for looking inside a compilation, by XLA's names: from XLA_FLAGS and KILN_FLAGS of the environment, and from
// the DebugOptions and named options of a compilation.
#ifndef KILN_RUNTIME_DEBUG_FLAGS_H_
#define KILN_RUNTIME_DEBUG_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/cpu/executable.h"
#include "src/runtime/guarded_block.h"

namespace kiln::runtime {

struct DebugFlags {
  std::string dump_to;         // a folder, "-" for standard output, "sponge" and "" for none
  std::string dump_module_re;  // module names; empty: all
  std::string dump_pass_re;    // passes to dump the module around; empty: none
  bool dump_text = false;
  bool dump_long_text = false;  // text with operand shapes and whole constants
  bool dump_proto = false;
  bool dump_dot = false;
  bool dump_html = false;
  bool dump_large_constants = false;
  bool dump_without_metadata = false;
  int64_t dump_max_modules = -1;
  std::vector<std::string> disabled_passes;
  bool allow_excess_precision = true;  // false: every bf16 result is rounded
  bool profile = false;
  bool fast_math = false;
  int64_t optimization_level = -1;  // of LLVM's code generator; below 0: as usual
  int64_t host_device_count = 0;    // 0: not set
  // Of the environment alone, for the whole process; empty: as the processor is, and memory as usual.
  std::string max_isa;         // base/isa_level.h
  std::string emulated_isa;    // likewise
  std::string tuning;          // a row of base/cpu_tuning.h
  std::string guarded_memory;  // "last" or "first", as GuardedEnd

  // Some file is wanted.
  bool Dumps() const { return dump_text || dump_proto || dump_dot || dump_html; }
  // What XLA concludes from flags that are not given: text when only a place is, standard output when only a format is.
  void Complete();
};

// "--name=value" words, or the path of a file that holds such words, as XLA reads them; a flag without a value is true.
// An unknown name or an unfit value is a warning on standard error, once each, that begins with `source`.
void ReadFlags(absl::string_view text, absl::string_view source, DebugFlags* flags);
// The environment's XLA_FLAGS, then what `debug_options` (a DebugOptions proto, which may be empty) sets, then
// KILN_FLAGS. The environment is read once.
absl::Status ReadAllFlags(absl::string_view debug_options, DebugFlags* flags);
// Makes the process use no instructions and no tuning but those that the environment's flags name, the first time that
// it is called; what asks for code calls it first.
void ApplyProcessFlags();
// What the environment's flags ask of the memory of buffers and arenas.
GuardedEnd GuardedMemory();
// What the environment's flags change about generated code, as text, for the keys of caches.
std::string CodeFlags();
// One flag by its name without dashes; false when there is none that has an effect, an error where the value is of
// another type. Lists and texts replace what was set before.
absl::StatusOr<bool> SetFlag(absl::string_view name, absl::string_view value, DebugFlags* flags);
// What can be said of a name that is none: "has no effect on Kiln", or the name that was probably meant.
std::string DescribeUnknownFlag(absl::string_view name);
// Prints "kiln: text" to standard error the first time it is asked to.
void WarnOnce(const std::string& text);

// Of the names in xla_disable_hlo_passes those that are passes here, some by XLA's name; others get a warning.
std::vector<std::string> PassesToDisable(const std::vector<std::string>& names);
// What the flags say about code: passes to leave out besides those that `options` name, effort, profile.
void ApplyFlags(const DebugFlags& flags, cpu::CompileOptions* options);

}  // namespace kiln::runtime

#endif  // KILN_RUNTIME_DEBUG_FLAGS_H_
