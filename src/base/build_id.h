// What this build of Kiln is: the linker's hash of the library or program that this code is part of.
#ifndef KILN_BASE_BUILD_ID_H_
#define KILN_BASE_BUILD_ID_H_

#include <string>

namespace kiln {

// Hexadecimal digits; empty where the linker wrote no build id. Made once. Thread-safe.
const std::string& BuildId();

}  // namespace kiln

#endif  // KILN_BASE_BUILD_ID_H_
