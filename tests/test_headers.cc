// The library of this file owns the precompiled headers of all tests (kiln_precompile, cmake/KilnLibrary.cmake).
#include <gtest/gtest.h>
