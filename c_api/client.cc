// PJRT_Client: creation, look-ups and compilation.
#include <cstring>
#include <utility>

#include "c_api/functions.h"
#include "c_api/handles.h"
#include "c_api/options.h"
#include "c_api/program.h"
#include "src/inspect/dump.h"

namespace kiln::c_api {

const char kPlatformName[] = "kiln";
const char kPlatformVersion[] = "Kiln 0.1.0";

PJRT_Error* ClientCreate(PJRT_Client_Create_Args* args) {
  KILN_REQUIRE_FIELD(args, client);
  KILN_C_ASSIGN_OR_RETURN(runtime::ClientOptions options, ParseClientOptions(args->create_options, args->num_options));
  options.warm_up = true;
  options.observe = inspect::MakeDumperFactory();
  auto client = std::make_unique<PJRT_Client>();
  KILN_C_ASSIGN_OR_RETURN(client->client, runtime::Client::Create(options));
  for (const std::unique_ptr<runtime::Device>& device : client->client->devices()) {
    auto handle = std::make_unique<PJRT_Device>(device.get());
    device->handle = handle.get();
    client->device_pointers.push_back(handle.get());
    client->memory_pointers.insert(client->memory_pointers.end(), handle->memories.begin(), handle->memories.end());
    client->devices.push_back(std::move(handle));
  }
  client->topology = std::make_unique<PJRT_TopologyDescription>(static_cast<int>(options.device_count));
  args->client = client.release();
  return nullptr;
}

PJRT_Error* ClientDestroy(PJRT_Client_Destroy_Args* args) {
  KILN_REQUIRE_FIELD(args, client);
  delete args->client;
  return nullptr;
}

PJRT_Error* ClientPlatformName(PJRT_Client_PlatformName_Args* args) {
  KILN_REQUIRE_FIELD(args, platform_name_size);
  args->platform_name = kPlatformName;
  args->platform_name_size = std::strlen(kPlatformName);
  return nullptr;
}

PJRT_Error* ClientProcessIndex(PJRT_Client_ProcessIndex_Args* args) {
  KILN_REQUIRE_FIELD(args, process_index);
  args->process_index = 0;
  return nullptr;
}

PJRT_Error* ClientPlatformVersion(PJRT_Client_PlatformVersion_Args* args) {
  KILN_REQUIRE_FIELD(args, platform_version_size);
  args->platform_version = kPlatformVersion;
  args->platform_version_size = std::strlen(kPlatformVersion);
  return nullptr;
}

PJRT_Error* ClientTopologyDescription(PJRT_Client_TopologyDescription_Args* args) {
  KILN_REQUIRE_FIELD(args, topology);
  KILN_REQUIRE_POINTER(args, client);
  args->topology = args->client->topology.get();
  return nullptr;
}

PJRT_Error* ClientDevices(PJRT_Client_Devices_Args* args) {
  KILN_REQUIRE_FIELD(args, num_devices);
  KILN_REQUIRE_POINTER(args, client);
  args->devices = args->client->device_pointers.data();
  args->num_devices = args->client->device_pointers.size();
  return nullptr;
}

PJRT_Error* ClientAddressableDevices(PJRT_Client_AddressableDevices_Args* args) {
  KILN_REQUIRE_FIELD(args, num_addressable_devices);
  KILN_REQUIRE_POINTER(args, client);
  args->addressable_devices = args->client->device_pointers.data();
  args->num_addressable_devices = args->client->device_pointers.size();
  return nullptr;
}

PJRT_Error* ClientLookupDevice(PJRT_Client_LookupDevice_Args* args) {
  KILN_REQUIRE_FIELD(args, device);
  KILN_REQUIRE_POINTER(args, client);
  runtime::Device* device = args->client->client->device(args->id);
  if (device == nullptr) return MakeError(InvalidArgument("there is no device with id ", args->id));
  args->device = HandleOf(device);
  return nullptr;
}

PJRT_Error* ClientLookupAddressableDevice(PJRT_Client_LookupAddressableDevice_Args* args) {
  KILN_REQUIRE_FIELD(args, addressable_device);
  KILN_REQUIRE_POINTER(args, client);
  runtime::Device* device = args->client->client->device(args->local_hardware_id);
  if (device == nullptr) {
    return MakeError(InvalidArgument("there is no device with local hardware id ", args->local_hardware_id));
  }
  args->addressable_device = HandleOf(device);
  return nullptr;
}

PJRT_Error* ClientUpdateGlobalProcessInfo(PJRT_Client_UpdateGlobalProcessInfo_Args*) {
  return MakeError(Unimplemented("PJRT_Client_UpdateGlobalProcessInfo: this version of Kiln runs in one process"));
}

PJRT_Error* ClientAddressableMemories(PJRT_Client_AddressableMemories_Args* args) {
  KILN_REQUIRE_FIELD(args, num_addressable_memories);
  KILN_REQUIRE_POINTER(args, client);
  args->addressable_memories = args->client->memory_pointers.data();
  args->num_addressable_memories = args->client->memory_pointers.size();
  return nullptr;
}

PJRT_Error* ClientDefaultDeviceAssignment(PJRT_Client_DefaultDeviceAssignment_Args* args) {
  KILN_REQUIRE_FIELD(args, default_assignment);
  KILN_REQUIRE_POINTER(args, client);
  KILN_REQUIRE_POINTER(args, default_assignment);
  const int64_t count = int64_t{args->num_replicas} * args->num_partitions;
  const int64_t devices = static_cast<int64_t>(args->client->device_pointers.size());
  if (args->num_replicas < 1 || args->num_partitions < 1 || count > devices) {
    return MakeError(InvalidArgument(args->num_replicas, " replicas of ", args->num_partitions,
                                     " partitions do not fit ", devices, " devices"));
  }
  if (args->default_assignment_size < static_cast<size_t>(count)) {
    return MakeError(InvalidArgument("the default assignment needs ", count, " elements, the array has ",
                                     args->default_assignment_size));
  }
  for (int64_t i = 0; i < count; ++i) args->default_assignment[i] = static_cast<int>(i);
  return nullptr;
}

PJRT_Error* ClientDmaMap(PJRT_Client_DmaMap_Args*) { return nullptr; }  // Host memory needs no registration here.

PJRT_Error* ClientDmaUnmap(PJRT_Client_DmaUnmap_Args*) { return nullptr; }

PJRT_Error* ClientCompile(PJRT_Client_Compile_Args* args) {
  KILN_REQUIRE_FIELD(args, executable);
  KILN_REQUIRE_POINTER(args, client);
  KILN_C_ASSIGN_OR_RETURN(ProgramSource source,
                          SourceFrom(args->program, args->compile_options, args->compile_options_size));
  KILN_C_ASSIGN_OR_RETURN(std::shared_ptr<ExecutableInfo> info, CompileSource(args->client, source));
  args->executable = MakeLoadedExecutable(args->client, std::move(info));
  return nullptr;
}

PJRT_Error* ClientLoad(PJRT_Client_Load_Args* args) {
  KILN_REQUIRE_FIELD(args, loaded_executable);
  KILN_REQUIRE_POINTER(args, client);
  KILN_REQUIRE_POINTER(args, executable);
  std::shared_ptr<ExecutableInfo> info = args->executable->info;
  if (args->compile_options_size != 0 || info->executable->client() != args->client->client.get()) {
    KILN_C_ASSIGN_OR_RETURN(std::string bytes, Serialize(info.get()));
    KILN_C_ASSIGN_OR_RETURN(info,
                            Deserialize(args->client, bytes, View(args->compile_options, args->compile_options_size)));
  }
  args->loaded_executable = MakeLoadedExecutable(args->client, std::move(info));
  return nullptr;
}

PJRT_Error* Compile(PJRT_Compile_Args* args) {
  KILN_REQUIRE_FIELD(args, executable);
  if (args->client == nullptr) {
    return MakeError(Unimplemented("PJRT_Compile: this version of Kiln compiles only with a client"));
  }
  KILN_C_ASSIGN_OR_RETURN(ProgramSource source,
                          SourceFrom(args->program, args->compile_options, args->compile_options_size));
  KILN_C_ASSIGN_OR_RETURN(std::shared_ptr<ExecutableInfo> info, CompileSource(args->client, source));
  args->executable = new PJRT_Executable{std::move(info)};
  return nullptr;
}

}  // namespace kiln::c_api
