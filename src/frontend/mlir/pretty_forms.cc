// The short forms of ops: a row says how the text of an op runs, in words of a small language. Read here, printed in
// pretty_printer.cc.
#include "src/frontend/mlir/pretty_forms.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "src/frontend/mlir/text_parser.h"

namespace kiln::mlir {
namespace {

// Words of a form, separated by spaces:
//   o          an operand              o*       operands separated by commas, perhaps none
//   o,*        operands, each with a comma behind it
//   I:name     [1, 2]                  i:name   an integer      b:name  true or false
//   s:name     "text"                  y:name   a symbol or string, as a string     c:name  a symbol
//   E:name/e   a case of the enum e    x:name   a part that ReadPart reads
//   D          the optional dictionary of the other attributes
//   F          : (T, T) -> T
//   T          : (T, T) -> T, or : T for the result, or : T, T -> T for operands and result
//   G          the same, written as (T, T) -> T alone
//   L          : T, T, ... of which the last is the result's
//   P          : T, T, ... which are the results' too      N       : T, T, ... with no results
// and anything else as it stands.
struct Form {
  absl::string_view ops;
  absl::string_view form;
};

constexpr absl::string_view kElementwise = "o* D T";

constexpr Form kForms[] = {
    {"abs add and atan2 cbrt ceil clamp complex convert cosine count_leading_zeros divide exp2 exponential "
     "exponential_minus_one floor fma imag is_finite log log2 log_plus_one logistic maximum minimum multiply negate "
     "not or popcnt power real remainder round_nearest_afz round_nearest_even rsqrt shift_left "
     "shift_right_arithmetic shift_right_logical sign sine sqrt subtract tan tanh tuple uniform_dequantize "
     "uniform_quantize xor after_all create_token partition_id replica_id",
     kElementwise},
    {"bitcast_convert dynamic_pad dynamic_reshape dynamic_update_slice real_dynamic_slice reshape", "o* D G"},
    {"broadcast", "o , sizes = I:broadcast_sizes D G"},
    {"broadcast_in_dim", "o , dims = I:broadcast_dimensions D G"},
    {"cholesky", "o , lower = b:lower D T"},
    {"compare", "E:comparison_direction/comparison_direction , o , o x:comparison_type D G"},
    {"composite", "s:name o* D F"},
    {"concatenate", "o,* dim = i:dimension D G"},
    {"constant", "x:constant"},
    {"convolution", "( o* ) dim_numbers = x:dim_numbers , window = { x:window } D F"},
    {"custom_call", "y:call_target_name ( o* ) D F"},
    {"dot", "o , o x:precision D F"},
    {"dot_general", "o , o x:dot_dimensions x:precision x:algorithm D F"},
    {"dynamic_broadcast_in_dim", "o , o , dims = I:broadcast_dimensions D F"},
    {"dynamic_iota", "o , dim = i:iota_dimension D F"},
    {"dynamic_slice", "o,* sizes = I:slice_sizes D F"},
    {"einsum", "o , o , config = s:einsum_config D F"},
    {"fft", "o , type = E:fft_type/fft_type , length = I:fft_length D F"},
    {"get_dimension_size", "o , dim = i:dimension D F"},
    {"get_tuple_element", "o [ i:index ] D F"},
    {"iota", "dim = i:iota_dimension D T"},
    {"optimization_barrier", "D x:barrier D P"},
    {"pad", "o , o , low = I:edge_padding_low , high = I:edge_padding_high , interior = I:interior_padding D F"},
    {"reduce", "x:reduce"},
    {"reduce_precision", "o , format = x:format D T"},
    {"return", "o* D N"},
    {"reverse", "o , dims = I:dimensions D T"},
    {"rng", "o , o , o , distribution = E:rng_distribution/rng_distribution D F"},
    {"rng_bit_generator", "o , algorithm = E:rng_algorithm/rng_algorithm D F"},
    {"select", "o , o , o D L"},
    {"set_dimension_size", "o , o , dim = i:dimension D F"},
    {"slice", "o x:slice D F"},
    {"transpose", "o , dims = I:permutation D G"},
    {"unary_einsum", "o , config = s:einsum_config D F"},
    {"while", "x:while"},
    {"func.call", "c:callee ( o* ) D F"},
    {"func.return", "o* D N"},
    {"sdy.return", "o* D N"},
    {"sdy.mesh", "y:sym_name = x:mesh D"},
    {"sdy.sharding_constraint", "o x:sharding D T"},
    {"sdy.manual_computation", "( o* ) x:manual_computation"},
    {"chlo.top_k", "( o , k = i:k ) D T"},
    {"builtin.unrealized_conversion_cast", "o* D x:cast"},
};

}  // namespace

absl::string_view FindForm(absl::string_view op) {
  using Table = absl::flat_hash_map<std::string, absl::string_view>;
  static const Table* const kTable = [] {
    auto* table = new Table();
    for (const Form& form : kForms) {
      for (absl::string_view name : absl::StrSplit(form.ops, ' ')) {
        table->emplace(absl::StrCat(absl::StrContains(name, '.') ? "" : "stablehlo.", name), form.form);
      }
    }
    return table;
  }();
  const auto found = kTable->find(op);
  if (found != kTable->end()) return found->second;
  return absl::StartsWith(op, "chlo.") ? kElementwise : absl::string_view();
}

class PrettyReader {
 public:
  PrettyReader(TextParser& parser, Operation* operation) : in_(parser), op_(*operation) {}

  void Read(absl::string_view form) {
    for (absl::string_view word : absl::StrSplit(form, ' ')) {
      if (!in_.ok()) return;
      ReadWord(word);
    }
  }

 private:
  void Add(absl::string_view name, AttributeRef value) { op_.attributes.push_back({name, value}); }
  void ReadWord(absl::string_view word);
  void ReadPart(absl::string_view part);
  void ReadTypes(absl::string_view kind);
  void ReadConstant();
  void ReadSlice();
  void ReadDotDimensions();
  void ReadPrecision();
  void ReadAlgorithm();
  void ReadWindow();
  void ReadReduce();
  void ReadWhile();
  void ReadManualComputation();
  // A list of pairs of integers as dense<...> : tensor<Nx2xi64>.
  AttributeRef ReadPairs();

  TextParser& in_;
  Operation& op_;
};

bool ReadPrettyForm(TextParser& parser, Operation* operation) {
  const absl::string_view form = FindForm(operation->name);
  if (form.empty()) return false;
  PrettyReader(parser, operation).Read(form);
  return true;
}

void PrettyReader::ReadWord(absl::string_view word) {
  if (word == "o") {
    op_.operands.push_back(in_.Operand());
  } else if (word == "o*") {
    while (in_.ok() && in_.AtOperand()) {
      op_.operands.push_back(in_.Operand());
      if (!in_.Next(",")) break;
    }
  } else if (word == "o,*") {
    while (in_.ok() && in_.AtOperand()) {
      op_.operands.push_back(in_.Operand());
      in_.Expect(",");
    }
  } else if (word == "D") {
    in_.OptionalDictionary(&op_);
  } else if (word == "F" || word == "T" || word == "G" || word == "L" || word == "P" || word == "N") {
    ReadTypes(word);
  } else if (word.size() < 2 || word[1] != ':') {
    in_.Expect(word);
  } else {
    const absl::string_view name = word.substr(2);
    switch (word[0]) {
      case 'I':
        return Add(name, in_.Integers());
      case 'i':
        return Add(name, in_.context().MakeInteger(in_.Integer(name)));
      case 'b': {
        const bool value = in_.NextWord("true");
        if (!value && !in_.NextWord("false")) in_.FailExpected("true or false");
        return Add(name, in_.context().MakeAttribute(BoolAttribute{value}));
      }
      case 's':
        return Add(name, in_.Text(in_.String()));
      case 'y':
        return Add(name, in_.Text(in_.Peek() == '"' ? in_.String() : in_.Symbol().root));
      case 'c':
        return Add(name, in_.context().MakeAttribute(in_.Symbol()));
      case 'E': {
        const size_t slash = name.find('/');
        return Add(name.substr(0, slash), in_.Enum(name.substr(slash + 1), in_.Word("a case of an enum")));
      }
      default:
        return ReadPart(name);
    }
  }
}

void PrettyReader::ReadTypes(absl::string_view kind) {
  // A return and a barrier of nothing have no types.
  if ((kind == "N" || kind == "P") && op_.operands.empty() && in_.Peek() != ':') return;
  in_.Expect(":");
  if (kind == "F" || in_.Peek() == '(') return in_.FunctionalTypes(&op_);
  const size_t begin = in_.offset();
  const std::vector<TypeRef> types = in_.Types();
  if (!in_.ok()) return;
  const bool per_operand = kind == "P" || kind == "N";
  const bool arrow = (kind == "T" || kind == "G") && in_.Next("->");
  if (per_operand || (arrow && types.size() > 1)) {
    if (types.size() != op_.operands.size()) {
      return in_.FailAt(begin, absl::StrCat("expected ", op_.operands.size(), " types, found ", types.size()));
    }
    for (size_t i = 0; i < types.size(); ++i) {
      if (!Equal(*types[i], *op_.operands[i]->type)) {
        return in_.FailAt(begin, absl::StrCat("the type of operand ", i, " differs from that of its definition"));
      }
    }
  }
  if (kind == "N") return;
  if (per_operand) return in_.SetResultTypes(&op_, types);
  if (arrow) return in_.SetResultTypes(&op_, in_.ResultTypes());
  if (types.size() > (kind == "L" ? 2 : 1)) return in_.FailAt(begin, "expected one type, or (T, ...) -> T");
  in_.SetResultTypes(&op_, {types.back()});
}

void PrettyReader::ReadPart(absl::string_view part) {
  if (part == "constant") return ReadConstant();
  if (part == "slice") return ReadSlice();
  if (part == "dot_dimensions") return ReadDotDimensions();
  if (part == "precision") return ReadPrecision();
  if (part == "algorithm") return ReadAlgorithm();
  if (part == "window") return ReadWindow();
  if (part == "reduce") return ReadReduce();
  if (part == "while") return ReadWhile();
  if (part == "manual_computation") return ReadManualComputation();
  if (part == "comparison_type") {
    if (in_.Next(",")) Add("compare_type", in_.Enum("comparison_type", in_.Word("a type of comparison")));
  } else if (part == "barrier") {
    if (in_.Next("(")) return in_.Expect(")");
    ReadWord("o*");
  } else if (part == "dim_numbers") {
    in_.AddAttributes(&op_, {{"dimension_numbers", in_.ReadConvolutionDimensions()}}, /*inherent=*/true);
  } else if (part == "mesh") {
    in_.Expect("<");
    Add("mesh", in_.ReadSdyAttribute("sdy.mesh"));
  } else if (part == "sharding") {
    in_.Expect("<");
    Add("sharding", in_.ReadSdyAttribute("sdy.sharding"));
  } else if (part == "cast") {
    in_.Expect(":");
    const std::vector<TypeRef> inputs = op_.operands.empty() ? std::vector<TypeRef>() : in_.Types();
    if (inputs.size() != op_.operands.size()) return in_.Fail("expected a type per operand");
    if (!in_.NextWord("to")) return in_.FailExpected("'to'");
    in_.SetResultTypes(&op_, in_.Types());
  } else if (part == "format") {
    // e5m10
    const size_t begin = in_.offset();
    const absl::string_view word = in_.Word("a format as e5m10");
    const size_t m = word.find('m');
    int32_t bits[2] = {};
    if (!absl::StartsWith(word, "e") || m == absl::string_view::npos ||
        !absl::SimpleAtoi(word.substr(1, m - 1), &bits[0]) || !absl::SimpleAtoi(word.substr(m + 1), &bits[1])) {
      return in_.FailAt(begin, "expected a format as e5m10");
    }
    Add("exponent_bits", in_.context().MakeInteger(bits[0], 32));
    Add("mantissa_bits", in_.context().MakeInteger(bits[1], 32));
  }
}

// dense<...> : T, perhaps with a dictionary before it, or () <{value = ...}> : () -> T
void PrettyReader::ReadConstant() {
  if (in_.Next("(")) {
    in_.Expect(")");
    in_.OptionalDictionary(&op_);
    in_.Expect(":");
    return in_.FunctionalTypes(&op_);
  }
  in_.OptionalDictionary(&op_);
  const AttributeRef value = in_.ReadAttribute();
  const DenseAttribute* dense = value->As<DenseAttribute>();
  if (in_.ok() && dense == nullptr) in_.Fail("expected dense<...> : tensor<...> before this");
  if (!in_.ok()) return;
  Add("value", value);
  in_.SetResultTypes(&op_, {dense->type});
}

// [1:5:2, 0:3]
void PrettyReader::ReadSlice() {
  std::vector<int64_t> parts[3];
  in_.Expect("[");
  in_.List("]", [&] {
    parts[0].push_back(in_.Integer("a start"));
    in_.Expect(":");
    parts[1].push_back(in_.Integer("a limit"));
    parts[2].push_back(in_.Next(":") ? in_.Integer("a stride") : 1);
  });
  constexpr absl::string_view kNames[] = {"start_indices", "limit_indices", "strides"};
  for (int i = 0; i < 3; ++i) Add(kNames[i], in_.context().MakeIntegers(parts[i]));
}

// , batching_dims = [0] x [0], contracting_dims = [2] x [1]
void PrettyReader::ReadDotDimensions() {
  constexpr absl::string_view kNames[2][3] = {
      {"batching_dims", "lhs_batching_dimensions", "rhs_batching_dimensions"},
      {"contracting_dims", "lhs_contracting_dimensions", "rhs_contracting_dimensions"}};
  for (const auto& names : kNames) {
    const size_t begin = in_.offset();
    AttributeRef sides[2] = {in_.context().MakeIntegers({}), in_.context().MakeIntegers({})};
    if (in_.Next(",") && in_.NextWord(names[0])) {
      in_.Expect("=");
      sides[0] = in_.Integers();
      in_.Expect("x");
      sides[1] = in_.Integers();
    } else if (in_.ok()) {
      in_.Rewind(begin);
    }
    Add(names[1], sides[0]);
    Add(names[2], sides[1]);
  }
}

// , precision = [DEFAULT, HIGHEST]
void PrettyReader::ReadPrecision() {
  const size_t begin = in_.offset();
  if (!in_.Next(",") || !in_.NextWord("precision")) return in_.Rewind(begin);
  in_.Expect("=");
  in_.Expect("[");
  ArrayAttribute precisions;
  in_.List("]", [&] { precisions.elements.push_back(in_.Enum("precision", in_.Word("a precision"))); });
  Add("precision_config", in_.context().MakeAttribute(std::move(precisions)));
}

// , algorithm = <lhs_precision_type = tf32, ...>
void PrettyReader::ReadAlgorithm() {
  const size_t begin = in_.offset();
  if (!in_.Next(",") || !in_.NextWord("algorithm")) return in_.Rewind(begin);
  in_.Expect("=");
  in_.AddAttributes(&op_, {{"algorithm", in_.ReadAttribute()}}, /*inherent=*/true);
}

AttributeRef PrettyReader::ReadPairs() {
  std::vector<int64_t> values;
  in_.Expect("[");
  in_.List("]", [&] {
    in_.Expect("[");
    for (int i = 0; i < 2; ++i) {
      values.push_back(in_.Integer("a padding"));
      in_.Expect(i == 0 ? "," : "]");
    }
  });
  return in_.context().MakeMatrix(values, static_cast<int64_t>(values.size()) / 2, 2);
}

// stride = [..], pad = [[..], ..], lhs_dilate = [..], rhs_dilate = [..], reverse = [..] in any order
void PrettyReader::ReadWindow() {
  while (in_.ok() && in_.Peek() != '}') {
    const size_t begin = in_.offset();
    const absl::string_view key = in_.Word("a part of the window");
    in_.Expect("=");
    if (key == "pad") {
      Add("padding", ReadPairs());
    } else if (key == "reverse") {
      std::string data;
      in_.Expect("[");
      in_.List("]", [&] {
        const absl::string_view word = in_.Peek() == 't' || in_.Peek() == 'f' ? in_.Word("a flag") : "";
        data.push_back(word == "true" || (word.empty() && in_.Integer("a flag") != 0) ? 1 : 0);
      });
      Add("window_reversal", in_.context().MakeFlags(std::move(data)));
    } else if (key == "stride" || key == "lhs_dilate" || key == "rhs_dilate") {
      Add(key == "stride" ? "window_strides" : key == "lhs_dilate" ? "lhs_dilation" : "rhs_dilation", in_.Integers());
    } else {
      return in_.FailAt(begin, "expected stride, pad, lhs_dilate, rhs_dilate or reverse");
    }
    if (!in_.Next(",")) break;
  }
}

// (%a init: %i), ... applies stablehlo.add across dimensions = [1] : types
// (%a init: %i), ... across dimensions = [1] : types reducer(%x: T, %y: T) ... {...}
void PrettyReader::ReadReduce() {
  std::vector<Value*> initial;
  do {
    in_.Expect("(");
    op_.operands.push_back(in_.Operand());
    in_.Expect("init");
    in_.Expect(":");
    initial.push_back(in_.Operand());
    in_.Expect(")");
  } while (in_.ok() && in_.Next(","));
  op_.operands.insert(op_.operands.end(), initial.begin(), initial.end());
  absl::string_view body;
  if (in_.NextWord("applies")) body = in_.Word("an operation");
  for (absl::string_view word : {"across", "dimensions", "="}) in_.Expect(word);
  Add("dimensions", in_.Integers());
  in_.OptionalDictionary(&op_);
  in_.Expect(":");
  in_.FunctionalTypes(&op_);
  if (!in_.ok()) return;
  if (!body.empty()) {
    if (initial.size() != 1) return in_.Fail("'applies' is for a reduction of one operand");
    const TypeRef type = initial[0]->type;
    Region* region = in_.MakeRegion(&op_, {type, type});
    Block* block = region->blocks[0];
    Operation* inner = in_.MakeOperation(region, body);
    inner->operands = block->arguments;
    Operation* result = in_.MakeOperation(region, "stablehlo.return");
    result->operands = {in_.context().AddResult(inner, type)};
    block->operations = {inner, result};
    return;
  }
  in_.OptionalLocation();
  in_.Expect("reducer");
  std::vector<TextParser::Argument> accumulators, elements;
  while (in_.ok() && in_.Next("(")) {
    accumulators.push_back(in_.ReadArgument());
    in_.Expect(",");
    elements.push_back(in_.ReadArgument());
    in_.Expect(")");
  }
  in_.OptionalLocation();
  accumulators.insert(accumulators.end(), elements.begin(), elements.end());
  in_.ReadRegion(&op_, accumulators);
}

// (%x = %a, %y = %b) : types attributes {...} cond {...} do {...}
void PrettyReader::ReadWhile() {
  std::vector<TextParser::Argument> arguments;
  in_.Expect("(");
  in_.List(")", [&] {
    TextParser::Argument argument{{}, nullptr, in_.offset()};
    in_.Expect("%");
    argument.name = in_.ValueName();
    in_.Expect("=");
    op_.operands.push_back(in_.Operand());
    arguments.push_back(argument);
  });
  if (in_.Next(":") && !arguments.empty()) {
    const std::vector<TypeRef> types = in_.Types();
    if (in_.ok() && types.size() != arguments.size()) {
      in_.Fail(absl::StrCat("expected ", arguments.size(), " types before this, found ", types.size()));
    }
    if (!in_.ok()) return;
    for (size_t i = 0; i < types.size(); ++i) {
      if (!Equal(*types[i], *op_.operands[i]->type)) {
        return in_.Fail(absl::StrCat("the type of operand ", i, " before this differs from that of its definition"));
      }
      arguments[i].type = types[i];
    }
    in_.SetResultTypes(&op_, types);
  }
  if (in_.NextWord("attributes")) in_.OptionalDictionary(&op_);
  in_.Expect("cond");
  in_.ReadRegion(&op_, arguments);
  in_.Expect("do");
  in_.ReadRegion(&op_, arguments);
}

// in_shardings=[...] out_shardings=[...] manual_axes={"x"} (%a: T) {...} : (T) -> T
void PrettyReader::ReadManualComputation() {
  for (absl::string_view name : {"in_shardings", "out_shardings"}) {
    in_.Expect(name);
    in_.Expect("=");
    Add(name, in_.SdyShardings());
  }
  in_.Expect("manual_axes");
  in_.Expect("=");
  in_.Expect("{");
  Add("manual_axes", in_.SdyManualAxes("}"));
  std::vector<TextParser::Argument> arguments;
  in_.Expect("(");
  in_.List(")", [&] { arguments.push_back(in_.ReadArgument()); });
  in_.ReadRegion(&op_, arguments);
  in_.OptionalDictionary(&op_);
  in_.Expect(":");
  in_.FunctionalTypes(&op_);
}

}  // namespace kiln::mlir
