// einsum and unary_einsum, which have left StableHLO: sums of products in Einstein's notation.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "src/frontend/stablehlo/op_import.h"
#include "src/passes/array_value.h"

namespace kiln::stablehlo {
namespace {

using hlo::DimensionVector;
using hlo::Opcode;
using passes::ArrayValue;

// One label for each dimension. Letters stand for themselves, dimensions of "..." for -1, -2, ... from the last on.
using Labels = std::vector<int>;

struct Term {
  ArrayValue value;
  Labels labels;
};

// `rank` < 0: that of the result, whose ellipsis has `ellipsis` dimensions.
absl::StatusOr<Labels> ReadLabels(const OpImport& op, absl::string_view text, int64_t rank, int64_t ellipsis) {
  Labels labels;
  int64_t letters = 0;
  for (char c : text) letters += absl::ascii_isalpha(c) ? 1 : 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (absl::ascii_isspace(text[i])) continue;
    if (absl::ascii_isalpha(text[i])) {
      labels.push_back(text[i]);
    } else if (text.substr(i, 3) == "..." && (labels.empty() || *std::min_element(labels.begin(), labels.end()) > 0)) {
      for (int64_t d = rank < 0 ? ellipsis : rank - letters; d > 0; --d) labels.push_back(static_cast<int>(-d));
      i += 2;
    } else {
      return op.Invalid("attribute einsum_config: '", text, "' is no list of letters with at most one '...'");
    }
  }
  if (rank >= 0 && static_cast<int64_t>(labels.size()) != rank) {
    return op.Invalid("attribute einsum_config: '", text, "' has ", labels.size(), " labels, its operand ", rank,
                      " dimensions");
  }
  return labels;
}

bool Contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

ArrayValue Sum(const ArrayValue& value, int64_t dimension) {
  hlo::Builder* builder = value.builder();
  return {builder, builder->Reduce(value.instruction(), builder->Scalar(value.type(), 0), {dimension}, Opcode::kAdd)};
}

// Takes the diagonal where a label stands twice, and the sum over labels that nobody else asks for.
void Reduce(Term* term, const Labels& asked) {
  for (size_t i = 0; i < term->labels.size();) {
    const int label = term->labels[i];
    const auto again = std::find(term->labels.begin() + static_cast<int64_t>(i) + 1, term->labels.end(), label);
    if (again != term->labels.end()) {
      const DimensionVector& dimensions = term->value.shape().dimensions();
      hlo::Builder* builder = term->value.builder();
      const int64_t j = again - term->labels.begin();
      const ArrayValue diagonal =
          Compare(hlo::ComparisonDirection::kEq,
                  passes::Iota(builder, hlo::PrimitiveType::kS64, dimensions, static_cast<int64_t>(i)),
                  passes::Iota(builder, hlo::PrimitiveType::kS64, dimensions, j));
      term->value = Sum(Select(diagonal, term->value, term->value.Number(int64_t{0})), j);
      term->labels.erase(again);
    } else if (!Contains(asked, label)) {
      term->value = Sum(term->value, static_cast<int64_t>(i));
      term->labels.erase(term->labels.begin() + static_cast<int64_t>(i));
    } else {
      ++i;
    }
  }
}

Term Multiply(const Term& a, const Term& b, const Labels& result, std::vector<hlo::Precision> precision) {
  hlo::DotAttributes dot;
  dot.operand_precision = std::move(precision);
  Term product;
  DimensionVector dimensions;
  auto add = [&](const Term& term, size_t i) {
    product.labels.push_back(term.labels[i]);
    dimensions.push_back(term.value.shape().dimensions(static_cast<int64_t>(i)));
  };
  for (size_t i = 0; i < a.labels.size(); ++i) {
    const auto other = std::find(b.labels.begin(), b.labels.end(), a.labels[i]);
    if (other == b.labels.end()) continue;
    const bool is_batch = Contains(result, a.labels[i]);
    (is_batch ? dot.lhs_batch : dot.lhs_contracting).push_back(static_cast<int64_t>(i));
    (is_batch ? dot.rhs_batch : dot.rhs_contracting).push_back(other - b.labels.begin());
    if (is_batch) add(a, i);
  }
  for (size_t i = 0; i < a.labels.size(); ++i) {
    if (!Contains(b.labels, a.labels[i])) add(a, i);
  }
  for (size_t i = 0; i < b.labels.size(); ++i) {
    if (!Contains(a.labels, b.labels[i])) add(b, i);
  }
  hlo::Builder* builder = a.value.builder();
  product.value = ArrayValue(builder, builder->Add(Opcode::kDot, hlo::Shape(a.value.type(), dimensions),
                                                   {a.value.instruction(), b.value.instruction()}, std::move(dot)));
  return product;
}

absl::Status ImportEinsum(OpImport& op) {
  KILN_ASSIGN_OR_RETURN(const std::string config, op.String("einsum_config"));
  KILN_ASSIGN_OR_RETURN(std::vector<hlo::Precision> precision, op.Precisions());
  const std::vector<std::string> sides = absl::StrSplit(config, "->");
  const std::vector<std::string> inputs = absl::StrSplit(sides[0], ',');
  if (sides.size() != 2 || inputs.size() != op.operand_count()) {
    return op.Invalid("attribute einsum_config is '", config, "', expected ", op.operand_count(),
                      " lists of labels, '->', and one of the result");
  }
  hlo::Builder builder(op.body().computation(), nullptr);
  std::vector<Term> terms;
  std::map<int, int64_t> sizes;
  int64_t ellipsis = 0;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const hlo::Shape& shape = op.operand_shape(k);
    if (!shape.IsArray() || shape.element_type() != op.operand_shape(0).element_type()) {
      return op.Invalid("operand ", k, " is ", shape.ToString(false), ", expected arrays of one type");
    }
    KILN_ASSIGN_OR_RETURN(Labels labels, ReadLabels(op, inputs[k], shape.rank(), 0));
    for (size_t i = 0; i < labels.size(); ++i) {
      const int64_t size = shape.dimensions(static_cast<int64_t>(i));
      const auto [known, is_new] = sizes.emplace(labels[i], size);
      if (!is_new && known->second != size) {
        return op.Invalid("dimension ", i, " of operand ", k, ", ", shape.ToString(false), ", has a label of size ",
                          known->second);
      }
      ellipsis = std::max<int64_t>(ellipsis, -labels[i]);
    }
    terms.push_back({ArrayValue(&builder, op.operand(k)), std::move(labels)});
  }
  KILN_ASSIGN_OR_RETURN(const Labels result, ReadLabels(op, sides[1], -1, ellipsis));
  for (size_t i = 0; i < result.size(); ++i) {
    if (!sizes.contains(result[i]) ||
        Contains(Labels(result.begin(), result.begin() + static_cast<int64_t>(i)), result[i])) {
      return op.Invalid("attribute einsum_config is '", config,
                        "': a label of the result stands in no operand, or twice");
    }
  }
  for (size_t k = 0; k < terms.size(); ++k) {
    Labels asked = result;
    for (size_t other = 0; other < terms.size(); ++other) {
      if (other != k) asked.insert(asked.end(), terms[other].labels.begin(), terms[other].labels.end());
    }
    Reduce(&terms[k], asked);
  }
  const Term product = terms.size() == 1 ? terms[0] : Multiply(terms[0], terms[1], result, std::move(precision));
  DimensionVector order;
  for (int label : result) {
    order.push_back(std::find(product.labels.begin(), product.labels.end(), label) - product.labels.begin());
  }
  KILN_ASSIGN_OR_RETURN(const hlo::Shape declared, op.ResultShape());
  hlo::Instruction* transposed = product.value.Transpose(order).Convert(declared.element_type()).instruction();
  op.AnnotateAll(builder);
  return op.Define(transposed);
}

constexpr OpRow kEinsumOps[] = {
    {"stablehlo.einsum", ImportEinsum, 2},
    {"stablehlo.unary_einsum", ImportEinsum, 1},
};

}  // namespace

absl::Span<const OpRow> EinsumOps() { return kEinsumOps; }

}  // namespace kiln::stablehlo
