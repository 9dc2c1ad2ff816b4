// Makes instructions whose result shapes follow from the call, for passes that rewrite: nothing here can fail.
#ifndef KILN_HLO_BUILDER_H_
#define KILN_HLO_BUILDER_H_

#include <vector>

#include "absl/types/span.h"
#include "src/hlo/computation.h"

namespace kiln::hlo {

// Adds to one computation. New instructions get the metadata of `origin` (may be null). Callers hold the shape rules of
// each op; operands that make an op the identity give the operand back instead of a new instruction where noted.
class Builder {
 public:
  Builder(Computation* computation, const Instruction* origin) : computation_(computation), origin_(origin) {}

  Computation* computation() const { return computation_; }
  // Everything added so far, operands before users.
  const std::vector<Instruction*>& added() const { return added_; }

  Instruction* Add(Opcode opcode, Shape shape, std::vector<Instruction*> operands, Attributes attributes = {},
                   absl::Span<Computation* const> called = {});
  Instruction* Constant(Literal literal);
  // A scalar constant of any array type, and one spread over the dimensions of `shape`.
  Instruction* Scalar(PrimitiveType type, double value);
  Instruction* Splat(const Shape& shape, double value);
  Instruction* Splat(const Shape& shape, Literal scalar);

  // Result shape: that of the (first) operand; of `on_true` for select.
  Instruction* Unary(Opcode opcode, Instruction* operand);
  Instruction* Binary(Opcode opcode, Instruction* a, Instruction* b);
  Instruction* Compare(ComparisonDirection direction, Instruction* a, Instruction* b);
  Instruction* Select(Instruction* predicate, Instruction* on_true, Instruction* on_false);
  // `operand` itself when it has the type.
  Instruction* Convert(Instruction* operand, PrimitiveType type);

  // `operand` itself when it has the dimensions.
  Instruction* Reshape(Instruction* operand, absl::Span<const int64_t> dimensions);
  // `operand` itself for the identity permutation.
  Instruction* Transpose(Instruction* operand, absl::Span<const int64_t> permutation);
  // `operand` itself when it has all the dimensions, in order.
  Instruction* Broadcast(Instruction* operand, absl::Span<const int64_t> dimensions, absl::Span<const int64_t> map);
  Instruction* BroadcastScalar(Instruction* scalar, absl::Span<const int64_t> dimensions) {
    return Broadcast(scalar, dimensions, {});
  }
  // `operand` itself when the whole of it is taken.
  Instruction* Slice(Instruction* operand, const SliceAttributes& slice);
  Instruction* Concatenate(absl::Span<Instruction* const> operands, int64_t dimension);
  // One operand, one init value; the combiner is `opcode` over two scalars, in a computation made for it.
  Instruction* Reduce(Instruction* operand, Instruction* init, absl::Span<const int64_t> dimensions, Opcode opcode);
  Instruction* Reduce(Instruction* operand, Instruction* init, absl::Span<const int64_t> dimensions,
                      Computation* combiner) {
    return Reduce({operand, init}, dimensions, combiner);
  }
  // Any number of operands, followed by as many init values; a tuple where there is more than one.
  Instruction* Reduce(std::vector<Instruction*> operands, absl::Span<const int64_t> dimensions, Computation* combiner);

  // A copy of the body of `callee` (with its own metadata) over `arguments`; gives what its root became.
  Instruction* Inline(const Computation& callee, absl::Span<Instruction* const> arguments);

  Instruction* Tuple(std::vector<Instruction*> elements);
  Instruction* GetTupleElement(Instruction* tuple, int64_t index);
  // What the elements of `tuple` are: its operands, where it is an instruction of that opcode.
  std::vector<Instruction*> Elements(Instruction* tuple);

 private:
  Computation* computation_;
  const Instruction* origin_;
  std::vector<Instruction*> added_;
};

// The computation (a, b) -> opcode(a, b) over scalars of `type`.
Computation* AddCombiner(Module* module, Opcode opcode, PrimitiveType type);

}  // namespace kiln::hlo

#endif  // KILN_HLO_BUILDER_H_
