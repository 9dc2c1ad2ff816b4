// Families of random programs. Each writer adds a few instructions of its ops, over parameters of its own, with their
// results as outputs; a program is made of several.
#ifndef KILN_TESTS_CPU_RANDOM_PROGRAMS_H_
#define KILN_TESTS_CPU_RANDOM_PROGRAMS_H_

#include <vector>

#include "tests/cpu/program_writer.h"

namespace kiln::testing {

using OpWriter = void (*)(ProgramWriter*);

struct Family {
  const char* name;
  OpWriter write;
  int per_program;  // how many to put into one program
};

// random_elementwise.cc
void WriteUnary(ProgramWriter* writer);
void WriteBinary(ProgramWriter* writer);
void WriteTernary(ProgramWriter* writer);
void WriteConvert(ProgramWriter* writer);
void WriteBitcastConvert(ProgramWriter* writer);

// random_movement.cc
void WriteMovement(ProgramWriter* writer);

// random_reduction.cc
void WriteReduce(ProgramWriter* writer);
void WriteVariadicReduce(ProgramWriter* writer);
void WriteReduceWindow(ProgramWriter* writer);
void WriteDot(ProgramWriter* writer);
void WriteConvolution(ProgramWriter* writer);
// Products of any form over exact data, without output.
Value EmitDot(ProgramWriter* writer);
Value EmitConvolution(ProgramWriter* writer);
void WriteMap(ProgramWriter* writer);

// random_indexed.cc
void WriteDynamicSlice(ProgramWriter* writer);
void WriteDynamicUpdateSlice(ProgramWriter* writer);
void WriteGather(ProgramWriter* writer);
void WriteScatter(ProgramWriter* writer);
void WriteSort(ProgramWriter* writer);
void WriteTopK(ProgramWriter* writer);

// random_rows.cc
void WriteRows(ProgramWriter* writer);

// random_epilogues.cc
void WriteEpilogue(ProgramWriter* writer);

// random_operands.cc
void WriteOperand(ProgramWriter* writer);

// All of the above.
const std::vector<Family>& Families();

// random_graph.cc: whole programs of 5 to `steps` ops that use each other's results, whose values are exact in any
// order of computation; with loops, branches and calls to that depth of nesting.
Program WriteGraph(uint64_t seed, int nesting, int64_t steps);

// Element types.
const std::vector<PrimitiveType>& AllTypes();
const std::vector<PrimitiveType>& FloatTypes();
const std::vector<PrimitiveType>& IntegerTypes();
const std::vector<PrimitiveType>& RealTypes();

// Data whose sums of up to `terms` elements (products of two, for `products`) are exact in `type`.
Data ExactData(PrimitiveType type, int64_t terms, bool products);

}  // namespace kiln::testing

#endif  // KILN_TESTS_CPU_RANDOM_PROGRAMS_H_
