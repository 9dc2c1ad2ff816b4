// The plugin as a framework sees it: loaded with dlopen and used through its table alone.
#ifndef KILN_TESTS_C_API_PJRT_H_
#define KILN_TESTS_C_API_PJRT_H_

#include <dlfcn.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "c_api/pjrt_c_api.h"
#include "gtest/gtest.h"

namespace kiln::test {

inline const PJRT_Api* Api() {
  static const PJRT_Api* const api = [] {
    void* library = dlopen(KILN_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::abort();
    }
    return reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"))();
  }();
  return api;
}

// An arguments structure with zeros and its size.
#define KILN_ARGS(name, variable)    \
  name##_Args variable = {};         \
  variable.struct_size = name##_Args_STRUCT_SIZE

struct Failure {
  PJRT_Error_Code code = PJRT_Error_Code_OK;
  std::string message;
  bool ok() const { return code == PJRT_Error_Code_OK; }
};

// Reads and frees an error.
inline Failure Take(PJRT_Error* error) {
  Failure failure;
  if (error == nullptr) return failure;
  KILN_ARGS(PJRT_Error_Message, message);
  message.error = error;
  Api()->PJRT_Error_Message(&message);
  failure.message.assign(message.message, message.message_size);
  KILN_ARGS(PJRT_Error_GetCode, code);
  code.error = error;
  EXPECT_EQ(Api()->PJRT_Error_GetCode(&code), nullptr);
  failure.code = code.code;
  KILN_ARGS(PJRT_Error_Destroy, destroy);
  destroy.error = error;
  Api()->PJRT_Error_Destroy(&destroy);
  return failure;
}

#define KILN_EXPECT_OK(expr)                                                   \
  do {                                                                         \
    const ::kiln::test::Failure kiln_failure = ::kiln::test::Take(expr);       \
    EXPECT_TRUE(kiln_failure.ok()) << kiln_failure.message;                    \
  } while (false)

inline PJRT_NamedValue IntegerOption(const char* name, int64_t value) {
  PJRT_NamedValue option = {};
  option.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  option.name = name;
  option.name_size = std::strlen(name);
  option.type = PJRT_NamedValue_kInt64;
  option.int64_value = value;
  option.value_size = 1;
  return option;
}

inline PJRT_Client* CreateClient(std::vector<PJRT_NamedValue> options = {}) {
  KILN_ARGS(PJRT_Client_Create, args);
  args.create_options = options.data();
  args.num_options = options.size();
  KILN_EXPECT_OK(Api()->PJRT_Client_Create(&args));
  return args.client;
}

inline void DestroyClient(PJRT_Client* client) {
  KILN_ARGS(PJRT_Client_Destroy, args);
  args.client = client;
  KILN_EXPECT_OK(Api()->PJRT_Client_Destroy(&args));
}

// Waits for an event, frees it, and gives its outcome.
inline Failure AwaitAndDestroy(PJRT_Event* event) {
  KILN_ARGS(PJRT_Event_Await, await);
  await.event = event;
  Failure failure = Take(Api()->PJRT_Event_Await(&await));
  KILN_ARGS(PJRT_Event_Destroy, destroy);
  destroy.event = event;
  KILN_EXPECT_OK(Api()->PJRT_Event_Destroy(&destroy));
  return failure;
}

inline PJRT_Buffer* FromHost(PJRT_Client* client, const std::vector<float>& values, std::vector<int64_t> dims) {
  KILN_ARGS(PJRT_Client_BufferFromHostBuffer, args);
  args.client = client;
  args.data = values.data();
  args.type = PJRT_Buffer_Type_F32;
  args.dims = dims.data();
  args.num_dims = dims.size();
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  KILN_EXPECT_OK(Api()->PJRT_Client_BufferFromHostBuffer(&args));
  EXPECT_TRUE(AwaitAndDestroy(args.done_with_host_buffer).ok());
  return args.buffer;
}

inline std::vector<float> ToHost(PJRT_Buffer* buffer) {
  KILN_ARGS(PJRT_Buffer_ToHostBuffer, args);
  args.src = buffer;
  KILN_EXPECT_OK(Api()->PJRT_Buffer_ToHostBuffer(&args));
  std::vector<float> values(args.dst_size / sizeof(float));
  args.dst = values.data();
  KILN_EXPECT_OK(Api()->PJRT_Buffer_ToHostBuffer(&args));
  const Failure failure = AwaitAndDestroy(args.event);
  EXPECT_TRUE(failure.ok()) << failure.message;
  return values;
}

inline void DestroyBuffer(PJRT_Buffer* buffer) {
  KILN_ARGS(PJRT_Buffer_Destroy, args);
  args.buffer = buffer;
  KILN_EXPECT_OK(Api()->PJRT_Buffer_Destroy(&args));
}

inline bool IsDeleted(PJRT_Buffer* buffer) {
  KILN_ARGS(PJRT_Buffer_IsDeleted, args);
  args.buffer = buffer;
  KILN_EXPECT_OK(Api()->PJRT_Buffer_IsDeleted(&args));
  return args.is_deleted;
}

// Views of both.
inline PJRT_Program ProgramOf(std::string& code, std::string_view format) {
  PJRT_Program program = {};
  program.struct_size = PJRT_Program_STRUCT_SIZE;
  program.code = code.data();
  program.code_size = code.size();
  program.format = format.data();
  program.format_size = format.size();
  return program;
}

// Of HLO text. Null, and a failed test, where it does not compile.
inline PJRT_LoadedExecutable* Compile(PJRT_Client* client, std::string code) {
  const PJRT_Program program = ProgramOf(code, "hlo");
  KILN_ARGS(PJRT_Client_Compile, args);
  args.client = client;
  args.program = &program;
  KILN_EXPECT_OK(Api()->PJRT_Client_Compile(&args));
  return args.executable;
}

inline void Destroy(PJRT_LoadedExecutable* executable) {
  KILN_ARGS(PJRT_LoadedExecutable_Destroy, args);
  args.executable = executable;
  KILN_EXPECT_OK(Api()->PJRT_LoadedExecutable_Destroy(&args));
}

struct Call {
  Failure failure;
  std::vector<PJRT_Buffer*> outputs;
  PJRT_Event* done = nullptr;
};

inline Call Execute(PJRT_LoadedExecutable* executable, std::vector<PJRT_Buffer*> arguments, size_t output_count,
                    PJRT_ExecuteOptions* options = nullptr) {
  Call call;
  call.outputs.resize(output_count);
  KILN_ARGS(PJRT_LoadedExecutable_Execute, args);
  PJRT_ExecuteOptions defaults = {};
  defaults.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
  args.executable = executable;
  args.options = options != nullptr ? options : &defaults;
  PJRT_Buffer* const* argument_list = arguments.data();
  args.argument_lists = &argument_list;
  args.num_devices = 1;
  args.num_args = arguments.size();
  PJRT_Buffer** output_list = call.outputs.data();
  args.output_lists = &output_list;
  args.device_complete_events = &call.done;
  call.failure = Take(Api()->PJRT_LoadedExecutable_Execute(&args));
  return call;
}

}  // namespace kiln::test

#endif  // KILN_TESTS_C_API_PJRT_H_
