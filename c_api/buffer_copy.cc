// Buffers to the host, to other memories, and to other forms of themselves.
#include <utility>

#include "c_api/functions.h"
#include "c_api/handles.h"

namespace kiln::c_api {
namespace {

runtime::Client* ClientOf(PJRT_Buffer* buffer) { return Unwrap(buffer)->device()->client(); }

// What PJRT_Buffer_CopyRawToHostFuture keeps until the caller names the destination.
struct PendingRawCopy {
  RefPtr<runtime::Buffer> buffer;
  runtime::BufferHold hold;
  int64_t offset;
  int64_t size;
  RefPtr<runtime::Event> done;
};

void StartRawCopy(PJRT_Buffer_CopyRawToHostFuture_Callback_Args* args) {
  std::unique_ptr<PendingRawCopy> pending(static_cast<PendingRawCopy*>(args->callback_data));
  if (args->error_code != PJRT_Error_Code_OK) {
    pending->done->Set(StatusFrom(args->error_code, args->error_message, args->error_message_size));
    return;
  }
  auto copied = pending->buffer->device()->client()->CopyRawToHost(pending->buffer.get(), args->dst, pending->offset,
                                                                   pending->size);
  if (!copied.ok()) {
    pending->done->Set(copied.status());
    return;
  }
  (*copied)->OnSettled([done = pending->done](const absl::Status& status) { done->Set(status); });
}

// What PJRT_Buffer_DonateWithControlDependency keeps until the caller reports.
struct PendingDependency {
  RefPtr<runtime::Event> production;  // of the donated content; null: it is there
  RefPtr<runtime::Buffer> buffer;     // the new one, in production
  RefPtr<runtime::Event> definition;  // of the new one
};

void SettleDependency(PJRT_Buffer_DonateWithControlDependency_Callback_Args* args) {
  std::unique_ptr<PendingDependency> pending(static_cast<PendingDependency*>(args->callback_data));
  absl::Status outcome;
  if (args->error_code != PJRT_Error_Code_OK) {
    outcome = StatusFrom(args->error_code, args->error_message, args->error_message_size);
  }
  // Even after a failure the memory stays until its producer is done with it.
  const RefPtr<runtime::Event> production = pending->production ? pending->production : runtime::Event::Ready();
  production->OnSettled(
      [buffer = pending->buffer, definition = pending->definition, outcome](const absl::Status& status) {
        buffer->EndProduction();
        definition->Set(outcome.ok() ? status : outcome);
      });
}

// Keeps another buffer's content alive for a view of it.
class HeldContent : public runtime::ForeignMemory {
 public:
  explicit HeldContent(runtime::BufferHold hold) : hold_(std::move(hold)) {}

 private:
  runtime::BufferHold hold_;
};

}  // namespace

absl::Status Call(PJRT_Buffer_ToHostBuffer_Args& args) {
  const runtime::BufferType& type = Unwrap(args.src)->type();
  const size_t needed = static_cast<size_t>(type.byte_count());
  if (args.dst == nullptr) {
    args.dst_size = needed;
    return absl::OkStatus();
  }
  if (args.dst_size < needed) {
    return InvalidArgument("buffer ", type.ToString(), " has ", needed, " bytes, the destination has ", args.dst_size);
  }
  hlo::DimensionVector strides;
  if (args.host_layout != nullptr) {
    // Every layout of the host is checked to be dense, so that it cannot lead past the destination.
    KILN_ASSIGN_OR_RETURN(RefPtr<const runtime::BufferType> host_type,
                          BufferTypeFrom(ElementTypeOf(type.element_type()), type.dimensions().data(),
                                         type.dimensions().size(), args.host_layout));
    strides = host_type->ByteStrides();
  }
  const absl::Span<const int64_t> host_strides(strides);
  return Give(
      ClientOf(args.src)->CopyToHost(Unwrap(args.src), args.dst, args.host_layout != nullptr ? &host_strides : nullptr),
      &args.event);
}

absl::Status Call(PJRT_Buffer_CopyRawToHost_Args& args) {
  if (args.transfer_size != 0) KILN_REQUIRE_POINTER(args, dst);
  return Give(ClientOf(args.buffer)->CopyRawToHost(Unwrap(args.buffer), args.dst, args.offset, args.transfer_size),
              &args.event);
}

absl::Status Call(PJRT_Buffer_CopyRawToHostFuture_Args& args) {
  runtime::Buffer* buffer = Unwrap(args.buffer);
  const int64_t bytes = buffer->type().byte_count();
  if (args.offset < 0 || args.transfer_size < 0 || args.offset > bytes || args.transfer_size > bytes - args.offset) {
    return InvalidArgument("cannot copy bytes [", args.offset, ", ", args.offset, " + ", args.transfer_size,
                           ") of buffer ", buffer->type().ToString());
  }
  runtime::BufferHold hold = runtime::BufferHold::Acquire(buffer);
  if (!hold) return InvalidArgument("cannot read a buffer that has been deleted or donated");
  RefPtr<runtime::Event> done = runtime::Event::Create();
  args.callback_data = new PendingRawCopy{RefPtr<runtime::Buffer>::Share(buffer), std::move(hold), args.offset,
                                          args.transfer_size, done};
  args.future_ready_callback = StartRawCopy;
  args.event = Wrap(std::move(done));
  return absl::OkStatus();
}

absl::Status Call(PJRT_Buffer_CopyToDevice_Args& args) {
  KILN_REQUIRE_POINTER(args, dst_device);
  return Give(ClientOf(args.buffer)->Copy(Unwrap(args.buffer), args.dst_device->device->default_memory()),
              &args.dst_buffer);
}

absl::Status Call(PJRT_Buffer_CopyToMemory_Args& args) {
  KILN_REQUIRE_POINTER(args, dst_memory);
  return Give(ClientOf(args.buffer)->Copy(Unwrap(args.buffer), Unwrap(args.dst_memory)->memory), &args.dst_buffer);
}

absl::Status Call(PJRT_Buffer_Bitcast_Args& args) {
  runtime::Buffer* buffer = Unwrap(args.buffer);
  KILN_ASSIGN_OR_RETURN(RefPtr<const runtime::BufferType> type,
                        BufferTypeFrom(args.element_type, args.dims, args.num_dims, args.device_layout));
  if (type->byte_count() != buffer->type().byte_count()) {
    return InvalidArgument("cannot see buffer ", buffer->type().ToString(), " of ", buffer->type().byte_count(),
                           " bytes as ", type->ToString(), " of ", type->byte_count());
  }
  runtime::BufferHold hold = runtime::BufferHold::Acquire(buffer);
  if (!hold) return InvalidArgument("cannot see a buffer that has been deleted or donated");
  void* data = hold->data();
  const size_t bytes = type->byte_count();
  args.out_buffer = Wrap(MakeRef<runtime::Buffer>(
      std::move(type), buffer->memory(),
      runtime::MemoryBlock::Borrow(data, bytes, /*writable=*/false, std::make_unique<HeldContent>(std::move(hold))),
      buffer->definition()));
  return absl::OkStatus();
}

absl::Status Call(PJRT_Buffer_DonateWithControlDependency_Args& args) {
  runtime::Buffer* buffer = Unwrap(args.buffer);
  if (!buffer->Hold()) return InvalidArgument("cannot donate a buffer that has been deleted or donated");
  RefPtr<runtime::Event> production = buffer->definition();
  std::optional<runtime::MemoryBlock> block = buffer->Donate();
  if (!block.has_value()) {
    buffer->Drop();
    return FailedPrecondition("cannot donate a buffer while others use it");
  }
  RefPtr<runtime::Event> definition = runtime::Event::Create();
  RefPtr<runtime::Buffer> donated = MakeRef<runtime::Buffer>(buffer->shared_type(), buffer->memory(), *std::move(block),
                                                             definition, /*produced=*/true);
  args.callback_data = new PendingDependency{std::move(production), donated, std::move(definition)};
  args.dependency_ready_callback = SettleDependency;
  args.out_buffer = Wrap(std::move(donated));
  return absl::OkStatus();
}

}  // namespace kiln::c_api
