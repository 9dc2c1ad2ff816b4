"""Contractions, movement of data, and the linear algebra that needs no library."""

import jax
import jax.numpy as jnp
import numpy as np
from harness import Case, Tolerance, integers, normal, normals, together, values
from jax import lax

# Contractions of 100 to 500 terms of size one: the error of another order of summation grows with the square root.
LONG_SUM = Tolerance(1e-5, 1e-4)


def general(contracting, batch=((), ())):
    return lambda a, b: lax.dot_general(a, b, (contracting, batch))


def einsum(formula, *shapes):
    return Case(f"einsum {formula}", lambda *operands: jnp.einsum(formula, *operands), normals(*shapes), LONG_SUM)


def _to_complex(name, function, *shapes):
    return Case(f"{name}_to_complex", lambda *a: lax.complex(jnp.tanh(function(*a)), function(*a) + 1), normals(*shapes), LONG_SUM)


def _convolution_to_complex(name, x, w, groups=1, stride=1, labels=("NHWC", "HWIO", "NHWC")):
    def convolution(x, w):
        return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=labels, feature_group_count=groups)

    return _to_complex(f"convolution_{name}", convolution, x, w)


def _padded_with_gaps(x):
    # Gaps that divide a vector's lanes and gaps that do not, with edges that begin and end anywhere among them.
    edges = ((0, 0), (1, 2), (5, 0), (-1, 3), (-3, -2))
    return [lax.pad(x, x.dtype.type(1), ((0, 1, 1), (low, high, gap))) for low, high in edges for gap in (1, 2, 3, 6, 7)]


def _power_iteration(a):
    def step(_, v):
        v = a @ v
        return v / jnp.linalg.norm(v)

    v = lax.fori_loop(0, 20, step, jnp.ones(a.shape[0]) / np.sqrt(a.shape[0]))
    return v @ a @ v


def _conjugate_gradient(a, b):
    return jax.scipy.sparse.linalg.cg(lambda v: a.T @ (a @ v) + 5 * v, b, maxiter=8, tol=0.0)[0]


def _gram_schmidt(a):
    columns = []
    for i in range(a.shape[1]):
        column = a[:, i]
        for other in columns:
            column = column - (other @ column) * other
        columns.append(column / jnp.linalg.norm(column))
    return jnp.stack(columns, axis=1)


CASES = [
    Case("irfft_of_one_frequency", lambda x: (jnp.fft.irfft(x), jnp.fft.irfft2(x), jnp.fft.irfft(x, norm="forward") + 1), normal(3, 1)),
    Case("matmul", jnp.matmul, normals((32, 48), (48, 16))),
    Case("matmul_odd_sizes", jnp.matmul, normals((37, 53), (53, 29))),
    Case("matmul_square_256", jnp.matmul, normals((256, 256), (256, 256)), LONG_SUM),
    Case("matmul_one_row", jnp.matmul, normals((1, 300), (300, 70)), LONG_SUM),
    Case("matmul_one_column", jnp.matmul, normals((70, 300), (300, 1)), LONG_SUM),
    Case("matmul_one_term", jnp.matmul, normals((70, 1), (1, 50))),
    Case("matmul_batched", jnp.matmul, normals((5, 9, 17), (5, 17, 11))),
    Case("matmul_broadcast_batch", jnp.matmul, normals((4, 1, 9, 7), (3, 7, 5))),
    Case("matmul_transposed_left", lambda a, b: a.T @ b, normals((40, 31), (40, 22))),
    Case("matmul_transposed_right", lambda a, b: a @ b.T, normals((31, 40), (22, 40))),
    Case("matmul_transposed_both", lambda a, b: a.T @ b.T, normals((40, 31), (22, 40))),
    Case("matmul_int", jnp.matmul, integers((9, 14), (14, 5))),
    Case("matmul_highest_precision", lambda a, b: jnp.matmul(a, b, precision="highest"), normals((20, 30), (30, 10))),
    Case("matmul_gradient", jax.grad(lambda a, b: jnp.sum(jnp.tanh(a @ b)), (0, 1)), normals((9, 14), (14, 6))),
    Case("matmul_bias_relu", lambda x, w, b: jax.nn.relu(x @ w + b), normals((33, 40), (40, 21), (21,))),
    # One element of the result is two numbers: in blocks, by batch, by rows of an image, transposed.
    _to_complex("matmul", jnp.matmul, (96, 64), (64, 80)),
    _to_complex("matmul_batched", jnp.matmul, (8, 64, 64), (8, 64, 64)),
    _to_complex("matmul_transposed", lambda a, b: jnp.einsum("bij,bjk->bki", a, b), (4, 64, 64), (4, 64, 48)),
    _to_complex("matrix_vector", jnp.matmul, (300, 200), (200,)),
    _convolution_to_complex("few_channels", (2, 20, 20, 3), (3, 3, 3, 8)),
    _convolution_to_complex("strided", (2, 32, 32, 8), (3, 3, 8, 16), stride=2),
    _convolution_to_complex("winograd", (1, 56, 56, 64), (3, 3, 64, 64)),
    _convolution_to_complex("depthwise", (2, 20, 20, 16), (3, 3, 1, 16), groups=16),
    _convolution_to_complex("grouped", (2, 20, 20, 32), (3, 3, 8, 32), groups=4),
    _convolution_to_complex("few_channels_first", (2, 3, 20, 20), (8, 3, 3, 3), labels=("NCHW", "OIHW", "NCHW")),
    _convolution_to_complex("channels_first", (2, 32, 20, 20), (16, 32, 3, 3), labels=("NCHW", "OIHW", "NCHW")),
    Case("matmul_chain", lambda a, b, c: a @ b @ c, normals((9, 10), (10, 11), (11, 12)), LONG_SUM),
    Case("vector_dot", jnp.dot, normals((200,), (200,)), LONG_SUM),
    Case("matrix_vector", jnp.dot, normals((60, 80), (80,))),
    Case("vector_matrix", jnp.dot, normals((60,), (60, 80))),
    Case("outer", jnp.outer, normals((20,), (30,))),
    Case("inner", jnp.inner, normals((4, 9), (5, 9))),
    Case("tensordot", lambda a, b: jnp.tensordot(a, b, axes=((1, 2), (0, 1))), normals((5, 6, 7), (6, 7, 8))),
    Case("dot_general_middle_batch", general(((2,), (0,)), ((1,), (1,))), normals((6, 3, 7), (7, 3, 5))),
    Case("dot_general_two_contractions", general(((0, 2), (1, 0))), normals((5, 6, 7), (7, 5, 4))),
    einsum("ij,jk->ik", (9, 10), (10, 11)),
    einsum("bij,bjk->bik", (3, 9, 10), (3, 10, 11)),
    einsum("bhqd,bhkd->bhqk", (2, 3, 8, 16), (2, 3, 9, 16)),
    einsum("bqhd,bkhd->bhqk", (2, 8, 3, 16), (2, 9, 3, 16)),
    einsum("ii->", (12, 12)),
    einsum("ii->i", (12, 12)),
    einsum("ij->ji", (12, 9)),
    einsum("i,j->ij", (12,), (9,)),
    einsum("ijk->k", (5, 6, 7)),
    einsum("ab,bc,cd->ad", (5, 6), (6, 7), (7, 8)),
    Case("transpose", lambda x: x.T, normal(37, 53)),
    Case("transpose_3d", lambda x: (x.transpose(2, 0, 1), x.transpose(1, 0, 2), x.swapaxes(0, 2)), normal(5, 9, 13)),
    Case("reshape", lambda x: (x.reshape(6, 20), x.ravel(), x.reshape(2, 3, 4, 5)), normal(24, 5)),
    Case("reshape_of_transpose", lambda x: x.T.reshape(4, -1), normal(24, 5)),
    Case("broadcast_to", lambda x: jnp.broadcast_to(x, (4, 3, 5)), normal(3, 1)),
    Case("broadcast_in_dim", lambda x: lax.broadcast_in_dim(x, (5, 4, 3), (2, 0)), normal(3, 5)),
    Case("concatenate", lambda a, b, c: (jnp.concatenate([a, b, c], 1), jnp.concatenate([a.T, b.T], 0)), normals((4, 3), (4, 7), (4, 1))),
    Case("stack_unstack", lambda a, b: (jnp.stack([a, b], 1), *jnp.unstack(a)), normals((4, 3), (4, 3))),
    Case("split", lambda x: jnp.split(x, [2, 5], axis=1), normal(3, 9)),
    Case("pad_constant", lambda x: jnp.pad(x, ((1, 2), (0, 3)), constant_values=7), normal(4, 5)),
    Case("pad_reflect", lambda x: jnp.pad(x, 2, mode="reflect"), normal(4, 5)),
    Case("pad_edge_wrap", lambda x: (jnp.pad(x, 2, mode="edge"), jnp.pad(x, 2, mode="wrap")), normal(4, 5)),
    Case("pad_interior", lambda x: lax.pad(x, np.float32(0), ((1, 0, 2), (0, 2, 1))), normal(4, 5)),
    Case("pad_negative", lambda x: lax.pad(x, np.float32(0), ((-1, 2, 0), (2, -2, 0))), normal(4, 5)),
    Case("pad_interior_edges", _padded_with_gaps, normal(17, 65)),
    Case("pad_interior_bytes", _padded_with_gaps, integers((33, 70), dtype=np.int8)),
    Case("repeat_last", lambda x: [jnp.repeat(x, n, axis=-1) + n for n in (2, 3, 4, 5, 8, 16)], normal(9, 70)),
    Case("repeat_last_bytes", lambda x: [jnp.repeat(x, n, axis=-1) for n in (2, 3, 4, 64)], integers((9, 70), dtype=np.int8)),
    Case("scale_up", lambda x, y: (jnp.repeat(jnp.repeat(x, 2, 1), 2, 2) + y, jax.image.resize(x, y.shape, "nearest")), normals((3, 17, 35), (3, 34, 70))),
    Case("scale_up_gradient", lambda x, g: jax.vjp(lambda v: jax.image.resize(v, g.shape, "nearest"), x)[1](g)[0], normals((3, 17, 35), (3, 34, 70))),
    Case("reverse", lambda x: (jnp.flip(x), jnp.flip(x, 1), lax.rev(x, (0,))), normal(4, 5)),
    Case("roll", lambda x: (jnp.roll(x, 3), jnp.roll(x, -1, axis=1)), normal(4, 5)),
    Case("tile_repeat", lambda x: (jnp.tile(x, (2, 3)), jnp.repeat(x, 3, axis=0)), normal(4, 5)),
    Case("rotate_90", jnp.rot90, normal(4, 5)),
    Case("triangles", lambda x: (jnp.tril(x), jnp.triu(x, 1)), normal(7, 7)),
    Case("diagonal_trace", lambda x: (jnp.diag(x), jnp.diag(x[0]), jnp.trace(x)), normal(7, 7)),
    Case("kron", jnp.kron, normals((3, 4), (2, 5))),
    Case("cross", jnp.cross, normals((6, 3), (6, 3))),
    Case("vander", lambda x: jnp.vander(x, 5), values(np.float32([0.5, 1, 1.5, -0.7]))),
    Case("matrix_power", lambda a: jnp.linalg.matrix_power(a / 4, 5), normal(6, 6)),
    Case("multi_dot", lambda a, b, c: jnp.linalg.multi_dot([a, b, c]), normals((9, 10), (10, 11), (11, 12)), LONG_SUM),
    Case("toeplitz_product", lambda c, x: jax.scipy.linalg.toeplitz(c) @ x, normals((9,), (9,))),
    Case("power_iteration", _power_iteration, lambda rng: (np.float32(np.diag(np.arange(1, 9)) + 0.1),), LONG_SUM),
    Case("conjugate_gradient", _conjugate_gradient, normals((12, 12), (12,)), LONG_SUM),
    Case("gram_schmidt", _gram_schmidt, lambda rng: (np.float32(np.eye(8, 5) + 0.1 * rng.standard_normal((8, 5))),)),
    Case("matrix_exponential_series", lambda a: _series(a / 8), normal(6, 6)),
]


def _series(a):
    term, total = jnp.eye(a.shape[0]), jnp.eye(a.shape[0])
    for k in range(1, 9):
        term = term @ a / k
        total = total + term
    return total
