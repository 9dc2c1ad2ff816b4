// How buffers come to be.
#ifndef KILN_C_API_PJRT_BUFFER_CREATION_H_
#define KILN_C_API_PJRT_BUFFER_CREATION_H_

#include "error.h"
#include "memory.h"

typedef enum {
  PJRT_HostBufferSemantics_kImmutableOnlyDuringCall = 0,
  PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes = 1,
  PJRT_HostBufferSemantics_kImmutableZeroCopy = 2,
  PJRT_HostBufferSemantics_kMutableZeroCopy = 3,
} PJRT_HostBufferSemantics;

// A buffer whose content is not defined.
struct PJRT_Client_CreateUninitializedBuffer_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  const int64_t* shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout* shape_layout;
  PJRT_Device* device;
  PJRT_Memory* memory;
  PJRT_Buffer* buffer;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Client_CreateUninitializedBuffer, buffer);

// A buffer that stands for a failure: whoever uses it gets this error.
struct PJRT_Client_CreateErrorBuffer_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
  const int64_t* shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout* shape_layout;
  PJRT_Memory* memory;
  PJRT_Buffer* buffer;  // out
  const PJRT_NamedValue* payload;  // since 103
  size_t num_payload;  // since 103
  PJRT_Buffer_MemoryLayout* device_layout;  // since 117
};
PJRT_DEFINE_FUNCTION(PJRT_Client_CreateErrorBuffer, device_layout);

// A buffer promised now and bound to real memory later by PJRT_Client_FulfillAliasBuffer.
struct PJRT_Client_CreateAliasBuffer_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  PJRT_Memory* memory;
  const int64_t* shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout* shape_layout;
  PJRT_Buffer* alias_buffer;  // out
  PJRT_FulfillAliasBufferCallback* fulfill_alias_buffer_cb;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Client_CreateAliasBuffer, fulfill_alias_buffer_cb);

// Binds an alias buffer to `buffer`, or fails it with the given error.
struct PJRT_Client_FulfillAliasBuffer_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  PJRT_Buffer* buffer;
  PJRT_Error_Code status_code;
  const char* error_message;
  size_t error_message_size;
  PJRT_FulfillAliasBufferCallback* fulfill_alias_buffer_cb;
};
PJRT_DEFINE_FUNCTION(PJRT_Client_FulfillAliasBuffer, fulfill_alias_buffer_cb);

// Copies or borrows a host array (see PJRT_HostBufferSemantics). `memory` wins over `device`; no strides mean dense
// row-major.
struct PJRT_Client_BufferFromHostBuffer_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  const void* data;
  PJRT_Buffer_Type type;
  const int64_t* dims;
  size_t num_dims;
  const int64_t* byte_strides;
  size_t num_byte_strides;
  PJRT_HostBufferSemantics host_buffer_semantics;
  PJRT_Device* device;
  PJRT_Memory* memory;
  PJRT_Buffer_MemoryLayout* device_layout;
  PJRT_Event* done_with_host_buffer;  // out
  PJRT_Buffer* buffer;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Client_BufferFromHostBuffer, buffer);

// A buffer over foreign device memory, released through `on_delete_callback`.
struct PJRT_Client_CreateViewOfDeviceBuffer_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  void* device_buffer_ptr;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Buffer_Type element_type;
  PJRT_Buffer_MemoryLayout* layout;
  PJRT_Device* device;
  void (*on_delete_callback)(void*, void*);
  void* on_delete_callback_arg;
  intptr_t stream;
  PJRT_Buffer* buffer;  // out
  PJRT_Memory* memory;
};
PJRT_DEFINE_FUNCTION(PJRT_Client_CreateViewOfDeviceBuffer, memory);

#endif  // KILN_C_API_PJRT_BUFFER_CREATION_H_
