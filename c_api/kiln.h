/* Kiln's own C API: load a program once, call it with arrays; it is compiled on first call and cached.
 *
 * Plain C99. Every function is safe to call from many threads at once; one object may be used by several threads, but
 * must not be destroyed while another thread is using it.
 *
 * Errors: functions that can fail return a kiln_status*, null for success. The caller destroys it with
 * kiln_status_destroy. When a function fails, its outputs are left alone.
 *
 * Structures begin with `struct_size`, which the caller sets to sizeof of the structure it was compiled with; their
 * initializer macros do so. Later versions only add fields at the end.
 */
#ifndef KILN_C_API_KILN_H_
#define KILN_C_API_KILN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KILN_VERSION_MAJOR 0
#define KILN_VERSION_MINOR 1
#define KILN_VERSION_PATCH 0

/* "0.1.0", of the library that is loaded. Never freed. */
const char* kiln_version(void);

/* ---- Status ---------------------------------------------------------------------------------------------------- */

typedef enum kiln_code {
  KILN_OK = 0,
  KILN_CANCELLED = 1,
  KILN_UNKNOWN = 2,
  KILN_INVALID_ARGUMENT = 3,
  KILN_DEADLINE_EXCEEDED = 4,
  KILN_NOT_FOUND = 5,
  KILN_ALREADY_EXISTS = 6,
  KILN_PERMISSION_DENIED = 7,
  KILN_RESOURCE_EXHAUSTED = 8,
  KILN_FAILED_PRECONDITION = 9,
  KILN_ABORTED = 10,
  KILN_OUT_OF_RANGE = 11,
  KILN_UNIMPLEMENTED = 12,
  KILN_INTERNAL = 13,
  KILN_UNAVAILABLE = 14,
  KILN_DATA_LOSS = 15,
  KILN_UNAUTHENTICATED = 16
} kiln_code;

/* An error. */
typedef struct kiln_status kiln_status;

/* The code of a status; KILN_OK for null. */
kiln_code kiln_status_code(const kiln_status* status);
/* The message, ending in NUL; it lives as long as the status. "" for null. */
const char* kiln_status_message(const kiln_status* status);
/* Frees a status. Null is allowed. */
void kiln_status_destroy(kiln_status* status);

/* ---- Client ---------------------------------------------------------------------------------------------------- */

/* Threads and memory that programs run with. */
typedef struct kiln_client kiln_client;

/* A zero in a field asks for its default. */
typedef struct kiln_client_options {
  size_t struct_size;
  int64_t max_threads;        /* default: the CPUs that affinity and cgroup allow */
  int64_t memory_limit_bytes; /* of arrays and scratch memory in use; default: the machine's memory */
  int64_t cache_limit_bytes;  /* freed memory kept for reuse; default: an eighth of the limit */
} kiln_client_options;
#define KILN_CLIENT_OPTIONS_INIT \
  { sizeof(kiln_client_options), 0, 0, 0 }

/* Makes a client. `options` may be null. The caller destroys it after everything that was made from it. */
kiln_status* kiln_client_create(const kiln_client_options* options, kiln_client** client);
/* Frees a client. Null is allowed. */
void kiln_client_destroy(kiln_client* client);

/* ---- Buffers --------------------------------------------------------------------------------------------------- */

/* Element types; the numbers are those of HLO. Types narrower than a byte take one byte per element. */
typedef enum kiln_dtype {
  KILN_PRED = 1,
  KILN_S8 = 2,
  KILN_S16 = 3,
  KILN_S32 = 4,
  KILN_S64 = 5,
  KILN_U8 = 6,
  KILN_U16 = 7,
  KILN_U32 = 8,
  KILN_U64 = 9,
  KILN_F16 = 10,
  KILN_F32 = 11,
  KILN_F64 = 12,
  KILN_C64 = 15,
  KILN_BF16 = 16,
  KILN_C128 = 18,
  KILN_F8E5M2 = 19,
  KILN_F8E4M3FN = 20,
  KILN_S4 = 21,
  KILN_U4 = 22,
  KILN_F8E4M3B11FNUZ = 23,
  KILN_F8E5M2FNUZ = 24,
  KILN_F8E4M3FNUZ = 25,
  KILN_S2 = 26,
  KILN_U2 = 27,
  KILN_F8E4M3 = 28,
  KILN_F8E3M4 = 29,
  KILN_S1 = 30,
  KILN_U1 = 31,
  KILN_F4E2M1FN = 32,
  KILN_F8E8M0FNU = 33
} kiln_dtype;

/* An array in a client's memory. */
typedef struct kiln_buffer kiln_buffer;

/* Copies a host array. `dims` has `rank` sizes (null for rank 0). `byte_strides` has `rank` distances between
 * neighbours, of any sign, relative to `data`, the element of index 0; null means dense row-major. */
kiln_status* kiln_buffer_from_host(kiln_client* client, kiln_dtype dtype, const int64_t* dims, size_t rank,
                                   const void* data, const int64_t* byte_strides, kiln_buffer** buffer);
/* Uses a dense row-major host array in place; it must stay unchanged until `release(argument)` is called, which happens
 * once, when the buffer is destroyed and no call uses it any more. Memory that is not aligned to 64 bytes is copied and
 * released at once. `release` may be null. After a failure, `release` is not called. */
kiln_status* kiln_buffer_borrow(kiln_client* client, kiln_dtype dtype, const int64_t* dims, size_t rank,
                                const void* data, void (*release)(void* argument), void* argument,
                                kiln_buffer** buffer);
/* Copies the array, dense and row-major, into `data`, which has room for `size` bytes. Waits until the content is
 * there. */
kiln_status* kiln_buffer_to_host(const kiln_buffer* buffer, void* data, size_t size);
/* Waits until the content is there; the error when it could not be computed. */
kiln_status* kiln_buffer_await(const kiln_buffer* buffer);
/* The content itself, dense and row-major, valid while the buffer lives. Waits until it is there. */
kiln_status* kiln_buffer_data(const kiln_buffer* buffer, const void** data);
/* Element type, number of dimensions, dimensions (`rank` of them, owned by the buffer) and bytes;
 * zeros for a null buffer. */
kiln_dtype kiln_buffer_dtype(const kiln_buffer* buffer);
size_t kiln_buffer_rank(const kiln_buffer* buffer);
const int64_t* kiln_buffer_dims(const kiln_buffer* buffer);
size_t kiln_buffer_size(const kiln_buffer* buffer);
/* Frees a buffer; calls in flight keep what they need. Null is allowed. */
void kiln_buffer_destroy(kiln_buffer* buffer);

/* ---- Functions ------------------------------------------------------------------------------------------------- */

/* A program that is compiled for the shapes and element types it is called with. */
typedef struct kiln_function kiln_function;

/* Reads and checks a program. `format` is "hlo" (HLO text), "mlir" (StableHLO or VHLO bytecode), or null: told from the
 * bytes. Nothing is compiled yet, and the bytes are not needed afterwards. */
kiln_status* kiln_function_load(kiln_client* client, const void* program, size_t size, const char* format,
                                kiln_function** function);
/* The program's name; it lives as long as the function. */
const char* kiln_function_name(const kiln_function* function);
/* How many arrays the program takes and gives; tuples count as their elements. 0 for null. */
size_t kiln_function_input_count(const kiln_function* function);
size_t kiln_function_output_count(const kiln_function* function);
/* Calls the program. The first call for each combination of shapes and element types compiles; threads that ask for the
 * same one meanwhile wait for it. `outputs` receives `output_count` new buffers, which must be the number that the
 * program gives; their content may still be in the making (kiln_buffer_await). Inputs are not changed. A program with
 * fixed shapes refuses other ones with KILN_INVALID_ARGUMENT. */
kiln_status* kiln_function_call(kiln_function* function, kiln_buffer* const* inputs, size_t input_count,
                                kiln_buffer** outputs, size_t output_count);

/* Counts since the function was loaded. */
typedef struct kiln_function_statistics {
  size_t struct_size;
  int64_t calls;
  int64_t compiles;
  int64_t cache_hits; /* calls that found compiled code */
  double compile_seconds;
} kiln_function_statistics;
#define KILN_FUNCTION_STATISTICS_INIT \
  { sizeof(kiln_function_statistics), 0, 0, 0, 0.0 }

/* Fills the fields that lie inside `statistics->struct_size`. */
kiln_status* kiln_function_get_statistics(const kiln_function* function, kiln_function_statistics* statistics);
/* Frees a function; calls in flight go on. Null is allowed. */
void kiln_function_destroy(kiln_function* function);

/* ---- Custom calls ---------------------------------------------------------------------------------------------- */

/* What a program's custom-call of a target runs. Registrations are the process's, for programs compiled afterwards.
 * `platform` is "kiln" or "cpu" for programs on the CPU. The same functions may be registered again, others under a
 * known name are KILN_ALREADY_EXISTS. */

/* Handlers of the XLA FFI, as XLA_FFI_DEFINE_HANDLER makes them, each an XLA_FFI_Handler*: for calls of api_version
 * API_VERSION_TYPED_FFI. Null leaves a stage out; `execute` is required. Each handler is called once for its metadata
 * before this returns. `traits` are those of the FFI. */
typedef struct kiln_ffi_handler {
  size_t struct_size;
  void* instantiate;
  void* prepare;
  void* initialize;
  void* execute;
  uint32_t traits;
} kiln_ffi_handler;
#define KILN_FFI_HANDLER_INIT \
  { sizeof(kiln_ffi_handler), NULL, NULL, NULL, NULL, 0 }
kiln_status* kiln_ffi_register_handler(const char* target, const char* platform, const kiln_ffi_handler* handler);

/* A plain function for calls of the older api versions:
 *   API_VERSION_ORIGINAL                  void f(void* out, const void** in)
 *   API_VERSION_STATUS_RETURNING          void f(void* out, const void** in, XlaCustomCallStatus* status)
 *   API_VERSION_STATUS_RETURNING_UNIFIED  void f(void* out, const void** in, const char* opaque, size_t opaque_size,
 *                                                XlaCustomCallStatus* status)
 * `out` is the result, or a table of results where the call gives a tuple. */
kiln_status* kiln_ffi_register_function(const char* target, const char* platform, void* function);
/* Makes the call that `status`, an XlaCustomCallStatus*, belongs to fail with a message of `size` bytes. */
void kiln_ffi_set_failure(void* status, const char* message, size_t size);

/* Registers a type of state or user data of handlers. An `*id` of zero receives the id of the name, another value must
 * be it. `deleter` frees objects of the type; it may be null. */
kiln_status* kiln_ffi_register_type(const char* name, int64_t* id, void (*deleter)(void* object));

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* KILN_C_API_KILN_H_ */
