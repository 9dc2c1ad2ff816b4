#include "gtest/gtest.h"
TEST(ScalarEmitterTest, Empty) {}
