// Events: settled exactly once, owned by the caller.
#ifndef KILN_C_API_PJRT_EVENT_H_
#define KILN_C_API_PJRT_EVENT_H_

#include "error.h"

// Takes the outcome (null or an error that it owns) and the argument of the registration.
typedef void (*PJRT_Event_OnReadyCallback)(PJRT_Error*, void*);

// Gives the caller's event back. Legal before the event is settled; null is allowed.
struct PJRT_Event_Destroy_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Event* event;
};
PJRT_DEFINE_FUNCTION(PJRT_Event_Destroy, event);

// Whether the event is settled, with success or with an error.
struct PJRT_Event_IsReady_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Event* event;
  bool is_ready;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Event_IsReady, is_ready);

// The outcome of a settled event: null, or a new error that the caller owns.
struct PJRT_Event_Error_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Event* event;
};
PJRT_DEFINE_FUNCTION(PJRT_Event_Error, event);

// Blocks until the event is settled and returns its outcome as PJRT_Event_Error does.
struct PJRT_Event_Await_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Event* event;
};
PJRT_DEFINE_FUNCTION(PJRT_Event_Await, event);

// Calls `callback` once with the outcome (owned by the callback): at once in this thread if settled, else from the
// settling thread.
struct PJRT_Event_OnReady_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Event* event;
  PJRT_Event_OnReadyCallback callback;
  void* user_arg;
};
PJRT_DEFINE_FUNCTION(PJRT_Event_OnReady, user_arg);

// Makes an event that the caller settles with PJRT_Event_Set.
struct PJRT_Event_Create_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Event* event;  // out
};
PJRT_DEFINE_FUNCTION(PJRT_Event_Create, event);

// Settles an event made by PJRT_Event_Create; a second call is an error. The message is copied.
struct PJRT_Event_Set_Args {
  PJRT_STRUCT_HEAD;
  PJRT_Event* event;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
};
PJRT_DEFINE_FUNCTION(PJRT_Event_Set, error_message_size);

#endif  // KILN_C_API_PJRT_EVENT_H_
