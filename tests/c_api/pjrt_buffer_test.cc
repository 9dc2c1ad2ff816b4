// Buffers through the C API: creation, copies, lifetime, transfers in pieces.
#include <atomic>
#include <thread>

#include "tests/c_api/pjrt.h"

namespace kiln::test {
namespace {

class PjrtBufferTest : public ::testing::Test {
 protected:
  PjrtBufferTest() : client_(CreateClient()) {}
  ~PjrtBufferTest() override { DestroyClient(client_); }
  PJRT_Memory* memory() {
    KILN_ARGS(PJRT_Client_AddressableMemories, args);
    args.client = client_;
    KILN_EXPECT_OK(Api()->PJRT_Client_AddressableMemories(&args));
    return args.addressable_memories[0];
  }
  static bool IsDeleted(PJRT_Buffer* buffer) {
    KILN_ARGS(PJRT_Buffer_IsDeleted, args);
    args.buffer = buffer;
    KILN_EXPECT_OK(Api()->PJRT_Buffer_IsDeleted(&args));
    return args.is_deleted;
  }
  PJRT_Client* client_;
};

TEST_F(PjrtBufferTest, Getters) {
  PJRT_Buffer* buffer = FromHost(client_, {1, 2, 3, 4, 5, 6}, {2, 3});
  KILN_ARGS(PJRT_Buffer_ElementType, type);
  type.buffer = buffer;
  KILN_EXPECT_OK(Api()->PJRT_Buffer_ElementType(&type));
  EXPECT_EQ(type.type, PJRT_Buffer_Type_F32);
  KILN_ARGS(PJRT_Buffer_Dimensions, dims);
  dims.buffer = buffer;
  KILN_EXPECT_OK(Api()->PJRT_Buffer_Dimensions(&dims));
  EXPECT_EQ(std::vector<int64_t>(dims.dims, dims.dims + dims.num_dims), (std::vector<int64_t>{2, 3}));
  KILN_ARGS(PJRT_Buffer_GetMemoryLayout, layout);
  layout.buffer = buffer;
  KILN_EXPECT_OK(Api()->PJRT_Buffer_GetMemoryLayout(&layout));
  ASSERT_EQ(layout.layout.type, PJRT_Buffer_MemoryLayout_Type_Tiled);
  ASSERT_EQ(layout.layout.tiled.minor_to_major_size, 2u);
  EXPECT_EQ(layout.layout.tiled.minor_to_major[0], 1);
  KILN_ARGS(PJRT_Buffer_OnDeviceSizeInBytes, size);
  size.buffer = buffer;
  KILN_EXPECT_OK(Api()->PJRT_Buffer_OnDeviceSizeInBytes(&size));
  EXPECT_EQ(size.on_device_size_in_bytes, 24u);
  KILN_ARGS(PJRT_Buffer_Memory, where);
  where.buffer = buffer;
  KILN_EXPECT_OK(Api()->PJRT_Buffer_Memory(&where));
  EXPECT_EQ(where.memory, memory());
  EXPECT_EQ(ToHost(buffer), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  DestroyBuffer(buffer);
}

TEST_F(PjrtBufferTest, HostLayoutsOfToHostBuffer) {
  PJRT_Buffer* buffer = FromHost(client_, {1, 2, 3, 4, 5, 6}, {2, 3});
  const int64_t column_major[] = {4, 8};
  PJRT_Buffer_MemoryLayout layout = {};
  layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
  layout.type = PJRT_Buffer_MemoryLayout_Type_Strides;
  layout.strides.struct_size = PJRT_Buffer_MemoryLayout_Strides_STRUCT_SIZE;
  layout.strides.byte_strides = column_major;
  layout.strides.num_byte_strides = 2;
  float host[6];
  KILN_ARGS(PJRT_Buffer_ToHostBuffer, args);
  args.src = buffer;
  args.host_layout = &layout;
  args.dst = host;
  args.dst_size = sizeof(host);
  KILN_EXPECT_OK(Api()->PJRT_Buffer_ToHostBuffer(&args));
  EXPECT_TRUE(AwaitAndDestroy(args.event).ok());
  EXPECT_EQ(std::vector<float>(host, host + 6), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  args.dst_size = 23;
  EXPECT_EQ(Take(Api()->PJRT_Buffer_ToHostBuffer(&args)).code, PJRT_Error_Code_INVALID_ARGUMENT);
  const int64_t gaps[] = {100, 4};
  layout.strides.byte_strides = gaps;
  args.dst_size = sizeof(host);
  EXPECT_FALSE(Take(Api()->PJRT_Buffer_ToHostBuffer(&args)).ok());
  DestroyBuffer(buffer);
}

TEST_F(PjrtBufferTest, DeletedBuffersRefuseUse) {
  PJRT_Buffer* buffer = FromHost(client_, {1}, {});
  KILN_ARGS(PJRT_Buffer_ReadyEvent, before);
  before.buffer = buffer;
  KILN_EXPECT_OK(Api()->PJRT_Buffer_ReadyEvent(&before));
  KILN_ARGS(PJRT_Buffer_Delete, erase);
  erase.buffer = buffer;
  KILN_EXPECT_OK(Api()->PJRT_Buffer_Delete(&erase));
  EXPECT_TRUE(IsDeleted(buffer));
  EXPECT_TRUE(AwaitAndDestroy(before.event).ok());
  KILN_ARGS(PJRT_Buffer_ReadyEvent, after);
  after.buffer = buffer;
  KILN_EXPECT_OK(Api()->PJRT_Buffer_ReadyEvent(&after));
  EXPECT_FALSE(AwaitAndDestroy(after.event).ok());
  float host;
  KILN_ARGS(PJRT_Buffer_ToHostBuffer, read);
  read.src = buffer;
  read.dst = &host;
  read.dst_size = 4;
  EXPECT_FALSE(Take(Api()->PJRT_Buffer_ToHostBuffer(&read)).ok());
  KILN_ARGS(PJRT_Buffer_CopyToMemory, copy);
  copy.buffer = buffer;
  copy.dst_memory = memory();
  EXPECT_FALSE(Take(Api()->PJRT_Buffer_CopyToMemory(&copy)).ok());
  DestroyBuffer(buffer);
}

TEST_F(PjrtBufferTest, PinsKeepTheAddress) {
  PJRT_Buffer* buffer = FromHost(client_, {1, 2}, {2});
  KILN_ARGS(PJRT_Buffer_DecreaseExternalReferenceCount, drop);
  drop.buffer = buffer;
  EXPECT_FALSE(Take(Api()->PJRT_Buffer_DecreaseExternalReferenceCount(&drop)).ok());
  KILN_ARGS(PJRT_Buffer_IncreaseExternalReferenceCount, pin);
  pin.buffer = buffer;
  KILN_EXPECT_OK(Api()->PJRT_Buffer_IncreaseExternalReferenceCount(&pin));
  KILN_ARGS(PJRT_Buffer_Delete, erase);
  erase.buffer = buffer;
  KILN_EXPECT_OK(Api()->PJRT_Buffer_Delete(&erase));
  KILN_ARGS(PJRT_Buffer_OpaqueDeviceMemoryDataPointer, pointer);
  pointer.buffer = buffer;
  KILN_EXPECT_OK(Api()->PJRT_Buffer_OpaqueDeviceMemoryDataPointer(&pointer));
  EXPECT_EQ(static_cast<float*>(pointer.device_memory_ptr)[1], 2);
  KILN_EXPECT_OK(Api()->PJRT_Buffer_DecreaseExternalReferenceCount(&drop));
  DestroyBuffer(buffer);
}

TEST_F(PjrtBufferTest, ViewsReleaseTheirMemoryOnce) {
  alignas(64) static float memory_of_others[4] = {1, 2, 3, 4};
  static int released = 0;
  const int64_t dims[] = {4};
  KILN_ARGS(PJRT_Client_CreateViewOfDeviceBuffer, view);
  view.client = client_;
  view.device_buffer_ptr = memory_of_others;
  view.dims = dims;
  view.num_dims = 1;
  view.element_type = PJRT_Buffer_Type_F32;
  view.on_delete_callback_arg = &released;
  view.on_delete_callback = [](void* data, void* count) {
    EXPECT_EQ(data, memory_of_others);
    ++*static_cast<int*>(count);
  };
  KILN_EXPECT_OK(Api()->PJRT_Client_CreateViewOfDeviceBuffer(&view));
  KILN_ARGS(PJRT_Buffer_Bitcast, bitcast);
  bitcast.buffer = view.buffer;
  bitcast.element_type = PJRT_Buffer_Type_U32;
  const int64_t square[] = {2, 2};
  bitcast.dims = square;
  bitcast.num_dims = 2;
  KILN_EXPECT_OK(Api()->PJRT_Buffer_Bitcast(&bitcast));
  DestroyBuffer(view.buffer);
  EXPECT_EQ(released, 0);  // the second view still reads it
  EXPECT_EQ(ToHost(bitcast.out_buffer), (std::vector<float>{1, 2, 3, 4}));
  DestroyBuffer(bitcast.out_buffer);
  EXPECT_EQ(released, 1);
}

TEST_F(PjrtBufferTest, ErrorBuffersFailTheirUsers) {
  KILN_ARGS(PJRT_Client_CreateErrorBuffer, args);
  args.client = client_;
  args.error_code = PJRT_Error_Code_UNAVAILABLE;
  args.error_message = "far away";
  args.error_message_size = 8;
  args.shape_element_type = PJRT_Buffer_Type_F32;
  args.memory = memory();
  // A caller of minor 90 knows nothing of the fields after `buffer`.
  args.struct_size = offsetof(PJRT_Client_CreateErrorBuffer_Args, payload);
  args.num_payload = 1000;
  KILN_EXPECT_OK(Api()->PJRT_Client_CreateErrorBuffer(&args));
  KILN_ARGS(PJRT_Buffer_ReadyEvent, ready);
  ready.buffer = args.buffer;
  KILN_EXPECT_OK(Api()->PJRT_Buffer_ReadyEvent(&ready));
  const Failure failure = AwaitAndDestroy(ready.event);
  EXPECT_EQ(failure.code, PJRT_Error_Code_UNAVAILABLE);
  EXPECT_EQ(failure.message, "far away");
  DestroyBuffer(args.buffer);
}

TEST_F(PjrtBufferTest, TransfersInPieces) {
  const int64_t dims[] = {4};
  PJRT_ShapeSpec specs[2] = {};
  for (PJRT_ShapeSpec& spec : specs) {
    spec.struct_size = PJRT_ShapeSpec_STRUCT_SIZE;
    spec.dims = dims;
    spec.num_dims = 1;
    spec.element_type = PJRT_Buffer_Type_F32;
  }
  KILN_ARGS(PJRT_Client_CreateBuffersForAsyncHostToDevice, create);
  create.client = client_;
  create.shape_specs = specs;
  create.num_shape_specs = 2;
  create.memory = memory();
  KILN_EXPECT_OK(Api()->PJRT_Client_CreateBuffersForAsyncHostToDevice(&create));
  PJRT_Buffer* buffers[2];
  for (int i = 0; i < 2; ++i) {
    KILN_ARGS(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, retrieve);
    retrieve.transfer_manager = create.transfer_manager;
    retrieve.buffer_index = i;
    KILN_EXPECT_OK(Api()->PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer(&retrieve));
    buffers[i] = retrieve.buffer_out;
  }
  const float values[] = {1, 2, 3, 4};
  KILN_ARGS(PJRT_AsyncHostToDeviceTransferManager_TransferData, transfer);
  transfer.transfer_manager = create.transfer_manager;
  transfer.data = values + 2;
  transfer.offset = 8;
  transfer.transfer_size = 8;
  KILN_EXPECT_OK(Api()->PJRT_AsyncHostToDeviceTransferManager_TransferData(&transfer));
  AwaitAndDestroy(transfer.done_with_h2d_transfer);
  transfer.offset = 12;
  EXPECT_FALSE(Take(Api()->PJRT_AsyncHostToDeviceTransferManager_TransferData(&transfer)).ok());
  transfer.data = values;
  transfer.offset = 0;
  transfer.is_last_transfer = true;
  KILN_EXPECT_OK(Api()->PJRT_AsyncHostToDeviceTransferManager_TransferData(&transfer));
  AwaitAndDestroy(transfer.done_with_h2d_transfer);
  EXPECT_EQ(ToHost(buffers[0]), (std::vector<float>{1, 2, 3, 4}));
  KILN_ARGS(PJRT_AsyncHostToDeviceTransferManager_Destroy, destroy);
  destroy.transfer_manager = create.transfer_manager;
  KILN_EXPECT_OK(Api()->PJRT_AsyncHostToDeviceTransferManager_Destroy(&destroy));
  KILN_ARGS(PJRT_Buffer_ReadyEvent, ready);
  ready.buffer = buffers[1];
  KILN_EXPECT_OK(Api()->PJRT_Buffer_ReadyEvent(&ready));
  EXPECT_EQ(AwaitAndDestroy(ready.event).code, PJRT_Error_Code_CANCELLED);
  for (PJRT_Buffer* buffer : buffers) DestroyBuffer(buffer);
}

TEST_F(PjrtBufferTest, DependenciesHoldADonatedBufferBack) {
  PJRT_Buffer* buffer = FromHost(client_, {7}, {});
  KILN_ARGS(PJRT_Buffer_DonateWithControlDependency, donate);
  donate.buffer = buffer;
  KILN_EXPECT_OK(Api()->PJRT_Buffer_DonateWithControlDependency(&donate));
  EXPECT_TRUE(IsDeleted(buffer));
  KILN_ARGS(PJRT_Buffer_ReadyEvent, ready);
  ready.buffer = donate.out_buffer;
  KILN_EXPECT_OK(Api()->PJRT_Buffer_ReadyEvent(&ready));
  KILN_ARGS(PJRT_Event_IsReady, is_ready);
  is_ready.event = ready.event;
  KILN_EXPECT_OK(Api()->PJRT_Event_IsReady(&is_ready));
  EXPECT_FALSE(is_ready.is_ready);
  PJRT_Buffer_DonateWithControlDependency_Callback_Args done = {};
  done.struct_size = PJRT_Buffer_DonateWithControlDependency_Callback_Args_STRUCT_SIZE;
  done.callback_data = donate.callback_data;
  donate.dependency_ready_callback(&done);
  EXPECT_TRUE(AwaitAndDestroy(ready.event).ok());
  EXPECT_EQ(ToHost(donate.out_buffer), (std::vector<float>{7}));
  DestroyBuffer(buffer);
  DestroyBuffer(donate.out_buffer);
}

TEST_F(PjrtBufferTest, BadRequestsAreErrors) {
  const int64_t negative[] = {-4};
  KILN_ARGS(PJRT_Client_BufferFromHostBuffer, args);
  args.client = client_;
  args.type = PJRT_Buffer_Type_F32;
  args.dims = negative;
  args.num_dims = 1;
  EXPECT_EQ(Take(Api()->PJRT_Client_BufferFromHostBuffer(&args)).code, PJRT_Error_Code_INVALID_ARGUMENT);
  const int64_t positive[] = {4};
  args.dims = positive;
  EXPECT_EQ(Take(Api()->PJRT_Client_BufferFromHostBuffer(&args)).code, PJRT_Error_Code_INVALID_ARGUMENT);  // null data
  args.type = static_cast<PJRT_Buffer_Type>(999);
  EXPECT_FALSE(Take(Api()->PJRT_Client_BufferFromHostBuffer(&args)).ok());
  const float value = 0;
  args.data = &value;
  args.type = PJRT_Buffer_Type_F32;
  args.num_dims = 0;
  args.host_buffer_semantics = static_cast<PJRT_HostBufferSemantics>(9);
  EXPECT_FALSE(Take(Api()->PJRT_Client_BufferFromHostBuffer(&args)).ok());
}

TEST_F(PjrtBufferTest, ManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const std::vector<float> values(1 + i, static_cast<float>(t * 1000 + i));
        PJRT_Buffer* buffer = FromHost(client_, values, {1 + i});
        EXPECT_EQ(ToHost(buffer), values);
        DestroyBuffer(buffer);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace kiln::test
