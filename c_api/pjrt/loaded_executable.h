// Executables on devices, and running them.
#ifndef KILN_C_API_PJRT_LOADED_EXECUTABLE_H_
#define KILN_C_API_PJRT_LOADED_EXECUTABLE_H_

#include "error.h"
#include "transfer.h"

typedef struct PJRT_ExecuteOptions PJRT_ExecuteOptions;
typedef struct PJRT_HloOutputCallbackInfo PJRT_HloOutputCallbackInfo;
typedef struct PJRT_LoadOptions PJRT_LoadOptions;
typedef struct PJRT_LogicalDeviceIds PJRT_LogicalDeviceIds;
typedef struct PJRT_RecvCallbackInfo PJRT_RecvCallbackInfo;
typedef struct PJRT_SendCallbackInfo PJRT_SendCallbackInfo;

// Consumes a chunk that the program sent.
typedef PJRT_Error* (*PJRT_SendCallback)(PJRT_Chunk*, PJRT_Error*(**)(PJRT_Error_Code, const char*, size_t), size_t, bool, void*);

// Feeds a stream that the program receives from.
typedef void (*PJRT_RecvCallback)(PJRT_CopyToDeviceStream*, void*);

// Observes one value of the program.
typedef void (*PJRT_HloOutputCallback)(int64_t, int64_t, const void*, const int64_t*, size_t, PJRT_Buffer_Type, int64_t, void*);

// Callback for the send ops of one channel.
struct PJRT_SendCallbackInfo {
  int64_t channel_id;
  void* user_arg;
  PJRT_SendCallback send_callback;
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_SendCallbackInfo, send_callback);

// Callback for the recv ops of one channel.
struct PJRT_RecvCallbackInfo {
  int64_t channel_id;
  void* user_arg;
  PJRT_RecvCallback recv_callback;
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_RecvCallbackInfo, recv_callback);

// Callback that observes values during a run.
struct PJRT_HloOutputCallbackInfo {
  void* user_arg;
  PJRT_HloOutputCallback callback;
  int64_t callback_id;
  size_t num_operands;
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_HloOutputCallbackInfo, num_operands);

// Options of one run.
struct PJRT_ExecuteOptions {
  PJRT_STRUCT_HEAD;
  PJRT_SendCallbackInfo** send_callbacks;
  PJRT_RecvCallbackInfo** recv_callbacks;
  size_t num_send_ops;
  size_t num_recv_ops;
  int launch_id;
  const int64_t* non_donatable_input_indices;
  size_t num_non_donatable_input_indices;
  PJRT_ExecuteContext* context;
  const char* call_location;
  size_t num_tasks;
  int* task_ids;
  int64_t* incarnation_ids;
  PJRT_MultiSlice_Config* multi_slice_config;  // since 97
  bool use_major_to_minor_data_layout_for_callbacks;  // since 110
  PJRT_HloOutputCallbackInfo* hlo_output_callbacks;  // since 113
  size_t num_hlo_output_callbacks;  // since 113
  const PJRT_NamedValue* custom_options;  // since 116
  size_t num_custom_options;  // since 116
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_ExecuteOptions, num_custom_options);

// Options of loading an executable.
struct PJRT_LoadOptions {
  size_t struct_size;
  const int32_t* computation_origin;
  size_t computation_origin_size;
  PJRT_MultiSlice_Config* multi_slice_config;
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_LoadOptions, multi_slice_config);

// Place of a device in the device assignment.
struct PJRT_LogicalDeviceIds {
  int replica;
  int partition;
};

// A context that carries user data into executions.
struct PJRT_ExecuteContext_Create_Args {
  PJRT_STRUCT_HEAD;
  PJRT_ExecuteContext* context;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_ExecuteContext_Create, context);

// Frees a context.
struct PJRT_ExecuteContext_Destroy_Args {
  PJRT_STRUCT_HEAD;
  PJRT_ExecuteContext* context;
};
PJRT_DEFINE_FUNCTION(PJRT_ExecuteContext_Destroy, context);

// Frees a loaded executable after its last run.
struct PJRT_LoadedExecutable_Destroy_Args {
  PJRT_STRUCT_HEAD;
  PJRT_LoadedExecutable* executable;
};
PJRT_DEFINE_FUNCTION(PJRT_LoadedExecutable_Destroy, executable);

// A new handle on the executable behind; the caller destroys it.
struct PJRT_LoadedExecutable_GetExecutable_Args {
  PJRT_STRUCT_HEAD;
  PJRT_LoadedExecutable* loaded_executable;
  PJRT_Executable* executable;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_LoadedExecutable_GetExecutable, executable);

// The devices of this process that the executable runs on.
struct PJRT_LoadedExecutable_AddressableDevices_Args {
  PJRT_STRUCT_HEAD;
  PJRT_LoadedExecutable* executable;
  PJRT_Device* const* addressable_devices;  // out
  size_t num_addressable_devices;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_LoadedExecutable_AddressableDevices, num_addressable_devices);

// Drops device resources; only IsDeleted and Destroy are valid afterwards.
struct PJRT_LoadedExecutable_Delete_Args {
  PJRT_STRUCT_HEAD;
  PJRT_LoadedExecutable* executable;
};
PJRT_DEFINE_FUNCTION(PJRT_LoadedExecutable_Delete, executable);

// Whether PJRT_LoadedExecutable_Delete was called.
struct PJRT_LoadedExecutable_IsDeleted_Args {
  PJRT_STRUCT_HEAD;
  PJRT_LoadedExecutable* executable;
  bool is_deleted;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_LoadedExecutable_IsDeleted, is_deleted);

// Enqueues one run on every device and writes new output buffers into the caller's lists.
struct PJRT_LoadedExecutable_Execute_Args {
  PJRT_STRUCT_HEAD;
  PJRT_LoadedExecutable* executable;
  PJRT_ExecuteOptions* options;
  PJRT_Buffer* const* const* argument_lists;
  size_t num_devices;
  size_t num_args;
  PJRT_Buffer** const* output_lists;
  PJRT_Event** device_complete_events;
  PJRT_Device* execute_device;
};
PJRT_DEFINE_FUNCTION(PJRT_LoadedExecutable_Execute, execute_device);

// Older form of PJRT_Executable_Fingerprint.
struct PJRT_LoadedExecutable_Fingerprint_Args {
  PJRT_STRUCT_HEAD;
  PJRT_LoadedExecutable* executable;
  const char* executable_fingerprint;  // out
  size_t executable_fingerprint_size;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_LoadedExecutable_Fingerprint, executable_fingerprint_size);

// The serialized device assignment; freed by the returned deleter.
struct PJRT_LoadedExecutable_GetDeviceAssignment_Args {
  PJRT_STRUCT_HEAD;
  PJRT_LoadedExecutable* executable;
  const char* serialized_bytes;  // out
  size_t serialized_bytes_size;  // out
  PJRT_DeviceAssignmentSerialized* serialized_device_assignment;
  void (*serialized_device_assignment_deleter)(PJRT_DeviceAssignmentSerialized*);  // out
};
PJRT_DEFINE_FUNCTION(PJRT_LoadedExecutable_GetDeviceAssignment, serialized_device_assignment_deleter);

// (replica, partition) of each of those devices. Since 96.
struct PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args {
  PJRT_STRUCT_HEAD;
  PJRT_LoadedExecutable* executable;
  PJRT_LogicalDeviceIds* addressable_device_logical_ids;  // out
  size_t num_addressable_device_logical_ids;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_LoadedExecutable_AddressableDeviceLogicalIds, num_addressable_device_logical_ids);

// Loads what PJRT_Executable_Serialize wrote.
struct PJRT_Executable_DeserializeAndLoad_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  const char* serialized_executable;
  size_t serialized_executable_size;
  PJRT_LoadedExecutable* loaded_executable;  // out
  const char* overridden_serialized_compile_options;
  size_t overridden_serialized_compile_options_size;
  PJRT_LoadOptions* load_options;  // since 113
};
PJRT_DEFINE_FUNCTION(PJRT_Executable_DeserializeAndLoad, load_options);

#endif  // KILN_C_API_PJRT_LOADED_EXECUTABLE_H_
