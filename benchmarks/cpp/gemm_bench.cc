// Rate of one matrix product, in turns with multiply-adds on registers alone:
// gemm_bench TYPE M N K [LAYOUTS [THREADS [BATCH]]]. TYPE is an HLO type name; LAYOUTS two letters of n and t (rhs "t":
// contiguous along k). Options after that change the schedule: rows=, vectors=, unroll=, pack_lhs=, pack_rhs=,
// m_block=, n_block=, k_block=, asm and ir (print them).
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/cpp/fma_peak.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "src/base/thread_pool.h"
#include "src/cpu/gemm.h"
#include "src/cpu/host_isa.h"
#include "src/cpu/jit.h"
#include "src/cpu/program_abi.h"
#include "src/runtime/debug_flags.h"

namespace kiln::cpu {
namespace {

double Seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Of this thread: what a busy machine does not stretch.
double CpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

constexpr double kTurnSeconds = 3e-3;

// The rate of multiply-adds on registers, over a turn of all threads.
double FmaFlops(ThreadPool* pool, int threads) {
  constexpr int64_t kRounds = 40000;  // some 200 us
  const double begin = Seconds();
  double done = 0, taken = 0;
  do {
    struct Counts {
      std::atomic<int64_t> all = 0;
    } counts;
    pool->ParallelFor(
        threads, 1,
        [](void* closure, int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) static_cast<Counts*>(closure)->all += RunFmas(kRounds);
        },
        &counts);
    done += 2 * static_cast<double>(counts.all);
  } while ((taken = Seconds() - begin) < kTurnSeconds);
  return done / taken;
}

struct Call {
  GemmFunction* function;
  const void *lhs, *rhs;
  void *out, *scratch;
  int64_t first;  // task of the round
};

int Main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: gemm_bench TYPE M N K [nn|nt|tn|tt [THREADS [BATCH [schedule options]]]]\n");
    return 2;
  }
  runtime::ApplyProcessFlags();
  const auto type = hlo::ParsePrimitiveType(argv[1]);
  if (!type.has_value()) return 2;
  GemmSpec spec;
  spec.m = std::atoll(argv[2]);
  spec.n = std::atoll(argv[3]);
  spec.k = std::atoll(argv[4]);
  const std::string layouts = argc > 5 ? argv[5] : "nn";
  const int threads = argc > 6 ? std::atoi(argv[6]) : ThreadPool::AvailableCpus();
  const int64_t batch = argc > 7 ? std::atoll(argv[7]) : 1;
  spec.lhs = {*type, layouts[0] == 'n' ? spec.k : 1, layouts[0] == 'n' ? 1 : spec.m};
  spec.rhs = {*type, layouts[1] == 'n' ? spec.n : 1, layouts[1] == 'n' ? 1 : spec.k};
  spec.out = {*type, spec.n, 1};
  spec.result_type = *type;
  if (batch > 1) spec.batch.push_back({batch, spec.m * spec.k, spec.k * spec.n, spec.m * spec.n});

  auto plan = PlanGemm(spec, "gemm", threads);
  if (!plan.ok()) return std::fprintf(stderr, "%s\n", plan.status().ToString().c_str()), 1;
  GemmSchedule& s = plan->schedule;
  bool assembly = false;
  bool ir = false;
  for (int i = 8; i < argc; ++i) {
    const std::string option = argv[i];
    const size_t equals = option.find('=');
    const std::string key = option.substr(0, equals);
    const int64_t value = equals == std::string::npos ? 1 : std::atoll(option.c_str() + equals + 1);
    if (key == "asm") assembly = true;
    if (key == "ir") ir = true;
    if (key == "rows") s.m_block = s.m_block / s.rows * value, s.rows = static_cast<int>(value);
    if (key == "vectors") s.n_block = s.n_block / s.vectors * value, s.vectors = static_cast<int>(value);
    if (key == "unroll") s.unroll = static_cast<int>(value);
    if (key == "pack_lhs") s.pack_lhs = value != 0;
    if (key == "pack_rhs") s.pack_rhs = value != 0;
    if (key == "m_block") s.m_block = value;
    if (key == "n_block") s.n_block = value;
    if (key == "k_block") s.k_block = value;
  }
  if (const absl::Status status = FinishGemmPlan(spec, "gemm", *plan); !status.ok()) {
    return std::fprintf(stderr, "%s\n", status.ToString().c_str()), 1;
  }
  std::printf("%s%s %dx%dx%d unroll %d pack %d%d blocks %lld,%lld,%lld tasks %lld\n",
              s.kind == GemmSchedule::Kind::kDot ? "dot" : "tile", s.swapped ? " swapped" : "", s.rows, s.vectors,
              s.lanes, s.unroll, s.pack_lhs, s.pack_rhs, static_cast<long long>(s.m_block),
              static_cast<long long>(s.n_block), static_cast<long long>(s.k_block),
              static_cast<long long>(plan->phases.back().tasks));

  RegisterProgramSymbols();
  auto compiler = JitCompiler::Create();
  if (!compiler.ok()) return 1;
  CompileTimes times;
  double emit = 0, cpu = 0;
  absl::StatusOr<std::unique_ptr<JitModule>> code = absl::UnknownError("");
  // The first time pays for LLVM's own tables.
  for (int round = 0; round < 5; ++round) {
    auto context = std::make_unique<llvm::LLVMContext>();
    auto module = std::make_unique<llvm::Module>("bench", *context);
    (*compiler)->PrepareModule(*module);
    const double start = Seconds();
    for (size_t phase = 0; phase < plan->phases.size(); ++phase) {
      if (const absl::Status status = EmitGemmPhase(spec, *plan, phase, *module).status(); !status.ok()) {
        return std::fprintf(stderr, "%s\n", status.ToString().c_str()), 1;
      }
    }
    emit = Seconds() - start;
    if (assembly && round == 0) std::printf("%s\n", (*compiler)->EmitAssembly(*module)->c_str());
    if (ir && round == 0) std::printf("%s\n", PrintIr(*module).c_str());
    const double cpu_start = CpuSeconds();
    code = (*compiler)->Compile(std::move(context), std::move(module), &times);
    cpu = CpuSeconds() - cpu_start;
    if (!code.ok()) return std::fprintf(stderr, "%s\n", code.status().ToString().c_str()), 1;
  }
  std::printf("compile: emit %.2f optimize %.2f codegen %.2f link %.2f ms, %.2f ms of CPU, %lld bytes\n", 1e3 * emit,
              1e3 * times.optimize, 1e3 * times.codegen, 1e3 * times.link, 1e3 * cpu,
              static_cast<long long>(times.code_bytes));

  const int64_t width = hlo::ByteWidth(*type);
  const auto allocate = [](int64_t bytes) {
    // In large pages where the system has them, as programs' arrays are.
    const size_t unit = bytes >= (1 << 20) ? 2 << 20 : 64;
    const size_t whole = (static_cast<size_t>(bytes) + 64 + unit - 1) / unit * unit;
    void* memory = std::aligned_alloc(unit, whole);
    madvise(memory, whole, MADV_HUGEPAGE);
    std::memset(memory, 0x3c, whole);
    return std::unique_ptr<void, decltype(&std::free)>(memory, &std::free);
  };
  const auto lhs = allocate(batch * spec.m * spec.k * width);
  const auto rhs = allocate(batch * spec.k * spec.n * width);
  const auto out = allocate(batch * spec.m * spec.n * width);
  const auto scratch = allocate(plan->scratch_bytes);
  ThreadPool pool(threads);
  std::vector<GemmFunction*> functions;
  for (const GemmPhase& phase : plan->phases) functions.push_back((*code)->Lookup<GemmFunction>(phase.function));
  std::vector<double> phase_best(functions.size(), 1e9);
  const auto once = [&] {
    for (size_t step = 0; step < functions.size() * plan->rounds; ++step) {
      const size_t i = step % functions.size();
      const int64_t first = static_cast<int64_t>(step / functions.size()) * plan->phases[i].tasks;
      Call call{functions[i], lhs.get(), rhs.get(), out.get(), scratch.get(), first};
      const double begin = Seconds();
      pool.ParallelFor(
          plan->phases[i].tasks, plan->phases[i].grain,
          [](void* closure, int64_t begin, int64_t end) {
            const Call& c = *static_cast<Call*>(closure);
            c.function(c.lhs, c.rhs, c.out, c.scratch, nullptr, c.first + begin, c.first + end);
          },
          &call);
      phase_best[i] = std::min(phase_best[i], Seconds() - begin);
    }
  };
  once();
  const double flops = 2 * plan->multiply_adds * (hlo::IsComplex(*type) ? 4 : 1);
  double best = 1e9;
  std::vector<double> parts_of_peak;
  const double limit = Seconds() + 1;
  // Turns, since a machine's rate changes within a second.
  double peak = FmaFlops(&pool, threads);
  for (int repeats = 0; Seconds() < limit && repeats < 100000; ++repeats) {
    const double begin = Seconds();
    int runs = 0;
    double taken = 0;
    do {
      const double start = Seconds();
      once();
      best = std::min(best, Seconds() - start);
      ++runs;
    } while ((taken = Seconds() - begin) < kTurnSeconds);
    const double before = std::exchange(peak, FmaFlops(&pool, threads));
    parts_of_peak.push_back(flops * runs / taken / ((before + peak) / 2));
  }
  std::printf("%s %lld x %lld x %lld %s batch %lld, %d threads: %.1f us, %.1f GFLOP/s (estimate %.1f us)", argv[1],
              static_cast<long long>(spec.m), static_cast<long long>(spec.n), static_cast<long long>(spec.k),
              layouts.c_str(), static_cast<long long>(batch), threads, best * 1e6, flops / best / 1e9,
              static_cast<double>(plan->estimated_nanoseconds) / 1e3);
  for (double seconds : phase_best) std::printf(" %.1f", seconds * 1e6);
  std::sort(parts_of_peak.begin(), parts_of_peak.end());
  const auto at = [&](double part) {
    return 100 * parts_of_peak[static_cast<size_t>(part * static_cast<double>(parts_of_peak.size() - 1))];
  };
  std::printf("\n%.1f%% of what f32 multiply-adds alone reach in turns with it, 10 to 90 %% of turns within %.1f and %.1f%%\n",
              at(0.5), at(0.1), at(0.9));
  return 0;
}

}  // namespace
}  // namespace kiln::cpu

int main(int argc, char** argv) { return kiln::cpu::Main(argc, argv); }
