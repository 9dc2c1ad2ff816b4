// GetPjrtApi: the table and those of the extensions, every slot filled. A slot checks what the caller gave and calls
// the implementation.
#include "c_api/arguments.h"
#include "c_api/functions.h"
#include "src/base/catch_exceptions.h"

namespace kiln::c_api {

// What is missing says why.
#define PJRT_FUNCTION(result, name, field)
#define PJRT_MISSING(name, reason) \
  Status Call(PJRT_##name##_Args&) { return Unimplemented("PJRT_" #name ": " reason); }
#include "c_api/pjrt/functions.inc"

namespace {

template <typename Args>
PJRT_Error* Answer(Args* args) {
  return MakeError(CatchExceptions([args]() -> absl::Status {
    if constexpr (std::is_void_v<decltype(Call(*args))>) {
      Call(*args);
      return absl::OkStatus();
    } else {
      return Call(*args);
    }
  }));
}

namespace slot {

void Error_Destroy(PJRT_Error_Destroy_Args* args) { Call(*args); }
void Error_Message(PJRT_Error_Message_Args* args) { Call(*args); }

#define KILN_REQUIRE_FIELD(field)                                                           \
  if (!KILN_HAS_FIELD(*args, field)) {                                                      \
    return MakeError(TooSmall(#field, args->struct_size, KILN_END_OF_FIELD(*args, field))); \
  }
#define KILN_FUNCTION(result, name, field)     \
  PJRT_Error* name(PJRT_##name##_Args* args) { \
    KILN_REQUIRE_FIELD(field)                  \
    return Answer(args);                       \
  }
#define KILN_METHOD(result, name, object, field)                                         \
  PJRT_Error* name(PJRT_##name##_Args* args) {                                           \
    KILN_REQUIRE_FIELD(field)                                                            \
    if (args->object == nullptr) {                                                       \
      return MakeError(InvalidArgument("PJRT_" #name ": " #object " must not be null")); \
    }                                                                                    \
    return Answer(args);                                                                 \
  }
#define PJRT_FUNCTION KILN_FUNCTION
#define PJRT_METHOD KILN_METHOD
#include "c_api/pjrt/functions.inc"
#define PJRT_FUNCTION KILN_FUNCTION
#define PJRT_METHOD KILN_METHOD
#include "c_api/extension_functions.inc"

}  // namespace slot

PJRT_FFI_Extension ffi = {
    .base = {.struct_size = PJRT_FFI_Extension_STRUCT_SIZE, .type = PJRT_Extension_Type_FFI, .next = nullptr},
    .type_register = slot::FFI_Type_Register,
    .user_data_add = slot::FFI_UserData_Add,
    .register_handler = slot::FFI_Register_Handler,
};

PJRT_MemoryDescriptions_Extension memory_descriptions = {
    .base = {.struct_size = PJRT_MemoryDescriptions_Extension_STRUCT_SIZE,
             .type = PJRT_Extension_Type_MemoryDescriptions,
             .next = &ffi.base},
    .PJRT_DeviceDescription_MemoryDescriptions = slot::DeviceDescription_MemoryDescriptions,
    .PJRT_MemoryDescription_Kind = slot::MemoryDescription_Kind,
};

PJRT_Layouts_Extension layouts = {
    .base = {.struct_size = PJRT_Layouts_Extension_STRUCT_SIZE,
             .type = PJRT_Extension_Type_Layouts,
             .next = &memory_descriptions.base},
    .PJRT_Layouts_MemoryLayout_Destroy = slot::Layouts_MemoryLayout_Destroy,
    .PJRT_Layouts_MemoryLayout_Serialize = slot::Layouts_MemoryLayout_Serialize,
    .PJRT_Layouts_PJRT_Client_GetDefaultLayout = slot::Layouts_PJRT_Client_GetDefaultLayout,
    .PJRT_Layouts_PJRT_Buffer_MemoryLayout = slot::Layouts_PJRT_Buffer_MemoryLayout,
    .PJRT_Layouts_PJRT_Topology_GetDefaultLayout = slot::Layouts_PJRT_Topology_GetDefaultLayout,
    .PJRT_Layouts_PJRT_Executable_GetOutputLayouts = slot::Layouts_PJRT_Executable_GetOutputLayouts,
    .PJRT_Layouts_PJRT_Executable_GetParameterLayouts = slot::Layouts_PJRT_Executable_GetParameterLayouts,
};

const PJRT_Api table = {
    .struct_size = PJRT_Api_STRUCT_SIZE,
    .extension_start = &layouts.base,
    .pjrt_api_version = {.struct_size = PJRT_Api_Version_STRUCT_SIZE,
                         .extension_start = nullptr,
                         .major_version = PJRT_API_MAJOR,
                         .minor_version = PJRT_API_MINOR},
    .PJRT_Error_Destroy = slot::Error_Destroy,
    .PJRT_Error_Message = slot::Error_Message,
#define PJRT_FUNCTION(result, name, field) .PJRT_##name = slot::name,
#include "c_api/pjrt/functions.inc"
};

}  // namespace
}  // namespace kiln::c_api

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi(void) { return &kiln::c_api::table; }
