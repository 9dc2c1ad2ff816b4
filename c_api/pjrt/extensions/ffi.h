// FFI extension: user data and handlers for custom calls.
#ifndef KILN_C_API_PJRT_EXTENSIONS_FFI_H_
#define KILN_C_API_PJRT_EXTENSIONS_FFI_H_

#include "../../pjrt_c_api.h"

typedef struct PJRT_FFI_Extension PJRT_FFI_Extension;
typedef struct PJRT_FFI_Type_Info PJRT_FFI_Type_Info;
typedef struct PJRT_FFI_UserData PJRT_FFI_UserData;

#define PJRT_API_FFI_EXTENSION_VERSION 3

typedef enum {
  PJRT_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE = 1,
} PJRT_FFI_Handler_TraitsBits;

struct PJRT_FFI_Type_Info {
  void (*deleter)(void*);
  void (*serialize)();
  void (*deserialize)();
};

struct PJRT_FFI_UserData {
  int64_t type_id;
  void* data;
};

// Registers a user-data type, or looks up its id by name.
struct PJRT_FFI_Type_Register_Args {
  PJRT_STRUCT_HEAD;
  const char* type_name;
  size_t type_name_size;
  int64_t type_id;
  PJRT_FFI_Type_Info* type_info;
};
PJRT_DEFINE_FUNCTION(PJRT_FFI_Type_Register, type_info);

// Adds user data to an execute context.
struct PJRT_FFI_UserData_Add_Args {
  PJRT_STRUCT_HEAD;
  PJRT_ExecuteContext* context;
  PJRT_FFI_UserData user_data;
};
PJRT_DEFINE_FUNCTION(PJRT_FFI_UserData_Add, user_data);

// Registers an FFI handler for a custom call target.
struct PJRT_FFI_Register_Handler_Args {
  size_t struct_size;
  const char* target_name;
  size_t target_name_size;
  void* handler;
  const char* platform_name;
  size_t platform_name_size;
  PJRT_FFI_Handler_TraitsBits traits;
};
PJRT_DEFINE_FUNCTION(PJRT_FFI_Register_Handler, traits);

struct PJRT_FFI_Extension {
  PJRT_Extension_Base base;
  PJRT_Error* (*type_register)(PJRT_FFI_Type_Register_Args* args);
  PJRT_Error* (*user_data_add)(PJRT_FFI_UserData_Add_Args* args);
  PJRT_Error* (*register_handler)(PJRT_FFI_Register_Handler_Args* args);
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_FFI_Extension, register_handler);

#endif  // KILN_C_API_PJRT_EXTENSIONS_FFI_H_
