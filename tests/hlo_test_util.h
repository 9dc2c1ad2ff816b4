// HLO text in tests of any part.
#ifndef KILN_TESTS_HLO_TEST_UTIL_H_
#define KILN_TESTS_HLO_TEST_UTIL_H_

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "absl/strings/string_view.h"
#include "src/frontend/hlo_text/parser.h"
#include "src/hlo/module.h"

namespace kiln {

// The verified module of `text`; a text that does not read ends the test program with the error.
inline std::unique_ptr<hlo::Module> ParseOrDie(absl::string_view text) {
  auto module = hlo_text::ParseHloText(text, "test");
  if (!module.ok()) {
    std::fprintf(stderr, "%s\n", module.status().ToString().c_str());
    std::abort();
  }
  return *std::move(module);
}

}  // namespace kiln

#endif  // KILN_TESTS_HLO_TEST_UTIL_H_
