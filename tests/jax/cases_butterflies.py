"""Networks by hand: transforms, wavelets and sorts whose steps each divide what the last one joined, otherwise."""

import jax
import jax.numpy as jnp
import numpy as np
from harness import Case, normals


def halves(x):
    """Walsh-Hadamard: sums and differences of neighbours, first all sums."""
    for _ in range(x.shape[-1].bit_length() - 1):
        x = x.reshape(*x.shape[:-1], -1, 2)
        x = jnp.concatenate([x[..., 0] + x[..., 1], x[..., 0] - x[..., 1]], -1)
    return x


def steps(x):
    """The same of slices with a step."""
    for _ in range(x.shape[-1].bit_length() - 1):
        x = jnp.concatenate([x[..., ::2] + x[..., 1::2], x[..., ::2] - x[..., 1::2]], -1)
    return x


def blocks(x):
    """In place: pairs of blocks that double."""
    h, shape = 1, x.shape
    while h < shape[-1]:
        x = x.reshape(*shape[:-1], -1, 2, h)
        a, b = x[..., 0, :], x[..., 1, :]
        x = jnp.stack([a + b, a - b], -2).reshape(shape)
        h *= 2
    return x


def bitonic(x):
    n, k = x.shape[-1], 2
    while k <= n:
        j = k // 2
        while j >= 1:
            y = x.reshape(-1, n // (2 * j), 2, j)
            a, b = y[:, :, 0], y[:, :, 1]
            up = (np.arange(n // (2 * j)) * 2 * j & k == 0)[:, None]
            low, high = jnp.minimum(a, b), jnp.maximum(a, b)
            x = jnp.stack([jnp.where(up, low, high), jnp.where(up, high, low)], 2).reshape(x.shape)
            j //= 2
        k *= 2
    return x


def odd_even(x, rounds):
    """Sorts neighbours in turns; the first and the last stay where the pairs are shifted."""
    pairs = lambda a, b: jnp.stack([jnp.minimum(a, b), jnp.maximum(a, b)], -1).reshape(x.shape[0], -1)
    for _ in range(rounds):
        x = pairs(x[:, ::2], x[:, 1::2])
        x = jnp.concatenate([x[:, :1], pairs(x[:, 1:-1:2], x[:, 2:-1:2]), x[:, -1:]], -1)
    return x


def fourier(x):
    """Radix 2, by real and imaginary parts."""
    batch, n = x.shape
    re, im, m = x, jnp.zeros_like(x), 1
    while m < n:
        re, im = re.reshape(batch, 2, -1, m), im.reshape(batch, 2, -1, m)
        w = np.exp(-1j * np.pi * np.arange(m) / m).astype(np.complex64)
        tr, ti = re[:, 1] * w.real - im[:, 1] * w.imag, re[:, 1] * w.imag + im[:, 1] * w.real
        re, im = jnp.concatenate([re[:, 0] + tr, re[:, 0] - tr], -1), jnp.concatenate([im[:, 0] + ti, im[:, 0] - ti], -1)
        m *= 2
    return re.reshape(batch, n), im.reshape(batch, n)


def lifting(x):
    """Halves that later steps read as well."""
    for _ in range(3):
        even, odd = x[:, ::2], x[:, 1::2]
        odd = odd - (even + jnp.roll(even, -1, 1)) / 2
        even = even + (odd + jnp.roll(odd, 1, 1)) / 4
        x = jnp.concatenate([even, odd], 1)
    return x


def image(x):
    for _ in range(3):
        x = jnp.concatenate([(x[::2] + x[1::2]) / 2, (x[::2] - x[1::2]) / 2])
        x = jnp.concatenate([(x[:, ::2] + x[:, 1::2]) / 2, (x[:, ::2] - x[:, 1::2]) / 2], 1)
    return x


CASES = [
    *(
        Case(f"butterflies_{f.__name__}_{'x'.join(map(str, shape))}", f, normals(shape))
        for f in (halves, steps, blocks)
        for shape in ((256, 1024), (3, 64), (4096,), (5, 7, 256))
    ),
    Case("butterflies_gradient", jax.grad(lambda x: (halves(jnp.tanh(x)) ** 2).sum() / 512), normals((64, 512))),
    Case("butterflies_doubles", steps, normals((100, 512), dtype=np.float64), x64=True),
    Case("butterflies_of_integers", lambda x: blocks((100 * x).astype(jnp.int32)), normals((64, 256))),
    Case("butterflies_bitonic", bitonic, normals((300, 64))),
    Case("butterflies_odd_even", lambda x: odd_even(x, 8), normals((256, 1024))),
    Case("butterflies_odd_even_small", lambda x: odd_even(x, 5), normals((77, 40))),
    Case("butterflies_fourier", fourier, normals((64, 512))),
    Case("butterflies_lifting", lifting, normals((4096, 16))),
    Case("butterflies_image", image, normals((256, 256))),
]
