// Calls of functions, composites and custom calls.
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "src/frontend/mlir/printer.h"
#include "src/frontend/stablehlo/op_import.h"
#include "src/frontend/stablehlo/shared_imports.h"

namespace kiln::stablehlo {
namespace {

using hlo::Opcode;

// The op that the composite or custom call `name` is as a whole, of one tensor: "chlo.NAME" and "mhlo.NAME" for real
// numbers, "kiln.NAME", which the JAX package writes, for complex ones too. NAME is HLO's opcode.
std::optional<Opcode> WholeUnary(absl::string_view name, const mlir::Operation& operation) {
  const bool is_own = absl::ConsumePrefix(&name, "kiln.");
  if (!is_own && !absl::ConsumePrefix(&name, "chlo.") && !absl::ConsumePrefix(&name, "mhlo.")) return std::nullopt;
  const std::optional<Opcode> opcode = hlo::ParseOpcode(absl::StrReplaceAll(name, {{"_", "-"}}));
  if (!opcode.has_value() || hlo::KindOf(*opcode) != hlo::OpKind::kElementwiseUnary) return std::nullopt;
  if (operation.operands.size() != 1 || operation.results.size() != 1) return std::nullopt;
  const auto* tensor = operation.operands[0]->type->As<mlir::TensorType>();
  if (tensor == nullptr || !mlir::Equal(*operation.operands[0]->type, *operation.results[0]->type)) return std::nullopt;
  if (tensor->element->As<mlir::FloatType>() != nullptr) return opcode;
  return is_own && tensor->element->As<mlir::ComplexType>() != nullptr ? opcode : std::nullopt;
}

bool IsTopK(absl::string_view name, const mlir::Operation& operation, const mlir::DictionaryAttribute* attributes) {
  if (!absl::ConsumePrefix(&name, "chlo.") && !absl::ConsumePrefix(&name, "mhlo.")) return false;
  if ((name != "top_k" && name != "topk") || attributes == nullptr) return false;
  return operation.operands.size() == 1 && operation.results.size() == 2 &&
         mlir::AsInteger(mlir::Find(attributes->entries, "k")).has_value();
}

bool IsRaggedDot(absl::string_view name, const mlir::Operation& operation,
                 const mlir::DictionaryAttribute* attributes) {
  return name == "kiln.ragged_dot" && attributes != nullptr && operation.operands.size() == 3 &&
         operation.results.size() == 1;
}

const mlir::DictionaryAttribute* Dictionary(const mlir::Operation& operation, absl::string_view name) {
  return mlir::As<mlir::DictionaryAttribute>(operation.Get(name));
}

absl::Status ImportTopK(OpImport& op, const mlir::DictionaryAttribute& attributes) {
  hlo::TopKAttributes top_k;
  top_k.k = mlir::AsInteger(mlir::Find(attributes.entries, "k")).value_or(0);
  top_k.largest = mlir::AsBool(mlir::Find(attributes.entries, "largest")).value_or(true);
  return op.Finish(Opcode::kTopK, op.operands(), top_k);
}

absl::StatusOr<hlo::Computation*> FindCallee(const OpImport& op, ModuleImport& module, absl::string_view name) {
  if (module.refined.contains(name)) {
    return op.Unsupported("calls @", name, ", whose shapes are open or depend on its operands");
  }
  const auto found = module.computations.find(name);
  if (found == module.computations.end()) return op.Invalid("calls @", name, ", which is no function of the program");
  return found->second;
}

// Past these, calls of functions that are imported at each call would make programs of any size from short ones.
constexpr int kMaxRefinedDepth = 200;
constexpr int64_t kMaxRefinedOps = 1 << 17;

int64_t CountOps(const mlir::Region& region) {
  int64_t count = 0;
  for (const mlir::Block* block : region.blocks) {
    count += static_cast<int64_t>(block->operations.size());
    for (const mlir::Operation* operation : block->operations) {
      for (const mlir::Region* inner : operation->regions) count += CountOps(*inner);
    }
  }
  return count;
}

// The body of a function with open shapes in place of its call, for the shapes and constants of its operands.
absl::Status ImportRefined(OpImport& op, absl::string_view callee) {
  ModuleImport& module = op.module();
  const mlir::Operation& function = *module.functions.at(callee);
  if (function.regions.size() != 1 || function.regions[0]->blocks.size() != 1) {
    return Unimplemented(Describe(function), ": @", callee, " has no body of one block");
  }
  const mlir::Region& region = *function.regions[0];
  const std::vector<mlir::Value*>& arguments = region.blocks[0]->arguments;
  if (arguments.size() != op.operand_count()) {
    return op.Invalid("calls @", callee, " with ", op.operand_count(), " operands, expected ", arguments.size());
  }
  module.refined_ops += CountOps(region);
  if (module.refined_depth >= kMaxRefinedDepth || module.refined_ops > kMaxRefinedOps) {
    return op.Unsupported("calls of functions with open shapes nest deeper than ", kMaxRefinedDepth,
                          " or make more than ", kMaxRefinedOps, " ops");
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    KILN_ASSIGN_OR_RETURN(const hlo::Shape declared, ToOpenShape(*arguments[i]->type));
    if (!Fits(declared, op.operand_shape(i))) {
      return op.Invalid("operand ", i, " of the call of @", callee, " is ", op.operand_shape(i).ToString(false),
                        ", expected ", mlir::Print(*arguments[i]->type));
    }
    op.body().Define(arguments[i], op.operand(i));
  }
  ++module.refined_depth;
  KILN_ASSIGN_OR_RETURN(const std::vector<hlo::Instruction*> results, op.body().ImportBlock(region, function));
  --module.refined_depth;
  return op.Define(results);
}

absl::StatusOr<hlo::Instruction*> AddCall(OpImport& op, absl::string_view callee, hlo::CallAttributes attributes) {
  KILN_ASSIGN_OR_RETURN(hlo::Computation * computation, FindCallee(op, op.module(), callee));
  if (static_cast<size_t>(computation->parameter_count()) != op.operand_count()) {
    return op.Invalid("calls @", callee, " with ", op.operand_count(), " operands, expected ",
                      computation->parameter_count());
  }
  KILN_ASSIGN_OR_RETURN(hlo::Shape shape, op.ResultShapes());
  return op.Add(Opcode::kCall, std::move(shape), op.operands(), attributes, {computation});
}

absl::Status ImportCall(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(const std::string callee, op.String("callee"));
  if (op.module().refined.contains(callee)) return ImportRefined(op, callee);
  KILN_ASSIGN_OR_RETURN(hlo::Instruction * call, AddCall(op, callee, {}));
  return op.DefineTuple(call);
}

absl::Status ImportComposite(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(const std::string name, op.String("name"));
  const mlir::DictionaryAttribute* attributes = Dictionary(op.operation(), "composite_attributes");
  if (std::optional<Opcode> opcode = WholeUnary(name, op.operation())) {
    return op.Define(op.Add(*opcode, op.operand_shape(0), op.operands()));
  }
  if (IsTopK(name, op.operation(), attributes)) return ImportTopK(op, *attributes);
  if (IsRaggedDot(name, op.operation(), attributes)) {
    std::vector<hlo::Precision> precision;
    for (int64_t value :
         mlir::AsIntegers(mlir::Find(attributes->entries, "operand_precision")).value_or(std::vector<int64_t>())) {
      precision.push_back(value == 2   ? hlo::Precision::kHighest
                          : value == 1 ? hlo::Precision::kHigh
                                       : hlo::Precision::kDefault);
    }
    return ImportRaggedDotWith(
        op, [&](absl::string_view list) { return mlir::Find(attributes->entries, list); }, std::move(precision));
  }
  KILN_ASSIGN_OR_RETURN(const std::string decomposition, op.String("decomposition"));
  if (op.module().refined.contains(decomposition)) return ImportRefined(op, decomposition);
  KILN_ASSIGN_OR_RETURN(const int64_t version, op.Integer("version", 0));
  KILN_ASSIGN_OR_RETURN(hlo::Instruction * call, AddCall(op, decomposition, {/*is_composite=*/true}));
  auto& tags = *call->mutable_frontend_attributes();
  tags["composite.name"] = name;
  tags["composite.version"] = absl::StrCat(version);
  tags["composite.attributes"] = attributes != nullptr ? mlir::Print(*op.attribute("composite_attributes")) : "{}";
  return op.DefineTuple(call);
}

absl::StatusOr<hlo::CustomCallApiVersion> ReadApiVersion(const OpImport& op) {
  const mlir::AttributeRef attribute = op.attribute("api_version");
  // The text form gives the number.
  if (std::optional<int64_t> number = mlir::AsInteger(attribute)) {
    if (*number >= 0 && *number <= 4) return static_cast<hlo::CustomCallApiVersion>(*number);
    return op.Invalid("unknown api_version ", *number);
  }
  KILN_ASSIGN_OR_RETURN(const absl::string_view name, op.Enum("api_version", "API_VERSION_ORIGINAL"));
  if (const auto version = hlo::EnumFromName(hlo::kApiVersionNames, name)) return *version;
  return op.Invalid("unknown api_version ", name);
}

absl::Status ReadAliases(const OpImport& op, std::vector<hlo::OutputOperandAlias>& aliases) {
  const mlir::AttributeRef attribute = op.attribute("output_operand_aliases");
  if (attribute == nullptr) return absl::OkStatus();
  const auto* list = attribute->As<mlir::ArrayAttribute>();
  if (list == nullptr) return op.Invalid("attribute output_operand_aliases must be a list");
  for (mlir::AttributeRef element : list->elements) {
    const auto* fields = element->As<mlir::StructAttribute>();
    if (fields == nullptr) return op.Invalid("attribute output_operand_aliases must hold aliases");
    const auto output = mlir::AsIntegers(mlir::Find(fields->fields, "output_tuple_indices"));
    const auto operand = mlir::AsInteger(mlir::Find(fields->fields, "operand_index"));
    const auto index = mlir::AsIntegers(mlir::Find(fields->fields, "operand_tuple_indices"));
    hlo::OutputOperandAlias alias;
    if (output.has_value()) alias.output_index.assign(output->begin(), output->end());
    if (index.has_value()) alias.operand_index.assign(index->begin(), index->end());
    alias.operand = operand.value_or(-1);
    if (alias.operand < 0 || alias.operand >= static_cast<int64_t>(op.operand_count())) {
      return op.Invalid("an alias names operand ", alias.operand, " of ", op.operand_count());
    }
    aliases.push_back(std::move(alias));
  }
  return absl::OkStatus();
}

// Text of the backend configuration: a string, or a dictionary of the typed FFI as MLIR text.
absl::StatusOr<std::string> ReadBackendConfig(const OpImport& op, hlo::CustomCallApiVersion& version) {
  mlir::AttributeRef config = op.attribute("mhlo.backend_config");
  if (config == nullptr) config = op.attribute("backend_config");
  if (config == nullptr) return std::string();
  if (std::optional<absl::string_view> text = mlir::AsString(config)) return std::string(*text);
  if (config->As<mlir::DictionaryAttribute>() == nullptr) {
    return op.Invalid("backend_config must be a string or a dictionary");
  }
  // A dictionary in mhlo.backend_config means the typed FFI whatever api_version says.
  version = hlo::CustomCallApiVersion::kTypedFfi;
  mlir::PrintOptions options;
  options.max_bytes = std::numeric_limits<size_t>::max();  // The handler needs all of it.
  return mlir::Print(*config, options);
}

// Functions of older or other dialects that frameworks wrap in custom calls; true when `op` was one.
absl::StatusOr<bool> ImportWrappedOp(OpImport& op, absl::string_view target) {
  if (absl::StartsWith(target, "mhlo.")) {
    if (std::optional<Opcode> opcode = WholeUnary(target, op.operation())) {
      KILN_RETURN_IF_ERROR(op.Define(op.Add(*opcode, op.operand_shape(0), op.operands())));
      return true;
    }
    const mlir::DictionaryAttribute* attributes = Dictionary(op.operation(), "mhlo.attributes");
    if (IsTopK(target, op.operation(), attributes)) {
      KILN_RETURN_IF_ERROR(ImportTopK(op, *attributes));
      return true;
    }
    return false;
  }
  // The second operand is the shape of the first one.
  if (target == "stablehlo.shape_refinement_operand_wrapper" && op.operand_count() == 2) {
    KILN_RETURN_IF_ERROR(op.Define(op.operand(0)));
    return true;
  }
  KILN_ASSIGN_OR_RETURN(const bool is_dynamic, ImportDynamicCall(op, target));
  if (is_dynamic) return true;
  if (target == "ragged_all_to_all" && op.operand_count() == 6 && op.result_count() == 1) {
    hlo::CollectiveAttributes collective;
    const mlir::DictionaryAttribute* config = Dictionary(op.operation(), "backend_config");
    if (config == nullptr) config = Dictionary(op.operation(), "mhlo.backend_config");
    const mlir::AttributeRef groups = config != nullptr ? mlir::Find(config->entries, "replica_groups") : nullptr;
    if (groups != nullptr) collective.replica_groups = {mlir::AsIntegers(groups).value_or(std::vector<int64_t>())};
    KILN_ASSIGN_OR_RETURN(hlo::Shape shape, op.ResultShape());
    KILN_RETURN_IF_ERROR(
        op.Define(op.Add(Opcode::kRaggedAllToAll, std::move(shape), op.operands(), std::move(collective))));
    return true;
  }
  // Sharding annotations mean nothing on one partition, where local and global shapes are the same; nor do wishes for
  // the kind of memory inside a program, which come marked as side effects.
  if (target == "Sharding" || target == "SPMDFullToShardShape" || target == "SPMDShardToFullShape" ||
      target == "annotate_device_placement") {
    if (op.operand_count() != 1) return op.Invalid("has ", op.operand_count(), " operands, expected one");
    KILN_RETURN_IF_ERROR(op.Define(op.operand(0)));
    return true;
  }
  return false;
}

// What an exported program demands of its dimensions: a predicate, and the values that {0}, {1}, ... in the message
// stand for.
absl::Status CheckShapeAssertion(OpImport& op) {
  if (op.operand_count() == 0 || op.result_count() != 0) return op.Invalid("takes a predicate and gives nothing");
  const hlo::Literal* holds = op.module().constants.Find(op.operand(0));
  if (holds == nullptr || holds->shape() != hlo::Shape::Scalar(hlo::PrimitiveType::kPred)) {
    return op.Unsupported("the asserted condition must be constant once the program's arguments have static shapes");
  }
  if (hlo::ElementAsInt64(*holds, 0) != 0) return absl::OkStatus();
  KILN_ASSIGN_OR_RETURN(std::string message, op.String("error_message", "an assertion about shapes does not hold"));
  std::vector<std::pair<std::string, std::string>> values;
  for (size_t i = 1; i < op.operand_count(); ++i) {
    const hlo::Literal* value = op.module().constants.Find(op.operand(i));
    const bool known = value != nullptr && value->shape().IsScalar();
    values.emplace_back(absl::StrCat("{", i - 1, "}"),
                        known ? absl::StrCat(hlo::ElementAsInt64(*value, 0)) : std::string("an unknown value"));
  }
  return op.Invalid(absl::StrReplaceAll(message, values));
}

absl::Status ImportCustomCall(OpImport& op) {
  hlo::CustomCallAttributes call;
  KILN_ASSIGN_OR_RETURN(call.target, op.String("call_target_name"));
  if (call.target == "shape_assertion") return CheckShapeAssertion(op);
  KILN_ASSIGN_OR_RETURN(const bool wrapped, ImportWrappedOp(op, call.target));
  if (wrapped) return absl::OkStatus();
  KILN_ASSIGN_OR_RETURN(call.api_version, ReadApiVersion(op));
  KILN_ASSIGN_OR_RETURN(call.has_side_effect, op.Bool("has_side_effect", false));
  KILN_RETURN_IF_ERROR(ReadAliases(op, call.aliases));
  KILN_ASSIGN_OR_RETURN(std::string config, ReadBackendConfig(op, call.api_version));
  for (const hlo::Instruction* operand : op.operands()) {
    call.operand_layouts.push_back(operand->shape());
    if (operand->shape().IsArray()) call.operand_layouts.back().ResetLayout();
  }
  KILN_ASSIGN_OR_RETURN(std::vector<hlo::Shape> results, op.ResultShapeList(op.result_count()));
  KILN_ASSIGN_OR_RETURN(const bool operand_layouts,
                        ReadLayouts(op, "operand_layouts", absl::MakeSpan(call.operand_layouts)));
  KILN_ASSIGN_OR_RETURN(const bool result_layouts, ReadLayouts(op, "result_layouts", absl::MakeSpan(results)));
  call.has_layout_constraints = operand_layouts || result_layouts;
  if (!call.has_layout_constraints) call.operand_layouts.clear();
  if (mlir::AttributeRef tilings = op.attribute("result_tilings")) {
    const auto* list = tilings->As<mlir::ArrayAttribute>();
    if (list == nullptr || !list->elements.empty()) return op.Unsupported("result_tilings are not supported");
  }
  std::vector<hlo::Computation*> called;
  if (mlir::AttributeRef attribute = op.attribute("called_computations")) {
    const auto* list = attribute->As<mlir::ArrayAttribute>();
    if (list == nullptr) return op.Invalid("attribute called_computations must be a list");
    for (mlir::AttributeRef element : list->elements) {
      const std::optional<absl::string_view> name = mlir::AsString(element);
      if (!name.has_value()) return op.Invalid("attribute called_computations must hold symbols");
      KILN_ASSIGN_OR_RETURN(hlo::Computation * computation, FindCallee(op, op.module(), *name));
      called.push_back(computation);
    }
  }
  hlo::Shape shape = results.size() == 1 ? results[0] : hlo::Shape::Tuple(results);
  hlo::Instruction* instruction =
      op.Add(Opcode::kCustomCall, std::move(shape), op.operands(), std::move(call), std::move(called));
  instruction->set_backend_config(std::move(config));
  return op.DefineTuple(instruction);
}

constexpr OpRow kCallsOps[] = {
    {"func.call", ImportCall, -1, -1},
    {"stablehlo.composite", ImportComposite, -1, -1, -1},
    {"stablehlo.custom_call", ImportCustomCall, -1, -1},
};

}  // namespace

absl::StatusOr<bool> ReadLayouts(const OpImport& op, absl::string_view name, absl::Span<hlo::Shape> shapes) {
  const mlir::AttributeRef attribute = op.attribute(name);
  if (attribute == nullptr) return false;
  const auto* layouts = attribute->As<mlir::ArrayAttribute>();
  if (layouts == nullptr) return op.Invalid("attribute ", name, " must be a list of layouts");
  if (layouts->elements.empty()) return false;
  if (layouts->elements.size() != shapes.size()) {
    return op.Invalid("attribute ", name, " has ", layouts->elements.size(), " layouts, expected ", shapes.size());
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::optional<std::vector<int64_t>> order = mlir::AsIntegers(layouts->elements[i]);
    if (!order.has_value()) return op.Invalid("attribute ", name, " must hold lists of dimensions");
    if (!shapes[i].IsArray()) continue;
    shapes[i].set_layout(*order);
    const absl::Status status = hlo::ValidateShape(shapes[i]);
    if (!status.ok()) return op.Invalid("attribute ", name, ": ", status.message());
  }
  return true;
}

bool NeedsDecomposition(const mlir::Operation& composite) {
  const absl::string_view name = mlir::AsString(composite.Get("name")).value_or("");
  const mlir::DictionaryAttribute* attributes = Dictionary(composite, "composite_attributes");
  return !WholeUnary(name, composite).has_value() && !IsTopK(name, composite, attributes) &&
         !IsRaggedDot(name, composite, attributes);
}

absl::Span<const OpRow> CallOps() { return kCallsOps; }

}  // namespace kiln::stablehlo
