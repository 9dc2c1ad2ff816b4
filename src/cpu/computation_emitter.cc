#include "src/cpu/computation_emitter.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Intrinsics.h"
#include "src/base/rounding.h"
#include "src/base/status.h"
#include "src/cpu/array_copy.h"
#include "src/cpu/float_environment_emitter.h"
#include "src/cpu/gemm.h"
#include "src/cpu/llvm_loop.h"
#include "src/cpu/nest_groups.h"
#include "src/cpu/op_emitters.h"
#include "src/cpu/parallel_emitter.h"
#include "src/cpu/program_abi.h"
#include "src/cpu/runtime_call.h"
#include "src/kernel/kernel_builder.h"
#include "src/kernel/lower_nest.h"
#include "src/kernel/subnormals.h"

namespace kiln::cpu {

using analysis::Buffer;
using analysis::Storage;
using hlo::Instruction;
using hlo::Opcode;

namespace {

constexpr int kMaxNesting = 200;
// Constants up to this size stand in the code, where loads of them fold.
constexpr int64_t kInlineConstantBytes = 64;
// Nests of at most this many element computations are emitted in the program function itself, but only so many outside
// and inside of loops, and not what many instructions share: LLVM takes much longer for a function of a thousand loops
// than for one that calls them.
constexpr int64_t kInlineWork = 16;
constexpr int kMaxInlineNests = 192, kMaxInlineUses = 32;
// Of more buffers the pointers are no longer kept in registers for a loop, or on the stack.
constexpr size_t kManyBuffers = 256;
// Results up to this size are on the stack, or in registers, while they are the state of a loop.
constexpr int64_t kMaxMovedBytes = 64;
// Products from this size on count subnormals as zeros (base/float_environment.h).
constexpr double kFlushedMultiplyAdds = 1 << 14;

// Bytes of a slot for an array on the stack: whole vectors, but for scalars.
int64_t RoomOf(int64_t bytes) { return bytes > 8 ? RoundUp(bytes, 64) : bytes; }

}  // namespace

ComputationEmitter::ComputationEmitter(ProgramEmitter* program, const analysis::BufferAssignment& buffers,
                                       ProgramCode* code)
    : program_(*program),
      buffers_(buffers),
      code_(*code),
      output_(code->program()),
      b_(output_.getContext()),
      pointers_(buffers.buffers().size(), nullptr) {}

absl::Status ComputationEmitter::EmitProgram() {
  llvm::LLVMContext& context = output_.getContext();
  llvm::Type* pointer = b_.getPtrTy();
  llvm::FunctionType* type =
      llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, pointer, pointer, pointer}, /*isVarArg=*/false);
  function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, kProgramName, output_);
  llvm::BasicBlock* entry = llvm::BasicBlock::Create(context, "entry", function_);
  llvm::BasicBlock* body = llvm::BasicBlock::Create(context, "body", function_);
  b_.SetInsertPoint(entry);
  // Pointers and stack slots go before this branch as they are needed.
  b_.CreateBr(body);
  b_.SetInsertPoint(body);
  KILN_RETURN_IF_ERROR(EmitComputation(*program_.module_.entry()));
  b_.CreateRetVoid();
  EmitStages();
  return absl::OkStatus();
}

llvm::Value* ComputationEmitter::ConstantPointer(const hlo::Literal& literal) {
  llvm::LLVMContext& context = output_.getContext();
  absl::Span<const std::byte> bytes = literal.bytes();
  llvm::Constant* data =
      llvm::ConstantDataArray::getRaw(llvm::StringRef(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                                      bytes.size(), llvm::Type::getInt8Ty(context));
  auto* global = new llvm::GlobalVariable(output_, data->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::PrivateLinkage, data, "constant");
  global->setAlignment(llvm::Align(64));
  return global;
}

llvm::Value* ComputationEmitter::TablePointer(const hlo::Literal* literal) {
  llvm::IRBuilder<> entry(function_->getEntryBlock().getTerminator());
  program_.table_constants_.push_back(literal);
  return entry.CreateLoad(entry.getPtrTy(), entry.CreateConstGEP1_64(entry.getPtrTy(), function_->getArg(4),
                                                                     program_.table_constants_.size() - 1));
}

llvm::Function* ComputationEmitter::Function(const std::string& name,
                                             llvm::FunctionType* (*type)(llvm::LLVMContext& context),
                                             const std::function<void(llvm::Function*)>& emit) {
  if (llvm::Function* known = output_.getFunction(name)) return known;
  auto declare = [&](llvm::Module& module) {
    llvm::Function* function =
        llvm::Function::Create(type(module.getContext()), llvm::GlobalValue::ExternalLinkage, name, module);
    // All modules are linked into one piece of memory.
    function->setVisibility(llvm::GlobalValue::HiddenVisibility);
    function->setDSOLocal(true);
    function->addFnAttr(llvm::Attribute::NoInline);
    return function;
  };
  llvm::Module& module = code_.ForKernel();
  llvm::Function* function = declare(module);
  emit(function);
  return &module == &output_ ? function : declare(output_);
}

llvm::Value* ComputationEmitter::Table(const std::string& key, const std::function<hlo::Literal()>& make) {
  llvm::Value*& pointer = op_tables_[key];
  if (pointer == nullptr) {
    program_.tables_.push_back(std::make_unique<hlo::Literal>(make()));
    pointer = TablePointer(program_.tables_.back().get());
  }
  return pointer;
}

llvm::Value* ComputationEmitter::CallersPointer(const Buffer& buffer, llvm::IRBuilder<>& at) const {
  const auto behind = [&](llvm::Value* pointer) {
    return buffer.offset > 0 ? at.CreateConstGEP1_64(at.getInt8Ty(), pointer, buffer.offset) : pointer;
  };
  const auto element = [&](llvm::Value* table) {
    return at.CreateLoad(at.getPtrTy(), at.CreateConstGEP1_64(at.getPtrTy(), table, buffer.number));
  };
  if (buffer.storage == Storage::kArena) return behind(function_->getArg(3));
  return buffer.storage == Storage::kArgument ? element(function_->getArg(1)) : behind(element(function_->getArg(2)));
}

llvm::Value* ComputationEmitter::PointerHere(int number) {
  const Buffer& buffer = buffers_.buffer(number);
  const bool is_callers = buffer.storage == Storage::kArgument || buffer.storage == Storage::kResult ||
                          buffer.storage == Storage::kArena;
  const bool is_kept = loops_ > 0 && pointers_.size() <= kManyBuffers;
  if (!is_callers || pointers_[number] != nullptr || is_kept || block_loop_ != nullptr) return BufferPointer(number);
  return CallersPointer(buffer, b_);
}

llvm::Value* ComputationEmitter::BufferPointer(int number) {
  if (pointers_[number] != nullptr) return pointers_[number];
  const Buffer& buffer = buffers_.buffer(number);
  llvm::IRBuilder<> entry(function_->getEntryBlock().getTerminator());
  llvm::Value* pointer = nullptr;
  switch (buffer.storage) {
    case Storage::kArgument:
    case Storage::kResult:
    case Storage::kArena:
      pointer = CallersPointer(buffer, entry);
      break;
    case Storage::kConstant: {
      const hlo::Literal* literal = buffers_.constants()[buffer.number];
      pointer =
          literal->shape().byte_count() <= kInlineConstantBytes ? ConstantPointer(*literal) : TablePointer(literal);
      break;
    }
    case Storage::kWorkspace:
      pointer = entry.CreateLoad(entry.getPtrTy(), function_->getArg(0));
      break;
    case Storage::kStack:
      if (buffer.framed) {
        pointer = entry.CreateConstGEP1_64(entry.getInt8Ty(), Frame(), buffer.offset);
        break;
      }
      pointer = RoomySlot(buffer.bytes);
      break;
  }
  pointers_[number] = pointer;
  return pointer;
}

llvm::Value* ComputationEmitter::RoomySlot(int64_t bytes) {
  const int64_t room = RoomOf(bytes);
  llvm::AllocaInst* slot =
      StackSlot(b_, llvm::ArrayType::get(b_.getInt8Ty(), std::max<int64_t>(room, 1)), bytes > 8 ? 64 : 16);
  // What is behind the array is computed with as well, and should be nothing that is slow.
  if (room > bytes) {
    llvm::IRBuilder<> entry(function_->getEntryBlock().getTerminator());
    entry.CreateMemSet(slot, entry.getInt8(0), static_cast<uint64_t>(room), slot->getAlign());
  }
  return slot;
}

llvm::Value* ComputationEmitter::Frame() {
  if (frame_ != nullptr) return frame_;
  llvm::AllocaInst* frame = StackSlot(b_, llvm::ArrayType::get(b_.getInt8Ty(), buffers_.frame_bytes()), 64);
  frame_ = frame;
  // Seen by code that LLVM does not know, so that it is memory and never hundreds of registers.
  llvm::IRBuilder<> behind(frame->getNextNode());
  llvm::FunctionType* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false);
  behind.CreateCall(type, llvm::InlineAsm::get(type, "", "r", /*hasSideEffects=*/true), {frame});
  return frame_;
}

llvm::Value* ComputationEmitter::PointerTo(const Instruction* instruction, int64_t leaf) {
  const int number = buffers_.BufferOf(instruction, leaf);
  if (number < 0) return nullptr;
  llvm::Value* pointer = PointerHere(number);
  const analysis::BufferAssignment::Part part = buffers_.PartOf(instruction, leaf);
  if (part.offset != 0) pointer = b_.CreateConstGEP1_64(b_.getInt8Ty(), pointer, static_cast<uint64_t>(part.offset));
  return part.slice == nullptr ? pointer : b_.CreateGEP(b_.getInt8Ty(), pointer, part_starts_.at(part.slice));
}

void ComputationEmitter::EmitPartStart(const Instruction& slice) {
  const hlo::Shape& from = slice.operand(0)->shape();
  llvm::Value* start = b_.getInt64(0);
  int64_t stride = hlo::ByteWidth(from.element_type());
  for (int64_t d = from.rank() - 1; d >= 0; stride *= from.dimensions(d--)) {
    const int64_t most = from.dimensions(d) - slice.shape().dimensions(d);
    if (most == 0) continue;
    const hlo::PrimitiveType type = slice.operand(d + 1)->shape().element_type();
    llvm::Value* index = LoadScalar(slice.operand(d + 1), b_.getIntNTy(static_cast<unsigned>(hlo::BitWidth(type))));
    const bool is_signed = hlo::IsSignedIntegral(type);
    index = b_.CreateIntCast(index, b_.getInt64Ty(), is_signed);
    if (is_signed) index = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, index, b_.getInt64(0));
    index = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, index, b_.getInt64(static_cast<uint64_t>(most)));
    start = b_.CreateAdd(start, b_.CreateMul(index, b_.getInt64(static_cast<uint64_t>(stride))));
  }
  part_starts_[&slice] = start;
}

std::vector<int64_t> ComputationEmitter::Rooms(const Instruction& instruction, const kernel::Kernel& kernel) const {
  std::vector<int64_t> rooms;
  const auto add = [&](const Instruction* array) {
    for (int64_t leaf = 0, leaves = array->shape().leaf_count(); leaf < leaves; ++leaf) {
      const kernel::Parameter& parameter = kernel.parameters[rooms.size()];
      const int number = buffers_.BufferOf(array, leaf);
      const bool is_whole = number >= 0 && buffers_.PartOf(array, leaf).slice == nullptr &&
                            buffers_.buffer(number).bytes == parameter.element_count() * hlo::ByteWidth(parameter.type);
      rooms.push_back(is_whole && IsRoomy(number) ? RoomOf(buffers_.buffer(number).bytes) : 0);
    }
  };
  for (const Instruction* operand : instruction.operands()) add(operand);
  add(&instruction);
  return rooms;
}

std::vector<llvm::Value*> ComputationEmitter::OperandPointers(const Instruction& instruction) {
  std::vector<llvm::Value*> pointers;
  for (const Instruction* operand : instruction.operands()) {
    for (int64_t leaf = 0, leaves = operand->shape().leaf_count(); leaf < leaves; ++leaf)
      pointers.push_back(PointerTo(operand, leaf));
  }
  return pointers;
}

std::vector<llvm::Value*> ComputationEmitter::ResultPointers(const Instruction& instruction) {
  std::vector<llvm::Value*> pointers;
  for (int64_t leaf = 0, leaves = instruction.shape().leaf_count(); leaf < leaves; ++leaf) {
    pointers.push_back(PointerTo(&instruction, leaf));
  }
  return pointers;
}

llvm::Value* ComputationEmitter::LoadScalar(const Instruction* instruction, llvm::Type* type) {
  return b_.CreateLoad(type, PointerTo(instruction, 0));
}

int64_t ComputationEmitter::RoundsThatCopy(const Instruction& update, const analysis::BufferCopy& copy) const {
  const hlo::Computation& body = *update.parent();
  if (!copy.but.has_value() || !rounds_.contains(&body) || !update.shape().IsArray()) return -1;
  const Instruction* root = body.root();
  const Instruction* updated = update.operand(kernel::InPlaceOperand(update, 0));
  if (root->opcode() != Opcode::kTuple || updated->opcode() != Opcode::kGetTupleElement ||
      !updated->operand(0)->IsParameter() || root->operand(updated->tuple_index()) != &update ||
      absl::c_any_of(root->operands(), [](const Instruction* element) { return !element->shape().IsArray(); })) {
    return -1;
  }
  const Instruction* loop = rounds_.at(&body).loop;
  for (const analysis::BufferRotation& rotation : buffers_.RotationsOf(loop)) {
    if (!rotation.spare_turns || rotation.spare != copy.to || rotation.state.front() != copy.from) continue;
    // What else is made in the loop may take the place of state that nobody reads any more.
    bool is_inside = false;
    for (const analysis::BufferAssignment::Step& step : buffers_.steps()) {
      const Instruction* made = step.instruction;
      if (made == loop) is_inside = !step.ends;
      if (!is_inside || made == nullptr || made == loop || made == &update || step.ends) continue;
      for (int64_t leaf = 0, leaves = made->shape().leaf_count(); leaf < leaves; ++leaf) {
        const int number = buffers_.Makes(made, leaf) ? buffers_.BufferOf(made, leaf) : -1;
        if (number == rotation.spare || absl::c_linear_search(rotation.state, number)) return -1;
      }
    }
    return static_cast<int64_t>(rotation.state.size());
  }
  return -1;
}

void ComputationEmitter::EmitCopies(const std::vector<analysis::BufferCopy>& copies, const Instruction* before) {
  for (const analysis::BufferCopy& copy : copies) {
    const Buffer& from = buffers_.buffer(copy.from);
    const Buffer& to = buffers_.buffer(copy.to);
    if (to.bytes == 0) continue;
    llvm::Value* source = PointerHere(copy.from);
    if (copy.offset > 0) source = b_.CreateConstGEP1_64(b_.getInt8Ty(), source, static_cast<uint64_t>(copy.offset));
    llvm::Value* destination = PointerHere(copy.to);
    if (const int64_t rounds = before == nullptr ? -1 : RoundsThatCopy(*before, copy); rounds >= 0) {
      llvm::BasicBlock* needed = llvm::BasicBlock::Create(output_.getContext(), "surround", function_);
      llvm::BasicBlock* done = llvm::BasicBlock::Create(output_.getContext(), "surrounded", function_);
      llvm::Value* round = rounds_.at(before->parent()).gone_by;
      b_.CreateCondBr(b_.CreateICmpULT(round, b_.getInt64(static_cast<uint64_t>(rounds))), needed, done);
      b_.SetInsertPoint(needed);
      EmitCopies({copy});
      b_.CreateBr(done);
      b_.SetInsertPoint(done);
      continue;
    }
    const auto move = [&, bytes = to.bytes] {
      if (copy.but.has_value()) {
        int64_t elements = 1;
        for (int64_t size : copy.dimensions) elements *= size;
        std::vector<int64_t> numbers = {static_cast<int64_t>(copy.dimensions.size()), bytes / elements};
        for (const hlo::DimensionVector* of : {&copy.dimensions, &copy.but->start, &copy.but->sizes}) {
          numbers.insert(numbers.end(), of->begin(), of->end());
        }
        CallRuntime(b_, kCopyAroundName, {function_->getArg(0), destination, source, ConstantStruct(b_, numbers)});
      } else if (bytes < kDividedCopyBytes) {
        b_.CreateMemCpy(destination, llvm::Align(1), source, llvm::Align(1), static_cast<uint64_t>(bytes));
      } else {
        CallRuntime(b_, kCopyArrayName,
                    {function_->getArg(0), destination, source, b_.getInt64(static_cast<uint64_t>(bytes))});
      }
    };
    if (from.storage == Storage::kArgument && to.storage == Storage::kResult) {
      // A donated argument's memory may be the result's: then the value is there already.
      llvm::BasicBlock* needed = llvm::BasicBlock::Create(output_.getContext(), "move", function_);
      llvm::BasicBlock* done = llvm::BasicBlock::Create(output_.getContext(), "moved", function_);
      b_.CreateCondBr(b_.CreateICmpEQ(source, destination), done, needed);
      b_.SetInsertPoint(needed);
      move();
      b_.CreateBr(done);
      b_.SetInsertPoint(done);
      continue;
    }
    move();
  }
}

absl::Status ComputationEmitter::EmitComputation(const hlo::Computation& computation) {
  if (++nesting_ > kMaxNesting) {
    return ResourceExhausted("computation ", computation.name(), " is nested deeper than ", kMaxNesting, " levels");
  }
  for (const Instruction* instruction : computation.instructions()) {
    KILN_RETURN_IF_ERROR(EmitInstruction(*instruction));
  }
  EmitCopies(buffers_.CopiesAtEnd(&computation));
  --nesting_;
  return absl::OkStatus();
}

absl::Status ComputationEmitter::EmitInstruction(const Instruction& instruction) {
  KILN_RETURN_IF_ERROR(EmitCode(instruction));
  if (program_.profiled_ == nullptr || instruction.IsParameter() || instruction.IsConstant()) return absl::OkStatus();
  CallRuntime(b_, kProfileName, {function_->getArg(0), b_.getInt64(program_.profiled_->size())});
  program_.profiled_->push_back(&instruction);
  return absl::OkStatus();
}

absl::Status ComputationEmitter::EmitCode(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kWhile:
      return EmitWhile(instruction);
    case Opcode::kConditional:
      return EmitConditional(instruction);
    case Opcode::kCall:
      return EmitComputation(*instruction.called_computation());
    default:
      break;
  }
  if (const ScheduledKernel* scheduled = program_.KernelOf(instruction)) return EmitKernel(instruction, *scheduled);
  auto product = program_.products_.find(&instruction);
  if (product != program_.products_.end()) return EmitMatrixProduct(instruction, *product->second);
  auto chain = program_.chains_.find(&instruction);
  if (chain != program_.chains_.end()) return EmitRowChain(instruction, *chain->second);
  if (const OpEmitter* op = FindOpEmitter(instruction)) return EmitLibraryOp(instruction, *op);
  if (instruction.opcode() == Opcode::kCustomCall) return EmitCustomCall(instruction);
  // The others are names for other values' memory.
  if (instruction.opcode() == Opcode::kDynamicSlice) EmitPartStart(instruction);
  return absl::OkStatus();
}

std::vector<int> ComputationEmitter::MoveToStack(const Instruction& loop) {
  std::vector<int> moved;
  for (int64_t leaf = 0, leaves = loop.shape().leaf_count(); leaf < leaves; ++leaf) {
    const int number = buffers_.BufferOf(&loop, leaf);
    if (number < 0 || on_stack_.contains(number)) continue;
    const Buffer& buffer = buffers_.buffer(number);
    if (buffer.storage != Storage::kResult || buffer.bytes > kMaxMovedBytes || buffer.bytes == 0) continue;
    llvm::Value* result = BufferPointer(number);
    llvm::Value* slot = RoomySlot(buffer.bytes);
    b_.CreateMemCpy(slot, llvm::Align(16), result, llvm::Align(1), static_cast<uint64_t>(buffer.bytes));
    on_stack_.emplace(number, result);
    pointers_[static_cast<size_t>(number)] = slot;
    moved.push_back(number);
  }
  return moved;
}

void ComputationEmitter::MoveBack(absl::Span<const int> moved) {
  for (int number : moved) {
    llvm::Value*& pointer = pointers_[static_cast<size_t>(number)];
    llvm::Value* slot = std::exchange(pointer, on_stack_.at(number));
    b_.CreateMemCpy(pointer, llvm::Align(1), slot, llvm::Align(16),
                    static_cast<uint64_t>(buffers_.buffer(number).bytes));
    on_stack_.erase(number);
  }
}

bool ComputationEmitter::IsRoomy(int number) const {
  const Buffer& buffer = buffers_.buffer(number);
  return on_stack_.contains(number) || (buffer.storage == Storage::kStack && !buffer.framed);
}

std::vector<std::vector<llvm::PHINode*>> ComputationEmitter::BeginRotations(const Instruction& loop,
                                                                            llvm::BasicBlock* header) {
  std::vector<std::vector<int>> turning;
  for (const analysis::BufferRotation& rotation : buffers_.RotationsOf(&loop)) {
    turning.push_back(rotation.state);
    if (rotation.spare_turns) turning.back().push_back(rotation.spare);
    for (int number : turning.back()) BufferPointer(number);
  }
  llvm::BasicBlock* before = b_.GetInsertBlock();
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  std::vector<std::vector<llvm::PHINode*>> rotations;
  if (!turning.empty()) {
    llvm::PHINode* round = b_.CreatePHI(b_.getInt64Ty(), 2);
    round->addIncoming(b_.getInt64(0), before);
    rounds_[loop.called_computation(0)] = {&loop, round};
  }
  for (const std::vector<int>& numbers : turning) {
    rotations.emplace_back();
    for (int number : numbers) {
      llvm::Value*& pointer = pointers_[static_cast<size_t>(number)];
      rotations.back().push_back(b_.CreatePHI(b_.getPtrTy(), 2));
      rotations.back().back()->addIncoming(pointer, before);
      pointer = rotations.back().back();
    }
  }
  return rotations;
}

void ComputationEmitter::Rotate(const Instruction& loop, absl::Span<const std::vector<llvm::PHINode*>> rotations) {
  if (const auto round = rounds_.find(loop.called_computation(0)); round != rounds_.end()) {
    llvm::PHINode* gone_by = round->second.gone_by;
    gone_by->addIncoming(b_.CreateAdd(gone_by, b_.getInt64(1)), b_.GetInsertBlock());
  }
  for (const std::vector<llvm::PHINode*>& pointers : rotations) {
    llvm::PHINode* before = pointers.back();
    for (llvm::PHINode* pointer : pointers) {
      pointer->addIncoming(before, b_.GetInsertBlock());
      before = pointer;
    }
  }
}

std::vector<llvm::Value*> ComputationEmitter::EndRotations(const Instruction& loop,
                                                           absl::Span<const std::vector<llvm::PHINode*>> rotations) {
  std::vector<llvm::Value*> now;
  for (size_t i = 0; i < rotations.size(); ++i) {
    const analysis::BufferRotation& rotation = buffers_.RotationsOf(&loop)[i];
    for (size_t j = 0; j < rotations[i].size(); ++j) {
      const int number = j == rotation.state.size() ? rotation.spare : rotation.state[j];
      pointers_[static_cast<size_t>(number)] = rotations[i][j]->getIncomingValue(0);
      now.push_back(rotations[i][j]);
    }
  }
  return now;
}

void ComputationEmitter::PutBack(const Instruction& loop, absl::Span<llvm::Value* const> now) {
  for (const analysis::BufferRotation& rotation : buffers_.RotationsOf(&loop)) {
    const size_t count = rotation.state.size();
    std::vector<llvm::Value*> places = {rotation.spare_turns ? now[count] : BufferPointer(rotation.spare)};
    places.insert(places.end(), now.begin(), now.begin() + static_cast<std::ptrdiff_t>(count));
    places.push_back(BufferPointer(rotation.spare));
    for (int number : rotation.state) places.push_back(BufferPointer(number));
    CallRuntime(b_, kPutBackName,
                {function_->getArg(0), PointerTable(b_, places), b_.getInt64(count + 1),
                 b_.getInt64(static_cast<uint64_t>(buffers_.buffer(rotation.spare).bytes))});
    now.remove_prefix(count + (rotation.spare_turns ? 1 : 0));
  }
}

absl::Status ComputationEmitter::EmitWhile(const Instruction& instruction) {
  EmitCopies(buffers_.CopiesBefore(&instruction));
  const bool wants_flush = kernel::LoopFlushesSubnormals(instruction), flushes = wants_flush && !flushes_subnormals_;
  const auto kernel_of = [this](const Instruction& inside) { return program_.KernelOf(inside); };
  // Within one instruction of a profile no other ends.
  if (program_.profiled_ == nullptr) {
    if (const auto plan = PlanBlockLoop(instruction, buffers_, kernel_of, program_.threads_)) {
      return EmitBlockLoop(instruction, *plan, wants_flush);
    }
  }
  const std::vector<int> moved = MoveToStack(instruction);
  llvm::Value* environment = flushes ? FlushSubnormals(b_) : nullptr;
  flushes_subnormals_ |= flushes;
  KILN_ASSIGN_OR_RETURN(const std::vector<llvm::Value*> rotated, EmitRounds(instruction));
  PutBack(instruction, rotated);
  MoveBack(moved);
  if (flushes) {
    RestoreFloatEnvironment(b_, environment);
    flushes_subnormals_ = false;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<llvm::Value*>> ComputationEmitter::EmitRounds(const Instruction& loop) {
  llvm::LLVMContext& context = output_.getContext();
  llvm::BasicBlock* header = llvm::BasicBlock::Create(context, loop.name() + ".condition", function_);
  llvm::BasicBlock* body = llvm::BasicBlock::Create(context, loop.name() + ".body", function_);
  llvm::BasicBlock* exit = llvm::BasicBlock::Create(context, loop.name() + ".exit", function_);
  ++loops_;
  const auto rotations = BeginRotations(loop, header);
  const hlo::Computation& condition = *loop.called_computation(1);
  KILN_RETURN_IF_ERROR(EmitComputation(condition));
  llvm::Value* goes_on = LoadScalar(condition.root(), b_.getInt8Ty());
  b_.CreateCondBr(b_.CreateICmpNE(goes_on, b_.getInt8(0)), body, exit);
  b_.SetInsertPoint(body);
  KILN_RETURN_IF_ERROR(EmitComputation(*loop.called_computation(0)));
  Rotate(loop, rotations);
  b_.CreateBr(header);
  b_.SetInsertPoint(exit);
  --loops_;
  return EndRotations(loop, rotations);
}

absl::Status ComputationEmitter::EmitConditional(const Instruction& instruction) {
  llvm::LLVMContext& context = output_.getContext();
  const Instruction* index = instruction.operand(0);
  const auto& branches = instruction.called_computations();
  std::vector<llvm::BasicBlock*> blocks;
  for (size_t i = 0; i < branches.size(); ++i) {
    blocks.push_back(llvm::BasicBlock::Create(context, instruction.name() + ".branch", function_));
  }
  llvm::BasicBlock* exit = llvm::BasicBlock::Create(context, instruction.name() + ".exit", function_);
  if (index->shape().element_type() == hlo::PrimitiveType::kPred) {
    llvm::Value* predicate = LoadScalar(index, b_.getInt8Ty());
    b_.CreateCondBr(b_.CreateICmpNE(predicate, b_.getInt8(0)), blocks[0], blocks[1]);
  } else {
    // An index outside takes the last branch.
    llvm::SwitchInst* choice =
        b_.CreateSwitch(LoadScalar(index, b_.getInt32Ty()), blocks.back(), static_cast<unsigned>(blocks.size()));
    for (size_t i = 0; i + 1 < blocks.size(); ++i) choice->addCase(b_.getInt32(static_cast<uint32_t>(i)), blocks[i]);
  }
  for (size_t i = 0; i < branches.size(); ++i) {
    b_.SetInsertPoint(blocks[i]);
    KILN_RETURN_IF_ERROR(EmitComputation(*branches[i]));
    b_.CreateBr(exit);
  }
  b_.SetInsertPoint(exit);
  return absl::OkStatus();
}

absl::Status ComputationEmitter::EmitKernel(const Instruction& instruction, const ScheduledKernel& scheduled) {
  EmitCopies(buffers_.CopiesBefore(&instruction), &instruction);
  const kernel::Kernel& kernel = scheduled.kernel;
  std::vector<llvm::Value*> arrays = OperandPointers(instruction);
  for (llvm::Value* pointer : ResultPointers(instruction)) arrays.push_back(pointer);
  for (size_t i = arrays.size(); i < kernel.parameters.size() && kernel.parameters[i].constant.has_value(); ++i) {
    arrays.push_back(ConstantPointer(*kernel.parameters[i].constant));
  }
  const std::vector<int64_t> rooms = Rooms(instruction, kernel), no_rooms;
  for (const NestGroup& group : NestGroups(scheduled)) {
    const size_t n = group.first;
    const kernel::NestSchedule& schedule = scheduled.schedules[n];
    auto lower = [&](llvm::IRBuilder<>* builder, size_t nest, absl::Span<llvm::Value* const> parameters,
                     llvm::Value* begin, llvm::Value* end) {
      return kernel::LowerNest(builder, kernel, kernel.nests[nest], scheduled.schedules[nest], program_.target_,
                               parameters, begin, end, /*threads=*/nullptr, begin == nullptr ? rooms : no_rooms);
    };
    const bool is_alone = group.last - n == 1,
               by_blocks = block_loop_ != nullptr && block_loop_->kernels.contains(&instruction);
    const auto call = [&](ParallelTask& task) {
      if (by_blocks) return task.CallOver(block_begin_, block_end_);
      if (block_loop_ != nullptr) return task.CallOver(b_.getInt64(0), b_.getInt64(schedule.task_count));
      double nanoseconds = 0;  // of a task
      for (size_t i = n; i < group.last; ++i) nanoseconds += scheduled.schedules[i].far_task_nanoseconds;
      task.Call(function_->getArg(0), schedule.task_count, nanoseconds);
    };
    int& inline_nests = loops_ > 0 ? inline_nests_in_loops_ : inline_nests_;
    if (is_alone && !by_blocks && scheduled.uses <= kMaxInlineUses && inline_nests < kMaxInlineNests &&
        HasLittleWork(kernel, kernel.nests[n], loops_ > 0 ? kInlineWorkInLoop : kInlineWork)) {
      ++inline_nests;
      KILN_RETURN_IF_ERROR(lower(&b_, n, arrays, nullptr, nullptr));
      continue;
    }
    llvm::Function*& shared = tasks_[{&scheduled, n}];
    if (shared != nullptr) {
      program_.functions_[&instruction].push_back(shared->getName().str());
      ParallelTask known(&b_, shared, arrays);
      call(known);
      continue;
    }
    ParallelTask task(&b_, n == 0 ? kernel.name : absl::StrCat(kernel.name, ".", n), arrays, &code_.ForKernel());
    std::vector<llvm::Value*> parameters;
    for (size_t i = 0; i < arrays.size(); ++i) parameters.push_back(task.closure(i));
    llvm::IRBuilder<>& body = task.body();
    if (kernel.flushes_subnormals) task.FlushSubnormals();
    if (is_alone) {
      KILN_RETURN_IF_ERROR(lower(&body, n, parameters, task.begin(), task.end()));
    } else {
      absl::Status status;
      EmitLoop(body, task.begin(), task.end(), group.block, "block", [&](llvm::Value* begin) {
        llvm::Value* end = body.CreateBinaryIntrinsic(
            llvm::Intrinsic::smin, body.CreateAdd(begin, body.getInt64(static_cast<uint64_t>(group.block))),
            task.end());
        for (size_t i = n; i < group.last; ++i) status.Update(lower(&body, i, parameters, begin, end));
      });
      KILN_RETURN_IF_ERROR(status);
    }
    shared = task.function();
    program_.functions_[&instruction].push_back(shared->getName().str());
    call(task);
  }
  return absl::OkStatus();
}

absl::Status ComputationEmitter::EmitMatrixProduct(const Instruction& instruction, const MatrixProduct& product) {
  const int scratch = buffers_.ScratchOf(&instruction);
  const std::vector<llvm::Value*> operands = OperandPointers(instruction);
  llvm::Value* result = PointerTo(&instruction, 0);
  for (const MatrixProduct::Part& part : product.parts) {
    const bool is_new = !tasks_.contains({&part, 0});
    // What is made has no address.
    const auto side = [&](int64_t operand) { return operand < 0 ? result : operands[operand]; };
    std::vector<llvm::Value*> closure = {side(product.lhs_operand), side(product.rhs_operand), result,
                                         scratch < 0 ? nullptr : BufferPointer(scratch)};
    // The first task of the round, where there are several.
    constexpr size_t kRoundSlot = 4;
    const bool in_rounds = part.plan.rounds > 1;
    if (in_rounds) closure.push_back(nullptr);
    // The kernels' arrays stand at the end of the closure, which serves as their table.
    const size_t extra = closure.size();
    const std::vector<const kernel::Kernel*> kernels = part.kernels();
    if (!kernels.empty()) {
      closure.insert(closure.end(), operands.begin(), operands.end());
      closure.push_back(result);
    }
    for (const kernel::Kernel* kernel : kernels) {
      for (size_t i = operands.size() + 1; i < kernel->parameters.size(); ++i) {
        closure.push_back(ConstantPointer(*kernel->parameters[i].constant));
      }
    }
    absl::Status status;
    EmitLoop(b_, b_.getInt64(0), b_.getInt64(part.plan.rounds), 1, "round", [&](llvm::Value* round) {
      for (size_t i = 0; i < part.plan.phases.size(); ++i) {
        const GemmPhase& phase = part.plan.phases[i];
        const double nanoseconds =
            static_cast<double>(part.plan.estimated_nanoseconds) / static_cast<double>(phase.tasks * part.plan.rounds);
        if (in_rounds) {
          closure[kRoundSlot] = b_.CreateIntToPtr(b_.CreateMul(round, b_.getInt64(phase.tasks)), b_.getPtrTy());
        }
        llvm::Function*& shared = tasks_[{&part, i}];
        if (!is_new) {
          program_.functions_[&instruction].push_back(shared->getName().str());
          ParallelTask(&b_, shared, closure).Call(function_->getArg(0), phase.tasks, nanoseconds, phase.grain);
          continue;
        }
        const bool is_one_call = IsOneCall(part.spec, part.plan, i);
        llvm::Module& module = is_one_call ? code_.program() : code_.ForKernel();
        absl::StatusOr<llvm::Function*> emitted = EmitGemmPhase(part.spec, part.plan, i, module);
        status.Update(Annotate(emitted.status(), instruction.Describe()));
        if (!status.ok()) return;
        llvm::Function* function = *emitted;
        // Called by its task alone: one function to compile instead of two.
        function->setLinkage(llvm::Function::InternalLinkage);
        function->addFnAttr(llvm::Attribute::AlwaysInline);
        ParallelTask task(&b_, absl::StrCat(phase.function, ".task"), closure, &module);
        llvm::IRBuilder<>& body = task.body();
        // What is compiled with Kiln does it itself.
        if (!is_one_call && part.plan.multiply_adds >= kFlushedMultiplyAdds) task.FlushSubnormals();
        std::vector<llvm::Value*> arguments;
        for (size_t k = 0; k < kRoundSlot; ++k) arguments.push_back(task.closure(k));
        arguments.push_back(task.ClosureSlot(extra));
        for (llvm::Value* bound : {task.begin(), task.end()}) {
          arguments.push_back(
              in_rounds ? body.CreateAdd(bound, body.CreatePtrToInt(task.closure(kRoundSlot), body.getInt64Ty()))
                        : bound);
        }
        body.CreateCall(function, arguments);
        task.Call(function_->getArg(0), phase.tasks, nanoseconds, phase.grain);
        shared = task.function();
        program_.functions_[&instruction].push_back(shared->getName().str());
      }
    });
    KILN_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

absl::Status ComputationEmitter::EmitLibraryOp(const Instruction& instruction, const OpEmitter& op) {
  OpArrays arrays;
  arrays.program = this;
  arrays.context = function_->getArg(0);
  arrays.operands = OperandPointers(instruction);
  arrays.results = ResultPointers(instruction);
  const int scratch = buffers_.ScratchOf(&instruction);
  if (scratch >= 0) arrays.scratch = BufferPointer(scratch);
  return op.emit(&b_, instruction, arrays);
}

absl::Status ComputationEmitter::EmitCustomCall(const Instruction& instruction) {
  EmitCopies(buffers_.CopiesBefore(&instruction));
  custom_calls_.push_back(&instruction);
  EmitCustomCallStage(instruction, program_.custom_calls_->at(&instruction), CustomCall::Stage::kExecute);
  return absl::OkStatus();
}

void ComputationEmitter::EmitCustomCallStage(const Instruction& instruction, const NumberedCustomCall& call,
                                             CustomCall::Stage stage) {
  llvm::LLVMContext& context = output_.getContext();
  std::vector<llvm::Value*> pointers = OperandPointers(instruction);
  const std::vector<llvm::Value*> results = ResultPointers(instruction);
  // The handler finds one address in an operand and the result that shares its memory.
  for (size_t leaf = 0; leaf < results.size(); ++leaf) {
    const int64_t operand = AliasedOperand(instruction, static_cast<int64_t>(leaf));
    if (operand < 0) continue;
    int64_t position = 0;
    for (int64_t i = 0; i < operand; ++i) position += instruction.operand(i)->shape().leaf_count();
    pointers[position] = results[leaf];
  }
  pointers.insert(pointers.end(), results.begin(), results.end());
  llvm::Value* ok = CallRuntime(b_, kCustomCallName,
                                {function_->getArg(0), b_.getInt32(static_cast<int>(stage)), b_.getInt64(call.number),
                                 PointerTable(b_, pointers), b_.getInt64(pointers.size())},
                                b_.getInt8Ty());
  if (stopped_ == nullptr) {
    stopped_ = llvm::BasicBlock::Create(context, "stopped", function_);
    llvm::ReturnInst::Create(context, stopped_);
  }
  llvm::BasicBlock* next = llvm::BasicBlock::Create(context, instruction.name() + ".called", function_);
  b_.CreateCondBr(b_.CreateICmpNE(ok, b_.getInt8(0)), next, stopped_);
  b_.SetInsertPoint(next);
}

void ComputationEmitter::EmitStages() {
  auto* branch = llvm::cast<llvm::BranchInst>(function_->getEntryBlock().getTerminator());
  llvm::BasicBlock* body = branch->getSuccessor(0);
  llvm::BasicBlock* stages = llvm::BasicBlock::Create(output_.getContext(), "stages", function_, body);
  branch->setSuccessor(0, stages);
  b_.SetInsertPoint(stages);
  for (CustomCall::Stage stage : {CustomCall::Stage::kPrepare, CustomCall::Stage::kInitialize}) {
    for (const Instruction* instruction : custom_calls_) {
      const NumberedCustomCall& call = program_.custom_calls_->at(instruction);
      if (call.call->HasStage(stage)) EmitCustomCallStage(*instruction, call, stage);
    }
  }
  b_.CreateBr(body);
}

}  // namespace kiln::cpu
