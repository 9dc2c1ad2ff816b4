// Calls of plain functions, api versions 1 to 3.
#include <exception>

#include "src/base/status.h"
#include "src/runtime/ffi/calls.h"

namespace kiln::runtime::ffi {
namespace {

using hlo::CustomCallApiVersion;

class UntypedCall : public cpu::CustomCall {
 public:
  UntypedCall(const hlo::Instruction& instruction, void* function)
      : context_(absl::StrCat(instruction.Describe(), ": custom call '",
                              instruction.Get<hlo::CustomCallAttributes>().target, "'")),
        function_(function),
        version_(instruction.Get<hlo::CustomCallAttributes>().api_version),
        opaque_(instruction.backend_config()),
        has_tuple_(instruction.shape().IsTuple()) {
    for (const hlo::Instruction* operand : instruction.operands()) argument_count_ += operand->shape().leaf_count();
  }

  bool HasStage(Stage) const override { return false; }

  absl::Status Call(Stage, cpu::CustomCallRun*, absl::Span<void* const> pointers) const override {
    const void** in = const_cast<const void**>(pointers.data());
    void* const* results = pointers.data() + argument_count_;
    // One result is passed itself, a tuple as a table.
    void* out = has_tuple_ ? const_cast<void**>(results) : pointers.size() > argument_count_ ? *results : nullptr;
    XlaCustomCallStatus_ status;
    try {
      switch (version_) {
        case CustomCallApiVersion::kStatusReturning:
          reinterpret_cast<void (*)(void*, const void**, XlaCustomCallStatus_*)>(function_)(out, in, &status);
          break;
        case CustomCallApiVersion::kStatusReturningUnified:
          reinterpret_cast<void (*)(void*, const void**, const char*, size_t, XlaCustomCallStatus_*)>(function_)(
              out, in, opaque_.data(), opaque_.size(), &status);
          break;
        default:
          reinterpret_cast<void (*)(void*, const void**)>(function_)(out, in);
      }
    } catch (const std::exception& exception) {
      return Internal(context_, ": threw a C++ exception: ", exception.what());
    } catch (...) {
      return Internal(context_, ": threw a C++ exception");
    }
    if (status.message.has_value()) return Internal(context_, ": ", *status.message);
    return absl::OkStatus();
  }

 private:
  const std::string context_;
  void* const function_;
  const CustomCallApiVersion version_;
  const std::string opaque_;
  const bool has_tuple_;
  size_t argument_count_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<cpu::CustomCall>> MakeUntypedCall(const hlo::Instruction& instruction,
                                                                 const Handler& handler) {
  return std::make_unique<UntypedCall>(instruction, handler.untyped);
}

}  // namespace kiln::runtime::ffi
