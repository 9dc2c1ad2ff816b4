// kiln.h, linked as a user links it.
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "c_api/kiln.h"
#include "gtest/gtest.h"

namespace {

std::string MessageOf(kiln_status* status) {
  std::string message = kiln_status_message(status);
  kiln_status_destroy(status);
  return message;
}

class KilnHTest : public ::testing::Test {
 protected:
  KilnHTest() { EXPECT_EQ(MessageOf(kiln_client_create(nullptr, &client_)), ""); }
  ~KilnHTest() override { kiln_client_destroy(client_); }
  kiln_buffer* Make(std::vector<float> values) {
    const int64_t dims[] = {static_cast<int64_t>(values.size())};
    kiln_buffer* buffer = nullptr;
    EXPECT_EQ(MessageOf(kiln_buffer_from_host(client_, KILN_F32, dims, 1, values.data(), nullptr, &buffer)), "");
    return buffer;
  }
  kiln_client* client_ = nullptr;
};

TEST_F(KilnHTest, Version) { EXPECT_STREQ(kiln_version(), "0.1.0"); }

TEST_F(KilnHTest, Buffers) {
  kiln_buffer* buffer = Make({1, 2, 3});
  EXPECT_EQ(kiln_buffer_dtype(buffer), KILN_F32);
  EXPECT_EQ(kiln_buffer_rank(buffer), 1u);
  EXPECT_EQ(kiln_buffer_dims(buffer)[0], 3);
  EXPECT_EQ(kiln_buffer_size(buffer), 12u);
  float host[3] = {};
  EXPECT_EQ(MessageOf(kiln_buffer_to_host(buffer, host, sizeof(host))), "");
  EXPECT_EQ(host[2], 3);
  const void* data = nullptr;
  EXPECT_EQ(MessageOf(kiln_buffer_data(buffer, &data)), "");
  EXPECT_EQ(static_cast<const float*>(data)[1], 2);
  kiln_status* status = kiln_buffer_to_host(buffer, host, 11);
  EXPECT_EQ(kiln_status_code(status), KILN_INVALID_ARGUMENT);
  EXPECT_NE(MessageOf(status).find("12 bytes"), std::string::npos);
  kiln_buffer_destroy(buffer);
  kiln_buffer_destroy(nullptr);
}

TEST_F(KilnHTest, BorrowedMemoryIsReleasedOnce) {
  alignas(64) static float values[4] = {1, 2, 3, 4};
  int released = 0;
  const int64_t dims[] = {4};
  kiln_buffer* buffer = nullptr;
  EXPECT_EQ(
      MessageOf(kiln_buffer_borrow(
          client_, KILN_F32, dims, 1, values, [](void* count) { ++*static_cast<int*>(count); }, &released, &buffer)),
      "");
  const void* data = nullptr;
  EXPECT_EQ(MessageOf(kiln_buffer_data(buffer, &data)), "");
  EXPECT_EQ(data, values);
  EXPECT_EQ(released, 0);
  kiln_buffer_destroy(buffer);
  EXPECT_EQ(released, 1);
}

constexpr char kSumAndProduct[] = R"(
HloModule sum_and_product

ENTRY main {
  x = f32[3] parameter(0)
  y = f32[3] parameter(1)
  sum = f32[3] add(x, y)
  product = f32[3] multiply(x, y)
  ROOT both = (f32[3], f32[3]) tuple(sum, product)
}
)";

TEST_F(KilnHTest, FunctionsCompileOnceAndAreCached) {
  kiln_function* function = nullptr;
  ASSERT_EQ(MessageOf(kiln_function_load(client_, kSumAndProduct, std::strlen(kSumAndProduct), nullptr, &function)),
            "");
  EXPECT_STREQ(kiln_function_name(function), "sum_and_product");
  EXPECT_EQ(kiln_function_input_count(function), 2u);
  EXPECT_EQ(kiln_function_output_count(function), 2u);
  kiln_buffer* inputs[] = {Make({1, 2, 3}), Make({4, 5, 6})};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        kiln_buffer* outputs[2];
        ASSERT_EQ(MessageOf(kiln_function_call(function, inputs, 2, outputs, 2)), "");
        float host[3];
        EXPECT_EQ(MessageOf(kiln_buffer_to_host(outputs[1], host, sizeof(host))), "");
        EXPECT_EQ(host[2], 18);
        for (kiln_buffer* output : outputs) kiln_buffer_destroy(output);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  kiln_function_statistics statistics = KILN_FUNCTION_STATISTICS_INIT;
  EXPECT_EQ(MessageOf(kiln_function_get_statistics(function, &statistics)), "");
  EXPECT_EQ(statistics.calls, 100);
  EXPECT_EQ(statistics.compiles, 1);
  EXPECT_EQ(statistics.cache_hits, 99);
  EXPECT_GT(statistics.compile_seconds, 0);

  kiln_buffer* outputs[2];
  kiln_buffer* wrong[] = {inputs[0], Make({1, 2})};
  kiln_status* status = kiln_function_call(function, wrong, 2, outputs, 2);
  EXPECT_EQ(kiln_status_code(status), KILN_INVALID_ARGUMENT);
  const std::string message = MessageOf(status);
  EXPECT_NE(message.find("argument 1"), std::string::npos) << message;
  EXPECT_NE(message.find("f32[2]"), std::string::npos) << message;
  EXPECT_NE(MessageOf(kiln_function_call(function, inputs, 1, outputs, 2)), "");
  EXPECT_NE(MessageOf(kiln_function_call(function, inputs, 2, outputs, 1)), "");
  for (kiln_buffer* buffer : {inputs[0], inputs[1], wrong[1]}) kiln_buffer_destroy(buffer);
  kiln_function_destroy(function);
}

TEST_F(KilnHTest, ErrorsHaveCodesAndMessages) {
  kiln_function* function = nullptr;
  kiln_status* status = kiln_function_load(client_, "HloModule m\nnonsense", 20, nullptr, &function);
  EXPECT_NE(kiln_status_code(status), KILN_OK);
  EXPECT_NE(MessageOf(status), "");
  EXPECT_EQ(function, nullptr);
  kiln_buffer* buffer = nullptr;
  EXPECT_NE(MessageOf(kiln_buffer_from_host(client_, static_cast<kiln_dtype>(13), nullptr, 0, "", nullptr, &buffer)),
            "");
  kiln_client_options options = KILN_CLIENT_OPTIONS_INIT;
  options.max_threads = -5;
  kiln_client* client = nullptr;
  EXPECT_NE(MessageOf(kiln_client_create(&options, &client)), "");
  // A caller that knows only struct_size gets the defaults.
  options.struct_size = sizeof(size_t);
  EXPECT_EQ(MessageOf(kiln_client_create(&options, &client)), "");
  kiln_client_destroy(client);
}

void AddOne(void* out, const void** in, void* status) {
  for (int i = 0; i < 3; ++i) static_cast<float*>(out)[i] = static_cast<const float*>(in[0])[i] + 1;
  if (static_cast<const float*>(in[0])[0] < 0) kiln_ffi_set_failure(status, "negative", 8);
}

TEST_F(KilnHTest, CustomCalls) {
  EXPECT_EQ(MessageOf(kiln_ffi_register_function("add_one", "cpu", reinterpret_cast<void*>(&AddOne))), "");
  kiln_ffi_handler handler = KILN_FFI_HANDLER_INIT;
  EXPECT_NE(MessageOf(kiln_ffi_register_handler("add_one", "cpu", &handler)), "");
  EXPECT_NE(MessageOf(kiln_ffi_register_handler("add_one", nullptr, &handler)), "");
  int64_t id = 0;
  EXPECT_EQ(MessageOf(kiln_ffi_register_type("a type", &id, nullptr)), "");
  EXPECT_NE(id, 0);
  const std::string program = R"(HloModule m
ENTRY e {
  p = f32[3] parameter(0)
  ROOT c = f32[3] custom-call(p), custom_call_target="add_one", api_version=API_VERSION_STATUS_RETURNING
})";
  kiln_function* function = nullptr;
  ASSERT_EQ(MessageOf(kiln_function_load(client_, program.data(), program.size(), "hlo", &function)), "");
  for (const float first : {1.f, -1.f}) {
    kiln_buffer* input = Make({first, 2, 3});
    kiln_buffer* output = nullptr;
    ASSERT_EQ(MessageOf(kiln_function_call(function, &input, 1, &output, 1)), "");
    float host[3] = {};
    const std::string message = MessageOf(kiln_buffer_to_host(output, host, sizeof(host)));
    if (first > 0) {
      EXPECT_EQ(message, "");
      EXPECT_EQ(host[2], 4);
    } else {
      EXPECT_EQ(message, "custom-call c: custom call 'add_one': negative");
    }
    kiln_buffer_destroy(output);
    kiln_buffer_destroy(input);
  }
  kiln_function_destroy(function);
}

}  // namespace
