// A compiled program on a device: types of its parameters and outputs, donation, and Execute.
#ifndef KILN_RUNTIME_LOADED_EXECUTABLE_H_
#define KILN_RUNTIME_LOADED_EXECUTABLE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/base/ref_counted.h"
#include "src/cpu/executable.h"
#include "src/hlo/module.h"
#include "src/runtime/buffer.h"
#include "src/runtime/client.h"
#include "src/runtime/compile_options.h"
#include "src/runtime/ffi/execution.h"

namespace kiln::runtime {

// Kinds of memory (Memory::kKinds) of a program's parameters and outputs, one per leaf; empty: the default.
struct MemoryKinds {
  std::vector<int64_t> parameters;
  std::vector<int64_t> outputs;
};

// Thread-safe; many executions may run at once. Execute takes no lock and allocates little more than the outputs.
class LoadedExecutable : public RefCounted<LoadedExecutable> {
 public:
  // Compiles a verified module for the device that the options name (the first one by default).
  static absl::StatusOr<RefPtr<LoadedExecutable>> Compile(Client* client, std::unique_ptr<hlo::Module> module,
                                                          const CompileOptions& options);
  // From machine code that an earlier compilation left (cpu::Executable::Serialize), for the device that the options
  // name. `program` is the optimized module, which may be null when the program makes no custom calls.
  static absl::StatusOr<RefPtr<LoadedExecutable>> Restore(Client* client, absl::string_view image,
                                                          std::unique_ptr<hlo::Module> program,
                                                          const CompileOptions& options, MemoryKinds kinds,
                                                          std::string name);
  // From a program that is compiled already; `device` is where it runs unless it is portable.
  static absl::StatusOr<RefPtr<LoadedExecutable>> Load(Client* client, std::unique_ptr<cpu::Executable> executable,
                                                       Device* device, bool portable, std::string name,
                                                       MemoryKinds kinds = {});

  Client* client() const { return client_; }
  Device* device() const { return device_; }
  const std::string& name() const { return name_; }
  const cpu::Executable& executable() const { return *executable_; }
  const std::vector<RefPtr<const BufferType>>& parameter_types() const { return parameter_types_; }
  const std::vector<RefPtr<const BufferType>>& output_types() const { return output_types_; }
  // One per leaf.
  const MemoryKinds& memory_kinds() const { return memory_kinds_; }

  struct ExecuteOptions {
    // Where to run; null: device(). Only portable executables run elsewhere.
    Device* device = nullptr;
    // Parameters that must keep their buffers even if the program could take them over.
    absl::Span<const int64_t> non_donatable;
    // What handlers of custom calls may ask for; may be null.
    std::shared_ptr<const ffi::UserData> user_data;
  };
  // Enqueues one run. `outputs` receives output_types().size() new buffers, one reference each. Donated arguments are
  // deleted when this returns. Short programs run in the calling thread when their inputs are ready; others run on the
  // pool once they are. `complete`, if not null, receives the event of the run's end; a failure of the run itself
  // settles it and the outputs' definitions. When this returns an error, there are no outputs and no event.
  absl::Status Execute(absl::Span<Buffer* const> arguments, const ExecuteOptions& options, Buffer** outputs,
                       RefPtr<Event>* complete);

  // Refuses further executions; runs in flight go on.
  void Delete() { deleted_.store(true, std::memory_order_release); }
  bool IsDeleted() const { return deleted_.load(std::memory_order_acquire); }

 private:
  friend class RefCounted<LoadedExecutable>;
  struct Run;
  // Whether a run that may take this thread had better wait for somebody to want it (deferral.h): where memory for
  // large results is to be found.
  bool IsDeferred(absl::Span<Buffer* const> arguments, const ExecuteOptions& options) const;
  LoadedExecutable() = default;
  ~LoadedExecutable() = default;

  // An argument that is on another device or of another type than its parameter, unless it may be.
  absl::Status CheckMismatch(size_t index, const Buffer& argument, const Device* device) const;
  absl::Status RunNow(absl::Span<const void* const> arguments, absl::Span<void* const> results, const Device& device,
                      const std::shared_ptr<const ffi::UserData>& user_data) const;

  Client* client_ = nullptr;
  Device* device_ = nullptr;
  bool portable_ = false;
  std::string name_;
  std::unique_ptr<cpu::Executable> executable_;
  std::vector<RefPtr<const BufferType>> parameter_types_;
  std::vector<RefPtr<const BufferType>> output_types_;
  MemoryKinds memory_kinds_;
  std::vector<int64_t> donated_parameter_;  // per output: the parameter it takes over, or -1
  bool donates_ = false;
  int64_t result_bytes_ = 0;
  bool runs_inline_ = false;
  std::atomic<bool> deleted_{false};
};

}  // namespace kiln::runtime

#endif  // KILN_RUNTIME_LOADED_EXECUTABLE_H_
