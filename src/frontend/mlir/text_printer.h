// The writer behind printer.h: types, attributes and generic forms in printer.cc, short forms in pretty_printer.cc.
#ifndef KILN_FRONTEND_MLIR_TEXT_PRINTER_H_
#define KILN_FRONTEND_MLIR_TEXT_PRINTER_H_

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/frontend/mlir/printer.h"

namespace kiln::mlir {

// An identifier that needs no quotes.
bool IsBare(absl::string_view name);

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}

  std::string Take() { return std::move(text_); }

  void PrintType(const Type& type);
  void PrintAttribute(const Attribute& attribute);
  void PrintOperation(const Operation& operation, int indent);

 private:
  bool Full() {
    if (text_.size() <= options_.max_bytes) return false;
    if (!full_) text_ += "...";
    full_ = true;
    return true;
  }
  template <typename... Parts>
  void Append(const Parts&... parts) {
    absl::StrAppend(&text_, parts...);
  }
  template <typename List, typename Function>
  void Join(const List& list, Function print) {
    bool first = true;
    for (const auto& element : list) {
      if (Full()) return;
      if (!std::exchange(first, false)) Append(", ");
      print(element);
    }
  }
  void PrintTypes(const std::vector<TypeRef>& types) {
    Join(types, [this](TypeRef type) { PrintType(*type); });
  }
  void PrintDims(const std::vector<int64_t>& dims);
  void PrintNamed(absl::Span<const NamedAttribute> attributes);
  void PrintElement(const Type& element, absl::string_view data);
  void PrintElements(const std::vector<int64_t>& dims, size_t dim, const Type& element, absl::string_view& data);
  void PrintDense(const DenseAttribute& dense);
  void PrintRegion(const Region& region, int indent, bool with_arguments = true);
  void PrintFunctionalTypes(const Operation& operation);
  void PrintEnd(const Operation& operation);
  void PrintQuantized(const QuantizedType& type);
  void PrintTensor(const TensorType& tensor);
  void PrintLocation(const Location& location);
  void PrintField(const Attribute& value);
  void PrintStandardStruct(const StructAttribute& structure);
  const std::string& Name(const Value* value);

  // pretty_printer.cc: false, with nothing printed, where only the generic form will do.
  bool PrintShortForm(const Operation& operation, int indent);
  void PrintFunction(const Operation& function, int indent);
  void PrintModule(const Operation& module, int indent);
  void PrintResultNames(const Operation& operation);
  void PrintForm(const Operation& operation, absl::string_view form, int indent);
  void PrintPart(absl::string_view part, const Operation& operation, int indent);
  void PrintShortTypes(absl::string_view kind, const Operation& operation);
  void PrintArguments(const std::vector<Value*>& values, AttributeRef attributes);
  void PrintReduce(const Operation& operation, int indent);
  void PrintWhile(const Operation& operation, int indent);

  const PrintOptions& options_;
  std::string text_;
  bool full_ = false;
  std::unordered_map<const Value*, std::string> names_;
  std::unordered_map<const Block*, int> blocks_;
  int next_result_ = 0;
  int next_argument_ = 0;
};

}  // namespace kiln::mlir

#endif  // KILN_FRONTEND_MLIR_TEXT_PRINTER_H_
