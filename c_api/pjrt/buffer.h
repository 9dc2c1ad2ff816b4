// Buffers: arrays in device memory.
#ifndef KILN_C_API_PJRT_BUFFER_H_
#define KILN_C_API_PJRT_BUFFER_H_

#include "error.h"
#include "memory.h"

typedef struct PJRT_Buffer_CopyRawToHostFuture_Callback_Args PJRT_Buffer_CopyRawToHostFuture_Callback_Args;
typedef struct PJRT_Buffer_DonateWithControlDependency_Callback_Args PJRT_Buffer_DonateWithControlDependency_Callback_Args;

struct PJRT_Buffer_CopyRawToHostFuture_Callback_Args {
  size_t struct_size;
  void* callback_data;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
  void* dst;
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_CopyRawToHostFuture_Callback_Args, dst);

struct PJRT_Buffer_DonateWithControlDependency_Callback_Args {
  size_t struct_size;
  void* callback_data;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_DonateWithControlDependency_Callback_Args, error_message_size);

// Deletes the buffer and frees its handle.
struct PJRT_Buffer_Destroy_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
};
PJRT_DEFINE_FUNCTION(PJRT_Buffer_Destroy, buffer);

// Type of the elements.
struct PJRT_Buffer_ElementType_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Buffer_Type type;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Buffer_ElementType, type);

// Dimensions, bounds where dynamic; owned by the buffer.
struct PJRT_Buffer_Dimensions_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
  const int64_t* dims;  // out
  size_t num_dims;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Buffer_Dimensions, num_dims);

// Dimensions without padding of dynamic ones.
struct PJRT_Buffer_UnpaddedDimensions_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
  const int64_t* unpadded_dims;  // out
  size_t num_dims;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Buffer_UnpaddedDimensions, num_dims);

// Which dimensions are dynamic.
struct PJRT_Buffer_DynamicDimensionIndices_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
  const size_t* dynamic_dim_indices;  // out
  size_t num_dynamic_dims;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Buffer_DynamicDimensionIndices, num_dynamic_dims);

// Layout in device memory; what it points to is owned by the buffer.
struct PJRT_Buffer_GetMemoryLayout_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Buffer_MemoryLayout layout;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Buffer_GetMemoryLayout, layout);

// Bytes of device memory.
struct PJRT_Buffer_OnDeviceSizeInBytes_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
  size_t on_device_size_in_bytes;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Buffer_OnDeviceSizeInBytes, on_device_size_in_bytes);

// The buffer's device.
struct PJRT_Buffer_Device_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Device* device;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Buffer_Device, device);

// The buffer's memory.
struct PJRT_Buffer_Memory_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Memory* memory;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Buffer_Memory, memory);

// Drops the device memory after pending uses and keeps the handle.
struct PJRT_Buffer_Delete_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
};
PJRT_DEFINE_FUNCTION(PJRT_Buffer_Delete, buffer);

// Whether the buffer was deleted or donated.
struct PJRT_Buffer_IsDeleted_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
  bool is_deleted;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Buffer_IsDeleted, is_deleted);

// A copy on another device.
struct PJRT_Buffer_CopyToDevice_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Device* dst_device;
  PJRT_Buffer* dst_buffer;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Buffer_CopyToDevice, dst_buffer);

// Copies to host memory; a null `dst` only asks for the size. No layout means dense row-major.
struct PJRT_Buffer_ToHostBuffer_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* src;
  PJRT_Buffer_MemoryLayout* host_layout;
  void* dst;
  size_t dst_size;
  PJRT_Event* event;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Buffer_ToHostBuffer, event);

// Whether the host can read the buffer's memory directly.
struct PJRT_Buffer_IsOnCpu_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
  bool is_on_cpu;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Buffer_IsOnCpu, is_on_cpu);

// An event that settles when the content is there, or could not be produced.
struct PJRT_Buffer_ReadyEvent_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Event* event;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Buffer_ReadyEvent, event);

// Address of the content, with no promise about its lifetime.
struct PJRT_Buffer_UnsafePointer_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
  uintptr_t buffer_pointer;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Buffer_UnsafePointer, buffer_pointer);

// Pins the content at its address for a foreign user.
struct PJRT_Buffer_IncreaseExternalReferenceCount_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
};
PJRT_DEFINE_FUNCTION(PJRT_Buffer_IncreaseExternalReferenceCount, buffer);

// Takes back one pin.
struct PJRT_Buffer_DecreaseExternalReferenceCount_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
};
PJRT_DEFINE_FUNCTION(PJRT_Buffer_DecreaseExternalReferenceCount, buffer);

// Address of the content, valid while it is pinned.
struct PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
  void* device_memory_ptr;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Buffer_OpaqueDeviceMemoryDataPointer, device_memory_ptr);

// A copy in another memory.
struct PJRT_Buffer_CopyToMemory_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Memory* dst_memory;
  PJRT_Buffer* dst_buffer;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Buffer_CopyToMemory, dst_buffer);

// Copies a range of raw bytes to host memory.
struct PJRT_Buffer_CopyRawToHost_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
  void* dst;
  int64_t offset;
  int64_t transfer_size;
  PJRT_Event* event;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Buffer_CopyRawToHost, event);

// The same, into a destination that the caller names later through the callback.
struct PJRT_Buffer_CopyRawToHostFuture_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
  int64_t offset;
  int64_t transfer_size;
  PJRT_Event* event;  // out
  void* callback_data;  // out
  void (*future_ready_callback)(PJRT_Buffer_CopyRawToHostFuture_Callback_Args*);  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Buffer_CopyRawToHostFuture, future_ready_callback);

// Moves the content to a new buffer that becomes ready when the caller says so through the callback.
struct PJRT_Buffer_DonateWithControlDependency_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
  void* callback_data;  // out
  void (*dependency_ready_callback)(PJRT_Buffer_DonateWithControlDependency_Callback_Args*);  // out
  PJRT_Buffer* out_buffer;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Buffer_DonateWithControlDependency, out_buffer);

// The same bytes under another type, shape or layout. Since 98.
struct PJRT_Buffer_Bitcast_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Buffer* buffer;
  PJRT_Buffer_Type element_type;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Buffer_MemoryLayout* device_layout;
  PJRT_Buffer* out_buffer;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Buffer_Bitcast, out_buffer);

#endif  // KILN_C_API_PJRT_BUFFER_H_
