// Elementwise operations.
#include <utility>

#include "absl/strings/str_join.h"
#include "src/hlo/shape_inference_rules.h"

namespace kiln::hlo {
namespace {

// Sets of type classes that an operation accepts.
enum TypeSet : unsigned {
  kPredSet = 1,
  kSignedSet = 2,
  kUnsignedSet = 4,
  kFloatSet = 8,
  kComplexSet = 16,
  kIntegers = kSignedSet | kUnsignedSet,
  kReals = kIntegers | kFloatSet,
  kNumbers = kReals | kComplexSet,
  kInexact = kFloatSet | kComplexSet,
  kBits = kPredSet | kIntegers,
  kAny = kNumbers | kPredSet,
};

unsigned SetOf(PrimitiveType type) {
  switch (ClassOf(type)) {
    case TypeClass::kPred:
      return kPredSet;
    case TypeClass::kSigned:
      return kSignedSet;
    case TypeClass::kUnsigned:
      return kUnsignedSet;
    case TypeClass::kFloat:
      return kFloatSet;
    case TypeClass::kComplex:
      return kComplexSet;
    case TypeClass::kNone:
      break;
  }
  return 0;
}

unsigned AcceptedTypes(Opcode opcode) {
  switch (opcode) {
    case Opcode::kConvert:
    case Opcode::kCompare:
    case Opcode::kSelect:
    case Opcode::kAdd:
    case Opcode::kMultiply:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kClamp:
      return kAny;
    case Opcode::kAbs:
    case Opcode::kSign:
      return kSignedSet | kUnsignedSet | kInexact;
    case Opcode::kNegate:
    case Opcode::kSubtract:
    case Opcode::kDivide:
    case Opcode::kPower:
      return kNumbers;
    case Opcode::kRemainder:
      return kReals;
    case Opcode::kNot:
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
      return kBits;
    case Opcode::kPopcnt:
    case Opcode::kCountLeadingZeros:
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical:
    case Opcode::kMulhi:
      return kIntegers;
    case Opcode::kCeil:
    case Opcode::kFloor:
    case Opcode::kRoundNearestAfz:
    case Opcode::kRoundNearestEven:
    case Opcode::kIsFinite:
    case Opcode::kReducePrecision:
    case Opcode::kErf:
    case Opcode::kErfc:
    case Opcode::kComplex:
    case Opcode::kStochasticConvert:
    case Opcode::kFma:
      return kFloatSet;
    default:
      // The transcendental functions, real and imag.
      return kInexact;
  }
}

// Bounded dimensions of the operands stay bounded in the result.
Shape MergeDynamic(const Shape& a, const Shape& b) {
  Shape result = RowMajor(a);
  for (int64_t i = 0; i < a.rank(); ++i) {
    if (b.is_dynamic_dimension(i)) result.set_dynamic_dimension(i, true);
  }
  return result;
}

absl::Status CheckTypes(const InferenceQuery& query, size_t index) {
  const PrimitiveType type = query.operand(index).element_type();
  if ((SetOf(type) & AcceptedTypes(query.opcode)) != 0) return absl::OkStatus();
  std::vector<absl::string_view> names;
  for (const auto& [set, name] : {std::pair(kPredSet, "pred"),
                                  {kIntegers, "integers"},
                                  {kFloatSet, "floats"},
                                  {kComplexSet, "complex numbers"}}) {
    if ((AcceptedTypes(query.opcode) & set) != 0) names.push_back(name);
  }
  return query.Fail("operand ", index, " is ", query.operand(index).ToString(false), ", expected elements of ",
                    absl::StrJoin(names, " or "));
}

absl::Status CheckSameType(const InferenceQuery& query, size_t a, size_t b) {
  if (query.operand(a).element_type() == query.operand(b).element_type()) return absl::OkStatus();
  return query.Fail("operands must have the same element type, got ", query.operand(a).ToString(false), " and ",
                    query.operand(b).ToString(false));
}

absl::Status CheckComparison(const InferenceQuery& query) {
  const auto& compare = query.Get<CompareAttributes>();
  const TypeClass type_class = ClassOf(query.operand(0).element_type());
  bool fits = true;
  switch (compare.type) {
    case ComparisonType::kDefault:
      break;
    case ComparisonType::kFloat:
      fits = type_class == TypeClass::kFloat || type_class == TypeClass::kComplex;
      break;
    case ComparisonType::kTotalOrder:
      fits = type_class == TypeClass::kFloat || type_class == TypeClass::kSigned || type_class == TypeClass::kUnsigned;
      break;
    case ComparisonType::kSigned:
      fits = type_class == TypeClass::kSigned;
      break;
    case ComparisonType::kUnsigned:
      fits = type_class == TypeClass::kUnsigned || type_class == TypeClass::kPred;
      break;
  }
  return fits ? absl::OkStatus() : query.Fail("the comparison type does not fit ", query.operand(0).ToString(false));
}

}  // namespace

absl::StatusOr<Shape> InferUnary(const InferenceQuery& query) {
  KILN_RETURN_IF_ERROR(CheckTypes(query, 0));
  const Shape& operand = query.operand(0);
  Shape result = RowMajor(operand);
  switch (query.opcode) {
    case Opcode::kConvert: {
      KILN_ASSIGN_OR_RETURN(Shape declared, RequireDeclaredArray(query));
      result.set_element_type(declared.element_type());
      break;
    }
    case Opcode::kAbs:
    case Opcode::kReal:
    case Opcode::kImag:
      result.set_element_type(ComplexComponentType(operand.element_type()));
      break;
    case Opcode::kIsFinite:
      result.set_element_type(PrimitiveType::kPred);
      break;
    case Opcode::kReducePrecision: {
      const auto& precision = query.Get<ReducePrecisionAttributes>();
      if (precision.exponent_bits < 1 || precision.mantissa_bits < 0) {
        return query.Fail("exponent_bits is ", precision.exponent_bits, " and mantissa_bits ", precision.mantissa_bits,
                          ", expected at least 1 and 0");
      }
      break;
    }
    default:
      break;
  }
  return result;
}

absl::StatusOr<Shape> InferBinary(const InferenceQuery& query) {
  KILN_RETURN_IF_ERROR(CheckTypes(query, 0));
  KILN_RETURN_IF_ERROR(CheckSameDimensions(query, 0, 1));
  Shape result = MergeDynamic(query.operand(0), query.operand(1));
  const PrimitiveType type = query.operand(0).element_type();
  if (query.opcode == Opcode::kStochasticConvert) {
    const PrimitiveType random = query.operand(1).element_type();
    if (!IsUnsignedIntegral(random) || BitWidth(random) != BitWidth(type)) {
      return query.Fail("random bits must be unsigned integers as wide as the operand, got ",
                        query.operand(1).ToString(false));
    }
    KILN_ASSIGN_OR_RETURN(Shape declared, RequireDeclaredArray(query));
    result.set_element_type(declared.element_type());
    return result;
  }
  KILN_RETURN_IF_ERROR(CheckSameType(query, 0, 1));
  switch (query.opcode) {
    case Opcode::kCompare:
      KILN_RETURN_IF_ERROR(CheckComparison(query));
      result.set_element_type(PrimitiveType::kPred);
      break;
    case Opcode::kComplex:
      if (type != PrimitiveType::kF32 && type != PrimitiveType::kF64) {
        return query.Fail("takes f32 or f64, got ", PrimitiveTypeName(type));
      }
      result.set_element_type(type == PrimitiveType::kF32 ? PrimitiveType::kC64 : PrimitiveType::kC128);
      break;
    default:
      break;
  }
  return result;
}

absl::StatusOr<Shape> InferTernary(const InferenceQuery& query) {
  if (query.opcode == Opcode::kSelect) {
    const Shape& predicate = query.operand(0);
    if (predicate.element_type() != PrimitiveType::kPred) {
      return query.Fail("the predicate must be pred, got ", predicate.ToString(false));
    }
    KILN_RETURN_IF_ERROR(CheckSameDimensions(query, 1, 2));
    KILN_RETURN_IF_ERROR(CheckSameType(query, 1, 2));
    Shape result = MergeDynamic(query.operand(1), query.operand(2));
    if (predicate.rank() != 0) {
      KILN_RETURN_IF_ERROR(CheckSameDimensions(query, 0, 1));
      result = MergeDynamic(result, predicate);
    }
    return result;
  }
  // clamp(low, x, high), fma(a, b, c)
  KILN_RETURN_IF_ERROR(CheckTypes(query, 1));
  Shape result = RowMajor(query.operand(1));
  for (size_t other : {0, 2}) {
    KILN_RETURN_IF_ERROR(CheckSameType(query, other, 1));
    if (query.opcode == Opcode::kClamp && query.operand(other).rank() == 0) continue;
    KILN_RETURN_IF_ERROR(CheckSameDimensions(query, other, 1));
    result = MergeDynamic(result, query.operand(other));
  }
  return result;
}

}  // namespace kiln::hlo
