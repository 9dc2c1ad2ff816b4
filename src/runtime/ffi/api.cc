#include "src/runtime/ffi/api.h"

#include <atomic>
#include <exception>
#include <utility>

#include "src/base/status.h"
#include "src/runtime/event.h"
#include "src/runtime/ffi/registry.h"

// Shared by the handler, which settles it, and the runtime, which waits for it.
struct XLA_FFI_Future {
  kiln::RefPtr<kiln::runtime::Event> event = kiln::runtime::Event::Create();
  std::atomic<int> owners{2};

  void Drop() {
    if (owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  void Settle(absl::Status status) {
    event->Set(std::move(status));
    Drop();
  }
};

namespace kiln::runtime::ffi {
namespace {

XLA_FFI_Error* MakeError(absl::Status status) { return status.ok() ? nullptr : new XLA_FFI_Error{std::move(status)}; }

absl::StatusOr<Execution*> ExecutionOf(const XLA_FFI_ExecutionContext* context) {
  if (context == nullptr || context->execution == nullptr) {
    return FailedPrecondition("there is no execution in the instantiate stage");
  }
  return context->execution;
}

absl::string_view View(const XLA_FFI_ByteSpan& span) { return {span.ptr, span.ptr == nullptr ? 0 : span.len}; }

absl::Status Call(XLA_FFI_Error_Create_Args& args) {
  // A handler that reports an error with code OK still failed.
  const auto code =
      args.errc == XLA_FFI_Error_Code_OK ? absl::StatusCode::kUnknown : static_cast<absl::StatusCode>(args.errc);
  return absl::Status(code, args.message == nullptr ? "" : args.message);
}

void ErrorGetMessage(XLA_FFI_Error_GetMessage_Args* args) {
  // Statuses keep their message terminated by NUL; one without has none.
  const absl::string_view message = args->error->status.message();
  args->message = message.empty() ? "" : message.data();
  if (args->struct_size >= XLA_FFI_Error_GetDetails_Args_STRUCT_SIZE) {
    args->errc = static_cast<XLA_FFI_Error_Code>(args->error->status.code());
  }
}

void ErrorDestroy(XLA_FFI_Error_Destroy_Args* args) { delete args->error; }

absl::Status Call(XLA_FFI_Handler_Register_Args& args) {
  XLA_FFI_Handler_Traits traits = args.traits;
  // Since 0.5 a fifth stage, for command buffers, stands before the traits.
  if (args.struct_size > sizeof(XLA_FFI_Handler_Register_Args)) {
    traits = *reinterpret_cast<const XLA_FFI_Handler_Traits*>(reinterpret_cast<const char*>(&args.traits) +
                                                              sizeof(XLA_FFI_Handler*));
  }
  return RegisterHandler(View(args.name), View(args.platform), args.bundle, traits);
}

absl::Status Call(XLA_FFI_Stream_Get_Args&) { return Unimplemented("programs on the CPU have no stream"); }

absl::Status Call(XLA_FFI_Type_Register_Args& args) {
  const bool has_info = args.struct_size >= sizeof(XLA_FFI_Type_Register_Args) && args.type_info != nullptr;
  return RegisterType(View(args.name), args.type_id == nullptr ? nullptr : &args.type_id->type_id,
                      has_info ? args.type_info->deleter : nullptr);
}

absl::Status Call(XLA_FFI_ExecutionContext_Get_Args& args) {
  KILN_ASSIGN_OR_RETURN(Execution * execution, ExecutionOf(args.ctx));
  const auto& user_data = execution->options().user_data;
  if (user_data == nullptr) return NotFound("the execution has no user data");
  KILN_ASSIGN_OR_RETURN(args.data, user_data->Find(args.type_id->type_id));
  return absl::OkStatus();
}

absl::StatusOr<State*> StateOf(const XLA_FFI_ExecutionContext* context, XLA_FFI_ExecutionStage stage) {
  if (context == nullptr) return InvalidArgument("the execution context is null");
  if (stage == XLA_FFI_ExecutionStage_INSTANTIATE) return context->instantiate_state;
  if (stage < 0 || stage > XLA_FFI_ExecutionStage_EXECUTE) return InvalidArgument("there is no stage ", stage);
  if (context->states == nullptr) return FailedPrecondition("there is no execution in the instantiate stage");
  return &(*context->states)[stage];
}

absl::Status Call(XLA_FFI_State_Set_Args& args) {
  KILN_ASSIGN_OR_RETURN(State * state, StateOf(args.ctx, args.stage));
  return state->Set(args.type_id->type_id, args.state);
}

absl::Status Call(XLA_FFI_State_Get_Args& args) {
  KILN_ASSIGN_OR_RETURN(const State* state, StateOf(args.ctx, args.stage));
  KILN_ASSIGN_OR_RETURN(args.state, state->Get(args.type_id->type_id));
  return absl::OkStatus();
}

absl::Status Call(XLA_FFI_DeviceMemory_Allocate_Args& args) {
  KILN_ASSIGN_OR_RETURN(Execution * execution, ExecutionOf(args.ctx));
  KILN_ASSIGN_OR_RETURN(args.data, execution->Allocate(args.size, args.alignment));
  return absl::OkStatus();
}

absl::Status Call(XLA_FFI_DeviceMemory_Free_Args& args) {
  KILN_ASSIGN_OR_RETURN(Execution * execution, ExecutionOf(args.ctx));
  return execution->Free(args.data);
}

absl::Status Call(XLA_FFI_ThreadPool_Schedule_Args& args) {
  KILN_ASSIGN_OR_RETURN(const Execution* execution, ExecutionOf(args.ctx));
  if (execution->options().pool == nullptr) {
    args.task(args.data);
  } else {
    execution->options().pool->SchedulePart([task = args.task, data = args.data] { task(data); });
  }
  return absl::OkStatus();
}

absl::Status Call(XLA_FFI_ThreadPool_NumThreads_Args& args) {
  KILN_ASSIGN_OR_RETURN(const Execution* execution, ExecutionOf(args.ctx));
  *args.num_threads = execution->options().pool == nullptr ? 1 : execution->options().pool->threads();
  return absl::OkStatus();
}

absl::Status Call(XLA_FFI_Future_Create_Args& args) {
  args.future = new XLA_FFI_Future;
  return absl::OkStatus();
}

absl::Status Call(XLA_FFI_Future_SetAvailable_Args& args) {
  if (args.future == nullptr) return InvalidArgument("the future is null");
  args.future->Settle(absl::OkStatus());
  return absl::OkStatus();
}

absl::Status Call(XLA_FFI_Future_SetError_Args& args) {
  if (args.future == nullptr || args.error == nullptr) {
    return InvalidArgument("the future and its error must not be null");
  }
  absl::Status status = std::move(args.error->status);
  delete args.error;
  args.future->Settle(std::move(status));
  return absl::OkStatus();
}

absl::Status Call(XLA_FFI_RunId_Get_Args& args) {
  KILN_ASSIGN_OR_RETURN(const Execution* execution, ExecutionOf(args.ctx));
  args.run_id = execution->run_id();
  return absl::OkStatus();
}

absl::Status Call(XLA_FFI_DeviceOrdinal_Get_Args& args) {
  KILN_ASSIGN_OR_RETURN(const Execution* execution, ExecutionOf(args.ctx));
  args.device_ordinal = execution->options().device_ordinal;
  return absl::OkStatus();
}

// There are no extensions of contexts.
absl::Status Call(XLA_FFI_InvokeContext_FindExtension_Args& args) {
  args.extension = nullptr;
  return absl::OkStatus();
}

absl::Status Call(XLA_FFI_CustomOptions_Get_Args& args) {
  static constexpr XLA_FFI_Attrs kNone = {.struct_size = XLA_FFI_Attrs_STRUCT_SIZE};
  args.attrs = &kNone;
  return absl::OkStatus();
}

// The slots of the table: an error, too, where a field that the function needs lies outside of what the caller filled.
namespace slot {
#define KILN_FFI_SLOT(name)                                                                                            \
  XLA_FFI_Error* name(XLA_FFI_##name##_Args* args) {                                                                   \
    constexpr size_t kNeeded = XLA_FFI_##name##_Args_STRUCT_SIZE;                                                      \
    if (args->struct_size >= kNeeded) return MakeError(Call(*args));                                                   \
    return MakeError(InvalidArgument("XLA_FFI_" #name "_Args has ", args->struct_size, " bytes, expected ", kNeeded)); \
  }
KILN_FFI_SLOT(Error_Create)
XLA_FFI_FUNCTIONS(KILN_FFI_SLOT)
}  // namespace slot

constexpr XLA_FFI_Api kApi = {.struct_size = XLA_FFI_Api_STRUCT_SIZE,
                              .extension_start = nullptr,
                              .api_version = {.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE,
                                              .extension_start = nullptr,
                                              .major_version = XLA_FFI_API_MAJOR,
                                              .minor_version = XLA_FFI_API_MINOR},
                              .internal_api = nullptr,
                              .XLA_FFI_Error_Create = slot::Error_Create,
                              .XLA_FFI_Error_GetMessage = ErrorGetMessage,
                              .XLA_FFI_Error_Destroy = ErrorDestroy,
#define KILN_FFI_FIELD(name) .XLA_FFI_##name = slot::name,
                              XLA_FFI_FUNCTIONS(KILN_FFI_FIELD)};

}  // namespace

const XLA_FFI_Api* Api() { return &kApi; }

absl::Status Invoke(XLA_FFI_Handler* handler, XLA_FFI_CallFrame* frame) {
  XLA_FFI_Error* error = nullptr;
  try {
    error = handler(frame);
  } catch (const std::exception& exception) {
    return Internal("threw a C++ exception: ", exception.what());
  } catch (...) {
    return Internal("threw a C++ exception");
  }
  absl::Status status;
  if (XLA_FFI_Future* future = frame->future) {
    status = future->event->Await();
    future->Drop();
  }
  if (error != nullptr) {
    status = std::move(error->status);
    delete error;
  }
  return status;
}

}  // namespace kiln::runtime::ffi
