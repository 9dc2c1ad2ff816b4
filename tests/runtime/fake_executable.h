// A program made of a C++ function, for tests of the runtime.
#ifndef KILN_TESTS_RUNTIME_FAKE_EXECUTABLE_H_
#define KILN_TESTS_RUNTIME_FAKE_EXECUTABLE_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "src/cpu/executable.h"
#include "src/hlo/module.h"
#include "src/runtime/event.h"
#include "src/runtime/loaded_executable.h"

namespace kiln::runtime {

class FakeExecutable : public cpu::Executable {
 public:
  using Body = std::function<absl::Status(absl::Span<const void* const>, absl::Span<void* const>, void*)>;

  FakeExecutable(std::vector<hlo::Shape> parameters, std::vector<hlo::Shape> outputs, Body body)
      : parameters_(std::move(parameters)),
        outputs_(std::move(outputs)),
        aliases_(outputs_.size()),
        body_(std::move(body)),
        module_("fake") {}

  FakeExecutable& Alias(int64_t output, int64_t parameter) {
    aliases_[output].aliased_parameter = parameter;
    return *this;
  }
  FakeExecutable& Donate(int64_t parameter) {
    donated_.push_back(parameter);
    return *this;
  }
  FakeExecutable& Arena(int64_t bytes) {
    arena_bytes_ = bytes;
    return *this;
  }
  FakeExecutable& Slow() { return Takes(int64_t{1} << 40, int64_t{1} << 40); }
  // So many nanoseconds, `lone` of them of one thread.
  FakeExecutable& Takes(int64_t nanoseconds, int64_t lone) {
    nanoseconds_ = nanoseconds;
    lone_nanoseconds_ = lone;
    return *this;
  }
  FakeExecutable& CallsOut() {
    custom_calls_ = 1;
    return *this;
  }

  // Code that is not there before `ready` is settled.
  FakeExecutable& CodeAfter(RefPtr<Event> ready) {
    ready_ = std::move(ready);
    return *this;
  }

  bool HasCode() const override { return ready_->IsSettled(); }
  void OnCode(std::function<void()> callback) const override {
    ready_->OnSettled([callback = std::move(callback)](const absl::Status&) { callback(); });
  }
  const hlo::Module* module() const override { return &module_; }
  absl::StatusOr<std::string> Serialize() const override { return absl::UnimplementedError("a fake has no code"); }
  absl::Span<const hlo::Shape> parameter_leaves() const override { return parameters_; }
  absl::Span<const hlo::Shape> output_leaves() const override { return outputs_; }
  absl::Span<const cpu::OutputLeaf> output_aliases() const override { return aliases_; }
  absl::Span<const int64_t> donated_parameters() const override { return donated_; }
  int64_t arena_bytes() const override { return arena_bytes_; }
  int64_t estimated_nanoseconds() const override { return nanoseconds_; }
  int64_t lone_nanoseconds() const override { return lone_nanoseconds_; }
  int64_t custom_call_count() const override { return custom_calls_; }
  absl::Status Run(absl::Span<const void* const> arguments, absl::Span<void* const> results, void* arena,
                   ThreadPool*, cpu::CustomCallRun*) const override {
    return body_(arguments, results, arena);
  }
  const cpu::CompileStatistics& statistics() const override { return statistics_; }
  absl::StatusOr<std::string> LlvmIr() const override { return absl::UnimplementedError("a fake"); }
  absl::StatusOr<std::string> Assembly() const override { return absl::UnimplementedError("a fake"); }
  absl::StatusOr<cpu::CodeView> Code() const override { return absl::UnimplementedError("a fake"); }
  absl::StatusOr<std::string> KernelSchedules() const override { return absl::UnimplementedError("a fake"); }
  absl::StatusOr<analysis::MemoryPlan> PlannedMemory() const override { return absl::UnimplementedError("a fake"); }

 private:
  std::vector<hlo::Shape> parameters_;
  std::vector<hlo::Shape> outputs_;
  std::vector<cpu::OutputLeaf> aliases_;
  std::vector<int64_t> donated_;
  Body body_;
  hlo::Module module_;
  int64_t arena_bytes_ = 0;
  int64_t nanoseconds_ = 100, lone_nanoseconds_ = 100, custom_calls_ = 0;
  cpu::CompileStatistics statistics_;
  RefPtr<Event> ready_ = Event::Ready();
};

}  // namespace kiln::runtime

#endif  // KILN_TESTS_RUNTIME_FAKE_EXECUTABLE_H_
