// Control flow and structure.
#include <utility>

#include "src/hlo/shape_inference_rules.h"

namespace kiln::hlo {
namespace {

// `computation` takes these operands.
absl::Status CheckArguments(const InferenceQuery& query, const Computation& computation,
                            absl::Span<const Shape* const> arguments) {
  if (computation.parameter_count() != static_cast<int64_t>(arguments.size())) {
    return query.Fail("computation ", computation.name(), " takes ", computation.parameter_count(), " parameters, got ",
                      arguments.size(), " operands");
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Shape& parameter = computation.parameter(i)->shape();
    if (Shape::Compatible(parameter, *arguments[i])) continue;
    return query.Fail("parameter ", i, " of computation ", computation.name(), " is ", parameter.ToString(false),
                      ", the operand ", arguments[i]->ToString(false));
  }
  return absl::OkStatus();
}

// Nodes of a shape, counted up to a limit: tuples of tuples double with every level.
int64_t NodeCount(const Shape& shape, int64_t limit) {
  int64_t count = 1;
  for (const Shape& element : shape.tuple_shapes()) {
    if (count > limit) break;
    count += NodeCount(element, limit - count);
  }
  return count;
}

absl::Status CheckIndex(const InferenceQuery& query, const Shape& shape, const DimensionVector& index,
                        absl::string_view what) {
  if (shape.Part(index) != nullptr) return absl::OkStatus();
  return query.Fail("alias names no part of the ", what, " ", shape.ToString(false));
}

}  // namespace

absl::StatusOr<Shape> InferCall(const InferenceQuery& query) {
  KILN_RETURN_IF_ERROR(CheckArguments(query, *query.called[0], query.operands));
  return query.called[0]->root()->shape();
}

absl::StatusOr<Shape> InferWhile(const InferenceQuery& query) {
  const Computation& body = *query.called[0];
  const Computation& condition = *query.called[1];
  KILN_RETURN_IF_ERROR(CheckArguments(query, body, query.operands));
  KILN_RETURN_IF_ERROR(CheckArguments(query, condition, query.operands));
  if (!Shape::Compatible(body.root()->shape(), query.operand(0))) {
    return query.Fail("body ", body.name(), " gives ", body.root()->shape().ToString(false), ", it takes ",
                      query.operand(0).ToString(false));
  }
  const Shape& verdict = condition.root()->shape();
  if (!verdict.IsScalar() || verdict.element_type() != PrimitiveType::kPred) {
    return query.Fail("condition ", condition.name(), " gives ", verdict.ToString(false), ", expected pred[]");
  }
  return body.root()->shape();
}

// index, then one operand per branch
absl::StatusOr<Shape> InferConditional(const InferenceQuery& query) {
  if (query.operands.empty()) return query.Fail("needs an index");
  const Shape& index = query.operand(0);
  const size_t branches = query.called.size();
  if (!index.IsScalar() ||
      (index.element_type() != PrimitiveType::kS32 && index.element_type() != PrimitiveType::kPred)) {
    return query.Fail("the index must be pred[] or s32[], got ", index.ToString(false));
  }
  if (index.element_type() == PrimitiveType::kPred && branches != 2) {
    return query.Fail("a pred index needs 2 branches, got ", branches);
  }
  if (query.operands.size() != branches + 1) {
    return query.Fail("takes an index and an operand for each of ", branches, " branches, got ", query.operands.size(),
                      " operands");
  }
  for (size_t i = 0; i < branches; ++i) {
    KILN_RETURN_IF_ERROR(CheckArguments(query, *query.called[i], query.operands.subspan(i + 1, 1)));
    if (!Shape::Compatible(query.called[i]->root()->shape(), query.called[0]->root()->shape())) {
      return query.Fail("branch ", query.called[i]->name(), " gives ", query.called[i]->root()->shape().ToString(false),
                        ", branch ", query.called[0]->name(), " ", query.called[0]->root()->shape().ToString(false));
    }
  }
  return query.called[0]->root()->shape();
}

absl::StatusOr<Shape> InferTuple(const InferenceQuery& query) {
  constexpr int64_t kMaxNodes = int64_t{1} << 18;
  int64_t nodes = 1;
  std::vector<Shape> elements;
  for (const Shape* operand : query.operands) {
    nodes += NodeCount(*operand, kMaxNodes - nodes);
    if (nodes > kMaxNodes) return query.Fail("the tuple has more than ", kMaxNodes, " parts");
    elements.push_back(*operand);
  }
  return Shape::Tuple(std::move(elements));
}

absl::StatusOr<Shape> InferGetTupleElement(const InferenceQuery& query) {
  const Shape& tuple = query.operand(0);
  const int64_t index = query.Get<TupleIndexAttributes>().index;
  if (!tuple.IsTuple()) return query.Fail("takes a tuple, got ", tuple.ToString(false));
  if (index < 0 || index >= static_cast<int64_t>(tuple.tuple_shapes().size())) {
    return query.Fail("index ", index, " is out of range for a tuple of ", tuple.tuple_shapes().size());
  }
  return tuple.tuple_shapes(index);
}

absl::StatusOr<Shape> InferFirstOperand(const InferenceQuery& query) { return query.operand(0); }

absl::StatusOr<Shape> InferAddDependency(const InferenceQuery& query) {
  if (query.operand(1).IsToken()) return query.operand(0);
  return query.Fail("the second operand must be a token, got ", query.operand(1).ToString(false));
}

absl::StatusOr<Shape> InferAfterAll(const InferenceQuery& query) {
  for (const Shape* operand : query.operands) {
    if (!operand->IsToken()) return query.Fail("takes tokens, got ", operand->ToString(false));
  }
  return Shape::Token();
}

// ((operands...), result, context...)
absl::StatusOr<Shape> InferAsyncStart(const InferenceQuery& query) {
  KILN_RETURN_IF_ERROR(CheckArguments(query, *query.called[0], query.operands));
  std::vector<Shape> arguments;
  for (const Shape* operand : query.operands) arguments.push_back(*operand);
  Shape expected = Shape::Tuple(
      {Shape::Tuple(std::move(arguments)), query.called[0]->root()->shape(), Shape::Scalar(PrimitiveType::kU32)});
  if (query.declared == nullptr) return expected;
  const Shape& declared = *query.declared;
  // What follows operands and result is the target's business.
  if (!declared.IsTuple() || declared.tuple_shapes().size() < 2 ||
      !Shape::Compatible(declared.tuple_shapes(0), expected.tuple_shapes(0)) ||
      !Shape::Compatible(declared.tuple_shapes(1), expected.tuple_shapes(1))) {
    return query.Fail("result shape is ", expected.ToString(false), ", declared as ", declared.ToString(false));
  }
  return declared;
}

absl::StatusOr<Shape> InferAsyncRest(const InferenceQuery& query) {
  const Shape& operand = query.operand(0);
  if (!operand.IsTuple() || operand.tuple_shapes().size() < 2) {
    return query.Fail("takes what an async-start gives, got ", operand.ToString(false));
  }
  return query.opcode == Opcode::kAsyncUpdate ? operand : operand.tuple_shapes(1);
}

absl::StatusOr<Shape> InferCustomCall(const InferenceQuery& query) {
  KILN_ASSIGN_OR_RETURN(Shape shape, RequireDeclared(query));
  const auto& call = query.Get<CustomCallAttributes>();
  if (call.has_layout_constraints) {
    if (call.operand_layouts.size() != query.operands.size()) {
      return query.Fail("operand_layout_constraints has ", call.operand_layouts.size(), " entries for ",
                        query.operands.size(), " operands");
    }
    for (size_t i = 0; i < query.operands.size(); ++i) {
      if (Shape::Compatible(call.operand_layouts[i], query.operand(i))) continue;
      return query.Fail("layout constraint ", i, " is ", call.operand_layouts[i].ToString(false), ", the operand ",
                        query.operand(i).ToString(false));
    }
  }
  for (const OutputOperandAlias& alias : call.aliases) {
    if (alias.operand < 0 || alias.operand >= static_cast<int64_t>(query.operands.size())) {
      return query.Fail("alias names operand ", alias.operand, " of ", query.operands.size());
    }
    KILN_RETURN_IF_ERROR(CheckIndex(query, shape, alias.output_index, "result"));
    KILN_RETURN_IF_ERROR(CheckIndex(query, query.operand(alias.operand), alias.operand_index, "operand"));
  }
  return shape;
}

}  // namespace kiln::hlo
