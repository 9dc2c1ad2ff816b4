// Runs GPU kernels on the machine's own device, through the CUDA driver where one is installed.
#ifndef KILN_TESTS_GPU_CUDA_DEVICE_H_
#define KILN_TESTS_GPU_CUDA_DEVICE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "src/gpu/kernel_emitter.h"

namespace kiln::gpu {

struct CudaDriver;

class CudaDevice {
 public:
  // NOT_FOUND where there is no driver or no device.
  static absl::Status IsPresent();

  // Device 0 with the kernels of a PTX text. INTERNAL when the driver refuses the text.
  static absl::StatusOr<std::unique_ptr<CudaDevice>> Create(const std::string& ptx);
  ~CudaDevice();

  // One launch over copies of the arrays, each aligned as cuMemAlloc does, and the copies back. INTERNAL for what the
  // driver reports, with its name for it; after an error in a kernel all later calls of the process fail.
  absl::Status Run(const Launch& launch, const std::vector<absl::Span<std::byte>>& arguments);

 private:
  explicit CudaDevice(const CudaDriver* driver) : driver_(driver) {}

  const CudaDriver* driver_;
  void* module_ = nullptr;
};

}  // namespace kiln::gpu

#endif  // KILN_TESTS_GPU_CUDA_DEVICE_H_
