#include "src/kernel/scalar_emitter.h"

#include <cstring>

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "src/base/status.h"

namespace kiln::kernel {

using hlo::Opcode;
using hlo::PrimitiveType;
using hlo::TypeClass;

namespace {

llvm::Type* ScalarRegisterType(llvm::LLVMContext& context, PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kPred:
      return llvm::Type::getInt1Ty(context);
    case PrimitiveType::kF16:
      return llvm::Type::getHalfTy(context);
    case PrimitiveType::kF32:
    case PrimitiveType::kC64:
      return llvm::Type::getFloatTy(context);
    case PrimitiveType::kF64:
    case PrimitiveType::kC128:
      return llvm::Type::getDoubleTy(context);
    default:
      return llvm::IntegerType::get(context, hlo::ByteWidth(type) * 8);
  }
}

}  // namespace

llvm::Type* ScalarEmitter::RegisterType(PrimitiveType type) const {
  return b_.Vector(ScalarRegisterType(b_.context(), type));
}

llvm::Type* ScalarEmitter::MemoryType(PrimitiveType type) const {
  if (type == PrimitiveType::kPred) return llvm::Type::getInt8Ty(b_.context());
  if (type == PrimitiveType::kF16) return llvm::Type::getInt16Ty(b_.context());
  return ScalarRegisterType(b_.context(), type);
}

llvm::Value* ScalarEmitter::FromMemory(PrimitiveType type, llvm::Value* stored) const {
  if (type == PrimitiveType::kPred) return b_.ir.CreateICmpNE(stored, llvm::Constant::getNullValue(stored->getType()));
  if (type == PrimitiveType::kF16) return b_.ir.CreateBitCast(stored, b_.HalfType());
  return stored;
}

llvm::Value* ScalarEmitter::ToMemory(PrimitiveType type, llvm::Value* part) const {
  if (type == PrimitiveType::kPred) return b_.ir.CreateZExt(part, b_.IntType(8));
  if (type == PrimitiveType::kF16) return b_.ir.CreateBitCast(part, b_.IntType(16));
  return part;
}

Value ScalarEmitter::Constant(const hlo::Literal& literal, int64_t index) const {
  const PrimitiveType type = literal.shape().element_type();
  const int part_bytes = hlo::ByteWidth(hlo::ComplexComponentType(type));
  const std::byte* element = literal.bytes().data() + index * hlo::ByteWidth(type);
  auto part = [&](const std::byte* bytes) -> llvm::Value* {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes, part_bytes);
    llvm::Type* scalar = ScalarRegisterType(b_.context(), type);
    if (type == PrimitiveType::kPred) bits = bits != 0;
    if (!scalar->isFloatingPointTy()) return llvm::ConstantInt::get(b_.Vector(scalar), bits);
    return llvm::ConstantFP::get(b_.Vector(scalar),
                                 llvm::APFloat(scalar->getFltSemantics(), llvm::APInt(part_bytes * 8, bits)));
  };
  Value value = Of(type, part(element));
  if (hlo::ClassOf(type) == TypeClass::kComplex) value.imaginary = part(element + part_bytes);
  return value;
}

Value ScalarEmitter::Zero(PrimitiveType type) const {
  Value value = Of(type, llvm::Constant::getNullValue(RegisterType(type)));
  if (hlo::ClassOf(type) == TypeClass::kComplex) value.imaginary = value.value;
  return value;
}

Value ScalarEmitter::Splat(const Value& scalar) const {
  if (b_.lanes == 1 || scalar.value->getType()->isVectorTy()) return scalar;
  return MapParts(scalar, [&](llvm::Value* part) { return b_.ir.CreateVectorSplat(b_.lanes, part); });
}

absl::StatusOr<Value> ScalarEmitter::Elementwise(const hlo::Instruction& instruction, absl::Span<const Value> given) {
  const Opcode opcode = instruction.opcode();
  const PrimitiveType to = instruction.shape().element_type();
  const int expected = hlo::GetOpcodeInfo(opcode).operand_count;
  const bool has_reciprocal = opcode == Opcode::kDivide && given.size() == 3 && hlo::IsFloating(given[0].type);
  if (given.empty() || (static_cast<int>(given.size()) != expected && !has_reciprocal)) {
    return Internal(instruction.Describe(), ": ", hlo::OpcodeName(opcode), " is emitted over ", given.size(),
                    " operands, expected ", expected);
  }
  absl::InlinedVector<Value, 3> operands;
  for (const Value& operand : given) operands.push_back(Splat(operand));
  const PrimitiveType from = operands[0].type;

  switch (opcode) {
    case Opcode::kConvert:
      return Convert(operands[0], to);
    case Opcode::kCopy:
      return operands[0];
    case Opcode::kBitcast:
    case Opcode::kBitcastConvert: {
      if (from == to) return operands[0];
      if (hlo::BitWidth(from) != hlo::BitWidth(to) || hlo::ClassOf(from) == TypeClass::kComplex ||
          hlo::ClassOf(to) == TypeClass::kComplex) {
        break;
      }
      llvm::Value* bits = operands[0].value;
      if (hlo::BitWidth(from) < 8) {
        // The bits without extension, then extended as the result's type wants it (pred: the lowest bit).
        Integer low = Integer(b_, b_.ir.CreateZExtOrTrunc(bits, b_.IntType(8))) & ((1 << hlo::BitWidth(from)) - 1);
        if (to == PrimitiveType::kPred) return Of(to, low != 0);
        return Of(to, Wrap(to, low));
      }
      return Of(to, b_.ir.CreateBitCast(bits, RegisterType(to)));
    }
    case Opcode::kSelect:
      return Select(operands[0].value, operands[1], operands[2]);
    case Opcode::kCompare:
      return Compare(instruction, operands[0], operands[1]);
    case Opcode::kClamp:
      return MinMax(MinMax(operands[1], operands[0], /*is_max=*/true), operands[2], /*is_max=*/false);
    case Opcode::kStochasticConvert:
      return StochasticConvert(instruction, operands[0], operands[1]);
    case Opcode::kComplex:
      return Value{to, operands[0].value, operands[1].value};
    case Opcode::kReal:
      return Of(hlo::ComplexComponentType(from), operands[0].value);
    case Opcode::kImag:
      if (operands[0].imaginary == nullptr) return Zero(from);
      return Of(hlo::ComplexComponentType(from), operands[0].imaginary);
    default:
      break;
  }
  if (hlo::IsElementwise(opcode)) {
    switch (hlo::ClassOf(from)) {
      case TypeClass::kPred:
        return Pred(instruction, operands);
      case TypeClass::kSigned:
      case TypeClass::kUnsigned:
        return Integral(instruction, operands);
      case TypeClass::kFloat:
        return Floating(instruction, operands);
      case TypeClass::kComplex:
        return Complex(instruction, operands);
      case TypeClass::kNone:
        break;
    }
  }
  return Undefined(instruction, from);
}

absl::Status Undefined(const hlo::Instruction& instruction, PrimitiveType type) {
  return Unimplemented(instruction.Describe(), ": ", hlo::OpcodeName(instruction.opcode()), " is not defined for ",
                       hlo::PrimitiveTypeName(type), " elements (result ", instruction.shape().ToString(), ")");
}

}  // namespace kiln::kernel
