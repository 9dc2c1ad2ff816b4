/* Multiplies two matrices with Kiln from plain C, and prints what the cache of compiled code did.
 *
 *   cc -std=c99 -Ic_api examples/c/matmul.c -o matmul -Lbuild -lkiln_pjrt -Wl,-rpath,$PWD/build && ./matmul
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kiln.h"

static const char kProgram[] =
    "HloModule matmul_bias\n"
    "\n"
    "ENTRY main {\n"
    "  x = f32[2,3] parameter(0)\n"
    "  w = f32[3,2] parameter(1)\n"
    "  bias = f32[2] parameter(2)\n"
    "  product = f32[2,2] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  rows = f32[2,2] broadcast(bias), dimensions={1}\n"
    "  ROOT sum = f32[2,2] add(product, rows)\n"
    "}\n";

/* Ends the program with the message of an error, if there is one. */
static void check(kiln_status* status) {
  if (status == NULL) return;
  fprintf(stderr, "kiln: %s\n", kiln_status_message(status));
  kiln_status_destroy(status);
  exit(1);
}

int main(void) {
  const float x[] = {1, 2, 3, 4, 5, 6};
  const float w[] = {1, 0, 0, 1, 1, 1};
  const float bias[] = {10, 20};
  const float expected[] = {14, 25, 20, 31};
  const int64_t x_dims[] = {2, 3}, w_dims[] = {3, 2}, bias_dims[] = {2};
  float result[4];
  int i;

  kiln_client* client;
  check(kiln_client_create(NULL, &client));
  kiln_function* function;
  check(kiln_function_load(client, kProgram, strlen(kProgram), "hlo", &function));

  kiln_buffer* inputs[3];
  check(kiln_buffer_from_host(client, KILN_F32, x_dims, 2, x, NULL, &inputs[0]));
  check(kiln_buffer_from_host(client, KILN_F32, w_dims, 2, w, NULL, &inputs[1]));
  check(kiln_buffer_from_host(client, KILN_F32, bias_dims, 1, bias, NULL, &inputs[2]));
  for (i = 0; i < 3; ++i) {
    kiln_buffer* output;
    check(kiln_function_call(function, inputs, 3, &output, 1));
    check(kiln_buffer_to_host(output, result, sizeof(result)));
    kiln_buffer_destroy(output);
  }
  printf("%g %g\n%g %g\n", result[0], result[1], result[2], result[3]);

  kiln_function_statistics statistics = KILN_FUNCTION_STATISTICS_INIT;
  check(kiln_function_get_statistics(function, &statistics));
  printf("%lld calls, %lld compiled in %.1f ms, %lld from the cache\n", (long long)statistics.calls,
         (long long)statistics.compiles, statistics.compile_seconds * 1e3, (long long)statistics.cache_hits);

  for (i = 0; i < 3; ++i) kiln_buffer_destroy(inputs[i]);
  kiln_function_destroy(function);
  kiln_client_destroy(client);
  return memcmp(result, expected, sizeof(result)) == 0 ? 0 : 1;
}
