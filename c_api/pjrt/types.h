// Types that all parts of the PJRT C API share.
#ifndef KILN_C_API_PJRT_TYPES_H_
#define KILN_C_API_PJRT_TYPES_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct PJRT_Buffer_MemoryLayout PJRT_Buffer_MemoryLayout;
typedef struct PJRT_Buffer_MemoryLayout_Strides PJRT_Buffer_MemoryLayout_Strides;
typedef struct PJRT_Buffer_MemoryLayout_Tiled PJRT_Buffer_MemoryLayout_Tiled;
typedef struct PJRT_Extension_Base PJRT_Extension_Base;
typedef struct PJRT_NamedValue PJRT_NamedValue;
typedef struct PJRT_Program PJRT_Program;
typedef struct PJRT_ShapeSpec PJRT_ShapeSpec;

// Opaque objects. Whoever gets one from a Create, Compile, Copy or Execute function destroys it; see each function.
typedef struct PJRT_AsyncHostToDeviceTransferManager PJRT_AsyncHostToDeviceTransferManager;
typedef struct PJRT_AsyncTrackingEvent PJRT_AsyncTrackingEvent;
typedef struct PJRT_Buffer PJRT_Buffer;
typedef struct PJRT_Client PJRT_Client;
typedef struct PJRT_CopyToDeviceStream PJRT_CopyToDeviceStream;
typedef struct PJRT_Device PJRT_Device;
typedef struct PJRT_DeviceAssignmentSerialized PJRT_DeviceAssignmentSerialized;
typedef struct PJRT_DeviceDescription PJRT_DeviceDescription;
typedef struct PJRT_Device_Attributes PJRT_Device_Attributes;
typedef struct PJRT_Event PJRT_Event;
typedef struct PJRT_Executable PJRT_Executable;
typedef struct PJRT_ExecuteContext PJRT_ExecuteContext;
typedef struct PJRT_FulfillAliasBufferCallback PJRT_FulfillAliasBufferCallback;
typedef struct PJRT_LoadedExecutable PJRT_LoadedExecutable;
typedef struct PJRT_MultiSlice_Config PJRT_MultiSlice_Config;
typedef struct PJRT_SerializedCompileOptions PJRT_SerializedCompileOptions;
typedef struct PJRT_SerializedExecutable PJRT_SerializedExecutable;
typedef struct PJRT_SerializedTopology PJRT_SerializedTopology;
typedef struct PJRT_TopologyDescription PJRT_TopologyDescription;

// Callers write into `struct_size` the size that they know; a callee touches a field only when it lies inside. The
// constant ends at the last field, without tail padding.
#define PJRT_STRUCT_HEAD \
  size_t struct_size;    \
  PJRT_Extension_Base* extension_start
#define PJRT_DEFINE_STRUCT_SIZE(type, last_field) \
  enum { type##_STRUCT_SIZE = offsetof(type, last_field) + sizeof(((type*)0)->last_field) }
// A function of a table by its argument structure, which stands above.
#define PJRT_DEFINE_FUNCTION(function, last_field)      \
  typedef struct function##_Args function##_Args;       \
  PJRT_DEFINE_STRUCT_SIZE(function##_Args, last_field); \
  typedef PJRT_Error* function(function##_Args* args)

typedef enum {
  PJRT_Extension_Type_Gpu_Custom_Call = 0,
  PJRT_Extension_Type_Profiler = 1,
  PJRT_Extension_Type_Custom_Partitioner = 2,
  PJRT_Extension_Type_Stream = 3,
  PJRT_Extension_Type_Layouts = 4,
  PJRT_Extension_Type_FFI = 5,
  PJRT_Extension_Type_MemoryDescriptions = 6,
  PJRT_Extension_Type_Triton = 7,
  PJRT_Extension_Type_RawBuffer = 8,
  PJRT_Extension_Type_PhaseCompile = 9,
  PJRT_Extension_Type_Example = 10,
  PJRT_Extension_Type_Unknown = 11,
  PJRT_Extension_Type_CrossHostTransfers = 12,
  PJRT_Extension_Type_ExecutableMetadata = 13,
  PJRT_Extension_Type_Callback = 14,
  PJRT_Extension_Type_HostAllocator = 15,
  PJRT_Extension_Type_TpuTopology = 16,
  PJRT_Extension_Type_TpuExecutable = 17,
  PJRT_Extension_Type_Megascale = 18,
  PJRT_Extension_Type_Shardings = 19,  // since 91
  PJRT_Extension_Type_AbiVersion = 20,  // since 103
  PJRT_Extension_Type_Collectives = 21,  // since 103
  PJRT_Extension_Type_MultiSlice = 22,  // since 103
  PJRT_Extension_Type_HostMemoryAllocator = 23,  // since 104
  PJRT_Extension_Type_XlaTransform = 24,  // since 110
} PJRT_Extension_Type;

// First member of every extension: a node of a singly linked list. Unknown types are skipped.
struct PJRT_Extension_Base {
  size_t struct_size;
  PJRT_Extension_Type type;
  PJRT_Extension_Base* next;
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_Extension_Base, next);

typedef enum {
  PJRT_Error_Code_OK = 0,
  PJRT_Error_Code_CANCELLED = 1,
  PJRT_Error_Code_UNKNOWN = 2,
  PJRT_Error_Code_INVALID_ARGUMENT = 3,
  PJRT_Error_Code_DEADLINE_EXCEEDED = 4,
  PJRT_Error_Code_NOT_FOUND = 5,
  PJRT_Error_Code_ALREADY_EXISTS = 6,
  PJRT_Error_Code_PERMISSION_DENIED = 7,
  PJRT_Error_Code_RESOURCE_EXHAUSTED = 8,
  PJRT_Error_Code_FAILED_PRECONDITION = 9,
  PJRT_Error_Code_ABORTED = 10,
  PJRT_Error_Code_OUT_OF_RANGE = 11,
  PJRT_Error_Code_UNIMPLEMENTED = 12,
  PJRT_Error_Code_INTERNAL = 13,
  PJRT_Error_Code_UNAVAILABLE = 14,
  PJRT_Error_Code_DATA_LOSS = 15,
  PJRT_Error_Code_UNAUTHENTICATED = 16,
} PJRT_Error_Code;

typedef enum {
  PJRT_NamedValue_kString = 0,
  PJRT_NamedValue_kInt64 = 1,
  PJRT_NamedValue_kInt64List = 2,
  PJRT_NamedValue_kFloat = 3,
  PJRT_NamedValue_kBool = 4,
} PJRT_NamedValue_Type;

// A name with a typed value; `value_size` counts characters or list elements, and is 1 for scalars.
struct PJRT_NamedValue {
  PJRT_STRUCT_HEAD;
  const char* name;
  size_t name_size;
  PJRT_NamedValue_Type type;
  union {
    const char* string_value;
    int64_t int64_value;
    const int64_t* int64_array_value;
    float float_value;
    bool bool_value;
  };
  size_t value_size;
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_NamedValue, value_size);

typedef enum {
  PJRT_Buffer_Type_INVALID = 0,
  PJRT_Buffer_Type_PRED = 1,
  PJRT_Buffer_Type_S8 = 2,
  PJRT_Buffer_Type_S16 = 3,
  PJRT_Buffer_Type_S32 = 4,
  PJRT_Buffer_Type_S64 = 5,
  PJRT_Buffer_Type_U8 = 6,
  PJRT_Buffer_Type_U16 = 7,
  PJRT_Buffer_Type_U32 = 8,
  PJRT_Buffer_Type_U64 = 9,
  PJRT_Buffer_Type_F16 = 10,
  PJRT_Buffer_Type_F32 = 11,
  PJRT_Buffer_Type_F64 = 12,
  PJRT_Buffer_Type_BF16 = 13,
  PJRT_Buffer_Type_C64 = 14,
  PJRT_Buffer_Type_C128 = 15,
  PJRT_Buffer_Type_F8E5M2 = 16,
  PJRT_Buffer_Type_F8E4M3FN = 17,
  PJRT_Buffer_Type_F8E4M3B11FNUZ = 18,
  PJRT_Buffer_Type_F8E5M2FNUZ = 19,
  PJRT_Buffer_Type_F8E4M3FNUZ = 20,
  PJRT_Buffer_Type_S4 = 21,
  PJRT_Buffer_Type_U4 = 22,
  PJRT_Buffer_Type_TOKEN = 23,
  PJRT_Buffer_Type_S2 = 24,
  PJRT_Buffer_Type_U2 = 25,
  PJRT_Buffer_Type_F8E4M3 = 26,
  PJRT_Buffer_Type_F8E3M4 = 27,
  PJRT_Buffer_Type_F8E8M0FNU = 28,
  PJRT_Buffer_Type_F4E2M1FN = 29,
  PJRT_Buffer_Type_S1 = 30,  // since 94
  PJRT_Buffer_Type_U1 = 31,  // since 94
  PJRT_Buffer_Type_F6E2M3FN = 32,  // since 114
  PJRT_Buffer_Type_F6E3M2FN = 33,  // since 114
} PJRT_Buffer_Type;

typedef enum {
  PJRT_Buffer_MemoryLayout_Type_Tiled = 0,
  PJRT_Buffer_MemoryLayout_Type_Strides = 1,
} PJRT_Buffer_MemoryLayout_Type;

// Order of dimensions, minor to major, and tiles as one flat list of dimensions with the rank of each tile.
struct PJRT_Buffer_MemoryLayout_Tiled {
  PJRT_STRUCT_HEAD;
  const int64_t* minor_to_major;
  size_t minor_to_major_size;
  const int64_t* tile_dims;
  const size_t* tile_dim_sizes;
  size_t num_tiles;
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_MemoryLayout_Tiled, num_tiles);

// Distance in bytes between neighbours along each dimension; may be negative on the host side.
struct PJRT_Buffer_MemoryLayout_Strides {
  PJRT_STRUCT_HEAD;
  const int64_t* byte_strides;
  size_t num_byte_strides;
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_MemoryLayout_Strides, num_byte_strides);

// One of the two forms of layout.
struct PJRT_Buffer_MemoryLayout {
  PJRT_STRUCT_HEAD;
  union {
    PJRT_Buffer_MemoryLayout_Tiled tiled;
    PJRT_Buffer_MemoryLayout_Strides strides;
  };
  PJRT_Buffer_MemoryLayout_Type type;
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_Buffer_MemoryLayout, type);

// Type and dimensions of an array.
struct PJRT_ShapeSpec {
  PJRT_STRUCT_HEAD;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Buffer_Type element_type;
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_ShapeSpec, element_type);

// A program in the format `mlir`, `hlo` or `hlo_with_config`.
struct PJRT_Program {
  PJRT_STRUCT_HEAD;
  char* code;
  size_t code_size;
  const char* format;
  size_t format_size;
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_Program, format_size);

#endif  // KILN_C_API_PJRT_TYPES_H_
