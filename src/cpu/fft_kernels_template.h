// The steps of fft_step.h for one vector width. Included by files that are compiled for one instruction set each, as
// gemm_kernels_template.h is.
#ifndef KILN_CPU_FFT_KERNELS_TEMPLATE_H_
#define KILN_CPU_FFT_KERNELS_TEMPLATE_H_

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

#include "src/cpu/fft_butterfly.h"
#include "src/cpu/fft_kernels.h"
#include "src/cpu/lane_squares.h"

// Loops over legs are unrolled where the radix is known.
#pragma clang diagnostic ignored "-Wpass-failed"

namespace kiln::cpu {
namespace {

template <typename V, typename T>
KILN_INLINE V LoadLanes(const T* from) {
  V value;
  std::memcpy(&value, from, sizeof(V));
  return value;
}

template <typename V, typename T>
KILN_INLINE void StoreLanes(T* to, V value) {
  std::memcpy(to, &value, sizeof(V));
}

template <int kFirst, int kStep, typename V, int... i>
KILN_INLINE V EachSecond(V a, V b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, (kFirst + kStep * i)...);
}

template <int kHalf, typename V, int... i>
KILN_INLINE V InTurns(V a, V b, std::integer_sequence<int, i...>) {
  constexpr int kCount = sizeof...(i);
  return __builtin_shufflevector(a, b, (kHalf * kCount / 2 + i / 2 + i % 2 * kCount)...);
}

// Vectors, or with kLanes = 1 numbers.
template <typename T, int kLaneCount>
struct Lanes {
  static constexpr int kLanes = kLaneCount;
  static constexpr auto kNumbers = std::make_integer_sequence<int, kLanes>();
  using V = std::conditional_t<kLanes == 1, T, typename Several<T, std::max(kLanes, 2)>::Type>;

  static KILN_INLINE Complex<V> LoadInterleaved(const T* from) {
    if constexpr (kLanes == 1) {
      return {from[0], from[1]};
    } else {
      const V a = LoadLanes<V>(from), b = LoadLanes<V>(from + kLanes);
      return {EachSecond<0, 2>(a, b, kNumbers), EachSecond<1, 2>(a, b, kNumbers)};
    }
  }
  static KILN_INLINE void StoreInterleaved(T* to, Complex<V> x) {
    if constexpr (kLanes == 1) {
      to[0] = x.re, to[1] = x.im;
    } else {
      StoreLanes(to, InTurns<0>(x.re, x.im, kNumbers));
      StoreLanes(to + kLanes, InTurns<1>(x.re, x.im, kNumbers));
    }
  }
  static KILN_INLINE Complex<V> Load(int64_t plane, const T* from) {
    if (plane == 1) return LoadInterleaved(from);
    return {LoadLanes<V>(from), plane == 0 ? V{} : LoadLanes<V>(from + plane)};
  }
  static KILN_INLINE void Store(int64_t plane, T* to, Complex<V> x) {
    if (plane == 1) return StoreInterleaved(to, x);
    StoreLanes(to, x.re);
    if (plane != 0) StoreLanes(to + plane, x.im);
  }
  static KILN_INLINE V Reversed(V x) {
    if constexpr (kLanes == 1) {
      return x;
    } else {
      return EachSecond<kLanes - 1, -1>(x, x, kNumbers);
    }
  }
  static KILN_INLINE Complex<V> Reversed(Complex<V> x) { return {Reversed(x.re), Reversed(x.im)}; }
  // A number, or a complex one, in all lanes.
  static KILN_INLINE V Splat(T x) { return x - V{}; }  // a sum would make a positive zero of a negative one
  static KILN_INLINE Complex<V> SplatNumber(const T* from) { return {Splat(from[0]), Splat(from[1])}; }
};

// By what the legs of a pass are multiplied.
enum class Roots { kNone, kAlong, kSplat, kSteps };

// What is known of a pass when it is compiled; what is kAny is seen when it runs.
enum class Form { kInterleaved, kSplit, kAcross, kAny };
struct Shape {
  Form from = Form::kAny, to = Form::kAny;
  Roots roots = Roots::kNone;
  constexpr bool operator==(const Shape&) const = default;
};

template <typename T, int kBytes>
struct FftCode {
  static constexpr int kLanes = kBytes / sizeof(T);
  using Wide = Lanes<T, kLanes>;
  using V = typename Wide::V;
  using Arrays = FftArrays<T>;

  // Over [begin, end) by vectors, and numbers for what is left.
  template <typename Body>
  static KILN_INLINE void OverLanes(int64_t begin, int64_t end, const Body& body) {
    for (; begin + kLanes <= end; begin += kLanes) body(begin, Wide());
    for (; begin < end; ++begin) body(begin, Lanes<T, 1>());
  }

  // Piece a of `kPiece` numbers of each part is lane a of the legs; what one has too many the next one overwrites.
  template <int kRadix, int kPiece, int kChunks, int kStretch = 0>
  static KILN_INLINE void StorePieces(const V (&pieces)[kChunks][kPiece], T* to) {
    if constexpr (kStretch * kPiece < kLanes) {
      KILN_UNROLLED for (int lane = 0; lane < kPiece; ++lane) {
        KILN_UNROLLED for (int c = 0; c < kChunks; ++c) {
          StoreLanes(to + (kStretch * kPiece + lane) * kRadix + c * kPiece,
                     Part<kStretch * kPiece>(pieces[c][lane], std::make_integer_sequence<int, kPiece>()));
        }
      }
      StorePieces<kRadix, kPiece, kChunks, kStretch + 1>(pieces, to);
    }
  }

  // One part of all legs of a lane, then that of the next; of complex legs.
  template <int kRadix>
  static KILN_INLINE void StoreAcross(const V* x, T* to) {
    constexpr int kPiece = std::min<int>(kLanes, std::bit_ceil(unsigned{kRadix})), kChunks = (kRadix - 1) / kPiece + 1;
    V pieces[kChunks][kPiece];
    KILN_UNROLLED for (int c = 0; c < kChunks; ++c) {
      KILN_UNROLLED for (int i = 0; i < kPiece; ++i) pieces[c][i] = x[2 * std::min(c * kPiece + i, kRadix - 1)];
      Transpose<T, kLanes, kPiece>(pieces[c]);
    }
    StorePieces<kRadix, kPiece, kChunks>(pieces, to);
  }

  // A direction in which transforms are counted.
  struct Direction {
    int64_t count = 1, from = 0, to = 0, roots = 0, bases = 0;
  };

  // A pass: from one leg to the next, where the first of the others is counted from, in numbers, and its transforms.
  struct Work {
    const T *from, *roots, *bases, *prime_roots;
    T* to;
    int64_t from_plane, from_leg, from_first = 0, to_plane, to_leg;
    int64_t root_plane = 0, root_leg = 0, root_first = 0, base_leg = 0, base_first = 0;
    Direction rows, outer, middle, lanes;
    Roots kind = Roots::kNone;
    bool across;
    T scale;
    int radix;
  };

  static Work WorkOf(const FftStep& step, const Arrays& at) {
    const FftSide &source = step.source, &destination = step.destination;
    const int64_t radix = step.radix, neighbours = step.neighbours, groups = step.length / (radix * neighbours);
    const bool across = !step.columns && neighbours == 1;
    Work work = {.from = at.source,
                 .roots = at.table,
                 .bases = at.bases,
                 .prime_roots = at.prime_roots,
                 .to = at.destination,
                 .from_plane = source.plane,
                 .from_leg = step.length / radix * source.pitch,
                 .to_plane = destination.plane,
                 .to_leg = neighbours * destination.pitch,
                 .rows = {at.rows, at.source_row, at.destination_row},
                 .outer = {groups, neighbours * source.pitch, neighbours * radix * destination.pitch},
                 .middle = {step.columns ? neighbours : 1, source.pitch, destination.pitch},
                 .lanes = {step.extent > 0 ? step.extent : at.width, source.step(), destination.step()},
                 .across = across,
                 .scale = static_cast<T>(step.scale),
                 .radix = static_cast<int>(radix)};
    if (across) work.outer.count = 1, work.lanes.to = radix;
    if (step.step_roots) {
      work.kind = Roots::kSteps;
      work.root_plane = destination.plane;
      work.root_leg = 2 * groups * destination.plane;
      work.base_leg = 2 * groups;
      work.outer.roots = 2 * destination.plane, work.outer.bases = 2;
      work.lanes.roots = 1;
    } else if (neighbours > 1 && step.columns) {
      work.kind = Roots::kSplat;
      work.middle.roots = 2 * (radix - 1);
    } else if (neighbours > 1) {
      work.kind = Roots::kAlong;
      work.root_plane = neighbours;
      work.lanes.roots = 1;
    }
    if (step.inverse) {
      for (auto [leg, first] :
           {std::pair(&work.from_leg, &work.from_first), std::pair(&work.root_leg, &work.root_first),
            std::pair(&work.base_leg, &work.base_first)}) {
        *first = radix * *leg;
        *leg = -*leg;
      }
    }
    return work;
  }

  // Multiples of strides are made where they are used: the compiler would keep all of them on the stack.
  static KILN_INLINE int64_t Fresh(int64_t stride) {
    asm volatile("" : "+r"(stride));
    return stride;
  }

  // With kRadix = 0 for any prime. By way of the stack, which makes the code of rare shapes and radices short.
  template <int kRadix>
  static KILN_INLINE void AnyTransform(const Work& work, const T* from, T* to, const T* roots, const T* bases) {
    const int radix = kRadix == 0 ? work.radix : kRadix;
    Complex<V> x[kRadix == 0 ? kFftLargestRadix : kRadix];
    const T* base = bases;
    const T* step_root = roots;
    KILN_ROLLED for (int r = 0; r < radix; ++r) {
      // Seen anew for each leg, lest the compiler makes a loop of each kind.
      const auto kind = static_cast<Roots>(Fresh(static_cast<int64_t>(work.kind)));
      Complex<V> leg = Wide::Load(Fresh(work.from_plane), from);
      from += r == 0 ? work.from_first + work.from_leg : work.from_leg;
      if (kind == Roots::kSteps) {
        leg = Product(leg, Product({LoadLanes<V>(step_root), LoadLanes<V>(step_root + work.root_plane)},
                                   Wide::SplatNumber(base)));
        step_root += r == 0 ? work.root_first + work.root_leg : work.root_leg;
        base += r == 0 ? work.base_first + work.base_leg : work.base_leg;
      } else if (r > 0 && kind == Roots::kAlong) {
        leg = Product(leg, {LoadLanes<V>(roots), LoadLanes<V>(roots + work.root_plane)});
        roots += 2 * work.root_plane;
      } else if (r > 0 && kind == Roots::kSplat) {
        leg = Product(leg, Wide::SplatNumber(roots));
        roots += 2;
      }
      x[r] = leg;
    }
    if constexpr (kRadix == 0) {
      PrimeButterfly(x, radix, work.prime_roots);
    } else {
      Butterfly<T, kRadix>(x);
    }
    if (work.scale != 1) {
      const V scale = Wide::Splat(work.scale);
      KILN_ROLLED for (int r = 0; r < radix; ++r) x[r] = {x[r].re * scale, x[r].im * scale};
    }
    if (work.across) {
      if constexpr (kRadix == 0) {
        for (int i = 0; i < kLanes * radix; ++i, ++to) {
          *to = x[i % radix].re[i / radix];
          to[work.to_plane] = x[i % radix].im[i / radix];
        }
      } else {
        KILN_ROLLED for (int part = 0; part < 2; ++part)
            StoreAcross<kRadix>(&x[0].re + part, to + part * work.to_plane);
      }
      return;
    }
    // In order: what narrow rows have too many the next one overwrites.
    KILN_ROLLED for (int r = 0; r < radix; ++r, to += work.to_leg) Wide::Store(Fresh(work.to_plane), to, x[r]);
  }

  // The same of a known shape, whose legs are read and written one by one. Narrow rows have no such code.
  template <int kRadix, Shape kShape>
  static KILN_INLINE void Transform(const Work& work, const T* from, T* to, const T* roots, const T* bases, V scale) {
    const int64_t from_leg = Fresh(work.from_leg), to_leg = Fresh(work.to_leg), plane = Fresh(work.root_plane);
    const int64_t root_leg = kShape.roots == Roots::kSteps ? Fresh(work.root_leg) : 0;
    const int64_t base_leg = kShape.roots == Roots::kSteps ? Fresh(work.base_leg) : 0;
    const T* others = from + work.from_first;
    const T* imaginary = others + work.from_plane;
    const T* first_imaginary = from + work.from_plane;
    T* to_imaginary = to + work.to_plane;
    V across[2 * kRadix];
    Through<T, kRadix, V>(
        [&](int r) KILN_INLINE_BODY -> Complex<V> {
          const T* leg = r == 0 ? from : others + r * from_leg;
          Complex<V> x;
          if constexpr (kShape.from == Form::kInterleaved) {
            x = Wide::LoadInterleaved(leg);
          } else {
            x = {LoadLanes<V>(leg), LoadLanes<V>(r == 0 ? first_imaginary : imaginary + r * from_leg)};
          }
          if constexpr (kShape.roots == Roots::kSteps) {
            const T* root = r == 0 ? roots : roots + work.root_first + r * root_leg;
            const T* base = r == 0 ? bases : bases + work.base_first + r * base_leg;
            return Product(x, Product({LoadLanes<V>(root), LoadLanes<V>(root + plane)}, Wide::SplatNumber(base)));
          }
          if (r == 0 || kShape.roots == Roots::kNone) return x;
          if constexpr (kShape.roots == Roots::kSplat) return Product(x, Wide::SplatNumber(roots + 2 * (r - 1)));
          return Product(x, {LoadLanes<V>(roots + (2 * r - 2) * plane), LoadLanes<V>(roots + (2 * r - 1) * plane)});
        },
        [&](int r, Complex<V> x) KILN_INLINE_BODY {
          if constexpr (kShape.to == Form::kAcross) {
            across[2 * r] = x.re, across[2 * r + 1] = x.im;
          } else if constexpr (kShape.to == Form::kInterleaved) {
            Wide::StoreInterleaved(to + r * to_leg, {x.re * scale, x.im * scale});
          } else {
            if constexpr (kShape.roots != Roots::kAlong) x = {x.re * scale, x.im * scale};
            StoreLanes(to + r * to_leg, x.re);
            StoreLanes(to_imaginary + r * to_leg, x.im);
          }
        });
    if constexpr (kShape.to == Form::kAcross) {
      StoreAcross<kRadix>(across, to);
      StoreAcross<kRadix>(across + 1, to_imaginary);
    }
  }

  template <int kRadix, Shape kShape>
  static void Pass(const Work& given) {
    // What is stored could change the original, as far as the compiler knows.
    const Work work = given;
    const Direction &lanes = work.lanes, &middle = work.middle, &outer = work.outer;
    const int64_t last = std::max<int64_t>(0, lanes.count - kLanes);
    const V scale = Wide::Splat(work.scale);
    for (int64_t row = 0; row < work.rows.count; ++row) {
      for (int64_t a = 0; a < outer.count; ++a) {
        const T *from = work.from + row * work.rows.from + a * outer.from, *roots = work.roots + a * outer.roots;
        T* to = work.to + row * work.rows.to + a * outer.to;
        for (int64_t k = 0; k < middle.count; ++k, from += middle.from, to += middle.to, roots += middle.roots) {
          for (int64_t i = 0; i < lanes.count; i += kLanes) {
            // The last vector begins earlier where it would not fit.
            const int64_t lane = std::min(i, last);
            const T *source = from + lane * lanes.from, *root = roots + lane * lanes.roots;
            T* destination = to + lane * lanes.to;
            const T* base = work.bases + a * outer.bases;
            if constexpr (kShape == Shape{}) {
              AnyTransform<kRadix>(work, source, destination, root, base);
            } else {
              Transform<kRadix, kShape>(work, source, destination, root, base, scale);
            }
          }
        }
      }
    }
  }

  // Shapes that have code of their own for radices that most lengths are made of.
#if KILN_FFT_SHORT
  static constexpr std::size_t kCommonRadices = 0;
#else
  static constexpr std::size_t kCommonRadices = std::size(kFftCommonRadices);
#endif
  static constexpr Shape kCommonShapes[] = {
      {Form::kInterleaved, Form::kAcross, Roots::kNone},  // rows
      {Form::kSplit, Form::kSplit, Roots::kAlong},
      {Form::kSplit, Form::kInterleaved, Roots::kAlong},
      {Form::kInterleaved, Form::kSplit, Roots::kNone},  // columns
      {Form::kSplit, Form::kSplit, Roots::kNone},
      {Form::kSplit, Form::kSplit, Roots::kSplat},
      {Form::kSplit, Form::kInterleaved, Roots::kSplat},
      {Form::kInterleaved, Form::kSplit, Roots::kSteps},  // large rows, real rows
      {Form::kSplit, Form::kAcross, Roots::kNone},
  };

  using PassFunction = void(const Work&);

  // Of complex numbers that are less than a vector: one transform at a time, by way of the stack.
  static void NarrowPass(const Work& work, PassFunction* pass) {
    T parts[2][kFftLargestRadix * 2 * kLanes];
    std::fill_n(parts[0], work.radix * 2 * kLanes, T{0});
    const std::size_t bytes = static_cast<std::size_t>(2 * work.lanes.count) * sizeof(T);
    Work one = work;
    one.rows.count = one.outer.count = one.middle.count = 1;
    if (work.from_plane == 1) one.from = parts[0], one.from_leg = 2 * kLanes, one.from_first = 0;
    if (work.to_plane == 1) one.to = parts[1], one.to_leg = 2 * kLanes;
    const int64_t groups = work.outer.count;
    for (int64_t all = 0; all < work.rows.count * groups; ++all) {
      const int64_t row = all / groups, a = all % groups;
      for (int64_t k = 0; k < work.middle.count; ++k) {
        const T* from = work.from + row * work.rows.from + a * work.outer.from + k * work.middle.from;
        T* to = work.to + row * work.rows.to + a * work.outer.to + k * work.middle.to;
        if (one.from != parts[0]) one.from = from;
        if (one.to != parts[1]) one.to = to;
        one.roots = work.roots + a * work.outer.roots + k * work.middle.roots;
        one.bases = work.bases + a * work.outer.bases;
        for (int r = 0; one.from == parts[0] && r < work.radix; ++r) {
          const T* leg = from + (r > 0 ? work.from_first + r * work.from_leg : 0);
          std::memcpy(parts[0] + r * 2 * kLanes, leg, bytes);
        }
        pass(one);
        for (int r = 0; one.to == parts[1] && r < work.radix; ++r) {
          std::memcpy(to + r * work.to_leg, parts[1] + r * 2 * kLanes, bytes);
        }
      }
    }
  }

  // Large primes of doubles are rare: the code for any prime does.
  static constexpr bool Has(int64_t radix) {
#if KILN_FFT_SHORT
    return radix < 11;
#else
    return radix < 11 || (radix == 16 ? kBytes != 32 : sizeof(T) == 4);
#endif
  }

  template <std::size_t... i>
  static PassFunction* AnyPassOf(int64_t radix, std::index_sequence<i...>) {
    PassFunction* found = &Pass<0, Shape{}>;
    ((found = kFftRadices[i] == radix ? &Pass < Has(kFftRadices[i]) ? kFftRadices[i] : 0, Shape{} > : found), ...);
    return found;
  }

  template <int kRadix, std::size_t... i>
  static PassFunction* ShapedPassOf(const Shape& shape, std::index_sequence<i...>) {
    PassFunction* found = nullptr;
    // The last two are rare where lengths are odd.
    constexpr std::size_t kShapes = std::size(kCommonShapes) - (kRadix % 2 ? 2 : 0);
    // Few transforms of doubles have odd radices, which the code is too long for.
    if constexpr (Has(kRadix) && (kRadix % 2 == 0 || sizeof(T) == 4)) {
      ((found = i < kShapes && kCommonShapes[i] == shape ? &Pass<kRadix, kCommonShapes[i < kShapes ? i : 0]> : found),
       ...);
    }
    return found;
  }

  template <std::size_t... i>
  static PassFunction* PassOf(const Work& work, std::index_sequence<i...>) {
    Shape shape = {work.from_plane == 1 ? Form::kInterleaved : Form::kSplit,
                   work.across          ? Form::kAcross
                   : work.to_plane == 1 ? Form::kInterleaved
                                        : Form::kSplit,
                   work.kind};
    const bool scales = shape.to == Form::kInterleaved || (shape.to == Form::kSplit && shape.roots != Roots::kAlong);
    PassFunction* found = nullptr;
    constexpr auto kShapes = std::make_index_sequence<std::size(kCommonShapes)>();
    if (work.lanes.count >= kLanes && (work.scale == 1 || scales)) {
      ((found = kFftCommonRadices[i] == work.radix ? ShapedPassOf<kFftCommonRadices[i]>(shape, kShapes) : found), ...);
    }
    return found != nullptr ? found : AnyPassOf(work.radix, std::make_index_sequence<std::size(kFftRadices)>());
  }

  [[gnu::noinline]] static void RunPass(const FftStep& step, const Arrays& at) {
    const Work work = WorkOf(step, at);
    PassFunction* pass = PassOf(work, std::make_index_sequence<kCommonRadices>());
    const bool narrow = work.lanes.count < kLanes && (work.from_plane == 1 || (work.to_plane == 1 && !work.across));
    return narrow ? NarrowPass(work, pass) : pass(work);
  }

  [[gnu::noinline]] static void Copy(const FftStep& step, const Arrays& at) {
    const FftSide &source = step.source, &destination = step.destination;
    const T scale = static_cast<T>(step.scale);
    const bool is_part = step.columns || step.operation == FftOperation::kCopyOfUnit;
    const int64_t rows = step.columns ? step.length : 1, extent = is_part ? at.width : step.length;
    const int64_t first = step.operation == FftOperation::kCopyOfUnit ? at.start : 0;
    for (int64_t row = 0; row < rows; ++row) {
      const T* from = at.source + row * source.pitch;
      T* to = at.destination + row * destination.pitch;
      OverLanes(0, extent, [&](int64_t i, auto lanes) {
        using L = decltype(lanes);
        auto x = L::Load(Fresh(source.plane), from + i * source.step());
        if (at.table != nullptr) {
          const T* root = at.table + (step.columns ? 2 * row : first + i);
          if (step.columns) {
            x = Product(x, L::SplatNumber(root));
          } else {
            x = Product(x, {LoadLanes<typename L::V>(root), LoadLanes<typename L::V>(root + step.length)});
          }
        }
        L::Store(Fresh(destination.plane), to + i * destination.step(), {x.re * scale, x.im * scale});
      });
    }
  }

  template <typename N>
  struct Both {
    Complex<N> one, other;
  };

  // Elements k and m - k.
  template <typename N>
  static KILN_INLINE Both<N> Pair(bool to_real, Complex<N> x, Complex<N> y, Complex<N> root) {
    if (to_real) {
      const Complex<N> sum = {x.re + y.re, x.im - y.im};
      const Complex<N> turned = Product<N>({x.re - y.re, x.im + y.im}, {root.re, -root.im});
      return {{sum.re - turned.im, sum.im + turned.re}, {sum.re + turned.im, turned.re - sum.im}};
    }
    const T half = static_cast<T>(0.5);
    x = {x.re * half, x.im * half}, y = {y.re * half, y.im * half};
    const Complex<N> sum = {x.re + y.re, x.im - y.im};
    const Complex<N> turned = Product<N>({x.re - y.re, x.im + y.im}, root);
    return {{sum.re + turned.im, sum.im - turned.re}, {sum.re - turned.im, -(sum.im + turned.re)}};
  }

  // The first element and the one behind the last are real.
  template <typename L>
  static KILN_INLINE void Ends(const FftStep& step, const T* from, T* to) {
    using N = typename L::V;
    const FftSide &source = step.source, &destination = step.destination;
    const Complex<N> x = L::Load(source.plane, from);
    if (step.operation == FftOperation::kPairsToReal) {
      const N last = L::Load(source.plane, from + step.length * source.pitch).re;
      L::Store(destination.plane, to, {x.re + last, x.re - last});
    } else {
      L::Store(destination.plane, to, {x.re + x.im, N{}});
      L::Store(destination.plane, to + step.length * destination.pitch, {x.re - x.im, N{}});
    }
  }

  // Columns are in the scratch.
  static KILN_INLINE Complex<V> SplitLanes(const FftSide& side, const T* from) {
    return {LoadLanes<V>(from), LoadLanes<V>(from + side.plane)};
  }
  static KILN_INLINE void StoreSplit(const FftSide& side, T* to, Complex<V> x) {
    StoreLanes(to, x.re);
    StoreLanes(to + side.plane, x.im);
  }

  [[gnu::noinline]] static void Pairs(const FftStep& step, const Arrays& at) {
    const bool to_real = step.operation == FftOperation::kPairsToReal;
    const FftSide &source = step.source, &destination = step.destination;
    const int64_t m = step.length, count = m / 2 + 1;
    if (step.columns) {
      for (int64_t lane = 0; lane < at.width; lane += kLanes) {
        const T* from = at.source + lane;
        T* to = at.destination + lane;
        Ends<Wide>(step, from, to);
        for (int64_t k = 1; k < count; ++k) {
          const auto both =
              Pair<V>(to_real, SplitLanes(source, from + k * source.pitch),
                      SplitLanes(source, from + (m - k) * source.pitch), Wide::SplatNumber(at.table + 2 * k));
          StoreSplit(destination, to + k * destination.pitch, both.one);
          StoreSplit(destination, to + (m - k) * destination.pitch, both.other);
        }
      }
      return;
    }
    const bool of_unit = step.operation == FftOperation::kPairsOfUnit;
    int64_t k = of_unit ? at.start : 0;
    const int64_t end = of_unit ? k + at.width : count;
    if (k == 0) Ends<Lanes<T, 1>>(step, at.source, at.destination), ++k;
    // And those that follow them in both directions.
    auto pairs = [&](auto lanes) {
      using L = decltype(lanes);
      using N = typename L::V;
      const int64_t mirror = m - k - L::kLanes + 1;
      const auto both = Pair<N>(to_real, L::Load(source.plane, at.source + k * source.pitch),
                                L::Reversed(L::Load(source.plane, at.source + mirror * source.pitch)),
                                {LoadLanes<N>(at.table + k), LoadLanes<N>(at.table + count + k)});
      L::Store(destination.plane, at.destination + k * destination.pitch, both.one);
      L::Store(destination.plane, at.destination + mirror * destination.pitch, L::Reversed(both.other));
      k += L::kLanes;
    };
    // Vectors as long as both directions do not meet.
    while (k + kLanes <= std::min(end, m - k - kLanes + 1)) pairs(Wide());
    if (k < end && end > kLanes && at.source != at.destination) {
      // The last vector begins earlier where the source is still there.
      k = end - kLanes;
      pairs(Wide());
    }
    while (k < end) pairs(Lanes<T, 1>());
  }

  [[gnu::noinline]] static void UnpairedColumns(const FftStep& step, const Arrays& at) {
    const int64_t columns = step.row, plane = step.destination.plane;
    for (int64_t row = 0; row < step.length / columns; ++row) {
      for (int64_t lane = 0; lane < plane; lane += kLanes) {
        const int64_t column = at.start + lane, k = row * columns + column;
        const Complex<V> x = Wide::LoadInterleaved(at.source + 2 * k);
        const Complex<V> y = Wide::Reversed(Wide::LoadInterleaved(at.source + 2 * (step.length - kLanes + 1 - k)));
        const Complex<V> root = {LoadLanes<V>(at.table + 2 * columns + column),
                                 LoadLanes<V>(at.table + 3 * columns + column)};
        const Complex<V> turn = Product(root, Wide::SplatNumber(at.bases + 4 * row + 2));
        Wide::Store(plane, at.destination + row * step.destination.pitch + lane, Pair<V>(true, x, y, turn).one);
      }
    }
    if (at.start != 0) return;
    const T x = at.source[0], y = at.source[2 * step.length];
    at.destination[0] = x + y, at.destination[plane] = x - y;
  }

  [[gnu::noinline]] static void Mirror(const FftStep& step, const Arrays& at) {
    const int64_t plane = step.source.plane, pitch = step.source.pitch;
    if (step.columns) {
      std::memset(at.destination + plane, 0, static_cast<std::size_t>(plane) * sizeof(T));
      for (int64_t k = 1; k <= step.length / 2; ++k) {
        T* to = at.destination + (step.length - k) * pitch;
        for (int64_t lane = 0; lane < at.width; lane += kLanes) {
          const Complex<V> x = SplitLanes(step.source, at.source + k * pitch + lane);
          StoreSplit(step.source, to + lane, {x.re, -x.im});
        }
      }
      return;
    }
    at.destination[plane] = 0;
    OverLanes(1, step.length / 2 + 1, [&](int64_t i, auto lanes) {
      using L = decltype(lanes);
      const auto x = L::Reversed(L::Load(plane, at.source + i));
      L::Store(plane, at.destination + step.length - L::kLanes + 1 - i, {x.re, -x.im});
    });
  }

  template <bool kToColumns, int kPiece = kLanes>
  [[gnu::noinline]] static void Transposition(const FftStep& step, T* rows, T* columns, int64_t count) {
    // Real rows are the real parts of columns.
    const bool real = (kToColumns ? step.source : step.destination).plane == 0;
    const FftSide& side = kToColumns ? step.destination : step.source;
    const int64_t numbers = real ? step.length : 2 * step.length, pitch = real ? side.pitch : side.plane;
    if constexpr (kPiece > 2) {
      if (numbers < kPiece) return Transposition<kToColumns, kPiece / 2>(step, rows, columns, count);
    }
    for (int64_t first = 0; first < count; first += kLanes) {
      MoveSquares<T, kLanes, kPiece, kBytes, kToColumns>(reinterpret_cast<char*>(rows + first * step.row),
                                                         reinterpret_cast<char*>(columns + first), step.row, numbers,
                                                         pitch);
    }
  }

  static void Zero(const FftStep& step, const Arrays& at) {
    const FftSide& side = step.destination;
    // Columns have both parts of an element beside each other.
    for (int64_t plane : {int64_t{0}, side.plane}) {
      if (step.columns && plane > 0) continue;
      std::memset(at.destination + plane + step.begin * side.pitch, 0,
                  static_cast<std::size_t>((step.length - step.begin) * side.pitch) * sizeof(T));
    }
  }

  static void Run(const FftStep& step, const Arrays& at) {
    if (step.operation == FftOperation::kPass) return RunPass(step, at);
    Arrays row = at;
    for (int64_t i = 0; i < at.rows; ++i, row.source += at.source_row, row.destination += at.destination_row) {
      RunRow(step, row);
    }
  }

  static void RunRow(const FftStep& step, const Arrays& at) {
    switch (step.operation) {
      case FftOperation::kPass:
        return;
      case FftOperation::kCopy:
      case FftOperation::kCopyOfUnit:
        return Copy(step, at);
      case FftOperation::kPairs:
      case FftOperation::kPairsOfUnit:
      case FftOperation::kPairsToReal:
        return Pairs(step, at);
      case FftOperation::kUnpairedColumns:
        return UnpairedColumns(step, at);
      case FftOperation::kMirror:
        return Mirror(step, at);
      case FftOperation::kToColumns:
        return Transposition<true>(step, const_cast<T*>(at.source), at.destination, at.width);
      case FftOperation::kToRows:
        return Transposition<false>(step, at.destination, const_cast<T*>(at.source), at.width);
      case FftOperation::kZero:
        return Zero(step, at);
    }
  }
};

template <int kBytes>
inline constexpr FftKernels kFftKernels = {&FftCode<float, kBytes>::Run, &FftCode<double, kBytes>::Run};

}  // namespace
}  // namespace kiln::cpu

#endif  // KILN_CPU_FFT_KERNELS_TEMPLATE_H_
