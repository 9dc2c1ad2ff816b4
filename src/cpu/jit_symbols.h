// The functions that generated code may call by name: an explicit table, so that what the host process exports never
// matters.
#ifndef KILN_CPU_JIT_SYMBOLS_H_
#define KILN_CPU_JIT_SYMBOLS_H_

#include "absl/strings/string_view.h"

namespace kiln::cpu {

// Makes `name` callable from every module that is compiled later. A name is bound once: binding it to another address
// later changes nothing for code already linked and replaces it for new code. Thread-safe.
void AddRuntimeSymbol(absl::string_view name, void* address);

// The address bound to `name`, or null. The names that the code generator itself emits calls to (memcpy, memset,
// memmove, fmod, conversions to and from 16-bit floats, 128-bit division) are always bound. Thread-safe.
void* FindRuntimeSymbol(absl::string_view name);

}  // namespace kiln::cpu

#endif  // KILN_CPU_JIT_SYMBOLS_H_
