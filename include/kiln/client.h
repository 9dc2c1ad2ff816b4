// The entry to Kiln from C++: threads, memory, and what makes buffers and functions. Header-only, over kiln.h.
#ifndef KILN_CLIENT_H_
#define KILN_CLIENT_H_

#include <kiln.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/buffer.h"
#include "kiln/function.h"
#include "kiln/status.h"

namespace kiln {

// Options of kiln_client_create; zero asks for the default.
struct ClientOptions {
  int64_t max_threads = 0;
  int64_t memory_limit_bytes = 0;
  int64_t cache_limit_bytes = 0;
};

// Owns a kiln_client. Movable; must outlive the buffers and functions made from it. Thread-safe.
class Client {
 public:
  static Result<Client> Create(const ClientOptions& options = {}) {
    kiln_client_options c_options = KILN_CLIENT_OPTIONS_INIT;
    c_options.max_threads = options.max_threads;
    c_options.memory_limit_bytes = options.memory_limit_bytes;
    c_options.cache_limit_bytes = options.cache_limit_bytes;
    kiln_client* client = nullptr;
    if (Status status(kiln_client_create(&c_options, &client)); !status.ok()) return status;
    return Client(client);
  }

  // Copies a dense row-major array of dims' size.
  template <typename T>
  Result<Buffer> MakeBuffer(const std::vector<T>& values, const std::vector<int64_t>& dims) const {
    // vector<bool> is packed; pred is one byte per element.
    static_assert(!std::is_same_v<T, bool>, "make pred from bytes with kiln_buffer_from_host");
    int64_t count = 1;
    for (int64_t size : dims) {
      if (size < 0 || (size != 0 && count > INT64_MAX / size)) {
        return Status(KILN_INVALID_ARGUMENT, "bad dimensions of a buffer");
      }
      count *= size;
    }
    if (static_cast<uint64_t>(count) != values.size()) {
      return Status(KILN_INVALID_ARGUMENT, "a buffer of " + std::to_string(count) + " elements from " +
                                               std::to_string(values.size()) + " values");
    }
    kiln_buffer* buffer = nullptr;
    // An empty vector's data may be null.
    const void* data = values.empty() ? static_cast<const void*>("") : values.data();
    Status status(kiln_buffer_from_host(get(), DtypeOf<T>::value, dims.data(), dims.size(), data, nullptr, &buffer));
    if (!status.ok()) return status;
    return Buffer(buffer);
  }

  // Reads a program; `format` is "hlo" or "mlir", or empty: told from the bytes.
  Result<Function> Load(std::string_view program, const std::string& format = "") const {
    kiln_function* function = nullptr;
    Status status(kiln_function_load(get(), program.data(), program.size(), format.empty() ? nullptr : format.c_str(),
                                     &function));
    if (!status.ok()) return status;
    return Function(function);
  }

  kiln_client* get() const { return client_.get(); }

 private:
  explicit Client(kiln_client* client) : client_(client, &kiln_client_destroy) {}
  std::unique_ptr<kiln_client, void (*)(kiln_client*)> client_;
};

}  // namespace kiln

#endif  // KILN_CLIENT_H_
