// How buffers come to be: from host memory, over foreign memory, uninitialized, or as errors.
#include <utility>

#include "c_api/functions.h"
#include "c_api/handles.h"

namespace kiln::c_api {

absl::Status Call(PJRT_Client_BufferFromHostBuffer_Args& args) {
  KILN_ASSIGN_OR_RETURN(RefPtr<const runtime::BufferType> type,
                        BufferTypeFrom(args.type, args.dims, args.num_dims, args.device_layout));
  if (args.host_buffer_semantics < PJRT_HostBufferSemantics_kImmutableOnlyDuringCall ||
      args.host_buffer_semantics > PJRT_HostBufferSemantics_kMutableZeroCopy) {
    return InvalidArgument("unknown host buffer semantics ", static_cast<int>(args.host_buffer_semantics));
  }
  const absl::Span<const int64_t> strides(args.byte_strides, args.num_byte_strides);
  const bool has_strides = args.byte_strides != nullptr && args.num_byte_strides != 0;
  // An event for the caller is needed only where the host memory stays in use after the call.
  RefPtr<runtime::Event> done = runtime::Event::Create();
  KILN_ASSIGN_OR_RETURN(
      RefPtr<runtime::Buffer> buffer,
      args.client->client->BufferFromHost(args.data, std::move(type), has_strides ? &strides : nullptr,
                                          static_cast<runtime::HostBufferSemantics>(args.host_buffer_semantics),
                                          ChooseMemory(args.client, args.device, args.memory),
                                          [done] { done->Set(absl::OkStatus()); }));
  args.done_with_host_buffer = Wrap(done->IsSettled() ? runtime::Event::Ready() : std::move(done));
  args.buffer = Wrap(std::move(buffer));
  return absl::OkStatus();
}

absl::Status Call(PJRT_Client_CreateViewOfDeviceBuffer_Args& args) {
  KILN_ASSIGN_OR_RETURN(RefPtr<const runtime::BufferType> type,
                        BufferTypeFrom(args.element_type, args.dims, args.num_dims, args.layout));
  PJRT_Memory* memory = KILN_HAS_FIELD(args, memory) ? args.memory : nullptr;
  std::function<void()> release;
  if (args.on_delete_callback != nullptr) {
    release = [callback = args.on_delete_callback, data = args.device_buffer_ptr,
               argument = args.on_delete_callback_arg] { callback(data, argument); };
  }
  return Give(args.client->client->CreateView(args.device_buffer_ptr, std::move(type),
                                              ChooseMemory(args.client, args.device, memory),
                                              /*writable=*/false, std::move(release)),
              &args.buffer);
}

absl::Status Call(PJRT_Client_CreateUninitializedBuffer_Args& args) {
  KILN_ASSIGN_OR_RETURN(RefPtr<const runtime::BufferType> type, BufferTypeFrom(args.shape_element_type, args.shape_dims,
                                                                               args.shape_num_dims, args.shape_layout));
  return Give(
      args.client->client->CreateUninitialized(std::move(type), ChooseMemory(args.client, args.device, args.memory)),
      &args.buffer);
}

absl::Status Call(PJRT_Client_CreateErrorBuffer_Args& args) {
  const PJRT_Buffer_MemoryLayout* layout = args.shape_layout;
  if (KILN_HAS_FIELD(args, device_layout) && args.device_layout != nullptr) layout = args.device_layout;
  KILN_ASSIGN_OR_RETURN(RefPtr<const runtime::BufferType> type,
                        BufferTypeFrom(args.shape_element_type, args.shape_dims, args.shape_num_dims, layout));
  absl::Status error = StatusFrom(args.error_code, args.error_message, args.error_message_size);
  if (KILN_HAS_FIELD(args, num_payload) && args.payload != nullptr) {
    for (size_t i = 0; i < args.num_payload; ++i) {
      const PJRT_NamedValue& payload = args.payload[i];
      if (payload.type != PJRT_NamedValue_kString) continue;
      error.SetPayload(View(payload.name, payload.name_size),
                       absl::Cord(View(payload.string_value, payload.value_size)));
    }
  }
  args.buffer = Wrap(args.client->client->CreateError(std::move(type), ChooseMemory(args.client, nullptr, args.memory),
                                                      std::move(error)));
  return absl::OkStatus();
}

}  // namespace kiln::c_api
