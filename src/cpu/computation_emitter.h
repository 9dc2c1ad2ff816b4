// Emits the program function: the entry computation with those that it calls inline as control flow.
#ifndef KILN_CPU_COMPUTATION_EMITTER_H_
#define KILN_CPU_COMPUTATION_EMITTER_H_

#include <utility>
#include <vector>

#include "llvm/IR/IRBuilder.h"
#include "src/cpu/block_loop.h"
#include "src/cpu/op_emitters.h"
#include "src/cpu/program_emitter.h"

namespace kiln::cpu {

class ComputationEmitter : private OpProgram {
 public:
  ComputationEmitter(ProgramEmitter* program, const analysis::BufferAssignment& buffers, ProgramCode* code);

  absl::Status EmitProgram();

 private:
  absl::Status EmitComputation(const hlo::Computation& computation);
  absl::Status EmitInstruction(const hlo::Instruction& instruction);
  absl::Status EmitCode(const hlo::Instruction& instruction);
  absl::Status EmitWhile(const hlo::Instruction& instruction);
  // The condition and the body as control flow; gives what EndRotations() does.
  absl::StatusOr<std::vector<llvm::Value*>> EmitRounds(const hlo::Instruction& loop);
  // block_loop_emitter.cc
  absl::Status EmitBlockLoop(const hlo::Instruction& loop, const BlockLoop& plan, bool flushes_subnormals);
  absl::Status EmitConditional(const hlo::Instruction& instruction);
  absl::Status EmitKernel(const hlo::Instruction& instruction, const ScheduledKernel& scheduled);
  absl::Status EmitMatrixProduct(const hlo::Instruction& instruction, const MatrixProduct& product);
  // row_chain_emitter.cc
  absl::Status EmitRowChain(const hlo::Instruction& instruction, const RowChainPlan& chain);
  absl::Status EmitLibraryOp(const hlo::Instruction& instruction, const OpEmitter& op);
  // Notes the call for EmitStages.
  absl::Status EmitCustomCall(const hlo::Instruction& instruction);
  void EmitCustomCallStage(const hlo::Instruction& instruction, const NumberedCustomCall& call,
                           CustomCall::Stage stage);
  // What custom calls want to hear of before the program begins, at the end of the entry block.
  void EmitStages();
  void EmitCopies(const std::vector<analysis::BufferCopy>& copies, const hlo::Instruction* before = nullptr);
  // How many rounds of the loop around `update` make what is around its box in the memory that it is given; later ones
  // find it there, from when that was the state's. -1: all.
  int64_t RoundsThatCopy(const hlo::Instruction& update, const analysis::BufferCopy& copy) const;

  // The leaf's memory; null for tokens.
  llvm::Value* PointerTo(const hlo::Instruction* instruction, int64_t leaf);
  // How many bytes behind its operand's beginning the part of memory begins that `slice` is.
  void EmitPartStart(const hlo::Instruction& slice);
  llvm::Value* BufferPointer(int number);
  // The same for use where the builder is. Outside of loops, and where there are many, what the caller passes is loaded
  // there: kept in the entry block for later, thousands of pointers would be spilled.
  llvm::Value* PointerHere(int number);
  // Of an argument, of a result, or into the arena.
  llvm::Value* CallersPointer(const analysis::Buffer& buffer, llvm::IRBuilder<>& at) const;
  // Memory on the stack for `bytes`, and for a whole vector from there on.
  llvm::Value* RoomySlot(int64_t bytes);
  // Puts the state of a loop on the stack that is small and a result; gives the numbers of the buffers.
  std::vector<int> MoveToStack(const hlo::Instruction& loop);
  void MoveBack(absl::Span<const int> moved);
  // Makes the pointers of a loop's rotations those of a round, and counts rounds. At the end of the condition's first
  // block.
  std::vector<std::vector<llvm::PHINode*>> BeginRotations(const hlo::Instruction& loop, llvm::BasicBlock* header);
  // Behind the last instruction of the body.
  void Rotate(const hlo::Instruction& loop, absl::Span<const std::vector<llvm::PHINode*>> rotations);
  // Behind the loop; gives the pointers of its rotations after the last round.
  std::vector<llvm::Value*> EndRotations(const hlo::Instruction& loop,
                                         absl::Span<const std::vector<llvm::PHINode*>> rotations);
  // Brings what is there to where it belongs.
  void PutBack(const hlo::Instruction& loop, absl::Span<llvm::Value* const> now);
  // Of each array that the instruction's kernel is given, the bytes that nothing else is in.
  std::vector<int64_t> Rooms(const hlo::Instruction& instruction, const kernel::Kernel& kernel) const;
  bool IsRoomy(int number) const;
  // The memory of framed buffers.
  llvm::Value* Frame();
  llvm::Value* ConstantPointer(const hlo::Literal& literal);
  // The next one of the program's table, loaded in the entry block.
  llvm::Value* TablePointer(const hlo::Literal* literal);
  llvm::Function* Function(const std::string& name, llvm::FunctionType* (*type)(llvm::LLVMContext& context),
                           const std::function<void(llvm::Function*)>& emit) override;
  llvm::Value* Table(const std::string& key, const std::function<hlo::Literal()>& make) override;
  std::vector<llvm::Value*> OperandPointers(const hlo::Instruction& instruction);
  std::vector<llvm::Value*> ResultPointers(const hlo::Instruction& instruction);
  // A scalar value that control flow depends on.
  llvm::Value* LoadScalar(const hlo::Instruction* instruction, llvm::Type* type);

  ProgramEmitter& program_;
  const analysis::BufferAssignment& buffers_;
  ProgramCode& code_;
  llvm::Module& output_;  // the program function's
  llvm::IRBuilder<> b_;
  llvm::Function* function_ = nullptr;
  llvm::Value* frame_ = nullptr;
  std::vector<llvm::Value*> pointers_;               // by buffer number, made on first use in the entry block
  absl::flat_hash_map<int, llvm::Value*> on_stack_;  // where the buffers of a loop's results are when it is done
  // Tasks of kernels and products, by their number within them: instructions that share code call the same ones.
  absl::flat_hash_map<std::pair<const void*, size_t>, llvm::Function*> tasks_;
  absl::flat_hash_map<std::string, llvm::Value*> op_tables_;
  absl::flat_hash_map<const hlo::Instruction*, llvm::Value*> part_starts_;
  std::vector<const hlo::Instruction*> custom_calls_;  // emitted so far
  llvm::BasicBlock* stopped_ = nullptr;                // where failed custom calls go; made on first use
  struct Rounds {
    const hlo::Instruction* loop;
    llvm::PHINode* gone_by;
  };
  absl::flat_hash_map<const hlo::Computation*, Rounds> rounds_;  // by the body, of loops with rotations
  // Around what is emitted, and the blocks of a call.
  const BlockLoop* block_loop_ = nullptr;
  llvm::Value *block_begin_ = nullptr, *block_end_ = nullptr;
  int nesting_ = 0;
  int loops_ = 0;                    // around what is emitted
  int inline_nests_ = 0, inline_nests_in_loops_ = 0;  // emitted in the program function so far
  bool flushes_subnormals_ = false;  // inside a loop that does
};

}  // namespace kiln::cpu

#endif  // KILN_CPU_COMPUTATION_EMITTER_H_
