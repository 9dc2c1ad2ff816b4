#include "src/cpu/donation.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace kiln::cpu {
namespace {

struct Leaf {
  hlo::DimensionVector index;
  const hlo::Shape* shape;
};

void AppendLeaves(const hlo::Shape& shape, hlo::DimensionVector* index, std::vector<Leaf>* leaves) {
  if (!shape.IsTuple()) {
    leaves->push_back({*index, &shape});
    return;
  }
  for (size_t i = 0; i < shape.tuple_shapes().size(); ++i) {
    index->push_back(static_cast<int64_t>(i));
    AppendLeaves(shape.tuple_shapes(static_cast<int64_t>(i)), index, leaves);
    index->pop_back();
  }
}

std::vector<Leaf> LeavesOf(const hlo::Shape& shape) {
  std::vector<Leaf> leaves;
  hlo::DimensionVector index;
  AppendLeaves(shape, &index, &leaves);
  return leaves;
}

}  // namespace

void AliasDonors(hlo::Module* module) {
  if (module->donors().empty()) return;
  std::vector<Leaf> free = LeavesOf(module->entry()->root()->shape());
  std::erase_if(free, [&](const Leaf& leaf) {
    return !leaf.shape->IsArray() || std::any_of(module->aliases().begin(), module->aliases().end(),
                                                 [&](const auto& alias) { return alias.output_index == leaf.index; });
  });
  std::erase_if(*module->mutable_donors(), [&](const hlo::BufferDonor& donor) {
    const std::vector<Leaf> leaves = LeavesOf(module->entry()->parameter(donor.parameter)->shape());
    const auto given = std::find_if(leaves.begin(), leaves.end(),
                                    [&](const Leaf& leaf) { return leaf.index == donor.parameter_index; });
    if (given == leaves.end() || !given->shape->IsArray()) return false;
    auto taker = std::find_if(free.begin(), free.end(), [&](const Leaf& leaf) {
      return hlo::Shape::Compatible(*leaf.shape, *given->shape);
    });
    if (taker == free.end()) {
      taker = std::find_if(free.begin(), free.end(), [&](const Leaf& leaf) {
        return leaf.shape->byte_count() == given->shape->byte_count();
      });
    }
    if (taker == free.end()) return false;
    module->mutable_aliases()->push_back({std::move(taker->index), donor.parameter, donor.parameter_index});
    free.erase(taker);
    return true;
  });
}

}  // namespace kiln::cpu
