// PJRT_Buffer: getters, lifetime and pins.
#include <utility>

#include "c_api/functions.h"
#include "c_api/handles.h"

namespace kiln::c_api {

PJRT_Error* BufferDestroy(PJRT_Buffer_Destroy_Args* args) {
  KILN_REQUIRE_FIELD(args, buffer);
  if (args->buffer == nullptr) return nullptr;
  Unwrap(args->buffer)->Delete();
  Unwrap(args->buffer)->Release();
  return nullptr;
}

PJRT_Error* BufferElementType(PJRT_Buffer_ElementType_Args* args) {
  KILN_REQUIRE_FIELD(args, type);
  KILN_REQUIRE_POINTER(args, buffer);
  args->type = ElementTypeOf(Unwrap(args->buffer)->type().element_type());
  return nullptr;
}

PJRT_Error* BufferDimensions(PJRT_Buffer_Dimensions_Args* args) {
  KILN_REQUIRE_FIELD(args, num_dims);
  KILN_REQUIRE_POINTER(args, buffer);
  const runtime::BufferType& type = Unwrap(args->buffer)->type();
  args->dims = type.dimensions().data();
  args->num_dims = type.dimensions().size();
  return nullptr;
}

PJRT_Error* BufferUnpaddedDimensions(PJRT_Buffer_UnpaddedDimensions_Args* args) {
  KILN_REQUIRE_FIELD(args, num_dims);
  KILN_REQUIRE_POINTER(args, buffer);
  const runtime::BufferType& type = Unwrap(args->buffer)->type();
  args->unpadded_dims = type.dimensions().data();
  args->num_dims = type.dimensions().size();
  return nullptr;
}

PJRT_Error* BufferDynamicDimensionIndices(PJRT_Buffer_DynamicDimensionIndices_Args* args) {
  KILN_REQUIRE_FIELD(args, num_dynamic_dims);
  static constexpr size_t kNone = 0;
  args->dynamic_dim_indices = &kNone;
  args->num_dynamic_dims = 0;
  return nullptr;
}

PJRT_Error* BufferGetMemoryLayout(PJRT_Buffer_GetMemoryLayout_Args* args) {
  KILN_REQUIRE_FIELD(args, layout);
  KILN_REQUIRE_POINTER(args, buffer);
  FillLayout(Unwrap(args->buffer)->type(), &args->layout);
  return nullptr;
}

PJRT_Error* BufferOnDeviceSizeInBytes(PJRT_Buffer_OnDeviceSizeInBytes_Args* args) {
  KILN_REQUIRE_FIELD(args, on_device_size_in_bytes);
  KILN_REQUIRE_POINTER(args, buffer);
  args->on_device_size_in_bytes = static_cast<size_t>(Unwrap(args->buffer)->type().byte_count());
  return nullptr;
}

PJRT_Error* BufferDelete(PJRT_Buffer_Delete_Args* args) {
  KILN_REQUIRE_FIELD(args, buffer);
  KILN_REQUIRE_POINTER(args, buffer);
  Unwrap(args->buffer)->Delete();
  return nullptr;
}

PJRT_Error* BufferIsDeleted(PJRT_Buffer_IsDeleted_Args* args) {
  KILN_REQUIRE_FIELD(args, is_deleted);
  KILN_REQUIRE_POINTER(args, buffer);
  args->is_deleted = Unwrap(args->buffer)->IsDeleted();
  return nullptr;
}

PJRT_Error* BufferIsOnCpu(PJRT_Buffer_IsOnCpu_Args* args) {
  KILN_REQUIRE_FIELD(args, is_on_cpu);
  args->is_on_cpu = true;
  return nullptr;
}

PJRT_Error* BufferDevice(PJRT_Buffer_Device_Args* args) {
  KILN_REQUIRE_FIELD(args, device);
  KILN_REQUIRE_POINTER(args, buffer);
  args->device = HandleOf(Unwrap(args->buffer)->device());
  return nullptr;
}

PJRT_Error* BufferMemory(PJRT_Buffer_Memory_Args* args) {
  KILN_REQUIRE_FIELD(args, memory);
  KILN_REQUIRE_POINTER(args, buffer);
  args->memory = HandleOf(Unwrap(args->buffer)->memory());
  return nullptr;
}

PJRT_Error* BufferReadyEvent(PJRT_Buffer_ReadyEvent_Args* args) {
  KILN_REQUIRE_FIELD(args, event);
  KILN_REQUIRE_POINTER(args, buffer);
  args->event = Wrap(Unwrap(args->buffer)->ReadyEvent());
  return nullptr;
}

PJRT_Error* BufferUnsafePointer(PJRT_Buffer_UnsafePointer_Args* args) {
  KILN_REQUIRE_FIELD(args, buffer_pointer);
  KILN_REQUIRE_POINTER(args, buffer);
  runtime::BufferHold hold = runtime::BufferHold::Acquire(Unwrap(args->buffer));
  if (!hold) return MakeError(InvalidArgument("PJRT_Buffer_UnsafePointer: the buffer has been deleted or donated"));
  KILN_C_RETURN_IF_ERROR(hold->ReadyEvent()->Await());
  args->buffer_pointer = reinterpret_cast<uintptr_t>(hold->data());
  return nullptr;
}

PJRT_Error* BufferIncreaseExternalReferenceCount(PJRT_Buffer_IncreaseExternalReferenceCount_Args* args) {
  KILN_REQUIRE_FIELD(args, buffer);
  KILN_REQUIRE_POINTER(args, buffer);
  return MakeError(Unwrap(args->buffer)->AddPin());
}

PJRT_Error* BufferDecreaseExternalReferenceCount(PJRT_Buffer_DecreaseExternalReferenceCount_Args* args) {
  KILN_REQUIRE_FIELD(args, buffer);
  KILN_REQUIRE_POINTER(args, buffer);
  return MakeError(Unwrap(args->buffer)->RemovePin());
}

PJRT_Error* BufferOpaqueDeviceMemoryDataPointer(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args* args) {
  KILN_REQUIRE_FIELD(args, device_memory_ptr);
  KILN_REQUIRE_POINTER(args, buffer);
  runtime::BufferHold hold = runtime::BufferHold::Acquire(Unwrap(args->buffer));
  if (!hold && !Unwrap(args->buffer)->IsPinned()) {
    return MakeError(
        InvalidArgument("PJRT_Buffer_OpaqueDeviceMemoryDataPointer: the buffer has been deleted or donated"));
  }
  args->device_memory_ptr = Unwrap(args->buffer)->data();
  return nullptr;
}

}  // namespace kiln::c_api
