#include "src/cpu/top_rows.h"

#include <algorithm>
#include <array>
#include <bit>

#include "src/base/cpu_tuning.h"
#include "src/base/rounding.h"

namespace kiln::cpu {
namespace {

constexpr int64_t kMaxStripes = 16;

// Few, so that the bound rises early.
constexpr int64_t kSpareCandidates = 128;

template <typename Key>
struct Candidate {
  Key key;
  int32_t position;
  bool operator<(const Candidate& other) const {
    return key != other.key ? key > other.key : position < other.position;
  }
};

int64_t CandidateRoom(int64_t k) { return 2 * k + kSpareCandidates; }

// Keeps candidates above the k-th largest seen so far; when their room is full, the k largest of them stay.
template <typename Key>
void TopRow(int64_t size, int64_t k, const Key* elements, KeyMasks<Key> masks, Candidate<Key>* candidates, Key* top,
            int32_t* positions) {
  const int64_t room = CandidateRoom(k);
  int64_t count = 0;
  bool bounded = false;
  Key bound = 0;
  auto keep = [&] {
    std::nth_element(candidates, candidates + k - 1, candidates + count);
    count = k;
    bound = candidates[k - 1].key;
    bounded = true;
  };
  constexpr int64_t kTogether = 8 * kKeyBlock;
  std::array<Key, kTogether> made;
  for (int64_t begin = 0; begin < size; begin += kKeyBlock) {
    const int64_t block = std::min(kKeyBlock, size - begin);
    Key* keys = &made[begin % kTogether];
    if (begin % kTogether == 0) ToKeys(elements + begin, std::min(kTogether, size - begin), masks, made.data());
    uint64_t left = ~uint64_t{0};
    if (block < kKeyBlock) {
      left = (uint64_t{1} << block) - 1;
      std::fill(keys + block, keys + kKeyBlock, Key{0});
    }
    if (bounded) left &= Above(keys, bound);
    for (; left != 0; left &= left - 1) {
      const int i = std::countr_zero(left);
      // Later elements lose against equal ones; the bound may have risen.
      if (bounded && keys[i] <= bound) continue;
      candidates[count++] = {keys[i], static_cast<int32_t>(begin + i)};
      if (count == room) keep();
    }
    if (!bounded && count >= k + kKeyBlock) keep();
  }
  std::partial_sort(candidates, candidates + k, candidates + count);
  for (int64_t i = 0; i < k; ++i) {
    FromKeys(&candidates[i].key, 1, masks, &top[i]);
    positions[i] = candidates[i].position;
  }
}

int64_t CandidateBytes(int64_t key_width, int64_t k) {
  return RoundUp(CandidateRoom(k) * (key_width == 8 ? 16 : 8), 64);
}

int64_t TopStripes(const TopRowsShape& shape) {
  return TopRowsNanoseconds(shape) < Tuning().threads.wake_nanoseconds ? 1 : std::min(shape.rows, kMaxStripes);
}

template <typename Key>
void TopAll(ProgramContext* context, const TopRowsShape& shape, const void* keys, void* top, int32_t* positions,
            char* scratch) {
  const int64_t stripes = TopStripes(shape);
  const KeyMasks<Key> masks(shape.code);
  ForEach(context, stripes, [&](int64_t stripe) {
    char* memory = scratch + stripe * CandidateBytes(shape.key_width, shape.k);
    for (int64_t row = shape.rows * stripe / stripes; row < shape.rows * (stripe + 1) / stripes; ++row) {
      TopRow(shape.size, shape.k, static_cast<const Key*>(keys) + row * shape.size, masks,
             reinterpret_cast<Candidate<Key>*>(memory), static_cast<Key*>(top) + row * shape.k,
             positions + row * shape.k);
    }
  });
}

}  // namespace

int64_t TopRowsScratchBytes(const TopRowsShape& shape) {
  return TopStripes(shape) * CandidateBytes(shape.key_width, shape.k);
}

double TopRowsNanoseconds(const TopRowsShape& shape) {
  const RowTuning& costs = Tuning().rows;
  return static_cast<double>(shape.rows) * (costs.selection_nanoseconds * static_cast<double>(shape.size) +
                                            costs.selected_nanoseconds * static_cast<double>(shape.k));
}

void TopRows(ProgramContext* context, const TopRowsShape* shape, const void* keys, void* top, int32_t* positions,
             void* scratch) {
  ForKeysOf(shape->key_width, [&]<typename Key>(Key) {
    TopAll<Key>(context, *shape, keys, top, positions, static_cast<char*>(scratch));
  });
}

}  // namespace kiln::cpu
