// What the import functions of single ops work with: the op, its operands as instructions, and the body being built.
#ifndef KILN_FRONTEND_STABLEHLO_OP_IMPORT_H_
#define KILN_FRONTEND_STABLEHLO_OP_IMPORT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "src/base/status.h"
#include "src/frontend/mlir/operation.h"
#include "src/frontend/stablehlo/quantization.h"
#include "src/frontend/stablehlo/refinement.h"
#include "src/frontend/stablehlo/types.h"
#include "src/hlo/attribute_names.h"
#include "src/hlo/module.h"

namespace kiln::stablehlo {

class OpImport;

using ImportFunction = absl::Status (*)(OpImport& op);

// How one StableHLO op is imported.
struct OpRow {
  absl::string_view name;  // "stablehlo.add"
  ImportFunction import = nullptr;
  int operands = -1;                             // -1: any number.
  int results = 1;                               // -1: any number.
  int regions = 0;                               // -1: any number.
  hlo::Opcode opcode = hlo::Opcode::kParameter;  // For functions that serve several ops.
};

// Programs under import: functions by name and what has been imported of them.
struct ModuleImport {
  hlo::Module* module = nullptr;
  absl::flat_hash_map<absl::string_view, const mlir::Operation*> functions;
  absl::flat_hash_map<absl::string_view, hlo::Computation*> computations;  // Of functions imported so far.
  // Functions that are imported at each call (refinement.h).
  absl::flat_hash_set<absl::string_view> refined;
  int refined_depth = 0;    // Of calls of such functions that are being imported.
  int64_t refined_ops = 0;  // Imported at such calls so far.
  ConstantValues constants;
  // Asks shape inference about each instruction, for an error that names the op of the program.
  bool checks_each_op = false;
};

// One computation that is being filled from a function or a region.
class Body {
 public:
  Body(ModuleImport& module, hlo::Computation* computation) : module_(module), computation_(computation) {}
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  ModuleImport& module() { return module_; }
  hlo::Computation* computation() { return computation_; }

  void Define(const mlir::Value* value, hlo::Instruction* instruction) { values_[value] = instruction; }
  bool Defines(const mlir::Value* value) const { return values_.contains(value); }
  // The instruction of `value`. A constant of an outer body is cloned into this one; any other value from outside is an
  // error, unless the region's op has made it a parameter before. `user` is for the message.
  absl::StatusOr<hlo::Instruction*> Get(const mlir::Value* value, const mlir::Operation& user);

  // Imports the ops of a region's only block, whose arguments are defined already, and gives the operands of its
  // terminator.
  absl::StatusOr<std::vector<hlo::Instruction*>> ImportBlock(const mlir::Region& region, const mlir::Operation& owner);
  absl::Status ImportOperation(const mlir::Operation& operation);

 private:
  ModuleImport& module_;
  hlo::Computation* computation_;
  absl::flat_hash_map<const mlir::Value*, hlo::Instruction*> values_;
};

// True when `value` is a constant, or made of constants by a few shape ops, so that a body may clone it.
bool IsClonable(const mlir::Value* value);

// A computation from a region whose block arguments are its parameters and which takes only constants from outside: the
// bodies of reduce, sort, map, scatter, ... Several results make a tuple root.
absl::StatusOr<hlo::Computation*> ImportScalarRegion(OpImport& op, const mlir::Region& region, absl::string_view name);

class OpImport {
 public:
  OpImport(Body& body, const OpRow& row, const mlir::Operation& operation)
      : body_(body), row_(&row), operation_(operation) {}

  Body& body() { return body_; }
  ModuleImport& module() { return body_.module(); }
  const OpRow& row() const { return *row_; }
  // Another in its place, as which the op is imported.
  void set_row(const OpRow& row) { row_ = &row; }
  const mlir::Operation& operation() const { return operation_; }
  absl::string_view name() const { return operation_.name; }

  // Looks the operands up and shows quantized ones as the op's view asks; first thing.
  absl::Status ReadOperands();
  const std::vector<hlo::Instruction*>& operands() const { return operands_; }
  // Others in their place, for what the op is written as.
  void set_operands(std::vector<hlo::Instruction*> operands) { operands_ = std::move(operands); }
  hlo::Instruction* operand(size_t index) const { return operands_[index]; }
  size_t operand_count() const { return operands_.size(); }
  const hlo::Shape& operand_shape(size_t index) const { return operands_[index]->shape(); }
  size_t result_count() const { return operation_.results.size(); }
  // Of what the view shows. Where the type is open, so is the shape: Add then takes what follows from the operands.
  absl::StatusOr<hlo::Shape> ResultShape(size_t index = 0) const;
  // Of the first `count` results.
  absl::StatusOr<std::vector<hlo::Shape>> ResultShapeList(size_t count) const;
  // The result's shape, or the tuple of them when there is not exactly one.
  absl::StatusOr<hlo::Shape> ResultShapes() const;
  const mlir::Region& region(size_t index) const { return *operation_.regions[index]; }

  // Attributes. A missing one without `fallback`, or one of another kind, is an error.
  // The integers that an operand is known to hold; `what` is for the message.
  absl::StatusOr<hlo::DimensionVector> ConstantOperand(size_t index, absl::string_view what);
  // The declared result with open dimensions from `sizes`, which must agree with the others.
  absl::StatusOr<hlo::Shape> ResultOfSizes(const hlo::DimensionVector& sizes, size_t index = 0) const;
  mlir::AttributeRef attribute(absl::string_view name) const { return operation_.Get(name); }
  absl::StatusOr<int64_t> Integer(absl::string_view name, std::optional<int64_t> fallback = std::nullopt) const;
  absl::StatusOr<bool> Bool(absl::string_view name, std::optional<bool> fallback = std::nullopt) const;
  absl::StatusOr<std::string> String(absl::string_view name, std::optional<std::string> fallback = std::nullopt) const;
  // The case of an enum.
  absl::StatusOr<absl::string_view> Enum(absl::string_view name,
                                         std::optional<absl::string_view> fallback = std::nullopt) const;
  // The same as a value of HLO, which has the case's word in another spelling.
  template <typename Value, size_t kSize>
  absl::StatusOr<Value> EnumOf(absl::string_view name, const hlo::EnumName<Value> (&words)[kSize]) const {
    KILN_ASSIGN_OR_RETURN(const absl::string_view found, Enum(name));
    for (const auto& [value, word] : words) {
      if (absl::AsciiStrToUpper(absl::StripPrefix(word, "rng_")) == found) return value;
    }
    return Invalid("unknown ", name, " ", found);
  }
  absl::StatusOr<hlo::DimensionVector> Integers(absl::string_view name,
                                                std::optional<std::vector<int64_t>> fallback = std::nullopt) const;
  // As Integers, with exactly `count` entries; `fallback` stands for each entry of an absent list.
  absl::StatusOr<hlo::DimensionVector> IntegersOf(absl::string_view name, size_t count,
                                                  std::optional<int64_t> fallback = std::nullopt) const;
  // A [count, 2] list, as paddings are; absent is all zero.
  absl::StatusOr<std::vector<std::pair<int64_t, int64_t>>> Pairs(absl::string_view name, size_t count) const;
  // precision_config; empty when all are DEFAULT.
  absl::StatusOr<std::vector<hlo::Precision>> Precisions() const;

  // Adds an instruction with this op's metadata, sharding and frontend attributes.
  hlo::Instruction* Add(hlo::Opcode opcode, hlo::Shape shape, std::vector<hlo::Instruction*> operands,
                        hlo::Attributes attributes = {}, std::vector<hlo::Computation*> called = {});
  // The same for what a builder has added.
  void AnnotateAll(const hlo::Builder& builder) const;
  hlo::Instruction* AddTupleElement(hlo::Instruction* tuple, int64_t index);
  // The results of the op, as the view shows them: one instruction each.
  absl::Status Define(hlo::Instruction* instruction);
  absl::Status Define(const std::vector<hlo::Instruction*>& instructions);
  // Adds an instruction of the declared shapes and defines the results by it.
  absl::Status Finish(hlo::Opcode opcode, std::vector<hlo::Instruction*> operands, hlo::Attributes attributes = {},
                      std::vector<hlo::Computation*> called = {});
  // `instruction` gives the result, or a tuple of them when there is not exactly one.
  absl::Status DefineTuple(hlo::Instruction* instruction);

  // Errors that begin with the op and its location.
  template <typename... Parts>
  absl::Status Invalid(const Parts&... parts) const {
    return InvalidArgument(Describe(), ": ", parts...);
  }
  template <typename... Parts>
  absl::Status Unsupported(const Parts&... parts) const {
    return Unimplemented(Describe(), ": ", parts...);
  }
  std::string Describe() const;
  // What is wrong with an instruction of this op, if the module asks for it.
  absl::Status Check() const { return invalid_; }

 private:
  // Metadata, sharding and frontend attributes of the op.
  void Annotate(hlo::Instruction* instruction) const;

  Body& body_;
  const OpRow* row_;
  const mlir::Operation& operation_;
  QuantizedView view_;
  absl::Status invalid_;
  absl::Status unresolved_;  // Why an open result did not become static.
  std::vector<hlo::Instruction*> operands_;
};

// Shapes as a tuple; values as what a computation returns: one as it is, any other number as a tuple.
hlo::Shape TupleShape(absl::Span<hlo::Instruction* const> values);
hlo::Instruction* PackResults(hlo::Computation* computation, const std::vector<hlo::Instruction*>& values);

// "stablehlo.add ("jit(f)/add" at f.py:3:4)".
std::string Describe(const mlir::Operation& operation);

// The row of an op, or null. Families: one function per file of src/frontend/stablehlo.
const OpRow* FindOp(absl::string_view name);
absl::Span<const OpRow> ElementwiseOps();
absl::Span<const OpRow> ShapeOps();
absl::Span<const OpRow> ContractionOps();
absl::Span<const OpRow> ReductionOps();
absl::Span<const OpRow> IndexingOps();
absl::Span<const OpRow> ControlFlowOps();
absl::Span<const OpRow> CallOps();
absl::Span<const OpRow> CollectiveOps();
absl::Span<const OpRow> LinearAlgebraOps();
absl::Span<const OpRow> DynamicOps();
absl::Span<const OpRow> StructureOps();
absl::Span<const OpRow> ChloOps();
absl::Span<const OpRow> EinsumOps();

}  // namespace kiln::stablehlo

#endif  // KILN_FRONTEND_STABLEHLO_OP_IMPORT_H_
