// PJRT_Buffer: getters, lifetime and pins.
#include <utility>

#include "c_api/functions.h"
#include "c_api/handles.h"

namespace kiln::c_api {
namespace {

// Whoever asks for the address will look at what is there.
void WantContent(const runtime::Buffer& buffer) {
  if (buffer.definition() != nullptr) buffer.definition()->Want();
}

}  // namespace

void Call(PJRT_Buffer_Destroy_Args& args) {
  if (args.buffer == nullptr) return;
  runtime::Buffer* buffer = Unwrap(args.buffer);
  // With the only reference the content goes in any case.
  if (!buffer->IsUnique()) buffer->Delete();
  buffer->Release();
}

void Call(PJRT_Buffer_ElementType_Args& args) { args.type = ElementTypeOf(Unwrap(args.buffer)->type().element_type()); }

void Call(PJRT_Buffer_Dimensions_Args& args) {
  Give(Unwrap(args.buffer)->type().dimensions(), &args.dims, &args.num_dims);
}

void Call(PJRT_Buffer_UnpaddedDimensions_Args& args) {
  Give(Unwrap(args.buffer)->type().dimensions(), &args.unpadded_dims, &args.num_dims);
}

void Call(PJRT_Buffer_DynamicDimensionIndices_Args& args) {
  static constexpr size_t kNone = 0;
  args.dynamic_dim_indices = &kNone;
  args.num_dynamic_dims = 0;
}

void Call(PJRT_Buffer_GetMemoryLayout_Args& args) { FillLayout(Unwrap(args.buffer)->type(), &args.layout); }

void Call(PJRT_Buffer_OnDeviceSizeInBytes_Args& args) {
  args.on_device_size_in_bytes = static_cast<size_t>(Unwrap(args.buffer)->type().byte_count());
}

void Call(PJRT_Buffer_Delete_Args& args) { Unwrap(args.buffer)->Delete(); }

void Call(PJRT_Buffer_IsDeleted_Args& args) { args.is_deleted = Unwrap(args.buffer)->IsDeleted(); }

void Call(PJRT_Buffer_IsOnCpu_Args& args) { args.is_on_cpu = true; }

void Call(PJRT_Buffer_Device_Args& args) { args.device = HandleOf(Unwrap(args.buffer)->device()); }

void Call(PJRT_Buffer_Memory_Args& args) { args.memory = HandleOf(Unwrap(args.buffer)->memory()); }

void Call(PJRT_Buffer_ReadyEvent_Args& args) {
  WantContent(*Unwrap(args.buffer));
  args.event = Wrap(Unwrap(args.buffer)->ReadyEvent());
}

absl::Status Call(PJRT_Buffer_UnsafePointer_Args& args) {
  runtime::BufferHold hold = runtime::BufferHold::Acquire(Unwrap(args.buffer));
  if (!hold) return InvalidArgument("PJRT_Buffer_UnsafePointer: the buffer has been deleted or donated");
  KILN_RETURN_IF_ERROR(hold->ReadyEvent()->Await());
  args.buffer_pointer = reinterpret_cast<uintptr_t>(hold->data());
  return absl::OkStatus();
}

absl::Status Call(PJRT_Buffer_IncreaseExternalReferenceCount_Args& args) {
  WantContent(*Unwrap(args.buffer));
  return Unwrap(args.buffer)->AddPin();
}

absl::Status Call(PJRT_Buffer_DecreaseExternalReferenceCount_Args& args) { return Unwrap(args.buffer)->RemovePin(); }

absl::Status Call(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args& args) {
  runtime::BufferHold hold = runtime::BufferHold::Acquire(Unwrap(args.buffer));
  if (!hold && !Unwrap(args.buffer)->IsPinned()) {
    return InvalidArgument("PJRT_Buffer_OpaqueDeviceMemoryDataPointer: the buffer has been deleted or donated");
  }
  WantContent(*Unwrap(args.buffer));
  args.device_memory_ptr = Unwrap(args.buffer)->data();
  return absl::OkStatus();
}

}  // namespace kiln::c_api
