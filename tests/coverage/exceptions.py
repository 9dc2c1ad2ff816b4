"""Checks on which Kiln and XLA:CPU may differ, one by one, each with its reason."""

COMPLEX_NAN = (
    "the largest of complex numbers with nan among them is the last comparison's, so that it depends on the order in which "
    "numbers are compared, and no order is given"
)
ZERO_SIGN = (
    "expm1(x - 0i) has the imaginary part -0 by C99, numpy and Kiln and +0 on XLA:CPU, which puts the logarithm of its "
    "negation on the other side of the branch cut"
)
UNINITIALIZED = (
    "nan by definition, on Kiln, and on XLA:CPU op by op; jitted, where exp can only get nan, XLA:CPU gives whatever the "
    "memory of the result held before, other numbers at each run"
)
SINGULAR = "the matrix is singular: where its inverse has infinities and where nan depends on the order of LAPACK's products"
ROUNDING = (
    "the matrix [[1/2, 1/2], [1/2, 1/2]] is singular: the root of what rounding left of 1/2 - (1/2) / sqrt(1/2)^2 stands in place "
    "of zero, and Kiln subtracts the product unrounded"
)

# (regular expression over `LABEL DTYPE [CHECK]`, reason)
EXCEPTIONS = [
    (r"^jax\.numpy\.(amax|amin|max|min) complex\d+ \[call 7\]", COMPLEX_NAN),
    (r"^jax\.numpy\.ptp complex\d+ \[edges\]", COMPLEX_NAN),
    (r"^jax\.scipy\.stats\.truncnorm\.(cdf|pdf|sf) uint8 \[call 2\]", UNINITIALIZED),
    (r"^jax\.scipy\.stats\.wrapcauchy\.pdf (int32|uint8|bool) \[(vmap of )?call", UNINITIALIZED),
    (r"^jax\.scipy\.linalg\.inv bool \[call 3\]", SINGULAR),
    (r"^jax\.lax\.linalg\.cholesky bool \[call 2\]", ROUNDING),
    (r"^jax\.nn\.log1mexp complex\d+ \[call 2\]", ZERO_SIGN),
]
