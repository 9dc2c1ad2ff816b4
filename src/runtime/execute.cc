// LoadedExecutable::Execute: holds on arguments, donation, outputs, and where the program runs.
#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "src/base/catch_exceptions.h"
#include "src/base/float_environment.h"
#include "src/base/status.h"
#include "src/runtime/loaded_executable.h"

namespace kiln::runtime {
namespace {

template <typename T>
using SmallVector = absl::InlinedVector<T, 24>;

// The holds on the arguments of one Execute; drops those that were not donated or passed on.
class ArgumentHolds {
 public:
  explicit ArgumentHolds(absl::Span<Buffer* const> arguments) : arguments_(arguments) {}
  ArgumentHolds(const ArgumentHolds&) = delete;
  ArgumentHolds& operator=(const ArgumentHolds&) = delete;
  ~ArgumentHolds() {
    for (size_t i = 0; i < held_; ++i) {
      if (taken_.empty() || !taken_[i]) arguments_[i]->Drop();
    }
  }
  bool HoldNext() {
    if (!arguments_[held_]->Hold()) return false;
    ++held_;
    return true;
  }
  void SetTaken(size_t index) {
    if (taken_.empty()) taken_.assign(arguments_.size(), false);
    taken_[index] = true;
  }
  bool IsTaken(size_t index) const { return !taken_.empty() && taken_[index]; }
  // Somebody else drops the holds.
  void PassOn() { held_ = 0; }

 private:
  absl::Span<Buffer* const> arguments_;
  size_t held_ = 0;
  SmallVector<bool> taken_;
};

// Results that take a good deal of the cache, and long enough for what it costs to defer a run.
constexpr int64_t kLargeResults = int64_t{2} << 20;

bool Contains(absl::Span<const int64_t> list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// Frees memory that was taken over, once whoever writes it (null: nobody) is done.
void FreeWhenProduced(MemoryBlock block, const RefPtr<Event>& production) {
  if (production == nullptr || production->IsSettled()) return;
  production->OnSettled([block = std::make_shared<MemoryBlock>(std::move(block))](const absl::Status&) {});
}

}  // namespace

// A run that waits for its arguments, for its code or for a thread. Deletes itself at the end.
struct LoadedExecutable::Run {
  RefPtr<LoadedExecutable> executable;
  RefPtr<Event> done;
  const Device* device = nullptr;
  std::shared_ptr<const ffi::UserData> user_data;
  SmallVector<Buffer*> held;     // per argument: one hold and one reference each; null where an output took the memory
  SmallVector<Buffer*> outputs;  // in production, one reference each
  SmallVector<const void*> arguments;
  SmallVector<void*> results;
  SmallVector<RefPtr<Event>> definitions;  // of the arguments that were not ready
  std::atomic<int64_t> waiting{1};
  absl::Status status;

  void Wait() {
    waiting.store(static_cast<int64_t>(definitions.size()) + 2, std::memory_order_relaxed);
    // `this` may be gone once the last of these has arrived.
    SmallVector<RefPtr<Event>> events = definitions;
    for (const RefPtr<Event>& event : events) {
      event->OnSettled([this](const absl::Status&) { Arrive(); });
    }
    executable->executable_->OnCode([this] { Arrive(); });
    Arrive();
  }

  void Arrive() {
    if (waiting.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    ThreadPool& pool = *executable->client_->pool();
    // What is called is often a library with threads of its own.
    if (executable->executable_->custom_call_count() > 0) {
      return pool.ScheduleAlone([this] {
        Execute();
        End();
      });
    }
    pool.ScheduleComputation([this] { Execute(); }, [this] { End(); });
  }

  void Execute() {
    for (const RefPtr<Event>& event : definitions) {
      if (status.ok()) status = event->status();
    }
    // What was not there when this was enqueued has its memory now, and so have results.
    for (size_t i = 0; i < held.size() && status.ok(); ++i) {
      if (held[i] != nullptr) arguments[i] = held[i]->data();
    }
    for (size_t i = 0; i < outputs.size() && status.ok(); ++i) {
      results[i] = outputs[i]->data();
      if (results[i] == nullptr) status = ResourceExhausted("Out of memory: the system has none left for results");
    }
    if (status.ok()) status = executable->RunNow(arguments, results, *device, user_data);
  }

  // Tells whoever waits.
  void End() {
    for (Buffer* buffer : held) {
      if (buffer == nullptr) continue;
      buffer->Drop();
      buffer->Release();
    }
    // Outputs that nobody wants any more are freed before anybody hears of the end.
    for (Buffer* output : outputs) {
      output->EndProduction();
      output->Release();
    }
    Client* client = executable->client_;
    RefPtr<Event> finished = std::move(done);
    absl::Status outcome = std::move(status);
    delete this;
    finished->Set(std::move(outcome));
    client->EndWork();
  }
};

absl::Status LoadedExecutable::CheckMismatch(size_t index, const Buffer& argument, const Device* device) const {
  // Any kind of the device's memory will do: all can be addressed.
  if (argument.device() != device) {
    return InvalidArgument("argument ", index, " of ", name_, " is in the memory of device ", argument.device()->id(),
                           ", expected device ", device->id());
  }
  // Frameworks begin a chain of tokens with an empty array.
  const bool is_token = parameter_types_[index]->element_type() == hlo::PrimitiveType::kToken;
  if (is_token && argument.type().byte_count() == 0) return absl::OkStatus();
  return InvalidArgument("argument ", index, " of ", name_, " is ", argument.type().ToString(), ", expected ",
                         parameter_types_[index]->ToString());
}

bool LoadedExecutable::IsDeferred(absl::Span<Buffer* const> arguments, const ExecuteOptions& options) const {
  if (result_bytes_ < kLargeResults) return false;
  // What calls out may act on the world, and memory of somebody else may change once this call is back.
  if (executable_->custom_call_count() > 0) return false;
  if (std::any_of(arguments.begin(), arguments.end(), [](const Buffer* b) { return b->is_foreign(); })) return false;
  int64_t bytes = 0;
  for (size_t i = 0; i < output_types_.size(); ++i) {
    const bool donated = donated_parameter_[i] >= 0 && !Contains(options.non_donatable, donated_parameter_[i]);
    if (!donated) bytes += static_cast<int64_t>(output_types_[i]->byte_count());
  }
  return bytes >= kLargeResults;
}

absl::Status LoadedExecutable::RunNow(absl::Span<const void* const> arguments, absl::Span<void* const> results,
                                      const Device& device,
                                      const std::shared_ptr<const ffi::UserData>& user_data) const {
  return CatchExceptions([&]() -> absl::Status {
    const int64_t arena_bytes = executable_->arena_bytes();
    MemoryBlock arena;
    if (arena_bytes > 0) {
      KILN_ASSIGN_OR_RETURN(arena, MemoryBlock::Allocate(client_->allocator(), arena_bytes));
    }
    const DefaultFloatEnvironment environment;
    if (executable_->custom_call_count() == 0) {
      return executable_->Run(arguments, results, arena.data(), client_->pool());
    }
    ffi::Execution execution({.device_ordinal = static_cast<int32_t>(device.id()),
                              .pool = client_->pool(),
                              .allocator = client_->allocator(),
                              .user_data = user_data},
                             executable_->custom_call_count());
    return executable_->Run(arguments, results, arena.data(), client_->pool(), &execution);
  });
}

absl::Status LoadedExecutable::Execute(absl::Span<Buffer* const> arguments, const ExecuteOptions& options,
                                       Buffer** outputs, RefPtr<Event>* complete) {
  // Runs are in order, and this one's arguments may be what waits.
  client_->deferral()->Start();
  if (IsDeleted()) return InvalidArgument("executable ", name_, " has been deleted");
  Device* device = options.device != nullptr ? options.device : device_;
  if (device != device_ && !portable_) {
    return InvalidArgument("executable ", name_, " is compiled for device ", device_->id(),
                           " and cannot run on device ", device->id());
  }
  if (arguments.size() != parameter_types_.size()) {
    return InvalidArgument("executable ", name_, " takes ", parameter_types_.size(), " arguments, found ",
                           arguments.size());
  }
  const auto memory = [this, device](size_t output) {
    return device->memory(static_cast<int>(memory_kinds_.outputs[output]));
  };
  ArgumentHolds holds(arguments);
  SmallVector<const void*> argument_data(arguments.size());
  bool ready = true;
  const Event* failure = nullptr;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!holds.HoldNext()) {
      return InvalidArgument("Invalid buffer passed as argument ", i, " of ", name_, ", ",
                             arguments[i]->type().ToString(), ": Buffer has been deleted or donated");
    }
    if (arguments[i]->device() != device || !(arguments[i]->type() == *parameter_types_[i])) {
      KILN_RETURN_IF_ERROR(CheckMismatch(i, *arguments[i], device));
    }
    const Event* definition = arguments[i]->definition().get();
    if (definition == nullptr) continue;
    if (!definition->IsSettled()) {
      ready = false;
    } else if (!definition->status().ok()) {
      failure = definition;
    }
  }
  // What calls out sees what its caller keeps per thread, so that such a program rather waits for its code here.
  const bool may_begin = executable_->HasCode() || executable_->custom_call_count() > 0;
  const bool in_this_thread = ready && runs_inline_ && failure == nullptr && may_begin;
  const bool deferred = in_this_thread && IsDeferred(arguments, options);
  const bool run_inline = in_this_thread && !deferred;

  // Donation: an output takes over the memory of its parameter when nobody else uses it.
  const size_t output_count = output_types_.size();
  SmallVector<MemoryBlock> blocks(output_count);
  SmallVector<void*> results(output_count);
  for (size_t i = 0; i < output_count && donates_; ++i) {
    const int64_t parameter = donated_parameter_[i];
    if (parameter < 0 || failure != nullptr || Contains(options.non_donatable, parameter)) continue;
    if (arguments[parameter]->HoldCount() > 1 &&
        std::count(arguments.begin(), arguments.end(), arguments[parameter]) > 1) {
      return InvalidArgument("Attempt to use a buffer that was previously donated in the same call: argument ",
                             parameter, " of ", name_, " is another argument as well");
    }
  }
  const auto make = [&](size_t output) {
    const auto bytes = static_cast<size_t>(output_types_[output]->byte_count());
    return run_inline ? MemoryBlock::Allocate(client_->allocator(), bytes)
                      : MemoryBlock::Reserve(client_->allocator(), bytes);
  };
  // Donations come last: where memory runs out before, the caller keeps what it would have given up.
  for (const bool donates : {false, true}) {
    if (donates && !donates_) break;
    for (size_t i = 0; i < output_count && failure == nullptr; ++i) {
      const int64_t parameter = donated_parameter_[i];
      if (donates != (parameter >= 0 && !Contains(options.non_donatable, parameter))) continue;
      std::optional<MemoryBlock> block;
      if (donates && !holds.IsTaken(parameter)) block = arguments[parameter]->Donate();
      if (block.has_value()) {
        holds.SetTaken(parameter);
        blocks[i] = *std::move(block);
        argument_data[parameter] = blocks[i].data();
      } else if (auto made = make(i); made.ok()) {
        blocks[i] = *std::move(made);
      } else {
        for (size_t j = 0; j < output_count; ++j) {
          if (donated_parameter_[j] < 0) continue;
          FreeWhenProduced(std::move(blocks[j]), arguments[donated_parameter_[j]]->definition());
        }
        return made.status();
      }
    }
  }

  for (int64_t parameter : executable_->donated_parameters()) {
    // The program holds it still.
    if (!Contains(options.non_donatable, parameter)) arguments[parameter]->Delete();
  }

  if (failure != nullptr) {
    for (size_t i = 0; i < output_count; ++i) {
      outputs[i] = client_->CreateError(output_types_[i], memory(i), failure->status()).Detach();
    }
    if (complete != nullptr) *complete = Event::Settled(failure->status());
    return absl::OkStatus();
  }

  if (run_inline) {
    for (size_t i = 0; i < arguments.size(); ++i) argument_data[i] = arguments[i]->data();
    for (size_t i = 0; i < output_count; ++i) results[i] = blocks[i].data();
    absl::Status status = RunNow(argument_data, results, *device, options.user_data);
    for (size_t i = 0; i < output_count; ++i) {
      outputs[i] = status.ok() ? new Buffer(output_types_[i], memory(i), std::move(blocks[i]), nullptr)
                               : client_->CreateError(output_types_[i], memory(i), status).Detach();
    }
    if (complete != nullptr) *complete = Event::Settled(std::move(status));
    return absl::OkStatus();
  }

  Run* run = new Run;
  run->executable = RefPtr<LoadedExecutable>::Share(this);
  run->done = Event::Create(deferred ? client_->deferral() : nullptr);
  run->device = device;
  run->user_data = options.user_data;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const RefPtr<Event>& definition = arguments[i]->definition();
    if (definition && !(definition->IsSettled() && definition->status().ok())) run->definitions.push_back(definition);
    run->held.push_back(holds.IsTaken(i) ? nullptr : arguments[i]);
    if (!holds.IsTaken(i)) arguments[i]->AddRef();
  }
  holds.PassOn();
  run->arguments = std::move(argument_data);
  run->results = std::move(results);
  for (size_t i = 0; i < output_count; ++i) {
    outputs[i] = new Buffer(output_types_[i], memory(i), std::move(blocks[i]), run->done, /*produced=*/true);
    outputs[i]->AddRef();
    run->outputs.push_back(outputs[i]);
  }
  if (complete != nullptr) *complete = run->done;
  client_->BeginWork();
  if (deferred) {
    client_->deferral()->Put([run] {
      run->Execute();
      run->End();
    });
  } else {
    run->Wait();
  }
  return absl::OkStatus();
}

}  // namespace kiln::runtime
