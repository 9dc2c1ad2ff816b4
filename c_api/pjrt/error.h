// Errors: null means success. Codes are the usual 17 status codes.
#ifndef KILN_C_API_PJRT_ERROR_H_
#define KILN_C_API_PJRT_ERROR_H_

#include "types.h"

typedef struct PJRT_Error PJRT_Error;
typedef struct PJRT_Error_Destroy_Args PJRT_Error_Destroy_Args;
typedef struct PJRT_Error_FunctionTable PJRT_Error_FunctionTable;
typedef struct PJRT_Error_Message_Args PJRT_Error_Message_Args;

// Sees one payload: key, its size, value, its size, the visitor's argument.
typedef void (*PJRT_Error_PayloadVisitor)(const char*, size_t, const char*, size_t, void*);

// How to use an error without the table of its plugin.
struct PJRT_Error_FunctionTable {
  size_t struct_size;
  size_t instance_size;
  PJRT_Extension_Base* extension_start;
  void (*destroy)(PJRT_Error*);
  void (*message)(const PJRT_Error*, const char**, size_t*);
  PJRT_Error_Code (*get_code)(const PJRT_Error*);
  void (*for_each_payload)(const PJRT_Error*, PJRT_Error_PayloadVisitor, void*);
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_Error_FunctionTable, for_each_payload);

// Every error starts with this word.
struct PJRT_Error {
  const PJRT_Error_FunctionTable* vtable;
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_Error, vtable);

// Given to callbacks of the caller so that they can make errors; the message is copied.
typedef PJRT_Error* (*PJRT_CallbackError)(PJRT_Error_Code, const char*, size_t);

// Frees an error. Null is allowed.
struct PJRT_Error_Destroy_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Error* error;
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_Error_Destroy_Args, error);
typedef void PJRT_Error_Destroy(PJRT_Error_Destroy_Args* args);

// The text of an error; it lives as long as the error and need not end in NUL.
struct PJRT_Error_Message_Args {
  PJRT_STRUCT_HEAD;
  const PJRT_Error* error;
  const char* message;  // out
  size_t message_size;  // out
};
PJRT_DEFINE_STRUCT_SIZE(PJRT_Error_Message_Args, message_size);
typedef void PJRT_Error_Message(PJRT_Error_Message_Args* args);

// The code of an error. Succeeds for every live error.
struct PJRT_Error_GetCode_Args {
  PJRT_STRUCT_HEAD;
  const PJRT_Error* error;
  PJRT_Error_Code code;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Error_GetCode, code);

// Calls `visitor` once per payload of an error; not at all when there is none. Since 99.
struct PJRT_Error_ForEachPayload_Args {
  PJRT_STRUCT_HEAD;
  const PJRT_Error* error;
  PJRT_Error_PayloadVisitor visitor;
  void* user_arg;
};
PJRT_DEFINE_FUNCTION(PJRT_Error_ForEachPayload, user_arg);

#endif  // KILN_C_API_PJRT_ERROR_H_
