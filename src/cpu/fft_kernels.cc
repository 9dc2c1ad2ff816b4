#include "src/cpu/fft_kernels.h"

#include <algorithm>

namespace kiln::cpu {
namespace {

const FftKernels& KernelsOf(int64_t vector_bytes) {
#if defined(__x86_64__)
  if (vector_bytes == 64) return FftKernels512();
  if (vector_bytes == 32) return FftKernels256();
#endif
  return FftKernels128();
}

template <typename T>
void RunUnit(const FftUnits& units, const FftStep* steps, char* const* pointers, int64_t slot, int64_t outer,
             int64_t block, int64_t blocks, FftKernels::Run<T>* FftKernels::*run) {
  const bool is_last = block == blocks - 1;
  int64_t start = block * units.block, width = units.block;
  if (is_last && units.overlapped) start = units.extent - units.block;
  if (is_last && !units.overlapped) width = units.extent - start;
  T* buffers[kFftBuffers];
  int64_t rows[kFftBuffers];
  for (int i = 0; i < kFftBuffers; ++i) {
    const bool scratch = i >= static_cast<int>(FftBuffer::kScratch0);
    const FftStrides& strides = units.strides[i];
    buffers[i] = reinterpret_cast<T*>(pointers[i]) +
                 (scratch ? slot * units.slot_numbers : outer * strides.outer + start * strides.block);
    rows[i] = scratch ? units.row_numbers : strides.outer;
  }
  auto table = [&](int64_t number) -> const T* {
    return number < 0 ? nullptr : reinterpret_cast<const T*>(pointers[kFftBuffers + number]);
  };
  for (const FftStep* step = steps; step < steps + units.steps; ++step) {
    const int from = static_cast<int>(step->from), to = static_cast<int>(step->to);
    (KernelsOf(step->vector_bytes).*run)(
        *step, {.source = buffers[from] + step->from_begin,
                .destination = buffers[to] + step->to_begin,
                .table = table(step->table),
                .bases = step->bases < 0 ? nullptr : table(step->bases) + block * step->bases_per_block,
                .prime_roots = table(step->prime_roots),
                .start = start,
                .width = width,
                .rows = std::min(units.together, units.outer - outer),
                .source_row = rows[from],
                .destination_row = rows[to]});
  }
}

}  // namespace

void RunFftPhase(const int64_t* description, char* const* pointers, int64_t begin, int64_t end) {
  const auto& units = *reinterpret_cast<const FftUnits*>(description);
  const auto* steps = reinterpret_cast<const FftStep*>(&units + 1);
  const int64_t blocks = units.blocks(), count = units.count();
  for (int64_t slot = begin; slot < end; ++slot) {
    const int64_t first = slot * count / units.slots, last = (slot + 1) * count / units.slots;
    int64_t outer = first / blocks * units.together, block = first % blocks;
    for (int64_t unit = first; unit < last; ++unit) {
      if (units.is_double) {
        RunUnit<double>(units, steps, pointers, slot, outer, block, blocks, &FftKernels::run_f64);
      } else {
        RunUnit<float>(units, steps, pointers, slot, outer, block, blocks, &FftKernels::run_f32);
      }
      if (++block == blocks) outer += units.together, block = 0;
    }
  }
}

}  // namespace kiln::cpu
