"""Programs that nobody would write: chains of JAX operations, each drawn with its operands among the values so far.

`program(seed)` gives a function and its arguments. Tracing the function again draws the same operations, so it can be
jitted for one device and run op by op on another.
"""

import random

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = [0, 1, 1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 64]
FLOATS = ["float64", "float32", "bfloat16", "float16"]
INTEGERS = ["int32", "int64", "uint8", "int8", "uint32", "int16"]
MAX_ELEMENTS = 20000

OPERATIONS = []  # of (function of draw, operand and all values so far) -> list of new values


def operation(weight=1):
    def add(function):
        OPERATIONS.extend([function] * weight)
        return function

    return add


class Draw(random.Random):
    def shape(self):
        while True:
            shape = tuple(self.choice(SIZES) for _ in range(self.randint(0, 4)))
            size = int(np.prod(shape))
            if size < MAX_ELEMENTS and (size > 0 or self.random() < 0.15):
                return shape

    def axis(self, x):
        return self.randrange(x.ndim)

    def floating(self, x):
        return x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(self.choice(FLOATS))

    def like(self, x, values):
        """A value of the shape of x."""
        return self.choice([v for v in values if v.shape == x.shape])

    def index(self, values):
        """An array of integers, whatever they are: operations clamp, wrap or drop what is out of bounds."""
        return self.choice([v for v in values if is_integer(v) and v.size] or [jnp.arange(3)])

    def weights(self, dtype, *shape):
        return jnp.asarray(np.random.default_rng(self.randrange(100)).standard_normal(shape), dtype)


def is_number(x):
    return x.dtype != jnp.bool_


def is_integer(x):
    return jnp.issubdtype(x.dtype, jnp.integer)


def coarse(x):
    """What decides an index or a comparison: the last bits, which may differ, do not count."""
    return jnp.round(x * 4) if jnp.issubdtype(x.dtype, jnp.floating) else x


def cast(x, dtype):
    return (x if jnp.issubdtype(dtype, jnp.floating) else coarse(x)).astype(dtype)


# What a function of one argument sees is kept where it neither overflows nor is all noise.
UNARY = [
    jnp.sin,
    jnp.tanh,
    jnp.round,
    jnp.cbrt,
    lax.erf,
    jax.nn.sigmoid,
    jax.nn.relu,
    jax.nn.gelu,
    lambda x: jnp.exp(-jnp.abs(x)),
    lambda x: jnp.log1p(jnp.abs(x)),
    lambda x: jnp.sqrt(jnp.abs(x)),
    lambda x: lax.rsqrt(1 + jnp.abs(x)),
    lambda x: x / 2,
]
UNARY_OF_NUMBERS = [jnp.negative, jnp.abs, jnp.sign, jnp.square]
BINARY = [lambda a, b: a / (1 + jnp.abs(b)), lambda a, b: jnp.arctan2(a, 1 + jnp.abs(b)), lambda a, b: jnp.sqrt(a * a + b * b)]
BINARY_OF_NUMBERS = [jnp.add, jnp.subtract, jnp.multiply, jnp.maximum, jnp.minimum]
COMPARISONS = [lambda a, b: coarse(a) < coarse(b), lambda a, b: coarse(a) == coarse(b)]


@operation(3)
def unary(draw, x, values):
    if is_number(x) and draw.random() < 0.3:
        return [draw.choice(UNARY_OF_NUMBERS)(x)]
    return [draw.choice(UNARY)(draw.floating(x))]


@operation(4)
def binary(draw, x, values):
    y = cast(draw.choice([v for v in values if v.shape in (x.shape, ())]), x.dtype)
    if not is_number(x):
        return [jnp.logical_xor(x, y)]
    if draw.random() < 0.3:
        x = draw.floating(x)
        return [draw.choice(BINARY)(x, y.astype(x.dtype))]
    return [draw.choice(BINARY_OF_NUMBERS + COMPARISONS)(x, y)]


@operation()
def reduce(draw, x, values):
    axes = tuple(sorted(draw.sample(range(x.ndim), draw.randint(1, x.ndim))))
    if not is_number(x):
        function = draw.choice([jnp.any, jnp.all])
    elif 0 in x.shape:
        function = jnp.sum
    else:
        function = draw.choice([jnp.sum, jnp.max, jnp.min, jnp.mean, jnp.prod])
    if function in (jnp.mean, jnp.prod):
        x = jnp.tanh(draw.floating(x))
    return [function(x, axis=axes, keepdims=draw.random() < 0.3)]


@operation()
def reduce_to_index(draw, x, values):
    return [draw.choice([jnp.argmax, jnp.argmin])(coarse(x), axis=draw.axis(x))]


@operation()
def variance(draw, x, values):
    return [jnp.var(draw.floating(x), axis=draw.axis(x))]


@operation()
def reduce_window(draw, x, values):
    x = draw.floating(x)
    window = [max(min(size, draw.choice([1, 2, 3])), 1) for size in x.shape]
    function, initial = draw.choice([(lax.max, -np.inf), (lax.add, 0.0)])
    strides = [draw.choice([1, 2]) for _ in window]
    return [lax.reduce_window(x, jnp.asarray(initial, x.dtype), function, window, strides, draw.choice(["SAME", "VALID"]))]


@operation()
def broadcast(draw, x, values):
    size, place = draw.choice([1, 2, 3, 8]), draw.randint(0, x.ndim)
    return [jnp.broadcast_to(jnp.expand_dims(x, place), (*x.shape[:place], size, *x.shape[place:]))] if x.ndim < 4 else []


@operation()
def transpose(draw, x, values):
    return [jnp.transpose(x, draw.sample(range(x.ndim), x.ndim))]


@operation()
def reshape(draw, x, values):
    left, sizes = max(x.size, 1), []
    for _ in range(draw.randint(0, 3)):
        sizes.append(draw.choice([d for d in range(1, left + 1) if left % d == 0][:20]))
        left //= sizes[-1]
    sizes.append(left if x.size else 0)
    draw.shuffle(sizes)
    return [jnp.reshape(x, sizes)]


@operation(2)
def strided_slice(draw, x, values):
    parts = []
    for size in x.shape:
        start = draw.randint(0, max(size - 1, 0))
        parts.append(slice(start, draw.randint(min(start + 1, size), size), draw.choice([1, 1, 1, 2, 3])))
    return [x[tuple(parts)]]


@operation()
def pad(draw, x, values):
    lowest = [-1 if size > 2 else 0 for size in x.shape]
    sides = [(draw.randint(low, 2), draw.randint(low, 2), draw.choice([0, 0, 1])) for low in lowest]
    return [lax.pad(x, jnp.asarray(draw.choice([0, 1]), x.dtype), sides)]


@operation()
def concatenate(draw, x, values):
    axis = draw.axis(x)
    fitting = [v for v in values if v.ndim == x.ndim and all(v.shape[i] == x.shape[i] for i in range(x.ndim) if i != axis)]
    return [jnp.concatenate([x, *(cast(draw.choice(fitting), x.dtype) for _ in range(draw.randint(1, 3)))], axis=axis)]


@operation()
def stack(draw, x, values):
    return [jnp.stack([x, cast(draw.like(x, values), x.dtype), x], axis=draw.randint(0, x.ndim))]


@operation()
def movement(draw, x, values):
    moves = [
        jnp.flip,
        lambda v, axis: jnp.roll(v, draw.randint(-3, 3), axis),
        lambda v, axis: jnp.repeat(v, 2, axis),
        lambda v, axis: jnp.moveaxis(jnp.tile(jnp.moveaxis(v, axis, -1), 3), -1, axis),
    ]
    return [draw.choice(moves)(x, draw.axis(x))]


@operation()
def triangle(draw, x, values):
    return [draw.choice([jnp.tril, jnp.triu])(x, draw.randint(-1, 2))]


@operation()
def gather(draw, x, values):
    return [jnp.take(x, draw.index(values), axis=draw.axis(x), mode=draw.choice(["clip", "wrap", "fill"]))]


@operation()
def scatter(draw, x, values):
    indices = np.random.default_rng(draw.randrange(100)).integers(-1, 5, x.shape[0])
    rows = jnp.zeros((4, *x.shape[1:]), x.dtype).at[indices]
    return [draw.choice([rows.add, rows.max, rows.min])(x)]


@operation()
def dynamic_slice(draw, x, values):
    start = [draw.index(values).reshape(-1)[0].astype("int32"), *(jnp.int32(draw.randint(-2, 5)) for _ in x.shape[1:])]
    return [lax.dynamic_slice(x, start, [draw.randint(1, size) for size in x.shape])]


@operation()
def dynamic_update_slice(draw, x, values):
    update = x[tuple(slice(0, draw.randint(1, size)) for size in x.shape)]
    return [lax.dynamic_update_slice(x, update + update, [jnp.int32(draw.randint(-2, 5)) for _ in x.shape])]


@operation(2)
def product(draw, x, values):
    x, axis = draw.floating(x), draw.axis(x)
    weights = draw.weights(x.dtype, x.shape[axis], draw.choice([1, 2, 5, 8, 16, 33]))
    return [lax.dot_general(x, weights, (((axis,), (0,)), ((), ())))]


@operation()
def product_of_two(draw, x, values):
    x = draw.floating(x)
    form = draw.choice(["...ij,...kj->...ik", "...ij,...ij->...i", "...ij,...ik->...jk"])
    return [jnp.einsum(form, x, cast(draw.like(x, values), x.dtype))]


@operation(2)
def convolution(draw, x, values):
    x = draw.floating(x)
    signal = x.reshape((-1, x.shape[-1]))[:8][None]
    weights = draw.weights(x.dtype, draw.choice([1, 4]), signal.shape[1], draw.choice([1, 3]))
    padding = "VALID" if signal.shape[2] >= 5 and draw.random() < 0.5 else "SAME"
    return [lax.conv_general_dilated(signal, weights, (draw.choice([1, 2]),), padding, rhs_dilation=(draw.choice([1, 2]),))]


@operation(2)
def scan_of_prefixes(draw, x, values):
    return [draw.choice([lax.cumsum, lax.cumsum, lax.cummax, lax.cummin])(x, axis=draw.axis(x), reverse=draw.random() < 0.4)]


@operation()
def sort(draw, x, values):
    return [draw.choice([jnp.sort, lambda v, axis: jnp.argsort(coarse(v), axis, stable=True)])(x, draw.axis(x))]


@operation()
def top_k(draw, x, values):
    return list(lax.top_k(coarse(x), draw.randint(1, x.shape[-1])))


@operation(2)
def select(draw, x, values):
    condition, other = draw.like(x, values), cast(draw.like(x, values), x.dtype)
    return [jnp.where(coarse(condition) > 0 if is_number(condition) else condition, x, other)]


@operation()
def clamp(draw, x, values):
    return [jnp.clip(x, 0, 3)]


@operation()
def one_hot(draw, x, values):
    return [jax.nn.one_hot(x, draw.choice([3, 8]))] if is_integer(x) else []


@operation()
def iota(draw, x, values):
    shape = draw.shape()
    return [lax.broadcasted_iota(draw.choice(INTEGERS + FLOATS), shape, draw.randrange(len(shape)))]


@operation()
def normalization(draw, x, values):
    x = draw.floating(x)
    if draw.random() < 0.5:
        return [jax.nn.softmax(x, axis=draw.axis(x))]
    return [(x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + jnp.asarray(1e-3, x.dtype))]


@operation()
def several_readers(draw, x, values):
    x = draw.floating(x)
    return [x * 2, jnp.exp(-x * x), x.sum()]


@operation()
def loop(draw, x, values):
    trips = draw.randint(0, 6)
    if jnp.issubdtype(x.dtype, jnp.floating):
        return [lax.fori_loop(0, trips, lambda i, v: jnp.tanh(v) + jnp.asarray(i, v.dtype) * jnp.asarray(0.25, v.dtype), x)]

    def step(state):
        return state[0] + 1, state[1] * 3 + state[0].astype(state[1].dtype)

    return [lax.while_loop(lambda state: state[0] < trips, step, (jnp.int32(0), x))[1]]


@operation()
def scan(draw, x, values):
    x = draw.floating(x)

    def step(carry, row):
        carry = carry * jnp.asarray(0.5, carry.dtype) + jnp.tanh(row)
        return carry, (carry, row.sum())

    last, (carries, sums) = lax.scan(step, jnp.zeros(x.shape[1:], x.dtype), x, reverse=draw.random() < 0.3)
    return [last, carries, sums]


@operation()
def conditional(draw, x, values):
    condition, y = draw.index(values).reshape(-1)[0] > 0, cast(draw.like(x, values), x.dtype)
    return [lax.cond(condition, lambda a, b: a + b if is_number(a) else a, lambda a, b: jnp.flip(b), x, y)]


@operation()
def mapped(draw, x, values):
    return [jax.vmap(lambda row: jnp.cos(row) + row.sum())(draw.floating(x))]


@operation()
def solve(draw, x, values):
    matrix = 4 * jnp.eye(3) + jnp.tanh(x.reshape(-1)[0].astype("float64"))
    return [jnp.linalg.solve(matrix, jnp.ones(3)), jnp.linalg.cholesky(matrix + 3 * jnp.eye(3))]


def program(seed):
    """(function, arguments): needs 64-bit types enabled."""
    draw = Draw(seed)
    numbers = np.random.default_rng(seed)
    arguments = []
    for _ in range(draw.randint(1, 4)):
        dtype = draw.choice(FLOATS[:2] * 3 + FLOATS + INTEGERS + ["bool"])
        array = numbers.standard_normal(draw.shape()) * (6 if dtype in INTEGERS else 2)
        arguments.append(np.asarray(array > 0 if dtype == "bool" else array).astype(jnp.dtype(dtype)))
    steps = draw.randint(2, 18)

    def function(*inputs):
        draw = Draw(f"steps of {seed}")
        values, results = list(inputs), []
        for _ in range(steps):
            try:
                new = draw.choice(OPERATIONS)(draw, draw.choice(values), values)
            except (TypeError, ValueError, IndexError, ZeroDivisionError):
                continue  # the operation does not take such an operand: most have a least rank
            new = [jnp.asarray(v) for v in new if v.size < 3 * MAX_ELEMENTS]
            values += new
            results += [v for v in new if draw.random() < 0.5]
        return results or values[-1:]

    return function, arguments
