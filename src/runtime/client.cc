#include "src/runtime/client.h"

#include <cstring>
#include <utility>

#include "src/base/catch_exceptions.h"
#include "src/base/cpu_tuning.h"
#include "src/base/status.h"
#include "src/cpu/object_cache.h"
#include "src/cpu/warm_up.h"
#include "src/hlo/physical_copy.h"
#include "src/runtime/strided_copy.h"

namespace kiln::runtime {
namespace {

constexpr int64_t kMaxDevices = 1024;

// Calls a function when the memory is given up.
class CallbackMemory : public ForeignMemory {
 public:
  explicit CallbackMemory(std::function<void()> release) : release_(std::move(release)) {}
  ~CallbackMemory() override {
    if (release_) release_();
  }

 private:
  std::function<void()> release_;
};

// The byte strides of a host array of this type: `strides`, or dense row-major ones.
absl::StatusOr<hlo::DimensionVector> HostStrides(const BufferType& type, const absl::Span<const int64_t>* strides) {
  if (strides != nullptr) {
    if (static_cast<int64_t>(strides->size()) == type.rank()) {
      return hlo::DimensionVector(strides->begin(), strides->end());
    }
    return InvalidArgument("a host array with ", strides->size(), " strides for buffer ", type.ToString());
  }
  if (type.is_row_major()) return type.ByteStrides();
  KILN_ASSIGN_OR_RETURN(RefPtr<const BufferType> dense, BufferType::Create(type.element_type(), type.dimensions()));
  return dense->ByteStrides();
}

}  // namespace

Client::Client(const ClientOptions& options) : options_(options) {
  Allocator::Options allocator_options;
  if (options_.inline_nanoseconds < 0) options_.inline_nanoseconds = Tuning().threads.inline_nanoseconds;
  allocator_options.limit = options.memory_limit_bytes;
  allocator_options.cache_limit = options.cache_limit_bytes;
  allocator_options.guarded = GuardedMemory();
  allocator_ = MakeRef<Allocator>(allocator_options);
}

absl::StatusOr<std::unique_ptr<Client>> Client::Create(const ClientOptions& options) {
  ApplyProcessFlags();
  if (options.device_count < 1 || options.device_count > kMaxDevices) {
    return InvalidArgument("device_count must be between 1 and ", kMaxDevices, ", found ", options.device_count);
  }
  if (options.max_threads < 0 || options.max_threads > 4096) {
    return InvalidArgument("max_threads must be between 0 and 4096, found ", options.max_threads);
  }
  if (options.memory_limit_bytes < 0 || options.cache_limit_bytes < 0) {
    return InvalidArgument("memory_limit_bytes and cache_limit_bytes must not be negative");
  }
  auto client = std::unique_ptr<Client>(new Client(options));
  const int threads = options.max_threads > 0 ? static_cast<int>(options.max_threads) : ThreadPool::AvailableCpus();
  client->pool_ = std::make_unique<ThreadPool>(threads);
  for (int id = 0; id < options.device_count; ++id) {
    client->devices_.push_back(std::make_unique<Device>(client.get(), id));
  }
  if (options.warm_up && threads > 1) {
    client->BeginWork();
    client->pool_->Schedule([client = client.get()] {
      CatchExceptions(cpu::WarmUpCompiler).IgnoreError();
      client->EndWork();
    });
  }
  return client;
}

Client::~Client() {
  deferral_.Start();
  for (int64_t count; (count = work_in_flight_.load(std::memory_order_acquire)) != 0;) {
    work_in_flight_.wait(count, std::memory_order_acquire);
  }
  if (cpu::ObjectCache* cache = cpu::ObjectCache::Shared(); cache != nullptr) cache->Flush();
}

void Client::EndWork() {
  if (work_in_flight_.fetch_sub(1, std::memory_order_acq_rel) == 1) work_in_flight_.notify_all();
}

Device* Client::device(int64_t id) const {
  return id >= 0 && id < static_cast<int64_t>(devices_.size()) ? devices_[id].get() : nullptr;
}

RefPtr<Event> Client::RunAfter(const RefPtr<Event>& dependency, bool quick, std::function<absl::Status()> work) {
  if (dependency != nullptr) dependency->Want();
  const bool ready = dependency == nullptr || dependency->IsSettled();
  if (ready && dependency != nullptr && !dependency->status().ok()) return dependency;
  if (ready && quick) return Event::Settled(CatchExceptions(work));
  RefPtr<Event> done = Event::Create();
  BeginWork();
  // What the work holds, such as a buffer that it reads, is free before anybody hears of its end: who then donates the
  // buffer gives its memory.
  auto held = std::make_shared<std::function<absl::Status()>>(std::move(work));
  const auto end = [this, done, held](absl::Status status) {
    *held = nullptr;
    done->Set(std::move(status));
    EndWork();
  };
  auto run = [held, end] { end(CatchExceptions(*held)); };
  if (ready) {
    pool_->Schedule(std::move(run));
    return done;
  }
  dependency->OnSettled([this, end, run = std::move(run)](const absl::Status& status) {
    if (status.ok()) {
      pool_->Schedule(run);
    } else {
      end(status);
    }
  });
  return done;
}

absl::StatusOr<RefPtr<Buffer>> Client::CreateUninitialized(RefPtr<const BufferType> type, Memory* memory,
                                                           RefPtr<Event> definition) {
  KILN_ASSIGN_OR_RETURN(MemoryBlock block, MemoryBlock::Allocate(allocator_.get(), type->byte_count()));
  return MakeRef<Buffer>(std::move(type), memory, std::move(block), std::move(definition));
}

RefPtr<Buffer> Client::CreateError(RefPtr<const BufferType> type, Memory* memory, absl::Status error) {
  return MakeRef<Buffer>(std::move(type), memory, MemoryBlock(), Event::Settled(std::move(error)));
}

absl::StatusOr<RefPtr<Buffer>> Client::CreateView(void* data, RefPtr<const BufferType> type, Memory* memory,
                                                  bool writable, std::function<void()> release) {
  if (data == nullptr && type->byte_count() != 0) return InvalidArgument("a view of a null address");
  const size_t bytes = type->byte_count();
  return MakeRef<Buffer>(
      std::move(type), memory,
      MemoryBlock::Borrow(data, bytes, writable, std::make_unique<CallbackMemory>(std::move(release))), nullptr);
}

absl::StatusOr<RefPtr<Buffer>> Client::BufferFromHost(const void* data, RefPtr<const BufferType> type,
                                                      const absl::Span<const int64_t>* strides,
                                                      HostBufferSemantics semantics, Memory* memory,
                                                      std::function<void()> done) {
  if (data == nullptr && type->byte_count() != 0) return InvalidArgument("host data is null");
  const hlo::DimensionVector device_strides = type->ByteStrides();
  KILN_ASSIGN_OR_RETURN(const hlo::DimensionVector host_strides, HostStrides(*type, strides));
  // Strides of dimensions with one element or none place nothing.
  bool same = true;
  for (int64_t i = 0; i < type->rank(); ++i) {
    same &= host_strides[i] == device_strides[i] || type->dimensions()[i] <= 1 || type->element_count() == 0;
  }
  const bool may_borrow =
      semantics == HostBufferSemantics::kImmutableZeroCopy || semantics == HostBufferSemantics::kMutableZeroCopy;
  // The host's bytes of narrow elements are not yet what they are here.
  const hlo::PrimitiveType element = type->element_type();
  const bool narrow = hlo::BitWidth(element) < 8 && element != hlo::PrimitiveType::kPred;
  if (may_borrow && same && !narrow && type->byte_count() != 0 &&
      reinterpret_cast<uintptr_t>(data) % Allocator::kAlignment == 0) {
    return CreateView(const_cast<void*>(data), std::move(type), memory,
                      semantics == HostBufferSemantics::kMutableZeroCopy, std::move(done));
  }
  KILN_ASSIGN_OR_RETURN(MemoryBlock block, MemoryBlock::Allocate(allocator_.get(), type->byte_count()));
  if (same) {
    if (type->byte_count() != 0) std::memcpy(block.data(), data, type->byte_count());
  } else {
    StridedCopy(type->element_bytes(), type->dimensions(), data, host_strides, block.data(), device_strides);
  }
  hlo::ExtendNarrowElements(element, absl::MakeSpan(static_cast<uint8_t*>(block.data()), type->byte_count()));
  if (done) done();
  return MakeRef<Buffer>(std::move(type), memory, std::move(block), nullptr);
}

absl::StatusOr<RefPtr<Buffer>> Client::Copy(Buffer* source, Memory* memory) {
  auto hold = std::make_shared<BufferHold>(BufferHold::Acquire(source));
  if (!*hold)
    return InvalidArgument("cannot copy buffer ", source->type().ToString(), ": it has been deleted or donated");
  RefPtr<const BufferType> type = source->shared_type();
  KILN_ASSIGN_OR_RETURN(MemoryBlock block, MemoryBlock::Allocate(allocator_.get(), type->byte_count()));
  void* destination = block.data();
  // The new buffer's memory must outlive the copy, whatever its user does with it.
  RefPtr<Event> definition = source->definition();
  if (source->IsReady()) {
    std::memcpy(destination, (*hold)->data(), type->byte_count());
    return MakeRef<Buffer>(std::move(type), memory, std::move(block), nullptr);
  }
  RefPtr<Event> done = Event::Create();
  RefPtr<Buffer> copy = MakeRef<Buffer>(type, memory, std::move(block), done);
  auto copy_hold = std::make_shared<BufferHold>(BufferHold::Acquire(copy.get()));
  RefPtr<Event> copied = RunAfter(definition, /*quick=*/true, [hold, copy_hold] {
    std::memcpy((*copy_hold)->data(), (*hold)->data(), (*hold)->type().byte_count());
    return absl::OkStatus();
  });
  copied->OnSettled([done](const absl::Status& status) { done->Set(status); });
  return copy;
}

absl::StatusOr<RefPtr<Event>> Client::CopyToHost(Buffer* source, void* destination,
                                                 const absl::Span<const int64_t>* strides) {
  const BufferType& type = source->type();
  if (type.element_type() == hlo::PrimitiveType::kToken) return source->ReadyEvent();
  auto hold = std::make_shared<BufferHold>(BufferHold::Acquire(source));
  if (!*hold) return InvalidArgument("cannot read buffer ", type.ToString(), ": it has been deleted or donated");
  KILN_ASSIGN_OR_RETURN(hlo::DimensionVector host_strides, HostStrides(type, strides));
  const bool dense = host_strides == type.ByteStrides();
  return RunAfter(source->definition(), /*quick=*/true, [hold, destination, dense, host_strides] {
    const BufferType& type = (*hold)->type();
    if (type.byte_count() == 0) return absl::OkStatus();
    if (dense) {
      std::memcpy(destination, (*hold)->data(), type.byte_count());
    } else {
      StridedCopy(type.element_bytes(), type.dimensions(), (*hold)->data(), type.ByteStrides(), destination,
                  host_strides);
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<RefPtr<Event>> Client::CopyRawToHost(Buffer* source, void* destination, int64_t offset, int64_t size) {
  const int64_t bytes = source->type().byte_count();
  if (offset < 0 || size < 0 || offset > bytes || size > bytes - offset) {
    return InvalidArgument("cannot copy bytes [", offset, ", ", offset, " + ", size, ") of buffer ",
                           source->type().ToString(), ": it has ", bytes);
  }
  auto hold = std::make_shared<BufferHold>(BufferHold::Acquire(source));
  if (!*hold) {
    return InvalidArgument("cannot read buffer ", source->type().ToString(), ": it has been deleted or donated");
  }
  return RunAfter(source->definition(), /*quick=*/true, [hold, destination, offset, size] {
    if (size != 0) std::memcpy(destination, static_cast<const char*>((*hold)->data()) + offset, size);
    return absl::OkStatus();
  });
}

}  // namespace kiln::runtime
