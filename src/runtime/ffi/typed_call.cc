// Calls of typed handlers: the call frame is laid out once, each call fills in the addresses.
#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/match.h"
#include "src/base/status.h"
#include "src/runtime/ffi/api.h"
#include "src/runtime/ffi/attributes.h"
#include "src/runtime/ffi/blas_threads.h"
#include "src/runtime/ffi/calls.h"

namespace kiln::runtime::ffi {
namespace {

using Stage = cpu::CustomCall::Stage;

// Of a batch, each.
bool HasSmallMatrices(const XLA_FFI_Buffer& buffer) {
  int64_t elements = 1;
  for (int64_t i = std::max<int64_t>(buffer.rank - 2, 0); i < buffer.rank; ++i) elements *= buffer.dims[i];
  return elements <= kOneThreadElements;
}

class TypedCall : public cpu::CustomCall {
 public:
  TypedCall(const hlo::Instruction& instruction, int64_t number, const Handler& handler,
            std::unique_ptr<Attributes> attributes)
      : context_(absl::StrCat(instruction.Describe(), ": custom call '",
                              instruction.Get<hlo::CustomCallAttributes>().target, "'")),
        number_(number),
        bundle_(*handler.typed),
        portable_((handler.traits & kProcessBound) == 0),
        attributes_(std::move(attributes)) {
    for (int64_t i = 0; i < instruction.operand_count(); ++i) {
      for (const hlo::Shape* leaf : OperandShape(instruction, i).Leaves()) AddBuffer(*leaf);
    }
    argument_count_ = buffers_.size();
    for (const hlo::Shape* leaf : instruction.shape().Leaves()) AddBuffer(*leaf);
    // Only now do the dimensions stay where they are.
    for (size_t i = 0; i < buffers_.size(); ++i) buffers_[i].dims = dimensions_[i].data();
    is_small_lapack_ = absl::StartsWith(instruction.Get<hlo::CustomCallAttributes>().target, "lapack_") &&
                       absl::c_all_of(buffers_, HasSmallMatrices);
    argument_types_.assign(argument_count_, XLA_FFI_ArgType_BUFFER);
    result_types_.assign(buffers_.size() - argument_count_, XLA_FFI_RetType_BUFFER);
  }

  absl::Status Instantiate() {
    if (bundle_.instantiate == nullptr) return absl::OkStatus();
    XLA_FFI_ExecutionContext context = {.instantiate_state = &state_};
    XLA_FFI_CallFrame frame = Frame(XLA_FFI_ExecutionStage_INSTANTIATE, &context);
    const absl::Status status = Invoke(bundle_.instantiate, &frame);
    // The library is loaded by now.
    if (is_small_lapack_) FindBlasControl();
    return Annotate(status, absl::StrCat(context_, " (instantiate)"));
  }

  bool HasStage(Stage stage) const override { return HandlerOf(stage) != nullptr; }

  bool IsPortable() const override { return portable_; }

  absl::Status Call(Stage stage, cpu::CustomCallRun* run, absl::Span<void* const> pointers) const override {
    if (run == nullptr) return Internal(context_, ": the program runs without an execution");
    auto* execution = static_cast<Execution*>(run);
    absl::InlinedVector<XLA_FFI_Buffer, 8> buffers(buffers_.begin(), buffers_.end());
    absl::InlinedVector<void*, 8> addresses(buffers.size());
    for (size_t i = 0; i < buffers.size(); ++i) {
      buffers[i].data = pointers[i];
      addresses[i] = &buffers[i];
    }
    XLA_FFI_ExecutionContext context = {
        .execution = execution, .instantiate_state = &state_, .states = &execution->states(number_)};
    XLA_FFI_CallFrame frame = Frame(static_cast<XLA_FFI_ExecutionStage>(stage), &context);
    frame.args.size = static_cast<int64_t>(argument_count_);
    frame.args.types = const_cast<XLA_FFI_ArgType*>(argument_types_.data());
    frame.args.args = addresses.data();
    frame.rets.size = static_cast<int64_t>(buffers.size() - argument_count_);
    frame.rets.types = const_cast<XLA_FFI_RetType*>(result_types_.data());
    frame.rets.rets = addresses.data() + argument_count_;
    const OneBlasThread limit(is_small_lapack_);
    return Annotate(Invoke(HandlerOf(stage), &frame), context_);
  }

 private:
  void AddBuffer(const hlo::Shape& shape) {
    XLA_FFI_Buffer buffer = {};
    buffer.struct_size = XLA_FFI_Buffer_STRUCT_SIZE;
    buffer.dtype = static_cast<XLA_FFI_DataType>(shape.element_type());
    dimensions_.emplace_back();
    if (shape.IsArray()) dimensions_.back().assign(shape.dimensions().begin(), shape.dimensions().end());
    buffer.rank = static_cast<int64_t>(dimensions_.back().size());
    buffers_.push_back(buffer);
  }

  XLA_FFI_Handler* HandlerOf(Stage stage) const {
    return stage == Stage::kPrepare      ? bundle_.prepare
           : stage == Stage::kInitialize ? bundle_.initialize
                                         : bundle_.execute;
  }

  XLA_FFI_CallFrame Frame(XLA_FFI_ExecutionStage stage, XLA_FFI_ExecutionContext* context) const {
    XLA_FFI_CallFrame frame = {};
    frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
    frame.api = Api();
    frame.ctx = context;
    frame.stage = stage;
    frame.args.struct_size = XLA_FFI_Args_STRUCT_SIZE;
    frame.rets.struct_size = XLA_FFI_Rets_STRUCT_SIZE;
    frame.attrs = attributes_->view();
    return frame;
  }

  const std::string context_;
  const int64_t number_;
  const XLA_FFI_Handler_Bundle bundle_;
  const bool portable_;
  const std::unique_ptr<Attributes> attributes_;
  mutable State state_;                  // of the instantiate stage
  std::vector<XLA_FFI_Buffer> buffers_;  // operand leaves, then result leaves, without data
  std::vector<std::vector<int64_t>> dimensions_;
  size_t argument_count_ = 0;
  bool is_small_lapack_ = false;
  std::vector<XLA_FFI_ArgType> argument_types_;
  std::vector<XLA_FFI_RetType> result_types_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<cpu::CustomCall>> MakeTypedCall(const hlo::Instruction& instruction, int64_t number,
                                                               const Handler& handler) {
  absl::StatusOr<std::unique_ptr<Attributes>> attributes = Attributes::Parse(instruction.backend_config());
  if (!attributes.ok()) return Annotate(attributes.status(), instruction.Describe());
  auto call = std::make_unique<TypedCall>(instruction, number, handler, *std::move(attributes));
  KILN_RETURN_IF_ERROR(call->Instantiate());
  return call;
}

}  // namespace kiln::runtime::ffi
