// Devices and their descriptions.
#ifndef KILN_C_API_PJRT_DEVICE_H_
#define KILN_C_API_PJRT_DEVICE_H_

#include "error.h"
#include "memory.h"

// The device's id, unique within the job.
struct PJRT_DeviceDescription_Id_Args {
  PJRT_STRUCT_HEAD;
  PJRT_DeviceDescription* device_description;
  int id;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_DeviceDescription_Id, id);

// Index of the process that owns the device.
struct PJRT_DeviceDescription_ProcessIndex_Args {
  PJRT_STRUCT_HEAD;
  PJRT_DeviceDescription* device_description;
  int process_index;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_DeviceDescription_ProcessIndex, process_index);

// Named facts about the device; owned by the description.
struct PJRT_DeviceDescription_Attributes_Args {
  PJRT_STRUCT_HEAD;
  PJRT_DeviceDescription* device_description;
  size_t num_attributes;  // out
  const PJRT_NamedValue* attributes;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_DeviceDescription_Attributes, attributes);

// Vendor-dependent kind, equal for devices that run the same code.
struct PJRT_DeviceDescription_Kind_Args {
  PJRT_STRUCT_HEAD;
  PJRT_DeviceDescription* device_description;
  const char* device_kind;  // out
  size_t device_kind_size;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_DeviceDescription_Kind, device_kind_size);

// A long text for logs.
struct PJRT_DeviceDescription_DebugString_Args {
  PJRT_STRUCT_HEAD;
  PJRT_DeviceDescription* device_description;
  const char* debug_string;  // out
  size_t debug_string_size;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_DeviceDescription_DebugString, debug_string_size);

// A short text for users.
struct PJRT_DeviceDescription_ToString_Args {
  PJRT_STRUCT_HEAD;
  PJRT_DeviceDescription* device_description;
  const char* to_string;  // out
  size_t to_string_size;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_DeviceDescription_ToString, to_string_size);

// The device's description; the client owns it.
struct PJRT_Device_GetDescription_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Device* device;
  PJRT_DeviceDescription* device_description;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Device_GetDescription, device_description);

// Whether this process may use the device.
struct PJRT_Device_IsAddressable_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Device* device;
  bool is_addressable;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Device_IsAddressable, is_addressable);

// Index among this process's devices, -1 when not addressable.
struct PJRT_Device_LocalHardwareId_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Device* device;
  int local_hardware_id;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Device_LocalHardwareId, local_hardware_id);

// The memories attached to the device.
struct PJRT_Device_AddressableMemories_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Device* device;
  PJRT_Memory* const* memories;  // out
  size_t num_memories;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Device_AddressableMemories, num_memories);

// The memory used when none is named.
struct PJRT_Device_DefaultMemory_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Device* device;
  PJRT_Memory* memory;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Device_DefaultMemory, memory);

// What the device's allocator did. A value counts only where its `_is_set` is true.
struct PJRT_Device_MemoryStats_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Device* device;
  int64_t bytes_in_use;  // out
  int64_t peak_bytes_in_use;  // out
  bool peak_bytes_in_use_is_set;  // out
  int64_t num_allocs;  // out
  bool num_allocs_is_set;  // out
  int64_t largest_alloc_size;  // out
  bool largest_alloc_size_is_set;  // out
  int64_t bytes_limit;  // out
  bool bytes_limit_is_set;  // out
  int64_t bytes_reserved;  // out
  bool bytes_reserved_is_set;  // out
  int64_t peak_bytes_reserved;  // out
  bool peak_bytes_reserved_is_set;  // out
  int64_t bytes_reservable_limit;  // out
  bool bytes_reservable_limit_is_set;  // out
  int64_t largest_free_block_bytes;  // out
  bool largest_free_block_bytes_is_set;  // out
  int64_t pool_bytes;  // out
  bool pool_bytes_is_set;  // out
  int64_t peak_pool_bytes;  // out
  bool peak_pool_bytes_is_set;  // out
  int64_t peak_allocated_bytes;  // out, since 113
  bool peak_allocated_bytes_is_set;  // out, since 113
};
PJRT_DEFINE_FUNCTION(PJRT_Device_MemoryStats, peak_allocated_bytes_is_set);

// Makes the pending launch of this id fail with the given error.
struct PJRT_Device_PoisonExecution_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Device* device;
  int32_t launch_id;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
  bool poisoned;  // out
  const PJRT_NamedValue* payload;  // since 100
  size_t num_payload;  // since 100
};
PJRT_DEFINE_FUNCTION(PJRT_Device_PoisonExecution, num_payload);

// Marks a span of asynchronous work on the device for its profiler.
struct PJRT_Device_CreateAsyncTrackingEvent_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Device* device;
  const char* description;
  size_t description_size;
  PJRT_AsyncTrackingEvent* event;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Device_CreateAsyncTrackingEvent, event);

// Run-time attributes of a device, freed by `attributes_deleter`. Since 92.
struct PJRT_Device_GetAttributes_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Device* device;
  const PJRT_NamedValue* attributes;  // out
  size_t num_attributes;  // out
  PJRT_Device_Attributes* device_attributes;  // out
  void (*attributes_deleter)(PJRT_Device_Attributes*);  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Device_GetAttributes, attributes_deleter);

// Starts the peaks of PJRT_Device_MemoryStats anew. Since 107.
struct PJRT_Device_ClearMemoryStats_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Device* device;
};
PJRT_DEFINE_FUNCTION(PJRT_Device_ClearMemoryStats, device);

// Ends that span.
struct PJRT_AsyncTrackingEvent_Destroy_Args {
  PJRT_STRUCT_HEAD;
  PJRT_AsyncTrackingEvent* event;
};
PJRT_DEFINE_FUNCTION(PJRT_AsyncTrackingEvent_Destroy, event);

#endif  // KILN_C_API_PJRT_DEVICE_H_
