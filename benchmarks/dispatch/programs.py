"""The programs: little work, so that what is measured is the call."""

import dataclasses
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Program:
    """`function` is called with trees of arrays on one device. One that `donates` gives up its arguments, and gives a tuple of
    those of the next call. `wanted`: microseconds above the floor that it may take, where there is such a goal."""

    name: str
    function: Callable
    arguments: tuple
    donates: bool = False
    wanted: float | None = None


def all_programs():
    import jax
    import jax.numpy as jnp

    from ..programs.inputs import of_type

    def array(*shape, seed=0):
        return of_type("f32", shape, seed=seed)

    def loss(parameters, x, y):
        for weights, bias in parameters[:-1]:
            x = jnp.tanh(x @ weights + bias)
        weights, bias = parameters[-1]
        return jnp.mean((x @ weights + bias - y) ** 2)

    def add_one(x):
        return x + 1

    layers = [(array(16, 16, seed=i), array(16, seed=i)) for i in range(3)]
    tree = {f"layer_{i}": {f"leaf_{j}": array(16, seed=5 * i + j) for j in range(5)} for i in range(10)}
    return [
        Program("scalar_add", jnp.add, (array(), array(seed=1)), wanted=0.4),
        Program("arrays_of_100", jnp.add, (array(100), array(100, seed=1))),
        Program("arguments_20", lambda *xs: tuple(map(add_one, xs)), tuple(array(16, seed=i) for i in range(20)), wanted=2.0),
        Program("matmul_8x8", jnp.matmul, (array(8, 8), array(8, 8, seed=1))),
        Program("donated", lambda x: (x + 1,), (array(100),), donates=True),
        Program("tree_of_50", lambda tree: jax.tree.map(add_one, tree), (tree,)),
        Program("mlp_gradient", jax.grad(loss), (layers, array(8, 16), array(8, 16, seed=1))),
    ]
