// What the slots of PJRT's function table and of its extensions do: Call, overloaded by the arguments of each function.
// Before it runs, api.cc has checked what the tables functions.inc and extension_functions.inc ask for.
#ifndef KILN_C_API_FUNCTIONS_H_
#define KILN_C_API_FUNCTIONS_H_

#include "absl/status/status.h"
#include "c_api/pjrt/extensions/ffi.h"
#include "c_api/pjrt/extensions/layouts.h"
#include "c_api/pjrt/extensions/memory_descriptions.h"
#include "c_api/pjrt_c_api.h"

namespace kiln::c_api {

using absl::Status;

void Call(PJRT_Error_Destroy_Args& args);
void Call(PJRT_Error_Message_Args& args);
#define PJRT_FUNCTION(result, name, field) result Call(PJRT_##name##_Args& args);
#include "c_api/pjrt/functions.inc"
#define PJRT_FUNCTION(result, name, field) result Call(PJRT_##name##_Args& args);
#include "c_api/extension_functions.inc"

}  // namespace kiln::c_api

#endif  // KILN_C_API_FUNCTIONS_H_
