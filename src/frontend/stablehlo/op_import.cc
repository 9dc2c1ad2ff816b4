#include "src/frontend/stablehlo/op_import.h"

#include <utility>

#include "absl/strings/strip.h"
#include "src/frontend/mlir/printer.h"
#include "src/hlo/shape_inference.h"

namespace kiln::stablehlo {
namespace {

template <typename T, typename Fallback>
absl::StatusOr<T> Pick(const OpImport& op, absl::string_view name, std::optional<T> value,
                       const std::optional<Fallback>& fallback, absl::string_view kind) {
  if (value.has_value()) return *std::move(value);
  const mlir::AttributeRef attribute = op.attribute(name);
  if (attribute == nullptr && fallback.has_value()) return T(*fallback);
  if (attribute == nullptr) return op.Invalid("attribute ", name, " is missing");
  mlir::PrintOptions options;
  options.max_bytes = 200;
  return op.Invalid("attribute ", name, " must be ", kind, ", found ", mlir::Print(*attribute, options));
}

}  // namespace

std::string Describe(const mlir::Operation& operation) {
  return absl::StrCat(operation.name, " (", mlir::ToString(*operation.location), ")");
}

std::string OpImport::Describe() const { return stablehlo::Describe(operation_); }

absl::Status OpImport::ReadOperands() {
  if (IsQuantized(operation_)) {
    KILN_ASSIGN_OR_RETURN(view_, ChooseView(operation_));
  }
  hlo::Builder builder(body_.computation(), nullptr);
  operands_.reserve(operation_.operands.size());
  for (const mlir::Value* value : operation_.operands) {
    KILN_ASSIGN_OR_RETURN(hlo::Instruction * instruction, body_.Get(value, operation_));
    const mlir::QuantizedType* type = QuantizedElement(*value->type);
    if (type != nullptr) instruction = FromStorage(builder, instruction, view_, *type);
    operands_.push_back(instruction);
  }
  AnnotateAll(builder);
  return absl::OkStatus();
}

absl::StatusOr<hlo::Shape> OpImport::ResultShape(size_t index) const {
  const mlir::Type& type = *operation_.results[index]->type;
  absl::StatusOr<hlo::Shape> shape = ToOpenShape(type);
  if (!shape.ok()) return kiln::Annotate(shape.status(), Describe());
  if (const mlir::QuantizedType* quantized = QuantizedElement(type)) {
    shape->set_element_type(ViewedElement(view_, *quantized));
  }
  return shape;
}

absl::StatusOr<std::vector<hlo::Shape>> OpImport::ResultShapeList(size_t count) const {
  std::vector<hlo::Shape> shapes(count);
  for (size_t i = 0; i < count; ++i) {
    KILN_ASSIGN_OR_RETURN(shapes[i], ResultShape(i));
  }
  return shapes;
}

absl::StatusOr<hlo::Shape> OpImport::ResultShapes() const {
  KILN_ASSIGN_OR_RETURN(std::vector<hlo::Shape> shapes, ResultShapeList(result_count()));
  return shapes.size() == 1 ? shapes[0] : hlo::Shape::Tuple(std::move(shapes));
}

absl::StatusOr<hlo::DimensionVector> OpImport::ConstantOperand(size_t index, absl::string_view what) {
  const hlo::Literal* value = module().constants.Find(operands_[index]);
  if (value == nullptr || !hlo::IsIntegral(value->shape().element_type()) || value->shape().rank() > 2) {
    return Unsupported(what, " must be constant once the program's arguments have static shapes");
  }
  hlo::DimensionVector values;
  for (int64_t i = 0; i < value->element_count(); ++i) values.push_back(hlo::ElementAsInt64(*value, i));
  return values;
}

absl::StatusOr<hlo::Shape> OpImport::ResultOfSizes(const hlo::DimensionVector& sizes, size_t index) const {
  KILN_ASSIGN_OR_RETURN(const hlo::Shape declared, ResultShape(index));
  hlo::Shape shape(declared.element_type(), sizes);
  for (int64_t size : sizes) {
    if (size < 0) return Invalid("asks for a dimension of size ", size);
  }
  KILN_RETURN_IF_ERROR(hlo::ValidateShape(shape));
  if (!Fits(declared, shape)) {
    return Invalid("asks for ", shape.ToString(false), ", declared as ", mlir::Print(*operation_.results[index]->type));
  }
  return shape;
}

absl::StatusOr<int64_t> OpImport::Integer(absl::string_view name, std::optional<int64_t> fallback) const {
  return Pick(*this, name, mlir::AsInteger(attribute(name)), fallback, "an integer");
}

absl::StatusOr<bool> OpImport::Bool(absl::string_view name, std::optional<bool> fallback) const {
  return Pick(*this, name, mlir::AsBool(attribute(name)), fallback, "a boolean");
}

absl::StatusOr<std::string> OpImport::String(absl::string_view name, std::optional<std::string> fallback) const {
  std::optional<std::string> value;
  if (std::optional<absl::string_view> text = mlir::AsString(attribute(name))) value = std::string(*text);
  return Pick(*this, name, std::move(value), fallback, "a string");
}

absl::StatusOr<absl::string_view> OpImport::Enum(absl::string_view name,
                                                 std::optional<absl::string_view> fallback) const {
  std::optional<absl::string_view> value;
  const mlir::AttributeRef found = attribute(name);
  if (found != nullptr && found->As<mlir::EnumAttribute>() != nullptr) value = found->As<mlir::EnumAttribute>()->value;
  return Pick(*this, name, value, fallback, "an enum");
}

absl::StatusOr<hlo::DimensionVector> OpImport::Integers(absl::string_view name,
                                                        std::optional<std::vector<int64_t>> fallback) const {
  KILN_ASSIGN_OR_RETURN(const std::vector<int64_t> values,
                        Pick(*this, name, mlir::AsIntegers(attribute(name)), fallback, "a list of integers"));
  return hlo::DimensionVector(values.begin(), values.end());
}

absl::StatusOr<hlo::DimensionVector> OpImport::IntegersOf(absl::string_view name, size_t count,
                                                          std::optional<int64_t> fallback) const {
  std::optional<std::vector<int64_t>> all;
  if (fallback.has_value()) all.emplace(count, *fallback);
  KILN_ASSIGN_OR_RETURN(hlo::DimensionVector values, Integers(name, std::move(all)));
  if (values.size() != count) return Invalid("attribute ", name, " has ", values.size(), " entries, expected ", count);
  return values;
}

absl::StatusOr<std::vector<std::pair<int64_t, int64_t>>> OpImport::Pairs(absl::string_view name, size_t count) const {
  KILN_ASSIGN_OR_RETURN(const hlo::DimensionVector flat, IntegersOf(name, 2 * count, 0));
  std::vector<std::pair<int64_t, int64_t>> pairs(count);
  for (size_t i = 0; i < count; ++i) pairs[i] = {flat[2 * i], flat[2 * i + 1]};
  return pairs;
}

absl::StatusOr<std::vector<hlo::Precision>> OpImport::Precisions() const {
  std::vector<hlo::Precision> precisions;
  const mlir::AttributeRef found = attribute("precision_config");
  if (found == nullptr) return precisions;
  const auto* array = found->As<mlir::ArrayAttribute>();
  if (array == nullptr) return Invalid("attribute precision_config must be a list");
  bool all_default = true;
  for (mlir::AttributeRef element : array->elements) {
    const auto* precision = element->As<mlir::EnumAttribute>();
    if (precision == nullptr) return Invalid("precision_config must hold precisions");
    const bool high = precision->value == "HIGH";
    const bool highest = precision->value == "HIGHEST";
    if (!high && !highest && precision->value != "DEFAULT") return Invalid("unknown precision ", precision->value);
    all_default = all_default && !high && !highest;
    precisions.push_back(high ? hlo::Precision::kHigh : highest ? hlo::Precision::kHighest : hlo::Precision::kDefault);
  }
  if (all_default) return std::vector<hlo::Precision>();
  if (precisions.size() != 2) return Invalid("precision_config has ", precisions.size(), " entries, expected 2");
  return precisions;
}

hlo::Instruction* OpImport::Add(hlo::Opcode opcode, hlo::Shape shape, std::vector<hlo::Instruction*> operands,
                                hlo::Attributes attributes, std::vector<hlo::Computation*> called) {
  if (IsOpen(shape)) {
    absl::StatusOr<hlo::Shape> refined = RefineShape(opcode, operands, attributes, called, shape);
    if (!refined.ok()) unresolved_.Update(refined.status());
    shape = refined.ok() ? *std::move(refined) : Closed(shape);
  }
  hlo::Instruction* instruction =
      body_.computation()->Add(opcode, std::move(shape), std::move(operands), std::move(attributes), std::move(called));
  Annotate(instruction);
  if (module().checks_each_op && invalid_.ok()) {
    std::vector<const hlo::Shape*> shapes;
    for (const hlo::Instruction* operand : instruction->operands()) shapes.push_back(&operand->shape());
    const absl::Status status = hlo::InferShape(opcode, shapes, instruction->attributes(),
                                                instruction->called_computations(), &instruction->shape())
                                    .status();
    if (!status.ok())
      invalid_ = Invalid(absl::StripPrefix(status.message(), absl::StrCat(hlo::OpcodeName(opcode), ": ")));
  }
  return instruction;
}

void OpImport::Annotate(hlo::Instruction* instruction) const {
  const mlir::Location& location = *operation_.location;
  if (location.known()) {
    hlo::Metadata metadata;
    metadata.op_name = std::string(location.name);
    metadata.source_file = std::string(location.file);
    metadata.source_line = location.line;
    metadata.source_column = location.column;
    instruction->set_metadata(std::move(metadata));
  }
  if (operation_.discardable.empty()) return;
  if (auto sharding = mlir::AsString(mlir::Find(operation_.discardable, "mhlo.sharding"))) {
    instruction->set_sharding(std::string(*sharding));
  }
  if (mlir::AttributeRef extra = mlir::Find(operation_.discardable, "mhlo.frontend_attributes")) {
    if (const auto* dictionary = extra->As<mlir::DictionaryAttribute>()) {
      for (const mlir::NamedAttribute& entry : dictionary->entries) {
        const std::optional<absl::string_view> text = mlir::AsString(entry.value);
        (*instruction->mutable_frontend_attributes())[std::string(entry.name)] =
            text.has_value() ? std::string(*text) : mlir::Print(*entry.value);
      }
    }
  }
}

void OpImport::AnnotateAll(const hlo::Builder& builder) const {
  for (hlo::Instruction* instruction : builder.added()) Annotate(instruction);
}

hlo::Instruction* OpImport::AddTupleElement(hlo::Instruction* tuple, int64_t index) {
  hlo::Instruction* element = body_.computation()->Add(
      hlo::Opcode::kGetTupleElement, tuple->shape().tuple_shapes(index), {tuple}, hlo::TupleIndexAttributes{index});
  element->CopyMetadataFrom(*tuple);
  return element;
}

absl::Status OpImport::Define(hlo::Instruction* instruction) {
  return Define(std::vector<hlo::Instruction*>{instruction});
}

absl::Status OpImport::Define(const std::vector<hlo::Instruction*>& instructions) {
  if (instructions.size() != result_count()) {
    return Invalid("has ", result_count(), " results, expected ", instructions.size());
  }
  if (!unresolved_.ok()) {
    return Invalid("the open dimensions of its result do not follow from its operands: ", unresolved_.message());
  }
  hlo::Builder builder(body_.computation(), nullptr);
  for (size_t i = 0; i < instructions.size(); ++i) {
    KILN_ASSIGN_OR_RETURN(const hlo::Shape declared, ResultShape(i));
    if (!Fits(declared, instructions[i]->shape())) {
      return Invalid("result ", i, " is declared as ",
                     IsOpen(declared) ? mlir::Print(*operation_.results[i]->type) : declared.ToString(false),
                     ", expected ", instructions[i]->shape().ToString(false));
    }
    hlo::Instruction* instruction = instructions[i];
    const mlir::QuantizedType* type = QuantizedElement(*operation_.results[i]->type);
    if (type != nullptr) instruction = ToStorage(builder, instruction, view_, *type, operation_);
    body_.Define(operation_.results[i], instruction);
  }
  AnnotateAll(builder);
  return absl::OkStatus();
}

absl::Status OpImport::Finish(hlo::Opcode opcode, std::vector<hlo::Instruction*> operands, hlo::Attributes attributes,
                              std::vector<hlo::Computation*> called) {
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, ResultShapes());
  return DefineTuple(Add(opcode, std::move(shape), std::move(operands), std::move(attributes), std::move(called)));
}

absl::Status OpImport::DefineTuple(hlo::Instruction* instruction) {
  if (result_count() == 1) return Define(instruction);
  if (!instruction->shape().IsTuple() || instruction->shape().tuple_shapes().size() != result_count()) {
    return Invalid("has ", result_count(), " results, expected those of ", instruction->shape().ToString(false));
  }
  std::vector<hlo::Instruction*> elements;
  for (size_t i = 0; i < result_count(); ++i) elements.push_back(AddTupleElement(instruction, static_cast<int64_t>(i)));
  return Define(elements);
}

}  // namespace kiln::stablehlo
