// A module: computations, the entry among them, and what the caller fixed about arguments and results.
#ifndef KILN_HLO_MODULE_H_
#define KILN_HLO_MODULE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "src/hlo/computation.h"

namespace kiln::hlo {

// An output leaf that may or must take over the buffer of a parameter leaf.
struct InputOutputAlias {
  DimensionVector output_index;
  int64_t parameter = 0;
  DimensionVector parameter_index;
  bool must_alias = false;

  bool operator==(const InputOutputAlias&) const = default;
};

// A parameter leaf whose buffer the caller gives up.
struct BufferDonor {
  int64_t parameter = 0;
  DimensionVector parameter_index;

  bool operator==(const BufferDonor&) const = default;
};

class Module {
 public:
  explicit Module(std::string name) : name_(std::move(name)) {}
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  // Computations in the order they were added: callees before callers when read from text or built bottom up.
  std::vector<Computation*> computations() const;
  // Callees before callers, only those reachable from the entry. Call graphs have no cycles (verified).
  std::vector<Computation*> PostOrder() const;
  Computation* entry() const { return entry_; }
  void set_entry(Computation* computation) {
    entry_ = computation;
    ++calls_version_;
  }

  // The name is made unique.
  Computation* AddComputation(std::string name);
  // A copy of `original` (of this or another module) with the same callees, or clones of them when it is of another module.
  Computation* AddClone(const Computation& original, std::string name = "");
  // Removes computations that the entry does not reach. Returns how many.
  int64_t RemoveUnusedComputations();
  std::unique_ptr<Module> Clone() const;

  // Shapes with layouts of parameters and result as the caller sees them; empty parameters mean: those of the entry.
  const std::vector<Shape>& entry_parameter_layouts() const { return entry_parameter_layouts_; }
  std::vector<Shape>* mutable_entry_parameter_layouts() { return &entry_parameter_layouts_; }
  const Shape& entry_result_layout() const { return entry_result_layout_; }
  Shape* mutable_entry_result_layout() { return &entry_result_layout_; }
  bool has_entry_layout() const { return has_entry_layout_; }
  void set_has_entry_layout(bool value) { has_entry_layout_ = value; }

  std::vector<InputOutputAlias>* mutable_aliases() { return &aliases_; }
  const std::vector<InputOutputAlias>& aliases() const { return aliases_; }
  std::vector<BufferDonor>* mutable_donors() { return &donors_; }
  const std::vector<BufferDonor>& donors() const { return donors_; }

  int64_t replica_count() const { return replica_count_; }
  void set_replica_count(int64_t count) { replica_count_ = count; }
  int64_t partition_count() const { return partition_count_; }
  void set_partition_count(int64_t count) { partition_count_ = count; }
  // Instruction order is the schedule.
  bool is_scheduled() const { return is_scheduled_; }
  void set_is_scheduled(bool value) { is_scheduled_ = value; }
  const std::map<std::string, std::string>& frontend_attributes() const { return frontend_attributes_; }
  std::map<std::string, std::string>* mutable_frontend_attributes() { return &frontend_attributes_; }

  // Attributes of the text header that nothing here models: name -> text, printed as they were read.
  const std::map<std::string, std::string>& carried_attributes() const { return carried_attributes_; }
  std::map<std::string, std::string>* mutable_carried_attributes() { return &carried_attributes_; }

  // "wanted", or "wanted.N" when another instruction (computation) has it.
  std::string UniqueInstructionName(const std::string& wanted);
  int64_t NextInstructionId() { return next_instruction_id_++; }

 private:
  friend class Computation;
  // An equal shape that instructions have already, or this one.
  Shape Shared(Shape shape);
  std::string UniqueName(const std::string& wanted, absl::flat_hash_set<uint64_t>* taken);

  std::string name_;
  std::vector<std::unique_ptr<Computation>> computations_;
  Computation* entry_ = nullptr;
  std::vector<Shape> entry_parameter_layouts_;
  Shape entry_result_layout_;
  bool has_entry_layout_ = false;
  std::vector<InputOutputAlias> aliases_;
  std::vector<BufferDonor> donors_;
  int64_t replica_count_ = 1;
  int64_t partition_count_ = 1;
  bool is_scheduled_ = false;
  std::map<std::string, std::string> frontend_attributes_;
  std::map<std::string, std::string> carried_attributes_;
  // Hashes of names: one of two names with equal hashes gets a number that it does not need.
  absl::flat_hash_set<uint64_t> instruction_names_;
  absl::flat_hash_set<uint64_t> computation_names_;
  absl::flat_hash_map<std::string, int64_t> name_counters_;
  int64_t next_instruction_id_ = 0;
  absl::flat_hash_set<Shape> shapes_;  // of arrays
  int64_t calls_version_ = 0;          // counts changes of what computations call
  mutable std::mutex order_mutex_;
  mutable int64_t order_version_ = -1;
  mutable std::vector<Computation*> order_;  // what PostOrder gave at that version
};

}  // namespace kiln::hlo

#endif  // KILN_HLO_MODULE_H_
