// Memories of devices.
#ifndef KILN_C_API_PJRT_MEMORY_H_
#define KILN_C_API_PJRT_MEMORY_H_

#include "error.h"

typedef struct PJRT_Memory PJRT_Memory;
typedef struct PJRT_Memory_FunctionTable PJRT_Memory_FunctionTable;

// User data attached to a memory, keyed by address.
struct PJRT_Memory_FunctionTable {
  size_t struct_size;  // since 107
  PJRT_Extension_Base* extension_start;  // since 107
  size_t instance_struct_size;  // since 107
  void*(*get_user_data)(PJRT_Memory*, const void*);  // since 107
  void (*set_user_data)(PJRT_Memory*, const void*, void*, void (*)(void*));  // since 107
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_Memory_FunctionTable, set_user_data);

// Every memory starts with this word; the table may be null.
struct PJRT_Memory {
  const PJRT_Memory_FunctionTable* vtable;  // since 107
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_Memory, vtable);

// The memory's id, unique among the client's memories.
struct PJRT_Memory_Id_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Memory* memory;
  int id;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Memory_Id, id);

// Name of the kind, such as `device`.
struct PJRT_Memory_Kind_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Memory* memory;
  const char* kind;  // out
  size_t kind_size;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Memory_Kind, kind_size);

// A long text for logs.
struct PJRT_Memory_DebugString_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Memory* memory;
  const char* debug_string;  // out
  size_t debug_string_size;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Memory_DebugString, debug_string_size);

// A short text for users.
struct PJRT_Memory_ToString_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Memory* memory;
  const char* to_string;  // out
  size_t to_string_size;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Memory_ToString, to_string_size);

// The devices that can use the memory.
struct PJRT_Memory_AddressableByDevices_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Memory* memory;
  PJRT_Device* const* devices;  // out
  size_t num_devices;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Memory_AddressableByDevices, num_devices);

// Number of the kind.
struct PJRT_Memory_Kind_Id_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Memory* memory;
  int kind_id;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Memory_Kind_Id, kind_id);

#endif  // KILN_C_API_PJRT_MEMORY_H_
