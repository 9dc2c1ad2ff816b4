// Tables for Fourier transforms.
#ifndef KILN_PASSES_ROOTS_OF_UNITY_H_
#define KILN_PASSES_ROOTS_OF_UNITY_H_

#include <complex>
#include <cstdint>
#include <utility>
#include <vector>

#include "src/passes/ir.h"

namespace kiln::passes {

// exp(-2 pi i k / n) for any k that is at least 0, each part rounded once; exact at quarter turns. Made of two short
// tables of more digits, of which every root is a product.
class RootsOfUnity {
 public:
  explicit RootsOfUnity(int64_t n);
  std::complex<double> operator()(int64_t k) const;

 private:
  using Wide = std::pair<long double, long double>;

  const int64_t n_, step_;
  std::vector<Wide> fine_, coarse_;
};

// The literal [rows, columns] of roots r c / n, conjugated for `inverse`, of type c64 or c128.
Literal RootTable(PrimitiveType type, int64_t rows, int64_t columns, int64_t n, bool inverse);

// exp(-pi i k^2 / n) for k < n, conjugated for `inverse`: Bluestein's chirp.
std::vector<std::complex<double>> Chirp(int64_t n, bool inverse);

// The forward transform. Takes a time that grows with the prime factors of the size.
std::vector<std::complex<double>> Transformed(std::vector<std::complex<double>> values);

// As a vector of type c64 or c128.
Literal ComplexLiteral(PrimitiveType type, const std::vector<std::complex<double>>& values);

}  // namespace kiln::passes

#endif  // KILN_PASSES_ROOTS_OF_UNITY_H_
