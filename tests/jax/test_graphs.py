"""Random programs of many ops, and damaged ones, against the evaluator; KILN_FULL_TESTS=1 runs two thousand."""

import os
import pathlib

import pytest
from conformance import graph

KILN = pathlib.Path(__file__).resolve().parents[2] / "build" / "kiln"
BATCHES = 100 if os.environ.get("KILN_FULL_TESTS") == "1" else 2
BATCH = 20


@pytest.fixture(scope="module")
def makers():
    return graph.makers()


@pytest.mark.parametrize("batch", range(BATCHES))
def test_graphs(batch, makers, tmp_path):
    wrong = {seed: graph.run(KILN, seed, makers, tmp_path) for seed in range(batch * BATCH + 1, batch * BATCH + BATCH + 1)}
    assert not any(wrong.values()), "\n".join(f"seed {seed}: {words}" for seed, words in wrong.items() if words)
