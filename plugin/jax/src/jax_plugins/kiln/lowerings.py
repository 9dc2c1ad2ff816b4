"""How JAX's primitives reach Kiln where JAX would take them apart before Kiln sees them."""


def register(platform: str) -> None:
    """erfc goes as one op: the polynomial that JAX writes in its place is off by hundreds of units in the last place."""
    from jax import lax
    from jax._src.interpreters import mlir

    # The decomposition is for readers that do not know the name.
    whole = lax.composite(lambda x: 1 - lax.erf(x), name="chlo.erfc")
    mlir.register_lowering(lax.erfc_p, mlir.lower_fun(whole, multiple_results=False), platform=platform)
