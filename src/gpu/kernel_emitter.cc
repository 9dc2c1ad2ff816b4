#include "src/gpu/kernel_emitter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Metadata.h"
#include "src/analysis/code_kinds.h"
#include "src/base/status.h"
#include "src/gpu/launch_threads.h"
#include "src/kernel/buffer_sharing.h"
#include "src/kernel/kernel_builder.h"
#include "src/kernel/lower_nest.h"

namespace kiln::gpu {

using hlo::Instruction;
using hlo::Opcode;
using kernel::Kernel;
using kernel::Parameter;

namespace {

constexpr unsigned kGlobalAddressSpace = 1;
constexpr uint64_t kArrayAlignment = 16;
constexpr int kMaxNesting = 200;
// Products and convolutions of at most this many multiplications are plain kernels.
constexpr double kSmallProduct = 1 << 20;

// Multiplications of the largest dot or convolution in `instruction`.
double ProductWork(const Instruction& instruction) {
  double elements = static_cast<double>(instruction.shape().IsTuple() ? 1 : instruction.shape().element_count());
  switch (instruction.opcode()) {
    case Opcode::kDot:
      for (int64_t d : instruction.Get<hlo::DotAttributes>().lhs_contracting) {
        elements *= static_cast<double>(instruction.operand(0)->shape().dimensions(d));
      }
      return elements;
    case Opcode::kConvolution: {
      const hlo::Shape& weights = instruction.operand(1)->shape();
      const int64_t features = weights.dimensions(instruction.Get<hlo::ConvolutionAttributes>().kernel_output_feature);
      return elements * static_cast<double>(weights.element_count()) /
             static_cast<double>(std::max<int64_t>(1, features));
    }
    case Opcode::kFusion: {
      double most = 0;
      for (const Instruction* inner : instruction.called_computation()->instructions()) {
        most = std::max(most, ProductWork(*inner));
      }
      return most;
    }
    default:
      return 0;
  }
}

llvm::Value* ConstantTable(llvm::Module& module, const hlo::Literal& literal) {
  absl::Span<const std::byte> bytes = literal.bytes();
  llvm::Constant* data =
      llvm::ConstantDataArray::getRaw(llvm::StringRef(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                                      bytes.size(), llvm::Type::getInt8Ty(module.getContext()));
  auto* table = new llvm::GlobalVariable(module, data->getType(), /*isConstant=*/true,
                                         llvm::GlobalValue::InternalLinkage, data, "table", /*InsertBefore=*/nullptr,
                                         llvm::GlobalValue::NotThreadLocal, kGlobalAddressSpace);
  table->setAlignment(llvm::Align(kArrayAlignment));
  return table;
}

// No other pointer of the kernel can reach this array's written elements.
bool IsAlone(const Kernel& kernel, int parameter) {
  auto is_read = [&](int input) {
    return std::any_of(kernel.ops.begin(), kernel.ops.end(),
                       [&](const kernel::Op& op) { return op.kind == kernel::OpKind::kLoad && op.parameter == input; });
  };
  const bool is_output = kernel.parameters[parameter].is_output;
  for (size_t other = 0; other < kernel.parameters.size(); ++other) {
    const Parameter& candidate = kernel.parameters[other];
    if (candidate.constant.has_value() || candidate.is_output == is_output) continue;
    const int number = static_cast<int>(other);
    const int input = is_output ? number : parameter;
    const int output = is_output ? parameter : number;
    if (is_read(input) && kernel::MayShareBuffer(kernel, {}, input, output)) return false;
  }
  return true;
}

void LimitThreads(llvm::Function* function, int threads) {
  llvm::LLVMContext& context = function->getContext();
  auto* limit = llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), static_cast<uint64_t>(threads));
  llvm::Metadata* operands[] = {llvm::ConstantAsMetadata::get(function), llvm::MDString::get(context, "maxntidx"),
                                llvm::ConstantAsMetadata::get(limit)};
  function->getParent()->getOrInsertNamedMetadata("nvvm.annotations")->addOperand(llvm::MDNode::get(context, operands));
}

}  // namespace

std::string KernelEmitter::UniqueEntryName(const std::string& name) {
  std::string entry = "k_";
  for (char c : name) entry += absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_';
  std::string unique = entry;
  for (int i = 1; !entry_names_.insert(unique).second; ++i) unique = absl::StrCat(entry, "_", i);
  return unique;
}

absl::Status KernelEmitter::EmitNest(const Instruction& instruction, const Kernel& kernel, size_t nest,
                                     EmittedInstruction* emitted) {
  Launch launch;
  launch.schedule = ScheduleLaunch(kernel, kernel.nests[nest]);
  launch.entry = UniqueEntryName(nest == 0 ? kernel.name : absl::StrCat(kernel.name, ".", nest));
  llvm::LLVMContext& context = output_.getContext();
  llvm::IRBuilder<> b(context);

  std::vector<llvm::Type*> types;
  for (const Parameter& parameter : kernel.parameters) {
    if (!parameter.constant.has_value()) types.push_back(b.getPtrTy(kGlobalAddressSpace));
  }
  auto* function = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), types, /*isVarArg=*/false),
                                          llvm::GlobalValue::ExternalLinkage, launch.entry, output_);
  function->setCallingConv(llvm::CallingConv::PTX_Kernel);
  function->setDoesNotThrow();
  std::vector<llvm::Value*> arrays;
  unsigned argument = 0;
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    const Parameter& parameter = kernel.parameters[i];
    if (parameter.constant.has_value()) {
      arrays.push_back(ConstantTable(output_, *parameter.constant));
      continue;
    }
    arrays.push_back(function->getArg(argument));
    function->addParamAttr(argument, llvm::Attribute::getWithAlignment(context, llvm::Align(kArrayAlignment)));
    if (IsAlone(kernel, static_cast<int>(i))) function->addParamAttr(argument, llvm::Attribute::NoAlias);
    if (!parameter.is_output) function->addParamAttr(argument, llvm::Attribute::ReadOnly);
    ++argument;
  }
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  LaunchThreads threads(&b, launch.schedule);
  kernel::TargetInfo target;
  target.target = kernel::Target::kGpu;
  absl::Status lowered = kernel::LowerNest(&b, kernel, kernel.nests[nest], launch.schedule.nest, target, arrays,
                                           /*begin=*/nullptr, /*end=*/nullptr, &threads);
  if (!lowered.ok()) {
    function->eraseFromParent();
    return Annotate(lowered, instruction.Describe());
  }
  b.CreateRetVoid();
  LimitThreads(function, launch.schedule.block_threads);
  emitted->launches.push_back(std::move(launch));
  return absl::OkStatus();
}

absl::Status KernelEmitter::EmitInstruction(const Instruction& instruction, EmittedInstruction* emitted) {
  if (analysis::IsControlFlow(instruction.opcode())) {
    emitted->left_out = "control flow between launches is not part of this stage";
    return absl::OkStatus();
  }
  if (!kernel::HasKernel(instruction.opcode()) || ProductWork(instruction) > kSmallProduct) {
    emitted->left_out = "not part of this stage";
    return absl::OkStatus();
  }
  absl::StatusOr<Kernel> kernel = kernel::BuildKernel(instruction);
  if (absl::IsUnimplemented(kernel.status()) || absl::IsResourceExhausted(kernel.status())) {
    emitted->left_out = std::string(kernel.status().message());
    return absl::OkStatus();
  }
  KILN_RETURN_IF_ERROR(kernel.status());
  if (kernel->nests.empty()) emitted->left_out = "computes no elements";
  for (size_t nest = 0; nest < kernel->nests.size(); ++nest) {
    const size_t functions = emitted->launches.size();
    absl::Status status = EmitNest(instruction, *kernel, nest, emitted);
    if (absl::IsUnimplemented(status)) {
      // An op without code for its type: the instruction is left out whole.
      emitted->left_out = std::string(status.message());
      for (size_t i = 0; i < functions; ++i) output_.getFunction(emitted->launches[i].entry)->eraseFromParent();
      emitted->launches.clear();
      return absl::OkStatus();
    }
    KILN_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

absl::Status KernelEmitter::EmitComputation(const hlo::Computation& computation, int depth,
                                            std::vector<EmittedInstruction>* emitted) {
  if (depth > kMaxNesting) {
    return ResourceExhausted("computation ", computation.name(), " is nested deeper than ", kMaxNesting, " levels");
  }
  if (!visited_.insert(&computation).second) return absl::OkStatus();
  for (const Instruction* instruction : computation.instructions()) {
    if (analysis::RunsNoCode(instruction->opcode()) && instruction->opcode() != Opcode::kCopy) continue;
    EmittedInstruction one;
    one.instruction = instruction;
    KILN_RETURN_IF_ERROR(EmitInstruction(*instruction, &one));
    emitted->push_back(std::move(one));
    if (!analysis::IsControlFlow(instruction->opcode())) continue;
    for (const hlo::Computation* callee : instruction->called_computations()) {
      KILN_RETURN_IF_ERROR(EmitComputation(*callee, depth + 1, emitted));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<EmittedInstruction>> KernelEmitter::EmitModule(const hlo::Module& module) {
  std::vector<EmittedInstruction> emitted;
  KILN_RETURN_IF_ERROR(EmitComputation(*module.entry(), 0, &emitted));
  return emitted;
}

absl::StatusOr<std::string> CompileToPtx(const hlo::Module& module, const PtxOptions& options) {
  llvm::LLVMContext context;
  llvm::Module output(module.name(), context);
  KILN_RETURN_IF_ERROR(SetNvptxTarget(output, options));
  KILN_ASSIGN_OR_RETURN(std::vector<EmittedInstruction> emitted, KernelEmitter(&output).EmitModule(module));
  std::string text;
  for (const EmittedInstruction& one : emitted) {
    const absl::string_view opcode = hlo::OpcodeName(one.instruction->opcode());
    if (!one.left_out.empty()) {
      std::string reason = one.left_out;
      std::replace(reason.begin(), reason.end(), '\n', ' ');
      absl::StrAppend(&text, "// ", one.instruction->name(), ": ", opcode, ": ", reason, "\n");
    }
    for (const Launch& launch : one.launches) {
      absl::StrAppend(&text, "// ", one.instruction->name(), ": ", opcode, ": ", launch.entry, ": ",
                      ToString(launch.schedule), "\n");
    }
  }
  KILN_ASSIGN_OR_RETURN(std::string ptx, EmitPtx(output, options));
  return absl::StrCat(text, ptx);
}

}  // namespace kiln::gpu
