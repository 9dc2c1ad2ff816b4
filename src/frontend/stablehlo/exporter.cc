#include "src/frontend/stablehlo/exporter.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "src/base/status.h"
#include "src/frontend/mlir/printer.h"

namespace kiln::stablehlo {
namespace {

using hlo::Instruction;
using hlo::Opcode;
using mlir::Block;
using mlir::Operation;
using mlir::Value;
using Values = std::vector<Value*>;  // The leaves of an instruction.

// Ops by other names than HLO's with underscores.
struct NameRow {
  Opcode opcode;
  absl::string_view name;
};
constexpr NameRow kNames[] = {
    {Opcode::kAcos, "chlo.acos"},
    {Opcode::kAcosh, "chlo.acosh"},
    {Opcode::kAsin, "chlo.asin"},
    {Opcode::kAsinh, "chlo.asinh"},
    {Opcode::kAtanh, "chlo.atanh"},
    {Opcode::kCosh, "chlo.cosh"},
    {Opcode::kErf, "chlo.erf"},
    {Opcode::kErfc, "chlo.erfc"},
    {Opcode::kSinh, "chlo.sinh"},
    {Opcode::kTopK, "chlo.top_k"},
    {Opcode::kBroadcast, "stablehlo.broadcast_in_dim"},
    {Opcode::kDot, "stablehlo.dot_general"},
    {Opcode::kCall, "func.call"},
};
constexpr Opcode kWithoutForm[] = {Opcode::kMulhi,
                                   Opcode::kStochasticConvert,
                                   Opcode::kRngGetAndUpdateState,
                                   Opcode::kRaggedDot,
                                   Opcode::kScaledDot,
                                   Opcode::kScan,
                                   Opcode::kShuffle,
                                   Opcode::kDynamicReshape,
                                   Opcode::kAsyncStart,
                                   Opcode::kAsyncUpdate,
                                   Opcode::kAsyncDone,
                                   Opcode::kRaggedAllToAll,
                                   Opcode::kSend,
                                   Opcode::kSendDone,
                                   Opcode::kRecv,
                                   Opcode::kRecvDone,
                                   Opcode::kAllGatherStart,
                                   Opcode::kAllGatherDone,
                                   Opcode::kAllReduceStart,
                                   Opcode::kAllReduceDone,
                                   Opcode::kCollectivePermuteStart,
                                   Opcode::kCollectivePermuteDone,
                                   Opcode::kCopyStart,
                                   Opcode::kCopyDone};

class Exporter {
 public:
  explicit Exporter(const hlo::Module& module) : source_(module), result_(std::make_unique<mlir::Module>()) {}

  absl::StatusOr<std::unique_ptr<mlir::Module>> Run() {
    Operation* root = context().MakeOperation();
    root->name = "builtin.module";
    root->location = context().unknown_location();
    result_->root = root;
    root->attributes = {{"sym_name", Text(source_.name())}};
    if (source_.replica_count() > 1) {
      root->discardable = context().Keep(
          std::vector<mlir::NamedAttribute>{{"mhlo.num_replicas", context().MakeInteger(source_.replica_count(), 32)}});
    }
    Block* top = AddBlock(root);
    FindFunctions();
    // The entry first, then what it calls.
    KILN_RETURN_IF_ERROR(ExportFunction(*source_.entry(), top));
    for (const hlo::Computation* computation : source_.PostOrder()) {
      if (functions_.contains(computation)) KILN_RETURN_IF_ERROR(ExportFunction(*computation, top));
    }
    return std::move(result_);
  }

 private:
  using Scope = absl::flat_hash_map<const Instruction*, Values>;

  mlir::Context& context() { return result_->context; }
  mlir::AttributeRef Text(const std::string& text) {
    return context().MakeAttribute(mlir::StringAttribute{context().Keep(text)});
  }

  // Computations that calls name become functions; the others stand in regions.
  void FindFunctions() {
    for (const hlo::Computation* computation : source_.PostOrder()) {
      for (const Instruction* instruction : computation->instructions()) {
        const bool names = instruction->opcode() == Opcode::kCall || instruction->opcode() == Opcode::kCustomCall;
        if (!names) continue;
        functions_.insert(instruction->called_computations().begin(), instruction->called_computations().end());
      }
    }
  }
  std::string FunctionName(const hlo::Computation& computation) const {
    if (&computation == source_.entry()) return "main";
    return computation.name() == "main" ? "main_" : computation.name();
  }

  Block* AddBlock(Operation* owner) { return context().AddBlock(context().AddRegion(owner)); }
  absl::StatusOr<Values> AddArguments(const hlo::Shape& shape, Block* block) {
    Values values;
    for (const hlo::Shape* leaf : shape.Leaves()) {
      KILN_ASSIGN_OR_RETURN(const mlir::TypeRef type, ExportType(*leaf, context()));
      values.push_back(context().AddArgument(block, type));
    }
    return values;
  }
  Operation* AddOp(absl::string_view name, Block* block, Values operands) {
    Operation* operation = context().MakeOperation();
    operation->name = name;
    operation->parent = block->parent;
    operation->operands = std::move(operands);
    operation->location = location_ != nullptr ? location_ : context().unknown_location();
    block->operations.push_back(operation);
    return operation;
  }
  absl::Status AddResults(Operation* operation, const hlo::Shape& shape) {
    for (const hlo::Shape* leaf : shape.Leaves()) {
      KILN_ASSIGN_OR_RETURN(const mlir::TypeRef type, ExportType(*leaf, context()));
      context().AddResult(operation, type);
    }
    return absl::OkStatus();
  }

  absl::Status ExportFunction(const hlo::Computation& computation, Block* top) {
    location_ = nullptr;
    Operation* function = AddOp("func.func", top, {});
    Block* block = AddBlock(function);
    Scope scope;
    for (const Instruction* parameter : computation.parameters()) {
      KILN_ASSIGN_OR_RETURN(scope[parameter], AddArguments(parameter->shape(), block));
    }
    KILN_ASSIGN_OR_RETURN(const Values results, ExportBody(computation, block, scope));
    AddOp("func.return", block, results);
    mlir::FunctionType type;
    for (const Value* argument : block->arguments) type.inputs.push_back(argument->type);
    for (const Value* result : results) type.results.push_back(result->type);
    function->attributes = {
        {"function_type",
         context().MakeAttribute(mlir::TypeAttribute{context().MakeType(mlir::FunctionType(std::move(type)))})},
        {"sym_name", Text(FunctionName(computation))},
        {"sym_visibility", Text(&computation == source_.entry() ? "public" : "private")}};
    if (&computation == source_.entry()) AddBoundary(function, block->arguments.size(), results.size());
    return absl::OkStatus();
  }

  using Entries = std::vector<std::vector<mlir::NamedAttribute>>;

  void AddEntries(Operation* function, absl::string_view name, Entries entries) {
    bool any = false;
    mlir::ArrayAttribute dictionaries;
    for (auto& entry : entries) {
      any |= !entry.empty();
      dictionaries.elements.push_back(context().MakeAttribute(mlir::DictionaryAttribute{std::move(entry)}));
    }
    if (any) function->attributes.push_back({name, context().MakeAttribute(std::move(dictionaries))});
  }
  // Layouts that are not row-major.
  void AddLayouts(const std::vector<const hlo::Shape*>& leaves, Entries* entries) {
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!leaves[i]->IsArray() || leaves[i]->HasDescendingLayout()) continue;
      (*entries)[i].push_back(
          {"mhlo.layout_mode", Text(absl::StrCat("{", absl::StrJoin(leaves[i]->layout().minor_to_major, ","), "}"))});
    }
  }
  // What the caller of the entry relies on. Arguments are donated where leaf and argument are the same.
  void AddBoundary(Operation* function, size_t arguments, size_t results) {
    Entries inputs(arguments), outputs(results);
    if (source_.has_entry_layout()) {
      std::vector<const hlo::Shape*> leaves;
      for (const hlo::Shape& shape : source_.entry_parameter_layouts()) {
        for (const hlo::Shape* leaf : shape.Leaves()) leaves.push_back(leaf);
      }
      if (leaves.size() == arguments) AddLayouts(leaves, &inputs);
      if (const auto all = source_.entry_result_layout().Leaves(); all.size() == results) AddLayouts(all, &outputs);
    }
    const bool flat = source_.entry()->parameter_count() == static_cast<int64_t>(arguments);
    for (const hlo::InputOutputAlias& alias : source_.aliases()) {
      if (!flat || !alias.parameter_index.empty() || alias.output_index.size() > 1) continue;
      const int64_t output = alias.output_index.empty() ? 0 : alias.output_index[0];
      inputs[alias.parameter].push_back({"tf.aliasing_output", context().MakeInteger(output, 32)});
    }
    for (const hlo::BufferDonor& donor : source_.donors()) {
      if (flat && donor.parameter_index.empty()) {
        inputs[donor.parameter].push_back({"jax.buffer_donor", context().MakeAttribute(mlir::BoolAttribute{true})});
      }
    }
    AddEntries(function, "arg_attrs", std::move(inputs));
    AddEntries(function, "res_attrs", std::move(outputs));
  }

  // The instructions of a computation whose parameters are in `scope`; gives the leaves of its root.
  absl::StatusOr<Values> ExportBody(const hlo::Computation& computation, Block* block, Scope& scope) {
    // What nothing needs is left out.
    const std::vector<Instruction*> order = computation.PostOrder();
    absl::flat_hash_set<const Instruction*> live = {computation.root()};
    for (auto instruction = order.rbegin(); instruction != order.rend(); ++instruction) {
      if ((*instruction)->HasSideEffect()) live.insert(*instruction);
      if (live.contains(*instruction)) {
        live.insert((*instruction)->operands().begin(), (*instruction)->operands().end());
      }
    }
    for (const Instruction* instruction : order) {
      if (instruction->IsParameter() || !live.contains(instruction)) continue;
      location_ = LocationOf(*instruction);
      absl::StatusOr<Values> values = ExportInstruction(*instruction, block, scope);
      if (!values.ok()) return Annotate(values.status(), instruction->Describe());
      scope[instruction] = *std::move(values);
    }
    return scope.at(computation.root());
  }

  const mlir::Location* LocationOf(const Instruction& instruction) {
    const hlo::Metadata& metadata = instruction.metadata();
    mlir::Location location;
    location.name = context().Keep(metadata.op_name);
    location.file = context().Keep(metadata.source_file);
    location.line = metadata.source_line;
    location.column = metadata.source_column;
    return location.known() ? context().MakeLocation(location) : context().unknown_location();
  }

  // A region for a computation with block arguments for its parameters.
  absl::Status ExportRegion(const hlo::Computation& computation, Operation* owner) {
    Block* block = AddBlock(owner);
    Scope scope;
    for (const Instruction* parameter : computation.parameters()) {
      KILN_ASSIGN_OR_RETURN(scope[parameter], AddArguments(parameter->shape(), block));
    }
    const mlir::Location* location = location_;
    KILN_ASSIGN_OR_RETURN(Values results, ExportBody(computation, block, scope));
    location_ = location;
    AddOp("stablehlo.return", block, std::move(results));
    return absl::OkStatus();
  }

  absl::StatusOr<Values> ExportInstruction(const Instruction& instruction, Block* block, Scope& scope) {
    const auto leaves = [&](int64_t operand) -> const Values& { return scope.at(instruction.operand(operand)); };
    Values operands;
    for (const Instruction* operand : instruction.operands()) {
      const Values& values = scope.at(operand);
      operands.insert(operands.end(), values.begin(), values.end());
    }
    switch (instruction.opcode()) {
      case Opcode::kTuple:
        return operands;
      case Opcode::kCopy:
      case Opcode::kDomain:
      case Opcode::kAddDependency:
        return leaves(0);
      case Opcode::kGetTupleElement: {
        const auto& elements = instruction.operand(0)->shape().tuple_shapes();
        int64_t first = 0;
        for (int64_t i = 0; i < instruction.tuple_index(); ++i) first += elements[i].leaf_count();
        const auto begin = leaves(0).begin() + first;
        return Values(begin, begin + instruction.shape().leaf_count());
      }
      case Opcode::kFusion: {
        Scope inner;
        for (int64_t i = 0; i < instruction.operand_count(); ++i) {
          inner[instruction.called_computation()->parameter(i)] = leaves(i);
        }
        return ExportBody(*instruction.called_computation(), block, inner);
      }
      case Opcode::kConditional:
        return ExportConditional(instruction, block, scope);
      case Opcode::kConstant:
        return ExportConstant(instruction.literal(), block);
      case Opcode::kRng:
        return ExportRng(instruction, block, std::move(operands));
      case Opcode::kBitcast: {
        const hlo::Shape& from = instruction.operand(0)->shape();
        const bool same_type = instruction.shape().element_type() == from.element_type();
        if (!same_type && instruction.shape().dimensions() != from.dimensions()) break;
        return AddSimple(same_type ? "stablehlo.reshape" : "stablehlo.bitcast_convert", instruction, block,
                         std::move(operands));
      }
      case Opcode::kAllToAll:
        if (instruction.shape().IsTuple()) return Unimplemented("all-to-all of parts has no form in StableHLO");
        break;
      case Opcode::kAfterAll:
        return AddSimple(operands.empty() ? "stablehlo.create_token" : "stablehlo.after_all", instruction, block,
                         std::move(operands));
      case Opcode::kOptBarrier:
        return AddSimple("stablehlo.optimization_barrier", instruction, block, std::move(operands));
      case Opcode::kDynamicSlice:
      case Opcode::kDynamicUpdateSlice:
        if (const int64_t first = instruction.opcode() == Opcode::kDynamicSlice ? 1 : 2;
            instruction.operand_count() > first && instruction.operand(first)->shape().rank() != 0) {
          return Unimplemented("start indices as one vector have no form in StableHLO");
        }
        break;
      case Opcode::kWhile: {
        Operation* loop = AddOp("stablehlo.while", block, std::move(operands));
        // HLO calls the body first, StableHLO the condition.
        KILN_RETURN_IF_ERROR(ExportRegion(*instruction.called_computation(1), loop));
        KILN_RETURN_IF_ERROR(ExportRegion(*instruction.called_computation(0), loop));
        KILN_RETURN_IF_ERROR(AddResults(loop, instruction.shape()));
        return loop->results;
      }
      default:
        break;
    }
    const std::string name = stablehlo::OpName(instruction.opcode());
    if (name.empty() || instruction.opcode() == Opcode::kBitcast) {
      return Unimplemented(hlo::OpcodeName(instruction.opcode()), " has no form in StableHLO");
    }
    return AddSimple(name, instruction, block, std::move(operands));
  }

  // An op with the attributes of the instruction, and a region for each scalar computation.
  absl::StatusOr<Values> AddSimple(absl::string_view name, const Instruction& instruction, Block* block,
                                   Values operands) {
    Operation* operation = AddOp(context().Keep(std::string(name)), block, std::move(operands));
    KILN_ASSIGN_OR_RETURN(operation->attributes, ExportAttributes(instruction, context()));
    const bool by_name = instruction.opcode() == Opcode::kCall || instruction.opcode() == Opcode::kCustomCall;
    mlir::ArrayAttribute symbols;
    for (const hlo::Computation* called : instruction.called_computations()) {
      if (!by_name) {
        KILN_RETURN_IF_ERROR(ExportRegion(*called, operation));
        continue;
      }
      symbols.elements.push_back(
          context().MakeAttribute(mlir::SymbolAttribute{context().Keep(FunctionName(*called)), {}}));
    }
    std::vector<mlir::NamedAttribute> tags;
    const auto& extra = instruction.frontend_attributes();
    const auto composite = instruction.opcode() == Opcode::kCall ? extra.find("composite.name") : extra.end();
    if (composite != extra.end()) {
      operation->name = "stablehlo.composite";
      operation->attributes.push_back({"name", Text(composite->second)});
      operation->attributes.push_back({"decomposition", symbols.elements[0]});
      int64_t version = 0;
      const auto number = extra.find("composite.version");
      if (number != extra.end() && absl::SimpleAtoi(number->second, &version)) {
        operation->attributes.push_back({"version", context().MakeInteger(version, 32)});
      }
      const auto text = extra.find("composite.attributes");
      if (text != extra.end()) {
        operation->attributes.push_back(
            {"composite_attributes", context().MakeAttribute(mlir::OpaqueAttribute{context().Keep(text->second)})});
      }
    } else if (instruction.opcode() == Opcode::kCall) {
      operation->attributes.push_back({"callee", symbols.elements[0]});
    } else if (!symbols.elements.empty()) {
      operation->attributes.push_back({"called_computations", context().MakeAttribute(std::move(symbols))});
    }
    mlir::DictionaryAttribute dictionary;
    for (const auto& [key, value] : extra) {
      if (!absl::StartsWith(key, "composite.")) dictionary.entries.push_back({context().Keep(key), Text(value)});
    }
    if (!dictionary.entries.empty()) {
      tags.push_back({"mhlo.frontend_attributes", context().MakeAttribute(std::move(dictionary))});
    }
    if (!instruction.sharding().empty()) tags.push_back({"mhlo.sharding", Text(instruction.sharding())});
    if (!tags.empty()) operation->discardable = context().Keep(std::move(tags));
    mlir::SortByName(operation->attributes);
    KILN_RETURN_IF_ERROR(AddResults(operation, instruction.shape()));
    return operation->results;
  }

  // A tuple is a constant per leaf.
  absl::StatusOr<Values> ExportConstant(const hlo::Literal& literal, Block* block) {
    Values values;
    if (literal.shape().IsTuple()) {
      for (const hlo::Literal& element : literal.elements()) {
        KILN_ASSIGN_OR_RETURN(const Values leaves, ExportConstant(element, block));
        values.insert(values.end(), leaves.begin(), leaves.end());
      }
      return values;
    }
    Operation* constant = AddOp("stablehlo.constant", block, {});
    KILN_ASSIGN_OR_RETURN(const mlir::AttributeRef value, ExportLiteral(literal, context()));
    constant->attributes = {{"value", value}};
    values.push_back(context().AddResult(constant, value->As<mlir::DenseAttribute>()->type));
    return values;
  }

  // Branches take their operands from outside.
  absl::StatusOr<Values> ExportConditional(const Instruction& instruction, Block* block, Scope& scope) {
    const bool by_predicate = instruction.operand(0)->shape().element_type() == hlo::PrimitiveType::kPred;
    Operation* operation =
        AddOp(by_predicate ? "stablehlo.if" : "stablehlo.case", block, scope.at(instruction.operand(0)));
    const mlir::Location* location = location_;
    for (size_t i = 0; i < instruction.called_computations().size(); ++i) {
      const hlo::Computation& branch = *instruction.called_computation(static_cast<int64_t>(i));
      Block* body = AddBlock(operation);
      Scope inner;
      inner[branch.parameter(0)] = scope.at(instruction.operand(static_cast<int64_t>(i) + 1));
      KILN_ASSIGN_OR_RETURN(Values results, ExportBody(branch, body, inner));
      location_ = location;
      AddOp("stablehlo.return", body, std::move(results));
    }
    KILN_RETURN_IF_ERROR(AddResults(operation, instruction.shape()));
    return operation->results;
  }

  // StableHLO's op takes the dimensions as an operand too.
  absl::StatusOr<Values> ExportRng(const Instruction& instruction, Block* block, Values operands) {
    const auto& dimensions = instruction.shape().dimensions();
    const hlo::Literal shape = hlo::Literal::Vector<int64_t>(dimensions);
    KILN_ASSIGN_OR_RETURN(const Values constant, ExportConstant(shape, block));
    operands.push_back(constant[0]);
    return AddSimple("stablehlo.rng", instruction, block, std::move(operands));
  }

  const hlo::Module& source_;
  std::unique_ptr<mlir::Module> result_;
  absl::flat_hash_set<const hlo::Computation*> functions_;
  const mlir::Location* location_ = nullptr;
};

}  // namespace

std::string OpName(Opcode opcode) {
  if (std::find(std::begin(kWithoutForm), std::end(kWithoutForm), opcode) != std::end(kWithoutForm)) return "";
  for (const NameRow& row : kNames) {
    if (row.opcode == opcode) return std::string(row.name);
  }
  return absl::StrCat("stablehlo.", absl::StrReplaceAll(hlo::OpcodeName(opcode), {{"-", "_"}}));
}

absl::StatusOr<std::unique_ptr<mlir::Module>> Export(const hlo::Module& module) { return Exporter(module).Run(); }

absl::StatusOr<std::string> ExportText(const hlo::Module& module, const TextOptions& text) {
  KILN_ASSIGN_OR_RETURN(const std::unique_ptr<mlir::Module> program, Export(module));
  mlir::PrintOptions options;
  options.standard = true;
  options.pretty = !text.generic;
  options.locations = text.locations;
  options.max_bytes = size_t{1} << 40;
  return mlir::Print(*program, options);
}

}  // namespace kiln::stablehlo
