"""Arguments for a function from its signature: parameter names say what an argument is, and a table says the rest.

A call is a text such as `x(3, 4), axis=0`, evaluated with the makers below for one dtype. `WRAPPER <- ARGUMENTS` calls what the
expression WRAPPER makes of the function F instead of F itself.
"""

import dataclasses
import inspect
import zlib
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

# What a required parameter is, by its name. `S` is the shape under test.
ARRAY_NAMES = (
    "x y a b z m p q ar1 ar2 x1 x2 a1 a2 arr array val prototype operand element M filt object image "
    "lhs rhs input data u v array1 array2 like_arr condition A min max ary t n_ c1 c2"
).split()
PARAMETERS = {name: "x(S)" for name in ARRAY_NAMES} | {
    "axis": "0",
    "shape": "(3, 5)",
    "key": "key()",
    "k": "x(S)",
    "fill_value": "x()",
    "new_dtype": "jnp.float32",
    "which": "b(S)",
    "pred": "b(S)",
    "on_true": "x(S)",
    "on_false": "x(S)",
    "tup": "[x(S), x(S)]",
    "arrays": "[x(S), x(S)]",
    "axes": "(0,)",
    "dimensions": "(0,)",
    "n": "5",
    "N": "5",
}
# An optional parameter is tried once, on a matrix.
OPTIONAL = {
    "axis": "-1",
    "keepdims": "True",
    "ddof": "1",
    "descending": "True",
    "reverse": "True",
    "norm": "'ortho'",
    "stable": "False",
    "k": "1",
    "deg": "True",
    "equal_nan": "True",
    "include_initial": "True",
}
SHAPES = {"scalar": (), "empty": (0,), "vector": (7,), "matrix": (3, 5), "batch": (2, 4, 4)}
BROADCAST = [(3, 1), (5,), (2, 1, 5), (1,)]
# Where functions bend: only for functions of one array.
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.5, 10.0, -10.0, np.inf, -np.inf, np.nan, 1e-3, 30.0]


@dataclasses.dataclass(frozen=True)
class Key:
    """A random key: made inside the function, since its array must lie on the function's device."""

    words: tuple

    def make(self):
        return jax.random.wrap_key_data(jnp.array(self.words, jnp.uint32))


@dataclasses.dataclass(frozen=True, eq=False)
class Call:
    """`function(*arguments, **keywords)`; numpy arrays among the arguments are operands, all else is static."""

    name: str
    function: Callable
    arguments: tuple
    keywords: dict

    @property
    def operands(self):
        return [leaf for leaf in jax.tree.leaves((self.arguments, self.keywords)) if isinstance(leaf, np.ndarray)]

    def __call__(self, *operands):
        rest = iter(operands)

        def place(leaf):
            return next(rest) if isinstance(leaf, np.ndarray) else leaf.make() if isinstance(leaf, Key) else leaf

        arguments, keywords = jax.tree.map(place, (self.arguments, self.keywords), is_leaf=lambda leaf: leaf is None)
        return self.function(*arguments, **keywords)


class Makers:
    """What a call's text may name: arrays of the dtype under test, from a seed of their own."""

    def __init__(self, dtype, seed, shape=(), shapes=None):
        self.dtype, self.rng, self.shape = jnp.dtype(dtype), np.random.default_rng(seed), shape
        self.shapes = iter(shapes) if shapes else None
        self.real = jnp.dtype({"complex64": "float32", "complex128": "float64"}.get(self.dtype.name, self.dtype.name))

    def names(self):
        public = {name: getattr(self, name) for name in dir(type(self)) if not name.startswith("_")}
        return public | {"order": order, "S": self.shape, "D": self.dtype, "R": self.real, "jax": jax, "jnp": jnp, "np": np, "lax": jax.lax}

    def _shape(self, shape):
        if len(shape) == 1 and isinstance(shape[0], tuple):  # x(S)
            return next(self.shapes) if self.shapes else shape[0]
        return shape

    def _cast(self, values):
        return np.asarray(values).astype(self.dtype)

    def x(self, *shape):
        """Numbers around zero; whole numbers of at least zero for unsigned types."""
        shape = self._shape(shape)
        if self.dtype == bool:
            return self.rng.integers(0, 2, shape).astype(bool)
        if jnp.issubdtype(self.dtype, jnp.unsignedinteger):
            return self._cast(self.rng.integers(0, 20, shape))
        if jnp.issubdtype(self.dtype, jnp.integer):
            return self._cast(self.rng.integers(-9, 20, shape))
        if jnp.issubdtype(self.dtype, jnp.complexfloating):
            return self._cast(self.rng.standard_normal(shape) + 1j * self.rng.standard_normal(shape))
        return self._cast(self.rng.standard_normal(shape))

    def r(self, *shape):
        """As x, but real where the dtype is complex."""
        return Makers(self.real, self.rng.integers(1 << 30)).x(*self._shape(shape))

    def pos(self, *shape):
        """Numbers from 0.5 to 3, whole numbers from 1 to 5."""
        shape = self._shape(shape)
        if jnp.issubdtype(self.dtype, jnp.inexact):
            return self._cast(self.rng.uniform(0.5, 3, shape))
        return self._cast(self.rng.integers(1, 6, shape))

    def unit(self, *shape):
        """Numbers between 0 and 1."""
        shape = self._shape(shape)
        if jnp.issubdtype(self.dtype, jnp.inexact):
            return self._cast(self.rng.uniform(0.05, 0.95, shape))
        return self._cast(self.rng.integers(0, 2, shape))

    def simplex(self, n):
        values = self.rng.uniform(0.1, 1, n)
        return self._cast(values / values.sum())

    def i(self, *shape, below=3):
        """Indices."""
        return self.rng.integers(0, below, self._shape(shape)).astype(np.int32)

    def b(self, *shape):
        return self.rng.integers(0, 2, self._shape(shape)).astype(bool)

    def up(self, n):
        """Rising numbers."""
        if jnp.issubdtype(self.dtype, jnp.inexact):
            return self._cast(np.cumsum(self.rng.uniform(0.2, 1, n)) - 1)
        return self._cast(np.cumsum(self.rng.integers(1, 3, n)))

    def sq(self, *shape):
        """Square matrices, the last size twice, well away from singular."""
        full = (*shape, shape[-1])
        return (self.x(*full) / np.sqrt(shape[-1]) + 3 * np.eye(shape[-1])).astype(self.dtype)

    def spd(self, *shape):
        """Symmetric or hermitian positive definite matrices."""
        half = self.x(*shape, shape[-1]).astype(np.complex128 if self.dtype.kind == "c" else np.float64)
        return self._cast(half @ np.swapaxes(half.conj(), -1, -2) / shape[-1] + 2 * np.eye(shape[-1]))

    def sym(self, *shape):
        full = self.x(*shape, shape[-1]).astype(np.complex128 if self.dtype.kind == "c" else np.float64)
        return self._cast((full + np.swapaxes(full.conj(), -1, -2)) / 2)

    def tri(self, *shape):
        """Lower triangular, well away from singular."""
        return np.tril(self.sq(*shape))

    def one(self, value, *shape):
        return self._cast(np.full(shape, value))

    def edges(self):
        return self._cast(EDGES)

    def key(self):
        return Key(tuple(int(w) for w in self.rng.integers(0, 1 << 32, 2, dtype=np.uint32)))


def order(values):
    """Complex numbers in an order that rounding does not change for conjugate pairs."""
    return jnp.take_along_axis(values, jnp.argsort(values.real + 2 * values.imag, -1), -1)


def seed_of(*labels):
    return zlib.crc32("/".join(map(str, labels)).encode())


def _capture(*arguments, **keywords):
    return arguments, keywords


def make(function, text, dtype, name, seed, shape=(), shapes=None):
    """The call that the text describes."""
    wrapper, arrow, arguments = f"{text} ".rpartition(" <- ")
    names = Makers(dtype, seed, shape, shapes).names() | {"F": function, "capture": _capture}
    target = eval(wrapper, names) if arrow else function  # noqa: S307: texts of this package
    return Call(name, target, *eval(f"capture({arguments})", names))


def _required(function):
    """Texts of the required arguments, or None where a name says nothing."""
    if isinstance(function, jnp.ufunc):
        return ["x(S)"] * function.nin
    texts = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.default is not parameter.empty or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.name not in PARAMETERS:
            return None
        text = PARAMETERS[parameter.name]
        texts.append(f"{parameter.name}={text}" if parameter.kind is parameter.KEYWORD_ONLY else text)
    return texts


def texts_of(function, overrides):
    """(name, text, shape, shapes) of each call of a function; none where nothing is known of its parameters."""
    if function.label in overrides:
        alternatives = [text.strip() for text in overrides[function.label].split(" ; ")]
        return [(f"call {n + 1}", text, (), None) for n, text in enumerate(alternatives)]
    required = _required(function.callable)
    if not required:
        return []
    text = ", ".join(required)
    found = [(name, text, shape, None) for name, shape in SHAPES.items()] if "S" in text else [("call 1", text, (), None)]
    count = text.count("(S)")
    if count > 1:
        found.append(("broadcast", text, (), BROADCAST[:count] if count <= len(BROADCAST) else None))
    if text == "x(S)":
        found.append(("edges", "edges()", (), None))
    if "S" in text and not isinstance(function.callable, jnp.ufunc):
        for name, value in OPTIONAL.items():
            parameter = inspect.signature(function.callable).parameters.get(name)
            if parameter is not None and parameter.default is not parameter.empty:
                found.append((f"{name}={value}", f"{text}, {name}={value}", SHAPES["matrix"], None))
    return found


def calls(function, dtype, overrides, sample=0):
    """The calls of a function with a dtype. Equal samples have equal values."""
    return [
        make(function.callable, text, dtype, name, seed_of(function.label, dtype, name, sample), shape, shapes)
        for name, text, shape, shapes in texts_of(function, overrides)
    ]
