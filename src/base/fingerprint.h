// 128-bit hashes of bytes: to tell contents apart and to notice damage, not against an adversary.
#ifndef KILN_BASE_FINGERPRINT_H_
#define KILN_BASE_FINGERPRINT_H_

#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/strings/string_view.h"

namespace kiln {

// 64 bits of a hash; `seed` gives independent ones. The same on every machine of one byte order.
uint64_t Hash64(absl::string_view bytes, uint64_t seed);

// 32 hexadecimal digits over the parts and where each ends.
std::string Fingerprint(std::initializer_list<absl::string_view> parts);

}  // namespace kiln

#endif  // KILN_BASE_FINGERPRINT_H_
