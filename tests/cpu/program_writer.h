// Writes random HLO programs as text: a test that fails prints it, and `kiln run` takes it.
#ifndef KILN_TESTS_CPU_PROGRAM_WRITER_H_
#define KILN_TESTS_CPU_PROGRAM_WRITER_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "src/hlo/primitive_type.h"
#include "src/hlo/shape.h"

namespace kiln::testing {

using hlo::PrimitiveType;
using Dims = std::vector<int64_t>;

// SplitMix64: the same programs on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  // Both bounds included.
  int64_t In(int64_t low, int64_t high);
  bool Chance(double probability);
  double Real();  // [0, 1)
  template <typename T>
  const T& Of(const std::vector<T>& choices) {
    return choices[static_cast<size_t>(In(0, static_cast<int64_t>(choices.size()) - 1))];
  }
  // Sizes at and around vector widths; now and then 0. The product stays within `max_elements`.
  Dims Shape(int max_rank, int64_t max_elements, bool may_be_empty = true);
  std::vector<int64_t> Permutation(int64_t count);

 private:
  uint64_t state_;
};

// What the elements of a parameter are.
struct Data {
  enum class Kind {
    kSmall,     // integers in [low, high]: sums of products are exact
    kReal,      // reals in [low, high]
    kExtremes,  // any bits, with NaN, infinities, zeros, bounds and denormals often among them
  };
  Kind kind = Kind::kSmall;
  double low = -4;
  double high = 4;
};

// How far a result may be from the reference; all zero: the same value.
struct Tolerance {
  double ulps = 0;      // units in the last place of the expected value; of its modulus for complex numbers
  double absolute = 0;
};

struct Value {
  std::string name;
  PrimitiveType type = PrimitiveType::kInvalid;
  Dims dims;
  bool operator==(const Value&) const = default;
};

struct Program {
  std::string text;
  std::vector<Data> data;             // per leaf of the parameters
  std::vector<Tolerance> tolerances;  // per leaf of the result
};

std::string ShapeText(PrimitiveType type, absl::Span<const int64_t> dims);
std::string ShapeText(const Value& value);
int64_t ElementCount(absl::Span<const int64_t> dims);
std::string List(absl::Span<const int64_t> numbers);  // {1,2}

// Computations of one module, called by others.
class ModuleWriter {
 public:
  // Adds a computation of this body and gives its name; equal bodies are one computation.
  std::string Add(const std::string& parameters_and_body);
  // (a, b) -> opcode(a, b) over scalars.
  std::string Combiner(std::string_view opcode, PrimitiveType type);
  const std::string& text() const { return text_; }
  std::string NewName(std::string_view prefix) { return absl::StrCat(prefix, ".", ++last_name_); }

 private:
  std::vector<std::pair<std::string, std::string>> computations_;
  std::string text_;
  int last_name_ = 0;
};

// The instructions of one computation.
class ProgramWriter {
 public:
  ProgramWriter(ModuleWriter* module, Random* random) : module_(*module), random_(*random) {}

  Value Parameter(PrimitiveType type, Dims dims, Data data = {});
  Value Constant(PrimitiveType type, int64_t scalar);
  // NAME = SHAPE CALL
  Value Emit(PrimitiveType type, Dims dims, std::string_view call);
  // opcode(operands...), attributes
  Value Emit(PrimitiveType type, Dims dims, std::string_view opcode, const std::vector<Value>& operands,
             std::string_view attributes = "");
  // An instruction whose shape is a tuple of these; gives its elements.
  std::vector<Value> EmitTuple(const std::vector<Value>& shapes, std::string_view call);
  void Output(const Value& value, Tolerance tolerance = {});

  const std::vector<Value>& outputs() const { return outputs_; }
  const std::vector<Value>& parameters() const { return parameters_; }
  ModuleWriter& module() { return module_; }
  Random& random() { return random_; }

  // Lines of a computation whose root is a tuple of the outputs.
  std::string Body() const;
  // The module with this as its entry. `header` goes after the module's name.
  Program Finish(std::string_view header = "") const;

  std::vector<std::string>& lines() { return lines_; }

 private:
  ModuleWriter& module_;
  Random& random_;
  std::vector<std::string> lines_;
  std::vector<Value> parameters_;
  std::vector<Data> data_;
  std::vector<Value> outputs_;
  std::vector<Tolerance> tolerances_;
};

}  // namespace kiln::testing

#endif  // KILN_TESTS_CPU_PROGRAM_WRITER_H_
