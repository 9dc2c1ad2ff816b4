// Clones of functions for several instruction sets, of which the process takes one when it starts.
#ifndef KILN_CPU_VECTOR_CLONES_H_
#define KILN_CPU_VECTOR_CLONES_H_

// `middle` is the feature between AVX-512 and what every processor of the kind has. What such a function calls must be
// inlined into it. Clones are chosen before ThreadSanitizer's runtime is there, on which the choice would crash.
#if defined(__x86_64__) && !__has_feature(thread_sanitizer)
#define KILN_VECTOR_CLONES(middle) __attribute__((target_clones("avx512bw", middle, "default")))
#else
#define KILN_VECTOR_CLONES(middle)
#endif

#endif  // KILN_CPU_VECTOR_CLONES_H_
