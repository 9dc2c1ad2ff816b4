#include "src/frontend/hlo_text/replica_groups_parser.h"

#include <algorithm>
#include <string>
#include <utility>

namespace kiln::hlo_text {
namespace {

using Groups = std::vector<std::vector<int64_t>>;

absl::StatusOr<std::vector<int64_t>> IntegersUntil(Lexer& lexer, absl::string_view open, absl::string_view close) {
  std::vector<int64_t> values;
  KILN_RETURN_IF_ERROR(lexer.List(open, close, [&]() -> absl::Status {
    KILN_ASSIGN_OR_RETURN(values.emplace_back(), lexer.Integer("an integer"));
    return absl::OkStatus();
  }));
  return values;
}

// The product of positive sizes when it stays within `limit`, -1 otherwise.
int64_t BoundedProduct(const std::vector<int64_t>& sizes, int64_t limit) {
  int64_t product = 1;
  for (int64_t size : sizes) {
    if (size <= 0 || product > limit / size) return -1;
    product *= size;
  }
  return product;
}

// Row-major numbers of an array of `sizes` read with its dimensions in the order `permutation`.
std::vector<int64_t> TransposedIota(const std::vector<int64_t>& sizes, const std::vector<int64_t>& permutation,
                                    int64_t count) {
  const size_t rank = sizes.size();
  std::vector<int64_t> strides(rank, 1);
  for (size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  std::vector<int64_t> index(rank, 0), numbers;
  numbers.reserve(count);
  int64_t number = 0;
  for (int64_t n = 0; n < count; ++n) {
    numbers.push_back(number);
    for (size_t i = rank; i-- > 0;) {
      const int64_t dimension = permutation[i];
      number += strides[dimension];
      if (++index[i] < sizes[dimension]) break;
      number -= strides[dimension] * sizes[dimension];
      index[i] = 0;
    }
  }
  return numbers;
}

Groups Cut(const std::vector<int64_t>& numbers, int64_t group_size) {
  Groups groups;
  for (size_t i = 0; i < numbers.size(); i += group_size) {
    groups.emplace_back(numbers.begin() + i, numbers.begin() + i + group_size);
  }
  return groups;
}

absl::StatusOr<Groups> ParseIota(Lexer& lexer, int64_t* budget) {
  const size_t start = lexer.offset();
  KILN_ASSIGN_OR_RETURN(std::vector<int64_t> shape, IntegersUntil(lexer, "[", "]"));
  KILN_RETURN_IF_ERROR(lexer.Expect("<="));
  KILN_ASSIGN_OR_RETURN(std::vector<int64_t> sizes, IntegersUntil(lexer, "[", "]"));
  std::vector<int64_t> permutation;
  if (lexer.Consume("T")) {
    KILN_ASSIGN_OR_RETURN(permutation, IntegersUntil(lexer, "(", ")"));
    std::vector<int64_t> sorted = permutation;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (sorted[i] != static_cast<int64_t>(i)) sorted.clear();
    }
    if (sorted.size() != sizes.size()) return lexer.Error(start, "T(...) must be a permutation of the iota dimensions");
  } else {
    for (size_t i = 0; i < sizes.size(); ++i) permutation.push_back(static_cast<int64_t>(i));
  }
  if (shape.size() != 2) return lexer.Error(start, "replica groups need two sizes: groups and members");
  const int64_t count = BoundedProduct(sizes, *budget);
  if (count < 0) return lexer.Error(start, "replica groups are empty or too large");
  if (BoundedProduct(shape, *budget) != count) return lexer.Error(start, "replica groups do not cover the iota");
  *budget -= count;
  return Cut(TransposedIota(sizes, permutation, count), shape[1]);
}

// mesh['a'=2,'b'=2] {'a'}: members of a group differ in the listed axes.
absl::StatusOr<Groups> ParseMesh(Lexer& lexer, int64_t* budget) {
  const size_t start = lexer.offset();
  KILN_RETURN_IF_ERROR(lexer.Expect("mesh"));
  KILN_RETURN_IF_ERROR(lexer.Expect("["));
  auto axis_name = [&]() -> absl::StatusOr<std::string> {
    KILN_RETURN_IF_ERROR(lexer.Expect("'"));
    std::string name(lexer.Run("_.-"));
    KILN_RETURN_IF_ERROR(lexer.Expect("'"));
    return name;
  };
  std::vector<std::string> names;
  std::vector<int64_t> sizes;
  do {
    KILN_ASSIGN_OR_RETURN(std::string name, axis_name());
    KILN_RETURN_IF_ERROR(lexer.Expect("="));
    KILN_ASSIGN_OR_RETURN(int64_t size, lexer.Integer("an axis size"));
    if (names.size() >= 64) return lexer.Error(start, "mesh of more than 64 axes");
    names.push_back(std::move(name));
    sizes.push_back(size);
  } while (lexer.Consume(","));
  KILN_RETURN_IF_ERROR(lexer.Expect("]"));
  lexer.Consume(",");
  std::vector<int64_t> members;
  KILN_RETURN_IF_ERROR(lexer.List("{", "}", [&]() -> absl::Status {
    const size_t at = lexer.offset();
    KILN_ASSIGN_OR_RETURN(std::string name, axis_name());
    const int64_t axis = std::find(names.begin(), names.end(), name) - names.begin();
    if (axis == static_cast<int64_t>(names.size())) return lexer.Error(at, "no such axis in the mesh");
    if (std::find(members.begin(), members.end(), axis) != members.end()) return lexer.Error(at, "axis named twice");
    members.push_back(axis);
    return absl::OkStatus();
  }));
  const int64_t count = BoundedProduct(sizes, *budget);
  if (count < 0) return lexer.Error(start, "replica groups are empty or too large");
  *budget -= count;
  std::vector<int64_t> permutation;
  int64_t group_size = 1;
  for (int64_t axis = 0; axis < static_cast<int64_t>(sizes.size()); ++axis) {
    if (std::find(members.begin(), members.end(), axis) == members.end()) permutation.push_back(axis);
  }
  for (int64_t axis : members) {
    permutation.push_back(axis);
    group_size *= sizes[axis];
  }
  return Cut(TransposedIota(sizes, permutation, count), group_size);
}

}  // namespace

absl::StatusOr<Groups> ParseNestedIntegers(Lexer& lexer) {
  Groups groups;
  KILN_RETURN_IF_ERROR(lexer.List("{", "}", [&]() -> absl::Status {
    KILN_ASSIGN_OR_RETURN(groups.emplace_back(), IntegersUntil(lexer, "{", "}"));
    return absl::OkStatus();
  }));
  return groups;
}

absl::StatusOr<Groups> ParseReplicaGroups(Lexer& lexer, int64_t* budget) {
  if (lexer.Peek() == '[') return ParseIota(lexer, budget);
  if (lexer.Peek() == 'm') return ParseMesh(lexer, budget);
  return ParseNestedIntegers(lexer);
}

}  // namespace kiln::hlo_text
