// The C ABI of XLA's foreign function interface, version 0.5: what handlers of custom calls are compiled against.
// Handlers built for 0.3 see the same structures; what 0.4 and 0.5 added stands at ends. Pure C, no dependencies.
//
// Whoever fills a structure writes its NAME_STRUCT_SIZE into `struct_size`; readers touch a field only when it lies
// inside.
#ifndef KILN_RUNTIME_FFI_FFI_ABI_H_
#define KILN_RUNTIME_FFI_FFI_ABI_H_

#include <stddef.h>
#include <stdint.h>

#define XLA_FFI_API_MAJOR 0
#define XLA_FFI_API_MINOR 5

#define XLA_FFI_STRUCT_HEAD \
  size_t struct_size;       \
  XLA_FFI_Extension_Base* extension_start
#define XLA_FFI_DEFINE_STRUCT_SIZE(type, last_field) \
  enum { type##_STRUCT_SIZE = offsetof(type, last_field) + sizeof(((type*)0)->last_field) }

typedef struct XLA_FFI_Error XLA_FFI_Error;
typedef struct XLA_FFI_Future XLA_FFI_Future;
// One call of a handler: what run and call site it belongs to.
typedef struct XLA_FFI_ExecutionContext XLA_FFI_ExecutionContext;
typedef struct XLA_FFI_InternalApi XLA_FFI_InternalApi;
typedef struct XLA_FFI_Api XLA_FFI_Api;
typedef struct XLA_FFI_CallFrame XLA_FFI_CallFrame;

typedef enum {
  XLA_FFI_Extension_Metadata = 1,
} XLA_FFI_Extension_Type;

typedef enum {
  XLA_FFI_Error_Code_OK = 0,
  XLA_FFI_Error_Code_CANCELLED = 1,
  XLA_FFI_Error_Code_UNKNOWN = 2,
  XLA_FFI_Error_Code_INVALID_ARGUMENT = 3,
  XLA_FFI_Error_Code_DEADLINE_EXCEEDED = 4,
  XLA_FFI_Error_Code_NOT_FOUND = 5,
  XLA_FFI_Error_Code_ALREADY_EXISTS = 6,
  XLA_FFI_Error_Code_PERMISSION_DENIED = 7,
  XLA_FFI_Error_Code_RESOURCE_EXHAUSTED = 8,
  XLA_FFI_Error_Code_FAILED_PRECONDITION = 9,
  XLA_FFI_Error_Code_ABORTED = 10,
  XLA_FFI_Error_Code_OUT_OF_RANGE = 11,
  XLA_FFI_Error_Code_UNIMPLEMENTED = 12,
  XLA_FFI_Error_Code_INTERNAL = 13,
  XLA_FFI_Error_Code_UNAVAILABLE = 14,
  XLA_FFI_Error_Code_DATA_LOSS = 15,
  XLA_FFI_Error_Code_UNAUTHENTICATED = 16,
} XLA_FFI_Error_Code;

// The numbers of hlo::PrimitiveType.
typedef enum {
  XLA_FFI_DataType_INVALID = 0,
  XLA_FFI_DataType_PRED = 1,
  XLA_FFI_DataType_S8 = 2,
  XLA_FFI_DataType_S16 = 3,
  XLA_FFI_DataType_S32 = 4,
  XLA_FFI_DataType_S64 = 5,
  XLA_FFI_DataType_U8 = 6,
  XLA_FFI_DataType_U16 = 7,
  XLA_FFI_DataType_U32 = 8,
  XLA_FFI_DataType_U64 = 9,
  XLA_FFI_DataType_F16 = 10,
  XLA_FFI_DataType_F32 = 11,
  XLA_FFI_DataType_F64 = 12,
  XLA_FFI_DataType_C64 = 15,
  XLA_FFI_DataType_BF16 = 16,
  XLA_FFI_DataType_TOKEN = 17,
  XLA_FFI_DataType_C128 = 18,
  XLA_FFI_DataType_F8E5M2 = 19,
  XLA_FFI_DataType_F8E4M3FN = 20,
  XLA_FFI_DataType_S4 = 21,
  XLA_FFI_DataType_U4 = 22,
  XLA_FFI_DataType_F8E4M3B11FNUZ = 23,
  XLA_FFI_DataType_F8E5M2FNUZ = 24,
  XLA_FFI_DataType_F8E4M3FNUZ = 25,
  XLA_FFI_DataType_S2 = 26,
  XLA_FFI_DataType_U2 = 27,
  XLA_FFI_DataType_F8E4M3 = 28,
  XLA_FFI_DataType_F8E3M4 = 29,
  XLA_FFI_DataType_S1 = 30,
  XLA_FFI_DataType_U1 = 31,
  XLA_FFI_DataType_F4E2M1FN = 32,
  XLA_FFI_DataType_F8E8M0FNU = 33,
} XLA_FFI_DataType;

typedef enum {
  XLA_FFI_ArgType_BUFFER = 1,
} XLA_FFI_ArgType;

typedef enum {
  XLA_FFI_RetType_BUFFER = 1,
} XLA_FFI_RetType;

typedef enum {
  XLA_FFI_AttrType_ARRAY = 1,
  XLA_FFI_AttrType_DICTIONARY = 2,
  XLA_FFI_AttrType_SCALAR = 3,
  XLA_FFI_AttrType_STRING = 4,
} XLA_FFI_AttrType;

typedef enum {
  XLA_FFI_ExecutionStage_INSTANTIATE = 0,
  XLA_FFI_ExecutionStage_PREPARE = 1,
  XLA_FFI_ExecutionStage_INITIALIZE = 2,
  XLA_FFI_ExecutionStage_EXECUTE = 3,
  XLA_FFI_ExecutionStage_RECORD = 4,
} XLA_FFI_ExecutionStage;

enum XLA_FFI_Handler_TraitsBits {
  XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE = 1,
};
typedef uint32_t XLA_FFI_Handler_Traits;

typedef XLA_FFI_Error* XLA_FFI_Handler(XLA_FFI_CallFrame* call_frame);
typedef void XLA_FFI_Task(void* data);

typedef struct XLA_FFI_Extension_Base {
  size_t struct_size;
  XLA_FFI_Extension_Type type;
  struct XLA_FFI_Extension_Base* next;
} XLA_FFI_Extension_Base;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_Extension_Base, next);

typedef struct XLA_FFI_Api_Version {
  XLA_FFI_STRUCT_HEAD;
  int major_version;
  int minor_version;
} XLA_FFI_Api_Version;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_Api_Version, minor_version);

// The message ends in NUL and is copied.
typedef struct XLA_FFI_Error_Create_Args {
  XLA_FFI_STRUCT_HEAD;
  const char* message;
  XLA_FFI_Error_Code errc;
} XLA_FFI_Error_Create_Args;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_Error_Create_Args, errc);

// Since 0.5 the code as well; callers of 0.3 end at `message`.
typedef struct XLA_FFI_Error_GetMessage_Args {
  XLA_FFI_STRUCT_HEAD;
  XLA_FFI_Error* error;
  const char* message;
  XLA_FFI_Error_Code errc;
} XLA_FFI_Error_GetMessage_Args;
enum { XLA_FFI_Error_GetMessage_Args_STRUCT_SIZE = 32, XLA_FFI_Error_GetDetails_Args_STRUCT_SIZE = 36 };

typedef struct XLA_FFI_Error_Destroy_Args {
  XLA_FFI_STRUCT_HEAD;
  XLA_FFI_Error* error;
} XLA_FFI_Error_Destroy_Args;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_Error_Destroy_Args, error);

// `dims` has `rank` sizes. A token has data type TOKEN, rank 0 and no data.
typedef struct XLA_FFI_Buffer {
  XLA_FFI_STRUCT_HEAD;
  XLA_FFI_DataType dtype;
  void* data;
  int64_t rank;
  int64_t* dims;
} XLA_FFI_Buffer;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_Buffer, dims);

typedef struct XLA_FFI_ByteSpan {
  const char* ptr;
  size_t len;
} XLA_FFI_ByteSpan;

typedef struct XLA_FFI_Scalar {
  XLA_FFI_DataType dtype;
  void* value;
} XLA_FFI_Scalar;

typedef struct XLA_FFI_Array {
  XLA_FFI_DataType dtype;
  size_t size;
  void* data;
} XLA_FFI_Array;

typedef struct XLA_FFI_TypeId {
  int64_t type_id;
} XLA_FFI_TypeId;

typedef struct XLA_FFI_TypeInfo {
  XLA_FFI_STRUCT_HEAD;
  void (*deleter)(void*);
} XLA_FFI_TypeInfo;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_TypeInfo, deleter);

typedef struct XLA_FFI_Future_Create_Args {
  XLA_FFI_STRUCT_HEAD;
  XLA_FFI_Future* future;
} XLA_FFI_Future_Create_Args;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_Future_Create_Args, extension_start);

typedef struct XLA_FFI_Future_SetAvailable_Args {
  XLA_FFI_STRUCT_HEAD;
  XLA_FFI_Future* future;
} XLA_FFI_Future_SetAvailable_Args;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_Future_SetAvailable_Args, future);

// Takes the error over.
typedef struct XLA_FFI_Future_SetError_Args {
  XLA_FFI_STRUCT_HEAD;
  XLA_FFI_Future* future;
  XLA_FFI_Error* error;
} XLA_FFI_Future_SetError_Args;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_Future_SetError_Args, error);

typedef struct XLA_FFI_Args {
  XLA_FFI_STRUCT_HEAD;
  int64_t size;
  XLA_FFI_ArgType* types;
  void** args;
} XLA_FFI_Args;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_Args, args);

typedef struct XLA_FFI_Rets {
  XLA_FFI_STRUCT_HEAD;
  int64_t size;
  XLA_FFI_RetType* types;
  void** rets;
} XLA_FFI_Rets;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_Rets, rets);

// Parallel arrays, sorted by name. What `attrs` points to goes by type: XLA_FFI_Array, XLA_FFI_Attrs, XLA_FFI_Scalar or
// XLA_FFI_ByteSpan.
typedef struct XLA_FFI_Attrs {
  XLA_FFI_STRUCT_HEAD;
  int64_t size;
  XLA_FFI_AttrType* types;
  XLA_FFI_ByteSpan** names;
  void** attrs;
} XLA_FFI_Attrs;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_Attrs, attrs);

// `future` lies behind the size that handlers compare with.
struct XLA_FFI_CallFrame {
  XLA_FFI_STRUCT_HEAD;
  const XLA_FFI_Api* api;
  XLA_FFI_ExecutionContext* ctx;
  XLA_FFI_ExecutionStage stage;
  XLA_FFI_Args args;
  XLA_FFI_Rets rets;
  XLA_FFI_Attrs attrs;
  XLA_FFI_Future* future;
};
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_CallFrame, attrs);

typedef struct XLA_FFI_Handler_Bundle {
  XLA_FFI_Handler* instantiate;
  XLA_FFI_Handler* prepare;
  XLA_FFI_Handler* initialize;
  XLA_FFI_Handler* execute;
} XLA_FFI_Handler_Bundle;

typedef struct XLA_FFI_Handler_Register_Args {
  XLA_FFI_STRUCT_HEAD;
  XLA_FFI_ByteSpan name;
  XLA_FFI_ByteSpan platform;
  XLA_FFI_Handler_Bundle bundle;
  XLA_FFI_Handler_Traits traits;
} XLA_FFI_Handler_Register_Args;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_Handler_Register_Args, traits);

// A type id of zero asks for a fresh one.
typedef struct XLA_FFI_Type_Register_Args {
  XLA_FFI_STRUCT_HEAD;
  XLA_FFI_ByteSpan name;
  XLA_FFI_TypeId* type_id;
  const XLA_FFI_TypeInfo* type_info;
} XLA_FFI_Type_Register_Args;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_Type_Register_Args, type_id);

typedef struct XLA_FFI_ExecutionContext_Get_Args {
  XLA_FFI_STRUCT_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  XLA_FFI_TypeId* type_id;
  void* data;
} XLA_FFI_ExecutionContext_Get_Args;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_ExecutionContext_Get_Args, data);

typedef struct XLA_FFI_State_Set_Args {
  XLA_FFI_STRUCT_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  XLA_FFI_ExecutionStage stage;
  XLA_FFI_TypeId* type_id;
  void* state;
} XLA_FFI_State_Set_Args;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_State_Set_Args, state);

typedef struct XLA_FFI_State_Get_Args {
  XLA_FFI_STRUCT_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  XLA_FFI_ExecutionStage stage;
  XLA_FFI_TypeId* type_id;
  void* state;
} XLA_FFI_State_Get_Args;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_State_Get_Args, state);

typedef struct XLA_FFI_Stream_Get_Args {
  XLA_FFI_STRUCT_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  void* stream;
} XLA_FFI_Stream_Get_Args;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_Stream_Get_Args, stream);

typedef struct XLA_FFI_DeviceMemory_Allocate_Args {
  XLA_FFI_STRUCT_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  size_t size;
  size_t alignment;
  void* data;
} XLA_FFI_DeviceMemory_Allocate_Args;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_DeviceMemory_Allocate_Args, data);

typedef struct XLA_FFI_DeviceMemory_Free_Args {
  XLA_FFI_STRUCT_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  size_t size;
  void* data;
} XLA_FFI_DeviceMemory_Free_Args;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_DeviceMemory_Free_Args, data);

typedef struct XLA_FFI_ThreadPool_Schedule_Args {
  XLA_FFI_STRUCT_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  XLA_FFI_Task* task;
  void* data;
} XLA_FFI_ThreadPool_Schedule_Args;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_ThreadPool_Schedule_Args, data);

typedef struct XLA_FFI_ThreadPool_NumThreads_Args {
  XLA_FFI_STRUCT_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  int64_t* num_threads;
} XLA_FFI_ThreadPool_NumThreads_Args;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_ThreadPool_NumThreads_Args, num_threads);

typedef struct XLA_FFI_RunId_Get_Args {
  XLA_FFI_STRUCT_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  int64_t run_id;
} XLA_FFI_RunId_Get_Args;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_RunId_Get_Args, run_id);

typedef struct XLA_FFI_DeviceOrdinal_Get_Args {
  XLA_FFI_STRUCT_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  int32_t device_ordinal;
} XLA_FFI_DeviceOrdinal_Get_Args;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_DeviceOrdinal_Get_Args, device_ordinal);

// Written by a handler that finds the extension below in its call frame.
typedef struct XLA_FFI_Metadata {
  size_t struct_size;
  XLA_FFI_Api_Version api_version;
  XLA_FFI_Handler_Traits traits;
  XLA_FFI_TypeId state_type_id;
} XLA_FFI_Metadata;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_Metadata, traits);

typedef struct XLA_FFI_Metadata_Extension {
  XLA_FFI_Extension_Base extension_base;
  XLA_FFI_Metadata* metadata;
} XLA_FFI_Metadata_Extension;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_Metadata_Extension, metadata);

typedef struct XLA_FFI_ExtensionId {
  int64_t extension_type;
  int32_t major_version;
  int32_t minor_version;
} XLA_FFI_ExtensionId;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_ExtensionId, minor_version);

typedef struct XLA_FFI_Extension {
  size_t struct_size;
  XLA_FFI_ExtensionId id;
  const struct XLA_FFI_Extension* next;
} XLA_FFI_Extension;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_Extension, next);

typedef struct XLA_FFI_InvokeContext_FindExtension_Args {
  XLA_FFI_STRUCT_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  int64_t extension_type;
  const XLA_FFI_Extension* extension;
} XLA_FFI_InvokeContext_FindExtension_Args;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_InvokeContext_FindExtension_Args, extension);

typedef struct XLA_FFI_CustomOptions_Get_Args {
  XLA_FFI_STRUCT_HEAD;
  XLA_FFI_ExecutionContext* ctx;
  const XLA_FFI_Attrs* attrs;
} XLA_FFI_CustomOptions_Get_Args;
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_CustomOptions_Get_Args, attrs);

// What handlers call, in order, behind the three functions of errors. The last two came with 0.5.
#define XLA_FFI_FUNCTIONS(FUNCTION) \
  FUNCTION(Handler_Register) \
  FUNCTION(Stream_Get) \
  FUNCTION(Type_Register) \
  FUNCTION(ExecutionContext_Get) \
  FUNCTION(State_Set) \
  FUNCTION(State_Get) \
  FUNCTION(DeviceMemory_Allocate) \
  FUNCTION(DeviceMemory_Free) \
  FUNCTION(ThreadPool_Schedule) \
  FUNCTION(ThreadPool_NumThreads) \
  FUNCTION(Future_Create) \
  FUNCTION(Future_SetAvailable) \
  FUNCTION(Future_SetError) \
  FUNCTION(RunId_Get) \
  FUNCTION(DeviceOrdinal_Get) \
  FUNCTION(InvokeContext_FindExtension) \
  FUNCTION(CustomOptions_Get)

struct XLA_FFI_Api {
  XLA_FFI_STRUCT_HEAD;
  XLA_FFI_Api_Version api_version;
  const XLA_FFI_InternalApi* internal_api;
  XLA_FFI_Error* (*XLA_FFI_Error_Create)(XLA_FFI_Error_Create_Args* args);
  void (*XLA_FFI_Error_GetMessage)(XLA_FFI_Error_GetMessage_Args* args);
  void (*XLA_FFI_Error_Destroy)(XLA_FFI_Error_Destroy_Args* args);
#define XLA_FFI_SLOT(name) XLA_FFI_Error* (*XLA_FFI_##name)(XLA_FFI_##name##_Args * args);
  XLA_FFI_FUNCTIONS(XLA_FFI_SLOT)
#undef XLA_FFI_SLOT
};
XLA_FFI_DEFINE_STRUCT_SIZE(XLA_FFI_Api, XLA_FFI_CustomOptions_Get);

#endif  // KILN_RUNTIME_FFI_FFI_ABI_H_
