#include "src/passes/scalar_flattening.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "src/base/status.h"
#include "src/hlo/evaluator.h"

namespace kiln::passes {
namespace {

// The elements of one value, and what one computation may become.
constexpr int64_t kMaxFlattenedElements = 4096;
constexpr size_t kMaxFlattenedInstructions = 1 << 15;
// Instructions that may be walked over for it, those of callees each time.
constexpr int64_t kMaxVisits = 1 << 18;

using Elements = std::vector<Instruction*>;  // scalars; of arrays in row-major order, of tuples one after the other

Elements Joined(const std::vector<Elements>& parts) {
  Elements all;
  for (const Elements& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

int64_t CountElements(const Shape& shape) {
  if (shape.IsArray()) return shape.element_count();
  int64_t count = 0;
  for (int64_t i = 0; shape.IsTuple() && i < static_cast<int64_t>(shape.tuple_shapes().size()); ++i) {
    count = std::min(kMaxFlattenedElements + 1, count + CountElements(shape.tuple_shapes(i)));
  }
  return count;
}

bool IsScalarElementwise(const Instruction& instruction) {
  if (!instruction.shape().IsScalar()) return false;
  if (instruction.opcode() == Opcode::kBitcastConvert) return instruction.operand(0)->shape().IsScalar();
  return hlo::IsElementwise(instruction.opcode());
}

bool IsTupleOfScalars(const Shape& shape) {
  return shape.IsTuple() &&
         absl::c_all_of(shape.tuple_shapes(), [](const Shape& element) { return element.IsScalar(); });
}

// The form that this pass makes. `in_loop`: the computation is a loop's, of one tuple.
bool IsFlat(const Computation& computation, bool in_loop) {
  for (const Instruction* instruction : computation.instructions()) {
    switch (instruction->opcode()) {
      case Opcode::kParameter:
        if (in_loop ? !IsTupleOfScalars(instruction->shape()) : !instruction->shape().IsScalar()) return false;
        break;
      case Opcode::kConstant:
        if (!instruction->shape().IsScalar()) return false;
        break;
      case Opcode::kTuple:
      case Opcode::kGetTupleElement:
        for (const Instruction* operand : instruction->operands()) {
          if (!operand->shape().IsScalar() && !IsTupleOfScalars(operand->shape())) return false;
        }
        if (!IsTupleOfScalars(instruction->shape()) && !instruction->shape().IsScalar()) return false;
        break;
      case Opcode::kWhile:
        if (!IsFlat(*instruction->called_computation(0), true) || !IsFlat(*instruction->called_computation(1), true)) {
          return false;
        }
        break;
      default:
        if (!IsScalarElementwise(*instruction)) return false;
    }
  }
  return true;
}

// The index of the element at a place in row-major order, and the other way round.
DimensionVector IndexOf(int64_t place, const DimensionVector& dimensions) {
  DimensionVector index(dimensions.size(), 0);
  for (int64_t d = static_cast<int64_t>(dimensions.size()) - 1; d >= 0; --d) {
    index[d] = place % dimensions[d];
    place /= dimensions[d];
  }
  return index;
}

int64_t PlaceOf(const DimensionVector& index, const DimensionVector& dimensions) {
  int64_t place = 0;
  for (size_t d = 0; d < dimensions.size(); ++d) place = place * dimensions[d] + index[d];
  return place;
}

class Flattener {
 public:
  // Adds to the computation of `builder`. Loops run no round where `active`, a pred scalar, does not hold (null:
  // always). `visits` counts the instructions walked over.
  Flattener(Builder* builder, Instruction* active, int64_t* visits)
      : builder_(*builder), active_(active), visits_(*visits) {}

  // The elements of the root of `computation` over those of its parameters.
  absl::StatusOr<Elements> Walk(const Computation& computation, const Elements& arguments) {
    absl::flat_hash_map<const Instruction*, Elements> values;
    std::vector<int64_t> first = {0};
    for (const Instruction* parameter : computation.parameters()) {
      first.push_back(first.back() + CountElements(parameter->shape()));
    }
    for (const Instruction* instruction : computation.PostOrder()) {
      const bool fits = CountElements(instruction->shape()) <= kMaxFlattenedElements && ++visits_ <= kMaxVisits;
      KILN_RETURN_IF_ERROR(RequireRoom(*instruction, fits ? 0 : kMaxFlattenedInstructions));
      if (instruction->IsParameter()) {
        const int64_t number = instruction->parameter_number();
        values[instruction] = Elements(arguments.begin() + first[number], arguments.begin() + first[number + 1]);
        continue;
      }
      std::vector<Elements> operands;
      for (const Instruction* operand : instruction->operands()) operands.push_back(values.at(operand));
      KILN_ASSIGN_OR_RETURN(values[instruction], Flatten(*instruction, operands, computation));
    }
    return values.at(computation.root());
  }

 private:
  // For so many scalar operations more.
  absl::Status RequireRoom(const Instruction& instruction, double operations) {
    if (static_cast<double>(builder_.added().size()) + operations < kMaxFlattenedInstructions) return absl::OkStatus();
    return Unimplemented(instruction.Describe(), ": the scalar computation ", instruction.parent()->name(),
                         " is too large: it may hold arrays of ", kMaxFlattenedElements, " elements and become ",
                         kMaxFlattenedInstructions, " scalar operations");
  }

  absl::StatusOr<Elements> Flatten(const Instruction& instruction, const std::vector<Elements>& operands,
                                   const Computation& computation) {
    const Shape& shape = instruction.shape();
    switch (instruction.opcode()) {
      case Opcode::kConstant:
        return Constants(instruction.literal());
      case Opcode::kIota: {
        KILN_ASSIGN_OR_RETURN(const Literal values, hlo::EvaluateInstruction(instruction, {}));
        return Constants(values);
      }
      case Opcode::kTuple:
      case Opcode::kOptBarrier:
        return Joined(operands);
      case Opcode::kGetTupleElement: {
        int64_t first = 0;
        for (int64_t i = 0; i < instruction.tuple_index(); ++i) {
          first += CountElements(instruction.operand(0)->shape().tuple_shapes(i));
        }
        return Elements(operands[0].begin() + first, operands[0].begin() + first + CountElements(shape));
      }
      case Opcode::kCall:
      case Opcode::kFusion:
      case Opcode::kMap:
        return FlattenCall(instruction, operands);
      case Opcode::kConditional:
        return Branch(instruction, operands);
      case Opcode::kWhile:
        return Loop(instruction, operands[0]);
      case Opcode::kReduce:
        return Reduce(instruction, operands);
      case Opcode::kReduceWindow:
        return ReduceWindow(instruction, operands);
      case Opcode::kDot:
        return Dot(instruction, operands);
      case Opcode::kBitcast: {
        const PrimitiveType from = instruction.operand(0)->shape().element_type(), to = shape.element_type();
        if (from == to) return Move(instruction, operands);
        if (hlo::BitWidth(from) != hlo::BitWidth(to)) break;
        Elements all;
        for (Instruction* element : operands[0]) {
          all.push_back(builder_.Add(Opcode::kBitcastConvert, Shape::Scalar(to), {element}));
        }
        return all;
      }
      case Opcode::kBroadcast:
      case Opcode::kConcatenate:
      case Opcode::kCopy:
      case Opcode::kPad:
      case Opcode::kReshape:
      case Opcode::kReverse:
      case Opcode::kSlice:
      case Opcode::kTranspose:
        return Move(instruction, operands);
      case Opcode::kSort:
        return Sort(instruction, operands);
      case Opcode::kGather:
        return Gather(instruction, operands);
      case Opcode::kDynamicSlice:
        return DynamicSlice(instruction, operands);
      case Opcode::kDynamicUpdateSlice:
        return DynamicUpdateSlice(instruction, operands);
      default:
        if (hlo::IsElementwise(instruction.opcode()) || (instruction.opcode() == Opcode::kBitcastConvert &&
                                                         shape.rank() == instruction.operand(0)->shape().rank())) {
          return EachElement(instruction, operands);
        }
    }
    return Unimplemented(instruction.Describe(), ": not supported in the scalar computation ", computation.name());
  }

  Elements Constants(const Literal& literal) {
    Elements all;
    if (literal.shape().IsTuple()) {
      for (const Literal& element : literal.elements()) {
        const Elements part = Constants(element);
        all.insert(all.end(), part.begin(), part.end());
      }
      return all;
    }
    const PrimitiveType type = literal.shape().element_type();
    const int64_t width = hlo::ByteWidth(type);
    for (int64_t i = 0; i < literal.element_count(); ++i) {
      all.push_back(
          builder_.Constant(*Literal::FromBytes(Shape::Scalar(type), literal.bytes().subspan(i * width, width))));
    }
    return all;
  }

  Elements EachElement(const Instruction& instruction, const std::vector<Elements>& operands) {
    Elements all;
    for (int64_t i = 0; i < instruction.shape().element_count(); ++i) {
      std::vector<Instruction*> scalars;
      for (size_t k = 0; k < operands.size(); ++k) {
        scalars.push_back(operands[k][instruction.operand(k)->shape().IsScalar() ? 0 : i]);
      }
      all.push_back(builder_.Add(instruction.opcode(), Shape::Scalar(instruction.shape().element_type()),
                                 std::move(scalars), instruction.attributes()));
    }
    return all;
  }

  // map applies its computation element by element.
  absl::StatusOr<Elements> FlattenCall(const Instruction& instruction, const std::vector<Elements>& operands) {
    Elements results;
    const bool is_map = instruction.opcode() == Opcode::kMap;
    for (int64_t i = 0; i < (is_map ? instruction.shape().element_count() : 1); ++i) {
      Elements arguments;
      for (const Elements& operand : operands) {
        if (is_map) arguments.push_back(operand[i]);
        if (!is_map) arguments.insert(arguments.end(), operand.begin(), operand.end());
      }
      KILN_ASSIGN_OR_RETURN(const Elements result, Walk(*instruction.called_computation(), arguments));
      results.insert(results.end(), result.begin(), result.end());
    }
    return results;
  }

  Instruction* And(Instruction* a, Instruction* b) { return a == nullptr ? b : builder_.Binary(Opcode::kAnd, a, b); }

  absl::StatusOr<Elements> Branch(const Instruction& instruction, const std::vector<Elements>& operands) {
    Instruction* which = operands[0][0];
    const int64_t count = static_cast<int64_t>(instruction.called_computations().size());
    const bool by_pred = which->shape().element_type() == PrimitiveType::kPred;
    Elements results;
    // From the last, which stands for every other index, to the first.
    Instruction* others = nullptr;  // any of the branches before the last is taken
    for (int64_t k = count - 1; k >= 0; --k) {
      Instruction* taken = nullptr;
      if (k + 1 < count) taken = by_pred ? which : Equals(which, k);
      if (k + 1 == count && count > 1) {
        for (int64_t j = 0; j + 1 < count; ++j) {
          Instruction* is_j = by_pred ? which : Equals(which, j);
          others = others == nullptr ? is_j : builder_.Binary(Opcode::kOr, others, is_j);
        }
      }
      Instruction* outer = active_;
      if (count > 1) active_ = And(outer, taken != nullptr ? taken : builder_.Unary(Opcode::kNot, others));
      absl::StatusOr<Elements> branch = Walk(*instruction.called_computation(k), operands[k + 1]);
      active_ = outer;
      KILN_RETURN_IF_ERROR(branch.status());
      if (taken == nullptr) results = *std::move(branch);
      for (size_t i = 0; taken != nullptr && i < results.size(); ++i) {
        results[i] = builder_.Select(taken, (*branch)[i], results[i]);
      }
    }
    return results;
  }

  Instruction* Number(const Instruction* like, int64_t value) {
    return builder_.Constant(hlo::LiteralOf(like->shape(), value));
  }
  Instruction* Equals(Instruction* index, int64_t value) {
    return builder_.Compare(ComparisonDirection::kEq, index, Number(index, value));
  }

  // A loop over a tuple of scalars; the last one says whether it runs at all.
  absl::StatusOr<Elements> Loop(const Instruction& instruction, const Elements& state) {
    Elements start = state;
    if (active_ != nullptr) start.push_back(active_);
    Module* module = builder_.computation()->parent();
    Instruction* initial = builder_.Tuple(start);
    Computation* parts[2] = {module->AddComputation("scalar_body"), module->AddComputation("scalar_condition")};
    for (int i : {0, 1}) {
      Builder inside(parts[i], &instruction);
      Instruction* parameter = parts[i]->AddParameter(0, initial->shape());
      Elements elements;
      for (size_t k = 0; k < start.size(); ++k) {
        elements.push_back(inside.GetTupleElement(parameter, static_cast<int64_t>(k)));
      }
      Instruction* active = active_ != nullptr ? elements.back() : nullptr;
      const Elements own(elements.begin(), elements.begin() + static_cast<int64_t>(state.size()));
      Flattener inner(&inside, i == 0 ? nullptr : active, &visits_);
      KILN_ASSIGN_OR_RETURN(Elements results, inner.Walk(*instruction.called_computation(i), own));
      if (active != nullptr && i == 0) results.push_back(active);
      if (active != nullptr && i == 1) results = {inside.Binary(Opcode::kAnd, active, results[0])};
      parts[i]->set_root(i == 0 ? inside.Tuple(results) : results[0]);
    }
    Instruction* loop = builder_.Add(Opcode::kWhile, initial->shape(), {initial}, {}, {parts[0], parts[1]});
    Elements results;
    for (size_t k = 0; k < state.size(); ++k) {
      results.push_back(builder_.GetTupleElement(loop, static_cast<int64_t>(k)));
    }
    return results;
  }

  absl::StatusOr<Elements> Reduce(const Instruction& instruction, const std::vector<Elements>& operands) {
    const size_t count = operands.size() / 2;
    const Shape& whole = instruction.operand(0)->shape();
    const DimensionVector& reduced = instruction.dimensions();
    // The result's position that each element goes to.
    int64_t places = 1;
    std::vector<int64_t> strides(whole.rank(), 0);
    for (int64_t d = whole.rank() - 1; d >= 0; --d) {
      if (Contains(reduced, d)) continue;
      strides[d] = places;
      places *= whole.dimensions(d);
    }
    std::vector<Elements> sums(places);
    for (Elements& sum : sums) {
      for (size_t k = 0; k < count; ++k) sum.push_back(operands[count + k][0]);
    }
    for (int64_t i = 0; i < whole.element_count(); ++i) {
      const DimensionVector index = IndexOf(i, whole.dimensions());
      const int64_t place = std::inner_product(index.begin(), index.end(), strides.begin(), int64_t{0});
      Elements arguments = sums[place];
      for (size_t k = 0; k < count; ++k) arguments.push_back(operands[k][i]);
      KILN_ASSIGN_OR_RETURN(sums[place], Walk(*instruction.called_computation(), arguments));
    }
    Elements results;
    for (size_t k = 0; k < count; ++k) {
      for (const Elements& sum : sums) results.push_back(sum[k]);
    }
    return results;
  }

  // Places in the padding take no part.
  absl::StatusOr<Elements> ReduceWindow(const Instruction& instruction, const std::vector<Elements>& operands) {
    const size_t count = operands.size() / 2;
    const DimensionVector& whole = instruction.operand(0)->shape().dimensions();
    const hlo::Window& window = instruction.Get<hlo::WindowAttributes>().window;
    const Shape& result = instruction.shape().IsTuple() ? instruction.shape().tuple_shapes(0) : instruction.shape();
    DimensionVector sizes;
    double places = static_cast<double>(std::max<int64_t>(1, result.element_count()));
    for (const hlo::WindowDimension& dimension : window) {
      sizes.push_back(dimension.size);
      places *= static_cast<double>(dimension.size);
    }
    KILN_RETURN_IF_ERROR(RequireRoom(instruction, places));
    const int64_t window_count = Shape(PrimitiveType::kPred, sizes).element_count();
    std::vector<Elements> results(count);
    for (int64_t at = 0; at < result.element_count(); ++at) {
      const DimensionVector index = IndexOf(at, result.dimensions());
      Elements sums;
      for (size_t k = 0; k < count; ++k) sums.push_back(operands[count + k][0]);
      for (int64_t w = 0; w < window_count; ++w) {
        DimensionVector place = IndexOf(w, sizes);
        bool inside = true;
        for (size_t d = 0; d < whole.size(); ++d) {
          const hlo::WindowDimension& dimension = window[d];
          if (dimension.reversal) place[d] = dimension.size - 1 - place[d];
          place[d] = index[d] * dimension.stride + place[d] * dimension.window_dilation - dimension.padding_low;
          inside = inside && place[d] >= 0 && place[d] % dimension.base_dilation == 0;
          place[d] /= dimension.base_dilation;
          inside = inside && place[d] < whole[d];
        }
        if (!inside) continue;
        Elements arguments = sums;
        for (size_t k = 0; k < count; ++k) arguments.push_back(operands[k][PlaceOf(place, whole)]);
        KILN_ASSIGN_OR_RETURN(sums, Walk(*instruction.called_computation(), arguments));
      }
      for (size_t k = 0; k < count; ++k) results[k].push_back(sums[k]);
    }
    return Joined(results);
  }

  // Sums of products in the result's type, or in f32 where that is narrower.
  absl::StatusOr<Elements> Dot(const Instruction& instruction, const std::vector<Elements>& operands) {
    const auto& dot = instruction.Get<hlo::DotAttributes>();
    const PrimitiveType type = instruction.shape().element_type();
    const bool is_narrow = hlo::IsFloating(type) && hlo::BitWidth(type) < 32, is_pred = type == PrimitiveType::kPred;
    const DimensionVector* dimensions[2] = {&instruction.operand(0)->shape().dimensions(),
                                            &instruction.operand(1)->shape().dimensions()};
    const DimensionVector* batch[2] = {&dot.lhs_batch, &dot.rhs_batch};
    const DimensionVector* contracting[2] = {&dot.lhs_contracting, &dot.rhs_contracting};
    DimensionVector steps;
    for (int64_t d : dot.lhs_contracting) steps.push_back((*dimensions[0])[d]);
    const int64_t step_count = Shape(PrimitiveType::kPred, steps).element_count();
    const int64_t count = instruction.shape().element_count();
    KILN_RETURN_IF_ERROR(RequireRoom(instruction, 2.0 * static_cast<double>(count) * static_cast<double>(step_count)));
    Elements results;
    for (int64_t at = 0; at < count; ++at) {
      const DimensionVector index = IndexOf(at, instruction.shape().dimensions());
      // Batch dimensions, then the free ones of the left and of the right operand; contracting ones are set below.
      DimensionVector places[2];
      size_t next = dot.lhs_batch.size();
      for (int side : {0, 1}) {
        places[side].assign(dimensions[side]->size(), -1);
        for (size_t k = 0; k < batch[side]->size(); ++k) places[side][(*batch[side])[k]] = index[k];
        for (int64_t d : *contracting[side]) places[side][d] = 0;
        for (int64_t& place : places[side]) {
          if (place < 0) place = index[next++];
        }
      }
      Instruction* sum = nullptr;
      for (int64_t k = 0; k < step_count; ++k) {
        const DimensionVector step = IndexOf(k, steps);
        Instruction* factors[2];
        for (int side : {0, 1}) {
          for (size_t c = 0; c < step.size(); ++c) places[side][(*contracting[side])[c]] = step[c];
          factors[side] = builder_.Convert(operands[side][PlaceOf(places[side], *dimensions[side])],
                                           is_narrow ? PrimitiveType::kF32 : type);
        }
        Instruction* product = builder_.Binary(is_pred ? Opcode::kAnd : Opcode::kMultiply, factors[0], factors[1]);
        sum = sum == nullptr ? product : builder_.Binary(is_pred ? Opcode::kOr : Opcode::kAdd, sum, product);
      }
      results.push_back(sum == nullptr ? builder_.Scalar(type, 0) : builder_.Convert(sum, type));
    }
    return results;
  }

  // The op itself over the numbers of its operands' elements says which element goes where.
  absl::StatusOr<Elements> Move(const Instruction& instruction, const std::vector<Elements>& operands) {
    Module module("numbers");
    Computation* computation = module.AddComputation("numbers");
    std::vector<Instruction*> parameters;
    std::vector<Literal> numbers;
    Elements all;
    for (size_t k = 0; k < operands.size(); ++k) {
      std::vector<int64_t> own(operands[k].size());
      absl::c_iota(own, static_cast<int64_t>(all.size()));
      all.insert(all.end(), operands[k].begin(), operands[k].end());
      const Shape shape(PrimitiveType::kS64, instruction.operand(k)->shape().dimensions());
      numbers.push_back(*Literal::FromBytes(
          shape, absl::MakeConstSpan(reinterpret_cast<const std::byte*>(own.data()), own.size() * sizeof(int64_t))));
      parameters.push_back(computation->AddParameter(static_cast<int64_t>(k), shape));
    }
    Instruction* moved =
        computation->Add(instruction.opcode(), Shape(PrimitiveType::kS64, instruction.shape().dimensions()), parameters,
                         instruction.attributes());
    KILN_ASSIGN_OR_RETURN(const Literal places, hlo::EvaluateInstruction(*moved, numbers));
    Elements results;
    for (int64_t place : places.data<int64_t>()) results.push_back(all[place]);
    return results;
  }

  // Operations of AtStart.
  static constexpr double kPerStart = 3;

  // Of every position from 0 to `last` what `at` gives for the one that `start` names, clamped.
  template <typename At>
  Instruction* AtStart(Instruction* start, int64_t last, const At& at) {
    Instruction* chosen = at(last);
    for (int64_t s = last - 1; s >= 0; --s) {
      Instruction* here = builder_.Compare(ComparisonDirection::kLe, start, Number(start, s));
      chosen = builder_.Select(here, at(s), chosen);
    }
    return chosen;
  }

  // Exchanges of neighbours, which keep the order of equal ones.
  absl::StatusOr<Elements> Sort(const Instruction& instruction, std::vector<Elements> arrays) {
    const DimensionVector& dimensions = instruction.operand(0)->shape().dimensions();
    const int64_t along = instruction.Get<hlo::SortAttributes>().dimension, size = dimensions[along];
    int64_t inner = 1;
    for (size_t d = along + 1; d < dimensions.size(); ++d) inner *= dimensions[d];
    KILN_RETURN_IF_ERROR(RequireRoom(instruction, static_cast<double>((size - 1) * arrays[0].size() * arrays.size())));
    for (int64_t first = 0; first < static_cast<int64_t>(arrays[0].size()); ++first) {
      if (first / inner % size != 0) continue;  // where no row begins
      for (int64_t end = size - 1; end > 0; --end) {
        for (int64_t k = 0; k < end; ++k) {
          const int64_t here = first + k * inner, next = here + inner;
          Elements arguments;
          for (const Elements& array : arrays) arguments.insert(arguments.end(), {array[next], array[here]});
          KILN_ASSIGN_OR_RETURN(const Elements swaps, Walk(*instruction.called_computation(), arguments));
          for (Elements& array : arrays) {
            Instruction *a = array[here], *b = array[next];
            array[here] = builder_.Select(swaps[0], b, a);
            array[next] = builder_.Select(swaps[0], a, b);
          }
        }
      }
    }
    return Joined(arrays);
  }

  absl::StatusOr<Elements> Gather(const Instruction& instruction, const std::vector<Elements>& operands) {
    const auto& gather = instruction.Get<hlo::GatherAttributes>();
    const DimensionVector& dimensions = instruction.operand(0)->shape().dimensions();
    const DimensionVector& starts = instruction.operand(1)->shape().dimensions();
    double operations = kPerStart * static_cast<double>(instruction.shape().element_count());
    for (int64_t d : gather.start_index_map)
      operations *= static_cast<double>(dimensions[d] - gather.slice_sizes[d] + 1);
    KILN_RETURN_IF_ERROR(RequireRoom(instruction, operations));
    Elements results;
    for (int64_t at = 0; at < instruction.shape().element_count(); ++at) {
      const DimensionVector index = IndexOf(at, instruction.shape().dimensions());
      DimensionVector batch, offset(dimensions.size(), 0);
      for (int64_t d = 0, o = 0; d < instruction.shape().rank(); ++d) {
        if (!Contains(gather.offset_dims, d)) {
          batch.push_back(index[d]);
          continue;
        }
        while (Contains(gather.collapsed_slice_dims, o) || Contains(gather.operand_batching_dims, o)) ++o;
        offset[o++] = index[d];
      }
      for (size_t k = 0; k < gather.operand_batching_dims.size(); ++k) {
        const int64_t d = gather.start_indices_batching_dims[k];
        offset[gather.operand_batching_dims[k]] = batch[d - (d > gather.index_vector_dim ? 1 : 0)];
      }
      DimensionVector position = offset;
      // The element for every start in the dimensions of the index map from number `m` on.
      std::function<Instruction*(size_t)> choose = [&](size_t m) -> Instruction* {
        if (m == gather.start_index_map.size()) return operands[0][PlaceOf(position, dimensions)];
        DimensionVector where = batch;
        if (gather.index_vector_dim < static_cast<int64_t>(starts.size())) {
          where.insert(where.begin() + gather.index_vector_dim, static_cast<int64_t>(m));
        }
        const int64_t d = gather.start_index_map[m];
        return AtStart(operands[1][PlaceOf(where, starts)], dimensions[d] - gather.slice_sizes[d], [&](int64_t start) {
          position[d] = offset[d] + start;
          return choose(m + 1);
        });
      };
      results.push_back(choose(0));
    }
    return results;
  }

  absl::StatusOr<Elements> DynamicSlice(const Instruction& instruction, const std::vector<Elements>& operands) {
    const DimensionVector& sizes = instruction.shape().dimensions();
    DimensionVector dimensions = instruction.operand(0)->shape().dimensions();
    Elements current = operands[0];
    for (int64_t d = 0; d < instruction.shape().rank(); ++d) {
      int64_t inner = 1, outer = 1;
      for (int64_t i = 0; i < d; ++i) outer *= dimensions[i];
      for (int64_t i = d + 1; i < instruction.shape().rank(); ++i) inner *= dimensions[i];
      KILN_RETURN_IF_ERROR(RequireRoom(
          instruction, kPerStart * static_cast<double>(outer * sizes[d] * inner * (dimensions[d] - sizes[d]))));
      Elements next;
      for (int64_t o = 0; o < outer; ++o) {
        for (int64_t k = 0; k < sizes[d]; ++k) {
          for (int64_t i = 0; i < inner; ++i) {
            next.push_back(AtStart(operands[d + 1][0], dimensions[d] - sizes[d],
                                   [&](int64_t s) { return current[(o * dimensions[d] + s + k) * inner + i]; }));
          }
        }
      }
      dimensions[d] = sizes[d];
      current = std::move(next);
    }
    return current;
  }

  // Start by start: where it is the one given, what it covers is the update's.
  absl::StatusOr<Elements> DynamicUpdateSlice(const Instruction& instruction, const std::vector<Elements>& operands) {
    const DimensionVector& dimensions = instruction.shape().dimensions();
    const DimensionVector& sizes = instruction.operand(1)->shape().dimensions();
    const size_t rank = dimensions.size();
    DimensionVector starts;
    for (size_t d = 0; d < rank; ++d) starts.push_back(dimensions[d] - sizes[d] + 1);
    const int64_t places = Shape(PrimitiveType::kPred, starts).element_count();
    KILN_RETURN_IF_ERROR(
        RequireRoom(instruction, static_cast<double>(places) * static_cast<double>(operands[1].size() + 6 * rank)));
    Elements results = operands[0];
    for (int64_t place = 0; place < places; ++place) {
      const DimensionVector start = IndexOf(place, starts);
      Instruction* here = nullptr;
      for (size_t d = 0; d < rank; ++d) {
        Instruction* given = operands[2 + d][0];
        const auto is = [&](ComparisonDirection direction) {
          here = And(here, builder_.Compare(direction, given, Number(given, start[d])));
        };
        if (start[d] > 0) is(ComparisonDirection::kGe);
        if (start[d] + 1 < starts[d]) is(ComparisonDirection::kLe);
      }
      for (size_t u = 0; u < operands[1].size(); ++u) {
        DimensionVector index = IndexOf(static_cast<int64_t>(u), sizes);
        for (size_t d = 0; d < rank; ++d) index[d] += start[d];
        Instruction*& result = results[PlaceOf(index, dimensions)];
        result = here == nullptr ? operands[1][u] : builder_.Select(here, operands[1][u], result);
      }
    }
    return results;
  }

  Builder& builder_;
  Instruction* active_;
  int64_t& visits_;
};

absl::StatusOr<Computation*> Flattened(Module* module, const Computation& computation) {
  Computation* flat = module->AddComputation(computation.name());
  Builder builder(flat, nullptr);
  Elements parameters;
  for (const Instruction* parameter : computation.parameters()) {
    if (!parameter->shape().IsScalar()) {
      return Unimplemented(parameter->Describe(), ": parameter ", parameter->parameter_number(),
                           " of the scalar computation ", computation.name(), " is no scalar");
    }
    parameters.push_back(flat->AddParameter(parameter->parameter_number(), parameter->shape()));
  }
  int64_t visits = 0;
  KILN_ASSIGN_OR_RETURN(const Elements results, Flattener(&builder, nullptr, &visits).Walk(computation, parameters));
  flat->set_root(computation.root()->shape().IsTuple() ? builder.Tuple(results) : results[0]);
  flat->RemoveDeadInstructions();
  return flat;
}

}  // namespace

absl::StatusOr<bool> FlattenScalarComputations(Module* module) {
  absl::flat_hash_map<const Computation*, Computation*> flattened;
  for (Computation* computation : module->PostOrder()) {
    for (Instruction* instruction : computation->instructions()) {
      if (!hlo::HasScalarComputation(instruction->opcode())) continue;
      std::vector<Computation*> called(instruction->called_computations().begin(),
                                       instruction->called_computations().end());
      for (Computation*& callee : called) {
        if (IsFlat(*callee, false)) continue;
        Computation*& flat = flattened[callee];
        if (flat == nullptr) {
          KILN_ASSIGN_OR_RETURN(flat, Flattened(module, *callee));
        }
        callee = flat;
      }
      if (instruction->called_computations() != called) instruction->set_called_computations(called);
    }
  }
  if (!flattened.empty()) module->RemoveUnusedComputations();
  return !flattened.empty();
}

}  // namespace kiln::passes
