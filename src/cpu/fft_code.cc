#include "src/cpu/fft_code.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "absl/strings/str_cat.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "src/cpu/fft_butterfly.h"
#include "src/cpu/fft_radices.h"
#include "src/cpu/host_isa.h"
#include "src/cpu/llvm_loop.h"

namespace kiln::cpu {
namespace {

using llvm::Value;
using Values = std::vector<Value*>;

std::string Text(const FftSide& side) {
  return absl::StrCat(".", static_cast<int>(side.form), side.swapped ? "s" : "", "p", side.plane, "x", side.pitch);
}

struct NameOf {
  std::string operator()(const FftPass& pass) const {
    return absl::StrCat("pass.", static_cast<int>(pass.lanes_run), ".", pass.length, ".", pass.radix, ".",
                        pass.neighbours, pass.twiddles ? "t" : "", pass.step_twiddles ? "u" : "",
                        pass.scale == 1 ? "" : absl::StrCat(".", pass.scale), Text(pass.source),
                        Text(pass.destination));
  }
  std::string operator()(const FftPairs& pairs) const {
    return absl::StrCat("pairs.", pairs.to_real ? "r" : "", pairs.columns ? "c" : "", pairs.pieces ? "p" : "",
                        pairs.half, Text(pairs.source), Text(pairs.destination));
  }
  std::string operator()(const FftUnpairedColumns& move) const {
    return absl::StrCat("unpaired.", move.rows, ".", move.columns, Text(move.source), Text(move.destination));
  }
  std::string operator()(const FftMirror& mirror) const {
    return absl::StrCat("mirror.", mirror.length, Text(mirror.side));
  }
  std::string operator()(const FftTransposition& move) const {
    return absl::StrCat("transposition.", move.into_rows ? "r" : "", move.count, ".", move.length, ".", move.row,
                        move.scale == 1 ? "" : absl::StrCat(".", move.scale), Text(move.rows), Text(move.columns));
  }
  std::string operator()(const FftZero& zero) const {
    return absl::StrCat("zero.", zero.begin, ".", zero.end, Text(zero.side));
  }
};

class CodeEmitter {
 public:
  CodeEmitter(llvm::Function* function, const FftStep& step, bool is_double)
      : b_(llvm::BasicBlock::Create(function->getContext(), "entry", function)),
        function_(function),
        lanes_(step.lanes),
        number_(is_double ? b_.getDoubleTy() : b_.getFloatTy()) {
    llvm::FastMathFlags flags;
    flags.setAllowContract();
    flags.setNoSignedZeros();
    b_.setFastMathFlags(flags);
    std::visit([&](const auto& code) { Emit(code); }, step.code);
    b_.CreateRetVoid();
  }

 private:
  Value* source() const { return function_->getArg(0); }
  Value* destination() const { return function_->getArg(1); }
  Value* table() const { return function_->getArg(2); }
  Value* bases() const { return function_->getArg(3); }
  Value* start() const { return function_->getArg(4); }
  Value* width() const { return function_->getArg(5); }
  Value* Index(int64_t value) { return b_.getInt64(static_cast<uint64_t>(value)); }
  Value* Times(Value* index, int64_t factor) { return factor == 1 ? index : b_.CreateMul(index, Index(factor)); }
  llvm::Type* Vector(int lanes) {
    return lanes == 1 ? number_ : llvm::FixedVectorType::get(number_, static_cast<unsigned>(lanes));
  }

  Value* At(Value* base, Value* index, int64_t constant) {
    Value* pointer = b_.CreateGEP(number_, base, index);
    return constant == 0 ? pointer : b_.CreateConstGEP1_64(number_, pointer, static_cast<uint64_t>(constant));
  }
  Value* LoadNumbers(Value* base, Value* index, int64_t constant, int lanes) {
    return b_.CreateAlignedLoad(Vector(lanes), At(base, index, constant), NumberAlign());
  }
  void StoreNumbers(Value* value, Value* base, Value* index, int64_t constant) {
    b_.CreateAlignedStore(value, At(base, index, constant), NumberAlign());
  }
  llvm::Align NumberAlign() const { return llvm::Align(number_->isDoubleTy() ? 8 : 4); }

  Value* Shuffle(Value* x, Value* y, int count, const std::function<int(int)>& from) {
    std::vector<int> mask(count);
    for (int i = 0; i < count; ++i) mask[i] = from(i);
    return b_.CreateShuffleVector(x, y, mask);
  }
  Value* Reversed(Value* x) {
    return lanes_ == 1 ? x : Shuffle(x, x, lanes_, [&](int i) { return lanes_ - 1 - i; });
  }
  Value* Splat(Value* scalar) {
    return lanes_ == 1 ? scalar : b_.CreateVectorSplat(static_cast<unsigned>(lanes_), scalar);
  }

  // Successive elements, from element index + constant on.
  ComplexValue Load(const FftSide& side, Value* base, Value* index, int64_t constant) {
    ComplexValue value;
    if (side.form == FftSide::kInterleaved) {
      Value* at = Times(index, 2);
      if (lanes_ == 1) {
        value = {LoadNumbers(base, at, 2 * constant, 1), LoadNumbers(base, at, 2 * constant + 1, 1)};
      } else {
        Value* both = LoadNumbers(base, at, 2 * constant, 2 * lanes_);
        value.re = Shuffle(both, both, lanes_, [](int i) { return 2 * i; });
        value.im = Shuffle(both, both, lanes_, [](int i) { return 2 * i + 1; });
      }
    } else {
      value.re = LoadNumbers(base, index, constant, lanes_);
      value.im = side.form == FftSide::kReal ? llvm::ConstantFP::get(Vector(lanes_), 0.0)
                                             : LoadNumbers(base, index, constant + side.plane, lanes_);
    }
    if (side.swapped) std::swap(value.re, value.im);
    return value;
  }

  void Store(const FftSide& side, ComplexValue value, Value* base, Value* index, int64_t constant) {
    if (side.swapped) std::swap(value.re, value.im);
    if (side.form != FftSide::kInterleaved) {
      StoreNumbers(value.re, base, index, constant);
      if (side.form == FftSide::kSplit) StoreNumbers(value.im, base, index, constant + side.plane);
      return;
    }
    Value* at = Times(index, 2);
    if (lanes_ == 1) {
      StoreNumbers(value.re, base, at, 2 * constant);
      StoreNumbers(value.im, base, at, 2 * constant + 1);
    } else {
      StoreNumbers(Shuffle(value.re, value.im, 2 * lanes_, [&](int i) { return i / 2 + i % 2 * lanes_; }), base, at,
                   2 * constant);
    }
  }

  // Element j of each vector after the others' element j: as many vectors again, a power of two.
  Values Interleave(const Values& vectors) {
    const int count = static_cast<int>(vectors.size());
    if (count == 1 || lanes_ == 1) return vectors;
    Values result;
    Values even, odd;
    for (int i = 0; i < count; i += 2) even.push_back(vectors[i]), odd.push_back(vectors[i + 1]);
    even = Interleave(even);
    odd = Interleave(odd);
    for (int i = 0; i < count / 2; ++i) {
      for (int half : {0, lanes_ / 2}) {
        result.push_back(Shuffle(even[i], odd[i], lanes_, [&](int k) { return half + k / 2 + k % 2 * lanes_; }));
      }
    }
    return result;
  }

  // On the stack, for so many vectors.
  llvm::AllocaInst* Buffer(int64_t vectors) { return StackSlot(b_, Vector(lanes_), 64, Index(vectors)); }

  // The interleaved vectors of each plane, by `store` of a plane, the number of a vector (the sum of both), and the
  // vector. Large ones go by way of memory in two rounds: LLVM's time grows fast with chains of shuffles, and the
  // processor's is the shuffles' all the same.
  void Interleave(const std::vector<Values>& planes,
                  const std::function<void(Value* plane, Value* base, int vector, Value* value)>& store) {
    const int count = static_cast<int>(planes[0].size()), quarter = count / 4;
    const int size = static_cast<int>(planes.size());
    if (lanes_ < 4 || count < 8 || count % 4 != 0) {
      for (int p = 0; p < size; ++p) {
        const Values interleaved = Interleave(planes[p]);
        for (int i = 0; i < count; ++i) store(Index(p), Index(0), i, interleaved[i]);
      }
      return;
    }
    llvm::AllocaInst* buffer = Buffer(count * size);
    for (int p = 0; p < size; ++p) {
      for (int c = 0; c < 4; ++c) {
        Values part;
        for (int i = 0; i < quarter; ++i) part.push_back(planes[p][c + 4 * i]);
        part = Interleave(part);
        for (int i = 0; i < quarter; ++i) StoreNumbers(part[i], buffer, Index(((p * quarter + i) * 4 + c) * lanes_), 0);
      }
    }
    EmitLoop(b_, Index(0), Index(size), 1, "planes", [&](Value* plane) {
      EmitLoop(b_, Index(0), Index(quarter), 1, "quarters", [&](Value* i) {
        Value* from = Times(b_.CreateAdd(Times(plane, quarter), i), 4 * lanes_);
        Values part;
        for (int c = 0; c < 4; ++c) part.push_back(LoadNumbers(buffer, from, c * lanes_, lanes_));
        part = Interleave(part);
        for (int c = 0; c < 4; ++c) store(plane, Times(i, 4), c, part[c]);
      });
    });
  }

  // Over [0, extent) by vectors, the last of which begins earlier where it would not fit.
  void OverLanes(Value* extent, const std::function<void(Value*)>& body) {
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(extent);
    const bool fits = lanes_ == 1 || (constant != nullptr && constant->getSExtValue() % lanes_ == 0);
    Value* last = fits ? nullptr : b_.CreateSub(extent, Index(lanes_));
    EmitLoop(b_, Index(0), extent, lanes_, "lanes",
             [&](Value* i) { body(fits ? i : b_.CreateSelect(b_.CreateICmpSLT(i, last), i, last)); });
  }

  ComplexValue Scaled(const ComplexValue& x, double scale) {
    if (scale == 1) return x;
    Value* factor = llvm::ConstantFP::get(Vector(lanes_), scale);
    return {b_.CreateFMul(x.re, factor), b_.CreateFMul(x.im, factor)};
  }

  // Number `entry` of a table by rows, in all lanes.
  ComplexValue SplatEntry(Value* numbers, Value* row, int64_t row_entries, int64_t entry) {
    Value* at = Times(row, 2 * row_entries);
    return {Splat(LoadNumbers(numbers, at, 2 * entry, 1)), Splat(LoadNumbers(numbers, at, 2 * entry + 1, 1))};
  }

  // What Interleave does for powers of two, for which shuffles are no faster.
  void StoreOneByOne(const FftPass& pass, const std::vector<ComplexValue>& legs, Value* to) {
    llvm::AllocaInst* buffer = Buffer(2 * pass.radix);
    for (int64_t r = 0; r < pass.radix; ++r) {
      StoreNumbers(legs[r].re, buffer, Index(r * lanes_), 0);
      StoreNumbers(legs[r].im, buffer, Index((pass.radix + r) * lanes_), 0);
    }
    EmitLoop(b_, Index(0), Index(lanes_), 1, "lane", [&](Value* lane) {
      Value* at = b_.CreateAdd(to, Times(lane, pass.radix));
      for (int64_t i = 0; i < 2 * pass.radix; ++i) {
        const int64_t place = i < pass.radix ? i : i - pass.radix + pass.destination.plane;
        StoreNumbers(LoadNumbers(buffer, lane, i * lanes_, 1), destination(), at, place);
      }
    });
  }

  void Emit(const FftPass& pass) {
    const bool columns = pass.lanes_run == FftPass::kColumns;
    const int64_t groups = pass.length / (pass.radix * pass.neighbours);
    const int64_t source_leg = pass.length / pass.radix * pass.source.pitch;
    const int64_t destination_leg = pass.neighbours * pass.destination.pitch;
    // With radix 1 the only leg is multiplied, else all but the first.
    const int64_t first = pass.radix == 1 ? 0 : 1, table_legs = pass.radix - first;
    // What becomes of the legs from `from` on, `lane` of `extent` along the lanes and number `k` of the neighbours.
    auto transform = [&](Value* from, Value* to, Value* k, Value* lane) {
      std::vector<ComplexValue> legs;
      for (int64_t r = 0; r < pass.radix; ++r) {
        ComplexValue leg = Load(pass.source, source(), from, r * source_leg);
        if (pass.twiddles && r >= first) {
          ComplexValue root;
          if (columns) {
            root = SplatEntry(table(), k, table_legs, r - first);
          } else {
            const int64_t row = 2 * (r - first) * pass.neighbours;
            root = {LoadNumbers(table(), lane, row, lanes_), LoadNumbers(table(), lane, row + pass.neighbours, lanes_)};
          }
          leg = ComplexProduct(b_, leg, root);
        }
        if (pass.step_twiddles) {
          const int64_t row = r * groups, pitch = pass.destination.pitch;
          Value* at = b_.CreateAdd(lane, Times(k, 2 * pitch));
          const ComplexValue root = {LoadNumbers(table(), at, 2 * row * pitch, lanes_),
                                     LoadNumbers(table(), at, (2 * row + 1) * pitch, lanes_)};
          leg = ComplexProduct(b_, leg, ComplexProduct(b_, root, SplatEntry(bases(), k, 1, row)));
        }
        legs.push_back(leg);
      }
      EmitButterfly(b_, &legs);
      if (pass.lanes_run == FftPass::kAcrossGroups) {
        if (lanes_ == 1) {
          for (int64_t r = 0; r < pass.radix; ++r) {
            Store(pass.destination, Scaled(legs[r], pass.scale), destination(), to, r);
          }
          return;
        }
        // To the scratch, since other passes follow.
        if (!std::has_single_bit(static_cast<uint64_t>(pass.radix))) return StoreOneByOne(pass, legs, to);
        std::vector<Values> planes(2);
        for (const ComplexValue& leg : legs) planes[0].push_back(leg.re), planes[1].push_back(leg.im);
        Interleave(planes, [&](Value* plane, Value* base, int vector, Value* value) {
          Value* at = b_.CreateAdd(b_.CreateAdd(to, Times(plane, pass.destination.plane)), Times(base, lanes_));
          StoreNumbers(value, destination(), at, vector * lanes_);
        });
        return;
      }
      for (int64_t r = 0; r < pass.radix; ++r) {
        Store(pass.destination, Scaled(legs[r], pass.scale), destination(), to, r * destination_leg);
      }
    };
    if (pass.lanes_run == FftPass::kAcrossGroups) {
      OverLanes(Index(groups), [&](Value* a) { transform(a, Times(a, pass.radix), nullptr, a); });
      return;
    }
    EmitLoop(b_, Index(0), Index(groups), 1, "groups", [&](Value* a) {
      Value* from = Times(a, pass.neighbours * pass.source.pitch);
      Value* to = Times(a, pass.neighbours * pass.radix * pass.destination.pitch);
      if (!columns) {
        OverLanes(Index(pass.neighbours),
                  [&](Value* k) { transform(b_.CreateAdd(from, k), b_.CreateAdd(to, k), k, k); });
        return;
      }
      EmitLoop(b_, Index(0), Index(pass.neighbours), 1, "neighbours", [&](Value* k) {
        Value* row_from = b_.CreateAdd(from, Times(k, pass.source.pitch));
        Value* row_to = b_.CreateAdd(to, Times(k, pass.destination.pitch));
        OverLanes(width(), [&](Value* lane) {
          // Of the first pass, whose elements have no neighbours, the number of the group.
          transform(b_.CreateAdd(row_from, lane), b_.CreateAdd(row_to, lane), pass.step_twiddles ? a : k, lane);
        });
      });
    });
  }

  void Emit(const FftPairs& pairs) {
    const int64_t m = pairs.half, count = m / 2 + 1;
    const int64_t source_pitch = pairs.columns ? pairs.source.pitch : 1;
    const int64_t destination_pitch = pairs.columns ? pairs.destination.pitch : 1;
    // Elements k and m - k, and those that follow them in both directions along a row.
    auto pair = [&](Value* k) {
      const bool reversed = !pairs.columns;
      Value* mirror = b_.CreateSub(Index(reversed ? m - lanes_ + 1 : m), k);
      ComplexValue root;
      if (pairs.columns) {
        root = SplatEntry(table(), k, 1, 0);
      } else {
        root = {LoadNumbers(table(), k, 0, lanes_), LoadNumbers(table(), k, count, lanes_)};
      }
      ComplexValue x = Load(pairs.source, source(), Times(k, source_pitch), 0);
      ComplexValue y = Load(pairs.source, source(), Times(mirror, source_pitch), 0);
      if (reversed) y = {Reversed(y.re), Reversed(y.im)};
      if (!pairs.to_real) {
        x = Scaled(x, 0.5);
        y = Scaled(y, 0.5);
      }
      const ComplexValue sum = {b_.CreateFAdd(x.re, y.re), b_.CreateFSub(x.im, y.im)};
      const ComplexValue difference = {b_.CreateFSub(x.re, y.re), b_.CreateFAdd(x.im, y.im)};
      ComplexValue turned, one, other;
      if (pairs.to_real) {
        turned = ComplexProduct(b_, difference, {root.re, b_.CreateFNeg(root.im)});
        one = {b_.CreateFSub(sum.re, turned.im), b_.CreateFAdd(sum.im, turned.re)};
        other = {b_.CreateFAdd(sum.re, turned.im), b_.CreateFSub(turned.re, sum.im)};
      } else {
        turned = ComplexProduct(b_, difference, root);
        one = {b_.CreateFAdd(sum.re, turned.im), b_.CreateFSub(sum.im, turned.re)};
        other = {b_.CreateFSub(sum.re, turned.im), b_.CreateFNeg(b_.CreateFAdd(sum.im, turned.re))};
      }
      if (reversed) other = {Reversed(other.re), Reversed(other.im)};
      Store(pairs.destination, one, destination(), Times(k, destination_pitch), 0);
      Store(pairs.destination, other, destination(), Times(mirror, destination_pitch), 0);
    };
    // The first element and the one behind the last are real.
    auto ends = [&] {
      const ComplexValue x = Load(pairs.source, source(), Index(0), 0);
      Value* zero = llvm::ConstantFP::get(Vector(lanes_), 0.0);
      if (pairs.to_real) {
        Value* last = Load(pairs.source, source(), Index(m * source_pitch), 0).re;
        Store(pairs.destination, {b_.CreateFAdd(x.re, last), b_.CreateFSub(x.re, last)}, destination(), Index(0), 0);
      } else {
        Store(pairs.destination, {b_.CreateFAdd(x.re, x.im), zero}, destination(), Index(0), 0);
        Store(pairs.destination, {b_.CreateFSub(x.re, x.im), zero}, destination(), Index(m * destination_pitch), 0);
      }
    };
    if (pairs.columns) {
      ends();
      EmitLoop(b_, Index(1), Index(count), 1, "pairs", pair);
      return;
    }
    Value* begin = pairs.pieces ? start() : Index(0);
    Value* end = pairs.pieces ? b_.CreateAdd(start(), width()) : Index(count);
    const int lanes = lanes_;
    Value* at_first = b_.CreateICmpEQ(begin, Index(0));
    lanes_ = 1;
    EmitIf(b_, at_first, "ends", ends);
    lanes_ = lanes;
    begin = b_.CreateSelect(at_first, Index(1), begin);
    if (lanes > 1) {
      // Vectors as long as both directions do not meet.
      Value* before_meeting = Index((m - 2 * lanes + 1 >= 0 ? (m - 2 * lanes + 1) / 2 : -1) + 1);
      Value* limit = b_.CreateSub(end, Index(lanes - 1));
      limit = b_.CreateSelect(b_.CreateICmpSLT(limit, before_meeting), limit, before_meeting);
      EmitLoop(b_, begin, limit, lanes, "pairs", pair);
      Value* left = b_.CreateSelect(b_.CreateICmpSLT(begin, limit), b_.CreateSub(limit, begin), Index(0));
      Value* vectors = b_.CreateLShr(b_.CreateAdd(left, Index(lanes - 1)), Index(std::bit_width(unsigned(lanes)) - 1));
      begin = b_.CreateAdd(begin, Times(vectors, lanes));
    }
    lanes_ = 1;
    EmitLoop(b_, begin, end, 1, "rest", pair);
  }

  void Emit(const FftUnpairedColumns& move) {
    const int64_t length = move.rows * move.columns, pitch = move.destination.pitch;
    EmitLoop(b_, Index(0), Index(move.rows), 1, "rows", [&](Value* row) {
      OverLanes(Index(pitch), [&](Value* lane) {
        Value *column = b_.CreateAdd(start(), lane), *k = b_.CreateAdd(Times(row, move.columns), column);
        ComplexValue x = Load(move.source, source(), k, 0);
        ComplexValue y = Load(move.source, source(), b_.CreateSub(Index(length - lanes_ + 1), k), 0);
        const ComplexValue root = {LoadNumbers(table(), column, 2 * move.columns, lanes_),
                                   LoadNumbers(table(), column, 3 * move.columns, lanes_)};
        ComplexValue turn = ComplexProduct(b_, root, SplatEntry(bases(), row, 2, 1));
        turn.im = b_.CreateFNeg(turn.im);
        y = {Reversed(y.re), b_.CreateFNeg(Reversed(y.im))};
        const ComplexValue difference = {b_.CreateFSub(x.re, y.re), b_.CreateFSub(x.im, y.im)};
        const ComplexValue turned = ComplexProduct(b_, difference, turn);
        const ComplexValue result = {b_.CreateFSub(b_.CreateFAdd(x.re, y.re), turned.im),
                                     b_.CreateFAdd(b_.CreateFAdd(x.im, y.im), turned.re)};
        Store(move.destination, result, destination(), b_.CreateAdd(Times(row, pitch), lane), 0);
      });
    });
    lanes_ = 1;
    EmitIf(b_, b_.CreateICmpEQ(start(), Index(0)), "first", [&] {
      Value* x = Load(move.source, source(), Index(0), 0).re;
      Value* y = Load(move.source, source(), Index(length), 0).re;
      Store(move.destination, {b_.CreateFAdd(x, y), b_.CreateFSub(x, y)}, destination(), Index(0), 0);
    });
  }

  void Emit(const FftMirror& mirror) {
    const int64_t kept = mirror.length / 2 + 1;
    StoreNumbers(llvm::ConstantFP::get(number_, 0.0), destination(), Index(0), mirror.side.plane);
    if (kept == 1) return;
    OverLanes(Index(kept - 1), [&](Value* i) {
      const ComplexValue value = Load(mirror.side, source(), i, 1);
      Value* to = b_.CreateSub(Index(mirror.length - lanes_), i);
      Store(mirror.side, {Reversed(value.re), b_.CreateFNeg(Reversed(value.im))}, destination(), to, 0);
    });
  }

  void Emit(const FftTransposition& move) {
    const int64_t numbers = 2 * move.length;
    const int width = static_cast<int>(FftLanes(lanes_, numbers)), rows = lanes_;
    auto block = [&](Value* first, Value* at) {
      // Of a column, its place among the block's columns and the part of its elements.
      auto column = [&](int c) {
        const int64_t part = (c % 2) ^ (move.rows.swapped ? 1 : 0);
        return c / 2 * move.columns.pitch + part * move.columns.plane;
      };
      Value* element = b_.CreateAdd(Times(b_.CreateLShr(at, Index(1)), move.columns.pitch), first);
      Value* row = b_.CreateAdd(at, Times(first, move.row));
      Values vectors;
      if (move.into_rows) {
        for (int c = 0; c < width; ++c) {
          Value* value = LoadNumbers(source(), element, column(c), rows);
          if (move.scale != 1) value = b_.CreateFMul(value, llvm::ConstantFP::get(value->getType(), move.scale));
          vectors.push_back(value);
        }
        Interleave({vectors}, [&](Value*, Value* base, int vector, Value* value) {
          // Of narrow rows a vector has several.
          for (int offset = 0; offset < rows; offset += width) {
            Value* piece = width == rows ? value : Shuffle(value, value, width, [&](int i) { return offset + i; });
            const int64_t place = (int64_t{vector} * rows + offset) / width;
            StoreNumbers(piece, destination(), b_.CreateAdd(row, Times(base, rows / width * move.row)),
                         place * move.row);
          }
        });
        return;
      }
      for (int r = 0; r < rows; ++r) vectors.push_back(LoadNumbers(source(), row, r * move.row, width));
      lanes_ = width;
      if (width == rows) {
        Interleave({vectors}, [&](Value*, Value* base, int vector, Value* value) {
          Value* begin = Times(b_.CreateLShr(base, Index(1)), move.columns.pitch);
          StoreNumbers(value, destination(), b_.CreateAdd(element, begin), column(vector));
        });
        return;
      }
      vectors = Interleave(vectors);
      lanes_ = rows;
      // Of narrow rows several make a column.
      for (int has = width; has < rows; has *= 2) {
        Values joined;
        for (size_t i = 0; i < vectors.size(); i += 2) {
          joined.push_back(Shuffle(vectors[i], vectors[i + 1], 2 * has, [](int k) { return k; }));
        }
        vectors = std::move(joined);
      }
      for (int c = 0; c < width; ++c) StoreNumbers(vectors[c], destination(), element, column(c));
    };
    EmitLoop(b_, Index(0), Index(move.count), rows, "rows", [&](Value* first) {
      lanes_ = width;
      OverLanes(Index(numbers), [&](Value* at) {
        lanes_ = rows;
        block(first, at);
        lanes_ = width;
      });
      lanes_ = rows;
    });
  }

  void Emit(const FftZero& zero) {
    const int64_t begin = zero.begin * zero.side.pitch, count = (zero.end - zero.begin) * zero.side.pitch;
    for (int64_t plane : {int64_t{0}, zero.side.plane}) {
      b_.CreateMemSet(At(destination(), Index(0), begin + plane), b_.getInt8(0),
                      static_cast<uint64_t>(count) * (number_->isDoubleTy() ? 8 : 4), NumberAlign());
    }
  }

  llvm::IRBuilder<> b_;
  llvm::Function* function_;
  int lanes_;
  llvm::Type* number_;
};

}  // namespace

std::string FftCodeName(const FftStep& step, bool is_double) {
  return absl::StrCat("fft.", is_double ? "f64x" : "f32x", step.lanes, ".", std::visit(NameOf(), step.code));
}

llvm::FunctionType* FftCodeType(llvm::LLVMContext& context) {
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  llvm::Type* i64 = llvm::Type::getInt64Ty(context);
  return llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer, pointer, pointer, i64, i64},
                                 /*isVarArg=*/false);
}

void EmitFftCode(llvm::Function* function, const FftStep& step, bool is_double) {
  CodeEmitter(function, step, is_double);
}

}  // namespace kiln::cpu
