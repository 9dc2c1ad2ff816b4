// Handlers as users write them, against the headers that jaxlib ships.
#include <atomic>
#include <cmath>
#include <complex>
#include <cstring>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;
using F32 = ffi::Buffer<ffi::F32>;
using F32Result = ffi::ResultBuffer<ffi::F32>;

namespace {

void Copy(F32 x, F32Result y) { std::memmove(y->typed_data(), x.typed_data(), x.size_bytes()); }

// y = x * scale; errors and an exception by the value of scale.
ffi::Error Scale(F32 x, F32Result y, float scale) {
  if (scale < 0) return ffi::Error(ffi::ErrorCode::kOutOfRange, "negative scale");
  if (scale > 1000) throw std::runtime_error("scale beyond all bounds");
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i] * scale;
  return ffi::Error::Success();
}

template <typename T>
T Sum(ffi::Span<const T> values) {
  return std::accumulate(values.begin(), values.end(), T{});
}

// One number of every kind of attribute.
ffi::Error Attributes(ffi::ResultBuffer<ffi::F64> out, bool flag, int8_t s8, int16_t s16, int32_t s32, int64_t s64,
                      uint8_t u8, uint16_t u16, uint32_t u32, uint64_t u64, float f32, double f64,
                      std::string_view text, ffi::Span<const int64_t> ints, ffi::Span<const float> floats,
                      ffi::Span<const double> doubles, ffi::Span<const int8_t> bytes, ffi::Dictionary dictionary) {
  auto inner = dictionary.get<int64_t>("depth");
  auto name = dictionary.get<std::string_view>("name");
  auto x = dictionary.get<float>("x");
  if (inner.has_error() || name.has_error() || x.has_error()) {
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, "the dictionary lacks something");
  }
  double count = 0;
  for (int8_t value : bytes) count += value;
  const double values[] = {flag ? 1.0 : 0.0,
                           double(s8),
                           double(s16),
                           double(s32),
                           double(s64),
                           double(u8),
                           double(u16),
                           double(u32),
                           double(u64),
                           f32,
                           f64,
                           double(text.size()),
                           double(text[0]),
                           double(Sum(ints)),
                           Sum(floats),
                           Sum(doubles),
                           count,
                           double(*inner),
                           double(name->size()),
                           *x};
  if (out->element_count() != sizeof(values) / sizeof(double)) return ffi::Error::Internal("wrong size");
  std::memcpy(out->typed_data(), values, sizeof(values));
  return ffi::Error::Success();
}

// Gives dtype, rank and the first two dimensions of each argument, in a row each.
ffi::Error Describe(ffi::RemainingArgs arguments, ffi::ResultBuffer<ffi::S32> out) {
  int32_t* row = out->typed_data();
  for (size_t i = 0; i < arguments.size(); ++i, row += 4) {
    auto buffer = arguments.get<ffi::AnyBuffer>(i);
    if (buffer.has_error()) return buffer.error();
    auto dimensions = buffer->dimensions();
    row[0] = static_cast<int32_t>(buffer->element_type());
    row[1] = static_cast<int32_t>(dimensions.size());
    row[2] = dimensions.size() > 0 ? static_cast<int32_t>(dimensions[0]) : -1;
    row[3] = dimensions.size() > 1 ? static_cast<int32_t>(dimensions[1]) : -1;
  }
  return ffi::Error::Success();
}

// Any number of results: the i-th is filled with i.
ffi::Error FillAll(ffi::RemainingRets results) {
  for (size_t i = 0; i < results.size(); ++i) {
    auto buffer = results.get<F32>(i);
    if (buffer.has_error()) return buffer.error();
    for (size_t k = 0; k < (*buffer)->element_count(); ++k) (*buffer)->typed_data()[k] = static_cast<float>(i);
  }
  return ffi::Error::Success();
}

// Takes the memory order of a 2d operand as it is: tests layouts.
ffi::Error Raw(F32 x, F32Result y) {
  Copy(x, y);
  return ffi::Error::Success();
}

// Adds one in place; the result must share the operand's memory.
ffi::Error InPlace(F32 x, F32Result y) {
  if (x.typed_data() != y->typed_data()) return ffi::Error::Internal("operand and result lie apart");
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] += 1;
  return ffi::Error::Success();
}

// Appends to a list of the process, for orders of side effects.
std::vector<int64_t>& Log() {
  static std::vector<int64_t> log;
  return log;
}
ffi::Error Note(F32 x, F32Result y, int64_t id) {
  Log().push_back(id);
  Copy(x, y);
  return ffi::Error::Success();
}
ffi::Error NoteToken(ffi::Token, ffi::Result<ffi::Token>, int64_t id) {
  Log().push_back(id);
  return ffi::Error::Success();
}

// States of all stages. Counters tell who was called and what was freed.
std::atomic<int64_t> instantiated, prepared, initialized, alive;
struct Counter {
  static xla::ffi::TypeId id;
  static xla::ffi::TypeInfo info;
  explicit Counter(int64_t start) : value(start) { ++alive; }
  ~Counter() { --alive; }
  std::atomic<int64_t> value;
};
ffi::TypeId Counter::id = {};
ffi::TypeInfo Counter::info = ffi::MakeTypeInfo<Counter>();

ffi::ErrorOr<std::unique_ptr<Counter>> Instantiate(int64_t start) {
  if (start == 13) return ffi::Unexpected(ffi::Error::InvalidArgument("cannot start at 13"));
  ++instantiated;
  return std::make_unique<Counter>(start);
}
ffi::ErrorOr<std::unique_ptr<Counter>> Prepare(Counter* state, F32 x) {
  ++prepared;
  return std::make_unique<Counter>(1000 * static_cast<int64_t>(x.element_count()));
}
ffi::ErrorOr<std::unique_ptr<Counter>> Initialize(Counter* prepared_state) {
  ++initialized;
  return std::make_unique<Counter>(prepared_state->value + 1);
}
// x + the calls of this site so far + what the stages of this run left.
ffi::Error Execute(Counter* state, Counter* prepared_state, Counter* initialized_state, F32 x, F32Result y) {
  const int64_t calls = state->value++;
  for (size_t i = 0; i < x.element_count(); ++i) {
    y->typed_data()[i] = x.typed_data()[i] + calls + prepared_state->value + initialized_state->value;
  }
  return ffi::Error::Success();
}

// A future that tasks of the pool settle; with an error where x begins with a negative number.
ffi::Future Later(ffi::ThreadPool pool, F32 x, F32Result y) {
  auto promise = std::make_shared<ffi::Promise>();
  ffi::Future future(*promise);
  pool.Schedule([x, y, promise]() mutable {
    for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i] + 1;
    if (x.typed_data()[0] < 0) {
      promise->SetError(ffi::Error(ffi::ErrorCode::kDataLoss, "late and wrong"));
    } else {
      promise->SetAvailable();
    }
  });
  return future;
}

// Everything that a context gives.
ffi::Error Contexts(ffi::ScratchAllocator scratch, ffi::ThreadPool pool, ffi::RunId run, int32_t ordinal,
                    ffi::ResultBuffer<ffi::S64> out) {
  auto memory = scratch.Allocate(1000, 256);
  if (!memory.has_value()) return ffi::Error::Internal("no scratch memory");
  std::memset(*memory, 1, 1000);
  out->typed_data()[0] = reinterpret_cast<uintptr_t>(*memory) % 256;
  out->typed_data()[1] = pool.num_threads();
  out->typed_data()[2] = run.run_id;
  out->typed_data()[3] = ordinal;
  return ffi::Error::Success();
}

ffi::Error Stream(void* stream, F32 x, F32Result y) { return ffi::Error::Success(); }

ffi::Error Complexes(ffi::Buffer<ffi::C64> x, ffi::ResultBuffer<ffi::C64> y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = std::conj(x.typed_data()[i]);
  return ffi::Error::Success();
}

// Memory as it is.
ffi::Error ToBytes(ffi::AnyBuffer x, ffi::ResultBuffer<ffi::U8> y) {
  std::memcpy(y->typed_data(), x.untyped_data(), y->element_count());
  return ffi::Error::Success();
}
ffi::Error FromBytes(ffi::Buffer<ffi::U8> x, ffi::Result<ffi::AnyBuffer> y) {
  std::memcpy(y->untyped_data(), x.typed_data(), x.element_count());
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(scale, Scale, ffi::Ffi::Bind().Arg<F32>().Ret<F32>().Attr<float>("scale"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(attributes, Attributes,
                              ffi::Ffi::Bind()
                                  .Ret<ffi::Buffer<ffi::F64>>()
                                  .Attr<bool>("flag")
                                  .Attr<int8_t>("s8")
                                  .Attr<int16_t>("s16")
                                  .Attr<int32_t>("s32")
                                  .Attr<int64_t>("s64")
                                  .Attr<uint8_t>("u8")
                                  .Attr<uint16_t>("u16")
                                  .Attr<uint32_t>("u32")
                                  .Attr<uint64_t>("u64")
                                  .Attr<float>("f32")
                                  .Attr<double>("f64")
                                  .Attr<std::string_view>("text")
                                  .Attr<ffi::Span<const int64_t>>("ints")
                                  .Attr<ffi::Span<const float>>("floats")
                                  .Attr<ffi::Span<const double>>("doubles")
                                  .Attr<ffi::Span<const int8_t>>("bytes")
                                  .Attr<ffi::Dictionary>("dictionary"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(describe, Describe, ffi::Ffi::Bind().RemainingArgs().Ret<ffi::Buffer<ffi::S32>>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(fill_all, FillAll, ffi::Ffi::Bind().RemainingRets());
XLA_FFI_DEFINE_HANDLER_SYMBOL(raw, Raw, ffi::Ffi::Bind().Arg<F32>().Ret<F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(in_place, InPlace, ffi::Ffi::Bind().Arg<F32>().Ret<F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(note, Note, ffi::Ffi::Bind().Arg<F32>().Ret<F32>().Attr<int64_t>("id"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(note_token, NoteToken,
                              ffi::Ffi::Bind().Arg<ffi::Token>().Ret<ffi::Token>().Attr<int64_t>("id"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(state_instantiate, Instantiate,
                              ffi::Ffi::Bind<ffi::ExecutionStage::kInstantiate>().Attr<int64_t>("start"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    state_prepare, [](Counter* state, F32 x, F32Result, int64_t) { return Prepare(state, x); },
    ffi::Ffi::Bind<ffi::ExecutionStage::kPrepare>().Ctx<ffi::State<Counter>>().Arg<F32>().Ret<F32>().Attr<int64_t>(
        "start"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    state_initialize, [](Counter* state, F32, F32Result, int64_t) { return Initialize(state); },
    ffi::Ffi::Bind<ffi::ExecutionStage::kInitialize>()
        .Ctx<ffi::Prepared<Counter>>()
        .Arg<F32>()
        .Ret<F32>()
        .Attr<int64_t>("start"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    state_execute,
    [](Counter* state, Counter* prepared, Counter* initialized, F32 x, F32Result y, int64_t) {
      return Execute(state, prepared, initialized, x, y);
    },
    ffi::Ffi::Bind()
        .Ctx<ffi::State<Counter>>()
        .Ctx<ffi::Prepared<Counter>>()
        .Ctx<ffi::Initialized<Counter>>()
        .Arg<F32>()
        .Ret<F32>()
        .Attr<int64_t>("start"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(later, Later, ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Arg<F32>().Ret<F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(contexts, Contexts,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ScratchAllocator>()
                                  .Ctx<ffi::ThreadPool>()
                                  .Ctx<ffi::RunId>()
                                  .Ctx<ffi::DeviceOrdinal>()
                                  .Ret<ffi::Buffer<ffi::S64>>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(stream, Stream, ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>().Arg<F32>().Ret<F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(to_bytes, ToBytes, ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::Buffer<ffi::U8>>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(from_bytes, FromBytes,
                              ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::U8>>().Ret<ffi::AnyBuffer>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(complexes, Complexes,
                              ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::C64>>().Ret<ffi::Buffer<ffi::C64>>());

extern "C" {
// For the test: counters, the log, and addresses of the type.
void counters(int64_t* out) {
  const int64_t values[] = {instantiated, prepared, initialized, alive};
  std::memcpy(out, values, sizeof(values));
}
int64_t take_log(int64_t* out) {
  std::copy(Log().begin(), Log().end(), out);
  const int64_t size = Log().size();
  Log().clear();
  return size;
}
void* counter_id() { return &Counter::id; }
void* counter_info() { return &Counter::info; }

// Plain functions: 1 x + y; 2 two results, and a failure for negative numbers; 3 with an opaque string.
struct Status;
void (*set_failure)(void*, const char*, size_t);
void plain(void* out, const void** in) {
  for (int i = 0; i < 4; ++i) {
    static_cast<float*>(out)[i] = static_cast<const float*>(in[0])[i] + static_cast<const float*>(in[1])[i];
  }
}
void plain_status(void* out, const void** in, Status* status) {
  void** results = static_cast<void**>(out);
  for (int i = 0; i < 4; ++i) {
    const float x = static_cast<const float*>(in[0])[i];
    if (x < 0) return set_failure(status, "negative", 8);
    static_cast<float*>(results[0])[i] = x + 1;
    static_cast<float*>(results[1])[i] = x + 2;
  }
}
void plain_unified(void* out, const void** in, const char* opaque, size_t size, Status* status) {
  if (std::string(opaque, size) != "four") return set_failure(status, "not four", 8);
  for (int i = 0; i < 4; ++i) static_cast<float*>(out)[i] = static_cast<const float*>(in[0])[i] + size;
}
}
