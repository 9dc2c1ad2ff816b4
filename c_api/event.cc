// PJRT_Event: a reference to the runtime's event.
#include <utility>

#include "c_api/functions.h"
#include "c_api/handles.h"

namespace kiln::c_api {

void Call(PJRT_Event_Destroy_Args& args) {
  if (args.event != nullptr) Unwrap(args.event)->Release();
}

void Call(PJRT_Event_IsReady_Args& args) {
  Unwrap(args.event)->Want();
  args.is_ready = Unwrap(args.event)->IsSettled();
}

absl::Status Call(PJRT_Event_Error_Args& args) {
  const runtime::Event* event = Unwrap(args.event);
  if (!event->IsSettled()) return FailedPrecondition("PJRT_Event_Error: the event is not ready");
  return event->status();
}

absl::Status Call(PJRT_Event_Await_Args& args) { return Unwrap(args.event)->Await(); }

// Nobody waits here: frameworks call it for the end of every run.
absl::Status Call(PJRT_Event_OnReady_Args& args) {
  KILN_REQUIRE_POINTER(args, callback);
  runtime::Event* event = Unwrap(args.event);
  if (event->IsSettled()) {
    args.callback(MakeError(event->status()), args.user_arg);
  } else {
    event->OnSettled([callback = args.callback, user_arg = args.user_arg](const absl::Status& status) {
      callback(MakeError(status), user_arg);
    });
  }
  return absl::OkStatus();
}

void Call(PJRT_Event_Create_Args& args) { args.event = Wrap(runtime::Event::Create()); }

absl::Status Call(PJRT_Event_Set_Args& args) {
  absl::Status status;
  if (args.error_code != PJRT_Error_Code_OK) {
    status = StatusFrom(args.error_code, args.error_message, args.error_message_size);
  }
  if (!Unwrap(args.event)->Set(std::move(status))) {
    return FailedPrecondition("PJRT_Event_Set: the event is set already");
  }
  return absl::OkStatus();
}

}  // namespace kiln::c_api
