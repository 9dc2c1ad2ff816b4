#include "src/cpu/radix_sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/analysis/buffer_assignment.h"
#include "src/base/cpu_tuning.h"
#include "src/base/rounding.h"
#include "src/base/thread_pool.h"
#include "src/cpu/bucket_sort.h"
#include "src/cpu/key_coder.h"
#include "src/cpu/row_network.h"
#include "src/cpu/row_sort_plan.h"
#include "src/cpu/vector_sort.h"

namespace kiln::cpu {
namespace {

constexpr int64_t kMaxChunks = 16;
// Buckets that a long row is divided into: by so many bits at most.
constexpr int kMaxBucketBits = 12;
// Where elements are in the way of the sorted ones, there are fewer, and keys go there so many at a time.
constexpr int kMaxInPlaceBits = 10;
constexpr int64_t kBlock = 128;
// Shorter stretches are gathered by one thread.
constexpr int64_t kMinGathered = 1 << 12;

// What moves together: a key, and either the element of the only other array or the position in the row.
template <typename Key, typename Value>
struct Element {
  Key key;
  Value value;
};

template <typename Key>
struct Element<Key, void> {
  Key key;
};

int Threads(const ProgramContext& context) {
  if (context.pool == nullptr) return 1;
  const int threads = context.pool->threads();
  return context.max_parallelism > 0 ? std::min(threads, context.max_parallelism) : threads;
}

// Sorts one row. Keys are made where the sorted ones will be. Passes go from there through the spare rows and back, or
// to and fro between it and the only spare row where nothing but keys moves; each reads its chunk of the row, counts
// digits, and moves elements to where their digit's run begins.
template <typename Key, typename Value>
class RadixSorter {
 public:
  static constexpr bool kCarries = !std::is_void_v<Value>;
  static constexpr bool kCarriesPositions = std::is_same_v<Value, uint32_t>;
  using Item = Element<Key, Value>;
  using Carried = std::conditional_t<kCarries, Value, char>;

  // `spare` is that of a stripe, of so many bytes.
  RadixSorter(ProgramContext* context, int chunks, int64_t size, const KeyCode& code, char* spare, int64_t spare_bytes)
      : context_(context),
        chunks_(chunks),
        size_(size),
        coder_(code),
        spare_bytes_(spare_bytes),
        spare_{reinterpret_cast<Item*>(spare), reinterpret_cast<Item*>(spare + spare_bytes / 2)} {}

  // `values` null: the position is carried. `copy` not null: where elements are set aside, which are in `sorted`.
  void Sort(const Key* elements, const Carried* values, Key* sorted, Carried* sorted_values, Key* copy = nullptr) {
    if (copy != nullptr) {
      ForEachChunk([&](int64_t chunk) {
        const auto [begin, end] = Chunk(chunk);
        std::memcpy(copy + begin, elements + begin, (end - begin) * sizeof(Key));
      });
      elements = copy;
    }
    values_ = values;
    keys_ = sorted;
    sorted_values_ = sorted_values;
    const bool in_place = elements == sorted;
    Merged merged;
    if (in_place && coder_.merges()) merged = MergedOf(elements);
    std::array<Key, kMaxChunks> changed{};
    ForEachChunk([&](int64_t chunk) {
      const auto [begin, end] = Chunk(chunk);
      changed[chunk] = coder_.ToKeys(elements + begin, end - begin, sorted + begin);
    });
    const Key* keys = keys_;
    if (size_ >= Tuning().rows.sort_divided_size) {
      SortBuckets(in_place ? nullptr : elements);
    } else {
      keys = SortKeys();
    }
    const bool restore = std::any_of(changed.begin(), changed.end(), [](Key bits) { return bits != 0; });
    const auto places = restore ? coder_.PlacesIn(keys, size_) : typename KeyCoder<Key>::Places{};
    ForEachChunk([&](int64_t chunk) {
      const auto [begin, end] = Chunk(chunk);
      coder_.FromKeys(keys + begin, end - begin, sorted + begin);
    });
    if (!restore) return;
    if (!in_place && !coder_.is_complex()) return coder_.Restore(elements, sorted, size_, places);
    if (!in_place) merged = coder_.MergedOf(elements, size_);
    SortByKeys(&merged.complex);
    coder_.Restore(merged, sorted, size_, places);
  }

 private:
  using Merged = typename KeyCoder<Key>::Merged;

  // Nothing where none would lose bits.
  Merged MergedOf(const Key* elements) {
    std::array<Key, kMaxChunks> changed{};
    ForEachChunk([&](int64_t chunk) {
      const auto [begin, end] = Chunk(chunk);
      std::array<Key, 8 * kKeyBlock> keys;
      for (int64_t i = begin; i < end; i += keys.size()) {
        changed[chunk] |= coder_.ToKeys(elements + i, std::min<int64_t>(keys.size(), end - i), keys.data());
      }
    });
    const bool loses = std::any_of(changed.begin(), changed.end(), [](Key bits) { return bits != 0; });
    return loses ? coder_.MergedOf(elements, size_) : Merged();
  }

  // Sorts complex numbers by their keys, by position as the keys alone would merge them again.
  void SortByKeys(std::vector<Key>* elements) {
    const auto size = static_cast<int64_t>(elements->size());
    if constexpr (sizeof(Key) == 8) {
      if (size == 0) return;
      std::vector<Key> keys(size), sorted(size);
      std::vector<uint32_t> positions(size);
      coder_.ToKeys(elements->data(), size, keys.data());
      const int64_t spare_bytes = SortAligned(2 * size * static_cast<int64_t>(sizeof(Element<Key, uint32_t>)));
      const std::unique_ptr<char[]> spare(new char[spare_bytes]);
      RadixSorter<Key, uint32_t>(context_, chunks_, size, KeyCode(), spare.get(), spare_bytes)
          .Sort(keys.data(), nullptr, sorted.data(), positions.data());
      for (int64_t i = 0; i < size; ++i) sorted[i] = (*elements)[positions[i]];
      *elements = std::move(sorted);
    }
  }

  Item Source(int64_t i) const {
    if constexpr (kCarries) {
      return {keys_[i], values_ == nullptr ? static_cast<Carried>(i) : values_[i]};
    } else {
      return {keys_[i]};
    }
  }

  void Store(int64_t i, const Item& item) {
    keys_[i] = item.key;
    if constexpr (kCarries) sorted_values_[i] = item.value;
  }

  void SortByRank() {
    std::array<Key, kRankedSize> ranks;
    std::array<Item, kRankedSize> items;
    RankRow(keys_, size_, ranks.data());
    for (int64_t i = 0; i < size_; ++i) items[i] = Source(i);
    for (int64_t i = 0; i < size_; ++i) Store(ranks[i], items[i]);
  }

  // Keys alone, or 32-bit keys with their positions behind them, which keeps the sort stable.
  bool SortedInVectors() {
    if constexpr (!kCarries && kInVectors<Key>) {
      if (!SortsInVectors()) return false;
      SortInVectors(keys_, &spare_[0]->key, size_);
      return true;
    } else if constexpr (std::is_same_v<Key, uint32_t> && std::is_same_v<Value, uint32_t>) {
      if (values_ != nullptr || !SortsInVectors()) return false;
      uint64_t* items = reinterpret_cast<uint64_t*>(spare_[0]);
      for (int64_t i = 0; i < size_; ++i) items[i] = uint64_t{keys_[i]} << 32 | static_cast<uint64_t>(i);
      SortInVectors(items, reinterpret_cast<uint64_t*>(spare_[1]), size_);
      for (int64_t i = 0; i < size_; ++i) {
        Store(i, {static_cast<uint32_t>(items[i] >> 32), static_cast<uint32_t>(items[i])});
      }
      return true;
    }
    return false;
  }

  // Where the sorted keys are.
  const Key* SortKeys() {
    if (size_ < Tuning().rows.sort_divided_size && SortedInVectors()) return keys_;
    if (size_ <= kRankedSize) {
      SortByRank();
      return keys_;
    }
    std::array<int, sizeof(Key)> digits;
    const int count = VaryingDigits(&digits);
    if constexpr (!kCarries) {
      Key* rows[] = {keys_, &spare_[0]->key};
      for (int pass = 0; pass < count; ++pass) {
        const Key* from = rows[pass % 2];
        Key* to = rows[(pass + 1) % 2];
        Pass(
            digits[pass] * kDigitBits, [from](int64_t i) { return Item{from[i]}; },
            [to](int64_t i, const Item& item) { to[i] = item.key; });
      }
      return rows[count % 2];
    }
    if (count == 0) {
      for (int64_t i = 0; i < size_; ++i) Store(i, Source(i));
    }
    for (int pass = 0; pass < count; ++pass) {
      const int shift = digits[pass] * kDigitBits;
      const Item* from = spare_[(pass + 1) % 2];
      Item* to = spare_[pass % 2];
      const bool first = pass == 0, last = pass + 1 == count;
      auto source = [this](int64_t i) { return Source(i); };
      auto middle = [from](int64_t i) { return from[i]; };
      auto spare = [to](int64_t i, const Item& item) { to[i] = item; };
      auto result = [this](int64_t i, const Item& item) { Store(i, item); };
      if (first) {
        Pass(shift, source, spare);
        if (last) {
          for (int64_t i = 0; i < size_; ++i) Store(i, to[i]);
        }
      } else if (last) {
        Pass(shift, middle, result);
      } else {
        Pass(shift, middle, spare);
      }
    }
    return keys_;
  }

  // Runs function(keys, count) over the keys of elements [begin, end), some at a time.
  template <typename Function>
  void ForKeys(const Key* elements, int64_t begin, int64_t end, Function function) const {
    constexpr int64_t kTogether = 8 * kKeyBlock;
    std::array<Key, kTogether> keys;
    for (int64_t i = begin; i < end; i += kTogether) {
      const int64_t count = std::min(kTogether, end - i);
      coder_.ToKeys(elements + i, count, keys.data());
      function(keys.data(), count);
    }
  }

  // Moves elements, whose keys are where the sorted ones will be, into buckets by the highest bits of `key - least`,
  // and returns where each bucket ends.
  std::vector<uint32_t> Divide(const Key* elements, Key least, int shift, int buckets) {
    auto bucket = [least, shift](Key key) { return static_cast<Key>(key - least) >> shift; };
    std::vector<uint32_t> places(static_cast<size_t>(chunks_) * buckets);
    ForEachChunk([&](int64_t chunk) {
      const auto [begin, end] = Chunk(chunk);
      uint32_t* counts = &places[chunk * buckets];
      for (int64_t i = begin; i < end; ++i) ++counts[bucket(keys_[i])];
    });
    uint32_t total = 0;
    for (int b = 0; b < buckets; ++b) {
      for (int chunk = 0; chunk < chunks_; ++chunk) total += std::exchange(places[chunk * buckets + b], total);
    }
    // Keys are made of the elements once more, since the places of all are written.
    ForEachChunk([&](int64_t chunk) {
      const auto [begin, end] = Chunk(chunk);
      uint32_t* next = &places[chunk * buckets];
      [[maybe_unused]] auto position = static_cast<uint32_t>(begin);
      ForKeys(elements, begin, end, [&](const Key* keys, int64_t count) {
        for (int64_t i = 0; i < count; ++i) {
          const uint32_t place = next[bucket(keys[i])]++;
          keys_[place] = keys[i] - least;
          if constexpr (kCarriesPositions) sorted_values_[place] = position++;
        }
      });
    });
    // Where the last chunk's keys of a bucket end, the bucket does.
    return {places.end() - buckets, places.end()};
  }

  // The same where nothing else holds the elements. Each chunk collects keys of a bucket and puts full blocks of them
  // where keys have been read; blocks then change places, and at last make room for the keys that filled none.
  std::vector<uint32_t> DivideInPlace(Key least, int shift, int buckets) {
    constexpr uint16_t kEmpty = 0xFFFF;
    using Word = std::conditional_t<sizeof(Key) < 4, uint32_t, Key>;
    struct Collected {
      Key* keys;
      uint32_t* positions;
      std::vector<uint32_t> counts;
    };
    const int64_t blocks = size_ / kBlock, collected_keys = buckets * kBlock;
    std::vector<uint16_t> bucket_of(blocks, kEmpty);
    std::vector<Collected> collected(chunks_);
    ForEachChunk([&](int64_t chunk) {
      const int64_t begin = blocks * chunk / chunks_ * kBlock;
      const int64_t end = chunk + 1 == chunks_ ? size_ : blocks * (chunk + 1) / chunks_ * kBlock;
      Collected& own = collected[chunk];
      char* memory =
          reinterpret_cast<char*>(spare_[0]) + chunk * (spare_bytes_ / chunks_ / kSortAlignment * kSortAlignment);
      own = {reinterpret_cast<Key*>(memory), reinterpret_cast<uint32_t*>(memory + collected_keys * sizeof(Word)),
             std::vector<uint32_t>(buckets)};
      for (int64_t i = begin, written = begin; i < end; ++i) {
        const Key key = keys_[i] - least;
        const int64_t b = static_cast<int64_t>(key >> shift);
        const int64_t place = b * kBlock + own.counts[b]++;
        own.keys[place] = key;
        if constexpr (kCarriesPositions) own.positions[place] = static_cast<uint32_t>(i);
        if (own.counts[b] < kBlock) continue;
        own.counts[b] = 0;
        std::memcpy(keys_ + written, own.keys + b * kBlock, kBlock * sizeof(Key));
        if constexpr (kCarriesPositions) {
          std::memcpy(sorted_values_ + written, own.positions + b * kBlock, kBlock * sizeof(uint32_t));
        }
        bucket_of[written / kBlock] = static_cast<uint16_t>(b);
        written += kBlock;
      }
    });
    std::vector<int64_t> first(buckets + 1), next;
    for (const uint16_t b : bucket_of) {
      if (b != kEmpty) ++first[b + 1];
    }
    std::partial_sum(first.begin(), first.end(), first.begin());
    next = first;
    const auto swap = [&](auto* array, int64_t a, int64_t b) {
      std::swap_ranges(array + a * kBlock, array + (a + 1) * kBlock, array + b * kBlock);
    };
    for (int64_t place = 0; place < blocks; ++place) {
      while (bucket_of[place] != kEmpty) {
        const uint16_t b = bucket_of[place];
        if (place >= first[b] && place < first[b + 1]) break;
        while (bucket_of[next[b]] == b) ++next[b];
        swap(keys_, place, next[b]);
        if constexpr (kCarriesPositions) swap(sorted_values_, place, next[b]);
        std::swap(bucket_of[place], bucket_of[next[b]++]);
      }
    }
    std::vector<uint32_t> ends(buckets);
    int64_t end = size_;
    for (int64_t b = buckets; b-- > 0;) {
      ends[b] = static_cast<uint32_t>(end);
      const auto put = [&](const Collected& from) {
        end -= from.counts[b];
        std::copy_n(from.keys + b * kBlock, from.counts[b], keys_ + end);
        if constexpr (kCarriesPositions) {
          std::copy_n(from.positions + b * kBlock, from.counts[b], sorted_values_ + end);
        }
      };
      // What lies behind is free, what lies before are the blocks of lower buckets.
      int64_t rest = 0;
      for (const Collected& from : collected) rest += from.counts[b];
      const int64_t full = (first[b + 1] - first[b]) * kBlock, begin = end - full - rest;
      std::memmove(keys_ + begin, keys_ + first[b] * kBlock, full * sizeof(Key));
      if constexpr (kCarriesPositions) {
        std::memmove(sorted_values_ + begin, sorted_values_ + first[b] * kBlock, full * sizeof(uint32_t));
      }
      for (const Collected& from : collected) put(from);
      end = begin;
    }
    return ends;
  }

  // Of nothing but keys, which are where the sorted ones will be, or of them and their positions: moves them into
  // buckets by their highest bits that differ, then sorts buckets, which are in the cache. `elements` null: they were
  // where the keys are.
  void SortBuckets(const Key* elements) {
    std::array<std::pair<Key, Key>, kMaxChunks> extremes;
    ForEachChunk([&](int64_t chunk) {
      const auto [begin, end] = Chunk(chunk);
      Key least = keys_[begin], largest = least;
      for (int64_t i = begin; i < end; ++i) {
        least = std::min(least, keys_[i]);
        largest = std::max(largest, keys_[i]);
      }
      extremes[chunk] = {least, largest};
    });
    auto [least, largest] = extremes[0];
    for (int chunk = 1; chunk < chunks_; ++chunk) {
      least = std::min(least, extremes[chunk].first);
      largest = std::max(largest, extremes[chunk].second);
    }
    const int bits = static_cast<int>(std::bit_width(static_cast<Key>(largest - least)));
    if (bits == 0) {  // all keys are equal
      if constexpr (kCarriesPositions) std::iota(sorted_values_, sorted_values_ + size_, 0);
      return;
    }
    int most = kMaxBucketBits;
    if (elements == nullptr) {
      // As many as there is room to collect keys of.
      const int64_t collected = chunks_ * kBlock * std::max<int64_t>(sizeof(Key), 4) * (kCarries ? 3 : 1);
      const int width = static_cast<int>(std::bit_width(static_cast<uint64_t>(spare_bytes_ / collected)));
      most = std::clamp(width - 1, 1, kMaxInPlaceBits);
    }
    const int bucket_bits = std::min(
        {most, bits, static_cast<int>(std::bit_width(static_cast<uint64_t>(size_))) - Tuning().rows.sort_bucket_bits});
    const int shift = bits - bucket_bits, buckets = 1 << bucket_bits;
    const std::vector<uint32_t> ends =
        elements == nullptr ? DivideInPlace(least, shift, buckets) : Divide(elements, least, shift, buckets);
    using Word = std::conditional_t<kCarries, uint64_t, Key>;
    using Sorter = std::conditional_t<kCarries, PairSorter<Key>, BucketSorter<Key>>;
    const int64_t room = spare_bytes_ / static_cast<int64_t>(sizeof(Word)) / chunks_;
    ForEachChunk([&](int64_t chunk) {
      Sorter sorter(reinterpret_cast<Word*>(spare_[0]) + chunk * room, room);
      // Buckets that begin among this chunk's share of the row.
      const auto [first, last] = Chunk(chunk);
      for (int64_t b = std::lower_bound(ends.begin(), ends.end(), first) - ends.begin(); b < buckets; ++b) {
        const int64_t begin = b == 0 ? 0 : ends[b - 1], end = ends[b];
        if (begin >= last) break;
        if (begin < first) continue;
        if constexpr (kCarriesPositions) {
          sorter.Sort(keys_ + begin, sorted_values_ + begin, end - begin, shift, /*ordered=*/elements != nullptr);
        } else if constexpr (!kCarries) {
          sorter.Sort(keys_ + begin, end - begin, shift);
        }
        for (int64_t i = begin; i < end; ++i) keys_[i] += least;
      }
    });
  }

  std::pair<int64_t, int64_t> Chunk(int64_t chunk) const {
    return {size_ * chunk / chunks_, size_ * (chunk + 1) / chunks_};
  }

  template <typename Function>
  void ForEachChunk(Function function) {
    if (chunks_ == 1) return function(0);
    ForEach(context_, chunks_, function);
  }

  // Digits in which keys differ at all, lowest first.
  int VaryingDigits(std::array<int, sizeof(Key)>* digits) {
    std::array<Key, kMaxChunks> differences{};
    ForEachChunk([&](int64_t chunk) {
      const auto [begin, end] = Chunk(chunk);
      Key difference = 0;
      for (int64_t i = begin; i < end; ++i) difference |= keys_[i] ^ keys_[0];
      differences[chunk] = difference;
    });
    Key difference = 0;
    for (Key one : differences) difference |= one;
    int count = 0;
    for (int digit = 0; digit < static_cast<int>(sizeof(Key)); ++digit) {
      if ((difference >> (digit * kDigitBits)) & (kDigits - 1)) (*digits)[count++] = digit;
    }
    return count;
  }

  template <typename Load, typename Put>
  void Pass(int shift, Load load, Put put) {
    // Chunks count and move apart from one another; per digit, earlier chunks come first, which keeps the sort stable.
    std::array<std::array<uint32_t, kDigits>, kMaxChunks>& places = places_;
    ForEachChunk([&](int64_t chunk) {
      const auto [begin, end] = Chunk(chunk);
      std::array<uint32_t, kDigits>& counts = places[chunk];
      counts.fill(0);
      for (int64_t i = begin; i < end; ++i) ++counts[(load(i).key >> shift) & (kDigits - 1)];
    });
    uint32_t total = 0;
    for (int digit = 0; digit < kDigits; ++digit) {
      for (int chunk = 0; chunk < chunks_; ++chunk) total += std::exchange(places[chunk][digit], total);
    }
    ForEachChunk([&](int64_t chunk) {
      const auto [begin, end] = Chunk(chunk);
      std::array<uint32_t, kDigits>& next = places[chunk];
      for (int64_t i = begin; i < end; ++i) {
        const Item item = load(i);
        put(next[(item.key >> shift) & (kDigits - 1)]++, item);
      }
    });
  }

  ProgramContext* context_;
  const int chunks_;
  const int64_t size_;
  const KeyCoder<Key> coder_;
  const int64_t spare_bytes_;
  Item* const spare_[2];
  Key* keys_ = nullptr;
  const Carried* values_ = nullptr;
  Carried* sorted_values_ = nullptr;
  std::array<std::array<uint32_t, kDigits>, kMaxChunks> places_;
};

struct DoubleQuadWord {
  uint64_t parts[2];
};

// Elements of a row by their positions, which may be in the last four bytes per element of the result's own memory:
// then each stretch ends before positions that others read.
void GatherRow(ProgramContext* context, int chunks, int64_t width, const void* from, void* to,
               const uint32_t* positions, int64_t size) {
  const auto gather = [&]<typename Word>(Word, int64_t begin, int64_t end) {
    const Word* source = static_cast<const Word*>(from);
    Word* result = static_cast<Word*>(to);
    for (int64_t i = begin; i < end; ++i) result[i] = source[positions[i]];
  };
  const bool in_place =
      width > 4 && static_cast<const void*>(positions + size) == static_cast<char*>(to) + width * size;
  for (int64_t begin = 0, end = 0; begin < size; begin = end) {
    end = in_place ? ((width - 4) * size + 4 * begin) / width : size;
    const bool divides = chunks > 1 && end - begin >= kMinGathered;
    if (!divides) end = size;
    ForEach(context, divides ? chunks : 1, [&](int64_t chunk) {
      const int64_t count = divides ? chunks : 1, length = end - begin;
      const int64_t first = begin + length * chunk / count, last = begin + length * (chunk + 1) / count;
      if (width == 16) return gather(DoubleQuadWord(), first, last);
      ForKeysOf(width, [&]<typename Word>(Word word) { gather(word, first, last); });
    });
  }
}

// Rows from `row` on by the network; false where keys lose bits.
template <typename Key, typename At>
bool SortTogether(ProgramContext* context, const RowSortShape& shape, const RowNetwork& network, int64_t row,
                  int64_t count, At at) {
  std::array<uint32_t, kMaxNetworkRows * kNetworkSize> positions;
  if (!SortRowBlock(network, {count, 1}, KeyMasks<Key>(shape.code), reinterpret_cast<const Key*>(at(0, row)),
                    reinterpret_cast<Key*>(at(shape.array_count, row)),
                    shape.array_count > 1 ? positions.data() : nullptr)) {
    return false;
  }
  for (int64_t array = 1; array < shape.array_count; ++array) {
    const int64_t width = shape.widths[array], bytes = shape.size * width;
    for (int64_t r = 0; r < count; ++r) {
      const uint32_t* own = positions.data() + r * shape.size;
      const char* from = at(array, row + r);
      char* to = at(shape.array_count + array, row + r);
      std::array<char, kNetworkSize * sizeof(DoubleQuadWord)> moved;
      if (array == shape.positions) {
        std::memcpy(to, own, bytes);
        continue;
      }
      if (from == to) from = static_cast<char*>(std::memcpy(moved.data(), from, bytes));
      GatherRow(context, 1, width, from, to, own, shape.size);
    }
  }
  return true;
}

template <typename Key, typename Value>
void SortAll(ProgramContext* context, const RowSortShape& shape, const void* const* arrays, char* scratch) {
  using Sorter = RadixSorter<Key, Value>;
  const bool by_position = Gathers(shape);
  const int chunks = DividesRows(shape) ? static_cast<int>(std::min<int64_t>(Threads(*context), kMaxChunks)) : 1;
  const int64_t stripes = Stripes(shape), spare_bytes = SpareBytes(shape), host = PositionsArray(shape);
  auto at = [&](int64_t array, int64_t row) {
    const int64_t width = shape.widths[array % shape.array_count];
    return static_cast<char*>(const_cast<void*>(arrays[array])) + row * shape.size * width;
  };
  std::optional<RowNetwork> network;
  if (ByNetwork(shape)) network.emplace(shape.size);
  auto columns = [&](int64_t index) {
    if constexpr (!Sorter::kCarries) {
      char* spare = scratch + index * StripeBytes(shape);
      const int64_t stride = ColumnBytes(shape) / sizeof(Key), together = ColumnsTogether(shape),
                    groups = Groups(shape);
      Key* copy = reinterpret_cast<Key*>(spare + StripeBytes(shape) - CopyBytes(shape));
      Key* rows = copy - together * stride;
      const int64_t across = CeilDivide(shape.inner, together);
      Sorter sorter(context, 1, shape.size, shape.code, spare, spare_bytes);
      for (int64_t group = groups * index / stripes; group < groups * (index + 1) / stripes; ++group) {
        const int64_t first = group % across * together, count = std::min(together, shape.inner - first);
        const int64_t offset = group / across * shape.size * shape.inner + first;
        const Key* source = static_cast<const Key*>(arrays[0]) + offset;
        Key* result = static_cast<Key*>(const_cast<void*>(arrays[1])) + offset;
        if (network &&
            SortRowBlock(*network, {count, shape.inner}, KeyMasks<Key>(shape.code), source, result, nullptr)) {
          continue;
        }
        auto load = [&](auto columns) {
          for (int64_t i = 0; i < shape.size; ++i) {
            for (int64_t c = 0; c < columns; ++c) rows[c * stride + i] = source[i * shape.inner + c];
          }
        };
        auto store = [&](auto columns) {
          for (int64_t i = 0; i < shape.size; ++i) {
            for (int64_t c = 0; c < columns; ++c) result[i * shape.inner + c] = rows[c * stride + i];
          }
        };
        // Usually as many as the compiler knows.
        constexpr std::integral_constant<int64_t, kColumnBytes / sizeof(Key)> kAll;
        count == kAll ? load(kAll) : load(count);
        for (int64_t column = 0; column < count; ++column) {
          Key* row = rows + column * stride;
          std::memcpy(copy, row, shape.size * sizeof(Key));
          sorter.Sort(copy, nullptr, row, nullptr);
        }
        count == kAll ? store(kAll) : store(count);
      }
    }
  };
  if (shape.inner > 1) return ForEach(context, stripes, columns);
  auto stripe = [&](int64_t index) {
    char* memory = scratch + index * StripeBytes(shape);
    Sorter sorter(context, chunks, shape.size, shape.code, memory, spare_bytes);
    const auto sort = [&](int64_t row) {
      const auto* keys = reinterpret_cast<const Key*>(at(0, row));
      auto* sorted_keys = reinterpret_cast<Key*>(at(shape.array_count, row));
      Key* copy = nullptr;
      if (keys == sorted_keys && CopyBytes(shape) > 0) {
        copy = reinterpret_cast<Key*>(memory + StripeBytes(shape) - CopyBytes(shape));
      }
      if constexpr (Sorter::kCarries) {
        const auto* values = by_position || shape.positions != 0 ? nullptr : reinterpret_cast<const Value*>(at(1, row));
        char* sorted_values = at(shape.array_count + 1, row);
        if (by_position) {
          sorted_values = PositionBytes(shape) > 0
                              ? memory + spare_bytes
                              : at(shape.array_count + host, row) + (shape.widths[host] - 4) * shape.size;
        }
        sorter.Sort(keys, values, sorted_keys, reinterpret_cast<Value*>(sorted_values), copy);
        if (!by_position) return;
        auto gather = [&](int64_t array) {
          char *from = at(array, row), *to = at(shape.array_count + array, row);
          if (from == to) {
            char* moved = memory + spare_bytes + PositionBytes(shape);
            std::memcpy(moved, from, shape.widths[array] * shape.size);
            from = moved;
          }
          GatherRow(context, chunks, shape.widths[array], from, to, reinterpret_cast<const uint32_t*>(sorted_values),
                    shape.size);
        };
        for (int64_t array = 1; array < shape.array_count; ++array) {
          if (array != host) gather(array);
        }
        if (host > 0 && shape.positions == 0) gather(host);
      } else {
        sorter.Sort(keys, nullptr, sorted_keys, nullptr, copy);
      }
    };
    const int64_t end = shape.rows * (index + 1) / stripes, together = network ? RowsTogether(shape) : 1;
    for (int64_t row = shape.rows * index / stripes; row < end; row += together) {
      const int64_t count = std::min(together, end - row);
      if (network && SortTogether<Key>(context, shape, *network, row, count, at)) continue;
      for (int64_t r = 0; r < count; ++r) sort(row + r);
    }
  };
  if (stripes == 1) return stripe(0);
  ForEach(context, stripes, stripe);
}

template <typename Key>
void SortAll(ProgramContext* context, const RowSortShape& shape, const void* const* arrays, char* scratch) {
  switch (CarryOf(shape)) {
    case Carry::kNothing:
      return SortAll<Key, void>(context, shape, arrays, scratch);
    case Carry::kDoubleWord:
      return SortAll<Key, uint64_t>(context, shape, arrays, scratch);
    default:
      return SortAll<Key, uint32_t>(context, shape, arrays, scratch);
  }
}

}  // namespace

void SortRows(ProgramContext* context, const RowSortShape* shape, const void* const* arrays, void* scratch) {
  ForKeysOf(shape->key_width,
            [&]<typename Key>(Key) { SortAll<Key>(context, *shape, arrays, static_cast<char*>(scratch)); });
}

}  // namespace kiln::cpu
