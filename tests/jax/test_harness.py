"""The harness itself: what differs is found."""

import harness
import jax.numpy as jnp
import numpy as np
import pytest
from harness import Case, assert_agrees, assert_finite, check

ONES = np.ones(4, np.float32)


@pytest.mark.parametrize(
    "actual, expected",
    [
        (ONES + 3e-5, ONES),
        (ONES.astype(np.float64), ONES),
        (ONES[:3], ONES),
        (ONES.reshape(2, 2), ONES),
        ((ONES, ONES), (ONES,)),
        ({"a": ONES}, {"b": ONES}),
        (np.arange(4), np.arange(4) + 1),
        (ONES > 0, ONES < 0),
        (ONES * np.nan, ONES),
        (ONES, ONES * np.nan),
        (ONES * np.inf, ONES),
        (ONES + 1e-3j, ONES + 0j),
        (jnp.bfloat16(1.02) * ONES.astype(jnp.bfloat16), ONES.astype(jnp.bfloat16)),
    ],
)
def test_difference_is_found(actual, expected):
    with pytest.raises(AssertionError):
        assert_agrees(actual, expected)


def test_integers_have_no_tolerance():
    with pytest.raises(AssertionError):
        assert_agrees(np.int32([1000000]), np.int32([1000001]), harness.Tolerance(1, 1))


def test_equal_nans_agree():
    assert_agrees(ONES * np.nan, ONES * np.nan)


def test_reference_that_is_not_finite_is_found():
    with pytest.raises(AssertionError):
        assert_finite((ONES, ONES.astype(jnp.bfloat16) * np.inf))


def test_wrong_function_is_found(device, reference_device):
    calls = []

    def alternating(x):
        calls.append(None)
        return x + len(calls)

    with pytest.raises(AssertionError):
        check(Case("alternating", alternating, harness.normal(8)), device, reference_device)
