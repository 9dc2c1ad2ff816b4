// Which view of quantized tensors each op takes.
#include <algorithm>
#include <optional>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "src/base/status.h"
#include "src/frontend/stablehlo/op_import.h"
#include "src/frontend/stablehlo/quantization.h"

namespace kiln::stablehlo {
namespace {

using hlo::PrimitiveType;
using mlir::QuantizedType;

enum class Rule : uint8_t {
  kMoves,      // Elements go from operands to results as they are: all quantized types must mean the same.
  kStructure,  // Values pass one by one to regions, functions and results, whose ops check them.
  kComputes,   // Through floats.
  kPicks,      // kMoves where the types are the same, else kComputes.
  kProduct,    // In integers where that is exact, else kComputes.
};

struct RuleRow {
  Rule rule;
  absl::string_view names;  // Separated by spaces, without "stablehlo.".
};

// Ops that are not here take no quantized tensors.
constexpr RuleRow kRules[] = {
    {Rule::kMoves,
     "broadcast broadcast_in_dim collective_broadcast collective_permute concatenate "
     "constant dynamic_broadcast_in_dim dynamic_gather dynamic_pad dynamic_reshape dynamic_slice "
     "dynamic_update_slice gather get_dimension_size pad real_dynamic_slice reshape reverse "
     "select_and_scatter set_dimension_size slice torch_index_select transpose"},
    {Rule::kStructure,
     "after_all all_gather all_reduce all_to_all bitcast_convert case composite func.call get_tuple_element if infeed "
     "map "
     "optimization_barrier outfeed recv reduce reduce_scatter reduce_window scatter send sdy.manual_computation "
     "sdy.sharding_constraint sort tuple builtin.unrealized_conversion_cast while"},
    {Rule::kComputes,
     "abs add atan2 batch_norm_grad batch_norm_inference batch_norm_training cbrt ceil chlo.acos chlo.acosh "
     "chlo.asin chlo.asinh chlo.atanh chlo.cosh chlo.erf chlo.sinh chlo.tan cholesky compare convert cosine divide "
     "dynamic_iota exp2 exponential exponential_minus_one floor fma iota is_finite log log2 log_plus_one logistic "
     "multiply negate power reduce_precision remainder round_nearest_afz round_nearest_even rsqrt sign sine sqrt "
     "subtract tan tanh triangular_solve uniform_dequantize uniform_quantize"},
    {Rule::kPicks, "clamp maximum minimum select"},
    {Rule::kProduct, "convolution dot dot_general dynamic_conv"},
};

std::optional<Rule> FindRule(absl::string_view name) {
  absl::ConsumePrefix(&name, "stablehlo.");
  for (const RuleRow& row : kRules) {
    for (absl::string_view listed : absl::StrSplit(row.names, ' ')) {
      if (listed == name) return row.rule;
    }
  }
  return std::nullopt;
}

// Same storage, meaning and, where as many, scales. Which dimension is quantized may change as dimensions move, and how
// many scales there are as they are cut or put together.
bool MeansTheSame(const QuantizedType& a, const QuantizedType& b) {
  if (a.is_signed != b.is_signed || a.storage_min != b.storage_min || a.storage_max != b.storage_max ||
      !mlir::Equal(*a.storage, *b.storage) || !mlir::Equal(*a.expressed, *b.expressed)) {
    return false;
  }
  return a.scales.size() != b.scales.size() || (a.scales == b.scales && a.zero_points == b.zero_points);
}

bool Identical(const QuantizedType& a, const QuantizedType& b) {
  return MeansTheSame(a, b) && a.axis == b.axis && a.scales.size() == b.scales.size();
}

// `same` holds between the quantized types of all operands and results.
bool AllAre(bool (*same)(const QuantizedType&, const QuantizedType&), const mlir::Operation& operation) {
  const QuantizedType* first = nullptr;
  for (const auto* values : {&operation.operands, &operation.results}) {
    for (const mlir::Value* value : *values) {
      const QuantizedType* type = QuantizedElement(*value->type);
      if (type == nullptr) continue;
      if (first == nullptr) first = type;
      if (!same(*first, *type)) return false;
    }
  }
  return true;
}

int64_t SizeOf(const mlir::TensorType& tensor, int64_t dimension) {
  return dimension >= 0 && dimension < static_cast<int64_t>(tensor.dims.size()) ? tensor.dims[dimension] : -1;
}

// The number of products that an element of the result sums, and the dimension of the result along which the right
// operand's scales vary; nullopt when the op is no plain product of two quantized tensors.
struct Product {
  int64_t terms = 1;
  int64_t channel = -1;
};

std::optional<Product> FindProduct(const mlir::Operation& operation) {
  const auto& lhs = *operation.operands[0]->type->As<mlir::TensorType>();
  const auto& rhs = *operation.operands[1]->type->As<mlir::TensorType>();
  const int64_t axis = rhs.element->As<QuantizedType>()->axis;
  Product product;
  std::vector<int64_t> summed;
  if (operation.name == "stablehlo.dot" || operation.name == "stablehlo.dot_general") {
    const auto list = [&](absl::string_view name) {
      return mlir::AsIntegers(operation.Get(name)).value_or(std::vector<int64_t>());
    };
    const bool is_dot = operation.name == "stablehlo.dot";
    summed = is_dot ? std::vector<int64_t>{0} : list("rhs_contracting_dimensions");
    const std::vector<int64_t> batch = list("rhs_batching_dimensions");
    if (axis >= 0) {
      const auto in = [](const std::vector<int64_t>& values, int64_t value) {
        return std::find(values.begin(), values.end(), value) - values.begin();
      };
      if (in(summed, axis) != static_cast<int64_t>(summed.size())) return std::nullopt;
      product.channel = in(batch, axis);
      if (product.channel == static_cast<int64_t>(batch.size())) {
        product.channel = static_cast<int64_t>(lhs.dims.size() - summed.size());
        for (int64_t i = 0; i < axis; ++i) {
          const bool is_free = in(summed, i) == static_cast<int64_t>(summed.size()) &&
                               in(batch, i) == static_cast<int64_t>(batch.size());
          product.channel += is_free ? 1 : 0;
        }
      }
    }
  } else {
    const std::optional<int64_t> output = mlir::AsInteger(operation.Get("kernel_output_feature_dimension"));
    const std::optional<int64_t> feature = mlir::AsInteger(operation.Get("output_feature_dimension"));
    if (!output.has_value() || !feature.has_value() || (axis >= 0 && axis != *output)) return std::nullopt;
    if (axis >= 0) product.channel = *feature;
    for (int64_t i = 0; i < static_cast<int64_t>(rhs.dims.size()); ++i) {
      if (i != *output) summed.push_back(i);
    }
  }
  for (int64_t dimension : summed) {
    const int64_t size = SizeOf(rhs, dimension);
    if (size < 0 || __builtin_mul_overflow(product.terms, size, &product.terms)) return std::nullopt;
  }
  return product;
}

// The greatest |stored - zero point| of any value that storage can hold.
double GreatestDifference(const QuantizedType& type) {
  const int width = static_cast<int>(type.storage->As<mlir::IntegerType>()->width);
  const double least = type.is_signed ? -static_cast<double>(int64_t{1} << (width - 1)) : 0;
  const double most = least + static_cast<double>(int64_t{1} << width) - 1;
  double greatest = 0;
  for (int64_t zero : type.zero_points) {
    greatest = std::max({greatest, static_cast<double>(zero) - least, most - static_cast<double>(zero)});
  }
  return greatest;
}

// Integers are exact where the expressed type would round each product and sum; low-precision expressed types round by
// themselves in a way that a program may count on, so they are left to floats.
QuantizedView ProductView(const mlir::Operation& operation) {
  const QuantizedView floats{QuantizedForm::kExpressed};
  if (operation.operands.size() < 2 || operation.results.size() != 1) return floats;
  const QuantizedType* lhs = QuantizedElement(*operation.operands[0]->type);
  const QuantizedType* rhs = QuantizedElement(*operation.operands[1]->type);
  const QuantizedType* result = QuantizedElement(*operation.results[0]->type);
  if (lhs == nullptr || rhs == nullptr || result == nullptr || lhs->axis >= 0) return floats;
  const auto* expressed = result->expressed->As<mlir::FloatType>();
  if (expressed == nullptr || mlir::FloatWidth(expressed->kind) < 32) return floats;
  if (operation.Get("accumulation_type") != nullptr) return floats;
  const std::optional<Product> product = FindProduct(operation);
  if (!product.has_value()) return floats;
  const double bound = GreatestDifference(*lhs) * GreatestDifference(*rhs) * static_cast<double>(product->terms);
  if (bound >= 9.0e18) return floats;
  return {QuantizedForm::kInteger, bound < 2147483648.0 ? PrimitiveType::kS32 : PrimitiveType::kS64, product->channel};
}

}  // namespace

absl::StatusOr<QuantizedView> ChooseView(const mlir::Operation& operation) {
  // Every type is checked before anything is computed with it.
  for (const auto* values : {&operation.operands, &operation.results}) {
    for (const mlir::Value* value : *values) {
      if (QuantizedElement(*value->type) == nullptr) continue;
      const absl::Status status = ToShape(*value->type).status();
      if (!status.ok()) return Annotate(status, Describe(operation));
    }
  }
  const std::optional<Rule> rule = FindRule(operation.name);
  if (!rule.has_value()) return Unimplemented(Describe(operation), ": this op takes no quantized tensors");
  switch (*rule) {
    case Rule::kMoves:
      if (AllAre(MeansTheSame, operation)) return QuantizedView{};
      return InvalidArgument(Describe(operation),
                             ": moves values between different quantized types, expected one type "
                             "or a uniform_quantize between them");
    case Rule::kStructure:
      return QuantizedView{};
    case Rule::kComputes:
      return QuantizedView{QuantizedForm::kExpressed};
    case Rule::kPicks:
      return QuantizedView{AllAre(Identical, operation) ? QuantizedForm::kStorage : QuantizedForm::kExpressed};
    case Rule::kProduct:
      return ProductView(operation);
  }
  return Internal("no such rule");
}

}  // namespace kiln::stablehlo
