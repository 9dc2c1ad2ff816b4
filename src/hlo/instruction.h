// One HLO instruction: opcode, result shape, operands, attributes and the computations it calls.
#ifndef KILN_HLO_INSTRUCTION_H_
#define KILN_HLO_INSTRUCTION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "src/base/shared_value.h"
#include "src/hlo/attributes.h"
#include "src/hlo/opcode.h"
#include "src/hlo/shape.h"

namespace kiln::hlo {

class Computation;

// Where an instruction comes from in the user's program.
struct Metadata {
  std::string op_type;
  std::string op_name;
  std::string source_file;
  int64_t source_line = 0;
  int64_t source_column = 0;

  bool operator==(const Metadata&) const = default;
};

// Owned by its computation. Operands are borrowed from the same computation; `users` mirrors them and is kept by the
// methods here.
//
// Called computations, in this order: while = body, condition; conditional = branches (true, false for a pred index);
// select-and-scatter = select, scatter; call, fusion, map, reduce, reduce-window, scatter, sort, scan, all-reduce, ... = one;
// custom-call = any number. A computation may be called from several instructions.
class Instruction {
 public:
  Opcode opcode() const { return opcode_; }
  const std::string& name() const { return name_; }
  Computation* parent() const { return parent_; }
  // Unique in the module and stable; creation order.
  int64_t id() const { return id_; }

  const Shape& shape() const { return shape_; }
  Shape* mutable_shape() { return &shape_; }

  absl::Span<Instruction* const> operands() const { return operands_; }
  Instruction* operand(int64_t index) const { return operands_[index]; }
  int64_t operand_count() const { return static_cast<int64_t>(operands_.size()); }
  // Distinct instructions that have this one as an operand, in no particular order.
  absl::Span<Instruction* const> users() const { return users_; }

  void ReplaceOperand(int64_t index, Instruction* replacement);
  void AppendOperand(Instruction* operand);
  void ReplaceAllOperands(std::vector<Instruction*> operands);
  // Makes every user (and the root, if this is it) use `replacement`, which must have a compatible shape.
  void ReplaceAllUsesWith(Instruction* replacement);
  // The index-th occurrence lists are not needed: true if `operand` is among the operands.
  bool HasOperand(const Instruction* operand) const;

  absl::Span<Computation* const> called_computations() const { return called_; }
  Computation* called_computation(int64_t index = 0) const { return called_[index]; }
  void set_called_computation(int64_t index, Computation* computation);
  void set_called_computations(absl::Span<Computation* const> computations);

  const Attributes& attributes() const { return attributes_; }
  Attributes* mutable_attributes() { return &attributes_; }
  // The attribute struct of the family; the verifier holds that it is present for every opcode that needs it.
  template <typename T>
  const T& Get() const {
    return attributes_.Get<T>();
  }
  template <typename T>
  const T* GetIf() const {
    return attributes_.GetIf<T>();
  }
  template <typename T>
  T* GetMutable() {
    return attributes_.GetMutable<T>();
  }

  // Shorthands for the commonest ones; the opcode must have them.
  const DimensionVector& dimensions() const { return Get<DimensionsAttributes>().dimensions; }
  const Literal& literal() const { return Get<ConstantAttributes>().literal; }
  int64_t parameter_number() const { return Get<ParameterAttributes>().number; }
  int64_t tuple_index() const { return Get<TupleIndexAttributes>().index; }
  const CompareAttributes& comparison() const { return Get<CompareAttributes>(); }

  bool IsConstant() const { return opcode_ == Opcode::kConstant; }
  bool IsParameter() const { return opcode_ == Opcode::kParameter; }
  bool IsRoot() const;
  // Must not be removed or duplicated though its result is unused: see hlo::HasSideEffect(Opcode), custom calls that
  // say so, and control flow whose computations contain such instructions.
  bool HasSideEffect() const;

  const Metadata& metadata() const { return *metadata_; }
  void set_metadata(Metadata metadata) { metadata_ = SharedValue<Metadata>(std::move(metadata)); }
  void CopyMetadataFrom(const Instruction& other) { metadata_ = other.metadata_; }

  // Text that is carried but not interpreted here.
  const std::string& sharding() const { return extras_->sharding; }
  void set_sharding(std::string text) { extras_.Mutable().sharding = std::move(text); }
  const std::string& backend_config() const { return extras_->backend_config; }
  void set_backend_config(std::string text) { extras_.Mutable().backend_config = std::move(text); }
  const std::map<std::string, std::string>& frontend_attributes() const { return extras_->frontend_attributes; }
  std::map<std::string, std::string>* mutable_frontend_attributes() { return &extras_.Mutable().frontend_attributes; }

  // Attributes of the text form that nothing here models (parameter_replication, domain, ...): name -> text, printed as
  // they were read.
  const std::map<std::string, std::string>& carried_attributes() const { return extras_->carried_attributes; }
  std::map<std::string, std::string>* mutable_carried_attributes() { return &extras_.Mutable().carried_attributes; }

  absl::Span<Instruction* const> control_predecessors() const {
    return control_predecessors_ == nullptr ? absl::Span<Instruction* const>() : *control_predecessors_;
  }
  void AddControlPredecessor(Instruction* instruction);
  void ClearControlPredecessors() { control_predecessors_.reset(); }

  // "add.3 (f.py:12)": for error messages.
  std::string Describe() const;

 private:
  friend class Computation;
  Instruction() = default;
  void AddUser(Instruction* user);
  void RemoveUser(Instruction* user);

  // What few instructions have.
  struct Extras {
    std::string sharding;
    std::string backend_config;
    std::map<std::string, std::string> frontend_attributes;
    std::map<std::string, std::string> carried_attributes;
  };

  // Programs have tens of thousands of instructions, which every pass goes over: what most ask for comes first, and
  // all fits four lines of cache.
  Opcode opcode_ = Opcode::kParameter;
  Shape shape_;
  absl::InlinedVector<Instruction*, 3> operands_;
  absl::InlinedVector<Instruction*, 3> users_;
  int64_t id_ = 0;
  Computation* parent_ = nullptr;
  // Places in `users_`, kept only where there are too many to search. Constants may have one user per instruction.
  std::unique_ptr<absl::flat_hash_map<const Instruction*, size_t>> user_places_;
  SharedValue<Metadata> metadata_;
  Attributes attributes_;
  absl::InlinedVector<Computation*, 2> called_;
  std::string name_;
  SharedValue<Extras> extras_;
  std::unique_ptr<std::vector<Instruction*>> control_predecessors_;  // null: none
};

}  // namespace kiln::hlo

#endif  // KILN_HLO_INSTRUCTION_H_
