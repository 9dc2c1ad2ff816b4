#include "src/cpu/fft_transform.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "src/base/rounding.h"
#include "src/cpu/fft_kernels.h"
#include "src/cpu/fft_plan.h"
#include "src/hlo/module.h"

namespace kiln::cpu {
namespace {

// What a phase reads: its units, then its steps.
std::vector<int64_t> Description(const FftPlan& plan, const FftPhase& phase) {
  const FftUnits units = plan.UnitsOf(phase);
  const size_t bytes = sizeof(units) + phase.steps.size() * sizeof(FftStep);
  std::vector<int64_t> description(bytes / sizeof(int64_t));
  std::memcpy(description.data(), &units, sizeof(units));
  std::memcpy(description.data() + sizeof(units) / sizeof(int64_t), phase.steps.data(), bytes - sizeof(units));
  return description;
}

}  // namespace

std::vector<std::complex<double>> Transformed(const std::vector<std::complex<double>>& values) {
  const int64_t n = static_cast<int64_t>(values.size());
  const hlo::Shape shape(hlo::PrimitiveType::kC128, {n});
  hlo::Module module("transform");
  hlo::Computation* entry = module.AddComputation("main");
  const FftPlan plan = PlanFft(*entry->Add(hlo::Opcode::kFft, shape, {entry->AddParameter(0, shape)},
                                           hlo::FftAttributes{hlo::FftType::kFft, {n}}));

  std::vector<std::complex<double>> input = values, result(values.size());
  constexpr int64_t kAlignment = 64;
  const std::unique_ptr<std::byte[]> memory(new std::byte[static_cast<size_t>(plan.ScratchBytes() + kAlignment)]);
  auto* scratch = reinterpret_cast<char*>(memory.get());
  scratch += RoundUp(reinterpret_cast<intptr_t>(scratch), kAlignment) - reinterpret_cast<intptr_t>(scratch);
  std::vector<std::vector<double>> tables;
  for (const FftTable& table : plan.tables) tables.push_back(FftTableValues(table));

  for (const FftGroup& group : plan.groups) {
    for (int64_t round = 0; round < group.rounds; ++round) {
      for (const FftPhase& phase : group.phases) {
        const FftUnits units = plan.UnitsOf(phase);
        std::vector<char*> pointers;
        for (int i = 0; i < kFftBuffers; ++i) {
          const auto buffer = static_cast<FftBuffer>(i);
          char* array = buffer == FftBuffer::kInput    ? reinterpret_cast<char*>(input.data())
                        : buffer == FftBuffer::kOutput ? reinterpret_cast<char*>(result.data())
                                                       : scratch + plan.OffsetOf(buffer, phase);
          pointers.push_back(array + round * units.strides[i].round * static_cast<int64_t>(sizeof(double)));
        }
        for (std::vector<double>& table : tables) pointers.push_back(reinterpret_cast<char*>(table.data()));
        RunFftPhase(Description(plan, phase).data(), pointers.data(), 0, units.slots);
      }
    }
  }
  return result;
}

}  // namespace kiln::cpu
