#include "src/frontend/mlir/context.h"

namespace kiln::mlir {

AttributeRef Context::MakeInteger(int64_t value, uint32_t width) {
  IntegerAttribute integer;
  integer.type = width == 64 ? i64_type() : MakeType(IntegerType{width});
  integer.value = static_cast<uint64_t>(value);
  return MakeAttribute(std::move(integer));
}

absl::string_view Context::KeepIntegers(const std::vector<int64_t>& values) {
  std::string data;
  data.reserve(values.size() * 8);
  for (int64_t value : values) {
    for (int i = 0; i < 8; ++i) data.push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i)));
  }
  return Keep(std::move(data));
}

AttributeRef Context::MakeIntegers(const std::vector<int64_t>& values) {
  return MakeAttribute(DenseArrayAttribute{i64_type(), static_cast<int64_t>(values.size()), KeepIntegers(values)});
}

AttributeRef Context::MakeFlags(std::string values) {
  const int64_t size = static_cast<int64_t>(values.size());
  return MakeAttribute(DenseArrayAttribute{MakeType(IntegerType{1}), size, Keep(std::move(values))});
}

AttributeRef Context::MakeMatrix(const std::vector<int64_t>& values, int64_t rows, int64_t columns) {
  const TypeRef type = MakeType(TensorType{{rows, columns}, i64_type()});
  return MakeAttribute(DenseAttribute{type, KeepIntegers(values), values.size() == 1});
}

Block* Context::AddBlock(Region* region) {
  region->blocks.push_back(MakeBlock());
  region->blocks.back()->parent = region;
  return region->blocks.back();
}

Region* Context::AddRegion(Operation* operation) {
  operation->regions.push_back(MakeRegion());
  operation->regions.back()->parent = operation;
  return operation->regions.back();
}

Value* Context::AddArgument(Block* block, TypeRef type) {
  Value* value = MakeValue();
  *value = {type, nullptr, block, static_cast<uint32_t>(block->arguments.size())};
  block->arguments.push_back(value);
  return value;
}

Value* Context::AddResult(Operation* operation, TypeRef type) {
  Value* value = MakeValue();
  *value = {type, operation, nullptr, static_cast<uint32_t>(operation->results.size())};
  operation->results.push_back(value);
  return value;
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
