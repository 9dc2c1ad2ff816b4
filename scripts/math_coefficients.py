"""Derives the polynomials of src/kernel/math by the Remez exchange and prints src/kernel/math/coefficients.h.

Usage: python scripts/math_coefficients.py > src/kernel/math/coefficients.h   (needs mpmath)

Each fit minimizes max |weight(x) * (p(x) - g(x))| over an interval. g is the part of the function that is left when the
leading terms, which the emitted code adds exactly, are taken out; the weight turns its error into the relative error of
the whole function. The comment above each table states that error.
"""
import struct
import sys

import mpmath as mp

mp.mp.dps = 60


def remez(g, weight, low, high, count, iterations=12):
    """Coefficients (lowest first) of the polynomial of `count` terms, and the largest weighted error on a dense grid."""
    low, high = mp.mpf(low), mp.mpf(high)
    points = 24 * (count + 1)
    grid = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (i + mp.mpf(1) / 2) / points) for i in range(points)]
    gs = [g(x) for x in grid]
    ws = [weight(x) for x in grid]
    reference = [min(points - 1, int(points * (i + 0.5) / (count + 1))) for i in range(count + 1)]
    best = None
    for _ in range(iterations):
        rows, rhs = [], []
        for i, k in enumerate(reference):
            w = ws[k] if ws[k] != 0 else mp.mpf(10) ** -40
            rows.append([grid[k] ** j for j in range(count)] + [(-1) ** i / w])
            rhs.append(gs[k])
        solution = mp.lu_solve(mp.matrix(rows), mp.matrix(rhs))
        coefficients = [solution[j] for j in range(count)]
        errors = [ws[k] * (mp.polyval(coefficients[::-1], grid[k]) - gs[k]) for k in range(points)]
        worst = max(abs(e) for e in errors)
        if best is None or worst < best[1]:
            best = (coefficients, worst)
        if worst <= abs(solution[count]) * mp.mpf("1.01"):
            break
        # One extremum per run of equal sign; keep count + 1 consecutive ones around the largest.
        extrema = []
        for k, e in enumerate(errors):
            if extrema and (errors[extrema[-1]] > 0) == (e > 0):
                if abs(e) > abs(errors[extrema[-1]]):
                    extrema[-1] = k
            else:
                extrema.append(k)
        if len(extrema) < count + 1:
            break
        while len(extrema) > count + 1:
            extrema.pop(0 if abs(errors[extrema[0]]) < abs(errors[extrema[-1]]) else -1)
        reference = extrema
    return best


def to_float(x):
    return struct.unpack("f", struct.pack("f", float(x)))[0]


def print_array(element, name, values):
    """Values are texts; lines of up to 120 columns."""
    line = f"inline constexpr {element} {name}[] = {{"
    for i, value in enumerate(values):
        text = value + ("};" if i + 1 == len(values) else ",")
        if len(line) + len(text) + 1 > 120:
            print(line)
            line = "   "
        line += text if line.endswith("{") else " " + text
    print(line)


def hexadecimal(value):
    """As in C++, without zeros at the end."""
    mantissa, exponent = float(value).hex().split("p")
    return f"{mantissa.rstrip('0').rstrip('.')}p{exponent}"


def table(name, is_f32, fit, text):
    coefficients, error = fit
    exponent = mp.nstr(mp.log(error, 2), 4)
    print(f"// {text}; error 2^{exponent}.")
    print_array("double", name, [hexadecimal(to_float(c) if is_f32 else c) for c in coefficients])
    print(f"{name}: 2^{exponent} with {len(coefficients)}", file=sys.stderr, flush=True)


def split(name, value, text, parts, is_f32, first_bits=None):
    """A constant as a sum of `parts` numbers of the format, each rounded to nearest; the first one to `first_bits`."""
    rest = mp.mpf(value)
    out = []
    for i in range(parts):
        p = to_float(rest) if is_f32 else float(rest)
        if i == 0 and first_bits:
            p = float(mp.nint(rest * 2 ** first_bits) / 2 ** first_bits)
        out.append(hexadecimal(p))
        rest -= mp.mpf(p)
    print(f"// {text}")
    print_array("double", name, out)


def kept_center(f, guess):
    """A number of f32 near the guess at which f is a number of f32 but for 2^-11 of its unit."""
    guess = to_float(mp.findroot(lambda x: f(x) - to_float(f(guess)), guess))
    unit = mp.mpf(2) ** (mp.frexp(guess)[1] - 24)
    for i in range(1, 100000):
        center = guess + (i // 2 if i % 2 else -i // 2) * unit
        value = f(center)
        if abs(value - to_float(value)) < abs(value) * mp.mpf(2) ** -35:
            return center
    raise ValueError(f"no center near {guess}")


def piece(f, low, high, degree):
    """(center, coefficients, relative error) of a polynomial in x - center that is f at Chebyshev's nodes. The center is
    the node in the middle; or 0, where f is 0 there."""
    middle, half = (low + high) / 2, (high - low) / 2
    nodes = [middle - half * mp.cos(mp.pi * (2 * i + 1) / (2 * (degree + 1))) for i in range(degree + 1)]
    if low == 0 and f(low) == 0:
        ratio = lambda x: f(x) / x
        slopes, _ = remez(ratio, lambda x: 1 / ratio(x), high * mp.mpf(10) ** -9, high, degree)
        center, coefficients = mp.mpf(0), [mp.mpf(0)] + slopes
    else:
        nodes[degree // 2] = center = kept_center(f, nodes[degree // 2])
        powers = mp.matrix([[(x - center) ** i for i in range(degree + 1)] for x in nodes])
        coefficients = list(mp.lu_solve(powers, mp.matrix([f(x) for x in nodes])))
    grid = [low + (high - low) * mp.mpf(i + 1) / 200 for i in range(200)]
    error = max(abs(mp.polyval(coefficients[::-1], x - center) / f(x) - 1) for x in grid)
    return center, coefficients, error


def pieces(name, f, bounds, degree, order, text):
    """A function f by one polynomial on each interval between `bounds`. Row 0 are the centers, row i + 1 the coefficients
    of the i-th power of x - center, columns the intervals in the order in which they are looked up."""
    columns = [piece(f, low, high, degree) for low, high in zip(bounds, bounds[1:])]
    exponent = mp.nstr(mp.log(max(error for _, _, error in columns), 2), 4)
    print(f"// {text}; error 2^{exponent}.")
    print(f"inline constexpr float {name}[{degree + 2}][{len(columns)}] = {{")
    for row in range(degree + 2):
        numbers = [columns[i][0] if row == 0 else columns[i][1][row - 1] for i in order]
        values = [hexadecimal(to_float(number)) + "f" for number in numbers]
        lines = [", ".join(values[i:i + 6]) for i in range(0, len(values), 6)]
        print("    {" + ",\n     ".join(lines) + "}" + ("," if row <= degree else "};"))
    print(f"{name}: 2^{exponent} with {degree}", file=sys.stderr, flush=True)


def positive(x):
    return x if x != 0 else mp.mpf(10) ** -12


LN2 = mp.log(2)
EXP = (lambda r: (mp.exp(positive(r)) - 1 - positive(r)) / positive(r) ** 2, lambda r: abs(r), -LN2 / 2, LN2 / 2)
EXP2 = (lambda r: (mp.power(2, positive(r)) - 1 - positive(r) * LN2) / positive(r) ** 2, lambda r: r * r, -0.5, 0.5)


def of_square(f, lead, power, low, high, count, relative=None):
    """Fit of (f(x) - lead(x)) / x^power in z = x^2."""
    g = lambda z: (f(mp.sqrt(z)) - lead(mp.sqrt(z))) / mp.sqrt(z) ** power
    w = lambda z: mp.sqrt(z) ** power / (relative or f)(mp.sqrt(z))
    return remez(g, w, positive(mp.mpf(low) ** 2) ** 1, mp.mpf(high) ** 2, count)


def from_bits(bits):
    return mp.mpf(struct.unpack("f", struct.pack("I", bits))[0])


def one_to_a_power():
    """Tables in memory for one f32, which waits for each step: kernel/math/scalar_power.cc."""
    intervals, offset = 16, 0x3F330000
    inverses, logarithms, largest = [], [], mp.mpf(0)
    for i in range(intervals):
        low, high = from_bits(offset + (i << 19)), from_bits(offset + (i + 1 << 19))
        inverse = mp.mpf(1) if low < 1 < high else mp.mpf(float(2 / (low + high)))
        inverses.append(inverse)
        logarithms.append(-mp.log(inverse, 2))
        largest = max(largest, abs(low * inverse - 1), abs(high * inverse - 1))
    print("// Inverses of numbers in the middle of sixteenths of 0.69921875 <= x < 1.3984375 in their bits, of which 1 is one, and")
    print("// the numbers' logarithms by 2.")
    print_array("double", "kPowInverses", [hexadecimal(x) for x in inverses])
    print_array("double", "kPowLogarithms", [hexadecimal(x) for x in logarithms])
    log2 = lambda r: mp.log1p(positive(r)) / LN2 / positive(r)
    table("kPowLog2F64", False, remez(log2, lambda r: 1 / log2(r), -largest, largest, 6),
          "log2(1 + r) / r of what is left of a number times such an inverse")
    exp2 = lambda r: (mp.power(2, positive(r)) - 1) / positive(r)
    table("kPowExp2F64", False, remez(exp2, lambda r: abs(r), -mp.mpf(1) / 64, mp.mpf(1) / 64, 4), "(2^r - 1) / r, |r| <= 1/64")
    parts = [struct.unpack("Q", struct.pack("d", float(mp.power(2, mp.mpf(i) / 32))))[0] - (i << 47) for i in range(32)]
    print("// The bits of 2^(i / 32), less i in the places of 32nds of an exponent.")
    print_array("uint64_t", "kPowExponentials", [f"0x{part:016x}" for part in parts])


def main():
    print("// Polynomials of the math functions, lowest power first. Printed by scripts/math_coefficients.py: do not edit.")
    print("#ifndef KILN_KERNEL_MATH_COEFFICIENTS_H_")
    print("#define KILN_KERNEL_MATH_COEFFICIENTS_H_")
    print()
    print("#include <cstdint>")
    print()
    print("namespace kiln::kernel::math {")
    print()
    root = mp.sqrt(mp.mpf(2))
    table("kExpF32", True, remez(*EXP, 5), "(e^r - 1 - r) / r^2, |r| <= ln(2) / 2, relative to expm1")
    table("kExpF64", False, remez(*EXP, 11), "The same")
    table("kExp2F32", True, remez(*EXP2, 5), "(2^r - 1 - r ln 2) / r^2, |r| <= 1/2")
    table("kExp2F64", False, remez(*EXP2, 10), "The same")
    # To 2^-40, for f32 results computed in f64.
    table("kExpReducedF64", False, remez(*EXP, 7), "As kExpF64, for f32 results computed in f64")
    log_g = lambda f: (mp.log1p(positive(f)) - positive(f) + positive(f) ** 2 / 2) / positive(f) ** 3
    table("kLogF32", True, remez(log_g, lambda f: f * f, 1 / root - 1, root - 1, 8),
          "(log(1+f) - f + f^2/2) / f^3, sqrt(1/2) <= 1 + f <= sqrt(2)")
    s_max = (root - 1) / (root + 1)
    two_atanh = lambda s: 2 * mp.atanh(s)
    table("kLogF64", False, of_square(two_atanh, lambda s: 2 * s, 3, 1e-9, s_max, 7),
          "(2 atanh(s) - 2s) / s^3 in s^2, |s| <= (sqrt(2)-1) / (sqrt(2)+1)")
    table("kLogReducedF64", False, of_square(two_atanh, lambda s: 2 * s, 3, 1e-9, s_max, 4),
          "The same, for f32 results computed in f64")
    table("kPowLogF64", False, of_square(two_atanh, lambda s: 2 * s + 2 * s ** 3 / 3, 5, 1e-9, s_max, 7),
          "(2 atanh(s) - 2s - 2s^3/3) / s^5 in s^2")
    quarter = mp.pi / 4 * mp.mpf("1.001")
    table("kSinF32", True, of_square(mp.sin, lambda x: x, 3, 1e-9, quarter, 3), "(sin(r) - r) / r^3 in r^2, |r| <= pi/4")
    table("kSinF64", False, of_square(mp.sin, lambda x: x, 3, 1e-9, quarter, 7), "The same")
    table("kCosF32", True, of_square(mp.cos, lambda x: 1 - x * x / 2, 4, 1e-9, quarter, 3),
          "(cos(r) - 1 + r^2/2) / r^4 in r^2, |r| <= pi/4")
    table("kCosF64", False, of_square(mp.cos, lambda x: 1 - x * x / 2, 4, 1e-9, quarter, 6), "The same")
    table("kAsinF32", True, of_square(mp.asin, lambda x: x, 3, 1e-9, 0.5, 5), "(asin(x) - x) / x^3 in x^2, |x| <= 1/2")
    table("kAsinF64", False, of_square(mp.asin, lambda x: x, 3, 1e-9, 0.5, 13), "The same")
    t8 = mp.tan(mp.pi / 8) * mp.mpf("1.001")
    table("kAtanF32", True, of_square(mp.atan, lambda x: x, 3, 1e-9, t8, 5), "(atan(t) - t) / t^3 in t^2, |t| <= tan(pi/8)")
    table("kAtanF64", False, of_square(mp.atan, lambda x: x, 3, 1e-9, t8, 11), "The same")
    table("kAtanhF32", True, of_square(mp.atanh, lambda x: x, 3, 1e-9, 0.4, 5), "(atanh(x) - x) / x^3 in x^2, |x| <= 0.4")
    table("kAtanhF64", False, of_square(mp.atanh, lambda x: x, 3, 1e-9, 0.4, 12), "The same")
    table("kSinhF32", True, of_square(mp.sinh, lambda x: x, 3, 1e-9, 1, 4), "(sinh(x) - x) / x^3 in x^2, |x| <= 1")
    table("kSinhF64", False, of_square(mp.sinh, lambda x: x, 3, 1e-9, 1, 7), "The same")
    table("kErfF32", True, of_square(mp.erf, lambda x: x, 1, 1e-9, 1, 7), "erf(x) / x - 1 in x^2, |x| <= 1")
    table("kErfF64", False, of_square(mp.erf, lambda x: x, 1, 1e-9, 1, 12), "The same")
    # Where 16 intervals, or 8, are looked up in registers: kernel/math/register_table.h.
    for count, share, degree, octave, octave_degree in ((16, "Sixteenths", 6, "Quarters", 6), (8, "Eighths", 7, "Halves", 8)):
        scale = mp.mpf(count - mp.mpf("0.5")) / 4
        pieces(f"kErf{share}", mp.erf, [mp.mpf(0)] + [(k + mp.mpf("0.5")) / scale for k in range(count)], degree, range(count),
               f"erf, by powers of x - center, |x| <= 4; centers first; columns by {mp.nstr(scale)} x to the nearest integer")
        parts = count // 4
        bounds = lambda step: [(mp.mpf(2) ** (k // parts) * (1 + mp.mpf(k % parts) / parts) - 1) / mp.mpf(step) for k in range(count + 1)]
        by_bits = [*range(parts, count), *range(parts)]
        pieces(f"kTanh{octave}", mp.tanh, bounds("1.625"), octave_degree, by_bits,
               "tanh, by powers of x - center, |x| < 9.23; centers first; columns by the lowest bits of the exponent of\n"
               "// 1 + 1.625 x and the highest of its fraction")
        pieces(f"kErfc{octave}", lambda x: mp.exp(x * x) * mp.erfc(x), bounds("1.375"), octave_degree, by_bits,
               "The same of e^(x^2) erfc(x) by 1 + 1.375 x, |x| < 10.9")
    ratio = lambda u: mp.erf(mp.sqrt((u + 1) * 3.92)) / mp.sqrt((u + 1) * 3.92)
    table("kErfOf16Bits", True, remez(ratio, lambda u: 1 / ratio(u), mp.mpf("-0.9999999"), 1, 12), "erf(x) / x in x^2 / 3.92 - 1, |x| <= 2.8")
    erfc_log = lambda x: mp.log(mp.erfc(x))
    table("kErfcLogF32", True, remez(lambda u: erfc_log(u + 1), lambda u: mp.erfc(u + 1), 0, 3, 7),
          "log(erfc(x)) in x - 1, 1 <= x <= 4, error as it shows in erf")
    table("kErfcLogF64", False, remez(lambda u: erfc_log(u + 1), lambda u: mp.erfc(u + 1), 0, 5, 19),
          "log(erfc(x)) in x - 1, 1 <= x <= 6, error as it shows in erf")
    for suffix, center, end, count in (("F32", 2.25, 10.1, 10), ("F64", 3.75, 27.3, 22)):
        x_of = lambda t: center * (1 + t) / (1 - t)
        scaled = lambda t: mp.exp(x_of(t) ** 2) * mp.erfc(x_of(t)) * (1 + 2 * x_of(t))
        t_of = lambda x: (mp.mpf(x) - center) / (mp.mpf(x) + center)
        (first, *others), error = remez(scaled, lambda t: 1 / scaled(t), t_of(0.5), t_of(end), count)
        table(f"kErfc{suffix}", suffix == "F32", (others, error),
              f"(e^(x^2) erfc(x) (1 + 2x) - first) / t in t = (x - {center}) / (x + {center}), 1/2 <= x <= {end}")
        split(f"kErfcFirst{suffix}", first, "first", 2, suffix == "F32")
    one_to_a_power()
    cube = lambda m: mp.power(m, -mp.mpf(1) / 3)
    table("kInverseCubeRoot", True, remez(cube, lambda m: 1 / cube(m), 1, 2, 5), "m^(-1/3), 1 <= m <= 2: a first guess")
    for is_f32, suffix in ((True, "F32"), (False, "F64")):
        # The first part leaves room for the exponent's bits, so that its product with an exponent is exact.
        split(f"kLn2{suffix}", LN2, "ln 2, the first part short", 2, is_f32, 15 if is_f32 else 41)
        split(f"kLn2Full{suffix}", LN2, "ln 2", 2, is_f32)
        split(f"kLog2E{suffix}", 1 / LN2, "1 / ln 2", 2, is_f32)
        split(f"kHalfPi{suffix}", mp.pi / 2, "pi / 2", 3, is_f32)
    split("kTwoOverPi", 2 / mp.pi, "2 / pi", 1, False)
    words = 22
    mp.mp.dps = 500
    bits = int(mp.floor(2 / mp.pi * mp.mpf(2) ** (64 * words)))
    print("// The bits of 2 / pi after the binary point, most significant word first, behind a word of zeros.")
    words_of_bits = [(bits >> (64 * (words - 1 - i))) & (2**64 - 1) for i in range(words)]
    print_array("uint64_t", "kTwoOverPiBits", ["0"] + [f"0x{word:016x}" for word in words_of_bits])
    print()
    print("}  // namespace kiln::kernel::math")
    print()
    print("#endif  // KILN_KERNEL_MATH_COEFFICIENTS_H_")


if __name__ == "__main__":
    main()
