// The objects behind the opaque types of the PJRT C API. Buffers and events are the runtime's own objects; the others
// keep what the getters return by pointer.
#ifndef KILN_C_API_HANDLES_H_
#define KILN_C_API_HANDLES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "c_api/arguments.h"
#include "c_api/executable_info.h"
#include "c_api/pjrt/extensions/memory_descriptions.h"
#include "src/runtime/buffer.h"
#include "src/runtime/client.h"
#include "src/runtime/device.h"
#include "src/runtime/event.h"
#include "src/runtime/loaded_executable.h"

// Data that a caller attaches to executions; runs in flight share it.
struct PJRT_ExecuteContext {
  std::shared_ptr<kiln::runtime::ffi::UserData> user_data;
};

// A kind of memory, which device descriptions mention.
struct PJRT_MemoryDescription {
  absl::string_view kind;
  int kind_id = 0;
};

struct PJRT_DeviceDescription {
  explicit PJRT_DeviceDescription(int id);
  PJRT_DeviceDescription(const PJRT_DeviceDescription&) = delete;
  PJRT_DeviceDescription& operator=(const PJRT_DeviceDescription&) = delete;

  int id;
  std::string kind;
  std::string debug_string;
  std::string to_string;
  std::vector<const PJRT_MemoryDescription*> memories;  // of all devices; the default first
};

namespace kiln::c_api {

inline constexpr absl::string_view kPlatformName = "kiln";
inline constexpr absl::string_view kPlatformVersion = "Kiln 0.1.0";

// Behind PJRT_Memory, whose first word is a table of functions.
struct MemoryHandle : PJRT_Memory {
  explicit MemoryHandle(runtime::Memory* memory);
  ~MemoryHandle();

  struct UserData {
    const void* key;
    void* data;
    void (*destroy)(void*);
  };

  runtime::Memory* const memory;
  std::string debug_string;
  std::string to_string;
  std::vector<PJRT_Device*> devices;
  absl::Mutex mutex;
  std::vector<UserData> user_data ABSL_GUARDED_BY(mutex);
};

}  // namespace kiln::c_api

struct PJRT_Device {
  explicit PJRT_Device(kiln::runtime::Device* device) : device(device), description(device->id()) {
    for (int kind = 0; kind < kiln::runtime::Memory::kKindCount; ++kind) {
      kiln::runtime::Memory* memory = device->memory(kind);
      memory_handles.push_back(std::make_unique<kiln::c_api::MemoryHandle>(memory));
      memory_handles.back()->devices.push_back(this);
      memory->handle = memory_handles.back().get();
      memories.push_back(memory_handles.back().get());
    }
  }

  kiln::runtime::Device* const device;
  PJRT_DeviceDescription description;
  std::vector<std::unique_ptr<kiln::c_api::MemoryHandle>> memory_handles;
  std::vector<PJRT_Memory*> memories;  // the default first
};

struct PJRT_TopologyDescription {
  explicit PJRT_TopologyDescription(int device_count);

  std::vector<std::unique_ptr<PJRT_DeviceDescription>> descriptions;
  std::vector<PJRT_DeviceDescription*> description_pointers;
};

struct PJRT_Client {
  std::unique_ptr<kiln::runtime::Client> client;
  std::vector<std::unique_ptr<PJRT_Device>> devices;
  std::vector<PJRT_Device*> device_pointers;
  std::vector<PJRT_Memory*> memory_pointers;
  std::unique_ptr<PJRT_TopologyDescription> topology;
};

struct PJRT_Executable {
  std::shared_ptr<kiln::c_api::ExecutableInfo> info;
};

struct PJRT_LoadedExecutable {
  kiln::RefPtr<kiln::runtime::LoadedExecutable> executable;
  std::shared_ptr<kiln::c_api::ExecutableInfo> info;
  PJRT_Client* client;
  std::vector<PJRT_Device*> devices;
  PJRT_LogicalDeviceIds logical_id = {0, 0};
};

namespace kiln::c_api {

inline runtime::Buffer* Unwrap(PJRT_Buffer* buffer) { return reinterpret_cast<runtime::Buffer*>(buffer); }
inline runtime::Event* Unwrap(PJRT_Event* event) { return reinterpret_cast<runtime::Event*>(event); }
// Hands the reference to the caller of the C API.
inline PJRT_Buffer* Wrap(RefPtr<runtime::Buffer> buffer) { return reinterpret_cast<PJRT_Buffer*>(buffer.Detach()); }
inline PJRT_Event* Wrap(RefPtr<runtime::Event> event) { return reinterpret_cast<PJRT_Event*>(event.Detach()); }
// The same with what was made, or says why it was not.
template <typename Object, typename Handle>
absl::Status Give(absl::StatusOr<RefPtr<Object>> made, Handle** handle) {
  if (made.ok()) *handle = Wrap(*std::move(made));
  return made.status();
}
inline MemoryHandle* Unwrap(PJRT_Memory* memory) { return static_cast<MemoryHandle*>(memory); }
inline PJRT_Device* HandleOf(runtime::Device* device) { return static_cast<PJRT_Device*>(device->handle); }
inline PJRT_Memory* HandleOf(runtime::Memory* memory) {
  return static_cast<PJRT_Memory*>(static_cast<MemoryHandle*>(memory->handle));
}

// Options of PJRT_Client_Create: integers by the names of runtime::ClientOptions: device_count, max_threads,
// memory_limit_bytes, cache_limit_bytes, inline_nanoseconds. The flag --xla_force_host_platform_device_count stands in
// for a device_count that is not given. INVALID_ARGUMENT for other names and types.
absl::StatusOr<runtime::ClientOptions> ParseClientOptions(const PJRT_NamedValue* values, size_t count);

// Element types of the C API and of HLO. Types that one side lacks give nothing or kInvalid.
absl::StatusOr<hlo::PrimitiveType> ElementTypeFrom(PJRT_Buffer_Type type);
PJRT_Buffer_Type ElementTypeOf(hlo::PrimitiveType type);

// The type of an array, in a layout of the C API (null: row-major). Tiles and strides that are not dense are refused.
absl::StatusOr<RefPtr<const runtime::BufferType>> BufferTypeFrom(PJRT_Buffer_Type type, const int64_t* dims,
                                                                 size_t num_dims,
                                                                 const PJRT_Buffer_MemoryLayout* layout);
// Writes a layout that points into `type`.
void FillLayout(const runtime::BufferType& type, PJRT_Buffer_MemoryLayout* layout);

// `memory` if set, else the default memory of `device`, else that of the client's first device.
runtime::Memory* ChooseMemory(PJRT_Client* client, PJRT_Device* device, PJRT_Memory* memory);

}  // namespace kiln::c_api

#endif  // KILN_C_API_HANDLES_H_
