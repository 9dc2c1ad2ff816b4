// The generated part of a product that RunGemmBlocks runs: its description, and the way from sums to the result.
#include <utility>

#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "src/base/status.h"
#include "src/cpu/gemm_blocks.h"
#include "src/cpu/gemm_emitter.h"
#include "src/cpu/group_product.h"
#include "src/cpu/llvm_loop.h"
#include "src/cpu/row_product.h"
#include "src/cpu/runtime_call.h"
#include "src/cpu/winograd.h"

namespace kiln::cpu {

void GemmEmitter::CallCompiled(const char* name, const std::vector<int64_t>& description,
                               std::vector<llvm::Value*> arguments) {
  llvm::Constant* data = llvm::ConstantDataArray::get(
      b_.getContext(),
      llvm::ArrayRef<uint64_t>(reinterpret_cast<const uint64_t*>(description.data()), description.size()));
  auto* constant = new llvm::GlobalVariable(module_, data->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::PrivateLinkage, data, name_ + ".description");
  constant->setAlignment(llvm::Align(8));
  arguments.insert(arguments.begin(), constant);
  CallRuntime(b_, name, std::move(arguments));
}

absl::StatusOr<GemmBlocksParts> GemmEmitter::EmitBlocksParts(const std::string& name) {
  name_ = name;
  const bool direct = IsDirectResult(spec_, arithmetic_);
  GemmBlocksParts parts;
  if (spec_.make_lhs) {
    KILN_ASSIGN_OR_RETURN(parts.make_lhs, EmitMake(name_ + ".lhs", spec_.make_lhs));
  }
  if (spec_.make_rhs) {
    KILN_ASSIGN_OR_RETURN(parts.make_rhs, EmitMake(name_ + ".rhs", spec_.make_rhs));
  }
  switch (schedule_.kind) {
    case GemmSchedule::Kind::kGroups:
      parts.description = DescribeGroupProduct(spec_, problem_, schedule_, layout_, direct);
      break;
    case GemmSchedule::Kind::kRows:
      parts.description = DescribeRowProduct(spec_, problem_, schedule_, layout_);
      break;
    case GemmSchedule::Kind::kWinograd:
      parts.description = DescribeWinograd(MakeWinogradProduct(spec_, schedule_, direct));
      break;
    default:
      parts.description = DescribeGemmBlocks(spec_, problem_, schedule_, layout_);
  }
  if (!direct && ResultNarrowing(spec_, arithmetic_, schedule_) == GemmWidening::kNone) {
    KILN_ASSIGN_OR_RETURN(parts.finish, EmitFinish());
  }
  return parts;
}

bool IsOneCall(const GemmSpec& spec, const GemmPlan& plan, size_t phase) {
  if (plan.schedule.kind == GemmSchedule::Kind::kWinograd && phase == 0) return true;
  const absl::StatusOr<GemmArithmetic> arithmetic =
      GemmArithmetic::Make(spec.lhs.type, spec.rhs.type, spec.result_type);
  return phase + 1 == plan.phases.size() && plan.schedule.IsCompiled() && arithmetic.ok() && !spec.make_lhs &&
         !spec.make_rhs &&
         (IsDirectResult(spec, *arithmetic) ||
          ResultNarrowing(spec, *arithmetic, plan.schedule) != GemmWidening::kNone);
}

absl::StatusOr<GemmBlocksParts> EmitGemmBlocks(const GemmSpec& spec, const GemmPlan& plan, absl::string_view name,
                                               llvm::Module& module) {
  KILN_ASSIGN_OR_RETURN(const GemmArithmetic arithmetic,
                        GemmArithmetic::Make(spec.lhs.type, spec.rhs.type, spec.result_type));
  return GemmEmitter(spec, plan, arithmetic, module).EmitBlocksParts(std::string(name));
}

absl::Status GemmEmitter::EmitBlocks(const Entry& entry) {
  KILN_ASSIGN_OR_RETURN(const GemmBlocksParts parts, EmitBlocksParts(name_));
  if (schedule_.kind == GemmSchedule::Kind::kWinograd) {
    CallCompiled(kWinogradName, parts.description,
                 {entry.lhs, entry.rhs, entry.out, entry.scratch, entry.extra, entry.begin, entry.end, parts.finish});
    b_.CreateRetVoid();
    return absl::OkStatus();
  }
  llvm::Value* lhs = entry.lhs;
  if (layout_.lhs.padded) lhs = At(entry.scratch, layout_.lhs.scratch_offset + spec_.lhs_offset * LhsBytes());
  llvm::Value* rhs = entry.rhs;
  if (schedule_.few_columns) std::swap(lhs, rhs);
  std::vector<llvm::Value*> arguments = {lhs, rhs, entry.out, entry.extra, entry.begin, entry.end, parts.finish};
  const bool blocks = schedule_.kind == GemmSchedule::Kind::kBlocks;
  if (blocks) arguments.insert(arguments.end(), {parts.make_lhs, parts.make_rhs});
  CallCompiled(blocks                                        ? kGemmBlocksName
               : schedule_.kind == GemmSchedule::Kind::kRows ? kRowProductName
                                                             : kGroupProductName,
               parts.description, std::move(arguments));
  b_.CreateRetVoid();
  return absl::OkStatus();
}

// A GemmMake.
absl::StatusOr<llvm::Function*> GemmEmitter::EmitMake(const std::string& name, const GemmOperand& make) {
  llvm::Type* pointer = b_.getPtrTy();
  llvm::Type* i64 = b_.getInt64Ty();
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, i64, i64, i64, i64, i64}, false);
  llvm::Function* function = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, module_);
  llvm::IRBuilder<>::InsertPointGuard guard(b_);
  b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", function));
  GemmOperandArguments arguments{&b_};
  llvm::Value** const values[] = {&arguments.to,    &arguments.extra,       &arguments.batch_index, &arguments.outer,
                                  &arguments.inner, &arguments.outer_count, &arguments.inner_count};
  for (unsigned i = 0; i < 7; ++i) *values[i] = function->getArg(i);
  KILN_RETURN_IF_ERROR(make(arguments));
  b_.CreateRetVoid();
  return function;
}

// A GemmFinish. The epilogue is there once for whole vectors, and for what the last columns leave.
absl::StatusOr<llvm::Function*> GemmEmitter::EmitFinish() {
  llvm::Type* pointer = b_.getPtrTy();
  llvm::Type* i64 = b_.getInt64Ty();
  auto* type =
      llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, pointer, i64, i64, i64, i64, i64, i64}, false);
  llvm::Function* function = llvm::Function::Create(type, llvm::Function::InternalLinkage, name_ + ".finish", module_);
  llvm::IRBuilder<>::InsertPointGuard guard(b_);
  b_.SetInsertPoint(llvm::BasicBlock::Create(b_.getContext(), "entry", function));
  llvm::Value *m = function->getArg(4), *n = function->getArg(5), *columns = function->getArg(7);
  Tile tile{};
  tile.out = function->getArg(1);
  if (schedule_.kind == GemmSchedule::Kind::kBlocks && problem_.out_n != 1) {
    // Transposed later: results take the place of the sums, narrow ones the first part of a row's.
    const int64_t bytes = hlo::ByteWidth(problem_.out_type);
    problem_.out_m = TileColumns() * arithmetic_.part_bytes() / bytes;
    problem_.out_n = 1;
    tile.out = At(function->getArg(0), b_.CreateNeg(b_.CreateAdd(Scale(m, problem_.out_m), n)), bytes);
  }
  tile.extra = function->getArg(2);
  tile.batch = function->getArg(3);
  const int lanes = schedule_.lanes;
  const int64_t tail = problem_.n % lanes;
  llvm::Value* whole = tail == 0 ? columns : b_.CreateAnd(columns, Int(-lanes));
  absl::Status status;
  EmitLoop(b_, Int(0), function->getArg(6), 1, "row", [&](llvm::Value* row) {
    tile.m = b_.CreateAdd(m, row);
    llvm::Value* sums = At(function->getArg(0), b_.CreateMul(row, function->getArg(8)), 1);
    const auto load = [&](llvm::Value* column) {
      tile.n = b_.CreateAdd(n, column);
      tile.partial = At(sums, column, arithmetic_.part_bytes());
      Sums loaded(1);
      TransferPartial(tile, loaded, /*load=*/true);
      return loaded[0];
    };
    EmitLoop(b_, Int(0), whole, lanes, "vector",
             [&](llvm::Value* column) { status.Update(EmitStore(tile, 0, 0, lanes, load(column))); });
    if (tail == 0) return;
    EmitIf(b_, b_.CreateICmpNE(whole, columns), "tail", [&] {
      const GemmValue sum = load(whole);
      status.Update(EmitRowStores(tile, 0, 0, tail, &sum));
    });
  });
  b_.CreateRetVoid();
  KILN_RETURN_IF_ERROR(status);
  return function;
}

}  // namespace kiln::cpu
