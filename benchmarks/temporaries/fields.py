"""Fields, particles, sounds and pictures of other kinds than those of `simulation`, `signals` and `images`."""

import jax
import jax.numpy as jnp
from jax import lax

from . import family

add, both = family(__name__)

roll = jnp.roll


def laplacian(u):
    return sum(roll(u, s, d) for d in range(u.ndim) for s in (1, -1)) - 2 * u.ndim * u


def loop(rounds):
    return lambda step: lambda *state: lax.fori_loop(0, rounds, lambda _, s: step(*s), state)


@loop(20)
def gray_scott(u, v):
    r = u * v * v
    return u + 0.16 * laplacian(u) - r + 0.035 * (1 - u), v + 0.08 * laplacian(v) + r - 0.1 * v


@loop(20)
def shallow_water(h, u, v):
    dx, dy = lambda a: (roll(a, -1, 0) - roll(a, 1, 0)) / 2, lambda a: (roll(a, -1, 1) - roll(a, 1, 1)) / 2
    return h - 0.1 * (dx(h * u) + dy(h * v)), u - 0.1 * (u * dx(u) + v * dy(u) + dx(h)), v - 0.1 * (u * dx(v) + v * dy(v) + dy(h))


@loop(10)
def maxwell(e, h):
    curl = lambda f, s: jnp.stack([sign * (s * (roll(f[k], -s, j) - f[k]) - s * (roll(f[j], -s, k) - f[j])) for sign, j, k in ((1, 1, 2), (1, 2, 0), (1, 0, 1))])
    e = e + 0.1 * curl(h, -1)
    return e, h - 0.1 * curl(e, 1)


@loop(20)
def cahn_hilliard(c):
    return (c + 0.01 * laplacian(c**3 - c - 0.5 * laplacian(c)),)


@loop(20)
def lattice_boltzmann(f):
    ways = ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))
    weights = (4 / 9,) + 4 * (1 / 9,) + 4 * (1 / 36,)
    f = jnp.stack([roll(f[i], way, (0, 1)) for i, way in enumerate(ways)])
    rho = f.sum(0)
    u, v = (sum(way[d] * f[i] for i, way in enumerate(ways)) / rho for d in (0, 1))
    along = [3 * (x * u + y * v) for x, y in ways]
    return (f + jnp.stack([w * rho * (1 + a + a * a / 2 - 1.5 * (u * u + v * v)) - f[i] for i, (w, a) in enumerate(zip(weights, along))]),)


@loop(20)
def ising(s, r):
    return jnp.where(r < jax.nn.sigmoid(-0.8 * s * sum(roll(s, k, d) for d in (0, 1) for k in (1, -1))), -s, s), (r * 997) % 1.0


@loop(10)
def boids(x, v):
    d = x[None] - x[:, None]
    near = (jnp.square(d).sum(-1) < 0.1).astype(x.dtype)
    count = near.sum(1, keepdims=True)
    v = v + 0.01 * (near @ v / count - v) + 0.01 * (near @ x / count - x) - 0.02 * (jnp.where(near[..., None] > 0, d, 0) * 0.1).sum(1)
    return x + 0.1 * v, v


@loop(10)
def vortices(z, g):
    d = z[:, None] - z[None]
    r = jnp.square(d).sum(-1) + 1e-3
    return z + 0.01 * jnp.stack([-(g * d[..., 1] / r).sum(1), (g * d[..., 0] / r).sum(1)], -1), g


def schroedinger(psi, v):
    half, kinetic = jnp.exp(-0.005j * v), jnp.exp(-0.005j * jnp.square(jnp.fft.fftfreq(psi.shape[0]) * 100)[:, None])
    return lax.fori_loop(0, 10, lambda _, p: half * jnp.fft.ifft(kinetic * jnp.fft.fft(half * p, axis=0), axis=0), psi)


def multigrid(u, f):
    smooth = lambda u, f: lax.fori_loop(0, 3, lambda _, u: u + 0.2 * (laplacian(u) - f), u)
    u = smooth(u, f)
    r = f - laplacian(u)
    r = r.reshape(r.shape[0] // 2, 2, r.shape[1] // 2, 2).mean((1, 3))
    e = smooth(jnp.zeros_like(r), 4 * r)
    return smooth(u + jnp.repeat(jnp.repeat(e, 2, 0), 2, 1), f)


def kuramoto(phase, speed, k):
    step = lambda p, _: (p + 0.01 * (speed + (k * jnp.sin(p[None] - p[:, None])).mean(1)), jnp.abs(jnp.exp(1j * p).mean()))
    return lax.scan(step, phase, None, 20)


def hodgkin(v, n, inputs):
    def step(s, i):
        v, n = s
        m = jax.nn.sigmoid((v + 40) / 9)
        v = v + 0.02 * (i - 120 * m**3 * (0.8 - n) * (v - 50) - 36 * n**4 * (v + 77) - 0.3 * (v + 54))
        return (v, n + 0.02 * (jax.nn.sigmoid((v + 53) / 15) - n)), v
    return lax.scan(step, (v, n), inputs)


def leaky_spikes(x, w, r):
    def step(s, i):
        v = 0.9 * s[0] + i @ w + s[1] @ r
        z = (v > 1).astype(v.dtype)
        return (v - z, z), z
    zero = jnp.zeros((x.shape[1], w.shape[1]))
    return lax.scan(step, (zero, zero), x)[1].mean(0)


def warp(image, field):
    y, x = jnp.meshgrid(*(jnp.arange(n, dtype=jnp.float32) for n in image.shape), indexing="ij")
    return jax.scipy.ndimage.map_coordinates(image, [y + field[0], x + field[1]], 1, mode="nearest")


def optical_loss(a, b, field):
    smooth = sum(jnp.abs(jnp.diff(field, axis=d)).mean() for d in (1, 2))
    return jnp.sqrt(jnp.square(warp(b, field) - a) + 1e-3).mean() + smooth


def local_contrast(x):
    pool = lambda v: lax.reduce_window(v, 0.0, lax.add, (1, 9, 9), (1, 1, 1), "SAME") / 81
    centered = x - pool(x)
    return centered * lax.rsqrt(pool(centered**2) + 1e-3)


def nonlocal_means(x):
    total, weights = jnp.zeros_like(x), jnp.zeros_like(x)
    for i in range(-2, 3):
        for j in range(-2, 3):
            y = roll(x, (i, j), (0, 1))
            w = jnp.exp(-lax.reduce_window(jnp.square(x - y), 0.0, lax.add, (3, 3), (1, 1), "SAME") * 10)
            total, weights = total + w * y, weights + w
    return total / weights


def unsharp_lab(x):
    m = jnp.array([[0.41, 0.36, 0.18], [0.21, 0.72, 0.07], [0.02, 0.12, 0.95]], jnp.float32)
    f = jnp.cbrt(jnp.abs(x @ m.T) + 1e-4)
    lab = jnp.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], -1)
    return lab + 0.5 * (lab - (lab + roll(lab, 1, 0) + roll(lab, 1, 1)) / 3)


def tone_map(x):
    l = (x * jnp.array([0.2126, 0.7152, 0.0722], jnp.float32)).sum(-1, keepdims=True)
    mean = jnp.exp(jnp.log(l + 1e-4).mean())
    return x / l * (0.18 / mean * l / (1 + 0.18 / mean * l))


def radon(x, angles):
    n = x.shape[0]
    r = jnp.arange(n, dtype=jnp.float32) - n / 2
    line = lambda a: jax.scipy.ndimage.map_coordinates(x, [r[:, None] * jnp.cos(a) + r * jnp.sin(a) + n / 2, r * jnp.cos(a) - r[:, None] * jnp.sin(a) + n / 2], 1).sum(1)
    return lax.map(line, angles)


def ray_march(density, origins, ways):
    points = origins[:, None] + ways[:, None] * jnp.linspace(0, 30, 32)[:, None]
    i = jnp.clip(points.astype(jnp.int32), 0, 31)
    d = jax.nn.relu(density[i[..., 0], i[..., 1], i[..., 2]])
    passed = jnp.exp(-jnp.cumsum(d, 1))
    return (passed * (1 - jnp.exp(-d))).sum(1)


def cepstrum(x):
    return jnp.fft.irfft(jnp.log(jnp.square(jnp.abs(jnp.fft.rfft(x))) + 1e-6))


def hilbert(x):
    n = x.shape[-1]
    f = jnp.fft.fft(x)
    return jnp.abs(jnp.fft.ifft(f * jnp.where(jnp.arange(n) < n // 2, 2, 0)))


def compressor(x):
    level = lax.scan(lambda l, v: ((m := jnp.maximum(jnp.abs(v), 0.99 * l)), m), jnp.zeros(x.shape[1]), x)[1]
    return x / jnp.maximum(level, 0.1) ** 0.5


def onset(x, bank):
    frames = x[jnp.arange(0, len(x) - 512, 256)[:, None] + jnp.arange(512)]
    s = jnp.log1p(jnp.abs(jnp.fft.rfft(frames * jnp.hanning(512).astype(x.dtype))) @ bank)
    return jax.nn.relu(jnp.diff(s, axis=0)).sum(1)


def chroma(x, bank):
    s = jnp.square(jnp.abs(jnp.fft.rfft(x.reshape(-1, 2048)))) @ bank
    return s / (s.max(-1, keepdims=True) + 1e-6)


def beamform(x, delays):
    f = jnp.fft.rfft(x)
    w = jnp.exp(-2j * jnp.pi * delays[:, :, None] * jnp.fft.rfftfreq(x.shape[-1]))
    return jnp.square(jnp.abs(jnp.einsum("dmf,mf->df", w, f))).sum(-1)


def savgol(x, taps):
    return jax.vmap(lambda v: jnp.convolve(v, taps, mode="same"))(x)


def matched(x, templates):
    n = x.shape[-1]
    return jnp.abs(jnp.fft.ifft(jnp.fft.fft(x)[:, None] * jnp.conj(jnp.fft.fft(templates, n)))).max(-1)


add("gray_scott", gray_scott, "256x256", "256x256")
both("shallow_water", shallow_water, "128x128", "128x128", "128x128")
add("maxwell", maxwell, "3x48x48x48", "3x48x48x48")
add("cahn_hilliard", cahn_hilliard, "256x256")
add("lattice_boltzmann", lattice_boltzmann, "9x128x128")
add("ising", ising, "512x512", "512x512")
add("boids", boids, "512x2", "512x2")
both("vortices", vortices, "512x2", "512")
add("schroedinger", schroedinger, "c64:1024x64", "1024x64")
both("multigrid", multigrid, "256x256", "256x256")
both("kuramoto", kuramoto, "512", "512", "512x512")
add("hodgkin", hodgkin, "4096", "4096", "100x4096")
add("leaky_spikes", leaky_spikes, "50x128x100", "100x256", "256x256")
both("warp", warp, "256x256", "2x256x256")
both("optical_loss", optical_loss, "256x256", "256x256", "2x256x256")
both("local_contrast", local_contrast, "8x128x128")
add("nonlocal_means", nonlocal_means, "256x256")
both("unsharp_lab", unsharp_lab, "256x256x3")
both("tone_map", tone_map, "512x512x3")
add("radon", radon, "128x128", "64")
both("ray_march", ray_march, "32x32x32", "4096x3", "4096x3")
both("cepstrum", cepstrum, "64x4096")
add("hilbert", hilbert, "32x8192")
add("compressor", compressor, "4096x16")
both("onset", onset, "65536", "257x64")
add("chroma", chroma, "262144", "1025x12")
add("beamform", beamform, "8x4096", "64x8")
both("savgol", savgol, "64x8192", "31")
add("matched", matched, "16x4096", "16x256")
