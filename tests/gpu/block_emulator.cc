#include "tests/gpu/block_emulator.h"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include "src/base/status.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define KILN_THREAD_SANITIZER
#endif
#endif

namespace kiln::gpu {
namespace {

constexpr size_t kStackBytes = size_t{128} << 10;

// Threads that wait for each other. A fiber comes back when all `members` of its round have arrived.
struct Meeting {
  int members = 0;
  int arrived = 0;
  uint64_t round = 0;
};

struct Warp {
  Meeting meeting;
  // Of this round and of the one before, which slow lanes still read.
  std::array<std::array<uint32_t, kWarpThreads>, 2> values;
};

// A stack's calls as ThreadSanitizer follows them, which must be told of each change of stacks.
class ShadowStack {
 public:
#if defined(KILN_THREAD_SANITIZER)
  explicit ShadowStack(bool is_own = false)
      : fiber_(is_own ? __tsan_get_current_fiber() : __tsan_create_fiber(0)), is_own_(is_own) {}
  ~ShadowStack() {
    if (!is_own_) __tsan_destroy_fiber(fiber_);
  }
  void Enter() const { __tsan_switch_to_fiber(fiber_, 0); }

 private:
  void* fiber_;
  bool is_own_;
#else
  explicit ShadowStack(bool = false) {}
  void Enter() const {}
#endif
};

struct Fiber {
  ucontext_t context;
  ShadowStack shadow;
  bool done = false;
};

// One block at a time.
struct BlockState {
  int thread = 0;  // the running fiber
  uint32_t block = 0, blocks = 1;
  std::vector<Fiber> fibers;
  std::vector<char> stacks;
  std::vector<Warp> warps;
  Meeting barrier;
  ucontext_t scheduler;
  ShadowStack scheduler_shadow{/*is_own=*/true};
  uint64_t progress = 0;
  std::string error;
  void (*kernel)(void**) = nullptr;
  void** arguments = nullptr;
};

BlockState* g_block = nullptr;

void Yield() {
  g_block->scheduler_shadow.Enter();
  swapcontext(&g_block->fibers[g_block->thread].context, &g_block->scheduler);
}

void Meet(Meeting* meeting) {
  ++g_block->progress;
  const uint64_t round = meeting->round;
  if (++meeting->arrived == meeting->members) {
    meeting->arrived = 0;
    ++meeting->round;
    return;
  }
  while (meeting->round == round) Yield();
}

uint32_t EmulatedThread() { return static_cast<uint32_t>(g_block->thread); }
uint32_t EmulatedBlock() { return g_block->block; }
uint32_t EmulatedBlocks() { return g_block->blocks; }
void EmulatedBarrier() { Meet(&g_block->barrier); }

uint32_t EmulatedButterfly(uint32_t mask, uint32_t value, uint32_t distance, uint32_t clamp) {
  const int lane = g_block->thread % kWarpThreads;
  Warp& warp = g_block->warps[g_block->thread / kWarpThreads];
  if (mask != ~uint32_t{0} || clamp != 31 || distance >= kWarpThreads || warp.meeting.members != kWarpThreads) {
    g_block->error = "a butterfly over less than a warp";
    return value;
  }
  auto& values = warp.values[warp.meeting.round & 1];
  values[lane] = value;
  Meet(&warp.meeting);
  return values[lane ^ static_cast<int>(distance)];
}

void FiberMain() {
  g_block->kernel(g_block->arguments);
  g_block->fibers[g_block->thread].done = true;
  ++g_block->progress;
  Yield();
}

// What stands for the registers and synchronizing instructions of a GPU.
const absl::flat_hash_map<std::string, std::pair<std::string, void*>>& Substitutes() {
  static const auto* substitutes = new absl::flat_hash_map<std::string, std::pair<std::string, void*>>{
      {"llvm.nvvm.read.ptx.sreg.tid.x", {"emulated_thread", reinterpret_cast<void*>(&EmulatedThread)}},
      {"llvm.nvvm.read.ptx.sreg.ctaid.x", {"emulated_block", reinterpret_cast<void*>(&EmulatedBlock)}},
      {"llvm.nvvm.read.ptx.sreg.nctaid.x", {"emulated_blocks", reinterpret_cast<void*>(&EmulatedBlocks)}},
      {"llvm.nvvm.barrier0", {"emulated_barrier", reinterpret_cast<void*>(&EmulatedBarrier)}},
      {"llvm.nvvm.shfl.sync.bfly.i32", {"emulated_butterfly", reinterpret_cast<void*>(&EmulatedButterfly)}},
  };
  return *substitutes;
}

// Kernels take an array of pointers as functions of the host.
void AddHostEntries(llvm::Module& module) {
  llvm::IRBuilder<> b(module.getContext());
  std::vector<llvm::Function*> kernels;
  for (llvm::Function& function : module) {
    if (function.getCallingConv() == llvm::CallingConv::PTX_Kernel) kernels.push_back(&function);
  }
  for (llvm::Function* kernel : kernels) {
    kernel->setCallingConv(llvm::CallingConv::C);
    auto* entry = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false),
                                         llvm::GlobalValue::ExternalLinkage, kernel->getName() + ".host", module);
    b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", entry));
    std::vector<llvm::Value*> arguments;
    for (llvm::Argument& argument : kernel->args()) {
      llvm::Value* slot = b.CreateConstGEP1_64(b.getPtrTy(), entry->getArg(0), argument.getArgNo());
      arguments.push_back(b.CreateLoad(argument.getType(), slot));
    }
    b.CreateCall(kernel, arguments);
    b.CreateRetVoid();
  }
}

absl::Status ReplaceIntrinsics(llvm::Module& module) {
  std::vector<llvm::Function*> intrinsics;
  for (llvm::Function& function : module) {
    if (function.getName().starts_with("llvm.nvvm.")) intrinsics.push_back(&function);
  }
  for (llvm::Function* intrinsic : intrinsics) {
    auto substitute = Substitutes().find(intrinsic->getName().str());
    if (substitute == Substitutes().end()) return Internal("the emulator has no ", intrinsic->getName().str());
    llvm::FunctionCallee stand_in = module.getOrInsertFunction(substitute->second.first, intrinsic->getFunctionType());
    intrinsic->replaceAllUsesWith(stand_in.getCallee());
    intrinsic->eraseFromParent();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<BlockEmulator>> BlockEmulator::Create(std::unique_ptr<llvm::LLVMContext> context,
                                                                     std::unique_ptr<llvm::Module> module) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  KILN_RETURN_IF_ERROR(ReplaceIntrinsics(*module));
  AddHostEntries(*module);
  llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> jit = llvm::orc::LLJITBuilder().create();
  if (!jit) return Internal(llvm::toString(jit.takeError()));
  auto emulator = std::make_unique<BlockEmulator>();
  emulator->jit_ = std::move(*jit);
  llvm::orc::SymbolMap symbols;
  for (const auto& [intrinsic, substitute] : Substitutes()) {
    symbols[emulator->jit_->mangleAndIntern(substitute.first)] = {llvm::orc::ExecutorAddr::fromPtr(substitute.second),
                                                                  llvm::JITSymbolFlags::Exported};
  }
  llvm::Error error = emulator->jit_->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols)));
  if (error) return Internal(llvm::toString(std::move(error)));
  module->setTargetTriple(llvm::sys::getProcessTriple());
  module->setDataLayout(emulator->jit_->getDataLayout());
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (llvm::verifyModule(*module, &stream)) return Internal("invalid IR: ", stream.str());
  error = emulator->jit_->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context)));
  if (error) return Internal(llvm::toString(std::move(error)));
  return emulator;
}

absl::Status BlockEmulator::Run(const Launch& launch, std::vector<void*> arguments) {
  auto address = jit_->lookup(launch.entry + ".host");
  if (!address) return Internal(llvm::toString(address.takeError()));
  const int threads = launch.schedule.block_threads;
  BlockState state;
  state.kernel = address->toPtr<void (*)(void**)>();
  state.arguments = arguments.data();
  state.blocks = static_cast<uint32_t>(launch.schedule.blocks);
  state.stacks.resize(kStackBytes * static_cast<size_t>(threads));
  g_block = &state;
  for (uint32_t block = 0; block < state.blocks && state.error.empty(); ++block) {
    state.block = block;
    state.fibers = std::vector<Fiber>(static_cast<size_t>(threads));
    state.warps = std::vector<Warp>(static_cast<size_t>((threads + kWarpThreads - 1) / kWarpThreads));
    for (size_t w = 0; w < state.warps.size(); ++w) {
      state.warps[w].meeting.members = std::min<int>(kWarpThreads, threads - static_cast<int>(w) * kWarpThreads);
    }
    state.barrier = Meeting{threads};
    for (int t = 0; t < threads; ++t) {
      ucontext_t& fiber = state.fibers[t].context;
      getcontext(&fiber);
      fiber.uc_stack.ss_sp = state.stacks.data() + kStackBytes * static_cast<size_t>(t);
      fiber.uc_stack.ss_size = kStackBytes;
      fiber.uc_link = nullptr;
      makecontext(&fiber, FiberMain, 0);
    }
    for (bool running = true; running && state.error.empty();) {
      const uint64_t before = state.progress;
      running = false;
      for (int t = 0; t < threads; ++t) {
        if (state.fibers[t].done) continue;
        running = true;
        state.thread = t;
        state.fibers[t].shadow.Enter();
        swapcontext(&state.scheduler, &state.fibers[t].context);
      }
      if (running && state.progress == before) state.error = "threads wait for each other forever";
    }
  }
  g_block = nullptr;
  if (!state.error.empty()) return Internal(launch.entry, ": ", state.error);
  return absl::OkStatus();
}

}  // namespace kiln::gpu
