// Calls with elements narrower than a byte. Handlers expect them packed, the first element in the lowest bits, as
// XLA:CPU has them in memory; programs have one to the byte.
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "src/runtime/ffi/calls.h"

namespace kiln::runtime::ffi {
namespace {

struct NarrowLeaf {
  size_t index;  // among operand leaves, then result leaves
  int64_t count;
  int bits;
  bool is_signed;
  bool is_result;
};

class PackedCall : public cpu::CustomCall {
 public:
  PackedCall(std::unique_ptr<cpu::CustomCall> call, std::vector<NarrowLeaf> leaves)
      : call_(std::move(call)), leaves_(std::move(leaves)) {}

  bool HasStage(Stage stage) const override { return call_->HasStage(stage); }

  absl::Status Call(Stage stage, cpu::CustomCallRun* run, absl::Span<void* const> pointers) const override {
    if (stage != Stage::kExecute) return call_->Call(stage, run, pointers);
    absl::InlinedVector<void*, 8> addresses(pointers.begin(), pointers.end());
    std::vector<std::vector<uint8_t>> packed(leaves_.size());
    for (size_t i = 0; i < leaves_.size(); ++i) {
      const NarrowLeaf& leaf = leaves_[i];
      void* address = nullptr;
      // A result that shares the memory of an operand shares its packed form.
      for (size_t k = 0; k < i && leaf.is_result; ++k) {
        if (pointers[leaves_[k].index] == pointers[leaf.index]) address = addresses[leaves_[k].index];
      }
      if (address == nullptr) {
        packed[i].assign((leaf.count * leaf.bits + 7) / 8, 0);
        address = packed[i].data();
        const auto* elements = static_cast<const uint8_t*>(pointers[leaf.index]);
        const int mask = (1 << leaf.bits) - 1;
        for (int64_t e = 0; e < leaf.count && !leaf.is_result; ++e) {
          packed[i][e * leaf.bits / 8] |= static_cast<uint8_t>((elements[e] & mask) << (e * leaf.bits % 8));
        }
      }
      addresses[leaf.index] = address;
    }
    absl::Status status = call_->Call(stage, run, addresses);
    for (const NarrowLeaf& leaf : leaves_) {
      if (!leaf.is_result) continue;
      const auto* bytes = static_cast<const uint8_t*>(addresses[leaf.index]);
      auto* elements = static_cast<uint8_t*>(pointers[leaf.index]);
      const int above = 8 - leaf.bits;
      for (int64_t e = 0; e < leaf.count; ++e) {
        // Moved to the top of the byte and back, which extends the sign.
        const auto top = static_cast<uint8_t>(bytes[e * leaf.bits / 8] >> (e * leaf.bits % 8) << above);
        elements[e] = leaf.is_signed ? static_cast<uint8_t>(static_cast<int8_t>(top) >> above) : top >> above;
      }
    }
    return status;
  }

 private:
  const std::unique_ptr<cpu::CustomCall> call_;
  const std::vector<NarrowLeaf> leaves_;
};

}  // namespace

std::unique_ptr<cpu::CustomCall> PackNarrowTypes(const hlo::Instruction& instruction,
                                                 std::unique_ptr<cpu::CustomCall> call) {
  std::vector<NarrowLeaf> leaves;
  size_t index = 0;
  const auto add = [&](const hlo::Shape& shape, bool is_result) {
    for (const hlo::Shape* leaf : shape.Leaves()) {
      const hlo::PrimitiveType type = leaf->element_type();
      if (leaf->IsArray() && type != hlo::PrimitiveType::kPred && hlo::BitWidth(type) < 8) {
        leaves.push_back({index, leaf->element_count(), hlo::BitWidth(type), hlo::IsSignedIntegral(type), is_result});
      }
      ++index;
    }
  };
  for (const hlo::Instruction* operand : instruction.operands()) add(operand->shape(), false);
  add(instruction.shape(), true);
  if (leaves.empty()) return call;
  return std::make_unique<PackedCall>(std::move(call), std::move(leaves));
}

}  // namespace kiln::runtime::ffi
