// Collectives, sends, receives, feeds and asynchronous copies.
#include <algorithm>
#include <utility>

#include "src/hlo/shape_inference_rules.h"

namespace kiln::hlo {
namespace {

Shape WithoutBounds(const Shape& array) { return Shape(array.element_type(), array.dimensions()); }

// The operands, one by one or as a tuple.
Shape SameAsOperands(const InferenceQuery& query) {
  std::vector<Shape> shapes;
  for (const Shape* operand : query.operands) shapes.push_back(WithoutBounds(*operand));
  return OneOrTuple(std::move(shapes));
}

// What all collectives hold: operands, of arrays, and groups that name devices.
absl::Status CheckCollective(const InferenceQuery& query) {
  KILN_RETURN_IF_ERROR(RequireArrays(query));
  for (const std::vector<int64_t>& group : query.Get<CollectiveAttributes>().replica_groups) {
    for (int64_t member : group) {
      if (member < 0) return query.Fail("replica groups name a negative device");
    }
  }
  return query.operands.empty() ? query.Fail("needs an operand") : absl::OkStatus();
}

// Members of a group; 0 when the groups do not say.
int64_t GroupSize(const InferenceQuery& query) {
  const auto& groups = query.Get<CollectiveAttributes>().replica_groups;
  return groups.empty() ? 0 : static_cast<int64_t>(groups[0].size());
}

absl::Status CheckReducer(const InferenceQuery& query) {
  const Computation& computation = *query.called[0];
  if (computation.parameter_count() != 2 || !computation.root()->shape().IsScalar()) {
    return query.Fail("computation ", computation.name(), " must take two scalars and give one");
  }
  return absl::OkStatus();
}

// all-gather grows, reduce-scatter shrinks the dimension by the size of a group.
absl::StatusOr<Shape> InferScaled(const InferenceQuery& query, bool grows, const Shape* declared) {
  KILN_RETURN_IF_ERROR(CheckCollective(query));
  const int64_t dimension = query.Get<CollectiveAttributes>().dimension;
  const int64_t group = GroupSize(query);
  const size_t count = query.operands.size();
  if (declared != nullptr && count > 1 && (!declared->IsTuple() || declared->tuple_shapes().size() != count)) {
    return query.Fail("the result must be a tuple of ", count, ", declared as ", declared->ToString(false));
  }
  std::vector<Shape> results;
  for (size_t i = 0; i < count; ++i) {
    const Shape& operand = query.operand(i);
    KILN_RETURN_IF_ERROR(CheckDimensionList(query, {dimension}, operand.rank(), "dimensions"));
    Shape result = WithoutBounds(operand);
    const int64_t size = operand.dimensions(dimension);
    const Shape* wanted = declared == nullptr ? nullptr : count == 1 ? declared : &declared->tuple_shapes(i);
    if (wanted != nullptr) {
      // With groups that do not say their size, any multiple will do.
      if (!wanted->IsArray() || wanted->rank() != operand.rank()) {
        return query.Fail("operand ", operand.ToString(false), " cannot give ", wanted->ToString(false));
      }
      const int64_t larger = grows ? wanted->dimensions(dimension) : size;
      const int64_t smaller = grows ? size : wanted->dimensions(dimension);
      const bool fits = smaller == 0 ? larger == 0 : larger % smaller == 0 && (group == 0 || larger / smaller == group);
      if (!fits) {
        return query.Fail("dimension ", dimension, " of ", operand.ToString(false), " cannot give ",
                          wanted->ToString(false), " in groups of ", group);
      }
      result.set_dimensions(dimension, wanted->dimensions(dimension));
    } else {
      if (group == 0) return query.Fail("the result shape must be given when the groups are not");
      int64_t scaled = size / group;
      if (grows && __builtin_mul_overflow(size, group, &scaled)) return query.Fail("the result is too large");
      if (!grows && size % group != 0) return query.Fail("dimension ", dimension, " does not divide into the groups");
      result.set_dimensions(dimension, scaled);
    }
    results.push_back(std::move(result));
  }
  return OneOrTuple(std::move(results));
}

bool IsIndexList(const Shape& shape, int64_t count) {
  return shape.IsTuple() && static_cast<int64_t>(shape.tuple_shapes().size()) == count &&
         std::all_of(shape.tuple_shapes().begin(), shape.tuple_shapes().end(), [](const Shape& element) {
           return element.IsArray() && element.IsScalar() && IsIntegral(element.element_type());
         });
}

// (input, output, where slices begin in the input, in the output): an index list each, or a tuple of several.
absl::StatusOr<Shape> InferPermuteInPlace(const InferenceQuery& query) {
  const Shape &input = query.operand(0), &output = query.operand(1);
  if (!input.IsArray() || !output.IsArray() || input.element_type() != output.element_type() ||
      input.rank() != output.rank()) {
    return query.Fail("takes arrays of one type and rank in place, got ", input.ToString(false), " and ",
                      output.ToString(false));
  }
  const Shape& lists = query.operand(2);
  const auto is_list = [&](const Shape& list) { return IsIndexList(list, input.rank()); };
  if (!is_list(lists) && !std::all_of(lists.tuple_shapes().begin(), lists.tuple_shapes().end(), is_list)) {
    return query.Fail("operand 2 is ", lists.ToString(false), ", expected an integer per dimension of ",
                      input.ToString(false), " for each slice");
  }
  if (!Shape::Compatible(lists, query.operand(3))) {
    return query.Fail("operand 3 is ", query.operand(3).ToString(false), ", expected ", lists.ToString(false));
  }
  return WithoutBounds(output);
}

absl::StatusOr<Shape> Part(const InferenceQuery& query, size_t index) {
  const Shape& operand = query.operand(0);
  if (!operand.IsTuple() || operand.tuple_shapes().size() <= index) {
    return query.Fail("takes what its start gives, got ", operand.ToString(false));
  }
  return operand.tuple_shapes(index);
}

}  // namespace

absl::StatusOr<Shape> InferAllGather(const InferenceQuery& query) {
  return InferScaled(query, /*grows=*/true, query.declared);
}

absl::StatusOr<Shape> InferReduceScatter(const InferenceQuery& query) {
  KILN_RETURN_IF_ERROR(CheckReducer(query));
  return InferScaled(query, /*grows=*/false, query.declared);
}

absl::StatusOr<Shape> InferAllReduce(const InferenceQuery& query) {
  KILN_RETURN_IF_ERROR(CheckReducer(query));
  return InferCollectiveBroadcast(query);
}

absl::StatusOr<Shape> InferCollectiveBroadcast(const InferenceQuery& query) {
  KILN_RETURN_IF_ERROR(CheckCollective(query));
  return SameAsOperands(query);
}

// (operands, results)
absl::StatusOr<Shape> InferAllGatherStart(const InferenceQuery& query) {
  const Shape* declared = nullptr;
  if (query.declared != nullptr) {
    if (!query.declared->IsTuple() || query.declared->tuple_shapes().size() < 2) {
      return query.Fail("the result must be (operand, result), declared as ", query.declared->ToString(false));
    }
    declared = &query.declared->tuple_shapes(1);
  }
  KILN_ASSIGN_OR_RETURN(Shape result, InferScaled(query, /*grows=*/true, declared));
  return Shape::Tuple({SameAsOperands(query), std::move(result)});
}

absl::StatusOr<Shape> InferAllToAll(const InferenceQuery& query) {
  KILN_RETURN_IF_ERROR(CheckCollective(query));
  if (query.operands.size() > 1 || (query.declared != nullptr && query.declared->IsTuple())) {
    std::vector<Shape> shapes;
    for (const Shape* operand : query.operands) {
      if (!Shape::Compatible(*operand, query.operand(0))) return query.Fail("operands must have one shape");
      shapes.push_back(WithoutBounds(*operand));
    }
    return Shape::Tuple(std::move(shapes));
  }
  const Shape& operand = query.operand(0);
  const int64_t dimension = query.Get<CollectiveAttributes>().dimension;
  KILN_RETURN_IF_ERROR(CheckDimensionList(query, {dimension}, operand.rank(), "dimensions"));
  const int64_t group = GroupSize(query);
  if (group != 0 && operand.dimensions(dimension) % group != 0) {
    return query.Fail("dimension ", dimension, " of ", operand.ToString(false), " does not divide into groups of ",
                      group);
  }
  return WithoutBounds(operand);
}

// (input, output, input offsets, send sizes, output offsets, received sizes): rows of the input go into the output.
absl::StatusOr<Shape> InferRaggedAllToAll(const InferenceQuery& query) {
  KILN_RETURN_IF_ERROR(CheckCollective(query));
  const Shape &input = query.operand(0), &output = query.operand(1);
  bool fits = input.rank() == output.rank() && input.rank() >= 1 && input.element_type() == output.element_type();
  for (int64_t d = 1; fits && d < input.rank(); ++d) fits = input.dimensions(d) == output.dimensions(d);
  if (!fits) {
    return query.Fail("the input ", input.ToString(false), " and the output ", output.ToString(false),
                      " may differ in their first dimension only");
  }
  for (size_t i = 2; i < 6; ++i) {
    const Shape& list = query.operand(i);
    if (list.rank() != 1 || !IsIntegral(list.element_type()) || list.dimensions() != query.operand(2).dimensions()) {
      return query.Fail("operand ", i, " is ", list.ToString(false), ", expected vectors of integers of one size");
    }
  }
  return WithoutBounds(output);
}

absl::StatusOr<Shape> InferPermute(const InferenceQuery& query) {
  if (query.operands.size() == 4 && query.operand(2).IsTuple()) return InferPermuteInPlace(query);
  KILN_RETURN_IF_ERROR(CheckCollective(query));
  for (const auto& [source, target] : query.Get<CollectiveAttributes>().source_target_pairs) {
    if (source < 0 || target < 0) return query.Fail("source_target_pairs name a negative device");
  }
  return SameAsOperands(query);
}

// (operand, result, context...)
absl::StatusOr<Shape> InferPermuteStart(const InferenceQuery& query) {
  KILN_RETURN_IF_ERROR(RequireArrays(query));
  KILN_ASSIGN_OR_RETURN(const Shape value, InferPermute(query));
  const Shape context = Shape::Scalar(PrimitiveType::kU32);
  if (query.declared == nullptr) return Shape::Tuple({value, value, context, context});
  const Shape& declared = *query.declared;
  if (!declared.IsTuple() || declared.tuple_shapes().size() < 2 ||
      !Shape::Compatible(declared.tuple_shapes(0), value) || !Shape::Compatible(declared.tuple_shapes(1), value)) {
    return query.Fail("result must be (", value.ToString(false), ", ", value.ToString(false), ", ...), declared as ",
                      declared.ToString(false));
  }
  return declared;
}

absl::StatusOr<Shape> InferCopyStart(const InferenceQuery& query) {
  return Shape::Tuple({query.operand(0), query.operand(0), Shape::Scalar(PrimitiveType::kU32)});
}

absl::StatusOr<Shape> InferFirstPart(const InferenceQuery& query) { return Part(query, 0); }
absl::StatusOr<Shape> InferSecondPart(const InferenceQuery& query) { return Part(query, 1); }

// ((T...), token)
absl::StatusOr<Shape> InferInfeed(const InferenceQuery& query) {
  if (!query.operand(0).IsToken()) return query.Fail("takes a token, got ", query.operand(0).ToString(false));
  KILN_ASSIGN_OR_RETURN(Shape shape, RequireDeclared(query));
  if (!shape.IsTuple() || shape.tuple_shapes().size() != 2 || !shape.tuple_shapes(1).IsToken()) {
    return query.Fail("the result must be (data, token), declared as ", shape.ToString(false));
  }
  return shape;
}

absl::StatusOr<Shape> InferOutfeed(const InferenceQuery& query) {
  if (!query.operand(1).IsToken()) return query.Fail("takes data and a token");
  const Shape& sent = query.Get<FeedAttributes>().outfeed_shape;
  if (!Shape::Compatible(sent, query.operand(0))) {
    return query.Fail("outfeed_shape is ", sent.ToString(false), ", the operand ", query.operand(0).ToString(false));
  }
  return Shape::Token();
}

// send(T, token) -> (T, u32, token); recv(token) likewise, as declared.
absl::StatusOr<Shape> InferSend(const InferenceQuery& query) {
  if (!query.operand(1).IsToken()) return query.Fail("takes data and a token");
  return Shape::Tuple({query.operand(0), Shape::Scalar(PrimitiveType::kU32), Shape::Token()});
}

absl::StatusOr<Shape> InferRecv(const InferenceQuery& query) {
  if (!query.operand(0).IsToken()) return query.Fail("takes a token, got ", query.operand(0).ToString(false));
  KILN_ASSIGN_OR_RETURN(Shape shape, RequireDeclared(query));
  if (!shape.IsTuple() || shape.tuple_shapes().size() != 3 || !shape.tuple_shapes(2).IsToken()) {
    return query.Fail("the result must be (data, u32[], token[]), declared as ", shape.ToString(false));
  }
  return shape;
}

absl::StatusOr<Shape> InferSendDone(const InferenceQuery& query) {
  KILN_RETURN_IF_ERROR(Part(query, 2).status());
  return Shape::Token();
}

absl::StatusOr<Shape> InferRecvDone(const InferenceQuery& query) {
  KILN_ASSIGN_OR_RETURN(Shape data, Part(query, 0));
  return Shape::Tuple({std::move(data), Shape::Token()});
}

}  // namespace kiln::hlo
