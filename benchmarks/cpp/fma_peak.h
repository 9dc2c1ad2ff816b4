// What a processor's multiply-adds reach by themselves: the limit that products are measured against.
#ifndef KILN_BENCHMARKS_CPP_FMA_PEAK_H_
#define KILN_BENCHMARKS_CPP_FMA_PEAK_H_

#include <cstdint>

namespace kiln {

// Multiply-adds of floats on registers alone, `rounds` times some independent vectors of the widest that the
// processor has; returns how many multiply-adds of elements that were.
int64_t RunFmas(int64_t rounds);

}  // namespace kiln

#endif  // KILN_BENCHMARKS_CPP_FMA_PEAK_H_
