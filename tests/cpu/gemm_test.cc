// Matrix products of every type, size, layout and schedule against sums in long double and in integers.
#include "src/cpu/gemm.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "src/base/cpu_tuning.h"
#include "src/base/status.h"
#include "src/base/thread_pool.h"
#include "src/cpu/gemm_kernels.h"
#include "src/cpu/host_isa.h"
#include "src/cpu/jit.h"
#include "src/cpu/program_abi.h"
#include "src/cpu/row_product.h"
#include "tests/cpu/guarded_memory.h"
#include "tests/cpu/isa_limit.h"

namespace kiln::cpu {
namespace {

using hlo::PrimitiveType;
using Wide = std::complex<long double>;
using kiln::testing::GuardedMemory;
using kiln::testing::Place;

float HalfToFloat(uint16_t bits) { return static_cast<float>(std::bit_cast<_Float16>(bits)); }
float BrainToFloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

int64_t Bytes(PrimitiveType type) { return hlo::ByteWidth(type); }

void Put(PrimitiveType type, uint8_t* to, int64_t integer, Wide value) {
  const auto put = [&](auto element) { std::memcpy(to, &element, sizeof(element)); };
  switch (type) {
    case PrimitiveType::kS8:
    case PrimitiveType::kU8:
      return put(static_cast<uint8_t>(integer));
    case PrimitiveType::kS16:
    case PrimitiveType::kU16:
      return put(static_cast<uint16_t>(integer));
    case PrimitiveType::kS32:
    case PrimitiveType::kU32:
      return put(static_cast<uint32_t>(integer));
    case PrimitiveType::kS64:
    case PrimitiveType::kU64:
      return put(integer);
    case PrimitiveType::kF16:
      return put(std::bit_cast<uint16_t>(static_cast<_Float16>(value.real())));
    case PrimitiveType::kBF16:
      return put(static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value.real())) >> 16));
    case PrimitiveType::kF32:
      return put(static_cast<float>(value.real()));
    case PrimitiveType::kF64:
      return put(static_cast<double>(value.real()));
    case PrimitiveType::kC64:
      return put(std::complex<float>(value));
    case PrimitiveType::kC128:
      return put(std::complex<double>(value));
    default:
      FAIL() << "type";
  }
}

template <typename T>
T Read(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

int64_t GetInteger(PrimitiveType type, const uint8_t* from) {
  switch (type) {
    case PrimitiveType::kU8:
      return Read<uint8_t>(from);
    case PrimitiveType::kS8:
      return Read<int8_t>(from);
    case PrimitiveType::kS16:
      return Read<int16_t>(from);
    case PrimitiveType::kU16:
      return Read<uint16_t>(from);
    case PrimitiveType::kS32:
      return Read<int32_t>(from);
    case PrimitiveType::kU32:
      return Read<uint32_t>(from);
    default:
      return Read<int64_t>(from);
  }
}

long double GetReal(PrimitiveType type, const uint8_t* from) {
  switch (type) {
    case PrimitiveType::kF16:
      return HalfToFloat(Read<uint16_t>(from));
    case PrimitiveType::kBF16:
      return BrainToFloat(Read<uint16_t>(from));
    case PrimitiveType::kF32:
      return Read<float>(from);
    case PrimitiveType::kF64:
      return Read<double>(from);
    default:
      return static_cast<long double>(GetInteger(type, from));
  }
}

Wide GetWide(PrimitiveType type, const uint8_t* from) {
  if (type == PrimitiveType::kC64) return Wide(Read<std::complex<float>>(from));
  if (type == PrimitiveType::kC128) return Wide(Read<std::complex<double>>(from));
  return GetReal(type, from);
}

bool IsExact(PrimitiveType type) { return hlo::IsIntegral(type); }

// Half a unit in the last place, relative.
long double Epsilon(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kF16:
      return 0x1p-11L;
    case PrimitiveType::kBF16:
      return 0x1p-8L;
    case PrimitiveType::kF32:
    case PrimitiveType::kC64:
      return 0x1p-24L;
    default:
      return 0x1p-53L;
  }
}

std::string Describe(const GemmSpec& spec, const GemmPlan& plan) {
  const GemmSchedule& s = plan.schedule;
  std::string text =
      absl::StrCat(hlo::PrimitiveTypeName(spec.lhs.type), " x ", hlo::PrimitiveTypeName(spec.rhs.type), " -> ",
                   hlo::PrimitiveTypeName(spec.result_type), " m=", spec.m, " n=", spec.n, " k=", spec.k, " lhs(",
                   spec.lhs.row_stride, ",", spec.lhs.column_stride, ") rhs(", spec.rhs.row_stride, ",",
                   spec.rhs.column_stride, ") out(", spec.out.row_stride, ",", spec.out.column_stride, ")");
  absl::StrAppend(&text, s.kind == GemmSchedule::Kind::kDot ? " dot" : " tile", s.swapped ? " swapped" : "", " ",
                  s.rows, "x", s.vectors, "x", s.lanes, " pack", s.pack_lhs, s.pack_rhs, " blocks ", s.m_block, ",",
                  s.n_block, ",", s.k_block);
  return text;
}

class GemmTest : public ::testing::Test {
 protected:
  void SetUp() override {
    RegisterProgramSymbols();
    compiler_ = *JitCompiler::Create();
  }

  // Runs the plan over `pool`, or over pieces of random size on this thread.
  absl::Status Run(const GemmSpec& spec, const GemmPlan& plan, const uint8_t* lhs, const uint8_t* rhs, uint8_t* out,
                   void* const* extra, ThreadPool* pool = nullptr) {
    auto context = std::make_unique<llvm::LLVMContext>();
    auto module = std::make_unique<llvm::Module>("gemm", *context);
    compiler_->PrepareModule(*module);
    for (size_t phase = 0; phase < plan.phases.size(); ++phase) {
      KILN_RETURN_IF_ERROR(EmitGemmPhase(spec, plan, phase, *module).status());
    }
    KILN_ASSIGN_OR_RETURN(std::unique_ptr<JitModule> code,
                          compiler_->Compile(std::move(context), std::move(module), nullptr));
    std::vector<uint8_t> scratch(plan.scratch_bytes + 64, 0xff);  // NaNs
    uint8_t* aligned = scratch.data() + (-reinterpret_cast<uintptr_t>(scratch.data()) & 63);
    for (int64_t round = 0; round < plan.rounds; ++round) {
      for (const GemmPhase& phase : plan.phases) {
        auto* function = code->Lookup<GemmFunction>(phase.function);
        if (function == nullptr) return Internal("no function ", phase.function);
        const auto run = [&](int64_t begin, int64_t end) {
          function(lhs, rhs, out, aligned, extra, round * phase.tasks + begin, round * phase.tasks + end);
        };
        if (pool != nullptr) {
          pool->ParallelFor(
              phase.tasks, phase.grain,
              [](void* closure, int64_t begin, int64_t end) { (*static_cast<decltype(run)*>(closure))(begin, end); },
              const_cast<void*>(static_cast<const void*>(&run)));
          continue;
        }
        for (int64_t begin = 0; begin < phase.tasks;) {
          const int64_t end = std::min<int64_t>(phase.tasks, begin + 1 + random_() % 3);
          run(begin, end);
          begin = end;
        }
      }
    }
    return absl::OkStatus();
  }

  struct Extent {
    int64_t lhs = 0, rhs = 0, out = 0;
  };
  static Extent Elements(const GemmSpec& spec) {
    const auto last = [](int64_t size, int64_t stride) { return size == 0 ? 0 : (size - 1) * stride; };
    Extent extent;
    extent.lhs = 1 + last(spec.m, spec.lhs.row_stride) + last(spec.k, spec.lhs.column_stride);
    extent.rhs = 1 + last(spec.k, spec.rhs.row_stride) + last(spec.n, spec.rhs.column_stride);
    extent.out = 1 + last(spec.m, spec.out.row_stride) + last(spec.n, spec.out.column_stride);
    for (const GemmBatchDimension& d : spec.batch) {
      extent.lhs += last(d.size, d.lhs_stride);
      extent.rhs += last(d.size, d.rhs_stride);
      extent.out += last(d.size, d.out_stride);
    }
    return extent;
  }

  // Plans, lets `change` edit the schedule, runs, and compares every element, those between rows of `out` included.
  void Check(const GemmSpec& spec, const std::function<void(GemmSchedule&)>& change = nullptr,
             ThreadPool* pool = nullptr) {
    auto plan = PlanGemm(spec, "gemm", pool == nullptr ? 1 + random_() % 4 : pool->threads());
    ASSERT_TRUE(plan.ok()) << plan.status();
    if (change) {
      change(plan->schedule);
      const absl::Status status = FinishGemmPlan(spec, "gemm", *plan);
      ASSERT_TRUE(status.ok()) << status << Describe(spec, *plan);
    }
    const Extent extent = Elements(spec);
    place_ = place_ == Place::kAtItsEnd ? Place::kAtItsStart : Place::kAtItsEnd;
    const auto memory = [&](PrimitiveType type, int64_t elements) {
      return GuardedMemory(elements * Bytes(type), Bytes(type), place_, /*guard=*/0xa5, /*fill=*/0x5a);
    };
    GuardedMemory lhs = memory(spec.lhs.type, extent.lhs), rhs = memory(spec.rhs.type, extent.rhs);
    GuardedMemory out = memory(spec.out.type, extent.out);
    const auto fill = [&](GuardedMemory& buffer, PrimitiveType type, int64_t elements) {
      std::uniform_real_distribution<double> real(-1, 1);
      for (int64_t i = 0; i < elements; ++i) {
        int64_t integer = static_cast<int64_t>(random_());
        Put(type, buffer.data() + i * Bytes(type), integer, Wide(real(random_), real(random_)));
      }
    };
    fill(lhs, spec.lhs.type, extent.lhs);
    fill(rhs, spec.rhs.type, extent.rhs);
    std::vector<bool> written(extent.out, false);
    const absl::Status status = Run(spec, *plan, lhs.data(), rhs.data(), out.data(), nullptr, pool);
    ASSERT_TRUE(status.ok()) << status << Describe(spec, *plan);
    ASSERT_EQ(out.Damage(), "") << Describe(spec, *plan);

    int64_t batches = 1;
    for (const GemmBatchDimension& d : spec.batch) batches *= d.size;
    for (int64_t batch = 0; batch < batches; ++batch) {
      int64_t lhs0 = 0, rhs0 = 0, out0 = 0, rest = batch;
      for (size_t i = spec.batch.size(); i-- > 0;) {
        const GemmBatchDimension& d = spec.batch[i];
        lhs0 += rest % d.size * d.lhs_stride;
        rhs0 += rest % d.size * d.rhs_stride;
        out0 += rest % d.size * d.out_stride;
        rest /= d.size;
      }
      for (int64_t m = 0; m < spec.m; ++m) {
        for (int64_t n = 0; n < spec.n; ++n) {
          Wide sum = 0;
          long double magnitude = 0;
          uint64_t integer = 0;
          for (int64_t k = 0; k < spec.k; ++k) {
            const uint8_t* x =
                lhs.data() + (lhs0 + m * spec.lhs.row_stride + k * spec.lhs.column_stride) * Bytes(spec.lhs.type);
            const uint8_t* y =
                rhs.data() + (rhs0 + k * spec.rhs.row_stride + n * spec.rhs.column_stride) * Bytes(spec.rhs.type);
            if (IsExact(spec.result_type)) {
              integer += static_cast<uint64_t>(GetInteger(spec.lhs.type, x)) *
                         static_cast<uint64_t>(GetInteger(spec.rhs.type, y));
            } else if (!hlo::IsComplex(spec.result_type)) {
              const long double product = GetReal(spec.lhs.type, x) * GetReal(spec.rhs.type, y);
              sum.real(sum.real() + product);
              magnitude += std::abs(product);
            } else {
              const Wide product = GetWide(spec.lhs.type, x) * GetWide(spec.rhs.type, y);
              sum += product;
              magnitude += std::abs(GetWide(spec.lhs.type, x)) * std::abs(GetWide(spec.rhs.type, y));
            }
          }
          const int64_t at = out0 + m * spec.out.row_stride + n * spec.out.column_stride;
          written[at] = true;
          const uint8_t* found = out.data() + at * Bytes(spec.out.type);
          if (IsExact(spec.result_type)) {
            uint8_t expected[8];
            Put(spec.out.type, expected, static_cast<int64_t>(integer), 0);
            ASSERT_EQ(std::memcmp(found, expected, Bytes(spec.out.type)), 0)
                << Describe(spec, *plan) << " at " << batch << "," << m << "," << n << ": "
                << GetInteger(spec.out.type, found) << " for " << GetInteger(spec.out.type, expected);
          } else {
            // The classical bound for a sum of k rounded products, and one rounding to the result's type.
            const PrimitiveType sum_type =
                Epsilon(spec.result_type) < 0x1p-30L ? PrimitiveType::kF64 : PrimitiveType::kF32;
            const long double bound = (spec.k + 2) * 2 * Epsilon(sum_type) * magnitude +
                                      1.01L * Epsilon(spec.result_type) * std::abs(sum) + 1e-30L +
                                      (spec.result_type == PrimitiveType::kF16 ? 0x1p-24L : 0.0L);
            ASSERT_LE(std::abs(GetWide(spec.out.type, found) - sum), bound)
                << Describe(spec, *plan) << " at " << batch << "," << m << "," << n << ": "
                << GetWide(spec.out.type, found) << " for " << sum;
          }
        }
      }
    }
    for (int64_t i = 0; i < extent.out; ++i) {
      if (written[i]) continue;
      for (int64_t byte = 0; byte < Bytes(spec.out.type); ++byte) {
        ASSERT_EQ(out.data()[i * Bytes(spec.out.type) + byte], 0x5a) << "wrote between: " << Describe(spec, *plan);
      }
    }
    // In the place of an operand the same comes out.
    const int64_t bytes = extent.out * Bytes(spec.out.type);
    if (extent.lhs * Bytes(spec.lhs.type) != bytes || !MayOverwriteOperand(spec, *plan)) return;
    ASSERT_TRUE(Run(spec, *plan, lhs.data(), rhs.data(), lhs.data(), nullptr, pool).ok());
    for (int64_t i = 0; i < bytes; ++i)
      ASSERT_TRUE(!written[i / Bytes(spec.out.type)] || lhs.data()[i] == out.data()[i]);
  }

  // 0: row-major, 1: column-major, 2: row-major with gaps, 3: neither side contiguous.
  static void SetStrides(GemmMatrix& matrix, int64_t rows, int64_t columns, int layout) {
    rows = std::max<int64_t>(rows, 1);
    columns = std::max<int64_t>(columns, 1);
    if (layout == 0) matrix.row_stride = columns, matrix.column_stride = 1;
    if (layout == 1) matrix.row_stride = 1, matrix.column_stride = rows;
    if (layout == 2) matrix.row_stride = columns + 3, matrix.column_stride = 1;
    if (layout == 3) matrix.row_stride = 2 * columns + 1, matrix.column_stride = 2;
  }

  static GemmSpec Make(PrimitiveType lhs, PrimitiveType rhs, PrimitiveType result, int64_t m, int64_t n, int64_t k,
                       int lhs_layout, int rhs_layout, int out_layout) {
    GemmSpec spec;
    spec.lhs.type = lhs;
    spec.rhs.type = rhs;
    spec.out.type = spec.result_type = result;
    spec.m = m;
    spec.n = n;
    spec.k = k;
    SetStrides(spec.lhs, m, k, lhs_layout);
    SetStrides(spec.rhs, k, n, rhs_layout);
    SetStrides(spec.out, m, n, out_layout);
    return spec;
  }

  std::unique_ptr<JitCompiler> compiler_;
  std::mt19937_64 random_{20240607};
  Place place_ = Place::kAtItsStart;
};

constexpr PrimitiveType kSame[] = {PrimitiveType::kF32, PrimitiveType::kF64,  PrimitiveType::kF16, PrimitiveType::kBF16,
                                   PrimitiveType::kC64, PrimitiveType::kC128, PrimitiveType::kS8,  PrimitiveType::kU8,
                                   PrimitiveType::kS16, PrimitiveType::kU16,  PrimitiveType::kS32, PrimitiveType::kU32,
                                   PrimitiveType::kS64, PrimitiveType::kU64};

TEST_F(GemmTest, EveryTypeAndLayout) {
  for (PrimitiveType type : kSame) {
    for (int layouts = 0; layouts < 64; layouts += 1 + random_() % 5) {
      const int64_t m = random_() % 40, n = random_() % 70, k = random_() % 50;
      Check(Make(type, type, type, m, n, k, layouts % 4, layouts / 4 % 4, layouts / 16));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(GemmTest, EverySmallSize) {
  for (int i = 0; i < 250; ++i) {
    const int64_t m = random_() % 18, n = random_() % 20, k = random_() % 20;
    Check(Make(PrimitiveType::kF32, PrimitiveType::kF32, PrimitiveType::kF32, m, n, k, random_() % 4, random_() % 4,
               random_() % 4));
    if (HasFatalFailure()) return;
  }
}

TEST_F(GemmTest, RandomSizesUpTo70) {
  for (int i = 0; i < 150; ++i) {
    const PrimitiveType type = random_() % 2 ? PrimitiveType::kF32 : PrimitiveType::kF64;
    Check(Make(type, type, type, random_() % 71, random_() % 71, random_() % 71, random_() % 4, random_() % 4,
               random_() % 4));
    if (HasFatalFailure()) return;
  }
}

TEST_F(GemmTest, VectorsAndSkinnyMatrices) {
  for (PrimitiveType type : {PrimitiveType::kF32, PrimitiveType::kBF16, PrimitiveType::kS32, PrimitiveType::kC64}) {
    for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{{1, 301, 203},
                                                                     {301, 1, 203},
                                                                     {1, 1, 1000},
                                                                     {1, 2000, 3},
                                                                     {4, 333, 515},
                                                                     {8, 70, 130},
                                                                     {8, 30, 2000},
                                                                     {5, 21, 2100},
                                                                     {7, 9, 300},
                                                                     {200, 3, 100},
                                                                     {3, 3, 700},
                                                                     {150, 150, 1},
                                                                     {150, 150, 2}}) {
      for (int layouts = 0; layouts < 8; ++layouts) {
        Check(Make(type, type, type, m, n, k, layouts & 1, layouts / 2 & 1, layouts / 4));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(GemmTest, MixedTypes) {
  using T = PrimitiveType;
  const std::array<T, 3> kMixtures[] = {
      {T::kBF16, T::kBF16, T::kF32}, {T::kF16, T::kF16, T::kF32}, {T::kF32, T::kBF16, T::kF32},
      {T::kBF16, T::kF32, T::kBF16}, {T::kF32, T::kF64, T::kF64}, {T::kS8, T::kS8, T::kS32},
      {T::kU8, T::kS8, T::kS32},     {T::kS8, T::kU8, T::kS16},   {T::kS16, T::kS16, T::kS64},
      {T::kS64, T::kS64, T::kS32},   {T::kS8, T::kF32, T::kF32}};
  for (const auto& [lhs, rhs, result] : kMixtures) {
    for (int i = 0; i < 4; ++i) {
      Check(Make(lhs, rhs, result, 1 + random_() % 60, 1 + random_() % 60, random_() % 60, random_() % 2, random_() % 2,
                 0));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(GemmTest, LargeOnThreads) {
  ThreadPool pool(2);
  for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{
           {257, 301, 129}, {64, 64, 2500}, {500, 96, 200}, {130, 515, 260}, {1, 1500, 700}, {33, 40, 9000}}) {
    for (int layouts = 0; layouts < 4; ++layouts) {
      Check(Make(PrimitiveType::kF32, PrimitiveType::kF32, PrimitiveType::kF32, m, n, k, layouts & 1, layouts / 2, 0),
            nullptr, &pool);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(GemmTest, Batches) {
  for (PrimitiveType type : {PrimitiveType::kF32, PrimitiveType::kF64, PrimitiveType::kC64}) {
    for (int i = 0; i < 12; ++i) {
      const int64_t m = 1 + random_() % 20, n = 1 + random_() % 40, k = 1 + random_() % 30;
      GemmSpec spec = Make(type, type, type, m, n, k, random_() % 2, random_() % 2, random_() % 2);
      // Two batch dimensions, the inner one between the matrices of the outer; rhs at times shared.
      const int64_t inner = 1 + random_() % 4, outer = 1 + random_() % 3;
      const bool shared = i % 3 == 0;
      spec.batch.push_back({outer, inner * m * k, shared ? 0 : inner * n * k, inner * m * n});
      spec.batch.push_back({inner, m * k, shared && i % 2 ? 0 : n * k, m * n});
      if (shared && i % 2 == 0) spec.batch[1].rhs_stride = 0;
      Check(spec);
      if (HasFatalFailure()) return;
    }
  }
  GemmSpec spec = Make(PrimitiveType::kF32, PrimitiveType::kF32, PrimitiveType::kF32, 4, 4, 4, 0, 0, 0);
  spec.batch.push_back({1000, 16, 16, 16});
  Check(spec);
  spec = Make(PrimitiveType::kF32, PrimitiveType::kF32, PrimitiveType::kF32, 64, 64, 40, 0, 1, 0);
  spec.batch.push_back({5, 64 * 40, 64 * 40, 64 * 64});
  Check(spec);
  spec.batch[0].size = 0;
  Check(spec);
}

TEST_F(GemmTest, EverySchedule) {
  for (PrimitiveType type : {PrimitiveType::kF32, PrimitiveType::kF64, PrimitiveType::kC64, PrimitiveType::kBF16}) {
    for (int i = 0; i < 40; ++i) {
      GemmSpec spec = Make(type, type, type, 1 + random_() % 60, 1 + random_() % 90, 1 + random_() % 60, random_() % 4,
                           random_() % 4, random_() % 3);
      Check(spec, [&](GemmSchedule& s) {
        s.kind = GemmSchedule::Kind::kTile;
        s.depth = 1;
        s.swapped = random_() % 2;
        s.lanes = 1 << random_() % 5;
        s.rows = 1 + random_() % 7;
        s.vectors = 1 + random_() % 3;
        s.unroll = 1 + random_() % 5;
        s.pack_lhs = random_() % 2;
        s.pack_rhs = random_() % 2;
        s.m_block = s.rows * (1 + random_() % 4);
        s.n_block = s.vectors * s.lanes * (1 + random_() % 3);
        s.k_block = random_() % 2 ? spec.k : 1 + random_() % spec.k;
        s.batch_chunk = random_() % 3;
        s.m_chunk = s.pack_lhs ? s.m_block * static_cast<int64_t>(random_() % 3) : 0;
        s.n_chunk = s.pack_rhs ? s.n_block * static_cast<int64_t>(random_() % 3) : 0;
      });
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(GemmTest, SeveralStepsAtOnce) {
  using T = PrimitiveType;
  const std::array<T, 3> kMixtures[] = {{T::kBF16, T::kBF16, T::kBF16}, {T::kBF16, T::kBF16, T::kF32},
                                        {T::kS8, T::kS8, T::kS32},      {T::kU8, T::kS8, T::kS32},
                                        {T::kS8, T::kU8, T::kS32},      {T::kU8, T::kU8, T::kS32},
                                        {T::kS8, T::kS8, T::kS8}};
  for (const auto& [lhs, rhs, result] : kMixtures) {
    for (int i = 0; i < 16; ++i) {
      Check(Make(lhs, rhs, result, 1 + random_() % 90, 1 + random_() % 90, 1 + random_() % 200, random_() % 4,
                 random_() % 4, random_() % 2));
      if (HasFatalFailure()) return;
    }
    Check(Make(lhs, rhs, result, 20, 20, 9000, random_() % 2, 0, 0));
    if (HasFatalFailure()) return;
  }
}

// The kernels that are compiled with Kiln, in blocks of all sizes.
TEST_F(GemmTest, BlockSchedules) {
  using T = PrimitiveType;
  struct Mixture {
    T lhs, rhs, result;
    GemmKernelKind kind;
  };
  for (const Mixture& types : {Mixture{T::kF32, T::kF32, T::kF32, GemmKernelKind::kF32},
                               Mixture{T::kF64, T::kF64, T::kF64, GemmKernelKind::kF64},
                               Mixture{T::kBF16, T::kBF16, T::kBF16, GemmKernelKind::kF32},
                               Mixture{T::kBF16, T::kF32, T::kF32, GemmKernelKind::kF32},
                               Mixture{T::kF16, T::kF16, T::kF16, GemmKernelKind::kF32},
                               Mixture{T::kF32, T::kF16, T::kBF16, GemmKernelKind::kF32},
                               Mixture{T::kBF16, T::kBF16, T::kBF16, GemmKernelKind::kBrain},
                               Mixture{T::kBF16, T::kBF16, T::kF32, GemmKernelKind::kBrain},
                               Mixture{T::kS8, T::kS8, T::kS32, GemmKernelKind::kSignedBytes},
                               Mixture{T::kS8, T::kU8, T::kS32, GemmKernelKind::kSignedUnsigned},
                               Mixture{T::kU8, T::kS8, T::kS8, GemmKernelKind::kUnsignedSigned},
                               Mixture{T::kBF16, T::kBF16, T::kBF16, GemmKernelKind::kAmxBrain},
                               Mixture{T::kBF16, T::kBF16, T::kF32, GemmKernelKind::kAmxBrain},
                               Mixture{T::kS8, T::kS8, T::kS32, GemmKernelKind::kAmxSignedBytes},
                               Mixture{T::kS8, T::kU8, T::kS32, GemmKernelKind::kAmxSignedUnsigned},
                               Mixture{T::kU8, T::kS8, T::kS8, GemmKernelKind::kAmxUnsignedSigned}}) {
    const GemmKernels* kernels = FindGemmKernels(types.kind);
    if (kernels == nullptr) continue;
    for (int i = 0; i < 30; ++i) {
      const int64_t k = kernels->depth * (1 + random_() % 70);
      // Sides of one element may lie anywhere, and results that are as wide as sums.
      const auto is_narrow = [&](T type) { return kernels->depth == 1 && Bytes(type) < kernels->sum_bytes; };
      const int rhs_layout = random_() % (kernels->depth > 1 || is_narrow(types.rhs) ? 2 : 4),
                lhs_layout = kernels->depth > 1 ? 0 : random_() % (is_narrow(types.lhs) ? 2 : 4);
      const bool any_place = kernels->store_columns != nullptr && Bytes(types.result) == kernels->sum_bytes;
      GemmSpec spec = Make(types.lhs, types.rhs, types.result, 1 + random_() % 70, 1 + random_() % 90, k, lhs_layout,
                           rhs_layout, any_place ? random_() % 4 : 0);
      Check(spec, [&](GemmSchedule& s) {
        s.kind = GemmSchedule::Kind::kBlocks;
        s.amx = IsAmx(types.kind);
        s.depth = static_cast<int>(kernels->depth);
        s.swapped = false;
        s.lanes = static_cast<int>(kernels->lanes);
        do {
          s.rows = 1 + random_() % kMaxTileRows;
          s.vectors = 1 + random_() % kMaxTileVectors;
        } while (kernels->tiles[s.vectors - 1][s.rows - 1] == nullptr);
        s.pack_rhs = rhs_layout != 0 || s.depth > 1 || is_narrow(types.rhs) || random_() % 2;
        s.pack_lhs = lhs_layout == 1 && (is_narrow(types.lhs) || random_() % 2);
        s.m_block = s.rows * (1 + random_() % 4);
        s.n_block = s.vectors * s.lanes * (1 + random_() % 3);
        s.k_block = random_() % 2 ? k : 1 + random_() % k;
        s.batch_chunk = s.m_chunk = s.n_chunk = s.padded_bytes = 0;
      });
      if (HasFatalFailure()) return;
    }
  }
}

// Where AMX is, or a test says so, products that fill its registers are made with it, and others are not.
TEST_F(GemmTest, AmxSchedules) {
  using T = PrimitiveType;
  if (FindGemmKernels(GemmKernelKind::kBrain) == nullptr) GTEST_SKIP() << "bf16 is not multiplied in pairs here";
  struct Wanted {
    T type, result;
    int64_t m, n, k;
    bool amx;
  };
  PretendAmxForTest(true);
  for (const Wanted& w :
       {Wanted{T::kBF16, T::kBF16, 100, 90, 300, true}, Wanted{T::kBF16, T::kF32, 48, 33, 70, true},
        Wanted{T::kS8, T::kS32, 64, 64, 128, true}, Wanted{T::kF32, T::kF32, 100, 90, 300, false},
        Wanted{T::kBF16, T::kF32, 100, 9, 300, false}, Wanted{T::kBF16, T::kF32, 100, 90, 8, false}}) {
    const GemmSpec spec = Make(w.type, w.type, w.result, w.m, w.n, w.k, 0, 0, 0);
    const auto plan = PlanGemm(spec, "gemm", 2);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->schedule.amx, w.amx) << w.m << "x" << w.n << "x" << w.k;
    Check(spec);
    if (HasFatalFailure()) break;
  }
  PretendAmxForTest(false);
  const auto plan = PlanGemm(Make(T::kBF16, T::kBF16, T::kBF16, 100, 90, 300, 0, 0, 0), "gemm", 2);
  EXPECT_EQ(plan->schedule.amx, Host().matrix_brain_dot);
}

TEST_F(GemmTest, DotSchedules) {
  for (PrimitiveType type : {PrimitiveType::kF32, PrimitiveType::kBF16, PrimitiveType::kS8}) {
    for (int i = 0; i < 12; ++i) {
      GemmSpec spec = Make(type, type, type, 1 + random_() % 12, 1 + random_() % 40, 1 + random_() % 90, random_() % 4,
                           1, random_() % 3);
      Check(spec, [&](GemmSchedule& s) {
        s.kind = GemmSchedule::Kind::kDot;
        s.depth = 1;
        s.swapped = false;
        s.lanes = 16;
        s.rows = 1 + random_() % 4;
        s.vectors = 1 << random_() % 4;
        s.unroll = 1 + random_() % 3;
        s.pack_lhs = spec.lhs.column_stride != 1 || random_() % 2;
        s.pack_rhs = false;
        s.m_block = s.rows * (1 + random_() % 3);
        s.n_block = s.vectors * (1 + random_() % 3);
        s.k_block = spec.k;
        if (s.unroll == 1 && spec.k > 16) s.k_block = 16 * (1 + random_() % 3);
      });
      if (HasFatalFailure()) return;
    }
  }
  // Chosen for few rows times a small matrix along k, rather than gathering its columns.
  const auto kind = [&](int64_t m, int64_t n, int64_t k) {
    const GemmSpec spec = Make(PrimitiveType::kF32, PrimitiveType::kF32, PrimitiveType::kF32, m, n, k, 0, 1, 0);
    Check(spec);
    return PlanGemm(spec, "gemm", 2)->schedule.kind;
  };
  for (const int64_t k : {3, 8, 16}) EXPECT_EQ(kind(1, 16, k), GemmSchedule::Kind::kDot) << k;
  EXPECT_EQ(kind(4, 16, 16), GemmSchedule::Kind::kDot);
  EXPECT_NE(kind(8, 16, 16), GemmSchedule::Kind::kDot);
}

// Few rows times many that lie along k, of kernels that are compiled with Kiln, in blocks of all sizes.
TEST_F(GemmTest, RowSchedules) {
  using T = PrimitiveType;
  struct Mixture {
    T type, result;
    GemmKernelKind kind;
  };
  if (FindRowKernels(GemmKernelKind::kF32) == nullptr) GTEST_SKIP() << "no kernels for this host";
  for (const auto& [type, result, kernel_kind] :
       {Mixture{T::kF32, T::kF32, GemmKernelKind::kF32}, Mixture{T::kF64, T::kF64, GemmKernelKind::kF64},
        Mixture{T::kF16, T::kF16, GemmKernelKind::kHalf}, Mixture{T::kBF16, T::kF32, GemmKernelKind::kBrain},
        Mixture{T::kBF16, T::kBF16, GemmKernelKind::kBrain}, Mixture{T::kS8, T::kS32, GemmKernelKind::kSignedBytes},
        Mixture{T::kS8, T::kS8, GemmKernelKind::kSignedBytes}}) {
    const RowKernels* kernels = FindRowKernels(kernel_kind);
    if (kernels == nullptr) continue;
    const int64_t vector = kernels->vector_bytes / kernels->element_bytes;
    for (int i = 0; i < 60; ++i) {
      const bool swapped = random_() % 2 == 1;
      const int64_t few = 1 + random_() % 20, many = 1 + random_() % 90, k = 2 * vector + random_() % 190;
      GemmSpec spec = swapped ? Make(type, type, result, many, few, k, 0, random_() % 4, random_() % 3)
                              : Make(type, type, result, few, many, k, random_() % 4, 1, random_() % 3);
      Check(spec, [&](GemmSchedule& s) {
        s = GemmSchedule();
        s.kind = GemmSchedule::Kind::kRows;
        s.swapped = swapped;
        s.lanes = static_cast<int>(kernels->lanes);
        s.rows = static_cast<int>(few);
        s.vectors = 1 + random_() % 6;
        s.pack_lhs = (swapped ? spec.rhs.row_stride : spec.lhs.column_stride) != 1 || random_() % 2;
        s.m_block = few;
        // What is not stored as it is summed takes whole vectors to the end.
        s.n_block = Bytes(result) < 4 ? s.vectors * s.lanes * (1 + random_() % 3) : 1 + random_() % 60;
        s.k_block = random_() % 2 ? k : vector + random_() % 40;
      });
      if (HasFatalFailure()) return;
    }
  }
  // Chosen for either side that is few, and not for columns that fill vectors.
  const auto kind = [&](int64_t m, int64_t n, int64_t k, int rhs_layout, T type = T::kF32) {
    return PlanGemm(Make(type, type, type, m, n, k, 0, rhs_layout, 0), "gemm", 2)->schedule.kind;
  };
  EXPECT_EQ(kind(1000, 7, 300, 0), GemmSchedule::Kind::kRows);
  EXPECT_EQ(kind(7, 1000, 300, 1), GemmSchedule::Kind::kRows);
  EXPECT_NE(kind(7, 1000, 300, 0), GemmSchedule::Kind::kRows);
  EXPECT_NE(kind(1000, 2 * FindRowKernels(GemmKernelKind::kF32)->lanes, 300, 0), GemmSchedule::Kind::kRows);
  const std::pair<T, GemmKernelKind> kNarrow[] = {
      {T::kF16, GemmKernelKind::kHalf}, {T::kBF16, GemmKernelKind::kBrain}, {T::kS8, GemmKernelKind::kSignedBytes}};
  for (const auto& [type, kernel_kind] : kNarrow) {
    if (FindRowKernels(kernel_kind) == nullptr) continue;
    EXPECT_EQ(kind(7, 1000, 300, 1, type), GemmSchedule::Kind::kRows);
    EXPECT_EQ(kind(1000, 1, 300, 0, type), GemmSchedule::Kind::kRows);
  }
}

// Few rows times a matrix that comes from memory, which is read where it lies, a few of its rows at a time.
TEST_F(GemmTest, StreamedMatrices) {
  using T = PrimitiveType;
  if (FindGemmKernels(GemmKernelKind::kF32) == nullptr) GTEST_SKIP() << "no kernels for this host";
  const int64_t n = 4096, k = Tuning().products.far_bytes / 4 / n + 7;
  for (const int64_t m : {1, 3, 13}) {
    for (const int lhs_layout : {0, 1}) {
      const GemmSpec spec = Make(T::kF32, T::kF32, T::kF32, m, n, k, lhs_layout, 0, 0);
      const auto plan = PlanGemm(spec, "gemm", 2);
      ASSERT_TRUE(plan.ok()) << plan.status();
      EXPECT_EQ(plan->schedule.kind, GemmSchedule::Kind::kBlocks) << Describe(spec, *plan);
      EXPECT_FALSE(plan->schedule.pack_rhs) << Describe(spec, *plan);
      EXPECT_LE(plan->schedule.k_block, 32) << Describe(spec, *plan);
    }
  }
  Check(Make(T::kF32, T::kF32, T::kF32, 3, n, k, 0, 0, 0));
  // Pairs of bf16 are packed as they stream, of fewer rows where they multiply fast.
  if (FindGemmKernels(GemmKernelKind::kBrain) != nullptr) {
    const int64_t m = Tuning().products.multiplies_brain_pairs ? 8 : 20;
    const GemmSpec pairs = Make(T::kBF16, T::kBF16, T::kF32, m, 2 * n, k + k % 2, 0, 0, 0);
    const auto plan = PlanGemm(pairs, "gemm", 2);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->schedule.kind, GemmSchedule::Kind::kBlocks) << Describe(pairs, *plan);
    EXPECT_LE(plan->schedule.k_block, 32) << Describe(pairs, *plan);
  }
  // One that stays in the caches is not packed either.
  const GemmSpec cached = Make(T::kF32, T::kF32, T::kF32, 16, 1024, 768, 0, 0, 0);
  const auto plan = PlanGemm(cached, "gemm", 2);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_FALSE(plan->schedule.pack_rhs) << Describe(cached, *plan);
  EXPECT_EQ(plan->schedule.k_block, 768) << Describe(cached, *plan);
  // Rows of rhs that share sets of the second-level cache are packed where rows are many.
  if (Host().l2_bytes > 1 << 20) return;
  for (const int64_t m : {64, 384}) {
    const GemmSpec sharing = Make(T::kF32, T::kF32, T::kF32, m, 2048, 512, 0, 0, 0);
    EXPECT_EQ(PlanGemm(sharing, "gemm", 2)->schedule.pack_rhs, m >= Tuning().products.sharing_rows) << m;
  }
}

// max(product + bias[n] + residual[m, n], 0), with the residual in the place of the result.
TEST_F(GemmTest, EpilogueRunsOnRegisters) {
  for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{{5, 37, 11},
                                                                   {60, 133, 40},
                                                                   {37, 1, 20},
                                                                   {1, 100, 64},
                                                                   {6, 3, 5000},
                                                                   {3, 5, 0},
                                                                   {60, 128, 700},
                                                                   {31, 47, 5000},
                                                                   {200, 5, 700},
                                                                   {600, 1, 64},
                                                                   {500, 20, 100}}) {
    for (const int out_layout : {0, 1, 3}) {
      GemmSpec spec = Make(PrimitiveType::kF32, PrimitiveType::kF32, PrimitiveType::kF32, m, n, k, 0, 0, out_layout);
      std::vector<float> lhs(m * k), rhs(k * n), bias(n), residual(3 * m * n);
      for (auto* values : {&lhs, &rhs, &bias, &residual}) {
        for (float& value : *values) value = static_cast<float>(random_() % 17) - 8;
      }
      spec.epilogue = [&](const GemmEpilogueArguments& a,
                          const kernel::Value& result) -> absl::StatusOr<kernel::Value> {
        llvm::IRBuilder<>& b = *a.builder;
        const auto load = [&](int operand, llvm::Value* index, int lanes) {
          llvm::Value* base = b.CreateLoad(b.getPtrTy(), b.CreateConstGEP1_64(b.getPtrTy(), a.extra, operand));
          llvm::Value* at = b.CreateGEP(b.getFloatTy(), base, index);
          llvm::Type* type =
              lanes == 1 ? b.getFloatTy() : static_cast<llvm::Type*>(llvm::FixedVectorType::get(b.getFloatTy(), lanes));
          return b.CreateAlignedLoad(type, at, llvm::Align(4));
        };
        llvm::Value* bias_value;
        if (a.lanes_along_m) {
          bias_value = load(0, a.n_index, 1);
          if (a.lanes > 1) bias_value = b.CreateVectorSplat(a.lanes, bias_value);
        } else {
          bias_value = load(0, a.n_index, a.lanes);
        }
        llvm::Value* at = b.CreateAdd(b.CreateMul(a.m_index, b.getInt64(spec.out.row_stride)),
                                      b.CreateMul(a.n_index, b.getInt64(spec.out.column_stride)));
        const int64_t step = a.lanes_along_m ? spec.out.row_stride : spec.out.column_stride;
        llvm::Value* residual_value = load(1, at, step == 1 ? a.lanes : 1);
        if (step != 1 && a.lanes > 1) {
          residual_value = llvm::PoisonValue::get(result.value->getType());
          for (int lane = 0; lane < a.lanes; ++lane) {
            llvm::Value* element = load(1, b.CreateAdd(at, b.getInt64(lane * step)), 1);
            residual_value = b.CreateInsertElement(residual_value, element, static_cast<uint64_t>(lane));
          }
        }
        llvm::Value* sum = b.CreateFAdd(b.CreateFAdd(result.value, bias_value), residual_value);
        kernel::Value value = result;
        value.value = b.CreateMaxNum(sum, llvm::Constant::getNullValue(sum->getType()));
        return value;
      };
      auto plan = PlanGemm(spec, "fused", 2);
      ASSERT_TRUE(plan.ok()) << plan.status();
      std::vector<float> out = residual;
      void* extra[] = {bias.data(), out.data()};
      const absl::Status status =
          Run(spec, *plan, reinterpret_cast<uint8_t*>(lhs.data()), reinterpret_cast<uint8_t*>(rhs.data()),
              reinterpret_cast<uint8_t*>(out.data()), extra);
      ASSERT_TRUE(status.ok()) << status;
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          const int64_t at = i * spec.out.row_stride + j * spec.out.column_stride;
          float expected = bias[j] + residual[at];
          for (int64_t l = 0; l < k; ++l) expected += lhs[i * k + l] * rhs[l * n + j];
          ASSERT_EQ(out[at], std::max(expected, 0.0f)) << m << "x" << n << "x" << k << " at " << i << "," << j;
        }
      }
    }
  }
}

TEST_F(GemmTest, RefusesWhatItCannotDo) {
  using T = PrimitiveType;
  GemmSpec spec = Make(T::kF8E5M2, T::kF32, T::kF32, 4, 4, 4, 0, 0, 0);
  EXPECT_EQ(PlanGemm(spec, "g", 1).status().code(), absl::StatusCode::kUnimplemented);
  spec = Make(T::kC64, T::kF32, T::kF32, 4, 4, 4, 0, 0, 0);
  EXPECT_EQ(PlanGemm(spec, "g", 1).status().code(), absl::StatusCode::kInvalidArgument);
  spec = Make(T::kF32, T::kF32, T::kF32, int64_t{1} << 40, int64_t{1} << 40, 4, 0, 0, 0);
  EXPECT_EQ(PlanGemm(spec, "g", 1).status().code(), absl::StatusCode::kInvalidArgument);
  spec = Make(T::kF32, T::kF32, T::kF32, 4, -1, 4, 0, 0, 0);
  EXPECT_EQ(PlanGemm(spec, "g", 1).status().code(), absl::StatusCode::kInvalidArgument);
  spec = Make(T::kF32, T::kF32, T::kF32, 4, 4, 4, 0, 0, 0);
  spec.out.type = T::kBF16;
  EXPECT_EQ(PlanGemm(spec, "g", 1).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace kiln::cpu
