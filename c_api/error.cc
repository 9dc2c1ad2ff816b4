// PJRT_Error: a status behind a word that points to its function table.
#include <cstring>

#include "c_api/arguments.h"
#include "c_api/functions.h"

namespace kiln::c_api {
namespace {

struct ErrorObject : PJRT_Error {
  explicit ErrorObject(const absl::Status& status);
  absl::Status status;
};

const ErrorObject* ErrorOf(const PJRT_Error* error) { return static_cast<const ErrorObject*>(error); }

void Destroy(PJRT_Error* error) { delete static_cast<ErrorObject*>(error); }

void Message(const PJRT_Error* error, const char** message, size_t* size) {
  Give(ErrorOf(error)->status.message(), message, size);
}

PJRT_Error_Code Code(const PJRT_Error* error) { return static_cast<PJRT_Error_Code>(ErrorOf(error)->status.code()); }

void ForEachPayload(const PJRT_Error* error, PJRT_Error_PayloadVisitor visitor, void* argument) {
  if (visitor == nullptr) return;
  ErrorOf(error)->status.ForEachPayload([&](absl::string_view key, const absl::Cord& value) {
    const std::string bytes(value);
    visitor(key.data(), key.size(), bytes.data(), bytes.size(), argument);
  });
}

constexpr PJRT_Error_FunctionTable kErrorTable = {
    .struct_size = PJRT_Error_FunctionTable_STRUCT_SIZE,
    .instance_size = PJRT_Error_STRUCT_SIZE,
    .extension_start = nullptr,
    .destroy = Destroy,
    .message = Message,
    .get_code = Code,
    .for_each_payload = ForEachPayload,
};

ErrorObject::ErrorObject(const absl::Status& status) : PJRT_Error{&kErrorTable}, status(status) {}

}  // namespace

PJRT_Error* MakeError(const absl::Status& status) { return status.ok() ? nullptr : new ErrorObject(status); }

absl::Status StatusFrom(PJRT_Error_Code code, const char* message, size_t message_size) {
  const int number = static_cast<int>(code);
  const bool known = number >= PJRT_Error_Code_CANCELLED && number <= PJRT_Error_Code_UNAUTHENTICATED;
  return absl::Status(known ? static_cast<absl::StatusCode>(number) : absl::StatusCode::kUnknown,
                      View(message, message_size));
}

absl::Status TooSmall(absl::string_view field, size_t size, size_t needed) {
  return InvalidArgument("the argument structure has ", size, " bytes; its field ", field, " needs ", needed);
}

void Call(PJRT_Error_Destroy_Args& args) {
  if (KILN_HAS_FIELD(args, error)) Destroy(args.error);
}

void Call(PJRT_Error_Message_Args& args) {
  if (!KILN_HAS_FIELD(args, message_size)) return;
  args.message = "";
  args.message_size = 0;
  if (args.error != nullptr) Message(args.error, &args.message, &args.message_size);
}

void Call(PJRT_Error_GetCode_Args& args) { args.code = args.error == nullptr ? PJRT_Error_Code_OK : Code(args.error); }

void Call(PJRT_Error_ForEachPayload_Args& args) {
  if (args.error != nullptr) ForEachPayload(args.error, args.visitor, args.user_arg);
}

}  // namespace kiln::c_api
