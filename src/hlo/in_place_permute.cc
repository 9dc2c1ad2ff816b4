#include "src/hlo/in_place_permute.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "src/base/status.h"

namespace kiln::hlo {
namespace {

// "{{1,2},{3,4}}"; empty where the text is of another form.
std::vector<DimensionVector> NumberLists(absl::string_view text) {
  std::vector<DimensionVector> lists;
  if (!absl::ConsumePrefix(&text, "{{") || !absl::ConsumeSuffix(&text, "}}")) return {};
  for (absl::string_view list : absl::StrSplit(text, "},{")) {
    DimensionVector& numbers = lists.emplace_back();
    for (absl::string_view word : absl::StrSplit(list, ',')) {
      if (!absl::SimpleAtoi(word, &numbers.emplace_back())) return {};
    }
  }
  return lists;
}

}  // namespace

bool IsInPlacePermute(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kCollectivePermute && instruction.operand_count() == 4 &&
         instruction.operand(2)->shape().IsTuple();
}

absl::StatusOr<Instruction*> PermuteInPlace(const Instruction& permute, absl::Span<Instruction* const> operands,
                                            Builder* builder) {
  Instruction* output = operands[1];
  const Shape &from = operands[0]->shape(), &positions = operands[2]->shape();
  const bool is_one = positions.tuple_shapes().empty() || !positions.tuple_shapes(0).IsTuple();
  const auto found = permute.carried_attributes().find("slice_sizes");
  if (found == permute.carried_attributes().end()) {
    return InvalidArgument(permute.Describe(), ": in place it needs slice_sizes={{...}}");
  }
  const std::vector<DimensionVector> slices = NumberLists(found->second);
  if (slices.size() != (is_one ? 1 : positions.tuple_shapes().size())) {
    return InvalidArgument(permute.Describe(), ": slice_sizes=", found->second,
                           " must be a list of lists, one per slice");
  }
  for (size_t s = 0; s < slices.size(); ++s) {
    const DimensionVector& sizes = slices[s];
    bool fits = static_cast<int64_t>(sizes.size()) == from.rank();
    for (int64_t d = 0; fits && d < from.rank(); ++d) {
      fits = sizes[d] >= 0 && sizes[d] <= from.dimensions(d) && sizes[d] <= output->shape().dimensions(d);
    }
    if (!fits) {
      return InvalidArgument(permute.Describe(), ": a slice of ", found->second, " is not within ",
                             from.ToString(false), " and ", output->shape().ToString(false));
    }
    std::vector<Instruction*> read = {operands[0]}, write = {output, nullptr};
    for (int64_t d = 0; d < from.rank(); ++d) {
      for (int side : {0, 1}) {
        Instruction* list = operands[2 + side];
        if (!is_one) list = builder->GetTupleElement(list, static_cast<int64_t>(s));
        (side == 0 ? read : write).push_back(builder->GetTupleElement(list, d));
      }
    }
    write[1] = builder->Add(Opcode::kDynamicSlice, Shape(from.element_type(), sizes), std::move(read),
                            DynamicSliceAttributes{sizes});
    output = builder->Add(Opcode::kDynamicUpdateSlice, output->shape(), std::move(write));
  }
  return output;
}

}  // namespace kiln::hlo
