#include "tests/gpu/cuda_device.h"

#include <dlfcn.h>

#include <cstdint>
#include <utility>

#include "src/base/status.h"

namespace kiln::gpu {

// The driver's functions, whose types are those of cuda.h: an int is CUresult or CUdevice, a uint64_t CUdeviceptr.
struct CudaDriver {
  int (*initialize)(unsigned flags);
  int (*get_device)(int* device, int ordinal);
  int (*retain_context)(void** context, int device);
  int (*set_context)(void* context);
  int (*get_error_name)(int error, const char** name);
  int (*load_module)(void** module, const void* image);
  int (*unload_module)(void* module);
  int (*get_function)(void** function, void* module, const char* name);
  int (*allocate)(uint64_t* address, size_t bytes);
  int (*free)(uint64_t address);
  int (*copy_to_device)(uint64_t to, const void* from, size_t bytes);
  int (*copy_to_host)(void* to, uint64_t from, size_t bytes);
  int (*synchronize)();
  int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                unsigned block_z, unsigned shared_bytes, void* stream, void** parameters, void** extra);

  absl::Status Check(int result, absl::string_view what) const {
    if (result == 0) return absl::OkStatus();
    const char* name = nullptr;
    get_error_name(result, &name);
    return Internal(what, ": ", name != nullptr ? name : "an error without a name", " (", result, ")");
  }
};

namespace {

absl::StatusOr<CudaDriver> OpenDriver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return NotFound("no CUDA driver: ", dlerror());
  CudaDriver driver;
  const std::pair<const char*, void*> functions[] = {
      {"cuInit", &driver.initialize},
      {"cuDeviceGet", &driver.get_device},
      {"cuDevicePrimaryCtxRetain", &driver.retain_context},
      {"cuCtxSetCurrent", &driver.set_context},
      {"cuGetErrorName", &driver.get_error_name},
      {"cuModuleLoadData", &driver.load_module},
      {"cuModuleUnload", &driver.unload_module},
      {"cuModuleGetFunction", &driver.get_function},
      {"cuMemAlloc_v2", &driver.allocate},
      {"cuMemFree_v2", &driver.free},
      {"cuMemcpyHtoD_v2", &driver.copy_to_device},
      {"cuMemcpyDtoH_v2", &driver.copy_to_host},
      {"cuCtxSynchronize", &driver.synchronize},
      {"cuLaunchKernel", &driver.launch},
  };
  for (const auto& [name, slot] : functions) {
    void* function = dlsym(library, name);
    if (function == nullptr) return NotFound("the CUDA driver has no ", name);
    *static_cast<void**>(slot) = function;
  }
  int device = 0;
  void* context = nullptr;
  if (driver.initialize(0) != 0 || driver.get_device(&device, 0) != 0) return NotFound("no CUDA device");
  KILN_RETURN_IF_ERROR(driver.Check(driver.retain_context(&context, device), "a context"));
  KILN_RETURN_IF_ERROR(driver.Check(driver.set_context(context), "a context"));
  return driver;
}

const absl::StatusOr<CudaDriver>& Driver() {
  static const auto* const driver = new absl::StatusOr<CudaDriver>(OpenDriver());
  return *driver;
}

}  // namespace

absl::Status CudaDevice::IsPresent() { return Driver().status(); }

absl::StatusOr<std::unique_ptr<CudaDevice>> CudaDevice::Create(const std::string& ptx) {
  KILN_RETURN_IF_ERROR(IsPresent());
  std::unique_ptr<CudaDevice> device(new CudaDevice(&*Driver()));
  KILN_RETURN_IF_ERROR(Driver()->Check(Driver()->load_module(&device->module_, ptx.c_str()), "loading PTX"));
  return device;
}

CudaDevice::~CudaDevice() {
  if (module_ != nullptr) driver_->unload_module(module_);
}

absl::Status CudaDevice::Run(const Launch& launch, const std::vector<absl::Span<std::byte>>& arguments) {
  void* function = nullptr;
  KILN_RETURN_IF_ERROR(driver_->Check(driver_->get_function(&function, module_, launch.entry.c_str()), launch.entry));
  std::vector<uint64_t> addresses;
  const auto run = [&]() -> absl::Status {
    for (const absl::Span<std::byte> array : arguments) {
      KILN_RETURN_IF_ERROR(driver_->Check(driver_->allocate(&addresses.emplace_back(0), array.size()), "memory"));
      KILN_RETURN_IF_ERROR(
          driver_->Check(driver_->copy_to_device(addresses.back(), array.data(), array.size()), "copy"));
    }
    std::vector<void*> parameters;
    for (uint64_t& address : addresses) parameters.push_back(&address);
    KILN_RETURN_IF_ERROR(driver_->Check(driver_->launch(function, static_cast<unsigned>(launch.schedule.blocks), 1, 1,
                                                        static_cast<unsigned>(launch.schedule.block_threads), 1, 1, 0,
                                                        nullptr, parameters.data(), nullptr),
                                        launch.entry));
    KILN_RETURN_IF_ERROR(driver_->Check(driver_->synchronize(), launch.entry));
    for (size_t i = 0; i < arguments.size(); ++i) {
      KILN_RETURN_IF_ERROR(
          driver_->Check(driver_->copy_to_host(arguments[i].data(), addresses[i], arguments[i].size()), "copy"));
    }
    return absl::OkStatus();
  };
  const absl::Status status = run();
  for (const uint64_t address : addresses) driver_->free(address);
  return status;
}

}  // namespace kiln::gpu
