// PJRT_Device and PJRT_DeviceDescription.
#include "absl/strings/str_cat.h"
#include "c_api/functions.h"
#include "c_api/handles.h"

PJRT_DeviceDescription::PJRT_DeviceDescription(int id)
    : id(id),
      kind("cpu"),
      debug_string(absl::StrCat("KilnDevice(id=", id, ", kind=cpu)")),
      to_string(absl::StrCat("KilnDevice(id=", id, ")")) {
  using kiln::runtime::Memory;
  static constexpr PJRT_MemoryDescription kDescriptions[] = {
      {Memory::kKinds[0], 0}, {Memory::kKinds[1], 1}, {Memory::kKinds[2], 2}};
  static_assert(std::size(kDescriptions) == Memory::kKindCount);
  for (const PJRT_MemoryDescription& memory : kDescriptions) memories.push_back(&memory);
}

// Work on a device that a profiler tracks; Kiln's profiler needs no object of its own for it.
struct PJRT_AsyncTrackingEvent {
  std::string description;
};

namespace kiln::c_api {

PJRT_Error* DeviceDescriptionId(PJRT_DeviceDescription_Id_Args* args) {
  KILN_REQUIRE_FIELD(args, id);
  KILN_REQUIRE_POINTER(args, device_description);
  args->id = args->device_description->id;
  return nullptr;
}

PJRT_Error* DeviceDescriptionProcessIndex(PJRT_DeviceDescription_ProcessIndex_Args* args) {
  KILN_REQUIRE_FIELD(args, process_index);
  args->process_index = 0;
  return nullptr;
}

PJRT_Error* DeviceDescriptionAttributes(PJRT_DeviceDescription_Attributes_Args* args) {
  KILN_REQUIRE_FIELD(args, attributes);
  args->attributes = nullptr;
  args->num_attributes = 0;
  return nullptr;
}

PJRT_Error* DeviceDescriptionKind(PJRT_DeviceDescription_Kind_Args* args) {
  KILN_REQUIRE_FIELD(args, device_kind_size);
  KILN_REQUIRE_POINTER(args, device_description);
  args->device_kind = args->device_description->kind.data();
  args->device_kind_size = args->device_description->kind.size();
  return nullptr;
}

PJRT_Error* DeviceDescriptionDebugString(PJRT_DeviceDescription_DebugString_Args* args) {
  KILN_REQUIRE_FIELD(args, debug_string_size);
  KILN_REQUIRE_POINTER(args, device_description);
  args->debug_string = args->device_description->debug_string.data();
  args->debug_string_size = args->device_description->debug_string.size();
  return nullptr;
}

PJRT_Error* DeviceDescriptionToString(PJRT_DeviceDescription_ToString_Args* args) {
  KILN_REQUIRE_FIELD(args, to_string_size);
  KILN_REQUIRE_POINTER(args, device_description);
  args->to_string = args->device_description->to_string.data();
  args->to_string_size = args->device_description->to_string.size();
  return nullptr;
}

PJRT_Error* DeviceGetDescription(PJRT_Device_GetDescription_Args* args) {
  KILN_REQUIRE_FIELD(args, device_description);
  KILN_REQUIRE_POINTER(args, device);
  args->device_description = &args->device->description;
  return nullptr;
}

PJRT_Error* DeviceIsAddressable(PJRT_Device_IsAddressable_Args* args) {
  KILN_REQUIRE_FIELD(args, is_addressable);
  args->is_addressable = true;
  return nullptr;
}

PJRT_Error* DeviceLocalHardwareId(PJRT_Device_LocalHardwareId_Args* args) {
  KILN_REQUIRE_FIELD(args, local_hardware_id);
  KILN_REQUIRE_POINTER(args, device);
  args->local_hardware_id = args->device->device->id();
  return nullptr;
}

PJRT_Error* DeviceAddressableMemories(PJRT_Device_AddressableMemories_Args* args) {
  KILN_REQUIRE_FIELD(args, num_memories);
  KILN_REQUIRE_POINTER(args, device);
  args->memories = args->device->memories.data();
  args->num_memories = args->device->memories.size();
  return nullptr;
}

PJRT_Error* DeviceDefaultMemory(PJRT_Device_DefaultMemory_Args* args) {
  KILN_REQUIRE_FIELD(args, memory);
  KILN_REQUIRE_POINTER(args, device);
  args->memory = args->device->memories[0];
  return nullptr;
}

PJRT_Error* DeviceMemoryStats(PJRT_Device_MemoryStats_Args* args) {
  KILN_REQUIRE_FIELD(args, bytes_in_use);
  KILN_REQUIRE_POINTER(args, device);
  const runtime::AllocatorStatistics statistics = args->device->device->client()->allocator()->statistics();
  args->bytes_in_use = statistics.bytes_in_use;
  // Callers do not clear the structure, so every field that they have is written, known or not.
#define KILN_SET_STATISTIC(field, known, value)           \
  if (KILN_HAS_FIELD(args, field)) args->field = (value); \
  if (KILN_HAS_FIELD(args, field##_is_set)) args->field##_is_set = (known)
  KILN_SET_STATISTIC(peak_bytes_in_use, true, statistics.peak_bytes_in_use);
  KILN_SET_STATISTIC(num_allocs, true, statistics.allocation_count);
  KILN_SET_STATISTIC(largest_alloc_size, true, statistics.largest_allocation);
  KILN_SET_STATISTIC(bytes_limit, true, statistics.limit);
  KILN_SET_STATISTIC(bytes_reserved, false, 0);
  KILN_SET_STATISTIC(peak_bytes_reserved, false, 0);
  KILN_SET_STATISTIC(bytes_reservable_limit, false, 0);
  KILN_SET_STATISTIC(largest_free_block_bytes, false, 0);
  KILN_SET_STATISTIC(pool_bytes, true, statistics.bytes_in_use + statistics.cached_bytes);
  KILN_SET_STATISTIC(peak_pool_bytes, false, 0);
  KILN_SET_STATISTIC(peak_allocated_bytes, false, 0);
#undef KILN_SET_STATISTIC
  return nullptr;
}

PJRT_Error* DeviceClearMemoryStats(PJRT_Device_ClearMemoryStats_Args* args) {
  KILN_REQUIRE_FIELD(args, device);
  KILN_REQUIRE_POINTER(args, device);
  args->device->device->client()->allocator()->ResetPeaks();
  return nullptr;
}

PJRT_Error* DevicePoisonExecution(PJRT_Device_PoisonExecution_Args* args) {
  return MakeError(Unimplemented("PJRT_Device_PoisonExecution: Kiln's CPU devices do not track launches by id"));
}

PJRT_Error* DeviceGetAttributes(PJRT_Device_GetAttributes_Args* args) {
  KILN_REQUIRE_FIELD(args, attributes_deleter);
  args->attributes = nullptr;
  args->num_attributes = 0;
  args->device_attributes = nullptr;
  args->attributes_deleter = [](PJRT_Device_Attributes*) {};
  return nullptr;
}

PJRT_Error* DeviceCreateAsyncTrackingEvent(PJRT_Device_CreateAsyncTrackingEvent_Args* args) {
  KILN_REQUIRE_FIELD(args, event);
  args->event = new PJRT_AsyncTrackingEvent{std::string(View(args->description, args->description_size))};
  return nullptr;
}

PJRT_Error* AsyncTrackingEventDestroy(PJRT_AsyncTrackingEvent_Destroy_Args* args) {
  KILN_REQUIRE_FIELD(args, event);
  delete args->event;
  return nullptr;
}

}  // namespace kiln::c_api
