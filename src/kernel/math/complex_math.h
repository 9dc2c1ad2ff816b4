// Complex arithmetic and functions of f32 and f64 parts.
#ifndef KILN_KERNEL_MATH_COMPLEX_MATH_H_
#define KILN_KERNEL_MATH_COMPLEX_MATH_H_

#include "src/kernel/vector_builder.h"

namespace kiln::kernel::math {

struct Complex {
  Real re, im;
};

inline Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
inline Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
inline Complex operator-(Complex a) { return {-a.re, -a.im}; }
inline Complex operator*(Complex a, double c) { return {a.re * c, a.im * c}; }
inline Complex To(Complex z, int bits) { return {z.re.To(bits), z.im.To(bits)}; }
inline Complex Select(Mask m, Complex a, Complex b) {
  return {kernel::Select(m, a.re, b.re), kernel::Select(m, a.im, b.im)};
}
Complex Multiply(Complex a, Complex b);
// With C's (annex G) results for infinite operands and zero divisors; the divisor is scaled against overflow.
Complex Divide(Complex a, Complex b);

// |z| without undue overflow or underflow; infinity when either part is.
Real Abs(Complex z);
// z / |z|, 0 for 0.
Complex Sign(Complex z);
Complex Exp(Complex z);
Complex Exp2(Complex z);
Complex Expm1(Complex z);
Complex Log(Complex z);
Complex Log2(Complex z);
Complex Log1p(Complex z);
Complex Sqrt(Complex z);
Complex Rsqrt(Complex z);
Complex Cbrt(Complex z);
Complex Sin(Complex z);
Complex Cos(Complex z);
Complex Tan(Complex z);
Complex Sinh(Complex z);
Complex Cosh(Complex z);
Complex Tanh(Complex z);
Complex Asin(Complex z);
Complex Acos(Complex z);
Complex Asinh(Complex z);
Complex Acosh(Complex z);
Complex Atanh(Complex z);
Complex Logistic(Complex z);
Complex Pow(Complex z, Complex w);
// -i log((x + i y) / sqrt(x^2 + y^2))
Complex Atan2(Complex y, Complex x);

}  // namespace kiln::kernel::math

#endif  // KILN_KERNEL_MATH_COMPLEX_MATH_H_
