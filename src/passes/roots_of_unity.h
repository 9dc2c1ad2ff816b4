// Tables for Fourier transforms.
#ifndef KILN_PASSES_ROOTS_OF_UNITY_H_
#define KILN_PASSES_ROOTS_OF_UNITY_H_

#include <complex>
#include <cstdint>
#include <vector>

#include "src/hlo/literal.h"

namespace kiln::passes {

// exp(-2 pi i k / n), conjugated for `inverse`; exact at quarter turns. k is at least 0.
std::complex<double> RootOfUnity(int64_t k, int64_t n, bool inverse);

// The literal [rows, columns] of roots r c / n, of type c64 or c128.
hlo::Literal RootTable(hlo::PrimitiveType type, int64_t rows, int64_t columns, int64_t n, bool inverse);

// exp(-pi i k^2 / n) for k < n, conjugated for `inverse`: Bluestein's chirp.
std::vector<std::complex<double>> Chirp(int64_t n, bool inverse);

// The forward transform, in place; the size is a power of two.
void TransformPowerOfTwo(std::vector<std::complex<double>>* values);

// As a vector of type c64 or c128.
hlo::Literal ComplexLiteral(hlo::PrimitiveType type, const std::vector<std::complex<double>>& values);

}  // namespace kiln::passes

#endif  // KILN_PASSES_ROOTS_OF_UNITY_H_
