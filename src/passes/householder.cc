#include "src/passes/householder.h"

#include <utility>
#include <vector>

#include "src/passes/matrix_stack.h"

namespace kiln::passes {
namespace {

ArrayValue Rows(const ArrayValue& like) {
  return Iota(like.builder(), PrimitiveType::kS32, like.shape().dimensions(), 1);
}

// Over the last dimension of [count, m].
ArrayValue ReduceRows(const ArrayValue& values, Literal init, Opcode opcode) {
  Builder* builder = values.builder();
  return {builder, builder->Reduce(values.instruction(), builder->Constant(std::move(init)), {1}, opcode)};
}

// One reflector per matrix: H^H x has `beta` in row `diagonal` and 0 below.
struct Reflector {
  ArrayValue v;     // [count, m]
  ArrayValue tau;   // [count]
  ArrayValue beta;  // [count], real
};

Reflector ReflectorOf(const ArrayValue& column, const ArrayValue& diagonal) {
  const int64_t count = column.shape().dimensions(0), m = column.shape().dimensions(1);
  const auto& dimensions = column.shape().dimensions();
  const ArrayValue row = Rows(column);
  const ArrayValue below = row > diagonal;
  const ArrayValue at = row == diagonal;
  const ArrayValue zero_real = ZeroOf(RealPart(column));
  // Divided by its largest element, so that squares neither overflow nor vanish.
  const ArrayValue counted = Select(below | at, Abs(column), zero_real);
  const ArrayValue largest = ReduceRows(counted, hlo::ZeroLiteral(zero_real.type()), Opcode::kMaximum);
  const ArrayValue scale = Select(largest == zero_real, largest.Number(1.0), largest);
  const ArrayValue x = column / FromReal(scale, column).Broadcast(dimensions, {0});
  const ArrayValue tail =
      ReduceRows(Select(below, SquaredAbs(x), zero_real), hlo::ZeroLiteral(zero_real.type()), Opcode::kAdd);
  const ArrayValue alpha = x.DynamicSlice({diagonal.Number(int64_t{0}), diagonal}, {count, 1}).Reshape({count});
  ArrayValue trivial = tail == zero_real;
  if (hlo::IsComplex(column.type())) {
    trivial = trivial & (alpha.Unary(Opcode::kImag) == zero_real);
  }
  const ArrayValue norm = (tail + SquaredAbs(alpha)).Unary(Opcode::kSqrt);
  // Of the sign that keeps alpha - beta from cancelling.
  const ArrayValue negative = RealPart(alpha) < zero_real;
  const ArrayValue beta = Select(negative, norm, norm.Unary(Opcode::kNegate));
  const ArrayValue one = alpha.Number(1.0), wide_beta = FromReal(beta, alpha);
  const ArrayValue tau = Select(trivial, ZeroOf(alpha), (wide_beta - alpha) / Select(trivial, one, wide_beta));
  const ArrayValue pivot = Select(trivial, one, alpha - wide_beta);
  const ArrayValue tail_of_v = Select(below, x / pivot.Broadcast({count, m}, {0}), ZeroOf(x));
  return {Select(at, x.Number(1.0), tail_of_v), tau, Select(trivial, RealPart(alpha), beta) * scale};
}

}  // namespace

Reflectors FactorizeColumns(const ArrayValue& panel, const ArrayValue& first) {
  const int64_t count = panel.shape().dimensions(0), m = panel.shape().dimensions(1),
                columns = panel.shape().dimensions(2);
  const auto dimensions = panel.shape().dimensions();
  auto column_of = [&](const ArrayValue& c, const std::vector<ArrayValue>& values) -> std::vector<ArrayValue> {
    const ArrayValue &packed = values[0], &taus = values[1], &start = values[2];
    const ArrayValue zero = c.Number(int64_t{0}), diagonal = start + c;
    const ArrayValue column = packed.DynamicSlice({zero, zero, c}, {count, m, 1}).Reshape({count, m});
    const Reflector h = ReflectorOf(column, diagonal);
    const ArrayValue shares = BatchedDot(Conjugate(h.v), packed, 1, 1, 1);  // v^H A, [count, columns]
    const ArrayValue factor = Conjugate(h.tau).Broadcast({count, columns}, {0}) * shares;
    const ArrayValue reflected = packed - h.v.Broadcast(dimensions, {0, 1}) * factor.Broadcast(dimensions, {0, 2});
    const ArrayValue row = Rows(column);
    const ArrayValue beta = FromReal(h.beta, column).Broadcast({count, m}, {0});
    const ArrayValue below = Select(row > diagonal, h.v, column);
    const ArrayValue stored = Select(row == diagonal, beta, below);
    const ArrayValue place = Iota(c.builder(), PrimitiveType::kS32, dimensions, 2);
    ArrayValue next = Select(place > c, reflected, packed);
    next = next.DynamicUpdate(stored.Reshape({count, m, 1}), {zero, zero, c});
    return {next, taus.DynamicUpdate(h.tau.Reshape({count, 1}), {zero, c}), start};
  };
  const ArrayValue no_taus = ZeroOf(panel).Broadcast({count, columns}, {});
  const std::vector<ArrayValue> results = CountedLoop({panel, no_taus, first}, columns, column_of);
  return {results[0], results[1]};
}

BlockReflector BlockOf(const Reflectors& reflectors, const ArrayValue& first) {
  const ArrayValue& packed = reflectors.packed;
  const int64_t count = packed.shape().dimensions(0), columns = packed.shape().dimensions(2);
  const ArrayValue row = Rows(packed);
  const ArrayValue place = Iota(packed.builder(), PrimitiveType::kS32, packed.shape().dimensions(), 2);
  const ArrayValue diagonal = place + first;
  const ArrayValue below = Select(row > diagonal, packed, ZeroOf(packed));
  const ArrayValue v = Select(row == diagonal, packed.Number(1.0), below);
  const ArrayValue products = BatchedDot(Conjugate(v), v, 1, 1, 1);
  // Column c of T is tau_c (e_c - T V^H v_c), where T has only the columns before c.
  auto column_of = [&](const ArrayValue& c, const std::vector<ArrayValue>& values) -> std::vector<ArrayValue> {
    const ArrayValue &t = values[0], &given = values[1], &taus = values[2];
    const ArrayValue zero = c.Number(int64_t{0});
    const ArrayValue with_c = given.DynamicSlice({zero, zero, c}, {count, columns, 1}).Reshape({count, columns});
    const ArrayValue share = BatchedDot(t, with_c, 1, 2, 1);
    const ArrayValue at = Rows(share) == c;
    const ArrayValue tau = taus.DynamicSlice({zero, c}, {count, 1}).Reshape({count}).Broadcast({count, columns}, {0});
    const ArrayValue column = tau * (Select(at, share.Number(1.0), ZeroOf(share)) - share);
    return {t.DynamicUpdate(column.Reshape({count, columns, 1}), {zero, zero, c}), given, taus};
  };
  const ArrayValue empty = ZeroOf(packed).Broadcast({count, columns, columns}, {});
  return {v, CountedLoop({empty, products, reflectors.taus}, columns, column_of)[0]};
}

ArrayValue Reflect(const BlockReflector& block, bool adjoint, const ArrayValue& matrices) {
  const ArrayValue shares = BatchedDot(Conjugate(block.v), matrices, 1, 1, 1);
  const ArrayValue turned =
      adjoint ? BatchedDot(Conjugate(block.t), shares, 1, 1, 1) : BatchedDot(block.t, shares, 1, 2, 1);
  return matrices - BatchedDot(block.v, turned, 1, 2, 1);
}

}  // namespace kiln::passes
