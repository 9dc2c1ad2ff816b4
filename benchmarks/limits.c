// What this machine can do at most, one number per line: `name value unit`. Compiled by limits.py with -march=native.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

static double Now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

#if defined(__AVX512F__)
enum { kLanes = 16, kAccumulators = 16 };
#else
enum { kLanes = 8, kAccumulators = 12 };  // of 16 registers, beside two operands
#endif
typedef float Vector __attribute__((vector_size(4 * kLanes)));
enum { kRounds = 2000000 };

// Enough independent chains to hide the latency of an FMA; the sum keeps the compiler from dropping them.
static void* MultiplyAdd(void* result) {
  Vector accumulators[kAccumulators], x, y;
  for (int lane = 0; lane < kLanes; ++lane) x[lane] = 0.999f, y[lane] = 1e-6f * lane;
  for (int i = 0; i < kAccumulators; ++i) accumulators[i] = y;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kAccumulators; ++i) accumulators[i] = accumulators[i] * x + y;
    __asm__ volatile("" : "+x"(x), "+x"(y));
  }
  float sum = 0;
  for (int i = 0; i < kAccumulators; ++i) sum += accumulators[i][0];
  *(float*)result = sum;
  return NULL;
}

#ifdef __AVX512BF16__
static void* DotBf16(void* result) {
  __m512 accumulators[kAccumulators];
  __m512bh x = (__m512bh)_mm512_set1_epi16(0x3f80);
  for (int i = 0; i < kAccumulators; ++i) accumulators[i] = _mm512_setzero_ps();
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kAccumulators; ++i) accumulators[i] = _mm512_dpbf16_ps(accumulators[i], x, x);
    __asm__ volatile("" : "+x"(x));
  }
  float sum = 0;
  for (int i = 0; i < kAccumulators; ++i) sum += accumulators[i][0];
  *(float*)result = sum;
  return NULL;
}
#endif

static const size_t kBytes = (size_t)256 << 20;
struct Copy {
  char *to, *from;
  size_t bytes;
};

static void* CopyOnce(void* argument) {
  struct Copy* copy = argument;
  memcpy(copy->to, copy->from, copy->bytes);
  return NULL;
}

static void* Touch(void* argument) {
  struct Copy* copy = argument;
  for (size_t i = 0; i < copy->bytes; i += 4096) copy->to[i] = 1;
  return NULL;
}

// Seconds that `threads` threads take for `function` over their arguments.
static double Parallel(int threads, void* (*function)(void*), void* arguments, size_t stride) {
  pthread_t handles[256];
  const double begin = Now();
  for (int i = 0; i < threads; ++i) pthread_create(&handles[i], NULL, function, (char*)arguments + i * stride);
  for (int i = 0; i < threads; ++i) pthread_join(handles[i], NULL);
  return Now() - begin;
}

int main(int argc, char** argv) {
  int threads = argc > 1 ? atoi(argv[1]) : 1;
  if (threads < 1 || threads > 256) threads = 1;
  float sums[256];
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double seconds = Parallel(threads, MultiplyAdd, sums, sizeof(float));
    if (seconds < best) best = seconds;
  }
  printf("fma %.1f GFLOP/s\n", 2e-9 * threads * kLanes * kAccumulators * kRounds / best);
#ifdef __AVX512BF16__
  best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double seconds = Parallel(threads, DotBf16, sums, sizeof(float));
    if (seconds < best) best = seconds;
  }
  printf("dpbf16 %.1f GFLOP/s\n", 4e-9 * threads * 16 * kAccumulators * kRounds / best);
#endif
  char* from = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* to = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (from == MAP_FAILED || to == MAP_FAILED) return 1;
  memset(from, 1, kBytes);
  struct Copy parts[256];
  for (int i = 0; i < threads; ++i) {
    const size_t begin = kBytes / threads * i;
    parts[i] = (struct Copy){to + begin, from + begin, kBytes / threads};
  }
  printf("fault %.2f GB/s\n", 1e-9 * kBytes / Parallel(threads, Touch, parts, sizeof(parts[0])));
  best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double seconds = Parallel(threads, CopyOnce, parts, sizeof(parts[0]));
    if (seconds < best) best = seconds;
  }
  printf("copy %.1f GB/s\n", 2e-9 * kBytes / best);
  return 0;
}
