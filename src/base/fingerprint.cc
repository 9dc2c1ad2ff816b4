#include "src/base/fingerprint.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_format.h"

namespace kiln {

// In the manner of multiply and fold.
uint64_t Hash64(absl::string_view bytes, uint64_t seed) {
  const auto mix = [](uint64_t a, uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  uint64_t hash = seed ^ (bytes.size() * 0x9e3779b97f4a7c15);
  while (!bytes.empty()) {
    uint64_t word = 0;
    const size_t size = std::min<size_t>(bytes.size(), sizeof(word));
    std::memcpy(&word, bytes.data(), size);
    bytes.remove_prefix(size);
    hash = mix(hash ^ word ^ 0xa0761d6478bd642f, 0xe7037ed1a0b428db ^ (hash << 1));
  }
  return mix(hash, 0x8ebc6af09c88c6e3);
}

std::string Fingerprint(std::initializer_list<absl::string_view> parts) {
  uint64_t low = 0x243f6a8885a308d3, high = 0x13198a2e03707344;
  for (absl::string_view part : parts) {
    low = Hash64(part, low);
    high = Hash64(part, high);
  }
  return absl::StrFormat("%016x%016x", low, high);
}

}  // namespace kiln
