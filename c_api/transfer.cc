// Transfers in pieces: the asynchronous host-to-device manager, and the streams of recv ops.
#include <cstring>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "c_api/functions.h"
#include "c_api/handles.h"
#include "src/runtime/strided_copy.h"

struct PJRT_AsyncHostToDeviceTransferManager {
  struct Entry {
    kiln::RefPtr<kiln::runtime::Buffer> buffer;
    char* data;  // stays until the entry is complete, even where the buffer is deleted or donated before
    kiln::RefPtr<kiln::runtime::Event> definition;
    bool retrieved = false;
    bool complete = false;
  };
  PJRT_Device* device = nullptr;
  absl::Mutex mutex;
  std::vector<Entry> entries ABSL_GUARDED_BY(mutex);
};

namespace kiln::c_api {
namespace {

using Manager = PJRT_AsyncHostToDeviceTransferManager;

absl::StatusOr<Manager::Entry*> EntryOf(Manager* manager, int index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(manager->mutex) {
  if (index < 0 || static_cast<size_t>(index) >= manager->entries.size()) {
    return InvalidArgument("the transfer has ", manager->entries.size(), " buffers, there is no buffer ", index);
  }
  return &manager->entries[index];
}

// Marks an entry complete; its definition is to be settled by the caller after the lock is gone.
absl::StatusOr<RefPtr<runtime::Event>> Complete(Manager::Entry* entry, int index) {
  if (entry->complete) return FailedPrecondition("buffer ", index, " of the transfer is complete already");
  entry->complete = true;
  entry->buffer->EndProduction();
  return entry->definition;
}

absl::Status TransferData(Manager* manager, int index, const void* data, int64_t offset, int64_t size, bool last) {
  RefPtr<runtime::Event> completed;
  {
    absl::MutexLock lock(&manager->mutex);
    KILN_ASSIGN_OR_RETURN(Manager::Entry * entry, EntryOf(manager, index));
    const int64_t bytes = entry->buffer->type().byte_count();
    if (offset < 0 || size < 0 || offset > bytes || size > bytes - offset) {
      return InvalidArgument("bytes [", offset, ", ", offset, " + ", size, ") do not lie in buffer ", index, " of ",
                             bytes, " bytes");
    }
    if (size != 0 && data == nullptr) return InvalidArgument("the data of a transfer is null");
    if (entry->complete) return FailedPrecondition("buffer ", index, " of the transfer is complete already");
    if (size != 0) std::memcpy(entry->data + offset, data, size);
    if (last) {
      KILN_ASSIGN_OR_RETURN(completed, Complete(entry, index));
    }
  }
  if (completed) completed->Set(absl::OkStatus());
  return absl::OkStatus();
}

absl::Status TransferLiteral(Manager* manager, int index, const void* data, const runtime::BufferType& type) {
  RefPtr<runtime::Event> completed;
  {
    absl::MutexLock lock(&manager->mutex);
    KILN_ASSIGN_OR_RETURN(Manager::Entry * entry, EntryOf(manager, index));
    const runtime::BufferType& wanted = entry->buffer->type();
    if (type.element_type() != wanted.element_type() || type.dimensions() != wanted.dimensions()) {
      return InvalidArgument("a literal of ", type.ToString(), " for buffer ", index, " of ", wanted.ToString());
    }
    if (type.byte_count() != 0 && data == nullptr) return InvalidArgument("the data of a literal is null");
    if (!entry->complete) {
      runtime::StridedCopy(type.element_bytes(), type.dimensions(), data, type.ByteStrides(), entry->data,
                           wanted.ByteStrides());
    }
    KILN_ASSIGN_OR_RETURN(completed, Complete(entry, index));
  }
  completed->Set(absl::OkStatus());
  return absl::OkStatus();
}

}  // namespace

absl::Status Call(PJRT_Client_CreateBuffersForAsyncHostToDevice_Args& args) {
  if (args.num_device_layouts != 0 && args.num_device_layouts != args.num_shape_specs) {
    return InvalidArgument(args.num_device_layouts, " layouts for ", args.num_shape_specs, " shapes of a transfer");
  }
  if (args.num_shape_specs != 0) KILN_REQUIRE_POINTER(args, shape_specs);
  if (args.num_device_layouts != 0) KILN_REQUIRE_POINTER(args, device_layouts);
  runtime::Memory* memory = ChooseMemory(args.client, nullptr, args.memory);
  auto manager = std::make_unique<Manager>();
  manager->device = HandleOf(memory->device());
  absl::MutexLock lock(&manager->mutex);
  for (size_t i = 0; i < args.num_shape_specs; ++i) {
    const PJRT_ShapeSpec& spec = args.shape_specs[i];
    const PJRT_Buffer_MemoryLayout* layout = args.num_device_layouts != 0 ? args.device_layouts[i] : nullptr;
    KILN_ASSIGN_OR_RETURN(RefPtr<const runtime::BufferType> type,
                          BufferTypeFrom(spec.element_type, spec.dims, spec.num_dims, layout));
    KILN_ASSIGN_OR_RETURN(runtime::MemoryBlock block,
                          runtime::MemoryBlock::Allocate(args.client->client->allocator(), type->byte_count()));
    RefPtr<runtime::Event> definition = runtime::Event::Create();
    RefPtr<runtime::Buffer> buffer =
        MakeRef<runtime::Buffer>(std::move(type), memory, std::move(block), definition, /*produced=*/true);
    char* data = static_cast<char*>(buffer->data());
    manager->entries.push_back({std::move(buffer), data, std::move(definition)});
  }
  args.transfer_manager = manager.release();
  return absl::OkStatus();
}

void Call(PJRT_AsyncHostToDeviceTransferManager_Destroy_Args& args) {
  std::unique_ptr<Manager> manager(args.transfer_manager);
  if (manager == nullptr) return;
  std::vector<Manager::Entry> entries;
  {
    absl::MutexLock lock(&manager->mutex);
    entries = std::move(manager->entries);
  }
  for (Manager::Entry& entry : entries) {
    if (entry.complete) continue;
    entry.buffer->EndProduction();
    entry.definition->Set(absl::CancelledError("the transfer was given up before the buffer was complete"));
  }
}

absl::Status Call(PJRT_AsyncHostToDeviceTransferManager_TransferData_Args& args) {
  KILN_RETURN_IF_ERROR(TransferData(args.transfer_manager, args.buffer_index, args.data, args.offset,
                                    args.transfer_size, args.is_last_transfer));
  args.done_with_h2d_transfer = Wrap(runtime::Event::Ready());
  return absl::OkStatus();
}

absl::Status Call(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args& args) {
  KILN_ASSIGN_OR_RETURN(RefPtr<const runtime::BufferType> type, BufferTypeFrom(args.shape_element_type, args.shape_dims,
                                                                               args.shape_num_dims, args.shape_layout));
  KILN_RETURN_IF_ERROR(TransferLiteral(args.transfer_manager, args.buffer_index, args.data, *type));
  args.done_with_h2d_transfer = Wrap(runtime::Event::Ready());
  return absl::OkStatus();
}

absl::Status Call(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args& args) {
  Manager* manager = args.transfer_manager;
  absl::MutexLock lock(&manager->mutex);
  KILN_ASSIGN_OR_RETURN(Manager::Entry * entry, EntryOf(manager, args.buffer_index));
  if (entry->retrieved) {
    return FailedPrecondition("buffer ", args.buffer_index, " of the transfer was retrieved already");
  }
  entry->retrieved = true;
  args.buffer_out = Wrap(entry->buffer);
  return absl::OkStatus();
}

void Call(PJRT_AsyncHostToDeviceTransferManager_Device_Args& args) { args.device_out = args.transfer_manager->device; }

void Call(PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args& args) {
  absl::MutexLock lock(&args.transfer_manager->mutex);
  args.buffer_count = args.transfer_manager->entries.size();
}

absl::Status Call(PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args& args) {
  absl::MutexLock lock(&args.transfer_manager->mutex);
  KILN_ASSIGN_OR_RETURN(Manager::Entry * entry, EntryOf(args.transfer_manager, args.buffer_index));
  args.buffer_size = static_cast<size_t>(entry->buffer->type().byte_count());
  return absl::OkStatus();
}

absl::Status Call(PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args& args) {
  RefPtr<runtime::Event> definition;
  {
    absl::MutexLock lock(&args.transfer_manager->mutex);
    KILN_ASSIGN_OR_RETURN(Manager::Entry * entry, EntryOf(args.transfer_manager, args.buffer_index));
    KILN_ASSIGN_OR_RETURN(definition, Complete(entry, args.buffer_index));
  }
  definition->Set(StatusFrom(args.error_code, args.error_message, args.error_message_size));
  return absl::OkStatus();
}

// Metadata describes a transfer to tools that watch it; there are none here.
void Call(PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args&) {}

// There is none to destroy: Kiln has no send and recv callbacks.
void Call(PJRT_CopyToDeviceStream_Destroy_Args&) {}

}  // namespace kiln::c_api
