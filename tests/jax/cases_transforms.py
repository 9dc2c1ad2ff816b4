"""grad, jvp, vjp, vmap, jacobians, hessians and their compositions."""

import jax
import jax.numpy as jnp
import numpy as np
from harness import Case, Tolerance, integers, normal, normals, together, values
from jax import lax

# Second derivatives multiply two chains of rounding.
SECOND = Tolerance(5e-5, 5e-5)


def _rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@jax.custom_vjp
def _clipped(x):
    return x


_clipped.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -0.1, 0.1),))


@jax.custom_jvp
def _softplus(x):
    return jnp.logaddexp(x, 0.0)


@_softplus.defjvp
def _(primals, tangents):
    return _softplus(primals[0]), tangents[0] * jax.nn.sigmoid(primals[0])


def _quadratic(x):
    return jnp.sum(jnp.sin(x) ** 2) + jnp.prod(x[:3])


def _straight_through(x):
    return x + lax.stop_gradient(jnp.round(x) - x)


CASES = [
    Case("grad", jax.grad(lambda x: jnp.sum(x**3 - x)), normal(20)),
    Case("grad_of_two_arguments", jax.grad(lambda x, y: jnp.sum(x * jnp.exp(y)), (0, 1)), normals((9,), (9,))),
    Case("grad_of_pytree", jax.grad(lambda p: jnp.sum(jnp.tanh(p["w"] @ p["x"]) + p["b"])), lambda rng: ({"w": np.float32(rng.standard_normal((4, 5))), "x": np.float32(rng.standard_normal(5)), "b": np.float32(1)},)),
    Case("value_and_grad", jax.value_and_grad(_quadratic), normal(9)),
    Case("value_and_grad_with_aux", jax.value_and_grad(lambda x: (jnp.sum(x**2), x + 1), has_aux=True), normal(9)),
    Case("grad_of_grad", jax.grad(jax.grad(lambda x: jnp.sin(x) * x**2)), values(np.float32(1.3))),
    Case("grad_of_grad_of_grad", jax.grad(jax.grad(jax.grad(lambda x: jnp.tanh(x) * x))), values(np.float32(0.6)), SECOND),
    Case("grad_rosenbrock", jax.grad(_rosenbrock), normal(6, scale=0.5), Tolerance(1e-5, 1e-4)),
    Case("grad_stop_gradient", jax.grad(lambda x: jnp.sum(_straight_through(x) ** 2)), normal(9)),
    Case("grad_custom_vjp", jax.grad(lambda x: jnp.sum(_clipped(x) ** 2)), normal(9)),
    Case("grad_custom_jvp", jax.grad(lambda x: jnp.sum(_softplus(x))), normal(9)),
    Case("grad_checkpoint", jax.grad(lambda x: jnp.sum(jax.checkpoint(lambda v: jnp.sin(jnp.cos(v)))(x))), normal(9)),
    Case("grad_where_safe", jax.grad(lambda x: jnp.sum(jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1)), 0))), normal(20)),
    Case("grad_of_norm", jax.grad(jnp.linalg.norm), normal(9)),
    Case("grad_of_concatenate_slice", jax.grad(lambda x: jnp.sum(jnp.concatenate([x[3:], x[:3]]) * jnp.arange(9.0))), normal(9)),
    Case("grad_of_pad_transpose", jax.grad(lambda x: jnp.sum(jnp.pad(x.T, 2) ** 2)), normal(3, 4)),
    Case("grad_of_complex_to_real", jax.grad(lambda x: jnp.sum(jnp.abs(jnp.exp(1j * x) + x))), normal(9)),
    Case("jvp", lambda x, t: jax.jvp(jnp.sin, (x,), (t,)), normals((9,), (9,))),
    Case("jvp_of_matmul", lambda a, b: jax.jvp(lambda m: m @ m.T, (a,), (b,)), normals((4, 5), (4, 5))),
    Case("jvp_of_while", lambda x: jax.jvp(lambda v: lax.fori_loop(0, 5, lambda i, s: jnp.sin(s) + v, v), (x,), (jnp.ones_like(x),)), normal(9)),
    Case("vjp", lambda x, g: jax.vjp(jnp.tanh, x)[1](g), normals((9,), (9,))),
    Case("linearize", lambda x, t: jax.linearize(_quadratic, x)[1](t), normals((9,), (9,))),
    Case("linear_transpose", lambda a, g: jax.linear_transpose(lambda x: a @ x, jnp.zeros(5))(g), normals((4, 5), (4,))),
    Case("jacobian_forward", jax.jacfwd(lambda x: jnp.sin(x) * x[0]), normal(6)),
    Case("jacobian_reverse", jax.jacrev(lambda x: jnp.cumsum(x**2)), normal(6)),
    Case("hessian", jax.hessian(_quadratic), normal(6), SECOND),
    Case("hessian_rosenbrock", jax.hessian(_rosenbrock), normal(5, scale=0.5), Tolerance(1e-5, 1e-3)),
    Case("hessian_vector_product", lambda x, v: jax.jvp(jax.grad(_quadratic), (x,), (v,))[1], normals((9,), (9,)), SECOND),
    Case("laplacian", lambda x: jnp.trace(jax.hessian(lambda v: jnp.exp(-jnp.sum(v**2)))(x)), normal(4), SECOND),
    Case("vmap", jax.vmap(lambda x, y: jnp.dot(x, y)), normals((8, 5), (8, 5))),
    Case("vmap_in_and_out_axes", jax.vmap(lambda x: x * 2 + x.sum(), in_axes=1, out_axes=1), normal(8, 5)),
    Case("vmap_unmapped_argument", jax.vmap(lambda w, x: w @ x, in_axes=(None, 0)), normals((3, 5), (8, 5))),
    Case("vmap_nested", jax.vmap(jax.vmap(jnp.outer)), normals((2, 3, 4), (2, 3, 5))),
    Case("vmap_of_grad", jax.vmap(jax.grad(_quadratic)), normal(7, 6)),
    Case("vmap_of_index", jax.vmap(lambda x, i: x[i]), together(normal(7, 6), integers((7,), low=0, high=6))),
    Case("vmap_of_dynamic_slice", jax.vmap(lambda x, i: lax.dynamic_slice(x, (i,), (3,))), together(normal(7, 9), integers((7,), low=0, high=9))),
    Case("vmap_of_sort", jax.vmap(jnp.argsort), normal(7, 9)),
    Case("vmap_axis_name", jax.vmap(lambda x: x / lax.psum(x, "i") + lax.pmax(x, "i"), axis_name="i"), lambda rng: (np.float32(rng.uniform(1, 2, 9)),)),
    Case("per_example_gradients", lambda w, x: jax.vmap(jax.grad(lambda w, x: jnp.tanh(x @ w).sum()), (None, 0))(w, x), normals((5, 3), (6, 5))),
    Case("vectorize", jnp.vectorize(lambda x, y: x @ y, signature="(n),(n)->()"), normals((4, 1, 5), (3, 5))),
    Case("apply_along_axis", lambda x: jnp.apply_along_axis(jnp.cumsum, 0, x), normal(6, 4)),
    Case("jit_of_jit_of_grad", jax.jit(jax.jit(jax.grad(_quadratic))), normal(9)),
    Case("ravel_pytree", lambda x, y: jax.flatten_util.ravel_pytree({"x": x, "y": [y]})[0], normals((2, 3), (4,))),
]
