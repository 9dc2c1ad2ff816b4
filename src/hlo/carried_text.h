// Text that travels through HLO uninterpreted: shardings, backend configurations, attribute dictionaries.
#ifndef KILN_HLO_CARRIED_TEXT_H_
#define KILN_HLO_CARRIED_TEXT_H_

#include <cstddef>
#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace kiln::hlo {

// The length of the balanced "{...}" that `text` starts with, quoted strings inside respected; 0 when there is none.
size_t BracedLength(absl::string_view text);
// The length of the quoted string that `text` starts with, quotes included; 0 when there is none.
size_t QuotedLength(absl::string_view text);

// `text` itself when it is one balanced brace form, otherwise quoted with C escapes.
std::string BracedOrQuoted(absl::string_view text);

// {a="1",b={k = 1 : i64}}
std::string DictionaryText(const std::map<std::string, std::string>& dictionary);

}  // namespace kiln::hlo

#endif  // KILN_HLO_CARRIED_TEXT_H_
