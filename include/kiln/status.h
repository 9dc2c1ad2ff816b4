// Outcomes of Kiln's C++ API: a Status, or a Result that holds a value or a Status. Header-only, over kiln.h.
#ifndef KILN_STATUS_H_
#define KILN_STATUS_H_

#include <kiln.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace kiln {

// Success, or an error with a code and a message. Copies share the message.
class Status {
 public:
  Status() = default;
  // Takes over what a function of kiln.h returned.
  explicit Status(kiln_status* status) {
    if (status == nullptr) return;
    error_ = std::make_shared<const Error>(Error{kiln_status_code(status), kiln_status_message(status)});
    kiln_status_destroy(status);
  }

  Status(kiln_code code, std::string message) {
    if (code != KILN_OK) error_ = std::make_shared<const Error>(Error{code, std::move(message)});
  }

  bool ok() const { return error_ == nullptr; }
  kiln_code code() const { return ok() ? KILN_OK : error_->code; }
  // Empty on success.
  std::string message() const { return ok() ? std::string() : error_->message; }

 private:
  struct Error {
    kiln_code code;
    std::string message;
  };
  std::shared_ptr<const Error> error_;
};

// A value, or the status of the failure to make it. Dereferencing needs ok().
template <typename T>
class Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {}

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& operator*() & { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace kiln

#endif  // KILN_STATUS_H_
