#include "src/analysis/associativity.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "src/analysis/combiner.h"

namespace kiln::analysis {
namespace {

using hlo::Instruction;
using hlo::Opcode;

// Products of variables (sorted, repeated for powers) with integer coefficients other than 0.
using Polynomial = std::map<std::vector<int>, int64_t>;

constexpr size_t kMaxTerms = 256;
constexpr size_t kMaxDegree = 16;
// All choices of zero and one are tried as identities.
constexpr int kMaxParts = 4;

bool AddTo(Polynomial* sum, const Polynomial& more, int64_t sign) {
  for (const auto& [variables, coefficient] : more) {
    int64_t& total = (*sum)[variables];
    int64_t scaled;
    if (__builtin_mul_overflow(coefficient, sign, &scaled) || __builtin_add_overflow(total, scaled, &total))
      return false;
    if (total == 0) sum->erase(variables);
  }
  return sum->size() <= kMaxTerms;
}

std::optional<Polynomial> Product(const Polynomial& a, const Polynomial& b) {
  Polynomial product;
  for (const auto& [left, coefficient] : a) {
    Polynomial row;
    for (const auto& [right, factor] : b) {
      std::vector<int> variables(left.size() + right.size());
      std::merge(left.begin(), left.end(), right.begin(), right.end(), variables.begin());
      if (variables.size() > kMaxDegree) return std::nullopt;
      row[variables] = factor;
    }
    if (!AddTo(&product, row, coefficient)) return std::nullopt;
  }
  return product;
}

std::vector<const Instruction*> Parts(const hlo::Computation& combiner) {
  const Instruction* root = combiner.root();
  if (root->opcode() != Opcode::kTuple) return {root};
  return {root->operands().begin(), root->operands().end()};
}

// What `combiner` makes of polynomials in place of its parameters.
std::optional<std::vector<Polynomial>> Apply(const hlo::Computation& combiner,
                                             const std::vector<Polynomial>& arguments) {
  absl::flat_hash_map<const Instruction*, Polynomial> values;
  for (const Instruction* instruction : combiner.PostOrder()) {
    if (instruction->opcode() == Opcode::kTuple) continue;
    const hlo::PrimitiveType type = instruction->shape().element_type();
    if (!instruction->shape().IsArray() || type == hlo::PrimitiveType::kPred) return std::nullopt;
    auto operand = [&](int64_t i) -> const Polynomial& { return values.at(instruction->operand(i)); };
    Polynomial value;
    bool known = true;
    switch (instruction->opcode()) {
      case Opcode::kParameter:
        value = arguments[instruction->parameter_number()];
        break;
      case Opcode::kAdd:
      case Opcode::kSubtract:
        value = operand(0);
        known = AddTo(&value, operand(1), instruction->opcode() == Opcode::kAdd ? 1 : -1);
        break;
      case Opcode::kNegate:
        known = AddTo(&value, operand(0), -1);
        break;
      case Opcode::kMultiply: {
        std::optional<Polynomial> product = Product(operand(0), operand(1));
        known = product.has_value();
        if (known) value = *std::move(product);
        break;
      }
      default:
        known = false;
    }
    if (!known) return std::nullopt;
    values[instruction] = std::move(value);
  }
  std::vector<Polynomial> results;
  for (const Instruction* part : Parts(combiner)) results.push_back(values.at(part));
  return results;
}

std::vector<Polynomial> Variables(int first, int count) {
  std::vector<Polynomial> variables;
  for (int i = 0; i < count; ++i) variables.push_back({{{first + i}, 1}});
  return variables;
}

std::vector<Polynomial> Join(std::vector<Polynomial> a, const std::vector<Polynomial>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Whether every part is left as it is by `later` parts that are 1 where `ones` has their bits and else 0. Nothing of
// what was earlier may be multiplied by the zeros, since it may be infinite.
bool LeavesEarlier(const std::vector<Polynomial>& combined, int count, unsigned ones) {
  for (int part = 0; part < count; ++part) {
    Polynomial rest;
    for (const auto& [variables, coefficient] : combined[part]) {
      std::vector<int> earlier;
      bool vanishes = false;
      for (int variable : variables) {
        if (variable < count) earlier.push_back(variable);
        if (variable >= count && (ones >> (variable - count) & 1) == 0) vanishes = true;
      }
      if (vanishes && !earlier.empty()) return false;
      if (!vanishes && !AddTo(&rest, {{earlier, 1}}, coefficient)) return false;
    }
    if (rest != Polynomial{{{part}, 1}}) return false;
  }
  return true;
}

// Of (earlier, later) -> opcode(earlier, later) over parts of their own.
std::optional<hlo::Literal> IdentityOfPart(const Instruction& combined, int part, int count) {
  if (combined.operand_count() != 2) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const Instruction* operand : combined.operands()) {
    if (!operand->IsParameter()) return std::nullopt;
    numbers.push_back(operand->parameter_number());
  }
  std::sort(numbers.begin(), numbers.end());
  if (numbers != std::vector<int64_t>{part, part + count}) return std::nullopt;
  return IdentityOf(combined.opcode(), combined.shape().element_type());
}

}  // namespace

std::optional<Identity> FindIdentity(const hlo::Computation& combiner) {
  const std::vector<const Instruction*> parts = Parts(combiner);
  const int count = static_cast<int>(parts.size());
  Identity identity{.from_left = true};
  for (int part = 0; part < count && identity.from_left; ++part) {
    std::optional<hlo::Literal> value = IdentityOfPart(*parts[part], part, count);
    identity.from_left = value.has_value();
    if (value) identity.values.push_back(*std::move(value));
  }
  if (identity.from_left) return identity;

  if (count > kMaxParts) return std::nullopt;
  const std::vector<Polynomial> x = Variables(0, count), y = Variables(count, count), z = Variables(2 * count, count);
  const auto xy = Apply(combiner, Join(x, y));
  const auto yz = Apply(combiner, Join(y, z));
  if (!xy || !yz) return std::nullopt;
  const auto left = Apply(combiner, Join(*xy, z));
  const auto right = Apply(combiner, Join(x, *yz));
  if (!left || !right || *left != *right) return std::nullopt;
  for (unsigned ones = 0; ones < 1u << count; ++ones) {
    if (!LeavesEarlier(*xy, count, ones)) continue;
    identity.values.clear();
    for (int part = 0; part < count; ++part) {
      const hlo::PrimitiveType type = parts[part]->shape().element_type();
      identity.values.push_back((ones >> part & 1) != 0 ? hlo::OneLiteral(type) : hlo::ZeroLiteral(type));
    }
    return identity;
  }
  return std::nullopt;
}

}  // namespace kiln::analysis
