// Attributes of a typed custom call: the text of an MLIR dictionary as the structures that handlers read.
#ifndef KILN_RUNTIME_FFI_ATTRIBUTES_H_
#define KILN_RUNTIME_FFI_ATTRIBUTES_H_

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/frontend/mlir/attribute.h"
#include "src/hlo/primitive_type.h"
#include "src/runtime/ffi/ffi_abi.h"

namespace kiln::runtime::ffi {

// Immutable after Parse.
class Attributes {
 public:
  // `text` is a dictionary in MLIR's syntax, `{a = 1 : i32, b = "s", c = array<i64: 1, 2>, d = dense<0.5> :
  // tensor<3xf32>, e = {f = true}}`; empty text has no attributes. Errors name the place.
  static absl::StatusOr<std::unique_ptr<Attributes>> Parse(absl::string_view text);

  const XLA_FFI_Attrs& view() const { return *root_; }

 private:
  Attributes() = default;

  struct Value {
    XLA_FFI_AttrType type;
    void* data;
  };
  struct Dictionary {
    std::vector<XLA_FFI_AttrType> types;
    std::vector<XLA_FFI_ByteSpan*> names;
    std::vector<void*> values;
    XLA_FFI_Attrs view = {};
  };
  absl::StatusOr<XLA_FFI_Attrs*> Convert(const mlir::DictionaryAttribute& attributes);
  absl::StatusOr<Value> Convert(const mlir::Attribute& attribute);
  Value MakeScalar(hlo::PrimitiveType type, uint64_t bits);
  // `data` holds all elements, or one for all.
  absl::StatusOr<Value> MakeArray(const mlir::Type& element, absl::string_view data, int64_t count);
  XLA_FFI_ByteSpan* MakeSpan(absl::string_view text);

  // Elements stay where they are.
  std::deque<Dictionary> dictionaries_;
  std::deque<XLA_FFI_Scalar> scalars_;
  std::deque<XLA_FFI_Array> arrays_;
  std::deque<XLA_FFI_ByteSpan> spans_;
  std::deque<std::string> bytes_;
  const XLA_FFI_Attrs* root_ = nullptr;
};

}  // namespace kiln::runtime::ffi

#endif  // KILN_RUNTIME_FFI_ATTRIBUTES_H_
