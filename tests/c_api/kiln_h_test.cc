// kiln.h, linked as a user links it.
#include "c_api/kiln.h"

#include <cstring>
#include <string>
#include <vector>

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
  EXPECT_EQ(MessageOf(kiln_buffer_borrow(
                client_, KILN_F32, dims, 1, values, [](void* count) { ++*static_cast<int*>(count); }, &released,
                &buffer)),
            "");
  const void* data = nullptr;
  EXPECT_EQ(MessageOf(kiln_buffer_data(buffer, &data)), "");
  EXPECT_EQ(data, values);
  EXPECT_EQ(released, 0);
  kiln_buffer_destroy(buffer);
  EXPECT_EQ(released, 1);
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

}  // namespace
