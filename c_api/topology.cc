// PJRT_TopologyDescription: the devices of a client, with or without one.
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "c_api/functions.h"
#include "c_api/handles.h"
#include "c_api/options.h"
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

struct PJRT_SerializedTopology {
  std::string bytes;
};

namespace kiln::c_api {
namespace {

constexpr absl::string_view kSerializedPrefix = "kiln-topology-1 cpu ";
constexpr int64_t kMaxDevices = 1024;

}  // namespace

PJRT_Error* TopologyDescriptionCreate(PJRT_TopologyDescription_Create_Args* args) {
  KILN_REQUIRE_FIELD(args, topology);
  KILN_C_ASSIGN_OR_RETURN(runtime::ClientOptions options, ParseClientOptions(args->create_options, args->num_options));
  if (options.device_count < 1 || options.device_count > kMaxDevices) {
    return MakeError(
        InvalidArgument("device_count must be between 1 and ", kMaxDevices, ", found ", options.device_count));
  }
  args->topology = new PJRT_TopologyDescription(static_cast<int>(options.device_count));
  return nullptr;
}

PJRT_Error* TopologyDescriptionDestroy(PJRT_TopologyDescription_Destroy_Args* args) {
  KILN_REQUIRE_FIELD(args, topology);
  delete args->topology;
  return nullptr;
}

PJRT_Error* TopologyDescriptionPlatformName(PJRT_TopologyDescription_PlatformName_Args* args) {
  KILN_REQUIRE_FIELD(args, platform_name_size);
  args->platform_name = kPlatformName;
  args->platform_name_size = std::strlen(kPlatformName);
  return nullptr;
}

PJRT_Error* TopologyDescriptionPlatformVersion(PJRT_TopologyDescription_PlatformVersion_Args* args) {
  KILN_REQUIRE_FIELD(args, platform_version_size);
  args->platform_version = kPlatformVersion;
  args->platform_version_size = std::strlen(kPlatformVersion);
  return nullptr;
}

PJRT_Error* TopologyDescriptionGetDeviceDescriptions(PJRT_TopologyDescription_GetDeviceDescriptions_Args* args) {
  KILN_REQUIRE_FIELD(args, num_descriptions);
  KILN_REQUIRE_POINTER(args, topology);
  args->descriptions = args->topology->description_pointers.data();
  args->num_descriptions = args->topology->description_pointers.size();
  return nullptr;
}

PJRT_Error* TopologyDescriptionSerialize(PJRT_TopologyDescription_Serialize_Args* args) {
  KILN_REQUIRE_FIELD(args, serialized_topology_deleter);
  KILN_REQUIRE_POINTER(args, topology);
  auto* serialized =
      new PJRT_SerializedTopology{absl::StrCat(kSerializedPrefix, args->topology->description_pointers.size())};
  args->serialized_bytes = serialized->bytes.data();
  args->serialized_bytes_size = serialized->bytes.size();
  args->serialized_topology = serialized;
  args->serialized_topology_deleter = [](PJRT_SerializedTopology* serialized) { delete serialized; };
  return nullptr;
}

PJRT_Error* TopologyDescriptionDeserialize(PJRT_TopologyDescription_Deserialize_Args* args) {
  KILN_REQUIRE_FIELD(args, topology);
  absl::string_view bytes = View(args->serialized_topology, args->serialized_topology_size);
  int64_t count = 0;
  if (!absl::ConsumePrefix(&bytes, kSerializedPrefix) || !absl::SimpleAtoi(bytes, &count) || count < 1 ||
      count > kMaxDevices) {
    return MakeError(InvalidArgument("these bytes are no topology that this version of Kiln wrote"));
  }
  args->topology = new PJRT_TopologyDescription(static_cast<int>(count));
  return nullptr;
}

PJRT_Error* TopologyDescriptionAttributes(PJRT_TopologyDescription_Attributes_Args* args) {
  KILN_REQUIRE_FIELD(args, num_attributes);
  args->attributes = nullptr;
  args->num_attributes = 0;
  return nullptr;
}

PJRT_Error* TopologyDescriptionFingerprint(PJRT_TopologyDescription_Fingerprint_Args* args) {
  KILN_REQUIRE_FIELD(args, fingerprint);
  KILN_REQUIRE_POINTER(args, topology);
  // Frameworks key their caches of executables with this, so it tells builds, processors and flags apart.
  args->fingerprint = Hash64(absl::StrCat(kSerializedPrefix, args->topology->description_pointers.size(), " ",
                                          BuildId(), " ", cpu::Host().cpu, " ", cpu::Host().features, " ",
                                          runtime::CodeFlags()),
                             0);
  return nullptr;
}

PJRT_Error* TopologyDescriptionMakeCanonicalShapeForMemorySpace(
    PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args*) {
  return MakeError(
      Unimplemented("PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace: Kiln does not serialize "
                    "shapes; arrays are dense and row-major"));
}

PJRT_Error* TopologyDescriptionGetMemorySpaceKindIds(PJRT_TopologyDescription_GetMemorySpaceKindIds_Args* args) {
  KILN_REQUIRE_FIELD(args, num_memory_space_kind_ids);
  static constexpr int kIds[] = {0, 1, 2};
  static_assert(std::size(kIds) == runtime::Memory::kKindCount);
  args->memory_space_kind_ids = kIds;
  args->num_memory_space_kind_ids = std::size(kIds);
  return nullptr;
}

}  // namespace kiln::c_api
