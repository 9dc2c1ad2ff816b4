// The Layouts, MemoryDescriptions and FFI extensions.
#include <limits>
#include <utility>

#include "c_api/functions.h"
#include "c_api/handles.h"
#include "src/runtime/ffi/registry.h"

struct PJRT_Layouts_SerializedLayout : kiln::c_api::Bytes {};

namespace kiln::c_api {
namespace {

// The default layout follows from the rank alone. A dimension may be open: where a module declares results without
// sizes, JAX asks for the layout of arrays of -2^63 elements.
template <typename Args>
absl::Status GiveDefaultLayout(Args& args) {
  if (args.num_dims != 0) KILN_REQUIRE_POINTER(args, dims);
  hlo::DimensionVector dims(args.dims, args.dims + args.num_dims);
  for (int64_t& size : dims) {
    if (size == std::numeric_limits<int64_t>::min()) size = 1;
  }
  KILN_ASSIGN_OR_RETURN(RefPtr<const runtime::BufferType> type,
                        BufferTypeFrom(args.type, dims.data(), dims.size(), nullptr));
  args.layout = new PJRT_Layouts_MemoryLayout{LayoutText(*type)};
  return absl::OkStatus();
}

}  // namespace

void Call(PJRT_Layouts_MemoryLayout_Destroy_Args& args) { delete args.layout; }

void Call(PJRT_Layouts_MemoryLayout_Serialize_Args& args) {
  GiveBytes(args.layout->text, &args.serialized_bytes, &args.serialized_bytes_size, &args.serialized_layout,
            &args.serialized_layout_deleter);
}

absl::Status Call(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args& args) { return GiveDefaultLayout(args); }

absl::Status Call(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args& args) { return GiveDefaultLayout(args); }

void Call(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args& args) {
  args.layout = new PJRT_Layouts_MemoryLayout{LayoutText(Unwrap(args.buffer)->type())};
}

void Call(PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args& args) {
  Give(args.executable->info->outputs.layout_pointers, &args.layouts, &args.num_outputs);
}

void Call(PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args& args) {
  Give(args.executable->info->parameters.layout_pointers, &args.layouts, &args.num_parameters);
}

void Call(PJRT_DeviceDescription_MemoryDescriptions_Args& args) {
  Give(args.device_description->memories, &args.memory_descriptions, &args.num_memory_descriptions);
  args.default_memory_index = 0;
}

void Call(PJRT_MemoryDescription_Kind_Args& args) {
  Give(args.memory_description->kind, &args.kind, &args.kind_size);
  args.kind_id = args.memory_description->kind_id;
}

absl::Status Call(PJRT_FFI_Type_Register_Args& args) {
  const bool has_info = KILN_HAS_FIELD(args, type_info) && args.type_info != nullptr;
  return runtime::ffi::RegisterType(View(args.type_name, args.type_name_size), &args.type_id,
                                    has_info ? args.type_info->deleter : nullptr);
}

absl::Status Call(PJRT_FFI_UserData_Add_Args& args) {
  return args.context->user_data->Add(args.user_data.type_id, args.user_data.data);
}

absl::Status Call(PJRT_FFI_Register_Handler_Args& args) {
  const XLA_FFI_Handler_Bundle bundle = {.execute = reinterpret_cast<XLA_FFI_Handler*>(args.handler)};
  return runtime::ffi::RegisterHandler(View(args.target_name, args.target_name_size),
                                       View(args.platform_name, args.platform_name_size), bundle,
                                       static_cast<XLA_FFI_Handler_Traits>(args.traits));
}

}  // namespace kiln::c_api
