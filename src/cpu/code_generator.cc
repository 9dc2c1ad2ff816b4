#include "src/cpu/code_generator.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/DCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "src/cpu/host_isa.h"
#include "src/cpu/object_passes.h"

namespace kiln::cpu {
namespace {

// What the host has or lacks beside what LLVM knows of its CPU. All hundred and fifty names would do as well, but to read
// them takes a millisecond for each target machine, and every lookup of a subtarget hashes them.
std::string FeaturesBesideCpu(const llvm::Target& target, const std::string& triple) {
  const std::unique_ptr<llvm::MCSubtargetInfo> cpu(target.createMCSubtargetInfo(triple, Host().cpu, ""));
  if (cpu == nullptr) return Host().features;
  std::vector<absl::string_view> beside = absl::StrSplit(Host().features, ',', absl::SkipEmpty());
  // Asked for as present, since LLVM takes an absent feature to mean that all are absent which it implies.
  const auto is_known = [&](absl::string_view feature) {
    return cpu->checkFeatures(absl::StrCat("+", feature.substr(1))) == (feature[0] == '+');
  };
  beside.erase(std::remove_if(beside.begin(), beside.end(), is_known), beside.end());
  return absl::StrJoin(beside, ",");
}

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine(int level) {
  const std::string triple = llvm::sys::getProcessTriple();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) return Unimplemented("LLVM has no code generator for ", triple, ": ", error);
  static const std::string* const features = new std::string(FeaturesBesideCpu(*target, triple));
  llvm::TargetOptions options;
  options.ExceptionModel = llvm::ExceptionHandling::None;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, Host().cpu, *features, options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, static_cast<llvm::CodeGenOptLevel>(level), /*JIT=*/true));
  if (machine == nullptr) return Unimplemented("LLVM has no target machine for ", triple, ", CPU ", Host().cpu, ".");
  return machine;
}

// Inlines what is marked so and cleans up each function. Emitters write explicit vector code, so nothing is vectorized
// or unrolled here: the code stays as scheduled.
llvm::ModulePassManager OptimizationPasses() {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/false));
  passes.addPass(llvm::InstCombinePass(llvm::InstCombineOptions().setMaxIterations(1).setVerifyFixpoint(false)));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::DCEPass());

  llvm::ModulePassManager pipeline;
  pipeline.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/false));
  pipeline.addPass(llvm::GlobalDCEPass());
  pipeline.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  return pipeline;
}

// Emitters count loops so that addresses are cheap. LLVM's loop strength reduction finds nothing there that time would
// show, and takes a third of all code generation. LLVM has a flag for it and no interface;
// the flag is the process's, so that code for GPUs goes without as well.
void LeaveOutLoopStrengthReduction() {
  static const bool done = [] {
    const auto& options = llvm::cl::getRegisteredOptions();
    const auto found = options.find("disable-lsr");
    if (found != options.end()) static_cast<llvm::cl::opt<bool>*>(found->second)->setValue(true);
    return true;
  }();
  (void)done;
}

}  // namespace

struct CodeGenerator::Pipelines {
  explicit Pipelines(std::unique_ptr<llvm::TargetMachine> target)
      : machine(std::move(target)), builder(machine.get()), optimization(OptimizationPasses()), stream(output) {
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
  }

  std::unique_ptr<llvm::TargetMachine> machine;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  llvm::ModulePassManager optimization;
  // The object passes write here.
  llvm::SmallVector<char, 0> output;
  llvm::raw_svector_ostream stream;
  std::unique_ptr<llvm::legacy::PassManager> object_passes;
};

CodeGenerator::CodeGenerator(std::unique_ptr<Pipelines> pipelines) : pipelines_(std::move(pipelines)) {}
CodeGenerator::~CodeGenerator() = default;

absl::StatusOr<std::unique_ptr<CodeGenerator>> CodeGenerator::Create(int level) {
  LeaveOutLoopStrengthReduction();
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, MakeTargetMachine(level));
  auto pipelines = std::make_unique<Pipelines>(std::move(machine));
  pipelines->object_passes = std::make_unique<llvm::legacy::PassManager>();
  if (!AddObjectPasses(*pipelines->machine, llvm::CodeGenFileType::ObjectFile, pipelines->stream,
                       pipelines->object_passes.get())) {
    return Internal("LLVM's target machine emits no objects.");
  }
  return std::unique_ptr<CodeGenerator>(new CodeGenerator(std::move(pipelines)));
}

const llvm::TargetMachine& CodeGenerator::machine() const { return *pipelines_->machine; }

void CodeGenerator::Optimize(llvm::Module& module) {
  pipelines_->optimization.run(module, pipelines_->modules);
  // What is known of this module says nothing of the next one, which may have the same address.
  pipelines_->loops.clear();
  pipelines_->components.clear();
  pipelines_->functions.clear();
  pipelines_->modules.clear();
}

llvm::StringRef CodeGenerator::EmitObject(llvm::Module& module) {
  pipelines_->output.clear();
  ChoosePasses(module);
  pipelines_->object_passes->run(module);
  return {pipelines_->output.data(), pipelines_->output.size()};
}

absl::StatusOr<std::string> CodeGenerator::EmitAssembly(llvm::Module& module) {
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  ChoosePasses(module);
  if (!AddObjectPasses(*pipelines_->machine, llvm::CodeGenFileType::AssemblyFile, stream, &passes)) {
    return Internal("LLVM's target machine emits no assembly.");
  }
  passes.run(module);
  return std::string(text.data(), text.size());
}

}  // namespace kiln::cpu
