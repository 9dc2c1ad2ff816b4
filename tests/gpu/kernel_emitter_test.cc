// Kernels of whole modules: run on the host's emulator against the evaluator, on a device where there is one, and
// assembled by ptxas where the CUDA toolkit is present.
#include "src/gpu/kernel_emitter.h"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <string>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "llvm/IR/LLVMContext.h"
#include "src/base/status.h"
#include "src/hlo/evaluator.h"
#include "src/kernel/kernel_builder.h"
#include "src/passes/pipeline.h"
#include "src/tools/compare_literals.h"
#include "tests/gpu/block_emulator.h"
#include "tests/gpu/cuda_device.h"
#include "tests/hlo_test_util.h"

namespace kiln::gpu {
namespace {

using hlo::Instruction;
using hlo::Literal;
using hlo::Opcode;
using hlo::PrimitiveType;
using hlo::Shape;
using testing::HasSubstr;

// Small whole numbers, so that sums are exact in every order and type.
Literal SmallNumbers(const Shape& shape, uint64_t seed) {
  Literal numbers(Shape(PrimitiveType::kS32, shape.dimensions()));
  uint64_t state = seed * 2654435761u + 12345;
  for (int32_t& number : numbers.mutable_data<int32_t>()) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    number = static_cast<int32_t>(state >> 40) % 5 - 2;
  }
  const std::string dimensions = absl::StrJoin(shape.dimensions(), ",");
  const absl::string_view type = hlo::PrimitiveTypeName(shape.element_type());
  if (shape.element_type() == PrimitiveType::kS32) return numbers;
  std::string text = absl::StrCat("HloModule c\nENTRY e { x = s32[", dimensions, "] parameter(0)\n");
  if (hlo::IsComplex(shape.element_type())) {
    absl::StrAppend(&text, "f = f32[", dimensions, "] convert(x)\n n = f32[", dimensions, "] abs(f)\n ROOT r = ", type,
                    "[", dimensions, "] complex(f, n) }");
  } else {
    absl::StrAppend(&text, "ROOT r = ", type, "[", dimensions, "] convert(x) }");
  }
  std::unique_ptr<hlo::Module> convert = ParseOrDie(text);
  return *hlo::Evaluate(*convert->entry(), {numbers});
}

// Leaves of the values of an entry computation, as arrays of a GPU with something behind their end.
class Arrays {
 public:
  static constexpr size_t kGuard = 64;

  std::vector<std::byte>& New(const Instruction* instruction, int64_t leaf, size_t bytes) {
    auto storage = std::make_unique<Array>();
    storage->bytes.resize(bytes + kGuard + 64, std::byte{0x5a});
    storage->size = bytes;
    std::vector<std::byte>& result = storage->bytes;
    leaves_[{instruction, leaf}] = storage.get();
    all_.push_back(std::move(storage));
    return result;
  }
  void Alias(const Instruction* to, int64_t to_leaf, const Instruction* from, int64_t from_leaf) {
    leaves_[{to, to_leaf}] = leaves_.at({from, from_leaf});
  }
  std::byte* Data(const Instruction* instruction, int64_t leaf) { return leaves_.at({instruction, leaf})->data(); }
  // With what is behind its end.
  absl::Span<std::byte> Guarded(const Instruction* instruction, int64_t leaf) {
    return {Data(instruction, leaf), leaves_.at({instruction, leaf})->size + kGuard};
  }
  bool GuardsHold() const {
    for (const auto& array : all_) {
      for (size_t i = 0; i < kGuard; ++i) {
        if (array->data()[array->size + i] != std::byte{0x5a}) return false;
      }
    }
    return true;
  }

 private:
  struct Array {
    std::vector<std::byte> bytes;
    size_t size = 0;
    // Aligned as the memory of a GPU is.
    std::byte* data() {
      const auto address = reinterpret_cast<uintptr_t>(bytes.data());
      return bytes.data() + ((address + 15) / 16 * 16 - address);
    }
  };
  std::map<std::pair<const Instruction*, int64_t>, Array*> leaves_;
  std::vector<std::unique_ptr<Array>> all_;
};

void Fill(Arrays* arrays, const Instruction* instruction, const Literal& value) {
  std::vector<const Literal*> leaves = tools::Leaves(value);
  for (size_t i = 0; i < leaves.size(); ++i) {
    absl::Span<const std::byte> bytes = leaves[i]->bytes();
    arrays->New(instruction, static_cast<int64_t>(i), bytes.size());
    std::memcpy(arrays->Data(instruction, static_cast<int64_t>(i)), bytes.data(), bytes.size());
  }
}

using RunLaunch = std::function<absl::Status(const Launch&, const std::vector<absl::Span<std::byte>>&)>;

absl::StatusOr<std::vector<EmittedInstruction>> EmitAll(const hlo::Module& module, llvm::Module* output) {
  KILN_ASSIGN_OR_RETURN(std::vector<EmittedInstruction> emitted, KernelEmitter(output).EmitModule(module));
  for (const EmittedInstruction& one : emitted) {
    if (!one.left_out.empty()) return Internal(one.instruction->name(), " is left out: ", one.left_out);
  }
  return emitted;
}

// Launches what the entry computation became, in order.
absl::StatusOr<std::vector<Literal>> RunEntry(const hlo::Module& module, const std::vector<Literal>& arguments,
                                              const std::vector<EmittedInstruction>& emitted, const RunLaunch& run) {
  std::map<const Instruction*, const EmittedInstruction*> by_instruction;
  for (const EmittedInstruction& one : emitted) by_instruction[one.instruction] = &one;
  Arrays arrays;
  for (const Instruction* instruction : module.entry()->instructions()) {
    switch (instruction->opcode()) {
      case Opcode::kParameter:
        Fill(&arrays, instruction, arguments[instruction->parameter_number()]);
        continue;
      case Opcode::kConstant:
        Fill(&arrays, instruction, instruction->literal());
        continue;
      case Opcode::kReshape:
      case Opcode::kBitcast:
        arrays.Alias(instruction, 0, instruction->operand(0), 0);
        continue;
      case Opcode::kTuple: {
        int64_t leaf = 0;
        for (const Instruction* operand : instruction->operands()) {
          for (int64_t i = 0; i < operand->shape().leaf_count(); ++i) arrays.Alias(instruction, leaf++, operand, i);
        }
        continue;
      }
      case Opcode::kGetTupleElement: {
        int64_t leaf = 0;
        const Instruction* tuple = instruction->operand(0);
        for (int64_t i = 0; i < instruction->tuple_index(); ++i) leaf += tuple->shape().tuple_shapes()[i].leaf_count();
        for (int64_t i = 0; i < instruction->shape().leaf_count(); ++i) arrays.Alias(instruction, i, tuple, leaf + i);
        continue;
      }
      default:
        break;
    }
    std::vector<absl::Span<std::byte>> launched;
    for (const Instruction* operand : instruction->operands()) launched.push_back(arrays.Guarded(operand, 0));
    std::vector<const Shape*> leaves = instruction->shape().Leaves();
    for (size_t i = 0; i < leaves.size(); ++i) {
      const int64_t leaf = static_cast<int64_t>(i);
      arrays.New(instruction, leaf, leaves[i]->byte_count());
      const int64_t source = kernel::InPlaceOperand(*instruction, leaf);
      if (source >= 0) {
        std::memcpy(arrays.Data(instruction, leaf), arrays.Data(instruction->operand(source), 0),
                    leaves[i]->byte_count());
      }
      launched.push_back(arrays.Guarded(instruction, leaf));
    }
    for (const Launch& launch : by_instruction.at(instruction)->launches) {
      KILN_RETURN_IF_ERROR(run(launch, launched));
      if (!arrays.GuardsHold()) return Internal(launch.entry, " wrote outside of its arrays");
    }
  }
  std::vector<Literal> results;
  const Instruction* root = module.entry()->root();
  std::vector<const Shape*> leaves = root->shape().Leaves();
  for (size_t i = 0; i < leaves.size(); ++i) {
    absl::Span<const std::byte> bytes(arrays.Data(root, static_cast<int64_t>(i)), leaves[i]->byte_count());
    KILN_ASSIGN_OR_RETURN(Literal leaf, Literal::FromBytes(*leaves[i], bytes));
    results.push_back(std::move(leaf));
  }
  return results;
}

absl::StatusOr<std::vector<Literal>> RunEmulated(const hlo::Module& module, const std::vector<Literal>& arguments) {
  auto context = std::make_unique<llvm::LLVMContext>();
  auto output = std::make_unique<llvm::Module>("emulated", *context);
  KILN_ASSIGN_OR_RETURN(std::vector<EmittedInstruction> emitted, EmitAll(module, output.get()));
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<BlockEmulator> emulator,
                        BlockEmulator::Create(std::move(context), std::move(output)));
  return RunEntry(module, arguments, emitted, [&](const Launch& launch, const auto& arrays) {
    std::vector<void*> pointers;
    for (const absl::Span<std::byte> array : arrays) pointers.push_back(array.data());
    return emulator->Run(launch, std::move(pointers));
  });
}

absl::StatusOr<std::vector<Literal>> RunOnDevice(const hlo::Module& module, const std::vector<Literal>& arguments) {
  llvm::LLVMContext context;
  llvm::Module output("device", context);
  KILN_RETURN_IF_ERROR(SetNvptxTarget(output));
  KILN_ASSIGN_OR_RETURN(std::vector<EmittedInstruction> emitted, EmitAll(module, &output));
  KILN_ASSIGN_OR_RETURN(const std::string ptx, EmitPtx(output));
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<CudaDevice> device, CudaDevice::Create(ptx));
  return RunEntry(module, arguments, emitted,
                  [&](const Launch& launch, const auto& arrays) { return device->Run(launch, arrays); });
}

// The file, or "" where the toolkit is not installed.
std::string FindPtxas() {
  std::string path = "/usr/local/cuda/bin";
  if (const char* variable = std::getenv("PATH")) path = absl::StrCat(variable, ":", path);
  for (absl::string_view directory : absl::StrSplit(path, ':')) {
    std::string file = absl::StrCat(directory, "/ptxas");
    if (std::ifstream(file).good()) return file;
  }
  return "";
}

struct Case {
  std::string name;
  std::string text;  // TYPE stands for the element type
};

const Case kCases[] = {
    {"Elementwise", R"(HloModule elementwise
ENTRY e {
  x = TYPE[100,512] parameter(0)
  y = TYPE[100,512] parameter(1)
  z = TYPE[511,33] parameter(2)
  b = TYPE[512] parameter(3)
  c = TYPE[100,512] broadcast(b), dimensions={1}
  s = TYPE[100,512] OP(x, y)
  t = TYPE[100,512] OP(s, c)
  o = TYPE[511,33] OP(z, z)
  v = TYPE[100,512] reverse(y), dimensions={1}
  i = TYPE[50,256] slice(x), slice={[10:60], [1:257]}
  one = TYPE[] constant(ONE)
  p = TYPE[103,519] pad(x, one), padding=2_1x3_4
  ROOT r = (TYPE[100,512], TYPE[511,33], TYPE[100,512], TYPE[50,256], TYPE[103,519]) tuple(t, o, v, i, p)
})"},
    {"Transpose", R"(HloModule transpose
ENTRY e {
  x = TYPE[100,70] parameter(0)
  y = TYPE[3,40,65] parameter(1)
  b = TYPE[70] parameter(2)
  c = TYPE[100,70] broadcast(b), dimensions={1}
  s = TYPE[100,70] OP(x, c)
  t = TYPE[70,100] transpose(s), dimensions={1,0}
  u = TYPE[65,3,40] transpose(y), dimensions={2,0,1}
  v = TYPE[3,65,40] transpose(y), dimensions={0,2,1}
  ROOT r = (TYPE[70,100], TYPE[65,3,40], TYPE[3,65,40]) tuple(t, u, v)
})"},
    {"Reduction", R"(HloModule reduction
f { a = TYPE[] parameter(0)  b = TYPE[] parameter(1)  ROOT r = TYPE[] OP(a, b) }
ENTRY e {
  x = TYPE[67,128] parameter(0)
  y = TYPE[3,5000] parameter(1)
  z = TYPE[40,4200] parameter(2)
  w = TYPE[9,31,33] parameter(3)
  k = TYPE[200,40] parameter(4)
  one = TYPE[] constant(ONE)
  rows = TYPE[67] reduce(x, one), dimensions={1}, to_apply=f
  long = TYPE[3] reduce(y, one), dimensions={1}, to_apply=f
  wide = TYPE[4200] reduce(z, one), dimensions={0}, to_apply=f
  all = TYPE[] reduce(w, one), dimensions={0,1,2}, to_apply=f
  two = TYPE[9] reduce(w, one), dimensions={1,2}, to_apply=f
  middle = TYPE[9,33] reduce(w, one), dimensions={1}, to_apply=f
  columns = TYPE[40] reduce(k, one), dimensions={0}, to_apply=f
  again = TYPE[67,128] broadcast(rows), dimensions={0}
  less = TYPE[67,128] OP(x, again)
  window = TYPE[65,126] reduce-window(x, one), window={size=3x3}, to_apply=f
  ROOT r = (TYPE[67], TYPE[3], TYPE[4200], TYPE[], TYPE[9], TYPE[9,33], TYPE[40], TYPE[67,128], TYPE[65,126]) tuple(rows, long, wide, all, two, middle, columns, less, window)
})"},
    // Equal keys are told apart by the index; rows shorter than a warp's vectors leave threads without elements.
    {"Combiner", R"(HloModule combiner
f {
  a = TYPE[] parameter(0)  i = s64[] parameter(1)  b = TYPE[] parameter(2)  j = s64[] parameter(3)
  e = pred[] compare(a, b), direction=EQ
  l = pred[] compare(i, j), direction=LT
  m = pred[] and(e, l)
  v = TYPE[] OP(a, b)
  g = pred[] compare(v, b), direction=NE
  t = pred[] TIE
  k = s64[] select(t, i, j)
  ROOT r = (TYPE[], s64[]) tuple(v, k)
}
ENTRY e {
  x = TYPE[20,33] parameter(0)
  y = TYPE[4,3000] parameter(1)
  low = TYPE[] constant(ZERO)
  none = s64[] constant(-1)
  i = s64[20,33] iota(), iota_dimension=1
  j = s64[4,3000] iota(), iota_dimension=1
  short = (TYPE[20], s64[20]) reduce(x, i, low, none), dimensions={1}, to_apply=f
  long = (TYPE[4], s64[4]) reduce(y, j, low, none), dimensions={1}, to_apply=f
  running = (TYPE[20,33], s64[20,33]) reduce-window(x, i, low, none), window={size=1x33 pad=0_0x32_0}, to_apply=f
  ROOT r = ((TYPE[20], s64[20]), (TYPE[4], s64[4]), (TYPE[20,33], s64[20,33])) tuple(short, long, running)
})"},
    // Fusions that reduce and go on with the result: the threads of a group divide what is behind, too.
    {"Stages", R"(HloModule stages
f { a = TYPE[] parameter(0)  b = TYPE[] parameter(1)  ROOT r = TYPE[] OP(a, b) }
rows {
  x = TYPE[67,256] parameter(0)
  one = TYPE[] constant(ONE)
  s = TYPE[67] reduce(x, one), dimensions={1}, to_apply=f
  b = TYPE[67,256] broadcast(s), dimensions={0}
  ROOT r = TYPE[67,256] OP(x, b)
}
columns {
  x = TYPE[96,64] parameter(0)
  one = TYPE[] constant(ONE)
  s = TYPE[64] reduce(x, one), dimensions={0}, to_apply=f
  b = TYPE[96,64] broadcast(s), dimensions={1}
  ROOT r = TYPE[96,64] OP(x, b)
}
odd {
  x = TYPE[96,70] parameter(0)
  one = TYPE[] constant(ONE)
  s = TYPE[70] reduce(x, one), dimensions={0}, to_apply=f
  b = TYPE[96,70] broadcast(s), dimensions={1}
  ROOT r = TYPE[96,70] OP(x, b)
}
all {
  x = TYPE[43,100] parameter(0)
  one = TYPE[] constant(ONE)
  s = TYPE[] reduce(x, one), dimensions={0,1}, to_apply=f
  b = TYPE[43,100] broadcast(s), dimensions={}
  ROOT r = TYPE[43,100] OP(x, b)
}
ENTRY e {
  x = TYPE[67,256] parameter(0)
  y = TYPE[96,64] parameter(1)
  z = TYPE[96,70] parameter(2)
  w = TYPE[43,100] parameter(3)
  a = TYPE[67,256] fusion(x), kind=kLoop, calls=rows
  b = TYPE[96,64] fusion(y), kind=kLoop, calls=columns
  c = TYPE[96,70] fusion(z), kind=kLoop, calls=odd
  d = TYPE[43,100] fusion(w), kind=kLoop, calls=all
  ROOT r = (TYPE[67,256], TYPE[96,64], TYPE[96,70], TYPE[43,100]) tuple(a, b, c, d)
})"},
    {"Indexed", R"(HloModule indexed
f { a = TYPE[] parameter(0)  b = TYPE[] parameter(1)  ROOT r = TYPE[] OP(a, b) }
ENTRY e {
  x = TYPE[64,96] parameter(0)
  at = s32[24,1] parameter(1)
  from = s32[] parameter(2)
  g = TYPE[24,96] gather(x, at), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,96}
  s = TYPE[64,96] scatter(x, at, g), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f
  u = TYPE[64,96] dynamic-update-slice(x, g, from, from)
  d = TYPE[10,90] dynamic-slice(x, from, from), dynamic_slice_sizes={10,90}
  c = TYPE[88,96] concatenate(x, g), dimensions={0}
  ROOT r = (TYPE[24,96], TYPE[64,96], TYPE[64,96], TYPE[10,90], TYPE[88,96]) tuple(g, s, u, d, c)
})"},
    {"Functions", R"(HloModule functions
ENTRY e {
  i = s32[1500] iota(), iota_dimension=0
  n = TYPE[1500] convert(i)
  m = TYPE[] constant(750)
  a = TYPE[] constant(0.0078125)
  c = TYPE[] constant(0.01)
  d = TYPE[] constant(0.16)
  mb = TYPE[1500] broadcast(m), dimensions={}
  ab = TYPE[1500] broadcast(a), dimensions={}
  cb = TYPE[1500] broadcast(c), dimensions={}
  db = TYPE[1500] broadcast(d), dimensions={}
  l = TYPE[1500] subtract(n, mb)
  x = TYPE[1500] multiply(l, ab)
  s = TYPE[1500] abs(x)
  p = TYPE[1500] add(s, cb)
  u = TYPE[1500] multiply(x, db)
  f0 = TYPE[1500] exponential(x)
  f1 = TYPE[1500] exponential-minus-one(x)
  f2 = TYPE[1500] exp2(x)
  f3 = TYPE[1500] sine(x)
  f4 = TYPE[1500] cosine(x)
  f5 = TYPE[1500] tan(x)
  f6 = TYPE[1500] tanh(x)
  f7 = TYPE[1500] sinh(x)
  f8 = TYPE[1500] cosh(x)
  f9 = TYPE[1500] logistic(x)
  f10 = TYPE[1500] erf(x)
  f11 = TYPE[1500] erfc(x)
  f12 = TYPE[1500] cbrt(x)
  f13 = TYPE[1500] round-nearest-even(x)
  f14 = TYPE[1500] sign(x)
  f15 = TYPE[1500] asinh(x)
  f16 = TYPE[1500] log(p)
  f17 = TYPE[1500] log2(p)
  f18 = TYPE[1500] log-plus-one(p)
  f19 = TYPE[1500] sqrt(p)
  f20 = TYPE[1500] rsqrt(p)
  f21 = TYPE[1500] asin(u)
  f22 = TYPE[1500] acos(u)
  f23 = TYPE[1500] atanh(u)
  f24 = TYPE[1500] power(p, x)
  f25 = TYPE[1500] atan2(x, u)
  f26 = TYPE[1500] remainder(x, u)
  f27 = TYPE[1500] divide(x, p)
  ROOT r = (TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500], TYPE[1500]) tuple(f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27)
})"},
};

// Behind the cases of all types, and of floats alone.
constexpr int kFunctionsCase = static_cast<int>(std::size(kCases)) - 1;

class KernelEmitterTest : public testing::TestWithParam<std::tuple<int, PrimitiveType>> {
 protected:
  static const Case& TheCase() { return kCases[std::get<0>(GetParam())]; }

  // Functions may be off by some units of the last place, all else is exact.
  static double Tolerance() {
    constexpr double kUnits = 8;
    if (std::get<0>(GetParam()) != kFunctionsCase) return 0;
    const PrimitiveType type = std::get<1>(GetParam());
    const int mantissa_bits = type == PrimitiveType::kF64   ? 52
                              : type == PrimitiveType::kF32 ? 23
                              : type == PrimitiveType::kF16 ? 10
                                                            : 7;
    return kUnits * std::ldexp(1.0, -mantissa_bits);
  }

  static std::string Text() {
    const PrimitiveType type = std::get<1>(GetParam());
    const std::string& name = TheCase().name;
    // Sums that stay exact; complex numbers have no order.
    absl::string_view op = "add";
    if (type == PrimitiveType::kPred) op = "xor";
    if (name == "Combiner" && !hlo::IsComplex(type)) op = type == PrimitiveType::kPred ? "or" : "maximum";
    if ((name == "Reduction" || name == "Stages") && hlo::BitWidth(type) == 16) op = "maximum";
    const bool complex = hlo::IsComplex(type);
    const bool logical = type == PrimitiveType::kPred;
    return absl::StrReplaceAll(TheCase().text, {{"TYPE", hlo::PrimitiveTypeName(type)},
                                                {" OP(", absl::StrCat(" ", op, "(")},
                                                {"ONE", complex   ? "(1, 0)"
                                                        : logical ? "true"
                                                                  : "1"},
                                                {"TIE", complex ? "compare(i, j), direction=GT" : "or(g, m)"},
                                                {"ZERO", complex   ? "(0, 0)"
                                                         : logical ? "false"
                                                                   : "0"}});
  }

  // What `run` makes of the optimized case against the evaluator.
  template <typename Run>
  static void Compare(const Run& run) {
    std::unique_ptr<hlo::Module> reference = ParseOrDie(Text());
    std::vector<Literal> arguments;
    for (const Instruction* parameter : reference->entry()->parameters()) {
      arguments.push_back(SmallNumbers(parameter->shape(), arguments.size() + 1));
    }
    std::unique_ptr<hlo::Module> module = ParseOrDie(Text());
    absl::Status optimized = passes::RunPipeline(module.get(), passes::GpuPipeline());
    ASSERT_TRUE(optimized.ok()) << optimized;
    absl::StatusOr<std::vector<Literal>> results = run(*module, arguments);
    ASSERT_TRUE(results.ok()) << results.status();
    absl::StatusOr<Literal> expected = hlo::Evaluate(*reference->entry(), arguments);
    ASSERT_TRUE(expected.ok()) << expected.status();
    std::vector<const Literal*> leaves = tools::Leaves(*expected);
    ASSERT_EQ(results->size(), leaves.size());
    for (size_t i = 0; i < leaves.size(); ++i) {
      EXPECT_LE(tools::LargestError((*results)[i], *leaves[i]), Tolerance()) << "result " << i;
    }
  }
};

TEST_P(KernelEmitterTest, ComputesWhatTheEvaluatorDoes) { Compare(RunEmulated); }

TEST_P(KernelEmitterTest, ComputesItOnADevice) {
  const absl::Status present = CudaDevice::IsPresent();
  if (!present.ok()) GTEST_SKIP() << present;
  Compare(RunOnDevice);
}

TEST_P(KernelEmitterTest, IsAssembled) {
  std::unique_ptr<hlo::Module> module = ParseOrDie(Text());
  absl::Status optimized = passes::RunPipeline(module.get(), passes::GpuPipeline());
  ASSERT_TRUE(optimized.ok()) << optimized;
  absl::StatusOr<std::string> ptx = CompileToPtx(*module);
  ASSERT_TRUE(ptx.ok()) << ptx.status();
  EXPECT_THAT(*ptx, HasSubstr(".visible .entry k_"));
  const std::string ptxas = FindPtxas();
  if (ptxas.empty()) GTEST_SKIP() << "ptxas is not on the PATH: the PTX was not assembled";
  const std::string path = absl::StrCat(testing::TempDir(), "kiln_kernels_", getpid(), ".ptx");
  std::ofstream(path) << *ptx;
  const std::string command = absl::StrCat(ptxas, " -O1 -arch=sm_90 ", path, " -o /dev/null");
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::remove(path.c_str());
}

std::string NameOf(const testing::TestParamInfo<std::tuple<int, PrimitiveType>>& info) {
  return absl::StrCat(kCases[std::get<0>(info.param)].name, "_", hlo::PrimitiveTypeName(std::get<1>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(Cases, KernelEmitterTest,
                         testing::Combine(testing::Range(0, kFunctionsCase),
                                          testing::Values(PrimitiveType::kPred, PrimitiveType::kS32,
                                                          PrimitiveType::kS64, PrimitiveType::kF16,
                                                          PrimitiveType::kBF16, PrimitiveType::kF32,
                                                          PrimitiveType::kF64, PrimitiveType::kC64)),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(Functions, KernelEmitterTest,
                         testing::Combine(testing::Values(kFunctionsCase),
                                          testing::Values(PrimitiveType::kF16, PrimitiveType::kBF16,
                                                          PrimitiveType::kF32, PrimitiveType::kF64)),
                         NameOf);

}  // namespace
}  // namespace kiln::gpu
