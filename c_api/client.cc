// PJRT_Client: creation, look-ups and compilation.
#include <utility>

#include "c_api/functions.h"
#include "c_api/handles.h"
#include "c_api/program.h"
#include "src/inspect/dump.h"

namespace kiln::c_api {

absl::StatusOr<runtime::ClientOptions> ParseClientOptions(const PJRT_NamedValue* values, size_t count) {
  runtime::ClientOptions options;
  runtime::DebugFlags flags;
  KILN_RETURN_IF_ERROR(runtime::ReadAllFlags(/*debug_options=*/"", &flags));
  if (flags.host_device_count > 0) options.device_count = flags.host_device_count;
  const struct {
    absl::string_view name;
    int64_t* value;
  } known[] = {
      {"device_count", &options.device_count},
      {"max_threads", &options.max_threads},
      {"memory_limit_bytes", &options.memory_limit_bytes},
      {"cache_limit_bytes", &options.cache_limit_bytes},
      {"inline_nanoseconds", &options.inline_nanoseconds},
  };
  for (size_t i = 0; values != nullptr && i < count; ++i) {
    const PJRT_NamedValue& value = values[i];
    const absl::string_view name = View(value.name, value.name_size);
    bool found = false;
    for (const auto& option : known) {
      if (option.name != name) continue;
      if (value.type != PJRT_NamedValue_kInt64) return InvalidArgument("client option ", name, " must be an integer");
      *option.value = value.int64_value;
      found = true;
    }
    if (!found) return InvalidArgument("no such client option: '", name, "'");
  }
  return options;
}

absl::Status Call(PJRT_Client_Create_Args& args) {
  KILN_ASSIGN_OR_RETURN(runtime::ClientOptions options, ParseClientOptions(args.create_options, args.num_options));
  options.warm_up = true;
  options.observe = inspect::MakeDumperFactory();
  auto client = std::make_unique<PJRT_Client>();
  KILN_ASSIGN_OR_RETURN(client->client, runtime::Client::Create(options));
  for (const std::unique_ptr<runtime::Device>& device : client->client->devices()) {
    auto handle = std::make_unique<PJRT_Device>(device.get());
    device->handle = handle.get();
    client->device_pointers.push_back(handle.get());
    client->memory_pointers.insert(client->memory_pointers.end(), handle->memories.begin(), handle->memories.end());
    client->devices.push_back(std::move(handle));
  }
  client->topology = std::make_unique<PJRT_TopologyDescription>(static_cast<int>(options.device_count));
  args.client = client.release();
  return absl::OkStatus();
}

void Call(PJRT_Client_Destroy_Args& args) { delete args.client; }

void Call(PJRT_Client_PlatformName_Args& args) { Give(kPlatformName, &args.platform_name, &args.platform_name_size); }

void Call(PJRT_Client_ProcessIndex_Args& args) { args.process_index = 0; }

void Call(PJRT_Client_PlatformVersion_Args& args) {
  Give(kPlatformVersion, &args.platform_version, &args.platform_version_size);
}

void Call(PJRT_Client_TopologyDescription_Args& args) { args.topology = args.client->topology.get(); }

void Call(PJRT_Client_Devices_Args& args) { Give(args.client->device_pointers, &args.devices, &args.num_devices); }

void Call(PJRT_Client_AddressableDevices_Args& args) {
  Give(args.client->device_pointers, &args.addressable_devices, &args.num_addressable_devices);
}

absl::Status Call(PJRT_Client_LookupDevice_Args& args) {
  runtime::Device* device = args.client->client->device(args.id);
  if (device == nullptr) return InvalidArgument("there is no device with id ", args.id);
  args.device = HandleOf(device);
  return absl::OkStatus();
}

absl::Status Call(PJRT_Client_LookupAddressableDevice_Args& args) {
  runtime::Device* device = args.client->client->device(args.local_hardware_id);
  if (device == nullptr) {
    return InvalidArgument("there is no device with local hardware id ", args.local_hardware_id);
  }
  args.addressable_device = HandleOf(device);
  return absl::OkStatus();
}

void Call(PJRT_Client_AddressableMemories_Args& args) {
  Give(args.client->memory_pointers, &args.addressable_memories, &args.num_addressable_memories);
}

absl::Status Call(PJRT_Client_DefaultDeviceAssignment_Args& args) {
  KILN_REQUIRE_POINTER(args, default_assignment);
  const int64_t count = int64_t{args.num_replicas} * args.num_partitions;
  const int64_t devices = static_cast<int64_t>(args.client->device_pointers.size());
  if (args.num_replicas < 1 || args.num_partitions < 1 || count > devices) {
    return InvalidArgument(args.num_replicas, " replicas of ", args.num_partitions, " partitions do not fit ", devices,
                           " devices");
  }
  if (args.default_assignment_size < static_cast<size_t>(count)) {
    return InvalidArgument("the default assignment needs ", count, " elements, the array has ",
                           args.default_assignment_size);
  }
  for (int64_t i = 0; i < count; ++i) args.default_assignment[i] = static_cast<int>(i);
  return absl::OkStatus();
}

void Call(PJRT_Client_DmaMap_Args&) {}  // Host memory needs no registration here.

void Call(PJRT_Client_DmaUnmap_Args&) {}

absl::Status Call(PJRT_Client_Compile_Args& args) {
  KILN_ASSIGN_OR_RETURN(ProgramSource source,
                        SourceFrom(args.program, args.compile_options, args.compile_options_size));
  KILN_ASSIGN_OR_RETURN(std::shared_ptr<ExecutableInfo> info, CompileSource(args.client, source));
  args.executable = MakeLoadedExecutable(args.client, std::move(info));
  return absl::OkStatus();
}

absl::Status Call(PJRT_Client_Load_Args& args) {
  KILN_REQUIRE_POINTER(args, executable);
  std::shared_ptr<ExecutableInfo> info = args.executable->info;
  if (args.compile_options_size != 0 || info->executable->client() != args.client->client.get()) {
    KILN_ASSIGN_OR_RETURN(std::string bytes, Serialize(info.get()));
    KILN_ASSIGN_OR_RETURN(info, Deserialize(args.client, bytes, View(args.compile_options, args.compile_options_size)));
  }
  args.loaded_executable = MakeLoadedExecutable(args.client, std::move(info));
  return absl::OkStatus();
}

absl::Status Call(PJRT_Compile_Args& args) {
  if (args.client == nullptr) {
    return Unimplemented("PJRT_Compile: this version of Kiln compiles only with a client");
  }
  KILN_ASSIGN_OR_RETURN(ProgramSource source,
                        SourceFrom(args.program, args.compile_options, args.compile_options_size));
  KILN_ASSIGN_OR_RETURN(std::shared_ptr<ExecutableInfo> info, CompileSource(args.client, source));
  args.executable = new PJRT_Executable{std::move(info)};
  return absl::OkStatus();
}

}  // namespace kiln::c_api
