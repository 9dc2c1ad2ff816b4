// Programs that are compiled on first call of each combination of shapes and types. Header-only, over kiln.h.
#ifndef KILN_FUNCTION_H_
#define KILN_FUNCTION_H_

#include <kiln.h>

#include <memory>
#include <string>
#include <vector>

#include "kiln/buffer.h"
#include "kiln/status.h"

namespace kiln {

// Owns a kiln_function. Movable. Calls from many threads may run at once.
class Function {
 public:
  explicit Function(kiln_function* function) : function_(function, &kiln_function_destroy) {}

  std::string name() const { return kiln_function_name(get()); }
  size_t input_count() const { return kiln_function_input_count(get()); }
  size_t output_count() const { return kiln_function_output_count(get()); }

  // Calls the program; compiles it first when it is new for these shapes and types.
  Result<std::vector<Buffer>> Call(const std::vector<const Buffer*>& inputs) const {
    std::vector<kiln_buffer*> arguments;
    for (const Buffer* input : inputs) arguments.push_back(input->get());
    std::vector<kiln_buffer*> results(output_count());
    Status status(kiln_function_call(get(), arguments.data(), arguments.size(), results.data(), results.size()));
    if (!status.ok()) return status;
    std::vector<Buffer> outputs;
    for (kiln_buffer* result : results) outputs.emplace_back(result);
    return outputs;
  }

  kiln_function_statistics Statistics() const {
    kiln_function_statistics statistics = KILN_FUNCTION_STATISTICS_INIT;
    kiln_status_destroy(kiln_function_get_statistics(get(), &statistics));
    return statistics;
  }

  kiln_function* get() const { return function_.get(); }

 private:
  std::unique_ptr<kiln_function, void (*)(kiln_function*)> function_;
};

}  // namespace kiln

#endif  // KILN_FUNCTION_H_
