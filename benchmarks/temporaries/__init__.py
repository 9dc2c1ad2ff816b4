"""Programs whose memory is compared, a line each, one file per family.

`add` names a function and the arrays that it takes: "64x512" is f32, "s32:64x512" another type. `both` adds its gradient by
all floats as well, of half the sum of squares of what it gives. Nothing is made or traced before it is asked for.
"""

import importlib
import pkgutil

import jax
import jax.numpy as jnp

_TYPES = {"f32": "float32", "bf16": "bfloat16", "s32": "int32", "u32": "uint32", "s8": "int8", "u8": "uint8", "pred": "bool", "c64": "complex64"}
_PROGRAMS = {}


def _shape(text):
    kind, _, sizes = text.rpartition(":")
    return jax.ShapeDtypeStruct(tuple(int(size) for size in sizes.split("x") if size), _TYPES[kind or "f32"])


def family(module):
    """`add` and `both` of the file that asks."""

    def add(name, function, *arguments, **jit):
        title = f"{module.rpartition('.')[2]}/{name}"
        if title in _PROGRAMS:
            raise ValueError(f"two programs are called {title}")
        _PROGRAMS[title] = (jax.jit(function, **jit), jax.tree.map(_shape, arguments))

    def both(name, function, *arguments):
        shapes = jax.tree.map(_shape, arguments)
        floats = [i for i, x in enumerate(shapes) if all(jnp.issubdtype(leaf.dtype, jnp.inexact) for leaf in jax.tree.leaves(x))]

        def energy(*values):
            return sum(jnp.sum(jnp.square(jnp.abs(leaf).astype(jnp.float32))) / 2 for leaf in jax.tree.leaves(function(*values)))

        add(name, function, *arguments)
        add(f"{name}/gradient", jax.grad(energy, floats), *arguments)

    return add, both


def all_programs():
    """(function, shapes of arguments) by `family/name`."""
    for module in pkgutil.iter_modules(__path__):
        if module.name not in ("__main__", "measure"):
            importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted(_PROGRAMS.items()))
