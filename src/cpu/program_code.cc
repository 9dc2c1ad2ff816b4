#include "src/cpu/program_code.h"

#include "absl/strings/str_cat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/raw_ostream.h"
#include "src/base/build_id.h"
#include "src/cpu/host_isa.h"
#include "src/kernel/vector_builder.h"

namespace kiln::cpu {
namespace {

constexpr size_t kKeyBytes = 20;

// One piece of memory holds all modules of a program.
void MakeVisible(llvm::Function* function) {
  function->setLinkage(llvm::GlobalValue::ExternalLinkage);
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  function->setDSOLocal(true);
}

// Whether its functions do nothing but pass pointers to others, once each: then no effort of LLVM's would show.
bool IsStraight(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      switch (instruction.getOpcode()) {
        case llvm::Instruction::Alloca:
        case llvm::Instruction::GetElementPtr:
        case llvm::Instruction::Load:
        case llvm::Instruction::Store:
        case llvm::Instruction::Call:
        case llvm::Instruction::Ret:
          if (instruction.getType()->isVectorTy()) return false;
          continue;
        case llvm::Instruction::Br:
          if (instruction.getNumSuccessors() == 1 &&
              instruction.getSuccessor(0) == instruction.getParent()->getNextNode()) {
            continue;
          }
          return false;
        default:
          return false;
      }
    }
  }
  return true;
}

}  // namespace

ProgramCode::ProgramCode(std::string name, JitCompiler* compiler, ObjectCache* cache, int level)
    : name_(std::move(name)),
      compiler_(compiler),
      level_(level),
      is_split_(true),
      program_(NewUnit()),
      code_(std::make_shared<PendingCode>(compiler, cache)) {}

ProgramCode::ProgramCode(std::string name, JitCompiler* compiler)
    : name_(std::move(name)), compiler_(compiler), level_(0), is_split_(false), program_(NewUnit()) {}

ProgramCode::~ProgramCode() {
  if (code_ != nullptr) code_->Cancel();
}

CodeUnit ProgramCode::NewUnit() const {
  CodeUnit unit;
  unit.level = level_;
  unit.context = std::make_unique<llvm::LLVMContext>();
  unit.context->setDiscardValueNames(is_split_);
  unit.module = std::make_unique<llvm::Module>(is_split_ ? "kiln" : name_, *unit.context);
  compiler_->PrepareModule(*unit.module);
  return unit;
}

llvm::Module& ProgramCode::ForKernel() {
  if (!is_split_) return program();
  CompileOpen();
  return *open_.emplace(NewUnit()).module;
}

void ProgramCode::Seal(CodeUnit* unit) {
  std::vector<llvm::Function*> kernels;
  for (llvm::Function& function : *unit->module) {
    if (function.isDeclaration()) continue;
    const std::string name = function.getName().str();
    if (kernel::IsHelper(function)) {
      if (!helpers_.insert(name).second) function.deleteBody();
      MakeVisible(&function);
    } else if (function.hasLocalLinkage()) {
      function.setName("");
    } else {
      kernels.push_back(&function);
    }
  }
  for (llvm::GlobalVariable& variable : unit->module->globals()) {
    if (variable.hasLocalLinkage()) variable.setName("");
  }
  if (kernels.empty()) return;
  for (llvm::Function* kernel : kernels) {
    renamed_.emplace_back(kernel->getName().str(), "");
    kernel->setName("kernel");
  }
  compiler_->PrepareModule(*unit->module);
  unit->key = KeyOf(*unit);
  for (size_t i = 0; i < kernels.size(); ++i) {
    std::string& name = renamed_[renamed_.size() - kernels.size() + i].second;
    name = absl::StrCat("kernel.", unit->key, i == 0 ? "" : absl::StrCat(".", i));
    kernels[i]->setName(name);
  }
}

std::string ProgramCode::KeyOf(const CodeUnit& unit) const {
  llvm::SmallVector<char, 0> bitcode;
  llvm::raw_svector_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(*unit.module, stream);
  llvm::BLAKE3 hash;
  hash.update(absl::StrCat(BuildId(), " ", unit.level, " ", Host().cpu, " ", Host().features, " "));
  hash.update(llvm::StringRef(bitcode.data(), bitcode.size()));
  return llvm::toHex(hash.final<kKeyBytes>(), /*LowerCase=*/true);
}

void ProgramCode::CompileOpen() {
  if (!open_.has_value()) return;
  Seal(&*open_);
  if (keys_.insert(open_->key).second) code_->Add(*std::move(open_));
  open_.reset();
}

std::shared_ptr<PendingCode> ProgramCode::Finish() && {
  CompileOpen();
  for (const auto& [name, new_name] : renamed_) {
    llvm::Function* function = program().getFunction(name);
    if (function == nullptr) continue;
    if (llvm::Function* same = program().getFunction(new_name); same != nullptr) {
      function->replaceAllUsesWith(same);
      function->eraseFromParent();
    } else {
      function->setName(new_name);
    }
  }
  for (llvm::Function& function : program()) {
    if (kernel::IsHelper(function) && helpers_.contains(function.getName().str())) {
      function.deleteBody();
      MakeVisible(&function);
    }
  }
  compiler_->PrepareModule(program());
  if (IsStraight(program())) program_.level = 0;
  program_.key = KeyOf(program_);
  code_->Add(std::move(program_));
  code_->Close();
  return std::move(code_);
}

}  // namespace kiln::cpu
