#include "tests/cpu/differential.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "src/base/status.h"
#include "src/base/thread_pool.h"
#include "src/frontend/hlo_text/parser.h"
#include "src/hlo/evaluator.h"
#include "src/hlo/physical_copy.h"
#include "src/hlo/printer.h"
#include "src/passes/pipeline.h"
#include "src/tools/compare_literals.h"
#include "tests/cpu/guarded_memory.h"

namespace kiln::testing {
namespace {

using hlo::Literal;
using hlo::Shape;

// The program that runs, and who else is to be told of faults.
std::atomic<const cpu::Executable*> running = nullptr;
struct sigaction next_handler;

// Says whose access failed, and lets it fail again as it would have without.
void OnFault(int signal) {
  sigaction(signal, &next_handler, nullptr);
  const cpu::Executable* executable = running;
  if (executable == nullptr || executable->module() == nullptr) return;
  std::fprintf(stderr, "Memory outside of the buffers of this program was touched:\n%s\n",
               hlo::ToString(*executable->module()).c_str());
}

void WatchFaults() {
  static const bool watching = [] {
    struct sigaction action = {};
    action.sa_handler = OnFault;
    return sigaction(SIGSEGV, &action, &next_handler) == 0;
  }();
  if (!watching) std::abort();
}

double UnitInTheLastPlace(PrimitiveType type, double x) {
  int mantissa = 23, lowest = -126;
  switch (type) {
    case PrimitiveType::kF64:
      mantissa = 52, lowest = -1022;
      break;
    case PrimitiveType::kF16:
      mantissa = 10, lowest = -14;
      break;
    case PrimitiveType::kBF16:
      mantissa = 7;
      break;
    case PrimitiveType::kF32:
      break;
    default:
      mantissa = 2, lowest = -6;
      break;
  }
  const int exponent = x == 0 || !std::isfinite(x) ? lowest : std::max(std::ilogb(x), lowest);
  return std::ldexp(1.0, exponent - mantissa);
}

double LargestFinite(PrimitiveType type) {
  switch (type) {
    case PrimitiveType::kF64:
      return std::numeric_limits<double>::max();
    case PrimitiveType::kF16:
      return 65504;
    case PrimitiveType::kBF16:
      return 3.3895313892515355e38;
    default:
      return std::numeric_limits<float>::max();
  }
}

Literal Parts(const Literal& literal) {
  const PrimitiveType part = hlo::ComplexComponentType(literal.shape().element_type());
  const int64_t count = static_cast<int64_t>(literal.bytes().size()) / hlo::ByteWidth(part);
  return *Literal::FromBytes(Shape(part, {count}), literal.bytes());
}

Literal ExtremeScalar(PrimitiveType type, Random* random) {
  const Shape scalar = Shape::Scalar(type);
  Literal literal(scalar);
  const int64_t choice = random->In(0, 19);
  if (hlo::IsFloating(type)) {
    switch (choice) {
      case 0:
        return hlo::LiteralOf(scalar, std::numeric_limits<double>::quiet_NaN());
      case 1:
        return hlo::LiteralOf(scalar, std::numeric_limits<double>::infinity());
      case 2:
        return hlo::LiteralOf(scalar, -std::numeric_limits<double>::infinity());
      case 3:
        return hlo::LiteralOf(scalar, 0.0);
      case 4:
        return hlo::LiteralOf(scalar, -0.0);
      case 5:
        return hlo::LiteralOf(scalar, LargestFinite(type));
      case 6:
        return hlo::LiteralOf(scalar, -LargestFinite(type));
      case 7:
        return hlo::LiteralOf(scalar, UnitInTheLastPlace(type, 0));
      case 8:
      case 9:
      case 10:
        return hlo::LiteralOf(scalar, static_cast<double>(random->In(-20, 20)) / 2);
      case 11:
        return hlo::LiteralOf(scalar, static_cast<double>(random->In(-70000, 70000)) * 65536.0 * 32768.0);
      case 12:
      case 13:
      case 14:
        return hlo::LiteralOf(scalar, (random->Real() - 0.5) * 100);
      default:
        break;
    }
  } else if (hlo::IsIntegral(type)) {
    if (choice < 3) return hlo::MinLiteral(type);
    if (choice < 6) return hlo::MaxLiteral(type);
    if (choice < 14) return hlo::LiteralOf(scalar, random->In(hlo::IsSignedIntegral(type) ? -3 : 0, 3));
  } else {
    return hlo::LiteralOf(scalar, random->In(0, 1));
  }
  const uint64_t bits = random->Next();
  if (hlo::BitWidth(type) < 8) return hlo::LiteralOf(scalar, static_cast<int64_t>(bits & 0xff));
  std::memcpy(literal.mutable_bytes().data(), &bits, literal.bytes().size());
  return literal;
}

}  // namespace

Literal MakeArgument(const Shape& shape, const Data& data, Random* random) {
  Literal literal(shape);
  const PrimitiveType part = hlo::ComplexComponentType(shape.element_type());
  const Shape scalar = Shape::Scalar(part);
  const size_t width = static_cast<size_t>(hlo::ByteWidth(part));
  absl::Span<std::byte> bytes = literal.mutable_bytes();
  for (size_t offset = 0; offset < bytes.size(); offset += width) {
    Literal value;
    if (part == PrimitiveType::kPred) {
      value = hlo::LiteralOf(scalar, random->In(0, 1));
    } else if (data.kind == Data::Kind::kExtremes) {
      value = ExtremeScalar(part, random);
    } else if (data.kind == Data::Kind::kReal && hlo::IsFloating(part)) {
      value = hlo::LiteralOf(scalar, data.low + random->Real() * (data.high - data.low));
    } else {
      int64_t low = static_cast<int64_t>(data.low);
      if (low < 0 && hlo::IsUnsignedIntegral(part)) low = 0;
      value = hlo::LiteralOf(scalar, random->In(low, std::max(low, static_cast<int64_t>(data.high))));
    }
    std::memcpy(bytes.data() + offset, value.bytes().data(), width);
  }
  return literal;
}

std::string Difference(const Literal& actual, const Literal& expected, const Tolerance& tolerance) {
  const PrimitiveType type = expected.shape().element_type();
  std::string words;
  int count = 0;
  auto report = [&](int64_t element, const auto& a, const auto& e) {
    if (count++ < 4) absl::StrAppend(&words, "  element ", element, " is ", a, ", expected ", e, "\n");
  };
  if (!hlo::IsFloating(type) && !hlo::IsComplex(type)) {
    for (int64_t i = 0; i < expected.element_count(); ++i) {
      const int64_t a = hlo::ElementAsInt64(actual, i), e = hlo::ElementAsInt64(expected, i);
      if (a != e) report(i, a, e);
    }
  } else {
    const PrimitiveType part = hlo::ComplexComponentType(type);
    const Literal a_parts = Parts(actual), e_parts = Parts(expected);
    const int64_t per_element = hlo::IsComplex(type) ? 2 : 1;
    for (int64_t i = 0; i < e_parts.element_count(); ++i) {
      const double a = hlo::ElementAsDouble(a_parts, i), e = hlo::ElementAsDouble(e_parts, i);
      if (a == e || (std::isnan(a) && std::isnan(e))) continue;
      double size = std::fabs(e);
      if (per_element == 2) size = std::hypot(e, hlo::ElementAsDouble(e_parts, i ^ 1));
      // Where the scale ends, the next step is infinity.
      const double largest = LargestFinite(part);
      auto finite = [&](double x) {
        return std::isinf(x) ? std::copysign(largest + UnitInTheLastPlace(part, largest), x) : x;
      };
      const double distance = tolerance.ulps > 1 ? std::fabs(finite(a) - finite(e)) : std::fabs(a - e);
      const double bound = tolerance.ulps * UnitInTheLastPlace(part, size) + tolerance.absolute;
      if (!(distance <= bound)) report(i / per_element, a, e);
    }
  }
  if (count > 4) absl::StrAppend(&words, "  and ", count - 4, " more\n");
  return words;
}

absl::StatusOr<std::unique_ptr<CompiledProgram>> CompiledProgram::Compile(std::unique_ptr<hlo::Module> module,
                                                                          const cpu::CompileOptions& options) {
  auto program = std::make_unique<CompiledProgram>();
  KILN_ASSIGN_OR_RETURN(program->executable_, cpu::Executable::Compile(std::move(module), options));
  return program;
}

absl::StatusOr<std::vector<Literal>> CompiledProgram::Run(const std::vector<Literal>& arguments, bool donate,
                                                          int threads, Random* random) const {
  const absl::Span<const Shape> parameters = executable_->parameter_leaves();
  const absl::Span<const Shape> outputs = executable_->output_leaves();
  std::vector<bool> donated(parameters.size(), false);
  std::vector<bool> takes_over(outputs.size(), false);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const cpu::OutputLeaf& leaf = executable_->output_aliases()[i];
    if (!leaf.aliased_parameter.has_value() || !(donate || leaf.must_alias)) continue;
    takes_over[i] = true;
    donated[static_cast<size_t>(*leaf.aliased_parameter)] = true;
  }
  const uint8_t guard = static_cast<uint8_t>(random->In(1, 255));
  const uint8_t fill = static_cast<uint8_t>(random->In(0, 255));
  const Place place = static_cast<Place>(random->In(0, 2));
  std::vector<GuardedMemory> memory;
  std::vector<const void*> argument_pointers;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const int64_t width = std::max<int64_t>(hlo::ByteWidth(parameters[i].element_type()), 1);
    const int64_t alignment = donated[i] || random->Chance(0.25) ? GuardedMemory::kAlignment : width;
    memory.emplace_back(parameters[i].byte_count(), alignment, place, guard, fill);
    if (parameters[i].IsArray()) hlo::ToPhysical(arguments[i], parameters[i], memory.back().data());
    argument_pointers.push_back(memory.back().data());
  }
  std::vector<void*> result_pointers;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (takes_over[i]) {
      result_pointers.push_back(const_cast<void*>(
          argument_pointers[static_cast<size_t>(*executable_->output_aliases()[i].aliased_parameter)]));
      continue;
    }
    memory.emplace_back(outputs[i].byte_count(), GuardedMemory::kAlignment, place, guard, fill);
    result_pointers.push_back(memory.back().data());
  }
  GuardedMemory arena(executable_->arena_bytes(), GuardedMemory::kAlignment, place, guard, fill);
  std::unique_ptr<ThreadPool> pool;
  if (threads > 1) pool = std::make_unique<ThreadPool>(threads);
  WatchFaults();
  running = executable_.get();
  const absl::Status status = executable_->Run(argument_pointers, result_pointers, arena.data(), pool.get());
  running = nullptr;
  KILN_RETURN_IF_ERROR(status);
  if (std::string damage = arena.Damage(); !damage.empty()) return Internal("arena: ", damage);
  for (size_t i = 0; i < memory.size(); ++i) {
    if (std::string damage = memory[i].Damage(); !damage.empty()) {
      return Internal(i < parameters.size() ? "parameter leaf " : "result leaf ",
                      i < parameters.size() ? i : i - parameters.size(), ": ", damage);
    }
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (donated[i] || !parameters[i].IsArray()) continue;
    if (!(hlo::FromPhysical(argument_pointers[i], parameters[i]) == arguments[i])) {
      return Internal("the program changed its argument leaf ", i);
    }
  }
  std::vector<Literal> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    results.push_back(outputs[i].IsArray() ? hlo::FromPhysical(result_pointers[i], outputs[i]) : Literal(outputs[i]));
  }
  return results;
}

namespace {

// Arguments in the structure of the parameters, from their leaves.
Literal Assemble(const Shape& shape, const std::vector<Literal>& leaves, size_t* next) {
  if (!shape.IsTuple()) return leaves[(*next)++];
  std::vector<Literal> elements;
  for (const Shape& element : shape.tuple_shapes()) elements.push_back(Assemble(element, leaves, next));
  return Literal::Tuple(std::move(elements));
}

}  // namespace

absl::Status CheckModule(std::unique_ptr<hlo::Module> module, const std::vector<Data>& data,
                         const std::vector<Tolerance>& tolerances, uint64_t seed, const CheckOptions& options) {
  Random random(seed);
  std::unique_ptr<hlo::Module> original = module->Clone();
  std::vector<Literal> leaves, arguments;
  for (const hlo::Instruction* parameter : original->entry()->parameters()) {
    for (const Shape* leaf : parameter->shape().Leaves()) {
      leaves.push_back(leaf->IsArray()
                           ? MakeArgument(*leaf, leaves.size() < data.size() ? data[leaves.size()] : Data{}, &random)
                           : Literal(*leaf));
    }
  }
  size_t next = 0;
  for (const hlo::Instruction* parameter : original->entry()->parameters()) {
    arguments.push_back(Assemble(parameter->shape(), leaves, &next));
  }
  cpu::CompileOptions compile_options;
  if (!options.fused) compile_options.disabled_passes.push_back("fusion");
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<CompiledProgram> compiled,
                        CompiledProgram::Compile(std::move(module), compile_options));
  // Says where bf16 is not rounded.
  for (const char* pass : {"float-normalization", "sum-widening"}) {
    KILN_RETURN_IF_ERROR(passes::FindPass(pass)->run(original.get()).status());
  }
  KILN_ASSIGN_OR_RETURN(Literal expected, hlo::Evaluate(*original->entry(), arguments));
  const std::vector<const Literal*> expected_leaves = tools::Leaves(expected);
  for (int threads : {1, options.threads}) {
    KILN_ASSIGN_OR_RETURN(std::vector<Literal> results, compiled->Run(leaves, options.donate, threads, &random));
    for (size_t i = 0; i < results.size(); ++i) {
      if (!expected_leaves[i]->shape().IsArray()) continue;
      const std::string difference =
          Difference(results[i], *expected_leaves[i], i < tolerances.size() ? tolerances[i] : Tolerance{});
      if (!difference.empty()) {
        return Internal("result leaf ", i, ", ", expected_leaves[i]->shape().ToString(), ", on ", threads,
                        " threads, differs:\n", difference);
      }
    }
    if (options.threads <= 1) break;
  }
  return absl::OkStatus();
}

absl::Status Check(const Program& program, uint64_t seed, const CheckOptions& options) {
  auto module = hlo_text::ParseHloText(program.text, "random");
  if (!module.ok())
    return InvalidArgument("the generator wrote a program that does not read: ", module.status().message());
  return CheckModule(*std::move(module), program.data, program.tolerances, seed, options);
}

}  // namespace kiln::testing
