#include "src/cpu/program_emitter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Function.h"
#include "src/analysis/attention.h"
#include "src/analysis/code_kinds.h"
#include "src/analysis/row_groups.h"
#include "src/analysis/while_loop.h"
#include "src/base/cpu_tuning.h"
#include "src/base/status.h"
#include "src/cpu/block_loop.h"
#include "src/cpu/computation_emitter.h"
#include "src/cpu/host_isa.h"
#include "src/cpu/op_emitters.h"
#include "src/cpu/program_abi.h"
#include "src/kernel/buffer_sharing.h"
#include "src/kernel/iterations.h"
#include "src/kernel/kernel_builder.h"
#include "src/kernel/loop_direction.h"
#include "src/kernel/narrow_rows.h"
#include "src/kernel/repeated_rows.h"
#include "src/kernel/row_blocks.h"
#include "src/kernel/rows_together.h"
#include "src/kernel/shared_places.h"
#include "src/kernel/stage_sharing.h"
#include "src/kernel/streamed_columns.h"
#include "src/kernel/subnormals.h"
#include "src/kernel/transposed_rows.h"

namespace kiln::cpu {

using hlo::Instruction;
using hlo::Opcode;

namespace {

// Loops whose trip count is not known count as this many rounds when time is estimated.
constexpr double kAssumedTrips = 1000;

// Whether code of the program reads what `instruction` writes.
bool IsReadAgain(const Instruction& instruction) {
  const auto is_read = [](const Instruction* user) { return !analysis::RunsNoCode(user->opcode()); };
  return std::any_of(instruction.users().begin(), instruction.users().end(), [&](const Instruction* user) {
    return is_read(user) || std::any_of(user->users().begin(), user->users().end(), is_read);
  });
}

// A guess: what costs more than linear in its data runs long for large arrays; what acts on the host may block.
double CustomCallNanoseconds(const Instruction& call) {
  if (call.HasSideEffect()) return 1e6;
  double nanoseconds = 1000;
  if (absl::StartsWith(call.Get<hlo::CustomCallAttributes>().target, "lapack_")) {
    // Guessed low. LAPACK has threads of its own, which suffer when the thread that calls the program goes on beside
    // them: for up to a millisecond or so it does better to wait.
    for (const Instruction* operand : call.operands()) {
      const hlo::Shape& shape = operand->shape();
      double side = 1;
      if (shape.rank() >= 2) {
        side = static_cast<double>(std::min(shape.dimensions(shape.rank() - 2), shape.dimensions(shape.rank() - 1)));
      }
      nanoseconds += 0.05 * side * static_cast<double>(shape.element_count());
    }
    return nanoseconds;
  }
  for (const Instruction* operand : call.operands()) {
    nanoseconds += std::pow(static_cast<double>(operand->shape().byte_count()), 1.3);
  }
  return nanoseconds;
}

}  // namespace

int64_t AliasedOperand(const Instruction& call, int64_t leaf) {
  for (const hlo::OutputOperandAlias& alias : call.Get<hlo::CustomCallAttributes>().aliases) {
    const hlo::Shape* part = call.shape().Part(alias.output_index);
    if (part == call.shape().Leaves()[leaf] && part->IsArray() && call.operand(alias.operand)->shape().IsArray()) {
      return alias.operand;
    }
  }
  return -1;
}

ProgramEmitter::ProgramEmitter(const hlo::Module& module, int threads, const CustomCallNumbers* custom_calls)
    : module_(module), threads_(threads), custom_calls_(custom_calls), operations_(module) {
  target_.vector_bytes = Host().vector_bytes;
  target_.vector_registers = Host().vector_registers;
}

const ScheduledKernel* ProgramEmitter::KernelOf(const Instruction& instruction) const {
  auto it = kernels_.find(&instruction);
  return it == kernels_.end() ? nullptr : it->second.get();
}

analysis::TargetHooks ProgramEmitter::Hooks() {
  analysis::TargetHooks hooks;
  hooks.in_place_operand = [this](const Instruction& instruction, int64_t leaf) -> int64_t {
    if (instruction.opcode() == Opcode::kCustomCall) return AliasedOperand(instruction, leaf);
    return kernels_.contains(&instruction) ? kernel::InPlaceOperand(instruction, leaf) : -1;
  };
  hooks.written_box = [this](const Instruction& instruction, int64_t leaf) {
    return kernels_.contains(&instruction) ? kernel::WrittenBox(instruction, leaf) : std::nullopt;
  };
  hooks.may_share = [this](const Instruction& instruction, int64_t leaf, int64_t operand) {
    return MayShare(instruction, leaf, operand);
  };
  hooks.scratch_bytes = [this](const Instruction& instruction) -> int64_t {
    auto product = products_.find(&instruction);
    if (product != products_.end()) return product->second->scratch_bytes();
    const OpEmitter* op = FindOpEmitter(instruction);
    return op == nullptr ? 0 : op->scratch_bytes(instruction);
  };
  return hooks;
}

bool ProgramEmitter::MayShare(const Instruction& instruction, int64_t leaf, int64_t operand) const {
  if (instruction.opcode() == Opcode::kCustomCall && FindOpEmitter(instruction) == nullptr) {
    return AliasedOperand(instruction, leaf) == operand;
  }
  const int output = static_cast<int>(instruction.operand_count() + leaf);
  if (const auto found = products_.find(&instruction); found != products_.end()) {
    // What the epilogue alone reads, where it writes.
    const MatrixProduct& product = *found->second;
    if (operand == product.lhs_operand || operand == product.rhs_operand) {
      return product.parts.size() == 1 && MayOverwriteOperand(product.parts[0].spec, product.parts[0].plan);
    }
    return std::all_of(product.parts.begin(), product.parts.end(), [&](const MatrixProduct::Part& part) {
      return part.epilogue != nullptr && absl::c_all_of(part.kernels(), [&](const kernel::Kernel* kernel) {
               // Sides that are made are read again by other tasks.
               const int stored = kernel == part.epilogue.get() ? output : -1;
               return kernel::MayShareBuffer(*kernel, {}, static_cast<int>(operand), stored);
             });
    });
  }
  const ScheduledKernel* scheduled = KernelOf(instruction);
  if (scheduled == nullptr) {
    const OpEmitter* op = FindOpEmitter(instruction);
    return op != nullptr && op->may_share != nullptr && op->may_share(instruction, leaf, operand);
  }
  return kernel::MayShareBuffer(scheduled->kernel, scheduled->schedules, static_cast<int>(operand), output);
}

absl::Status ProgramEmitter::Prepare() {
  RegisterProgramSymbols();
  return PrepareComputation(*module_.entry(), 1);
}

absl::Status ProgramEmitter::PrepareComputation(const hlo::Computation& computation, double times) {
  for (const Instruction* instruction : computation.instructions()) {
    if (analysis::RunsNoCode(*instruction)) continue;
    if (analysis::IsControlFlow(instruction->opcode())) {
      double rounds = 1;
      if (instruction->opcode() == Opcode::kWhile) {
        const std::optional<int64_t> trips = analysis::KnownTripCount(*instruction);
        rounds = trips.has_value() ? static_cast<double>(*trips) : kAssumedTrips;
      }
      for (const hlo::Computation* callee : instruction->called_computations()) {
        KILN_RETURN_IF_ERROR(PrepareComputation(*callee, times * rounds));
      }
      continue;
    }
    if (const OpEmitter* op = FindOpEmitter(*instruction)) {
      CountWork(op->nanoseconds(*instruction), times);
      ++kernel_count_;
      continue;
    }
    if (const auto* custom_call = instruction->GetIf<hlo::CustomCallAttributes>()) {
      if (custom_calls_ == nullptr || !custom_calls_->contains(instruction)) {
        return Unimplemented(instruction->Describe(), ": no handler is known for the custom call target '",
                             custom_call->target, "'");
      }
      CountWork(CustomCallNanoseconds(*instruction), times, /*shares=*/false);
      continue;
    }
    if (ShareCode(*instruction, *operations_.FirstLike(*instruction), times)) continue;
    const bool attention = analysis::FindAttention(*instruction) != nullptr;
    if (attention || !analysis::FindRowChain(*instruction).steps.empty()) {
      KILN_ASSIGN_OR_RETURN(
          std::shared_ptr<const RowChainPlan> chain,
          attention ? PlanAttention(*instruction, target_, threads_) : PlanRowChain(*instruction, target_, threads_));
      if (chain == nullptr) {
        oversized_.push_back(instruction);
        continue;
      }
      CountWork(chain->nanoseconds, times);
      chains_.emplace(instruction, std::move(chain));
      ++kernel_count_;
      continue;
    }
    KILN_ASSIGN_OR_RETURN(std::optional<MatrixProduct> product, FindMatrixProduct(*instruction, target_, threads_));
    if (product.has_value()) {
      CountWork(static_cast<double>(product->estimated_nanoseconds()), times);
      products_.emplace(instruction, std::make_shared<const MatrixProduct>(*std::move(product)));
      ++kernel_count_;
      continue;
    }
    if (hlo::KindOf(instruction->opcode()) == hlo::OpKind::kCommunication) {
      return Unimplemented(instruction->Describe(),
                           ": the program runs on one device, without other devices or host transfers to talk to");
    }
    if (!kernel::HasKernel(instruction->opcode())) {
      return Unimplemented(instruction->Describe(), ": no code is generated for this operation");
    }
    auto scheduled = std::make_shared<ScheduledKernel>();
    absl::StatusOr<kernel::Kernel> kernel = kernel::BuildKernel(*instruction);
    if (absl::IsResourceExhausted(kernel.status()) && instruction->opcode() == Opcode::kFusion) {
      oversized_.push_back(instruction);
      continue;
    }
    KILN_RETURN_IF_ERROR(kernel.status());
    scheduled->kernel = *std::move(kernel);
    kernel::ShareStages(&scheduled->kernel);
    kernel::TurnLoops(&scheduled->kernel);
    kernel::RepeatInsideLanes(&scheduled->kernel);
    kernel::SharePlaces(&scheduled->kernel);
    kernel::TargetInfo target = target_;
    if (IsReadAgain(*instruction)) target.streaming_bytes = Tuning().kernels.streaming_temporary_bytes;
    if (times > 1) target.block_elements = kLoopBlock;
    kernel::JoinTransposedRows(&scheduled->kernel, target);
    kernel::WidenNarrowRows(&scheduled->kernel, target);
    kernel::BlockRows(&scheduled->kernel, target);
    kernel::StreamColumns(&scheduled->kernel);
    kernel::ReduceRowsTogether(&scheduled->kernel, threads_);
    scheduled->kernel.flushes_subnormals = kernel::FlushesSubnormals(scheduled->kernel);
    scheduled->kernel.has_few_elements = kernel::HasFewElements(scheduled->kernel);
    for (const kernel::Nest& nest : scheduled->kernel.nests) {
      scheduled->schedules.push_back(kernel::ScheduleNest(scheduled->kernel, nest, target));
      const kernel::NestSchedule& schedule = scheduled->schedules.back();
      scheduled->nanoseconds += schedule.task_nanoseconds * static_cast<double>(schedule.task_count);
    }
    CountWork(scheduled->nanoseconds, times);
    ++kernel_count_;
    kernels_.emplace(instruction, std::move(scheduled));
  }
  return absl::OkStatus();
}

void ProgramEmitter::CountWork(double nanoseconds, double times, bool shares) {
  estimated_nanoseconds_ += times * nanoseconds;
  if (!shares || times > 1 || nanoseconds < Tuning().threads.wake_nanoseconds) lone_nanoseconds_ += times * nanoseconds;
}

std::vector<CompiledOperation> ProgramEmitter::Operations() const {
  std::vector<CompiledOperation> operations;
  for (const hlo::Computation* computation : module_.PostOrder()) {
    for (const hlo::Instruction* instruction : computation->instructions()) {
      CompiledOperation operation = {instruction->name()};
      if (const auto product = products_.find(instruction); product != products_.end()) {
        operation.kind = "matrix product";
        operation.nanoseconds = static_cast<double>(product->second->estimated_nanoseconds());
        for (const MatrixProduct::Part& part : product->second->parts) {
          absl::StrAppend(&operation.schedule, ToString(part.spec, part.plan));
        }
      } else if (const auto chain = chains_.find(instruction); chain != chains_.end()) {
        operation.kind = analysis::FindAttention(*instruction) != nullptr ? "attention" : "row chain";
        operation.nanoseconds = chain->second->nanoseconds;
        operation.schedule = ToString(*chain->second);
      } else if (const ScheduledKernel* scheduled = KernelOf(*instruction)) {
        operation.kind = "kernel";
        operation.nanoseconds = scheduled->nanoseconds;
        operation.schedule = kernel::ToString(scheduled->kernel);
        for (const kernel::NestSchedule& schedule : scheduled->schedules) {
          absl::StrAppend(&operation.schedule, kernel::ToString(schedule), "\n");
        }
      } else if (const OpEmitter* op = FindOpEmitter(*instruction)) {
        operation.kind = std::string(hlo::OpcodeName(instruction->opcode()));
        operation.nanoseconds = op->nanoseconds(*instruction);
      } else if (instruction->opcode() == Opcode::kCustomCall) {
        operation.kind = "custom call";
      } else {
        continue;
      }
      if (const auto found = functions_.find(instruction); found != functions_.end()) {
        operation.functions = found->second;
      }
      operations.push_back(std::move(operation));
    }
  }
  return operations;
}

std::string ProgramEmitter::SchedulesText() const {
  std::string text;
  for (const CompiledOperation& operation : Operations()) {
    absl::StrAppend(&text, "// ", operation.instruction, operation.kind == "kernel" ? "" : ": ",
                    operation.kind == "kernel" ? "" : operation.kind, "\n", operation.schedule);
  }
  return text;
}

bool ProgramEmitter::ShareCode(const Instruction& instruction, const Instruction& other, double times) {
  if (auto product = products_.find(&other); product != products_.end()) {
    CountWork(static_cast<double>(product->second->estimated_nanoseconds()), times);
    products_.emplace(&instruction, std::shared_ptr(product->second));
  } else if (auto chain = chains_.find(&other); chain != chains_.end()) {
    CountWork(chain->second->nanoseconds, times);
    chains_.emplace(&instruction, std::shared_ptr(chain->second));
  } else if (auto kernel = kernels_.find(&other); kernel != kernels_.end()) {
    CountWork(kernel->second->nanoseconds, times);
    ++kernel->second->uses;
    kernels_.emplace(&instruction, std::shared_ptr(kernel->second));
  } else {
    return false;
  }
  ++kernel_count_;
  return true;
}

absl::Status ProgramEmitter::Emit(const analysis::BufferAssignment& buffers, ProgramCode* code) {
  ComputationEmitter emitter(this, buffers, code);
  return emitter.EmitProgram();
}

}  // namespace kiln::cpu
