// Owner of everything in an op tree.
#ifndef KILN_FRONTEND_MLIR_CONTEXT_H_
#define KILN_FRONTEND_MLIR_CONTEXT_H_

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "src/frontend/mlir/attribute.h"
#include "src/frontend/mlir/location.h"
#include "src/frontend/mlir/operation.h"
#include "src/frontend/mlir/type.h"

namespace kiln::mlir {

// An arena: nodes refer to each other by plain pointers and die together, so that no destructor recurses however deep a
// program nests. Not thread-safe while it grows; a finished tree may be read from many threads.
class Context {
 public:
  Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  template <typename T>
  TypeRef MakeType(T data) {
    return &types_.emplace_back(Type{std::move(data)});
  }
  template <typename T>
  AttributeRef MakeAttribute(T data) {
    return &attributes_.emplace_back(Attribute{std::move(data)});
  }
  const Location* MakeLocation(Location location) { return &locations_.emplace_back(location); }
  Operation* MakeOperation() { return &operations_.emplace_back(); }
  Block* MakeBlock() { return &blocks_.emplace_back(); }
  Region* MakeRegion() { return &regions_.emplace_back(); }
  Value* MakeValue() { return &values_.emplace_back(); }
  // New parts at the end of others.
  Block* AddBlock(Region* region);
  Region* AddRegion(Operation* operation);
  Value* AddArgument(Block* block, TypeRef type);
  Value* AddResult(Operation* operation, TypeRef type);

  AttributeRef MakeInteger(int64_t value, uint32_t width = 64);   // value : i64
  AttributeRef MakeIntegers(const std::vector<int64_t>& values);  // array<i64: values>
  AttributeRef MakeFlags(std::string values);                     // array<i1: values>, a byte each
  AttributeRef MakeArray(std::vector<AttributeRef> elements) {
    return MakeAttribute(ArrayAttribute{std::move(elements)});
  }
  AttributeRef MakeStruct(absl::string_view name, std::vector<NamedAttribute> fields) {
    return MakeAttribute(StructAttribute{name, std::move(fields)});
  }
  // dense<values> : tensor<rows x columns x i64>
  AttributeRef MakeMatrix(const std::vector<int64_t>& values, int64_t rows, int64_t columns);

  // Keeps `bytes` as long as the context lives.
  absl::string_view Keep(std::string bytes) { return strings_.emplace_back(std::move(bytes)); }
  absl::Span<const NamedAttribute> Keep(std::vector<NamedAttribute> attributes) {
    return lists_.emplace_back(std::move(attributes));
  }

  absl::string_view KeepIntegers(const std::vector<int64_t>& values);  // 8 bytes each

  const Location* unknown_location() const { return &unknown_location_; }
  TypeRef none_type() const { return &none_type_; }
  TypeRef i64_type() const { return &i64_type_; }
  AttributeRef unit_attribute() const { return &unit_attribute_; }

 private:
  std::deque<Type> types_;
  std::deque<Attribute> attributes_;
  std::deque<Location> locations_;
  std::deque<Operation> operations_;
  std::deque<Block> blocks_;
  std::deque<Region> regions_;
  std::deque<Value> values_;
  std::deque<std::string> strings_;
  std::deque<std::vector<NamedAttribute>> lists_;
  const Location unknown_location_;
  const Type none_type_;
  const Type i64_type_{IntegerType{64, Signedness::kSignless}};
  const Attribute unit_attribute_;
};

// A whole program.
struct Module {
  Context context;
  Operation* root = nullptr;  // A builtin.module with one region of one block.

  // The function `name` (without @), or null.
  const Operation* FindFunction(absl::string_view name) const;
};

}  // namespace kiln::mlir

#endif  // KILN_FRONTEND_MLIR_CONTEXT_H_
