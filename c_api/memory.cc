// PJRT_Memory: what a device's memory is called, and user data attached to it.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "c_api/functions.h"
#include "c_api/handles.h"

namespace kiln::c_api {
namespace {

void* GetUserData(PJRT_Memory* memory, const void* key) {
  MemoryHandle* handle = Unwrap(memory);
  absl::MutexLock lock(&handle->mutex);
  for (const MemoryHandle::UserData& entry : handle->user_data) {
    if (entry.key == key) return entry.data;
  }
  return nullptr;
}

void SetUserData(PJRT_Memory* memory, const void* key, void* data, void (*destroy)(void*)) {
  MemoryHandle* handle = Unwrap(memory);
  MemoryHandle::UserData replaced = {nullptr, nullptr, nullptr};
  {
    absl::MutexLock lock(&handle->mutex);
    auto entry = std::find_if(handle->user_data.begin(), handle->user_data.end(),
                              [key](const MemoryHandle::UserData& entry) { return entry.key == key; });
    if (entry == handle->user_data.end()) {
      handle->user_data.push_back({key, data, destroy});
    } else {
      replaced = std::exchange(*entry, {key, data, destroy});
    }
  }
  if (replaced.destroy != nullptr) replaced.destroy(replaced.data);
}

constexpr PJRT_Memory_FunctionTable kMemoryTable = {
    .struct_size = PJRT_Memory_FunctionTable_STRUCT_SIZE,
    .extension_start = nullptr,
    .instance_struct_size = PJRT_Memory_STRUCT_SIZE,
    .get_user_data = GetUserData,
    .set_user_data = SetUserData,
};

}  // namespace

MemoryHandle::MemoryHandle(runtime::Memory* memory)
    : PJRT_Memory{&kMemoryTable},
      memory(memory),
      debug_string(absl::StrCat("KilnMemory(id=", memory->id(), ", kind=", memory->kind(), ")")),
      to_string(debug_string) {}

MemoryHandle::~MemoryHandle() {
  for (const UserData& entry : user_data) {
    if (entry.destroy != nullptr) entry.destroy(entry.data);
  }
}

runtime::Memory* ChooseMemory(PJRT_Client* client, PJRT_Device* device, PJRT_Memory* memory) {
  if (memory != nullptr) return Unwrap(memory)->memory;
  return (device != nullptr ? device->device : client->client->device(0))->default_memory();
}

void Call(PJRT_Memory_Id_Args& args) { args.id = Unwrap(args.memory)->memory->id(); }

void Call(PJRT_Memory_Kind_Args& args) { Give(Unwrap(args.memory)->memory->kind(), &args.kind, &args.kind_size); }

void Call(PJRT_Memory_Kind_Id_Args& args) { args.kind_id = Unwrap(args.memory)->memory->kind_id(); }

void Call(PJRT_Memory_DebugString_Args& args) {
  Give(Unwrap(args.memory)->debug_string, &args.debug_string, &args.debug_string_size);
}

void Call(PJRT_Memory_ToString_Args& args) {
  Give(Unwrap(args.memory)->to_string, &args.to_string, &args.to_string_size);
}

void Call(PJRT_Memory_AddressableByDevices_Args& args) {
  Give(Unwrap(args.memory)->devices, &args.devices, &args.num_devices);
}

}  // namespace kiln::c_api
