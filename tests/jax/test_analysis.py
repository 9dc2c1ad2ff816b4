"""compiled.cost_analysis() and compiled.memory_analysis(): against counts by hand, and beside XLA:CPU."""

import functools

import jax
import jax.numpy as jnp
import pytest
from jax import lax


def shape(*dimensions, dtype=jnp.float32, device=None):
    return jax.ShapeDtypeStruct(dimensions, dtype, sharding=jax.sharding.SingleDeviceSharding(device) if device else None)


def compiled(function, device, *shapes, **options):
    return jax.jit(function, **options).lower(*(shape(*s.shape, dtype=s.dtype, device=device) for s in shapes)).compile()


def convolution(x, w, padding="SAME", stride=1):
    return lax.conv_general_dilated(x, w, (stride, stride), padding)


SQUARE = shape(16, 16)
IMAGE, FILTER = shape(2, 3, 9, 9), shape(5, 3, 3, 3)
COSTS = {
    "dot": (lambda a, b: a @ b, (shape(8, 16), shape(16, 32)), 2 * 8 * 16 * 32, 0),
    "batched dot": (lambda a, b: a @ b, (shape(3, 8, 16), shape(3, 16, 32)), 2 * 3 * 8 * 16 * 32, 0),
    "dot, bias, relu": (lambda a, b, c: jax.nn.relu(a @ b + c), (shape(8, 16), shape(16, 32), shape(32)), 8192 + 512, 0),
    "convolution": (convolution, (IMAGE, FILTER), 2 * 2 * 5 * 3 * 25 * 25, 0),
    "strided": (functools.partial(convolution, padding="VALID", stride=2), (IMAGE, FILTER), 2 * 2 * 5 * 3 * 9 * 16, 0),
    "reduce": (lambda a: a.sum(1), (shape(8, 16),), 8 * 15, 0),
    "window": (lambda a: lax.reduce_window(a, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID"), (shape(8, 16),), 32 * 3, 0),
    "elementwise": (lambda a, b: jnp.exp(a) * b + jnp.tanh(a) / b, (SQUARE, SQUARE), 3 * 256, 2 * 256),
}


@pytest.mark.parametrize("name", COSTS)
def test_costs_are_counted(name, device, reference_device):
    function, shapes, flops, transcendentals = COSTS[name]
    cost = compiled(function, device, *shapes).cost_analysis()
    reference = compiled(function, reference_device, *shapes).cost_analysis()
    assert cost["flops"] == reference["flops"] == flops
    assert cost.get("transcendentals", 0) == reference.get("transcendentals", 0) == transcendentals
    assert cost["optimal_seconds"] > 0


def test_bytes_of_operands_and_results(device):
    cost = compiled(lambda a, b: a @ b, device, shape(8, 16), shape(16, 32)).cost_analysis()
    assert cost["bytes accessed"] == 512 + 2048 + 1024
    assert (cost["bytes accessed0{}"], cost["bytes accessed1{}"], cost["bytes accessedout{}"]) == (512, 2048, 1024)
    assert cost["utilization0{}"] == cost["utilization1{}"] == 1
    # Five rows of a table are read, not all of it; the update of one row touches that row.
    rows = compiled(lambda x, i: x[i], device, shape(1000, 16), shape(5, dtype=jnp.int32)).cost_analysis()
    assert rows["bytes accessed"] < 2000
    update = compiled(lambda x, u, i: lax.dynamic_update_slice(x, u, (i, 0)), device, shape(1000, 16), shape(1, 16), shape(dtype=jnp.int32),
                      donate_argnums=0).cost_analysis()
    assert update["bytes accessed"] < 2000


def test_loops_count_their_rounds(device):
    def rounds(x):
        return lax.fori_loop(0, 40, lambda i, y: jnp.sin(y) @ x, x)

    cost = compiled(rounds, device, SQUARE).cost_analysis()
    assert 40 * 2 * 16**3 <= cost["flops"] <= 40 * (2 * 16**3 + 4)
    assert cost["transcendentals"] == 40 * 256


def test_lowered_programs_have_costs(device):
    with jax.default_device(device):
        cost = jax.jit(lambda a, b: a @ b).lower(shape(8, 16), shape(16, 32)).cost_analysis()
    assert cost["flops"] == 8192


def mlp_loss(weights, x):
    for w in weights:
        x = jax.nn.gelu(x @ w)
    return (x**2).mean()


def mlp_step(weights, x):
    return jax.tree.map(lambda w, g: w - 0.1 * g, weights, jax.grad(mlp_loss)(weights, x))


def attention(q, k, v):
    return jax.nn.softmax(q @ k.mT / 8.0) @ v


def rms_norm(x):
    return x * lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-6)


def pooled_attention(q, k, v):
    return attention(q, *(x.reshape(2, 8, 64, 4, 64).mean(3) for x in (k, v)))


def loop(x):
    return lax.fori_loop(0, 50, lambda i, h: jnp.tanh(h) * 0.5 + h.sum() * i, x)


def images(x, w, v):
    return convolution(jax.nn.relu(convolution(x, w)), v)


def huber(a, b):
    distance = jnp.abs(a - b)
    return jnp.where(distance < 1, 0.5 * (a - b) ** 2, distance - 0.5).mean()


def black_scholes(s, k, v):
    d = (jnp.log(s / k) + v * v / 2) / v
    return s * jax.scipy.stats.norm.cdf(d) - k * jax.scipy.stats.norm.cdf(d - v)


def rotary(x):
    length, width = x.shape[-2:]
    angles = jnp.arange(length)[:, None] / 1e4 ** (jnp.arange(0, width, 2) / width)
    angles = jnp.concatenate([angles, angles], -1)
    turned = jnp.concatenate([-x[..., width // 2 :], x[..., : width // 2]], -1)
    return x * jnp.cos(angles) + turned * jnp.sin(angles)


def linear_attention(q, k, v):
    q, k = jax.nn.elu(q) + 1, jax.nn.elu(k) + 1
    return jnp.einsum("bhqd,bhde->bhqe", q, jnp.einsum("bhkd,bhke->bhde", k, v)) / (jnp.einsum("bhqd,bhd->bhq", q, k.sum(2))[..., None] + 1e-6)


def whitened(x):
    centered = x - x.mean(0)
    values, vectors = jnp.linalg.eigh(jnp.cov(centered.T))
    return (centered @ vectors / jnp.sqrt(values + 1e-5)) @ vectors.T


def graph_attention(x, w, a, b, adjacent):
    h = x @ w
    weights = jax.nn.softmax(jnp.where(adjacent > 0, jax.nn.leaky_relu((h @ a)[:, None] + (h @ b)[None]), -1e9))
    return (jax.nn.elu(weights @ h) ** 2).sum()


def residuals(x, *weights):
    for w in weights:
        x = x + jax.nn.gelu(jax.nn.standardize(x) @ w)
    return x


def branches(x, w):
    pooled = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 1, 1, 1), "SAME")
    product = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return (jnp.concatenate([pooled, product], -1) ** 2).sum()


def waves(x):
    return lax.fori_loop(0, 9, lambda _, y: jnp.fft.ifft2(jnp.fft.fft2(y * jnp.exp(1j * jnp.abs(y))) * 0.9), x)


PROGRAMS = {
    "training step": (lambda a, b, c, x: mlp_step((a, b, c), x), (shape(256, 512), shape(512, 512), shape(512, 256), shape(64, 256))),
    "wide product": (lambda x, w: x @ w.T, (shape(64, 512), shape(8000, 512))),
    "attention": (attention, (shape(4, 128, 64),) * 3),
    "attention of normalized rows": (lambda q, k, v: attention(rms_norm(q), rms_norm(k), v), (shape(2, 8, 256, 64),) * 3),
    "attention to pooled rows": (pooled_attention, (shape(2, 8, 256, 64),) * 3),
    "loop": (loop, (shape(64, 512),)),
    "softmax and norm": (lambda x: jax.nn.standardize(jax.nn.softmax(x)), (shape(256, 512),)),
    "masked attention": (lambda q, k, v: jax.nn.softmax(jnp.where(jnp.tri(128, dtype=bool), q @ k.mT, -1e9)) @ v, (shape(4, 128, 64),) * 3),
    "images": (images, (shape(2, 16, 32, 32), shape(32, 16, 3, 3), shape(16, 32, 3, 3))),
    "wide graph": (lambda x: sum(jnp.sin(x * i).sum(0) for i in range(40)), (shape(512, 256),)),
    "random words": (lambda k: jax.random.uniform(jax.random.wrap_key_data(k, impl="rbg"), (100, 1001)), (shape(4, dtype=jnp.uint32),)),
    "random mask": (lambda k: jax.random.bernoulli(jax.random.wrap_key_data(k, impl="rbg"), 0.3, (100003,)), (shape(4, dtype=jnp.uint32),)),
    "sort of pairs": (lambda a, b, c: lax.sort((a, b, c), num_keys=2), (shape(30000, dtype=jnp.int32), shape(30000), shape(30000))),
    "sort of booleans": (lambda a: jnp.argsort(a), (shape(300000, dtype=jnp.bool_),)),
    "random words of ThreeFry": (lambda k: lax.rng_bit_generator(k, (100000,), algorithm=lax.RandomAlgorithm.RNG_THREE_FRY), (shape(4, dtype=jnp.uint32),)),
    "products of rows": (lambda a, b: jnp.einsum("bd,bd->b", jnp.sin(a), b - 1), (shape(512, 256), shape(512, 256))),
    "long formula": (jax.grad(lambda a: jax.scipy.special.ndtri(a).sum()), (shape(256, 256),)),
    "results of one formula": (jax.vmap(jax.grad(black_scholes, (0, 1, 2))), (shape(10000),) * 3),
    "rotary embedding": (rotary, (shape(4, 256, 128),)),
    "sort of columns": (lambda a: jnp.argsort(a, axis=0), (shape(3000, 10),)),
    "pieces": (lambda a, b: jnp.concatenate([a, jnp.tanh(b).ravel()]), (shape(65536), shape(8192, 8))),
    "counts of windows": (
        lambda a: a / lax.reduce_window(jnp.ones_like(a), 0.0, lax.add, (1, 1, 3, 3), (1, 1, 1, 1), "SAME"),
        (shape(8, 16, 32, 32),),
    ),
    "best of columns": (lambda a: jnp.argmax(a, 0), (shape(300, 2048),)),
    "mask of a loss": (jax.grad(huber), (shape(1024, 256), shape(1024, 256))),
    "sort of complex numbers": (jnp.sort, (shape(100000, dtype=jnp.complex64),)),
    "gradient of a kernel of pairs": (
        jax.grad(lambda x, y: jnp.exp(-((x[:, None] - y[None]) ** 2).sum(-1)).sum()),
        (shape(256, 8), shape(256, 8)),
    ),
    "linear attention": (linear_attention, (shape(2, 8, 1024, 64),) * 3),
    "whitening": (whitened, (shape(500, 32),)),
    "exponential of a matrix": (jax.scipy.linalg.expm, (shape(256, 256),)),
    "graph attention": (
        jax.grad(graph_attention, (0, 1, 2, 3)),
        (shape(512, 64), shape(64, 32), shape(32), shape(32), shape(512, 512)),
    ),
    "median of shifts": (lambda x: jnp.median(jnp.stack([jnp.roll(x, i, -1) for i in range(5)]), 0), (shape(8, 8192),)),
    "residual blocks": (residuals, (shape(256, 256),) * 5),
    "pools beside products": (jax.grad(branches, (0, 1)), (shape(4, 28, 28, 64), shape(3, 3, 64, 64))),
    "loop over transforms": (waves, (shape(256, 256, dtype=jnp.complex64),)),
    "maxima of layers over sets": (
        lambda x, a, b: jax.nn.relu(jax.nn.relu(x @ a) @ b).max(1),
        (shape(64, 128, 3), shape(3, 64), shape(64, 256)),
    ),
    "quadratic forms": (lambda x, m: jnp.sqrt((x @ m * x).sum(-1)), (shape(4096, 128), shape(128, 128))),
    "loss of layers": (
        lambda x, a, b, c, y: ((jax.nn.silu(jax.nn.silu(x @ a) @ b) @ c - y) ** 2).mean(),
        (shape(1024, 64), shape(64, 256), shape(256, 256), shape(256, 64), shape(1024, 64)),
    ),
    "cond": (lambda p, x: lax.cond(p, jnp.sin, lambda y: y @ y, x), (shape(dtype=jnp.bool_), shape(64, 64))),
}


def total(stats):
    return stats.argument_size_in_bytes + stats.output_size_in_bytes - stats.alias_size_in_bytes + stats.temp_size_in_bytes


@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_is_no_more_than_on_xla(name, device, reference_device):
    # XLA:CPU's own peak leaves temporaries out, so that the sum is compared.
    function, shapes = PROGRAMS[name]
    stats = compiled(function, device, *shapes).memory_analysis()
    reference = compiled(function, reference_device, *shapes).memory_analysis()
    assert stats.argument_size_in_bytes == reference.argument_size_in_bytes
    assert 0 <= reference.output_size_in_bytes - stats.output_size_in_bytes <= 8 * 32  # XLA's table of a tuple's elements
    assert stats.peak_memory_in_bytes == total(stats)
    assert total(stats) <= total(reference)


def test_donated_memory_is_counted_once(device):
    stats = compiled(lambda a: a + 1, device, SQUARE, donate_argnums=0).memory_analysis()
    assert stats.alias_size_in_bytes == 1024
    assert stats.temp_size_in_bytes == 0
    assert stats.peak_memory_in_bytes == 1024
    assert stats.generated_code_size_in_bytes > 0
