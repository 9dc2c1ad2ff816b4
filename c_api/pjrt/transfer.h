// Transfers in pieces.
#ifndef KILN_C_API_PJRT_TRANSFER_H_
#define KILN_C_API_PJRT_TRANSFER_H_

#include "error.h"
#include "memory.h"

typedef struct PJRT_Chunk PJRT_Chunk;

// A piece of host data with its deleter.
struct PJRT_Chunk {
  void* data;
  size_t size;
  void (*deleter)(void*, void*);
  void* deleter_arg;
};

// Buffers that a transfer manager fills piece by piece.
struct PJRT_Client_CreateBuffersForAsyncHostToDevice_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  PJRT_ShapeSpec* shape_specs;
  size_t num_shape_specs;
  PJRT_Buffer_MemoryLayout** device_layouts;
  size_t num_device_layouts;
  PJRT_Memory* memory;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Client_CreateBuffersForAsyncHostToDevice, transfer_manager);

// Frees the manager; buffers not yet complete fail.
struct PJRT_AsyncHostToDeviceTransferManager_Destroy_Args {
  PJRT_STRUCT_HEAD;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
};
PJRT_DEFINE_FUNCTION(PJRT_AsyncHostToDeviceTransferManager_Destroy, transfer_manager);

// Copies one piece into a buffer; the last one completes it.
struct PJRT_AsyncHostToDeviceTransferManager_TransferData_Args {
  PJRT_STRUCT_HEAD;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  int buffer_index;
  const void* data;
  int64_t offset;
  int64_t transfer_size;
  bool is_last_transfer;
  PJRT_Event* done_with_h2d_transfer;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_AsyncHostToDeviceTransferManager_TransferData, done_with_h2d_transfer);

// Hands out a buffer; it becomes ready when its data is complete.
struct PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args {
  PJRT_STRUCT_HEAD;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  int buffer_index;
  PJRT_Buffer* buffer_out;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, buffer_out);

// The device of the buffers.
struct PJRT_AsyncHostToDeviceTransferManager_Device_Args {
  PJRT_STRUCT_HEAD;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  PJRT_Device* device_out;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_AsyncHostToDeviceTransferManager_Device, device_out);

// Number of buffers.
struct PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args {
  PJRT_STRUCT_HEAD;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  size_t buffer_count;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_AsyncHostToDeviceTransferManager_BufferCount, buffer_count);

// Bytes of one buffer.
struct PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args {
  PJRT_STRUCT_HEAD;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  int buffer_index;
  size_t buffer_size;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_AsyncHostToDeviceTransferManager_BufferSize, buffer_size);

// Fails one buffer.
struct PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args {
  PJRT_STRUCT_HEAD;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  int buffer_index;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
};
PJRT_DEFINE_FUNCTION(PJRT_AsyncHostToDeviceTransferManager_SetBufferError, error_message_size);

// Attaches named values to the transfer.
struct PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args {
  PJRT_STRUCT_HEAD;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  const PJRT_NamedValue* transfer_metadata;
  size_t num_metadata;
};
PJRT_DEFINE_FUNCTION(PJRT_AsyncHostToDeviceTransferManager_AddMetadata, num_metadata);

// Copies a whole host array into a buffer and completes it.
struct PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args {
  PJRT_STRUCT_HEAD;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  int buffer_index;
  const void* data;
  const int64_t* shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout* shape_layout;
  PJRT_Event* done_with_h2d_transfer;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral, done_with_h2d_transfer);

// Frees a stream.
struct PJRT_CopyToDeviceStream_Destroy_Args {
  PJRT_STRUCT_HEAD;
  PJRT_CopyToDeviceStream* stream;
};
PJRT_DEFINE_FUNCTION(PJRT_CopyToDeviceStream_Destroy, stream);

// Hands over the next piece of data.
struct PJRT_CopyToDeviceStream_AddChunk_Args {
  PJRT_STRUCT_HEAD;
  PJRT_CopyToDeviceStream* stream;
  PJRT_Chunk* chunk;
  PJRT_Event* transfer_complete;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_CopyToDeviceStream_AddChunk, transfer_complete);

// Bytes that the stream takes in all.
struct PJRT_CopyToDeviceStream_TotalBytes_Args {
  PJRT_STRUCT_HEAD;
  PJRT_CopyToDeviceStream* stream;
  int64_t total_bytes;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_CopyToDeviceStream_TotalBytes, total_bytes);

// Pieces are multiples of this size.
struct PJRT_CopyToDeviceStream_GranuleSize_Args {
  PJRT_STRUCT_HEAD;
  PJRT_CopyToDeviceStream* stream;
  int64_t granule_size_in_bytes;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_CopyToDeviceStream_GranuleSize, granule_size_in_bytes);

// Bytes taken so far.
struct PJRT_CopyToDeviceStream_CurrentBytes_Args {
  PJRT_STRUCT_HEAD;
  PJRT_CopyToDeviceStream* stream;
  int64_t current_bytes;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_CopyToDeviceStream_CurrentBytes, current_bytes);

#endif  // KILN_C_API_PJRT_TRANSFER_H_
