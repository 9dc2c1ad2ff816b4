"""The families: each is a generator of (name, function, inputs), by the name of its function.

An input is (type, shape) or (type, shape, highest integer). Names say type and shape, so that a pattern picks a slice.
"""

import itertools

import jax
import jax.numpy as jnp

FLOATS = ("f32", "bf16", "f16", "f64")
INTEGERS = ("s8", "u8", "s16", "s32", "u32", "s64")
SIZES = (1000, 1 << 16, 1 << 22)


def _by(shape):
    return "x".join(map(str, shape))


def unary():
    functions = {f.__name__: f for f in (
        jnp.exp, jnp.exp2, jnp.expm1, jnp.log, jnp.log1p, jnp.log2, jnp.sin, jnp.cos, jnp.tan, jnp.tanh, jnp.sinh, jnp.cosh, jnp.arctan, jnp.arcsin,
        jnp.arccos, jnp.arcsinh, jnp.sqrt, jax.lax.rsqrt, jnp.cbrt, jnp.abs, jnp.sign, jnp.floor, jnp.ceil, jnp.round, jnp.square, jnp.negative,
        jnp.reciprocal, jnp.isnan, jnp.isfinite, jax.nn.sigmoid, jax.nn.relu, jax.nn.gelu, jax.nn.silu, jax.nn.softplus, jax.nn.elu, jax.scipy.special.erf,
        jax.scipy.special.erfinv, jax.scipy.special.gammaln, jax.scipy.special.digamma, jnp.sinc, jnp.nan_to_num, jnp.logaddexp)}  # fmt: skip
    functions["logaddexp"] = lambda x: jnp.logaddexp(x, 1)
    for (name, function), type, size in itertools.product(functions.items(), FLOATS, SIZES):
        yield f"{name}_{type}_{size}", function, [(type, (size,))]
    integers = {f.__name__: f for f in (jnp.abs, jnp.sign, jnp.square, jnp.negative, jnp.invert, jax.lax.population_count, jax.lax.clz)}
    for (name, function), type, size in itertools.product(integers.items(), INTEGERS, SIZES):
        yield f"{name}_{type}_{size}", function, [(type, (size,))]


def binary():
    functions = {f.__name__: f for f in (jnp.add, jnp.multiply, jnp.divide, jnp.maximum, jnp.power, jnp.arctan2, jnp.hypot, jnp.fmod, jnp.remainder,
        jnp.floor_divide, jnp.less, jnp.copysign, jnp.nextafter)}  # fmt: skip
    for (name, function), type, size in itertools.product(functions.items(), FLOATS, SIZES):
        yield f"{name}_{type}_{size}", function, [(type, (size,)), (type, (size,))]
    integers = {f.__name__: f for f in (jnp.add, jnp.multiply, jnp.maximum, jnp.remainder, jnp.floor_divide, jnp.less, jnp.bitwise_and, jnp.left_shift,
        jnp.right_shift)}  # fmt: skip
    for (name, function), type, size in itertools.product(integers.items(), INTEGERS, SIZES):
        yield f"{name}_{type}_{size}", function, [(type, (size,)), (type, (size,), 7)]
    for type, (rows, columns) in itertools.product(("f32", "bf16", "s32", "u8"), ((100, 10), (64, 1000), (4096, 1024), (1 << 18, 16))):
        yield f"bias_{type}_{rows}x{columns}", lambda x, b: x + b, [(type, (rows, columns)), (type, (columns,))]
        yield f"outer_{type}_{rows}x{columns}", lambda a, b: a[:, None] * b, [(type, (rows,)), (type, (columns,))]
        yield f"rows_{type}_{rows}x{columns}", lambda x, b: x * b[:, None], [(type, (rows, columns)), (type, (rows,))]
        yield f"select_{type}_{rows}x{columns}", lambda x, y: jnp.where(x > y, x, 0), [(type, (rows, columns)), (type, (rows, columns))]


def casts():
    types = ("pred", *INTEGERS, *FLOATS, "c64")
    names = {"pred": jnp.bool_, "s8": jnp.int8, "u8": jnp.uint8, "s16": jnp.int16, "s32": jnp.int32, "u32": jnp.uint32, "s64": jnp.int64,
        "f32": jnp.float32, "bf16": jnp.bfloat16, "f16": jnp.float16, "f64": jnp.float64, "c64": jnp.complex64}  # fmt: skip
    for source, target, size in itertools.product(types, types, (1 << 14, 1 << 22)):
        if source != target and source != "c64":
            yield f"{source}_{target}_{size}", lambda x, t=names[target]: x.astype(t), [(source, (size,))]


def reductions():
    functions = {f.__name__: f for f in (jnp.sum, jnp.max, jnp.prod, jnp.argmax, jnp.mean, jnp.var, jnp.any, jax.nn.logsumexp)}
    shapes = [((1 << 10,), (0,)), ((1 << 22,), (0,))]
    shapes += [((rows, columns), (axis,)) for rows, columns in ((64, 64), (1000, 10), (10, 1000), (1024, 1024), (1 << 18, 8), (1 << 15, 100), (100, 1 << 15)) for axis in (0, 1)]
    shapes += [((64, 32, 512), axes) for axes in ((1,), (0, 2), (0, 1), (1, 2))] + [((16, 28, 28, 64), (0, 1, 2)), ((16, 64, 28, 28), (0, 2, 3))]
    for (name, function), type, (shape, axes) in itertools.product(functions.items(), ("f32", "bf16", "f64", "s32", "u8"), shapes):
        if name == "argmax" and len(axes) > 1 or type in ("s32", "u8") and name in ("var", "mean", "logsumexp"):
            continue
        axis = axes[0] if len(axes) == 1 else axes
        yield f"{name}_{type}_{_by(shape)}_{_by(axes)}", lambda x, f=function, a=axis: f(x, axis=a), [(type, shape)]


def large():
    """Arrays from memory."""
    functions = {f.__name__: f for f in (jnp.sum, jnp.max, jnp.argmax, jnp.var, jax.nn.logsumexp, jax.nn.softmax, jnp.cumsum)}
    shapes = ((1 << 17, 100), (8192, 3000), (1000, 1 << 15))
    for (name, function), type, shape, axis in itertools.product(functions.items(), ("f32", "bf16"), shapes, (0, 1)):
        yield f"{name}_{type}_{_by(shape)}_{axis}", lambda x, f=function, a=axis: f(x, axis=a), [(type, shape)]


def norms():
    def layer(x):
        return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)

    def rms(x):
        return x * jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-6)

    def unit(x):
        return x / jnp.linalg.norm(x, axis=-1, keepdims=True)

    functions = {"softmax": jax.nn.softmax, "log_softmax": jax.nn.log_softmax, "layer": layer, "rms": rms, "unit": unit}
    for name in list(functions):
        functions[name + "_gradient"] = jax.grad(lambda x, f=functions[name]: jnp.sin(f(x).astype(jnp.float32) * 3).sum())
    shapes = ((1, 1000), (32, 10), (128, 128), (1 << 15, 10), (8, 50257), (2048, 768), (4096, 1024), (64, 64, 64))
    for (name, function), type, shape in itertools.product(functions.items(), ("f32", "bf16"), shapes):
        yield f"{name}_{type}_{_by(shape)}", function, [(type, shape)]


def layout():
    for type, shape in itertools.product(("f32", "bf16", "u8", "f64"), ((3, 5), (8, 1000), (1000, 8), (512, 512), (2000, 3000), (64, 1 << 15))):
        yield f"transpose_{type}_{_by(shape)}", lambda x: x.T, [(type, shape)]
        yield f"reverse_{type}_{_by(shape)}", lambda x: x[:, ::-1], [(type, shape)]
        yield f"roll_{type}_{_by(shape)}", lambda x: jnp.roll(x, 1, -1), [(type, shape)]
        yield f"pad_{type}_{_by(shape)}", lambda x: jnp.pad(x, 1), [(type, shape)]
        yield f"stride_{type}_{_by(shape)}", lambda x: x[::2, ::2], [(type, shape)]
        yield f"tile_{type}_{_by(shape)}", lambda x: jnp.tile(x, (2, 2)), [(type, shape)]
        yield f"repeat_{type}_{_by(shape)}", lambda x: jnp.repeat(x, 2, 1), [(type, shape)]
        yield f"concatenate_{type}_{_by(shape)}", lambda x, y: jnp.concatenate([x, y], 1), [(type, shape), (type, shape)]
        yield f"stack_{type}_{_by(shape)}", lambda x, y: jnp.stack([x, y], -1), [(type, shape), (type, shape)]
        yield f"triangle_{type}_{_by(shape)}", jnp.tril, [(type, shape)]
        yield f"update_{type}_{_by(shape)}", lambda x, y: x.at[1:2].set(y[:1]), [(type, shape), (type, shape)]
    for type, order in itertools.product(("f32", "bf16", "u8"), itertools.permutations(range(4))):
        for shape in ((16, 28, 28, 64), (8, 3, 224, 224), (4, 12, 128, 64)):
            yield f"transpose_{type}_{_by(shape)}_{_by(order)}", lambda x, o=order: x.transpose(o) + 0, [(type, shape)]


def indexing():
    for type, (rows, columns), count in itertools.product(("f32", "bf16", "s32", "u8"), ((1000, 1), (1000, 64), (30000, 768), (1 << 20, 4)), (32, 4096)):
        shape, index = (type, (rows, columns)), ("s32", (count,), rows)
        title = f"{type}_{rows}x{columns}_{count}"
        yield f"take_{title}", lambda x, i: x[i], [shape, index]
        yield f"add_{title}", lambda x, i, u: x.at[i].add(u), [shape, index, (type, (count, columns))]
        yield f"set_{title}", lambda x, i, u: x.at[i].set(u), [shape, index, (type, (count, columns))]
        yield f"segment_sum_{title}", lambda u, i: jax.ops.segment_sum(u, i, 100), [(type, (count, columns)), ("s32", (count,), 100)]
    for type, shape in itertools.product(("f32", "s32"), ((100, 10), (1000, 1000), (1 << 16, 64))):
        yield f"take_along_{type}_{_by(shape)}", lambda x, i: jnp.take_along_axis(x, i, 1), [(type, shape), ("s32", (shape[0], 3), shape[1])]
        yield f"one_hot_{type}_{_by(shape)}", lambda i, n=shape[1]: jax.nn.one_hot(i, n), [("s32", shape[:1], shape[1])]
        yield f"nonzero_{type}_{_by(shape)}", lambda x: jnp.nonzero(x > 0, size=100), [(type, shape)]
        yield f"searchsorted_{type}_{_by(shape)}", lambda x, y: jnp.searchsorted(jnp.sort(x[0]), y[:, 0]), [(type, shape), (type, shape)]


def sorts():
    shapes = ((10,), (1000,), (1 << 18,), (1000, 10), (100, 1000), (1 << 14, 64))
    for type, shape in itertools.product(("f32", "f64", "bf16", "s32", "u8", "s64"), shapes):
        yield f"sort_{type}_{_by(shape)}", lambda x: jnp.sort(x, -1), [(type, shape)]
        yield f"argsort_{type}_{_by(shape)}", lambda x: jnp.argsort(x, -1), [(type, shape)]
        yield f"top_k_{type}_{_by(shape)}", lambda x: jax.lax.top_k(x, 5), [(type, shape)]
        yield f"median_{type}_{_by(shape)}", lambda x: jnp.median(x.astype(jnp.float32), -1), [(type, shape)]
    for type, shape, axis in itertools.product(("f32", "f64", "bf16", "s32"), ((1000,), (1 << 20,), (64, 64), (1000, 1000), (1 << 16, 8)), (0, -1)):
        for name in ("cumsum", "cummax", "cumprod", "cumlogsumexp"):
            if axis + len(shape) and not (type == "s32" and name == "cumlogsumexp"):
                yield f"{name}_{type}_{_by(shape)}_{axis % len(shape)}", lambda x, f=getattr(jax.lax, name), a=axis % len(shape): f(x, a), [(type, shape)]


def products():
    dot = {"nn": lambda a, b: a @ b, "nt": lambda a, b: a @ b.T, "tn": lambda a, b: a.T @ b}
    sizes = (1, 8, 33, 128, 512, 1500)
    for type, form, m, n, k in itertools.product(("f32", "bf16", "f64", "s8"), dot, sizes, sizes, sizes):
        if type != "f32" and (form != "nn" and max(m, n, k) > 128 or 33 in (m, n, k)):
            continue
        left, right = ((k, m) if form == "tn" else (m, k)), ((n, k) if form == "nt" else (k, n))
        function = dot[form] if type != "s8" else lambda a, b, f=form: jax.lax.dot_general(a, b, ((((0,) if f == "tn" else (1,)), ((1,) if f == "nt" else (0,))), ((), ())), preferred_element_type=jnp.int32)
        yield f"{type}_{form}_{m}x{n}x{k}", function, [(type, left), (type, right)]
    for type, batch, size in itertools.product(("f32", "bf16", "f64", "c64"), (3, 64, 1000), (2, 4, 9, 16, 64, 100)):
        yield f"batch_{type}_{batch}x{size}", lambda a, b: a @ b, [(type, (batch, size, size)), (type, (batch, size, size))]
        yield f"batch_vector_{type}_{batch}x{size}", lambda a, b: jnp.einsum("bij,bj->bi", a, b), [(type, (batch, size, size)), (type, (batch, size))]
    for type, heads, length in itertools.product(("f32", "bf16"), (4, 32), (64, 512)):
        shape = (type, (2, length, heads, 64))
        yield f"scores_{type}_{heads}x{length}", lambda q, k: jnp.einsum("bqhd,bkhd->bhqk", q, k), [shape, shape]
        yield f"attention_{type}_{heads}x{length}", jax.nn.dot_product_attention, [shape] * 3
        yield f"attention_gradient_{type}_{heads}x{length}", jax.grad(lambda q, k, v: jax.nn.dot_product_attention(q, k, v).astype(jnp.float32).sum(), (0, 1, 2)), [shape] * 3
    for type, rows, sizes in itertools.product(("f32", "bf16"), (1, 32, 512), ((8, 32, 2), (784, 256, 10), (768, 3072, 768))):

        def perceptron(x, a, b):
            return jax.nn.gelu(x @ a) @ b

        inputs = [(type, (rows, sizes[0])), (type, sizes[:2]), (type, sizes[1:])]
        yield f"perceptron_{type}_{rows}x{_by(sizes)}", perceptron, inputs
        yield f"perceptron_gradient_{type}_{rows}x{_by(sizes)}", jax.grad(lambda *p: (perceptron(*p).astype(jnp.float32) ** 2).mean(), (1, 2)), inputs


def convolutions():
    def convolve(x, w, form, **options):
        return jax.lax.conv_general_dilated(x, w, options.pop("strides", (1,) * (x.ndim - 2)), options.pop("padding", "SAME"), dimension_numbers=form, **options)

    grid = [(1, 14, 3, 16, 3), (8, 28, 64, 64, 3), (1, 56, 64, 128, 3), (8, 14, 256, 64, 1), (4, 112, 3, 32, 7), (16, 7, 512, 512, 3), (1, 14, 1024, 256, 1), (32, 8, 16, 16, 5)]
    for type, (batch, size, inputs, outputs, window), form in itertools.product(("f32", "bf16"), grid, ("NHWC", "NCHW")):
        numbers = (form, "HWIO" if form == "NHWC" else "OIHW", form)
        x = (type, (batch, size, size, inputs) if form == "NHWC" else (batch, inputs, size, size))
        w = (type, (window, window, inputs, outputs) if form == "NHWC" else (outputs, inputs, window, window))
        title = f"{type}_{form}_{batch}x{size}x{inputs}x{outputs}x{window}"
        yield f"plain_{title}", lambda x, w, n=numbers: convolve(x, w, n), [x, w]
        yield f"stride_{title}", lambda x, w, n=numbers: convolve(x, w, n, strides=(2, 2)), [x, w]
        yield f"dilated_{title}", lambda x, w, n=numbers: convolve(x, w, n, rhs_dilation=(2, 2)), [x, w]
        yield f"valid_relu_{title}", lambda x, w, n=numbers: jax.nn.relu(convolve(x, w, n, padding="VALID")), [x, w]
        yield f"gradient_{title}", jax.grad(lambda x, w, n=numbers: (convolve(x, w, n).astype(jnp.float32) ** 2).sum(), (0, 1)), [x, w]
        depthwise = (type, (window, window, 1, inputs) if form == "NHWC" else (inputs, 1, window, window))
        yield f"depthwise_{title}", lambda x, w, n=numbers: convolve(x, w, n, feature_group_count=x.shape[n[0].index("C")]), [x, depthwise]
    for type, (batch, length, inputs, outputs, window) in itertools.product(("f32", "bf16"), ((1, 1000, 1, 8, 9), (16, 256, 64, 64, 3), (4, 4096, 32, 32, 5))):
        for form in ("NWC", "NCW"):
            x = (type, (batch, length, inputs) if form == "NWC" else (batch, inputs, length))
            w = (type, (window, inputs, outputs) if form == "NWC" else (outputs, inputs, window))
            numbers = (form, "WIO" if form == "NWC" else "OIW", form)
            yield f"line_{type}_{form}_{batch}x{length}x{inputs}x{outputs}x{window}", lambda x, w, n=numbers: convolve(x, w, n), [x, w]
    for type, (batch, size, channels) in itertools.product(("f32", "bf16"), ((1, 28, 8), (8, 112, 64), (16, 14, 512))):
        window = dict(window_dimensions=(1, 2, 2, 1), window_strides=(1, 2, 2, 1), padding="VALID")
        overlapping = dict(window_dimensions=(1, 3, 3, 1), window_strides=(1, 2, 2, 1), padding="SAME")
        x = (type, (batch, size, size, channels))
        title = f"{type}_{batch}x{size}x{channels}"
        for kind, options in (("halves", window), ("overlapping", overlapping)):

            def largest(x, options=options):
                return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, **options)

            def total(x, options=options):
                return jax.lax.reduce_window(x, 0.0, jax.lax.add, **options)

            yield f"max_pool_{kind}_{title}", largest, [x]
            yield f"sum_pool_{kind}_{title}", total, [x]
            yield f"max_pool_gradient_{kind}_{title}", jax.grad(lambda x, f=largest: f(x).astype(jnp.float32).sum()), [x]


def numerics():
    for type, size in itertools.product(("f32", "f64"), (2, 3, 6, 16, 64, 200)):
        square = (type, (size, size))
        for name, function in {
            "cholesky": lambda a: jnp.linalg.cholesky(a @ a.T + 9 * jnp.eye(a.shape[0], dtype=a.dtype)), "qr": jnp.linalg.qr, "inverse": jnp.linalg.inv,
            "determinant": jnp.linalg.det, "eigh": lambda a: jnp.linalg.eigh(a + a.T), "svd": jnp.linalg.svd, "solve": lambda a: jnp.linalg.solve(a, a[0]),
            "expm": jax.scipy.linalg.expm, "triangular": lambda a: jax.scipy.linalg.solve_triangular(a + 99 * jnp.eye(a.shape[0], dtype=a.dtype), a)}.items():  # fmt: skip
            yield f"{name}_{type}_{size}", function, [square]
            if size <= 16:
                yield f"batch_{name}_{type}_{size}", jax.vmap(function), [(type, (100, size, size))]
    for type, size in itertools.product(("f32", "c64"), (16, 60, 128, 1000, 1 << 14, 1 << 19)):
        for rows in (1, 64) if size < 1 << 19 else (1,):
            if type == "f32":
                yield f"rfft_{rows}x{size}", jnp.fft.rfft, [(type, (rows, size))]
                yield f"irfft_{rows}x{size}", lambda x: jnp.fft.irfft(jnp.fft.rfft(x)), [(type, (rows, size))]
            else:
                yield f"fft_{rows}x{size}", jnp.fft.fft, [(type, (rows, size))]
    random = {
        "bits": lambda key, n: jax.random.bits(key, (n,)), "uniform": lambda key, n: jax.random.uniform(key, (n,)),
        "normal": lambda key, n: jax.random.normal(key, (n,)), "gumbel": lambda key, n: jax.random.gumbel(key, (n,)),
        "randint": lambda key, n: jax.random.randint(key, (n,), 0, 1000), "bernoulli": lambda key, n: jax.random.bernoulli(key, 0.3, (n,)),
        "permutation": jax.random.permutation, "gamma": lambda key, n: jax.random.gamma(key, 2.0, (min(n, 1 << 16),)),
        "categorical": lambda key, n: jax.random.categorical(key, jnp.zeros((n // 10, 10)))}  # fmt: skip
    for size, (name, function) in itertools.product(SIZES, random.items()):
        yield f"random_{name}_{size}", lambda seed, f=function, n=size: f(jax.random.key(seed[0]), n), [("s32", (1,))]


def loops():
    for type, size, steps in itertools.product(("f32", "bf16", "f64"), (1, 16, 256, 4096), (10, 1000)):
        vector, title = (type, (size,)), f"{type}_{size}x{steps}"
        yield f"map_{title}", lambda x, n=steps: jax.lax.fori_loop(0, n, lambda i, v: jnp.sin(v) * 0.5 + v, x), [vector]
        yield f"scan_{title}", lambda x, n=steps: jax.lax.scan(lambda c, _: (c * 0.9 + 0.1, c.sum()), x, None, n), [vector]
        yield f"stack_{title}", lambda x, n=steps: jax.lax.scan(lambda c, _: (jnp.tanh(c), c), x, None, n)[1], [vector]
        yield f"rows_{title}", lambda x: jax.lax.scan(lambda c, row: (c * 0.5 + row, c.max()), x[0], x), [(type, (steps, size))]
        yield f"until_{title}", lambda x, n=steps: jax.lax.while_loop(lambda s: (s[0] < n) & (s[1].sum() < 1e30), lambda s: (s[0] + 1, s[1] * 0.999), (0, x)), [vector]
        if size <= 256:
            yield f"recurrent_{title}", lambda x, w, n=steps: jax.lax.fori_loop(0, n, lambda i, v: jnp.tanh(v @ (w * 0.05)), x), [vector, (type, (size, size))]
            yield f"gradient_{title}", jax.grad(lambda w, x, n=steps: jax.lax.scan(lambda v, _: (jnp.tanh(v * w), None), x, None, n)[0].sum()), [vector, vector]


FAMILIES = (unary, binary, casts, reductions, large, norms, layout, indexing, sorts, products, convolutions, numerics, loops)
