// PJRT_Event: a reference to the runtime's event.
#include <utility>

#include "c_api/functions.h"
#include "c_api/handles.h"

namespace kiln::c_api {

PJRT_Error* EventDestroy(PJRT_Event_Destroy_Args* args) {
  KILN_REQUIRE_FIELD(args, event);
  if (args->event != nullptr) Unwrap(args->event)->Release();
  return nullptr;
}

PJRT_Error* EventIsReady(PJRT_Event_IsReady_Args* args) {
  KILN_REQUIRE_FIELD(args, is_ready);
  KILN_REQUIRE_POINTER(args, event);
  args->is_ready = Unwrap(args->event)->IsSettled();
  return nullptr;
}

PJRT_Error* EventError(PJRT_Event_Error_Args* args) {
  KILN_REQUIRE_FIELD(args, event);
  KILN_REQUIRE_POINTER(args, event);
  const runtime::Event* event = Unwrap(args->event);
  if (!event->IsSettled()) return MakeError(FailedPrecondition("PJRT_Event_Error: the event is not ready"));
  return MakeError(event->status());
}

PJRT_Error* EventAwait(PJRT_Event_Await_Args* args) {
  KILN_REQUIRE_FIELD(args, event);
  KILN_REQUIRE_POINTER(args, event);
  return MakeError(Unwrap(args->event)->Await());
}

PJRT_Error* EventOnReady(PJRT_Event_OnReady_Args* args) {
  KILN_REQUIRE_FIELD(args, user_arg);
  KILN_REQUIRE_POINTER(args, event);
  KILN_REQUIRE_POINTER(args, callback);
  runtime::Event* event = Unwrap(args->event);
  if (event->IsSettled()) {
    args->callback(MakeError(event->status()), args->user_arg);
  } else {
    event->OnSettled([callback = args->callback, user_arg = args->user_arg](const absl::Status& status) {
      callback(MakeError(status), user_arg);
    });
  }
  return nullptr;
}

PJRT_Error* EventCreate(PJRT_Event_Create_Args* args) {
  KILN_REQUIRE_FIELD(args, event);
  args->event = Wrap(runtime::Event::Create());
  return nullptr;
}

PJRT_Error* EventSet(PJRT_Event_Set_Args* args) {
  KILN_REQUIRE_FIELD(args, error_message_size);
  KILN_REQUIRE_POINTER(args, event);
  absl::Status status;
  if (args->error_code != PJRT_Error_Code_OK) {
    status = StatusFrom(args->error_code, args->error_message, args->error_message_size);
  }
  if (!Unwrap(args->event)->Set(std::move(status))) {
    return MakeError(FailedPrecondition("PJRT_Event_Set: the event is set already"));
  }
  return nullptr;
}

}  // namespace kiln::c_api
