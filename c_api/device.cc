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

void Call(PJRT_DeviceDescription_Id_Args& args) { args.id = args.device_description->id; }

void Call(PJRT_DeviceDescription_ProcessIndex_Args& args) { args.process_index = 0; }

void Call(PJRT_DeviceDescription_Attributes_Args& args) {
  args.attributes = nullptr;
  args.num_attributes = 0;
}

void Call(PJRT_DeviceDescription_Kind_Args& args) {
  Give(args.device_description->kind, &args.device_kind, &args.device_kind_size);
}

void Call(PJRT_DeviceDescription_DebugString_Args& args) {
  Give(args.device_description->debug_string, &args.debug_string, &args.debug_string_size);
}

void Call(PJRT_DeviceDescription_ToString_Args& args) {
  Give(args.device_description->to_string, &args.to_string, &args.to_string_size);
}

void Call(PJRT_Device_GetDescription_Args& args) { args.device_description = &args.device->description; }

void Call(PJRT_Device_IsAddressable_Args& args) { args.is_addressable = true; }

void Call(PJRT_Device_LocalHardwareId_Args& args) { args.local_hardware_id = args.device->device->id(); }

void Call(PJRT_Device_AddressableMemories_Args& args) {
  Give(args.device->memories, &args.memories, &args.num_memories);
}

void Call(PJRT_Device_DefaultMemory_Args& args) { args.memory = args.device->memories[0]; }

void Call(PJRT_Device_MemoryStats_Args& args) {
  const runtime::AllocatorStatistics statistics = args.device->device->client()->allocator()->statistics();
  args.bytes_in_use = statistics.bytes_in_use;
  // Callers do not clear the structure, so every field that they have is written, known or not.
#define KILN_SET_STATISTIC(field, known, value)          \
  if (KILN_HAS_FIELD(args, field)) args.field = (value); \
  if (KILN_HAS_FIELD(args, field##_is_set)) args.field##_is_set = (known)
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
}

void Call(PJRT_Device_ClearMemoryStats_Args& args) { args.device->device->client()->allocator()->ResetPeaks(); }

void Call(PJRT_Device_GetAttributes_Args& args) {
  args.attributes = nullptr;
  args.num_attributes = 0;
  args.device_attributes = nullptr;
  args.attributes_deleter = [](PJRT_Device_Attributes*) {};
}

void Call(PJRT_Device_CreateAsyncTrackingEvent_Args& args) {
  args.event = new PJRT_AsyncTrackingEvent{std::string(View(args.description, args.description_size))};
}

void Call(PJRT_AsyncTrackingEvent_Destroy_Args& args) { delete args.event; }

}  // namespace kiln::c_api
