#include "src/kernel/vector_builder.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"

namespace kiln::kernel {

namespace {

constexpr llvm::StringLiteral kPrefix = "kiln.";

}  // namespace

bool IsHelper(const llvm::Function& function) {
  return function.getName().starts_with(kPrefix) && function.hasFnAttribute(llvm::Attribute::NoInline);
}

llvm::Value* Fenced(llvm::IRBuilder<>& b, llvm::Value* vector) {
  constexpr unsigned kSingle = 32, kDouble = 64;
  llvm::Type* type = vector->getType();
  const auto bits = static_cast<unsigned>(type->getPrimitiveSizeInBits().getFixedValue());
  if (bits % kDouble != 0 || llvm::isa<llvm::Constant>(vector)) return vector;
  // Floats are what fences are for; as one number half a register stays one.
  llvm::Type* floats = b.getDoubleTy();
  if (bits > kDouble) {
    floats = type->getScalarSizeInBits() == kDouble ? llvm::FixedVectorType::get(floats, bits / kDouble)
                                                    : llvm::FixedVectorType::get(b.getFloatTy(), bits / kSingle);
  }
  return b.CreateBitCast(b.CreateArithmeticFence(b.CreateBitCast(vector, floats), floats), type);
}

Integer Integer::Opaque() const {
  return b_->target == Target::kCpu && b_->lanes > 1 ? Integer(*b_, Fenced(ir(), v_)) : *this;
}

llvm::Value* VectorBuilder::CallHelper(
    const std::string& name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments,
    absl::FunctionRef<llvm::Value*(VectorBuilder&, llvm::ArrayRef<llvm::Value*>)> emit) const {
  const std::string full_name = absl::StrCat(kPrefix.str(), name, few_elements ? ".few" : "", ".x", lanes);
  llvm::Function* function = module()->getFunction(full_name);
  if (function == nullptr) {
    std::vector<llvm::Type*> types;
    for (llvm::Value* argument : arguments) types.push_back(argument->getType());
    function = llvm::Function::Create(llvm::FunctionType::get(result, types, /*isVarArg=*/false),
                                      llvm::GlobalValue::InternalLinkage, full_name, module());
    // Vectors travel in registers only when caller and callee agree on the processor's features.
    const llvm::Function* caller = ir.GetInsertBlock()->getParent();
    for (const char* kind : {"target-cpu", "target-features", "tune-cpu", "prefer-vector-width",
                             "min-legal-vector-width", "denormal-fp-math", "denormal-fp-math-f32"}) {
      if (caller->hasFnAttribute(kind)) function->addFnAttr(caller->getFnAttribute(kind));
    }
    function->setDoesNotThrow();
    function->setDoesNotAccessMemory();
    function->setWillReturn();
    function->addFnAttr(llvm::Attribute::NoInline);
    llvm::IRBuilder<> inner(llvm::BasicBlock::Create(context(), "entry", function));
    VectorBuilder body{inner, lanes, target, /*flushes_subnormals=*/false, few_elements};
    std::vector<llvm::Value*> parameters;
    for (llvm::Argument& parameter : function->args()) parameters.push_back(&parameter);
    llvm::Value* returned = emit(body, parameters);
    inner.CreateRet(returned);
  }
  return ir.CreateCall(function, arguments);
}

llvm::Value* InPieces(const VectorBuilder& b, int lanes, llvm::ArrayRef<llvm::Value*> operands,
                      absl::FunctionRef<llvm::Value*(llvm::ArrayRef<llvm::Value*>)> operation) {
  if (b.lanes == lanes) return operation(operands);
  // Lanes first, first + 1, ... of a vector of `from`.
  const auto lanes_of = [&](llvm::Value* vector, int first, int count, int from) {
    std::vector<int> indices(static_cast<size_t>(count), llvm::PoisonMaskElem);
    std::iota(indices.begin(), indices.begin() + std::min(count, from - first), first);
    return b.ir.CreateShuffleVector(vector, indices);
  };
  std::vector<llvm::Value*> results;
  for (int first = 0; first < b.lanes; first += lanes) {
    std::vector<llvm::Value*> pieces;
    for (llvm::Value* operand : operands) {
      if (b.lanes > 1) {
        pieces.push_back(lanes_of(operand, first, lanes, b.lanes));
      } else {
        llvm::Type* vector = llvm::FixedVectorType::get(operand->getType(), static_cast<unsigned>(lanes));
        pieces.push_back(b.ir.CreateInsertElement(llvm::PoisonValue::get(vector), operand, uint64_t{0}));
      }
    }
    results.push_back(operation(pieces));
  }
  if (b.lanes == 1) return b.ir.CreateExtractElement(results[0], uint64_t{0});
  const int total = lanes * static_cast<int>(results.size());
  llvm::Value* whole = llvm::concatenateVectors(b.ir, results);
  return total == b.lanes ? whole : lanes_of(whole, 0, b.lanes, total);
}

const llvm::APFloat* ConstantOf(const llvm::Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  if (constant != nullptr && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  return number == nullptr ? nullptr : &number->getValueAPF();
}

Real CopySign(Real a, Real s) {
  Integer sign_bit = a.AsInteger().Constant(a.bits() == 32 ? 0x80000000ll : INT64_MIN);
  return ((a.AsInteger() & ~sign_bit) | (s.AsInteger() & sign_bit)).AsReal();
}

namespace {

// Terms together by twos, these by twos: as many steps wait for each other as the number of terms has digits.
Real BalancedPolynomial(Real x, absl::Span<const double> coefficients) {
  absl::InlinedVector<Real, 16> terms;
  for (size_t i = 0; i < coefficients.size(); i += 2) {
    const bool is_pair = i + 1 < coefficients.size();
    terms.push_back(is_pair ? MulAdd(x, x.Constant(coefficients[i + 1]), coefficients[i])
                            : x.Constant(coefficients[i]));
  }
  for (Real power = x; terms.size() > 1;) {
    power = power * power;
    size_t pairs = 0;
    for (size_t i = 0; i < terms.size(); i += 2, ++pairs) {
      terms[pairs] = i + 1 < terms.size() ? MulAdd(terms[i + 1], power, terms[i]) : terms[i];
    }
    terms.erase(terms.begin() + static_cast<int64_t>(pairs), terms.end());
  }
  return terms[0];
}

}  // namespace

Real Polynomial(Real x, absl::Span<const double> coefficients) {
  // The first term, which is most of the sum, is added last, so that it is rounded but once.
  if (x.builder().few_elements && coefficients.size() > 3) {
    return MulAdd(BalancedPolynomial(x, coefficients.subspan(1)), x, coefficients[0]);
  }
  Real sum = x.Constant(coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;) sum = MulAdd(sum, x, coefficients[i]);
  return sum;
}

}  // namespace kiln::kernel
