#include "src/frontend/mlir/context.h"

namespace kiln::mlir {

AttributeRef Context::MakeInteger(int64_t value) {
  IntegerAttribute integer;
  integer.type = i64_type();
  integer.value = static_cast<uint64_t>(value);
  return MakeAttribute(std::move(integer));
}

AttributeRef Context::MakeIntegers(const std::vector<int64_t>& values) {
  std::string data;
  data.reserve(values.size() * 8);
  for (int64_t value : values) {
    for (int i = 0; i < 8; ++i) data.push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i)));
  }
  DenseArrayAttribute array;
  array.element = i64_type();
  array.size = static_cast<int64_t>(values.size());
  array.data = Keep(std::move(data));
  return MakeAttribute(array);
}

AttributeRef Operation::Get(absl::string_view attribute_name) const {
  AttributeRef inherent = Find(attributes, attribute_name);
  return inherent != nullptr ? inherent : Find(discardable, attribute_name);
}

const Operation* Module::FindFunction(absl::string_view name) const {
  for (const Region* region : root->regions) {
    for (const Block* block : region->blocks) {
      for (const Operation* operation : block->operations) {
        if (operation->name == "func.func" && AsString(operation->Get("sym_name")) == name) return operation;
      }
    }
  }
  return nullptr;
}

}  // namespace kiln::mlir
