// PJRT_LoadedExecutable: executables on a device, and Execute.
#include <utility>

#include "absl/container/inlined_vector.h"
#include "c_api/functions.h"
#include "c_api/handles.h"
#include "c_api/program.h"

struct PJRT_DeviceAssignmentSerialized {
  std::string bytes;
};

namespace kiln::c_api {

PJRT_Error* ExecuteContextCreate(PJRT_ExecuteContext_Create_Args* args) {
  KILN_REQUIRE_FIELD(args, context);
  args->context = new PJRT_ExecuteContext{std::make_shared<runtime::ffi::UserData>()};
  return nullptr;
}

PJRT_Error* ExecuteContextDestroy(PJRT_ExecuteContext_Destroy_Args* args) {
  KILN_REQUIRE_FIELD(args, context);
  delete args->context;
  return nullptr;
}

PJRT_Error* LoadedExecutableDestroy(PJRT_LoadedExecutable_Destroy_Args* args) {
  KILN_REQUIRE_FIELD(args, executable);
  delete args->executable;
  return nullptr;
}

PJRT_Error* LoadedExecutableGetExecutable(PJRT_LoadedExecutable_GetExecutable_Args* args) {
  KILN_REQUIRE_FIELD(args, executable);
  KILN_REQUIRE_POINTER(args, loaded_executable);
  args->executable = new PJRT_Executable{args->loaded_executable->info};
  return nullptr;
}

PJRT_Error* LoadedExecutableGetDeviceAssignment(PJRT_LoadedExecutable_GetDeviceAssignment_Args* args) {
  KILN_REQUIRE_FIELD(args, serialized_device_assignment_deleter);
  KILN_REQUIRE_POINTER(args, executable);
  const ExecutableInfo& info = *args->executable->info;
  auto* serialized = new PJRT_DeviceAssignmentSerialized{
      runtime::SerializeDeviceAssignment(info.num_replicas, info.num_partitions, {info.executable->device()->id()})};
  args->serialized_bytes = serialized->bytes.data();
  args->serialized_bytes_size = serialized->bytes.size();
  args->serialized_device_assignment = serialized;
  args->serialized_device_assignment_deleter = [](PJRT_DeviceAssignmentSerialized* serialized) { delete serialized; };
  return nullptr;
}

PJRT_Error* LoadedExecutableAddressableDevices(PJRT_LoadedExecutable_AddressableDevices_Args* args) {
  KILN_REQUIRE_FIELD(args, num_addressable_devices);
  KILN_REQUIRE_POINTER(args, executable);
  args->addressable_devices = args->executable->devices.data();
  args->num_addressable_devices = args->executable->devices.size();
  return nullptr;
}

PJRT_Error* LoadedExecutableAddressableDeviceLogicalIds(PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args* args) {
  KILN_REQUIRE_FIELD(args, num_addressable_device_logical_ids);
  KILN_REQUIRE_POINTER(args, executable);
  args->addressable_device_logical_ids = &args->executable->logical_id;
  args->num_addressable_device_logical_ids = 1;
  return nullptr;
}

PJRT_Error* LoadedExecutableDelete(PJRT_LoadedExecutable_Delete_Args* args) {
  KILN_REQUIRE_FIELD(args, executable);
  KILN_REQUIRE_POINTER(args, executable);
  args->executable->executable->Delete();
  return nullptr;
}

PJRT_Error* LoadedExecutableIsDeleted(PJRT_LoadedExecutable_IsDeleted_Args* args) {
  KILN_REQUIRE_FIELD(args, is_deleted);
  KILN_REQUIRE_POINTER(args, executable);
  args->is_deleted = args->executable->executable->IsDeleted();
  return nullptr;
}

PJRT_Error* LoadedExecutableFingerprint(PJRT_LoadedExecutable_Fingerprint_Args* args) {
  KILN_REQUIRE_FIELD(args, executable_fingerprint_size);
  KILN_REQUIRE_POINTER(args, executable);
  args->executable_fingerprint = args->executable->info->fingerprint.data();
  args->executable_fingerprint_size = args->executable->info->fingerprint.size();
  return nullptr;
}

PJRT_Error* ExecutableDeserializeAndLoad(PJRT_Executable_DeserializeAndLoad_Args* args) {
  KILN_REQUIRE_FIELD(args, loaded_executable);
  KILN_REQUIRE_POINTER(args, client);
  KILN_C_ASSIGN_OR_RETURN(ProgramSource source,
                          DeserializeSource(View(args->serialized_executable, args->serialized_executable_size)));
  if (KILN_HAS_FIELD(args, overridden_serialized_compile_options_size) &&
      args->overridden_serialized_compile_options_size != 0) {
    source.options.assign(
        View(args->overridden_serialized_compile_options, args->overridden_serialized_compile_options_size));
  }
  KILN_C_ASSIGN_OR_RETURN(std::shared_ptr<ExecutableInfo> info, CompileSource(args->client, std::move(source)));
  args->loaded_executable = MakeLoadedExecutable(args->client, std::move(info));
  return nullptr;
}

PJRT_Error* LoadedExecutableExecute(PJRT_LoadedExecutable_Execute_Args* args) {
  KILN_REQUIRE_FIELD(args, device_complete_events);
  KILN_REQUIRE_POINTER(args, executable);
  runtime::LoadedExecutable* executable = args->executable->executable.get();
  if (args->num_devices != 1) {
    return MakeError(
        InvalidArgument("executable ", executable->name(), " runs on 1 device, arguments are for ", args->num_devices));
  }
  runtime::LoadedExecutable::ExecuteOptions options;
  if (const PJRT_ExecuteOptions* given = args->options) {
    if (KILN_HAS_FIELD(given, num_non_donatable_input_indices)) {
      options.non_donatable = {given->non_donatable_input_indices, given->num_non_donatable_input_indices};
    }
    if (KILN_HAS_FIELD(given, context) && given->context != nullptr) options.user_data = given->context->user_data;
    if (KILN_HAS_FIELD(given, num_recv_ops) && (given->num_send_ops != 0 || given->num_recv_ops != 0)) {
      return MakeError(Unimplemented("send and recv callbacks of an execution"));
    }
    if (KILN_HAS_FIELD(given, num_hlo_output_callbacks) && given->num_hlo_output_callbacks != 0) {
      return MakeError(Unimplemented("output callbacks of an execution"));
    }
  }
  if (KILN_HAS_FIELD(args, execute_device) && args->execute_device != nullptr) {
    options.device = args->execute_device->device;
  }
  KILN_REQUIRE_POINTER(args, output_lists);
  if (args->num_args != 0) KILN_REQUIRE_POINTER(args, argument_lists);
  // Buffers of the C API are the runtime's own objects, so both lists are passed through as they are.
  runtime::Buffer* const* arguments =
      args->num_args == 0 ? nullptr : reinterpret_cast<runtime::Buffer* const*>(args->argument_lists[0]);
  for (size_t i = 0; i < args->num_args; ++i) {
    if (arguments[i] == nullptr) return MakeError(InvalidArgument("argument ", i, " of an execution is null"));
  }
  RefPtr<runtime::Event> complete;
  KILN_C_RETURN_IF_ERROR(executable->Execute({arguments, args->num_args}, options,
                                             reinterpret_cast<runtime::Buffer**>(args->output_lists[0]),
                                             args->device_complete_events != nullptr ? &complete : nullptr));
  if (args->device_complete_events != nullptr) args->device_complete_events[0] = Wrap(std::move(complete));
  return nullptr;
}

}  // namespace kiln::c_api
