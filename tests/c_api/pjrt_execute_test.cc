// Programs through the C API: compile, run, donate, serialize.
#include <atomic>
#include <thread>

#include "c_api/pjrt/extensions/ffi.h"
#include "src/runtime/ffi/ffi_abi.h"
#include "tests/c_api/pjrt.h"

namespace kiln::test {
namespace {

constexpr char kScaleAndAdd[] = R"(
HloModule scale_and_add, input_output_alias={ {0}: (0, {}, may-alias) }

ENTRY main {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  two = f32[] constant(2)
  twos = f32[4] broadcast(two), dimensions={}
  scaled = f32[4] multiply(x, twos)
  sum = f32[4] add(scaled, y)
  difference = f32[4] subtract(x, y)
  ROOT result = (f32[4], f32[4]) tuple(sum, difference)
}
)";

class PjrtExecuteTest : public ::testing::Test {
 protected:
  PjrtExecuteTest() : client_(CreateClient()) {}
  ~PjrtExecuteTest() override { DestroyClient(client_); }

  PJRT_LoadedExecutable* Compile(const std::string& code) { return test::Compile(client_, code); }
  static uintptr_t Address(PJRT_Buffer* buffer) {
    KILN_ARGS(PJRT_Buffer_UnsafePointer, args);
    args.buffer = buffer;
    KILN_EXPECT_OK(Api()->PJRT_Buffer_UnsafePointer(&args));
    return args.buffer_pointer;
  }
  PJRT_Client* client_;
};

TEST_F(PjrtExecuteTest, RunsAndDonates) {
  PJRT_LoadedExecutable* executable = Compile(kScaleAndAdd);
  PJRT_Buffer* x = FromHost(client_, {1, 2, 3, 4}, {4});
  PJRT_Buffer* y = FromHost(client_, {10, 20, 30, 40}, {4});
  const uintptr_t address = Address(x);
  Call call = Execute(executable, {x, y}, 2);
  ASSERT_TRUE(call.failure.ok()) << call.failure.message;
  EXPECT_TRUE(AwaitAndDestroy(call.done).ok());
  EXPECT_EQ(ToHost(call.outputs[0]), (std::vector<float>{12, 24, 36, 48}));
  EXPECT_EQ(ToHost(call.outputs[1]), (std::vector<float>{-9, -18, -27, -36}));
  EXPECT_TRUE(IsDeleted(x));
  EXPECT_FALSE(IsDeleted(y));
  EXPECT_EQ(Address(call.outputs[0]), address);
  EXPECT_EQ(Execute(executable, {x, y}, 2).failure.code, PJRT_Error_Code_INVALID_ARGUMENT);
  for (PJRT_Buffer* buffer : call.outputs) DestroyBuffer(buffer);
  DestroyBuffer(x);
  DestroyBuffer(y);
  Destroy(executable);
}

// A caller of an older version passes ExecuteOptions of 80 bytes, without anything after the execute context.
TEST_F(PjrtExecuteTest, OlderExecuteOptionsAndTheVeto) {
  PJRT_LoadedExecutable* executable = Compile(kScaleAndAdd);
  PJRT_Buffer* x = FromHost(client_, {1, 2, 3, 4}, {4});
  const int64_t veto[] = {0};
  PJRT_ExecuteOptions options;
  std::memset(&options, 0x5a, sizeof(options));
  options.struct_size = 80;
  options.extension_start = nullptr;
  options.num_send_ops = 0;
  options.num_recv_ops = 0;
  options.context = nullptr;
  options.non_donatable_input_indices = veto;
  options.num_non_donatable_input_indices = 1;
  options.context = nullptr;
  for (int i = 0; i < 2; ++i) {
    Call call = Execute(executable, {x, x}, 2, &options);
    ASSERT_TRUE(call.failure.ok()) << call.failure.message;
    EXPECT_TRUE(AwaitAndDestroy(call.done).ok());
    EXPECT_FALSE(IsDeleted(x));
    EXPECT_EQ(ToHost(call.outputs[0]), (std::vector<float>{3, 6, 9, 12}));
    for (PJRT_Buffer* buffer : call.outputs) DestroyBuffer(buffer);
  }
  EXPECT_EQ(Execute(executable, {x, x}, 2).failure.code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_FALSE(IsDeleted(x));
  DestroyBuffer(x);
  Destroy(executable);
}

TEST_F(PjrtExecuteTest, BadCallsLeaveTheArgumentsAlone) {
  PJRT_LoadedExecutable* executable = Compile(kScaleAndAdd);
  PJRT_Buffer* x = FromHost(client_, {1, 2, 3, 4}, {4});
  PJRT_Buffer* wrong = FromHost(client_, {1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(Execute(executable, {x}, 2).failure.code, PJRT_Error_Code_INVALID_ARGUMENT);
  const Failure failure = Execute(executable, {x, wrong}, 2).failure;
  EXPECT_NE(failure.message.find("f32[2,2]"), std::string::npos) << failure.message;
  EXPECT_EQ(Execute(executable, {x, nullptr}, 2).failure.code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_FALSE(IsDeleted(x));
  DestroyBuffer(x);
  DestroyBuffer(wrong);
  Destroy(executable);
}

TEST_F(PjrtExecuteTest, GettersAndSerialization) {
  PJRT_LoadedExecutable* loaded = Compile(kScaleAndAdd);
  KILN_ARGS(PJRT_LoadedExecutable_GetExecutable, get);
  get.loaded_executable = loaded;
  KILN_EXPECT_OK(Api()->PJRT_LoadedExecutable_GetExecutable(&get));
  KILN_ARGS(PJRT_Executable_Name, name);
  name.executable = get.executable;
  KILN_EXPECT_OK(Api()->PJRT_Executable_Name(&name));
  EXPECT_EQ(std::string(name.executable_name, name.executable_name_size), "scale_and_add");
  KILN_ARGS(PJRT_Executable_NumOutputs, count);
  count.executable = get.executable;
  KILN_EXPECT_OK(Api()->PJRT_Executable_NumOutputs(&count));
  EXPECT_EQ(count.num_outputs, 2u);
  KILN_ARGS(PJRT_Executable_OutputDimensions, dims);
  dims.executable = get.executable;
  KILN_EXPECT_OK(Api()->PJRT_Executable_OutputDimensions(&dims));
  EXPECT_EQ(dims.dim_sizes[1], 1u);
  EXPECT_EQ(dims.dims[1], 4);
  KILN_ARGS(PJRT_Executable_GetCompiledMemoryStats, stats);
  std::memset(&stats, 0x5a, sizeof(stats));
  stats.struct_size = 112;  // torch_xla's size
  stats.executable = get.executable;
  KILN_EXPECT_OK(Api()->PJRT_Executable_GetCompiledMemoryStats(&stats));
  EXPECT_EQ(stats.argument_size_in_bytes, 32);
  EXPECT_EQ(stats.alias_size_in_bytes, 16);
  EXPECT_EQ(stats.total_allocation_bytes, 0x5a5a5a5a5a5a5a5a);
  KILN_ARGS(PJRT_LoadedExecutable_GetDeviceAssignment, assignment);
  assignment.executable = loaded;
  KILN_EXPECT_OK(Api()->PJRT_LoadedExecutable_GetDeviceAssignment(&assignment));
  EXPECT_EQ(std::string(assignment.serialized_bytes, assignment.serialized_bytes_size),
            std::string("\x08\x01\x10\x01\x1a\x03\x0a\x01\x00", 9));
  assignment.serialized_device_assignment_deleter(assignment.serialized_device_assignment);

  KILN_ARGS(PJRT_Executable_Serialize, serialize);
  serialize.executable = get.executable;
  KILN_EXPECT_OK(Api()->PJRT_Executable_Serialize(&serialize));
  std::string bytes(serialize.serialized_bytes, serialize.serialized_bytes_size);
  serialize.serialized_executable_deleter(serialize.serialized_executable);
  KILN_ARGS(PJRT_Executable_DeserializeAndLoad, load);
  load.client = client_;
  load.serialized_executable = bytes.data();
  load.serialized_executable_size = bytes.size();
  KILN_EXPECT_OK(Api()->PJRT_Executable_DeserializeAndLoad(&load));
  KILN_ARGS(PJRT_LoadedExecutable_Fingerprint, first);
  first.executable = loaded;
  KILN_EXPECT_OK(Api()->PJRT_LoadedExecutable_Fingerprint(&first));
  KILN_ARGS(PJRT_LoadedExecutable_Fingerprint, second);
  second.executable = load.loaded_executable;
  KILN_EXPECT_OK(Api()->PJRT_LoadedExecutable_Fingerprint(&second));
  EXPECT_EQ(std::string(first.executable_fingerprint, first.executable_fingerprint_size),
            std::string(second.executable_fingerprint, second.executable_fingerprint_size));
  PJRT_Buffer* x = FromHost(client_, {1, 2, 3, 4}, {4});
  PJRT_Buffer* y = FromHost(client_, {0, 0, 0, 1}, {4});
  Call call = Execute(load.loaded_executable, {x, y}, 2);
  ASSERT_TRUE(call.failure.ok()) << call.failure.message;
  EXPECT_TRUE(AwaitAndDestroy(call.done).ok());
  EXPECT_EQ(ToHost(call.outputs[0]), (std::vector<float>{2, 4, 6, 9}));
  for (PJRT_Buffer* buffer : {x, y, call.outputs[0], call.outputs[1]}) DestroyBuffer(buffer);
  Destroy(load.loaded_executable);
  for (size_t i = 0; i < bytes.size(); i += 7) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x40);
    load.serialized_executable = damaged.data();
    EXPECT_FALSE(Take(Api()->PJRT_Executable_DeserializeAndLoad(&load)).ok()) << i;
  }

  Destroy(loaded);  // the executable outlives its loaded form
  KILN_EXPECT_OK(Api()->PJRT_Executable_NumOutputs(&count));
  KILN_ARGS(PJRT_Executable_Destroy, destroy);
  destroy.executable = get.executable;
  KILN_EXPECT_OK(Api()->PJRT_Executable_Destroy(&destroy));
}

TEST_F(PjrtExecuteTest, OptimizedProgramIsAskedForTwice) {
  PJRT_LoadedExecutable* loaded = Compile(kScaleAndAdd);
  KILN_ARGS(PJRT_LoadedExecutable_GetExecutable, get);
  get.loaded_executable = loaded;
  KILN_EXPECT_OK(Api()->PJRT_LoadedExecutable_GetExecutable(&get));
  PJRT_Program program = {};
  program.struct_size = PJRT_Program_STRUCT_SIZE;
  KILN_ARGS(PJRT_Executable_OptimizedProgram, args);
  args.executable = get.executable;
  args.program = &program;
  KILN_EXPECT_OK(Api()->PJRT_Executable_OptimizedProgram(&args));
  EXPECT_EQ(std::string(program.format, program.format_size), "hlo_with_config");
  std::string bytes(program.code_size, '\0');
  program.code = bytes.data();
  KILN_EXPECT_OK(Api()->PJRT_Executable_OptimizedProgram(&args));
  EXPECT_NE(bytes.find("scale_and_add"), std::string::npos);
  program.code_size = bytes.size() - 1;
  EXPECT_EQ(Take(Api()->PJRT_Executable_OptimizedProgram(&args)).code, PJRT_Error_Code_INVALID_ARGUMENT);
  KILN_ARGS(PJRT_Executable_Destroy, destroy);
  destroy.executable = get.executable;
  KILN_EXPECT_OK(Api()->PJRT_Executable_Destroy(&destroy));
  Destroy(loaded);
}

// y = x + the number that the caller attached to the execution.
int64_t number_type = 0;
XLA_FFI_Error* AddNumber(XLA_FFI_CallFrame* frame) {
  if (frame->extension_start != nullptr) return nullptr;
  XLA_FFI_TypeId id = {number_type};
  XLA_FFI_ExecutionContext_Get_Args get = {XLA_FFI_ExecutionContext_Get_Args_STRUCT_SIZE, nullptr, frame->ctx, &id,
                                           nullptr};
  if (XLA_FFI_Error* error = frame->api->XLA_FFI_ExecutionContext_Get(&get)) return error;
  const auto* x = static_cast<const float*>(static_cast<const XLA_FFI_Buffer*>(frame->args.args[0])->data);
  auto* y = static_cast<float*>(static_cast<const XLA_FFI_Buffer*>(frame->rets.rets[0])->data);
  for (int i = 0; i < 4; ++i) y[i] = x[i] + *static_cast<float*>(get.data);
  return nullptr;
}

TEST_F(PjrtExecuteTest, CustomCallsWithUserData) {
  const PJRT_FFI_Extension* ffi = nullptr;
  for (const PJRT_Extension_Base* base = Api()->extension_start; base != nullptr; base = base->next) {
    if (base->type == PJRT_Extension_Type_FFI) ffi = reinterpret_cast<const PJRT_FFI_Extension*>(base);
  }
  ASSERT_NE(ffi, nullptr);
  static int deleted = 0;
  const std::string name = "number", target = "add_number", platform = "Host";
  PJRT_FFI_Type_Info info = {.deleter = [](void*) { ++deleted; }};
  KILN_ARGS(PJRT_FFI_Type_Register, type);
  type.type_name = name.data();
  type.type_name_size = name.size();
  type.type_info = &info;
  KILN_EXPECT_OK(ffi->type_register(&type));
  number_type = type.type_id;
  EXPECT_NE(number_type, 0);
  KILN_ARGS(PJRT_FFI_Register_Handler, handler);
  handler.target_name = target.data();
  handler.target_name_size = target.size();
  handler.handler = reinterpret_cast<void*>(&AddNumber);
  handler.platform_name = platform.data();
  handler.platform_name_size = platform.size();
  KILN_EXPECT_OK(ffi->register_handler(&handler));
  handler.handler = nullptr;
  EXPECT_EQ(Take(ffi->register_handler(&handler)).code, PJRT_Error_Code_INVALID_ARGUMENT);

  KILN_ARGS(PJRT_ExecuteContext_Create, create);
  KILN_EXPECT_OK(Api()->PJRT_ExecuteContext_Create(&create));
  float number = 100;
  KILN_ARGS(PJRT_FFI_UserData_Add, add);
  add.context = create.context;
  add.user_data = {.type_id = number_type, .data = &number};
  KILN_EXPECT_OK(ffi->user_data_add(&add));
  EXPECT_FALSE(Take(ffi->user_data_add(&add)).ok());

  PJRT_LoadedExecutable* executable = Compile(R"(HloModule m
ENTRY e {
  p = f32[4] parameter(0)
  ROOT c = f32[4] custom-call(p), custom_call_target="add_number", api_version=API_VERSION_TYPED_FFI
})");
  PJRT_Buffer* x = FromHost(client_, {1, 2, 3, 4}, {4});
  PJRT_ExecuteOptions options = {};
  options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
  options.context = create.context;
  Call call = Execute(executable, {x}, 1, &options);
  EXPECT_TRUE(AwaitAndDestroy(call.done).ok());
  EXPECT_EQ(ToHost(call.outputs[0]), (std::vector<float>{101, 102, 103, 104}));
  DestroyBuffer(call.outputs[0]);
  // Without the context the run fails, the buffer says why.
  call = Execute(executable, {x}, 1);
  ASSERT_TRUE(call.failure.ok());
  const Failure failure = AwaitAndDestroy(call.done);
  EXPECT_EQ(failure.code, PJRT_Error_Code_NOT_FOUND);
  EXPECT_NE(failure.message.find("custom-call c: custom call 'add_number'"), std::string::npos) << failure.message;
  DestroyBuffer(call.outputs[0]);
  EXPECT_EQ(deleted, 0);
  KILN_ARGS(PJRT_ExecuteContext_Destroy, destroy);
  destroy.context = create.context;
  KILN_EXPECT_OK(Api()->PJRT_ExecuteContext_Destroy(&destroy));
  EXPECT_EQ(deleted, 1);
  DestroyBuffer(x);
  Destroy(executable);
}

TEST_F(PjrtExecuteTest, ManyThreadsCompileAndRun) {
  PJRT_LoadedExecutable* shared = Compile(kScaleAndAdd);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      PJRT_LoadedExecutable* own = Compile(kScaleAndAdd);
      PJRT_Buffer* zero = FromHost(client_, {0, 0, 0, 0}, {4});
      PJRT_Buffer* x = FromHost(client_, std::vector<float>(4, static_cast<float>(t + 1)), {4});
      for (int i = 0; i < 100; ++i) {
        Call call = Execute(i % 2 == 0 ? shared : own, {x, zero}, 2);
        ASSERT_TRUE(call.failure.ok()) << call.failure.message;
        KILN_ARGS(PJRT_Event_Destroy, destroy);
        destroy.event = call.done;
        KILN_EXPECT_OK(Api()->PJRT_Event_Destroy(&destroy));
        DestroyBuffer(x);
        DestroyBuffer(call.outputs[0]);
        x = call.outputs[1];  // x - 0
      }
      EXPECT_EQ(ToHost(x), std::vector<float>(4, static_cast<float>(t + 1)));
      DestroyBuffer(x);
      DestroyBuffer(zero);
      Destroy(own);
    });
  }
  for (std::thread& thread : threads) thread.join();
  Destroy(shared);
}

}  // namespace
}  // namespace kiln::test
