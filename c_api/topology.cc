// PJRT_TopologyDescription: the devices of a client, with or without one.

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "c_api/functions.h"
#include "c_api/handles.h"
#include "src/base/build_id.h"
#include "src/base/fingerprint.h"
#include "src/cpu/host_isa.h"
#include "src/runtime/debug_flags.h"

PJRT_TopologyDescription::PJRT_TopologyDescription(int device_count) {
  for (int id = 0; id < device_count; ++id) {
    descriptions.push_back(std::make_unique<PJRT_DeviceDescription>(id));
    description_pointers.push_back(descriptions.back().get());
  }
}

struct PJRT_SerializedTopology : kiln::c_api::Bytes {};

namespace kiln::c_api {
namespace {

constexpr absl::string_view kSerializedPrefix = "kiln-topology-1 cpu ";
constexpr int64_t kMaxDevices = 1024;

}  // namespace

absl::Status Call(PJRT_TopologyDescription_Create_Args& args) {
  KILN_ASSIGN_OR_RETURN(runtime::ClientOptions options, ParseClientOptions(args.create_options, args.num_options));
  if (options.device_count < 1 || options.device_count > kMaxDevices) {
    return InvalidArgument("device_count must be between 1 and ", kMaxDevices, ", found ", options.device_count);
  }
  args.topology = new PJRT_TopologyDescription(static_cast<int>(options.device_count));
  return absl::OkStatus();
}

void Call(PJRT_TopologyDescription_Destroy_Args& args) { delete args.topology; }

void Call(PJRT_TopologyDescription_PlatformName_Args& args) {
  Give(kPlatformName, &args.platform_name, &args.platform_name_size);
}

void Call(PJRT_TopologyDescription_PlatformVersion_Args& args) {
  Give(kPlatformVersion, &args.platform_version, &args.platform_version_size);
}

void Call(PJRT_TopologyDescription_GetDeviceDescriptions_Args& args) {
  Give(args.topology->description_pointers, &args.descriptions, &args.num_descriptions);
}

void Call(PJRT_TopologyDescription_Serialize_Args& args) {
  GiveBytes(absl::StrCat(kSerializedPrefix, args.topology->description_pointers.size()), &args.serialized_bytes,
            &args.serialized_bytes_size, &args.serialized_topology, &args.serialized_topology_deleter);
}

absl::Status Call(PJRT_TopologyDescription_Deserialize_Args& args) {
  absl::string_view bytes = View(args.serialized_topology, args.serialized_topology_size);
  int64_t count = 0;
  if (!absl::ConsumePrefix(&bytes, kSerializedPrefix) || !absl::SimpleAtoi(bytes, &count) || count < 1 ||
      count > kMaxDevices) {
    return InvalidArgument("these bytes are no topology that this version of Kiln wrote");
  }
  args.topology = new PJRT_TopologyDescription(static_cast<int>(count));
  return absl::OkStatus();
}

void Call(PJRT_TopologyDescription_Attributes_Args& args) {
  args.attributes = nullptr;
  args.num_attributes = 0;
}

void Call(PJRT_TopologyDescription_Fingerprint_Args& args) {
  runtime::ApplyProcessFlags();
  // Frameworks key their caches of executables with this, so it tells builds, processors and flags apart.
  args.fingerprint = Hash64(absl::StrCat(kSerializedPrefix, args.topology->description_pointers.size(), " ", BuildId(),
                                         " ", cpu::Host().cpu, " ", cpu::Host().features, " ", runtime::CodeFlags()),
                            0);
}

void Call(PJRT_TopologyDescription_GetMemorySpaceKindIds_Args& args) {
  static constexpr int kIds[] = {0, 1, 2};
  static_assert(std::size(kIds) == runtime::Memory::kKindCount);
  args.memory_space_kind_ids = kIds;
  args.num_memory_space_kind_ids = std::size(kIds);
}

}  // namespace kiln::c_api
