#include "tests/cpu/program_writer.h"

#include <numeric>
#include <utility>

namespace kiln::testing {

uint64_t Random::Next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

int64_t Random::In(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(Next() % (static_cast<uint64_t>(high - low) + 1));
}

double Random::Real() { return static_cast<double>(Next() >> 11) / 9007199254740992.0; }

bool Random::Chance(double probability) { return Real() < probability; }

Dims Random::Shape(int max_rank, int64_t max_elements, bool may_be_empty) {
  static constexpr int64_t kSizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 1000, 1027};
  Dims dims(static_cast<size_t>(In(0, max_rank)));
  int64_t left = max_elements;
  for (int64_t& size : dims) {
    // The larger sizes are for the first dimension that gets one.
    do {
      size = kSizes[In(0, std::size(kSizes) - 1)];
    } while (size > left || (dims.size() > 2 && size > 20 && Chance(0.7)));
    left /= size;
  }
  if (may_be_empty && !dims.empty() && Chance(0.03)) dims[static_cast<size_t>(In(0, dims.size() - 1))] = 0;
  const std::vector<int64_t> order = Permutation(static_cast<int64_t>(dims.size()));
  Dims shuffled;
  for (int64_t i : order) shuffled.push_back(dims[static_cast<size_t>(i)]);
  return shuffled;
}

std::vector<int64_t> Random::Permutation(int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = count - 1; i > 0; --i) std::swap(order[i], order[In(0, i)]);
  return order;
}

int64_t ElementCount(absl::Span<const int64_t> dims) {
  int64_t count = 1;
  for (int64_t size : dims) count *= size;
  return count;
}

std::string ShapeText(PrimitiveType type, absl::Span<const int64_t> dims) {
  return absl::StrCat(hlo::PrimitiveTypeName(type), "[", absl::StrJoin(dims, ","), "]");
}

std::string ShapeText(const Value& value) { return ShapeText(value.type, value.dims); }

std::string List(absl::Span<const int64_t> numbers) { return absl::StrCat("{", absl::StrJoin(numbers, ","), "}"); }

std::string ModuleWriter::Add(const std::string& parameters_and_body) {
  for (const auto& [name, body] : computations_) {
    if (body == parameters_and_body) return name;
  }
  const std::string name = NewName("f");
  computations_.push_back({name, parameters_and_body});
  absl::StrAppend(&text_, name, " {\n", parameters_and_body, "}\n\n");
  return name;
}

std::string ModuleWriter::Combiner(std::string_view opcode, PrimitiveType type) {
  const std::string scalar = ShapeText(type, {});
  return Add(absl::StrCat("  a = ", scalar, " parameter(0)\n  b = ", scalar, " parameter(1)\n  ROOT r = ", scalar, " ",
                          opcode, "(a, b)\n"));
}

Value ProgramWriter::Parameter(PrimitiveType type, Dims dims, Data data) {
  Value value = Emit(type, std::move(dims), absl::StrCat("parameter(", parameters_.size(), ")"));
  parameters_.push_back(value);
  data_.push_back(data);
  return value;
}

Value ProgramWriter::Constant(PrimitiveType type, int64_t scalar) {
  std::string text = absl::StrCat(scalar);
  if (type == PrimitiveType::kPred) text = scalar != 0 ? "true" : "false";
  if (hlo::IsComplex(type)) text = absl::StrCat("(", scalar, ", 0)");
  if (hlo::IsUnsignedIntegral(type) && scalar < 0) text = "1";
  return Emit(type, {}, absl::StrCat("constant(", text, ")"));
}

Value ProgramWriter::Emit(PrimitiveType type, Dims dims, std::string_view call) {
  Value value{module_.NewName("v"), type, std::move(dims)};
  lines_.push_back(absl::StrCat(value.name, " = ", ShapeText(value), " ", call));
  return value;
}

Value ProgramWriter::Emit(PrimitiveType type, Dims dims, std::string_view opcode, const std::vector<Value>& operands,
                          std::string_view attributes) {
  std::vector<std::string> names;
  for (const Value& operand : operands) names.push_back(operand.name);
  return Emit(type, std::move(dims),
              absl::StrCat(opcode, "(", absl::StrJoin(names, ", "), ")", attributes.empty() ? "" : ", ", attributes));
}

std::vector<Value> ProgramWriter::EmitTuple(const std::vector<Value>& shapes, std::string_view call) {
  std::vector<std::string> texts;
  for (const Value& shape : shapes) texts.push_back(ShapeText(shape));
  const std::string name = module_.NewName("t");
  lines_.push_back(absl::StrCat(name, " = (", absl::StrJoin(texts, ", "), ") ", call));
  std::vector<Value> elements;
  for (size_t i = 0; i < shapes.size(); ++i) {
    elements.push_back(
        Emit(shapes[i].type, shapes[i].dims, absl::StrCat("get-tuple-element(", name, "), index=", i)));
  }
  return elements;
}

void ProgramWriter::Output(const Value& value, Tolerance tolerance) {
  outputs_.push_back(value);
  tolerances_.push_back(tolerance);
}

std::string ProgramWriter::Body() const {
  std::string text;
  for (const std::string& line : lines_) absl::StrAppend(&text, "  ", line, "\n");
  std::vector<std::string> shapes, names;
  for (const Value& output : outputs_) {
    shapes.push_back(ShapeText(output));
    names.push_back(output.name);
  }
  absl::StrAppend(&text, "  ROOT root = (", absl::StrJoin(shapes, ", "), ") tuple(", absl::StrJoin(names, ", "), ")\n");
  return text;
}

Program ProgramWriter::Finish(std::string_view header) const {
  Program program;
  program.text = absl::StrCat("HloModule random", header.empty() ? "" : ", ", header, "\n\n", module_.text(), "ENTRY main {\n", Body(), "}\n");
  program.data = data_;
  program.tolerances = tolerances_;
  return program;
}

}  // namespace kiln::testing
