#include "src/runtime/ffi/registry.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/synchronization/mutex.h"
#include "src/base/status.h"
#include "src/runtime/ffi/api.h"

namespace kiln::runtime::ffi {
namespace {

// Above what XLA's own registry counts to: a library may register its types with both and keeps one id per type.
constexpr int64_t kFirstTypeId = int64_t{1} << 32;

struct Type {
  std::string name;
  void (*deleter)(void*);
};

struct Tables {
  absl::Mutex mutex;
  absl::flat_hash_map<std::pair<std::string, std::string>, Handler> handlers ABSL_GUARDED_BY(mutex);
  absl::flat_hash_map<std::string, int64_t> type_ids ABSL_GUARDED_BY(mutex);
  absl::flat_hash_map<int64_t, Type> types ABSL_GUARDED_BY(mutex);
};

Tables& Global() {
  static Tables* const tables = new Tables;  // Handlers may be looked up while the process ends.
  return *tables;
}

std::pair<std::string, std::string> Key(absl::string_view name, absl::string_view platform) {
  std::string lower = absl::AsciiStrToLower(platform);
  if (lower == "cpu" || lower == "kiln") lower = kHostPlatform;
  return {std::string(name), std::move(lower)};
}

// Asks the handler of one stage for its version and adds its traits.
absl::Status QueryMetadata(absl::string_view name, XLA_FFI_Handler* handler, XLA_FFI_ExecutionStage stage,
                           XLA_FFI_Handler_Traits* traits) {
  if (handler == nullptr) return absl::OkStatus();
  XLA_FFI_Metadata metadata = {};
  metadata.struct_size = XLA_FFI_Metadata_STRUCT_SIZE;
  metadata.api_version.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE;
  XLA_FFI_Metadata_Extension extension = {};
  extension.extension_base.struct_size = XLA_FFI_Metadata_Extension_STRUCT_SIZE;
  extension.extension_base.type = XLA_FFI_Extension_Metadata;
  extension.metadata = &metadata;
  XLA_FFI_CallFrame frame = {};
  frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
  frame.extension_start = &extension.extension_base;
  frame.api = Api();
  frame.stage = stage;
  KILN_RETURN_IF_ERROR(
      Annotate(Invoke(handler, &frame), absl::StrCat("the metadata of the handler of custom call '", name, "'")));
  const XLA_FFI_Api_Version& version = metadata.api_version;
  if (version.major_version != XLA_FFI_API_MAJOR || version.minor_version < 0 ||
      version.minor_version > XLA_FFI_API_MINOR) {
    return InvalidArgument("the handler of custom call '", name, "' is built for XLA FFI version ",
                           version.major_version, ".", version.minor_version, ", expected ", XLA_FFI_API_MAJOR,
                           ".0 to ", XLA_FFI_API_MAJOR, ".", XLA_FFI_API_MINOR);
  }
  *traits |= metadata.traits;
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterHandler(absl::string_view name, absl::string_view platform, const XLA_FFI_Handler_Bundle& bundle,
                             XLA_FFI_Handler_Traits traits) {
  if (name.empty()) return InvalidArgument("a custom call handler needs a name");
  if (bundle.execute == nullptr) return InvalidArgument("the handler of custom call '", name, "' has no execute stage");
  // Without the lock: a handler may register something itself.
  KILN_RETURN_IF_ERROR(QueryMetadata(name, bundle.instantiate, XLA_FFI_ExecutionStage_INSTANTIATE, &traits));
  KILN_RETURN_IF_ERROR(QueryMetadata(name, bundle.prepare, XLA_FFI_ExecutionStage_PREPARE, &traits));
  KILN_RETURN_IF_ERROR(QueryMetadata(name, bundle.initialize, XLA_FFI_ExecutionStage_INITIALIZE, &traits));
  KILN_RETURN_IF_ERROR(QueryMetadata(name, bundle.execute, XLA_FFI_ExecutionStage_EXECUTE, &traits));
  Tables& tables = Global();
  absl::MutexLock lock(&tables.mutex);
  Handler& handler = tables.handlers[Key(name, platform)];
  if (handler.typed.has_value() && std::memcmp(&*handler.typed, &bundle, sizeof(bundle)) != 0) {
    return absl::AlreadyExistsError(
        absl::StrCat("custom call '", name, "' has another handler already on platform '", platform, "'"));
  }
  handler.typed = bundle;
  handler.traits = traits;
  return absl::OkStatus();
}

absl::Status RegisterUntyped(absl::string_view name, absl::string_view platform, void* function) {
  if (name.empty() || function == nullptr) return InvalidArgument("a custom call needs a name and a function");
  Tables& tables = Global();
  absl::MutexLock lock(&tables.mutex);
  Handler& handler = tables.handlers[Key(name, platform)];
  if (handler.untyped != nullptr && handler.untyped != function) {
    return absl::AlreadyExistsError(
        absl::StrCat("custom call '", name, "' has another function already on platform '", platform, "'"));
  }
  handler.untyped = function;
  return absl::OkStatus();
}

std::optional<Handler> FindHandler(absl::string_view name, absl::string_view platform) {
  Tables& tables = Global();
  absl::MutexLock lock(&tables.mutex);
  const auto it = tables.handlers.find(Key(name, platform));
  if (it == tables.handlers.end()) return std::nullopt;
  return it->second;
}

absl::Status RegisterType(absl::string_view name, int64_t* id, void (*deleter)(void*)) {
  if (name.empty() || id == nullptr)
    return InvalidArgument("a type of custom calls needs a name and a place for its id");
  Tables& tables = Global();
  absl::MutexLock lock(&tables.mutex);
  const auto known = tables.type_ids.find(name);
  if (known != tables.type_ids.end()) {
    if (*id != 0 && *id != known->second) {
      return InvalidArgument("type '", name, "' is registered with id ", known->second, ", found ", *id);
    }
    *id = known->second;
    return absl::OkStatus();
  }
  if (*id == 0) *id = kFirstTypeId + static_cast<int64_t>(tables.types.size());
  const auto [type, is_new] = tables.types.try_emplace(*id, Type{std::string(name), deleter});
  if (!is_new) {
    return InvalidArgument("type id ", *id, " belongs to type '", type->second.name, "', it cannot be that of '", name,
                           "' as well");
  }
  tables.type_ids.emplace(name, *id);
  return absl::OkStatus();
}

absl::StatusOr<void (*)(void*)> FindDeleter(int64_t id) {
  Tables& tables = Global();
  absl::MutexLock lock(&tables.mutex);
  const auto it = tables.types.find(id);
  if (it == tables.types.end()) return InvalidArgument("no type is registered with id ", id);
  return it->second.deleter;
}

}  // namespace kiln::runtime::ffi
