// What somebody probably meant.
#ifndef KILN_BASE_NEAREST_NAME_H_
#define KILN_BASE_NEAREST_NAME_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace kiln {

// The name nearest to `word`, some letters apart at most; empty when none is near.
absl::string_view NearestName(absl::string_view word, const std::vector<absl::string_view>& names);
// ": did you mean 'NAME'?" or nothing, for the end of a message.
std::string DidYouMean(absl::string_view word, const std::vector<absl::string_view>& names);

}  // namespace kiln

#endif  // KILN_BASE_NEAREST_NAME_H_
