// Threads of the BLAS library that handlers of LAPACK call. It divides products of a few thousand numbers, and waits
// for its threads by spinning: beside any other work that wants a CPU a decomposition takes hundreds of times as long.
#ifndef KILN_RUNTIME_FFI_BLAS_THREADS_H_
#define KILN_RUNTIME_FFI_BLAS_THREADS_H_

#include <cstdint>

namespace kiln::runtime::ffi {

// The functions of a library that get and set how many threads its calls use, in the whole process.
struct BlasControl {
  int (*get)() = nullptr;
  void (*set)(int) = nullptr;
};

// Looks for OpenBLAS among the loaded libraries, until there is one. Thread-safe.
void FindBlasControl();
void SetBlasControlForTest(BlasControl control);

// Matrices of up to this many elements gain nothing from several threads.
inline constexpr int64_t kOneThreadElements = int64_t{1} << 18;

// While one lives, BLAS calls use one thread. Several may live at once, on any threads; what the program chose is
// restored when the last one goes.
class OneBlasThread {
 public:
  explicit OneBlasThread(bool limits);
  ~OneBlasThread();
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;

 private:
  const bool limits_;
};

}  // namespace kiln::runtime::ffi

#endif  // KILN_RUNTIME_FFI_BLAS_THREADS_H_
