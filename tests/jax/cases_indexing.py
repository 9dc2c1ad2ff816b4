"""Slices, gathers, scatters and every form of `.at[]`."""

import jax
import jax.numpy as jnp
import numpy as np
from harness import Case, booleans, integers, normal, normals, together, uniform, values
from jax import lax

TABLE = normal(20, 6)
ROWS = np.int32([3, 0, 19, 3, 7])
OUTSIDE = np.int32([-1, 2, 20, 5, -30, 100])
MASK = np.arange(120).reshape(20, 6) % 7 < 3
START = (np.int32(2), np.int32(1))

AT_FORMS = [
    ("set", lambda r: r.set),
    ("add", lambda r: r.add),
    ("subtract", lambda r: r.subtract),
    ("multiply", lambda r: r.multiply),
    ("divide", lambda r: r.divide),
    ("min", lambda r: r.min),
    ("max", lambda r: r.max),
    ("power", lambda r: r.power),
]


def at(form, index):
    return lambda x, update: form(x.at[index])(update)


# No row twice: the order of updates to one place is not defined, and for `set` it shows.
UNIQUE = np.int32([3, 0, 19, 8, 7])
POSITIVE = together(uniform(20, 6, low=0.5, high=2), uniform(5, 6, low=0.5, high=2))

COLUMNS = np.random.default_rng(0).integers(-3, 40, 500)
TRIANGLE = np.triu_indices(24)
GRIDS = [
    lambda i, j: (i, (j + 1) % 6),
    lambda i, j: (jnp.clip(i - 2, 0, 19), j),
    lambda i, j: (19 - i, j // 2),
    lambda i, j: (i % 4 * 5, 5 - j),
    lambda i, j: (i, (i + j) % 6),
    lambda i, j: (i ^ 1, j),
]

CASES = [
    Case("slice_static", lambda x: (x[2:9], x[:, 1:5:2], x[::-1], x[-3:, ::-2]), TABLE),
    Case("slice_of_3d", lambda x: x[1:, ::2, 3:-1], normal(4, 9, 11)),
    *[Case(f"narrow_rows_transposed_{width}_{np.dtype(form).name}", lambda x, y: (x.T, y.transpose(0, 2, 1), -x.T, [x[:, i] for i in range(x.shape[1])]), together(integers((3001, width), low=0, high=99, dtype=form), integers((3, 1111, width), low=0, high=99, dtype=form))) for width in (2, 3, 4, 5, 7, 8) for form in ("float32", "uint8", "int16")],
    *[Case(f"neighbours_{stride}", lambda x, s=stride: [sum(x[:, i::s][:, : x.shape[1] // s] * (i + 1) for i in range(s)), x[:, ::s], x[:, s - 1 :: s] - x[:, :: s][:, : len(x[0]) // s], x[1:, 1::s]], normal(7, 1003)) for stride in (2, 3, 4, 6)],
    Case("slice_in_dim", lambda x: lax.slice_in_dim(x, 1, 19, 3, axis=0), TABLE),
    Case("index_int", lambda x: (x[3], x[-1, 2], x[:, 0]), TABLE),
    Case("index_new_axis_ellipsis", lambda x: (x[None, ..., 2], x[..., None]), TABLE),
    Case("index_traced", lambda x, i: (x[i], x[:, i % 6]), together(TABLE, values(np.int32(7)))),
    Case("index_traced_negative", lambda x, i: x[i], together(TABLE, values(np.int32(-2)))),
    Case("index_traced_outside", lambda x, i: x[i], together(TABLE, values(np.int32(25)))),
    Case("index_array", lambda x, i: x[i], together(TABLE, values(ROWS))),
    Case("index_array_columns", lambda x, i: x[:, i], together(TABLE, values(np.int32([5, 1, 1])))),
    Case("index_two_arrays", lambda x, i: x[i, i % 6], together(TABLE, values(ROWS))),
    Case("index_array_2d", lambda x, i: x[i.reshape(5, 1), jnp.arange(3)], together(TABLE, values(ROWS))),
    Case("index_mixed_with_slice", lambda x, i: x[i, :, 1:4], together(normal(20, 6, 5), values(ROWS))),
    Case("index_boolean_where", lambda x: jnp.where(x > 0, x, 0), TABLE),
    Case("take_clip", lambda x, i: jnp.take(x, i, axis=0, mode="clip"), together(TABLE, values(OUTSIDE))),
    Case("take_wrap", lambda x, i: jnp.take(x, i, axis=0, mode="wrap"), together(TABLE, values(OUTSIDE))),
    Case("take_fill", lambda x, i: jnp.take(x, i, axis=0, mode="fill", fill_value=9), together(TABLE, values(OUTSIDE))),
    Case("take_fill_nan", lambda x, i: jnp.take(x, i, axis=0), together(TABLE, values(OUTSIDE)), finite=False),
    Case("take_along_axis", lambda x, i: jnp.take_along_axis(x, i, axis=1), together(TABLE, integers((20, 3), low=0, high=6))),
    Case("embedding_lookup", lambda t, i: t[i].mean(1), together(normal(50, 16), integers((8, 5), low=0, high=50))),
    Case("embedding_gradient", lambda t, i: jax.grad(lambda t: jnp.sum(t[i] ** 2))(t), together(normal(50, 16), integers((8, 5), low=0, high=50))),
    Case("gather_windows", lambda x, i: jax.vmap(lambda s: lax.dynamic_slice(x, (s, 0), (3, 4)))(i), together(TABLE, values(np.int32([0, 5, 18])))),
    Case("gather_batched", lambda x, i: jax.vmap(lambda r, j: r[j])(x, i), together(TABLE, integers((20, 4), low=0, high=6))),
    Case("choose", lambda a, b, i: jnp.choose(i, [a, b], mode="clip"), together(normals((9,), (9,)), integers((9,), low=0, high=2))),
    Case("choose_rows", lambda a, b, c, i: jnp.choose(i, [a, b, c], mode="wrap"), together(normals(*[(9, 37)] * 3), integers((9, 37), low=-5, high=9))),
    Case("one_of_each_row", lambda x, i: (x[jnp.arange(20), i], x.at[jnp.arange(20), i].add(2), x[i, jnp.arange(20) % 6]), together(TABLE, integers((20,), low=0, high=6))),
    Case("select_conditions", lambda x: jnp.select([x < -1, x < 0, x < 1], [x, x * 2, x * 3], 7.0), TABLE),
    Case("piecewise", lambda x: jnp.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: v * v]), TABLE),
    Case("dynamic_slice", lambda x, i, j: lax.dynamic_slice(x, (i, j), (4, 3)), together(TABLE, values(*START))),
    Case("dynamic_slice_clamps", lambda x, i, j: lax.dynamic_slice(x, (i + 17, j - 5), (4, 3)), together(TABLE, values(*START))),
    Case("dynamic_slice_in_dim", lambda x, i: lax.dynamic_slice_in_dim(x, i, 5, axis=0), together(TABLE, values(np.int32(9)))),
    Case("dynamic_index_in_dim", lambda x, i: lax.dynamic_index_in_dim(x, i, axis=1, keepdims=False), together(TABLE, values(np.int32(4)))),
    Case("dynamic_update_slice", lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j)), together(TABLE, normal(4, 3), values(*START))),
    Case("dynamic_update_slice_clamps", lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i + 18, j + 9)), together(TABLE, normal(4, 3), values(*START))),
    Case("dynamic_slice_gradient", lambda x, i: jax.grad(lambda x: jnp.sum(lax.dynamic_slice_in_dim(x, i, 3) ** 2))(x), together(TABLE, values(np.int32(4)))),
    *[Case(f"at_{name}_rows", at(form, UNIQUE), POSITIVE) for name, form in AT_FORMS],
    *[
        Case(f"at_{name}_slice", at(form, (slice(2, 7), slice(None))), POSITIVE)
        for name, form in AT_FORMS
    ],
    Case("at_add_same_row_twice", at(lambda r: r.add, ROWS), together(TABLE, normal(5, 6))),
    Case("at_max_same_row_twice", at(lambda r: r.max, ROWS), together(TABLE, normal(5, 6))),
    Case("at_add_scalar_index", lambda x, i: x.at[i, 2].add(5), together(TABLE, values(np.int32(4)))),
    Case("at_set_boolean_mask", lambda x: x.at[MASK].set(-1), TABLE),
    Case("at_set_two_arrays", lambda x, i: x.at[i, i % 6].set(jnp.arange(5.0)), together(TABLE, values(UNIQUE))),
    Case("at_set_columns", lambda x, u: x.at[:, np.int32([4, 1])].set(u), together(TABLE, normal(20, 2))),
    Case("at_set_drops_outside", lambda x, i: x.at[i].set(7.0, mode="drop"), together(TABLE, values(np.int32([2, 25, 40])))),
    Case("at_add_clips_outside", lambda x, i: x.at[i].add(7.0, mode="clip"), together(TABLE, values(np.int32([2, 25, 40])))),
    Case("at_get_fill", lambda x, i: x.at[i].get(mode="fill", fill_value=3.5), together(TABLE, values(OUTSIDE))),
    Case("at_apply", lambda x: x.at[UNIQUE].apply(jnp.sin), TABLE),
    Case("at_add_int", lambda x, i: x.at[i].add(1), values(np.zeros(8, np.int32), np.int32([1, 1, 1, 5, 7, 7]))),
    Case("at_set_bool", lambda x: x.at[2:5].set(True), booleans((9,))),
    Case("scatter_gradient", jax.grad(lambda x, u: jnp.sum(x.at[UNIQUE].multiply(u, unique_indices=True) ** 2), (0, 1)), POSITIVE),
    Case("scatter_batched", lambda x, i, u: jax.vmap(lambda r, j, v: r.at[j].add(v))(x, i, u), together(TABLE, integers((20, 4), low=0, high=6), normal(20, 4))),
    Case("scatter_windows", lambda x, u: jax.vmap(lambda s, v: lax.dynamic_update_slice(jnp.zeros(12), v, (s,)))(jnp.arange(4) * 2, u) + x, together(normal(12), normal(4, 3))),
    Case("one_hot", lambda i: (jax.nn.one_hot(i, 10), jax.nn.one_hot(i, 4, dtype=jnp.int32)), integers((15,), low=-1, high=11)),
    Case("inverse_permutation", lambda p: jnp.zeros_like(p).at[p].set(jnp.arange(p.size)), lambda rng: (rng.permutation(40).astype(np.int32),)),
    Case("put_along_axis", lambda x, i: jnp.put_along_axis(x, i, 9.0, axis=1, inplace=False), together(TABLE, integers((20, 1), low=0, high=6))),
    Case("insert_delete", lambda x: (jnp.insert(x, 3, 9.0), jnp.delete(x, 4)), normal(9)),
    # Rows that begin an element later each, by way of rows that are one element longer.
    Case("rows_shifted_back", lambda x: jnp.pad(x, ((0, 0), (0, 0), (1, 0))).reshape(3, 18, 9)[:, 1:].reshape(3, 9, 17)[:, :, :9], normal(3, 9, 17)),
    Case("rows_shifted_forth", lambda x: jnp.pad(x, ((0, 0), (0, 20))).reshape(-1)[: 20 * 25].reshape(20, 25)[:, :20], normal(20, 6)),
    # Updates of columns, whose rows never meet.
    Case("columns_gradient", jax.grad(lambda x: (jnp.sin(x[:, COLUMNS]) * jnp.arange(COLUMNS.size)).sum()), normal(70, 50)),
    Case("columns_replaced", lambda x, u: x.at[:, COLUMNS].set(u), normals((33, 50), (33, COLUMNS.size))),
    Case("columns_of_pages", lambda x, u: x.at[:, :, COLUMNS].add(u, mode="drop"), normals((3, 4, 30, 5), (3, 4, COLUMNS.size, 5))),
    Case("triangles_gradient", jax.grad(lambda x: (jnp.tanh(x[:, TRIANGLE[0], TRIANGLE[1]]) ** 2).sum()), normal(16, 24, 24)),
    # Places that counters tell: frames, rows that go on at their beginning, neighbours on a ring.
    Case("frames", lambda x: x[:, jnp.arange(0, 900, 60)[:, None] + jnp.arange(100)], normal(3, 1000)),
    Case("windows_2d", lambda x: x[:, jnp.arange(15)[:, None, None, None] * 2 + jnp.arange(3)[:, None], jnp.arange(15)[:, None, None] * 2 + jnp.arange(3)], normal(4, 31, 31)),
    Case("circulant", lambda x: tuple(x[(jnp.arange(x.size)[:, None] * k - jnp.arange(x.size)) % x.size] for k in (1, 2, 3)), normal(37)),
    Case("circulant_types", lambda *xs: tuple(x[(jnp.arange(77)[:, None] + jnp.arange(50)) % 77] for x in xs), values(np.arange(77, dtype=np.int8), np.arange(77) % 3 == 0, np.arange(77) * (1 + 2j), np.arange(77).astype(np.float16), np.arange(77))),
    Case("rolled_rows", lambda x: x[jnp.arange(33)[:, None], (jnp.arange(33)[:, None] - jnp.arange(40)) % 40], normal(33, 40)),
    Case("ring_product", lambda x, y: (x[(jnp.arange(129)[:, None] - jnp.arange(129)) % 129] * y).sum(1), normals((129,), (129,))),
    Case("ring_gradient", jax.grad(lambda x: ((x[:, (jnp.arange(65) + 1) % 65] - x) ** 2 * x[:, (jnp.arange(65) - 2) % 65]).sum()), normal(9, 65)),
    Case("ring_of_rows", lambda x: x[(jnp.arange(65) + 1) % 65] - 2 * x + x[(jnp.arange(65) - 1) % 65], normal(65, 9)),
    Case("ring_updates", lambda x, u: (x.at[:, (jnp.arange(40) - 3) % 40].add(u), x.at[:, (jnp.arange(40) + 7) % 40].set(u), x.at[:, (jnp.arange(30) + 20) % 40].max(u[:, :30])), normals((5, 40), (5, 40))),
    Case("columns_in_pieces", lambda x: (x[:, np.r_[0:40:2, 1:40:2]], x[:, np.r_[39:20:-1, 5, 5, 5, 0:5]], x[np.r_[2, 0, 4, 1, 3]]), normal(5, 40)),
    Case("clipped_counters", lambda x: (x[jnp.clip(jnp.arange(-3, 50), 0, 39)], x[jnp.abs(jnp.arange(-20, 20))], x[jnp.arange(40) ^ 1], x[jnp.arange(40) // 3 * 2]), normal(40)),
    # Grids of places.
    Case("grid_rolled", lambda x: x[jnp.ix_((jnp.arange(20) + 3) % 20, (jnp.arange(6) - 1) % 6)], TABLE),
    Case("grid_of_meshes", lambda x: [x[f(*jnp.meshgrid(jnp.arange(20), jnp.arange(6), indexing="ij"))] for f in GRIDS], TABLE),
    Case("grid_enlarged", lambda x: (x[jnp.arange(40)[:, None] // 2, jnp.arange(18) // 3], x[jnp.arange(0, 20, 2)[:, None], jnp.arange(0, 6, 3)]), TABLE),
    Case("grid_transposed", lambda x: (x[jnp.arange(20), jnp.arange(6)[:, None]], x[19 - jnp.arange(20), jnp.arange(6)[:, None]]), TABLE),
    Case("grid_of_pages", lambda x: (x[(jnp.arange(5) + 1)[:, None] % 5, :, jnp.arange(4)[::-1]], x[:, jnp.arange(7)[:, None], (jnp.arange(4) + 2) % 4], x[jnp.arange(5)[:, None, None], jnp.arange(7)[:, None] // 2, 3 - jnp.arange(4)]), normal(5, 7, 4)),
    Case("triangles_filled", lambda u: jnp.zeros((16, 24, 24)).at[:, TRIANGLE[0], TRIANGLE[1]].set(u), normal(16, 300)),
]
