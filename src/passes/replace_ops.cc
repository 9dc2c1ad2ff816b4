#include "src/passes/replace_ops.h"

#include <vector>

namespace kiln::passes {

void ReadThrough(Instruction* value, absl::FunctionRef<Instruction*(Builder& builder)> make) {
  const std::vector<Instruction*> users(value->users().begin(), value->users().end());
  const bool is_root = value->IsRoot();
  Builder builder(value->parent(), value);
  Instruction* made = make(builder);
  for (Instruction* user : users) {
    for (int64_t i = 0; i < user->operand_count(); ++i) {
      if (user->operand(i) == value) user->ReplaceOperand(i, made);
    }
  }
  if (is_root) value->parent()->set_root(made);
}

}  // namespace kiln::passes
