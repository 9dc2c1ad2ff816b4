// kiln.h: status, client and buffers.
#include "c_api/kiln.h"

#include <cstring>
#include <utility>

#include "c_api/kiln_objects.h"
#include "src/inspect/dump.h"

using kiln::RefPtr;
using kiln::c_api::MakeStatus;
using kiln::runtime::Buffer;
using kiln::runtime::BufferType;

namespace kiln::c_api {
namespace {

// The part of `options` that the caller has; zeros elsewhere.
kiln_client_options Complete(const kiln_client_options* options) {
  kiln_client_options complete = {};
  if (options != nullptr) std::memcpy(&complete, options, std::min(options->struct_size, sizeof(complete)));
  return complete;
}

absl::StatusOr<RefPtr<const BufferType>> TypeFrom(kiln_dtype dtype, const int64_t* dims, size_t rank) {
  const int number = static_cast<int>(dtype);
  if (number <= 0 || number >= hlo::kPrimitiveTypeCount || !hlo::IsArrayType(static_cast<hlo::PrimitiveType>(number))) {
    return InvalidArgument("there is no element type ", number);
  }
  if (dims == nullptr && rank != 0) return InvalidArgument("dims must not be null for rank ", rank);
  return BufferType::Create(static_cast<hlo::PrimitiveType>(number), absl::Span<const int64_t>(dims, rank));
}

absl::Status FromHost(kiln_client* client, kiln_dtype dtype, const int64_t* dims, size_t rank, const void* data,
                      const int64_t* byte_strides, runtime::HostBufferSemantics semantics,
                      std::function<void()> release, kiln_buffer** buffer) {
  if (client == nullptr || buffer == nullptr) return InvalidArgument("client and buffer must not be null");
  KILN_ASSIGN_OR_RETURN(RefPtr<const BufferType> type, TypeFrom(dtype, dims, rank));
  const absl::Span<const int64_t> strides(byte_strides, rank);
  KILN_ASSIGN_OR_RETURN(RefPtr<Buffer> made, client->client->BufferFromHost(
                                                 data, std::move(type), byte_strides ? &strides : nullptr, semantics,
                                                 client->client->device(0)->default_memory(), std::move(release)));
  *buffer = WrapBuffer(std::move(made));
  return absl::OkStatus();
}

}  // namespace

kiln_status* MakeStatus(const absl::Status& status) {
  return status.ok() ? nullptr : new kiln_status{status.code(), std::string(status.message())};
}

}  // namespace kiln::c_api

KILN_EXPORT const char* kiln_version(void) { return "0.1.0"; }

KILN_EXPORT kiln_code kiln_status_code(const kiln_status* status) {
  return status == nullptr ? KILN_OK : static_cast<kiln_code>(status->code);
}

KILN_EXPORT const char* kiln_status_message(const kiln_status* status) {
  return status == nullptr ? "" : status->message.c_str();
}

KILN_EXPORT void kiln_status_destroy(kiln_status* status) { delete status; }

KILN_EXPORT kiln_status* kiln_client_create(const kiln_client_options* options, kiln_client** client) {
  if (client == nullptr) return MakeStatus(kiln::InvalidArgument("client must not be null"));
  const kiln_client_options given = kiln::c_api::Complete(options);
  kiln::runtime::ClientOptions client_options;
  client_options.max_threads = given.max_threads;
  client_options.memory_limit_bytes = given.memory_limit_bytes;
  client_options.cache_limit_bytes = given.cache_limit_bytes;
  client_options.observe = kiln::inspect::MakeDumperFactory();
  auto made = kiln::runtime::Client::Create(client_options);
  if (!made.ok()) return MakeStatus(made.status());
  *client = new kiln_client{*std::move(made)};
  return nullptr;
}

KILN_EXPORT void kiln_client_destroy(kiln_client* client) { delete client; }

KILN_EXPORT kiln_status* kiln_buffer_from_host(kiln_client* client, kiln_dtype dtype, const int64_t* dims, size_t rank,
                                               const void* data, const int64_t* byte_strides, kiln_buffer** buffer) {
  return kiln::c_api::Answer([&] {
    return kiln::c_api::FromHost(client, dtype, dims, rank, data, byte_strides,
                                 kiln::runtime::HostBufferSemantics::kImmutableOnlyDuringCall, nullptr, buffer);
  });
}

KILN_EXPORT kiln_status* kiln_buffer_borrow(kiln_client* client, kiln_dtype dtype, const int64_t* dims, size_t rank,
                                            const void* data, void (*release)(void*), void* argument,
                                            kiln_buffer** buffer) {
  return kiln::c_api::Answer([&] {
    std::function<void()> done;
    if (release != nullptr) done = [release, argument] { release(argument); };
    return kiln::c_api::FromHost(client, dtype, dims, rank, data, nullptr,
                                 kiln::runtime::HostBufferSemantics::kImmutableZeroCopy, std::move(done), buffer);
  });
}

KILN_EXPORT kiln_status* kiln_buffer_to_host(const kiln_buffer* buffer, void* data, size_t size) {
  if (buffer == nullptr || data == nullptr) {
    return MakeStatus(kiln::InvalidArgument("buffer and data must not be null"));
  }
  Buffer* source = kiln::c_api::UnwrapBuffer(buffer);
  const size_t needed = static_cast<size_t>(source->type().byte_count());
  if (size < needed) {
    return MakeStatus(kiln::InvalidArgument("buffer ", source->type().ToString(), " has ", needed,
                                            " bytes, the destination has ", size));
  }
  auto copied = source->device()->client()->CopyToHost(source, data, nullptr);
  return MakeStatus(copied.ok() ? (*copied)->Await() : copied.status());
}

KILN_EXPORT kiln_status* kiln_buffer_await(const kiln_buffer* buffer) {
  if (buffer == nullptr) return MakeStatus(kiln::InvalidArgument("buffer must not be null"));
  return MakeStatus(kiln::c_api::UnwrapBuffer(buffer)->ReadyEvent()->Await());
}

KILN_EXPORT kiln_status* kiln_buffer_data(const kiln_buffer* buffer, const void** data) {
  if (buffer == nullptr || data == nullptr) {
    return MakeStatus(kiln::InvalidArgument("buffer and data must not be null"));
  }
  Buffer* source = kiln::c_api::UnwrapBuffer(buffer);
  if (!source->type().is_row_major()) {
    return MakeStatus(kiln::FailedPrecondition("buffer ", source->type().ToString(), " is not row-major"));
  }
  if (absl::Status status = source->ReadyEvent()->Await(); !status.ok()) return MakeStatus(status);
  *data = source->data();
  return nullptr;
}

KILN_EXPORT kiln_dtype kiln_buffer_dtype(const kiln_buffer* buffer) {
  if (buffer == nullptr) return static_cast<kiln_dtype>(0);
  return static_cast<kiln_dtype>(kiln::c_api::UnwrapBuffer(buffer)->type().element_type());
}

KILN_EXPORT size_t kiln_buffer_rank(const kiln_buffer* buffer) {
  return buffer == nullptr ? 0 : kiln::c_api::UnwrapBuffer(buffer)->type().dimensions().size();
}

KILN_EXPORT const int64_t* kiln_buffer_dims(const kiln_buffer* buffer) {
  return buffer == nullptr ? nullptr : kiln::c_api::UnwrapBuffer(buffer)->type().dimensions().data();
}

KILN_EXPORT size_t kiln_buffer_size(const kiln_buffer* buffer) {
  return buffer == nullptr ? 0 : static_cast<size_t>(kiln::c_api::UnwrapBuffer(buffer)->type().byte_count());
}

KILN_EXPORT void kiln_buffer_destroy(kiln_buffer* buffer) {
  if (buffer == nullptr) return;
  kiln::c_api::UnwrapBuffer(buffer)->Delete();
  kiln::c_api::UnwrapBuffer(buffer)->Release();
}
