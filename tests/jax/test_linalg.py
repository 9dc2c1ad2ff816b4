"""jax.numpy.linalg and jax.scipy.linalg on Kiln against XLA:CPU, which share LAPACK: results agree, not only products.

KILN_FULL_TESTS=1 runs every function in four types, batched, empty, large and differentiated.
"""

import os
import subprocess
import sys

import jax
import jax.export
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
import pytest
from conftest import PLATFORM
from harness import Case, Tolerance, check
from jax import lax
from jax._src.lax import linalg as ll  # geqrf and ormqr have no public name
from jax._src.lib import lapack

FULL = bool(os.environ.get("KILN_FULL_TESTS"))
DTYPES = ("float32", "float64", "complex64", "complex128")


def random(rng, shape, dtype):
    array = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        array = array + 1j * rng.standard_normal(shape)
    return array.astype(dtype)


def hermitian(a):
    return (a + jnp.conj(jnp.swapaxes(a, -1, -2))) / 2


def positive(a):
    return a @ jnp.conj(jnp.swapaxes(a, -1, -2)) + a.shape[-1] * jnp.eye(a.shape[-1], dtype=a.dtype)


def vector_of(a):
    return a[..., 0]


# Functions of one square matrix, or a stack of them where they are not in UNBATCHED.
SQUARE = {
    "cholesky": lambda a: jnp.linalg.cholesky(positive(a)),
    "cholesky_upper": lambda a: jnp.linalg.cholesky(positive(a), upper=True),
    "cond": jnp.linalg.cond,
    "det": jnp.linalg.det,
    "slogdet": jnp.linalg.slogdet,
    "eigh": lambda a: jnp.linalg.eigh(hermitian(a)),
    "eigvalsh": lambda a: jnp.linalg.eigvalsh(hermitian(a), UPLO="U"),
    "eig": jnp.linalg.eig,
    "eigvals": jnp.linalg.eigvals,
    "eig_left": lambda a: ll.eig(a, compute_left_eigenvectors=True),
    "inv": jnp.linalg.inv,
    "matrix_power": lambda a: jnp.linalg.matrix_power(a, -3),
    "matrix_rank": jnp.linalg.matrix_rank,
    "pinv": jnp.linalg.pinv,
    "pinv_hermitian": lambda a: jnp.linalg.pinv(hermitian(a), hermitian=True),
    "qr": jnp.linalg.qr,
    "qr_r": lambda a: jnp.linalg.qr(a, mode="r"),
    "qr_raw": lambda a: jnp.linalg.qr(a, mode="raw"),
    "solve": lambda a: jnp.linalg.solve(a, hermitian(a)),
    "svd": jnp.linalg.svd,
    "svd_values": jnp.linalg.svdvals,
    "svd_qr": lambda a: lax.linalg.svd(a, algorithm=lax.linalg.SvdAlgorithm.QR),
    "norm_nuclear": lambda a: jnp.linalg.matrix_norm(a, ord="nuc"),
    "norm_2": lambda a: jnp.linalg.matrix_norm(a, ord=2),
    "norm_minus_2": lambda a: jnp.linalg.matrix_norm(a, ord=-2),
    "norm_1": lambda a: jnp.linalg.matrix_norm(a, ord=1),
    "norm_inf": lambda a: jnp.linalg.matrix_norm(a, ord=np.inf),
    "norm_fro": lambda a: jnp.linalg.matrix_norm(a, ord="fro"),
    "vector_norms": lambda a: [jnp.linalg.vector_norm(a, ord=order) for order in (0, 1, 2, 3.5, np.inf, -np.inf)],
    "lu_lax": ll.lu,
    "schur_lax": ll.schur,
    "hessenberg": jsl.hessenberg,
    "hessenberg_of_constant": lambda a: jsl.hessenberg(np.arange(9, dtype=a.dtype).reshape(3, 3) ** 2),
    "hessenberg_q": lambda a: jsl.hessenberg(a, calc_q=True),
    "tridiagonal": lambda a: ll.tridiagonal(hermitian(a)),
    "expm": lambda a: jsl.expm(a / 4),
    "lu": jsl.lu,
    "lu_factor": jsl.lu_factor,
    "lu_solve": lambda a: jsl.lu_solve(jsl.lu_factor(a), vector_of(a)) if a.ndim == 2 else (),
    "cho_solve": lambda a: jsl.cho_solve(jsl.cho_factor(positive(a)), a),
    "solve_triangular": lambda a: jsl.solve_triangular(positive(a), vector_of(a)[..., None], trans=1, lower=True),
    "qr_pivoting": lambda a: jsl.qr(a, pivoting=True),
    "qr_multiply": lambda a: jsl.qr_multiply(a, a) if a.ndim == 2 else (),
    "polar_svd": lambda a: jsl.polar(a, method="svd"),
    "schur": jsl.schur,
    "schur_complex": lambda a: jsl.schur(a, output="complex"),
    "rsf2csf": lambda a: jsl.rsf2csf(*jsl.schur(a)),
    "sqrtm": lambda a: jsl.sqrtm(positive(a)),
    "funm": lambda a: jsl.funm(positive(a) / a.shape[-1], jnp.log, disp=False),
    "solve_sylvester": lambda a: jsl.solve_sylvester(a, positive(a), hermitian(a)),
    "eigh_tridiagonal": lambda a: jsl.eigh_tridiagonal(a[0].real, a[1, :-1].real, eigvals_only=True),
    "roots": lambda a: jnp.roots(a[0], strip_zeros=False),
    "polyfit": lambda a: jnp.polyfit(jnp.arange(a.shape[0], dtype=a.real.dtype), a[0], 3),
    "tensorinv": lambda a: jnp.linalg.tensorinv(a.reshape(*a.shape, 1), ind=1),
    "tensorsolve": lambda a: jnp.linalg.tensorsolve(a, a[0]),
}
UNBATCHED = {"lu", "funm", "rsf2csf", "roots", "polyfit", "tensorinv", "tensorsolve", "eigh_tridiagonal", "schur", "schur_complex", "sqrtm",
             "polar_svd", "solve_sylvester", "schur_lax"}  # fmt: skip
# Made of functions that are tested themselves.
COMPOSED = {"cho_solve", "cholesky_upper", "cond", "eigh_tridiagonal", "expm", "funm", "norm_2", "sqrtm", "tensorinv",
            "matrix_power", "norm_1", "norm_fro", "norm_inf", "norm_minus_2", "pinv_hermitian",
            "polyfit", "qr_r", "rsf2csf", "slogdet", "svd_values", "tensorsolve", "vector_norms"}  # fmt: skip
REAL_ONLY = {"eigh_tridiagonal"}
# Iterations whose end depends on the last bits, and products of powers.
LOOSE = {"funm", "sqrtm", "solve_sylvester", "eigh_tridiagonal", "matrix_power", "cond", "norm_minus_2", "inv", "pinv", "pinv_hermitian"}
# Functions of a matrix that is not square.
RECTANGULAR = {
    "qr": jnp.linalg.qr,
    "qr_complete": lambda a: jnp.linalg.qr(a, mode="complete"),
    "qr_pivoting": lambda a: jsl.qr(a, pivoting=True, mode="economic"),
    "svd": jnp.linalg.svd,
    "svd_thin": lambda a: jnp.linalg.svd(a, full_matrices=False),
    "pinv": jnp.linalg.pinv,
    "matrix_rank": jnp.linalg.matrix_rank,
    "lu": jsl.lu,
    "lstsq": lambda a: jnp.linalg.lstsq(a, a[:, :2]),
    "geqrf": ll.geqrf,
    "householder_product": lambda a: ll.householder_product(*ll.geqrf(a)) if a.shape[0] >= a.shape[1] else (),
    "ormqr": lambda a: ll.ormqr(*ll.geqrf(a), jnp.ones((a.shape[0], 3), a.dtype)) if a.shape[0] >= a.shape[1] else (),
    "solve_tridiagonal": lambda a: lax.linalg.tridiagonal_solve(
        *(jnp.where(jnp.arange(a.shape[0]) == edge, 0, a[:, i]) for i, edge in enumerate((0, -1, a.shape[0] - 1))), a + 4
    ),
}


def tolerance(name, dtype, n):
    unit = 1e-5 if np.dtype(dtype).itemsize // (2 if np.dtype(dtype).kind == "c" else 1) == 4 else 1e-13
    unit *= 10 * max(n, 4) * (30 if name in LOOSE else 1)
    return Tolerance(unit, unit)


def run(name, function, shape, dtype, device, reference_device):
    inputs = lambda rng: (random(rng, shape, dtype),)  # noqa: E731
    wide = np.dtype(dtype) in (np.dtype("float64"), np.dtype("complex128"))
    check(Case(name, function, inputs, tolerance(name, dtype, max(shape)), finite=False, x64=wide), device, reference_device)


def types_of(table, *choices):
    """Pairs of name and type: all in the full form, else one type for each name, in turn, without what others contain."""
    names = [name for name in table if FULL or name not in COMPOSED]
    return [(name, dtype) for index, name in enumerate(names) for dtype in (DTYPES if FULL else [choices[index % len(choices)]])]


@pytest.mark.parametrize("name, dtype", types_of(SQUARE, "float32", "complex128", "float64", "complex64"))
def test_square(name, dtype, device, reference_device):
    if name in REAL_ONLY and dtype.startswith("complex"):
        pytest.skip("for real matrices")
    run(name, SQUARE[name], (5, 5), dtype, device, reference_device)


@pytest.mark.skipif(not FULL, reason="KILN_FULL_TESTS")
@pytest.mark.parametrize("shape", [(3, 4, 4), (2, 3, 2, 2), (40, 40), (0, 0), (0, 3, 3)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SQUARE)
def test_square_shapes(name, dtype, shape, device, reference_device):
    if name in REAL_ONLY and dtype.startswith("complex"):
        pytest.skip("for real matrices")
    if name in UNBATCHED and len(shape) > 2:
        pytest.skip("no such form")
    if 0 in shape:
        try:
            jax.eval_shape(SQUARE[name], jax.ShapeDtypeStruct(shape, np.dtype(dtype)))
        except (ValueError, IndexError):
            pytest.skip("JAX refuses the shape")
    if name == "matrix_power" and shape == (40, 40):
        pytest.skip("ill-conditioned")
    run(name, SQUARE[name], shape, dtype, device, reference_device)


@pytest.mark.parametrize("shape", [(7, 4), (3, 6), (50, 30), (30, 50)] if FULL else [(7, 4)], ids=str)
@pytest.mark.parametrize("name, dtype", types_of(RECTANGULAR, "complex64", "float64"))
def test_rectangular(name, dtype, shape, device, reference_device):
    run(name, RECTANGULAR[name], shape, dtype, device, reference_device)


# Sums of results that do not depend on signs or phases.
GRADIENTS = {
    "cholesky": lambda a: jnp.sum(jnp.linalg.cholesky(positive(a)) ** 2),
    "eigh": lambda a: jnp.sum(jnp.linalg.eigh(hermitian(a))[1][0] ** 2 * jnp.arange(a.shape[-1])),
    "eigvals": lambda a: jnp.sum(jnp.abs(jnp.linalg.eigvals(a)) ** 2),
    "inv": lambda a: jnp.sum(jnp.linalg.inv(positive(a)) ** 2),
    "lu": lambda a: jnp.sum(jsl.lu(a)[2] ** 2),
    "qr": lambda a: jnp.sum(jnp.linalg.qr(a)[1] ** 3),
    "solve": lambda a: jnp.sum(jnp.linalg.solve(positive(a), a) ** 2),
    "svd": lambda a: jnp.sum(jnp.linalg.svd(a, full_matrices=False)[1] ** 3),
    "expm": lambda a: jnp.sum(jsl.expm(a / 4)),
    "slogdet": lambda a: jnp.linalg.slogdet(a)[1],
}


@pytest.mark.parametrize("name", GRADIENTS if FULL else ("eigh", "svd"))
def test_gradient_and_vmap(name, device, reference_device):
    gradient = jax.grad(GRADIENTS[name])
    run(name, gradient, (4, 4), "float64", device, reference_device)
    run(name, jax.vmap(gradient), (3, 4, 4), "float64", device, reference_device)


@pytest.mark.skipif(not FULL, reason="KILN_FULL_TESTS")
@pytest.mark.parametrize("name", ["cholesky", "solve", "qr", "inv", "eigvalsh", "svd_values", "slogdet"])
def test_large(name, device, reference_device):
    run(name, SQUARE[name], (512, 512), "float64", device, reference_device)


@pytest.fixture(scope="module")
def exported_svd():
    """A program with a call of LAPACK, lowered in this process."""
    checks = [jax.export.DisabledSafetyCheck.custom_call("lapack_sgesdd_ffi")]
    export = jax.export.export(jax.jit(lambda a: jnp.linalg.svd(a)[1]), platforms=[PLATFORM], disabled_checks=checks)
    return export(jax.ShapeDtypeStruct((3, 3), "float32"))


ON_KILN = pytest.mark.skipif(PLATFORM == "cpu", reason="asks for what XLA:CPU does not have")


@ON_KILN
def test_lapack_is_found_when_it_is_needed(exported_svd):
    # In a process that lowers nothing itself.
    program = """
import sys, jax, numpy as np
jax.devices("kiln")
assert not any(name.startswith("scipy.linalg") for name in sys.modules)
exported = jax.export.deserialize(bytearray.fromhex(sys.stdin.read()))
np.testing.assert_allclose(exported.call(np.diag(np.float32([1, 3, 2]))), [3, 2, 1], rtol=1e-6)
"""
    text = exported_svd.serialize().hex()
    result = subprocess.run([sys.executable, "-c", program], input=text, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@ON_KILN
def test_lapack_is_missing(exported_svd, device, monkeypatch):
    class Nothing:
        def initialize(self):
            raise ImportError("no scipy here")

    monkeypatch.setattr(lapack, "_lapack", Nothing())
    with pytest.raises(jax.errors.JaxRuntimeError, match="LAPACK is not to be had: no scipy here"), jax.default_device(device):
        exported_svd.call(np.eye(3, dtype=np.float32))


def singular(a):
    return a.at[..., -1, :].set(a[..., 0, :])


# Calls of LAPACK in programs lowered for XLA:CPU that Kiln has code of its own for, with failures and their numbers.
FOREIGN = {
    "potrf": (jnp.linalg.cholesky, lambda a: positive(a), (3, 20, 20)),
    "potrf_upper": (lambda a: jnp.linalg.cholesky(a, upper=True), positive, (7, 7)),
    "potrf_fails": (jnp.linalg.cholesky, lambda a: positive(a).at[1, 4, 4].set(-1), (2, 9, 9)),
    "getrf": (ll.lu, None, (4, 12, 12)),
    "getrf_wide": (ll.lu, None, (9, 14)),
    "getrf_tall": (ll.lu, None, (14, 9)),
    "getrf_singular": (jnp.linalg.det, singular, (3, 6, 6)),
    "geqrf": (lambda a: ll.geqrf(a), None, (2, 40, 30)),
    "geqrf_orgqr": (lambda a: jnp.linalg.qr(a)[0], None, (30, 40)),
    "trsm": (lambda a: jsl.solve_triangular(a, a[..., ::-1, :], lower=True), positive, (5, 5)),
    "trsm_right": (lambda a: ll.triangular_solve(a, a[..., :3, :], left_side=False, lower=False), positive, (2, 5, 5)),
    "trsm_transposed": (lambda a: jsl.solve_triangular(a, vector_of(a), trans=1, unit_diagonal=True), positive, (6, 6)),
    "trsm_adjoint": (lambda a: jsl.solve_triangular(a * (1 + 2j), vector_of(a) * (1 + 0j), trans=2), positive, (6, 6)),
}


@ON_KILN
@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_calls_of_lapack_are_expanded(name, dtype, device, reference_device):
    function, prepare, shape = FOREIGN[name]
    with jax.enable_x64(dtype == "float64"):
        matrix = random(np.random.default_rng(1), shape, dtype)
        with jax.default_device(reference_device):
            matrix = np.asarray(matrix if prepare is None else prepare(jnp.asarray(matrix)))
            expected = jax.tree.map(np.asarray, jax.jit(function)(matrix))
        letter = "s" if dtype == "float32" else "d"
        letters = [letter, "c" if dtype == "float32" else "z"]
        checks = [jax.export.DisabledSafetyCheck.platform()]
        checks += [
            jax.export.DisabledSafetyCheck.custom_call(f"lapack_{letter}{routine}_ffi")
            for letter in letters
            for routine in ("potrf", "getrf", "geqrf", "orgqr", "trsm")
        ]
        exported = jax.export.export(jax.jit(function), platforms=["cpu"], disabled_checks=checks)(matrix)
        assert "lapack_" in exported.mlir_module()
        with jax.default_device(device):
            compiled = jax.jit(exported.call).lower(jax.device_put(matrix, device)).compile()
            actual = jax.tree.map(np.asarray, compiled(jax.device_put(matrix, device)))
        assert "lapack_" not in compiled.as_text()
        scale = np.finfo(dtype).eps * 200
        jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=scale, atol=scale * 10), actual, expected)
