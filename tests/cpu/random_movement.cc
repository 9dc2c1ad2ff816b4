// Movement of data whose index map is known: every op alone and in short chains.
#include <algorithm>

#include "tests/cpu/random_programs.h"

namespace kiln::testing {
namespace {

// One op on `x`.
Value Move(ProgramWriter* w, const Value& x) {
  Random& random = w->random();
  const int64_t rank = static_cast<int64_t>(x.dims.size());
  const int64_t count = ElementCount(x.dims);
  switch (random.In(0, 8)) {
    case 0: {  // broadcast
      if (rank > 4 || count > 400) return x;
      Dims dims = x.dims;
      std::vector<int64_t> map;
      for (int64_t i = 0; i < rank; ++i) map.push_back(i);
      const int64_t more = random.In(1, 2);
      for (int64_t k = 0; k < more; ++k) {
        const int64_t at = random.In(0, static_cast<int64_t>(dims.size()));
        dims.insert(dims.begin() + at, random.In(1, 5));
        for (int64_t& d : map) d += d >= at ? 1 : 0;
      }
      return w->Emit(x.type, dims, "broadcast", {x}, absl::StrCat("dimensions=", List(map)));
    }
    case 1: {  // reshape
      if (count == 0) return x;
      Dims dims;
      int64_t left = count;
      while (left > 1 && dims.size() < 5) {
        std::vector<int64_t> divisors;
        for (int64_t d = 1; d <= left; ++d) {
          if (left % d == 0) divisors.push_back(d);
        }
        const int64_t d = random.Of(divisors);
        dims.push_back(d);
        left /= d;
      }
      if (left > 1) dims.push_back(left);
      return w->Emit(x.type, dims, "reshape", {x});
    }
    case 2: {  // transpose
      const std::vector<int64_t> order = random.Permutation(rank);
      Dims dims;
      for (int64_t d : order) dims.push_back(x.dims[d]);
      return w->Emit(x.type, dims, "transpose", {x}, absl::StrCat("dimensions=", List(order)));
    }
    case 3: {  // slice
      std::vector<std::string> parts;
      Dims dims;
      for (int64_t size : x.dims) {
        const int64_t start = random.In(0, random.Chance(0.5) ? 0 : size);
        const int64_t limit = random.Chance(0.5) ? size : random.In(start, size);
        const int64_t stride = random.Chance(0.6) ? 1 : random.In(1, 4);
        parts.push_back(absl::StrCat("[", start, ":", limit, ":", stride, "]"));
        dims.push_back((limit - start + stride - 1) / stride);
      }
      return w->Emit(x.type, dims, "slice", {x}, absl::StrCat("slice={", absl::StrJoin(parts, ","), "}"));
    }
    case 4: {  // concatenate
      if (rank == 0 || count > 1500) return x;
      const int64_t dimension = random.In(0, rank - 1);
      std::vector<Value> operands{x};
      Dims dims = x.dims;
      const int64_t more = random.In(0, 3);
      for (int64_t k = 0; k < more; ++k) {
        if (random.Chance(0.3)) {
          operands.push_back(x);
        } else {
          Dims other = x.dims;
          other[dimension] = random.In(0, 9);
          operands.push_back(w->Parameter(x.type, other));
        }
        dims[dimension] += operands.back().dims[dimension];
      }
      std::rotate(operands.begin(), operands.begin() + random.In(0, more), operands.end());
      return w->Emit(x.type, dims, "concatenate", operands, absl::StrCat("dimensions={", dimension, "}"));
    }
    case 5: {  // pad
      std::vector<std::string> parts;
      Dims dims;
      if (count > 1000) return x;
      for (int64_t size : x.dims) {
        const int64_t interior = random.Chance(0.7) ? 0 : random.In(1, 3);
        const int64_t inner = size + std::max<int64_t>(size - 1, 0) * interior;
        int64_t low = random.In(-2, 3), high = random.In(-2, 3);
        if (inner + low + high < 0) low = high = 0;
        parts.push_back(absl::StrCat(low, "_", high, "_", interior));
        dims.push_back(inner + low + high);
      }
      if (rank == 0 || ElementCount(dims) > 20000) return x;
      const Value value = w->Parameter(x.type, {});
      return w->Emit(x.type, dims, "pad", {x, value}, absl::StrCat("padding=", absl::StrJoin(parts, "x")));
    }
    case 6: {  // reverse
      std::vector<int64_t> dimensions;
      for (int64_t i = 0; i < rank; ++i) {
        if (random.Chance(0.5)) dimensions.push_back(i);
      }
      return w->Emit(x.type, x.dims, "reverse", {x}, absl::StrCat("dimensions=", List(dimensions)));
    }
    case 7: {  // iota
      if (rank == 0 || x.type == PrimitiveType::kPred) return x;
      const int64_t dimension = random.In(0, rank - 1);
      if (x.dims[dimension] > 120) return x;
      const Value iota = w->Emit(x.type, x.dims, absl::StrCat("iota(), iota_dimension=", dimension));
      return w->Emit(x.type, x.dims, "add", {x, iota});
    }
    default:
      return w->Emit(x.type, x.dims, "copy", {x});
  }
}

}  // namespace

void WriteMovement(ProgramWriter* w) {
  Random& random = w->random();
  Value x = w->Parameter(random.Of(AllTypes()), random.Shape(5, 1100));
  const int64_t steps = random.Chance(0.5) ? 1 : random.In(2, 4);
  for (int64_t i = 0; i < steps && ElementCount(x.dims) < 8000; ++i) x = Move(w, x);
  w->Output(x);
}

}  // namespace kiln::testing
