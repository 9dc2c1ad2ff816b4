// Custom calls below JAX: attributes, registry, contexts, and programs that misuse them.
#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/status.h"
#include "src/frontend/load.h"
#include "src/runtime/client.h"
#include "src/runtime/ffi/api.h"
#include "src/runtime/ffi/attributes.h"
#include "src/runtime/ffi/blas_threads.h"
#include "src/runtime/ffi/registry.h"
#include "src/runtime/loaded_executable.h"

namespace kiln::runtime::ffi {
namespace {

using ::testing::HasSubstr;

std::string Text(const XLA_FFI_Attrs& attributes);

template <typename T>
std::string Numbers(const void* data, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) absl::StrAppend(&text, i == 0 ? "" : ",", static_cast<const T*>(data)[i]);
  return text;
}

std::string Elements(XLA_FFI_DataType type, const void* data, size_t size) {
  switch (type) {
    case XLA_FFI_DataType_PRED:
    case XLA_FFI_DataType_U8:
    case XLA_FFI_DataType_F8E4M3FN:
      return Numbers<uint8_t>(data, size);
    case XLA_FFI_DataType_S8:
      return Numbers<int8_t>(data, size);
    case XLA_FFI_DataType_S16:
      return Numbers<int16_t>(data, size);
    case XLA_FFI_DataType_S32:
      return Numbers<int32_t>(data, size);
    case XLA_FFI_DataType_S64:
      return Numbers<int64_t>(data, size);
    case XLA_FFI_DataType_U64:
      return Numbers<uint64_t>(data, size);
    case XLA_FFI_DataType_BF16:
    case XLA_FFI_DataType_F16:
      return Numbers<uint16_t>(data, size);
    case XLA_FFI_DataType_F32:
      return Numbers<float>(data, size);
    case XLA_FFI_DataType_F64:
      return Numbers<double>(data, size);
    case XLA_FFI_DataType_C64:
      return Numbers<float>(data, 2 * size);
    default:
      return "?";
  }
}

std::string Text(const XLA_FFI_Attrs& attributes) {
  std::string text;
  for (int64_t i = 0; i < attributes.size; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : " ", absl::string_view(attributes.names[i]->ptr, attributes.names[i]->len),
                    "=");
    const void* value = attributes.attrs[i];
    if (attributes.types[i] == XLA_FFI_AttrType_DICTIONARY) {
      absl::StrAppend(&text, "{", Text(*static_cast<const XLA_FFI_Attrs*>(value)), "}");
    } else if (attributes.types[i] == XLA_FFI_AttrType_STRING) {
      const auto* span = static_cast<const XLA_FFI_ByteSpan*>(value);
      absl::StrAppend(&text, "'", absl::string_view(span->ptr, span->len), "'");
    } else if (attributes.types[i] == XLA_FFI_AttrType_SCALAR) {
      const auto* scalar = static_cast<const XLA_FFI_Scalar*>(value);
      absl::StrAppend(&text, scalar->dtype, ":", Elements(scalar->dtype, scalar->value, 1));
    } else {
      const auto* array = static_cast<const XLA_FFI_Array*>(value);
      absl::StrAppend(&text, array->dtype, "[", Elements(array->dtype, array->data, array->size), "]");
    }
  }
  return text;
}

TEST(Attributes, EveryKind) {
  const std::pair<std::string, std::string> kCases[] = {
      {"", ""},
      {"{}", ""},
      {"{b = 1 : i32, a = -2 : i8}", "a=2:-2 b=4:1"},
      {"{a = 7}", "a=5:7"},
      {"{a = 18446744073709551615 : ui64, b = -9223372036854775808 : i64}",
       "a=9:18446744073709551615 b=5:-9223372036854775808"},
      {"{a = 1.5 : f32, b = 1e-1, c = 1.000000e+00 : bf16, d = 0x7FC00000 : f32}",
       "a=11:1.5 b=12:0.1 c=16:16256 d=11:nan"},
      {"{a = true, b = false}", "a=1:1 b=1:0"},
      {R"({a = "x\"\\\0A", "b c" = ""})", "a='x\"\\\n' b c=''"},
      {"{a = array<i64: 1, 2>, b = array<f32>, c = array<i1: true, false>, d = array<i32: -1>}",
       "a=5[1,2] b=11[] c=1[1,0] d=4[-1]"},
      {"{a = dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>, b = dense<5> : tensor<3xi16>, c = dense<> : tensor<0xf32>}",
       "a=4[1,2,3,4] b=3[5,5,5] c=11[]"},
      {"{a = dense<\"0x0000803F00000040\"> : tensor<2xf32>, b = dense<(1.0,-2.0)> : tensor<complex<f32>>}",
       "a=11[1,2] b=15[1,-2]"},
      {"{d = {y = {z = 1}, x = \"in\"}, e = @name}", "d={x='in' y={z=5:1}} e='name'"},
      {"{a = 1.0 : f8E4M3FN, b = 1.0 : f16}", "a=20:56 b=10:15360"},
  };
  for (const auto& [text, expected] : kCases) {
    auto parsed = Attributes::Parse(text);
    ASSERT_TRUE(parsed.ok()) << text << ": " << parsed.status();
    EXPECT_EQ(Text((*parsed)->view()), expected) << text;
  }
}

TEST(Attributes, RefusesWhatIsNoDictionary) {
  std::string deep, brackets = "{a = dense<" + std::string(100000, '[');
  for (int i = 0; i < 100000; ++i) deep += "{a = ";
  const std::pair<std::string, std::string> kCases[] = {
      {"x", "expected a type"},
      {"1", "no dictionary"},
      {"{", "the name of an attribute"},
      {"{a}", "attribute 'a': expected a number"},
      {"{a = }", "expected an attribute"},
      {"{a = 1,, b = 2}", "name of an attribute"},
      {"{a = 1} b", "expected the end"},
      {"{a = 1, a = 2}", "'a' stands twice"},
      {"{a = 300 : i8}", "300 does not fit 8 bits"},
      {"{a = -1 : ui8}", "-1 does not fit 8 bits"},
      {"{a = 1.5 : i32}", "an integer of up to 64 bits"},
      {"{a = 99999999999999999999}", "99999999999999999999"},
      {"{a = 1 : i7}", "integers of 7 bits"},
      {"{a = nan : f32}", "expected a type"},
      {"{a = \"open", "unterminated string"},
      {"{a = \"\\q\"}", "escape"},
      {"{a = unit}", "expected a number"},
      {"{a = [1, 2]}", "expected a number"},
      {"{a = array<i64: 1", "'>'"},
      {"{a = array<string: 1>}", "expected a type"},
      {"{a = dense<[1, 2]> : tensor<3xi32>}", "expected 3 elements along dimension 0, found 2"},
      {"{a = dense<1> : tensor<999999999999x999999999999xi8>}", "too many elements"},
      {"{a = dense<1> : tensor<4000000000xi64>}", "too large"},
      {"{a = dense<1> : tensor<2000000000xi64>}", "too large"},
      {"{a = dense<\"0x123\"> : tensor<2xi8>}", "hexadecimal"},
      {"{a = dense<\"0x12", "no bracket closes this one"},
      {"{a = dense<", "no bracket closes this one"},
      {brackets + "> : tensor<1xi8>}", "no bracket closes this one"},
      {deep, "nest too deep"},
  };
  for (const auto& [text, expected] : kCases) {
    const absl::Status status = Attributes::Parse(text).status();
    EXPECT_THAT(std::string(status.message()), HasSubstr(expected)) << text.substr(0, 80);
  }
  // No cut of a valid text is accepted or does harm.
  const std::string whole = R"({a = dense<"0x00">: tensor<1xi8>, b = array<f32: 1.0>, c = {d = "e\0A"}, f = 1 : i8})";
  ASSERT_TRUE(Attributes::Parse(whole).ok());
  for (size_t size = 1; size < whole.size(); ++size)
    EXPECT_FALSE(Attributes::Parse(whole.substr(0, size)).ok()) << size;
}

XLA_FFI_Error* Nothing(XLA_FFI_CallFrame*) { return nullptr; }
XLA_FFI_Error* Other(XLA_FFI_CallFrame*) { return nullptr; }

template <int major, int minor>
XLA_FFI_Error* OfVersion(XLA_FFI_CallFrame* frame) {
  if (frame->extension_start == nullptr) return nullptr;
  XLA_FFI_Metadata* metadata = reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start)->metadata;
  metadata->api_version.major_version = major;
  metadata->api_version.minor_version = minor;
  metadata->traits = XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE;
  return nullptr;
}

TEST(Registry, Handlers) {
  EXPECT_FALSE(FindHandler("registry.a", "Host").has_value());
  ASSERT_TRUE(RegisterHandler("registry.a", "Host", {.execute = OfVersion<0, 3>}, 0).ok());
  EXPECT_TRUE(RegisterHandler("registry.a", "CPU", {.execute = OfVersion<0, 3>}, 0).ok());
  EXPECT_EQ(FindHandler("registry.a", "kiln")->traits, 1u);
  EXPECT_FALSE(FindHandler("registry.a", "CUDA").has_value());
  EXPECT_TRUE(RegisterHandler("registry.a", "CUDA", {.execute = Nothing}, 0).ok());
  EXPECT_EQ(RegisterHandler("registry.a", "host", {.execute = Nothing}, 0).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_FALSE(RegisterHandler("registry.b", "host", {.instantiate = Nothing}, 0).ok());
  EXPECT_FALSE(RegisterHandler("", "host", {.execute = Nothing}, 0).ok());
  EXPECT_TRUE(RegisterHandler("registry.c", "host", {.execute = OfVersion<0, 5>}, 0).ok());
  for (XLA_FFI_Handler* wrong : {OfVersion<1, 0>, OfVersion<0, 6>, OfVersion<0, -1>}) {
    EXPECT_THAT(std::string(RegisterHandler("registry.d", "host", {.prepare = wrong, .execute = Nothing}, 0).message()),
                HasSubstr("is built for XLA FFI version"));
  }
  EXPECT_FALSE(FindHandler("registry.d", "host").has_value());
  ASSERT_TRUE(RegisterUntyped("registry.a", "host", reinterpret_cast<void*>(&Nothing)).ok());
  EXPECT_FALSE(RegisterUntyped("registry.a", "host", reinterpret_cast<void*>(&Other)).ok());
  EXPECT_FALSE(RegisterUntyped("registry.e", "host", nullptr).ok());
}

TEST(Registry, Types) {
  int64_t a = 0, b = 0, again = 0, given = 77, wrong = 78;
  ASSERT_TRUE(RegisterType("types.a", &a, nullptr).ok());
  ASSERT_TRUE(RegisterType("types.b", &b, nullptr).ok());
  EXPECT_NE(a, 0);
  EXPECT_NE(a, b);
  ASSERT_TRUE(RegisterType("types.a", &again, nullptr).ok());
  EXPECT_EQ(a, again);
  // An id that another registry gave out.
  ASSERT_TRUE(RegisterType("types.c", &given, nullptr).ok());
  EXPECT_EQ(given, 77);
  EXPECT_FALSE(RegisterType("types.c", &wrong, nullptr).ok());
  EXPECT_FALSE(RegisterType("types.d", &given, nullptr).ok());
  EXPECT_FALSE(RegisterType("types.e", nullptr, nullptr).ok());
  EXPECT_TRUE(FindDeleter(77).ok());
  EXPECT_FALSE(FindDeleter(79).ok());
}

TEST(Execution, StatesUserDataAndScratch) {
  static int deleted;
  deleted = 0;
  int64_t type = 0, other = 0;
  ASSERT_TRUE(RegisterType("execution.type", &type, [](void* p) { deleted += *static_cast<int*>(p); }).ok());
  ASSERT_TRUE(RegisterType("execution.other", &other, nullptr).ok());
  int one = 1, ten = 10;
  {
    auto data = std::make_shared<UserData>();
    ASSERT_TRUE(data->Add(type, &one).ok());
    EXPECT_FALSE(data->Add(type, &ten).ok());
    EXPECT_FALSE(data->Add(12345, &ten).ok());
    EXPECT_EQ(*data->Find(type), &one);
    EXPECT_FALSE(data->Find(other).ok());
    auto client = *Client::Create({});
    Execution execution({.allocator = client->allocator(), .user_data = data}, 2);
    EXPECT_FALSE(execution.states(0)[1].Get(type).ok());
    ASSERT_TRUE(execution.states(0)[1].Set(type, &ten).ok());
    EXPECT_FALSE(execution.states(0)[1].Set(type, &one).ok());
    EXPECT_EQ(*execution.states(0)[1].Get(type), &ten);
    EXPECT_FALSE(execution.states(0)[1].Get(other).ok());
    EXPECT_FALSE(execution.states(1)[1].Get(type).ok());
    absl::StatusOr<void*> memory = execution.Allocate(100, 4096);
    ASSERT_TRUE(memory.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(*memory) % 4096, 0u);
    EXPECT_TRUE(execution.Free(*memory).ok());
    EXPECT_FALSE(execution.Free(*memory).ok());
    EXPECT_FALSE(execution.Allocate(100, 3).ok());
    EXPECT_FALSE(execution.Allocate(~size_t{0}, 4096).ok());
    ASSERT_TRUE(execution.Allocate(100, 1).ok());  // freed with the execution
  }
  EXPECT_EQ(deleted, 11);
}

// y = x + the user data's number, through the API table.
int64_t user_type;
XLA_FFI_Error* AddUserData(XLA_FFI_CallFrame* frame) {
  if (frame->extension_start != nullptr) return nullptr;
  XLA_FFI_TypeId id = {user_type};
  XLA_FFI_ExecutionContext_Get_Args get = {XLA_FFI_ExecutionContext_Get_Args_STRUCT_SIZE, nullptr, frame->ctx, &id,
                                           nullptr};
  if (XLA_FFI_Error* error = frame->api->XLA_FFI_ExecutionContext_Get(&get)) return error;
  const auto* x = static_cast<const XLA_FFI_Buffer*>(frame->args.args[0]);
  const auto* y = static_cast<const XLA_FFI_Buffer*>(frame->rets.rets[0]);
  for (int64_t i = 0; i < x->dims[0]; ++i) {
    static_cast<float*>(y->data)[i] = static_cast<const float*>(x->data)[i] + *static_cast<float*>(get.data);
  }
  return nullptr;
}

class ProgramTest : public ::testing::Test {
 protected:
  ProgramTest() : client_(*Client::Create(ClientOptions{.max_threads = 2})) {}

  absl::StatusOr<RefPtr<LoadedExecutable>> Compile(absl::string_view text) {
    KILN_ASSIGN_OR_RETURN(std::unique_ptr<hlo::Module> module, frontend::Load(text, "hlo"));
    return LoadedExecutable::Compile(client_.get(), std::move(module), {});
  }
  // Of a program f32[4] -> f32[4].
  absl::StatusOr<std::vector<float>> Run(absl::string_view text, std::shared_ptr<const UserData> data = nullptr) {
    KILN_ASSIGN_OR_RETURN(RefPtr<LoadedExecutable> executable, Compile(text));
    const std::vector<float> values = {1, 2, 3, 4};
    KILN_ASSIGN_OR_RETURN(RefPtr<const BufferType> type, BufferType::Create(hlo::PrimitiveType::kF32, {4}));
    KILN_ASSIGN_OR_RETURN(RefPtr<Buffer> input, client_->BufferFromHost(values.data(), type, nullptr,
                                                                        HostBufferSemantics::kImmutableOnlyDuringCall,
                                                                        client_->device(0)->default_memory(), nullptr));
    Buffer* argument = input.get();
    Buffer* output = nullptr;
    KILN_RETURN_IF_ERROR(executable->Execute({&argument, 1}, {.user_data = data}, &output, nullptr));
    RefPtr<Buffer> owner = RefPtr<Buffer>::Adopt(output);
    std::vector<float> result(4);
    KILN_ASSIGN_OR_RETURN(RefPtr<Event> done, client_->CopyToHost(output, result.data(), nullptr));
    KILN_RETURN_IF_ERROR(done->Await());
    return result;
  }

  std::unique_ptr<Client> client_;
};

constexpr char kUserDataProgram[] = R"(HloModule m
ENTRY e {
  p = f32[4] parameter(0)
  ROOT c = f32[4] custom-call(p), custom_call_target="ffi_test.user_data", api_version=API_VERSION_TYPED_FFI
})";

TEST_F(ProgramTest, UserData) {
  ASSERT_TRUE(RegisterType("ffi_test.number", &user_type, nullptr).ok());
  ASSERT_TRUE(RegisterHandler("ffi_test.user_data", "host", {.execute = AddUserData}, 0).ok());
  float number = 10;
  auto data = std::make_shared<UserData>();
  ASSERT_TRUE(data->Add(user_type, &number).ok());
  EXPECT_THAT(*Run(kUserDataProgram, data), ::testing::ElementsAre(11, 12, 13, 14));
  EXPECT_THAT(std::string(Run(kUserDataProgram).status().message()),
              HasSubstr("custom-call c: custom call 'ffi_test.user_data': the execution has no user data"));
}

// The second argument, in whose memory the result must be, plus the first.
XLA_FFI_Error* AddInPlace(XLA_FFI_CallFrame* frame) {
  if (frame->extension_start != nullptr) return nullptr;
  const auto* x = static_cast<const XLA_FFI_Buffer*>(frame->args.args[0]);
  const auto* y = static_cast<const XLA_FFI_Buffer*>(frame->args.args[1]);
  const auto* result = static_cast<const XLA_FFI_Buffer*>(frame->rets.rets[0]);
  for (int64_t i = 0; i < x->dims[0]; ++i) {
    static_cast<float*>(result->data)[i] =
        result->data == y->data ? static_cast<float*>(y->data)[i] + static_cast<const float*>(x->data)[i] : -1;
  }
  return nullptr;
}

TEST_F(ProgramTest, SharesTheMemoryOfATuplesElement) {
  ASSERT_TRUE(RegisterHandler("ffi_test.add_in_place", "host", {.execute = AddInPlace}, 0).ok());
  EXPECT_THAT(*Run(R"(HloModule m
ENTRY e {
  p = f32[4] parameter(0)
  ten = f32[] constant(10)
  tens = f32[4] broadcast(ten), dimensions={}
  q = f32[4] multiply(p, tens)
  t = (f32[4], f32[4]) tuple(p, q)
  ROOT c = f32[4] custom-call(t), custom_call_target="ffi_test.add_in_place", api_version=API_VERSION_TYPED_FFI, output_to_operand_aliasing={{}: (0, {1})}
})"),
              ::testing::ElementsAre(11, 22, 33, 44));
}

int blas_threads = 2;
XLA_FFI_Error* WriteBlasThreads(XLA_FFI_CallFrame* frame) {
  if (frame->extension_start != nullptr) return nullptr;
  const auto* result = static_cast<const XLA_FFI_Buffer*>(frame->rets.rets[0]);
  for (int64_t i = 0; i < 4; ++i) static_cast<float*>(result->data)[i] = static_cast<float>(blas_threads);
  return nullptr;
}

TEST_F(ProgramTest, SmallLapackCallsTakeOneThread) {
  SetBlasControlForTest({[] { return blas_threads; }, [](int threads) { blas_threads = threads; }});
  for (const std::string name : {"lapack_test", "ffi_test.blas"}) {
    ASSERT_TRUE(RegisterHandler(name, "host", {.execute = WriteBlasThreads}, 0).ok());
    for (const int64_t size : {16, 600}) {
      const bool is_limited = size == 16 && name == "lapack_test";
      const std::string made = absl::StrCat("f32[3,", size, ",", size, "] broadcast(x), dimensions={}");
      const std::string call = absl::StrCat("custom_call_target=\"", name, "\", api_version=API_VERSION_TYPED_FFI");
      EXPECT_THAT(
          *Run(absl::StrCat("HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n  x = f32[] constant(1)\n  a = ", made,
                            "\n  ROOT c = f32[4] custom-call(p, a), ", call, "\n}")),
          ::testing::Each(is_limited ? 1 : 2))
          << name << size;
      EXPECT_EQ(blas_threads, 2);
    }
  }
  {
    const OneBlasThread outer(true), none(false), inner(true);
    EXPECT_EQ(blas_threads, 1);
  }
  EXPECT_EQ(blas_threads, 2);
  SetBlasControlForTest({});
}

TEST_F(ProgramTest, RefusesWithTheNameOfTheOp) {
  ASSERT_TRUE(RegisterHandler("ffi_test.nothing", "host", {.execute = Nothing}, 0).ok());
  const auto program = [](absl::string_view call) {
    return absl::StrCat(
        "HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n  t = (f32[4]) tuple(p)\n  pair = (f32[4], f32[4]) "
        "tuple(p, p)\n  ROOT c = f32[4] custom-call(",
        call, "\n}");
  };
  const std::pair<std::string, std::string> kCases[] = {
      {R"(p), custom_call_target="ffi_test.unknown", api_version=API_VERSION_TYPED_FFI, )"
       R"(metadata={source_file="a.py" source_line=3})",
       "custom-call c (a.py:3): no handler is known for the custom call target 'ffi_test.unknown'"},
      {R"(p), custom_call_target="ffi_test.nothing")", "registered for typed calls alone"},
      {R"(p), custom_call_target="ffi_test.nothing", api_version=API_VERSION_TYPED_FFI, backend_config="{a = }")",
       "custom-call c: attributes:1:6: expected an attribute, found '}'"},
      {R"(pair), custom_call_target="ffi_test.nothing", api_version=API_VERSION_TYPED_FFI, )"
       R"(output_to_operand_aliasing={{}: (0, {})})",
       "an alias of tuples"},
      {R"(p), custom_call_target="ffi_test.nothing", api_version=API_VERSION_TYPED_FFI, )"
       R"(output_to_operand_aliasing={{}: (3, {})})",
       "alias names operand 3 of 1"},
  };
  for (const auto& [call, expected] : kCases) {
    EXPECT_THAT(std::string(Compile(program(call)).status().message()), HasSubstr(expected)) << call;
  }
  EXPECT_TRUE(Compile(program(R"(t), custom_call_target="ffi_test.nothing", api_version=API_VERSION_TYPED_FFI)")).ok());
}

}  // namespace
}  // namespace kiln::runtime::ffi
