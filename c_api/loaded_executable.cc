// PJRT_LoadedExecutable: executables on a device, and Execute.
#include <utility>

#include "absl/container/inlined_vector.h"
#include "c_api/functions.h"
#include "c_api/handles.h"
#include "c_api/program.h"

struct PJRT_DeviceAssignmentSerialized : kiln::c_api::Bytes {};

namespace kiln::c_api {

void Call(PJRT_ExecuteContext_Create_Args& args) {
  args.context = new PJRT_ExecuteContext{std::make_shared<runtime::ffi::UserData>()};
}

void Call(PJRT_ExecuteContext_Destroy_Args& args) { delete args.context; }

void Call(PJRT_LoadedExecutable_Destroy_Args& args) { delete args.executable; }

void Call(PJRT_LoadedExecutable_GetExecutable_Args& args) {
  args.executable = new PJRT_Executable{args.loaded_executable->info};
}

void Call(PJRT_LoadedExecutable_GetDeviceAssignment_Args& args) {
  const ExecutableInfo& info = *args.executable->info;
  GiveBytes(
      runtime::SerializeDeviceAssignment(info.num_replicas, info.num_partitions, {info.executable->device()->id()}),
      &args.serialized_bytes, &args.serialized_bytes_size, &args.serialized_device_assignment,
      &args.serialized_device_assignment_deleter);
}

void Call(PJRT_LoadedExecutable_AddressableDevices_Args& args) {
  Give(args.executable->devices, &args.addressable_devices, &args.num_addressable_devices);
}

void Call(PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args& args) {
  args.addressable_device_logical_ids = &args.executable->logical_id;
  args.num_addressable_device_logical_ids = 1;
}

void Call(PJRT_LoadedExecutable_Delete_Args& args) { args.executable->executable->Delete(); }

void Call(PJRT_LoadedExecutable_IsDeleted_Args& args) { args.is_deleted = args.executable->executable->IsDeleted(); }

void Call(PJRT_LoadedExecutable_Fingerprint_Args& args) {
  Give(args.executable->info->fingerprint, &args.executable_fingerprint, &args.executable_fingerprint_size);
}

absl::Status Call(PJRT_Executable_DeserializeAndLoad_Args& args) {
  absl::string_view options;
  if (KILN_HAS_FIELD(args, overridden_serialized_compile_options_size)) {
    options = View(args.overridden_serialized_compile_options, args.overridden_serialized_compile_options_size);
  }
  KILN_ASSIGN_OR_RETURN(
      std::shared_ptr<ExecutableInfo> info,
      Deserialize(args.client, View(args.serialized_executable, args.serialized_executable_size), options));
  args.loaded_executable = MakeLoadedExecutable(args.client, std::move(info));
  return absl::OkStatus();
}

absl::Status Call(PJRT_LoadedExecutable_Execute_Args& args) {
  runtime::LoadedExecutable* executable = args.executable->executable.get();
  if (args.num_devices != 1) {
    return InvalidArgument("executable ", executable->name(), " runs on 1 device, arguments are for ",
                           args.num_devices);
  }
  runtime::LoadedExecutable::ExecuteOptions options;
  if (const PJRT_ExecuteOptions* given = args.options) {
    if (KILN_HAS_FIELD(*given, num_non_donatable_input_indices)) {
      if (given->num_non_donatable_input_indices != 0) KILN_REQUIRE_POINTER(*given, non_donatable_input_indices);
      options.non_donatable = {given->non_donatable_input_indices, given->num_non_donatable_input_indices};
    }
    if (KILN_HAS_FIELD(*given, context) && given->context != nullptr) options.user_data = given->context->user_data;
    if (KILN_HAS_FIELD(*given, num_recv_ops) && (given->num_send_ops != 0 || given->num_recv_ops != 0)) {
      return Unimplemented("send and recv callbacks of an execution");
    }
    if (KILN_HAS_FIELD(*given, num_hlo_output_callbacks) && given->num_hlo_output_callbacks != 0) {
      return Unimplemented("output callbacks of an execution");
    }
  }
  if (KILN_HAS_FIELD(args, execute_device) && args.execute_device != nullptr) {
    options.device = args.execute_device->device;
  }
  KILN_REQUIRE_POINTER(args, output_lists);
  if (!executable->output_types().empty()) KILN_REQUIRE_POINTER(args, output_lists[0]);
  if (args.num_args != 0) {
    KILN_REQUIRE_POINTER(args, argument_lists);
    KILN_REQUIRE_POINTER(args, argument_lists[0]);
  }
  // Buffers of the C API are the runtime's own objects, so both lists are passed through as they are.
  runtime::Buffer* const* arguments =
      args.num_args == 0 ? nullptr : reinterpret_cast<runtime::Buffer* const*>(args.argument_lists[0]);
  for (size_t i = 0; i < args.num_args; ++i) {
    if (arguments[i] == nullptr) return InvalidArgument("argument ", i, " of an execution is null");
  }
  RefPtr<runtime::Event> complete;
  KILN_RETURN_IF_ERROR(executable->Execute({arguments, args.num_args}, options,
                                           reinterpret_cast<runtime::Buffer**>(args.output_lists[0]),
                                           args.device_complete_events != nullptr ? &complete : nullptr));
  if (args.device_complete_events != nullptr) args.device_complete_events[0] = Wrap(std::move(complete));
  return absl::OkStatus();
}

}  // namespace kiln::c_api
