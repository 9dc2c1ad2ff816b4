#include "src/runtime/ffi/blas_threads.h"

#include <dlfcn.h>
#include <link.h>

#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/synchronization/mutex.h"

namespace kiln::runtime::ffi {
namespace {

struct BlasState {
  absl::Mutex mutex;
  BlasControl control ABSL_GUARDED_BY(mutex);
  int64_t limits ABSL_GUARDED_BY(mutex) = 0;
  int chosen ABSL_GUARDED_BY(mutex) = 0;  // threads, before the first limit
};

BlasState& TheState() {
  static BlasState& state = *new BlasState;
  return state;
}

BlasControl ControlOfLoaded() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* found) {
        if (absl::StrContains(info->dlpi_name, "openblas")) {
          static_cast<std::vector<std::string>*>(found)->push_back(info->dlpi_name);
        }
        return 0;
      },
      &paths);
  for (const std::string& path : paths) {
    // It is there already, and stays.
    void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    // SciPy's own copy, which LAPACK comes from, and a system's. NumPy's has other names.
    for (const std::string prefix : {"scipy_openblas", "openblas"}) {
      const BlasControl control = {
          reinterpret_cast<int (*)()>(dlsym(library, (prefix + "_get_num_threads").c_str())),
          reinterpret_cast<void (*)(int)>(dlsym(library, (prefix + "_set_num_threads").c_str()))};
      if (control.get != nullptr && control.set != nullptr) return control;
    }
  }
  return {};
}

}  // namespace

void FindBlasControl() {
  BlasState& state = TheState();
  const absl::MutexLock lock(&state.mutex);
  if (state.control.set == nullptr) state.control = ControlOfLoaded();
}

void SetBlasControlForTest(BlasControl control) {
  BlasState& state = TheState();
  const absl::MutexLock lock(&state.mutex);
  state.control = control;
}

OneBlasThread::OneBlasThread(bool limits) : limits_(limits) {
  if (!limits_) return;
  BlasState& state = TheState();
  const absl::MutexLock lock(&state.mutex);
  if (state.control.set == nullptr || state.limits++ > 0) return;
  state.chosen = state.control.get();
  if (state.chosen > 1) state.control.set(1);
}

OneBlasThread::~OneBlasThread() {
  if (!limits_) return;
  BlasState& state = TheState();
  const absl::MutexLock lock(&state.mutex);
  if (state.limits == 0 || --state.limits > 0) return;
  if (state.chosen > 1) state.control.set(state.chosen);
}

}  // namespace kiln::runtime::ffi
