"""Every public function of JAX on Kiln against XLA:CPU, with arguments made from its signature.

`python -m tests.coverage` runs it and writes docs/coverage.md; tests/jax/test_coverage.py runs a sample.
"""

import pathlib
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
# The tolerances and the comparison are those of the other tests.
sys.path.append(str(REPOSITORY / "tests" / "jax"))
