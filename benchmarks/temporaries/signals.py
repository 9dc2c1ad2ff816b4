"""Transforms and filters of signals."""

import jax
import jax.numpy as jnp
from jax import lax

from . import family

add, both = family(__name__)


def frames(x, size, hop):
    return x[..., jnp.arange((x.shape[-1] - size) // hop + 1)[:, None] * hop + jnp.arange(size)]


def stft(x, size=512, hop=128):
    return jnp.fft.rfft(frames(x, size, hop) * jnp.hanning(size))


def istft(s, size=512, hop=128):
    y = jnp.fft.irfft(s, size) * jnp.hanning(size)
    index = jnp.arange(y.shape[-2])[:, None] * hop + jnp.arange(size)
    return jnp.zeros((*y.shape[:-2], (y.shape[-2] - 1) * hop + size)).at[..., index].add(y)


def mel(x, filters):
    return jnp.log(jnp.square(jnp.abs(stft(x))) @ filters + 1e-6)


def haar(x, levels=4):
    out = []
    for _ in range(levels):
        x, d = (x[..., ::2] + x[..., 1::2]) / 2**0.5, (x[..., ::2] - x[..., 1::2]) / 2**0.5
        out.append(d)
    return [x, *out]


def haar2(x, levels=3):
    out = []
    for _ in range(levels):
        a, b, c, d = x[::2, ::2], x[1::2, ::2], x[::2, 1::2], x[1::2, 1::2]
        x = (a + b + c + d) / 2
        out += [(a + b - c - d) / 2, (a - b + c - d) / 2, (a - b - c + d) / 2]
    return [x, *out]


def inverse_haar(x, *details):
    for d in details:
        x = jnp.stack([x + d, x - d], -1).reshape(*x.shape[:-1], -1) / 2**0.5
    return x


def dwt(x, h, g, levels=3):
    out = []
    for _ in range(levels):
        y = [lax.conv_general_dilated(x[:, None], f[None, None], (2,), [(2, 1)])[:, 0] for f in (h, g)]
        x = y[0]
        out.append(y[1])
    return [x, *out]


def iir(x, b, a):
    def step(s, x):
        y = b[0] * x + s[0]
        return jnp.stack([b[1] * x - a[0] * y + s[1], b[2] * x - a[1] * y]), y

    return lax.scan(step, jnp.zeros((2, x.shape[1])), x)[1]


def fir(x, w):
    return jax.vmap(lambda x: jnp.convolve(x, w, "same"))(x)


def griffin_lim(mag, phase):
    s = mag * jnp.exp(1j * phase)
    return mag * jnp.exp(1j * jnp.angle(stft(istft(s))))


def hilbert(x):
    n = x.shape[-1]
    mask = jnp.where(jnp.arange(n) == 0, 1.0, jnp.where(jnp.arange(n) < n // 2, 2.0, 0.0))
    return jnp.abs(jnp.fft.ifft(jnp.fft.fft(x) * mask))


def fft_convolve(x, w):
    n = x.shape[-1] + w.shape[-1] - 1
    return jnp.fft.irfft(jnp.fft.rfft(x, n) * jnp.fft.rfft(w, n), n)


def dct(x):
    n = x.shape[-1]
    y = jnp.fft.fft(jnp.concatenate([x[..., ::2], x[..., ::-1][..., ::2]], -1))
    return (y * jnp.exp(-0.5j * jnp.pi * jnp.arange(n) / n)).real


def hadamard(x):
    for _ in range(10):
        x = x.reshape(*x.shape[:-1], -1, 2)
        x = jnp.concatenate([x[..., 0] + x[..., 1], x[..., 0] - x[..., 1]], -1)
    return x


def lms(x, d, n=32):
    def step(w, i):
        u = lax.dynamic_slice_in_dim(x, i, n)
        e = d[i] - w @ u
        return w + 0.01 * e * u, e

    return lax.scan(step, jnp.zeros(n), jnp.arange(len(x) - n))[1]


def oscillators(f, a):
    return (a[..., None] * jnp.sin(2 * jnp.pi * jnp.cumsum(jnp.repeat(f[..., None], 256, -1), -1))).sum(0)


def spectral_loss(x, y):
    return sum(jnp.abs(jnp.abs(stft(x, n, n // 4)) - jnp.abs(stft(y, n, n // 4))).mean() for n in (256, 512, 1024))


S = "8x65536"
both("stft", lambda x: jnp.abs(stft(x)), S)
both("mel", mel, S, "257x80")
both("haar", haar, S)
both("haar2", haar2, "1024x1024")
both("inverse_haar", inverse_haar, "8x4096", "8x4096", "8x8192", "8x16384", "8x32768")
both("dwt", dwt, S, "4", "4")
both("fir", fir, S, "63")
both("fft_convolve", fft_convolve, S, "4096")
both("dct", dct, "256x1024")
both("hadamard", hadamard, "256x1024")
both("spectral_loss", spectral_loss, "4x32768", "4x32768")
both("oscillators", oscillators, "16x256", "16x256")
both("envelope", hilbert, S)
both("fourier_layer", lambda x, w: jnp.fft.irfft2(jnp.einsum("bxyi,xyio->bxyo", jnp.fft.rfft2(x, axes=(1, 2))[:, :16, :16], w), (64, 64), axes=(1, 2)), "4x64x64x32", "c64:16x16x32x32")
both("fnet", lambda x: jnp.fft.fft2(x, axes=(1, 2)).real, "8x256x256")
add("istft", istft, "c64:8x256x257")
add("griffin_lim", griffin_lim, "8x256x257", "8x256x257")
add("iir", iir, "4096x256", "3", "2")
add("lms", lms, "16384", "16384")
for n in (4096, 65536, 65537, 10007, 100000):
    add(f"fft_{n}", jnp.fft.fft, f"c64:8x{n}")
    add(f"rfft_{n}", jnp.fft.rfft, f"8x{n}")
    add(f"irfft_{n}", jnp.fft.irfft, f"c64:8x{n // 2 + 1}")
add("fft2", jnp.fft.fft2, "c64:4x512x512")
add("fft2_real", lambda x: jnp.fft.ifft2(jnp.fft.fft2(x)).real, "1024x1024")
add("fft3", jnp.fft.fftn, "c64:64x64x64")
add("fft_shift", lambda x: jnp.fft.fftshift(jnp.abs(jnp.fft.fft2(jnp.fft.ifftshift(x)))), "1024x1024")
add("autocorrelation", lambda x: (lambda f: jnp.fft.irfft(f * jnp.conj(f))[..., :4096])(jnp.fft.rfft(x, 131072)), S)
add("welch", lambda x: jnp.square(jnp.abs(stft(x))).mean(-2), S)
add("phase_vocoder", lambda s: jnp.abs(s)[..., ::2, :] * jnp.exp(1j * jnp.cumsum(jnp.angle(s)[..., ::2, :], -2)), "c64:8x256x257")
add("mfcc", lambda x, f, d: mel(x, f) @ d, S, "257x80", "80x13")
add("resample", lambda x: jax.image.resize(x, (8, 48000), "linear"), S)
add("median_filter", lambda x: jnp.median(jnp.stack([jnp.roll(x, i, -1) for i in range(-3, 4)]), 0), S)
add("pitch", lambda x: (lambda f: (f[..., :256][..., None, :] * frames(f, 256, 1)[..., :200, :]).sum(-1).argmax(-1))(frames(x, 512, 256)), "4x65536")
