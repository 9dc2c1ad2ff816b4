// Tables that the code of functions finds in memory.
#ifndef KILN_KERNEL_MATH_MEMORY_TABLE_H_
#define KILN_KERNEL_MATH_MEMORY_TABLE_H_

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"
#include "src/kernel/vector_builder.h"

namespace kiln::kernel::math {

// Element `index`, i64, of the table that the module knows by this name from then on.
template <typename T>
llvm::Value* LoadFromTable(const VectorBuilder& b, const char* name, llvm::ArrayRef<T> elements, llvm::Value* index) {
  llvm::GlobalVariable* table = b.module()->getGlobalVariable(name, /*AllowInternal=*/true);
  if (table == nullptr) {
    llvm::Constant* all = llvm::ConstantDataArray::get(b.context(), elements);
    table = new llvm::GlobalVariable(*b.module(), all->getType(), /*isConstant=*/true,
                                     llvm::GlobalValue::InternalLinkage, all, name);
  }
  llvm::Type* type = table->getValueType()->getArrayElementType();
  return b.ir.CreateAlignedLoad(type, b.ir.CreateInBoundsGEP(type, table, index), llvm::Align(sizeof(T)));
}

}  // namespace kiln::kernel::math

#endif  // KILN_KERNEL_MATH_MEMORY_TABLE_H_
