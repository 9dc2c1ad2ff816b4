// Calls that are wrong give errors, whatever is wrong with them.
#include <limits>

#include "tests/c_api/pjrt.h"

namespace kiln::test {
namespace {

constexpr char kAddAndCount[] = R"(
HloModule add, input_output_alias={ {0}: (0, {}, may-alias) }

ENTRY main {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  ROOT result = (f32[4], f32[4]) tuple(f32[4] add(x, y), f32[4] subtract(x, y))
}
)";

class PjrtMisuseTest : public ::testing::Test {
 protected:
  PjrtMisuseTest() : client_(CreateClient()) {}
  ~PjrtMisuseTest() override { DestroyClient(client_); }

  // A transfer of one array of four floats.
  PJRT_AsyncHostToDeviceTransferManager* CreateTransfer(PJRT_Buffer** buffer) {
    const int64_t dims[] = {4};
    PJRT_ShapeSpec spec = {.struct_size = PJRT_ShapeSpec_STRUCT_SIZE};
    spec.dims = dims;
    spec.num_dims = 1;
    spec.element_type = PJRT_Buffer_Type_F32;
    KILN_ARGS(PJRT_Client_CreateBuffersForAsyncHostToDevice, create);
    create.client = client_;
    create.shape_specs = &spec;
    create.num_shape_specs = 1;
    KILN_EXPECT_OK(Api()->PJRT_Client_CreateBuffersForAsyncHostToDevice(&create));
    KILN_ARGS(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, retrieve);
    retrieve.transfer_manager = create.transfer_manager;
    KILN_EXPECT_OK(Api()->PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer(&retrieve));
    *buffer = retrieve.buffer_out;
    return create.transfer_manager;
  }
  static void Destroy(PJRT_AsyncHostToDeviceTransferManager* manager) {
    KILN_ARGS(PJRT_AsyncHostToDeviceTransferManager_Destroy, destroy);
    destroy.transfer_manager = manager;
    KILN_EXPECT_OK(Api()->PJRT_AsyncHostToDeviceTransferManager_Destroy(&destroy));
  }
  static void ExpectRefused(PJRT_Error* error, const char* what) {
    EXPECT_EQ(Take(error).code, PJRT_Error_Code_INVALID_ARGUMENT) << what;
  }

  PJRT_Client* client_;
};

// Structures that end too early, and structures of nothing but zeros.
TEST_F(PjrtMisuseTest, NoFunctionTrustsItsArguments) {
#define PJRT_FUNCTION(result, name, field)                                             \
  {                                                                                    \
    PJRT_##name##_Args args = {};                                                      \
    args.struct_size = offsetof(PJRT_##name##_Args, field) + sizeof(args.field) - 1;   \
    EXPECT_FALSE(Take(Api()->PJRT_##name(&args)).ok()) << #name;                       \
    args.struct_size = 0;                                                              \
    EXPECT_FALSE(Take(Api()->PJRT_##name(&args)).ok()) << #name;                       \
  }
#define PJRT_METHOD(result, name, object, field)          \
  PJRT_FUNCTION(result, name, field) {                    \
    KILN_ARGS(PJRT_##name, args);                         \
    ExpectRefused(Api()->PJRT_##name(&args), #name);      \
  }
#include "c_api/pjrt/functions.inc"
}

TEST_F(PjrtMisuseTest, ListsOfAnExecution) {
  PJRT_LoadedExecutable* executable = Compile(client_, kAddAndCount);
  PJRT_Buffer* x = FromHost(client_, {1, 2, 3, 4}, {4});
  PJRT_Buffer* y = FromHost(client_, {1, 1, 1, 1}, {4});
  PJRT_Buffer* const arguments[] = {x, y};
  PJRT_Buffer* const* argument_list = arguments;
  PJRT_Buffer* const* no_arguments = nullptr;
  PJRT_Buffer* outputs[2] = {};
  PJRT_Buffer** output_list = outputs;
  PJRT_Buffer** no_outputs = nullptr;
  PJRT_ExecuteOptions options = {};
  options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
  KILN_ARGS(PJRT_LoadedExecutable_Execute, good);
  good.executable = executable;
  good.options = &options;
  good.argument_lists = &argument_list;
  good.output_lists = &output_list;
  good.num_devices = 1;
  good.num_args = 2;
  const auto refused = [](PJRT_LoadedExecutable_Execute_Args args, const char* what) {
    ExpectRefused(Api()->PJRT_LoadedExecutable_Execute(&args), what);
  };
  auto bad = good;
  bad.argument_lists = nullptr;
  refused(bad, "no list of argument lists");
  bad.argument_lists = &no_arguments;
  refused(bad, "no argument list");
  bad = good;
  bad.output_lists = nullptr;
  refused(bad, "no list of output lists");
  bad.output_lists = &no_outputs;
  refused(bad, "no output list");
  for (size_t count : {0, 2}) {
    bad = good;
    bad.num_devices = count;
    refused(bad, "devices");
  }
  for (size_t count : {0, 1, 3}) {
    PJRT_Buffer* const three[] = {x, y, y};
    PJRT_Buffer* const* list = three;
    bad = good;
    bad.argument_lists = &list;
    bad.num_args = count;
    refused(bad, "arguments");
  }
  options.num_non_donatable_input_indices = 3;
  refused(good, "no indices");
  const int64_t nowhere[] = {-1, 2, std::numeric_limits<int64_t>::max()};
  options.non_donatable_input_indices = nowhere;  // of no parameter, which vetoes nothing
  good.options = nullptr;
  EXPECT_FALSE(IsDeleted(x));
  KILN_EXPECT_OK(Api()->PJRT_LoadedExecutable_Execute(&good));
  EXPECT_EQ(ToHost(outputs[0]), (std::vector<float>{2, 3, 4, 5}));
  EXPECT_TRUE(IsDeleted(x));
  refused(good, "a donated argument");
  KILN_ARGS(PJRT_LoadedExecutable_Delete, remove);
  remove.executable = executable;
  KILN_EXPECT_OK(Api()->PJRT_LoadedExecutable_Delete(&remove));
  EXPECT_FALSE(Execute(executable, {y, y}, 2).failure.ok());
  for (PJRT_Buffer* buffer : {x, y, outputs[0], outputs[1]}) DestroyBuffer(buffer);
  test::Destroy(executable);
}

TEST_F(PjrtMisuseTest, LayoutsAndDimensions) {
  const float values[4] = {1, 2, 3, 4};
  const int64_t dims[] = {2, 2};
  PJRT_Buffer_MemoryLayout layout = {};
  layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
  KILN_ARGS(PJRT_Client_BufferFromHostBuffer, args);
  args.client = client_;
  args.data = values;
  args.type = PJRT_Buffer_Type_F32;
  args.dims = dims;
  args.num_dims = 2;
  args.device_layout = &layout;
  const auto refused = [&](const char* what) {
    EXPECT_FALSE(Take(Api()->PJRT_Client_BufferFromHostBuffer(&args)).ok()) << what;
  };
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.minor_to_major_size = 2;
  refused("no order");
  const int64_t orders[][2] = {{0, 0}, {0, 2}, {-1, 0}};
  for (const auto& order : orders) {
    layout.tiled.minor_to_major = order;
    refused("an order that is none");
  }
  layout = {};
  layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
  layout.type = PJRT_Buffer_MemoryLayout_Type_Strides;
  layout.strides.num_byte_strides = 2;
  refused("no strides");
  const int64_t strides[] = {std::numeric_limits<int64_t>::max(), 4};
  layout.strides.byte_strides = strides;
  refused("strides that are not dense");
  const int64_t huge[] = {int64_t{1} << 62, int64_t{1} << 62};
  args.dims = huge;
  refused("dimensions whose product is no number");
  args.device_layout = nullptr;
  refused("the same without a layout");
  args.dims = nullptr;
  refused("no dimensions");
}

// Transfers write where the array was promised, although its buffer has gone another way meanwhile.
TEST_F(PjrtMisuseTest, TransfersToBuffersThatAreGone) {
  const float values[4] = {1, 2, 3, 4};
  const int64_t dims[] = {4};
  PJRT_Buffer* buffer;
  PJRT_AsyncHostToDeviceTransferManager* manager = CreateTransfer(&buffer);
  DestroyBuffer(buffer);
  KILN_ARGS(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral, literal);
  literal.transfer_manager = manager;
  literal.data = values;
  literal.shape_dims = dims;
  literal.shape_num_dims = 1;
  literal.shape_element_type = PJRT_Buffer_Type_F32;
  KILN_EXPECT_OK(Api()->PJRT_AsyncHostToDeviceTransferManager_TransferLiteral(&literal));
  AwaitAndDestroy(literal.done_with_h2d_transfer);
  EXPECT_FALSE(Take(Api()->PJRT_AsyncHostToDeviceTransferManager_TransferLiteral(&literal)).ok());
  Destroy(manager);

  PJRT_LoadedExecutable* executable = Compile(client_, kAddAndCount);
  PJRT_Buffer* y = FromHost(client_, {1, 1, 1, 1}, {4});
  manager = CreateTransfer(&buffer);
  Call call = Execute(executable, {buffer, y}, 2);  // waits for the transfer
  ASSERT_TRUE(call.failure.ok()) << call.failure.message;
  EXPECT_TRUE(IsDeleted(buffer));
  KILN_ARGS(PJRT_AsyncHostToDeviceTransferManager_TransferData, data);
  data.transfer_manager = manager;
  data.data = values;
  data.transfer_size = sizeof(values);
  data.is_last_transfer = true;
  KILN_EXPECT_OK(Api()->PJRT_AsyncHostToDeviceTransferManager_TransferData(&data));
  AwaitAndDestroy(data.done_with_h2d_transfer);
  EXPECT_TRUE(AwaitAndDestroy(call.done).ok());
  EXPECT_EQ(ToHost(call.outputs[0]), (std::vector<float>{2, 3, 4, 5}));
  Destroy(manager);
  for (PJRT_Buffer* done : {buffer, y, call.outputs[0], call.outputs[1]}) DestroyBuffer(done);
  test::Destroy(executable);

  KILN_ARGS(PJRT_Client_CreateBuffersForAsyncHostToDevice, create);
  create.client = client_;
  create.num_shape_specs = 1;
  ExpectRefused(Api()->PJRT_Client_CreateBuffersForAsyncHostToDevice(&create), "no shapes");
}

}  // namespace
}  // namespace kiln::test
