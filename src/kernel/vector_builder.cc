#include "src/kernel/vector_builder.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"

namespace kiln::kernel {

namespace {

constexpr llvm::StringLiteral kPrefix = "kiln.";

}  // namespace

bool IsHelper(const llvm::Function& function) {
  return function.getName().starts_with(kPrefix) && function.hasFnAttribute(llvm::Attribute::NoInline);
}

llvm::Value* VectorBuilder::CallHelper(
    const std::string& name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments,
    absl::FunctionRef<llvm::Value*(VectorBuilder&, llvm::ArrayRef<llvm::Value*>)> emit) const {
  const std::string full_name = absl::StrCat(kPrefix.str(), name, ".x", lanes);
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
    VectorBuilder body{inner, lanes, target};
    std::vector<llvm::Value*> parameters;
    for (llvm::Argument& parameter : function->args()) parameters.push_back(&parameter);
    llvm::Value* returned = emit(body, parameters);
    inner.CreateRet(returned);
  }
  return ir.CreateCall(function, arguments);
}

Real CopySign(Real a, Real s) {
  Integer sign_bit = a.AsInteger().Constant(a.bits() == 32 ? 0x80000000ll : INT64_MIN);
  return ((a.AsInteger() & ~sign_bit) | (s.AsInteger() & sign_bit)).AsReal();
}

Real Polynomial(Real x, absl::Span<const double> coefficients) {
  Real sum = x.Constant(coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;) sum = MulAdd(sum, x, coefficients[i]);
  return sum;
}

}  // namespace kiln::kernel
