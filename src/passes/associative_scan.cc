#include "src/passes/associative_scan.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "src/analysis/associativity.h"
#include "src/passes/array_formula.h"

namespace kiln::passes {
namespace {

// Shorter ones are little work either way.
constexpr int64_t kMinSize = 16;

// `count` elements of one dimension, from `start` on in steps of `stride`, and all of the others.
struct ScanPart {
  Instruction* array;
  int64_t start, stride, count;
};

std::optional<ScanPart> AsPart(const Instruction& slice, int64_t dimension) {
  if (slice.opcode() != Opcode::kSlice || dimension >= slice.shape().rank()) return std::nullopt;
  const auto& attributes = slice.Get<hlo::SliceAttributes>();
  for (int64_t i = 0; i < slice.shape().rank(); ++i) {
    if (i != dimension && slice.shape().dimensions(i) != slice.operand(0)->shape().dimensions(i)) return std::nullopt;
  }
  return ScanPart{slice.operand(0), attributes.start[dimension], attributes.stride[dimension],
                  slice.shape().dimensions(dimension)};
}

bool IsPart(const Instruction& slice, int64_t dimension, const Instruction* array, int64_t start, int64_t stride,
            int64_t count) {
  const std::optional<ScanPart> part = AsPart(slice, dimension);
  return part && part->array == array && part->start == start && part->count == count &&
         (part->stride == stride || count <= 1);
}

// Level of a tree: the sum of both halves spread with zeros between.
struct Interleaving {
  int64_t dimension;
  Instruction* elements;  // whose first one is the first result
  Instruction* between;   // the other results at even places
  Instruction* odd;
};

// The only dimension with elements between; the padding is a zero.
std::optional<int64_t> SpreadDimension(const Instruction& pad) {
  if (pad.opcode() != Opcode::kPad || !pad.operand(1)->IsConstant() || !hlo::IsSplatOf(pad.operand(1)->literal(), 0)) {
    return std::nullopt;
  }
  const auto& attributes = pad.Get<hlo::PadAttributes>();
  std::optional<int64_t> spread;
  for (int64_t i = 0; i < pad.shape().rank(); ++i) {
    if (attributes.interior[i] == 0 && attributes.low[i] == 0 && attributes.high[i] == 0) continue;
    if (spread || attributes.interior[i] != 1) return std::nullopt;
    spread = i;
  }
  return spread;
}

std::optional<Interleaving> AsInterleaving(const Instruction& sum) {
  if (sum.opcode() != (sum.shape().element_type() == PrimitiveType::kPred ? Opcode::kOr : Opcode::kAdd)) {
    return std::nullopt;
  }
  const std::optional<int64_t> dimension = SpreadDimension(*sum.operand(0));
  if (!dimension || dimension != SpreadDimension(*sum.operand(1))) return std::nullopt;
  const int64_t d = *dimension;
  auto low = [&](int64_t i) { return sum.operand(i)->Get<hlo::PadAttributes>().low[d]; };
  if (low(0) + low(1) != 1 || low(0) * low(1) != 0) return std::nullopt;
  const Instruction* even = sum.operand(low(0))->operand(0);
  Instruction* odd = sum.operand(low(1))->operand(0);
  const int64_t size = sum.shape().dimensions(d);
  if (even->opcode() != Opcode::kConcatenate || even->operand_count() != 2 || even->dimensions()[0] != d ||
      even->shape().dimensions(d) != (size + 1) / 2 || odd->shape().dimensions(d) != size / 2) {
    return std::nullopt;
  }
  const std::optional<ScanPart> first = AsPart(*even->operand(0), d);
  if (!first || first->start != 0 || first->count != 1 ||
      first->array->shape().dimensions() != sum.shape().dimensions())
    return std::nullopt;
  return Interleaving{d, first->array, even->operand(1), odd};
}

// What level 0 of a tree is made of, part by part of the elements. Of parts whose scans nobody needs only `elements`
// are there; `formulas` are the elements of level 1.
class Tree {
 public:
  Tree(int64_t dimension, int64_t size) : dimension_(dimension), size_(size) {}

  // Whether these results (of this dimension and size) are scans of one tree. Their parts come first.
  bool Match(const std::vector<Instruction*>& results) {
    for (const Instruction* result : results) elements_.push_back(AsInterleaving(*result)->elements);
    formulas_.resize(elements_.size());
    levels_ = {{elements_, results, size_}};
    int64_t n = size_;
    for (size_t l = 0; n >= 2; ++l, n /= 2) {
      levels_.push_back({{}, {}, n / 2});
      const std::vector<Instruction*> scans = levels_[l].scans;
      for (size_t i = 0; i < scans.size(); ++i) {
        if (scans[i] == nullptr) continue;
        const std::optional<Interleaving> here = AsInterleaving(*scans[i]);
        if (!here || here->dimension != dimension_ || !BindElements(l, i, here->elements)) return false;
        const std::optional<Interleaving> below = n >= 4 ? AsInterleaving(*here->odd) : std::nullopt;
        if ((n >= 4 && !below) || !Bind(&levels_[l + 1].scans, i, here->odd)) return false;
        if (!BindElements(l + 1, i, n >= 4 ? below->elements : here->odd)) return false;
      }
      // What lies between the scans of the next level, which are combined with the elements behind them.
      const int64_t count = (n + 1) / 2 - 1;
      auto leaf = [&](size_t part, bool later, Instruction* value) {
        if (later) return IsPart(*value, dimension_, At(l == 0 ? elements_ : levels_[l].elements, part), 2, 2, count);
        if (n % 2 == 0) {
          const std::optional<ScanPart> slice = AsPart(*value, dimension_);
          if (!slice || slice->start != 0 || slice->stride != 1 || slice->count != count) return false;
          value = slice->array;
        }
        return value->shape().dimensions(dimension_) == n / 2 && Bind(&levels_[l + 1].scans, part, value);
      };
      for (size_t i = 0; i < scans.size() && count > 0; ++i) {
        if (scans[i] != nullptr && !Same(formulas_[i], AsInterleaving(*scans[i])->between, leaf)) return false;
      }
    }
    for (size_t i = 0; i < levels_.back().scans.size(); ++i) {
      Instruction* scan = levels_.back().scans[i];
      if (scan != nullptr && !BindElements(levels_.size() - 1, i, scan)) return false;
    }
    return absl::c_all_of(formulas_, [](const Instruction* formula) { return formula != nullptr; });
  }

  const std::vector<Instruction*>& elements() const { return elements_; }

  // (later..., earlier...) -> (combined..., combined...) over arrays without the dimension, or (earlier..., later...)
  // -> combined for proofs.
  Computation* Body(Module* module, bool for_scan) const {
    Computation* body = module->AddComputation("scan");
    const int64_t count = static_cast<int64_t>(elements_.size());
    std::vector<Instruction*> first, second;
    for (int64_t i = 0; i < 2 * count; ++i)
      (i < count ? first : second).push_back(body->AddParameter(i, Slice(i % count)));
    const std::vector<Instruction*>& later = for_scan ? first : second;
    const std::vector<Instruction*>& earlier = for_scan ? second : first;
    Builder builder(body, elements_[0]);
    absl::flat_hash_map<const Instruction*, Instruction*> made;
    std::function<Instruction*(const Instruction*)> make = [&](const Instruction* formula) {
      if (auto found = made.find(formula); found != made.end()) return found->second;
      Instruction* result = nullptr;
      if (const std::optional<std::pair<size_t, bool>> leaf = Leaf(*formula)) {
        result = (leaf->second ? later : earlier)[leaf->first];
      } else {
        std::vector<Instruction*> operands;
        for (const Instruction* operand : formula->operands()) operands.push_back(make(operand));
        const Shape shape(formula->shape().element_type(), Slice(0).dimensions());
        result = builder.Add(formula->opcode(), shape, std::move(operands), formula->attributes());
      }
      return made[formula] = result;
    };
    std::vector<Instruction*> results;
    for (int64_t i = 0; i < (for_scan ? 2 : 1) * count; ++i) results.push_back(make(formulas_[i % count]));
    body->set_root(builder.Tuple(std::move(results)));
    return body;
  }

  // One element of part i.
  Shape Slice(int64_t i) const {
    DimensionVector dimensions = elements_[i]->shape().dimensions();
    dimensions.erase(dimensions.begin() + dimension_);
    return Shape(elements_[i]->shape().element_type(), dimensions);
  }

 private:
  // By part; null: not known.
  struct Level {
    std::vector<Instruction*> elements, scans;
    int64_t size = 0;
  };
  // Whether `value` stands for the earlier or later element of a part.
  using IsLeaf = std::function<bool(size_t part, bool later, Instruction* value)>;

  static Instruction* At(const std::vector<Instruction*>& values, size_t i) {
    return i < values.size() ? values[i] : nullptr;
  }
  static bool Bind(std::vector<Instruction*>* values, size_t i, Instruction* value) {
    if (i >= values->size()) values->resize(i + 1);
    if ((*values)[i] == nullptr) (*values)[i] = value;
    return (*values)[i] == value;
  }

  // Makes `value` the elements of part i at a level: those of level 0, or neighbours of the level above, combined.
  bool BindElements(size_t level, size_t i, Instruction* value) {
    if (level == 0) return At(elements_, i) == value;
    if (At(levels_[level].elements, i) != nullptr || value->shape().dimensions(dimension_) != levels_[level].size) {
      return At(levels_[level].elements, i) == value;
    }
    Bind(&levels_[level].elements, i, value);
    if (formulas_[i] == nullptr) {
      if (level != 1) return false;
      formulas_[i] = value;
      return Discover(value);
    }
    return Same(formulas_[i], value, [&](size_t part, bool later, Instruction* slice) {
      const std::optional<ScanPart> found = AsPart(*slice, dimension_);
      return found && IsPart(*slice, dimension_, found->array, later ? 1 : 0, 2, levels_[level].size) &&
             BindElements(level - 1, part, found->array);
    });
  }

  // The part that an operand of a formula of level 0 is taken from, and whether it is the later one of two neighbours.
  std::optional<std::pair<size_t, bool>> Leaf(const Instruction& value) const {
    const std::optional<ScanPart> part = AsPart(value, dimension_);
    if (!part || part->stride != 2 || part->start > 1 || part->count != size_ / 2) return std::nullopt;
    auto found = absl::c_find(elements_, part->array);
    if (found == elements_.end()) return std::nullopt;
    return std::make_pair(static_cast<size_t>(found - elements_.begin()), part->start == 1);
  }

  // Finds the parts that a formula of level 0 needs, and holds that it is elementwise.
  bool Discover(Instruction* formula) {
    const std::optional<ScanPart> part = AsPart(*formula, dimension_);
    if (part && part->array->shape().dimensions(dimension_) == size_ && part->stride == 2 && part->start <= 1 &&
        part->count == size_ / 2) {
      if (!absl::c_linear_search(elements_, part->array)) {
        elements_.push_back(part->array);
        formulas_.push_back(nullptr);
      }
      return true;
    }
    if (!hlo::IsElementwise(formula->opcode()) || formula->operand_count() == 0) return false;
    if (!seen_.insert(formula).second) return true;
    return absl::c_all_of(formula->operands(), [&](Instruction* operand) { return Discover(operand); });
  }

  // Whether `value` computes what the formula of level 0 does, from other leaves.
  bool Same(const Instruction* formula, Instruction* value, const IsLeaf& is_leaf) const {
    absl::flat_hash_set<std::pair<const Instruction*, const Instruction*>> seen;
    std::function<bool(const Instruction*, Instruction*)> same = [&](const Instruction* a, Instruction* b) {
      if (!seen.insert({a, b}).second) return true;
      if (const std::optional<std::pair<size_t, bool>> leaf = Leaf(*a)) return is_leaf(leaf->first, leaf->second, b);
      if (a->opcode() != b->opcode() || a->attributes() != b->attributes() ||
          a->shape().element_type() != b->shape().element_type() || a->operand_count() != b->operand_count()) {
        return false;
      }
      for (int64_t i = 0; i < a->operand_count(); ++i) {
        if (!same(a->operand(i), b->operand(i))) return false;
      }
      return true;
    };
    return same(formula, value);
  }

  int64_t dimension_, size_;
  std::vector<Level> levels_;
  std::vector<Instruction*> elements_;
  std::vector<Instruction*> formulas_;
  absl::flat_hash_set<const Instruction*> seen_;
};

// Scans all parts of the tree at once: the scan of each.
std::vector<Instruction*> Scan(const Tree& tree, int64_t dimension, Computation* body,
                               const analysis::Identity& identity, Builder* builder) {
  const int64_t count = static_cast<int64_t>(tree.elements().size());
  const bool reverse = absl::c_all_of(tree.elements(), [&](const Instruction* elements) {
    return elements->opcode() == Opcode::kReverse && elements->dimensions() == DimensionVector{dimension};
  });
  std::vector<Instruction*> operands, carries;
  for (int64_t i = 0; i < count; ++i) {
    Instruction* elements = tree.elements()[i];
    if (reverse) elements = elements->operand(0);
    const Shape& shape = elements->shape();
    const Shape slice = tree.Slice(i);
    Instruction* carry = builder->Splat(slice, identity.values[i]);
    if (!identity.from_left) {
      // The first element is carried into the scan, and the identity stands in its place.
      const int64_t first = reverse ? shape.dimensions(dimension) - 1 : 0;
      hlo::SliceAttributes only{DimensionVector(shape.rank(), 0), shape.dimensions(), DimensionVector(shape.rank(), 1)};
      only.start[dimension] = first;
      only.limit[dimension] = first + 1;
      carry = builder->Reshape(builder->Slice(elements, only), slice.dimensions());
      const Shape places(first <= INT32_MAX ? PrimitiveType::kS32 : PrimitiveType::kS64, shape.dimensions());
      Instruction* place = builder->Add(Opcode::kIota, places, {}, hlo::DimensionsAttributes{{dimension}});
      Instruction* is_first =
          builder->Compare(ComparisonDirection::kEq, place, builder->Splat(places, static_cast<double>(first)));
      elements = builder->Select(is_first, builder->Splat(shape, identity.values[i]), elements);
    }
    operands.push_back(elements);
    carries.push_back(carry);
  }
  std::vector<Instruction*> scans = AddScan(builder, std::move(operands), carries, dimension, reverse, body);
  for (Instruction*& scan : scans) {
    if (!reverse) break;
    scan = builder->Add(Opcode::kReverse, scan->shape(), {scan}, hlo::DimensionsAttributes{{dimension}});
  }
  return scans;
}

bool RunOn(Computation* computation) {
  if (!computation->MayContain(Opcode::kPad) || !computation->MayContain(Opcode::kConcatenate)) return false;
  // Tops of trees: interleavings that no other one interleaves.
  std::vector<Instruction*> tops;
  absl::flat_hash_set<const Instruction*> odd;
  for (Instruction* instruction : computation->PostOrder()) {
    const std::optional<Interleaving> interleaving = AsInterleaving(*instruction);
    if (!interleaving) continue;
    odd.insert(interleaving->odd);
    if (instruction->shape().dimensions(interleaving->dimension) >= kMinSize) tops.push_back(instruction);
  }
  std::erase_if(tops, [&](const Instruction* top) { return odd.contains(top); });
  bool changed = false;
  while (!tops.empty()) {
    const Interleaving top = *AsInterleaving(*tops.back());
    const Shape& shape = tops.back()->shape();
    std::vector<Instruction*> results = {tops.back()};
    tops.pop_back();
    Tree tree(top.dimension, shape.dimensions(top.dimension));
    if (!tree.Match(results)) continue;
    // Other parts of the same elements.
    for (size_t i = 1; i < tree.elements().size(); ++i) {
      const auto other = absl::c_find_if(tops, [&](const Instruction* candidate) {
        const Interleaving interleaving = *AsInterleaving(*candidate);
        return interleaving.dimension == top.dimension && interleaving.elements == tree.elements()[i];
      });
      if (other != tops.end()) results.push_back(*other);
    }
    Tree whole(top.dimension, shape.dimensions(top.dimension));
    if (results.size() == 1 || !whole.Match(results)) {
      whole = tree;
      results.resize(1);
    }
    const std::optional<analysis::Identity> identity =
        analysis::FindIdentity(*whole.Body(computation->parent(), /*for_scan=*/false));
    if (!identity) continue;
    Builder builder(computation, results[0]);
    const std::vector<Instruction*> scans =
        Scan(whole, top.dimension, whole.Body(computation->parent(), /*for_scan=*/true), *identity, &builder);
    for (size_t i = 0; i < results.size(); ++i) {
      results[i]->ReplaceAllUsesWith(scans[i]);
      std::erase(tops, results[i]);
    }
    changed = true;
  }
  if (changed) computation->RemoveDeadInstructions();
  return changed;
}

}  // namespace

absl::StatusOr<bool> RecognizeAssociativeScans(Module* module) {
  bool changed = false;
  for (Computation* computation : module->PostOrder()) changed |= RunOn(computation);
  module->RemoveUnusedComputations();
  return changed;
}

}  // namespace kiln::passes
