"""Which functions there are: the public names of JAX's public namespaces, found by looking."""

import dataclasses
import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Callable

import jax.scipy.stats

NAMESPACES = [
    "jax.numpy",
    "jax.numpy.linalg",
    "jax.numpy.fft",
    "jax.lax",
    "jax.lax.linalg",
    "jax.nn",
    "jax.nn.initializers",
    "jax.random",
    "jax.image",
    "jax.ops",
    "jax.scipy.special",
    "jax.scipy.linalg",
    "jax.scipy.signal",
    "jax.scipy.fft",
    "jax.scipy.ndimage",
    "jax.scipy.spatial.transform",
    "jax.scipy.optimize",
    "jax.scipy.integrate",
    "jax.scipy.interpolate",
    "jax.scipy.cluster.vq",
    "jax.scipy.sparse.linalg",
    "jax.scipy.stats",
    *sorted(f"jax.scipy.stats.{m.name}" for m in pkgutil.iter_modules(jax.scipy.stats.__path__) if not m.name.startswith("_")),
    "jax.experimental.sparse",
]

WIDE = ("float64", "int64", "uint64", "complex128")
# In the order in which they are run: what differs most first.
DTYPES = (
    ("float32", "complex64", "int32", "bfloat16", "bool", "uint8", "float64", "int8", "float16", "complex128")
    + ("uint32", "int64", "int16", "uint16", "uint64")
)
# What these namespaces take they first promote to floating point, so that one integer type of a width says as much as all.
PROMOTING = ("float32", "float64", "bfloat16", "float16", "int32", "int64", "uint8", "bool", "complex64", "complex128")

# XLA:CPU ends the process on these; Kiln runs them.
ABORTS_REFERENCE = {"jax.lax.rng_uniform": ("bool", "int8", "int16", "uint8", "uint16")}

# Public names that compute nothing on a device.
HOST = "computes nothing on a device"
FILES = "reads or writes host files or text"
SEVERAL = "needs several devices"
NOT_SWEPT = {
    "jax.numpy": {
        HOST: "array_repr array_str broadcast_shapes can_cast dtype einsum_path finfo get_printoptions iinfo isdtype iscomplexobj "
        "isrealobj isscalar issubdtype iterable ndim printoptions promote_types result_type set_printoptions shape size",
        FILES: "from_dlpack frombuffer fromfile fromiter fromstring load save savez",
    },
    "jax.lax": {
        HOST: "ConvGeneralDilatedDimensionNumbers DotDimensionNumbers PrecisionLike axis_size broadcast_shapes "
        "conv_dimension_numbers conv_general_permutations conv_general_shape_tuple conv_shape_tuple conv_transpose_shape_tuple "
        "dtype padtype_to_pads reduce_window_shape_tuple shape_as_value create_token after_all",
        SEVERAL: "precv psend pbroadcast pcast ragged_all_to_all with_sharding_constraint",
    },
    "jax.nn": {HOST: "get_scaled_dot_general_config"},
    "jax.random": {HOST: "key_dtype key_impl"},
}


@dataclasses.dataclass(frozen=True)
class Function:
    namespace: str
    name: str
    callable: Callable

    @property
    def label(self):
        return f"{self.namespace}.{self.name}"

    @property
    def dtypes(self):
        taken = PROMOTING if self.namespace.startswith(("jax.scipy", "jax.nn", "jax.experimental")) else DTYPES
        return tuple(dtype for dtype in taken if dtype not in ABORTS_REFERENCE.get(self.label, ()))


def not_swept(namespace):
    """Name to reason."""
    return {name: reason for reason, names in NOT_SWEPT.get(namespace, {}).items() for name in names.split()}


def public(namespace):
    """All public functions and classes that act like functions, with those that are not swept."""
    module = importlib.import_module(namespace)
    found = []
    for name in sorted(dir(module)):
        if name.startswith("_"):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                value = getattr(module, name)
            except AttributeError:  # a name that is kept to say what replaces it
                continue
        if callable(value) and not inspect.ismodule(value) and not inspect.isclass(value):
            found.append(Function(namespace, name, value))
    for name in CLASSES.get(namespace, ()):
        found.append(Function(namespace, name, getattr(module, name)))
    return found


# Classes whose instances compute.
CLASSES = {
    "jax.scipy.interpolate": ["RegularGridInterpolator"],
    "jax.scipy.spatial.transform": ["Rotation", "Slerp"],
    "jax.scipy.stats": ["gaussian_kde"],
    "jax.numpy": ["ufunc"],
}


def swept():
    """The functions of all namespaces that compute on a device."""
    return [f for namespace in NAMESPACES for f in public(namespace) if f.name not in not_swept(namespace)]
