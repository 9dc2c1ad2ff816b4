// Functions of the higher-level dialect CHLO that HLO has no opcode for, as formulas of HLO.
#ifndef KILN_FRONTEND_STABLEHLO_SPECIAL_FUNCTIONS_H_
#define KILN_FRONTEND_STABLEHLO_SPECIAL_FUNCTIONS_H_

#include "src/passes/array_value.h"

namespace kiln::stablehlo {

// Of real arrays, computed in f64 and rounded once. With the values of JAX where a function is not defined.
passes::ArrayValue LogGamma(const passes::ArrayValue& x);
passes::ArrayValue Digamma(const passes::ArrayValue& x);
passes::ArrayValue InverseErf(const passes::ArrayValue& x);
// exp(-|x|) I1(x)
passes::ArrayValue BesselI1e(const passes::ArrayValue& x);
// sum over k >= 0 of (k + q)^-x
passes::ArrayValue Zeta(const passes::ArrayValue& x, const passes::ArrayValue& q);
// The derivative of order n of digamma.
passes::ArrayValue Polygamma(const passes::ArrayValue& n, const passes::ArrayValue& x);

// The number of x's type that is next to x in the direction of y.
passes::ArrayValue NextAfter(const passes::ArrayValue& x, const passes::ArrayValue& y);

}  // namespace kiln::stablehlo

#endif  // KILN_FRONTEND_STABLEHLO_SPECIAL_FUNCTIONS_H_
