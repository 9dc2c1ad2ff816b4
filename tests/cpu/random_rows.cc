// Programs like normalizations, losses and their gradients: values of rows, made by reduces, meet the elements of the
// rows again. Values stay within some units, so that one tolerance per type serves.
#include <algorithm>
#include <optional>

#include "tests/cpu/random_programs.h"

namespace kiln::testing {
namespace {

class RowWriter {
 public:
  explicit RowWriter(ProgramWriter* writer) : w_(*writer), random_(writer->random()) {}

  void Write() {
    static const auto& types = *new std::vector<PrimitiveType>{
        PrimitiveType::kF32, PrimitiveType::kF32, PrimitiveType::kF64, PrimitiveType::kBF16, PrimitiveType::kF16};
    type_ = random_.Of(types);
    static const auto& sizes = *new std::vector<int64_t>{1, 2, 3, 5, 16, 17, 33, 64, 100};
    // Now and then so many short rows that they are taken in blocks.
    const bool many = random_.Chance(0.15);
    const int64_t rank = many ? 2 : random_.In(1, 3);
    if (many) full_ = {random_.Chance(0.5) ? 256 : 272, random_.Chance(0.5) ? 64 : random_.In(65, 130)};
    while (static_cast<int64_t>(full_.size()) < rank) full_.push_back(random_.Of(sizes));
    if (ElementCount(full_) > 40000) full_[0] = 3;
    // Mostly the last dimensions are reduced.
    const int64_t first = many ? 1 : random_.In(0, rank - 1);
    for (int64_t d = 0; d < rank; ++d) {
      const bool reduced = random_.Chance(0.8) ? d >= first : random_.Chance(0.5);
      (reduced ? reduced_ : kept_).push_back(d);
    }
    if (reduced_.empty()) reduced_.push_back(kept_.back()), kept_.pop_back();
    for (int64_t d : kept_) rows_.push_back(full_[d]);
    for (int i = 0; i < 2; ++i) fulls_.push_back(w_.Parameter(type_, full_, {Data::Kind::kReal, -1, 1}));
    row_values_.push_back(Reduce(fulls_[0]));
    for (int64_t steps = random_.In(4, 16); steps > 0; --steps) Step();
    // Late values, and now and then others of rows and of elements that the kernel has anyway.
    Output(fulls_.back());
    if (random_.Chance(0.4)) Output(random_.Of(row_values_));
    if (random_.Chance(0.3)) Output(random_.Of(fulls_));
    if (random_.Chance(0.3)) Output(row_values_.back());
    if (random_.Chance(0.3)) Output(Columns(random_.Of(fulls_)));
  }

 private:
  void Output(const Value& value) {
    const double absolute = type_ == PrimitiveType::kF64   ? 1e-9
                            : type_ == PrimitiveType::kF32 ? 2e-4
                            : type_ == PrimitiveType::kF16 ? 0.1
                                                           : 0.6;
    w_.Output(value, {0, absolute});
  }

  Value Splat(const Dims& dims, std::string_view value) {
    const Value scalar = w_.Emit(type_, {}, absl::StrCat("constant(", value, ")"));
    return w_.Emit(type_, dims, "broadcast", {scalar}, "dimensions={}");
  }

  // A mean or a maximum.
  Value Reduce(const Value& full) {
    const bool mean = random_.Chance(0.7);
    const Value init = w_.Emit(type_, {}, mean ? "constant(0)" : "constant(-inf)");
    Value rows = w_.Emit(type_, rows_, "reduce", {full, init},
                         absl::StrCat("dimensions=", List(reduced_),
                                      ", to_apply=", w_.module().Combiner(mean ? "add" : "maximum", type_)));
    if (!mean) return rows;
    return w_.Emit(
        type_, rows_, "multiply",
        {rows, Splat(rows_, absl::StrCat(1.0 / static_cast<double>(ElementCount(full_) /
                                                                   std::max<int64_t>(1, ElementCount(rows_)))))});
  }

  // What a bias' gradient is: the mean over the rows, for each column.
  Value Columns(const Value& full) {
    Dims columns;
    for (int64_t d : reduced_) columns.push_back(full_[d]);
    const Value scaled = w_.Emit(
        type_, full_, "multiply",
        {full, Splat(full_, absl::StrCat(1.0 / static_cast<double>(std::max<int64_t>(1, ElementCount(rows_)))))});
    return w_.Emit(type_, columns, "reduce", {scaled, w_.Emit(type_, {}, "constant(0)")},
                   absl::StrCat("dimensions=", List(kept_), ", to_apply=", w_.module().Combiner("add", type_)));
  }

  // Rows spread over their columns, now and then by way of an array with ones.
  Value Spread(Value rows) {
    if (random_.Chance(0.3)) {
      Dims ones = rows_;
      ones.push_back(1);
      rows = w_.Emit(type_, ones, "reshape", {rows});
      rows = w_.Emit(type_, ones, "negate", {rows});
      rows = w_.Emit(type_, rows_, "reshape", {rows});
    }
    return w_.Emit(type_, full_, "broadcast", {rows}, absl::StrCat("dimensions=", List(kept_)));
  }

  void Step() {
    static const auto& contracting = *new std::vector<std::string>{"tanh", "negate", "cosine", "logistic"};
    static const auto& joining = *new std::vector<std::string>{"multiply", "maximum", "minimum"};
    const auto half = [&](const Value& v, const Dims& dims) {
      return w_.Emit(type_, dims, "multiply", {v, Splat(dims, "0.5")});
    };
    switch (random_.In(0, 6)) {
      case 0:
        return fulls_.push_back(w_.Emit(type_, full_, random_.Of(contracting), {random_.Of(fulls_)}));
      case 1:  // exp(x - something of its row), of which the bound keeps it small
        return fulls_.push_back(
            half(w_.Emit(type_, full_, "exponential",
                         {half(w_.Emit(type_, full_, "subtract", {random_.Of(fulls_), Spread(random_.Of(row_values_))}),
                               full_)}),
                 full_));
      case 2:
        return fulls_.push_back(
            w_.Emit(type_, full_, random_.Of(joining),
                    {w_.Emit(type_, full_, "tanh", {random_.Of(fulls_)}), Spread(random_.Of(row_values_))}));
      case 3:
        return fulls_.push_back(half(w_.Emit(type_, full_, "add", {random_.Of(fulls_), random_.Of(fulls_)}), full_));
      case 4:
        return row_values_.push_back(w_.Emit(
            type_, rows_, "tanh", {w_.Emit(type_, rows_, "add", {random_.Of(row_values_), random_.Of(row_values_)})}));
      default:
        return row_values_.push_back(Reduce(fulls_[static_cast<size_t>(
            random_.In(static_cast<int64_t>(fulls_.size()) / 2, static_cast<int64_t>(fulls_.size()) - 1))]));
    }
  }

  ProgramWriter& w_;
  Random& random_;
  PrimitiveType type_ = PrimitiveType::kF32;
  Dims full_, rows_;
  std::vector<int64_t> reduced_, kept_;
  std::vector<Value> fulls_, row_values_;
};

}  // namespace

void WriteRows(ProgramWriter* writer) { RowWriter(writer).Write(); }

}  // namespace kiln::testing
