// The Layouts, MemoryDescriptions and FFI extensions.
#include <utility>

#include "c_api/functions.h"
#include "c_api/handles.h"
#include "src/runtime/ffi/registry.h"

struct PJRT_Layouts_SerializedLayout {
  std::string bytes;
};

namespace kiln::c_api {
namespace {

PJRT_Error* LayoutDestroy(PJRT_Layouts_MemoryLayout_Destroy_Args* args) {
  KILN_REQUIRE_FIELD(args, layout);
  delete args->layout;
  return nullptr;
}

PJRT_Error* LayoutSerialize(PJRT_Layouts_MemoryLayout_Serialize_Args* args) {
  KILN_REQUIRE_FIELD(args, serialized_layout_deleter);
  KILN_REQUIRE_POINTER(args, layout);
  auto* serialized = new PJRT_Layouts_SerializedLayout{args->layout->text};
  args->serialized_bytes = serialized->bytes.data();
  args->serialized_bytes_size = serialized->bytes.size();
  args->serialized_layout = serialized;
  args->serialized_layout_deleter = [](PJRT_Layouts_SerializedLayout* serialized) { delete serialized; };
  return nullptr;
}

PJRT_Error* ClientDefaultLayout(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args* args) {
  KILN_REQUIRE_FIELD(args, layout);
  KILN_C_ASSIGN_OR_RETURN(RefPtr<const runtime::BufferType> type,
                          BufferTypeFrom(args->type, args->dims, args->num_dims, nullptr));
  args->layout = new PJRT_Layouts_MemoryLayout{LayoutText(*type)};
  return nullptr;
}

PJRT_Error* TopologyDefaultLayout(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args* args) {
  KILN_REQUIRE_FIELD(args, layout);
  KILN_C_ASSIGN_OR_RETURN(RefPtr<const runtime::BufferType> type,
                          BufferTypeFrom(args->type, args->dims, args->num_dims, nullptr));
  args->layout = new PJRT_Layouts_MemoryLayout{LayoutText(*type)};
  return nullptr;
}

PJRT_Error* BufferLayout(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args* args) {
  KILN_REQUIRE_FIELD(args, layout);
  KILN_REQUIRE_POINTER(args, buffer);
  args->layout = new PJRT_Layouts_MemoryLayout{LayoutText(Unwrap(args->buffer)->type())};
  return nullptr;
}

PJRT_Error* OutputLayouts(PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args* args) {
  KILN_REQUIRE_FIELD(args, layouts);
  KILN_REQUIRE_POINTER(args, executable);
  ExecutableInfo& info = *args->executable->info;
  args->num_outputs = info.output_layout_pointers.size();
  args->layouts = info.output_layout_pointers.data();
  return nullptr;
}

PJRT_Error* ParameterLayouts(PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args* args) {
  KILN_REQUIRE_FIELD(args, layouts);
  KILN_REQUIRE_POINTER(args, executable);
  ExecutableInfo& info = *args->executable->info;
  args->num_parameters = info.parameter_layout_pointers.size();
  args->layouts = info.parameter_layout_pointers.data();
  return nullptr;
}

PJRT_Error* DescribeMemories(PJRT_DeviceDescription_MemoryDescriptions_Args* args) {
  KILN_REQUIRE_FIELD(args, default_memory_index);
  KILN_REQUIRE_POINTER(args, device_description);
  args->memory_descriptions = args->device_description->memories.data();
  args->num_memory_descriptions = args->device_description->memories.size();
  args->default_memory_index = 0;
  return nullptr;
}

PJRT_Error* DescribedMemoryKind(PJRT_MemoryDescription_Kind_Args* args) {
  KILN_REQUIRE_FIELD(args, kind_id);
  KILN_REQUIRE_POINTER(args, memory_description);
  args->kind = args->memory_description->kind.data();
  args->kind_size = args->memory_description->kind.size();
  args->kind_id = args->memory_description->kind_id;
  return nullptr;
}

PJRT_Error* FfiTypeRegister(PJRT_FFI_Type_Register_Args* args) {
  KILN_REQUIRE_FIELD(args, type_id);
  const bool has_info = KILN_HAS_FIELD(args, type_info) && args->type_info != nullptr;
  KILN_C_RETURN_IF_ERROR(runtime::ffi::RegisterType(View(args->type_name, args->type_name_size), &args->type_id,
                                                    has_info ? args->type_info->deleter : nullptr));
  return nullptr;
}

PJRT_Error* FfiUserDataAdd(PJRT_FFI_UserData_Add_Args* args) {
  KILN_REQUIRE_FIELD(args, user_data);
  KILN_REQUIRE_POINTER(args, context);
  KILN_C_RETURN_IF_ERROR(args->context->user_data->Add(args->user_data.type_id, args->user_data.data));
  return nullptr;
}

PJRT_Error* FfiRegisterHandler(PJRT_FFI_Register_Handler_Args* args) {
  KILN_REQUIRE_FIELD(args, traits);
  const XLA_FFI_Handler_Bundle bundle = {.execute = reinterpret_cast<XLA_FFI_Handler*>(args->handler)};
  KILN_C_RETURN_IF_ERROR(runtime::ffi::RegisterHandler(View(args->target_name, args->target_name_size),
                                                       View(args->platform_name, args->platform_name_size), bundle,
                                                       static_cast<XLA_FFI_Handler_Traits>(args->traits)));
  return nullptr;
}

PJRT_FFI_Extension ffi = {
    .base = {.struct_size = PJRT_FFI_Extension_STRUCT_SIZE, .type = PJRT_Extension_Type_FFI, .next = nullptr},
    .type_register = FfiTypeRegister,
    .user_data_add = FfiUserDataAdd,
    .register_handler = FfiRegisterHandler,
};

PJRT_MemoryDescriptions_Extension memory_descriptions = {
    .base = {.struct_size = PJRT_MemoryDescriptions_Extension_STRUCT_SIZE,
             .type = PJRT_Extension_Type_MemoryDescriptions,
             .next = &ffi.base},
    .PJRT_DeviceDescription_MemoryDescriptions = DescribeMemories,
    .PJRT_MemoryDescription_Kind = DescribedMemoryKind,
};

PJRT_Layouts_Extension layouts = {
    .base = {.struct_size = PJRT_Layouts_Extension_STRUCT_SIZE,
             .type = PJRT_Extension_Type_Layouts,
             .next = &memory_descriptions.base},
    .PJRT_Layouts_MemoryLayout_Destroy = LayoutDestroy,
    .PJRT_Layouts_MemoryLayout_Serialize = LayoutSerialize,
    .PJRT_Layouts_PJRT_Client_GetDefaultLayout = ClientDefaultLayout,
    .PJRT_Layouts_PJRT_Buffer_MemoryLayout = BufferLayout,
    .PJRT_Layouts_PJRT_Topology_GetDefaultLayout = TopologyDefaultLayout,
    .PJRT_Layouts_PJRT_Executable_GetOutputLayouts = OutputLayouts,
    .PJRT_Layouts_PJRT_Executable_GetParameterLayouts = ParameterLayouts,
};

}  // namespace

PJRT_Extension_Base* Extensions() { return &layouts.base; }

}  // namespace kiln::c_api
