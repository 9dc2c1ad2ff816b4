// Clients: creation, look-ups and compilation.
#ifndef KILN_C_API_PJRT_CLIENT_H_
#define KILN_C_API_PJRT_CLIENT_H_

#include "error.h"
#include "memory.h"

typedef struct PJRT_KeyValueGetCallback_Args PJRT_KeyValueGetCallback_Args;
typedef struct PJRT_KeyValuePutCallback_Args PJRT_KeyValuePutCallback_Args;
typedef struct PJRT_KeyValueTryGetCallback_Args PJRT_KeyValueTryGetCallback_Args;
typedef struct PJRT_ProcessInfo PJRT_ProcessInfo;

// Frees the value that the callback returned.
typedef void (*PJRT_KeyValueGetCallback_ValueDeleter)(char*);

// Blocking look-up in the job's key-value store.
struct PJRT_KeyValueGetCallback_Args {
  PJRT_STRUCT_HEAD;
  const char* key;
  size_t key_size;
  int timeout_in_ms;
  PJRT_CallbackError* callback_error;
  void* user_arg;
  char* value;  // out
  size_t value_size;  // out
  PJRT_KeyValueGetCallback_ValueDeleter value_deleter_callback;  // out
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_KeyValueGetCallback_Args, value_deleter_callback);
// The callback itself.
typedef PJRT_Error* (*PJRT_KeyValueGetCallback)(PJRT_KeyValueGetCallback_Args*);

// Frees the value that the callback returned.
typedef void (*PJRT_KeyValueTryGetCallback_ValueDeleter)(char*);

// Look-up that does not wait.
struct PJRT_KeyValueTryGetCallback_Args {
  PJRT_STRUCT_HEAD;
  const char* key;
  size_t key_size;
  PJRT_CallbackError* callback_error;
  void* user_arg;
  char* value;  // out
  size_t value_size;  // out
  PJRT_KeyValueTryGetCallback_ValueDeleter value_deleter_callback;  // out
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_KeyValueTryGetCallback_Args, value_deleter_callback);
// The callback itself.
typedef PJRT_Error* (*PJRT_KeyValueTryGetCallback)(PJRT_KeyValueTryGetCallback_Args*);

// Store of a value.
struct PJRT_KeyValuePutCallback_Args {
  PJRT_STRUCT_HEAD;
  const char* key;
  size_t key_size;
  const char* value;
  size_t value_size;
  PJRT_CallbackError* callback_error;
  void* user_arg;
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_KeyValuePutCallback_Args, user_arg);
// The callback itself.
typedef PJRT_Error* (*PJRT_KeyValuePutCallback)(PJRT_KeyValuePutCallback_Args*);

typedef enum {
  PJRT_ProcessState_kUnspecified = 0,
  PJRT_ProcessState_kUninitialized = 1,
  PJRT_ProcessState_kDisconnected = 2,
  PJRT_ProcessState_kConnected = 3,
  PJRT_ProcessState_kError = 4,
} PJRT_ProcessState;

// State of one process of the job.
struct PJRT_ProcessInfo {
  size_t struct_size;
  int task_id;
  uint64_t incarnation_id;
  PJRT_ProcessState state;
  int error_code;
  const char* error_message;
  size_t error_message_size;
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_ProcessInfo, error_message_size);

// Makes a client. Options are named values; the key-value callbacks join the processes of a distributed job.
struct PJRT_Client_Create_Args {
  PJRT_STRUCT_HEAD;
  const PJRT_NamedValue* create_options;
  size_t num_options;
  PJRT_KeyValueGetCallback kv_get_callback;
  void* kv_get_user_arg;
  PJRT_KeyValuePutCallback kv_put_callback;
  void* kv_put_user_arg;
  PJRT_Client* client;  // out
  PJRT_KeyValueTryGetCallback kv_try_get_callback;
  void* kv_try_get_user_arg;
};
PJRT_DEFINE_FUNCTION(PJRT_Client_Create, kv_try_get_user_arg);

// Shuts the client down after the work in flight.
struct PJRT_Client_Destroy_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
};
PJRT_DEFINE_FUNCTION(PJRT_Client_Destroy, client);

// The name that selects lowering rules in a framework.
struct PJRT_Client_PlatformName_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  const char* platform_name;  // out
  size_t platform_name_size;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Client_PlatformName, platform_name_size);

// Index of this process within the job.
struct PJRT_Client_ProcessIndex_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  int process_index;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Client_ProcessIndex, process_index);

// Human-readable version of the platform.
struct PJRT_Client_PlatformVersion_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  const char* platform_version;  // out
  size_t platform_version_size;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Client_PlatformVersion, platform_version_size);

// All devices of the job.
struct PJRT_Client_Devices_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  PJRT_Device* const* devices;  // out
  size_t num_devices;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Client_Devices, num_devices);

// The devices that this process may use.
struct PJRT_Client_AddressableDevices_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  PJRT_Device* const* addressable_devices;  // out
  size_t num_addressable_devices;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Client_AddressableDevices, num_addressable_devices);

// The device of a global id.
struct PJRT_Client_LookupDevice_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  int id;
  PJRT_Device* device;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Client_LookupDevice, device);

// The device of a local hardware id.
struct PJRT_Client_LookupAddressableDevice_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  int local_hardware_id;
  PJRT_Device* addressable_device;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Client_LookupAddressableDevice, addressable_device);

// The memories that this process may use.
struct PJRT_Client_AddressableMemories_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  PJRT_Memory* const* addressable_memories;  // out
  size_t num_addressable_memories;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Client_AddressableMemories, num_addressable_memories);

// Compiles a program and loads it on the client's devices.
struct PJRT_Client_Compile_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  const PJRT_Program* program;
  const char* compile_options;
  size_t compile_options_size;
  PJRT_LoadedExecutable* executable;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Client_Compile, executable);

// Writes the device id of each (replica, partition), row by row, into the caller's array.
struct PJRT_Client_DefaultDeviceAssignment_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  int num_replicas;
  int num_partitions;
  size_t default_assignment_size;
  int* default_assignment;
};
PJRT_DEFINE_FUNCTION(PJRT_Client_DefaultDeviceAssignment, default_assignment);

// The client's topology; the client owns it.
struct PJRT_Client_TopologyDescription_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  PJRT_TopologyDescription* topology;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Client_TopologyDescription, topology);

// Registers host memory for direct transfers.
struct PJRT_Client_DmaMap_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  void* data;
  size_t size;
};
PJRT_DEFINE_FUNCTION(PJRT_Client_DmaMap, size);

// Takes back PJRT_Client_DmaMap.
struct PJRT_Client_DmaUnmap_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  void* data;
};
PJRT_DEFINE_FUNCTION(PJRT_Client_DmaUnmap, data);

// Tells the client how the other processes of the job fare.
struct PJRT_Client_UpdateGlobalProcessInfo_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  PJRT_ProcessInfo* process_infos;
  size_t num_process_infos;
};
PJRT_DEFINE_FUNCTION(PJRT_Client_UpdateGlobalProcessInfo, num_process_infos);

// Loads an executable that was compiled apart from a client. Since 95.
struct PJRT_Client_Load_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Client* client;
  PJRT_Executable* executable;
  const char* compile_options;
  size_t compile_options_size;
  PJRT_LoadedExecutable* loaded_executable;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Client_Load, loaded_executable);

#endif  // KILN_C_API_PJRT_CLIENT_H_
