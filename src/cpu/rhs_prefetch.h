// Lines of a product's rhs that are asked for before they are needed.
#ifndef KILN_CPU_RHS_PREFETCH_H_
#define KILN_CPU_RHS_PREFETCH_H_

#include <algorithm>
#include <cstdint>

#include "src/base/rounding.h"

namespace kiln::cpu {

// Asks for the rows of rhs that the next stretch of k will need, a few lines before every tile of this one: where they
// come from memory, nothing else foretells them.
class RhsPrefetch {
 public:
  // `rows` of `bytes` each, `stride` apart and `steps` to a run; spread over `calls` of Advance().
  void Begin(const char* rhs, const int64_t* runs, int64_t steps, int64_t rows, int64_t stride, int64_t bytes,
             int64_t calls) {
    rhs_ = rhs, runs_ = runs, steps_ = steps, rows_ = rows, stride_ = stride, bytes_ = bytes;
    lines_per_call_ = CeilDivide(rows * CeilDivide(bytes, kLine), std::max<int64_t>(calls, 1));
    run_ = step_ = at_ = 0;
  }

  void Advance() {
    for (int64_t line = 0; line < lines_per_call_ && rows_ > 0; ++line) {
      __builtin_prefetch(rhs_ + runs_[run_] + step_ * stride_ + at_, 0, 2);
      at_ += kLine;
      if (at_ < bytes_) continue;
      at_ = 0;
      --rows_;
      if (++step_ == steps_) {
        step_ = 0;
        ++run_;
      }
    }
  }

 private:
  static constexpr int64_t kLine = 64;
  const char* rhs_ = nullptr;
  const int64_t* runs_ = nullptr;
  int64_t steps_ = 0, rows_ = 0, stride_ = 0, bytes_ = 0, lines_per_call_ = 0, run_ = 0, step_ = 0, at_ = 0;
};

}  // namespace kiln::cpu

#endif  // KILN_CPU_RHS_PREFETCH_H_
