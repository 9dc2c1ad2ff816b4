// Float formats narrower than f32 in registers: from and to f32, by integer operations that keep subnormals.
#ifndef KILN_KERNEL_SMALL_FLOAT_CODEC_H_
#define KILN_KERNEL_SMALL_FLOAT_CODEC_H_

#include "src/hlo/primitive_type.h"
#include "src/kernel/vector_builder.h"

namespace kiln::kernel {

// Bits of an f8*, f4* or bf16 type (f8e8m0fnu included) as f32; exact.
Real DecodeSmallFloat(hlo::PrimitiveType type, Integer bits);
// f32 to the bits of such a type: to nearest even, special values as in base/small_float.h.
Integer EncodeSmallFloat(hlo::PrimitiveType type, Real f32);

// f64 to f32 with the lowest bit set when inexact, so that rounding it again to fewer bits gives what rounding the f64
// directly would.
Real RoundToOddF32(Real f64);

}  // namespace kiln::kernel

#endif  // KILN_KERNEL_SMALL_FLOAT_CODEC_H_
